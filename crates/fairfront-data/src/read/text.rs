//! Reads any supported file as CSV text on demand, so that memory does not grow with the file.

use std::collections::BTreeMap;
use std::io::{self, Read};

use super::header::make_unique;
use super::record::Records;
use super::{BATCH_ROWS, Input, Plan, ReadOptions, open, parquet};
use crate::date::date_text;
use crate::error::Error;
use crate::sieve::Exclusion;
use crate::table::{Column, ColumnType, Table, Values};

/// A file as CSV text.
pub struct TextInput {
    /// Its name in messages.
    pub name: String,
    /// The text. A `read` that returns nothing means "nothing more for now" if the file is plain, otherwise
    /// the end.
    pub text: Box<dyn Read + Send>,
    /// The field separator, if the text was generated here; such text has a header.
    pub separator: Option<u8>,
    /// The column types that the format declares.
    pub types: BTreeMap<String, ColumnType>,
    /// Whether the text is the bytes of a CSV file, which can be followed while it grows.
    pub is_plain: bool,
}

impl std::fmt::Debug for TextInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextInput")
            .field("name", &self.name)
            .field("separator", &self.separator)
            .field("types", &self.types)
            .field("is_plain", &self.is_plain)
            .finish_non_exhaustive()
    }
}

impl TextInput {
    /// The records of the text. The options for the layout of CSV files do not apply to generated text.
    pub fn records(self, options: &ReadOptions) -> Records<Box<dyn Read + Send>> {
        let mut options = options.clone();
        if self.separator.is_some() {
            options.separator = self.separator;
            options.header = true;
            options.columns = None;
        }
        Records::new(&self.name, self.text, &options)
    }

    /// CSV text with this header. `next` writes some rows at a time until none are left.
    fn made(
        name: &str,
        types: BTreeMap<String, ColumnType>,
        header: Vec<String>,
        mut next: impl FnMut(&mut csv::Writer<Vec<u8>>) -> Result<bool, Error> + Send + 'static,
    ) -> Self {
        let mut header = Some(header);
        let next = move || -> Result<Option<Vec<u8>>, Error> {
            let mut writer = csv::Writer::from_writer(Vec::new());
            match header.take() {
                Some(names) => writer.write_record(&names).map_err(unwritten)?,
                None if next(&mut writer)? => {}
                None => return Ok(None),
            }
            let failed = |e: csv::IntoInnerError<_>| unwritten(e.into_error().into());
            writer.into_inner().map(Some).map_err(failed)
        };
        Self {
            name: name.into(),
            text: Box::new(Pieces {
                next,
                piece: io::Cursor::default(),
                is_over: false,
            }),
            separator: Some(b','),
            types,
            is_plain: false,
        }
    }
}

/// Opens a file as CSV text: a plain CSV file unchanged, a compressed one decompressed, a Parquet file
/// converted row by row. `-` is standard input, which cannot be Parquet.
///
/// The text of a Parquet file restores numbers exactly. Nulls are empty, and so are columns that `options`
/// does not request or that are unusable (nested values, a pandas index).
pub fn open_text(file: &str, options: &ReadOptions) -> Result<TextInput, Error> {
    let (name, input) = open(file)?;
    let csv = |text, is_plain| TextInput {
        name: name.into(),
        text,
        separator: None,
        types: BTreeMap::new(),
        is_plain,
    };
    match input {
        Input::Text(text) => {
            let is_file = std::fs::metadata(file).is_ok_and(|m| m.is_file());
            Ok(csv(text, file != "-" && is_file))
        }
        Input::Unpacked(text) => Ok(csv(text, false)),
        Input::ParquetFile(opened) => parquet_text(name, opened, options),
        Input::ParquetPipe(_) => Err(Error::NotATable {
            file: name.into(),
            reason:
                "Parquet from a pipe cannot be read incrementally; write it to a file first and pass the file"
                    .into(),
        }),
    }
}

