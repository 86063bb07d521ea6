use fairfront_core::SecondOrder;

use crate::descend::dot;
use crate::trace::kkt::Kkt;

/// The inverse of the Hessian in a quadratic model.
pub(super) enum Curvature {
    /// From exact second derivatives of the loss.
    Exact(Box<Kkt>),
    /// Learned from gradients of the Lagrangian; symmetric, stored row by row.
    Learned {
        inverse: Vec<f64>,
        /// Whether it is still the identity, with nothing learned, not even the scale.
        is_new: bool,
    },
}

impl Curvature {
    /// The identity.
    pub(super) fn identity(n: usize) -> Self {
        let mut inverse = vec![0.0; n * n];
        inverse.iter_mut().step_by(n + 1).for_each(|d| *d = 1.0);
        Self::Learned {
            inverse,
            is_new: true,
        }
    }

    /// Creates a curvature from second derivatives; `None` if they are not finite.
    pub(super) fn exact(of: &SecondOrder) -> Option<Self> {
        let kkt = Kkt::new(&of.lower, of.gradient.len(), &[])?;
        Some(Self::Exact(Box::new(kkt)))
    }

    /// The inverse times a vector.
    pub(super) fn solve(&self, vector: &[f64]) -> Vec<f64> {
        match self {
            Self::Exact(kkt) => {
                let mut solved = vector.to_vec();
                kkt.solve(&mut solved);
                solved
            }
            Self::Learned { inverse, .. } => inverse
                .chunks_exact(vector.len())
                .map(|row| dot(row, vector))
                .collect(),
        }
    }

    /// Whether it has learned from gradients.
    pub(super) fn has_learned(&self) -> bool {
        matches!(self, Self::Learned { is_new: false, .. })
    }

    /// Learns from a step that changed the gradient of the Lagrangian, where `expected` is the
    /// change that this curvature predicted. BFGS with Powell's damping keeps the matrix positive
    /// definite even if the Lagrangian is not convex.
    pub(super) fn learn(&mut self, step: &[f64], change: &[f64], expected: &[f64]) {
        let Self::Learned { inverse, is_new } = self else {
            return;
        };
        let n = step.len();
        let (seen, foretold) = (dot(step, change), dot(step, expected));
        let damping = match seen < 0.2 * foretold {
            true => 0.8 * foretold / (foretold - seen),
            false => 1.0,
        };
        let change: Vec<f64> = (change.iter().zip(expected))
            .map(|(y, b)| damping * y + (1.0 - damping) * b)
            .collect();
        let product = dot(step, &change);
        let scale = product / dot(&change, &change);
        if !(product > 0.0 && scale > 0.0 && scale.is_finite()) {
            return;
        }
        if *is_new {
            inverse.iter_mut().for_each(|h| *h *= scale);
            *is_new = false;
        }
        let solved: Vec<f64> = inverse
            .chunks_exact(n)
            .map(|row| dot(row, &change))
            .collect();
        let factor = (1.0 + dot(&change, &solved) / product) / product;
        for (i, row) in inverse.chunks_exact_mut(n).enumerate() {
            for (j, h) in row.iter_mut().enumerate() {
                // The same expression for both entries of a pair keeps the matrix symmetric.
                let cross = solved[i] * step[j] + step[i] * solved[j];
                *h += factor * (step[i] * step[j]) - cross / product;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a step, the inverse maps the change of the gradient to the step, and stays positive
    /// definite for any change.
    #[test]
    fn curvature_reproduces_the_last_step() {
        let mut curvature = Curvature::identity(3);
        let (step, change) = ([1.0, 2.0, -1.0], [3.0, 1.0, -2.0]);
        curvature.learn(&step, &change, &step);
        for (a, b) in curvature.solve(&change).iter().zip(step) {
            assert!((a - b).abs() < 1e-14);
        }
        // The change that this curvature predicts for the second step is that of the first.
        curvature.learn(&step, &[-3.0, -1.0, 2.0], &change);
        for v in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], change] {
            assert!(dot(&v, &curvature.solve(&v)) > 0.0);
        }
        let before = curvature.solve(&change);
        curvature.learn(&[0.0; 3], &[0.0; 3], &[0.0; 3]);
        curvature.learn(&step, &[f64::NAN; 3], &change);
        assert_eq!(curvature.solve(&change), before);
    }
}
