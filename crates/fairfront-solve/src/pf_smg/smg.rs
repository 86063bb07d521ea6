use fairfront_core::{Batches, LANES, Points, Preconditioner, Problem};
use rayon::prelude::*;

use super::PfSmg;
use crate::basis::Basis;
use crate::descend::dot;
use crate::ground::Ground;
use crate::outcome::{Counters, StopSignal};
use crate::{Error, MinNorm};

/// The direction of the steps of a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Down in all objectives at once: the min-norm direction.
    Common,
    /// Down in a single objective.
    Single(usize),
}

impl Way {
    pub(crate) fn uses(self, objective: usize) -> bool {
        self == Self::Common || self == Self::Single(objective)
    }
}

/// A block of at most [`LANES`] points that share their batches.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) starts: Points,
    /// For each point, the objectives that are 0 and stay 0, as bits.
    held: Vec<u32>,
    pub(crate) steps: usize,
    pub(crate) way: Way,
}

/// Starting points.
pub(crate) struct Starts {
    pub(crate) points: Points,
    /// For each point, the objectives that are 0 and stay 0, as bits.
    pub(crate) held: Vec<u32>,
}

impl Starts {
    /// Starting points without objectives that stay 0.
    pub(crate) fn free(points: Points) -> Self {
        Self {
            held: vec![0; points.len()],
            points,
        }
    }
}

impl Run {
    /// Restarts from all these points, in blocks whose number does not depend on the number of
    /// threads.
    pub(crate) fn from_all(starts: &Starts, steps: usize, way: Way) -> Vec<Self> {
        let positions: Vec<usize> = (0..starts.points.len()).collect();
        let run = |block: &[usize]| Self {
            starts: starts.points.select(block),
            held: block.iter().map(|i| starts.held[*i]).collect(),
            steps,
            way,
        };
        positions.chunks(LANES).map(run).collect()
    }
}

/// The progress of a solver at the beginning of a round.
pub(crate) struct Pace<'a> {
    pub(crate) round: usize,
    /// Number of steps of the trajectories so far.
    pub(crate) k: usize,
    /// Number of consecutive rounds without improvement (0 if they are not counted).
    pub(crate) idle: usize,
    pub(crate) stop: &'a StopSignal,
}

/// The scaling of steps: the preconditioner, the scale of each objective, and the directions that
/// must not change at its zero.
pub(crate) struct Frame {
    preconditioner: Preconditioner,
    scales: Vec<f64>,
    /// For each objective, the directions to keep.
    kept: Vec<Basis>,
}

impl Frame {
    pub(crate) fn new(
        problem: &dyn Problem,
        settings: &PfSmg,
        preconditioner: Preconditioner,
        ground: &Ground,
        counters: &mut Counters,
    ) -> Result<Self, Error> {
        let unmitigated = &ground.unmitigated;
        let m = problem.n_objectives();
        let mut frame = Self {
            preconditioner,
            scales: vec![1.0; m],
            kept: vec![Basis::default(); m],
        };
        if !settings.preconditioner {
            return Ok(frame);
        }
        let gradients = problem.gradients(&unmitigated.points, Batches::All)?;
        // If a covariance is only rounding, its curvature and directions are rounding too.
        for i in (1..m).filter(|i| !ground.fixed[*i]) {
            counters.gradient_evaluations[i] += 1;
            // For a square, ‖∇f‖²/(2f) is its curvature; in this norm, that of the loss is 1.
            let gradient = gradients.get(i, 0);
            let square = dot(gradient, &frame.stepped(gradient));
            let mut curvature = square / (2.0 * unmitigated.values[i]);
            if ground.fair[i] {
                // The curvature of c² at c = 0.
                let roots = problem
                    .roots_of(i)?
                    .at(unmitigated.points.get(0))?
                    .gradients;
                let curvatures = roots.iter().map(|g| 2.0 * dot(g, &frame.stepped(g)));
                curvature = curvatures.fold(0.0, f64::max);
            }
            if curvature.is_finite() && curvature > 0.0 {
                frame.scales[i] = 1.0 / curvature;
            }
            if problem.n_roots(i) > 0 {
                let roots = problem.roots_of(i)?.at(unmitigated.points.get(0))?;
                if roots.affine {
                    for gradient in roots.gradients {
                        frame.kept[i].push(&frame.preconditioner, gradient, 0.0, 1e-12);
                    }
                }
            }
        }
        Ok(frame)
    }

