use fairfront_core::{Points, Preconditioner, Problem};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::checkpoint::exact;
use crate::outcome::{Counters, StopSignal};

/// Maximum number of steps of a descent.
const DESCENT: usize = 1_000;
/// Maximum for a square, where a point near 0 is good enough.
const SQUARE_DESCENT: usize = 100;
/// A descent that need not be precise ends after this many consecutive steps with almost no
/// progress.
const IDLE: usize = 3;

/// A function that can be minimized.
pub(crate) trait Function {
    fn value(&self, x: &[f64], counters: &mut Counters) -> Result<f64, Error>;
    fn gradient(&self, x: &[f64], counters: &mut Counters) -> Result<Vec<f64>, Error>;
    /// Whether this is a square: its minimum along a step is known, and a point near 0 is good
    /// enough.
    fn is_square(&self) -> bool {
        false
    }
    /// The descent may end when several consecutive steps lower the function by less than this
    /// share.
    fn precision(&self) -> f64 {
        0.0
    }
}

/// A single objective on all rows.
struct One<'a> {
    problem: &'a dyn Problem,
    objective: usize,
    precision: f64,
}

impl Function for One<'_> {
    fn value(&self, x: &[f64], counters: &mut Counters) -> Result<f64, Error> {
        counters.evaluations += 1;
        let points = Points::from_vec(x.len(), x.to_vec());
        Ok(self.problem.values_of(self.objective, &points)?[0])
    }

    fn gradient(&self, x: &[f64], counters: &mut Counters) -> Result<Vec<f64>, Error> {
        counters.gradient_evaluations[self.objective] += 1;
        Ok(self.problem.gradient_of(self.objective, x)?)
    }

    fn is_square(&self) -> bool {
        self.problem.n_roots(self.objective) > 0
    }

    fn precision(&self) -> f64 {
        self.precision
    }
}

/// Minimizes one objective from a point.
pub(crate) fn descend(
    problem: &dyn Problem,
    objective: usize,
    from: &[f64],
    preconditioner: &Preconditioner,
    counters: &mut Counters,
    stop: &StopSignal,
) -> Result<Vec<f64>, Error> {
    let one = One {
        problem,
        objective,
        // A local minimum of a nonconvex objective need not be exact to the last digit.
        precision: match problem.convex_below(objective) {
            Some(_) => 0.0,
            None => 1e-6,
        },
    };
    Ok(minimize(&one, from, preconditioner, counters, stop)?.0)
}

/// Minimizes the first objective from a point near its minimum, until several consecutive steps
/// lower it by less than this share. The only matrix is that of the preconditioner, so any number
/// of parameters is possible.
pub fn minimize_loss(
    problem: &dyn Problem,
    near: &[f64],
    preconditioner: &Preconditioner,
    precision: f64,
    stop: &StopSignal,
) -> Result<Vec<f64>, Error> {
    let mut counters = Counters {
        gradient_evaluations: vec![0; problem.n_objectives()],
        ..Counters::default()
    };
    let first = One {
        problem,
        objective: 0,
        precision,
    };
    Ok(minimize(&first, near, preconditioner, &mut counters, stop)?.0)
}

