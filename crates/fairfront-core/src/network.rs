//! Scores of a network with one hidden layer.

#![expect(
    clippy::inline_always,
    reason = "kernels must be compiled for the instruction set of their callers"
)]

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::engine::add_inputs;
use crate::lanes::{Lanes, Real, ZERO, tanh, vectorized};
use crate::predictor::{Predictor, Rows, TILE_ROWS};
use crate::{Purpose, Schema, Stream};

/// The largest number of hidden units.
pub const MOST_HIDDEN: u32 = 1_024;

/// How far an embedded linear score enters the curved part of its hidden unit: φ = tanh(Eφ) / E.
/// Scores up to 2 then change by at most 8%, and the weight of the unit, 1 / E, stays moderate.
const EMBEDDED: f64 = 0.25;

/// φ(z) = vᵀ tanh(Wz + a) + b, x = (W by hidden unit, v, a, b): a network with one hidden layer.
///
/// The hyperbolic tangent has derivatives of every order, so that objectives stay smooth, which
/// stochastic multi-gradients and quasi-Newton methods require; a rectifier has none at its kink.
/// It is odd and linear close to 0, so that a network contains nearly linear models. The penalty
/// applies to W and v, which come first, but not to the biases a and b. With all weights at 0, the
/// gradients of W and v are 0, so solvers start elsewhere.
///
/// ```
/// use fairfront_core::{Network, Predictor, Schema};
///
/// let schema = Schema {
///     numeric: vec!["age".into(), "hours".into()],
///     categorical: Vec::new(),
///     attributes: Vec::new(),
///     target: fairfront_core::Target::Binary,
///     hidden: 3,
/// };
/// // Six weights of hidden units, three of the output, and four biases.
/// assert_eq!(Network { hidden: 3 }.n_params(&schema), 13);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Number of hidden units.
    pub hidden: usize,
}

/// The parts of the parameters of a network.
#[derive(Clone, Copy)]
struct Layout {
    hidden: usize,
    n_features: usize,
}

impl Layout {
    /// W of a hidden unit.
    #[inline(always)]
    fn weights(self, unit: usize) -> Range<usize> {
        unit * self.n_features..(unit + 1) * self.n_features
    }

    /// v of a hidden unit.
    #[inline(always)]
    fn output(self, unit: usize) -> usize {
        self.hidden * self.n_features + unit
    }

    /// a of a hidden unit.
    #[inline(always)]
    fn bias(self, unit: usize) -> usize {
        self.hidden * (self.n_features + 1) + unit
    }

    /// b.
    #[inline(always)]
    fn intercept(self) -> usize {
        self.hidden * (self.n_features + 2)
    }

    fn n_params(self) -> usize {
        self.intercept() + 1
    }

    /// The layout of parameters side by side, which end with b and a row of zeros.
    fn of_rows(hidden: usize, n: usize) -> Self {
        Self {
            hidden,
            n_features: ((n - 2) / hidden.max(1)).saturating_sub(2),
        }
    }
}

impl Network {
    fn layout(self, schema: &Schema) -> Layout {
        Layout {
            hidden: self.hidden,
            n_features: schema.n_features(),
        }
    }

    /// A random point, the same for the same number. Each hidden unit has inputs of size about 1,
    /// if numeric features have a standard deviation of 1, and so has the score.
    fn random(self, schema: &Schema, number: u64) -> Vec<f64> {
        let layout = self.layout(schema);
        let mut random = Stream::new(0, Purpose::Network, [number, 0]);
        // Every row has this many features that are not 0.
        let inputs = schema.numeric.len() + schema.categorical.len();
        let inner = 1.0 / (inputs.max(1) as f64).sqrt();
        let outer = 1.0 / (self.hidden.max(1) as f64).sqrt();
        let mut point = vec![0.0; layout.n_params()];
        let (weights, rest) = point.split_at_mut(layout.output(0));
        weights
            .iter_mut()
            .for_each(|w| *w = inner * random.normal());
        let (outputs, biases) = rest.split_at_mut(self.hidden);
        outputs
            .iter_mut()
            .for_each(|v| *v = outer * random.normal());
        biases[..self.hidden]
            .iter_mut()
            .for_each(|a| *a = 0.5 * random.normal());
        point
    }

    /// A network with the decisions of a linear model x = (c, b): its first hidden unit computes
    /// the score, nearly unchanged as long as it is small. The other units have random inputs,
    /// the same for the same number, and no effect yet; a descent can give them one.
    ///
    /// Returns `None` without hidden units, or if the model does not fit the schema.
    pub fn embed(self, schema: &Schema, linear: &[f64], number: u64) -> Option<Vec<f64>> {
        let layout = self.layout(schema);
        let (intercept, coefficients) = linear.split_last()?;
        if self.hidden == 0 || coefficients.len() != layout.n_features {
            return None;
        }
        let mut point = self.random(schema, number);
        for (weight, coefficient) in point[layout.weights(0)].iter_mut().zip(coefficients) {
            *weight = EMBEDDED * coefficient;
        }
        point[layout.output(0)..layout.bias(0)].fill(0.0);
        point[layout.output(0)] = 1.0 / EMBEDDED;
        point[layout.bias(0)] = EMBEDDED * intercept;
        Some(point)
    }

