//! Redraws of rows for many models at once.
//!
//! A replicate gives every row its own weight, Poisson with mean 1. All models see the same
//! weights, so that differences between models are paired. Above [`MOST_REDRAWN`] rows, sums of
//! such weights are normal to many digits and are drawn from their covariance instead.

use std::ops::Range;

use rayon::prelude::*;

use crate::class_tally::{ClassBits, bits_per_model};
use crate::decision::{Decisions, Stratum, Tallies, n_regions};
use crate::engine::{JointStratum, Moments, n_strata};
use crate::lanes::{LANES, vectorized};
use crate::predictor::Predictor;
use crate::{Error, Points, Purpose, Rate, RowSource, Schema, Stream};

/// The largest number of rows for which every row gets its own weight.
pub const MOST_REDRAWN: usize = 1_000_000;
/// Above this number of strata, covariances would cost more than weights.
const MOST_STRATA: usize = 128;
/// Above this number of bits per row, so would covariances of decisions between classes.
const MOST_CLASS_BITS: usize = 640;
/// Number of replicates that are computed side by side.
const BLOCK: usize = 16;
/// Shares of rows that single precision does not tell from 0.
const ROUNDING: f64 = 1e-6;
/// Number of rows after which sums in single precision are added in double precision.
const FLUSH: usize = 1024;

/// The sums of one replicate.
#[derive(Debug, Clone)]
pub struct Redrawn {
    n_regions: usize,
    /// Number of sums per region: by label, and for classes a last one of all rows.
    n_labels: usize,
    classes: Option<ClassBits>,
    /// Weight of all rows by region and label.
    totals: Vec<f64>,
    /// Weight of the rows with a bit, by bit, region and label. When sums are complete, those of ordered
    /// classes are the weights of rows with a decision that is at least as high.
    selected: Vec<f64>,
}

impl Redrawn {
    fn new(n_regions: usize, n_bits: usize, classes: Option<ClassBits>) -> Self {
        let n_labels = n_labels(classes.map(|classes| classes.n_classes));
        Self {
            n_regions,
            n_labels,
            classes,
            totals: vec![0.0; n_regions * n_labels],
            selected: vec![0.0; n_bits * n_regions * n_labels],
        }
    }

    fn total(&mut self, region: usize, label: usize) -> &mut f64 {
        &mut self.totals[region * self.n_labels + label]
    }

    fn of_bit(&mut self, bit: usize, region: usize, label: usize) -> &mut f64 {
        &mut self.selected[(bit * self.n_regions + region) * self.n_labels + label]
    }

    /// Adds up labels and, if classes are ordered, decisions.
    fn finish(&mut self) {
        let Some(classes) = self.classes else {
            return;
        };
        let n = self.n_labels;
        // Sums in single precision leave a remainder if a decision has no rows.
        let all = self.totals.len();
        for (at, sum) in self.selected.iter_mut().enumerate() {
            if *sum < ROUNDING * self.totals[at % all] {
                *sum = 0.0;
            }
        }
        for sums in [&mut self.totals, &mut self.selected] {
            for of_region in sums.chunks_exact_mut(n) {
                of_region[n - 1] = of_region[..n - 1].iter().sum();
            }
        }
        if classes.ordered {
            let step = classes.stride * self.n_regions * n;
            for at in (0..(classes.n_classes - 1) * step).rev() {
                self.selected[at] += self.selected[at + step];
            }
        }
    }

    /// The rate of a model in a region; `None` if the replicate has no such rows.
    pub fn rate(&self, model: usize, rate: Rate, region: usize) -> Option<f64> {
        let n = self.n_labels;
        let totals = &self.totals[region * n..(region + 1) * n];
        let of = |bit: usize| &self.selected[(bit * self.n_regions + region) * n..][..n];
        let (successes, trials) = match self.classes {
            None => {
                let selected = of(model);
                rate.of([selected[0], selected[1]], [totals[0], totals[1]])
            }
            Some(classes) => {
                let bit = |class: usize| class * classes.stride + model;
                let is_highest = |class: usize| class + 1 == classes.n_classes;
                let right = |class: usize| match classes.ordered && !is_highest(class) {
                    true => (of(bit(class))[class] - of(bit(class + 1))[class]).max(0.0),
                    false => of(bit(class))[class],
                };
                match rate {
                    Rate::Decided { class, of: rows } => {
                        let label = rows.unwrap_or(n - 1);
                        (of(bit(class))[label], totals[label])
                    }
                    Rate::Recall { class } => (right(class), totals[class]),
                    Rate::Accuracy => ((0..classes.n_classes).map(right).sum(), totals[n - 1]),
                    Rate::Selection | Rate::FalseNegative | Rate::FalsePositive => (0.0, 0.0),
                }
            }
        };
        (trials > 0.0).then(|| successes / trials)
    }
}

