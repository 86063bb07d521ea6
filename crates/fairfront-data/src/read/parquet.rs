//! Reads Parquet into columns.

use std::cell::Cell;

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use ::parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use ::parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use super::column::{ColumnBuilder, Plan};
use super::header::check_names;
use super::lane::BadValue;
use super::lane::has_nul;
use super::{MissingValues, TableBuilder};
use crate::date::NANOS_PER_DAY;
use crate::error::{Error, Place};
use crate::table::{Column, ColumnType, LeftOut, Values};

/// The number of values to request from a column at a time.
const BATCH: usize = 8192;
/// The day number of 1970-01-01 in INT96.
const JULIAN_1970: i64 = 2_440_588;

pub(super) fn read(
    builder: &mut TableBuilder,
    file: &str,
    input: impl ChunkReader + 'static,
) -> Result<(), Error> {
    decoded(file, || read_columns(builder, file, input))
}

/// Runs a decoder and reports a panic as an error of the file.
fn decoded<T>(file: &str, decode: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let corrupted = || Err(corrupted(file, &"the pages are inconsistent"));
    guarded(decode).unwrap_or_else(corrupted)
}

/// Runs a decoder of Parquet files; `None` if it panics. The decoder does not check everything, and panics
/// on some corrupted files.
pub fn guarded<T>(decode: impl FnOnce() -> T) -> Option<T> {
    GUARDED.set(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(decode));
    GUARDED.set(false);
    result.ok()
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in code whose panics are caught and become errors: the decoder of Parquet files,
/// which panics on some corrupted ones. A program's panic hook should stay silent then.
pub fn panics_are_caught() -> bool {
    GUARDED.get()
}

fn read_columns(
    builder: &mut TableBuilder,
    file: &str,
    input: impl ChunkReader + 'static,
) -> Result<(), Error> {
    let failed = |e: ParquetError| corrupted(file, &e);
    let reader = SerializedFileReader::new(input).map_err(failed)?;
    let metadata = reader.metadata();
    let descriptors = metadata.file_metadata().schema_descr().columns().to_vec();
    let names: Vec<String> = descriptors.iter().map(|d| d.path().string()).collect();
    check_names(file, &names)?;
    let places = builder.begin_file(file, names, true)?;

    let index_columns = pandas_index(metadata);
    let mut kinds = Vec::with_capacity(descriptors.len());
    for (descriptor, &column) in descriptors.iter().zip(&places) {
        let kind = Kind::of(descriptor);
        let column = &mut builder.columns[column];
        let is_index = index_columns.contains(&column.name)
            && builder.options.plan(&column.name) == Plan::Look;
        match kind {
            _ if is_index => column.leave_out(LeftOut::PandasIndex),
            Kind::LeftOut(reason) => column.leave_out(reason),
            _ => kind
                .column_type()
                .into_iter()
                .for_each(|ty| column.declare(ty)),
        }
        let read = !is_index && !column.is_skipped() && !matches!(kind, Kind::LeftOut(_));
        kinds.push(read.then_some(kind));
    }

    check_size(builder, file, metadata, &kinds)?;
    let mut n_rows = 0;
    for group in 0..reader.num_row_groups() {
        let rows = reader.get_row_group(group).map_err(failed)?;
        let n_group = rows_of(file, rows.metadata())?;
        for (field, kind) in kinds.iter().enumerate() {
            let Some(kind) = *kind else { continue };
            let mut column_reader = rows.get_column_reader(field).map_err(failed)?;
            let column = &mut builder.columns[places[field]];
            match read_chunk(&mut column_reader, kind, n_group, &builder.missing, column) {
                Ok(()) => {}
                Err(Failure::Value(bad)) => {
                    let name = builder.columns[places[field]].name.clone();
                    return Err(builder.bad_value(bad, name, None));
                }
                Err(Failure::File(error)) => return Err(failed(error)),
            }
        }
        n_rows += n_group;
        builder.n_rows += n_group;
        builder.check_spool()?;
    }
    if n_rows == 0 {
        return Err(Error::NoRows {
            file: file.into(),
            reason: "the file has columns but no rows",
        });
    }
    Ok(())
}

/// Rejects a file whose columns would need too much memory, before they are read.
fn check_size(
    builder: &mut TableBuilder,
    file: &str,
    metadata: &ParquetMetaData,
    kinds: &[Option<Kind>],
) -> Result<(), Error> {
    let mut n_rows = 0_usize;
    let mut largest = 0;
    for group in metadata.row_groups() {
        n_rows = n_rows.saturating_add(rows_of(file, group)?);
        let read = group.columns().iter().zip(kinds);
        let sizes = read.filter(|(_, kind)| kind.is_some());
        let sizes = sizes.map(|(chunk, _)| usize::try_from(chunk.uncompressed_size()));
        // A column of a group may be a single page, which is decoded as a whole.
        largest = sizes.flatten().fold(largest, usize::max);
    }
    builder.make_room(file, n_rows, largest)
}

/// The number of rows of a group; a column that is not nested has one value per row.
fn rows_of(file: &str, group: &RowGroupMetaData) -> Result<usize, Error> {
    let n_rows = usize::try_from(group.num_rows())
        .map_err(|_| corrupted(file, &"a negative number of rows"))?;
    let mut flat = group.columns().iter();
    let differs = |c: &ColumnChunkMetaData| c.num_values() != group.num_rows();
    match flat.any(|c| c.column_descr().max_rep_level() == 0 && differs(c)) {
        true => Err(corrupted(file, &"the row counts are inconsistent")),
        false => Ok(n_rows),
    }
}

/// A file read a few rows at a time.
pub(super) struct Batches<R: ChunkReader> {
    file: String,
    reader: SerializedFileReader<R>,
    missing: MissingValues,
    /// Field, kind and plan of each column that is read.
    columns: Vec<(usize, Kind, Plan)>,
    /// The next row group, and the open readers of the current one.
    next_group: usize,
    open: Vec<ColumnReader>,
    /// Rows of the current group that remain, and rows of the file before them.
    n_left: usize,
    n_before: usize,
}

impl<R: ChunkReader + 'static> Batches<R> {
    pub(super) fn open(file: &str, input: R, missing_values: &[String]) -> Result<Self, Error> {
        decoded(file, || {
            Ok(Self {
                file: file.into(),
                reader: SerializedFileReader::new(input).map_err(|e| corrupted(file, &e))?,
                missing: MissingValues::new(missing_values),
                columns: Vec::new(),
                next_group: 0,
                open: Vec::new(),
                n_left: 0,
                n_before: 0,
            })
        })
    }

    fn descriptors(&self) -> &[ColumnDescPtr] {
        let metadata = self.reader.metadata().file_metadata();
        metadata.schema_descr().columns()
    }

    /// The names of all columns.
    pub(super) fn names(&self) -> Result<Vec<String>, Error> {
        let names = self.descriptors().iter();
        let names: Vec<String> = names.map(|d| d.path().string()).collect();
        check_names(&self.file, &names)?;
        Ok(names)
    }

    /// Adds a field to read.
    pub(super) fn want(&mut self, field: usize, plan: Plan) -> Result<(), Error> {
        let descriptor = &self.descriptors()[field];
        match Kind::of(descriptor) {
            Kind::LeftOut(reason) => Err(unusable(&self.file, descriptor, reason)),
            kind => {
                self.columns.push((field, kind, plan));
                Ok(())
            }
        }
    }

    /// The columns of the next rows, up to this many; `None` at the end.
    pub(super) fn next(&mut self, rows: usize) -> Result<Option<(usize, Vec<Column>)>, Error> {
        let file = self.file.clone();
        decoded(&file, || self.decode(&file, rows))
    }

    /// The type that the file declares for each column; unusable columns have none.
    pub(super) fn types(&self) -> Vec<Option<ColumnType>> {
        let kinds = self.descriptors().iter().map(|d| Kind::of(d));
        kinds.map(Kind::column_type).collect()
    }

    /// The columns that pandas wrote for its row index.
    pub(super) fn index_columns(&self) -> Vec<String> {
        pandas_index(self.reader.metadata())
    }

    fn decode(&mut self, file: &str, rows: usize) -> Result<Option<(usize, Vec<Column>)>, Error> {
        let failed = |e: ParquetError| corrupted(file, &e);
        while self.n_left == 0 {
            if self.next_group == self.reader.num_row_groups() {
                return Ok(None);
            }
            let group = self.reader.get_row_group(self.next_group).map_err(failed)?;
            self.n_left = rows_of(file, group.metadata())?;
            let fields = self.columns.iter();
            let open = fields.map(|(field, ..)| group.get_column_reader(*field));
            self.open = open.collect::<Result<_, _>>().map_err(failed)?;
            self.next_group += 1;
        }
        let n = rows.clamp(1, self.n_left);
        let mut columns = Vec::with_capacity(self.columns.len());
        for ((field, kind, plan), reader) in self.columns.iter().zip(&mut self.open) {
            let descriptor = self
                .reader
                .metadata()
                .file_metadata()
                .schema_descr()
                .column(*field);
            let name = descriptor.path().string();
            let mut builder = ColumnBuilder::new(name.clone(), *plan);
            let read = read_chunk(reader, *kind, n, &self.missing, &mut builder);
            let read = read.and_then(|()| Ok(builder.finish(&self.missing.numbers)?.0));
            let column = read.map_err(|failure| match failure {
                Failure::File(error) => failed(error),
                Failure::Value(bad) => {
                    let (row, problem) = (bad.row, bad.problem());
                    let place = Place {
                        file: file.into(),
                        row: self.n_before + row + 1,
                        line: None,
                    };
                    Error::Cell {
                        place,
                        column: name,
                        problem: problem.into(),
                    }
                }
            })?;
            if let Values::LeftOut(reason) = column.values {
                return Err(unusable(file, &descriptor, reason));
            }
            columns.push(column);
        }
        self.n_left -= n;
        self.n_before += n;
        Ok(Some((n, columns)))
    }
}

