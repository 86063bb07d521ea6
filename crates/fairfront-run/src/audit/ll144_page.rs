//! The tables of Local Law 144 in a document.

use fairfront_core::grouped;
use fairfront_report::{Block, Prose, Table};

use super::page_table::{dash, number, percent};
use super::tables::shown_share;
use super::{LocalLaw144, LocalLawKind, LocalLawTable};

pub(super) fn blocks(law: &LocalLaw144, json: &str, min_share: f64) -> Vec<Block> {
    let source = |entry: &str| format!("{json}: local_law_144.{entry}");
    let stated = |text: &Option<String>| text.clone().unwrap_or_else(|| "not stated".into());
    let mut facts = vec![
        Prose::default()
            .strong("Date of the audit: ")
            .number(law.date.clone(), source("date")),
        Prose::default()
            .strong("Source and explanation of the data: ")
            .text(stated(&law.source)),
        Prose::default()
            .strong("Distribution date of the tool: ")
            .text(stated(&law.distribution_date)),
        Prose::default()
            .strong("Individuals: ")
            .number(grouped(law.individuals), source("individuals")),
        Prose::default()
            .strong("Individuals of unknown sex or race/ethnicity: ")
            .number(grouped(law.unknown), source("unknown"))
            .text(
                ". A table does not include individuals whose category in that table is unknown.",
            ),
    ];
    let rate = match law.rate {
        LocalLawKind::SelectionRate => {
            "The selection rate is the share of a category that is selected. The impact ratio is this rate divided by the \
             rate of the most selected category."
        }
        LocalLawKind::ScoringRate => {
            "The scoring rate is the share of a category with a score above the median of all scores. The impact ratio is \
             this rate divided by the rate of the highest scoring category."
        }
    };
    if let Some(median) = law.median {
        let line = Prose::default().strong("Median score: ");
        facts.push(line.number(fairfront_core::readable(median), source("median")));
    }
    let mut blocks = vec![
        Block::Section("New York City Local Law 144".into()),
        Block::List(facts),
        Block::Text(rate.into()),
    ];
    for (at, table) in law.tables.iter().enumerate() {
        blocks.push(Block::Table(self::table(
            law,
            table,
            &source(&format!("tables[{at}]")),
        )));
        if table.unknown > 0 {
            let line = Prose::from("Not included: ")
                .number(
                    grouped(table.unknown),
                    source(&format!("tables[{at}].unknown")),
                )
                .text(" individuals of unknown category.");
            blocks.push(Block::Text(line));
        }
    }
    if let Some(justification) = &law.justification {
        let line = Prose::default()
            .strong(format!(
                "Categories left out, below {}: ",
                shown_share(min_share)
            ))
            .text(justification.clone());
        blocks.push(Block::Text(line));
    }
    blocks
}

fn table(law: &LocalLaw144, table: &LocalLawTable, source: &str) -> Table {
    let (selected, rate) = match law.rate {
        LocalLawKind::SelectionRate => ("Selected", "Selection rate"),
        LocalLawKind::ScoringRate => ("Above the median", "Scoring rate"),
    };
    let parts = table.attributes.len();
    let head = table.attributes.iter().map(String::as_str);
    let head = head.chain(["Applicants", selected, rate, "Impact ratio"]);
    let rows = table.categories.0.iter().map(|(name, category)| {
        let source = format!("{source}.categories[{name:?}]");
        let groups = category
            .groups
            .iter()
            .map(|group| Prose::from(group.clone()));
        let shown_rate = category
            .rate
            .map_or_else(dash, |rate| number(percent(rate), &source));
        let ratio = match (category.left_out, category.impact_ratio) {
            (true, _) => "left out".into(),
            (false, Some(ratio)) => number(format!("{ratio:.3}"), &source),
            (false, None) => dash(),
        };
        let numbers = [
            number(grouped(category.applicants), &source),
            number(grouped(category.selected), &source),
            shown_rate,
            ratio,
        ];
        groups.chain(numbers).collect()
    });
    Table {
        caption: table.title.clone().into(),
        head: head.map(Into::into).collect(),
        rows: rows.collect(),
        text_columns: (1..parts).collect(),
    }
}
