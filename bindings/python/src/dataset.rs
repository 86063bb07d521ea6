//! Data sets: rows with their target, groups, weights and split.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use fairfront_core::{Attribute, Workers};
use fairfront_data::{
    Column, ColumnType, Diagnostic, Encoded, Error as DataError, GroupColumn, Input, Known,
    MinGroup, MissingPolicy, MissingSensitive, Part, Prepared, ReadOptions, Source, Spec,
    SplitRule, Table, TargetRule, attribute_name, data_folder, grammar, identifier_warnings,
    named_counts,
};
use fairfront_run::ObjectiveCall;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::column::{Given, PyColumns};
use crate::error::Failure;
use crate::work::{self, Raised};
use crate::worker::PyWorkers;

/// Rows with target, groups, weights and split, encoded on demand.
#[pyclass(name = "Dataset", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyDataset {
    pub(crate) rows: Rows,
    encoded: OnceLock<Arc<Encoded>>,
}

/// The place of the rows.
pub(crate) enum Rows {
    /// A table in memory.
    Table(Box<Prepared>),
    /// A block file, read by this process or held by workers.
    Blocks {
        input: Box<Input>,
        /// The first exception of the workers.
        raised: Raised,
    },
}

impl PyDataset {
    fn new(prepared: Prepared) -> Self {
        Self {
            rows: Rows::Table(Box::new(prepared)),
            encoded: OnceLock::new(),
        }
    }

    /// The encoded rows.
    pub(crate) fn encoded(&self) -> Result<Arc<Encoded>, Failure> {
        if let Some(encoded) = self.encoded.get() {
            return Ok(Arc::clone(encoded));
        }
        let encoded = Arc::new(match &self.rows {
            Rows::Table(prepared) => Encoded::new(prepared)?,
            Rows::Blocks { input, .. } => input.encoded.clone(),
        });
        Ok(Arc::clone(self.encoded.get_or_init(|| encoded)))
    }

    /// The table in memory, for work that a block file does not allow.
    pub(crate) fn table(&self, work: &str) -> PyResult<&Prepared> {
        match &self.rows {
            Rows::Table(prepared) => Ok(prepared),
            Rows::Blocks { input, .. } => Err(PyValueError::new_err(format!(
                "{}: {work} needs the table in memory, but this is a block file; pass the table",
                input.facts.table
            ))),
        }
    }

    fn target(&self) -> Option<&TargetRule> {
        match &self.rows {
            Rows::Table(prepared) => prepared.target.as_ref(),
            Rows::Blocks { input, .. } => input.facts.target.as_ref(),
        }
    }

    /// The sensitive attributes.
    pub(crate) fn attribute_rules(&self) -> Vec<Attribute> {
        match &self.rows {
            Rows::Table(prepared) => prepared.attributes().cloned().collect(),
            Rows::Blocks { input, .. } => {
                let rules = input.facts.attributes.iter();
                rules.map(|rule| rule.attribute.clone()).collect()
            }
        }
    }

    /// The name of the table.
    pub(crate) fn name(&self) -> &str {
        match &self.rows {
            Rows::Table(prepared) => &prepared.table.name,
            Rows::Blocks { input, .. } => &input.facts.table,
        }
    }

    /// Rejects work that is only possible with a target that is binary or a number.
    pub(crate) fn reject_classes(&self, work: &str) -> PyResult<()> {
        reject_classes(work, self.classes().map_or(0, |(names, _)| names.len()))
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        match &self.rows {
            Rows::Table(prepared) => &prepared.diagnostics,
            Rows::Blocks { input, .. } => &input.facts.diagnostics,
        }
    }
}

/// Rejects work that is impossible with this number of classes, if it is not 0.
pub(crate) fn reject_classes(work: &str, n_classes: usize) -> PyResult<()> {
    match n_classes {
        0 => Ok(()),
        n => Err(PyValueError::new_err(format!(
            "{work} cannot be used with more than two classes, but the target has {n}"
        ))),
    }
}

/// How to split rows and treat missing values and small groups, by the names of the package.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    validation_fraction: f64,
    holdout_fraction: f64,
    seed: u64,
    pub(crate) missing: String,
    pub(crate) missing_sensitive: String,
    pool_rare: usize,
    min_group: usize,
    pool_groups: usize,
    /// The reference group of each named attribute.
    reference: Vec<(String, String)>,
}

impl Settings {
    /// Reference groups by the canonical names of their attributes, which are columns or intersections of them.
    fn references(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.reference.iter().map(|(name, group)| {
            let columns = grammar::attribute(name);
            let name = columns.map_or_else(|_| name.clone(), |columns| attribute_name(&columns));
            (name, group.clone())
        })
    }

    pub(crate) fn spec(&self) -> Result<Spec, Failure> {
        let share = 100.0 * self.validation_fraction;
        let held_out = 100.0 * self.holdout_fraction;
        let policy = match self.missing.as_str() {
            // The package has already rejected rows with missing values.
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
            references: self.references().collect(),
            ..Spec::default()
        })
    }
}

