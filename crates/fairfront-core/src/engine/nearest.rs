//! The rows whose scores are nearest to the threshold, for moving thresholds.

use std::borrow::Cow;
use std::cmp::Ordering;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::pass::Map;
use super::{BLOCKS_PER_TASK, kernel};
use crate::lanes::LANES;
use crate::predictor::{Rows, TILE_ROWS};
use crate::{BLOCK_ROWS, Error, Points, RowSource};

/// Number of tasks whose rows are kept until they are merged.
const TASKS_AT_ONCE: usize = 8;

/// A pass that finds rows instead of sums: for each point, those whose scores are nearest to 0, on
/// either side.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Nearest<'a> {
    /// The map from rows to scores.
    pub map: Map<'a>,
    /// The points.
    pub points: Cow<'a, Points>,
    /// The largest number of rows on each side.
    pub most: usize,
}

/// Rows on one side of the threshold, the nearest first; rows with equal scores in their order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NearRows {
    /// Their scores.
    pub scores: Vec<f64>,
    /// Whether they are labeled positive.
    pub positive: Vec<bool>,
    /// Their weights.
    pub weights: Vec<f64>,
    /// For each attribute, their groups.
    pub groups: Vec<Vec<u32>>,
}

/// Rows with a score of at least 0, and the others.
pub type BothSides = [NearRows; 2];

/// A score and the number of its row.
type Scored = (f64, u64);

/// Nearest to 0 first.
fn order(a: &Scored, b: &Scored) -> Ordering {
    (a.0.abs().total_cmp(&b.0.abs())).then(a.1.cmp(&b.1))
}

/// Keeps only the nearest rows, in any order.
fn cut(rows: &mut Vec<Scored>, most: usize) {
    if rows.len() > most {
        rows.select_nth_unstable_by(most, order);
        rows.truncate(most);
    }
}

impl Nearest<'_> {
    /// Finds the rows. The result does not depend on threads.
    pub(super) fn find(&self, rows: &dyn RowSource) -> Result<Vec<BothSides>, Error> {
        let n_tasks = rows.n_blocks().div_ceil(BLOCKS_PER_TASK);
        let tasks: Vec<usize> = (0..n_tasks).collect();
        let mut found = Vec::with_capacity(self.points.len());
        for first in (0..self.points.len()).step_by(LANES) {
            let points = first..(first + LANES).min(self.points.len());
            let mut nearest = vec![[Vec::new(), Vec::new()]; points.len()];
            for some in tasks.chunks(TASKS_AT_ONCE) {
                let parts = some
                    .par_iter()
                    .map(|task| self.part(rows, points.clone(), *task));
                let parts: Vec<_> = parts.collect::<Result<_, Error>>()?;
                nearest.par_iter_mut().enumerate().for_each(|(lane, own)| {
                    for (side, own) in own.iter_mut().enumerate() {
                        parts.iter().for_each(|part| own.extend(&part[lane][side]));
                        cut(own, self.most);
                    }
                });
            }
            let with_facts = nearest.into_par_iter().map(|sides| -> Result<_, Error> {
                let [selected, rejected] = sides;
                Ok([facts(rows, selected)?, facts(rows, rejected)?])
            });
            found.extend(with_facts.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(found)
    }

    /// The nearest rows of a few blocks, for some points: with a score of at least 0, and the others.
    fn part(
        &self,
        rows: &dyn RowSource,
        points: std::ops::Range<usize>,
        task: usize,
    ) -> Result<Vec<[Vec<Scored>; 2]>, Error> {
        let n = self.map.n_params(rows.schema());
        let mut params = vec![[0.0; LANES]; n + 1];
        for (lane, point) in points.clone().enumerate() {
            for (row, value) in params.iter_mut().zip(self.points.get(point)) {
                row[lane] = *value;
            }
        }
        let mut nearest = vec![[Vec::new(), Vec::new()]; points.len()];
        let mut scores = [[0.0; LANES]; TILE_ROWS];
        let first = task * BLOCKS_PER_TASK;
        let last = (first + BLOCKS_PER_TASK).min(rows.n_blocks());
        for index in first..last {
            let block = rows.block(index)?;
            let mut row = (index * BLOCK_ROWS) as u64;
            for tile in Rows::tiles(&block) {
                match self.map.beyond_columns() {
                    None => kernel::scores(&tile, &params, &mut scores),
                    Some(predictor) => predictor.scores(&tile, &params, &mut scores),
                }
                for (lane, sides) in nearest.iter_mut().enumerate() {
                    for (offset, scores) in scores[..tile.len()].iter().enumerate() {
                        let score = scores[lane];
                        let [selected, rejected] = &mut *sides;
                        let side = if score >= 0.0 { selected } else { rejected };
                        side.push((score, row + offset as u64));
                    }
                }
                row += tile.len() as u64;
            }
        }
        for rows in nearest.iter_mut().flatten() {
            cut(rows, self.most);
        }
        Ok(nearest)
    }
}

/// Rows with the labels, weights and groups that determine measures, the nearest first.
fn facts(rows: &dyn RowSource, mut nearest: Vec<Scored>) -> Result<NearRows, Error> {
    nearest.sort_unstable_by(order);
    let n = nearest.len();
    let mut found = NearRows {
        scores: nearest.iter().map(|(score, _)| *score).collect(),
        positive: vec![false; n],
        weights: vec![0.0; n],
        groups: vec![vec![0; n]; rows.schema().attributes.len()],
    };
    // Read each block once.
    let mut places: Vec<usize> = (0..n).collect();
    places.sort_unstable_by_key(|place| nearest[*place].1);
    let block_of = |place: usize| nearest[place].1 as usize / BLOCK_ROWS;
    for of_block in places.chunk_by(|a, b| block_of(*a) == block_of(*b)) {
        let block = rows.block(block_of(of_block[0]))?;
        for place in of_block {
            let row = nearest[*place].1 as usize % BLOCK_ROWS;
            found.positive[*place] = block.labels()[row] > 0.0;
            found.weights[*place] = block.weights()[row];
            for (attribute, groups) in found.groups.iter_mut().enumerate() {
                groups[*place] = block.groups(attribute)[row];
            }
        }
    }
    Ok(found)
}
