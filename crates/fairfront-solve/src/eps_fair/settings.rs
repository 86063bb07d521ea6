use serde::{Deserialize, Serialize};

use crate::Error;
use crate::setting::{parse, unknown, wrong};

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
    pub metric: bool,
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
            metric: true,
            seed: 0,
        }
    }
}

impl EpsFair {
    /// The paper's way with this many ε: random starts, finite differences, no metric. It does not
    /// say its tolerances; these are the defaults of the solver it used.
    pub fn paper(points: usize) -> Self {
        Self {
            points,
            tolerance: 1e-6,
            feasibility: 1e-6,
            cold: true,
            finite_differences: true,
            metric: false,
            ..Self::default()
        }
    }

    /// Names that [`EpsFair::set`] takes, with what they mean.
    pub const NAMES: [(&'static str, &'static str); 7] = [
        (
            "tolerance",
            "most that the loss could still fall, as a share of the loss at 0",
        ),
        (
            "feasibility",
            "what a bound may be exceeded by, as a share of the unmitigated covariance",
        ),
        ("max-evaluations", "evaluations of a subproblem, at most"),
        (
            "cold",
            "start each subproblem from a random point (true, false)",
        ),
        (
            "start-radius",
            "half width of the box random starts are drawn from",
        ),
        (
            "finite-differences",
            "forward differences instead of exact gradients (true, false)",
        ),
        ("metric", "use second derivatives of the loss (true, false)"),
    ];

    /// Sets one setting by its name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let number = || parse::<f64>(value, "a number");
        let flag = || parse::<bool>(value, "true or false");
        match name {
            "tolerance" => self.tolerance = number()?,
            "feasibility" => self.feasibility = number()?,
            "max-evaluations" => self.most_evaluations = parse(value, "a whole number")?,
            "cold" => self.cold = flag()?,
            "start-radius" => self.start_radius = number()?,
            "finite-differences" => self.finite_differences = flag()?,
            "metric" => self.metric = flag()?,
            _ => return unknown(name),
        }
        Ok(())
    }

    /// Says what cannot be right.
    pub fn check(&self) -> Result<(), Error> {
        // Bounds far beyond any use, so that a slip of the finger does not fill the memory.
        let counts = [
            ("points", self.points, 2, 10_000_000),
            ("max-evaluations", self.most_evaluations, 1, 1_000_000_000),
        ];
        for (setting, value, least, most) in counts {
            if value < least {
                let rule = if least == 2 {
                    "at least 2"
                } else {
                    "at least 1"
                };
                return wrong(setting, value.to_string(), rule);
            }
            if value > most {
                let rule = "a smaller number: it would take too long";
                return wrong(setting, value.to_string(), rule);
            }
        }
        for (setting, value) in [
            ("tolerance", self.tolerance),
            ("feasibility", self.feasibility),
        ] {
            if !(value > 0.0 && value <= 1.0) {
                return wrong(setting, value.to_string(), "above 0 and at most 1");
            }
        }
        if !(self.start_radius.is_finite() && self.start_radius >= 0.0) {
            let rule = "a number that is not negative";
            return wrong("start-radius", self.start_radius.to_string(), rule);
        }
        Ok(())
    }
}
