//! Tests and intervals for differences between two models on the same rows.
//!
//! Both models decide about the same rows, so that their rates are not independent. A row-wise value, such as
//! the decision of one model minus that of the other, has few distinct values; rows of one group are a sample
//! of a multinomial distribution over them. A hypothesis about a sum of means over groups is tested with the
//! score test, whose variance is that of the most likely distributions for which the sum is at the limit. For
//! one group and the values −1, 0 and 1, this is Tango's test; for two groups with one model, it is Farrington
//! and Manning's.

use crate::contrast::Cell;
use crate::decision::{Decisions, Rate};
use crate::lanes::LANES;
use crate::special::{bisect, normal_cdf};

/// A row-wise value in one group of rows: each possible value with the rows that have it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ValueCounts {
    /// The possible values, each once.
    values: Vec<f64>,
    /// Σw of the rows with each value.
    weights: Vec<f64>,
    /// Σw² of all rows.
    squared: f64,
    /// Σw²(v − m)² of all rows, with m the weighted mean.
    spread: f64,
}

impl ValueCounts {
    /// Values with Σw and Σw² of the rows that have each; equal values are added up.
    pub fn new(entries: impl IntoIterator<Item = (f64, [f64; 2])>) -> Self {
        let mut counts = Self::default();
        let mut squares: Vec<f64> = Vec::new();
        for (value, [weight, square]) in entries {
            let at = counts.values.iter().position(|own| *own == value);
            let at = at.unwrap_or_else(|| {
                counts.values.push(value);
                counts.weights.push(0.0);
                squares.push(0.0);
                counts.values.len() - 1
            });
            counts.weights[at] += weight;
            squares[at] += square;
        }
        counts.squared = squares.iter().sum();
        let mean = counts.mean().unwrap_or(0.0);
        let spread = counts.values.iter().zip(&squares);
        counts.spread = spread.map(|(v, s)| s * (v - mean) * (v - mean)).sum();
        counts
    }

    /// Σw of all rows.
    fn weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// The mean of the value; `None` without rows.
    pub fn mean(&self) -> Option<f64> {
        let weight = self.weight();
        let sum = self.values.iter().zip(&self.weights);
        (weight > 0.0).then(|| sum.map(|(v, w)| v * w).sum::<f64>() / weight)
    }

    /// The squared standard error of the mean, from the sample itself.
    pub fn variance(&self) -> f64 {
        let weight = self.weight();
        match weight > 0.0 {
            true => self.spread / (weight * weight),
            false => f64::INFINITY,
        }
    }

    /// The number of equally weighted rows that contain as much information: the rows if all have the same
    /// weight, fewer if weights differ, and even fewer if rows with large weights vary more.
    fn rows(&self) -> f64 {
        let weight = self.weight();
        if weight <= 0.0 || self.squared <= 0.0 {
            return 0.0;
        }
        let effective = weight * weight / self.squared;
        let mean = self.mean().unwrap_or(0.0);
        let squares = self.values.iter().zip(&self.weights);
        let spread = squares
            .map(|(v, w)| w * (v - mean) * (v - mean))
            .sum::<f64>()
            / weight;
        let variance = self.variance();
        match spread > 0.0 && variance > 0.0 {
            true => effective.min(spread / variance),
            false => effective,
        }
    }

    /// The smallest and the largest possible value.
    fn range(&self) -> (f64, f64) {
        let low = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.values.iter().copied();
        (low, high.fold(f64::NEG_INFINITY, f64::max))
    }

    /// The same with the opposite values.
    fn negated(&self) -> Self {
        Self {
            values: self.values.iter().map(|v| -v).collect(),
            ..self.clone()
        }
    }

