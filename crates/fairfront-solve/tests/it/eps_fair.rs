use std::sync::atomic::{AtomicUsize, Ordering};

use fairfront_core::{Batches, Error, Gradients, Points, Problem, RootFacet};
use fairfront_pareto::dominates;
use fairfront_solve::{
    AnySolver, EpsFair, Outcome, PfSmg, Setting, Settings, Solver, StopReason, Subproblems,
    already_zero,
};

use crate::analytic::{Bounded, Quadratics};
use crate::observer::Impatient;
use crate::pf_smg::fair_problem;

fn solve(problem: &dyn Problem, settings: &EpsFair) -> Outcome {
    let outcome = settings.solve(problem, &mut ()).unwrap();
    let front = &outcome.front;
    for i in 0..front.len() {
        assert!((0..front.len()).all(|j| !dominates(front.value(j), front.value(i))));
    }
    let of = outcome.counters.subproblems.unwrap();
    assert_eq!(
        front.len() as u64 + of.dominated + of.copies + outcome.counters.non_finite,
        1 + of.solved + of.failed
    );
    outcome
}

/// One covariance, and curvatures from 1 to 10⁴.
fn one_bound() -> Bounded {
    Bounded {
        curvature: vec![1.0, 10.0, 100.0, 1e3, 1e4],
        center: vec![0.5, -1.0, 0.2, 0.1, 0.3],
        affine: vec![vec![(vec![1.0, 0.5, -2.0, 3.0, 20.0], -0.7)]],
    }
}

/// By Lagrange multipliers: with c(a) the covariance at the minimum of the loss, f₁ = (c(a) −
/// ε)²/(2 u·Q⁻¹u).
fn check_one_bound(outcome: &Outcome, n: usize, tolerance: f64) {
    let problem = one_bound();
    let (u, shift) = &problem.affine[0][0];
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let largest = (shift + dot(u, &problem.center)).abs();
    let inverse: Vec<f64> = u
        .iter()
        .zip(&problem.curvature)
        .map(|(u, q)| u / q)
        .collect();
    assert_eq!(outcome.front.len(), n);
    for i in 0..n {
        let epsilon = largest * (1.0 - i as f64 / (n - 1) as f64);
        let expected = (largest - epsilon).powi(2) / (2.0 * dot(u, &inverse));
        let [loss, square] = outcome.front.value(i) else {
            panic!("two objectives");
        };
        let off = (loss - expected).abs();
        assert!(off < tolerance, "ε = {epsilon}: {loss} is not {expected}");
        assert!((square.sqrt() - epsilon).abs() < tolerance, "ε = {epsilon}");
    }
}

#[test]
fn a_quadratic_loss_under_one_bound() {
    for preconditioner in [true, false] {
        let settings = EpsFair {
            points: 41,
            preconditioner,
            ..EpsFair::default()
        };
        let outcome = solve(&one_bound(), &settings);
        // The loss is solved to 1e-10 of its value at x = 0, which is 460.
        check_one_bound(&outcome, 41, 1e-7);
        assert_eq!(outcome.stop, StopReason::Complete);
        let expected = Subproblems {
            solved: 40,
            ..Subproblems::default()
        };
        assert_eq!(outcome.counters.subproblems, Some(expected));
        let gradients = &outcome.counters.gradient_evaluations;
        assert!(gradients[1] > 0 && outcome.counters.evaluations > gradients[1]);
        if preconditioner {
            // In its variables, the loss is ½‖v‖², and the first step reaches the solution.
            assert!(gradients[1] <= 3 * 40, "{gradients:?}");
        }
    }
}

