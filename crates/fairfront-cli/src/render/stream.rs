//! Renders the batches of a stream.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{counted, grouped};
use fairfront_data::Dropped;
use fairfront_stream::{
    ClassShift, CommittedBatch, Drift, Fed, FrontShift, GroupShift, LabelShift, Shift, Stream,
};

use super::front::significant;
use super::{cut, percent};
use crate::wording::worded;

/// Largest number of groups or categories that a line lists.
const NAMED: usize = 3;
/// Up to three lines about a batch: its size and the front, changes in the population, and how far the
/// front moved.
pub(crate) fn batch(batch: &CommittedBatch) -> String {
    let drift = batch.drift;
    let front = &drift.front;
    let mut out = format!("batch {}: {}", drift.batch, counted(drift.used, "row"));
    let mut left_out = Vec::new();
    for (rows, reason) in [(drift.dropped, "dropped"), (drift.rejected, "rejected")] {
        if rows > 0 {
            left_out.push(format!("{} {reason}", grouped(rows)));
        }
    }
    if !left_out.is_empty() {
        let _ = write!(out, " ({})", left_out.join(", "));
    }
    let _ = write!(out, ", {} kept; ", grouped(drift.kept));
    let _ = match &front.kept_because {
        Some(why) => write!(out, "the front is not updated: {why}"),
        None => write!(out, "{}", counted(front.models, "model")),
    };
    if let Some(after) = front.hypervolume {
        let before = front.hypervolume_before;
        let _ = match before {
            Some(before) => write!(
                out,
                ", hypervolume share {} before the update, {} after",
                significant(before),
                significant(after)
            ),
            None => write!(out, ", hypervolume share {}", significant(after)),
        };
    }
    let _ = write!(out, "; {:.1} s", batch.seconds);
    if let Some(rows) = batch.stdin_rows {
        let _ = write!(out, "; {} from standard input stored", counted_rows(rows));
    }
    out.push('\n');
    let changes = changes(drift);
    let _ = writeln!(out, "drift {}: {}", drift.batch, changes.join("; "));
    let moves = moves(front);
    if !moves.is_empty() {
        let _ = writeln!(out, "front {}: {}", drift.batch, moves.join("; "));
    }
    out
}

fn counted_rows(rows: u64) -> String {
    counted(usize::try_from(rows).unwrap_or(usize::MAX), "row")
}

/// Changes in the population.
fn changes(drift: &Drift) -> Vec<String> {
    if drift.used == 0 {
        return vec!["no row of this batch is in use".into()];
    }
    let mut items = vec![level(&drift.labels)];
    let mut named = |quantity: &str, of: &dyn Fn(&GroupShift) -> Option<(f64, String)>| {
        let all = drift.groups.iter();
        let mut groups: Vec<(&GroupShift, f64, String)> = all
            .filter_map(|group| {
                let (change, text) = of(group)?;
                Some((group, change, text))
            })
            .collect();
        groups.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let shown = groups.iter().take(NAMED).map(|(group, _, text)| {
            let name = format!("{}={}", group.attribute, group.group);
            format!("{} {text}", cut(&name, 40))
        });
        let shown: Vec<String> = shown.collect();
        if !shown.is_empty() {
            items.push(format!("{quantity} of {}", shown.join(", ")));
        }
    };
    // Shares are among the rows whose group is known.
    let known = |g: &GroupShift| {
        let own = drift.groups.iter().filter(|o| o.attribute == g.attribute);
        own.fold([0, 0], |[a, b], o| [a + o.rows_before, b + o.rows])
    };
    named("share", &|g| beyond_chance(&g.share, known(g)));
    named("base rate", &|g| match &g.labels {
        LabelShift::BaseRate(shift) => beyond_chance(shift, [g.rows_before, g.rows]),
        LabelShift::MeanTarget(_) | LabelShift::ClassShares(_) => None,
    });
    named("class shares", &|g| match &g.labels {
        LabelShift::ClassShares(shifts) => {
            let rows = [g.rows_before, g.rows];
            let changed = shifts.iter().filter_map(|shift| {
                let (size, text) = beyond_chance(&shift.share, rows)?;
                Some((size, format!("{} {text}", cut(&shift.class, 40))))
            });
            // Only the class that changed most.
            changed.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))
        }
        _ => None,
    });
    named("mean target", &|g| match &g.labels {
        LabelShift::MeanTarget(shift) if !shift.may_be_chance() => Some((
            shift.change()?,
            change(shift.before, shift.batch, significant),
        )),
        _ => None,
    });
    for (new, kind) in [
        (&drift.new_categories, "new categories"),
        (&drift.new_groups, "new groups"),
    ] {
        if !new.is_empty() {
            let names: Vec<String> = new.iter().take(NAMED).map(|n| cut(n, 40)).collect();
            let more = match new.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {} more", grouped(more)),
            };
            items.push(format!("{kind}: {}{more}", names.join(", ")));
        }
    }
    if drift.unseen_share > 0.0 {
        let share = percent(drift.unseen_share);
        items.push(format!("{share} of the rows have an unseen category"));
    }
    if items.len() == 1 && drift.batch > 1 {
        items.push("no group changed beyond chance".into());
    }
    items
}

/// How far the new rows and the update moved the models, in the units of the values that judge the front.
fn moves(front: &FrontShift) -> Vec<String> {
    let mut items = Vec::new();
    if !front.shifted_by.is_empty() {
        items.push(format!(
            "on the current rows, the previous models change by a mean of {}",
            differences(&front.judged_by, &front.shifted_by)
        ));
    }
    if !front.moved_by.is_empty() {
        items.push(format!(
            "the update moves the front by a mean of {}",
            differences(&front.judged_by, &front.moved_by)
        ));
    }
    items
}

