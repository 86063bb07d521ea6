use std::sync::atomic::{AtomicUsize, Ordering};

use fairfront_core::{Batches, Error, OuterBatch, Points, Problem, StopSignal};
use proptest::prelude::*;

use crate::plain::{N_FEATURES, covariances, dataset, objective, problem, rows, smooth_max, value};

pub(crate) const N_PARAMS: usize = N_FEATURES + 1;

pub(crate) fn points(seed: u64, n: usize, scale: f64) -> Points {
    let mut random = fairfront_core::Stream::new(seed, fairfront_core::Purpose::Solver, [1, 1]);
    let data = (0..n * N_PARAMS).map(|_| scale * random.normal()).collect();
    Points::from_vec(N_PARAMS, data)
}

pub(crate) fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Values for many points at once are those of the definition, for every kind of objective,
    /// two and more groups, weights, unknown groups, categories without a feature.
    #[test]
    fn values_are_those_of_the_definition(seed: u64, n in 12_usize..2200, n_groups in 2_usize..5, weighted: bool, n_points in 1_usize..40) {
        let rows = rows(seed, n, n_groups, weighted);
        let all = problem(dataset(&rows, n_groups), (0..6).map(|k| objective(k, n_groups)).collect());
        let points = points(seed, n_points, 0.7);
        let values = all.values(&points).unwrap();
        for (i, x) in points.iter().enumerate().step_by(7) {
            for k in 0..6 {
                let expected = value(k, n_groups, &rows, x);
                // Sums of up to 2,200 terms in another order.
                prop_assert!(close(values[i * 6 + k], expected, 1e-11), "objective {k}: {} is not {expected}", values[i * 6 + k]);
            }
        }
        // One objective alone gives the same numbers.
        for k in 0..6 {
            let own: Vec<f64> = values.iter().skip(k).step_by(6).copied().collect();
            prop_assert_eq!(all.values_of(k, &points).unwrap(), own);
        }
        // Values computed with gradients are the same, except for the order of sums.
        let convex = problem(dataset(&rows, n_groups), (0..3).map(|k| objective(k, n_groups)).collect());
        for both in [&all, &convex] {
            let (together, gradients) = both.evaluate(&points).unwrap();
            let apart = both.gradients(&points, Batches::All).unwrap();
            for (a, b) in together.iter().zip(both.values(&points).unwrap()) {
                prop_assert!(close(*a, b, 1e-13));
            }
            for k in 0..both.n_objectives() {
                for i in 0..points.len() {
                    for (a, b) in gradients.get(k, i).iter().zip(apart.get(k, i)) {
                        prop_assert!(close(*a, *b, 1e-13));
                    }
                }
            }
        }
        // The same rows, passed as other rows, take no shortcut and give the same values.
        let other = dataset(&rows, n_groups);
        let again = all.values_on(&other, &points).unwrap();
        for (a, b) in values.iter().zip(&again) {
            prop_assert!(close(*a, *b, 1e-11));
        }
    }

    /// Gradients agree with central differences of the definition.
    #[test]
    fn gradients_agree_with_finite_differences(seed: u64, n_groups in 2_usize..5, weighted: bool) {
        let rows = rows(seed, 150, n_groups, weighted);
        let all = problem(dataset(&rows, n_groups), (0..6).map(|k| objective(k, n_groups)).collect());
        let points = points(seed, 3, 0.7);
        let gradients = all.gradients(&points, Batches::All).unwrap();
        let h = 1e-5;
        for k in 0..6 {
            prop_assert_eq!(&(&all as &dyn Problem).gradient_of(k, points.get(2)).unwrap(), gradients.get(k, 2));
            for i in 0..3 {
                for j in 0..N_PARAMS {
                    let moved = |d: f64| {
                        let mut x = points.get(i).to_vec();
                        x[j] += d;
                        value(k, n_groups, &rows, &x)
                    };
                    let expected = (moved(h) - moved(-h)) / (2.0 * h);
                    let found = gradients.get(k, i)[j];
                    // h² of truncation; smooth-min has a jump in its second derivative at ±μ.
                    prop_assert!(close(found, expected, 3e-6), "objective {k}, parameter {j}: {found} is not {expected}");
                }
            }
        }
    }

    /// Scores of ±1e4 cause no overflow.
    #[test]
    fn extreme_scores_are_finite(seed: u64, n_groups in 2_usize..5) {
        let rows = rows(seed, 100, n_groups, true);
        let all = problem(dataset(&rows, n_groups), (0..6).map(|k| objective(k, n_groups)).collect());
        let points = points(seed, 4, 1e4);
        let values = all.values(&points).unwrap();
        prop_assert!(values.iter().all(|v| v.is_finite()));
        for (i, x) in points.iter().enumerate() {
            let loss = value(0, n_groups, &rows, x);
            prop_assert!(close(values[i * 6], loss, 1e-11));
        }
        let gradients = all.gradients(&points, Batches::All).unwrap();
        for k in 0..6 {
            for i in 0..4 {
                prop_assert!(gradients.get(k, i).iter().all(|g| g.is_finite()));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Roots are the covariances of the definition, their gradients match its central differences,
    /// and the objective is the smooth maximum of their squares. Many points at once give the same
    /// values.
    #[test]
    fn roots_are_the_covariances(seed: u64, n_groups in 2_usize..5, weighted: bool, n_points in 1_usize..40) {
        let rows = rows(seed, 150, n_groups, weighted);
        let all = problem(dataset(&rows, n_groups), (0..6).map(|k| objective(k, n_groups)).collect());
        let points = points(seed, n_points, 0.7);
        let values = all.values(&points).unwrap();
        prop_assert_eq!(all.roots().map_or(0, |r| r.n_roots(0)), 0);
        let x = points.get(n_points - 1);
        for k in 1..6 {
            let n_roots = if n_groups == 2 { 1 } else { n_groups };
            prop_assert_eq!(all.roots().map_or(0, |r| r.n_roots(k)), n_roots);
            let roots = all.roots().unwrap().roots_at(k, x).unwrap();
            prop_assert_eq!(roots.affine, k < 3, "the covariance of a linear score is affine");
            let expected = covariances(k, n_groups, &rows, x);
            prop_assert_eq!(roots.values.len(), n_roots);
            for (found, expected) in roots.values.iter().zip(&expected) {
                // Sums of 150 terms in another order.
                prop_assert!(close(*found, *expected, 1e-12), "{found} is not {expected}");
            }
            let squares: Vec<f64> = roots.values.iter().map(|c| c * c).collect();
            let found = values[(n_points - 1) * 6 + k];
            prop_assert!(close(found, smooth_max(k, &squares), 1e-12));

            let many = all.roots().unwrap().root_values(k, &points).unwrap();
            prop_assert_eq!(many.len(), n_points * n_roots);
            for (a, b) in many[(n_points - 1) * n_roots..].iter().zip(&roots.values) {
                prop_assert!(close(*a, *b, 1e-13));
            }
            let h = 1e-5;
            for j in 0..N_PARAMS {
                let moved = |d: f64| {
                    let mut x = x.to_vec();
                    x[j] += d;
                    covariances(k, n_groups, &rows, &x)
                };
                for ((up, down), gradient) in moved(h).iter().zip(moved(-h)).zip(&roots.gradients) {
                    let expected = (up - down) / (2.0 * h);
                    // h² of truncation; smooth-min has a jump in its second derivative at ±μ.
                    prop_assert!(close(gradient[j], expected, 3e-6), "objective {k}, parameter {j}");
                }
            }
        }
    }
}

/// The distance of the mean of many stochastic gradients of three objectives from the gradient,
/// parameter by parameter, with the standard error of the mean and the length of the gradient.
fn offsets(n_groups: usize, weighted: bool, size: usize) -> Vec<Vec<[f64; 3]>> {
    let rows = rows(5, 600, n_groups, weighted);
    let all = problem(
        dataset(&rows, n_groups),
        [0, 1, 3].map(|k| objective(k, n_groups)).into(),
    );
    let points = points(5, 2, 0.7);
    let exact = all.gradients(&points, Batches::All).unwrap();
    let draws = 6_000;
    let mut sums = vec![vec![0.0; N_PARAMS]; 3];
    let mut squares = sums.clone();
    for draw in 0..draws {
        let batches = Batches::Sample {
            sizes: &[40, 40, size],
            key: (1, [draw, 0]),
            outer: OuterBatch::Own,
        };
        let found = all.gradients(&points, batches).unwrap();
        for k in 0..3 {
            for j in 0..N_PARAMS {
                sums[k][j] += found.get(k, 1)[j];
                squares[k][j] += found.get(k, 1)[j].powi(2);
            }
        }
    }
    let n = draws as f64;
    let of = |k: usize, j: usize| {
        let mean = sums[k][j] / n;
        let error = ((squares[k][j] / n - mean * mean).max(0.0) / n).sqrt();
        let length = exact.get(k, 1).iter().map(|g| g * g).sum::<f64>().sqrt();
        [(mean - exact.get(k, 1)[j]).abs(), error, length]
    };
    let all = (0..3).map(|k| (0..N_PARAMS).map(|j| of(k, j)).collect());
    all.collect()
}

/// The mean of many stochastic gradients is the gradient: for the loss by sampling, for the
/// covariance of a linear score exactly, for the covariance given a positive label through two
/// independent batches. The last holds for two groups, whose objective is a square, and for equal
/// weights, for which strata fix the shares.
#[test]
fn stochastic_gradients_are_unbiased() {
    for (k, of_objective) in offsets(2, false, 60).iter().enumerate() {
        for (j, [off, error, _]) in of_objective.iter().enumerate() {
            assert!(
                *off < 5.0 * error + 1e-12,
                "objective {k}, parameter {j}: {off} > 5 · {error}"
            );
            // The covariance of a linear score needs no sampling.
            assert!(k != 1 || *off < 1e-12);
        }
    }
}

/// With more groups, h′ is that of a smooth maximum, and with weights, shares are ratios: a bias
/// remains, which falls as the batch grows.
#[test]
fn the_bias_of_many_groups_falls_with_the_batch() {
    let share = |size: usize| {
        let all = offsets(3, true, size);
        for [off, error, _] in &all[0] {
            assert!(*off < 5.0 * error, "{off} > 5 · {error}");
        }
        assert!(all[1].iter().all(|[off, ..]| *off < 1e-12));
        let length = all[2][0][2];
        all[2].iter().map(|[off, ..]| off * off).sum::<f64>().sqrt() / length
    };
    let (small, large) = (share(60), share(400));
    assert!(small < 1.0 && large < 0.05, "{small}, {large}");
}

#[test]
fn the_hessian_agrees_with_differences_of_gradients() {
    let rows = rows(8, 300, 2, true);
    let loss = problem(dataset(&rows, 2), vec![objective(0, 2)]);
    let x: Vec<f64> = points(8, 1, 0.5).get(0).to_vec();
    let second = loss.second_order().unwrap().expand(&x).unwrap();
    let gradient = |x: &[f64]| {
        let points = Points::from_vec(N_PARAMS, x.to_vec());
        loss.gradients(&points, Batches::All)
            .unwrap()
            .get(0, 0)
            .to_vec()
    };
    let h = 1e-5;
    for j in 0..N_PARAMS {
        let mut up = x.clone();
        let mut down = x.clone();
        up[j] += h;
        down[j] -= h;
        for (i, (a, b)) in gradient(&up)
            .iter()
            .zip(gradient(&down))
            .enumerate()
            .skip(j)
        {
            let expected = (a - b) / (2.0 * h);
            assert!(close(second.lower[i * N_PARAMS + j], expected, 1e-8));
        }
    }
    // The same sums in another order.
    for (a, b) in second.gradient.iter().zip(gradient(&x)) {
        assert!(close(*a, b, 1e-14));
    }
    let value = loss.values(&Points::from_vec(N_PARAMS, x)).unwrap()[0];
    assert!(close(second.value, value, 1e-14));
}

proptest! {
    /// Derivatives with respect to the roots agree with central differences, and the value with
    /// that of the objective.
    #[test]
    fn objectives_are_functions_of_their_roots(seed: u64, n_groups in 2_usize..5, kind in 1_usize..6) {
        let rows = rows(seed, 60, n_groups, false);
        let all = problem(dataset(&rows, n_groups), vec![objective(0, n_groups), objective(kind, n_groups)]);
        let points = points(seed, 1, 1.0);
        let roots = all.roots().unwrap().roots_at(1, points.get(0)).unwrap().values;
        let found = all.roots().unwrap().of_roots(1, &roots).unwrap();
        prop_assert!(close(found.value, all.values(&points).unwrap()[1], 1e-12));
        let (n, h) = (roots.len(), 1e-5);
        for i in 0..n {
            let moved = |by: f64| {
                let mut roots = roots.clone();
                roots[i] += by;
                all.roots().unwrap().of_roots(1, &roots).unwrap()
            };
            let (up, down) = (moved(h), moved(-h));
            prop_assert!(close(found.slope[i], (up.value - down.value) / (2.0 * h), 1e-8));
            for j in 0..n {
                let expected = (up.slope[j] - down.slope[j]) / (2.0 * h);
                prop_assert!(close(found.curvature[i * n + j], expected, 1e-7));
            }
        }
    }

    /// Where an objective claims to be convex, chords lie above it.
    #[test]
    fn chords_lie_above_where_convexity_is_claimed(seed: u64, n_groups in 2_usize..6, kind in 0_usize..6, share in 0.0..1.0_f64) {
        let rows = rows(seed, 80, n_groups, true);
        let all = problem(dataset(&rows, n_groups), vec![objective(0, n_groups), objective(kind, n_groups)]);
        let Some(limit) = (&all as &dyn Problem).convex_below(1) else { return Ok(()) };
        let mut ends = points(seed, 2, 1.0);
        // Move the ends toward 0 until both values are low enough.
        while all.values_of(1, &ends).unwrap().iter().any(|v| *v > limit) {
            let closer = ends.as_slice().iter().map(|x| 0.7 * x).collect();
            ends = Points::from_vec(N_PARAMS, closer);
        }
        let between = |x: (&f64, &f64)| share * x.0 + (1.0 - share) * x.1;
        let middle = ends.get(0).iter().zip(ends.get(1)).map(between).collect();
        let low = all.values_of(1, &Points::from_vec(N_PARAMS, middle)).unwrap()[0];
        let values = all.values_of(1, &ends).unwrap();
        prop_assert!(low <= share * values[0] + (1.0 - share) * values[1] + 1e-12);
    }

    /// Models with at most a given loss are within the bounds.
    #[test]
    fn parameters_are_within_their_bounds(seed: u64, scale in 0.1..30.0_f64) {
        let rows = rows(seed, 80, 2, true);
        let all = problem(dataset(&rows, 2), vec![objective(0, 2)]);
        let points = points(seed, 1, scale);
        let level = all.values(&points).unwrap()[0];
        let bounds = (&all as &dyn Problem).bounds(level).unwrap().unwrap();
        for (x, radius) in points.get(0).iter().zip(&bounds.radius) {
            prop_assert!(x.abs() <= *radius, "{x} beyond {radius}");
        }
        prop_assert_eq!(bounds.modulus[N_FEATURES], 0.0);
        prop_assert!(bounds.modulus[0] > 0.0);
    }
}

#[test]
fn the_gradient_of_the_unmitigated_model_is_zero() {
    let rows = rows(3, 2_000, 2, false);
    let data = dataset(&rows, 2);
    assert_eq!(data.n_rows(), 2_000);
    let loss = problem(data, vec![objective(0, 2), objective(1, 2)]);
    let x = loss
        .loss()
        .unwrap()
        .minimizer(None, &StopSignal::default())
        .unwrap()
        .unwrap();
    let points = Points::from_vec(N_PARAMS, x);
    let gradient = loss.gradients(&points, Batches::All).unwrap();
    assert!(
        gradient.get(0, 0).iter().all(|g| g.abs() < 1e-10),
        "{gradient:?}"
    );
}

#[test]
fn a_stop_ends_newtons_method() {
    let rows = rows(3, 2_000, 2, false);
    let loss = problem(dataset(&rows, 2), vec![objective(0, 2), objective(1, 2)]);
    // Before its first pass over the rows, and between two of them.
    for looks in [0, 2] {
        let looked = AtomicUsize::new(0);
        let stop = StopSignal::new(move || looked.fetch_add(1, Ordering::Relaxed) >= looks);
        assert!(matches!(
            loss.loss().unwrap().minimizer(None, &stop),
            Err(Error::Stopped)
        ));
    }
}

#[test]
fn steps_orthogonal_to_the_gradients_of_affine_roots_keep_a_zero() {
    let rows = rows(4, 500, 4, true);
    let all = problem(dataset(&rows, 4), vec![objective(0, 4), objective(1, 4)]);
    let roots = all.roots().unwrap().roots_at(1, &[0.0; N_PARAMS]).unwrap();
    assert!(roots.affine);
    let directions = roots.gradients;
    assert_eq!(directions.len(), 4);
    // Gram–Schmidt of a random step against the directions.
    let mut step = points(4, 1, 1.0).get(0).to_vec();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    for d in &directions {
        let mut d = d.clone();
        for b in &basis {
            let s = dot(&d, b);
            d.iter_mut().zip(b).for_each(|(d, b)| *d -= s * b);
        }
        let norm = dot(&d, &d).sqrt();
        if norm > 1e-10 {
            basis.push(d.iter().map(|v| v / norm).collect());
        }
    }
    for b in &basis {
        let s = dot(&step, b);
        step.iter_mut().zip(b).for_each(|(x, b)| *x -= s * b);
    }
    let value = all.values(&Points::from_vec(N_PARAMS, step)).unwrap()[1];
    assert!(value < 1e-24, "{value}");
}
