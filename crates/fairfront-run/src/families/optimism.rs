//! Corrects the measures of linear models before families are compared.
//!
//! Models are judged on training and validation rows together. Linear models were fitted on the
//! training rows, so that they look better there than they are. Models of learners use out-of-fold
//! probabilities of these rows, so that they do not. Validation rows alone would be fair to both, but
//! they are few: chance would leave out most models of a small table. So validation rows only tell how
//! large the advantage is, as a mean over all models of a family.

use fairfront_core::{Measure, Measures, Points, measure, predictor_of};
use fairfront_data::{Encoded, Part};

use crate::penalty::weight_of;
use crate::{Error, Family};

/// For each measure, the amount to add to the values of linear models on training and validation rows:
/// the rise from training to validation rows, as a mean over the linear models, minus that of the models
/// of learners, times the share of training rows. 0 without validation rows, without a second family, or
/// if a measure is undefined.
pub(crate) fn optimism(
    encoded: &Encoded,
    points: &Points,
    families: &[Family],
    measures: &[Measure],
) -> Result<Vec<f64>, Error> {
    let none = vec![0.0; measures.len()];
    let is_linear = |i: &usize| families[*i].is_linear();
    let (linear, learned): (Vec<usize>, Vec<usize>) = (0..points.len()).partition(is_linear);
    if linear.is_empty() || learned.is_empty() || encoded.part(Part::Validation).n_rows() == 0 {
        return Ok(none);
    }
    let counts = |part: Part| -> Result<Vec<Measures>, Error> {
        let rows = encoded.part(part);
        Ok(measure(&*predictor_of(rows.schema()), rows, points)?)
    };
    let (train, validation) = (counts(Part::Train)?, counts(Part::Validation)?);
    let weight = |part: Part| weight_of(encoded.part(part));
    let (n_train, n_validation) = (weight(Part::Train)?, weight(Part::Validation)?);
    let rise = |models: &[usize], measure: Measure| -> Option<f64> {
        let rises = models.iter().map(|i| {
            let [before, after] = [&train, &validation].map(|counts| measure.of(&counts[*i]));
            Some(after? - before?)
        });
        let sum = rises.sum::<Option<f64>>()?;
        Some(sum / models.len() as f64)
    };
    let share = n_train / (n_train + n_validation);
    let of_measure = |measure: &Measure| {
        let more = rise(&linear, *measure)? - rise(&learned, *measure)?;
        Some(share * more.max(0.0))
    };
    let found: Option<Vec<f64>> = measures.iter().map(of_measure).collect();
    Ok(found.unwrap_or(none))
}

/// Adds the correction to the values of linear models.
pub(crate) fn correct(values: &mut [f64], families: &[Family], optimism: &[f64]) {
    let of_models = values.chunks_exact_mut(optimism.len().max(1)).zip(families);
    for (own, _) in of_models.filter(|(_, family)| family.is_linear()) {
        own.iter_mut()
            .zip(optimism)
            .for_each(|(value, more)| *value += more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_linear_models_are_corrected() {
        let mut values = vec![0.1, 0.2, 0.3, 0.4];
        correct(&mut values, &[Family::Trees, Family::Linear], &[0.5, 0.25]);
        assert_eq!(values, [0.1, 0.2, 0.8, 0.65]);
        correct(&mut values, &[Family::Linear, Family::Linear], &[]);
        assert_eq!(values, [0.1, 0.2, 0.8, 0.65]);
    }
}
