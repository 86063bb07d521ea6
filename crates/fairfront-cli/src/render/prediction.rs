//! Renders predictions and audits.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{counted, grouped, readable};
use fairfront_data::Diagnostic;
use fairfront_model::{
    Audit, AuditedAgainst, AuditedClass, AuditedDifferences, AuditedGroup, AuditedKind,
    AuditedReference, AuditedValues, Lacking, Predicted, Summary,
};

use super::front::significant;
use super::{TextTable, cut, diagnostics, percent};

/// Messages show at most this many classes.
const SHOWN_CLASSES: usize = 8;

/// The number of scored rows, with warnings and notes.
pub(crate) fn predicted(place: Option<&Path>, done: &Predicted) -> String {
    let mut out = match place {
        Some(place) => format!("{}: ", place.display()),
        None => String::new(),
    };
    let _ = write!(out, "{}", counted(done.rows, "row"));
    let _ = match &done.results {
        Summary::Decisions { selected, .. } => {
            let share = match done.rows {
                0 => String::new(),
                rows => format!(" ({})", percent(*selected as f64 / rows as f64)),
            };
            writeln!(out, " scored, {} selected{share}", grouped(*selected))
        }
        Summary::Classes { decisions } => {
            let share = |n: usize| match done.rows {
                0 => String::new(),
                rows => format!(" ({})", percent(n as f64 / rows as f64)),
            };
            let classes = decisions.0.iter().take(SHOWN_CLASSES);
            let classes: Vec<String> = classes
                .map(|(name, n)| format!("{} {}{}", cut(name, 30), grouped(*n), share(*n)))
                .collect();
            let more = match decisions.0.len().saturating_sub(SHOWN_CLASSES) {
                0 => String::new(),
                more => format!(" and {}", counted(more, "more class")),
            };
            writeln!(out, " scored: {}{more}", classes.join(", "))
        }
        Summary::Numbers {
            mean_prediction, ..
        } => {
            let mean =
                mean_prediction.map(|mean| format!(", mean prediction {}", significant(mean)));
            writeln!(out, " predicted{}", mean.unwrap_or_default())
        }
    };
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
    if let Summary::Numbers {
        training_range: [low, high],
        outside_training_range: outside @ 1..,
        ..
    } = &done.results
    {
        messages.push(Diagnostic::note(format!(
            "{} outside the range of the training targets, {} to {}",
            match outside {
                1 => "1 prediction is".into(),
                n => format!("{} predictions are", grouped(*n)),
            },
            readable(*low),
            readable(*high)
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
    let AuditedGroup { count, values } = &found.overall;
    if matches!(values, AuditedValues::Decisions { positive_rate: Some(rate), .. } if *rate == 0.0)
    {
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
        if known == 0.0 && *count > 0.0 {
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
    let (results, values) = headings(&found.kind);
    let mut out = format!("{results} compared with {}\n", found.condition);
    let count = match found.weight {
        Some(_) => ">weight",
        None => ">rows",
    };
    let table = |title: &str| {
        let head: Vec<&str> = [title, count].iter().chain(values).copied().collect();
        TextTable::new(&head)
    };
    let row = |name: &str, group: &AuditedGroup| {
        let count = match found.weight {
            Some(_) => significant(group.count),
            None => grouped(group.count.round() as usize),
        };
        [cut(name, 60), count]
            .into_iter()
            .chain(shown(&group.values))
            .collect()
    };
    if found.attributes.is_empty() {
        let mut all = table("");
        all.row(row("all", &found.overall));
        all.render(&mut out);
        classes(&[("all", &found.overall)], found, &mut out);
    }
    for attribute in &found.attributes {
        let _ = writeln!(out, "\nSensitive attribute: {}", attribute.name);
        let mut groups = table("group");
        for (name, group) in &attribute.groups.0 {
            groups.row(row(name, group));
        }
        groups.row(row("all", &found.overall));
        groups.render(&mut out);
        let all = ("all", &found.overall);
        let of_groups = attribute
            .groups
            .0
            .iter()
            .map(|(name, of)| (name.as_str(), of));
        classes(&of_groups.chain([all]).collect::<Vec<_>>(), found, &mut out);
        let _ = writeln!(out, "  {}", differences(&attribute.differences));
        if attribute.estimated {
            let _ = writeln!(out, "  {}", estimated(&attribute.name));
        }
        if let Some(reference) = &attribute.reference {
            against(reference, &mut out);
        }
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
    if let AuditedKind::Numbers { r2: Some(r2) } = found.kind {
        let _ = writeln!(out, "\nR2 over all rows: {}", significant(r2));
    }
    if found.unknown.label > 0 {
        let n = counted(found.unknown.label, "row");
        let missing = match found.kind {
            AuditedKind::Decisions { .. } | AuditedKind::Classes { .. } => "a label",
            AuditedKind::Numbers { .. } => "a target",
        };
        let _ = writeln!(out, "\nignored {n} without {missing}");
    }
    out
}

/// The results of an audit, and the names of its columns.
fn headings(kind: &AuditedKind) -> (&'static str, &'static [&'static str]) {
    match kind {
        AuditedKind::Decisions { .. } => (
            "Decisions",
            &[
                ">base rate",
                ">selection rate",
                ">false negative rate",
                ">false positive rate",
                ">accuracy",
            ],
        ),
        AuditedKind::Classes { .. } => (
            "Decisions",
            &[">accuracy", ">balanced accuracy", ">macro F1"],
        ),
        AuditedKind::Numbers { .. } => (
            "Predictions",
            &[
                ">mean prediction",
                ">mean target",
                ">mean residual",
                ">RMSE",
                ">MAE",
            ],
        ),
    }
}

/// The note under values by groups that are only estimated.
pub(crate) fn estimated(attribute: &str) -> String {
    format!(
        "the groups of {attribute} are estimated: values are weighted by their probabilities, and may differ from \
         those of the true groups"
    )
}

/// Renders the comparison with a reference group: one row per group, and one for the attribute.
fn against(reference: &AuditedReference, out: &mut String) {
    let values = |of: &AuditedAgainst| match of {
        AuditedAgainst::Decisions {
            adverse_impact_ratio,
            shortfall,
            odds_ratio,
        } => [adverse_impact_ratio, shortfall, odds_ratio]
            .map(|value| number(*value))
            .to_vec(),
        AuditedAgainst::Numbers {
            standardized_mean_difference,
        } => vec![number(*standardized_mean_difference)],
    };
    let heads: &[&str] = match reference.all {
        AuditedAgainst::Decisions { .. } => &[">adverse impact ratio", ">shortfall", ">odds ratio"],
        AuditedAgainst::Numbers { .. } => &[">standardized mean difference"],
    };
    let title = format!("compared with {}", cut(&reference.group, 40));
    let head: Vec<&str> = std::iter::once(title.as_str())
        .chain(heads.iter().copied())
        .collect();
    let mut table = TextTable::new(&head);
    let others = reference.others.0.iter();
    let others = others.map(|(name, of)| (cut(name, 60), of));
    for (name, of) in others.chain([("all".into(), &reference.all)]) {
        table.row(std::iter::once(name).chain(values(of)).collect());
    }
    table.render(out);
}

/// A value of a class.
type OfClass = fn(&AuditedClass) -> Option<f64>;

/// Renders the values of each class: one table per value, with one row per group.
fn classes(groups: &[(&str, &AuditedGroup)], found: &Audit, out: &mut String) {
    let AuditedKind::Classes { ordered, .. } = found.kind else {
        return;
    };
    let rate = match ordered {
        true => "selection rate (class or higher)",
        false => "selection rate",
    };
    let values: [(&str, OfClass); 3] = [
        (rate, |class| class.selection_rate),
        ("recall", |class| class.recall),
        ("precision", |class| class.precision),
    ];
    for (title, value) in values {
        let of_group = |group: &AuditedGroup| match &group.values {
            AuditedValues::Classes { classes, .. } => classes.0.clone(),
            AuditedValues::Decisions { .. } | AuditedValues::Numbers { .. } => Vec::new(),
        };
        let names = of_group(&found.overall);
        let names = names.iter().map(|(name, _)| format!(">{}", cut(name, 30)));
        let head: Vec<String> = [title.to_owned()].into_iter().chain(names).collect();
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let mut table = TextTable::new(&head);
        for (name, group) in groups {
            let values = of_group(group);
            let values = values.iter().map(|(_, class)| rate_of(value(class)));
            table.row([cut(name, 60)].into_iter().chain(values).collect());
        }
        table.render(out);
    }
}

fn rate_of(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), percent)
}

/// The values of a group as they are shown.
fn shown(values: &AuditedValues) -> Vec<String> {
    match values {
        AuditedValues::Decisions {
            positive_rate,
            selection_rate,
            false_negative_rate,
            false_positive_rate,
            accuracy,
        } => [
            positive_rate,
            selection_rate,
            false_negative_rate,
            false_positive_rate,
            accuracy,
        ]
        .map(|rate| rate_of(*rate))
        .into(),
        AuditedValues::Classes {
            accuracy,
            balanced_accuracy,
            macro_f1,
            ..
        } => vec![
            rate_of(*accuracy),
            rate_of(*balanced_accuracy),
            number(*macro_f1),
        ],
        AuditedValues::Numbers {
            mean_prediction,
            mean_target,
            mean_residual,
            rmse,
            mae,
        } => [mean_prediction, mean_target, mean_residual, rmse, mae]
            .map(|value| number(*value))
            .into(),
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), significant)
}

/// The differences between the groups of an attribute.
fn differences(of: &AuditedDifferences) -> String {
    match of {
        AuditedDifferences::Decisions {
            demographic_parity_difference,
            demographic_parity_ratio,
            equal_opportunity_difference,
            false_positive_rate_difference,
            ..
        } => format!(
            "demographic parity difference {} (ratio {}), equal opportunity difference {}, false positive \
             rate difference {}",
            number(*demographic_parity_difference),
            number(*demographic_parity_ratio),
            number(*equal_opportunity_difference),
            number(*false_positive_rate_difference),
        ),
        AuditedDifferences::Classes {
            demographic_parity_difference,
            demographic_parity_ratio,
            equal_opportunity_difference,
            equalized_odds_difference,
            ..
        } => format!(
            "largest over all classes: demographic parity difference {} (ratio {}), equal opportunity difference \
             {}, equalized odds difference {}",
            number(*demographic_parity_difference),
            number(*demographic_parity_ratio),
            number(*equal_opportunity_difference),
            number(*equalized_odds_difference),
        ),
        AuditedDifferences::Numbers {
            mean_difference,
            distribution_difference,
            rmse_difference,
            mae_difference,
            ..
        } => format!(
            "mean difference {}, distribution difference {}, RMSE difference {}, MAE difference {}",
            number(*mean_difference),
            number(*distribution_difference),
            number(*rmse_difference),
            number(*mae_difference),
        ),
    }
}
