//! Where words go: standard output, standard error, files that appear whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use fairfront_data::Error;

/// Writes to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes `error: …` to standard error.
pub(crate) fn error(error: &anyhow::Error) {
    // When even this fails there is nobody left to tell.
    let _ = writeln!(io::stderr(), "error: {error:#}");
}

/// Whether whoever read our output has gone (`… | head`).
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let direct = cause.downcast_ref::<io::Error>();
        let wrapped = cause.downcast_ref::<Error>().and_then(|e| match e {
            Error::Io { source, .. } => Some(source),
            _ => None,
        });
        direct
            .or(wrapped)
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Writes a file through a temporary one beside it, so that it appears whole or not at all; `-`
/// is standard output.
pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
) -> anyhow::Result<()> {
    if path == Path::new("-") {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&mut out)?;
        out.flush()?;
        return Ok(());
    }
    let failed = |source| Error::Io {
        path: path.display().to_string(),
        source,
    };
    if path.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()).into());
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        anyhow::bail!(
            "{}: the folder does not exist; make it first",
            folder.display()
        );
    }
    let temporary = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    let mut out = BufWriter::new(temporary);
    write(&mut out).map_err(|error| match error {
        Error::Io { source, .. } => failed(source),
        other => other,
    })?;
    let temporary = out.into_inner().map_err(|e| failed(e.into_error()))?;
    temporary.as_file().sync_all().map_err(failed)?;
    readable_by_umask(temporary.path(), folder).map_err(failed)?;
    temporary.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Temporary files are private; the result should have the mode of any new file.
#[cfg(unix)]
fn readable_by_umask(path: &Path, folder: &Path) -> io::Result<()> {
    let probe = tempfile::Builder::new().make_in(folder, |p| std::fs::File::create_new(p))?;
    let mode = probe.as_file().metadata()?.permissions();
    std::fs::set_permissions(path, mode)
}

#[cfg(not(unix))]
fn readable_by_umask(_path: &Path, _folder: &Path) -> io::Result<()> {
    Ok(())
}
