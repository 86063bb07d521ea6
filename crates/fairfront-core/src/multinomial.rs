//! Models of classes: one score per class.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::lanes::{Lanes, Real};
use crate::predictor::{Predictor, Rows, TILE_ROWS};
use crate::{Schema, engine};

/// `φ_c = wᵀ_c z + b_c` for each class c, `x = (w_1, …, w_k, b_1, …, b_k)`.
///
/// The decision is the class of the highest score, and the probabilities are `exp(φ_c) / Σ exp(φ_j)`. All
/// classes have coefficients, so that no class is special; the penalty, which applies to all w, makes them
/// unique. Adding a number to all scores changes nothing, so intercepts are unique up to a constant.
///
/// ```
/// use fairfront_core::{Classes, Multinomial, Predictor, Schema, Target};
///
/// let names = ["low", "mid", "high"].map(String::from).to_vec();
/// let schema = Schema {
///     numeric: vec!["age".into(), "hours".into()],
///     target: Target::Classes(Classes { names, ordered: true }),
///     ..Schema::default()
/// };
/// let predictor = Multinomial { n_classes: 3 };
/// assert_eq!((predictor.n_params(&schema), predictor.n_scores()), (9, 3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Multinomial {
    /// k.
    pub n_classes: usize,
}

impl Multinomial {
    /// The coefficients of a class among the parameters.
    pub fn coefficients(self, schema: &Schema, class: usize) -> Range<usize> {
        let n = schema.n_features();
        class * n..(class + 1) * n
    }

    /// The intercept of a class among the parameters.
    pub fn intercept_of(self, schema: &Schema, class: usize) -> usize {
        self.n_classes * schema.n_features() + class
    }

    /// The parameters of one class as those of a linear model: its coefficients, then its intercept.
    pub fn of_class(self, schema: &Schema, point: &[f64], class: usize) -> Vec<f64> {
        let mut own = point[self.coefficients(schema, class)].to_vec();
        own.push(point[self.intercept_of(schema, class)]);
        own
    }

    /// The same model with the mean of its intercepts at 0, which changes no decision and no probability.
    pub fn centered(self, point: &mut [f64]) {
        let first = point.len() - self.n_classes;
        let mean = point[first..].iter().sum::<f64>() / self.n_classes as f64;
        point[first..].iter_mut().for_each(|b| *b -= mean);
    }
}

impl Predictor for Multinomial {
    fn n_params(&self, schema: &Schema) -> usize {
        self.n_classes * (schema.n_features() + 1)
    }

    fn n_scores(&self) -> usize {
        self.n_classes
    }

    fn penalized(&self, schema: &Schema) -> Range<usize> {
        0..self.n_classes * schema.n_features()
    }

    fn names(&self, schema: &Schema) -> Vec<String> {
        let features = schema.feature_names();
        let classes = schema.target.classes();
        let classes = classes.map_or(&[][..], |classes| &classes.names);
        let coefficients = classes
            .iter()
            .flat_map(|class| features.iter().map(move |name| format!("{class}:{name}")));
        let intercepts = classes.iter().map(|class| format!("{class}:(intercept)"));
        let mut names: Vec<String> = coefficients.chain(intercepts).collect();
        // The last parameter has no name here.
        names.pop();
        names
    }

    fn scaled(&self, _schema: &Schema, point: &[f64], factor: f64) -> Option<Vec<f64>> {
        Some(point.iter().map(|x| factor * x).collect())
    }

    fn as_multinomial(&self) -> Option<Multinomial> {
        Some(*self)
    }

    fn scores(&self, rows: &Rows, params: &[Lanes], scores: &mut [Lanes]) {
        Tile::new(*self, params).scores(rows, scores);
    }

    fn pull_back(&self, rows: &Rows, params: &[Lanes], slopes: &[Lanes], gradients: &mut [Lanes]) {
        Tile::new(*self, params).pull_back(rows, slopes, gradients);
    }
}

/// The parameters of W points, class by class, for the kernels of linear models.
pub(crate) struct Tile<const W: usize, T> {
    /// For each class, its coefficients, its intercept and a row of zeros.
    of_classes: Vec<Vec<[T; W]>>,
}

impl<const W: usize, T: Real> Tile<W, T> {
    /// `params` are those of W points side by side, and a row of zeros.
    pub(crate) fn new(multinomial: Multinomial, params: &[[T; W]]) -> Self {
        let k = multinomial.n_classes;
        let n = (params.len() - 1) / k - 1;
        let of_class = |class: usize| {
            let mut own = params[class * n..(class + 1) * n].to_vec();
            own.push(params[k * n + class]);
            own.push([T::ZERO; W]);
            own
        };
        Self {
            of_classes: (0..k).map(of_class).collect(),
        }
    }

    /// Writes the scores of a tile class by class, [`TILE_ROWS`] each.
    pub(crate) fn scores(&self, rows: &Rows, scores: &mut [[T; W]]) {
        let of_classes = scores.chunks_exact_mut(TILE_ROWS);
        for (params, scores) in self.of_classes.iter().zip(of_classes) {
            engine::scores(rows, params, scores);
        }
    }

    /// Adds Σ slope · ∂φ/∂x over the rows and classes.
    pub(crate) fn pull_back(&self, rows: &Rows, slopes: &[[T; W]], gradients: &mut [[T; W]]) {
        let k = self.of_classes.len();
        let n = self.of_classes[0].len() - 2;
        let (coefficients, intercepts) = gradients.split_at_mut(k * n);
        for (class, slopes) in slopes.chunks_exact(TILE_ROWS).enumerate() {
            let own = &mut coefficients[class * n..(class + 1) * n];
            engine::add_inputs_of_class(rows, &slopes[..rows.len()], own, &mut intercepts[class]);
        }
    }
}
