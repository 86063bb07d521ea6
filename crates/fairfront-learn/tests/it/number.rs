//! Boosted trees and cross-fitting for targets that are numbers.

use fairfront_core::{Purpose, Stream, Target, Unit};
use fairfront_learn::{
    Binned, BoostSettings, Calibrated, Error, FeatureKind, Folds, Forest, Labels, Link,
    NumberProblem, NumberQuality, OutOfFold, Stratum, Wanted, boost, cross_fit, learn,
};

use crate::table::{Table, mixed, raw};

/// A number that depends on all columns of a mixed table, without noise if `noise` is 0.
fn numbers(table: &Table, noise: f64, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed, Purpose::Synthetic, [7, 0]);
    let (codes, _) = &table.categories[0];
    let [x, y] = [0, 1].map(|column: usize| &table.numbers[column]);
    let rows = x.iter().zip(y).zip(codes);
    rows.map(|((x, y), code)| {
        let effect = f64::from(code % 5);
        x * x + if *y > 0.5 { 2.0 } else { 0.0 } + effect + noise * stream.normal()
    })
    .collect()
}

fn fit(table: &Table, numbers: &[f64], n_rounds: usize, settings: &BoostSettings) -> Forest {
    let binned = Binned::of(&table.dataset());
    let labels = Labels::Numbers(numbers.to_vec());
    let weights = vec![1.0; table.n_rows()];
    boost(
        &binned,
        &table.all_rows(),
        &labels,
        &weights,
        n_rounds,
        settings,
    )
    .unwrap()
}

fn problem(numbers: &[f64]) -> NumberProblem {
    NumberProblem {
        labels: numbers.iter().copied().map(Some).collect(),
        weights: vec![1.0; numbers.len()],
    }
}

#[test]
fn the_first_tree_moves_leaves_toward_their_means() {
    // 100 rows, 50 on each side of 0.5, with means 3 and −5.
    let side: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
    let table = Table {
        labels: vec![0; 100],
        numbers: vec![side.clone()],
        ..Table::default()
    };
    let of_row = |(i, side): (usize, &f64)| {
        let center = if *side > 0.5 { -5.0 } else { 3.0 };
        center + if i < 50 { 1.0 } else { -1.0 }
    };
    let numbers: Vec<f64> = side.iter().enumerate().map(of_row).collect();
    let forest = fit(&table, &numbers, 1, &BoostSettings::default());
    assert!((forest.base[0] + 1.0).abs() < 1e-12);
    let tree = &forest.trees[0];
    assert_eq!((tree.threshold[0], tree.leaves.len()), (0.5, 2));
    // −G/(H + λ) with G the sum of residuals, H the number of rows and λ = 0.1.
    let leaf = |mean: f64| 0.1 * 50.0 * (mean + 1.0) / 50.1;
    let value = |child: i32| tree.leaves[!child as usize];
    assert!((value(tree.left[0]) - leaf(3.0)).abs() < 1e-9);
    assert!((value(tree.right[0]) - leaf(-5.0)).abs() < 1e-9);
}

#[test]
fn predictions_approach_a_function_without_noise() {
    let table = mixed(4_000, 2, 21);
    let numbers = numbers(&table, 0.0, 1);
    let forest = fit(&table, &numbers, 300, &BoostSettings::default());
    let found = raw(&forest, &table.dataset());
    let quality = NumberQuality::of(&found, &problem(&numbers)).unwrap();
    assert!(quality.r2 > 0.98, "{quality:?}");
    assert_eq!(quality.rows, 4_000);
}

#[test]
fn the_result_does_not_depend_on_threads_or_the_unit_of_weights() {
    let table = mixed(3_000, 2, 22);
    let numbers = numbers(&table, 1.0, 2);
    let folds = Folds::of(&table.dataset(), 5, 1).unwrap();
    let settings = BoostSettings {
        most_rounds: 30,
        ..BoostSettings::default()
    };
    let with = |threads: usize, weight: f64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let problem = NumberProblem {
            weights: vec![weight; 3_000],
            ..problem(&numbers)
        };
        let work = || {
            cross_fit(
                &Binned::of(&table.dataset()),
                &problem,
                &folds,
                &settings,
                &|| false,
            )
        };
        pool.build().unwrap().install(work).unwrap()
    };
    let one = with(1, 1.0);
    assert_eq!(one, with(3, 1.0));
    assert_eq!(one, with(2, 8.0));
}

#[test]
fn cross_fitting_stops_before_noise_is_fitted() {
    let table = mixed(2_000, 2, 23);
    let noisy = numbers(&table, 2.0, 3);
    let folds = Folds::of(&table.dataset(), 5, 1).unwrap();
    let binned = Binned::of(&table.dataset());
    let settings = BoostSettings::default();
    let found = cross_fit(&binned, &problem(&noisy), &folds, &settings, &|| false).unwrap();
    assert!(found.n_rounds > 5 && found.n_rounds < settings.most_rounds);
    let least = found.losses.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(found.losses[found.n_rounds], least);
    // The loss is the mean squared error of the out-of-fold scores.
    let quality = NumberQuality::of(found.out_of_fold.raw(), &problem(&noisy)).unwrap();
    assert!((quality.squared_error - least).abs() < 1e-9 * least);
    // Noise alone has a variance of 4.
    assert!(least > 3.6 && least < 4.8, "{least}");
    let in_sample = raw(&found.forest, &table.dataset());
    let in_sample = NumberQuality::of(&in_sample, &problem(&noisy)).unwrap();
    assert!(in_sample.squared_error < least);
}