/// An attribute with estimated groups: its free name, its name, and the probabilities of each group.
type Estimated<'py> = (String, String, Vec<(String, Given<'py>)>);

/// The columns of a table in memory, with their roles.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Parts<'py> {
    source: String,
    features: PyRef<'py, PyColumns>,
    target: Given<'py>,
    /// Whether the target is a number.
    numeric: bool,
    /// The favorable class; `None` unless the target is binary.
    positive: Option<String>,
    /// All classes, if there are more than two.
    classes: Vec<String>,
    /// The same from the lowest to the highest, if they are ordered.
    order: Vec<String>,
    /// Columns with their names in objectives.
    sensitive: Vec<(Given<'py>, String)>,
    /// Attributes of which only probabilities are known: a free name, the name in objectives, and the groups with
    /// their probabilities.
    probabilities: Vec<Estimated<'py>>,
    weight: Option<Given<'py>>,
    /// Their attributes may be intersections of sensitive columns.
    objectives: Vec<String>,
}

/// A table and the roles of its columns.
pub(crate) struct Assembled {
    pub(crate) table: Table,
    pub(crate) spec: Spec,
    /// The names of the attributes.
    pub(crate) names: Vec<String>,
}

impl Parts<'_> {
    pub(crate) fn assemble(self, py: Python<'_>, settings: &Settings) -> PyResult<Assembled> {
        let mut spec = settings.spec()?;
        let mut columns = self.features.take()?;
        // Uses a new thread pool, because the process may have been forked.
        let warnings = work::outside(py, 1, || Ok(identifier_warnings(&columns)))?;
        let target = self.target.column(py)?;
        spec.target = Some(target.name.clone());
        spec.numeric = self.numeric;
        spec.positive = self.positive;
        spec.classes = !self.classes.is_empty();
        spec.known_classes = self.classes;
        spec.order = self.order;
        // Estimators of scikit-learn accept classes with few rows; the package warns about them.
        spec.small_classes = spec.classes;
        columns.push(target);
        let mut names = Vec::new();
        for (given, name) in self.sensitive {
            let column = given.column(py)?;
            spec.sensitive.push(vec![column.name.clone()]);
            // The caller has converted numbers to groups.
            let categorical = ColumnType::Categorical;
            spec.types.insert(column.name.clone(), categorical);
            columns.push(column);
            names.push(name);
        }
        for (free, name, groups) in self.probabilities {
            let mut of_groups = Vec::with_capacity(groups.len());
            for (group, given) in groups {
                let column = given.column(py)?;
                of_groups.push(GroupColumn {
                    group,
                    column: column.name.clone(),
                });
                columns.push(column);
            }
            spec.add_probabilities(&free, of_groups)
                .map_err(Failure::from)?;
            names.push(name);
        }
        let mut used = self.objectives;
        let of_reference = settings.reference.iter();
        used.extend(of_reference.map(|(name, _)| format!("intersection({name})")));
        add_intersections(&mut spec, &mut names, &used);
        // The columns may have other names than their attributes.
        let column_names: Vec<String> = spec.sensitive.iter().map(|c| attribute_name(c)).collect();
        spec.references = settings
            .reference
            .iter()
            .map(|(name, _)| name)
            .zip(settings.references())
            .map(|(given, (canonical, group))| {
                let own = |name: &String| name == given || *name == canonical;
                let at = names.iter().position(own);
                (
                    at.map_or(canonical.clone(), |at| column_names[at].clone()),
                    group,
                )
            })
            .collect();
        if let Some(given) = self.weight {
            let column = given.column(py)?;
            spec.weight = Some(column.name.clone());
            columns.push(column);
        }
        check_lengths(&columns)?;
        let mut table = Table::from_columns(&self.source, columns);
        table.diagnostics = warnings;
        Ok(Assembled { table, spec, names })
    }
}

