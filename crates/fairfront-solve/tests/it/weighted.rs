//! Weighted sums: closed forms, temperatures, starts, and properties of their fronts.

use fairfront_core::{
    Condition, ErrorRate, FairProblem, GroupRisk, Objective, Points, Problem, RateParity, Risk,
};
use fairfront_pareto::{Values, hypervolume, nondominated};
use fairfront_solve::{Outcome, Setting, Settings, Solver, StopReason, Trace, Weighted, prove};

use crate::analytic::Quadratics;
use crate::observer::Impatient;
use crate::table::Table;

/// Smooth errors and the difference between selection rates.
fn rates(table: &Table) -> FairProblem {
    let loss = Box::new(ErrorRate::default());
    let difference = RateParity::new(Condition::All, 0, &table.attributes()[0]);
    table.problem(vec![loss, Box::new(difference)])
}

fn checked(problem: &dyn Problem, outcome: &Outcome) {
    let front = &outcome.front;
    assert_eq!(problem.values(&front.points).unwrap(), front.values);
    assert_eq!(nondominated(front.judged().unwrap()).len(), front.len());
    let on_front = |x: &[f64]| outcome.candidates.iter().any(|other| other == x);
    assert!(front.points.iter().all(on_front));
}

/// The minimum of a weighted sum of squared distances is the weighted mean of the centers.
#[test]
fn sums_of_quadratics_end_at_weighted_means() {
    let centers = vec![vec![0.0, 0.0], vec![1.0, 0.0], vec![0.0, 2.0]];
    let problem = Quadratics {
        centers: centers.clone(),
        noise: 0.0,
    };
    let settings = Weighted {
        sums: 200,
        tolerance: 0.0,
        ..Weighted::default()
    };
    let outcome = settings.solve(&problem, &mut ()).unwrap();
    checked(&problem, &outcome);
    assert_eq!(outcome.stop, StopReason::Complete);
    // One start, and one stage, because nothing can be softened.
    assert_eq!(outcome.candidates.len(), 1 + 200);
    for proof in prove(&problem, &outcome.front).unwrap() {
        assert!(proof.residual < 1e-6, "{proof:?}");
    }
    // Points lie inside the triangle of the centers, and cover it.
    let inside = |x: &[f64]| {
        let (a, b) = (x[0], x[1] / 2.0);
        a > -1e-6 && b > -1e-6 && a + b < 1.0 + 1e-6
    };
    assert!(outcome.front.points.iter().all(inside));
    let reference = [0.6, 1.1, 2.2];
    let found = hypervolume(outcome.front.judged().unwrap(), &reference).unwrap();
    let fine = Weighted {
        sums: 2_000,
        points: 2_000,
        ..settings
    };
    let fine = fine.solve(&problem, &mut ()).unwrap();
    let fine = hypervolume(fine.front.judged().unwrap(), &reference).unwrap();
    assert!(found > 0.9 * fine, "{found} of {fine}");
}

/// The log loss and the loss of the worse group are both convex, so sums find the whole front, and
/// no start is needed.
#[test]
fn sums_of_convex_objectives_are_stationary() {
    let table = Table::random(3, 500, 3, &[2]);
    let worst = GroupRisk::new(Risk::Worst { beta: 50.0 }, 0, &table.attributes()[0]);
    let loss = Box::new(fairfront_core::LogLoss { lambda: 1e-3 });
    let problem = table.problem(vec![loss, Box::new(worst)]);
    let settings = Weighted {
        most_steps: 200,
        tolerance: 1e-13,
        ..Weighted::default()
    };
    let outcome = settings.solve(&problem, &mut ()).unwrap();
    checked(&problem, &outcome);
    for proof in prove(&problem, &outcome.front).unwrap() {
        assert!(proof.residual < 1e-4, "{proof:?}");
    }
}

