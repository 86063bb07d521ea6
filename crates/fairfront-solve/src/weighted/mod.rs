//! Weighted sums of the objectives, many at once, with a falling temperature: for smooth versions
//! of errors and rates, which are not convex.

mod descent;
mod lattice;
mod settings;
mod side_by_side;
mod state;

pub use settings::Weighted;
pub(crate) use side_by_side::best_start;
pub use side_by_side::{DescentLimits, minimize_sums};

use std::collections::HashSet;
use std::ops::ControlFlow;

use fairfront_core::{LANES, Points, Precision, Preconditioner, Problem};
use fairfront_pareto::{ranges, select_spread};

use self::descent::Descent;
use self::lattice::lattice;
use self::state::State;
use crate::Error;
use crate::checkpoint::Checkpoint;
use crate::ground::{Ground, check, without_roots};
use crate::outcome::{Counters, Front, Observer, Outcome, Progress, StopReason, StopSignal};
use crate::remainder::Remainder;
use crate::setting::Settings;
use crate::update::{Known, update};
use crate::{Solver, Suits, Why};

/// The name of the solver and of its checkpoints.
const NAME: &str = "weighted";

/// An update divides the number of sums, and the number of steps for each, by this: much is already
/// known.
const UPDATE: usize = 2;

/// The price of an objective, as a share of the loss for all of it, if the starts do not show how
/// it trades off against the loss.
const PRICE: f64 = 0.1;

/// Descents with a tolerance below this need values in double precision.
const ROUGH: f64 = 1e-6;

impl Solver for Weighted {
    fn name(&self) -> &'static str {
        NAME
    }

    /// The solver of choice if there are objectives with a temperature, or objectives that are not
    /// made of covariances.
    fn suits(&self, problem: &dyn Problem) -> Suits {
        match problem.temperature().is_some() || without_roots(problem).is_some() {
            true => Suits::Best(Why::Rates),
            false => Suits::Possible(Why::Covariances),
        }
    }

    fn set_starts(&mut self, starts: Points) {
        self.starts = Some(starts);
    }

    fn takes_starts(&self) -> bool {
        self.starts.is_none()
    }

    /// A descent stores its position, its step and its memory of earlier steps.
    fn vectors_per_point(&self) -> usize {
        24
    }

    /// Computes a front: for each of many weight vectors, minimizes the sum of the objectives from
    /// the start that is best for it, first at a high temperature and then, from the end of the
    /// previous stage, at lower ones. The front consists of the points that are nondominated, at
    /// the objectives' own temperature, among the starts and the ends of all stages; all of these
    /// are [`Outcome::candidates`].
    fn solve(&self, problem: &dyn Problem, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        let n = problem.n_params();
        self.check(n)?;
        check(problem)?;
        let starts = match &self.starts {
            Some(starts) => starts.clone(),
            None => {
                let mut counters = Counters::default();
                let stop = observer.stop_signal();
                Points::from_vec(n, best_start(problem, &mut counters, &stop)?)
            }
        };
        let mut work = Work::new(self, problem, starts.get(0), observer.stop_signal())?;
        let state = work.begin(starts)?;
        work.finish(state, observer)
    }

    fn resume(
        &self,
        problem: &dyn Problem,
        checkpoint: &Checkpoint,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        self.check(problem.n_params())?;
        check(problem)?;
        let (work, state) = Work::read(self, problem, checkpoint, observer.stop_signal())?;
        work.finish(state, observer)
    }

    /// Every sum starts from the point that is best for it among a selection, with fewer steps per
    /// temperature.
    fn update(
        &self,
        problem: &dyn Problem,
        current: &Points,
        _round: u64,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        update(self, problem, current, observer, |known, observer| {
            self.renew(problem, known, observer)
        })
    }
}

impl Weighted {
    fn renew(
        &self,
        problem: &dyn Problem,
        known: &Known,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        let mut starts = known.spread(self.sums)?;
        let remainder = Remainder::new(problem, observer.stop_signal());
        let stop = remainder.signal(LANES);
        if let Some(minimizer) = problem.minimizer(Some(known.least()), &stop)? {
            // A single known point may be anywhere; together with the minimizer, it would give
            // wrong trade-off prices.
            if starts.len() == 1 {
                starts = Points::new(problem.n_params());
            }
            starts.push(&minimizer);
        }
        let settings = Self {
            starts: Some(starts),
            sums: self.sums.div_ceil(UPDATE),
            most_steps: self.most_steps.div_ceil(UPDATE),
            ..self.clone()
        };
        settings.solve(problem, observer)
    }
}

struct Work<'a> {
    problem: &'a dyn Problem,
    settings: &'a Weighted,
    preconditioner: Preconditioner,
    counters: Counters,
    stop: StopSignal,
    remainder: Remainder,
}

