//! The log of rows that have arrived but are not in a generation yet: `spool/000013.log`.
//!
//! Each line is one entry: the first 16 hexadecimal digits of the SHA-256 of the rest, a space, and the
//! entry as JSON.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fairfront_core::{grouped, hex};
use fairfront_model::file::{names_in, parent_of, remove, sync_folder, write_through};
use fairfront_run::Error;
use fairfront_run::store::{NEW, free_beside, number_in, unwritten, write_anew};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::append::Appender;

const FOLDER: &str = "spool";
const SUFFIX: &str = ".log";

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Entry {
    /// An input that no generation knows yet.
    Input {
        /// Its number in the following entries.
        input: usize,
        /// Its name, as passed by the user.
        name: String,
        /// Its identity.
        identity: String,
    },
    /// A row that was read.
    Row {
        /// Its input.
        input: usize,
        /// Its number in the stream.
        row: u64,
        /// Its strings, one per column.
        fields: Vec<String>,
    },
    /// A row that cannot be used.
    Bad {
        /// Its input.
        input: usize,
        /// Its number in the stream.
        row: u64,
        /// The row as it was read.
        raw: String,
        /// The reason.
        reason: String,
    },
    /// How far an input was read.
    Position {
        /// The input.
        input: usize,
        /// The position, in the format of the reader of inputs.
        position: serde_json::Value,
    },
}

impl Entry {
    /// The input of a row; `None` if the entry is not a row.
    pub(crate) fn input_of_row(&self) -> Option<usize> {
        match self {
            Self::Row { input, .. } | Self::Bad { input, .. } => Some(*input),
            Self::Input { .. } | Self::Position { .. } => None,
        }
    }
}

/// The log of one batch.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    path: PathBuf,
    end: Appender,
}

impl Spool {
    /// Opens the log of a batch in a state. Returns its entries and, if more than a half-written last line
    /// had to be removed, a message about that. Entries count up to the first invalid line; that line and
    /// everything after it are moved to `000013.log.damaged`.
    pub(crate) fn open(
        folder: &Path,
        batch: u64,
    ) -> Result<(Self, Vec<Entry>, Option<String>), Error> {
        let path = folder.join(FOLDER).join(format!("{batch:06}{SUFFIX}"));
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            Err(e) => {
                let problem = format!("cannot be read ({e}); fix this and try again");
                return Err(Error::file(&path, problem));
            }
        };
        let (mut entries, mut good) = (Vec::new(), 0);
        let mut cut = None;
        while good < bytes.len() {
            let rest = &bytes[good..];
            let end = rest.iter().position(|byte| *byte == b'\n');
            let line = end.and_then(|end| checked(&rest[..end]));
            let (Some(end), Some(json)) = (end, line) else {
                let torn = end.is_none() && is_torn(rest);
                if !torn {
                    cut = Some(set_aside(&path, rest, entries.len())?);
                }
                break;
            };
            // The checksum is right, so another version wrote this line, and removing it would lose a row.
            let entry = serde_json::from_slice(json).map_err(|e| {
                let line = grouped(entries.len() + 1);
                let problem = format!(
                    "line {line} has an unknown kind of entry ({e}); use the version of fairfront that \
                     wrote it"
                );
                Error::file(&path, problem)
            })?;
            entries.push(entry);
            good += end + 1;
        }
        let spool = Self {
            folder: folder.to_path_buf(),
            end: Appender::open(&path, good as u64)?,
            path,
        };
        Ok((spool, entries, cut))
    }

    /// Appends all entries or, if that fails, none. They are stored after [`Spool::sync`].
    pub(crate) fn append(&mut self, entries: &[Entry]) -> Result<(), Error> {
        let lines = self.lines(entries)?;
        self.end.append(&lines)
    }

    /// Replaces all entries of the log, atomically.
    pub(crate) fn replace(&mut self, entries: &[Entry]) -> Result<(), Error> {
        let lines = self.lines(entries)?;
        write_anew(&self.path, &lines).map_err(|e| unwritten(&self.path, &e))?;
        self.end = Appender::open(&self.path, lines.len() as u64)?;
        Ok(())
    }

    fn lines(&self, entries: &[Entry]) -> Result<Vec<u8>, Error> {
        let mut lines = Vec::new();
        for entry in entries {
            let json = serde_json::to_vec(entry).map_err(|e| Error::file(&self.path, e))?;
            lines.extend_from_slice(sum(&json).as_bytes());
            lines.push(b' ');
            lines.extend_from_slice(&json);
            lines.push(b'\n');
        }
        Ok(lines)
    }

    /// Flushes all appended entries to the disk.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.end.sync()
    }

    /// The batches after this one that have a log.
    pub(crate) fn batches_after(folder: &Path, batch: u64) -> Result<Vec<u64>, Error> {
        let folder = folder.join(FOLDER);
        let names = names_in(&folder).map_err(|e| Error::file(&folder, e))?;
        let numbers = names.iter().filter_map(|name| number_in(name, "", SUFFIX));
        let mut later: Vec<u64> = numbers.filter(|n| *n > batch).collect();
        later.sort_unstable();
        Ok(later)
    }

    /// Removes the logs of the batches after this one.
    pub(crate) fn remove_after(folder: &Path, batch: u64) -> Result<(), Error> {
        for later in Self::batches_after(folder, batch)? {
            let path = folder.join(FOLDER).join(format!("{later:06}{SUFFIX}"));
            remove(&path).map_err(|e| unwritten(&path, &e))?;
        }
        Ok(())
    }

    /// Removes the logs of the batches before this one, and the temporary files of killed processes.
    /// Corrupted logs that were moved away stay.
    pub(crate) fn remove_before(&self, batch: u64) -> Result<(), Error> {
        let folder = self.folder.join(FOLDER);
        let failed = |path: &Path, e: std::io::Error| {
            let problem = format!(
                "cannot be removed although it is no longer needed ({}); fix this and try again",
                e.kind()
            );
            Error::file(path, problem)
        };
        for name in names_in(&folder).map_err(|e| failed(&folder, e))? {
            let old = number_in(&name, "", SUFFIX).is_some_and(|n| n < batch);
            if old || name.starts_with(NEW) {
                let path = folder.join(name);
                remove(&path).map_err(|e| failed(&path, e))?;
            }
        }
        Ok(())
    }
}

