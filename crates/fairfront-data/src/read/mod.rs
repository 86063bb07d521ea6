//! Reads files into a [`Table`]: CSV (plain or gzip) and Parquet, recognized by their content.

mod batch;
mod chunk;
mod column;
mod csv;
mod cutter;
mod fixed;
mod form;
mod header;
mod lane;
mod look;
mod parquet;
mod quotes;
mod raw;
mod record;
mod sniff;
mod text;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use fairfront_core::{Message, counted, each, say, with};
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use self::column::ColumnBuilder;
use self::header::{make_unique, match_columns, unique_names};
use self::lane::BadValue;
use self::sniff::Format;
use crate::date::DateOrder;
use crate::error::{Error, Place};
use crate::identifier;
use crate::memory::{FixedLimit, MemoryLimit};
use crate::pack::{ColumnSpool, Spool, SpoolFile, is_block_file};
use crate::setting::{DECIMAL, DROP, FEATURE, STREAM_WINDOW};
use crate::table::{ColumnType, Diagnostic, SourceFile, Table, place};

pub use self::batch::{BATCH_ROWS, BatchesRead, RowBatch, Strings, read_batches};
pub(crate) use self::column::Plan;
pub use self::cutter::{LONGEST_RECORD, LongRecord};
pub use self::fixed::{
    Arrived, ColumnTypes, FixedType, Rejected, TypedColumn, column_order, first_table, next_table,
};
pub use self::form::Decimal;
pub(crate) use self::form::{has_leading_zero, parse_number};
pub use self::parquet::{guarded, panics_are_caught};
pub use self::raw::{BadRecord, Position, RawRecord};
pub use self::record::{MOST_RECORD_BYTES, Records};
pub use self::sniff::decimal_of;
pub(crate) use self::text::table_text;
pub use self::text::{TextInput, open_text};
pub use self::wanted::{Wanted, WantedColumn};

/// The strings that stand for a missing value by default. Case does not matter, and an empty field is
/// always missing.
pub const MISSING_VALUES: [&str; 5] = ["?", "NA", "N/A", "NaN", "null"];

/// Options for reading tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadOptions {
    /// Field separator of CSV files; `None` to detect it.
    #[serde(with = "character")]
    pub separator: Option<u8>,
    /// Whether the first row of a CSV file contains the names of the columns.
    pub header: bool,
    /// Names of the columns of CSV files without a header.
    pub columns: Option<Vec<String>>,
    /// The form of numbers in CSV files; `None` to detect it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal: Option<Decimal>,
    /// Strings that stand for a missing value.
    pub missing_values: Vec<String>,
    /// Types set by the user or by a role; the types of other columns are inferred.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<String, ColumnType>,
    /// The only columns to read, if set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<BTreeSet<String>>,
    /// The target, if its type is open: more than two different numbers are numeric, everything else is
    /// categorical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Columns not to read.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub skip: BTreeSet<String>,
    /// Columns of numbers to keep even if they look like identifiers.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub keep: BTreeSet<String>,
    /// The memory limit for a table.
    #[serde(skip)]
    pub memory: MemoryLimit,
}

/// Stores a byte as a character.
mod character {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "required by serde"
    )]
    pub(super) fn serialize<S: Serializer>(byte: &Option<u8>, to: S) -> Result<S::Ok, S::Error> {
        byte.map(char::from).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u8>, D::Error> {
        let character = Option::<char>::deserialize(from)?;
        let byte = character.map(|c| u8::try_from(c).map_err(Error::custom));
        byte.transpose()
    }
}

/// The files that a table was read from, and the options to read it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFrom {
    /// The names of the files without their folders; `-` is standard input.
    pub files: Vec<String>,
    /// The reading options, without the types that follow from a spec.
    pub options: ReadOptions,
}

