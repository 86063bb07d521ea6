//! Reads a file in batches of rows with column types fixed in advance, so that memory does not grow with
//! the file. All threads process batches, and the results are taken in order.

use rayon::prelude::*;

use super::chunk::Chunk;
use super::column::shown;
use super::csv::{Failure, Opened, Parsed, Wrong};
use super::fixed::FixedType;
use super::form::{Decimal, Form};
use super::header::first_record;
use super::lane::{Batch, Lane, nul_in};
use super::wanted::{FoundColumns, Wanted};
use super::{Input, MissingValues, Plan, all_bytes, csv, open, parquet};
use crate::error::{Error, Place};
use crate::memory::MemoryLimit;
use crate::table::{Column, ColumnType, SourceFile, Table};

/// The approximate number of rows per batch by default.
pub const BATCH_ROWS: usize = 4096;
/// The maximum number of bytes of a CSV file per batch, unless a single record is longer.
const MOST_BYTES: usize = 1 << 20;
/// The number of batches in progress per thread.
const BATCHES_PER_THREAD: usize = 4;

/// A batch of rows of a file.
#[derive(Debug)]
pub struct RowBatch {
    /// The requested columns, in the requested order.
    pub table: Table,
    /// Number of rows in the file before these.
    pub first_row: usize,
    /// The strings of the kept columns.
    pub kept: Vec<Strings>,
}

impl RowBatch {
    fn new(file: &str, first_row: usize, columns: Vec<Column>, n_rows: usize) -> Self {
        let source = SourceFile {
            name: file.into(),
            first_row: 0,
        };
        Self {
            table: Table::from_parts(columns, n_rows, vec![source], Vec::new()),
            first_row,
            kept: Vec::new(),
        }
    }

    /// The place of a row of the batch (from 0) in its file.
    pub fn place(&self, row: usize) -> Place {
        Place {
            file: self.table.name.clone(),
            row: self.first_row + row + 1,
            line: None,
        }
    }
}

/// The outcome of reading a file in batches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BatchesRead {
    /// Total number of rows.
    pub rows: usize,
    /// Columns of the file that were not requested.
    pub unused: Vec<String>,
}

/// A list of strings stored in one buffer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    /// Appends a string.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// The string at a position.
    pub fn get(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|i| self.get(i))
    }

    /// The strings of a categorical column; missing values are empty strings.
    fn of(column: &Column) -> Self {
        let mut strings = Self::default();
        if let Some((codes, categories)) = column.categorical() {
            for code in codes {
                strings.push(categories.get(*code as usize).map_or("", String::as_str));
            }
        }
        strings
    }
}

/// Reads a file in batches. `work` processes batches on all threads, and `take` receives the results in row
/// order. `-` is standard input.
///
/// Every line of a CSV file is a row. An empty line, or a row with too few or too many fields, is an error.
///
/// ```
/// use fairfront_data::{BATCH_ROWS, ColumnType, Error, Reading, Wanted, WantedColumn, read_batches};
/// let path = std::env::temp_dir().join("fairfront-batches-example.csv");
/// std::fs::write(&path, "job,age\nnurse,31\nclerk,45\n")?;
/// let wanted = Wanted {
///     reading: Reading::default(),
///     columns: vec![WantedColumn {
///         name: "age".into(),
///         column_type: ColumnType::Numeric,
///         role: None,
///     }],
///     kept: Vec::new(),
///     rows: BATCH_ROWS,
/// };
/// let mut total = 0.0;
/// let read = read_batches(
///     &path.display().to_string(),
///     &wanted,
///     |batch| {
///         let ages = batch.table.require("age", "this example")?.numeric();
///         Ok::<f64, Error>(ages.into_iter().flatten().sum())
///     },
///     |sum| {
///         total += sum;
///         Ok(())
///     },
/// )?;
/// assert_eq!((read.rows, total), (2, 76.0));
/// assert_eq!(read.unused, ["job"]);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_batches<T: Send, E: From<Error> + Send>(
    file: &str,
    wanted: &Wanted,
    work: impl Fn(RowBatch) -> Result<T, E> + Sync,
    mut take: impl FnMut(T) -> Result<(), E> + Send,
) -> Result<BatchesRead, E> {
    let mut finish = |batches: Vec<RowBatch>| -> Result<(), E> {
        let done: Vec<Result<T, E>> = batches.into_par_iter().map(&work).collect();
        done.into_iter().try_for_each(|result| take(result?))
    };
    let (name, input) = open(file)?;
    match input {
        Input::Text(text) | Input::Unpacked(text) => read_csv(name, text, wanted, &mut finish),
        Input::ParquetFile(input) => {
            let batches = parquet::Batches::open(name, input, &wanted.reading.missing_values)?;
            read_parquet(name, batches, wanted, &mut finish)
        }
        Input::ParquetPipe(pipe) => {
            let input = all_bytes(name, pipe, MemoryLimit::default())?;
            let batches = parquet::Batches::open(name, input, &wanted.reading.missing_values)?;
            read_parquet(name, batches, wanted, &mut finish)
        }
    }
}

