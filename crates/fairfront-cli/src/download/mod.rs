//! Downloads published files to the cache: each file is complete and verified, or not there.
//!
//! Bytes are written to `NAME.part`, which later calls resume. Once it is complete and its SHA-256
//! is the published one, the file is renamed to `NAME`. If the checksum is wrong, it is removed.

mod address;
mod client;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use fairfront_core::grouped;
use fairfront_data::{DATA_FOLDER, Error, PublishedFile};
use ureq::http::Uri;

use self::address::Source;
use self::client::{Client, Failure, Patience, Then};
use crate::output;
use crate::progress::Meter;

/// The pauses before a failed request is repeated. After the last of them, the download fails.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];
/// If an interrupted connection delivered at least this many bytes, the pauses start again.
const WORTH: u64 = 1 << 16;
/// The time between two attempts to get a lock that another process holds.
const LOOK: Duration = Duration::from_millis(200);

/// Downloads the files to the folder. Valid files are not downloaded again.
pub(crate) fn fetch(files: &[PublishedFile], folder: &Path, quiet: bool) -> anyhow::Result<()> {
    let source = Source::from_environment()?;
    fetch_from(&source, files, folder, quiet)
}

fn fetch_from(
    source: &Source,
    files: &[PublishedFile],
    folder: &Path,
    quiet: bool,
) -> anyhow::Result<()> {
    // Keep a handler that another front end has already set.
    let _ = ctrlc::set_handler(|| {
        output::note("\nstopped; run the same command again to resume the download\n");
        std::process::exit(130);
    });
    std::fs::create_dir_all(folder).map_err(|e| unwritable(folder, &e))?;
    let _lock = lock(folder, quiet)?;
    let mut get = Get {
        client: Client::new(&Patience::default()),
        meter: Meter::new(quiet),
        quiet,
    };
    for file in files {
        // Another process may have downloaded it in the meantime.
        let is_valid = file.check(&folder.join(file.name)).is_ok();
        let result = match is_valid {
            true => "already downloaded".to_owned(),
            false => {
                let from = source.address(file)?;
                get.file(file, &from, folder)?;
                format!("{} bytes, checked", grouped(file.size as usize))
            }
        };
        if !quiet {
            output::note(&format!("{}: {result}\n", file.name));
        }
    }
    Ok(())
}

/// Locks the folder, so that one process at a time writes to it. The others wait, and then find the
/// files.
fn lock(folder: &Path, quiet: bool) -> anyhow::Result<File> {
    let path = folder.join("lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(&path).map_err(|e| unwritable(folder, &e))?;
    let mut noted = quiet;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                if !noted {
                    output::note("waiting for another fairfront data get to finish\n");
                    noted = true;
                }
                std::thread::sleep(LOOK);
            }
            // If files cannot be locked, a file that two processes wrote to fails the check.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
}

struct Get {
    client: Client,
    meter: Meter,
    quiet: bool,
}

