//! The tables of an audit for the terminal.

use std::fmt::Write;

use fairfront_core::{counted, grouped, readable};
use fairfront_data::Ordered;
use fairfront_run::{
    AuditGroup, AuditResult, GroupsOfAttribute, LocalLaw144, LocalLawKind, ReferenceBy,
};

use super::front::significant;
use super::{TextTable, percent};

/// Longer names of groups are cut.
const LONGEST: usize = 40;

/// Renders an audit of decisions.
pub(crate) fn decision_audit(found: &AuditResult) -> String {
    let mut out = String::new();
    let all = &found.overall;
    let _ = writeln!(
        out,
        "Selected ({}): {} of {}, {}",
        found.decisions.condition,
        grouped(all.selected),
        counted(all.rows, "row"),
        rate(all.selection_rate)
    );
    if let (Some(target), Some(positive)) = (&found.target, &found.positive) {
        let _ = writeln!(out, "Target: {target} (positive: {positive})");
    }
    for attribute in &found.attributes {
        of_attribute(&mut out, found, attribute);
    }
    if let Some(law) = &found.local_law_144 {
        of_law(&mut out, law);
    }
    let _ = writeln!(
        out,
        "\nThese are screening figures. They do not show whether a difference is lawful."
    );
    out
}

fn of_attribute(out: &mut String, found: &AuditResult, attribute: &GroupsOfAttribute) {
    let title = match attribute.intersection_of.is_empty() {
        true => "Sensitive attribute",
        false => "Intersection",
    };
    let _ = writeln!(out, "\n{title}: {}", attribute.name);
    let level = percent_level(found.confidence);
    let interval = format!("{level} interval");
    let mut table = TextTable::new(&[
        "group",
        ">rows",
        ">share",
        ">selected",
        ">rate",
        &interval,
        ">impact ratio",
        &interval,
        "four fifths",
        ">p-value",
        ">shortfall",
        ">odds ratio",
    ]);
    for (name, group) in &attribute.groups.0 {
        let compared = group.compared.as_ref();
        let is_reference = attribute.reference.as_ref() == Some(name);
        let word = match compared {
            _ if is_reference => "reference".to_owned(),
            Some(compared) => compared
                .four_fifths
                .map_or_else(|| "undefined".into(), |of| of.to_string()),
            None => "left out".into(),
        };
        let ratio = compared.and_then(|compared| compared.adverse_impact_ratio);
        let ends = compared.and_then(|compared| compared.adverse_impact_ratio_interval);
        table.row(vec![
            cut(name),
            grouped(group.rows),
            percent(group.share),
            grouped(group.selected),
            rate(group.selection_rate),
            rates(group.selection_rate_interval),
            ratio.map_or_else(dash, |ratio| format!("{ratio:.3}")),
            ends.map_or_else(dash, open_interval),
            word,
            compared
                .and_then(|of| of.p_value)
                .map_or_else(dash, p_value),
            compared
                .and_then(|of| of.shortfall)
                .map_or_else(dash, |n| format!("{n:.1}")),
            compared
                .and_then(|of| of.odds_ratio)
                .map_or_else(dash, |odds| format!("{odds:.3}")),
        ]);
    }
    table.render(out);
    let _ = writeln!(out, "  {}", reference_line(attribute));
    if !attribute.left_out.is_empty() {
        let share = readable(100.0 * found.min_share);
        let _ = writeln!(
            out,
            "  left out of ratios, with less than {share}% of the rows: {}",
            attribute.left_out.join(", ")
        );
    }
    if attribute.unknown.rows > 0 {
        let _ = writeln!(
            out,
            "  unknown group: {}, {} of them selected",
            counted(attribute.unknown.rows, "row"),
            grouped(attribute.unknown.selected)
        );
    }
    if !attribute.intersection_of.is_empty() {
        return;
    }
    outcomes(out, &attribute.groups, &found.overall);
    by_share(out, attribute);
}

/// How the reference group was chosen.
fn reference_line(attribute: &GroupsOfAttribute) -> String {
    match (&attribute.reference, attribute.reference_by) {
        (None, _) => "no group has enough rows to be the reference group".into(),
        (Some(group), ReferenceBy::Named) => format!("reference group: {group}"),
        (Some(group), ReferenceBy::NamedParts) => {
            format!("reference group: {group}, the intersection of the reference groups")
        }
        (Some(group), ReferenceBy::HighestSelectionRate) => {
            format!(
                "reference group: {group}, the highest selection rate (--reference sets another one)"
            )
        }
    }
}