#[test]
fn finite_differences_and_random_starts_find_the_same_front() {
    for (cold, preconditioner) in [(true, true), (false, true), (true, false)] {
        let settings = EpsFair {
            points: 21,
            cold,
            preconditioner,
            finite_differences: true,
            start_radius: 1.0,
            ..EpsFair::default()
        };
        let outcome = solve(&one_bound(), &settings);
        // The error of forward differences is 1e-8 of the curvature, which is 1e4 without the
        // preconditioner.
        check_one_bound(&outcome, 21, 1e-4);
        // A gradient evaluates the point and five moved copies.
        let gradients = outcome.counters.gradient_evaluations[1];
        assert!(outcome.counters.evaluations >= 6 * gradients);
    }
}

#[test]
fn settings_of_the_paper_come_close() {
    let settings = EpsFair {
        start_radius: 1.0,
        ..EpsFair::paper(30)
    };
    let outcome = solve(&one_bound(), &settings);
    let of = outcome.counters.subproblems.unwrap();
    assert_eq!(of.solved + of.failed, 29);
    for i in 0..outcome.front.len() {
        let [loss, square] = outcome.front.value(i) else {
            panic!("two objectives");
        };
        // On the exact front, √f₁ is linear in √f₂, and 0 at the unmitigated model.
        let ends = [
            outcome.front.value(0),
            outcome.front.value(outcome.front.len() - 1),
        ];
        let share = square.sqrt() / ends[0][1].sqrt();
        let expected = ends[1][0] * (1.0 - share).powi(2);
        // A solve ends when a step changes the loss by less than 1e-6 of 460.
        assert!((loss - expected).abs() < 0.02, "{loss} is not {expected}");
    }
}

/// Bounds on coordinates clip the center: x = clamp(a, ±ε), in a grid over two objectives, the
/// first of which has two covariances.
#[test]
fn a_grid_over_two_objectives_with_several_covariances() {
    let unit = |i: usize| (0..4).map(|j| f64::from(u8::from(i == j))).collect();
    let problem = Bounded {
        curvature: vec![1.0, 3.0, 2.0, 5.0],
        center: vec![2.0, -1.0, 1.5, 0.5],
        affine: vec![vec![(unit(0), 0.0), (unit(1), 0.0)], vec![(unit(2), 0.0)]],
    };
    let settings = EpsFair {
        points: 30,
        ..EpsFair::default()
    };
    let outcome = solve(&problem, &settings);
    // 5 · 5 ≤ 30; no solution dominates another.
    assert_eq!(outcome.front.len(), 25);
    let mut expected: Vec<Vec<f64>> = Vec::new();
    for i in 0..5 {
        for j in 0..5 {
            let (e1, e2) = (0.5 * f64::from(i), 0.375 * f64::from(j));
            expected.push(vec![e1, -e1.min(1.0), e2, 0.5]);
        }
    }
    for x in outcome.front.points.iter() {
        let near = |y: &Vec<f64>| x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-6);
        let at = expected.iter().position(near);
        assert!(at.is_some(), "{x:?}");
        expected.swap_remove(at.unwrap());
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let problem = fair_problem();
    let run = |threads: usize, settings: &EpsFair| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let outcome = pool.install(|| solve(&problem, settings));
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        (
            bits(outcome.front.points.as_slice()),
            bits(&outcome.front.values),
            outcome.counters,
        )
    };
    let warm = EpsFair {
        points: 36,
        ..EpsFair::default()
    };
    let one = run(1, &warm);
    assert!(one.0.len() > 10);
    assert_eq!(one, run(2, &warm));
    assert_eq!(one, run(8, &warm));
    let cold = |seed| EpsFair {
        points: 16,
        seed,
        ..EpsFair::paper(16)
    };
    assert_eq!(run(1, &cold(1)), run(8, &cold(1)));
    assert_ne!(run(2, &cold(1)).1, run(2, &cold(2)).1);
}

