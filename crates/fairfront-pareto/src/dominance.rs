/// Whether `a` dominates `b`: nowhere worse, somewhere better. Equal points dominate neither way,
/// and NaN is never better.
pub fn dominates(a: &[f64], b: &[f64]) -> bool {
    dominates_within(a, b, 0.0)
}

/// Whether `a` is at least as good as `b` everywhere: it dominates it, or they are equal.
pub fn weakly_dominates(a: &[f64], b: &[f64]) -> bool {
    debug_assert_eq!(a.len(), b.len(), "points of one space");
    a.iter().zip(b).all(|(x, y)| x <= y)
}

/// Whether `a` is better than `b` everywhere.
pub fn strictly_dominates(a: &[f64], b: &[f64]) -> bool {
    debug_assert_eq!(a.len(), b.len(), "points of one space");
    a.iter().zip(b).all(|(x, y)| x < y)
}

/// Dominance of numbers that are known up to `tolerance`: `a` is nowhere worse by more than it,
/// and somewhere better by more than it.
///
/// Unlike dominance this is not transitive: with a tolerance of 1 each of 0, 0.8, 1.6 ties with its
/// neighbour, though the first beats the last. A set filtered with it therefore depends on what it
/// is compared with, which is why no filter here takes a tolerance.
pub fn dominates_within(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    debug_assert_eq!(a.len(), b.len(), "points of one space");
    let mut better = false;
    for (x, y) in a.iter().zip(b) {
        // Written so that NaN fails; infinities of one sign are equal.
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
    fn a_tolerance_forgives_and_demands() {
        assert!(dominates_within(&[1.05, 0.0], &[1.0, 1.0], 0.1));
        assert!(!dominates_within(&[0.95, 1.0], &[1.0, 1.0], 0.1));
        assert!(!dominates_within(&[1.2, 0.0], &[1.0, 1.0], 0.1));
        assert!(dominates_within(&[f64::NEG_INFINITY], &[0.0], 0.1));
    }

    proptest! {
        #[test]
        fn the_three_kinds_imply_each_other(pairs in prop::collection::vec((0_u8..4, 0_u8..4), 1..5)) {
            let a: Vec<f64> = pairs.iter().map(|p| f64::from(p.0)).collect();
            let b: Vec<f64> = pairs.iter().map(|p| f64::from(p.1)).collect();
            prop_assert!(!strictly_dominates(&a, &b) || dominates(&a, &b));
            prop_assert!(!dominates(&a, &b) || weakly_dominates(&a, &b));
            prop_assert_eq!(dominates(&a, &b), weakly_dominates(&a, &b) && a != b);
            prop_assert!(!(dominates(&a, &b) && dominates(&b, &a)));
            // Whole numbers half apart are told apart, so the tolerance changes nothing.
            prop_assert_eq!(dominates_within(&a, &b, 0.5), dominates(&a, &b));
        }
    }
}
