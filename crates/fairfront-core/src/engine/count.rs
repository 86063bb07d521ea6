use std::borrow::Cow;

use super::{Engine, Map, Over, Pass, Wanted};
use crate::predictor::Columns;
use crate::{Error, Points};

/// Number and weight of rows by group and label.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// For each group, the number of rows labeled negative and of those labeled positive, or of each class.
    pub rows: Vec<Vec<u64>>,
    /// The weights of the same rows.
    pub weights: Vec<Vec<f64>>,
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
        let n_labels = engine.schema().target.n_labels();
        let (rows, weights) = sums.split_at(sums.len() / 2);
        let n_groups = rows.len() / n_labels;
        let by_group = |sums: &[f64]| -> Vec<Vec<f64>> {
            let of_group = |group: usize| {
                let mut of_labels: Vec<f64> =
                    sums[group..].iter().step_by(n_groups).copied().collect();
                if n_labels == 2 {
                    // Sums have the positive label first.
                    of_labels.reverse();
                }
                of_labels
            };
            (0..n_groups).map(of_group).collect()
        };
        // Counts up to 2⁵³ are exact.
        let whole = |of_labels: Vec<f64>| of_labels.into_iter().map(|n| n as u64).collect();
        Ok(Self {
            rows: by_group(rows).into_iter().map(whole).collect(),
            weights: by_group(weights),
        })
    }

    /// Number of rows of a group with this label, or with any label.
    pub fn of_label(&self, group: usize, label: Option<f64>) -> u64 {
        let of_labels = &self.rows[group];
        match label {
            None => of_labels.iter().sum(),
            Some(label) => of_labels[index_of(label, of_labels.len())],
        }
    }

    /// The weight of the rows of a group with this label, or with any label.
    pub fn weight_of_label(&self, group: usize, label: Option<f64>) -> f64 {
        let of_labels = &self.weights[group];
        match label {
            None => of_labels.iter().sum(),
            Some(label) => of_labels[index_of(label, of_labels.len())],
        }
    }
}

/// The position of a label among negative and positive, or among the classes.
fn index_of(label: f64, n_labels: usize) -> usize {
    match n_labels {
        2 => usize::from(label > 0.0),
        _ => label as usize,
    }
}
