//! A front in memory that batches of rows keep up to date.

use fairfront_core::{Message, counted, say};
use fairfront_data::{
    ColumnTypes, Diagnostic, Dropped, Encoding, HeldRows, MemoryLimit, ReadFrom, Rejected,
    StoredRows, Table, TargetRule, set_aside,
};
use fairfront_model::Error as ModelError;
use fairfront_run::{Error, Fitted, Run, StreamInfo, fit_encoded};
use fairfront_solve::{Observer, StopReason};

use crate::drift::{Composition, Drift, FrontShift};
use crate::front::{Front, seen_by_front};
use crate::keep::Kept;
use crate::options::LiveOptions;
use crate::ready::{self, Ready};
use crate::setting::SKIP_BATCH;
use crate::state::{Settled, State};

#[cfg(test)]
mod tests;

/// A front in memory that every batch of rows updates.
///
/// The first rows that make a front fix the encoding, which learns the categories and groups of later rows.
/// Every batch starts from the previous front. An update that ends with an error changes nothing.
/// [`Live::to_files`] returns the complete state, and [`Stream`](crate::Stream) keeps these files in a
/// folder, so that nothing is lost when the process is killed.
#[derive(Debug)]
pub struct Live {
    pub(crate) state: State,
    pub(crate) kept: Kept,
    pub(crate) front: Option<Front>,
    memory: MemoryLimit,
}

/// The changes of a batch.
#[derive(Debug)]
pub struct Update {
    /// The changes of the population and the front.
    pub drift: Drift,
    /// The new front; `None` if the previous one still applies, for the reason in
    /// [`kept_because`](FrontShift::kept_because).
    pub fitted: Option<Fitted>,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
    /// Rows of the batch that cannot be used, by their position in it.
    pub(crate) rejected: Vec<Rejected>,
    /// Number of rows in use.
    pub(crate) rows: StoredRows,
}

/// The treatment of a front whose solver was stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It counts like any other front.
    Accepted,
    /// The batch is abandoned, and the update ends with the error of a stop.
    Refused,
}

impl Live {
    /// Starts without rows.
    pub fn begin(options: LiveOptions) -> Result<Self, Error> {
        let options = options.settled()?;
        let kept = Kept::new(options.keep, options.spec.seed);
        Ok(Self::put_together(State::new(options), kept, None))
    }

    pub(crate) fn put_together(state: State, kept: Kept, front: Option<Front>) -> Self {
        Self {
            state,
            kept,
            front,
            memory: MemoryLimit::default(),
        }
    }

    /// Limits the memory of fits; the limit is not stored in files.
    pub fn set_memory(&mut self, memory: MemoryLimit) {
        self.memory = memory;
    }

    /// Takes the rows of a table as the next batch.
    ///
    /// Returns `None` as long as there is no front: the rows wait for more, and [`waiting`](Self::waiting)
    /// returns the reason. If the kept rows later become too few or too similar, the previous front still
    /// applies. A front whose solver was stopped counts like any other. A batch is rejected as a whole if a
    /// row cannot be used (a weight below 0, a value that the target never had) or if a solver cannot fit
    /// it.
    pub fn update(
        &mut self,
        table: Table,
        observer: &mut dyn Observer,
    ) -> Result<Option<Update>, Error> {
        if table.n_rows() == 0 {
            return Err(Error::data("the batch has no rows; pass at least one"));
        }
        let Some(settled) = &self.state.settled else {
            return self.first(table, observer);
        };
        let table = settled.types.fit_table(&table)?;
        let before = self.state.rows;
        let number = |row: usize| before + row as u64;
        let ready = ready::next(table, &self.state.options.spec, settled, number)?;
        all_usable(&ready.rejected)?;
        self.take(ready, Stopped::Accepted, observer).map(Some)
    }

    /// Tries to compute a front from all rows so far.
    fn first(
        &mut self,
        table: Table,
        observer: &mut dyn Observer,
    ) -> Result<Option<Update>, Error> {
        let State { options, held, .. } = &self.state;
        let spec = &options.spec;
        let n_rows = table.n_rows();
        let name = table.name.clone();
        let mut held = held.clone();
        let waited = held.n_rows() > 0;
        if waited {
            // This comes first, so that different columns are reported as such.
            held.append(&table)?;
        }
        let batch = set_aside(table, spec)?;
        all_usable(&batch.rejected)?;
        let all = match waited {
            true => held.table(&name),
            false => batch.table,
        };
        let types = ColumnTypes::of_table(&all, spec);
        let ready = ready::first(all.clone(), types, spec, &options.names, |row| row as u64);
        let ready = ready.map(|ready| Ready { n_rows, ..ready });
        match ready.and_then(|ready| self.take(ready, Stopped::Accepted, observer)) {
            Ok(update) => {
                self.state.held = HeldRows::default();
                Ok(Some(update))
            }
            Err(error) => {
                let reason = not_yet(&error).ok_or(error)?;
                if !waited {
                    held.append(&all)?;
                }
                self.state.held = held;
                self.state.waiting = Some(reason);
                self.state.batches += 1;
                self.state.rows += n_rows as u64;
                Ok(None)
            }
        }
    }

