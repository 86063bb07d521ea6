//! A front in memory that batches of rows bring up to date.

use fairfront_core::{Message, counted, say};
use fairfront_data::{
    ColumnTypes, Dropped, Encoding, HeldRows, MemoryLimit, Notice, ReadFrom, Rejected, StoredRows,
    Table, set_aside,
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

/// A front in memory that is brought up to date by every batch of rows.
///
/// The first rows that make a front settle the encoding, which learns the categories and groups of later
/// ones; every batch starts from the front before it. An update that ends with an error changes nothing.
/// [`Live::to_files`] returns all of it; [`Stream`](crate::Stream) keeps these files in a folder, so that
/// a kill loses nothing.
#[derive(Debug)]
pub struct Live {
    pub(crate) state: State,
    pub(crate) kept: Kept,
    pub(crate) front: Option<Front>,
    memory: MemoryLimit,
}

/// What a batch changed.
#[derive(Debug)]
pub struct Update {
    /// How the population and the front changed.
    pub drift: Drift,
    /// The new front; `None` if the previous one still stands, for the reason in
    /// [`kept_because`](FrontShift::kept_because).
    pub fitted: Option<Fitted>,
    /// What to be wary of.
    pub notices: Vec<Notice>,
    /// Rows of the batch that cannot be used, by their place in it.
    pub(crate) rejected: Vec<Rejected>,
    /// The rows in use.
    pub(crate) rows: StoredRows,
}

/// What becomes of a front whose solver was stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It counts like any other.
    Accepted,
    /// The batch is left out: the update ends with the error of a stop.
    Refused,
}

impl Live {
    /// A front that waits for its first rows.
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

    /// Limits the memory of fits; files do not hold the limit.
    pub fn set_memory(&mut self, memory: MemoryLimit) {
        self.memory = memory;
    }

