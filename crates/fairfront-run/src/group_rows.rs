//! Training rows by group, and which groups are compared: `groups` in `run.json`.

use fairfront_core::Dataset;
use fairfront_data::Ordered;
use serde::{Deserialize, Serialize};

/// A group's training rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRows {
    /// How many there are.
    pub rows: usize,
    /// How many of them are labeled positive.
    pub positives: usize,
    /// Where the group is compared with others.
    pub compared: Compared,
}

/// Which comparisons a group is large enough for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Those of all rows, as selection rates.
    pub all: bool,
    /// Those of rows labeled positive, as true positive rates.
    pub positives: bool,
    /// Those of rows labeled negative, as false positive rates.
    pub negatives: bool,
}

impl Compared {
    /// Whether the group is part of every comparison.
    pub fn everywhere(&self) -> bool {
        self.all && self.positives && self.negatives
    }
}

/// The groups of each attribute.
pub(crate) fn group_rows(train: &Dataset) -> Ordered<Ordered<GroupRows>> {
    let of_attribute = |(index, attribute): (usize, &fairfront_core::Attribute)| {
        let mut counts = vec![[0; 2]; attribute.groups.len()];
        for block in train.blocks() {
            for (group, label) in block.groups(index).iter().zip(block.labels()) {
                if let Some(count) = counts.get_mut(*group as usize) {
                    count[usize::from(*label > 0.0)] += 1;
                }
            }
        }
        let of_group = |(g, name): (usize, &String)| {
            let is_compared = |small: &[u32]| !small.contains(&(g as u32));
            let rows = GroupRows {
                rows: counts[g][0] + counts[g][1],
                positives: counts[g][1],
                compared: Compared {
                    all: is_compared(&attribute.small.all),
                    positives: is_compared(&attribute.small.positives),
                    negatives: is_compared(&attribute.small.negatives),
                },
            };
            (name.clone(), rows)
        };
        let groups = attribute.groups.iter().enumerate().map(of_group);
        (attribute.name.clone(), Ordered(groups.collect()))
    };
    let attributes = train.schema().attributes.iter().enumerate();
    Ordered(attributes.map(of_attribute).collect())
}
