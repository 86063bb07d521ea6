use std::cell::RefCell;

use fairfront_core::{Metric, Points, Problem};
use slsqp::{FailStatus, StopTols, SuccessStatus};

use super::EpsFair;
use crate::Error;
use crate::descend::dot;
use crate::outcome::StopSignal;

/// The step of forward differences: the root of the distance between 1 and the next number.
const DIFFERENCE: f64 = 1.490_116_119_384_765_6e-8;

/// Sweeps over the multipliers at most, where covariances depend on each other.
const SWEEPS: usize = 200;

/// How SLSQP ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// A step changed the loss by less than the tolerance.
    Converged,
    /// No step made progress: at the minimum, as far as numbers go, or at a singular matrix.
    NoProgress,
    /// Anything else.
    Failed,
}

/// What all subproblems share.
pub(super) struct Setup<'a> {
    pub(super) problem: &'a dyn Problem,
    pub(super) settings: &'a EpsFair,
    pub(super) metric: Metric,
    /// By the Hessian of the loss at the unmitigated model, whatever the settings: what a gradient
    /// there means in loss.
    pub(super) loss_metric: Metric,
    /// The unmitigated model's largest covariance of each fairness objective.
    pub(super) largest: Vec<f64>,
    /// For each fairness objective whether there is anything to bound.
    pub(super) bounded: Vec<bool>,
    /// The loss at x = 0: tolerances are shares of it.
    pub(super) loss_scale: f64,
    pub(super) stop: StopSignal,
}

/// What became of a subproblem.
pub(super) struct Solution {
    pub(super) point: Vec<f64>,
    pub(super) solved: bool,
    /// Whether it was stopped; the point is then of no use.
    pub(super) stopped: bool,
    /// Points evaluated.
    pub(super) evaluations: u64,
    /// Gradients of the loss, and as many of every covariance.
    pub(super) gradients: u64,
}

/// Loss and covariances at one point, by SLSQP's variables.
#[derive(Default)]
struct Evaluated {
    variables: Vec<f64>,
    has_gradients: bool,
    loss: f64,
    loss_gradient: Vec<f64>,
    /// The covariances of all fairness objectives, one after the other.
    roots: Vec<f64>,
    root_gradients: Vec<Vec<f64>>,
}

/// SLSQP asks for the loss and each constraint one by one; they are found together and kept.
struct Memory {
    last: Evaluated,
    /// Set when the observer asks to stop or an evaluation fails: from then on everything is flat
    /// and feasible, so that SLSQP ends at once.
    halted: bool,
    /// The loss where gradients were last asked for: SLSQP ends where the next is the same.
    loss: f64,
    error: Option<Error>,
    evaluations: u64,
    gradients: u64,
}

