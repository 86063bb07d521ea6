//! One subproblem: minimizes the loss under bounds on the covariances by sequential quadratic
//! programming.

use fairfront_core::{Preconditioner, Problem};

use super::EpsFair;
use super::curvature::Curvature;
use super::evaluation::{Evaluated, Slopes};
use super::multiplier::Dual;
use crate::Error;
use crate::descend::{add, dot};
use crate::outcome::StopSignal;

/// The largest multiplier, as a share of the loss at 0 per unmitigated covariance. Bounds that
/// would need a larger one contradict each other, at least to first order.
const LIMIT: f64 = 1e6;
/// The smallest weight of an exceeded bound in the merit of a point, in the same unit.
const LEAST_WEIGHT: f64 = 1e-2;
/// A step must achieve at least this share of its promised progress.
const PROGRESS: f64 = 1e-4;
/// Steps shorter than this share of the full step are not tried.
const SHORTEST: f64 = 1e-10;
/// The smallest progress that stands out from rounding, as a share of a point's merit.
const ROUNDING: f64 = 1e-15;

/// The settings and numbers that all subproblems share.
pub(super) struct Setup<'a> {
    pub(super) problem: &'a dyn Problem,
    pub(super) settings: &'a EpsFair,
    /// Whether all bounded covariances are affine in the parameters.
    pub(super) affine: bool,
    /// Whether steps use second derivatives of the loss, which are those of the Lagrangian if the
    /// covariances are affine. Otherwise steps learn from gradients.
    pub(super) newton: bool,
    /// The preconditioner that scales the variables of a subproblem.
    pub(super) preconditioner: Preconditioner,
    /// The Hessian of the loss at the unmitigated model in these variables, regardless of the
    /// settings: it converts gradients to amounts of loss. Newton's method does not need it.
    pub(super) loss_preconditioner: Preconditioner,
    /// The unmitigated model's largest covariance of each fairness objective.
    pub(super) largest: Vec<f64>,
    /// For each fairness objective, whether there is anything to bound.
    pub(super) bounded: Vec<bool>,
    /// The loss at x = 0; tolerances are shares of it.
    pub(super) loss_scale: f64,
    pub(super) stop: StopSignal,
}

/// The result of a subproblem.
pub(super) struct Solution {
    pub(super) point: Vec<f64>,
    pub(super) solved: bool,
    /// Whether it was stopped; the point is then meaningless.
    pub(super) stopped: bool,
    /// Number of points evaluated.
    pub(super) evaluations: u64,
    /// Number of gradients of the loss, and of every covariance.
    pub(super) gradients: u64,
}

/// The minimum of the quadratic model at a point.
struct Step {
    direction: Vec<f64>,
    /// λ: positive if a covariance is held at ε, negative if it is held at −ε.
    multipliers: Vec<f64>,
    /// The gradient of the Lagrangian, ∇f₁ + Σ λₖ∇cₖ: minus the Hessian times the direction.
    rest: Vec<f64>,
}

/// A subproblem while it is being solved.
pub(super) struct Work<'a> {
    pub(super) setup: &'a Setup<'a>,
    pub(super) start: &'a [f64],
    /// ε of each bounded covariance, as a share of the unmitigated model's.
    pub(super) bounds: Vec<f64>,
    /// The cost of exceeding each bound in the merit of a point.
    pub(super) weights: Vec<f64>,
    /// Number of evaluations as the settings count them: a gradient by differences counts as one.
    pub(super) calls: usize,
    pub(super) evaluations: u64,
    pub(super) gradients: u64,
}

/// How a subproblem ended.
enum End {
    Solved(Evaluated),
    Failed(Evaluated),
    Stopped,
}

