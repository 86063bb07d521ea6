//! The command that the package installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `fairfront` with these arguments, the program name first. Returns its exit
/// code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| fairfront_cli::run(arguments))
}
