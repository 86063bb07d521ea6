//! A run in memory: the front with its models, choices, reports and files.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fairfront_core::Unit;
use fairfront_data::{Diagnostic, Severity, Table, TargetRule};
use fairfront_model::{ExportFormat, ModelCertificate, ModelId, score_file, score_table};
use fairfront_run::{
    Certificate, Choice as Chosen, Demand, FrontColumns, Requirement, Rule, Run, Selection, Term,
    Use, choose_with_uses, logged_uses, select, uncertified_model, weights,
};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Serialize;

use crate::column::PyColumns;
use crate::error::Failure;
use crate::wording::{Keywords, worded};
use crate::work;

/// Whether each diagnostic is a warning, and its message.
pub(crate) fn diagnostics(diagnostics: &[Diagnostic]) -> Vec<(bool, String)> {
    let rendered = |diagnostic: &Diagnostic| {
        let warns = diagnostic.severity == Severity::Warning;
        (warns, diagnostic.message.render(&Keywords))
    };
    diagnostics.iter().map(rendered).collect()
}

/// Whether a column is for users. Those for plots of distributions, such as `distribution.01(sex=f)`, are only
/// in run folders.
fn is_shown(column: &str) -> bool {
    !column.starts_with("distribution.")
}

/// A front with its measures, settings and encoding.
#[pyclass(name = "Run", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyRun {
    run: Run,
    /// The uses of the certifying rows; choices add to them.
    uses: Mutex<Vec<Use>>,
}

impl PyRun {
    pub(crate) fn new(mut run: Run) -> Self {
        let uses = Mutex::new(std::mem::take(&mut run.uses));
        run.info.diagnostics = worded(&run.info.diagnostics);
        Self { run, uses }
    }

    fn uses(&self) -> MutexGuard<'_, Vec<Use>> {
        // The list contains only finished uses, so it is valid even after a panic elsewhere.
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run with the log of uses.
    fn whole(&self) -> Run {
        let mut run = self.run.clone();
        run.uses.clone_from(&self.uses());
        run
    }

    /// The id of a model of the front, which counts from 1.
    fn id(&self, model_id: usize) -> PyResult<ModelId> {
        let n = self.run.front.len();
        match ModelId::new(model_id) {
            Some(id) if id.index() < n => Ok(id),
            _ => Err(PyIndexError::new_err(format!(
                "the front has no model {model_id}; choose one of 1 to {n}"
            ))),
        }
    }

    /// The parameters of a model, the intercept last; `None` means the unmitigated model.
    fn params(&self, model_id: Option<usize>) -> PyResult<&[f64]> {
        Ok(match model_id {
            None => &self.run.info.unmitigated.params,
            Some(id) => &self.run.front.params[self.id(id)?.index()],
        })
    }

    /// The unit of the target; `None` if it is not a number.
    fn target_unit(&self) -> Option<&Unit> {
        let target = self.run.encoding.target.as_ref();
        target.and_then(TargetRule::unit)
    }

    /// The predictions of a number that scores stand for; other scores stay as they are.
    fn in_unit(&self, mut scores: Vec<f64>) -> Vec<f64> {
        if let Some(unit) = self.target_unit() {
            scores
                .iter_mut()
                .for_each(|score| *score = unit.number(*score));
        }
        scores
    }
}

/// The files of a run, by name.
pub(crate) type Files<'py> = Vec<(&'static str, Bound<'py, PyBytes>)>;

/// The rule for choosing a model, by the names of the package.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting that is on or off"
)]
pub(crate) struct Choice {
    require: Vec<String>,
    best: Option<String>,
    knee: bool,
    regret: bool,
    weights: Option<String>,
    model_id: Option<usize>,
    confidence: Option<f64>,
    exact: bool,
    before: bool,
}

impl Choice {
    /// The requirements to certify; `None` without requirements or without a test.
    fn demand(&self) -> Result<Option<Demand>, Failure> {
        let best = self.best.as_deref();
        let wanted = self.confidence.filter(|_| !self.require.is_empty());
        Ok(match wanted {
            Some(confidence) => Some(Demand::parse(&self.require, confidence, self.exact, best)?),
            None => None,
        })
    }