impl Setup<'_> {
    /// Solves min f₁ subject to |c| ≤ ε for every covariance c, from `start`, with one ε per
    /// fairness objective. The variables are v with x = start + L⁻ᵀv.
    pub(super) fn solve(&self, bounds: &[f64], start: &[f64]) -> Result<Solution, Error> {
        // The gradient of a covariance that is not affine may vanish with it, and no multiplier is
        // large enough to hold it at 0. Aiming for half of the tolerance avoids this.
        let aim = match self.affine {
            true => 0.0,
            false => 0.5 * self.settings.feasibility,
        };
        let of_root = |objective: usize| bounds[objective] / self.scale(objective) + aim;
        let bounds: Vec<f64> = self.roots().map(of_root).collect();
        let mut work = Work {
            setup: self,
            start,
            weights: vec![LEAST_WEIGHT * self.loss_scale; bounds.len()],
            bounds,
            calls: 0,
            evaluations: 0,
            gradients: 0,
        };
        let (point, solved, stopped) = match work.solve()? {
            End::Solved(there) => (work.point(&there.variables), true, false),
            End::Failed(there) => (work.point(&there.variables), false, false),
            End::Stopped => (start.to_vec(), false, true),
        };
        Ok(Solution {
            point,
            solved,
            stopped,
            evaluations: work.evaluations,
            gradients: work.gradients,
        })
    }

    pub(super) fn scale(&self, objective: usize) -> f64 {
        match self.largest[objective] {
            largest if largest > 0.0 => largest,
            _ => 1.0,
        }
    }

    /// The fairness objectives that have bounds.
    pub(super) fn objectives(&self) -> impl Iterator<Item = usize> {
        (0..self.bounded.len()).filter(|objective| self.bounded[*objective])
    }

    /// The fairness objective of each bounded covariance.
    fn roots(&self) -> impl Iterator<Item = usize> {
        let of = |objective| vec![objective; self.problem.n_roots(objective + 1)];
        self.objectives().flat_map(of)
    }
}

