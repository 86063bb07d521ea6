//! One writer at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use super::{make_folder, unwritten};
use crate::Error;

/// How often a lock that is held is tried again, for a second in all.
const PATIENCE: usize = 20;

/// The right to write in a folder, held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    /// Closing it gives the lock back.
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder, a file `lock` in it, and makes the folder where there is none. A file left over from a
    /// process that was killed is no obstacle: the system takes its lock away, and the file alone says
    /// nothing.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        make_folder(folder).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                Error::file(folder, "this is there and is no folder; name another place")
            }
            _ => unwritten(folder, &e),
        })?;
        let path = folder.join("lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
        let mut file = options.open(&path).map_err(|e| unwritten(&path, &e))?;
        // A process that was just killed may not be gone yet.
        let mut locked = file.try_lock();
        for _ in 0..PATIENCE {
            if !matches!(locked, Err(TryLockError::WouldBlock)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
            locked = file.try_lock();
        }
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = format!(
                    "another process works here{}; wait for it or stop it",
                    holder(&path)
                );
                return Err(Error::file(folder, problem));
            }
            Err(TryLockError::Error(e)) => {
                let problem = format!("files cannot be locked here ({e}); name a local folder");
                return Err(Error::file(&path, problem));
            }
        }
        // For people and for the message above; the lock itself does not need it.
        let said = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        said.map_err(|e| unwritten(&path, &e))?;
        Ok(Self { _file: file })
    }
}

/// Who holds the lock, where the file says it.
fn holder(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    match text.trim().parse::<u32>() {
        Ok(process) => format!(" (process {process})"),
        Err(_) => String::new(),
    }
}
