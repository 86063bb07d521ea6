//! Warnings and notes that users need before they trust a front fitted on a table.

use fairfront_core::{Classes, Message, counted, either, grouped, say, with};

use crate::encoding::Encoding;
use crate::error::{Error, listed, shorten};
use crate::group::AttributeRule;
use crate::prepare::Prepared;
use crate::proxy::{self, Proxy};
use crate::setting::{MERGE, MIN_GROUP, MISSING, POOL_GROUPS};
use crate::sieve::Dropped;
use crate::spec::{MissingPolicy, Spec};
use crate::split::Part;
use crate::table::{Column, Diagnostic, Table, Values};
use crate::target::{TargetKind, TargetRule};

/// Columns that predict a group with at least this AUC are a proxy for it.
const PROXY: f64 = 0.75;
/// Dropping a larger share of the rows read than this gives a warning.
const MANY_DROPPED: f64 = 0.05;
/// A class with fewer training rows than this share, or fewer than [`FEW_OF_CLASS`], is rare.
const RARE_CLASS: f64 = 0.02;
const FEW_OF_CLASS: usize = 30;

/// Warnings and notes about a prepared table. `inspect`, `fit`, the report and Python show the same list.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// General messages, those of reading and preparing the table first.
    pub diagnostics: Vec<Diagnostic>,
    /// Messages about groups that are not compared, or that are compared although they are small.
    pub groups: Vec<Diagnostic>,
    /// How well the features predict each attribute; empty without an encoding.
    pub proxies: Vec<Proxy>,
}

impl Findings {
    /// Examines a prepared table. `encoding` is the one fitted on its training rows, if there is one.
    pub fn new(prepared: &Prepared, encoding: Option<&Encoding>) -> Result<Self, Error> {
        let train = prepared.split.part(Part::Train);
        let kind = prepared.target.as_ref().map(|rule| &rule.kind);
        let mut label_counts = vec![0; TargetKind::n_places(kind)];
        for position in train {
            label_counts[prepared.label_place(*position as usize)] += 1;
        }
        let proxies = match encoding {
            Some(encoding) => proxy::measure(prepared, encoding)?,
            None => Vec::new(),
        };
        let missing = |column: &Column| {
            let rows = prepared.rows.iter();
            rows.filter(|row| column.is_missing(**row as usize)).count()
        };
        let facts = TableFacts {
            diagnostics: &prepared.diagnostics,
            spec: &prepared.spec,
            n_read: prepared.table.n_rows(),
            n_rows: prepared.n_rows(),
            dropped: &prepared.dropped,
            published: prepared.published,
            kept_missing: kept_columns(&prepared.table, &prepared.spec)
                .map(|column| (column.name.as_str(), missing(column)))
                .collect(),
            target: prepared.target.as_ref(),
            n_train: train.len(),
            label_counts: &label_counts,
            attributes: &prepared.attributes,
            counts: &prepared.all_training_counts(),
        };
        Ok(Self::of_facts(&facts, proxies))
    }

    /// The findings about a table of which only these facts are known.
    pub(crate) fn of_facts(facts: &TableFacts<'_>, proxies: Vec<Proxy>) -> Self {
        let mut diagnostics = facts.diagnostics.to_vec();
        diagnostics.extend(dropped_rows(facts));
        diagnostics.extend(kept_missing(facts));
        diagnostics.extend(rare_class(facts));
        let groups = facts.attributes.iter().zip(facts.counts);
        let groups = groups.flat_map(|(rule, counts)| small_groups(rule, counts, facts.target));
        let groups = groups.collect();
        let names = facts.attributes.iter().map(|r| r.attribute.name.as_str());
        diagnostics.extend(names.zip(&proxies).filter_map(|(a, p)| proxy_warning(a, p)));
        Self {
            diagnostics,
            groups,
            proxies,
        }
    }

    /// All messages.
    pub fn all(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().chain(&self.groups)
    }
}

