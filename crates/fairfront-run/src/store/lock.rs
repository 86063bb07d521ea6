//! Locks that allow one writer at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fairfront_model::file::{HIDDEN, make_folder};

use super::unwritten;
use crate::Error;

/// Number of attempts to take a lock that another process holds, for one second in total.
const PATIENCE: usize = 20;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest wait for a process that writes a run into a folder.
const LONGEST: Duration = Duration::from_secs(60);

/// The right to write in a folder, held until it is dropped or the process ends for any reason.
#[derive(Debug)]
pub struct Lock {
    /// Closing the file releases the lock.
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder, a file `lock` in it, and creates the folder if necessary. A file
    /// left by a killed process does not matter: the operating system releases the lock, and the
    /// file's presence alone does not mean that the folder is locked.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        make_folder(folder).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => Error::file(
                folder,
                "already exists and is not a folder; choose another path",
            ),
            _ => unwritten(folder, &e),
        })?;
        let path = folder.join("lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
        let mut file = options.open(&path).map_err(|e| unwritten(&path, &e))?;
        // A process that was just killed may not have ended yet.
        let mut locked = file.try_lock();
        for _ in 0..PATIENCE {
            if !matches!(locked, Err(TryLockError::WouldBlock)) {
                break;
            }
            std::thread::sleep(PAUSE);
            locked = file.try_lock();
        }
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = format!(
                    "another process is using this folder{}; wait for it or stop it",
                    holder(&path)
                );
                return Err(Error::file(folder, problem));
            }
            Err(TryLockError::Error(e)) => {
                let problem = format!("files cannot be locked here ({e}); choose a local folder");
                return Err(Error::file(&path, problem));
            }
        }
        // For users and for the message above; the lock itself does not need it.
        let written = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(|e| unwritten(&path, &e))?;
        Ok(Self { _file: file })
    }
}

/// The process that holds the lock, if the file names it.
fn holder(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    match text.trim().parse::<u32>() {
        Ok(process) => format!(" (process {process})"),
        Err(_) => String::new(),
    }
}

/// The right to write a run into a folder, held by one process at a time while it writes: a file
/// `.fairfront-lock`, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct RunLock {
    path: PathBuf,
    file: File,
    /// Whether the file system supports locks; if not, users must run one command at a time.
    pub(crate) is_exclusive: bool,
}

impl RunLock {
    /// Takes the lock of an existing folder; waits for a process that holds it.
    pub(crate) fn take(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(format!("{HIDDEN}lock"));
        let failed = |e: std::io::Error| unwritten(folder, &e);
        let since = Instant::now();
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let file = options.open(&path).map_err(failed)?;
            let is_exclusive = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::Error(_)) => false,
                Err(TryLockError::WouldBlock) if since.elapsed() < LONGEST => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    let problem = "another process is writing a run to this folder; wait for it \
                                   or stop it";
                    return Err(Error::file(folder, problem));
                }
            };
            // The process that held the lock may have removed the file.
            if is_same(&path, &file).map_err(failed)? {
                return Ok(Self {
                    path,
                    file,
                    is_exclusive,
                });
            }
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Remove the file before the lock is released, so that a waiting process sees that it is
        // gone.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// Whether a path still leads to the opened file.
fn is_same(path: &Path, file: &File) -> std::io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let open = file.metadata()?;
        let same =
            |found: std::fs::Metadata| (found.dev(), found.ino()) == (open.dev(), open.ino());
        Ok(std::fs::metadata(path).is_ok_and(same))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(path.exists())
    }
}
