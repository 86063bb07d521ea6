use fairfront_core::{Attribute, Classes, UNKNOWN_GROUP, say};

use crate::encoding::{Encoded, Encoding};
use crate::error::Error;
use crate::finding::{Findings, by_severity};
use crate::group::AttributeRule;
use crate::ordered::Ordered;
use crate::prepare::Prepared;
use crate::proxy::Proxy;
use crate::sieve::Dropped;
use crate::spec::{Role, attribute_name};
use crate::table::{Column, ColumnType, Diagnostic, LeftOut, Values};
use crate::target::{TargetKind, TargetRule};

/// A summary of a table before any training.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Inspection {
    /// The files or the data set.
    pub source: String,
    /// Rows in use.
    pub rows: usize,
    /// Rows read.
    pub read: usize,
    /// Rows dropped.
    pub dropped: usize,
    /// Reasons for dropped rows; a row may count under several reasons.
    pub dropped_by: Vec<Dropped>,
    /// All columns, in the order of the table.
    pub columns: Vec<ColumnSummary>,
    /// The target, if one is set.
    pub target: Option<TargetSummary>,
    /// The groups of each sensitive attribute.
    pub sensitive: Ordered<Ordered<GroupSummary>>,
    /// The groups of each pair of attributes that is not itself an attribute.
    pub intersections: Ordered<Ordered<GroupSummary>>,
    /// Rows in use whose group is unknown, by attribute.
    pub unknown: Ordered<usize>,
    /// How well the features predict each attribute.
    pub proxies: Ordered<Proxy>,
    /// Number of rows in each split.
    pub split: Ordered<usize>,
    /// Number of features after encoding, one per category, without the intercept; 0 if no roles are set.
    pub features: usize,
    /// Notes about automatic choices, and warnings.
    #[serde(rename = "messages")]
    pub diagnostics: Vec<Diagnostic>,
}

/// A summary of one column, over all rows read.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its type; `None` if it was left out or not read.
    #[serde(rename = "type")]
    pub column_type: Option<ColumnType>,
    /// The reason if it was left out.
    pub left_out: Option<String>,
    /// Number of missing values; `None` if it was not read.
    pub missing: Option<usize>,
    /// Share of missing values among the rows read.
    pub missing_share: Option<f64>,
    /// Number of distinct values; `None` if it was left out.
    pub distinct: Option<usize>,
    /// Number of categories after merging; `None` if none are merged.
    pub merged: Option<usize>,
    /// Smallest and largest number, and the unweighted mean.
    pub range: Option<NumericRange>,
    /// The most frequent categories, after merging, with their counts.
    pub top: Vec<(String, usize)>,
}

/// The range of a numeric column.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct NumericRange {
    /// Smallest.
    pub min: f64,
    /// Unweighted mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// A summary of the target over the rows in use.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct TargetSummary {
    /// The column.
    pub column: String,
    /// The condition for label +1, in readable form; the column if the target is not binary.
    #[serde(skip)]
    pub condition: String,
    /// The distribution of the labels.
    #[serde(flatten)]
    pub distribution: TargetDistribution,
}

/// The distribution of a target.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum TargetDistribution {
    /// Labels +1 and −1.
    Binary {
        /// The values with label +1.
        positive: String,
        /// Rows with label +1.
        positives: usize,
        /// Rows with label −1.
        negatives: usize,
        /// Weighted share of positives.
        base_rate: f64,
    },
    /// Numbers.
    Number {
        /// Weighted mean.
        mean: f64,
        /// Weighted standard deviation.
        standard_deviation: f64,
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// More than two classes.
    Classes {
        /// The classes, in order.
        classes: Ordered<ClassSummary>,
        /// Whether their order has a meaning, from the lowest to the highest.
        ordered: bool,
    },
}

/// A summary of one of more than two classes over the rows in use.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ClassSummary {
    /// Number of rows.
    pub count: usize,
    /// Weighted share of the rows.
    pub share: f64,
}