/// Passes lots from `next` to `handle`, while the following ones are being read.
fn pump<R: Send, E: From<Error> + Send>(
    first: Option<R>,
    mut next: impl FnMut() -> Result<Option<R>, Error> + Send,
    mut handle: impl FnMut(Vec<R>) -> Result<(), E> + Send,
) -> Result<(), E> {
    let n = BATCHES_PER_THREAD * rayon::current_num_threads();
    let mut several = |mut lot: Vec<R>| -> Result<Vec<R>, Error> {
        while lot.len() < n
            && let Some(one) = next()?
        {
            lot.push(one);
        }
        Ok(lot)
    };
    let mut lot = several(first.into_iter().collect())?;
    while !lot.is_empty() {
        let (following, handled) = rayon::join(|| several(Vec::new()), || handle(lot));
        handled?;
        lot = following?;
    }
    Ok(())
}

fn read_csv<E: From<Error> + Send>(
    file: &str,
    input: impl std::io::Read + Send,
    wanted: &Wanted,
    finish: &mut (impl FnMut(Vec<RowBatch>) -> Result<(), E> + Send),
) -> Result<BatchesRead, E> {
    let options = wanted.reading.options();
    let Opened {
        mut chunks,
        separator,
        record_bytes,
        decimal,
    } = csv::open(file, input, options.separator)?;
    let decimal = Decimal::settled(options.decimal, decimal);
    let size = wanted
        .rows
        .saturating_mul(record_bytes)
        .clamp(1, MOST_BYTES);
    let mut next = || chunks.next(size).map_err(|e| csv::stopped(file, e, None));
    let (chunk, first) = loop {
        let Some(chunk) = next()? else {
            let reason = "the file is empty";
            let file = file.into();
            return Err(Error::NoRows { file, reason }.into());
        };
        if let Some((first, _)) = first_record(chunk.span(), separator) {
            break (chunk, first);
        }
    };
    let found = FoundColumns::in_record(file, wanted, &first)?;
    let form = Form::of(decimal, separator);
    let types = wanted.columns.iter();
    let types = types.map(|c| FixedType::from(c.column_type).lane(form));
    let types = types.chain(wanted.kept.iter().map(|_| Lane::Strings));
    let lanes: Vec<(usize, Lane)> = found.fields.iter().copied().zip(types).collect();
    let mut rows = CsvRows {
        file,
        separator,
        wanted,
        names: &found.names,
        lanes: &lanes,
        missing: &MissingValues::new(&options.missing_values),
        n_fields: first.len(),
        skip: usize::from(found.is_header),
        started: false,
        n_rows: 0,
        blank: None,
    };
    pump(Some(chunk), next, |lot| finish(rows.take(&lot)?))?;
    Ok(BatchesRead {
        rows: rows.n_rows,
        unused: found.unused,
    })
}

/// The state of a CSV file while it is read.
struct CsvRows<'a> {
    file: &'a str,
    separator: u8,
    wanted: &'a Wanted,
    /// The name of each field.
    names: &'a [String],
    lanes: &'a [(usize, Lane)],
    missing: &'a MissingValues,
    n_fields: usize,
    /// Number of records at the start that contain no data.
    skip: usize,
    started: bool,
    n_rows: usize,
    /// A blank line after all records so far.
    blank: Option<u64>,
}

