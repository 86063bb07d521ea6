//! The rows whose scores are nearest to the threshold, for moving thresholds.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::pass::Map;
use super::{BLOCKS_PER_TASK, kernel};
use crate::lanes::LANES;
use crate::predictor::{Rows, TILE_ROWS};
use crate::{BLOCK_ROWS, Error, Points, RowBlock, RowSource, Schema};

/// Number of tasks whose rows are kept until they are merged: one per thread, between these bounds.
const TASKS_AT_ONCE: [usize; 2] = [4, 32];
/// Number of points whose nearest rows are found in one pass over rows that are not in memory, where reading
/// them again costs time.
const POINTS_AT_ONCE: usize = 2 * LANES;

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
    /// Their numbers.
    pub rows: Vec<u64>,
    /// Their scores.
    pub scores: Vec<f64>,
    /// Whether they are labeled positive.
    pub positive: Vec<bool>,
    /// Their weights.
    pub weights: Vec<f64>,
    /// For each attribute, their groups.
    pub groups: Vec<Vec<u32>>,
}

impl NearRows {
    /// The nearest of several rows of one side.
    pub fn merged(parts: &[Self], most: usize) -> Self {
        let mut places: Vec<((f64, u64), usize, usize)> = Vec::new();
        for (part, rows) in parts.iter().enumerate() {
            let scored = rows.scores.iter().copied().zip(rows.rows.iter().copied());
            places.extend(scored.enumerate().map(|(at, scored)| (scored, part, at)));
        }
        places.sort_unstable_by(|a, b| order(&a.0, &b.0));
        places.truncate(most);
        let n_attributes = parts.iter().map(|part| part.groups.len()).max();
        let group = |a: usize| {
            let groups = places
                .iter()
                .map(|(_, part, at)| parts[*part].groups[a][*at]);
            groups.collect()
        };
        Self {
            rows: places.iter().map(|((_, row), ..)| *row).collect(),
            scores: places.iter().map(|((score, _), ..)| *score).collect(),
            positive: places
                .iter()
                .map(|(_, part, at)| parts[*part].positive[*at])
                .collect(),
            weights: places
                .iter()
                .map(|(_, part, at)| parts[*part].weights[*at])
                .collect(),
            groups: (0..n_attributes.unwrap_or(0)).map(group).collect(),
        }
    }
}

/// Rows with a score of at least 0, and the others.
pub type BothSides = [NearRows; 2];

/// A row near the threshold.
#[derive(Debug, Clone, Copy)]
struct Near {
    score: f64,
    row: u64,
    weight: f64,
    /// Its label and groups ([`Keys`]).
    key: u64,
}

/// Nearest to 0 first.
fn order(a: &(f64, u64), b: &(f64, u64)) -> Ordering {
    (a.0.abs().total_cmp(&b.0.abs())).then(a.1.cmp(&b.1))
}

/// Keeps only the nearest rows, in any order.
fn cut(rows: &mut Vec<Near>, most: usize) {
    if rows.len() > most {
        rows.select_nth_unstable_by(most, |a, b| order(&(a.score, a.row), &(b.score, b.row)));
        rows.truncate(most);
    }
}

/// Labels and groups of rows as one number each.
struct Keys<'a> {
    schema: &'a Schema,
}

impl Keys<'_> {
    /// The keys of the rows of a tile.
    fn of(&self, tile: &Rows<'_>, keys: &mut [u64; TILE_ROWS]) {
        for (key, label) in keys.iter_mut().zip(tile.labels()) {
            *key = u64::from(*label > 0.0);
        }
        let mut step = 2;
        for (a, attribute) in self.schema.attributes.iter().enumerate() {
            for (key, group) in keys.iter_mut().zip(tile.groups(a)) {
                // Unknown groups are 0.
                *key += step * u64::from(group.wrapping_add(1));
            }
            step *= attribute.groups.len() as u64 + 1;
        }
    }

    /// Rows with their labels and groups, the nearest first.
    fn rows(&self, mut nearest: Vec<Near>) -> NearRows {
        nearest.sort_unstable_by(|a, b| order(&(a.score, a.row), &(b.score, b.row)));
        let mut step = 2;
        let groups = self.schema.attributes.iter().map(|attribute| {
            let n = attribute.groups.len() as u64 + 1;
            let group = |near: &Near| ((near.key / step % n) as u32).wrapping_sub(1);
            let groups = nearest.iter().map(group).collect();
            step *= n;
            groups
        });
        NearRows {
            groups: groups.collect(),
            rows: nearest.iter().map(|near| near.row).collect(),
            scores: nearest.iter().map(|near| near.score).collect(),
            positive: nearest.iter().map(|near| near.key % 2 == 1).collect(),
            weights: nearest.iter().map(|near| near.weight).collect(),
        }
    }
}

