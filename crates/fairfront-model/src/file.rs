//! Writes files atomically, through temporary files.
//!
//! All temporary files and folders are called `.fairfront-MACHINE-RANDOM`, where MACHINE stands for this
//! machine since it was booted. A process keeps its temporary file locked. The next command that writes in
//! the same folder removes those of ended processes ([`sweep`]).

use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{Error as IoError, ErrorKind, Result as IoResult, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use fairfront_core::say;
use tempfile::{NamedTempFile, TempDir};

use crate::Error;
use crate::setting::FORCE;

/// The prefix of all temporary names.
pub const HIDDEN: &str = ".fairfront-";
/// Number of random characters in a temporary name.
const RANDOM: usize = 10;
/// Temporary files of other machines are kept while they are younger than this.
const AGE: Duration = Duration::from_secs(24 * 3600);

/// Eight digits that identify this machine since it was booted. Within one boot, locks work on every disk.
static MACHINE: LazyLock<Option<String>> = LazyLock::new(|| {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = boot
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(8)
        .collect();
    (digits.len() == 8).then_some(digits)
});

/// A file that gets its name when it is complete, and is removed otherwise.
#[derive(Debug)]
pub struct NewFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl NewFile {
    /// Begins a file that will have this path, with the default mode of a new file.
    pub fn create(path: &Path) -> IoResult<Self> {
        let folder = parent_of(path);
        sweep(folder);
        loop {
            let file = hidden(0o666, |builder| builder.tempfile_in(folder))?;
            let locked = file.as_file().try_lock();
            // A sweep may remove it before it is locked. Without locks there are no sweeps.
            if !matches!(locked, Err(TryLockError::WouldBlock)) && file.path().exists() {
                let path = path.to_path_buf();
                return Ok(Self { file, path });
            }
        }
    }

    /// Gives the file its name once its bytes are on the disk. With `force`, it replaces an existing file.
    pub fn place(self, force: bool) -> IoResult<()> {
        self.file.as_file().sync_all()?;
        // The lock is held until the file has its name.
        let (_file, temporary) = self.file.into_parts();
        match force {
            true => {
                std::fs::rename(&temporary, &self.path)?;
                let _ = temporary.keep();
            }
            false => temporary
                .persist_noclobber(&self.path)
                .map_err(|e| e.error)?,
        }
        sync_folder(parent_of(&self.path))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> IoResult<()> {
        self.file.flush()
    }
}

/// Creates a temporary file or folder with this mode, which the umask restricts.
fn hidden<T>(mode: u32, make: impl FnOnce(&tempfile::Builder) -> IoResult<T>) -> IoResult<T> {
    let prefix = format!("{HIDDEN}{}-", MACHINE.as_deref().unwrap_or("00000000"));
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).rand_bytes(RANDOM);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    make(&builder)
}

/// Creates a temporary folder, which is removed with its contents when dropped.
pub fn hidden_folder(folder: &Path) -> IoResult<TempDir> {
    hidden(0o777, |builder| builder.tempdir_in(folder))
}

/// Removes temporary files of ended processes. Leftover files are harmless, so errors are ignored.
pub fn sweep(folder: &Path) {
    for path in left_over(folder, Metadata::is_file) {
        let file = OpenOptions::new().read(true).write(true).open(&path);
        if file.is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Removes temporary folders. Only for the one process that may create them here.
pub fn sweep_folders(folder: &Path) {
    for path in left_over(folder, Metadata::is_dir) {
        let _ = std::fs::remove_dir_all(&path);
    }
}

/// Temporary files or folders that may be unused: those of this machine, and old ones of others.
fn left_over(folder: &Path, kind: fn(&Metadata) -> bool) -> Vec<PathBuf> {
    let is_left = |name: &String| {
        let (machine, random) = name.strip_prefix(HIDDEN)?.split_once('-')?;
        let plain = random.len() == RANDOM && random.chars().all(|c| c.is_ascii_alphanumeric());
        let found = std::fs::symlink_metadata(folder.join(name)).ok()?;
        let age = || found.modified().ok()?.elapsed().ok();
        let own = MACHINE.as_deref() == Some(machine) || age().is_some_and(|age| age > AGE);
        (plain && machine.len() == 8 && kind(&found) && own).then(|| folder.join(name))
    };
    let names = names_in(folder).unwrap_or_default();
    names.iter().filter_map(is_left).collect()
}

/// Writes a file atomically. An existing file is replaced only with `force`.
pub fn write_file(path: &Path, bytes: &[u8], force: bool) -> Result<(), Error> {
    let folder = parent_of(path);
    if !folder.is_dir() {
        let problem = "the folder does not exist; create it first";
        return Err(Error::file(folder, problem));
    }
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let problem = "exists and is not a file; choose another path";
        return Err(Error::file(path, problem));
    }
    write_new(path, bytes, force).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => Error::of_file(
            path,
            say!["already exists"; "choose another path"; "replace it with ", FORCE],
        ),
        _ => Error::file(path, unwritable(&e)),
    })
}

