//! Errors of Rust as exceptions of Python: the same message, in the words of the package.

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

/// What went wrong, on its way to Python.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Of our crates.
    Run(RunError),
    /// An exception that is there already: one of a callable, or one of ours.
    Python(PyErr),
    /// A panic: a bug, whatever the input.
    Panic(String),
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// Each of our errors, by way of the one that holds them all.
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
                "internal error: {message}; this is a bug of fairfront, please report it"
            )),
            // Ctrl-C raises its own exception.
            Failure::Run(error) if error.is_stopped() => PyTimeoutError::new_err(
                "the time limit passed before a model was found; give a larger max_seconds",
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

/// What a callable raised, on its way through our crates; any other error comes back.
fn raised(error: RunError) -> Result<PyErr, RunError> {
    use fairfront_core::Error as CoreError;
    use fairfront_solve::Error as SolveError;
    match error {
        RunError::Model(ModelError::Evaluate(CoreError::Custom(custom)))
        | RunError::Solve(SolveError::Evaluation(CoreError::Custom(custom))) => custom
            .downcast::<PyErr>()
            .map(|raised| *raised)
            .map_err(|other| CoreError::Custom(other).into()),
        other => Err(other),
    }
}

/// What kind of trouble there is with a file, where it is about one.
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
