//! Weighted sums of the objectives, many at once, followed while their temperature falls: for smooth
//! versions of errors and rates, which are not convex.

mod descent;
mod lattice;
mod settings;
mod state;

pub use settings::Weighted;

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

/// An update takes half of the sums, and half of the steps for each: much is known already.
const UPDATE: usize = 2;

/// Where the starts say nothing about how an objective is traded for the loss: this share of the loss
/// for all of it.
const PRICE: f64 = 0.1;

/// Descents of a tolerance below this need values in double precision.
const ROUGH: f64 = 1e-6;

impl Solver for Weighted {
    fn name(&self) -> &'static str {
        NAME
    }

    /// It is the solver of choice if there are objectives with a temperature, or some that are made of no
    /// covariances.
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

    /// A descent keeps its position, its step and its memory of earlier steps.
    fn vectors_per_point(&self) -> usize {
        24
    }

    /// Computes a front: for each of many weights the sum of the objectives is minimised from the
    /// start that is best for it, at a high temperature first and then, from where that ended, at
    /// lower ones. The front is what is nondominated, at the objectives' own temperature, among the
    /// starts and the ends of all stages; all of them are [`Outcome::candidates`].
    fn solve(&self, problem: &dyn Problem, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        let n = problem.n_params();
        self.check(n)?;
        check(problem)?;
        let starts = match &self.starts {
            Some(starts) => starts.clone(),
            None => {
                let remainder = Remainder::new(problem, observer.stop_signal());
                Points::from_vec(n, problem.start(&remainder.signal(LANES))?)
            }
        };
        let mut work = Work::new(self, problem, starts.get(0), observer.stop_signal())?;
        let state = work.begin(starts)?;
        work.go_on(state, observer)
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
        work.go_on(state, observer)
    }

    /// Every sum starts from the best of a selection for it, with fewer steps at each temperature.
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
            // Beside a single point, which may be anywhere, it would say wrongly what objectives cost.
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
    /// Work whose first start is this one.
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

    /// What a descent with this tolerance can be steered by.
    fn precision(&self) -> Precision {
        match self.settings.tolerance < ROUGH {
            true => Precision::Exact,
            false => Precision::Rough,
        }
    }

    /// By what the temperature is multiplied in each stage.
    fn factors(&self) -> Vec<f64> {
        match self.problem.temperature() {
            Some(_) => self.settings.factors(),
            None => vec![1.0],
        }
    }

    /// The stages that are left.
    fn go_on(mut self, mut state: State, observer: &mut dyn Observer) -> Result<Outcome, Error> {
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
                // A checkpoint is of a stage that has begun.
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

    /// One descent for each vector of weights, and a corner beyond the starts' values.
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
                "the objectives are not finite at a starting point; scale the features, or start elsewhere".into(),
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

    /// Each descent begins at the point whose sum is least.
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

    /// All descents at one temperature; whether they came to their ends.
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

    /// One step of the descents that are open. A stop leaves those out that were not reached.
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

    /// The front among all points found.
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
            // A reference that leaves nothing of an objective says nothing about it.
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
            certificates: Vec::new(),
            candidates,
        })
    }
}

/// So many different candidates at most: the first, which minimizes the loss, and an even selection of
/// those that sums have reached last, then of those before them.
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
