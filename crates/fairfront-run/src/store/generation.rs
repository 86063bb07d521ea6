//! Generations of a state: folders such as `generation-000012`, each complete or absent.

use std::fs::File;
use std::io::{ErrorKind, Read, Result as IoResult};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fairfront_core::{grouped, hex};
use fairfront_data::Diagnostic;
use fairfront_model::file::{make_folder, names_in, remove, sync_folder, write_through};
use sha2::{Digest, Sha256};

use super::{NEW, OLD, move_aside, number_in, unwritten};
use crate::Error;
use crate::place::committed;

/// The file with the checksums of all others, as `sha256sum` writes and checks it.
const SUMS: &str = "SHA256SUMS";
const PREFIX: &str = "generation-";
/// The link to the newest generation, and the one about to replace it.
const LINK: &str = "current";
const NEW_LINK: &str = ".fairfront-new-current";

/// The generations of a state, for the process that holds its [`Lock`](super::Lock).
#[derive(Debug)]
pub struct Generations {
    folder: PathBuf,
}

/// The newest intact generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub number: u64,
    /// Its folder.
    pub path: PathBuf,
    /// Newer generations that are corrupted, the newest first.
    pub damaged: Vec<Damaged>,
}

/// A generation that differs from the committed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// Its folder.
    pub path: PathBuf,
    /// The file and its problem.
    pub reason: String,
}

impl Generations {
    /// The generations in a folder, which must exist.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        match folder.is_dir() {
            true => Ok(Self {
                folder: folder.to_path_buf(),
            }),
            false => Err(Error::file(folder, "the folder does not exist")),
        }
    }

    /// The newest intact generation: it has exactly the files that its checksums list, all of them
    /// unchanged. `None` if nothing was ever committed. If there are generations but none is
    /// intact, the error names them all.
    pub fn newest(&self) -> Result<Option<Found>, Error> {
        newest(&self.folder)
    }

    /// Commits a generation and returns its folder. The last step is a single rename: before it,
    /// the generation is invisible; after it, it is complete. If anything fails, the earlier
    /// generations stay unchanged. A corrupted generation with this number is moved aside; an
    /// intact one is an error.
    pub fn commit(&self, number: u64, files: &[(&str, &[u8])]) -> Result<PathBuf, Error> {
        let new = self.begin(number)?;
        let written = self
            .fill(&new, number, files)
            .and_then(|()| self.publish(&new, number));
        if written.is_err() {
            // Best effort: remaining files are removed next time.
            let _ = remove(&new);
        }
        let place = written?;
        self.link(number);
        Ok(place)
    }

    /// First step of a commit: creates an empty hidden folder.
    pub(super) fn begin(&self, number: u64) -> Result<PathBuf, Error> {
        let new = self.folder.join(format!("{NEW}{number:06}"));
        let made = remove(&new).and_then(|()| make_folder(&new));
        made.map_err(|e| unwritten(&self.place(number), &e))?;
        Ok(new)
    }

    /// Second step: writes all files, their checksums last.
    pub(super) fn fill(
        &self,
        new: &Path,
        number: u64,
        files: &[(&str, &[u8])],
    ) -> Result<(), Error> {
        let place = self.place(number);
        for (index, (name, bytes)) in files.iter().enumerate() {
            if !is_plain(name) || files[..index].iter().any(|(other, _)| other == name) {
                let problem = format!("a generation cannot contain a file named {name:?}");
                return Err(Error::file(&place, problem));
            }
            write_through(&new.join(name), bytes).map_err(|e| unwritten(&place.join(name), &e))?;
        }
        let (_, sums) = sums_of(files);
        let sealed = write_through(&new.join(SUMS), &sums);
        sealed.map_err(|e| unwritten(&place.join(SUMS), &e))?;
        sync_folder(new).map_err(|e| unwritten(&place, &e))
    }

    /// Third step, the commit itself: renames the hidden folder.
    pub(super) fn publish(&self, new: &Path, number: u64) -> Result<PathBuf, Error> {
        let place = self.place(number);
        let failed = |e: std::io::Error| unwritten(&place, &e);
        if std::fs::symlink_metadata(&place).is_ok() {
            if check(&place)?.is_none() {
                return Err(Error::file(
                    &place,
                    "this generation is already committed; nothing was changed",
                ));
            }
            move_aside(&place).map_err(failed)?;
        }
        std::fs::rename(new, &place).map_err(failed)?;
        sync_folder(&self.folder).map_err(failed)?;
        Ok(place)
    }

    /// Last step, a convenience for users. Nothing relies on it, so it may fail.
    pub(super) fn link(&self, number: u64) {
        #[cfg(unix)]
        {
            let new = self.folder.join(NEW_LINK);
            let _ = remove(&new);
            let to = format!("{PREFIX}{number:06}");
            let linked = std::os::unix::fs::symlink(to, &new)
                .and_then(|()| std::fs::rename(&new, self.folder.join(LINK)));
            if linked.is_err() {
                let _ = remove(&new);
            }
        }
        #[cfg(not(unix))]
        let _ = (number, LINK, NEW_LINK);
    }

    /// Renames corrupted generations so that they are ignored (`generation-000012.damaged`), and
    /// returns the new paths.
    pub fn set_aside(&self, damaged: &[Damaged]) -> Result<Vec<PathBuf>, Error> {
        let aside = |d: &Damaged| {
            let path = self.folder.join(d.path.file_name().unwrap_or_default());
            move_aside(&path).map_err(|e| unwritten(&path, &e))
        };
        damaged.iter().map(aside).collect()
    }

    /// Removes the generations before `newest - 1` and the remains of unfinished commits, but not
    /// generations that were set aside. A generation first gets a hidden name, so that a reader
    /// sees it complete or not at all.
    pub fn prune(&self, newest: u64) -> Result<(), Error> {
        let failed = |path: &Path, e: &std::io::Error| {
            let problem = format!("old generations cannot be removed ({})", e.kind());
            Error::file(path, problem)
        };
        let names = names_in(&self.folder).map_err(|e| failed(&self.folder, &e))?;
        for name in names {
            let mut path = self.folder.join(&name);
            let number = number_in(&name, PREFIX, "");
            if let Some(number) = number.filter(|n| n.saturating_add(1) < newest) {
                let old = self.folder.join(format!("{OLD}{number:06}"));
                let hidden = remove(&old).and_then(|()| std::fs::rename(&path, &old));
                hidden.map_err(|e| failed(&path, &e))?;
                path = old;
            } else if !name.starts_with(NEW) && !name.starts_with(OLD) {
                continue;
            }
            remove(&path).map_err(|e| failed(&path, &e))?;
        }
        Ok(())
    }

    /// Whether a generation exists and is intact.
    pub fn is_sound(&self, number: u64) -> bool {
        let place = self.place(number);
        place.is_dir() && matches!(check(&place), Ok(None))
    }

    /// The folder of a generation, which may not exist.
    pub fn place(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{PREFIX}{number:06}"))
    }
}

