//! Reads rows from inputs and divides them into batches.

use std::path::Path;
use std::time::Instant;

use fairfront_core::{counted, grouped, say};
use fairfront_data::{Diagnostic, Position};
use fairfront_model::Error as ModelError;
use fairfront_run::Error;

use super::source::{self, Next, STDIN, Source};
use super::{CommittedBatch, Stream, Watcher};
use crate::setting::{FLUSH, SKIP};

/// Options for reading the inputs of one call.
#[derive(Debug, Clone, Default)]
pub struct Feed {
    /// Wait for more rows at the end of the last file.
    pub follow: bool,
    /// Use a last batch that is not full.
    pub flush: bool,
    /// The maximum number of rejected rows in total; more of them end the stream.
    pub max_rejected: Option<u64>,
    /// Reject all rows of the first batch of this call.
    pub skip_batch: bool,
    /// Standard input starts from its beginning again, and this many of its rows were already used.
    pub skip: Option<u64>,
}

/// The result of one call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fed {
    /// Number of batches.
    pub batches: u64,
    /// Rows that wait until their batch is full.
    pub waiting: usize,
    /// Whether it was stopped before the end of its inputs.
    pub stopped: bool,
}

impl Stream {
    /// Reads the rows of these inputs, batch by batch. After an error, the state must be opened again.
    pub fn feed(
        &mut self,
        inputs: &[String],
        feed: &Feed,
        watcher: &mut dyn Watcher,
    ) -> Result<Fed, Error> {
        if inputs.iter().filter(|name| *name == STDIN).count() > 1 {
            let message = "standard input (-) can be passed only once";
            return Err(Error::usage(message));
        }
        if self.broken {
            let problem = "an earlier call failed; open the state again";
            return Err(Error::file(&self.folder, problem));
        }
        let fed = self.feed_all(inputs, feed, watcher);
        // There may be more in memory than on the disk.
        self.broken = fed.is_err();
        fed
    }

    fn feed_all(
        &mut self,
        inputs: &[String],
        feed: &Feed,
        watcher: &mut dyn Watcher,
    ) -> Result<Fed, Error> {
        let mut fed = Fed::default();
        // Rows of an earlier call that ended during its batch.
        fed.stopped = !self.take_full(feed, watcher, &mut fed, None)?;
        for (at, name) in inputs.iter().enumerate() {
            if fed.stopped {
                break;
            }
            let follow = feed.follow && at + 1 == inputs.len();
            let read = self.read(name, follow, feed, watcher, &mut fed);
            fed.stopped = read.map_err(|error| match name == STDIN {
                true => self.of_stdin(error),
                false => error,
            })?;
        }
        if feed.flush && !fed.stopped && !self.pending.is_empty() {
            fed.stopped = !self.take_batch(feed, watcher, &mut fed, None)?;
        }
        fed.waiting = self.pending.len();
        Ok(fed)
    }

