//! Where words go: standard output, standard error, files that appear whole or not at all.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use fairfront_data::Error;
use fairfront_model::NewFile;

use crate::wording;

/// Writes text for people to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write_out(&visible(text))
}

/// Writes text for programs (JSON, CSV, paths) to standard output: unchanged, unless that is a terminal.
pub(crate) fn print_data(text: &str) -> anyhow::Result<()> {
    match io::stdout().is_terminal() {
        true => write_out(&visible(text)),
        false => write_out(text),
    }
}

fn write_out(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Text whose control characters cannot steer a terminal, and whose direction marks cannot reorder what a
/// person reads: each becomes U+FFFD. Line ends and tabs stay.
fn visible(text: &str) -> Cow<'_, str> {
    let steers = |c: char| {
        let reorders = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        reorders || (c.is_control() && c != '\n' && c != '\t')
    };
    match text.contains(steers) {
        true => Cow::Owned(text.replace(steers, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// Writes `error: …` to standard error.
pub(crate) fn error(error: &anyhow::Error) {
    // When even this fails there is nobody left to tell.
    let line = wording::error(error).replace(['\n', '\r'], " ");
    let _ = writeln!(io::stderr(), "error: {}", visible(&line));
}

/// Writes lines to standard error that are no errors.
pub(crate) fn note(lines: &str) {
    let _ = io::stderr().write_all(visible(lines).as_bytes());
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

/// Where a file is to go, checked before any work is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Standard output.
    Stdout,
    /// Something that is there and is no file (a device, a pipe): written to directly.
    Special(PathBuf),
    /// A file, new or to be replaced; symbolic links are followed.
    File(PathBuf),
}

impl Target {
    /// Whether a file can go there; no run gets a file that is not its own.
    pub(crate) fn check(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        match std::fs::metadata(&real) {
            Ok(found) if found.is_dir() => {
                return Err(failed(path, io::ErrorKind::IsADirectory.into()));
            }
            Ok(found) if !found.is_file() => return Ok(Self::Special(real)),
            _ => {}
        }
        if !folder_of(&real).is_dir() {
            anyhow::bail!(
                "{}: the folder does not exist; make it first",
                folder_of(&real).display()
            );
        }
        let in_run = |file: &str| real.with_file_name(file).exists();
        if in_run("run.json") || (in_run("lock") && in_run("current")) {
            anyhow::bail!(
                "{}: this is in a run folder, which holds nothing but its run; name a file elsewhere",
                path.display()
            );
        }
        Ok(Self::File(real))
    }

    /// Refuses to replace a file that is there, unless that is asked for.
    pub(crate) fn check_free(&self, force: bool) -> anyhow::Result<()> {
        match self {
            Self::File(path) if !force && path.exists() => anyhow::bail!(
                "{}: there is a file already; name another, or replace it with --force",
                path.display()
            ),
            _ => Ok(()),
        }
    }

    /// Writes through a temporary file beside the target, so that it appears whole or not at all.
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
    ) -> anyhow::Result<()> {
        self.write_by(|out| {
            write(out).map_err(|error| match (error, self) {
                (Error::Io { source, .. }, Self::File(path)) => failed(path, source),
                (other, _) => other.into(),
            })
        })
    }

    /// The same, by what can fail for other reasons and on other threads.
    pub(crate) fn write_by<T>(
        &self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let path = match self {
            Self::Stdout => {
                let mut out = BufWriter::new(io::stdout());
                let done = write(&mut out)?;
                out.flush()?;
                return Ok(done);
            }
            Self::Special(path) => {
                let file = std::fs::OpenOptions::new().write(true).open(path);
                let mut out = BufWriter::new(file.map_err(|e| failed(path, e))?);
                let done = write(&mut out)?;
                out.flush().map_err(|e| failed(path, e))?;
                return Ok(done);
            }
            Self::File(path) => path,
        };
        let failed = |source| failed(path, source);
        let mut out = BufWriter::new(NewFile::create(path).map_err(failed)?);
        let done = write(&mut out)?;
        let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
        file.place(true).map_err(failed)?;
        Ok(done)
    }
}

fn failed(path: &Path, source: io::Error) -> anyhow::Error {
    let path = path.display().to_string();
    Error::Io { path, source }.into()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(visible("plain\ttext\n"), "plain\ttext\n");
        assert_eq!(
            visible("\x1b[2Jname\r\u{9b}1m"),
            "\u{fffd}[2Jname\u{fffd}\u{fffd}1m"
        );
        assert_eq!(
            visible("a\u{202e}b\u{2066}c\u{200f}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}"
        );
        // Letters of every script stay.
        assert_eq!(visible("عمر, 年齢, é"), "عمر, 年齢, é");
    }
}
