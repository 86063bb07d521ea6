use crate::Values;
use crate::order::lexicographic;

/// Smallest and largest finite value of each objective over the points inside `bound` (over all
/// points without a bound); `(0, 0)` if there are no such points.
pub fn ranges(values: Values, bound: Option<&[f64]>) -> Vec<(f64, f64)> {
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); values.n_objectives()];
    for point in values {
        let inside = |bound: &[f64]| point.iter().zip(bound).all(|(v, b)| v <= b);
        if point.iter().all(|v| v.is_finite()) && bound.is_none_or(inside) {
            for (range, &v) in ranges.iter_mut().zip(point) {
                *range = (range.0.min(v), range.1.max(v));
            }
        }
    }
    for range in &mut ranges {
        if range.0 > range.1 {
            *range = (0.0, 0.0);
        }
    }
    ranges
}

/// The position of a value in a range: 0 at the low end, 1 at the high end; 0 if the range has no
/// width.
pub(crate) fn scaled(value: f64, (low, high): (f64, f64)) -> f64 {
    // Halves, because the width of a range can exceed the largest number.
    let width = high / 2.0 - low / 2.0;
    match width > 0.0 {
        true => (value / 2.0 - low / 2.0) / width,
        false => 0.0,
    }
}

/// Positions of the points to keep when dense regions are thinned, increasing. The extremes of
/// every objective stay; a point is dropped if a kept point is closer than `share` of the range
/// along *every* objective.
///
/// `ranges` come from [`ranges`].
///
/// # Panics
/// If there are fewer `ranges` than objectives.
pub fn thin(values: Values, share: f64, ranges: &[(f64, f64)]) -> Vec<usize> {
    assert!(
        ranges.len() >= values.n_objectives(),
        "one range per objective"
    );
    let n = values.len();
    let point = |i: usize| values.point(i);
    let width: Vec<f64> = ranges
        .iter()
        .map(|(low, high)| share * (high - low))
        .collect();
    let mut kept: Vec<usize> = Vec::new();
    for objective in 0..values.n_objectives() {
        let value = |i: &usize| point(*i)[objective];
        let lowest = (0..n).min_by(|a, b| value(a).total_cmp(&value(b)));
        let highest = (0..n).max_by(|a, b| value(a).total_cmp(&value(b)));
        kept.extend(lowest.into_iter().chain(highest));
    }
    kept.sort_unstable();
    kept.dedup();
    // Kept points are sorted by their first value, so that only those within reach are compared.
    let mut by_first: Vec<usize> = kept.clone();
    by_first.sort_by(|a, b| point(*a)[0].total_cmp(&point(*b)[0]));
    for i in 0..n {
        let p = point(i);
        let from = by_first.partition_point(|k| point(*k)[0] <= p[0] - width[0]);
        let near = by_first[from..]
            .iter()
            .take_while(|k| point(**k)[0] < p[0] + width[0])
            .any(|k| {
                point(*k)
                    .iter()
                    .zip(p)
                    .zip(&width)
                    .all(|((a, b), w)| (a - b).abs() < *w)
            });
        let is_extreme = kept.binary_search(&i).is_ok();
        if !near && !is_extreme {
            let at = by_first.partition_point(|k| point(*k)[0] < p[0]);
            by_first.insert(at, i);
        }
    }
    by_first.sort_unstable();
    by_first
}

/// A hole along one objective between two consecutive points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hole {
    /// Index of the objective.
    pub objective: usize,
    /// Position of the point before the hole (smaller value).
    pub below: usize,
    /// Position of the point after the hole.
    pub above: usize,
    /// Width as a share of the objective's range.
    pub width: f64,
}

/// The `n` widest holes over all objectives, widest first; each pair of points counts once. Points
/// outside `ranges` are ignored.
pub fn holes(values: Values, ranges: &[(f64, f64)], n: usize) -> Vec<Hole> {
    let mut found = Vec::new();
    let value = |i: usize, objective: usize| values.point(i)[objective];
    let inside = |i: &usize| {
        let mut pairs = values.point(*i).iter().zip(ranges);
        pairs.all(|(v, (low, high))| v >= low && v <= high)
    };
    let members: Vec<usize> = (0..values.len()).filter(inside).collect();
    for (objective, (low, high)) in ranges.iter().enumerate() {
        if high <= low {
            continue;
        }
        let mut order = members.clone();
        order.sort_by(|a, b| value(*a, objective).total_cmp(&value(*b, objective)));
        found.extend(order.windows(2).map(|pair| Hole {
            objective,
            below: pair[0],
            above: pair[1],
            width: (value(pair[1], objective) - value(pair[0], objective)) / (high - low),
        }));
    }
    found.sort_by(|a, b| b.width.total_cmp(&a.width));
    let mut pairs = Vec::new();
    found.retain(|hole| {
        let pair = (hole.below.min(hole.above), hole.below.max(hole.above));
        let new = pairs.len() < n && hole.width > 0.0 && !pairs.contains(&pair);
        if new {
            pairs.push(pair);
        }
        new
    });
    found
}