    /// Mean and variance of the value under the distribution that is the most likely one among those with
    /// the multiplier λ: shares proportional to `n_k / (μ + λ v_k)`. The mean falls as λ grows.
    fn tilted(&self, rows: f64, lambda: f64) -> (f64, f64) {
        let weight = self.weight();
        let counts: Vec<f64> = self.weights.iter().map(|w| rows * w / weight).collect();
        let (low, high) = self.range();
        // The value whose denominator is the smallest.
        let extreme = if lambda > 0.0 { low } else { high };
        let terms = || self.values.iter().zip(&counts).filter(|(_, n)| **n > 0.0);
        // μ = −λ·extreme + t with t ≥ 0. The sum of shares falls with t and is convex, so that Newton's steps
        // from below never pass the root.
        let at = |t: f64| {
            terms().fold((-1.0, 0.0), |(excess, slope), (v, n)| {
                let share = n / (t + lambda * (v - extreme));
                (excess + share, slope + share * share / n)
            })
        };
        let own = terms().find(|(v, _)| **v == extreme).map(|(_, n)| *n);
        let mut t = own.unwrap_or(0.0);
        // Without rows at the extreme value, it may have a share of the distribution at t = 0.
        if own.is_some() || at(0.0).0 > 0.0 {
            for _ in 0..200 {
                let (excess, slope) = at(t);
                let next = t + excess / slope;
                // Also ends at NaN.
                if next.is_nan() || next <= t {
                    break;
                }
                t = next;
            }
        }
        let shares = terms().map(|(v, n)| (*v, n / (t + lambda * (v - extreme))));
        let shares: Vec<(f64, f64)> = shares.collect();
        let sum: f64 = shares.iter().map(|(_, p)| p).sum();
        let rest = (1.0 - sum).max(0.0);
        let all = shares.into_iter().chain([(extreme, rest)]);
        let (mut mean, mut square) = (0.0, 0.0);
        for (v, p) in all {
            mean += p * v;
            square += p * v * v;
        }
        (mean, (square - mean * mean).max(0.0))
    }
}

/// Rows by the decisions of two models, in each region and for each label.
#[derive(Debug, Clone, PartialEq)]
pub struct PairTally {
    /// Σw and Σw² by region, label (negative, positive) and decisions, at 2 · first + second.
    counts: Vec<[[[f64; 2]; 4]; 2]>,
}

impl Decisions {
    /// Counts the rows by the binary decisions of two models, in all regions.
    pub fn pairs(&self, first: usize, second: usize) -> PairTally {
        let n_words = self.n_words();
        let mut counts = vec![[[[0.0; 2]; 4]; 2]; self.n_regions];
        for (stratum, range) in self.ranges() {
            let mut own = [[0.0; 2]; 4];
            for row in range {
                let words = &self.bits[row * n_words..(row + 1) * n_words];
                let bit = |model: usize| (words[model / LANES] >> (model % LANES) & 1) as usize;
                let weight = self.weights[row];
                let to = &mut own[2 * bit(first) + bit(second)];
                to[0] += weight;
                to[1] += weight * weight;
            }
            for region in &stratum.regions {
                let all = &mut counts[*region][stratum.label.min(1)];
                for (to, own) in all.iter_mut().zip(own) {
                    to[0] += own[0];
                    to[1] += own[1];
                }
            }
        }
        PairTally { counts }
    }
}

/// A rate in a region, as a part of a comparison.
pub type RateIn = (Rate, usize);

impl PairTally {
    /// Rows of a region with these label and decisions: Σw and Σw².
    pub fn rows(&self, region: usize, label: bool, first: bool, second: bool) -> [f64; 2] {
        self.counts[region][usize::from(label)][2 * usize::from(first) + usize::from(second)]
    }

