//! A front that stays current: rows arrive in batches, each of which updates it.
//!
//! [`Live`] is a stream in memory: it takes a batch and returns an [`Update`]. [`Stream`] is a [`Live`] with
//! a journal: a folder that holds the same files, how far inputs were read, and the rows that wait. The
//! folder is a run at any moment. A batch is committed completely or not at all, so that a stream that was
//! killed resumes as if nothing had happened.

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
use fairfront_data::{Dropped, Encoded, MemoryLimit, Notice};
use fairfront_model::file::names_in;
use fairfront_run::Error;
use fairfront_run::store::{Damaged, Generations, Lock, is_state};
use fairfront_solve::Observer;

use self::journal::Journal;
use self::keep::{Kept, ROWS};
use self::source::{Row, STDIN};
use self::state::State;
use self::store::{Ledger, Spool};

pub use self::drift::{Drift, FrontShift, GroupShift, Shift};
pub use self::feed::{Fed, Feed};
pub use self::live::{Live, Update};
pub use self::options::{InputOptions, LiveOptions, StreamOptions};

/// A batch that is committed.
#[derive(Debug)]
pub struct CommittedBatch<'a> {
    /// What it changed.
    pub drift: &'a Drift,
    /// Wall seconds it took.
    pub seconds: f64,
    /// Rows of standard input that are safe, where rows come from there.
    pub stdin_rows: Option<u64>,
    /// What to be wary of, beyond what was said before.
    pub notices: &'a [Notice],
}

/// Is told what happens and may ask to stop.
pub trait Watcher {
    /// What solvers report to; stopping them leaves the batch at hand out.
    fn observer(&mut self) -> &mut dyn Observer;
    /// Whether to stop, asked between rows.
    fn is_stopped(&self) -> bool;
    /// A batch is on the disk.
    fn committed(&mut self, batch: &CommittedBatch);
    /// Something to know.
    fn notice(&mut self, notice: &Notice);
}

/// A stream in memory, made durable by a folder that this process alone holds.
pub struct Stream {
    folder: PathBuf,
    live: Live,
    journal: Journal,
    generations: Option<(Lock, Generations)>,
    /// Number of the newest generation; 0 before the first.
    generation: u64,
    /// Batches and first segment needed by the generation before.
    before: (u64, Option<u64>),
    ledgers: Option<(Ledger, Ledger)>,
    spool: Option<Spool>,
    /// Rows that wait for their batch to be full, how many of them are in the spool, and how many are
    /// of standard input.
    pending: Vec<Row>,
    /// While a batch is made of the first rows that wait: the others.
    later: Vec<Row>,
    spooled: usize,
    stdin_waiting: u64,
    /// Inputs that the newest generation or the spool knows.
    announced: usize,
    /// Whether what is in memory is more than what is on the disk.
    broken: bool,
    /// What to say about how the state was found.
    notices: Vec<Notice>,
    /// The words for settings in the files of the state.
    wording: &'static dyn Wording,
    /// Messages of earlier batches: saying them once is enough.
    said: BTreeSet<String>,
}

impl Stream {
    /// A new stream; nothing is written before its first row arrives.
    pub fn begin(folder: &Path, options: StreamOptions) -> Result<Self, Error> {
        let (live, journal) = new(options)?;
        Ok(Self::of(folder, live, journal))
    }

