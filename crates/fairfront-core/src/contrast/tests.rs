use super::*;
use proptest::prelude::*;

/// The restricted maximum by golden-section search on the log-likelihood.
fn brute(x: [f64; 2], n: [f64; 2], low: f64, high: f64, of: impl Fn(f64) -> [f64; 2]) -> f64 {
    let log = |x: f64, p: f64| {
        if x == 0.0 {
            0.0
        } else {
            x * p.max(1e-300).ln()
        }
    };
    let likelihood = |at: f64| {
        let p = of(at);
        (0..2)
            .map(|i| log(x[i], p[i]) + log(n[i] - x[i], 1.0 - p[i]))
            .sum::<f64>()
    };
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (low, high);
    for _ in 0..200 {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        match likelihood(left) > likelihood(right) {
            true => high = right,
            false => low = left,
        }
    }
    0.5 * (low + high)
}

proptest! {
    #[test]
    fn restricted_rates_are_the_most_likely(
        n in [1_u32..400, 1_u32..400], share in [0.0..1.0_f64, 0.0..1.0], limit in 0.001..0.9_f64
    ) {
        let n = n.map(f64::from);
        let x = [(share[0] * (n[0] + 1.0)).floor().min(n[0]), (share[1] * (n[1] + 1.0)).floor().min(n[1])];
        let found = restricted_difference(x[0] / n[0], x[1] / n[1], n[1] / n[0], limit);
        let expected = brute(x, n, limit, 1.0, |p| [p, p - limit]);
        // A search for a flat maximum finds its position to half of the digits.
        prop_assert!((found - expected).abs() < 1e-5, "{found} {expected}");

        let contrast = Contrast::Ratio { a: Cell::counted(x[0], n[0]), b: Cell::counted(x[1], n[1]), limit };
        let q = brute(x, n, 0.0, 1.0, |p| [limit * p, p]);
        let variance = limit * q * (1.0 - limit * q) / n[0] + limit * limit * q * (1.0 - q) / n[1];
        let estimate = limit * x[1] / n[1] - x[0] / n[0];
        if variance > 1e-9 {
            prop_assert!((contrast.p_value() - normal_cdf(estimate / variance.sqrt())).abs() < 1e-3);
        }
    }

    #[test]
    fn restricted_odds_are_the_most_likely(
        n in [1_u32..400, 1_u32..400], share in [0.0..1.0_f64, 0.0..1.0], limit in 0.05..20.0_f64
    ) {
        let n = n.map(f64::from);
        let x = [(share[0] * (n[0] + 1.0)).floor().min(n[0]), (share[1] * (n[1] + 1.0)).floor().min(n[1])];
        let rates = |q: f64| [limit * q / (1.0 + q * (limit - 1.0)), q];
        let found = restricted_odds((x[0], n[0]), (x[1], n[1]), limit);
        let expected = rates(brute(x, n, 0.0, 1.0, rates));
        prop_assert!((found[0] - expected[0]).abs() < 1e-5 && (found[1] - expected[1]).abs() < 1e-5,
            "{found:?} {expected:?}");

        // The score test: the slope of the log-likelihood along log ψ, over its standard deviation.
        let p = Contrast::OddsRatio { a: Cell::counted(x[0], n[0]), b: Cell::counted(x[1], n[1]), limit }.p_value();
        let information = expected.map(|q| q * (1.0 - q));
        if n[0] * information[0] > 1e-3 && n[1] * information[1] > 1e-3 {
            let variance = 1.0 / (1.0 / (n[0] * information[0]) + 1.0 / (n[1] * information[1]));
            let z = (x[0] - n[0] * expected[0]) / variance.sqrt();
            prop_assert!((p - normal_cdf(-z)).abs() < 1e-2, "{p} {z}");
        }
    }

    #[test]
    fn restricted_differences_may_be_negative(
        n in [1_u32..400, 1_u32..400], share in [0.0..1.0_f64, 0.0..1.0], limit in 0.001..0.9_f64
    ) {
        let n = n.map(f64::from);
        let x = [(share[0] * (n[0] + 1.0)).floor().min(n[0]), (share[1] * (n[1] + 1.0)).floor().min(n[1])];
        let found = restricted_difference(x[0] / n[0], x[1] / n[1], n[1] / n[0], -limit);
        let expected = brute(x, n, 0.0, 1.0 - limit, |p| [p, p + limit]);
        prop_assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }

    #[test]
    fn odds_ratios_are_symmetric(
        n in [1_u32..400, 1_u32..400], share in [0.0..1.0_f64, 0.0..1.0], limit in 0.05..20.0_f64
    ) {
        let n = n.map(f64::from);
        let x = [(share[0] * (n[0] + 1.0)).floor().min(n[0]), (share[1] * (n[1] + 1.0)).floor().min(n[1])];
        let cell = |i: usize| Cell::counted(x[i], n[i]);
        let rejected = |i: usize| Cell::counted(n[i] - x[i], n[i]);
        let p = |a, b, limit| Contrast::OddsRatio { a, b, limit }.p_value();
        // The odds of rejection are the inverse of those of selection.
        let one = p(cell(0), cell(1), limit);
        prop_assert!((one - p(rejected(1), rejected(0), limit)).abs() < 1e-7);
        let other = p(cell(1), cell(0), 1.0 / limit);
        prop_assert!((one + other - 1.0).abs() < 1e-7 || (one == 1.0 && other == 1.0));
    }

    #[test]
    fn more_rows_and_wider_limits_help(
        n in 20_u32..2000, shares in [0.0..1.0_f64, 0.0..1.0], limit in 0.01..0.5_f64
    ) {
        let n = f64::from(n);
        let cell = |share: f64, times: f64| Cell::counted((share * n).floor() * times, n * times);
        let p = |limit, times| Contrast::Difference {
            a: cell(shares[0], times), b: cell(shares[1], times), limit
        }.p_value();
        prop_assert!((0.0..=1.0).contains(&p(limit, 1.0)));
        prop_assert!(p(limit + 0.05, 1.0) <= p(limit, 1.0) + 1e-12);
        if (shares[0] * n).floor() / n - (shares[1] * n).floor() / n < limit {
            prop_assert!(p(limit, 4.0) <= p(limit, 1.0) + 1e-12);
        }
    }

    #[test]
    fn equal_weights_change_nothing(
        n in 40_u32..500, shares in [0.0..1.0_f64, 0.0..1.0], limit in 0.01..0.5_f64, w in 0.1..9.0_f64
    ) {
        let n = f64::from(n);
        let cell = |share: f64, w: f64| {
            let x = (share * n).floor();
            Cell { successes: w * x, trials: w * n, successes_squared: w * w * x, trials_squared: w * w * n }
        };
        let p = |w| Contrast::Difference { a: cell(shares[0], w), b: cell(shares[1], w), limit }.p_value();
        prop_assert!((p(w) - p(1.0)).abs() < 1e-9);
    }
}

