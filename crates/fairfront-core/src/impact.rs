//! How the selection rate of a group compares with that of a reference group: sizes, tests and intervals.
//!
//! Successes of a [`Cell`] are selected rows. A function returns `None` if its value is undefined, such as a ratio
//! to a reference group without selected rows.

use crate::contrast::{Cell, Contrast};
use crate::special::{bisect, normal_cdf, normal_quantile, wilson};

/// Outcomes whose probabilities differ by less than this share of them count as equally likely.
const TIES: f64 = 1e-7;

/// The selection rate of a group divided by the rate of the reference group.
///
/// ```
/// use fairfront_core::{Cell, adverse_impact_ratio};
/// let (group, reference) = (Cell::counted(30.0, 100.0), Cell::counted(100.0, 200.0));
/// assert_eq!(adverse_impact_ratio(&group, &reference), Some(0.6));
/// ```
pub fn adverse_impact_ratio(group: &Cell, reference: &Cell) -> Option<f64> {
    let (rate, of_reference) = (group.rate()?, reference.rate()?);
    (of_reference > 0.0).then(|| rate / of_reference)
}

/// How many more rows of a group would have to be selected for it to have the rate of the reference group; below 0
/// if fewer would do. With weights, it is a sum of weights.
pub fn shortfall(group: &Cell, reference: &Cell) -> Option<f64> {
    group.rate()?;
    Some(group.trials * reference.rate()? - group.successes)
}

/// The odds of selection of a group divided by the odds of the reference group. It is undefined if every row
/// of the group is selected, or no row of the reference group.
pub fn odds_ratio(group: &Cell, reference: &Cell) -> Option<f64> {
    let (rate, of_reference) = (group.rate()?, reference.rate()?);
    let below = (1.0 - rate) * of_reference;
    (below > 0.0).then(|| rate * (1.0 - of_reference) / below)
}

/// The two-sided p-value of Fisher's exact test of equal rates: given both numbers of rows and the number selected,
/// the probability of all tables that are not more likely than this one. `None` for weighted rows, or a group
/// without rows.
pub fn fisher(group: &Cell, reference: &Cell) -> Option<f64> {
    let counted = |cell: &Cell| cell.trials > 0.0 && !cell.is_weighted();
    if !counted(group) || !counted(reference) {
        return None;
    }
    let (n, others) = (group.trials, reference.trials);
    let selected = group.successes + reference.successes;
    let (low, high) = ((selected - others).max(0.0), n.min(selected));
    // Weights relative to the most likely number k of selected rows in the group, walked outwards until they
    // vanish: no logarithm of a factorial, and a number of steps that grows with the square root of the rows.
    let above = |k: f64| (n - k) / (k + 1.0) * (selected - k) / (others - selected + k + 1.0);
    let mode = ((n + 1.0) * (selected + 1.0) / (n + others + 2.0)).floor();
    let mode = mode.clamp(low, high);
    let mut outcomes = vec![(mode, 1.0)];
    let (mut k, mut weight) = (mode, 1.0);
    while k < high && weight > 0.0 {
        weight *= above(k);
        k += 1.0;
        outcomes.push((k, weight));
    }
    (k, weight) = (mode, 1.0);
    while k > low && weight > 0.0 {
        k -= 1.0;
        weight /= above(k);
        outcomes.push((k, weight));
    }
    let found = outcomes.iter().find(|(k, _)| *k == group.successes);
    let limit = found.map_or(0.0, |(_, weight)| weight * (1.0 + TIES));
    // Small numbers first.
    let mut weights: Vec<f64> = outcomes.into_iter().map(|(_, weight)| weight).collect();
    weights.sort_by(f64::total_cmp);
    let extreme: f64 = weights.iter().take_while(|w| **w <= limit).sum();
    Some((extreme / weights.iter().sum::<f64>()).min(1.0))
}

/// The two-sided p-value of the score test of equal rates, which is the z test with the pooled rate. It uses
/// effective numbers if rows have weights.
pub fn equal_rates(group: &Cell, reference: &Cell) -> Option<f64> {
    let ((x, n), (y, m)) = (group.numbers(), reference.numbers());
    if n <= 0.0 || m <= 0.0 {
        return None;
    }
    let pooled = (x + y) / (n + m);
    let variance = pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m);
    match variance > 0.0 {
        true => Some((2.0 * normal_cdf(-(x / n - y / m).abs() / variance.sqrt())).min(1.0)),
        false => Some(1.0),
    }
}

/// Wilson's interval for the rate of a cell, with effective numbers if rows have weights.
pub fn rate_interval(cell: &Cell, confidence: f64) -> Option<[f64; 2]> {
    let (x, n) = cell.numbers();
    let z = normal_quantile(0.5 + 0.5 * confidence);
    (n > 0.0).then(|| wilson(x, n, z).into())
}

