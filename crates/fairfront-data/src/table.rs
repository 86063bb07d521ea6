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

/// How the values of a column are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Numbers; they are scaled.
    Numeric,
    /// Two values of a pair such as true/false or yes/no; treated as categorical.
    Boolean,
    /// Levels; one-hot encoded.
    Categorical,
    /// Dates and times, which become days since 1970-01-01. Where a type is asked for, the order of day
    /// and month is found by looking; where it was found, the year is first.
    Date,
    /// The same, the day before the month.
    #[serde(rename = "date-dmy")]
    DateDmy,
    /// The same, the month before the day.
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

    /// Whether the values are numbers to a model.
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

/// Something a person should know: said once, never fatal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// How much it matters.
    pub level: NoticeLevel,
    /// One line. Files hold its neutral words, unless a program has put it in its own ([`Self::worded`]).
    pub message: Message,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoticeLevel {
    /// What was decided for the user.
    Notice,
    /// What may make results wrong or hard to trust.
    Warning,
}

impl Notice {
    /// What was decided for the user.
    pub fn info(message: impl Into<Message>) -> Self {
        Self {
            level: NoticeLevel::Notice,
            message: message.into(),
        }
    }

    /// The same notice in the words of a program.
    #[must_use]
    pub fn worded(&self, wording: &dyn Wording) -> Self {
        Self {
            level: self.level,
            message: self.message.worded(wording),
        }
    }

    /// What may make results wrong or hard to trust.
    pub fn warning(message: impl Into<Message>) -> Self {
        Self {
            level: NoticeLevel::Warning,
            message: message.into(),
        }
    }
}

/// Why a column's values were not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// Not asked for: dropped or outside the selection, and so never read.
    NotRead,
    /// A text that is nearly unique per row, or has more than 1,000 values.
    Identifier,
    /// Not one value is present.
    AllMissing,
    /// Times of day, or durations.
    Date,
    /// A nested or repeated Parquet column.
    Nested,
    /// Bytes that are not text.
    Binary,
    /// The row number that pandas writes.
    PandasIndex,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotRead => "not read",
            Self::Identifier => "an identifier (nearly every row has its own value, or over 1,000)",
            Self::AllMissing => "all values are missing",
            Self::Date => "times without a date",
            Self::Nested => "nested values",
            Self::Binary => "bytes that are not text",
            Self::PandasIndex => "the index of a pandas table",
        })
    }
}

/// The values of a column, row by row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Finite numbers; NaN where missing.
    Numeric(Numbers),
    /// Positions in `levels`; [`MISSING`] where missing.
    Categorical {
        /// One code a row.
        codes: Vec<u32>,
        /// Distinct texts in order of first appearance.
        levels: Vec<String>,
        /// Whether the levels are a pair such as yes/no.
        boolean: bool,
    },
    /// Not kept.
    LeftOut(LeftOut),
}

