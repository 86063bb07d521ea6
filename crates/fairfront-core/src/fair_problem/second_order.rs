//! Second derivatives of the first objective, accumulated from numbers and codes.

use rayon::prelude::*;

use super::{BLOCKS_PER_TASK, FairProblem, MOST_DENSE};
use crate::lanes::ZERO;
use crate::objective::Objective;
use crate::predictor::{Rows, TILE_ROWS};
use crate::problem::{Metric, Points, Problem, SecondOrder};
use crate::{Cholesky, Error, StopSignal};

/// Sums over rows for one point.
struct Sums {
    value: f64,
    gradient: Vec<f64>,
    /// Square, with a row and a column for features without a parameter; each pair of features in
    /// one of its two places.
    hessian: Vec<f64>,
}

impl FairProblem {
    /// Value, gradient and Hessian of the first objective at a point, in one pass over the rows;
    /// `None` where the predictor is not linear, the objective offers no second derivative, or
    /// there are too many parameters.
    pub(super) fn expansion(&self, point: &[f64]) -> Result<Option<SecondOrder>, Error> {
        let n = self.n_params;
        let Some(prepared) = self.objectives.first() else {
            return Ok(None);
        };
        let objective = prepared.objective.as_ref();
        if n > MOST_DENSE || !self.predictor.is_linear() || !objective.is_mean() {
            return Ok(None);
        }
        // A feature without a parameter points past the intercept, where a 0 is.
        let params = [point, &[0.0]].concat();
        let n_tasks = self.rows.n_blocks().div_ceil(BLOCKS_PER_TASK);
        let parts = (0..n_tasks)
            .into_par_iter()
            .map(|task| self.task_expansion(objective, &params, task))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut total: Option<Sums> = None;
        for part in parts {
            let Some(part) = part else { return Ok(None) };
            match &mut total {
                None => total = Some(part),
                Some(total) => total.add(&part),
            }
        }
        let Some(total) = total else { return Ok(None) };
        let divisor = prepared.weight.max(f64::MIN_POSITIVE);
        let mut gradient: Vec<f64> = total.gradient[..n].iter().map(|g| g / divisor).collect();
        let penalty = self.add_penalty(objective.penalty(), point, Some(&mut gradient));
        let mut lower = vec![0.0; n * n];
        let penalised = self.predictor.penalised(self.rows.schema());
        let at = |i: usize, j: usize| total.hessian[i * (n + 1) + j];
        for i in 0..n {
            for j in 0..i {
                lower[i * n + j] = (at(i, j) + at(j, i)) / divisor;
            }
            lower[i * n + i] = at(i, i) / divisor;
            if penalised.contains(&i) {
                lower[i * n + i] += objective.penalty();
            }
        }
        Ok(Some(SecondOrder {
            value: total.value / divisor + penalty,
            gradient,
            lower,
        }))
    }

    fn task_expansion(
        &self,
        objective: &dyn Objective,
        params: &[f64],
        task: usize,
    ) -> Result<Option<Sums>, Error> {
        let n = self.n_params + 1;
        let intercept = self.n_params - 1;
        let mut sums = Sums {
            value: 0.0,
            gradient: vec![0.0; n],
            hessian: vec![0.0; n * n],
        };
        let mut scores = [0.0; TILE_ROWS];
        let (mut slope, mut curvature) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
        let first = task * BLOCKS_PER_TASK;
        for index in first..(first + BLOCKS_PER_TASK).min(self.rows.n_blocks()) {
            let block = self.rows.block(index)?;
            for tile in Rows::tiles(&block) {
                for (row, score) in scores[..tile.len()].iter_mut().enumerate() {
                    let numeric = tile.numeric(row).iter().zip(params);
                    let codes = tile.codes(row).iter().map(|code| params[*code as usize]);
                    *score = params[intercept]
                        + numeric.map(|(z, c)| z * c).sum::<f64>()
                        + codes.sum::<f64>();
                }
                let value = objective.expand(&tile, &scores, &mut slope, &mut curvature);
                let Some(value) = value else { return Ok(None) };
                sums.value += value;
                for row in 0..tile.len() {
                    sums.add_row(
                        tile.numeric(row),
                        tile.codes(row),
                        slope[row],
                        curvature[row],
                    );
                }
            }
        }
        // A level is 1 or 0, so that its product with the constant 1 is its square.
        for level in self.rows.schema().numeric.len()..intercept {
            sums.hessian[intercept * n + level] += sums.hessian[level * n + level];
        }
        Ok(Some(sums))
    }

