//! A local model around a point, and the step that follows from it.

use fairfront_core::{Cholesky, Preconditioner, Problem};

use crate::basis::Basis;
use crate::descend::{add, dot};
use crate::{Error, MOST_OBJECTIVES, MinNorm};

/// Maximum number of rounds of the dual's coordinate descent; two objectives need one.
const DUAL: usize = 500;

/// A point on the front where curvature is known. Vectors are stored in variables in which its
/// preconditioner is the identity.
pub(super) struct Reference {
    pub(super) point: Vec<f64>,
    pub(super) preconditioner: Preconditioner,
    /// For each objective made of several squares, the gradients of its roots, scaled by their
    /// curvature: the Hessian of the objective is approximately the sum of their squares.
    curved: Vec<Vec<Vec<f64>>>,
}

impl Reference {
    pub(super) fn new(problem: &dyn Problem, point: &[f64]) -> Result<Self, Error> {
        let preconditioner = problem.preconditioner(point)?;
        let mut curved = vec![Vec::new(); problem.n_objectives()];
        for (i, curved) in curved.iter_mut().enumerate() {
            // A single square has no curvature along its level sets, and steps stay on those.
            if problem.n_roots(i) > 1 {
                let roots = problem.roots_of(i)?.at(point)?;
                let length = (2.0 / roots.gradients.len() as f64).sqrt();
                for mut gradient in roots.gradients {
                    preconditioner.to_variables(&mut gradient);
                    gradient.iter_mut().for_each(|g| *g *= length);
                    curved.push(gradient);
                }
            }
        }
        Ok(Self {
            point: point.to_vec(),
            preconditioner,
            curved,
        })
    }
}

/// The loss to second order and the other objectives to first order at a point, in a reference's
/// variables; steps do not change objectives held at 0.
pub(super) struct Model<'a> {
    reference: &'a Reference,
    /// The gradient of the loss, and the part of it that leaves the held objectives unchanged.
    loss: Vec<f64>,
    free_loss: Vec<f64>,
    rows: Vec<Row>,
    /// Directions along which the held objectives change. The value of an axis is the distance that
    /// the point has to move back along it for its objective to fall by 1.
    kept: Basis,
    /// The objective of each axis.
    kept_for: Vec<usize>,
    /// B⁻¹ times the remaining gradient; B is the curvature of the Lagrangian.
    solved_loss: Vec<f64>,
}

/// An objective that must not rise.
struct Row {
    objective: usize,
    /// The value of the objective, and the length of its gradient.
    value: f64,
    norm: f64,
    /// The gradient: scaled to length 1, then without the held directions, then B⁻¹ times that.
    unit: Vec<f64>,
    free: Vec<f64>,
    solved: Vec<f64>,
}

impl<'a> Model<'a> {
    /// Builds the model from values and gradients (by objective) at a point, and earlier gradients
    /// `before` that steps must also respect; `held` marks the objectives that are 0.
    pub(super) fn new(
        problem: &dyn Problem,
        reference: &'a Reference,
        point: &[f64],
        values: &[f64],
        gradients: &[&[f64]],
        before: &[(usize, Vec<f64>)],
        held: u32,
    ) -> Result<Self, Error> {
        let in_variables = |gradient: &[f64]| {
            let mut gradient = gradient.to_vec();
            reference.preconditioner.to_variables(&mut gradient);
            gradient
        };
        let (mut kept, mut kept_for) = (Basis::default(), Vec::new());
        for objective in (1..values.len()).filter(|i| held >> i & 1 == 1) {
            let roots = problem.roots_of(objective)?.at(point)?;
            for (gradient, value) in roots.gradients.iter().zip(roots.values) {
                let gradient = in_variables(gradient);
                if kept
                    .push(&Preconditioner::Identity, gradient, value, 1e-12)
                    .is_some()
                {
                    kept_for.push(objective);
                }
            }
            // The relative decrease of an objective is twice that of its roots.
            for (axis, _) in (kept.axes.iter_mut().zip(&kept_for)).filter(|(_, k)| **k == objective)
            {
                axis.value /= 2.0 * values[objective];
            }
        }
        let mut rows = Vec::new();
        let now = (1..values.len()).map(|i| (i, gradients[i]));
        let before = before.iter().map(|(i, gradient)| (*i, gradient.as_slice()));
        for (objective, gradient) in now.chain(before).filter(|(i, _)| held >> i & 1 == 0) {
            let mut unit = in_variables(gradient);
            let norm = dot(&unit, &unit).sqrt();
            if norm > 0.0 && norm.is_finite() {
                unit.iter_mut().for_each(|g| *g /= norm);
                let free = within(&kept, unit.clone());
                rows.push(Row {
                    objective,
                    value: values[objective],
                    norm,
                    solved: free.clone(),
                    free,
                    unit,
                });
            }
        }
        let loss = in_variables(gradients[0]);
        let free_loss = within(&kept, loss.clone());
        let mut model = Self {
            reference,
            solved_loss: free_loss.clone(),
            free_loss,
            loss,
            rows,
            kept,
            kept_for,
        };
        model.bend();
        Ok(model)
    }

