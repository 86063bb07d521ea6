use std::collections::HashMap;

use rayon::prelude::*;

use crate::lanes::LANES;
use crate::measure::{Confusion, Measure, Measures};
use crate::predictor::{Predictor, scores_of_block};
use crate::{Error, Points, RowSource};

/// Rows on either side of the threshold that it may move past.
const MOST_ROWS: usize = 4_096;

/// Models that differ from the given ones in their threshold alone (the intercept) and dominate them
/// in these measures on these rows. For each model and each measure it is the threshold where that
/// measure is least while no other is worse than before; only those that are better in some measure
/// are returned. A threshold moves past 4,096 rows at most, and
/// never past all. Where a measure depends on more than
/// decisions, none is returned.
pub fn better_thresholds(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    points: &Points,
    measures: &[Measure],
) -> Result<Points, Error> {
    let n = points.n_params();
    let mut better = Points::new(n);
    let decisions_say_all = !measures.contains(&Measure::LogLoss);
    let Some(intercept) = predictor
        .intercept(rows.schema())
        .filter(|_| decisions_say_all)
    else {
        return Ok(better);
    };
    let table = Table::read(rows)?;
    let all: Vec<&[f64]> = points.iter().collect();
    let shifts: Vec<Vec<Vec<f64>>> = all
        .chunks(LANES)
        .map(|block| {
            let scores = scores_of_block(predictor, rows, block)?;
            let shifts = scores.par_iter().map(|s| table.shifts(s, measures));
            Ok(shifts.collect())
        })
        .collect::<Result<_, Error>>()?;
    for (point, shifts) in all.iter().zip(shifts.into_iter().flatten()) {
        for shift in shifts {
            let mut moved = point.to_vec();
            moved[intercept] += shift;
            better.push(&moved);
        }
    }
    Ok(better)
}

/// What decides about measures, row by row.
struct Table {
    positive: Vec<bool>,
    weights: Vec<f64>,
    /// For each attribute the group of each row.
    groups: Vec<Vec<u32>>,
    /// For each row its cell: rows of one label and the same groups.
    cells: Vec<u32>,
    /// A row of each cell.
    examples: Vec<usize>,
    /// Counts where nobody is selected.
    nobody: Measures,
}

impl Table {
    fn read(rows: &dyn RowSource) -> Result<Self, Error> {
        let attributes = &rows.schema().attributes;
        let mut table = Self {
            positive: Vec::with_capacity(rows.n_rows() as usize),
            weights: Vec::with_capacity(rows.n_rows() as usize),
            groups: vec![Vec::with_capacity(rows.n_rows() as usize); attributes.len()],
            cells: Vec::with_capacity(rows.n_rows() as usize),
            examples: Vec::new(),
            nobody: Measures::empty(attributes),
        };
        for index in 0..rows.n_blocks() {
            let block = rows.block(index)?;
            table
                .positive
                .extend(block.labels().iter().map(|y| *y > 0.0));
            table.weights.extend_from_slice(block.weights());
            for (attribute, groups) in table.groups.iter_mut().enumerate() {
                groups.extend_from_slice(block.groups(attribute));
            }
        }
        let mut known = HashMap::new();
        for row in 0..table.positive.len() {
            let groups: Vec<u32> = table.groups.iter().map(|groups| groups[row]).collect();
            let cell = *known
                .entry((table.positive[row], groups))
                .or_insert_with(|| {
                    table.examples.push(row);
                    table.examples.len() as u32 - 1
                });
            table.cells.push(cell);
        }
        let mut nobody = table.nobody.clone();
        for row in 0..table.positive.len() {
            let (positive, weight) = (table.positive[row], table.weights[row]);
            table.each(row, &mut nobody, |counts| match positive {
                true => counts.false_negatives += weight,
                false => counts.true_negatives += weight,
            });
        }
        table.nobody = nobody;
        Ok(table)
    }

    /// Changes the counts that a row is in.
    fn each(&self, row: usize, counts: &mut Measures, change: impl Fn(&mut Confusion)) {
        change(&mut counts.overall);
        for (groups, counts) in self.groups.iter().zip(&mut counts.groups) {
            if let Some(counts) = counts.get_mut(groups[row] as usize) {
                change(counts);
            }
        }
    }

