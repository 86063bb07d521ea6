//! Decisions between classes: tallies row by row, and redraws compared with their closed form.

use fairfront_core::{
    Decided, Decisions, Engine, Moments, Multinomial, Rate, RowSource, Tallies, redraw,
};
use proptest::prelude::*;

use crate::class::{classes, dataset, decision, points, rows};
use crate::objective::close;
use crate::plain::{N_FEATURES, Row};

/// All rates of k classes.
fn rates(k: usize) -> Vec<Rate> {
    let mut all = vec![Rate::Accuracy];
    for class in 0..k {
        all.push(Rate::Recall { class });
        all.push(Rate::Decided { class, of: None });
        let of_class = |of| Rate::Decided {
            class,
            of: Some(of),
        };
        all.extend((0..k).map(of_class));
    }
    all
}

/// Whether a row counts in a rate, and whether it is a success.
fn counts(rate: Rate, class: usize, decision: usize, ordered: bool) -> (bool, bool) {
    match rate {
        Rate::Accuracy => (true, decision == class),
        Rate::Recall { class: of } => (class == of, decision == of),
        Rate::Decided { class: wanted, of } => (
            of.is_none_or(|of| of == class),
            if ordered {
                decision >= wanted
            } else {
                decision == wanted
            },
        ),
        _ => (false, false),
    }
}

fn is_in(row: &Row, region: usize) -> bool {
    region == 0 || row.group == Some(region - 1)
}

fn shape(tallies: &Tallies, k: usize, n_models: usize, n_regions: usize, ordered: bool) -> bool {
    let of_classes = tallies.classes.as_ref().expect("classes");
    of_classes.fits(n_models, n_regions, &classes(k, ordered))
        && !of_classes.fits(n_models, n_regions, &classes(k, !ordered))
        && !of_classes.fits(n_models + 1, n_regions, &classes(k, ordered))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn tallies_are_counted_row_by_row(
        seed: u64, n in 60_usize..2_500, n_groups in 2_usize..4, k in 3_usize..6, ordered: bool,
        weighted: bool, n_models in 1_usize..70
    ) {
        let about = classes(k, ordered);
        let rows = rows(seed, n, n_groups, k, weighted);
        let data = dataset(&rows, n_groups, &about);
        let models = points(seed, n_models, k * (N_FEATURES + 1));
        let predictor = Multinomial { n_classes: k };
        let decisions = Decisions::of(&predictor, &data, &models).unwrap();
        let tallies = decisions.tallies();
        prop_assert_eq!(tallies.n_models(), n_models);
        prop_assert!(shape(&tallies, k, n_models, n_groups + 1, ordered));
        let sums = Moments::of(&predictor, &data, &models).unwrap().tallies();
        for model in [0, n_models / 2, n_models - 1] {
            let decided: Vec<usize> =
                rows.iter().map(|row| decision(row, models.get(model), k)).collect();
            for rate in rates(k) {
                for region in 0..=n_groups {
                    let mut expected = [0.0; 4];
                    for (row, decision) in rows.iter().zip(&decided) {
                        let (is_trial, is_success) = counts(rate, row.y as usize, *decision, ordered);
                        if is_in(row, region) && is_trial {
                            let w = [row.w, row.w * row.w];
                            expected[1] += w[0];
                            expected[3] += w[1];
                            if is_success {
                                expected[0] += w[0];
                                expected[2] += w[1];
                            }
                        }
                    }
                    for found in [&tallies, &sums] {
                        let cell = found.cell(model, rate, region);
                        let found = [
                            cell.successes, cell.trials, cell.successes_squared, cell.trials_squared,
                        ];
                        for (a, b) in found.iter().zip(expected) {
                            prop_assert!(close(*a, b, 1e-9), "{rate:?} {region}: {a} is not {b}");
                        }
                        prop_assert!(cell.successes <= cell.trials);
                        prop_assert_eq!(cell.is_weighted(), weighted && cell.trials > 0.0);
                    }
                }
            }
        }
    }
}

