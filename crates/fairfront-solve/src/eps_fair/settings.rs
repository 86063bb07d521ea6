use std::ops::Bound::{Excluded, Included, Unbounded};

use serde::{Deserialize, Serialize};

use crate::setting::{Declared, Declares, Kind, field};

/// EPS-fair, the baseline: the loss is minimised with every covariance bounded by ε, once for each
/// of many ε. [`EpsFair::default`] are our settings, [`EpsFair::paper`] those of the paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpsFair {
    /// Values of ε, evenly spaced from 0 to that of the unmitigated model, both included. With
    /// several fairness objectives a grid of at most this many combinations.
    pub points: usize,
    /// A subproblem is solved when the loss could be lower by at most this share of the loss at x = 0,
    /// to second order.
    pub tolerance: f64,
    /// By how much a bound may be exceeded, as a share of the unmitigated model's covariance.
    pub feasibility: f64,
    /// Evaluations of a subproblem, at most: gradients by finite differences count as one.
    pub most_evaluations: usize,
    /// Whether every subproblem starts from a random point instead of the neighbouring solution.
    pub cold: bool,
    /// Half width of the box that random starts are drawn from.
    pub start_radius: f64,
    /// Whether gradients are forward differences instead of exact.
    pub finite_differences: bool,
    /// Whether steps use second derivatives of the loss: everywhere, if the covariances are affine and
    /// gradients are exact. Otherwise those at the unmitigated model are the first guess at the
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
    /// The paper's way with this many ε: random starts, finite differences, no preconditioner. It does not
    /// say its tolerances; these are the defaults of the solver it used.
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
        "points",
        Kind::Count(2, 10_000_000),
        "bounds",
        field!(Count, points),
    );

    const SETTINGS: &'static [Declared<Self>] = &[
        Declared::new(
            "tolerance",
            Kind::Number(Excluded(0.0), Included(1.0)),
            "most that the loss could still fall, as a share of the loss at 0",
            field!(Number, tolerance),
        ),
        Declared::new(
            "feasibility",
            Kind::Number(Excluded(0.0), Included(1.0)),
            "how far a bound may be exceeded, as a share of the unmitigated covariance",
            field!(Number, feasibility),
        ),
        Declared::new(
            "max-evaluations",
            Kind::Count(1, 1_000_000_000),
            "evaluations of a subproblem, at most",
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
            "half width of the box that random starts are drawn from",
            field!(Number, start_radius),
        ),
        Declared::new(
            "finite-differences",
            Kind::Flag,
            "forward differences instead of exact gradients",
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