/// Writes a file atomically, and replaces an existing file.
pub fn replace_file(path: &Path, bytes: &[u8]) -> IoResult<()> {
    write_new(path, bytes, true)
}

fn write_new(path: &Path, bytes: &[u8], force: bool) -> IoResult<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes)?;
    file.place(force)
}

/// Checks that a folder is writable by writing some bytes there and removing them.
pub fn probe(folder: &Path) -> IoResult<()> {
    let mut file = NewFile::create(&folder.join("probe"))?;
    file.write_all(&vec![0; 1 << 16])?;
    file.file.as_file().sync_all()
}

/// The reason why a file could not be written, and the remedy.
pub fn unwritable(error: &IoError) -> String {
    let (reason, remedy) = match error.kind() {
        ErrorKind::StorageFull => ("no space left on device".into(), "free some space"),
        ErrorKind::QuotaExceeded => ("the disk quota is exceeded".into(), "free some space"),
        ErrorKind::FileTooLarge => (
            "the file would exceed the size limit".into(),
            "raise the limit",
        ),
        ErrorKind::ReadOnlyFilesystem => {
            ("the file system is read-only".into(), "make it writable")
        }
        ErrorKind::PermissionDenied => ("permission denied".into(), "allow writing to this folder"),
        _ => (error.to_string(), "fix this"),
    };
    format!("cannot be written: {reason}; {remedy} and run the same command again")
}

/// Creates a file that only its owner can write; the umask may restrict it further.
pub fn create(path: &Path) -> IoResult<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    options.open(path)
}

/// Writes a whole file and flushes it to the disk.
pub fn write_through(path: &Path, bytes: &[u8]) -> IoResult<()> {
    let mut file = create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Creates a folder and its parents, and flushes them to the disk.
pub fn make_folder(folder: &Path) -> IoResult<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = parent_of(folder);
    make_folder(parent)?;
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    match builder.create(folder) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
        made => made?,
    }
    sync_folder(parent)
}

/// The folder of a path.
pub fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Flushes the entries of a folder to the disk, if the system supports it.
pub fn sync_folder(folder: &Path) -> IoResult<()> {
    #[cfg(unix)]
    match File::open(folder)?.sync_all() {
        // Some network file systems do not support this.
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
        done => done?,
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Removes a file, or a folder with its contents. A missing path is not an error.
pub fn remove(path: &Path) -> IoResult<()> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(e) => Err(e),
    };
    match removed {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The names in a folder; empty if the folder does not exist.
pub fn names_in(folder: &Path) -> IoResult<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn temporary_files_of_ended_writers_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let make = |name: &str, days: u64| {
            let file = File::create(at(name)).expect("a file");
            let then = SystemTime::now() - Duration::from_secs(days * 25 * 3600);
            file.set_modified(then).expect("a time");
            name.to_owned()
        };
        let own = MACHINE.as_deref().unwrap_or("00000000");
        let left = make(
            &format!(".fairfront-{own}-abcDEF1234"),
            u64::from(MACHINE.is_none()),
        );
        let elsewhere = make(".fairfront-0123abcd-abcDEF1234", 0);
        let old = make(".fairfront-0123abcd-abcDEF1235", 1);
        let others = [
            make(".fairfront-notes", 9),
            make(&format!(".fairfront-{own}-abcDEF123"), 9),
            make(&format!(".fairfront-{own}-abcDEF_234"), 9),
            make("result.csv", 9),
        ];
        let mut live = NewFile::create(&at("live.csv")).expect("a file");
        live.write_all(b"1").expect("written");
        assert!(!at(&left).exists() && !at(&old).exists());
        assert!(at(&elsewhere).exists() && others.iter().all(|name| at(name).exists()));

        // A sweep by another process does not remove a file while its writer is alive.
        sweep(folder.path());
        live.write_all(b"2").expect("written");
        live.place(false).expect("a file");
        assert_eq!(std::fs::read(at("live.csv")).expect("a file"), b"12");
        drop(NewFile::create(&at("given-up.csv")).expect("a file"));
        assert_eq!(names_in(folder.path()).expect("names").len(), 6);
    }

    #[cfg(unix)]
    #[test]
    fn new_file_has_the_default_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let mode = |path: &Path| {
            std::fs::metadata(path)
                .expect("a file")
                .permissions()
                .mode()
        };
        let (plain, own) = (folder.path().join("plain"), folder.path().join("own"));
        std::fs::write(&plain, "").expect("a file");
        write_file(&own, b"", false).expect("a file");
        assert_eq!(mode(&own), mode(&plain));
        assert_eq!(
            mode(&hidden_folder(folder.path()).expect("a folder").keep()) & 0o500,
            0o500
        );
    }
}
