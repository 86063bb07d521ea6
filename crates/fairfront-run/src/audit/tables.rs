//! Counts and comparisons by group and by intersection.

use fairfront_core::{
    Cell, adverse_impact_ratio, auc, auc_difference, difference_interval, equal_rates, fisher,
    grouped, ks, normal_quantile, odds_ratio, odds_ratio_interval, rate_interval, ratio_interval,
    shortfall, standardized_mean_difference,
};
use fairfront_data::{Diagnostic, Ordered};

use super::grouping::{Grouping, MOST_GROUPS, check_references, intersections};
use super::ranking::{Ranking, at_rates, deciles};
use super::{
    AuditGroup, AuditOptions, AuditResult, AuditRows, ComparedGroup, ErrorDifferences, FourFifths,
    GroupErrors, GroupScores, GroupsOfAttribute, ReferenceBy, TestUsed, UnknownRows, ll144,
};
use crate::Error;

/// The ratio of the four-fifths rule.
const FOUR_FIFTHS: f64 = 0.8;
/// The most rows of two groups for Fisher's exact test.
const MOST_FISHER_ROWS: f64 = 1e6;

/// Audits the decisions of rows in memory.
pub fn audit_rows(rows: &AuditRows, options: &AuditOptions) -> Result<AuditResult, Error> {
    options.check()?;
    rows.check()?;
    let mut diagnostics = rows.diagnostics.clone();
    check_references(rows, options)?;
    let overall = Counts::of(rows, &vec![0; rows.len()], 1);
    let all = overall.groups[0].clone();
    let mut attributes = Vec::new();
    let ranking = rows
        .scores
        .as_ref()
        .map(|scores| Ranking::new(scores, rows.weights.as_deref()));
    for attribute in &rows.attributes {
        let groups = Grouping {
            name: attribute.name.clone(),
            parts: Vec::new(),
            names: attribute.groups.clone(),
            codes: attribute.codes.clone(),
        };
        attributes.push(compare(
            rows,
            options,
            &groups,
            ranking.as_ref(),
            &mut diagnostics,
        ));
    }
    for parts in intersections(rows.attributes.len()) {
        let Some(groups) = Grouping::intersection(rows, &parts) else {
            let names = parts.iter().map(|at| rows.attributes[*at].name.as_str());
            let names: Vec<&str> = names.collect();
            diagnostics.push(Diagnostic::note(format!(
                "the intersection {} has more than {} groups, so it is not shown",
                names.join(":"),
                grouped(MOST_GROUPS)
            )));
            continue;
        };
        if rows.attributes.iter().any(|own| own.name == groups.name) {
            continue;
        }
        attributes.push(compare(rows, options, &groups, None, &mut diagnostics));
    }
    let local_law_144 = match &options.local_law_144 {
        Some(request) => Some(ll144::tables(rows, options, request, &mut diagnostics)?),
        None => None,
    };
    Ok(AuditResult {
        program: env!("CARGO_PKG_VERSION").into(),
        decisions: rows.decisions_from.clone(),
        table: rows.table.clone(),
        target: rows.target.clone(),
        positive: rows.positive.clone(),
        weight: rows.weight.clone(),
        confidence: options.confidence,
        min_share: options.min_share,
        overall: all.shown(rows, all.area(rows), options.confidence, 1.0),
        attributes,
        local_law_144,
        diagnostics,
    })
}

/// Sums of a group.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    pub(super) rows: usize,
    pub(super) selected_rows: usize,
    pub(super) selected: Cell,
    labeled: usize,
    positives: f64,
    missed: Cell,
    false_positives: Cell,
    right: Cell,
    /// Of the scores.
    score: f64,
    /// The rows, in order.
    members: Vec<u32>,
}

/// The sums of all groups.
pub(super) struct Counts {
    pub(super) groups: Vec<Sums>,
    pub(super) unknown: UnknownRows,
}

fn add(cell: &mut Cell, success: bool, weight: f64) {
    cell.trials += weight;
    cell.trials_squared += weight * weight;
    if success {
        cell.successes += weight;
        cell.successes_squared += weight * weight;
    }
}

