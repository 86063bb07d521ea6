//! A table in a temporary file, in chunks of rows that fit into memory.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::Limits;
use super::file::{AppendFile, PlacedFile};
use super::segment::{Segment, decode_codes, decode_numbers, encode_codes, encode_numbers};
use crate::date_part;
use crate::error::Error;
use crate::identifier::Watch;
use crate::table::{Column, Interner, MISSING, Table, Values, is_boolean};

/// Rows of a chunk, unless there are many columns.
pub(crate) const CHUNK_ROWS: usize = 1 << 16;
/// Values of a chunk.
const CHUNK_VALUES: usize = 1 << 22;
/// Rows of a chunk, however many columns there are.
const LEAST_ROWS: usize = 1 << 10;

/// The temporary file of a table, and the size of its chunks.
#[derive(Debug, Clone)]
pub(crate) struct SpoolFile {
    file: Arc<AppendFile>,
    chunk_rows: usize,
}

impl SpoolFile {
    pub(crate) fn new(folder: &Path, limits: &Limits) -> Result<Self, Error> {
        let file = PlacedFile::temporary(folder)?.limited(limits.most_bytes);
        Ok(Self {
            file: Arc::new(AppendFile::new(file)),
            chunk_rows: limits.chunk_rows,
        })
    }

    /// The same file with chunks of fewer rows if there are many columns. No value may be stored before.
    #[must_use]
    pub(crate) fn for_columns(self, n_columns: usize) -> Self {
        let most = (CHUNK_VALUES / n_columns.max(1)).max(LEAST_ROWS);
        Self {
            chunk_rows: self.chunk_rows.min(most),
            ..self
        }
    }

    pub(crate) fn error(&self, source: io::Error) -> Error {
        self.file.file().error(source)
    }
}

/// The values of one column in a temporary file, as far as they are complete chunks.
#[derive(Debug)]
pub(crate) struct ColumnSpool {
    file: SpoolFile,
    segments: Vec<Segment>,
    n_missing: usize,
    /// Numbers that stand for missing values.
    missing: Vec<f64>,
    /// Numbers stored so far, and the first row from which on they are 0, 1, 2, …
    n_numbers: usize,
    counts_from: usize,
    watch: Option<Watch>,
    bytes: Vec<u8>,
    /// The first error; later values are not stored.
    failed: Option<io::Error>,
}

impl ColumnSpool {
    /// A column whose numbers are missing if they are listed; `is_watched` if it may be an identifier.
    pub(crate) fn new(file: &SpoolFile, missing: &[f64], is_watched: bool) -> Self {
        Self {
            file: file.clone(),
            segments: Vec::new(),
            n_missing: 0,
            missing: missing.to_vec(),
            n_numbers: 0,
            counts_from: 0,
            watch: is_watched.then(Watch::default),
            bytes: Vec::new(),
            failed: None,
        }
    }

    pub(crate) fn chunk_rows(&self) -> usize {
        self.file.chunk_rows
    }

    pub(crate) fn n_missing(&self) -> usize {
        self.n_missing
    }

    /// The facts that decide whether the column is an identifier.
    pub(crate) fn take_watch(&mut self) -> Option<Watch> {
        self.watch.take()
    }

    /// The error that prevented a value from being stored, once.
    pub(crate) fn take_error(&mut self) -> Option<Error> {
        self.failed.take().map(|source| self.file.error(source))
    }

    /// Moves complete chunks of numbers to the file; `all` also moves the rest. Numbers that stand for
    /// missing values do not apply to dates.
    pub(crate) fn take_numbers(&mut self, numbers: &mut Vec<f64>, is_date: bool, all: bool) {
        let mut taken = 0;
        while let Some(n) = self.next_chunk(numbers.len() - taken, all) {
            let chunk = &mut numbers[taken..taken + n];
            self.counts_from = run_start(self.counts_from, self.n_numbers, chunk);
            self.n_numbers += n;
            let mut n_missing = 0;
            for number in &mut *chunk {
                if !is_date && self.missing.contains(number) {
                    *number = f64::NAN;
                }
                n_missing += usize::from(number.is_nan());
                if let Some(watch) = &mut self.watch {
                    watch.push(*number);
                }
            }
            let width = encode_numbers(chunk, &mut self.bytes);
            self.push(n, n_missing, width);
            taken += n;
        }
        numbers.drain(..taken);
    }

