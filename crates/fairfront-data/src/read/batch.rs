//! A file in batches of rows, the types of its columns fixed beforehand: memory does not grow with
//! the file. Batches are worked on by all threads and taken in order.

use fairfront_core::{Message, Name, say};
use rayon::prelude::*;

use super::chunk::{Chunk, Record, TakeRecord};
use super::column::shown;
use super::csv::{Failure, Opened, Parsed, Wrong};
use super::fixed::FixedType;
use super::form::{Decimal, Form};
use super::lane::{Batch, Lane, Misfit, not_numeric, not_utf8, nul_in};
use super::{Input, MissingValues, Plan, Reading, all_bytes, csv, make_unique, open, parquet};
use crate::error::{Error, Place, near, quoted_list};
use crate::memory::MemoryLimit;
use crate::setting::KEEP;
use crate::table::{Column, ColumnType, SourceFile, Table};

/// Rows of a batch, about, unless others are asked for.
pub const BATCH_ROWS: usize = 4096;
/// Bytes of a CSV file in a batch at most, unless one record is longer.
const MOST_BYTES: usize = 1 << 20;
/// Batches at a time, for each thread.
const BATCHES_PER_THREAD: usize = 4;

/// A column that a file must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedColumn {
    /// Its name.
    pub name: String,
    /// How its values are understood; anything else is an error.
    pub column_type: ColumnType,
    /// The setting that asks for it, if it is not the model itself.
    pub role: Option<Name>,
}

/// What is read of a file.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// How such files are read. A file whose first record holds the names of the wanted columns has
    /// a header, whatever this says.
    pub reading: Reading,
    /// Columns with their types, for the table of a batch.
    pub columns: Vec<WantedColumn>,
    /// Columns whose texts are handed on as they stand.
    pub kept: Vec<String>,
    /// Rows of a batch, about.
    pub rows: usize,
}

/// Some rows of a file.
#[derive(Debug)]
pub struct RowBatch {
    /// The wanted columns, in the order in which they were asked for.
    pub table: Table,
    /// Rows of the file before these.
    pub first_row: usize,
    /// The texts of the kept columns.
    pub kept: Vec<Texts>,
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

    /// Where a row of the batch (from 0) is in its file.
    pub fn place(&self, row: usize) -> Place {
        Place {
            file: self.table.name.clone(),
            row: self.first_row + row + 1,
            line: None,
        }
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BatchesRead {
    /// All rows.
    pub rows: usize,
    /// Columns of the file that nothing asked for.
    pub unused: Vec<String>,
}

/// Texts one behind the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    /// Bytes of memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// A text by its position.
    pub fn get(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|i| self.get(i))
    }

    /// The texts of a column of levels; missing ones are empty.
    fn of(column: &Column) -> Self {
        let mut texts = Self::default();
        if let Some((codes, levels)) = column.categorical() {
            for code in codes {
                texts.push(levels.get(*code as usize).map_or("", String::as_str));
            }
        }
        texts
    }
}

/// Reads a file in batches: `work` makes something of each of them, on all threads, and `take` takes
/// the results in the order of the rows. `-` is standard input.
///
/// Every line of a CSV file is a row: one that is empty or has too few or too many fields is an error.
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

/// Hands lots of what `next` gives to `handle`, the following ones being read meanwhile.
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
            let what = "the file is empty";
            let file = file.into();
            return Err(Error::NoRows { file, what }.into());
        };
        if let Some(first) = csv::first_record(&chunk, separator) {
            break (chunk, first);
        }
    };
    let found = FoundColumns::in_record(file, wanted, &first)?;
    let form = Form::of(decimal, separator);
    let types = wanted.columns.iter();
    let types = types.map(|c| FixedType::from(c.column_type).lane(form));
    let types = types.chain(wanted.kept.iter().map(|_| Lane::Texts));
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

/// What is known about a CSV file while it is read.
struct CsvRows<'a> {
    file: &'a str,
    separator: u8,
    wanted: &'a Wanted,
    /// The name of each field.
    names: &'a [String],
    lanes: &'a [(usize, Lane)],
    missing: &'a MissingValues,
    n_fields: usize,
    /// Records at the start that hold no data.
    skip: usize,
    started: bool,
    n_rows: usize,
    /// A blank line behind all records so far.
    blank: Option<u64>,
}

