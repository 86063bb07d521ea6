use std::fmt;
use std::str::{FromStr, Utf8Error};
use std::sync::OnceLock;

use fairfront_core::{Message, Wording, each, grouped, say};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::date::DateOrder;
use crate::error::{Error, Place, near_names};
use crate::number::Numbers;
use crate::read::{Decimal, file_name, parse_number};
use crate::setting::{COLUMNS, NO_HEADER};

/// The code of a missing value in a categorical column.
pub const MISSING: u32 = u32::MAX;

/// The type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Numbers, which are scaled.
    Numeric,
    /// Two values of a pair such as true/false or yes/no; treated as categorical.
    Boolean,
    /// Categories, which are one-hot encoded.
    Categorical,
    /// Dates and times, which become days since 1970-01-01. As a requested type, the order of day and month
    /// is detected. As a detected type, the year is first.
    Date,
    /// Dates with the day before the month.
    #[serde(rename = "date-dmy")]
    DateDmy,
    /// Dates with the month before the day.
    #[serde(rename = "date-mdy")]
    DateMdy,
}

impl ColumnType {
    /// The order of dates; `None` for other types.
    pub fn date(self) -> Option<DateOrder> {
        match self {
            Self::Date => Some(DateOrder::Ymd),
            Self::DateDmy => Some(DateOrder::Dmy),
            Self::DateMdy => Some(DateOrder::Mdy),
            Self::Numeric | Self::Boolean | Self::Categorical => None,
        }
    }

    /// Whether models see the values as numbers.
    pub fn is_number(self) -> bool {
        self == Self::Numeric || self.date().is_some()
    }
}

impl From<DateOrder> for ColumnType {
    fn from(order: DateOrder) -> Self {
        match order {
            DateOrder::Ymd => Self::Date,
            DateOrder::Dmy => Self::DateDmy,
            DateOrder::Mdy => Self::DateMdy,
        }
    }
}

impl FromStr for ColumnType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "numeric" => Ok(Self::Numeric),
            "boolean" => Ok(Self::Boolean),
            "categorical" => Ok(Self::Categorical),
            "date" => Ok(Self::Date),
            "date-dmy" => Ok(Self::DateDmy),
            "date-mdy" => Ok(Self::DateMdy),
            _ => Err(Error::usage(format!(
                "unknown column type {text:?}; choose numeric, boolean, categorical, date, date-dmy \
                 (day first) or date-mdy (month first)"
            ))),
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Numeric => "numeric",
            Self::Boolean => "boolean",
            Self::Categorical => "categorical",
            Self::Date => "date",
            Self::DateDmy => "date-dmy",
            Self::DateMdy => "date-mdy",
        })
    }
}

/// A message to the user that is not an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// A note or a warning.
    pub severity: Severity,
    /// One line. Files contain its neutral wording, unless a program has put it in its own
    /// ([`Self::worded`]).
    pub message: Message,
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// An automatic choice.
    Note,
    /// A problem that may make results wrong or unreliable.
    Warning,
}

impl Diagnostic {
    /// Creates a note about an automatic choice.
    pub fn note(message: impl Into<Message>) -> Self {
        Self {
            severity: Severity::Note,
            message: message.into(),
        }
    }

    /// The same diagnostic in the wording of a program.
    #[must_use]
    pub fn worded(&self, wording: &dyn Wording) -> Self {
        Self {
            severity: self.severity,
            message: self.message.worded(wording),
        }
    }

    /// Creates a warning about a problem that may make results wrong or unreliable.
    pub fn warning(message: impl Into<Message>) -> Self {
        Self {
            severity: Severity::Warning,
            message: message.into(),
        }
    }
}

/// The reason why a column's values were not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// Not requested (dropped or not selected), so never read.
    NotRead,
    /// Strings that are nearly unique per row, or more than 1,000 distinct values.
    Identifier,
    /// All values are missing.
    AllMissing,
    /// Times of day, or durations.
    Date,
    /// A nested or repeated Parquet column.
    Nested,
    /// Bytes that are not UTF-8 text.
    Binary,
    /// The row number that pandas writes.
    PandasIndex,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotRead => "not read",
            Self::Identifier => {
                "an identifier (nearly every row has its own value, or there are over 1,000 values)"
            }
            Self::AllMissing => "all values are missing",
            Self::Date => "times without a date",
            Self::Nested => "nested values",
            Self::Binary => "bytes that are not text",
            Self::PandasIndex => "the index of a pandas DataFrame",
        })
    }
}

