//! Tests of requirements on one or two rates (docs/how-to/certify.md has the formulas).

use serde::{Deserialize, Serialize};

use crate::special::{
    binomial_at_least, binomial_at_most, bisect, clopper_pearson_lower, clopper_pearson_upper,
    normal_cdf, student_cdf,
};
use crate::{CappedMean, Mean};

/// Weighted successes among weighted trials, such as people selected in a group.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cell {
    /// Σw of the successes.
    pub successes: f64,
    /// Σw of all trials.
    pub trials: f64,
    /// Σw² of the successes.
    pub successes_squared: f64,
    /// Σw² of all trials.
    pub trials_squared: f64,
}

impl Cell {
    /// A cell in which every trial has weight 1.
    pub fn counted(successes: f64, trials: f64) -> Self {
        Self {
            successes,
            trials,
            successes_squared: successes,
            trials_squared: trials,
        }
    }

    /// Share of successes; `None` without trials.
    pub fn rate(&self) -> Option<f64> {
        (self.trials > 0.0).then(|| self.successes / self.trials)
    }

    /// Whether some rows count more than others.
    pub fn is_weighted(&self) -> bool {
        self.trials != self.trials_squared || self.successes != self.successes_squared
    }

    /// (Σw)² / Σw²: the number of equally weighted rows that contain as much information about a
    /// rate. It is the number of rows if all have weight 1.
    pub fn effective(&self) -> f64 {
        match self.trials_squared > 0.0 {
            true if self.is_weighted() => self.trials * self.trials / self.trials_squared,
            true => self.trials,
            false => 0.0,
        }
    }

    /// The squared standard error of the rate, Σw²(d − r)² / (Σw)².
    pub fn variance(&self) -> f64 {
        let Some(rate) = self.rate() else {
            return f64::INFINITY;
        };
        let failures_squared = self.trials_squared - self.successes_squared;
        let sum =
            self.successes_squared * (1.0 - rate) * (1.0 - rate) + failures_squared * rate * rate;
        (sum / (self.trials * self.trials)).max(0.0)
    }

    /// Successes and trials for the formulas: effective numbers if rows have weights, and even
    /// fewer if the variance of the rate is larger than they imply.
    pub(crate) fn numbers(&self) -> (f64, f64) {
        let Some(rate) = self.rate() else {
            return (0.0, 0.0);
        };
        if !self.is_weighted() {
            return (self.successes, self.trials);
        }
        let (spread, variance) = (rate * (1.0 - rate), self.variance());
        let trials = match spread > 0.0 && variance > 0.0 {
            true => self.effective().min(spread / variance),
            false => self.effective(),
        };
        (rate * trials, trials)
    }
}

/// A hypothesis H that must be rejected to certify one part of a requirement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Contrast {
    /// H: `p_a − p_b ≥ limit`.
    Difference {
        /// a.
        a: Cell,
        /// b.
        b: Cell,
        /// The largest difference allowed.
        limit: f64,
    },
    /// H: `p_a ≤ limit · p_b`.
    Ratio {
        /// a.
        a: Cell,
        /// b.
        b: Cell,
        /// The smallest ratio allowed.
        limit: f64,
    },
    /// H: `odds_a ≤ limit · odds_b`, with odds `p / (1 − p)`.
    OddsRatio {
        /// a.
        a: Cell,
        /// b.
        b: Cell,
        /// The smallest odds ratio allowed.
        limit: f64,
    },
    /// H: `p ≤ limit`.
    AtLeast {
        /// The cell.
        cell: Cell,
        /// The smallest rate allowed.
        limit: f64,
    },
    /// H: `p ≥ limit`.
    AtMost {
        /// The cell.
        cell: Cell,
        /// The largest rate allowed.
        limit: f64,
    },
    /// H: `m_a − m_b ≥ limit`, for means of numbers.
    MeanDifference {
        /// a.
        a: Mean,
        /// b.
        b: Mean,
        /// The largest difference allowed.
        limit: f64,
    },
    /// H: `m ≤ limit`.
    MeanAtLeast {
        /// The mean.
        mean: Mean,
        /// The smallest mean allowed.
        limit: f64,
    },
    /// H: `m ≥ limit`.
    MeanAtMost {
        /// The mean.
        mean: Mean,
        /// The largest mean allowed.
        limit: f64,
    },
}

