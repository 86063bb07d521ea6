//! Checkpoints of a fit, from which a fit that was killed at any moment resumes to the same result.
//!
//! A fit with checkpoints keeps them in `DIR/checkpoint/`, as generations of a state. Each contains
//! the request that determines the result (`request.json`), the progress (`phase.json`), and the
//! state of the solver (`solver.bin`) or its result (`outcome.bin`). The checkpoints are removed
//! when the finished run is in its folder (`crate::place`).

mod place;
mod request;
mod snapshot;
mod solve;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fairfront_data::{Diagnostic, Input};

pub use self::place::is_unfinished;
pub(crate) use self::place::{is_own, remove};
use self::request::Difference;
pub(crate) use self::request::Request;
use self::snapshot::{Note, Phase, Snapshot};
pub(crate) use self::solve::{Solved, solve};
use fairfront_core::say;

use fairfront_model::setting::FORCE;

use crate::fit::{fingerprint, with_objectives};
use crate::folder::info_in;
use crate::place::{Place, look, recover, taken, unfinished};
use crate::setting::RESUME;
use crate::store::{Generations, Lock};
use crate::{Error, FitRequest, PenaltyInfo, RunInfo};

/// The folder of a run's checkpoints.
pub(crate) const FOLDER: &str = "checkpoint";

/// Maximum age of the last solver state that is kept when work is cut short; keeping states more
/// often would cost more than it saves.
const HELD: Duration = Duration::from_secs(1);

/// The checkpoints of a fit, which one process at a time uses.
#[derive(Debug)]
pub struct Checkpoints {
    /// The run folder.
    run: PathBuf,
    every: Duration,
    force: bool,
    /// `None` while there is a finished run that may be the requested one.
    open: Option<Open>,
    /// The existing run, if it is finished.
    finished: Option<RunInfo>,
    /// The request that determines the result; known once rows are encoded.
    request: Vec<u8>,
    /// The stored checkpoint with its request, if there is one.
    found: Option<(Snapshot, Request)>,
    saved: Instant,
    held: Option<Snapshot>,
    held_at: Instant,
    stopped: bool,
    /// The penalty of the fit, which later calls do not choose again.
    penalty: Option<PenaltyInfo>,
    diagnostics: Vec<Diagnostic>,
    trouble: Vec<Diagnostic>,
}

#[derive(Debug)]
struct Open {
    _lock: Lock,
    generations: Generations,
    /// Number of the newest generation; 0 if there is none.
    number: u64,
}

impl Checkpoints {
    /// Opens the checkpoints of a run folder, before any work. New ones are written at most once
    /// per `every`.
    ///
    /// With `resume`, the fit resumes from the newest intact checkpoint, if there is one. Without
    /// it, an existing run or unfinished fit is an error, unless `force` allows replacing it.
    pub fn open(run: &Path, every: Duration, resume: bool, force: bool) -> Result<Self, Error> {
        let place = run.canonicalize().unwrap_or_else(|_| run.to_path_buf());
        recover(&place)?;
        let now = Instant::now();
        let mut checkpoints = Self {
            run: place,
            every,
            force,
            open: None,
            finished: None,
            request: Vec::new(),
            found: None,
            saved: now,
            held: None,
            held_at: now,
            stopped: false,
            penalty: None,
            diagnostics: Vec::new(),
            trouble: Vec::new(),
        };
        match look(&checkpoints.run) {
            Place::Taken(problem) => return Err(Error::file(run, problem)),
            Place::Run if resume => {
                checkpoints.finished = Some(info_in(&checkpoints.run)?);
                return Ok(checkpoints);
            }
            Place::Run if !force => return Err(Error::of_file(run, taken())),
            Place::Unfinished if !force && !resume => {
                return Err(Error::of_file(run, unfinished()));
            }
            Place::Free | Place::Run | Place::Unfinished => {}
        }
        checkpoints.take_charge(resume)?;
        Ok(checkpoints)
    }

    /// Warnings and notes about the stored checkpoints, to show before the work.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Warnings to show after the work.
    pub fn notices_of_work(&self) -> &[Diagnostic] {
        &self.trouble
    }

    fn folder(&self) -> PathBuf {
        self.run.join(FOLDER)
    }

    fn take_charge(&mut self, resume: bool) -> Result<(), Error> {
        let folder = self.folder();
        let lock = Lock::take(&folder)?;
        place::clean(&folder, !resume)?;
        let generations = Generations::open(&folder)?;
        let mut number = 0;
        match generations.newest()? {
            Some(found) => {
                generations.set_aside(&found.damaged)?;
                for damaged in &found.damaged {
                    let name = damaged.path.file_name().unwrap_or_default();
                    self.diagnostics.push(Diagnostic::warning(format!(
                        "the checkpoint {} is corrupted ({}), so the previous one is used",
                        name.to_string_lossy(),
                        damaged.reason
                    )));
                }
                number = found.number;
                self.found = Some(Snapshot::read(&found.path)?);
            }
            None if resume => {
                let message =
                    "there is no checkpoint to resume from, so the fit starts from the beginning";
                self.diagnostics.push(Diagnostic::note(message));
            }
            None => {}
        }
        self.open = Some(Open {
            _lock: lock,
            generations,
            number,
        });
        Ok(())
    }

