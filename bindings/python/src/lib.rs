//! The extension module of the Python package `fairfront`.

mod command;
mod error;
mod indicator;
#[expect(dead_code, reason = "what fits fronts comes next")]
mod work;

/// What the package is made of; `fairfront` documents it.
#[pyo3::pymodule]
mod _fairfront {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::indicator::{
        additive_epsilon, contributions, coverage, hypervolume, igd_plus, is_nondominated, knee,
        min_norm, nondominated, profile_ratios, purity, select_spread, spread, thin,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::work::hush();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