/// Three groups, one covariance that is linear in x and one that is not: all subproblems are
/// solved, no covariance exceeds that of the unmitigated model, and each reaches 0 somewhere.
#[test]
fn real_covariances_are_bounded() {
    let problem = fair_problem();
    let settings = EpsFair {
        points: 49,
        ..EpsFair::default()
    };
    let outcome = solve(&problem, &settings);
    let of = outcome.counters.subproblems.unwrap();
    assert_eq!((of.solved, of.failed), (48, 0));
    let largest = |objective: usize, point: &[f64]| {
        let point = Points::from_vec(point.len(), point.to_vec());
        let roots = problem
            .roots()
            .unwrap()
            .root_values(objective, &point)
            .unwrap();
        roots.iter().fold(0.0_f64, |most, c| most.max(c.abs()))
    };
    let unmitigated = outcome.unmitigated.points.get(0);
    for objective in [1, 2] {
        let most = largest(objective, unmitigated);
        for x in outcome.front.points.iter() {
            assert!(largest(objective, x) <= most * (1.0 + 1e-8));
        }
        let least = outcome.front.points.iter().map(|x| largest(objective, x));
        assert!(least.fold(f64::INFINITY, f64::min) <= 1e-8 * most);
    }
}

#[test]
fn a_fair_minimum_is_the_whole_front() {
    let problem = Bounded {
        center: vec![0.0; 5],
        affine: vec![vec![(vec![1.0; 5], 0.0)]],
        ..one_bound()
    };
    let outcome = solve(&problem, &EpsFair::default());
    assert_eq!(outcome.front, outcome.unmitigated);
    assert_eq!(outcome.counters.subproblems, Some(Subproblems::default()));
}

#[test]
fn a_stop_keeps_finished_work() {
    let problem = fair_problem();
    let settings = EpsFair {
        points: 100,
        ..EpsFair::default()
    };
    let run = |rounds: usize, asks: usize| {
        let mut observer = Impatient::new(rounds, asks);
        let outcome = settings.solve(&problem, &mut observer).unwrap();
        assert_eq!(outcome.stop, StopReason::Stopped);
        let x = outcome.unmitigated.points.get(0);
        assert!(outcome.front.points.iter().any(|y| x == y));
        (
            outcome.front.len(),
            outcome.counters.subproblems.unwrap().solved,
        )
    };
    let (points, solved) = run(2, usize::MAX);
    assert!(points > 10 && solved == 32, "{points}, {solved}");
    let (points, solved) = run(usize::MAX, 300);
    assert!(points > 1 && (1..99).contains(&solved));
    assert_eq!(run(usize::MAX, 0), (1, 0));
}

/// After a stop, no step begins.
#[test]
fn a_stop_from_the_start_begins_nothing() {
    let n = 300;
    let problem = Bounded {
        curvature: vec![1.0; n],
        center: vec![1.0; n],
        affine: vec![vec![(vec![1.0; n], 1.0)]],
    };
    let mut observer = Impatient::new(usize::MAX, 0);
    let outcome = EpsFair::default().solve(&problem, &mut observer).unwrap();
    assert_eq!(outcome.stop, StopReason::Stopped);
    let counters = outcome.counters;
    assert_eq!(counters.gradient_evaluations[1], 0, "{counters:?}");
    assert!(counters.points_by_round.is_empty(), "no round runs");
    assert!(
        counters.hypervolume_by_round.is_empty(),
        "no volume is computed"
    );
    // A stop between rounds also counts: none of the sixteen chains reaches its second subproblem.
    let mut observer = Impatient::new(1, usize::MAX);
    let few = EpsFair {
        most_evaluations: 1,
        ..EpsFair::default()
    };
    let outcome = few.solve(&problem, &mut observer).unwrap();
    assert_eq!(outcome.counters.points_by_round.len(), 1);
    assert_eq!(outcome.counters.hypervolume_by_round.len(), 1);
    assert_eq!(outcome.stop, StopReason::Stopped);
}

