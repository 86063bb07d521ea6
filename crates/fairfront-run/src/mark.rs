//! Predictions of other models as marks in plots: probabilities with their usual threshold, or numbers.

use std::sync::Arc;

use fairfront_core::{
    Classes, Costs, Dataset, Distance, Measure, Objective, Points, Schema, Target, grouped,
    measure, predictor_of, say,
};
use fairfront_data::setting::MARK;
use fairfront_data::{Encoded, Part, Prepared};
use fairfront_learn::ProbabilityColumn;

use crate::fit::parse_objectives;
use crate::{Error, Overlay, OverlayKind, OverlayPoint};

/// How a column becomes scores of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Margin {
    /// It holds probabilities, and the usual threshold for these costs decides.
    Probability(Costs),
    /// It holds predictions of a number, in the unit of the labels.
    Label,
    /// Columns hold the probabilities of more than two classes, and the largest one decides.
    Classes(usize),
}

/// The threshold on a probability that costs least if groups do not matter.
pub(crate) fn usual_threshold(costs: Costs) -> f64 {
    costs.false_positive / (costs.false_positive + costs.false_negative)
}

/// The marks of the columns that the spec names.
pub(crate) fn marks(
    prepared: &Prepared,
    encoded: &Encoded,
    objectives: &[String],
    custom: &[Arc<dyn Objective>],
) -> Result<Vec<Overlay>, Error> {
    let mut overlays = Vec::new();
    if prepared.spec.marks.is_empty() {
        return Ok(overlays);
    }
    let schema = encoded.part(Part::Train).schema();
    let objectives = parse_objectives(objectives, schema, custom, None)?;
    let unit = schema.target.unit();
    let costs = match objectives.first().and_then(|loss| loss.measure()) {
        Some(Measure::ErrorRate(costs)) => costs,
        _ => Costs::EQUAL,
    };
    let margin = match &schema.target {
        Target::Binary => Margin::Probability(costs),
        Target::Number(_) => Margin::Label,
        Target::Classes(classes) => Margin::Classes(classes.len()),
    };
    let is_valid = |value: &f64| match unit {
        None => (0.0..=1.0).contains(value),
        Some(_) => value.is_finite(),
    };
    let wrong = |column: &str, problem: String| {
        let wanted = match unit {
            None => "choose a column with a probability in every row",
            Some(_) => "choose a column with a prediction in every row",
        };
        Error::data(say![MARK.of(column), ": ", problem; wanted])
    };
    let values_of = |name: &str, part: Part| -> Result<Vec<f64>, Error> {
        let column = prepared.table.require(name, MARK)?;
        let Some(numbers) = column.numeric() else {
            return Err(wrong(name, "not a column of numbers".into()));
        };
        let positions = prepared.encoded_positions(part);
        let rows = positions.iter();
        let rows = rows.map(|position| prepared.rows[*position as usize] as usize);
        let values: Vec<f64> = rows.map(|row| numbers.get(row)).collect();
        if let Some(bad) = values.iter().find(|value| !is_valid(value)) {
            let missing = values.iter().filter(|p| p.is_nan()).count();
            return Err(wrong(
                name,
                match missing {
                    0 if unit.is_some() => format!("{bad} is not a finite number"),
                    0 => format!("{bad} is not between 0 and 1"),
                    n => format!("{} {} rows have no value", grouped(n), part.name()),
                },
            ));
        }
        Ok(match unit {
            None => values,
            Some(unit) => values.into_iter().map(|value| unit.label(value)).collect(),
        })
    };
    let names = &prepared.spec.marks;
    let width = margin.n_columns();
    if !names.len().is_multiple_of(width) {
        let classes = schema.target.classes();
        let listed = classes.map_or_else(String::new, |classes| classes.names.join(", "));
        return Err(Error::usage(say![
            MARK.of(names.join(",")),
            ": expected a column with the probability of each class; list one \
             column for each of {listed}, in this order"
        ]));
    }
    for columns in names.chunks(width) {
        for part in Part::SHOWN {
            let of_columns = columns.iter().map(|name| values_of(name, part));
            let of_columns = of_columns.collect::<Result<Vec<_>, _>>()?;
            let rows = 0..of_columns[0].len();
            let of_row = |row: usize| of_columns.iter().map(move |column| column[row]);
            let values: Vec<f64> = rows.flat_map(of_row).collect();
            let name = columns.join(", ");
            overlays.extend(mark(encoded.part(part), part, &values, (&name, margin))?);
        }
    }
    Ok(overlays)
}

