use std::borrow::Cow;

use super::{Engine, Map, Over, Pass, Wanted};
use crate::predictor::Columns;
use crate::{Error, Points};

/// Number and weight of rows by group and label.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// For each group, the number of rows labeled negative and of those labeled positive.
    pub rows: Vec<[u64; 2]>,
    /// The weights of the same rows.
    pub weights: Vec<[f64; 2]>,
}

impl Counts {
    /// Counts the rows of each group of an attribute; without an attribute, all rows are one group.
    /// Rows of unknown group are left out.
    pub fn of(engine: &dyn Engine, attribute: Option<usize>) -> Result<Self, Error> {
        let sums = engine.sum(&Pass {
            map: Map::Columns(Columns),
            points: Cow::Owned(Points::default()),
            wanted: Wanted::Counts { attribute },
            over: Over::All,
        })?;
        let n_groups = sums.len() / 4;
        // Sums have the positive label first.
        let pairs = |sums: &[f64]| -> Vec<[f64; 2]> {
            (0..n_groups)
                .map(|g| [sums[n_groups + g], sums[g]])
                .collect()
        };
        Ok(Self {
            rows: pairs(&sums[..2 * n_groups])
                .iter()
                // Counts up to 2⁵³ are exact.
                .map(|of_labels| of_labels.map(|n| n as u64))
                .collect(),
            weights: pairs(&sums[2 * n_groups..]),
        })
    }

    /// Number of rows of a group with this label, or with any label.
    pub fn of_label(&self, group: usize, label: Option<f64>) -> u64 {
        let [negative, positive] = self.rows[group];
        match label {
            None => negative + positive,
            Some(label) if label > 0.0 => positive,
            Some(_) => negative,
        }
    }
}
