//! Problems for Python: objectives on a data set, or whole problems made of callables.

use std::sync::Arc;

use fairfront_core::{
    Batches, Error, FairProblem, Gradients, Linear, LossFacet, Objective, Points, Preconditioner,
    Problem, Purpose, StopSignal, Stream,
};
use fairfront_data::Part;
use fairfront_run::parse_objective;
use numpy::{PyArray1, PyArray2, PyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::array::{cube, matrix, of_points, points, returned};
use crate::dataset::PyDataset;
use crate::error::Failure;
use crate::objective::{Given, given};
use crate::work::outside;

/// The rows of a stochastic gradient, for :meth:`fairfront.Problem.from_functions`.
///
/// Attributes
/// ----------
/// sizes : list of int
///     The number of rows for each objective.
/// seed : int
///     The seed of the solver.
/// key : tuple of int
///     Two numbers that identify this draw among all draws with the same seed.
/// n_rows : int
///     The number of all rows.
#[pyclass(name = "Batch", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyBatch {
    /// The number of rows for each objective.
    #[pyo3(get)]
    sizes: Vec<usize>,
    /// The seed of the solver.
    #[pyo3(get)]
    seed: u64,
    /// Two numbers that identify this draw among all draws with the same seed.
    #[pyo3(get)]
    key: (u64, u64),
    /// The number of all rows.
    #[pyo3(get)]
    n_rows: usize,
}

#[pymethods]
impl PyBatch {
    /// Draw the rows of one objective, without replacement.
    ///
    /// The same batch always gives the same rows.
    ///
    /// Parameters
    /// ----------
    /// objective : int, default=0
    ///     The position of the objective.
    ///
    /// Returns
    /// -------
    /// ndarray of int64
    ///     ``sizes[objective]`` row numbers in increasing order.
    #[pyo3(signature = (objective = 0))]
    fn rows<'py>(&self, py: Python<'py>, objective: usize) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let Some(&size) = self.sizes.get(objective) else {
            return Err(PyValueError::new_err(format!(
                "no objective {objective}; the problem has {}, counted from 0",
                self.sizes.len()
            )));
        };
        let n = self.n_rows;
        let size = size.min(n);
        let number = self
            .key
            .1
            .wrapping_mul(64)
            .wrapping_add(2 * objective as u64);
        let mut random = Stream::new(self.seed, Purpose::Batch, [self.key.0, number]);
        // Floyd's algorithm draws one number per sampled row, for any number of rows.
        let mut drawn = std::collections::BTreeSet::new();
        for last in n - size..n {
            let row = random.below(last + 1);
            if !drawn.insert(row) {
                drawn.insert(last);
            }
        }
        let rows = drawn.into_iter().map(|row| row as i64).collect();
        Ok(PyArray1::from_vec(py, rows))
    }

    fn __repr__(&self) -> String {
        format!(
            "Batch(sizes={:?}, seed={}, key={:?})",
            self.sizes, self.seed, self.key
        )
    }
}

/// A whole problem made of callables.
struct Functions {
    values: Py<PyAny>,
    gradients: Py<PyAny>,
    n_params: usize,
    n_objectives: usize,
    n_rows: Option<usize>,
    start: Option<Vec<f64>>,
    minimizer: Option<Vec<f64>>,
}

impl Functions {
    fn ask_values(&self, points: &Points) -> PyResult<Vec<f64>> {
        Python::attach(|py| {
            let (n, m) = (points.len(), self.n_objectives);
            let result = self.values.bind(py).call1((of_points(py, points)?,))?;
            let values = returned("values", &result, &[&[n, m]], "points × objectives")?;
            self.refuse_nan("values", &values, points)?;
            Ok(values)
        })
    }

