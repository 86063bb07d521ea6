//! Objectives and measures of predicted numbers, each written out row by row.

use std::sync::Arc;

use fairfront_core::{
    Batches, Condition, Covariance, Dataset, Distance, DistributionDifference, FairProblem,
    GroupRisk, Linear, MeanDifference, Measure, Measures, NumberChanges, NumberTallies, Objective,
    Points, Precision, Problem, Purpose, Quantity, Residual, ResidualLoss, Risk, Schema, Spread,
    StopSignal, Stream, Target, Unit, better_thresholds, measure, target_shares,
};
use proptest::prelude::*;

use crate::objective::{N_PARAMS, close, points};
use crate::plain::{self, N_FEATURES, Row, phi};

const THRESHOLDS: [f64; 5] = [-1.3, -0.4, 0.1, 0.6, 1.5];
const CENTER: f64 = 40.0;
const SCALE: f64 = 12.0;

fn schema(n_groups: usize) -> Schema {
    Schema {
        target: Target::Number(Box::new(Unit {
            center: CENTER,
            scale: SCALE,
            range: [0.0, 90.0],
            thresholds: THRESHOLDS.to_vec(),
        })),
        ..plain::schema(n_groups)
    }
}

/// Rows whose labels depend on the first feature and on the group.
fn rows(seed: u64, n: usize, n_groups: usize, weighted: bool) -> Vec<Row> {
    let mut random = Stream::new(seed, Purpose::Synthetic, [9, 10]);
    let mut rows = plain::rows(seed, n, n_groups, weighted);
    for row in &mut rows {
        let shift = row.group.map_or(0.0, |g| g as f64 / n_groups as f64);
        row.y = 0.5 * row.z[0] + shift + 0.7 * random.normal();
    }
    rows
}

fn dataset(rows: &[Row], n_groups: usize) -> Dataset {
    let loaded = plain::dataset(rows, n_groups).loaded().unwrap();
    Dataset::new(schema(n_groups), loaded.blocks().cloned().collect()).unwrap()
}

fn problem(rows: &[Row], n_groups: usize, objectives: Vec<Box<dyn Objective>>) -> FairProblem {
    let data = Arc::new(dataset(rows, n_groups));
    FairProblem::new(data, Box::new(Linear), objectives).unwrap()
}

const N_KINDS: usize = 13;
const MU: f64 = 0.3;
const BETA: f64 = 9.0;
const TAU: f64 = 0.4;
const LAMBDA: f64 = 0.02;
const QUANTILE: f64 = 0.8;

fn objectives(n_groups: usize) -> Vec<Box<dyn Objective>> {
    let attribute = &schema(n_groups).attributes[0];
    let loss = |of| ResidualLoss { of, lambda: LAMBDA };
    let mean = |spread| {
        let mut of = MeanDifference::new(0, attribute);
        (of.beta, of.spread) = (BETA, spread);
        of
    };
    let distribution = |distance| {
        let mut of = DistributionDifference::new(distance, 0, attribute);
        (of.beta, of.tau) = (BETA, TAU);
        of
    };
    let risk = |risk, residual| GroupRisk::new(risk, 0, attribute).with_residual(residual);
    let absolute = Residual::Absolute { mu: MU };
    vec![
        Box::new(loss(Residual::Squared)),
        Box::new(loss(absolute)),
        Box::new(loss(Residual::Quantile {
            q: QUANTILE,
            mu: MU,
        })),
        Box::new(mean(Spread::Range)),
        Box::new(mean(Spread::Variance)),
        Box::new(distribution(Distance::Largest)),
        Box::new(distribution(Distance::Mean)),
        Box::new(risk(Risk::Range { beta: BETA }, Residual::Squared)),
        Box::new(risk(Risk::Range { beta: BETA }, absolute)),
        Box::new(risk(Risk::Worst { beta: BETA }, absolute)),
        Box::new(risk(Risk::Variance, Residual::Squared)),
        Box::new(mean(Spread::Range).shrunk(0.2)),
        Box::new(Covariance {
            of_number: true,
            ..Covariance::new(Condition::All, 0, attribute)
        }),
    ]
}

fn average<'a>(rows: impl Iterator<Item = &'a Row> + Clone, value: impl Fn(&Row) -> f64) -> f64 {
    let total: f64 = rows.clone().map(|r| r.w).sum();
    rows.map(|r| r.w * value(r)).sum::<f64>() / total
}

