//! A file that only grows, and that a failed write leaves unchanged.

use std::fs::{File, OpenOptions};
use std::io::{Error as IoError, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fairfront_model::file::{create, make_folder, parent_of, sync_folder};
use fairfront_run::Error;
use fairfront_run::store::unwritten;

/// The end of a growing file. The file is created by the first append.
#[derive(Debug)]
pub(super) struct Appender {
    path: PathBuf,
    file: Option<File>,
    length: u64,
    /// Whether some bytes are not on the disk yet.
    dirty: bool,
    /// Whether the file's name is not on the disk yet.
    new: bool,
}

impl Appender {
    /// Opens a file and truncates it to its first `length` bytes, which is 0 if there is no file.
    pub(super) fn open(path: &Path, length: u64) -> Result<Self, Error> {
        let mut appender = Self {
            path: path.to_path_buf(),
            file: None,
            length,
            dirty: false,
            new: false,
        };
        if path.exists() {
            let cut = || -> Result<(File, bool), IoError> {
                let mut file = OpenOptions::new().read(true).write(true).open(path)?;
                let longer = file.metadata()?.len() > length;
                if longer {
                    file.set_len(length)?;
                }
                file.seek(SeekFrom::Start(length))?;
                Ok((file, longer))
            };
            let (file, longer) = cut().map_err(|e| unwritten(path, &e))?;
            appender.file = Some(file);
            appender.dirty = longer;
            // The process that created it may have been killed before its name was on the disk.
            appender.new = true;
        }
        Ok(appender)
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends all bytes or, if that fails, none.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let written = self.write(bytes);
        if let (Err(_), Some(file)) = (&written, &mut self.file) {
            // If this also fails, the tail is removed when the file is opened next.
            let _ = file.set_len(self.length);
            let _ = file.seek(SeekFrom::Start(self.length));
        }
        written.map_err(|e| unwritten(&self.path, &e))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        if self.file.is_none() {
            make_folder(parent_of(&self.path))?;
            self.file = Some(create(&self.path)?);
            self.new = true;
        }
        self.dirty = true;
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Ok(()),
        }
    }

    /// Flushes all appended bytes to the disk.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let failed = |e: IoError| unwritten(&self.path, &e);
        if self.dirty {
            file.sync_all().map_err(failed)?;
        }
        if self.new {
            sync_folder(parent_of(&self.path)).map_err(failed)?;
        }
        (self.dirty, self.new) = (false, false);
        Ok(())
    }
}
