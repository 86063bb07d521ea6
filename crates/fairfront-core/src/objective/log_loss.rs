use super::{Means, Objective, Output};
use crate::Error;
use crate::engine::{Cells, Statistics};
use crate::measure::Measure;

/// E[log(1 + exp(−yφ))] + (λ/2)‖c‖².
#[derive(Debug, Clone, Copy)]
pub struct LogLoss {
    /// λ; 1e-4 by default. Without it, a category with a single row can take a coefficient of any
    /// size.
    pub lambda: f64,
}

impl Default for LogLoss {
    fn default() -> Self {
        Self { lambda: 1e-4 }
    }
}

impl Objective for LogLoss {
    fn name(&self) -> String {
        "log_loss".into()
    }

    fn definition(&self) -> String {
        format!("log_loss(lambda={})", self.lambda)
    }

    fn statistics(&self) -> Statistics<'_> {
        Statistics::ByCell {
            output: Output::Loss,
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
