//! Moved thresholds, compared with every possible threshold.

use fairfront_core::{Costs, Linear, Measure, Points, Purpose, Stream, better_thresholds, measure};
use proptest::prelude::*;

use crate::plain::{N_FEATURES, Row, dataset, rows};

const SETS: [&[Measure]; 5] = [
    &[
        Measure::ErrorRate(Costs {
            false_positive: 1.0,
            false_negative: 5.0,
        }),
        Measure::DemographicParity { attribute: 0 },
    ],
    &[
        Measure::ErrorRate(Costs::EQUAL),
        Measure::DemographicParity { attribute: 0 },
    ],
    &[
        Measure::ErrorRate(Costs::EQUAL),
        Measure::EqualizedOdds { attribute: 0 },
    ],
    &[
        Measure::ErrorRate(Costs::EQUAL),
        Measure::EqualOpportunity { attribute: 0 },
        Measure::FalsePositiveRate { attribute: 0 },
    ],
    &[
        Measure::ErrorRate(Costs::EQUAL),
        Measure::MutualInformation { attribute: 0 },
    ],
];

fn score(row: &Row, x: &[f64]) -> f64 {
    row.z.iter().zip(x).map(|(z, x)| z * x).sum::<f64>() + x[N_FEATURES]
}

/// The values of all models that differ from this one only in the intercept, between any two rows.
fn all_shifts(rows: &[Row], n_groups: usize, x: &[f64], measures: &[Measure]) -> Vec<Vec<f64>> {
    let mut scores: Vec<f64> = rows.iter().map(|row| score(row, x)).collect();
    scores.sort_by(f64::total_cmp);
    let mut points = Points::new(x.len());
    for pair in scores.windows(2).filter(|pair| pair[1] - pair[0] > 1e-9) {
        let mut moved = x.to_vec();
        moved[N_FEATURES] -= 0.5 * (pair[0] + pair[1]);
        points.push(&moved);
    }
    values(rows, n_groups, &points, measures)
}

fn values(rows: &[Row], n_groups: usize, points: &Points, measures: &[Measure]) -> Vec<Vec<f64>> {
    let found = measure(&Linear, &dataset(rows, n_groups), points).unwrap();
    let of = |m: &fairfront_core::Measures| measures.iter().map(|k| k.of(m).unwrap()).collect();
    found.iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The returned models dominate the original and differ from it only in the intercept. For each
    /// measure, they include the smallest value that any threshold reaches without harm to the
    /// others.
    #[test]
    fn no_threshold_is_better(seed: u64, n in 20_usize..250, n_groups in 2_usize..4, weighted: bool, set in 0_usize..5) {
        let rows = rows(seed, n, n_groups, weighted);
        let data = dataset(&rows, n_groups);
        let measures = SETS[set];
        let mut random = Stream::new(seed, Purpose::Solver, [3, 3]);
        let x: Vec<f64> = (0..=N_FEATURES).map(|_| random.normal()).collect();
        let point = Points::from_vec(x.len(), x.clone());
        // With few rows, a group may lack the rows that a measure needs.
        let at_point = measure(&Linear, &data, &point).unwrap();
        prop_assume!(measures.iter().all(|k| k.of(&at_point[0]).is_some()));
        let better = better_thresholds(&Linear, &data, &point, measures).unwrap();
        let own = values(&rows, n_groups, &point, measures).remove(0);
        // Weights are summed in another order.
        let slack = if weighted { 1e-9 } else { 0.0 };
        let mut reached = vec![own.clone()];
        for (moved, values) in better.iter().zip(values(&rows, n_groups, &better, measures)) {
            prop_assert_eq!(&moved[..N_FEATURES], &x[..N_FEATURES]);
            prop_assert!(values.iter().zip(&own).all(|(new, old)| *new <= old + slack));
            prop_assert!(values.iter().zip(&own).any(|(new, old)| *new < old + slack));
            reached.push(values);
        }
        for k in 0..measures.len() {
            // A tie up to rounding may or may not count as harm; it need not be found.
            let least = |all: &[Vec<f64>], slack: f64| {
                let harmless = all.iter().filter(|v| v.iter().zip(&own).all(|(new, old)| *new <= old + slack));
                harmless.map(|v| v[k]).fold(own[k], f64::min)
            };
            let all = all_shifts(&rows, n_groups, &x, measures);
            let (found, exact) = (least(&reached, slack), least(&all, -slack));
            prop_assert!(found <= exact + slack, "measure {k}: {found}, but {exact} can be reached");
        }
    }
}

/// Log losses do not follow from decisions, and measures without a value cannot be compared.
#[test]
fn thresholds_stay_if_they_cannot_be_compared() {
    let rows = rows(4, 100, 2, false);
    let data = dataset(&rows, 2);
    let x = Points::from_vec(N_FEATURES + 1, vec![0.3; N_FEATURES + 1]);
    let by_loss = [
        Measure::LogLoss,
        Measure::DemographicParity { attribute: 0 },
    ];
    assert!(
        better_thresholds(&Linear, &data, &x, &by_loss)
            .unwrap()
            .is_empty()
    );
    let negatives: Vec<Row> = rows.into_iter().filter(|row| row.y < 0.0).collect();
    let data = dataset(&negatives, 2);
    assert!(data.n_rows() > 10);
    let odds = [
        Measure::ErrorRate(Costs::EQUAL),
        Measure::EqualOpportunity { attribute: 0 },
    ];
    assert!(
        better_thresholds(&Linear, &data, &x, &odds)
            .unwrap()
            .is_empty()
    );
}
