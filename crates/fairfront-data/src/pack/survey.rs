//! Passes over the chunks of a table that find the same rules and messages as [`Prepared`] and
//! [`Encoding::fit`] find in memory.

use std::sync::atomic::{AtomicBool, Ordering};

use fairfront_core::{ExactSum, grouped, say};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::keys::Keys;
use super::numbers::NumberFacts;
use super::order::Order;
use super::spool::Spool;
use super::training::{self, Rows, Trained};
use super::{PackProgress, PackStage};
use crate::encoder::Coded;
use crate::encoding::Encoding;
use crate::error::Error;
use crate::finding::{Findings, TableFacts, kept_columns};
use crate::group::AttributeRule;
use crate::input::Facts;
use crate::memory::MemoryLimit;
use crate::prepare::check;
use crate::proxy;
use crate::read::ReadFrom;
use crate::setting::{BALANCE, MARK, TARGET};
use crate::sieve::{Dropped, Sieve, Sieved};
use crate::spec::{Spec, SplitRule};
use crate::split::{ColumnParts, Part};
use crate::table::{Diagnostic, Table};
use crate::target::{TargetCounts, TargetPlan, TargetRule};

/// The maximum number of values of the target.
const MOST_TARGET_VALUES: usize = 1_000_000;
/// Bytes per row in memory while a table is packed: its split, its place, and the order while it is drawn.
const ROW_BYTES: u64 = 9;

/// The maximum number of chunks in memory at once.
const MOST_AT_ONCE: usize = 16;

/// The maximum number of rows of a block file: places of rows are stored as `u32`.
const MOST_ROWS: usize = u32::MAX as usize;

/// Rejects more rows than a block file can hold.
fn check_size(table: &str, n_rows: usize) -> Result<(), Error> {
    if n_rows <= MOST_ROWS {
        return Ok(());
    }
    let (most, found) = (grouped(MOST_ROWS), grouped(n_rows));
    Err(Error::BadBlocks {
        file: table.into(),
        problem: say![
            "the table has {found} rows, but a block file holds at most {most}";
            "use fewer rows"
        ],
    })
}

/// Reads the chunks on all threads, and takes the results in order.
pub(crate) fn each_chunk<T: Send>(
    spool: &Spool,
    stage: PackStage,
    progress: &mut dyn FnMut(PackProgress),
    work: impl Fn(usize, &Table) -> Result<T, Error> + Sync,
    mut take: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    let n = spool.n_chunks();
    let at_once = rayon::current_num_threads().min(MOST_AT_ONCE);
    for first in (0..n).step_by(at_once) {
        let last = n.min(first + at_once);
        let some = (first..last).into_par_iter();
        let results: Vec<Result<T, Error>> = some
            .map(|index| spool.chunk(index).and_then(|table| work(index, &table)))
            .collect();
        for result in results {
            take(result?)?;
        }
        progress(PackProgress {
            stage,
            done: last as u64,
            total: n as u64,
        });
    }
    Ok(())
}

/// The facts about the rows of a chunk that need no rule.
struct Looked {
    n_rows: usize,
    dropped: Vec<Dropped>,
    /// Rows with a missing value, for each attribute.
    missing: Vec<usize>,
    weights: ExactSum,
    target: TargetCounts,
    keys: Vec<Keys>,
    kept_missing: Vec<usize>,
    /// The split of each row in use, if a column defines it.
    parts: Result<Vec<Part>, Error>,
    numbers: Vec<NumberFacts>,
}

/// Everything that a pass over the rows needs to encode them, and the messages about them.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) spec: Spec,
    pub(crate) n_rows: usize,
    /// Rows in use with label +1; 0 unless the target is binary.
    pub(crate) positives: usize,
    pub(crate) dropped: Vec<Dropped>,
    /// How rows get their labels, in the unit of the table.
    pub(crate) plan: TargetPlan,
    pub(crate) target: TargetRule,
    pub(crate) target_values: Vec<String>,
    pub(crate) attributes: Vec<AttributeRule>,
    pub(crate) keys: Vec<Keys>,
    pub(crate) order: Order,
    /// Messages of reading and preparing.
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) encoding: Encoding,
    /// Messages of encoding.
    pub(crate) encoded: Vec<Diagnostic>,
    pub(crate) findings: Findings,
    /// The numbers of each numeric rule of the encoding.
    pub(crate) numbers: Vec<NumberFacts>,
}