fn sum(json: &[u8]) -> String {
    hex(&Sha256::digest(json)[..8])
}

/// The JSON of a line with a valid checksum.
fn checked(line: &[u8]) -> Option<&[u8]> {
    let (digits, rest) = line.split_at_checked(16)?;
    let json = rest.strip_prefix(b" ")?;
    (digits == sum(json).as_bytes()).then_some(json)
}

/// Whether this is the beginning of a line that was being written, rather than a corrupted line.
fn is_torn(rest: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let digits = &rest[..rest.len().min(16)];
    let begins = digits.iter().all(is_digit) && rest.get(16).is_none_or(|byte| *byte == b' ');
    let json = rest.get(17..).unwrap_or_default();
    // Text may end within a character.
    let whole = match std::str::from_utf8(json) {
        Err(e) if e.error_len().is_none() => &json[..e.valid_up_to()],
        _ => json,
    };
    // It may also end within a number, and serde_json treats a partial number as an error rather than as an
    // end.
    let of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let end = whole.iter().rposition(|byte| !of_number(byte));
    let whole = &whole[..end.map_or(0, |last| last + 1)];
    let unfinished =
        serde_json::from_slice::<serde::de::IgnoredAny>(whole).is_err_and(|e| e.is_eof());
    begins && (unfinished || checked(rest).is_some())
}

/// Keeps the removed bytes in a file for inspection, and returns a message about it.
fn set_aside(path: &Path, rest: &[u8], entries: usize) -> Result<String, Error> {
    let place = free_beside(path);
    let kept = write_through(&place, rest).and_then(|()| sync_folder(parent_of(&place)));
    kept.map_err(|e| unwritten(&place, &e))?;
    Ok(format!(
        "{} is corrupted after its first {}; the rest was moved to {}",
        path.display(),
        fairfront_core::counted(entries, "line"),
        place.display()
    ))
}
