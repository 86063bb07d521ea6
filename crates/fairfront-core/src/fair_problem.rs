mod bound;
mod gradient;
mod pass;
mod root;
mod second_order;
mod weighted;

use std::sync::{Arc, OnceLock};

use self::pass::{Outputs, merged};
use crate::lanes::{LANES, Lanes, ZERO};
use crate::objective::{Objective, OfRoots};
use crate::predictor::{Predictor, Rows, TILE_ROWS};
use crate::problem::{Batches, Bounds, Gradients, Metric, Points, Problem, Roots, SecondOrder};
use crate::sample::Sampler;
use crate::{Cholesky, Error, RowSource, StopSignal, UNKNOWN_GROUP};

/// Row blocks that one task sums before tasks are merged, in order.
const BLOCKS_PER_TASK: usize = 4;
/// Parameters up to which dense second derivatives are used.
pub const MOST_DENSE: usize = 1_000;

/// Predictor, objectives and rows: values and gradients for many points at once.
pub struct FairProblem {
    rows: Arc<dyn RowSource>,
    predictor: Arc<dyn Predictor>,
    objectives: Vec<Prepared>,
    n_params: usize,
    /// The problem of a convex loss that stands in for the first objective.
    stand_in: Option<Arc<FairProblem>>,
    /// Found when first asked for.
    label_means: OnceLock<[bound::LabelMean; 2]>,
}

/// An objective with what is found once about it and these rows.
#[derive(Clone)]
struct Prepared {
    objective: Arc<dyn Objective>,
    /// Total weight of the rows that take part.
    weight: f64,
    /// With linear statistics and a linear predictor: means at x = 0, and the gradient of each.
    linear: Option<Arc<LinearMeans>>,
    sampler: Arc<Sampler>,
}

struct LinearMeans {
    at_zero: Vec<f64>,
    /// `n_means` vectors of `n_params`.
    slopes: Vec<Vec<f64>>,
}

impl FairProblem {
    /// A problem. The first objective is the loss: its minimiser is the unmitigated model.
    pub fn new(
        rows: Arc<dyn RowSource>,
        predictor: Box<dyn Predictor>,
        objectives: Vec<Box<dyn Objective>>,
    ) -> Result<Self, Error> {
        let objectives = objectives.into_iter().map(Arc::from).collect();
        Self::of_shared(rows, predictor, objectives)
    }

    /// The same of objectives that others hold too.
    pub fn of_shared(
        rows: Arc<dyn RowSource>,
        predictor: Box<dyn Predictor>,
        objectives: Vec<Arc<dyn Objective>>,
    ) -> Result<Self, Error> {
        let mut problem = Self {
            n_params: predictor.n_params(rows.schema()),
            rows,
            predictor: Arc::from(predictor),
            objectives: Vec::new(),
            stand_in: None,
            label_means: OnceLock::new(),
        };
        for objective in objectives {
            let prepared = problem.prepare(objective)?;
            problem.objectives.push(prepared);
        }
        let first = problem.objectives.first();
        if let Some(loss) = first.and_then(|first| first.objective.stand_in()) {
            let prepared = problem.prepare(Arc::from(loss))?;
            problem.stand_in = Some(Arc::new(problem.with(vec![prepared], None)));
        }
        Ok(problem)
    }

    /// Other objectives of the same predictor on the same rows.
    fn with(&self, objectives: Vec<Prepared>, stand_in: Option<Arc<Self>>) -> Self {
        Self {
            rows: Arc::clone(&self.rows),
            predictor: Arc::clone(&self.predictor),
            objectives,
            n_params: self.n_params,
            stand_in,
            label_means: OnceLock::new(),
        }
    }

    /// The objectives, in order.
    pub fn objectives(&self) -> impl ExactSizeIterator<Item = &dyn Objective> {
        self.objectives.iter().map(|o| o.objective.as_ref())
    }

