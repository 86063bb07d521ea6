//! A front that stays current: rows arrive in batches, each of which updates it.
//!
//! The state of a stream is a folder that is a run at any moment. What a batch changes is committed at
//! once or not at all, so that a stream that was killed goes on as if nothing had happened.

mod batch;
mod drift;
mod keep;
mod reject;
mod source;
mod state;
mod waiting;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fairfront_core::{counted, grouped};
use fairfront_data::{Dropped, Encoded, Encoding, Notice, Position, Rejected};
use fairfront_solve::Observer;

use self::batch::Current;
use self::keep::Kept;
use self::source::{Next, Row, STDIN, Source};
use self::state::State;
use crate::Error;
use crate::store::{Damaged, Generations, Ledger, Lock, Spool, is_state, segment, unwritten};

pub use self::drift::{Drift, FrontShift, GroupShift, Shift};
pub use self::keep::Keep;
pub use self::state::{StreamInfo, StreamOptions};

/// How a call reads its inputs.
#[derive(Debug, Clone, Default)]
pub struct Feed {
    /// Wait for more rows at the end of the last file.
    pub follow: bool,
    /// Use a last batch that is not full.
    pub flush: bool,
    /// Rows that may be rejected in all; more end the stream.
    pub max_rejected: Option<u64>,
    /// Standard input starts at its beginning again, and so many of its rows were taken.
    pub skip: Option<u64>,
}

/// What a call did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fed {
    /// Batches.
    pub batches: u64,
    /// Rows that wait for their batch to be full.
    pub waiting: usize,
    /// Whether it was asked to stop before the end of its inputs.
    pub stopped: bool,
}

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
    /// Messages of earlier batches: saying them once is enough.
    said: BTreeSet<String>,
}

impl Stream {
    /// A new stream; nothing is written before its first row arrives.
    pub fn begin(folder: &Path, options: StreamOptions) -> Result<Self, Error> {
        options.check()?;
        Ok(Self {
            folder: folder.to_path_buf(),
            generations: None,
            generation: 0,
            before: (0, None),
            kept: Kept::new(options.keep, options.spec.seed),
            state: State::new(options),
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
            said: BTreeSet::new(),
        })
    }