    /// A stream that holds no files yet.
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
            notices: Vec::new(),
            wording: &Neutral,
            said: BTreeSet::new(),
        }
    }

    /// The stream whose state is in a folder; `None` where there is nothing, an error where there is
    /// something else. While it is held, no other process can open it.
    pub fn open(folder: &Path) -> Result<Option<Self>, Error> {
        if folder.is_file() {
            let problem = "this is a file; the folder of the state comes first, then what is read";
            return Err(Error::file(folder, problem));
        }
        if !folder.exists() || is_empty(folder)? {
            return Ok(None);
        }
        if !is_state(folder) {
            let problem = "this is there and is no state of a stream; name another folder";
            return Err(Error::file(folder, problem));
        }
        let lock = Lock::take(folder)?;
        let generations = Generations::open(folder)?;
        let mut notices = Vec::new();
        let (found, state, kept) = loop {
            let Some(found) = generations.newest()? else {
                return Ok(None);
            };
            set_aside(&generations, &found.damaged, &mut notices)?;
            let state = State::read(&found.path)?;
            match state.read_rows(folder, &found.path) {
                Ok(kept) => break (found, state, kept),
                // The generation before does not need the rows of the last batch.
                Err(error) if generations.is_sound(found.number.saturating_sub(1)) => {
                    let damaged = Damaged {
                        path: found.path.clone(),
                        reason: error.to_string(),
                    };
                    if !Kept::needs_last(&state.kept, state.batches, folder) {
                        return Err(error);
                    }
                    set_aside(&generations, &[damaged], &mut notices)?;
                }
                Err(error) => return Err(error),
            }
        };
        let live = read_live(&found.path, state, kept)?;
        let mut stream = Self::of(folder, live, Journal::read(&found.path)?);
        stream.generation = found.number;
        stream.generations = Some((lock, generations));
        stream.notices = notices;
        stream.open_ledgers()?;
        stream.open_spool()?;
        stream.tidy()?;
        Ok(Some(stream))
    }

    /// Puts messages in the files of the state in the words of a program; they are neutral otherwise.
    pub fn set_wording(&mut self, wording: &'static dyn Wording) {
        self.wording = wording;
    }

    /// What was settled by the first call.
    pub fn options(&self) -> StreamOptions {
        StreamOptions {
            live: self.live.options().clone(),
            input: self.journal.options.clone(),
        }
    }

    /// Takes other options, which is possible as long as there is no front.
    pub fn set_options(&mut self, options: StreamOptions) -> Result<(), Error> {
        if self.live.state.settled.is_some() {
            let problem = "the first batch has settled the options of this stream";
            return Err(Error::file(&self.folder, problem));
        }
        let (live, journal) = new(options)?;
        self.live = live;
        self.journal.options = journal.options;
        self.commit()
    }

    /// Limits the memory of this call; a state does not hold the limit.
    pub fn set_memory(&mut self, memory: MemoryLimit) {
        self.journal.options.read.memory = memory;
        self.live.set_memory(memory);
    }

    /// What to know about how the state was found.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Batches that the front stands on so far.
    pub fn batches(&self) -> u64 {
        self.live.batches()
    }

    /// Rows of standard input that are safe: in a batch, or in the spool.
    pub fn stdin_rows(&self) -> u64 {
        let input = self.journal.inputs.iter().position(|i| i.identity == STDIN);
        let Some(input) = input else {
            return 0;
        };
        self.journal.inputs[input].rows + self.stdin_waiting
    }
}

/// What there is to say.
impl Stream {
    /// Why rows were dropped so far, and how many.
    pub fn dropped(&self) -> &[Dropped] {
        self.live.dropped()
    }

    /// The value of the target that counts as positive, once that is settled.
    pub fn positive(&self) -> Option<&str> {
        let settled = self.live.state.settled.as_ref()?;
        Some(settled.encoding.target.as_ref()?.positive.as_str())
    }

    /// Rows rejected so far.
    pub fn rejected(&self) -> u64 {
        self.live.rejected()
    }

    /// Those of these notices that were not said before, whatever numbers are in them.
    fn unsaid(&mut self, notices: Vec<Notice>) -> Vec<Notice> {
        let words = |notice: &Notice| {
            let words = notice.message.to_string();
            words.replace(|c: char| c.is_ascii_digit(), "")
        };
        let mut new = notices;
        new.retain(|notice| self.said.insert(words(notice)));
        new
    }

    /// What all batches changed, from the first.
    pub fn history(&self) -> Result<Vec<Drift>, Error> {
        let path = self.folder.join("drift.jsonl");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(Error::file(&path, e)),
        };
        let drift = |line: &str| {
            serde_json::from_str(line)
                .map_err(|e| Error::file(&path, format!("it is damaged: {e}")))
        };
        text.lines().map(drift).collect()
    }
}

/// The rows that a generation of a state keeps, encoded as its front was fitted on them.
pub fn kept_rows(folder: &Path, generation: &Path) -> Result<Encoded, Error> {
    let state = State::read(generation)?;
    let kept = state.read_rows(folder, generation)?;
    let (Some(rows), Some(settled)) = (kept.rows(), &state.settled) else {
        return Err(Error::file(folder, "this stream has no front yet"));
    };
    if settled.updated + settled.skipped < state.batches {
        return Err(Error::data(
            "the last batches could not update the front, so that the rows it was found on are no longer \
             those that are kept; nothing can be recomputed before it is updated again",
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

/// Moves damaged generations out of the way and says so.
fn set_aside(
    generations: &Generations,
    damaged: &[Damaged],
    notices: &mut Vec<Notice>,
) -> Result<(), Error> {
    for (damaged, aside) in damaged.iter().zip(generations.set_aside(damaged)?) {
        notices.push(Notice::warning(format!(
            "{} is damaged ({}); it was moved to {}, and the stream goes on from the generation before: give \
             the same inputs again",
            damaged.path.display(),
            damaged.reason,
            aside.display()
        )));
    }
    Ok(())
}