impl CsvRows<'_> {
    /// The chunks, in order, as batches.
    fn take(&mut self, chunks: &[Chunk]) -> Result<Vec<RowBatch>, Error> {
        let skip = std::mem::take(&mut self.skip);
        let is_first = !std::mem::replace(&mut self.started, true);
        let parse = |(i, chunk): (usize, &Chunk)| {
            let skip = if i == 0 { skip } else { 0 };
            let parsed = Parsed::new(self.lanes, self.missing, self.n_fields, chunk, skip);
            let mut strict = Strict::new(parsed);
            // Blank lines before the first record of a file are none of its rows.
            strict.between = i > 0 || !is_first;
            let failure = chunk.each_record(self.separator, &mut strict).err();
            (strict, failure)
        };
        let parsed: Vec<_> = chunks.par_iter().enumerate().map(parse).collect();
        let mut batches = Vec::with_capacity(parsed.len());
        for (strict, failure) in parsed {
            if strict.n_records > 0
                && let Some(line) = self.blank.take().or(strict.leading)
            {
                return Err(self.empty_line(line));
            }
            self.blank = self.blank.or(strict.blank);
            if let Some(broken) = failure {
                return Err(match broken {
                    Broken::Blank(line) => self.empty_line(line),
                    Broken::Record(failure) => self.failed(failure),
                });
            }
            let Parsed {
                n_rows,
                batches: columns,
                ..
            } = strict.parsed;
            if n_rows == 0 {
                continue;
            }
            let mut columns = columns.into_iter();
            let typed = self.wanted.columns.iter().zip(columns.by_ref());
            let typed = typed.map(|(c, batch)| batch.into_column(&c.name, &self.missing.numbers));
            let mut batch = RowBatch::new(self.file, self.n_rows, typed.collect(), n_rows);
            batch.kept = columns.map(Batch::into_texts).collect();
            batches.push(batch);
            self.n_rows += n_rows;
        }
        Ok(batches)
    }

    fn empty_line(&self, line: u64) -> Error {
        Error::EmptyLine {
            file: self.file.into(),
            line,
        }
    }

    fn failed(&self, failure: Failure) -> Error {
        let place = Place {
            file: self.file.into(),
            row: self.n_rows + failure.row + 1,
            line: Some(failure.line),
        };
        match failure.what {
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
                    problem: match misfit {
                        Misfit::NotNumeric => {
                            not_numeric(&shown(&value), date, "in the model").into()
                        }
                        Misfit::NotUtf8 => not_utf8(&shown(&value)).into(),
                    },
                }
            }
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

/// Takes records and minds blank lines between them.
struct Strict<'a> {
    parsed: Parsed<'a>,
    n_records: usize,
    /// Whether there may be records before.
    between: bool,
    /// A blank line before the first record.
    leading: Option<u64>,
    /// One behind the last record so far.
    blank: Option<u64>,
}

enum Broken {
    Blank(u64),
    Record(Failure),
}

impl<'a> Strict<'a> {
    fn new(parsed: Parsed<'a>) -> Self {
        Self {
            parsed,
            n_records: 0,
            between: true,
            leading: None,
            blank: None,
        }
    }
}

impl TakeRecord for Strict<'_> {
    type Error = Broken;
    const BLANKS: bool = true;

    fn blank(&mut self, line: u64) {
        if self.between || self.n_records > 0 {
            self.blank.get_or_insert(line);
        }
    }

    fn take(&mut self, record: &impl Record, line: u64) -> Result<(), Broken> {
        match self.blank.take() {
            Some(blank) if self.n_records > 0 => return Err(Broken::Blank(blank)),
            blank => self.leading = self.leading.or(blank),
        }
        self.n_records += 1;
        self.parsed.take(record, line).map_err(Broken::Record)
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
        ColumnType::Boolean | ColumnType::Categorical => Plan::Levels,
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
        batch.kept = kept.iter().map(Texts::of).collect();
        n_rows += n;
        Ok(Some(batch))
    };
    pump(None, next, &mut *finish)?;
    Ok(BatchesRead {
        rows: n_rows,
        unused: found.unused,
    })
}