fn newest(folder: &Path) -> Result<Option<Found>, Error> {
    let mut damaged = Vec::new();
    for (number, path) in listed(folder)? {
        match check(&path)? {
            None => {
                return Ok(Some(Found {
                    number,
                    path,
                    damaged,
                }));
            }
            Some(reason) => damaged.push(Damaged { path, reason }),
        }
    }
    if damaged.is_empty() {
        return Ok(None);
    }
    let all: Vec<String> = damaged.iter().map(Damaged::problem).collect();
    let problem = format!(
        "no generation of this state is intact: {}; restore one from a copy, or start again in \
         another folder",
        all.join("; ")
    );
    Err(Error::file(folder, problem))
}

impl Damaged {
    fn problem(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{name} is corrupted ({})", self.reason)
    }
}

/// All generations, intact or not, the newest first.
fn listed(folder: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let names = names_in(folder).map_err(|e| Error::file(folder, e))?;
    let numbered = |name: &String| Some((number_in(name, PREFIX, "")?, folder.join(name)));
    let mut found: Vec<(u64, PathBuf)> = names.iter().filter_map(numbered).collect();
    found.sort_unstable();
    found.reverse();
    Ok(found)
}

/// Name and content of the file with the checksums of these files.
pub fn sums_of(files: &[(&str, &[u8])]) -> (&'static str, Vec<u8>) {
    (SUMS, render(&Sum::of(files)).into_bytes())
}

