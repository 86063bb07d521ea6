//! The rows on which groups are compared.

use serde::{Deserialize, Serialize};

/// The rows on which groups are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stratum {
    /// All rows.
    All,
    /// Rows with y = +1.
    Positive,
    /// Rows with y = −1.
    Negative,
    /// Rows of a class, by its position, if there are more than two classes.
    Class(u32),
}

impl Stratum {
    /// The rows with a label, or all rows, of a target with this number of classes.
    pub fn of(label: Option<f64>, n_classes: usize) -> Self {
        match label {
            None => Self::All,
            Some(class) if n_classes > 2 => Self::Class(class as u32),
            Some(label) if label > 0.0 => Self::Positive,
            Some(_) => Self::Negative,
        }
    }

    /// The label that rows must have, if any.
    pub fn label(self) -> Option<f64> {
        match self {
            Self::All => None,
            Self::Positive => Some(1.0),
            Self::Negative => Some(-1.0),
            Self::Class(class) => Some(f64::from(class)),
        }
    }

    /// The probability that a row is one of them. `outcome` has the probability that the row is positive
    /// or, with more than two classes, that of each class.
    pub fn probability(self, outcome: &[f64]) -> f64 {
        match self {
            Self::All => 1.0,
            Self::Positive => outcome[0],
            Self::Negative => 1.0 - outcome[0],
            Self::Class(class) => outcome[class as usize],
        }
    }
}