impl Work<'_> {
    fn solve(&mut self) -> Result<End, Error> {
        let Setup { settings, stop, .. } = self.setup;
        if stop.is_set() {
            return Ok(End::Stopped);
        }
        let n = self.start.len();
        let tolerance = settings.tolerance * self.setup.loss_scale;
        let mut here = self.evaluate(vec![0.0; n], true)?;
        let mut curvature = Curvature::identity(n);
        let mut multipliers = vec![0.0; self.bounds.len()];
        while let Some(slopes) = &here.slopes {
            if stop.is_set() {
                return Ok(End::Stopped);
            }
            if let Some(exact) = slopes.second_order.as_ref().map(Curvature::exact) {
                let Some(exact) = exact else { break };
                curvature = exact;
            }
            let step = self.step(&curvature, slopes, &here.roots, &multipliers);
            let Some(step) = step else { break };
            self.weigh(&step.multipliers);
            let is_feasible = self.excess(&here) <= settings.feasibility;
            let gap = self.gap(&curvature, &here, &step);
            if is_feasible && gap <= tolerance {
                return Ok(End::Solved(self.last(here, &step)?));
            }
            match self.search(&curvature, &here, step)? {
                Some((there, step, length)) => {
                    let there = match there.slopes {
                        None if self.may_evaluate() => self.evaluate(there.variables, true)?,
                        _ => there,
                    };
                    learn(&mut curvature, &here, &there, &step, length);
                    multipliers = step.multipliers;
                    here = there;
                }
                None if stop.is_set() => return Ok(End::Stopped),
                None if !self.may_evaluate() => break,
                // The learned curvature may be wrong here: restart with the identity.
                None if curvature.has_learned() => curvature = Curvature::identity(n),
                // At the minimum to working precision: its loss is known up to a few roundings.
                None if is_feasible && gap <= 1e-14 * self.setup.loss_scale => {
                    return Ok(End::Solved(here));
                }
                None => break,
            }
        }
        match stop.is_set() {
            true => Ok(End::Stopped),
            false => Ok(End::Failed(here)),
        }
    }

    /// The step of the quadratic model: min g·d + ½ dᵀWd subject to |cₖ + aₖ·d| ≤ εₖ, by its dual.
    /// `None` if numbers are not finite.
    fn step(
        &self,
        curvature: &Curvature,
        slopes: &Slopes,
        roots: &[f64],
        multipliers: &[f64],
    ) -> Option<Step> {
        let k = roots.len();
        let mut direction = curvature.solve(&slopes.gradient);
        let solved: Vec<Vec<f64>> = slopes.roots.iter().map(|a| curvature.solve(a)).collect();
        let mut matrix = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..=i {
                matrix[i * k + j] = dot(&slopes.roots[i], &solved[j]);
                matrix[j * k + i] = matrix[i * k + j];
            }
        }
        let linear: Vec<f64> = (slopes.roots.iter().zip(roots))
            .map(|(a, c)| dot(a, &direction) - c)
            .collect();
        let dual = Dual {
            matrix: &matrix,
            linear: &linear,
            bounds: &self.bounds,
            limit: LIMIT * self.setup.loss_scale,
        };
        let multipliers = dual.solve(multipliers)?;
        let mut rest = slopes.gradient.clone();
        for (i, lambda) in multipliers.iter().enumerate() {
            add(&mut direction, *lambda, &solved[i]);
            add(&mut rest, *lambda, &slopes.roots[i]);
        }
        direction.iter_mut().for_each(|d| *d = -*d);
        let is_finite = direction.iter().all(|d| d.is_finite());
        is_finite.then_some(Step {
            direction,
            multipliers,
            rest,
        })
    }

    /// A point that achieves enough of the progress that the step promises, with the step that
    /// leads there and the share of it that was taken.
    fn search(
        &mut self,
        curvature: &Curvature,
        here: &Evaluated,
        step: Step,
    ) -> Result<Option<(Evaluated, Step, f64)>, Error> {
        let merit = self.merit(here);
        let promised = self.promise(here, &step);
        if promised.is_nan() || promised <= ROUNDING * merit.abs() {
            return Ok(None);
        }
        let mut length = 1.0;
        while length > SHORTEST && self.may_evaluate() {
            let there = self.along(here, &step, length)?;
            let enough = merit - PROGRESS * length * promised;
            if self.merit(&there) <= enough {
                return Ok(Some((there, step, length)));
            }
            // The minimum of the parabola through both merits with the promised slope; NaN is
            // ignored.
            let bend = self.merit(&there) - merit + length * promised;
            let lowest = 0.5 * promised * length * length / bend;
            let next = lowest.max(0.1 * length).min(0.5 * length);
            // Curved covariances may spoil a good step: correct it to meet the bounds at its end.
            if length == 1.0
                && !self.setup.affine
                && let Some(corrected) = self.correct(curvature, here, &step, &there)
                && self.may_evaluate()
            {
                let there = self.along(here, &corrected, length)?;
                if self.merit(&there) <= enough {
                    return Ok(Some((there, corrected, length)));
                }
            }
            length = next;
        }
        Ok(None)
    }

    /// The step of the same model with the covariances that another step actually reached.
    fn correct(
        &self,
        curvature: &Curvature,
        here: &Evaluated,
        step: &Step,
        there: &Evaluated,
    ) -> Option<Step> {
        let slopes = here.slopes.as_ref()?;
        let roots: Vec<f64> = (there.roots.iter().zip(&slopes.roots))
            .map(|(c, a)| c - dot(a, &step.direction))
            .collect();
        self.step(curvature, slopes, &roots, &step.multipliers)
    }

    /// Takes a last step from a solution: it costs one evaluation, and only rounding errors remain.
    fn last(&mut self, here: Evaluated, step: &Step) -> Result<Evaluated, Error> {
        if !self.may_evaluate() {
            return Ok(here);
        }
        let variables = moved(&here.variables, 1.0, &step.direction);
        let there = self.evaluate(variables, false)?;
        let is_better = self.merit(&there) <= self.merit(&here)
            && self.excess(&there) <= self.setup.settings.feasibility;
        Ok(if is_better { there } else { here })
    }

    fn along(&mut self, here: &Evaluated, step: &Step, length: f64) -> Result<Evaluated, Error> {
        let variables = moved(&here.variables, length, &step.direction);
        // Most full steps are accepted, so their derivatives are computed in the same pass as the
        // value.
        let whole = length == 1.0 && !self.setup.settings.finite_differences;
        self.evaluate(variables, whole)
    }

    fn may_evaluate(&self) -> bool {
        self.calls < self.setup.settings.most_evaluations && !self.setup.stop.is_set()
    }

    /// Updates the weights: exceeding a bound must cost at least as much as it saves; larger
    /// weights decay slowly.
    fn weigh(&mut self, multipliers: &[f64]) {
        let least = LEAST_WEIGHT * self.setup.loss_scale;
        for (weight, lambda) in self.weights.iter_mut().zip(multipliers) {
            let size = lambda.abs();
            *weight = size.max(0.5 * (*weight + size)).max(least);
        }
    }

    /// The loss plus the cost of exceeded bounds.
    fn merit(&self, at: &Evaluated) -> f64 {
        at.loss + self.cost(at.roots.iter().copied())
    }

    fn cost(&self, roots: impl Iterator<Item = f64>) -> f64 {
        let each = roots.zip(&self.bounds).zip(&self.weights);
        each.map(|((c, bound), weight)| weight * (c.abs() - bound).max(0.0))
            .sum()
    }

    /// The first-order decrease of the merit along a full step.
    fn promise(&self, here: &Evaluated, step: &Step) -> f64 {
        let Some(slopes) = &here.slopes else {
            return 0.0;
        };
        let linear =
            (here.roots.iter().zip(&slopes.roots)).map(|(c, a)| c + dot(a, &step.direction));
        let now = self.cost(here.roots.iter().copied());
        now - self.cost(linear) - dot(&slopes.gradient, &step.direction)
    }

    /// The largest amount by which a bound is exceeded, as a share of the unmitigated covariance.
    fn excess(&self, at: &Evaluated) -> f64 {
        let each = at.roots.iter().zip(&self.bounds);
        // A maximum would ignore NaN.
        each.map(|(c, bound)| {
            if c.is_nan() {
                f64::INFINITY
            } else {
                c.abs() - bound
            }
        })
        .fold(0.0, f64::max)
    }

    /// How much the loss could still fall within the bounds, to second order: by duality, ½‖∇f₁ + Σ
    /// λₖ∇cₖ‖² in the norm of the loss's own preconditioner and Σ (ε|λₖ| − λₖcₖ).
    fn gap(&self, curvature: &Curvature, here: &Evaluated, step: &Step) -> f64 {
        let square = match curvature {
            Curvature::Exact(_) => -dot(&step.rest, &step.direction),
            Curvature::Learned { .. } => {
                let mut rest = step.rest.clone();
                self.setup.loss_preconditioner.to_variables(&mut rest);
                dot(&rest, &rest)
            }
        };
        let each = step.multipliers.iter().zip(&here.roots).zip(&self.bounds);
        let slack: f64 = each
            .map(|((lambda, c), bound)| (lambda.abs() * bound - lambda * c).max(0.0))
            .sum();
        0.5 * square + slack
    }
}

/// Updates the curvature with the change of the Lagrangian's gradient along a step.
fn learn(curvature: &mut Curvature, here: &Evaluated, there: &Evaluated, step: &Step, length: f64) {
    let (Some(old), Some(new)) = (&here.slopes, &there.slopes) else {
        return;
    };
    let taken = moved(&there.variables, -1.0, &here.variables);
    let mut change = moved(&new.gradient, -1.0, &old.gradient);
    for (i, lambda) in step.multipliers.iter().enumerate() {
        add(&mut change, *lambda, &new.roots[i]);
        add(&mut change, -lambda, &old.roots[i]);
    }
    let expected: Vec<f64> = step.rest.iter().map(|r| -length * r).collect();
    curvature.learn(&taken, &change, &expected);
}

fn moved(from: &[f64], length: f64, direction: &[f64]) -> Vec<f64> {
    let each = from.iter().zip(direction);
    each.map(|(v, d)| v + length * d).collect()
}
