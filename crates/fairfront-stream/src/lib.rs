//! Keeps a front up to date while rows arrive in batches.
//!
//! [`Live`] is a stream in memory: it takes a batch and returns an [`Update`]. [`Stream`] is a [`Live`]
//! with a journal: a folder that contains the same files, the positions of inputs, and the waiting rows.
//! The folder is a valid run at any moment. Batches are committed atomically, so that a stream that was
//! killed resumes without any difference.

mod batch;
mod disk;
mod drift;
mod feed;
mod front;
mod journal;
mod keep;
mod live;
mod options;
mod ready;
mod reject;
pub mod setting;
mod source;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fairfront_core::{Neutral, Wording};
use fairfront_data::{Diagnostic, Dropped, Encoded, MemoryLimit};
use fairfront_model::file::names_in;
use fairfront_run::Error;
use fairfront_run::store::{Damaged, Generations, Lock, is_state};
use fairfront_solve::Observer;

use self::journal::Journal;
use self::keep::{Kept, ROWS};
use self::source::{Row, STDIN};
use self::state::State;
use self::store::{Ledger, Spool};

pub use self::drift::{ClassShift, Drift, FrontShift, GroupShift, LabelShift, MeanShift, Shift};
pub use self::feed::{Fed, Feed};
pub use self::live::{Live, Update};
pub use self::options::{InputOptions, LiveOptions, StreamOptions};

/// A committed batch.
#[derive(Debug)]
pub struct CommittedBatch<'a> {
    /// The changes of the batch.
    pub drift: &'a Drift,
    /// Duration in seconds.
    pub seconds: f64,
    /// Number of stored rows from standard input, if rows come from there.
    pub stdin_rows: Option<u64>,
    /// Messages that were not shown for earlier batches.
    pub diagnostics: &'a [Diagnostic],
}

/// Receives progress, and may request a stop.
pub trait Watcher {
    /// The observer of solvers. If it stops them, the current batch is abandoned.
    fn observer(&mut self) -> &mut dyn Observer;
    /// Whether to stop; called between rows.
    fn is_stopped(&self) -> bool;
    /// Called when a batch is on the disk.
    fn committed(&mut self, batch: &CommittedBatch);
    /// Called with a note or a warning.
    fn diagnostic(&mut self, diagnostic: &Diagnostic);
}

/// A stream in memory that is stored in a folder. Only this process has access to the folder.
pub struct Stream {
    folder: PathBuf,
    live: Live,
    journal: Journal,
    generations: Option<(Lock, Generations)>,
    /// Number of the newest generation; 0 before the first.
    generation: u64,
    /// Batches and first segment needed by the previous generation.
    before: (u64, Option<u64>),
    ledgers: Option<(Ledger, Ledger)>,
    spool: Option<Spool>,
    /// Rows that wait until their batch is full, the number of them in the spool, and the number from
    /// standard input.
    pending: Vec<Row>,
    /// The other waiting rows, while a batch is made of the first ones.
    later: Vec<Row>,
    spooled: usize,
    stdin_waiting: u64,
    /// Number of inputs that the newest generation or the spool knows.
    announced: usize,
    /// Whether there is more in memory than on the disk.
    broken: bool,
    /// Messages about the state that was opened.
    diagnostics: Vec<Diagnostic>,
    /// The wording of settings in the files of the state.
    wording: &'static dyn Wording,
    /// Messages of earlier batches, which are not repeated.
    said: BTreeSet<String>,
}

impl Stream {
    /// Starts a new stream. Nothing is written before its first row arrives.
    pub fn begin(folder: &Path, options: StreamOptions) -> Result<Self, Error> {
        let (live, journal) = new(options)?;
        Ok(Self::of(folder, live, journal))
    }