    /// The rows of a rate and its successes, by the decisions of the first model (`true`) or of the second one.
    pub fn cell(&self, of_first: bool, (rate, region): RateIn) -> Cell {
        let mut cell = Cell::default();
        for label in [false, true] {
            if rate.label().is_some_and(|own| (own > 0.0) != label) {
                continue;
            }
            for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
                let [weight, square] = self.rows(region, label, first, second);
                let successes = success(rate, label, if of_first { first } else { second });
                cell.trials += weight;
                cell.trials_squared += square;
                cell.successes += successes * weight;
                cell.successes_squared += successes * square;
            }
        }
        cell
    }

    /// The distribution of a value of label and decisions among the rows of a region with one label, or with
    /// any.
    pub fn values(
        &self,
        region: usize,
        label: Option<bool>,
        value: impl Fn(bool, bool, bool) -> f64,
    ) -> ValueCounts {
        let labels = [false, true].into_iter();
        let labels = labels.filter(|own| label.is_none_or(|label| label == *own));
        let entries = labels.flat_map(|label| {
            let decisions = [(false, false), (false, true), (true, false), (true, true)];
            decisions.map(|(first, second)| {
                let rows = self.rows(region, label, first, second);
                (value(label, first, second), rows)
            })
        });
        ValueCounts::new(entries.collect::<Vec<_>>())
    }

    /// The difference between two rates of the first model minus the difference between two rates of the second
    /// one: `(a − b) − (e − f)`. Rates are those of [`Rate::ALL`], and regions are all rows or the groups of one
    /// attribute.
    pub fn change(&self, [a, b]: [RateIn; 2], [e, f]: [RateIn; 2]) -> PairedSum {
        // The factors of both models' rates in each region.
        let mut factors: Vec<(RateIn, [f64; 2])> = Vec::new();
        for (rate, model, factor) in [(a, 0, 1.0), (b, 0, -1.0), (e, 1, -1.0), (f, 1, 1.0)] {
            let at = factors.iter().position(|(own, _)| *own == rate);
            let at = at.unwrap_or_else(|| {
                factors.push((rate, [0.0; 2]));
                factors.len() - 1
            });
            factors[at].1[model] += factor;
        }
        let groups = factors
            .into_iter()
            .map(|((rate, region), [first, second])| {
                self.values(region, rate.label().map(|l| l > 0.0), |label, c, d| {
                    first * success(rate, label, c) + second * success(rate, label, d)
                })
            });
        PairedSum(groups.collect())
    }

    /// A rate of the first model minus the same rate of the second one.
    pub fn change_of_rate(&self, (rate, region): RateIn) -> PairedSum {
        let values = self.values(region, rate.label().map(|l| l > 0.0), |label, c, d| {
            success(rate, label, c) - success(rate, label, d)
        });
        PairedSum(vec![values])
    }
}

/// 1 if a decision counts as a success of a rate, otherwise 0.
fn success(rate: Rate, label: bool, decision: bool) -> f64 {
    let counts = match rate {
        Rate::FalseNegative => !decision,
        Rate::Accuracy => decision == label,
        // Rates of classes have no binary decisions.
        Rate::Selection | Rate::FalsePositive | Rate::Decided { .. } | Rate::Recall { .. } => {
            decision
        }
    };
    f64::from(u8::from(counts))
}

/// A sum of means over groups of rows, which share no rows.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedSum(pub Vec<ValueCounts>);

impl PairedSum {
    /// The estimate; `None` if a group has no rows.
    pub fn estimate(&self) -> Option<f64> {
        self.0.iter().map(ValueCounts::mean).sum()
    }

    /// The standard error of the estimate, from the sample itself.
    pub fn standard_error(&self) -> f64 {
        let variances = self.0.iter().map(ValueCounts::variance);
        variances.sum::<f64>().sqrt()
    }

