//! An audit as a printable document.

use fairfront_core::{counted, grouped, readable};
use fairfront_data::Severity;
use fairfront_report::{Block, Document, Prose, RatioOfGroup, Ratios};

use super::ll144_page;
use super::page_table::{equal_or_below, number, percent, ratios, verdict};
use super::tables::shown_share;
use super::{AuditGroup, AuditResult, GroupsOfAttribute, MatchedBy, ReferenceBy, SourceKind};

/// The most groups in a figure.
const MOST_DRAWN: usize = 25;

/// Shows an audit as a document. Sources of its numbers name entries of the JSON output, which is in the file
/// `json`.
pub fn audit_page(found: &AuditResult, json: &str) -> Document {
    let page = Page { found, json };
    let mut blocks = vec![Block::Callout(
        Prose::default()
            .strong("These are screening figures.")
            .text(
                " They show whether decisions differ between groups, how certain that is, and how many people it concerns. \
                 They do not show whether a difference is lawful or justified.",
            ),
    )];
    let warnings = found
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Warning);
    blocks.extend(warnings.map(|d| Block::Callout(sentence(&d.message.to_string()).into())));
    if let Some(law) = &found.local_law_144 {
        blocks.extend(ll144_page::blocks(law, json, found.min_share));
    }
    blocks.push(Block::Section("Summary".into()));
    blocks.push(Block::List(page.summary()));
    let (single, intersections): (Vec<_>, Vec<_>) = (0..found.attributes.len())
        .partition(|at| found.attributes[*at].intersection_of.is_empty());
    for at in single {
        page.attribute(at, &mut blocks);
    }
    if !intersections.is_empty() {
        blocks.push(Block::Section("Intersections".into()));
        for at in intersections {
            page.intersection(at, &mut blocks);
        }
    }
    blocks.push(Block::Section("How to read the tables".into()));
    blocks.push(Block::List(page.terms()));
    let notes = found
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Note);
    let notes: Vec<Prose> = notes
        .map(|d| sentence(&d.message.to_string()).into())
        .collect();
    if !notes.is_empty() {
        blocks.push(Block::Section("Notes".into()));
        blocks.push(Block::List(notes));
    }
    Document {
        title: match found.local_law_144 {
            Some(_) => "Bias audit of decisions".into(),
            None => "Audit of decisions".into(),
        },
        facts: page.facts(),
        blocks,
        origin: None,
    }
}

/// A message as a sentence.
fn sentence(message: &str) -> String {
    let end = if message.ends_with('.') { "" } else { "." };
    // Names of files keep their case.
    let is_file = |word: &str| word.trim_end_matches([':', ',']).contains('.');
    if message.split(' ').next().is_some_and(is_file) {
        return format!("{message}{end}");
    }
    let mut chars = message.chars();
    let first = chars
        .next()
        .map(|c| c.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{first}{}{end}", chars.as_str())
}

pub(super) struct Page<'a> {
    pub(super) found: &'a AuditResult,
    pub(super) json: &'a str,
}