/// Minimizes a function from a point, by limited-memory BFGS whose initial curvature is the
/// preconditioner. Also returns the decrease that the last step promised.
pub(crate) fn minimize(
    function: &dyn Function,
    from: &[f64],
    preconditioner: &Preconditioner,
    counters: &mut Counters,
    stop: &StopSignal,
) -> Result<(Vec<f64>, f64), Error> {
    let is_square = function.is_square();
    let mut x = from.to_vec();
    let first = function.value(&x, counters)?;
    let mut current = first;
    let mut g = function.gradient(&x, counters)?;
    let mut memory = Memory::default();
    let mut promised = f64::INFINITY;
    let mut idle = 0;
    let most = if is_square { SQUARE_DESCENT } else { DESCENT };
    for _ in 0..most {
        if stop.is_set() || (is_square && current <= 1e-12 * first) {
            break;
        }
        let mut step = memory.step(&g, preconditioner);
        let mut decrease = dot(&step, &g);
        if decrease.is_nan() || decrease <= 0.0 {
            // The memory does not help here; the preconditioner alone always gives a descent
            // direction.
            memory = Memory::default();
            step = memory.step(&g, preconditioner);
            decrease = dot(&step, &g);
        }
        promised = decrease;
        if !(decrease.is_finite() && decrease > 1e-22 * (1.0 + current.abs())) {
            break;
        }
        let mut length = if is_square {
            2.0 * current / decrease
        } else {
            1.0
        };
        let mut found = None;
        // Halving an infinite length would never end.
        while length > 1e-12 && length.is_finite() {
            let trial: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x - length * s).collect();
            let there = function.value(&trial, counters)?;
            if there <= current - 1e-4 * length * decrease {
                found = Some((trial, there));
                break;
            }
            length *= 0.5;
        }
        let Some((trial, there)) = found else { break };
        idle = match current - there <= function.precision() * current.abs() {
            true => idle + 1,
            false => 0,
        };
        let new_gradient = function.gradient(&trial, counters)?;
        if !is_square {
            memory.learn(&x, &trial, &g, &new_gradient);
        }
        (x, current, g) = (trial, there, new_gradient);
        if idle >= IDLE && function.precision() > 0.0 {
            break;
        }
    }
    Ok((x, promised))
}

/// The last moves and the changes of the gradient along them.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// Move, change of the gradient, and the inverse of their product.
    #[serde(with = "exact")]
    pairs: Vec<(Vec<f64>, Vec<f64>, f64)>,
}

impl Memory {
    /// Maximum number of pairs.
    const MOST: usize = 20;

    pub(crate) fn learn(&mut self, x: &[f64], new_x: &[f64], g: &[f64], new_g: &[f64]) {
        let difference = |new: &[f64], old: &[f64]| -> Vec<f64> {
            new.iter().zip(old).map(|(a, b)| a - b).collect()
        };
        let (s, y) = (difference(new_x, x), difference(new_g, g));
        let product = dot(&s, &y);
        // Only if the curvature is positive beyond rounding.
        if product > 1e-12 * (dot(&s, &s) * dot(&y, &y)).sqrt() {
            if self.pairs.len() == Self::MOST {
                self.pairs.remove(0);
            }
            self.pairs.push((s, y, 1.0 / product));
        }
    }

    pub(crate) fn is_sound(&self, n_params: usize) -> bool {
        let sound = |(s, y, _): &(Vec<f64>, Vec<f64>, f64)| [s.len(), y.len()] == [n_params; 2];
        self.pairs.len() <= Self::MOST && self.pairs.iter().all(sound)
    }

    /// The two loops of L-BFGS: an estimate of H⁻¹g.
    pub(crate) fn step(&self, gradient: &[f64], preconditioner: &Preconditioner) -> Vec<f64> {
        let mut q = gradient.to_vec();
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for (s, y, rho) in self.pairs.iter().rev() {
            let alpha = rho * dot(s, &q);
            q.iter_mut().zip(y).for_each(|(q, y)| *q -= alpha * y);
            alphas.push(alpha);
        }
        preconditioner.step(&mut q);
        if let Some((_, y, rho)) = self.pairs.last() {
            // The preconditioner may have the wrong scale if it was made for another function.
            let mut stepped = y.clone();
            preconditioner.step(&mut stepped);
            let scale = 1.0 / (rho * dot(y, &stepped));
            if scale.is_finite() && scale > 0.0 {
                q.iter_mut().for_each(|q| *q *= scale);
            }
        }
        for ((s, y, rho), alpha) in self.pairs.iter().zip(alphas.into_iter().rev()) {
            let beta = rho * dot(y, &q);
            q.iter_mut()
                .zip(s)
                .for_each(|(q, s)| *q += (alpha - beta) * s);
        }
        q
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Adds a multiple of a vector.
pub(crate) fn add(to: &mut [f64], factor: f64, vector: &[f64]) {
    to.iter_mut()
        .zip(vector)
        .for_each(|(t, v)| *t += factor * v);
}

/// dᵀ W d for a lower triangle.
pub(crate) fn energy(lower: &[f64], d: &[f64]) -> f64 {
    let n = d.len();
    let mut sum = 0.0;
    for i in 0..n {
        let below = dot(&lower[i * n..i * n + i], &d[..i]);
        sum += d[i] * (2.0 * below + lower[i * n + i] * d[i]);
    }
    sum
}