/// The facts about a prepared table that findings are about.
pub(crate) struct TableFacts<'a> {
    pub(crate) diagnostics: &'a [Diagnostic],
    pub(crate) spec: &'a Spec,
    /// Rows read, and rows in use.
    pub(crate) n_read: usize,
    pub(crate) n_rows: usize,
    pub(crate) dropped: &'a [Dropped],
    pub(crate) published: bool,
    /// The columns of [`kept_columns`], with their missing values in the rows in use.
    pub(crate) kept_missing: Vec<(&'a str, usize)>,
    pub(crate) target: Option<&'a TargetRule>,
    pub(crate) n_train: usize,
    /// Training rows of each class, or the negative and positive ones.
    pub(crate) label_counts: &'a [usize],
    pub(crate) attributes: &'a [AttributeRule],
    /// Training rows of each class in each group of each attribute.
    pub(crate) counts: &'a [Vec<Vec<usize>>],
}

/// Sorts warnings first and otherwise keeps the order.
pub fn by_severity(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity));
    diagnostics
}

fn dropped_rows(facts: &TableFacts<'_>) -> Option<Diagnostic> {
    let read = facts.n_read;
    let dropped = read - facts.n_rows;
    if dropped == 0 {
        return None;
    }
    let share = dropped as f64 / read as f64;
    let mut reasons: Vec<_> = facts.dropped.iter().collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.rows));
    let shown = reasons.iter().take(4).map(|d| {
        let reason = match &d.column {
            Some(column) => format!("{:?} is missing", shorten(column)),
            None => d.reason.clone(),
        };
        format!("{reason} ({})", counted(d.rows, "row"))
    });
    let mut message = Message::from(format!(
        "{} of {} rows ({:.1}%) are dropped: {}",
        grouped(dropped),
        grouped(read),
        100.0 * share,
        shown.collect::<Vec<_>>().join(", ")
    ));
    if let more @ 1.. = reasons.len().saturating_sub(4) {
        message.push(format!(" and {}", counted(more, "more reason")));
    }
    let of_features = |column: &String| facts.spec.is_feature(column);
    let by_features = facts.dropped.iter().filter_map(|d| d.column.as_ref());
    let is_warning = share > MANY_DROPPED && !facts.published;
    if is_warning && by_features.clone().any(of_features) {
        message.push_remedy(say![
            "keep rows with missing features by setting ",
            MISSING.is("keep")
        ]);
    }
    Some(match is_warning {
        true => Diagnostic::warning(message),
        false => Diagnostic::note(message),
    })
}

/// The feature columns with missing values that are kept.
pub(crate) fn kept_columns<'a>(
    table: &'a Table,
    spec: &'a Spec,
) -> impl Iterator<Item = &'a Column> {
    table.columns().iter().filter(|column| {
        let policy = spec.missing_policy(&column.name);
        let is_read = !matches!(column.values, Values::LeftOut(_));
        let is_kept = is_read && spec.is_feature(&column.name) && policy != MissingPolicy::Drop;
        is_kept && column.n_missing > 0
    })
}

/// A note about feature columns whose missing values are kept.
fn kept_missing(facts: &TableFacts<'_>) -> Option<Diagnostic> {
    let counts = facts.kept_missing.iter().copied();
    let mut counts: Vec<(&str, usize)> = counts.filter(|(_, n)| *n > 0).collect();
    if counts.is_empty() {
        return None;
    }
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let shown = counts.iter().take(3);
    let shown: Vec<String> = shown
        .map(|(name, n)| format!("{:?} ({})", shorten(name), counted(*n, "row")))
        .collect();
    let more = match counts.len().saturating_sub(3) {
        0 => String::new(),
        more => format!(" and {}", counted(more, "more column")),
    };
    let shown = shown.join(", ");
    Some(Diagnostic::note(say![
        "rows with missing features are kept: {shown}{more}; missing numbers are replaced by the mean \
         and get an indicator, missing categories become a category of their own";
        "pass ", MISSING.is("drop"), " to drop these rows"
    ]))
}

