//! Compares decisions with the labels, by group.

use fairfront_core::{Attribute, Calibration, Confusion, Measures, Name, UNKNOWN_GROUP, say};
use fairfront_data::setting::{TARGET, WEIGHT};
use fairfront_data::{
    AttributeRule, Column, ColumnType, Error as DataError, Numbers, Ordered, RowBatch, TargetRule,
};
use serde::Serialize;

use crate::setting::AUDIT;
use crate::{Error, Model};

/// The decisions of a model on rows with known labels and groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// The target and its positive value.
    pub target: String,
    /// The values that count as positive.
    pub positive: String,
    /// The condition for a positive label, in readable form.
    #[serde(skip)]
    pub condition: String,
    /// The weight column, if counts are sums of weights.
    pub weight: Option<String>,
    /// Rates over all rows with a label.
    pub overall: AuditedGroup,
    /// Mean log loss of the probabilities; `None` without rows.
    pub log_loss: Option<f64>,
    /// Each sensitive attribute.
    pub attributes: Vec<AuditedAttribute>,
    /// Rows that could not be compared.
    pub unknown: Unknown,
}

/// Rows that could not be compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unknown {
    /// Rows without a label, which are ignored.
    pub label: usize,
    /// Rows with a label whose group is missing or did not occur in training, by attribute. They count only
    /// in the overall figures.
    pub group: Ordered<usize>,
}

/// The groups of a sensitive attribute, and their differences; `None` if the rows do not define a number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedAttribute {
    /// The attribute.
    pub name: String,
    /// Its groups.
    pub groups: Ordered<AuditedGroup>,
    /// Groups that had too few training rows for one or all of the comparisons below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Largest minus smallest selection rate.
    pub demographic_parity_difference: Option<f64>,
    /// Smallest over largest selection rate.
    pub demographic_parity_ratio: Option<f64>,
    /// Largest minus smallest false negative rate.
    pub equal_opportunity_difference: Option<f64>,
    /// Largest minus smallest false positive rate.
    pub false_positive_rate_difference: Option<f64>,
    /// The larger of the two differences above.
    pub equalized_odds_difference: Option<f64>,
}

/// Rates of some rows; `None` if the denominator is zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedGroup {
    /// Rows, or the sum of their weights.
    pub count: f64,
    /// Share of rows labeled positive.
    pub positive_rate: Option<f64>,
    /// Share of selected rows.
    pub selection_rate: Option<f64>,
    /// Share of rows not selected among those labeled positive.
    pub false_negative_rate: Option<f64>,
    /// Share of selected rows among those labeled negative.
    pub false_positive_rate: Option<f64>,
    /// Share of correct decisions.
    pub accuracy: Option<f64>,
}

impl AuditedGroup {
    fn of(rows: &Confusion) -> Self {
        let count = rows.count();
        let positives = rows.true_positives + rows.false_negatives;
        Self {
            count,
            positive_rate: (count > 0.0).then(|| positives / count),
            selection_rate: rows.selection_rate(),
            false_negative_rate: rows.false_negative_rate(),
            false_positive_rate: rows.false_positive_rate(),
            accuracy: rows.accuracy(),
        }
    }
}

/// The counts so far.
pub(super) struct Tally {
    measures: Measures,
    unknown_label: usize,
    unknown_group: Vec<usize>,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.measures = self.measures.with(&other.measures);
        self.unknown_label += other.unknown_label;
        let groups = self.unknown_group.iter_mut().zip(&other.unknown_group);
        groups.for_each(|(own, other)| *own += other);
    }
}

/// The rules that give rows their labels and groups.
pub(super) struct Auditor {
    target: TargetRule,
    attributes: Vec<AttributeRule>,
    weight: Option<String>,
    calibration: Calibration,
}

impl Auditor {
    pub(super) fn new(model: &Model, weight: Option<String>) -> Result<Self, Error> {
        let Some(target) = model.encoding.target.clone() else {
            return Err(Error::data(say![
                "the model has no target, so there is nothing to compare decisions with";
                "remove ", AUDIT;
                "fit the model with ", TARGET
            ]));
        };
        let attributes = model.encoding.attributes.clone();
        Ok(Self {
            target,
            attributes,
            weight,
            calibration: model.calibration,
        })
    }

