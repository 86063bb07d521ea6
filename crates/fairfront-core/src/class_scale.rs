//! The factor of the scores of classes with which their probabilities fit rows best.

use std::borrow::Cow;

use crate::engine::{Cells, Engine, Map, Over, Pass, Statistics, Wanted};
use crate::objective::{ClassOutput, Output};
use crate::predictor::Predictor;
use crate::{Error, Points};

/// Factors stay within this factor of 1, because rows that a model separates without errors have no best
/// factor.
const MOST: f64 = 1e6;
/// The precision of the logarithm of a factor: probabilities change by less than a millionth.
const PRECISION: f64 = 1e-6;
/// The most steps of a search. Bisection alone would need 25.
const MOST_STEPS: usize = 60;

/// A search for the zero of the derivative of a convex loss with respect to a factor, between bounds of its
/// logarithm.
#[derive(Clone)]
struct Search {
    /// Bounds, with the derivative there if known.
    low: (f64, Option<f64>),
    high: (f64, Option<f64>),
    next: f64,
    is_done: bool,
}

impl Search {
    fn new() -> Self {
        let most = libm::log(MOST);
        Self {
            low: (-most, None),
            high: (most, None),
            next: 0.0,
            is_done: false,
        }
    }

    /// Takes the derivative at `next` and chooses the next place.
    fn take(&mut self, slope: f64) {
        if slope == 0.0 || !slope.is_finite() {
            self.is_done = true;
            return;
        }
        let (is_low, at) = (slope < 0.0, self.next);
        let (own, other) = match is_low {
            true => (&mut self.low, &mut self.high),
            false => (&mut self.high, &mut self.low),
        };
        // If the same end moves twice, the other end counts half (the Illinois method).
        let repeats = own.1.is_some_and(|own| (own < 0.0) == is_low);
        *own = (at, Some(slope));
        if let (true, Some(of_other)) = (repeats, &mut other.1) {
            *of_other *= 0.5;
        }
        let (low, high) = (self.low, self.high);
        if high.0 - low.0 <= PRECISION {
            self.is_done = true;
            return;
        }
        self.next = match (low.1, high.1) {
            (Some(a), Some(b)) => {
                let secant = (low.0 * b - high.0 * a) / (b - a);
                // Not too close to an end, so that the interval shrinks.
                let margin = 0.01 * (high.0 - low.0);
                secant.clamp(low.0 + margin, high.0 - margin)
            }
            // Steps grow until the sign changes.
            (Some(_), None) => (at + 2.0 * at.abs().max(0.5)).min(high.0),
            _ => (at - 2.0 * at.abs().max(0.5)).max(low.0),
        };
        if (self.next - at).abs() < 0.5 * PRECISION {
            self.is_done = true;
        }
    }
}

/// For each model, the factor of all scores with which its probabilities have the smallest log loss on these
/// rows; 1 if no factor is best.
pub(crate) fn class_factors(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
) -> Result<Vec<f64>, Error> {
    let statistics = [Statistics::ByCell {
        output: Output::Class(ClassOutput::FactorSlope),
        cells: Cells::ALL,
    }];
    let n_weights = statistics[0].n_weights(rows.schema());
    let mut searches = vec![Search::new(); points.len()];
    for _ in 0..MOST_STEPS {
        let open: Vec<usize> = (0..searches.len())
            .filter(|i| !searches[*i].is_done)
            .collect();
        if open.is_empty() {
            break;
        }
        let mut scaled = Points::new(points.n_params());
        for &model in &open {
            let factor = libm::exp(searches[model].next);
            let point = predictor.scaled(rows.schema(), points.get(model), factor);
            scaled.push(point.as_deref().unwrap_or_else(|| points.get(model)));
        }
        let sums = rows.sum(&Pass {
            map: Map::of(predictor),
            points: Cow::Borrowed(&scaled),
            wanted: Wanted::Sums {
                statistics: Cow::Borrowed(&statistics),
            },
            over: Over::All,
        })?;
        for (model, slope) in open.iter().zip(&sums[n_weights..]) {
            searches[*model].take(*slope);
        }
    }
    let most = libm::log(MOST) - PRECISION;
    let factor = |search: &Search| match search.next.abs() < most {
        true => libm::exp(search.next),
        false => 1.0,
    };
    Ok(searches.iter().map(factor).collect())
}