#[test]
fn rows_without_a_number_are_scored_only() {
    let table = mixed(500, 2, 24);
    let all = numbers(&table, 0.5, 4);
    let mut some = problem(&all);
    some.labels.iter_mut().step_by(4).for_each(|l| *l = None);
    let folds = Folds::by_stratum(&vec![0; 500], 5, 1).unwrap();
    let binned = Binned::of(&table.dataset());
    let settings = BoostSettings::default();
    let found = cross_fit(&binned, &some, &folds, &settings, &|| false).unwrap();
    assert!(
        found
            .out_of_fold
            .raw()
            .iter()
            .all(|score| score.is_finite())
    );
    let mut wrong = some.clone();
    wrong.labels[0] = Some(f64::NAN);
    let error = cross_fit(&binned, &wrong, &folds, &settings, &|| false).unwrap_err();
    assert!(matches!(error, Error::Number { row: 0, .. }));
}

#[test]
fn calibration_of_numbers_is_least_squares() {
    let scores = vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 100.0];
    let mut labels: Vec<Option<f64>> = scores.iter().map(|s| Some(2.0 * s - 3.0)).collect();
    labels[10] = None;
    let problem = NumberProblem {
        labels,
        weights: vec![2.0; 11],
    };
    let scores = OutOfFold::stated_by_user(scores, 1).unwrap();
    let found = Calibrated::fit_number(&scores, &problem).unwrap();
    assert!((found.slope - 2.0).abs() < 1e-12 && (found.intercepts[0] + 3.0).abs() < 1e-12);
    assert_eq!(found.link, Link::Identity);
    assert!((found.numbers(&[10.0])[0] - 17.0).abs() < 1e-9);
    let json = serde_json::to_string(&found).unwrap();
    assert!(json.contains(r#""link":"identity""#), "{json}");
    assert!(
        !serde_json::to_string(&Calibrated::identity(2))
            .unwrap()
            .contains("link")
    );
}

#[test]
fn folds_have_equal_shares_of_every_range_of_the_target() {
    let rows = of_numbers(
        &mixed(1_600, 2, 25),
        &(0..1_600).map(f64::from).collect::<Vec<_>>(),
    );
    let folds = Folds::of(&rows, 5, 3).unwrap();
    // 1,600 rows in 8 ranges of 200, each divided by two groups.
    for range in 0..8 {
        for fold in 0..5 {
            let own = &folds.of_row()[range * 200..(range + 1) * 200];
            let n = own.iter().filter(|f| usize::from(**f) == fold).count();
            assert!((38..=42).contains(&n), "range {range}, fold {fold}: {n}");
        }
    }
}

#[test]
fn features_are_the_mean_the_differences_and_their_products() {
    let table = mixed(1_500, 2, 26);
    let numbers = numbers(&table, 0.5, 5);
    let rows = of_numbers(&table, &numbers);
    let wanted = Wanted {
        comparisons: vec![(0, Stratum::All)],
        products: vec![0],
        ..Wanted::default()
    };
    let (learned, out_of_fold) = learn(&rows, &wanted, &|| false).unwrap();
    assert_eq!(
        learned.feature_names(),
        [
            "trees: prediction",
            "trees: sex=M",
            "trees: prediction * sex=M"
        ]
    );
    let group = &learned.groups[0];
    let FeatureKind::Group { class, .. } = learned.features[1].kind else {
        panic!("{:?}", learned.features[1]);
    };
    for row in 0..rows.n_rows() {
        let m = out_of_fold.outcome()[row];
        let gamma = &out_of_fold.groups(0)[2 * row..2 * row + 2];
        let ratio = |k: usize| gamma[k] / group.shares[k];
        let d = ratio(class) - ratio(group.reference);
        for (feature, value) in [m, d, d * m].into_iter().enumerate() {
            let of = &learned.features[feature];
            let found = out_of_fold.values()[3 * row + feature];
            assert!((found - (value - of.shift) / of.factor).abs() < 1e-12);
        }
    }
    assert!(learned.check(rows.schema()).is_ok());
    // Learners of numbers do not fit rows with another kind of target.
    assert!(learned.check(table.dataset().schema()).is_err());
    let json = serde_json::to_string(&learned).unwrap();
    assert_eq!(
        serde_json::from_str::<fairfront_learn::Learned>(&json).unwrap(),
        learned
    );
}

/// The rows of a table with numbers as labels.
fn of_numbers(table: &Table, numbers: &[f64]) -> fairfront_core::Loaded {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let unit = Unit {
        center: 0.0,
        scale: 1.0,
        range: [sorted[0], sorted[sorted.len() - 1]],
        thresholds: Unit::quantiles(&sorted),
    };
    table.dataset_of(Target::Number(Box::new(unit)), |row| numbers[row])
}