    /// The stream whose state is in a folder; `None` where there is nothing, an error where there is
    /// something else. While it is held, no other process can open it.
    pub fn open(folder: &Path) -> Result<Option<Self>, Error> {
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
                Err(error) if generations.place(found.number.saturating_sub(1)).exists() => {
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
        let mut stream = Self {
            folder: folder.to_path_buf(),
            generation: found.number,
            before: (state.batches, kept.oldest_segment()),
            current: match state.settled {
                Some(_) => Some(Current::read(&found.path)?),
                None => None,
            },
            generations: Some((lock, generations)),
            state,
            kept,
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
            notices,
            said: BTreeSet::new(),
        };
        stream.open_ledgers()?;
        stream.open_spool()?;
        Ok(Some(stream))
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

    /// Takes the rows of these inputs, batch by batch.
    pub fn feed(
        &mut self,
        inputs: &[String],
        feed: &Feed,
        watcher: &mut dyn Watcher,
    ) -> Result<Fed, Error> {
        if inputs.iter().filter(|name| *name == STDIN).count() > 1 {
            let message = "standard input (-) can be named only once";
            return Err(Error::Usage(message.into()));
        }
        if self.broken {
            let problem = "the last batch could not be written; open the state again";
            return Err(Error::file(&self.folder, problem));
        }
        let mut fed = Fed::default();
        // Those of an earlier call that ended while it made its batch.
        fed.stopped = !self.take_full(feed, watcher, &mut fed, None)?;
        for (at, name) in inputs.iter().enumerate() {
            if fed.stopped {
                break;
            }
            let follow = feed.follow && at + 1 == inputs.len();
            fed.stopped = self.read(name, follow, feed, watcher, &mut fed)?;
        }
        if feed.flush && !fed.stopped && !self.pending.is_empty() {
            fed.stopped = !self.take_batch(feed, watcher, &mut fed, None)?;
        }
        fed.waiting = self.pending.len();
        Ok(fed)
    }

    /// Reads one input to its end; whether it was stopped before.
    fn read(
        &mut self,
        name: &str,
        follow: bool,
        feed: &Feed,
        watcher: &mut dyn Watcher,
        fed: &mut Fed,
    ) -> Result<bool, Error> {
        let identity = source::identity(name)?;
        let input = self.find_input(name, &identity, watcher)?;
        let position: Option<Position> = self.state.inputs[input].position.clone();
        let mut source = Source::open(
            name,
            input,
            &self.state.options,
            follow && name != STDIN,
            position.as_ref(),
        )?;
        if source.is_pipe()
            && let Some(skip) = feed.skip
            && self.replay(&mut source, skip, watcher)?
        {
            return Ok(true);
        }
        self.declare(&source)?;
        let mut stopped = false;
        loop {
            if watcher.is_stopped() {
                stopped = true;
                break;
            }
            let row = match source.next(&mut self.state.columns, &self.state.options.spec)? {
                Next::Row(row) => row,
                Next::Wait => {
                    self.sync_spool()?;
                    continue;
                }
                Next::End => break,
            };
            self.take_row(row, &source)?;
            if !self.take_full(feed, watcher, fed, Some(&mut source))? {
                stopped = true;
                break;
            }
        }
        self.put_aside(&mut source)?;
        Ok(stopped)
    }

    /// Remembers what the format of an input says of its columns. Until the first batch has settled the
    /// types, rows of several calls may wait for it: what they were said to be must not be forgotten.
    fn declare(&mut self, source: &Source) -> Result<(), Error> {
        let mut declared = self.state.declared.clone();
        declared.extend(source.types.clone());
        if self.state.settled.is_some() || declared == self.state.declared {
            return Ok(());
        }
        self.state.declared = declared;
        match self.generations {
            Some(_) => self.commit(None),
            None => Ok(()),
        }
    }

    /// The input of this name; one that begins with all that was read of another is that other one.
    fn find_input(
        &mut self,
        name: &str,
        identity: &str,
        watcher: &mut dyn Watcher,
    ) -> Result<usize, Error> {
        let is_known = self.state.inputs.iter().any(|i| i.identity == identity);
        let is_file = Path::new(name).is_file();
        if !is_known
            && is_file
            && let Some(same) = source::same_text(name, &self.state.options, &self.state.inputs)?
        {
            let known = &self.state.inputs[same].name;
            watcher.notice(&Notice::info(format!(
                "{name} begins with all that was read of {known} and is taken for the same input: it goes \
                 on where that was left"
            )));
            return Ok(same);
        }
        Ok(self.state.input(name, identity))
    }

    /// Passes over the rows of standard input that were taken already; whether it was stopped.
    fn replay(
        &mut self,
        source: &mut Source,
        skip: u64,
        watcher: &mut dyn Watcher,
    ) -> Result<bool, Error> {
        let safe = self.stdin_rows();
        if skip > safe {
            return Err(Error::Usage(format!(
                "--skip {skip}: {} of standard input are safe, and those behind them would be lost; say \
                 --skip {safe}",
                counted(safe as usize, "row")
            )));
        }
        let mut chain = String::new();
        let mut passed = 0;
        while passed < safe {
            if watcher.is_stopped() {
                return Ok(true);
            }
            match source.next(&mut self.state.columns, &self.state.options.spec)? {
                Next::Row(row) => {
                    chain = row.chain(&chain);
                    passed += 1;
                }
                Next::Wait => {}
                Next::End => {
                    return Err(Error::Data(format!(
                        "standard input ended after {}, but {} were taken before; --skip is for an input \
                         that starts at its beginning again",
                        counted(passed as usize, "row"),
                        grouped(safe as usize)
                    )));
                }
            }
        }
        if chain != self.stdin_chain(source.input()) {
            return Err(Error::Data(format!(
                "the first {} of standard input are not those that were taken before; --skip is for an \
                 input that starts at its beginning again",
                counted(safe as usize, "row")
            )));
        }
        if skip < safe {
            watcher.notice(&Notice::info(format!(
                "rows {} to {} of standard input were safe already and are skipped too",
                grouped(skip as usize + 1),
                grouped(safe as usize)
            )));
        }
        Ok(false)
    }

    /// Makes batches as long as enough rows wait; `false` where it was stopped.
    fn take_full(
        &mut self,
        feed: &Feed,
        watcher: &mut dyn Watcher,
        fed: &mut Fed,
        mut source: Option<&mut Source>,
    ) -> Result<bool, Error> {
        while self.pending.len() >= self.state.options.batch {
            if !self.take_batch(feed, watcher, fed, source.as_deref_mut())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes a batch of the first rows that wait and commits it; `false` where it was stopped and left
    /// out.
    fn take_batch(
        &mut self,
        feed: &Feed,
        watcher: &mut dyn Watcher,
        fed: &mut Fed,
        source: Option<&mut Source>,
    ) -> Result<bool, Error> {
        let start = Instant::now();
        self.sync_spool()?;
        let position = source.and_then(|s| Some((s.input(), s.position()?)));
        let Some(done) = self.update(feed.max_rejected, position, watcher)? else {
            return Ok(false);
        };
        fed.batches += 1;
        let from_stdin = self.state.inputs.iter().any(|i| i.identity == STDIN);
        watcher.committed(&CommittedBatch {
            drift: &done.drift,
            seconds: start.elapsed().as_secs_f64(),
            stdin_rows: from_stdin.then(|| self.stdin_rows()),
            notices: &done.notices,
        });
        Ok(true)
    }
}

/// Files.
impl Stream {
    /// Makes the folder of a new stream when its first row is there.
    fn ensure_begun(&mut self) -> Result<(), Error> {
        if self.generations.is_some() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder).map_err(|e| unwritten(&self.folder, &e))?;
        let lock = Lock::take(&self.folder)?;
        let generations = Generations::open(&self.folder)?;
        if generations.newest()?.is_some() {
            let problem =
                "another process has begun a stream here meanwhile; run the command again";
            return Err(Error::file(&self.folder, problem));
        }
        self.generations = Some((lock, generations));
        self.commit(None)?;
        self.open_ledgers()?;
        self.open_spool()
    }

    /// Commits the state, with the files of a run where there is one; what no generation needs any more
    /// is removed.
    fn commit(&mut self, run: Option<&[(&'static str, Vec<u8>)]>) -> Result<(), Error> {
        let state = self.state.to_json()?;
        let reservoir = self.kept.reservoir();
        let run = run.unwrap_or_default().iter();
        let mut files: Vec<(&str, &[u8])> = run.map(|(name, b)| (*name, b.as_slice())).collect();
        files.push((state::STATE, &state));
        if let Some(bytes) = &reservoir {
            files.push((keep::RESERVOIR, bytes));
        }
        let Some((_, generations)) = &self.generations else {
            return Ok(());
        };
        generations.commit(self.generation + 1, &files)?;
        self.generation += 1;
        self.announced = self.state.inputs.len();
        let (batches, segment) = self.before;
        self.before = (self.state.batches, self.kept.oldest_segment());
        generations.prune(self.generation)?;
        if let Some(spool) = &self.spool {
            spool.remove_before(batches + 1)?;
        }
        if let Some(oldest) = segment.or(self.before.1) {
            segment::remove_before(&self.folder, oldest)?;
        }
        Ok(())
    }

    /// Goes back to the rows that were kept before the batch at hand.
    fn restore_rows(&mut self) -> Result<(), Error> {
        let Some((_, generations)) = &self.generations else {
            return Ok(());
        };
        let path = generations.place(self.generation);
        self.kept = self.state.read_rows(&self.folder, &path)?;
        Ok(())
    }

    fn open_ledgers(&mut self) -> Result<(), Error> {
        let open = |name: &str, committed| Ledger::open(&self.folder.join(name), committed);
        let (rejected, mut lost) = open("rejected.csv", &self.state.rejected_file)?;
        let (drift, also_lost) = open("drift.jsonl", &self.state.drift_file)?;
        lost.extend(also_lost);
        self.notices.extend(lost.into_iter().map(Notice::warning));
        self.ledgers = Some((rejected, drift));
        Ok(())
    }

    /// Why rows were dropped so far, and how many.
    pub fn dropped(&self) -> &[Dropped] {
        &self.state.dropped
    }

    /// Rows rejected so far.
    pub fn rejected(&self) -> u64 {
        self.state.rejected
    }

    /// Those of these notices that were not said before, whatever numbers are in them.
    fn unsaid(&mut self, notices: Vec<Notice>) -> Vec<Notice> {
        let words = |notice: &Notice| {
            let kept = notice.message.chars().filter(|c| !c.is_ascii_digit());
            kept.collect::<String>()
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
pub(crate) fn kept_rows(folder: &Path, generation: &Path) -> Result<Encoded, Error> {
    let state = State::read(generation)?;
    let encoding = read_encoding(generation)?;
    let kept = state.read_rows(folder, generation)?;
    let (Some(rows), Some(settled)) = (kept.rows(), &state.settled) else {
        return Err(Error::file(folder, "this stream has no front yet"));
    };
    if settled.encoding != encoding {
        return Err(Error::Data(
            "the last batches could not update the front, so that the rows it was found on are no longer \
             those that are kept; nothing can be recomputed before it is updated again"
                .into(),
        ));
    }
    Ok(Encoded {
        parts: rows.datasets(&encoding.schema())?,
        encoding,
        notices: Vec::new(),
    })
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