    /// For each objective whether these rows give it a meaning: at least two compared groups with weight
    /// among the rows that it compares them on.
    pub fn meaningful_on(&self, rows: &dyn RowSource) -> Result<Vec<bool>, Error> {
        // Of each objective, for each of its labels.
        let labels: Vec<Vec<Option<f64>>> = self.objectives().map(Objective::labels).collect();
        let mut seen: Vec<Vec<Vec<u32>>> =
            labels.iter().map(|l| vec![Vec::new(); l.len()]).collect();
        for index in 0..rows.n_blocks() {
            let block = rows.block(index)?;
            for ((seen, labels), objective) in seen.iter_mut().zip(&labels).zip(self.objectives()) {
                let Some((attribute, _)) = objective.compares() else {
                    continue;
                };
                for row in 0..block.n_rows() {
                    let group = block.groups(attribute)[row];
                    if block.weights()[row] <= 0.0 || group == UNKNOWN_GROUP {
                        continue;
                    }
                    let small = &rows.schema().attributes[attribute].small;
                    for (seen, label) in seen.iter_mut().zip(labels) {
                        let counts = label.is_none_or(|label| block.labels()[row] == label)
                            && !small.with_label(*label).contains(&group);
                        if counts && !seen.contains(&group) {
                            seen.push(group);
                        }
                    }
                }
            }
        }
        Ok(seen
            .iter()
            .map(|of_labels| of_labels.iter().all(|seen| seen.len() > 1))
            .collect())
    }

    /// The same predictor and objectives on other rows of the same schema.
    pub fn values_on(&self, rows: &dyn RowSource, points: &Points) -> Result<Vec<f64>, Error> {
        let weights = self.weights_on(rows)?;
        self.values_with(rows, &weights, &self.every(), points)
    }

    fn every(&self) -> Vec<usize> {
        (0..self.objectives.len()).collect()
    }

    fn prepare(&self, objective: Arc<dyn Objective>) -> Result<Prepared, Error> {
        let blocks = || (0..self.rows.n_blocks()).map(|i| self.rows.block(i));
        let mut weight = 0.0;
        let mut strata: Vec<Vec<u32>> = Vec::new();
        let mut first_row = 0;
        for block in blocks() {
            let block = block?;
            weight += Rows::tiles(&block)
                .map(|rows| objective.weight(&rows))
                .sum::<f64>();
            for row in 0..block.n_rows() {
                let stratum = match objective.compares() {
                    None => 0,
                    Some((attribute, label)) => {
                        let group = block.groups(attribute)[row].wrapping_add(1) as usize;
                        2 * group + usize::from(label.is_some() && block.labels()[row] > 0.0)
                    }
                };
                if strata.len() <= stratum {
                    strata.resize(stratum + 1, Vec::new());
                }
                strata[stratum].push((first_row + row) as u32);
            }
            first_row += block.n_rows();
        }
        let mut prepared = Prepared {
            objective,
            weight,
            linear: None,
            sampler: Arc::new(Sampler::new(strata)),
        };
        if prepared.objective.is_linear_in_scores() && self.predictor.is_linear() {
            prepared.linear = Some(Arc::new(self.linear_means(&prepared)?));
        }
        Ok(prepared)
    }

    /// E[s] is affine in x; a pass over the rows finds it.
    fn linear_means(&self, prepared: &Prepared) -> Result<LinearMeans, Error> {
        let objective = prepared.objective.as_ref();
        let k = objective.n_means();
        let zeros = vec![ZERO; self.n_params + 1];
        let mut sums = vec![ZERO; k];
        let mut gradients = vec![vec![ZERO; self.n_params + 1]; k];
        for index in 0..self.rows.n_blocks() {
            let block = self.rows.block(index)?;
            for rows in Rows::tiles(&block) {
                let scores = vec![ZERO; rows.len()];
                objective.add_sums(&rows, &scores, &mut sums);
                for (mean, gradient) in gradients.iter_mut().enumerate() {
                    let mut unit = vec![ZERO; k];
                    unit[mean] = [1.0; LANES];
                    let mut out = vec![ZERO; rows.len()];
                    objective.pull_back(&rows, &scores, &unit, &mut out);
                    self.predictor.pull_back(&rows, &zeros, &out, gradient);
                }
            }
        }
        let divisor = prepared.weight.max(f64::MIN_POSITIVE);
        Ok(LinearMeans {
            at_zero: sums.iter().map(|s| s[0] / divisor).collect(),
            slopes: gradients
                .iter()
                .map(|g| g[..self.n_params].iter().map(|l| l[0] / divisor).collect())
                .collect(),
        })
    }

