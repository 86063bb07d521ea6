//! Renders selected models and their certificates.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{Target, counted, readable};
use fairfront_data::Spec;
use fairfront_model::ModelCertificate;
use fairfront_run::{Choice, FrontColumns, Opening, Price, Rule, Unit, is_measure, select};

use super::{TextTable, share};

/// Renders a selected model: the reason, the certificate, the price and the measures.
pub(crate) fn selection(
    run: &Path,
    front: &FrontColumns,
    choice: &Choice,
    not_compared: &[String],
    spec: &Spec,
    model: Option<&Path>,
) -> String {
    let found = &choice.selection;
    let mut out = format!(
        "{}: model {} of {}\n  reason: {}\n",
        run.display(),
        found.model_id,
        counted(front.len(), "model"),
        shown(&found.reason),
    );
    if let Some(certificate) = &choice.of_model {
        out.push_str(&certificate_lines(certificate));
    }
    out.push_str(&price(&found.price));
    let splits: Vec<&str> = front.splits().iter().map(|split| split.name()).collect();
    let reporting = front.reporting().name();
    let at = |column: &str| {
        front
            .columns
            .get(column)
            .and_then(|c| c[found.model_id.index()])
    };
    let written = |name: &str, value: Option<f64>| {
        value.map_or_else(|| "-".into(), |value| number(front, name, value))
    };
    // Ends of intervals, if any column has them.
    let ends = |name: &str| {
        let end = |end: &str| at(&format!("{reporting}.{name}.{end}"));
        Some((end("low")?, end("high")?))
    };
    let has_ends = ends(&front.meaning.performance).is_some();
    let prefix = format!("{}.", splits.first().unwrap_or(&"train"));
    let names = front.columns.0.iter();
    let names: Vec<&str> = names
        .filter_map(|(name, _)| name.strip_prefix(&prefix))
        .collect();
    let table = |title: &str, names: &[&str], out: &mut String| {
        let mut header = vec![title.to_owned()];
        header.extend(splits.iter().map(|split| format!(">{split}")));
        if has_ends {
            header.push(format!(">95% interval, {reporting}"));
        }
        header.push(format!(">unmitigated, {reporting}"));
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let mut table = TextTable::new(&header);
        for name in names {
            let mut cells = vec![label(name)];
            let own = splits
                .iter()
                .map(|split| written(name, at(&format!("{split}.{name}"))));
            cells.extend(own);
            if has_ends {
                cells.push(ends(name).map_or_else(
                    || "-".into(),
                    |(low, high)| {
                        format!(
                            "{} to {}",
                            number(front, name, low),
                            number(front, name, high)
                        )
                    },
                ));
            }
            let before = front.unmitigated.get(&format!("{reporting}.{name}"));
            cells.push(written(name, before.copied().flatten()));
            table.row(cells);
        }
        out.push('\n');
        table.render(out);
    };
    let overall: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| is_overall(front, name))
        .collect();
    table("", &overall, &mut out);
    let groups = of_groups(front, &names);
    if !groups.is_empty() {
        table("by group", &groups, &mut out);
    }
    for name in spec.probabilities.keys() {
        let _ = writeln!(out, "  {}", super::prediction::estimated(name));
    }
    if !not_compared.is_empty() {
        let groups = shown(&not_compared.join(", "));
        let _ = writeln!(
            out,
            "  left out of differences and ratios because of too few training rows: {groups}"
        );
    }
    if let Some(model) = model {
        let _ = writeln!(out, "\nWrote the model to {}.", model.display());
    }
    out
}

/// The measures of each group, by measure.
fn of_groups<'a>(front: &FrontColumns, names: &[&'a str]) -> Vec<&'a str> {
    let starts = match &front.meaning.target {
        Target::Binary => [
            "selection_rate(",
            "false_negative_rate(",
            "false_positive_rate(",
            "accuracy(",
        ],
        Target::Classes(_) => ["selection_rate[", "recall[", "accuracy(", "macro_f1("],
        Target::Number(_) => ["mean_prediction(", "mean_residual(", "rmse(", "mae("],
    };
    let of = |start: &'static str| {
        // Measures of classes over all rows have no parentheses.
        let is_own =
            move |name: &&str| name.starts_with(start) && name.ends_with(')') && is_measure(name);
        names.iter().copied().filter(is_own)
    };
    starts.into_iter().flat_map(of).collect()
}