    /// The p-value of H: the true sum is at least `limit`. It is 1 if a group has no rows.
    pub fn p_at_least(&self, limit: f64) -> f64 {
        let Some(estimate) = self.estimate() else {
            return 1.0;
        };
        let ranges = self.0.iter().map(ValueCounts::range);
        let (low, high) = ranges.fold((0.0, 0.0), |(low, high), (l, h)| (low + l, high + h));
        if limit > high {
            return 0.0;
        }
        if limit <= low {
            return 1.0;
        }
        let rows: Vec<f64> = self.0.iter().map(ValueCounts::rows).collect();
        // The mean and the variance of the sum for a multiplier.
        let at = |lambda: f64| {
            let groups = self.0.iter().zip(&rows);
            groups.fold((0.0, 0.0), |(mean, variance), (group, rows)| {
                let (m, v) = group.tilted(*rows, lambda);
                (mean + m, variance + v / rows)
            })
        };
        let scale: f64 = rows.iter().sum();
        let sign = if estimate > limit { 1.0 } else { -1.0 };
        let misses = |lambda: f64| sign * (at(sign * lambda).0 - limit);
        let mut most = scale;
        while misses(most) > 0.0 && most < scale * 1e12 {
            most *= 4.0;
        }
        let lambda = sign * most * bisect(|share| misses(share * most) > 0.0);
        let variance = at(lambda).1;
        match variance > 0.0 {
            true => normal_cdf((estimate - limit) / variance.sqrt()),
            // Without variance, values are evidence only if they are not at the limit.
            false if estimate < limit => 0.0,
            false => 1.0,
        }
    }

    /// The p-value of H: the true sum is at most `limit`.
    pub fn p_at_most(&self, limit: f64) -> f64 {
        let negated = self.0.iter().map(ValueCounts::negated);
        Self(negated.collect()).p_at_least(-limit)
    }

    /// The score interval: the limits that neither test rejects, each at half of 1 − `confidence`. `None` if a
    /// group has no rows.
    pub fn interval(&self, confidence: f64) -> Option<[f64; 2]> {
        let estimate = self.estimate()?;
        let level = 0.5 * (1.0 - confidence);
        let ranges = self.0.iter().map(ValueCounts::range);
        let (low, high) = ranges.fold((0.0, 0.0), |(low, high), (l, h)| (low + l, high + h));
        // The p-value of a limit at distance t from the estimate falls with t.
        let reach = |most: f64, p: &dyn Fn(f64) -> f64| match most > 0.0 && p(most) < level {
            true => most * bisect(|share| p(share * most) > level),
            false => most,
        };
        let above = reach(high - estimate, &|t| self.p_at_least(estimate + t));
        let below = reach(estimate - low, &|t| self.p_at_most(estimate - t));
        Some([estimate - below, estimate + above])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Cell, Contrast, normal_quantile};

    fn counted(entries: &[(f64, f64)]) -> ValueCounts {
        ValueCounts::new(entries.iter().map(|(v, n)| (*v, [*n, *n])))
    }

    /// Tango's score test of H: `p10 − p01 ≥ limit`, with his closed form of the restricted maximum.
    fn tango([more, less, same]: [f64; 3], limit: f64) -> f64 {
        let n = more + less + same;
        let b = more - less;
        // p01 solves 2n q² + B q + C = 0 under p10 = p01 + limit.
        let (a2, b2) = (2.0 * n, -(more + less) + (2.0 * n - b) * limit);
        let c2 = -less * limit * (1.0 - limit);
        let q = ((b2 * b2 - 4.0 * a2 * c2).sqrt() - b2) / (2.0 * a2);
        let variance = (2.0 * q + limit - limit * limit) / n;
        normal_cdf((b / n - limit) / variance.sqrt())
    }

