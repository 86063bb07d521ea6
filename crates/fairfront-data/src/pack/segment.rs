//! The values of a column in a chunk of rows, stored in as few bytes as keep every value exactly.

use crate::table::MISSING;

/// Values in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) offset: u64,
    pub(crate) n_rows: u32,
    pub(crate) n_missing: u32,
    pub(crate) width: Width,
}

/// How a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// Codes plus one; 0 is missing.
    Code8,
    Code16,
    Code32,
    /// Whole numbers; the smallest one of the type is missing.
    Int8,
    Int16,
    Int32,
    Float32,
    Float64,
}

impl Width {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Code8 | Self::Int8 => 1,
            Self::Code16 | Self::Int16 => 2,
            Self::Code32 | Self::Int32 | Self::Float32 => 4,
            Self::Float64 => 8,
        }
    }
}

/// Whether a number is the same in single precision.
pub(crate) fn is_single(number: f64) -> bool {
    number.is_nan() || f64::from(number as f32).to_bits() == number.to_bits()
}

/// Encodes codes into `out`, which is cleared first.
pub(crate) fn encode_codes(codes: &[u32], out: &mut Vec<u8>) -> Width {
    out.clear();
    let stored = |code: &u32| code.wrapping_add(1);
    debug_assert_eq!(MISSING.wrapping_add(1), 0);
    let largest = codes.iter().map(stored).max().unwrap_or(0);
    if u8::try_from(largest).is_ok() {
        out.extend(codes.iter().map(|code| stored(code) as u8));
        Width::Code8
    } else if u16::try_from(largest).is_ok() {
        out.extend(codes.iter().flat_map(|c| (stored(c) as u16).to_le_bytes()));
        Width::Code16
    } else {
        out.extend(codes.iter().flat_map(|c| stored(c).to_le_bytes()));
        Width::Code32
    }
}

pub(crate) fn decode_codes(bytes: &[u8], width: Width) -> Vec<u32> {
    let code = |stored: u32| stored.wrapping_sub(1);
    match width {
        Width::Code8 => bytes.iter().map(|b| code(u32::from(*b))).collect(),
        Width::Code16 => {
            let words = bytes.as_chunks::<2>().0.iter();
            words
                .map(|b| code(u32::from(u16::from_le_bytes(*b))))
                .collect()
        }
        _ => {
            let words = bytes.as_chunks::<4>().0.iter();
            words.map(|b| code(u32::from_le_bytes(*b))).collect()
        }
    }
}

/// Encodes numbers into `out`, which is cleared first.
pub(crate) fn encode_numbers(numbers: &[f64], out: &mut Vec<u8>) -> Width {
    out.clear();
    let mut is_whole = true;
    let mut is_single_precision = true;
    let (mut low, mut high) = (0, 0);
    for &number in numbers.iter().filter(|number| !number.is_nan()) {
        let whole = number as i32;
        is_whole &= f64::from(whole).to_bits() == number.to_bits();
        low = low.min(whole);
        high = high.max(whole);
        is_single_precision &= is_single(number);
        if !is_whole && !is_single_precision {
            break;
        }
    }
    // The smallest number of each type is missing.
    let fits = |least: i32, most: i32| is_whole && low > least && high <= most;
    let or_missing = |number: f64, missing: i32| match number.is_nan() {
        true => missing,
        false => number as i32,
    };
    if fits(i32::from(i8::MIN), i32::from(i8::MAX)) {
        let least = i32::from(i8::MIN);
        out.extend(numbers.iter().map(|v| or_missing(*v, least) as i8 as u8));
        Width::Int8
    } else if fits(i32::from(i16::MIN), i32::from(i16::MAX)) {
        let least = i32::from(i16::MIN);
        let bytes = |v: &f64| (or_missing(*v, least) as i16).to_le_bytes();
        out.extend(numbers.iter().flat_map(bytes));
        Width::Int16
    } else if fits(i32::MIN, i32::MAX) {
        let bytes = |v: &f64| or_missing(*v, i32::MIN).to_le_bytes();
        out.extend(numbers.iter().flat_map(bytes));
        Width::Int32
    } else if is_single_precision {
        out.extend(numbers.iter().flat_map(|v| (*v as f32).to_le_bytes()));
        Width::Float32
    } else {
        out.extend(numbers.iter().flat_map(|v| v.to_le_bytes()));
        Width::Float64
    }
}

pub(crate) fn decode_numbers(bytes: &[u8], width: Width) -> Vec<f64> {
    let whole = |stored: i32, missing: i32| match stored == missing {
        true => f64::NAN,
        false => f64::from(stored),
    };
    match width {
        Width::Int8 => {
            let least = i32::from(i8::MIN);
            let numbers = bytes.iter();
            numbers.map(|b| whole(i32::from(*b as i8), least)).collect()
        }
        Width::Int16 => {
            let least = i32::from(i16::MIN);
            let words = bytes.as_chunks::<2>().0.iter();
            words
                .map(|b| whole(i32::from(i16::from_le_bytes(*b)), least))
                .collect()
        }
        Width::Int32 => {
            let words = bytes.as_chunks::<4>().0.iter();
            words
                .map(|b| whole(i32::from_le_bytes(*b), i32::MIN))
                .collect()
        }
        Width::Float32 => {
            let words = bytes.as_chunks::<4>().0.iter();
            words.map(|b| f64::from(f32::from_le_bytes(*b))).collect()
        }
        _ => {
            let words = bytes.as_chunks::<8>().0.iter();
            words.map(|b| f64::from_le_bytes(*b)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_restored(kind in 0_u32..6, bits in prop::collection::vec(any::<u64>(), 0..50)) {
            let number = |bits: &u64| match kind {
                0 => f64::from(*bits as i8),
                1 => f64::from(*bits as i16),
                2 => f64::from(*bits as i32),
                3 => f64::from(f32::from_bits(*bits as u32)),
                4 => -0.0,
                _ => f64::from_bits(*bits),
            };
            let mut numbers: Vec<f64> = bits.iter().map(number).collect();
            numbers.push(f64::NAN);
            let mut bytes = Vec::new();
            let width = encode_numbers(&numbers, &mut bytes);
            prop_assert_eq!(bytes.len(), numbers.len() * width.bytes());
            let found = decode_numbers(&bytes, width);
            prop_assert_eq!(found.len(), numbers.len());
            for (a, b) in numbers.iter().zip(found) {
                prop_assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()));
            }
        }

        #[test]
        fn codes_are_restored(most in 1_u32..100_000, codes in prop::collection::vec(any::<u32>(), 0..50)) {
            let mut codes: Vec<u32> = codes.iter().map(|c| c % most).collect();
            codes.push(MISSING);
            let mut bytes = Vec::new();
            let width = encode_codes(&codes, &mut bytes);
            prop_assert_eq!(decode_codes(&bytes, width), codes);
        }
    }
}