/// The error for a required column that is unusable.
fn unusable(file: &str, descriptor: &ColumnDescriptor, reason: LeftOut) -> Error {
    Error::Column {
        file: file.into(),
        column: descriptor.path().string(),
        problem: format!("this column cannot be used: {reason}; write it as strings or numbers")
            .into(),
    }
}

fn corrupted(file: &str, error: &dyn std::fmt::Display) -> Error {
    // Make it one line, and remove the decoder's own prefix.
    let text = error.to_string().replace('\n', " ");
    let text = text.trim_start_matches("Parquet error: ");
    Error::NotATable {
        file: file.into(),
        reason: format!("the Parquet file is truncated or corrupted ({text}); write it again")
            .into(),
    }
}

/// The kind of values in a Parquet column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    LeftOut(LeftOut),
    Boolean,
    Integer {
        signed: bool,
    },
    Decimal {
        scale: i32,
    },
    Float,
    Half,
    Text {
        annotated: bool,
    },
    /// Time since 1970-01-01 in units of this many nanoseconds.
    Date {
        unit: i64,
    },
}

impl Kind {
    /// The type of such a column; `None` if it is unusable.
    fn column_type(self) -> Option<ColumnType> {
        match self {
            Self::LeftOut(_) => None,
            Self::Boolean => Some(ColumnType::Boolean),
            Self::Text { .. } => Some(ColumnType::Categorical),
            Self::Date { .. } => Some(ColumnType::Date),
            Self::Integer { .. } | Self::Decimal { .. } | Self::Float | Self::Half => {
                Some(ColumnType::Numeric)
            }
        }
    }