    /// Takes a batch whose rows are ready. On an error nothing changes.
    pub(crate) fn take(
        &mut self,
        mut ready: Ready,
        stopped: Stopped,
        observer: &mut dyn Observer,
    ) -> Result<Update, Error> {
        let n_before = self.kept.n_rows();
        let before = self.kept.add(self.state.batches + 1, &ready.rows)?;
        let found = self.fit(&mut ready, stopped, observer);
        let found = found.and_then(|(composition, fitted)| {
            let drift = self.drift(&ready, n_before, &fitted)?;
            Ok((composition, fitted, drift))
        });
        match found {
            Ok((composition, fitted, drift)) => {
                Ok(self.settle(ready, composition, fitted.ok(), drift))
            }
            Err(error) => {
                self.kept.go_back(before)?;
                Err(error)
            }
        }
    }

    /// Rejects all rows of a batch; the front and the kept rows do not change.
    pub(crate) fn skip(&mut self, n_rows: usize, why: &Message) -> Result<Update, Error> {
        let Some(settled) = &self.state.settled else {
            return Err(Error::usage(say![
                SKIP_BATCH,
                ": the stream has no front yet; start a new state with rows that can be fitted"
            ]));
        };
        let reject = |index: usize| Rejected {
            index,
            reason: why.into(),
        };
        let ready = ready::none(settled, (0..n_rows).map(reject).collect());
        let composition = settled.composition.clone();
        let drift = self.drift(&ready, self.kept.n_rows(), &Err(why.to_string()))?;
        Ok(self.settle(ready, composition, None, drift))
    }

    /// Fits the front on the kept rows, and returns their composition. Instead of a front, it may return
    /// the reason why the previous one still applies.
    fn fit(
        &self,
        ready: &mut Ready,
        stopped: Stopped,
        observer: &mut dyn Observer,
    ) -> Result<(Composition, Result<Fitted, String>), Error> {
        let rows = self.kept.rows().unwrap_or(&ready.rows);
        let composition = Composition::of(&rows.datasets(&ready.encoding.schema())?)?;
        let mut encoded = seen_by_front(&ready.encoding, rows)?;
        let growth = ready.growth.diagnostics.iter().cloned();
        encoded.diagnostics.splice(0..0, growth);
        encoded.diagnostics.append(&mut ready.diagnostics);
        encoded.memory = self.memory;
        let State {
            options, batches, ..
        } = &self.state;
        let earlier = self.front.as_ref();
        let earlier = earlier.map(|front| front.earlier(&encoded.encoding, *batches));
        let is_number = is_number(&ready.encoding);
        let request = &options.request_for(is_number);
        let fitted = match fit_encoded(encoded, request, &[], earlier.as_ref(), None, observer) {
            Ok(fitted)
                if fitted.outcome.stop == StopReason::Stopped && stopped == Stopped::Refused =>
            {
                return Err(fairfront_core::Error::Stopped.into());
            }
            // Rows without a class or a group give no front, so the previous one still applies.
            Err(Error::Model(ModelError::Data(why))) if earlier.is_some() => {
                Err(without_advice(&why.to_string()))
            }
            fitted => Ok(fitted?),
        };
        Ok((composition, fitted))
    }

    /// The changes of a batch.
    fn drift(
        &self,
        ready: &Ready,
        kept_before: usize,
        fitted: &Result<Fitted, String>,
    ) -> Result<Drift, Error> {
        let of_batch = Composition::of(&ready.rows.datasets(&ready.encoding.schema())?)?;
        let settled = self.state.settled.as_ref();
        let (labels, groups) = Composition::shifts(settled.map(|s| &s.composition), &of_batch);
        let used = ready.rows.n_rows();
        let named = |of: &String, name: &String| format!("{of}={name}");
        let (categories, new) = (ready.growth.categories.iter(), ready.growth.groups.iter());
        Ok(Drift {
            batch: self.state.batches + 1,
            rows: self.state.rows + ready.n_rows as u64,
            used,
            dropped: ready.n_dropped,
            rejected: ready.rejected.len(),
            kept_before,
            kept: self.kept.n_rows(),
            unseen_share: match used {
                0 => 0.0,
                n => ready.growth.unseen_rows as f64 / n as f64,
            },
            new_categories: categories.map(|l| named(&l.column, &l.category)).collect(),
            new_groups: new.map(|g| named(&g.attribute, &g.group)).collect(),
            labels,
            groups,
            front: match fitted {
                Ok(fitted) => FrontShift::of(settled, fitted)?,
                Err(why) => {
                    let points = self.front.as_ref().map_or(0, Front::len);
                    FrontShift::none(settled, points, why)
                }
            },
        })
    }

