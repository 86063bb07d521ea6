use serde::{Deserialize, Serialize};

use super::Strata;
use crate::predictor::{Rows, TILE_ROWS};
use crate::{Schema, UNKNOWN_GROUP};

/// A row that is in no cell.
pub(crate) const NOWHERE: usize = usize::MAX;

/// The labels of the rows that a statistic sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Labels {
    /// Rows of both labels, together.
    Together,
    /// Rows with y = +1.
    Positive,
    /// Rows with y = −1.
    Negative,
    /// Rows with y = +1 first, then those with y = −1.
    Apart,
}

impl Labels {
    /// For each sum of a group: the label that rows must have, if any.
    pub fn wanted(self) -> &'static [Option<f64>] {
        match self {
            Self::Together => &[None],
            Self::Positive => &[Some(1.0)],
            Self::Negative => &[Some(-1.0)],
            Self::Apart => &[Some(1.0), Some(-1.0)],
        }
    }
}

/// The cells that rows are sorted into: by the groups of an attribute, by label, by both or by neither.
///
/// Sums are ordered by label and then by group. A row takes part if its group is known, regardless
/// of its label; the weights of a pass count such rows by label (positive first) and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cells {
    /// The attribute whose groups make cells; without it, all rows are one group.
    pub attribute: Option<usize>,
    /// The labels that count.
    pub labels: Labels,
}

impl Cells {
    /// All rows in one cell.
    pub const ALL: Self = Self {
        attribute: None,
        labels: Labels::Together,
    };

    /// Number of groups.
    pub fn n_groups(&self, schema: &Schema) -> usize {
        self.attribute
            .map_or(1, |a| schema.attributes[a].groups.len())
    }

    /// Number of sums.
    pub fn n_sums(&self, schema: &Schema) -> usize {
        self.labels.wanted().len() * self.n_groups(schema)
    }

    /// The strata that a sample of rows is drawn from.
    pub(super) fn strata(&self) -> Strata {
        Strata {
            attribute: self.attribute,
            by_label: self.attribute.is_some() && self.labels != Labels::Together,
        }
    }

    /// The cell of each row of a tile.
    pub(super) fn of(&self, rows: &Rows, n_groups: usize) -> [usize; TILE_ROWS] {
        let mut cells = [NOWHERE; TILE_ROWS];
        let wanted = self.labels.wanted();
        let place = |y: f64| {
            let counts = |label: &Option<f64>| label.is_none_or(|label| label == y);
            wanted.iter().position(counts).map(|c| c * n_groups)
        };
        let places = [place(-1.0), place(1.0)];
        let labels = rows.labels().iter().map(|y| places[usize::from(*y > 0.0)]);
        match self.attribute {
            None => {
                for (cell, first) in cells.iter_mut().zip(labels) {
                    *cell = first.unwrap_or(NOWHERE);
                }
            }
            Some(attribute) => {
                let groups = rows.groups(attribute).iter().zip(labels);
                for (cell, (group, first)) in cells.iter_mut().zip(groups) {
                    if let Some(first) = first
                        && *group != UNKNOWN_GROUP
                    {
                        *cell = first + *group as usize;
                    }
                }
            }
        }
        cells
    }

    /// Adds the weights of rows by label (positive first) and group.
    pub(super) fn add_weights(&self, rows: &Rows, n_groups: usize, weights: &mut [f64]) {
        let apart = Self {
            labels: Labels::Apart,
            ..*self
        };
        for (cell, w) in apart.of(rows, n_groups).iter().zip(rows.weights()) {
            if let Some(sum) = weights.get_mut(*cell) {
                *sum += w;
            }
        }
    }
}
