//! All trade-offs between the errors and the difference between two groups, over one weight and all
//! thresholds.

use fairfront_core::{Costs, Dataset, Loaded, Points};
use fairfront_pareto::{Values, nondominated, ranges, select_spread};
use rayon::prelude::*;

use crate::Error;

/// Weights between no correction and the one at which the difference vanishes.
const STEPS: i32 = 24;
/// The weights go this far beyond, in these steps: past a vanishing difference, and below none.
const BEYOND: i32 = 12;
/// With more rows, scores are counted in bins instead of sorted.
const MOST_SORTED: usize = 1 << 18;
/// Number of bins.
const BINS: usize = 1 << 14;
/// Most models that a sweep returns.
const MOST_MODELS: usize = 1_000;
/// Steps of the search for the weight at which the difference vanishes.
const HALVINGS: usize = 24;

/// Two groups that are compared by one rate, and the features of the scores.
///
/// Scores are η − w·d − t; features are (η − shift)/factor and (d − shift)/factor.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    /// The attribute.
    pub(crate) attribute: usize,
    /// The codes of the groups.
    pub(crate) groups: [u32; 2],
    /// The label of the rows that the rate counts; `None` for all rows.
    pub(crate) label: Option<f64>,
    /// The costs of errors.
    pub(crate) costs: Costs,
    /// The threshold on η that minimizes the costs.
    pub(crate) threshold: f64,
    pub(crate) shifts: [f64; 2],
    pub(crate) factors: [f64; 2],
}

impl Comparison {
    /// The parameters of the score η − w·d − t over the features.
    pub(crate) fn point(&self, weight: f64, threshold: f64) -> Vec<f64> {
        let [eta, d] = self.shifts;
        vec![
            self.factors[0],
            -weight * self.factors[1],
            eta - weight * d - threshold,
        ]
    }
}

/// A row as the sweep sees it.
#[derive(Clone, Copy)]
struct Row {
    eta: f64,
    d: f64,
    weight: f64,
    positive: bool,
    /// 0 or 1 if the row is in a compared group and its label counts, otherwise 2.
    group: u8,
}

/// Sums of the rows above a threshold: cost of the errors relative to no selected row, and
/// selected weight by group.
#[derive(Clone, Copy, Default)]
struct Sums {
    cost: f64,
    selected: [f64; 3],
}

/// Models that no other one dominates on these rows, which must be out of fold.
pub(crate) fn sweep(train: &Dataset, of: &Comparison) -> Result<Points, Error> {
    let rows = rows(&train.loaded()?, of);
    let mut totals = [0.0; 3];
    rows.iter()
        .for_each(|row| totals[row.group as usize] += row.weight);
    let weights = weights(&rows, of, totals);
    let found: Vec<Vec<[f64; 4]>> = weights
        .par_iter()
        .map(|weight| one_weight(&rows, *weight, of.costs, totals))
        .collect::<Result<_, Error>>()?;
    let all = best(&found.concat())?;
    let mut points = Points::new(3);
    for [_, _, weight, threshold] in all {
        points.push(&of.point(weight, threshold));
    }
    Ok(points)
}

fn rows(train: &Loaded, of: &Comparison) -> Vec<Row> {
    let mut rows = Vec::with_capacity(train.n_rows());
    for block in train.blocks() {
        let groups = block.groups(of.attribute);
        for row in 0..block.n_rows() {
            let numbers = block.numeric(row);
            let label = block.labels()[row];
            let counts = of.label.is_none_or(|wanted| wanted == label);
            let group = of.groups.iter().position(|g| *g == groups[row]);
            rows.push(Row {
                eta: of.shifts[0] + of.factors[0] * numbers[0],
                d: of.shifts[1] + of.factors[1] * numbers[1],
                weight: block.weights()[row],
                positive: label > 0.0,
                group: group.filter(|_| counts).unwrap_or(2) as u8,
            });
        }
    }
    rows
}

