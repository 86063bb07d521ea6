//! Crash-safe state on disk: a kill at any moment loses nothing that was committed.
//!
//! A state is a folder that one process at a time writes ([`Lock`]). Committed data is in
//! generations, each complete or absent ([`Generations`]). Readers take no lock and write nothing
//! (`resolve`, `read_stable`). The checkpoints of a fit are such a state, and so is the folder of a
//! stream.

mod generation;
mod lock;
#[cfg(test)]
mod tests;

use std::io::{Error as IoError, Result as IoResult};
use std::path::Path;

use fairfront_model::file::{parent_of, remove, sync_folder, unwritable, write_through};

pub use generation::{Damaged, Found, Generations, is_state, sums_of};
pub(crate) use generation::{read_stable, resolve};
pub use lock::Lock;
pub(crate) use lock::RunLock;

use crate::Error;

/// Prefix of files and folders that are not committed yet; those that a kill left are removed.
pub const NEW: &str = ".fairfront-new-";
/// Prefix of files and folders that are about to be removed.
const OLD: &str = ".fairfront-old-";

/// The error about a file of a state that cannot be written. Committed data is not affected.
pub fn unwritten(path: &Path, error: &IoError) -> Error {
    Error::file(path, unwritable(error) + " (nothing is lost)")
}

/// Writes a file atomically and replaces an existing one; the caller must hold the lock of the
/// state.
pub fn write_anew(path: &Path, bytes: &[u8]) -> IoResult<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!("{NEW}{name}"));
    write_through(&new, bytes)
        .and_then(|()| std::fs::rename(&new, path))
        .inspect_err(|_| drop(remove(&new)))?;
    sync_folder(parent_of(path))
}

/// The number in a name such as `000012.log`, if the digits are padded as fairfront writes them.
pub fn number_in(name: &str, before: &str, after: &str) -> Option<u64> {
    let digits = name.strip_prefix(before)?.strip_suffix(after)?;
    let number: u64 = digits.parse().ok()?;
    (digits == format!("{number:06}")).then_some(number)
}

/// Renames a path to the first unused name among `NAME.damaged`, `NAME.damaged-2`, …
fn move_aside(path: &Path) -> IoResult<std::path::PathBuf> {
    let to = free_beside(path);
    std::fs::rename(path, &to)?;
    sync_folder(parent_of(path))?;
    Ok(to)
}

/// The first unused name among `NAME.damaged`, `NAME.damaged-2`, …
pub fn free_beside(path: &Path) -> std::path::PathBuf {
    let mut number = 1;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(".damaged");
        if number > 1 {
            name.push(format!("-{number}"));
        }
        let place = std::path::PathBuf::from(name);
        if std::fs::symlink_metadata(&place).is_err() {
            return place;
        }
        number += 1;
    }
}
