//! Objectives and measures of more than two classes, each written out row by row.

use std::sync::Arc;

use fairfront_core::{
    Batches, ClassCovariance, ClassError, ClassLoss, ClassParity, ClassRate, Classes, Dataset,
    FairProblem, GroupRisk, Measure, Measures, Multinomial, Objective, Points, Precision, Problem,
    Risk, Schema, StopSignal, Stream, Target, better_offsets, calibrate_scale, measure,
};
use proptest::prelude::*;

use crate::objective::close;
use crate::plain::{self, N_FEATURES, Row};

const BETA: f64 = 9.0;
const TAU: f64 = 0.4;
const LAMBDA: f64 = 0.02;

pub(crate) fn classes(n: usize, ordered: bool) -> Classes {
    let names = (0..n).map(|class| format!("k{class}")).collect();
    Classes { names, ordered }
}

fn schema(n_groups: usize, classes: &Classes) -> Schema {
    Schema {
        target: Target::Classes(classes.clone()),
        ..plain::schema(n_groups)
    }
}

/// Rows whose class depends on the first feature and on the group; every class occurs in every group.
pub(crate) fn rows(
    seed: u64,
    n: usize,
    n_groups: usize,
    n_classes: usize,
    weighted: bool,
) -> Vec<Row> {
    let mut random = Stream::new(seed, fairfront_core::Purpose::Synthetic, [9, 11]);
    let mut rows = plain::rows(seed, n, n_groups, weighted);
    for (i, row) in rows.iter_mut().enumerate() {
        let shift = row.group.map_or(0.0, |g| g as f64 / n_groups as f64);
        let score = row.z[0] + shift + random.normal();
        let class = ((score + 1.5).max(0.0) * n_classes as f64 / 3.0) as usize;
        row.y = class.min(n_classes - 1) as f64;
        if i < n_groups * n_classes {
            row.group = Some(i % n_groups);
            row.y = (i / n_groups) as f64;
            row.w = row.w.max(0.1);
        }
    }
    rows
}

pub(crate) fn dataset(rows: &[Row], n_groups: usize, classes: &Classes) -> Dataset {
    let loaded = plain::dataset(rows, n_groups).loaded().unwrap();
    let schema = schema(n_groups, classes);
    Dataset::new(schema, loaded.blocks().cloned().collect()).unwrap()
}

/// An objective of every kind, with a class of its own.
fn objectives(n_groups: usize, classes: &Classes) -> Vec<Box<dyn Objective>> {
    let attribute = &schema(n_groups, classes).attributes[0];
    let parity = |rate| {
        let mut of = ClassParity::new(rate, 0, attribute, classes);
        (of.beta, of.tau) = (BETA, TAU);
        of
    };
    let risk = |risk| GroupRisk::new(risk, 0, attribute).of_classes();
    vec![
        Box::new(ClassLoss { lambda: LAMBDA }),
        Box::new(ClassError {
            tau: TAU,
            lambda: LAMBDA,
        }),
        Box::new(parity(ClassRate::Decided)),
        Box::new(parity(ClassRate::Right)),
        Box::new(parity(ClassRate::DecidedOfClass)),
        Box::new(parity(ClassRate::Decided).of_class(1)),
        Box::new(parity(ClassRate::Right).of_class(2)),
        Box::new(parity(ClassRate::DecidedOfClass).of_class(0)),
        Box::new(risk(Risk::Worst { beta: BETA })),
        Box::new(risk(Risk::Range { beta: BETA })),
        Box::new(ClassCovariance::new(0, attribute, classes.len())),
    ]
}

const N_KINDS: usize = 11;

fn problem(rows: &[Row], n_groups: usize, classes: &Classes) -> FairProblem {
    let data = Arc::new(dataset(rows, n_groups, classes));
    let predictor = Multinomial {
        n_classes: classes.len(),
    };
    FairProblem::new(data, Box::new(predictor), objectives(n_groups, classes)).unwrap()
}

/// The scores of a row, class by class.
fn phi(row: &Row, x: &[f64], k: usize) -> Vec<f64> {
    let of_class = |class: usize| {
        let own = &x[class * N_FEATURES..(class + 1) * N_FEATURES];
        row.z.iter().zip(own).map(|(z, c)| z * c).sum::<f64>() + x[k * N_FEATURES + class]
    };
    (0..k).map(of_class).collect()
}

