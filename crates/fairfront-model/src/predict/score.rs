//! Scores the rows of a table in memory.

use std::borrow::Cow;
use std::ops::Range;

use fairfront_core::{BLOCK_ROWS, predictor_of, scores};
use fairfront_data::{
    Column, Encoder, Encoding, Error as DataError, NumericRule, Place, RowFacts, Table, TargetRule,
};
use rayon::prelude::*;

use crate::Error;
use crate::model::split;
use crate::used::reduced;

/// The scores of all rows of a table, the same numbers as from [`predict`](crate::predict). With more than two
/// classes, each row has one score per class, and scores are stored row by row. `params` are those of the
/// predictor of the encoding's schema: coefficients in the order of the encoding's features, class by class,
/// then intercepts. All threads encode rows block by block, and no block is kept. Target and sensitive
/// columns are not needed. The score of a model that predicts a number is in standard deviations of the
/// target from its mean ([`Unit::number`](fairfront_core::Unit::number)).
pub fn score_table(encoding: &Encoding, params: &[f64], table: &Table) -> Result<Vec<f64>, Error> {
    let (coefficients, intercepts) = split(encoding, params).map_err(Error::usage)?;
    let n_scores = intercepts.len();
    let (mut encoding, coefficients) = reduced(encoding, &coefficients);
    encoding.attributes.clear();
    let mut params = coefficients.concat();
    params.extend(intercepts);
    let table = encoding.complete(Cow::Borrowed(table))?;
    let encoder = encoding.encoder(&table)?;
    let mut all = vec![0.0; table.n_rows() * n_scores];
    let blocks = all.par_chunks_mut(BLOCK_ROWS * n_scores).enumerate();
    let done: Vec<Result<(), Range<usize>>> = blocks
        .map(|(index, out)| {
            let first = index * BLOCK_ROWS;
            let n = out.len() / n_scores;
            score_block(&encoder, &params, first, &unlabeled(&encoding, n), out)
        })
        .collect();
    // The first block that failed, in row order.
    let failed = done.into_iter().find_map(Result::err);
    match failed {
        None => Ok(all),
        Some(rows) => Err(too_large(&encoding, &table, rows, &|row| table.place(row))),
    }
}

/// Facts about rows that are only scored. Their label is the first class, or negative.
pub(super) fn unlabeled(encoding: &Encoding, n: usize) -> RowFacts {
    let target = encoding.target.as_ref();
    let label = match target.and_then(TargetRule::classes) {
        Some(_) => 0.0,
        None => -1.0,
    };
    RowFacts {
        labels: vec![label; n],
        groups: Vec::new(),
        weights: vec![1.0; n],
    }
}

/// Fills `out` with the scores of the next rows, or returns the rows that cannot be scored.
fn score_block(
    encoder: &Encoder,
    params: &[f64],
    first: usize,
    facts: &RowFacts,
    out: &mut [f64],
) -> Result<(), Range<usize>> {
    let n = facts.labels.len();
    let all = first..first + n;
    let rows: Vec<u32> = (all.start as u32..all.end as u32).collect();
    let encoded = encoder.encode(&rows, facts).map_err(|_| all.clone())?;
    let found = scores(&*predictor_of(encoded.schema()), &encoded, params).map_err(|_| all)?;
    if let Some(at) = found.iter().position(|score| !score.is_finite()) {
        let row = first + at * n / found.len();
        return Err(row..row + 1);
    }
    out.copy_from_slice(&found);
    Ok(())
}

/// The error for rows whose scores overflow; it names the value that is farthest from the mean.
pub(super) fn too_large(
    encoding: &Encoding,
    table: &Table,
    rows: Range<usize>,
    place: &dyn Fn(usize) -> Place,
) -> Error {
    let mut worst = (rows.start, None, 0.0);
    for rule in &encoding.numeric {
        let Some(values) = table.column(&rule.column).and_then(Column::numeric) else {
            continue;
        };
        for row in rows.clone() {
            let far = distance(rule, values.get(row));
            if far > worst.2 {
                worst = (row, Some(&rule.column), far);
            }
        }
    }
    let (row, column, _) = worst;
    let Some(column) = column else {
        return Error::data(format!(
            "{}: the coefficients of the model are too large for a score; choose another model",
            place(row)
        ));
    };
    Error::Table(DataError::Cell {
        place: place(row),
        column: column.clone(),
        problem: "the value is too large for a score; fix it, or leave it empty if it is missing"
            .into(),
    })
}

/// The distance of a value from the center of the training rows.
fn distance(rule: &NumericRule, value: f64) -> f64 {
    ((value - rule.shift) / rule.factor).abs()
}
