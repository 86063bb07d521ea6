//! Decisions of all models on the same rows, summed jointly: the covariances that intervals need, without
//! storing a decision.

use crate::predictor::Rows;
use crate::{Error, Points, Schema};

use super::{Engine, Map, Over, Pass, Wanted};
use crate::class_tally::{ClassBits, bits_per_model, label_place};
use crate::decision::{Tallies, n_regions, regions_of};
use crate::predictor::Predictor;

/// Rows with the same label and the same groups.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JointStratum {
    /// 1 if labeled positive, or the class.
    pub(crate) label: usize,
    /// The regions that contain the rows.
    pub(crate) regions: Vec<usize>,
    /// Σ w, over all rows and over those with each bit: those that a model selects, or decides so.
    pub(crate) mean: Vec<f64>,
    /// Σ w² over the rows with two bits, for all pairs: the lower triangle, row by row. Every row has the
    /// first "bit".
    pub(crate) pairs: Vec<f64>,
}

/// Sums of decisions by label and groups: Σ w and Σ w² over the rows that a model, or two models, select.
#[derive(Debug, Clone)]
pub struct Moments {
    pub(crate) n_models: usize,
    pub(crate) n_bits: usize,
    pub(crate) classes: Option<ClassBits>,
    pub(crate) n_rows: u64,
    pub(crate) n_regions: usize,
    pub(crate) strata: Vec<JointStratum>,
}

/// Number of combinations of label and groups, including unknown ones.
pub(crate) fn n_strata(schema: &Schema) -> usize {
    let groups = schema.attributes.iter().map(|a| a.groups.len() + 1);
    groups.fold(schema.target.n_labels(), usize::saturating_mul)
}

/// Number of sums per stratum.
pub(super) fn n_sums(schema: &Schema, n_models: usize) -> usize {
    let n = n_models * bits_per_model(schema) + 1;
    n + n * (n + 1) / 2
}

impl Moments {
    /// Passes over the rows once.
    pub fn of(
        predictor: &dyn Predictor,
        rows: &dyn Engine,
        models: &Points,
    ) -> Result<Self, Error> {
        let sums = rows.sum(&Pass {
            map: Map::of(predictor),
            points: std::borrow::Cow::Borrowed(models),
            wanted: Wanted::Joint,
            over: Over::All,
        })?;
        let schema = rows.schema();
        let n_bits = models.len() * bits_per_model(schema);
        let (n, n_labels) = (n_bits + 1, schema.target.n_labels());
        let strata = sums.chunks_exact(n_sums(schema, models.len())).enumerate();
        let strata = strata.filter(|(_, sums)| sums[n] > 0.0);
        let strata = strata.map(|(number, sums)| {
            let (label, groups) = (number % n_labels, number / n_labels);
            let mut rest = groups;
            let known = schema
                .attributes
                .iter()
                .enumerate()
                .filter_map(|(a, about)| {
                    let group = rest % (about.groups.len() + 1);
                    rest /= about.groups.len() + 1;
                    (group > 0).then(|| regions_of(schema, a).start + group - 1)
                });
            JointStratum {
                label,
                regions: std::iter::once(0).chain(known).collect(),
                mean: sums[..n].to_vec(),
                pairs: sums[n..].to_vec(),
            }
        });
        Ok(Self {
            n_models: models.len(),
            n_bits,
            classes: ClassBits::of(schema, models.len()),
            n_rows: rows.n_rows(),
            n_regions: n_regions(schema),
            strata: strata.collect(),
        })
    }

    /// The rows that each model selects in each region, by label.
    pub fn tallies(&self) -> Tallies {
        let mut tallies = Tallies::new(self.n_models, self.n_regions, self.classes);
        for stratum in &self.strata {
            let sums = |i: usize| [stratum.mean[i], stratum.pairs[i * (i + 1) / 2 + i]];
            let of_bit = |bit: usize| sums(bit + 1);
            tallies.add(
                stratum.label,
                &stratum.regions,
                sums(0),
                self.classes,
                of_bit,
            );
        }
        tallies.finished()
    }
}

/// Adds up the decisions of a task. Rows with the same decisions are added first, because models of a front
/// mostly agree.
pub(super) struct JointSums<'a> {
    schema: &'a Schema,
    n_bits: usize,
    /// The stratum of each row.
    strata: Vec<u32>,
    weights: Vec<f64>,
    /// Words of 32 bits, row by row.
    words: Vec<u32>,
    n_words: usize,
}

impl<'a> JointSums<'a> {
    pub(super) fn new(schema: &'a Schema, n_models: usize) -> Self {
        let n_bits = n_models * bits_per_model(schema);
        Self {
            schema,
            n_bits,
            strata: Vec::new(),
            weights: Vec::new(),
            words: Vec::new(),
            n_words: n_bits.div_ceil(32),
        }
    }

    /// Adds the labels, groups and weights of further rows, which no model selects so far.
    pub(super) fn add_rows(&mut self, rows: &Rows<'_>) {
        for row in 0..rows.len() {
            let target = &self.schema.target;
            let mut stratum = label_place(target, rows.labels()[row]) as u32;
            let mut step = target.n_labels() as u32;
            for (a, about) in self.schema.attributes.iter().enumerate() {
                let n = about.groups.len() as u32;
                // Unknown groups are 0.
                let group = rows.groups(a)[row].wrapping_add(1);
                stratum += step * if group > n { 0 } else { group };
                step *= n + 1;
            }
            self.strata.push(stratum);
            self.weights.push(rows.weights()[row]);
        }
        self.words.resize(self.strata.len() * self.n_words, 0);
    }

