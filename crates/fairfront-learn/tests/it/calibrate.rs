use fairfront_core::{Purpose, Stream};
use fairfront_learn::{Calibrated, ClassProblem, OutOfFold, Quality};

/// Classes that are drawn from known probabilities, and raw scores that are too steep and shifted.
fn drawn(
    n: usize,
    n_classes: usize,
    slope: f64,
    shift: f64,
    seed: u64,
) -> (OutOfFold, ClassProblem) {
    let mut stream = Stream::new(seed, Purpose::Synthetic, [4, 0]);
    let n_outputs = if n_classes == 2 { 1 } else { n_classes };
    let (mut raw, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let z: Vec<f64> = (0..n_outputs).map(|_| 1.5 * stream.normal()).collect();
        let p = Calibrated::identity(n_classes).probabilities(&z);
        labels.push(Some(stream.pick(&p) as u32));
        raw.extend(
            z.iter()
                .enumerate()
                .map(|(k, z)| slope * z + shift * k as f64 + shift),
        );
    }
    let problem = ClassProblem {
        labels,
        n_classes,
        weights: (0..n).map(|i| [1.0, 0.5][i % 2]).collect(),
    };
    (OutOfFold::stated_by_user(raw, n_outputs).unwrap(), problem)
}

#[test]
fn the_slope_and_shift_of_scores_are_found() {
    for n_classes in [2, 4] {
        let (scores, problem) = drawn(40_000, n_classes, 2.5, 0.7, 1);
        let found = Calibrated::fit(&scores, &problem).unwrap();
        // Standard errors are about 0.01.
        assert!((found.slope * 2.5 - 1.0).abs() < 0.05, "{found:?}");
        let expected = |k: usize| match n_classes {
            2 => -0.7 / 2.5,
            _ => (3.0 - k as f64) * 0.7 / 2.5,
        };
        for (k, intercept) in found.intercepts.iter().enumerate() {
            assert!((intercept - expected(k)).abs() < 0.06, "{found:?}");
        }
    }
}

#[test]
fn no_other_slope_or_intercept_has_a_smaller_loss() {
    for n_classes in [2, 3] {
        let (scores, problem) = drawn(2000, n_classes, 0.4, -0.3, 2);
        let found = Calibrated::fit(&scores, &problem).unwrap();
        let loss = |c: &Calibrated| {
            let p = c.probabilities(scores.raw());
            Quality::of(&p, &problem).unwrap().log_loss
        };
        let least = loss(&found);
        for factor in [0.99, 1.01] {
            let mut other = found.clone();
            other.slope *= factor;
            assert!(loss(&other) > least);
        }
        for k in 0..found.intercepts.len() {
            for change in [-0.01, 0.01] {
                let mut other = found.clone();
                other.intercepts[k] += change;
                assert!(loss(&other) > least);
            }
        }
    }
}

#[test]
fn few_rows_leave_scores_unchanged() {
    let (scores, mut problem) = drawn(200, 2, 3.0, 0.0, 3);
    let positives = problem.labels.iter_mut().filter(|l| **l == Some(1));
    positives.skip(9).for_each(|l| *l = None);
    let found = Calibrated::fit(&scores, &problem).unwrap();
    assert_eq!(found, Calibrated::identity(2));
    problem.labels.fill(Some(0));
    assert_eq!(
        Calibrated::fit(&scores, &problem).unwrap(),
        Calibrated::identity(2)
    );
}

#[test]
fn the_slope_stays_positive() {
    let (scores, problem) = drawn(3000, 2, -1.0, 0.0, 4);
    let found = Calibrated::fit(&scores, &problem).unwrap();
    assert!(found.slope > 0.0 && found.slope < 0.01, "{found:?}");
    let equal = OutOfFold::stated_by_user(vec![0.5; 3000], 1).unwrap();
    let found = Calibrated::fit(&equal, &problem).unwrap();
    let p = found.probabilities(&[0.5])[1];
    let weight = |label: u32| -> f64 {
        let rows = problem.labels.iter().zip(&problem.weights);
        rows.filter(|(l, _)| **l == Some(label))
            .map(|(_, w)| w)
            .sum()
    };
    assert!((p - weight(1) / (weight(0) + weight(1))).abs() < 1e-6);
}

#[test]
fn probabilities_sum_to_one() {
    for (n_classes, raw) in [(2, vec![-800.0, 0.3, 800.0]), (3, vec![-900.0, 0.0, 900.0])] {
        let p = Calibrated::identity(n_classes).probabilities(&raw);
        for row in p.chunks_exact(n_classes) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(row.iter().all(|p| (0.0..=1.0).contains(p)));
        }
    }
}