impl Nearest<'_> {
    /// Finds the nearest rows among those of some blocks. The result does not depend on threads.
    pub fn find(
        &self,
        rows: &dyn RowSource,
        blocks: Range<usize>,
    ) -> Result<Vec<BothSides>, Error> {
        let keys = Keys {
            schema: rows.schema(),
        };
        let at_once = match rows.is_in_memory() {
            true => LANES,
            false => POINTS_AT_ONCE,
        };
        let mut found = Vec::with_capacity(self.points.len());
        for first in (0..self.points.len()).step_by(at_once) {
            let points = first..(first + at_once).min(self.points.len());
            let nearest = self.find_for(rows, &keys, points, blocks.clone())?;
            let with_facts = nearest.into_par_iter().map(|point| {
                let [selected, rejected] = point.sides;
                [keys.rows(selected), keys.rows(rejected)]
            });
            found.par_extend(with_facts);
        }
        Ok(found)
    }

    /// The nearest rows for a few points.
    fn find_for(
        &self,
        rows: &dyn RowSource,
        keys: &Keys<'_>,
        points: Range<usize>,
        blocks: Range<usize>,
    ) -> Result<Vec<Sides>, Error> {
        let mut nearest = vec![Sides::default(); points.len()];
        let [least, most] = TASKS_AT_ONCE;
        let blocks_at_once = rayon::current_num_threads().clamp(least, most) * BLOCKS_PER_TASK;
        for start in blocks.clone().step_by(blocks_at_once) {
            let end = (start + blocks_at_once).min(blocks.end);
            rows.prefetch(start..(end + blocks_at_once).min(blocks.end));
            let some = (start..end).into_par_iter().map(|index| rows.block(index));
            let some = some.collect::<Result<Vec<_>, _>>()?;
            let tasks: Vec<(usize, &[Arc<RowBlock>])> = (start..end)
                .step_by(BLOCKS_PER_TASK)
                .zip(some.chunks(BLOCKS_PER_TASK))
                .collect();
            let n_ranges = points.len().div_ceil(LANES);
            let parts: Vec<Vec<[Vec<Near>; 2]>> = (0..tasks.len() * n_ranges)
                .into_par_iter()
                .map(|at| {
                    let (index, blocks) = tasks[at / n_ranges];
                    let first = at % n_ranges * LANES;
                    let own = &nearest[first..(first + LANES).min(points.len())];
                    self.part(keys, (index, blocks), points.start + first, own)
                })
                .collect();
            nearest.par_iter_mut().enumerate().for_each(|(at, own)| {
                let of_point = parts.iter().skip(at / LANES).step_by(n_ranges);
                of_point.for_each(|part| own.add(&part[at % LANES], self.most));
            });
        }
        Ok(nearest)
    }

    /// The rows of a few blocks that may be among the nearest, for up to [`LANES`] points from `first` on.
    fn part(
        &self,
        keys: &Keys<'_>,
        (index, blocks): (usize, &[Arc<RowBlock>]),
        first: usize,
        known: &[Sides],
    ) -> Vec<[Vec<Near>; 2]> {
        let n = self.map.n_params(keys.schema);
        let mut params = vec![[0.0; LANES]; n + 1];
        for lane in 0..known.len() {
            for (row, value) in params.iter_mut().zip(self.points.get(first + lane)) {
                row[lane] = *value;
            }
        }
        let mut nearest = vec![[Vec::new(), Vec::new()]; known.len()];
        let mut scores = [[0.0; LANES]; TILE_ROWS];
        let mut row_keys = [0; TILE_ROWS];
        for (at, block) in blocks.iter().enumerate() {
            let mut row = ((index + at) * BLOCK_ROWS) as u64;
            for tile in Rows::tiles(block) {
                match self.map.beyond_columns() {
                    None => kernel::scores(&tile, &params, &mut scores),
                    Some(predictor) => predictor.scores(&tile, &params, &mut scores),
                }
                keys.of(&tile, &mut row_keys);
                for (lane, (sides, known)) in nearest.iter_mut().zip(known).enumerate() {
                    for (offset, scores) in scores[..tile.len()].iter().enumerate() {
                        let score = scores[lane];
                        let side = usize::from(score < 0.0 || score.is_nan());
                        if score.abs() > known.reach[side] {
                            continue;
                        }
                        sides[side].push(Near {
                            score,
                            row: row + offset as u64,
                            weight: tile.weights()[offset],
                            key: row_keys[offset],
                        });
                    }
                }
                row += tile.len() as u64;
            }
        }
        for rows in nearest.iter_mut().flatten() {
            cut(rows, self.most);
        }
        nearest
    }
}

/// The nearest rows so far on both sides of the threshold of a point.
#[derive(Debug, Clone)]
struct Sides {
    sides: [Vec<Near>; 2],
    /// Rows farther away than this cannot be among the nearest.
    reach: [f64; 2],
}

impl Default for Sides {
    fn default() -> Self {
        Self {
            sides: [Vec::new(), Vec::new()],
            reach: [f64::INFINITY; 2],
        }
    }
}

impl Sides {
    /// Adds rows, and keeps the nearest.
    fn add(&mut self, more: &[Vec<Near>; 2], most: usize) {
        let own = self.sides.iter_mut().zip(more).zip(&mut self.reach);
        for ((own, more), reach) in own {
            own.extend(more);
            cut(own, most);
            if own.len() >= most && !more.is_empty() {
                *reach = own.iter().map(|near| near.score.abs()).fold(0.0, f64::max);
            }
        }
    }
}