/// If a covariance is 0 to rounding, there is nothing to bound; if one of two is, the other gets
/// all bounds.
#[test]
fn rounding_is_not_bounded() {
    let mut problem = one_bound();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let u = vec![0.1, 0.7, 0.3, 1.3, 0.9];
    let shift = -dot(&u, &problem.center) + 1e-15;
    let fair = (u, shift);
    problem.affine = vec![vec![fair.clone()]];
    let settings = EpsFair {
        points: 21,
        ..EpsFair::default()
    };
    let outcome = solve(&problem, &settings);
    let raw = problem.values(&outcome.unmitigated.points).unwrap()[1];
    assert!(raw > 0.0 && outcome.unmitigated.values[1] == 0.0, "{raw}");
    assert_eq!(outcome.front, outcome.unmitigated);
    assert_eq!(outcome.counters.subproblems, Some(Subproblems::default()));
    let pf_smg = PfSmg::default().solve(&problem, &mut ()).unwrap();
    assert_eq!(pf_smg.front, pf_smg.unmitigated);
    assert!(pf_smg.counters.points_by_round.is_empty());
    assert_eq!(
        already_zero(&problem, &outcome.unmitigated).unwrap(),
        [false, true]
    );

    problem.affine = vec![one_bound().affine.remove(0), vec![fair]];
    let outcome = solve(&problem, &settings);
    let of = outcome.counters.subproblems.unwrap();
    assert_eq!((of.solved, of.failed), (20, 0));
    assert_eq!(outcome.front.len(), 21);
    // The negligible covariance moves with the other one, and pf-smg trades it off where it does.
    let pf_smg = PfSmg::default().solve(&problem, &mut ()).unwrap();
    let values = (0..pf_smg.front.len()).map(|i| pf_smg.front.value(i));
    let [mut zero, mut moved] = [0, 0];
    values.for_each(|v| *(if v[2] == 0.0 { &mut zero } else { &mut moved }) += 1);
    assert!(zero > 10 && moved > 10, "{zero} and {moved}");
}

/// Steps make no progress at a minimum found to the last digit, or if a matrix is singular; only
/// the former counts as solved.
#[test]
fn an_end_without_progress_is_judged_by_its_gap() {
    let settings = EpsFair {
        points: 11,
        tolerance: 1e-30,
        ..EpsFair::default()
    };
    let of = solve(&one_bound(), &settings).counters.subproblems.unwrap();
    assert_eq!((of.solved, of.failed), (10, 0));
    // Units differ by eighteen orders of magnitude, without a preconditioner.
    let scale = [1e6, 1.0, 1e-6, 1e9, 1e-9];
    let good = one_bound();
    let problem = Bounded {
        curvature: (good.curvature.iter().zip(scale))
            .map(|(q, s)| q * s * s)
            .collect(),
        center: good.center.iter().zip(scale).map(|(a, s)| a / s).collect(),
        affine: vec![vec![(
            (good.affine[0][0].0.iter().zip(scale))
                .map(|(u, s)| u * s)
                .collect(),
            good.affine[0][0].1,
        )]],
    };
    let exact = solve(
        &good,
        &EpsFair {
            points: 11,
            ..EpsFair::default()
        },
    );
    let best = |square: f64| {
        let worst = exact.front.value(10)[0];
        worst * (1.0 - (square / exact.front.value(0)[1]).sqrt()).powi(2)
    };
    for settings in [
        EpsFair {
            points: 11,
            ..EpsFair::default()
        },
        EpsFair::paper(11),
    ] {
        let outcome = solve(&problem, &settings);
        let of = outcome.counters.subproblems.unwrap();
        let near = (0..outcome.front.len())
            .map(|i| outcome.front.value(i))
            .filter(|v| v[0] <= best(v[1]) + 0.01)
            .count();
        assert!(of.solved <= near as u64, "{of:?}, {near} near the front");
    }
}

#[test]
fn copies_do_not_count_as_dominated() {
    let settings = EpsFair {
        points: 11,
        most_evaluations: 1,
        ..EpsFair::default()
    };
    let of = solve(&one_bound(), &settings).counters.subproblems.unwrap();
    assert_eq!((of.failed, of.copies, of.dominated), (10, 10, 0));
}