#[test]
fn the_exact_test_is_valid_for_every_pair_of_rates() {
    // All outcomes of 12 and 9 people, for rates on the boundary of the hypothesis.
    let (n_a, n_b, limit) = (12, 9, 0.2);
    let choose = |n: i32, k: i32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
    let probability = |n: i32, k: i32, p: f64| choose(n, k) * p.powi(k) * (1.0 - p).powi(n - k);
    let mut p_values = Vec::new();
    for x_a in 0..=n_a {
        for x_b in 0..=n_b {
            let contrast = Contrast::Difference {
                a: Cell::counted(f64::from(x_a), f64::from(n_a)),
                b: Cell::counted(f64::from(x_b), f64::from(n_b)),
                limit,
            };
            p_values.push((x_a, x_b, contrast.exact_p_value()));
        }
    }
    for step in 0..=20 {
        let p_b = 0.8 * f64::from(step) / 20.0;
        for level in [0.05, 0.1, 0.2, 0.5] {
            let rejected: f64 = p_values
                .iter()
                .filter(|(_, _, p)| *p <= level)
                .map(|(x_a, x_b, _)| {
                    probability(n_a, *x_a, p_b + limit) * probability(n_b, *x_b, p_b)
                })
                .sum();
            assert!(rejected <= level + 1e-12, "{p_b} {level} {rejected}");
        }
    }
}

