use std::fmt::{Debug, Display, Formatter};
use std::ops::{Deref, DerefMut};

use fairfront_core::{MOST_DENSE, Points, Problem, grouped};
use serde::{Deserialize, Serialize};

use crate::setting::Settings;
use crate::{Checkpoint, EpsFair, Error, Observer, Outcome, PfSmg, Trace, Weighted};

/// A solver with its settings; computes a front of a [`Problem`].
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
    /// The name that users choose it by.
    fn name(&self) -> &'static str;

    /// Whether the solver can solve a problem, and whether it is the solver of choice. No other
    /// code decides this.
    fn suits(&self, problem: &dyn Problem) -> Suits;

    /// Whether the default objectives for this solver are covariances. This is asked if no
    /// objectives are named, before there is a problem for [`Solver::suits`].
    fn needs_covariances(&self) -> bool {
        false
    }

    /// Sets the random seed.
    fn set_seed(&mut self, _seed: u64) {}

    /// Sets the starting points, if the solver uses any; they must have the parameters of the
    /// problem to solve.
    fn set_starts(&mut self, _starts: Points) {}

    /// Whether the solver uses starting points and does not have any yet.
    fn takes_starts(&self) -> bool {
        false
    }

    /// Approximate number of parameter vectors that the solver keeps per point of its front.
    fn vectors_per_point(&self) -> usize {
        2
    }

    /// Computes a front.
    fn solve(&self, problem: &dyn Problem, observer: &mut dyn Observer) -> Result<Outcome, Error>;

    /// Resumes from a checkpoint of the same solver, with the same settings, on the same problem.
    /// The outcome equals that of an uninterrupted [`Solver::solve`]. Starting points need not be
    /// set.
    fn resume(
        &self,
        problem: &dyn Problem,
        checkpoint: &Checkpoint,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error>;

    /// Updates a front after the rows have changed, as in a stream. The points of `current`, with
    /// the unmitigated model first, are evaluated on the problem, and the solver starts from a
    /// well-spread selection of them instead of from scratch. If the problem has new parameters,
    /// the points must have zeros for these.
    ///
    /// [`Outcome::candidates`] are all points of `current` with finite values (finite parameters if
    /// a curve is followed exactly), then the points that were found. [`Outcome::front`] holds
    /// those that no other point dominates, at most [`Settings::points`] of them, well spread. The
    /// exact front of [`Trace`] contains only exact points, unless the observer stopped it. `round`
    /// is the number of the batch; everything random depends on it and on the seed.
    fn update(
        &self,
        problem: &dyn Problem,
        current: &Points,
        round: u64,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error>;
}

/// How well a solver suits a problem, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suits {
    /// The solver of choice.
    Best(Why),
    /// The solver can solve the problem, but another solver is a better choice.
    Possible(Why),
    /// The solver cannot solve the problem.
    Impossible(Why),
}

/// Why a solver suits a problem or does not. Objectives are numbered from 0 here and from 1 in
/// messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The solver takes any objectives.
    AnyObjectives,
    /// All objectives are convex and smooth.
    Convex,
    /// All objectives after the loss are made of covariances.
    Covariances,
    /// Some objectives are made of rates or group losses.
    Rates,
    /// These objectives are not convex, so solutions may be local.
    NotConvex(Vec<usize>),
    /// This objective is not made of covariances.
    NoCovariances(usize),
    /// The problem has too many objectives: this many.
    TooManyObjectives(usize),
    /// The problem has too many parameters for dense matrices: this many.
    TooManyParameters(usize),
    /// The loss has no second derivatives.
    NoSecondDerivatives,
    /// The predictor is not linear, so that the loss may have several minima.
    SeveralMinima,
}

impl Display for Why {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AnyObjectives => write!(f, "it takes any objectives"),
            Self::Convex => write!(f, "all objectives are convex and smooth"),
            Self::Covariances => write!(f, "all objectives are made of covariances"),
            Self::Rates => write!(f, "some objectives are made of rates or group losses"),
            Self::NotConvex(objectives) => {
                let first = objectives.first().map_or(0, |i| i + 1);
                write!(f, "objective {first} is not convex")
            }
            Self::NoCovariances(i) => write!(f, "objective {} is not made of covariances", i + 1),
            Self::TooManyObjectives(m) => {
                write!(f, "{m} objectives are too many to follow their front")
            }
            Self::TooManyParameters(n) => write!(
                f,
                "the problem has {n} parameters, more than the {} that dense matrices allow",
                grouped(MOST_DENSE)
            ),
            Self::NoSecondDerivatives => write!(f, "the loss has no second derivatives"),
            Self::SeveralMinima => write!(
                f,
                "the models are not linear, so that the loss may have several minima"
            ),
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
    /// Returns an error if the solver cannot solve the problem.
    pub fn ensure(self, solver: &str) -> Result<(), Error> {
        match self {
            Self::Best(_) | Self::Possible(_) => Ok(()),
            Self::Impossible(why) => Err(Error::Problem(format!("{solver}: {why}; use pf-smg"))),
        }
    }
}

/// Any of the solvers, chosen at run time. In JSON, `"solver"` is its name and `"solver_settings"`
/// its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "solver", content = "solver_settings", rename_all = "kebab-case")]
pub enum AnySolver {
    /// The exact front, followed with second derivatives.
    Trace(Trace),
    /// Weighted sums with a falling temperature.
    Weighted(Weighted),
    /// Stochastic multi-gradient steps.
    PfSmg(PfSmg),
    /// The loss under bounds on the covariances.
    EpsFair(EpsFair),
}

impl AnySolver {
    /// All solvers with their default settings, in the order in which the automatic choice tries
    /// them.
    pub fn all() -> [Self; 4] {
        [
            Self::Trace(Trace::default()),
            Self::Weighted(Weighted::default()),
            Self::PfSmg(PfSmg::default()),
            Self::EpsFair(EpsFair::default()),
        ]
    }

    /// The solver with this name and default settings.
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
