//! People who count in several groups, because only probabilities of their groups are known.
//!
//! Such a person is several rows with the same features and label, one per group, whose weights are the weight of
//! the person times the probability of the group. Every sum by group is then a probability-weighted sum. Only the
//! spread of these sums depends on which rows are the same person; it is computed here.

use serde::{Deserialize, Serialize};

use crate::class_tally::label_place;
use crate::decision::{Decisions, Rate, Tallies, regions_of};
use crate::lanes::LANES;
use crate::{Error, RowSource, Schema, Target, UNKNOWN_GROUP};

/// People whose sums are computed together, so that sums do not depend on the number of threads.
const CHUNK: usize = 4096;

/// Which rows of sorted decisions are copies of the same person.
#[derive(Debug, Clone)]
pub(crate) struct Copies {
    /// The person of each row. People are numbered by their first row.
    of_row: Vec<u32>,
    n_people: usize,
    /// Two groups of an attribute whose groups are estimated.
    pairs: Vec<[u32; 2]>,
}

impl Copies {
    /// `people` has the person of each row, and `order` the sorted rows.
    pub(crate) fn new(schema: &Schema, people: &[u32], order: &[usize]) -> Self {
        const NONE: u32 = u32::MAX;
        let mut number = vec![NONE; people.iter().max().map_or(0, |last| *last as usize + 1)];
        let mut n_people = 0;
        let of_row = order.iter().map(|row| {
            let number = &mut number[people[*row] as usize];
            if *number == NONE {
                *number = n_people;
                n_people += 1;
            }
            *number
        });
        let of_row = of_row.collect();
        let estimated = (0..schema.attributes.len()).filter(|a| schema.attributes[*a].estimated);
        let pairs = estimated.flat_map(|attribute| {
            let regions = regions_of(schema, attribute);
            let end = regions.end;
            regions.flat_map(move |a| (a + 1..end).map(move |b| [a as u32, b as u32]))
        });
        Self {
            of_row,
            n_people: n_people as usize,
            pairs: pairs.collect(),
        }
    }

    pub(crate) fn of_row(&self) -> &[u32] {
        &self.of_row
    }

    pub(crate) fn n_people(&self) -> usize {
        self.n_people
    }

    /// Sums over people by region and label. A person counts once in each region, with the sum of the weights of
    /// the copies there.
    pub(crate) fn tallies(&self, decisions: &Decisions) -> Tallies {
        use rayon::prelude::*;

        let n_regions = decisions.n_regions;
        let n_labels = decisions.classes.map_or(2, |classes| classes.n_classes);
        let n_bits = decisions.n_bits;
        // The copies of each person, in the order of the rows.
        let mut first = vec![0_usize; self.n_people + 1];
        for person in &self.of_row {
            first[*person as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut rows = vec![0_u32; self.of_row.len()];
        for (row, person) in self.of_row.iter().enumerate() {
            let next = &mut next[*person as usize];
            rows[*next] = row as u32;
            *next += 1;
        }
        let stratum_of: Vec<u32> = (0..)
            .zip(decisions.ranges())
            .flat_map(|(at, (_, range))| range.map(move |_| at))
            .collect();
        // Regions first, then pairs; by region and label, Σw and Σw² of all rows, then of those with each bit.
        let of_label = 2 * (1 + n_bits);
        let size = (n_regions + self.pairs.len()) * n_labels * of_label;
        let n_words = decisions.n_words();
        let of_chunk = |people: std::ops::Range<usize>| -> Vec<f64> {
            let mut sums = vec![0.0; size];
            let mut weights = vec![0.0; n_regions];
            let mut bits = Vec::with_capacity(n_bits);
            for person in people {
                let copies = &rows[first[person]..first[person + 1]];
                weights.fill(0.0);
                let mut label = 0;
                for &row in copies {
                    let stratum = &decisions.strata[stratum_of[row as usize] as usize];
                    label = stratum.label;
                    for region in &stratum.regions {
                        weights[*region] += decisions.weights[row as usize];
                    }
                }
                bits.clear();
                let at = copies[0] as usize * n_words;
                for (word, bits_of_word) in decisions.bits[at..at + n_words].iter().enumerate() {
                    let mut left = *bits_of_word;
                    while left != 0 {
                        bits.push(word * LANES + left.trailing_zeros() as usize);
                        left &= left - 1;
                    }
                }
                let mut add = |region: usize, own: [f64; 2]| {
                    let start = (region * n_labels + label) * of_label;
                    let mut add = |at: usize| {
                        sums[start + at] += own[0];
                        sums[start + at + 1] += own[1];
                    };
                    add(0);
                    bits.iter().for_each(|bit| add(2 * (1 + bit)));
                };
                for (region, weight) in weights.iter().enumerate() {
                    if *weight != 0.0 {
                        add(region, [*weight, weight * weight]);
                    }
                }
                for (pair, [a, b]) in self.pairs.iter().enumerate() {
                    let product = weights[*a as usize] * weights[*b as usize];
                    if product != 0.0 {
                        add(n_regions + pair, [product, product]);
                    }
                }
            }
            sums
        };
        let chunks: Vec<usize> = (0..self.n_people).step_by(CHUNK).collect();
        let mut sums = vec![0.0; size];
        // A few chunks at a time, which are added in order.
        for chunks in chunks.chunks(64) {
            let of_chunks: Vec<Vec<f64>> = chunks
                .par_iter()
                .map(|start| of_chunk(*start..self.n_people.min(start + CHUNK)))
                .collect();
            for of_chunk in of_chunks {
                sums.iter_mut()
                    .zip(of_chunk)
                    .for_each(|(sum, more)| *sum += more);
            }
        }
        let tallies_of = |regions: std::ops::Range<usize>| {
            let n = regions.len();
            let mut tallies = Tallies::new(decisions.n_models, n, decisions.classes);
            for (at, region) in regions.enumerate() {
                for label in 0..n_labels {
                    let own = &sums[(region * n_labels + label) * of_label..][..of_label];
                    let of_bit = |bit: usize| [own[2 * (1 + bit)], own[2 * (1 + bit) + 1]];
                    let total = [own[0], own[1]];
                    tallies.add(label, &[at], total, decisions.classes, of_bit);
                }
            }
            tallies.finished()
        };
        let mut tallies = tallies_of(0..n_regions);
        tallies.shared = Some(Box::new(Shared {
            pairs: self.pairs.clone(),
            sums: tallies_of(n_regions..n_regions + self.pairs.len()),
        }));
        tallies
    }
}

/// Sums over people who count in two regions: for each pair, those of the product of their weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shared {
    /// The regions of each pair, in increasing order.
    pairs: Vec<[u32; 2]>,
    /// The sums of each pair, as if it were a region.
    sums: Tallies,
}

impl Shared {
    /// The sums of each pair, to be checked like those of regions.
    pub fn sums(&self) -> &Tallies {
        &self.sums
    }

