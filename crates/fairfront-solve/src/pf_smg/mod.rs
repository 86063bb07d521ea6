//! PF-SMG: Pareto fronts by stochastic multi-gradient steps.
//!
//! `algorithm.rs` has the paper's algorithm, `smg.rs` its steps. The rest are our additions: where
//! it starts (`start.rs`), which further restarts a round has (`spread.rs`), and when it ends
//! (here).

mod algorithm;
mod settings;
mod smg;
mod spread;
mod start;
mod state;

pub use settings::{BatchSchedule, Exploration, HoleFilling, PfSmg};

use std::ops::ControlFlow;

use fairfront_core::{Points, Preconditioner, Problem, Purpose, Stream};
use fairfront_pareto::{hypervolume, ranges, select_spread};

use self::smg::{Frame, Pace};
use self::state::State;
use crate::Error;
use crate::checkpoint::Checkpoint;
use crate::ground::Ground;
use crate::outcome::{Counters, Front, Observer, Outcome, Progress, StopReason, StopSignal};
use crate::setting::Settings;
use crate::update::{Known, update};
use crate::{Solver, Suits, Why};

/// The name of the solver and of its checkpoints.
const NAME: &str = "pf-smg";

/// Improvements of the hypervolume below this share do not count.
const IMPROVEMENT: f64 = 5e-5;

/// The hypervolume is computed after every round for up to this many objectives; with more, it
/// would take longer than the round.
pub(crate) const MOST_JUDGED: usize = 4;

/// Maximum number of starting points of an update.
const MOST_STARTS: usize = 96;

/// An update spends the last part of the budget, this share of it.
const UPDATE_SHARE: f64 = 0.1;

impl Solver for PfSmg {
    fn name(&self) -> &'static str {
        NAME
    }

    /// The solver of choice if no other is.
    fn suits(&self, _problem: &dyn Problem) -> Suits {
        Suits::Best(Why::AnyObjectives)
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn set_starts(&mut self, starts: Points) {
        self.starts = Some(starts);
    }

    fn takes_starts(&self) -> bool {
        self.starts.is_none() && self.anchors
    }

    /// Computes a front.
    ///
    /// In each round, every listed point gets `runs` restarts of `steps` stochastic multi-gradient
    /// steps; the end points are added to the list, dominated points are removed, and dense regions
    /// are thinned.
    fn solve(&self, problem: &dyn Problem, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        self.run(problem, None, observer)
    }

    fn resume(
        &self,
        problem: &dyn Problem,
        checkpoint: &Checkpoint,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        self.check(problem.n_params())?;
        let (search, state) = Search::read(problem, self, checkpoint, observer.stop_signal())?;
        search.finish(state, observer)
    }

    /// Starts from a selection of the current front and continues as if most of the budget had been
    /// spent.
    fn update(
        &self,
        problem: &dyn Problem,
        current: &Points,
        round: u64,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        update(self, problem, current, observer, |known, observer| {
            self.renew(problem, known, round, observer)
        })
    }
}

impl PfSmg {
    fn renew(
        &self,
        problem: &dyn Problem,
        known: &Known,
        round: u64,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        let starts = known.spread(MOST_STARTS)?;
        let settings = Self {
            // The starts do not count against the maximum.
            most_points: self.most_points.saturating_add(starts.len()),
            starts: Some(starts),
            seed: Stream::new(self.seed, Purpose::Solver, [4, round]).bits(),
            ..self.clone()
        };
        let budget = (UPDATE_SHARE * self.most_steps as f64).ceil() as usize;
        let warm = Warm {
            near: known.least(),
            k: self.most_steps.saturating_sub(budget),
        };
        settings.run(problem, Some(warm), observer)
    }

    fn run(
        &self,
        problem: &dyn Problem,
        warm: Option<Warm>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        self.check(problem.n_params())?;
        let near = warm.as_ref().map(|warm| warm.near);
        let mut search = Search::new(problem, self, near, observer.stop_signal())?;
        if search.ground.is_all() {
            let front = search.ground.unmitigated.clone();
            return search.outcome(front, StopReason::Converged);
        }
        let (list, corner) = search.start(warm.is_some())?;
        search.spent = warm.map_or(0, |warm| warm.k);
        let state = State::new(list, corner, search.spent);
        search.finish(state, observer)
    }
}

/// The beginning of an update.
struct Warm<'a> {
    /// A point near the unmitigated model.
    near: &'a [f64],
    /// Number of steps that count as spent.
    k: usize,
}

pub(crate) struct Search<'a> {
    problem: &'a dyn Problem,
    settings: &'a PfSmg,
    m: usize,
    frame: Frame,
    /// Ranges, thinning and holes use only points inside its reference.
    ground: Ground,
    /// Number of steps that counted as spent at the beginning.
    spent: usize,
    counters: Counters,
    stop: StopSignal,
}

