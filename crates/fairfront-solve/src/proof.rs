//! Optimality proofs for the points of a front.

use fairfront_core::{Gradients, LANES, Points, Preconditioner, Problem, Roots};
use fairfront_pareto::{ranges, select_spread};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::basis::Basis;
use crate::checkpoint::exact;
use crate::descend::{add, dot, energy};
use crate::{Error, Front, MinNorm, Remainder};

/// Objectives below this share of their largest value are also treated as zeros in a second
/// attempt.
const SMALL: f64 = 1e-6;

/// Number of points at which second derivatives are computed, for bounds on them everywhere else.
const ANCHORS: usize = 12;

/// The optimality proof of a point x̂.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// λ on the simplex with the shortest Σ λᵢ∇fᵢ(x̂).
    #[serde(with = "exact")]
    pub multipliers: Vec<f64>,
    /// The length of that sum: 0 at a stationary point.
    #[serde(with = "exact")]
    pub residual: f64,
    /// The optimality gap, a proven bound for convex problems: no x has f1(x) < f1(x̂) − `gap` with
    /// fᵢ(x) ≤ fᵢ(x̂) for all others. `None` if nothing is proven.
    #[serde(with = "exact")]
    pub gap: Option<f64>,
}

/// Computes the optimality proofs of all points.
///
/// With multipliers ν ≥ 0, N(x) = f1(x) + Σ νᵢ∇fᵢ(x̂)·(x − x̂) is at most f1 wherever the others
/// are convex and no worse than at x̂. If f1 − ½ Σ μⱼxⱼ² is convex too, then, with g = ∇N(x̂), N(x)
/// ≥ f1(x̂) + g·(x − x̂) + ½ Σ μⱼ(xⱼ − x̂ⱼ)². The smallest value of this bound is f1(x̂) minus the
/// gap, to which each parameter adds gⱼ²/(2μⱼ), or |gⱼ| times how far it can be from x̂ⱼ. The
/// gradient of an objective that is 0 at x̂ vanishes there; multipliers of the functions whose
/// square it is, or that are 0 together with it, take its place.
///
/// The intercept b has no modulus. N has the curvature of f1, since its other terms are linear.
/// With κ = ∂²f1/∂b² at x̂, the minimum along b is at most δ = `−log(1 − |g_b|/κ)` away. There, the
/// other gradients have changed by at most δ times a coupling R, so `|g_b|δ + (‖g′‖ + δR)²/(2μ)` is
/// also a gap, where g′ is the gradient with respect to the others. docs/explanation/method.md has
/// the proof.
pub fn prove(problem: &dyn Problem, front: &Front) -> Result<Vec<Proof>, Error> {
    let all = prove_unless(problem, front, &|| false)?;
    Ok(all.unwrap_or_default())
}

/// As [`prove`], but `None` if a stop came before all proofs were done and the rest would take
/// long.
pub fn prove_unless_stopped(
    problem: &dyn Problem,
    front: &Front,
    remainder: &Remainder,
) -> Result<Option<Vec<Proof>>, Error> {
    prove_unless(problem, front, &|| remainder.leaves_out(front.len()))
}

fn prove_unless(
    problem: &dyn Problem,
    front: &Front,
    is_over: IsOver,
) -> Result<Option<Vec<Proof>>, Error> {
    let all: Vec<usize> = (0..front.len()).collect();
    match Evaluated::unless(problem, &front.points, is_over)? {
        Some(evaluated) => evaluated.prove_front(&all, front, is_over),
        None => Ok(None),
    }
}

/// Returns whether to skip the remaining work.
type IsOver<'a> = &'a (dyn Fn() -> bool + Sync);

/// Points with values and gradients of all objectives.
pub(crate) struct Evaluated<'a> {
    problem: &'a dyn Problem,
    points: &'a Points,
    /// For every block of [`LANES`] points.
    blocks: Vec<(Vec<f64>, Gradients)>,
}