/// Error rates and scores by group.
fn outcomes(out: &mut String, groups: &Ordered<AuditGroup>, overall: &AuditGroup) {
    let (has_errors, has_scores) = (overall.errors.is_some(), overall.scores.is_some());
    if !has_errors && !has_scores {
        return;
    }
    let mut head = vec!["group"];
    if has_errors {
        head.extend([
            ">base rate",
            ">false negative",
            ">false positive",
            ">accuracy",
        ]);
    }
    if has_scores {
        head.extend([">mean score", ">standardized difference"]);
    }
    if has_errors && has_scores {
        head.extend([">AUC", ">KS"]);
    }
    let mut table = TextTable::new(&head);
    let rows = groups.0.iter().map(|(name, group)| (name.as_str(), group));
    for (name, group) in rows.chain([("all", overall)]) {
        let mut cells = vec![cut(name)];
        if let Some(errors) = &group.errors {
            let rates = [
                errors.base_rate,
                errors.false_negative_rate,
                errors.false_positive_rate,
                errors.accuracy,
            ];
            cells.extend(rates.map(rate));
        }
        if let Some(scores) = &group.scores {
            cells.push(scores.mean.map_or_else(dash, significant));
            cells.push(
                scores
                    .standardized_mean_difference
                    .map_or_else(dash, |d| format!("{d:.3}")),
            );
            if has_errors {
                cells.extend(
                    [scores.auc, scores.ks].map(|of| of.map_or_else(dash, |v| format!("{v:.3}"))),
                );
            }
        }
        table.row(cells);
    }
    out.push('\n');
    table.render(out);
}

/// Ratios if exactly a share of the rows is selected.
fn by_share(out: &mut String, attribute: &GroupsOfAttribute) {
    let Some(first) = attribute.at_selection_rates.first() else {
        return;
    };
    let shares = attribute.at_selection_rates.iter();
    let head = shares.map(|at| format!(">{}%", readable(100.0 * at.selected_share)));
    let head: Vec<String> = ["group".to_owned()].into_iter().chain(head).collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&head);
    for (name, _) in &first.groups.0 {
        if attribute.reference.as_ref() == Some(name) {
            continue;
        }
        let ratio = |at: &fairfront_run::AtRate| {
            let ratio = at.groups.get(name).and_then(|of| of.adverse_impact_ratio);
            ratio.map_or_else(dash, |ratio| format!("{ratio:.3}"))
        };
        let ratios = attribute.at_selection_rates.iter().map(ratio);
        table.row([cut(name)].into_iter().chain(ratios).collect());
    }
    if table.has_rows() {
        out.push_str(
            "\n  impact ratio if this share of all rows is selected, from the highest score:\n",
        );
        table.render(out);
    }
}

/// The tables of Local Law 144.
fn of_law(out: &mut String, law: &LocalLaw144) {
    let _ = writeln!(out, "\nNew York City Local Law 144, audit of {}", law.date);
    let (count, rate_name) = match law.rate {
        LocalLawKind::SelectionRate => (">selected", ">selection rate"),
        LocalLawKind::ScoringRate => (">above median", ">scoring rate"),
    };
    for table in &law.tables {
        let _ = writeln!(out, "\n{}: {}", table.title, table.attributes.join(" × "));
        let mut head: Vec<&str> = table.attributes.iter().map(String::as_str).collect();
        head.extend([">applicants", count, rate_name, ">impact ratio"]);
        let mut shown = TextTable::new(&head);
        for (_, category) in &table.categories.0 {
            let mut cells: Vec<String> = category.groups.iter().map(|group| cut(group)).collect();
            cells.push(grouped(category.applicants));
            cells.push(grouped(category.selected));
            cells.push(rate(category.rate));
            cells.push(match category.left_out {
                true => "left out".into(),
                false => category
                    .impact_ratio
                    .map_or_else(dash, |ratio| format!("{ratio:.3}")),
            });
            shown.row(cells);
        }
        shown.render(out);
        if table.unknown > 0 {
            let _ = writeln!(
                out,
                "  not included, unknown category: {}",
                grouped(table.unknown)
            );
        }
    }
}

fn cut(name: &str) -> String {
    match name.chars().count() > LONGEST {
        true => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

fn dash() -> String {
    "-".into()
}

fn rate(value: Option<f64>) -> String {
    value.map_or_else(dash, percent)
}

fn rates(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(dash, |[low, high]| {
        format!("{:.1}–{}", 100.0 * low, percent(high))
    })
}

fn open_interval([low, high]: [Option<f64>; 2]) -> String {
    let end = |end: Option<f64>| end.map_or_else(|| "∞".into(), |end| format!("{end:.3}"));
    format!("{}–{}", end(low), end(high))
}

fn p_value(p: f64) -> String {
    match p < 1e-4 {
        true => "<0.0001".into(),
        false => format!("{p:.4}"),
    }
}

fn percent_level(confidence: f64) -> String {
    format!("{}%", readable(100.0 * confidence))
}