/// A column as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Unique within the table.
    pub name: String,
    /// What is in it.
    pub values: Values,
    /// How many values are missing (0 where the column was not read).
    pub n_missing: usize,
    /// How dates were written, where the numbers are dates.
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

    /// Bytes of memory that its values take, about; those of another program do not count.
    fn bytes(&self) -> usize {
        match &self.values {
            Values::Numeric(Numbers::Own(values)) => values.capacity() * size_of::<f64>(),
            Values::Numeric(Numbers::Shared(_)) | Values::LeftOut(_) => 0,
            Values::Categorical { codes, levels, .. } => {
                let texts = levels
                    .iter()
                    .map(|level| size_of::<String>() + level.capacity());
                codes.capacity() * size_of::<u32>() + texts.sum::<usize>()
            }
        }
    }

    /// Codes and levels of a categorical column.
    pub fn categorical(&self) -> Option<(&[u32], &[String])> {
        match &self.values {
            Values::Categorical { codes, levels, .. } => Some((codes, levels)),
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

    /// A column without values.
    pub(crate) fn left_out(name: &str, reason: LeftOut) -> Self {
        Self {
            name: name.into(),
            values: Values::LeftOut(reason),
            n_missing: 0,
            date: None,
        }
    }

    /// The same numbers, which are days since 1970-01-01 where an order is given.
    #[must_use]
    pub fn dated(self, date: Option<DateOrder>) -> Self {
        Self { date, ..self }
    }

    /// A numeric column, for tables made by code.
    pub fn from_numbers(name: &str, values: Vec<f64>) -> Self {
        Self {
            name: name.into(),
            n_missing: values.iter().filter(|v| v.is_nan()).count(),
            values: Values::Numeric(values.into()),
            date: None,
        }
    }

    /// A categorical column of codes into `levels`, [`MISSING`] where missing. It is the same column as
    /// that of its texts ([`Column::from_texts`]): levels are in order of first appearance, and those
    /// that no row has are left out.
    pub fn from_codes(name: &str, mut codes: Vec<u32>, levels: Vec<String>) -> Result<Self, Error> {
        check_length(name, codes.len())?;
        let mut seen = rustc_hash::FxHashSet::default();
        if let Some(level) = levels.iter().find(|level| !seen.insert(level.as_str())) {
            let problem = format!("the level {level:?} is there twice; give each level once");
            return Err(Error::column(name, problem));
        }
        let mut own = vec![MISSING; levels.len()];
        let mut order = Vec::new();
        for (row, code) in codes.iter_mut().enumerate() {
            if *code == MISSING {
                continue;
            }
            let Some(new) = own.get_mut(*code as usize) else {
                let problem = format!(
                    "the code {code} is none of the {} levels; fix it, or make it missing",
                    levels.len()
                );
                return Err(Error::in_row(name, row, problem));
            };
            if *new == MISSING {
                *new = order.len() as u32;
                order.push(*code as usize);
            }
            *code = *new;
        }
        let mut levels = levels;
        let interner = Interner {
            codes,
            levels: order
                .iter()
                .map(|at| std::mem::take(&mut levels[*at]))
                .collect(),
            ..Interner::default()
        };
        Ok(interner.into_column(name.into()))
    }

    /// A categorical column, for tables made by code; `None` is missing.
    pub fn from_texts<T: AsRef<str>>(
        name: &str,
        values: impl IntoIterator<Item = Option<T>>,
    ) -> Self {
        let mut interner = Interner::default();
        for value in values {
            let text = value.as_ref().map(|text| text.as_ref().as_bytes());
            // What came as `str` is UTF-8.
            let code = text.and_then(|text| interner.code(text).ok());
            interner.codes.push(code.unwrap_or(MISSING));
        }
        interner.into_column(name.into())
    }
}

/// Rows are numbered by 32 bits, and the last number means that there is none.
pub(crate) fn check_length(name: &str, rows: usize) -> Result<(), Error> {
    match rows < MISSING as usize {
        true => Ok(()),
        false => Err(Error::column(
            name,
            format!("{} rows are too many; take a sample", grouped(rows)),
        )),
    }
}

/// Texts become codes in order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    pub(crate) codes: Vec<u32>,
    pub(crate) levels: Vec<String>,
    // Keyed by bytes, so that only new levels have to be checked for UTF-8.
    index: FxHashMap<Box<[u8]>, u32>,
    /// The code last found at each slot: most columns have few levels, and a look here is a third
    /// of the cost of one in the index.
    recent: Vec<u32>,
    /// Bytes of all levels.
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

    /// The code of a text, a new one where it has none yet.
    pub(crate) fn code(&mut self, text: &[u8]) -> Result<u32, Utf8Error> {
        if self.recent.is_empty() {
            self.recent = vec![MISSING; RECENT];
        }
        let slot = slot(text);
        let recent = self.recent[slot];
        if let Some(level) = self.levels.get(recent as usize)
            && level.as_bytes() == text
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
        let code = self.levels.len() as u32;
        self.levels.push(std::str::from_utf8(text)?.to_owned());
        self.index.insert(text.into(), code);
        self.n_bytes += text.len();
        Ok(code)
    }

    /// Bytes of memory that the levels take, about: each is a text and a key of the index.
    pub(crate) fn level_bytes(&self) -> usize {
        const EACH: usize = size_of::<String>() + 2 * size_of::<(Box<[u8]>, u32)>() + 32;
        self.recent.capacity() * size_of::<u32>() + self.levels.len() * EACH + 2 * self.n_bytes
    }

    pub(crate) fn into_column(self, name: String) -> Column {
        Column {
            name,
            n_missing: self.codes.iter().filter(|c| **c == MISSING).count(),
            values: Values::Categorical {
                boolean: is_boolean(&self.levels),
                codes: self.codes,
                levels: self.levels,
            },
            date: None,
        }
    }
}

/// A slot from the length and both ends of a text.
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

fn is_boolean(levels: &[String]) -> bool {
    const PAIRS: [[&str; 2]; 4] = [["true", "false"], ["yes", "no"], ["t", "f"], ["y", "n"]];
    let within = |pair: &[&str; 2]| {
        levels
            .iter()
            .all(|level| pair.iter().any(|word| level.eq_ignore_ascii_case(word)))
    };
    (1..=2).contains(&levels.len()) && PAIRS.iter().any(within)
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
    /// How the numbers of its files are written.
    pub(crate) decimal: Decimal,
    /// Columns at the end that were made of others.
    n_derived: usize,
    /// What the reader decided for the user.
    pub notices: Vec<Notice>,
    /// Positions of the columns by name, found when one is first asked for.
    positions: OnceLock<FxHashMap<String, usize>>,
    /// Bytes of text that were looked at to find types: the allocator keeps most of them.
    pub(crate) looked: usize,
}