/// The name of a file without its folder. Runs, models and reports are shared, so they must not reveal the
/// user's folders.
///
/// ```
/// assert_eq!(fairfront_data::file_name("/home/me/loans.csv"), "loans.csv");
/// assert_eq!(fairfront_data::file_name("-"), "-");
/// ```
pub fn file_name(path: &str) -> &str {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.unwrap_or(path)
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            separator: None,
            header: true,
            columns: None,
            missing_values: MISSING_VALUES.map(Into::into).to_vec(),
            types: BTreeMap::new(),
            only: None,
            target: None,
            skip: BTreeSet::new(),
            keep: BTreeSet::new(),
            decimal: None,
            memory: MemoryLimit::default(),
        }
    }
}

/// How files became a table: the options that are needed to read more such files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Field separator, if it was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<char>,
    /// Whether the first row contains the names of the columns.
    pub header: bool,
    /// Names of the columns of files without a header, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// Strings that stand for a missing value, in addition to the empty string.
    pub missing_values: Vec<String>,
    /// The form of numbers, if it was set or detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal: Option<Decimal>,
}

impl Default for Reading {
    fn default() -> Self {
        ReadOptions::default().reading()
    }
}

impl Reading {
    /// Options that read files in the same way.
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            separator: self.separator.and_then(|c| u8::try_from(c).ok()),
            header: self.header,
            columns: self.columns.clone(),
            missing_values: self.missing_values.clone(),
            decimal: self.decimal,
            ..ReadOptions::default()
        }
    }

    /// Whether a string stands for a missing value.
    pub fn is_missing(&self, text: &str) -> bool {
        MissingValues::new(&self.missing_values).contains(text.trim_ascii().as_bytes())
    }

    /// The numbers that stand for a missing value.
    pub fn missing_numbers(&self) -> Vec<f64> {
        let mut numbers = MissingValues::new(&self.missing_values).numbers;
        numbers.retain(|number| number.is_finite());
        numbers
    }
}

impl ReadOptions {
    /// The options that are needed to read more such files.
    pub fn reading(&self) -> Reading {
        Reading {
            separator: self.separator.map(char::from),
            header: self.header,
            columns: self.columns.clone(),
            missing_values: self.missing_values.clone(),
            decimal: self.decimal,
        }
    }

    fn plan(&self, name: &str) -> Plan {
        let selected = self.only.as_ref().is_none_or(|only| only.contains(name));
        if !selected || self.skip.contains(name) {
            return Plan::Skip;
        }
        match self.types.get(name) {
            None if self.target.as_deref() == Some(name) => Plan::Target,
            None => Plan::Look,
            Some(ColumnType::Numeric) => Plan::Numeric,
            Some(ColumnType::Boolean | ColumnType::Categorical) => Plan::Categories,
            Some(ColumnType::Date) => Plan::Date(None),
            Some(ColumnType::DateDmy) => Plan::Date(Some(DateOrder::Dmy)),
            Some(ColumnType::DateMdy) => Plan::Date(Some(DateOrder::Mdy)),
        }
    }

    /// A builder for a column with these options.
    fn builder(&self, name: String) -> ColumnBuilder {
        let plan = self.plan(&name);
        let is_kept = self.keep.contains(&name);
        let builder = ColumnBuilder::new(name, plan);
        match is_kept {
            true => builder.kept(),
            false => builder,
        }
    }
}

/// Reads one or several files with the same columns into one table. `-` is standard input.
///
/// ```
/// use fairfront_data::{ReadOptions, read_table};
/// let folder = std::env::temp_dir();
/// let path = folder.join("fairfront-read-example.csv");
/// std::fs::write(&path, "age;job\n31;nurse\n?;clerk\n")?;
/// let table = read_table(&[path.display().to_string()], &ReadOptions::default())?;
/// assert_eq!(table.n_rows(), 2);
/// assert_eq!(table.column("age").unwrap().n_missing, 1);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_table(files: &[String], options: &ReadOptions) -> Result<Table, Error> {
    check_files(files)?;
    let mut builder = TableBuilder::new(options);
    read_files(&mut builder, files, &mut |_| {})?;
    builder.finish()
}

