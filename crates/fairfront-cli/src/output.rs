//! Output to standard output, standard error, and files that are written completely or not at all.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use fairfront_data::Error;
use fairfront_model::NewFile;

use crate::wording;

static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Sets whether the commands print details.
pub(crate) fn set_verbose(verbose: bool) {
    VERBOSE.store(verbose, Ordering::Relaxed);
}

/// Whether the commands print details.
pub(crate) fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}

/// The width of the terminal that shows standard output, if it is a terminal.
pub(crate) fn width() -> Option<usize> {
    width_of(io::stdout())
}

#[cfg(unix)]
fn width_of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(stream)?;
    Some(usize::from(width.0))
}

#[cfg(windows)]
fn width_of(stream: impl std::os::windows::io::AsHandle) -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(stream)?;
    Some(usize::from(width.0))
}

/// Breaks the lines of messages at 100 characters, or at the width of a narrower terminal.
pub(crate) fn wrapped(text: String) -> String {
    let widths = [width(), width_of(io::stderr()), Some(100)];
    let narrowest = widths.into_iter().flatten().min();
    fitted(Cow::Owned(text), narrowest).into_owned()
}

/// Breaks lines that are wider than this between words, and indents the rest by two more spaces.
/// Without a width, lines stay whole.
fn fitted(text: Cow<'_, str>, width: Option<usize>) -> Cow<'_, str> {
    let Some(width) = width else {
        return text;
    };
    if text.lines().all(|line| line.chars().count() <= width) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let mut used = indent;
        out.push_str(&line[..indent]);
        for (i, word) in line[indent..].split(' ').enumerate() {
            let length = word.trim_end_matches('\n').chars().count();
            if i > 0 && used + 1 + length > width {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent + 2));
                used = indent + 2;
            } else if i > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += length;
        }
    }
    Cow::Owned(out)
}

/// Writes human-readable text to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write_out(&fitted(visible(text), width()))
}

/// Writes machine-readable text (JSON, CSV, paths) to standard output, unchanged unless that is a
/// terminal.
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

/// Replaces control characters, which could control a terminal, and direction marks, which could
/// reorder the visible text, by U+FFFD. Line ends and tabs stay.
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
    let line = wording::error(error).replace(['\n', '\r'], " ");
    note(&format!("error: {line}\n"));
}

/// Writes lines to standard error.
pub(crate) fn note(lines: &str) {
    let width = width_of(io::stderr());
    // A failure to write to standard error cannot be reported.
    let _ = io::stderr().write_all(fitted(visible(lines), width).as_bytes());
}

/// Whether the reader of the output closed the pipe (`… | head`).
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

/// The destination of an output file, checked before any work is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Standard output.
    Stdout,
    /// An existing path that is not a regular file (a device, a pipe): written to directly.
    Special(PathBuf),
    /// A regular file, new or to be replaced; symbolic links are followed.
    File(PathBuf),
}

impl Target {
    /// Checks that a file can be written there. Run folders may contain only their own files.
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
                "{}: the folder does not exist; create it first",
                folder_of(&real).display()
            );
        }
        let in_run = |file: &str| real.with_file_name(file).exists();
        if in_run("run.json") || (in_run("lock") && in_run("current")) {
            anyhow::bail!(
                "{}: is inside a run folder, which may contain only its own files; choose another \
                 path",
                path.display()
            );
        }
        Ok(Self::File(real))
    }

    /// Returns an error if the file exists, unless `force` is true.
    pub(crate) fn check_free(&self, force: bool) -> anyhow::Result<()> {
        match self {
            Self::File(path) if !force && path.exists() => anyhow::bail!(
                "{}: already exists; choose another path, or replace it with --force",
                path.display()
            ),
            _ => Ok(()),
        }
    }

    /// Writes through a temporary file next to the target, so that the target is complete or not
    /// written at all.
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

    /// Like [`write`](Self::write), for writers that use other threads or fail with any error.
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
    use std::borrow::Cow;

    use super::{fitted, visible};

    #[test]
    fn long_lines_break_between_words_and_keep_their_indentation() {
        let text = "short\n  one two three four\n\nunbreakable-word\n";
        let at = |width| fitted(Cow::Borrowed(text), width).into_owned();
        assert_eq!(at(None), text);
        assert_eq!(at(Some(100)), text);
        assert_eq!(
            at(Some(12)),
            "short\n  one two\n    three\n    four\n\nunbreakable-word\n"
        );
        assert_eq!(fitted(Cow::Borrowed("a b"), Some(2)), "a\n  b");
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(visible("plain\ttext\n"), "plain\ttext\n");
        assert_eq!(
            visible("\x1b[2Jname\r\u{9b}1m"),
            "\u{fffd}[2Jname\u{fffd}\u{fffd}1m"
        );
        assert_eq!(
            visible("a\u{202e}b\u{2066}c\u{200f}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}"
        );
        // Letters of any script are unchanged.
        assert_eq!(visible("عمر, 年齢, é"), "عمر, 年齢, é");
    }
}
