//! Networks against their definition, row by row.

use std::sync::Arc;

use fairfront_core::{
    Batches, Condition, Covariance, ErrorRate, FairProblem, LANES, LogLoss, Network, Objective,
    OuterBatch, Points, Precision, Predictor, Problem, Purpose, RateParity, Stream,
    calibrate_scale, predictor_of, rescaled, scores,
};
use proptest::prelude::*;

use crate::plain::{N_FEATURES, Row, dataset, rows, schema};

const N_GROUPS: usize = 2;

fn points(seed: u64, network: Network, n: usize) -> Points {
    let n_params = network.n_params(&schema(N_GROUPS));
    let mut random = Stream::new(seed, Purpose::Synthetic, [8, 1]);
    Points::from_vec(
        n_params,
        (0..n * n_params).map(|_| random.normal()).collect(),
    )
}

/// vᵀ tanh(Wz + a) + b.
fn score(network: Network, row: &Row, x: &[f64]) -> f64 {
    let h = network.hidden;
    let (weights, rest) = x.split_at(h * N_FEATURES);
    let (v, rest) = rest.split_at(h);
    let (a, b) = rest.split_at(h);
    let unit = |k: usize| {
        let own = &weights[k * N_FEATURES..(k + 1) * N_FEATURES];
        let sum: f64 = own.iter().zip(&row.z).map(|(w, z)| w * z).sum();
        v[k] * libm::tanh(sum + a[k])
    };
    (0..h).map(unit).sum::<f64>() + b[0]
}

fn objectives() -> Vec<Box<dyn Objective>> {
    let attribute = &schema(N_GROUPS).attributes[0];
    vec![
        Box::new(LogLoss { lambda: 0.03 }),
        Box::new(ErrorRate::default()),
        Box::new(RateParity::new(Condition::All, 0, attribute)),
        Box::new(Covariance::new(Condition::Positive, 0, attribute)),
    ]
}

fn problem(rows: &[Row], network: Network) -> FairProblem {
    let data = dataset(rows, N_GROUPS);
    FairProblem::new(Arc::new(data), Box::new(network), objectives()).expect("a problem")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn scores_are_those_of_the_definition(seed in 0_u64..1_000, hidden in 1_usize..6, n in 1_usize..300) {
        let network = Network { hidden };
        let table = rows(seed, n + 4, N_GROUPS, true);
        let data = dataset(&table, N_GROUPS);
        let point = points(seed, network, 1);
        let found = scores(&network, &data, point.get(0)).unwrap();
        for (row, found) in table.iter().zip(found) {
            let expected = score(network, row, point.get(0));
            prop_assert!((found - expected).abs() < 1e-13 * (1.0 + expected.abs()));
        }
    }

    #[test]
    fn gradients_are_finite_differences(seed in 0_u64..1_000, hidden in 1_usize..5) {
        let network = Network { hidden };
        let problem = problem(&rows(seed, 200, N_GROUPS, true), network);
        let point = points(seed, network, 1);
        let (_, gradients) = problem.evaluate(&point).unwrap();
        let (n, m) = (problem.n_params(), problem.n_objectives());
        let step = 1e-6;
        for i in 0..n {
            let mut moved = Points::new(n);
            for sign in [1.0, -1.0] {
                let mut x = point.get(0).to_vec();
                x[i] += sign * step;
                moved.push(&x);
            }
            let values = problem.values(&moved).unwrap();
            for objective in 0..m {
                let difference = (values[objective] - values[m + objective]) / (2.0 * step);
                let found = gradients.get(objective, 0)[i];
                // A jump of the second derivative times the step, and rounding over the step.
                prop_assert!((found - difference).abs() < 2e-6 * (1.0 + found.abs()),
                    "objective {objective}, parameter {i}: {found} is not {difference}");
            }
        }
    }

    /// A point's sums do not depend on the points computed with it.
    #[test]
    fn the_number_of_points_does_not_matter(seed in 0_u64..1_000, hidden in 1_usize..5) {
        let network = Network { hidden };
        let problem = problem(&rows(seed, 300, N_GROUPS, true), network);
        let all = points(seed, network, LANES + 3);
        let (values, gradients) = problem.evaluate(&all).unwrap();
        let m = problem.n_objectives();
        for (i, point) in all.iter().enumerate() {
            let alone = Points::from_vec(point.len(), point.to_vec());
            let (value, gradient) = problem.evaluate(&alone).unwrap();
            prop_assert_eq!(&value[..], &values[i * m..(i + 1) * m]);
            for objective in 0..m {
                prop_assert_eq!(gradient.get(objective, 0), gradients.get(objective, i));
            }
        }
    }

    /// An embedded linear model decides as the model does, and scaling multiplies scores.
    #[test]
    fn linear_models_are_contained(seed in 0_u64..1_000, hidden in 1_usize..5) {
        let network = Network { hidden };
        let schema = schema(N_GROUPS);
        let data = dataset(&rows(seed, 200, N_GROUPS, true), N_GROUPS);
        let mut random = Stream::new(seed, Purpose::Synthetic, [8, 2]);
        let linear: Vec<f64> = (0..=N_FEATURES).map(|_| random.normal()).collect();
        let of_linear = scores(&*predictor_of(&schema), &data, &linear).unwrap();
        let embedded = network.embed(&schema, &linear, seed).unwrap();
        let found = scores(&network, &data, &embedded).unwrap();
        for (found, linear) in found.iter().zip(&of_linear) {
            prop_assert!((found - libm::tanh(0.25 * linear) / 0.25).abs() < 1e-12);
            prop_assert_eq!(*found >= 0.0, *linear >= 0.0);
        }
        let scaled = network.scaled(&schema, &embedded, 3.0).unwrap();
        for (scaled, found) in scores(&network, &data, &scaled).unwrap().iter().zip(&found) {
            prop_assert!((scaled - 3.0 * found).abs() < 1e-12 * (1.0 + found.abs()));
        }
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let network = Network { hidden: 5 };
    let problem = problem(&rows(3, 20_000, N_GROUPS, true), network);
    let points = points(3, network, 40);
    let sizes = [500; 4];
    let batches = Batches::Sample {
        sizes: &sizes,
        key: (1, [2, 3]),
        outer: OuterBatch::Own,
    };
    let weights = vec![0.25; 4 * points.len()];
    let all = || {
        let (values, gradients) = problem.evaluate(&points).unwrap();
        let stochastic = problem.gradients(&points, batches).unwrap();
        let rough = problem.weighted(&points, &weights, Precision::Rough);
        (values, gradients, stochastic, rough.unwrap())
    };
    let pool = |n| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(n)
            .build()
            .unwrap()
    };
    assert!(pool(1).install(all) == pool(3).install(all));
}

