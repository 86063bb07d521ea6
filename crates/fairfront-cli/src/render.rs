//! Text output for the terminal.

mod audit;
mod comparison;
mod family;
mod front;
mod lda;
mod plot;
mod prediction;
mod selection;
mod stream;
mod timing;
mod tuning;
mod verification;

pub(crate) use audit::decision_audit;
pub(crate) use comparison::{comparison, measure_comparison};
pub(crate) use front::{fit, front, table};
pub(crate) use lda::lda;
pub(crate) use plot::Charset;
pub(crate) use prediction::{audit, predicted};
pub(crate) use selection::{certificate, opening, requirement, selection};
pub(crate) use stream::{batch, batch_json, fed};
pub(crate) use timing::timings;
pub(crate) use tuning::tuning;
pub(crate) use verification::verification;

use std::fmt::Write;

use fairfront_core::{counted, grouped};
use fairfront_data::{
    ClassSummary, ColumnSummary, Diagnostic, Dropped, GroupSummary, Inspection, Ordered, Prepared,
    Proxy, Role, Severity, TargetDistribution, date_text,
};

use crate::output;
use crate::wording::Flags;

/// The kind of a measure, its class and the rest of its name in parentheses: `recall`, `high` and `(sex=F)`.
fn parts_of(name: &str) -> (&str, Option<&str>, &str) {
    let start = name.find(['[', '(']).unwrap_or(name.len());
    let (kind, rest) = name.split_at(start);
    let Some(of_class) = rest.strip_prefix('[') else {
        return (kind, None, rest);
    };
    // A class may contain brackets and parentheses.
    match of_class.rsplit_once("](") {
        Some((class, _)) => (kind, Some(class), &of_class[class.len() + 1..]),
        None => (
            kind,
            Some(of_class.strip_suffix(']').unwrap_or(of_class)),
            "",
        ),
    }
}

/// A text table with aligned columns.
pub(crate) struct TextTable {
    /// Whether each column is aligned to the right.
    right: Vec<bool>,
    /// The rows, of which the first `headers` are the header.
    rows: Vec<Vec<String>>,
    headers: usize,
}

impl TextTable {
    /// Creates a table with this header. Columns whose name starts with `>` are aligned to the right.
    pub(crate) fn new(header: &[&str]) -> Self {
        Self {
            right: header.iter().map(|h| h.starts_with('>')).collect(),
            rows: vec![
                header
                    .iter()
                    .map(|h| h.strip_prefix('>').unwrap_or(h).to_owned())
                    .collect(),
            ],
            headers: 1,
        }
    }

    /// Adds a second line to the header.
    pub(crate) fn second_header(&mut self, cells: Vec<String>) {
        self.row(cells);
        self.headers = 2;
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(
            cells.len(),
            self.right.len(),
            "a row has one cell per column"
        );
        self.rows.push(cells);
    }

    /// Whether there is a row below the header.
    pub(crate) fn has_rows(&self) -> bool {
        self.rows.len() > self.headers
    }

    pub(crate) fn render(&self, out: &mut String) {
        self.render_within(output::width(), out);
    }

