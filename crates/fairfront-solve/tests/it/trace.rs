use fairfront_core::{Batches, Condition, Covariance, Points, Problem, SmoothMax, StopSignal};
use fairfront_pareto::dominates;
use fairfront_solve::{
    AnySolver, EpsFair, Outcome, Setting, Settings, Solver, StopReason, Trace, prove,
};

use crate::analytic::{Bounded, Quadratics};
use crate::observer::Impatient;
use crate::pf_smg::fair_problem;
use crate::table::Table;
use crate::trace_tolerance::least_near;

fn settings(points: usize) -> Trace {
    Trace {
        points,
        ..Trace::default()
    }
}

/// Solves, and checks properties of every front.
fn solve(problem: &dyn Problem, settings: &Trace) -> Outcome {
    let outcome = settings.solve(problem, &mut ()).unwrap();
    check(problem, &outcome);
    outcome
}

fn check(problem: &dyn Problem, outcome: &Outcome) {
    let front = &outcome.front;
    assert!(!front.is_empty());
    assert_eq!(outcome.proofs.len(), front.len());
    assert_eq!(problem.values(&front.points).unwrap(), front.values);
    for i in 0..front.len() {
        assert!(front.value(i).iter().all(|v| v.is_finite()));
        assert!((0..front.len()).all(|j| !dominates(front.value(j), front.value(i))));
        assert!(i == 0 || front.value(i - 1)[0] <= front.value(i)[0]);
    }
}

/// Checks that no optimality gap is missing or above this.
fn check_gaps(outcome: &Outcome, most: f64) {
    for (i, proof) in outcome.proofs.iter().enumerate() {
        let gap = proof.gap;
        assert!(
            gap.is_some_and(|gap| (0.0..=most).contains(&gap)),
            "{i} of {}: {gap:?} at {:?}",
            outcome.front.len(),
            outcome.front.value(i)
        );
    }
}

/// The largest distance between neighbors, with both objectives scaled by their ranges, over the
/// mean.
fn unevenness(outcome: &Outcome) -> f64 {
    let front = &outcome.front;
    let range = |k: usize| {
        let ends = [front.value(0)[k], front.value(front.len() - 1)[k]];
        (ends[0] - ends[1]).abs()
    };
    let steps: Vec<f64> = (1..front.len())
        .map(|i| {
            let (a, b) = (front.value(i - 1), front.value(i));
            ((a[0] - b[0]) / range(0)).hypot((a[1] - b[1]) / range(1))
        })
        .collect();
    let mean = steps.iter().sum::<f64>() / steps.len() as f64;
    steps.iter().copied().fold(0.0, f64::max) / mean
}

/// ‖∇f₁ + ν∇f₂‖/‖∇f₁‖ with the best ν ≥ 0.
fn kkt_residual(problem: &dyn Problem, x: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let at = Points::from_vec(x.len(), x.to_vec());
    let both = problem.gradients(&at, Batches::All).unwrap();
    let (a, b) = (both.get(0, 0), both.get(1, 0));
    let nu = (-dot(a, b) / dot(b, b)).max(0.0);
    let left: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + nu * b).collect();
    (dot(&left, &left) / dot(a, a)).sqrt()
}

fn one_bound() -> Bounded {
    Bounded {
        curvature: vec![1.0, 10.0, 100.0, 1e3, 1e4],
        center: vec![0.5, -1.0, 0.2, 0.1, 0.3],
        affine: vec![vec![(vec![1.0, 0.5, -2.0, 3.0, 20.0], -0.7)]],
    }
}

