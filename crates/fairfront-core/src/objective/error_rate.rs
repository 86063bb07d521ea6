use super::{LogLoss, Objective, Output};
use crate::lanes::{LANES, Lanes, vectorised};
use crate::measure::Measure;
use crate::predictor::Rows;

/// E[σ(−yφ/τ)] + (λ/2)‖c‖²: the share of wrong decisions, made smooth.
///
/// The penalty matters: without it, errors and rates become sharp or blurred by scaling x, which
/// changes no decision.
#[derive(Debug, Clone, Copy)]
pub struct ErrorRate {
    /// τ; [`ErrorRate::TAU`] by default.
    pub tau: f64,
    /// λ; 1e-5 by default.
    pub lambda: f64,
}

impl ErrorRate {
    /// The temperature of smooth decisions by default, in units of the score. In a logistic model it
    /// blurs decisions at odds between 10 : 11 and 11 : 10.
    pub const TAU: f64 = 0.1;

    /// λ for a temperature τ and the penalty of a log loss on the same rows: the latter over 10τ², which is
    /// 10 times that penalty by default.
    ///
    /// With x = τx′ the smooth error rate is E[σ(−yφ′)] with the penalty λτ² on c′: the same function at
    /// every temperature. At small scores it falls half as fast as the log loss, so that half of the
    /// penalty would shrink both equally. A tenth keeps decisions sharper (docs/method.md).
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
        }
    }
}

impl Objective for ErrorRate {
    fn name(&self) -> String {
        "error_rate".into()
    }

    fn definition(&self) -> String {
        format!("error_rate(tau={}, lambda={})", self.tau, self.lambda)
    }

    fn output(&self) -> Output {
        Output::Decision { tau: self.tau }
    }

    fn n_means(&self) -> usize {
        1
    }

    fn weight(&self, rows: &Rows) -> f64 {
        rows.weights().iter().sum()
    }

    fn add_sums(&self, rows: &Rows, outputs: &[Lanes], sums: &mut [Lanes]) {
        add_errors(rows.labels(), rows.weights(), outputs, &mut sums[0]);
    }

    fn outer(&self, means: &[f64], slope: &mut [f64]) -> f64 {
        slope[0] = 1.0;
        means[0]
    }

    fn pull_back(&self, rows: &Rows, _outputs: &[Lanes], slopes: &[Lanes], out: &mut [Lanes]) {
        add_slopes(rows.labels(), rows.weights(), &slopes[0], out);
    }

    fn penalty(&self) -> f64 {
        self.lambda
    }

    fn is_mean(&self) -> bool {
        true
    }

    fn softened(&self, factor: f64) -> Option<Box<dyn Objective>> {
        let tau = self.tau * factor;
        Some(Box::new(Self { tau, ..*self }))
    }

    fn stand_in(&self) -> Option<Box<dyn Objective>> {
        Some(Box::new(LogLoss::default()))
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::ErrorRate)
    }
}

vectorised! {
    fn add_errors(labels: &[f64], weights: &[f64], decisions: &[Lanes], sum: &mut Lanes) {
        let mut total = *sum;
        for ((y, w), decision) in labels.iter().zip(weights).zip(decisions) {
            let (right, sign) = if *y > 0.0 { (*w, -w) } else { (0.0, *w) };
            for p in 0..LANES {
                total[p] += right + sign * decision[p];
            }
        }
        *sum = total;
    }
}

vectorised! {
    fn add_slopes(labels: &[f64], weights: &[f64], slope: &Lanes, out: &mut [Lanes]) {
        for ((y, w), out) in labels.iter().zip(weights).zip(out) {
            let sign = -(w * y);
            for p in 0..LANES {
                out[p] += sign * slope[p];
            }
        }
    }
}
