//! How well scores rank rows, and how far apart the scores of two groups are, for rows in memory.
//!
//! Weights are optional; without them, every row counts 1. Scores must be numbers; ties count half.

/// The area under the receiver operating characteristic: the share of pairs of a positive and a negative row in
/// which the positive one has the higher score. `None` without rows of both labels.
///
/// ```
/// use fairfront_core::{auc, ks};
/// let (scores, positives) = ([0.1, 0.4, 0.4, 0.8], [false, false, true, true]);
/// assert_eq!(auc(&scores, &positives, None), Some(0.875));
/// assert_eq!(ks(&scores, &positives, None), Some(0.5));
/// ```
pub fn auc(scores: &[f64], positives: &[bool], weights: Option<&[f64]>) -> Option<f64> {
    let mut area = 0.0;
    let [negative, positive] = ascending(scores, positives, weights, |below, here| {
        area += here[1] * (below[0] + 0.5 * here[0]);
    })?;
    Some(area / (negative * positive))
}

/// The Kolmogorov–Smirnov statistic: the largest distance between the distribution functions of the scores of
/// positive and of negative rows. `None` without rows of both labels.
pub fn ks(scores: &[f64], positives: &[bool], weights: Option<&[f64]>) -> Option<f64> {
    let mut seen = Vec::new();
    let [negative, positive] = ascending(scores, positives, weights, |below, here| {
        seen.push([below[0] + here[0], below[1] + here[1]]);
    })?;
    let distances = seen
        .iter()
        .map(|of| (of[0] / negative - of[1] / positive).abs());
    Some(distances.fold(0.0, f64::max).min(1.0))
}

/// Calls a function for each distinct score in ascending order, with the weights of the negative and positive rows
/// below and at it, and returns the weights of all rows; `None` unless both are above 0.
fn ascending(
    scores: &[f64],
    positives: &[bool],
    weights: Option<&[f64]>,
    mut at: impl FnMut([f64; 2], [f64; 2]),
) -> Option<[f64; 2]> {
    let mut order: Vec<usize> = (0..scores.len().min(positives.len())).collect();
    order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let mut below = [0.0; 2];
    let same = |a: &usize, b: &usize| scores[*a] == scores[*b];
    for ties in order.chunk_by(same) {
        let mut here = [0.0; 2];
        for row in ties {
            here[usize::from(positives[*row])] += weights.map_or(1.0, |weights| weights[*row]);
        }
        at(below, here);
        below = [below[0] + here[0], below[1] + here[1]];
    }
    (below[0] > 0.0 && below[1] > 0.0).then_some(below)
}

/// A difference between two areas under the curve on the same rows, by the method of `DeLong` and others
/// (1988).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AucDifference {
    /// The area of the first scores.
    pub first: f64,
    /// The area of the second scores.
    pub second: f64,
    /// First minus second.
    pub difference: f64,
    /// The standard error of the difference, which takes into account that both rank the same rows.
    pub standard_error: f64,
}

/// Compares the areas of two scores of the same rows. `None` without two rows of each label.
///
/// Weighted rows enter with effective numbers: (Σw)² / Σw² rows of a label instead of their count.
pub fn auc_difference(
    first: &[f64],
    second: &[f64],
    positives: &[bool],
    weights: Option<&[f64]>,
) -> Option<AucDifference> {
    let of = [first, second].map(|scores| Placements::of(scores, positives, weights));
    let [Some(one), Some(two)] = of else {
        return None;
    };
    let difference = one.area - two.area;
    // Each row moves the difference by its own placement minus the difference: positive and negative rows are
    // independent samples, and rows of one label are independent of each other.
    let mut variance = 0.0;
    for label in [false, true] {
        let (mut sum, mut squares, mut spread) = (0.0, 0.0, 0.0);
        let rows = (0..positives.len()).filter(|row| positives[*row] == label);
        for row in rows {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            let influence = one.placements[row] - two.placements[row] - difference;
            sum += weight;
            squares += weight * weight;
            spread += weight * weight * influence * influence;
        }
        let effective = sum * sum / squares;
        if effective.is_nan() || effective <= 1.0 {
            return None;
        }
        variance += spread / (sum * sum) * effective / (effective - 1.0);
    }
    Some(AucDifference {
        first: one.area,
        second: two.area,
        difference,
        standard_error: variance.sqrt(),
    })
}

/// For a positive row, the share of negative rows that it ranks above; for a negative row, the share of positive
/// rows that rank above it. Both have the area under the curve as their mean.
struct Placements {
    placements: Vec<f64>,
    area: f64,
}

