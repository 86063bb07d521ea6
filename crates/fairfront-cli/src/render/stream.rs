//! What a batch changed, as a person reads it.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{counted, grouped};
use fairfront_data::Dropped;
use fairfront_stream::{CommittedBatch, Drift, Fed, FrontShift, GroupShift, Shift, Stream};

use super::front::significant;
use super::{cut, percent};
use crate::wording::worded;

/// Groups, categories and the like that are named in a line.
const NAMED: usize = 3;
/// Up to three lines about a batch: what it brought, how the population changed, and how far the front
/// moved.
pub(crate) fn batch(batch: &CommittedBatch) -> String {
    let drift = batch.drift;
    let front = &drift.front;
    let mut out = format!("batch {}: {}", drift.batch, counted(drift.used, "row"));
    let mut left_out = Vec::new();
    for (rows, what) in [(drift.dropped, "dropped"), (drift.rejected, "rejected")] {
        if rows > 0 {
            left_out.push(format!("{} {what}", grouped(rows)));
        }
    }
    if !left_out.is_empty() {
        let _ = write!(out, " ({})", left_out.join(", "));
    }
    let _ = write!(out, ", {} kept; ", grouped(drift.kept));
    let _ = match &front.kept_because {
        Some(why) => write!(out, "the front stays as it was: {why}"),
        None => write!(out, "{}", counted(front.points, "point")),
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
        let _ = write!(out, "; safe of standard input: {}", counted_rows(rows));
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

/// What changed, the population first.
fn changes(drift: &Drift) -> Vec<String> {
    if drift.used == 0 {
        return vec!["no row of the batch is in use".into()];
    }
    // The first item says what both numbers are shares of; those after it are of the same rows.
    let positive = match (drift.base_rate.before, drift.base_rate.batch) {
        (Some(before), Some(batch)) => format!(
            "base rate from {} of the rows kept before to {} of this batch",
            percent(before),
            percent(batch)
        ),
        (None, Some(batch)) => format!("base rate {} of this batch", percent(batch)),
        _ => "base rate unknown: the rows of the batch have no weight".into(),
    };
    let mut said = vec![positive];
    let mut named = |what: &str, of: &dyn Fn(&GroupShift) -> (Shift, [usize; 2])| {
        let all = drift.groups.iter().map(|g| (g, of(g)));
        let mut groups: Vec<(&GroupShift, Shift)> = all
            .filter(|(_, (shift, [before, batch]))| !shift.may_be_chance(*before, *batch))
            .map(|(g, (shift, _))| (g, shift))
            .collect();
        let size = |s: &Shift| s.change().map_or(0.0, f64::abs);
        groups.sort_by(|a, b| size(&b.1).total_cmp(&size(&a.1)));
        let shown = groups.iter().take(NAMED).map(|(g, s)| {
            let name = format!("{}={}", g.attribute, g.group);
            format!("{} {}", cut(&name, 40), shift(s))
        });
        let shown: Vec<String> = shown.collect();
        if !shown.is_empty() {
            said.push(format!("{what} of {}", shown.join(", ")));
        }
    };
    // A share is one of the rows whose group is known.
    let known = |g: &GroupShift| {
        let own = drift.groups.iter().filter(|o| o.attribute == g.attribute);
        own.fold([0, 0], |[a, b], o| [a + o.rows_before, b + o.rows])
    };
    named("share", &|g| (g.share, known(g)));
    named("base rate", &|g| (g.base_rate, [g.rows_before, g.rows]));
    for (new, what) in [
        (&drift.new_levels, "new categories"),
        (&drift.new_groups, "new groups"),
    ] {
        if !new.is_empty() {
            let names: Vec<String> = new.iter().take(NAMED).map(|n| cut(n, 40)).collect();
            let more = match new.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {} more", grouped(more)),
            };
            said.push(format!("{what}: {}{more}", names.join(", ")));
        }
    }
    if drift.unseen_share > 0.0 {
        let share = percent(drift.unseen_share);
        said.push(format!("{share} of the batch has an unseen category"));
    }
    if said.len() == 1 && drift.batch > 1 {
        said.push("no group changed beyond chance".into());
    }
    said
}

/// How far rows and update moved the models, in the units of what fronts are judged by.
fn moves(front: &FrontShift) -> Vec<String> {
    let mut said = Vec::new();
    if !front.shifted_by.is_empty() {
        said.push(format!(
            "the previous models, scored on the rows kept now, change by a mean of {}",
            differences(&front.judged_by, &front.shifted_by)
        ));
    }
    if !front.moved_by.is_empty() {
        said.push(format!(
            "the update moves the front by a mean of {}",
            differences(&front.judged_by, &front.moved_by)
        ));
    }
    said
}

/// `0.0113 in 1 - accuracy, 0.0134 in demographic_parity_difference(sex)`.
fn differences(names: &[String], values: &[f64]) -> String {
    let named = names.iter().zip(values);
    let said: Vec<String> = named
        .map(|(name, value)| {
            let value = match *value {
                v if v >= 5e-5 => format!("{v:.4}"),
                v => significant(v),
            };
            format!("{value} in {}", cut(name, 60))
        })
        .collect();
    said.join(", ")
}

fn shift(shift: &Shift) -> String {
    let share = |v: Option<f64>| v.map_or_else(|| "none".to_owned(), percent);
    match shift.before {
        None => share(shift.batch),
        Some(_) => format!("from {} to {}", share(shift.before), share(shift.batch)),
    }
}

/// The same as one line of JSON.
pub(crate) fn batch_json(batch: &CommittedBatch) -> String {
    // Nothing in it that JSON cannot hold.
    let mut value = serde_json::to_value(batch.drift).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("seconds".into(), batch.seconds.into());
        if let Some(rows) = batch.stdin_rows {
            object.insert("stdin_rows".into(), rows.into());
        }
        let notices = serde_json::to_value(worded(batch.notices)).unwrap_or_default();
        object.insert("notices".into(), notices);
    }
    format!("{value}\n")
}

/// What a call came to.
pub(crate) fn fed(folder: &Path, stream: &Stream, fed: &Fed, stdin_rows: Option<u64>) -> String {
    let folder = folder.display();
    let mut out = match (fed.batches, fed.stopped) {
        (0, false) => format!("{folder}: no new batch"),
        (n, false) => format!("{folder}: {} new", of_batches(n)),
        (n, true) => format!("{folder}: stopped after {}", of_batches(n)),
    };
    let _ = write!(out, ", {} in all", grouped(stream.batches() as usize));
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
            "safe of standard input: {}; send those behind, or all of them again with --skip {rows}",
            counted_rows(rows)
        );
    }
    if !stream.dropped().is_empty() {
        let of = |d: &Dropped| format!("{} ({})", d.reason, grouped(d.rows));
        let reasons: Vec<String> = stream.dropped().iter().map(of).collect();
        let _ = writeln!(out, "dropped in all, by reason: {}", reasons.join(", "));
    }
    if stream.rejected() > 0 {
        let _ = writeln!(
            out,
            "{} rejected in all: {folder}/rejected.csv says why",
            counted_rows(stream.rejected())
        );
    }
    out
}

fn of_batches(n: u64) -> String {
    match n {
        1 => "1 batch".into(),
        n => format!("{} batches", grouped(n as usize)),
    }
}
