//! Quality of the probabilities of models, over all rows and by group.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::calibrate::Calibration;
use crate::engine::{Engine, Map, Over, Pass, Wanted, score_bin};
use crate::lanes::{LANES, sigmoid_minus, softplus_minus, vectorized};
use crate::measure::{Measures, add_calibrated_losses, measure, share};
use crate::predictor::{Predictor, scores_of_block};
use crate::{Error, Points, RowSource, UNKNOWN_GROUP};

/// The largest number of rows whose scores are sorted for the area under the curve and the Kolmogorov–Smirnov
/// statistic. With more rows, scores are counted in bins, which changes the area by less than 0.0001 and may
/// lower the statistic by a few thousandths.
pub const MOST_SORTED: u64 = 1_000_000;
/// Number of bins of equal width for probabilities.
pub const BINS: usize = 10;

/// Quality of probabilities on some rows; `None` for a number that is undefined on them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Quality {
    /// The mean squared difference between probability and label (0 or 1).
    pub brier_score: Option<f64>,
    /// The area under the receiver operating characteristic: the share of pairs in which a positive
    /// row has a higher score than a negative one, with ties counted half. It needs rows of both
    /// labels.
    pub auc: Option<f64>,
    /// The expected calibration error over 10 bins of equal width: the mean distance between the
    /// mean probability and the share of positive rows, with bins weighted by their rows.
    pub calibration_error: Option<f64>,
    /// The Kolmogorov–Smirnov statistic: the largest distance between the distribution functions of the scores
    /// of positive and of negative rows. It needs rows of both labels.
    pub ks: Option<f64>,
    /// The mean probability.
    pub mean: Option<f64>,
    /// The standard deviation of the probabilities, √(Σw(p − mean)² / Σw); `None` if all are equal.
    pub deviation: Option<f64>,
}

/// The rows whose probability is in one bin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bin {
    /// Rows, or the sum of their weights.
    pub rows: f64,
    /// The sum of their probabilities.
    pub predicted: f64,
    /// Positive rows among them.
    pub observed: f64,
}

/// The probabilities of a model on some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Probabilities {
    /// The log loss of the probabilities; `None` without rows.
    pub log_loss: Option<f64>,
    /// Over all rows.
    pub overall: Quality,
    /// By attribute and group.
    pub groups: Vec<Vec<Quality>>,
    /// Over all rows: bin i contains probabilities from i/10 to below (i + 1)/10; the last one also
    /// contains 1.
    pub bins: [Bin; BINS],
}

/// The measures of [`measure`] and those of probabilities, with one calibration per model.
///
/// For the area under the curve, up to [`MOST_SORTED`] rows are sorted by each model's scores, models in
/// parallel. Every other number is a sum over the rows in their order, so that no digit depends on the number of
/// threads.
pub fn measure_calibrated(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    points: &Points,
    calibrations: &[Calibration],
) -> Result<Vec<Measures>, Error> {
    let mut measures = measure(predictor, rows, points)?;
    if rows.schema().target.classes().is_some() {
        add_calibrated_losses(predictor, rows, points, calibrations, &mut measures)?;
    }
    if !rows.schema().target.is_binary() {
        return Ok(measures);
    }
    let probabilities = match rows.n_rows() > MOST_SORTED {
        true => binned(predictor, rows, points, calibrations)?,
        false => {
            let table = Table::read(rows)?;
            each_model(predictor, rows, points, |model, scores| {
                let calibration = calibrations.get(model).copied().unwrap_or_default();
                table.probabilities(scores, calibration)
            })?
        }
    };
    for (of_model, probabilities) in measures.iter_mut().zip(probabilities) {
        of_model.probabilities = Some(probabilities);
    }
    Ok(measures)
}

/// The quality of probabilities on more rows than are sorted: scores in the same bin count as equal in the
/// area under the curve.
fn binned(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
    calibrations: &[Calibration],
) -> Result<Vec<Probabilities>, Error> {
    let mut calibrations = calibrations.to_vec();
    calibrations.resize(points.len(), Calibration::default());
    let sums = rows.sum(&Pass {
        map: Map::of(predictor),
        points: Cow::Borrowed(points),
        wanted: Wanted::ScoreBins {
            calibrations: Cow::Owned(calibrations),
        },
        over: Over::All,
    })?;
    let attributes = &rows.schema().attributes;
    let length = 1 + score_bin::n_slots(rows.schema()) * score_bin::SLOT_SUMS;
    let of_point = |sums: &[f64]| {
        let mut tallies: Vec<Tally> = sums[1..]
            .chunks_exact(score_bin::SLOT_SUMS)
            .map(Tally::of_bins)
            .collect();
        let bins = tallies[0].bins;
        let mut quality = tallies.iter_mut().map(Tally::quality);
        let overall = quality.next().unwrap_or_default();
        Probabilities {
            log_loss: share(sums[0], bins.iter().map(|bin| bin.rows).sum()),
            overall,
            groups: attributes
                .iter()
                .map(|a| quality.by_ref().take(a.groups.len()).collect())
                .collect(),
            bins,
        }
    };
    Ok(sums.chunks_exact(length).map(of_point).collect())
}