    fn of(descriptor: &ColumnDescriptor) -> Self {
        if descriptor.max_rep_level() > 0 || descriptor.path().parts().len() > 1 {
            return Self::LeftOut(LeftOut::Nested);
        }
        let logical = descriptor.logical_type_ref();
        let converted = descriptor.converted_type();
        if let Some(unit) = date_unit(logical, converted) {
            return Self::Date { unit };
        }
        let is_time = matches!(logical, Some(LogicalType::Time(_)))
            || matches!(
                converted,
                ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS | ConvertedType::INTERVAL
            );
        if is_time {
            return Self::LeftOut(LeftOut::Date);
        }
        let is_decimal =
            matches!(logical, Some(LogicalType::Decimal(_))) || converted == ConvertedType::DECIMAL;
        let physical = descriptor.physical_type();
        if is_decimal {
            return Self::Decimal {
                scale: match logical {
                    Some(LogicalType::Decimal(decimal)) => decimal.scale,
                    _ => descriptor.type_scale(),
                },
            };
        }
        match physical {
            PhysicalType::BOOLEAN => Self::Boolean,
            PhysicalType::INT32 | PhysicalType::INT64 => {
                let unsigned = matches!(logical, Some(LogicalType::Integer(i)) if !i.is_signed)
                    || matches!(
                        converted,
                        ConvertedType::UINT_8
                            | ConvertedType::UINT_16
                            | ConvertedType::UINT_32
                            | ConvertedType::UINT_64
                    );
                Self::Integer { signed: !unsigned }
            }
            PhysicalType::INT96 => Self::Date {
                unit: NANOS_PER_DAY,
            },
            PhysicalType::FLOAT | PhysicalType::DOUBLE => Self::Float,
            PhysicalType::BYTE_ARRAY => {
                let annotated = logical.is_some() || converted != ConvertedType::NONE;
                Self::Text { annotated }
            }
            PhysicalType::FIXED_LEN_BYTE_ARRAY => match logical {
                Some(LogicalType::Float16) => Self::Half,
                _ => Self::LeftOut(LeftOut::Binary),
            },
        }
    }
}

