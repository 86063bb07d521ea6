//! Fits a front on a data set.

use fairfront_data::{Facts, attribute_name, grammar};
use fairfront_run::{
    Ask, Brought, FamilyName, FamilyRequest, FitRequest, FrontIn, Run, SolverName, fit_input,
    fit_with,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::dataset::{PyDataset, Rows};
use crate::error::Failure;
use crate::objective::custom_objectives;
use crate::run::PyRun;
use crate::work;

/// The parameters of a fit, by the names of the package.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked<'py> {
    pub(crate) objectives: Vec<Bound<'py, PyAny>>,
    solver: String,
    n_models: Option<usize>,
    settings: Vec<(String, String)>,
    polish: bool,
    front_in: Option<String>,
    penalty: Option<f64>,
    preset: Option<String>,
    family: String,
    hidden: Option<usize>,
    /// Columns with probabilities of the user's own estimators, as JSON of [`Brought`].
    brought: Option<String>,
    seed: u64,
}

impl Asked<'_> {
    /// The request for a fit; without attributes, the loss is the only objective.
    pub(crate) fn request(
        &self,
        source: &str,
        attributes: &[String],
        objectives: Vec<String>,
        is_number: bool,
    ) -> PyResult<FitRequest> {
        let ask = Ask {
            objectives,
            solver: solver(&self.solver)?,
            paper: match self.preset.as_deref() {
                None => false,
                Some("paper") => true,
                Some(other) => return Err(unknown("preset", other, &["paper"])),
            },
            models: self.n_models,
            settings: self.settings.clone(),
            polish: self.polish,
            front_in: match self.front_in.as_deref() {
                None => None,
                Some("objectives") => Some(FrontIn::Objectives),
                Some("measures") => Some(FrontIn::Measures),
                Some(other) => return Err(unknown("front_in", other, &["objectives", "measures"])),
            },
            penalty: self.penalty,
            family: FamilyRequest {
                family: family(&self.family)?,
                brought: self.brought()?,
                ..FamilyRequest::default()
            },
            hidden: self.hidden,
            seed: self.seed,
        };
        let attributes: Vec<String> = attributes.iter().map(|name| text_of(name)).collect();
        let request = ask.request(source, &attributes, is_number);
        let mut request = request.map_err(Failure::from)?;
        request.loss_alone = attributes.is_empty();
        Ok(request)
    }

    pub(crate) fn is_network(&self) -> bool {
        self.family == FamilyName::Network.name()
    }

    fn brought(&self) -> PyResult<Brought> {
        let parsed = self.brought.as_deref().map(serde_json::from_str);
        let parsed = parsed
            .transpose()
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(parsed.unwrap_or_default())
    }
}

/// An attribute as written in objectives; intersections keep their colons.
fn text_of(name: &str) -> String {
    match grammar::attribute(name) {
        Ok(parts) if attribute_name(&parts) == name => {
            let parts: Vec<String> = parts.iter().map(|part| grammar::quote(part)).collect();
            parts.join(":")
        }
        _ => grammar::quote(name),
    }
}

fn solver(name: &str) -> PyResult<SolverName> {
    SolverName::parse(name).ok_or_else(|| {
        let known = SolverName::ALL.map(SolverName::name);
        unknown("solver", name, &known)
    })
}

fn family(name: &str) -> PyResult<FamilyName> {
    FamilyName::parse(name).ok_or_else(|| {
        let known = FamilyName::ALL.map(FamilyName::name);
        unknown("family", name, &known)
    })
}

fn unknown(parameter: &str, found: &str, known: &[&str]) -> PyErr {
    let known: Vec<String> = known.iter().map(|k| format!("{k:?}")).collect();
    let message = format!("{parameter}={found:?}: expected {}", known.join(", "));
    PyValueError::new_err(message)
}

/// Fits a front. Returns the run, and the exception that stopped the fit early, if there is one.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    dataset: &PyDataset,
    asked: Asked<'_>,
    threads: usize,
    callback: Option<Py<PyAny>>,
    max_seconds: Option<f64>,
) -> PyResult<(PyRun, Option<PyErr>)> {
    let attributes = dataset.attribute_rules();
    let names: Vec<String> = attributes.iter().map(|a| a.name.clone()).collect();
    let is_number = dataset.is_number();
    let (objectives, custom) = custom_objectives(&asked.objectives, &attributes, is_number)?;
    if asked.is_network() {
        dataset.reject_classes("family='network': a network")?;
    }
    if !custom.is_empty() {
        dataset.reject_classes("objectives: an objective of your own")?;
    }
    let request = asked.request(dataset.name(), &names, objectives, is_number)?;
    work::watched(py, threads, callback, max_seconds, |watch| {
        let (facts, fitted) = match &dataset.rows {
            Rows::Table(prepared) => {
                let fitted = fit_with(prepared, &request, &custom, watch)?;
                (&Facts::of(prepared)?, fitted)
            }
            Rows::Blocks { input, raised } => {
                // Some errors lose the exception of the workers on the way.
                let fitted = fit_input(input, &request, &custom, None, watch);
                let fitted = fitted.map_err(|error| match raised.take() {
                    Some(raised) => Failure::Python(raised),
                    None => Failure::from(error),
                })?;
                (&input.facts, fitted)
            }
        };
        Ok(PyRun::new(Run::of(facts, &fitted)))
    })
}
