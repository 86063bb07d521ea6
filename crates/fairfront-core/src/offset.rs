//! Offsets of the scores of classes, which take the place of the threshold of two classes.

use crate::class_scale::class_factors;
use crate::engine::Engine;
use crate::measure::{Measure, Measures, measure};
use crate::predictor::Predictor;
use crate::{Error, Points};

/// Steps of offsets, in units of log odds, largest first: each step is tried in both directions.
const STEPS: [f64; 3] = [0.4, 0.2, 0.1];

/// Number of models that [`better_offsets`] measures per step for a model of this many classes.
pub(crate) fn n_trials(n_classes: usize) -> usize {
    2 * n_classes
}

/// Models that differ from the given ones only in the intercepts of classes and dominate them in these
/// measures on these rows: for each model and each step, the offset of one class that improves the measures
/// most, in the sum of their relative changes, while none gets worse. A model without such an offset is left
/// out. Other predictors have no offsets.
pub fn better_offsets(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
    measures: &[Measure],
) -> Result<Points, Error> {
    let n = points.n_params();
    let mut better = Points::new(n);
    let Some(multinomial) = predictor.as_multinomial() else {
        return Ok(better);
    };
    if points.is_empty() || !measures.iter().all(|measure| measure.is_of_decisions()) {
        return Ok(better);
    }
    let values =
        |of: &Measures| -> Option<Vec<f64>> { measures.iter().map(|m| m.of(of)).collect() };
    let factors = class_factors(predictor, rows, points)?;
    let mut current: Vec<Vec<f64>> = points.iter().map(<[f64]>::to_vec).collect();
    let mut best = Vec::with_capacity(current.len());
    for of in measure(predictor, rows, points)? {
        match values(&of) {
            Some(values) => best.push(values),
            None => return Ok(better),
        }
    }
    let mut is_better = vec![false; current.len()];
    for step in STEPS {
        let mut trials = Points::new(n);
        for (point, factor) in current.iter().zip(&factors) {
            for class in 0..multinomial.n_classes {
                for sign in [-1.0, 1.0] {
                    let mut trial = point.clone();
                    trial[multinomial.intercept_of(rows.schema(), class)] += sign * step / factor;
                    trials.push(&trial);
                }
            }
        }
        let found = measure(predictor, rows, &trials)?;
        let per_model = n_trials(multinomial.n_classes);
        for (model, found) in found.chunks_exact(per_model).enumerate() {
            let gain = |trial: &[f64]| -> Option<f64> {
                let pairs = || trial.iter().zip(&best[model]);
                let no_worse = pairs().all(|(new, old)| new <= old);
                let relative = |(new, old): (&f64, &f64)| (old - new) / old.max(f64::MIN_POSITIVE);
                no_worse.then(|| pairs().map(relative).sum())
            };
            let mut most = 0.0;
            let mut chosen = None;
            for (number, of) in found.iter().enumerate() {
                let Some(values) = values(of) else { continue };
                if let Some(gain) = gain(&values)
                    && gain > most
                {
                    most = gain;
                    chosen = Some((number, values));
                }
            }
            if let Some((number, values)) = chosen {
                current[model] = trials.get(model * per_model + number).to_vec();
                best[model] = values;
                is_better[model] = true;
            }
        }
    }
    for (point, _) in current.iter().zip(is_better).filter(|(_, better)| *better) {
        better.push(point);
    }
    Ok(better)
}
