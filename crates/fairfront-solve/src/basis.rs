//! Gram–Schmidt orthogonalization of directions, in the inner product of a preconditioner.

use fairfront_core::Preconditioner;

use crate::descend::{add, dot};

/// One direction of a [`Basis`].
#[derive(Clone)]
pub(crate) struct Axis {
    /// b, with b·M⁻¹b = 1.
    pub(crate) direction: Vec<f64>,
    /// M⁻¹b.
    pub(crate) step: Vec<f64>,
    /// The value of the affine function whose gradient is b.
    pub(crate) value: f64,
}

/// Orthonormal directions.
#[derive(Clone, Default)]
pub(crate) struct Basis {
    pub(crate) axes: Vec<Axis>,
}

impl Basis {
    /// Adds the gradient of an affine function and its value. A gradient that depends on the others
    /// is skipped: one whose squared length falls to the share `least` or below when their
    /// directions are removed. Returns the coefficients of the gradient on the axes, the last of
    /// which is new.
    pub(crate) fn push(
        &mut self,
        preconditioner: &Preconditioner,
        mut direction: Vec<f64>,
        mut value: f64,
        least: f64,
    ) -> Option<Vec<f64>> {
        let stepped = |direction: &[f64]| {
            let mut step = direction.to_vec();
            preconditioner.step(&mut step);
            step
        };
        let before = dot(&direction, &stepped(&direction));
        let mut parts = vec![0.0; self.axes.len()];
        // Twice, because a single pass loses digits.
        for _ in 0..2 {
            for (axis, sum) in self.axes.iter().zip(&mut parts) {
                let part = dot(&direction, &axis.step);
                add(&mut direction, -part, &axis.direction);
                value -= part * axis.value;
                *sum += part;
            }
        }
        let mut step = stepped(&direction);
        let square = dot(&direction, &step);
        (square > least * before).then(|| {
            let length = square.sqrt();
            (direction.iter_mut().chain(&mut step)).for_each(|v| *v /= length);
            self.axes.push(Axis {
                direction,
                step,
                value: value / length,
            });
            parts.push(length);
            parts
        })
    }

    /// Removes the components of a gradient along the axes.
    pub(crate) fn project_gradient(&self, gradient: &mut [f64]) {
        for axis in &self.axes {
            let part = dot(gradient, &axis.step);
            add(gradient, -part, &axis.direction);
        }
    }

    /// Removes the components of a step that change the functions of the axes.
    pub(crate) fn project_step(&self, step: &mut [f64]) {
        for axis in &self.axes {
            let part = dot(step, &axis.direction);
            add(step, -part, &axis.step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_reach_zeros_of_all_functions_and_stay_there() {
        let preconditioner = Preconditioner::Diagonal(vec![1.0, 0.5, 4.0, 2.0]);
        let gradients = [
            vec![1.0, 1.0, 0.0, 0.0],
            vec![2.0, 2.0, 0.0, 0.0],
            vec![0.0, 1.0, -1.0, 3.0],
        ];
        let offsets = [0.5, 1.0, -2.0];
        let values = |x: &[f64]| -> Vec<f64> {
            (gradients.iter().zip(offsets))
                .map(|(g, offset)| dot(g, x) + offset)
                .collect()
        };
        let mut x = [1.0, 2.0, 3.0, 4.0];
        let mut basis = Basis::default();
        for (gradient, value) in gradients.iter().zip(values(&x)) {
            let Some(parts) = basis.push(&preconditioner, gradient.clone(), value, 1e-20) else {
                continue;
            };
            let mut made = vec![0.0; 4];
            for (axis, part) in basis.axes.iter().zip(parts) {
                add(&mut made, part, &axis.direction);
            }
            assert!(
                made.iter()
                    .zip(gradient)
                    .all(|(m, g)| (m - g).abs() < 1e-14)
            );
        }
        assert_eq!(
            basis.axes.len(),
            2,
            "the second gradient depends on the first"
        );
        for axis in &basis.axes {
            add(&mut x, -axis.value, &axis.step);
        }
        assert!(values(&x).iter().all(|v| v.abs() < 1e-13));
        let mut gradient = vec![0.3, -1.0, 2.0, 0.7];
        let mut step = gradient.clone();
        preconditioner.step(&mut step);
        basis.project_step(&mut step);
        basis.project_gradient(&mut gradient);
        preconditioner.step(&mut gradient);
        for step in [step, gradient] {
            let mut moved = x;
            add(&mut moved, -3.0, &step);
            assert!(values(&moved).iter().all(|v| v.abs() < 1e-13));
        }
    }
}
