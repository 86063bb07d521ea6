mod bound;
mod facet;
mod gradient;
mod root;
mod second_order;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use crate::Error;
use crate::engine::{Counts, Engine, Map, Over, Pass, Statistics, Wanted};
use crate::lanes::{Lanes, ZERO};
use crate::objective::{Means, Objective};
use crate::predictor::Predictor;
use crate::problem::{
    Batches, BoundFacet, Gradients, LossFacet, Points, Precision, Problem, RootFacet,
    SecondOrderFacet, TemperatureFacet,
};

/// The largest number of parameters for which dense second derivatives are used.
pub const MOST_DENSE: usize = 1_000;

/// A problem made of a predictor, objectives and an engine with rows. It computes values and
/// gradients for many points at once.
pub struct FairProblem {
    engine: Arc<dyn Engine>,
    predictor: Arc<dyn Predictor>,
    objectives: Vec<Prepared>,
    n_params: usize,
    /// The problem of a convex loss that stands in for the first objective, and the number to add to the
    /// intercept of its minimizer.
    stand_in: Option<(Arc<FairProblem>, f64)>,
    /// Computed on first use.
    label_means: OnceLock<[bound::LabelMean; 2]>,
}

/// An objective with the numbers that depend only on the rows.
#[derive(Clone)]
struct Prepared {
    objective: Arc<dyn Objective>,
    weights: Weights,
    /// With linear statistics and a linear predictor: means at x = 0, and the gradient of each.
    linear: Option<Arc<LinearMeans>>,
}

/// Weights of the rows that take part in an objective.
#[derive(Clone)]
struct Weights {
    /// Their total weight, never 0.
    total: f64,
    /// Their shares by label and group; empty for the caller's own statistics.
    shares: Vec<f64>,
    n_labels: usize,
}

impl Weights {
    fn new(statistics: &Statistics<'_>, weights: &[f64], n_labels: usize) -> Self {
        let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        Self {
            total,
            n_labels,
            shares: match statistics {
                Statistics::Own(_) => Vec::new(),
                Statistics::ByCell { .. } => weights.iter().map(|w| w / total).collect(),
            },
        }
    }

    /// The weights of a sample as estimates of the weights of all rows, which add up to `total`.
    fn with_total(&self, total: f64) -> Self {
        let factor = self.total / total;
        Self {
            total,
            n_labels: self.n_labels,
            shares: self.shares.iter().map(|share| share * factor).collect(),
        }
    }
}

struct LinearMeans {
    at_zero: Vec<f64>,
    /// For each mean, a vector of `n_params` values.
    slopes: Vec<Vec<f64>>,
}

/// Sums of the statistics of some objectives.
#[derive(Default)]
struct Sums {
    /// One entry per objective.
    weights: Vec<Weights>,
    /// Point by point, objective by objective.
    values: Vec<f64>,
    per_point: usize,
}

impl FairProblem {
    /// Makes a problem. The first objective is the loss: its minimizer is the unmitigated model.
    pub fn new(
        engine: Arc<dyn Engine>,
        predictor: Box<dyn Predictor>,
        objectives: Vec<Box<dyn Objective>>,
    ) -> Result<Self, Error> {
        let objectives = objectives.into_iter().map(Arc::from).collect();
        Self::of_shared(engine, Arc::from(predictor), objectives)
    }

    /// Makes a problem from a predictor and objectives that are shared with others.
    pub fn of_shared(
        engine: Arc<dyn Engine>,
        predictor: Arc<dyn Predictor>,
        objectives: Vec<Arc<dyn Objective>>,
    ) -> Result<Self, Error> {
        let mut problem = Self {
            n_params: predictor.n_params(engine.schema()),
            engine,
            predictor,
            objectives: Vec::new(),
            stand_in: None,
            label_means: OnceLock::new(),
        };
        for objective in objectives {
            let prepared = problem.prepare(objective)?;
            problem.objectives.push(prepared);
        }
        let first = problem.objectives.first();
        if let Some(stand_in) = first.and_then(|first| first.objective.stand_in()) {
            let prepared = problem.prepare(Arc::from(stand_in.objective))?;
            let loss = problem.with(vec![prepared], None);
            problem.stand_in = Some((Arc::new(loss), stand_in.shift));
        }
        Ok(problem)
    }