    /// Creates a stream without files.
    fn of(folder: &Path, live: Live, journal: Journal) -> Self {
        Self {
            folder: folder.to_path_buf(),
            generations: None,
            generation: 0,
            before: (live.batches(), live.kept.oldest_segment()),
            live,
            journal,
            ledgers: None,
            spool: None,
            pending: Vec::new(),
            later: Vec::new(),
            spooled: 0,
            stdin_waiting: 0,
            announced: 0,
            broken: false,
            diagnostics: Vec::new(),
            wording: &Neutral,
            said: BTreeSet::new(),
        }
    }

    /// Opens the stream in a folder. Returns `None` if the folder is missing or empty, and an error if it
    /// contains something else. While the stream is open, no other process can open it.
    pub fn open(folder: &Path) -> Result<Option<Self>, Error> {
        if folder.is_file() {
            let problem = "is a file; pass the folder of the state first, then the inputs";
            return Err(Error::file(folder, problem));
        }
        if !folder.exists() || is_empty(folder)? {
            return Ok(None);
        }
        if !is_state(folder) {
            let problem = "already exists and is not the state of a stream; choose another folder";
            return Err(Error::file(folder, problem));
        }
        let lock = Lock::take(folder)?;
        let generations = Generations::open(folder)?;
        let mut diagnostics = Vec::new();
        let (found, state, kept) = loop {
            let Some(found) = generations.newest()? else {
                return Ok(None);
            };
            set_aside(&generations, &found.damaged, &mut diagnostics)?;
            let state = State::read(&found.path)?;
            match state.read_rows(folder, &found.path) {
                Ok(kept) => break (found, state, kept),
                // The previous generation does not need the rows of the last batch.
                Err(error) if generations.is_sound(found.number.saturating_sub(1)) => {
                    let damaged = Damaged {
                        path: found.path.clone(),
                        reason: error.to_string(),
                    };
                    if !Kept::needs_last(&state.kept, state.batches, folder) {
                        return Err(error);
                    }
                    set_aside(&generations, &[damaged], &mut diagnostics)?;
                }
                Err(error) => return Err(error),
            }
        };
        let live = read_live(&found.path, state, kept)?;
        let mut stream = Self::of(folder, live, Journal::read(&found.path)?);
        stream.generation = found.number;
        stream.generations = Some((lock, generations));
        stream.diagnostics = diagnostics;
        stream.open_ledgers()?;
        stream.open_spool()?;
        stream.tidy()?;
        Ok(Some(stream))
    }

    /// Sets the wording of messages in the files of the state; the default is neutral.
    pub fn set_wording(&mut self, wording: &'static dyn Wording) {
        self.wording = wording;
    }

    /// The options that were fixed by the first call.
    pub fn options(&self) -> StreamOptions {
        StreamOptions {
            live: self.live.options().clone(),
            input: self.journal.options.clone(),
        }
    }

    /// Replaces the options, which is possible until there is a front.
    pub fn set_options(&mut self, options: StreamOptions) -> Result<(), Error> {
        if self.live.state.settled.is_some() {
            let problem = "the first batch has fixed the options of this stream; start a new state for \
                           other options";
            return Err(Error::file(&self.folder, problem));
        }
        let (live, journal) = new(options)?;
        self.live = live;
        self.journal.options = journal.options;
        self.commit()
    }

    /// Limits the memory of this call; the limit is not stored in the state.
    pub fn set_memory(&mut self, memory: MemoryLimit) {
        self.journal.options.read.memory = memory;
        self.live.set_memory(memory);
    }

    /// Messages about the state that was opened.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Number of batches that the front is based on.
    pub fn batches(&self) -> u64 {
        self.live.batches()
    }

    /// Number of stored rows from standard input, in a batch or in the spool.
    pub fn stdin_rows(&self) -> u64 {
        let input = self.journal.inputs.iter().position(|i| i.identity == STDIN);
        let Some(input) = input else {
            return 0;
        };
        self.journal.inputs[input].rows + self.stdin_waiting
    }
}

/// Information about the stream.
impl Stream {
    /// Reasons for rows dropped so far, and their numbers.
    pub fn dropped(&self) -> &[Dropped] {
        self.live.dropped()
    }

