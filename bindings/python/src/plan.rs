//! The rows and classes that a user's own estimators are fitted to.

use fairfront_core::Attribute;
use fairfront_run::{EstimatorPlan, GroupPlan, Stratum};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dataset::PyDataset;
use crate::fit::Asked;
use crate::objective::custom_objectives;
use crate::work;

/// Plans the estimators of a fit: the training rows with their folds and labels, and the classes of
/// each comparison of groups. The features of the data set do not count.
#[pyfunction]
pub(crate) fn plan_estimators<'py>(
    py: Python<'py>,
    dataset: &PyDataset,
    asked: Asked<'py>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let prepared = dataset.table("your own estimator")?;
    let names: Vec<String> = prepared.attributes().map(|a| a.name.clone()).collect();
    let attributes: Vec<Attribute> = prepared.attributes().cloned().collect();
    let is_number = dataset.is_number();
    let (objectives, custom) = custom_objectives(&asked.objectives, &attributes, is_number)?;
    let request = asked.request(&prepared.table.name, &names, objectives, is_number)?;
    let EstimatorPlan {
        rows,
        folds,
        labels,
        numbers,
        classes,
        groups,
    } = work::outside(py, threads, || {
        Ok(fairfront_run::plan_estimators(prepared, &request, &custom)?)
    })?;
    let plan = PyDict::new(py);
    // The names of these classes.
    plan.set_item("names", dataset.classes().map(|(names, _)| names))?;
    let rows = rows.into_iter().map(i64::from);
    plan.set_item("rows", PyArray1::from_iter(py, rows))?;
    plan.set_item("folds", PyArray1::from_vec(py, folds))?;
    match dataset.is_number() {
        true => plan.set_item("labels", PyArray1::from_vec(py, numbers))?,
        // Positions of classes, if there are more than two.
        false if !classes.is_empty() => {
            plan.set_item("labels", PyArray1::from_vec(py, classes))?;
        }
        false => plan.set_item("labels", PyArray1::from_vec(py, labels))?,
    }
    let groups: PyResult<Vec<_>> = groups.iter().map(|group| group_plan(py, group)).collect();
    plan.set_item("groups", groups?)?;
    Ok(plan)
}

/// A comparison of groups; the class of rows without one is -1.
fn group_plan<'py>(py: Python<'py>, group: &GroupPlan) -> PyResult<Bound<'py, PyDict>> {
    let plan = PyDict::new(py);
    plan.set_item("attribute", &group.attribute)?;
    let (positive, class) = match group.given {
        Stratum::All => (None, None),
        Stratum::Positive => (Some(true), None),
        Stratum::Negative => (Some(false), None),
        Stratum::Class(class) => (None, Some(class)),
    };
    plan.set_item("positive", positive)?;
    plan.set_item("class", class)?;
    plan.set_item("classes", &group.classes)?;
    let labels = group.labels.iter();
    let labels = labels.map(|label| label.map_or(-1, i64::from));
    plan.set_item("labels", PyArray1::from_iter(py, labels))?;
    Ok(plan)
}
