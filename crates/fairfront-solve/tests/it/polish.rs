use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairfront_core::{Batches, Condition, Points, Problem, Purpose, Stream};
use fairfront_pareto::{dominates, hypervolume};
use fairfront_solve::{
    Counters, EpsFair, Front, Observer, Outcome, PfSmg, Polish, Progress, Solver, StopReason,
    StopSignal, polish,
};
use proptest::prelude::*;

use crate::analytic::{Bounded, Cliff, Fonseca, Quadratics};
use crate::pf_smg::{fair_problem, fair_problem_of};

/// An outcome whose front consists of these points, even if they are far from optimal.
fn outcome(problem: &dyn Problem, points: Points, unmitigated: Vec<f64>) -> Outcome {
    let front = |points: Points| Front {
        values: problem.values(&points).unwrap(),
        points,
        n_objectives: problem.n_objectives(),
    };
    Outcome {
        front: front(points),
        unmitigated: front(Points::from_vec(problem.n_params(), unmitigated)),
        stop: StopReason::Converged,
        counters: Counters::default(),
        proofs: Vec::new(),
        candidates: Points::default(),
    }
}

fn random_points(n: usize, n_params: usize, seed: u64) -> Points {
    let mut random = Stream::new(seed, Purpose::Synthetic, [0, 0]);
    let data = (0..n * n_params).map(|_| 2.0 * random.uniform() - 1.0);
    Points::from_vec(n_params, data.collect())
}

/// Polishes, and checks that each point dominates or equals the one it comes from, that no old
/// point is lost, that the values belong to the points, and that no point dominates another.
fn polished(problem: &dyn Problem, before: Outcome) -> Outcome {
    let old = before.front.clone();
    let after = polish(problem, before, &Polish::default(), &mut ()).unwrap();
    check(problem, &old, &after);
    after
}

fn check(problem: &dyn Problem, old: &Front, after: &Outcome) {
    let new = &after.front;
    assert_eq!(new.values, problem.values(&new.points).unwrap());
    let least = &after.unmitigated.values;
    let covers = |a: &[f64], b: &[f64], zero: f64| {
        let mut pairs = a.iter().zip(b).zip(least).enumerate();
        let covers = |(i, ((a, b), least)): (usize, ((&f64, &f64), &f64))| match i {
            0 => a <= b,
            _ => *a <= b.max(zero * least),
        };
        pairs.all(covers)
    };
    let rows = |front: &Front| -> Vec<Vec<f64>> {
        (0..front.len()).map(|i| front.value(i).to_vec()).collect()
    };
    let (old, new) = (rows(old), rows(new));
    for a in &new {
        // Values that count as 0 may rise to 1e-14 of the value at the unmitigated model.
        assert!(
            old.iter().any(|b| covers(a, b, 1e-14)),
            "{a:?} does not cover any old point"
        );
        assert!(new.iter().all(|b| !dominates(b, a)), "{a:?} is dominated");
    }
    for b in &old {
        // All values below 1e-8 of that of the unmitigated model count as 0.
        assert!(new.iter().any(|a| covers(a, b, 1e-8)), "{b:?} is lost");
    }
    assert!(new.iter().map(|v| v[0]).is_sorted());
    let report = after.counters.polished.unwrap();
    assert_eq!(
        (report.points, report.dominated),
        (old.len(), old.len() - new.len())
    );
}

#[test]
fn two_distances_end_between_their_centers() {
    let problem = Quadratics {
        centers: vec![vec![0.0, 0.0, 0.0], vec![1.0, 1.0, 0.0]],
        noise: 0.0,
    };
    let before = outcome(&problem, random_points(100, 3, 1), vec![0.0; 3]);
    let after = polished(&problem, before);
    for (i, x) in after.front.points.iter().enumerate() {
        assert!((x[0] - x[1]).abs() < 1e-4 && x[2].abs() < 1e-4, "{x:?}");
        assert!(x[0] > -1e-4 && x[0] < 1.0 + 1e-4, "{x:?}");
        let sum: f64 = after.front.value(i).iter().map(|f| f.sqrt()).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    }
}

#[test]
fn three_distances_end_in_the_triangle() {
    let problem = Quadratics {
        centers: vec![
            vec![0.0; 4],
            vec![1.0, 0.0, 0.0, 0.0],
            vec![0.0, 1.0, 0.0, 0.0],
        ],
        noise: 0.0,
    };
    let before = outcome(&problem, random_points(100, 4, 2), vec![0.0; 4]);
    for x in polished(&problem, before).front.points.iter() {
        assert!(x[2].abs() < 1e-3 && x[3].abs() < 1e-3, "{x:?}");
        assert!(x[0] > -1e-3 && x[1] > -1e-3 && x[0] + x[1] < 1.001, "{x:?}");
    }
}