impl Table {
    /// A table made by code.
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
            decimal: Decimal::Point,
            n_derived: 0,
            positions: OnceLock::new(),
            looked: 0,
            notices: Vec::new(),
        }
    }

    /// The name is made of the names of the files, without their folders.
    pub(crate) fn from_parts(
        columns: Vec<Column>,
        n_rows: usize,
        sources: Vec<SourceFile>,
        notices: Vec<Notice>,
    ) -> Self {
        let names: Vec<&str> = sources.iter().map(|s| file_name(&s.name)).collect();
        Self {
            name: names.join(" + "),
            columns,
            n_rows,
            sources,
            decimal: Decimal::Point,
            n_derived: 0,
            positions: OnceLock::new(),
            looked: 0,
            notices,
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// All columns, those left out included, in file order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Adds a column that is made of others.
    pub(crate) fn push_derived(&mut self, column: Column) {
        self.columns.push(column);
        self.positions = OnceLock::new();
        self.n_derived += 1;
    }

    /// Whether a column was made of others.
    pub(crate) fn is_derived(&self, name: &str) -> bool {
        let first = self.columns.len() - self.n_derived;
        self.columns[first..].iter().any(|c| c.name == name)
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let positions = self.positions.get_or_init(|| {
            let mut positions = FxHashMap::default();
            for (position, column) in self.columns.iter().enumerate() {
                // Of columns with the same name, the first.
                positions.entry(column.name.clone()).or_insert(position);
            }
            positions
        });
        positions.get(name).map(|position| &self.columns[*position])
    }

    /// A column by name, or an error that names the near ones and the setting that asks for the column.
    pub fn require(&self, name: &str, role: impl Into<Message>) -> Result<&Column, Error> {
        self.column(name).ok_or_else(|| {
            let names = || self.columns.iter().map(|c| c.name.as_str());
            let mut hint = Message::from(near_names(name, names()));
            if names().any(|n| parse_number(n.as_bytes()).is_some()) {
                let both = each([NO_HEADER, COLUMNS]);
                hint.push_remedy(say!["if the file has no header, say ", both]);
            }
            Error::NoColumn {
                column: name.into(),
                role: role.into(),
                source_name: self.name.clone(),
                hint,
            }
        })
    }

    /// These rows (from 0) alone, in this order; levels that none of them has are gone.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let picked = |column: &Column| match &column.values {
            Values::Numeric(values) => {
                let values = rows.iter().map(|row| values.get(*row)).collect();
                Column::from_numbers(&column.name, values).dated(column.date)
            }
            Values::Categorical { codes, levels, .. } => {
                let text = |row: &usize| levels.get(codes[*row] as usize);
                Column::from_texts(&column.name, rows.iter().map(text))
            }
            Values::LeftOut(_) => column.clone(),
        };
        Self {
            name: self.name.clone(),
            columns: self.columns.iter().map(picked).collect(),
            n_rows: rows.len(),
            sources: self.sources.clone(),
            decimal: self.decimal,
            n_derived: self.n_derived,
            positions: OnceLock::new(),
            looked: 0,
            notices: self.notices.clone(),
        }
    }

    /// Bytes of memory that its columns take, about.
    pub(crate) fn bytes(&self) -> u64 {
        let columns: usize = self.columns.iter().map(Column::bytes).sum();
        (columns + self.looked) as u64
    }

    /// Where a row (from 0) came from.
    pub fn place(&self, row: usize) -> Place {
        place(&self.sources, row)
    }
}

/// Where row `row` (from 0, over all files) came from.
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
    fn texts_become_codes() {
        let column = Column::from_texts("c", [Some("b"), None, Some("a"), Some("b")]);
        assert_eq!(column.n_missing, 1);
        let (codes, levels) = column.categorical().unwrap();
        assert_eq!(codes, [0, MISSING, 1, 0]);
        assert_eq!(levels, ["b", "a"]);
        assert_eq!(column.column_type(), Some(ColumnType::Categorical));
    }

    #[test]
    fn pairs_are_boolean() {
        for (levels, expected) in [
            (vec!["True", "False"], true),
            (vec!["yes"], true),
            (vec!["yes", "false"], false),
            (vec!["y", "n", "maybe"], false),
            (vec![], false),
        ] {
            let levels: Vec<String> = levels.into_iter().map(Into::into).collect();
            assert_eq!(is_boolean(&levels), expected, "{levels:?}");
        }
    }

    #[test]
    fn a_row_is_placed_in_its_file() {
        let source = |name: &str, first_row| SourceFile {
            name: name.into(),
            first_row,
        };
        let sources = [source("a", 0), source("b", 10)];
        assert_eq!(place(&sources, 9).to_string(), "a, row 10");
        assert_eq!(place(&sources, 10).to_string(), "b, row 1");
    }
}
