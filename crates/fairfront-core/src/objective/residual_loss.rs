use super::{Means, Objective, Output, Residual};
use crate::Error;
use crate::engine::{Cells, Statistics};
use crate::measure::Measure;

/// E[s(φ − y)] + (λ/2)‖c‖² for a predicted number, where s is a square (`squared_error`), a smooth
/// absolute value (`absolute_error`) or a smooth pinball loss (`quantile_loss`). Labels are
/// standardized, so that the squared error of the mean is 1.
#[derive(Debug, Clone, Copy)]
pub struct ResidualLoss {
    /// s.
    pub of: Residual,
    /// λ; 1e-4 by default.
    pub lambda: f64,
}

impl ResidualLoss {
    /// The default width of the smooth corner of absolute errors, in standard deviations of the target.
    pub const MU: f64 = 0.05;

    /// A loss with the default λ.
    pub fn new(of: Residual) -> Self {
        Self { of, lambda: 1e-4 }
    }
}

/// The setting of a definition that names a loss.
pub(super) fn residual_setting(of: Residual) -> String {
    match of {
        Residual::Plain => "loss=residual".into(),
        Residual::Squared => "loss=squared".into(),
        Residual::Absolute { mu } => format!("loss=absolute, mu={mu}"),
        Residual::Quantile { q, mu } => format!("loss=quantile, q={q}, mu={mu}"),
    }
}

impl Objective for ResidualLoss {
    fn name(&self) -> String {
        match self.of {
            Residual::Plain => "mean_residual".into(),
            Residual::Squared => "squared_error".into(),
            Residual::Absolute { .. } => "absolute_error".into(),
            Residual::Quantile { q, .. } => format!("quantile_loss(q={q})"),
        }
    }

    fn definition(&self) -> String {
        let lambda = self.lambda;
        match self.of {
            Residual::Plain | Residual::Squared => format!("{}(lambda={lambda})", self.name()),
            Residual::Absolute { mu } => format!("absolute_error(mu={mu}, lambda={lambda})"),
            Residual::Quantile { q, mu } => {
                format!("quantile_loss(q={q}, mu={mu}, lambda={lambda})")
            }
        }
    }

    fn statistics(&self) -> Statistics<'_> {
        Statistics::ByCell {
            output: Output::Residual(self.of),
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
        match self.of {
            Residual::Squared => Some(Measure::Rmse),
            Residual::Absolute { .. } => Some(Measure::Mae),
            Residual::Plain | Residual::Quantile { .. } => None,
        }
    }

    fn convex_below(&self) -> Option<f64> {
        Some(f64::INFINITY)
    }
}
