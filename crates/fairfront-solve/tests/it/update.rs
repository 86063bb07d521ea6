//! Updates keep known points, find changes, and do not start from scratch.

use fairfront_core::{
    Condition, ErrorRate, FairProblem, GroupRisk, MutualInformation, Objective, Points, Problem,
    RateParity, Risk,
};
use fairfront_pareto::{Values, dominates, hypervolume};
use fairfront_solve::{AnySolver, EpsFair, Outcome, PfSmg, StopReason, Trace, Weighted};
use proptest::prelude::*;

use crate::analytic::{Bounded, Cliff, Fonseca, Quadratics};
use crate::observer::Impatient;
use crate::table::Table;

fn weighted() -> AnySolver {
    AnySolver::Weighted(Weighted::default())
}

fn pf_smg() -> AnySolver {
    AnySolver::PfSmg(PfSmg {
        most_points: 300,
        ..PfSmg::default()
    })
}

fn trace(points: usize) -> AnySolver {
    AnySolver::Trace(Trace {
        points,
        hole: 0.2,
        ..Trace::default()
    })
}

fn eps_fair() -> AnySolver {
    AnySolver::EpsFair(EpsFair {
        points: 25,
        ..EpsFair::default()
    })
}

/// All solvers that handle covariances.
fn solvers() -> [AnySolver; 4] {
    [weighted(), pf_smg(), trace(60), eps_fair()]
}

/// The first rows of a table.
fn first(table: &Table, n: usize) -> Table {
    let mut first = table.clone();
    first.features.truncate(n);
    first.labels.truncate(n);
    first.weights.truncate(n);
    first.groups.iter_mut().for_each(|(_, g)| g.truncate(n));
    first
}

/// The points of a front as passed to an update, with the unmitigated model first.
fn passed_on(outcome: &Outcome) -> Points {
    let mut points = outcome.unmitigated.points.clone();
    outcome.front.points.iter().for_each(|x| points.push(x));
    points
}

/// Updates, and checks properties of every update.
fn update(solver: &AnySolver, problem: &dyn Problem, current: &Points) -> Outcome {
    let outcome = solver.update(problem, current, 1, &mut ()).unwrap();
    check(solver, problem, current, &outcome);
    outcome
}

fn check(solver: &AnySolver, problem: &dyn Problem, current: &Points, outcome: &Outcome) {
    let front = &outcome.front;
    assert!((1..=solver.points()).contains(&front.len()));
    let values = problem.values(&front.points).unwrap();
    for (found, expected) in front.values.iter().zip(&values) {
        // If there is nothing to trade off, rounding becomes 0.
        assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()));
    }
    for i in 0..front.len() {
        assert!(i == 0 || front.value(i - 1)[0] <= front.value(i)[0]);
        assert!((0..front.len()).all(|j| !dominates(front.value(j), front.value(i))));
    }
    // No known point is lost, except those that are not finite any more.
    let m = problem.n_objectives();
    let known = problem.values(current).unwrap();
    let finite = |v: &[f64]| v.iter().all(|v| v.is_finite());
    let sound = (current.iter().zip(known.chunks_exact(m))).filter(|(_, v)| finite(v));
    let sound: Vec<&[f64]> = sound.map(|(x, _)| x).collect();
    assert!(outcome.candidates.iter().zip(&sound).all(|(a, b)| a == *b));
    assert!(outcome.candidates.len() >= sound.len());
    assert!(finite(&problem.values(&outcome.candidates).unwrap()));
    let is_candidate = |x: &[f64]| outcome.candidates.iter().any(|y| x == y);
    assert!(front.points.iter().all(is_candidate));
    assert!(is_candidate(outcome.unmitigated.points.get(0)));
    let least = |values: &[f64]| {
        values
            .iter()
            .step_by(m)
            .copied()
            .fold(f64::INFINITY, f64::min)
    };
    let all = problem.values(&outcome.candidates).unwrap();
    assert!(outcome.unmitigated.values[0] <= least(&all) + 1e-9 * least(&all).abs());
}

