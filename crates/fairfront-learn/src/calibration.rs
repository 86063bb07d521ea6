//! Probabilities, or predicted numbers, from out-of-fold scores.

use fairfront_core::Cholesky;
use serde::{Deserialize, Serialize};

use crate::cross_fit::{ClassProblem, NumberProblem, OutOfFold, n_outputs};
use crate::error::{Error, expect_len};
use crate::function::{sigmoid, softmax};
use crate::quality::log_loss_of;

/// Calibration needs at least this many rows of every class.
const LEAST_ROWS: usize = 10;

/// Range of the slope. Scores that say nothing would otherwise get a slope of 0 or less.
const SLOPES: [f64; 2] = [1e-3, 1e3];

/// Most steps of Newton's method. It usually needs five.
const MOST_STEPS: usize = 50;

/// The quantity that scaled raw scores stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// Log odds or logarithms of the probabilities of classes.
    #[default]
    Logistic,
    /// The predicted number itself.
    Identity,
}

impl Link {
    /// Whether scores stand for the probabilities of classes.
    pub fn is_logistic(&self) -> bool {
        *self == Self::Logistic
    }
}

/// Probabilities of classes, or predicted numbers, as a function of raw scores.
///
/// Two classes: the log odds of class 1 are slope × score + intercept. More classes: probabilities
/// in proportion to exp(slope × score + intercept), with the intercept of the last class fixed at 0.
/// Numbers: slope × score + intercept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrated {
    /// Factor of every raw score, positive.
    pub slope: f64,
    /// Added to the scaled scores, one per output.
    pub intercepts: Vec<f64>,
    /// The quantity that the sum stands for.
    #[serde(default, skip_serializing_if = "Link::is_logistic")]
    pub link: Link,
}

impl Calibrated {
    /// The slope and intercept with the smallest weighted squared error on the rows that have a
    /// number. With fewer than 10 such rows, or scores that do not rise with the numbers, the intercept
    /// alone is fitted.
    pub fn fit_number(scores: &OutOfFold, problem: &NumberProblem) -> Result<Self, Error> {
        problem.check(problem.labels.len())?;
        expect_len("scores per row", 1, scores.n_outputs())?;
        expect_len("rows", problem.labels.len(), scores.n_rows())?;
        let used = || problem.used().map(|(row, y, w)| (scores.raw()[row], y, w));
        let total: f64 = used().map(|(.., w)| w).sum();
        if total <= 0.0 {
            return Err(Error::NoRows);
        }
        let mean_score = used().map(|(s, _, w)| w * s).sum::<f64>() / total;
        let mean_label = used().map(|(_, y, w)| w * y).sum::<f64>() / total;
        let (mut both, mut square) = (0.0, 0.0);
        for (score, label, weight) in used() {
            let score = score - mean_score;
            both += weight * score * (label - mean_label);
            square += weight * score * score;
        }
        let slope = both / square;
        let is_usable = slope.is_finite() && slope > 0.0 && used().count() >= LEAST_ROWS;
        let slope = match is_usable {
            true => slope.clamp(SLOPES[0], SLOPES[1]),
            false => 1.0,
        };
        Ok(Self {
            slope,
            intercepts: vec![mean_label - slope * mean_score],
            link: Link::Identity,
        })
    }

    /// Raw scores unchanged.
    pub fn identity(n_classes: usize) -> Self {
        Self {
            slope: 1.0,
            intercepts: vec![0.0; n_outputs(n_classes)],
            link: Link::Logistic,
        }
    }

    /// The slope and intercepts with the smallest weighted log loss on the rows that have a class.
    /// If a class has fewer than 10 rows, scores are left unchanged.
    pub fn fit(scores: &OutOfFold, problem: &ClassProblem) -> Result<Self, Error> {
        let n = problem.n_outputs();
        problem.check(problem.labels.len())?;
        expect_len("scores per row", n, scores.n_outputs())?;
        expect_len("rows", problem.labels.len(), scores.n_rows())?;
        let mut counts = vec![0; problem.n_classes];
        problem
            .used()
            .for_each(|(_, label, _)| counts[label as usize] += 1);
        let mut current = Self::identity(problem.n_classes);
        if counts.iter().any(|c| *c < LEAST_ROWS) {
            return Ok(current);
        }
        let mut loss = current.loss(scores, problem);
        for _ in 0..MOST_STEPS {
            let Some(step) = current.newton_step(scores, problem) else {
                break;
            };
            let mut factor = 1.0;
            let mut accepted = None;
            while factor > 1e-6 {
                let next = current.moved(&step, factor);
                let next_loss = next.loss(scores, problem);
                if next_loss < loss {
                    accepted = Some((next, next_loss));
                    break;
                }
                factor *= 0.5;
            }
            let Some((next, next_loss)) = accepted else {
                break;
            };
            let decrease = loss - next_loss;
            (current, loss) = (next, next_loss);
            if decrease <= 1e-12 * loss {
                break;
            }
        }
        Ok(current)
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.intercepts.len().max(2)
    }

