//! Measures the work of this process: the time of its phases, and the speed of passes over rows.
//!
//! There is one meter per process, because it describes the process: a program shows it while long work is
//! running, and prints its summary at the end. Results never depend on it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A phase of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Files are read.
    Reading,
    /// Rows are written to a block file.
    Packing,
    /// Columns become features.
    Encoding,
    /// Rows are sent to workers.
    Distributing,
    /// The penalty is chosen.
    Penalty,
    /// Boosted trees are fitted.
    Learners,
    /// The solver runs.
    Solving,
    /// Candidates are compared, and thresholds are moved.
    Judging,
    /// Optimality is proven.
    Proving,
    /// Measures are computed on all splits.
    Measuring,
    /// Intervals are computed.
    Intervals,
    /// Files are written.
    Writing,
    /// The values of a run are computed again.
    Verifying,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reading => "reading",
            Self::Packing => "packing",
            Self::Encoding => "encoding",
            Self::Distributing => "distributing",
            Self::Penalty => "penalty",
            Self::Learners => "learners",
            Self::Solving => "solving",
            Self::Judging => "judging",
            Self::Proving => "proving",
            Self::Measuring => "measuring",
            Self::Intervals => "intervals",
            Self::Writing => "writing",
            Self::Verifying => "verifying",
        })
    }
}

/// An amount of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Passes over rows.
    pub passes: u64,
    /// Rows in these passes, each time they are passed over.
    pub rows: u64,
    /// Rows times points.
    pub evaluations: u64,
    /// Bytes read from block files.
    pub bytes_read: u64,
}

impl Work {
    fn since(self, before: Self) -> Self {
        Self {
            passes: self.passes - before.passes,
            rows: self.rows - before.rows,
            evaluations: self.evaluations - before.evaluations,
            bytes_read: self.bytes_read - before.bytes_read,
        }
    }
}

/// The time and the work of a phase.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// The phase.
    pub phase: Phase,
    /// The time.
    pub time: Duration,
    /// The work.
    pub work: Work,
}

static PASSES: AtomicU64 = AtomicU64::new(0);
static ROWS: AtomicU64 = AtomicU64::new(0);
static EVALUATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES_READ: AtomicU64 = AtomicU64::new(0);

struct Timeline {
    /// The current phase, its start, and the work before it.
    current: Option<(Phase, Instant, Work)>,
    finished: Vec<Spent>,
}

static TIMELINE: Mutex<Timeline> = Mutex::new(Timeline {
    current: None,
    finished: Vec::new(),
});

/// Counts a pass over rows.
pub fn add_pass(rows: u64, points: usize) {
    PASSES.fetch_add(1, Ordering::Relaxed);
    ROWS.fetch_add(rows, Ordering::Relaxed);
    EVALUATIONS.fetch_add(rows.saturating_mul(points.max(1) as u64), Ordering::Relaxed);
}

/// Counts bytes read from a block file.
pub fn add_bytes_read(bytes: u64) {
    BYTES_READ.fetch_add(bytes, Ordering::Relaxed);
}

/// The work of the process so far.
pub fn total() -> Work {
    Work {
        passes: PASSES.load(Ordering::Relaxed),
        rows: ROWS.load(Ordering::Relaxed),
        evaluations: EVALUATIONS.load(Ordering::Relaxed),
        bytes_read: BYTES_READ.load(Ordering::Relaxed),
    }
}

/// Begins a phase, and ends the current one.
pub fn begin(phase: Phase) {
    change(Some(phase));
}

/// Ends the current phase.
pub fn end() {
    change(None);
}

fn change(next: Option<Phase>) {
    let (now, work) = (Instant::now(), total());
    let mut timeline = TIMELINE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((phase, _, _)) = timeline.current
        && next == Some(phase)
    {
        return;
    }
    if let Some((phase, start, before)) = timeline.current.take() {
        let time = now - start;
        let work = work.since(before);
        match timeline.finished.iter_mut().find(|s| s.phase == phase) {
            Some(spent) => {
                spent.time += time;
                spent.work = Work {
                    passes: spent.work.passes + work.passes,
                    rows: spent.work.rows + work.rows,
                    evaluations: spent.work.evaluations + work.evaluations,
                    bytes_read: spent.work.bytes_read + work.bytes_read,
                };
            }
            None => timeline.finished.push(Spent { phase, time, work }),
        }
    }
    timeline.current = next.map(|phase| (phase, now, work));
}

/// The current phase, with its time and work so far.
pub fn current() -> Option<Spent> {
    let timeline = TIMELINE.lock().unwrap_or_else(PoisonError::into_inner);
    timeline.current.map(|(phase, start, before)| Spent {
        phase,
        time: start.elapsed(),
        work: total().since(before),
    })
}

/// The finished phases, in order of their first start.
pub fn finished() -> Vec<Spent> {
    let timeline = TIMELINE.lock().unwrap_or_else(PoisonError::into_inner);
    timeline.finished.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up() {
        begin(Phase::Packing);
        add_pass(10, 3);
        begin(Phase::Distributing);
        begin(Phase::Packing);
        add_pass(5, 0);
        assert_eq!(current().unwrap().phase, Phase::Packing);
        end();
        assert!(current().is_none());
        // Other tests of this process may pass over rows at the same time.
        let spent = finished();
        let packing = spent.iter().find(|s| s.phase == Phase::Packing).unwrap();
        assert!(packing.work.passes >= 2 && packing.work.rows >= 15);
        assert!(packing.work.evaluations >= 35);
    }
}