/// Positions of `n` well-spread points, increasing: first the extremes, then repeatedly the point
/// farthest from those chosen, in values scaled by `ranges`; copies of chosen points come last. O(n
/// · number of points).
///
/// # Panics
/// If there are fewer `ranges` than objectives.
pub fn select_spread(values: Values, n: usize, ranges: &[(f64, f64)]) -> Vec<usize> {
    let (total, m) = (values.len(), values.n_objectives());
    assert!(ranges.len() >= m, "one range per objective");
    if n >= total {
        return (0..total).collect();
    }
    let scaled: Vec<f64> = values
        .iter()
        .flat_map(|p| {
            p.iter().zip(ranges).map(|(v, range)| {
                // Infinite values must have a finite distance.
                scaled(*v, *range).clamp(-1e6, 1e6)
            })
        })
        .collect();
    let point = |i: usize| &scaled[i * m..(i + 1) * m];
    let distance = |a: usize, b: usize| -> f64 {
        point(a)
            .iter()
            .zip(point(b))
            .map(|(x, y)| (x - y).powi(2))
            .sum()
    };
    let mut chosen: Vec<usize> = Vec::new();
    let mut nearest = vec![f64::INFINITY; total];
    let choose = |i: usize, chosen: &mut Vec<usize>, nearest: &mut [f64]| {
        chosen.push(i);
        for (k, near) in nearest.iter_mut().enumerate() {
            *near = near.min(distance(i, k));
        }
    };
    for objective in 0..m {
        // Of equal ends, take the one that is best in the other objectives.
        let by_value = |a: &usize, b: &usize| {
            let (a, b) = (point(*a), point(*b));
            a[objective]
                .total_cmp(&b[objective])
                .then_with(|| lexicographic(a, b))
        };
        let lowest = (0..total).min_by(by_value);
        if let Some(lowest) = lowest.filter(|i| chosen.len() < n && !chosen.contains(i)) {
            choose(lowest, &mut chosen, &mut nearest);
        }
    }
    while chosen.len() < n {
        let farthest = (0..total).max_by(|a, b| nearest[*a].total_cmp(&nearest[*b]).then(b.cmp(a)));
        match farthest {
            Some(i) if nearest[i] > 0.0 => choose(i, &mut chosen, &mut nearest),
            // Only copies of chosen points are left.
            _ => {
                let copies: Vec<usize> = (0..total).filter(|i| !chosen.contains(i)).collect();
                chosen.extend(copies.into_iter().take(n - chosen.len()));
            }
        }
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(points: &[f64]) -> Values<'_> {
        Values::new(points, 2).unwrap()
    }

    /// A front on the line x + y = 1.
    fn line(n: usize) -> Vec<f64> {
        (0..n)
            .flat_map(|i| {
                let x = i as f64 / (n - 1) as f64;
                [x, 1.0 - x]
            })
            .collect()
    }

    #[test]
    fn ranges_ignore_points_beyond_the_bound() {
        let points = [0.0, 1.0, 1.0, 0.0, 9.0, 9.0, f64::INFINITY, 0.0];
        assert_eq!(ranges(of(&points), None), [(0.0, 9.0), (0.0, 9.0)]);
        assert_eq!(
            ranges(of(&points), Some(&[5.0, 5.0])),
            [(0.0, 1.0), (0.0, 1.0)]
        );
        assert_eq!(ranges(of(&[]), None), [(0.0, 0.0), (0.0, 0.0)]);
    }

    #[test]
    fn holes_are_sorted_widest_first() {
        let points = [0.0, 1.0, 0.1, 0.9, 0.7, 0.3, 1.0, 0.0];
        let found = holes(of(&points), &ranges(of(&points), None), 2);
        assert_eq!(
            (
                found[0].below.min(found[0].above),
                found[0].below.max(found[0].above)
            ),
            (1, 2)
        );
        assert!((found[0].width - 0.6).abs() < 1e-12);
        assert_eq!(found.len(), 2);
        assert!(holes(of(&points[..2]), &[(0.0, 0.0); 2], 5).is_empty());
    }

    #[test]
    fn a_spread_selection_of_a_line_is_even() {
        let points = line(101);
        let chosen = select_spread(of(&points), 5, &ranges(of(&points), None));
        assert_eq!(chosen, [0, 25, 50, 75, 100]);
        assert_eq!(select_spread(of(&points), 500, &[(0.0, 1.0); 2]).len(), 101);
        assert_eq!(select_spread(of(&[1.0; 6]), 2, &[(1.0, 1.0); 2]).len(), 2);
    }

    #[test]
    fn infinite_values_are_allowed() {
        let points = [
            0.0,
            1.0,
            f64::INFINITY,
            0.0,
            1.0,
            f64::NEG_INFINITY,
            0.5,
            0.5,
        ];
        let ranges = ranges(of(&points), None);
        assert_eq!(ranges, [(0.0, 0.5), (0.5, 1.0)]);
        assert_eq!(select_spread(of(&points), 3, &ranges).len(), 3);
        assert_eq!(thin(of(&points), 0.1, &ranges).len(), 4);
        assert_eq!(holes(of(&points), &ranges, 9).len(), 1);
        for empty in [
            select_spread(of(&[]), 3, &ranges),
            thin(of(&[]), 0.1, &ranges),
        ] {
            assert!(empty.is_empty());
        }
    }

    proptest! {
        #[test]
        fn thinning_keeps_extremes_and_covers_the_rest(raw in prop::collection::vec(0.0..1.0_f64, 4..200), share in 0.01..0.3_f64, m in 2_usize..4) {
            let n = raw.len() / m;
            let points = &raw[..n * m];
            let values = Values::new(points, m).unwrap();
            let ranges = ranges(values, None);
            let kept = thin(values, share, &ranges);
            for o in 0..m {
                let lowest = (0..n).map(|i| points[i * m + o]).fold(f64::INFINITY, f64::min);
                prop_assert!(kept.iter().any(|k| points[k * m + o] == lowest));
            }
            let near = |a: usize, b: usize| (0..m).all(|o| {
                (points[a * m + o] - points[b * m + o]).abs() < share * (ranges[o].1 - ranges[o].0)
            });
            for i in 0..n {
                prop_assert!(kept.contains(&i) || kept.iter().any(|k| near(i, *k)));
            }
        }
    }
}
