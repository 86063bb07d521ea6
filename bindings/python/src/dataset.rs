//! Rows with their roles: what fronts are fitted on.

use std::sync::{Arc, OnceLock};

use fairfront_data::{
    Column, ColumnType, Encoded, Error as DataError, Known, MinGroup, MissingPolicy,
    MissingSensitive, Prepared, ReadOptions, Spec, SplitRule, Table, attribute_name, data_folder,
    grammar, identifier_warnings,
};
use fairfront_run::ObjectiveCall;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::column::{Given, PyColumns};
use crate::error::Failure;
use crate::work;

/// Rows with target, groups, weights and split; encoded when somebody asks for it.
#[pyclass(name = "Dataset", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyDataset {
    pub(crate) prepared: Prepared,
    encoded: OnceLock<Arc<Encoded>>,
}

impl PyDataset {
    fn new(prepared: Prepared) -> Self {
        Self {
            prepared,
            encoded: OnceLock::new(),
        }
    }

    /// The encoded rows.
    pub(crate) fn encoded(&self) -> Result<Arc<Encoded>, Failure> {
        if let Some(encoded) = self.encoded.get() {
            return Ok(Arc::clone(encoded));
        }
        let encoded = Arc::new(Encoded::new(&self.prepared)?);
        Ok(Arc::clone(self.encoded.get_or_init(|| encoded)))
    }
}

/// What becomes of rows and columns, by the names of the package.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    validation_fraction: f64,
    holdout_fraction: f64,
    seed: u64,
    missing: String,
    missing_sensitive: String,
    pool_rare: usize,
    min_group: usize,
    pool_groups: usize,
}

impl Settings {
    pub(crate) fn spec(&self) -> Result<Spec, Failure> {
        let share = 100.0 * self.validation_fraction;
        let held_out = 100.0 * self.holdout_fraction;
        let policy = match self.missing.as_str() {
            // Rows with missing values have been refused.
            "error" => "keep",
            other => other,
        };
        let sensitive = match self.missing_sensitive.as_str() {
            "error" => "drop",
            other => other,
        };
        Ok(Spec {
            split: match share > 0.0 || held_out > 0.0 {
                true => SplitRule::Shares([100.0 - share - held_out, share, 0.0, held_out]),
                false => SplitRule::None,
            },
            seed: self.seed,
            missing: policy.parse::<MissingPolicy>()?,
            missing_sensitive: sensitive.parse::<MissingSensitive>()?,
            pool_rare: self.pool_rare,
            min_group: MinGroup(self.min_group),
            pool_groups: self.pool_groups,
            ..Spec::default()
        })
    }
}

/// Columns of a table in memory with their roles.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Parts<'py> {
    source: String,
    features: PyRef<'py, PyColumns>,
    target: Given<'py>,
    positive: String,
    /// Columns and the names that objectives know them by.
    sensitive: Vec<(Given<'py>, String)>,
    weight: Option<Given<'py>>,
    /// Their attributes may be intersections of the sensitive ones.
    objectives: Vec<String>,
}

/// A table and what its columns are for.
pub(crate) struct Assembled {
    pub(crate) table: Table,
    pub(crate) spec: Spec,
    /// What the attributes are called.
    pub(crate) names: Vec<String>,
}

impl Parts<'_> {
    pub(crate) fn assemble(self, py: Python<'_>, settings: &Settings) -> PyResult<Assembled> {
        let mut spec = settings.spec()?;
        let mut columns = self.features.take()?;
        // In a pool of its own: the process may have been forked.
        let warnings = work::outside(py, 1, || Ok(identifier_warnings(&columns)))?;
        let target = self.target.column(py)?;
        spec.target = Some(target.name.clone());
        spec.positive = Some(self.positive);
        columns.push(target);
        let mut names = Vec::new();
        for (given, name) in self.sensitive {
            let column = given.column(py)?;
            spec.sensitive.push(vec![column.name.clone()]);
            // What looks like numbers was made groups of by whoever calls.
            let categorical = ColumnType::Categorical;
            spec.types.insert(column.name.clone(), categorical);
            columns.push(column);
            names.push(name);
        }
        add_intersections(&mut spec, &mut names, &self.objectives);
        if let Some(given) = self.weight {
            let column = given.column(py)?;
            spec.weight = Some(column.name.clone());
            columns.push(column);
        }
        check_lengths(&columns)?;
        let mut table = Table::from_columns(&self.source, columns);
        table.notices = warnings;
        Ok(Assembled { table, spec, names })
    }
}

