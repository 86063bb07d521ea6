use fairfront_core::{Attribute, UNKNOWN_GROUP, say};

use crate::encoding::{Encoded, Encoding};
use crate::error::Error;
use crate::finding::{Findings, by_level};
use crate::group::AttributeRule;
use crate::ordered::Ordered;
use crate::prepare::Prepared;
use crate::proxy::Proxy;
use crate::sieve::Dropped;
use crate::spec::{Role, attribute_name};
use crate::table::{Column, ColumnType, LeftOut, Notice, Values};

/// What is in a table, before any training.
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
    /// Why rows were dropped; a row may count under several reasons.
    pub dropped_by: Vec<Dropped>,
    /// All columns, in the order of the table.
    pub columns: Vec<ColumnSummary>,
    /// The target, where one is named.
    pub target: Option<TargetSummary>,
    /// For each sensitive attribute its groups.
    pub sensitive: Ordered<Ordered<GroupSummary>>,
    /// For each pair of attributes that is not itself an attribute, its groups.
    pub intersections: Ordered<Ordered<GroupSummary>>,
    /// Rows in use whose group is unknown, by attribute.
    pub unknown: Ordered<usize>,
    /// How well the features give each attribute away.
    pub proxies: Ordered<Proxy>,
    /// Rows for training, validation and test.
    pub split: Ordered<usize>,
    /// Features after encoding, levels counted, the intercept not; 0 while no roles are named.
    pub features: usize,
    /// What was decided for the user, and what to be wary of.
    pub notices: Vec<Notice>,
}

/// One column, over all rows read.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Its type; `None` where it was left out or not read.
    #[serde(rename = "type")]
    pub column_type: Option<ColumnType>,
    /// Why it was left out.
    pub left_out: Option<String>,
    /// Missing values; `None` where it was not read.
    pub missing: Option<usize>,
    /// The same as a share of the rows read.
    pub missing_share: Option<f64>,
    /// Different values; `None` where it was left out.
    pub distinct: Option<usize>,
    /// Levels after merging; `None` where none are merged.
    pub merged: Option<usize>,
    /// Smallest and largest number and their unweighted mean.
    pub range: Option<NumericRange>,
    /// The most frequent levels, merged as asked, with their counts.
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

/// The target over the rows in use.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct TargetSummary {
    /// The column.
    pub column: String,
    /// The values that are +1.
    pub positive: String,
    /// When a label is +1, as a person reads it.
    #[serde(skip)]
    pub condition: String,
    /// Rows with it.
    pub positives: usize,
    /// The others.
    pub negatives: usize,
    /// Weighted share of positives.
    pub base_rate: f64,
}

/// One group over the rows in use.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct GroupSummary {
    /// Rows.
    pub count: usize,
    /// Weighted share of the rows whose group is known.
    pub share: f64,
    /// Rows with label +1; `None` without a target.
    pub positives: Option<usize>,
    /// Weighted share of positives; `None` without a target or where the weights are all 0.
    pub base_rate: Option<f64>,
}

impl Inspection {
    /// Looks at a prepared table.
    pub fn new(prepared: &Prepared) -> Result<Self, Error> {
        let mut encoding_notices = Vec::new();
        let encoding = encode(prepared, &mut encoding_notices)?;
        let findings = Findings::new(prepared, encoding.as_ref())?;
        let mut notices: Vec<Notice> = findings.all().cloned().collect();
        notices.extend(encoding_notices);
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
            notices: Vec::new(),
        };
        for (rule, groups) in prepared.attributes.iter().zip(&prepared.groups) {
            let unknown = groups.iter().filter(|g| **g == UNKNOWN_GROUP).count();
            let summary = group_table(prepared, &rule.attribute, groups);
            inspection.sensitive.0.push((named(rule), summary));
            inspection.unknown.0.push((named(rule), unknown));
        }
        inspection.add_intersections(prepared, &mut notices);
        let names = prepared.attributes.iter().map(named);
        inspection.proxies = Ordered(names.zip(findings.proxies).collect());
        inspection.notices = by_level(notices);
        Ok(inspection)
    }

    fn add_intersections(&mut self, prepared: &Prepared, notices: &mut Vec<Notice>) {
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
                        let table = group_table(prepared, &rule.attribute, &groups);
                        self.intersections.0.push((rule.attribute.name, table));
                    }
                    // Nobody asked for it, so it is no reason to fail.
                    Err(error) => {
                        let name = &rule.attribute.name;
                        notices.push(Notice::info(say![
                            "the intersection {name:?} is not shown: ",
                            error.message()
                        ]));
                    }
                }
            }
        }
    }
}

