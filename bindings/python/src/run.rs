//! A run in memory: the front, its models, and what can be made of them.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fairfront_data::{Notice, NoticeLevel, Table};
use fairfront_model::{ExportFormat, ModelCertificate, score_file, score_table};
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

/// Whether it is a warning, and what it says.
pub(crate) fn notices(notices: &[Notice]) -> Vec<(bool, String)> {
    let said = |notice: &Notice| {
        let warns = notice.level == NoticeLevel::Warning;
        (warns, notice.message.render(&Keywords))
    };
    notices.iter().map(said).collect()
}

/// A front with all that was found out about it.
#[pyclass(name = "Run", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyRun {
    run: Run,
    /// Uses of the certifying rows, which choices add to.
    uses: Mutex<Vec<Use>>,
}

impl PyRun {
    pub(crate) fn new(mut run: Run) -> Self {
        let uses = Mutex::new(std::mem::take(&mut run.uses));
        run.info.notices = worded(&run.info.notices);
        Self { run, uses }
    }

    fn uses(&self) -> MutexGuard<'_, Vec<Use>> {
        // A list of finished uses is whole whatever happened elsewhere.
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run with its log.
    fn whole(&self) -> Run {
        let mut run = self.run.clone();
        run.uses.clone_from(&self.uses());
        run
    }

    /// The parameters of a point, the intercept last; those of the unmitigated model for `None`.
    fn params(&self, point: Option<usize>) -> PyResult<&[f64]> {
        let front = &self.run.front;
        match point {
            None => Ok(&self.run.info.unmitigated.params),
            Some(point) => front.params.get(point).map(Vec::as_slice).ok_or_else(|| {
                PyIndexError::new_err(format!(
                    "there is no point {point}; the front has the points 0 to {}",
                    front.len().saturating_sub(1)
                ))
            }),
        }
    }
}

/// The files of a run, by name.
pub(crate) type Files<'py> = Vec<(&'static str, Bound<'py, PyBytes>)>;

/// How a point is chosen, by the names of the package.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting that is given or not"
)]
pub(crate) struct Choice {
    require: Vec<String>,
    best: Option<String>,
    knee: bool,
    regret: bool,
    weights: Option<String>,
    point: Option<usize>,
    confidence: Option<f64>,
    exact: bool,
    before: bool,
}

impl Choice {
    /// What is to be certified; `None` without requirements and without a test.
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
        Ok(match (self.point, &self.weights, &self.best) {
            (Some(point), _, _) => Rule::Id(point),
            _ if self.knee => Rule::Knee,
            _ if self.regret => Rule::Regret,
            (None, Some(text), _) => Rule::Weights(weights(text)?),
            (None, None, best) => Rule::Best(Term::parse(best.as_deref().unwrap_or("accuracy"))?),
        })
    }
}

#[pymethods]
impl PyRun {
    /// What `run.json` says.
    #[getter]
    fn info(&self) -> PyResult<String> {
        let info = serde_json::to_string(&self.run.info);
        info.map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The columns of the front; NaN where a value cannot be given.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        let front = &self.run.front;
        for (name, values) in front.names.iter().zip(&front.columns) {
            let values = values.iter().map(|value| value.unwrap_or(f64::NAN));
            columns.set_item(name, PyArray1::from_iter(py, values))?;
        }
        Ok(columns)
    }