/// f₁ = (r₀ − r)²/(2 u·Q⁻¹u).
#[test]
fn a_quadratic_loss_and_one_covariance() {
    let problem = one_bound();
    let (u, shift) = &problem.affine[0][0];
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let largest = (shift + dot(u, &problem.center)).abs();
    let terms = u.iter().zip(&problem.curvature);
    let spread: f64 = terms.map(|(u, q)| u * u / q).sum();
    for points in [2, 3, 10, 1_000] {
        let outcome = solve(&problem, &settings(points));
        assert_eq!(outcome.stop, StopReason::Complete);
        assert_eq!(outcome.front.len(), points);
        check_gaps(&outcome, 1e-10);
        for i in 0..points {
            let [loss, square] = outcome.front.value(i) else {
                panic!("two objectives");
            };
            let expected = (largest - square.sqrt()).powi(2) / (2.0 * spread);
            assert!((loss - expected).abs() < 1e-10, "{loss} is not {expected}");
        }
        let ends = [outcome.front.value(0), outcome.front.value(points - 1)];
        assert!(ends[0][0] < 1e-13 && (ends[0][1] - largest * largest).abs() < 1e-10);
        assert!(ends[1][1] < 1e-28, "{:e}", ends[1][1]);
        let uneven = unevenness(&outcome);
        assert!(uneven < 1.5, "{points} points: {uneven}");
    }
}

/// The fairest point is optimal, regardless of the number of points.
#[test]
fn many_points_keep_the_fairest() {
    let outcome = solve(&one_bound(), &settings(3_000));
    assert!(outcome.front.value(outcome.front.len() - 1)[1] < 1e-28);
    let outcome = settings(40_000).solve(&one_bound(), &mut ()).unwrap();
    assert_eq!(outcome.front.len(), 40_000);
    assert!(outcome.front.value(39_999)[1] < 1e-28);
    let several = Table::random(1, 300, 3, &[3]).impact();
    let outcome = settings(10_000).solve(&several, &mut ()).unwrap();
    assert_eq!(outcome.front.len(), 10_000);
    let uneven = unevenness(&outcome);
    assert!(uneven < 1.5, "{uneven}");
}

/// x₁² and x₂² in one objective, their mean: xᵢ = aᵢqᵢ/(qᵢ + ν) for some ν.
#[test]
fn a_quadratic_loss_and_two_covariances_in_one() {
    let unit = |i: usize| (0..3).map(|j| f64::from(u8::from(i == j))).collect();
    let problem = Bounded {
        curvature: vec![1.0, 4.0, 2.0],
        center: vec![2.0, -1.0, 1.5],
        affine: vec![vec![(unit(0), 0.0), (unit(1), 0.0)]],
    };
    // With ν = s/(1 − s).
    let x = |s: f64, i: usize| {
        let q = problem.curvature[i] * (1.0 - s);
        problem.center[i] * q / (q + s)
    };
    let least = |square: f64| {
        let (mut low, mut high): (f64, f64) = (0.0, 1.0);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            let there = 0.5 * (x(middle, 0).powi(2) + x(middle, 1).powi(2));
            *(if there > square { &mut low } else { &mut high }) = middle;
        }
        let of = |i: usize| 0.5 * problem.curvature[i] * (x(high, i) - problem.center[i]).powi(2);
        of(0) + of(1)
    };
    for points in [2, 3, 4, 10, 300] {
        let outcome = solve(&problem, &settings(points));
        assert_eq!(outcome.front.len(), points);
        check_gaps(&outcome, 1e-8);
        for i in 0..points {
            let [loss, square] = outcome.front.value(i) else {
                panic!("two objectives");
            };
            let expected = least(*square);
            assert!((loss - expected).abs() < 1e-10, "{loss} is not {expected}");
        }
        assert!(outcome.front.value(0)[0] < 1e-13);
        let last = outcome.front.value(points - 1);
        assert!(last[1] < 1e-28 && (last[0] - 4.0).abs() < 1e-12);
        let uneven = unevenness(&outcome);
        assert!(uneven < 1.5, "{points} points: {uneven}");
    }
}

