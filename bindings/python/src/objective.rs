//! Objectives written in Python.
//!
//! The callable is called once per tile of rows (64 rows × 32 points), which is the unit of all
//! passes over rows. An exception becomes an error of the pass and reaches the caller unchanged.

use std::sync::Arc;

use fairfront_core::{
    Attribute, Error, LANES, Lanes, LogLoss, Means, Objective, OwnStatistics, Residual,
    ResidualLoss, Rows, StandIn, Statistics, TILE_ROWS, UNKNOWN_GROUP,
};
use fairfront_data::near_names;
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::array::{matrix, returned};

/// Labels, weights and groups of some rows, for the callables of an :class:`fairfront.Objective`.
///
/// Attributes
/// ----------
/// labels : ndarray of shape (n_rows,)
///     The labels, -1 or 1. For targets that are numbers, the distances of y from its mean in standard
///     deviations; scores have the same unit.
/// weights : ndarray of shape (n_rows,)
///     The weights of the rows.
#[pyclass(name = "Rows", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyRows {
    labels: Vec<f64>,
    weights: Vec<f64>,
    /// The groups of the rows, for each attribute.
    groups: Vec<Vec<i64>>,
    attributes: Arc<[Attribute]>,
}

#[pymethods]
impl PyRows {
    /// The labels of the rows, -1 or 1, or standardized numbers.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.labels)
    }

    /// The weights of the rows.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.weights)
    }

    /// Get the groups of the rows.
    ///
    /// Parameters
    /// ----------
    /// attribute : str
    ///     The name of a sensitive attribute.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n_rows,)
    ///     The positions of the groups in ``group_names(attribute)``; -1 if the group is unknown.
    fn groups<'py>(&self, py: Python<'py>, attribute: &str) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let index = position(attribute, &self.attributes)?;
        Ok(PyArray1::from_slice(py, &self.groups[index]))
    }

    /// Get the names of an attribute's groups.
    ///
    /// Parameters
    /// ----------
    /// attribute : str
    ///     The name of a sensitive attribute.
    ///
    /// Returns
    /// -------
    /// list of str
    ///     The names of the groups.
    fn group_names(&self, attribute: &str) -> PyResult<Vec<String>> {
        let index = position(attribute, &self.attributes)?;
        Ok(self.attributes[index].groups.clone())
    }

    fn __len__(&self) -> usize {
        self.labels.len()
    }
}

impl PyRows {
    fn new(rows: &Rows, attributes: &Arc<[Attribute]>) -> Self {
        let code = |code: &u32| match *code {
            UNKNOWN_GROUP => -1,
            code => i64::from(code),
        };
        let groups = |attribute| rows.groups(attribute).iter().map(code).collect();
        Self {
            labels: rows.labels().to_vec(),
            weights: rows.weights().to_vec(),
            groups: (0..attributes.len()).map(groups).collect(),
            attributes: Arc::clone(attributes),
        }
    }
}

/// The position of an attribute.
fn position(name: &str, attributes: &[Attribute]) -> PyResult<usize> {
    let found = attributes.iter().position(|a| a.name == name);
    found.ok_or_else(|| {
        let near = near_names(name, attributes.iter().map(|a| a.name.as_str()));
        PyValueError::new_err(format!("{name:?} is not a sensitive attribute; {near}"))
    })
}

/// h(E[s(φ, row)]) with s and h in Python.
pub(crate) struct PyObjective {
    name: String,
    statistics: Py<PyAny>,
    outer: Option<Py<PyAny>>,
    n_means: usize,
    penalty: f64,
    compares: Option<(usize, Option<f64>)>,
    attributes: Arc<[Attribute]>,
    is_number: bool,
}

impl PyObjective {
    /// Reads a `fairfront.Objective`, for rows with these attributes and this kind of target.
    fn new(
        objective: &Bound<'_, PyAny>,
        attributes: &Arc<[Attribute]>,
        is_number: bool,
    ) -> PyResult<Self> {
        let name: String = objective.getattr("name")?.extract()?;
        let attribute: Option<String> = objective.getattr("attribute")?.extract()?;
        let label: Option<f64> = objective.getattr("label")?.extract()?;
        if let Some(label) = label.filter(|_| is_number) {
            return Err(PyValueError::new_err(format!(
                "objective {name:?}: label={label} selects rows of a class, but the target is a number; \
                 remove label"
            )));
        }
        let index = attribute.map(|name| position(&name, attributes));
        Ok(Self {
            name,
            statistics: objective.getattr("statistics")?.unbind(),
            outer: objective.getattr("outer")?.extract()?,
            n_means: objective.getattr("n_means")?.extract()?,
            penalty: objective.getattr("penalty")?.extract()?,
            compares: index.transpose()?.map(|index| (index, label)),
            attributes: Arc::clone(attributes),
            is_number,
        })
    }

