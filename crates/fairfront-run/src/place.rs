//! Writes a run into its folder so that a kill never loses the run or the one that it replaces.
//!
//! The files of the new run are written to a temporary folder inside the folder. One rename to
//! `.fairfront-finished` commits them: from then on this is the run, and readers read it there
//! ([`committed`]). Then its files are copied out, `run.json` last, the checkpoints of the fit are
//! removed, and `.fairfront-finished` is removed last. All of this can be repeated: the next
//! command that writes in the folder does so ([`recover`]). If the fit was cut short, the folder is
//! called `.fairfront-stopped`, and the checkpoints stay.

use std::path::{Path, PathBuf};

use fairfront_core::{Message, say};
use fairfront_model::file::{
    HIDDEN, hidden_folder, make_folder, names_in, parent_of, probe, remove, replace_file, sweep,
    sweep_folders, sync_folder, unwritable, write_through,
};
use fairfront_model::setting::FORCE;

use crate::certify;
use crate::checkpoint;
use crate::folder::{
    ESTIMATOR, FIGURES, FILES, PAGE, RunFiles, files_of_run, holds_figures, info_as_found,
};
use crate::setting::RESUME;
use crate::store::{Lock, RunLock, is_state};
use crate::{Error, Run};

const FINISHED: &str = ".fairfront-finished";
const STOPPED: &str = ".fairfront-stopped";
/// The folder that file systems use for their own repairs.
const REPAIRS: &str = "lost+found";

/// The current content of the folder for a run.
pub(crate) enum Place {
    /// Nothing, or an empty folder.
    Free,
    /// A run, and nothing else.
    Run,
    /// Checkpoints of a fit, with or without a run.
    Unfinished,
    /// Something else, which is never touched.
    Taken(String),
}

/// The error about a folder that contains a run.
pub(crate) fn taken() -> Message {
    say![
        "already contains a run";
        "choose another folder";
        "replace it with ", FORCE
    ]
}

/// The error about a folder that contains an unfinished fit.
pub(crate) fn unfinished() -> Message {
    say![
        "contains an unfinished fit";
        "resume it by repeating its command with ", RESUME;
        "replace it with ", FORCE
    ]
}

/// Whether a name is ignored: a temporary file, or a folder of the file system itself.
fn is_ignored(name: &str) -> bool {
    name.starts_with(HIDDEN) || name == REPAIRS
}

pub(crate) fn look(folder: &Path) -> Place {
    if std::fs::metadata(folder).is_err() {
        return Place::Free;
    }
    let Ok(mut names) = names_in(folder) else {
        return Place::Taken("already exists and is not a folder; choose another path".into());
    };
    names.retain(|name| !is_ignored(name));
    if names.is_empty() {
        return Place::Free;
    }
    if is_state(folder) {
        return Place::Taken(
            "contains the state of a stream or checkpoints of a fit, which are never replaced; \
             choose another folder"
                .into(),
        );
    }
    let checkpoints = checkpoint::is_own(&folder.join(checkpoint::FOLDER));
    let own = |name: &str| {
        let kept = checkpoints && name == checkpoint::FOLDER;
        let drawn = name == FIGURES && holds_figures(&folder.join(FIGURES));
        FILES.contains(&name) || [PAGE, ESTIMATOR, certify::USES].contains(&name) || kept || drawn
    };
    if let Some(other) = names.iter().find(|name| !own(name)) {
        return Place::Taken(format!(
            "contains {other:?}, which does not belong to a run; choose another folder"
        ));
    }
    if checkpoints {
        return Place::Unfinished;
    }
    match info_as_found(folder) {
        Ok(_) => Place::Run,
        Err(_) => {
            Place::Taken("already exists and is not a run folder; choose another path".into())
        }
    }
}

/// Checks the folder for a run before any work. The folder must be free, unless `force` allows
/// replacing a run, and writable. Returns its path with links resolved.
pub fn check_folder(folder: &Path, force: bool) -> Result<PathBuf, Error> {
    let place = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    recover(&place)?;
    match look(&place) {
        Place::Free => {}
        Place::Run if force => {}
        // Fails if another process works on it.
        Place::Unfinished if force => drop(Lock::take(&place.join(checkpoint::FOLDER))?),
        Place::Run => return Err(Error::of_file(folder, taken())),
        Place::Unfinished => return Err(Error::of_file(folder, unfinished())),
        Place::Taken(problem) => return Err(Error::file(folder, problem)),
    }
    // An earlier command may have left probe files in the parent folder.
    sweep(parent_of(&place));
    // Files are written into an existing folder; otherwise the folder is created in its parent.
    let (within, problem) = match place.is_dir() {
        true => (place.as_path(), "files cannot be written here"),
        false => (parent_of(&place), "a folder cannot be created here"),
    };
    std::fs::create_dir_all(within)
        .and_then(|()| probe(within))
        .map_err(|e| {
            let problem = format!("{problem} ({}); choose another path", e.kind());
            Error::file(within, problem)
        })?;
    Ok(place)
}