    /// The activations of all hidden units, row by row, for one point.
    pub fn activations(self, rows: &Rows, point: &[f64]) -> Vec<Vec<f64>> {
        let params: Vec<[f64; 1]> = point.iter().chain([&0.0]).map(|x| [*x]).collect();
        let mut activations = vec![[0.0]; self.hidden * TILE_ROWS];
        activate(self, rows, &params, &mut activations);
        let row = |r: usize| (0..self.hidden).map(move |k| k * TILE_ROWS + r);
        let activations = &activations;
        (0..rows.len())
            .map(|r| row(r).map(|at| activations[at][0]).collect())
            .collect()
    }

    /// The same network with other weights and bias of its output: (v, b).
    pub fn with_output(self, schema: &Schema, point: &[f64], output: &[f64]) -> Vec<f64> {
        let layout = self.layout(schema);
        let mut point = point.to_vec();
        let (weights, bias) = output.split_at(self.hidden.min(output.len()));
        for (unit, weight) in weights.iter().enumerate() {
            point[layout.output(unit)] = *weight;
        }
        if let (Some(last), [bias]) = (point.last_mut(), bias) {
            *last = *bias;
        }
        point
    }
}

impl Predictor for Network {
    fn n_params(&self, schema: &Schema) -> usize {
        self.layout(schema).n_params()
    }

    fn penalized(&self, schema: &Schema) -> Range<usize> {
        0..self.layout(schema).bias(0)
    }

    fn intercept(&self, schema: &Schema) -> Option<usize> {
        Some(self.layout(schema).intercept())
    }

    fn names(&self, schema: &Schema) -> Vec<String> {
        let features = schema.feature_names();
        let weights = (1..=self.hidden)
            .flat_map(|unit| features.iter().map(move |name| format!("{unit}:{name}")));
        let outputs = (1..=self.hidden).map(|unit| format!("{unit}:(output)"));
        let biases = (1..=self.hidden).map(|unit| format!("{unit}:(bias)"));
        weights.chain(outputs).chain(biases).collect()
    }

    fn start(&self, schema: &Schema) -> Vec<f64> {
        self.random(schema, 0)
    }

    fn starts(&self, schema: &Schema, most: usize) -> Vec<Vec<f64>> {
        (0..most.max(1) as u64)
            .map(|number| self.random(schema, number))
            .collect()
    }

    fn scaled(&self, schema: &Schema, point: &[f64], factor: f64) -> Option<Vec<f64>> {
        let layout = self.layout(schema);
        let mut point = point.to_vec();
        point[layout.output(0)..layout.bias(0)]
            .iter_mut()
            .for_each(|v| *v *= factor);
        point[layout.intercept()] *= factor;
        Some(point)
    }

    fn as_network(&self) -> Option<Network> {
        Some(*self)
    }

    fn scores(&self, rows: &Rows, params: &[Lanes], scores: &mut [Lanes]) {
        let mut activations = vec![ZERO; self.hidden * TILE_ROWS];
        activate(*self, rows, params, &mut activations);
        combine(*self, rows.len(), params, &activations, scores);
    }

    fn pull_back(&self, rows: &Rows, params: &[Lanes], slopes: &[Lanes], gradients: &mut [Lanes]) {
        let mut activations = vec![ZERO; self.hidden * TILE_ROWS];
        activate(*self, rows, params, &mut activations);
        pull_back(*self, rows, params, &activations, slopes, gradients);
    }
}

/// Activations of a tile for W points, and the scores and gradients that follow from them.
pub(crate) struct Tile<const W: usize, T> {
    network: Network,
    params: Vec<[T; W]>,
    /// Hidden unit by hidden unit, [`TILE_ROWS`] each.
    activations: Vec<[T; W]>,
}

impl<const W: usize, T: Real> Tile<W, T> {
    /// `params` are those of W points side by side, and a row of zeros.
    pub(crate) fn new(network: Network, params: Vec<[T; W]>) -> Self {
        Self {
            activations: vec![[T::ZERO; W]; network.hidden * TILE_ROWS],
            network,
            params,
        }
    }

    pub(crate) fn scores(&mut self, rows: &Rows, scores: &mut [[T; W]]) {
        activate(self.network, rows, &self.params, &mut self.activations);
        let activations = &self.activations;
        combine(self.network, rows.len(), &self.params, activations, scores);
    }

    /// Adds Σ slope · ∂φ/∂x over the rows of the latest call of `scores`.
    pub(crate) fn pull_back(&self, rows: &Rows, slopes: &[[T; W]], gradients: &mut [[T; W]]) {
        let activations = &self.activations;
        pull_back(
            self.network,
            rows,
            &self.params,
            activations,
            slopes,
            gradients,
        );
    }
}