    fn weights_on(&self, rows: &dyn RowSource) -> Result<Vec<f64>, Error> {
        let mut weights = vec![0.0; self.objectives.len()];
        for index in 0..rows.n_blocks() {
            let block = rows.block(index)?;
            for tile in Rows::tiles(&block) {
                for (weight, o) in weights.iter_mut().zip(&self.objectives) {
                    *weight += o.objective.weight(&tile);
                }
            }
        }
        Ok(weights)
    }

    /// Adds the penalty and its gradient.
    fn add_penalty(&self, lambda: f64, point: &[f64], gradient: Option<&mut [f64]>) -> f64 {
        if lambda == 0.0 {
            return 0.0;
        }
        let range = self.predictor.penalised(self.rows.schema());
        let c = &point[range.clone()];
        if let Some(gradient) = gradient {
            for (g, c) in gradient[range].iter_mut().zip(c) {
                *g += lambda * c;
            }
        }
        0.5 * lambda * c.iter().map(|c| c * c).sum::<f64>()
    }

    fn values_with(
        &self,
        rows: &dyn RowSource,
        weights: &[f64],
        objectives: &[usize],
        points: &Points,
    ) -> Result<Vec<f64>, Error> {
        let m = objectives.len();
        let own_rows = std::ptr::addr_eq(std::ptr::from_ref(rows), Arc::as_ptr(&self.rows));
        let by_rows: Vec<usize> = objectives
            .iter()
            .copied()
            .filter(|i| !own_rows || self.objectives[*i].linear.is_none())
            .collect();
        let mut values = vec![0.0; points.len() * m];
        let sums = self.sums_by_block(rows, &by_rows, &self.point_blocks(points))?;
        let mut slope = Vec::new();
        let mut means = Vec::new();
        for (index, point) in points.iter().enumerate() {
            let (block, lane) = (index / LANES, index % LANES);
            let mut offset = 0;
            for (place, &i) in objectives.iter().enumerate() {
                let prepared = &self.objectives[i];
                let objective = prepared.objective.as_ref();
                let k = objective.n_means();
                means.clear();
                if let (true, Some(linear)) = (own_rows, &prepared.linear) {
                    linear.means(point, &mut means);
                } else {
                    let divisor = weights[i].max(f64::MIN_POSITIVE);
                    let own = &sums[block][offset..offset + k];
                    means.extend(own.iter().map(|sum| sum[lane] / divisor));
                    offset += k;
                }
                slope.resize(k, 0.0);
                let value = objective.outer(&means, &mut slope[..k]);
                values[index * m + place] =
                    value + self.add_penalty(objective.penalty(), point, None);
            }
        }
        self.check(objectives)?;
        Ok(values)
    }

    /// Σ w · s of some objectives over all rows, one after the other, for each block of points.
    fn sums_by_block(
        &self,
        rows: &dyn RowSource,
        objectives: &[usize],
        point_blocks: &[Vec<Lanes>],
    ) -> Result<Vec<Vec<Lanes>>, Error> {
        if objectives.is_empty() {
            return Ok(vec![Vec::new(); point_blocks.len()]);
        }
        merged(rows, point_blocks.len(), |block, task| {
            self.task_sums(rows, objectives, &point_blocks[block], task)
        })
    }

    /// Parameters side by side, [`LANES`] points to a block, with the row of zeros at the end.
    fn point_blocks(&self, points: &Points) -> Vec<Vec<Lanes>> {
        let all: Vec<&[f64]> = points.iter().collect();
        all.chunks(LANES)
            .map(|block| self.side_by_side(block))
            .collect()
    }

    fn side_by_side(&self, block: &[&[f64]]) -> Vec<Lanes> {
        side_by_side(block, self.n_params)
    }

