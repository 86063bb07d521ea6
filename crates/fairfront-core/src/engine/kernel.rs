//! The inner loops: rows of a tile times W points side by side.
//!
//! Every lane does the same operations in the same order whatever W is, so that a point's sums do not depend
//! on how many others are computed with it.

#![expect(
    clippy::inline_always,
    reason = "these must be compiled with the instruction set of their callers"
)]

use super::cell::NOWHERE;
use crate::lanes::{exp_minus, log_one_plus, sigmoid_minus, softplus_minus, vectorised};
use crate::predictor::Rows;

/// Rows whose scores for a single point are summed side by side.
const ROWS_AS_LANES: usize = 8;

vectorised! {
    /// Scores that are linear in the columns. `params` are numeric coefficients, those of categories, the
    /// intercept and a row of zeros.
    pub(crate) fn scores<const W: usize>(rows: &Rows, params: &[[f64; W]], scores: &mut [[f64; W]]) {
        let intercept = &params[params.len() - 2];
        if W == 1 {
            let mut first = 0;
            while first < rows.len() {
                let n = ROWS_AS_LANES.min(rows.len() - first);
                let mut sums = [intercept[0]; ROWS_AS_LANES];
                let n_numeric = rows.numeric(first).len();
                for j in 0..n_numeric {
                    for r in 0..n {
                        sums[r] += rows.numeric(first + r)[j] * params[j][0];
                    }
                }
                for j in 0..rows.codes(first).len() {
                    for r in 0..n {
                        sums[r] += params[rows.codes(first + r)[j] as usize][0];
                    }
                }
                for r in 0..n {
                    scores[first + r][0] = sums[r];
                }
                first += n;
            }
            return;
        }
        for (r, score) in scores[..rows.len()].iter_mut().enumerate() {
            let mut sum = *intercept;
            for (z, coefficient) in rows.numeric(r).iter().zip(params) {
                for p in 0..W {
                    sum[p] += z * coefficient[p];
                }
            }
            for code in rows.codes(r) {
                let coefficient = &params[*code as usize];
                for p in 0..W {
                    sum[p] += coefficient[p];
                }
            }
            *score = sum;
        }
    }
}

vectorised! {
    /// Adds Σ slope · ∂φ/∂x for scores that are linear in the columns.
    pub(crate) fn pull_back<const W: usize>(
        rows: &Rows,
        slopes: &[[f64; W]],
        gradients: &mut [[f64; W]],
    ) {
        let intercept = gradients.len() - 2;
        let mut total = [0.0; W];
        for (r, slope) in slopes[..rows.len()].iter().enumerate() {
            for (z, gradient) in rows.numeric(r).iter().zip(gradients.iter_mut()) {
                for p in 0..W {
                    gradient[p] += z * slope[p];
                }
            }
            for code in rows.codes(r) {
                let gradient = &mut gradients[*code as usize];
                for p in 0..W {
                    gradient[p] += slope[p];
                }
            }
            for p in 0..W {
                total[p] += slope[p];
            }
        }
        for p in 0..W {
            gradients[intercept][p] += total[p];
        }
    }
}

vectorised! {
    pub(super) fn add_by_cell<const W: usize>(
        cells: &[usize],
        weights: &[f64],
        outputs: &[[f64; W]],
        sums: &mut [[f64; W]],
    ) {
        for ((cell, w), output) in cells.iter().zip(weights).zip(outputs) {
            if let Some(sum) = sums.get_mut(*cell) {
                for p in 0..W {
                    sum[p] += w * output[p];
                }
            }
        }
    }
}

vectorised! {
    pub(super) fn add_from_cell<const W: usize>(
        cells: &[usize],
        weights: &[f64],
        slopes: &[[f64; W]],
        out: &mut [[f64; W]],
    ) {
        for ((cell, w), out) in cells.iter().zip(weights).zip(out) {
            if *cell != NOWHERE {
                let slope = &slopes[*cell];
                for p in 0..W {
                    out[p] += w * slope[p];
                }
            }
        }
    }
}

vectorised! {
    pub(super) fn decisions<const W: usize>(
        scores: &[[f64; W]],
        factor: f64,
        out: &mut [[f64; W]],
    ) {
        for (score, out) in scores.iter().zip(out) {
            for p in 0..W {
                out[p] = sigmoid_minus(factor * score[p]);
            }
        }
    }
}

vectorised! {
    pub(super) fn steps<const W: usize>(scores: &[[f64; W]], out: &mut [[f64; W]]) {
        for (score, out) in scores.iter().zip(out) {
            for p in 0..W {
                out[p] = if score[p] >= 0.0 { 1.0 } else { 0.0 };
            }
        }
    }
}