/// The weights to try: evenly spaced around the one at which the difference vanishes at the
/// cost-optimal threshold.
fn weights(rows: &[Row], of: &Comparison, totals: [f64; 3]) -> Vec<f64> {
    let difference = |weight: f64| {
        let mut selected = [0.0; 3];
        for row in rows {
            if row.eta - weight * row.d >= of.threshold {
                selected[row.group as usize] += row.weight;
            }
        }
        selected[0] / totals[0] - selected[1] / totals[1]
    };
    let at_zero = difference(0.0);
    // A larger weight lowers the rate of the groups in which d is large; find its sign by trying.
    let mut bound = None;
    let mut size = 1.0 / 64.0;
    while bound.is_none() && size < 64.0 {
        let crosses = |weight: &f64| difference(*weight) * at_zero <= 0.0;
        bound = [size, -size].into_iter().find(crosses);
        size *= 2.0;
    }
    // Without a crossing, no weight makes the groups equal; try a range of usual size.
    let mut zero = bound.unwrap_or(0.5);
    if bound.is_some() {
        let mut low = 0.0;
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + zero);
            match difference(middle) * at_zero <= 0.0 {
                true => zero = middle,
                false => low = middle,
            }
        }
    }
    if zero.abs() < 1e-6 {
        zero = 0.05;
    }
    let step = |k: i32| zero * f64::from(k) / f64::from(STEPS);
    (-BEYOND..=STEPS + BEYOND).map(step).collect()
}

/// The trade-offs of all thresholds at one weight: error, difference, weight, threshold.
fn one_weight(
    rows: &[Row],
    weight: f64,
    costs: Costs,
    totals: [f64; 3],
) -> Result<Vec<[f64; 4]>, Error> {
    let score = |row: &Row| row.eta - weight * row.d;
    let total: f64 = totals.iter().sum();
    let positive = rows.iter().filter(|row| row.positive);
    let none = costs.false_negative * positive.map(|row| row.weight).sum::<f64>();
    let add = |sums: &mut Sums, row: &Row| {
        sums.cost += row.weight
            * match row.positive {
                true => -costs.false_negative,
                false => costs.false_positive,
            };
        sums.selected[row.group as usize] += row.weight;
    };
    let mut found = Vec::new();
    let mut judge = |sums: &Sums, threshold: f64| {
        let [a, b] = [0, 1].map(|g| sums.selected[g] / totals[g]);
        found.push([(none + sums.cost) / total, (a - b).abs(), weight, threshold]);
    };
    let mut sums = Sums::default();
    if rows.len() <= MOST_SORTED {
        let mut sorted: Vec<(f64, u32)> = rows.iter().map(score).zip(0..).collect();
        sorted.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (at, (here, row)) in sorted.iter().enumerate() {
            add(&mut sums, &rows[*row as usize]);
            let Some((next, _)) = sorted.get(at + 1) else {
                break;
            };
            let middle = 0.5 * (here + next);
            // Rows with equal scores are decided together.
            if middle < *here && middle > *next {
                judge(&sums, middle);
            }
        }
    } else {
        let range = |(low, high): (f64, f64), s: f64| (low.min(s), high.max(s));
        let (low, high) = rows.iter().map(score).fold((f64::MAX, f64::MIN), range);
        let width = (high - low) / BINS as f64;
        let mut bins = vec![Sums::default(); BINS];
        for row in rows {
            let bin = ((score(row) - low) / width) as usize;
            add(&mut bins[bin.min(BINS - 1)], row);
        }
        for (at, bin) in bins.iter().enumerate().skip(1).rev() {
            sums.cost += bin.cost;
            (0..3).for_each(|g| sums.selected[g] += bin.selected[g]);
            judge(&sums, low + width * at as f64);
        }
    }
    best(&found)
}

/// The nondominated entries by their first two values; a well-spread selection if there are many.
fn best(all: &[[f64; 4]]) -> Result<Vec<[f64; 4]>, Error> {
    let values: Vec<f64> = all.iter().flat_map(|v| [v[0], v[1]]).collect();
    let mut kept = nondominated(Values::new(&values, 2)?);
    if kept.len() > MOST_MODELS {
        let some: Vec<f64> = kept.iter().flat_map(|i| [all[*i][0], all[*i][1]]).collect();
        let some = Values::new(&some, 2)?;
        let spread = select_spread(some, MOST_MODELS, &ranges(some, None));
        kept = spread.into_iter().map(|i| kept[i]).collect();
    }
    Ok(kept.into_iter().map(|i| all[i]).collect())
}