/// A summary of one group over the rows in use.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct GroupSummary {
    /// Number of rows.
    pub count: usize,
    /// Weighted share of the rows whose group is known.
    pub share: f64,
    /// Rows with label +1; `None` without a binary target.
    pub positives: Option<usize>,
    /// Weighted share of positives; `None` without a binary target or if all weights are 0.
    pub base_rate: Option<f64>,
    /// Weighted mean of a target that is a number; `None` without one or if all weights are 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Rows of each of more than two classes, with their weighted shares of the group; `None` without such
    /// classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<Ordered<ClassSummary>>,
}

impl Inspection {
    /// Summarizes a prepared table.
    pub fn new(prepared: &Prepared) -> Result<Self, Error> {
        let mut encoding_diagnostics = Vec::new();
        let encoding = encode(prepared, &mut encoding_diagnostics)?;
        let findings = Findings::new(prepared, encoding.as_ref())?;
        let mut diagnostics: Vec<Diagnostic> = findings.all().cloned().collect();
        diagnostics.extend(encoding_diagnostics);
        let named = |rule: &AttributeRule| rule.attribute.name.clone();
        let mut inspection = Self {
            source: prepared.table.name.clone(),
            rows: prepared.n_rows(),
            read: prepared.table.n_rows(),
            dropped: prepared.table.n_rows() - prepared.n_rows(),
            dropped_by: prepared.dropped.clone(),
            columns: prepared
                .table
                .columns()
                .iter()
                .map(|c| summary(prepared, c))
                .collect(),
            target: target(prepared),
            sensitive: Ordered(Vec::new()),
            intersections: Ordered(Vec::new()),
            unknown: Ordered(Vec::new()),
            proxies: Ordered(Vec::new()),
            split: Ordered(
                prepared
                    .split
                    .counts()
                    .into_iter()
                    .map(|(name, rows)| (name.to_owned(), rows))
                    .collect(),
            ),
            features: encoding.as_ref().map_or(0, |e| e.schema().n_features()),
            diagnostics: Vec::new(),
        };
        for (at, rule) in prepared.attributes.iter().enumerate() {
            let members = |position: usize| prepared.members(at, position);
            let all = (0..prepared.n_rows()).flat_map(members);
            let unknown = all.filter(|(group, _)| *group == UNKNOWN_GROUP);
            let unknown = unknown.map(|(_, share)| share).sum::<f64>().round() as usize;
            let summary = group_table(prepared, &rule.attribute, members);
            inspection.sensitive.0.push((named(rule), summary));
            inspection.unknown.0.push((named(rule), unknown));
        }
        inspection.add_intersections(prepared, &mut diagnostics);
        let names = prepared.attributes.iter().map(named);
        inspection.proxies = Ordered(names.zip(findings.proxies).collect());
        inspection.diagnostics = by_severity(diagnostics);
        Ok(inspection)
    }

    fn add_intersections(&mut self, prepared: &Prepared, diagnostics: &mut Vec<Diagnostic>) {
        let single: Vec<&AttributeRule> = prepared
            .attributes
            .iter()
            .filter(|r| r.columns.len() == 1)
            .collect();
        for (i, a) in single.iter().enumerate() {
            for b in &single[i + 1..] {
                let columns = [&a.columns[0].column, &b.columns[0].column].map(Clone::clone);
                let reversed = [columns[1].clone(), columns[0].clone()];
                let asked = |columns: &[String]| {
                    let name = attribute_name(columns);
                    prepared.attributes().any(|a| a.name == name)
                };
                if asked(&columns) || asked(&reversed) {
                    continue;
                }
                let mut rule = AttributeRule::new(&prepared.spec, &columns);
                match rule.fit_groups(&prepared.table, &prepared.rows) {
                    Ok(groups) => {
                        let members = |at: usize| std::iter::once((groups[at], 1.0));
                        let table = group_table(prepared, &rule.attribute, members);
                        self.intersections.0.push((rule.attribute.name, table));
                    }
                    // The user did not request this intersection, so an error is not fatal.
                    Err(error) => {
                        let name = &rule.attribute.name;
                        diagnostics.push(Diagnostic::note(say![
                            "the intersection {name:?} is not shown: ",
                            error.message()
                        ]));
                    }
                }
            }
        }
    }
}

