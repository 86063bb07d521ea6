//! Sums of predicted numbers by region of rows, and the means that tests and intervals need.

use serde::{Deserialize, Serialize};

use crate::engine::{Moments, n_strata};
use crate::measure::{NumberSums, measure};
use crate::objective::{Moment, Output};
use crate::predictor::Predictor;
use crate::region_sums::RegionSums;
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
    /// The mean of capped values, if it is known.
    pub capped: Option<CappedMean>,
}

/// The mean of values that are bounded, because targets and predictions beyond the range of the training
/// targets count as its ends.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CappedMean {
    /// The mean.
    pub value: f64,
    /// The unbiased variance of a value.
    pub spread: f64,
    /// The smallest and the largest possible value.
    pub range: [f64; 2],
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
    /// The same sums of capped values; empty if they are not needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    capped: Vec<Vec<[f64; 6]>>,
    /// The smallest and the largest label in the training rows, which cap values.
    range: [f64; 2],
}

/// The outputs of capped sums; the residual itself is the label minus the score.
const CAPPED: [Moment; 6] = [
    Moment::Score,
    Moment::ScoreSquared,
    Moment::Label,
    Moment::ResidualAbsolute,
    Moment::ResidualSquared,
    Moment::ResidualToTheFourth,
];

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
            range: unit.range.map(|end| unit.label(end)),
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

    /// Adds the sums of capped values, from which finite-sample tests follow.
    pub fn with_capped(
        mut self,
        predictor: &dyn Predictor,
        rows: &dyn Engine,
        models: &Points,
    ) -> Result<Self, Error> {
        self.capped = capped_sums(predictor, rows, models, self.range)?;
        Ok(self)
    }

    /// Number of models.
    pub fn n_models(&self) -> usize {
        self.models.len()
    }

    /// Whether all sums are those of this many models and regions.
    pub fn fits(&self, n_models: usize, n_regions: usize) -> bool {
        let numbers = self.models.iter().chain(&self.capped).flatten().flatten();
        let mut numbers = numbers
            .chain(self.totals.iter().flatten())
            .chain(&self.unit)
            .chain(&self.range);
        let shape = |of: &[Vec<[f64; 6]>]| {
            of.len() == n_models && of.iter().all(|model| model.len() == n_regions)
        };
        shape(&self.models)
            && (self.capped.is_empty() || shape(&self.capped))
            && self.totals.len() == n_regions
            && numbers.all(|number| number.is_finite())
            && self.unit[1] > 0.0
            && self.range[0] <= self.range[1]
    }

    /// Whether some rows count more than others.
    pub fn is_weighted(&self) -> bool {
        self.totals.iter().any(|[sum, squares]| sum != squares)
    }

    /// The mean of a quantity in a region, in the unit of the target (squared for squares).
    pub fn mean(&self, model: usize, of: Quantity, region: usize) -> Mean {
        let [center, scale] = self.unit;
        let [weight, weight_squared] = self.totals[region];
        if weight <= 0.0 || weight_squared <= 0.0 {
            return Mean::none();
        }
        let rows = weight * weight / weight_squared;
        let (shift, factor) = match of {
            Quantity::Prediction => (center, scale),
            Quantity::Residual | Quantity::Absolute => (0.0, scale),
            Quantity::Squared => (0.0, scale * scale),
        };
        // The mean, and the unbiased variance of a row.
        let estimate = |sums: &[f64; 6]| {
            let (sum, sum_squared) = of.sums(sums);
            let mean = sum / weight;
            let spread = (sum_squared / weight - mean * mean).max(0.0) * rows / (rows - 1.0);
            (shift + factor * mean, factor * factor * spread)
        };
        let (value, spread) = estimate(&self.models[model][region]);
        let [low, high] = self.range;
        let width = high - low;
        let range = match of {
            Quantity::Prediction => [low, high],
            Quantity::Residual => [-width, width],
            Quantity::Absolute => [0.0, width],
            Quantity::Squared => [0.0, width * width],
        };
        let capped = (rows > 1.0).then(|| self.capped.get(model)).flatten();
        Mean {
            value,
            variance: match rows > 1.0 {
                true => spread / rows,
                false => f64::INFINITY,
            },
            rows,
            capped: capped.map(|model| {
                let (value, spread) = estimate(&model[region]);
                CappedMean {
                    value,
                    spread,
                    range: range.map(|end| shift + factor * end),
                }
            }),
        }
    }
}

impl Quantity {
    /// The sum of the quantity and of its square, among the sums of a region.
    fn sums(self, sums: &[f64; 6]) -> (f64, f64) {
        let [score, score_squared, residual, absolute, squared, fourth] = *sums;
        match self {
            Self::Prediction => (score, score_squared),
            Self::Residual => (residual, squared),
            Self::Absolute => (absolute, squared),
            Self::Squared => (squared, fourth),
        }
    }
}

/// The sums of capped values of each model and region.
fn capped_sums(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    models: &Points,
    range: [f64; 2],
) -> Result<Vec<Vec<[f64; 6]>>, Error> {
    let outputs = CAPPED.map(|of| Output::Capped { of, range });
    let sums = RegionSums::of(predictor, rows, models, &outputs)?;
    let n_regions = sums.weights.len();
    let of_model = |sums: Vec<Vec<f64>>| {
        let of_region = |region: usize| {
            let mut own: [f64; 6] = std::array::from_fn(|at| sums[at][region]);
            own[2] -= own[0];
            own
        };
        (0..n_regions).map(of_region).collect()
    };
    Ok(sums.points.into_iter().map(of_model).collect())
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