fn softmax(scores: &[f64], tau: f64) -> Vec<f64> {
    let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = scores.iter().map(|s| ((s - high) / tau).exp()).collect();
    let total: f64 = e.iter().sum();
    e.iter().map(|e| e / total).collect()
}

fn loss(row: &Row, x: &[f64], k: usize) -> f64 {
    -softmax(&phi(row, x, k), 1.0)[row.y as usize].ln()
}

pub(crate) fn decision(row: &Row, x: &[f64], k: usize) -> usize {
    let scores = phi(row, x, k);
    let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter().position(|s| *s == high).unwrap()
}

fn log_mean(values: &[f64]) -> f64 {
    let mean = values.iter().map(|v| (BETA * v).exp()).sum::<f64>() / values.len() as f64;
    mean.ln() / BETA
}

fn smooth_range(values: &[f64]) -> f64 {
    let negative: Vec<f64> = values.iter().map(|v| -v).collect();
    log_mean(values) + log_mean(&negative)
}

/// Means of a value by group, over the rows of a class or of all.
fn by_group(
    rows: &[Row],
    n_groups: usize,
    class: Option<usize>,
    value: impl Fn(&Row) -> f64,
) -> Vec<f64> {
    let counts = |r: &&Row| class.is_none_or(|class| r.y == class as f64);
    let of_group = |g: usize| {
        plain::mean(
            rows.iter()
                .filter(move |r| r.group == Some(g))
                .filter(counts),
            &value,
        )
    };
    (0..n_groups).map(of_group).collect()
}

/// An objective by its definition.
fn value(kind: usize, rows: &[Row], n_groups: usize, classes: &Classes, x: &[f64]) -> f64 {
    let (k, ordered) = (classes.len(), classes.ordered);
    let penalty = 0.5 * LAMBDA * x[..k * N_FEATURES].iter().map(|c| c * c).sum::<f64>();
    // The smooth share of a decision, or of decisions that are at least as high.
    let share = |row: &Row, class: usize, ordered: bool| -> f64 {
        let p = softmax(&phi(row, x, k), TAU);
        p[class..if ordered { k } else { class + 1 }].iter().sum()
    };
    let decided = |of: Option<usize>, class: usize| {
        smooth_range(&by_group(rows, n_groups, of, |r| share(r, class, ordered)))
    };
    let right = |class: usize| {
        smooth_range(&by_group(rows, n_groups, Some(class), |r| {
            share(r, class, false)
        }))
    };
    let compared: Vec<usize> = (usize::from(ordered)..k).collect();
    let of_rows = |class: usize| compared.iter().map(move |d| decided(Some(class), *d));
    let losses = by_group(rows, n_groups, None, |r| loss(r, x, k));
    match kind {
        0 => plain::mean(rows.iter(), |r| loss(r, x, k)) + penalty,
        1 => 1.0 - plain::mean(rows.iter(), |r| share(r, r.y as usize, false)) + penalty,
        2 => log_mean(
            &compared
                .iter()
                .map(|d| decided(None, *d))
                .collect::<Vec<_>>(),
        ),
        3 => log_mean(&(0..k).map(right).collect::<Vec<_>>()),
        4 => log_mean(&(0..k).flat_map(of_rows).collect::<Vec<_>>()),
        5 => decided(None, 1),
        6 => right(2),
        7 => log_mean(&of_rows(0).collect::<Vec<_>>()),
        8 => log_mean(&losses),
        9 => smooth_range(&losses),
        _ => {
            let known = || rows.iter().filter(|r| r.group.is_some());
            let mut sum = 0.0;
            for g in 0..n_groups {
                let is_in = |r: &Row| f64::from(u8::from(r.group == Some(g)));
                let share = plain::mean(known(), is_in);
                for class in 0..k {
                    let centered = |r: &Row| (is_in(r) - share) * phi(r, x, k)[class];
                    sum += plain::mean(known(), centered).powi(2);
                }
            }
            sum
        }
    }
}

