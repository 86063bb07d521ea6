//! EPS-fair minimizes the loss under bounds on the covariances, once for each of many bounds.

mod curvature;
mod evaluation;
mod grid;
mod multiplier;
mod settings;
mod state;
mod subproblem;

pub use settings::EpsFair;

use std::ops::{ControlFlow, Range};

use fairfront_core::{MOST_DENSE, Points, Preconditioner, Problem, Purpose, Stream};
use fairfront_pareto::hypervolume;
use rayon::prelude::*;

use self::grid::Grid;
use self::state::State;
use self::subproblem::{Setup, Solution};
use crate::Error;
use crate::checkpoint::Checkpoint;
use crate::ground::{Ground, without_roots};
use crate::outcome::{
    Counters, Front, Observer, Outcome, Progress, StopReason, StopSignal, Subproblems,
};
use crate::pf_smg::MOST_JUDGED;
use crate::setting::Settings;
use crate::solver::not_convex;
use crate::update::{Known, update};
use crate::{Solver, Suits, Why};

/// The name of the solver and of its checkpoints.
const NAME: &str = "eps-fair";

/// Number of chains of subproblems that run in parallel, each from the unmitigated model toward
/// tighter bounds. It is fixed, so that the result does not depend on the number of threads.
const CHAINS: usize = 16;

impl Solver for EpsFair {
    fn name(&self) -> &'static str {
        NAME
    }

    fn suits(&self, problem: &dyn Problem) -> Suits {
        let n = problem.n_params();
        match without_roots(problem) {
            _ if problem.more_starts(1).is_some() => Suits::Impossible(Why::SeveralMinima),
            Some(i) => Suits::Impossible(Why::NoCovariances(i)),
            None if n > MOST_DENSE => Suits::Impossible(Why::TooManyParameters(n)),
            None => Suits::Possible(match not_convex(problem) {
                none if none.is_empty() => Why::Covariances,
                some => Why::NotConvex(some),
            }),
        }
    }

    fn needs_covariances(&self) -> bool {
        true
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// Computes a front: min f₁ subject to |c| ≤ ε for every covariance c whose squares form the
    /// other objectives, for evenly spaced ε from 0 to that of the unmitigated model. The list also
    /// contains the unmitigated model. Dominated solutions are dropped.
    fn solve(&self, problem: &dyn Problem, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        self.run(problem, None, observer)
    }

    fn resume(
        &self,
        problem: &dyn Problem,
        checkpoint: &Checkpoint,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        self.check_for(problem)?;
        let (work, state) = Work::read(self, problem, checkpoint, observer.stop_signal())?;
        work.finish(state, observer)
    }

    /// For every bound, the subproblem starts from the point that is nearest to it.
    fn update(
        &self,
        problem: &dyn Problem,
        current: &Points,
        _round: u64,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        update(self, problem, current, observer, |known, observer| {
            self.run(problem, Some(known), observer)
        })
    }
}

impl EpsFair {
    fn check_for(&self, problem: &dyn Problem) -> Result<(), Error> {
        self.check(problem.n_params())?;
        self.suits(problem).ensure(NAME)
    }

    fn run(
        &self,
        problem: &dyn Problem,
        known: Option<&Known>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        self.check_for(problem)?;
        let stop = observer.stop_signal();
        let mut counters = Counters {
            gradient_evaluations: vec![0; problem.n_objectives()],
            subproblems: Some(Subproblems::default()),
            ..Counters::default()
        };
        let origin = vec![0.0; problem.n_params()];
        let preconditioner = self.preconditioner_at(problem, &origin)?;
        let least = known.map(Known::least);
        let ground = Ground::find(problem, least, &preconditioner, &mut counters, &stop)?;
        let mut work = Work::new(self, problem, ground, stop)?;
        work.near = nearest(problem, known, &work.bounds, &work.setup.largest)?;
        let state = State::new(&work, counters);
        work.finish(state, observer)
    }

    /// The preconditioner for steps that start at a point.
    fn preconditioner_at(
        &self,
        problem: &dyn Problem,
        at: &[f64],
    ) -> Result<Preconditioner, Error> {
        Ok(match self.preconditioner {
            true => problem.preconditioner(at)?,
            false => Preconditioner::Identity,
        })
    }

