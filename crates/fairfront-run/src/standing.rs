//! Values of fronts on the current rows, in the objectives or measures by which they are judged.

use fairfront_core::{Costs, Counts, FairProblem, Measure, Objective, Points, Problem};
use fairfront_data::{Encoded, Part};

use crate::measured::SplitValues;
use crate::{Error, FrontIn, JudgedInfo, judge};

/// Values of fronts on the current rows.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Names of the objectives or measures.
    pub names: Vec<String>,
    /// Values of the front, one per name and model.
    pub front: Vec<f64>,
    /// The same values for the earlier front; empty if there is none.
    pub earlier: Vec<f64>,
    /// The reference point of the box in which fronts are measured: the loss without a model, and
    /// twice the unmitigated model's value of each other name. It grows if the front itself lies
    /// beyond it.
    pub reference: Vec<f64>,
}

impl Standing {
    /// From a measured front, the names of its objectives with their values at zero parameters, and
    /// the models of an earlier front.
    pub(crate) fn new(
        problem: &FairProblem,
        encoded: &Encoded,
        judged: &JudgedInfo,
        (objectives, at_zero): (&[String], &[f64]),
        splits: &[SplitValues],
        earlier: Option<&Points>,
    ) -> Result<Self, Error> {
        let train = splits.iter().find(|split| split.part == Part::Train);
        let (names, no_model, mut front) = match (judged.front_in, train) {
            (FrontIn::Objectives, Some(train)) => {
                let values = [&train.objectives[..], &train.unmitigated_objectives].concat();
                (objectives.to_vec(), at_zero[0], values)
            }
            _ => {
                let values = judge::measured(problem, splits)?;
                (
                    judged.measures.clone(),
                    least_error(problem, encoded)?,
                    values,
                )
            }
        };
        let m = names.len();
        // The unmitigated model is last.
        let unmitigated = front.split_off(front.len().saturating_sub(m));
        let of_front = |i: usize| front.iter().skip(i).step_by(m.max(1)).copied();
        let bound = |i: usize| match i {
            0 => no_model.max(1.1 * of_front(0).fold(f64::INFINITY, f64::min)),
            _ => (2.0 * unmitigated[i]).max(1.1 * of_front(i).fold(0.0, f64::max)),
        };
        let sound = |bound: f64| match bound > 0.0 && bound.is_finite() {
            true => bound,
            false => 1.0,
        };
        Ok(Self {
            reference: (0..m).map(|i| sound(bound(i))).collect(),
            names,
            front,
            earlier: match earlier {
                Some(earlier) => judge::values(problem, encoded, judged.front_in, earlier)?,
                None => Vec::new(),
            },
        })
    }
}

/// The error rate of the same decision for all rows, on training and validation rows, with the
/// costs of the first objective if they are unequal; for a number, the first measure of the mean as the
/// prediction.
fn least_error(problem: &FairProblem, encoded: &Encoded) -> Result<f64, Error> {
    let target = &encoded.part(Part::Train).schema().target;
    if target.classes().is_some() {
        let mut of_class = vec![0.0; target.n_labels()];
        for part in [Part::Train, Part::Validation] {
            let weights = Counts::of(encoded.part(part), None)?.weights.concat();
            of_class
                .iter_mut()
                .zip(weights)
                .for_each(|(w, more)| *w += more);
        }
        let total: f64 = of_class.iter().sum();
        let most = of_class.iter().copied().fold(0.0, f64::max);
        return Ok(if total > 0.0 { 1.0 - most / total } else { 1.0 });
    }
    if !target.is_binary() {
        let n = problem.n_params();
        let zero = Points::from_vec(n, vec![0.0; n]);
        let values = judge::values(problem, encoded, FrontIn::Measures, &zero)?;
        return Ok(values.first().copied().unwrap_or(1.0));
    }
    let (mut negative, mut positive) = (0.0, 0.0);
    for part in [Part::Train, Part::Validation] {
        let counts = Counts::of(encoded.part(part), None)?;
        negative += counts.weight_of_label(0, Some(-1.0));
        positive += counts.weight_of_label(0, Some(1.0));
    }
    let first = problem.objectives().next().and_then(Objective::measure);
    let costs = match first {
        Some(Measure::ErrorRate(costs)) => costs,
        _ => Costs::EQUAL,
    };
    Ok(costs.of_no_model(positive, negative).unwrap_or(1.0))
}