/// Applies a function to the position and the scores of each model, models in parallel.
fn each_model<T: Send>(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    points: &Points,
    of: impl Fn(usize, &[f64]) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let all: Vec<&[f64]> = points.iter().collect();
    let mut found = Vec::with_capacity(all.len());
    for block in all.chunks(LANES) {
        let scores = scores_of_block(predictor, rows, block)?;
        let first = found.len();
        let models = scores.par_iter().enumerate();
        found.par_extend(models.map(|(model, scores)| of(first + model, scores)));
    }
    Ok(found)
}

/// Rows without their features. A slot is a set of rows that is measured: all rows, or a group.
struct Table {
    positive: Vec<bool>,
    weights: Vec<f64>,
    /// For each attribute, the slot of each row; the slot of unknown groups is past all others.
    slots: Vec<Vec<u32>>,
    /// Number of groups of each attribute.
    n_groups: Vec<usize>,
}

/// Sums over the rows of a slot, and the area under the curve as rows arrive in the order of
/// scores.
#[derive(Clone, Default)]
struct Tally {
    bins: [Bin; BINS],
    squares: f64,
    /// Σ w p².
    probability_squares: f64,
    area: f64,
    /// Weights of the negative and of the positive rows with lower scores.
    below: [f64; 2],
    /// Weights of all negative and of all positive rows, once they are known.
    total: [f64; 2],
    /// The largest distance so far between the shares of negative and of positive rows with lower scores.
    distance: f64,
    /// The current score, as an ordered key, and the weights of its rows by label.
    key: u64,
    here: [f64; 2],
}

impl Tally {
    /// The tally of sums by bin.
    fn of_bins(sums: &[f64]) -> Self {
        let mut tally = Self::default();
        for (bin, sums) in tally.bins.iter_mut().zip(sums.chunks_exact(3)) {
            *bin = Bin {
                rows: sums[0],
                predicted: sums[1],
                observed: sums[2],
            };
        }
        tally.squares = sums[3 * BINS];
        tally.probability_squares = sums[3 * BINS + 1];
        tally.count();
        for weights in sums[score_bin::FIRST_SCORE..].chunks_exact(2) {
            tally.here = [weights[0], weights[1]];
            tally.pass();
        }
        tally
    }

    fn add(&mut self, bin: usize, weight: f64, probability: f64, positive: bool) {
        let label = f64::from(u8::from(positive));
        let bin = &mut self.bins[bin];
        bin.rows += weight;
        bin.predicted += weight * probability;
        bin.observed += weight * label;
        self.squares += weight * (probability - label) * (probability - label);
        self.probability_squares += weight * probability * probability;
    }

    /// Takes the weights of both labels from the bins, before the rows arrive by score.
    fn count(&mut self) {
        let sum = |of: fn(&Bin) -> f64| self.bins.iter().map(of).sum::<f64>();
        let positive = sum(|bin| bin.observed);
        self.total = [sum(|bin| bin.rows) - positive, positive];
    }

    /// Adds the row with the next score.
    fn rise(&mut self, key: u64, weight: f64, positive: bool) {
        if key != self.key {
            self.pass();
            self.key = key;
        }
        self.here[usize::from(positive)] += weight;
    }

    /// Finishes the current score: its positive rows are above all earlier negative rows, and tie
    /// with its own negative rows.
    fn pass(&mut self) {
        let [negative, positive] = self.here;
        self.area += positive * (self.below[0] + 0.5 * negative);
        self.below = [self.below[0] + negative, self.below[1] + positive];
        let distance = self.below[0] / self.total[0] - self.below[1] / self.total[1];
        // Without rows of both labels, it is not a number, which is ignored here.
        self.distance = self.distance.max(distance.abs());
        self.here = [0.0; 2];
    }

    fn quality(&mut self) -> Quality {
        self.pass();
        let sum = |of: fn(&Bin) -> f64| self.bins.iter().map(of).sum::<f64>();
        let (rows, positive) = (sum(|bin| bin.rows), sum(|bin| bin.observed));
        let off = sum(|bin| (bin.predicted - bin.observed).abs());
        let mean = share(sum(|bin| bin.predicted), rows);
        let squares = share(self.probability_squares, rows);
        let variance = mean
            .zip(squares)
            .map(|(mean, squares)| squares - mean * mean);
        // Rounding leaves a little variance even if all probabilities are equal.
        let least = 1e-12 * squares.unwrap_or(0.0);
        let has_both = self.below[0] > 0.0 && self.below[1] > 0.0;
        Quality {
            brier_score: share(self.squares, rows),
            auc: share(self.area, positive * self.below[0]),
            calibration_error: share(off, rows),
            // Sums in another order may differ in their last digits.
            ks: has_both.then_some(self.distance.min(1.0)),
            mean,
            deviation: variance.filter(|v| *v > least).map(f64::sqrt),
        }
    }
}

