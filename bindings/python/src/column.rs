//! Columns of Python objects as columns of a table; numbers are not copied.

use std::sync::{Arc, Mutex, PoisonError};

use fairfront_data::{Column, DateOrder, MISSING, NumberSource};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::{arrow, work};

/// A column as the package passes it.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    /// The name and an array of numbers.
    Numbers(String, Bound<'py, PyAny>),
    /// The name, the code of each row (below 0 if missing) and the categories.
    Codes(String, PyReadonlyArray1<'py, i64>, Vec<String>),
    /// The name, days since 1970-01-01, and whether they are dates.
    Dates(String, Bound<'py, PyAny>, bool),
    /// The name, the nonzero values, their rows in increasing order, and the number of rows.
    Sparse(
        String,
        Bound<'py, PyArray1<f64>>,
        Bound<'py, PyArray1<i32>>,
        usize,
    ),
}

/// A column whose memory is known, but whose values have not been read yet.
pub(crate) enum Found {
    Numbers(String, Arc<dyn NumberSource>, Option<DateOrder>),
    Codes(String, Vec<u32>, Vec<String>),
}

impl Given<'_> {
    pub(crate) fn find(self) -> PyResult<Found> {
        Ok(match self {
            Self::Numbers(name, array) => Found::Numbers(name, numbers(&array)?, None),
            Self::Dates(name, array, is_date) => {
                let date = is_date.then_some(DateOrder::Ymd);
                Found::Numbers(name, numbers(&array)?, date)
            }
            Self::Codes(name, codes, categories) => {
                let code = |code: &i64| u32::try_from(*code).unwrap_or(MISSING);
                let codes = codes.as_array().iter().map(code).collect();
                Found::Codes(name, codes, categories)
            }
            Self::Sparse(name, values, rows, n_rows) => {
                let sparse = Sparse {
                    values: Strided::of(&values),
                    rows: Strided::of(&rows),
                    n_rows,
                };
                Found::Numbers(name, Arc::new(sparse), None)
            }
        })
    }

    /// Reads the column without the interpreter's lock.
    pub(crate) fn column(self, py: Python<'_>) -> PyResult<Column> {
        let found = self.find()?;
        work::outside(py, 1, || found.column())
    }
}

impl Found {
    fn column(self) -> Result<Column, Failure> {
        Ok(match self {
            Self::Numbers(name, numbers, date) => Column::from_shared(&name, numbers)?.dated(date),
            Self::Codes(name, codes, categories) => Column::from_codes(&name, codes, categories)?,
        })
    }
}

/// The columns of a table in memory, until a data set takes them.
#[pyclass(name = "Columns", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyColumns {
    n_rows: usize,
    /// The names of columns with missing values, and the number of these values.
    missing: Vec<(String, usize)>,
    columns: Mutex<Option<Vec<Column>>>,
}

impl PyColumns {
    fn of(columns: Vec<Column>) -> Self {
        let lacking = columns.iter().filter(|c| c.n_missing > 0);
        Self {
            n_rows: columns.first().and_then(Column::n_rows).unwrap_or(0),
            missing: lacking.map(|c| (c.name.clone(), c.n_missing)).collect(),
            columns: Mutex::new(Some(columns)),
        }
    }

    /// Takes the columns. Codes are not copied, so this works only once.
    pub(crate) fn take(&self) -> PyResult<Vec<Column>> {
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = columns.take();
        taken.ok_or_else(|| PyValueError::new_err("columns: already used; create new ones"))
    }
}

#[pymethods]
impl PyColumns {
    #[new]
    fn new(py: Python<'_>, given: Vec<Given<'_>>) -> PyResult<Self> {
        let found = given.into_iter().map(Given::find);
        let found = found.collect::<PyResult<Vec<Found>>>()?;
        work::outside(py, 1, || {
            let columns = found.into_iter().map(Found::column);
            Ok(Self::of(columns.collect::<Result<_, _>>()?))
        })
    }