/// Nanoseconds in a unit of dates; `None` for other types.
fn date_unit(logical: Option<&LogicalType>, converted: ConvertedType) -> Option<i64> {
    match (logical, converted) {
        (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => Some(NANOS_PER_DAY),
        (Some(LogicalType::Timestamp(timestamp)), _) => Some(match timestamp.unit {
            TimeUnit::MILLIS => 1_000_000,
            TimeUnit::MICROS => 1000,
            TimeUnit::NANOS => 1,
        }),
        (None, ConvertedType::TIMESTAMP_MILLIS) => Some(1_000_000),
        (None, ConvertedType::TIMESTAMP_MICROS) => Some(1000),
        _ => None,
    }
}

/// The columns that pandas wrote for its row index: the unnamed one, and those in its metadata.
fn pandas_index(metadata: &ParquetMetaData) -> Vec<String> {
    let file = metadata.file_metadata();
    let mut names: Vec<String> = file
        .schema_descr()
        .columns()
        .iter()
        .map(|d| d.path().string())
        .filter(|name| name.starts_with("__index_level_") && name.ends_with("__"))
        .collect();
    let pandas = file
        .key_value_metadata()
        .into_iter()
        .flatten()
        .find(|pair| pair.key == "pandas")
        .and_then(|pair| pair.value.as_deref())
        .and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    if let Some(pandas) = pandas
        && let Some(columns) = pandas["index_columns"].as_array()
    {
        names.extend(columns.iter().filter_map(|c| c.as_str().map(Into::into)));
    }
    names
}

enum Failure {
    Value(BadValue),
    File(ParquetError),
}

impl From<BadValue> for Failure {
    fn from(bad: BadValue) -> Self {
        Self::Value(bad)
    }
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        Self::File(error)
    }
}

fn read_chunk(
    reader: &mut ColumnReader,
    kind: Kind,
    n_rows: usize,
    missing: &MissingValues,
    column: &mut ColumnBuilder,
) -> Result<(), Failure> {
    match reader {
        ColumnReader::BoolColumnReader(r) => each(r, n_rows, column, |column, value| {
            column.push_text(if *value { b"true" } else { b"false" })
        }),
        ColumnReader::Int32ColumnReader(r) => each(r, n_rows, column, |column, &value| {
            let unsigned = i128::from(value as u32);
            push_integer(column, kind, i128::from(value), unsigned)
        }),
        ColumnReader::Int64ColumnReader(r) => each(r, n_rows, column, |column, &value| {
            let unsigned = i128::from(value as u64);
            push_integer(column, kind, i128::from(value), unsigned)
        }),
        ColumnReader::FloatColumnReader(r) => each(r, n_rows, column, |column, value| {
            push_float(column, missing, f64::from(*value))
        }),
        ColumnReader::DoubleColumnReader(r) => each(r, n_rows, column, |column, value| {
            push_float(column, missing, *value)
        }),
        ColumnReader::ByteArrayColumnReader(r) => each(r, n_rows, column, |column, value| {
            push_bytes(column, kind, missing, value.data())
        }),
        ColumnReader::FixedLenByteArrayColumnReader(r) => {
            each(r, n_rows, column, |column, value| {
                push_bytes(column, kind, missing, value.data())
            })
        }
        ColumnReader::Int96ColumnReader(r) => each(r, n_rows, column, |column, value| {
            let [low, high, julian] = [0, 1, 2].map(|i| i64::from(value.data()[i]));
            column.push_date(julian - JULIAN_1970, low | high << 32)
        }),
    }
}

fn push_float(
    column: &mut ColumnBuilder,
    missing: &MissingValues,
    value: f64,
) -> Result<(), BadValue> {
    // Infinity that stands for a missing value must be found here, because a numeric column rejects it.
    // Finite numbers are also found later.
    if !column.is_copied() && missing.numbers.contains(&value) {
        column.push_missing();
        return Ok(());
    }
    column.push_number(value)
}

fn push_integer(
    column: &mut ColumnBuilder,
    kind: Kind,
    signed: i128,
    unsigned: i128,
) -> Result<(), BadValue> {
    match kind {
        Kind::Decimal { scale } => column.push_number(decimal(signed, scale)),
        Kind::Integer { signed: false } => column.push_integer(unsigned),
        Kind::Date { unit } => {
            let units = NANOS_PER_DAY / unit;
            let signed = signed as i64;
            column.push_date(signed.div_euclid(units), signed.rem_euclid(units) * unit)
        }
        _ => column.push_integer(signed),
    }
}