/// The values of a column, row by row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Finite numbers; NaN if missing.
    Numeric(Numbers),
    /// Positions in `categories`; [`MISSING`] if missing.
    Categorical {
        /// One code per row.
        codes: Vec<u32>,
        /// Distinct strings in order of first appearance.
        categories: Vec<String>,
        /// Whether the categories are a pair such as yes/no.
        boolean: bool,
    },
    /// Not kept.
    LeftOut(LeftOut),
}

/// A column as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name, unique within the table.
    pub name: String,
    /// Its values.
    pub values: Values,
    /// Number of missing values (0 if the column was not read).
    pub n_missing: usize,
    /// The order in which dates were written, if the numbers are dates.
    pub date: Option<DateOrder>,
}

impl Column {
    /// The type, unless the column was left out.
    pub fn column_type(&self) -> Option<ColumnType> {
        match &self.values {
            Values::Numeric(_) => Some(self.date.map_or(ColumnType::Numeric, Into::into)),
            Values::Categorical { boolean: true, .. } => Some(ColumnType::Boolean),
            Values::Categorical { .. } => Some(ColumnType::Categorical),
            Values::LeftOut(_) => None,
        }
    }

    /// Number of rows, unless the column was left out.
    pub fn n_rows(&self) -> Option<usize> {
        match &self.values {
            Values::Numeric(values) => Some(values.len()),
            Values::Categorical { codes, .. } => Some(codes.len()),
            Values::LeftOut(_) => None,
        }
    }

    /// Whether the value of this row is missing.
    pub fn is_missing(&self, row: usize) -> bool {
        match &self.values {
            Values::Numeric(values) => values.get(row).is_nan(),
            Values::Categorical { codes, .. } => codes[row] == MISSING,
            Values::LeftOut(_) => false,
        }
    }

    /// Approximate memory of its values in bytes, without those in the memory of another program.
    fn bytes(&self) -> usize {
        match &self.values {
            Values::Numeric(Numbers::Own(values)) => values.capacity() * size_of::<f64>(),
            Values::Numeric(Numbers::Shared(_)) | Values::LeftOut(_) => 0,
            Values::Categorical {
                codes, categories, ..
            } => {
                let strings = categories
                    .iter()
                    .map(|category| size_of::<String>() + category.capacity());
                codes.capacity() * size_of::<u32>() + strings.sum::<usize>()
            }
        }
    }

    /// Codes and categories of a categorical column.
    pub fn categorical(&self) -> Option<(&[u32], &[String])> {
        match &self.values {
            Values::Categorical {
                codes, categories, ..
            } => Some((codes, categories)),
            _ => None,
        }
    }

    /// Numbers of a numeric column.
    pub fn numeric(&self) -> Option<&Numbers> {
        match &self.values {
            Values::Numeric(values) => Some(values),
            _ => None,
        }
    }

    /// Creates a column without values.
    pub(crate) fn left_out(name: &str, reason: LeftOut) -> Self {
        Self {
            name: name.into(),
            values: Values::LeftOut(reason),
            n_missing: 0,
            date: None,
        }
    }

    /// Marks the numbers as days since 1970-01-01, if an order is given.
    #[must_use]
    pub fn dated(self, date: Option<DateOrder>) -> Self {
        Self { date, ..self }
    }

    /// Creates a numeric column, for tables made by code.
    pub fn from_numbers(name: &str, values: Vec<f64>) -> Self {
        Self {
            name: name.into(),
            n_missing: values.iter().filter(|v| v.is_nan()).count(),
            values: Values::Numeric(values.into()),
            date: None,
        }
    }