    /// Takes over the results of a batch; this cannot fail.
    fn settle(
        &mut self,
        ready: Ready,
        composition: Composition,
        fitted: Option<Fitted>,
        drift: Drift,
    ) -> Update {
        let state = &mut self.state;
        state.options.fix_target(is_number(&ready.encoding));
        state.batches += 1;
        state.rows += ready.n_rows as u64;
        state.rejected += ready.rejected.len() as u64;
        state.add_dropped(&ready.dropped);
        state.kept = self.kept.info.clone();
        state.waiting.clone_from(&drift.front.kept_because);
        let before = state.settled.take();
        let skipped = before.as_ref().map_or(0, |s| s.skipped);
        state.settled = match (before, &fitted) {
            (before, Some(fitted)) => {
                let standing = &fitted.standing;
                // Hypervolumes stay comparable as long as they are of the same measures.
                let same = before.filter(|s| s.judged_by == standing.names);
                let reference = same.map_or_else(|| standing.reference.clone(), |s| s.reference);
                Some(Settled {
                    types: ready.types,
                    targets: ready.targets,
                    encoding: ready.encoding,
                    reference,
                    judged_by: standing.names.clone(),
                    values: standing.front.clone(),
                    updated: state.batches,
                    skipped: 0,
                    composition,
                })
            }
            (before, None) => before.map(|settled| Settled {
                encoding: ready.encoding,
                composition,
                skipped: skipped + u64::from(ready.rows.n_rows() == 0),
                ..settled
            }),
        };
        let diagnostics = match &fitted {
            Some(fitted) => {
                self.front = Some(Front::of(fitted, &state.options.spec));
                fitted.diagnostics.clone()
            }
            None => ready.growth.diagnostics,
        };
        Update {
            drift,
            fitted,
            diagnostics,
            rejected: ready.rejected,
            rows: ready.rows,
        }
    }

    /// Sets the source of the rows in the run, and the diagnostics of its front.
    pub(crate) fn set_source(
        &mut self,
        source: String,
        read: Option<ReadFrom>,
        diagnostics: Vec<Diagnostic>,
    ) {
        if let Some(front) = &mut self.front {
            let info = &mut front.run.info;
            (info.source, info.read, info.diagnostics) = (source, read, diagnostics);
        }
    }
}

/// Information about the stream.
impl Live {
    /// The options it was started with, including the default objectives.
    pub fn options(&self) -> &LiveOptions {
        &self.state.options
    }

    /// The reason why the last batch gave no front; `None` if it did, and before the first batch.
    pub fn waiting(&self) -> Option<&str> {
        self.state.waiting.as_deref()
    }

    /// Number of batches so far.
    pub fn batches(&self) -> u64 {
        self.state.batches
    }

    /// Number of rows in these batches, including dropped and rejected ones.
    pub fn rows(&self) -> u64 {
        self.state.rows
    }

    /// Number of rejected rows.
    pub fn rejected(&self) -> u64 {
        self.state.rejected
    }

    /// Reasons for dropped rows, and their numbers.
    pub fn dropped(&self) -> &[Dropped] {
        &self.state.dropped
    }

    /// Number of rows in memory: those that the front is based on, or those that wait for the first front.
    pub fn kept(&self) -> usize {
        self.kept.n_rows() + self.state.held.n_rows()
    }

    /// The encoding of the front, once there is one.
    pub fn encoding(&self) -> Option<&Encoding> {
        Some(&self.front.as_ref()?.run.encoding)
    }

    /// The newest front as a run, once there is one.
    pub fn run(&self) -> Option<Run> {
        let mut run = self.front.as_ref()?.run.clone();
        let state = &self.state;
        run.info.stream = Some(StreamInfo {
            batches: state.batches,
            updated: state.settled.as_ref().map_or(0, |s| s.updated),
            rows: state.rows,
            used: state.kept.seen,
            rejected: state.rejected,
            dropped: state.dropped.clone(),
            keep: state.options.keep,
            kept: self.kept(),
        });
        Some(run)
    }
}

/// Whether models predict a number.
fn is_number(encoding: &Encoding) -> bool {
    encoding.target.as_ref().is_some_and(TargetRule::is_number)
}

/// The reason why rows do not make a front, if more rows may help.
fn not_yet(error: &Error) -> Option<String> {
    match error {
        Error::Model(ModelError::Data(why)) => Some(without_advice(&why.to_string())),
        Error::Model(ModelError::Table(why)) if why.needs_more_rows() => {
            Some(without_advice(&why.to_string()))
        }
        _ => None,
    }
}

/// The reason without the remedy after it, which applies to whole tables.
pub(crate) fn without_advice(why: &str) -> String {
    why.split(';').next().unwrap_or_default().to_owned()
}

/// Rejects a batch that contains rows that cannot be used.
fn all_usable(rejected: &[Rejected]) -> Result<(), Error> {
    let Some(first) = rejected.first() else {
        return Ok(());
    };
    let (rows, number) = (counted(rejected.len(), "row"), first.index + 1);
    Err(Error::data(say![
        "{rows} of the batch cannot be used; the first problem is in row {number}: ",
        &first.reason
    ]))
}
