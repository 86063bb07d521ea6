//! Training rows by group, and which groups are compared: `groups` in `run.json`.

use fairfront_core::{Counts, Dataset, expected_rows};
use fairfront_data::Ordered;
use serde::{Deserialize, Serialize};

use crate::Error;

/// A group's training rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRows {
    /// Number of rows.
    pub rows: usize,
    /// Number of rows labeled positive; 0 if the target has more than two classes.
    pub positives: usize,
    /// The comparisons that include the group.
    pub compared: Compared,
}

/// The comparisons for which a group is large enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Comparisons over all rows, such as selection rates.
    pub all: bool,
    /// Comparisons over rows labeled positive, such as true positive rates.
    pub positives: bool,
    /// Comparisons over rows labeled negative, such as false positive rates.
    pub negatives: bool,
}

impl Compared {
    /// Whether the group is part of every comparison.
    pub fn everywhere(&self) -> bool {
        self.all && self.positives && self.negatives
    }
}

/// Numbers of rows by group and label; expected numbers of people if groups are only estimated.
pub(crate) enum GroupCounts {
    Known(Counts),
    Expected(Vec<Vec<f64>>),
}

impl GroupCounts {
    pub(crate) fn of(rows: &Dataset, attribute: usize) -> Result<Self, Error> {
        Ok(match rows.schema().has_estimated() {
            false => Self::Known(Counts::of(rows, Some(attribute))?),
            true => Self::Expected(expected_rows(rows, attribute)?),
        })
    }

    /// Number of rows of a group with this label, or with any label.
    pub(crate) fn of_label(&self, group: usize, label: Option<f64>) -> usize {
        match (self, label) {
            (Self::Known(counts), label) => counts.of_label(group, label) as usize,
            (Self::Expected(sums), None) => sums[group].iter().sum::<f64>().round() as usize,
            (Self::Expected(sums), Some(label)) => {
                let of_group = &sums[group];
                let at = match of_group.len() {
                    2 => usize::from(label > 0.0),
                    _ => label as usize,
                };
                of_group[at].round() as usize
            }
        }
    }
}

/// The groups of each attribute.
pub(crate) fn group_rows(train: &Dataset) -> Result<Ordered<Ordered<GroupRows>>, Error> {
    let of_attribute = |(index, attribute): (usize, &fairfront_core::Attribute)| {
        let counts = GroupCounts::of(train, index)?;
        let of_group = |(g, name): (usize, &String)| {
            let is_compared = |small: &[u32]| !small.contains(&(g as u32));
            let rows = GroupRows {
                rows: counts.of_label(g, None),
                positives: match train.schema().target.classes() {
                    Some(_) => 0,
                    None => counts.of_label(g, Some(1.0)),
                },
                compared: Compared {
                    all: is_compared(&attribute.small.all),
                    positives: is_compared(&attribute.small.positives),
                    negatives: is_compared(&attribute.small.negatives),
                },
            };
            (name.clone(), rows)
        };
        let groups = attribute.groups.iter().enumerate().map(of_group);
        Ok((attribute.name.clone(), Ordered(groups.collect())))
    };
    let attributes = train.schema().attributes.iter().enumerate();
    let groups = attributes.map(of_attribute).collect::<Result<_, Error>>();
    Ok(Ordered(groups?))
}
