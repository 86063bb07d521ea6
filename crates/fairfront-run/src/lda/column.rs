//! The effect of a single column: linear models without it, compared with the linear model that has all columns.

use fairfront_core::{Decisions, Rate, RateIn, predictor_of};
use fairfront_data::{Encoded, Part, Prepared, RowRole, Spec};
use fairfront_solve::StopSignal;
use serde::{Deserialize, Serialize};

use super::compare::Disparity;
use crate::penalty::linear_model;
use crate::{Error, Run};

/// The most columns that are left out, one after the other.
const MOST: usize = 100;

/// The linear unmitigated model without a column, compared with the one that has all columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WithoutColumn {
    /// The column.
    pub column: String,
    /// Accuracy without the column minus accuracy with it; absent if the column cannot be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy_change: Option<f64>,
    /// For each measure, its value without the column minus its value with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<f64>,
    /// Why the column cannot be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The effect of each column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnEffects {
    /// The rows on which the models are evaluated.
    pub split: Part,
    /// Their number.
    pub rows: usize,
    /// The accuracy of the linear model with all columns.
    pub accuracy: Option<f64>,
    /// Its differences, one per measure.
    pub differences: Vec<Option<f64>>,
    /// One entry per column, the largest change of the first measure first.
    pub columns: Vec<WithoutColumn>,
    /// Number of columns that were not tried, because there are too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_tried: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// Accuracy and differences of a model on rows.
struct Values {
    accuracy: Option<f64>,
    differences: Vec<Option<f64>>,
}

/// Fits the linear unmitigated model without each column.
pub(super) fn effects(
    run: &Run,
    prepared: &Prepared,
    encoded: &Encoded,
    disparities: &[Disparity],
) -> Result<ColumnEffects, Error> {
    let parts = encoded.parts_for(RowRole::Reporting);
    let part = parts.first().copied().unwrap_or(Part::Train);
    let lambda = run.info.penalty.as_ref().map(|penalty| penalty.chosen);
    let lambda = lambda.unwrap_or(fairfront_core::LogLoss::default().lambda);
    let with = values(encoded, part, lambda, disparities)?;
    let features = features(prepared);
    let tried = &features[..features.len().min(MOST)];
    // The rows and their splits stay as they are; only the features change.
    let mut again = prepared.clone();
    let mut columns = Vec::with_capacity(tried.len());
    for column in tried {
        again.spec = without(&prepared.spec, column);
        let found = match Encoded::new(&again) {
            Ok(encoded) => values(&encoded, part, lambda, disparities)?,
            Err(error) => {
                columns.push(WithoutColumn {
                    column: column.clone(),
                    accuracy_change: None,
                    changes: Vec::new(),
                    reason: Some(error.to_string()),
                });
                continue;
            }
        };
        let changes = found.differences.iter().zip(&with.differences);
        let changes: Option<Vec<f64>> = changes.map(|(new, old)| Some((*new)? - (*old)?)).collect();
        columns.push(WithoutColumn {
            column: column.clone(),
            accuracy_change: found
                .accuracy
                .zip(with.accuracy)
                .map(|(new, old)| new - old),
            changes: changes.unwrap_or_default(),
            reason: None,
        });
    }
    let size = |of: &WithoutColumn| of.changes.first().map_or(-1.0, |change| change.abs());
    columns.sort_by(|a, b| {
        size(b)
            .total_cmp(&size(a))
            .then_with(|| a.column.cmp(&b.column))
    });
    Ok(ColumnEffects {
        split: part,
        rows: encoded.part(part).n_rows(),
        accuracy: with.accuracy,
        differences: with.differences,
        columns,
        not_tried: features.len() - tried.len(),
    })
}

/// The columns of a table that are features.
fn features(prepared: &Prepared) -> Vec<String> {
    let columns = prepared.table.columns().iter();
    let names = columns.map(|column| column.name.clone());
    names
        .filter(|name| prepared.spec.is_feature(name))
        .collect()
}

/// The spec without a feature.
fn without(spec: &Spec, column: &String) -> Spec {
    let mut spec = spec.clone();
    match &mut spec.features {
        Some(features) => features.retain(|name| name != column),
        None => spec.drop.push(column.clone()),
    }
    spec
}

fn values(
    encoded: &Encoded,
    part: Part,
    lambda: f64,
    disparities: &[Disparity],
) -> Result<Values, Error> {
    let model = linear_model(encoded.part(Part::Train), lambda, StopSignal::default())?;
    let rows = encoded.part(part);
    let tallies = Decisions::of(&*predictor_of(rows.schema()), rows, &model)?.tallies();
    let rate = |(rate, region): RateIn| tallies.cell(0, rate, region).rate();
    Ok(Values {
        accuracy: rate((Rate::Accuracy, 0)),
        differences: disparities.iter().map(|d| d.value(rate)).collect(),
    })
}