    /// Sets the decisions of up to 32 models on a row.
    pub(super) fn set(&mut self, row: usize, word: usize, bits: u32) {
        self.words[row * self.n_words + word] = bits;
    }

    /// Sets one bit of a row.
    pub(super) fn set_bit(&mut self, row: usize, bit: usize) {
        self.words[row * self.n_words + bit / 32] |= 1 << (bit % 32);
    }

    pub(super) fn finish(self) -> Vec<f64> {
        let n = self.n_bits + 1;
        let length = n + n * (n + 1) / 2;
        let mut sums = vec![0.0; n_strata(self.schema) * length];
        let pattern = |row: usize| &self.words[row * self.n_words..(row + 1) * self.n_words];
        let key = |row: usize| (self.strata[row], pattern(row));
        let mut order: Vec<usize> = (0..self.strata.len()).collect();
        order.sort_unstable_by(|a, b| key(*a).cmp(&key(*b)).then(a.cmp(b)));
        let mut chosen = Vec::with_capacity(n);
        for same in order.chunk_by(|a, b| key(*a) == key(*b)) {
            let (mut total, mut squares) = (0.0, 0.0);
            for row in same {
                let weight = self.weights[*row];
                total += weight;
                squares += weight * weight;
            }
            chosen.clear();
            chosen.push(0);
            for (word, bits) in pattern(same[0]).iter().enumerate() {
                let mut left = *bits;
                while left != 0 {
                    chosen.push(1 + word * 32 + left.trailing_zeros() as usize);
                    left &= left - 1;
                }
            }
            let own = &mut sums[self.strata[same[0]] as usize * length..][..length];
            let (mean, pairs) = own.split_at_mut(n);
            for (at, &i) in chosen.iter().enumerate() {
                mean[i] += total;
                let row = &mut pairs[i * (i + 1) / 2..];
                for &j in &chosen[..=at] {
                    row[j] += squares;
                }
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Attribute, BLOCK_ROWS, Dataset, Decisions, Linear, Purpose, RowBlock, Stream, UNKNOWN_GROUP,
    };

    fn table(n: usize) -> Dataset {
        let named = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let schema = Schema {
            numeric: named(&["a", "b"]),
            attributes: vec![
                Attribute::new("sex", named(&["F", "M"])),
                Attribute::new("race", named(&["A", "B", "C"])),
            ],
            target: crate::Target::Binary,
            ..Schema::default()
        };
        let mut random = Stream::new(1, Purpose::Synthetic, [8, 0]);
        let blocks = (0..n).step_by(BLOCK_ROWS).map(|first| {
            let rows = 0..BLOCK_ROWS.min(n - first);
            let mut group = |k: usize| match random.below(k + 1) {
                0 => UNKNOWN_GROUP,
                g => g as u32 - 1,
            };
            let groups = vec![
                rows.clone().map(|_| group(2)).collect(),
                rows.clone().map(|_| group(3)).collect(),
            ];
            RowBlock::new(
                &schema,
                rows.clone()
                    .flat_map(|_| [random.normal(), random.normal()])
                    .collect(),
                vec![],
                rows.clone()
                    .map(|_| if random.chance(0.3) { 1.0 } else { -1.0 })
                    .collect(),
                groups,
                rows.map(|_| random.uniform()).collect(),
            )
        });
        let blocks = blocks.collect::<Result<_, _>>().unwrap();
        Dataset::new(schema.clone(), blocks).unwrap()
    }

    /// Sums by pattern of decisions equal those row by row.
    #[test]
    fn moments_are_sums_over_rows() {
        let rows = table(6_000);
        for n in [1, 5, 40] {
            let mut random = Stream::new(2, Purpose::Synthetic, [8, 1]);
            let values = (0..3 * n).map(|_| random.normal()).collect();
            let models = Points::from_vec(3, values);
            let moments = Moments::of(&Linear, &rows, &models).unwrap();
            let decisions = Decisions::of(&Linear, &rows, &models).unwrap();
            let (found, expected) = (moments.tallies(), decisions.tallies());
            let flat = |t: &Tallies| -> Vec<f64> {
                let all = t.selected.iter().flatten().chain(&t.totals);
                all.flatten().flatten().copied().collect()
            };
            for (a, b) in flat(&found).iter().zip(flat(&expected)) {
                // Sums of 6,000 weights in another order.
                assert!((a - b).abs() < 1e-10, "{a} is not {b}");
            }
            // Pairs of models, over all strata.
            let loaded = rows.loaded().unwrap();
            let score = |block: &RowBlock, row: usize, model: usize| {
                let (x, z) = (models.get(model), block.numeric(row));
                x[0] * z[0] + x[1] * z[1] + x[2]
            };
            let (i, j) = (n - 1, n / 2);
            let mut expected = 0.0;
            for block in loaded.blocks() {
                for row in 0..block.n_rows() {
                    if score(block, row, i) >= 0.0 && score(block, row, j) >= 0.0 {
                        expected += block.weights()[row].powi(2);
                    }
                }
            }
            let at = (i + 1) * (i + 2) / 2 + j + 1;
            let found: f64 = moments.strata.iter().map(|s| s.pairs[at]).sum();
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }
}
