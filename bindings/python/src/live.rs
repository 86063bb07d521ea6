//! A front that every batch of rows brings up to date.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fairfront_run::Keep;
use fairfront_stream::{Live, LiveOptions};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::dataset::{Assembled, Parts, Settings};
use crate::error::Failure;
use crate::fit::Asked;
use crate::run::{Files, PyRun};
use crate::work;

/// A stream in memory; settled by its first batch.
#[pyclass(name = "Live", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyLive {
    keep: Keep,
    state: Mutex<State>,
}

impl PyLive {
    /// Nobody waits here: who holds the stream may be calling Python.
    fn held(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the stream for an update; it has to be given back.
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

/// Where a stream is.
enum State {
    New,
    Begun(Box<Live>),
    /// An update has it.
    Busy,
}

fn busy() -> PyErr {
    PyRuntimeError::new_err("partial_fit is at work on this estimator; wait until it is done")
}

/// A run, and the exception that ended its fit before its time.
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

    /// Takes a batch; no run where the rows so far cannot make a front.
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
        let texts = asked.objectives.iter().map(PyAnyMethods::extract::<String>);
        let texts = texts.collect::<PyResult<Vec<_>>>().map_err(|_| {
            PyTypeError::new_err("partial_fit takes objectives by name; callables are for fit")
        })?;
        let request = asked.request(&table.name, &names, texts)?;
        let options = LiveOptions {
            spec,
            request,
            keep: self.keep,
            names,
        };
        let mut live = self.take()?;
        // Whatever happens, the stream comes back as it is after the update, or as it was before.
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

    /// Why there is no front yet.
    #[getter]
    fn waiting(&self) -> PyResult<Option<String>> {
        let waiting = self.with(|live| live.waiting().map(str::to_owned))?;
        Ok(waiting.flatten())
    }

    /// Batches, rows that arrived, and rows that are kept.
    #[getter]
    fn counts(&self) -> PyResult<(u64, u64, usize)> {
        let counts = self.with(|live| (live.batches(), live.rows(), live.kept()))?;
        Ok(counts.unwrap_or_default())
    }

    /// All of it as files, rows included; `None` before the first batch.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Option<Files<'py>>> {
        let files = self.with(Live::to_files)?.transpose();
        let bytes = |(name, bytes): (_, Vec<u8>)| (name, PyBytes::new(py, &bytes));
        let files = files.map_err(Failure::from)?;
        Ok(files.map(|files| files.into_iter().map(bytes).collect()))
    }

    /// The stream of such files.
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
