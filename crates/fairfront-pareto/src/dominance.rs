/// Whether `a` dominates `b`: `a` is at least as good in every objective and better in at least
/// one. Equal points do not dominate each other, and NaN is never better.
pub fn dominates(a: &[f64], b: &[f64]) -> bool {
    dominates_within(a, b, 0.0)
}

/// Whether `a` is at least as good as `b` in every objective: it dominates `b` or equals it.
pub fn weakly_dominates(a: &[f64], b: &[f64]) -> bool {
    debug_assert_eq!(
        a.len(),
        b.len(),
        "points have the same number of objectives"
    );
    a.iter().zip(b).all(|(x, y)| x <= y)
}

/// Whether `a` is better than `b` in every objective.
pub fn strictly_dominates(a: &[f64], b: &[f64]) -> bool {
    debug_assert_eq!(
        a.len(),
        b.len(),
        "points have the same number of objectives"
    );
    a.iter().zip(b).all(|(x, y)| x < y)
}

/// Dominance for numbers that are known up to `tolerance`: `a` is worse by more than `tolerance` in
/// no objective, and better by more than `tolerance` in at least one.
///
/// Unlike dominance, this relation is not transitive: with a tolerance of 1, each of 0, 0.8, 1.6
/// ties with its neighbor, but the first beats the last. The result of filtering a set with it
/// would therefore depend on which points are compared, so no filter in this crate takes a
/// tolerance.
pub fn dominates_within(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    debug_assert_eq!(
        a.len(),
        b.len(),
        "points have the same number of objectives"
    );
    let mut better = false;
    for (x, y) in a.iter().zip(b) {
        // NaN must fail this test; infinities of the same sign are equal.
        let near = x == y || (x - y).abs() <= tolerance;
        if !(near || x < y) {
            return false;
        }
        better |= x < y && !near;
    }
    better
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dominance_needs_one_better_and_none_worse() {
        assert!(dominates(&[1.0, 2.0], &[1.0, 3.0]));
        assert!(!dominates(&[1.0, 2.0], &[1.0, 2.0]));
        assert!(!dominates(&[0.0, 4.0], &[1.0, 3.0]));
        assert!(!dominates(&[f64::NAN, 0.0], &[1.0, 1.0]));
        assert!(!dominates(&[0.0, 0.0], &[1.0, f64::NAN]));
        assert!(dominates(&[-f64::INFINITY, 0.0], &[1.0, 0.0]));
        let infinite = [f64::INFINITY, 0.0];
        assert!(!dominates(&infinite, &infinite));
        assert!(weakly_dominates(&infinite, &infinite));
        assert!(!strictly_dominates(&[0.0, 1.0], &[1.0, 1.0]));
        assert!(strictly_dominates(&[0.0, 0.0], &[1.0, 1.0]));
    }

    #[test]
    fn small_differences_within_the_tolerance_are_ties() {
        assert!(dominates_within(&[1.05, 0.0], &[1.0, 1.0], 0.1));
        assert!(!dominates_within(&[0.95, 1.0], &[1.0, 1.0], 0.1));
        assert!(!dominates_within(&[1.2, 0.0], &[1.0, 1.0], 0.1));
        assert!(dominates_within(&[f64::NEG_INFINITY], &[0.0], 0.1));
    }

    proptest! {
        #[test]
        fn stronger_dominance_implies_weaker_dominance(pairs in prop::collection::vec((0_u8..4, 0_u8..4), 1..5)) {
            let a: Vec<f64> = pairs.iter().map(|p| f64::from(p.0)).collect();
            let b: Vec<f64> = pairs.iter().map(|p| f64::from(p.1)).collect();
            prop_assert!(!strictly_dominates(&a, &b) || dominates(&a, &b));
            prop_assert!(!dominates(&a, &b) || weakly_dominates(&a, &b));
            prop_assert_eq!(dominates(&a, &b), weakly_dominates(&a, &b) && a != b);
            prop_assert!(!(dominates(&a, &b) && dominates(&b, &a)));
            // Different whole numbers differ by more than 0.5, so this tolerance changes nothing.
            prop_assert_eq!(dominates_within(&a, &b, 0.5), dominates(&a, &b));
        }
    }
}