    /// Moves complete chunks of codes to the file; `all` also moves the rest.
    pub(crate) fn take_codes(&mut self, codes: &mut Vec<u32>, all: bool) {
        let mut taken = 0;
        while let Some(n) = self.next_chunk(codes.len() - taken, all) {
            let chunk = &codes[taken..taken + n];
            let n_missing = chunk.iter().filter(|code| **code == MISSING).count();
            let width = encode_codes(chunk, &mut self.bytes);
            self.push(n, n_missing, width);
            taken += n;
        }
        codes.drain(..taken);
    }

    fn next_chunk(&self, left: usize, all: bool) -> Option<usize> {
        match left {
            0 => None,
            left if left >= self.file.chunk_rows => Some(self.file.chunk_rows),
            left => all.then_some(left),
        }
    }

    fn push(&mut self, n_rows: usize, n_missing: usize, width: super::segment::Width) {
        self.n_missing += n_missing;
        if self.failed.is_some() {
            return;
        }
        match self.file.file.append(&self.bytes) {
            Ok(offset) => self.segments.push(Segment {
                offset,
                n_rows: n_rows as u32,
                n_missing: n_missing as u32,
                width,
            }),
            Err(error) => self.failed = Some(error),
        }
    }

    /// Whether the numbers from row `first` on are 0, 1, 2, …, where `rest` are not stored yet.
    pub(crate) fn counts_up_from(&self, first: usize, rest: &[f64]) -> bool {
        run_start(self.counts_from, self.n_numbers, rest) == first
    }
}

/// The row from which on numbers are 0, 1, 2, … up to the end of `numbers`, which start at row `first`.
fn run_start(mut start: usize, first: usize, numbers: &[f64]) -> usize {
    for (row, &number) in (first..).zip(numbers) {
        if row < start || number != (row - start) as f64 {
            start = if number == 0.0 { row } else { row + 1 };
        }
    }
    start
}

/// A table in a temporary file.
#[derive(Debug)]
pub(crate) struct Spool {
    /// The table without its values: names, types, categories, missing values and messages.
    pub(crate) head: Table,
    file: SpoolFile,
    /// The values of each column that is read.
    columns: Vec<Option<Vec<Segment>>>,
    /// Columns of dates whose parts are added to every chunk.
    dates: Vec<String>,
}

impl Spool {
    /// `head` has the number of rows of the table, and columns without values.
    pub(crate) fn new(head: Table, file: SpoolFile, columns: Vec<Option<ColumnSpool>>) -> Self {
        let columns = columns.into_iter().zip(head.columns());
        let columns = columns.map(|(spool, column)| match column.values {
            Values::LeftOut(_) => None,
            _ => spool.map(|spool| spool.segments),
        });
        Self {
            columns: columns.collect(),
            head,
            file,
            dates: Vec::new(),
        }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.head.n_rows()
    }

    pub(crate) fn n_chunks(&self) -> usize {
        self.n_rows().div_ceil(self.file.chunk_rows)
    }