impl Counts {
    /// Counts rows by their codes.
    pub(super) fn of(rows: &AuditRows, codes: &[u32], n_groups: usize) -> Self {
        let mut counts = Self {
            groups: vec![Sums::default(); n_groups],
            unknown: UnknownRows {
                rows: 0,
                selected: 0,
            },
        };
        for (row, code) in codes.iter().enumerate() {
            let selected = rows.decisions[row];
            let Some(sums) = counts.groups.get_mut(*code as usize) else {
                counts.unknown.rows += 1;
                counts.unknown.selected += usize::from(selected);
                continue;
            };
            let weight = rows.weights.as_ref().map_or(1.0, |weights| weights[row]);
            sums.rows += 1;
            sums.selected_rows += usize::from(selected);
            add(&mut sums.selected, selected, weight);
            if let Some(label) = rows.labels.as_ref().and_then(|labels| labels[row]) {
                sums.labeled += 1;
                sums.positives += if label { weight } else { 0.0 };
                add(&mut sums.right, selected == label, weight);
                match label {
                    true => add(&mut sums.missed, !selected, weight),
                    false => add(&mut sums.false_positives, selected, weight),
                }
            }
            if let Some(scores) = &rows.scores {
                sums.score += weight * scores[row];
                sums.members.push(row as u32);
            }
        }
        counts
    }
}

impl Sums {
    /// The values of a group without comparisons.
    fn shown(
        &self,
        rows: &AuditRows,
        area: Option<Area>,
        confidence: f64,
        share: f64,
    ) -> AuditGroup {
        let interval = |cell: &Cell| rate_interval(cell, confidence);
        AuditGroup {
            rows: self.rows,
            selected: self.selected_rows,
            weight: rows.weights.as_ref().map(|_| self.selected.trials),
            share,
            selection_rate: self.selected.rate(),
            selection_rate_interval: interval(&self.selected),
            compared: None,
            errors: rows.labels.as_ref().map(|_| GroupErrors {
                rows: self.labeled,
                base_rate: (self.right.trials > 0.0).then(|| self.positives / self.right.trials),
                false_negative_rate: self.missed.rate(),
                false_negative_rate_interval: interval(&self.missed),
                false_positive_rate: self.false_positives.rate(),
                false_positive_rate_interval: interval(&self.false_positives),
                accuracy: self.right.rate(),
                accuracy_interval: interval(&self.right),
                minus_reference: None,
            }),
            scores: rows
                .scores
                .as_ref()
                .map(|scores| self.scores(rows, scores, area, confidence)),
        }
    }

    fn scores(
        &self,
        rows: &AuditRows,
        scores: &[f64],
        area: Option<Area>,
        confidence: f64,
    ) -> GroupScores {
        let mean = (self.selected.trials > 0.0).then(|| self.score / self.selected.trials);
        GroupScores {
            mean,
            standardized_mean_difference: None,
            auc: area.map(|area| area.value),
            auc_interval: area.and_then(|area| area.interval(confidence)),
            auc_difference: None,
            auc_difference_interval: None,
            ks: self
                .labeled(rows, scores)
                .and_then(|of| ks(&of.scores, &of.positives, of.weights())),
        }
    }

    /// The labeled rows of the group.
    fn labeled(&self, rows: &AuditRows, scores: &[f64]) -> Option<Labeled> {
        let labels = rows.labels.as_ref()?;
        let members = self.members.iter().map(|row| *row as usize);
        let members: Vec<usize> = members.filter(|row| labels[*row].is_some()).collect();
        let weights = rows.weights.as_ref();
        Some(Labeled {
            scores: members.iter().map(|row| scores[*row]).collect(),
            positives: members
                .iter()
                .map(|row| labels[*row] == Some(true))
                .collect(),
            weights: weights.map(|weights| members.iter().map(|row| weights[*row]).collect()),
        })
    }

    fn area(&self, rows: &AuditRows) -> Option<Area> {
        let of = self.labeled(rows, rows.scores.as_ref()?)?;
        let value = auc(&of.scores, &of.positives, of.weights())?;
        // Equal scores have an area of 1/2 without variance, so the error of the difference is that of the area.
        let equal = vec![0.0; of.scores.len()];
        let found = auc_difference(&of.scores, &equal, &of.positives, of.weights());
        Some(Area {
            value,
            error: found.map(|found| found.standard_error),
        })
    }
}