    fn requirements(&self) -> Result<Vec<Requirement>, Failure> {
        let parsed = self.require.iter().map(|text| Requirement::parse(text));
        Ok(parsed.collect::<Result<_, _>>()?)
    }

    fn rule(&self) -> Result<Rule, Failure> {
        let id = match self.model_id.map(ModelId::new) {
            Some(None) => {
                let message = "model_id is 0, but ids start at 1; pass at least 1";
                return Err(fairfront_run::Error::usage(message).into());
            }
            id => id.flatten(),
        };
        Ok(match (id, &self.weights, &self.best) {
            (Some(id), _, _) => Rule::Id(id),
            _ if self.knee => Rule::Knee,
            _ if self.regret => Rule::Regret,
            (None, Some(text), _) => Rule::Weights(weights(text)?),
            (None, None, best) => Rule::Best(best.as_deref().map(Term::parse).transpose()?),
        })
    }
}

#[pymethods]
impl PyRun {
    /// The content of `run.json`.
    #[getter]
    fn info(&self) -> PyResult<String> {
        let info = serde_json::to_string(&self.run.info);
        info.map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The columns of the front; undefined values are NaN.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        let front = &self.run.front;
        let named = front.names.iter().zip(&front.columns);
        for (name, values) in named.filter(|(name, _)| is_shown(name)) {
            let values = values.iter().map(|value| value.unwrap_or(f64::NAN));
            columns.set_item(name, PyArray1::from_iter(py, values))?;
        }
        Ok(columns)
    }

