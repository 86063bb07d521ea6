//! Too many parameters for a dense matrix: limited-memory BFGS instead of Newton's method.

use fairfront_core::Preconditioner;

use super::model::{Model, Solved, Weight};
use crate::Error;
use crate::basis::Basis;
use crate::descend::{Function, add, minimize};
use crate::outcome::Counters;

/// f1 + Σ wᵢfᵢ on the affine space where the objectives with infinite weight are 0.
struct Weighted<'a> {
    model: &'a Model<'a>,
    weights: &'a [Weight],
    space: Basis,
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
        self.space.project_gradient(&mut gradient);
        Ok(gradient)
    }
}

impl Model<'_> {
    /// As [`Model::minimize`], without second derivatives. Objectives that must be 0 must be made
    /// of affine covariances.
    pub(super) fn minimize_wide(
        &self,
        preconditioner: &Preconditioner,
        weights: &[Weight],
        start: &[f64],
        counters: &mut Counters,
    ) -> Result<Solved, Error> {
        let mut x = start.to_vec();
        let mut space = Basis::default();
        for (i, weight) in weights.iter().enumerate() {
            if *weight == Weight::Infinite {
                let roots = self.roots(i + 1, &x)?;
                if !roots.affine {
                    return Err(Error::Problem(format!(
                        "objective {} cannot be held at 0 with this many parameters; use pf-smg",
                        i + 2
                    )));
                }
                for (gradient, value) in roots.gradients.into_iter().zip(roots.values) {
                    space.push(preconditioner, gradient, value, 1e-20);
                }
            }
        }
        for axis in &space.axes {
            add(&mut x, -axis.value, &axis.step);
        }
        let function = Weighted {
            model: self,
            weights,
            space,
        };
        let (x, promised) = minimize(&function, &x, preconditioner, counters, self.stop)?;
        Ok(Solved {
            x,
            kkt: None,
            converged: promised <= 1e-9,
        })
    }
}
