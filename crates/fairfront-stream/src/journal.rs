//! How rows reach a stream in a folder, and how far they were read: `journal.json`.

use std::collections::BTreeMap;
use std::path::Path;

use fairfront_data::{ColumnType, Position};
use fairfront_run::Error;
use serde::{Deserialize, Serialize};

use crate::options::InputOptions;
use crate::store::{Committed, Entry};

/// The file of a generation that holds it.
pub(crate) const JOURNAL: &str = "journal.json";

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

/// What a stream in a folder remembers in addition to its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Journal {
    pub(crate) options: InputOptions,
    /// Names of the columns, in the order of the first input.
    pub(crate) columns: Vec<String>,
    /// Types that the formats of inputs state.
    pub(crate) declared: BTreeMap<String, ColumnType>,
    /// Whether the fields of an input are separated by another character than a comma, so that a comma
    /// may be a decimal sign.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) commas_are_free: bool,
    pub(crate) inputs: Vec<Input>,
    /// How far `rejected.csv` and `drift.jsonl` are committed.
    pub(crate) rejected_file: Committed,
    pub(crate) drift_file: Committed,
}

impl Journal {
    /// Nothing read yet.
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
            .map_err(|e| Error::file(&path, format!("this is not the journal of a stream ({e})")))
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>, Error> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::data(format!("{JOURNAL}: cannot be written ({e})")))?;
        Ok(format!("{text}\n").into_bytes())
    }

    /// The input of this identity; a new one if there is none.
    pub(crate) fn input(&mut self, name: &str, identity: &str) -> usize {
        if let Some(at) = self.inputs.iter().position(|i| i.identity == identity) {
            return at;
        }
        self.inputs.push(Input::new(name, identity));
        self.inputs.len() - 1
    }
}
