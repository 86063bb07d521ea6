//! People in several groups at once, because only probabilities of their groups are known.
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

    /// The rows of all people, person by person, and the position of the first row of each.
    fn by_person(&self) -> (Vec<usize>, Vec<u32>) {
        let mut first = vec![0; self.n_people + 1];
        for person in &self.of_row {
            first[*person as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut rows = vec![0; self.of_row.len()];
        for (row, person) in self.of_row.iter().enumerate() {
            let next = &mut next[*person as usize];
            rows[*next] = row as u32;
            *next += 1;
        }
        (first, rows)
    }

    /// Sums over people by region and label. A person counts once in each region, with the sum of the weights of
    /// the copies there.
    pub(crate) fn tallies(&self, decisions: &Decisions) -> Tallies {
        use rayon::prelude::*;

        let n_regions = decisions.n_regions;
        let n_labels = decisions.classes.map_or(2, |classes| classes.n_classes);
        let n_bits = decisions.n_bits;
        let (first, rows) = self.by_person();
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

/// Sums over people in two regions at once: for each pair, those of the product of their weights.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, Dataset, Linear, Points, Purpose, RowBlock, Stream, label_of, redraw};

    /// A person: score, label, weight, and probabilities of three groups.
    struct Person {
        score: f64,
        positive: bool,
        weight: f64,
        shares: [f64; 3],
    }

    /// Decides by the score; probabilities and labels depend on it, too.
    fn people(n: usize, stream: &mut Stream) -> Vec<Person> {
        (0..n)
            .map(|_| {
                let score = stream.normal();
                let mut shares = [0.2 + stream.uniform(), stream.uniform(), 0.0];
                // Some people have no probability of the third group.
                if score > 0.3 || stream.uniform() < 0.4 {
                    shares[2] = 2.0 * stream.uniform();
                }
                let total: f64 = shares.iter().sum();
                Person {
                    score,
                    positive: score + stream.normal() > 0.0,
                    weight: 0.5 + stream.uniform(),
                    shares: shares.map(|share| share / total),
                }
            })
            .collect()
    }

    fn schema() -> Schema {
        let mut race = Attribute::new("race", ["a", "b", "c"].map(str::to_owned).to_vec());
        race.estimated = true;
        Schema {
            numeric: vec!["x".into()],
            attributes: vec![race],
            ..Schema::default()
        }
    }

    fn dataset(people: &[Person]) -> Dataset {
        let (mut x, mut labels, mut groups, mut weights) = (vec![], vec![], vec![], vec![]);
        let mut numbers = Vec::new();
        for (number, person) in (0..).zip(people) {
            for (group, share) in (0..).zip(person.shares).filter(|(_, share)| *share > 0.0) {
                x.push(person.score);
                labels.push(label_of(person.positive));
                groups.push(group);
                weights.push(person.weight * share);
                numbers.push(number);
            }
        }
        let schema = schema();
        let blocks = (0..x.len()).step_by(crate::BLOCK_ROWS).map(|first| {
            let rows = first..x.len().min(first + crate::BLOCK_ROWS);
            RowBlock::new(
                &schema,
                x[rows.clone()].to_vec(),
                Vec::new(),
                labels[rows.clone()].to_vec(),
                vec![groups[rows.clone()].to_vec()],
                weights[rows].to_vec(),
            )
            .unwrap()
        });
        let rows = Dataset::new(schema.clone(), blocks.collect()).unwrap();
        rows.with_people(numbers).unwrap()
    }

    /// Two models: they select people whose score is above 0 or above −0.5.
    fn models() -> Points {
        Points::from_vec(2, vec![1.0, 0.0, 1.0, 0.5])
    }

    fn decisions(people: &[Person]) -> Decisions {
        Decisions::of(&Linear, &dataset(people), &models()).unwrap()
    }

    fn is_selected(person: &Person, model: usize) -> bool {
        person.score + [0.0, 0.5][model] >= 0.0
    }

    /// The weighted selection rate of each group, and the influence of each person on it.
    fn influences(people: &[Person], model: usize) -> ([f64; 3], Vec<[f64; 3]>) {
        let sum = |of: &dyn Fn(&Person) -> f64| people.iter().map(of).sum::<f64>();
        let totals = [0, 1, 2].map(|g| sum(&|p| p.weight * p.shares[g]));
        let chosen = |p: &Person| f64::from(u8::from(is_selected(p, model)));
        let rates = [0, 1, 2].map(|g| sum(&|p| p.weight * p.shares[g] * chosen(p)) / totals[g]);
        let of = |p: &Person| {
            [0, 1, 2].map(|g| p.weight * p.shares[g] * (chosen(p) - rates[g]) / totals[g])
        };
        (rates, people.iter().map(of).collect())
    }

    #[test]
    fn variances_are_sums_of_squared_influences_of_people() {
        let people = people(10_000, &mut Stream::new(1, Purpose::Bootstrap, [0, 0]));
        let tallies = decisions(&people).tallies();
        for model in 0..2 {
            let (rates, influences) = influences(&people, model);
            for a in 0..3 {
                let cell = tallies.cell(model, Rate::Selection, 1 + a);
                assert!((cell.rate().unwrap() - rates[a]).abs() < 1e-12);
                let own: f64 = influences.iter().map(|i| i[a] * i[a]).sum();
                assert!((cell.variance() / own - 1.0).abs() < 1e-9);
                for b in (0..3).filter(|b| *b != a) {
                    let both: f64 = influences.iter().map(|i| i[a] * i[b]).sum();
                    let found = tallies.covariance(model, Rate::Selection, 1 + a, 1 + b);
                    assert!((found - both).abs() < 1e-9 * own, "{found} {both}");
                    // The contrast of the two rates.
                    let contrast: f64 = influences.iter().map(|i| (i[a] - i[b]).powi(2)).sum();
                    let other = tallies.cell(model, Rate::Selection, 1 + b).variance();
                    let found = cell.variance() + other - 2.0 * found;
                    assert!((found / contrast - 1.0).abs() < 1e-9);
                }
            }
            // All people together: copies of a person are one person.
            let all = tallies.cell(model, Rate::Accuracy, 0);
            let squares: f64 = people.iter().map(|p| p.weight * p.weight).sum();
            assert!((all.trials_squared / squares - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn people_with_one_group_count_like_rows() {
        let mut people = people(3_000, &mut Stream::new(2, Purpose::Bootstrap, [0, 0]));
        for (at, person) in people.iter_mut().enumerate() {
            person.weight = 1.0;
            person.shares = [0.0; 3];
            person.shares[at % 3] = 1.0;
        }
        let rows = dataset(&people);
        assert!(rows.people().is_none() && rows.n_people() == 3_000);
        let plain = decisions(&people);
        let numbers: Vec<u32> = (0..3_000).collect();
        let order: Vec<usize> = (0..3_000).collect();
        let mut counted = plain.clone();
        counted.copies = Some(Copies::new(&schema(), &numbers, &order));
        let (one, other) = (plain.tallies(), counted.tallies());
        assert_eq!((one.totals, one.selected), (other.totals, other.selected));
        for model in 0..2 {
            assert_eq!(one.shared, None);
            let shared = other.shared.as_ref().unwrap();
            assert_eq!(shared.sums.cell(model, Rate::Selection, 0).trials, 0.0);
        }
    }

    #[test]
    fn redraws_draw_people() {
        let people = people(4_000, &mut Stream::new(3, Purpose::Bootstrap, [0, 0]));
        let decisions = decisions(&people);
        let contrast = |model: usize, a: usize, b: usize| {
            redraw(&decisions, 1, 0, 0..2_000, |redrawn| {
                let rate = |g: usize| redrawn.rate(model, Rate::Selection, 1 + g).unwrap();
                rate(a) - rate(b)
            })
        };
        for (model, a, b) in [(0, 0, 1), (0, 0, 2), (1, 1, 2)] {
            let (_, influences) = influences(&people, model);
            let expected: f64 = influences.iter().map(|i| (i[a] - i[b]).powi(2)).sum();
            let drawn = contrast(model, a, b);
            let n = drawn.len() as f64;
            let mean = drawn.iter().sum::<f64>() / n;
            let found = drawn.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n;
            // Five standard errors of a variance from 2,000 draws.
            assert!((found / expected - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
        }
    }

    #[test]
    fn intervals_cover_the_weighted_difference() {
        // The weighted difference of the population, from many people.
        let mut stream = Stream::new(4, Purpose::Bootstrap, [0, 0]);
        let population = influences(&people(400_000, &mut stream), 0).0;
        let truth = population[0] - population[2];
        let (mut covered, mut ratio) = (0, 0.0);
        for _ in 0..600 {
            let sample = people(500, &mut stream);
            let tallies = decisions(&sample).tallies();
            let [a, c] = [1, 3].map(|region| tallies.cell(0, Rate::Selection, region));
            let both = tallies.covariance(0, Rate::Selection, 1, 3);
            let off = (a.rate().unwrap() - c.rate().unwrap() - truth).abs();
            let (rows, shared) = (a.variance() + c.variance(), 2.0 * both);
            covered += usize::from(off <= 1.96 * (rows - shared).sqrt());
            ratio += ((rows - shared) / rows).sqrt() / 600.0;
        }
        // 95% of 600 is 570; four standard errors are 21.
        assert!((549..=591).contains(&covered), "{covered}");
        // As independent rows, copies would give intervals of another width.
        assert!((ratio - 1.0).abs() > 0.05, "{ratio}");
    }

    #[test]
    fn expected_rows_are_sums_of_shares() {
        let people = people(2_500, &mut Stream::new(5, Purpose::Bootstrap, [0, 0]));
        let found = expected_rows(&dataset(&people), 0).unwrap();
        for (group, found) in found.iter().enumerate() {
            for (label, found) in found.iter().enumerate() {
                let of_label = people.iter().filter(|p| usize::from(p.positive) == label);
                let sum: f64 = of_label.map(|p| p.shares[group]).sum();
                assert!((found - sum).abs() < 1e-9);
            }
        }
    }
}
