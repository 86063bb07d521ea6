//! Too many parameters for a dense matrix: limited-memory BFGS instead of Newton's method.

use fairfront_core::Preconditioner;

use super::model::{Model, Solved, Weight, add};
use crate::Error;
use crate::descend::{Function, dot, minimise};
use crate::outcome::Counters;

/// f1 + Σ wᵢfᵢ on the affine space where the objectives with infinite weight are 0.
struct Weighted<'a> {
    model: &'a Model<'a>,
    weights: &'a [Weight],
    space: Space,
}

/// Directions that keep some affine functions: what is left of gradients after theirs are removed, in
/// a preconditioner.
struct Space {
    basis: Vec<Axis>,
}

/// An affine function made of the given ones, free of those before it.
struct Axis {
    /// Its gradient g, with g·M⁻¹g = 1.
    gradient: Vec<f64>,
    /// M⁻¹g.
    step: Vec<f64>,
    /// Its value at the start.
    value: f64,
}

impl Space {
    fn new(preconditioner: &Preconditioner, gradients: Vec<Vec<f64>>, values: &[f64]) -> Self {
        let mut basis: Vec<Axis> = Vec::new();
        let stepped = |g: &[f64]| {
            let mut step = g.to_vec();
            preconditioner.step(&mut step);
            step
        };
        for (mut gradient, value) in gradients.into_iter().zip(values) {
            let mut value = *value;
            let before = dot(&gradient, &stepped(&gradient));
            // Twice, which leaves nothing but rounding.
            for _ in 0..2 {
                for other in &basis {
                    let part = dot(&gradient, &other.step);
                    add(&mut gradient, -part, &other.gradient);
                    value -= part * other.value;
                }
            }
            let mut step = stepped(&gradient);
            let size = dot(&gradient, &step);
            if size > 1e-20 * before && size > 0.0 {
                let factor = 1.0 / size.sqrt();
                gradient
                    .iter_mut()
                    .chain(&mut step)
                    .for_each(|v| *v *= factor);
                basis.push(Axis {
                    gradient,
                    step,
                    value: value * factor,
                });
            }
        }
        Self { basis }
    }

    /// Moves the start to where all functions are 0.
    fn enter(&self, x: &mut [f64]) {
        for axis in &self.basis {
            add(x, -axis.value, &axis.step);
        }
    }

    /// Removes from a gradient what would move the functions.
    fn project(&self, gradient: &mut [f64]) {
        for axis in &self.basis {
            let part = dot(gradient, &axis.step);
            add(gradient, -part, &axis.gradient);
        }
    }
}

impl Function for Weighted<'_> {
    fn value(&self, x: &[f64], counters: &mut Counters) -> Result<f64, Error> {
        let values = self.model.values(x, counters)?;
        let fair = values[1..].iter().zip(self.weights);
        let terms = fair.map(|(value, weight)| match weight {
            Weight::Finite(w) => w * value,
            Weight::Infinite => 0.0,
        });
        Ok(values[0] + terms.sum::<f64>())
    }

    fn gradient(&self, x: &[f64], counters: &mut Counters) -> Result<Vec<f64>, Error> {
        counters.gradient_evaluations[0] += 1;
        let mut gradient = self.model.problem.gradient_of(0, x)?;
        for (i, weight) in self.weights.iter().enumerate() {
            if let Weight::Finite(w) = weight
                && *w > 0.0
            {
                counters.gradient_evaluations[i + 1] += 1;
                let other = self.model.problem.gradient_of(i + 1, x)?;
                add(&mut gradient, *w, &other);
            }
        }
        self.space.project(&mut gradient);
        Ok(gradient)
    }
}

impl Model<'_> {
    /// As [`Model::minimise`], without second derivatives. Objectives that are to be 0 must be made
    /// of affine covariances.
    pub(super) fn minimise_wide(
        &self,
        preconditioner: &Preconditioner,
        weights: &[Weight],
        start: &[f64],
        counters: &mut Counters,
    ) -> Result<Solved, Error> {
        let mut x = start.to_vec();
        let (mut gradients, mut values) = (Vec::new(), Vec::new());
        for (i, weight) in weights.iter().enumerate() {
            if *weight == Weight::Infinite {
                let roots = self.roots(i + 1, &x)?;
                if !roots.affine {
                    return Err(Error::Problem(format!(
                        "objective {} cannot be held at 0 with so many parameters; use pf-smg",
                        i + 2
                    )));
                }
                values.extend(roots.values);
                gradients.extend(roots.gradients);
            }
        }
        let space = Space::new(preconditioner, gradients, &values);
        space.enter(&mut x);
        let function = Weighted {
            model: self,
            weights,
            space,
        };
        let (x, promised) = minimise(&function, &x, preconditioner, counters, self.stop)?;
        Ok(Solved {
            x,
            kkt: None,
            converged: promised <= 1e-9,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_moves_to_where_all_functions_are_zero() {
        let preconditioner = Preconditioner::Diagonal(vec![1.0, 0.5, 4.0, 2.0]);
        let gradients = vec![
            vec![1.0, 1.0, 0.0, 0.0],
            vec![2.0, 2.0, 0.0, 0.0],
            vec![0.0, 1.0, -1.0, 3.0],
        ];
        let start = [1.0, 2.0, 3.0, 4.0];
        let offsets = [0.5, 1.0, -2.0];
        let value = |x: &[f64]| -> Vec<f64> {
            (gradients.iter().zip(offsets))
                .map(|(g, offset)| dot(g, x) + offset)
                .collect()
        };
        let space = Space::new(&preconditioner, gradients.clone(), &value(&start));
        assert_eq!(space.basis.len(), 2, "the second says what the first does");
        let mut x = start;
        space.enter(&mut x);
        assert!(value(&x).iter().all(|v| v.abs() < 1e-13));
        // A step along what is left of a gradient keeps them 0.
        let mut gradient = vec![0.3, -1.0, 2.0, 0.7];
        space.project(&mut gradient);
        preconditioner.step(&mut gradient);
        let moved: Vec<f64> = x.iter().zip(&gradient).map(|(x, s)| x - 3.0 * s).collect();
        assert!(value(&moved).iter().all(|v| v.abs() < 1e-13));
    }
}
