//! Shows the progress of solvers and downloads, and stops solvers on request.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fairfront_core::meter::{self, Phase, Work};
use fairfront_core::{counted, grouped};
use fairfront_data::{MemoryLimit, PackProgress, PackStage};
use fairfront_pareto::{Values, hypervolume};
use fairfront_solve::{Observer, Progress, StopSignal};

/// Set by Ctrl-C, SIGTERM and SIGHUP.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Set while a table is read or sent to workers, before any results exist.
static READING: AtomicBool = AtomicBool::new(false);

/// A temporary folder with a name.
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The reason why a command ended before it had a model.
#[derive(Debug)]
pub(crate) enum NoModel {
    /// Ctrl-C, SIGTERM or SIGHUP.
    Interrupted,
    /// `--max-seconds`.
    TimeLimit(f64),
}

impl std::fmt::Display for NoModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Interrupted => {
                f.write_str("interrupted before a model was found; no run was written")
            }
            Self::TimeLimit(seconds) => write!(
                f,
                "--max-seconds {seconds}: the time limit passed before a model was found, and no \
                 run was written; allow more time"
            ),
        }
    }
}

impl std::error::Error for NoModel {}

impl NoModel {
    /// The reason for a stop, given the time limit.
    pub(crate) fn new(max_seconds: Option<f64>) -> Self {
        match max_seconds {
            Some(limit) if !interrupted() => Self::TimeLimit(limit),
            _ => Self::Interrupted,
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted => INTERRUPTED_CODE,
            Self::TimeLimit(_) => 1,
        }
    }
}

/// The exit code after Ctrl-C, SIGTERM and SIGHUP.
const INTERRUPTED_CODE: u8 = 130;

/// Reads a table, or sends it to workers; a signal during this time ends the program at once.
pub(crate) fn while_reading<T>(read: impl FnOnce() -> T) -> T {
    READING.store(true, Ordering::Relaxed);
    let table = read();
    READING.store(false, Ordering::Relaxed);
    table
}

/// Whether Ctrl-C was pressed, or SIGTERM or SIGHUP arrived.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Keeps SIGHUP ignored if it is ignored when the program starts, as under `nohup`. A handler would
/// replace that, so the signal is blocked before any other thread starts, and threads inherit the
/// block.
pub(crate) fn keep_hangup_ignored() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::signal::{SigSet, Signal};
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        if is_ignored(&status, Signal::SIGHUP as u32) {
            let mut hangup = SigSet::empty();
            hangup.add(Signal::SIGHUP);
            // If the signal cannot be blocked, it ends the fit as Ctrl-C does.
            let _ = hangup.thread_block();
        }
    }
}