    /// Includes the curvature of the other objectives: B = I + Σ νᵢHᵢ, with the multipliers for B =
    /// I.
    fn bend(&mut self) {
        let multipliers = self.multipliers(1.0, &vec![0.0; self.rows.len()]);
        let mut directions: Vec<Vec<f64>> = Vec::new();
        for (row, multiplier) in self.rows.iter().zip(multipliers) {
            let length = (multiplier / row.norm).sqrt();
            if length > 0.0 && length.is_finite() {
                for curved in &self.reference.curved[row.objective] {
                    let mut direction = within(&self.kept, curved.clone());
                    direction.iter_mut().for_each(|d| *d *= length);
                    directions.push(direction);
                }
            }
        }
        // By the Woodbury identity, B⁻¹ = I − Uᵀ(I + UUᵀ)⁻¹U.
        let k = directions.len();
        let mut inner = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..=i {
                inner[i * k + j] = dot(&directions[i], &directions[j]);
            }
            inner[i * k + i] += 1.0;
        }
        let Some(factor) = Cholesky::new(inner, k).filter(|_| k > 0) else {
            return;
        };
        let solve = |v: &mut Vec<f64>| {
            let mut inner: Vec<f64> = directions.iter().map(|d| dot(d, v)).collect();
            factor.solve(&mut inner);
            for (direction, weight) in directions.iter().zip(inner) {
                add(v, -weight, direction);
            }
        };
        solve(&mut self.solved_loss);
        self.rows.iter_mut().for_each(|row| solve(&mut row.solved));
    }

    /// Multipliers ν ≥ 0 of the rows for which d = −B⁻¹(length · ∇f₁ + Σ νᵢ∇fᵢ) has ∇fᵢ · d ≤
    /// bounds, by coordinate descent on the dual, which tolerates dependent rows.
    fn multipliers(&self, length: f64, bounds: &[f64]) -> Vec<f64> {
        let rows = &self.rows;
        let gram: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| rows.iter().map(|r| dot(&row.free, &r.solved)).collect())
            .collect();
        let along: Vec<f64> = rows
            .iter()
            .map(|row| length * dot(&row.free, &self.solved_loss))
            .collect();
        let mut multipliers = vec![0.0; rows.len()];
        for _ in 0..DUAL {
            let mut change: f64 = 0.0;
            for i in 0..rows.len() {
                if gram[i][i] > 1e-14 {
                    let rest = dot(&gram[i], &multipliers) - gram[i][i] * multipliers[i];
                    let new = (-(rest + along[i] + bounds[i]) / gram[i][i]).max(0.0);
                    change = change.max((new - multipliers[i]).abs());
                    multipliers[i] = new;
                }
            }
            let largest = multipliers.iter().copied().fold(0.0, f64::max);
            if change <= 1e-15 * largest {
                break;
            }
        }
        multipliers
    }

    /// The step that lowers the loss most while no other objective rises, to the order of the
    /// model. `lower` is how much each of them should fall instead, which compensates for the terms
    /// that the model neglects. Returns the step and the promised decrease of the loss.
    pub(super) fn tangent(&self, length: f64, lower: &[f64]) -> (Vec<f64>, f64) {
        let mut step = vec![0.0; self.loss.len()];
        for (axis, objective) in self.kept.axes.iter().zip(&self.kept_for) {
            let back = lower[*objective] * axis.value;
            if back.is_finite() {
                add(&mut step, -back, &axis.direction);
            }
        }
        let bounds: Vec<f64> = self
            .rows
            .iter()
            .map(|row| {
                // Slightly more than required, so that rounding does not cause a rise.
                let lower = lower[row.objective] + 1e-14 * row.value.abs();
                -lower / row.norm - dot(&row.unit, &step)
            })
            .collect();
        let multipliers = self.multipliers(length, &bounds);
        add(&mut step, -length, &self.solved_loss);
        for (row, multiplier) in self.rows.iter().zip(multipliers) {
            add(&mut step, -multiplier, &row.solved);
        }
        self.finish(step)
    }

    /// The step along which all objectives fall: the min-norm direction.
    pub(super) fn common(&self, length: f64) -> (Vec<f64>, f64) {
        let rows = &self.rows[..self.rows.len().min(MOST_OBJECTIVES - 1)];
        let mut solver = MinNorm::new(1 + rows.len(), self.loss.len());
        solver.push(&self.free_loss, 1.0, &Preconditioner::Identity);
        for row in rows {
            // For a square, ‖∇f‖²/(2f) is its curvature; that of the loss is 1.
            let curvature = row.norm * row.norm / (2.0 * row.value);
            let scale = match curvature.is_finite() && curvature > 0.0 {
                true => row.norm / curvature,
                false => row.norm,
            };
            solver.push(&row.free, scale, &Preconditioner::Identity);
        }
        solver.solve();
        let mut step = vec![0.0; self.loss.len()];
        solver.direction(&mut step);
        step.iter_mut().for_each(|s| *s *= -length);
        self.finish(step)
    }

    fn finish(&self, mut step: Vec<f64>) -> (Vec<f64>, f64) {
        let fall = -dot(&self.loss, &step);
        self.reference.preconditioner.to_params(&mut step);
        (step, fall)
    }
}

/// The part of a vector that leaves the held objectives unchanged.
fn within(kept: &Basis, mut v: Vec<f64>) -> Vec<f64> {
    kept.project_gradient(&mut v);
    v
}
