//! Second derivatives of the first objective, accumulated from numbers and codes.

use rayon::prelude::*;

use super::{BLOCKS_PER_TASK, FairProblem, MOST_DENSE};
use crate::lanes::{Lanes, ZERO};
use crate::objective::Objective;
use crate::predictor::{Rows, TILE_ROWS};
use crate::problem::{Metric, Points, Problem};
use crate::{Cholesky, Error};

/// Gradient and Hessian at a point.
#[derive(Debug, Clone)]
pub struct SecondOrder {
    /// ∇f.
    pub gradient: Vec<f64>,
    /// The lower triangle of ∇²f, row by row, zeros above.
    pub lower: Vec<f64>,
}

impl FairProblem {
    /// Gradient and Hessian (lower triangle, row by row) of the first objective at a point;
    /// `None` where the predictor is not linear, the objective offers no second derivative, or
    /// there are too many parameters.
    pub fn second_order(&self, point: &[f64]) -> Result<Option<SecondOrder>, Error> {
        let n = self.n_params;
        let Some(prepared) = self.objectives.first() else {
            return Ok(None);
        };
        let objective = prepared.objective.as_ref();
        if n > MOST_DENSE || !self.predictor.is_linear() || !objective.is_mean() {
            return Ok(None);
        }
        let params = self.side_by_side(&[point]);
        let n_tasks = self.rows.n_blocks().div_ceil(BLOCKS_PER_TASK);
        let parts = (0..n_tasks)
            .into_par_iter()
            .map(|task| self.task_hessian(objective, &params, task))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut hessian = vec![0.0; (n + 1) * (n + 1)];
        for part in parts {
            let Some(part) = part else { return Ok(None) };
            for (sum, value) in hessian.iter_mut().zip(part) {
                *sum += value;
            }
        }
        let divisor = prepared.weight.max(f64::MIN_POSITIVE);
        let penalised = self.predictor.penalised(self.rows.schema());
        let mut lower = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                lower[i * n + j] = hessian[i * (n + 1) + j] / divisor;
            }
            if penalised.contains(&i) {
                lower[i * n + i] += objective.penalty();
            }
        }
        Ok(Some(SecondOrder {
            gradient: self.gradient_of(0, point)?,
            lower,
        }))
    }

    /// The minimiser of the first objective by Newton's method; `None` without second derivatives.
    pub(super) fn newton(&self) -> Result<Option<Vec<f64>>, Error> {
        let n = self.n_params;
        let mut x = vec![0.0; n];
        let value = |x: &[f64]| -> Result<f64, Error> {
            Ok(self.values_of(0, &Points::from_vec(n, x.to_vec()))?[0])
        };
        let mut current = value(&x)?;
        for _ in 0..100 {
            let Some(SecondOrder {
                gradient,
                mut lower,
            }) = self.second_order(&x)?
            else {
                return Ok(None);
            };
            let trace: f64 = (0..n).map(|i| lower[i * n + i]).sum();
            for i in 0..n {
                lower[i * n + i] += 1e-12 * trace / n as f64;
            }
            let Some(factor) = Cholesky::new(lower, n) else {
                return Ok(None);
            };
            let mut step = gradient.clone();
            factor.solve(&mut step);
            let decrement: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
            if decrement <= 1e-22 * current.abs().max(1.0) {
                break;
            }
            // Newton's step, halved until the loss falls enough.
            let mut length = 1.0;
            let found = loop {
                let trial: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x - length * s).collect();
                let there = value(&trial)?;
                if there <= current - 1e-4 * length * decrement {
                    break Some((trial, there));
                }
                length *= 0.5;
                if length < 1e-10 {
                    break None;
                }
            };
            // No fall to working precision: this is the minimum.
            let Some((trial, there)) = found else { break };
            x = trial;
            current = there;
        }
        Ok(Some(x))
    }

    /// One over the diagonal of the first objective's Hessian: the metric where there are too many
    /// parameters for all of it.
    pub(super) fn diagonal_metric(&self, at: &[f64]) -> Result<Metric, Error> {
        let Some(prepared) = self
            .objectives
            .first()
            .filter(|_| self.predictor.is_linear())
        else {
            return Ok(Metric::Identity);
        };
        let objective = prepared.objective.as_ref();
        let params = self.side_by_side(&[at]);
        let mut diagonal = vec![0.0; self.n_params + 1];
        let mut scores = [ZERO; TILE_ROWS];
        let mut curvature = [0.0; TILE_ROWS];
        for index in 0..self.rows.n_blocks() {
            let block = self.rows.block(index)?;
            for tile in Rows::tiles(&block) {
                self.predictor.scores(&tile, &params, &mut scores);
                let first_lane: Vec<f64> = scores[..tile.len()].iter().map(|s| s[0]).collect();
                if objective
                    .curvature(&tile, &first_lane, &mut curvature)
                    .is_none()
                {
                    return Ok(Metric::Identity);
                }
                for (row, weight) in curvature[..tile.len()].iter().enumerate() {
                    for (sum, z) in diagonal.iter_mut().zip(tile.numeric(row)) {
                        *sum += weight * z * z;
                    }
                    tile.codes(row)
                        .iter()
                        .for_each(|code| diagonal[*code as usize] += weight);
                    diagonal[self.n_params - 1] += weight;
                }
            }
        }
        let divisor = prepared.weight.max(f64::MIN_POSITIVE);
        let penalised = self.predictor.penalised(self.rows.schema());
        // A row touches one feature of each column: as many times its own curvature bounds what
        // all of them together do.
        let schema = self.rows.schema();
        let touched = (schema.numeric.len() + schema.categorical.len() + 1) as f64;
        let inverse = (0..self.n_params).map(|i| {
            let penalty = if penalised.contains(&i) {
                objective.penalty()
            } else {
                0.0
            };
            1.0 / (touched * diagonal[i] / divisor + penalty).max(1e-12)
        });
        Ok(Metric::Diagonal(inverse.collect()))
    }

    fn task_hessian(
        &self,
        objective: &dyn Objective,
        params: &[Lanes],
        task: usize,
    ) -> Result<Option<Vec<f64>>, Error> {
        let n = self.n_params + 1;
        let intercept = self.n_params - 1;
        let mut hessian = vec![0.0; n * n];
        let mut scores = [ZERO; TILE_ROWS];
        let mut curvature = [0.0; TILE_ROWS];
        let mut entries: Vec<(usize, f64)> = Vec::new();
        let first = task * BLOCKS_PER_TASK;
        for index in first..(first + BLOCKS_PER_TASK).min(self.rows.n_blocks()) {
            let block = self.rows.block(index)?;
            for tile in Rows::tiles(&block) {
                self.predictor.scores(&tile, params, &mut scores);
                let first_lane: Vec<f64> = scores[..tile.len()].iter().map(|s| s[0]).collect();
                if objective
                    .curvature(&tile, &first_lane, &mut curvature)
                    .is_none()
                {
                    return Ok(None);
                }
                for (row, weight) in curvature[..tile.len()].iter().enumerate() {
                    entries.clear();
                    entries.extend(tile.numeric(row).iter().copied().enumerate());
                    entries.extend(tile.codes(row).iter().map(|code| (*code as usize, 1.0)));
                    entries.push((intercept, 1.0));
                    for (k, &(i, x)) in entries.iter().enumerate() {
                        for &(j, y) in &entries[..=k] {
                            hessian[i.max(j) * n + i.min(j)] += weight * x * y;
                        }
                    }
                }
            }
        }
        Ok(Some(hessian))
    }
}