pub(crate) fn points(seed: u64, n: usize, n_params: usize) -> Points {
    let mut random = Stream::new(seed, fairfront_core::Purpose::Synthetic, [9, 12]);
    Points::from_vec(
        n_params,
        (0..n * n_params).map(|_| random.normal()).collect(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn values_are_those_of_the_definition(seed: u64, n in 40_usize..1500, n_groups in 2_usize..4, k in 3_usize..6, ordered: bool, weighted: bool, n_points in 1_usize..40) {
        let classes = classes(k, ordered);
        let rows = rows(seed, n, n_groups, k, weighted);
        let problem = problem(&rows, n_groups, &classes);
        let points = points(seed, n_points, problem.n_params());
        let found = problem.values(&points).unwrap();
        for (i, x) in points.iter().enumerate().take(3) {
            for kind in 0..N_KINDS {
                let expected = value(kind, &rows, n_groups, &classes, x);
                let found = found[i * N_KINDS + kind];
                prop_assert!(close(found, expected, 1e-10), "kind {kind}: {found} is not {expected}");
            }
        }
    }

    #[test]
    fn gradients_agree_with_finite_differences(seed: u64, n_groups in 2_usize..4, k in 3_usize..5, ordered: bool, weighted: bool) {
        let classes = classes(k, ordered);
        let rows = rows(seed, 60, n_groups, k, weighted);
        let problem = problem(&rows, n_groups, &classes);
        let points = points(seed, 2, problem.n_params());
        let gradients = problem.gradients(&points, Batches::All).unwrap();
        for (i, x) in points.iter().enumerate() {
            for kind in 0..N_KINDS {
                for j in (0..x.len()).step_by(5) {
                    let at = |step: f64| {
                        let mut x = x.to_vec();
                        x[j] += step;
                        value(kind, &rows, n_groups, &classes, &x)
                    };
                    // The error of a central difference is about step² and 1e-16 / step.
                    let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
                    let found = gradients.get(kind, i)[j];
                    prop_assert!(close(found, expected, 1e-6), "kind {kind}, parameter {j}: {found} is not {expected}");
                }
            }
        }
    }

    #[test]
    fn weighted_sums_add_values_and_gradients(seed: u64, k in 3_usize..5, ordered: bool) {
        let classes = classes(k, ordered);
        let rows = rows(seed, 300, 2, k, true);
        let problem = problem(&rows, 2, &classes);
        let points = points(seed, 3, problem.n_params());
        let weights: Vec<f64> = (0..3 * N_KINDS).map(|i| 0.1 + (i % 7) as f64).collect();
        let (values, sums) = problem.weighted(&points, &weights, Precision::Exact).unwrap();
        let gradients = problem.gradients(&points, Batches::All).unwrap();
        let expected = problem.values(&points).unwrap();
        for (a, b) in values.iter().zip(&expected) {
            prop_assert!(close(*a, *b, 1e-12));
        }
        for i in 0..3 {
            for j in 0..problem.n_params() {
                let terms = (0..N_KINDS).map(|o| weights[i * N_KINDS + o] * gradients.get(o, i)[j]);
                let expected: f64 = terms.sum();
                prop_assert!(close(sums[i * problem.n_params() + j], expected, 1e-9));
            }
        }
    }

    #[test]
    fn second_derivatives_agree_with_finite_differences(seed: u64, k in 3_usize..5, weighted: bool) {
        let classes = classes(k, false);
        let rows = rows(seed, 80, 2, k, weighted);
        let problem = problem(&rows, 2, &classes);
        let points = points(seed, 1, problem.n_params());
        let x = points.get(0).to_vec();
        let found = problem.second_order().unwrap().expand(&x).unwrap();
        prop_assert!(close(found.value, value(0, &rows, 2, &classes, &x), 1e-10));
        let gradient = |x: Vec<f64>| {
            let at = Points::from_vec(x.len(), x);
            problem.gradients(&at, Batches::All).unwrap().get(0, 0).to_vec()
        };
        let n = x.len();
        for (a, b) in found.gradient.iter().zip(gradient(x.clone())) {
            prop_assert!(close(*a, b, 1e-10));
        }
        for j in (0..n).step_by(4) {
            let at = |step: f64| {
                let mut x = x.clone();
                x[j] += step;
                gradient(x)
            };
            let (high, low) = (at(1e-5), at(-1e-5));
            for i in j..n {
                let expected = (high[i] - low[i]) / 2e-5;
                let found = found.lower[i * n + j];
                prop_assert!(close(found, expected, 1e-5), "{i}, {j}: {found} is not {expected}");
            }
        }
    }

    #[test]
    fn measures_are_those_of_the_definition(seed: u64, n in 40_usize..1500, n_groups in 2_usize..4, k in 3_usize..6, ordered: bool, weighted: bool) {
        let classes = classes(k, ordered);
        let rows = rows(seed, n, n_groups, k, weighted);
        let data = dataset(&rows, n_groups, &classes);
        let schema = schema(n_groups, &classes);
        let predictor = Multinomial { n_classes: k };
        let points = points(seed, 3, k * (N_FEATURES + 1));
        let measured = measure(&predictor, &data, &points).unwrap();
        let names = Measures::names(&schema);
        for (x, measures) in points.iter().zip(measured) {
            let values = measures.values();
            prop_assert_eq!(values.len(), names.len());
            let of = |name: &str| {
                let at = names.iter().position(|own| own == name).expect(name);
                values[at]
            };
            let range = |values: &[f64]| {
                let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                high - values.iter().copied().fold(f64::INFINITY, f64::min)
            };
            let is = |yes: bool| f64::from(u8::from(yes));
            let counts = |d: usize, class: usize| match ordered {
                true => d >= class,
                false => d == class,
            };
            let mut checks = vec![
                ("accuracy".to_owned(), plain::mean(rows.iter(), |r| is(decision(r, x, k) as f64 == r.y))),
                ("log_loss".to_owned(), plain::mean(rows.iter(), |r| loss(r, x, k))),
            ];
            let (mut recalls, mut all_odds, mut parities) = (Vec::new(), 0.0_f64, Vec::new());
            for class in 0..k {
                let of_class = rows.iter().filter(|r| r.y == class as f64);
                let recall = plain::mean(of_class, |r| is(decision(r, x, k) == class));
                recalls.push(recall);
                checks.push((format!("recall[k{class}]"), recall));
                let decided = |r: &Row| is(counts(decision(r, x, k), class));
                let shares = by_group(&rows, n_groups, None, decided);
                checks.push((format!("selection_rate[k{class}](a=g1)"), shares[1]));
                checks.push((format!("demographic_parity_difference[k{class}](a)"), range(&shares)));
                parities.push(range(&shares));
                let mut odds = 0.0_f64;
                for d in 0..k {
                    let decided = |r: &Row| is(counts(decision(r, x, k), d));
                    odds = odds.max(range(&by_group(&rows, n_groups, Some(class), decided)));
                }
                all_odds = all_odds.max(odds);
                checks.push((format!("equalized_odds_difference[k{class}](a)"), odds));
                let right = |r: &Row| is(decision(r, x, k) == class);
                let right = by_group(&rows, n_groups, Some(class), right);
                checks.push((format!("equal_opportunity_difference[k{class}](a)"), range(&right)));
            }
            checks.push(("balanced_accuracy".into(), recalls.iter().sum::<f64>() / k as f64));
            checks.push(("equalized_odds_difference(a)".into(), all_odds));
            checks.push(("demographic_parity_difference(a)".into(), parities.iter().copied().fold(0.0, f64::max)));
            let one = rows.iter().filter(|r| r.y == 1.0 && decision(r, x, k) == 2 && r.group == Some(0));
            checks.push(("decisions[k1>k2](a=g0)".into(), one.map(|r| r.w).sum()));
            for (name, expected) in checks {
                let found = of(&name).unwrap();
                prop_assert!(close(found, expected, 1e-9), "{name}: {found} is not {expected}");
            }
        }
    }

    #[test]
    fn samples_and_rough_passes_estimate_all_rows(seed: u64, ordered: bool) {
        let classes = classes(4, ordered);
        let rows = rows(seed, 3000, 3, 4, false);
        let problem = problem(&rows, 3, &classes);
        let points = points(seed, 2, problem.n_params());
        let weights = vec![1.0; 2 * N_KINDS];
        let (exact, _) = problem.weighted(&points, &weights, Precision::Exact).unwrap();
        let (rough, _) = problem.weighted(&points, &weights, Precision::Rough).unwrap();
        for (a, b) in exact.iter().zip(&rough) {
            // Single precision, over 3,000 rows.
            prop_assert!(close(*a, *b, 1e-4), "{a} is not {b}");
        }
    }
}

#[test]
fn the_minimizer_has_no_gradient() {
    let classes = classes(3, false);
    let rows = rows(5, 800, 2, 3, true);
    let problem = problem(&rows, 2, &classes);
    let loss = problem.loss().unwrap();
    let found = loss
        .minimizer(None, &StopSignal::default())
        .unwrap()
        .unwrap();
    let at = Points::from_vec(found.len(), found);
    let gradients = problem.gradients(&at, Batches::All).unwrap();
    // Newton's method ends at rounding errors.
    assert!(gradients.get(0, 0).iter().all(|g| g.abs() < 1e-9));
}

#[test]
fn labels_beyond_the_classes_are_errors() {
    let classes = classes(3, false);
    let rows = rows(5, 40, 2, 4, false);
    let loaded = plain::dataset(&rows, 2).loaded().unwrap();
    let block = loaded.blocks().next().unwrap();
    let schema = schema(2, &classes);
    let problem = fairfront_core::RowBlock::new(
        &schema,
        vec![0.0; 80],
        vec![schema.null_feature(); 80],
        block.labels().to_vec(),
        vec![vec![0; 40]],
        vec![1.0; 40],
    );
    let said = problem.unwrap_err().to_string();
    assert!(said.contains("the position of a class"), "{said}");
}

#[test]
fn offsets_improve_decisions_and_nothing_else_changes() {
    let classes = classes(4, true);
    let rows = rows(11, 1500, 2, 4, true);
    let data = dataset(&rows, 2, &classes);
    let predictor = Multinomial { n_classes: 4 };
    let measures = [
        Measure::ErrorRate(fairfront_core::Costs::EQUAL),
        Measure::DemographicParity { attribute: 0 },
    ];
    let points = points(12, 6, 4 * (N_FEATURES + 1));
    let better = better_offsets(&predictor, &data, &points, &measures).unwrap();
    assert!(!better.is_empty());
    let values = |points: &Points| -> Vec<Vec<f64>> {
        let of = |m: Measures| {
            measures
                .iter()
                .map(|measure| measure.of(&m).unwrap())
                .collect()
        };
        let measured = measure(&predictor, &data, points).unwrap();
        measured.into_iter().map(of).collect()
    };
    let before = values(&points);
    let coefficients = 4 * N_FEATURES;
    for (point, after) in better.iter().zip(values(&better)) {
        let same = |own: &&[f64]| own[..coefficients] == point[..coefficients];
        let origin = points.iter().position(|own| same(&own)).unwrap();
        let pairs = || after.iter().zip(&before[origin]);
        assert!(pairs().all(|(new, old)| new <= old));
        assert!(pairs().any(|(new, old)| new < old));
    }
}

#[test]
fn factors_minimize_the_log_loss() {
    let classes = classes(3, false);
    let rows = rows(13, 900, 2, 3, true);
    let data = dataset(&rows, 2, &classes);
    let predictor = Multinomial { n_classes: 3 };
    let problem = problem(&rows, 2, &classes);
    let loss_of = problem.loss().unwrap();
    let minimizer = loss_of
        .minimizer(None, &StopSignal::default())
        .unwrap()
        .unwrap();
    let mut points = Points::new(minimizer.len());
    for factor in [0.01, 0.4, 1.0, 3.0, 70.0] {
        let scaled: Vec<f64> = minimizer.iter().map(|x| factor * x).collect();
        points.push(&scaled);
    }
    let found = calibrate_scale(&predictor, &data, &points).unwrap();
    for (x, calibration) in points.iter().zip(found) {
        let at = |factor: f64| {
            let scaled: Vec<f64> = x.iter().map(|x| factor * x).collect();
            plain::mean(rows.iter(), |r| loss(r, &scaled, 3))
        };
        let best = at(calibration.slope);
        // The loss is convex in the factor, so it is enough to compare with both sides.
        for factor in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
            assert!(best <= at(factor * calibration.slope) + 1e-12);
        }
    }
}