/// Rejects settings that need the whole table in memory.
pub(crate) fn check_spec(spec: &Spec) -> Result<(), Error> {
    spec.check()?;
    if spec.balance.is_some() {
        return Err(Error::Usage(say![
            BALANCE, " needs all rows in memory, so it cannot be used for a packed table";
            "fit on the table itself";
            "balance the table before you pack it"
        ]));
    }
    if !spec.marks.is_empty() {
        return Err(Error::Usage(say![
            MARK, " needs all rows in memory, so it cannot be used for a packed table";
            "fit on the table itself";
            "remove ", MARK
        ]));
    }
    if spec.target.is_none() {
        return Err(Error::Usage(
            say!["no target column is set"; "choose one with ", TARGET],
        ));
    }
    Ok(())
}

impl Survey {
    pub(crate) fn new(
        spool: &mut Spool,
        spec: &Spec,
        memory: MemoryLimit,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<Self, Error> {
        let name = spool.head.name.clone();
        let survey = Self::settle(spool, spec, memory, progress);
        survey.map_err(|error| error.in_table(&name))
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one step after the other, as in memory"
    )]
    fn settle(
        spool: &mut Spool,
        spec: &Spec,
        memory: MemoryLimit,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<Self, Error> {
        check_spec(spec)?;
        check_size(&spool.head.name, spool.n_rows())?;
        let needed = spool.n_rows() as u64 * ROW_BYTES;
        let subject = format!("the order of {} rows", grouped(spool.n_rows()));
        memory.check(0, needed, &spool.head.name, &subject, || {
            vec![say!["use fewer rows"]]
        })?;
        spool.add_date_parts(&spec.date_parts)?;
        let spool = &*spool;
        let head = &spool.head;
        check::check_table(head, spec)?;
        let mut diagnostics = head.diagnostics.clone();
        diagnostics.extend(check::idle_merges(head, spec));
        let mut attributes = AttributeRule::all(spec);
        let target = spec.target.as_deref().unwrap_or_default();
        let numeric: Vec<&str> = head
            .columns()
            .iter()
            .filter(|column| spec.is_feature(&column.name) && column.numeric().is_some())
            .map(|column| column.name.as_str())
            .collect();
        let kept: Vec<&str> = kept_columns(head, spec).map(|c| c.name.as_str()).collect();

        let mut used = Vec::with_capacity(spool.n_chunks());
        let mut dropped: Vec<Dropped> = Vec::new();
        let mut missing = vec![0; attributes.len()];
        let mut weights = ExactSum::default();
        let mut values: Option<TargetCounts> = None;
        let mut keys = vec![Keys::default(); attributes.len()];
        let mut kept_missing = vec![0; kept.len()];
        let mut parts: Result<Vec<Part>, Error> = Ok(Vec::new());
        let mut numbers: Vec<NumberFacts> = numeric.iter().map(|_| NumberFacts::new()).collect();
        let is_listed: Vec<AtomicBool> = numeric.iter().map(|_| AtomicBool::new(true)).collect();
        let look = |table: &Table| -> Result<Looked, Error> {
            let sieve = Sieve::new(table, spec, &attributes, &[])?;
            let sieved = sieve.strict()?;
            let rows = &sieved.rows;
            Ok(Looked {
                n_rows: rows.len(),
                missing: attributes
                    .iter()
                    .map(|rule| check::missing_in(table, rule))
                    .collect(),
                weights: match &spec.weight {
                    Some(_) => sieved.weights.iter().copied().collect(),
                    None => ExactSum::default(),
                },
                target: TargetCounts::of(spec, target, table, rows)?,
                keys: attributes
                    .iter()
                    .map(|rule| Keys::of(rule, table, rows))
                    .collect::<Result<_, Error>>()?,
                kept_missing: kept
                    .iter()
                    .map(|name| match table.column(name) {
                        Some(column) if column.n_missing > 0 => {
                            let rows = rows.iter();
                            rows.filter(|row| column.is_missing(**row as usize)).count()
                        }
                        _ => 0,
                    })
                    .collect(),
                parts: match &spec.split {
                    SplitRule::Column(column) => column_parts(column, table, rows),
                    _ => Ok(Vec::new()),
                },
                numbers: numeric
                    .iter()
                    .zip(&is_listed)
                    .map(|(name, is_listed)| {
                        NumberFacts::of(table, name, rows, is_listed.load(Ordering::Relaxed))
                    })
                    .collect(),
                dropped: sieved.dropped,
            })
        };
        each_chunk(
            spool,
            PackStage::Rows,
            progress,
            |_, table| look(table),
            |looked| {
                used.push(looked.n_rows);
                add_dropped(&mut dropped, looked.dropped);
                add_each(&mut missing, &looked.missing);
                weights.merge(&looked.weights);
                match &mut values {
                    Some(values) => values.merge(looked.target),
                    None => values = Some(looked.target),
                }
                let n_values = values.as_ref().map_or(0, TargetCounts::n_values);
                if n_values > MOST_TARGET_VALUES {
                    let most = grouped(MOST_TARGET_VALUES);
                    let problem = format!(
                        "the target has more than {most} different values; choose another target"
                    );
                    return Err(Error::column(target, problem));
                }
                for ((keys, more), rule) in keys.iter_mut().zip(looked.keys).zip(&attributes) {
                    keys.merge(more, rule)?;
                }
                add_each(&mut kept_missing, &looked.kept_missing);
                match (&mut parts, looked.parts) {
                    (Ok(all), Ok(more)) => all.extend(more),
                    (Ok(_), Err(error)) => parts = Err(error),
                    (Err(_), _) => {}
                }
                let facts = numbers.iter_mut().zip(looked.numbers).zip(&is_listed);
                for ((facts, more), is_listed) in facts {
                    facts.merge(more);
                    is_listed.store(facts.listed.is_some(), Ordering::Relaxed);
                }
                Ok(())
            },
        )?;
        let place = |d: &Dropped| {
            let mut columns = head.columns().iter();
            columns.position(|c| Some(&c.name) == d.column.as_ref())
        };
        dropped.sort_by_key(place);
        check::note_missing_sensitive(spec, &attributes, &missing, &mut diagnostics);
        let n_rows = used.iter().sum();
        check::check_rows(n_rows, &dropped)?;
        check::check_weights(spec, || weights)?;
        // A table has at least one row.
        let values = values.unwrap_or(TargetCounts::Numeric);
        let plan = TargetPlan::new(spec, target, &values, &mut diagnostics)?;
        for (rule, keys) in attributes.iter_mut().zip(&mut keys) {
            keys.fit(rule, head)?;
        }
        let order = Order::new(spec, parts?, &used)?;

        let rows = Rows {
            spec,
            target: &plan,
            attributes: &attributes,
            keys: &keys,
            order: &order,
        };
        let step = proxy::step(n_rows);
        let Trained {
            mut counts,
            classes,
            positives: n_positives,
            target: sums,
            columns,
            sample,
        } = training::train(spool, &rows, step, progress)?;
        let center = match &plan {
            TargetPlan::Classes(rule) => {
                classes.check(spec, rule)?;
                None
            }
            TargetPlan::Number(column) => Some(sums.center(column)?),
        };
        let code_of = training::pool(spec, &mut attributes, &mut counts)?;
        for (keys, code_of) in keys.iter_mut().zip(&code_of) {
            if let Some(code_of) = code_of {
                keys.recode(code_of);
            }
        }
        let kind = match &plan {
            TargetPlan::Classes(rule) => Some(&rule.kind),
            TargetPlan::Number(_) => None,
        };
        for (rule, counts) in attributes.iter_mut().zip(&counts) {
            rule.fix_small(counts);
            rule.fix_reference(spec, kind)?;
        }
        let n_train = order.n_rows(Part::Train);
        diagnostics.extend(check::training_warnings(
            n_train,
            plan.is_binary().then(|| classes.rows[1]),
            &attributes,
            &counts,
        ));

        let rows = Rows {
            spec,
            target: &plan,
            attributes: &attributes,
            keys: &keys,
            order: &order,
        };
        let named: FxHashMap<&str, &mut NumberFacts> =
            numeric.iter().copied().zip(&mut numbers).collect();
        let (fitted, squares) = training::fit(spool, &rows, (&columns, center), named, progress)?;
        let rule = match &plan {
            TargetPlan::Classes(rule) => rule.clone(),
            TargetPlan::Number(column) => {
                TargetRule::number(column, sums.unit(column, sums.center(column)?, &squares)?)
            }
        };
        let fit = Encoding::of_rules(spec, Some(rule.clone()), attributes.clone(), fitted);
        let (encoding, mut encoded) = fit?;
        encoded.extend(unseen(&encoding, head, &columns)?);
        let proxies = sample.proxies(head, spec, &attributes, &code_of, &encoding)?;
        let facts = TableFacts {
            diagnostics: &diagnostics,
            spec,
            n_read: spool.n_rows(),
            n_rows,
            dropped: &dropped,
            published: false,
            kept_missing: kept.iter().copied().zip(kept_missing).collect(),
            target: Some(&rule),
            n_train,
            label_counts: &classes.rows,
            attributes: &attributes,
            counts: &counts,
        };
        let findings = Findings::of_facts(&facts, proxies);
        let mut facts_of: FxHashMap<&str, NumberFacts> =
            numeric.iter().copied().zip(numbers).collect();
        let numbers = encoding.numeric.iter();
        let numbers = numbers.filter_map(|rule| facts_of.remove(rule.column.as_str()));
        Ok(Self {
            spec: spec.clone(),
            n_rows,
            positives: n_positives,
            dropped,
            target_values: rule.sorted_values(&values),
            target: rule,
            plan,
            numbers: numbers.collect(),
            attributes,
            keys,
            order,
            diagnostics,
            encoding,
            encoded,
            findings,
        })
    }

    /// The facts about the table.
    pub(crate) fn facts(&self, head: &Table, read: Option<ReadFrom>) -> Facts {
        Facts {
            table: head.name.clone(),
            read,
            spec: self.spec.clone(),
            rows_read: head.n_rows(),
            rows_used: self.n_rows,
            positives: self.positives,
            dropped: self.dropped.clone(),
            published: false,
            target: Some(self.target.clone()),
            target_values: self.target_values.clone(),
            attributes: self.attributes.clone(),
            diagnostics: self.diagnostics.clone(),
            split: Part::ALL.map(|part| self.order.n_rows(part)),
        }
    }

    /// The rules for rows of a chunk.
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows {
            spec: &self.spec,
            target: &self.plan,
            attributes: &self.attributes,
            keys: &self.keys,
            order: &self.order,
        }
    }
}

