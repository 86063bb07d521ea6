//! Means by group: the statistics of every objective that compares groups by rates or losses.

use serde::{Deserialize, Serialize};

use super::{Means, Output};
use crate::engine::{Cells, Labels, Statistics};
use crate::{Attribute, SmallGroups};

/// The rows on which groups are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// All rows.
    All,
    /// Rows with y = +1.
    Positive,
    /// Rows with y = −1.
    Negative,
}

impl Condition {
    /// The label that rows must have, if any.
    pub fn label(self) -> Option<f64> {
        match self {
            Self::All => None,
            Self::Positive => Some(1.0),
            Self::Negative => Some(-1.0),
        }
    }
}

/// Sums of an output by group under one or two conditions: cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ByGroup {
    /// Position of the attribute among those of the schema.
    pub(super) attribute: usize,
    pub(super) attribute_name: String,
    pub(super) n_groups: usize,
    /// Groups that are not compared.
    small: SmallGroups,
    /// One condition, or one per label; no row meets two of them.
    pub(super) conditions: Vec<Condition>,
    /// Additional rows of each group, as a share of all rows, with the overall mean. The shares of
    /// groups still count only actual rows.
    pub(super) shrink: f64,
}

/// The mean of each compared group that has rows under a condition.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupMeans {
    /// Cells of these groups.
    cells: Vec<usize>,
    /// Their means, shrunk.
    pub(super) means: Vec<f64>,
    /// Their shares of the rows under the condition.
    pub(super) shares: Vec<f64>,
    /// The mean over all of them.
    pub(super) overall: f64,
    /// Share of all rows that are under the condition.
    total: f64,
}

impl GroupMeans {
    /// Squared deviations from the overall mean, weighted by shares. Writes the derivatives with
    /// respect to the means, and also returns the derivative with respect to the overall mean.
    pub(super) fn variance(&self, by_mean: &mut [f64]) -> (f64, f64) {
        let (mut value, mut by_overall) = (0.0, 0.0);
        for ((d, mean), share) in by_mean.iter_mut().zip(&self.means).zip(&self.shares) {
            let off = mean - self.overall;
            *d = 2.0 * share * off;
            value += share * off * off;
            by_overall -= *d;
        }
        (value, by_overall)
    }
}

impl ByGroup {
    pub(super) fn new(index: usize, attribute: &Attribute, conditions: Vec<Condition>) -> Self {
        Self {
            attribute: index,
            attribute_name: attribute.name.clone(),
            n_groups: attribute.groups.len(),
            small: attribute.small.clone(),
            conditions,
            shrink: 0.0,
        }
    }

    /// The statistics: this output by group and condition.
    pub(super) fn statistics(&self, output: Output) -> Statistics<'static> {
        let labels = match self.conditions.as_slice() {
            [Condition::All] => Labels::Together,
            [Condition::Positive] => Labels::Positive,
            [Condition::Negative] => Labels::Negative,
            _ => Labels::Apart,
        };
        let cells = Cells {
            attribute: Some(self.attribute),
            labels,
        };
        Statistics::ByCell { output, cells }
    }

    /// The groups' means under a condition.
    pub(super) fn of_condition(&self, condition: usize, means: &Means<'_>) -> GroupMeans {
        let label = self.conditions[condition].label();
        self.of_cells(condition * self.n_groups, label, means)
    }

    /// The groups' means in the cells from `first` on, over rows with this label or with any.
    pub(super) fn of_cells(
        &self,
        first: usize,
        label: Option<f64>,
        means: &Means<'_>,
    ) -> GroupMeans {
        let small = self.small.with_label(label);
        let groups = (0..self.n_groups).filter(|group| !small.contains(&(*group as u32)));
        let present: Vec<(usize, f64)> = groups
            .map(|group| (first + group, means.share(group, label)))
            .filter(|(_, share)| *share > 0.0)
            .collect();
        let total: f64 = present.iter().map(|(_, share)| share).sum();
        if present.is_empty() {
            return GroupMeans::default();
        }
        let sums = present.iter().map(|(cell, _)| means.values[*cell]);
        let overall = sums.sum::<f64>() / total;
        let mean = |(cell, share): &(usize, f64)| {
            (means.values[*cell] + self.shrink * overall) / (share + self.shrink)
        };
        GroupMeans {
            means: present.iter().map(mean).collect(),
            shares: present.iter().map(|(_, share)| share / total).collect(),
            cells: present.iter().map(|(cell, _)| *cell).collect(),
            overall,
            total,
        }
    }

    /// Adds to `slope`, the slopes with respect to the means of the statistics, the contribution of
    /// slopes with respect to the groups' means and the overall mean. Shares do not depend on x and
    /// contribute nothing.
    pub(super) fn add_slopes(
        &self,
        of: &GroupMeans,
        by_mean: &[f64],
        by_overall: f64,
        slope: &mut [f64],
    ) {
        let divisor = |share: f64| share * of.total + self.shrink;
        let shrunk = of.shares.iter().zip(by_mean);
        let shrunk: f64 = shrunk
            .map(|(share, d)| d * self.shrink / divisor(*share))
            .sum();
        for ((cell, share), d) in of.cells.iter().zip(&of.shares).zip(by_mean) {
            slope[*cell] += d / divisor(*share) + (by_overall + shrunk) / of.total;
        }
    }

    /// The attribute and the other settings of a definition.
    pub(super) fn settings(&self) -> Vec<String> {
        let mut settings = vec![self.attribute_name.clone()];
        if self.shrink > 0.0 {
            settings.push(format!("shrink={}", self.shrink));
        }
        settings
    }
}
