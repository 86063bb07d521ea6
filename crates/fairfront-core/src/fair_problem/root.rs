//! What squares objectives are made of: values and gradients of covariances.

use rayon::prelude::*;

use super::{BLOCKS_PER_TASK, FairProblem, LinearMeans};
use crate::Error;
use crate::lanes::{LANES, Lanes, ZERO};
use crate::objective::Root;
use crate::predictor::{Rows, TILE_ROWS};
use crate::problem::{Points, Roots};

impl FairProblem {
    pub(super) fn roots_at(&self, objective: usize, point: &[f64]) -> Result<Roots, Error> {
        let prepared = &self.objectives[objective];
        let means = self.means_at(objective, &[point])?;
        let roots = prepared.objective.roots(&means);
        let gradients = match &prepared.linear {
            Some(linear) => roots.iter().map(|root| linear.gradient(root)).collect(),
            None => self.pull_back_roots(objective, &roots, point)?,
        };
        Ok(Roots {
            values: roots.iter().map(|root| root.value).collect(),
            gradients,
            affine: prepared.linear.is_some(),
        })
    }

    pub(super) fn root_values_at(
        &self,
        objective: usize,
        points: &Points,
    ) -> Result<Vec<f64>, Error> {
        let of = self.objectives[objective].objective.as_ref();
        let all: Vec<&[f64]> = points.iter().collect();
        let mut values = Vec::with_capacity(points.len() * of.n_roots());
        for block in all.chunks(LANES) {
            let means = self.means_at(objective, block)?;
            for means in means.chunks_exact(of.n_means().max(1)) {
                values.extend(of.roots(means).iter().map(|root| root.value));
            }
        }
        Ok(values)
    }

    /// The mean of Σⱼ |xⱼzⱼ| + |b| over all rows, or of |φ| where the scores are not linear: what
    /// the terms of a covariance sum to when no two of them cancel. Covariances are computed with
    /// errors in proportion to it, however small they are themselves; gradients of covariances are
    /// sums over rows too and say nothing about it.
    pub(super) fn score_size(&self, point: &[f64]) -> Result<f64, Error> {
        let params = self.side_by_side(&[point]);
        let linear = self.predictor.is_linear();
        let (mut sum, mut weight) = (0.0, 0.0);
        let mut scores = [ZERO; TILE_ROWS];
        for index in 0..self.rows.n_blocks() {
            let block = self.rows.block(index)?;
            for tile in Rows::tiles(&block) {
                if !linear {
                    self.predictor.scores(&tile, &params, &mut scores);
                }
                for row in 0..tile.len() {
                    let size = match linear {
                        false => scores[row][0].abs(),
                        true => {
                            let terms = tile.numeric(row).iter().zip(point);
                            let codes =
                                tile.codes(row).iter().map(|c| params[*c as usize][0].abs());
                            let rest = codes.sum::<f64>() + params[self.n_params - 1][0].abs();
                            terms.map(|(z, x)| (z * x).abs()).sum::<f64>() + rest
                        }
                    };
                    sum += tile.weights()[row] * size;
                    weight += tile.weights()[row];
                }
            }
        }
        Ok(sum / f64::max(weight, f64::MIN_POSITIVE))
    }

    /// Means of an objective's statistics at up to [`LANES`] points, `n_means` to a point.
    fn means_at(&self, index: usize, block: &[&[f64]]) -> Result<Vec<f64>, Error> {
        let prepared = &self.objectives[index];
        let k = prepared.objective.n_means();
        let mut means = Vec::with_capacity(block.len() * k);
        if let Some(linear) = &prepared.linear {
            for point in block {
                linear.means(point, &mut means);
            }
            return Ok(means);
        }
        let params = self.side_by_side(block);
        let n_tasks = self.rows.n_blocks().div_ceil(BLOCKS_PER_TASK);
        let parts: Vec<Vec<Lanes>> = (0..n_tasks)
            .into_par_iter()
            .map(|task| self.task_sums(self.rows.as_ref(), &[index], &params, task))
            .collect::<Result<_, _>>()?;
        let divisor = prepared.weight.max(f64::MIN_POSITIVE);
        for lane in 0..block.len() {
            for mean in 0..k {
                let sum: f64 = parts.iter().map(|part| part[mean][lane]).sum();
                means.push(sum / divisor);
            }
        }
        Ok(means)
    }

    /// Gradients of roots at one point: the point in as many lanes as there are roots, each lane
    /// with the slopes of its own, so that one pass over the rows serves them all.
    fn pull_back_roots(
        &self,
        index: usize,
        roots: &[Root],
        point: &[f64],
    ) -> Result<Vec<Vec<f64>>, Error> {
        let prepared = &self.objectives[index];
        let objective = prepared.objective.as_ref();
        let divisor = prepared.weight.max(f64::MIN_POSITIVE);
        let mut all = Vec::with_capacity(roots.len());
        for roots in roots.chunks(LANES) {
            let params = self.side_by_side(&vec![point; roots.len()]);
            let mut slopes = vec![ZERO; objective.n_means()];
            for (lane, root) in roots.iter().enumerate() {
                for (slopes, slope) in slopes.iter_mut().zip(&root.slope) {
                    slopes[lane] = slope / divisor;
                }
            }
            let mut gradients = vec![ZERO; self.n_params + 1];
            self.each_block(None, |rows| {
                self.pull_back(objective, rows, &params, &slopes, &mut gradients);
            })?;
            objective.check()?;
            let of_lane = |lane| gradients[..self.n_params].iter().map(|g| g[lane]).collect();
            all.extend((0..roots.len()).map(of_lane));
        }
        Ok(all)
    }
}

impl LinearMeans {
    /// ∇c = Σ ∂c/∂mean · ∇mean.
    fn gradient(&self, root: &Root) -> Vec<f64> {
        let mut gradient = vec![0.0; self.slopes.first().map_or(0, Vec::len)];
        for (by_mean, slope) in root.slope.iter().zip(&self.slopes) {
            for (g, s) in gradient.iter_mut().zip(slope) {
                *g += by_mean * s;
            }
        }
        gradient
    }
}