    proptest! {
        #[test]
        fn one_group_is_tangos_test(
            counts in [0_u32..40, 0_u32..40, 0_u32..400], limit in -0.4..0.4_f64
        ) {
            let counts = counts.map(f64::from);
            prop_assume!(counts.iter().sum::<f64>() > 3.0 && limit.abs() > 1e-3);
            let sum = PairedSum(vec![counted(&[(1.0, counts[0]), (-1.0, counts[1]), (0.0, counts[2])])]);
            let (found, expected) = (sum.p_at_least(limit), tango(counts, limit));
            prop_assert!((found - expected).abs() < 1e-7, "{found} {expected}");
            let reversed = tango([counts[1], counts[0], counts[2]], -limit);
            prop_assert!((sum.p_at_most(limit) - reversed).abs() < 1e-7);
        }

        #[test]
        fn two_groups_of_one_model_are_farrington_and_mannings_test(
            n in [5_u32..400, 5_u32..400], share in [0.0..1.0_f64, 0.0..1.0], limit in 0.001..0.6_f64
        ) {
            let n = n.map(f64::from);
            let x = [0, 1].map(|i| (share[i] * (n[i] + 1.0)).floor().min(n[i]));
            let sum = PairedSum(vec![
                counted(&[(1.0, x[0]), (0.0, n[0] - x[0])]),
                counted(&[(-1.0, x[1]), (0.0, n[1] - x[1])]),
            ]);
            let [a, b] = [0, 1].map(|i| Cell::counted(x[i], n[i]));
            let expected = Contrast::Difference { a, b, limit }.p_value();
            let found = sum.p_at_least(limit);
            prop_assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }

        #[test]
        fn restricted_distributions_are_the_most_likely(
            a in prop::array::uniform4(1_u32..60), b in prop::array::uniform3(1_u32..60), share in 0.05..0.95_f64
        ) {
            // Values of a group that is compared in both models, and of one that only one model compares.
            let first = [(1.0, f64::from(a[0])), (-1.0, f64::from(a[1])), (0.0, f64::from(a[2])), (2.0, f64::from(a[3]))];
            let second = [(-1.0, f64::from(b[0])), (1.0, f64::from(b[1])), (0.0, f64::from(b[2]))];
            let groups = [counted(&first), counted(&second)];
            let limit = -2.0 + 5.0 * share;
            let rows = groups.clone().map(|group| group.rows());
            // All multipliers give the same likelihood ratio as moving the limit between the groups.
            let likelihood = |group: &[(f64, f64)], mean: f64| -> f64 {
                // Newton's steps for the multiplier of one mean.
                let (mut low, mut high) = (-1e6, 1e6);
                let n: f64 = group.iter().map(|(_, n)| n).sum();
                for (v, _) in group {
                    if *v > mean { low = f64::max(low, -n / (v - mean)); }
                    if *v < mean { high = f64::min(high, -n / (v - mean)); }
                }
                for _ in 0..200 {
                    let middle: f64 = 0.5 * (low + high);
                    let slope: f64 = group.iter().map(|(v, k)| k * (v - mean) / (n + middle * (v - mean))).sum();
                    if slope > 0.0 { low = middle } else { high = middle }
                }
                let lambda = 0.5 * (low + high);
                group.iter().map(|(v, k)| k * (1.0 / (n + lambda * (v - mean))).ln()).sum()
            };
            let total = |mean: f64| likelihood(&first, mean) + likelihood(&second, limit - mean);
            let (mut low, mut high) = (f64::max(-1.0, limit - 1.0) + 1e-9, f64::min(2.0, limit + 1.0) - 1e-9);
            let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
            for _ in 0..120 {
                let (left, right) = (high - golden * (high - low), low + golden * (high - low));
                if total(left) > total(right) { high = right } else { low = left }
            }
            let expected = 0.5 * (low + high);
            // The multiplier of the sum gives the same mean of the first group.
            let (mut less, mut more) = (-1e7, 1e7);
            for _ in 0..200 {
                let middle = 0.5 * (less + more);
                let sum: f64 = groups.iter().zip(rows).map(|(g, n)| g.tilted(n, middle).0).sum();
                if sum > limit { less = middle } else { more = middle }
            }
            let found = groups[0].tilted(rows[0], 0.5 * (less + more)).0;
            // A search for a flat maximum finds its position to half of the digits.
            prop_assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        }

        #[test]
        fn intervals_end_at_the_level_of_tests(
            counts in [1_u32..60, 1_u32..60, 1_u32..400], weight in 0.5..4.0_f64
        ) {
            let counts = counts.map(f64::from);
            let sum = PairedSum(vec![counted(&[(1.0, counts[0]), (-1.0, counts[1]), (0.0, counts[2])])]);
            let [low, high] = sum.interval(0.95).unwrap();
            prop_assert!(low < sum.estimate().unwrap() && sum.estimate().unwrap() < high);
            if high < 1.0 {
                prop_assert!((sum.p_at_least(high) - 0.025).abs() < 1e-6);
            }
            if low > -1.0 {
                prop_assert!((sum.p_at_most(low) - 0.025).abs() < 1e-6);
            }
            // A common weight changes nothing.
            let entries = [(1.0, counts[0]), (-1.0, counts[1]), (0.0, counts[2])];
            let weighted = entries.map(|(v, n)| (v, [weight * n, weight * weight * n]));
            let weighted = PairedSum(vec![ValueCounts::new(weighted)]);
            prop_assert!((weighted.p_at_least(0.1) - sum.p_at_least(0.1)).abs() < 1e-9);
        }
    }