impl Contrast {
    /// The p-value: Farrington and Manning's score test for two cells, the binomial tail for one,
    /// Welch's t test for means. It is 1 if a cell has no trials, or a mean fewer than two rows.
    pub fn p_value(&self) -> f64 {
        match *self {
            Self::Difference { a, b, limit } => difference(a.numbers(), b.numbers(), limit),
            Self::Ratio { a, b, limit } => ratio(a.numbers(), b.numbers(), limit),
            Self::OddsRatio { a, b, limit } => odds_ratio(a.numbers(), b.numbers(), limit),
            Self::AtLeast { cell, limit } => match cell.numbers() {
                (_, 0.0) => 1.0,
                (x, n) => binomial_at_least(x, n, limit.clamp(0.0, 1.0)),
            },
            Self::AtMost { cell, limit } => match cell.numbers() {
                (_, 0.0) => 1.0,
                (x, n) => binomial_at_most(x, n, limit.clamp(0.0, 1.0)),
            },
            Self::MeanDifference { a, b, limit } => welch(a.value - b.value - limit, &[a, b]),
            Self::MeanAtLeast { mean, limit } => welch(limit - mean.value, &[mean]),
            Self::MeanAtMost { mean, limit } => welch(mean.value - limit, &[mean]),
        }
    }

    /// The p-value of the finite-sample test, valid for any number of rows. For two cells, it is
    /// the smallest δ whose Clopper–Pearson bounds at δ/2 each keep the limit; for means, the smallest δ
    /// whose empirical Bernstein bounds of capped values do. Only for unweighted rows.
    pub fn exact_p_value(&self) -> f64 {
        match *self {
            Self::Difference { a, b, limit } => {
                exact(a, b, |upper_a, lower_b| upper_a.1 - lower_b.0 <= limit)
            }
            Self::Ratio { a, b, limit } => exact(a, b, |of_a, of_b| of_a.0 >= limit * of_b.1),
            Self::OddsRatio { a, b, limit } => exact(a, b, |of_a, of_b| {
                of_a.0 * (1.0 - of_b.1) >= limit * of_b.1 * (1.0 - of_a.0)
            }),
            Self::AtLeast { .. } | Self::AtMost { .. } => self.p_value(),
            Self::MeanDifference { a, b, limit } => {
                bernstein(&[a, b], |of| of[0].1 - of[1].0 <= limit)
            }
            Self::MeanAtLeast { mean, limit } => bernstein(&[mean], |of| of[0].0 >= limit),
            Self::MeanAtMost { mean, limit } => bernstein(&[mean], |of| of[0].1 <= limit),
        }
    }

    /// The test of means that would follow if there were this many times as many rows with the same values,
    /// and if the estimate were this many standard errors closer to the limit.
    #[must_use]
    pub fn with_rows(&self, times: f64, errors: f64) -> Self {
        let more = |mean: Mean| Mean {
            variance: mean.variance / times,
            rows: mean.rows * times,
            ..mean
        };
        let margin = |variance: f64| errors * (variance / times).sqrt();
        match *self {
            Self::MeanDifference { a, b, limit } => Self::MeanDifference {
                limit: limit - margin(a.variance + b.variance),
                a: more(a),
                b: more(b),
            },
            Self::MeanAtLeast { mean, limit } => Self::MeanAtLeast {
                limit: limit + margin(mean.variance),
                mean: more(mean),
            },
            Self::MeanAtMost { mean, limit } => Self::MeanAtMost {
                limit: limit - margin(mean.variance),
                mean: more(mean),
            },
            other => other,
        }
    }

    /// The cells that are compared; none for means.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        let (first, second) = match *self {
            Self::Difference { a, b, .. }
            | Self::Ratio { a, b, .. }
            | Self::OddsRatio { a, b, .. } => (Some(a), Some(b)),
            Self::AtLeast { cell, .. } | Self::AtMost { cell, .. } => (Some(cell), None),
            Self::MeanDifference { .. } | Self::MeanAtLeast { .. } | Self::MeanAtMost { .. } => {
                (None, None)
            }
        };
        first.into_iter().chain(second)
    }
}

/// The normal tail of an estimate, given its variance at the restricted maximum.
fn tail(estimate: f64, variance: f64) -> f64 {
    match variance > 0.0 {
        true => normal_cdf(estimate / variance.sqrt()),
        // Without variance, rates are evidence only if they are not at the limit.
        false if estimate < 0.0 => 0.0,
        false => 1.0,
    }
}

