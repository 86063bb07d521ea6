use std::ops::ControlFlow;
use std::sync::Arc;

use fairfront_core::{
    Attribute, CategoricalFeature, Condition, Covariance, Dataset, FairProblem, Linear, LogLoss,
    Objective, Points, Purpose, RowBlock, Schema, Stream,
};
use fairfront_pareto::{dominates, hypervolume};
use fairfront_solve::{
    BatchSchedule, Observer, Outcome, PfSmg, Progress, Setting, Settings, Solver, StopReason,
};

use crate::analytic::{Cliff, Fonseca, Quadratics};

fn solve(problem: &dyn fairfront_core::Problem, settings: &PfSmg) -> Outcome {
    let outcome = settings.solve(problem, &mut ()).unwrap();
    let front = &outcome.front;
    for i in 0..front.len() {
        assert!(front.value(i).iter().all(|v| v.is_finite()));
        assert!((0..front.len()).all(|j| !dominates(front.value(j), front.value(i))));
    }
    outcome
}

#[test]
fn a_convex_pair() {
    let problem = Quadratics {
        centers: vec![vec![0.0, 0.0, 0.0], vec![1.0, 1.0, 0.0]],
        noise: 1.0,
    };
    let outcome = solve(&problem, &PfSmg::default());
    assert!(outcome.front.len() > 100, "{} points", outcome.front.len());
    for i in 0..outcome.front.len() {
        // On the front, √f₁ + √f₂ = 1; stochastic gradients leave a small error.
        let sum: f64 = outcome.front.value(i).iter().map(|f| f.sqrt()).sum();
        assert!(sum < 1.03, "{sum}");
    }
    // f = (t², (1 − t)²): the area under √f₁ + √f₂ = 1 within the unit square is 1/6.
    let volume = hypervolume(outcome.front.judged().unwrap(), &[1.0, 1.0]).unwrap();
    assert!(volume > 0.995 * (5.0 / 6.0), "{volume}");
}

#[test]
fn a_pair_whose_front_is_not_convex() {
    let problem = Fonseca { n: 3 };
    let settings = PfSmg {
        step: 0.5,
        n_starts: 20,
        start_radius: 1.0,
        ..PfSmg::default()
    };
    let outcome = solve(&problem, &settings);
    let root = 1.0 / 3.0_f64.sqrt();
    for x in outcome.front.points.iter() {
        let mean = x.iter().sum::<f64>() / 3.0;
        assert!(x.iter().all(|v| (v - mean).abs() < 0.05), "{x:?}");
        assert!(mean.abs() < root + 0.05);
    }
    let lowest = |k: usize| {
        let values = outcome.front.values.iter().skip(k).step_by(2);
        values.copied().fold(f64::INFINITY, f64::min)
    };
    assert!(lowest(0) < 0.01 && lowest(1) < 0.01);
}

#[test]
fn three_and_five_objectives() {
    for m in [3, 5] {
        let unit = |i: usize| (0..m).map(|j| f64::from(u8::from(i == j))).collect();
        let problem = Quadratics {
            centers: (0..m).map(unit).collect(),
            noise: 0.3,
        };
        let settings = PfSmg {
            most_points: 400,
            most_steps: 200,
            ..PfSmg::default()
        };
        let outcome = solve(&problem, &settings);
        assert!(outcome.front.len() >= 100, "{} points", outcome.front.len());
        for x in outcome.front.points.iter() {
            // In the convex hull of the unit vectors: nonnegative, with sum 1. The noise moves a
            // point by up to 0.15, and its values by the square of that.
            assert!((x.iter().sum::<f64>() - 1.0).abs() < 0.15, "{x:?}");
            assert!(x.iter().all(|v| *v > -0.1), "{x:?}");
        }
    }
}

#[test]
fn settings_of_the_paper_find_the_pair() {
    let problem = Quadratics {
        centers: vec![vec![0.0; 4], vec![1.0; 4]],
        noise: 1.0,
    };
    let schedule = BatchSchedule {
        initial: 50.0,
        growth: 1.01,
    };
    let settings = PfSmg {
        most_steps: 300,
        most_points: 600,
        ..PfSmg::paper(2, 3, 0.3, 100, vec![schedule])
    };
    let outcome = solve(&problem, &settings);
    // f = (2t², 2(1 − t)²).
    let volume = hypervolume(outcome.front.judged().unwrap(), &[2.0, 2.0]).unwrap();
    assert!(volume > 0.97 * (4.0 * 5.0 / 6.0), "{volume}");
}

