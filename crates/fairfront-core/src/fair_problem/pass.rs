//! What every pass over the rows shares: tasks merged in order, and outputs found once a tile.

use rayon::prelude::*;

use super::BLOCKS_PER_TASK;
use crate::lanes::{Lanes, ZERO};
use crate::objective::{Objective, Output};
use crate::predictor::{Rows, TILE_ROWS};
use crate::{Error, RowSource};

/// What tasks, on all threads, find about each block of points, added up in order.
pub(super) fn merged(
    rows: &dyn RowSource,
    n_blocks: usize,
    work: impl Fn(usize, usize) -> Result<Vec<Lanes>, Error> + Sync,
) -> Result<Vec<Vec<Lanes>>, Error> {
    let n_tasks = rows.n_blocks().div_ceil(BLOCKS_PER_TASK);
    let tasks: Vec<(usize, usize)> = (0..n_blocks)
        .flat_map(|b| (0..n_tasks).map(move |t| (b, t)))
        .collect();
    let parts: Vec<Vec<Lanes>> = tasks
        .par_iter()
        .map(|&(block, task)| work(block, task))
        .collect::<Result<_, _>>()?;
    let merge = |parts: &[Vec<Lanes>]| {
        let mut total = vec![ZERO; parts.first().map_or(0, Vec::len)];
        for part in parts {
            for (total, part) in total.iter_mut().zip(part) {
                total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
            }
        }
        total
    };
    Ok(parts.chunks(n_tasks.max(1)).map(merge).collect())
}

/// What objectives are made of, for one tile of rows: found once for all that ask for the same.
pub(super) struct Outputs {
    of: Option<Output>,
    found: [Lanes; TILE_ROWS],
    by_output: [Lanes; TILE_ROWS],
}

impl Outputs {
    pub(super) fn new() -> Self {
        Self {
            of: None,
            found: [ZERO; TILE_ROWS],
            by_output: [ZERO; TILE_ROWS],
        }
    }

    /// Another tile comes.
    pub(super) fn forget(&mut self) {
        self.of = None;
    }

    pub(super) fn find<'a>(
        &'a mut self,
        output: Output,
        tile: &Rows,
        scores: &'a [Lanes],
    ) -> &'a [Lanes] {
        if output == Output::Score {
            return &scores[..tile.len()];
        }
        if self.of != Some(output) {
            output.find(tile, scores, &mut self.found);
            self.of = Some(output);
        }
        &self.found[..tile.len()]
    }

    /// Adds the slopes of an objective by the scores.
    pub(super) fn pull_back(
        &mut self,
        objective: &dyn Objective,
        tile: &Rows,
        scores: &[Lanes],
        slopes: &[Lanes],
        by_score: &mut [Lanes],
    ) {
        let n = tile.len();
        let output = objective.output();
        if output == Output::Score {
            return objective.pull_back(tile, &scores[..n], slopes, by_score);
        }
        self.find(output, tile, scores);
        self.by_output[..n].fill(ZERO);
        objective.pull_back(tile, &self.found[..n], slopes, &mut self.by_output[..n]);
        output.pull_back(tile, scores, &self.found, &self.by_output, by_score);
    }
}