/// Number of sums per region.
fn n_labels(n_classes: Option<usize>) -> usize {
    n_classes.map_or(2, |n| n + 1)
}

impl Redrawn {
    /// The mean cost per row of a model's errors; `None` without rows. All errors between classes cost 1.
    pub fn cost(&self, model: usize, false_positive: f64, false_negative: f64) -> Option<f64> {
        if self.classes.is_some() {
            return self.rate(model, Rate::Accuracy, 0).map(|rate| 1.0 - rate);
        }
        let selected = &self.selected[model * self.n_regions * 2..][..2];
        let (wrong, right) = (selected[0], selected[1]);
        let (negatives, positives) = (self.totals[0], self.totals[1]);
        let cost = false_positive * wrong + false_negative * (positives - right);
        let rows = negatives + positives;
        (rows > 0.0).then(|| cost / rows)
    }
}

/// Applies `each` to redraws of the rows, in order. A replicate depends only on seed, key and its
/// number, not on the number of threads. Ranges that start at a multiple of 16 waste no work.
pub fn redraw<T: Send>(
    decisions: &Decisions,
    seed: u64,
    key: u64,
    replicates: Range<usize>,
    each: impl Fn(&Redrawn) -> T + Sync,
) -> Vec<T> {
    let is_narrow = decisions.classes.is_none() || decisions.n_bits <= MOST_CLASS_BITS;
    // Strata with copies of the same person are not independent.
    let is_plain = is_narrow && decisions.copies.is_none();
    if decisions.n_rows() > MOST_REDRAWN && decisions.strata.len() <= MOST_STRATA && is_plain {
        return Normal::of_decisions(decisions).redraw(seed, key, replicates, each);
    }
    let n_blocks = replicates.len().div_ceil(BLOCK);
    let blocks: Vec<Vec<T>> = (0..n_blocks)
        .into_par_iter()
        .map(|block| {
            let first = replicates.start + block * BLOCK;
            let n = BLOCK.min(replicates.end - first);
            let made = redraw_block(decisions, seed, key, first as u64);
            made[..n].iter().map(&each).collect()
        })
        .collect();
    blocks.into_iter().flatten().collect()
}

/// The same number in [`BLOCK`] replicates.
type Block<T> = [T; BLOCK];

fn redraw_block(decisions: &Decisions, seed: u64, key: u64, first: u64) -> Vec<Redrawn> {
    let (n_regions, n_words) = (decisions.n_regions, decisions.n_words());
    let n_bits = n_words * LANES;
    let mut made = vec![Redrawn::new(n_regions, n_bits, decisions.classes); BLOCK];
    let mut streams: Vec<Stream> = (first..)
        .take(BLOCK)
        .map(|replicate| Stream::new(seed, Purpose::Bootstrap, [key, replicate]))
        .collect();
    let mut weights = vec![[0.0; BLOCK]; FLUSH];
    // All copies of a person have the weight of the person.
    let of_people = decisions
        .copies
        .as_ref()
        .map(|copies| (copies, draw_people(copies.n_people(), &mut streams)));
    for (stratum, range) in decisions.ranges() {
        let mut total = [0.0; BLOCK];
        let mut changes: Vec<Block<f64>> = vec![[0.0; BLOCK]; n_bits];
        for start in range.clone().step_by(FLUSH) {
            let end = range.end.min(start + FLUSH);
            let own = &decisions.weights[start..end];
            match &of_people {
                None => draw(own, &mut streams, &mut weights),
                Some((copies, drawn)) => {
                    let people = &copies.of_row()[start..end];
                    for ((weights, own), person) in weights.iter_mut().zip(own).zip(people) {
                        let drawn = &drawn[*person as usize];
                        for (weight, drawn) in weights.iter_mut().zip(drawn) {
                            *weight = f32::from(*drawn) * *own as f32;
                        }
                    }
                }
            }
            for weights in &weights[..end - start] {
                for (total, weight) in total.iter_mut().zip(weights) {
                    *total += f64::from(*weight);
                }
            }
            let firsts = merge_equal_rows(decisions, start..end, &mut weights);
            let words = |row: &usize| &decisions.bits[row * n_words..(row + 1) * n_words];
            let bits: Vec<u32> = firsts.iter().flat_map(words).copied().collect();
            let mut latest: Vec<Block<f32>> = vec![[0.0; BLOCK]; n_bits];
            add_changes(&bits, n_words, &weights[..firsts.len()], &mut latest);
            for (change, latest) in changes.iter_mut().zip(&latest) {
                for (change, latest) in change.iter_mut().zip(latest) {
                    *change += f64::from(*latest);
                }
            }
        }
        let mut selected = [0.0; BLOCK];
        for (bit, change) in changes.iter().enumerate() {
            for (replicate, made) in made.iter_mut().enumerate() {
                selected[replicate] += change[replicate];
                for region in &stratum.regions {
                    *made.of_bit(bit, *region, stratum.label) += selected[replicate];
                }
            }
        }
        for (made, total) in made.iter_mut().zip(total) {
            for region in &stratum.regions {
                *made.total(*region, stratum.label) += total;
            }
        }
    }
    made.iter_mut().for_each(Redrawn::finish);
    made
}

