//! Passes over rows, described as data, and the code that runs them.
//!
//! An [`Engine`] has rows and nothing else passes over them. A [`Pass`] says which sums are wanted: of
//! which statistics ([`Statistics`]), in which cells of rows ([`Cells`]), for which points. Every pass
//! results in one vector of sums. Sums are made per block of rows and added in the order of the blocks, so
//! that they do not depend on threads. A pass that holds no statistics and no predictor of the caller's own
//! can be serialized and run elsewhere.

mod cell;
mod count;
mod curvature;
mod expansion;
mod host;
mod kernel;
mod nearest;
mod pass;
mod sample;
mod size;
mod statistic;
mod tile;

pub use cell::{Cells, Labels};
pub use count::Counts;
pub use expansion::LogOdds;
pub use host::{BLOCKS_PER_TASK, Host};
pub(crate) use kernel::{pull_back, scores};
pub use nearest::{BothSides, NearRows, Nearest};
pub use pass::{Form, Map, Over, Pass, Wanted};
pub(crate) use sample::Sampler;
pub use sample::{Sample, Strata};

use crate::objective::Output;
use crate::{Error, Lanes, Rows, Schema};

/// Everything that passes over rows: threads in memory, and whatever else holds rows.
pub trait Engine: Send + Sync {
    /// The meaning of the numbers in a row.
    fn schema(&self) -> &Schema;
    /// Number of rows.
    fn n_rows(&self) -> u64;
    /// The sums that a pass asks for, over all rows or over the rows of a sample. The layout is that of
    /// [`Wanted`].
    fn sum(&self, pass: &Pass<'_>) -> Result<Vec<f64>, Error>;
    /// For each point the rows nearest to the threshold: with a score of at least 0, and the others.
    fn nearest(&self, nearest: &Nearest<'_>) -> Result<Vec<BothSides>, Error>;
}

/// The statistics of rows that an objective is a function of.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub enum Statistics<'a> {
    /// The output of each row, summed by cell: every engine can do this.
    ByCell {
        /// The function of the score.
        output: Output,
        /// The cells.
        cells: Cells,
    },
    /// Statistics of the caller's own, which run on the host.
    #[serde(skip)]
    Own(&'a dyn OwnStatistics),
}

impl Statistics<'_> {
    /// Number of sums.
    pub fn n_sums(&self, schema: &Schema) -> usize {
        match self {
            Self::ByCell { cells, .. } => cells.n_sums(schema),
            Self::Own(own) => own.n_means(),
        }
    }

    /// Number of weights: those of groups by label, or one of all rows that take part.
    pub fn n_weights(&self, schema: &Schema) -> usize {
        match self {
            Self::ByCell { cells, .. } => 2 * cells.n_groups(schema),
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

    /// Whether every statistic is linear in the score, so that a linear predictor needs no rows for means.
    pub fn are_linear(&self) -> bool {
        match self {
            Self::ByCell { output, .. } => *output == Output::Score,
            Self::Own(own) => own.are_linear(),
        }
    }
}

/// Statistics that no description covers, as those that call other programs.
///
/// A row counts with its weight, and only if it takes part.
pub trait OwnStatistics: Send + Sync {
    /// Number of statistics.
    fn n_means(&self) -> usize;
    /// Total weight of the rows that take part.
    fn weight(&self, rows: &Rows) -> f64;
    /// Adds Σ w · s over the rows, for each point; `sums` has [`OwnStatistics::n_means`] entries.
    fn add_sums(&self, rows: &Rows, scores: &[Lanes], sums: &mut [Lanes]) -> Result<(), Error>;
    /// Adds to `out`, row by row, the weight times the sum over k of `slopes[k]` times the derivative of
    /// s\[k\] by the row's score.
    fn pull_back(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        slopes: &[Lanes],
        out: &mut [Lanes],
    ) -> Result<(), Error>;
    /// Both at once, if that is cheaper than one after the other.
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
    /// The attribute whose groups are compared, and the label of the rows they are compared on if only one
    /// counts.
    fn compares(&self) -> Option<(usize, Option<f64>)> {
        None
    }
    /// The strata that samples are drawn from: those of the comparison.
    fn strata(&self) -> Strata {
        match self.compares() {
            None => Strata::default(),
            Some((attribute, label)) => Strata {
                attribute: Some(attribute),
                by_label: label.is_some(),
            },
        }
    }
}