/// Student's tail of an estimate that is a sum of independent means, with Welch and Satterthwaite's degrees
/// of freedom.
fn welch(estimate: f64, means: &[Mean]) -> f64 {
    let variance: f64 = means.iter().map(|mean| mean.variance).sum();
    if !variance.is_finite() {
        return 1.0;
    }
    if variance <= 0.0 {
        return tail(estimate, 0.0);
    }
    let terms = means
        .iter()
        .map(|m| m.variance * m.variance / (m.rows - 1.0));
    let freedom = variance * variance / terms.sum::<f64>();
    student_cdf(estimate / variance.sqrt(), freedom)
}

/// H: `p_a − p_b ≥ ε`.
fn difference((x_a, n_a): (f64, f64), (x_b, n_b): (f64, f64), limit: f64) -> f64 {
    if n_a <= 0.0 || n_b <= 0.0 || limit < -1.0 {
        return 1.0;
    }
    if limit >= 1.0 {
        // No two rates differ by more than 1, and only 1 and 0 differ by 1.
        return if limit > 1.0 || x_a < n_a || x_b > 0.0 {
            0.0
        } else {
            1.0
        };
    }
    let (p_a, p_b) = (x_a / n_a, x_b / n_b);
    let restricted = restricted_difference(p_a, p_b, n_b / n_a, limit);
    let (q_a, q_b) = (restricted, restricted - limit);
    let variance = q_a * (1.0 - q_a) / n_a + q_b * (1.0 - q_b) / n_b;
    tail(p_a - p_b - limit, variance)
}

/// `p̃_a`, the maximum-likelihood rate of a under `p̃_a − p̃_b = ε`: a root of a cubic, in closed
/// form.
fn restricted_difference(p_a: f64, p_b: f64, theta: f64, limit: f64) -> f64 {
    let a = 1.0 + theta;
    let b = -(1.0 + theta + p_a + theta * p_b + limit * (theta + 2.0));
    let c = limit * limit + limit * (2.0 * p_a + theta + 1.0) + p_a + theta * p_b;
    let d = -p_a * limit * (1.0 + limit);
    let third = b / (3.0 * a);
    let v = third * third * third - b * c / (6.0 * a * a) + d / (2.0 * a);
    let u = (third * third - c / (3.0 * a)).max(0.0).sqrt();
    let u = if v < 0.0 { -u } else { u };
    let cosine = match u == 0.0 {
        true => 1.0,
        false => (v / (u * u * u)).clamp(-1.0, 1.0),
    };
    let w = (std::f64::consts::PI + libm::acos(cosine)) / 3.0;
    let (low, high) = (limit.max(0.0), (1.0 + limit).min(1.0));
    (2.0 * u * libm::cos(w) - third).clamp(low, high)
}

/// H: `p_a ≤ ρ p_b`.
fn ratio((x_a, n_a): (f64, f64), (x_b, n_b): (f64, f64), limit: f64) -> f64 {
    if n_a <= 0.0 || n_b <= 0.0 {
        return 1.0;
    }
    if limit <= 0.0 {
        // A ratio is at least 0, and above 0 unless a has no successes.
        return if limit < 0.0 || x_a > 0.0 { 0.0 } else { 1.0 };
    }
    if limit.is_infinite() {
        return 1.0;
    }
    // p̃_b is the smaller root of A p² + B p + C.
    let a = (n_a + n_b) * limit;
    let b = -(n_a * limit + x_a + n_b + x_b * limit);
    let c = x_a + x_b;
    let root = (b * b - 4.0 * a * c).max(0.0).sqrt();
    let q_b = (2.0 * c / (root - b)).clamp(0.0, (1.0 / limit).min(1.0));
    let q_a = limit * q_b;
    let variance = q_a * (1.0 - q_a) / n_a + limit * limit * q_b * (1.0 - q_b) / n_b;
    tail(limit * x_b / n_b - x_a / n_a, variance)
}