/// The encoding, whose notices belong to the inspection. That no column is left as a feature is
/// something to see, not a reason to show nothing.
fn encode(prepared: &Prepared, notices: &mut Vec<Notice>) -> Result<Option<Encoding>, Error> {
    let fitted = if prepared.target.is_some() {
        Encoded::new(prepared).map(|encoded| (encoded.encoding, encoded.notices))
    } else if prepared.attributes.is_empty() {
        // Which columns are features is not said yet.
        return Ok(None);
    } else {
        Encoding::fit(prepared)
    };
    match fitted {
        Ok((encoding, found)) => {
            notices.extend(found);
            Ok(Some(encoding))
        }
        Err(error @ Error::NoFeatures(_)) => {
            notices.push(Notice::warning(error.message()));
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
        Values::Categorical { codes, levels, .. } => {
            summary.distinct = Some(levels.len());
            let mut counts = std::collections::BTreeMap::<&str, usize>::new();
            let mut by_code = vec![0; levels.len()];
            for &code in codes {
                if let Some(count) = by_code.get_mut(code as usize) {
                    *count += 1;
                }
            }
            for (level, count) in levels.iter().zip(by_code) {
                let name = prepared.spec.merged(&column.name, level);
                *counts.entry(name).or_default() += count;
            }
            summary.merged = (counts.len() < levels.len()).then_some(counts.len());
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
    let positives = prepared.n_positives();
    let weighted = prepared.labels.iter().zip(&prepared.weights);
    // From 0, because an empty sum is −0.
    let of_positives = weighted
        .filter(|(label, _)| **label)
        .fold(0.0, |sum, (_, w)| sum + w);
    Some(TargetSummary {
        column: rule.column.clone(),
        positive: rule.positive_text(),
        condition: rule.condition(),
        positives,
        negatives: prepared.n_rows() - positives,
        base_rate: of_positives / prepared.weights.iter().sum::<f64>(),
    })
}

fn group_table(
    prepared: &Prepared,
    attribute: &Attribute,
    groups: &[u32],
) -> Ordered<GroupSummary> {
    #[derive(Clone, Default)]
    struct Sums {
        count: usize,
        positives: usize,
        weight: f64,
        positive_weight: f64,
    }
    let mut sums = vec![Sums::default(); attribute.groups.len()];
    for (i, &group) in groups.iter().enumerate() {
        if let Some(sums) = sums.get_mut(group as usize) {
            sums.count += 1;
            sums.weight += prepared.weights[i];
            if prepared.labels.get(i) == Some(&true) {
                sums.positives += 1;
                sums.positive_weight += prepared.weights[i];
            }
        }
    }
    let total: f64 = sums.iter().map(|s| s.weight).sum();
    let labelled = prepared.target.is_some();
    let summarise = |(group, s): (&String, Sums)| {
        let rate = (labelled && s.weight > 0.0).then(|| s.positive_weight / s.weight);
        let summary = GroupSummary {
            count: s.count,
            share: if total > 0.0 { s.weight / total } else { 0.0 },
            positives: labelled.then_some(s.positives),
            base_rate: rate,
        };
        (group.clone(), summary)
    };
    Ordered(attribute.groups.iter().zip(sums).map(summarise).collect())
}