    /// Takes the rows of a table as the next batch.
    ///
    /// `None` as long as there is no front: the rows wait for more, and [`waiting`](Self::waiting) says
    /// why. If the rows that are kept have become too few or too similar later, the previous front still
    /// stands. A front whose solver was stopped counts like any other. A batch with a row that cannot be
    /// used (a weight below 0, a value that the target never had) and a batch that a solver cannot fit are
    /// refused as a whole.
    pub fn update(
        &mut self,
        table: Table,
        observer: &mut dyn Observer,
    ) -> Result<Option<Update>, Error> {
        if table.n_rows() == 0 {
            return Err(Error::data("the batch has no rows; give at least one"));
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

    /// Tries to make a front of all rows so far.
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
            // Before anything else, so that other columns are called so.
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

    /// Takes a batch whose rows are ready; after an error nothing has changed.
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

    /// Rejects all rows of a batch: the front and the rows that are kept stay as they are.
    pub(crate) fn skip(&mut self, n_rows: usize, why: &Message) -> Result<Update, Error> {
        let Some(settled) = &self.state.settled else {
            return Err(Error::usage(say![
                SKIP_BATCH,
                ": the stream has no front yet; start another state with rows that can be fitted"
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

    /// The front on the rows that are kept, and who is in these; instead of a front the reason why the
    /// previous one still stands.
    fn fit(
        &self,
        ready: &mut Ready,
        stopped: Stopped,
        observer: &mut dyn Observer,
    ) -> Result<(Composition, Result<Fitted, String>), Error> {
        let rows = self.kept.rows().unwrap_or(&ready.rows);
        let composition = Composition::of(&rows.datasets(&ready.encoding.schema())?);
        let mut encoded = seen_by_front(&ready.encoding, rows)?;
        let growth = ready.growth.notices.iter().cloned();
        encoded.notices.splice(0..0, growth);
        encoded.notices.append(&mut ready.notices);
        encoded.memory = self.memory;
        let State {
            options, batches, ..
        } = &self.state;
        let earlier = self.front.as_ref();
        let earlier = earlier.map(|front| front.earlier(&encoded.encoding, *batches));
        let request = &options.request;
        let fitted = match fit_encoded(encoded, request, &[], earlier.as_ref(), None, observer) {
            Ok(fitted)
                if fitted.outcome.stop == StopReason::Stopped && stopped == Stopped::Refused =>
            {
                return Err(fairfront_core::Error::Stopped.into());
            }
            // Rows without a class or a group say nothing: the current front still stands.
            Err(Error::Model(ModelError::Data(why))) if earlier.is_some() => {
                Err(without_advice(&why.to_string()))
            }
            fitted => Ok(fitted?),
        };
        Ok((composition, fitted))
    }

    /// What a batch changes.
    fn drift(
        &self,
        ready: &Ready,
        kept_before: usize,
        fitted: &Result<Fitted, String>,
    ) -> Result<Drift, Error> {
        let of_batch = Composition::of(&ready.rows.datasets(&ready.encoding.schema())?);
        let settled = self.state.settled.as_ref();
        let (base_rate, groups) = Composition::shifts(settled.map(|s| &s.composition), &of_batch);
        let used = ready.rows.n_rows();
        let named = |of: &String, name: &String| format!("{of}={name}");
        let (levels, new) = (ready.growth.levels.iter(), ready.growth.groups.iter());
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
            new_levels: levels.map(|l| named(&l.column, &l.level)).collect(),
            new_groups: new.map(|g| named(&g.attribute, &g.group)).collect(),
            base_rate,
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

    /// Takes a batch in; nothing can fail any more.
    fn settle(
        &mut self,
        ready: Ready,
        composition: Composition,
        fitted: Option<Fitted>,
        drift: Drift,
    ) -> Update {
        let state = &mut self.state;
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
        let notices = match &fitted {
            Some(fitted) => {
                self.front = Some(Front::of(fitted, &state.options.spec));
                fitted.notices.clone()
            }
            None => ready.growth.notices,
        };
        Update {
            drift,
            fitted,
            notices,
            rejected: ready.rejected,
            rows: ready.rows,
        }
    }

    /// Says in the run where its rows come from; the notices of its front are those given.
    pub(crate) fn set_source(
        &mut self,
        source: String,
        read: Option<ReadFrom>,
        notices: Vec<Notice>,
    ) {
        if let Some(front) = &mut self.front {
            let info = &mut front.run.info;
            (info.source, info.read, info.notices) = (source, read, notices);
        }
    }
}

/// What there is to say.
impl Live {
    /// What it was begun with, objectives by default named.
    pub fn options(&self) -> &LiveOptions {
        &self.state.options
    }

    /// Why the last batch brought no front; `None` if it did, and before the first.
    pub fn waiting(&self) -> Option<&str> {
        self.state.waiting.as_deref()
    }

    /// Batches taken.
    pub fn batches(&self) -> u64 {
        self.state.batches
    }

    /// Rows of these batches, dropped and rejected ones counted.
    pub fn rows(&self) -> u64 {
        self.state.rows
    }

    /// Rows that were rejected.
    pub fn rejected(&self) -> u64 {
        self.state.rejected
    }

    /// Why rows were dropped, and how many.
    pub fn dropped(&self) -> &[Dropped] {
        &self.state.dropped
    }

    /// Rows that are in memory: those that the front stands on, or those that wait for the first.
    pub fn kept(&self) -> usize {
        self.kept.n_rows() + self.state.held.n_rows()
    }

    /// The encoding of the front's points, once there is a front.
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

/// Why rows make no front, if more of them may.
fn not_yet(error: &Error) -> Option<String> {
    match error {
        Error::Model(ModelError::Data(why)) => Some(without_advice(&why.to_string())),
        Error::Model(ModelError::Table(why)) if why.is_for_want_of_rows() => {
            Some(without_advice(&why.to_string()))
        }
        _ => None,
    }
}

/// Why rows make no front, without the advice after it, which is for a whole table.
pub(crate) fn without_advice(why: &str) -> String {
    why.split(';').next().unwrap_or_default().to_owned()
}

/// Refuses a batch with rows that cannot be used.
fn all_usable(rejected: &[Rejected]) -> Result<(), Error> {
    let Some(first) = rejected.first() else {
        return Ok(());
    };
    let (rows, number) = (counted(rejected.len(), "row"), first.index + 1);
    Err(Error::data(say![
        "{rows} of the batch cannot be used, the first of them (row {number}) because of ",
        &first.reason
    ]))
}