    /// Adds the parts of these dates to every chunk.
    pub(crate) fn add_date_parts(&mut self, dates: &[String]) -> Result<(), Error> {
        date_part::add(&mut self.head, dates)?;
        if dates.is_empty() {
            return Ok(());
        }
        let n_own = self.columns.len();
        let n_derived = self.head.columns().len() - n_own;
        let mut found: Vec<(Interner, usize)> = Vec::new();
        found.resize_with(n_derived, Default::default);
        for chunk in 0..self.n_chunks() {
            let mut table = self.piece(chunk, |name| dates.iter().any(|date| date == name))?;
            date_part::add(&mut table, dates)?;
            for (column, (interner, n_missing)) in table.columns()[n_own..].iter().zip(&mut found) {
                *n_missing += column.n_missing;
                for category in column.categorical().map_or(&[][..], |(_, names)| names) {
                    // Names of months and days are UTF-8.
                    let _ = interner.code(category.as_bytes());
                }
            }
        }
        let mut found = found.into_iter();
        for column in &mut self.head.columns_mut()[n_own..] {
            if let Some((interner, n_missing)) = found.next() {
                column.values = Values::Categorical {
                    codes: Vec::new(),
                    boolean: is_boolean(&interner.categories),
                    categories: interner.categories,
                };
                column.n_missing = n_missing;
            }
        }
        self.dates = dates.to_vec();
        Ok(())
    }

    /// The rows of a chunk as a table. Codes are the same in every chunk.
    pub(crate) fn chunk(&self, index: usize) -> Result<Table, Error> {
        let mut table = self.piece(index, |_| true)?;
        date_part::add(&mut table, &self.dates)?;
        let n_own = self.columns.len();
        let heads = &self.head.columns()[n_own..];
        for (column, head) in table.columns_mut()[n_own..].iter_mut().zip(heads) {
            let Some((_, all)) = head.categorical() else {
                continue;
            };
            if let Values::Categorical {
                codes, categories, ..
            } = &mut column.values
            {
                let place = |name: &String| all.iter().position(|known| known == name);
                let own: Vec<u32> = categories
                    .iter()
                    .map(|name| place(name).map_or(MISSING, |at| at as u32))
                    .collect();
                for code in codes.iter_mut().filter(|code| **code != MISSING) {
                    *code = own[*code as usize];
                }
                all.clone_into(categories);
            }
        }
        Ok(table)
    }

    /// The rows of a chunk with the values of some columns; the others are empty.
    fn piece(&self, index: usize, wanted: impl Fn(&str) -> bool) -> Result<Table, Error> {
        let heads = self.head.columns().iter().zip(&self.columns);
        let columns = heads.map(|(head, segments)| match segments {
            Some(segments) if wanted(&head.name) => self.column(head, &segments[index]),
            _ => Ok(Column {
                name: head.name.clone(),
                values: match &head.values {
                    Values::LeftOut(reason) => Values::LeftOut(*reason),
                    _ => Values::LeftOut(crate::table::LeftOut::NotRead),
                },
                n_missing: 0,
                date: head.date,
            }),
        });
        let columns = columns.collect::<Result<_, Error>>()?;
        let first = index * self.file.chunk_rows;
        let n_rows = (self.n_rows() - first).min(self.file.chunk_rows);
        Ok(self.head.piece(columns, first, n_rows))
    }

    fn column(&self, head: &Column, segment: &Segment) -> Result<Column, Error> {
        let mut bytes = vec![0; segment.n_rows as usize * segment.width.bytes()];
        let file = self.file.file.file();
        let read = file.read_at(&mut bytes, segment.offset);
        read.map_err(|source| file.error(source))?;
        Ok(Column {
            name: head.name.clone(),
            values: match &head.values {
                Values::Categorical {
                    categories,
                    boolean,
                    ..
                } => Values::Categorical {
                    codes: decode_codes(&bytes, segment.width),
                    categories: categories.clone(),
                    boolean: *boolean,
                },
                _ => Values::Numeric(decode_numbers(&bytes, segment.width).into()),
            },
            n_missing: segment.n_missing as usize,
            date: head.date,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_count_up_are_found() {
        let start = |numbers: &[f64]| run_start(0, 0, numbers);
        assert_eq!(start(&[0.0, 1.0, 2.0]), 0);
        assert_eq!(start(&[0.0, 1.0, 0.0, 1.0]), 2);
        assert_eq!(start(&[0.0, 5.0]), 2);
        assert_eq!(start(&[3.0, 0.0]), 1);
        assert_eq!(start(&[f64::NAN, 0.0, 1.0]), 1);
        assert_eq!(run_start(2, 4, &[2.0, 3.0]), 2);
    }
}