/// Whether `/proc/self/status` lists a signal as ignored.
#[cfg(target_os = "linux")]
fn is_ignored(status: &str, signal: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

/// Starts to record Ctrl-C, SIGTERM and SIGHUP. The second of these signals ends the program; while
/// a table is read or sent to workers, the first one does.
pub(crate) fn listen() {
    // Keep a handler that another front end has already set.
    let _ = ctrlc::set_handler(|| {
        let is_second = INTERRUPTED.swap(true, Ordering::Relaxed);
        if READING.load(Ordering::Relaxed) {
            crate::output::error(&NoModel::Interrupted.into());
        } else if !is_second {
            return;
        }
        let folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = &*folder {
            // Nothing more can be done if this fails.
            let _ = std::fs::remove_dir_all(folder);
        }
        std::process::exit(INTERRUPTED_CODE.into());
    });
}

/// Ends the program at Ctrl-C, SIGTERM or SIGHUP while it packs, without leaving a part of the block file.
pub(crate) fn listen_while_packing() {
    // Keep a handler that another front end has already set.
    let _ = ctrlc::set_handler(|| {
        fairfront_data::remove_unfinished();
        crate::output::error(&anyhow::anyhow!("interrupted; no block file was written"));
        std::process::exit(INTERRUPTED_CODE.into());
    });
}

/// Removes a folder if a signal ends the program before its destructors run.
pub(crate) fn remove_at_signal(folder: Option<&Path>) {
    let mut own = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    *own = folder.map(Path::to_owned);
}

/// Shows the progress of a fit: the rounds of its solver, and the passes over rows of its other phases.
pub(crate) struct Bar {
    quiet: bool,
    terminal: bool,
    start: Instant,
    deadline: Option<Instant>,
    /// When the last line was printed, by a round or by the ticker.
    shown: Arc<Mutex<Instant>>,
    /// The name of the current piece of work, the number of finished pieces, and their total.
    piece: Option<(String, usize, usize)>,
    /// The memory limit, in bytes.
    memory: Arc<AtomicU64>,
    /// Ends the ticker.
    finished: Arc<AtomicBool>,
}

/// The time between two lines of progress on a terminal.
const PAUSE: Duration = Duration::from_millis(200);
/// The same without a terminal, where lines are not overwritten.
const PLAIN_PAUSE: Duration = Duration::from_secs(5);

impl Bar {
    /// Starts the clock; from now on, Ctrl-C stops the work and keeps the results so far.
    pub(crate) fn new(quiet: bool, max_seconds: Option<f64>) -> Self {
        listen();
        Self::watch(quiet, max_seconds)
    }

    /// Starts the clock for work without results to keep, which Ctrl-C ends at once.
    pub(crate) fn watch(quiet: bool, max_seconds: Option<f64>) -> Self {
        let start = Instant::now();
        let bar = Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            start,
            // A limit that the clock cannot represent does not apply.
            deadline: max_seconds
                .and_then(|s| Duration::try_from_secs_f64(s).ok())
                .and_then(|limit| start.checked_add(limit)),
            shown: Arc::new(Mutex::new(start)),
            piece: None,
            memory: Arc::new(AtomicU64::new(u64::MAX)),
            finished: Arc::default(),
        };
        if !quiet {
            bar.tick();
        }
        bar
    }

    /// Prints a line about the current phase if no round did so for a while.
    fn tick(&self) {
        let (terminal, shown) = (self.terminal, Arc::clone(&self.shown));
        let (memory, finished) = (Arc::clone(&self.memory), Arc::clone(&self.finished));
        // Rounds come first: they say more.
        let pause = 3 * self.pause();
        std::thread::spawn(move || {
            while !finished.load(Ordering::Relaxed) {
                std::thread::sleep(PAUSE);
                let mut shown = lock(&shown);
                // Packing prints its own lines.
                let is_due = |phase| phase != Phase::Packing && shown.elapsed() >= pause;
                let Some(spent) = meter::current().filter(|spent| is_due(spent.phase)) else {
                    continue;
                };
                if finished.load(Ordering::Relaxed) {
                    return;
                }
                *shown = Instant::now();
                let seconds = spent.time.as_secs_f64();
                let rate = rate(&spent.work, seconds);
                let memory = memory_in_use(memory.load(Ordering::Relaxed));
                print(
                    terminal,
                    &format!("{}: {seconds:.0} s{rate}{memory}", spent.phase),
                );
            }
        });
    }

    fn pause(&self) -> Duration {
        if self.terminal { PAUSE } else { PLAIN_PAUSE }
    }

    /// Sets the memory limit that progress lines compare the memory in use with.
    pub(crate) fn limit_memory(&self, limit: MemoryLimit) {
        self.memory.store(limit.bytes(), Ordering::Relaxed);
    }

    /// Begins one of several pieces of work that share the time limit.
    pub(crate) fn begin(&mut self, name: String, done: usize, of: usize) {
        self.piece = Some((name, done, of));
    }

    /// Restarts the clock for the next piece of work.
    pub(crate) fn restart(&mut self) {
        self.start = Instant::now();
        *lock(&self.shown) = self.start;
    }

    /// Clears the progress line.
    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Relaxed);
        let _shown = lock(&self.shown);
        if self.terminal && !self.quiet {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.finished.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a line of progress. On a terminal, it replaces the previous one.
fn print(terminal: bool, line: &str) {
    let mut err = std::io::stderr();
    let _ = match terminal {
        true => write!(err, "\r\x1b[2K{line}"),
        false => writeln!(err, "{line}"),
    };
}

/// Writes lines to standard error while progress is shown. On a terminal, they replace the progress line.
pub(crate) fn note_meanwhile(lines: &str) {
    let mut err = std::io::stderr();
    if err.is_terminal() {
        let _ = write!(err, "\r\x1b[2K");
    }
    crate::output::note(lines);
}

/// Passes and rows per second; empty before the first pass.
fn rate(work: &Work, seconds: f64) -> String {
    if work.rows == 0 || seconds <= 0.0 {
        return String::new();
    }
    let passes = grouped(work.passes as usize);
    let speed = rows_per_second(work.rows, seconds);
    format!(", passes over rows: {passes}, {speed}")
}

/// Rows per second, in readable form: `3.1 million rows/s`.
pub(crate) fn rows_per_second(rows: u64, seconds: f64) -> String {
    let rate = rows as f64 / seconds.max(1e-9);
    match rate {
        _ if rate >= 1e9 => format!("{:.1} billion rows/s", rate / 1e9),
        _ if rate >= 1e6 => format!("{:.1} million rows/s", rate / 1e6),
        _ => format!("{} rows/s", grouped(rate as usize)),
    }
}

/// The smallest finished share of the work that is enough for an estimate.
const SMALLEST_SHARE: f64 = 0.005;

/// The remaining seconds: of the work, given its finished share, or until the deadline. `None` if neither is
/// known.
fn seconds_left(spent: f64, share: f64, until: Option<f64>) -> Option<f64> {
    let by_work = (share >= SMALLEST_SHARE).then(|| spent * (1.0 - share) / share);
    match (by_work, until) {
        (Some(by_work), Some(until)) => Some(by_work.min(until)),
        (by_work, until) => by_work.or(until),
    }
}

/// The memory of this process, and the limit; empty if the system does not report it.
fn memory_in_use(limit: u64) -> String {
    let Some(bytes) = status_bytes("VmRSS:") else {
        return String::new();
    };
    let used = MemoryLimit::Bytes(bytes);
    match limit {
        u64::MAX => format!(", {used}"),
        limit => format!(", {used} of {}", MemoryLimit::Bytes(limit)),
    }
}

/// The largest memory of this process so far, in bytes.
pub(crate) fn peak_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

/// A field of the status of this process, in bytes; `None` if the system does not report it.
fn status_bytes(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// The hypervolume as a share of the box up to the reference point; `None` if it is not finite.
fn share_of_box(progress: &Progress) -> Option<f64> {
    // With more than four objectives, it takes too long for a progress line.
    if progress.n_objectives > 4 {
        return None;
    }
    let values = Values::new(progress.values, progress.n_objectives).ok()?;
    let volume = hypervolume(values, progress.reference).ok()?;
    let share = volume / progress.reference.iter().product::<f64>();
    share.is_finite().then_some(share)
}

impl Observer for Bar {
    fn round(&mut self, progress: &Progress) -> ControlFlow<()> {
        let now = Instant::now();
        let mut shown = lock(&self.shown);
        if !self.quiet && now.saturating_duration_since(*shown) >= self.pause() {
            *shown = now;
            let spent = (now - self.start).as_secs_f64();
            let (name, share) = match &self.piece {
                Some((name, done, of)) => {
                    let share = (*done as f64 + progress.share) / *of as f64;
                    (format!("{name}, "), share)
                }
                None => (String::new(), progress.share),
            };
            let until = self.deadline.map(|deadline| deadline - now);
            let left = seconds_left(spent, share, until.map(|until| until.as_secs_f64()));
            let left = left.map_or_else(String::new, |left| format!(", about {left:.0} s left"));
            let models = progress.values.len() / progress.n_objectives;
            let volume = share_of_box(progress).map_or_else(String::new, |share| {
                format!(", hypervolume share {share:.4}")
            });
            let speed = meter::current().map_or_else(String::new, |spent| {
                format!(
                    ", {}",
                    rows_per_second(spent.work.rows, spent.time.as_secs_f64())
                )
            });
            let memory = memory_in_use(self.memory.load(Ordering::Relaxed));
            let line = format!(
                "{name}round {}: {}{volume}, {spent:.0} s{left}{speed}{memory}",
                progress.round,
                counted(models, "model")
            );
            print(self.terminal, &line);
        }
        match self.stop_signal().is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        let deadline = self.deadline;
        StopSignal::new(move || {
            interrupted() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
        })
    }
}

/// Shows how far packing is, and holds the folder for temporary files.
pub(crate) struct Packing {
    quiet: bool,
    terminal: bool,
    start: Instant,
    shown: Instant,
    /// The memory limit, in bytes.
    memory: u64,
    pub(crate) work: Option<PathBuf>,
    /// Whether anything was packed.
    pub(crate) packed: bool,
}

impl Packing {
    pub(crate) fn new(quiet: bool, memory: MemoryLimit, work: Option<PathBuf>) -> Self {
        let start = Instant::now();
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            start,
            shown: start,
            memory: memory.bytes(),
            work,
            packed: false,
        }
    }

    /// Prints a line if enough time has passed since the last one.
    pub(crate) fn show(&mut self, progress: PackProgress) {
        self.packed = true;
        meter::begin(Phase::Packing);
        let now = Instant::now();
        let pause = if self.terminal { PAUSE } else { PLAIN_PAUSE };
        if self.quiet || now - self.shown < pause {
            return;
        }
        self.shown = now;
        let stage = match progress.stage {
            PackStage::Reading => "reading files",
            PackStage::Rows => "finding the rows in use",
            PackStage::Training => "counting training rows",
            PackStage::Scales => "measuring scales",
            PackStage::Encoding => "encoding rows",
            PackStage::Writing => "writing blocks",
        };
        let (done, total) = (progress.done as usize, progress.total as usize);
        let spent = (now - self.start).as_secs_f64();
        let memory = memory_in_use(self.memory);
        let steps = format!("{} of {}", grouped(done), grouped(total));
        print(
            self.terminal,
            &format!("packing: {stage}, {steps}, {spent:.0} s{memory}"),
        );
    }

    /// Clears the progress line.
    pub(crate) fn clear(&self) {
        if self.terminal && !self.quiet {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// Shows how much of a file has been downloaded.
#[cfg(feature = "download")]
pub(crate) struct Meter {
    quiet: bool,
    terminal: bool,
    shown: Instant,
}

#[cfg(feature = "download")]
impl Meter {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            shown: Instant::now(),
        }
    }

    /// Prints a line if enough time has passed since the last one.
    pub(crate) fn show(&mut self, name: &str, bytes: u64, of: u64) {
        let now = Instant::now();
        let pause = if self.terminal { PAUSE } else { PLAIN_PAUSE };
        if self.quiet || now - self.shown < pause {
            return;
        }
        self.shown = now;
        let megabytes = |n: u64| n as f64 / 1e6;
        let (got, of) = (megabytes(bytes), megabytes(of));
        let line = format!("{name}: {got:.1} of {of:.1} MB");
        let mut err = std::io::stderr();
        let _ = match self.terminal {
            true => write!(err, "\r\x1b[2K{line}"),
            false => writeln!(err, "{line}"),
        };
    }

    /// Clears the progress line.
    pub(crate) fn clear(&self) {
        if self.terminal && !self.quiet {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_hypervolumes_are_shown() {
        let share = |values: &[f64], reference: &[f64]| {
            share_of_box(&Progress {
                round: 1,
                share: 0.5,
                values,
                n_objectives: 2,
                reference,
            })
        };
        assert_eq!(share(&[0.5, 0.5], &[1.0, 1.0]), Some(0.25));
        // The box has no volume, because the unmitigated model is already fair.
        assert_eq!(share(&[0.5, 0.0], &[1.0, 0.0]), None);
        assert_eq!(share(&[0.5, 0.5], &[f64::INFINITY, 1.0]), None);
    }

    #[test]
    fn speed_and_memory_are_readable() {
        assert_eq!(rows_per_second(1_500, 1.0), "1,500 rows/s");
        assert_eq!(rows_per_second(6_200_000, 2.0), "3.1 million rows/s");
        assert_eq!(rows_per_second(5_000_000_000, 2.0), "2.5 billion rows/s");
        assert_eq!(seconds_left(3.0, 0.25, None), Some(9.0));
        assert_eq!(seconds_left(3.0, 0.25, Some(2.0)), Some(2.0));
        assert_eq!(seconds_left(3.0, 0.0, None), None);
        assert_eq!(seconds_left(3.0, 0.0, Some(2.0)), Some(2.0));
        let work = Work {
            passes: 1_200,
            rows: 4_000_000,
            ..Work::default()
        };
        assert_eq!(
            rate(&work, 2.0),
            ", passes over rows: 1,200, 2.0 million rows/s"
        );
        assert_eq!(rate(&Work::default(), 2.0), "");
        if cfg!(target_os = "linux") {
            // In this order, because other tests allocate memory meanwhile.
            let used = status_bytes("VmRSS:");
            assert!(peak_bytes() >= used);
            assert!(memory_in_use(2 << 30).ends_with(" of 2.0 GiB"));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn ignored_signals_are_read_from_their_mask() {
        let status = "Name:\tfairfront\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(status, 1));
        assert!(is_ignored(status, 13));
        assert!(!is_ignored(status, 2));
        assert!(!is_ignored("", 1));
    }
}