struct Labeled {
    scores: Vec<f64>,
    positives: Vec<bool>,
    weights: Option<Vec<f64>>,
}

impl Labeled {
    fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }
}

/// An area under the curve with its standard error by `DeLong`'s method.
#[derive(Debug, Clone, Copy)]
struct Area {
    value: f64,
    error: Option<f64>,
}

impl Area {
    fn interval(self, confidence: f64) -> Option<[f64; 2]> {
        let margin = normal_quantile(0.5 + 0.5 * confidence) * self.error?;
        Some([
            (self.value - margin).max(0.0),
            (self.value + margin).min(1.0),
        ])
    }

    /// The interval of this area minus that of other rows.
    fn difference_interval(self, other: Self, confidence: f64) -> Option<[f64; 2]> {
        let (own, others) = (self.error?, other.error?);
        let error = (own * own + others * others).sqrt();
        let margin = normal_quantile(0.5 + 0.5 * confidence) * error;
        let difference = self.value - other.value;
        Some([
            (difference - margin).max(-1.0),
            (difference + margin).min(1.0),
        ])
    }
}

/// The reference group of an attribute, and how it was chosen.
fn reference(
    options: &AuditOptions,
    groups: &Grouping,
    counts: &Counts,
    is_small: impl Fn(usize) -> bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Option<usize>, ReferenceBy) {
    let named = |attribute: &str| {
        let mut all = options.references.iter();
        all.find(|(name, _)| name == attribute)
            .map(|(_, group)| group.as_str())
    };
    let position = |group: &str| groups.names.iter().position(|name| name == group);
    let attribute = &groups.name;
    if let Some(group) = named(attribute) {
        let at = position(group);
        if at.is_some_and(&is_small) {
            let share = shown_share(options.min_share);
            diagnostics.push(Diagnostic::warning(format!(
                "{attribute}: the reference group {group:?} has less than {share} of the rows, so ratios to it are \
                 unreliable"
            )));
        }
        return (at, ReferenceBy::Named);
    }
    let parts: Option<Vec<&str>> = groups.parts.iter().map(|part| named(part)).collect();
    if let Some(parts) = parts.filter(|parts| !parts.is_empty()) {
        let group = parts.join(":");
        if let Some(at) = position(&group).filter(|at| !is_small(*at)) {
            return (Some(at), ReferenceBy::NamedParts);
        }
        let share = shown_share(options.min_share);
        diagnostics.push(Diagnostic::note(format!(
            "{attribute}: the group {group:?} has less than {share} of the rows, so the group with the highest \
             selection rate is the reference group"
        )));
    }
    let rate = |at: usize| counts.groups[at].selected.rate();
    let large = (0..groups.names.len()).filter(|at| !is_small(*at) && rate(*at).is_some());
    // The first of several groups with the highest rate.
    let highest = large.reduce(|best, at| if rate(at) > rate(best) { at } else { best });
    (highest, ReferenceBy::HighestSelectionRate)
}

/// A share as a short percentage.
pub(super) fn shown_share(share: f64) -> String {
    format!("{}%", fairfront_core::readable(100.0 * share))
}

