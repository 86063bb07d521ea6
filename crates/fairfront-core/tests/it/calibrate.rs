//! Scaled models against a fine search.

use fairfront_core::{Linear, LogLoss, Points, Problem, Purpose, Stream, measure, rescaled};
use proptest::prelude::*;

use crate::plain::{N_FEATURES, dataset, problem, rows};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Parameters are scaled by one factor above 0, decisions stay, and no other factor has a lower log
    /// loss.
    #[test]
    fn probabilities_fit_best(seed: u64, n in 50_usize..400, weighted: bool, size in -4.0_f64..4.0) {
        let rows = rows(seed, n, 2, weighted);
        let data = dataset(&rows, 2);
        let mut random = Stream::new(seed, Purpose::Solver, [4, 4]);
        let x: Vec<f64> = (0..=N_FEATURES).map(|_| size.exp() * random.normal()).collect();
        let point = Points::from_vec(x.len(), x.clone());
        let scaled = rescaled(&Linear, &data, &point).unwrap();
        let factor = scaled.get(0)[0] / x[0];
        prop_assert!(factor > 0.0);
        for (new, old) in scaled.get(0).iter().zip(&x) {
            prop_assert!((new - factor * old).abs() <= 1e-12 * new.abs());
        }
        let decisions = |p: &Points| measure(&Linear, &data, p).unwrap().remove(0).overall;
        prop_assert_eq!(decisions(&point), decisions(&scaled));
        let plain = problem(dataset(&rows, 2), vec![Box::new(LogLoss { lambda: 0.0 })]);
        let loss = |s: f64| {
            let moved = scaled.get(0).iter().map(|v| s * v).collect();
            plain.values(&Points::from_vec(x.len(), moved)).unwrap()[0]
        };
        // Where the best factor is none (0 or without end) the model stays as it is.
        if factor != 1.0 {
            for s in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
                prop_assert!(loss(1.0) <= loss(s) + 1e-12, "{factor}: {} above {} at {s}", loss(1.0), loss(s));
            }
        }
    }
}
