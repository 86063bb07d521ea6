//! Turns waiting rows into a batch, and writes the batch to the disk.

use fairfront_core::{Message, counted, each, say, with};
use fairfront_data::setting::DECIMAL;
use fairfront_data::{
    Decimal, Diagnostic, Position, RawRecord, Rejected, decimal_of, first_table, next_table,
    set_aside,
};
use fairfront_model::Error as ModelError;
use fairfront_run::{Error, Keep};
use fairfront_solve::Error as SolveError;

use super::{Stream, Watcher};
use crate::live::{Stopped, Update, without_advice};
use crate::ready::{self, Ready};
use crate::setting::{BATCH, MAX_REJECTED, RESERVOIR, SKIP_BATCH, WINDOW};
use crate::source::Row;

/// The name that messages use for the rows of a batch.
const NAME: &str = "stream";
/// The maximum number of reasons for rejected rows in an error.
const NAMED: usize = 3;

impl Stream {
    /// Takes the first waiting rows as the next batch and commits the result. Returns `None`, without any
    /// change, if it was stopped meanwhile.
    ///
    /// `skip` rejects all rows of the batch, and the front does not change.
    pub(super) fn update(
        &mut self,
        max_rejected: Option<u64>,
        skip: bool,
        position: Option<(usize, Position)>,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Update>, Error> {
        let size = self.pending.len().min(self.journal.options.batch);
        self.later = self.pending.split_off(size);
        let taken = match skip {
            true => {
                let why = say!["the batch was skipped", with(SKIP_BATCH)];
                self.live.skip(size, &why).map(Some)
            }
            false => self.take(max_rejected, watcher),
        };
        let Ok(Some(update)) = taken else {
            self.pending.append(&mut self.later);
            return taken;
        };
        self.write(&update, position)?;
        Ok(Some(update))
    }

    fn take(
        &mut self,
        max_rejected: Option<u64>,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Update>, Error> {
        let number = self.live.batches() + 1;
        let ready = self.ready().map_err(|e| self.of_batch(number, e))?;
        let before = self.live.rejected();
        let allowed = |n: usize, reasons: &[Rejected]| match max_rejected {
            Some(most) if before + n as u64 > most => {
                Err(too_many(before + n as u64, most, number, reasons))
            }
            _ => Ok(()),
        };
        allowed(ready.rejected.len(), &ready.rejected)?;
        match self.live.take(ready, Stopped::Refused, watcher.observer()) {
            Ok(update) => Ok(Some(update)),
            Err(error) if error.is_stopped() => Ok(None),
            // If the rows were kept, every later update would fail as well.
            Err(Error::Solve(SolveError::Problem(why))) if self.live.front.is_some() => {
                let why = say!["the batch cannot be fitted: ", without_advice(&why)];
                let n = self.pending.len();
                allowed(n, &[of_all(&why)])?;
                self.live.skip(n, &why).map(Some)
            }
            Err(error) => Err(self.of_batch(number, error)),
        }
    }

    /// Prepares the rows of the batch for the rows that are kept.
    fn ready(&self) -> Result<Ready, Error> {
        let records = &records(&self.pending);
        let spec = &self.live.options().spec;
        let columns = &self.journal.columns;
        let before = self.live.rows();
        let (mut ready, accepted, mut rejected) = match &self.live.state.settled {
            None => {
                let mut read = spec.read_options(self.journal.options.read.clone());
                let mut note = None;
                if read.decimal.is_none()
                    && self.journal.commas_are_free
                    && decimal_of(records) == Some(Decimal::Comma)
                {
                    read.decimal = Some(Decimal::Comma);
                    note = Some(Diagnostic::note(say![
                        "numbers are read with decimal commas (1,5)";
                        "pass ", DECIMAL.is("."), " if the commas mean something else"
                    ]));
                }
                let (mut found, types) =
                    first_table(NAME, columns, records, &read, &self.journal.declared)?;
                found.table.diagnostics.extend(note);
                let kept = set_aside(found.table, spec)?;
                let record = |row: usize| found.accepted[kept.accepted[row]];
                let number = |row: usize| before + record(row) as u64;
                let names = &self.live.options().names;
                let mut ready = ready::first(kept.table, types, spec, names, number)?;
                ready.rejected = kept.rejected;
                (ready, found.accepted, found.rejected)
            }
            Some(settled) => {
                let found = next_table(NAME, columns, records, &settled.types)?;
                let number = |row: usize| before + found.accepted[row] as u64;
                let ready = ready::next(found.table, spec, settled, number)?;
                (ready, found.accepted, found.rejected)
            }
        };
        let of_record = |r: Rejected| Rejected {
            index: accepted[r.index],
            reason: r.reason,
        };
        rejected.extend(
            std::mem::take(&mut ready.rejected)
                .into_iter()
                .map(of_record),
        );
        rejected.sort_by_key(|r| r.index);
        Ok(Ready {
            n_rows: records.len(),
            rejected,
            ..ready
        })
    }

    fn of_batch(&self, number: u64, error: Error) -> Error {
        use fairfront_data::Error::{Column, NoRowsLeft, NoVariation};
        match error {
            error @ Error::Model(
                ModelError::Data(_)
                | ModelError::Table(NoVariation { .. } | Column { .. } | NoRowsLeft(_)),
            ) if number == 1 => {
                let rows = counted(self.pending.len(), "row");
                let more = match self.live.options().keep {
                    Keep::All => each([BATCH]),
                    Keep::Window(_) => each([BATCH, WINDOW]),
                    Keep::Reservoir(_) => each([BATCH, RESERVOIR]),
                };
                Error::data(say![
                    "cannot compute a front from the first {rows}: ", error.message();
                    "use more rows with ", more
                ])
            }
            other => other,
        }
    }
}

fn records(rows: &[Row]) -> Vec<RawRecord> {
    let record = |row: &Row| RawRecord {
        row: row.number,
        line: 0,
        fields: row.fields.clone(),
    };
    rows.iter().map(record).collect()
}

/// The first rejected row of a batch whose rows are all rejected.
fn of_all(why: &Message) -> Rejected {
    Rejected {
        index: 0,
        reason: why.into(),
    }
}

fn too_many(rejected: u64, most: u64, batch: u64, reasons: &[Rejected]) -> Error {
    let rows = counted(usize::try_from(rejected).unwrap_or(usize::MAX), "row");
    let mut message = say![
        "{rows} rejected up to batch {batch}, more than ",
        MAX_REJECTED.is(most),
        "; this batch was not used, and its first reasons are: "
    ];
    for (i, rejected) in reasons.iter().take(NAMED).enumerate() {
        message.push((i > 0).then_some("; "));
        message.push(&rejected.reason);
    }
    Error::data(say![message, "; fix the input, or allow more"])
}
