//! Means by group: the statistics of every objective that compares groups by rates or losses.

use crate::lanes::{LANES, Lanes, vectorised};
use crate::predictor::{Rows, TILE_ROWS};
use crate::{Attribute, SmallGroups, UNKNOWN_GROUP};

/// The rows on which groups are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// All of them.
    All,
    /// Those with y = +1.
    Positive,
    /// Those with y = −1.
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

/// What an objective made of [`ByGroup`] alone, its field `groups`, leaves to it.
macro_rules! left_to_groups {
    () => {
        fn n_means(&self) -> usize {
            self.groups.n_means()
        }

        fn weight(&self, rows: &Rows) -> f64 {
            self.groups.weight(rows)
        }

        fn add_sums(&self, rows: &Rows, outputs: &[Lanes], sums: &mut [Lanes]) {
            self.groups.add_sums(rows, outputs, sums);
        }

        fn pull_back(&self, rows: &Rows, _outputs: &[Lanes], slopes: &[Lanes], out: &mut [Lanes]) {
            self.groups.pull_back(rows, slopes, out);
        }

        fn compares(&self) -> Option<(usize, Option<f64>)> {
            Some(self.groups.compares())
        }
    };
}
pub(super) use left_to_groups;

/// Where a row does not count.
const NOWHERE: usize = usize::MAX;

/// Sums of an output by group under one or two conditions: cells. The means are, cell by cell, those
/// of the output, and then the shares of the rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ByGroup {
    /// Position of the attribute among those of the schema.
    pub(super) attribute: usize,
    pub(super) attribute_name: String,
    pub(super) n_groups: usize,
    /// Groups that are not compared.
    small: SmallGroups,
    /// One, or those for both labels; no row is in two.
    pub(super) conditions: Vec<Condition>,
    /// As if each group had this share of all rows in addition, with the overall mean. Groups still
    /// count with the shares of the rows that there are.
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
    /// The mean of all.
    pub(super) overall: f64,
    /// Share of rows under the condition, of all.
    total: f64,
}

impl GroupMeans {
    /// Squared deviations from the overall mean, weighted by shares; derivatives by the means are
    /// written, that by the overall mean is returned too.
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

    fn n_cells(&self) -> usize {
        self.n_groups * self.conditions.len()
    }

    pub(super) fn n_means(&self) -> usize {
        2 * self.n_cells()
    }

    pub(super) fn weight(&self, rows: &Rows) -> f64 {
        let groups = rows.groups(self.attribute).iter().zip(rows.weights());
        let known = groups.filter(|(g, _)| **g != UNKNOWN_GROUP);
        known.map(|(_, w)| w).sum()
    }

    /// The attribute, and the label where only one counts.
    pub(super) fn compares(&self) -> (usize, Option<f64>) {
        let label = match self.conditions.as_slice() {
            [one] => one.label(),
            _ => None,
        };
        (self.attribute, label)
    }

    /// The cell of each row of a tile.
    fn cells(&self, rows: &Rows) -> [usize; TILE_ROWS] {
        let mut cells = [NOWHERE; TILE_ROWS];
        let groups = rows.groups(self.attribute).iter().zip(rows.labels());
        for (cell, (group, y)) in cells.iter_mut().zip(groups) {
            let counts = |c: &Condition| c.label().is_none_or(|label| label == *y);
            if let Some(c) = self.conditions.iter().position(counts)
                && *group != UNKNOWN_GROUP
            {
                *cell = c * self.n_groups + *group as usize;
            }
        }
        cells
    }

    pub(super) fn add_sums(&self, rows: &Rows, outputs: &[Lanes], sums: &mut [Lanes]) {
        let (sums, counts) = sums.split_at_mut(self.n_cells());
        let cells = self.cells(rows);
        add_by_cell(&cells, rows.weights(), outputs, sums);
        for (cell, w) in cells.iter().zip(rows.weights()) {
            if *cell != NOWHERE {
                // The same for every point: the first stands for all until the end.
                counts[*cell][0] += w;
            }
        }
        for count in counts {
            *count = [count[0]; LANES];
        }
    }

    pub(super) fn pull_back(&self, rows: &Rows, slopes: &[Lanes], out: &mut [Lanes]) {
        add_from_cell(&self.cells(rows), rows.weights(), slopes, out);
    }

    /// The groups' means under a condition.
    pub(super) fn of_condition(&self, condition: usize, means: &[f64]) -> GroupMeans {
        let n = self.n_cells();
        let first = condition * self.n_groups;
        let small = self.small.with_label(self.conditions[condition].label());
        let groups = (0..self.n_groups).filter(|group| !small.contains(&(*group as u32)));
        let cells = groups.map(|group| first + group);
        let present: Vec<usize> = cells.filter(|cell| means[n + cell] > 0.0).collect();
        let total: f64 = present.iter().map(|cell| means[n + cell]).sum();
        if present.is_empty() {
            return GroupMeans::default();
        }
        let overall = present.iter().map(|cell| means[*cell]).sum::<f64>() / total;
        let mean =
            |cell: &usize| (means[*cell] + self.shrink * overall) / (means[n + cell] + self.shrink);
        GroupMeans {
            means: present.iter().map(mean).collect(),
            shares: present.iter().map(|cell| means[n + cell] / total).collect(),
            cells: present,
            overall,
            total,
        }
    }

    /// Adds to the slopes by the means what follows from slopes by the groups' means and by the
    /// overall mean. Shares do not depend on x, so nothing is said of them.
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

    /// The attribute and what else a definition has to say.
    pub(super) fn settings(&self) -> Vec<String> {
        let mut settings = vec![self.attribute_name.clone()];
        if self.shrink > 0.0 {
            settings.push(format!("shrink={}", self.shrink));
        }
        settings
    }
}

vectorised! {
    fn add_by_cell(cells: &[usize], weights: &[f64], outputs: &[Lanes], sums: &mut [Lanes]) {
        for ((cell, w), output) in cells.iter().zip(weights).zip(outputs) {
            if let Some(sum) = sums.get_mut(*cell) {
                for p in 0..LANES {
                    sum[p] += w * output[p];
                }
            }
        }
    }
}

vectorised! {
    fn add_from_cell(cells: &[usize], weights: &[f64], slopes: &[Lanes], out: &mut [Lanes]) {
        for ((cell, w), out) in cells.iter().zip(weights).zip(out) {
            if *cell != NOWHERE {
                let slope = &slopes[*cell];
                for p in 0..LANES {
                    out[p] += w * slope[p];
                }
            }
        }
    }
}
