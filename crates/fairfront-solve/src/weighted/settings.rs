use fairfront_core::Points;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::setting::{parse, unknown, wrong};

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

impl Weighted {
    /// Names that [`Weighted::set`] takes, with what they mean.
    pub const NAMES: [(&'static str, &'static str); 5] = [
        ("sums", "how many sums, each with weights of its own"),
        ("stages", "stages in which the temperature falls"),
        (
            "softening",
            "how much higher the temperature is in the first stage",
        ),
        ("max-steps", "steps of a sum in a stage at most"),
        (
            "tolerance",
            "a sum is done when a step lowers it by less than this share",
        ),
    ];

    /// Sets one setting by its name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let count = || parse::<usize>(value, "a whole number");
        let number = || parse::<f64>(value, "a number");
        match name {
            "sums" => self.sums = count()?,
            "stages" => self.stages = count()?,
            "softening" => self.softening = number()?,
            "max-steps" => self.most_steps = count()?,
            "tolerance" => self.tolerance = number()?,
            _ => return unknown(name),
        }
        Ok(())
    }

    /// Says what cannot be right.
    pub fn check(&self, n_params: usize) -> Result<(), Error> {
        for (setting, value, most) in [
            ("points", self.points, 1_000_000),
            ("sums", self.sums, 1_000_000),
            ("stages", self.stages, 100),
            ("max-steps", self.most_steps, 1_000_000),
        ] {
            if value == 0 || value > most {
                let rule = "at least 1, and no number that would take for ever";
                return wrong(setting, value.to_string(), rule);
            }
        }
        if !(self.softening >= 1.0 && self.softening <= 1e6) {
            let rule = "at least 1 and at most 1,000,000";
            return wrong("softening", self.softening.to_string(), rule);
        }
        if !(self.tolerance >= 0.0 && self.tolerance < 1.0) {
            let rule = "at least 0 and below 1";
            return wrong("tolerance", self.tolerance.to_string(), rule);
        }
        match &self.starts {
            Some(starts) if starts.is_empty() || starts.n_params() != n_params => {
                let found = format!("{} of {} parameters", starts.len(), starts.n_params());
                wrong("starts", found, "points with the problem's parameters")
            }
            _ => Ok(()),
        }
    }

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