#[test]
fn one_objective_gives_a_front_of_one_point() {
    let problem = Quadratics {
        centers: vec![vec![2.0, -1.0]],
        noise: 0.0,
    };
    let outcome = solve(&problem, &PfSmg::default());
    assert_eq!(outcome.front.len(), 1);
    assert!((outcome.front.points.get(0)[0] - 2.0).abs() < 1e-6);
    assert_eq!(outcome.front, outcome.unmitigated);
}

#[test]
fn points_that_are_not_finite_are_counted_and_dropped() {
    let settings = PfSmg {
        n_starts: 30,
        start_radius: 2.0,
        most_steps: 40,
        preconditioner: false,
        anchors: false,
        step: 0.2,
        ..PfSmg::default()
    };
    let outcome = solve(&Cliff, &settings);
    assert!(outcome.counters.non_finite > 0);
    assert!(outcome.front.points.iter().all(|x| x[0] <= 0.6));
}

#[test]
fn a_starting_list_is_used() {
    let problem = Quadratics {
        centers: vec![vec![0.0, 0.0], vec![1.0, 0.0]],
        noise: 0.0,
    };
    let starts = Points::from_vec(2, vec![0.5, 0.0]);
    let settings = PfSmg {
        starts: Some(starts),
        holes: None,
        most_steps: 4,
        ..PfSmg::default()
    };
    let outcome = solve(&problem, &settings);
    assert_eq!(
        outcome.front.points.as_slice(),
        [0.5, 0.0],
        "a Pareto point stays where it is"
    );
}

