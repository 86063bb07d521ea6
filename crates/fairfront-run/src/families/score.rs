//! Columns of probabilities, or of predicted numbers, that another model produced.

use fairfront_core::{Dataset, grouped, say};
use fairfront_data::{Diagnostic, Encoded, Part};
use fairfront_learn::{ProbabilityColumn, Source};

use super::learning::score_columns;
use crate::Error;
use crate::setting::SCORE;

/// Standard errors by which the loss on other rows must be higher for a warning.
const CLEARLY: f64 = 3.0;

/// The largest difference from 1 of the sum of the probabilities of all classes.
const MOST_EXCESS: f64 = 0.01;

/// Checks that the columns hold probabilities, or predictions of a number, and warns if they look like those
/// of a model that was trained on the training rows.
pub(super) fn check(encoded: &Encoded, column: &str) -> Result<Vec<Diagnostic>, Error> {
    let (source, own) = score_columns(&encoded.encoding, column)?;
    let is_number = matches!(source, Source::Number(_));
    let (kind, loss) = match is_number {
        false => ("probability", "log loss"),
        true => ("prediction", "squared error"),
    };
    let rules = &encoded.encoding.numeric;
    if rules
        .iter()
        .any(|rule| rule.indicator && own.iter().any(|own| own.column == rule.column))
    {
        return Err(Error::data(say![
            SCORE.of(column), ": some rows have no value";
            "choose a column with a {kind} in every row"
        ]));
    }
    let mut losses = [Losses::default(); 4];
    for part in Part::ALL {
        let rows = encoded.part(part);
        for of_row in values(rows, &own)?.chunks(own.len()) {
            // Scaling and back may move a value by a few units in the last place.
            let is_wrong = |value: &&f64| !(-1e-9..=1.0 + 1e-9).contains(*value);
            if let (false, Some(wrong)) = (is_number, of_row.iter().find(is_wrong)) {
                return Err(Error::data(say![
                    SCORE.of(column), ": ", wrong.to_string(), " is not between 0 and 1";
                    "choose a column of probabilities"
                ]));
            }
            let sum: f64 = of_row.iter().sum();
            if own.len() > 1 && (sum - 1.0).abs() > MOST_EXCESS {
                return Err(Error::data(say![
                    SCORE.of(column),
                    ": the probabilities of the classes of a row add up to ",
                    format!("{sum:.4}"),
                    "; choose columns that add up to 1"
                ]));
            }
        }
        losses[part as usize] = Losses::of(rows, &source)?;
    }
    let [train, others @ ..] = losses;
    let other = others.into_iter().fold(Losses::default(), Losses::with);
    let mut diagnostics = Vec::new();
    if let (Some([low, low_error]), Some([high, high_error])) = (train.mean(), other.mean())
        && high - low > CLEARLY * low_error.hypot(high_error)
    {
        diagnostics.push(Diagnostic::warning(say![
            SCORE.of(column), ": the ", loss, " is ", format!("{low:.4}"), " on the training rows and ",
            format!("{high:.4}"), " on the other ", grouped(other.rows),
            " rows, so these do not look like out-of-fold values, and the front would be too good on training \
             rows; produce the {kind} of each row by a model that was trained without it"
        ]));
    }
    Ok(diagnostics)
}

/// The columns as probabilities or in the unit of the labels, row by row.
pub(super) fn values(rows: &Dataset, columns: &[ProbabilityColumn]) -> Result<Vec<f64>, Error> {
    let mut found = Vec::with_capacity(rows.n_rows() * columns.len());
    for block in rows.blocks() {
        let block = block?;
        for row in 0..block.n_rows() {
            let numbers = block.numeric(row);
            found
                .extend((columns.iter()).map(|own| own.shift + own.factor * numbers[own.position]));
        }
    }
    Ok(found)
}

/// Sums of losses and their squares.
#[derive(Clone, Copy, Default)]
struct Losses {
    rows: usize,
    weight: f64,
    sum: f64,
    squares: f64,
}

impl Losses {
    fn of(rows: &Dataset, source: &Source) -> Result<Self, Error> {
        let mut losses = Self {
            rows: rows.n_people(),
            ..Self::default()
        };
        for block in rows.blocks() {
            let block = block?;
            let raw = source.raw(rows.schema(), &block);
            let labels = block.labels().iter().zip(block.weights());
            let width = source.n_outputs();
            for (raw, (label, weight)) in raw.chunks_exact(width).zip(labels) {
                let loss = match (source, raw) {
                    (Source::Number(_), [raw, ..]) => (raw - label) * (raw - label),
                    (_, [odds]) => (-label * odds).exp().ln_1p(),
                    // The logarithms of the probabilities of classes.
                    (_, logs) => {
                        let sum: f64 = logs.iter().map(|log| log.exp()).sum();
                        sum.ln() - logs[*label as usize]
                    }
                };
                losses.weight += weight;
                losses.sum += weight * loss;
                losses.squares += weight * loss * loss;
            }
        }
        Ok(losses)
    }

    fn with(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            weight: self.weight + other.weight,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    /// Mean and its standard error; `None` with fewer than two rows.
    fn mean(self) -> Option<[f64; 2]> {
        let mean = (self.rows > 1 && self.weight > 0.0).then(|| self.sum / self.weight)?;
        let variance = (self.squares / self.weight - mean * mean).max(0.0);
        Some([mean, (variance / self.rows as f64).sqrt()])
    }
}
