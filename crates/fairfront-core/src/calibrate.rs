//! From scores to probabilities: two parameters per model.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::class_scale::class_factors;
use crate::engine::{Counts, Engine, LogOdds, Map, Over, Pass, Wanted};
use crate::predictor::Predictor;
use crate::{Error, Points};

/// Scales stay within this factor of 1, because rows that a model separates without errors have no
/// best scale.
const MOST: f64 = 1e6;

/// With fewer rows of either label than this, two parameters would fit noise.
const LEAST_ROWS: usize = 10;

/// The smallest slope, per standard deviation of the scores: probabilities still rise with the score.
const LEAST_SLOPE: f64 = 1e-6;

/// The map from the score φ of a model to a probability: 1/(1 + e^(−(aφ + b))).
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

/// The same models with scores multiplied by a factor: the one above 0 for which the probabilities
/// 1/(1 + e^(−φ)) have the smallest log loss on these rows. No decision changes. Models without such
/// a factor, and those of a predictor that cannot scale its scores
/// ([`Predictor::scaled`]), are returned unchanged.
pub fn rescaled(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
) -> Result<Points, Error> {
    let can_scale = |point: &[f64]| predictor.scaled(rows.schema(), point, 1.0).is_some();
    if !points.iter().next().is_some_and(can_scale) {
        return Ok(points.clone());
    }
    let mut scaled = Points::new(points.n_params());
    let calibrations = calibrate_scale(predictor, rows, points)?;
    for (point, calibration) in points.iter().zip(calibrations) {
        let found = predictor.scaled(rows.schema(), point, calibration.slope);
        scaled.push(found.as_deref().unwrap_or(point));
    }
    Ok(scaled)
}

/// For each model, the slope with which probabilities fit these rows best, with an intercept of 0.
/// A probability of at least 0.5 then means a positive decision. The slope is 1 if no slope is
/// best. For more than two classes, it is the factor of all scores.
pub fn calibrate_scale(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
) -> Result<Vec<Calibration>, Error> {
    if rows.schema().target.classes().is_some() {
        let factors = class_factors(predictor, rows, points)?;
        let calibration = |slope: f64| Calibration {
            slope,
            intercept: 0.0,
        };
        return Ok(factors.into_iter().map(calibration).collect());
    }
    let mut searches = vec![ScaleSearch::default(); points.len()];
    let passes = Passes {
        predictor,
        rows,
        points,
        targets: [0.0, 1.0],
    };
    passes.search(&mut searches)?;
    let calibration = |search: &ScaleSearch| Calibration {
        slope: search.factor(),
        intercept: 0.0,
    };
    Ok(searches.iter().map(calibration).collect())
}

/// For each model, the slope and the intercept with which probabilities fit these rows best (Platt
/// scaling). `None` if there are fewer than 10 rows of either label, too few for two parameters.
///
/// With n₊ positive and n₋ negative rows, the targets are (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2) instead
/// of 1 and 0, as Platt proposes. The best fit then exists on every such sample, even if a model
/// separates it. Weights are first scaled to a mean of 1. A model whose scores do not rise with the
/// labels gets the smallest slope, so that every probability is close to the share of positive
/// rows. A model that scores all rows equally keeps a slope of 1.
///
/// For more than two classes, it is the factor of [`calibrate_scale`].
pub fn calibrate(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
) -> Result<Option<Vec<Calibration>>, Error> {
    if rows.schema().target.classes().is_some() {
        let of_class = Counts::of(rows, None)?.rows.concat();
        let least = of_class.into_iter().min().unwrap_or(0);
        return match least < LEAST_ROWS as u64 {
            true => Ok(None),
            false => calibrate_scale(predictor, rows, points).map(Some),
        };
    }
    let mut passes = Passes {
        predictor,
        rows,
        points,
        targets: [0.0, 1.0],
    };
    let open: Vec<usize> = (0..points.len()).collect();
    let plain = passes.expand(&open, &vec![of_units(0.0, 1.0); points.len()])?;
    let Some(first) = plain.first() else {
        return Ok(Some(Vec::new()));
    };
    let Some(sample) = Sample::new(rows, [first[9], first[10]])? else {
        return Ok(None);
    };
    passes.targets = sample.targets;
    let means: Vec<f64> = plain.iter().map(|sums| sums[0] / sample.weight).collect();
    let at: Vec<LogOdds> = means.iter().map(|mean| of_units(*mean, 1.0)).collect();
    let centered = passes.expand(&open, &at)?;
    let mut searches = Vec::with_capacity(points.len());
    for ((plain, centered), mean) in plain.iter().zip(&centered).zip(means) {
        let size = (plain[1] / sample.weight).sqrt();
        let spread = (centered[1] / sample.weight).sqrt();
        let has_spread = spread.is_finite() && spread > 1e-12 * size && spread > 1e-100;
        searches.push(PlattSearch::new(
            mean,
            has_spread.then_some(spread),
            &sample,
        ));
    }
    passes.search(&mut searches)?;
    let found = searches.iter().map(|search| search.calibration(&sample));
    Ok(Some(found.collect()))
}

