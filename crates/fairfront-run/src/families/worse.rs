//! Compares models of different families on validation rows.

use fairfront_core::{Costs, Measure, Measures, Points, measure, predictor_of};
use fairfront_data::{Encoded, RowRole};

use crate::{Error, Family};

/// Standard errors by which a model must be better to be clearly better.
const CLEARLY: f64 = 2.0;

/// Which models are clearly worse than a model of another family: on validation rows, the other
/// model is at least as good in every measure, and better in one of them by more than two
/// standard errors.
///
/// Thresholds are chosen on training rows, on which both families look better than they are, but not
/// equally so. Validation rows are fair to both, but they are few: without the margin, chance
/// would leave out most models of a small table.
pub(crate) fn clearly_worse(
    encoded: &Encoded,
    points: &Points,
    families: &[Family],
    measures: &[Measure],
) -> Result<Vec<bool>, Error> {
    let first = families.first().copied().unwrap_or_default();
    if families.iter().take(points.len()).all(|f| *f == first) {
        return Ok(vec![false; points.len()]);
    }
    let counts = counts_between(encoded, points)?;
    // A measure that is undefined on these rows decides nothing.
    let values =
        |counts: &Measures| -> Option<Vec<f64>> { measures.iter().map(|m| m.of(counts)).collect() };
    let of_models: Option<Vec<Vec<f64>>> = counts.iter().map(values).collect();
    let Some(of_models) = of_models else {
        return Ok(vec![false; points.len()]);
    };
    let errors: Vec<Vec<f64>> = counts
        .iter()
        .map(|counts| {
            measures
                .iter()
                .map(|m| standard_error(*m, counts))
                .collect()
        })
        .collect();
    let is_worse = |own: usize| {
        (0..points.len()).any(|other| {
            let pairs = || of_models[other].iter().zip(&of_models[own]);
            families[other] != families[own]
                && pairs().all(|(better, worse)| better <= worse)
                && pairs()
                    .zip(&errors[own])
                    .any(|((better, worse), error)| worse - better > CLEARLY * error)
        })
    };
    Ok((0..points.len()).map(is_worse).collect())
}

/// Decisions of models on the rows that decide between families.
pub(crate) fn counts_between(encoded: &Encoded, points: &Points) -> Result<Vec<Measures>, Error> {
    let mut counts = Vec::new();
    for rows in encoded.rows_for(RowRole::Families) {
        counts = measure(&*predictor_of(rows.schema()), rows, points)?;
    }
    Ok(counts)
}

/// The standard error of a measure, from the binomial variances of its rates. Differences use those
/// of the two groups with the largest variance, which errs on the side of keeping models.
fn standard_error(measure: Measure, counts: &Measures) -> f64 {
    let variance = |share: f64, n: f64| match n > 0.0 {
        true => (share * (1.0 - share)).max(0.0) / n,
        false => 0.0,
    };
    let rate = |positives: f64, n: f64| match n > 0.0 {
        true => variance(positives / n, n),
        false => 0.0,
    };
    let of_groups = |attribute: usize, selection: usize| {
        let label = [None, Some(1.0), Some(-1.0)][selection];
        let small = counts.small.get(attribute).map(|s| s.with_label(label));
        let is_compared = |g: u32| small.is_none_or(|small| !small.contains(&g));
        let groups = counts.groups.get(attribute).into_iter().flatten().zip(0..);
        let mut variances: Vec<f64> = groups
            .filter(|(_, g)| is_compared(*g))
            .map(|(c, _)| match selection {
                0 => rate(
                    c.true_positives + c.false_positives,
                    c.true_positives + c.false_positives + c.true_negatives + c.false_negatives,
                ),
                1 => rate(c.true_positives, c.true_positives + c.false_negatives),
                _ => rate(c.false_positives, c.false_positives + c.true_negatives),
            })
            .collect();
        variances.sort_by(|a, b| b.total_cmp(a));
        variances.iter().take(2).sum::<f64>().sqrt()
    };
    match measure {
        Measure::ErrorRate(Costs {
            false_positive,
            false_negative,
        }) => {
            let all = &counts.overall;
            let n =
                all.true_positives + all.false_positives + all.true_negatives + all.false_negatives;
            let scale = false_positive.max(false_negative);
            scale * rate(all.false_positives + all.false_negatives, n).sqrt()
        }
        Measure::DemographicParity { attribute } => of_groups(attribute, 0),
        Measure::EqualOpportunity { attribute } => of_groups(attribute, 1),
        Measure::FalsePositiveRate { attribute } => of_groups(attribute, 2),
        Measure::EqualizedOdds { attribute } => {
            of_groups(attribute, 1).max(of_groups(attribute, 2))
        }
        Measure::LogLoss | Measure::MutualInformation { .. } => 0.0,
    }
}