/// Number of rows whose inputs for a single point are summed side by side.
const ROWS_AS_LANES: usize = 8;

vectorized! {
    /// tanh(Wz + a) of every hidden unit and row.
    fn activate<const W: usize, T: Real>(
        network: Network,
        rows: &Rows,
        params: &[[T; W]],
        activations: &mut [[T; W]],
    ) {
        let layout = Layout::of_rows(network.hidden, params.len());
        for (unit, out) in activations.chunks_exact_mut(TILE_ROWS).enumerate() {
            let weights = &params[layout.weights(unit)];
            let bias = &params[layout.bias(unit)];
            if W == 1 {
                let mut first = 0;
                while first < rows.len() {
                    let n = ROWS_AS_LANES.min(rows.len() - first);
                    let mut sums = [bias[0]; ROWS_AS_LANES];
                    // Rows past the last one repeat it; their results are discarded.
                    let row = |r: usize| first + r.min(n - 1);
                    let numeric: [&[f64]; ROWS_AS_LANES] =
                        std::array::from_fn(|r| rows.numeric(row(r)));
                    for (j, weight) in weights[..numeric[0].len()].iter().enumerate() {
                        for (sum, z) in sums.iter_mut().zip(&numeric) {
                            *sum += T::of(z[j]) * weight[0];
                        }
                    }
                    let codes: [&[u32]; ROWS_AS_LANES] =
                        std::array::from_fn(|r| rows.codes(row(r)));
                    for j in 0..codes[0].len() {
                        for (sum, codes) in sums.iter_mut().zip(&codes) {
                            // A category without a parameter has a code past all features.
                            let weight = weights.get(codes[j] as usize);
                            *sum += weight.map_or(T::ZERO, |weight| weight[0]);
                        }
                    }
                    for sum in &mut sums {
                        *sum = tanh(*sum);
                    }
                    for r in 0..n {
                        out[first + r][0] = sums[r];
                    }
                    first += n;
                }
                continue;
            }
            for (r, out) in out[..rows.len()].iter_mut().enumerate() {
                let mut sum = *bias;
                for (z, weight) in rows.numeric(r).iter().zip(weights) {
                    let z = T::of(*z);
                    for p in 0..W {
                        sum[p] += z * weight[p];
                    }
                }
                for code in rows.codes(r) {
                    if let Some(weight) = weights.get(*code as usize) {
                        for p in 0..W {
                            sum[p] += weight[p];
                        }
                    }
                }
                for p in 0..W {
                    out[p] = tanh(sum[p]);
                }
            }
        }
    }
}

vectorized! {
    /// Scores from activations.
    fn combine<const W: usize, T: Real>(
        network: Network,
        n_rows: usize,
        params: &[[T; W]],
        activations: &[[T; W]],
        scores: &mut [[T; W]],
    ) {
        let layout = Layout::of_rows(network.hidden, params.len());
        scores[..n_rows].fill(params[layout.intercept()]);
        for (unit, of_unit) in activations.chunks_exact(TILE_ROWS).enumerate() {
            let v = &params[layout.output(unit)];
            for (score, activation) in scores[..n_rows].iter_mut().zip(of_unit) {
                for p in 0..W {
                    score[p] += v[p] * activation[p];
                }
            }
        }
    }
}

vectorized! {
    /// Adds Σ slope · ∂φ/∂x over the rows.
    fn pull_back<const W: usize, T: Real>(
        network: Network,
        rows: &Rows,
        params: &[[T; W]],
        activations: &[[T; W]],
        slopes: &[[T; W]],
        gradients: &mut [[T; W]],
    ) {
        let layout = Layout::of_rows(network.hidden, params.len());
        let slopes = &slopes[..rows.len()];
        let mut total = [T::ZERO; W];
        for slope in slopes {
            for p in 0..W {
                total[p] += slope[p];
            }
        }
        for p in 0..W {
            gradients[layout.intercept()][p] += total[p];
        }
        let mut inner = [[T::ZERO; W]; TILE_ROWS];
        for (unit, of_unit) in activations.chunks_exact(TILE_ROWS).enumerate() {
            let v = params[layout.output(unit)];
            let mut of_v = [T::ZERO; W];
            for ((slope, activation), inner) in slopes.iter().zip(of_unit).zip(&mut inner) {
                for p in 0..W {
                    of_v[p] += slope[p] * activation[p];
                    inner[p] = slope[p] * v[p] * (T::ONE - activation[p] * activation[p]);
                }
            }
            for p in 0..W {
                gradients[layout.output(unit)][p] += of_v[p];
            }
            let (weights, biases) = gradients.split_at_mut(layout.output(0));
            let bias = &mut biases[layout.bias(unit) - layout.output(0)];
            add_inputs(rows, &inner[..slopes.len()], &mut weights[layout.weights(unit)], bias);
        }
    }
}
