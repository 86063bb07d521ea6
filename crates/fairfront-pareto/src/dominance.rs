/// Whether `a` dominates `b`: nowhere worse, somewhere better. Equal points dominate neither way,
/// and NaN is never better.
pub fn dominates(a: &[f64], b: &[f64]) -> bool {
    debug_assert_eq!(a.len(), b.len(), "points of one space");
    let mut better = false;
    for (x, y) in a.iter().zip(b) {
        if x > y || x.is_nan() {
            return false;
        }
        better |= x < y;
    }
    better
}

/// Positions of the points that no other dominates, increasing; of equal points the first. Points
/// with a NaN are left out. O(n log n) for two objectives, at worst O(n²) for more.
///
/// # Panics
/// If the length of `points` is no multiple of `m`.
pub fn nondominated(points: &[f64], m: usize) -> Vec<usize> {
    if points.is_empty() {
        return Vec::new();
    }
    assert!(m > 0 && points.len().is_multiple_of(m), "n · m values");
    let point = |i: usize| &points[i * m..(i + 1) * m];
    let mut order: Vec<usize> = (0..points.len() / m)
        .filter(|i| !point(*i).iter().any(|v| v.is_nan()))
        .collect();
    // Sorted lexicographically (then by position), no later point dominates an earlier one.
    order.sort_by(|a, b| compare(point(*a), point(*b)).then(a.cmp(b)));
    let mut kept: Vec<usize> = Vec::new();
    if m == 2 {
        let mut lowest = f64::INFINITY;
        let mut any = false;
        for i in order {
            let second = points[2 * i + 1];
            if second < lowest || !any {
                kept.push(i);
                lowest = second;
                any = true;
            }
        }
    } else {
        for i in order {
            let covered = |k: &usize| {
                let (a, b) = (point(*k), point(i));
                a.iter().zip(b).all(|(x, y)| x <= y)
            };
            // The latest kept are the nearest and the likeliest to dominate.
            if !kept.iter().rev().any(covered) {
                kept.push(i);
            }
        }
    }
    kept.sort_unstable();
    kept
}

fn compare(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let mut pairs = a.iter().zip(b);
    // −0 and 0 are equal here, unlike in `total_cmp`.
    let different = pairs.find(|(x, y)| x != y);
    different.map_or(std::cmp::Ordering::Equal, |(x, y)| x.total_cmp(y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn brute_force(points: &[f64], m: usize) -> Vec<usize> {
        let p: Vec<&[f64]> = points.chunks(m).collect();
        (0..p.len())
            .filter(|&i| !p[i].iter().any(|v| v.is_nan()))
            .filter(|&i| !(0..p.len()).any(|j| dominates(p[j], p[i]) || (j < i && p[j] == p[i])))
            .collect()
    }

    #[test]
    fn dominance_needs_one_better_and_none_worse() {
        assert!(dominates(&[1.0, 2.0], &[1.0, 3.0]));
        assert!(!dominates(&[1.0, 2.0], &[1.0, 2.0]));
        assert!(!dominates(&[0.0, 4.0], &[1.0, 3.0]));
        assert!(!dominates(&[f64::NAN, 0.0], &[1.0, 1.0]));
        assert!(dominates(&[-f64::INFINITY, 0.0], &[1.0, 0.0]));
    }

    #[test]
    fn the_empty_set_and_infinities() {
        assert!(nondominated(&[], 2).is_empty());
        assert_eq!(nondominated(&[f64::INFINITY, f64::INFINITY], 2), [0]);
        assert_eq!(nondominated(&[f64::NAN, 0.0, 1.0, 1.0], 2), [1]);
        assert_eq!(nondominated(&[0.0, 1.0, -0.0, 1.0], 2), [0]);
    }

    proptest! {
        #[test]
        fn the_filter_is_the_definition(m in 1_usize..5, raw in prop::collection::vec(0_u8..6, 0..120)) {
            let n = raw.len() / m * m;
            // Few different values, so that ties are frequent.
            let points: Vec<f64> = raw[..n].iter().map(|v| f64::from(*v)).collect();
            prop_assert_eq!(nondominated(&points, m), brute_force(&points, m));
        }
    }
}
