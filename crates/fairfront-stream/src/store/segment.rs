//! Large parts of a state that never change once written: `rows/000012.rows`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fairfront_model::file::{make_folder, names_in, remove};
use fairfront_run::Error;
use fairfront_run::store::{NEW, number_in, unwritten, write_anew};

const FOLDER: &str = "rows";
const SUFFIX: &str = ".rows";

/// Where a segment of a state is.
pub(crate) fn place(folder: &Path, number: u64) -> PathBuf {
    folder.join(FOLDER).join(format!("{number:06}{SUFFIX}"))
}

/// Writes a segment of a state: it is there whole or not at all, and replaces one of this number that
/// was written and never committed. Whoever reads it checks what is in it.
pub(crate) fn write(folder: &Path, number: u64, bytes: &[u8]) -> Result<(), Error> {
    let path = place(folder, number);
    let rows = folder.join(FOLDER);
    let written = make_folder(&rows).and_then(|()| write_anew(&path, bytes));
    written.map_err(|e| unwritten(&path, &e))
}

/// Reads a segment that was committed.
pub(crate) fn read(folder: &Path, number: u64) -> Result<Vec<u8>, Error> {
    let path = place(folder, number);
    std::fs::read(&path).map_err(|e| {
        let problem = match e.kind() {
            ErrorKind::NotFound => {
                "the file is missing and its rows are needed; put it back from a copy".into()
            }
            _ => format!("it cannot be read ({e}); see to that and try again"),
        };
        Error::file(&path, problem)
    })
}

/// Removes the segments before `number` and what unfinished writes left.
pub(crate) fn remove_before(folder: &Path, number: u64) -> Result<(), Error> {
    let rows = folder.join(FOLDER);
    let failed = |path: &Path, e: std::io::Error| {
        let problem = format!("what is no longer needed cannot be removed ({})", e.kind());
        Error::file(path, problem)
    };
    for name in names_in(&rows).map_err(|e| failed(&rows, e))? {
        let old = number_in(&name, "", SUFFIX).is_some_and(|n| n < number);
        if old || name.starts_with(NEW) {
            let path = rows.join(name);
            remove(&path).map_err(|e| failed(&path, e))?;
        }
    }
    Ok(())
}
