//! The extension module of the Python package `fairfront`.

mod array;
mod command;
mod dataset;
mod error;
mod indicator;
mod objective;
mod problem;
mod solver;
mod work;

/// What the package is made of; `fairfront` documents it.
#[pyo3::pymodule]
mod _fairfront {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::dataset::PyDataset;
    #[pymodule_export]
    use crate::objective::PyRows;
    #[pymodule_export]
    use crate::problem::{PyBatch, PyProblem};
    #[pymodule_export]
    use crate::solver::solve;
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