#[test]
fn an_observer_can_stop_the_solver() {
    struct After(usize);
    impl Observer for After {
        fn round(&mut self, progress: &Progress) -> ControlFlow<()> {
            assert!((0.0..=1.0).contains(&progress.share));
            match progress.round >= self.0 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    let problem = Quadratics {
        centers: vec![vec![0.0, 0.0], vec![1.0, 0.0]],
        noise: 1.0,
    };
    let outcome = PfSmg::default().solve(&problem, &mut After(3)).unwrap();
    assert_eq!(outcome.stop, StopReason::Stopped);
    assert_eq!(outcome.counters.points_by_round.len(), 3);
    assert!(!outcome.front.is_empty());
}

#[test]
fn the_hypervolume_of_every_round_is_recorded() {
    /// The values and the reference point after every round.
    #[derive(Default)]
    struct Lists(Vec<(Vec<f64>, Vec<f64>)>);
    impl Observer for Lists {
        fn round(&mut self, progress: &Progress) -> ControlFlow<()> {
            let list = (progress.values.to_vec(), progress.reference.to_vec());
            self.0.push(list);
            ControlFlow::Continue(())
        }
    }
    /// The area below a reference point, summed step by step.
    fn area(values: &[f64], reference: &[f64]) -> f64 {
        let mut points: Vec<(f64, f64)> = values.chunks(2).map(|p| (p[0], p[1])).collect();
        points.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let (mut area, mut height) = (0.0, reference[1]);
        for (x, y) in points {
            area += (reference[0] - x).max(0.0) * (height - y).max(0.0);
            height = height.min(y);
        }
        area
    }
    let problem = Quadratics {
        centers: vec![vec![0.0, 0.0], vec![1.0, 0.0]],
        noise: 0.1,
    };
    let settings = PfSmg {
        most_steps: 30,
        patience: 0,
        ..PfSmg::default()
    };
    let mut lists = Lists::default();
    let outcome = settings.solve(&problem, &mut lists).unwrap();
    let volumes = outcome.counters.hypervolume_by_round;
    assert!(volumes.len() > 3);
    assert_eq!(volumes.len(), lists.0.len());
    for (volume, (values, reference)) in volumes.iter().zip(&lists.0) {
        let expected = area(values, reference);
        assert!(
            (volume - expected).abs() <= 1e-12 * expected.abs(),
            "{volume} {expected}"
        );
    }
    assert!(volumes[volumes.len() - 1] > volumes[0]);

    let problem = Quadratics {
        centers: (0..5).map(|i| vec![f64::from(i), 1.0]).collect(),
        noise: 0.1,
    };
    let outcome = settings.solve(&problem, &mut ()).unwrap();
    assert!(outcome.counters.hypervolume_by_round.is_empty());
}

#[test]
fn invalid_settings_are_rejected() {
    let refused = |change: fn(&mut PfSmg)| {
        let mut settings = PfSmg::default();
        change(&mut settings);
        settings.check(2).unwrap_err().to_string()
    };
    assert_eq!(
        refused(|s| s.runs = 0),
        "runs is 0; it must be at least 1 and at most 1,000"
    );
    assert!(refused(|s| s.most_points = 0).contains("models is 0"));
    assert!(refused(|s| s.most_steps = 0).contains("max-steps is 0"));
    assert!(refused(|s| s.step = f64::NAN).contains("step is"));
    assert!(refused(|s| s.step = f64::INFINITY).contains("step is"));
    assert!(refused(|s| s.step = 1e300).contains("at most 1,000,000"));
    assert!(refused(|s| s.runs = 1_000_000_000).contains("at most 1,000"));
    assert!(refused(|s| s.batches.clear()).contains("batches"));
    assert!(refused(|s| s.batches[0].initial = 0.0).contains("at least 1 row"));
    assert!(refused(|s| s.batches[0].growth = -1.0).contains("growth above 0"));
    assert!(refused(|s| s.batch_share = 2.0).contains("at most 1"));
    assert!(refused(|s| s.thinning = Some(2.0)).contains("thinning"));
    assert!(
        refused(|s| s.starts = Some(Points::from_vec(3, vec![0.0; 3]))).contains("3 parameters")
    );
    assert!(refused(|s| s.starts = Some(Points::new(2))).contains("empty"));
    for (name, value) in [
        ("runs", "x"),
        ("batches", "a*b"),
        ("preconditioner", "maybe"),
        ("nothing", "1"),
    ] {
        assert!(PfSmg::default().set(name, value).is_err(), "{name}={value}");
    }
    for Setting { name, .. } in PfSmg::default().settings() {
        let value = if ["anchors", "hole-between", "preconditioner"].contains(&name) {
            "true"
        } else {
            "1"
        };
        let mut settings = PfSmg::default();
        settings
            .set(name, value)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// Two thousand rows with two features, a category and an attribute of three groups.
pub(crate) fn fair_problem() -> FairProblem {
    fair_problem_of(&[Condition::All, Condition::Positive])
}

/// The log loss and these covariances on 2,000 rows of three groups.
pub(crate) fn fair_problem_of(kinds: &[Condition]) -> FairProblem {
    let mut random = Stream::new(3, Purpose::Synthetic, [0, 0]);
    let names = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect();
    let schema = Schema {
        numeric: names("n", 2),
        categorical: vec![CategoricalFeature {
            column: "c".into(),
            categories: names("c", 3),
        }],
        attributes: vec![Attribute::new("a", names("g", 3))],
        target: fairfront_core::Target::Binary,
        hidden: 0,
    };
    let block = |n: usize, random: &mut Stream| {
        let (mut numeric, mut codes, mut labels, mut groups) = (vec![], vec![], vec![], vec![]);
        for _ in 0..n {
            let group = random.below(3);
            let z = [random.normal() + group as f64 * 0.5, random.normal()];
            let label = if random.chance(1.0 / (1.0 + (-z[0] - z[1]).exp())) {
                1.0
            } else {
                -1.0
            };
            numeric.extend(z);
            codes.push(2 + random.below(3) as u32);
            labels.push(label);
            groups.push(group as u32);
        }
        let weights = vec![1.0; n];
        RowBlock::new(&schema, numeric, codes, labels, vec![groups], weights).unwrap()
    };
    let blocks = vec![block(1024, &mut random), block(976, &mut random)];
    let data = Dataset::new(schema.clone(), blocks).unwrap();
    let attribute = &schema.attributes[0];
    let mut objectives: Vec<Box<dyn Objective>> = vec![Box::new(LogLoss::default())];
    for kind in kinds {
        objectives.push(Box::new(Covariance::new(*kind, 0, attribute)));
    }
    FairProblem::new(Arc::new(data), Box::new(Linear), objectives).unwrap()
}

#[test]
fn results_depend_on_the_seed_but_not_on_the_number_of_threads() {
    let problem = fair_problem();
    let run = |threads: usize, seed: u64| {
        let settings = PfSmg {
            seed,
            most_steps: 40,
            ..PfSmg::default()
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let outcome = pool.install(|| settings.solve(&problem, &mut ())).unwrap();
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        (
            bits(outcome.front.points.as_slice()),
            bits(&outcome.front.values),
            outcome.counters,
        )
    };
    let one = run(1, 7);
    assert!(!one.0.is_empty());
    assert_eq!(one, run(2, 7));
    assert_eq!(one, run(8, 7));
    assert_ne!(one, run(2, 8));
}
