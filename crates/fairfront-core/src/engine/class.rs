//! Functions of the scores of classes on a tile, for W points side by side.
//!
//! Scores, outputs and slopes of a tile are stored class by class, [`TILE_ROWS`] each.

use crate::lanes::{Real, vectorized};
use crate::objective::ClassOutput;
use crate::predictor::TILE_ROWS;

/// The place of a row's class in numbers that are stored class by class.
fn at(class: usize, row: usize) -> usize {
    class * TILE_ROWS + row
}

/// Writes the values of an output, value by value.
pub(super) fn find<const W: usize, T: Real>(
    output: ClassOutput,
    labels: &[f64],
    scores: &[[T; W]],
    smooth: &mut [[T; W]],
    out: &mut [[T; W]],
) {
    let n = labels.len();
    let k = scores.len() / TILE_ROWS;
    match output {
        ClassOutput::Score => out.copy_from_slice(scores),
        ClassOutput::Loss => losses(labels, scores, out),
        ClassOutput::FactorSlope => {
            softmax(n, 1.0, scores, smooth);
            for (row, label) in labels.iter().enumerate() {
                let right = scores[at(*label as usize, row)];
                out[row] = right.map(|score| -score);
                for class in 0..k {
                    let (p, score) = (smooth[at(class, row)], scores[at(class, row)]);
                    for lane in 0..W {
                        out[row][lane] += p[lane] * score[lane];
                    }
                }
            }
        }
        ClassOutput::Right { tau } => {
            decide(n, tau, scores, smooth);
            for (row, label) in labels.iter().enumerate() {
                out[row] = smooth[at(*label as usize, row)];
            }
        }
        ClassOutput::Each { tau } => decide(n, tau, scores, out),
        ClassOutput::Above { tau } => {
            decide(n, tau, scores, smooth);
            for row in 0..n {
                let mut above = [T::ZERO; W];
                for class in (1..k).rev() {
                    let p = smooth[at(class, row)];
                    for lane in 0..W {
                        above[lane] += p[lane];
                    }
                    out[at(class - 1, row)] = above;
                }
            }
        }
    }
}

/// Adds the slopes with respect to the scores, from those with respect to the values of an output.
pub(super) fn pull_back<const W: usize, T: Real>(
    output: ClassOutput,
    labels: &[f64],
    scores: &[[T; W]],
    by_output: &mut [[T; W]],
    smooth: &mut [[T; W]],
    by_score: &mut [[T; W]],
) {
    let n = labels.len();
    let k = scores.len() / TILE_ROWS;
    match output {
        ClassOutput::Score => {
            for class in 0..k {
                for row in 0..n {
                    let slope = by_output[at(class, row)];
                    let out = &mut by_score[at(class, row)];
                    for lane in 0..W {
                        out[lane] += slope[lane];
                    }
                }
            }
        }
        ClassOutput::Loss => {
            softmax(n, 1.0, scores, smooth);
            for class in 0..k {
                for (row, label) in labels.iter().enumerate() {
                    let (p, slope) = (smooth[at(class, row)], by_output[row]);
                    let right = T::of(f64::from(u8::from(*label as usize == class)));
                    let out = &mut by_score[at(class, row)];
                    for lane in 0..W {
                        out[lane] += (p[lane] - right) * slope[lane];
                    }
                }
            }
        }
        ClassOutput::Right { tau } if tau > 0.0 => {
            softmax(n, 1.0 / tau, scores, smooth);
            let factor = T::of(1.0 / tau);
            for class in 0..k {
                for (row, label) in labels.iter().enumerate() {
                    let label = *label as usize;
                    let (p, own, slope) = (
                        smooth[at(class, row)],
                        smooth[at(label, row)],
                        by_output[row],
                    );
                    let right = T::of(f64::from(u8::from(label == class)));
                    let out = &mut by_score[at(class, row)];
                    for lane in 0..W {
                        out[lane] += factor * own[lane] * (right - p[lane]) * slope[lane];
                    }
                }
            }
        }
        ClassOutput::Each { tau } if tau > 0.0 => {
            softmax(n, 1.0 / tau, scores, smooth);
            by_smooth(n, 1.0 / tau, smooth, by_output, by_score);
        }
        ClassOutput::Above { tau } if tau > 0.0 => {
            // A class counts in the value of every class below it.
            for class in 1..k.saturating_sub(1) {
                for row in 0..n {
                    let below = by_output[at(class - 1, row)];
                    for lane in 0..W {
                        by_output[at(class, row)][lane] += below[lane];
                    }
                }
            }
            for class in (1..k).rev() {
                for row in 0..n {
                    by_output[at(class, row)] = by_output[at(class - 1, row)];
                }
            }
            by_output[..n].fill([T::ZERO; W]);
            softmax(n, 1.0 / tau, scores, smooth);
            by_smooth(n, 1.0 / tau, smooth, by_output, by_score);
        }
        ClassOutput::Right { .. }
        | ClassOutput::Each { .. }
        | ClassOutput::Above { .. }
        | ClassOutput::FactorSlope => {}
    }
}