/// Starts are candidates, so no known point gets lost. The points found are better, at the
/// objectives' own temperature.
#[test]
fn rates_get_better_than_the_covariances_they_start_from() {
    for seed in 0..4 {
        let table = Table::random(seed, 1_500, 4, &[2]);
        let trace = Trace {
            points: 30,
            ..Trace::default()
        };
        let covariances = trace.solve(&table.impact(), &mut ()).unwrap();
        let problem = rates(&table);
        let starts = covariances.front.points;
        let weighted = Weighted {
            starts: Some(starts.clone()),
            ..Weighted::default()
        };
        let outcome = weighted.solve(&problem, &mut ()).unwrap();
        checked(&problem, &outcome);
        assert_eq!(outcome.candidates.len(), 30 + 2 * 64);
        assert!(
            starts
                .iter()
                .zip(outcome.candidates.iter())
                .all(|(a, b)| a == b)
        );
        let before = problem.values(&starts).unwrap();
        let before = Values::new(&before, 2).unwrap();
        let reference = [0.5, 1.0];
        let old = hypervolume(before, &reference).unwrap();
        let new = hypervolume(outcome.front.judged().unwrap(), &reference).unwrap();
        assert!(new > old, "seed {seed}: {new} after {old}");
        // The model with the smallest loss is the unmitigated one.
        let least = outcome.front.value(0)[0];
        assert_eq!(outcome.unmitigated.value(0)[0], least);
    }
}

/// A high temperature is a separate problem: with one stage, or without softening, there is one end
/// per sum.
#[test]
fn temperatures_fall_in_stages() {
    let table = Table::random(9, 400, 3, &[3]);
    let problem = rates(&table);
    let ends = |stages: usize| {
        let settings = Weighted {
            stages,
            sums: 10,
            softening: 8.0,
            ..Weighted::default()
        };
        let outcome = settings.solve(&problem, &mut ()).unwrap();
        checked(&problem, &outcome);
        outcome.candidates
    };
    let (one, three) = (ends(1), ends(3));
    assert_eq!((one.len(), three.len()), (1 + 10, 1 + 3 * 10));
    // The first of three stages minimizes softer sums, so its values are lower than those of one
    // stage.
    let soft = problem.temperature().unwrap().softened(8.0).unwrap();
    let first = |points: &Points| {
        let first: Vec<usize> = (1..11).collect();
        let values = soft.values(&points.select(&first)).unwrap();
        values.chunks(2).map(|v| v[0]).fold(f64::INFINITY, f64::min)
    };
    assert!(first(&three) < first(&one));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let table = Table::random(5, 5_000, 3, &[2, 3]);
    let loss: Box<dyn Objective> = Box::new(ErrorRate::default());
    let difference = |i: usize| -> Box<dyn Objective> {
        Box::new(RateParity::equalized_odds(i, &table.attributes()[i]))
    };
    let problem = table.problem(vec![loss, difference(0), difference(1)]);
    let solve = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| Weighted::default().solve(&problem, &mut ()).unwrap())
    };
    let (one, many) = (solve(1), solve(5));
    assert_eq!(one.front, many.front);
    assert_eq!(one.candidates, many.candidates);
}

#[test]
fn an_observer_can_stop_the_solver_and_finished_work_is_kept() {
    let problem = rates(&Table::random(2, 600, 3, &[2]));
    for (rounds, asks) in [(1, usize::MAX), (40, usize::MAX), (usize::MAX, 3)] {
        let mut observer = Impatient::new(rounds, asks);
        let outcome = Weighted::default().solve(&problem, &mut observer).unwrap();
        assert_eq!(outcome.stop, StopReason::Stopped);
        assert!(!outcome.front.is_empty());
        checked(&problem, &outcome);
    }
}

#[test]
fn invalid_settings_are_rejected() {
    let problem = rates(&Table::random(2, 60, 2, &[2]));
    let refused = |change: fn(&mut Weighted)| {
        let mut settings = Weighted::default();
        change(&mut settings);
        settings.solve(&problem, &mut ()).unwrap_err().to_string()
    };
    assert!(refused(|s| s.sums = 0).contains("sums"));
    assert!(refused(|s| s.points = 0).contains("models"));
    assert!(refused(|s| s.stages = 101).contains("stages"));
    assert!(refused(|s| s.softening = 0.5).contains("softening"));
    assert!(refused(|s| s.softening = f64::NAN).contains("softening"));
    assert!(refused(|s| s.tolerance = 1.0).contains("tolerance"));
    assert!(refused(|s| s.starts = Some(Points::new(3))).contains("starts"));
    assert!(refused(|s| s.starts = Some(Points::from_vec(1, vec![0.0]))).contains("starts"));
    for Setting { name, .. } in Weighted::default().settings() {
        assert!(
            Weighted::default().set(name, "3").is_ok() || name == "tolerance",
            "{name}"
        );
        assert!(Weighted::default().set(name, "x").is_err());
    }
}
