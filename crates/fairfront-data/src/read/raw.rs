//! Records of CSV text, and their positions in the text.

use std::collections::VecDeque;

use fairfront_core::Message;
use serde::{Deserialize, Serialize};

use super::chunk::{Record, TakeRecord};
use super::column::shown;
use super::csv::ragged;
use super::lane::{Misfit, has_nul, nul_in};
use crate::error::{Error, Place};

/// The maximum number of characters to keep of a bad record.
const MOST_SHOWN: usize = 10_000;

/// How far a file was read, with everything needed to resume there later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Number of records returned, including bad ones.
    pub rows: u64,
    /// Bytes of the file up to the end of the last record; 0 before the first.
    pub bytes: u64,
    /// SHA-256 of these bytes, in hexadecimal.
    pub sha256: String,
    /// Whether the last of these bytes is not the end of a line.
    pub ends_open: bool,
    /// The field separator.
    pub separator: u8,
    /// Bytes before the table: a byte order mark and comment lines.
    pub head: u64,
}

/// A row of CSV text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRecord {
    /// Row within its file, from 1, counting bad ones.
    pub row: u64,
    /// The line on which it starts, from 1.
    pub line: u64,
    /// One string per column, without surrounding white space, or the reason why there are none.
    pub fields: Result<Vec<String>, BadRecord>,
}

/// A record that cannot be split into the fields of its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRecord {
    /// The record unchanged, except that invalid bytes are replaced, up to 10,000 characters.
    pub text: String,
    /// The problem and the remedy.
    pub reason: Message,
}

impl BadRecord {
    pub(super) fn new(bytes: &[u8], reason: impl Into<Message>) -> Self {
        // Enough bytes for the longest record kept, whatever its characters.
        let start = &bytes[..bytes.len().min(4 * MOST_SHOWN)];
        let text = String::from_utf8_lossy(start).replace('\0', "\u{fffd}");
        Self {
            text: text.trim().chars().take(MOST_SHOWN).collect(),
            reason: reason.into(),
        }
    }
}

/// A record that is ready to be returned.
pub(super) struct Cut {
    pub(super) line: u64,
    pub(super) fields: Result<Vec<String>, BadRecord>,
    /// Its end in the text.
    pub(super) end: usize,
}

/// Takes the fields of records.
pub(super) struct Fields<'a> {
    pub(super) name: &'a str,
    pub(super) columns: &'a [String],
    pub(super) separator: u8,
    /// Rows before the records that are ready.
    pub(super) rows: u64,
    pub(super) bytes: &'a [u8],
    /// The position of these bytes in the text.
    pub(super) offset: usize,
    /// The start and end of the current record in these bytes.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) cuts: &'a mut VecDeque<Cut>,
}

impl Fields<'_> {
    fn fields(&self, record: &impl Record, line: u64) -> Result<Vec<String>, BadRecord> {
        let place = || Place {
            file: self.name.into(),
            row: self.rows as usize + self.cuts.len() + 1,
            line: Some(line),
        };
        let bad = |error: &Error| {
            BadRecord::new(&self.bytes[self.start..self.end], error.without_place())
        };
        let (expected, found) = (self.columns.len(), record.n_fields());
        if found != expected {
            let last_is_empty = record.field(found - 1).trim_ascii().is_empty();
            let error = ragged(place(), expected, found, last_is_empty, self.separator);
            return Err(bad(&error));
        }
        let mut fields = Vec::with_capacity(found);
        for (i, column) in self.columns.iter().enumerate() {
            let bytes = record.field(i).trim_ascii();
            if has_nul(bytes) {
                return Err(bad(&nul_in(place(), column)));
            }
            match std::str::from_utf8(bytes) {
                Ok(text) => fields.push(text.to_owned()),
                Err(_) => {
                    let problem = Misfit::NotUtf8.problem(&shown(bytes), None, "");
                    return Err(bad(&Error::Cell {
                        place: place(),
                        column: column.clone(),
                        problem: problem.into(),
                    }));
                }
            }
        }
        Ok(fields)
    }
}

impl TakeRecord for Fields<'_> {
    type Error = std::convert::Infallible;
    const ENDS: bool = true;

    fn end(&mut self, end: usize) {
        self.start = self.end;
        self.end = end;
    }

    fn take(&mut self, record: &impl Record, line: u64) -> Result<(), Self::Error> {
        let fields = self.fields(record, line);
        self.cuts.push_back(Cut {
            line,
            fields,
            end: self.offset + self.end,
        });
        Ok(())
    }
}
