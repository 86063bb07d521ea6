//! Solvers for Python.

use fairfront_core::Points;
use fairfront_data::near_names;
use fairfront_solve::{AnySolver, Counters, Error, Outcome, Polish, StopReason, Suits, polish};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{matrix, of_points, points};
use crate::error::Failure;
use crate::problem::PyProblem;
use crate::work::watched;

/// The package's name of a setting.
fn in_python(setting: &str) -> String {
    match setting {
        "models" => "n_models".into(),
        "starts" => "n_starts".into(),
        other => other.replace('-', "_"),
    }
}

/// Changes a setting by its name in the package.
fn set(solver: &mut AnySolver, name: &str, value: &str) -> PyResult<()> {
    let settings = solver.settings();
    let names: Vec<String> = settings.iter().map(|s| in_python(s.name)).collect();
    let Some(at) = names.iter().position(|n| n == name) else {
        let near = near_names(name, names.iter().map(String::as_str));
        let message = format!(
            "{} has no setting {name:?}; {near}",
            in_python(solver.name())
        );
        return Err(PyValueError::new_err(message));
    };
    solver
        .set(settings[at].name, value)
        .map_err(|error| match error {
            Error::Setting { value, rule, .. } => {
                PyValueError::new_err(format!("{name} is {value:?}; it must be {rule}"))
            }
            other => Failure::from(other).into(),
        })
}

/// Converts a solver's error, with the package's name of the setting.
fn failure(error: Error) -> Failure {
    match error {
        Error::Setting {
            setting,
            value,
            rule,
        } => {
            let setting = in_python(setting);
            let message = format!("{setting} is {value}; it must be {rule}");
            Failure::Python(PyValueError::new_err(message))
        }
        other => other.into(),
    }
}

/// Runs a solver. Returns the front, and the exception that stopped the solver, if there is one.
#[pyfunction]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    solver: &str,
    problem: &Bound<'py, PyProblem>,
    n_models: Option<usize>,
    seed: u64,
    starts: Option<Bound<'py, PyArray2<f64>>>,
    settings: Vec<(String, String)>,
    polished: bool,
    max_seconds: Option<f64>,
    callback: Option<Py<PyAny>>,
    threads: usize,
) -> PyResult<(Bound<'py, PyDict>, Option<PyErr>)> {
    let problem = problem.get();
    let mut solver = AnySolver::named(&solver.replace('_', "-"))
        .ok_or_else(|| PyValueError::new_err(format!("{solver:?} is not a solver")))?;
    for (name, value) in settings {
        set(&mut solver, &name, &value)?;
    }
    if let Some(n_models) = n_models {
        solver.set_points(n_models);
    }
    solver.set_seed(seed);
    if let Some(starts) = starts {
        solver.set_starts(points(&starts, problem.problem().n_params())?);
    }
    if let Some(seconds) = max_seconds
        && (seconds.is_nan() || seconds <= 0.0)
    {
        let message = format!("max_seconds is {seconds}; it must be a positive number");
        return Err(PyValueError::new_err(message));
    }
    let (outcome, raised) = watched(py, threads, callback, max_seconds, |watch| {
        let problem = problem.problem();
        if let (AnySolver::Trace(_), Suits::Possible(why) | Suits::Impossible(why)) =
            (&solver, solver.suits(problem))
        {
            let message = format!("trace cannot follow this front: {why}; use pf_smg or weighted");
            return Err(Failure::Python(PyValueError::new_err(message)));
        }
        let outcome = solver.solve(problem, watch).map_err(failure)?;
        match polished && outcome.stop != StopReason::Stopped {
            true => polish(problem, outcome, &Polish::default(), watch).map_err(failure),
            false => Ok(outcome),
        }
    })?;
    Ok((found(py, &outcome)?, raised))
}

/// The result, by the names of `fairfront.Front`.
fn found<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let Outcome {
        front, unmitigated, ..
    } = outcome;
    let found = PyDict::new(py);
    let (n, m) = (front.len(), front.n_objectives);
    found.set_item("points", of_points(py, &front.points)?)?;
    found.set_item("values", matrix(py, front.values.clone(), [n, m])?)?;
    let alone = |points: &Points| PyArray1::from_slice(py, points.as_slice());
    found.set_item("unmitigated", alone(&unmitigated.points))?;
    let values = PyArray1::from_slice(py, &unmitigated.values);
    found.set_item("unmitigated_values", values)?;
    found.set_item("stop_reason", reason(outcome.stop))?;
    found.set_item("counters", counters(&outcome.counters)?)?;
    let proofs = &outcome.proofs;
    if proofs.len() == n && n > 0 {
        let multipliers = proofs.iter().flat_map(|c| c.multipliers.clone());
        let multipliers = matrix(py, multipliers.collect(), [n, m])?;
        let residuals = proofs.iter().map(|c| c.residual);
        let gaps = proofs.iter().map(|c| c.gap.unwrap_or(f64::NAN));
        found.set_item("multipliers", multipliers)?;
        found.set_item("residuals", PyArray1::from_iter(py, residuals))?;
        found.set_item("gaps", PyArray1::from_iter(py, gaps))?;
    }
    Ok(found)
}

fn reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Full => "full",
        StopReason::Steps => "steps",
        StopReason::Converged => "converged",
        StopReason::Complete => "complete",
        StopReason::Stopped => "stopped",
    }
}

/// The counts of the work, as JSON.
fn counters(counters: &Counters) -> PyResult<String> {
    serde_json::to_string(counters).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}
