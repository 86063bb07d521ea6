//! Published files from the net into the cache: whole and right, or not there.
//!
//! What arrives is written to `NAME.part`, which later calls go on with; once it is whole and its
//! SHA-256 is the published one, it gets its name. A part that does not become that file is removed.

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

/// Before a request that failed is made again; after these there is no other.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];
/// A connection that brought this much before it was cut was worth it: the pauses begin again.
const WORTH: u64 = 1 << 16;
/// How often a lock that another process holds is tried.
const LOOK: Duration = Duration::from_millis(200);

/// Brings the files into the folder; those that are there and right stay as they are.
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
    // A handler that is there already (another front end's) stays.
    let _ = ctrlc::set_handler(|| {
        output::note("\nstopped; what has arrived is kept, the same command goes on with it\n");
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
        // Another process may have brought it in the meantime.
        let is_there = file.check(&folder.join(file.name)).is_ok();
        let how = match is_there {
            true => "is there already".to_owned(),
            false => {
                let from = source.address(file)?;
                get.file(file, &from, folder)?;
                format!("{} bytes, checked", grouped(file.size as usize))
            }
        };
        if !quiet {
            let colon = if is_there { "" } else { ":" };
            output::note(&format!("{}{colon} {how}\n", file.name));
        }
    }
    Ok(())
}

/// One process at a time writes to the folder; the others wait, and find the work done.
fn lock(folder: &Path, quiet: bool) -> anyhow::Result<File> {
    let path = folder.join("lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(&path).map_err(|e| unwritable(folder, &e))?;
    let mut said = quiet;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                if !said {
                    output::note("another fairfront data get is at work; waiting for it\n");
                    said = true;
                }
                std::thread::sleep(LOOK);
            }
            // Where files cannot be locked, what two processes mix up does not pass the check.
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
    /// Brings one file.
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
            // The start may have been of another version; the whole may be right, and is asked for once.
            if !resumed {
                return Err(failed(file, &problem));
            }
            if !self.quiet {
                let name = file.name;
                output::note(&format!(
                    "{name}: the part that was there is of another file; starting afresh\n"
                ));
            }
            self.fill(file, from, &part)?;
            resumed = false;
        }
        let path = folder.join(file.name);
        std::fs::rename(&part, &path).map_err(|e| unwritable(&path, &e))?;
        // The name is durable once its folder is; where a folder cannot be opened, the system sees to it.
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Brings the part to the size of the file; says whether it was there in part.
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

    /// One request: appends what comes.
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
                    let problem = format!("the connection was cut ({error})");
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
            false => Err(Failure::passing("the connection was cut").into()),
        }
    }
}

/// Why an attempt ended early.
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

/// What is said of a failure, with what there is to go on with.
fn kept(failure: Failure, got: u64, size: u64) -> String {
    match (failure.then, got) {
        (Then::Retry, 1..) => format!(
            "{}; {} of {} bytes are kept, the same command goes on with them",
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

/// A file that did not come, with another way to it.
fn failed(file: &PublishedFile, problem: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "{}: {problem}; otherwise get {} by hand and set {DATA_FOLDER} to its folder",
        file.name,
        file.url
    )
}

fn unwritable(path: &Path, error: &io::Error) -> anyhow::Error {
    let place = path.display();
    let elsewhere = match cfg!(any(windows, target_os = "macos")) {
        true => "",
        false => ", or name another folder for caches with XDG_CACHE_HOME",
    };
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => anyhow::anyhow!(
            "{place}: the disk is full; make room and give the same command again{elsewhere}"
        ),
        _ => anyhow::anyhow!("{place}: cannot be written ({error}); make it writable{elsewhere}"),
    }
}