impl Setup<'_> {
    /// min f₁ subject to |c| ≤ ε for every covariance c, from `start`; one ε for each fairness
    /// objective. The variables are v with x = start + L⁻ᵀv.
    pub(super) fn solve(&self, bounds: &[f64], start: &[f64]) -> Result<Solution, Error> {
        let n = start.len();
        if self.stop.is_set() {
            // SLSQP would make a step before it could be told.
            return Ok(Solution {
                point: start.to_vec(),
                solved: false,
                stopped: true,
                evaluations: 0,
                gradients: 0,
            });
        }
        let memory = RefCell::new(Memory {
            last: Evaluated::default(),
            halted: false,
            loss: 0.0,
            error: None,
            evaluations: 0,
            gradients: 0,
        });
        let loss = |v: &[f64], gradient: Option<&mut [f64]>, (): &mut ()| {
            let memory = &mut *memory.borrow_mut();
            self.evaluate(start, v, gradient.is_some(), memory);
            if let Some(gradient) = gradient {
                gradient.copy_from_slice(&memory.last.loss_gradient);
            }
            memory.last.loss
        };
        // s·c − ε ≤ 0 with s = ±1, as a share of the unmitigated covariance.
        let constraint = |root: usize, objective: usize, sign: f64| {
            let scale = 1.0 / self.scale(objective);
            let memory = &memory;
            move |v: &[f64], gradient: Option<&mut [f64]>, (): &mut ()| {
                let memory = &mut *memory.borrow_mut();
                self.evaluate(start, v, gradient.is_some(), memory);
                if let Some(gradient) = gradient {
                    for (g, c) in gradient.iter_mut().zip(&memory.last.root_gradients[root]) {
                        *g = sign * scale * c;
                    }
                }
                let excess = scale * (sign * memory.last.roots[root] - bounds[objective]);
                // SLSQP knows no tolerance here: what is allowed counts as met.
                match excess > 0.0 && excess <= self.settings.feasibility {
                    true => 0.0,
                    false => excess,
                }
            }
        };
        let mut constraints = Vec::new();
        for (root, objective) in self.roots().enumerate() {
            if self.bounded[objective] {
                constraints.extend([1.0, -1.0].map(|sign| constraint(root, objective, sign)));
            }
        }
        let tolerances = StopTols {
            ftol_abs: self.settings.tolerance * self.loss_scale,
            ..StopTols::default()
        };
        let result = slsqp::minimize(
            loss,
            &vec![0.0; n],
            &vec![(f64::NEG_INFINITY, f64::INFINITY); n],
            &constraints,
            (),
            self.settings.most_evaluations,
            Some(tolerances),
        );
        drop(constraints);
        let memory = memory.into_inner();
        if let Some(error) = memory.error {
            return Err(error);
        }
        let (end, v) = match result {
            Ok((SuccessStatus::MaxEvalReached, v, _)) => (End::Failed, v),
            Ok((_, v, _)) => (End::Converged, v),
            Err((FailStatus::RoundoffLimited, v, _)) => (End::NoProgress, v),
            Err((_, v, _)) => (End::Failed, v),
        };
        let point = self.point(start, &v);
        let is_sound = !memory.halted
            && point.iter().all(|x| x.is_finite())
            && self.is_feasible(bounds, &point)?;
        let solved = is_sound
            && match end {
                End::Failed => false,
                End::Converged => true,
                End::NoProgress => {
                    // What a loss could still be lowered by is known to some roundings of it.
                    let most = self.settings.tolerance.max(1e-14) * self.loss_scale;
                    self.remaining(bounds, &point)? <= most
                }
            };
        Ok(Solution {
            solved,
            stopped: memory.halted,
            point,
            evaluations: memory.evaluations,
            gradients: memory.gradients,
        })
    }

    fn scale(&self, objective: usize) -> f64 {
        match self.largest[objective] {
            largest if largest > 0.0 => largest,
            _ => 1.0,
        }
    }

    fn point(&self, start: &[f64], v: &[f64]) -> Vec<f64> {
        let mut x = v.to_vec();
        self.metric.to_params(&mut x);
        x.iter_mut().zip(start).for_each(|(x, start)| *x += start);
        x
    }

    /// The fairness objective of each covariance.
    fn roots(&self) -> impl Iterator<Item = usize> {
        let of = |objective| vec![objective; self.problem.n_roots(objective + 1)];
        (0..self.largest.len()).flat_map(of)
    }

    /// How much smaller the loss could still become within the bounds, to second order: ½‖r‖² in the
    /// loss's own metric, r what multipliers of the bounds that are met leave of the gradient. It is
    /// the same in all units of the features.
    fn remaining(&self, bounds: &[f64], point: &[f64]) -> Result<f64, Error> {
        let transformed = |mut gradient: Vec<f64>| {
            self.loss_metric.to_variables(&mut gradient);
            gradient
        };
        let mut rest = transformed(self.problem.gradient_of(0, point)?);
        // Outward normals of the bounds that are met, and whether both sides are.
        let mut normals: Vec<(Vec<f64>, bool)> = Vec::new();
        for (objective, bound) in bounds.iter().enumerate() {
            if !self.bounded[objective] {
                continue;
            }
            let slack = 2.0 * self.settings.feasibility * self.scale(objective);
            let roots = self.problem.roots(objective + 1, point)?;
            for (c, gradient) in roots.values.iter().zip(roots.gradients) {
                if c.abs() >= bound - slack {
                    let outward = gradient.into_iter().map(|g| g * c.signum()).collect();
                    normals.push((transformed(outward), *bound <= slack));
                }
            }
        }
        // One multiplier after the other. Whatever they are, they bound what is left from above.
        let mut multipliers = vec![0.0; normals.len()];
        for _ in 0..SWEEPS {
            let mut moved = 0.0_f64;
            for ((normal, both), multiplier) in normals.iter().zip(&mut multipliers) {
                let square = dot(normal, normal);
                if square == 0.0 {
                    continue;
                }
                let best = *multiplier - dot(&rest, normal) / square;
                let new = if *both { best } else { f64::max(best, 0.0) };
                let step = new - *multiplier;
                rest.iter_mut()
                    .zip(normal)
                    .for_each(|(r, a)| *r += step * a);
                moved = moved.max(step * step * square);
                *multiplier = new;
            }
            if moved <= 1e-3 * self.settings.tolerance * self.loss_scale {
                break;
            }
        }
        Ok(0.5 * dot(&rest, &rest))
    }

    fn is_feasible(&self, bounds: &[f64], point: &[f64]) -> Result<bool, Error> {
        let point = Points::from_vec(point.len(), point.to_vec());
        let bounded = bounds.iter().enumerate().filter(|(i, _)| self.bounded[*i]);
        for (objective, bound) in bounded {
            // The last bit may differ between one point alone and several side by side.
            let allowed = bound + 1.001 * self.settings.feasibility * self.scale(objective);
            let roots = self.problem.root_values(objective + 1, &point)?;
            if !roots.iter().all(|c| c.abs() <= allowed) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sees to it that `memory.last` is about these variables.
    fn evaluate(&self, start: &[f64], v: &[f64], gradients: bool, memory: &mut Memory) {
        let last = &memory.last;
        if last.variables == v && (last.has_gradients || !gradients) {
            return;
        }
        if !memory.halted && !self.stop.is_set() {
            match self.evaluate_now(start, v, gradients, memory) {
                Ok(evaluated) => {
                    if gradients {
                        memory.loss = evaluated.loss;
                    }
                    memory.last = evaluated;
                    return;
                }
                Err(error) => memory.error = Some(error),
            }
        }
        memory.halted = true;
        let n_roots = self.roots().count();
        memory.last = Evaluated {
            variables: v.to_vec(),
            has_gradients: true,
            loss: memory.loss,
            loss_gradient: vec![0.0; v.len()],
            roots: vec![0.0; n_roots],
            root_gradients: vec![vec![0.0; v.len()]; n_roots],
        };
    }

    fn evaluate_now(
        &self,
        start: &[f64],
        v: &[f64],
        gradients: bool,
        memory: &mut Memory,
    ) -> Result<Evaluated, Error> {
        memory.gradients += u64::from(gradients);
        if gradients && self.settings.finite_differences {
            return self.differences(start, v, memory);
        }
        memory.evaluations += 1;
        let m = self.problem.n_objectives();
        let points = Points::from_vec(v.len(), self.point(start, v));
        let mut evaluated = Evaluated {
            variables: v.to_vec(),
            has_gradients: gradients,
            loss: self.problem.values_of(0, &points)?[0],
            ..Evaluated::default()
        };
        if !gradients {
            for objective in 1..m {
                let roots = self.problem.root_values(objective, &points)?;
                evaluated.roots.extend(roots);
            }
            return Ok(evaluated);
        }
        let transformed = |mut gradient: Vec<f64>| {
            self.metric.to_variables(&mut gradient);
            gradient
        };
        let gradient = self.problem.gradient_of(0, points.get(0))?;
        evaluated.loss_gradient = transformed(gradient);
        for objective in 1..m {
            let roots = self.problem.roots(objective, points.get(0))?;
            evaluated.roots.extend(roots.values);
            let gradients = roots.gradients.into_iter().map(transformed);
            evaluated.root_gradients.extend(gradients);
        }
        Ok(evaluated)
    }

    /// Forward differences: the point and all its moved copies are evaluated at once.
    fn differences(
        &self,
        start: &[f64],
        v: &[f64],
        memory: &mut Memory,
    ) -> Result<Evaluated, Error> {
        let n = v.len();
        let m = self.problem.n_objectives();
        memory.evaluations += 1 + n as u64;
        let mut points = Points::from_vec(n, self.point(start, v));
        let mut moved = v.to_vec();
        for j in 0..n {
            moved[j] = v[j] + DIFFERENCE;
            points.push(&self.point(start, &moved));
            moved[j] = v[j];
        }
        // One function's values at the point and its copies.
        let slope = |values: &[f64]| -> Vec<f64> {
            let differences = values[1..].iter().zip(v).map(|(there, v)| {
                // The step that was really made, after rounding.
                (there - values[0]) / ((v + DIFFERENCE) - v)
            });
            differences.collect()
        };
        let of = |all: &[f64], k: usize, n: usize| -> Vec<f64> {
            all.iter().skip(k).step_by(n).copied().collect()
        };
        let losses = self.problem.values_of(0, &points)?;
        let mut evaluated = Evaluated {
            variables: v.to_vec(),
            has_gradients: true,
            loss: losses[0],
            loss_gradient: slope(&losses),
            ..Evaluated::default()
        };
        for objective in 1..m {
            let n_roots = self.problem.n_roots(objective);
            let all = self.problem.root_values(objective, &points)?;
            for k in 0..n_roots {
                let values = of(&all, k, n_roots);
                evaluated.roots.push(values[0]);
                evaluated.root_gradients.push(slope(&values));
            }
        }
        Ok(evaluated)
    }
}