    /// Creates a categorical column from codes into `categories`, with [`MISSING`] for missing values. The
    /// result is the same as from its strings ([`Column::from_strings`]): categories are in order of first
    /// appearance, without those that do not occur.
    pub fn from_codes(
        name: &str,
        mut codes: Vec<u32>,
        categories: Vec<String>,
    ) -> Result<Self, Error> {
        check_length(name, codes.len())?;
        let mut seen = rustc_hash::FxHashSet::default();
        if let Some(category) = categories
            .iter()
            .find(|category| !seen.insert(category.as_str()))
        {
            let problem =
                format!("the category {category:?} is listed twice; list each category once");
            return Err(Error::column(name, problem));
        }
        let mut own = vec![MISSING; categories.len()];
        let mut order = Vec::new();
        for (row, code) in codes.iter_mut().enumerate() {
            if *code == MISSING {
                continue;
            }
            let Some(new) = own.get_mut(*code as usize) else {
                let problem = format!(
                    "the code {code} is out of range for {} categories; fix it, or mark it as missing",
                    categories.len()
                );
                return Err(Error::in_row(name, row, problem));
            };
            if *new == MISSING {
                *new = order.len() as u32;
                order.push(*code as usize);
            }
            *code = *new;
        }
        let mut categories = categories;
        let interner = Interner {
            codes,
            categories: order
                .iter()
                .map(|at| std::mem::take(&mut categories[*at]))
                .collect(),
            ..Interner::default()
        };
        Ok(interner.into_column(name.into()))
    }

    /// Creates a categorical column, for tables made by code; `None` is missing.
    pub fn from_strings<T: AsRef<str>>(
        name: &str,
        values: impl IntoIterator<Item = Option<T>>,
    ) -> Self {
        let mut interner = Interner::default();
        for value in values {
            let text = value.as_ref().map(|text| text.as_ref().as_bytes());
            // A `str` is always UTF-8.
            let code = text.and_then(|text| interner.code(text).ok());
            interner.codes.push(code.unwrap_or(MISSING));
        }
        interner.into_column(name.into())
    }
}

/// Checks the number of rows: row numbers have 32 bits, and the last number is reserved.
pub(crate) fn check_length(name: &str, rows: usize) -> Result<(), Error> {
    match rows < MISSING as usize {
        true => Ok(()),
        false => Err(Error::column(
            name,
            format!("{} rows are too many; take a sample", grouped(rows)),
        )),
    }
}

/// Converts strings to codes in order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    pub(crate) codes: Vec<u32>,
    pub(crate) categories: Vec<String>,
    // Keyed by bytes, so that only new categories are checked for UTF-8.
    index: FxHashMap<Box<[u8]>, u32>,
    /// The last code found in each slot. Most columns have few categories, and this lookup costs a third of
    /// one in the index.
    recent: Vec<u32>,
    /// Total bytes of all categories.
    n_bytes: usize,
}

/// Slots for recent codes.
const RECENT: usize = 256;

impl Interner {
    pub(crate) fn push(&mut self, text: &[u8]) -> Result<(), Utf8Error> {
        let code = self.code(text)?;
        self.codes.push(code);
        Ok(())
    }

    /// The code of a string, which is added if it is new.
    pub(crate) fn code(&mut self, text: &[u8]) -> Result<u32, Utf8Error> {
        if self.recent.is_empty() {
            self.recent = vec![MISSING; RECENT];
        }
        let slot = slot(text);
        let recent = self.recent[slot];
        if let Some(category) = self.categories.get(recent as usize)
            && category.as_bytes() == text
        {
            return Ok(recent);
        }
        let code = match self.index.get(text) {
            Some(&code) => code,
            None => self.add(text)?,
        };
        self.recent[slot] = code;
        Ok(code)
    }

    #[cold]
    fn add(&mut self, text: &[u8]) -> Result<u32, Utf8Error> {
        let code = self.categories.len() as u32;
        self.categories.push(std::str::from_utf8(text)?.to_owned());
        self.index.insert(text.into(), code);
        self.n_bytes += text.len();
        Ok(code)
    }

    /// Approximate memory of the categories in bytes; each is a string and a key of the index.
    pub(crate) fn category_bytes(&self) -> usize {
        const EACH: usize = size_of::<String>() + 2 * size_of::<(Box<[u8]>, u32)>() + 32;
        self.recent.capacity() * size_of::<u32>() + self.categories.len() * EACH + 2 * self.n_bytes
    }

    pub(crate) fn into_column(self, name: String) -> Column {
        Column {
            name,
            n_missing: self.codes.iter().filter(|c| **c == MISSING).count(),
            values: Values::Categorical {
                boolean: is_boolean(&self.categories),
                codes: self.codes,
                categories: self.categories,
            },
            date: None,
        }
    }
}