/// Draws a weight in each replicate for rows with these weights of their own.
fn draw(own: &[f64], streams: &mut [Stream], weights: &mut [Block<f32>]) {
    let weights = &mut weights[..own.len()];
    for (replicate, stream) in streams.iter_mut().enumerate() {
        // Two weights from each draw of 64 bits.
        for pair in weights.chunks_mut(2) {
            let bits = stream.bits();
            pair[0][replicate] = poisson(bits as u32);
            if let Some(second) = pair.get_mut(1) {
                second[replicate] = poisson((bits >> 32) as u32);
            }
        }
    }
    for (weights, own) in weights.iter_mut().zip(own) {
        weights.iter_mut().for_each(|weight| *weight *= *own as f32);
    }
}

/// Draws a weight for each person in each replicate.
fn draw_people(n: usize, streams: &mut [Stream]) -> Vec<Block<u8>> {
    let mut drawn = vec![[0; BLOCK]; n];
    for (replicate, stream) in streams.iter_mut().enumerate() {
        for pair in drawn.chunks_mut(2) {
            let bits = stream.bits();
            // At most 12.
            pair[0][replicate] = poisson(bits as u32) as u8;
            if let Some(second) = pair.get_mut(1) {
                second[replicate] = poisson((bits >> 32) as u32) as u8;
            }
        }
    }
    drawn
}

/// Merges adjacent rows with the same decisions of all models and adds up their weights; returns
/// the first row of each merged set. On a front, most rows are selected by all models or by none,
/// so that few sets remain.
fn merge_equal_rows(
    decisions: &Decisions,
    rows: Range<usize>,
    weights: &mut [[f32; BLOCK]],
) -> Vec<usize> {
    let n_words = decisions.n_words();
    let bits = |row: usize| &decisions.bits[row * n_words..(row + 1) * n_words];
    let mut firsts: Vec<usize> = Vec::new();
    for (at, row) in rows.enumerate() {
        let own = weights[at];
        match firsts.last() {
            Some(first) if bits(*first) == bits(row) => {
                let merged = &mut weights[firsts.len() - 1];
                for (sum, own) in merged.iter_mut().zip(own) {
                    *sum += own;
                }
            }
            _ => {
                weights[firsts.len()] = own;
                firsts.push(row);
            }
        }
    }
    firsts
}

vectorized! {
    /// Adds up, for each model, the weights of rows that it selects and the previous model does
    /// not, minus those of rows that only the previous model selects. Neighboring models of a front
    /// make mostly the same decisions, so that a row changes few sums.
    fn add_changes(bits: &[u32], n_words: usize, weights: &[Block<f32>], changes: &mut [Block<f32>]) {
        for (row, weights) in bits.chunks_exact(n_words).zip(weights) {
            let mut before = 0;
            for (word, own) in row.iter().enumerate() {
                let mut left = own ^ (own << 1 | before);
                while left != 0 {
                    let lane = left.trailing_zeros();
                    let change = &mut changes[word * LANES + lane as usize];
                    let sign = if own >> lane & 1 == 1 { 1.0 } else { -1.0 };
                    for r in 0..BLOCK {
                        change[r] += sign * weights[r];
                    }
                    left &= left - 1;
                }
                before = own >> (LANES - 1);
            }
        }
    }
}

