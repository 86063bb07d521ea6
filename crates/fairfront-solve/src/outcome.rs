use std::ops::ControlFlow;

use fairfront_core::Points;
pub use fairfront_core::StopSignal;
use fairfront_pareto::Values;
use serde::{Deserialize, Serialize};

use crate::checkpoint::exact;
use crate::{Certificate, Checkpoint};

/// Points none of which dominates another, with their values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Front {
    /// Parameters.
    pub points: Points,
    /// Values of all objectives, `n_objectives` to a point.
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

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The values of all points, to be judged.
    pub fn judged(&self) -> Result<Values<'_>, fairfront_pareto::Error> {
        Values::new(&self.values, self.n_objectives)
    }

    /// The values of a point.
    pub fn value(&self, index: usize) -> &[f64] {
        &self.values[index * self.n_objectives..(index + 1) * self.n_objectives]
    }

    /// No points yet.
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

    /// The front ordered by its first objective (then the others): the order in which it is kept.
    #[must_use]
    pub fn sorted(self) -> Self {
        self.select(&self.order())
    }

    /// Positions in that order.
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

/// Why a solver stopped: an outcome, not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The list holds as many points as were asked for.
    Points,
    /// A trajectory has had as many steps as were allowed.
    Steps,
    /// Further rounds no longer improve the front.
    Converged,
    /// Every subproblem has been worked on.
    Complete,
    /// The observer asked for it: the user, or a time limit.
    Stopped,
}

/// What was spent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Gradients of each objective, as the paper counts: stochastic ones, one a point and step;
    /// for constraints one a covariance and evaluation, by finite differences too.
    pub gradient_evaluations: Vec<u64>,
    /// Points evaluated on all rows.
    pub evaluations: u64,
    /// Size of the list after each round.
    pub points_by_round: Vec<usize>,
    /// Volume that the list dominates after each round, up to a reference point that does not move; for
    /// solvers that improve a list, and no more than four objectives.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "exact")]
    pub hypervolume_by_round: Vec<f64>,
    /// Points dropped because a value or a parameter was not finite.
    pub non_finite: u64,
    /// What became of the subproblems, for a solver that has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subproblems: Option<Subproblems>,
    /// The longest distance between neighbours that a surface was left with, as a share of the
    /// objectives' ranges.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "exact")]
    pub largest_hole: Option<f64>,
    /// The effect of polishing, if there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polished: Option<Polished>,
}

/// What polishing did to a front.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Polished {
    /// Points it was given.
    pub points: usize,
    /// Of these, points that took at least one step.
    pub improved: usize,
    /// Points left out because another dominates or equals them now.
    pub dominated: usize,
    /// Rounds: the steps of the point that took the most.
    pub rounds: usize,
}

/// What became of constrained subproblems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Subproblems {
    /// Solved to the tolerances asked for.
    pub solved: u64,
    /// Not solved, or a constraint is violated; the point found is in the list all the same.
    pub failed: u64,
    /// Solutions (the unmitigated model is one) left out because another has values as good or better.
    pub dominated: u64,
    /// Solutions left out because they are the very point that another is, as where no step was
    /// made.
    pub copies: u64,
}

/// How far a solver is.
#[derive(Debug, Clone)]
pub struct Progress<'a> {
    /// Rounds done.
    pub round: usize,
    /// Share of the budget spent, from 0 to 1.
    pub share: f64,
    /// Values of the list so far, `n_objectives` to a point.
    pub values: &'a [f64],
    /// Number of objectives.
    pub n_objectives: usize,
    /// The reference point in use.
    pub reference: &'a [f64],
}

/// Is told about progress and may ask a solver to stop; what is done is kept.
pub trait Observer {
    /// Called after every round.
    fn round(&mut self, progress: &Progress) -> ControlFlow<()>;

    /// Asked often, from any thread, within a round too: whether to stop now. Steps not yet taken
    /// are left out, and the round ends.
    /// Once it is set it has to stay so: what was left out cannot be told from the result.
    fn stop_signal(&self) -> StopSignal {
        StopSignal::default()
    }

    /// Called between rounds: `state` says where the solver is, for
    /// [`Solver::resume`](crate::Solver::resume) and [`resume_polish`](crate::resume_polish). It takes
    /// work to find out, so it is called where somebody keeps the answer only. Not called once the stop
    /// signal is set, because work that was cut short is none to go on from.
    fn checkpoint(&mut self, _state: &dyn Fn() -> Checkpoint) {}
}

/// Watches nothing.
impl Observer for () {
    fn round(&mut self, _progress: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Reports to nobody and stops when the signal is set.
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
    /// The minimiser of the first objective alone, with its values.
    pub unmitigated: Front,
    /// Why it ended.
    pub stop: StopReason,
    /// What was spent.
    pub counters: Counters,
    /// What is known of each point of the front, where the solver found out; empty otherwise.
    pub certificates: Vec<Certificate>,
    /// All points that are worth judging by other yardsticks than the objectives: those of the front
    /// and more, for a solver that finds more; empty otherwise.
    pub candidates: Points,
}