    /// Renders the columns that fit into this width, and names the ones that do not.
    fn render_within(&self, most: Option<usize>, out: &mut String) {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        let needed = |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>();
        // The first two columns are always shown.
        while most.is_some_and(|most| needed(&widths) > most) && widths.len() > 2 {
            widths.pop();
        }
        for row in &self.rows {
            let mut line = String::from("  ");
            for ((cell, width), right) in row.iter().zip(&widths).zip(&self.right) {
                let pad = " ".repeat(width - cell.chars().count());
                let (before, after) = if *right { (&*pad, "") } else { ("", &*pad) };
                line.push_str(before);
                line.push_str(cell);
                line.push_str(after);
                line.push_str("  ");
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        let name = |column: usize| {
            let lines = self.rows[..self.headers]
                .iter()
                .map(|row| row[column].as_str());
            lines.collect::<Vec<_>>().join(" ").trim().to_owned()
        };
        let left_out: Vec<String> = (widths.len()..self.right.len())
            .map(name)
            .filter(|name| !name.is_empty())
            .collect();
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            let _ = writeln!(out, "  (the terminal is too narrow for: {names})");
        }
    }
}

/// A share as a percentage with the digits of measures.
pub(crate) fn share(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// Renders an inspection.
pub(crate) fn inspection(found: &Inspection) -> String {
    let mut out = String::new();
    let put = |out: &mut String, text: std::fmt::Arguments| {
        // Writing to a String cannot fail.
        let _ = out.write_fmt(text);
    };
    out.push_str(&row_counts(
        &found.source,
        found.rows,
        found.read,
        &found.dropped_by,
    ));

    out.push_str("\nColumns\n");
    columns(&found.columns, &mut out);

    if let Some(target) = &found.target {
        put(&mut out, format_args!("\nTarget: {}\n", target.condition));
        out.push_str(&distribution(&target.distribution));
    }
    for (title, tables) in [
        ("Sensitive attribute", &found.sensitive),
        ("Intersection", &found.intersections),
    ] {
        for (name, table) in &tables.0 {
            put(&mut out, format_args!("\n{title}: {name}\n"));
            groups(
                table,
                found.unknown.get(name).copied().unwrap_or(0),
                &mut out,
            );
            if let Some(proxy) = found.proxies.get(name) {
                proxies(proxy, &mut out);
            }
        }
    }

    if found.features > 0 {
        let parts: Vec<String> = found
            .split
            .0
            .iter()
            .filter(|(_, rows)| *rows > 0)
            .map(|(part, rows)| format!("{} {part}", grouped(*rows)))
            .collect();
        put(
            &mut out,
            format_args!(
                "\nRows: {}; {} after encoding\n",
                parts.join(", "),
                counted(found.features, "feature")
            ),
        );
    }
    if !found.diagnostics.is_empty() {
        out.push('\n');
        out.push_str(&diagnostics(&found.diagnostics));
    }
    if found.target.is_none() || found.sensitive.0.is_empty() {
        out.push_str(
            "\nTo see groups and base rates, choose the column to predict with --target and the \
             sensitive columns with --sensitive.\n",
        );
    }
    out
}

/// The distribution of a target.
fn distribution(found: &TargetDistribution) -> String {
    match found {
        TargetDistribution::Binary {
            positives,
            negatives,
            base_rate,
            ..
        } => format!(
            "  {} positive ({}), {} negative\n",
            grouped(*positives),
            percent(*base_rate),
            grouped(*negatives)
        ),
        TargetDistribution::Number {
            mean,
            standard_deviation,
            min,
            max,
        } => format!(
            "  a number: {} … {}, mean {}, standard deviation {}\n",
            number(*min),
            number(*max),
            number(*mean),
            number(*standard_deviation)
        ),
        TargetDistribution::Classes { classes, ordered } => {
            let (first, others) = shown_classes(&classes.0);
            let shown = first.iter().map(|(name, class)| {
                let (rows, share) = (grouped(class.count), percent(class.share));
                format!("{} {rows} ({share})", cut(name, 30))
            });
            let mut shown: Vec<String> = shown.collect();
            if let Some(others) = others {
                let (rows, share) = (grouped(others.count), percent(others.share));
                let n = classes.0.len() - first.len();
                shown.push(format!("{} other classes {rows} ({share})", grouped(n)));
            }
            let n = grouped(classes.0.len());
            let order = if *ordered { " in order" } else { "" };
            format!("  {n} classes{order}: {}\n", shown.join(", "))
        }
    }
}

/// The maximum number of classes that are shown one by one.
const MOST_SHOWN: usize = 6;

/// The classes to show one by one, and the sum of the others.
fn shown_classes(
    classes: &[(String, ClassSummary)],
) -> (&[(String, ClassSummary)], Option<ClassSummary>) {
    if classes.len() <= MOST_SHOWN {
        return (classes, None);
    }
    let (first, others) = classes.split_at(MOST_SHOWN - 1);
    let none = ClassSummary {
        count: 0,
        share: 0.0,
    };
    let sum = others.iter().fold(none, |sum, (_, class)| ClassSummary {
        count: sum.count + class.count,
        share: sum.share + class.share,
    });
    (first, Some(sum))
}

/// The groups of an attribute, with the share of each class.
fn groups_by_class(groups: &Ordered<GroupSummary>) -> TextTable {
    let of = |group: &GroupSummary| {
        let classes = group.classes.as_ref().map_or(&[][..], |classes| &classes.0);
        let (first, others) = shown_classes(classes);
        let mut shares: Vec<(String, f64)> = first
            .iter()
            .map(|(name, class)| (format!(">{}", cut(name, 20)), class.share))
            .collect();
        shares.extend(others.map(|others| (">others".to_owned(), others.share)));
        shares
    };
    let names = groups.0.first().map_or(Vec::new(), |(_, group)| of(group));
    let mut header = vec!["group", ">rows", ">share"];
    header.extend(names.iter().map(|(name, _)| name.as_str()));
    let mut table = TextTable::new(&header);
    for (name, group) in &groups.0 {
        let mut row = vec![cut(name, 60), grouped(group.count), percent(group.share)];
        row.extend(of(group).into_iter().map(|(_, share)| percent(share)));
        table.row(row);
    }
    let total: usize = groups.0.iter().map(|(_, g)| g.count).sum();
    let mut row = vec!["total".to_owned(), grouped(total), String::new()];
    row.extend(names.iter().map(|_| String::new()));
    table.row(row);
    table
}

/// The number of rows in use, and why the others are dropped.
pub(crate) fn rows_in_use(prepared: &Prepared) -> String {
    let read = prepared.table.n_rows();
    row_counts(
        &prepared.table.name,
        prepared.n_rows(),
        read,
        &prepared.dropped,
    )
}

fn row_counts(source: &str, rows: usize, read: usize, dropped_by: &[Dropped]) -> String {
    let dropped = read - rows;
    let mut out = format!("{source}: {}", counted(rows, "row"));
    if dropped > 0 {
        let _ = write!(
            out,
            " ({} read, {} dropped)",
            grouped(read),
            grouped(dropped)
        );
    }
    out.push('\n');
    for by in dropped_by {
        let _ = writeln!(out, "  {} dropped: {}", grouped(by.rows), by.reason);
    }
    if dropped_by.iter().map(|by| by.rows).sum::<usize>() > dropped {
        out.push_str("  (a row may count under several reasons)\n");
    }
    out
}

/// Renders warnings and notes, wrapped.
pub(crate) fn diagnostics(diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        let category = match diagnostic.severity {
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let _ = writeln!(out, "{category}: {}", diagnostic.message.render(&Flags));
    }
    output::wrapped(out)
}

fn columns(columns: &[ColumnSummary], out: &mut String) {
    let mut table = TextTable::new(&["name", "role", "type", ">missing", ">distinct", "values"]);
    let (read, not_read): (Vec<_>, Vec<_>) = columns.iter().partition(|c| c.missing.is_some());
    for column in read {
        let role = match column.role {
            Role::Feature if column.left_out.is_some() => "left out",
            Role::Target => "target",
            Role::Sensitive => "sensitive",
            Role::Weight => "weight",
            Role::Split => "split",
            Role::Mark => "mark",
            Role::Dropped => "dropped",
            Role::Feature => "feature",
        };
        let values = match (&column.left_out, &column.range) {
            (Some(reason), _) => reason.clone(),
            (None, Some(range)) if column.column_type.is_some_and(|t| t.date().is_some()) => {
                format!("{} … {}", date_text(range.min), date_text(range.max))
            }
            (None, Some(range)) => format!(
                "{} … {}, mean {}",
                number(range.min),
                number(range.max),
                number(range.mean)
            ),
            (None, None) => categories(column),
        };
        let distinct = match (column.distinct, column.merged) {
            (None, _) => "-".into(),
            (Some(n), None) => grouped(n),
            (Some(n), Some(merged)) => format!("{} → {merged}", grouped(n)),
        };
        table.row(vec![
            cut(&column.name, 40),
            role.into(),
            column
                .column_type
                .map_or_else(|| "-".into(), |t| t.to_string()),
            column.missing_share.map_or_else(|| "-".into(), percent),
            distinct,
            values,
        ]);
    }
    table.render(out);
    if !not_read.is_empty() {
        let names: Vec<&str> = not_read.iter().take(8).map(|c| c.name.as_str()).collect();
        let more = match not_read.len() - names.len() {
            0 => String::new(),
            more => format!(" and {} more", grouped(more)),
        };
        let _ = writeln!(out, "  dropped without reading: {}{more}", names.join(", "));
    }
}

/// The most frequent categories, as many as fit next to the other columns.
fn categories(column: &ColumnSummary) -> String {
    const WIDTH: usize = 48;
    let mut shown = String::new();
    let mut n_shown = 0;
    for (category, _) in &column.top {
        let room = WIDTH.saturating_sub(shown.chars().count());
        if n_shown > 0 && category.chars().count() > room {
            break;
        }
        if n_shown > 0 {
            shown.push_str(", ");
        }
        shown.push_str(&cut(category, WIDTH));
        n_shown += 1;
    }
    if n_shown > 0 && n_shown < column.merged.or(column.distinct).unwrap_or(0) {
        shown.push_str(", …");
    }
    shown
}

/// The text on one line, cut to `width` characters with … at its end.
fn cut(text: &str, width: usize) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(plain).collect();
    if text.chars().count() <= width {
        return text;
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

/// A number with at most three decimals, without trailing zeros.
fn number(value: f64) -> String {
    if value != 0.0 && (value.abs() >= 1e7 || value.abs() < 1e-3) {
        return format!("{value:.3e}");
    }
    let decimals = if value.abs() >= 100.0 { 1 } else { 3 };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn groups(groups: &Ordered<GroupSummary>, unknown: usize, out: &mut String) {
    if groups.0.iter().any(|(_, g)| g.classes.is_some()) {
        groups_by_class(groups).render(out);
    } else {
        groups_by_rate(groups).render(out);
    }
    if unknown > 0 {
        let _ = writeln!(
            out,
            "  {} whose group is unknown {} only for the loss",
            counted(unknown, "row"),
            if unknown == 1 { "counts" } else { "count" }
        );
    }
}

/// The groups of an attribute, with base rates or means.
fn groups_by_rate(groups: &Ordered<GroupSummary>) -> TextTable {
    let labeled = groups.0.iter().any(|(_, g)| g.positives.is_some());
    let has_means = groups.0.iter().any(|(_, g)| g.mean.is_some());
    let mut table = if has_means {
        TextTable::new(&["group", ">rows", ">share", ">mean"])
    } else if labeled {
        TextTable::new(&[
            "group",
            ">negative",
            ">positive",
            ">rows",
            ">share",
            ">base rate",
        ])
    } else {
        TextTable::new(&["group", ">rows", ">share"])
    };
    // The rate is the mean if the target is a number.
    let row = |name: &str, count: usize, share: String, positives: Option<usize>, rate: String| {
        match positives {
            Some(positives) => vec![
                name.to_owned(),
                grouped(count - positives),
                grouped(positives),
                grouped(count),
                share,
                rate,
            ],
            None if has_means => vec![name.to_owned(), grouped(count), share, rate],
            None => vec![name.to_owned(), grouped(count), share],
        }
    };
    for (name, group) in &groups.0 {
        let rate = group.base_rate.map(percent);
        let rate = rate.or(group.mean.map(number));
        let rate = rate.unwrap_or_else(|| "-".into());
        table.row(row(
            &cut(name, 60),
            group.count,
            percent(group.share),
            group.positives,
            rate,
        ));
    }
    let total: usize = groups.0.iter().map(|(_, g)| g.count).sum();
    let positives = groups.0.iter().map(|(_, g)| g.positives).sum();
    table.row(row("total", total, String::new(), positives, String::new()));
    table
}

fn proxies(proxy: &Proxy, out: &mut String) {
    let strongest = proxy.strongest();
    if strongest.is_empty() {
        return;
    }
    let joint = match (&proxy.auc, &proxy.group) {
        (Some(auc), Some(group)) => {
            format!("; all features together predict {group} with an AUC of {auc:.2}")
        }
        _ => String::new(),
    };
    let _ = writeln!(out, "  strongest proxies: {strongest}{joint}");
}

#[cfg(test)]
mod tests {
    use super::{TextTable, parts_of};

    #[test]
    fn names_of_measures_have_a_kind_a_class_and_an_attribute() {
        for (name, parts) in [
            ("accuracy", ("accuracy", None, "")),
            ("selection_rate(sex=F)", ("selection_rate", None, "(sex=F)")),
            ("f1[>50K (high)]", ("f1", Some(">50K (high)"), "")),
            (
                "recall[Assoc, voc](sex=F)",
                ("recall", Some("Assoc, voc"), "(sex=F)"),
            ),
            ("recall[a[b](c)](x=y)", ("recall", Some("a[b](c)"), "(x=y)")),
        ] {
            assert_eq!(parts_of(name), parts);
        }
    }

    #[test]
    fn a_table_leaves_out_columns_that_do_not_fit() {
        let mut table = TextTable::new(&["name", ">rows", ">share", "note"]);
        table.row(vec![
            "Female".into(),
            "1,200".into(),
            "40.0%".into(),
            "x".into(),
        ]);
        let at = |width| {
            let mut out = String::new();
            table.render_within(width, &mut out);
            out
        };
        let all = "  name     rows  share  note\n  Female  1,200  40.0%  x\n";
        assert_eq!(at(None), all);
        assert_eq!(at(Some(28)), all);
        assert_eq!(
            at(Some(25)),
            "  name     rows  share\n  Female  1,200  40.0%\n  (the terminal is too narrow for: note)\n"
        );
        // The first two columns stay.
        assert!(at(Some(3)).starts_with("  name     rows\n"));
    }
}
