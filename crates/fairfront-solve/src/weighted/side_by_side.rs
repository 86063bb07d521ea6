//! Descents from many points at once, for losses with several minima.

use fairfront_core::{LANES, Points, Precision, Problem};

use super::ROUGH;
use super::descent::Descent;
use crate::Error;
use crate::outcome::{Counters, StopSignal};
use crate::remainder::Remainder;

/// Number of points from which a loss with several minima is minimized.
const STARTS: usize = 8;
/// Most steps of each of these descents.
const STEPS: usize = 150;
/// A descent ends when a step lowers its sum by less than this share.
const TOLERANCE: f64 = 1e-5;

/// When descents end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DescentLimits {
    /// Most steps.
    pub most_steps: usize,
    /// A descent ends when a step lowers its sum by less than this share. Above 1e-6, the steps
    /// use single precision.
    pub tolerance: f64,
}

/// Minimizes a weighted sum of the objectives from each of these points, all of them side by side,
/// with `n_objectives` weights per point. Returns the ends of the descents, and their sums.
/// After a stop, these are the points reached so far.
pub fn minimize_sums(
    problem: &dyn Problem,
    starts: &Points,
    weights: &[f64],
    limits: DescentLimits,
    stop: &StopSignal,
) -> Result<(Points, Vec<f64>), Error> {
    let (m, n) = (problem.n_objectives(), problem.n_params());
    let mut ends = Points::new(n);
    let mut sums = Vec::with_capacity(starts.len());
    if starts.is_empty() {
        return Ok((ends, sums));
    }
    let preconditioner = problem.preconditioner(starts.get(0))?;
    let precision = match limits.tolerance < ROUGH {
        true => Precision::Exact,
        false => Precision::Rough,
    };
    let of_points = starts.iter().zip(weights.chunks_exact(m));
    let mut descents: Vec<Descent> = of_points
        .map(|(x, weights)| Descent::new(x.to_vec(), weights.to_vec()))
        .collect();
    let limits = (limits.most_steps, limits.tolerance);
    while !stop.is_set() {
        let open: Vec<usize> = (0..descents.len()).filter(|i| !descents[*i].done).collect();
        if open.is_empty() {
            break;
        }
        let mut trials = Points::new(n);
        let mut of_trials = Vec::with_capacity(open.len() * m);
        for i in &open {
            trials.push(&descents[*i].trial());
            of_trials.extend_from_slice(&descents[*i].weights);
        }
        let (values, gradients) = problem.weighted(&trials, &of_trials, precision)?;
        for (place, i) in open.iter().enumerate() {
            let values = &values[place * m..(place + 1) * m];
            let gradient = &gradients[place * n..(place + 1) * n];
            let trial = trials.get(place).to_vec();
            descents[*i].take(trial, values, gradient, &preconditioner, limits);
        }
    }
    descents.iter().for_each(|descent| ends.push(&descent.x));
    let values = problem.values(&ends)?;
    for (descent, values) in descents.iter().zip(values.chunks_exact(m)) {
        sums.push(crate::descend::dot(values, &descent.weights));
    }
    Ok((ends, sums))
}

/// The point from which to search for the minimum of the first objective. If it has several
/// minima, this is the best of short descents from several points.
pub(crate) fn best_start(
    problem: &dyn Problem,
    counters: &mut Counters,
    stop: &StopSignal,
) -> Result<Vec<f64>, Error> {
    let over = Remainder::new(problem, stop.clone()).signal(LANES);
    let first = problem.start(&over)?;
    let Some(more) = problem.more_starts(STARTS - 1) else {
        return Ok(first);
    };
    let m = problem.n_objectives();
    let mut starts = Points::from_vec(first.len(), first);
    more.iter().for_each(|start| starts.push(start));
    let mut weights = vec![0.0; starts.len() * m];
    weights.iter_mut().step_by(m).for_each(|w| *w = 1.0);
    let limits = DescentLimits {
        most_steps: STEPS,
        tolerance: TOLERANCE,
    };
    let (ends, sums) = minimize_sums(problem, &starts, &weights, limits, &over)?;
    counters.evaluations += (starts.len() * STEPS) as u64;
    let order = |a: &usize, b: &usize| sums[*a].total_cmp(&sums[*b]);
    let best = (0..ends.len()).min_by(order).unwrap_or(0);
    Ok(ends.get(best).to_vec())
}
