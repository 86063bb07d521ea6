//! Scaled and calibrated models, compared with a fine search, and measures of probabilities, row by
//! row.

use fairfront_core::{
    Calibration, Linear, LogLoss, Points, Problem, Purpose, Quality, Stream, calibrate,
    calibrate_scale, measure, measure_calibrated, rescaled,
};
use proptest::prelude::*;

use crate::plain::{N_FEATURES, Row, dataset, phi, problem, rows};

/// The loss that Platt proposes, up to a factor.
fn platt_loss(rows: &[Row], x: &[f64], calibration: Calibration) -> f64 {
    let weight = |label: f64| -> f64 {
        let own = rows.iter().filter(|r| r.y == label);
        own.map(|r| r.w).sum()
    };
    let (negative, positive) = (weight(-1.0), weight(1.0));
    let n = rows.iter().filter(|r| r.w > 0.0).count() as f64;
    let scale = n / (negative + positive);
    let targets = [
        1.0 / (scale * negative + 2.0),
        (scale * positive + 1.0) / (scale * positive + 2.0),
    ];
    let loss = |r: &Row| {
        let t = targets[usize::from(r.y > 0.0)];
        let z = calibration.log_odds(phi(r, x));
        let softplus = |v: f64| v.max(0.0) + (-v.abs()).exp().ln_1p();
        r.w * (t * softplus(-z) + (1.0 - t) * softplus(z))
    };
    rows.iter().map(loss).sum::<f64>() / (negative + positive)
}

/// The measures of probabilities by their definitions, one pair of rows at a time.
fn quality(rows: &[&Row], x: &[f64], calibration: Calibration) -> Quality {
    let total: f64 = rows.iter().map(|r| r.w).sum();
    let label = |r: &Row| f64::from(u8::from(r.y > 0.0));
    let probability = |r: &Row| 1.0 / (1.0 + (-calibration.log_odds(phi(r, x))).exp());
    let square = |r: &&Row| r.w * (probability(r) - label(r)).powi(2);
    let squares: f64 = rows.iter().map(square).sum();
    let (mut pairs, mut above) = (0.0, 0.0);
    for p in rows.iter().filter(|r| r.y > 0.0) {
        for n in rows.iter().filter(|r| r.y < 0.0) {
            let (own, other) = (phi(p, x), phi(n, x));
            let share = match own == other {
                true => 0.5,
                false => f64::from(u8::from(own > other)),
            };
            pairs += p.w * n.w;
            above += p.w * n.w * share;
        }
    }
    let mut off = [0.0; 10];
    for r in rows {
        let bin = ((10.0 * probability(r)) as usize).min(9);
        off[bin] += r.w * (probability(r) - label(r));
    }
    let off: f64 = off.iter().map(|o| o.abs()).sum();
    // The distribution functions at the score of each row.
    let below = |label: f64, at: f64| {
        let own = rows.iter().filter(|r| r.y == label);
        let all: f64 = own.clone().map(|r| r.w).sum();
        own.filter(|r| phi(r, x) <= at).map(|r| r.w).sum::<f64>() / all
    };
    let distances = rows.iter().map(|r| phi(r, x));
    let distances = distances.map(|at| (below(1.0, at) - below(-1.0, at)).abs());
    let mean = rows.iter().map(|r| r.w * probability(r)).sum::<f64>() / total;
    let spread = rows.iter().map(|r| r.w * (probability(r) - mean).powi(2));
    let deviation = (spread.sum::<f64>() / total).sqrt();
    Quality {
        ks: (pairs > 0.0).then(|| distances.fold(0.0, f64::max)),
        mean: (total > 0.0).then_some(mean),
        deviation: (deviation > 1e-5).then_some(deviation),
        brier_score: (total > 0.0).then(|| squares / total),
        auc: (pairs > 0.0).then(|| above / pairs),
        calibration_error: (total > 0.0).then(|| off / total),
    }
}

