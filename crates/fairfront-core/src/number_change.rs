//! How much predicted numbers differ between two models on the same rows, for intervals of changes.

use crate::number_tally::{Mean, NumberTallies, Quantity};
use crate::objective::{Moment, Output};
use crate::predictor::Predictor;
use crate::region_sums::RegionSums;
use crate::{Engine, Error, Points};

/// Differences between each model and the last one. On the same rows, errors of two models go up and down
/// together, so that the difference of their means is known better than each mean.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NumberChanges {
    /// For each model and region, the weighted sums of Δ, Δ² and (r² − r₀²)²: Δ is the difference of the
    /// scores, r and r₀ are the residuals of the model and of the last one.
    models: Vec<Vec<[f64; 3]>>,
    /// Standard deviation of the target's unit.
    scale: f64,
    /// Σw of each region.
    weights: Vec<f64>,
}

impl NumberChanges {
    /// Passes over the rows; `None` if the target is not a number, or if scores are not linear in the
    /// parameters.
    pub fn of(
        predictor: &dyn Predictor,
        rows: &dyn Engine,
        models: &Points,
    ) -> Result<Option<Self>, Error> {
        let unit = rows.schema().target.unit();
        let (Some(unit), Some(last)) = (unit, models.len().checked_sub(1)) else {
            return Ok(None);
        };
        if predictor.as_linear().is_none() {
            return Ok(None);
        }
        let base = models.get(last);
        let combined = |of: &dyn Fn(f64, f64) -> f64| {
            let mut all = Points::new(models.n_params());
            for model in 0..models.len() {
                let params = models.get(model).iter().zip(base);
                let params: Vec<f64> = params.map(|(own, base)| of(*own, *base)).collect();
                all.push(&params);
            }
            all
        };
        // The score of the difference of the parameters is the difference of the scores.
        let scores = [
            Moment::Score,
            Moment::ScoreSquared,
            Moment::ScoreToTheFourth,
        ];
        let apart = RegionSums::of(
            predictor,
            rows,
            &combined(&|own, base| own - base),
            &scores.map(Output::Moment),
        )?;
        // With the residual s in the middle between the models, r = s − Δ/2 and r₀ = s + Δ/2. Then
        // r² − r₀² = −2sΔ, and r⁴ + r₀⁴ = 2s⁴ + 3s²Δ² + Δ⁴/8.
        let fourth = [Output::Moment(Moment::ResidualToTheFourth)];
        let middle = combined(&|own, base| 0.5 * (own + base));
        let middle = RegionSums::of(predictor, rows, &middle, &fourth)?;
        let own = RegionSums::of(predictor, rows, models, &fourth)?;
        let of_model = |model: usize| {
            let of_region = |region: usize| {
                let [sum, squares, fourths] =
                    std::array::from_fn(|at| apart.points[model][at][region]);
                let residuals = |of: &RegionSums, model: usize| of.points[model][0][region];
                let both = residuals(&own, model) + residuals(&own, last);
                let products = both - 2.0 * residuals(&middle, model) - 0.125 * fourths;
                [sum, squares, (4.0 / 3.0) * products.max(0.0)]
            };
            (0..apart.weights.len()).map(of_region).collect()
        };
        Ok(Some(Self {
            models: (0..models.len()).map(of_model).collect(),
            scale: unit.scale,
            weights: apart.weights,
        }))
    }

    /// The variance of `own` times the mean of a quantity of a model, minus `base` times that of the last
    /// model, in a region. For absolute residuals, whose difference is at most |Δ|, it is an upper bound.
    /// Infinite with fewer than two rows.
    pub fn variance(
        &self,
        tallies: &NumberTallies,
        model: usize,
        of: Quantity,
        region: usize,
        [own, base]: [f64; 2],
    ) -> f64 {
        let last = self.models.len() - 1;
        let [a, b] = [model, last].map(|model| tallies.mean(model, of, region));
        // Var(pA − qB) = p(p − q) Var A + q(q − p) Var B + pq Var(A − B)
        let apart = self.of_difference(&a, &b, model, of, region);
        let variance =
            own * (own - base) * a.variance + base * (base - own) * b.variance + own * base * apart;
        match a.variance.is_finite() && b.variance.is_finite() {
            true => variance.max(0.0),
            false => f64::INFINITY,
        }
    }

    /// The variance of the difference of the means.
    fn of_difference(&self, a: &Mean, b: &Mean, model: usize, of: Quantity, region: usize) -> f64 {
        let weight = self.weights[region];
        let [sum, squares, products] = self.models[model][region];
        let s = self.scale;
        let (mean, square) = match of {
            Quantity::Prediction | Quantity::Residual => {
                (s * sum / weight, s * s * squares / weight)
            }
            Quantity::Absolute => (a.value - b.value, s * s * squares / weight),
            Quantity::Squared => (a.value - b.value, s * s * s * s * products / weight),
        };
        (square - mean * mean).max(0.0) / (a.rows - 1.0)
    }
}