/// Scores minus their mean, in units of their spread.
fn of_units(mean: f64, spread: f64) -> LogOdds {
    LogOdds {
        center: mean,
        scale: 1.0 / spread,
        slope: 1.0,
        intercept: 0.0,
    }
}

/// Sums of an expansion, in the order of [`Wanted::Expansion`].
type Sums = [f64; 11];

/// Passes over the rows for many models at once.
struct Passes<'a> {
    predictor: &'a dyn Predictor,
    rows: &'a dyn Engine,
    points: &'a Points,
    /// The target probabilities of negative and positive rows.
    targets: [f64; 2],
}

/// A minimization of a model's loss that chooses where to expand it next.
trait Search {
    /// The place at which to expand the loss next; `None` at the end.
    fn trial(&self) -> Option<LogOdds>;
    /// Processes the expansion at that place.
    fn take(&mut self, sums: &Sums);
}

impl Passes<'_> {
    fn expand(&self, models: &[usize], at: &[LogOdds]) -> Result<Vec<Sums>, Error> {
        let points = self.points.select(models);
        let sums = self.rows.sum(&Pass {
            map: Map::of(self.predictor),
            points: Cow::Borrowed(&points),
            wanted: Wanted::Expansion {
                at: Cow::Borrowed(at),
                targets: self.targets,
            },
            over: Over::All,
        })?;
        let (sums, _) = sums.as_chunks();
        Ok(sums.to_vec())
    }

    /// Runs all searches to their end, side by side: one pass per step.
    fn search<S: Search>(&self, searches: &mut [S]) -> Result<(), Error> {
        loop {
            let trials = searches.iter().map(Search::trial).enumerate();
            let (open, at): (Vec<usize>, Vec<LogOdds>) = trials
                .filter_map(|(model, trial)| Some((model, trial?)))
                .unzip();
            if open.is_empty() {
                return Ok(());
            }
            for (model, sums) in open.iter().zip(self.expand(&open, &at)?) {
                searches[*model].take(&sums);
            }
        }
    }
}

/// The rows that calibrations are fitted on.
struct Sample {
    targets: [f64; 2],
    /// Sum of the weights.
    weight: f64,
    /// The factor for weights that gives them a mean of 1 over the rows that count.
    scale: f64,
    /// Number of rows that count.
    total: f64,
    /// The share of positive rows, according to the targets.
    share: f64,
}