/// Koopman's score interval for the ratio of the rate of a group to that of the reference group. Its upper end is
/// infinite if the reference group may have a rate of 0.
pub fn ratio_interval(group: &Cell, reference: &Cell, confidence: f64) -> Option<[f64; 2]> {
    ratios(group, reference, confidence, |a, b, limit| {
        Contrast::Ratio { a, b, limit }
    })
}

/// The score interval for the odds ratio of a group to the reference group; its upper end may be infinite.
pub fn odds_ratio_interval(group: &Cell, reference: &Cell, confidence: f64) -> Option<[f64; 2]> {
    ratios(group, reference, confidence, |a, b, limit| {
        Contrast::OddsRatio { a, b, limit }
    })
}

/// The score interval for the rate of a group minus that of the reference group: all differences that the test of
/// Farrington and Manning does not reject.
pub fn difference_interval(group: &Cell, reference: &Cell, confidence: f64) -> Option<[f64; 2]> {
    if group.trials <= 0.0 || reference.trials <= 0.0 {
        return None;
    }
    let level = 0.5 * (1.0 - confidence);
    let upper = |a: Cell, b: Cell| {
        let limit = |t: f64| 1.0 - 2.0 * t;
        let rejected = |t: f64| {
            let limit = limit(t);
            Contrast::Difference { a, b, limit }.p_value() <= level
        };
        let end = limit(bisect(rejected));
        // Bisection does not reach the ends of the range.
        if end > 1.0 - 1e-15 { 1.0 } else { end }
    };
    Some([-upper(*reference, *group), upper(*group, *reference)])
}