    /// Draws a random starting point, a different one for each subproblem.
    fn draw_start(&self, number: usize, n_params: usize) -> Vec<f64> {
        let mut random = Stream::new(self.seed, Purpose::Solver, [3, number as u64]);
        (0..n_params)
            .map(|_| self.start_radius * (2.0 * random.uniform() - 1.0))
            .collect()
    }
}

/// Everything that stays the same from round to round.
struct Work<'a> {
    setup: Setup<'a>,
    ground: Ground,
    bounds: Vec<Vec<f64>>,
    chains: Vec<Range<usize>>,
    /// The starting points of all bounds, in an update.
    near: Option<Points>,
}

impl<'a> Work<'a> {
    fn new(
        settings: &'a EpsFair,
        problem: &'a dyn Problem,
        ground: Ground,
        stop: StopSignal,
    ) -> Result<Self, Error> {
        let largest = largest(problem, &ground)?;
        let unmitigated = ground.unmitigated.points.get(0);
        let bounded: Vec<bool> = ground.fixed[1..].iter().map(|fixed| !fixed).collect();
        let affine = are_affine(problem, &bounded, unmitigated)?;
        let newton = affine
            && settings.preconditioner
            && !settings.finite_differences
            && problem.second_order().is_some();
        // Newton steps are the same in all variables.
        let preconditioner = match newton {
            true => Preconditioner::Identity,
            false => settings.preconditioner_at(problem, unmitigated)?,
        };
        let loss_preconditioner = match settings.preconditioner {
            true => Preconditioner::Identity,
            false => problem.preconditioner(unmitigated)?,
        };
        let setup = Setup {
            problem,
            settings,
            affine,
            newton,
            preconditioner,
            loss_preconditioner,
            loss_scale: ground.loss_scale(),
            bounded,
            stop,
            largest,
        };
        // The unmitigated model meets the first bounds.
        let bounds = match problem.n_objectives() {
            1 => Vec::new(),
            _ => Grid::new(&setup.largest, settings.points)?
                .bounds
                .split_off(1),
        };
        Ok(Self {
            chains: chains(bounds.len()),
            setup,
            ground,
            bounds,
            near: None,
        })
    }

    /// Solves the remaining subproblems, round by round.
    fn finish(self, mut state: State, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        let lengths = self.chains.iter().map(ExactSizeIterator::len);
        let n_rounds = lengths.max().unwrap_or(0);
        let mut reason = StopReason::Complete;
        while state.round < n_rounds {
            if self.setup.stop.is_set() {
                reason = StopReason::Stopped;
                break;
            }
            observer.checkpoint(&|| self.checkpoint(&state));
            let stopped = self.round(&mut state)?;
            let tally = &state.tally;
            let progress = Progress {
                round: state.round,
                share: (tally.solved + tally.failed) as f64 / self.bounds.len() as f64,
                values: &state.list.values,
                n_objectives: state.list.n_objectives,
                reference: &self.ground.reference,
            };
            let asked = observer.round(&progress) == ControlFlow::Break(());
            if stopped || (asked && state.round < n_rounds) {
                reason = StopReason::Stopped;
                break;
            }
        }
        let State {
            list,
            mut tally,
            mut counters,
            ..
        } = state;
        let found = (1 + tally.solved + tally.failed).saturating_sub(counters.non_finite);
        tally.dominated = found.saturating_sub(tally.copies + list.len() as u64);
        counters.subproblems = Some(tally);
        Ok(Outcome {
            front: list.sorted(),
            unmitigated: self.ground.unmitigated,
            stop: reason,
            counters,
            proofs: Vec::new(),
            candidates: Points::default(),
        })
    }