/// xᵢ² as objectives: Σ ½qᵢ(|aᵢ| − rᵢ)².
#[test]
fn quadratic_losses_with_more_objectives() {
    for m in [3, 4, 6] {
        let unit = |i: usize| (0..m).map(|j| f64::from(u8::from(i == j))).collect();
        let problem = Bounded {
            curvature: (0..m).map(|i| 1.0 + i as f64).collect(),
            center: (0..m).map(|i| 1.0 - 0.3 * i as f64).collect(),
            affine: (0..m - 1).map(|i| vec![(unit(i), 0.0)]).collect(),
        };
        for points in [2, 50, 200] {
            let outcome = solve(
                &problem,
                &Trace {
                    hole: 0.1,
                    ..settings(points)
                },
            );
            assert_eq!(outcome.front.len(), points, "{m} objectives");
            check_gaps(&outcome, 1e-10);
            for i in 0..points {
                let values = outcome.front.value(i);
                let of = |i: usize| problem.center[i].abs() - values[i + 1].sqrt();
                let expected: f64 = (0..m - 1)
                    .map(|i| 0.5 * problem.curvature[i] * of(i).powi(2))
                    .sum();
                let off = (values[0] - expected).abs();
                assert!(off < 1e-10, "{} is not {expected}", values[0]);
            }
            assert!(outcome.front.value(0)[0] < 1e-13);
            let last = outcome.front.value(points - 1);
            assert!(
                points == 2 || last[1..].iter().all(|v| *v < 1e-28),
                "{last:?}"
            );
        }
    }
}

#[test]
fn one_objective_is_one_point() {
    let problem = Table::random(1, 60, 2, &[2]).with(Vec::new());
    let outcome = solve(&problem, &settings(10));
    assert_eq!(outcome.front, outcome.unmitigated);
    check_gaps(&outcome, 1e-12);
}

/// Both ends are exact, gaps are small, and the number of points is as requested.
fn check_curve(problem: &dyn Problem, points: usize) -> Outcome {
    let outcome = solve(problem, &settings(points));
    let front = &outcome.front;
    assert_eq!(outcome.stop, StopReason::Complete);
    assert_eq!(front.len(), points);
    // Points are refined until this is proven; most are far closer.
    check_gaps(&outcome, 1e-6 * std::f64::consts::LN_2);
    let first = (front.value(0)[0] - outcome.unmitigated.values[0]).abs();
    assert!(first < 1e-14, "{first:e}");
    let largest = outcome.unmitigated.values[1];
    let last = front.value(points - 1)[1];
    assert!(last < 1e-24 * largest, "{last:e} of {largest:e}");
    let uneven = unevenness(&outcome);
    assert!(uneven < 1.5, "{points} points: {uneven}");
    outcome
}

#[test]
fn curves_of_the_log_loss() {
    for (n_groups, d) in [(2, 3), (3, 3), (5, 6), (5, 2)] {
        let table = Table::random(1, 300, d, &[n_groups]);
        for points in [2, 3, 10, 1_000] {
            check_curve(&table.impact(), points);
        }
        let lse = table.with(vec![Covariance {
            smooth_max: SmoothMax::LogSumExp,
            beta: 30.0,
            ..table.covariance(Condition::All, 0)
        }]);
        check_curve(&lse, 50);
        let heavy = Table {
            weights: (0..300).map(|i| 0.01 + f64::from(i % 5)).collect(),
            ..table
        };
        check_curve(&heavy.impact(), 50);
    }
}

#[test]
fn odd_tables() {
    let table = Table::random(2, 200, 3, &[2]);
    // A duplicated feature, and one that is the sum of two others.
    let mut doubled = table.clone();
    for z in &mut doubled.features {
        z.extend([z[0], z[0] + z[1]]);
    }
    check_curve(&doubled.impact(), 50);
    // With a single feature, the fairest model does not use it.
    let mut narrow = table.clone();
    narrow.features.iter_mut().for_each(|z| z.truncate(1));
    let outcome = check_curve(&narrow.impact(), 50);
    let last = outcome.front.points.get(49);
    assert!(last[0].abs() < 1e-12, "{last:?}");
    narrow.groups = Table::random(2, 200, 3, &[4]).groups;
    check_curve(&narrow.impact(), 50);
    // A feature separates the labels.
    let mut separable = table.clone();
    for (y, z) in separable.labels.iter_mut().zip(&separable.features) {
        *y = if z[0] + z[1] > 0.3 { 1.0 } else { -1.0 };
    }
    check_curve(&separable.impact(), 50);
    // The attribute is the label.
    let mut same = table.clone();
    same.groups[0].1 = same.labels.iter().map(|y| u32::from(*y > 0.0)).collect();
    check_curve(&same.impact(), 50);
    // Some rows have weight 0.
    let mut none = table.clone();
    none.weights.iter_mut().step_by(3).for_each(|w| *w = 0.0);
    check_curve(&none.impact(), 50);
}

