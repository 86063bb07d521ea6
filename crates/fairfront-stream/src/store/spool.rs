//! The log of what has arrived and no generation holds yet: `spool/000013.log`.
//!
//! One line an entry: the first 16 hexadecimal digits of the SHA-256 of what follows, a space, the
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

/// What a log remembers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Entry {
    /// An input that no generation knows yet.
    Input {
        /// Its number from here on.
        input: usize,
        /// As it was named.
        name: String,
        /// What tells it from others.
        identity: String,
    },
    /// A row that was read.
    Row {
        /// Of which input.
        input: usize,
        /// Its number in the stream.
        row: u64,
        /// Its texts, one a column.
        fields: Vec<String>,
    },
    /// A row that cannot be used.
    Bad {
        /// Of which input.
        input: usize,
        /// Its number in the stream.
        row: u64,
        /// As it was read.
        raw: String,
        /// What is wrong with it.
        reason: String,
    },
    /// How far an input was read.
    Position {
        /// Which input.
        input: usize,
        /// As the reader of inputs says it.
        position: serde_json::Value,
    },
}

impl Entry {
    /// The input of a row; `None` for what is no row.
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
    /// Opens the log of a batch in a state: what it holds, and what had to be cut off, where that is
    /// more than a line that a kill left half written. Entries count up to the first line that is not
    /// what was written; that line and all behind it go to `000013.log.damaged`.
    pub(crate) fn open(
        folder: &Path,
        batch: u64,
    ) -> Result<(Self, Vec<Entry>, Option<String>), Error> {
        let path = folder.join(FOLDER).join(format!("{batch:06}{SUFFIX}"));
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            Err(e) => {
                let problem = format!("it cannot be read ({e}); see to that and try again");
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
            // Its checksum is right: another program wrote it, and cutting it off would lose a row.
            let entry = serde_json::from_slice(json).map_err(|e| {
                let line = grouped(entries.len() + 1);
                let problem = format!(
                    "line {line} is of a kind that this program does not know ({e}); go on with the \
                     fairfront that wrote it"
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

    /// Appends all entries or, where that fails, none. They are safe after [`Spool::sync`].
    pub(crate) fn append(&mut self, entries: &[Entry]) -> Result<(), Error> {
        let lines = self.lines(entries)?;
        self.end.append(&lines)
    }

    /// Puts these entries in the place of all that the log holds, at once.
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

    /// Sees all that was appended through to the disk.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.end.sync()
    }

    /// The batches behind this one that have a log.
    pub(crate) fn batches_after(folder: &Path, batch: u64) -> Result<Vec<u64>, Error> {
        let folder = folder.join(FOLDER);
        let names = names_in(&folder).map_err(|e| Error::file(&folder, e))?;
        let numbers = names.iter().filter_map(|name| number_in(name, "", SUFFIX));
        let mut later: Vec<u64> = numbers.filter(|n| *n > batch).collect();
        later.sort_unstable();
        Ok(later)
    }

    /// Removes the logs of the batches behind this one.
    pub(crate) fn remove_after(folder: &Path, batch: u64) -> Result<(), Error> {
        for later in Self::batches_after(folder, batch)? {
            let path = folder.join(FOLDER).join(format!("{later:06}{SUFFIX}"));
            remove(&path).map_err(|e| unwritten(&path, &e))?;
        }
        Ok(())
    }

    /// Removes the logs of the batches before this one and files left over by a kill. Damaged ones that
    /// were set aside stay.
    pub(crate) fn remove_before(&self, batch: u64) -> Result<(), Error> {
        let folder = self.folder.join(FOLDER);
        let failed = |path: &Path, e: std::io::Error| {
            let problem = format!("what is no longer needed cannot be removed ({})", e.kind());
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

/// The JSON of a line whose checksum is right.
fn checked(line: &[u8]) -> Option<&[u8]> {
    let (digits, rest) = line.split_at_checked(16)?;
    let json = rest.strip_prefix(b" ")?;
    (digits == sum(json).as_bytes()).then_some(json)
}

/// Whether this is the beginning of a line that was being written, as opposed to a damaged one.
fn is_torn(rest: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let digits = &rest[..rest.len().min(16)];
    let begins = digits.iter().all(is_digit) && rest.get(16).is_none_or(|byte| *byte == b' ');
    let json = rest.get(17..).unwrap_or_default();
    // Text may be cut within a character.
    let whole = match std::str::from_utf8(json) {
        Err(e) if e.error_len().is_none() => &json[..e.valid_up_to()],
        _ => json,
    };
    // Or within a number, and half a number is a mistake rather than an end.
    let of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let end = whole.iter().rposition(|byte| !of_number(byte));
    let whole = &whole[..end.map_or(0, |last| last + 1)];
    let unfinished =
        serde_json::from_slice::<serde::de::IgnoredAny>(whole).is_err_and(|e| e.is_eof());
    begins && (unfinished || checked(rest).is_some())
}

/// Keeps what is cut off for people to look at, and says so.
fn set_aside(path: &Path, rest: &[u8], entries: usize) -> Result<String, Error> {
    let place = free_beside(path);
    let kept = write_through(&place, rest).and_then(|()| sync_folder(parent_of(&place)));
    kept.map_err(|e| unwritten(&place, &e))?;
    Ok(format!(
        "{} is damaged behind its first {}; the rest was moved to {}",
        path.display(),
        fairfront_core::counted(entries, "line"),
        place.display()
    ))
}
