use super::{ClassOutput, ErrorRate, Means, Objective, Output, StandIn, Temperature};
use crate::Error;
use crate::engine::{Cells, Statistics};
use crate::measure::{Costs, Measure};

/// `E[log Σ exp(φ_c) − φ_y] + (λ/2)‖w‖²`: the log loss of more than two classes.
#[derive(Debug, Clone, Copy)]
pub struct ClassLoss {
    /// λ; 1e-4 by default.
    pub lambda: f64,
}

impl Default for ClassLoss {
    fn default() -> Self {
        Self { lambda: 1e-4 }
    }
}

impl Objective for ClassLoss {
    fn name(&self) -> String {
        "log_loss".into()
    }

    fn definition(&self) -> String {
        format!("log_loss(lambda={})", self.lambda)
    }

    fn statistics(&self) -> Statistics<'_> {
        Statistics::ByCell {
            output: Output::Class(ClassOutput::Loss),
            cells: Cells::ALL,
        }
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        slope[0] = 1.0;
        Ok(means.values[0])
    }

    fn is_affine(&self) -> bool {
        true
    }

    fn penalty(&self) -> f64 {
        self.lambda
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::LogLoss)
    }

    fn convex_below(&self) -> Option<f64> {
        Some(f64::INFINITY)
    }
}

/// `1 − E[p_y] + (λ/2)‖w‖²` with smooth decisions p: the share of wrong decisions between more than two
/// classes.
#[derive(Debug, Clone, Copy)]
pub struct ClassError {
    /// τ; [`ErrorRate::TAU`] by default.
    pub tau: f64,
    /// λ; 1e-5 by default.
    pub lambda: f64,
}

impl Default for ClassError {
    fn default() -> Self {
        let ErrorRate { tau, lambda, .. } = ErrorRate::default();
        Self { tau, lambda }
    }
}

impl Objective for ClassError {
    fn name(&self) -> String {
        "error_rate".into()
    }

    fn definition(&self) -> String {
        format!("error_rate(tau={}, lambda={})", self.tau, self.lambda)
    }

    fn statistics(&self) -> Statistics<'_> {
        Statistics::ByCell {
            output: Output::Class(ClassOutput::Right { tau: self.tau }),
            cells: Cells::ALL,
        }
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        slope[0] = -1.0;
        Ok(1.0 - means.values[0])
    }

    fn is_affine(&self) -> bool {
        true
    }

    fn penalty(&self) -> f64 {
        self.lambda
    }

    fn temperature(&self) -> Option<&dyn Temperature> {
        Some(self)
    }

    fn stand_in(&self) -> Option<StandIn> {
        Some(StandIn {
            objective: Box::new(ClassLoss::default()),
            shift: 0.0,
        })
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::ErrorRate(Costs::EQUAL))
    }
}

impl Temperature for ClassError {
    fn softened(&self, factor: f64) -> Box<dyn Objective> {
        let tau = self.tau * factor;
        Box::new(Self { tau, ..*self })
    }
}