/// Every row occurs once in each group, so there is nothing to trade off. Features have few bits,
/// so that the covariances are exactly 0, without rounding.
#[test]
fn an_attribute_uncorrelated_with_everything() {
    for k in [2, 4] {
        let mut table = Table::random(3, 100, 3, &[2]);
        for z in table.features.iter_mut().flatten() {
            *z = (8.0 * *z).round() / 8.0;
        }
        let repeat = |v: &Vec<f64>| -> Vec<f64> { (0..k).flat_map(|_| v.clone()).collect() };
        let many = Table {
            features: (0..k).flat_map(|_| table.features.clone()).collect(),
            labels: repeat(&table.labels),
            weights: repeat(&table.weights),
            groups: vec![(k, (0..k as u32).flat_map(|g| vec![g; 100]).collect())],
            lambda: 1e-3,
        };
        let outcome = solve(&many.impact(), &settings(100));
        assert_eq!(outcome.front, outcome.unmitigated, "{k} groups");
        assert_eq!(outcome.stop, StopReason::Complete);
        check_gaps(&outcome, 1e-12);
    }
}

/// Without a penalty, nothing is proven, but the front is found.
#[test]
fn no_penalty() {
    for n_groups in [2, 3] {
        let table = Table {
            lambda: 0.0,
            ..Table::random(4, 300, 3, &[n_groups])
        };
        let mut doubled = table.clone();
        doubled.features.iter_mut().for_each(|z| z.push(z[1]));
        let single = table.impact();
        for (number, table) in [&table, &doubled].into_iter().enumerate() {
            let outcome = solve(&table.impact(), &settings(41));
            assert_eq!(outcome.front.len(), 41);
            let last = outcome.front.value(40)[1];
            assert!(last < 1e-18, "{n_groups} groups: {last:e}");
            for i in 1..40 {
                // For equal features, only the sum of the coefficients counts.
                let mut x = outcome.front.points.get(i).to_vec();
                if number == 1 {
                    x[1] += x.remove(3);
                }
                let values = single.values(&Points::from_vec(4, x.clone())).unwrap();
                let over = values[0] - least_near(&single, &x);
                assert!(over.abs() < 1e-11, "{n_groups} groups: {over:e}");
            }
        }
        // The best model is not finite.
        let mut separable = table;
        for (y, z) in separable.labels.iter_mut().zip(&separable.features) {
            *y = if z[0] + z[1] > 0.3 { 1.0 } else { -1.0 };
        }
        let problem = separable.impact();
        if let Ok(outcome) = settings(20).solve(&problem, &mut ()) {
            check(&problem, &outcome);
        }
    }
}

/// Beyond the limit of Boltzmann's maximum, nothing is proven; below it, everything is.
#[test]
fn large_covariances() {
    let mut table = Table::random(5, 300, 3, &[3]);
    for (z, group) in table.features.iter_mut().zip(&table.groups[0].1) {
        z[0] += 2.0 * f64::from(*group % 4);
    }
    for (y, z) in table.labels.iter_mut().zip(&table.features) {
        if z[0].abs() > 1.5 {
            *y = z[0].signum();
        }
    }
    let problem = table.impact();
    let limit = problem.bound().unwrap().convex_below(1).unwrap();
    let outcome = solve(&problem, &settings(60));
    assert!(outcome.unmitigated.values[1] > limit);
    let mut proven = 0;
    for (i, proof) in outcome.proofs.iter().enumerate() {
        assert_eq!(proof.gap.is_some(), outcome.front.value(i)[1] <= limit);
        assert!(proof.gap.is_none_or(|gap| gap < 1e-6));
        proven += usize::from(proof.gap.is_some());
    }
    assert!(proven > 0 && proven < outcome.front.len());
    for x in outcome.front.points.iter().skip(1).take(50) {
        let residual = kkt_residual(&problem, x);
        assert!(residual < 1e-4, "{residual:e}");
    }
}

