//! Facts about the numbers of a feature, which decide how they are stored.

use rustc_hash::FxHashSet;

use super::segment::is_single;
use crate::error::Error;
use crate::rule::too_large;
use crate::table::Table;

/// The maximum number of distinct numbers that are stored as positions in a list.
pub(crate) const MOST_LISTED: usize = 1 << 16;
/// Slots for recent numbers.
const RECENT: usize = 1 << 10;

/// The numbers of a feature column in the rows in use.
#[derive(Debug, Default)]
pub(crate) struct NumberFacts {
    /// The first value that is too large for a feature.
    pub(crate) wrong: Option<Error>,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The bits of distinct values; `None` if they are many.
    pub(crate) listed: Option<FxHashSet<u64>>,
    /// Whether all values are the same in single precision.
    pub(crate) is_single: bool,
}

impl NumberFacts {
    pub(crate) fn new() -> Self {
        Self {
            wrong: None,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            listed: Some(FxHashSet::default()),
            is_single: true,
        }
    }

    pub(crate) fn of(table: &Table, name: &str, rows: &[u32], is_listed: bool) -> Self {
        let mut facts = Self::new();
        let Some(numbers) = table.column(name).and_then(|column| column.numeric()) else {
            return facts;
        };
        if !is_listed {
            facts.listed = None;
        }
        // Most columns repeat few numbers, which are not looked up again. No number has all bits set, because
        // missing values have only one form.
        let mut recent = [u64::MAX; RECENT];
        for &row in rows {
            let number = numbers.get(row as usize);
            if let Some(listed) = &mut facts.listed {
                let number = if number.is_nan() { f64::NAN } else { number };
                let bits = number.to_bits();
                let slot = (bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize;
                if recent[slot] != bits {
                    recent[slot] = bits;
                    listed.insert(bits);
                }
            }
            if number.is_nan() {
                continue;
            }
            facts.is_single &= is_single(number);
            facts.low = facts.low.min(number);
            facts.high = facts.high.max(number);
            if facts.wrong.is_none()
                && let Some(problem) = too_large(number, None)
            {
                facts.wrong = Some(Error::Cell {
                    place: table.place(row as usize),
                    column: name.into(),
                    problem: problem.into(),
                });
            }
        }
        facts
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.wrong = self.wrong.take().or(other.wrong);
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.is_single &= other.is_single;
        self.listed = match (self.listed.take(), other.listed) {
            (Some(mut all), Some(more)) => {
                all.extend(more);
                (all.len() <= MOST_LISTED).then_some(all)
            }
            _ => None,
        };
    }
}