/// Decisions: smooth ones, or without τ the first class with the highest score.
fn decide<const W: usize, T: Real>(n: usize, tau: f64, scores: &[[T; W]], out: &mut [[T; W]]) {
    match tau > 0.0 {
        true => softmax(n, 1.0 / tau, scores, out),
        false => choose(n, scores, out),
    }
}

vectorized! {
    /// `exp(factor · φ_c) / Σ exp(factor · φ_j)`.
    pub(super) fn softmax<const W: usize, T: Real>(
        n: usize,
        factor: f64,
        scores: &[[T; W]],
        out: &mut [[T; W]],
    ) {
        let factor = T::of(factor);
        let k = scores.len() / TILE_ROWS;
        for row in 0..n {
            let mut high = scores[row];
            for class in 1..k {
                let score = scores[class * TILE_ROWS + row];
                for p in 0..W {
                    high[p] = high[p].max(score[p]);
                }
            }
            let mut sum = [T::ZERO; W];
            for class in 0..k {
                let score = scores[class * TILE_ROWS + row];
                let out = &mut out[class * TILE_ROWS + row];
                for p in 0..W {
                    out[p] = (factor * (high[p] - score[p])).exp_minus();
                    sum[p] += out[p];
                }
            }
            for class in 0..k {
                let out = &mut out[class * TILE_ROWS + row];
                for p in 0..W {
                    out[p] = out[p] / sum[p];
                }
            }
        }
    }
}

vectorized! {
    /// 1 for the first class with the highest score, 0 for the others.
    fn choose<const W: usize, T: Real>(n: usize, scores: &[[T; W]], out: &mut [[T; W]]) {
        let k = scores.len() / TILE_ROWS;
        for row in 0..n {
            let mut high = scores[row];
            for class in 1..k {
                let score = scores[class * TILE_ROWS + row];
                for p in 0..W {
                    high[p] = high[p].max(score[p]);
                }
            }
            let mut left = [T::ONE; W];
            for class in 0..k {
                let score = scores[class * TILE_ROWS + row];
                let out = &mut out[class * TILE_ROWS + row];
                for p in 0..W {
                    out[p] = if score[p] == high[p] { left[p] } else { T::ZERO };
                    left[p] -= out[p];
                }
            }
        }
    }
}

vectorized! {
    /// `log Σ exp(φ_c) − φ_y`.
    fn losses<const W: usize, T: Real>(labels: &[f64], scores: &[[T; W]], out: &mut [[T; W]]) {
        let k = scores.len() / TILE_ROWS;
        for (row, (label, out)) in labels.iter().zip(out).enumerate() {
            let mut high = scores[row];
            for class in 1..k {
                let score = scores[class * TILE_ROWS + row];
                for p in 0..W {
                    high[p] = high[p].max(score[p]);
                }
            }
            let mut sum = [T::ZERO; W];
            for class in 0..k {
                let score = scores[class * TILE_ROWS + row];
                for p in 0..W {
                    sum[p] += (high[p] - score[p]).exp_minus();
                }
            }
            let right = scores[*label as usize * TILE_ROWS + row];
            for p in 0..W {
                // The highest score contributes 1 to the sum.
                out[p] = (high[p] - right[p]) + sum[p].max(T::ONE).log_from_one();
            }
        }
    }
}

vectorized! {
    /// Adds `factor · p_c (g_c − Σ p_j g_j)`, from slopes g with respect to smooth decisions p.
    fn by_smooth<const W: usize, T: Real>(
        n: usize,
        factor: f64,
        smooth: &[[T; W]],
        by_output: &[[T; W]],
        by_score: &mut [[T; W]],
    ) {
        let factor = T::of(factor);
        let k = smooth.len() / TILE_ROWS;
        for row in 0..n {
            let mut mean = [T::ZERO; W];
            for class in 0..k {
                let (share, slope) =
                    (smooth[class * TILE_ROWS + row], by_output[class * TILE_ROWS + row]);
                for p in 0..W {
                    mean[p] += share[p] * slope[p];
                }
            }
            for class in 0..k {
                let (share, slope) =
                    (smooth[class * TILE_ROWS + row], by_output[class * TILE_ROWS + row]);
                let out = &mut by_score[class * TILE_ROWS + row];
                for p in 0..W {
                    out[p] += factor * share[p] * (slope[p] - mean[p]);
                }
            }
        }
    }
}
