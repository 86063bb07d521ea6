//! What long work keeps on disk so that a kill at any moment loses nothing.
//!
//! A state is a folder that one process at a time writes ([`Lock`]). What is committed is in
//! generations, each there whole or not at all ([`Generations`]); what only grows is in ledgers whose
//! committed length a generation records ([`Ledger`]); what has arrived and no generation holds yet is
//! in a log ([`Spool`]); large parts that never change have files of their own ([`segment`]). Readers
//! take no lock and write nothing ([`resolve`], [`read_stable`]).

mod append;
mod generation;
mod ledger;
mod lock;
pub(crate) mod segment;
mod spool;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Error as IoError, ErrorKind, Result as IoResult, Write};
use std::path::Path;

pub(crate) use generation::{Damaged, Generations, is_state, read_stable, resolve};
pub(crate) use ledger::{Committed, Ledger};
pub use lock::Lock;
pub(crate) use lock::RunLock;
pub(crate) use spool::{Entry, Spool};

use crate::Error;

/// The beginning of names that are not committed yet; removed if a kill left them over.
const NEW: &str = ".fairfront-new-";
/// The beginning of names that are about to be removed.
const OLD: &str = ".fairfront-old-";

/// What to do about a file of a state that could not be written. What was committed before is still there.
pub(crate) fn unwritten(path: &Path, error: &IoError) -> Error {
    Error::file(path, unwritable(error) + ", nothing is lost")
}

/// Why a file could not be written, and what to do about it.
pub(crate) fn unwritable(error: &IoError) -> String {
    let (reason, remedy) = match error.kind() {
        ErrorKind::StorageFull => ("no space left on device".into(), "free some"),
        ErrorKind::QuotaExceeded => ("the disk quota is used up".into(), "free some space"),
        ErrorKind::FileTooLarge => (
            "the file would be larger than allowed".into(),
            "lift the limit",
        ),
        ErrorKind::ReadOnlyFilesystem => (
            "the file system is read-only".into(),
            "make it one that can be written",
        ),
        ErrorKind::PermissionDenied => ("permission denied".into(), "allow writing in this folder"),
        _ => (error.to_string(), "see to that"),
    };
    format!("it cannot be written: {reason}; {remedy} and run the same command again")
}

/// Makes a file that only its owner writes; the umask may take away more.
fn create(path: &Path) -> IoResult<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    options.open(path)
}

/// Writes a whole file through to the disk.
pub(crate) fn write_through(path: &Path, bytes: &[u8]) -> IoResult<()> {
    let mut file = create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Writes a file whole or not at all, for the process that holds the lock of the state. A file there is
/// replaced.
fn write_anew(path: &Path, bytes: &[u8]) -> IoResult<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!("{NEW}{name}"));
    write_through(&new, bytes)
        .and_then(|()| std::fs::rename(&new, path))
        .inspect_err(|_| drop(remove(&new)))?;
    sync_folder(parent_of(path))
}

/// Makes a folder, those above it as well, and sees them through to the disk.
pub(crate) fn make_folder(folder: &Path) -> IoResult<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = parent_of(folder);
    make_folder(parent)?;
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    match builder.create(folder) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
        made => made?,
    }
    sync_folder(parent)
}

/// The folder of a path.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Sees the names in a folder through to the disk, where the system can do that.
pub(crate) fn sync_folder(folder: &Path) -> IoResult<()> {
    #[cfg(unix)]
    match File::open(folder)?.sync_all() {
        // Some network file systems know no such thing.
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
        done => done?,
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Removes a file or a folder with all in it; that it is gone already is fine.
pub(crate) fn remove(path: &Path) -> IoResult<()> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(e) => Err(e),
    };
    match removed {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The names in a folder; none where there is no folder.
pub(crate) fn names_in(folder: &Path) -> IoResult<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The number in a name such as `000012.log`, where it is written as it would be here.
fn number_in(name: &str, before: &str, after: &str) -> Option<u64> {
    let digits = name.strip_prefix(before)?.strip_suffix(after)?;
    let number: u64 = digits.parse().ok()?;
    (digits == format!("{number:06}")).then_some(number)
}

/// Gives a path another name beside it that nothing has: `NAME.damaged`, `NAME.damaged-2`, …
fn move_aside(path: &Path) -> IoResult<std::path::PathBuf> {
    let to = free_beside(path);
    std::fs::rename(path, &to)?;
    sync_folder(parent_of(path))?;
    Ok(to)
}

/// The first name among `NAME.damaged`, `NAME.damaged-2`, … that nothing has.
fn free_beside(path: &Path) -> std::path::PathBuf {
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