impl Placements {
    fn of(scores: &[f64], positives: &[bool], weights: Option<&[f64]>) -> Option<Self> {
        let mut steps: Vec<[[f64; 2]; 2]> = Vec::new();
        let [negative, positive] = ascending(scores, positives, weights, |below, here| {
            steps.push([below, here]);
        })?;
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        let mut placements = vec![0.0; scores.len()];
        let mut area = 0.0;
        let same = |a: &usize, b: &usize| scores[*a] == scores[*b];
        for (ties, [below, here]) in order.chunk_by(same).zip(steps) {
            let of_positive = (below[0] + 0.5 * here[0]) / negative;
            let of_negative = 1.0 - (below[1] + 0.5 * here[1]) / positive;
            for row in ties {
                placements[*row] = if positives[*row] {
                    of_positive
                } else {
                    of_negative
                };
            }
            area += here[1] * of_positive;
        }
        Some(Self {
            placements,
            area: area / positive,
        })
    }
}

/// The mean score of a group minus that of the reference group, in standard deviations of the scores of **all** rows
/// passed, whichever group they are in: √(Σw(s − m)² / Σw), as lenders use it. `None` if a group has no rows or all
/// scores are equal.
pub fn standardized_mean_difference(
    scores: &[f64],
    groups: &[u32],
    [group, reference]: [u32; 2],
    weights: Option<&[f64]>,
) -> Option<f64> {
    let rows = || (0..scores.len()).map(|row| (row, weights.map_or(1.0, |weights| weights[row])));
    let mean = |wanted: Option<u32>| {
        let (mut sum, mut total) = (0.0, 0.0);
        for (row, weight) in rows().filter(|(row, _)| wanted.is_none_or(|g| groups[*row] == g)) {
            sum += weight * scores[row];
            total += weight;
        }
        (total > 0.0).then(|| (sum / total, total))
    };
    let (middle, total) = mean(None)?;
    let squares: f64 = rows()
        .map(|(row, weight)| weight * (scores[row] - middle) * (scores[row] - middle))
        .sum();
    let deviation = (squares / total).sqrt();
    let difference = mean(Some(group))?.0 - mean(Some(reference))?.0;
    // Equal scores may differ from their mean by rounding.
    (deviation > 1e-12 * middle.abs()).then(|| difference / deviation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rows with ties, of both labels and two groups, with weights.
    fn rows() -> impl Strategy<Value = Vec<([u8; 2], bool, u32, f64)>> {
        let row = (
            [0_u8..12, 0_u8..12],
            any::<bool>(),
            0_u32..3,
            prop_oneof![Just(0.5), Just(1.0), Just(3.0)],
        );
        proptest::collection::vec(row, 6..60)
    }

    type Split = ([Vec<f64>; 2], Vec<bool>, Vec<u32>, Vec<f64>);

    fn split(rows: &[([u8; 2], bool, u32, f64)]) -> Split {
        let scores = [0, 1].map(|which: usize| {
            let of = |row: &([u8; 2], bool, u32, f64)| f64::from(row.0[which]) * 0.25 - 1.0;
            rows.iter().map(of).collect()
        });
        (
            scores,
            rows.iter().map(|row| row.1).collect(),
            rows.iter().map(|row| row.2).collect(),
            rows.iter().map(|row| row.3).collect(),
        )
    }

    /// The area as a sum over all pairs.
    fn pairs(scores: &[f64], positives: &[bool], weights: &[f64]) -> Option<f64> {
        let (mut wins, mut total) = (0.0, 0.0);
        for i in 0..scores.len() {
            for j in 0..scores.len() {
                if positives[i] && !positives[j] {
                    let weight = weights[i] * weights[j];
                    total += weight;
                    wins += weight
                        * match scores[i].total_cmp(&scores[j]) {
                            std::cmp::Ordering::Greater => 1.0,
                            std::cmp::Ordering::Equal => 0.5,
                            std::cmp::Ordering::Less => 0.0,
                        };
                }
            }
        }
        (total > 0.0).then(|| wins / total)
    }

    fn near(a: Option<f64>, b: Option<f64>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-10,
            (a, b) => a == b,
        }
    }

    proptest! {
        #[test]
        fn areas_and_distances_are_those_of_their_definitions(rows in rows()) {
            let ([scores, _], positives, groups, weights) = split(&rows);
            prop_assert!(near(auc(&scores, &positives, Some(&weights)), pairs(&scores, &positives, &weights)));
            let ones = vec![1.0; scores.len()];
            prop_assert_eq!(auc(&scores, &positives, None), auc(&scores, &positives, Some(&ones)));
            // The distribution functions at every score.
            let share = |label: bool, at: f64| {
                let of = |below: bool| (0..scores.len())
                    .filter(|i| positives[*i] == label && (!below || scores[*i] <= at))
                    .map(|i| weights[i]).sum::<f64>();
                of(true) / of(false)
            };
            let distances = scores.iter().map(|s| (share(true, *s) - share(false, *s)).abs());
            let both = positives.contains(&true) && positives.contains(&false);
            let expected = both.then(|| distances.fold(0.0, f64::max));
            prop_assert!(near(ks(&scores, &positives, Some(&weights)), expected));

            let of = |g: Option<u32>, f: &dyn Fn(f64) -> f64| {
                let rows = || (0..scores.len()).filter(|i| g.is_none_or(|g| groups[*i] == g));
                rows().map(|i| weights[i] * f(scores[i])).sum::<f64>() / rows().map(|i| weights[i]).sum::<f64>()
            };
            let middle = of(None, &|s| s);
            let deviation = of(None, &|s| (s - middle).powi(2)).sqrt();
            let expected = (of(Some(1), &|s| s) - of(Some(0), &|s| s)) / deviation;
            let found = standardized_mean_difference(&scores, &groups, [1, 0], Some(&weights));
            prop_assert!(near(found, expected.is_finite().then_some(expected)), "{found:?} {expected}");
        }

        /// The textbook formula: covariances of the placements, from all pairs.
        #[test]
        fn areas_are_compared_by_delongs_method(rows in rows()) {
            let (scores, positives, _, _) = split(&rows);
            let of = |label: bool| (0..rows.len()).filter(|i| positives[*i] == label).collect::<Vec<_>>();
            let (up, down) = (of(true), of(false));
            let found = auc_difference(&scores[0], &scores[1], &positives, None);
            if up.len() < 2 || down.len() < 2 {
                prop_assert!(found.is_none());
                return Ok(());
            }
            let wins = |s: &[f64], i: usize, j: usize| if s[i] > s[j] { 1.0 } else if s[i] == s[j] { 0.5 } else { 0.0 };
            let (m, n) = (up.len() as f64, down.len() as f64);
            let v10 = |s: &[f64]| up.iter().map(|i| down.iter().map(|j| wins(s, *i, *j)).sum::<f64>() / n).collect::<Vec<_>>();
            let v01 = |s: &[f64]| down.iter().map(|j| up.iter().map(|i| wins(s, *i, *j)).sum::<f64>() / m).collect::<Vec<_>>();
            let covariance = |a: &[f64], b: &[f64]| {
                let count = a.len() as f64;
                let (x, y) = (a.iter().sum::<f64>() / count, b.iter().sum::<f64>() / count);
                a.iter().zip(b).map(|(a, b)| (a - x) * (b - y)).sum::<f64>() / (count - 1.0)
            };
            let [a, b] = [&scores[0], &scores[1]];
            let s = |x: &[f64], y: &[f64]| covariance(&v10(x), &v10(y)) / m + covariance(&v01(x), &v01(y)) / n;
            let variance: f64 = s(a, a) + s(b, b) - 2.0 * s(a, b);
            let found = found.unwrap();
            prop_assert!(near(Some(found.first), auc(a, &positives, None)));
            prop_assert!(near(Some(found.difference), Some(found.first - found.second)));
            prop_assert!((found.standard_error.powi(2) - variance).abs() < 1e-10);
            let same = vec![2.5; rows.len()];
            let weighted = auc_difference(a, b, &positives, Some(&same)).unwrap();
            prop_assert!((weighted.standard_error - found.standard_error).abs() < 1e-9);
        }
    }

    /// The standard error against the spread of the difference over samples of rows.
    #[test]
    fn the_standard_error_is_the_spread_over_samples() {
        let mut random = crate::Stream::new(3, crate::Purpose::Synthetic, [29, 0]);
        let (mut differences, mut errors) = (Vec::new(), Vec::new());
        for _ in 0..800 {
            let (mut first, mut second, mut positives) = (vec![], vec![], vec![]);
            for _ in 0..150 {
                let positive = random.uniform() < 0.4;
                let shift = f64::from(u8::from(positive));
                let shared = random.uniform();
                first.push(shift * 0.4 + shared + 0.5 * random.uniform());
                second.push(shift * 0.2 + shared + 0.8 * random.uniform());
                positives.push(positive);
            }
            let found = auc_difference(&first, &second, &positives, None).expect("both labels");
            differences.push(found.difference);
            errors.push(found.standard_error * found.standard_error);
        }
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let middle = mean(&differences);
        let squares: Vec<f64> = differences.iter().map(|d| (d - middle).powi(2)).collect();
        let ratio = mean(&errors) / mean(&squares);
        // The standard error of a variance of 800 values is 5%.
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
    }

    #[test]
    fn rows_without_a_comparison_have_no_value() {
        let (scores, positives) = ([1.0, 2.0, 3.0], [true, true, true]);
        assert_eq!(auc(&scores, &positives, None), None);
        assert_eq!(ks(&scores, &positives, None), None);
        assert_eq!(auc(&[], &[], None), None);
        assert!(auc_difference(&scores, &scores, &[true, true, false], None).is_none());
        let smd = |scores: &[f64]| standardized_mean_difference(scores, &[0, 1, 1], [1, 0], None);
        assert_eq!(smd(&[0.1, 0.1, 0.1]), None);
        assert!(smd(&[0.1, 0.2, 0.1]).is_some());
        assert_eq!(
            standardized_mean_difference(&scores, &[0, 0, 0], [1, 0], None),
            None
        );
        assert_eq!(standardized_mean_difference(&[], &[], [1, 0], None), None);
    }
}
