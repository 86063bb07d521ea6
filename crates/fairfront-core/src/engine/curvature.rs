//! Sums of value, gradient and second derivatives over rows.

use super::pass::Form;

/// Sums over rows of a loss, its slopes and its curvatures.
pub(super) struct SecondOrderSums {
    pub(super) value: f64,
    /// One entry more than there are parameters, for features without a parameter.
    gradient: Vec<f64>,
    /// (n + 1)² numbers, each pair of features in one of its two places; or the diagonal.
    hessian: Vec<f64>,
    form: Form,
}

impl SecondOrderSums {
    pub(super) fn new(n: usize, form: Form) -> Self {
        let size = match form {
            Form::Dense => (n + 1) * (n + 1),
            Form::Diagonal => n + 1,
        };
        Self {
            value: 0.0,
            gradient: vec![0.0; n + 1],
            hessian: vec![0.0; size],
            form,
        }
    }

    /// Adds a row: numbers first among the features, then codes, then the intercept.
    pub(super) fn add_row(&mut self, numeric: &[f64], codes: &[u32], slope: f64, curvature: f64) {
        let n = self.gradient.len();
        let intercept = n - 2;
        for (sum, z) in self.gradient.iter_mut().zip(numeric) {
            *sum += slope * z;
        }
        for code in codes {
            self.gradient[*code as usize] += slope;
        }
        self.gradient[intercept] += slope;
        if self.form == Form::Diagonal {
            for (sum, z) in self.hessian.iter_mut().zip(numeric) {
                *sum += curvature * z * z;
            }
            for code in codes {
                self.hessian[*code as usize] += curvature;
            }
            self.hessian[intercept] += curvature;
            return;
        }
        for (a, z) in numeric.iter().enumerate() {
            let weighted = curvature * z;
            for (sum, z) in self.hessian[a * n..=a * n + a].iter_mut().zip(numeric) {
                *sum += weighted * z;
            }
            self.hessian[intercept * n + a] += weighted;
        }
        for (k, code) in codes.iter().enumerate() {
            let i = *code as usize;
            let row = &mut self.hessian[i * n..(i + 1) * n];
            for (sum, z) in row.iter_mut().zip(numeric) {
                *sum += curvature * z;
            }
            for other in &codes[..=k] {
                row[*other as usize] += curvature;
            }
        }
        self.hessian[intercept * n + intercept] += curvature;
    }

    /// Adds the products of categories with the intercept. A category is 1 or 0, so its product
    /// with the constant 1 is its square.
    pub(super) fn add_constants(&mut self, n_numeric: usize) {
        let n = self.gradient.len();
        let intercept = n - 2;
        if self.form == Form::Dense {
            for category in n_numeric..intercept {
                self.hessian[intercept * n + category] += self.hessian[category * n + category];
            }
        }
    }

    pub(super) fn add_features(&mut self, features: &[f64], slope: f64, curvature: f64) {
        let n = self.gradient.len();
        for (a, z) in features.iter().enumerate() {
            self.gradient[a] += slope * z;
            match self.form {
                Form::Diagonal => self.hessian[a] += curvature * z * z,
                Form::Dense => {
                    let row = &mut self.hessian[a * n..=a * n + a];
                    for (sum, other) in row.iter_mut().zip(features) {
                        *sum += curvature * z * other;
                    }
                }
            }
        }
    }

    /// Value, gradient and second derivatives, without the feature that has no parameter.
    pub(super) fn write(&self, out: &mut Vec<f64>) {
        let n = self.gradient.len() - 1;
        out.push(self.value);
        out.extend_from_slice(&self.gradient[..n]);
        match self.form {
            Form::Diagonal => out.extend_from_slice(&self.hessian[..n]),
            Form::Dense => {
                for row in self.hessian.chunks_exact(n + 1).take(n) {
                    out.extend_from_slice(&row[..n]);
                }
            }
        }
    }
}
