//! Finds the folder of published files on this machine.

use std::ffi::OsString;
use std::path::PathBuf;

/// The environment variable for the folder of published files.
pub const DATA_FOLDER: &str = "FAIRFRONT_DATA";

/// The folder to search for published files: the value of `FAIRFRONT_DATA` if it is set, otherwise
/// [`cache_folder`]. The folder may not exist.
pub fn data_folder() -> Option<PathBuf> {
    named_folder().or_else(cache_folder)
}

/// The folder set by `FAIRFRONT_DATA`. It belongs to the user, so fairfront never writes to it.
pub fn named_folder() -> Option<PathBuf> {
    given(std::env::var_os(DATA_FOLDER))
}

/// The folder for downloaded files: `fairfront` in the user's cache folder (`$XDG_CACHE_HOME` or
/// `~/.cache`, on macOS `~/Library/Caches`, on Windows `%LOCALAPPDATA%`). `None` if the user has no home
/// folder.
pub fn cache_folder() -> Option<PathBuf> {
    let caches = if cfg!(windows) {
        given(std::env::var_os("LOCALAPPDATA"))
    } else if cfg!(target_os = "macos") {
        std::env::home_dir().map(|home| home.join("Library").join("Caches"))
    } else {
        caches(std::env::var_os("XDG_CACHE_HOME"), std::env::home_dir())
    };
    caches.map(|folder| folder.join("fairfront"))
}

/// The rule of the XDG base directories: a path that is not absolute is ignored.
fn caches(xdg: Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |folder: &PathBuf| folder.is_absolute();
    given(xdg).filter(absolute).or_else(|| {
        home.filter(absolute)
            .map(|home: PathBuf| home.join(".cache"))
    })
}

/// Treats an empty variable as unset.
fn given(variable: Option<OsString>) -> Option<PathBuf> {
    variable.filter(|v| !v.is_empty()).map(PathBuf::from)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn cache_follows_the_environment() {
        let found = |xdg: Option<&str>, home: Option<&str>| {
            caches(xdg.map(OsString::from), home.map(PathBuf::from))
        };
        let home = Some("/home/ada");
        assert_eq!(found(Some("/fast"), home), Some("/fast".into()));
        for none in [None, Some(""), Some("not/absolute")] {
            assert_eq!(found(none, home), Some("/home/ada/.cache".into()));
        }
        assert_eq!(found(None, None), None);
        assert_eq!(found(None, Some("")), None);
    }
}