    /// Reads one input to its end, and returns whether it was stopped before.
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
        let position: Option<Position> = self.journal.inputs[input].position.clone();
        let mut source = Source::open(
            name,
            input,
            &self.journal.options.read,
            &self.live.options().spec,
            follow && name != STDIN,
            position.as_ref(),
        )?;
        if source.is_pipe()
            && let Some(skip) = feed.skip
            && self.replay(&mut source, skip, watcher)?
        {
            return Ok(true);
        }
        if feed.flush {
            source.take_open_end();
        }
        self.declare(&source)?;
        let mut stopped = false;
        loop {
            if watcher.is_stopped() {
                stopped = true;
                break;
            }
            let row = match source.next(&mut self.journal.columns, &self.live.options().spec)? {
                Next::Row(row) => row,
                Next::Wait => {
                    self.sync_spool()?;
                    continue;
                }
                Next::End => break,
            };
            self.learn_separator(&source)?;
            self.take_row(row, &source)?;
            if !self.take_full(feed, watcher, fed, Some(&mut source))? {
                stopped = true;
                break;
            }
        }
        if source.left_open_end() {
            watcher.diagnostic(&Diagnostic::warning(say![
                "the last line of standard input has no line end and was ignored, because it may be an \
                 incomplete row";
                "pass ", FLUSH, " to use it"
            ]));
        }
        self.put_aside(&mut source)?;
        Ok(stopped)
    }

    /// Adds the number of stored rows to an error, because a pipe cannot be read again.
    fn of_stdin(&self, error: Error) -> Error {
        match error {
            Error::Model(ModelError::File { path, problem }) => {
                let safe = self.stdin_rows();
                let rows = counted(safe as usize, "row");
                let problem = problem.to_string();
                let problem = match problem.split_once("run the same command again") {
                    Some((before, _)) => format!("{before}continue"),
                    None => problem,
                };
                ModelError::File {
                    path,
                    problem: say![
                        "{problem}; {rows} from standard input are stored; send only the rows after \
                         these, or resend everything with ",
                        SKIP.is(safe)
                    ],
                }
                .into()
            }
            other => other,
        }
    }

    /// Remembers the column types that the format of an input declares. Rows of several calls may wait for
    /// the first batch, which fixes the types, so the declared types must be stored.
    fn declare(&mut self, source: &Source) -> Result<(), Error> {
        let mut declared = self.journal.declared.clone();
        declared.extend(source.types.clone());
        if self.live.state.settled.is_some() || declared == self.journal.declared {
            return Ok(());
        }
        self.journal.declared = declared;
        self.commit()
    }

    /// Remembers that commas may be decimal commas, for the same reason.
    fn learn_separator(&mut self, source: &Source) -> Result<(), Error> {
        let is_known = self.journal.commas_are_free || !source.commas_are_free();
        if is_known || self.live.state.settled.is_some() {
            return Ok(());
        }
        self.journal.commas_are_free = true;
        self.commit()
    }

    /// The input of this name. A file that starts with everything that was read from a known input resumes
    /// after that.
    fn find_input(
        &mut self,
        name: &str,
        identity: &str,
        watcher: &mut dyn Watcher,
    ) -> Result<usize, Error> {
        let is_known = self.journal.inputs.iter().any(|i| i.identity == identity);
        let is_file = Path::new(name).is_file();
        if !is_known
            && is_file
            && let Some(same) =
                source::same_text(name, &self.journal.options.read, &self.journal.inputs)?
        {
            let known = &self.journal.inputs[same].name;
            watcher.diagnostic(&Diagnostic::note(format!(
                "{name} starts with everything that was read from {known}, so it is treated as the same \
                 input and resumes there"
            )));
            let position = self.journal.inputs[same].position.clone();
            let input = self.journal.input(name, identity);
            self.journal.inputs[input].position = position;
            return Ok(input);
        }
        Ok(self.journal.input(name, identity))
    }

    /// Skips the rows of standard input that were already used, and returns whether it was stopped.
    fn replay(
        &mut self,
        source: &mut Source,
        skip: u64,
        watcher: &mut dyn Watcher,
    ) -> Result<bool, Error> {
        let safe = self.stdin_rows();
        if skip > safe {
            let rows = counted(safe as usize, "row");
            return Err(Error::usage(say![
                SKIP.is(skip), ": only {rows} from standard input are stored, and the rows after these \
                                would be lost";
                "pass ", SKIP.is(safe)
            ]));
        }
        let mut chain = String::new();
        let mut passed = 0;
        while passed < safe {
            if watcher.is_stopped() {
                return Ok(true);
            }
            match source.next(&mut self.journal.columns, &self.live.options().spec)? {
                Next::Row(row) => {
                    chain = row.chain(&chain);
                    passed += 1;
                }
                Next::Wait => {}
                Next::End => {
                    let (rows, before) = (counted(passed as usize, "row"), grouped(safe as usize));
                    return Err(Error::data(say![
                        "standard input ended after {rows}, but {before} were read before; ",
                        SKIP,
                        " requires an input that starts from its beginning again"
                    ]));
                }
            }
        }
        if chain != self.stdin_chain(source.input()) {
            let rows = counted(safe as usize, "row");
            return Err(Error::data(say![
                "the first {rows} of standard input differ from those read before; ",
                SKIP,
                " requires an input that starts from its beginning again"
            ]));
        }
        if skip < safe {
            watcher.diagnostic(&Diagnostic::note(format!(
                "rows {} to {} of standard input were already stored and are also skipped",
                grouped(skip as usize + 1),
                grouped(safe as usize)
            )));
        }
        Ok(false)
    }

    /// Makes batches while enough rows wait; `false` if it was stopped.
    fn take_full(
        &mut self,
        feed: &Feed,
        watcher: &mut dyn Watcher,
        fed: &mut Fed,
        mut source: Option<&mut Source>,
    ) -> Result<bool, Error> {
        while self.pending.len() >= self.journal.options.batch {
            if !self.take_batch(feed, watcher, fed, source.as_deref_mut())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes a batch of the first waiting rows and commits it; `false` if it was stopped and the batch was
    /// abandoned.
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
        let skip = feed.skip_batch && fed.batches == 0;
        let Some(update) = self.update(feed.max_rejected, skip, position, watcher)? else {
            return Ok(false);
        };
        let diagnostics = self.unsaid(update.diagnostics);
        fed.batches += 1;
        let from_stdin = self.journal.inputs.iter().any(|i| i.identity == STDIN);
        watcher.committed(&CommittedBatch {
            drift: &update.drift,
            seconds: start.elapsed().as_secs_f64(),
            stdin_rows: from_stdin.then(|| self.stdin_rows()),
            diagnostics: &diagnostics,
        });
        Ok(true)
    }
}