/// Name, size and checksum of a file.
struct Sum {
    name: String,
    bytes: u64,
    sha256: String,
}

impl Sum {
    fn of(files: &[(&str, &[u8])]) -> Vec<Self> {
        let of = |(name, bytes): &(&str, &[u8])| Self {
            name: (*name).into(),
            bytes: bytes.len() as u64,
            sha256: hex(&Sha256::digest(bytes)),
        };
        let others = files.iter().filter(|(name, _)| *name != SUMS);
        let mut sums: Vec<Self> = others.map(of).collect();
        sums.sort_by(|a, b| a.name.cmp(&b.name));
        sums
    }
}

/// The checksums in the format of `sha256sum --check`. The sizes are in comments, which it skips;
/// they distinguish a truncated file from a changed one.
fn render(sums: &[Sum]) -> String {
    let line = |s: &Sum| format!("# {} bytes\n{}  {}\n", s.bytes, s.sha256, s.name);
    sums.iter().map(line).collect()
}

/// Whether a generation can contain a file with this name.
fn is_plain(name: &str) -> bool {
    let is_odd = |c: char| matches!(c, '/' | '\\') || c.is_control();
    !name.is_empty() && name != SUMS && !name.starts_with('.') && !name.contains(is_odd)
}

/// Parses the output of [`render`] and nothing else: rendering the result must give the same text.
fn parse(text: &str) -> Option<Vec<Sum>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut sums = Vec::new();
    for pair in lines.chunks(2) {
        let [size, sum] = pair else { return None };
        let (sha256, name) = sum.split_once("  ")?;
        let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if sha256.len() != 64 || !sha256.chars().all(hexadecimal) || !is_plain(name) {
            return None;
        }
        sums.push(Sum {
            name: name.into(),
            bytes: size
                .strip_prefix("# ")?
                .strip_suffix(" bytes")?
                .parse()
                .ok()?,
            sha256: sha256.into(),
        });
    }
    let ordered = sums.windows(2).all(|pair| pair[0].name < pair[1].name);
    (ordered && render(&sums) == text).then_some(sums)
}

/// The problem of a corrupted generation; `None` if it is intact. A generation that may be intact
/// but cannot be read now (permissions, no memory) is an error, so that fairfront does not fall
/// back to an older state.
fn check(path: &Path) -> Result<Option<String>, Error> {
    let damage = |name: &str, e: std::io::Error| match e.kind() {
        ErrorKind::NotFound => Ok(Some(format!("{name} is missing"))),
        // EIO, EBADMSG, EUCLEAN: the disk does not return the bytes that were written.
        _ if matches!(e.raw_os_error(), Some(5 | 74 | 117)) => {
            Ok(Some(format!("{name} cannot be read: {e}")))
        }
        ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
            Ok(Some(format!("{name} is not a file")))
        }
        kind => {
            let problem = format!("cannot be read ({kind}); fix this and try again");
            Err(Error::file(&path.join(name), problem))
        }
    };
    let names = match names_in(path) {
        Ok(names) => names,
        Err(e) if e.kind() == ErrorKind::NotADirectory => {
            return Ok(Some("it is not a folder".into()));
        }
        Err(e) => return damage("", e),
    };
    let text = match std::fs::read(path.join(SUMS)) {
        Ok(bytes) => String::from_utf8(bytes).unwrap_or_default(),
        Err(e) => return damage(SUMS, e),
    };
    let Some(sums) = parse(&text).filter(|sums| !sums.is_empty()) else {
        return Ok(Some(format!("{SUMS} was changed")));
    };
    for sum in &sums {
        let file = path.join(&sum.name);
        let found = std::fs::symlink_metadata(&file).and_then(|found| match found.is_file() {
            true => hash(&file),
            false => Err(ErrorKind::IsADirectory.into()),
        });
        let (bytes, sha256) = match found {
            Ok(found) => found,
            Err(e) => return damage(&sum.name, e),
        };
        let of = |n: u64| grouped(n as usize);
        let name = &sum.name;
        match bytes.cmp(&sum.bytes) {
            _ if sha256 == sum.sha256 && bytes == sum.bytes => {}
            std::cmp::Ordering::Equal => {
                return Ok(Some(format!("{name} has a different checksum")));
            }
            order => {
                let how = match order.is_lt() {
                    true => "shorter",
                    false => "longer",
                };
                let (found, sum) = (of(bytes), of(sum.bytes));
                return Ok(Some(format!(
                    "{name} is {how} than before: {found} instead of {sum} bytes"
                )));
            }
        }
    }
    let known = |name: &String| name == SUMS || sums.iter().any(|sum| sum.name == *name);
    let extra = names.iter().find(|name| !known(name));
    Ok(extra.map(|name| format!("{name} does not belong to this generation")))
}

