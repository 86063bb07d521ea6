//! A front that is updated with each batch of rows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fairfront_run::Keep;
use fairfront_stream::{Live, LiveOptions};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::dataset::{Assembled, Parts, Settings, reject_classes};
use crate::error::Failure;
use crate::fit::Asked;
use crate::run::{Files, PyRun};
use crate::work;

/// A stream in memory. Its first batch fixes its columns.
#[pyclass(name = "Live", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyLive {
    keep: Keep,
    state: Mutex<State>,
}

impl PyLive {
    /// Locks the state. It is locked only briefly, because the owner of the stream may be calling
    /// Python.
    fn held(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the stream for an update; `give_back` must follow.
    fn take(&self) -> PyResult<Option<Live>> {
        let mut state = self.held();
        match std::mem::replace(&mut *state, State::Busy) {
            State::New => Ok(None),
            State::Begun(live) => Ok(Some(*live)),
            State::Busy => Err(busy()),
        }
    }

    fn give_back(&self, live: Option<Live>) {
        *self.held() = match live {
            None => State::New,
            Some(live) => State::Begun(Box::new(live)),
        };
    }

    fn with<T>(&self, ask: impl FnOnce(&Live) -> T) -> PyResult<Option<T>> {
        match &*self.held() {
            State::New => Ok(None),
            State::Begun(live) => Ok(Some(ask(live))),
            State::Busy => Err(busy()),
        }
    }
}

/// The state of a stream.
enum State {
    New,
    Begun(Box<Live>),
    /// An update is using it.
    Busy,
}

fn busy() -> PyErr {
    PyRuntimeError::new_err("partial_fit is running on this estimator; wait until it has finished")
}

/// A run, and the exception that stopped its fit early.
type Updated = (Option<PyRun>, Option<PyErr>);

#[pymethods]
impl PyLive {
    #[new]
    fn new(window: Option<usize>, reservoir: Option<usize>) -> Self {
        let keep = match (window, reservoir) {
            (Some(rows), _) => Keep::Window(rows),
            (None, Some(rows)) => Keep::Reservoir(rows),
            (None, None) => Keep::All,
        };
        Self {
            keep,
            state: Mutex::new(State::New),
        }
    }

    /// Adds a batch. Returns no run if the rows so far are not enough for a front.
    fn update(
        &self,
        py: Python<'_>,
        parts: Parts<'_>,
        settings: Settings,
        asked: Asked<'_>,
        threads: usize,
        callback: Option<Py<PyAny>>,
        max_seconds: Option<f64>,
    ) -> PyResult<Updated> {
        let Assembled { table, spec, names } = parts.assemble(py, &settings)?;
        if asked.is_network() {
            reject_classes("family='network': a network", spec.known_classes.len())?;
        }
        let objectives = asked.objectives.iter().map(PyAnyMethods::extract::<String>);
        let objectives = objectives.collect::<PyResult<Vec<_>>>().map_err(|_| {
            PyTypeError::new_err(
                "partial_fit takes objectives by name; pass names, or use fit for callables",
            )
        })?;
        let request = asked.request(&table.name, &names, objectives, spec.numeric)?;
        let options = LiveOptions {
            spec,
            request,
            keep: self.keep,
            objectives_of_number: Vec::new(),
            names,
        };
        let mut live = self.take()?;
        // The stream is given back in any case, updated or unchanged.
        let updated = work::watched(py, threads, callback, max_seconds, |watch| {
            let live = match &mut live {
                Some(live) => live,
                none => none.insert(Live::begin(options)?),
            };
            let update = live.update(table, watch)?;
            let run = update
                .and_then(|update| update.fitted)
                .and_then(|_| live.run());
            Ok(run.map(PyRun::new))
        });
        self.give_back(live);
        updated
    }

    /// The reason why the front does not exist yet.
    #[getter]
    fn waiting(&self) -> PyResult<Option<String>> {
        let waiting = self.with(|live| live.waiting().map(str::to_owned))?;
        Ok(waiting.flatten())
    }

    /// The numbers of batches, of rows that arrived, and of rows that are kept.
    #[getter]
    fn counts(&self) -> PyResult<(u64, u64, usize)> {
        let counts = self.with(|live| (live.batches(), live.rows(), live.kept()))?;
        Ok(counts.unwrap_or_default())
    }

    /// The stream as files, including its rows; `None` before the first batch.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Option<Files<'py>>> {
        let files = self.with(Live::to_files)?.transpose();
        let bytes = |(name, bytes): (_, Vec<u8>)| (name, PyBytes::new(py, &bytes));
        let files = files.map_err(Failure::from)?;
        Ok(files.map(|files| files.into_iter().map(bytes).collect()))
    }

    /// Restores a stream from such files.
    #[staticmethod]
    fn of_files(
        window: Option<usize>,
        reservoir: Option<usize>,
        files: Option<Vec<(String, Vec<u8>)>>,
    ) -> PyResult<Self> {
        let live = files.map(|files| {
            let files: Vec<(&str, &[u8])> = files
                .iter()
                .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
                .collect();
            Live::from_files(&files)
        });
        let live = live.transpose().map_err(Failure::from)?;
        Ok(Self {
            state: Mutex::new(live.map_or(State::New, |live| State::Begun(Box::new(live)))),
            ..Self::new(window, reservoir)
        })
    }

    /// Pickles as the files of its state.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let (window, reservoir) = match self.keep {
            Keep::All => (None, None),
            Keep::Window(rows) => (Some(rows), None),
            Keep::Reservoir(rows) => (None, Some(rows)),
        };
        let of_files = py.get_type::<Self>().getattr("of_files")?;
        Ok((of_files, (window, reservoir, self.files(py)?)))
    }
}

/// A function and its arguments.
type Pickled<'py> = (
    Bound<'py, PyAny>,
    (Option<usize>, Option<usize>, Option<Files<'py>>),
);
