//! Targets whose positive values are numbers on one side of a bound: `>= 5000`, `> median`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::read::parse_number;

/// The side of its bound on which a number is positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sign {
    /// `<`
    #[serde(rename = "<")]
    Below,
    /// `<=`
    #[serde(rename = "<=")]
    AtMost,
    /// `>`
    #[serde(rename = ">")]
    Above,
    /// `>=`
    #[serde(rename = ">=")]
    AtLeast,
}

/// Numbers on one side of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The side of the bound.
    pub sign: Sign,
    /// The bound, a finite number.
    pub bound: f64,
}

impl Comparison {
    /// Whether a number is on the positive side.
    pub fn holds(self, number: f64) -> bool {
        match self.sign {
            Sign::Below => number < self.bound,
            Sign::AtMost => number <= self.bound,
            Sign::Above => number > self.bound,
            Sign::AtLeast => number >= self.bound,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.sign {
            Sign::Below => "<",
            Sign::AtMost => "<=",
            Sign::Above => ">",
            Sign::AtLeast => ">=",
        };
        write!(f, "{sign} {}", self.bound)
    }
}

/// A comparison as written by the user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Written {
    sign: Sign,
    /// `None` for the median.
    bound: Option<f64>,
}

impl Written {
    /// Reads `>= 5000` or `> median`; `None` if the text is not a comparison.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let signs = [
            ("<=", Sign::AtMost),
            (">=", Sign::AtLeast),
            ("<", Sign::Below),
            (">", Sign::Above),
        ];
        let text = text.trim();
        let (rest, sign) = signs
            .iter()
            .find_map(|(start, sign)| Some((text.strip_prefix(start)?.trim(), *sign)))?;
        let bound = match rest.eq_ignore_ascii_case("median") {
            true => None,
            false => Some(parse_number(rest.as_bytes())?),
        };
        Some(Self { sign, bound })
    }

    /// The comparison for these numbers with their row counts; there must be at least one.
    pub(crate) fn settle(self, mut numbers: Vec<(f64, usize)>) -> Comparison {
        let bound = self.bound.unwrap_or_else(|| {
            numbers.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let n: usize = numbers.iter().map(|(_, count)| count).sum();
            let at = |row: usize| {
                let mut before = 0;
                let mut ends = numbers.iter().map(|(number, count)| {
                    before += count;
                    (*number, before)
                });
                let found = ends.find(|(_, end)| *end > row);
                found.map_or(f64::NAN, |(number, _)| number)
            };
            match n % 2 {
                1 => at(n / 2),
                // Halve each number first, so that the sum cannot overflow.
                _ => at(n / 2 - 1) / 2.0 + at(n / 2) / 2.0,
            }
        });
        Comparison {
            sign: self.sign,
            bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_read() {
        let settled = |text: &str, numbers: &[f64]| {
            let numbers = numbers.iter().map(|number| (*number, 1)).collect();
            Written::read(text).map(|written| written.settle(numbers).to_string())
        };
        assert_eq!(settled(">= 5000", &[1.0]).as_deref(), Some(">= 5000"));
        assert_eq!(settled("<0.5", &[1.0]).as_deref(), Some("< 0.5"));
        assert_eq!(
            settled("> median", &[4.0, 1.0, 2.0]).as_deref(),
            Some("> 2")
        );
        assert_eq!(settled("<=median", &[4.0, 1.0]).as_deref(), Some("<= 2.5"));
        for text in [">50K", "yes", "5000", ">", ">= ", "> nan", "=> 5"] {
            assert_eq!(Written::read(text), None, "{text}");
        }
    }
}
