//! The progress of a fit, as the files of a checkpoint.

use std::path::Path;

use fairfront_core::{Problem, say};
use fairfront_data::Diagnostic;
use fairfront_model::setting::FORCE;
use fairfront_solve::{Checkpoint, Outcome};
use serde::{Deserialize, Serialize};

use crate::{Error, PenaltyInfo, PolishInfo};

const REQUEST: &str = "request.json";
const PHASE: &str = "phase.json";
const SOLVER: &str = "solver.bin";
const OUTCOME: &str = "outcome.bin";

/// The phase of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    /// Nothing is done yet.
    Begin,
    /// The solver is at the state in its checkpoint.
    Solve,
    /// The solver is done; polishing is at the state in its checkpoint or has not begun.
    Polish,
    /// Judging the front comes next.
    Judge,
}

/// The content of `phase.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) phase: Phase,
    /// A warning or note about the models that the solver starts from.
    pub(crate) diagnostic: Option<Diagnostic>,
    /// Summary of polishing, once it is done.
    pub(crate) polish: Option<PolishInfo>,
    /// The penalty of the fit, if its losses take one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) penalty: Option<PenaltyInfo>,
}

impl Note {
    pub(crate) fn new(phase: Phase, diagnostic: Option<&Diagnostic>) -> Self {
        Self {
            phase,
            diagnostic: diagnostic.cloned(),
            polish: None,
            penalty: None,
        }
    }
}

/// The progress of a fit.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) note: Note,
    /// The state of the solver or of polishing.
    pub(crate) solver: Option<Checkpoint>,
    /// The solver's result, once there is one.
    outcome: Option<Checkpoint>,
}

impl Snapshot {
    pub(crate) fn new(
        note: Note,
        solver: Option<Checkpoint>,
        outcome: Option<&Checkpoint>,
    ) -> Self {
        Self {
            note,
            solver,
            outcome: outcome.cloned(),
        }
    }

    /// The solver's result.
    pub(crate) fn outcome(&self, problem: &dyn Problem) -> Result<Outcome, Error> {
        match &self.outcome {
            Some(outcome) => Ok(outcome.outcome(problem)?),
            None => Err(Error::data(say![
                "the checkpoint is incomplete ({OUTCOME} is missing)";
                "start again with ", FORCE
            ])),
        }
    }

    /// The files of a generation.
    pub(super) fn files(&self, request: &[u8]) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        let failed = |e: serde_json::Error| Error::data(format!("{PHASE}: {e}"));
        let mut note = serde_json::to_vec_pretty(&self.note).map_err(failed)?;
        note.push(b'\n');
        let mut files = vec![(REQUEST, request.to_vec()), (PHASE, note)];
        for (name, part) in [(SOLVER, &self.solver), (OUTCOME, &self.outcome)] {
            files.extend(part.as_ref().map(|part| (name, part.to_bytes())));
        }
        Ok(files)
    }

    /// Reads an intact generation, with its request.
    pub(super) fn read(folder: &Path) -> Result<(Self, super::Request), Error> {
        let bytes = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|e| Error::file(&path, e))
        };
        let unreadable = |name: &str, problem: String| {
            let problem = say![
                "this checkpoint cannot be read ({problem})";
                "start again with ", FORCE
            ];
            Error::of_file(&folder.join(name), problem)
        };
        let part = |name: &str| -> Result<Option<Checkpoint>, Error> {
            if !folder.join(name).exists() {
                return Ok(None);
            }
            let read = Checkpoint::from_bytes(&bytes(name)?);
            read.map(Some).map_err(|e| unreadable(name, e.to_string()))
        };
        let request = super::Request::from_json(&bytes(REQUEST)?);
        let note = serde_json::from_slice(&bytes(PHASE)?);
        let snapshot = Self {
            note: note.map_err(|e| unreadable(PHASE, e.to_string()))?,
            solver: part(SOLVER)?,
            outcome: part(OUTCOME)?,
        };
        Ok((snapshot, request.map_err(|e| unreadable(REQUEST, e))?))
    }
}
