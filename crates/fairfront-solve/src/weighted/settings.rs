use std::ops::Bound::{Excluded, Included};

use fairfront_core::Points;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::setting::{Declared, Declares, Kind, field, wrong};

/// Weighted sums of the objectives, many at once, with a falling temperature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// Maximum number of points on the front.
    #[serde(rename = "models")]
    pub points: usize,
    /// Number of sums, each with its own weights.
    pub sums: usize,
    /// Number of stages in which the temperature of smooth objectives falls; one if they have none.
    pub stages: usize,
    /// How much higher the temperature is in the first stage than in the last, as a factor.
    pub softening: f64,
    /// Maximum number of steps per sum and stage.
    pub most_steps: usize,
    /// A sum is done when a step lowers it by less than this share.
    pub tolerance: f64,
    /// Starting points; each sum takes the best one for it. Without any, the problem's own start.
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
        "models",
        Kind::Count(1, 1_000_000),
        "maximum number of models on the front",
        field!(Count, points),
    );

    const SETTINGS: &'static [Declared<Self>] = &[
        Declared::new(
            "sums",
            Kind::Count(1, 1_000_000),
            "number of sums, each with its own weights",
            field!(Count, sums),
        ),
        Declared::new(
            "stages",
            Kind::Count(1, 100),
            "number of stages in which the temperature falls",
            field!(Count, stages),
        ),
        Declared::new(
            "softening",
            Kind::Number(Included(1.0), Included(1e6)),
            "factor by which the temperature is higher in the first stage",
            field!(Number, softening),
        ),
        Declared::new(
            "max-steps",
            Kind::Count(1, 1_000_000),
            "maximum number of steps per sum and stage",
            field!(Count, most_steps),
        ),
        Declared::new(
            "tolerance",
            Kind::Number(Included(0.0), Excluded(1.0)),
            "stop a sum when a step lowers it by less than this share",
            field!(Number, tolerance),
        ),
    ];

    fn check_together(&self, n_params: usize) -> Result<(), Error> {
        match &self.starts {
            Some(starts) if starts.is_empty() || starts.n_params() != n_params => {
                let found = format!(
                    "{} points with {} parameters",
                    starts.len(),
                    starts.n_params()
                );
                wrong(
                    "starts",
                    found,
                    "one or more points with the problem's parameters".into(),
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
    /// The factors on the temperature, one per stage; 1 in the last.
    pub(super) fn factors(&self) -> Vec<f64> {
        let last = self.stages - 1;
        let factor = |stage: usize| match last {
            0 => 1.0,
            _ => libm::pow(self.softening, (last - stage) as f64 / last as f64),
        };
        (0..self.stages).map(factor).collect()
    }
}
