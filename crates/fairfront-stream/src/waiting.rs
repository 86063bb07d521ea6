//! Rows that wait until their batch is full, and the log that stores them.

use std::collections::BTreeMap;

use fairfront_data::Diagnostic;
use fairfront_run::Error;

use super::Stream;
use super::journal::Input;
use super::source::{Row, STDIN, Source};
use crate::store::{Entry, Spool};

impl Stream {
    /// The checksum of all stored rows of standard input.
    pub(super) fn stdin_chain(&self, input: usize) -> String {
        let before = self.journal.inputs[input].chain.clone();
        let spooled = self.pending[..self.spooled].iter();
        let own = spooled.filter(|row| row.input == input);
        own.fold(before, |chain, row| row.chain(&chain))
    }

    /// Adds a row to the waiting ones. Rows that cannot be read again are also written to the spool.
    pub(super) fn take_row(&mut self, mut row: Row, source: &Source) -> Result<(), Error> {
        self.ensure_begun()?;
        if source.is_pipe() {
            row.number = self.journal.inputs[row.input].rows + self.stdin_waiting + 1;
            let mut entries = vec![row.entry(self.wording)];
            if self.stdin_waiting == 0 {
                // A log declares the inputs of its rows itself, because an older generation may not know
                // them.
                entries.splice(0..0, self.journal.inputs[row.input].entries(row.input));
            }
            self.spool(entries)?;
            self.spooled += 1;
            self.stdin_waiting += 1;
        }
        self.pending.push(row);
        Ok(())
    }

    /// Flushes the rows from standard input to the disk.
    pub(super) fn sync_spool(&mut self) -> Result<(), Error> {
        self.spool.as_mut().map_or(Ok(()), Spool::sync)
    }

    /// At the end of an input, stores the waiting rows and the position of the input.
    pub(super) fn put_aside(&mut self, source: &mut Source) -> Result<(), Error> {
        let input = source.input();
        if let Some(position) = source.position()
            && self.generations.is_some()
            // An input without rows needs no entry.
            && position.bytes > 0
            && self.journal.inputs[input].position.as_ref() != Some(&position)
        {
            let rows = self.pending[self.spooled..].iter();
            let mut entries: Vec<Entry> = rows.map(|row| row.entry(self.wording)).collect();
            let as_json = serde_json::to_value(&position);
            entries.push(Entry::Position {
                input,
                position: as_json.map_err(|e| Error::file(&self.folder, e))?,
            });
            self.spool(entries)?;
            self.spooled = self.pending.len();
            self.journal.inputs[input].position = Some(position);
        }
        self.sync_spool()
    }

    /// Writes to the spool; inputs are declared before their rows.
    pub(super) fn spool(&mut self, entries: Vec<Entry>) -> Result<(), Error> {
        let Some(spool) = &mut self.spool else {
            return Ok(());
        };
        let new = self.journal.inputs.iter().enumerate().skip(self.announced);
        let mut all: Vec<Entry> = new.flat_map(|(at, input)| input.entries(at)).collect();
        all.extend(entries);
        spool.append(&all)?;
        self.announced = self.journal.inputs.len();
        Ok(())
    }

    /// Opens the log of the next batch, and restores the waiting rows in it.
    pub(super) fn open_spool(&mut self) -> Result<(), Error> {
        let (mut spool, entries, cut) = Spool::open(&self.folder, self.live.batches() + 1)?;
        self.diagnostics.extend(cut.map(Diagnostic::warning));
        let mut kept = self.take_up(&entries);
        let later = self.take_up_later(&kept)?;
        if kept.len() < entries.len() || !later.is_empty() {
            kept.extend(later);
            spool.replace(&kept)?;
        }
        Spool::remove_after(&self.folder, self.live.batches() + 1)?;
        self.announced = self.journal.inputs.len();
        self.pending = kept.into_iter().filter_map(Row::of).collect();
        self.spooled = self.pending.len();
        self.stdin_waiting = self
            .pending
            .iter()
            .filter(|row| self.is_stdin(row.input))
            .count() as u64;
        self.spool = Some(spool);
        Ok(())
    }

    fn is_stdin(&self, input: usize) -> bool {
        let known = self.journal.inputs.get(input);
        known.is_some_and(|i| i.identity == STDIN)
    }

    /// The valid entries of a log. Rows of a file count only if a later entry has the position of the file;
    /// otherwise they are read again.
    fn take_up(&mut self, entries: &[Entry]) -> Vec<Entry> {
        let mut last_told: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            match entry {
                Entry::Input { input, .. } if *input == self.journal.inputs.len() => {
                    self.journal.inputs.extend(Input::of(entry));
                }
                Entry::Position { input, position } => {
                    if let Some(known) = self.journal.inputs.get_mut(*input) {
                        last_told.insert(*input, at);
                        known.position = serde_json::from_value(position.clone()).ok();
                    }
                }
                _ => {}
            }
        }
        let counts = |(at, entry): &(usize, &Entry)| {
            let Some(input) = entry.input_of_row() else {
                return true;
            };
            self.is_stdin(input) || last_told.get(&input).is_some_and(|told| told > at)
        };
        let kept = entries.iter().enumerate().filter(counts);
        kept.map(|(_, entry)| entry.clone()).collect()
    }

    /// Rows of standard input in the logs of batches after the next one, which exist if a generation was
    /// lost or its commit was interrupted. Files are read again. Rows that are already waiting are not
    /// added twice.
    fn take_up_later(&mut self, waiting: &[Entry]) -> Result<Vec<Entry>, Error> {
        let mut found = Vec::new();
        let known = self.journal.inputs.iter().position(|i| i.identity == STDIN);
        let mut stdin = known;
        let waits = |entry: &&Entry| entry.input_of_row().is_some_and(|i| Some(i) == known);
        let mut last = known.map_or(0, |i| self.journal.inputs[i].rows);
        last += waiting.iter().filter(waits).count() as u64;
        for batch in Spool::batches_after(&self.folder, self.live.batches() + 1)? {
            let (_, entries, cut) = Spool::open(&self.folder, batch)?;
            self.diagnostics.extend(cut.map(Diagnostic::warning));
            let mut number = known;
            for mut entry in entries {
                match &mut entry {
                    Entry::Input {
                        input, identity, ..
                    } if identity == STDIN => {
                        number = Some(*input);
                        if stdin.is_none() {
                            *input = self.journal.inputs.len();
                            stdin = Some(*input);
                            self.journal.inputs.extend(Input::of(&entry));
                            found.push(entry);
                        }
                    }
                    Entry::Row { input, row, .. } | Entry::Bad { input, row, .. }
                        if Some(*input) == number && *row > last =>
                    {
                        *input = stdin.unwrap_or(*input);
                        last = *row;
                        found.push(entry);
                    }
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    /// Writes the rows after the current batch to the log of the next one.
    pub(super) fn spool_later(&mut self) -> Result<(), Error> {
        if self.later.is_empty() {
            return Ok(());
        }
        let mut entries: Vec<Entry> = self
            .later
            .iter()
            .map(|row| row.entry(self.wording))
            .collect();
        for (input, known) in self.journal.inputs.iter().enumerate() {
            if let Some(position) = &known.position
                && self.later.iter().any(|row| row.input == input)
            {
                let position = serde_json::to_value(position);
                let position = position.map_err(|e| Error::file(&self.folder, e))?;
                entries.push(Entry::Position { input, position });
            }
        }
        let (mut next, _, _) = Spool::open(&self.folder, self.live.batches() + 1)?;
        next.replace(&entries)
    }
}
