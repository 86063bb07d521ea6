//! Sums of floating-point numbers without rounding, so that the result depends only on the set of numbers.

/// Bits of a limb. Limbs are wider than this, so that many numbers can be added before carries are moved.
const BITS: u32 = 32;
/// Limbs for all finite numbers (2,098 bits) and for sums of up to 2^60 of them.
const LIMBS: usize = 68;
/// Numbers that can be added before carries have to be moved.
const MOST_PENDING: u32 = 1 << 29;
/// Bits of a mantissa, with the leading one.
const MANTISSA: u32 = 53;

/// An exact sum of finite numbers, rounded once when it is read.
///
/// ```
/// use fairfront_core::ExactSum;
/// let mut sum = ExactSum::default();
/// [1e100, 1.0, -1e100].into_iter().for_each(|x| sum.add(x));
/// assert_eq!(sum.value(), 1.0);
/// ```
#[derive(Debug, Clone)]
pub struct ExactSum {
    /// Multiples of 2^(32·i − 1074).
    limbs: [i64; LIMBS],
    /// Numbers added since carries were moved.
    pending: u32,
    /// The sum of the numbers that are not finite.
    special: f64,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self {
            limbs: [0; LIMBS],
            pending: 0,
            special: 0.0,
        }
    }
}

impl ExactSum {
    /// Adds a number.
    pub fn add(&mut self, number: f64) {
        let bits = number.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as usize;
        if exponent == 0x7ff {
            self.special += number;
            return;
        }
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, place) = match exponent {
            0 => (fraction, 0),
            _ => (fraction | 1 << 52, exponent - 1),
        };
        let (limb, offset) = (place / BITS as usize, place % BITS as usize);
        let wide = u128::from(mantissa) << offset;
        let sign = if bits >> 63 == 0 { 1 } else { -1 };
        for (i, limb) in self.limbs[limb..limb + 3].iter_mut().enumerate() {
            *limb += sign * i64::from((wide >> (BITS as usize * i)) as u32);
        }
        self.pending += 1;
        if self.pending >= MOST_PENDING {
            self.carry();
        }
    }

    /// Adds all numbers of another sum.
    pub fn merge(&mut self, other: &Self) {
        self.carry();
        let mut other = other.clone();
        other.carry();
        for (limb, more) in self.limbs.iter_mut().zip(other.limbs) {
            *limb += more;
        }
        self.carry();
        self.special += other.special;
    }

    /// The sum, rounded to the nearest number.
    pub fn value(&self) -> f64 {
        if self.special != 0.0 || self.special.is_nan() {
            return self.special;
        }
        let mut sum = self.clone();
        sum.carry();
        let is_negative = sum.limbs[LIMBS - 1] < 0;
        if is_negative {
            sum.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            sum.carry();
        }
        let magnitude = sum.magnitude();
        if is_negative { -magnitude } else { magnitude }
    }

    /// Moves carries, so that every limb except the last is within its bits and not negative.
    fn carry(&mut self) {
        let mut carry = 0;
        for limb in &mut self.limbs[..LIMBS - 1] {
            let total = *limb + carry;
            carry = total >> BITS;
            *limb = total & ((1 << BITS) - 1);
        }
        self.limbs[LIMBS - 1] += carry;
        self.pending = 0;
    }

    /// The value of limbs that are all within their bits.
    fn magnitude(&self) -> f64 {
        let Some(top) = self.limbs.iter().rposition(|limb| *limb != 0) else {
            return 0.0;
        };
        let highest = top as u32 * BITS + (63 - self.limbs[top].leading_zeros());
        if highest < MANTISSA {
            return f64::from_bits(self.bits(0));
        }
        let shift = highest - (MANTISSA - 1);
        let mantissa = self.bits(shift) & ((1 << MANTISSA) - 1);
        let half = self.bits(shift - 1) & 1 == 1;
        let is_above_half = || (0..shift - 1).any(|bit| self.bits(bit) & 1 == 1);
        let up = half && (mantissa & 1 == 1 || is_above_half());
        // The leading one of the mantissa adds one to the exponent.
        let bits = (u64::from(shift) << 52) + mantissa + u64::from(up);
        match bits >> 52 >= 0x7ff {
            true => f64::INFINITY,
            false => f64::from_bits(bits),
        }
    }

    /// 64 bits from this bit on.
    fn bits(&self, from: u32) -> u64 {
        let (limb, offset) = ((from / BITS) as usize, from % BITS);
        let limb_at = |i: usize| {
            self.limbs
                .get(limb + i)
                .map_or(0, |l| u128::from(*l as u64))
        };
        let wide = limb_at(0) | limb_at(1) << BITS | limb_at(2) << (2 * BITS);
        (wide >> offset) as u64
    }
}