    /// Selects this weight of rows that are in the cell of a row.
    fn select(&self, row: usize, weight: f64, counts: &mut Measures) {
        let positive = self.positive[row];
        self.each(row, counts, |counts| match positive {
            true => {
                counts.false_negatives -= weight;
                counts.true_positives += weight;
            }
            false => {
                counts.true_negatives -= weight;
                counts.false_positives += weight;
            }
        });
    }

    fn reject(&self, row: usize, weight: f64, counts: &mut Measures) {
        let positive = self.positive[row];
        self.each(row, counts, |counts| match positive {
            true => {
                counts.true_positives -= weight;
                counts.false_negatives += weight;
            }
            false => {
                counts.false_positives -= weight;
                counts.true_negatives += weight;
            }
        });
    }

    /// What to add to the intercept of a model with these scores.
    fn shifts(&self, scores: &[f64], measures: &[Measure]) -> Vec<f64> {
        let mut counts = self.nobody.clone();
        let n_selected = scores.iter().filter(|score| **score >= 0.0).count();
        let mut selected = Vec::with_capacity(n_selected);
        let mut rejected = Vec::with_capacity(scores.len() - n_selected);
        let mut by_cell = vec![0.0; self.examples.len()];
        for (row, score) in scores.iter().enumerate() {
            if *score >= 0.0 {
                by_cell[self.cells[row] as usize] += self.weights[row];
                selected.push((*score, row as u32));
            } else {
                rejected.push((*score, row as u32));
            }
        }
        for (row, weight) in self.examples.iter().zip(by_cell) {
            self.select(*row, weight, &mut counts);
        }
        let of = |counts: &Measures| -> Option<Vec<f64>> {
            measures.iter().map(|m| m.of(counts)).collect()
        };
        let Some(own) = of(&counts) else {
            return Vec::new();
        };
        let mut best = Best {
            shifts: vec![0.0; measures.len()],
            values: vec![own.clone(); measures.len()],
            own,
        };
        // Up: those with the lowest scores are no longer selected. Down: those with the highest are.
        for (mut rows, up) in [(selected, true), (rejected, false)] {
            let order = |a: &(f64, u32), b: &(f64, u32)| match up {
                true => a.0.total_cmp(&b.0),
                false => b.0.total_cmp(&a.0),
            };
            if rows.len() > MOST_ROWS {
                rows.select_nth_unstable_by(MOST_ROWS, order);
                rows.truncate(MOST_ROWS + 1);
            }
            rows.sort_unstable_by(order);
            let mut counts = counts.clone();
            for (place, &(here, row)) in rows.iter().enumerate() {
                let row = row as usize;
                match up {
                    true => self.reject(row, self.weights[row], &mut counts),
                    false => self.select(row, self.weights[row], &mut counts),
                }
                let Some((next, _)) = rows.get(place + 1).copied() else {
                    break;
                };
                let middle = 0.5 * (here + next);
                // Rows with one score go together.
                if here == next || middle == here || middle == next {
                    continue;
                }
                // Most thresholds make the first measure worse: the others need not be known.
                let not_worse =
                    |(m, own): (&Measure, &f64)| m.of(&counts).is_none_or(|v| v <= *own);
                if measures.iter().zip(&best.own).all(not_worse)
                    && let Some(values) = of(&counts)
                {
                    best.judge(&values, -middle);
                }
            }
        }
        best.into_shifts()
    }
}

/// The best threshold for each measure.
struct Best {
    own: Vec<f64>,
    shifts: Vec<f64>,
    values: Vec<Vec<f64>>,
}

impl Best {
    fn judge(&mut self, values: &[f64], shift: f64) {
        if values.iter().zip(&self.own).any(|(new, own)| new > own) {
            return;
        }
        for (i, (best, chosen)) in self.values.iter_mut().zip(&mut self.shifts).enumerate() {
            // The measure itself first, then the others in order.
            let key = |v: &[f64]| [&v[i..=i], v].concat();
            if key(values) < key(best) {
                *best = values.to_vec();
                *chosen = shift;
            }
        }
    }

    /// Those that are better, each once.
    fn into_shifts(self) -> Vec<f64> {
        let mut shifts: Vec<f64> = Vec::new();
        for shift in self.shifts {
            if shift != 0.0 && !shifts.contains(&shift) {
                shifts.push(shift);
            }
        }
        shifts
    }
}