    /// Numbers that raw scores predict, one per row.
    pub fn numbers(&self, raw: &[f64]) -> Vec<f64> {
        self.scaled(raw)
    }

    /// Probabilities, n × classes, of raw scores, n × outputs, both row by row.
    pub fn probabilities(&self, raw: &[f64]) -> Vec<f64> {
        let n = self.intercepts.len();
        if n == 1 {
            let of_score = |score: &f64| {
                let z = self.slope * score + self.intercepts[0];
                [sigmoid(-z), sigmoid(z)]
            };
            return raw.iter().flat_map(of_score).collect();
        }
        let mut all = vec![0.0; raw.len()];
        let mut scaled = vec![0.0; n];
        for (row, p) in raw.chunks_exact(n).zip(all.chunks_exact_mut(n)) {
            self.scale(row, &mut scaled);
            softmax(&scaled, p);
        }
        all
    }

    /// The scaled scores of rows, row by row.
    pub(crate) fn scaled(&self, raw: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; raw.len()];
        let n = self.intercepts.len();
        for (row, scaled) in raw.chunks_exact(n).zip(all.chunks_exact_mut(n)) {
            self.scale(row, scaled);
        }
        all
    }

    fn scale(&self, row: &[f64], scaled: &mut [f64]) {
        for ((z, score), intercept) in scaled.iter_mut().zip(row).zip(&self.intercepts) {
            *z = self.slope * score + intercept;
        }
    }

    /// Summed weighted log loss.
    fn loss(&self, scores: &OutOfFold, problem: &ClassProblem) -> f64 {
        let n = self.intercepts.len();
        let mut scaled = vec![0.0; n];
        let mut sum = 0.0;
        for (row, label, weight) in problem.used() {
            self.scale(&scores.raw()[row * n..][..n], &mut scaled);
            sum += weight * log_loss_of(&scaled, label);
        }
        sum
    }

    /// Moves the slope and the free intercepts against a step.
    fn moved(&self, step: &[f64], factor: f64) -> Self {
        let mut next = self.clone();
        next.slope = (next.slope - factor * step[0]).clamp(SLOPES[0], SLOPES[1]);
        for (intercept, s) in next.intercepts.iter_mut().zip(&step[1..]) {
            *intercept -= factor * s;
        }
        next
    }

    /// The inverse Hessian times the gradient, in (slope, free intercepts).
    fn newton_step(&self, scores: &OutOfFold, problem: &ClassProblem) -> Option<Vec<f64>> {
        let n = self.intercepts.len();
        let n_free = if n == 1 { 1 } else { n - 1 };
        let size = 1 + n_free;
        let mut gradient = vec![0.0; size];
        let mut hessian = vec![0.0; size * size];
        let (mut scaled, mut p) = (vec![0.0; n], vec![0.0; n]);
        for (row, label, weight) in problem.used() {
            let raw = &scores.raw()[row * n..][..n];
            self.scale(raw, &mut scaled);
            let is_own = |output: usize| match n {
                1 => label == 1,
                _ => label as usize == output,
            };
            // The covariance of the classes' indicators is diag(p) − p pᵀ for several outputs, and
            // p(1 − p) for one.
            if n == 1 {
                p[0] = sigmoid(scaled[0]);
            } else {
                softmax(&scaled, &mut p);
            }
            let covariance = |j: usize, k: usize| f64::from(u8::from(j == k)) * p[j] - p[j] * p[k];
            for j in 0..n {
                let error = weight * (p[j] - f64::from(u8::from(is_own(j))));
                gradient[0] += error * raw[j];
                if j < n_free {
                    gradient[1 + j] += error;
                }
                for k in 0..n {
                    let c = weight * covariance(j, k);
                    hessian[0] += c * raw[j] * raw[k];
                    if j < n_free {
                        hessian[(1 + j) * size] += c * raw[k];
                        hessian[1 + j] += c * raw[k];
                        if k < n_free {
                            hessian[(1 + j) * size + 1 + k] += c;
                        }
                    }
                }
            }
        }
        // Equal scores of all rows leave the slope undetermined.
        for i in 0..size {
            hessian[i * size + i] = hessian[i * size + i] * (1.0 + 1e-9) + 1e-9;
        }
        Cholesky::new(hessian, size)?.solve(&mut gradient);
        gradient.iter().all(|s| s.is_finite()).then_some(gradient)
    }
}