    fn task_sums(
        &self,
        rows: &dyn RowSource,
        objectives: &[usize],
        params: &[Lanes],
        task: usize,
    ) -> Result<Vec<Lanes>, Error> {
        let of = |i: &usize| self.objectives[*i].objective.as_ref();
        let n_means = objectives.iter().map(|i| of(i).n_means()).sum();
        let mut sums = vec![ZERO; n_means];
        let mut scores = [ZERO; TILE_ROWS];
        let mut outputs = Outputs::new();
        let first = task * BLOCKS_PER_TASK;
        for index in first..(first + BLOCKS_PER_TASK).min(rows.n_blocks()) {
            let block = rows.block(index)?;
            for tile in Rows::tiles(&block) {
                self.predictor.scores(&tile, params, &mut scores);
                outputs.forget();
                let mut rest = &mut sums[..];
                for objective in objectives.iter().map(of) {
                    let (own, others) = rest.split_at_mut(objective.n_means());
                    let outputs = outputs.find(objective.output(), &tile, &scores);
                    objective.add_sums(&tile, outputs, own);
                    rest = others;
                }
            }
        }
        self.check(objectives)?;
        Ok(sums)
    }

    /// Whether all that these objectives did on this thread went well.
    fn check(&self, objectives: &[usize]) -> Result<(), Error> {
        let of = |i: &usize| self.objectives[*i].objective.as_ref();
        objectives.iter().map(of).try_for_each(Objective::check)
    }
}

/// The parameters of up to [`LANES`] points side by side, and a row of zeros.
pub(crate) fn side_by_side(block: &[&[f64]], n_params: usize) -> Vec<Lanes> {
    let mut params = vec![ZERO; n_params + 1];
    for (lane, point) in block.iter().enumerate() {
        for (row, value) in params.iter_mut().zip(*point) {
            row[lane] = *value;
        }
    }
    params
}

impl LinearMeans {
    fn means(&self, point: &[f64], out: &mut Vec<f64>) {
        for (start, slope) in self.at_zero.iter().zip(&self.slopes) {
            let dot: f64 = slope.iter().zip(point).map(|(s, x)| s * x).sum();
            out.push(start + dot);
        }
    }
}

impl Problem for FairProblem {
    fn n_params(&self) -> usize {
        self.n_params
    }

    fn n_objectives(&self) -> usize {
        self.objectives.len()
    }

    fn n_rows(&self) -> usize {
        self.rows.n_rows()
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        let weights: Vec<f64> = self.objectives.iter().map(|o| o.weight).collect();
        self.values_with(self.rows.as_ref(), &weights, &self.every(), points)
    }

    fn values_of(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        let weights: Vec<f64> = self.objectives.iter().map(|o| o.weight).collect();
        self.values_with(self.rows.as_ref(), &weights, &[objective], points)
    }

    fn evaluate(&self, points: &Points) -> Result<(Vec<f64>, Gradients), Error> {
        let m = self.objectives.len();
        let by_rows = |i: &usize| self.objectives[*i].linear.is_none();
        let means = |i: &usize| self.objectives[*i].objective.is_mean();
        if !(0..m).filter(by_rows).all(|i| means(&i)) {
            return Ok((self.values(points)?, self.gradients(points, Batches::All)?));
        }
        let n = self.n_params;
        let mut values = vec![0.0; points.len() * m];
        let mut gradients = Gradients::zeros(m, points.len(), n);
        let all: Vec<&[f64]> = points.iter().collect();
        for (number, block) in all.chunks(LANES).enumerate() {
            let params = self.side_by_side(block);
            let first = number * LANES;
            for (i, prepared) in self.objectives.iter().enumerate() {
                let out = gradients.get_mut_many(i, first, block.len());
                let values = values.iter_mut().skip(first * m + i).step_by(m);
                if prepared.linear.is_none() {
                    self.evaluate_mean(i, block, &params, values, out)?;
                    continue;
                }
                self.block_gradient(i, block, &params, Batches::All, out)?;
                let points = Points::from_vec(n, block.concat());
                let found = self.values_of(i, &points)?;
                values.zip(found).for_each(|(value, found)| *value = found);
            }
        }
        Ok((values, gradients))
    }

    fn gradients_of(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        let n = self.n_params;
        let mut out = vec![0.0; points.len() * n];
        let all: Vec<&[f64]> = points.iter().collect();
        for (block, out) in all.chunks(LANES).zip(out.chunks_mut(LANES * n)) {
            let params = self.side_by_side(block);
            self.block_gradient(objective, block, &params, Batches::All, out)?;
        }
        Ok(out)
    }

