use fairfront_core::{
    Batches, Costs, LogLoss, Objective, OuterBatch, Points, Precision, Problem, Purpose,
    StopSignal, Stream,
};
use proptest::prelude::*;

use crate::group_plain::{
    CVAR, ERROR, INFORMATION, N_KINDS, PARITIES, RISK_VARIANCE, Settings, WORST, objective,
    objectives, settings, value,
};
use crate::objective::{N_PARAMS, close, points};
use crate::plain::{self, dataset, problem, rows};

/// Covariances and the log loss, then every kind here: all objectives that share a pass over the
/// rows.
pub(crate) fn mixed(n_groups: usize, s: &Settings) -> Vec<Box<dyn Objective>> {
    let mut all: Vec<Box<dyn Objective>> = (0..6).map(|k| plain::objective(k, n_groups)).collect();
    // Alternate between kinds of outputs, so that no objective finds the outputs of another.
    all.extend((0..N_KINDS).map(|k| objective((5 * k) % N_KINDS, n_groups, s)));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Values for many points at once are those of the definition, for every kind, two and more
    /// groups, weights, unknown groups and all settings.
    #[test]
    fn values_are_those_of_the_definition(seed: u64, n in 12_usize..2200, n_groups in 2_usize..6, weighted: bool, n_points in 1_usize..40, s in settings()) {
        let rows = rows(seed, n, n_groups, weighted);
        let all = problem(dataset(&rows, n_groups), objectives(n_groups, &s));
        let points = points(seed, n_points, 0.7);
        let values = all.values(&points).unwrap();
        for (i, x) in points.iter().enumerate().step_by(7) {
            for k in 0..N_KINDS {
                let (found, expected) = (values[i * N_KINDS + k], value(k, &s, &rows, x));
                // Sums of up to 2,200 terms in another order.
                prop_assert!(close(found, expected, 1e-11), "kind {k}: {found} is not {expected}");
            }
        }
        for k in 0..N_KINDS {
            let own: Vec<f64> = values.iter().skip(k).step_by(N_KINDS).copied().collect();
            prop_assert_eq!(all.values_of(k, &points).unwrap(), own);
        }
        // Nothing is below 0, except for rounding.
        prop_assert!(values.iter().all(|v| *v >= -1e-14), "{values:?}");
        // Other rows have their own weights and groups.
        let others = rows.iter().rev().step_by(2).cloned().collect::<Vec<_>>();
        let found = all.values_on(&dataset(&others, n_groups), &points).unwrap();
        for (i, x) in points.iter().enumerate().step_by(11) {
            for k in 0..N_KINDS {
                let (found, expected) = (found[i * N_KINDS + k], value(k, &s, &others, x));
                prop_assert!(close(found, expected, 1e-11), "kind {k}: {found} is not {expected}");
            }
        }
    }

    /// Gradients agree with central differences of the definition.
    #[test]
    fn gradients_agree_with_finite_differences(seed: u64, n_groups in 2_usize..6, weighted: bool, s in settings()) {
        let rows = rows(seed, 150, n_groups, weighted);
        let all = problem(dataset(&rows, n_groups), objectives(n_groups, &s));
        let points = points(seed, 2, 0.7);
        let gradients = all.gradients(&points, Batches::All).unwrap();
        let h = 3e-6;
        for k in 0..N_KINDS {
            prop_assert_eq!(&(&all as &dyn Problem).gradient_of(k, points.get(1)).unwrap(), gradients.get(k, 1));
            for (i, x) in points.iter().enumerate() {
                for j in 0..N_PARAMS {
                    let moved = |d: f64| {
                        let mut x = x.to_vec();
                        x[j] += d;
                        value(k, &s, &rows, &x)
                    };
                    let expected = (moved(h) - moved(-h)) / (2.0 * h);
                    let found = gradients.get(k, i)[j];
                    // h² of truncation times third derivatives of 1/τ³, β² and 1/μ²; 1e-15/h of
                    // rounding.
                    prop_assert!(close(found, expected, 1e-6), "kind {k}, parameter {j}: {found} is not {expected}");
                }
            }
        }
    }

    /// Values and gradients computed together equal those computed separately, whatever the
    /// objectives share.
    #[test]
    fn evaluations_agree(seed: u64, n in 12_usize..5000, n_groups in 2_usize..6, n_points in 1_usize..40, s in settings()) {
        let rows = rows(seed, n, n_groups, true);
        let data = || dataset(&rows, n_groups);
        let all = problem(data(), mixed(n_groups, &s));
        // A mean and an objective that needs no rows: computed in one pass.
        let means = problem(data(), vec![objective(ERROR, n_groups, &s), plain::objective(1, n_groups)]);
        let points = points(seed, n_points, 0.7);
        let mut random = Stream::new(seed, Purpose::Solver, [2, 2]);
        for both in [&all, &means] {
            let m = both.n_objectives();
            let values = both.values(&points).unwrap();
            let gradients = both.gradients(&points, Batches::All).unwrap();
            let (found, together) = both.evaluate(&points).unwrap();
            for (a, b) in found.iter().zip(&values) {
                prop_assert!(close(*a, *b, 1e-13));
            }
            // Weights of either sign, and 0.
            let weights: Vec<f64> = (0..n_points * m)
                .map(|_| if random.chance(0.2) { 0.0 } else { random.normal() })
                .collect();
            let (found, sums) = both.weighted(&points, &weights, Precision::Exact).unwrap();
            let (rough, rough_sums) = both.weighted(&points, &weights, Precision::Rough).unwrap();
            for ((found, rough), value) in found.iter().zip(&rough).zip(&values) {
                prop_assert!(close(*found, *value, 1e-13));
                prop_assert!(close(*rough, *value, 1e-4), "{rough} is not {value}");
            }
            for i in 0..n_points {
                let mut expected = [0.0; N_PARAMS];
                let mut size = 1.0;
                for k in 0..m {
                    let weight = weights[i * m + k];
                    for (j, g) in gradients.get(k, i).iter().enumerate() {
                        prop_assert!(close(together.get(k, i)[j], *g, 1e-13));
                        expected[j] += weight * g;
                        size += (weight * g).abs();
                    }
                }
                for (j, expected) in expected.iter().enumerate() {
                    let (sum, rough) = (sums[i * N_PARAMS + j], rough_sums[i * N_PARAMS + j]);
                    // Terms of this size, added in another order, and in single precision.
                    prop_assert!((sum - expected).abs() <= 1e-12 * size, "{sum} is not {expected}");
                    prop_assert!((rough - expected).abs() <= 1e-3 * size, "{rough} is not {expected}");
                }
            }
        }
    }

    /// Scores of ±1e4 cause no overflow, and values still match the definition.
    #[test]
    fn extreme_scores_are_finite(seed: u64, n_groups in 2_usize..6, s in settings()) {
        let rows = rows(seed, 100, n_groups, true);
        let all = problem(dataset(&rows, n_groups), objectives(n_groups, &s));
        let points = points(seed, 4, 1e4);
        let values = all.values(&points).unwrap();
        prop_assert!(values.iter().all(|v| v.is_finite()), "{values:?}");
        for (i, x) in points.iter().enumerate() {
            // Losses are as large as scores: the naive smooth maximum of them would overflow.
            for k in (0..N_KINDS).filter(|k| *k != WORST) {
                let (found, expected) = (values[i * N_KINDS + k], value(k, &s, &rows, x));
                prop_assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "kind {k}: {found} is not {expected}");
            }
        }
        let gradients = all.gradients(&points, Batches::All).unwrap();
        for k in 0..N_KINDS {
            for i in 0..points.len() {
                prop_assert!(gradients.get(k, i).iter().all(|g| g.is_finite()), "kind {k}");
            }
        }
    }

    /// Scores that single precision cannot hold are computed in double precision.
    #[test]
    fn huge_scores_are_computed_exactly(seed: u64, n_groups in 2_usize..6, s in settings()) {
        let rows = rows(seed, 100, n_groups, true);
        let loss: Vec<Box<dyn Objective>> = vec![Box::new(LogLoss { lambda: 0.0 }), objective(ERROR, n_groups, &s)];
        let problem = problem(dataset(&rows, n_groups), loss);
        let points = points(seed, 4, 1e40);
        let of = |precision| problem.weighted(&points, &[0.5; 8], precision).unwrap();
        let exact = of(Precision::Exact);
        prop_assert!(exact.0.iter().all(|v| v.is_finite()), "{:?}", exact.0);
        prop_assert_eq!(of(Precision::Rough), exact);
    }

    /// Only the worst group's loss claims to be convex, and chords lie above it.
    #[test]
    fn chords_lie_above_where_convexity_is_claimed(seed: u64, n_groups in 2_usize..6, share in 0.0..1.0_f64, scale in 0.1..10.0_f64, s in settings()) {
        let rows = rows(seed, 80, n_groups, true);
        let all = problem(dataset(&rows, n_groups), objectives(n_groups, &s));
        for k in 0..N_KINDS {
            prop_assert_eq!((&all as &dyn Problem).convex_below(k), (k == WORST).then_some(f64::INFINITY));
        }
        let mut points = points(seed, 2, scale);
        let between = |x: (&f64, &f64)| share * x.0 + (1.0 - share) * x.1;
        let middle: Vec<f64> = points.get(0).iter().zip(points.get(1)).map(between).collect();
        points.push(&middle);
        let values = all.values_of(WORST, &points).unwrap();
        let chord = share * values[0] + (1.0 - share) * values[1];
        prop_assert!(values[2] <= chord + 1e-12, "{} above {chord}", values[2]);
    }

    /// A softened problem is the one with temperatures times the factor; losses have no
    /// temperature.
    #[test]
    fn softening_is_another_temperature(seed: u64, n_groups in 2_usize..6, factor in 0.1..20.0_f64, s in settings()) {
        let hotter = Settings { tau: s.tau * factor, ..s };
        for k in 0..N_KINDS {
            let objective_k = objective(k, n_groups, &s);
            let softened = objective_k.temperature().map(|t| t.softened(factor));
            prop_assert_eq!(softened.is_some(), k <= INFORMATION);
            let Some(softened) = softened else { continue };
            let same = objective(k, n_groups, &hotter);
            // Information has the temperature 2τ: the same product, with the same rounding.
            prop_assert_eq!(softened.definition(), same.definition());
            prop_assert_eq!(softened.name(), same.name());
        }
        let rows = rows(seed, 200, n_groups, true);
        let all = problem(dataset(&rows, n_groups), mixed(n_groups, &s));
        let other = problem(dataset(&rows, n_groups), mixed(n_groups, &hotter));
        let points = points(seed, 3, 0.7);
        let softened = all.temperature().unwrap().softened(factor).unwrap();
        prop_assert_eq!(softened.values(&points).unwrap(), other.values(&points).unwrap());
        for k in 0..all.n_objectives() {
            prop_assert_eq!(softened.gradients_of(k, &points).unwrap(), other.gradients_of(k, &points).unwrap());
        }
        let losses = vec![plain::objective(0, n_groups), objective(CVAR, n_groups, &s)];
        let losses = problem(dataset(&rows, n_groups), losses);
        prop_assert!(losses.temperature().is_none());
    }

    /// Reordering groups changes nothing.
    #[test]
    fn the_order_of_groups_does_not_matter(seed: u64, n_groups in 2_usize..6, s in settings()) {
        let rows = rows(seed, 120, n_groups, true);
        let mut order: Vec<usize> = (0..n_groups).collect();
        let mut random = Stream::new(seed, Purpose::Synthetic, [5, 5]);
        for i in (1..n_groups).rev() {
            order.swap(i, random.below(i + 1));
        }
        let mut renamed = rows.clone();
        for row in &mut renamed {
            row.group = row.group.map(|g| order[g]);
        }
        let all = problem(dataset(&rows, n_groups), objectives(n_groups, &s));
        let other = problem(dataset(&renamed, n_groups), objectives(n_groups, &s));
        let points = points(seed, 3, 0.7);
        let (values, gradients) = all.evaluate(&points).unwrap();
        let (others, other_gradients) = other.evaluate(&points).unwrap();
        for (a, b) in values.iter().zip(&others) {
            prop_assert!(close(*a, *b, 1e-13), "{a} is not {b}");
        }
        for k in 0..N_KINDS {
            for (a, b) in gradients.get(k, 2).iter().zip(other_gradients.get(k, 2)) {
                prop_assert!(close(*a, *b, 1e-11), "kind {k}: {a} is not {b}");
            }
        }
    }

    /// Groups without weight, overall or among the rows that count, are left out.
    #[test]
    fn absent_groups_are_left_out(seed: u64, s in settings()) {
        let mut rows = rows(seed, 120, 5, true);
        for row in &mut rows {
            match row.group {
                // No rows, no weight, no positives, no negatives.
                Some(0) => row.group = Some(1),
                Some(2) => row.w = 0.0,
                Some(3) => row.y = -1.0,
                Some(4) => row.y = 1.0,
                _ => {}
            }
        }
        let all = problem(dataset(&rows, 5), objectives(5, &s));
        let points = points(seed, 3, 0.7);
        let (values, gradients) = all.evaluate(&points).unwrap();
        for (i, x) in points.iter().enumerate() {
            for k in 0..N_KINDS {
                let (found, expected) = (values[i * N_KINDS + k], value(k, &s, &rows, x));
                prop_assert!(close(found, expected, 1e-12), "kind {k}: {found} is not {expected}");
                prop_assert!(gradients.get(k, i).iter().all(|g| g.is_finite()), "kind {k}");
            }
        }
        // Compare with an attribute without the first and the third group.
        let mut fewer = rows.clone();
        fewer.retain(|r| r.group != Some(2));
        for row in &mut fewer {
            row.group = row.group.map(|g| [0, 0, 0, 1, 2][g]);
        }
        let fewer = problem(dataset(&fewer, 3), objectives(3, &s));
        for (a, b) in values.iter().zip(fewer.values(&points).unwrap()) {
            prop_assert!(close(*a, b, 1e-13), "{a} is not {b}");
        }
    }

    /// A single group, or none, cannot differ from another.
    #[test]
    fn one_group_alone_gives_zero(seed: u64, known: bool, label in 0_usize..3, s in settings()) {
        let mut rows = rows(seed, 60, 3, true);
        for row in &mut rows {
            row.group = row.group.filter(|_| known).map(|_| 1);
            row.y = [row.y, 1.0, -1.0][label];
        }
        let all = problem(dataset(&rows, 3), objectives(3, &s));
        let points = points(seed, 2, 0.7);
        let (values, gradients) = all.evaluate(&points).unwrap();
        for (i, x) in points.iter().enumerate() {
            for k in PARITIES.chain([INFORMATION, RISK_VARIANCE, CVAR]) {
                let found = values[i * N_KINDS + k];
                prop_assert!(found.abs() < 1e-14, "kind {k}: {found}");
                prop_assert!(gradients.get(k, i).iter().all(|g| g.abs() < 1e-13), "kind {k}");
            }
            // Its loss is the largest.
            let found = values[i * N_KINDS + WORST];
            prop_assert!(close(found, value(WORST, &s, &rows, x), 1e-13));
        }
    }
}

