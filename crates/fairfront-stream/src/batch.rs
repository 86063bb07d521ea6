//! What becomes of a batch: rows in use, the encoding grown by them, the front updated.

use fairfront_core::{Message, counted, each, say, with};
use fairfront_data::setting::DECIMAL;
use fairfront_data::{
    ColumnTypes, Decimal, Notice, Position, RawRecord, Rejected, StoredRows, decimal_of,
    first_table, next_table, set_aside,
};
use fairfront_run::{Error, Fitted, Keep};
use fairfront_solve::StopReason;

use super::current::{Current, seen_by_front};
use super::drift::{self, Composition, Drift, FrontShift};
use super::ready::{self, Ready};
use super::source::Row;
use super::state::{Settled, StreamOptions, add_dropped};
use super::{Stream, Watcher};
use crate::setting::{BATCH, MAX_REJECTED, RESERVOIR, SKIP_BATCH, WINDOW};

/// What messages call the rows of a batch.
const NAME: &str = "stream";
/// Reasons for rejected rows that an error names.
const NAMED: usize = 3;
/// A batch that is committed.
pub(super) struct Done {
    pub(super) drift: Drift,
    pub(super) notices: Vec<Notice>,
}

impl Stream {
    /// Takes the first rows that wait as the next batch and commits what comes of it; `None` where it was
    /// stopped meanwhile, and nothing has changed.
    ///
    /// `skip` rejects all rows of the batch, and the front stays as it is.
    pub(super) fn update(
        &mut self,
        max_rejected: Option<u64>,
        skip: bool,
        position: Option<(usize, Position)>,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Done>, Error> {
        let size = self.pending.len().min(self.state.options.batch);
        self.later = self.pending.split_off(size);
        let records = records(&self.pending);
        let batches = self.state.batches;
        let done = match skip {
            true => {
                let why = say!["the batch was skipped", with(SKIP_BATCH)];
                self.skip(records.len(), position, &why)
            }
            false => self.take(&records, max_rejected, position, watcher),
        };
        match &done {
            Ok(Some(_)) => {}
            // Rows that were taken in are those of no batch.
            _ if self.state.batches == batches => {
                self.pending.append(&mut self.later);
                self.restore_rows()?;
            }
            _ => self.broken = true,
        }
        done
    }

    fn take(
        &mut self,
        records: &[RawRecord],
        max_rejected: Option<u64>,
        position: Option<(usize, Position)>,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Done>, Error> {
        let number = self.state.batches + 1;
        let (mut ready, types) = self.ready(records).map_err(|e| self.of_batch(number, e))?;
        let rejected = self.state.rejected + ready.rejected.len() as u64;
        if let Some(most) = max_rejected
            && rejected > most
        {
            return Err(too_many(rejected, most, number, &ready.rejected));
        }
        let schema = ready.encoding.schema();
        let of_batch = Composition::of(&ready.rows.datasets(&schema)?);
        self.kept.add(number, &ready.rows)?;
        let rows = self.kept.rows().unwrap_or(&ready.rows);
        let composition = Composition::of(&rows.datasets(&schema)?);
        let kept = rows.n_rows();
        let mut encoded = seen_by_front(&ready.encoding, rows)?;
        encoded.notices.append(&mut ready.notices);
        encoded.memory = self.state.options.read.memory;
        let (request, current) = (&self.state.options.request, self.current.as_ref());
        let batches = self.state.batches;
        let fitted = match ready::fit(encoded, request, current, batches, watcher.observer()) {
            Ok(fitted) if fitted.outcome.stop == StopReason::Stopped => return Ok(None),
            Ok(fitted) => Ok(fitted),
            Err(error) if error.is_stopped() => return Ok(None),
            Err(error) => match ready::without_front(&error) {
                // Kept, rows that a solver cannot fit would keep it from every later update.
                Some(why) if self.current.is_some() && matches!(error, Error::Solve(_)) => {
                    self.restore_rows()?;
                    let rejected = self.state.rejected + records.len() as u64;
                    let why = say!["the batch cannot be fitted: {why}"];
                    return match max_rejected.filter(|most| rejected > *most) {
                        Some(most) => Err(too_many(rejected, most, number, &[of_all(0, &why)])),
                        None => self.skip(records.len(), position, &why),
                    };
                }
                // Rows without a class or a group say nothing: the current front still stands.
                Some(why) if self.current.is_some() => Err(why),
                _ => return Err(self.of_batch(number, error)),
            },
        };
        self.finish(
            (ready, types),
            (of_batch, composition),
            kept,
            &fitted,
            position,
        )
        .map(Some)
    }

    /// Rejects all rows of a batch: the front and the rows that are kept stay as they are.
    fn skip(
        &mut self,
        n_records: usize,
        position: Option<(usize, Position)>,
        why: &Message,
    ) -> Result<Option<Done>, Error> {
        let Some(settled) = &self.state.settled else {
            return Err(Error::usage(say![
                SKIP_BATCH,
                ": the stream has no front yet; start another state with rows that can be fitted"
            ]));
        };
        let composition = settled.composition.clone();
        let (mut ready, types) = self.ready(&[])?;
        ready.rejected = (0..n_records).map(|index| of_all(index, why)).collect();
        let of_batch = Composition::of(&ready.rows.datasets(&ready.encoding.schema())?);
        self.kept.add(self.state.batches + 1, &ready.rows)?;
        let kept = self.kept.rows().map_or(0, StoredRows::n_rows);
        let why = Err(why.to_string());
        self.finish(
            (ready, types),
            (of_batch, composition),
            kept,
            &why,
            position,
        )
        .map(Some)
    }

    /// Commits a batch whose front is found, or that leaves the front as it is.
    fn finish(
        &mut self,
        (ready, types): (Ready, Option<ColumnTypes>),
        (of_batch, composition): (Composition, Composition),
        kept: usize,
        fitted: &Result<Fitted, String>,
        position: Option<(usize, Position)>,
    ) -> Result<Done, Error> {
        let number = self.state.batches + 1;
        let before = self.state.settled.as_ref();
        let (base_rate, groups) = Composition::shifts(before.map(|s| &s.composition), &of_batch);
        let n_used = ready.rows.n_rows();
        let drift = Drift {
            batch: number,
            rows: self.state.rows + self.pending.len() as u64,
            used: n_used,
            dropped: ready.n_dropped,
            rejected: ready.rejected.len(),
            kept_before: before.map_or(0, |s| s.rows),
            kept,
            unseen_share: match n_used {
                0 => 0.0,
                n => ready.growth.unseen_rows as f64 / n as f64,
            },
            new_levels: named(ready.growth.levels.iter().map(|l| (&l.column, &l.level))),
            new_groups: named(ready.growth.groups.iter().map(|g| (&g.attribute, &g.group))),
            base_rate,
            groups,
            front: self.front_shift(fitted)?,
        };
        let notices = [
            ready.growth.notices.clone(),
            fitted
                .as_ref()
                .map_or_else(|_| Vec::new(), |f| f.notices.clone()),
        ]
        .concat();
        self.settle((ready, types), composition, fitted.as_ref().ok(), position);
        self.write(&drift, fitted.as_ref().ok())?;
        if let Ok(fitted) = fitted {
            self.current = Some(Current::of(fitted));
        }
        let notices = self.unsaid(notices);
        Ok(Done { drift, notices })
    }

    /// Rows of a batch on their way to those that are kept, and what the first batch settles.
    fn ready(&self, records: &[RawRecord]) -> Result<(Ready, Option<ColumnTypes>), Error> {
        let StreamOptions { spec, read, .. } = &self.state.options;
        let columns = &self.state.columns;
        let before = self.state.rows;
        let (mut ready, accepted, mut rejected, types) = match &self.state.settled {
            None => {
                let mut read = spec.read_options(read.clone());
                let mut note = None;
                if read.decimal.is_none()
                    && self.state.commas_are_free
                    && decimal_of(records) == Some(Decimal::Comma)
                {
                    read.decimal = Some(Decimal::Comma);
                    note = Some(Notice::info(say![
                        "numbers are read with decimal commas (1,5)";
                        "pass ", DECIMAL.is("."), " if the commas mean something else"
                    ]));
                }
                let (mut found, types) =
                    first_table(NAME, columns, records, &read, &self.state.declared)?;
                found.table.notices.extend(note);
                let kept = set_aside(found.table, spec)?;
                let record = |row: usize| found.accepted[kept.accepted[row]];
                let mut ready =
                    ready::first(kept.table, spec, &[], |row| before + record(row) as u64)?;
                ready.rejected = kept.rejected;
                (ready, found.accepted, found.rejected, Some(types))
            }
            Some(settled) => {
                let found = next_table(NAME, columns, records, &settled.types)?;
                let Settled {
                    encoding, targets, ..
                } = settled;
                let ready = ready::next(found.table, spec, encoding, targets, |row| {
                    before + found.accepted[row] as u64
                })?;
                (ready, found.accepted, found.rejected, None)
            }
        };
        rejected.extend(of_records(std::mem::take(&mut ready.rejected), &accepted));
        ready.rejected = in_order(rejected);
        Ok((ready, types))
    }

    /// How the front changed.
    fn front_shift(&self, fitted: &Result<Fitted, String>) -> Result<FrontShift, Error> {
        let settled = self.state.settled.as_ref();
        let fitted = match fitted {
            Ok(fitted) => fitted,
            Err(why) => {
                return Ok(FrontShift {
                    kept_because: Some(why.clone()),
                    points: self.current.as_ref().map_or(0, |c| c.points.len()),
                    judged_by: settled.map_or_else(Vec::new, |s| s.judged_by.clone()),
                    hypervolume_before: None,
                    hypervolume: None,
                    shifted: None,
                    moved: None,
                    shifted_by: Vec::new(),
                    moved_by: Vec::new(),
                });
            }
        };
        let standing = &fitted.standing;
        let reference = match settled {
            Some(settled) if settled.judged_by == standing.names => settled.reference.clone(),
            _ => standing.reference.clone(),
        };
        // Values of other measures cannot be compared.
        let earlier = settled.filter(|s| s.judged_by == standing.names);
        let before = &standing.earlier;
        Ok(FrontShift {
            kept_because: None,
            points: fitted.outcome.front.len(),
            judged_by: standing.names.clone(),
            hypervolume_before: match earlier {
                Some(_) => drift::volume(before, &reference)?,
                None => None,
            },
            hypervolume: drift::volume(&standing.front, &reference)?,
            shifted: earlier.and_then(|s| drift::shifted(&s.values, before, &reference)),
            moved: earlier.and_then(|_| drift::moved(before, &standing.front, &reference)),
            shifted_by: earlier.map_or_else(Vec::new, |s| {
                drift::shifted_by(&s.values, before, &reference)
            }),
            moved_by: earlier.map_or_else(Vec::new, |_| {
                drift::moved_by(before, &standing.front, &reference)
            }),
        })
    }

    /// The state as it is after this batch.
    fn settle(
        &mut self,
        (ready, types): (Ready, Option<ColumnTypes>),
        composition: Composition,
        fitted: Option<&Fitted>,
        position: Option<(usize, Position)>,
    ) {
        let state = &mut self.state;
        let standing = fitted.map(|f| &f.standing);
        if let (Some(types), Some(standing)) = (types, standing) {
            state.settled = Some(Settled {
                types,
                targets: ready.targets,
                encoding: ready.encoding.clone(),
                reference: standing.reference.clone(),
                judged_by: standing.names.clone(),
                values: standing.front.clone(),
                updated: 0,
                skipped: 0,
                rows: 0,
                composition: composition.clone(),
            });
        }
        if let Some(settled) = &mut state.settled {
            settled.encoding = ready.encoding;
            settled.composition = composition;
            settled.rows = self.kept.rows().map_or(0, StoredRows::n_rows);
            if let Some(standing) = standing {
                if settled.judged_by != standing.names {
                    settled.reference.clone_from(&standing.reference);
                }
                settled.judged_by.clone_from(&standing.names);
                settled.values.clone_from(&standing.front);
                settled.updated = state.batches + 1;
                settled.skipped = 0;
            } else if ready.rows.n_rows() == 0 {
                settled.skipped += 1;
            }
        }
        add_dropped(&mut state.dropped, &ready.dropped);
        state.rejected += ready.rejected.len() as u64;
        state.batches += 1;
        state.rows += self.pending.len() as u64;
        state.kept = self.kept.info.clone();
        for row in &self.pending {
            let input = &mut state.inputs[row.input];
            input.rows += 1;
            if input.identity == super::STDIN {
                input.chain = row.chain(&input.chain);
            }
        }
        if let Some((input, position)) = position {
            state.inputs[input].position = Some(position);
        }
        self.last_rejected = ready.rejected;
        self.last_rows = self.kept.has_segments().then(|| ready.rows.to_bytes());
    }

    fn of_batch(&self, number: u64, error: Error) -> Error {
        use fairfront_data::Error::{Alike, Column, NoRowsLeft};
        match error {
            error @ (Error::Data(_)
            | Error::Table(Alike { .. } | Column { .. } | NoRowsLeft(_)))
                if number == 1 =>
            {
                let rows = counted(self.pending.len(), "row");
                let more = match self.state.options.keep {
                    Keep::All => each([BATCH]),
                    Keep::Window(_) => each([BATCH, WINDOW]),
                    Keep::Reservoir(_) => each([BATCH, RESERVOIR]),
                };
                Error::data(say![
                    "the first {rows} make no front: ", error.message();
                    "take more of them with ", more
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

/// Rejected rows of a table by the records they come from.
fn of_records(rejected: Vec<Rejected>, accepted: &[usize]) -> impl Iterator<Item = Rejected> {
    rejected.into_iter().map(|r| Rejected {
        index: accepted[r.index],
        reason: r.reason,
    })
}

/// A rejected row of a batch all of whose rows are rejected.
fn of_all(index: usize, why: &Message) -> Rejected {
    Rejected {
        index,
        reason: why.into(),
    }
}

fn in_order(mut rejected: Vec<Rejected>) -> Vec<Rejected> {
    rejected.sort_by_key(|r| r.index);
    rejected
}

fn named<'a>(pairs: impl Iterator<Item = (&'a String, &'a String)>) -> Vec<String> {
    pairs.map(|(of, name)| format!("{of}={name}")).collect()
}

fn too_many(rejected: u64, most: u64, batch: u64, reasons: &[Rejected]) -> Error {
    let rows = counted(usize::try_from(rejected).unwrap_or(usize::MAX), "row");
    let mut message = say![
        "{rows} rejected up to batch {batch}, more than ",
        MAX_REJECTED.is(most),
        "; this batch is not taken, its first reasons are: "
    ];
    for (i, rejected) in reasons.iter().take(NAMED).enumerate() {
        message.push((i > 0).then_some("; "));
        message.push(&rejected.reason);
    }
    Error::data(say![message, "; fix the input, or allow more"])
}
