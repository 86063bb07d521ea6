use std::ops::ControlFlow;

use fairfront_core::Points;
pub use fairfront_core::StopSignal;
use fairfront_pareto::Values;
use serde::{Deserialize, Serialize};

use crate::checkpoint::exact;
use crate::{Checkpoint, Proof};

/// Points with their values; no point dominates another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Front {
    /// Parameters.
    pub points: Points,
    /// Values of all objectives, `n_objectives` per point.
    #[serde(with = "exact")]
    pub values: Vec<f64>,
    /// Number of objectives.
    pub n_objectives: usize,
}

impl Front {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The values of all points as a checked view.
    pub fn judged(&self) -> Result<Values<'_>, fairfront_pareto::Error> {
        Values::new(&self.values, self.n_objectives)
    }

    /// The values of a point.
    pub fn value(&self, index: usize) -> &[f64] {
        &self.values[index * self.n_objectives..(index + 1) * self.n_objectives]
    }

    /// A front without points.
    pub(crate) fn empty(n_params: usize, n_objectives: usize) -> Self {
        Self {
            points: Points::new(n_params),
            values: Vec::new(),
            n_objectives,
        }
    }

    /// The points at these positions.
    #[must_use]
    pub(crate) fn select(&self, positions: &[usize]) -> Self {
        Self {
            points: self.points.select(positions),
            values: positions
                .iter()
                .flat_map(|i| self.value(*i).to_vec())
                .collect(),
            n_objectives: self.n_objectives,
        }
    }

    /// Sorts the front by its first objective, then by the others: the order in which fronts are
    /// stored.
    #[must_use]
    pub fn sorted(self) -> Self {
        self.select(&self.order())
    }

    /// The positions of the points in that order.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|a, b| {
            let pairs = self.value(*a).iter().zip(self.value(*b));
            pairs
                .map(|(x, y)| x.total_cmp(y))
                .find(|o| o.is_ne())
                .unwrap_or(a.cmp(b))
        });
        order
    }
}

/// The reason why a solver stopped; not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The list holds as many points as requested.
    Full,
    /// A trajectory has reached its maximum number of steps.
    Steps,
    /// Further rounds no longer improve the front.
    Converged,
    /// Every subproblem has been processed.
    Complete,
    /// The observer requested it: the user, or a time limit.
    Stopped,
}

/// The work that was done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Number of gradients per objective, counted as in the paper: one stochastic gradient per
    /// point and step; for constraints, one per covariance and evaluation, also with finite
    /// differences.
    pub gradient_evaluations: Vec<u64>,
    /// Points evaluated on all rows.
    pub evaluations: u64,
    /// Size of the list after each round.
    pub points_by_round: Vec<usize>,
    /// The volume that the list dominates after each round, up to a fixed reference point; for
    /// solvers that improve a list, and at most four objectives.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "exact")]
    pub hypervolume_by_round: Vec<f64>,
    /// Points dropped because a value or a parameter was not finite.
    pub non_finite: u64,
    /// The results of the subproblems, for a solver that has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subproblems: Option<Subproblems>,
    /// The largest remaining distance between neighbors on a surface, as a share of the objectives'
    /// ranges.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "exact")]
    pub largest_hole: Option<f64>,
    /// The effect of polishing, if there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polished: Option<Polished>,
}

/// The effect of polishing on a front.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Polished {
    /// Number of points before polishing.
    pub points: usize,
    /// Of these, points that took at least one step.
    pub improved: usize,
    /// Points dropped because another point now dominates or equals them.
    pub dominated: usize,
    /// Number of rounds, which is the number of steps of the point that took the most.
    pub rounds: usize,
}

/// The results of constrained subproblems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Subproblems {
    /// Solved to the requested tolerances.
    pub solved: u64,
    /// Not solved, or a constraint is violated; the point found is still in the list.
    pub failed: u64,
    /// Solutions (including the unmitigated model) dropped because another has equal or better
    /// values.
    pub dominated: u64,
    /// Solutions dropped because they are identical to another point, for example because no step
    /// was taken.
    pub copies: u64,
}

/// The progress of a solver.
#[derive(Debug, Clone)]
pub struct Progress<'a> {
    /// Rounds done.
    pub round: usize,
    /// Share of the budget spent, from 0 to 1.
    pub share: f64,
    /// Values of the list so far, `n_objectives` per point.
    pub values: &'a [f64],
    /// Number of objectives.
    pub n_objectives: usize,
    /// The reference point in use.
    pub reference: &'a [f64],
}

/// Receives progress reports and may ask a solver to stop; the results so far are kept.
pub trait Observer {
    /// Called after every round.
    fn round(&mut self, progress: &Progress) -> ControlFlow<()>;

    /// Whether to stop now. Solvers check this often, from any thread, also within a round. They
    /// then skip the remaining steps and end the round. Once set, the signal must stay set, because
    /// the result does not show which steps were skipped.
    fn stop_signal(&self) -> StopSignal {
        StopSignal::default()
    }

    /// Called between rounds: `state` returns the current state of the solver, for
    /// [`Solver::resume`](crate::Solver::resume) and [`resume_polish`](crate::resume_polish).
    /// Computing it takes time, so call it only if you keep the result. Not called once the stop
    /// signal is set, because a solver cannot resume from work that was cut short.
    fn checkpoint(&mut self, _state: &dyn Fn() -> Checkpoint) {}
}

/// Ignores all reports and never stops a solver.
impl Observer for () {
    fn round(&mut self, _progress: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Ignores all reports and stops when the signal is set.
impl Observer for StopSignal {
    fn round(&mut self, _progress: &Progress) -> ControlFlow<()> {
        match self.is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        self.clone()
    }
}

/// A solver's result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// The front, ordered by its first objective.
    pub front: Front,
    /// The minimizer of the first objective alone, with its values.
    pub unmitigated: Front,
    /// Why the solver stopped.
    pub stop: StopReason,
    /// The work that was done.
    pub counters: Counters,
    /// An optimality proof for each point of the front, if the solver computed them; empty
    /// otherwise.
    pub proofs: Vec<Proof>,
    /// All points worth evaluating by measures other than the objectives: those of the front and
    /// more, for a solver that finds more; empty otherwise.
    pub candidates: Points,
}