/// A reference point a tenth of the range beyond the worst values of some points.
fn corner(values: &[f64], m: usize) -> Vec<f64> {
    let of = |i: usize| values.iter().skip(i).step_by(m).copied();
    let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
    let range = |i: usize| (of(i).fold(low, f64::min), of(i).fold(high, f64::max));
    (0..m)
        .map(|i| range(i).1 + 0.1 * (range(i).1 - range(i).0) + 1e-12)
        .collect()
}

fn volume(values: &[f64], corner: &[f64]) -> f64 {
    hypervolume(Values::new(values, corner.len()).unwrap(), corner).unwrap()
}

/// The hypervolume of an update as a share of that of a full solve, with a reference point a tenth
/// beyond the front of the full solve.
fn share_of_full(solver: &AnySolver, before: &dyn Problem, now: &dyn Problem) -> f64 {
    let current = passed_on(&solver.solve(before, &mut ()).unwrap());
    let updated = update(solver, now, &current);
    let full = solver.solve(now, &mut ()).unwrap();
    let corner = corner(&full.front.values, now.n_objectives());
    volume(&updated.front.values, &corner) / volume(&full.front.values, &corner)
}

fn one_bound(shift: f64) -> Bounded {
    Bounded {
        curvature: vec![1.0, 10.0, 100.0],
        center: vec![0.5, -1.0, 0.2],
        affine: vec![vec![(vec![1.0, 0.5, -2.0], shift)]],
    }
}

/// By Lagrange multipliers: f₁ = (c(a) − c)²/(2 u·Q⁻¹u) where the covariance is c.
fn off_the_curve(problem: &Bounded, outcome: &Outcome) -> f64 {
    let (u, shift) = &problem.affine[0][0];
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let largest = (shift + dot(u, &problem.center)).abs();
    let terms = u.iter().zip(&problem.curvature);
    let spread: f64 = terms.map(|(u, q)| u * u / q).sum();
    let values = outcome.front.values.chunks_exact(2);
    let off = |v: &[f64]| v[0] - (largest - v[1].sqrt()).powi(2) / (2.0 * spread);
    values.map(|v| off(v).abs()).fold(0.0, f64::max)
}

#[test]
fn an_update_from_the_front_stays_on_it() {
    let problem = one_bound(-0.7);
    for (solver, tolerance) in [(trace(40), 1e-10), (eps_fair(), 1e-8), (weighted(), 1e-5)] {
        let mut current = passed_on(&trace(40).solve(&problem, &mut ()).unwrap());
        for _ in 0..3 {
            let outcome = update(&solver, &problem, &current);
            let off = off_the_curve(&problem, &outcome);
            assert!(off < tolerance, "{}: {off:e}", solver.name());
            assert!(outcome.unmitigated.values[0] < 1e-12);
            current = passed_on(&outcome);
        }
    }
}

#[test]
fn the_exact_front_stays_exact_and_keeps_its_points() {
    let mut current = passed_on(&trace(40).solve(&one_bound(-0.7), &mut ()).unwrap());
    for shift in [-0.6, 1.4, -1.2] {
        let problem = one_bound(shift);
        let outcome = update(&trace(40), &problem, &current);
        assert_eq!(outcome.front.len(), 40);
        assert_eq!(outcome.proofs.len(), 40);
        assert!(outcome.proofs.iter().all(|c| c.gap.unwrap() < 1e-9));
        assert!(off_the_curve(&problem, &outcome) < 1e-10);
        current = passed_on(&outcome);
    }
}

#[test]
fn updates_of_covariances_match_full_solves() {
    let table = Table::random(4, 2_000, 4, &[2]);
    let (before, now) = (first(&table, 1_200).impact(), table.impact());
    for (solver, least) in solvers().iter().zip([0.99, 0.99, 1.0 - 1e-6, 0.99]) {
        let share = share_of_full(solver, &before, &now);
        assert!(share >= least, "{}: {share}", solver.name());
    }
}

