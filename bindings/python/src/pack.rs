//! Packs tables into block files: files, or batches of a table that arrive one after the other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fairfront_core::counted;
use fairfront_data::{
    Column, ColumnType, Error as DataError, Input, MISSING, PackSummary, Packer, Part, ReadOptions,
    Spec, Table, Values, grammar, named_counts, pack_files_checked,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::column::PyColumns;
use crate::dataset::Settings;
use crate::error::Failure;
use crate::work;

/// The roles of columns and the policies of a packed table, by the names of the package.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Roles {
    target: String,
    numeric: bool,
    /// All classes from the lowest to the highest, if they are ordered.
    order: Vec<String>,
    positive: Option<String>,
    /// Attributes as on the command line.
    sensitive: Vec<String>,
    weight: Option<String>,
    settings: Settings,
}

impl Roles {
    fn spec(&self) -> Result<Spec, Failure> {
        let mut spec = self.settings.spec()?;
        spec.target = Some(self.target.clone());
        spec.numeric = self.numeric;
        spec.order.clone_from(&self.order);
        if !self.numeric && self.positive.is_none() {
            // In files, the type of the column would decide whether the target is a number.
            let categorical = ColumnType::Categorical;
            spec.types.insert(self.target.clone(), categorical);
        }
        spec.positive.clone_from(&self.positive);
        spec.weight.clone_from(&self.weight);
        for text in &self.sensitive {
            spec.sensitive.push(grammar::attribute(text)?);
        }
        Ok(spec)
    }

    /// Rejects missing values if the policy is "error".
    fn check(&self, spec: &Spec, head: &Table) -> Result<(), DataError> {
        for column in head.columns().iter().filter(|c| c.n_missing > 0) {
            let name = &column.name;
            let values = counted(column.n_missing, "missing value");
            let is_sensitive = spec.sensitive.iter().flatten().any(|c| c == name);
            let remedies = if is_sensitive && self.settings.missing_sensitive == "error" {
                "set missing_sensitive='group' (a group of their own), 'loss-only' (use these rows for the \
                 loss only) or 'drop'"
            } else if spec.is_feature(name) && self.settings.missing == "error" {
                "accept them with missing='keep', or drop these rows with missing='drop'"
            } else {
                continue;
            };
            let message = format!("column {name:?} has {values}; {remedies}");
            return Err(DataError::usage(message));
        }
        Ok(())
    }
}

/// The summary of a packed table.
fn summary<'py>(py: Python<'py>, packed: &PackSummary) -> PyResult<Bound<'py, PyDict>> {
    let said = PyDict::new(py);
    said.set_item("rows_read", packed.rows_read)?;
    said.set_item("rows_used", packed.rows_used)?;
    let rows = PyDict::new(py);
    for (name, n) in named_counts(|part: Part| packed.split[part as usize]) {
        rows.set_item(name, n)?;
    }
    said.set_item("rows", rows)?;
    said.set_item("bytes_per_row", packed.row_bytes)?;
    said.set_item("bytes", packed.bytes)?;
    said.set_item("messages", crate::run::diagnostics(&packed.diagnostics))?;
    Ok(said)
}

/// Whether a file starts like a block file.
#[pyfunction]
pub(crate) fn is_block_file(path: &str) -> bool {
    Input::is_block_file(Path::new(path))
}

/// Packs files into a block file.
#[pyfunction]
pub(crate) fn pack_files(
    py: Python<'_>,
    files: Vec<String>,
    out: PathBuf,
    work_dir: PathBuf,
    roles: Roles,
    threads: usize,
) -> PyResult<Bound<'_, PyDict>> {
    let spec = roles.spec()?;
    let packed = work::outside(py, threads, || {
        let options = ReadOptions::default();
        let check = |head: &Table| roles.check(&spec, head);
        let places = (out.as_path(), work_dir.as_path());
        let mut progress = |_| {};
        Ok(pack_files_checked(
            &files,
            &spec,
            options,
            places,
            &check,
            &mut progress,
        )?)
    })?;
    summary(py, &packed)
}

/// Packs a table that arrives in batches.
#[pyclass(name = "Packer", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyPacker {
    roles: Roles,
    spec: Spec,
    state: Mutex<State>,
}

struct State {
    packer: Option<Packer>,
    /// Whether the columns of the first batch have categories.
    kinds: HashMap<String, bool>,
}

impl PyPacker {
    /// A column in the form of the first batch: columns that become groups or labels have categories, and so
    /// have columns without values if they had categories in the first batch.
    fn adapted(&self, column: Column, kinds: &HashMap<String, bool>) -> Column {
        let Values::Numeric(numbers) = &column.values else {
            return column;
        };
        let name = &column.name;
        let by_category = self.spec.sensitive.iter().flatten();
        let labels = self.spec.target.as_ref().filter(|_| !self.spec.numeric);
        let mut by_category = by_category.chain(labels);
        if by_category.any(|c| c == name) && column.date.is_none() {
            // As in files: whole numbers have no decimal point.
            let text = |value: f64| (!value.is_nan()).then(|| value.to_string());
            return Column::from_strings(name, numbers.iter().map(text));
        }
        let n = numbers.len();
        match column.n_missing == n && kinds.get(name) == Some(&true) {
            true => Column::from_codes(name, vec![MISSING; n], Vec::new()).unwrap_or(column),
            false => column,
        }
    }
}

#[pymethods]
impl PyPacker {
    #[new]
    fn new(roles: Roles, work_dir: PathBuf) -> PyResult<Self> {
        let spec = roles.spec()?;
        let packer = Packer::new(&spec, &ReadOptions::default(), &work_dir);
        Ok(Self {
            roles,
            spec,
            state: Mutex::new(State {
                packer: Some(packer.map_err(Failure::from)?),
                kinds: HashMap::new(),
            }),
        })
    }

    /// Takes the next rows.
    fn push(&self, py: Python<'_>, columns: &PyColumns) -> PyResult<()> {
        let columns = columns.take()?;
        work::outside(py, 1, || {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let State { packer, kinds } = &mut *state;
            let columns = columns.into_iter().map(|c| self.adapted(c, kinds));
            let table = Table::from_columns("X", columns.collect());
            if kinds.is_empty() {
                let kind = |c: &Column| (c.name.clone(), c.categorical().is_some());
                *kinds = table.columns().iter().map(kind).collect();
            }
            let packer = packer.as_mut().ok_or_else(used)?;
            Ok(packer.push(&table)?)
        })
    }

    /// Writes the block file.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        out: PathBuf,
        threads: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let packed = work::outside(py, threads, || {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let packer = state.packer.take().ok_or_else(used)?;
            let check = |head: &Table| self.roles.check(&self.spec, head);
            Ok(packer.finish_checked(&out, &check, &mut |_| {})?)
        })?;
        summary(py, &packed)
    }
}

fn used() -> Failure {
    Failure::Python(PyValueError::new_err(
        "the packer has already written its file; create a new one",
    ))
}