    fn ask_gradients(&self, points: &Points, batches: Batches) -> PyResult<Gradients> {
        let (n, m, p) = (points.len(), self.n_objectives, self.n_params);
        let numbers = Python::attach(|py| {
            let array = of_points(py, points)?;
            let gradients = self.gradients.bind(py);
            let result = match self.n_rows {
                None => gradients.call1((array,))?,
                Some(n_rows) => gradients.call1((array, batch(n_rows, batches)))?,
            };
            let axes = "points × objectives × parameters";
            let numbers = returned("gradients", &result, &[&[n, m, p]], axes)?;
            self.refuse_nan("gradients", &numbers, points)?;
            PyResult::Ok(numbers)
        })?;
        let mut out = Gradients::zeros(m, n, p);
        for (i, numbers) in numbers.chunks_exact(p).enumerate() {
            out.get_mut(i % m, i / m).copy_from_slice(numbers);
        }
        Ok(out)
    }

    /// Rejects NaN at finite points. Infinity means that a point is outside the domain; such points
    /// are left out.
    fn refuse_nan(&self, subject: &str, numbers: &[f64], points: &Points) -> PyResult<()> {
        let by_point = numbers.chunks_exact((numbers.len() / points.len()).max(1));
        for (point, numbers) in points.iter().zip(by_point) {
            if point.iter().all(|x| x.is_finite())
                && let Some(at) = numbers.iter().position(|v| v.is_nan())
            {
                let per_objective = numbers.len() / self.n_objectives;
                return Err(PyValueError::new_err(format!(
                    "{subject} of objective {} are NaN at the point {point:?}; return inf for \
                     points outside the domain",
                    at / per_objective + 1
                )));
            }
        }
        Ok(())
    }
}

/// The batch for a callable; `None` means all rows.
fn batch(n_rows: usize, batches: Batches) -> Option<PyBatch> {
    match batches {
        Batches::Sample { sizes, key, .. } if sizes.iter().any(|size| *size < n_rows) => {
            Some(PyBatch {
                sizes: sizes.iter().map(|size| (*size).min(n_rows)).collect(),
                seed: key.0,
                key: key.1.into(),
                n_rows,
            })
        }
        _ => None,
    }
}

fn custom(error: PyErr) -> Error {
    Error::Custom(Box::new(error))
}

impl Problem for Functions {
    fn n_params(&self) -> usize {
        self.n_params
    }

    fn n_objectives(&self) -> usize {
        self.n_objectives
    }

    fn n_rows(&self) -> u64 {
        self.n_rows.unwrap_or(1) as u64
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        match points.is_empty() {
            true => Ok(Vec::new()),
            false => self.ask_values(points).map_err(custom),
        }
    }

    fn gradients(&self, points: &Points, batches: Batches) -> Result<Gradients, Error> {
        match points.is_empty() {
            true => Ok(Gradients::zeros(self.n_objectives, 0, self.n_params)),
            false => self.ask_gradients(points, batches).map_err(custom),
        }
    }

    fn loss(&self) -> Option<&dyn LossFacet> {
        Some(self)
    }
}

impl LossFacet for Functions {
    fn minimizer(
        &self,
        _near: Option<&[f64]>,
        _stop: &StopSignal,
    ) -> Result<Option<Vec<f64>>, Error> {
        Ok(self.minimizer.clone())
    }

    fn start(&self, _stop: &StopSignal) -> Result<Vec<f64>, Error> {
        let zeros = || vec![0.0; self.n_params];
        Ok(self.start.clone().unwrap_or_else(zeros))
    }

    fn preconditioner(&self, _at: &[f64]) -> Result<Preconditioner, Error> {
        Ok(Preconditioner::Identity)
    }
}

/// The two kinds of problems.
enum Inner {
    Fair(FairProblem),
    Functions(Functions),
}

/// A problem.
#[pyclass(name = "Problem", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyProblem {
    inner: Inner,
    #[pyo3(get)]
    names: Vec<String>,
    #[pyo3(get)]
    feature_names: Option<Vec<String>>,
}

impl PyProblem {
    /// The problem, for solvers.
    pub(crate) fn problem(&self) -> &dyn Problem {
        match &self.inner {
            Inner::Fair(problem) => problem,
            Inner::Functions(problem) => problem,
        }
    }
}

/// Sorts gradients by point.
fn by_point(gradients: &Gradients, [n, m, p]: [usize; 3]) -> Vec<f64> {
    let mut data = Vec::with_capacity(n * m * p);
    for point in 0..n {
        for objective in 0..m {
            data.extend_from_slice(gradients.get(objective, point));
        }
    }
    data
}