impl Page<'_> {
    pub(super) fn source(&self, entry: &str) -> String {
        format!("{}: {entry}", self.json)
    }

    pub(super) fn level(&self) -> String {
        format!("{}%", readable(100.0 * self.found.confidence))
    }

    fn facts(&self) -> Vec<(String, Prose)> {
        let found = self.found;
        let decisions = &found.decisions;
        let origin = match (&decisions.kind, &decisions.file, &decisions.column) {
            (SourceKind::Model, Some(file), _) => {
                Prose::from("fairfront model ").code(file.clone())
            }
            (kind, file, Some(column)) => {
                let word = if *kind == SourceKind::Scores {
                    "scores "
                } else {
                    "decisions "
                };
                let line = Prose::from(word).code(column.clone());
                match file {
                    Some(file) => line.text(" of ").code(file.clone()),
                    None => line.text(" of the rows"),
                }
            }
            _ => "unknown".into(),
        };
        let table = &found.table;
        let matched = match table.matched_by {
            MatchedBy::SameRow => String::new(),
            MatchedBy::Position => ", matched with scores by position".into(),
            MatchedBy::Key => format!(
                ", matched with scores by {}",
                table.key.as_deref().unwrap_or("key")
            ),
        };
        let rows = number(counted(table.rows, "row"), &self.source("table.rows"))
            .text(if table.files.is_empty() { "" } else { " of " })
            .code(table.files.join(", "))
            .text(matched);
        let overall = self.source("overall");
        let selected = number(grouped(found.overall.selected), &overall)
            .text(" rows, ")
            .number(
                found
                    .overall
                    .selection_rate
                    .map_or_else(|| "–".into(), percent),
                overall,
            )
            .text(format!(" ({})", decisions.condition));
        let mut facts = vec![
            ("Decisions".into(), origin),
            ("Rows".into(), rows),
            ("Selected".into(), selected),
        ];
        if let (Some(target), Some(positive)) = (&found.target, &found.positive) {
            let line = Prose::default()
                .code(target.clone())
                .text(format!(", positive: {positive}"));
            facts.push(("Target".into(), line));
        }
        if let Some(weight) = &found.weight {
            facts.push(("Weights".into(), Prose::default().code(weight.clone())));
        }
        facts.push((
            "Confidence".into(),
            format!("{} for each interval and test", self.level()).into(),
        ));
        facts.push((
            "Program".into(),
            format!("fairfront {}", found.program).into(),
        ));
        facts
    }

    /// One sentence per attribute about the group with the lowest ratio.
    fn summary(&self) -> Vec<Prose> {
        let attributes = self.found.attributes.iter().enumerate();
        attributes
            .map(|(at, attribute)| self.lowest(at, attribute))
            .collect()
    }

    fn lowest(&self, at: usize, attribute: &GroupsOfAttribute) -> Prose {
        let line = Prose::default().strong(attribute.name.clone()).text(": ");
        let ratio = |group: &AuditGroup| group.compared.as_ref()?.adverse_impact_ratio;
        let with_ratio = attribute
            .groups
            .0
            .iter()
            .filter(|(_, group)| ratio(group).is_some());
        let lowest = with_ratio.min_by(|(_, a), (_, b)| {
            let of = |group| ratio(group).unwrap_or(f64::INFINITY);
            of(a).total_cmp(&of(b))
        });
        let (Some((name, group)), Some(reference)) = (lowest, &attribute.reference) else {
            return line.text("no group has enough rows for a comparison.");
        };
        let Some(compared) = &group.compared else {
            return line.text("no group has enough rows for a comparison.");
        };
        let source = self.source(&format!("attributes[{at}].groups[{name:?}]"));
        let mut line = line.text("the lowest adverse impact ratio is ").number(
            ratio(group).map_or_else(String::new, |ratio| format!("{ratio:.3}")),
            source.clone(),
        );
        if let Some(interval) = compared.adverse_impact_ratio_interval {
            line = line
                .text(format!(" ({} interval ", self.level()))
                .number(ratios(interval), source.clone())
                .text(")");
        }
        line = line.text(format!(", for {name} compared with {reference}: "));
        line = line.strong(verdict(compared));
        if let Some(p) = compared.p_value {
            let word = match compared.significant {
                Some(true) => "statistically significant",
                _ => "not statistically significant",
            };
            line = line
                .text(format!(". The difference is {word} (p "))
                .number(equal_or_below(p), source.clone())
                .text(")");
        }
        if let Some(shortfall) = compared.shortfall.filter(|shortfall| *shortfall > 0.0) {
            line = line
                .text("; at the rate of the reference group, ")
                .number(format!("{shortfall:.1}"), source)
                .text(" more rows of the group would be selected");
        }
        line.text(".")
    }

    /// How the reference group was chosen, and rows that are not compared.
    fn introduction(&self, at: usize, attribute: &GroupsOfAttribute) -> Prose {
        let mut line = match (&attribute.reference, attribute.reference_by) {
            (None, _) => Prose::from("No group has enough rows to be the reference group."),
            (Some(group), ReferenceBy::Named) => Prose::from("The reference group is ")
                .strong(group.clone())
                .text(", as requested."),
            (Some(group), ReferenceBy::NamedParts) => Prose::from("The reference group is ")
                .strong(group.clone())
                .text(", the intersection of the reference groups of the attributes."),
            (Some(group), ReferenceBy::HighestSelectionRate) => {
                Prose::from("The reference group is ")
                    .strong(group.clone())
                    .text(", the group with the highest selection rate, because none was named.")
            }
        };
        let unknown = attribute.unknown;
        if unknown.rows > 0 {
            let source = self.source(&format!("attributes[{at}].unknown"));
            line = line
                .text(" The group of ")
                .number(counted(unknown.rows, "row"), source.clone())
                .text(" is unknown; ")
                .number(grouped(unknown.selected), source)
                .text(" of them are selected.");
        }
        if !attribute.left_out.is_empty() {
            line = line.text(format!(
                " Not compared, because of less than {} of the rows: {}.",
                shown_share(self.found.min_share),
                attribute.left_out.join(", ")
            ));
        }
        line
    }

    fn attribute(&self, at: usize, blocks: &mut Vec<Block>) {
        let attribute = &self.found.attributes[at];
        blocks.push(Block::Section(format!("Groups by {}", attribute.name)));
        blocks.push(Block::Text(self.introduction(at, attribute)));
        blocks.push(Block::Table(self.selection(at, attribute)));
        blocks.extend(self.figure(attribute));
        blocks.extend(self.comparison(at, attribute).map(Block::Table));
        blocks.extend(self.size(at, attribute).map(Block::Table));
        blocks.extend(self.errors(at, attribute).map(Block::Table));
        blocks.extend(self.error_differences(at, attribute).map(Block::Table));
        blocks.extend(self.scores(at, attribute).map(Block::Table));
        blocks.extend(self.at_shares(at, attribute).map(Block::Table));
        blocks.extend(self.deciles(at, attribute).map(Block::Table));
    }

    fn intersection(&self, at: usize, blocks: &mut Vec<Block>) {
        let attribute = &self.found.attributes[at];
        blocks.push(Block::Part(attribute.intersection_of.join(" × ")));
        blocks.push(Block::Text(self.introduction(at, attribute)));
        blocks.push(Block::Table(self.selection(at, attribute)));
        blocks.extend(self.figure(attribute));
        blocks.extend(self.comparison(at, attribute).map(Block::Table));
        blocks.extend(self.size(at, attribute).map(Block::Table));
        blocks.extend(self.errors(at, attribute).map(Block::Table));
    }

    fn figure(&self, attribute: &GroupsOfAttribute) -> Option<Block> {
        let reference = attribute.reference.as_ref()?;
        let of = |(name, group): &(String, AuditGroup)| {
            let compared = group.compared.as_ref()?;
            let [low, high] = compared.adverse_impact_ratio_interval?;
            Some(RatioOfGroup {
                name: name.clone(),
                ratio: compared.adverse_impact_ratio?,
                interval: [low?, high.unwrap_or(f64::INFINITY)],
            })
        };
        let groups: Vec<RatioOfGroup> = attribute.groups.0.iter().filter_map(of).collect();
        if groups.is_empty() || groups.len() > MOST_DRAWN {
            return None;
        }
        let alt = format!("Adverse impact ratios by {}", attribute.name);
        let figure = Ratios {
            title: alt.clone(),
            axis: format!("selection rate divided by that of {reference}"),
            groups,
            line: 0.8,
        };
        Some(Block::Figure {
            svg: figure.to_svg(),
            alt,
            caption: format!(
                "Adverse impact ratios with {} intervals. The dashed line is at four fifths, 0.8.",
                self.level()
            )
            .into(),
        })
    }

    fn terms(&self) -> Vec<Prose> {
        let term = |name: &str, text: String| Prose::default().strong(name).text(text);
        let level = self.level();
        let mut terms = vec![
            term(
                "Adverse impact ratio",
                ": the selection rate of a group divided by that of the reference group. Its interval is Koopman's score \
                 interval."
                    .into(),
            ),
            term(
                "Four fifths",
                format!(
                    ": “below” and “at or above” mean that the whole {level} interval of the ratio is on this side of 0.8. \
                     “Too few rows” means that the interval contains 0.8, so these rows cannot tell."
                ),
            ),
            term(
                "Significant",
                format!(
                    ": the p-value of equal selection rates is below {}. It says how surprising the difference is by \
                     chance, and nothing about its size. With many groups, some p-values are small by chance.",
                    readable(1.0 - self.found.confidence)
                ),
            ),
            term(
                "Shortfall",
                ": how many more rows of the group would be selected at the rate of the reference group; negative if \
                 fewer would be."
                    .into(),
            ),
        ];
        if self.found.target.is_some() {
            terms.push(term(
                "Error rates",
                ": the false negative rate is the share of rows labeled positive that are not selected, the false \
                 positive rate the share of rows labeled negative that are. Labels are recorded outcomes, which may be \
                 biased themselves."
                    .into(),
            ));
        }
        if self.found.overall.scores.is_some() {
            terms.push(term(
                "Standardized mean difference",
                ": the mean score of the group minus that of the reference group, in standard deviations of all scores.".into(),
            ));
        }
        terms.push(term(
            "Small groups",
            format!(
                ": groups with less than {} of the rows are listed, but not compared.",
                shown_share(self.found.min_share)
            ),
        ));
        terms
    }
}