    /// The value of the target that counts as positive, once known.
    pub fn positive(&self) -> Option<&str> {
        let settled = self.live.state.settled.as_ref()?;
        settled.encoding.target.as_ref()?.positive()
    }

    /// Whether models predict a number; `None` before the first front.
    pub fn is_number(&self) -> Option<bool> {
        let settled = self.live.state.settled.as_ref()?;
        Some(settled.encoding.target.as_ref()?.is_number())
    }

    /// Whether models decide between more than two classes.
    pub fn is_classes(&self) -> bool {
        let settled = self.live.state.settled.as_ref();
        let target = settled.and_then(|settled| settled.encoding.target.as_ref());
        target.is_some_and(|rule| rule.classes().is_some())
    }

    /// Rows rejected so far.
    pub fn rejected(&self) -> u64 {
        self.live.rejected()
    }

    /// The diagnostics that were not shown before, ignoring the numbers in them.
    fn unsaid(&mut self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let words = |diagnostic: &Diagnostic| {
            let words = diagnostic.message.to_string();
            words.replace(|c: char| c.is_ascii_digit(), "")
        };
        let mut new = diagnostics;
        new.retain(|diagnostic| self.said.insert(words(diagnostic)));
        new
    }

    /// The changes of all batches, from the first.
    pub fn history(&self) -> Result<Vec<Drift>, Error> {
        let path = self.folder.join("drift.jsonl");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(Error::file(&path, e)),
        };
        let drift = |line: &str| {
            serde_json::from_str(line)
                .map_err(|e| Error::file(&path, format!("the file is corrupted ({e})")))
        };
        text.lines().map(drift).collect()
    }
}

/// The rows that a generation of a state keeps, encoded as its front was fitted on them.
pub fn kept_rows(folder: &Path, generation: &Path) -> Result<Encoded, Error> {
    let state = State::read(generation)?;
    let kept = state.read_rows(folder, generation)?;
    let (Some(rows), Some(settled)) = (kept.rows(), &state.settled) else {
        return Err(Error::file(
            folder,
            "this stream has no front yet; add more rows",
        ));
    };
    if settled.updated + settled.skipped < state.batches {
        return Err(Error::data(
            "the last batches could not update the front, so the rows it was fitted on are no longer \
             kept, and nothing can be recomputed; add rows until the front is updated again",
        ));
    }
    front::seen_by_front(&settled.encoding, rows)
}

/// The stream in memory with these options, and its journal.
fn new(options: StreamOptions) -> Result<(Live, Journal), Error> {
    let StreamOptions { live, input } = options;
    let mut live = Live::begin(live)?;
    input.check()?;
    live.set_memory(input.read.memory);
    Ok((live, Journal::new(input)))
}

/// The stream in memory whose files are in a generation.
fn read_live(generation: &Path, state: State, kept: Kept) -> Result<Live, Error> {
    let names = names_in(generation).map_err(|e| Error::file(generation, e))?;
    let mut files = Vec::new();
    for name in names.iter().filter(|name| *name != ROWS) {
        let path = generation.join(name);
        let bytes = std::fs::read(&path).map_err(|e| Error::file(&path, e))?;
        files.push((name.as_str(), bytes));
    }
    let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
    Live::of(state, kept, &files).map_err(|e| Error::file(generation, e))
}

fn is_empty(folder: &Path) -> Result<bool, Error> {
    let mut entries = std::fs::read_dir(folder).map_err(|e| Error::file(folder, e))?;
    Ok(entries.next().is_none())
}

/// Moves corrupted generations out of the way, with a warning.
fn set_aside(
    generations: &Generations,
    damaged: &[Damaged],
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(), Error> {
    for (damaged, aside) in damaged.iter().zip(generations.set_aside(damaged)?) {
        diagnostics.push(Diagnostic::warning(format!(
            "{} is corrupted ({}) and was moved to {}; the stream resumes from the previous generation: \
             pass the same inputs again",
            damaged.path.display(),
            damaged.reason,
            aside.display()
        )));
    }
    Ok(())
}