    /// The minimiser of the first objective by Newton's method, from a point near it where one is
    /// known; `None` without second derivatives.
    pub(super) fn newton(
        &self,
        near: Option<&[f64]>,
        stop: &StopSignal,
    ) -> Result<Option<Vec<f64>>, Error> {
        let n = self.n_params;
        let mut x = vec![0.0; n];
        let value = |x: &[f64]| -> Result<f64, Error> {
            Ok(self.values_of(0, &Points::from_vec(n, x.to_vec()))?[0])
        };
        if let Some(near) = near
            && value(near)? <= value(&x)?
        {
            // Anything worse than 0, or no number, is no help.
            x.copy_from_slice(near);
        }
        let mut before = f64::INFINITY;
        for _ in 0..100 {
            if stop.is_set() {
                return Err(Error::Stopped);
            }
            let Some(SecondOrder {
                value: current,
                gradient,
                mut lower,
            }) = self.expansion(&x)?
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
            // Far down, steps that no longer shrink are rounding.
            if decrement <= 1e-22 * current.abs().max(1.0)
                || (decrement < 1e-12 && decrement >= 0.25 * before)
            {
                break;
            }
            // Close to the end a full step is safe, and the values of many rows no longer tell.
            let calm = decrement < 1e-6 && decrement < before;
            before = decrement;
            if calm {
                x.iter_mut().zip(&step).for_each(|(x, s)| *x -= s);
                continue;
            }
            // Newton's step, halved until the loss falls enough.
            let mut length = 1.0;
            let found = loop {
                let trial: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x - length * s).collect();
                if value(&trial)? <= current - 1e-4 * length * decrement {
                    break Some(trial);
                }
                length *= 0.5;
                if length < 1e-10 {
                    break None;
                }
            };
            // No fall to working precision: this is the minimum.
            let Some(trial) = found else { break };
            x = trial;
        }
        Ok(Some(x))
    }

    /// One over the diagonal of the first objective's Hessian: the metric where there are too many
    /// parameters for all of it.
    pub fn diagonal_metric(&self, at: &[f64]) -> Result<Metric, Error> {
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
        let (mut slope, mut curvature) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
        for index in 0..self.rows.n_blocks() {
            let block = self.rows.block(index)?;
            for tile in Rows::tiles(&block) {
                self.predictor.scores(&tile, &params, &mut scores);
                let first_lane: Vec<f64> = scores[..tile.len()].iter().map(|s| s[0]).collect();
                if objective
                    .expand(&tile, &first_lane, &mut slope, &mut curvature)
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
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.value += other.value;
        for (sum, value) in self.gradient.iter_mut().zip(&other.gradient) {
            *sum += value;
        }
        for (sum, value) in self.hessian.iter_mut().zip(&other.hessian) {
            *sum += value;
        }
    }

    /// Adds a row: numbers first among the features, then codes, then the intercept.
    fn add_row(&mut self, numeric: &[f64], codes: &[u32], slope: f64, curvature: f64) {
        let n = self.gradient.len();
        let intercept = n - 2;
        for (a, z) in numeric.iter().enumerate() {
            self.gradient[a] += slope * z;
            let weighted = curvature * z;
            for (sum, z) in self.hessian[a * n..=a * n + a].iter_mut().zip(numeric) {
                *sum += weighted * z;
            }
            self.hessian[intercept * n + a] += weighted;
        }
        for (k, code) in codes.iter().enumerate() {
            let i = *code as usize;
            self.gradient[i] += slope;
            let row = &mut self.hessian[i * n..(i + 1) * n];
            for (sum, z) in row.iter_mut().zip(numeric) {
                *sum += curvature * z;
            }
            for other in &codes[..=k] {
                row[*other as usize] += curvature;
            }
        }
        self.gradient[intercept] += slope;
        self.hessian[intercept * n + intercept] += curvature;
    }
}
