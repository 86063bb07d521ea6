//! The part of `run.json` about the stream whose rows a front follows.

use fairfront_data::Dropped;
use serde::{Deserialize, Serialize};

/// Which rows a front stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// All of them.
    All,
    /// The last ones, so many.
    Window(usize),
    /// A uniform sample of so many.
    Reservoir(usize),
}

/// What a stream has come to, as its `run.json` says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamInfo {
    /// Batches so far.
    pub batches: u64,
    /// The batch that the front was found with; those after it could not update it.
    pub updated: u64,
    /// Rows so far, dropped and rejected ones counted.
    pub rows: u64,
    /// Rows in use so far.
    pub used: u64,
    /// Rows that were set aside.
    pub rejected: u64,
    /// Why rows were dropped, and how many; a row may count under several reasons.
    pub dropped: Vec<Dropped>,
    /// Which rows are kept.
    pub keep: Keep,
    /// How many these are.
    pub kept: usize,
}
