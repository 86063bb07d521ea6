//! Compares decisions or predictions with the target, by group.

use fairfront_core::{
    Attribute, ClassMeasures, Confusion, Measures, Name, NumberMeasures, UNKNOWN_GROUP, say,
};
use fairfront_data::setting::{TARGET, WEIGHT};
use fairfront_data::{
    AttributeRule, Column, ColumnType, Error as DataError, Numbers, Ordered, RowBatch, TargetRule,
};

use super::audited::{
    Audit, AuditedAttribute, AuditedDifferences, AuditedGroup, AuditedKind, AuditedReference,
    Unknown,
};
use super::class;
use crate::model::Results;
use crate::setting::AUDIT;
use crate::{Error, Model};

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
pub(super) struct Auditor<'a> {
    target: TargetRule,
    attributes: Vec<AttributeRule>,
    weight: Option<String>,
    results: Results<'a>,
}

impl<'a> Auditor<'a> {
    pub(super) fn new(model: &'a Model, weight: Option<String>) -> Result<Self, Error> {
        let Some(target) = model.encoding.target.clone() else {
            return Err(Error::data(say![
                "the model has no target, so there is nothing to compare its results with";
                "remove ", AUDIT;
                "fit the model with ", TARGET
            ]));
        };
        let attributes = model.encoding.attributes.clone();
        Ok(Self {
            target,
            attributes,
            weight,
            results: model.results(),
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
        let mut measures = Measures::empty(&attributes);
        match self.results {
            Results::Decisions { .. } => {}
            Results::Classes { classes, .. } => {
                measures.classes = Some(ClassMeasures::empty(classes, &attributes));
            }
            Results::Numbers(unit) => {
                measures.numbers = Some(NumberMeasures::empty(unit, &attributes));
            }
        }
        Tally {
            measures,
            unknown_label: 0,
            unknown_group: vec![0; self.attributes.len()],
        }
    }

    /// Counts the rows of a batch.
    pub(super) fn tally(&self, batch: &RowBatch, scores: &[f64]) -> Result<Tally, Error> {
        let mut tally = self.begin();
        if let Some((row, problem)) = self.target.unusable(&batch.table)? {
            return Err(Error::Table(DataError::Cell {
                place: batch.place(row),
                column: self.target.column.clone(),
                problem: problem.into(),
            }));
        }
        let labels = self.target.labels(&batch.table)?;
        let groups = self.attributes.iter().map(|rule| rule.groups(&batch.table));
        let groups: Vec<Vec<u32>> = groups.collect::<Result<_, _>>()?;
        let weights = self.weights(batch)?;
        let mut loss = 0.0;
        let measures = &mut tally.measures;
        for (row, label) in labels.iter().enumerate() {
            let Some(label) = *label else {
                tally.unknown_label += 1;
                continue;
            };
            let n_scores = self.results.n_scores();
            let of_classes = &scores[row * n_scores..(row + 1) * n_scores];
            let score = of_classes[0];
            let weight = weights.map_or(1.0, |w| w.get(row));
            let of_row = || groups.iter().map(|groups| groups[row]);
            match self.results {
                Results::Numbers(unit) => {
                    let Some(numbers) = &mut measures.numbers else {
                        continue;
                    };
                    let label = unit.label(label);
                    let (overall, groups) = (&mut numbers.overall, &mut numbers.groups);
                    add_row(overall, groups, of_row(), |sums| {
                        sums.add(label, score, weight, unit);
                    });
                }
                Results::Classes { factor, .. } => {
                    let Some(classes) = &mut measures.classes else {
                        continue;
                    };
                    let (class, decision) = (label as usize, class::decision(of_classes));
                    loss += weight * class::log_loss(of_classes, factor, class);
                    let (overall, groups) = (&mut classes.overall, &mut classes.groups);
                    add_row(overall, groups, of_row(), |counts| {
                        counts.add(class, decision, weight);
                    });
                }
                Results::Decisions {
                    threshold,
                    calibration,
                } => {
                    let (label, decision) = (label > 0.0, score >= threshold);
                    let odds = calibration.log_odds(score);
                    loss += weight * log_loss(if label { odds } else { -odds });
                    let (overall, groups) = (&mut measures.overall, &mut measures.groups);
                    add_row(overall, groups, of_row(), |rows| {
                        count(rows, label, decision, weight);
                    });
                }
            }
            let unknown = tally.unknown_group.iter_mut().zip(of_row());
            unknown.for_each(|(n, group)| *n += usize::from(group == UNKNOWN_GROUP));
        }
        let total = match &measures.classes {
            Some(classes) => classes.overall.weight(),
            None => measures.overall.count(),
        };
        measures.log_loss = (total > 0.0).then(|| loss / total);
        Ok(tally)
    }

    fn weights<'b>(&self, batch: &'b RowBatch) -> Result<Option<&'b Numbers>, Error> {
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
        let groups = |attribute: usize| -> Vec<AuditedGroup> {
            match (self.results, &measures.numbers, &measures.classes) {
                (_, Some(numbers), _) => {
                    let groups = numbers.groups[attribute].iter();
                    groups
                        .map(|g| AuditedGroup::of_numbers(numbers, g))
                        .collect()
                }
                (Results::Classes { classes, .. }, _, Some(found)) => {
                    let groups = found.groups[attribute].iter();
                    groups
                        .map(|g| AuditedGroup::of_classes(classes, g))
                        .collect()
                }
                _ => {
                    let groups = measures.groups[attribute].iter();
                    groups.map(AuditedGroup::of_decisions).collect()
                }
            }
        };
        let attribute = |(a, rule): (usize, &AttributeRule)| {
            let names = rule.attribute.groups.iter().cloned();
            AuditedAttribute {
                name: rule.attribute.name.clone(),
                groups: Ordered(names.zip(groups(a)).collect()),
                left_out: rule.attribute.left_out().cloned().collect(),
                differences: AuditedDifferences::of(measures, a, self.target.classes()),
                reference: AuditedReference::of(measures, a, &rule.attribute),
            }
        };
        let names = self
            .attributes
            .iter()
            .map(|rule| rule.attribute.name.clone());
        let unknown = names.zip(tally.unknown_group.iter().copied());
        let (kind, overall) = match (self.results, &measures.numbers, &measures.classes) {
            (_, Some(numbers), _) => (
                AuditedKind::Numbers {
                    r2: numbers.r2(&numbers.overall),
                },
                AuditedGroup::of_numbers(numbers, &numbers.overall),
            ),
            (Results::Classes { classes, .. }, _, Some(found)) => (
                AuditedKind::Classes {
                    ordered: classes.ordered,
                    log_loss: measures.log_loss,
                },
                AuditedGroup::of_classes(classes, &found.overall),
            ),
            _ => (
                AuditedKind::Decisions {
                    positive: self.target.positive_text(),
                    log_loss: measures.log_loss,
                },
                AuditedGroup::of_decisions(&measures.overall),
            ),
        };
        Audit {
            target: self.target.column.clone(),
            condition: self.target.condition(),
            kind,
            weight: self.weight.clone(),
            overall,
            attributes: self.attributes.iter().enumerate().map(attribute).collect(),
            unknown: Unknown {
                label: tally.unknown_label,
                group: Ordered(unknown.collect()),
            },
        }
    }
}

/// Adds a row to the sums over all rows and to those of its groups.
fn add_row<T>(
    overall: &mut T,
    groups: &mut [Vec<T>],
    of_row: impl Iterator<Item = u32>,
    add: impl Fn(&mut T),
) {
    add(overall);
    for (groups, group) in groups.iter_mut().zip(of_row) {
        // A row of unknown group counts only overall.
        groups.get_mut(group as usize).into_iter().for_each(&add);
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
