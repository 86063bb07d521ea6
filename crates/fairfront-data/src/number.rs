//! The numbers of a column, its own or those of another program's memory.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use fairfront_core::BLOCK_ROWS;

use crate::error::Error;
use crate::table::{Column, Values, check_length};

/// Numbers that lie elsewhere, in an array of another program say; NaN where missing.
///
/// Whoever offers them sees to it that they stay as they are for as long as the source lives. They are
/// read many times and never copied whole.
pub trait NumberSource: Send + Sync + Debug {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a row.
    fn get(&self, row: usize) -> f64;

    /// The numbers of these rows, as many as `out` has places: one call for many rows.
    fn gather(&self, rows: &[u32], out: &mut [f64]) {
        for (out, row) in out.iter_mut().zip(rows) {
            *out = self.get(*row as usize);
        }
    }
}

/// The numbers of a column: its own, or those of another program's memory.
#[derive(Debug, Clone)]
pub enum Numbers {
    /// Held here.
    Own(Vec<f64>),
    /// Held elsewhere.
    Shared(Arc<dyn NumberSource>),
}

impl Numbers {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Own(values) => values.len(),
            Self::Shared(source) => source.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> f64 {
        match self {
            Self::Own(values) => values[row],
            Self::Shared(source) => source.get(row),
        }
    }

    /// The numbers of these rows, as many as `out` has places.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn gather(&self, rows: &[u32], out: &mut [f64]) {
        match self {
            Self::Own(values) => {
                for (out, row) in out.iter_mut().zip(rows) {
                    *out = values[*row as usize];
                }
            }
            Self::Shared(source) => source.gather(rows, out),
        }
    }

    /// All of them, row by row.
    pub fn iter(&self) -> NumberIter<'_> {
        NumberIter {
            numbers: self,
            rows: 0..self.len(),
        }
    }
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl From<Vec<f64>> for Numbers {
    fn from(values: Vec<f64>) -> Self {
        Self::Own(values)
    }
}

impl PartialEq for Numbers {
    /// By values, wherever they lie; as numbers always do, NaN differs from itself.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a> IntoIterator for &'a Numbers {
    type Item = f64;
    type IntoIter = NumberIter<'a>;

    fn into_iter(self) -> NumberIter<'a> {
        self.iter()
    }
}

/// The numbers of a column, row by row.
#[derive(Debug, Clone)]
pub struct NumberIter<'a> {
    numbers: &'a Numbers,
    rows: Range<usize>,
}

impl Iterator for NumberIter<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.rows.next().map(|row| self.numbers.get(row))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl ExactSizeIterator for NumberIter<'_> {}

impl Column {
    /// A numeric column whose numbers stay where they are; NaN is missing, and infinite numbers are
    /// refused. One pass over them.
    pub fn from_shared(name: &str, numbers: Arc<dyn NumberSource>) -> Result<Self, Error> {
        check_length(name, numbers.len())?;
        let mut n_missing = 0;
        try_stretches(&*numbers, |first, values| {
            if let Some(at) = values.iter().position(|v| v.is_infinite()) {
                return Err(Error::in_row(
                    name,
                    first + at,
                    "the value is infinite; fix it, or make it missing",
                ));
            }
            n_missing += values.iter().filter(|v| v.is_nan()).count();
            Ok(())
        })?;
        Ok(Self {
            name: name.into(),
            n_missing,
            values: Values::Numeric(Numbers::Shared(numbers)),
            date: None,
        })
    }
}

/// Calls `see` with the first row and the numbers of each stretch of a source, in order.
pub(crate) fn try_stretches<E>(
    source: &dyn NumberSource,
    mut see: impl FnMut(usize, &[f64]) -> Result<(), E>,
) -> Result<(), E> {
    let n = source.len();
    let mut buffer = [0.0; BLOCK_ROWS];
    let mut first = 0;
    while first < n {
        let last = n.min(first + BLOCK_ROWS);
        let rows: Vec<u32> = (first as u32..last as u32).collect();
        let values = &mut buffer[..rows.len()];
        source.gather(&rows, values);
        see(first, values)?;
        first = last;
    }
    Ok(())
}