/// Fits the encoding and collects its diagnostics. If no column is left as a feature, the inspection warns
/// instead of failing.
fn encode(
    prepared: &Prepared,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Encoding>, Error> {
    let fitted = if prepared.target.is_some() {
        Encoded::new(prepared).map(|encoded| (encoded.encoding, encoded.diagnostics))
    } else if prepared.attributes.is_empty() {
        // The features are not determined yet.
        return Ok(None);
    } else {
        Encoding::fit(prepared)
    };
    match fitted {
        Ok((encoding, found)) => {
            diagnostics.extend(found);
            Ok(Some(encoding))
        }
        Err(error @ Error::NoFeatures(_)) => {
            diagnostics.push(Diagnostic::warning(error.message()));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn summary(prepared: &Prepared, column: &Column) -> ColumnSummary {
    let n = prepared.table.n_rows();
    let mut summary = ColumnSummary {
        name: column.name.clone(),
        role: prepared.spec.role(&column.name),
        column_type: column.column_type(),
        left_out: None,
        missing: Some(column.n_missing),
        missing_share: Some(column.n_missing as f64 / n as f64),
        distinct: None,
        merged: None,
        range: None,
        top: Vec::new(),
    };
    match &column.values {
        Values::LeftOut(reason) => {
            if *reason == LeftOut::NotRead {
                (summary.missing, summary.missing_share) = (None, None);
            } else {
                summary.left_out = Some(reason.to_string());
            }
        }
        Values::Numeric(values) => {
            let mut present: Vec<f64> = values.iter().filter(|v| !v.is_nan()).collect();
            present.sort_unstable_by(f64::total_cmp);
            summary.distinct = Some(present.chunk_by(|a, b| a == b).count());
            if let (Some(&min), Some(&max)) = (present.first(), present.last()) {
                let mean = present.iter().sum::<f64>() / present.len() as f64;
                summary.range = Some(NumericRange { min, mean, max });
            }
        }
        Values::Categorical {
            codes, categories, ..
        } => {
            summary.distinct = Some(categories.len());
            let mut counts = std::collections::BTreeMap::<&str, usize>::new();
            let mut by_code = vec![0; categories.len()];
            for &code in codes {
                if let Some(count) = by_code.get_mut(code as usize) {
                    *count += 1;
                }
            }
            for (category, count) in categories.iter().zip(by_code) {
                let name = prepared.spec.merged(&column.name, category);
                *counts.entry(name).or_default() += count;
            }
            summary.merged = (counts.len() < categories.len()).then_some(counts.len());
            let mut top: Vec<(&str, usize)> = counts.into_iter().collect();
            top.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            summary.top = top
                .into_iter()
                .take(5)
                .map(|(l, c)| (l.to_owned(), c))
                .collect();
        }
    }
    summary
}

fn target(prepared: &Prepared) -> Option<TargetSummary> {
    let rule = prepared.target.as_ref()?;
    Some(TargetSummary {
        column: rule.column.clone(),
        condition: rule.condition(),
        distribution: match &rule.kind {
            TargetKind::Number { .. } => numbers(prepared),
            TargetKind::Binary { .. } => two_classes(prepared, rule.positive_text()),
            TargetKind::Classes(classes) => {
                let mut sums = ClassCounts::new(classes);
                (0..prepared.n_rows()).for_each(|position| sums.add(prepared, position, 1.0));
                TargetDistribution::Classes {
                    classes: sums.summary(classes),
                    ordered: classes.ordered,
                }
            }
        },
    })
}

/// The distribution of a binary target.
fn two_classes(prepared: &Prepared, positive: String) -> TargetDistribution {
    let positives = prepared.n_positives();
    let weighted = prepared.labels.iter().zip(&prepared.weights);
    // Start from 0, because an empty sum is −0.
    let of_positives = weighted
        .filter(|(label, _)| **label > 0.0)
        .fold(0.0, |sum, (_, w)| sum + w);
    TargetDistribution::Binary {
        positive,
        positives,
        negatives: prepared.n_rows() - positives,
        base_rate: of_positives / prepared.weights.iter().sum::<f64>(),
    }
}

/// The distribution of a target that is a number.
fn numbers(prepared: &Prepared) -> TargetDistribution {
    let total: f64 = prepared.weights.iter().sum();
    let mean_of = |value: &dyn Fn(f64) -> f64| {
        let weighted = prepared.labels.iter().zip(&prepared.weights);
        weighted.fold(0.0, |sum, (label, w)| sum + w * value(*label)) / total
    };
    let mean = mean_of(&|label| label);
    let labels = prepared.labels.iter().copied();
    TargetDistribution::Number {
        mean,
        standard_deviation: mean_of(&|label| (label - mean).powi(2)).sqrt(),
        min: labels.clone().fold(f64::INFINITY, f64::min),
        max: labels.fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Rows of each of more than two classes, with the sums of their weights.
#[derive(Clone)]
struct ClassCounts(Vec<(f64, f64)>);

impl ClassCounts {
    fn new(classes: &Classes) -> Self {
        Self(vec![(0.0, 0.0); classes.len()])
    }

    fn add(&mut self, prepared: &Prepared, position: usize, share: f64) {
        let (count, weight) = &mut self.0[prepared.label_place(position)];
        *count += share;
        *weight += prepared.weights[position] * share;
    }

    fn summary(&self, classes: &Classes) -> Ordered<ClassSummary> {
        let total = self.0.iter().fold(0.0, |sum, (_, weight)| sum + weight);
        let summary = |(name, (count, weight)): (&String, &(f64, f64))| {
            let share = if total > 0.0 { weight / total } else { 0.0 };
            let summary = ClassSummary {
                count: count.round() as usize,
                share,
            };
            (name.clone(), summary)
        };
        Ordered(classes.names.iter().zip(&self.0).map(summary).collect())
    }
}

fn group_table<I: Iterator<Item = (u32, f64)>>(
    prepared: &Prepared,
    attribute: &Attribute,
    members: impl Fn(usize) -> I,
) -> Ordered<GroupSummary> {
    /// Rows count with the share that they have in the group.
    #[derive(Clone, Default)]
    struct Sums {
        count: f64,
        positives: f64,
        weight: f64,
        positive_weight: f64,
        /// The weighted sum of labels.
        labels: f64,
    }
    let rule = prepared.target.as_ref();
    let classes = rule.and_then(TargetRule::classes);
    let mut by_class = vec![classes.map(ClassCounts::new); attribute.groups.len()];
    let mut sums = vec![Sums::default(); attribute.groups.len()];
    for i in 0..prepared.n_rows() {
        for (group, share) in members(i) {
            let Some(sums) = sums.get_mut(group as usize) else {
                continue;
            };
            let weight = prepared.weights[i] * share;
            sums.count += share;
            sums.weight += weight;
            sums.labels += weight * prepared.labels.get(i).unwrap_or(&0.0);
            if prepared.is_positive(i) {
                sums.positives += share;
                sums.positive_weight += weight;
            }
            if let Some(counts) = &mut by_class[group as usize] {
                counts.add(prepared, i, share);
            }
        }
    }
    let total: f64 = sums.iter().map(|s| s.weight).sum();
    let is_binary = rule.is_some_and(TargetRule::is_binary);
    let is_number = rule.is_some_and(TargetRule::is_number);
    let summarize = |((group, s), counts): ((&String, Sums), &Option<ClassCounts>)| {
        let counts = counts.as_ref().zip(classes);
        let weighs = s.weight > 0.0;
        let summary = GroupSummary {
            count: s.count.round() as usize,
            share: if total > 0.0 { s.weight / total } else { 0.0 },
            positives: is_binary.then_some(s.positives.round() as usize),
            base_rate: (is_binary && weighs).then(|| s.positive_weight / s.weight),
            mean: (is_number && weighs).then(|| s.labels / s.weight),
            classes: counts.map(|(counts, classes)| counts.summary(classes)),
        };
        (group.clone(), summary)
    };
    let groups = attribute.groups.iter().zip(sums).zip(&by_class);
    Ordered(groups.map(summarize).collect())
}
