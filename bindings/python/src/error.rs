//! Errors of Rust as exceptions of Python: the same message, in the words of the package.

use std::io::ErrorKind;

use fairfront_data::Error as DataError;
use fairfront_run::Error as RunError;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileNotFoundError, PyMemoryError, PyOSError, PyPermissionError, PyRuntimeError,
    PyTimeoutError, PyValueError,
};

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
    fairfront_model::Error,
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
                let message = in_python(&error.to_string());
                if matches!(error, RunError::Table(DataError::Memory { .. })) {
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
        RunError::Evaluate(CoreError::Custom(custom))
        | RunError::Solve(SolveError::Evaluation(CoreError::Custom(custom))) => custom
            .downcast::<PyErr>()
            .map(|raised| *raised)
            .map_err(|other| RunError::Evaluate(CoreError::Custom(other))),
        other => Err(other),
    }
}

/// What kind of trouble there is with a file, where it is about one.
fn about_file(error: &RunError) -> Option<ErrorKind> {
    match error {
        RunError::Table(DataError::Io { source, .. }) => Some(source.kind()),
        RunError::File { path, .. } => {
            let found = std::fs::symlink_metadata(path);
            Some(found.map_or_else(|e| e.kind(), |_| ErrorKind::Other))
        }
        _ => None,
    }
}

/// Words of the command line, and what they are for somebody without one; the longer ones first.
const WORDS: [(&str, &str); 38] = [
    (" with --feature and --drop", ""),
    (
        "fit with stream --window, which keeps the last rows only",
        "call partial_fit with a window, which keeps the last rows only",
    ),
    (
        "free memory, or set --memory to go on regardless",
        "or free memory",
    ),
    ("; look at --drop, --type and --missing", ""),
    ("join groups with --merge", "join groups"),
    ("merge some with --merge", "merge some"),
    (" or --merge", ""),
    (
        "count less with the setting shrink",
        "count less, as in 'demographic_parity(A, shrink=5)'",
    ),
    (
        "name one that fit wrote",
        "name one that save or the command wrote",
    ),
    ("--weights", "weights"),
    ("--missing-sensitive", "missing_sensitive"),
    ("--missing keep", "missing='keep'"),
    ("--missing", "missing"),
    ("--sensitive", "sensitive_features"),
    ("--positive", "pos_label"),
    ("--objective", "objectives"),
    ("--target", "y"),
    ("--weight", "sample_weight"),
    ("--method ", "method="),
    ("--method", "method"),
    ("--points", "n_points"),
    ("--penalty ", "penalty="),
    ("--front-in ", "front_in="),
    ("--front-in", "front_in"),
    ("--pool-rare ", "pool_rare="),
    ("--merge or --pool-groups ", "pool_groups="),
    ("--pool-groups", "pool_groups"),
    ("--min-group", "min_group"),
    ("--split", "validation_fraction"),
    ("--confidence none", "confidence=None"),
    ("--confidence", "confidence"),
    ("--exact", "exact"),
    ("--require", "require"),
    ("--force", "force=True"),
    ("--id", "point"),
    ("--seed", "random_state"),
    ("--set ", "settings: "),
    ("--set", "settings"),
];

/// A message as somebody without a command line understands it; what is in quotes stays as it is.
pub(crate) fn in_python(message: &str) -> String {
    let pieces = message.split('"').enumerate();
    let pieces = pieces.map(|(i, piece)| match i % 2 {
        0 => plain(piece),
        _ => piece.to_owned(),
    });
    pieces.collect::<Vec<_>>().join("\"")
}

fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    for (flag, word) in WORDS {
        text = text.replace(flag, word);
    }
    // What has no other name here is called by its own.
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("--") {
        let (before, flag) = rest.split_at(at);
        let last = before.chars().last();
        let begins_word = last.is_none_or(|c| !c.is_alphanumeric() && c != '-');
        let is_flag = begins_word && flag[2..].starts_with(|c: char| c.is_ascii_lowercase());
        plain.push_str(before);
        plain.push_str(if is_flag { "" } else { "--" });
        rest = &flag[2..];
    }
    plain + rest
}
