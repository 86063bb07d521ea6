//! The kind of a target: the meaning of labels and scores.

use serde::{Deserialize, Serialize};

/// The largest number of thresholds of a [`Unit`].
pub const MOST_THRESHOLDS: usize = 32;

/// The largest number of [`Classes`].
pub const MOST_CLASSES: usize = 100;

/// The kind of a target.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// One of two labels, +1 and −1; a score of at least 0 selects a row.
    #[default]
    Binary,
    /// One of more than two classes. Labels are positions of classes, and a row has one score per class; the
    /// decision is the class of the highest score.
    Classes(Classes),
    /// A number. Labels are standardized, and a score is a prediction in the same unit.
    Number(Box<Unit>),
}

impl Target {
    /// Whether it is binary.
    pub fn is_binary(&self) -> bool {
        matches!(self, Self::Binary)
    }

    /// Whether models decide, rather than predict a number.
    pub fn decides(&self) -> bool {
        !matches!(self, Self::Number(_))
    }

    /// The unit of a number.
    pub fn unit(&self) -> Option<&Unit> {
        match self {
            Self::Binary | Self::Classes(_) => None,
            Self::Number(unit) => Some(unit),
        }
    }

    /// The classes, if there are more than two.
    pub fn classes(&self) -> Option<&Classes> {
        match self {
            Self::Classes(classes) => Some(classes),
            Self::Binary | Self::Number(_) => None,
        }
    }

    /// Number of different labels by which rows are counted: classes, or positive and negative.
    pub fn n_labels(&self) -> usize {
        self.classes().map_or(2, Classes::len)
    }
}

/// The place of a label among `n_labels`, in sums by label: that of its class, or 0 for a positive and 1 for
/// another label.
#[inline]
pub(crate) fn place_of(label: f64, n_labels: usize) -> usize {
    match n_labels {
        2 => usize::from(label <= 0.0),
        _ => label as usize,
    }
}

/// The classes of a target, more than two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Classes {
    /// Their names. The label of a row is the position of its class.
    pub names: Vec<String>,
    /// Whether their order has a meaning, from the lowest to the highest. Decisions are then compared
    /// cumulatively: by the share of rows whose decision is above a class.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
}

impl Classes {
    /// Number of classes.
    #[expect(clippy::len_without_is_empty, reason = "there are always classes")]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The position of a class.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|own| own == name)
    }

    /// Whether all fields are usable, as in data that this program wrote.
    pub fn is_sound(&self) -> bool {
        let mut names: Vec<&String> = self.names.iter().collect();
        names.sort_unstable();
        (3..=MOST_CLASSES).contains(&names.len()) && names.windows(2).all(|pair| pair[0] < pair[1])
    }
}

/// How the numbers of a target become labels: label = (number − center) / scale, with the mean and the
/// standard deviation of the training rows. Objectives and penalties then do not depend on the unit that
/// the table happens to use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// The mean of the training rows.
    pub center: f64,
    /// Their standard deviation, above 0.
    pub scale: f64,
    /// The smallest and the largest number of the training rows.
    pub range: [f64; 2],
    /// Labels at which distributions of predictions are compared: quantiles of the training rows, in
    /// increasing order, at most [`MOST_THRESHOLDS`].
    pub thresholds: Vec<f64>,
}

impl Unit {
    /// The label of a number.
    pub fn label(&self, number: f64) -> f64 {
        (number - self.center) / self.scale
    }

    /// The number that a label or a score stands for.
    pub fn number(&self, label: f64) -> f64 {
        self.center + self.scale * label
    }

    /// Whether all fields are usable, as in data that this program wrote.
    pub fn is_sound(&self) -> bool {
        let finite = [self.center, self.scale, self.range[0], self.range[1]];
        let increases = |pair: &[f64]| pair[0] < pair[1];
        finite.iter().chain(&self.thresholds).all(|x| x.is_finite())
            && self.scale > 0.0
            && (1..=MOST_THRESHOLDS).contains(&self.thresholds.len())
            && self.thresholds.windows(2).all(increases)
    }

    /// The thresholds for these labels, in increasing order: quantiles at (i + ½)/32, without
    /// duplicates. At least one label is needed.
    pub fn quantiles(sorted: &[f64]) -> Vec<f64> {
        let n = sorted.len();
        let at = |i: usize| sorted[((2 * i + 1) * n / (2 * MOST_THRESHOLDS)).min(n - 1)];
        let mut thresholds: Vec<f64> = (0..MOST_THRESHOLDS).map(at).collect();
        thresholds.dedup();
        thresholds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_numbers_round_trip() {
        let unit = Unit {
            center: 5.0,
            scale: 2.0,
            range: [1.0, 9.0],
            thresholds: vec![-1.0, 1.0],
        };
        assert_eq!((unit.label(9.0), unit.number(2.0)), (2.0, 9.0));
        assert!(unit.is_sound());
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let scale = Unit {
                scale: wrong,
                ..unit.clone()
            };
            assert!(!scale.is_sound());
        }
        let thresholds = vec![1.0, 1.0];
        assert!(!Unit { thresholds, ..unit }.is_sound());
    }

    #[test]
    fn thresholds_are_quantiles() {
        let sorted: Vec<f64> = (0..3_200).map(f64::from).collect();
        let thresholds = Unit::quantiles(&sorted);
        assert_eq!(thresholds.len(), MOST_THRESHOLDS);
        assert_eq!((thresholds[0], thresholds[31]), (50.0, 3_150.0));
        assert_eq!(Unit::quantiles(&[1.0, 1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(Unit::quantiles(&[3.0]), [3.0]);
    }
}