impl CsvRows<'_> {
    /// Converts chunks to batches, in order.
    fn take(&mut self, chunks: &[Chunk]) -> Result<Vec<RowBatch>, Error> {
        let skip = std::mem::take(&mut self.skip);
        let is_first = !std::mem::replace(&mut self.started, true);
        let parse = |(i, chunk): (usize, &Chunk)| {
            let skip = if i == 0 { skip } else { 0 };
            // Blank lines before the first record of a file are not rows.
            let follows = i > 0 || !is_first;
            let text = (chunk, self.separator);
            Parsed::new(self.lanes, self.missing, self.n_fields, text, skip, follows)
        };
        let parsed: Vec<Parsed<true>> = chunks.par_iter().enumerate().map(parse).collect();
        let mut batches = Vec::with_capacity(parsed.len());
        for parsed in parsed {
            if parsed.n_records > 0
                && let Some(line) = self.blank.take().or(parsed.leading)
            {
                return Err(csv::empty_line(self.file, line));
            }
            self.blank = self.blank.or(parsed.blank);
            if let Some(failure) = parsed.failure {
                return Err(self.failed(failure));
            }
            let (n_rows, columns) = (parsed.n_rows, parsed.batches);
            if n_rows == 0 {
                continue;
            }
            let mut columns = columns.into_iter();
            let typed = self.wanted.columns.iter().zip(columns.by_ref());
            let typed = typed.map(|(c, batch)| batch.into_column(&c.name, &self.missing.numbers));
            let mut batch = RowBatch::new(self.file, self.n_rows, typed.collect(), n_rows);
            batch.kept = columns.map(Batch::into_strings).collect();
            batches.push(batch);
            self.n_rows += n_rows;
        }
        Ok(batches)
    }

    fn failed(&self, failure: Failure) -> Error {
        let place = Place {
            file: self.file.into(),
            row: self.n_rows + failure.row + 1,
            line: Some(failure.line),
        };
        match failure.problem {
            Wrong::Value {
                column,
                misfit,
                value,
            } => {
                let columns = self.wanted.columns.iter().map(|c| &c.name);
                let name = columns.chain(&self.wanted.kept).nth(column);
                let date = self.wanted.columns.get(column);
                let date = date.and_then(|c| c.column_type.date());
                Error::Cell {
                    place,
                    column: name.cloned().unwrap_or_default(),
                    problem: misfit.problem(&shown(&value), date, "in the model").into(),
                }
            }
            Wrong::Blank => csv::empty_line(self.file, failure.line),
            Wrong::Nul(field) => nul_in(place, &self.names[field]),
            Wrong::Fields { found, .. } => Error::Ragged {
                place,
                expected: self.n_fields,
                found,
                hint: format!(
                    "; fix the row (fields are separated by {:?})",
                    self.separator as char
                )
                .into(),
            },
        }
    }
}

fn read_parquet<R: ::parquet::file::reader::ChunkReader + 'static, E: From<Error> + Send>(
    file: &str,
    mut batches: parquet::Batches<R>,
    wanted: &Wanted,
    finish: &mut (impl FnMut(Vec<RowBatch>) -> Result<(), E> + Send),
) -> Result<BatchesRead, E> {
    let found = FoundColumns::among(file, wanted, batches.names()?)?;
    let plans = wanted.columns.iter().map(|c| match c.column_type {
        ColumnType::Numeric => Plan::Numeric,
        ColumnType::Boolean | ColumnType::Categorical => Plan::Categories,
        date => Plan::Date(date.date()),
    });
    let plans = plans.chain(wanted.kept.iter().map(|_| Plan::Copy));
    for (field, plan) in found.fields.iter().zip(plans) {
        batches.want(*field, plan)?;
    }
    let mut n_rows = 0;
    let next = || -> Result<Option<RowBatch>, Error> {
        let Some((n, mut columns)) = batches.next(wanted.rows)? else {
            return Ok(None);
        };
        let kept = columns.split_off(wanted.columns.len());
        for (column, wanted) in columns.iter_mut().zip(&wanted.columns) {
            column.name.clone_from(&wanted.name);
        }
        let mut batch = RowBatch::new(file, n_rows, columns, n);
        batch.kept = kept.iter().map(Strings::of).collect();
        n_rows += n;
        Ok(Some(batch))
    };
    pump(None, next, &mut *finish)?;
    Ok(BatchesRead {
        rows: n_rows,
        unused: found.unused,
    })
}