/// The slot of a string, from its length and both ends.
fn slot(text: &[u8]) -> usize {
    let end = |bytes: Option<&[u8; 4]>| bytes.map_or(0, |b| u32::from_le_bytes(*b));
    let short = || text.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    let ends = match text.len() {
        0..4 => short(),
        _ => end(text.first_chunk()) ^ end(text.last_chunk()).rotate_left(11),
    };
    let mixed = (ends ^ text.len() as u32).wrapping_mul(0x9E37_79B1);
    mixed as usize >> 24 & (RECENT - 1)
}

pub(crate) fn is_boolean(categories: &[String]) -> bool {
    const PAIRS: [[&str; 2]; 4] = [["true", "false"], ["yes", "no"], ["t", "f"], ["y", "n"]];
    let within = |pair: &[&str; 2]| {
        categories
            .iter()
            .all(|category| pair.iter().any(|word| category.eq_ignore_ascii_case(word)))
    };
    (1..=2).contains(&categories.len()) && PAIRS.iter().any(within)
}

/// A file that contributed rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFile {
    pub(crate) name: String,
    pub(crate) first_row: usize,
}

/// Raw columns as read.
#[derive(Debug, Clone)]
pub struct Table {
    /// The file or files, as given.
    pub name: String,
    columns: Vec<Column>,
    n_rows: usize,
    sources: Vec<SourceFile>,
    /// The row, over all files, that the first row is; 0 unless this is a piece of a table.
    first_row: usize,
    /// The form of the numbers in its files.
    pub(crate) decimal: Decimal,
    /// Number of columns at the end that are derived from others.
    n_derived: usize,
    /// Messages about automatic choices of the reader.
    pub diagnostics: Vec<Diagnostic>,
    /// Positions of the columns by name, computed at the first lookup.
    positions: OnceLock<FxHashMap<String, usize>>,
    /// Bytes of text examined to infer types; the allocator keeps most of them.
    pub(crate) looked: usize,
}

impl Table {
    /// Creates a table in code.
    ///
    /// # Panics
    /// If the columns differ in length.
    pub fn from_columns(name: &str, columns: Vec<Column>) -> Self {
        let n_rows = columns.iter().find_map(Column::n_rows).unwrap_or(0);
        assert!(
            columns
                .iter()
                .filter_map(Column::n_rows)
                .all(|n| n == n_rows),
            "columns of a table have one length"
        );
        Self {
            name: name.into(),
            columns,
            n_rows,
            sources: vec![SourceFile {
                name: name.into(),
                first_row: 0,
            }],
            first_row: 0,
            decimal: Decimal::Point,
            n_derived: 0,
            positions: OnceLock::new(),
            looked: 0,
            diagnostics: Vec::new(),
        }
    }

