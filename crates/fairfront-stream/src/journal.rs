//! The inputs of a stream in a folder, and how far they were read: `journal.json`.

use std::collections::BTreeMap;
use std::path::Path;

use fairfront_data::{ColumnType, Position};
use fairfront_run::Error;
use serde::{Deserialize, Serialize};

use crate::options::InputOptions;
use crate::store::{Committed, Entry};

/// The file of a generation that contains the journal.
pub(crate) const JOURNAL: &str = "journal.json";

/// An input, and how far it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Input {
    /// Its name, as passed by the user.
    pub(crate) name: String,
    /// Its identity: the file's full path, a known data set's name, or `-`.
    pub(crate) identity: String,
    /// Number of rows used.
    pub(crate) rows: u64,
    /// How far the file was read; for standard input, only the number of rows counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<Position>,
    /// For standard input: a checksum of its rows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) chain: String,
}

impl Input {
    /// The log entries that come before its rows: its identity, and the position to resume from.
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

    /// The input that a log entry declares.
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

/// The facts that a stream in a folder stores in addition to its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Journal {
    pub(crate) options: InputOptions,
    /// Names of the columns, in the order of the first input.
    pub(crate) columns: Vec<String>,
    /// Column types that the formats of inputs declare.
    pub(crate) declared: BTreeMap<String, ColumnType>,
    /// Whether the separator of an input is not a comma, so that a comma may be a decimal comma.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) commas_are_free: bool,
    pub(crate) inputs: Vec<Input>,
    /// The committed lengths of `rejected.csv` and `drift.jsonl`.
    pub(crate) rejected_file: Committed,
    pub(crate) drift_file: Committed,
}

impl Journal {
    /// Creates a journal before anything was read.
    pub(crate) fn new(options: InputOptions) -> Self {
        Self {
            options,
            columns: Vec::new(),
            declared: BTreeMap::new(),
            commas_are_free: false,
            inputs: Vec::new(),
            rejected_file: Committed::default(),
            drift_file: Committed::default(),
        }
    }

    /// Reads the journal of a generation.
    pub(crate) fn read(generation: &Path) -> Result<Self, Error> {
        let path = generation.join(JOURNAL);
        let bytes = std::fs::read(&path).map_err(|e| Error::file(&path, e))?;
        serde_json::from_slice(&bytes)
            .map_err(|e| Error::file(&path, format!("not the journal of a stream ({e})")))
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>, Error> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::data(format!("{JOURNAL}: cannot be written ({e})")))?;
        Ok(format!("{text}\n").into_bytes())
    }

    /// The input with this identity, which is added if it is new.
    pub(crate) fn input(&mut self, name: &str, identity: &str) -> usize {
        if let Some(at) = self.inputs.iter().position(|i| i.identity == identity) {
            return at;
        }
        self.inputs.push(Input::new(name, identity));
        self.inputs.len() - 1
    }
}
