//! Work without the interpreter's lock, on its own threads. Ctrl-C stops it, and panics become
//! errors.
//!
//! Every piece of work has a thread pool that ends with it, so forked processes never wait for
//! threads. Creating a pool takes less time than scoring a thousand rows.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fairfront_pareto::{Values, hypervolume};
use fairfront_solve::{Observer, Progress, StopSignal};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Failure;

/// The interval between two checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);
/// The interval between two calls of a progress callback.
const PAUSE: Duration = Duration::from_millis(100);
/// For more objectives, computing the hypervolume may take longer than the work itself.
const MOST_JUDGED: usize = 4;

/// Creates the threads for one piece of work; 0 means one per core.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool, Failure> {
    let built = ThreadPoolBuilder::new().num_threads(threads).build();
    built.map_err(|e| Failure::Panic(format!("threads cannot be started ({e})")))
}

fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Failure::Panic(message_of(panic.as_ref()))))
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown".into())
}

/// Runs short work without the interpreter's lock.
pub(crate) fn outside<T: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let done = py.detach(|| caught(|| pool(threads)?.install(work)));
    Ok(done?)
}

/// Runs short work without the interpreter's lock, on threads that exist already.
pub(crate) fn with_threads<T: Send>(
    py: Python<'_>,
    threads: &ThreadPool,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let done = py.detach(|| caught(|| threads.install(work)));
    Ok(done?)
}

/// Runs long work without the interpreter's lock, while this thread checks for Ctrl-C. The work
/// gets an observer that passes progress to `callback` and stops after Ctrl-C, at the callback's
/// request, or after `max_seconds`.
///
/// Returns the result of the work, also if it was stopped, and the exception that stopped it, if
/// there is one.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    threads: usize,
    callback: Option<Py<PyAny>>,
    max_seconds: Option<f64>,
    work: impl FnOnce(&mut Watch) -> Result<T, Failure> + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let raised = Raised::default();
    let mut watch = Watch::new(callback, max_seconds, raised.clone());
    let stop = Arc::clone(&watch.stop);
    let done = py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = channel();
            scope.spawn(move || {
                let done = caught(|| pool(threads)?.install(|| work(&mut watch)));
                // The receiver still exists, because this scope waits for the thread.
                let _ = send.send(done);
            });
            loop {
                match receive.recv_timeout(LOOK) {
                    Ok(done) => return done,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Failure::Panic("the worker ended without a result".into()));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                #[expect(
                    clippy::redundant_closure_for_method_calls,
                    reason = "a path has one lifetime"
                )]
                let looked = Python::attach(|py| py.check_signals());
                if let Err(error) = looked {
                    raised.keep(error);
                    stop.store(true, Ordering::Relaxed);
                }
            }
        })
    });
    let raised = raised.take();
    match (done, raised) {
        (Ok(done), raised) => Ok((done, raised)),
        // The raised exception is the reason for the failure.
        (Err(_), Some(raised)) => Err(raised),
        (Err(failure), None) => Err(failure.into()),
    }
}

/// The first exception raised while Rust was working.
#[derive(Debug, Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Stores an exception, unless one is already stored.
    pub(crate) fn keep(&self, error: PyErr) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(error);
    }

    /// Takes the exception.
    pub(crate) fn take(&self) -> Option<PyErr> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take()
    }
}

/// Reports progress to Python, and stops on request.
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    deadline: Option<Instant>,
    callback: Option<Py<PyAny>>,
    start: Instant,
    said: Option<Instant>,
    raised: Raised,
}

impl Watch {
    fn new(callback: Option<Py<PyAny>>, max_seconds: Option<f64>, raised: Raised) -> Self {
        let start = Instant::now();
        let limit = max_seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
        Self {
            stop: Arc::default(),
            // A limit beyond the range of the clock is ignored.
            deadline: limit.and_then(|limit| start.checked_add(limit)),
            callback,
            start,
            said: None,
            raised,
        }
    }

    /// Calls the callback. Returns whether to stop.
    fn tell(&self, callback: &Py<PyAny>, progress: &Progress) -> PyResult<bool> {
        let points = progress.values.len() / progress.n_objectives.max(1);
        let values = Values::new(progress.values, progress.n_objectives).ok();
        let values = values.filter(|v| v.n_objectives() <= MOST_JUDGED);
        let volume = values.and_then(|v| hypervolume(v, progress.reference).ok());
        Python::attach(|py| {
            let told = PyDict::new(py);
            told.set_item("round", progress.round)?;
            told.set_item("share", progress.share)?;
            told.set_item("n_models", points)?;
            told.set_item("hypervolume", volume)?;
            told.set_item("seconds", self.start.elapsed().as_secs_f64())?;
            callback.bind(py).call1((told,))?.is_truthy()
        })
    }
}

impl Observer for Watch {
    fn round(&mut self, progress: &Progress) -> ControlFlow<()> {
        let now = Instant::now();
        let due = self.said.is_none_or(|said| now - said >= PAUSE);
        if let Some(callback) = self.callback.as_ref().filter(|_| due) {
            match self.tell(callback, progress) {
                Ok(false) => {}
                Ok(true) => self.stop.store(true, Ordering::Relaxed),
                Err(error) => {
                    self.raised.keep(error);
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
            self.said = Some(now);
        }
        match self.stop_signal().is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        let (stop, deadline) = (Arc::clone(&self.stop), self.deadline);
        StopSignal::new(move || {
            stop.load(Ordering::Relaxed) || deadline.is_some_and(|d| Instant::now() >= d)
        })
    }
}

/// Suppresses the message on standard error for panics that are caught and become errors.
pub(crate) fn hush() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !fairfront_data::panics_are_caught() {
            usual(panic);
        }
    }));
}
