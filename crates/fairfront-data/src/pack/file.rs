//! Files that several threads read and write at given places, with errors that name the file.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;

/// A file with positioned reads and writes.
#[derive(Debug)]
pub(crate) struct PlacedFile {
    file: File,
    /// The name for messages.
    name: String,
    /// Bytes after which writes fail as on a full disk, for tests.
    most_bytes: u64,
    #[cfg(not(unix))]
    lock: std::sync::Mutex<()>,
}

impl PlacedFile {
    pub(crate) fn new(file: File, name: impl Into<String>) -> Self {
        Self {
            file,
            name: name.into(),
            most_bytes: u64::MAX,
            #[cfg(not(unix))]
            lock: std::sync::Mutex::new(()),
        }
    }

    /// A temporary file in a folder, which disappears with this value.
    pub(crate) fn temporary(folder: &Path) -> Result<Self, Error> {
        let name = folder.display().to_string();
        let file = tempfile::tempfile_in(folder).map_err(|e| Error::io(&name, e))?;
        Ok(Self::new(file, format!("{name} (temporary file)")))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The error for a failed operation.
    pub(crate) fn error(&self, source: io::Error) -> Error {
        Error::io(&self.name, source)
    }

    #[cfg(unix)]
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, offset)
    }

    /// Makes writes beyond this many bytes fail as on a full disk.
    pub(crate) fn limited(mut self, most_bytes: u64) -> Self {
        self.most_bytes = most_bytes;
        self
    }

    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if offset.saturating_add(bytes.len() as u64) > self.most_bytes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.put_at(bytes, offset)
    }

    #[cfg(unix)]
    fn put_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset)
    }

    #[cfg(not(unix))]
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        use std::io::{Read as _, Seek as _};
        let _held = self
            .lock
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut file = &self.file;
        file.seek(io::SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }

    #[cfg(not(unix))]
    fn put_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        use std::io::{Seek as _, Write as _};
        let _held = self
            .lock
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut file = &self.file;
        file.seek(io::SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }
}

/// A temporary file to which threads append pieces.
#[derive(Debug)]
pub(crate) struct AppendFile {
    file: PlacedFile,
    end: AtomicU64,
}

impl AppendFile {
    pub(crate) fn new(file: PlacedFile) -> Self {
        Self {
            file,
            end: AtomicU64::new(0),
        }
    }

    /// Appends bytes and returns their place.
    pub(crate) fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        let offset = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.write_at(bytes, offset)?;
        Ok(offset)
    }

    pub(crate) fn file(&self) -> &PlacedFile {
        &self.file
    }
}
