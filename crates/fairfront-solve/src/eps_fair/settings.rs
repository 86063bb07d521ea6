use std::ops::Bound::{Excluded, Included, Unbounded};

use serde::{Deserialize, Serialize};

use crate::setting::{Declared, Declares, Kind, field};

/// EPS-fair, the baseline: minimizes the loss with every covariance bounded by ε, once for each of
/// many ε. [`EpsFair::default`] has the settings of fairfront, [`EpsFair::paper`] those of the
/// paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpsFair {
    /// Number of values of ε, evenly spaced from 0 to that of the unmitigated model, both included.
    /// With several fairness objectives, a grid of at most this many combinations.
    #[serde(rename = "models")]
    pub points: usize,
    /// A subproblem is solved when, to second order, the loss could fall by at most this share of
    /// the loss at x = 0.
    pub tolerance: f64,
    /// The amount by which a bound may be exceeded, as a share of the unmitigated model's
    /// covariance.
    pub feasibility: f64,
    /// Maximum number of evaluations per subproblem; a gradient by finite differences counts as
    /// one.
    pub most_evaluations: usize,
    /// Whether every subproblem starts from a random point instead of the neighboring solution.
    pub cold: bool,
    /// Half width of the box that contains the random starts.
    pub start_radius: f64,
    /// Whether gradients are forward differences instead of exact.
    pub finite_differences: bool,
    /// Whether steps use second derivatives of the loss: at every point if the covariances are
    /// affine and gradients are exact. Otherwise those at the unmitigated model are the initial
    /// curvature.
    pub preconditioner: bool,
    /// Seed of the random starts.
    pub seed: u64,
}

impl Default for EpsFair {
    fn default() -> Self {
        Self {
            points: 100,
            tolerance: 1e-10,
            feasibility: 1e-8,
            most_evaluations: 1_000,
            cold: false,
            start_radius: 5.0,
            finite_differences: false,
            preconditioner: true,
            seed: 0,
        }
    }
}

impl EpsFair {
    /// The settings of the paper with this many ε: random starts, finite differences, no
    /// preconditioner. The paper does not state its tolerances; these are the defaults of the
    /// solver it used.
    pub fn paper(points: usize) -> Self {
        Self {
            points,
            tolerance: 1e-6,
            feasibility: 1e-6,
            cold: true,
            finite_differences: true,
            preconditioner: false,
            ..Self::default()
        }
    }
}

impl Declares for EpsFair {
    const POINTS: Declared<Self> = Declared::new(
        "models",
        Kind::Count(2, 10_000_000),
        "number of bounds",
        field!(Count, points),
    );

    const SETTINGS: &'static [Declared<Self>] = &[
        Declared::new(
            "tolerance",
            Kind::Number(Excluded(0.0), Included(1.0)),
            "largest possible further decrease of the loss, as a share of the loss at 0",
            field!(Number, tolerance),
        ),
        Declared::new(
            "feasibility",
            Kind::Number(Excluded(0.0), Included(1.0)),
            "largest excess over a bound, as a share of the unmitigated covariance",
            field!(Number, feasibility),
        ),
        Declared::new(
            "max-evaluations",
            Kind::Count(1, 1_000_000_000),
            "maximum number of evaluations per subproblem",
            field!(Count, most_evaluations),
        ),
        Declared::new(
            "cold",
            Kind::Flag,
            "start each subproblem from a random point",
            field!(Flag, cold),
        ),
        Declared::new(
            "start-radius",
            Kind::Number(Included(0.0), Unbounded),
            "half-width of the box from which random starts are drawn",
            field!(Number, start_radius),
        ),
        Declared::new(
            "finite-differences",
            Kind::Flag,
            "use forward differences instead of exact gradients",
            field!(Flag, finite_differences),
        ),
        Declared::new(
            "preconditioner",
            Kind::Flag,
            "use second derivatives of the loss",
            field!(Flag, preconditioner),
        ),
    ];
}
