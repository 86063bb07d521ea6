//! Calibrates the scores of a front's models into probabilities, and writes the columns for it.

use fairfront_core::{
    Calibration, Points, Probabilities, calibrate, calibrate_scale, predictor_of,
};
use fairfront_data::{Encoded, Part, RowRole};

use crate::Error;
use crate::measured::SplitValues;

/// Columns with the calibration of a model.
pub(crate) const SLOPE: &str = "calibration.slope";
pub(crate) const INTERCEPT: &str = "calibration.intercept";

/// The calibration of each model: slope and intercept fitted on validation rows. If there are none,
/// or too few of one label, only the slope is fitted, on training rows. A probability of at least
/// 0.5 is then a positive decision, as scikit-learn expects.
///
/// Calibration changes no decision and does not influence which models are kept.
pub(crate) fn calibrations(encoded: &Encoded, points: &Points) -> Result<Vec<Calibration>, Error> {
    calibrations_unless(encoded, points, points.len(), &|| false)
}

/// Like [`calibrations`], `chunk` models at a time. If the work is stopped before all are
/// calibrated, all models keep their uncalibrated scores.
pub(crate) fn calibrations_unless(
    encoded: &Encoded,
    points: &Points,
    chunk: usize,
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<Calibration>, Error> {
    if !encoded.part(Part::Train).schema().target.decides() {
        // Predicted numbers are not probabilities.
        return Ok(vec![Calibration::default(); points.len()]);
    }
    let numbers: Vec<usize> = (0..points.len()).collect();
    let mut all = Vec::with_capacity(points.len());
    for some in numbers.chunks(chunk.max(1)) {
        if is_over() {
            return Ok(vec![Calibration::default(); points.len()]);
        }
        all.extend(of_some(encoded, &points.select(some))?);
    }
    Ok(all)
}

fn of_some(encoded: &Encoded, points: &Points) -> Result<Vec<Calibration>, Error> {
    let predictor = predictor_of(encoded.part(Part::Train).schema());
    if encoded.parts_for(RowRole::Calibration) == [Part::Validation]
        && let Some(found) = calibrate(&*predictor, encoded.part(Part::Validation), points)?
    {
        return Ok(found);
    }
    Ok(calibrate_scale(
        &*predictor,
        encoded.part(Part::Train),
        points,
    )?)
}

/// The split for the reliability of probabilities: one on which no model was chosen, if there is
/// one.
pub(crate) fn shown(splits: &[SplitValues]) -> Option<&SplitValues> {
    let on = |part: Part| splits.iter().find(|split| split.part == part);
    [Part::Test, Part::Validation, Part::Train]
        .into_iter()
        .find_map(on)
}

/// The columns of a model's calibration and reliability: for each bin of probabilities, the rows
/// (the sum of their weights), the mean probability and the share of positive rows.
pub(crate) fn columns(
    calibration: Calibration,
    probabilities: Option<&Probabilities>,
) -> Vec<(String, Option<f64>)> {
    let mut columns = vec![
        (SLOPE.to_owned(), Some(calibration.slope)),
        (INTERCEPT.to_owned(), Some(calibration.intercept)),
    ];
    let bins = probabilities.iter().flat_map(|found| &found.bins);
    for (i, bin) in bins.enumerate() {
        let mut column = |name: &str, value: Option<f64>| {
            columns.push((format!("reliability.{:02}.{name}", i + 1), value));
        };
        let mean = |sum: f64| (bin.rows > 0.0).then(|| sum / bin.rows);
        column("rows", Some(bin.rows));
        column("predicted", mean(bin.predicted));
        column("observed", mean(bin.observed));
    }
    columns
}
