//! Gradients of one objective at up to [`LANES`] points, on all rows or on batches of them.

use std::borrow::Cow;

use super::FairProblem;
use super::pass::Outputs;
use crate::lanes::{LANES, Lanes, ZERO};
use crate::objective::{Objective, Output};
use crate::predictor::{Rows, TILE_ROWS};
use crate::problem::Batches;
use crate::{Error, Purpose, RowBlock, Stream};

impl FairProblem {
    /// The rows of a batch, their weights scaled so that sums estimate those over all rows.
    pub(super) fn batch(
        &self,
        objective: usize,
        draw: usize,
        batches: Batches,
    ) -> Result<Option<Vec<Cow<'_, RowBlock>>>, Error> {
        let Batches::Sample { sizes, key, .. } = batches else {
            return Ok(None);
        };
        let prepared = &self.objectives[objective];
        let size = sizes.get(objective).copied().unwrap_or(usize::MAX);
        if size >= prepared.sampler.n_rows() {
            return Ok(None);
        }
        let (seed, keys) = key;
        let number = keys[1].wrapping_mul(64) + 2 * objective as u64 + draw as u64;
        let mut random = Stream::new(seed, Purpose::Batch, [keys[0], number]);
        let drawn = prepared.sampler.draw(size, &mut random);
        let mut block = self.rows.gather(&drawn.rows)?;
        block.scale_weights(&drawn.factors);
        Ok(Some(vec![Cow::Owned(block)]))
    }

    /// Adds Σ over blocks of the gradient of slopes · sums.
    pub(super) fn pull_back(
        &self,
        objective: &dyn Objective,
        block: &RowBlock,
        params: &[Lanes],
        slopes: &[Lanes],
        gradients: &mut [Lanes],
    ) {
        let mut scores = [ZERO; TILE_ROWS];
        let mut out = [ZERO; TILE_ROWS];
        let mut outputs = Outputs::new();
        for tile in Rows::tiles(block) {
            let n = tile.len();
            self.predictor.scores(&tile, params, &mut scores);
            outputs.forget();
            out[..n].fill(ZERO);
            outputs.pull_back(objective, &tile, &scores, slopes, &mut out[..n]);
            self.predictor
                .pull_back(&tile, params, &out[..n], gradients);
        }
    }

    pub(super) fn sums(
        &self,
        objective: &dyn Objective,
        block: &RowBlock,
        params: &[Lanes],
        sums: &mut [Lanes],
    ) {
        let mut scores = [ZERO; TILE_ROWS];
        let mut outputs = Outputs::new();
        for tile in Rows::tiles(block) {
            self.predictor.scores(&tile, params, &mut scores);
            outputs.forget();
            let outputs = outputs.find(objective.output(), &tile, &scores);
            objective.add_sums(&tile, outputs, sums);
        }
    }

    pub(super) fn each_block(
        &self,
        batch: Option<&[Cow<'_, RowBlock>]>,
        mut work: impl FnMut(&RowBlock),
    ) -> Result<(), Error> {
        match batch {
            Some(blocks) => blocks.iter().for_each(|b| work(b)),
            None => {
                for index in 0..self.rows.n_blocks() {
                    work(&*self.rows.block(index)?);
                }
            }
        }
        Ok(())
    }

    /// Adds the gradients of one objective at up to [`LANES`] points, one after the other.
    pub(super) fn block_gradient(
        &self,
        index: usize,
        block: &[&[f64]],
        params: &[Lanes],
        batches: Batches,
        out: &mut [f64],
    ) -> Result<(), Error> {
        let prepared = &self.objectives[index];
        let objective = prepared.objective.as_ref();
        let k = objective.n_means();
        let paper = matches!(batches, Batches::Sample { paper: true, .. });
        let mut slope = vec![0.0; k];
        if let (Some(linear), false) = (&prepared.linear, paper) {
            let mut means = Vec::with_capacity(k);
            for (point, gradient) in block.iter().zip(out.chunks_exact_mut(self.n_params)) {
                means.clear();
                linear.means(point, &mut means);
                objective.outer(&means, &mut slope);
                for (s, direction) in slope.iter().zip(&linear.slopes) {
                    for (g, d) in gradient.iter_mut().zip(direction) {
                        *g += s * d;
                    }
                }
                self.add_penalty(objective.penalty(), point, Some(gradient));
            }
            return objective.check();
        }

        let divisor = prepared.weight.max(f64::MIN_POSITIVE);
        let batch = self.batch(index, 0, batches)?;
        let mut slopes = vec![[1.0 / divisor; LANES]; k];
        if !objective.is_mean() {
            // h′ from a batch of its own, so that the product of the two factors has no bias.
            let outer_batch = if paper {
                None
            } else {
                self.batch(index, 1, batches)?
            };
            let of_outer = outer_batch.as_deref().or(batch.as_deref());
            let mut sums = vec![ZERO; k];
            self.each_block(of_outer, |rows| {
                self.sums(objective, rows, params, &mut sums);
            })?;
            let mut means = vec![0.0; k];
            for lane in 0..block.len() {
                for (mean, sum) in means.iter_mut().zip(&sums) {
                    *mean = sum[lane] / divisor;
                }
                objective.outer(&means, &mut slope);
                for (lanes, s) in slopes.iter_mut().zip(&slope) {
                    lanes[lane] = s / divisor;
                }
            }
        }
        let mut gradients = vec![ZERO; self.n_params + 1];
        self.each_block(batch.as_deref(), |rows| {
            self.pull_back(objective, rows, params, &slopes, &mut gradients);
        })?;
        objective.check()?;
        let of_points = block.iter().zip(out.chunks_exact_mut(self.n_params));
        for (lane, (point, gradient)) in of_points.enumerate() {
            for (g, lanes) in gradient.iter_mut().zip(&gradients) {
                *g += lanes[lane];
            }
            self.add_penalty(objective.penalty(), point, Some(gradient));
        }
        Ok(())
    }

    /// Values and gradients of an objective that is a mean, at up to [`LANES`] points.
    pub(super) fn evaluate_mean<'v>(
        &self,
        index: usize,
        block: &[&[f64]],
        params: &[Lanes],
        values: impl Iterator<Item = &'v mut f64>,
        out: &mut [f64],
    ) -> Result<(), Error> {
        let prepared = &self.objectives[index];
        let objective = prepared.objective.as_ref();
        let divisor = prepared.weight.max(f64::MIN_POSITIVE);
        let slopes = [[1.0 / divisor; LANES]];
        let mut sums = [ZERO];
        let mut gradients = vec![ZERO; self.n_params + 1];
        let (mut scores, mut by_row) = ([ZERO; TILE_ROWS], [ZERO; TILE_ROWS]);
        let mut outputs = Outputs::new();
        self.each_block(None, |rows| {
            for tile in Rows::tiles(rows) {
                let n = tile.len();
                self.predictor.scores(&tile, params, &mut scores);
                by_row[..n].fill(ZERO);
                match objective.output() {
                    Output::Score => objective.add_sums_and_slopes(
                        &tile,
                        &scores[..n],
                        &slopes,
                        &mut sums,
                        &mut by_row[..n],
                    ),
                    output => {
                        outputs.forget();
                        let found = outputs.find(output, &tile, &scores);
                        objective.add_sums(&tile, found, &mut sums);
                        outputs.pull_back(objective, &tile, &scores, &slopes, &mut by_row[..n]);
                    }
                }
                let slopes = &by_row[..n];
                self.predictor
                    .pull_back(&tile, params, slopes, &mut gradients);
            }
        })?;
        objective.check()?;
        let of_points = block.iter().zip(out.chunks_exact_mut(self.n_params));
        for (lane, ((point, gradient), value)) in of_points.zip(values).enumerate() {
            for (g, lanes) in gradient.iter_mut().zip(&gradients) {
                *g += lanes[lane];
            }
            let penalty = self.add_penalty(objective.penalty(), point, Some(gradient));
            *value = sums[0][lane] / divisor + penalty;
        }
        Ok(())
    }
}
