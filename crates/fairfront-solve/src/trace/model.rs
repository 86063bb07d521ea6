//! The model for Newton's method: the loss to second order, the other objectives through their
//! roots.

use fairfront_core::{MOST_DENSE, Points, Preconditioner, Problem, Roots, SecondOrder};

use super::kkt::Kkt;
use crate::Error;
use crate::descend::{add, dot, energy};
use crate::outcome::{Counters, StopSignal};

/// Newton's method ends when a step's energy, dxᵀW dx, is below this; the remaining error of the
/// loss is far smaller.
pub(super) const DONE: f64 = 1e-13;
/// The energy after a Newton step is at most about this factor times the square of the one before.
pub(super) const SQUARED: f64 = 100.0;
/// Maximum number of points of a front if each takes long: nonconvex, or with very many parameters.
const SLOW: usize = 100;
/// Maximum number of steps of a solve.
const STEPS: usize = 60;

/// A problem whose loss has second derivatives and whose other objectives have roots.
pub(super) struct Model<'a> {
    pub(super) problem: &'a dyn Problem,
    pub(super) stop: &'a StopSignal,
    /// For objectives with affine roots: their values at x = 0 and their gradients.
    affine: Vec<Option<Roots>>,
    /// Takes the place of second derivatives if there are too many parameters for them.
    pub(super) wide: Option<Preconditioner>,
}

/// A solution of a subproblem, with data for its neighbors.
#[derive(Debug, Clone)]
pub(super) struct Solved {
    pub(super) x: Vec<f64>,
    /// The equations of the last step, if there are second derivatives.
    pub(super) kkt: Option<Kkt>,
    /// Whether Newton's method converged.
    pub(super) converged: bool,
}

/// The weight of an objective other than the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Weight {
    /// The objective counts with this factor.
    Finite(f64),
    /// The objective must be 0.
    Infinite,
}

impl<'a> Model<'a> {
    /// Fails if an objective has no roots.
    pub(super) fn new(problem: &'a dyn Problem, stop: &'a StopSignal) -> Result<Self, Error> {
        let origin = vec![0.0; problem.n_params()];
        let mut affine = vec![None];
        for i in 1..problem.n_objectives() {
            affine.push(Some(problem.roots_of(i)?.at(&origin)?).filter(|roots| roots.affine));
        }
        let wide = match problem.n_params() > MOST_DENSE {
            true => Some(problem.preconditioner(&origin)?),
            false => None,
        };
        Ok(Self {
            problem,
            stop,
            affine,
            wide,
        })
    }

    /// Whether all roots are affine.
    pub(super) fn is_affine(&self) -> bool {
        self.affine.iter().skip(1).all(Option::is_some)
    }

    /// Maximum number of subproblems that it is reasonable to solve, since some take long.
    pub(super) fn most_solved(&self) -> usize {
        match self.is_affine() && self.wide.is_none() {
            true => usize::MAX,
            false => SLOW,
        }
    }

    /// The roots of an objective and their gradients.
    pub(super) fn roots(&self, objective: usize, x: &[f64]) -> Result<Roots, Error> {
        match &self.affine[objective] {
            None => Ok(self.problem.roots_of(objective)?.at(x)?),
            Some(at_zero) => {
                let pairs = at_zero.values.iter().zip(&at_zero.gradients);
                Ok(Roots {
                    values: pairs.map(|(c, g)| c + dot(g, x)).collect(),
                    ..at_zero.clone()
                })
            }
        }
    }

    /// The loss to second order; updates the counters.
    pub(super) fn loss(&self, x: &[f64], counters: &mut Counters) -> Result<SecondOrder, Error> {
        counters.evaluations += 1;
        counters.gradient_evaluations[0] += 1;
        let facet = self.problem.second_order();
        let facet = facet.ok_or(fairfront_core::Error::NoSecondOrder)?;
        Ok(facet.expand(x)?)
    }

    /// Values of all objectives at one point.
    pub(super) fn values(&self, x: &[f64], counters: &mut Counters) -> Result<Vec<f64>, Error> {
        counters.evaluations += 1;
        Ok(self
            .problem
            .values(&Points::from_vec(x.len(), x.to_vec()))?)
    }

    /// The merit that compares solutions: f1 + Σ wᵢfᵢ, with a large penalty on objectives that must
    /// be 0.
    pub(super) fn merit(
        &self,
        weights: &[Weight],
        x: &[f64],
        counters: &mut Counters,
    ) -> Result<f64, Error> {
        let values = self.values(x, counters)?;
        let fair = values[1..].iter().zip(weights);
        let terms = fair.map(|(value, weight)| match weight {
            Weight::Finite(w) => w * value,
            Weight::Infinite => 1e6 * value,
        });
        let merit = values[0] + terms.sum::<f64>();
        Ok(if merit.is_nan() { f64::INFINITY } else { merit })
    }