    /// Creates a table whose name consists of the file names, without folders.
    pub(crate) fn from_parts(
        columns: Vec<Column>,
        n_rows: usize,
        sources: Vec<SourceFile>,
        diagnostics: Vec<Diagnostic>,
    ) -> Self {
        let names: Vec<&str> = sources.iter().map(|s| file_name(&s.name)).collect();
        Self {
            name: names.join(" + "),
            columns,
            n_rows,
            sources,
            first_row: 0,
            decimal: Decimal::Point,
            n_derived: 0,
            positions: OnceLock::new(),
            looked: 0,
            diagnostics,
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// All columns in file order, including those left out.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The same table with its columns, to change their values.
    pub(crate) fn columns_mut(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    /// Rows of this table from row `first` on, with these columns.
    pub(crate) fn piece(&self, columns: Vec<Column>, first: usize, n_rows: usize) -> Self {
        Self {
            name: self.name.clone(),
            columns,
            n_rows,
            sources: self.sources.clone(),
            first_row: first,
            decimal: self.decimal,
            n_derived: 0,
            positions: OnceLock::new(),
            looked: 0,
            diagnostics: Vec::new(),
        }
    }

    /// A table with this many rows, of whose columns the values are elsewhere.
    pub(crate) fn without_values(&self, columns: Vec<Column>, n_rows: usize) -> Self {
        Self {
            diagnostics: self.diagnostics.clone(),
            ..self.piece(columns, 0, n_rows)
        }
    }

    /// Adds a column that is derived from others.
    pub(crate) fn push_derived(&mut self, column: Column) {
        self.columns.push(column);
        self.positions = OnceLock::new();
        self.n_derived += 1;
    }

    /// Whether a column is derived from others.
    pub(crate) fn is_derived(&self, name: &str) -> bool {
        let first = self.columns.len() - self.n_derived;
        self.columns[first..].iter().any(|c| c.name == name)
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let positions = self.positions.get_or_init(|| {
            let mut positions = FxHashMap::default();
            for (position, column) in self.columns.iter().enumerate() {
                // If columns have the same name, the first counts.
                positions.entry(column.name.clone()).or_insert(position);
            }
            positions
        });
        positions.get(name).map(|position| &self.columns[*position])
    }

    /// A column by name, or an error that lists similar names and the setting that requires the column.
    pub fn require(&self, name: &str, role: impl Into<Message>) -> Result<&Column, Error> {
        self.column(name).ok_or_else(|| {
            let names = || self.columns.iter().map(|c| c.name.as_str());
            let mut hint = Message::from(near_names(name, names()));
            if names().any(|n| parse_number(n.as_bytes()).is_some()) {
                let both = each([NO_HEADER, COLUMNS]);
                hint.push_remedy(say!["if the file has no header, pass ", both]);
            }
            Error::NoColumn {
                column: name.into(),
                role: role.into(),
                source_name: self.name.clone(),
                hint,
            }
        })
    }

    /// Selects these rows (from 0), in this order, and removes categories that no longer occur.
    ///
    /// # Panics
    /// If a row does not exist.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let picked = |column: &Column| match &column.values {
            Values::Numeric(values) => {
                let values = rows.iter().map(|row| values.get(*row)).collect();
                Column::from_numbers(&column.name, values).dated(column.date)
            }
            Values::Categorical {
                codes, categories, ..
            } => {
                let text = |row: &usize| categories.get(codes[*row] as usize);
                Column::from_strings(&column.name, rows.iter().map(text))
            }
            Values::LeftOut(_) => column.clone(),
        };
        Self {
            name: self.name.clone(),
            columns: self.columns.iter().map(picked).collect(),
            n_rows: rows.len(),
            sources: self.sources.clone(),
            first_row: 0,
            decimal: self.decimal,
            n_derived: self.n_derived,
            positions: OnceLock::new(),
            looked: 0,
            diagnostics: self.diagnostics.clone(),
        }
    }

    /// Approximate memory of its columns, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let columns: usize = self.columns.iter().map(Column::bytes).sum();
        (columns + self.looked) as u64
    }

    /// The place that a row (from 0) came from.
    pub fn place(&self, row: usize) -> Place {
        place(&self.sources, self.first_row + row)
    }
}

/// The place that row `row` (from 0, over all files) came from.
pub(crate) fn place(sources: &[SourceFile], row: usize) -> Place {
    let index = sources.partition_point(|s| s.first_row <= row);
    let source = &sources[index.max(1) - 1];
    Place {
        file: source.name.clone(),
        row: row - source.first_row + 1,
        line: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_become_codes() {
        let column = Column::from_strings("c", [Some("b"), None, Some("a"), Some("b")]);
        assert_eq!(column.n_missing, 1);
        let (codes, categories) = column.categorical().unwrap();
        assert_eq!(codes, [0, MISSING, 1, 0]);
        assert_eq!(categories, ["b", "a"]);
        assert_eq!(column.column_type(), Some(ColumnType::Categorical));
    }

    #[test]
    fn yes_no_pairs_are_boolean() {
        for (categories, expected) in [
            (vec!["True", "False"], true),
            (vec!["yes"], true),
            (vec!["yes", "false"], false),
            (vec!["y", "n", "maybe"], false),
            (vec![], false),
        ] {
            let categories: Vec<String> = categories.into_iter().map(Into::into).collect();
            assert_eq!(is_boolean(&categories), expected, "{categories:?}");
        }
    }

    #[test]
    fn row_is_located_in_its_file() {
        let source = |name: &str, first_row| SourceFile {
            name: name.into(),
            first_row,
        };
        let sources = [source("a", 0), source("b", 10)];
        assert_eq!(place(&sources, 9).to_string(), "a, row 10");
        assert_eq!(place(&sources, 10).to_string(), "b, row 1");
    }
}
