//! Measures the models of a front: values and measures on each split, calibrations and intervals.

use fairfront_core::meter::{self, Phase};
use fairfront_core::{
    Calibration, Dataset, FairProblem, Measure, Measures, Points, Problem, measure_calibrated,
};
use fairfront_data::{Encoded, Part};

use crate::Error;
use crate::calibration::calibrations_unless;
use crate::certify::{REPLICATES, Weighed, weigh};
use crate::memory;
use crate::rest::{LeftOut, Rest};

/// Values of all models on one split.
#[derive(Debug)]
pub struct SplitValues {
    /// The split.
    pub part: Part,
    /// Objectives, `n_objectives` per model.
    pub objectives: Vec<f64>,
    /// Measures of each model.
    pub measures: Vec<Measures>,
    /// Which objectives are defined on these rows; ignore the values of the others.
    pub meaningful: Vec<bool>,
    /// Objectives of the unmitigated model.
    pub unmitigated_objectives: Vec<f64>,
    /// Measures of the unmitigated model.
    pub unmitigated: Measures,
}

/// Calibrations, values and intervals of the models of a front, with the unmitigated model last.
pub(crate) struct Measured {
    pub(crate) calibrations: Vec<Calibration>,
    pub(crate) splits: Vec<SplitValues>,
    pub(crate) weighed: Weighed,
}

impl Measured {
    /// Measures models in chunks; `None` if the work was stopped and there are too many models to
    /// finish.
    pub(crate) fn unless_stopped(
        problem: &FairProblem,
        encoded: &Encoded,
        models: &Points,
        compared: &[Measure],
        rest: &mut Rest,
    ) -> Result<Option<Self>, Error> {
        let remainder = rest.remainder.clone();
        let are_many = models.len() > remainder.most_measured() + 1;
        let is_too_much = || are_many && remainder.is_stopped();
        let is_over = || remainder.leaves_out(models.len());
        let chunk = remainder.chunk();
        let calibrations = calibrations_unless(encoded, models, chunk, &is_over)?;
        let left_out = calibrations.iter().all(|c| *c == Calibration::default()) && is_over();
        let splits = values_in_chunks(
            (problem, encoded),
            models,
            &calibrations,
            chunk,
            &is_too_much,
        )?;
        let Some(splits) = splits else {
            return Ok(None);
        };
        meter::begin(Phase::Intervals);
        memory::check_weighing(encoded, models.len())?;
        let mut weighed = weigh(encoded, models, compared, REPLICATES, &is_over)?;
        if weighed.is_none() {
            if is_too_much() {
                return Ok(None);
            }
            rest.leave_out(LeftOut::Redraws);
            weighed = weigh(encoded, models, compared, 0, &|| false)?;
        }
        if left_out {
            rest.leave_out(LeftOut::Calibration);
        }
        let weighed =
            weighed.ok_or_else(|| Error::data("the intervals of the models were not computed"))?;
        Ok(Some(Self {
            calibrations,
            splits,
            weighed,
        }))
    }
}

/// Values of a front's models, with the unmitigated one last, on each split that has rows.
pub(crate) fn split_values(
    problem: &FairProblem,
    encoded: &Encoded,
    models: &Points,
    calibrations: &[Calibration],
) -> Result<Vec<SplitValues>, Error> {
    let all = values_in_chunks(
        (problem, encoded),
        models,
        calibrations,
        models.len(),
        &|| false,
    )?;
    Ok(all.unwrap_or_default())
}

/// Like [`split_values`], `chunk` models at a time; `None` if the work was stopped before the end.
fn values_in_chunks(
    (problem, encoded): (&FairProblem, &Encoded),
    models: &Points,
    calibrations: &[Calibration],
    chunk: usize,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<Vec<SplitValues>>, Error> {
    let m = problem.n_objectives();
    let numbers: Vec<usize> = (0..models.len()).collect();
    let mut splits = Vec::new();
    for part in Part::SHOWN {
        let rows = encoded.part(part);
        if rows.n_rows() == 0 {
            continue;
        }
        let (mut objectives, mut measures) = (Vec::new(), Vec::new());
        for some in numbers.chunks(chunk.max(1)) {
            if is_over() {
                return Ok(None);
            }
            let points = models.select(some);
            objectives.extend(values_on(problem, part, rows, &points)?);
            let calibrations = &calibrations[some[0]..some[0] + some.len()];
            measures.extend(measure_calibrated(
                problem.predictor(),
                rows,
                &points,
                calibrations,
            )?);
        }
        let unmitigated_objectives = objectives.split_off((models.len() - 1) * m);
        // One entry per model, the unmitigated one last.
        let unmitigated = measures.remove(models.len() - 1);
        splits.push(SplitValues {
            meaningful: problem.meaningful_on(rows)?,
            part,
            objectives,
            measures,
            unmitigated_objectives,
            unmitigated,
        });
    }
    Ok(Some(splits))
}

/// Objectives on the rows of a split.
fn values_on(
    problem: &FairProblem,
    part: Part,
    rows: &Dataset,
    points: &Points,
) -> Result<Vec<f64>, Error> {
    Ok(match part {
        Part::Train => problem.values(points)?,
        _ => problem.values_on(rows, points)?,
    })
}
