//! The progress of a solver, as bytes that another process can resume from.

pub(crate) mod exact;
mod sound;

pub(crate) use sound::{Sound, are_counts};

use fairfront_core::Problem;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, Outcome};

const MAGIC: &[u8] = b"fairfront-solver\n";
const VERSION: u32 = 3;
/// Length of a SHA-256 sum.
const SUM: usize = 32;
/// The kind of a solver's result.
const OUTCOME: &str = "outcome";

/// The progress of a solver between two rounds. Resuming from it
/// ([`Solver::resume`](crate::Solver::resume), [`resume_polish`](crate::resume_polish)) with the
/// same settings on the same problem gives exactly the result of an uninterrupted solve, for any
/// number of threads.
///
/// Random streams are keyed by round, so a checkpoint does not store them. Everything that follows
/// from the problem alone (preconditioners, second derivatives) is computed again. Numbers are
/// exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    header: Header,
    /// The state as JSON.
    state: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    version: u32,
    kind: String,
    n_params: usize,
    n_objectives: usize,
}

impl Checkpoint {
    pub(crate) fn new(kind: &str, problem: &dyn Problem, state: &impl Serialize) -> Self {
        Self {
            header: Header {
                version: VERSION,
                kind: kind.into(),
                n_params: problem.n_params(),
                n_objectives: problem.n_objectives(),
            },
            // Cannot fail, because states do not contain maps.
            state: serde_json::to_vec(state).unwrap_or_default(),
        }
    }

    /// Stores a solver's result, for work that begins with it.
    pub fn of_outcome(problem: &dyn Problem, outcome: &Outcome) -> Self {
        Self::new(OUTCOME, problem, outcome)
    }

    /// The result that [`Checkpoint::of_outcome`] stored.
    pub fn outcome(&self, problem: &dyn Problem) -> Result<Outcome, Error> {
        self.state(OUTCOME, problem)
    }

    /// The name of the solver that wrote the checkpoint, `polish`, or `outcome` for a solver's
    /// result.
    pub fn kind(&self) -> &str {
        &self.header.kind
    }

    /// Encodes the checkpoint: a line that names the format, a line of JSON with its version, kind,
    /// and numbers of parameters and objectives, the state as JSON, and the SHA-256 sum of all of
    /// this.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(serde_json::to_vec(&self.header).unwrap_or_default());
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.state);
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    /// Decodes the result of [`Checkpoint::to_bytes`]; any other bytes are rejected.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let Some(rest) = bytes.strip_prefix(MAGIC).filter(|rest| rest.len() > SUM) else {
            return Err(corrupted("not a checkpoint of a solver"));
        };
        let (content, sum) = bytes.split_at(bytes.len() - SUM);
        if Sha256::digest(content).as_slice() != sum {
            return Err(corrupted("its checksum is wrong"));
        }
        let rest = &rest[..rest.len() - SUM];
        let mut lines = rest.splitn(2, |byte| *byte == b'\n');
        let (Some(header), Some(state)) = (lines.next(), lines.next()) else {
            return Err(other_version());
        };
        let header: Header = serde_json::from_slice(header).map_err(|_| other_version())?;
        match header.version == VERSION {
            true => Ok(Self {
                header,
                state: state.to_vec(),
            }),
            false => Err(other_version()),
        }
    }

    /// The state, if this solver wrote it for a problem of this shape.
    pub(crate) fn state<S: DeserializeOwned + Sound>(
        &self,
        kind: &str,
        problem: &dyn Problem,
    ) -> Result<S, Error> {
        let header = &self.header;
        if header.kind != kind {
            return Err(Error::Checkpoint(format!(
                "it belongs to {}, not to {kind}",
                header.kind
            )));
        }
        let own = (header.n_params, header.n_objectives);
        let (n, m) = (problem.n_params(), problem.n_objectives());
        if own != (n, m) {
            return Err(Error::Checkpoint(format!(
                "its problem has {} parameters and {} objectives, but this one has {n} and {m}",
                own.0, own.1
            )));
        }
        let state: S =
            serde_json::from_slice(&self.state).map_err(|e| corrupted(&e.to_string()))?;
        ensure(state.is_sound(n, m))?;
        Ok(state)
    }
}

fn corrupted(why: &str) -> Error {
    Error::Checkpoint(format!("it is corrupted ({why})"))
}

fn other_version() -> Error {
    Error::Checkpoint("it has another version of the format; start again".into())
}

/// Rejects an inconsistent state.
pub(crate) fn ensure(holds: bool) -> Result<(), Error> {
    match holds {
        true => Ok(()),
        false => Err(corrupted("its numbers are inconsistent")),
    }
}
