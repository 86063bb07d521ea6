//! Tables with Python's Arrow interface (`__arrow_c_stream__`): Polars, pyarrow and others.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatchReader};
use arrow_schema::{DataType, TimeUnit};
use fairfront_data::{Column, DateOrder, Error as DataError, NumberSource, date_number};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::Failure;

const STREAM: &CStr = c"arrow_array_stream";

/// Takes over the stream of such a table.
pub(crate) fn stream(table: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of this name contains a stream. Taking it leaves a released stream in the
    // capsule, as the interface requires.
    #[allow(unsafe_code, reason = "memory of another program")]
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
    Ok(stream)
}

/// Reads the columns of a stream.
pub(crate) fn columns(stream: FFI_ArrowArrayStream) -> Result<Vec<Column>, Failure> {
    let wrong = |e| PyValueError::new_err(format!("X: the Arrow stream cannot be read ({e})"));
    let reader = ArrowArrayStreamReader::try_new(stream).map_err(wrong)?;
    let schema = reader.schema();
    let mut chunks = vec![Vec::new(); schema.fields().len()];
    for batch in reader {
        let batch = batch.map_err(wrong)?;
        for (chunks, array) in chunks.iter_mut().zip(batch.columns()) {
            chunks.push(Arc::clone(array));
        }
    }
    let both = schema.fields().iter().zip(&chunks);
    both.map(|(field, chunks)| column(field.name(), chunks))
        .collect()
}

fn column(name: &str, chunks: &[ArrayRef]) -> Result<Column, Failure> {
    macro_rules! numbers {
        ($number:ty, $as_number:expr) => {
            Column::from_shared(name, Arc::new(Chunked::<$number>::of(chunks, $as_number)))
        };
    }
    let data_type = chunks.first().map(Array::data_type);
    let column = match data_type {
        None => Ok(Column::from_numbers(name, Vec::new())),
        Some(DataType::Null) => {
            let n = chunks.iter().map(Array::len).sum();
            Ok(Column::from_numbers(name, vec![f64::NAN; n]))
        }
        Some(DataType::Float64) => numbers!(Float64Type, |v| v),
        Some(DataType::Float32) => numbers!(Float32Type, f64::from),
        Some(DataType::Float16) => numbers!(Float16Type, f64::from),
        Some(DataType::Int64) => numbers!(Int64Type, |v| v as f64),
        Some(DataType::Int32) => numbers!(Int32Type, f64::from),
        Some(DataType::Int16) => numbers!(Int16Type, f64::from),
        Some(DataType::Int8) => numbers!(Int8Type, f64::from),
        Some(DataType::UInt64) => numbers!(UInt64Type, |v| v as f64),
        Some(DataType::UInt32) => numbers!(UInt32Type, f64::from),
        Some(DataType::UInt16) => numbers!(UInt16Type, f64::from),
        Some(DataType::UInt8) => numbers!(UInt8Type, f64::from),
        Some(DataType::Date32) => dated(numbers!(Date32Type, f64::from)),
        Some(DataType::Date64) => dated(numbers!(Date64Type, |v| time(v, 1_000_000))),
        Some(DataType::Timestamp(unit, _)) => dated(match unit {
            TimeUnit::Second => numbers!(TimestampSecondType, |v| time(v, 1_000_000_000)),
            TimeUnit::Millisecond => numbers!(TimestampMillisecondType, |v| time(v, 1_000_000)),
            TimeUnit::Microsecond => numbers!(TimestampMicrosecondType, |v| time(v, 1000)),
            TimeUnit::Nanosecond => numbers!(TimestampNanosecondType, |v| time(v, 1)),
        }),
        Some(other) => {
            let mut strings = Vec::new();
            for chunk in chunks {
                if !add_strings(chunk, &mut strings) {
                    return Err(PyTypeError::new_err(format!(
                        "column {name:?} has the unsupported type {other}; convert it to numbers, \
                         or drop it"
                    ))
                    .into());
                }
            }
            Ok(Column::from_strings(name, strings))
        }
    };
    Ok(column?)
}