    /// The columns that labels, groups and weights come from.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&str, ColumnType, Option<Name>)> {
        let target = (
            self.target.column.as_str(),
            self.target.column_type(),
            Some(AUDIT),
        );
        let parts = self.attributes.iter().flat_map(|rule| &rule.columns);
        let sensitive = parts.map(|part| {
            let ty = match part.bins {
                Some(_) => ColumnType::Numeric,
                None => ColumnType::Categorical,
            };
            (part.column.as_str(), ty, Some(AUDIT))
        });
        let weight = self.weight.iter();
        let weight = weight.map(|name| (name.as_str(), ColumnType::Numeric, Some(WEIGHT)));
        [target].into_iter().chain(sensitive).chain(weight)
    }

    pub(super) fn begin(&self) -> Tally {
        let attributes = self.attributes.iter().map(|rule| rule.attribute.clone());
        let attributes: Vec<Attribute> = attributes.collect();
        Tally {
            measures: Measures::empty(&attributes),
            unknown_label: 0,
            unknown_group: vec![0; self.attributes.len()],
        }
    }

    /// Counts the rows of a batch.
    pub(super) fn tally(
        &self,
        batch: &RowBatch,
        scores: &[f64],
        decisions: &[bool],
    ) -> Result<Tally, Error> {
        let mut tally = self.begin();
        let labels = self.target.labels(&batch.table)?;
        let groups = self.attributes.iter().map(|rule| rule.groups(&batch.table));
        let groups: Vec<Vec<u32>> = groups.collect::<Result<_, _>>()?;
        let weights = self.weights(batch)?;
        let mut loss = 0.0;
        for (row, label) in labels.iter().enumerate() {
            let Some(label) = *label else {
                tally.unknown_label += 1;
                continue;
            };
            let label = label > 0.0;
            let weight = weights.map_or(1.0, |w| w.get(row));
            let odds = self.calibration.log_odds(scores[row]);
            let margin = if label { odds } else { -odds };
            loss += weight * log_loss(margin);
            count(&mut tally.measures.overall, label, decisions[row], weight);
            for (attribute, groups) in groups.iter().enumerate() {
                match groups[row] {
                    UNKNOWN_GROUP => tally.unknown_group[attribute] += 1,
                    group => {
                        let of = &mut tally.measures.groups[attribute][group as usize];
                        count(of, label, decisions[row], weight);
                    }
                }
            }
        }
        let total = tally.measures.overall.count();
        tally.measures.log_loss = (total > 0.0).then(|| loss / total);
        Ok(tally)
    }

    fn weights<'a>(&self, batch: &'a RowBatch) -> Result<Option<&'a Numbers>, Error> {
        let Some(name) = &self.weight else {
            return Ok(None);
        };
        let Some(weights) = batch.table.column(name).and_then(Column::numeric) else {
            return Ok(None);
        };
        // Also true for NaN, which is a missing value.
        match weights.iter().position(|w| !(w.is_finite() && w >= 0.0)) {
            None => Ok(Some(weights)),
            Some(row) => Err(Error::Table(DataError::Cell {
                place: batch.place(row),
                column: name.clone(),
                problem: "the weight is missing or negative; use a number that is not negative"
                    .into(),
            })),
        }
    }

    pub(super) fn finish(&self, tally: &Tally) -> Audit {
        let measures = &tally.measures;
        let attribute = |(a, rule): (usize, &AttributeRule)| {
            let names = rule.attribute.groups.iter().cloned();
            let groups = measures.groups[a].iter().map(AuditedGroup::of);
            AuditedAttribute {
                name: rule.attribute.name.clone(),
                groups: Ordered(names.zip(groups).collect()),
                left_out: rule.attribute.left_out().cloned().collect(),
                demographic_parity_difference: measures.demographic_parity_difference(a),
                demographic_parity_ratio: measures.demographic_parity_ratio(a),
                equal_opportunity_difference: measures.equal_opportunity_difference(a),
                false_positive_rate_difference: measures.false_positive_rate_difference(a),
                equalized_odds_difference: measures.equalized_odds_difference(a),
            }
        };
        let names = self
            .attributes
            .iter()
            .map(|rule| rule.attribute.name.clone());
        let unknown = names.zip(tally.unknown_group.iter().copied());
        Audit {
            target: self.target.column.clone(),
            positive: self.target.positive_text(),
            condition: self.target.condition(),
            weight: self.weight.clone(),
            overall: AuditedGroup::of(&measures.overall),
            log_loss: measures.log_loss,
            attributes: self.attributes.iter().enumerate().map(attribute).collect(),
            unknown: Unknown {
                label: tally.unknown_label,
                group: Ordered(unknown.collect()),
            },
        }
    }
}

/// log(1 + e^(−m)), without overflow.
fn log_loss(margin: f64) -> f64 {
    (-margin).max(0.0) + libm::log1p(libm::exp(-margin.abs()))
}

fn count(of: &mut Confusion, label: bool, decision: bool, weight: f64) {
    *match (label, decision) {
        (true, true) => &mut of.true_positives,
        (true, false) => &mut of.false_negatives,
        (false, true) => &mut of.false_positives,
        (false, false) => &mut of.true_negatives,
    } += weight;
}
