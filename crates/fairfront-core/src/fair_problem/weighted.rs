//! Weighted sums of objectives: values and one gradient for each point, in two passes over the rows.

use super::pass::{Outputs, merged};
use super::{BLOCKS_PER_TASK, FairProblem};
use crate::Error;
use crate::lanes::{LANES, Lanes, ZERO};
use crate::predictor::{Rows, TILE_ROWS};
use crate::problem::Points;

impl FairProblem {
    /// The first pass gives means, and with them slopes by the means; the second sums up, with these
    /// slopes, one gradient a point.
    pub(super) fn weighted_sums(
        &self,
        points: &Points,
        weights: &[f64],
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let (m, n) = (self.objectives.len(), self.n_params);
        let is_linear = |i: &usize| self.objectives[*i].linear.is_some();
        let by_rows: Vec<usize> = (0..m).filter(|i| !is_linear(i)).collect();
        let blocks = self.point_blocks(points);
        let sums = self.sums_by_block(self.rows.as_ref(), &by_rows, &blocks)?;
        let mut values = vec![0.0; points.len() * m];
        let mut gradients = vec![0.0; points.len() * n];
        // Of each block, objective by objective.
        let mut slopes: Vec<Vec<Lanes>> = sums.iter().map(|s| vec![ZERO; s.len()]).collect();
        let (mut means, mut slope) = (Vec::new(), Vec::new());
        for (index, point) in points.iter().enumerate() {
            let (block, lane) = (index / LANES, index % LANES);
            let gradient = &mut gradients[index * n..(index + 1) * n];
            let mut offset = 0;
            for (i, prepared) in self.objectives.iter().enumerate() {
                let objective = prepared.objective.as_ref();
                let weight = weights[index * m + i];
                let k = objective.n_means();
                means.clear();
                slope.clear();
                slope.resize(k, 0.0);
                let value = if let Some(linear) = &prepared.linear {
                    linear.means(point, &mut means);
                    let value = objective.outer(&means, &mut slope);
                    for (s, direction) in slope.iter().zip(&linear.slopes) {
                        let pairs = gradient.iter_mut().zip(direction);
                        pairs.for_each(|(g, d)| *g += weight * s * d);
                    }
                    value
                } else {
                    let divisor = prepared.weight.max(f64::MIN_POSITIVE);
                    let own = &sums[block][offset..offset + k];
                    means.extend(own.iter().map(|sum| sum[lane] / divisor));
                    let value = objective.outer(&means, &mut slope);
                    let own = &mut slopes[block][offset..offset + k];
                    for (out, s) in own.iter_mut().zip(&slope) {
                        out[lane] = weight * s / divisor;
                    }
                    offset += k;
                    value
                };
                values[index * m + i] = value + self.add_penalty(objective.penalty(), point, None);
                self.add_penalty(weight * objective.penalty(), point, Some(gradient));
            }
        }
        self.check(&self.every())?;
        if by_rows.is_empty() {
            return Ok((values, gradients));
        }
        let sums = merged(self.rows.as_ref(), blocks.len(), |block, task| {
            self.task_gradient(&by_rows, &blocks[block], &slopes[block], task)
        })?;
        for (index, gradient) in gradients.chunks_exact_mut(n).enumerate() {
            let (block, lane) = (index / LANES, index % LANES);
            for (g, sum) in gradient.iter_mut().zip(&sums[block]) {
                *g += sum[lane];
            }
        }
        Ok((values, gradients))
    }

    /// The gradient of the sum of slopes · sums over the rows of a task.
    fn task_gradient(
        &self,
        objectives: &[usize],
        params: &[Lanes],
        slopes: &[Lanes],
        task: usize,
    ) -> Result<Vec<Lanes>, Error> {
        let mut gradient = vec![ZERO; self.n_params + 1];
        let (mut scores, mut by_score) = ([ZERO; TILE_ROWS], [ZERO; TILE_ROWS]);
        let mut outputs = Outputs::new();
        let first = task * BLOCKS_PER_TASK;
        for index in first..(first + BLOCKS_PER_TASK).min(self.rows.n_blocks()) {
            let block = self.rows.block(index)?;
            for tile in Rows::tiles(&block) {
                let n = tile.len();
                self.predictor.scores(&tile, params, &mut scores);
                outputs.forget();
                by_score[..n].fill(ZERO);
                let mut rest = slopes;
                for &i in objectives {
                    let objective = self.objectives[i].objective.as_ref();
                    let (own, others) = rest.split_at(objective.n_means());
                    outputs.pull_back(objective, &tile, &scores, own, &mut by_score[..n]);
                    rest = others;
                }
                self.predictor
                    .pull_back(&tile, params, &by_score[..n], &mut gradient);
            }
        }
        self.check(objectives)?;
        Ok(gradient)
    }
}
