//! What a stream remembers from batch to batch: `state.json`.

use std::collections::BTreeMap;
use std::path::Path;

use fairfront_core::{Message, say};
use fairfront_data::setting::{BALANCE, SENSITIVE, TARGET};
use fairfront_data::{ColumnType, ColumnTypes, Dropped, Encoding, Position, ReadOptions, Spec};
use fairfront_run::{Error, FitRequest, Keep};
use serde::{Deserialize, Serialize};

use super::drift::Composition;
use super::keep::{Kept, KeptInfo};
use crate::setting::{BATCH, RESERVOIR, WINDOW};
use crate::store::{Committed, Entry};

const FORMAT: &str = "fairfront-stream";
const VERSION: u32 = 1;

/// The file of a generation that holds it.
pub(crate) const STATE: &str = "state.json";

/// What determines a stream's result beside its rows; settled by the first call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamOptions {
    /// A known data set, where that is what streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// Roles, policies, split and seed.
    pub spec: Spec,
    /// How inputs are read.
    pub read: ReadOptions,
    /// Objectives and solvers.
    pub request: FitRequest,
    /// Rows of a batch.
    pub batch: usize,
    /// Which rows the front stands on.
    pub keep: Keep,
    /// What the first call was told, in the words of whoever was told; nothing here looks at it.
    #[serde(default)]
    pub asked: serde_json::Value,
}

impl StreamOptions {
    /// Says what cannot be right, before any row is read.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check_rows(&self.spec, self.keep)?;
        if self.request.objectives.len() < 2 {
            return Err(Error::usage(say![
                "a front needs at least two objectives";
                "name a sensitive column with ", SENSITIVE
            ]));
        }
        if self.batch == 0 {
            return Err(Error::usage(say![
                BATCH.is(0),
                ": a batch needs at least one row"
            ]));
        }
        Ok(())
    }
}

/// Says what cannot be right about rows that are to arrive in batches.
pub(super) fn check_rows(spec: &Spec, keep: Keep) -> Result<(), Error> {
    let usage = |message: Message| Err(Error::Usage(message));
    spec.check()?;
    if spec.target.is_none() {
        return usage(say!["a front needs a target"; "name the column with ", TARGET]);
    }
    if spec.balance.is_some() {
        return usage(say![
            BALANCE,
            " is for tables that are whole; rows of a stream are taken as they come"
        ]);
    }
    match keep {
        Keep::Window(0) => usage(say![WINDOW.is(0), ": keep at least one row"]),
        Keep::Reservoir(0) => usage(say![RESERVOIR.is(0), ": keep at least one row"]),
        _ => Ok(()),
    }
}

/// Adds to the rows dropped so far.
pub(super) fn add_dropped(all: &mut Vec<Dropped>, dropped: &[Dropped]) {
    for more in dropped {
        match all.iter_mut().find(|d| d.reason == more.reason) {
            Some(known) => known.rows += more.rows,
            None => all.push(more.clone()),
        }
    }
}

/// An input and how far it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Input {
    /// As it was named.
    pub(crate) name: String,
    /// What tells it from others: the file's full path, a known data set's name, `-`.
    pub(crate) identity: String,
    /// Rows taken.
    pub(crate) rows: u64,
    /// How far the text was read; for standard input nothing but its rows counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<Position>,
    /// For standard input: what its rows were, in one checksum.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) chain: String,
}

impl Input {
    /// What a log says of it before anything it gave: who it is, and from where it goes on.
    pub(crate) fn entries(&self, index: usize) -> Vec<Entry> {
        let known = Entry::Input {
            input: index,
            name: self.name.clone(),
            identity: self.identity.clone(),
        };
        let position = self.position.as_ref();
        let position = position.and_then(|position| serde_json::to_value(position).ok());
        let position = position.map(|position| Entry::Position {
            input: index,
            position,
        });
        std::iter::once(known).chain(position).collect()
    }

    /// The input that a log announces.
    pub(crate) fn of(entry: &Entry) -> Option<Self> {
        match entry {
            Entry::Input { name, identity, .. } => Some(Self::new(name, identity)),
            _ => None,
        }
    }