    /// The same of the unmitigated model.
    fn unmitigated<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (name, value) in &self.run.info.unmitigated.values.0 {
            columns.set_item(name, value.unwrap_or(f64::NAN))?;
        }
        Ok(columns)
    }

    /// Parameters, one row a point, the intercept last.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let params = &self.run.front.params;
        let shape = (params.len(), self.run.info.features.len() + 1);
        let all = Array2::from_shape_vec(shape, params.concat());
        let all = all.map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(all.into_pyarray(py))
    }

    /// How the scores of a model become probabilities: slope and intercept; those of the unmitigated
    /// model for `None`.
    fn calibration(&self, point: Option<usize>) -> PyResult<(f64, f64)> {
        self.params(point)?;
        let found = self.run.calibration(point);
        Ok((found.slope, found.intercept))
    }

    #[getter]
    fn n_points(&self) -> usize {
        self.run.front.len()
    }

    /// Names of the features, in the order of the parameters.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.run.info.features.clone()
    }

    /// Canonical names of the objectives.
    #[getter]
    fn objectives(&self) -> Vec<String> {
        self.run.info.objectives.clone()
    }

    /// The measures that the front was judged by, one for each objective; empty where by these themselves.
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

    /// What was decided, and what to be wary of.
    #[getter]
    fn notices(&self) -> Vec<(bool, String)> {
        notices(&self.run.info.notices)
    }

    /// The columns that rows to be scored need: name, and whether it is numeric.
    #[getter]
    fn inputs(&self) -> Vec<(String, bool)> {
        let encoding = &self.run.encoding;
        let numeric = encoding.numeric.iter().map(|r| (r.column.clone(), true));
        let categorical = encoding.categorical.iter();
        numeric
            .chain(categorical.map(|r| (r.column.clone(), false)))
            .collect()
    }

    /// Chooses a point; what was chosen and why, as JSON.
    fn select(&self, choice: Choice) -> PyResult<String> {
        let chosen = || -> Result<String, Failure> {
            let (rule, demand) = (choice.rule()?, choice.demand()?);
            // Without rows to certify on, requirements are honored on what there is.
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
            let said = Said {
                selection: &chosen.selection,
                certificate: chosen.of_model.as_ref(),
                words: chosen
                    .of_model
                    .as_ref()
                    .map_or_else(Vec::new, ModelCertificate::words),
                test: chosen.certificate.as_ref(),
            };
            serde_json::to_string(&said).map_err(|e| Failure::Panic(e.to_string()))
        };
        Ok(chosen()?)
    }

    /// Scores of rows for one point.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        features: PyRef<'py, PyColumns>,
        point: Option<usize>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let table = Table::from_columns("X", features.take()?);
        let params = self.params(point)?;
        let scores = work::outside(py, threads, || {
            Ok(score_table(&self.run.encoding, params, &table)?)
        })?;
        Ok(scores.into_pyarray(py))
    }

    /// Scores of the rows of files for one point.
    fn scores_of_files<'py>(
        &self,
        py: Python<'py>,
        files: Vec<String>,
        point: usize,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.params(Some(point))?;
        let scores = work::outside(py, threads, || {
            let model = self.run.model("X", point)?;
            let mut scores = Vec::new();
            for file in &files {
                scores.extend(score_file(&model, file)?);
            }
            Ok(scores)
        })?;
        Ok(scores.into_pyarray(py))
    }

    /// The model file of a point; `name` is what it says it comes from.
    fn model(&self, point: usize, name: &str, certificate: Option<&str>) -> PyResult<String> {
        self.params(Some(point))?;
        let mut model = self.run.model(name, point).map_err(Failure::from)?;
        model.certificate = match certificate {
            Some(text) => {
                let parsed = serde_json::from_str(text);
                Some(parsed.map_err(|e| PyValueError::new_err(e.to_string()))?)
            }
            None => None,
        };
        Ok(model.to_json())
    }

    /// A model for other programs: `onnx`, `sql` or `table`.
    fn export<'py>(
        &self,
        py: Python<'py>,
        point: usize,
        name: &str,
        format: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.params(Some(point))?;
        let format = match format {
            "onnx" => ExportFormat::Onnx,
            "sql" => ExportFormat::Sql,
            "table" => ExportFormat::Table,
            other => {
                let message = format!("format={other:?}: expected \"onnx\", \"sql\" or \"table\"");
                return Err(PyValueError::new_err(message));
            }
        };
        let model = self.run.model(name, point).map_err(Failure::from)?;
        let bytes = model.export(format).map_err(Failure::from)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The interactive page.
    /// The `start` is what it shows first: the address that it would have after somebody chose.
    fn page(&self, py: Python<'_>, name: &str, start: String) -> PyResult<String> {
        work::outside(py, 1, || {
            let mut page = self.run.page(name)?;
            page.start = Some(start);
            Ok(page.to_html())
        })
    }

    /// Writes the run folder, with a file that holds what the package needs to know of the estimator;
    /// returns where it is.
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

    /// What was saved of the estimator that the run belongs to.
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

    /// The run of such files.
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

/// A chosen model, as the package takes it.
#[derive(Serialize)]
struct Said<'a> {
    #[serde(flatten)]
    selection: &'a Selection,
    certificate: Option<&'a ModelCertificate>,
    words: Vec<String>,
    test: Option<&'a Certificate>,
}

/// Refuses requirements and rules that cannot be understood, whatever the front.
#[pyfunction]
pub(crate) fn check_choice(choice: Choice) -> PyResult<()> {
    choice.requirements()?;
    choice.demand()?;
    choice.rule()?;
    Ok(())
}

/// Writes a file: whole or not at all. One that is there is replaced only where `force` says so.
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