fn rare_class(facts: &TableFacts<'_>) -> Option<Diagnostic> {
    let target = facts.target.filter(|rule| !rule.is_number())?;
    if let Some(classes) = target.classes() {
        return rare_classes(facts, target, classes);
    }
    let n_train = facts.n_train;
    let positives = facts.label_counts[1];
    let (count, class) = match positives <= n_train / 2 {
        true => (positives, "positive"),
        false => (n_train - positives, "negative"),
    };
    let share = count as f64 / n_train.max(1) as f64;
    // A class without any rows has its own warning.
    let is_rare = count > 0 && (count < FEW_OF_CLASS || share < RARE_CLASS);
    is_rare.then(|| {
        Diagnostic::warning(format!(
            "only {} of {} training rows ({:.1}%) are {class} (the target is {:?}), so models learn \
             little about them and rates among them are uncertain",
            grouped(count),
            grouped(n_train),
            100.0 * share,
            target.column
        ))
    })
}

/// A warning about the rare ones of more than two classes.
fn rare_classes(
    facts: &TableFacts<'_>,
    target: &TargetRule,
    classes: &Classes,
) -> Option<Diagnostic> {
    // The same share of an equal share as for two classes.
    let least = facts.n_train as f64 * RARE_CLASS * 2.0 / classes.len() as f64;
    let is_rare = |count: usize| count < FEW_OF_CLASS || (count as f64) < least;
    let mut rare: Vec<(&String, usize)> = classes
        .names
        .iter()
        .zip(facts.label_counts.iter().copied())
        .filter(|(_, count)| is_rare(*count))
        .collect();
    if rare.is_empty() {
        return None;
    }
    rare.sort_by_key(|(_, count)| *count);
    let shown = rare.iter().map(|(name, count)| {
        let share = 100.0 * *count as f64 / facts.n_train.max(1) as f64;
        format!("{:?} ({}, {share:.1}%)", shorten(name), grouped(*count))
    });
    let shown = listed(shown, 5);
    let problem = format!(
        "some classes of the target {:?} have few of the {} training rows: {shown}; models learn little about \
         them, and rates among them are uncertain",
        target.column,
        grouped(facts.n_train)
    );
    let mut message = Message::from(problem);
    message.push_remedy(say!["merge them", with(MERGE)]);
    Some(Diagnostic::warning(message))
}

/// A kind of row that counts in comparisons between groups.
struct Counted<'a> {
    /// Groups that have too few rows of this kind.
    small: &'a [u32],
    /// The number of rows of this kind, from a group's training rows of each class.
    count: fn(&[usize]) -> usize,
    rows: &'static str,
    compared_in: &'static str,
}