impl<'a> Work<'a> {
    /// Creates the work; this start is the first.
    fn new(
        settings: &'a Weighted,
        problem: &'a dyn Problem,
        start: &[f64],
        stop: StopSignal,
    ) -> Result<Self, Error> {
        Ok(Self {
            problem,
            settings,
            preconditioner: problem.preconditioner(start)?,
            counters: Counters {
                gradient_evaluations: vec![0; problem.n_objectives()],
                ..Counters::default()
            },
            remainder: Remainder::new(problem, stop.clone()),
            stop,
        })
    }

    /// The precision that a descent with this tolerance needs.
    fn precision(&self) -> Precision {
        match self.settings.tolerance < ROUGH {
            true => Precision::Exact,
            false => Precision::Rough,
        }
    }

    /// The factors on the temperature, one per stage.
    fn factors(&self) -> Vec<f64> {
        match self.problem.temperature() {
            Some(_) => self.settings.factors(),
            None => vec![1.0],
        }
    }

    /// Runs the remaining stages.
    fn finish(mut self, mut state: State, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        let whole = self.problem;
        let factors = self.factors();
        let mut complete = true;
        while complete && state.stage < factors.len() {
            if !state.begun && self.remainder.leaves_out(LANES) {
                complete = false;
                break;
            }
            let factor = factors[state.stage];
            let temperature = whole.temperature().filter(|_| factor > 1.0);
            let softened = temperature.map(|t| t.softened(factor)).transpose()?;
            let problem = softened.as_deref().unwrap_or(whole);
            match state.stage {
                // A checkpoint always belongs to a stage that has begun.
                _ if state.begun => {}
                0 => self.choose_starts(problem, &state.candidates, &mut state.descents)?,
                _ => state.descents.iter_mut().for_each(Descent::restart),
            }
            state.begun = true;
            complete = self.stage(problem, &mut state, factors.len(), observer)?;
            let State {
                descents,
                candidates,
                ..
            } = &mut state;
            descents.iter().for_each(|d| candidates.push(&d.x));
            state.stage += 1;
            state.step = 0;
            state.begun = false;
        }
        let (n, most) = (state.candidates.len(), self.remainder.most_models());
        if self.remainder.is_too_much(n) {
            complete = false;
            let newest = n.saturating_sub(state.descents.len()).max(1);
            state.candidates = fewer(&state.candidates, newest, most);
        }
        self.end(state.candidates, complete)
    }

    /// Creates one descent per weight vector, and a reference point beyond the values of the
    /// starts.
    fn begin(&mut self, starts: Points) -> Result<State, Error> {
        let m = self.problem.n_objectives();
        let front = Front {
            values: self.problem.values(&starts)?,
            points: starts,
            n_objectives: m,
        };
        self.counters.evaluations += front.len() as u64;
        if !front.values.iter().all(|v| v.is_finite()) {
            return Err(Error::Problem(
                "the objectives are not finite at a starting point; scale the features or choose other starts".into(),
            ));
        }
        let ranges = ranges(front.judged()?, None);
        let reference = ranges.iter().map(|(_, high)| 1.1 * high).collect();
        let first = front.value(0);
        let unit = |i: usize| {
            let of = |i: usize| ranges[i].1 - ranges[i].0;
            let unit = match of(0) > 0.0 && of(i) > 0.0 {
                true => of(0) / of(i),
                false => PRICE * first[0].abs() / first[i].abs(),
            };
            match unit.is_finite() && unit > 0.0 {
                true => unit,
                false => 1.0,
            }
        };
        let units: Vec<f64> = (1..m).map(unit).collect();
        let weights = lattice(self.settings.sums, &units).into_iter();
        let first = front.points.get(0);
        let descents: Vec<Descent> = weights.map(|w| Descent::new(first.to_vec(), w)).collect();
        Ok(State {
            values: vec![0.0; descents.len() * m],
            descents,
            candidates: front.points,
            reference,
            stage: 0,
            begun: false,
            step: 0,
            round: 0,
        })
    }

    /// Moves each descent to the start with its smallest sum.
    fn choose_starts(
        &mut self,
        problem: &dyn Problem,
        starts: &Points,
        descents: &mut [Descent],
    ) -> Result<(), Error> {
        let m = problem.n_objectives();
        let values = problem.values(starts)?;
        self.counters.evaluations += starts.len() as u64;
        for descent in descents {
            let sum =
                |i: &usize| crate::descend::dot(&values[i * m..(i + 1) * m], &descent.weights);
            let best = (0..starts.len()).min_by(|a, b| sum(a).total_cmp(&sum(b)));
            descent.x = starts.get(best.unwrap_or(0)).to_vec();
        }
        Ok(())
    }