/// Adds intersections such as `sex:race` that objectives use, if their attributes exist.
fn add_intersections(spec: &mut Spec, names: &mut Vec<String>, objectives: &[String]) {
    let n = names.len();
    for text in objectives {
        // The fit reports objectives that cannot be parsed.
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

/// Checks that all columns have the same length. The package should pass no others.
fn check_lengths(columns: &[Column]) -> PyResult<()> {
    let lengths: Vec<(&str, usize)> = columns
        .iter()
        .filter_map(|c| Some((c.name.as_str(), c.n_rows()?)))
        .collect();
    match lengths.iter().find(|(_, n)| *n != lengths[0].1) {
        None => Ok(()),
        Some((name, n)) => Err(PyValueError::new_err(format!(
            "column {name:?} has {n} rows, but column {:?} has {}; pass columns of the same length",
            lengths[0].0, lengths[0].1
        ))),
    }
}

#[pymethods]
impl PyDataset {
    /// Creates a data set from columns in memory.
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

    /// Reads a data set from files; attributes are written as on the command line. Without `numeric` and
    /// `classes`, the type of the column decides whether the target is a number.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        files: Vec<String>,
        target: String,
        numeric: bool,
        classes: bool,
        order: Vec<String>,
        positive: Option<String>,
        sensitive: Vec<String>,
        probabilities: Vec<(String, Vec<(String, String)>)>,
        weight: Option<String>,
        settings: Settings,
        threads: usize,
    ) -> PyResult<Self> {
        let mut spec = settings.spec()?;
        spec.target = Some(target);
        spec.numeric = numeric;
        spec.classes = classes;
        spec.order = order;
        spec.positive = positive;
        spec.weight = weight;
        for text in sensitive {
            let columns = grammar::attribute(&text).map_err(Failure::from)?;
            spec.sensitive.push(columns);
        }
        for (name, groups) in probabilities {
            let of_group = |(group, column)| GroupColumn { group, column };
            let groups = groups.into_iter().map(of_group).collect();
            spec.add_probabilities(&name, groups)
                .map_err(Failure::from)?;
        }
        work::outside(py, threads, || {
            match Prepared::from_files(&files, &spec, ReadOptions::default()) {
                // The table does not fit in memory.
                Err(DataError::Memory { .. }) => {
                    let options = ReadOptions::default();
                    let packed = Source::pack(&files, &spec, options, None, &mut |_| {})?;
                    Ok(Self {
                        rows: Rows::Blocks {
                            input: Box::new(packed.input),
                            raised: Raised::default(),
                        },
                        encoded: OnceLock::new(),
                    })
                }
                read => Ok(Self::new(read?)),
            }
        })
    }

    /// Loads a known data set with its own roles and split.
    #[staticmethod]
    fn known(py: Python<'_>, name: &str, seed: Option<u64>, threads: usize) -> PyResult<Self> {
        work::outside(py, threads, || {
            let known = Known::parse(name)?.ok_or_else(|| {
                DataError::usage(format!(
                    "{name:?} is not a known data set; choose demo, synthetic:SEED, adult:sex, \
                     adult:race, adult:sex+race or compas:race"
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

    /// Opens a block file, whose rows workers may hold: an object with a method `ask`.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        path: &str,
        workers: Option<Py<PyAny>>,
        threads: usize,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let input = work::outside(py, threads, || Ok(Input::open(Path::new(path))?))?;
        let input = match workers {
            None => input,
            Some(workers) => {
                let workers: Arc<dyn Workers> = Arc::new(PyWorkers::new(workers, raised.clone()));
                input.on_workers(&workers)
            }
        };
        Ok(Self {
            rows: Rows::Blocks {
                input: Box::new(input),
                raised,
            },
            encoded: OnceLock::new(),
        })
    }

    /// The number of rows in use.
    #[getter]
    fn n_rows(&self) -> usize {
        match &self.rows {
            Rows::Table(prepared) => prepared.n_rows(),
            Rows::Blocks { input, .. } => input.facts.rows_used,
        }
    }

    /// The name of the source.
    #[getter]
    fn source(&self) -> &str {
        self.name()
    }

    /// The names of the encoded features, in the order of the parameters.
    #[getter]
    fn feature_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let encoded = work::outside(py, 0, || self.encoded())?;
        Ok(encoded.encoding.schema().feature_names())
    }

    /// The attributes with their groups.
    #[getter]
    fn attributes(&self) -> Vec<(String, Vec<String>)> {
        let attributes = self.attribute_rules().into_iter();
        attributes.map(|a| (a.name, a.groups)).collect()
    }

    /// Whether the target is a number.
    #[getter]
    pub(crate) fn is_number(&self) -> bool {
        self.target().is_some_and(TargetRule::is_number)
    }

    /// The classes and whether they are ordered, if there are more than two.
    #[getter]
    pub(crate) fn classes(&self) -> Option<(Vec<String>, bool)> {
        let classes = self.target()?.classes()?;
        Some((classes.names.clone(), classes.ordered))
    }

    /// The name of the target.
    #[getter]
    fn target_name(&self) -> Option<&str> {
        Some(&self.target()?.column)
    }

    /// The favorable value of the target.
    #[getter]
    fn positive(&self) -> Option<&str> {
        self.target()?.positive()
    }

    /// The values of the target.
    #[getter]
    fn target_values(&self) -> PyResult<Vec<String>> {
        Ok(match &self.rows {
            Rows::Table(prepared) => prepared.target_values().map_err(Failure::from)?,
            Rows::Blocks { input, .. } => input.facts.target_values.clone(),
        })
    }

    /// The number of rows of each split.
    #[getter]
    fn rows(&self) -> Vec<(&'static str, usize)> {
        match &self.rows {
            Rows::Table(prepared) => prepared.split.counts(),
            Rows::Blocks { input, .. } => {
                named_counts(|part: Part| input.facts.split[part as usize])
            }
        }
    }

    /// Warnings and notes about the data.
    #[getter]
    fn messages(&self) -> Vec<(bool, String)> {
        crate::run::diagnostics(self.diagnostics())
    }
}
