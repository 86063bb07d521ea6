//! What a stream puts on the disk: ledgers, rows, and generations that are there whole or not at all.

use fairfront_core::grouped;
use fairfront_data::{Notice, ReadFrom, file_name};
use fairfront_run::store::{Generations, Lock};
use fairfront_run::{
    Error, Fitted, Run, StreamInfo, TALLIES, files_of_run, info_bytes, run_in, run_info_of,
};

use super::current::{STARTS, starts_bytes};
use super::drift::Drift;
use super::source::Row;
use super::state::{State, StreamOptions};
use super::{Stream, keep, reject, state};
use crate::store::{Ledger, segment};

impl Stream {
    /// Makes the folder of a new stream when its first row is there.
    pub(super) fn ensure_begun(&mut self) -> Result<(), Error> {
        if self.generations.is_some() {
            return Ok(());
        }
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
    pub(super) fn commit(&mut self, run: Option<&[(&'static str, Vec<u8>)]>) -> Result<(), Error> {
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
        let now = (self.state.batches, self.kept.oldest_segment());
        let before = std::mem::replace(&mut self.before, now);
        self.remove_old(before)
    }

    /// Removes what neither the newest generation needs nor the one before, of which this is known.
    fn remove_old(&self, (batches, segment): (u64, Option<u64>)) -> Result<(), Error> {
        if let Some((_, generations)) = &self.generations {
            generations.prune(self.generation)?;
        }
        if let Some(spool) = &self.spool {
            spool.remove_before(batches + 1)?;
        }
        match segment.or(self.kept.oldest_segment()) {
            Some(oldest) => segment::remove_before(&self.folder, oldest),
            None => Ok(()),
        }
    }

    /// Removes what a process that was killed right after its commit had no time to remove.
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
            // It is gone or damaged: what it would need does no harm.
            Err(_) => generations.prune(self.generation),
        }
    }

    /// Goes back to the rows that were kept before the batch at hand.
    pub(super) fn restore_rows(&mut self) -> Result<(), Error> {
        let Some((_, generations)) = &self.generations else {
            return Ok(());
        };
        let path = generations.place(self.generation);
        self.kept = self.state.read_rows(&self.folder, &path)?;
        Ok(())
    }

    pub(super) fn open_ledgers(&mut self) -> Result<(), Error> {
        let open = |name: &str, committed| Ledger::open(&self.folder.join(name), committed);
        let (rejected, mut lost) = open("rejected.csv", &self.state.rejected_file)?;
        let (drift, also_lost) = open("drift.jsonl", &self.state.drift_file)?;
        lost.extend(also_lost);
        self.notices.extend(lost.into_iter().map(Notice::warning));
        self.ledgers = Some((rejected, drift));
        Ok(())
    }

    /// Puts the state on the disk: what is only added to first, then the generation, all at once.
    pub(super) fn write(&mut self, drift: &Drift, fitted: Option<&Fitted>) -> Result<(), Error> {
        let number = self.state.batches;
        if let Some(bytes) = self.last_rows.take() {
            segment::write(&self.folder, number, &bytes)?;
        }
        let inputs: Vec<String> = self.state.inputs.iter().map(|i| i.name.clone()).collect();
        let with_rows = self.last_rejected.iter();
        let with_rows = with_rows.map(|r| (&self.pending[r.index], r.reason.render(self.wording)));
        let with_rows: Vec<(&Row, String)> = with_rows.collect();
        if let Some((rejected, drifts)) = &mut self.ledgers {
            let lines = reject::lines(rejected.is_empty(), number, &inputs, &with_rows);
            rejected.append(&lines)?;
            let line = serde_json::to_string(drift).map_err(|e| Error::file(&self.folder, e))?;
            drifts.append(format!("{line}\n").as_bytes())?;
            self.state.rejected_file = rejected.sync()?;
            self.state.drift_file = drifts.sync()?;
        }
        let run = match fitted {
            Some(fitted) => self.run_of(fitted, drift.kept, &inputs)?,
            None => self.run_of_before(drift.kept)?,
        };
        self.spool_later()?;
        self.commit(Some(&run))?;
        self.last_rejected.clear();
        self.pending.clear();
        self.later.clear();
        self.spooled = 0;
        self.stdin_waiting = 0;
        self.open_spool()
    }

    /// The files of the run that a front makes.
    fn run_of(
        &self,
        fitted: &Fitted,
        kept: usize,
        inputs: &[String],
    ) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        const NAMED: usize = 3;
        let StreamOptions {
            known, spec, read, ..
        } = &self.state.options;
        let (source, read) = match known {
            Some(known) => (known.clone(), None),
            None => {
                // The state knows the paths; its run is handed on.
                let inputs: Vec<String> =
                    inputs.iter().map(|input| file_name(input).into()).collect();
                let more = match inputs.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!(" and {} more", grouped(more)),
                };
                let source = inputs[..inputs.len().min(NAMED)].join(", ") + &more;
                let options = read.clone();
                let files = inputs;
                (source, Some(ReadFrom { files, options }))
            }
        };
        let mut info = run_info_of(&source, read, spec, fitted);
        info.stream = Some(self.info(kept));
        for notice in &mut info.notices {
            *notice = notice.worded(self.wording);
        }
        let mut files = files_of_run(&self.folder, &mut Run::new(info, fitted))?;
        if let Some(starts) = &fitted.starts {
            files.push((STARTS, starts_bytes(starts)?));
        }
        Ok(files)
    }

    fn info(&self, kept: usize) -> StreamInfo {
        StreamInfo {
            batches: self.state.batches,
            updated: self.state.settled.as_ref().map_or(0, |s| s.updated),
            rows: self.state.rows,
            used: self.state.kept.seen,
            rejected: self.state.rejected,
            dropped: self.state.dropped.clone(),
            keep: self.state.options.keep,
            kept,
        }
    }

    /// The files of the run in the newest generation; only how far the stream has come is new.
    fn run_of_before(&self, kept: usize) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        let Some((_, generations)) = &self.generations else {
            return Ok(Vec::new());
        };
        let folder = generations.place(self.generation);
        let read = |name: &'static str| {
            let path = folder.join(name);
            let bytes = std::fs::read(&path).map_err(|e| Error::file(&path, e))?;
            Ok((name, bytes))
        };
        let names = ["front.parquet", "encoding.json", TALLIES, STARTS].into_iter();
        let there = names.filter(|name| folder.join(name).exists());
        let mut files: Vec<_> = there.map(read).collect::<Result<_, Error>>()?;
        let (mut info, _) = run_in(&folder)?;
        info.stream = Some(self.info(kept));
        files.push(("run.json", info_bytes(&folder, &info)?));
        Ok(files)
    }
}
