//! Checkpoints of a fit: what it takes to go on after a kill at any moment, to the very same result.
//!
//! A fit with checkpoints keeps them in `DIR/checkpoint/`, as generations of a state. Each holds what
//! determines the result (`request.json`), how far the work is (`phase.json`), and the state of the
//! solver (`solver.bin`) or its result (`outcome.bin`). They go when the finished run is in its folder
//! (`crate::place`).

mod place;
mod request;
mod snapshot;
mod solve;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fairfront_data::{Encoded, Notice, Prepared};

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

/// Where work was cut short, the last state before that is kept if it is at most so old; found more
/// often it would cost more than it saves.
const HELD: Duration = Duration::from_secs(1);

/// The checkpoints of a fit, of which one process at a time is in charge.
#[derive(Debug)]
pub struct Checkpoints {
    /// The run folder.
    run: PathBuf,
    every: Duration,
    force: bool,
    /// None as long as there is a finished run that may be the one asked for.
    open: Option<Open>,
    /// The run that is there, where it is finished.
    finished: Option<RunInfo>,
    /// What determines the result; known once rows are encoded.
    request: Vec<u8>,
    /// What was found, with its request.
    found: Option<(Snapshot, Request)>,
    saved: Instant,
    held: Option<Snapshot>,
    held_at: Instant,
    stopped: bool,
    /// The penalty of the fit, which later calls do not choose again.
    penalty: Option<PenaltyInfo>,
    notices: Vec<Notice>,
    trouble: Vec<Notice>,
}

#[derive(Debug)]
struct Open {
    _lock: Lock,
    generations: Generations,
    /// Of the newest generation; 0 where there is none.
    number: u64,
}

impl Checkpoints {
    /// Takes charge of the checkpoints of a run folder, before any work. New ones are written at most
    /// once in `every`.
    ///
    /// With `resume` it goes on from the newest sound checkpoint, where there is one; without, a run or
    /// an unfinished one there is an error, unless `force` says that it is to be replaced.
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
            notices: Vec::new(),
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

    /// What to tell a person about what was found, before the work.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// What to tell a person after the work.
    pub fn notices_of_work(&self) -> &[Notice] {
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
                    self.notices.push(Notice::warning(format!(
                        "the checkpoint {} is damaged ({}); the one before it is used",
                        name.to_string_lossy(),
                        damaged.reason
                    )));
                }
                number = found.number;
                self.found = Some(Snapshot::read(&found.path)?);
            }
            None if resume => {
                let message =
                    "there is no checkpoint to go on from; the fit starts from the beginning";
                self.notices.push(Notice::info(message));
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

    /// Whether the run that is asked for is there and finished. Another run there is an error, unless
    /// it is to be replaced.
    pub fn is_finished(
        &mut self,
        prepared: &Prepared,
        request: &FitRequest,
    ) -> Result<bool, Error> {
        let Some(info) = &self.finished else {
            return Ok(false);
        };
        let request = with_objectives(prepared, request);
        let encoded = Encoded::new(prepared)?;
        let asked = Request::new(prepared, &request, fingerprint(&encoded));
        let differences = asked.differences_to(info);
        if differences.is_empty() {
            return Ok(true);
        }
        if !self.force {
            let run = self.run.display();
            return Err(Error::usage(say![
                "{run}: there is a finished run of another fit: ",
                Difference::said(&differences, " then");
                "name another folder";
                "replace it with ", FORCE
            ]));
        }
        self.finished = None;
        self.take_charge(true)?;
        Ok(false)
    }

    /// Says what is asked for: what was found must be of the same request.
    pub(crate) fn expect(&mut self, request: &Request) -> Result<(), Error> {
        if let Some((_, earlier)) = &self.found {
            let differences = request.differences_from(earlier);
            if !differences.is_empty() {
                let said = Difference::said(&differences, " when the checkpoint was written");
                return Err(Error::usage(say![
                    said;
                    "give the same options and data to go on";
                    "start afresh with ", FORCE, " and without ", RESUME
                ]));
            }
        }
        self.request = request.to_json()?;
        Ok(())
    }

    /// Begins: where to go on from, if anywhere.
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

    /// Keeps a state if it is time to.
    fn offer(&mut self, state: &dyn Fn() -> Snapshot) {
        let now = Instant::now();
        if now - self.saved >= self.every {
            self.held = None;
            // A fit is worth more than its checkpoints: it goes on, and this is said.
            if let Err(error) = self.commit(state()) {
                let message = format!("a checkpoint could not be written: {error}");
                let notice = Notice::warning(message);
                if !self.trouble.contains(&notice) {
                    self.trouble.push(notice);
                }
            }
            self.saved = Instant::now();
        } else if now - self.held_at >= HELD {
            self.held = Some(state());
            self.held_at = Instant::now();
        }
    }

    /// Holds a state, in case the work after it is cut short.
    fn hold(&mut self, state: Snapshot) {
        self.held = Some(state);
    }

    /// The penalty that was chosen when the checkpoint was written.
    pub(crate) fn penalty_found(&self) -> Option<PenaltyInfo> {
        let (snapshot, _) = self.found.as_ref()?;
        snapshot.note.penalty.clone()
    }

    /// The penalty of the fit, to be kept with its states.
    pub(crate) fn set_penalty(&mut self, penalty: Option<PenaltyInfo>) {
        self.penalty = penalty;
    }

    /// Solving is over, or the work after it. If it was cut short, the last state before that is kept.
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

/// Where nothing was committed there is nothing to go on from, and no reason to leave a folder.
impl Drop for Checkpoints {
    fn drop(&mut self) {
        if let Some(open) = self.open.take_if(|open| open.number == 0) {
            let folder = self.folder();
            // Before it is given back, so that nobody takes a lock that is about to vanish.
            let _ = std::fs::remove_file(folder.join("lock"));
            drop(open);
            // Only if they are empty.
            let _ = std::fs::remove_dir(folder);
            let _ = std::fs::remove_dir(&self.run);
        }
    }
}