    /// Runs all descents at one temperature; returns whether they finished.
    fn stage(
        &mut self,
        problem: &dyn Problem,
        state: &mut State,
        n_stages: usize,
        observer: &mut dyn Observer,
    ) -> Result<bool, Error> {
        loop {
            let descents = state.descents.iter().enumerate();
            let open = descents.filter_map(|(i, d)| (!d.done).then_some(i));
            let open: Vec<usize> = open.collect();
            if open.is_empty() {
                return Ok(true);
            }
            if self.stop.is_set() {
                return Ok(false);
            }
            observer.checkpoint(&|| self.checkpoint(state));
            self.step(problem, state, &open)?;
            let within = (state.step as f64 / self.settings.most_steps as f64).min(1.0);
            state.step += 1;
            state.round += 1;
            let progress = Progress {
                round: state.round,
                share: (state.stage as f64 + within) / n_stages as f64,
                values: &state.values,
                n_objectives: problem.n_objectives(),
                reference: &state.reference,
            };
            if observer.round(&progress) == ControlFlow::Break(()) || self.stop.is_set() {
                return Ok(false);
            }
        }
    }

    /// Takes one step of the open descents. A stop skips those that were not reached.
    fn step(
        &mut self,
        problem: &dyn Problem,
        state: &mut State,
        open: &[usize],
    ) -> Result<(), Error> {
        for (i, some) in open.chunks(self.remainder.chunk()).enumerate() {
            if i > 0 && self.stop.is_set() {
                break;
            }
            self.step_some(problem, state, some)?;
        }
        Ok(())
    }

    fn step_some(
        &mut self,
        problem: &dyn Problem,
        state: &mut State,
        open: &[usize],
    ) -> Result<(), Error> {
        let (m, n) = (problem.n_objectives(), problem.n_params());
        let State {
            descents, values, ..
        } = state;
        let mut trials = Points::new(n);
        let mut weights = Vec::with_capacity(open.len() * m);
        for i in open {
            trials.push(&descents[*i].trial());
            weights.extend_from_slice(&descents[*i].weights);
        }
        let (found, gradients) = problem.weighted(&trials, &weights, self.precision())?;
        self.counters.evaluations += open.len() as u64;
        for count in &mut self.counters.gradient_evaluations {
            *count += open.len() as u64;
        }
        for (place, i) in open.iter().enumerate() {
            let of_trial = &found[place * m..(place + 1) * m];
            let gradient = &gradients[place * n..(place + 1) * n];
            let limits = (self.settings.most_steps, self.settings.tolerance);
            let trial = trials.get(place).to_vec();
            descents[*i].take(trial, of_trial, gradient, &self.preconditioner, limits);
            values[i * m..(i + 1) * m].copy_from_slice(of_trial);
        }
        Ok(())
    }

    /// Collects the front from all points found.
    fn end(mut self, candidates: Points, complete: bool) -> Result<Outcome, Error> {
        let problem = self.problem;
        let (m, n) = (problem.n_objectives(), problem.n_params());
        let values = problem.values(&candidates)?;
        self.counters.evaluations += candidates.len() as u64;
        let loss = |i: &usize| values[i * m];
        let least = (0..candidates.len())
            .filter(|i| values[i * m..(i + 1) * m].iter().all(|v| v.is_finite()))
            .min_by(|a, b| loss(a).total_cmp(&loss(b)))
            .ok_or_else(|| Error::Problem("no point has finite values of all objectives".into()))?;
        let unmitigated = Front {
            points: candidates.select(&[least]),
            values: values[least * m..(least + 1) * m].to_vec(),
            n_objectives: m,
        };
        let ground = Ground::on(problem, unmitigated, &mut self.counters)?;
        let empty = Front::empty(n, m);
        let mut front = ground.join(problem, empty, &candidates, &mut self.counters)?;
        if front.len() > self.settings.points {
            let whole = ranges(front.judged()?, None);
            let mut ranges = ranges(front.judged()?, Some(&ground.reference));
            // If no range of an objective is left inside the reference, use its full range.
            for (range, whole) in ranges.iter_mut().zip(whole) {
                if range.0 >= range.1 {
                    *range = whole;
                }
            }
            let kept = select_spread(front.judged()?, self.settings.points, &ranges);
            front = front.select(&kept);
        }
        Ok(Outcome {
            front: front.sorted(),
            unmitigated: ground.unmitigated,
            stop: match complete {
                true => StopReason::Complete,
                false => StopReason::Stopped,
            },
            counters: self.counters,
            proofs: Vec::new(),
            candidates,
        })
    }
}

/// At most `most` different candidates: the first, which minimizes the loss, then an even selection
/// of those that the sums reached last, then of earlier ones.
fn fewer(candidates: &Points, newest: usize, most: usize) -> Points {
    let bits = |point: &[f64]| -> Vec<u64> { point.iter().map(|v| v.to_bits()).collect() };
    let mut kept = candidates.select(&[0]);
    let mut seen = HashSet::from([bits(kept.get(0))]);
    for from in [newest..candidates.len(), 1..newest] {
        let different: Vec<usize> = from
            .filter(|i| seen.insert(bits(candidates.get(*i))))
            .collect();
        let (n, room) = (different.len(), most - kept.len());
        for place in 0..room.min(n) {
            let i = different[place * n / room.min(n)];
            kept.push(candidates.get(i));
        }
    }
    kept
}
