//! Arrays between Python and Rust.

use fairfront_core::Points;
use numpy::{AllowTypeChange, PyArray1, PyArray2, PyArray3, PyArrayLikeDyn, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Numbers as an array of two axes.
pub(crate) fn matrix(
    py: Python<'_>,
    data: Vec<f64>,
    shape: [usize; 2],
) -> PyResult<Bound<'_, PyArray2<f64>>> {
    PyArray1::from_vec(py, data).reshape(shape)
}

/// Numbers as an array of three axes.
pub(crate) fn cube(
    py: Python<'_>,
    data: Vec<f64>,
    shape: [usize; 3],
) -> PyResult<Bound<'_, PyArray3<f64>>> {
    PyArray1::from_vec(py, data).reshape(shape)
}

/// Points as an array, a copy of their own.
pub(crate) fn of_points<'py>(
    py: Python<'py>,
    points: &Points,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let shape = [points.len(), points.n_params()];
    matrix(py, points.as_slice().to_vec(), shape)
}

/// The points of an array, for a problem with this many parameters.
pub(crate) fn points(array: &Bound<'_, PyArray2<f64>>, n_params: usize) -> PyResult<Points> {
    let array = array.try_readonly()?;
    let view = array.as_array();
    if view.ncols() != n_params {
        return Err(PyValueError::new_err(format!(
            "points have {} parameters, the problem has {n_params}",
            view.ncols()
        )));
    }
    Ok(Points::from_vec(n_params, view.iter().copied().collect()))
}

/// What a callable returned, as numbers: an array of this shape, or of another that is as good.
pub(crate) fn returned(
    what: &str,
    result: &Bound<'_, PyAny>,
    shapes: &[&[usize]],
    axes: &str,
) -> PyResult<Vec<f64>> {
    let array = result
        .extract::<PyArrayLikeDyn<'_, f64, AllowTypeChange>>()
        .map_err(|cause| {
            let kind = result.get_type();
            let message = format!("{what} returned no array of numbers but {kind}");
            let error = PyValueError::new_err(message);
            error.set_cause(result.py(), Some(cause));
            error
        })?;
    let view = array.as_array();
    if !shapes.contains(&view.shape()) {
        let shape = |shape: &[usize]| -> PyResult<String> {
            Ok(PyTuple::new(result.py(), shape)?.repr()?.to_string())
        };
        return Err(PyValueError::new_err(format!(
            "{what} returned an array of shape {}; it must be {} ({axes})",
            shape(view.shape())?,
            shape(shapes[0])?
        )));
    }
    Ok(view.iter().copied().collect())
}