type Evaluation<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray3<f64>>);

#[pymethods]
impl PyProblem {
    #[staticmethod]
    fn of_dataset(
        py: Python<'_>,
        dataset: &Bound<'_, PyDataset>,
        objectives: &Bound<'_, PyList>,
    ) -> PyResult<Self> {
        let dataset = dataset.get();
        dataset.reject_classes("a problem")?;
        let encoded = outside(py, 0, || dataset.encoded())?;
        let train = encoded.part(Part::Train);
        let schema = train.schema();
        let objectives: Vec<_> = objectives.iter().collect();
        let made = given(&objectives, &schema.attributes, !schema.target.is_binary())?
            .into_iter()
            .map(|given| match given {
                Given::Text(text) => {
                    Ok(parse_objective(&text, &schema.attributes, &schema.target)?)
                }
                Given::Custom(objective) => Ok(Box::new(objective) as Box<dyn Objective>),
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        if made.is_empty() {
            return Err(PyValueError::new_err(
                "objectives: a problem needs at least one objective; pass one",
            ));
        }
        let names: Vec<String> = made.iter().map(|o| o.name()).collect();
        let (problem, meaningful) = outside(py, 0, || {
            let problem = FairProblem::new(Arc::new(train.clone()), Box::new(Linear), made)?;
            let meaningful = problem.meaningful_on(train)?;
            Ok((problem, meaningful))
        })?;
        if let Some(without) = meaningful.iter().position(|meaningful| !meaningful) {
            return Err(PyValueError::new_err(format!(
                "{} compares groups, but the training rows that it counts have fewer than two of them",
                names[without]
            )));
        }
        Ok(Self {
            inner: Inner::Fair(problem),
            feature_names: Some(schema.feature_names()),
            names,
        })
    }

    #[staticmethod]
    fn of_functions(
        values: Py<PyAny>,
        gradients: Py<PyAny>,
        n_params: usize,
        n_objectives: usize,
        n_rows: Option<usize>,
        start: Option<Vec<f64>>,
        minimizer: Option<Vec<f64>>,
        names: Vec<String>,
    ) -> Self {
        Self {
            inner: Inner::Functions(Functions {
                values,
                gradients,
                n_params,
                n_objectives,
                n_rows,
                start,
                minimizer,
            }),
            names,
            feature_names: None,
        }
    }

    #[getter]
    fn n_params(&self) -> usize {
        self.problem().n_params()
    }

    #[getter]
    fn n_objectives(&self) -> usize {
        self.problem().n_objectives()
    }

    #[getter]
    fn n_rows(&self) -> u64 {
        self.problem().n_rows()
    }

    fn values<'py>(
        &self,
        py: Python<'py>,
        array: &Bound<'py, PyArray2<f64>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let problem = self.problem();
        let points = points(array, problem.n_params())?;
        let values = outside(py, 0, || Ok(problem.values(&points)?))?;
        matrix(py, values, [points.len(), problem.n_objectives()])
    }

    fn gradients<'py>(
        &self,
        py: Python<'py>,
        array: &Bound<'py, PyArray2<f64>>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let problem = self.problem();
        let points = points(array, problem.n_params())?;
        let gradients = outside(py, 0, || Ok(problem.gradients(&points, Batches::All)?))?;
        let shape = [points.len(), problem.n_objectives(), problem.n_params()];
        cube(py, by_point(&gradients, shape), shape)
    }

    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        array: &Bound<'py, PyArray2<f64>>,
    ) -> PyResult<Evaluation<'py>> {
        let problem = self.problem();
        let points = points(array, problem.n_params())?;
        let (values, gradients) = outside(py, 0, || Ok(problem.evaluate(&points)?))?;
        let shape = [points.len(), problem.n_objectives(), problem.n_params()];
        Ok((
            matrix(py, values, [shape[0], shape[1]])?,
            cube(py, by_point(&gradients, shape), shape)?,
        ))
    }
}
