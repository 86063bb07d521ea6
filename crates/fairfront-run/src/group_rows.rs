//! Training rows by group, and which groups are compared: `groups` in `run.json`.

use fairfront_core::{Counts, Dataset};
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

/// The groups of each attribute.
pub(crate) fn group_rows(train: &Dataset) -> Result<Ordered<Ordered<GroupRows>>, Error> {
    let of_attribute = |(index, attribute): (usize, &fairfront_core::Attribute)| {
        let counts = Counts::of(train, Some(index))?;
        let of_group = |(g, name): (usize, &String)| {
            let is_compared = |small: &[u32]| !small.contains(&(g as u32));
            let rows = GroupRows {
                rows: counts.of_label(g, None) as usize,
                positives: match train.schema().target.classes() {
                    Some(_) => 0,
                    None => counts.of_label(g, Some(1.0)) as usize,
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