/// EPS-fair and weighted sums find no point better than the curve, and their points are on it.
#[test]
fn other_solvers_find_the_same_front() {
    for n_groups in [2, 3] {
        let problem = Table::random(7, 300, 3, &[n_groups]).impact();
        let exact = solve(&problem, &settings(2_000)).front;
        let loss_at = |square: f64| {
            let after = (1..exact.len())
                .find(|i| exact.value(*i)[1] <= square)
                .unwrap_or(exact.len() - 1);
            let (a, b) = (exact.value(after - 1), exact.value(after));
            let share = ((a[1] - square) / (a[1] - b[1])).clamp(0.0, 1.0);
            (a[0] + share * (b[0] - a[0]), (b[0] - a[0]).powi(2))
        };
        let eps = EpsFair {
            points: 30,
            ..EpsFair::default()
        };
        let eps = eps.solve(&problem, &mut ()).unwrap().front;
        for i in 0..eps.len() {
            let [loss, square] = eps.value(i) else {
                panic!("two objectives");
            };
            let (expected, off) = loss_at(*square);
            assert!(
                loss - expected > -off - 1e-6,
                "{loss} is better than {expected}"
            );
            if n_groups == 2 {
                // With one covariance, both solve the same problem.
                assert!((loss - expected).abs() < off + 1e-6);
            }
        }
        // f1 + w f2 by plain descent with Newton steps of f1.
        for weight in [0.1, 1.0, 10.0] {
            let mut x = problem
                .loss()
                .unwrap()
                .minimizer(None, &StopSignal::default())
                .unwrap()
                .unwrap();
            let preconditioner = problem.loss().unwrap().preconditioner(&x).unwrap();
            for _ in 0..20_000 {
                let at = Points::from_vec(x.len(), x.clone());
                let both = problem.gradients(&at, Batches::All).unwrap();
                let pairs = both.get(0, 0).iter().zip(both.get(1, 0));
                let mut step: Vec<f64> = pairs.map(|(a, b)| a + weight * b).collect();
                if step.iter().all(|s| s.abs() < 1e-11) {
                    break;
                }
                preconditioner.step(&mut step);
                x.iter_mut().zip(&step).for_each(|(x, s)| *x -= 0.1 * s);
            }
            let values = problem.values(&Points::from_vec(x.len(), x)).unwrap();
            let (expected, off) = loss_at(values[1]);
            let distance = (values[0] - expected).abs();
            assert!(distance < off + 1e-6, "weight {weight}: {distance:e}");
        }
    }
}

#[test]
fn surfaces_of_the_log_loss() {
    let table = Table::random(8, 300, 4, &[2, 3, 2]);
    for m in [3, 4] {
        let own = Table {
            groups: table.groups[..m - 1].to_vec(),
            ..table.clone()
        };
        let problem = own.impact();
        for points in [2, 100] {
            let outcome = solve(
                &problem,
                &Trace {
                    hole: 0.15,
                    ..settings(points)
                },
            );
            assert_eq!(outcome.stop, StopReason::Complete);
            assert!(outcome.front.len() <= points && outcome.front.len() > points / 2);
            check_gaps(&outcome, 1e-9);
            assert_eq!(outcome.front.value(0)[0], outcome.unmitigated.values[0]);
            let last = outcome.front.value(outcome.front.len() - 1);
            let fairest = last.iter().zip(&outcome.unmitigated.values).skip(1);
            for (last, largest) in fairest {
                assert!(
                    points == 2 || *last < 1e-20 * largest,
                    "{m}, {points}: {last:e}"
                );
            }
            assert_eq!(outcome.counters.subproblems.unwrap().failed, 0);
        }
    }
    // The same attribute twice: its objectives agree, so the surface is a curve.
    let twice = Table {
        groups: vec![table.groups[0].clone(), table.groups[0].clone()],
        ..table
    };
    let outcome = solve(&twice.impact(), &settings(100));
    check_gaps(&outcome, 1e-9);
    for i in 0..outcome.front.len() {
        let values = outcome.front.value(i);
        assert_eq!(values[1], values[2]);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let table = Table::random(9, 1_500, 3, &[3]);
    let errors = fair_problem();
    let problems: [(&dyn Problem, usize); 2] = [(&table.impact(), 300), (&errors, 8)];
    for (problem, points) in problems {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let settings = Trace {
                hole: 0.3,
                ..settings(points)
            };
            let outcome = pool.install(|| solve(problem, &settings));
            let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            (
                bits(outcome.front.points.as_slice()),
                bits(&outcome.front.values),
                outcome.counters,
                outcome.proofs,
            )
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(8));
    }
}