/// A Poisson variable with mean 1 from 32 uniform bits: the number of thresholds that are at most
/// these bits.
fn poisson(bits: u32) -> f32 {
    /// 2³² P(X ≤ k) for k = 0, 1, …
    const THRESHOLDS: [u32; 12] = [
        1_580_030_169,
        3_160_060_337,
        3_950_075_422,
        4_213_413_783,
        4_279_248_374,
        4_292_415_292,
        4_294_609_778,
        4_294_923_276,
        4_294_962_463,
        4_294_966_817,
        4_294_967_253,
        4_294_967_292,
    ];
    let mut count = 0;
    for threshold in THRESHOLDS {
        count += u32::from(bits >= threshold);
    }
    count as f32
}

/// Decisions of models on rows, from which rows are redrawn: row by row, or as moments for many rows.
#[derive(Debug, Clone)]
pub enum Decided {
    /// One bit per row and model.
    Rows(Decisions),
    /// Sums of decisions.
    Moments(Moments),
}

impl Decided {
    /// Decisions of all models. The number of rows and the groups determine the form, wherever the rows are.
    pub fn of(
        predictor: &dyn Predictor,
        rows: &dyn RowSource,
        models: &Points,
    ) -> Result<Self, Error> {
        Ok(
            match Self::as_moments(rows.n_rows(), rows.schema(), models.len()) {
                true => Self::Moments(Moments::of(predictor, rows, models)?),
                false => Self::Rows(Decisions::of(predictor, rows, models)?),
            },
        )
    }

    /// Whether decisions of this many models on this many rows are stored as moments.
    pub fn as_moments(n_rows: u64, schema: &Schema, n_models: usize) -> bool {
        let is_narrow = schema.target.classes().is_none()
            || n_models * bits_per_model(schema) <= MOST_CLASS_BITS;
        n_rows > MOST_REDRAWN as u64
            && n_strata(schema) <= MOST_STRATA
            && is_narrow
            && !schema.has_estimated()
    }

    /// Number of bits that a row takes with this many models.
    pub fn bits_per_row(schema: &Schema, n_models: usize) -> usize {
        n_models.next_multiple_of(LANES) * bits_per_model(schema)
    }

    /// Number of sums per replicate with this many models.
    pub fn sums_per_replicate(schema: &Schema, n_models: usize) -> usize {
        let n_classes = schema.target.classes().map(crate::Classes::len);
        Self::bits_per_row(schema, n_models) * n_regions(schema) * n_labels(n_classes)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> u64 {
        match self {
            Self::Rows(decisions) => decisions.n_rows() as u64,
            Self::Moments(moments) => moments.n_rows,
        }
    }

    /// The rows that each model selects in each region, by label.
    pub fn tallies(&self) -> Tallies {
        match self {
            Self::Rows(decisions) => decisions.tallies(),
            Self::Moments(moments) => moments.tallies(),
        }
    }

    /// Applies `each` to redraws of the rows, in order ([`redraw`]).
    pub fn redraw<T: Send>(
        &self,
        seed: u64,
        key: u64,
        replicates: Range<usize>,
        each: impl Fn(&Redrawn) -> T + Sync,
    ) -> Vec<T> {
        match self {
            Self::Rows(decisions) => redraw(decisions, seed, key, replicates, each),
            Self::Moments(moments) => {
                let normal = Normal::of_moments(moments);
                normal.redraw(seed, key, replicates, each)
            }
        }
    }
}

/// Sums of strata that are drawn from a normal distribution with their covariance: Σ w² x xᵀ over the rows
/// of a stratum, where x holds the decisions of all models and a 1.
struct Normal {
    n_regions: usize,
    n_bits: usize,
    classes: Option<ClassBits>,
    /// Label, regions and distribution of each stratum.
    strata: Vec<(usize, Vec<usize>, Factor)>,
}

impl Normal {
    fn of_decisions(decisions: &Decisions) -> Self {
        let strata: Vec<_> = decisions.ranges().collect();
        let of = |(stratum, range): &(&Stratum, Range<usize>)| {
            let factor = Factor::of(decisions, range.clone());
            (stratum.label, stratum.regions.clone(), factor)
        };
        Self {
            n_regions: decisions.n_regions,
            n_bits: decisions.n_bits,
            classes: decisions.classes,
            strata: strata.par_iter().map(of).collect(),
        }
    }