    /// Whether the pairs are those of the attributes of a schema whose groups are estimated.
    pub fn fits(&self, schema: &Schema) -> bool {
        self.pairs == Copies::new(schema, &[], &[]).pairs
    }

    /// Number of pairs.
    pub fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Σ u v (d − r)(d − s) / (Σu Σv), where a person has the weights u and v in the regions, and r and s are the
    /// rates there: the covariance of two weighted rates.
    pub(crate) fn covariance(
        &self,
        tallies: &Tallies,
        model: usize,
        rate: Rate,
        a: usize,
        b: usize,
    ) -> f64 {
        let wanted = [a.min(b) as u32, a.max(b) as u32];
        let Ok(pair) = self.pairs.binary_search(&wanted) else {
            return 0.0;
        };
        let [a, b] = [a, b].map(|region| tallies.cell(model, rate, region));
        let (Some(of_a), Some(of_b)) = (a.rate(), b.rate()) else {
            return 0.0;
        };
        let both = self.sums.cell(model, rate, pair);
        let failures = (both.trials - both.successes).max(0.0);
        let sum = both.successes * (1.0 - of_a) * (1.0 - of_b) + failures * of_a * of_b;
        sum / (a.trials * b.trials)
    }
}

/// The expected number of people in each group of an attribute, by label: the sum of the shares of their weight that
/// they have in it. Without copies, it is the number of rows. People whose weight is 0 are left out.
pub fn expected_rows(rows: &dyn RowSource, attribute: usize) -> Result<Vec<Vec<f64>>, Error> {
    let schema = rows.schema();
    let n_labels = match &schema.target {
        Target::Classes(classes) => classes.len(),
        Target::Binary | Target::Number(_) => 2,
    };
    let mut sums = vec![vec![0.0; n_labels]; schema.attributes[attribute].groups.len()];
    let people = rows.people();
    // The person so far: number, label, and weight in total and by group.
    let mut of_person: Vec<(u32, f64)> = Vec::new();
    let mut last: Option<(u32, usize)> = None;
    let mut add = |label: usize, of_person: &mut Vec<(u32, f64)>| {
        let total: f64 = of_person.iter().map(|(_, weight)| weight).sum();
        for (group, weight) in of_person.drain(..) {
            if group != UNKNOWN_GROUP && total > 0.0 {
                sums[group as usize][label] += weight / total;
            }
        }
    };
    let mut at = 0;
    for index in 0..rows.n_blocks() {
        let block = rows.block(index)?;
        for row in 0..block.n_rows() {
            let person = people.map_or(at as u32, |people| people[at]);
            let label = label_place(&schema.target, block.labels()[row]);
            match last {
                Some((number, label)) if number != person => add(label, &mut of_person),
                _ => {}
            }
            last = Some((person, label));
            of_person.push((block.groups(attribute)[row], block.weights()[row]));
            at += 1;
        }
    }
    if let Some((_, label)) = last {
        add(label, &mut of_person);
    }
    Ok(sums)
}