impl Extend<f64> for ExactSum {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, numbers: T) {
        numbers.into_iter().for_each(|number| self.add(number));
    }
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<T: IntoIterator<Item = f64>>(numbers: T) -> Self {
        let mut sum = Self::default();
        sum.extend(numbers);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn finite() -> impl Strategy<Value = f64> {
        any::<u64>().prop_map(|bits| match f64::from_bits(bits) {
            number if number.is_finite() => number,
            _ => f64::from_bits(bits & !(1 << 62)),
        })
    }

    proptest! {
        #[test]
        fn order_does_not_matter(numbers in prop::collection::vec(finite(), 0..60), cut in 0_usize..60) {
            let sum: ExactSum = numbers.iter().copied().collect();
            let backward: ExactSum = numbers.iter().rev().copied().collect();
            prop_assert_eq!(sum.value().to_bits(), backward.value().to_bits());
            let (first, second) = numbers.split_at(cut.min(numbers.len()));
            let mut merged: ExactSum = second.iter().copied().collect();
            merged.merge(&first.iter().copied().collect());
            prop_assert_eq!(sum.value().to_bits(), merged.value().to_bits());
        }

        #[test]
        fn whole_numbers_are_added_as_integers(numbers in prop::collection::vec(any::<i64>(), 0..60), scale in -300_i32..300) {
            // Numbers with few enough bits to be exact.
            let exact: Vec<i64> = numbers.iter().map(|n| n >> 12).collect();
            let sum: i128 = exact.iter().map(|n| i128::from(*n)).sum();
            let unit = 2_f64.powi(scale);
            let found: ExactSum = exact.iter().map(|n| *n as f64 * unit).collect();
            prop_assert_eq!(found.value(), sum as f64 * unit);
        }

        #[test]
        fn one_number_is_unchanged(number in finite()) {
            let sum: ExactSum = [number].into_iter().collect();
            prop_assert_eq!(sum.value(), number);
            let zero: ExactSum = [number, -number].into_iter().collect();
            prop_assert_eq!(zero.value().to_bits(), 0);
        }

        #[test]
        fn two_numbers_are_rounded_as_by_the_processor(a in finite(), b in finite()) {
            let sum: ExactSum = [a, b].into_iter().collect();
            prop_assert_eq!(sum.value(), a + b);
        }
    }

    #[test]
    fn extremes_are_exact() {
        let value = |numbers: &[f64]| numbers.iter().copied().collect::<ExactSum>().value();
        assert_eq!(value(&[]), 0.0);
        assert_eq!(value(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(value(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(value(&[5e-324, 5e-324]), 1e-323);
        assert_eq!(value(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(value(&[f64::NAN, 1.0]).is_nan());
        // Half a unit in the last place is rounded to even, unless there is more.
        assert_eq!(value(&[1.0, f64::EPSILON / 2.0]), 1.0);
        assert_eq!(
            value(&[1.0, f64::EPSILON / 2.0, 1e-300]),
            1.0 + f64::EPSILON
        );
    }
}