#[test]
fn updates_of_surfaces_match_full_solves() {
    let table = Table::random(5, 1_500, 4, &[2, 3]);
    let (before, now) = (first(&table, 1_000).impact(), table.impact());
    for (solver, least) in solvers().iter().zip([0.97, 0.97, 0.99, 0.95]) {
        let share = share_of_full(solver, &before, &now);
        assert!(share >= least, "{}: {share}", solver.name());
    }
    // Each point is as exact as on a front solved from scratch.
    let current = passed_on(&trace(60).solve(&before, &mut ()).unwrap());
    let outcome = update(&trace(60), &now, &current);
    assert_eq!(outcome.proofs.len(), outcome.front.len());
    assert!(outcome.front.len() >= 50, "{}", outcome.front.len());
    for proof in &outcome.proofs {
        assert!(proof.gap.unwrap() < 1e-7, "{proof:?}");
    }
}

/// Rates, losses of groups and mutual information.
fn not_convex(table: &Table) -> Vec<FairProblem> {
    let attribute = &table.attributes()[0];
    let others: [Box<dyn Objective>; 4] = [
        Box::new(RateParity::new(Condition::All, 0, attribute)),
        Box::new(RateParity::equalized_odds(0, attribute)),
        Box::new(GroupRisk::new(Risk::Worst { beta: 50.0 }, 0, attribute)),
        Box::new(MutualInformation::new(0, attribute)),
    ];
    let with_loss = |other: Box<dyn Objective>| {
        let loss: Box<dyn Objective> = Box::new(ErrorRate::default());
        table.problem(vec![loss, other])
    };
    others.into_iter().map(with_loss).collect()
}

#[test]
fn updates_of_rates_nearly_match_full_solves() {
    let table = Table::random(6, 2_000, 4, &[2]);
    let before = not_convex(&first(&table, 1_400));
    for (i, (before, now)) in before.iter().zip(&not_convex(&table)).enumerate() {
        for solver in [weighted(), pf_smg()] {
            let share = share_of_full(&solver, before, now);
            assert!(share > 0.95, "{i}: {} {share}", solver.name());
        }
    }
}

#[test]
fn a_pair_whose_front_is_not_convex() {
    let problem = Fonseca { n: 4 };
    for solver in [pf_smg(), weighted()] {
        let current = passed_on(&solver.solve(&problem, &mut ()).unwrap());
        let outcome = update(&solver, &problem, &current);
        let values = problem.values(&current).unwrap();
        let corner = [1.0, 1.0];
        assert!(volume(&outcome.front.values, &corner) >= volume(&values, &corner) - 1e-9);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// For any current points, the updated front covers at least as much.
    #[test]
    fn no_update_is_worse_than_the_current_points(
        raw in prop::collection::vec(-2.0..2.0_f64, 4..60),
        solver in 0_usize..3,
        seed in 0_u64..100,
    ) {
        let n = raw.len() / 4;
        let current = Points::from_vec(4, raw[..4 * n].to_vec());
        let problem = Table::random(seed, 200, 3, &[2]).impact();
        let solver = [
            weighted(),
            pf_smg(),
            AnySolver::EpsFair(EpsFair { points: 40, ..EpsFair::default() }),
        ][solver].clone();
        let outcome = update(&solver, &problem, &current);
        let values = problem.values(&current).unwrap();
        let corner = corner(&values, 2);
        let (old, new) = (volume(&values, &corner), volume(&outcome.front.values, &corner));
        prop_assert!(new >= old * (1.0 - 1e-9), "{} before, {} after", old, new);
    }

    /// An exact front is worse than any other of the same size by at most the steps between its
    /// points.
    #[test]
    fn an_exact_front_is_not_worse_than_the_current_points(
        raw in prop::collection::vec(-2.0..2.0_f64, 4..60),
        seed in 0_u64..100,
    ) {
        let n = raw.len() / 4;
        let current = Points::from_vec(4, raw[..4 * n].to_vec());
        let problem = Table::random(seed, 200, 3, &[2]).impact();
        let outcome = update(&trace(400), &problem, &current);
        let values = problem.values(&current).unwrap();
        let corner = corner(&[values.clone(), outcome.front.values.clone()].concat(), 2);
        let (old, new) = (volume(&values, &corner), volume(&outcome.front.values, &corner));
        prop_assert!(new >= old * (1.0 - 1e-2), "{} before, {} after", old, new);
    }
}

#[test]
fn results_depend_on_the_round_but_not_on_the_number_of_threads() {
    let table = Table::random(7, 3_000, 3, &[2, 3]);
    let (before, now) = (first(&table, 2_000).impact(), table.impact());
    for solver in solvers() {
        let current = passed_on(&solver.solve(&before, &mut ()).unwrap());
        let run = |threads: usize, round: u64| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| solver.update(&now, &current, round, &mut ()).unwrap())
        };
        let (one, many) = (run(1, 3), run(5, 3));
        assert_eq!(one.front, many.front);
        assert_eq!(one.candidates, many.candidates);
        assert_eq!(one.counters, many.counters);
        let other = run(2, 4);
        match solver {
            AnySolver::PfSmg(_) => assert_ne!(one.front, other.front),
            _ => assert_eq!(one.front, other.front),
        }
    }
}