fn push_bytes(
    column: &mut ColumnBuilder,
    kind: Kind,
    missing: &MissingValues,
    bytes: &[u8],
) -> Result<(), BadValue> {
    match kind {
        Kind::Decimal { scale } => column.push_number(big_decimal(bytes, scale)),
        Kind::Half => column.push_number(half(bytes)),
        _ if !column.is_copied() && missing.contains(bytes.trim_ascii()) => {
            column.push_missing();
            Ok(())
        }
        Kind::Text { annotated: false }
            if std::str::from_utf8(bytes).is_err() || has_nul(bytes) =>
        {
            column.leave_out(LeftOut::Binary);
            column.push_text(bytes)
        }
        _ if column.is_copied() => column.push_text(bytes),
        _ => column.push_text(bytes.trim_ascii()),
    }
}

/// Passes every value of the chunk to `push`, with nulls as missing.
fn each<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    n_rows: usize,
    column: &mut ColumnBuilder,
    mut push: impl FnMut(&mut ColumnBuilder, &T::T) -> Result<(), BadValue>,
) -> Result<(), Failure> {
    let mut values: Vec<T::T> = Vec::new();
    let mut levels: Vec<i16> = Vec::new();
    let mut done = 0;
    while done < n_rows {
        values.clear();
        levels.clear();
        let ask = BATCH.min(n_rows - done);
        let (records, _, _) = reader.read_records(ask, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::EOF(format!("a column has {done} of {n_rows} rows")).into());
        }
        done += records;
        // A required column has no definition levels, because every value is present.
        if levels.is_empty() {
            for value in &values {
                push(column, value)?;
            }
            continue;
        }
        let mut present = values.iter();
        for level in &levels {
            match (*level > 0).then(|| present.next()).flatten() {
                Some(value) => push(column, value)?,
                None => column.push_missing(),
            }
        }
    }
    Ok(())
}

/// The f64 nearest to unscaled · 10^−scale. The decimal is formatted and parsed, because dividing would
/// round twice.
fn decimal(unscaled: i128, scale: i32) -> f64 {
    format!("{unscaled}e{}", -i64::from(scale))
        .parse()
        .unwrap_or(f64::NAN)
}

/// A decimal of any length, big-endian two's complement.
fn big_decimal(bytes: &[u8], scale: i32) -> f64 {
    if bytes.is_empty() {
        return f64::NAN;
    }
    let negative = bytes[0] & 0x80 != 0;
    let fill = if negative { 0xff } else { 0 };
    if bytes.len() <= 16 {
        let mut wide = [fill; 16];
        wide[16 - bytes.len()..].copy_from_slice(bytes);
        return decimal(i128::from_be_bytes(wide), scale);
    }
    // More than 38 digits exceed the precision of f64 anyway.
    let magnitude = bytes.iter().fold(0.0, |sum, byte| {
        sum * 256.0 + f64::from(if negative { !byte } else { *byte })
    });
    let unscaled = if negative {
        -magnitude - 1.0
    } else {
        magnitude
    };
    unscaled / 10_f64.powi(scale)
}

/// IEEE half precision, little-endian.
fn half(bytes: &[u8]) -> f64 {
    let Ok(bytes) = <[u8; 2]>::try_from(bytes) else {
        return f64::NAN;
    };
    let bits = u16::from_le_bytes(bytes);
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    match exponent {
        0 => sign * fraction * 2_f64.powi(-14),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1.0 + fraction) * 2_f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_once() {
        assert_eq!(decimal(123_456, 2), 1234.56);
        assert_eq!(decimal(-1, 1), -0.1);
        assert_eq!(decimal(5, -2), 500.0);
        assert_eq!(big_decimal(&[0xff, 0x85], 2), -1.23);
        assert_eq!(big_decimal(&[0x7b], 2), 1.23);
        let mut wide = [0_u8; 20];
        wide[19] = 123;
        assert_eq!(big_decimal(&wide, 2), 1.23);
        let minus_123: Vec<u8> = [0xff; 19].into_iter().chain([0x85]).collect();
        assert_eq!(big_decimal(&minus_123, 2), -1.23);
    }

    #[test]
    fn halves_are_exact() {
        for (bits, value) in [
            (0x3c00_u16, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_953_125),
            (0x0001, 2_f64.powi(-24)),
            (0x7bff, 65504.0),
            (0x7c00, f64::INFINITY),
        ] {
            assert_eq!(half(&bits.to_le_bytes()), value);
        }
        assert!(half(&0x7e00_u16.to_le_bytes()).is_nan());
    }
}
