//! Quality of probabilities as sums by bin of the score, for more rows than can be sorted.

use crate::calibrate::Calibration;
use crate::lanes::{sigmoid_minus, softplus_minus};
use crate::predictor::Rows;
use crate::probability::BINS;
use crate::{Schema, UNKNOWN_GROUP};

/// Number of bins of the log-odds, for the area under the curve.
pub(crate) const SCORE_BINS: usize = 1_024;
/// Log-odds from −`REACH` to `REACH` have bins of equal width; the first and the last also contain the rest.
const REACH: f64 = 16.0;

/// Sums per slot of rows (all rows, or a group): weight, probabilities and positive weight of each bin of
/// probabilities, squared differences, squared probabilities, and the weights of negative and of positive rows by bin of log-odds.
pub(crate) const SLOT_SUMS: usize = FIRST_SCORE + 2 * SCORE_BINS;
/// The position of the first sum by bin of log-odds.
pub(crate) const FIRST_SCORE: usize = 3 * BINS + 2;

/// Number of slots.
pub(crate) fn n_slots(schema: &Schema) -> usize {
    1 + schema
        .attributes
        .iter()
        .map(|a| a.groups.len())
        .sum::<usize>()
}

/// Number of sums per point: the loss, and those of each slot.
pub(super) fn n_sums(schema: &Schema) -> usize {
    1 + n_slots(schema) * SLOT_SUMS
}

/// Adds rows with the scores of one point.
pub(super) fn add(
    schema: &Schema,
    rows: &Rows<'_>,
    scores: impl Iterator<Item = f64>,
    calibration: Calibration,
    sums: &mut [f64],
) {
    let (loss, slots) = sums.split_at_mut(1);
    for (row, score) in scores.take(rows.len()).enumerate() {
        let (weight, positive) = (rows.weights()[row], rows.labels()[row] > 0.0);
        let label = f64::from(u8::from(positive));
        let odds = calibration.log_odds(score);
        let probability = sigmoid_minus(-odds);
        loss[0] += weight * softplus_minus(if positive { odds } else { -odds });
        let bin = ((probability * BINS as f64) as usize).min(BINS - 1);
        let position = (odds + REACH) * (SCORE_BINS as f64 / (2.0 * REACH));
        let score_bin = (position.max(0.0) as usize).min(SCORE_BINS - 1);
        let mut add = |slot: usize| {
            let own = &mut slots[slot * SLOT_SUMS..(slot + 1) * SLOT_SUMS];
            own[3 * bin] += weight;
            own[3 * bin + 1] += weight * probability;
            own[3 * bin + 2] += weight * label;
            own[3 * BINS] += weight * (probability - label) * (probability - label);
            own[3 * BINS + 1] += weight * probability * probability;
            own[FIRST_SCORE + 2 * score_bin + usize::from(positive)] += weight;
        };
        add(0);
        let mut first = 1;
        for (a, about) in schema.attributes.iter().enumerate() {
            let group = rows.groups(a)[row];
            if group != UNKNOWN_GROUP {
                add(first + group as usize);
            }
            first += about.groups.len();
        }
    }
}
