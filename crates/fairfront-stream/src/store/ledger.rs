//! Files that only grow, such as `rejected.csv`; a generation records their committed lengths.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use fairfront_core::hex;
use fairfront_run::Error;
use fairfront_run::store::{unwritten, write_anew};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::append::Appender;

/// The committed part of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Committed {
    /// Bytes from the beginning of the file.
    pub(crate) bytes: u64,
    /// SHA-256 of these bytes.
    pub(crate) sha256: String,
}

impl Default for Committed {
    fn default() -> Self {
        Self {
            bytes: 0,
            sha256: hex(&Sha256::digest([])),
        }
    }
}

/// A file that only grows.
#[derive(Debug)]
pub(crate) struct Ledger {
    end: Appender,
    /// The hash of the whole file, kept up to date so that the file is not read again.
    hasher: Sha256,
}

impl Ledger {
    /// Opens a ledger with the length that a generation recorded. Bytes after that were never committed and
    /// are removed.
    ///
    /// If the ledger is missing, it starts again from an empty file, with a warning. `bytes` then counts
    /// from the beginning of the new file, so that later checks work. The length and hash that were lost
    /// are written to a file next to it (`.rejected.csv.lost`). Without that file, a process that is killed
    /// before it commits the new ledger would later find a few new rows instead of the old ones, and stop
    /// with an error.
    ///
    /// If the committed bytes differ from those in the file, the file was changed. That is an error,
    /// because continuing would hide the change.
    pub(crate) fn open(path: &Path, committed: &Committed) -> Result<(Self, Vec<String>), Error> {
        let unread = |e: std::io::Error| {
            Error::file(
                path,
                format!("cannot be read ({e}); fix this and try again"),
            )
        };
        let found = match File::open(path) {
            Ok(file) => Some(prefix(file, committed.bytes).map_err(unread)?),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(unread(e)),
        };
        if let Some((bytes, hasher)) = &found
            && *bytes == committed.bytes
            && hex(&hasher.clone().finalize()) == committed.sha256
        {
            let end = Appender::open(path, committed.bytes)?;
            let hasher = hasher.clone();
            return Ok((Self { end, hasher }, Vec::new()));
        }
        let mut diagnostics = Vec::new();
        if committed.bytes > 0 {
            let lost = lost_file(path);
            let known = std::fs::read(&lost).ok();
            let known = known.and_then(|bytes| serde_json::from_slice::<Committed>(&bytes).ok());
            let is_noted = known.as_ref() == Some(committed);
            if let (Some((bytes, _)), false) = (&found, is_noted) {
                return Err(changed(path, *bytes, committed));
            }
            if !is_noted {
                let text = serde_json::to_vec(committed).map_err(|e| Error::file(&lost, e))?;
                // Write it atomically, because half a note would be useless.
                write_anew(&lost, &text).map_err(|e| unwritten(&lost, &e))?;
            }
            diagnostics.push(format!(
                "{} is missing and starts again from an empty file with the next batch; if you have a \
                 copy, stop now and restore it",
                path.display()
            ));
        }
        let ledger = Self {
            end: Appender::open(path, 0)?,
            hasher: Sha256::new(),
        };
        Ok((ledger, diagnostics))
    }

    /// Whether nothing was ever written, so that a table needs its header.
    pub(crate) fn is_empty(&self) -> bool {
        self.end.length() == 0
    }

    /// Appends all bytes or, if that fails, none.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.end.append(bytes)?;
        self.hasher.update(bytes);
        Ok(())
    }

    /// Flushes all appended bytes to the disk, and returns the length and hash for a generation to record.
    pub(crate) fn sync(&mut self) -> Result<Committed, Error> {
        self.end.sync()?;
        Ok(Committed {
            bytes: self.end.length(),
            sha256: hex(&self.hasher.clone().finalize()),
        })
    }
}

/// The number and hash of the first bytes of a file, at most `most`.
fn prefix(file: File, most: u64) -> std::io::Result<(u64, Sha256)> {
    let mut rest = file.take(most);
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => return Ok((bytes, hasher)),
            Ok(n) => {
                hasher.update(&buffer[..n]);
                bytes += n as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

fn lost_file(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.lost"))
}

fn changed(path: &Path, bytes: u64, committed: &Committed) -> Error {
    let change = match bytes < committed.bytes {
        true => format!(
            "is shorter than before ({bytes} of {} bytes)",
            committed.bytes
        ),
        false => format!("was changed within its first {} bytes", committed.bytes),
    };
    let problem = format!("the file {change}; restore it, or remove it to start an empty one");
    Error::file(path, problem)
}
