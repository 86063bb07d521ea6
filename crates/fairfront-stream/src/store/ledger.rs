//! Files that only grow, such as `rejected.csv`; a generation records how far they count.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use fairfront_core::hex;
use fairfront_run::Error;
use fairfront_run::store::{unwritten, write_anew};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::append::Appender;

/// How much of a ledger counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Committed {
    /// Bytes from the beginning of the file.
    pub(crate) bytes: u64,
    /// SHA-256 of these.
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
    /// Over all that the file holds; kept up, so that nothing is read again.
    hasher: Sha256,
}

impl Ledger {
    /// Opens a ledger where a generation says it ends; what was written after that was never committed
    /// and is cut off.
    ///
    /// A ledger that is gone starts anew, which the notices say: `bytes` counts from the beginning of
    /// the file that is there, so that it is again what a later check of the file compares with. Which
    /// end was lost is noted beside the file (`.rejected.csv.lost`), so that a process killed before it
    /// commits the new ledger does not find its few rows in place of the old ones and stop.
    ///
    /// Where the committed bytes are not those in the file, somebody changed it: an error, since going
    /// on would cover that up.
    pub(crate) fn open(path: &Path, committed: &Committed) -> Result<(Self, Vec<String>), Error> {
        let unread = |e: std::io::Error| Error::file(path, format!("it cannot be read ({e})"));
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
        let mut notices = Vec::new();
        if committed.bytes > 0 {
            let lost = note_beside(path);
            let known = std::fs::read(&lost).ok();
            let known = known.and_then(|bytes| serde_json::from_slice::<Committed>(&bytes).ok());
            let anew = known.as_ref() == Some(committed);
            if let (Some((bytes, _)), false) = (&found, anew) {
                return Err(changed(path, *bytes, committed));
            }
            if !anew {
                let text = serde_json::to_vec(committed).map_err(|e| Error::file(&lost, e))?;
                // In one step: half a note would say nothing.
                write_anew(&lost, &text).map_err(|e| unwritten(&lost, &e))?;
            }
            notices.push(format!(
                "{} is gone and starts anew with the next batch; where there is a copy of it, stop now and \
                 put that in its place",
                path.display()
            ));
        }
        let ledger = Self {
            end: Appender::open(path, 0)?,
            hasher: Sha256::new(),
        };
        Ok((ledger, notices))
    }

    /// Whether nothing was ever written, so that a table needs its header.
    pub(crate) fn is_empty(&self) -> bool {
        self.end.length() == 0
    }

    /// Appends all bytes or, where that fails, none.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.end.append(bytes)?;
        self.hasher.update(bytes);
        Ok(())
    }

    /// Sees all that was appended through to the disk and says what a generation has to record.
    pub(crate) fn sync(&mut self) -> Result<Committed, Error> {
        self.end.sync()?;
        Ok(Committed {
            bytes: self.end.length(),
            sha256: hex(&self.hasher.clone().finalize()),
        })
    }
}

/// The first bytes of a file, at most `most`: how many they are, and their hash.
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

fn note_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.lost"))
}

fn changed(path: &Path, bytes: u64, committed: &Committed) -> Error {
    let what = match bytes < committed.bytes {
        true => format!(
            "is shorter than it was ({bytes} of {} bytes)",
            committed.bytes
        ),
        false => format!("was changed within its first {} bytes", committed.bytes),
    };
    let problem = format!("the file {what}; put it back as it was, or remove it to start it anew");
    Error::file(path, problem)
}