/// The level by simulation, for true odds at the limit.
#[test]
fn tests_of_odds_keep_their_level() {
    let (limit, repetitions) = (0.7, 4_000);
    for (n_a, n_b, p_b) in [(200, 300, 0.4), (60, 400, 0.2), (500, 80, 0.7)] {
        let odds = limit * p_b / (1.0 - p_b);
        let p_a = odds / (1.0 + odds);
        let mut random = crate::Stream::new(9, crate::Purpose::Synthetic, [28, n_a]);
        let mut rejected = 0;
        let mut exact = 0;
        for repetition in 0..repetitions {
            let mut draw = |n: u64, p: f64| {
                let x = (0..n).filter(|_| random.uniform() < p).count();
                Cell::counted(x as f64, n as f64)
            };
            let (a, b) = (draw(n_a, p_a), draw(n_b, p_b));
            let contrast = Contrast::OddsRatio { a, b, limit };
            rejected += usize::from(contrast.p_value() <= 0.05);
            if repetition < 100 {
                exact += usize::from(contrast.exact_p_value() <= 0.05);
            }
        }
        // Four standard errors of the simulation.
        let share = f64::from(rejected as u32) / f64::from(repetitions);
        assert!((share - 0.05).abs() < 0.014, "{share}");
        // Bounds of both rates at once reject far less often.
        assert!(exact <= 5, "{exact}");
    }
}

/// The expected p-value is an integral of the density of Student's t.
#[test]
fn means_are_compared_by_welchs_test() {
    let mean = |values: &[f64]| {
        let n = values.len() as f64;
        let value = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - value).powi(2)).sum();
        Mean {
            value,
            variance: squares / (n - 1.0) / n,
            rows: n,
            capped: None,
        }
    };
    let a = mean(&[1.0, 2.5, 3.0, 4.5, 2.0]);
    let b = mean(&[2.0, 5.0, 4.0, 8.0]);
    let p = |limit| Contrast::MeanDifference { a, b, limit }.p_value();
    // t = −1.560801 with 4.276855 degrees of freedom.
    assert!((p(0.0) - 0.094_508_136_87).abs() < 1e-9, "{}", p(0.0));
    assert!(p(1.0) < p(0.0) && p(-3.0) > 0.5);
    let at_most = Contrast::MeanAtMost {
        mean: a,
        limit: 4.0,
    };
    let at_least = Contrast::MeanAtLeast {
        mean: a,
        limit: 4.0,
    };
    assert!((at_most.p_value() + at_least.p_value() - 1.0).abs() < 1e-12);
    let few = Mean {
        variance: f64::INFINITY,
        ..a
    };
    assert_eq!(
        Contrast::MeanDifference {
            a: few,
            b,
            limit: 9.0
        }
        .p_value(),
        1.0
    );
    assert_eq!(at_most.exact_p_value(), 1.0);
    assert_eq!(at_most.cells().count(), 0);
}

#[test]
fn bounded_means_have_finite_sample_tests() {
    let mean = |value: f64, n: f64| Mean {
        value,
        variance: 0.04 / n,
        rows: n,
        capped: Some(CappedMean {
            value,
            spread: 0.04,
            range: [0.0, 1.0],
        }),
    };
    let at_most = |limit: f64| Contrast::MeanAtMost {
        mean: mean(0.3, 500.0),
        limit,
    };
    // At its p-value, the bound is the limit.
    let p = at_most(0.4).exact_p_value();
    let logarithm = (2.0 / p).ln();
    let bound = 0.3 + (2.0 * 0.04 * logarithm / 500.0).sqrt() + 7.0 * logarithm / (3.0 * 499.0);
    assert!((bound - 0.4).abs() < 1e-9, "{p} {bound}");
    assert!(p > at_most(0.4).p_value());
    assert_eq!(at_most(0.3).exact_p_value(), 1.0);
    // No mean is above the range.
    assert!(at_most(1.0).exact_p_value() < 1e-15);
    let at_least = |limit: f64| Contrast::MeanAtLeast {
        mean: mean(0.3, 500.0),
        limit,
    };
    assert!((at_least(0.2).exact_p_value() - p).abs() < 1e-9);
    let difference = |n: f64, limit: f64| {
        let (a, b) = (mean(0.5, n), mean(0.3, n));
        Contrast::MeanDifference { a, b, limit }.exact_p_value()
    };
    assert!(difference(2000.0, 0.3) < difference(500.0, 0.3));
    assert!(difference(500.0, 0.4) < difference(500.0, 0.3));
}

