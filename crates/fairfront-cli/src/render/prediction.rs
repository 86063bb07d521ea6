//! Renders predictions and audits.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{counted, grouped};
use fairfront_data::Diagnostic;
use fairfront_model::{Audit, AuditedGroup, Lacking, Predicted};

use super::front::significant;
use super::{TextTable, cut, diagnostics, percent};

/// The number of scored rows, with warnings and notes.
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
        "{} scored, {} selected{selected}",
        counted(done.rows, "row"),
        grouped(done.selected),
    );
    let mut messages = Vec::new();
    if done.noted > 0 {
        let of = |l: &Lacking| {
            let kinds = [(l.missing, "missing"), (l.unseen, "unseen")];
            let kinds = kinds.iter().filter(|(n, _)| *n > 0);
            let kinds: Vec<String> = kinds
                .map(|(n, kind)| format!("{} {kind}", grouped(*n)))
                .collect();
            format!("{:?} {}", l.column, kinds.join(" and "))
        };
        let columns: Vec<String> = done.lacking.iter().map(of).collect();
        messages.push(Diagnostic::note(format!(
            "{} {} a note, because values were missing or not seen in training: {}",
            counted(done.noted, "row"),
            if done.noted == 1 { "has" } else { "have" },
            columns.join(", ")
        )));
    }
    if !done.unused.is_empty() {
        const LISTED: usize = 8;
        let names = done.unused.iter().take(LISTED).map(|n| format!("{n:?}"));
        let names: Vec<String> = names.collect();
        let more = match done.unused.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {} more", grouped(more)),
        };
        messages.push(Diagnostic::note(format!(
            "ignored {} that the model does not use: {}{more}",
            counted(done.unused.len(), "column"),
            names.join(", ")
        )));
    }
    for lacking in done.lacking.iter().filter(|l| l.unseen == done.rows) {
        messages.push(Diagnostic::warning(format!(
            "no value of {:?} was seen in training; check that values are written as in the training table",
            lacking.column
        )));
    }
    messages.extend(done.audit.iter().flat_map(audit_warnings));
    out.push_str(&diagnostics(&messages));
    out
}

/// Warns about an audit without positive labels or without known groups.
fn audit_warnings(found: &Audit) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if found.overall.positive_rate == Some(0.0) {
        let condition = &found.condition;
        warnings.push(Diagnostic::warning(format!(
            "no row has {condition}; check that labels are written as in the training table"
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
            warnings.push(Diagnostic::warning(format!(
                "no row is in a known group of {:?}; check that groups are written as in the training table",
                attribute.name
            )));
        }
    }
    warnings
}

/// Renders an audit: one table per attribute, with one row per group.
pub(crate) fn audit(found: &Audit) -> String {
    let mut out = format!("Decisions compared with {}\n", found.condition);
    let count = match found.weight {
        Some(_) => ">weight",
        None => ">rows",
    };
    let table = |title: &str| {
        TextTable::new(&[
            title,
            count,
            ">base rate",
            ">selection rate",
            ">false negative rate",
            ">false positive rate",
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
            "  demographic parity difference {} (ratio {}), equal opportunity difference {}, false \
             positive rate difference {}",
            number(attribute.demographic_parity_difference),
            number(attribute.demographic_parity_ratio),
            number(attribute.equal_opportunity_difference),
            number(attribute.false_positive_rate_difference),
        );
        if !attribute.left_out.is_empty() {
            let groups = attribute.left_out.join(", ");
            let _ = writeln!(
                out,
                "  left out of differences because of too few training rows: {groups}"
            );
        }
        if let Some(n) = found.unknown.group.get(&attribute.name).filter(|n| **n > 0) {
            let _ = writeln!(
                out,
                "  {} whose group is missing or new {} only under \"all\"",
                counted(*n, "row"),
                if *n == 1 { "counts" } else { "count" }
            );
        }
    }
    if found.unknown.label > 0 {
        let n = counted(found.unknown.label, "row");
        let _ = writeln!(out, "\nignored {n} without a label");
    }
    out
}
