//! What became of new rows, as a person reads it.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{counted, grouped};
use fairfront_data::Notice;
use fairfront_model::{Audit, AuditedGroup, Lacking, Predicted};

use super::front::significant;
use super::{TextTable, cut, notices, percent};

/// How many rows there were, and what to be wary of.
pub(crate) fn predicted(place: Option<&Path>, done: &Predicted) -> String {
    let mut out = match place {
        Some(place) => format!("{}: ", place.display()),
        None => String::new(),
    };
    let selected = match done.rows {
        0 => String::new(),
        rows => format!(" ({})", percent(done.selected as f64 / rows as f64)),
    };
    let _ = writeln!(
        out,
        "{} scored, {} decided for{selected}",
        counted(done.rows, "row"),
        grouped(done.selected),
    );
    let mut said = Vec::new();
    if done.noted > 0 {
        let of = |l: &Lacking| {
            let kinds = [(l.missing, "missing"), (l.unseen, "unseen")];
            let kinds = kinds.iter().filter(|(n, _)| *n > 0);
            let kinds: Vec<String> = kinds
                .map(|(n, what)| format!("{} {what}", grouped(*n)))
                .collect();
            format!("{:?} {}", l.column, kinds.join(" and "))
        };
        let columns: Vec<String> = done.lacking.iter().map(of).collect();
        said.push(Notice::info(format!(
            "{} with a note, because values were missing or not seen in training: {}",
            counted(done.noted, "row"),
            columns.join(", ")
        )));
    }
    if !done.unused.is_empty() {
        const SAID: usize = 8;
        let names = done.unused.iter().take(SAID).map(|n| format!("{n:?}"));
        let names: Vec<String> = names.collect();
        let more = match done.unused.len().saturating_sub(SAID) {
            0 => String::new(),
            more => format!(" and {} more", grouped(more)),
        };
        said.push(Notice::info(format!(
            "the model has no use for {}: {}{more}",
            counted(done.unused.len(), "column"),
            names.join(", ")
        )));
    }
    for lacking in done.lacking.iter().filter(|l| l.unseen == done.rows) {
        said.push(Notice::warning(format!(
            "no value of {:?} was seen in training; are they written as in the table that was fitted?",
            lacking.column
        )));
    }
    said.extend(done.audit.iter().flat_map(in_vain));
    out.push_str(&notices(&said));
    out
}

/// What an audit cannot mean to say.
fn in_vain(found: &Audit) -> Vec<Notice> {
    let mut said = Vec::new();
    if found.overall.positive_rate == Some(0.0) {
        let condition = &found.condition;
        said.push(Notice::warning(format!(
            "no row has {condition}; are labels written as in the table that was fitted?"
        )));
    }
    for attribute in &found.attributes {
        let known: f64 = attribute
            .groups
            .0
            .iter()
            .map(|(_, group)| group.count)
            .sum();
        if known == 0.0 && found.overall.count > 0.0 {
            said.push(Notice::warning(format!(
                "no row is in a known group of {:?}; are groups written as in the table that was fitted?",
                attribute.name
            )));
        }
    }
    said
}

/// The groups of every attribute side by side.
pub(crate) fn audit(found: &Audit) -> String {
    let mut out = format!("Decisions compared with {}\n", found.condition);
    let count = match found.weight {
        Some(_) => ">weight",
        None => ">rows",
    };
    let table = |what: &str| {
        TextTable::new(&[
            what,
            count,
            ">positive",
            ">selected",
            ">FNR",
            ">FPR",
            ">accuracy",
        ])
    };
    let row = |name: &str, group: &AuditedGroup| {
        let share = |rate: Option<f64>| rate.map_or_else(|| "-".into(), percent);
        let count = match found.weight {
            Some(_) => significant(group.count),
            None => grouped(group.count as usize),
        };
        vec![
            cut(name, 60),
            count,
            share(group.positive_rate),
            share(group.selection_rate),
            share(group.false_negative_rate),
            share(group.false_positive_rate),
            share(group.accuracy),
        ]
    };
    if found.attributes.is_empty() {
        let mut all = table("");
        all.row(row("all", &found.overall));
        all.render(&mut out);
    }
    for attribute in &found.attributes {
        let _ = writeln!(out, "\nSensitive attribute: {}", attribute.name);
        let mut groups = table("group");
        for (name, group) in &attribute.groups.0 {
            groups.row(row(name, group));
        }
        groups.row(row("all", &found.overall));
        groups.render(&mut out);
        let number = |value: Option<f64>| value.map_or_else(|| "-".into(), significant);
        let _ = writeln!(
            out,
            "  selection rates differ by {} (ratio {}), FNR by {}, FPR by {}",
            number(attribute.demographic_parity_difference),
            number(attribute.demographic_parity_ratio),
            number(attribute.equal_opportunity_difference),
            number(attribute.false_positive_rate_difference),
        );
        if !attribute.left_out.is_empty() {
            let groups = attribute.left_out.join(", ");
            let _ = writeln!(
                out,
                "  left out of differences, because of too few training rows: {groups}"
            );
        }
        if let Some(n) = found.unknown.group.get(&attribute.name).filter(|n| **n > 0) {
            let _ = writeln!(
                out,
                "  {} of unknown group, among all only",
                counted(*n, "row")
            );
        }
    }
    if found.unknown.label > 0 {
        let n = counted(found.unknown.label, "row");
        let _ = writeln!(out, "\n{n} without a label, counted nowhere");
    }
    out
}