impl Sample {
    fn new(rows: &dyn Engine, [n_negative, n_positive]: [f64; 2]) -> Result<Option<Self>, Error> {
        if n_negative.min(n_positive) < LEAST_ROWS as f64 {
            return Ok(None);
        }
        let counts = Counts::of(rows, None)?;
        let [negative, positive] = [-1.0, 1.0].map(|y| counts.weight_of_label(0, Some(y)));
        let weight = negative + positive;
        let scale = (n_negative + n_positive) / weight;
        if !scale.is_finite() || scale <= 0.0 {
            return Ok(None);
        }
        let (positive, negative) = (scale * positive, scale * negative);
        let high = (positive + 1.0) / (positive + 2.0);
        let low = 1.0 / (negative + 2.0);
        Ok(Some(Self {
            targets: [low, high],
            weight,
            scale,
            total: scale * weight,
            share: (positive * high + negative * low) / (positive + negative),
        }))
    }
}

/// Newton's method on a convex function of two parameters, in standard deviations of the scores.
struct PlattSearch {
    mean: f64,
    /// `None` if all scores are equal; the share of positive rows then determines the calibration.
    spread: Option<f64>,
    /// The factor for sums.
    scale: f64,
    total: f64,
    at: [f64; 2],
    /// Loss and derivatives at `at`; `None` before the first pass.
    known: Option<([f64; 3], [f64; 3])>,
    step: [f64; 2],
    decrement: f64,
    length: f64,
    /// Steps taken.
    steps: usize,
    intercept_only: bool,
    done: bool,
}

impl PlattSearch {
    fn new(mean: f64, spread: Option<f64>, sample: &Sample) -> Self {
        // The probabilities of a logistic model are the first guess.
        let start = spread.unwrap_or(1.0);
        Self {
            mean,
            spread,
            scale: sample.scale,
            total: sample.total,
            at: [start.clamp(1e-3, 1e3), mean.clamp(-1e3, 1e3)],
            known: None,
            step: [0.0; 2],
            decrement: 0.0,
            length: 0.0,
            steps: 0,
            intercept_only: false,
            done: spread.is_none(),
        }
    }

    /// Computes the next step, or ends the search.
    fn aim(&mut self, first: [f64; 3], second: [f64; 3]) {
        self.known = Some((first, second));
        // Too small to change any digit, but large enough if all probabilities are 0 or 1.
        let ridge = 1e-12 * self.total;
        let [a, b, c] = [second[0] + ridge, second[1], second[2] + ridge];
        self.step = match self.intercept_only {
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
        self.decrement = -(self.step[0] * first[1] + self.step[1] * first[2]);
        let is_sound = self.step.iter().all(|s| s.is_finite());
        if !is_sound || self.decrement <= 1e-18 * self.total || self.steps == 100 {
            self.finish();
            return;
        }
        // Far from the minimum, the curvature is a poor guide, so steps are limited.
        self.length = (10.0 / self.step[0].hypot(self.step[1])).min(1.0);
    }

    /// Ends the search, or continues with the smallest slope and the intercept alone.
    fn finish(&mut self) {
        if self.intercept_only || self.at[0] >= LEAST_SLOPE {
            self.done = true;
            return;
        }
        self.at[0] = LEAST_SLOPE;
        self.intercept_only = true;
        self.known = None;
        self.steps = 0;
    }

    fn place(&self) -> [f64; 2] {
        match self.known {
            None => self.at,
            Some(_) => [0, 1].map(|i| self.at[i] + self.length * self.step[i]),
        }
    }

    fn calibration(&self, sample: &Sample) -> Calibration {
        let Some(spread) = self.spread else {
            let intercept = libm::log(sample.share / (1.0 - sample.share)) - self.mean;
            return Self::sound(1.0, intercept);
        };
        let slope = self.at[0] / spread;
        Self::sound(slope, self.at[1] - slope * self.mean)
    }

    fn sound(slope: f64, intercept: f64) -> Calibration {
        match slope.is_finite() && slope > 0.0 && intercept.is_finite() {
            true => Calibration { slope, intercept },
            false => Calibration::default(),
        }
    }
}

impl Search for PlattSearch {
    fn trial(&self) -> Option<LogOdds> {
        let spread = self.spread.filter(|_| !self.done)?;
        let [slope, intercept] = self.place();
        Some(LogOdds {
            slope,
            intercept,
            ..of_units(self.mean, spread)
        })
    }