fn one_covariance() -> Bounded {
    Bounded {
        curvature: vec![1.0, 10.0, 100.0, 1e3, 1e4],
        center: vec![0.5, -1.0, 0.2, 0.1, 0.3],
        affine: vec![vec![(vec![1.0, 0.5, -2.0, 3.0, 20.0], -0.7)]],
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// By Lagrange multipliers: with c* the covariance at the minimum of the loss, f₁ = (|c*| −
/// |c|)²/(2 u·Q⁻¹u) on the front, even at c = 0, where the gradient vanishes.
#[test]
fn one_covariance_ends_on_the_exact_front() {
    let problem = one_covariance();
    let (u, shift) = problem.affine[0][0].clone();
    let largest = (shift + dot(&u, &problem.center)).abs();
    let inverse: Vec<f64> = u
        .iter()
        .zip(&problem.curvature)
        .map(|(u, q)| u / q)
        .collect();
    let mut points = random_points(60, 5, 3);
    for i in 0..10 {
        // c = 0 to rounding.
        let x = points.get_mut(i);
        let c = shift + dot(&u, x);
        x.iter_mut()
            .zip(&u)
            .for_each(|(x, u_j)| *x -= c * u_j / dot(&u, &u));
    }
    let fair = points.get(0).to_vec();
    let before = outcome(&problem, points, problem.center.clone());
    assert!(before.front.value(0)[1] < 1e-28, "{fair:?}");
    let scale = before.front.values.iter().copied().fold(0.0, f64::max);
    let after = polished(&problem, before);
    for i in 0..after.front.len() {
        let [loss, square] = after.front.value(i) else {
            panic!("two objectives");
        };
        let way = (largest - square.sqrt()).max(0.0);
        let expected = way * way / (2.0 * dot(&u, &inverse));
        assert!(
            (loss - expected).abs() < 1e-7 * scale,
            "{loss} is not {expected}"
        );
    }
    assert!(
        after
            .front
            .values
            .iter()
            .skip(1)
            .step_by(2)
            .any(|f| *f < 1e-20)
    );
}

/// Several covariances in one objective: at the end, the gradients of loss and objective point in
/// opposite directions.
#[test]
fn several_covariances_end_stationary() {
    let problem = Bounded {
        affine: vec![vec![
            (vec![1.0, 0.5, -2.0, 3.0, 20.0], -0.7),
            (vec![-1.0, 2.0, 1.0, -10.0, 3.0], 0.3),
            (vec![0.0, -1.0, 4.0, 5.0, -30.0], 0.1),
        ]],
        ..one_covariance()
    };
    let before = outcome(&problem, random_points(60, 5, 4), problem.center.clone());
    let after = polished(&problem, before);
    let gradients = problem
        .gradients(&after.front.points, Batches::All)
        .unwrap();
    for i in 0..after.front.len() {
        // Lengths are measured by the curvature of the loss.
        let scaled = |objective: usize| -> Vec<f64> {
            let gradient = gradients.get(objective, i).iter();
            gradient
                .zip(&problem.curvature)
                .map(|(g, q)| g / q.sqrt())
                .collect()
        };
        let (a, b) = (scaled(0), scaled(1));
        let along = (-dot(&a, &b) / dot(&b, &b)).max(0.0);
        let rest: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + along * b).collect();
        // ½‖rest‖² is about the remaining possible gain.
        assert!(dot(&rest, &rest) < 1e-3, "{}", dot(&rest, &rest));
    }
    let rounds = after.counters.polished.unwrap().rounds;
    assert!(rounds < 50, "{rounds} rounds");
}

#[test]
fn a_front_that_is_not_convex_keeps_its_points() {
    let problem = Fonseca { n: 3 };
    let root = 1.0 / 3.0_f64.sqrt();
    let before = outcome(&problem, random_points(100, 3, 5), vec![root; 3]);
    for x in polished(&problem, before).front.points.iter() {
        let mean = x.iter().sum::<f64>() / 3.0;
        assert!(x.iter().all(|v| (v - mean).abs() < 1e-2), "{x:?}");
    }
}

#[test]
fn steps_avoid_points_without_finite_values() {
    let before = outcome(&Cliff, random_points(50, 2, 6), vec![0.0; 2]);
    let finite: Vec<usize> = (0..50)
        .filter(|i| before.front.points.get(*i)[0] <= 0.6)
        .collect();
    let before = outcome(&Cliff, before.front.points.select(&finite), vec![0.0; 2]);
    let after = polished(&Cliff, before);
    assert!(
        after
            .front
            .points
            .iter()
            .all(|x| x[0] <= 0.6 && x[1].abs() < 1e-3)
    );
}

/// Tests every solver, with convex and with nonconvex covariances.
#[test]
fn polishing_improves_fronts_of_all_solvers() {
    for kinds in [
        vec![Condition::All],
        vec![Condition::Positive],
        vec![Condition::All, Condition::Positive],
    ] {
        let problem = fair_problem_of(&kinds);
        let settings = PfSmg {
            most_steps: 40,
            ..PfSmg::default()
        };
        let paper = EpsFair {
            points: 10,
            ..EpsFair::paper(10)
        };
        for before in [
            settings.solve(&problem, &mut ()).unwrap(),
            paper.solve(&problem, &mut ()).unwrap(),
        ] {
            let (old, spent) = (before.front.clone(), before.counters.clone());
            let after = polished(&problem, before);
            let mut reference = vec![0.7; 1 + kinds.len()];
            for (i, reference) in reference.iter_mut().enumerate().skip(1) {
                *reference = 1.1 * after.unmitigated.values[i];
            }
            let volume = |front: &Front| hypervolume(front.judged().unwrap(), &reference).unwrap();
            assert!(volume(&after.front) > volume(&old), "{kinds:?}");
            let report = after.counters.polished.unwrap();
            assert!(report.improved > 0 && report.improved <= report.points);
            assert!(after.counters.evaluations > spent.evaluations);
            let gradients = |c: &Counters| c.gradient_evaluations.iter().sum::<u64>();
            assert!(gradients(&after.counters) > gradients(&spent));
            // A second polish gains almost nothing.
            let again = volume(&polished(&problem, after.clone()).front);
            assert!(again < volume(&after.front) * (1.0 + 1e-3), "{kinds:?}");
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let problem = fair_problem();
    let settings = PfSmg {
        most_steps: 20,
        ..PfSmg::default()
    };
    let before = settings.solve(&problem, &mut ()).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let after =
            pool.install(|| polish(&problem, before.clone(), &Polish::default(), &mut ()).unwrap());
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        (
            bits(after.front.points.as_slice()),
            bits(&after.front.values),
            after.counters,
        )
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(8));
}

/// Stops after this many rounds, or once its signal has been checked this often.
struct Stop {
    rounds: usize,
    questions: Option<usize>,
}

impl Observer for Stop {
    fn round(&mut self, progress: &Progress) -> ControlFlow<()> {
        match progress.round < self.rounds {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        let asked = Arc::new(AtomicUsize::new(0));
        let most = self.questions.unwrap_or(usize::MAX);
        StopSignal::new(move || asked.fetch_add(1, Ordering::Relaxed) >= most)
    }
}

#[test]
fn a_stopped_polish_keeps_finished_work() {
    let problem = fair_problem();
    let settings = PfSmg {
        most_steps: 20,
        ..PfSmg::default()
    };
    let before = settings.solve(&problem, &mut ()).unwrap();
    for (rounds, questions) in [
        (1, None),
        (3, None),
        (99, Some(0)),
        (99, Some(3)),
        (99, Some(9)),
    ] {
        let mut stop = Stop { rounds, questions };
        let after = polish(&problem, before.clone(), &Polish::default(), &mut stop).unwrap();
        check(&problem, &before.front, &after);
        assert_eq!(after.stop, StopReason::Stopped);
        let report = after.counters.polished.unwrap();
        assert!(report.rounds <= rounds);
        match questions {
            Some(0) => assert_eq!(report.improved, 0),
            Some(_) => {}
            None => assert!(report.improved > 0),
        }
    }
}

#[test]
fn unsuitable_fronts_and_settings_are_rejected() {
    let problem = one_covariance();
    let before = outcome(&problem, random_points(3, 5, 7), problem.center.clone());
    let run = |problem: &dyn Problem, settings: &Polish| {
        let error = polish(problem, before.clone(), settings, &mut ()).unwrap_err();
        error.to_string()
    };
    let other = Fonseca { n: 3 };
    assert!(run(&other, &Polish::default()).contains("another problem"));
    for settings in [
        Polish {
            tolerance: 0.0,
            ..Polish::default()
        },
        Polish {
            most_steps: 0,
            ..Polish::default()
        },
        Polish {
            references: 0,
            ..Polish::default()
        },
    ] {
        assert!(run(&problem, &settings).contains("it must be"));
    }
    let none = outcome(&problem, Points::new(5), problem.center.clone());
    assert!(polished(&problem, none).front.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No objective of a point rises, for any problem.
    #[test]
    fn no_objective_rises(
        seed in 0_u64..1_000_000,
        m in 1_usize..4,
        roots in 1_usize..4,
        scale in -3.0..3.0_f64,
    ) {
        let mut random = Stream::new(seed, Purpose::Synthetic, [1, 0]);
        let mut vector = |scale: f64| -> Vec<f64> { (0..4).map(|_| scale * random.normal()).collect() };
        let problem = Bounded {
            curvature: vector(1.0).iter().map(|v| (2.0 * v).exp()).collect(),
            center: vector(1.0),
            affine: (1..m)
                .map(|_| (0..roots).map(|_| (vector(10_f64.powf(scale)), vector(1.0)[0])).collect())
                .collect(),
        };
        let before = outcome(&problem, random_points(1, 4, seed), problem.center.clone());
        let old = before.front.value(0).to_vec();
        let after = polished(&problem, before);
        let new = after.front.value(0);
        for i in 0..m {
            prop_assert!(new[i] <= old[i].max(1e-14 * after.unmitigated.values[i]));
        }
    }
}
