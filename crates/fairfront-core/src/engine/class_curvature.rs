//! Sums of value, gradient and second derivatives of the log loss of classes over rows.

use super::class::softmax;
use super::pass::Form;
use crate::predictor::{Predictor, Rows, TILE_ROWS};
use crate::{Multinomial, Schema};

/// Sums over rows of `log Σ exp(φ_c) − φ_y` and its derivatives.
pub(super) struct ClassCurvature {
    n_classes: usize,
    n_features: usize,
    form: Form,
    value: f64,
    gradient: Vec<f64>,
    /// A matrix, each pair of parameters in one of its two places; or the diagonal.
    hessian: Vec<f64>,
    smooth: Vec<[f64; 1]>,
    /// The features of a row that are not 0, with the constant 1 for the intercept last.
    features: Vec<(usize, f64)>,
}

impl ClassCurvature {
    pub(super) fn new(map: Multinomial, schema: &Schema, form: Form) -> Self {
        let n = map.n_params(schema);
        Self {
            n_classes: map.n_classes,
            n_features: schema.n_features(),
            form,
            value: 0.0,
            gradient: vec![0.0; n],
            hessian: match form {
                Form::Dense => vec![0.0; n * n],
                Form::Diagonal => vec![0.0; n],
            },
            smooth: vec![[0.0]; TILE_ROWS * map.n_classes],
            features: Vec::new(),
        }
    }

    /// Adds the rows of a tile. Scores are stored class by class.
    pub(super) fn add(&mut self, rows: &Rows, scores: &[[f64; 1]]) {
        let mut smooth = std::mem::take(&mut self.smooth);
        softmax(rows.len(), 1.0, scores, &mut smooth);
        let (n, d, k) = (self.gradient.len(), self.n_features, self.n_classes);
        // The parameter of a class that belongs to a feature, or to the intercept.
        let parameter = |class: usize, feature: usize| match feature == d {
            true => k * d + class,
            false => class * d + feature,
        };
        for row in 0..rows.len() {
            let (label, w) = (rows.labels()[row] as usize, rows.weights()[row]);
            let p = |class: usize| smooth[class * TILE_ROWS + row][0];
            self.find_features(rows, row);
            self.value += w * loss(scores, row, k, label);
            for class in 0..k {
                let slope = w * (p(class) - f64::from(u8::from(class == label)));
                for (feature, z) in &self.features {
                    self.gradient[parameter(class, *feature)] += slope * z;
                }
                let own = w * p(class) * (1.0 - p(class));
                if self.form == Form::Diagonal {
                    for (feature, z) in &self.features {
                        self.hessian[parameter(class, *feature)] += own * z * z;
                    }
                    continue;
                }
                for (a, (feature, z)) in self.features.iter().enumerate() {
                    let place = parameter(class, *feature) * n;
                    for (other, y) in &self.features[..=a] {
                        self.hessian[place + parameter(class, *other)] += own * z * y;
                    }
                }
                for earlier in 0..class {
                    let both = -w * p(class) * p(earlier);
                    for (feature, z) in &self.features {
                        let place = parameter(class, *feature) * n;
                        let weighted = both * z;
                        for (other, y) in &self.features {
                            self.hessian[place + parameter(earlier, *other)] += weighted * y;
                        }
                    }
                }
            }
        }
        self.smooth = smooth;
    }

    /// Finds the features of a row that are not 0.
    fn find_features(&mut self, rows: &Rows, row: usize) {
        self.features.clear();
        let numeric = rows.numeric(row).iter().copied().enumerate();
        self.features.extend(numeric.filter(|(_, z)| *z != 0.0));
        let codes = rows.codes(row).iter().map(|code| *code as usize);
        // A category without a parameter has a code past all features.
        let known = codes.filter(|code| *code < self.n_features);
        self.features.extend(known.map(|code| (code, 1.0)));
        self.features.push((self.n_features, 1.0));
    }

    pub(super) fn write(&self, out: &mut Vec<f64>) {
        out.push(self.value);
        out.extend_from_slice(&self.gradient);
        out.extend_from_slice(&self.hessian);
    }
}

/// `log Σ exp(φ_c) − φ_y`.
fn loss(scores: &[[f64; 1]], row: usize, n_classes: usize, label: usize) -> f64 {
    let score = |class: usize| scores[class * TILE_ROWS + row][0];
    let high = (0..n_classes).map(score).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = (0..n_classes).map(|c| libm::exp(score(c) - high)).sum();
    high - score(label) + libm::log(sum)
}