impl<'a> Evaluated<'a> {
    /// Evaluates points; `None` if the work was stopped before all of them were evaluated.
    pub(crate) fn unless(
        problem: &'a dyn Problem,
        points: &'a Points,
        is_over: IsOver,
    ) -> Result<Option<Self>, Error> {
        let numbers: Vec<usize> = (0..points.len()).collect();
        let blocks: Option<Vec<_>> = numbers
            .par_chunks(LANES)
            .map(|block| match is_over() {
                true => Ok(None),
                false => Ok(Some(problem.evaluate(&points.select(block))?)),
            })
            .collect::<Result<_, Error>>()?;
        Ok(blocks.map(|blocks| Self {
            problem,
            points,
            blocks,
        }))
    }

    /// Values of all points.
    pub(crate) fn values(&self) -> Vec<f64> {
        self.blocks.iter().flat_map(|(v, _)| v.clone()).collect()
    }

    /// Proofs for a front of some of these points, computed from the front alone; `None` if the
    /// work was stopped before all of them were done.
    pub(crate) fn prove_front(
        &self,
        kept: &[usize],
        front: &Front,
        is_over: IsOver,
    ) -> Result<Option<Vec<Proof>>, Error> {
        match anchors(self.problem, front, is_over)? {
            Some(anchors) => self.prove(kept, &anchors, is_over),
            None => Ok(None),
        }
    }

    /// Proofs for some of the points, with second derivatives known at the anchors; `None` if the
    /// work was stopped before all of them were done.
    pub(crate) fn prove(
        &self,
        kept: &[usize],
        anchors: &[Anchor],
        is_over: IsOver,
    ) -> Result<Option<Vec<Proof>>, Error> {
        let m = self.problem.n_objectives();
        let mut largest = vec![0.0; m];
        for &point in kept {
            for (largest, value) in largest.iter_mut().zip(self.value(point)) {
                *largest = f64::max(*largest, *value);
            }
        }
        let blocks: Option<Vec<Vec<Proof>>> = kept
            .par_chunks(LANES)
            .map(|block| match is_over() {
                true => Ok(None),
                false => self.prove_block(block, &largest, anchors).map(Some),
            })
            .collect::<Result<_, Error>>()?;
        Ok(blocks.map(|blocks| blocks.into_iter().flatten().collect()))
    }

    fn value(&self, point: usize) -> &[f64] {
        let (m, lane) = (self.problem.n_objectives(), point % LANES);
        &self.blocks[point / LANES].0[lane * m..(lane + 1) * m]
    }

    fn prove_block(
        &self,
        block: &[usize],
        largest: &[f64],
        anchors: &[Anchor],
    ) -> Result<Vec<Proof>, Error> {
        let (m, n) = (self.problem.n_objectives(), self.problem.n_params());
        let mut min_norm = MinNorm::new(m, n);
        let mut direction = vec![0.0; n];
        let mut proofs = Vec::with_capacity(block.len());
        for &point in block {
            let gradients = &self.blocks[point / LANES].1;
            let gradients: Vec<&[f64]> = (0..m).map(|i| gradients.get(i, point % LANES)).collect();
            min_norm.clear();
            for gradient in &gradients {
                min_norm.push(gradient, 1.0, &Preconditioner::Identity);
            }
            let multipliers = min_norm.solve().to_vec();
            direction.fill(0.0);
            for (lambda, gradient) in multipliers.iter().zip(&gradients) {
                for (d, g) in direction.iter_mut().zip(*gradient) {
                    *d += lambda * g;
                }
            }
            let (x, values) = (self.points.get(point), self.value(point));
            proofs.push(Proof {
                residual: dot(&direction, &direction).sqrt(),
                gap: gap(self.problem, x, values, &gradients, largest, anchors)?,
                multipliers,
            });
        }
        Ok(proofs)
    }
}