/// A root of a difference loses digits.
fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        // Sums of a few hundred numbers in another order.
        (Some(a), Some(b)) => (a - b).abs() < 1e-12,
        (a, b) => a.is_none() && b.is_none(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Slopes are above 0, no other slope and intercept nearby fit better, and decisions are
    /// positive where probabilities reach the threshold.
    #[test]
    fn calibrations_fit_best(seed: u64, n in 80_usize..400, weighted: bool, size in -4.0_f64..4.0) {
        let rows = rows(seed, n, 2, weighted);
        let data = dataset(&rows, 2);
        let mut random = Stream::new(seed, Purpose::Solver, [4, 5]);
        let mut points = Points::new(N_FEATURES + 1);
        for _ in 0..3 {
            let x: Vec<f64> = (0..=N_FEATURES).map(|_| size.exp() * random.normal()).collect();
            points.push(&x);
        }
        let Some(found) = calibrate(&Linear, &data, &points).unwrap() else {
            let few = |label: f64| rows.iter().filter(|r| r.y == label && r.w > 0.0).count() < 10;
            prop_assert!(few(1.0) || few(-1.0));
            return Ok(());
        };
        for (x, own) in points.iter().zip(&found) {
            prop_assert!(own.slope > 0.0 && own.slope.is_finite() && own.intercept.is_finite());
            let best = platt_loss(&rows, x, *own);
            let scores: Vec<f64> = rows.iter().map(|r| phi(r, x)).collect();
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            // Labels that fall with the scores would require less than the smallest slope.
            let spread = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>();
            let spread = (spread / scores.len() as f64).sqrt();
            let is_least = own.slope * spread < 1e-4;
            for (a, b) in [(1.01, 0.0), (0.99, 0.0), (1.0, 0.01), (1.0, -0.01), (1.3, 0.2), (0.5, -0.3)] {
                if is_least && a < 1.0 {
                    continue;
                }
                // The mean score keeps its odds as the slope changes.
                let slope = a * own.slope;
                let intercept = own.intercept + (own.slope - slope) * mean + b;
                let other = platt_loss(&rows, x, Calibration { slope, intercept });
                prop_assert!(best <= other + 1e-12, "{own:?}: {best} above {other}");
            }
            for score in scores {
                // A score that is 0 up to rounding may be on either side.
                if score.abs() > 1e-9 * (1.0 + own.intercept.abs()) / own.slope {
                    prop_assert_eq!(score >= 0.0, own.probability(score) >= own.threshold());
                }
            }
        }
    }

    /// A model that was scaled before keeps its scale to the last digit, and the scale is that of its
    /// calibration.
    #[test]
    fn scaling_twice_is_scaling_once(seed: u64, n in 50_usize..300, weighted: bool) {
        let rows = rows(seed, n, 2, weighted);
        let data = dataset(&rows, 2);
        let mut random = Stream::new(seed, Purpose::Solver, [4, 6]);
        let x: Vec<f64> = (0..=N_FEATURES).map(|_| random.normal()).collect();
        let point = Points::from_vec(x.len(), x.clone());
        let first = calibrate_scale(&Linear, &data, &point).unwrap()[0];
        let scaled = rescaled(&Linear, &data, &point).unwrap();
        prop_assert_eq!(scaled.get(0)[0], first.slope * x[0]);
        let again = calibrate_scale(&Linear, &data, &scaled).unwrap()[0];
        prop_assert_eq!(again, Calibration::default());
    }

    /// Brier score, area under the curve with ties, and calibration error, over all rows and by group.
    #[test]
    fn probabilities_are_measured(seed: u64, n in 5_usize..200, n_groups in 2_usize..4, weighted: bool, ties: bool) {
        let rows = rows(seed, n, n_groups, weighted);
        let data = dataset(&rows, n_groups);
        let mut random = Stream::new(seed, Purpose::Solver, [4, 7]);
        let mut x: Vec<f64> = (0..=N_FEATURES).map(|_| random.normal()).collect();
        if ties {
            // Scores that depend only on categories.
            (x[0], x[1]) = (0.0, 0.0);
        }
        let calibration = Calibration { slope: 0.3 + random.normal().abs(), intercept: random.normal() };
        let points = Points::from_vec(x.len(), x.clone());
        let found = measure_calibrated(&Linear, &data, &points, &[calibration]).unwrap().remove(0);
        let plain = measure(&Linear, &data, &points).unwrap().remove(0);
        prop_assert_eq!((&found.overall, &found.groups), (&plain.overall, &plain.groups));
        let found = found.probabilities.unwrap();
        let same = |a: &Quality, b: &Quality| {
            near(a.brier_score, b.brier_score) && near(a.auc, b.auc) && near(a.calibration_error, b.calibration_error)
                && near(a.ks, b.ks) && near(a.mean, b.mean) && close(a.deviation, b.deviation)
        };
        let all: Vec<&Row> = rows.iter().collect();
        let expected = quality(&all, &x, calibration);
        prop_assert!(same(&found.overall, &expected), "{:?} is not {expected:?}", found.overall);
        for (g, found) in found.groups[0].iter().enumerate() {
            let own: Vec<&Row> = rows.iter().filter(|r| r.group == Some(g)).collect();
            let expected = quality(&own, &x, calibration);
            prop_assert!(same(found, &expected), "group {g}: {found:?} is not {expected:?}");
        }
        let total: f64 = rows.iter().map(|r| r.w).sum();
        let binned: f64 = found.bins.iter().map(|bin| bin.rows).sum();
        prop_assert!((binned - total).abs() <= 1e-12 * total);
    }

    /// Parameters are scaled by one factor above 0, decisions stay the same, and no other factor
    /// has a lower log loss.
    #[test]
    fn probabilities_fit_best(seed: u64, n in 50_usize..400, weighted: bool, size in -4.0_f64..4.0) {
        let rows = rows(seed, n, 2, weighted);
        let data = dataset(&rows, 2);
        let mut random = Stream::new(seed, Purpose::Solver, [4, 4]);
        let x: Vec<f64> = (0..=N_FEATURES).map(|_| size.exp() * random.normal()).collect();
        let point = Points::from_vec(x.len(), x.clone());
        let scaled = rescaled(&Linear, &data, &point).unwrap();
        let factor = scaled.get(0)[0] / x[0];
        prop_assert!(factor > 0.0);
        for (new, old) in scaled.get(0).iter().zip(&x) {
            prop_assert!((new - factor * old).abs() <= 1e-12 * new.abs());
        }
        let decisions = |p: &Points| measure(&Linear, &data, p).unwrap().remove(0).overall;
        prop_assert_eq!(decisions(&point), decisions(&scaled));
        let plain = problem(dataset(&rows, 2), vec![Box::new(LogLoss { lambda: 0.0 })]);
        let loss = |s: f64| {
            let moved = scaled.get(0).iter().map(|v| s * v).collect();
            plain.values(&Points::from_vec(x.len(), moved)).unwrap()[0]
        };
        // If no factor is best (0 or infinite), the model stays unchanged.
        if factor != 1.0 {
            for s in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
                prop_assert!(loss(1.0) <= loss(s) + 1e-12, "{factor}: {} above {} at {s}", loss(1.0), loss(s));
            }
        }
    }
}
