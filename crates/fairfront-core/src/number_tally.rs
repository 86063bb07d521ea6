//! Sums of predicted numbers by region of rows, and the means that tests and intervals need.

use serde::{Deserialize, Serialize};

use crate::engine::{Moments, n_strata};
use crate::measure::{NumberSums, measure};
use crate::predictor::Predictor;
use crate::{Engine, Error, Points};

/// The largest number of combinations of groups whose squared weights are summed; beyond it, rows count as
/// equally weighted within a region.
const MOST_STRATA: usize = 4_096;

/// A quantity whose mean a requirement or an interval is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// The prediction.
    Prediction,
    /// The target minus the prediction.
    Residual,
    /// The absolute residual.
    Absolute,
    /// The squared residual.
    Squared,
}

/// An estimated mean.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Mean {
    /// The mean; 0 without rows.
    pub value: f64,
    /// Its squared standard error; infinite with fewer than two rows.
    pub variance: f64,
    /// (Σw)² / Σw²: the number of equally weighted rows with as much information.
    pub rows: f64,
}

impl Mean {
    /// The mean of no rows.
    pub fn none() -> Self {
        Self {
            variance: f64::INFINITY,
            ..Self::default()
        }
    }

    /// The mean and its standard error; `None` with fewer than two rows.
    pub fn with_error(&self) -> Option<(f64, f64)> {
        let error = self.variance.sqrt();
        error.is_finite().then_some((self.value, error))
    }
}

/// Sums of predicted numbers by region of rows: all rows, then the groups of each attribute.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NumberTallies {
    /// Mean and standard deviation of the target's unit.
    unit: [f64; 2],
    /// Σw and Σw² of each region.
    totals: Vec<[f64; 2]>,
    /// For each model and region, the weighted sums of φ, φ², y − φ, |y − φ|, (y − φ)² and (y − φ)⁴.
    models: Vec<Vec<[f64; 6]>>,
}

impl NumberTallies {
    /// Passes over the rows; their target must be a number.
    pub fn of(
        predictor: &dyn Predictor,
        rows: &dyn Engine,
        models: &Points,
    ) -> Result<Self, Error> {
        let measured = measure(predictor, rows, models)?;
        let schema = rows.schema();
        let Some(unit) = schema.target.unit() else {
            return Ok(Self::default());
        };
        let weights = squared_weights(predictor, rows, models.n_params())?;
        let mut tallies = Self {
            unit: [unit.center, unit.scale],
            ..Self::default()
        };
        for of_model in measured.iter().filter_map(|m| m.numbers.as_ref()) {
            let regions: Vec<&NumberSums> = std::iter::once(&of_model.overall)
                .chain(of_model.groups.iter().flatten())
                .collect();
            if tallies.totals.is_empty() {
                let total = |(region, sums): (usize, &&NumberSums)| {
                    let squared = weights.as_ref().map_or(sums.weight, |w| w[region]);
                    [sums.weight, squared]
                };
                tallies.totals = regions.iter().enumerate().map(total).collect();
            }
            let of_region = |sums: &&NumberSums| {
                [
                    sums.score,
                    sums.score_squared,
                    sums.label - sums.score,
                    sums.residual_absolute,
                    sums.residual_squared,
                    sums.residual_fourth,
                ]
            };
            tallies.models.push(regions.iter().map(of_region).collect());
        }
        Ok(tallies)
    }

    /// Number of models.
    pub fn n_models(&self) -> usize {
        self.models.len()
    }

    /// Whether all sums are those of this many models and regions.
    pub fn fits(&self, n_models: usize, n_regions: usize) -> bool {
        let numbers = self.models.iter().flatten().flatten();
        let mut numbers = numbers
            .chain(self.totals.iter().flatten())
            .chain(&self.unit);
        self.models.len() == n_models
            && self.totals.len() == n_regions
            && self.models.iter().all(|of| of.len() == n_regions)
            && numbers.all(|number| number.is_finite())
            && self.unit[1] > 0.0
    }

    /// Whether some rows count more than others.
    pub fn is_weighted(&self) -> bool {
        self.totals.iter().any(|[sum, squares]| sum != squares)
    }

    /// The mean of a quantity in a region, in the unit of the target (squared for squares).
    pub fn mean(&self, model: usize, of: Quantity, region: usize) -> Mean {
        let [center, scale] = self.unit;
        let [weight, weight_squared] = self.totals[region];
        let [score, score_squared, residual, absolute, squared, fourth] =
            self.models[model][region];
        let (sum, sum_squared, factor) = match of {
            Quantity::Prediction => (score, score_squared, scale),
            Quantity::Residual => (residual, squared, scale),
            Quantity::Absolute => (absolute, squared, scale),
            Quantity::Squared => (squared, fourth, scale * scale),
        };
        if weight <= 0.0 || weight_squared <= 0.0 {
            return Mean::none();
        }
        let rows = weight * weight / weight_squared;
        let mean = sum / weight;
        let spread = (sum_squared / weight - mean * mean).max(0.0);
        let shift = if of == Quantity::Prediction {
            center
        } else {
            0.0
        };
        Mean {
            value: shift + factor * mean,
            // The unbiased variance of a row, divided by the number of rows.
            variance: match rows > 1.0 {
                true => factor * factor * spread / (rows - 1.0),
                false => f64::INFINITY,
            },
            rows,
        }
    }
}

/// Σw² of each region; `None` if there are too many combinations of groups.
fn squared_weights(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    n_params: usize,
) -> Result<Option<Vec<f64>>, Error> {
    if n_strata(rows.schema()) > MOST_STRATA {
        return Ok(None);
    }
    let moments = Moments::of(predictor, rows, &Points::new(n_params))?;
    let tallies = moments.tallies();
    let of_region = |labels: &[[f64; 2]; 2]| labels[0][1] + labels[1][1];
    Ok(Some(tallies.totals.iter().map(of_region).collect()))
}
