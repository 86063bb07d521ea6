//! The inner loops: rows of a tile times W points side by side.
//!
//! Every lane performs the same operations in the same order for any W, so that a point's sums do
//! not depend on the number of points computed with it.

#![expect(
    clippy::inline_always,
    reason = "these must be compiled for the instruction set of their callers"
)]

use super::cell::NOWHERE;
use crate::lanes::{Real, sigmoid_minus, softplus_minus, vectorized};
use crate::objective::Residual;
use crate::predictor::Rows;

/// Number of rows whose scores for a single point are summed side by side.
const ROWS_AS_LANES: usize = 8;

vectorized! {
    /// Scores that are linear in the columns. `params` are numeric coefficients, those of categories, the
    /// intercept and a row of zeros.
    pub(crate) fn scores<const W: usize, T: Real>(rows: &Rows, params: &[[T; W]], scores: &mut [[T; W]]) {
        let intercept = &params[params.len() - 2];
        if W == 1 {
            let mut first = 0;
            while first < rows.len() {
                let n = ROWS_AS_LANES.min(rows.len() - first);
                let mut sums = [intercept[0]; ROWS_AS_LANES];
                // Rows past the last one repeat it; their results are discarded.
                let row = |r: usize| first + r.min(n - 1);
                let numeric: [&[f64]; ROWS_AS_LANES] = std::array::from_fn(|r| rows.numeric(row(r)));
                for (j, coefficient) in params[..numeric[0].len()].iter().enumerate() {
                    for (sum, z) in sums.iter_mut().zip(&numeric) {
                        *sum += T::of(z[j]) * coefficient[0];
                    }
                }
                let codes: [&[u32]; ROWS_AS_LANES] = std::array::from_fn(|r| rows.codes(row(r)));
                for j in 0..codes[0].len() {
                    for (sum, codes) in sums.iter_mut().zip(&codes) {
                        *sum += params[codes[j] as usize][0];
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
                let z = T::of(*z);
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

vectorized! {
    /// Sets lanes with a score that is not finite to NaN.
    pub(super) fn spoil<const W: usize, T: Real>(scores: &[[T; W]], spoiled: &mut [T; W]) {
        let mut sums = *spoiled;
        for score in scores {
            for p in 0..W {
                sums[p] += T::ZERO * score[p];
            }
        }
        *spoiled = sums;
    }
}

vectorized! {
    /// Adds Σ slope · ∂φ/∂x for scores that are linear in the columns.
    pub(crate) fn pull_back<const W: usize, T: Real>(
        rows: &Rows,
        slopes: &[[T; W]],
        gradients: &mut [[T; W]],
    ) {
        let intercept = gradients.len() - 2;
        let slopes = &slopes[..rows.len()];
        let mut total = [T::ZERO; W];
        add_numeric(rows, slopes, gradients);
        for (r, slope) in slopes.iter().enumerate() {
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

/// Adds Σ slope · ∂φ/∂x for scores that are linear in the columns, with coefficients and intercept apart.
#[inline(always)]
pub(crate) fn add_inputs<const W: usize, T: Real>(
    rows: &Rows,
    slopes: &[[T; W]],
    coefficients: &mut [[T; W]],
    intercept: &mut [T; W],
) {
    add_numeric(rows, slopes, coefficients);
    let mut total = [T::ZERO; W];
    for (r, slope) in slopes.iter().enumerate() {
        for code in rows.codes(r) {
            // A category without a parameter has a code past all features.
            if let Some(gradient) = coefficients.get_mut(*code as usize) {
                for p in 0..W {
                    gradient[p] += slope[p];
                }
            }
        }
        for p in 0..W {
            total[p] += slope[p];
        }
    }
    for p in 0..W {
        intercept[p] += total[p];
    }
}

vectorized! {
    pub(crate) fn add_inputs_of_class<const W: usize, T: Real>(
        rows: &Rows,
        slopes: &[[T; W]],
        coefficients: &mut [[T; W]],
        intercept: &mut [T; W],
    ) {
        add_inputs(rows, slopes, coefficients, intercept);
    }
}

vectorized! {
    pub(super) fn add_by_cell<const W: usize, T: Real>(
        cells: &[usize],
        weights: &[f64],
        outputs: &[[T; W]],
        sums: &mut [[T; W]],
    ) {
        for ((cell, w), output) in cells.iter().zip(weights).zip(outputs) {
            if let Some(sum) = sums.get_mut(*cell) {
                let w = T::of(*w);
                for p in 0..W {
                    sum[p] += w * output[p];
                }
            }
        }
    }
}

vectorized! {
    pub(super) fn add_from_cell<const W: usize, T: Real>(
        cells: &[usize],
        weights: &[f64],
        slopes: &[[T; W]],
        out: &mut [[T; W]],
    ) {
        for ((cell, w), out) in cells.iter().zip(weights).zip(out) {
            if *cell != NOWHERE {
                let (w, slope) = (T::of(*w), &slopes[*cell]);
                for p in 0..W {
                    out[p] += w * slope[p];
                }
            }
        }
    }
}

vectorized! {
    pub(super) fn decisions<const W: usize, T: Real>(
        scores: &[[T; W]],
        factor: f64,
        out: &mut [[T; W]],
    ) {
        let factor = T::of(factor);
        for (score, out) in scores.iter().zip(out) {
            for p in 0..W {
                out[p] = sigmoid_minus(factor * score[p]);
            }
        }
    }
}

vectorized! {
    pub(super) fn steps<const W: usize, T: Real>(scores: &[[T; W]], out: &mut [[T; W]]) {
        for (score, out) in scores.iter().zip(out) {
            for p in 0..W {
                out[p] = if score[p] >= T::ZERO { T::ONE } else { T::ZERO };
            }
        }
    }
}

vectorized! {
    pub(super) fn losses<const W: usize, T: Real>(
        labels: &[f64],
        scores: &[[T; W]],
        out: &mut [[T; W]],
    ) {
        for ((y, score), out) in labels.iter().zip(scores).zip(out) {
            let y = T::of(*y);
            for p in 0..W {
                out[p] = softplus_minus(y * score[p]);
            }
        }
    }
}

/// Value and slope of a function of the residual.
#[inline(always)]
fn residual_at<T: Real>(of: Residual, r: T) -> (T, T) {
    let smooth = |mu: f64| {
        let mu = T::of(mu);
        let root = (r * r + mu * mu).sqrt();
        let slope = if root > T::ZERO { r / root } else { T::ZERO };
        (root - mu, slope)
    };
    match of {
        Residual::Plain => (r, T::ONE),
        Residual::Squared => (r * r, r + r),
        Residual::Absolute { mu } => smooth(mu),
        Residual::Quantile { q, mu } => {
            let (value, slope) = smooth(mu);
            let (half, tilt) = (T::of(0.5), T::of(q - 0.5));
            (half * value - tilt * r, half * slope - tilt)
        }
    }
}

vectorized! {
    pub(super) fn residuals<const W: usize, T: Real>(
        of: Residual,
        labels: &[f64],
        scores: &[[T; W]],
        out: &mut [[T; W]],
    ) {
        for ((y, score), out) in labels.iter().zip(scores).zip(out) {
            let y = T::of(*y);
            for p in 0..W {
                out[p] = residual_at(of, score[p] - y).0;
            }
        }
    }
}

vectorized! {
    pub(super) fn add_by_residual<const W: usize, T: Real>(
        of: Residual,
        labels: &[f64],
        scores: &[[T; W]],
        by_output: &[[T; W]],
        by_score: &mut [[T; W]],
    ) {
        for (((y, score), slope), out) in labels.iter().zip(scores).zip(by_output).zip(by_score) {
            let y = T::of(*y);
            for p in 0..W {
                out[p] += residual_at(of, score[p] - y).1 * slope[p];
            }
        }
    }
}

vectorized! {
    /// σ((t − φ)/τ), or the step at t without τ.
    pub(super) fn at_most<const W: usize, T: Real>(
        scores: &[[T; W]],
        threshold: f64,
        tau: f64,
        out: &mut [[T; W]],
    ) {
        let t = T::of(threshold);
        if tau > 0.0 {
            let factor = T::of(1.0 / tau);
            for (score, out) in scores.iter().zip(out) {
                for p in 0..W {
                    out[p] = sigmoid_minus(factor * (score[p] - t));
                }
            }
            return;
        }
        for (score, out) in scores.iter().zip(out) {
            for p in 0..W {
                out[p] = if score[p] <= t { T::ONE } else { T::ZERO };
            }
        }
    }
}

/// smooth-min(0, s): s below −μ, 0 above μ, a parabola in between.
#[inline(always)]
fn smooth_min<T: Real>(s: T, mu: T) -> T {
    let d = s - mu;
    let parabola = -d * d / (T::of(4.0) * mu);
    let low = if s < -mu { s } else { parabola };
    if s > mu { T::ZERO } else { low }
}

#[inline(always)]
fn smooth_min_slope<T: Real>(s: T, mu: T) -> T {
    let low = if s < -mu {
        T::ONE
    } else {
        -(s - mu) / (T::of(2.0) * mu)
    };
    if s > mu { T::ZERO } else { low }
}

vectorized! {
    pub(super) fn shortfalls<const W: usize, T: Real>(
        scores: &[[T; W]],
        sign: f64,
        mu: f64,
        out: &mut [[T; W]],
    ) {
        let (sign, mu) = (T::of(sign), T::of(mu));
        for (score, out) in scores.iter().zip(out) {
            for p in 0..W {
                out[p] = smooth_min(sign * score[p], mu);
            }
        }
    }
}

vectorized! {
    pub(super) fn add_by_decision<const W: usize, T: Real>(
        decisions: &[[T; W]],
        factor: f64,
        by_output: &[[T; W]],
        by_score: &mut [[T; W]],
    ) {
        let factor = T::of(factor);
        for ((decision, slope), out) in decisions.iter().zip(by_output).zip(by_score) {
            for p in 0..W {
                out[p] += factor * decision[p] * (T::ONE - decision[p]) * slope[p];
            }
        }
    }
}

vectorized! {
    pub(super) fn add_by_loss<const W: usize, T: Real>(
        labels: &[f64],
        scores: &[[T; W]],
        by_output: &[[T; W]],
        by_score: &mut [[T; W]],
    ) {
        for (((y, score), slope), out) in labels.iter().zip(scores).zip(by_output).zip(by_score) {
            let y = T::of(*y);
            for p in 0..W {
                out[p] -= y * sigmoid_minus(y * score[p]) * slope[p];
            }
        }
    }
}

vectorized! {
    pub(super) fn add_by_shortfall<const W: usize, T: Real>(
        scores: &[[T; W]],
        sign: f64,
        mu: f64,
        by_output: &[[T; W]],
        by_score: &mut [[T; W]],
    ) {
        let (sign, mu) = (T::of(sign), T::of(mu));
        for ((score, slope), out) in scores.iter().zip(by_output).zip(by_score) {
            for p in 0..W {
                out[p] += sign * smooth_min_slope(sign * score[p], mu) * slope[p];
            }
        }
    }
}

vectorized! {
    /// Losses of rows with the same weight: the product of 1 + e^(−|m|), and the sum of the terms
    /// that are linear in m. All rows of a tile then need only one logarithm.
    pub(super) fn multiply_losses<const W: usize, T: Real>(
        labels: &[f64],
        scores: &[[T; W]],
        product: &mut [T; W],
        linear: &mut [T; W],
    ) {
        let (mut products, mut sums) = (*product, *linear);
        for (y, score) in labels.iter().zip(scores) {
            let y = T::of(*y);
            for p in 0..W {
                let m = y * score[p];
                products[p] *= T::ONE + m.abs().exp_minus();
                sums[p] += (-m).max(T::ZERO);
            }
        }
        *product = products;
        *linear = sums;
    }
}

vectorized! {
    /// Does the same as `multiply_losses`, and adds the slopes of the rows with respect to their
    /// scores.
    pub(super) fn multiply_losses_and_add_slopes<const W: usize, T: Real>(
        labels: &[f64],
        weight: f64,
        scores: &[[T; W]],
        slope: &[T; W],
        product: &mut [T; W],
        linear: &mut [T; W],
        out: &mut [[T; W]],
    ) {
        let (mut products, mut sums) = (*product, *linear);
        for ((y, score), out) in labels.iter().zip(scores).zip(out) {
            let (scale, y) = (T::of(-(weight * y)), T::of(*y));
            for p in 0..W {
                let m = y * score[p];
                let e = m.abs().exp_minus();
                products[p] *= T::ONE + e;
                sums[p] += (-m).max(T::ZERO);
                let small = e / (T::ONE + e);
                let sigmoid = if m >= T::ZERO { small } else { T::ONE - small };
                out[p] += scale * slope[p] * sigmoid;
            }
        }
        *product = products;
        *linear = sums;
    }
}

vectorized! {
    /// Adds the slopes of weighted losses of all rows with respect to their scores.
    pub(super) fn add_loss_slopes<const W: usize, T: Real>(
        labels: &[f64],
        weights: &[f64],
        scores: &[[T; W]],
        slope: &[T; W],
        out: &mut [[T; W]],
    ) {
        for (((y, w), score), out) in labels.iter().zip(weights).zip(scores).zip(out) {
            let (scale, y) = (T::of(-(w * y)), T::of(*y));
            for p in 0..W {
                out[p] += scale * slope[p] * sigmoid_minus(y * score[p]);
            }
        }
    }
}

/// w · s, w · s′ and w · s″ of a function of the residual of each row, for one point.
pub(super) fn expand_residuals(
    of: Residual,
    labels: &[f64],
    weights: &[f64],
    scores: &[[f64; 1]],
    [values, slopes, curvatures]: [&mut [f64]; 3],
) {
    for i in 0..labels.len() {
        let expanded = of.at(scores[i][0] - labels[i]);
        [values[i], slopes[i], curvatures[i]] = expanded.map(|number| weights[i] * number);
    }
}

vectorized! {
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
            let e = m.abs().exp_minus();
            // σ(−|m|), and σ(−m) from it.
            let small = e / (1.0 + e);
            let s = if m >= 0.0 { small } else { 1.0 - small };
            losses[i] = w * (e.log_one_plus() + (-m).max(0.0));
            slopes[i] = -w * y * s;
            curvatures[i] = w * small * (1.0 - small);
        }
    }
}

/// Adds Σ slope · z over the rows, for the numeric features.
#[inline(always)]
fn add_numeric<const W: usize, T: Real>(rows: &Rows, slopes: &[[T; W]], gradients: &mut [[T; W]]) {
    let mut fours = slopes.chunks_exact(4);
    let mut first = 0;
    // Four rows at a time share loads and stores of the sums that every row adds to.
    for four in fours.by_ref() {
        let z = [0, 1, 2, 3].map(|i| rows.numeric(first + i));
        for (j, gradient) in gradients[..z[0].len()].iter_mut().enumerate() {
            let z = z.map(|z| T::of(z[j]));
            for p in 0..W {
                let mut sum = gradient[p] + z[0] * four[0][p];
                sum += z[1] * four[1][p];
                sum += z[2] * four[2][p];
                gradient[p] = sum + z[3] * four[3][p];
            }
        }
        first += 4;
    }
    for (r, slope) in (first..).zip(fours.remainder()) {
        for (z, gradient) in rows.numeric(r).iter().zip(gradients.iter_mut()) {
            let z = T::of(*z);
            for p in 0..W {
                gradient[p] += z * slope[p];
            }
        }
    }
}