/// Like [`read_table`], but moves the values to a temporary file. `progress` receives the number of rows
/// after each file.
pub(crate) fn read_spool(
    files: &[String],
    options: &ReadOptions,
    file: SpoolFile,
    progress: &mut dyn FnMut(usize),
) -> Result<Spool, Error> {
    check_files(files)?;
    let mut builder = TableBuilder::new(options);
    builder.spool = Some(file);
    read_files(&mut builder, files, progress)?;
    builder.finish_spool()
}

fn read_files(
    builder: &mut TableBuilder,
    files: &[String],
    progress: &mut dyn FnMut(usize),
) -> Result<(), Error> {
    for file in files {
        let (name, input) = open(file)?;
        match input {
            Input::Text(text) | Input::Unpacked(text) => csv::read(builder, name, text)?,
            Input::ParquetFile(file) => parquet::read(builder, name, file)?,
            Input::ParquetPipe(pipe) => {
                let bytes = all_bytes(name, pipe, builder.options.memory)?;
                parquet::read(builder, name, bytes)?;
            }
        }
        progress(builder.n_rows);
    }
    Ok(())
}

fn check_files(files: &[String]) -> Result<(), Error> {
    if files.is_empty() {
        return Err(Error::Usage("pass at least one file".into()));
    }
    if files.iter().filter(|f| *f == "-").count() > 1 {
        return Err(Error::Usage(
            "standard input (-) can be passed only once".into(),
        ));
    }
    Ok(())
}

/// The content of a file, recognized by its first bytes.
enum Input {
    /// Plain CSV.
    Text(Box<dyn Read + Send>),
    /// Decompressed CSV.
    Unpacked(Box<dyn Read + Send>),
    ParquetFile(File),
    /// Parquet from a source without seeking.
    ParquetPipe(Box<dyn Read + Send>),
}

/// Reads all bytes of a source without seeking, because Parquet is read from its end.
fn all_bytes(name: &str, mut pipe: impl Read, memory: MemoryLimit) -> Result<bytes::Bytes, Error> {
    const PIECE: usize = 1 << 20;
    let limit = memory.now();
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        // The next piece may double the capacity.
        limit.check(
            2 * (before + PIECE) as u64,
            name,
            "the bytes of the Parquet file",
            || vec!["write it to a file first and pass the file".into()],
        )?;
        let read = pipe.by_ref().take(PIECE as u64).read_to_end(&mut bytes);
        read.map_err(|source| Error::io(name, source))?;
        if bytes.len() == before {
            return Ok(bytes.into());
        }
    }
}

/// Opens a file (`-` is standard input), and also returns its name for messages.
fn open(file: &str) -> Result<(&str, Input), Error> {
    if file == "-" {
        let name = "standard input";
        return Ok((name, stream(name, std::io::stdin())?));
    }
    let failed = |source| Error::io(file, source);
    if is_block_file(Path::new(file)) {
        let message = format!(
            "{file}: a block file, which only fit, tune and verify can read; pass the table itself"
        );
        return Err(Error::usage(message));
    }
    let mut opened = File::open(file).map_err(failed)?;
    let metadata = opened.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Ok((file, stream(file, opened)?));
    }
    let head = sniff::head(&mut opened, 4).map_err(failed)?;
    let input = match sniff::format(&head) {
        Format::Parquet => Input::ParquetFile(opened),
        format => text(format, head, opened),
    };
    Ok((file, input))
}

/// Opens a source without seeking.
fn stream(name: &str, mut input: impl Read + Send + 'static) -> Result<Input, Error> {
    let head = sniff::head(&mut input, 4).map_err(|source| Error::io(name, source))?;
    Ok(match sniff::format(&head) {
        Format::Parquet => Input::ParquetPipe(Box::new(std::io::Cursor::new(head).chain(input))),
        format => text(format, head, input),
    })
}

fn text(format: Format, head: Vec<u8>, rest: impl Read + Send + 'static) -> Input {
    let whole = std::io::Cursor::new(head).chain(rest);
    match format {
        Format::Gzip => {
            let packed = BufReader::with_capacity(1 << 16, whole);
            Input::Unpacked(Box::new(MultiGzDecoder::new(packed)))
        }
        _ => Input::Text(Box::new(whole)),
    }
}

