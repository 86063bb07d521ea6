//! A front that stays current: rows arrive in batches, each of which updates it.
//!
//! The state of a stream is a folder that is a run at any moment. What a batch changes is committed at
//! once or not at all, so that a stream that was killed goes on as if nothing had happened.

mod batch;
mod current;
mod disk;
mod drift;
mod feed;
mod keep;
mod live;
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
use fairfront_data::{Dropped, Encoded, Encoding, MemoryLimit, Notice, Rejected};
use fairfront_run::Error;
use fairfront_run::store::{Damaged, Generations, Lock, is_state};
use fairfront_solve::Observer;

use self::current::Current;
use self::keep::Kept;
use self::source::{Row, STDIN};
use self::state::State;
use self::store::{Ledger, Spool};

pub use self::drift::{Drift, FrontShift, GroupShift, Shift};
pub use self::feed::{Fed, Feed};
pub use self::live::{Live, LiveOptions};
pub use self::state::StreamOptions;

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

/// The state of a stream, held by this process alone.
pub struct Stream {
    folder: PathBuf,
    generations: Option<(Lock, Generations)>,
    /// Number of the newest generation; 0 before the first.
    generation: u64,
    /// Batches and first segment needed by the generation before.
    before: (u64, Option<u64>),
    state: State,
    kept: Kept,
    current: Option<Current>,
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
    /// What was rejected of the batch at hand, and its rows as they go to the disk.
    last_rejected: Vec<Rejected>,
    last_rows: Option<Vec<u8>>,
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
        options.check()?;
        let kept = Kept::new(options.keep, options.spec.seed);
        Ok(Self::of(folder, State::new(options), kept))
    }

    /// A stream that holds no files yet.
    fn of(folder: &Path, state: State, kept: Kept) -> Self {
        Self {
            folder: folder.to_path_buf(),
            generations: None,
            generation: 0,
            before: (state.batches, kept.oldest_segment()),
            kept,
            state,
            current: None,
            ledgers: None,
            spool: None,
            pending: Vec::new(),
            later: Vec::new(),
            spooled: 0,
            stdin_waiting: 0,
            announced: 0,
            last_rejected: Vec::new(),
            last_rows: None,
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
        let mut stream = Self::of(folder, state, kept);
        stream.generation = found.number;
        if let Some(settled) = &stream.state.settled {
            let current = Current::read(&found.path)?;
            let sound = settled.encoding.check().is_ok();
            if !(sound && settled.encoding.extends(&current.encoding)) {
                let problem = "state.json and encoding.json have different features; restore both files \
                               from one copy of the state, or start another state";
                return Err(Error::file(&found.path, problem));
            }
            stream.current = Some(current);
        }
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
    pub fn options(&self) -> &StreamOptions {
        &self.state.options
    }

    /// Takes other options, which is possible as long as there is no front.
    pub fn set_options(&mut self, options: StreamOptions) -> Result<(), Error> {
        if self.state.settled.is_some() {
            let problem = "the first batch has settled the options of this stream";
            return Err(Error::file(&self.folder, problem));
        }
        options.check()?;
        self.kept = Kept::new(options.keep, options.spec.seed);
        self.state.options = options;
        if self.generations.is_some() {
            self.commit(None)?;
        }
        Ok(())
    }

    /// Limits the memory of this call; a state does not hold the limit.
    pub fn set_memory(&mut self, memory: MemoryLimit) {
        self.state.options.read.memory = memory;
    }

    /// What to know about how the state was found.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Batches that the front stands on so far.
    pub fn batches(&self) -> u64 {
        self.state.batches
    }

    /// Rows of standard input that are safe: in a batch, or in the spool.
    pub fn stdin_rows(&self) -> u64 {
        let input = self.state.inputs.iter().position(|i| i.identity == STDIN);
        let Some(input) = input else {
            return 0;
        };
        self.state.inputs[input].rows + self.stdin_waiting
    }
}

/// What there is to say.
impl Stream {
    /// Why rows were dropped so far, and how many.
    pub fn dropped(&self) -> &[Dropped] {
        &self.state.dropped
    }

    /// The value of the target that counts as positive, once that is settled.
    pub fn positive(&self) -> Option<&str> {
        let settled = self.state.settled.as_ref()?;
        Some(settled.encoding.target.as_ref()?.positive.as_str())
    }

    /// Rows rejected so far.
    pub fn rejected(&self) -> u64 {
        self.state.rejected
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
        return Err(Error::Data(
            "the last batches could not update the front, so that the rows it was found on are no longer \
             those that are kept; nothing can be recomputed before it is updated again"
                .into(),
        ));
    }
    current::seen_by_front(&settled.encoding, rows)
}

/// The encoding of a generation's front.
fn read_encoding(generation: &Path) -> Result<Encoding, Error> {
    let path = generation.join("encoding.json");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
    Encoding::from_json(&text).map_err(|e| Error::file(&path, e))
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