/// Where the wanted columns are in a file.
struct FoundColumns {
    /// The name of each field.
    names: Vec<String>,
    /// The field of each wanted and then each kept column.
    fields: Vec<usize>,
    /// Names of all other fields.
    unused: Vec<String>,
    /// Whether the record that was looked at is a header.
    is_header: bool,
}

impl FoundColumns {
    /// Looks at the first record of a CSV file. Where it holds the names of the wanted columns, or of
    /// most of them, it is a header; otherwise the file has none, if names for its fields are known.
    fn in_record(file: &str, wanted: &Wanted, first: &[Vec<u8>]) -> Result<Self, Error> {
        let texts = first
            .iter()
            .map(|f| String::from_utf8_lossy(f.trim_ascii()));
        let texts = texts.map(std::borrow::Cow::into_owned).collect();
        let header = unique(csv::number_unnamed(texts));
        let reading = &wanted.reading;
        let known = match (&reading.columns, reading.header) {
            (Some(names), _) => (names.len() == first.len()).then(|| names.clone()),
            (None, false) => Some(csv::number_unnamed(vec![String::new(); first.len()])),
            (None, true) => None,
        };
        let all: Vec<&String> = wanted.names().collect();
        let n_found = all.iter().filter(|name| header.contains(name)).count();
        if known.is_none() {
            csv::check_names(file, first)?;
        }
        match known {
            Some(names) if 2 * n_found <= all.len() => Self::among(file, wanted, names),
            _ => Ok(Self {
                is_header: true,
                ..Self::among(file, wanted, header)?
            }),
        }
    }

    /// Finds the wanted columns among these names.
    fn among(file: &str, wanted: &Wanted, names: Vec<String>) -> Result<Self, Error> {
        let names = unique(names);
        let place = |name: &String| names.iter().position(|n| n == name);
        let fields: Option<Vec<usize>> = wanted.names().map(place).collect();
        let Some(fields) = fields else {
            return Err(missing_columns(file, wanted, &names));
        };
        let mut used = vec![false; names.len()];
        fields.iter().for_each(|field| used[*field] = true);
        let unused = names.iter().zip(used).filter(|(_, used)| !used);
        Ok(Self {
            fields,
            unused: unused.map(|(name, _)| name.clone()).collect(),
            names,
            is_header: false,
        })
    }
}

impl Wanted {
    /// The names of all columns, the kept ones last.
    fn names(&self) -> impl Iterator<Item = &String> {
        self.columns.iter().map(|c| &c.name).chain(&self.kept)
    }
}

fn unique(names: Vec<String>) -> Vec<String> {
    make_unique(names, &mut Vec::new())
}

fn missing_columns(file: &str, wanted: &Wanted, names: &[String]) -> Error {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let columns = wanted.columns.iter().map(|c| (&c.name, c.role));
    let columns = columns.chain(wanted.kept.iter().map(|name| (name, Some(KEEP))));
    let missing = columns.filter(|(name, _)| !names.contains(&name.as_str()));
    let describe = |(name, role): (&String, Option<Name>)| {
        let near = near(name, &names);
        let near = near.first();
        say![
            "{name:?}",
            role.map(|role| say![" for ", role]),
            near.map(|near| format!(" (did you mean {near:?}?)"))
        ]
    };
    let missing: Vec<Message> = missing.map(describe).collect();
    let mut found = match missing.len() {
        1 => say!["a column is missing: "],
        n => say!["{n} columns are missing: "],
    };
    for (i, column) in missing.into_iter().enumerate() {
        found.push((i > 0).then_some(", "));
        found.push(column);
    }
    let headerless = match (&wanted.reading.columns, wanted.reading.header) {
        (Some(known), _) if known.len() != names.len() => format!(
            " (without a header, {} fields are expected: {})",
            known.len(),
            quoted_list(&known.iter().map(String::as_str).collect::<Vec<_>>(), 20)
        ),
        _ => String::new(),
    };
    Error::MissingColumns {
        file: file.into(),
        missing: found,
        hint: format!(
            "the first row has {}; add them, or rename what is there{headerless}",
            quoted_list(&names, 20)
        ),
    }
}
