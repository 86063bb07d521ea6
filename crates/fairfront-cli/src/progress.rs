//! Shows the progress of solvers and downloads, and stops solvers on request.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairfront_core::counted;
use fairfront_pareto::{Values, hypervolume};
use fairfront_solve::{Observer, Progress, StopSignal};

/// Set by Ctrl-C, SIGTERM and SIGHUP.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Set while a table is read, before any results exist.
static READING: AtomicBool = AtomicBool::new(false);

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

/// Reads a table; a signal during this time ends the program at once.
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
/// a table is read, the first one does.
pub(crate) fn listen() {
    // Keep a handler that another front end has already set.
    let _ = ctrlc::set_handler(|| {
        let is_second = INTERRUPTED.swap(true, Ordering::Relaxed);
        if READING.load(Ordering::Relaxed) {
            crate::output::error(&NoModel::Interrupted.into());
        } else if !is_second {
            return;
        }
        std::process::exit(INTERRUPTED_CODE.into());
    });
}

pub(crate) struct Bar {
    quiet: bool,
    terminal: bool,
    start: Instant,
    deadline: Option<Instant>,
    shown: Instant,
    /// The name of the current piece of work, the number of finished pieces, and their total.
    piece: Option<(String, usize, usize)>,
}

/// The time between two lines of progress on a terminal.
const PAUSE: Duration = Duration::from_millis(200);
/// The same without a terminal, where lines are not overwritten.
const PLAIN_PAUSE: Duration = Duration::from_secs(5);

impl Bar {
    /// Starts the clock; from now on, Ctrl-C stops the work and keeps the results so far.
    pub(crate) fn new(quiet: bool, max_seconds: Option<f64>) -> Self {
        listen();
        let start = Instant::now();
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            start,
            // A limit that the clock cannot represent does not apply.
            deadline: max_seconds
                .and_then(|s| Duration::try_from_secs_f64(s).ok())
                .and_then(|limit| start.checked_add(limit)),
            shown: start,
            piece: None,
        }
    }

    /// Begins one of several pieces of work that share the time limit.
    pub(crate) fn begin(&mut self, name: String, done: usize, of: usize) {
        self.piece = Some((name, done, of));
    }

    /// Restarts the clock for the next piece of work.
    pub(crate) fn restart(&mut self) {
        self.start = Instant::now();
        self.shown = self.start;
    }

    /// Clears the progress line.
    pub(crate) fn finish(&self) {
        if self.terminal && !self.quiet {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
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
        let pause = if self.terminal { PAUSE } else { PLAIN_PAUSE };
        if !self.quiet && now - self.shown >= pause {
            self.shown = now;
            let spent = (now - self.start).as_secs_f64();
            let (name, share) = match &self.piece {
                Some((name, done, of)) => {
                    let share = (*done as f64 + progress.share) / *of as f64;
                    (format!("{name}, "), share)
                }
                None => (String::new(), progress.share),
            };
            let by_work = spent * (1.0 - share) / share.max(1e-9);
            let until = self.deadline.map(|deadline| (deadline - now).as_secs_f64());
            let left = until.map_or(by_work, |until| by_work.min(until));
            let models = progress.values.len() / progress.n_objectives;
            let volume = share_of_box(progress).map_or_else(String::new, |share| {
                format!(", hypervolume share {share:.4}")
            });
            let line = format!(
                "{name}round {}: {}{volume}, {spent:.0} s, about {left:.0} s left",
                progress.round,
                counted(models, "model")
            );
            let mut err = std::io::stderr();
            let _ = match self.terminal {
                true => write!(err, "\r\x1b[2K{line}"),
                false => writeln!(err, "{line}"),
            };
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
