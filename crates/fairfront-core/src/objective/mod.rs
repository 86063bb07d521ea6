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
use crate::lanes::Lanes;
use crate::measure::Measure;
use crate::predictor::Rows;

/// f(x) = h(E[s(φ, row)]) + (λ/2)‖c‖²: per-row statistics s, an outer function h, a penalty.
///
/// Sums of statistics over rows add up, so that blocks of rows, threads, mini-batches and streams
/// are all the same mechanism. Whoever adds an objective writes this trait in one file; no solver
/// has to know.
///
/// The statistics of a row count with its weight, and only if the row takes part (its group is
/// known, say). E[·] is the weighted mean over the rows that take part.
pub trait Objective: Send + Sync {
    /// The canonical name: `log_loss`, `disparate_impact(sex)`.
    fn name(&self) -> String;
    /// The name with every setting that the value depends on: what two objectives must share for
    /// their values to be comparable.
    fn definition(&self) -> String {
        self.name()
    }
    /// What of a row's score the statistics are made of. Objectives that ask for the same share the
    /// work of finding it.
    fn output(&self) -> Output {
        Output::Score
    }
    /// Length of s.
    fn n_means(&self) -> usize;
    /// Total weight of the rows that take part.
    fn weight(&self, rows: &Rows) -> f64;
    /// Adds Σ w · s over the rows, for each point; `sums` has [`Objective::n_means`] entries,
    /// `outputs` is what [`Objective::output`] asks for.
    fn add_sums(&self, rows: &Rows, outputs: &[Lanes], sums: &mut [Lanes]);
    /// h at the means of one point, its derivative written to `slope`.
    fn outer(&self, means: &[f64], slope: &mut [f64]) -> f64;
    /// Adds to `out`, row by row, the weight times the sum over k of `slopes[k]` times the derivative
    /// of s\[k\] by the row's output.
    fn pull_back(&self, rows: &Rows, outputs: &[Lanes], slopes: &[Lanes], out: &mut [Lanes]);
    /// For an objective with [`Objective::is_mean`]: [`Objective::add_sums`] and
    /// [`Objective::pull_back`] at once, where that is cheaper than one after the other.
    fn add_sums_and_slopes(
        &self,
        rows: &Rows,
        outputs: &[Lanes],
        slopes: &[Lanes],
        sums: &mut [Lanes],
        out: &mut [Lanes],
    ) {
        self.add_sums(rows, outputs, sums);
        self.pull_back(rows, outputs, slopes, out);
    }
    /// For an objective that can fail, as one that calls other programs can: what went wrong in the calls
    /// above on this thread since this was last asked. Whatever they wrote is not used then.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
    /// λ.
    fn penalty(&self) -> f64 {
        0.0
    }
    /// Whether h is the identity on one mean: a gradient then needs one pass over rows, not two,
    /// and a mini-batch gives it without bias.
    fn is_mean(&self) -> bool {
        false
    }
    /// Whether every statistic is linear in φ: with a linear predictor, values and gradients then
    /// need no rows at all.
    fn is_linear_in_scores(&self) -> bool {
        false
    }
    /// For an objective with [`Objective::is_mean`] and one point: writes w · s′ and w · s″ of each
    /// row, and returns Σ w · s. `None` where second derivatives are not offered.
    fn expand(
        &self,
        _rows: &Rows,
        _scores: &[f64],
        _slope: &mut [f64],
        _curvature: &mut [f64],
    ) -> Option<f64> {
        None
    }
    /// The same objective with its temperature times this factor: smoother above 1, easier to
    /// minimise. `None` where it has no temperature.
    fn softened(&self, _factor: f64) -> Option<Box<dyn Objective>> {
        None
    }
    /// A convex objective with second derivatives whose minimiser is a good start for this one.
    fn stand_in(&self) -> Option<Box<dyn Objective>> {
        None
    }
    /// To be added to the intercept of the minimizer of [`Objective::stand_in`] for a better start: errors of
    /// unequal costs move the threshold.
    fn start_shift(&self) -> f64 {
        0.0
    }
    /// The measure that it is a smooth version of, or stands in for.
    fn measure(&self) -> Option<Measure> {
        None
    }
    /// Values at most this are as good as 0: no sample could show the difference.
    fn negligible(&self) -> f64 {
        0.0
    }
    /// Whether it is the log loss, of which more is known than of other convex losses: it bounds
    /// the parameters of any model that is as good as another.
    fn is_log_loss(&self) -> bool {
        false
    }
    /// With scores that are linear in x, the objective is convex on a convex set that holds every x
    /// whose value is at most this: ∞ where it is convex everywhere. `None` claims nothing.
    fn convex_below(&self) -> Option<f64> {
        None
    }
    /// The attribute whose groups it compares, and the label of the rows it compares them on where
    /// only some count. Mini-batches are stratified by both, and without two groups on such rows
    /// the objective has no meaning.
    fn compares(&self) -> Option<(usize, Option<f64>)> {
        None
    }
    /// Under each of these labels groups are compared; `None` stands for all rows. More than one where
    /// several comparisons make one objective.
    fn labels(&self) -> Vec<Option<f64>> {
        self.compares()
            .map(|(_, label)| label)
            .into_iter()
            .collect()
    }
    /// n where h is a smooth maximum of squares c₁², …, cₙ², as for covariances: its least value
    /// is then 0, reached on a flat set, and values far below that of the unmitigated model count
    /// as 0.
    fn n_roots(&self) -> usize {
        0
    }
    /// The cₖ as functions of the means.
    fn roots(&self, _means: &[f64]) -> Vec<Root> {
        Vec::new()
    }
    /// h as a function of the cₖ, with its derivatives.
    fn of_roots(&self, _roots: &[f64]) -> OfRoots {
        OfRoots::default()
    }
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