    /// Solves the next subproblem of every chain that has one; returns whether any was stopped.
    fn round(&self, state: &mut State) -> Result<bool, Error> {
        let Setup {
            problem, settings, ..
        } = self.setup;
        let n = problem.n_params();
        let next: Vec<(usize, usize)> = (0..self.chains.len())
            .filter_map(|chain| Some((chain, self.chains[chain].clone().nth(state.round)?)))
            .collect();
        let solutions: Vec<Solution> = next
            .par_iter()
            .map(|&(chain, number)| {
                let start = match (&self.near, settings.cold) {
                    (Some(near), _) => near.get(number).to_vec(),
                    (None, true) => settings.draw_start(number, n),
                    (None, false) => state.starts.get(chain).to_vec(),
                };
                self.setup.solve(&self.bounds[number], &start)
            })
            .collect::<Result<_, _>>()?;
        let mut points = Points::new(n);
        for (&(chain, _), solution) in next.iter().zip(&solutions) {
            count(&mut state.counters, problem, solution);
            if solution.stopped {
                continue;
            }
            match solution.solved {
                true => state.tally.solved += 1,
                false => state.tally.failed += 1,
            }
            points.push(&solution.point);
            if solution.point.iter().all(|x| x.is_finite()) {
                state.starts.get_mut(chain).copy_from_slice(&solution.point);
            }
        }
        let points = self
            .ground
            .evaluate(problem, &points, &mut state.counters)?;
        let copies = points.points.iter().filter(|x| !state.seen.insert(bits(x)));
        state.tally.copies += copies.count() as u64;
        let list = std::mem::replace(&mut state.list, Front::empty(n, points.n_objectives));
        state.list = self.ground.merge(list, &points)?;
        state.counters.points_by_round.push(state.list.len());
        if state.list.n_objectives <= MOST_JUDGED {
            let volume = hypervolume(state.list.judged()?, &self.ground.reference)?;
            state.counters.hypervolume_by_round.push(volume);
        }
        state.round += 1;
        Ok(solutions.iter().any(|s| s.stopped))
    }
}

/// Whether all covariances that have bounds are affine in the parameters.
fn are_affine(problem: &dyn Problem, bounded: &[bool], at: &[f64]) -> Result<bool, Error> {
    for objective in (0..bounded.len()).filter(|objective| bounded[*objective]) {
        if !problem.roots_of(objective + 1)?.at(at)?.affine {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The unmitigated model's largest covariance of each fairness objective; 0 if it is negligible.
fn largest(problem: &dyn Problem, ground: &Ground) -> Result<Vec<f64>, Error> {
    let of = |i: usize| {
        if ground.fair[i] {
            return Ok(0.0);
        }
        let roots = problem.roots_of(i)?.values(&ground.unmitigated.points)?;
        Ok(roots.iter().fold(0.0, |most, c| c.abs().max(most)))
    };
    (1..problem.n_objectives()).map(of).collect()
}

/// For each of the bounds, the known point whose covariances are nearest to it, as shares of the
/// unmitigated model's; `None` if no points are known.
fn nearest(
    problem: &dyn Problem,
    known: Option<&Known>,
    bounds: &[Vec<f64>],
    largest: &[f64],
) -> Result<Option<Points>, Error> {
    let Some(points) = known.map(|known| &known.front.points) else {
        return Ok(None);
    };
    // For each point, the largest covariance of each fairness objective.
    let mut sizes = vec![Vec::new(); points.len()];
    for objective in 1..problem.n_objectives() {
        let roots = problem.roots_of(objective)?.values(points)?;
        let roots = roots.chunks_exact(problem.n_roots(objective));
        for (size, roots) in sizes.iter_mut().zip(roots) {
            size.push(roots.iter().fold(0.0, |most: f64, c| most.max(c.abs())));
        }
    }
    let of = |bounds: &Vec<f64>| {
        let distance = |i: &usize| -> f64 {
            let each = sizes[*i].iter().zip(bounds).zip(largest);
            let varied = each.filter(|(_, largest)| **largest > 0.0);
            let shares = varied.map(|((size, bound), largest)| (size - bound) / largest);
            shares.map(|share| share * share).sum()
        };
        let all = 0..points.len();
        let nearest = all.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.unwrap_or(0)
    };
    let numbers: Vec<usize> = bounds.iter().map(of).collect();
    Ok(Some(points.select(&numbers)))
}

/// A key that distinguishes a point from every other.
fn bits(point: &[f64]) -> Vec<u64> {
    point.iter().map(|x| x.to_bits()).collect()
}

/// Subproblems in order, divided into chains of nearly equal length.
fn chains(n: usize) -> Vec<Range<usize>> {
    let k = CHAINS.min(n);
    (0..k).map(|i| i * n / k..(i + 1) * n / k).collect()
}

fn count(counters: &mut Counters, problem: &dyn Problem, solution: &Solution) {
    counters.evaluations += solution.evaluations;
    for (i, count) in counters.gradient_evaluations.iter_mut().enumerate() {
        let functions = if i == 0 { 1 } else { problem.n_roots(i) };
        *count += solution.gradients * functions as u64;
    }
}
