//! Orders of numbers and points.

use std::cmp::Ordering;

/// An integer in the same order as the value; −0 and 0 have the same key. Integers sort faster than
/// floats.
pub(crate) fn key(value: f64) -> u64 {
    // Adding 0 turns −0 into 0.
    let bits = (value + 0.0).to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

/// Lexicographic order of points without NaN; −0 and 0 are equal.
pub(crate) fn lexicographic(a: &[f64], b: &[f64]) -> Ordering {
    let different = a.iter().zip(b).find(|(x, y)| x != y);
    different.map_or(Ordering::Equal, |(x, y)| x.total_cmp(y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_ordered_like_values(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            prop_assert_eq!(key(a).cmp(&key(b)), a.partial_cmp(&b).unwrap());
            prop_assert_eq!(lexicographic(&[1.0, a], &[1.0, b]), a.partial_cmp(&b).unwrap());
        }
    }
}
