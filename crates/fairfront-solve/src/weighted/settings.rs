use std::ops::Bound::{Excluded, Included};

use fairfront_core::Points;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::setting::{Declared, Declares, Kind, field, wrong};

/// Weighted sums of the objectives, many at once, followed while their temperature falls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// Points of the front at most.
    pub points: usize,
    /// How many sums, each with weights of its own.
    pub sums: usize,
    /// Stages in which the temperature of smooth objectives falls; one where they have none.
    pub stages: usize,
    /// How much higher the temperature is in the first stage than in the last.
    pub softening: f64,
    /// Steps of a sum in a stage at most.
    pub most_steps: usize,
    /// A sum is done when a step lowers it by less than this share of it.
    pub tolerance: f64,
    /// Where to start from; each sum takes the best for it. Without any, from the problem's own start.
    #[serde(skip)]
    pub starts: Option<Points>,
}

impl Default for Weighted {
    fn default() -> Self {
        Self {
            points: 200,
            sums: 64,
            stages: 2,
            softening: 3.0,
            most_steps: 30,
            tolerance: 1e-6,
            starts: None,
        }
    }
}

impl Declares for Weighted {
    const POINTS: Declared<Self> = Declared::new(
        "points",
        Kind::Count(1, 1_000_000),
        "models of the front, at most",
        field!(Count, points),
    );

    const SETTINGS: &'static [Declared<Self>] = &[
        Declared::new(
            "sums",
            Kind::Count(1, 1_000_000),
            "how many sums, each with weights of its own",
            field!(Count, sums),
        ),
        Declared::new(
            "stages",
            Kind::Count(1, 100),
            "stages in which the temperature falls",
            field!(Count, stages),
        ),
        Declared::new(
            "softening",
            Kind::Number(Included(1.0), Included(1e6)),
            "how much higher the temperature is in the first stage",
            field!(Number, softening),
        ),
        Declared::new(
            "max-steps",
            Kind::Count(1, 1_000_000),
            "steps of a sum in a stage, at most",
            field!(Count, most_steps),
        ),
        Declared::new(
            "tolerance",
            Kind::Number(Included(0.0), Excluded(1.0)),
            "a sum is done when a step lowers it by less than this share",
            field!(Number, tolerance),
        ),
    ];

    fn check_together(&self, n_params: usize) -> Result<(), Error> {
        match &self.starts {
            Some(starts) if starts.is_empty() || starts.n_params() != n_params => {
                let found = format!("{} of {} parameters", starts.len(), starts.n_params());
                wrong(
                    "starts",
                    found,
                    "points with the problem's parameters".into(),
                )
            }
            Some(starts) if starts.as_slice().iter().any(|v| !v.is_finite()) => {
                wrong("starts", "not finite".into(), "finite".into())
            }
            _ => Ok(()),
        }
    }
}

impl Weighted {
    /// By what the temperature is multiplied in each stage: 1 in the last.
    pub(super) fn factors(&self) -> Vec<f64> {
        let last = self.stages - 1;
        let factor = |stage: usize| match last {
            0 => 1.0,
            _ => libm::pow(self.softening, (last - stage) as f64 / last as f64),
        };
        (0..self.stages).map(factor).collect()
    }
}
