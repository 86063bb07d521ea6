use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::pass::Pass;
use super::tile::part;
use super::{BothSides, Nearest, Sampler, Strata};
use crate::lanes::LANES;
use crate::{Error, RowBlock, RowSource, Schema};

/// Blocks of rows that are summed together before their sums are added, in order: part of the meaning of a
/// pass, since the order of additions decides the last bits.
pub const BLOCKS_PER_TASK: usize = 4;
/// Tasks whose sums are kept until they are added.
const TASKS_AT_ONCE: usize = 64;

/// Threads of this machine over rows in blocks: what an [`Engine`](super::Engine) on rows in memory or in a
/// file hands its passes to.
#[derive(Debug, Default)]
pub struct Host {
    /// Row numbers by stratum, made when a sample is first asked for: 4 bytes per row and kind of strata.
    samplers: Mutex<HashMap<Strata, Arc<Sampler>>>,
}

impl Host {
    /// Runs a pass. The rows must be the same in every call.
    pub fn sum(&self, rows: &dyn RowSource, pass: &Pass<'_>) -> Result<Vec<f64>, Error> {
        if let Some(sample) = &pass.sample
            && (sample.size as u64) < rows.n_rows()
        {
            let block = self.sampler(rows, sample.strata)?.block(rows, sample)?;
            return sum_of_blocks(pass, rows.schema(), &[Arc::new(block)]);
        }
        sum_of_source(pass, rows)
    }

    /// Finds the rows nearest to the threshold.
    pub fn nearest(
        &self,
        rows: &dyn RowSource,
        nearest: &Nearest<'_>,
    ) -> Result<Vec<BothSides>, Error> {
        nearest.find(rows)
    }

    fn sampler(&self, rows: &dyn RowSource, strata: Strata) -> Result<Arc<Sampler>, Error> {
        let mut samplers = self.samplers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = samplers.get(&strata) {
            return Ok(Arc::clone(known));
        }
        let sampler = Arc::new(Sampler::of(rows, strata)?);
        samplers.insert(strata, Arc::clone(&sampler));
        Ok(sampler)
    }
}

/// The ranges of points that are worked on side by side; one empty range if there are none.
fn lanes_of(n_points: usize) -> Vec<std::ops::Range<usize>> {
    let starts = (0..n_points.max(1)).step_by(LANES);
    starts
        .map(|start| start..(start + LANES).min(n_points))
        .collect()
}

/// The sums of a pass over rows that are at hand, without threads: one task.
pub(super) fn sum_of_blocks(
    pass: &Pass<'_>,
    schema: &Schema,
    blocks: &[Arc<RowBlock>],
) -> Result<Vec<f64>, Error> {
    let mut result = Vec::with_capacity(pass.len(schema));
    for points in lanes_of(pass.points.len()) {
        let once = points.start == 0;
        result.extend(part(pass, schema, blocks, points, once)?);
    }
    Ok(result)
}

/// The sums of a pass over all rows of a source: tasks on all threads, added in order.
fn sum_of_source(pass: &Pass<'_>, rows: &dyn RowSource) -> Result<Vec<f64>, Error> {
    let schema = rows.schema();
    let ranges = lanes_of(pass.points.len());
    let n_tasks = rows.n_blocks().div_ceil(BLOCKS_PER_TASK);
    let mut totals: Vec<Vec<f64>> = ranges
        .iter()
        .map(|points| {
            let (once, per_point) = pass.lengths(schema);
            let once = if points.start == 0 { once } else { 0 };
            vec![0.0; once + per_point * points.len()]
        })
        .collect();
    let at_once = (TASKS_AT_ONCE / ranges.len()).max(1);
    for first in (0..n_tasks).step_by(at_once) {
        let tasks: Vec<(usize, usize)> = (0..ranges.len())
            .flat_map(|range| (first..(first + at_once).min(n_tasks)).map(move |t| (range, t)))
            .collect();
        let parts: Vec<Vec<f64>> = tasks
            .par_iter()
            .map(|&(range, task)| {
                let first = task * BLOCKS_PER_TASK;
                let last = (first + BLOCKS_PER_TASK).min(rows.n_blocks());
                let blocks = (first..last).map(|index| rows.block(index));
                let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
                let points = ranges[range].clone();
                let once = points.start == 0;
                part(pass, schema, &blocks, points, once)
            })
            .collect::<Result<_, Error>>()?;
        for ((range, _), part) in tasks.iter().zip(parts) {
            for (total, value) in totals[*range].iter_mut().zip(part) {
                *total += value;
            }
        }
    }
    Ok(totals.concat())
}
