//! Probabilities of other models, with their usual threshold, as marks in plots.

use std::sync::Arc;

use fairfront_core::{
    Costs, Dataset, Measure, Objective, Points, Schema, grouped, measure, predictor_of, say,
};
use fairfront_data::setting::MARK;
use fairfront_data::{Encoded, Part, Prepared};

use crate::fit::parse_objectives;
use crate::{Error, Overlay, OverlayKind, OverlayPoint};

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
    let costs = match objectives.first().and_then(|loss| loss.measure()) {
        Some(Measure::ErrorRate(costs)) => costs,
        _ => Costs::EQUAL,
    };
    for name in &prepared.spec.marks {
        let column = prepared.table.require(name, MARK)?;
        let Some(numbers) = column.numeric() else {
            return Err(wrong(name, "not a column of numbers".into()));
        };
        for part in Part::SHOWN {
            let rows = prepared.split.part(part).iter();
            let rows = rows.map(|position| prepared.rows[*position as usize] as usize);
            let values: Vec<f64> = rows.map(|row| numbers.get(row)).collect();
            if let Some(bad) = values.iter().find(|p| !(0.0..=1.0).contains(*p)) {
                let missing = values.iter().filter(|p| p.is_nan()).count();
                return Err(wrong(
                    name,
                    match missing {
                        0 => format!("{bad} is not between 0 and 1"),
                        n => format!("{} {} rows have no value", grouped(n), part.name()),
                    },
                ));
            }
            overlays.extend(mark(encoded.part(part), part, &values, (name, costs))?);
        }
    }
    Ok(overlays)
}

fn wrong(column: &str, problem: String) -> Error {
    Error::data(say![
        MARK.of(column), ": ", problem;
        "choose a column with a probability in every row"
    ])
}

/// The decisions by these probabilities of the rows of a split; `None` without rows.
pub(crate) fn mark(
    rows: &Dataset,
    part: Part,
    probabilities: &[f64],
    (name, costs): (&str, Costs),
) -> Result<Option<Overlay>, Error> {
    if rows.n_rows() == 0 {
        return Ok(None);
    }
    let threshold = usual_threshold(costs);
    let margins: Vec<f64> = probabilities.iter().map(|p| p - threshold).collect();
    let measures = all_measures(rows.schema(), costs);
    let values = values(rows, &margins, &measures)?;
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

/// Measures of decisions that select a row if its margin is at least 0; `None` for undefined ones.
pub(crate) fn values(
    rows: &Dataset,
    margins: &[f64],
    measures: &[Measure],
) -> Result<Vec<Option<f64>>, Error> {
    let rows = rows.of_numeric(&["margin".to_owned()], margins)?;
    let decide = Points::from_vec(2, vec![1.0, 0.0]);
    let counts = measure(&*predictor_of(rows.schema()), &rows, &decide)?;
    Ok(measures.iter().map(|m| m.of(&counts[0])).collect())
}