    /// A problem with other objectives and the same predictor and rows.
    fn with(&self, objectives: Vec<Prepared>, stand_in: Option<(Arc<Self>, f64)>) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            predictor: Arc::clone(&self.predictor),
            objectives,
            n_params: self.n_params,
            stand_in,
            label_means: OnceLock::new(),
        }
    }

    /// The predictor.
    pub fn predictor(&self) -> &dyn Predictor {
        self.predictor.as_ref()
    }

    /// The objectives, in order.
    pub fn objectives(&self) -> impl ExactSizeIterator<Item = &dyn Objective> {
        self.objectives.iter().map(|o| o.objective.as_ref())
    }

    /// For each objective, whether it is meaningful on these rows: at least two compared groups
    /// have weight among the rows on which it compares them.
    pub fn meaningful_on(&self, rows: &dyn Engine) -> Result<Vec<bool>, Error> {
        let mut meaningful = Vec::with_capacity(self.objectives.len());
        for objective in self.objectives() {
            let Some((attribute, _)) = objective.compares() else {
                meaningful.push(true);
                continue;
            };
            let counts = Counts::of(rows, Some(attribute))?;
            let attribute = &rows.schema().attributes[attribute];
            let has_weight =
                |group: usize, label: Option<f64>| counts.weight_of_label(group, label) > 0.0;
            let compared = |label: Option<f64>| {
                let small = attribute.small.with_label(label);
                let groups = (0..attribute.groups.len() as u32).filter(|g| !small.contains(g));
                groups.filter(|g| has_weight(*g as usize, label)).count()
            };
            meaningful.push(objective.labels().iter().all(|label| compared(*label) > 1));
        }
        Ok(meaningful)
    }

    /// Values of the objectives on other rows with the same schema.
    pub fn values_on(&self, rows: &dyn Engine, points: &Points) -> Result<Vec<f64>, Error> {
        self.values_with(rows, &self.every(), points)
    }

    fn every(&self) -> Vec<usize> {
        (0..self.objectives.len()).collect()
    }

    fn pass<'a>(&'a self, points: &'a Points, wanted: Wanted<'a>) -> Pass<'a> {
        Pass {
            map: Map::of(self.predictor.as_ref()),
            points: Cow::Borrowed(points),
            wanted,
            over: Over::All,
        }
    }

    fn weights(&self, statistics: &Statistics<'_>, weights: &[f64]) -> Weights {
        Weights::new(statistics, weights, self.engine.schema().target.n_labels())
    }

    fn prepare(&self, objective: Arc<dyn Objective>) -> Result<Prepared, Error> {
        let statistics = objective.statistics();
        let none = Points::new(self.n_params);
        let is_linear = statistics.are_linear() && self.predictor.as_linear().is_some();
        let (weights, linear) = if is_linear {
            let (weights, means) = self.linear_means(&statistics, Over::All)?;
            (weights, Some(Arc::new(means)))
        } else {
            let engine = self.engine.as_ref();
            let mut sums = self.sums_of(engine, &[statistics], &none, Over::All)?;
            (sums.weights.swap_remove(0), None)
        };
        Ok(Prepared {
            objective,
            weights,
            linear,
        })
    }

    /// For statistics that are linear in the score and a linear predictor, E[s] is affine in x, so
    /// that its value at 0 and its gradient determine it. Also returns the weights of the rows that
    /// take part.
    fn linear_means(
        &self,
        statistics: &Statistics<'_>,
        over: Over,
    ) -> Result<(Weights, LinearMeans), Error> {
        let n = self.n_params;
        let k = statistics.n_sums(self.engine.schema());
        let (weights, at_zero, gradients) = match statistics {
            Statistics::ByCell { cells, .. } => {
                let none = Points::new(n);
                let pass = Pass {
                    over,
                    ..self.pass(&none, Wanted::Linear { cells: *cells })
                };
                let mut found = self.engine.sum(&pass)?;
                let gradients = found.split_off(statistics.n_weights(self.engine.schema()));
                (self.weights(statistics, &found), vec![0.0; k], gradients)
            }
            Statistics::Own(_) => {
                let zero = Points::from_vec(n, vec![0.0; n]);
                let mut sums = self.sums_of(self.engine.as_ref(), &[*statistics], &zero, over)?;
                let zeros = Points::from_vec(n, vec![0.0; k * n]);
                let mut unit = vec![0.0; k * k];
                (0..k).for_each(|i| unit[i * k + i] = 1.0);
                let gradients = self.pull_back(&[*statistics], &zeros, &unit, over)?;
                (sums.weights.swap_remove(0), sums.values, gradients)
            }
        };
        let total = weights.total;
        let means = LinearMeans {
            at_zero: at_zero.iter().map(|s| s / total).collect(),
            slopes: gradients
                .chunks_exact(n)
                .map(|g| g.iter().map(|g| g / total).collect())
                .collect(),
        };
        Ok((weights, means))
    }

    /// Sums of statistics over rows of an engine.
    fn sums_of(
        &self,
        engine: &dyn Engine,
        statistics: &[Statistics<'_>],
        points: &Points,
        over: Over,
    ) -> Result<Sums, Error> {
        let schema = engine.schema();
        if statistics.is_empty() {
            return Ok(Sums::default());
        }
        let wanted = Wanted::Sums {
            statistics: Cow::Borrowed(statistics),
        };
        let pass = Pass {
            over,
            ..self.pass(points, wanted)
        };
        let mut values = engine.sum(&pass)?;
        let n_weights = statistics.iter().map(|s| s.n_weights(schema)).sum();
        let mut rest = values.split_off(n_weights);
        std::mem::swap(&mut values, &mut rest);
        let mut at = 0;
        let weights = statistics.iter().map(|s| {
            let own = &rest[at..at + s.n_weights(schema)];
            at += own.len();
            self.weights(s, own)
        });
        Ok(Sums {
            weights: weights.collect(),
            values,
            per_point: statistics.iter().map(|s| s.n_sums(schema)).sum(),
        })
    }

    /// For each point, the gradient of Σ slope · sum.
    fn pull_back(
        &self,
        statistics: &[Statistics<'_>],
        points: &Points,
        slopes: &[f64],
        over: Over,
    ) -> Result<Vec<f64>, Error> {
        let wanted = Wanted::Gradients {
            statistics: Cow::Borrowed(statistics),
            slopes: Cow::Borrowed(slopes),
        };
        let pass = Pass {
            over,
            ..self.pass(points, wanted)
        };
        self.engine.sum(&pass)
    }

    /// Returns the penalty and adds its gradient.
    fn add_penalty(&self, lambda: f64, point: &[f64], gradient: Option<&mut [f64]>) -> f64 {
        if lambda == 0.0 {
            return 0.0;
        }
        let range = self.predictor.penalized(self.engine.schema());
        let c = &point[range.clone()];
        if let Some(gradient) = gradient {
            for (g, c) in gradient[range].iter_mut().zip(c) {
                *g += lambda * c;
            }
        }
        0.5 * lambda * c.iter().map(|c| c * c).sum::<f64>()
    }

    fn statistics_of(&self, objectives: &[usize]) -> Vec<Statistics<'_>> {
        let of = |i: &usize| self.objectives[*i].objective.statistics();
        objectives.iter().map(of).collect()
    }

    fn values_with(
        &self,
        rows: &dyn Engine,
        objectives: &[usize],
        points: &Points,
    ) -> Result<Vec<f64>, Error> {
        let own_rows = std::ptr::addr_eq(std::ptr::from_ref(rows), Arc::as_ptr(&self.engine));
        let by_rows: Vec<usize> = objectives
            .iter()
            .copied()
            .filter(|i| !own_rows || self.objectives[*i].linear.is_none())
            .collect();
        let statistics = self.statistics_of(&by_rows);
        let sums = self.sums_of(rows, &statistics, points, Over::All)?;
        let mut values = Vec::with_capacity(points.len() * objectives.len());
        let (mut means, mut slope) = (Vec::new(), Vec::new());
        for (index, point) in points.iter().enumerate() {
            let mut rest = &sums.values[index * sums.per_point..(index + 1) * sums.per_point];
            let mut weights = sums.weights.iter();
            for &i in objectives {
                let prepared = &self.objectives[i];
                means.clear();
                let mut of_rows = &prepared.weights;
                if let (true, Some(linear)) = (own_rows, &prepared.linear) {
                    linear.means(point, &mut means);
                } else if let Some(weights) = weights.next() {
                    let k = prepared.n_means(rows);
                    means.extend(rest[..k].iter().map(|sum| sum / weights.total));
                    rest = &rest[k..];
                    of_rows = weights;
                }
                slope.clear();
                slope.resize(means.len(), 0.0);
                let value = prepared.outer(&means, of_rows, &mut slope)?;
                let penalty = prepared.objective.penalty();
                values.push(value + self.add_penalty(penalty, point, None));
            }
        }
        Ok(values)
    }
}