    /// The columns of a table with `__arrow_c_stream__`.
    #[staticmethod]
    fn of_arrow(py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Self> {
        let stream = arrow::stream(table)?;
        work::outside(py, 1, || Ok(Self::of(arrow::columns(stream)?)))
    }

    /// The names of the columns, until they are taken.
    #[getter]
    fn names(&self) -> Vec<String> {
        let columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let columns = columns.iter().flatten();
        columns.map(|column| column.name.clone()).collect()
    }

    #[getter]
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Renames the columns, in order.
    fn rename(&self, names: Vec<String>) -> PyResult<()> {
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let columns = columns.as_mut().filter(|c| c.len() == names.len());
        let columns = columns.ok_or_else(|| PyValueError::new_err("names: pass one per column"))?;
        for (column, name) in columns.iter_mut().zip(names) {
            column.name = name;
        }
        Ok(())
    }

    /// The names of columns with missing values, and the number of these values.
    #[getter]
    fn missing(&self) -> Vec<(String, usize)> {
        self.missing.clone()
    }
}

/// Views an array of numbers in place.
fn numbers(array: &Bound<'_, PyAny>) -> PyResult<Arc<dyn NumberSource>> {
    macro_rules! of {
        ($($number:ty),*) => {$(
            if let Ok(array) = array.cast::<PyArray1<$number>>() {
                return Ok(Arc::new(Strided::of(array)));
            }
        )*};
    }
    of!(f64, f32, i64, i32, u8, i16, i8, u64, u32, u16);
    let found = array
        .getattr("dtype")
        .map_or_else(|_| array.get_type().to_string(), |dtype| dtype.to_string());
    Err(PyTypeError::new_err(format!(
        "expected a one-dimensional array of numbers, found {found}"
    )))
}

/// A number that converts to the nearest f64.
trait Number: Element + Copy {
    fn number(self) -> f64;
}

macro_rules! number {
    ($($number:ty),*) => {$(
        impl Number for $number {
            #[allow(clippy::cast_lossless, reason = "integers of 64 bits may lose digits")]
            fn number(self) -> f64 {
                self as f64
            }
        }
    )*};
}

number!(f64, f32, i64, i32, u8, i16, i8, u64, u32, u16);

/// The numbers of an array, at equal distances in memory.
#[derive(Debug)]
struct Strided<T> {
    /// Keeps the memory alive.
    _owner: Py<PyArray1<T>>,
    first: *const T,
    /// In bytes; below 0 if the array is reversed.
    stride: isize,
    len: usize,
}

// SAFETY: memory is only read. Python keeps it as long as the owner exists, and numpy does not
// resize arrays that have references. If other code writes to the array meanwhile, the race is the
// same as in every other library that works on arrays without the interpreter's lock.
#[allow(unsafe_code, reason = "memory of another program")]
unsafe impl<T> Send for Strided<T> {}
// SAFETY: see above.
#[allow(unsafe_code, reason = "memory of another program")]
unsafe impl<T> Sync for Strided<T> {}

impl<T: Number> Strided<T> {
    fn of(array: &Bound<'_, PyArray1<T>>) -> Self {
        Self {
            first: array.data().cast_const(),
            stride: array.strides()[0],
            len: array.len(),
            _owner: array.clone().unbind(),
        }
    }
}

impl<T: Number + std::fmt::Debug> NumberSource for Strided<T> {
    fn len(&self) -> usize {
        self.len
    }

    #[allow(unsafe_code, reason = "memory of another program")]
    fn get(&self, row: usize) -> f64 {
        assert!(row < self.len, "row {row} of {}", self.len);
        // SAFETY: the row is in the array, whose elements are `stride` bytes apart. The read does
        // not need alignment.
        let value = unsafe {
            let place = self.first.byte_offset(row as isize * self.stride);
            place.read_unaligned()
        };
        value.number()
    }
}

/// A column of a sparse matrix, in the memory of its values and rows.
#[derive(Debug)]
struct Sparse {
    values: Strided<f64>,
    /// Increasing.
    rows: Strided<i32>,
    n_rows: usize,
}

impl NumberSource for Sparse {
    fn len(&self) -> usize {
        self.n_rows
    }

    fn get(&self, row: usize) -> f64 {
        // Row numbers of 32 bits are exact as f64.
        let wanted = row as f64;
        let (mut low, mut high) = (0, self.rows.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.rows.get(middle) {
                found if found < wanted => low = middle + 1,
                found if found > wanted => high = middle,
                _ => return self.values.get(middle),
            }
        }
        0.0
    }
}
