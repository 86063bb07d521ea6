use std::fmt::{Debug, Display, Formatter};
use std::ops::{Deref, DerefMut};

use fairfront_core::{MOST_DENSE, Points, Problem, grouped};
use serde::{Deserialize, Serialize};

use crate::setting::Settings;
use crate::{Checkpoint, EpsFair, Error, Observer, Outcome, PfSmg, Trace, Weighted};

/// A solver with its settings: from a [`Problem`] to a front.
///
/// ```
/// # use fairfront_core::{Batches, Error, Gradients, Points, Problem};
/// use fairfront_solve::{AnySolver, Suits};
///
/// # struct Distances;
/// # impl Problem for Distances {
/// #     fn n_params(&self) -> usize { 2 }
/// #     fn n_objectives(&self) -> usize { 2 }
/// #     fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
/// #         let square = |x: &[f64], a: f64| (x[0] - a).powi(2) + x[1].powi(2);
/// #         Ok(points.iter().flat_map(|x| [square(x, 0.0), square(x, 1.0)]).collect())
/// #     }
/// #     fn gradients(&self, points: &Points, _: Batches) -> Result<Gradients, Error> {
/// #         let mut out = Gradients::zeros(2, points.len(), 2);
/// #         for (i, x) in points.iter().enumerate() {
/// #             for objective in 0..2 {
/// #                 let gradient = [2.0 * (x[0] - objective as f64), 2.0 * x[1]];
/// #                 out.get_mut(objective, i).copy_from_slice(&gradient);
/// #             }
/// #         }
/// #         Ok(out)
/// #     }
/// # }
/// let best = AnySolver::all().into_iter().find(|s| matches!(s.suits(&Distances), Suits::Best(_)));
/// assert_eq!(best.map(|solver| solver.name()), Some("weighted"));
/// ```
pub trait Solver: Settings + Debug + Send + Sync {
    /// The name that people choose it by.
    fn name(&self) -> &'static str;

    /// The only statement of which problems the solver can solve, and for which it is the solver of choice.
    fn suits(&self, problem: &dyn Problem) -> Suits;

    /// Whether the usual objectives of the solver are covariances: those to take if none are named, before
    /// there is a problem that [`Solver::suits`] could be asked about.
    fn needs_covariances(&self) -> bool {
        false
    }

    /// Sets the seed of everything random.
    fn set_seed(&mut self, _seed: u64) {}

    /// Sets the points to start from, if the solver starts from given points; they must be those of
    /// the problem to be solved.
    fn set_starts(&mut self, _starts: Points) {}

    /// Whether the solver starts from given points and has none yet.
    fn takes_starts(&self) -> bool {
        false
    }

    /// How many parameter vectors the solver keeps for each point of its front, about.
    fn vectors_per_point(&self) -> usize {
        2
    }

    /// Computes a front.
    fn solve(&self, problem: &dyn Problem, observer: &mut dyn Observer) -> Result<Outcome, Error>;

    /// Resumes from a checkpoint of the same solver, with the same settings, on the same problem: the
    /// outcome is that of [`Solver::solve`] without a break. Points to start from need not be set.
    fn resume(
        &self,
        problem: &dyn Problem,
        checkpoint: &Checkpoint,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error>;

    /// Updates a front after the rows have changed, as in a stream: the points of `current`, the
    /// unmitigated model first, are evaluated on the problem, and the solver starts from a
    /// well-spread selection of them instead of from scratch. If the problem has more parameters than
    /// before, the points must have zeros for the new ones.
    ///
    /// [`Outcome::candidates`] are all points of `current` that have finite values (finite parameters if a
    /// curve is followed exactly), then the points that were found.
    /// [`Outcome::front`] holds those that no other dominates, at most [`Settings::points`] of them,
    /// well spread. The exact front of [`Trace`] has exact points alone, unless the observer stopped it.
    /// `round` is the number of the batch: everything random depends on it and the seed.
    fn update(
        &self,
        problem: &dyn Problem,
        current: &Points,
        round: u64,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error>;
}

/// How a solver suits a problem, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suits {
    /// The solver of choice.
    Best(Why),
    /// The solver can solve the problem; another solver is the better choice.
    Possible(Why),
    /// The solver cannot solve the problem.
    Impossible(Why),
}

/// Why a solver suits a problem, or does not. Objectives are numbered from 0, and from 1 in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The solver takes any objectives.
    AnyObjectives,
    /// All objectives are convex and smooth.
    Convex,
    /// All objectives after the loss are made of covariances.
    Covariances,
    /// Some objectives are made of rates or of groups' losses.
    Rates,
    /// These objectives are not convex: solutions may be local.
    NotConvex(Vec<usize>),
    /// This objective is not made of covariances.
    NoCovariances(usize),
    /// So many objectives are too many.
    TooManyObjectives(usize),
    /// So many parameters are too many for dense matrices.
    TooManyParameters(usize),
    /// The loss has no second derivatives.
    NoSecondDerivatives,
}