#[test]
fn an_observer_can_stop_an_update_and_known_points_are_kept() {
    let table = Table::random(8, 1_500, 3, &[2, 2]);
    let (before, now) = (first(&table, 1_000).impact(), table.impact());
    for solver in solvers() {
        let current = passed_on(&solver.solve(&before, &mut ()).unwrap());
        for (rounds, asks) in [(1, usize::MAX), (usize::MAX, 2), (usize::MAX, 0)] {
            let mut observer = Impatient::new(rounds, asks);
            let outcome = solver.update(&now, &current, 1, &mut observer).unwrap();
            // Restarts of PF-SMG end at a signal; the solver ends when its observer stops it.
            if rounds == 1 || !matches!(solver, AnySolver::PfSmg(_)) {
                assert_eq!(outcome.stop, StopReason::Stopped, "{}", solver.name());
            }
            check(&solver, &now, &current, &outcome);
            let values = now.values(&current).unwrap();
            let corner = corner(&values, 3);
            let (old, new) = (
                volume(&values, &corner),
                volume(&outcome.front.values, &corner),
            );
            // The requested number of points may be smaller than the number of nondominated points.
            assert!(new > 0.98 * old, "{}: {new} after {old}", solver.name());
        }
    }
}

#[test]
fn one_point_and_copies_of_it_are_enough() {
    let problem = Table::random(9, 800, 3, &[2]).impact();
    for solver in solvers() {
        let full = solver.solve(&problem, &mut ()).unwrap();
        let corner = corner(&full.front.values, 2);
        for x in [vec![0.0; 4], full.unmitigated.points.get(0).to_vec()] {
            for copies in [1, 30] {
                let current = Points::from_vec(4, x.repeat(copies));
                let outcome = update(&solver, &problem, &current);
                let share =
                    volume(&outcome.front.values, &corner) / volume(&full.front.values, &corner);
                assert!(share > 0.95, "{}: {share} of {copies}", solver.name());
            }
        }
    }
}

#[test]
fn points_that_are_not_finite_any_more_are_dropped() {
    let current = Points::from_vec(2, vec![0.5, 0.1, 0.9, 0.0, 0.2, 0.3, f64::NAN, 0.0]);
    for solver in [weighted(), pf_smg()] {
        let outcome = update(&solver, &Cliff, &current);
        assert!(outcome.counters.non_finite >= 2);
        assert!(outcome.candidates.iter().all(|x| x[0] <= 0.6));
        // Without any usable points, the solver starts from scratch.
        let none = Points::from_vec(2, vec![0.9, 0.0, f64::NAN, 0.0]);
        let outcome = update(&solver, &Cliff, &none);
        assert!(!outcome.front.is_empty());
    }
    let problem = one_bound(-0.7);
    for solver in [trace(10), eps_fair()] {
        let current = Points::from_vec(3, vec![0.5, -1.0, f64::INFINITY, 0.5, -0.9, 0.2]);
        let outcome = update(&solver, &problem, &current);
        assert!(off_the_curve(&problem, &outcome) < 1e-6);
    }
}

