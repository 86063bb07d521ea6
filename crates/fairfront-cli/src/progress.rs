//! Tells a person how far a solver is, and stops it when asked.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairfront_core::counted;
use fairfront_pareto::{Values, hypervolume};
use fairfront_solve::{Observer, Progress, StopSignal};

/// Set by Ctrl-C, SIGTERM and SIGHUP.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Set while a table is read: nothing is there to keep.
static READING: AtomicBool = AtomicBool::new(false);

/// Why a command ended before it had a model.
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
                "--max-seconds {seconds}: the time limit passed before a model was found, and no run was \
                 written; allow more time"
            ),
        }
    }
}

impl std::error::Error for NoModel {}

impl NoModel {
    /// The reason of a stop under this time limit.
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

/// Reads a table; a signal meanwhile ends the program at once.
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

/// Keeps SIGHUP ignored if it is ignored from the start, as under `nohup`: a handler would replace that, so
/// the signal is blocked before any other thread starts, and threads inherit the block.
pub(crate) fn keep_hangup_ignored() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::signal::{SigSet, Signal};
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        if is_ignored(&status, Signal::SIGHUP as u32) {
            let mut hangup = SigSet::empty();
            hangup.add(Signal::SIGHUP);
            // A signal that cannot be blocked ends the fit as Ctrl-C does.
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

/// From here on Ctrl-C, SIGTERM and SIGHUP are remembered; the second of them ends the program, and the
/// first does so while a table is read.
pub(crate) fn listen() {
    // A handler that is there already (another front end's) stays.
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
    said: Instant,
    /// Which piece of work this is, as people read it, how many are done, and how many there are.
    piece: Option<(String, usize, usize)>,
}

/// Between two lines of progress.
const PAUSE: Duration = Duration::from_millis(200);
/// The same where nobody sees lines being overwritten.
const PLAIN_PAUSE: Duration = Duration::from_secs(5);

impl Bar {
    /// Begins; from here on Ctrl-C ends the work and keeps what is done.
    pub(crate) fn new(quiet: bool, max_seconds: Option<f64>) -> Self {
        listen();
        let start = Instant::now();
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            start,
            // Beyond what a clock can say there is no limit.
            deadline: max_seconds
                .and_then(|s| Duration::try_from_secs_f64(s).ok())
                .and_then(|limit| start.checked_add(limit)),
            said: start,
            piece: None,
        }
    }

    /// One of several pieces of work begins, which share the time.
    pub(crate) fn begin(&mut self, name: String, done: usize, of: usize) {
        self.piece = Some((name, done, of));
    }

    /// The next piece of work begins.
    pub(crate) fn restart(&mut self) {
        self.start = Instant::now();
        self.said = self.start;
    }

    /// Clears the line of progress.
    pub(crate) fn finish(&self) {
        if self.terminal && !self.quiet {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// The hypervolume as a share of the box; `None` if it is not finite.
fn share_of_box(progress: &Progress) -> Option<f64> {
    // Beyond four objectives it takes longer than people want to wait for a line.
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
        if !self.quiet && now - self.said >= pause {
            self.said = now;
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
            let points = progress.values.len() / progress.n_objectives;
            let volume = share_of_box(progress)
                .map_or_else(String::new, |share| format!(", hypervolume {share:.4}"));
            let line = format!(
                "{name}round {}: {}{volume}, {spent:.0} s, about {left:.0} s left",
                progress.round,
                counted(points, "point")
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

/// Tells a person how much of a file has come.
#[cfg(feature = "download")]
pub(crate) struct Meter {
    quiet: bool,
    terminal: bool,
    said: Instant,
}

#[cfg(feature = "download")]
impl Meter {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            said: Instant::now(),
        }
    }

    /// Says it where it is time to.
    pub(crate) fn show(&mut self, name: &str, bytes: u64, of: u64) {
        let now = Instant::now();
        let pause = if self.terminal { PAUSE } else { PLAIN_PAUSE };
        if self.quiet || now - self.said < pause {
            return;
        }
        self.said = now;
        let megabytes = |n: u64| n as f64 / 1e6;
        let (got, of) = (megabytes(bytes), megabytes(of));
        let line = format!("{name}: {got:.1} of {of:.1} MB");
        let mut err = std::io::stderr();
        let _ = match self.terminal {
            true => write!(err, "\r\x1b[2K{line}"),
            false => writeln!(err, "{line}"),
        };
    }

    /// Clears the line.
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
        // A box without volume: the unmitigated model is fair already.
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