/// The level by simulation, for skewed bounded values: a Bernoulli variable is the extreme case.
#[test]
fn finite_sample_tests_of_means_keep_their_level() {
    let (n, rate, level) = (60, 0.1, 0.05);
    let mut random = crate::Stream::new(5, crate::Purpose::Synthetic, [26, 0]);
    let mut rejected = 0;
    for _ in 0..2_000 {
        let successes = (0..n).filter(|_| random.uniform() < rate).count() as f64;
        let n = f64::from(n);
        let value = successes / n;
        let mean = Mean {
            value,
            variance: value * (1.0 - value) / (n - 1.0),
            rows: n,
            capped: Some(CappedMean {
                value,
                spread: value * (1.0 - value) * n / (n - 1.0),
                range: [0.0, 1.0],
            }),
        };
        let contrast = Contrast::MeanAtMost { mean, limit: rate };
        rejected += usize::from(contrast.exact_p_value() <= level);
    }
    // The true mean is at the limit, so at most 5% may be rejected.
    assert!(rejected <= 100, "{rejected}");
}

#[test]
fn degenerate_cells_have_a_p_value() {
    let cell = Cell::counted;
    let p = |a, b, limit| Contrast::Difference { a, b, limit }.p_value();
    assert_eq!(p(cell(0.0, 0.0), cell(3.0, 9.0), 0.1), 1.0);
    assert_eq!(p(cell(5.0, 9.0), cell(3.0, 9.0), 1.5), 0.0);
    assert_eq!(p(cell(0.0, 9.0), cell(0.0, 9.0), 0.0), 1.0);
    assert!(p(cell(0.0, 900.0), cell(0.0, 900.0), 0.05) < 1e-6);
    assert!(p(cell(9.0, 9.0), cell(0.0, 9.0), 0.05) > 0.99);
    let r = |a, b, limit| Contrast::Ratio { a, b, limit }.p_value();
    assert_eq!(r(cell(0.0, 9.0), cell(0.0, 9.0), 0.8), 1.0);
    assert!(r(cell(900.0, 900.0), cell(900.0, 900.0), 0.8) < 1e-6);
    assert_eq!(r(cell(1.0, 9.0), cell(0.0, 9.0), 0.0), 0.0);
    let o = |a, b, limit| Contrast::OddsRatio { a, b, limit }.p_value();
    assert_eq!(o(cell(0.0, 0.0), cell(3.0, 9.0), 0.7), 1.0);
    assert_eq!(o(cell(0.0, 9.0), cell(0.0, 9.0), 0.7), 1.0);
    assert_eq!(o(cell(9.0, 9.0), cell(9.0, 9.0), 0.7), 1.0);
    assert!(o(cell(900.0, 900.0), cell(450.0, 900.0), 0.7) < 1e-6);
    assert!(o(cell(0.0, 900.0), cell(450.0, 900.0), 0.7) > 0.99);
    assert_eq!(o(cell(1.0, 9.0), cell(0.0, 9.0), 0.0), 0.0);
    let one = Contrast::AtLeast {
        cell: cell(90.0, 100.0),
        limit: 0.8,
    };
    assert!((one.p_value() - 0.005_695).abs() < 1e-3);
    assert_eq!(one.exact_p_value(), one.p_value());
}
