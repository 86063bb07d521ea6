//! Files that appear whole or not at all.

use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::Error;

/// Writes a file through a temporary one beside it, so that it is there whole or not at all. What is
/// there already is replaced only where `force` says so, and only if it is a file.
pub fn write_file(path: &Path, bytes: &[u8], force: bool) -> Result<(), Error> {
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    write_file_by(parent, path, bytes, force)
}

/// The same through a temporary file in this folder, which has to be on the same disk.
pub(crate) fn write_file_by(
    folder: &Path,
    path: &Path,
    bytes: &[u8],
    force: bool,
) -> Result<(), Error> {
    if !folder.is_dir() {
        let problem = "the folder does not exist; make it first";
        return Err(Error::file(folder, problem));
    }
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let problem = "there is something that is no file; name another";
        return Err(Error::file(path, problem));
    }
    let failed = |e: std::io::Error| Error::file(path, e.kind());
    let mut file = tempfile::Builder::new()
        .prefix(".fairfront-")
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::Permissions::from_mode(0o644);
        file.as_file().set_permissions(open).map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    if force {
        file.persist(path).map_err(|e| failed(e.error))?;
        return Ok(());
    }
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(e) if e.error.kind() == ErrorKind::AlreadyExists => Err(Error::file(
            path,
            "there is a file already; name another, or replace it with --force",
        )),
        Err(e) => Err(failed(e.error)),
    }
}

/// Writes a file of a run by way of the folder around it, so that a kill leaves nothing in the run that is none
/// of it. What is there is replaced.
pub(crate) fn write_in_run(run: &Path, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let around = run.canonicalize().ok();
    let around = around.as_ref().and_then(|run| run.parent());
    match around.map(|around| write_file_by(around, path, bytes, true)) {
        Some(Ok(())) => Ok(()),
        // Another disk, or a folder that is not ours to write in.
        _ => write_file(path, bytes, true),
    }
}