/// All ratios that the tests do not reject.
fn ratios(
    group: &Cell,
    reference: &Cell,
    confidence: f64,
    hypothesis: impl Fn(Cell, Cell, f64) -> Contrast,
) -> Option<[f64; 2]> {
    if group.trials <= 0.0 || reference.trials <= 0.0 {
        return None;
    }
    let level = 0.5 * (1.0 - confidence);
    let lower = |a: Cell, b: Cell| {
        let limit = |t: f64| t / (1.0 - t);
        let end = bisect(|t| hypothesis(a, b, limit(t)).p_value() <= level);
        // Bisection does not reach 0; no number of rows that fits into memory has so small a lower end.
        if end < 1e-15 { 0.0 } else { limit(end) }
    };
    Some([lower(*group, *reference), lower(*reference, *group).recip()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Interval = fn(&Cell, &Cell, f64) -> Option<[f64; 2]>;
    type Size = fn(&Cell, &Cell) -> Option<f64>;
    type Hypothesis = fn(Cell, Cell, f64) -> Contrast;

    fn cell(x: f64, n: f64) -> Cell {
        Cell::counted(x, n)
    }

    fn close(found: Option<f64>, expected: f64, tolerance: f64) {
        let found = found.expect("a value");
        assert!(
            (found - expected).abs() <= tolerance * expected.abs().max(1e-300),
            "{found} {expected}"
        );
    }

    #[test]
    fn sizes_are_those_of_a_table_by_hand() {
        let (group, reference) = (cell(30.0, 100.0), cell(100.0, 200.0));
        close(adverse_impact_ratio(&group, &reference), 0.6, 1e-15);
        close(shortfall(&group, &reference), 20.0, 1e-15);
        close(shortfall(&reference, &group), -40.0, 1e-15);
        close(odds_ratio(&group, &reference), 30.0 / 70.0, 1e-15);
        let (none, all, empty) = (cell(0.0, 5.0), cell(5.0, 5.0), cell(0.0, 0.0));
        assert_eq!(adverse_impact_ratio(&none, &all), Some(0.0));
        assert_eq!(adverse_impact_ratio(&all, &none), None);
        assert_eq!(odds_ratio(&none, &all), Some(0.0));
        assert_eq!(odds_ratio(&all, &all), None);
        assert_eq!(odds_ratio(&all, &group), None);
        for of in [
            adverse_impact_ratio,
            shortfall,
            odds_ratio,
            fisher,
            equal_rates,
        ] {
            assert_eq!(of(&empty, &all), None);
            assert_eq!(of(&all, &empty), None);
        }
        assert_eq!(ratio_interval(&empty, &all, 0.95), None);
        assert_eq!(difference_interval(&all, &empty, 0.95), None);
        assert_eq!(rate_interval(&empty, 0.95), None);
    }

    /// The expected values come from sums of exact integers and from erfc, in Python.
    #[test]
    fn tests_have_their_known_p_values() {
        let of_fisher = [
            (3.0, 10.0, 7.0, 9.0, 0.069_778_518_694_927_36),
            (30.0, 100.0, 100.0, 200.0, 0.001_258_520_322_992_481_2),
            (0.0, 12.0, 5.0, 20.0, 0.130_085_015_096_138_57),
            (1.0, 24.0, 24.0, 25.0, 9.904_232_210_265_668e-12),
            (12.0, 300.0, 90.0, 1100.0, 0.011_973_941_234_491_971),
            (
                2200.0,
                10_000.0,
                5200.0,
                21_000.0,
                9.031_030_639_935_298e-08,
            ),
        ];
        let pooled = [
            (3.0, 10.0, 7.0, 9.0, 0.037_289_063_017_299_19),
            (30.0, 100.0, 100.0, 200.0, 0.000_982_781_016_082_529_5),
            (0.0, 12.0, 5.0, 20.0, 0.059_346_438_791_919_85),
            (1.0, 24.0, 24.0, 25.0, 1.290_105_978_227_964_8e-10),
            (12.0, 300.0, 90.0, 1100.0, 0.013_500_192_286_936_464),
            (
                2200.0,
                10_000.0,
                5200.0,
                21_000.0,
                9.689_291_664_868_676e-08,
            ),
        ];
        for (x, n, y, m, expected) in of_fisher {
            close(fisher(&cell(x, n), &cell(y, m)), expected, 1e-8);
        }
        for (x, n, y, m, expected) in pooled {
            close(equal_rates(&cell(x, n), &cell(y, m)), expected, 1e-9);
        }
    }

    proptest! {
        #[test]
        fn fisher_sums_the_hypergeometric_distribution(
            n in 1_u64..40, m in 1_u64..40, shares in [0.0..=1.0_f64, 0.0..=1.0]
        ) {
            let of = |share: f64, n: u64| ((share * (n + 1) as f64) as u64).min(n);
            let (x, y) = (of(shares[0], n), of(shares[1], m));
            let choose = |n: u64, k: u64| (0..k).fold(1_u128, |c, i| c * u128::from(n - i) / u128::from(i + 1));
            let s = x + y;
            // Exact integers: no ties are lost.
            let ways = |k: u64| choose(n, k) * choose(m, s - k);
            let range = s.saturating_sub(m)..=n.min(s);
            let extreme: u128 = range.clone().map(ways).filter(|w| *w <= ways(x)).sum();
            let expected = extreme as f64 / range.map(ways).sum::<u128>() as f64;
            let found = fisher(&cell(x as f64, n as f64), &cell(y as f64, m as f64)).unwrap();
            prop_assert!((found - expected).abs() <= 1e-12 + 1e-10 * expected, "{found} {expected}");
        }

        #[test]
        fn interval_ends_are_just_rejected(
            n in [5_u32..600, 5_u32..600], shares in [0.0..=1.0_f64, 0.0..=1.0], confidence in 0.5..0.999_f64
        ) {
            let of = |i: usize| {
                let n = f64::from(n[i]);
                cell((shares[i] * (n + 1.0)).floor().min(n), n)
            };
            let (group, reference) = (of(0), of(1));
            let level = 0.5 * (1.0 - confidence);
            let [low, high] = difference_interval(&group, &reference, confidence).unwrap();
            let difference = group.rate().unwrap() - reference.rate().unwrap();
            prop_assert!(-1.0 <= low && low <= difference && difference <= high && high <= 1.0, "{low} {high}");
            let p = |limit| Contrast::Difference { a: group, b: reference, limit }.p_value();
            if high < 1.0 {
                prop_assert!(p(high - 1e-7) >= level && p(high + 1e-7) <= level, "{high}");
            }
            let kinds: [(Interval, Size, Hypothesis); 2] = [
                (ratio_interval, adverse_impact_ratio, |a, b, limit| Contrast::Ratio { a, b, limit }),
                (odds_ratio_interval, odds_ratio, |a, b, limit| Contrast::OddsRatio { a, b, limit }),
            ];
            for (interval, size, hypothesis) in kinds {
                let [low, high] = interval(&group, &reference, confidence).unwrap();
                let swapped = interval(&reference, &group, confidence).unwrap();
                prop_assert!(low >= 0.0 && low <= high && !low.is_nan() && !high.is_nan());
                prop_assert_eq!(swapped[1], low.recip());
                if let Some(ratio) = size(&group, &reference) {
                    prop_assert!(low <= ratio * (1.0 + 1e-9) && ratio <= high * (1.0 + 1e-9), "{low} {ratio} {high}");
                }
                let p = |limit| hypothesis(group, reference, limit).p_value();
                if low > 0.0 {
                    prop_assert!(p(low * (1.0 - 1e-6)) <= level && p(low * (1.0 + 1e-6)) >= level, "{low}");
                }
            }
        }

        #[test]
        fn equal_weights_change_only_sums_of_weights(
            n in [10_u32..600, 10_u32..600], shares in [0.05..0.95_f64, 0.05..0.95], w in 0.2..5.0_f64
        ) {
            let of = |i: usize, w: f64| {
                let n = f64::from(n[i]);
                let x = (shares[i] * n).round();
                Cell { successes: w * x, trials: w * n, successes_squared: w * w * x, trials_squared: w * w * n }
            };
            let same = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-8;
            let [(a, b), (c, d)] = [1.0, w].map(|w| (of(0, w), of(1, w)));
            for test in [adverse_impact_ratio, odds_ratio, equal_rates] {
                prop_assert!(same(test(&a, &b), test(&c, &d)));
            }
            prop_assert!(same(shortfall(&a, &b).map(|s| w * s), shortfall(&c, &d)));
            prop_assert!(w == 1.0 || fisher(&c, &d).is_none());
            let [low, high] = rate_interval(&a, 0.9).unwrap();
            let [low_weighted, high_weighted] = rate_interval(&c, 0.9).unwrap();
            prop_assert!((low - low_weighted).abs() < 1e-9 && (high - high_weighted).abs() < 1e-9);
        }
    }

    #[test]
    fn intervals_are_closed_at_the_ends_of_the_range() {
        let (none, all) = (cell(0.0, 50.0), cell(40.0, 40.0));
        let [low, high] = ratio_interval(&none, &all, 0.95).expect("an interval");
        assert!(low == 0.0 && high > 0.0 && high < 0.2, "{low} {high}");
        let [low, high] = ratio_interval(&all, &none, 0.95).expect("an interval");
        assert!(low > 5.0 && high == f64::INFINITY, "{low} {high}");
        let [low, high] = ratio_interval(&none, &none, 0.95).expect("an interval");
        assert!(low == 0.0 && high == f64::INFINITY);
        // With everybody selected, the interval is that of Wilson for the smaller rate.
        let [low, _] = ratio_interval(&all, &all, 0.95).expect("an interval");
        assert!((low - rate_interval(&all, 0.95).expect("an interval")[0]).abs() < 1e-9);
        let [low, high] = difference_interval(&none, &all, 0.95).expect("an interval");
        assert!(low == -1.0 && high < -0.8, "{low} {high}");
        let [low, high] = odds_ratio_interval(&none, &all, 0.95).expect("an interval");
        assert!(low == 0.0 && high < 0.02, "{low} {high}");
    }

    /// Whether the intervals contain the true values as often as they state.
    #[test]
    fn intervals_cover_the_true_values() {
        let (n, m, p, q) = (160, 250, 0.22, 0.35);
        let mut random = crate::Stream::new(11, crate::Purpose::Synthetic, [27, 0]);
        let mut missed = [0; 4];
        let repetitions = 2_000;
        let mut draw = |n: i32, p: f64| {
            let x = (0..n).filter(|_| random.uniform() < p).count();
            cell(x as f64, f64::from(n))
        };
        for _ in 0..repetitions {
            let (a, b) = (draw(n, p), draw(m, q));
            let odds = p / (1.0 - p) / (q / (1.0 - q));
            let of = [
                (rate_interval(&a, 0.9), p),
                (ratio_interval(&a, &b, 0.9), p / q),
                (difference_interval(&a, &b, 0.9), p - q),
                (odds_ratio_interval(&a, &b, 0.9), odds),
            ];
            for (missed, (interval, value)) in missed.iter_mut().zip(of) {
                let [low, high] = interval.expect("an interval");
                *missed += usize::from(value < low || value > high);
            }
        }
        for missed in missed {
            let share = missed as f64 / f64::from(repetitions);
            // Counts are whole numbers, so that no interval reaches 0.1 for all rates.
            assert!((0.065..0.13).contains(&share), "{share}");
        }
    }

    #[test]
    fn a_million_rows_are_fast() {
        let started = std::time::Instant::now();
        let p = fisher(&cell(250_400.0, 500_000.0), &cell(250_000.0, 500_000.0));
        // The same by the score test, which is exact in the limit.
        let score = equal_rates(&cell(250_400.0, 500_000.0), &cell(250_000.0, 500_000.0));
        close(p, score.expect("a value"), 0.01);
        let far = fisher(&cell(0.0, 1e6), &cell(1e6, 1e6));
        assert_eq!(far, Some(0.0));
        assert!(started.elapsed().as_secs() < 5);
    }
}
