//! Arrays between Python and Rust.

use fairfront_core::Points;
use numpy::{AllowTypeChange, PyArray1, PyArray2, PyArray3, PyArrayLikeDyn, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Converts numbers to an array with two axes.
pub(crate) fn matrix(
    py: Python<'_>,
    data: Vec<f64>,
    shape: [usize; 2],
) -> PyResult<Bound<'_, PyArray2<f64>>> {
    PyArray1::from_vec(py, data).reshape(shape)
}

/// Converts numbers to an array with three axes.
pub(crate) fn cube(
    py: Python<'_>,
    data: Vec<f64>,
    shape: [usize; 3],
) -> PyResult<Bound<'_, PyArray3<f64>>> {
    PyArray1::from_vec(py, data).reshape(shape)
}

/// Copies points to an array.
pub(crate) fn of_points<'py>(
    py: Python<'py>,
    points: &Points,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let shape = [points.len(), points.n_params()];
    matrix(py, points.as_slice().to_vec(), shape)
}

/// Reads the points of an array for a problem with `n_params` parameters.
pub(crate) fn points(array: &Bound<'_, PyArray2<f64>>, n_params: usize) -> PyResult<Points> {
    let array = array.try_readonly()?;
    let view = array.as_array();
    if view.ncols() != n_params {
        return Err(PyValueError::new_err(format!(
            "points have {} parameters, but the problem has {n_params}; pass {n_params} per point",
            view.ncols()
        )));
    }
    Ok(Points::from_vec(n_params, view.iter().copied().collect()))
}

/// The numbers that a callable returned, in an array of one of `shapes`. Messages show the first
/// shape.
pub(crate) fn returned(
    subject: &str,
    result: &Bound<'_, PyAny>,
    shapes: &[&[usize]],
    axes: &str,
) -> PyResult<Vec<f64>> {
    let array = result
        .extract::<PyArrayLikeDyn<'_, f64, AllowTypeChange>>()
        .map_err(|cause| {
            let kind = result.get_type();
            let message = format!("{subject} returned {kind}; return an array of numbers");
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
            "{subject} returned an array of shape {}; it must be {} ({axes})",
            shape(view.shape())?,
            shape(shapes[0])?
        )));
    }
    Ok(view.iter().copied().collect())
}
