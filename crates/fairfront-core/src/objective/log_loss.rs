use super::Objective;
use crate::lanes::{
    LANES, Lanes, ZERO, exp_minus, log_one_plus, sigmoid_minus, softplus_minus, vectorised,
};
use crate::measure::Measure;
use crate::predictor::{Rows, TILE_ROWS};

/// E[log(1 + exp(−yφ))] + (λ/2)‖c‖².
#[derive(Debug, Clone, Copy)]
pub struct LogLoss {
    /// λ; 1e-4 by default. Without it a category with a single row can take a coefficient of any
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

    fn n_means(&self) -> usize {
        1
    }

    fn weight(&self, rows: &Rows) -> f64 {
        rows.weights().iter().sum()
    }

    fn add_sums(&self, rows: &Rows, scores: &[Lanes], sums: &mut [Lanes]) {
        let weights = rows.weights();
        let Some(&weight) = weights.first() else {
            return;
        };
        if weights.iter().any(|w| *w != weight) {
            add_losses(rows.labels(), weights, scores, &mut sums[0]);
            return;
        }
        // Equal weights: one logarithm for all rows of the tile, of the product of 1 + e^{−|m|}.
        // Its 64 factors are at most 2, so that it does not overflow.
        let (mut product, mut linear) = ([1.0; LANES], ZERO);
        multiply_losses(rows.labels(), scores, &mut product, &mut linear);
        for p in 0..LANES {
            sums[0][p] += weight * (linear[p] + libm::log(product[p]));
        }
    }

    fn outer(&self, means: &[f64], slope: &mut [f64]) -> f64 {
        slope[0] = 1.0;
        means[0]
    }

    fn pull_back(&self, rows: &Rows, scores: &[Lanes], slopes: &[Lanes], out: &mut [Lanes]) {
        add_slopes(rows.labels(), rows.weights(), scores, &slopes[0], out);
    }

    fn add_sums_and_slopes(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        slopes: &[Lanes],
        sums: &mut [Lanes],
        out: &mut [Lanes],
    ) {
        let weights = rows.weights();
        match weights.first() {
            Some(&weight) if weights.iter().all(|w| *w == weight) => {
                let (mut product, mut linear) = ([1.0; LANES], ZERO);
                multiply_losses_and_add_slopes(
                    rows.labels(),
                    weight,
                    scores,
                    &slopes[0],
                    &mut product,
                    &mut linear,
                    out,
                );
                for p in 0..LANES {
                    sums[0][p] += weight * (linear[p] + libm::log(product[p]));
                }
            }
            _ => {
                self.add_sums(rows, scores, sums);
                self.pull_back(rows, scores, slopes, out);
            }
        }
    }

    fn penalty(&self) -> f64 {
        self.lambda
    }

    fn is_mean(&self) -> bool {
        true
    }

    fn expand(
        &self,
        rows: &Rows,
        scores: &[f64],
        slope: &mut [f64],
        curvature: &mut [f64],
    ) -> Option<f64> {
        let n = rows.len();
        let mut losses = [0.0; TILE_ROWS];
        expand(
            rows.labels(),
            rows.weights(),
            &scores[..n],
            &mut losses[..n],
            &mut slope[..n],
            &mut curvature[..n],
        );
        Some(losses[..n].iter().sum())
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::LogLoss)
    }

    fn is_log_loss(&self) -> bool {
        true
    }

    fn convex_below(&self) -> Option<f64> {
        Some(f64::INFINITY)
    }
}

const _: () = assert!(
    TILE_ROWS <= 1000,
    "a product of more factors could overflow"
);

vectorised! {
    fn multiply_losses(labels: &[f64], scores: &[Lanes], product: &mut Lanes, linear: &mut Lanes) {
        let (mut products, mut sums) = (*product, *linear);
        for (y, score) in labels.iter().zip(scores) {
            for p in 0..LANES {
                let m = y * score[p];
                products[p] *= 1.0 + exp_minus(m.abs());
                sums[p] += (-m).max(0.0);
            }
        }
        *product = products;
        *linear = sums;
    }
}

vectorised! {
    fn multiply_losses_and_add_slopes(
        labels: &[f64],
        weight: f64,
        scores: &[Lanes],
        slope: &Lanes,
        product: &mut Lanes,
        linear: &mut Lanes,
        out: &mut [Lanes],
    ) {
        let (mut products, mut sums) = (*product, *linear);
        for ((y, score), out) in labels.iter().zip(scores).zip(out) {
            let scale = -(weight * y);
            for p in 0..LANES {
                let m = y * score[p];
                let e = exp_minus(m.abs());
                products[p] *= 1.0 + e;
                sums[p] += (-m).max(0.0);
                let small = e / (1.0 + e);
                let sigmoid = if m >= 0.0 { small } else { 1.0 - small };
                out[p] += scale * slope[p] * sigmoid;
            }
        }
        *product = products;
        *linear = sums;
    }
}

vectorised! {
    fn expand(
        labels: &[f64],
        weights: &[f64],
        scores: &[f64],
        losses: &mut [f64],
        slopes: &mut [f64],
        curvatures: &mut [f64],
    ) {
        for i in 0..labels.len() {
            let (y, w) = (labels[i], weights[i]);
            let m = y * scores[i];
            let e = exp_minus(m.abs());
            // σ(−|m|), and σ(−m) from it.
            let small = e / (1.0 + e);
            let s = if m >= 0.0 { small } else { 1.0 - small };
            losses[i] = w * (log_one_plus(e) + (-m).max(0.0));
            slopes[i] = -w * y * s;
            curvatures[i] = w * small * (1.0 - small);
        }
    }
}

vectorised! {
    fn add_losses(labels: &[f64], weights: &[f64], scores: &[Lanes], sum: &mut Lanes) {
        let mut total = *sum;
        for ((y, w), score) in labels.iter().zip(weights).zip(scores) {
            for p in 0..LANES {
                total[p] += w * softplus_minus(y * score[p]);
            }
        }
        *sum = total;
    }
}

vectorised! {
    fn add_slopes(
        labels: &[f64],
        weights: &[f64],
        scores: &[Lanes],
        slope: &Lanes,
        out: &mut [Lanes],
    ) {
        for (((y, w), score), out) in labels.iter().zip(weights).zip(scores).zip(out) {
            let scale = -(w * y);
            for p in 0..LANES {
                out[p] += scale * slope[p] * sigmoid_minus(y * score[p]);
            }
        }
    }
}