fn parquet_text(
    name: &str,
    file: std::fs::File,
    options: &ReadOptions,
) -> Result<TextInput, Error> {
    let mut batches = parquet::Batches::open(name, file, &options.missing_values)?;
    let names = make_unique(batches.names()?, &mut Vec::new());
    let index = batches.index_columns();
    let mut types = BTreeMap::new();
    // Whether each column is read.
    let mut read = Vec::with_capacity(names.len());
    for (field, (column, declared)) in names.iter().zip(batches.types()).enumerate() {
        let plan = options.plan(column);
        let is_index = plan == Plan::Look && index.contains(column);
        let wanted = declared.filter(|_| plan != Plan::Skip && !is_index);
        read.push(wanted.is_some());
        if let Some(declared) = wanted {
            types.insert(column.clone(), declared);
            batches.want(field, Plan::Copy)?;
        }
    }
    Ok(TextInput::made(name, types, names, move |writer| {
        let Some((n, columns)) = batches.next(BATCH_ROWS)? else {
            return Ok(false);
        };
        let mut columns = columns.iter();
        let fields: Vec<Option<&Column>> = read
            .iter()
            .map(|read| read.then(|| columns.next()).flatten())
            .collect();
        (0..n).try_for_each(|row| write_row(writer, &fields, row))?;
        Ok(true)
    }))
}

/// A table without the rows that the data set's own rules exclude, as CSV text.
pub(crate) fn table_text(table: Table, exclusions: &[Exclusion]) -> TextInput {
    let kept = |row: &usize| !exclusions.iter().any(|e| e.rows[*row]);
    let rows: Vec<usize> = (0..table.n_rows()).filter(kept).collect();
    let types = table.columns().iter();
    let types = types.filter_map(|c| Some((c.name.clone(), c.column_type()?)));
    let types = types.collect();
    let names = table.columns().iter().map(|c| c.name.clone()).collect();
    let name = table.name.clone();
    let mut next_row = 0;
    TextInput::made(&name, types, names, move |writer| {
        let some = &rows[next_row..rows.len().min(next_row + BATCH_ROWS)];
        next_row += some.len();
        let fields: Vec<Option<&Column>> = table.columns().iter().map(Some).collect();
        some.iter()
            .try_for_each(|row| write_row(writer, &fields, *row))?;
        Ok(!some.is_empty())
    })
}

fn write_row(
    writer: &mut csv::Writer<Vec<u8>>,
    fields: &[Option<&Column>],
    row: usize,
) -> Result<(), Error> {
    for field in fields {
        match field.map(|column| &column.values) {
            Some(Values::Numeric(values)) if !values.get(row).is_nan() => {
                let number = values.get(row);
                let is_date = field.is_some_and(|column| column.date.is_some());
                writer.write_field(match is_date {
                    true => date_text(number),
                    false => number.to_string(),
                })
            }
            Some(Values::Categorical {
                codes, categories, ..
            }) => writer.write_field(
                categories
                    .get(codes[row] as usize)
                    .map_or("", String::as_str),
            ),
            _ => writer.write_field(""),
        }
        .map_err(unwritten)?;
    }
    writer.write_record(None::<&[u8]>).map_err(unwritten)
}

/// The error of writing to memory, which fails only if a record has a different number of fields.
fn unwritten(error: csv::Error) -> Error {
    Error::io("the text of a table", error.into())
}

/// Text that is generated piece by piece.
struct Pieces<F> {
    next: F,
    piece: io::Cursor<Vec<u8>>,
    is_over: bool,
}

impl<F: FnMut() -> Result<Option<Vec<u8>>, Error>> Read for Pieces<F> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.piece.read(to)?;
            if n > 0 || to.is_empty() || self.is_over {
                return Ok(n);
            }
            match (self.next)().map_err(io::Error::other)? {
                Some(piece) => self.piece = io::Cursor::new(piece),
                None => self.is_over = true,
            }
        }
    }
}
