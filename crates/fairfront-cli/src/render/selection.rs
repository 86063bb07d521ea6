//! A chosen point, as a person reads it.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::counted;
use fairfront_run::{FrontColumns, Selection};

use super::TextTable;

/// Which point, why, at what price, and what it is like on all rows.
pub(crate) fn selection(
    run: &Path,
    front: &FrontColumns,
    found: &Selection,
    model: Option<&Path>,
) -> String {
    let mut out = format!(
        "{}: point {} of {}\n  why: {}\n  price on {} rows: {}\n",
        run.display(),
        found.id,
        counted(front.len(), "point"),
        shown(&found.reason),
        found.price.split,
        shown(&found.price.sentence),
    );
    let splits: Vec<&str> = front.splits().iter().map(|split| split.name()).collect();
    let cell = |split: &str, name: &str| -> String {
        let column = format!("{split}.{name}");
        let own = front.columns.get(&column).and_then(|c| c[found.id]);
        let before = front.unmitigated.get(&column).copied().flatten();
        let written = |v: Option<f64>| v.map_or_else(|| "-".into(), |v| format!("{v:.4}"));
        format!("{} ({})", written(own), written(before))
    };
    let prefix = format!("{}.", splits.first().unwrap_or(&"train"));
    let names = front.columns.0.iter();
    let names: Vec<&str> = names
        .filter_map(|(name, _)| name.strip_prefix(&prefix))
        .collect();
    let is_overall = |name: &&&str| {
        let kind = name.split('(').next().unwrap_or(name);
        let compares = kind.ends_with("_difference") || kind.ends_with("_ratio");
        // The error rate is a measure if its costs differ.
        compares || kind == "error_rate" || matches!(**name, "accuracy" | "log_loss")
    };
    let table = |title: &str, names: &[&str], out: &mut String| {
        let header: Vec<String> = std::iter::once(title.to_owned())
            .chain(splits.iter().map(|split| format!(">{split}")))
            .collect();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let mut table = TextTable::new(&header);
        for name in names {
            let cells = splits.iter().map(|split| cell(split, name));
            table.row(std::iter::once(label(name)).chain(cells).collect());
        }
        out.push('\n');
        table.render(out);
    };
    let overall: Vec<&str> = names.iter().filter(is_overall).copied().collect();
    table("", &overall, &mut out);
    let mut groups: Vec<&str> = Vec::new();
    for rate in [
        "selection_rate(",
        "false_negative_rate(",
        "false_positive_rate(",
        "accuracy(",
    ] {
        groups.extend(names.iter().filter(|name| name.starts_with(rate)));
    }
    if !groups.is_empty() {
        table("by group", &groups, &mut out);
    }
    let _ = writeln!(out, "\nIn parentheses: the unmitigated model.");
    if let Some(model) = model {
        let _ = writeln!(out, "The model is in {}.", model.display());
    }
    out
}

/// A column's name in words: `selection rate (sex=F)`.
fn label(name: &str) -> String {
    let label = match name.split_once('(') {
        Some((kind, inside)) => format!("{} ({inside}", kind.replace('_', " ")),
        None => name.replace('_', " "),
    };
    shown(&label)
}

/// What would move the cursor does not get to the terminal.
fn shown(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}
