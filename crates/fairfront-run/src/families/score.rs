//! A column of probabilities, or of predicted numbers, that another model produced.

use fairfront_core::{Dataset, grouped, say};
use fairfront_data::{Diagnostic, Encoded, Part};
use fairfront_learn::{ProbabilityColumn, Source};

use super::learning::score_column;
use crate::Error;
use crate::setting::SCORE;

/// Standard errors by which the loss on other rows must be higher for a warning.
const CLEARLY: f64 = 3.0;

/// Checks that the column holds probabilities, or predictions of a number, and warns if they look like those of a model that was
/// trained on the training rows.
pub(super) fn check(encoded: &Encoded, column: &str) -> Result<Vec<Diagnostic>, Error> {
    let (source, own) = score_column(&encoded.encoding, column)?;
    let is_number = matches!(source, Source::Number(_));
    let (kind, loss) = match is_number {
        false => ("probability", "log loss"),
        true => ("prediction", "squared error"),
    };
    let rules = &encoded.encoding.numeric;
    if rules
        .iter()
        .any(|rule| rule.column == column && rule.indicator)
    {
        return Err(Error::data(say![
            SCORE.of(column), ": some rows have no value";
            "choose a column with a {kind} in every row"
        ]));
    }
    let mut losses = [Losses::default(); 4];
    for part in Part::ALL {
        let rows = encoded.part(part);
        for probability in values(rows, &own)? {
            // Scaling and back may move a value by a few units in the last place.
            if !is_number && !(-1e-9..=1.0 + 1e-9).contains(&probability) {
                return Err(Error::data(say![
                    SCORE.of(column), ": ", probability.to_string(), " is not between 0 and 1";
                    "choose a column of probabilities"
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

/// The column as probabilities, or in the unit of the labels.
pub(super) fn values(rows: &Dataset, column: &ProbabilityColumn) -> Result<Vec<f64>, Error> {
    let mut found = Vec::with_capacity(rows.n_rows());
    for block in rows.blocks() {
        let block = block?;
        let of_row = |row| column.shift + column.factor * block.numeric(row)[column.position];
        found.extend((0..block.n_rows()).map(of_row));
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
        let mut losses = Self::default();
        for block in rows.blocks() {
            let block = block?;
            let raw = source.raw(rows.schema(), &block);
            let labels = block.labels().iter().zip(block.weights());
            for (raw, (label, weight)) in raw.iter().zip(labels) {
                let loss = match source {
                    Source::Number(_) => (raw - label) * (raw - label),
                    _ => (-label * raw).exp().ln_1p(),
                };
                losses.rows += 1;
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