#[test]
fn a_stop_keeps_finished_work() {
    let one = Table::random(10, 300, 3, &[2]).impact();
    let several = Table::random(10, 300, 3, &[3]).impact();
    let surface = Table::random(10, 300, 3, &[2, 3]).impact();
    let problems: [&dyn Problem; 3] = [&one, &several, &surface];
    for (number, problem) in problems.into_iter().enumerate() {
        let run = |rounds: usize, asks: usize| {
            let mut observer = Impatient::new(rounds, asks);
            let outcome = settings(200).solve(problem, &mut observer).unwrap();
            check(problem, &outcome);
            let x = outcome.unmitigated.points.get(0);
            assert!(outcome.front.points.iter().any(|y| x == y));
            outcome
        };
        for rounds in 1..6 {
            let outcome = run(rounds, usize::MAX);
            assert_eq!(
                outcome.stop,
                StopReason::Stopped,
                "{number}: {rounds} rounds"
            );
            if number < 2 {
                check_gaps(&outcome, 1e-6);
            }
        }
        for asks in 0..7 {
            let outcome = run(usize::MAX, asks);
            assert_eq!(outcome.stop, StopReason::Stopped, "{number}: {asks} asks");
            if number < 2 {
                check_gaps(&outcome, 1e-6);
            }
        }
    }
}

#[test]
fn unsuitable_problems_are_rejected() {
    let refused = |problem: &dyn Problem| {
        let error = Trace::default().solve(problem, &mut ()).unwrap_err();
        error.to_string()
    };
    let pair = Quadratics {
        centers: vec![vec![0.0], vec![1.0]],
        noise: 0.0,
    };
    let error = refused(&pair);
    assert!(
        error.contains("objective 2 is not made of covariances"),
        "{error}"
    );
    let many = Bounded {
        curvature: vec![1.0; 9],
        center: vec![1.0; 9],
        affine: vec![vec![(vec![1.0; 9], 0.0)]; 8],
    };
    let error = refused(&many);
    assert!(error.contains("9 objectives"), "{error}");
}

#[test]
fn invalid_settings_are_rejected() {
    let refused = |change: fn(&mut Trace)| {
        let mut settings = Trace::default();
        change(&mut settings);
        settings.check(2).unwrap_err().to_string()
    };
    assert_eq!(
        refused(|s| s.points = 1),
        "models is 1; it must be at least 2 and at most 10,000,000"
    );
    assert!(refused(|s| s.points = usize::MAX).contains("at most 10,000,000"));
    assert!(refused(|s| s.tolerance = 0.0).contains("tolerance is 0"));
    assert!(refused(|s| s.tolerance = f64::NAN).contains("tolerance is NaN"));
    assert!(refused(|s| s.hole = 0.0).contains("hole is 0"));
    assert!(refused(|s| s.hole = f64::NAN).contains("hole is NaN"));
    for (name, value) in [("tolerance", "small"), ("runs", "1")] {
        assert!(Trace::default().set(name, value).is_err(), "{name}");
    }
    for Setting { name, .. } in Trace::default().settings() {
        let mut solver = AnySolver::Trace(Trace::default());
        solver.set(name, "0.01").unwrap();
    }
}

/// Without proofs, points are within the tolerance of the front, on a curve and on a surface.
#[test]
fn without_proofs_points_are_within_the_tolerance() {
    for groups in [&[2][..], &[2, 3]] {
        let problem = Table::random(5, 900, 3, groups).impact();
        let settings = Trace {
            points: 20,
            tolerance: 1e-6,
            hole: 0.3,
            proofs: false,
        };
        let outcome = settings.solve(&problem, &mut ()).unwrap();
        assert_eq!(outcome.stop, StopReason::Complete);
        assert!(outcome.proofs.is_empty() && outcome.front.len() > 10);
        for proof in prove(&problem, &outcome.front).unwrap() {
            assert!(proof.gap.is_some_and(|gap| gap < 1e-5), "{proof:?}");
        }
    }
}
