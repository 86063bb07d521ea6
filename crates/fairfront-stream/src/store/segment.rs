//! Large files of a state that never change once written: `rows/000012.rows`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fairfront_model::file::{make_folder, names_in, remove};
use fairfront_run::Error;
use fairfront_run::store::{NEW, number_in, unwritten, write_anew};

const FOLDER: &str = "rows";
const SUFFIX: &str = ".rows";

/// The path of a segment of a state.
pub(crate) fn place(folder: &Path, number: u64) -> PathBuf {
    folder.join(FOLDER).join(format!("{number:06}{SUFFIX}"))
}

/// Writes a segment of a state atomically. It replaces a segment with the same number that was never
/// committed. Readers check the content.
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
                "the file is missing, but its rows are needed; restore it from a copy".into()
            }
            _ => format!("cannot be read ({e}); fix this and try again"),
        };
        Error::file(&path, problem)
    })
}

/// Removes the segments before `number`, and the files of unfinished writes.
pub(crate) fn remove_before(folder: &Path, number: u64) -> Result<(), Error> {
    let rows = folder.join(FOLDER);
    let failed = |path: &Path, e: std::io::Error| {
        let problem = format!(
            "cannot be removed although it is no longer needed ({}); fix this and try again",
            e.kind()
        );
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
