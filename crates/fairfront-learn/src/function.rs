//! Exponentials and logarithms by additions, multiplications and divisions only.
//!
//! The bytes of a forest must not depend on the math library of the machine. These also have no
//! branches, so that the compiler can process several numbers at once.

/// 1.5 × 2⁵²: adding it rounds to the nearest integer, which is then in the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// ln 2, in two parts whose sum is exact to 106 bits. The first has 32 trailing zeros, so that small
/// multiples are exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// eˣ, to about two units in the last place. Arguments beyond ±708 count as ±708.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    let x = x.clamp(-708.0, 708.0);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2[0]) - k * LN_2[1];
    // The series of eʳ for |r| ≤ 0.35, in pairs, so that fewer steps wait for each other.
    let (r2, r4) = (r * r, (r * r) * (r * r));
    let a = (1.0 + r) + r2 * (1.0 / 2.0 + r * (1.0 / 6.0));
    let b = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let c = (1.0 / 40_320.0 + r * (1.0 / 362_880.0))
        + r2 * (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0));
    let d = 1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0);
    let series = a + r4 * (b + r4 * (c + r4 * d));
    // 2ᵏ, from its exponent.
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    series * power
}

/// ln x of a positive normal number, to about two units in the last place or 10⁻¹⁶.
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    // x = 2ᵏ m with m between √½ and √2.
    let bits = x.to_bits();
    let above = bits.wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits());
    let k = (above as i64) >> 52;
    let m = f64::from_bits(bits.wrapping_sub((k << 52) as u64));
    let s = (m - 1.0) / (m + 1.0);
    let (s2, s4) = (s * s, (s * s) * (s * s));
    // 2 artanh s for |s| ≤ 0.1716.
    let even = 1.0 / 3.0 + s4 * (1.0 / 7.0 + s4 * (1.0 / 11.0 + s4 * (1.0 / 15.0 + s4 / 19.0)));
    let odd = 1.0 / 5.0 + s4 * (1.0 / 9.0 + s4 * (1.0 / 13.0 + s4 * (1.0 / 17.0 + s4 / 21.0)));
    let k = k as f64;
    let series = 2.0 * s + 2.0 * s * (s2 * even + s4 * odd);
    k * LN_2[0] + (series + k * LN_2[1])
}

/// 1 / (1 + e⁻ˢ).
#[inline]
pub(crate) fn sigmoid(score: f64) -> f64 {
    1.0 / (1.0 + exp(-score))
}

/// ln(1 + eˣ).
#[inline]
pub(crate) fn softplus(x: f64) -> f64 {
    // ln(1 + e) loses digits of a small e, which matters nowhere: it is added to the losses of others.
    x.max(0.0) + ln(1.0 + exp(-x.abs()))
}

/// Probabilities in proportion to e^score.
pub(crate) fn softmax(scores: &[f64], probabilities: &mut [f64]) {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for (p, s) in probabilities.iter_mut().zip(scores) {
        *p = exp(s - largest);
        sum += *p;
    }
    probabilities.iter_mut().for_each(|p| *p /= sum);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn exponentials_and_logarithms_are_those_of_libm(x in -708.0..708.0_f64) {
            let expected = libm::exp(x);
            // Four units in the last place.
            prop_assert!((exp(x) - expected).abs() <= 9e-16 * expected, "e^{x}");
            for y in [expected, 1.0 + x.abs(), 1.0 / (1.0 + x.abs()), 1.0 + expected.min(1e-3)] {
                let expected = libm::log(y);
                prop_assert!((ln(y) - expected).abs() <= 9e-16 * expected.abs() + 2e-16, "ln {y}");
            }
        }

        #[test]
        fn sigmoid_and_softplus_are_their_definitions(x in -40.0..40.0_f64) {
            let p = sigmoid(x);
            prop_assert!((p - 1.0 / (1.0 + libm::exp(-x))).abs() < 1e-15);
            prop_assert!((softplus(x) - libm::log1p(libm::exp(x))).abs() < 1e-14 * (1.0 + x.abs()));
            prop_assert!((p + sigmoid(-x) - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn extremes_are_finite() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(ln(1.0), 0.0);
        for x in [f64::MAX, f64::MIN, 1e5, -1e5] {
            assert!(exp(x).is_finite() && exp(x) > 0.0);
            assert!(sigmoid(x).is_finite() && softplus(x).is_finite());
        }
        assert!(ln(f64::MIN_POSITIVE) < -708.0 && ln(f64::MAX) > 709.0);
    }
}