/// Writes a run into its folder, which is created if necessary. If the folder was taken meanwhile,
/// the run is written to a folder with a suffix, such as `-2`. Returns the path of the run.
pub fn write_run(folder: &Path, force: bool, run: &mut Run) -> Result<PathBuf, Error> {
    let files = files_of_run(folder, run)?;
    let mut place = folder.to_path_buf();
    for number in 2..100 {
        if write_if_free(&place, force && place == folder, &files)? {
            return Ok(place);
        }
        let mut name = folder.as_os_str().to_owned();
        name.push(format!("-{number}"));
        place = PathBuf::from(name);
    }
    Err(Error::file(
        folder,
        "this folder and those with the suffixes -2 to -99 are taken; choose another folder",
    ))
}

/// Writes a run unless something else is in its folder; returns whether it wrote.
fn write_if_free(place: &Path, replace: bool, files: &RunFiles) -> Result<bool, Error> {
    let is_new = std::fs::metadata(place).is_err();
    if !is_new && !place.is_dir() {
        return Ok(false);
    }
    let write = || {
        make_folder(place).map_err(|e| Error::file(place, unwritable(&e)))?;
        let lock = RunLock::take(place)?;
        complete(place)?;
        let checkpoints = place.join(checkpoint::FOLDER);
        let is_free = match look(place) {
            Place::Free => true,
            Place::Run => replace,
            Place::Unfinished => replace && Lock::take(&checkpoints).is_ok(),
            Place::Taken(_) => false,
        };
        if is_free {
            put(&lock, place, files, FINISHED)?;
        }
        Ok(is_free)
    };
    let written = write();
    if written.is_err() && is_new {
        // This fails, as intended, if the folder is not empty.
        let _ = std::fs::remove_dir(place);
    }
    written
}

/// Writes the run of a fit with checkpoints, whose lock the caller holds. Removes the checkpoints
/// unless the fit was cut short.
pub(crate) fn write_kept_run(folder: &Path, stopped: bool, run: &mut Run) -> Result<(), Error> {
    let files = files_of_run(folder, run)?;
    let lock = RunLock::take(folder)?;
    complete(folder)?;
    let name = if stopped { STOPPED } else { FINISHED };
    put(&lock, folder, &files, name)
}

/// Commits the files of a run, then moves them into place.
fn put(lock: &RunLock, folder: &Path, files: &RunFiles, name: &str) -> Result<(), Error> {
    let failed = |e: std::io::Error| Error::file(folder, unwritable(&e));
    clean(lock, folder);
    let new = hidden_folder(folder).map_err(failed)?;
    for (name, bytes) in files {
        let path = folder.join(name);
        write_through(&new.path().join(name), bytes)
            .map_err(|e| Error::file(&path, unwritable(&e)))?;
    }
    sync_folder(new.path())
        .and_then(|()| std::fs::rename(new.path(), folder.join(name)))
        .map_err(failed)?;
    // The folder is no longer temporary.
    let _ = new.keep();
    sync_folder(folder).map_err(failed)?;
    complete(folder)
}

/// The run that is committed in a folder but not yet in place, if there is one.
pub(crate) fn committed(folder: &Path) -> Option<PathBuf> {
    let all = [FINISHED, STOPPED].map(|name| folder.join(name));
    all.into_iter().find(|path| path.is_dir())
}

/// Whether the fit in a folder is finished, even if its files are not yet in place.
pub(crate) fn is_finished(folder: &Path) -> bool {
    folder.join(FINISHED).is_dir()
}

/// Completes the work that a kill interrupted: moves a committed run into place and removes
/// temporary files. Commands that write in a folder call this first.
pub(crate) fn recover(folder: &Path) -> Result<(), Error> {
    let names = names_in(folder).unwrap_or_default();
    if names.iter().any(|name| name.starts_with(HIDDEN)) {
        let lock = RunLock::take(folder)?;
        complete(folder)?;
        clean(&lock, folder);
    }
    Ok(())
}

/// Removes temporary files and folders that a kill left.
fn clean(lock: &RunLock, folder: &Path) {
    sweep(folder);
    if lock.is_exclusive {
        sweep_folders(folder);
    }
}

/// Moves the committed run of a folder into place; the caller must hold the lock.
fn complete(folder: &Path) -> Result<(), Error> {
    let Some(from) = committed(folder) else {
        return Ok(());
    };
    let failed = |e: std::io::Error| Error::file(folder, unwritable(&e));
    let mut names = names_in(&from).map_err(failed)?;
    // The log of uses outlives the run; everything else of an earlier run is removed.
    remove(&folder.join("run.json")).map_err(failed)?;
    for old in [PAGE, ESTIMATOR] {
        remove(&folder.join(old)).map_err(failed)?;
    }
    if holds_figures(&folder.join(FIGURES)) {
        remove(&folder.join(FIGURES)).map_err(failed)?;
    }
    names.sort_by_key(|name| name == "run.json");
    for name in names {
        let bytes = std::fs::read(from.join(&name)).map_err(failed)?;
        let path = folder.join(&name);
        replace_file(&path, &bytes).map_err(|e| Error::file(&path, unwritable(&e)))?;
    }
    if from.ends_with(FINISHED) {
        checkpoint::remove(&folder.join(checkpoint::FOLDER))?;
    }
    // Readers see the committed folder complete or not at all.
    let aside = hidden_folder(folder).map_err(failed)?;
    std::fs::rename(&from, aside.path().join("run")).map_err(failed)?;
    sync_folder(folder).map_err(failed)
}

#[cfg(test)]
mod tests;