    /// Whether the requested run exists and is finished. A run of another fit is an error, unless
    /// it may be replaced.
    pub fn is_finished(&mut self, input: &Input, request: &FitRequest) -> Result<bool, Error> {
        let Some(info) = &self.finished else {
            return Ok(false);
        };
        let request = with_objectives(&input.facts, request);
        let asked = Request::new(&input.facts, &request, fingerprint(&input.encoded)?);
        let differences = asked.differences_to(info);
        if differences.is_empty() {
            return Ok(true);
        }
        if !self.force {
            let run = self.run.display();
            return Err(Error::usage(say![
                "{run}: contains a finished run of another fit: ",
                Difference::list(&differences, " then");
                "choose another folder";
                "replace it with ", FORCE
            ]));
        }
        self.finished = None;
        self.take_charge(true)?;
        Ok(false)
    }

    /// Sets the request; a stored checkpoint must have the same one.
    pub(crate) fn expect(&mut self, request: &Request) -> Result<(), Error> {
        if let Some((_, earlier)) = &self.found {
            let differences = request.differences_from(earlier);
            if !differences.is_empty() {
                let listed = Difference::list(&differences, " when the checkpoint was written");
                return Err(Error::usage(say![
                    listed;
                    "pass the same options and data to resume";
                    "start again with ", FORCE, " and without ", RESUME
                ]));
            }
        }
        self.request = request.to_json()?;
        Ok(())
    }

    /// Begins the work; returns the checkpoint to resume from, if there is one.
    fn begin(&mut self) -> Result<Option<Snapshot>, Error> {
        let found = self.found.take().map(|(snapshot, _)| snapshot);
        if found.is_none() {
            let note = Note::new(Phase::Begin, None);
            self.commit(Snapshot::new(note, None, None))?;
        }
        self.saved = Instant::now();
        self.held_at = self.saved;
        Ok(found)
    }

    /// Writes a checkpoint if one is due.
    fn offer(&mut self, state: &dyn Fn() -> Snapshot) {
        let now = Instant::now();
        if now - self.saved >= self.every {
            self.held = None;
            // A failed checkpoint does not end the fit; the user gets a warning.
            if let Err(error) = self.commit(state()) {
                let message = format!("a checkpoint cannot be written: {error}");
                let diagnostic = Diagnostic::warning(message);
                if !self.trouble.contains(&diagnostic) {
                    self.trouble.push(diagnostic);
                }
            }
            self.saved = Instant::now();
        } else if now - self.held_at >= HELD {
            self.held = Some(state());
            self.held_at = Instant::now();
        }
    }

    /// Holds a state in memory, in case the work after it is cut short.
    fn hold(&mut self, state: Snapshot) {
        self.held = Some(state);
    }

    /// The penalty in the stored checkpoint.
    pub(crate) fn penalty_found(&self) -> Option<PenaltyInfo> {
        let (snapshot, _) = self.found.as_ref()?;
        snapshot.note.penalty.clone()
    }

    /// Sets the penalty of the fit, to be stored in its checkpoints.
    pub(crate) fn set_penalty(&mut self, penalty: Option<PenaltyInfo>) {
        self.penalty = penalty;
    }

    /// Ends solving or the work after it. If it was cut short, the last state before that is
    /// stored.
    pub(crate) fn set_stopped(&mut self, stopped: bool) -> Result<(), Error> {
        self.stopped = stopped;
        match self.held.take() {
            Some(held) if stopped => self.commit(held),
            _ => Ok(()),
        }
    }

    fn commit(&mut self, mut snapshot: Snapshot) -> Result<(), Error> {
        snapshot.note.penalty.clone_from(&self.penalty);
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let files = snapshot.files(&self.request)?;
        let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
        open.generations.commit(open.number + 1, &files)?;
        open.number += 1;
        open.generations.prune(open.number)
    }
}

/// If nothing was committed, there is nothing to resume from, and the folders are removed.
impl Drop for Checkpoints {
    fn drop(&mut self) {
        if let Some(open) = self.open.take_if(|open| open.number == 0) {
            let folder = self.folder();
            // Remove the file before the lock is released, so that no process takes a lock that is
            // about to be removed.
            let _ = std::fs::remove_file(folder.join("lock"));
            drop(open);
            // These fail, as intended, if the folders are not empty.
            let _ = std::fs::remove_dir(folder);
            let _ = std::fs::remove_dir(&self.run);
        }
    }
}
