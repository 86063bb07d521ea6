//! Loss, covariances and their derivatives at a point of a subproblem.

use fairfront_core::{Points, SecondOrder};

use super::subproblem::Work;
use crate::Error;

/// The step of forward differences: the square root of the distance between 1 and the next number.
const DIFFERENCE: f64 = 1.490_116_119_384_765_6e-8;

/// Loss and bounded covariances at one point.
pub(super) struct Evaluated {
    pub(super) variables: Vec<f64>,
    pub(super) loss: f64,
    /// As shares of the covariances of the unmitigated model.
    pub(super) roots: Vec<f64>,
    pub(super) slopes: Option<Slopes>,
}

/// The derivatives of loss and covariances with respect to the variables.
pub(super) struct Slopes {
    pub(super) gradient: Vec<f64>,
    pub(super) roots: Vec<Vec<f64>>,
    pub(super) second_order: Option<SecondOrder>,
}

impl Work<'_> {
    pub(super) fn point(&self, v: &[f64]) -> Vec<f64> {
        let mut x = v.to_vec();
        self.setup.preconditioner.to_params(&mut x);
        x.iter_mut()
            .zip(self.start)
            .for_each(|(x, start)| *x += start);
        x
    }

    pub(super) fn evaluate(
        &mut self,
        variables: Vec<f64>,
        slopes: bool,
    ) -> Result<Evaluated, Error> {
        let setup = self.setup;
        self.calls += 1;
        self.gradients += u64::from(slopes);
        if slopes && setup.settings.finite_differences {
            return self.differences(variables);
        }
        self.evaluations += 1;
        let points = Points::from_vec(variables.len(), self.point(&variables));
        if !slopes {
            let mut roots = Vec::with_capacity(self.bounds.len());
            for objective in setup.objectives() {
                let values = setup.problem.roots_of(objective + 1)?.values(&points)?;
                roots.extend(values.iter().map(|c| c / setup.scale(objective)));
            }
            return Ok(Evaluated {
                loss: setup.problem.values_of(0, &points)?[0],
                roots,
                variables,
                slopes: None,
            });
        }
        let second_order = setup.problem.second_order().filter(|_| setup.newton);
        let second_order = second_order
            .map(|facet| facet.expand(points.get(0)))
            .transpose()?;
        let transformed = |mut gradient: Vec<f64>| {
            setup.preconditioner.to_variables(&mut gradient);
            gradient
        };
        let (loss, gradient) = match &second_order {
            Some(of) => (of.value, of.gradient.clone()),
            None => (
                setup.problem.values_of(0, &points)?[0],
                transformed(setup.problem.gradient_of(0, points.get(0))?),
            ),
        };
        let (mut roots, mut root_slopes) = (Vec::new(), Vec::new());
        for objective in setup.objectives() {
            let of = setup.problem.roots_of(objective + 1)?.at(points.get(0))?;
            let share = 1.0 / setup.scale(objective);
            roots.extend(of.values.iter().map(|c| c * share));
            root_slopes.extend(of.gradients.into_iter().map(|mut gradient| {
                gradient.iter_mut().for_each(|g| *g *= share);
                transformed(gradient)
            }));
        }
        Ok(Evaluated {
            variables,
            loss,
            roots,
            slopes: Some(Slopes {
                gradient,
                roots: root_slopes,
                second_order,
            }),
        })
    }

    /// Forward differences: evaluates the point and all its moved copies at once.
    fn differences(&mut self, variables: Vec<f64>) -> Result<Evaluated, Error> {
        let setup = self.setup;
        let n = variables.len();
        self.evaluations += 1 + n as u64;
        let mut points = Points::from_vec(n, self.point(&variables));
        let mut moved = variables.clone();
        for j in 0..n {
            moved[j] = variables[j] + DIFFERENCE;
            points.push(&self.point(&moved));
            moved[j] = variables[j];
        }
        // The values of one function at the point and its copies.
        let slope = |values: &[f64]| -> Vec<f64> {
            let differences = values[1..].iter().zip(&variables).map(|(there, v)| {
                // The actual step, after rounding.
                (there - values[0]) / ((v + DIFFERENCE) - v)
            });
            differences.collect()
        };
        let losses = setup.problem.values_of(0, &points)?;
        let gradient = slope(&losses);
        let (mut roots, mut root_slopes) = (Vec::new(), Vec::new());
        for objective in setup.objectives() {
            let n_roots = setup.problem.n_roots(objective + 1);
            let share = 1.0 / setup.scale(objective);
            let all = setup.problem.roots_of(objective + 1)?.values(&points)?;
            for k in 0..n_roots {
                let of_root = all.iter().skip(k).step_by(n_roots);
                let values: Vec<f64> = of_root.map(|c| c * share).collect();
                roots.push(values[0]);
                root_slopes.push(slope(&values));
            }
        }
        Ok(Evaluated {
            loss: losses[0],
            roots,
            slopes: Some(Slopes {
                gradient,
                roots: root_slopes,
                second_order: None,
            }),
            variables,
        })
    }
}