fn gap(
    problem: &dyn Problem,
    x: &[f64],
    values: &[f64],
    gradients: &[&[f64]],
    largest: &[f64],
    anchors: &[Anchor],
) -> Result<Option<f64>, Error> {
    let convex = |i: usize| {
        problem
            .convex_below(i)
            .is_some_and(|level| values[i] <= level)
    };
    if !(0..values.len()).all(convex) {
        return Ok(None);
    }
    let Some(bounds) = problem.bounds(values[0])? else {
        return Ok(None);
    };
    let shortfall = |gradient: &[f64]| -> f64 {
        let each = gradient
            .iter()
            .zip(x)
            .zip(bounds.modulus.iter().zip(&bounds.radius));
        each.map(|((g, x), (modulus, radius))| match *g == 0.0 {
            true => 0.0,
            false => (g * g / (2.0 * modulus)).min(g.abs() * (radius + x.abs())),
        })
        .sum()
    };
    let by_curvature = |gradient: &[f64]| -> Option<f64> {
        let free = free_parameter(&bounds.modulus)?;
        let curvatures = anchors.iter().map(|anchor| anchor.curvature_at(x, free));
        let kappa = curvatures.fold(0.0, f64::max);
        let along = gradient[free].abs();
        let distance = -(-along / kappa).ln_1p();
        if along >= kappa || kappa.is_nan() {
            return None;
        }
        let others = gradient.iter().enumerate().filter(|(j, _)| *j != free);
        let modulus = bounds.modulus.iter().copied().filter(|m| *m > 0.0);
        let modulus = modulus.fold(f64::INFINITY, f64::min);
        let length = others.map(|(_, g)| g * g).sum::<f64>().sqrt();
        let length = length + distance * bounds.coupling?;
        Some(along * distance + length * length / (2.0 * modulus))
    };
    // Affine roots of each objective, the largest absolute value that they have at points that are not worse
    // than x, and the largest square that they can have at points as far from 0 as x.
    let mut known: Vec<Option<(Roots, f64, f64)>> = vec![None; values.len()];
    for i in 1..values.len() {
        let found = match problem.n_roots(i) {
            0 => problem.bound().and_then(|b| b.zeros(i, x, values[i])),
            // A smooth maximum of k squares is at least 1/k of the largest.
            k => Some((
                problem.roots_of(i)?.at(x)?,
                (k as f64 * values[i].max(0.0)).sqrt(),
            )),
        };
        if let Some((roots, reach)) = found.filter(|(roots, _)| roots.affine) {
            let squares = roots.gradients.iter().map(|g| dot(g, g) * dot(x, x));
            let size = squares.fold(0.0, f64::max);
            known[i] = Some((roots, reach, size));
        }
    }
    let mut best = f64::INFINITY;
    // Three attempts: no zeros; zeros relative to other points of the front; zeros relative to the
    // largest possible values.
    for attempt in 0..3 {
        let mut columns: Vec<Column> = Vec::new();
        let mut any = false;
        for i in 1..values.len() {
            let zero = |size: f64| match attempt {
                0 => false,
                1 => values[i] <= SMALL * largest[i],
                _ => values[i] <= SMALL * size,
            };
            match known[i].as_ref().filter(|(_, _, size)| zero(*size)) {
                Some((roots, reach, _)) => {
                    any = true;
                    let pairs = roots.values.iter().zip(&roots.gradients);
                    columns.extend(pairs.map(|(value, gradient)| Column {
                        gradient: gradient.clone(),
                        slack: Some(value.abs() + reach),
                    }));
                }
                None => columns.push(Column {
                    gradient: gradients[i].to_vec(),
                    slack: None,
                }),
            }
        }
        if attempt > 0 && !any {
            continue;
        }
        let (left, nu) = balance(gradients[0], &columns);
        let slack: f64 = columns
            .iter()
            .zip(&nu)
            .map(|(column, nu)| column.slack.map_or(0.0, |slack| nu.abs() * slack))
            .sum();
        let found = shortfall(&left).min(by_curvature(&left).unwrap_or(f64::INFINITY)) + slack;
        if found < best {
            best = found;
        }
    }
    // The rounding error of the value itself.
    let gap = best + f64::EPSILON * values[0].abs();
    Ok(Some(gap).filter(|gap| gap.is_finite()))
}

/// The parameter without a modulus, if there is exactly one.
fn free_parameter(modulus: &[f64]) -> Option<usize> {
    let mut free = modulus.iter().enumerate().filter(|(_, m)| **m == 0.0);
    match (free.next(), free.next()) {
        (Some((only, _)), None) => Some(only),
        _ => None,
    }
}