    /// The weights of the rows; 0 for rows that the objective ignores.
    fn weights(&self, rows: &Rows) -> [f64; TILE_ROWS] {
        let mut weights = [0.0; TILE_ROWS];
        weights[..rows.len()].copy_from_slice(rows.weights());
        if let Some((attribute, label)) = self.compares {
            let of_rows = rows.groups(attribute).iter().zip(rows.labels());
            for (weight, (group, y)) in weights.iter_mut().zip(of_rows) {
                if *group == UNKNOWN_GROUP || label.is_some_and(|label| label != *y) {
                    *weight = 0.0;
                }
            }
        }
        weights
    }

    /// Computes s and its derivative with respect to the score.
    fn ask(&self, rows: &Rows, scores: &[Lanes]) -> Result<[Vec<f64>; 2], Error> {
        Python::attach(|py| self.call(py, rows, scores)).map_err(raised)
    }

    fn call(&self, py: Python<'_>, rows: &Rows, scores: &[Lanes]) -> PyResult<[Vec<f64>; 2]> {
        let (k, n) = (self.n_means, rows.len());
        let scores = &scores[..n];
        let array = matrix(py, scores.as_flattened().to_vec(), [n, LANES])?;
        let seen = Bound::new(py, PyRows::new(rows, &self.attributes))?;
        let result = self.statistics.bind(py).call1((array, seen))?;
        let subject = format!("statistics of the objective {:?}", self.name);
        let pair = result.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>();
        let (s, ds) = pair.map_err(|_| {
            let message =
                format!("{subject} must return two arrays: s and its derivative by the score");
            PyValueError::new_err(message)
        })?;
        let shape: [&[usize]; 2] = [&[k, n, LANES], &[n, LANES]];
        let shapes = match k {
            1 => &shape[..],
            _ => &shape[..1],
        };
        let axes = "means × rows × points";
        let weights = self.weights(rows);
        let numbers = |part: &str, array| {
            let found = returned(&format!("{subject} ({part})"), array, shapes, axes)?;
            // Only rows that count and points with finite scores matter.
            let is_bad = |(i, value): (usize, &f64)| {
                let (row, point) = (i / LANES % n, i % LANES);
                value.is_nan() && weights[row] > 0.0 && scores[row][point].is_finite()
            };
            match found.iter().enumerate().any(is_bad) {
                true => Err(PyValueError::new_err(format!("{subject} ({part}) is NaN"))),
                false => Ok(found),
            }
        };
        Ok([numbers("s", &s)?, numbers("ds", &ds)?])
    }

    fn add_found(&self, rows: &Rows, s: &[f64], sums: &mut [Lanes]) {
        let weights = self.weights(rows);
        for (sum, s) in sums.iter_mut().zip(s.chunks_exact(rows.len() * LANES)) {
            for (weight, s) in weights.iter().zip(s.chunks_exact(LANES)) {
                if *weight > 0.0 {
                    sum.iter_mut()
                        .zip(s)
                        .for_each(|(sum, s)| *sum += weight * s);
                }
            }
        }
    }

    fn pull_found(&self, rows: &Rows, ds: &[f64], slopes: &[Lanes], out: &mut [Lanes]) {
        let weights = self.weights(rows);
        for (slope, ds) in slopes.iter().zip(ds.chunks_exact(rows.len() * LANES)) {
            for ((out, weight), ds) in out.iter_mut().zip(&weights).zip(ds.chunks_exact(LANES)) {
                if *weight > 0.0 {
                    for p in 0..LANES {
                        out[p] += weight * slope[p] * ds[p];
                    }
                }
            }
        }
    }

