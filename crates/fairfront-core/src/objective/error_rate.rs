use super::{LogLoss, Objective, Output};
use crate::lanes::{LANES, Lanes, vectorised};
use crate::measure::{Costs, Measure};
use crate::predictor::Rows;

/// E[cost · σ(−yφ/τ)] + (λ/2)‖c‖²: the mean cost of wrong decisions, made smooth; their share if both
/// costs are 1.
///
/// The penalty matters: without it, errors and rates become sharp or blurred by scaling x, which
/// changes no decision.
#[derive(Debug, Clone, Copy)]
pub struct ErrorRate {
    /// τ; [`ErrorRate::TAU`] by default.
    pub tau: f64,
    /// λ; 1e-5 by default.
    pub lambda: f64,
    /// What each wrong decision counts; 1 by default.
    pub costs: Costs,
}

impl ErrorRate {
    /// The temperature of smooth decisions by default, in units of the score. In a logistic model it
    /// blurs decisions at odds between 10 : 11 and 11 : 10.
    pub const TAU: f64 = 0.1;
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
        add_errors(
            rows.labels(),
            rows.weights(),
            self.costs,
            outputs,
            &mut sums[0],
        );
    }

    fn outer(&self, means: &[f64], slope: &mut [f64]) -> f64 {
        slope[0] = 1.0;
        means[0]
    }

    fn pull_back(&self, rows: &Rows, _outputs: &[Lanes], slopes: &[Lanes], out: &mut [Lanes]) {
        add_slopes(rows.labels(), rows.weights(), self.costs, &slopes[0], out);
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

    fn start_shift(&self) -> f64 {
        // A row with the probability p costs less if it is selected where p/(1 − p) ≥ fp/fn.
        libm::log(self.costs.false_negative / self.costs.false_positive)
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::ErrorRate(self.costs))
    }
}

vectorised! {
    fn add_errors(
        labels: &[f64],
        weights: &[f64],
        costs: Costs,
        decisions: &[Lanes],
        sum: &mut Lanes,
    ) {
        let mut total = *sum;
        for ((y, w), decision) in labels.iter().zip(weights).zip(decisions) {
            let (missed, wrong) = (w * costs.false_negative, w * costs.false_positive);
            let (right, sign) = if *y > 0.0 { (missed, -missed) } else { (0.0, wrong) };
            for p in 0..LANES {
                total[p] += right + sign * decision[p];
            }
        }
        *sum = total;
    }
}

vectorised! {
    fn add_slopes(
        labels: &[f64],
        weights: &[f64],
        costs: Costs,
        slope: &Lanes,
        out: &mut [Lanes],
    ) {
        for ((y, w), out) in labels.iter().zip(weights).zip(out) {
            let cost = if *y > 0.0 { costs.false_negative } else { costs.false_positive };
            let sign = -(w * y) * cost;
            for p in 0..LANES {
                out[p] += sign * slope[p];
            }
        }
    }
}