/// H: `odds_a ≤ ψ odds_b`.
fn odds_ratio((x_a, n_a): (f64, f64), (x_b, n_b): (f64, f64), limit: f64) -> f64 {
    if n_a <= 0.0 || n_b <= 0.0 {
        return 1.0;
    }
    if limit <= 0.0 {
        return if limit < 0.0 || x_a > 0.0 { 0.0 } else { 1.0 };
    }
    if limit.is_infinite() || x_a + x_b <= 0.0 || x_a + x_b >= n_a + n_b {
        // No row is selected, or every row is: odds cannot be compared.
        return 1.0;
    }
    let [q_a, q_b] = restricted_odds((x_a, n_a), (x_b, n_b), limit);
    // The shares of failures, whose odds have the inverse ratio, to full relative accuracy.
    let [r_b, r_a] = restricted_odds((n_b - x_b, n_b), (n_a - x_a, n_a), limit);
    let (of_a, of_b) = (n_a * q_a * r_a, n_b * q_b * r_b);
    // Four equal numbers; the best one has nothing to subtract.
    let estimate = if x_b >= n_b {
        n_b * r_b
    } else if x_b <= 0.0 {
        -n_b * q_b
    } else if x_a >= n_a {
        -n_a * r_a
    } else {
        n_a * q_a - x_a
    };
    match of_a > 0.0 && of_b > 0.0 {
        true => tail(estimate, of_a * of_b / (of_a + of_b)),
        false => tail(estimate, 0.0),
    }
}

/// The maximum-likelihood rates under `odds_a = ψ odds_b`. They add up to the number of successes, which makes
/// `p̃_b` a root of A p² + B p − C.
fn restricted_odds((x_a, n_a): (f64, f64), (x_b, n_b): (f64, f64), limit: f64) -> [f64; 2] {
    let c = x_a + x_b;
    let a = n_b * (limit - 1.0);
    let b = n_a * limit + n_b - c * (limit - 1.0);
    let root = (b * b + 4.0 * a * c).max(0.0).sqrt();
    let q_b = match b > 0.0 {
        true => 2.0 * c / (b + root),
        false => (root - b) / (2.0 * a),
    };
    let q_b = q_b.clamp(0.0, 1.0);
    let q_a = limit * q_b / (1.0 + q_b * (limit - 1.0));
    [q_a.clamp(0.0, 1.0), q_b]
}

/// The smallest δ at which the one-sided bounds at δ/2 of a and b, each (lower, upper), keep the limit.
fn exact(a: Cell, b: Cell, keeps: impl Fn((f64, f64), (f64, f64)) -> bool) -> f64 {
    if a.trials <= 0.0 || b.trials <= 0.0 {
        return 1.0;
    }
    let bounds = |cell: Cell, level: f64| {
        (
            clopper_pearson_lower(cell.successes, cell.trials, level),
            clopper_pearson_upper(cell.successes, cell.trials, level),
        )
    };
    let fails = |delta: f64| !keeps(bounds(a, delta / 2.0), bounds(b, delta / 2.0));
    match fails(1.0) {
        true => 1.0,
        false => bisect(fails),
    }
}

/// The smallest δ at which the one-sided bounds of all means, each (lower, upper) at an equal part of δ, keep
/// the limit. Maurer and Pontil's bound: with probability 1 − δ, the true mean of n values in a range of width
/// W is at most their mean + √(2 V ln(2/δ) / n) + 7 W ln(2/δ) / (3 (n − 1)), with V their unbiased variance.
fn bernstein(means: &[Mean], keeps: impl Fn(&[(f64, f64)]) -> bool) -> f64 {
    let all: Option<Vec<(CappedMean, f64)>> = means
        .iter()
        .map(|mean| Some((mean.capped?, mean.rows)))
        .collect();
    let Some(all) = all else {
        return 1.0;
    };
    let bounds = |delta: f64| -> Vec<(f64, f64)> {
        let logarithm = libm::log(2.0 * means.len() as f64 / delta);
        let of = |(mean, n): &(CappedMean, f64)| {
            let [low, high] = mean.range;
            let reach = (2.0 * mean.spread * logarithm / n).sqrt()
                + 7.0 * (high - low) * logarithm / (3.0 * (n - 1.0));
            (
                (mean.value - reach).max(low),
                (mean.value + reach).min(high),
            )
        };
        all.iter().map(of).collect()
    };
    match keeps(&bounds(1.0)) {
        true => bisect(|delta| !keeps(&bounds(delta))),
        false => 1.0,
    }
}

#[cfg(test)]
mod tests;
