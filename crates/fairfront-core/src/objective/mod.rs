//! Objectives: smooth functions of sample means plus a penalty.

mod by_group;
mod class_covariance;
mod class_loss;
mod class_parity;
mod covariance;
mod distribution;
mod error_rate;
mod group_risk;
mod log_loss;
mod mean_difference;
mod mutual_information;
mod output;
mod rate_parity;
mod residual_loss;
mod smooth;

pub use by_group::Condition;
pub use class_covariance::ClassCovariance;
pub use class_loss::{ClassError, ClassLoss};
pub use class_parity::{ClassParity, ClassRate};
pub use covariance::{Center, Covariance, SmoothMax};
pub use distribution::{Distance, DistributionDifference};
pub use error_rate::ErrorRate;
pub use group_risk::{GroupRisk, Risk};
pub use log_loss::LogLoss;
pub use mean_difference::MeanDifference;
pub use mutual_information::MutualInformation;
pub use output::{ClassOutput, Moment, Output, Residual};
pub use rate_parity::{RateParity, Spread};
pub use residual_loss::ResidualLoss;

use crate::Error;
use crate::engine::Statistics;
use crate::measure::Measure;
use crate::target::place_of;

/// f(x) = h(E[s(φ, row)]) + (λ/2)‖c‖²: statistics of rows s, an outer function h, a penalty.
///
/// Sums of statistics over rows add up, so that blocks of rows, threads, mini-batches and streams
/// share one mechanism. To add an objective, implement this trait in one file; solvers and engines
/// need no change.
pub trait Objective: Send + Sync {
    /// The canonical name: `log_loss`, `score_covariance(sex)`.
    fn name(&self) -> String;
    /// The name with every setting that the value depends on. Values of two objectives are
    /// comparable only if their definitions are equal.
    fn definition(&self) -> String {
        self.name()
    }
    /// The statistics of a row, as data if possible.
    fn statistics(&self) -> Statistics<'_>;
    /// Returns h at the means of one point, and writes its derivative with respect to each mean to
    /// `slope`.
    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error>;
    /// Whether h is affine, so that its derivative is the same everywhere. A gradient then needs
    /// one pass over rows instead of two, and its estimates from mini-batches are unbiased.
    fn is_affine(&self) -> bool {
        false
    }
    /// λ.
    fn penalty(&self) -> f64 {
        0.0
    }
    /// The squares of which it is a smooth maximum, as for covariances. Its smallest value is then
    /// 0, on a flat set, and values far below that of the unmitigated model count as 0.
    fn squares(&self) -> Option<&dyn Squares> {
        None
    }
    /// Functions of the means that are all 0 if the objective is 0, for optimality proofs of models with
    /// values close to 0, where gradients vanish. Objectives with [`squares`](Self::squares) do not need it.
    fn zeros(&self, _means: &Means<'_>, _value: f64) -> Option<Zeros> {
        None
    }
    /// The same objective at other temperatures, if it has a temperature.
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
    /// Values up to this one count as 0: no sample could show the difference.
    fn negligible(&self) -> f64 {
        0.0
    }
    /// A value v such that, with scores that are linear in x, the objective is convex on a convex
    /// set that contains every x with a value of at most v; ∞ if it is convex everywhere. `None`
    /// makes no claim.
    fn convex_below(&self) -> Option<f64> {
        None
    }
    /// The attribute whose groups it compares, and the label of the compared rows if only one label
    /// counts. Unless two groups have such rows, the objective has no meaning.
    fn compares(&self) -> Option<(usize, Option<f64>)> {
        match self.statistics() {
            Statistics::Own(own) => own.compares(),
            Statistics::ByCell { cells, .. } => {
                let label = match cells.labels.wanted().as_slice() {
                    [one] => *one,
                    _ => None,
                };
                cells.attribute.map(|attribute| (attribute, label))
            }
        }
    }
    /// The labels under which groups are compared; `None` stands for all rows. There are several if
    /// one objective combines several comparisons.
    fn labels(&self) -> Vec<Option<f64>> {
        match self.statistics() {
            Statistics::ByCell { cells, .. } if cells.attribute.is_some() => cells.labels.wanted(),
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
    /// The means of the statistics, in the order of their sums.
    pub values: &'a [f64],
    /// For statistics by cell, shares of all rows that take part: rows labeled positive by group,
    /// then rows labeled negative by group, or class by class. They do not depend on the point.
    pub shares: &'a [f64],
    /// Number of labels of the target: 2, or the number of classes.
    pub n_labels: usize,
}

impl Means<'_> {
    /// The share of rows that are in a group and have this label, or any label.
    pub fn share(&self, group: usize, label: Option<f64>) -> f64 {
        let n_groups = self.shares.len() / self.n_labels;
        match label {
            None => self.shares[group..].iter().step_by(n_groups).sum(),
            Some(label) => self.shares[place_of(label, self.n_labels) * n_groups + group],
        }
    }
}

/// An objective that is a smooth maximum of squares c₁², …, cₙ².
pub trait Squares {
    /// n.
    fn n_roots(&self) -> usize;
    /// The cₖ as functions of the means.
    fn roots(&self, means: &Means<'_>) -> Vec<Root>;
    /// The objective as a function of the cₖ, with its derivatives. The default is the square of a
    /// single c.
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
    /// The same objective with its temperature multiplied by this factor. Factors above 1 make it
    /// smoother and easier to minimize.
    fn softened(&self, factor: f64) -> Box<dyn Objective>;
}

/// An objective whose minimizer is a starting point for another.
pub struct StandIn {
    /// A convex objective with second derivatives.
    pub objective: Box<dyn Objective>,
    /// The number to add to the intercept of its minimizer, because unequal costs of errors move
    /// the threshold.
    pub shift: f64,
}

/// A smooth maximum of squares as a function of its roots.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OfRoots {
    /// Its value.
    pub value: f64,
    /// Its gradient with respect to the roots.
    pub slope: Vec<f64>,
    /// Its second derivatives with respect to the roots, row by row.
    pub curvature: Vec<f64>,
}

/// Functions of the means that are all 0 if an objective is 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Zeros {
    /// The functions.
    pub roots: Vec<Root>,
    /// None of them is larger in absolute value wherever the objective has at most the value in question.
    pub reach: f64,
}

/// A quantity whose square is an objective, or part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Root {
    /// c.
    pub value: f64,
    /// ∂c/∂m for each mean m of the objective.
    pub slope: Vec<f64>,
}