/// The strings that stand for a missing value.
struct MissingValues {
    strings: Vec<Vec<u8>>,
    longest: usize,
    /// Those that are numbers; −999 is missing in every notation.
    numbers: Vec<f64>,
}

impl MissingValues {
    fn new(listed: &[String]) -> Self {
        let strings: Vec<Vec<u8>> = listed
            .iter()
            .map(|t| t.trim().as_bytes().to_vec())
            .collect();
        Self {
            longest: strings.iter().map(Vec::len).max().unwrap_or(0),
            numbers: listed
                .iter()
                .filter_map(|t| t.trim().parse().ok())
                .collect(),
            strings,
        }
    }

    fn contains(&self, field: &[u8]) -> bool {
        let [first, ..] = field else { return true };
        let first = first.to_ascii_lowercase();
        let starts = |m: &Vec<u8>| m.first().is_some_and(|b| b.to_ascii_lowercase() == first);
        field.len() <= self.longest
            && self
                .strings
                .iter()
                .any(|m| starts(m) && field.eq_ignore_ascii_case(m))
    }
}

/// A table under construction while its files are read.
struct TableBuilder<'a> {
    options: &'a ReadOptions,
    missing: MissingValues,
    columns: Vec<ColumnBuilder>,
    sources: Vec<SourceFile>,
    n_rows: usize,
    /// The form of the numbers in the current file.
    decimal: Decimal,
    /// A first column without a name in the current file; it is a row number if it counts up.
    index_column: Option<usize>,
    diagnostics: Vec<Diagnostic>,
    memory: FixedLimit,
    /// The largest number of bytes of examined values so far.
    looked: usize,
    /// The file that values move to, if the table does not stay in memory.
    spool: Option<SpoolFile>,
}

/// Remedies for a table that is too large.
pub(crate) fn fewer() -> Vec<Message> {
    vec![
        say!["use fewer columns", with(each([FEATURE, DROP]))],
        say!["use fewer rows"],
        say![
            "fit with ",
            STREAM_WINDOW,
            ", which keeps only the last rows"
        ],
    ]
}

impl<'a> TableBuilder<'a> {
    fn new(options: &'a ReadOptions) -> Self {
        Self {
            options,
            missing: MissingValues::new(&options.missing_values),
            columns: Vec::new(),
            sources: Vec::new(),
            n_rows: 0,
            decimal: options.decimal.unwrap_or_default(),
            index_column: None,
            diagnostics: Vec::new(),
            memory: options.memory.now(),
            looked: 0,
            spool: None,
        }
    }

    /// Makes room for `rows` further rows. Rejects a table that needs too much memory with these rows and
    /// this many bytes of buffers.
    fn make_room(&mut self, file: &str, rows: usize, buffers: usize) -> Result<(), Error> {
        let columns = self.columns.iter().map(|c| c.bytes_with(rows));
        let bytes = columns.fold(buffers, usize::saturating_add) as u64;
        let looked = self.columns.iter().map(ColumnBuilder::looked_bytes).sum();
        self.looked = self.looked.max(looked);
        let n_rows = self.n_rows.saturating_add(rows);
        let subject = format!(
            "{} of {}",
            counted(n_rows, "row"),
            counted(self.columns.len(), "column")
        );
        self.memory.check(bytes, file, &subject, fewer)?;
        let mut columns = self.columns.iter_mut();
        let has_room = columns.try_for_each(|column| column.reserve(rows));
        has_room.map_err(|_| MemoryLimit::refused(bytes, file, &subject, fewer()))
    }

    /// Determines the form of the numbers in a file from its start. If the start does not show it, the form
    /// of the previous file applies.
    fn set_decimal(&mut self, file: &str, found: Option<Decimal>, separator: u8) {
        let asked = self.options.decimal;
        if asked.is_none() && found == Some(Decimal::Comma) {
            let separator = separator as char;
            self.diagnostics.push(Diagnostic::note(say![
                "{file}: numbers are read with decimal commas (1,5), because the fields are separated \
                 by {separator:?}";
                "pass ", DECIMAL.is("."), " if the commas mean something else"
            ]));
        }
        self.decimal = match (asked, found) {
            (None, None) => self.decimal,
            _ => Decimal::settled(asked, found),
        };
    }