    fn of_moments(moments: &Moments) -> Self {
        let n = moments.n_bits + 1;
        let of = |stratum: &JointStratum| {
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                let pairs = &stratum.pairs[i * (i + 1) / 2..][..=i];
                matrix[i * n..=i * n + i].copy_from_slice(pairs);
            }
            let factor = Factor {
                mean: stratum.mean.clone(),
                lower: factor(matrix, n),
            };
            (stratum.label, stratum.regions.clone(), factor)
        };
        Self {
            n_regions: moments.n_regions,
            n_bits: moments.n_bits,
            classes: moments.classes,
            strata: moments.strata.par_iter().map(of).collect(),
        }
    }

    fn redraw<T: Send>(
        &self,
        seed: u64,
        key: u64,
        replicates: Range<usize>,
        each: impl Fn(&Redrawn) -> T + Sync,
    ) -> Vec<T> {
        replicates
            .into_par_iter()
            .map(|replicate| {
                let mut stream = Stream::new(seed, Purpose::Bootstrap, [key, replicate as u64]);
                let mut made = Redrawn::new(self.n_regions, self.n_bits, self.classes);
                for (label, regions, factor) in &self.strata {
                    let sums = factor.draw(&mut stream);
                    for &region in regions {
                        *made.total(region, *label) += sums[0];
                        for (bit, sum) in sums[1..].iter().enumerate() {
                            *made.of_bit(bit, region, *label) += sum;
                        }
                    }
                }
                made.finish();
                each(&made)
            })
            .collect()
    }
}

/// The mean of a stratum's sums and a factor L of their covariance, the total first.
struct Factor {
    mean: Vec<f64>,
    lower: Vec<f64>,
}

impl Factor {
    fn of(decisions: &Decisions, range: Range<usize>) -> Self {
        let (n_words, n) = (decisions.n_words(), decisions.n_bits + 1);
        let mut mean = vec![0.0; n];
        let mut matrix = vec![0.0; n * n];
        let mut chosen = Vec::with_capacity(n);
        for row in range {
            let weight = decisions.weights[row];
            chosen.clear();
            chosen.push(0);
            for word in 0..n_words {
                let mut left = decisions.bits[row * n_words + word];
                while left != 0 {
                    chosen.push(1 + word * LANES + left.trailing_zeros() as usize);
                    left &= left - 1;
                }
            }
            for (at, &i) in chosen.iter().enumerate() {
                mean[i] += weight;
                for &j in &chosen[..=at] {
                    matrix[i * n + j] += weight * weight;
                }
            }
        }
        Self {
            mean,
            lower: factor(matrix, n),
        }
    }

    fn draw(&self, stream: &mut Stream) -> Vec<f64> {
        let n = self.mean.len();
        let noise: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let sum = |i: usize| {
            let row = &self.lower[i * n..=i * n + i];
            self.mean[i] + row.iter().zip(&noise).map(|(l, z)| l * z).sum::<f64>()
        };
        (0..n).map(|i| sum(i).max(0.0)).collect()
    }
}

