//! Passes over rows, described as data, and the code that runs them.
//!
//! An [`Engine`] holds rows, and only engines pass over them. A [`Pass`] describes the requested
//! sums: the statistics ([`Statistics`]), the cells of rows ([`Cells`]) and the points. The result
//! of a pass is one vector of sums. Sums are computed per task (a few blocks of rows) and added in
//! a fixed order ([`Merger`]), so that they do not depend on threads, files or workers. A pass without the caller's own statistics or
//! predictor can be serialized and run elsewhere.

mod cell;
mod class;
mod class_curvature;
mod count;
mod curvature;
mod expansion;
mod host;
mod joint;
mod kernel;
mod merge;
mod nearest;
mod pass;
mod remote;
mod sample;
pub(crate) mod score_bin;
mod size;
mod statistic;
mod tile;

pub use cell::{Cells, Labels};
pub use count::Counts;
pub use expansion::LogOdds;
pub use host::{BLOCKS_PER_TASK, Host};
pub use joint::Moments;
pub(crate) use joint::{JointStratum, n_strata};
pub(crate) use kernel::{add_inputs, add_inputs_of_class, pull_back, scores};
pub use merge::{BLOCKS_PER_SUPER_BLOCK, Merger, Node};
pub use nearest::{BothSides, NearRows, Nearest};
pub use pass::{Form, Map, Over, Pass, Wanted};
pub use remote::{Distributed, Shard, Workers};
pub(crate) use sample::Sampler;
pub use sample::{Sample, Strata};

use crate::objective::Output;
use crate::{Error, Lanes, Rows, Schema};

/// Computes passes over rows, on threads in memory or wherever else rows are held.
pub trait Engine: Send + Sync {
    /// The meaning of the numbers in a row.
    fn schema(&self) -> &Schema;
    /// Number of rows.
    fn n_rows(&self) -> u64;
    /// The sums that a pass requests, over all rows or over a sample. [`Wanted`] defines the
    /// layout.
    fn sum(&self, pass: &Pass<'_>) -> Result<Vec<f64>, Error>;
    /// For each point, the rows nearest to the threshold: those with a score of at least 0, and the
    /// others.
    fn nearest(&self, nearest: &Nearest<'_>) -> Result<Vec<BothSides>, Error>;
}

/// The statistics of rows that an objective is a function of.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub enum Statistics<'a> {
    /// The output of each row, summed by cell; all cells of the first value of a row come first. Every
    /// engine can compute this.
    ByCell {
        /// The function of the score.
        output: Output,
        /// The cells.
        cells: Cells,
    },
    /// The caller's own statistics, which run on the host.
    #[serde(skip)]
    Own(&'a dyn OwnStatistics),
}

impl Statistics<'_> {
    /// Number of sums.
    pub fn n_sums(&self, schema: &Schema) -> usize {
        match self {
            Self::ByCell { output, cells } => output.width(schema) * cells.n_sums(schema),
            Self::Own(own) => own.n_means(),
        }
    }

    /// Number of weights: one per group and label, or one for all rows that take part.
    pub fn n_weights(&self, schema: &Schema) -> usize {
        match self {
            Self::ByCell { cells, .. } => cells.n_weights(schema),
            Self::Own(_) => 1,
        }
    }

    /// The strata that a sample of rows is drawn from.
    pub fn strata(&self) -> Strata {
        match self {
            Self::ByCell { cells, .. } => cells.strata(),
            Self::Own(own) => own.strata(),
        }
    }

    /// Whether every statistic is linear in the score, so that means of a linear predictor need no
    /// rows.
    pub fn are_linear(&self) -> bool {
        match self {
            Self::ByCell { output, .. } => *output == Output::Score,
            Self::Own(own) => own.are_linear(),
        }
    }
}

/// Statistics that cannot be described as data, such as those that call other programs.
///
/// A row counts with its weight, and only if it takes part.
pub trait OwnStatistics: Send + Sync {
    /// Number of statistics.
    fn n_means(&self) -> usize;
    /// Total weight of the rows that take part.
    fn weight(&self, rows: &Rows) -> f64;
    /// Adds Σ w · s over the rows, for each point; `sums` has [`OwnStatistics::n_means`] entries.
    fn add_sums(&self, rows: &Rows, scores: &[Lanes], sums: &mut [Lanes]) -> Result<(), Error>;
    /// Adds to `out`, row by row, the weight times the sum over k of `slopes[k]` times the
    /// derivative of s\[k\] with respect to the row's score.
    fn pull_back(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        slopes: &[Lanes],
        out: &mut [Lanes],
    ) -> Result<(), Error>;
    /// Does both at once, if that is cheaper than one after the other.
    fn add_sums_and_slopes(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        slopes: &[Lanes],
        sums: &mut [Lanes],
        out: &mut [Lanes],
    ) -> Result<(), Error> {
        self.add_sums(rows, scores, sums)?;
        self.pull_back(rows, scores, slopes, out)
    }
    /// Whether every statistic is linear in the score.
    fn are_linear(&self) -> bool {
        false
    }
    /// The attribute whose groups are compared, and the label of the compared rows if only one
    /// label counts.
    fn compares(&self) -> Option<(usize, Option<f64>)> {
        None
    }
    /// The strata that samples are drawn from: those of the comparison.
    fn strata(&self) -> Strata {
        match self.compares() {
            None => Strata::default(),
            Some((attribute, label)) => Strata {
                attribute: Some(attribute),
                n_labels: if label.is_some() { 2 } else { 1 },
            },
        }
    }
}