impl<'a> Search<'a> {
    fn new(
        problem: &'a dyn Problem,
        settings: &'a PfSmg,
        near: Option<&[f64]>,
        stop: StopSignal,
    ) -> Result<Self, Error> {
        let m = problem.n_objectives();
        let mut counters = Counters {
            gradient_evaluations: vec![0; m],
            ..Counters::default()
        };
        let preconditioner = preconditioner_of(problem, settings)?;
        // If the loss has several minima, the starts tell which one is meant.
        let of_starts = || {
            let starts = settings.starts.as_ref();
            starts.filter(|_| problem.more_starts(1).is_some())
        };
        let near = near.or_else(|| of_starts().and_then(|starts| starts.iter().next()));
        let found = Ground::find(problem, near, &preconditioner, &mut counters, &stop);
        let ground = match (found, &settings.starts) {
            // After a stop, the first start takes the place of the minimizer.
            (Err(Error::Evaluation(fairfront_core::Error::Stopped)), Some(starts)) => {
                let points = starts.select(&[0]);
                let first = Front {
                    values: problem.values(&points)?,
                    points,
                    n_objectives: m,
                };
                Ground::on(problem, first, &mut counters)?
            }
            (found, _) => found?,
        };
        let frame = Frame::new(problem, settings, preconditioner, &ground, &mut counters)?;
        Ok(Self {
            problem,
            settings,
            m,
            frame,
            ground,
            spent: 0,
            counters,
            stop,
        })
    }

    /// Repeats rounds until one of the stopping conditions holds.
    fn finish(mut self, mut state: State, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        let (settings, m) = (self.settings, self.m);
        let signal = self.stop.clone();
        let stop = loop {
            if state.list.len() >= settings.most_points {
                break StopReason::Full;
            }
            if state.k >= settings.most_steps {
                break StopReason::Steps;
            }
            if !self.stop.is_set() {
                observer.checkpoint(&|| self.checkpoint(&state));
            }
            let pace = Pace {
                round: state.round,
                k: state.k,
                idle: state.idle,
                stop: &signal,
            };
            state.list = self.round(state.list, &pace)?;
            self.counters.points_by_round.push(state.list.len());
            if m <= MOST_JUDGED {
                let volume = hypervolume(state.list.judged()?, &self.ground.reference)?;
                self.counters.hypervolume_by_round.push(volume);
            }
            state.k = state.k.saturating_add(settings.steps);
            state.round += 1;

            let progress = Progress {
                round: state.round,
                share: ((state.k - self.spent) as f64 / (settings.most_steps - self.spent) as f64)
                    .max(state.list.len() as f64 / settings.most_points as f64)
                    .min(1.0),
                values: &state.list.values,
                n_objectives: m,
                reference: &self.ground.reference,
            };
            if observer.round(&progress) == ControlFlow::Break(()) {
                break StopReason::Stopped;
            }
            if settings.patience > 0 && m <= MOST_JUDGED {
                let volume = hypervolume(state.list.judged()?, &state.corner)?;
                state.idle = if volume > state.best * (1.0 + IMPROVEMENT) {
                    0
                } else {
                    state.idle + 1
                };
                state.best = volume.max(state.best);
                if state.idle >= settings.patience {
                    break StopReason::Converged;
                }
            }
        };
        self.outcome(state.list, stop)
    }

    fn outcome(self, mut list: Front, stop: StopReason) -> Result<Outcome, Error> {
        if list.len() > self.settings.most_points {
            let ranges = ranges(list.judged()?, Some(&self.ground.reference));
            let kept = select_spread(list.judged()?, self.settings.most_points, &ranges);
            list = list.select(&kept);
        }
        Ok(Outcome {
            front: list.sorted(),
            unmitigated: self.ground.unmitigated,
            stop,
            counters: self.counters,
            proofs: Vec::new(),
            candidates: Points::default(),
        })
    }

    /// The starting list, evaluated and filtered, with the current ends added for an update; and
    /// the reference point for judging improvements.
    fn start(&mut self, update: bool) -> Result<(Front, Vec<f64>), Error> {
        let points = match &self.settings.starts {
            Some(points) if update => self.with_ends(points)?,
            Some(points) => points.clone(),
            None => self.draw_starts()?,
        };
        let mut corner = self.ground.reference.clone();
        let empty = Front::empty(points.n_params(), self.m);
        let list = self.add(empty, &points)?;
        let list = self.thin(list)?;
        // If the origin is the minimum of an objective, its value there is not a useful bound.
        for i in 0..self.m {
            let own = self.ground.unmitigated.values[i];
            if self.ground.reference[i] <= own || self.ground.fair[i] {
                let values = list.values.iter().skip(i).step_by(self.m);
                self.ground.reference[i] = values.copied().fold(self.ground.reference[i], f64::max);
            }
        }
        let ranges = ranges(list.judged()?, Some(&self.ground.reference));
        for (corner, (low, high)) in corner.iter_mut().zip(ranges) {
            if high > low {
                *corner = low + 1.1 * (high - low);
            }
        }
        if list.is_empty() {
            return Err(Error::Problem(
                "no starting point has finite values of all objectives".into(),
            ));
        }
        Ok((list, corner))
    }
}

/// The preconditioner of the steps.
fn preconditioner_of(problem: &dyn Problem, settings: &PfSmg) -> Result<Preconditioner, Error> {
    Ok(match settings.preconditioner {
        true => problem.preconditioner(&vec![0.0; problem.n_params()])?,
        false => Preconditioner::Identity,
    })
}
