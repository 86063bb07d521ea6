//! Converts Rust errors to Python exceptions, with the package's names of settings.

use std::io::ErrorKind;

use fairfront_data::Error as DataError;
use fairfront_model::Error as ModelError;
use fairfront_run::Error as RunError;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileNotFoundError, PyMemoryError, PyOSError, PyPermissionError, PyRuntimeError,
    PyTimeoutError, PyValueError,
};

use crate::wording::Keywords;

/// An error on its way to Python.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of fairfront's crates.
    Run(RunError),
    /// A Python exception, raised by a callable or by this crate.
    Python(PyErr),
    /// A panic, which is always a bug.
    Panic(String),
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// Converts each crate's error by way of `RunError`, which contains all of them.
macro_rules! from {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Run(error.into())
            }
        }
    )*};
}

from!(
    RunError,
    DataError,
    fairfront_core::Error,
    ModelError,
    fairfront_pareto::Error,
    fairfront_solve::Error
);

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            Failure::Panic(message) => PyRuntimeError::new_err(format!(
                "internal error: {message}; this is a bug in fairfront, please report it"
            )),
            // Ctrl-C raises another exception.
            Failure::Run(error) if error.is_stopped() => PyTimeoutError::new_err(
                "the time limit passed before a model was found; set a larger max_seconds",
            ),
            Failure::Run(error) => {
                let error = match raised(error) {
                    Ok(raised) => return raised,
                    Err(error) => error,
                };
                let message = error.render(&Keywords);
                if matches!(
                    error,
                    RunError::Model(ModelError::Table(DataError::Memory { .. }))
                ) {
                    return PyMemoryError::new_err(message);
                }
                match about_file(&error) {
                    Some(ErrorKind::NotFound) => PyFileNotFoundError::new_err(message),
                    Some(ErrorKind::PermissionDenied) => PyPermissionError::new_err(message),
                    Some(_) => PyOSError::new_err(message),
                    None => PyValueError::new_err(message),
                }
            }
        }
    }
}

/// The exception that a callable raised inside the crates; any other error is returned unchanged.
fn raised(error: RunError) -> Result<PyErr, RunError> {
    use fairfront_core::Error as CoreError;
    use fairfront_solve::Error as SolveError;
    match error {
        RunError::Model(
            ModelError::Evaluate(CoreError::Custom(custom))
            | ModelError::Table(DataError::Rows(CoreError::Custom(custom))),
        )
        | RunError::Solve(SolveError::Evaluation(CoreError::Custom(custom))) => custom
            .downcast::<PyErr>()
            .map(|raised| *raised)
            .map_err(|other| CoreError::Custom(other).into()),
        other => Err(other),
    }
}

/// The kind of a file error; `None` for other errors.
fn about_file(error: &RunError) -> Option<ErrorKind> {
    match error {
        RunError::Model(ModelError::Table(DataError::Io { source, .. })) => Some(source.kind()),
        RunError::Model(ModelError::File { path, .. }) => {
            let found = std::fs::symlink_metadata(path);
            Some(found.map_or_else(|e| e.kind(), |_| ErrorKind::Other))
        }
        _ => None,
    }
}
