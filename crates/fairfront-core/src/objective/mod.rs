//! What is minimised: smooth functions of sample means plus a penalty.

mod by_group;
mod covariance;
mod error_rate;
mod group_risk;
mod log_loss;
mod mutual_information;
mod output;
mod rate_parity;
mod smooth;

pub use by_group::Condition;
pub use covariance::{Center, Covariance, Kind, SmoothMax};
pub use error_rate::ErrorRate;
pub use group_risk::{GroupRisk, Risk};
pub use log_loss::LogLoss;
pub use mutual_information::MutualInformation;
pub use output::Output;
pub use rate_parity::{RateParity, Spread};

use crate::Error;
use crate::engine::Statistics;
use crate::measure::Measure;

/// f(x) = h(E[s(φ, row)]) + (λ/2)‖c‖²: statistics of rows s, an outer function h, a penalty.
///
/// Sums of statistics over rows add up, so that blocks of rows, threads, mini-batches and streams
/// are all the same mechanism. To add an objective, write this trait in one file; no solver and no engine
/// has to know about it.
pub trait Objective: Send + Sync {
    /// The canonical name: `log_loss`, `disparate_impact(sex)`.
    fn name(&self) -> String;
    /// The name with every setting that the value depends on: what two objectives must share for
    /// their values to be comparable.
    fn definition(&self) -> String {
        self.name()
    }
    /// The statistics of a row, as data if possible.
    fn statistics(&self) -> Statistics<'_>;
    /// h at the means of one point; its derivative by each mean is written to `slope`.
    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error>;
    /// Whether h is affine, so that its derivative is the same everywhere: a gradient then needs one pass
    /// over rows instead of two, and a mini-batch gives it without bias.
    fn is_affine(&self) -> bool {
        false
    }
    /// λ.
    fn penalty(&self) -> f64 {
        0.0
    }
    /// The squares that it is a smooth maximum of, as for covariances: its least value is then 0, reached on
    /// a flat set, and values far below that of the unmitigated model count as 0.
    fn squares(&self) -> Option<&dyn Squares> {
        None
    }
    /// The same objective at other temperatures, if it has one.
    fn temperature(&self) -> Option<&dyn Temperature> {
        None
    }
    /// A convex objective with second derivatives whose minimizer is a good start for this one.
    fn stand_in(&self) -> Option<StandIn> {
        None
    }
    /// The measure that it is a smooth version of, or stands in for.
    fn measure(&self) -> Option<Measure> {
        None
    }
    /// Values at most this are as good as 0: no sample could show the difference.
    fn negligible(&self) -> f64 {
        0.0
    }
    /// With scores that are linear in x, the objective is convex on a convex set that holds every x
    /// whose value is at most this: ∞ if it is convex everywhere. `None` claims nothing.
    fn convex_below(&self) -> Option<f64> {
        None
    }
    /// The attribute whose groups it compares, and the label of the rows it compares them on if only one
    /// counts. Without two groups on such rows the objective has no meaning.
    fn compares(&self) -> Option<(usize, Option<f64>)> {
        match self.statistics() {
            Statistics::Own(own) => own.compares(),
            Statistics::ByCell { cells, .. } => {
                let label = match cells.labels.wanted() {
                    [one] => *one,
                    _ => None,
                };
                cells.attribute.map(|attribute| (attribute, label))
            }
        }
    }
    /// Under each of these labels groups are compared; `None` stands for all rows. More than one if
    /// several comparisons make one objective.
    fn labels(&self) -> Vec<Option<f64>> {
        match self.statistics() {
            Statistics::ByCell { cells, .. } if cells.attribute.is_some() => {
                cells.labels.wanted().to_vec()
            }
            _ => self
                .compares()
                .map(|(_, label)| label)
                .into_iter()
                .collect(),
        }
    }
}

/// The means that an objective is a function of, at one point.
#[derive(Debug, Clone, Copy)]
pub struct Means<'a> {
    /// The means of the statistics, in the order of the sums of the statistics.
    pub values: &'a [f64],
    /// For statistics by cell the shares of rows, of all that take part: those labeled positive by group, then
    /// those labeled negative by group. They do not depend on the point.
    pub shares: &'a [f64],
}

impl Means<'_> {
    /// The share of the rows of a group that have this label, or any.
    pub fn share(&self, group: usize, label: Option<f64>) -> f64 {
        let n_groups = self.shares.len() / 2;
        let (positive, negative) = (self.shares[group], self.shares[n_groups + group]);
        match label {
            None => positive + negative,
            Some(label) if label > 0.0 => positive,
            Some(_) => negative,
        }
    }
}

/// An objective that is a smooth maximum of squares c₁², …, cₙ².
pub trait Squares {
    /// n.
    fn n_roots(&self) -> usize;
    /// The cₖ as functions of the means.
    fn roots(&self, means: &Means<'_>) -> Vec<Root>;
    /// The objective as a function of the cₖ, with its derivatives; of a single one its square.
    fn of_roots(&self, roots: &[f64]) -> OfRoots {
        OfRoots {
            value: roots[0] * roots[0],
            slope: vec![2.0 * roots[0]],
            curvature: vec![2.0],
        }
    }
}

/// An objective with a temperature.
pub trait Temperature {
    /// The same objective with its temperature times this factor: smoother above 1, easier to minimize.
    fn softened(&self, factor: f64) -> Box<dyn Objective>;
}

/// Where to start from.
pub struct StandIn {
    /// A convex objective with second derivatives.
    pub objective: Box<dyn Objective>,
    /// The number to add to the intercept of its minimizer: errors of unequal costs move the threshold.
    pub shift: f64,
}

/// A smooth maximum of squares as a function of what is squared.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OfRoots {
    /// Its value.
    pub value: f64,
    /// Its gradient by the roots.
    pub slope: Vec<f64>,
    /// Its second derivatives by the roots, row by row.
    pub curvature: Vec<f64>,
}

/// A quantity whose square an objective is, or is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Root {
    /// c.
    pub value: f64,
    /// ∂c by each of the objective's means.
    pub slope: Vec<f64>,
}