/// L with `LLᵀ = A` for a positive semidefinite A. Models with the same decisions share their
/// noise.
fn factor(mut matrix: Vec<f64>, n: usize) -> Vec<f64> {
    for j in 0..n {
        let size = matrix[j * n + j];
        for k in 0..j {
            let dot: f64 = (0..k).map(|i| matrix[j * n + i] * matrix[k * n + i]).sum();
            let pivot = matrix[k * n + k];
            matrix[j * n + k] = match pivot > 0.0 {
                true => (matrix[j * n + k] - dot) / pivot,
                false => 0.0,
            };
        }
        let own: f64 = (0..j).map(|i| matrix[j * n + i] * matrix[j * n + i]).sum();
        let pivot = size - own;
        matrix[j * n + j] = if pivot > 1e-9 * size {
            pivot.sqrt()
        } else {
            0.0
        };
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_poisson() {
        // Thresholds against the series e⁻¹ Σ 1/k!.
        let (mut share, mut term) = (0.0, (-1.0_f64).exp());
        for k in 0..12_u32 {
            share += term;
            term /= f64::from(k + 1);
            let threshold = (share * 4_294_967_296.0).round().min(4_294_967_295.0) as u32;
            let at = |bits| poisson(bits) as u32;
            assert_eq!(at(threshold.saturating_sub(2)), k, "{threshold}");
            assert!(
                at(threshold.saturating_add(2)) > k || k == 11,
                "{threshold}"
            );
        }
    }

    fn decisions(n: usize, weight: f64) -> Decisions {
        // Two strata; model 0 selects every second row, model 1 every third, model 2 the same rows
        // as model 0.
        let word = |row: usize| {
            let (half, third) = (
                u32::from(row.is_multiple_of(2)),
                u32::from(row.is_multiple_of(3)),
            );
            half | third << 1 | half << 2
        };
        Decisions {
            n_models: 3,
            n_bits: 3,
            classes: None,
            bits: (0..n).map(word).collect(),
            weights: vec![weight; n],
            strata: vec![
                Stratum {
                    end: n / 2,
                    label: 0,
                    regions: vec![0, 1],
                },
                Stratum {
                    end: n,
                    label: 1,
                    regions: vec![0, 2],
                },
            ],
            n_regions: 3,
            copies: None,
        }
    }

    /// Means and covariances of some sums over replicates.
    fn moments(all: &[Vec<f64>]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let (n, m) = (all.len() as f64, all[0].len());
        let mean: Vec<f64> = (0..m)
            .map(|i| all.iter().map(|v| v[i]).sum::<f64>() / n)
            .collect();
        let covariance = |i: usize, j: usize| {
            all.iter()
                .map(|v| (v[i] - mean[i]) * (v[j] - mean[j]))
                .sum::<f64>()
                / n
        };
        let matrix = (0..m)
            .map(|i| (0..m).map(|j| covariance(i, j)).collect())
            .collect();
        (mean, matrix)
    }

    #[test]
    fn both_ways_of_redrawing_have_the_moments_of_poisson_weights() {
        let (n, weight) = (3_000, 2.0);
        let decisions = decisions(n, weight);
        let sums = |made: &Redrawn| -> Vec<f64> {
            let at = |model: usize, region: usize, label: usize| {
                made.selected[(model * 3 + region) * 2 + label]
            };
            vec![
                made.totals[0],
                at(0, 1, 0),
                at(1, 1, 0),
                at(2, 1, 0),
                at(1, 2, 1),
            ]
        };
        let half = n as f64 / 2.0;
        let counts = [half, half / 2.0, half / 3.0, half / 2.0, half / 3.0];
        let together = half / 6.0;
        let drawn = [
            redraw(&decisions, 1, 0, 0..4_000, sums),
            Normal::of_decisions(&decisions).redraw(1, 0, 0..4_000, sums),
        ];
        for all in drawn {
            let (mean, matrix) = moments(&all);
            for i in 0..5 {
                // Five standard errors of 4,000 replicates.
                let error = 5.0 * weight * (counts[i] / 4_000.0).sqrt();
                assert!(
                    (mean[i] - weight * counts[i]).abs() < error,
                    "{i} {}",
                    mean[i]
                );
                let variance = weight * weight * counts[i];
                assert!((matrix[i][i] / variance - 1.0).abs() < 5.0 * (2.0 / 4_000.0_f64).sqrt());
            }
            let shared = weight * weight * together;
            assert!(
                (matrix[1][2] / shared - 1.0).abs() < 0.25,
                "{}",
                matrix[1][2]
            );
            assert!(matrix[2][4].abs() < 0.2 * shared);
            // Models with the same decisions have the same sums.
            assert!(all.iter().all(|v| (v[1] - v[3]).abs() < 1e-6));
        }
    }

    #[test]
    fn replicates_do_not_depend_on_how_many_there_are() {
        let decisions = decisions(700, 1.0);
        let sums = |made: &Redrawn| made.selected.clone();
        let (few, many) = (
            redraw(&decisions, 1, 0, 0..5, sums),
            redraw(&decisions, 1, 0, 0..40, sums),
        );
        assert_eq!(few[..], many[..5]);
        assert_ne!(few, redraw(&decisions, 2, 0, 0..5, sums));
        assert_ne!(few, redraw(&decisions, 1, 1, 0..5, sums));
    }
}