/// `0.0113 in 1 - accuracy, 0.0134 in demographic_parity_difference(sex)`.
fn differences(names: &[String], values: &[f64]) -> String {
    let named = names.iter().zip(values);
    let items: Vec<String> = named
        .map(|(name, value)| {
            let value = match *value {
                v if v >= 5e-5 => format!("{v:.4}"),
                v => significant(v),
            };
            format!("{value} in {}", cut(name, 60))
        })
        .collect();
    items.join(", ")
}

/// The shares of the classes among all rows; of many classes, those that changed most.
fn class_levels(shifts: &[ClassShift]) -> String {
    let size = |shift: &ClassShift| shift.share.change().unwrap_or(0.0).abs();
    let mut shown: Vec<&ClassShift> = shifts.iter().collect();
    if shown.len() > NAMED {
        shown.sort_by(|a, b| size(b).total_cmp(&size(a)));
        shown.truncate(NAMED);
    }
    let of = |write: fn(&ClassShift) -> Option<f64>| {
        let items = shown.iter().filter_map(|shift| {
            Some(format!(
                "{} {}",
                cut(&shift.class, 40),
                percent(write(shift)?)
            ))
        });
        items.collect::<Vec<String>>().join(", ")
    };
    match (
        of(|shift| shift.share.before),
        of(|shift| shift.share.batch),
    ) {
        (before, batch) if before.is_empty() => format!("class shares {batch} in this batch"),
        (before, batch) => {
            format!("class shares from {before} in the rows kept before to {batch} in this batch")
        }
    }
}

/// The labels of all rows. It names the rows of both numbers; later items are about the same rows.
fn level(labels: &LabelShift) -> String {
    let (name, before, batch, write): (_, _, _, fn(f64) -> String) = match labels {
        LabelShift::ClassShares(shifts) => return class_levels(shifts),
        LabelShift::BaseRate(of) => ("base rate", of.before, of.batch, percent),
        LabelShift::MeanTarget(of) => ("mean target", of.before, of.batch, significant),
    };
    match (before, batch) {
        (Some(before), Some(batch)) => format!(
            "{name} from {} in the rows kept before to {} in this batch",
            write(before),
            write(batch)
        ),
        (None, Some(batch)) => format!("{name} {} in this batch", write(batch)),
        _ => format!("{name} unknown, because the rows of this batch have no weight"),
    }
}

/// The change of a share, and how it is shown, if it is beyond chance.
fn beyond_chance(shift: &Shift, [before, batch]: [usize; 2]) -> Option<(f64, String)> {
    let is_beyond = !shift.may_be_chance(before, batch);
    is_beyond.then(|| {
        let text = change(shift.before, shift.batch, percent);
        (shift.change().unwrap_or_default(), text)
    })
}

fn change(before: Option<f64>, batch: Option<f64>, write: impl Fn(f64) -> String) -> String {
    let shown = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), &write);
    match before {
        None => shown(batch),
        Some(_) => format!("from {} to {}", shown(before), shown(batch)),
    }
}

/// A batch as one line of JSON.
pub(crate) fn batch_json(batch: &CommittedBatch) -> String {
    // Serialization cannot fail.
    let mut value = serde_json::to_value(batch.drift).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("seconds".into(), batch.seconds.into());
        if let Some(rows) = batch.stdin_rows {
            object.insert("stdin_rows".into(), rows.into());
        }
        let diagnostics = serde_json::to_value(worded(batch.diagnostics)).unwrap_or_default();
        object.insert("messages".into(), diagnostics);
    }
    format!("{value}\n")
}

/// The last lines of a call.
pub(crate) fn fed(folder: &Path, stream: &Stream, fed: &Fed, stdin_rows: Option<u64>) -> String {
    let folder = folder.display();
    let mut out = match (fed.batches, fed.stopped) {
        (0, false) => format!("{folder}: no new batch"),
        (1, false) => format!("{folder}: 1 new batch"),
        (n, false) => format!("{folder}: {} new batches", grouped(n as usize)),
        (1, true) => format!("{folder}: stopped after 1 batch"),
        (n, true) => format!("{folder}: stopped after {} batches", grouped(n as usize)),
    };
    let _ = write!(out, ", {} in total", grouped(stream.batches() as usize));
    if fed.waiting > 0 {
        let _ = write!(
            out,
            "; {} for a batch of {} (--flush uses them now)",
            match fed.waiting {
                1 => "1 row waits".into(),
                n => format!("{} rows wait", grouped(n)),
            },
            grouped(stream.options().input.batch)
        );
    }
    out.push('\n');
    if let Some(rows) = stdin_rows {
        let _ = writeln!(
            out,
            "{} from standard input {} stored; send only the rows after these, or resend everything \
             with --skip {rows}",
            counted_rows(rows),
            if rows == 1 { "is" } else { "are" }
        );
    }
    if !stream.dropped().is_empty() {
        let of = |d: &Dropped| format!("{} ({})", d.reason, grouped(d.rows));
        let reasons: Vec<String> = stream.dropped().iter().map(of).collect();
        let _ = writeln!(
            out,
            "rows dropped in total, by reason: {}",
            reasons.join(", ")
        );
    }
    if stream.rejected() > 0 {
        let _ = writeln!(
            out,
            "{} rejected in total; {folder}/rejected.csv lists the reasons",
            counted_rows(stream.rejected())
        );
    }
    out
}