    fn take(&mut self, sums: &Sums) {
        let [loss, by_slope, by_intercept, a, b, c] =
            [3, 4, 5, 6, 7, 8].map(|i| self.scale * sums[i]);
        let Some((first, _)) = self.known else {
            self.aim([loss, by_slope, by_intercept], [a, b, c]);
            return;
        };
        // Close to the minimum, the loss has too few digits to compare values, and full steps
        // double the number of correct digits.
        let is_close = self.decrement <= 1e-10 * self.total;
        if is_close || loss <= first[0] - 1e-4 * self.length * self.decrement {
            self.at = self.place();
            self.steps += 1;
            self.aim([loss, by_slope, by_intercept], [a, b, c]);
            return;
        }
        self.length *= 0.5;
        if self.length < 1e-6 {
            self.finish();
        }
    }
}

/// Finds the s that minimizes Σ w log(1 + exp(−s m)), m = yφ: Newton's method on a convex function,
/// in log s so that s stays above 0.
#[derive(Debug, Clone)]
struct ScaleSearch {
    s: f64,
    /// Loss and step at s; `None` before the first pass.
    known: Option<(f64, f64)>,
    rounds: usize,
    done: bool,
}

impl Default for ScaleSearch {
    fn default() -> Self {
        Self {
            s: 1.0,
            known: None,
            rounds: 0,
            done: false,
        }
    }
}

impl ScaleSearch {
    fn place(&self) -> f64 {
        self.known
            .map_or(self.s, |(_, step)| self.s * libm::exp(step))
    }

    /// Computes the next step from the expansion at s, or ends the search.
    fn aim(&mut self, sums: &Sums) {
        let loss = sums[3];
        // The derivative with respect to log s is s times that with respect to s.
        let slope = self.s * sums[4];
        let curvature = self.s * self.s * sums[6] + slope;
        let step = match curvature > 0.0 {
            true => -slope / curvature,
            false => -slope.signum(),
        };
        let step = step.clamp(-1.0, 1.0);
        // If the first step gains nothing, a model that was already scaled keeps its scale to the
        // last digit.
        let is_settled = self.rounds == 0 && (step * slope).abs() <= 1e-14 * loss.abs();
        self.done |= is_settled || self.rounds == 50;
        self.known = Some((loss, step));
    }

    fn factor(&self) -> f64 {
        match self.s > 1.0 / MOST && self.s < MOST && self.s.is_finite() {
            true => self.s,
            false => 1.0,
        }
    }
}

impl Search for ScaleSearch {
    fn trial(&self) -> Option<LogOdds> {
        (!self.done).then(|| LogOdds {
            slope: self.place(),
            ..of_units(0.0, 1.0)
        })
    }