#[test]
fn unsolved_subproblems_are_counted_and_listed() {
    let settings = EpsFair {
        points: 11,
        most_evaluations: 20,
        preconditioner: false,
        ..EpsFair::default()
    };
    let outcome = solve(&one_bound(), &settings);
    let of = outcome.counters.subproblems.unwrap();
    assert_eq!((of.solved, of.failed), (0, 10));
    assert!(outcome.front.len() > 1);
}

/// Evaluations fail after some calls, as when a file disappears.
struct Failing {
    inner: Bounded,
    calls: AtomicUsize,
}

impl Problem for Failing {
    fn n_params(&self) -> usize {
        self.inner.n_params()
    }

    fn n_objectives(&self) -> usize {
        2
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        match self.calls.fetch_add(1, Ordering::Relaxed) {
            0..200 => self.inner.values(points),
            _ => Err(Error::OutOfRange {
                what: "block",
                index: 3,
                count: 2,
            }),
        }
    }

    fn gradients(&self, points: &Points, batches: Batches) -> Result<Gradients, Error> {
        self.inner.gradients(points, batches)
    }

    fn roots(&self) -> Option<&dyn RootFacet> {
        self.inner.roots()
    }
}

#[test]
fn a_failing_evaluation_ends_the_solve() {
    let problem = Failing {
        inner: one_bound(),
        calls: AtomicUsize::new(0),
    };
    let settings = EpsFair {
        points: 500,
        ..EpsFair::default()
    };
    let error = settings.solve(&problem, &mut ()).unwrap_err().to_string();
    assert_eq!(error, "block 3 does not exist: there are 2");
}

#[test]
fn unsuitable_problems_are_rejected() {
    let problem = Quadratics {
        centers: vec![vec![0.0], vec![1.0]],
        noise: 0.0,
    };
    let refused = |problem: &dyn Problem, settings: &EpsFair| {
        let error = settings.solve(problem, &mut ()).unwrap_err();
        error.to_string()
    };
    let no_roots = refused(&problem, &EpsFair::default());
    assert!(
        no_roots.contains("objective 2 is not made of covariances"),
        "{no_roots}"
    );
    let large = Bounded {
        curvature: vec![1.0; 1001],
        center: vec![1.0; 1001],
        affine: vec![vec![(vec![1.0; 1001], 0.0)]],
    };
    let too_large = refused(&large, &EpsFair::default());
    assert!(
        too_large.contains("1001 parameters, more than the 1,000")
            && too_large.contains("use pf-smg"),
        "{too_large}"
    );
}

#[test]
fn invalid_settings_are_rejected() {
    let refused = |change: fn(&mut EpsFair)| {
        let mut settings = EpsFair::default();
        change(&mut settings);
        settings.check(2).unwrap_err().to_string()
    };
    assert_eq!(
        refused(|s| s.points = 1),
        "models is 1; it must be at least 2 and at most 10,000,000"
    );
    assert!(refused(|s| s.points = usize::MAX).contains("at most 10,000,000"));
    assert!(refused(|s| s.most_evaluations = 0).contains("max-evaluations is 0"));
    assert!(refused(|s| s.tolerance = 0.0).contains("tolerance is 0"));
    assert!(refused(|s| s.feasibility = f64::NAN).contains("feasibility is NaN"));
    assert!(refused(|s| s.start_radius = -1.0).contains("at least 0"));
    for (name, value) in [("cold", "x"), ("tolerance", "small"), ("runs", "1")] {
        assert!(EpsFair::default().set(name, value).is_err(), "{name}");
    }
    for Setting { name, .. } in EpsFair::default().settings() {
        let flags = ["cold", "finite-differences", "preconditioner"];
        let value = if flags.contains(&name) { "true" } else { "1" };
        let mut solver = AnySolver::EpsFair(EpsFair::default());
        solver
            .set(name, value)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}
