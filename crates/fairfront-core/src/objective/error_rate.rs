use super::{LogLoss, Means, Objective, Output, StandIn, Temperature};
use crate::Error;
use crate::engine::{Cells, Labels, Statistics};
use crate::measure::{Costs, Measure};

/// E[cost · σ(−yφ/τ)] + (λ/2)‖c‖²: a smooth version of the mean cost of wrong decisions, or of
/// their share if both costs are 1.
///
/// The penalty matters: without it, scaling x would sharpen or blur errors and rates without
/// changing any decision.
#[derive(Debug, Clone, Copy)]
pub struct ErrorRate {
    /// τ; [`ErrorRate::TAU`] by default.
    pub tau: f64,
    /// λ; 1e-5 by default.
    pub lambda: f64,
    /// The cost of each wrong decision; 1 by default.
    pub costs: Costs,
}

impl ErrorRate {
    /// The default temperature of smooth decisions, in units of the score. In a logistic model, it
    /// blurs decisions at odds between 10:11 and 11:10.
    pub const TAU: f64 = 0.1;

    /// λ for a temperature τ and the penalty of a log loss on the same rows: that penalty divided
    /// by 10τ², which is 10 times the penalty at the default temperature.
    ///
    /// With x = τx′ the smooth error rate is E[σ(−yφ′)] with the penalty λτ² on c′: the same function at
    /// every temperature. At small scores it falls half as fast as the log loss, so that half of the
    /// penalty would shrink both equally. A tenth keeps decisions sharper (docs/explanation/method.md).
    #[must_use]
    pub fn penalty_like(tau: f64, log_loss: f64) -> f64 {
        let sharpness = 1.0 / tau;
        log_loss * (sharpness * sharpness / 10.0)
    }
}

impl Default for ErrorRate {
    fn default() -> Self {
        Self {
            tau: Self::TAU,
            lambda: 1e-5,
            costs: Costs::EQUAL,
        }
    }
}

impl Objective for ErrorRate {
    fn name(&self) -> String {
        self.costs.name()
    }

    fn definition(&self) -> String {
        let Self { tau, lambda, costs } = self;
        if *costs == Costs::EQUAL {
            return format!("error_rate(tau={tau}, lambda={lambda})");
        }
        let [fp, fnc] = [costs.false_positive, costs.false_negative];
        format!("error_rate(fp={fp}, fn={fnc}, tau={tau}, lambda={lambda})")
    }

    fn statistics(&self) -> Statistics<'_> {
        Statistics::ByCell {
            output: Output::Decision { tau: self.tau },
            cells: Cells {
                attribute: None,
                labels: Labels::Apart,
            },
        }
    }

    /// Counts rows labeled positive that are not selected, and rows labeled negative that are.
    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        let Costs {
            false_positive,
            false_negative,
        } = self.costs;
        slope[0] = -false_negative;
        slope[1] = false_positive;
        let missed = means.share(0, Some(1.0)) - means.values[0];
        Ok(false_negative * missed + false_positive * means.values[1])
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
            objective: Box::new(LogLoss::default()),
            // Selecting a row with probability p costs less if p/(1 − p) ≥ fp/fn.
            shift: libm::log(self.costs.false_negative / self.costs.false_positive),
        })
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::ErrorRate(self.costs))
    }
}

impl Temperature for ErrorRate {
    fn softened(&self, factor: f64) -> Box<dyn Objective> {
        let tau = self.tau * factor;
        Box::new(Self { tau, ..*self })
    }
}
