use serde::{Deserialize, Serialize};

use super::Strata;
use crate::predictor::{Rows, TILE_ROWS};
use crate::target::place_of;
use crate::{Schema, Target, UNKNOWN_GROUP};

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
    /// The rows of each of these many classes, class by class.
    Classes(u32),
}

impl Labels {
    /// Rows of each label of a target, label by label.
    pub fn each(target: &Target) -> Self {
        match target.classes() {
            Some(classes) => Self::Classes(classes.len() as u32),
            None => Self::Apart,
        }
    }

    /// Number of sums per group.
    #[expect(clippy::len_without_is_empty, reason = "there is always a sum")]
    pub fn len(self) -> usize {
        match self {
            Self::Together | Self::Positive | Self::Negative => 1,
            Self::Apart => 2,
            Self::Classes(n) => n as usize,
        }
    }

    /// For each sum of a group: the label that rows must have, if any.
    pub fn wanted(self) -> Vec<Option<f64>> {
        match self {
            Self::Together => vec![None],
            Self::Positive => vec![Some(1.0)],
            Self::Negative => vec![Some(-1.0)],
            Self::Apart => vec![Some(1.0), Some(-1.0)],
            Self::Classes(n) => (0..n).map(|class| Some(f64::from(class))).collect(),
        }
    }

    /// The sum of its group to which a row with this label belongs.
    #[inline]
    fn place(self, label: f64) -> Option<usize> {
        match self {
            Self::Together => Some(0),
            Self::Positive => (label > 0.0).then_some(0),
            Self::Negative => (label <= 0.0).then_some(0),
            Self::Apart => Some(place_of(label, 2)),
            Self::Classes(n) => Some(place_of(label, n as usize)),
        }
    }

    /// Number of labels by which samples are stratified.
    fn n_strata(self) -> u32 {
        match self {
            Self::Together => 1,
            Self::Positive | Self::Negative | Self::Apart => 2,
            Self::Classes(n) => n,
        }
    }
}

/// The cells that rows are sorted into: by the groups of an attribute, by label, by both or by neither.
///
/// Sums are ordered by label and then by group. A row takes part if its group is known, regardless
/// of its label; the weights of a pass count such rows by label (positive first, or class by class) and
/// group.
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
        self.labels.len() * self.n_groups(schema)
    }

    /// Number of weights: one per label of the target and group.
    pub fn n_weights(&self, schema: &Schema) -> usize {
        schema.target.n_labels() * self.n_groups(schema)
    }

    /// The strata that a sample of rows is drawn from.
    pub(super) fn strata(&self) -> Strata {
        Strata {
            attribute: self.attribute,
            n_labels: match self.attribute {
                Some(_) => self.labels.n_strata(),
                None => 1,
            },
        }
    }

    /// The cell of each row of a tile.
    pub(super) fn of(&self, rows: &Rows, n_groups: usize) -> [usize; TILE_ROWS] {
        let mut cells = [NOWHERE; TILE_ROWS];
        let first_of = |y: &f64| self.labels.place(*y).map(|place| place * n_groups);
        let labels = rows.labels().iter().map(first_of);
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

    /// Adds the weights of rows by label (positive first, or class by class) and group. `weights` has one
    /// entry per label of the target and group.
    pub(super) fn add_weights(&self, rows: &Rows, n_groups: usize, weights: &mut [f64]) {
        let n_labels = weights.len() / n_groups.max(1);
        let each = Self {
            labels: match n_labels {
                2 => Labels::Apart,
                n => Labels::Classes(n as u32),
            },
            ..*self
        };
        for (cell, w) in each.of(rows, n_groups).iter().zip(rows.weights()) {
            if let Some(sum) = weights.get_mut(*cell) {
                *sum += w;
            }
        }
    }
}