    fn gradients(&self, points: &Points, batches: Batches) -> Result<Gradients, Error> {
        let m = self.objectives.len();
        let mut out = Gradients::zeros(m, points.len(), self.n_params);
        let all: Vec<&[f64]> = points.iter().collect();
        for (number, block) in all.chunks(LANES).enumerate() {
            let params = self.side_by_side(block);
            for index in 0..m {
                let first = number * LANES;
                let out = out.get_mut_many(index, first, block.len());
                self.block_gradient(index, block, &params, batches, out)?;
            }
        }
        Ok(out)
    }

    fn weighted(&self, points: &Points, weights: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        self.weighted_sums(points, weights)
    }

    fn metric(&self, at: &[f64]) -> Result<Metric, Error> {
        if let Some(stand_in) = &self.stand_in {
            return stand_in.metric(at);
        }
        let n = self.n_params;
        if let Some(SecondOrder { mut lower, .. }) = self.expansion(at)? {
            let trace: f64 = (0..n).map(|i| lower[i * n + i]).sum();
            for i in 0..n {
                lower[i * n + i] += 1e-8 * trace / n as f64;
            }
            if let Some(factor) = Cholesky::new(lower, n) {
                return Ok(Metric::Dense(factor));
            }
        }
        self.diagonal_metric(at)
    }

    fn minimiser(&self, stop: &StopSignal) -> Result<Option<Vec<f64>>, Error> {
        self.newton(None, stop)
    }

    fn minimiser_from(&self, near: &[f64], stop: &StopSignal) -> Result<Option<Vec<f64>>, Error> {
        self.newton(Some(near), stop)
    }

    fn start(&self, stop: &StopSignal) -> Result<Vec<f64>, Error> {
        let found = match &self.stand_in {
            Some(stand_in) => stand_in.newton(None, stop)?,
            None => None,
        };
        let mut start = found.unwrap_or_else(|| vec![0.0; self.n_params]);
        let shift = self.objectives.first().map(|o| o.objective.start_shift());
        let intercept = self.predictor.intercept(self.rows.schema());
        if let (Some(shift), Some(intercept)) = (shift, intercept)
            && shift != 0.0
        {
            start[intercept] += shift;
        }
        Ok(start)
    }

    fn softened(&self, factor: f64) -> Option<Box<dyn Problem + '_>> {
        let soft = |prepared: &Prepared| prepared.objective.softened(factor);
        let softened: Vec<_> = self.objectives.iter().map(soft).collect();
        if softened.iter().all(Option::is_none) {
            return None;
        }
        let pairs = self.objectives.iter().zip(softened);
        let objectives = pairs.map(|(prepared, softened)| match softened {
            Some(objective) => Prepared {
                objective: Arc::from(objective),
                ..prepared.clone()
            },
            None => prepared.clone(),
        });
        Some(Box::new(
            self.with(objectives.collect(), self.stand_in.clone()),
        ))
    }

    fn negligible(&self, objective: usize) -> f64 {
        self.objectives[objective].objective.negligible()
    }

    fn second_order(&self, point: &[f64]) -> Result<Option<SecondOrder>, Error> {
        self.expansion(point)
    }

    fn of_roots(&self, objective: usize, roots: &[f64]) -> OfRoots {
        self.objectives[objective].objective.of_roots(roots)
    }

    fn convex_below(&self, objective: usize) -> Option<f64> {
        let objective = self.objectives[objective].objective.as_ref();
        objective
            .convex_below()
            .filter(|_| self.predictor.is_linear())
    }

    fn bounds(&self, level: f64) -> Result<Option<Bounds>, Error> {
        self.bounds_at(level)
    }

    fn n_roots(&self, objective: usize) -> usize {
        self.objectives[objective].objective.n_roots()
    }

    fn roots(&self, objective: usize, point: &[f64]) -> Result<Roots, Error> {
        self.roots_at(objective, point)
    }

    fn root_size(&self, _objective: usize, point: &[f64]) -> Result<f64, Error> {
        self.score_size(point)
    }

    fn root_values(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        self.root_values_at(objective, points)
    }
}