impl Display for Why {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AnyObjectives => write!(f, "it takes any objectives"),
            Self::Convex => write!(f, "all objectives are convex and smooth"),
            Self::Covariances => write!(f, "all objectives are made of covariances"),
            Self::Rates => write!(f, "there are objectives made of rates or of groups' losses"),
            Self::NotConvex(objectives) => {
                let first = objectives.first().map_or(0, |i| i + 1);
                write!(f, "objective {first} is not convex")
            }
            Self::NoCovariances(i) => write!(f, "objective {} is made of no covariances", i + 1),
            Self::TooManyObjectives(m) => {
                write!(f, "{m} objectives are too many to follow their front")
            }
            Self::TooManyParameters(n) => write!(
                f,
                "{n} parameters are more than the {} that its dense matrices allow",
                grouped(MOST_DENSE)
            ),
            Self::NoSecondDerivatives => write!(f, "the loss has no second derivatives"),
        }
    }
}

/// The objectives after the loss that are not convex.
pub(crate) fn not_convex(problem: &dyn Problem) -> Vec<usize> {
    let fair = 1..problem.n_objectives();
    fair.filter(|i| problem.convex_below(*i).is_none())
        .collect()
}

impl Suits {
    /// An error if the solver cannot solve the problem.
    pub fn ensure(self, solver: &str) -> Result<(), Error> {
        match self {
            Self::Best(_) | Self::Possible(_) => Ok(()),
            Self::Impossible(why) => Err(Error::Problem(format!("{solver}: {why}; use pf-smg"))),
        }
    }
}

/// Any of the solvers, chosen at run time. As JSON: `"solver"`, its name, and `"solver_settings"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "solver", content = "solver_settings", rename_all = "kebab-case")]
pub enum AnySolver {
    /// The exact front, followed with second derivatives.
    Trace(Trace),
    /// Weighted sums, while their temperature falls.
    Weighted(Weighted),
    /// Stochastic multi-gradient runs.
    PfSmg(PfSmg),
    /// The loss under bounds on the covariances.
    EpsFair(EpsFair),
}

impl AnySolver {
    /// All solvers with their default settings, in the order in which the automatic choice considers them.
    pub fn all() -> [Self; 4] {
        [
            Self::Trace(Trace::default()),
            Self::Weighted(Weighted::default()),
            Self::PfSmg(PfSmg::default()),
            Self::EpsFair(EpsFair::default()),
        ]
    }

    /// The solver of this name, with its default settings.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|solver| solver.name() == name)
    }
}

impl Deref for AnySolver {
    type Target = dyn Solver;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Trace(solver) => solver,
            Self::Weighted(solver) => solver,
            Self::PfSmg(solver) => solver,
            Self::EpsFair(solver) => solver,
        }
    }
}

impl DerefMut for AnySolver {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Trace(solver) => solver,
            Self::Weighted(solver) => solver,
            Self::PfSmg(solver) => solver,
            Self::EpsFair(solver) => solver,
        }
    }
}