/// Every row occurs in both groups.
#[test]
fn the_unmitigated_model_is_the_front_if_nothing_can_be_traded() {
    let mut table = Table::random(12, 300, 3, &[2]);
    for row in (0..300).step_by(2) {
        table.features[row + 1] = table.features[row].clone();
        table.labels[row + 1] = table.labels[row];
        (table.groups[0].1[row], table.groups[0].1[row + 1]) = (0, 1);
    }
    let problem = table.impact();
    let current = Points::from_vec(4, vec![0.1, 0.2, 0.3, 0.0, 1.0, -1.0, 0.0, 0.0]);
    for solver in solvers() {
        let outcome = update(&solver, &problem, &current);
        assert_eq!(outcome.front.len(), 1, "{}", solver.name());
        let full = solver.solve(&problem, &mut ()).unwrap();
        let (found, expected) = (outcome.front.value(0)[0], full.unmitigated.values[0]);
        assert!(found <= expected + 1e-6, "{found} for {expected}");
    }
}

#[test]
fn new_parameters_start_at_zero_and_are_used() {
    let table = Table::random(10, 1_500, 4, &[2]);
    let mut narrow = table.clone();
    narrow.features.iter_mut().for_each(|z| z.truncate(3));
    for solver in solvers() {
        let before = passed_on(&solver.solve(&narrow.impact(), &mut ()).unwrap());
        let mut current = Points::new(5);
        for x in before.iter() {
            current.push(&[&x[..3], &[0.0], &x[3..]].concat());
        }
        let now = table.impact();
        let outcome = update(&solver, &now, &current);
        let full = solver.solve(&now, &mut ()).unwrap();
        let corner = corner(&full.front.values, 2);
        let share = volume(&outcome.front.values, &corner) / volume(&full.front.values, &corner);
        assert!(share > 0.97, "{}: {share}", solver.name());
    }
}

#[test]
fn very_many_parameters_are_possible() {
    let table = Table::random(11, 30, 1_001, &[2]);
    let problem = table.impact();
    let current = Points::from_vec(1_002, vec![0.0; 1_002]);
    let few = AnySolver::PfSmg(PfSmg {
        most_steps: 20,
        ..PfSmg::default()
    });
    for solver in [weighted(), few, trace(3)] {
        let outcome = update(&solver, &problem, &current);
        assert!(outcome.front.len() > 1, "{}", solver.name());
    }
}

#[test]
fn three_centers_that_have_moved() {
    let at = |shift: f64| Quadratics {
        centers: vec![vec![shift, 0.0], vec![1.0, shift], vec![0.0, 1.0 - shift]],
        noise: 0.5,
    };
    let share = share_of_full(&pf_smg(), &at(0.0), &at(0.1));
    assert!(share > 0.97, "{share}");
}

#[test]
fn points_of_another_problem_are_rejected() {
    let problem = one_bound(-0.7);
    for current in [Points::new(3), Points::from_vec(2, vec![0.0; 4])] {
        for solver in solvers() {
            let error = solver.update(&problem, &current, 0, &mut ()).unwrap_err();
            assert!(error.to_string().contains("the current front"), "{error}");
        }
    }
    let rates = Table::random(1, 100, 2, &[2]).with(vec![]);
    assert_eq!(rates.n_objectives(), 1);
    let current = Points::from_vec(3, vec![0.0; 3]);
    let outcome = update(&trace(5), &rates, &current);
    assert_eq!(outcome.front.len(), 1);
    let opportunity = Table::random(1, 400, 2, &[2]);
    let opportunity = opportunity.with(vec![opportunity.covariance(Condition::Positive, 0)]);
    let outcome = update(&trace(5), &opportunity, &current);
    assert!(outcome.front.len() > 1);
}