impl Get {
    /// Downloads one file.
    fn file(&mut self, file: &PublishedFile, from: &Uri, folder: &Path) -> anyhow::Result<()> {
        let part = folder.join(format!("{}.part", file.name));
        let mut resumed = self.fill(file, from, &part)?;
        loop {
            let problem = match file.check(&part) {
                Ok(()) => break,
                Err(Error::WrongData {
                    found, expected, ..
                }) => wrong(from, &found, &expected),
                Err(other) => return Err(other.into()),
            };
            std::fs::remove_file(&part).map_err(|e| unwritable(&part, &e))?;
            // The resumed part may be from another version: download the whole file once.
            if !resumed {
                return Err(failed(file, &problem));
            }
            if !self.quiet {
                let name = file.name;
                output::note(&format!(
                    "{name}: the existing part belongs to another file; starting over\n"
                ));
            }
            self.fill(file, from, &part)?;
            resumed = false;
        }
        let path = folder.join(file.name);
        std::fs::rename(&part, &path).map_err(|e| unwritable(&path, &e))?;
        // The new name is durable once its folder is synced. Some systems cannot open a folder.
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Completes the part; returns whether it existed before.
    fn fill(&mut self, file: &PublishedFile, from: &Uri, part: &Path) -> anyhow::Result<bool> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut out = options.open(part).map_err(|e| unwritable(part, &e))?;
        let length = |out: &File| out.metadata().map(|found| found.len());
        let mut reached = length(&out).map_err(|e| unwritable(part, &e))?;
        if reached > file.size {
            out.set_len(0).map_err(|e| unwritable(part, &e))?;
            reached = 0;
        }
        let resumed = reached > 0;
        let mut pauses = PAUSES.iter();
        loop {
            let done = self.attempt(file, from, &mut out);
            self.meter.clear();
            let failure = match done {
                Ok(()) => break,
                Err(Broken::Disk(error)) => return Err(unwritable(part, &error)),
                Err(Broken::Net(failure)) => failure,
            };
            let got = length(&out).map_err(|e| unwritable(part, &e))?;
            if got >= reached + WORTH {
                reached = got;
                pauses = PAUSES.iter();
            }
            let pause = match failure.then {
                Then::GiveUp => None,
                Then::Retry | Then::StartAfresh => pauses.next(),
            };
            let Some(pause) = pause else {
                if got == 0 {
                    let _ = std::fs::remove_file(part);
                }
                return Err(failed(file, &kept(failure, got, file.size)));
            };
            if failure.then == Then::StartAfresh {
                out.set_len(0).map_err(|e| unwritable(part, &e))?;
            }
            std::thread::sleep(*pause);
        }
        out.sync_all().map_err(|e| unwritable(part, &e))?;
        Ok(resumed)
    }

    /// Makes one request and appends the answer to the part.
    fn attempt(&mut self, file: &PublishedFile, from: &Uri, out: &mut File) -> Result<(), Broken> {
        let had = out.metadata()?.len();
        if had == file.size {
            return Ok(());
        }
        let mut answer = self.client.get(from, had)?;
        let size = |n: u64| format!("{} bytes", grouped(n as usize));
        let wrong_size = |found: &str| {
            let expected = size(file.size);
            let problem = format!("{from} is not the published file: {found}, expected {expected}");
            Err(Failure::lasting(problem).into())
        };
        if let Some(whole) = answer.whole.filter(|whole| *whole != file.size) {
            return wrong_size(&size(whole));
        }
        if answer.start != had {
            out.set_len(answer.start)?;
        }
        out.seek(SeekFrom::Start(answer.start))?;
        let mut at = answer.start;
        let mut buffer = vec![0; 1 << 16];
        loop {
            self.meter.show(file.name, at, file.size);
            let n = match answer.body.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    let problem = format!("the connection was interrupted ({error})");
                    return Err(Failure::passing(problem).into());
                }
            };
            if at + n as u64 > file.size {
                out.set_len(0)?;
                return wrong_size(&format!("{} or more", size(at + n as u64)));
            }
            out.write_all(&buffer[..n])?;
            at += n as u64;
        }
        match at == file.size {
            true => Ok(()),
            false => Err(Failure::passing("the connection was interrupted").into()),
        }
    }
}

/// The reason why an attempt ended early.
enum Broken {
    Net(Failure),
    Disk(io::Error),
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self::Net(failure)
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

/// The message for a failure, with the number of bytes that a later call can resume from.
fn kept(failure: Failure, got: u64, size: u64) -> String {
    match (failure.then, got) {
        (Then::Retry, 1..) => format!(
            "{}; run the same command again to resume after {} of {} bytes",
            failure.problem,
            grouped(got as usize),
            grouped(size as usize)
        ),
        _ => failure.problem,
    }
}

fn wrong(from: &Uri, found: &str, expected: &str) -> String {
    format!("{from} is not the published file: {found}, expected {expected}")
}

/// The error for a failed download, with an alternative.
fn failed(file: &PublishedFile, problem: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "{}: {problem}; alternatively, download {} and set {DATA_FOLDER} to its folder",
        file.name,
        file.url
    )
}

fn unwritable(path: &Path, error: &io::Error) -> anyhow::Error {
    let place = path.display();
    let elsewhere = match cfg!(any(windows, target_os = "macos")) {
        true => "",
        false => ", or set XDG_CACHE_HOME to another cache folder",
    };
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => anyhow::anyhow!(
            "{place}: the disk is full; free some space and run the same command again{elsewhere}"
        ),
        _ => anyhow::anyhow!("{place}: cannot be written ({error}); make it writable{elsewhere}"),
    }
}