vectorised! {
    pub(super) fn losses<const W: usize>(
        labels: &[f64],
        scores: &[[f64; W]],
        out: &mut [[f64; W]],
    ) {
        for ((y, score), out) in labels.iter().zip(scores).zip(out) {
            for p in 0..W {
                out[p] = softplus_minus(y * score[p]);
            }
        }
    }
}

/// smooth-min(0, s): s below −μ, 0 above μ, a parabola between.
#[inline(always)]
fn smooth_min(s: f64, mu: f64) -> f64 {
    let d = s - mu;
    let parabola = -d * d / (4.0 * mu);
    let low = if s < -mu { s } else { parabola };
    if s > mu { 0.0 } else { low }
}

#[inline(always)]
fn smooth_min_slope(s: f64, mu: f64) -> f64 {
    let low = if s < -mu { 1.0 } else { -(s - mu) / (2.0 * mu) };
    if s > mu { 0.0 } else { low }
}

vectorised! {
    pub(super) fn shortfalls<const W: usize>(
        scores: &[[f64; W]],
        sign: f64,
        mu: f64,
        out: &mut [[f64; W]],
    ) {
        for (score, out) in scores.iter().zip(out) {
            for p in 0..W {
                out[p] = smooth_min(sign * score[p], mu);
            }
        }
    }
}

vectorised! {
    pub(super) fn add_by_decision<const W: usize>(
        decisions: &[[f64; W]],
        factor: f64,
        by_output: &[[f64; W]],
        by_score: &mut [[f64; W]],
    ) {
        for ((decision, slope), out) in decisions.iter().zip(by_output).zip(by_score) {
            for p in 0..W {
                out[p] += factor * decision[p] * (1.0 - decision[p]) * slope[p];
            }
        }
    }
}

vectorised! {
    pub(super) fn add_by_loss<const W: usize>(
        labels: &[f64],
        scores: &[[f64; W]],
        by_output: &[[f64; W]],
        by_score: &mut [[f64; W]],
    ) {
        for (((y, score), slope), out) in labels.iter().zip(scores).zip(by_output).zip(by_score) {
            for p in 0..W {
                out[p] -= y * sigmoid_minus(y * score[p]) * slope[p];
            }
        }
    }
}

vectorised! {
    pub(super) fn add_by_shortfall<const W: usize>(
        scores: &[[f64; W]],
        sign: f64,
        mu: f64,
        by_output: &[[f64; W]],
        by_score: &mut [[f64; W]],
    ) {
        for ((score, slope), out) in scores.iter().zip(by_output).zip(by_score) {
            for p in 0..W {
                out[p] += sign * smooth_min_slope(sign * score[p], mu) * slope[p];
            }
        }
    }
}

vectorised! {
    /// Losses of rows of one weight: the product of 1 + e^(−|m|), and the sum of what is linear in m. One
    /// logarithm then serves all rows of a tile.
    pub(super) fn multiply_losses<const W: usize>(
        labels: &[f64],
        scores: &[[f64; W]],
        product: &mut [f64; W],
        linear: &mut [f64; W],
    ) {
        let (mut products, mut sums) = (*product, *linear);
        for (y, score) in labels.iter().zip(scores) {
            for p in 0..W {
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
    /// The same, and the slopes of the rows by their scores.
    pub(super) fn multiply_losses_and_add_slopes<const W: usize>(
        labels: &[f64],
        weight: f64,
        scores: &[[f64; W]],
        slope: &[f64; W],
        product: &mut [f64; W],
        linear: &mut [f64; W],
        out: &mut [[f64; W]],
    ) {
        let (mut products, mut sums) = (*product, *linear);
        for ((y, score), out) in labels.iter().zip(scores).zip(out) {
            let scale = -(weight * y);
            for p in 0..W {
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
    /// Adds the slopes of weighted losses of all rows by their scores.
    pub(super) fn add_loss_slopes<const W: usize>(
        labels: &[f64],
        weights: &[f64],
        scores: &[[f64; W]],
        slope: &[f64; W],
        out: &mut [[f64; W]],
    ) {
        for (((y, w), score), out) in labels.iter().zip(weights).zip(scores).zip(out) {
            let scale = -(w * y);
            for p in 0..W {
                out[p] += scale * slope[p] * sigmoid_minus(y * score[p]);
            }
        }
    }
}

vectorised! {
    /// w · s, w · s′ and w · s″ of the loss of each row, for one point.
    pub(super) fn expand_losses(
        labels: &[f64],
        weights: &[f64],
        scores: &[[f64; 1]],
        losses: &mut [f64],
        slopes: &mut [f64],
        curvatures: &mut [f64],
    ) {
        for i in 0..labels.len() {
            let (y, w) = (labels[i], weights[i]);
            let m = y * scores[i][0];
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
