use rayon::prelude::*;

use crate::lanes::{LANES, exp_minus, log_one_plus};
use crate::predictor::{Predictor, scores_of_block};
use crate::{Error, Points, RowSource};

/// Factors are kept within this of 1, either way: rows that a model tells apart without an error have no
/// best factor.
const MOST: f64 = 1e6;

/// The same models with all parameters times a factor, the one above 0 with which probabilities
/// 1/(1 + e^(−φ)) fit these rows best: the log loss is least. No decision changes. Models without such
/// a factor, and those of a predictor that is not linear, are returned as they are.
pub fn calibrated(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    points: &Points,
) -> Result<Points, Error> {
    if !predictor.is_linear() {
        return Ok(points.clone());
    }
    let (mut labels, mut weights) = (Vec::new(), Vec::new());
    for index in 0..rows.n_blocks() {
        let block = rows.block(index)?;
        labels.extend_from_slice(block.labels());
        weights.extend_from_slice(block.weights());
    }
    let all: Vec<&[f64]> = points.iter().collect();
    let factors: Vec<Vec<f64>> = all
        .chunks(LANES)
        .map(|block| {
            let scores = scores_of_block(predictor, rows, block)?;
            let margins = |scores: &Vec<f64>| -> Vec<f64> {
                scores.iter().zip(&labels).map(|(s, y)| s * y).collect()
            };
            let of = scores.par_iter().map(|s| factor(&margins(s), &weights));
            Ok(of.collect())
        })
        .collect::<Result<_, Error>>()?;
    let mut scaled = Points::new(points.n_params());
    for (point, factor) in all.iter().zip(factors.into_iter().flatten()) {
        let point: Vec<f64> = point.iter().map(|x| factor * x).collect();
        scaled.push(&point);
    }
    Ok(scaled)
}

/// The s that makes Σ w log(1 + exp(−s m)) least: Newton's method on a convex function, by its
/// logarithm so that it stays above 0.
fn factor(margins: &[f64], weights: &[f64]) -> f64 {
    let loss = |s: f64| -> f64 {
        let rows = margins.iter().zip(weights);
        let of = |(m, w): (&f64, &f64)| {
            let m = s * m;
            w * (log_one_plus(exp_minus(m.abs())) + (-m).max(0.0))
        };
        rows.map(of).sum()
    };
    // Without an error the loss falls for ever: no factor is the best.
    let is_right = |(m, w): (&f64, &f64)| *m >= 0.0 || *w == 0.0;
    if margins.iter().zip(weights).all(is_right) {
        return 1.0;
    }
    let (mut s, mut current) = (1.0_f64, loss(1.0));
    for _ in 0..50 {
        // By log s: the derivative is s times that by s.
        let (mut slope, mut curvature) = (0.0, 0.0);
        for (m, w) in margins.iter().zip(weights) {
            let e = exp_minus((s * m).abs());
            let small = e / (1.0 + e);
            let wrong = if *m >= 0.0 { small } else { 1.0 - small };
            slope -= w * s * m * wrong;
            curvature += w * (s * m) * (s * m) * small * (1.0 - small);
        }
        let mut step = match curvature + slope > 0.0 {
            true => -slope / (curvature + slope),
            false => -slope.signum(),
        };
        step = step.clamp(-1.0, 1.0);
        let found = loop {
            let trial = s * libm::exp(step);
            let there = loss(trial);
            if there <= current || step.abs() < 1e-12 {
                break (trial, there);
            }
            step *= 0.5;
        };
        let settled = current - found.1 <= 1e-14 * current.abs();
        (s, current) = (found.0.clamp(1.0 / MOST, MOST), found.1);
        if settled || s <= 1.0 / MOST || s >= MOST {
            break;
        }
    }
    match s > 1.0 / MOST && s < MOST && s.is_finite() {
        true => s,
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_an_error_have_no_best_factor() {
        assert_eq!(factor(&[0.5, 2.0, 1.0], &[1.0, 1.0, 2.0]), 1.0);
        // An error that has no weight is none.
        assert_eq!(factor(&[0.5, -2.0], &[1.0, 0.0]), 1.0);
        assert_eq!(factor(&[-0.5, -2.0], &[1.0, 1.0]), 1.0);
    }

    #[test]
    fn the_factor_makes_the_loss_least() {
        // Two rows of margin 1, one of −1: log-odds of 2 : 1.
        let found = factor(&[1.0, 1.0, -1.0], &[1.0; 3]);
        assert!((found - 2.0_f64.ln()).abs() < 1e-9);
        let found = factor(&[10.0, -10.0], &[3.0, 1.0]);
        assert!((10.0 * found - 3.0_f64.ln()).abs() < 1e-9);
    }
}