/// The split of each row, from a column.
fn column_parts(column: &str, table: &Table, rows: &[u32]) -> Result<Vec<Part>, Error> {
    let parts = ColumnParts::new(column, table)?;
    let part = |row: &u32| {
        parts.of(*row).map_err(|problem| Error::Cell {
            place: table.place(*row as usize),
            column: column.into(),
            problem: problem.into(),
        })
    };
    rows.iter().map(part).collect()
}

/// Warnings about categories that did not occur in training, in the order of [`Encoded`](crate::Encoded).
fn unseen(
    encoding: &Encoding,
    head: &Table,
    columns: &training::Columns,
) -> Result<Vec<Diagnostic>, Error> {
    let schema = encoding.schema();
    let mut warnings = Vec::new();
    for part in Part::ALL {
        for (rule, offset) in encoding.categorical.iter().zip(schema.offsets()) {
            let coded = Coded::new(rule, offset, schema.null_feature(), head)?;
            let counts = columns.counts(&rule.column, part);
            let found = counts.and_then(|counts| coded.unseen_of(counts));
            warnings.extend(found.map(|unseen| unseen.warning(part)));
        }
    }
    Ok(warnings)
}

fn add_each(totals: &mut [usize], more: &[usize]) {
    for (total, more) in totals.iter_mut().zip(more) {
        *total += more;
    }
}

fn add_dropped(all: &mut Vec<Dropped>, more: Vec<Dropped>) {
    for dropped in more {
        match all.iter_mut().find(|known| known.reason == dropped.reason) {
            Some(known) => known.rows += dropped.rows,
            None => all.push(dropped),
        }
    }
}

/// The rows in use of a chunk, by the rules about missing values and weights.
pub(crate) fn sieved(
    table: &Table,
    spec: &Spec,
    attributes: &[AttributeRule],
) -> Result<Sieved, Error> {
    Sieve::new(table, spec, attributes, &[])?.strict()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_rows_do_not_overflow() {
        assert!(check_size("t.csv", MOST_ROWS).is_ok());
        let said = check_size("t.csv", MOST_ROWS + 1).unwrap_err().to_string();
        assert_eq!(
            said,
            "t.csv: the table has 4,294,967,296 rows, but a block file holds at most 4,294,967,295; use fewer rows"
        );
    }
}
