//! The part of `run.json` about a stream.

use fairfront_data::Dropped;
use serde::{Deserialize, Serialize};

/// The rows that a front is fitted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// All rows.
    All,
    /// The given number of last rows.
    Window(usize),
    /// A uniform sample of the given size.
    Reservoir(usize),
}

/// The progress of a stream, as stored in `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamInfo {
    /// Number of batches so far.
    pub batches: u64,
    /// The last batch that updated the front; later ones could not.
    pub updated: u64,
    /// Number of rows so far, including dropped and rejected ones.
    pub rows: u64,
    /// Number of rows used so far.
    pub used: u64,
    /// Number of rows that were set aside.
    pub rejected: u64,
    /// Why rows were dropped, and how many; a row may count under several reasons.
    pub dropped: Vec<Dropped>,
    /// The rows that are kept.
    pub keep: Keep,
    /// Number of rows kept.
    pub kept: usize,
}