fn of_group(rows: &[Row], group: usize) -> impl Iterator<Item = &Row> + Clone {
    rows.iter().filter(move |r| r.group == Some(group))
}

fn log_mean(values: &[f64], beta: f64) -> f64 {
    let mean = values.iter().map(|v| (beta * v).exp()).sum::<f64>() / values.len() as f64;
    mean.ln() / beta
}

fn smooth_range(values: &[f64]) -> f64 {
    let negative: Vec<f64> = values.iter().map(|v| -v).collect();
    log_mean(values, BETA) + log_mean(&negative, BETA)
}

fn smooth_absolute(r: f64) -> f64 {
    (r * r + MU * MU).sqrt() - MU
}

/// An objective by its definition.
fn value(kind: usize, rows: &[Row], n_groups: usize, x: &[f64]) -> f64 {
    let penalty = 0.5 * LAMBDA * x[..N_FEATURES].iter().map(|c| c * c).sum::<f64>();
    let residual = |row: &Row| phi(row, x) - row.y;
    let of_groups = |value: &dyn Fn(&Row) -> f64| -> Vec<f64> {
        (0..n_groups)
            .map(|g| average(of_group(rows, g), value))
            .collect()
    };
    let known = rows.iter().filter(|r| r.group.is_some());
    let total: f64 = known.clone().map(|r| r.w).sum();
    let shares: Vec<f64> = (0..n_groups)
        .map(|g| of_group(rows, g).map(|r| r.w).sum::<f64>() / total)
        .collect();
    let variance = |means: &[f64]| -> f64 {
        let mean: f64 = means.iter().zip(&shares).map(|(m, p)| m * p).sum();
        let pairs = means.iter().zip(&shares);
        pairs.map(|(m, p)| p * (m - mean).powi(2)).sum()
    };
    let at_thresholds = || -> Vec<f64> {
        let share = |t: f64| move |row: &Row| 1.0 / (1.0 + ((phi(row, x) - t) / TAU).exp());
        THRESHOLDS
            .iter()
            .map(|t| smooth_range(&of_groups(&share(*t))))
            .collect()
    };
    let score = |row: &Row| phi(row, x);
    let square = |row: &Row| residual(row).powi(2);
    let absolute = |row: &Row| smooth_absolute(residual(row));
    match kind {
        0 => average(rows.iter(), square) + penalty,
        1 => average(rows.iter(), absolute) + penalty,
        2 => {
            let pinball = |row: &Row| {
                let r = residual(row);
                0.5 * smooth_absolute(r) - (QUANTILE - 0.5) * r
            };
            average(rows.iter(), pinball) + penalty
        }
        3 => smooth_range(&of_groups(&score)),
        4 => variance(&of_groups(&score)),
        5 => log_mean(&at_thresholds(), BETA),
        6 => at_thresholds().iter().sum::<f64>() / THRESHOLDS.len() as f64,
        7 => smooth_range(&of_groups(&square)),
        8 => smooth_range(&of_groups(&absolute)),
        9 => log_mean(&of_groups(&absolute), BETA),
        10 => variance(&of_groups(&square)),
        11 => {
            let overall = average(known, score);
            let means = of_groups(&score).into_iter().zip(&shares);
            let shrunk = means.map(|(m, p)| (m * p + 0.2 * overall) / (p + 0.2));
            smooth_range(&shrunk.collect::<Vec<_>>())
        }
        _ => {
            let overall = average(known, score);
            let means = of_groups(&score).into_iter().zip(&shares);
            let squares: Vec<f64> = means.map(|(m, p)| (p * (m - overall)).powi(2)).collect();
            if n_groups == 2 {
                return squares[0];
            }
            let e: Vec<f64> = squares.iter().map(|v| (8.0 * v).exp()).collect();
            let weighted: f64 = squares.iter().zip(&e).map(|(v, e)| v * e).sum();
            weighted / e.iter().sum::<f64>()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn values_are_those_of_the_definition(seed: u64, n in 12_usize..2200, n_groups in 2_usize..5, weighted: bool, n_points in 1_usize..40) {
        let rows = rows(seed, n, n_groups, weighted);
        let all = problem(&rows, n_groups, objectives(n_groups));
        let points = points(seed, n_points, 0.5);
        let values = all.values(&points).unwrap();
        let (together, _) = all.evaluate(&points).unwrap();
        for (i, x) in points.iter().enumerate().step_by(7) {
            for k in 0..N_KINDS {
                let (found, expected) = (values[i * N_KINDS + k], value(k, &rows, n_groups, x));
                prop_assert!(close(found, expected, 1e-10), "kind {k}: {found} is not {expected}");
                prop_assert!(close(together[i * N_KINDS + k], expected, 1e-10));
            }
        }
    }

    #[test]
    fn gradients_agree_with_finite_differences(seed: u64, n_groups in 2_usize..5, weighted: bool) {
        let rows = rows(seed, 150, n_groups, weighted);
        let all = problem(&rows, n_groups, objectives(n_groups));
        let points = points(seed, 2, 0.5);
        let gradients = all.gradients(&points, Batches::All).unwrap();
        let ones = vec![1.0; N_KINDS * points.len()];
        let (_, sums) = all.weighted(&points, &ones, Precision::Exact).unwrap();
        let h = 1e-5;
        for (i, x) in points.iter().enumerate() {
            let mut total = [0.0; N_PARAMS];
            for k in 0..N_KINDS {
                for j in 0..N_PARAMS {
                    let moved = |d: f64| {
                        let mut x = x.to_vec();
                        x[j] += d;
                        value(k, &rows, n_groups, &x)
                    };
                    let expected = (moved(h) - moved(-h)) / (2.0 * h);
                    let found = gradients.get(k, i)[j];
                    total[j] += found;
                    prop_assert!(close(found, expected, 1e-6), "kind {k}, parameter {j}: {found} is not {expected}");
                }
            }
            for (found, expected) in sums[i * N_PARAMS..].iter().zip(total) {
                prop_assert!(close(*found, expected, 1e-10));
            }
        }
    }

    /// Second derivatives of the losses agree with differences of gradients.
    #[test]
    fn second_derivatives_agree_with_finite_differences(seed: u64, weighted: bool, kind in 0_usize..3) {
        let rows = rows(seed, 150, 2, weighted);
        let one = problem(&rows, 2, vec![objectives(2).swap_remove(kind)]);
        let x = points(seed, 1, 0.5);
        let found = (&one as &dyn Problem).second_order().unwrap().expand(x.get(0)).unwrap();
        prop_assert!(close(found.value, one.values(&x).unwrap()[0], 1e-12));
        let gradient = |x: Vec<f64>| {
            let at = Points::from_vec(N_PARAMS, x);
            one.gradients(&at, Batches::All).unwrap().get(0, 0).to_vec()
        };
        for (a, b) in found.gradient.iter().zip(gradient(x.get(0).to_vec())) {
            prop_assert!(close(*a, b, 1e-12));
        }
        let h = 1e-5;
        for j in 0..N_PARAMS {
            let moved = |d: f64| {
                let mut x = x.get(0).to_vec();
                x[j] += d;
                gradient(x)
            };
            let (up, down) = (moved(h), moved(-h));
            for i in j..N_PARAMS {
                let expected = (up[i] - down[i]) / (2.0 * h);
                let found = found.lower[i * N_PARAMS + j];
                prop_assert!(close(found, expected, 1e-5), "{i}, {j}: {found} is not {expected}");
            }
        }
    }

    /// The minimizer is within the bounds that the problem states for its loss.
    #[test]
    fn bounds_contain_the_minimizer(seed: u64, weighted: bool, kind in 0_usize..3) {
        let rows = rows(seed, 300, 2, weighted);
        let one = problem(&rows, 2, vec![objectives(2).swap_remove(kind)]);
        let problem = &one as &dyn Problem;
        let stop = StopSignal::default();
        let least = problem.loss().unwrap().minimizer(None, &stop).unwrap().unwrap();
        let at = Points::from_vec(N_PARAMS, least.clone());
        // A gradient of 0 shows that this is the minimum of a convex function.
        let gradients = one.gradients(&at, Batches::All).unwrap();
        prop_assert!(gradients.get(0, 0).iter().all(|g| g.abs() < 1e-7), "{:?}", gradients.get(0, 0));
        let level = one.values(&at).unwrap()[0];
        let bounds = problem.bound().unwrap().bounds(level).unwrap().unwrap();
        for (x, radius) in least.iter().zip(&bounds.radius) {
            prop_assert!(x.abs() <= *radius, "{x} is beyond {radius}");
        }
        prop_assert_eq!(bounds.coupling.is_some(), kind == 0);
    }

    #[test]
    fn measures_are_those_of_the_definition(seed: u64, n in 12_usize..2200, n_groups in 2_usize..5, weighted: bool, n_points in 1_usize..40) {
        let rows = rows(seed, n, n_groups, weighted);
        let data = dataset(&rows, n_groups);
        let points = points(seed, n_points, 0.5);
        let found = measure(&Linear, &data, &points).unwrap();
        let names = Measures::names(&schema(n_groups));
        for (x, found) in points.iter().zip(&found).step_by(5) {
            let values = found.values();
            prop_assert_eq!(values.len(), names.len());
            let of = |name: &str| -> f64 {
                let at = names.iter().position(|n| n == name);
                values[at.unwrap()].unwrap()
            };
            let residual = |row: &Row| row.y - phi(row, x);
            let square = |row: &Row| residual(row).powi(2);
            let absolute = |row: &Row| residual(row).abs();
            let mse = average(rows.iter(), square);
            let mean = average(rows.iter(), |row| row.y);
            let variance = average(rows.iter(), |row| (row.y - mean).powi(2));
            let mut expected = vec![
                ("rmse".to_owned(), SCALE * mse.sqrt()),
                ("mae".into(), SCALE * average(rows.iter(), absolute)),
                ("r2".into(), 1.0 - mse / variance),
                ("mean_prediction".into(), CENTER + SCALE * average(rows.iter(), |row| phi(row, x))),
                ("mean_target".into(), CENTER + SCALE * mean),
                ("mean_residual".into(), SCALE * average(rows.iter(), residual)),
            ];
            let of_groups = |value: &dyn Fn(&Row) -> f64| -> Vec<f64> {
                (0..n_groups).map(|g| average(of_group(&rows, g), value)).collect()
            };
            let high = |v: &[f64]| v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let range = |v: &[f64]| high(v) - v.iter().copied().fold(f64::INFINITY, f64::min);
            let roots: Vec<f64> = of_groups(&square).iter().map(|v| SCALE * v.sqrt()).collect();
            let absolutes: Vec<f64> = of_groups(&absolute).iter().map(|v| SCALE * v).collect();
            let ranges = THRESHOLDS.map(|t| {
                range(&of_groups(&|row| f64::from(u8::from(phi(row, x) <= t))))
            });
            expected.extend([
                ("mean_difference(a)".to_owned(), SCALE * range(&of_groups(&|row| phi(row, x)))),
                ("distribution_difference(a)".into(), high(&ranges)),
                ("mean_distribution_difference(a)".into(), ranges.iter().sum::<f64>() / 5.0),
                ("rmse_difference(a)".into(), range(&roots)),
                ("mae_difference(a)".into(), range(&absolutes)),
                ("worst_group_rmse(a)".into(), high(&roots)),
                ("worst_group_mae(a)".into(), high(&absolutes)),
                ("rmse(a=g0)".into(), roots[0]),
                ("mae(a=g1)".into(), absolutes[1]),
                ("mean_residual(a=g1)".into(), SCALE * of_groups(&residual)[1]),
                ("count(a=g0)".into(), of_group(&rows, 0).map(|r| r.w).sum()),
            ]);
            for (name, expected) in expected {
                let found = of(&name);
                prop_assert!(close(found, expected, 1e-9), "{name}: {found} is not {expected}");
            }
            // Sums of two sets of rows are sums of all rows.
            let (first, second) = rows.split_at(rows.len() / 2);
            let at = Points::from_vec(N_PARAMS, x.to_vec());
            let part = |rows: &[Row]| measure(&Linear, &dataset(rows, n_groups), &at).unwrap().swap_remove(0);
            let both = part(first).with(&part(second));
            for (a, b) in both.values().iter().zip(&values) {
                prop_assert!(close(a.unwrap(), b.unwrap(), 1e-9));
            }
        }
    }
}

proptest! {
    /// The variance of a weighted difference of two models' means, row by row.
    #[test]
    fn variances_of_changes_are_those_of_the_definition(
        seed: u64, n in 40_usize..1500, weighted: bool, scale in 1e-3..1.0_f64, own in 0.2..2.0_f64, base in 0.2..2.0_f64
    ) {
        let rows = rows(seed, n, 3, weighted);
        let data = dataset(&rows, 3);
        let models = points(seed, 3, scale);
        let tallies = NumberTallies::of(&Linear, &data, &models).unwrap();
        let changes = NumberChanges::of(&Linear, &data, &models).unwrap().unwrap();
        let (x, x0) = (models.get(0), models.get(2));
        for region in 0..3 {
            let own_rows: Vec<&Row> = match region {
                0 => rows.iter().collect(),
                region => of_group(&rows, region - 1).collect(),
            };
            let weight: f64 = own_rows.iter().map(|row| row.w).sum();
            let effective = weight * weight / own_rows.iter().map(|row| row.w * row.w).sum::<f64>();
            let quantity = |of: Quantity, row: &Row, x: &[f64]| match of {
                Quantity::Prediction => SCALE * phi(row, x),
                Quantity::Residual => SCALE * (row.y - phi(row, x)),
                Quantity::Absolute => SCALE * (row.y - phi(row, x)).abs(),
                Quantity::Squared => (SCALE * (row.y - phi(row, x))).powi(2),
            };
            let expected = |of: Quantity, own: f64, base: f64| {
                let difference = |row: &Row| own * quantity(of, row, x) - base * quantity(of, row, x0);
                let mean = |value: &dyn Fn(&Row) -> f64| {
                    own_rows.iter().map(|row| row.w * value(row)).sum::<f64>() / weight
                };
                let center = mean(&difference);
                mean(&|row| (difference(row) - center).powi(2)) / (effective - 1.0)
            };
            let found = |of, own, base| changes.variance(&tallies, 0, of, region, [own, base]);
            for of in [Quantity::Prediction, Quantity::Residual, Quantity::Squared] {
                for [own, base] in [[1.0, 1.0], [own, base]] {
                    let (found, expected) = (found(of, own, base), expected(of, own, base));
                    // Sums of fourth powers cancel.
                    let size = tallies.mean(0, of, region).variance.max(expected);
                    prop_assert!((found - expected).abs() <= 1e-8 * size, "{of:?}: {found} is not {expected}");
                }
            }
            let bound = found(Quantity::Absolute, 1.0, 1.0);
            prop_assert!(bound >= expected(Quantity::Absolute, 1.0, 1.0) * (1.0 - 1e-9));
            let of_itself = changes.variance(&tallies, 2, Quantity::Squared, region, [1.0, 1.0]);
            prop_assert!(of_itself <= 1e-12 * tallies.mean(2, Quantity::Squared, region).variance);
        }
    }

    #[test]
    fn shares_of_the_target_are_counted(seed: u64, n in 12_usize..1500, n_groups in 2_usize..5, weighted: bool) {
        let rows = rows(seed, n, n_groups, weighted);
        let found = target_shares(&dataset(&rows, n_groups)).unwrap();
        prop_assert_eq!(found.len(), 1 + n_groups);
        for (at, threshold) in THRESHOLDS.iter().enumerate() {
            let is_below = |row: &Row| f64::from(u8::from(row.y <= *threshold));
            let share = |region: usize| found[region].as_ref().unwrap()[at];
            prop_assert!(close(share(0), average(rows.iter(), is_below), 1e-9));
            for group in 0..n_groups {
                prop_assert!(close(share(1 + group), average(of_group(&rows, group), is_below), 1e-9));
            }
        }
    }
}

/// Without a penalty, the minimizer of the squared error solves the normal equations.
#[test]
fn the_minimizer_solves_the_normal_equations() {
    let rows = rows(3, 500, 2, true);
    let loss = ResidualLoss {
        of: Residual::Squared,
        lambda: 1e-9,
    };
    let one = problem(&rows, 2, vec![Box::new(loss)]);
    let loss = (&one as &dyn Problem).loss().unwrap();
    let x = loss.minimizer(None, &StopSignal::default());
    let x = x.unwrap().unwrap();
    for j in 0..N_PARAMS {
        let feature = |row: &Row| row.z.get(j).copied().unwrap_or(1.0);
        let normal = average(rows.iter(), |row| feature(row) * (phi(row, &x) - row.y));
        assert!(normal.abs() < 1e-7, "{normal}");
    }
}

#[test]
fn thresholds_of_numbers_are_not_moved() {
    let rows = rows(1, 60, 2, false);
    let points = points(1, 2, 0.5);
    let measures = [Measure::Rmse, Measure::MeanDifference { attribute: 0 }];
    let moved = better_thresholds(&Linear, &dataset(&rows, 2), &points, &measures);
    assert!(moved.unwrap().is_empty());
}