/// Days since 1970-01-01 of a time in units of `unit` nanoseconds.
fn time(value: i64, unit: i64) -> f64 {
    let units = 86_400_000_000_000 / unit;
    let (days, rest) = (value.div_euclid(units), value.rem_euclid(units));
    days as f64 + date_number(rest * unit)
}

/// A column of days since 1970-01-01.
fn dated(column: Result<Column, DataError>) -> Result<Column, DataError> {
    column.map(|column| column.dated(Some(DateOrder::Ymd)))
}

/// Adds the strings of an array, `None` if missing. Returns whether the type is supported.
fn add_strings(array: &dyn Array, out: &mut Vec<Option<String>>) -> bool {
    fn owned<'a>(strings: impl Iterator<Item = Option<&'a str>>, out: &mut Vec<Option<String>>) {
        // Strips spaces, as for strings in files.
        out.extend(strings.map(|text| text.map(|text| text.trim().to_owned())));
    }
    match array.data_type() {
        DataType::Utf8 => owned(array.as_string::<i32>().iter(), out),
        DataType::LargeUtf8 => owned(array.as_string::<i64>().iter(), out),
        DataType::Utf8View => owned(array.as_string_view().iter(), out),
        DataType::Boolean => {
            let text = |value: bool| if value { "true" } else { "false" };
            let strings = array.as_boolean().iter().map(|value| value.map(text));
            owned(strings, out);
        }
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            if dictionary.values().is_empty() {
                out.resize(out.len() + array.len(), None);
                return true;
            }
            let mut categories = Vec::new();
            if !add_strings(dictionary.values(), &mut categories) {
                return false;
            }
            let keys = dictionary.normalized_keys();
            let text = |row: usize| match array.is_null(row) {
                true => None,
                false => categories.get(keys[row]).cloned().flatten(),
            };
            out.extend((0..array.len()).map(text));
        }
        // The categories of a dictionary may be numbers.
        DataType::Int64 => categories::<Int64Type>(array, out),
        DataType::Int32 => categories::<Int32Type>(array, out),
        DataType::Int16 => categories::<Int16Type>(array, out),
        DataType::Int8 => categories::<Int8Type>(array, out),
        DataType::UInt64 => categories::<UInt64Type>(array, out),
        DataType::UInt32 => categories::<UInt32Type>(array, out),
        DataType::UInt16 => categories::<UInt16Type>(array, out),
        DataType::UInt8 => categories::<UInt8Type>(array, out),
        _ => return false,
    }
    true
}

/// Adds whole numbers as strings.
fn categories<T: ArrowPrimitiveType>(array: &dyn Array, out: &mut Vec<Option<String>>)
where
    T::Native: ToString,
{
    let numbers = array.as_primitive::<T>().iter();
    out.extend(numbers.map(|number| number.map(|n| n.to_string())));
}

/// The numbers of several arrays, concatenated.
struct Chunked<T: ArrowPrimitiveType> {
    chunks: Vec<PrimitiveArray<T>>,
    number: fn(T::Native) -> f64,
    /// The first row of each chunk, and the number of rows.
    starts: Vec<usize>,
}

impl<T: ArrowPrimitiveType> Chunked<T> {
    fn of(arrays: &[ArrayRef], number: fn(T::Native) -> f64) -> Self {
        let chunks: Vec<_> = arrays
            .iter()
            .map(|array| array.as_primitive::<T>().clone())
            .collect();
        let mut starts = vec![0];
        for chunk in &chunks {
            starts.push(starts[starts.len() - 1] + chunk.len());
        }
        Self {
            chunks,
            number,
            starts,
        }
    }
}

impl<T: ArrowPrimitiveType> std::fmt::Debug for Chunked<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} numbers of {}", self.len(), T::DATA_TYPE)
    }
}

impl<T: ArrowPrimitiveType> NumberSource for Chunked<T> {
    fn len(&self) -> usize {
        self.starts[self.chunks.len()]
    }

    fn get(&self, row: usize) -> f64 {
        let chunk = self.starts.partition_point(|start| *start <= row) - 1;
        let (array, row) = (&self.chunks[chunk], row - self.starts[chunk]);
        match array.is_null(row) {
            true => f64::NAN,
            false => (self.number)(array.value(row)),
        }
    }
}
