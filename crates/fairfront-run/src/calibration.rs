//! How the scores of a front's models become probabilities, and the columns that say so.

use fairfront_core::{
    Calibration, Points, Probabilities, calibrate, calibrate_scale, predictor_of,
};
use fairfront_data::{Encoded, Part, RowRole};

use crate::Error;
use crate::measured::SplitValues;

/// The columns that hold the calibration of a model.
pub(crate) const SLOPE: &str = "calibration.slope";
pub(crate) const INTERCEPT: &str = "calibration.intercept";

/// The calibration of each model: slope and intercept fitted on validation rows. If there are none, or too
/// few of one label, the slope alone is fitted, on training rows: a probability of at least 0.5 is then a
/// decision for the positive label, as scikit-learn expects.
///
/// Calibration changes no decision and decides nothing about which models are kept.
pub(crate) fn calibrations(encoded: &Encoded, points: &Points) -> Result<Vec<Calibration>, Error> {
    calibrations_unless(encoded, points, points.len(), &|| false)
}

/// The same, `chunk` models at a time. If the work is over before all of them are calibrated, probabilities
/// are those of the scores as they are.
pub(crate) fn calibrations_unless(
    encoded: &Encoded,
    points: &Points,
    chunk: usize,
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<Calibration>, Error> {
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

/// The split whose rows show how well probabilities fit: one that no model was chosen on, if there is one.
pub(crate) fn shown(splits: &[SplitValues]) -> Option<&SplitValues> {
    let on = |part: Part| splits.iter().find(|split| split.part == part);
    [Part::Test, Part::Validation, Part::Train]
        .into_iter()
        .find_map(on)
}

/// The columns of a model's calibration and of its reliability: in each bin of probabilities the rows (their
/// weights summed), the mean probability and the share of positive rows.
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