    #[test]
    fn weights_that_differ_are_fewer_rows() {
        let equal = ValueCounts::new([(1.0, [50.0, 50.0]), (0.0, [50.0, 50.0])]);
        let unequal = ValueCounts::new([(1.0, [50.0, 200.0]), (0.0, [50.0, 50.0])]);
        assert_eq!(equal.rows(), 100.0);
        assert!(unequal.rows() < 41.0);
        let larger = |counts: &ValueCounts| PairedSum(vec![counts.clone()]).p_at_least(0.6);
        assert!(larger(&unequal) > larger(&equal));
    }

    /// At the limit, tests reject in about 5 of 100 samples; the level of a normal approximation differs a
    /// little from that.
    #[test]
    fn the_level_is_kept() {
        let mut stream = crate::Stream::new(1, crate::Purpose::Demo, [9, 9]);
        let mut draw = |shares: &[(f64, f64)], n: usize| {
            let mut counts = vec![0.0; shares.len()];
            for _ in 0..n {
                let mut left = stream.uniform();
                let mut at = 0;
                while at + 1 < shares.len() && left >= shares[at].1 {
                    left -= shares[at].1;
                    at += 1;
                }
                counts[at] += 1.0;
            }
            let both = shares.iter().zip(counts);
            ValueCounts::new(both.map(|((v, _), n)| (*v, [n, n])))
        };
        // Candidate minus baseline in two groups: the means are −0.04 and 0.04, so that their sum is 0.
        let first = [(1.0, 0.03), (-1.0, 0.07), (0.0, 0.9)];
        let second = [(1.0, 0.08), (-1.0, 0.04), (0.0, 0.88)];
        let samples = 4000;
        let rejected = (0..samples).filter(|_| {
            PairedSum(vec![draw(&first, 400), draw(&second, 250)]).p_at_least(0.0) <= 0.05
        });
        let share = rejected.count() as f64 / f64::from(samples);
        // Three standard errors of a share of 4,000 samples are 0.010.
        assert!((0.04..0.062).contains(&share), "{share}");
        assert!((normal_quantile(0.975) - 1.959_964).abs() < 1e-6);
    }

    #[test]
    fn impossible_and_certain_limits() {
        let sum = PairedSum(vec![counted(&[(1.0, 3.0), (0.0, 9.0), (-1.0, 0.0)])]);
        assert_eq!(sum.p_at_least(1.5), 0.0);
        assert_eq!(sum.p_at_least(-1.0), 1.0);
        assert_eq!(PairedSum(vec![counted(&[(1.0, 0.0)])]).p_at_least(0.0), 1.0);
        assert_eq!(PairedSum(vec![counted(&[])]).interval(0.9), None);
        // Equal decisions support equality, and are evidence against a large difference.
        let same = PairedSum(vec![counted(&[(1.0, 0.0), (0.0, 500.0), (-1.0, 0.0)])]);
        assert!(same.p_at_least(0.0) >= 0.5);
        assert!(same.p_at_least(0.01) < 0.05);
    }
}
