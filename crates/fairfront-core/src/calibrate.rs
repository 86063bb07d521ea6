//! From scores to probabilities: two parameters per model.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::lanes::{LANES, Real, softplus_minus, vectorised};
use crate::predictor::{Predictor, scores_of_block};
use crate::{Error, Points, RowSource};

/// Scales stay within this factor of 1: rows that a model separates without an error have no best scale.
const MOST: f64 = 1e6;

/// With fewer rows of either label than this, two parameters would follow chance.
const LEAST_ROWS: usize = 10;

/// The smallest slope, per standard deviation of the scores: probabilities still rise with the score.
const LEAST_SLOPE: f64 = 1e-6;

/// Rows that are summed side by side: sum i is over the rows i, i + 16, i + 32 and so on.
const ROWS: usize = 16;

/// How the score φ of a model becomes a probability: 1/(1 + e^(−(aφ + b))).
///
/// The slope a is above 0, so that a higher score never means a lower probability. Decisions do not depend
/// on it: they are φ ≥ 0, which is the same as a probability of at least [`Calibration::threshold`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// a.
    pub slope: f64,
    /// b.
    pub intercept: f64,
}

impl Default for Calibration {
    /// The probability of a logistic model: 1/(1 + e^(−φ)).
    fn default() -> Self {
        Self {
            slope: 1.0,
            intercept: 0.0,
        }
    }
}

impl Calibration {
    /// The logarithm of the odds: aφ + b.
    #[inline]
    pub fn log_odds(self, score: f64) -> f64 {
        self.slope * score + self.intercept
    }

    /// The probability of the positive label, by the same operations on every machine.
    pub fn probability(self, score: f64) -> f64 {
        1.0 / (1.0 + libm::exp(-self.log_odds(score)))
    }

    /// The probability at φ = 0, where decisions change.
    pub fn threshold(self) -> f64 {
        self.probability(0.0)
    }
}

/// The same models with all parameters times a factor, the one above 0 with which probabilities
/// 1/(1 + e^(−φ)) fit these rows best: the log loss is least. No decision changes. Models without such
/// a factor, and those of a predictor that is not linear, are returned as they are.
pub fn rescaled(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    points: &Points,
) -> Result<Points, Error> {
    if predictor.as_linear().is_none() {
        return Ok(points.clone());
    }
    let mut scaled = Points::new(points.n_params());
    let calibrations = calibrate_scale(predictor, rows, points)?;
    for (point, calibration) in points.iter().zip(calibrations) {
        let point: Vec<f64> = point.iter().map(|x| calibration.slope * x).collect();
        scaled.push(&point);
    }
    Ok(scaled)
}

/// For each model the slope with which probabilities fit these rows best, with an intercept of 0: a
/// probability of at least 0.5 is then a decision for the positive label. The slope is 1 if no slope is best.
pub fn calibrate_scale(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    points: &Points,
) -> Result<Vec<Calibration>, Error> {
    let (labels, weights) = labels_and_weights(rows)?;
    each_model(predictor, rows, points, |_, scores| {
        let margins: Vec<f64> = scores.iter().zip(&labels).map(|(s, y)| s * y).collect();
        Calibration {
            slope: factor(&margins, &weights),
            intercept: 0.0,
        }
    })
}

/// For each model the slope and the intercept with which probabilities fit these rows best (Platt scaling).
/// `None` if the rows have fewer than 10 of either label, too few for two parameters.
///
/// With n₊ positive and n₋ negative rows, the targets are (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2) instead of 1 and
/// 0, as Platt proposes: the best fit then exists on every such sample, also on one that a model separates.
/// Weights are scaled to a mean of 1 first. A model whose scores do not rise with the labels gets the
/// smallest slope, so that every probability is close to the share of positive rows. A model that scores
/// all rows equally keeps a slope of 1.
pub fn calibrate(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    points: &Points,
) -> Result<Option<Vec<Calibration>>, Error> {
    let (labels, weights) = labels_and_weights(rows)?;
    let Some(sample) = Sample::new(&labels, &weights) else {
        return Ok(None);
    };
    let found = each_model(predictor, rows, points, |_, scores| {
        sample.calibrate(scores)
    })?;
    Ok(Some(found))
}

fn labels_and_weights(rows: &dyn RowSource) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let (mut labels, mut weights) = (Vec::new(), Vec::new());
    for index in 0..rows.n_blocks() {
        let block = rows.block(index)?;
        labels.extend_from_slice(block.labels());
        weights.extend_from_slice(block.weights());
    }
    Ok((labels, weights))
}

