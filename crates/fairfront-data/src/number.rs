//! The numbers of a column, either its own or in the memory of another program.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use fairfront_core::BLOCK_ROWS;

use crate::error::Error;
use crate::table::{Column, Values, check_length};

/// Numbers stored elsewhere, for example in an array of another program; NaN if missing.
///
/// Implementors must keep the numbers unchanged for as long as the source lives. They are read many times,
/// and never copied as a whole.
pub trait NumberSource: Send + Sync + Debug {
    /// Number of values.
    fn len(&self) -> usize;

    /// Whether it is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a row.
    fn get(&self, row: usize) -> f64;

    /// Copies the numbers of these rows to `out`, which has one place per row. One call reads many rows.
    fn gather(&self, rows: &[u32], out: &mut [f64]) {
        for (out, row) in out.iter_mut().zip(rows) {
            *out = self.get(*row as usize);
        }
    }
}

/// The numbers of a column, either its own or in the memory of another program.
#[derive(Debug, Clone)]
pub enum Numbers {
    /// Held by the column.
    Own(Vec<f64>),
    /// Held elsewhere.
    Shared(Arc<dyn NumberSource>),
}

impl Numbers {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Own(values) => values.len(),
            Self::Shared(source) => source.len(),
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a row.
    ///
    /// # Panics
    /// If the row does not exist.
    pub fn get(&self, row: usize) -> f64 {
        match self {
            Self::Own(values) => values[row],
            Self::Shared(source) => source.get(row),
        }
    }

    /// Copies the numbers of these rows to `out`, which has one place per row.
    ///
    /// # Panics
    /// If a row does not exist.
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

    /// All numbers, row by row.
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
    /// Compares values, wherever they are stored. NaN differs from itself, as usual.
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
    /// Creates a numeric column whose numbers stay where they are, in one pass. NaN means missing, and
    /// infinite numbers are an error.
    pub fn from_shared(name: &str, numbers: Arc<dyn NumberSource>) -> Result<Self, Error> {
        check_length(name, numbers.len())?;
        let mut n_missing = 0;
        try_stretches(&*numbers, |first, values| {
            if let Some(at) = values.iter().position(|v| v.is_infinite()) {
                return Err(Error::in_row(
                    name,
                    first + at,
                    "the value is infinite; fix it, or mark it as missing",
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
