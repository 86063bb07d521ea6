use std::borrow::Cow;

use rayon::prelude::*;

use crate::engine::{BothSides, Engine, Map, NearRows, Nearest};
use crate::measure::{Confusion, Measure, Measures, measure};
use crate::predictor::Predictor;
use crate::{Error, Points};

/// The largest number of rows on either side past which a threshold may move.
const MOST_ROWS: usize = 4_096;

/// Models that differ from the given ones only in their threshold (the intercept) and dominate them
/// in these measures on these rows. For each model and each measure, the threshold minimizes that
/// measure while no other measure gets worse; only models that are better in some measure are
/// returned. A threshold moves past at most 4,096 rows, and never past all rows. If a measure
/// depends on more than decisions, no models are returned.
pub fn better_thresholds(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
    measures: &[Measure],
) -> Result<Points, Error> {
    let n = points.n_params();
    let mut better = Points::new(n);
    let decisions_say_all = measures.iter().all(|measure| measure.is_of_decisions());
    let Some(intercept) = predictor
        .intercept(rows.schema())
        .filter(|_| decisions_say_all)
    else {
        return Ok(better);
    };
    let counts = measure(predictor, rows, points)?;
    let nearest = rows.nearest(&Nearest {
        map: Map::of(predictor),
        points: Cow::Borrowed(points),
        most: MOST_ROWS + 1,
    })?;
    let models = counts.into_par_iter().zip(nearest);
    let shifts: Vec<Vec<f64>> = models
        .map(|(counts, sides)| shifts(&counts, &sides, measures))
        .collect();
    for (point, shifts) in points.iter().zip(shifts) {
        for shift in shifts {
            let mut moved = point.to_vec();
            moved[intercept] += shift;
            better.push(&moved);
        }
    }
    Ok(better)
}

/// Changes the counts that include a row.
fn each(rows: &NearRows, row: usize, counts: &mut Measures, change: impl Fn(&mut Confusion)) {
    change(&mut counts.overall);
    for (groups, counts) in rows.groups.iter().zip(&mut counts.groups) {
        if let Some(counts) = counts.get_mut(groups[row] as usize) {
            change(counts);
        }
    }
}

fn select(rows: &NearRows, row: usize, counts: &mut Measures) {
    let (positive, weight) = (rows.positive[row], rows.weights[row]);
    each(rows, row, counts, |counts| match positive {
        true => {
            counts.false_negatives -= weight;
            counts.true_positives += weight;
        }
        false => {
            counts.true_negatives -= weight;
            counts.false_positives += weight;
        }
    });
}

fn reject(rows: &NearRows, row: usize, counts: &mut Measures) {
    let (positive, weight) = (rows.positive[row], rows.weights[row]);
    each(rows, row, counts, |counts| match positive {
        true => {
            counts.true_positives -= weight;
            counts.false_negatives += weight;
        }
        false => {
            counts.false_positives -= weight;
            counts.true_negatives += weight;
        }
    });
}

/// Numbers to add to the intercept of a model with these counts and these rows near its threshold.
fn shifts(counts: &Measures, sides: &BothSides, measures: &[Measure]) -> Vec<f64> {
    let of =
        |counts: &Measures| -> Option<Vec<f64>> { measures.iter().map(|m| m.of(counts)).collect() };
    let Some(own) = of(counts) else {
        return Vec::new();
    };
    let mut best = Best {
        shifts: vec![0.0; measures.len()],
        values: vec![own.clone(); measures.len()],
        own,
    };
    // Up: selected rows with the lowest scores are rejected. Down: rejected rows with the highest
    // scores are selected.
    for (rows, up) in sides.iter().zip([true, false]) {
        let mut counts = counts.clone();
        for (row, here) in rows.scores.iter().enumerate() {
            match up {
                true => reject(rows, row, &mut counts),
                false => select(rows, row, &mut counts),
            }
            let Some(next) = rows.scores.get(row + 1) else {
                break;
            };
            let middle = 0.5 * (here + next);
            // Rows with equal scores move together.
            if here == next || middle == *here || middle == *next {
                continue;
            }
            // Most thresholds make the first measure worse, so the others need not be computed.
            let not_worse = |(m, own): (&Measure, &f64)| m.of(&counts).is_none_or(|v| v <= *own);
            if measures.iter().zip(&best.own).all(not_worse)
                && let Some(values) = of(&counts)
            {
                best.judge(&values, -middle);
            }
        }
    }
    best.into_shifts()
}

/// The best threshold for each measure.
struct Best {
    own: Vec<f64>,
    shifts: Vec<f64>,
    values: Vec<Vec<f64>>,
}

impl Best {
    fn judge(&mut self, values: &[f64], shift: f64) {
        if values.iter().zip(&self.own).any(|(new, own)| new > own) {
            return;
        }
        for (i, (best, chosen)) in self.values.iter_mut().zip(&mut self.shifts).enumerate() {
            // Compare the measure itself first, then the others in order.
            let key = |v: &[f64]| [&v[i..=i], v].concat();
            if key(values) < key(best) {
                *best = values.to_vec();
                *chosen = shift;
            }
        }
    }

    /// The shifts that are improvements, without duplicates.
    fn into_shifts(self) -> Vec<f64> {
        let mut shifts: Vec<f64> = Vec::new();
        for shift in self.shifts {
            if shift != 0.0 && !shifts.contains(&shift) {
                shifts.push(shift);
            }
        }
        shifts
    }
}