/// Whether a measure is about all rows, or compares groups.
fn is_overall(front: &FrontColumns, name: &str) -> bool {
    let Some(meaning) = front.meaning.measure(name) else {
        return false;
    };
    let compares = !meaning.compares.is_empty() && meaning.unit != Unit::Loss;
    // The error rate is a measure if its costs differ.
    let is_loss = meaning.unit == Unit::Loss && meaning.compares.is_empty();
    let is_quality = match &front.meaning.target {
        Target::Binary => name == "accuracy",
        Target::Classes(_) => matches!(name, "accuracy" | "balanced_accuracy" | "macro_f1"),
        Target::Number(_) => !name.contains('('),
    };
    // The differences of each class would hide the largest ones.
    let compares = compares && !name.contains('[');
    is_measure(name) && (compares || is_loss || is_quality) && !name.contains('=')
}

/// A value of a measure; shares are percentages.
fn number(front: &FrontColumns, name: &str, value: f64) -> String {
    match front.meaning.measure(name).map(|meaning| meaning.unit) {
        Some(Unit::Share) => share(value),
        Some(Unit::InTarget) => front.meaning.in_target(value),
        _ => format!("{value:.4}"),
    }
}

/// The line about the price, with its rows and intervals.
pub(crate) fn price(price: &Price) -> String {
    format!(
        "  compared with the unmitigated model, {}: {}\n",
        price.basis(),
        shown(&price.sentence)
    )
}

/// The model that the report opens at, with its price.
pub(crate) fn opening(report: &Path, front: &FrontColumns, opening: &Opening) -> String {
    let report = report.display();
    let reason = shown(&opening.reason);
    let Some(id) = opening.model_id else {
        return format!("\n{report} opens at the unmitigated model: {reason}.\n");
    };
    let found = select(front, &[], &Rule::Id(id));
    let price = found.map_or_else(|_| String::new(), |found| price(&found.price));
    format!("\n{report} opens at model {id}: {reason}.\n{price}")
}

/// The lines of a certificate: each requirement with the rates of its groups, and the scope of the test.
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
                let value = |value: f64| match checked.is_number {
                    true => readable(value),
                    false => share(value),
                };
                let rate = size.rate.map_or_else(|| "-".into(), value);
                let over = if checked.is_number { "over" } else { "of" };
                format!(
                    "{name} {rate} {over} {}",
                    counted(size.rows.round() as usize, "row")
                )
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

/// A column's name in words: `selection rate (sex=F)`, `recall for high (sex=F)`.
fn label(name: &str) -> String {
    let (kind, class, inside) = super::parts_of(name);
    let of_class = class.map_or_else(String::new, |class| format!(" for {class}"));
    let inside = match inside {
        "" => String::new(),
        inside => format!(" {inside}"),
    };
    shown(&format!("{}{of_class}{inside}", kind.replace('_', " ")))
}

/// Replaces control characters, which could move the cursor.
fn shown(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// The result of the requirements of a fit.
pub(crate) fn requirement(choice: &Choice) -> String {
    let certified = choice.certificate.as_ref().map_or(0, |c| c.certified.len());
    let verb = if certified == 1 { "is" } else { "are" };
    let mut out = format!(
        "{} {verb} certified; model {}: {}\n",
        counted(certified, "model"),
        choice.selection.model_id,
        shown(&choice.selection.reason)
    );
    if let Some(certificate) = &choice.of_model {
        out.push_str(&certificate_lines(certificate));
    }
    out.push_str(&price(&choice.selection.price));
    out
}

/// The certificate stored in a model file.
pub(crate) fn certificate(certificate: &ModelCertificate) -> String {
    format!(
        "\nRequirements when this model was selected:\n{}",
        certificate_lines(certificate)
    )
}
