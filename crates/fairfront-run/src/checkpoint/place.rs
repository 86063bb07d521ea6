//! From a folder with checkpoints to a finished run, without a moment in which a kill loses either.
//!
//! The run is written to `checkpoint/finished/`, which appears whole by one rename: from then on the
//! fit is finished, and all that is left can be done again. Its files move out, `run.json` last; then
//! the checkpoints go, `finished/` last of them. Where work was cut short the folder is called
//! `stopped/`, and the checkpoints stay.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Checkpoints, FOLDER};
use crate::certify::USES;
use crate::folder::{FIGURES, FILES, PAGE, files_of_run, holds_figures};
use crate::store::{
    make_folder, names_in, remove as remove_any, sync_folder, unwritten, write_through,
};
use crate::{Error, Run};

const FINISHED: &str = "finished";
const STOPPED: &str = "stopped";
/// Either of them before it is complete.
const NEW: &str = ".new-run";

/// Whether a folder of checkpoints holds nothing that this program does not write there.
pub(crate) fn is_own(folder: &Path) -> bool {
    let own = |name: &String| {
        let exact = ["lock", "current", FINISHED, STOPPED];
        let begins = ["generation-", ".new-", ".old-"];
        exact.contains(&name.as_str()) || begins.iter().any(|prefix| name.starts_with(prefix))
    };
    folder.is_dir() && names_in(folder).is_ok_and(|names| names.iter().all(own))
}

/// Whether there is a fit in this folder that has not come to its end.
pub fn is_unfinished(run: &Path) -> bool {
    let folder = run.join(FOLDER);
    let last = |at: &Path| at.join("run.json").is_file();
    let finished = folder.join(FINISHED);
    let finished = finished.is_dir() && !last(&finished) && last(run);
    is_own(&folder) && !finished && !is_left_over(run)
}

/// Whether all that is left of a finished run's checkpoints is their folder.
pub(super) fn is_left_over(run: &Path) -> bool {
    let names = names_in(&run.join(FOLDER));
    names.is_ok_and(|names| names.is_empty()) && run.join("run.json").is_file()
}

/// Removes a folder of checkpoints with all in it, what says that it is finished last.
pub(super) fn remove(folder: &Path) -> Result<(), Error> {
    let failed = |e: std::io::Error| {
        let problem = format!("what is no longer needed cannot be removed ({})", e.kind());
        Error::file(folder, problem)
    };
    let names = names_in(folder).map_err(failed)?;
    for name in names.iter().filter(|name| *name != FINISHED) {
        remove_any(&folder.join(name)).map_err(failed)?;
    }
    remove_any(folder).map_err(failed)
}

/// Removes what a kill left half written; all checkpoints as well where they are to be replaced.
pub(super) fn clean(folder: &Path, all: bool) -> Result<(), Error> {
    let names = names_in(folder).map_err(|e| Error::file(folder, e))?;
    for name in names {
        let left_over = [STOPPED, FINISHED].contains(&name.as_str()) || name.starts_with('.');
        if left_over || (all && name != "lock") {
            let path = folder.join(&name);
            remove_any(&path).map_err(|e| unwritten(&path, &e))?;
        }
    }
    Ok(())
}

/// Brings to its end what a kill interrupted after the fit was finished; whether it was.
pub(super) fn complete(run: &Path) -> Result<bool, Error> {
    let finished = run.join(FOLDER).join(FINISHED);
    if !finished.is_dir() {
        return Ok(false);
    }
    move_out(&finished, run)?;
    Ok(true)
}

/// Moves the files of a run to their place. What is there of an earlier run goes first, so that files
/// of two runs are never taken for one.
fn move_out(from: &Path, run: &Path) -> Result<(), Error> {
    let failed = |e: std::io::Error| unwritten(run, &e);
    if from.join("run.json").is_file() {
        remove_any(&run.join(PAGE)).map_err(failed)?;
        if holds_figures(&run.join(FIGURES)) {
            remove_any(&run.join(FIGURES)).map_err(failed)?;
        }
        remove_any(&run.join("run.json")).map_err(failed)?;
        // FILES has run.json first.
        for name in [USES].iter().chain(FILES.iter().rev()) {
            let (old, new) = (from.join(name), run.join(name));
            if old.is_file() {
                std::fs::rename(old, new).map_err(failed)?;
            }
        }
    }
    sync_folder(run).map_err(failed)
}

impl Checkpoints {
    /// Writes the run into its folder, where it appears whole. The checkpoints go, unless the work was
    /// cut short: then they stay to go on from.
    pub fn place(mut self, made: &mut Run) -> Result<PathBuf, Error> {
        let run = self.run.clone();
        let folder = run.join(FOLDER);
        let failed = |e: std::io::Error| unwritten(&run, &e);
        let new = folder.join(NEW);
        remove_any(&new)
            .and_then(|()| make_folder(&new))
            .map_err(failed)?;
        for (name, bytes) in files_of_run(&run, made)? {
            write_through(&new.join(name), &bytes).map_err(failed)?;
        }
        sync_folder(&new).map_err(failed)?;
        let complete = folder.join(if self.stopped { STOPPED } else { FINISHED });
        remove_any(&complete)
            .and_then(|()| std::fs::rename(&new, &complete))
            .and_then(|()| sync_folder(&folder))
            .map_err(failed)?;
        move_out(&complete, &run)?;
        if self.stopped {
            remove_any(&complete).map_err(failed)?;
            return Ok(run);
        }
        // Given back first: not every system removes a file that is open.
        self.open = None;
        remove(&folder)?;
        if let Ok(run) = File::open(&run) {
            // Some systems know no such thing; the run is there all the same.
            let _ = run.sync_all();
        }
        Ok(run)
    }
}
