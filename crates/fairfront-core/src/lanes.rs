//! Many points side by side: the inner loops of everything.
//!
//! A tile is a few rows times [`LANES`] points; one row's scores of all points lie next to each
//! other, so that one instruction works on several points. Only additions, multiplications and
//! divisions in a fixed order are used, never a fused multiply-add, so that the same numbers come
//! out of every instruction set.

#![expect(
    clippy::inline_always,
    reason = "these must be compiled with the instruction set of their callers"
)]

/// Points that are worked on side by side.
pub const LANES: usize = 32;

/// One number for each of the points of a block.
pub type Lanes = [f64; LANES];

/// A row of zeros.
pub(crate) const ZERO: Lanes = [0.0; LANES];

/// Runs an inlined function compiled for the widest instruction set of this machine.
///
/// `vectorised! { pub(crate) fn name(arguments) { body } }`
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<const $w:ident: usize>)?($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        $vis fn $name $(<const $w: usize>)?($($arg: $ty),*) {
            #[inline(always)]
            fn body $(<const $w: usize>)?($($arg: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
                fn avx512 $(<const $w: usize>)?($($arg: $ty),*) {
                    body($($arg),*);
                }
                #[target_feature(enable = "avx2")]
                fn avx2 $(<const $w: usize>)?($($arg: $ty),*) {
                    body($($arg),*);
                }
                if std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vl")
                {
                    // SAFETY: the features were detected on this machine.
                    #[expect(unsafe_code, reason = "a function compiled for a detected feature")]
                    return unsafe { avx512($($arg),*) };
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the feature was detected on this machine.
                    #[expect(unsafe_code, reason = "a function compiled for a detected feature")]
                    return unsafe { avx2($($arg),*) };
                }
            }
            body($($arg),*);
        }
    };
}
pub(crate) use vectorised;

/// e^(−a) for a ≥ 0, to about one unit in the last place; 0 beyond 708.
#[inline(always)]
pub(crate) fn exp_minus(a: f64) -> f64 {
    /// 1.5 · 2⁵²: adding it rounds to a whole number, which is then in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    /// ln 2 in two parts; the first has zeros at its end, so that k times it is exact.
    const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
    const LN2_LOW: f64 = f64::from_bits(0x3DEA_39EF_3579_3C76);
    let x = -a.min(708.0);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    // Taylor's series; |r| ≤ ln 2 / 2 makes the first term left out 2e-16. In pairs, and pairs of
    // pairs: nearly as exact as in a row, and half as long to wait for.
    let (r2, a0, a1) = (r * r, 1.0 + r, 0.5 + r * (1.0 / 6.0));
    let a2 = 1.0 / 24.0 + r * (1.0 / 120.0);
    let a3 = 1.0 / 720.0 + r * (1.0 / 5_040.0);
    let a4 = 1.0 / 40_320.0 + r * (1.0 / 362_880.0);
    let a5 = 1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0);
    let r4 = r2 * r2;
    let low = (a0 + a1 * r2) + (a2 + a3 * r2) * r4;
    let high = (a4 + a5 * r2) + r4 * (1.0 / 479_001_600.0);
    let p = low + high * (r4 * r4);
    // 2^k through the exponent's bits.
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    p * power
}

/// ln(1 + e) for 0 ≤ e ≤ 1, to about two units in the last place.
#[inline(always)]
pub(crate) fn log_one_plus(e: f64) -> f64 {
    // ln(1 + e) = 2 artanh(s) with s = e / (2 + e) ≤ 1/3; artanh(s)/s is a polynomial in s²,
    // fitted on [0, 1/9] with an error of 1e-18.
    let s = e / (2.0 + e);
    let t = s * s;
    let mut p = 0.085_220_817_813_906_99;
    p = p * t + 0.041_622_532_559_304_1;
    p = p * t + 0.060_550_843_640_346_09;
    p = p * t + 0.066_501_870_163_373_12;
    p = p * t + 0.076_933_070_211_520_04;
    p = p * t + 0.090_908_704_162_524_02;
    p = p * t + 0.111_111_120_403_738_37;
    p = p * t + 0.142_857_142_727_270_57;
    p = p * t + 0.200_000_000_000_928_74;
    p = p * t + 0.333_333_333_333_330_75;
    p = p * t + 1.0;
    2.0 * s * p
}

/// ln(1 + e^(−m)), for any m.
#[inline(always)]
pub(crate) fn softplus_minus(m: f64) -> f64 {
    log_one_plus(exp_minus(m.abs())) + (-m).max(0.0)
}

/// 1 / (1 + e^m), for any m.
#[inline(always)]
pub(crate) fn sigmoid_minus(m: f64) -> f64 {
    let e = exp_minus(m.abs());
    let small = e / (1.0 + e);
    if m >= 0.0 { small } else { 1.0 - small }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative difference; absolute below 1e-300, where there are no digits to compare.
    fn off(found: f64, expected: f64) -> f64 {
        (found - expected).abs() / expected.abs().max(1e-300)
    }

    #[test]
    fn functions_agree_with_libm() {
        let mut worst = (0.0_f64, 0.0_f64, 0.0_f64);
        for i in 0..400_000 {
            let a = f64::from(i) * 0.001_7;
            worst.0 = worst.0.max(off(exp_minus(a), libm::exp(-a)));
            let e = f64::from(i) / 400_000.0;
            worst.1 = worst.1.max(off(log_one_plus(e), libm::log1p(e)));
            let m = f64::from(i - 200_000) * 0.000_3;
            let expected = libm::log1p(libm::exp(-m.abs())) + (-m).max(0.0);
            worst.2 = worst.2.max(off(softplus_minus(m), expected));
        }
        // A few units in the last place (2.2e-16).
        assert!(
            worst.0 < 6e-16 && worst.1 < 7e-16 && worst.2 < 9e-16,
            "{worst:?}"
        );
        for m in [-40.0_f64, -3.0, -1e-9, 0.0, 0.3, 12.0, 700.0] {
            let expected = 1.0 / (1.0 + libm::exp(m));
            assert!(off(sigmoid_minus(m), expected) < 1e-15, "σ(−{m})");
        }
    }

    #[test]
    fn extremes_are_finite() {
        assert_eq!(softplus_minus(-1e4), 1e4);
        assert!(softplus_minus(1e4) < 1e-300);
        assert_eq!(sigmoid_minus(-1e4), 1.0);
        assert!(sigmoid_minus(1e4) < 1e-300);
        assert!(softplus_minus(f64::NAN).is_nan() || softplus_minus(f64::NAN).is_finite());
        assert_eq!(log_one_plus(0.0), 0.0);
        assert_eq!(exp_minus(0.0), 1.0);
    }
}