/// Warns about groups that are not compared, and about groups that are compared although they are small.
/// `counts` are the training rows of each class per group, or the negative and positive ones.
pub(crate) fn small_groups(
    rule: &AttributeRule,
    counts: &[Vec<usize>],
    target: Option<&TargetRule>,
) -> Vec<Diagnostic> {
    let (attribute, least) = (&rule.attribute, rule.min_group);
    let small = &attribute.small;
    let kinds = [
        Counted {
            small: &small.all,
            count: |c| c.iter().sum(),
            rows: "training rows",
            compared_in: "all differences and ratios",
        },
        Counted {
            small: &small.positives,
            count: |c| c[1],
            rows: "positive training rows",
            compared_in: "differences between true positive rates",
        },
        Counted {
            small: &small.negatives,
            count: |c| c[0],
            rows: "negative training rows",
            compared_in: "differences between false positive rates",
        },
    ];
    let named = |groups: &[u32], kind: &Counted| {
        let of = |g: &u32| {
            let rows = grouped((kind.count)(&counts[*g as usize]));
            format!("{:?} ({rows})", shorten(&attribute.groups[*g as usize]))
        };
        listed(groups.iter().map(of), 4)
    };
    let mut diagnostics = Vec::new();
    let is_binary = target.is_some_and(TargetRule::is_binary);
    let looked_at = if is_binary { 3 } else { 1 };
    for (position, kind) in kinds.iter().take(looked_at).enumerate() {
        // Do not list again the groups that are too small overall.
        let is_new = |g: &u32| position == 0 || !small.all.contains(g);
        let groups: Vec<u32> = kind.small.iter().copied().filter(is_new).collect();
        if !groups.is_empty() {
            let problem = format!(
                "{:?} has groups with fewer than {least} {}: {}; they are reported, but left out of {}",
                attribute.name,
                kind.rows,
                named(&groups, kind),
                kind.compared_in
            );
            diagnostics.push(left_out(problem, least));
        }
        let kept = (0..counts.len() as u32).filter(|g| !kind.small.contains(g));
        let is_few = |g: &u32| (kind.count)(&counts[*g as usize]) < least;
        let kept: Vec<u32> = kept.filter(is_few).collect();
        if !kept.is_empty() {
            diagnostics.push(Diagnostic::warning(format!(
                "{:?} has fewer than two groups with {least} {}, so its largest groups are compared \
                 although they are small: {}",
                attribute.name,
                kind.rows,
                named(&kept, kind)
            )));
            return diagnostics;
        }
    }
    if let Some(classes) = target.and_then(TargetRule::classes) {
        diagnostics.extend(small_by_class(rule, counts, classes));
    }
    diagnostics
}

/// A warning about groups that are left out of comparisons.
fn left_out(problem: String, least: usize) -> Diagnostic {
    Diagnostic::warning(say![
        problem;
        "merge them with ", either([MERGE.into(), POOL_GROUPS.is(least)]);
        "change ", MIN_GROUP
    ])
}

/// Warns about groups with few rows of one of more than two classes: those that are not compared, and those
/// that are compared although they are small. Groups that are too small overall have their own warning.
fn small_by_class(
    rule: &AttributeRule,
    counts: &[Vec<usize>],
    classes: &Classes,
) -> Vec<Diagnostic> {
    let (attribute, least) = (&rule.attribute, rule.min_group);
    let (mut not_compared, mut compared) = (Vec::new(), Vec::new());
    for (class, name) in classes.names.iter().enumerate() {
        let small = attribute.small.with_label(Some(class as f64));
        for (group, group_name) in attribute.groups.iter().enumerate() {
            let n = counts[group][class];
            if n >= least || attribute.small.all.contains(&(group as u32)) {
                continue;
            }
            let shown = format!(
                "{:?} with {:?} ({})",
                shorten(group_name),
                shorten(name),
                grouped(n)
            );
            match small.contains(&(group as u32)) {
                true => not_compared.push(shown),
                false => compared.push(shown),
            }
        }
    }
    let mut diagnostics = Vec::new();
    if !not_compared.is_empty() {
        let problem = format!(
            "{:?} has groups with fewer than {least} training rows of a class: {}; they are reported, but left \
             out of differences between rows of this class",
            attribute.name,
            listed(not_compared.into_iter(), 4)
        );
        diagnostics.push(left_out(problem, least));
    }
    if !compared.is_empty() {
        diagnostics.push(Diagnostic::warning(format!(
            "{:?} has fewer than two groups with {least} training rows of some classes, so its largest groups \
             are compared although they are small: {}",
            attribute.name,
            listed(compared.into_iter(), 4)
        )));
    }
    diagnostics
}

fn proxy_warning(attribute: &str, proxy: &Proxy) -> Option<Diagnostic> {
    let auc = proxy.auc.filter(|auc| *auc >= PROXY)?;
    let group = proxy.group.as_deref().unwrap_or_default();
    Some(Diagnostic::warning(format!(
        "the features act as a proxy for {attribute:?}: together they predict {group:?} with an AUC of \
         {auc:.2} (strongest: {}); dropping the column does not make a model blind to it",
        proxy.strongest()
    )))
}
