//! Arithmetic on many points side by side, for all inner loops.
//!
//! A tile is a few rows times [`LANES`] points. A row's scores for all points are adjacent, so that
//! one instruction processes several points. The code uses only additions, multiplications and
//! divisions in a fixed order, never a fused multiply-add. Therefore every instruction set gives
//! the same numbers, in double and in single precision.

#![expect(
    clippy::inline_always,
    reason = "these must be compiled for the instruction set of their callers"
)]

use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// Number of points that are processed side by side.
pub const LANES: usize = 32;

/// One number per point of a block.
pub type Lanes = [f64; LANES];

/// A row of zeros.
pub(crate) const ZERO: Lanes = [0.0; LANES];

/// Runs an inlined function compiled for the widest instruction set of this machine.
///
/// `vectorized! { pub(crate) fn name<const W: usize, T: Real>(arguments) { body } }`; both generic
/// parameters are optional.
macro_rules! vectorized {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<const $w:ident: usize $(, $t:ident: $b:ident)?>)?($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        $vis fn $name $(<const $w: usize $(, $t: $b)?>)?($($arg: $ty),*) {
            #[inline(always)]
            fn body $(<const $w: usize $(, $t: $b)?>)?($($arg: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
                fn avx512 $(<const $w: usize $(, $t: $b)?>)?($($arg: $ty),*) {
                    body($($arg),*);
                }
                #[target_feature(enable = "avx2")]
                fn avx2 $(<const $w: usize $(, $t: $b)?>)?($($arg: $ty),*) {
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
pub(crate) use vectorized;

/// The number type of a tile: double precision, or single precision for samples and rough passes.
pub(crate) trait Real:
    Copy
    + 'static
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Whether scores that fit in double precision may overflow.
    const IS_SINGLE: bool;
    /// Number of tiles summed in this precision before their sums are added in double precision.
    const TILES: usize;
    /// The nearest number of this precision.
    fn of(x: f64) -> Self;
    /// The number in double precision.
    fn wide(self) -> f64;
    /// Its absolute value.
    fn abs(self) -> Self;
    /// The larger of two numbers.
    fn max(self, other: Self) -> Self;
    /// Its square root.
    fn sqrt(self) -> Self;
    /// e^(−a) for a ≥ 0, to about one unit in the last place. Arguments above 708 (87 in single
    /// precision) count as that limit, where e^(−a) is close to the smallest normal number.
    fn exp_minus(self) -> Self;
    /// ln(1 + e) for 0 ≤ e ≤ 1, to about two units in the last place.
    fn log_one_plus(self) -> Self;
    /// ln(x) for x ≥ 1, to about two units in the last place.
    fn log_from_one(self) -> Self;
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const IS_SINGLE: bool = false;
    const TILES: usize = usize::MAX;

    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.abs()
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.max(other)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Self::sqrt(self)
    }

    #[inline(always)]
    fn exp_minus(self) -> Self {
        /// 1.5 · 2⁵²: adding it rounds to a whole number, which is then in the low bits.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        /// ln 2 in two parts; the first has trailing zeros, so that k times it is exact.
        const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
        const LN2_LOW: f64 = f64::from_bits(0x3DEA_39EF_3579_3C76);
        let x = -self.min(708.0);
        let shifted = x * std::f64::consts::LOG2_E + ROUND;
        let k = shifted - ROUND;
        let r = (x - k * LN2_HIGH) - k * LN2_LOW;
        // Taylor series; since |r| ≤ ln 2 / 2, the first omitted term is at most 2e-16. Summing in
        // pairs, and pairs of pairs, is nearly as precise as summing in order and has half the
        // latency.
        let (r2, a0, a1) = (r * r, 1.0 + r, 0.5 + r * (1.0 / 6.0));
        let a2 = 1.0 / 24.0 + r * (1.0 / 120.0);
        let a3 = 1.0 / 720.0 + r * (1.0 / 5_040.0);
        let a4 = 1.0 / 40_320.0 + r * (1.0 / 362_880.0);
        let a5 = 1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0);
        let r4 = r2 * r2;
        let low = (a0 + a1 * r2) + (a2 + a3 * r2) * r4;
        let high = (a4 + a5 * r2) + r4 * (1.0 / 479_001_600.0);
        let p = low + high * (r4 * r4);
        // 2^k from the bits of the exponent.
        let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
        p * power
    }

    #[inline(always)]
    fn log_one_plus(self) -> Self {
        // ln(1 + e) = 2 artanh(s) with s = e / (2 + e) ≤ 1/3; artanh(s)/s is a polynomial in s²,
        // fitted on [0, 1/9] with an error of 1e-18.
        let s = self / (2.0 + self);
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

    #[inline(always)]
    fn log_from_one(self) -> Self {
        // x = 2^k m with 1 ≤ m < 2. The biased exponent becomes a number as the low bits of 2⁵² + it.
        const SHIFT: f64 = 4_503_599_627_370_496.0;
        let bits = self.to_bits();
        let k = f64::from_bits((bits >> 52) | SHIFT.to_bits()) - (SHIFT + 1023.0);
        let m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
        k * std::f64::consts::LN_2 + (m - 1.0).log_one_plus()
    }
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const IS_SINGLE: bool = true;
    /// 1,024 rows: few enough that rounding stays far below the error of any sample.
    const TILES: usize = 16;

    #[inline(always)]
    fn of(x: f64) -> Self {
        x as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.abs()
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.max(other)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Self::sqrt(self)
    }

    #[inline(always)]
    fn exp_minus(self) -> Self {
        // As in double precision: 1.5 · 2²³, ln 2 in two parts, and fewer terms.
        const ROUND: f32 = 12_582_912.0;
        const LN2_HIGH: f32 = 0.693_359_4;
        const LN2_LOW: f32 = -2.121_944_4e-4;
        let x = -self.min(87.0);
        let shifted = x * std::f32::consts::LOG2_E + ROUND;
        let k = shifted - ROUND;
        let r = (x - k * LN2_HIGH) - k * LN2_LOW;
        let r2 = r * r;
        let low = (1.0 + r) + (0.5 + r * (1.0 / 6.0)) * r2;
        let high = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0);
        let p = low + high * (r2 * r2);
        let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
        p * power
    }

    #[inline(always)]
    fn log_one_plus(self) -> Self {
        let s = self / (2.0 + self);
        let t = s * s;
        let mut p = 1.0 / 13.0;
        p = p * t + 1.0 / 11.0;
        p = p * t + 1.0 / 9.0;
        p = p * t + 1.0 / 7.0;
        p = p * t + 1.0 / 5.0;
        p = p * t + 1.0 / 3.0;
        p = p * t + 1.0;
        2.0 * s * p
    }

    #[inline(always)]
    fn log_from_one(self) -> Self {
        // As in double precision.
        let bits = self.to_bits();
        let k = ((bits >> 23) as i32 - 127) as f32;
        let m = f32::from_bits((bits & ((1 << 23) - 1)) | (127 << 23));
        k * std::f32::consts::LN_2 + (m - 1.0).log_one_plus()
    }
}

/// ln(1 + e^(−m)), for any m.
#[inline(always)]
pub(crate) fn softplus_minus<T: Real>(m: T) -> T {
    m.abs().exp_minus().log_one_plus() + (-m).max(T::ZERO)
}

/// 1 / (1 + e^m), for any m.
#[inline(always)]
pub(crate) fn sigmoid_minus<T: Real>(m: T) -> T {
    let e = m.abs().exp_minus();
    let small = e / (T::ONE + e);
    if m >= T::ZERO { small } else { T::ONE - small }
}

/// tanh(x), for any x.
///
/// Close to 0, 1 − e^(−2|x|) would cancel, so a rational function takes its place. Both have a
/// numerator and a denominator, so that one division is enough.
#[inline(always)]
pub(crate) fn tanh<T: Real>(x: T) -> T {
    let size = x.abs();
    let e = (size + size).exp_minus();
    let (far, under_far) = (T::ONE - e, T::ONE + e);
    // The continued fraction of tanh, cut after seven terms: its error is at most x¹⁵ / 2.7e11,
    // below one unit in the last place for |x| ≤ 0.45.
    let t = size * size;
    let near = size * (T::of(135_135.0) + t * (T::of(17_325.0) + t * (T::of(378.0) + t)));
    let under_near =
        T::of(135_135.0) + t * (T::of(62_370.0) + t * (T::of(3_150.0) + t * T::of(28.0)));
    let is_near = size < T::of(0.45);
    let above = if is_near { near } else { far };
    let below = if is_near { under_near } else { under_far };
    let found = above / below;
    if x >= T::ZERO { found } else { -found }
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
            worst.0 = worst.0.max(off(a.exp_minus(), libm::exp(-a)));
            let e = f64::from(i) / 400_000.0;
            worst.1 = worst.1.max(off(e.log_one_plus(), libm::log1p(e)));
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
    fn single_precision_agrees_with_double() {
        let mut worst = (0.0_f64, 0.0_f64, 0.0_f64);
        for i in 0..200_000 {
            let a = f32::of(f64::from(i) * 0.000_43);
            worst.0 = worst.0.max(off(a.exp_minus().wide(), libm::exp(-a.wide())));
            let e = f32::of(f64::from(i) / 200_000.0);
            worst.1 = worst
                .1
                .max(off(e.log_one_plus().wide(), libm::log1p(e.wide())));
            let m = f32::of(f64::from(i - 100_000) * 0.000_6);
            let expected = 1.0 / (1.0 + libm::exp(m.wide()));
            worst.2 = worst.2.max(off(sigmoid_minus(m).wide(), expected));
        }
        // A few units in the last place (1.2e-7).
        assert!(
            worst.0 < 3e-7 && worst.1 < 4e-7 && worst.2 < 4e-7,
            "{worst:?}"
        );
        for m in [-1e30_f32, 1e30] {
            assert!(sigmoid_minus(m).is_finite() && softplus_minus(m).is_finite());
        }
        assert_eq!(0.0_f32.exp_minus(), 1.0);
    }

    #[test]
    fn tanh_agrees_with_libm() {
        let mut worst = (0.0_f64, 0.0_f64);
        for i in -200_000..200_000 {
            let x = f64::from(i) * 0.000_12;
            let expected = libm::tanh(x);
            worst.0 = worst.0.max(off(tanh(x), expected));
            let single = f32::of(x);
            let expected = libm::tanh(single.wide());
            worst.1 = worst.1.max(off(tanh(single).wide(), expected));
        }
        // A few units in the last place: 2.2e-16 and 1.2e-7.
        assert!(worst.0 < 8e-16 && worst.1 < 4e-7, "{worst:?}");
        for x in [1e-300, 1e-9, 1e-3, 30.0, 1e4, 1e200] {
            assert!(off(tanh(x), libm::tanh(x)) < 8e-16, "{x}");
            assert_eq!(tanh(-x), -tanh(x));
        }
        assert_eq!(tanh(0.0_f64), 0.0);
        assert_eq!((tanh(f64::INFINITY), tanh(-1e30_f32)), (1.0, -1.0));
    }

    #[test]
    fn extremes_are_finite() {
        assert_eq!(softplus_minus(-1e4), 1e4);
        assert!(softplus_minus(1e4) < 1e-300);
        assert_eq!(sigmoid_minus(-1e4), 1.0);
        assert!(sigmoid_minus(1e4) < 1e-300);
        assert!(softplus_minus(f64::NAN).is_nan() || softplus_minus(f64::NAN).is_finite());
        assert_eq!(0.0_f64.log_one_plus(), 0.0);
        assert_eq!(0.0_f64.exp_minus(), 1.0);
    }
}
