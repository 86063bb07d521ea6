use serde::{Deserialize, Serialize};

use crate::Error;
use crate::setting::{parse, unknown, wrong};

/// Follows the exact front with second derivatives: a curve for two objectives, a surface for more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Points of the front.
    pub points: usize,
    /// What a point's loss may be above the front, as a share of the loss at x = 0.
    pub tolerance: f64,
    /// With three objectives and more: the longest distance between neighbours, as a share of the
    /// objectives' ranges.
    pub hole: f64,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            points: 1_000,
            tolerance: 4e-10,
            hole: 0.05,
        }
    }
}

impl Trace {
    /// Names that [`Trace::set`] takes, with what they mean.
    pub const NAMES: [(&'static str, &'static str); 2] = [
        (
            "tolerance",
            "what a loss may be above the front, as a share of the loss at 0",
        ),
        (
            "hole",
            "three objectives: largest distance of neighbours, as a share of the ranges",
        ),
    ];

    /// Sets one setting by its name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let number = || parse::<f64>(value, "a number");
        match name {
            "tolerance" => self.tolerance = number()?,
            "hole" => self.hole = number()?,
            _ => return unknown(name),
        }
        Ok(())
    }

    /// Says what cannot be right.
    pub fn check(&self) -> Result<(), Error> {
        if self.points < 2 {
            return wrong("points", self.points.to_string(), "at least 2");
        }
        if self.points > 10_000_000 {
            let rule = "a smaller number: it would take too long";
            return wrong("points", self.points.to_string(), rule);
        }
        if !(self.tolerance >= 1e-14 && self.tolerance <= 1e-2) {
            let rule = "at least 1e-14 and at most 0.01";
            return wrong("tolerance", self.tolerance.to_string(), rule);
        }
        if !(self.hole >= 1e-4 && self.hole <= 1.0) {
            let rule = "at least 0.0001 and at most 1";
            return wrong("hole", self.hole.to_string(), rule);
        }
        Ok(())
    }
}
