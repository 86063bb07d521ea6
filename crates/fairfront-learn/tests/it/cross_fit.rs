use std::sync::atomic::{AtomicUsize, Ordering};

use fairfront_core::{Purpose, Stream};
use fairfront_learn::{
    Binned, BoostSettings, Calibrated, ClassProblem, CrossFitted, Error, Folds, Quality, boost,
    cross_fit,
};

use crate::table::{Table, mixed, probabilities, raw};

fn problem(table: &Table, n_classes: usize) -> ClassProblem {
    ClassProblem {
        labels: table.options(),
        n_classes,
        weights: vec![1.0; table.n_rows()],
    }
}

fn fit(table: &Table, problem: &ClassProblem, settings: &BoostSettings) -> CrossFitted {
    let dataset = table.dataset();
    let folds = Folds::of(&dataset, 5, 1).unwrap();
    cross_fit(&Binned::of(&dataset), problem, &folds, settings, &|| false).unwrap()
}

/// AUC of out-of-fold scores, uncalibrated.
fn auc(fitted: &CrossFitted, problem: &ClassProblem) -> f64 {
    let p = Calibrated::identity(problem.n_classes).probabilities(fitted.out_of_fold.raw());
    Quality::of(&p, problem).unwrap().auc.unwrap()
}

#[test]
fn scores_of_random_labels_say_nothing_out_of_fold() {
    let mut stream = Stream::new(1, Purpose::Synthetic, [3, 0]);
    let mut table = mixed(3000, 2, 1);
    table
        .labels
        .iter_mut()
        .for_each(|l| *l = stream.below(2) as u32);
    let problem = problem(&table, 2);
    // A large number of rounds without a choice, so that forests fit the noise.
    let settings = BoostSettings::default();
    let binned = Binned::of(&table.dataset());
    let forest = boost(
        &binned,
        &table.all_rows(),
        &table.classes(2),
        &problem.weights,
        100,
        &settings,
    );
    let p = probabilities(&forest.unwrap(), &table.dataset());
    let in_sample = Quality::of(&p, &problem).unwrap().auc.unwrap();
    assert!(in_sample > 0.7, "in-sample AUC {in_sample}");
    let fitted = fit(&table, &problem, &settings);
    let found = auc(&fitted, &problem);
    // Three standard errors of the AUC of 3,000 rows without signal are 0.032.
    assert!((found - 0.5).abs() < 0.04, "out-of-fold AUC {found}");
    assert!(fitted.n_rounds < 10, "{} rounds", fitted.n_rounds);
}

#[test]
fn scores_come_from_the_forest_without_the_fold() {
    let table = mixed(1500, 3, 2);
    let mut problem = problem(&table, 3);
    problem.labels.iter_mut().step_by(7).for_each(|l| *l = None);
    let settings = BoostSettings::default();
    let fitted = fit(&table, &problem, &settings);
    assert!(fitted.n_rounds > 5 && fitted.losses.len() > fitted.n_rounds);
    let dataset = table.dataset();
    let binned = Binned::of(&dataset);
    let folds = Folds::of(&dataset, 5, 1).unwrap();
    let labeled = |r: &u32| problem.labels[*r as usize].is_some();
    // Weights of 1 are already normalized, so that the fits are the same.
    for fold in 0..5 {
        let others = |r: &u32| folds.of_row()[*r as usize] != fold && labeled(r);
        let rows: Vec<u32> = table.all_rows().into_iter().filter(others).collect();
        let forest = boost(
            &binned,
            &rows,
            &table.classes(3),
            &problem.weights,
            fitted.n_rounds,
            &settings,
        );
        let scores = raw(&forest.unwrap(), &dataset);
        for row in (0..1500).filter(|r| folds.of_row()[*r] == fold) {
            let of_row = row * 3..row * 3 + 3;
            assert_eq!(scores[of_row.clone()], fitted.out_of_fold.raw()[of_row]);
        }
    }
    let rows: Vec<u32> = table.all_rows().into_iter().filter(labeled).collect();
    let n_rounds = fitted.n_rounds;
    let all = boost(
        &binned,
        &rows,
        &table.classes(3),
        &problem.weights,
        n_rounds,
        &settings,
    );
    assert_eq!(fitted.forest, all.unwrap());
    // The held-out loss of the chosen round is the log loss of the scores.
    let p = Calibrated::identity(3).probabilities(fitted.out_of_fold.raw());
    let quality = Quality::of(&p, &problem).unwrap();
    assert!((quality.log_loss - fitted.losses[n_rounds]).abs() < 1e-9);
}

#[test]
fn the_unit_of_the_weights_does_not_matter() {
    let table = mixed(800, 2, 3);
    let mut scaled = problem(&table, 2);
    let settings = BoostSettings::default();
    let ones = fit(&table, &scaled, &settings);
    scaled.weights.fill(1.0 / 1024.0);
    assert_eq!(ones, fit(&table, &scaled, &settings));
}

#[test]
fn any_number_of_threads_gives_the_same_scores() {
    let table = mixed(2000, 2, 4);
    let problem = problem(&table, 2);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| fit(&table, &problem, &BoostSettings::default()))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn a_class_may_lack_rows_in_a_fold() {
    let mut table = mixed(300, 2, 5);
    // Two rows of class 2: some folds are fitted without one of them.
    table.labels[10] = 2;
    table.labels[20] = 2;
    let fitted = fit(&table, &problem(&table, 3), &BoostSettings::default());
    assert!(fitted.out_of_fold.raw().iter().all(|s| s.is_finite()));
}

#[test]
fn a_stop_signal_ends_the_fit() {
    let table = mixed(500, 2, 6);
    let dataset = table.dataset();
    let folds = Folds::of(&dataset, 5, 1).unwrap();
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 3;
    let problem = problem(&table, 2);
    let settings = BoostSettings::default();
    let result = cross_fit(&Binned::of(&dataset), &problem, &folds, &settings, &stop);
    assert_eq!(result.unwrap_err(), Error::Stopped);
}

#[test]
fn rows_without_any_label_are_an_error() {
    let table = mixed(100, 2, 7);
    let dataset = table.dataset();
    let folds = Folds::of(&dataset, 5, 1).unwrap();
    let mut problem = problem(&table, 2);
    problem.labels.fill(None);
    let settings = BoostSettings::default();
    let result = cross_fit(&Binned::of(&dataset), &problem, &folds, &settings, &|| {
        false
    });
    assert_eq!(result.unwrap_err(), Error::NoRows);
}
