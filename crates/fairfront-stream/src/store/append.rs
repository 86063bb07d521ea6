//! A file that only grows, and that a failed write leaves as it was.

use std::fs::{File, OpenOptions};
use std::io::{Error as IoError, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fairfront_model::file::{create, make_folder, parent_of, sync_folder};
use fairfront_run::Error;
use fairfront_run::store::unwritten;

/// The end of a file that grows. The file is made when something is appended first.
#[derive(Debug)]
pub(super) struct Appender {
    path: PathBuf,
    file: Option<File>,
    length: u64,
    /// Something is not on the disk yet.
    dirty: bool,
    /// Nor is the file's name.
    new: bool,
}

impl Appender {
    /// Opens a file and cuts it to its first `length` bytes; 0 where there is no file.
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
            // A process that made it may have been killed before its name was on the disk.
            appender.new = true;
        }
        Ok(appender)
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends all bytes or, where that fails, none.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let written = self.write(bytes);
        if let (Err(_), Some(file)) = (&written, &mut self.file) {
            // If this fails too, the tail is cut when the file is opened next.
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

    /// Sees all that was appended through to the disk.
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