impl Prepared {
    fn n_means(&self, engine: &dyn Engine) -> usize {
        self.objective.statistics().n_sums(engine.schema())
    }

    fn outer(&self, means: &[f64], weights: &Weights, slope: &mut [f64]) -> Result<f64, Error> {
        let means = Means {
            values: means,
            shares: &weights.shares,
            n_labels: weights.n_labels,
        };
        self.objective.outer(&means, slope)
    }

    /// h and its slopes at the means of a point, which need no rows.
    fn of_linear(
        &self,
        linear: &LinearMeans,
        weights: &Weights,
        point: &[f64],
    ) -> Result<(f64, Vec<f64>), Error> {
        let mut means = Vec::with_capacity(linear.at_zero.len());
        linear.means(point, &mut means);
        let mut slope = vec![0.0; means.len()];
        let value = self.outer(&means, weights, &mut slope)?;
        Ok((value, slope))
    }

    /// Gradients at many points, one after the other, from means that need no rows.
    fn linear_gradients(
        &self,
        linear: &LinearMeans,
        weights: &Weights,
        points: &Points,
    ) -> Result<Vec<f64>, Error> {
        let n = points.n_params();
        let mut gradients = vec![0.0; points.len() * n];
        for (point, gradient) in points.iter().zip(gradients.chunks_exact_mut(n)) {
            let (_, slope) = self.of_linear(linear, weights, point)?;
            linear.add_gradient(&slope, 1.0, gradient);
        }
        Ok(gradients)
    }