impl Table {
    fn read(rows: &dyn RowSource) -> Result<Self, Error> {
        let attributes = &rows.schema().attributes;
        let mut table = Self {
            positive: Vec::with_capacity(rows.n_rows() as usize),
            weights: Vec::with_capacity(rows.n_rows() as usize),
            slots: vec![Vec::with_capacity(rows.n_rows() as usize); attributes.len()],
            n_groups: attributes.iter().map(|a| a.groups.len()).collect(),
        };
        // Slot 0 is for all rows.
        let n_slots = 1 + table.n_groups.iter().sum::<usize>() as u32;
        for index in 0..rows.n_blocks() {
            let block = rows.block(index)?;
            let positive = block.labels().iter().map(|y| *y > 0.0);
            table.positive.extend(positive);
            table.weights.extend_from_slice(block.weights());
            let mut first = 1;
            for (attribute, slots) in table.slots.iter_mut().enumerate() {
                slots.extend(block.groups(attribute).iter().map(|group| match *group {
                    UNKNOWN_GROUP => n_slots,
                    group => first + group,
                }));
                first += table.n_groups[attribute] as u32;
            }
        }
        Ok(table)
    }

    fn probabilities(&self, scores: &[f64], calibration: Calibration) -> Probabilities {
        let n_slots = 1 + self.n_groups.iter().sum::<usize>();
        // The last tally is for rows of unknown groups.
        let mut tallies = vec![Tally::default(); n_slots + 1];
        let mut loss = 0.0;
        let mut order = Vec::with_capacity(scores.len());
        let mut found = [vec![0.0; scores.len()], vec![0.0; scores.len()]];
        let [probabilities, losses] = &mut found;
        of_scores(scores, &self.positive, calibration, probabilities, losses);
        for (row, score) in scores.iter().enumerate() {
            let (positive, weight) = (self.positive[row], self.weights[row]);
            let probability = probabilities[row];
            let bin = ((probability * BINS as f64) as usize).min(BINS - 1);
            loss += weight * losses[row];
            tallies[0].add(bin, weight, probability, positive);
            for slots in &self.slots {
                tallies[slots[row] as usize].add(bin, weight, probability, positive);
            }
            order.push((ordered(*score), row as u32));
        }
        tallies.iter_mut().for_each(Tally::count);
        for (key, row) in sorted(order) {
            let row = row as usize;
            let (positive, weight) = (self.positive[row], self.weights[row]);
            tallies[0].rise(key, weight, positive);
            for slots in &self.slots {
                tallies[slots[row] as usize].rise(key, weight, positive);
            }
        }
        let bins = tallies[0].bins;
        let mut quality = tallies.iter_mut().map(Tally::quality);
        let overall = quality.next().unwrap_or_default();
        let groups = self.n_groups.iter();
        Probabilities {
            log_loss: share(loss, bins.iter().map(|bin| bin.rows).sum()),
            overall,
            groups: groups
                .map(|n| quality.by_ref().take(*n).collect())
                .collect(),
            bins,
        }
    }
}

vectorized! {
    /// The probability and the loss of each row.
    fn of_scores(
        scores: &[f64],
        positive: &[bool],
        calibration: Calibration,
        probabilities: &mut [f64],
        losses: &mut [f64],
    ) {
        let out = probabilities.iter_mut().zip(losses);
        for ((score, positive), (probability, loss)) in scores.iter().zip(positive).zip(out) {
            let odds = calibration.log_odds(*score);
            *probability = sigmoid_minus(-odds);
            *loss = softplus_minus(if *positive { odds } else { -odds });
        }
    }
}

