//! Second derivatives of the first objective, and Newton's method with them.

use super::{FairProblem, MOST_DENSE, Prepared};
use crate::engine::{Cells, Form, Statistics, Wanted};
use crate::objective::{ClassOutput, Output};
use crate::problem::{Points, Preconditioner, Problem, SecondOrder};
use crate::{Cholesky, Error, StopSignal};

/// Sums of the first objective's value, gradient and second derivatives, divided by the total weight.
struct Expansion {
    value: f64,
    gradient: Vec<f64>,
    second: Vec<f64>,
}

impl Prepared {
    /// The output that the objective sums over all rows, if it is a loss with second derivatives.
    pub(super) fn summed_loss(&self) -> Option<Output> {
        let Statistics::ByCell { output, cells } = self.objective.statistics() else {
            return None;
        };
        let is_loss = match output {
            Output::Loss => true,
            Output::Residual(of) => of.growth().is_some(),
            Output::Class(of) => of == ClassOutput::Loss,
            _ => false,
        };
        (cells == Cells::ALL && is_loss && self.objective.is_affine()).then_some(output)
    }
}

impl FairProblem {
    /// Whether the second derivatives of the first objective are known: the predictor is linear, and the
    /// objective is a multiple of the mean log loss of all rows, or of a function of their residuals; or there is a
    /// linear score per class, and the objective is a multiple of their log loss.
    pub(super) fn is_expandable(&self) -> bool {
        let loss = self.objectives.first().and_then(Prepared::summed_loss);
        let predictor = &self.predictor;
        match loss {
            Some(Output::Class(_)) => predictor.as_multinomial().is_some(),
            Some(_) => predictor.as_linear().is_some(),
            None => false,
        }
    }

    /// Value, gradient and second derivatives of the first objective at a point, without its penalty, in one
    /// pass over the rows; `None` if the predictor is not linear or the objective has no second derivatives.
    fn expanded(&self, point: &[f64], form: Form) -> Result<Option<Expansion>, Error> {
        let Some(prepared) = self.objectives.first().filter(|_| self.is_expandable()) else {
            return Ok(None);
        };
        let Some(output) = prepared.summed_loss() else {
            return Ok(None);
        };
        let n = self.n_params;
        let points = Points::from_vec(n, point.to_vec());
        let pass = self.pass(&points, Wanted::Curvature { form, output });
        let mut sums = self.engine.sum(&pass)?;
        let (offset, slope) = prepared.affine()?;
        let factor = slope[0] / prepared.weights.total;
        sums.iter_mut().for_each(|sum| *sum *= factor);
        let second = sums.split_off(1 + n);
        let gradient = sums.split_off(1);
        Ok(Some(Expansion {
            value: offset + sums[0],
            gradient,
            second,
        }))
    }

    /// Value, gradient and Hessian of the first objective at a point; `None` if there are too many
    /// parameters, or if second derivatives are not known.
    pub(super) fn expansion(&self, point: &[f64]) -> Result<Option<SecondOrder>, Error> {
        let n = self.n_params;
        if n > MOST_DENSE {
            return Ok(None);
        }
        let Some(mut found) = self.expanded(point, Form::Dense)? else {
            return Ok(None);
        };
        let lambda = self.objectives[0].objective.penalty();
        let penalty = self.add_penalty(lambda, point, Some(&mut found.gradient));
        let mut lower = vec![0.0; n * n];
        let penalized = self.predictor.penalized(self.engine.schema());
        let at = |i: usize, j: usize| found.second[i * n + j];
        for i in 0..n {
            for j in 0..i {
                lower[i * n + j] = at(i, j) + at(j, i);
            }
            lower[i * n + i] = at(i, i);
            if penalized.contains(&i) {
                lower[i * n + i] += lambda;
            }
        }
        Ok(Some(SecondOrder {
            value: found.value + penalty,
            gradient: found.gradient,
            lower,
        }))
    }

    /// Minimizes the first objective by Newton's method, starting from a point near the minimizer
    /// if one is known; `None` without second derivatives.
    pub(super) fn newton(
        &self,
        near: Option<&[f64]>,
        stop: &StopSignal,
    ) -> Result<Option<Vec<f64>>, Error> {
        let n = self.n_params;
        let mut x = vec![0.0; n];
        let value = |x: &[f64]| -> Result<f64, Error> {
            Ok(self.values_of(0, &Points::from_vec(n, x.to_vec()))?[0])
        };
        if let Some(near) = near
            && value(near)? <= value(&x)?
        {
            // A point that is worse than 0, or whose value is NaN, is not used.
            x.copy_from_slice(near);
        }
        let mut before = f64::INFINITY;
        for _ in 0..100 {
            if stop.is_set() {
                return Err(Error::Stopped);
            }
            let Some(SecondOrder {
                value: current,
                gradient,
                mut lower,
            }) = self.expansion(&x)?
            else {
                return Ok(None);
            };
            let trace: f64 = (0..n).map(|i| lower[i * n + i]).sum();
            for i in 0..n {
                lower[i * n + i] += 1e-12 * trace / n as f64;
            }
            let Some(factor) = Cholesky::new(lower, n) else {
                return Ok(None);
            };
            let mut step = gradient.clone();
            factor.solve(&mut step);
            let decrement: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
            // Close to the minimum, steps that no longer shrink are rounding errors.
            if decrement <= 1e-22 * current.abs().max(1.0)
                || (decrement < 1e-12 && decrement >= 0.25 * before)
            {
                break;
            }
            // Close to the minimum, a full step is safe, and sums over many rows are too imprecise
            // to compare values.
            let calm = decrement < 1e-6 && decrement < before;
            before = decrement;
            if calm {
                x.iter_mut().zip(&step).for_each(|(x, s)| *x -= s);
                continue;
            }
            // Newton's step, halved until the loss falls enough.
            let mut length = 1.0;
            let found = loop {
                let trial: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x - length * s).collect();
                if value(&trial)? <= current - 1e-4 * length * decrement {
                    break Some(trial);
                }
                length *= 0.5;
                if length < 1e-10 {
                    break None;
                }
            };
            // No decrease at working precision: this is the minimum.
            let Some(trial) = found else { break };
            x = trial;
        }
        Ok(Some(x))
    }

    /// The inverse of the diagonal of the first objective's Hessian: the preconditioner if there
    /// are too many parameters for the whole Hessian.
    pub fn diagonal_preconditioner(&self, at: &[f64]) -> Result<Preconditioner, Error> {
        let Some(found) = self.expanded(at, Form::Diagonal)? else {
            return Ok(Preconditioner::Identity);
        };
        let schema = self.engine.schema();
        let lambda = self.objectives[0].objective.penalty();
        let penalized = self.predictor.penalized(schema);
        // A row has at most one nonzero feature per column, so its own curvature times this number
        // bounds the joint effect of all features.
        let touched = (schema.numeric.len() + schema.categorical.len() + 1) as f64;
        let inverse = found.second.iter().enumerate().map(|(i, curvature)| {
            let penalty = if penalized.contains(&i) { lambda } else { 0.0 };
            1.0 / (touched * curvature + penalty).max(1e-12)
        });
        Ok(Preconditioner::Diagonal(inverse.collect()))
    }
}
