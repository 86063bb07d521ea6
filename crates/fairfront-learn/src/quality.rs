//! Quality of probabilities and of predicted numbers.

use serde::{Deserialize, Serialize};

use crate::cross_fit::{ClassProblem, NumberProblem};
use crate::error::{Error, expect_len};
use crate::function::{exp, ln, softplus};

/// Quality of the probabilities of classes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Weighted mean of −ln of the probability of each row's class.
    pub log_loss: f64,
    /// Area under the ROC curve, weighted, ties counted half. More than two classes: mean over the
    /// classes of each against all others. None if a class has no rows.
    pub auc: Option<f64>,
    /// Number of rows with a class and a positive weight.
    pub rows: usize,
}

/// Quality of predicted numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberQuality {
    /// Weighted mean of the squared residuals.
    pub squared_error: f64,
    /// The share of the variance of the numbers that the predictions explain; 0 if all numbers are equal.
    pub r2: f64,
    /// Number of rows with a number and a positive weight.
    pub rows: usize,
}

/// Quality of the out-of-fold predictions of a learner.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LearnerQuality {
    /// Of the probabilities of classes.
    Classes(Quality),
    /// Of predicted numbers.
    Number(NumberQuality),
}

impl LearnerQuality {
    /// Number of rows that the learner was trained on.
    pub fn rows(&self) -> usize {
        match self {
            Self::Classes(quality) => quality.rows,
            Self::Number(quality) => quality.rows,
        }
    }
}

impl NumberQuality {
    /// Quality of `predictions` on the rows that have a number.
    pub fn of(predictions: &[f64], problem: &NumberProblem) -> Result<Self, Error> {
        problem.check(problem.labels.len())?;
        expect_len("predictions", problem.labels.len(), predictions.len())?;
        let (mut rows, mut weights, mut sum, mut residuals) = (0, 0.0, 0.0, 0.0);
        for (row, number, weight) in problem.used() {
            let residual = predictions[row] - number;
            rows += 1;
            weights += weight;
            sum += weight * number;
            residuals += weight * residual * residual;
        }
        if rows == 0 {
            return Err(Error::NoRows);
        }
        let mean = sum / weights;
        let squares = problem.used().map(|(_, y, w)| w * (y - mean) * (y - mean));
        let squares: f64 = squares.sum();
        Ok(Self {
            squared_error: residuals / weights,
            r2: if squares > 0.0 {
                1.0 - residuals / squares
            } else {
                0.0
            },
            rows,
        })
    }
}

impl Quality {
    /// Quality of `probabilities`, n × classes, row by row, on the rows that have a class.
    pub fn of(probabilities: &[f64], problem: &ClassProblem) -> Result<Self, Error> {
        let n = problem.n_classes;
        problem.check(problem.labels.len())?;
        expect_len(
            "probabilities",
            problem.labels.len() * n,
            probabilities.len(),
        )?;
        let (mut rows, mut weights, mut losses) = (0, 0.0, 0.0);
        for (row, label, weight) in problem.used() {
            let p = probabilities[row * n + label as usize];
            rows += 1;
            weights += weight;
            losses -= weight * ln(p.max(f64::MIN_POSITIVE));
        }
        if rows == 0 {
            return Err(Error::NoRows);
        }
        let of_class = |class: usize| {
            auc(problem.used().map(|(row, label, w)| {
                (probabilities[row * n + class], label as usize == class, w)
            }))
        };
        let auc = if n == 2 {
            of_class(1)
        } else {
            let each: Option<Vec<f64>> = (0..n).map(of_class).collect();
            each.map(|each| each.iter().sum::<f64>() / n as f64)
        };
        Ok(Self {
            log_loss: losses / weights,
            auc,
            rows,
        })
    }
}

/// Probability that a positive row has a larger score than a negative one, ties counted half, for
/// rows of (score, whether positive, weight).
pub(crate) fn auc(rows: impl Iterator<Item = (f64, bool, f64)>) -> Option<f64> {
    let mut rows: Vec<(f64, bool, f64)> = rows.collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut positives, mut wins) = (0.0, 0.0, 0.0);
    for tied in rows.chunk_by(|a, b| a.0 == b.0) {
        let sum = |positive: bool| -> f64 {
            let of_label = tied.iter().filter(|(_, p, _)| *p == positive);
            of_label.map(|(.., weight)| weight).sum()
        };
        let (up, down) = (sum(true), sum(false));
        wins += up * (below + 0.5 * down);
        positives += up;
        below += down;
    }
    (positives > 0.0 && below > 0.0).then(|| wins / (positives * below))
}

/// −ln of the probability of a class, from the raw scores of a row.
pub(crate) fn log_loss_of(raw: &[f64], label: u32) -> f64 {
    if let [score] = raw {
        let margin = if label == 1 { *score } else { -score };
        return softplus(-margin);
    }
    let largest = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = raw.iter().map(|s| exp(s - largest)).sum();
    ln(sum) + largest - raw[label as usize]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn auc_is_the_share_of_ordered_pairs(
            rows in prop::collection::vec(
                ((0_u8..12).prop_map(f64::from), any::<bool>(), 0.1..3.0_f64), 1..60),
        ) {
            let (mut wins, mut pairs) = (0.0, 0.0);
            for (a, _, wa) in rows.iter().filter(|r| r.1) {
                for (b, _, wb) in rows.iter().filter(|r| !r.1) {
                    pairs += wa * wb;
                    wins += wa * wb * if a > b { 1.0 } else if a == b { 0.5 } else { 0.0 };
                }
            }
            match auc(rows.iter().copied()) {
                None => prop_assert_eq!(pairs, 0.0),
                Some(found) => prop_assert!((found - wins / pairs).abs() < 1e-12),
            }
        }

        #[test]
        fn losses_of_raw_scores_are_those_of_probabilities(
            raw in prop::collection::vec(-30.0..30.0_f64, 2..5), label in 0_u32..2,
        ) {
            let sum: f64 = raw.iter().map(|s| s.exp()).sum();
            let expected = -(raw[label as usize].exp() / sum).ln();
            let found = log_loss_of(&raw, label);
            prop_assert!((found - expected).abs() < 1e-9 * (1.0 + expected));
            // Two classes have one score, the difference.
            let single = log_loss_of(&[raw[1] - raw[0]], label);
            let expected = log_loss_of(&raw[..2], label);
            prop_assert!((single - expected).abs() < 1e-9 * (1.0 + expected));
        }
    }

    #[test]
    fn quality_is_that_of_a_brute_force_mean() {
        let problem = ClassProblem {
            labels: vec![Some(0), Some(2), None, Some(1), Some(1)],
            n_classes: 3,
            weights: vec![1.0, 2.0, 5.0, 0.0, 0.5],
        };
        let p = [
            0.7, 0.2, 0.1, 0.1, 0.1, 0.8, 1.0, 0.0, 0.0, 0.3, 0.3, 0.4, 0.2, 0.6, 0.2,
        ];
        let quality = Quality::of(&p, &problem).unwrap();
        let expected = -(0.7_f64.ln() + 2.0 * 0.8_f64.ln() + 0.5 * 0.6_f64.ln()) / 3.5;
        assert!((quality.log_loss - expected).abs() < 1e-12);
        assert_eq!((quality.rows, quality.auc), (3, Some(1.0)));
    }
}