/// The groups of an attribute, compared with its reference group.
fn compare(
    rows: &AuditRows,
    options: &AuditOptions,
    groups: &Grouping,
    ranking: Option<&Ranking>,
    diagnostics: &mut Vec<Diagnostic>,
) -> GroupsOfAttribute {
    let counts = Counts::of(rows, &groups.codes, groups.names.len());
    let known: usize = counts.groups.iter().map(|sums| sums.rows).sum();
    let share = |at: usize| counts.groups[at].rows as f64 / known.max(1) as f64;
    let is_small = |at: usize| share(at) < options.min_share;
    let (reference, reference_by) = reference(options, groups, &counts, is_small, diagnostics);
    let confidence = options.confidence;
    let is_compared = |at: usize| Some(at) == reference || !is_small(at);
    let mut shown = Vec::with_capacity(groups.names.len());
    let areas: Vec<Option<Area>> = counts.groups.iter().map(|sums| sums.area(rows)).collect();
    for (at, name) in groups.names.iter().enumerate() {
        let sums = &counts.groups[at];
        let mut group = sums.shown(rows, areas[at], confidence, share(at));
        if let Some(of_reference) = reference.filter(|reference| *reference != at && !is_small(at))
        {
            let other = &counts.groups[of_reference];
            group.compared = Some(compared(&sums.selected, &other.selected, confidence));
            if let Some(errors) = &mut group.errors {
                errors.minus_reference = Some(error_differences(sums, other, confidence));
            }
            if let (Some(own), Some(scores)) = (&mut group.scores, &rows.scores) {
                let pair = [at as u32, of_reference as u32];
                own.standardized_mean_difference = standardized_mean_difference(
                    scores,
                    &groups.codes,
                    pair,
                    rows.weights.as_deref(),
                );
                if let (Some(first), Some(second)) = (areas[at], areas[of_reference]) {
                    own.auc_difference = Some(first.value - second.value);
                    own.auc_difference_interval = first.difference_interval(second, confidence);
                }
            }
        }
        shown.push((name.clone(), group));
    }
    let left_out = (0..groups.names.len()).filter(|at| !is_compared(*at));
    let parts = ranking.map(|ranking| ranking.parts(&groups.codes, groups.names.len()));
    let compared_groups: Vec<usize> = (0..groups.names.len())
        .filter(|at| is_compared(*at))
        .collect();
    GroupsOfAttribute {
        name: groups.name.clone(),
        intersection_of: groups.parts.clone(),
        reference: reference.map(|at| groups.names[at].clone()),
        reference_by,
        unknown: counts.unknown,
        left_out: left_out.map(|at| groups.names[at].clone()).collect(),
        groups: Ordered(shown),
        at_selection_rates: match (&parts, reference) {
            (Some(parts), Some(reference)) => {
                at_rates(parts, &groups.names, &compared_groups, reference)
            }
            _ => Vec::new(),
        },
        deciles: parts.map_or_else(Vec::new, |parts| deciles(&parts, &groups.names)),
    }
}

/// How a group compares with the reference group.
pub(super) fn compared(group: &Cell, reference: &Cell, confidence: f64) -> ComparedGroup {
    let finite = |[low, high]: [f64; 2]| [low, high].map(|end| end.is_finite().then_some(end));
    let ratio = adverse_impact_ratio(group, reference);
    let interval = ratio_interval(group, reference, confidence);
    let exact = match group.trials + reference.trials <= MOST_FISHER_ROWS {
        true => fisher(group, reference),
        false => None,
    };
    let (p_value, test) = match exact {
        Some(p) => (Some(p), TestUsed::Fisher),
        None => (equal_rates(group, reference), TestUsed::Score),
    };
    ComparedGroup {
        adverse_impact_ratio: ratio,
        adverse_impact_ratio_interval: ratio.and(interval).map(finite),
        below_four_fifths: ratio.map(|ratio| ratio < FOUR_FIFTHS),
        four_fifths: ratio.and(interval).map(|[low, high]| match (low, high) {
            (_, high) if high < FOUR_FIFTHS => FourFifths::Below,
            (low, _) if low >= FOUR_FIFTHS => FourFifths::AtOrAbove,
            _ => FourFifths::TooFewRows,
        }),
        selection_rate_difference: group
            .rate()
            .zip(reference.rate())
            .map(|(own, other)| own - other),
        selection_rate_difference_interval: difference_interval(group, reference, confidence),
        shortfall: shortfall(group, reference),
        odds_ratio: odds_ratio(group, reference),
        odds_ratio_interval: odds_ratio_interval(group, reference, confidence).map(finite),
        p_value,
        test,
        significant: p_value.map(|p| p < 1.0 - confidence),
    }
}

fn error_differences(own: &Sums, other: &Sums, confidence: f64) -> ErrorDifferences {
    let difference = |a: &Cell, b: &Cell| Some(a.rate()? - b.rate()?);
    let interval = |a: &Cell, b: &Cell| difference_interval(a, b, confidence);
    ErrorDifferences {
        false_negative_rate: difference(&own.missed, &other.missed),
        false_negative_rate_interval: interval(&own.missed, &other.missed),
        false_positive_rate: difference(&own.false_positives, &other.false_positives),
        false_positive_rate_interval: interval(&own.false_positives, &other.false_positives),
        accuracy: difference(&own.right, &other.right),
        accuracy_interval: interval(&own.right, &other.right),
    }
}
