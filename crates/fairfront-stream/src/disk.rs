//! Writes a stream to the disk: ledgers, rows, and generations, which are written atomically.

use fairfront_core::grouped;
use fairfront_data::{Diagnostic, Position, ReadFrom, Rejected, file_name};
use fairfront_run::Error;
use fairfront_run::store::{Generations, Lock};

use super::{Stream, reject};
use crate::journal::JOURNAL;
use crate::live::Update;
use crate::options::InputOptions;
use crate::source::{Row, STDIN};
use crate::state::State;
use crate::store::{Ledger, segment};

impl Stream {
    /// Creates the folder of a new stream when its first row has arrived.
    pub(super) fn ensure_begun(&mut self) -> Result<(), Error> {
        if self.generations.is_some() {
            return Ok(());
        }
        let lock = Lock::take(&self.folder)?;
        let generations = Generations::open(&self.folder)?;
        if generations.newest()?.is_some() {
            let problem = "meanwhile, another process started a stream here; run the command again";
            return Err(Error::file(&self.folder, problem));
        }
        self.generations = Some((lock, generations));
        self.commit()?;
        self.open_ledgers()?;
        self.open_spool()
    }

    /// Commits the state: the files of the stream in memory, and the journal. Removes files that no
    /// generation needs any more.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        let Some((_, generations)) = &self.generations else {
            return Ok(());
        };
        let mut files = self.live.files()?;
        files.push((JOURNAL, self.journal.to_json()?));
        files.extend(self.live.kept.reservoir());
        let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
        generations.commit(self.generation + 1, &files)?;
        self.generation += 1;
        self.announced = self.journal.inputs.len();
        let now = (self.live.batches(), self.live.kept.oldest_segment());
        let before = std::mem::replace(&mut self.before, now);
        self.remove_old(before)
    }

    /// Removes files that neither the newest generation needs nor the previous one, which has these needs.
    fn remove_old(&self, (batches, segment): (u64, Option<u64>)) -> Result<(), Error> {
        if let Some((_, generations)) = &self.generations {
            generations.prune(self.generation)?;
        }
        if let Some(spool) = &self.spool {
            spool.remove_before(batches + 1)?;
        }
        match segment.or(self.live.kept.oldest_segment()) {
            Some(oldest) => segment::remove_before(&self.folder, oldest),
            None => Ok(()),
        }
    }

    /// Removes the files that a process could not remove because it was killed right after its commit.
    pub(super) fn tidy(&self) -> Result<(), Error> {
        let Some((_, generations)) = &self.generations else {
            return Ok(());
        };
        let before = generations.place(self.generation.saturating_sub(1));
        match State::read(&before) {
            Ok(state) => {
                let oldest = state.kept.segments.first().map(|s| s.batch);
                self.remove_old((state.batches, oldest))
            }
            // The previous generation is missing or corrupted, so its files can stay.
            Err(_) => generations.prune(self.generation),
        }
    }

    pub(super) fn open_ledgers(&mut self) -> Result<(), Error> {
        let open = |name: &str, committed| Ledger::open(&self.folder.join(name), committed);
        let (rejected, mut lost) = open("rejected.csv", &self.journal.rejected_file)?;
        let (drift, also_lost) = open("drift.jsonl", &self.journal.drift_file)?;
        lost.extend(also_lost);
        self.diagnostics
            .extend(lost.into_iter().map(Diagnostic::warning));
        self.ledgers = Some((rejected, drift));
        Ok(())
    }

    /// Writes the changes of an update to the disk: first the files that only grow, then the generation,
    /// atomically.
    pub(super) fn write(
        &mut self,
        update: &Update,
        position: Option<(usize, Position)>,
    ) -> Result<(), Error> {
        let number = self.live.batches();
        if self.live.kept.has_segments() {
            segment::write(&self.folder, number, &update.rows.to_bytes())?;
        }
        self.count_rows(position);
        let inputs = self.journal.inputs.iter();
        let inputs: Vec<String> = inputs.map(|input| input.name.clone()).collect();
        if let Some((rejected, drifts)) = &mut self.ledgers {
            let row = |r: &Rejected| (&self.pending[r.index], r.reason.render(self.wording));
            let rows: Vec<(&Row, String)> = update.rejected.iter().map(row).collect();
            let lines = reject::lines(rejected.is_empty(), number, &inputs, &rows);
            rejected.append(&lines)?;
            let line = serde_json::to_string(&update.drift);
            let line = line.map_err(|e| Error::file(&self.folder, e))?;
            drifts.append(format!("{line}\n").as_bytes())?;
            self.journal.rejected_file = rejected.sync()?;
            self.journal.drift_file = drifts.sync()?;
        }
        if update.fitted.is_some() {
            let (source, read) = self.source(&inputs);
            let diagnostics = update.diagnostics.iter();
            let diagnostics = diagnostics
                .map(|diagnostic| diagnostic.worded(self.wording))
                .collect();
            self.live.set_source(source, read, diagnostics);
        }
        self.spool_later()?;
        self.commit()?;
        self.pending.clear();
        self.later.clear();
        self.spooled = 0;
        self.stdin_waiting = 0;
        self.open_spool()
    }

    /// Counts the rows of the batch as read, and records the positions of the inputs.
    fn count_rows(&mut self, position: Option<(usize, Position)>) {
        for row in &self.pending {
            let input = &mut self.journal.inputs[row.input];
            input.rows += 1;
            if input.identity == STDIN {
                input.chain = row.chain(&input.chain);
            }
        }
        if let Some((input, position)) = position {
            self.journal.inputs[input].position = Some(position);
        }
    }

    /// The description of the source in the run. It has no folders, because a run is shared.
    fn source(&self, inputs: &[String]) -> (String, Option<ReadFrom>) {
        const NAMED: usize = 3;
        let InputOptions { known, read, .. } = &self.journal.options;
        if let Some(known) = known {
            return (known.clone(), None);
        }
        let files: Vec<String> = inputs.iter().map(|input| file_name(input).into()).collect();
        let more = match files.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {} more", grouped(more)),
        };
        let source = files[..files.len().min(NAMED)].join(", ") + &more;
        let options = read.clone();
        (source, Some(ReadFrom { files, options }))
    }
}