/// Single precision, and batches of all rows, agree with double precision.
#[test]
fn rough_passes_are_close() {
    let network = Network { hidden: 4 };
    let problem = problem(&rows(5, 3_000, N_GROUPS, true), network);
    let points = points(5, network, 6);
    let weights = [0.5, 1.0, 0.7, 0.1].repeat(points.len());
    let of = |precision| problem.weighted(&points, &weights, precision).unwrap();
    let (exact, rough) = (of(Precision::Exact), of(Precision::Rough));
    for (a, b) in exact
        .0
        .iter()
        .zip(&rough.0)
        .chain(exact.1.iter().zip(&rough.1))
    {
        // A few units in the last place of single precision, of sums that may cancel.
        assert!((a - b).abs() < 2e-5 * (1.0 + a.abs()), "{a} {b}");
    }
}

#[test]
fn starts_differ_and_rescaling_keeps_decisions() {
    let network = Network { hidden: 3 };
    let schema = schema(N_GROUPS);
    let starts = network.starts(&schema, 4);
    assert_eq!(starts.len(), 4);
    assert_eq!(starts[0], network.start(&schema));
    assert!(starts[1] != starts[2] && starts[0] != starts[1]);
    assert_eq!(network.names(&schema).len() + 1, starts[0].len());
    assert_eq!(network.penalized(&schema), 0..3 * N_FEATURES + 3);

    let data = dataset(&rows(7, 1_000, N_GROUPS, true), N_GROUPS);
    let points = points(7, network, 3);
    let scaled = rescaled(&network, &data, &points).unwrap();
    let factors = calibrate_scale(&network, &data, &points).unwrap();
    for ((before, after), factor) in points.iter().zip(scaled.iter()).zip(factors) {
        assert_eq!(before[..3 * N_FEATURES], after[..3 * N_FEATURES]);
        let (old, new) = (
            scores(&network, &data, before),
            scores(&network, &data, after),
        );
        for (old, new) in old.unwrap().iter().zip(new.unwrap()) {
            assert!((factor.slope * old - new).abs() < 1e-12 * (1.0 + new.abs()));
        }
    }
    // A schema chooses the predictor.
    let chosen = fairfront_core::Schema {
        hidden: 3,
        ..schema
    };
    assert_eq!(predictor_of(&chosen).as_network(), Some(network));
}

/// The mean of many stochastic gradients is the gradient, for the loss by sampling and for squared
/// covariances through two independent batches. Two groups and equal weights leave no other bias.
#[test]
fn stochastic_gradients_are_unbiased() {
    const DRAWS: u64 = 3_000;
    let network = Network { hidden: 2 };
    let data = dataset(&rows(5, 400, N_GROUPS, false), N_GROUPS);
    let attribute = &schema(N_GROUPS).attributes[0];
    let objectives: Vec<Box<dyn Objective>> = vec![
        Box::new(LogLoss { lambda: 0.03 }),
        Box::new(Covariance::new(Condition::All, 0, attribute)),
        Box::new(Covariance::new(Condition::Positive, 0, attribute)),
    ];
    let problem = FairProblem::new(Arc::new(data), Box::new(network), objectives).unwrap();
    let point = points(5, network, 1);
    let (_, exact) = problem.evaluate(&point).unwrap();
    let n = problem.n_params();
    let mut sums = vec![[0.0; 2]; 3 * n];
    for draw in 0..DRAWS {
        let batches = Batches::Sample {
            sizes: &[60; 3],
            key: (7, [draw, 0]),
            outer: OuterBatch::Own,
        };
        let found = problem.gradients(&point, batches).unwrap();
        for objective in 0..3 {
            for (j, g) in found.get(objective, 0).iter().enumerate() {
                let [sum, squares] = &mut sums[objective * n + j];
                *sum += g;
                *squares += g * g;
            }
        }
    }
    for objective in 0..3 {
        for j in 0..n {
            let [mean, square] = sums[objective * n + j].map(|sum| sum / DRAWS as f64);
            let error = ((square - mean * mean).max(0.0) / DRAWS as f64).sqrt();
            let off = (mean - exact.get(objective, 0)[j]).abs();
            // Gradients of samples have single precision.
            assert!(
                off < 5.0 * error + 1e-9,
                "objective {objective}, parameter {j}: {off} > 5 · {error}"
            );
        }
    }
}
