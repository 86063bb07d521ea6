//! Work outside the interpreter's lock: on threads of its own, stopped by Ctrl-C, no panic gets out.
//!
//! Every piece of work has a pool of threads that ends with it. Nothing is left for a forked process to
//! wait for, and making one takes less time than scoring a thousand rows.

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

/// Between two looks at whether Ctrl-C was pressed.
const LOOK: Duration = Duration::from_millis(50);
/// Between two calls of a progress callback.
const PAUSE: Duration = Duration::from_millis(100);
/// Beyond four objectives a volume may take longer than the work it is about.
const MOST_JUDGED: usize = 4;

/// Threads for one piece of work; 0 for as many as there are cores.
fn pool(threads: usize) -> Result<ThreadPool, Failure> {
    let built = ThreadPoolBuilder::new().num_threads(threads).build();
    built.map_err(|e| Failure::Panic(format!("no threads can be started ({e})")))
}

fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Failure::Panic(said(panic.as_ref()))))
}

fn said(panic: &(dyn Any + Send)) -> String {
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

/// Runs long work without the interpreter's lock, while this thread looks for Ctrl-C. The work gets an
/// observer that hands progress to `callback` and stops where asked: by Ctrl-C, by the callback, or
/// after `max_seconds`.
///
/// Returns what the work made of it, and the exception that stopped it, if one did: what was done until
/// then is not lost.
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
                // Whoever waits for it is still there: this scope waits for the thread.
                let _ = send.send(done);
            });
            loop {
                match receive.recv_timeout(LOOK) {
                    Ok(done) => return done,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Failure::Panic("the work ended without a word".into()));
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
        // What was raised is why the work failed.
        (Err(_), Some(raised)) => Err(raised),
        (Err(failure), None) => Err(failure.into()),
    }
}

/// The first exception that was raised while Rust was at work.
#[derive(Debug, Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Keeps an exception, unless there is one.
    pub(crate) fn keep(&self, error: PyErr) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(error);
    }

    /// Hands it over.
    pub(crate) fn take(&self) -> Option<PyErr> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take()
    }
}

/// Reports progress to Python and stops where asked.
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
            // Beyond what a clock can say there is no limit.
            deadline: limit.and_then(|limit| start.checked_add(limit)),
            callback,
            start,
            said: None,
            raised,
        }
    }

    /// Asks the callback; whether to stop.
    fn tell(&self, callback: &Py<PyAny>, progress: &Progress) -> PyResult<bool> {
        let points = progress.values.len() / progress.n_objectives.max(1);
        let values = Values::new(progress.values, progress.n_objectives).ok();
        let values = values.filter(|v| v.n_objectives() <= MOST_JUDGED);
        let volume = values.and_then(|v| hypervolume(v, progress.reference).ok());
        Python::attach(|py| {
            let told = PyDict::new(py);
            told.set_item("round", progress.round)?;
            told.set_item("share", progress.share)?;
            told.set_item("n_points", points)?;
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

/// Panics that are caught and become errors are not announced on standard error.
pub(crate) fn hush() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !fairfront_data::panics_are_caught() {
            usual(panic);
        }
    }));
}