/// Means and standard deviations of rates over redraws, by rows and by their covariance.
#[test]
fn redraws_have_the_moments_of_the_closed_form() {
    let (k, n_groups, n_models) = (4, 2, 3);
    for ordered in [false, true] {
        let about = classes(k, ordered);
        let rows = rows(3, 4_000, n_groups, k, true);
        let data = dataset(&rows, n_groups, &about);
        let models = points(4, n_models, k * (N_FEATURES + 1));
        let predictor = Multinomial { n_classes: k };
        let by_row = Decisions::of(&predictor, &data, &models).unwrap();
        let tallies = by_row.tallies();
        let closed = Decided::Moments(Moments::of(&predictor, &data, &models).unwrap());
        assert_eq!(closed.n_rows(), Engine::n_rows(&data));
        let wanted: Vec<(usize, Rate, usize)> = (0..n_models)
            .flat_map(|model| rates(k).into_iter().map(move |rate| (model, rate)))
            .flat_map(|(model, rate)| (0..=n_groups).map(move |region| (model, rate, region)))
            .collect();
        let values = |redrawn: &fairfront_core::Redrawn| -> Vec<f64> {
            let mut all: Vec<f64> = wanted
                .iter()
                .map(|(model, rate, region)| redrawn.rate(*model, *rate, *region).unwrap())
                .collect();
            let accuracy = redrawn.rate(0, Rate::Accuracy, 0).unwrap();
            assert!((redrawn.cost(0, 1.0, 1.0).unwrap() - (1.0 - accuracy)).abs() < 1e-12);
            assert_eq!(redrawn.rate(0, Rate::Selection, 0), None);
            // Differences of models have small errors, because their redraws are paired.
            all.push(all[0] - redrawn.rate(1, Rate::Accuracy, 0).unwrap());
            all
        };
        let n = 1_500;
        let moments = |all: Vec<Vec<f64>>| -> Vec<(f64, f64)> {
            let of = |at: usize| {
                let mean = all.iter().map(|v| v[at]).sum::<f64>() / n as f64;
                let squares: f64 = all.iter().map(|v| (v[at] - mean).powi(2)).sum();
                (mean, (squares / (n - 1) as f64).sqrt())
            };
            (0..all[0].len()).map(of).collect()
        };
        let found = [
            moments(redraw(&by_row, 0, 0, 0..n, values)),
            moments(closed.redraw(0, 1, 0..n, values)),
        ];
        let mut n_compared = 0;
        for (at, (a, b)) in found[0].iter().zip(&found[1]).enumerate() {
            let (model, rate, region) = wanted.get(at).copied().unwrap_or((0, Rate::Accuracy, 0));
            let cell = tallies.cell(model, rate, region);
            // Sums of very few rows are not normal.
            let few = cell.rate().unwrap() * cell.effective();
            if few.min(cell.effective() - few) < 30.0 {
                continue;
            }
            n_compared += 1;
            // Five standard errors of two standard deviations.
            let ratio = a.1 / b.1;
            assert!(
                (ratio - 1.0).abs() < 5.0 / (n as f64).sqrt(),
                "{at}: {a:?} {b:?}"
            );
            if at == wanted.len() {
                continue;
            }
            let (rate, error) = (cell.rate().unwrap(), cell.variance().sqrt());
            for (mean, spread) in [a, b] {
                // Ratios of sums have a bias of the order of 1 / n.
                let reach = 5.0 * error / (n as f64).sqrt() + 0.1 * error + 1e-6;
                assert!((mean - rate).abs() < reach, "{at}: {mean} is not {rate}");
                assert!(
                    (spread - error).abs() < 0.15 * error + 1e-6,
                    "{at}: {spread} {error}"
                );
            }
        }
        assert!(n_compared > wanted.len() / 3, "{n_compared}");
    }
}

/// Sources with different models are joined; those with other classes are not.
#[test]
fn decisions_of_two_sources_are_paired() {
    let k = 3;
    let about = classes(k, false);
    let rows = rows(5, 700, 2, k, false);
    let data = dataset(&rows, 2, &about);
    let predictor = Multinomial { n_classes: k };
    let (first, second) = (
        points(6, 40, k * (N_FEATURES + 1)),
        points(7, 5, k * (N_FEATURES + 1)),
    );
    let sources: [(&dyn RowSource, _); 2] = [(&data, &first), (&data, &second)];
    let (paired, firsts) = Decisions::paired(&predictor, &sources)
        .unwrap()
        .expect("equal rows");
    assert_eq!(firsts, [0, 64]);
    let alone = Decisions::of(&predictor, &data, &second).unwrap();
    let (both, alone_tallies) = (paired.tallies(), alone.tallies());
    for model in 0..5 {
        for rate in rates(k) {
            let found = both.cell(64 + model, rate, 1);
            assert_eq!(
                found.successes,
                alone_tallies.cell(model, rate, 1).successes
            );
        }
    }
    // Gathered rows may be taken more than once.
    let every: Vec<usize> = (0..alone.n_rows()).chain(0..1).collect();
    let gathered = Decisions::gathered(&[&alone], &every).tallies();
    let trials = |t: &Tallies| t.cell(0, Rate::Accuracy, 0).trials;
    assert_eq!(trials(&gathered), trials(&alone_tallies) + 1.0);
    let other = dataset(&rows, 2, &classes(k, true));
    let sources: [(&dyn RowSource, _); 2] = [(&data, &first), (&other, &second)];
    assert!(Decisions::paired(&predictor, &sources).unwrap().is_none());
}
