use fairfront_core::Problem;
use serde::{Deserialize, Serialize};

use crate::{EpsFair, Error, Observer, Outcome, PfSmg, Trace};

/// A solver with its settings. As JSON: `"method"` and `"settings"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one in a run; a box would only be in the way"
)]
#[serde(tag = "method", content = "settings", rename_all = "kebab-case")]
pub enum Method {
    /// Stochastic multi-gradient runs.
    PfSmg(PfSmg),
    /// The loss under bounds on the covariances.
    EpsFair(EpsFair),
    /// The exact front, followed with second derivatives.
    Trace(Trace),
}

impl Method {
    /// `pf-smg`, `eps-fair` or `trace`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PfSmg(_) => "pf-smg",
            Self::EpsFair(_) => "eps-fair",
            Self::Trace(_) => "trace",
        }
    }

    /// Whether the solver suits a problem, and why or why not.
    pub fn suits(&self, problem: &dyn Problem) -> Result<String, String> {
        match self {
            Self::Trace(settings) => settings.suits(problem),
            Self::PfSmg(_) | Self::EpsFair(_) => Ok("it takes any objectives".into()),
        }
    }

    /// Names that [`Method::set`] takes, with what they mean.
    pub fn names(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::PfSmg(_) => &PfSmg::NAMES,
            Self::EpsFair(_) => &EpsFair::NAMES,
            Self::Trace(_) => &Trace::NAMES,
        }
    }

    /// Sets one setting by its name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        match self {
            Self::PfSmg(settings) => settings.set(name, value),
            Self::EpsFair(settings) => settings.set(name, value),
            Self::Trace(settings) => settings.set(name, value),
        }
    }

    /// Sets how many points are asked for.
    pub fn set_points(&mut self, points: usize) {
        match self {
            Self::PfSmg(settings) => settings.most_points = points,
            Self::EpsFair(settings) => settings.points = points,
            Self::Trace(settings) => settings.points = points,
        }
    }

    /// Sets the seed of everything random.
    pub fn set_seed(&mut self, seed: u64) {
        match self {
            Self::PfSmg(settings) => settings.seed = seed,
            Self::EpsFair(settings) => settings.seed = seed,
            Self::Trace(_) => {}
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
        }
    }
}