    /// The family of each model; `None` if only linear models were fitted.
    #[getter]
    fn families(&self) -> Option<Vec<&'static str>> {
        let front = &self.run.front;
        let family = |i| front.family(i).name();
        let has_families = self.run.info.family.is_some();
        has_families.then(|| (0..front.len()).map(family).collect())
    }

    /// The same values for the unmitigated model.
    fn unmitigated<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        let values = self.run.info.unmitigated.values.0.iter();
        for (name, value) in values.filter(|(name, _)| is_shown(name)) {
            columns.set_item(name, value.unwrap_or(f64::NAN))?;
        }
        Ok(columns)
    }

    /// The parameters, one row per model, the intercept last. With more than two classes, the coefficients
    /// class by class, then the intercepts.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let params = &self.run.front.params;
        let width = params.first().map_or(0, Vec::len);
        let shape = (params.len(), width);
        let all = Array2::from_shape_vec(shape, params.concat());
        let all = all.map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(all.into_pyarray(py))
    }

    /// The slope and the intercept that turn the scores of a model into log odds; `None` means the
    /// unmitigated model. With more than two classes, all scores are multiplied by the slope.
    fn calibration(&self, model_id: Option<usize>) -> PyResult<(f64, f64)> {
        let id = model_id.map(|id| self.id(id)).transpose()?;
        let found = self.run.calibration(id);
        Ok((found.slope, found.intercept))
    }

    /// Whether the target is a number.
    #[getter]
    fn is_number(&self) -> bool {
        self.target_unit().is_some()
    }

    /// The mean and the standard deviation of a number in the training rows; `None` for other targets.
    /// Parameters and labels are in standard deviations from the mean.
    #[getter]
    fn unit(&self) -> Option<(f64, f64)> {
        self.target_unit().map(|unit| (unit.center, unit.scale))
    }

    /// The classes and whether they are ordered, if there are more than two.
    #[getter]
    fn classes(&self) -> Option<(Vec<String>, bool)> {
        let classes = self.run.encoding.target.as_ref()?.classes()?;
        Some((classes.names.clone(), classes.ordered))
    }

    /// The name of the target.
    #[getter]
    fn target_name(&self) -> Option<&str> {
        Some(&self.run.encoding.target.as_ref()?.column)
    }

    #[getter]
    fn n_models(&self) -> usize {
        self.run.front.len()
    }

    /// The names of the features, in the order of the parameters.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.run.info.features.clone()
    }

    /// The canonical names of the objectives.
    #[getter]
    fn objectives(&self) -> Vec<String> {
        self.run.info.objectives.clone()
    }

    /// The measures that the front compares, one per objective; empty if it compares the
    /// objectives.
    #[getter]
    fn measures(&self) -> Vec<String> {
        self.run.info.judged.measures.clone()
    }

    /// Why the solver ended.
    #[getter]
    fn stop(&self) -> PyResult<String> {
        let stop = serde_json::to_value(self.run.info.stop);
        let stop = stop.map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(stop.as_str().unwrap_or_default().to_owned())
    }

    /// Warnings and notes of the fit.
    #[getter]
    fn messages(&self) -> Vec<(bool, String)> {
        diagnostics(&self.run.info.diagnostics)
    }

    /// The columns that rows to be scored need: the name, and whether the column is numeric.
    #[getter]
    fn inputs(&self) -> Vec<(String, bool)> {
        let encoding = &self.run.encoding;
        let numeric = encoding.numeric.iter().map(|r| (r.column.clone(), true));
        let categorical = encoding.categorical.iter();
        numeric
            .chain(categorical.map(|r| (r.column.clone(), false)))
            .collect()
    }

    /// Chooses a model. Returns the choice and its reason as JSON.
    fn select(&self, choice: Choice) -> PyResult<String> {
        let chosen = || -> Result<String, Failure> {
            let (rule, demand) = (choice.rule()?, choice.demand()?);
            // Without rows to certify on, requirements are checked on validation or training rows.
            let demand = demand.filter(|_| self.run.evidence.certify.is_some());
            let chosen = match demand {
                Some(demand) => {
                    choose_with_uses(&self.run, &mut self.uses(), !choice.before, &demand, &rule)?
                }
                None => {
                    let columns = FrontColumns::of(&self.run.info, &self.run.front);
                    let requirements = choice.requirements()?;
                    let selection = select(&columns, &requirements, &rule)?;
                    Chosen {
                        of_model: uncertified_model(&self.run, &requirements, &selection),
                        selection,
                        certificate: None,
                    }
                }
            };
            let selected = Selected {
                selection: &chosen.selection,
                certificate: chosen.of_model.as_ref(),
                words: chosen
                    .of_model
                    .as_ref()
                    .map_or_else(Vec::new, ModelCertificate::words),
                test: chosen.certificate.as_ref(),
            };
            serde_json::to_string(&selected).map_err(|e| Failure::Panic(e.to_string()))
        };
        Ok(chosen()?)
    }

    /// Computes the scores of rows for one model; for a number, its predictions. With more than two classes,
    /// each row has one score per class, row by row.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        features: PyRef<'py, PyColumns>,
        model_id: Option<usize>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let table = Table::from_columns("X", features.take()?);
        let params = self.params(model_id)?;
        let scores = work::outside(py, threads, || {
            Ok(score_table(&self.run.encoding, params, &table)?)
        })?;
        Ok(self.in_unit(scores).into_pyarray(py))
    }

    /// Computes the scores of the rows of files for one model; for a number, its predictions.
    fn scores_of_files<'py>(
        &self,
        py: Python<'py>,
        files: Vec<String>,
        model_id: usize,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let id = self.id(model_id)?;
        let scores = work::outside(py, threads, || {
            let model = self.run.model("X", id)?;
            let mut scores = Vec::new();
            for file in &files {
                scores.extend(score_file(&model, file)?);
            }
            // Predicted numbers are in the unit of the target.
            Ok(scores)
        })?;
        Ok(scores.into_pyarray(py))
    }

    /// The model file of a model; `name` is the origin that it records.
    fn model(&self, model_id: usize, name: &str, certificate: Option<&str>) -> PyResult<String> {
        let id = self.id(model_id)?;
        let mut model = self.run.model(name, id).map_err(Failure::from)?;
        model.certificate = match certificate {
            Some(text) => {
                let parsed = serde_json::from_str(text);
                Some(parsed.map_err(|e| PyValueError::new_err(e.to_string()))?)
            }
            None => None,
        };
        Ok(model.to_json())
    }

    /// Exports a model for other programs, as `onnx`, `sql` or `table`.
    fn export<'py>(
        &self,
        py: Python<'py>,
        model_id: usize,
        name: &str,
        format: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let id = self.id(model_id)?;
        let format = match format {
            "onnx" => ExportFormat::Onnx,
            "sql" => ExportFormat::Sql,
            "table" => ExportFormat::Table,
            other => {
                let message = format!("format={other:?}: expected \"onnx\", \"sql\" or \"table\"");
                return Err(PyValueError::new_err(message));
            }
        };
        let model = self.run.model(name, id).map_err(Failure::from)?;
        let bytes = model.export(format).map_err(Failure::from)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The interactive report. `start` sets the initial view, in the form of the report's address
    /// after a choice.
    fn page(&self, py: Python<'_>, name: &str, start: String) -> PyResult<String> {
        work::outside(py, 1, || {
            let mut page = self.run.page(name)?;
            page.start = Some(start);
            Ok(page.to_html())
        })
    }

    /// Writes the run folder, with a file that describes the estimator. Returns its path.
    fn write(
        &self,
        py: Python<'_>,
        folder: &str,
        force: bool,
        estimator: &str,
    ) -> PyResult<String> {
        work::outside(py, 1, || {
            let mut run = self.whole();
            run.estimator = Some(estimator.into());
            let place = run.write(Path::new(folder), force)?;
            Ok(place.display().to_string())
        })
    }

    /// Reads a run folder, or the newest run of a stream's state.
    #[staticmethod]
    fn read(py: Python<'_>, folder: &str) -> PyResult<Self> {
        work::outside(py, 1, || {
            let mut run = Run::read(Path::new(folder))?;
            run.uses = logged_uses(Path::new(folder))?;
            Ok(Self::new(run))
        })
    }

    /// The saved description of the estimator that the run belongs to.
    #[getter]
    fn estimator(&self) -> Option<&str> {
        self.run.estimator.as_deref()
    }

    /// The files of the folder, by name.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Files<'py>> {
        let files = work::outside(py, 1, || Ok(self.whole().to_files()?))?;
        let bytes = |(name, bytes): (_, Vec<u8>)| (name, PyBytes::new(py, &bytes));
        Ok(files.into_iter().map(bytes).collect())
    }

    /// Restores a run from such files.
    #[staticmethod]
    fn of_files(py: Python<'_>, files: Vec<(String, Vec<u8>)>) -> PyResult<Self> {
        work::outside(py, 1, || {
            let files: Vec<(&str, &[u8])> = files
                .iter()
                .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
                .collect();
            Ok(Self::new(Run::from_files(&files)?))
        })
    }

    /// Pickles as the files of its folder.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Files<'py>,))> {
        let this = py.get_type::<Self>();
        Ok((this.getattr("of_files")?, (self.files(py)?,)))
    }
}

/// A chosen model, in the form that the package expects.
#[derive(Serialize)]
struct Selected<'a> {
    #[serde(flatten)]
    selection: &'a Selection,
    certificate: Option<&'a ModelCertificate>,
    words: Vec<String>,
    test: Option<&'a Certificate>,
}

/// Rejects requirements and rules that cannot be parsed, independently of the front.
#[pyfunction]
pub(crate) fn check_choice(choice: Choice) -> PyResult<()> {
    choice.requirements()?;
    choice.demand()?;
    choice.rule()?;
    Ok(())
}

/// Writes a file completely or not at all. Overwrites an existing file only with `force`.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: &str, content: &[u8], force: bool) -> PyResult<()> {
    work::outside(py, 1, || {
        Ok(fairfront_model::write_file(
            Path::new(path),
            content,
            force,
        )?)
    })
}