/// Attributes such as `sex:race` that objectives name, of those that are there.
fn add_intersections(spec: &mut Spec, names: &mut Vec<String>, objectives: &[String]) {
    let n = names.len();
    for text in objectives {
        // What is wrong with an objective, the fit says.
        let Ok(call) = ObjectiveCall::parse(text) else {
            continue;
        };
        let name = attribute_name(&call.attribute);
        let position = |part: &String| names[..n].iter().position(|name| name == part);
        let parts: Option<Vec<usize>> = call.attribute.iter().map(position).collect();
        if let Some(parts) = parts
            && parts.len() > 1
            && !names.contains(&name)
        {
            let columns = parts.iter().map(|i| spec.sensitive[*i][0].clone());
            spec.sensitive.push(columns.collect());
            names.push(name);
        }
    }
}

/// The package hands over columns of one length; this is for what it did not foresee.
fn check_lengths(columns: &[Column]) -> PyResult<()> {
    let lengths: Vec<(&str, usize)> = columns
        .iter()
        .filter_map(|c| Some((c.name.as_str(), c.n_rows()?)))
        .collect();
    match lengths.iter().find(|(_, n)| *n != lengths[0].1) {
        None => Ok(()),
        Some((name, n)) => Err(PyValueError::new_err(format!(
            "column {name:?} has {n} rows, column {:?} has {}",
            lengths[0].0, lengths[0].1
        ))),
    }
}

#[pymethods]
impl PyDataset {
    /// Rows of columns in memory.
    #[staticmethod]
    fn of(py: Python<'_>, parts: Parts<'_>, settings: Settings, threads: usize) -> PyResult<Self> {
        let Assembled { table, spec, names } = parts.assemble(py, &settings)?;
        work::outside(py, threads, || {
            let mut prepared = Prepared::new(table, &spec, &[])?;
            for (i, name) in names.iter().enumerate() {
                prepared.name_attribute(i, name)?;
            }
            Ok(Self::new(prepared))
        })
    }

    /// Rows of files; attributes as on the command line.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        files: Vec<String>,
        target: String,
        positive: Option<String>,
        sensitive: Vec<String>,
        weight: Option<String>,
        settings: Settings,
        threads: usize,
    ) -> PyResult<Self> {
        let mut spec = settings.spec()?;
        spec.target = Some(target);
        spec.positive = positive;
        spec.weight = weight;
        for text in sensitive {
            let columns = grammar::attribute(&text).map_err(Failure::from)?;
            spec.sensitive.push(columns);
        }
        work::outside(py, threads, || {
            let prepared = Prepared::from_files(&files, &spec, ReadOptions::default())?;
            Ok(Self::new(prepared))
        })
    }

    /// A known data set, with its own roles and split.
    #[staticmethod]
    fn known(py: Python<'_>, name: &str, seed: Option<u64>, threads: usize) -> PyResult<Self> {
        work::outside(py, threads, || {
            let known = Known::parse(name)?.ok_or_else(|| {
                DataError::usage(format!(
                    "{name:?} is no known data set; there are demo, synthetic:SEED, adult:gender, adult:race, \
                     adult:gender+race and compas:race"
                ))
            })?;
            let mut spec = known.spec();
            spec.seed = seed.unwrap_or(spec.seed);
            Ok(Self::new(Prepared::from_known(
                &known,
                &spec,
                data_folder().as_deref(),
            )?))
        })
    }

    /// Rows in use.
    #[getter]
    fn n_rows(&self) -> usize {
        self.prepared.n_rows()
    }

    /// What it was made of.
    #[getter]
    fn source(&self) -> &str {
        &self.prepared.table.name
    }

    /// Names of the encoded features, in the order of the parameters.
    #[getter]
    fn feature_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let encoded = work::outside(py, 0, || self.encoded())?;
        Ok(encoded.encoding.schema().feature_names())
    }

    /// Attributes with their groups.
    #[getter]
    fn attributes(&self) -> Vec<(String, Vec<String>)> {
        let attributes = self.prepared.attributes();
        attributes
            .map(|a| (a.name.clone(), a.groups.clone()))
            .collect()
    }

    /// The value of the target that is decided for.
    #[getter]
    fn positive(&self) -> Option<&str> {
        Some(self.prepared.target.as_ref()?.positive.as_str())
    }

    /// Values of the target.
    #[getter]
    fn target_values(&self) -> PyResult<Vec<String>> {
        Ok(self.prepared.target_values().map_err(Failure::from)?)
    }

    /// Rows for training, validation and test.
    #[getter]
    fn rows(&self) -> Vec<(&'static str, usize)> {
        self.prepared.split.counts()
    }

    /// What was decided, and what to be wary of.
    #[getter]
    fn notices(&self) -> Vec<(bool, String)> {
        crate::run::notices(&self.prepared.notices)
    }
}
