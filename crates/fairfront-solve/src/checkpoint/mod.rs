//! Where a solver is in its work, as bytes that another process can go on from.

mod code;
mod outcome;

pub(crate) use code::{Reader, Writer, ensure};

use fairfront_core::Problem;
use sha2::{Digest, Sha256};

use crate::Error;

const MAGIC: &[u8] = b"fairfront-solver\n";
const VERSION: u32 = 2;
/// Length of a SHA-256 sum.
const SUM: usize = 32;

/// Where a solver is between two rounds. Solving on from there
/// ([`Solver::resume`](crate::Solver::resume), [`resume_polish`](crate::resume_polish)) with the same
/// settings on the same problem ends in exactly what solving without a break ends in, for any number of
/// threads.
///
/// Random streams are keyed by round, so none is part of it; what follows from the problem alone
/// (preconditioners, second derivatives) is found again. Numbers are kept by their bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    kind: String,
    n_params: usize,
    n_objectives: usize,
    state: Vec<u8>,
}

impl Checkpoint {
    pub(crate) fn new(kind: &str, problem: &dyn Problem, state: Writer) -> Self {
        Self {
            kind: kind.into(),
            n_params: problem.n_params(),
            n_objectives: problem.n_objectives(),
            state: state.into_bytes(),
        }
    }

    /// What wrote it: the name of a solver, `polish`, or `outcome` for a solver's result.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// As bytes: a line that names the format, its version, what wrote it, numbers of parameters and
    /// objectives, the state (numbers little-endian), and the SHA-256 sum of all that.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.raw(MAGIC);
        writer.raw(&VERSION.to_le_bytes());
        writer.bytes(self.kind.as_bytes());
        writer.count(self.n_params);
        writer.count(self.n_objectives);
        writer.bytes(&self.state);
        let mut bytes = writer.into_bytes();
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    /// From [`Checkpoint::to_bytes`]; whatever is not exactly that is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |what: &str| Error::Checkpoint(format!("it is damaged ({what})"));
        if !bytes.starts_with(MAGIC) || bytes.len() < MAGIC.len() + SUM {
            return Err(damaged("no checkpoint of a solver"));
        }
        let (content, sum) = bytes.split_at(bytes.len() - SUM);
        if Sha256::digest(content).as_slice() != sum {
            return Err(damaged("its checksum is wrong"));
        }
        let mut reader = Reader::new(&content[MAGIC.len()..]);
        let version = reader.raw(4)?;
        if version != VERSION.to_le_bytes() {
            return Err(Error::Checkpoint(
                "it is of another version of the format; start afresh".into(),
            ));
        }
        let kind = String::from_utf8(reader.bytes()?.to_vec()).map_err(|_| damaged("its name"))?;
        let checkpoint = Self {
            kind,
            n_params: reader.count()?,
            n_objectives: reader.count()?,
            state: reader.bytes()?.to_vec(),
        };
        reader.end()?;
        Ok(checkpoint)
    }

    /// The state, if this was written by that solver for a problem of that shape.
    pub(crate) fn read(&self, kind: &str, problem: &dyn Problem) -> Result<Reader<'_>, Error> {
        if self.kind != kind {
            return Err(Error::Checkpoint(format!(
                "it is of {}, not of {kind}",
                self.kind
            )));
        }
        let own = (self.n_params, self.n_objectives);
        let asked = (problem.n_params(), problem.n_objectives());
        if own != asked {
            return Err(Error::Checkpoint(format!(
                "it is of a problem with {} parameters and {} objectives, this one has {} and {}",
                own.0, own.1, asked.0, asked.1
            )));
        }
        Ok(Reader::new(&self.state))
    }
}
