//! How a run gets into its folder, without a moment in which a kill loses it or the run that it replaces.
//!
//! The files of the new run go to a temporary folder inside the folder. One rename to `.fairfront-finished`
//! commits them: from then on this is the run, and readers read it there ([`committed`]). Its files are
//! copied out, `run.json` last, the checkpoints of the fit go, and `.fairfront-finished` goes last. All of
//! that can be done again: the next command that writes in the folder does it ([`recover`]). If the fit was
//! cut short the folder is called `.fairfront-stopped`, and the checkpoints stay.

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
/// The folder that file systems keep for their own repairs.
const REPAIRS: &str = "lost+found";

/// What is at a place where a run is to go.
pub(crate) enum Place {
    /// Nothing, or an empty folder.
    Free,
    /// A run, and nothing beside it.
    Run,
    /// Checkpoints of a fit, be there a run beside them or not.
    Unfinished,
    /// Something else, which is never touched.
    Taken(String),
}

/// Why a run there is left alone.
pub(crate) fn taken() -> Message {
    say![
        "there is a run already";
        "name another folder";
        "replace it with ", FORCE
    ]
}

/// The same for one that is not finished.
pub(crate) fn unfinished() -> Message {
    say![
        "there is a fit that is not finished";
        "go on with it by the same command and ", RESUME;
        "replace it with ", FORCE
    ]
}

/// Whether a name does not count: a temporary file, or a folder of the file system itself.
fn is_ignored(name: &str) -> bool {
    name.starts_with(HIDDEN) || name == REPAIRS
}

pub(crate) fn look(folder: &Path) -> Place {
    if std::fs::metadata(folder).is_err() {
        return Place::Free;
    }
    let Ok(mut names) = names_in(folder) else {
        return Place::Taken("this is there and is not a folder; name another place".into());
    };
    names.retain(|name| !is_ignored(name));
    if names.is_empty() {
        return Place::Free;
    }
    if is_state(folder) {
        return Place::Taken(
            "this folder is the state of work that goes on (a stream, or checkpoints) and is never \
             replaced; name another folder"
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
            "this folder holds {other:?}, which no run writes; name another folder"
        ));
    }
    if checkpoints {
        return Place::Unfinished;
    }
    match info_as_found(folder) {
        Ok(_) => Place::Run,
        Err(_) => Place::Taken("this is there and is no run folder; name another one".into()),
    }
}

/// Checks the place of a run before any work: it must be free, unless a run there is to be replaced, and
/// it must take files. Returns the place itself, links followed.
pub fn check_folder(folder: &Path, force: bool) -> Result<PathBuf, Error> {
    let place = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    recover(&place)?;
    match look(&place) {
        Place::Free => {}
        Place::Run if force => {}
        // Whoever works on it is left alone.
        Place::Unfinished if force => drop(Lock::take(&place.join(checkpoint::FOLDER))?),
        Place::Run => return Err(Error::of_file(folder, taken())),
        Place::Unfinished => return Err(Error::of_file(folder, unfinished())),
        Place::Taken(problem) => return Err(Error::file(folder, problem)),
    }
    // An earlier command may have tried out the folder above.
    sweep(parent_of(&place));
    // A folder that is there takes the files itself; otherwise it is made in the one above.
    let (within, problem) = match place.is_dir() {
        true => (place.as_path(), "no file can be written here"),
        false => (parent_of(&place), "no folder can be made here"),
    };
    std::fs::create_dir_all(within)
        .and_then(|()| probe(within))
        .map_err(|e| {
            let problem = format!("{problem} ({}); name another place", e.kind());
            Error::file(within, problem)
        })?;
    Ok(place)
}

/// Writes a run into its folder, which is made if need be. If the place was taken meanwhile, the run goes
/// beside it. Returns where it is.
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
        "this place and those beside it are taken; name another",
    ))
}

/// Writes a run unless something else is there; whether it did.
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
        // Only if it is empty.
        let _ = std::fs::remove_dir(place);
    }
    written
}

/// Writes the run of a fit with checkpoints, whose lock the caller holds. The checkpoints go, unless the
/// work was cut short.
pub(crate) fn write_kept_run(folder: &Path, stopped: bool, run: &mut Run) -> Result<(), Error> {
    let files = files_of_run(folder, run)?;
    let lock = RunLock::take(folder)?;
    complete(folder)?;
    let name = if stopped { STOPPED } else { FINISHED };
    put(&lock, folder, &files, name)
}

/// Commits the files of a run, then brings them to their place.
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
    // It is no longer temporary.
    let _ = new.keep();
    sync_folder(folder).map_err(failed)?;
    complete(folder)
}

/// The run that is committed in a folder and not yet at its place, if there is one.
pub(crate) fn committed(folder: &Path) -> Option<PathBuf> {
    let all = [FINISHED, STOPPED].map(|name| folder.join(name));
    all.into_iter().find(|path| path.is_dir())
}

/// Whether the fit in a folder is finished, though its files may not be at their place.
pub(crate) fn is_finished(folder: &Path) -> bool {
    folder.join(FINISHED).is_dir()
}

/// Brings to its end what a kill left in a folder: a run that is committed gets to its place, temporary
/// files go. Commands that write in a folder call it first.
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

/// Brings the run that is committed in a folder to its place, for the process that holds the lock.
fn complete(folder: &Path) -> Result<(), Error> {
    let Some(from) = committed(folder) else {
        return Ok(());
    };
    let failed = |e: std::io::Error| Error::file(folder, unwritable(&e));
    let mut names = names_in(&from).map_err(failed)?;
    // The log of uses outlives the run, and all else of an earlier run goes.
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
    // Readers see it whole or not at all.
    let aside = hidden_folder(folder).map_err(failed)?;
    std::fs::rename(&from, aside.path().join("run")).map_err(failed)?;
    sync_folder(folder).map_err(failed)
}

#[cfg(test)]
mod tests;