/// Something made of the position and the scores of each model, models in parallel.
pub(crate) fn each_model<T: Send>(
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

/// The rows that calibrations are fitted on.
struct Sample {
    /// Of a row: what its probability should be.
    targets: Vec<f64>,
    /// With a mean of 1 over the rows that count.
    weights: Vec<f64>,
    total: f64,
}

impl Sample {
    fn new(labels: &[f64], weights: &[f64]) -> Option<Self> {
        let counted = |positive: bool| {
            let rows = labels.iter().zip(weights);
            let rows = rows.filter(move |(y, w)| (**y > 0.0) == positive && **w > 0.0);
            rows.map(|(_, w)| *w)
        };
        let [n_negative, n_positive] = [false, true].map(|positive| counted(positive).count());
        if n_negative.min(n_positive) < LEAST_ROWS {
            return None;
        }
        let [negative, positive] = [false, true].map(|positive| counted(positive).sum::<f64>());
        let scale = (n_negative + n_positive) as f64 / (negative + positive);
        if !scale.is_finite() || scale <= 0.0 {
            return None;
        }
        let high = (scale * positive + 1.0) / (scale * positive + 2.0);
        let low = 1.0 / (scale * negative + 2.0);
        let targets = labels.iter().map(|y| if *y > 0.0 { high } else { low });
        let weights: Vec<f64> = weights.iter().map(|w| scale * w).collect();
        Some(Self {
            targets: targets.collect(),
            total: weights.iter().sum(),
            weights,
        })
    }

    /// Newton's method on a convex function of two parameters, in standard deviations of the scores.
    fn calibrate(&self, scores: &[f64]) -> Calibration {
        let rows = || scores.iter().zip(&self.weights);
        let mean = rows().map(|(s, w)| w * s).sum::<f64>() / self.total;
        let spread = rows()
            .map(|(s, w)| w * (s - mean) * (s - mean))
            .sum::<f64>()
            / self.total;
        let spread = spread.sqrt();
        let largest = scores.iter().fold(0.0_f64, |most, s| most.max(s.abs()));
        if !(spread.is_finite() && spread > 1e-12 * largest && spread > 1e-100) {
            return self.without_spread(mean);
        }
        let units: Vec<f64> = scores.iter().map(|s| (s - mean) / spread).collect();
        // The probabilities of a logistic model are the first guess.
        let mut at = [spread.clamp(1e-3, 1e3), mean.clamp(-1e3, 1e3)];
        self.minimise(&units, &mut at, false);
        if at[0] < LEAST_SLOPE {
            at[0] = LEAST_SLOPE;
            self.minimise(&units, &mut at, true);
        }
        let slope = at[0] / spread;
        let calibration = Calibration {
            slope,
            intercept: at[1] - slope * mean,
        };
        match slope.is_finite() && slope > 0.0 && calibration.intercept.is_finite() {
            true => calibration,
            false => Calibration::default(),
        }
    }

    /// The loss at these two parameters with its derivatives: by slope and intercept, and by both twice.
    fn expand(&self, units: &[f64], at: [f64; 2]) -> ([f64; 3], [f64; 3]) {
        let mut sums = [[0.0; ROWS]; 6];
        add_expansion(units, &self.weights, &self.targets, at, &mut sums);
        let [loss, by_slope, by_intercept, a, b, c] = sums.map(|lanes| lanes.iter().sum());
        ([loss, by_slope, by_intercept], [a, b, c])
    }

    /// Minimises the loss over both parameters, or over the intercept alone.
    fn minimise(&self, units: &[f64], at: &mut [f64; 2], intercept_only: bool) {
        let (mut first, mut second) = self.expand(units, *at);
        for _ in 0..100 {
            // So little that it changes no digit, and enough where all probabilities are 0 or 1.
            let ridge = 1e-12 * self.total;
            let [a, b, c] = [second[0] + ridge, second[1], second[2] + ridge];
            let step = match intercept_only {
                true => [0.0, -first[2] / c],
                false => {
                    let determinant = a * c - b * b;
                    let along = |p: f64, q: f64, r: f64, s: f64| -(p * q - r * s) / determinant;
                    [
                        along(c, first[1], b, first[2]),
                        along(a, first[2], b, first[1]),
                    ]
                }
            };
            let decrement = -(step[0] * first[1] + step[1] * first[2]);
            let is_sound = step.iter().all(|s| s.is_finite());
            if !is_sound || decrement <= 1e-18 * self.total {
                return;
            }
            // Far from the minimum the curvature there says little.
            let mut length = (10.0 / step[0].hypot(step[1])).min(1.0);
            loop {
                let trial = [at[0] + length * step[0], at[1] + length * step[1]];
                let there = self.expand(units, trial);
                // Close to the minimum the loss has too few digits to tell better from worse, and whole
                // steps double the number of right ones.
                let is_close = decrement <= 1e-10 * self.total;
                if is_close || there.0[0] <= first[0] - 1e-4 * length * decrement {
                    *at = trial;
                    (first, second) = there;
                    break;
                }
                length *= 0.5;
                if length < 1e-6 {
                    return;
                }
            }
        }
    }

    /// All scores are equal: the share of positive rows is all there is to say about them.
    fn without_spread(&self, score: f64) -> Calibration {
        let rows = self.weights.iter().zip(&self.targets);
        let share = rows.map(|(w, t)| w * t).sum::<f64>() / self.total;
        let intercept = libm::log(share / (1.0 - share)) - score;
        match intercept.is_finite() {
            true => Calibration {
                slope: 1.0,
                intercept,
            },
            false => Calibration::default(),
        }
    }
}

vectorised! {
    /// Adds Σ w log(1 + exp(−s m)).
    fn add_losses(margins: &[f64], weights: &[f64], s: f64, sums: &mut [f64; ROWS]) {
        let mut own = *sums;
        for (margins, weights) in margins.chunks(ROWS).zip(weights.chunks(ROWS)) {
            for ((sum, m), w) in own.iter_mut().zip(margins).zip(weights) {
                *sum += w * softplus_minus(s * m);
            }
        }
        *sums = own;
    }
}

vectorised! {
    /// Adds the first and the second derivative of the same by log s, without the first in the second.
    fn add_slopes(margins: &[f64], weights: &[f64], s: f64, sums: &mut [[f64; ROWS]; 2]) {
        let [mut slopes, mut curvatures] = *sums;
        for (margins, weights) in margins.chunks(ROWS).zip(weights.chunks(ROWS)) {
            let rows = margins.iter().zip(weights);
            for ((slope, curvature), (m, w)) in slopes.iter_mut().zip(&mut curvatures).zip(rows) {
                let e = (s * m).abs().exp_minus();
                let small = e / (1.0 + e);
                let wrong = if *m >= 0.0 { small } else { 1.0 - small };
                *slope -= w * s * m * wrong;
                *curvature += w * (s * m) * (s * m) * small * (1.0 - small);
            }
        }
        *sums = [slopes, curvatures];
    }
}

vectorised! {
    /// Adds the losses at two parameters with their derivatives.
    fn add_expansion(
        units: &[f64],
        weights: &[f64],
        targets: &[f64],
        at: [f64; 2],
        sums: &mut [[f64; ROWS]; 6],
    ) {
        let mut own = *sums;
        let rows = units.chunks(ROWS).zip(weights.chunks(ROWS));
        for ((units, weights), targets) in rows.zip(targets.chunks(ROWS)) {
            for i in 0..units.len().min(ROWS) {
                let (u, w, t) = (units[i], weights[i], targets[i]);
                let z = at[0] * u + at[1];
                let e = z.abs().exp_minus();
                let small = e / (1.0 + e);
                let probability = if z >= 0.0 { 1.0 - small } else { small };
                // −t log p − (1 − t) log(1 − p)
                own[0][i] += w * (e.log_one_plus() + z.max(0.0) - t * z);
                let off = w * (probability - t);
                own[1][i] += off * u;
                own[2][i] += off;
                let bend = w * small * (1.0 - small);
                own[3][i] += bend * u * u;
                own[4][i] += bend * u;
                own[5][i] += bend;
            }
        }
        *sums = own;
    }
}

/// The s that makes Σ w log(1 + exp(−s m)) least: Newton's method on a convex function, by its
/// logarithm so that it stays above 0.
fn factor(margins: &[f64], weights: &[f64]) -> f64 {
    let loss = |s: f64| -> f64 {
        let mut sums = [0.0; ROWS];
        add_losses(margins, weights, s, &mut sums);
        sums.iter().sum()
    };
    // Without an error the loss falls for ever: no factor is the best.
    let is_right = |(m, w): (&f64, &f64)| *m >= 0.0 || *w == 0.0;
    if margins.iter().zip(weights).all(is_right) {
        return 1.0;
    }
    let (mut s, mut current) = (1.0_f64, loss(1.0));
    for round in 0..50 {
        // By log s: the derivative is s times that by s.
        let mut sums = [[0.0; ROWS]; 2];
        add_slopes(margins, weights, s, &mut sums);
        let [slope, curvature] = sums.map(|lanes| lanes.iter().sum::<f64>());
        let mut step = match curvature + slope > 0.0 {
            true => -slope / (curvature + slope),
            false => -slope.signum(),
        };
        step = step.clamp(-1.0, 1.0);
        // Nothing to gain at first: a model that was scaled before keeps its scale to the last digit.
        if round == 0 && (step * slope).abs() <= 1e-14 * current.abs() {
            break;
        }
        let found = loop {
            let trial = s * libm::exp(step);
            let there = loss(trial);
            if there <= current || step.is_nan() || step.abs() < 1e-12 {
                break (trial, there);
            }
            step *= 0.5;
        };
        let settled = current - found.1 <= 1e-14 * current.abs();
        (s, current) = (found.0.clamp(1.0 / MOST, MOST), found.1);
        if settled || s <= 1.0 / MOST || s >= MOST {
            break;
        }
    }
    match s > 1.0 / MOST && s < MOST && s.is_finite() {
        true => s,
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_an_error_have_no_best_factor() {
        assert_eq!(factor(&[0.5, 2.0, 1.0], &[1.0, 1.0, 2.0]), 1.0);
        // A row without weight does not count as an error.
        assert_eq!(factor(&[0.5, -2.0], &[1.0, 0.0]), 1.0);
        assert_eq!(factor(&[-0.5, -2.0], &[1.0, 1.0]), 1.0);
    }

    #[test]
    fn infinite_margins_end_the_search() {
        assert_eq!(factor(&[f64::NEG_INFINITY, 1.0], &[1.0; 2]), 1.0);
        assert_eq!(factor(&[-1e300, 1e300], &[1.0; 2]), 1.0);
    }

    #[test]
    fn the_factor_makes_the_loss_least() {
        // Two rows of margin 1, one of −1: log-odds of 2 : 1.
        let found = factor(&[1.0, 1.0, -1.0], &[1.0; 3]);
        assert!((found - 2.0_f64.ln()).abs() < 1e-9);
        let found = factor(&[10.0, -10.0], &[3.0, 1.0]);
        assert!((10.0 * found - 3.0_f64.ln()).abs() < 1e-9);
    }

    fn fitted(scores: &[f64], labels: &[f64], weights: &[f64]) -> Calibration {
        Sample::new(labels, weights).unwrap().calibrate(scores)
    }

    /// Two scores with 30 of 40 and 10 of 60 positive rows: the fit goes through both shares.
    #[test]
    fn two_scores_have_a_closed_form() {
        let (mut scores, mut labels) = (Vec::new(), Vec::new());
        for (score, positive, n) in [(2.0, 30, 40), (-1.0, 10, 60)] {
            for row in 0..n {
                scores.push(score);
                labels.push(if row < positive { 1.0 } else { -1.0 });
            }
        }
        let found = fitted(&scores, &labels, &[1.0; 100]);
        // Platt's targets: 41/42 for the 40 positive rows, 1/62 for the 60 negative ones.
        let (high, low) = (41.0 / 42.0, 1.0 / 62.0);
        let share = |p: f64, n: f64| (p * high + (n - p) * low) / n;
        for (score, expected) in [(2.0, share(30.0, 40.0)), (-1.0, share(10.0, 60.0))] {
            assert!((found.probability(score) - expected).abs() < 1e-9);
        }
        let twice = fitted(&scores, &labels, &[2.0; 100]);
        assert!((twice.slope - found.slope).abs() < 1e-12);
        assert!((twice.intercept - found.intercept).abs() < 1e-12);
    }

    #[test]
    fn degenerate_rows_have_a_defined_fit() {
        let labels: Vec<f64> = (0..40).map(|i| if i < 10 { 1.0 } else { -1.0 }).collect();
        let weights = vec![1.0; 40];
        // Separated without an error: Platt's targets keep the slope finite.
        let separated: Vec<f64> = (0..40).map(|i| if i < 10 { 1.0 } else { -1.0 }).collect();
        let found = fitted(&separated, &labels, &weights);
        assert!((found.probability(1.0) - 11.0 / 12.0).abs() < 1e-9);
        assert!((found.probability(-1.0) - 1.0 / 32.0).abs() < 1e-9);
        // Scores that fall where labels rise: nearly constant, and still rising.
        let reversed: Vec<f64> = separated.iter().map(|s| -s).collect();
        let found = fitted(&reversed, &labels, &weights);
        assert!(found.slope > 0.0 && found.probability(1.0) > found.probability(-1.0));
        assert!((found.probability(1.0) - found.probability(-1.0)).abs() < 1e-5);
        // Equal scores: the (smoothed) share of positive rows.
        let found = fitted(&[0.3; 40], &labels, &weights);
        let share = (10.0 * 11.0 / 12.0 + 30.0 / 32.0) / 40.0;
        assert_eq!(found.slope, 1.0);
        assert!((found.probability(0.3) - share).abs() < 1e-12);
        // Scores far out, large and small.
        for size in [1e-9, 1e12] {
            let far: Vec<f64> = (0..40).map(|i| size * f64::from(i % 7)).collect();
            let found = fitted(&far, &labels, &weights);
            assert!(
                found.slope > 0.0 && found.intercept.is_finite(),
                "{found:?}"
            );
        }
        // One label only, or too few rows of one.
        assert!(Sample::new(&[1.0; 40], &weights).is_none());
        assert!(Sample::new(&labels[1..], &weights[1..]).is_none());
        assert!(Sample::new(&labels, &[0.0; 40]).is_none());
    }
}