    /// h with all means at 0, and its slopes, which are the same everywhere.
    fn affine(&self) -> Result<(f64, Vec<f64>), Error> {
        let k = match self.objective.statistics() {
            Statistics::Own(own) => own.n_means(),
            Statistics::ByCell { cells, .. } => {
                cells.labels.len() * self.weights.shares.len() / self.weights.n_labels
            }
        };
        let mut slope = vec![0.0; k];
        let offset = self.outer(&vec![0.0; k], &self.weights, &mut slope)?;
        Ok((offset, slope))
    }
}

/// The parameters of up to [`LANES`](crate::LANES) points side by side, and a row of zeros.
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

    fn scale(&mut self, factor: f64) {
        let slopes = self.slopes.iter_mut().flatten();
        slopes
            .chain(&mut self.at_zero)
            .for_each(|mean| *mean *= factor);
    }

    /// Adds weight · Σ slope · ∇mean.
    fn add_gradient(&self, slope: &[f64], weight: f64, gradient: &mut [f64]) {
        for (s, direction) in slope.iter().zip(&self.slopes) {
            let pairs = gradient.iter_mut().zip(direction);
            pairs.for_each(|(g, d)| *g += weight * s * d);
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

    fn n_rows(&self) -> u64 {
        self.engine.n_rows()
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        self.values_with(self.engine.as_ref(), &self.every(), points)
    }

    fn values_of(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        self.values_with(self.engine.as_ref(), &[objective], points)
    }

    fn evaluate(&self, points: &Points) -> Result<(Vec<f64>, Gradients), Error> {
        let m = self.objectives.len();
        let mut values = vec![0.0; points.len() * m];
        let mut gradients = Gradients::zeros(m, points.len(), self.n_params);
        for index in 0..m {
            let (of_points, found) = self.evaluate_one(index, points)?;
            let own = values.iter_mut().skip(index).step_by(m);
            own.zip(of_points).for_each(|(value, found)| *value = found);
            gradients
                .get_mut_many(index, 0, points.len())
                .copy_from_slice(&found);
        }
        Ok((values, gradients))
    }

    fn gradients_of(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        self.gradient(objective, points, Batches::All)
    }

    fn gradients(&self, points: &Points, batches: Batches) -> Result<Gradients, Error> {
        let m = self.objectives.len();
        let mut out = Gradients::zeros(m, points.len(), self.n_params);
        for index in 0..m {
            let found = self.gradient(index, points, batches)?;
            out.get_mut_many(index, 0, points.len())
                .copy_from_slice(&found);
        }
        Ok(out)
    }

    fn weighted(
        &self,
        points: &Points,
        weights: &[f64],
        precision: Precision,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        if precision == Precision::Rough {
            let rough = self.weighted_sums(points, weights, Over::AllRoughly)?;
            if rough.0.iter().chain(&rough.1).all(|v| v.is_finite()) {
                return Ok(rough);
            }
        }
        self.weighted_sums(points, weights, Over::All)
    }

    fn negligible(&self, objective: usize) -> f64 {
        self.objectives[objective].objective.negligible()
    }

    fn loss(&self) -> Option<&dyn LossFacet> {
        Some(self)
    }

    fn second_order(&self) -> Option<&dyn SecondOrderFacet> {
        (self.n_params <= MOST_DENSE && self.is_expandable()).then_some(self)
    }

    fn bound(&self) -> Option<&dyn BoundFacet> {
        self.predictor.as_linear().map(|_| self as &dyn BoundFacet)
    }

    fn roots(&self) -> Option<&dyn RootFacet> {
        let mut objectives = self.objectives();
        objectives
            .any(|objective| objective.squares().is_some())
            .then_some(self)
    }

    fn temperature(&self) -> Option<&dyn TemperatureFacet> {
        let mut objectives = self.objectives();
        objectives
            .any(|objective| objective.temperature().is_some())
            .then_some(self)
    }
}