/// Keys and rows in order; equal scores in the order of rows, so that sums of weights have one order.
///
/// The upper half of a key distinguishes nearly all scores and takes three rounds of counting,
/// which is faster than comparing. The few rows with the same upper half are compared.
fn sorted(mut all: Vec<(u64, u32)>) -> Vec<(u64, u32)> {
    const BITS: u32 = 11;
    const MANY: usize = 1 << BITS;
    // Counting pays off once there are more rows than counts.
    if all.len() < MANY {
        all.sort_unstable();
        return all;
    }
    let mut other = vec![(0, 0); all.len()];
    for round in 0..3 {
        let digit = |key: u64| (key >> (31 + BITS * round)) as usize & (MANY - 1);
        let mut starts = [0_usize; MANY];
        all.iter().for_each(|(key, _)| starts[digit(*key)] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        for pair in &all {
            let at = &mut starts[digit(pair.0)];
            other[*at] = *pair;
            *at += 1;
        }
        std::mem::swap(&mut all, &mut other);
    }
    for shared in all.chunk_by_mut(|a, b| a.0 >> 31 == b.0 >> 31) {
        // Rows with equal scores are already in order.
        if !shared.is_sorted() {
            shared.sort_unstable();
        }
    }
    all
}

/// Integers in the order of doubles; both zeros have the same integer.
fn ordered(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_and_comparing_give_the_same_order() {
        let mut random = Stream::new(1, Purpose::Synthetic, [1, 2]);
        for (n, size, grain) in [
            (100, 1.0, 0.0),
            (5_000, 1.0, 0.0),
            (5_000, 1e-300, 0.0),
            (5_000, 1e300, 0.0),
            // Many ties.
            (5_000, 1.0, 0.25),
        ] {
            let mut score = || {
                let score = size * random.normal();
                if grain > 0.0 {
                    (score / grain).round() * grain
                } else {
                    score
                }
            };
            let mut all: Vec<(u64, u32)> = (0..n).map(|row| (ordered(score()), row)).collect();
            // Scores that differ in their last digits only.
            let near =
                (0..n).map(|row| (ordered(1.0 + f64::from((row * 7) % 13) * 1e-15), n + row));
            all.extend(near);
            let mut expected = all.clone();
            expected.sort_unstable();
            assert_eq!(sorted(all), expected);
        }
    }

    #[test]
    fn keys_are_in_the_order_of_scores() {
        let scores = [f64::MIN, -2.0, -1e-300, 0.0, 1e-300, 0.5, 2.0, f64::MAX];
        assert!(
            scores
                .windows(2)
                .all(|pair| ordered(pair[0]) < ordered(pair[1]))
        );
        assert_eq!(ordered(-0.0), ordered(0.0));
        assert_ne!(ordered(0.0), 0);
    }

    use crate::{Attribute, BLOCK_ROWS, Dataset, Linear, Purpose, RowBlock, Schema, Stream};

    /// Bins of scores give the numbers of sorted scores.
    #[test]
    fn bins_agree_with_sorted_scores() {
        let n = 30_000;
        let schema = Schema {
            numeric: vec!["z".into()],
            attributes: vec![Attribute::new("sex", vec!["F".into(), "M".into()])],
            target: crate::Target::Binary,
            ..Schema::default()
        };
        let mut random = Stream::new(1, Purpose::Synthetic, [7, 0]);
        let blocks = (0..n).step_by(BLOCK_ROWS).map(|first| {
            let rows = 0..BLOCK_ROWS.min(n - first);
            let z: Vec<f64> = rows.clone().map(|_| random.normal()).collect();
            let label = |z: &f64| {
                if random.chance(1.0 / (1.0 + (-2.0 * z).exp())) {
                    1.0
                } else {
                    -1.0
                }
            };
            let labels = z.iter().map(label).collect();
            let groups = rows.clone().map(|_| random.below(2) as u32).collect();
            let weights = rows.map(|_| random.uniform()).collect();
            RowBlock::new(&schema, z, vec![], labels, vec![groups], weights)
        });
        let blocks = blocks.collect::<Result<_, _>>().unwrap();
        let data = Dataset::new(schema.clone(), blocks).unwrap();
        let points = Points::from_vec(2, vec![2.0, 0.0, 0.5, 1.0]);
        let calibrations = [
            Calibration::default(),
            Calibration {
                slope: 3.0,
                intercept: -2.0,
            },
        ];
        let found = binned(&Linear, &data, &points, &calibrations).unwrap();
        let measured = measure_calibrated(&Linear, &data, &points, &calibrations).unwrap();
        for (found, measured) in found.iter().zip(measured) {
            let expected = measured.probabilities.unwrap();
            // Sums of 30,000 terms in another order.
            let near = |a: f64, b: f64| (a - b).abs() < 1e-10;
            assert!(near(found.log_loss.unwrap(), expected.log_loss.unwrap()));
            let of = |p: &Probabilities| [vec![p.overall], p.groups[0].clone()].concat();
            for (a, b) in of(found).iter().zip(of(&expected)) {
                assert!(near(a.brier_score.unwrap(), b.brier_score.unwrap()));
                assert!(near(
                    a.calibration_error.unwrap(),
                    b.calibration_error.unwrap()
                ));
                assert!(near(a.mean.unwrap(), b.mean.unwrap()));
                assert!(near(a.deviation.unwrap(), b.deviation.unwrap()));
                // Scores within 1/32 of each other count as equal.
                assert!((a.auc.unwrap() - b.auc.unwrap()).abs() < 1e-4);
                assert!((a.ks.unwrap() - b.ks.unwrap()).abs() < 5e-3);
            }
        }
    }
}