    /// Starts a file with these columns, and returns the position of each column in the table.
    fn begin_file(
        &mut self,
        file: &str,
        names: Vec<String>,
        named: bool,
    ) -> Result<Vec<usize>, Error> {
        let first_row = self.n_rows;
        let first_file = self.sources.first().map(|s| s.name.clone());
        self.sources.push(SourceFile {
            name: file.into(),
            first_row,
        });
        let Some(first) = first_file else {
            let names = unique_names(file, names, &mut self.diagnostics);
            self.spool = self
                .spool
                .take()
                .map(|spool| spool.for_columns(names.len()));
            self.columns = names
                .into_iter()
                .map(|name| self.options.builder(name))
                .map(|column| match &self.spool {
                    Some(file) => column.spooled(file, &self.missing.numbers),
                    None => column,
                })
                .collect();
            return Ok((0..self.columns.len()).collect());
        };

        let differ = |difference: String| Error::ColumnsDiffer {
            file: file.into(),
            first: first.clone(),
            difference,
        };
        if !named {
            if names.len() != self.columns.len() {
                return Err(differ(format!(
                    "it has {}, but the first file has {}",
                    names.len(),
                    self.columns.len()
                )));
            }
            return Ok((0..names.len()).collect());
        }
        let names = make_unique(names, &mut Vec::new());
        let known: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
        match_columns(&known, &names).map_err(differ)
    }

    /// The error for a value that a column cannot take, with its line if known.
    fn bad_value(&self, bad: BadValue, column: String, line: Option<u64>) -> Error {
        let place = Place {
            line,
            ..place(&self.sources, bad.row)
        };
        bad.into_error(place, column)
    }

    /// Reports that values could not be moved to their file.
    fn check_spool(&mut self) -> Result<(), Error> {
        let failed = self.columns.iter_mut().find_map(ColumnBuilder::spool_error);
        failed.map_or(Ok(()), Err)
    }

    /// Finishes a table whose values moved to a file.
    fn finish_spool(mut self) -> Result<Spool, Error> {
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut spools = Vec::with_capacity(self.columns.len());
        let mut watched = Vec::with_capacity(self.columns.len());
        for builder in std::mem::take(&mut self.columns) {
            let name = builder.name.clone();
            let (column, diagnostic, mut spool) = builder
                .finish_spooled(&self.missing.numbers)
                .map_err(|bad| self.bad_value(bad, name, None))?;
            if let Some(error) = spool.as_mut().and_then(ColumnSpool::take_error) {
                return Err(error);
            }
            self.diagnostics.extend(diagnostic);
            watched.push(spool.as_mut().and_then(ColumnSpool::take_watch));
            spools.push(spool);
            columns.push(column);
        }
        let found = identifier::leave_out_watched(&mut columns, &watched);
        self.diagnostics.extend(found);
        let mut head = Table::from_parts(columns, self.n_rows, self.sources, self.diagnostics);
        head.decimal = self.decimal;
        match self.spool {
            Some(file) => Ok(Spool::new(head, file, spools)),
            None => Err(Error::usage("the temporary file is missing")),
        }
    }

    fn finish(mut self) -> Result<Table, Error> {
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut free = BTreeSet::new();
        for builder in std::mem::take(&mut self.columns) {
            let name = builder.name.clone();
            if builder.is_free() {
                free.insert(name.clone());
            }
            let (column, diagnostic) = builder
                .finish(&self.missing.numbers)
                .map_err(|bad| self.bad_value(bad, name, None))?;
            self.diagnostics.extend(diagnostic);
            columns.push(column);
        }
        let found = identifier::leave_out(&mut columns, |name| free.contains(name));
        self.diagnostics.extend(found);
        let mut table = Table::from_parts(columns, self.n_rows, self.sources, self.diagnostics);
        table.decimal = self.decimal;
        table.looked = self.looked;
        Ok(table)
    }
}