    fn take(&mut self, sums: &Sums) {
        let Some((current, step)) = self.known else {
            // Without errors, the loss falls without end, so that no factor is best.
            self.done = sums[2] == 0.0;
            self.aim(sums);
            return;
        };
        let loss = sums[3];
        if loss <= current || step.is_nan() || step.abs() < 1e-12 {
            self.s = self.place().clamp(1.0 / MOST, MOST);
            self.rounds += 1;
            self.done =
                current - loss <= 1e-14 * current.abs() || self.s <= 1.0 / MOST || self.s >= MOST;
            self.aim(sums);
        } else {
            self.known = Some((current, 0.5 * step));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dataset, Linear, RowBlock, Schema};

    /// Rows whose score is their only feature.
    fn rows(scores: &[f64], labels: &[f64], weights: &[f64]) -> Dataset {
        let schema = Schema {
            numeric: vec!["score".into()],
            categorical: Vec::new(),
            attributes: Vec::new(),
            target: crate::Target::Binary,
            hidden: 0,
        };
        let (scores, labels) = (scores.to_vec(), labels.to_vec());
        let block = RowBlock::new(&schema, scores, vec![], labels, vec![], weights.to_vec());
        Dataset::new(schema, vec![block.unwrap()]).unwrap()
    }

    fn factor_of(size: f64, margins: &[f64], weights: &[f64]) -> f64 {
        let rows = rows(margins, &vec![1.0; margins.len()], weights);
        let points = Points::from_vec(2, vec![size, 0.0]);
        calibrate_scale(&Linear, &rows, &points).unwrap()[0].slope
    }

    fn factor(margins: &[f64], weights: &[f64]) -> f64 {
        factor_of(1.0, margins, weights)
    }

    #[test]
    fn rows_without_errors_have_no_best_factor() {
        assert_eq!(factor(&[0.5, 2.0, 1.0], &[1.0, 1.0, 2.0]), 1.0);
        // A row without weight does not count as an error.
        assert_eq!(factor(&[0.5, -2.0], &[1.0, 0.0]), 1.0);
        assert_eq!(factor(&[-0.5, -2.0], &[1.0, 1.0]), 1.0);
    }

    #[test]
    fn infinite_margins_end_the_search() {
        assert_eq!(factor_of(1e300, &[-1e300, 1.0], &[1.0; 2]), 1.0);
        assert_eq!(factor(&[-1e300, 1e300], &[1.0; 2]), 1.0);
    }

    #[test]
    fn the_factor_minimizes_the_loss() {
        // Two rows of margin 1, one of −1: log-odds of 2:1.
        let found = factor(&[1.0, 1.0, -1.0], &[1.0; 3]);
        assert!((found - 2.0_f64.ln()).abs() < 1e-9);
        let found = factor(&[10.0, -10.0], &[3.0, 1.0]);
        assert!((10.0 * found - 3.0_f64.ln()).abs() < 1e-9);
    }

    fn fitted(scores: &[f64], labels: &[f64], weights: &[f64]) -> Calibration {
        fit(scores, labels, weights).unwrap()
    }

    fn fit(scores: &[f64], labels: &[f64], weights: &[f64]) -> Option<Calibration> {
        let points = Points::from_vec(2, vec![1.0, 0.0]);
        let found = calibrate(&Linear, &rows(scores, labels, weights), &points).unwrap();
        found.map(|found| found[0])
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
        // Separated without errors: Platt's targets keep the slope finite.
        let separated: Vec<f64> = (0..40).map(|i| if i < 10 { 1.0 } else { -1.0 }).collect();
        let found = fitted(&separated, &labels, &weights);
        assert!((found.probability(1.0) - 11.0 / 12.0).abs() < 1e-9);
        assert!((found.probability(-1.0) - 1.0 / 32.0).abs() < 1e-9);
        // Scores that fall as labels rise: the probabilities are nearly constant, but still rise.
        let reversed: Vec<f64> = separated.iter().map(|s| -s).collect();
        let found = fitted(&reversed, &labels, &weights);
        assert!(found.slope > 0.0 && found.probability(1.0) > found.probability(-1.0));
        assert!((found.probability(1.0) - found.probability(-1.0)).abs() < 1e-5);
        // Equal scores: the (smoothed) share of positive rows.
        let found = fitted(&[0.3; 40], &labels, &weights);
        let share = (10.0 * 11.0 / 12.0 + 30.0 / 32.0) / 40.0;
        assert_eq!(found.slope, 1.0);
        assert!((found.probability(0.3) - share).abs() < 1e-12);
        // Very small and very large scores.
        for size in [1e-9, 1e12] {
            let far: Vec<f64> = (0..40).map(|i| size * f64::from(i % 7)).collect();
            let found = fitted(&far, &labels, &weights);
            assert!(
                found.slope > 0.0 && found.intercept.is_finite(),
                "{found:?}"
            );
        }
        // Only one label, or too few rows of one label.
        assert!(fit(&separated, &[1.0; 40], &weights).is_none());
        assert!(fit(&separated[1..], &labels[1..], &weights[1..]).is_none());
        assert!(fit(&separated, &labels, &[0.0; 40]).is_none());
    }
}