    fn new(name: &str, identity: &str) -> Self {
        Self {
            name: name.into(),
            identity: identity.into(),
            rows: 0,
            position: None,
            chain: String::new(),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What the first batch settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settled {
    /// Types of the columns.
    pub(crate) types: ColumnTypes,
    /// Values of the target that are known.
    pub(crate) targets: Vec<String>,
    /// The encoding of the rows that are kept; it may know more categories than that of the front,
    /// where a front could not be updated.
    pub(crate) encoding: Encoding,
    /// What volumes are measured with.
    pub(crate) reference: Vec<f64>,
    /// By what the front is judged.
    pub(crate) judged_by: Vec<String>,
    /// The front's values on the rows it was found on.
    pub(crate) values: Vec<f64>,
    /// The batch that it was found with.
    pub(crate) updated: u64,
    /// Batches since then that were rejected as a whole, which changes neither front nor rows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) skipped: u64,
    /// How many rows are kept.
    pub(crate) rows: usize,
    /// Who is in these rows.
    pub(crate) composition: Composition,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    format: String,
    version: u32,
    pub(crate) options: StreamOptions,
    /// Batches taken.
    pub(crate) batches: u64,
    /// Rows of these batches.
    pub(crate) rows: u64,
    pub(crate) rejected: u64,
    pub(crate) dropped: Vec<Dropped>,
    /// Names of the columns, in the order of the first input.
    pub(crate) columns: Vec<String>,
    /// What the formats of inputs say of them.
    pub(crate) declared: BTreeMap<String, ColumnType>,
    /// Whether the fields of an input are separated by another character than a comma, so that a comma
    /// may be a decimal sign.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) commas_are_free: bool,
    pub(crate) inputs: Vec<Input>,
    pub(crate) kept: KeptInfo,
    /// How far `rejected.csv` and `drift.jsonl` are committed.
    pub(crate) rejected_file: Committed,
    pub(crate) drift_file: Committed,
    /// Absent until there is a front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<Settled>,
}

impl State {
    /// Nothing taken yet.
    pub(crate) fn new(options: StreamOptions) -> Self {
        Self {
            format: FORMAT.into(),
            version: VERSION,
            options,
            batches: 0,
            rows: 0,
            rejected: 0,
            dropped: Vec::new(),
            columns: Vec::new(),
            declared: BTreeMap::new(),
            commas_are_free: false,
            inputs: Vec::new(),
            kept: KeptInfo::default(),
            rejected_file: Committed::default(),
            drift_file: Committed::default(),
            settled: None,
        }
    }

    /// Reads the state of a generation.
    pub(crate) fn read(generation: &Path) -> Result<Self, Error> {
        let path = generation.join(STATE);
        let text = std::fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
        let state: Self = serde_json::from_str(&text)
            .map_err(|e| Error::file(&path, format!("this is no state of a stream ({e})")))?;
        if state.format != FORMAT || state.version != VERSION {
            let problem = format!(
                "{} of version {} cannot be read by this program, which reads {FORMAT} of version {VERSION}",
                state.format, state.version
            );
            return Err(Error::file(&path, problem));
        }
        Ok(state)
    }

    /// The rows that it keeps; none before the first batch.
    pub(crate) fn read_rows(&self, folder: &Path, generation: &Path) -> Result<Kept, Error> {
        let (keep, seed) = (self.options.keep, self.options.spec.seed);
        match self.batches {
            0 => Ok(Kept::new(keep, seed)),
            _ => Kept::read(keep, seed, self.kept.clone(), folder, generation),
        }
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>, Error> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::data(format!("the state cannot be written: {e}")))?;
        Ok(format!("{text}\n").into_bytes())
    }

    /// The input of this identity; a new one where there is none.
    pub(crate) fn input(&mut self, name: &str, identity: &str) -> usize {
        if let Some(at) = self.inputs.iter().position(|i| i.identity == identity) {
            return at;
        }
        self.inputs.push(Input::new(name, identity));
        self.inputs.len() - 1
    }
}
