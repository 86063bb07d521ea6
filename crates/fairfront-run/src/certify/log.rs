//! The log of uses of certifying rows: one line of JSON per use, chained by checksums.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fairfront_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Certificate;
use crate::Error;
use crate::place::{committed, recover};

/// The file in a run folder or in the state of a stream.
pub(crate) const USES: &str = "certificates.jsonl";

/// A logged use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Use {
    /// The tests and their results.
    pub certificate: Certificate,
    /// SHA-256 of the previous use and this certificate.
    sha256: String,
}

impl Use {
    /// The next use after these.
    pub(crate) fn after(uses: &[Self], certificate: Certificate) -> Self {
        Self {
            sha256: chained(uses.last(), &certificate),
            certificate,
        }
    }
}

fn chained(before: Option<&Use>, certificate: &Certificate) -> String {
    let mut hash = Sha256::new();
    hash.update(before.map_or("", |before| before.sha256.as_str()));
    hash.update(serde_json::to_vec(certificate).unwrap_or_default());
    hex(&hash.finalize())
}

/// The bytes of a log.
pub(crate) fn to_bytes(uses: &[Use]) -> Vec<u8> {
    let line = |used: &Use| serde_json::to_string(used).unwrap_or_default() + "\n";
    uses.iter().map(line).collect::<String>().into_bytes()
}

/// The uses in the bytes of a log, and the number of bytes that they take. An unfinished last line
/// is ignored: its result was never shown.
pub(crate) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<(Vec<Use>, usize), Error> {
    let end = bytes
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    let mut uses: Vec<Use> = Vec::new();
    for (index, line) in bytes[..end].split(|b| *b == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let changed = |why: String| {
            let problem = format!(
                "line {} was changed after it was written ({why}); restore the file from a backup, or \
                 fit again on new rows",
                index + 1
            );
            Error::file(path, problem)
        };
        let used: Use = serde_json::from_slice(line).map_err(|e| changed(e.to_string()))?;
        if used.sha256 != chained(uses.last(), &used.certificate) {
            return Err(changed("its checksum does not match".into()));
        }
        uses.push(used);
    }
    Ok((uses, end))
}

/// The log of a folder, locked against writes by other processes.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    end: usize,
    pub(crate) uses: Vec<Use>,
}

impl Log {
    /// Reads a log without locking it; empty if the file does not exist.
    pub(crate) fn read(folder: &Path) -> Result<Vec<Use>, Error> {
        let committed = committed(folder).map(|run| run.join(USES));
        let committed = committed.filter(|path| path.is_file());
        let path = committed.unwrap_or_else(|| folder.join(USES));
        match std::fs::read(&path) {
            Ok(bytes) => Ok(from_bytes(&path, &bytes)?.0),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(Error::file(&path, e)),
        }
    }

    /// Opens and locks the log of a folder, waiting for other writers.
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        recover(folder)?;
        let path = folder.join(USES);
        let unwritable = |e: std::io::Error| {
            let problem = format!(
                "uses of certifying rows cannot be logged here ({}); make the folder writable",
                e.kind()
            );
            Error::file(&path, problem)
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(unwritable)?;
        file.lock().map_err(unwritable)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(unwritable)?;
        let (uses, end) = from_bytes(&path, &bytes)?;
        Ok(Self {
            path,
            file,
            end,
            uses,
        })
    }

    /// Adds a use and syncs it to disk.
    pub(crate) fn add(&mut self, certificate: Certificate) -> Result<(), Error> {
        let used = Use::after(&self.uses, certificate);
        let bytes = to_bytes(std::slice::from_ref(&used));
        let write = |file: &mut File, end: usize| -> std::io::Result<()> {
            file.set_len(end as u64)?;
            file.seek(SeekFrom::Start(end as u64))?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        write(&mut self.file, self.end).map_err(|e| {
            // Remove an incomplete line.
            let _ = self.file.set_len(self.end as u64);
            Error::file(&self.path, format!("{}; nothing was tested", e.kind()))
        })?;
        self.end += bytes.len();
        self.uses.push(used);
        Ok(())
    }
}