/// The mean of many stochastic gradients of the error rate is its gradient.
#[test]
fn stochastic_gradients_of_errors_are_unbiased() {
    let rows = rows(12, 400, 2, true);
    let s = Settings {
        tau: 0.2,
        lambda: 0.01,
        beta: 1.0,
        alpha: 0.5,
        mu: 0.1,
        clamp: 1e-6,
        shrink: 0.0,
        costs: Costs::EQUAL,
    };
    let all = problem(dataset(&rows, 2), vec![objective(ERROR, 2, &s)]);
    let points = points(12, 2, 0.7);
    let exact = all.gradients(&points, Batches::All).unwrap();
    let draws = 6_000;
    let mut sums = [0.0; N_PARAMS];
    let mut squares = [0.0; N_PARAMS];
    for draw in 0..draws {
        let batches = Batches::Sample {
            sizes: &[40],
            key: (1, [draw, 0]),
            outer: OuterBatch::Own,
        };
        let found = all.gradients(&points, batches).unwrap();
        for (j, g) in found.get(0, 1).iter().enumerate() {
            sums[j] += g;
            squares[j] += g * g;
        }
    }
    let n = draws as f64;
    for j in 0..N_PARAMS {
        let mean = sums[j] / n;
        let error = ((squares[j] / n - mean * mean).max(0.0) / n).sqrt();
        let off = (mean - exact.get(0, 1)[j]).abs();
        assert!(error > 0.0, "batches differ");
        assert!(off < 5.0 * error, "parameter {j}: {off} > 5 · {error}");
    }
}