    /// Minimizes f1 + Σ wᵢfᵢ from `start` over the x at which the objectives with infinite weight
    /// are 0.
    pub(super) fn minimize(
        &self,
        weights: &[Weight],
        start: &[f64],
        counters: &mut Counters,
    ) -> Result<Solved, Error> {
        if let Some(preconditioner) = &self.wide {
            return self.minimize_wide(preconditioner, weights, start, counters);
        }
        let n = start.len();
        let mut x = start.to_vec();
        let mut step_left = f64::INFINITY;
        let mut last: Option<Kkt> = None;
        let most = if self.is_affine() { STEPS } else { STEPS / 2 };
        for _ in 0..most {
            if self.stop.is_set() {
                return Ok(Solved {
                    x,
                    kkt: last,
                    converged: false,
                });
            }
            let loss = self.loss(&x, counters)?;
            let (mut value, mut gradient, mut lower) = (loss.value, loss.gradient, loss.lower);
            let (mut rows, mut excess) = (Vec::new(), Vec::new());
            for (i, weight) in weights.iter().enumerate() {
                let roots = self.roots(i + 1, &x)?;
                match weight {
                    Weight::Infinite => {
                        excess.extend(&roots.values);
                        rows.extend(roots.gradients);
                    }
                    Weight::Finite(0.0) => {}
                    Weight::Finite(w) => {
                        let of = self.problem.roots_of(i + 1)?.combined(&roots.values)?;
                        value += w * of.value;
                        for (slope, g) in of.slope.iter().zip(&roots.gradients) {
                            add(&mut gradient, w * slope, g);
                        }
                        add_curvature(&mut lower, *w, &of.curvature, &roots.gradients);
                    }
                }
            }
            let Some(kkt) = Kkt::new(&lower, n, &rows) else {
                break;
            };
            let (dx, dy) = kkt.step(&gradient, &excess);
            // The decrease that the step promises, which measures the distance to the minimum.
            let energy = energy(&lower, &dx);
            let violated = excess.iter().fold(0.0, |most: f64, e| most.max(e.abs()));
            let calm = energy < 1e-3 && energy <= step_left;
            step_left = energy;
            let full: Vec<f64> = x.iter().zip(&dx).map(|(x, d)| x + d).collect();
            last = Some(kkt);
            if !energy.is_finite() {
                break;
            }
            // Each step squares the remaining energy, up to a factor, so this step is the last.
            if energy <= DONE || (self.is_affine() && energy * energy * SQUARED <= DONE) {
                x = full;
                step_left = 0.0;
                break;
            }
            // The merit: the sum to minimize, plus constraints weighted by more than their
            // multipliers.
            let price = 2.0 * dy.iter().fold(0.0, |most: f64, y| most.max(y.abs())) + 1.0;
            let merit = |x: &[f64], counters: &mut Counters| -> Result<f64, Error> {
                let values = self.values(x, counters)?;
                let mut merit = values[0];
                for (i, weight) in weights.iter().enumerate() {
                    merit += match weight {
                        Weight::Finite(w) => w * values[i + 1],
                        Weight::Infinite => {
                            let roots = self.roots(i + 1, x)?.values;
                            price * roots.iter().map(|c| c.abs()).sum::<f64>()
                        }
                    };
                }
                Ok(merit)
            };
            let before = value + price * excess.iter().map(|e| e.abs()).sum::<f64>();
            // Near the minimum, a full step is safe, and differences between values are only
            // rounding.
            if calm && (violated == 0.0 || self.is_affine()) {
                x = full;
                continue;
            }
            let mut length = 1.0;
            let found = loop {
                let moved = x.iter().zip(&dx).map(|(x, d)| x + length * d);
                let trial: Vec<f64> = moved.collect();
                if merit(&trial, counters)? <= before - 1e-4 * length * energy {
                    break Some(trial);
                }
                length *= 0.5;
                if length < 1e-8 || self.stop.is_set() {
                    break None;
                }
            };
            let Some(trial) = found else { break };
            x = trial;
        }
        let kkt = last.ok_or_else(|| {
            Error::Problem("the second derivatives of the loss are not finite".into())
        })?;
        Ok(Solved {
            x,
            kkt: Some(kkt),
            converged: step_left <= 1e-9,
        })
    }
}

/// Adds w Σ Cₖₗ gₖ gₗᵀ to a lower triangle.
pub(super) fn add_curvature(lower: &mut [f64], w: f64, c: &[f64], gradients: &[Vec<f64>]) {
    let k = gradients.len();
    let n = gradients.first().map_or(0, Vec::len);
    for (row, a) in gradients.iter().enumerate() {
        let mut combined = vec![0.0; n];
        for (column, b) in gradients.iter().enumerate() {
            add(&mut combined, w * c[row * k + column], b);
        }
        for i in 0..n {
            if a[i] != 0.0 {
                add(&mut lower[i * n..=i * n + i], a[i], &combined[..=i]);
            }
        }
    }
}