/// Size and checksum of a file, without reading it into memory at once.
fn hash(path: &Path) -> IoResult<(u64, String)> {
    let mut file = File::open(path)?;
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((bytes, hex(&hasher.finalize()))),
            Ok(n) => {
                hasher.update(&buffer[..n]);
                bytes += n as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// The location of a run, or of the newest run of a state.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    /// The folder with the files.
    pub(crate) path: PathBuf,
    /// Warnings about newer generations that are corrupted.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Whether a folder is a state: it contains generations, or a lock and no run yet.
pub fn is_state(folder: &Path) -> bool {
    listed(folder).is_ok_and(|found| !found.is_empty())
        || folder.join("lock").is_file() && !folder.join("run.json").exists()
}

/// The folder to read from: the newest intact generation of a state; otherwise the folder itself or
/// the run committed in it. Takes no lock and writes nothing. A writer may remove the generation at
/// any moment, so use [`read_stable`] to read.
pub(crate) fn resolve(folder: &Path) -> Result<Resolved, Error> {
    let patience = Patience::new();
    loop {
        if !folder.is_dir() || !is_state(folder) {
            return Ok(Resolved {
                path: committed(folder).unwrap_or_else(|| folder.to_path_buf()),
                diagnostics: Vec::new(),
            });
        }
        let before = listed(folder)?;
        match newest(folder) {
            Ok(Some(found)) if found.damaged.iter().all(|d| d.path.exists()) => {
                let diagnostic = |d: &Damaged| {
                    let name = found.path.file_name().unwrap_or_default();
                    Diagnostic::warning(format!(
                        "{} in {}; {} is read instead",
                        d.problem(),
                        folder.display(),
                        name.to_string_lossy()
                    ))
                };
                return Ok(Resolved {
                    diagnostics: found.damaged.iter().map(diagnostic).collect(),
                    path: found.path,
                });
            }
            Ok(None) if before.is_empty() => {
                let problem = "this state has no complete generation yet; run the command that \
                               writes it until its first commit";
                return Err(Error::file(folder, problem));
            }
            Err(error) if listed(folder)? == before => return Err(error),
            // A writer made changes during the check.
            Ok(_) | Err(_) => {}
        }
        patience.wait(folder)?;
    }
}

/// Reads from a run folder or from the newest intact generation of a state, again if a writer
/// replaced that run or removed that generation meanwhile. The result comes from a single run; the
/// diagnostics warn about corrupted generations.
pub(crate) fn read_stable<T>(
    folder: &Path,
    mut read: impl FnMut(&Path) -> Result<T, Error>,
) -> Result<(T, Vec<Diagnostic>), Error> {
    let patience = Patience::new();
    loop {
        let resolved = resolve(folder)?;
        let path = &resolved.path;
        // Each run has its own `run.json`, and a run that replaces another is committed first.
        let before = std::fs::read(path.join("run.json")).ok();
        let result = read(path);
        let is_steady = match path == folder {
            true => committed(folder).is_none(),
            false => path.exists(),
        };
        if is_steady && std::fs::read(path.join("run.json")).ok() == before {
            return Ok((result?, resolved.diagnostics));
        }
        patience.wait(folder)?;
    }
}

/// Limits how long a reader tries to keep up with a writer.
struct Patience {
    since: Instant,
}

impl Patience {
    fn new() -> Self {
        Self {
            since: Instant::now(),
        }
    }

    fn wait(&self, folder: &Path) -> Result<(), Error> {
        if self.since.elapsed() > Duration::from_secs(60) {
            let problem =
                "another process changes this state faster than it can be read; try again later";
            return Err(Error::file(folder, problem));
        }
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }
}
