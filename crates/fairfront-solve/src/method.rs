use fairfront_core::{Points, Problem};
use serde::{Deserialize, Serialize};

use crate::{Checkpoint, EpsFair, Error, Observer, Outcome, PfSmg, Trace, Weighted};

/// A solver with its settings. As JSON: `"method"` and `"settings"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", content = "settings", rename_all = "kebab-case")]
pub enum Method {
    /// Stochastic multi-gradient runs.
    PfSmg(PfSmg),
    /// The loss under bounds on the covariances.
    EpsFair(EpsFair),
    /// The exact front, followed with second derivatives.
    Trace(Trace),
    /// Weighted sums, while their temperature falls.
    Weighted(Weighted),
}

impl Method {
    /// `pf-smg`, `eps-fair`, `trace` or `weighted`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PfSmg(_) => "pf-smg",
            Self::EpsFair(_) => "eps-fair",
            Self::Trace(_) => "trace",
            Self::Weighted(_) => "weighted",
        }
    }

    /// Whether the solver suits a problem, and why or why not.
    pub fn suits(&self, problem: &dyn Problem) -> Result<String, String> {
        match self {
            Self::Trace(settings) => settings.suits(problem),
            Self::Weighted(settings) => settings.suits(problem),
            Self::PfSmg(_) | Self::EpsFair(_) => Ok("it takes any objectives".into()),
        }
    }

    /// Names that [`Method::set`] takes, with what they mean.
    pub fn names(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::PfSmg(_) => &PfSmg::NAMES,
            Self::EpsFair(_) => &EpsFair::NAMES,
            Self::Trace(_) => &Trace::NAMES,
            Self::Weighted(_) => &Weighted::NAMES,
        }
    }

    /// Sets one setting by its name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        match self {
            Self::PfSmg(settings) => settings.set(name, value),
            Self::EpsFair(settings) => settings.set(name, value),
            Self::Trace(settings) => settings.set(name, value),
            Self::Weighted(settings) => settings.set(name, value),
        }
    }

    /// Says what cannot be right about the settings, for problems with so many parameters.
    pub fn check(&self, n_params: usize) -> Result<(), Error> {
        match self {
            Self::PfSmg(settings) => settings.check(n_params),
            Self::EpsFair(settings) => settings.check(),
            Self::Trace(settings) => settings.check(),
            Self::Weighted(settings) => settings.check(n_params),
        }
    }

    /// Sets how many points are asked for.
    pub fn set_points(&mut self, points: usize) {
        match self {
            Self::PfSmg(settings) => settings.most_points = points,
            Self::EpsFair(settings) => settings.points = points,
            Self::Trace(settings) => settings.points = points,
            Self::Weighted(settings) => settings.points = points,
        }
    }

    /// How many points are asked for.
    pub fn points(&self) -> usize {
        match self {
            Self::PfSmg(settings) => settings.most_points,
            Self::EpsFair(settings) => settings.points,
            Self::Trace(settings) => settings.points,
            Self::Weighted(settings) => settings.points,
        }
    }

    /// Sets the seed of everything random.
    pub fn set_seed(&mut self, seed: u64) {
        match self {
            Self::PfSmg(settings) => settings.seed = seed,
            Self::EpsFair(settings) => settings.seed = seed,
            Self::Trace(_) | Self::Weighted(_) => {}
        }
    }

    /// Sets the points to start from, for a solver that has any use for them; they must be those of
    /// the problem to be solved.
    pub fn set_starts(&mut self, starts: Points) {
        match self {
            Self::PfSmg(settings) => settings.starts = Some(starts),
            Self::Weighted(settings) => settings.starts = Some(starts),
            Self::EpsFair(_) | Self::Trace(_) => {}
        }
    }

    /// Whether the solver can start from given points.
    pub fn takes_starts(&self) -> bool {
        match self {
            Self::PfSmg(settings) => settings.starts.is_none() && settings.anchors,
            Self::Weighted(settings) => settings.starts.is_none(),
            Self::EpsFair(_) | Self::Trace(_) => false,
        }
    }

    /// Computes a front.
    pub fn solve(
        &self,
        problem: &dyn Problem,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        match self {
            Self::PfSmg(settings) => settings.solve(problem, observer),
            Self::EpsFair(settings) => settings.solve(problem, observer),
            Self::Trace(settings) => settings.solve(problem, observer),
            Self::Weighted(settings) => settings.solve(problem, observer),
        }
    }

    /// Goes on from a checkpoint of the same solver, with the same settings, on the same problem: the
    /// outcome is that of [`Method::solve`] without a break. Points to start from need not be set.
    ///
    /// [`Trace`] is quick: its checkpoint says that it begins, and it begins again.
    pub fn resume(
        &self,
        problem: &dyn Problem,
        checkpoint: &Checkpoint,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        match self {
            Self::PfSmg(settings) => settings.resume(problem, checkpoint, observer),
            Self::EpsFair(settings) => settings.resume(problem, checkpoint, observer),
            Self::Trace(settings) => settings.resume(problem, checkpoint, observer),
            Self::Weighted(settings) => settings.resume(problem, checkpoint, observer),
        }
    }
}