impl Margin {
    /// Number of columns per mark.
    fn n_columns(self) -> usize {
        match self {
            Self::Probability(_) | Self::Label => 1,
            Self::Classes(n_classes) => n_classes,
        }
    }
}

/// The measures of these probabilities, as decisions, or of these labels; `None` without rows.
pub(crate) fn mark(
    rows: &Dataset,
    part: Part,
    predictions: &[f64],
    (name, margin): (&str, Margin),
) -> Result<Option<Overlay>, Error> {
    if rows.n_rows() == 0 {
        return Ok(None);
    }
    let (scores, measures): (Vec<f64>, _) = match margin {
        Margin::Probability(costs) => {
            let threshold = usual_threshold(costs);
            let scores = predictions.iter().map(|p| p - threshold).collect();
            (scores, all_measures(rows.schema(), costs))
        }
        Margin::Label => (predictions.to_vec(), measures_of_numbers(rows.schema())),
        Margin::Classes(_) => {
            let log = |p: &f64| libm::log(p.max(ProbabilityColumn::LEAST));
            let mut measures = all_measures(rows.schema(), Costs::EQUAL);
            measures.push(Measure::LogLoss);
            (predictions.iter().map(log).collect(), measures)
        }
    };
    let values = values(rows, &scores, &measures)?;
    // Plots do not show a measure that is undefined on these rows.
    let defined = || {
        measures
            .iter()
            .zip(&values)
            .filter(|(_, value)| value.is_some())
    };
    Ok(Some(Overlay {
        kind: OverlayKind::Score,
        label: name.into(),
        split: Some(part.name().into()),
        measures: defined().map(|(m, _)| m.name(rows.schema())).collect(),
        points: vec![OverlayPoint {
            values: defined().filter_map(|(_, value)| *value).collect(),
            low: Vec::new(),
            high: Vec::new(),
            name: Some(name.into()),
        }],
    }))
}

/// The error rate and all differences between groups.
fn all_measures(schema: &Schema, costs: Costs) -> Vec<Measure> {
    let of_attribute = |attribute| {
        [
            Measure::DemographicParity { attribute },
            Measure::EqualOpportunity { attribute },
            Measure::FalsePositiveRate { attribute },
            Measure::EqualizedOdds { attribute },
        ]
    };
    let attributes = (0..schema.attributes.len()).flat_map(of_attribute);
    std::iter::once(Measure::ErrorRate(costs))
        .chain(attributes)
        .collect()
}

/// The errors of predicted numbers and all differences between groups.
fn measures_of_numbers(schema: &Schema) -> Vec<Measure> {
    let of_attribute = |attribute| {
        let distribution = |distance| Measure::DistributionDifference {
            attribute,
            distance,
        };
        let losses = [false, true].into_iter().flat_map(move |absolute| {
            [
                Measure::LossDifference {
                    attribute,
                    absolute,
                },
                Measure::WorstGroupLoss {
                    attribute,
                    absolute,
                },
            ]
        });
        let first = [
            Measure::MeanDifference { attribute },
            distribution(Distance::Largest),
            distribution(Distance::Mean),
        ];
        first.into_iter().chain(losses)
    };
    let attributes = (0..schema.attributes.len()).flat_map(of_attribute);
    [Measure::Rmse, Measure::Mae]
        .into_iter()
        .chain(attributes)
        .collect()
}

/// Measures of rows with these scores, one per row or one per row and class; a decision selects a row if its
/// score is at least 0, or is the class with the largest score. `None` for undefined ones.
pub(crate) fn values(
    rows: &Dataset,
    scores: &[f64],
    measures: &[Measure],
) -> Result<Vec<Option<f64>>, Error> {
    let n_classes = rows.schema().target.classes().map_or(1, Classes::len);
    let names = (0..n_classes).map(|class| format!("score {class}"));
    let names: Vec<String> = names.collect();
    let rows = rows.of_numeric(&names, scores)?;
    // The score of each class is its own column; intercepts are 0.
    let mut decide = vec![0.0; n_classes * (n_classes + 1)];
    (0..n_classes).for_each(|class| decide[class * (n_classes + 1)] = 1.0);
    let decide = Points::from_vec(decide.len(), decide);
    let counts = measure(&*predictor_of(rows.schema()), &rows, &decide)?;
    Ok(measures.iter().map(|m| m.of(&counts[0])).collect())
}