    pub(super) fn preconditioner(&self) -> &Preconditioner {
        &self.preconditioner
    }

    fn stepped(&self, gradient: &[f64]) -> Vec<f64> {
        let mut step = gradient.to_vec();
        self.preconditioner.step(&mut step);
        step
    }

    /// Removes the part of a step that would change the objectives held at 0; returns whether there
    /// was anything to keep.
    pub(super) fn project(&self, held: u32, step: &mut [f64]) -> bool {
        let mut any = false;
        for (i, basis) in self.kept.iter().enumerate() {
            if held >> i & 1 == 1 {
                basis.project_step(step);
                any |= !basis.axes.is_empty();
            }
        }
        any
    }

    /// Executes restarts on all threads; the end points are in the order of the restarts.
    pub(crate) fn execute(
        &self,
        problem: &dyn Problem,
        settings: &PfSmg,
        runs: &[Run],
        pace: &Pace,
    ) -> Result<Points, Error> {
        let ends: Vec<Points> = runs
            .par_iter()
            .enumerate()
            .map(|(number, run)| self.run(problem, settings, run, pace, number))
            .collect::<Result<_, _>>()?;
        let mut all = Points::new(problem.n_params());
        ends.iter()
            .flat_map(Points::iter)
            .for_each(|end| all.push(end));
        Ok(all)
    }

    fn run(
        &self,
        problem: &dyn Problem,
        settings: &PfSmg,
        run: &Run,
        pace: &Pace,
        number: usize,
    ) -> Result<Points, Error> {
        let m = problem.n_objectives();
        let mut points = run.starts.clone();
        let mut solver = MinNorm::new(m, problem.n_params());
        let mut step = vec![0.0; problem.n_params()];
        let calm = 1.5_f64.powi(pace.idle.min(40) as i32);
        for s in 0..run.steps {
            if pace.stop.is_set() {
                break;
            }
            let k = pace.k.saturating_add(s);
            let sizes = batch_sizes(settings, problem.n_rows(), m, k, calm);
            let batches = Batches::Sample {
                sizes: &sizes,
                key: (
                    settings.seed,
                    [pace.round as u64, ((number as u64) << 20) + s as u64],
                ),
                outer: settings.outer_batch,
            };
            let gradients = problem.gradients(&points, batches)?;
            let alpha = step_length(settings, k) / calm;
            for (i, held) in run.held.iter().enumerate() {
                solver.clear();
                match run.way {
                    Way::Single(objective) => {
                        let scale = self.scales[objective];
                        solver.push(gradients.get(objective, i), scale, &self.preconditioner);
                        solver.gradient_step(0, &mut step);
                    }
                    Way::Common => {
                        for objective in (0..m).filter(|o| held >> o & 1 == 0) {
                            let scale = self.scales[objective];
                            solver.push(gradients.get(objective, i), scale, &self.preconditioner);
                        }
                        solver.solve();
                        solver.direction(&mut step);
                        self.project(*held, &mut step);
                    }
                }
                let x = points.get_mut(i);
                x.iter_mut().zip(&step).for_each(|(x, s)| *x -= alpha * s);
            }
        }
        Ok(points)
    }
}

/// The step length α at step k.
fn step_length(settings: &PfSmg, k: usize) -> f64 {
    settings.step * settings.step_factor.powi((k / settings.step_every) as i32)
}

/// Number of rows per objective's batch at step k.
fn batch_sizes(settings: &PfSmg, n_rows: u64, m: usize, k: usize, calm: f64) -> Vec<usize> {
    let most = ((settings.batch_share * calm).min(1.0) * n_rows as f64).max(1.0);
    let size = |i: usize| {
        let schedule = &settings.batches[i.min(settings.batches.len() - 1)];
        let wanted = calm * schedule.initial * schedule.growth.powi(k.min(1 << 20) as i32);
        // Also handles an overflow of the growth.
        wanted.clamp(1.0, most) as usize
    };
    (0..m).map(size).collect()
}