    fn ask_outer(&self, outer: &Py<PyAny>, means: &[f64], slope: &mut [f64]) -> PyResult<f64> {
        Python::attach(|py| {
            let result = outer.bind(py).call1((PyArray1::from_slice(py, means),))?;
            let subject = format!("outer of the objective {:?}", self.name);
            let pair = result.extract::<(f64, Bound<'_, PyAny>)>();
            let (value, by_mean) = pair.map_err(|_| {
                let message =
                    format!("{subject} must return a number and its derivative by the means");
                PyValueError::new_err(message)
            })?;
            let by_mean = returned(&subject, &by_mean, &[&[self.n_means]], "means")?;
            let is_bad = value.is_nan() || by_mean.iter().any(|d| d.is_nan());
            if is_bad && means.iter().all(|mean| mean.is_finite()) {
                return Err(PyValueError::new_err(format!("{subject} is NaN")));
            }
            slope.copy_from_slice(&by_mean);
            Ok(value)
        })
    }
}

/// Wraps an exception, so that it passes through the solver.
fn raised(error: PyErr) -> Error {
    Error::Custom(Box::new(error))
}

impl Objective for PyObjective {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn statistics(&self) -> Statistics<'_> {
        Statistics::Own(self)
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        let Some(outer) = &self.outer else {
            slope.fill(1.0);
            return Ok(means.values[0]);
        };
        self.ask_outer(outer, means.values, slope).map_err(raised)
    }

    fn is_affine(&self) -> bool {
        self.outer.is_none()
    }

    fn penalty(&self) -> f64 {
        self.penalty
    }

    fn stand_in(&self) -> Option<StandIn> {
        // For any loss of a classifier, the model that separates the classes is a good start, and
        // its curvature is a good preconditioner. For numbers, least squares are.
        self.is_affine().then(|| StandIn {
            objective: match self.is_number {
                true => Box::new(ResidualLoss::new(Residual::Squared)),
                false => Box::new(LogLoss::default()),
            },
            shift: 0.0,
        })
    }
}

impl OwnStatistics for PyObjective {
    fn n_means(&self) -> usize {
        self.n_means
    }

    fn weight(&self, rows: &Rows) -> f64 {
        self.weights(rows)[..rows.len()].iter().sum()
    }

    fn add_sums(&self, rows: &Rows, scores: &[Lanes], sums: &mut [Lanes]) -> Result<(), Error> {
        let [s, _] = self.ask(rows, scores)?;
        self.add_found(rows, &s, sums);
        Ok(())
    }

    fn pull_back(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        slopes: &[Lanes],
        out: &mut [Lanes],
    ) -> Result<(), Error> {
        let [_, ds] = self.ask(rows, scores)?;
        self.pull_found(rows, &ds, slopes, out);
        Ok(())
    }

    fn add_sums_and_slopes(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        slopes: &[Lanes],
        sums: &mut [Lanes],
        out: &mut [Lanes],
    ) -> Result<(), Error> {
        let [s, ds] = self.ask(rows, scores)?;
        self.add_found(rows, &s, sums);
        self.pull_found(rows, &ds, slopes, out);
        Ok(())
    }

    fn compares(&self) -> Option<(usize, Option<f64>)> {
        self.compares
    }
}

/// An objective as the user passes it.
pub(crate) enum Given {
    /// The name of a built-in objective.
    Text(String),
    /// An objective made of callables.
    Custom(PyObjective),
}

/// Reads objectives as the user passes them: names and `fairfront.Objective`s, in any order.
pub(crate) fn given(
    objectives: &[Bound<'_, PyAny>],
    attributes: &[Attribute],
    is_number: bool,
) -> PyResult<Vec<Given>> {
    let attributes: Arc<[Attribute]> = attributes.into();
    let read = |objective: &Bound<'_, PyAny>| {
        if let Ok(text) = objective.extract::<String>() {
            return Ok(Given::Text(text));
        }
        if !objective.hasattr("statistics")? {
            let kind = objective.get_type();
            return Err(PyTypeError::new_err(format!(
                "objectives: {kind} is not an objective; pass a name such as 'log_loss' or a \
                 fairfront.Objective"
            )));
        }
        let objective = PyObjective::new(objective, &attributes, is_number)?;
        Ok(Given::Custom(objective))
    };
    objectives.iter().map(read).collect()
}

/// The names of all objectives, and those made of callables.
type Named = (Vec<String>, Vec<Arc<dyn Objective>>);

/// The names of all objectives, and the objectives made of callables.
pub(crate) fn custom_objectives(
    objectives: &[Bound<'_, PyAny>],
    attributes: &[Attribute],
    is_number: bool,
) -> PyResult<Named> {
    let (mut names, mut custom) = (Vec::new(), Vec::new());
    for given in given(objectives, attributes, is_number)? {
        match given {
            Given::Text(text) => names.push(text),
            Given::Custom(objective) => {
                names.push(objective.name());
                custom.push(Arc::new(objective) as Arc<dyn Objective>);
            }
        }
    }
    Ok((names, custom))
}
