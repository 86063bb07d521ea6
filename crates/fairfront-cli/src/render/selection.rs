//! A chosen point, as a person reads it.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{counted, grouped};
use fairfront_run::{Choice, FrontColumns, ModelCertificate};

use super::TextTable;

/// Which point, why, at what price, and what it is like on all rows.
pub(crate) fn selection(
    run: &Path,
    front: &FrontColumns,
    choice: &Choice,
    model: Option<&Path>,
) -> String {
    let found = &choice.selection;
    let mut out = format!(
        "{}: model {} of {}\n  why: {}\n",
        run.display(),
        found.id,
        counted(front.len(), "model"),
        shown(&found.reason),
    );
    if let Some(certificate) = &choice.of_model {
        out.push_str(&certificate_lines(certificate));
    }
    let _ = writeln!(
        out,
        "  price on {} rows: {}",
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
        // Columns of intervals end in .low and the like.
        let compares =
            name.ends_with(')') && (kind.ends_with("_difference") || kind.ends_with("_ratio"));
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
        let of_group = |name: &&&str| name.starts_with(rate) && name.ends_with(')');
        groups.extend(names.iter().filter(of_group));
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

/// A certificate: each requirement with the groups behind it, and what the test covers.
pub(crate) fn certificate_lines(certificate: &ModelCertificate) -> String {
    let words = certificate.words();
    let (checked, rest) = words.split_at(certificate.requirements.len());
    let mut out = String::new();
    for (words, checked) in checked.iter().zip(&certificate.requirements) {
        let _ = writeln!(out, "  {}", shown(words));
        let groups: Vec<String> = checked
            .groups
            .iter()
            .map(|size| {
                let name = size.group.as_deref().unwrap_or("all rows");
                let rate = size
                    .rate
                    .map_or_else(|| "-".into(), |rate| format!("{rate:.4}"));
                format!("{name} {rate} of {}", grouped(size.rows.round() as usize))
            })
            .collect();
        if !groups.is_empty() {
            let _ = writeln!(out, "    {}", shown(&groups.join(", ")));
        }
    }
    for sentence in rest {
        let _ = writeln!(out, "  {sentence}");
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

/// What the requirements of a fit came to.
pub(crate) fn requirement(choice: &Choice) -> String {
    let certified = choice.certificate.as_ref().map_or(0, |c| c.certified.len());
    let verb = if certified == 1 { "is" } else { "are" };
    let mut out = format!(
        "\n{} {verb} certified; model {}: {}\n",
        counted(certified, "model"),
        choice.selection.id,
        shown(&choice.selection.reason)
    );
    if let Some(certificate) = &choice.of_model {
        out.push_str(&certificate_lines(certificate));
    }
    out
}

/// The certificate that a model brings along.
pub(crate) fn certificate(certificate: &ModelCertificate) -> String {
    format!(
        "\nRequired of this model when it was chosen:\n{}",
        certificate_lines(certificate)
    )
}
