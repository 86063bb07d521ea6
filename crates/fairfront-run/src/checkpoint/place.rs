//! The folder of checkpoints: its expected content, and its removal.

use std::path::{Path, PathBuf};

use fairfront_model::file::{HIDDEN, names_in, remove as remove_any};

use super::{Checkpoints, FOLDER};
use crate::place::{is_finished, write_kept_run};
use crate::store::unwritten;
use crate::{Error, Run};

/// Whether everything in a folder of checkpoints was written by fairfront.
pub(crate) fn is_own(folder: &Path) -> bool {
    let own = |name: &String| {
        let begins = ["generation-", HIDDEN];
        ["lock", "current"].contains(&name.as_str())
            || begins.iter().any(|prefix| name.starts_with(prefix))
    };
    folder.is_dir() && names_in(folder).is_ok_and(|names| names.iter().all(own))
}

/// Whether this folder contains an unfinished fit.
pub fn is_unfinished(run: &Path) -> bool {
    is_own(&run.join(FOLDER)) && !is_finished(run)
}

/// Removes the checkpoints of a finished run, if there are any.
pub(crate) fn remove(folder: &Path) -> Result<(), Error> {
    match is_own(folder) {
        true => remove_any(folder).map_err(|e| unwritten(folder, &e)),
        false => Ok(()),
    }
}

/// Removes files that a kill left incomplete; with `all`, removes all checkpoints as well.
pub(super) fn clean(folder: &Path, all: bool) -> Result<(), Error> {
    let names = names_in(folder).map_err(|e| Error::file(folder, e))?;
    for name in names {
        if name.starts_with(HIDDEN) || (all && name != "lock") {
            let path = folder.join(&name);
            remove_any(&path).map_err(|e| unwritten(&path, &e))?;
        }
    }
    Ok(())
}

impl Checkpoints {
    /// Writes the run into its folder, where it appears atomically. Removes the checkpoints, unless
    /// the work was cut short and may be resumed.
    pub fn place(self, made: &mut Run) -> Result<PathBuf, Error> {
        write_kept_run(&self.run, self.stopped, made)?;
        Ok(self.run.clone())
    }
}