/// With unequal costs, the start is the same model with its threshold moved.
#[test]
fn costs_move_the_start() {
    let rows = rows(6, 500, 2, true);
    let start = |costs: Costs| {
        let errors = fairfront_core::ErrorRate {
            costs,
            ..Default::default()
        };
        let all = problem(dataset(&rows, 2), vec![Box::new(errors)]);
        all.loss().unwrap().start(&StopSignal::default()).unwrap()
    };
    let (equal, other) = (
        start(Costs::EQUAL),
        start(Costs {
            false_positive: 2.0,
            false_negative: 10.0,
        }),
    );
    assert_eq!(equal[..N_PARAMS - 1], other[..N_PARAMS - 1]);
    let moved = other[N_PARAMS - 1] - equal[N_PARAMS - 1];
    assert!((moved - 5.0_f64.ln()).abs() < 1e-12);
}

/// The search for the smallest error rate starts where the log loss is smallest.
#[test]
fn the_error_rate_starts_at_the_smallest_log_loss() {
    let rows = rows(6, 500, 2, true);
    for lambda in [0.02, 0.0] {
        let errors = fairfront_core::ErrorRate {
            lambda,
            ..Default::default()
        };
        let all = problem(
            dataset(&rows, 2),
            vec![Box::new(errors), plain::objective(1, 2)],
        );
        assert!(
            all.loss()
                .unwrap()
                .minimizer(None, &StopSignal::default())
                .unwrap()
                .is_none()
        );
        let start = Points::from_vec(
            N_PARAMS,
            all.loss().unwrap().start(&StopSignal::default()).unwrap(),
        );
        let loss = problem(dataset(&rows, 2), vec![Box::new(LogLoss::default())]);
        let gradient = (&loss as &dyn Problem)
            .gradient_of(0, start.get(0))
            .unwrap();
        assert!(gradient.iter().all(|g| g.abs() < 1e-9), "{gradient:?}");
        assert!(start.as_slice().iter().any(|x| x.abs() > 1e-3));
    }
}
