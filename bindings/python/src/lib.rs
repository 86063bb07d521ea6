//! The extension module of the Python package `fairfront`.

#![allow(
    clippy::doc_markdown,
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "PyO3 passes each argument by value and turns doc comments into docstrings"
)]

mod array;
mod arrow;
mod audit;
mod column;
mod command;
mod dataset;
mod error;
mod fit;
mod indicator;
mod live;
mod objective;
mod pack;
mod plan;
mod problem;
mod run;
mod solver;
mod wording;
mod work;
mod worker;

/// The extension module; the package `fairfront` documents its functions.
#[pyo3::pymodule]
mod _fairfront {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::audit::{PyAudited, audit};
    #[pymodule_export]
    use crate::column::PyColumns;
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::dataset::PyDataset;
    #[pymodule_export]
    use crate::fit::fit;
    #[pymodule_export]
    use crate::indicator::{
        additive_epsilon, contributions, coverage, hypervolume, igd_plus, is_nondominated, knee,
        min_norm, nondominated, profile_ratios, purity, select_spread, spread, thin,
    };
    #[pymodule_export]
    use crate::live::PyLive;
    #[pymodule_export]
    use crate::objective::PyRows;
    #[pymodule_export]
    use crate::pack::{PyPacker, is_block_file, pack_files};
    #[pymodule_export]
    use crate::plan::plan_estimators;
    #[pymodule_export]
    use crate::problem::{PyBatch, PyProblem};
    #[pymodule_export]
    use crate::run::{PyRun, check_choice, write_file};
    #[pymodule_export]
    use crate::solver::solve;
    #[pymodule_export]
    use crate::wording::named_settings;
    #[pymodule_export]
    use crate::worker::{PyBlockFile, PyShards};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::work::hush();
        module.add(
            "BLOCKS_PER_SUPER_BLOCK",
            fairfront_core::BLOCKS_PER_SUPER_BLOCK,
        )?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
