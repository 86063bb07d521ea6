//! The form of values in a numeric column: numbers with a decimal point or comma, or dates.

use serde::{Deserialize, Serialize};

use crate::date::{DateOrder, parse_date};

/// The character between the whole part of a number and its fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Decimal {
    /// `1.5`
    #[default]
    #[serde(rename = ".")]
    Point,
    /// `1,5`; points separate thousands, as in `1.234,5`.
    #[serde(rename = ",")]
    Comma,
}

impl Decimal {
    /// The form of the numbers of a file, from the settings and the values found in it. If all numbers
    /// found have a point, the file has no decimal commas.
    pub(crate) fn settled(asked: Option<Self>, found: Option<Self>) -> Self {
        match (asked, found) {
            (Some(Self::Point), _) | (_, Some(Self::Point)) | (None, None) => Self::Point,
            (Some(Self::Comma), _) | (_, Some(Self::Comma)) => Self::Comma,
        }
    }

    /// Whether numbers are written with a point, which is the default.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "required by serde")]
    pub(crate) fn is_point(&self) -> bool {
        *self == Self::Point
    }
}

/// How a string becomes a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Number(Decimal),
    /// A number with a comma has a decimal comma; any other number is read with a decimal point. For files
    /// with commas as separators, in which numbers with a decimal comma are in quotes.
    EitherNumber,
    Date(DateOrder),
}

impl Default for Form {
    fn default() -> Self {
        Self::Number(Decimal::Point)
    }
}

impl Form {
    /// The form of numbers in a file with this separator.
    pub(crate) fn of(decimal: Decimal, separator: u8) -> Self {
        match (decimal, separator) {
            (Decimal::Comma, b',') => Self::EitherNumber,
            _ => Self::Number(decimal),
        }
    }

    pub(crate) fn parse(self, text: &[u8]) -> Option<f64> {
        match self {
            Self::Number(Decimal::Point) => parse_number(text),
            Self::Number(Decimal::Comma) => parse_comma(text),
            Self::EitherNumber => match text.contains(&b',') {
                true => parse_comma(text),
                false => parse_number(text),
            },
            Self::Date(order) => parse_date(text, order),
        }
    }

    pub(crate) fn date(self) -> Option<DateOrder> {
        match self {
            Self::Date(order) => Some(order),
            _ => None,
        }
    }
}

/// Parses a finite number. Whole numbers of up to 15 digits, the most frequent case, are exact in f64 and
/// do not need the general parser.
pub(crate) fn parse_number(bytes: &[u8]) -> Option<f64> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) {
        let whole = digits
            .iter()
            .fold(0_i64, |n, d| n * 10 + i64::from(d - b'0'));
        let negative = digits.len() < bytes.len();
        return Some(if negative {
            -(whole as f64)
        } else {
            whole as f64
        });
    }
    let number: f64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// `00501` is a code, not a number; `0`, `0.5` and `-0.5` are numbers.
pub(crate) fn has_leading_zero(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 1 && bytes[0] == b'0' && bytes[1].is_ascii_digit()
}

/// Parses a finite number with a decimal comma: `1,5`, `1.234,5`, `1.234.567`. A point separates thousands,
/// so three digits must follow it, and it must not follow a leading zero.
pub(crate) fn parse_comma(text: &[u8]) -> Option<f64> {
    if !text.contains(&b',') && !text.contains(&b'.') {
        return parse_number(text);
    }
    let mut parts = text.splitn(2, |b| *b == b',');
    let whole = parts.next()?;
    let fraction = parts.next();
    let digits = whole
        .strip_prefix(b"-")
        .or(whole.strip_prefix(b"+"))
        .unwrap_or(whole);
    let mut plain = Vec::with_capacity(text.len());
    plain.extend_from_slice(&whole[..whole.len() - digits.len()]);
    let groups: Vec<&[u8]> = digits.split(|b| *b == b'.').collect();
    let all_digits = |group: &[u8]| !group.is_empty() && group.iter().all(u8::is_ascii_digit);
    if !groups.iter().all(|group| all_digits(group)) {
        return None;
    }
    if groups.len() > 1 {
        let thousands = groups[1..].iter().all(|group| group.len() == 3);
        if !thousands || groups[0].len() > 3 || groups[0][0] == b'0' {
            return None;
        }
    }
    plain.extend(groups.concat());
    if let Some(fraction) = fraction {
        // An exponent may follow the digits.
        let end = fraction.iter().position(|b| matches!(b, b'e' | b'E'));
        if !all_digits(&fraction[..end.unwrap_or(fraction.len())]) {
            return None;
        }
        plain.push(b'.');
        plain.extend_from_slice(fraction);
    }
    parse_number(&plain)
}

/// Whether a string is a number that contains a decimal comma.
pub(crate) fn has_comma(text: &[u8]) -> bool {
    text.contains(&b',') && parse_comma(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_commas_are_read() {
        let of = |text: &str| parse_comma(text.as_bytes());
        assert_eq!(of("1,5"), Some(1.5));
        assert_eq!(of("-0,25"), Some(-0.25));
        assert_eq!(of("1.234,5"), Some(1234.5));
        assert_eq!(of("1.234.567"), Some(1_234_567.0));
        assert_eq!(of("12"), Some(12.0));
        assert_eq!(of("1,5e3"), Some(1500.0));
        for text in [
            "1.5",
            "0.125",
            "12.34,5",
            "1,2,3",
            ",5",
            "1,",
            "1.23.456",
            "a,5",
            "1234.567,8",
            "1,-5",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(Form::EitherNumber.parse(b"1.5"), Some(1.5));
        assert_eq!(Form::EitherNumber.parse(b"1,5"), Some(1.5));
    }

    #[test]
    fn numbers_match_the_standard_library() {
        for text in [
            "0",
            "-0",
            "007",
            "999999999999999",
            "1234567890123456",
            ".5",
            "5.",
            "1E-7",
            "+3",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(
                parse_number(text.as_bytes()).map(f64::to_bits),
                Some(expected.to_bits()),
                "{text}"
            );
        }
        for text in ["", "-", "x", "inf", "nan", "1e999", "1 2", "--1"] {
            assert_eq!(parse_number(text.as_bytes()), None, "{text}");
        }
    }
}