/// A point at which second derivatives of the loss are known.
pub(crate) struct Anchor {
    x: Vec<f64>,
    lower: Vec<f64>,
}

impl Anchor {
    pub(crate) fn new(x: Vec<f64>, lower: Vec<f64>) -> Self {
        Self { x, lower }
    }

    /// A lower bound of ∂²f1/∂b² at another point. With weights σ′ at the anchor, scores move by
    /// √(ΔᵀHΔ/κ) on average, and σ′ falls by at most a factor of e to that power.
    fn curvature_at(&self, x: &[f64], free: usize) -> f64 {
        let n = x.len();
        let kappa = self.lower[free * n + free];
        let moved: Vec<f64> = x.iter().zip(&self.x).map(|(x, a)| x - a).collect();
        let energy = energy(&self.lower, &moved).max(0.0);
        kappa * (-(energy / kappa).sqrt()).exp()
    }
}

/// Well-spread anchors along a front, if there are second derivatives; `None` if the work was
/// stopped first.
fn anchors(
    problem: &dyn Problem,
    front: &Front,
    is_over: IsOver,
) -> Result<Option<Vec<Anchor>>, Error> {
    let known = problem.bounds(front.values.first().copied().unwrap_or(0.0))?;
    let coupled =
        known.is_some_and(|b| b.coupling.is_some() && free_parameter(&b.modulus).is_some());
    if !coupled || front.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let values = front.judged()?;
    let mut anchors = Vec::new();
    for i in select_spread(values, ANCHORS, &ranges(values, None)) {
        if is_over() {
            return Ok(None);
        }
        let x = front.points.get(i);
        if let Some(facet) = problem.second_order() {
            anchors.push(Anchor::new(x.to_vec(), facet.expand(x)?.lower));
        }
    }
    Ok(Some(anchors))
}

/// A gradient that may balance the gradient of the loss.
struct Column {
    gradient: Vec<f64>,
    /// For a root, whose multiplier may have either sign: how far it can be from its current value.
    /// The multiplier of an objective itself is not negative.
    slack: Option<f64>,
}

/// Multipliers that leave little of a gradient, and the remainder: least squares without
/// multipliers of the wrong sign. Any multipliers are valid; better ones give a smaller gap.
fn balance(gradient: &[f64], columns: &[Column]) -> (Vec<f64>, Vec<f64>) {
    let mut active: Vec<usize> = (0..columns.len()).collect();
    loop {
        let nu = least_squares(gradient, columns, &active);
        let wrong = active
            .iter()
            .copied()
            .filter(|i| columns[*i].slack.is_none() && nu[*i] < 0.0)
            .min_by(|a, b| nu[*a].total_cmp(&nu[*b]));
        let Some(wrong) = wrong else {
            let mut left = gradient.to_vec();
            for (column, nu) in columns.iter().zip(&nu) {
                for (l, g) in left.iter_mut().zip(&column.gradient) {
                    *l += nu * g;
                }
            }
            return (left, nu);
        };
        active.retain(|i| *i != wrong);
    }
}

/// ν with the shortest gradient + Σ νᵢ columnᵢ over the active columns, by orthogonalizing them;
/// columns in the span of others get 0.
fn least_squares(gradient: &[f64], columns: &[Column], active: &[usize]) -> Vec<f64> {
    let mut nu = vec![0.0; columns.len()];
    let mut basis = Basis::default();
    let mut made: Vec<(usize, Vec<f64>)> = Vec::new();
    for &i in active {
        let own = columns[i].gradient.clone();
        if let Some(parts) = basis.push(&Preconditioner::Identity, own, 0.0, 1e-20) {
            made.push((i, parts));
        }
    }
    let mut goal: Vec<f64> = Vec::with_capacity(made.len());
    let mut left = gradient.to_vec();
    for axis in &basis.axes {
        let part = dot(&left, &axis.direction);
        goal.push(-part);
        add(&mut left, -part, &axis.direction);
    }
    for k in (0..made.len()).rev() {
        let (i, parts) = &made[k];
        let value = goal[k] / parts[k];
        nu[*i] = value;
        for (goal, part) in goal.iter_mut().zip(&parts[..k]) {
            *goal -= value * part;
        }
    }
    nu
}
