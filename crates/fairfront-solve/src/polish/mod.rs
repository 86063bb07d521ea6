//! Polishing: every point of a front takes exact steps until none of its objectives can fall
//! without a rise in another.

mod model;
mod state;

use std::ops::ControlFlow;

use fairfront_core::{Batches, LANES, Points, Problem};
use fairfront_pareto::{Values, ranges, select_spread};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::model::{Model, Reference};
use crate::Error;
use crate::checkpoint::{Checkpoint, exact};
use crate::ground::Ground;
use crate::outcome::{
    Counters, Front, Observer, Outcome, Polished, Progress, StopReason, StopSignal,
};
use crate::setting::wrong;

/// Maximum total size of the preconditioners of all references, in numbers.
const MOST_NUMBERS: usize = 8_000_000;
/// Number of rounds after which the references are chosen again.
const REFRESH: usize = 5;
/// Steps below this length are short.
const SHORT: f64 = 0.2;
/// Number of points whose gradients are remembered after short steps.
const MEMORY: usize = 8;
/// A step is accepted if the loss falls by this share of the decrease that its gradient promises.
const ENOUGH: f64 = 1e-4;
/// How often a step is corrected for the rise of the other objectives before it gets shorter.
const CORRECTIONS: usize = 3;
/// A step is abandoned below these lengths: the step along level sets, and the common one.
const SHORTEST: [f64; 2] = [1e-3, 1e-9];
/// A value that counts as 0 may rise up to this share of its zero bound.
const ROUNDING: f64 = 1e-6;

/// Settings of [`polish`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Polish {
    /// A point is done when a step can lower, or has lowered, the loss by less than this share of
    /// the loss's range over the front.
    pub tolerance: f64,
    /// Maximum number of steps per point.
    pub most_steps: usize,
    /// Number of places on the front where second derivatives are computed; a point uses the
    /// nearest.
    pub references: usize,
}

impl Default for Polish {
    fn default() -> Self {
        Self {
            tolerance: 1e-8,
            most_steps: 50,
            references: 16,
        }
    }
}

impl Polish {
    /// Checks the settings.
    pub fn check(&self) -> Result<(), Error> {
        if !(self.tolerance > 0.0 && self.tolerance <= 1.0) {
            let rule = "above 0 and at most 1".into();
            return wrong("tolerance", self.tolerance.to_string(), rule);
        }
        for (setting, value) in [
            ("most_steps", self.most_steps),
            ("references", self.references),
        ] {
            if value == 0 {
                return wrong(setting, value.to_string(), "at least 1".into());
            }
        }
        Ok(())
    }
}

/// Refines a front of any solver: every point takes steps with gradients on all rows as long as the
/// loss falls and no other objective rises, according to the actual values. Each point of the
/// result therefore dominates or equals the one it comes from; points that others now dominate are
/// dropped.
///
/// The values of the front must be those of this problem. The result does not depend on the number
/// of threads. If the observer stops it, the steps taken so far are kept.
///
/// ```
/// # use fairfront_core::{Batches, Error, Gradients, Points, Problem};
/// use fairfront_solve::{PfSmg, Polish, Solver, polish};
///
/// /// Squared distances from (0, 0) and from (1, 0): the front lies between the two.
/// struct Distances;
/// # impl Problem for Distances {
/// #     fn n_params(&self) -> usize { 2 }
/// #     fn n_objectives(&self) -> usize { 2 }
/// #     fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
/// #         let square = |x: &[f64], a: f64| (x[0] - a).powi(2) + x[1].powi(2);
/// #         Ok(points.iter().flat_map(|x| [square(x, 0.0), square(x, 1.0)]).collect())
/// #     }
/// #     fn gradients(&self, points: &Points, _: Batches) -> Result<Gradients, Error> {
/// #         let mut out = Gradients::zeros(2, points.len(), 2);
/// #         for (i, x) in points.iter().enumerate() {
/// #             for objective in 0..2 {
/// #                 let gradient = [2.0 * (x[0] - objective as f64), 2.0 * x[1]];
/// #                 out.get_mut(objective, i).copy_from_slice(&gradient);
/// #             }
/// #         }
/// #         Ok(out)
/// #     }
/// # }
/// let outcome = PfSmg::default().solve(&Distances, &mut ())?;
/// let outcome = polish(&Distances, outcome, &Polish::default(), &mut ())?;
/// assert!(outcome.front.points.iter().all(|x| x[1].abs() < 1e-3));
/// # Ok::<(), fairfront_solve::Error>(())
/// ```
pub fn polish(
    problem: &dyn Problem,
    outcome: Outcome,
    settings: &Polish,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let bench = Bench::new(problem, outcome, settings, observer.stop_signal())?;
    bench.finish(settings, observer)
}

/// Resumes from a checkpoint of [`polish`] with the same outcome, settings and problem. The result
/// equals that of an uninterrupted [`polish`].
pub fn resume_polish(
    problem: &dyn Problem,
    outcome: Outcome,
    settings: &Polish,
    checkpoint: &Checkpoint,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let mut bench = Bench::new(problem, outcome, settings, observer.stop_signal())?;
    bench.read(checkpoint)?;
    bench.finish(settings, observer)
}

/// A front that is being polished.
struct Bench<'a> {
    workshop: Workshop<'a>,
    points: Vec<Piece>,
    counters: Counters,
    /// Rounds done.
    round: usize,
    stop: StopReason,
    candidates: Points,
}

impl<'a> Bench<'a> {
    /// The state before any work.
    fn new(
        problem: &'a dyn Problem,
        outcome: Outcome,
        settings: &Polish,
        signal: StopSignal,
    ) -> Result<Self, Error> {
        settings.check()?;
        let Outcome {
            front,
            unmitigated,
            stop,
            mut counters,
            candidates,
            ..
        } = outcome;
        let m = problem.n_objectives();
        let is_of_problem = |front: &Front| {
            front.n_objectives == m
                && front.points.n_params() == problem.n_params()
                && front.values.len() == m * front.len()
        };
        if !is_of_problem(&front) || !is_of_problem(&unmitigated) || unmitigated.is_empty() {
            return Err(Error::Problem(
                "the front to polish belongs to another problem: its number of objectives or \
                 parameters differs"
                    .into(),
            ));
        }
        counters.gradient_evaluations.resize(m, 0);
        let ground = Ground::on(problem, unmitigated, &mut counters)?;
        Ok(Self {
            workshop: Workshop::new(problem, settings, ground, &front, signal)?,
            points: take(&front),
            counters,
            round: 0,
            stop,
            candidates,
        })
    }

    /// Runs the remaining rounds.
    fn finish(mut self, settings: &Polish, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        while self.round < settings.most_steps {
            let open = (0..self.points.len()).filter(|i| !self.points[*i].done);
            let open: Vec<usize> = open.collect();
            if open.is_empty() {
                break;
            }
            if self.workshop.stop.is_set() {
                self.stop = StopReason::Stopped;
                break;
            }
            if self.round > 0 {
                observer.checkpoint(&|| self.checkpoint());
            }
            if self.round.is_multiple_of(REFRESH) {
                self.workshop.refer(&mut self.points, &open)?;
            }
            self.round += 1;
            self.workshop
                .round(&mut self.points, &open, &mut self.counters)?;
            let values = self.points.iter().flat_map(|p| p.values.clone());
            let progress = Progress {
                round: self.round,
                share: self.round as f64 / settings.most_steps as f64,
                values: &values.collect::<Vec<f64>>(),
                n_objectives: self.workshop.problem.n_objectives(),
                reference: &self.workshop.ground.reference,
            };
            if observer.round(&progress) == ControlFlow::Break(()) {
                self.stop = StopReason::Stopped;
                break;
            }
        }
        self.end()
    }

    /// Collects the points that are now nondominated.
    fn end(self) -> Result<Outcome, Error> {
        let Self {
            workshop,
            points,
            mut counters,
            mut candidates,
            ..
        } = self;
        let problem = workshop.problem;
        let mut all = Front::empty(problem.n_params(), problem.n_objectives());
        for point in &points {
            all.points.push(&point.x);
            all.values.extend_from_slice(&point.values);
        }
        let front = workshop.ground.nondominated(&all)?;
        if !candidates.is_empty() {
            points.iter().for_each(|p| candidates.push(&p.x));
        }
        counters.polished = Some(Polished {
            points: points.len(),
            improved: points.iter().filter(|p| p.moved).count(),
            dominated: points.len() - front.len(),
            rounds: self.round,
        });
        Ok(Outcome {
            front: front.sorted(),
            unmitigated: workshop.ground.unmitigated,
            stop: self.stop,
            counters,
            // The points have moved, so earlier proofs no longer apply.
            proofs: Vec::new(),
            candidates,
        })
    }
}

/// A point that is being polished.
#[derive(Clone, Serialize, Deserialize)]
struct Piece {
    x: Vec<f64>,
    #[serde(with = "exact")]
    values: Vec<f64>,
    /// Index of its reference.
    reference: usize,
    /// Length of its last step.
    #[serde(with = "exact")]
    length: f64,
    /// Gradients at points where the last steps had to be short, by objective. Next to a kink,
    /// those of both sides are needed to move along it.
    #[serde(with = "exact")]
    before: Vec<(usize, Vec<f64>)>,
    moved: bool,
    done: bool,
}

/// The points of a front before any work.
fn take(front: &Front) -> Vec<Piece> {
    let piece = |i: usize| Piece {
        x: front.points.get(i).to_vec(),
        values: front.value(i).to_vec(),
        reference: 0,
        length: 1.0,
        before: Vec::new(),
        moved: false,
        done: false,
    };
    (0..front.len()).map(piece).collect()
}

/// A step that is being tried.
struct Trial {
    /// 0: along the level sets of the other objectives; 1: down in all objectives.
    way: usize,
    length: f64,
    /// By how much each other objective should fall, to compensate for its curvature.
    lower: Vec<f64>,
    corrections: usize,
    step: Vec<f64>,
    /// The promised decrease of the loss.
    fall: f64,
}

struct Workshop<'a> {
    problem: &'a dyn Problem,
    most_references: usize,
    references: Vec<Reference>,
    ground: Ground,
    /// A change of the loss that is too small to matter.
    negligible: f64,
    stop: StopSignal,
}

impl<'a> Workshop<'a> {
    fn new(
        problem: &'a dyn Problem,
        settings: &Polish,
        ground: Ground,
        front: &Front,
        stop: StopSignal,
    ) -> Result<Self, Error> {
        let (low, high) = match front.is_empty() {
            true => (0.0, 0.0),
            false => ranges(front.judged()?, None)[0],
        };
        let scale = match high > low {
            true => high - low,
            false => low.abs(),
        };
        Ok(Self {
            problem,
            most_references: settings.references,
            references: Vec::new(),
            ground,
            negligible: settings.tolerance * scale,
            stop,
        })
    }

    /// Computes second derivatives at well-spread open points and assigns the nearest to each open
    /// point. After a stop, no further step needs them.
    fn refer(&mut self, points: &mut [Piece], open: &[usize]) -> Result<(), Error> {
        let (m, n) = (self.problem.n_objectives(), self.problem.n_params());
        let most = (MOST_NUMBERS / (n * n).max(1)).clamp(1, self.most_references);
        let values: Vec<f64> = open
            .iter()
            .flat_map(|i| points[*i].values.clone())
            .collect();
        let values = Values::new(&values, m)?;
        let places = select_spread(values, most, &ranges(values, None));
        let references: Option<Vec<Reference>> = places
            .par_iter()
            .map(|place| match self.stop.is_set() {
                true => Ok(None),
                false => Reference::new(self.problem, &points[open[*place]].x).map(Some),
            })
            .collect::<Result<_, _>>()?;
        let Some(references) = references else {
            return Ok(());
        };
        self.references = references;
        for &i in open {
            let distance = |r: &Reference| -> f64 {
                let pairs = points[i].x.iter().zip(&r.point);
                pairs.map(|(a, b)| (a - b) * (a - b)).sum()
            };
            let distances: Vec<f64> = self.references.iter().map(distance).collect();
            let order = |a: &usize, b: &usize| distances[*a].total_cmp(&distances[*b]);
            points[i].reference = (0..distances.len()).min_by(order).unwrap_or(0);
            points[i].length = 1.0;
        }
        Ok(())
    }

    /// Takes one step of every open point, in blocks on all threads.
    fn round(
        &self,
        points: &mut [Piece],
        open: &[usize],
        counters: &mut Counters,
    ) -> Result<(), Error> {
        let ends: Vec<(Vec<Piece>, Counters)> = open
            .par_chunks(LANES)
            .map(|block| self.block(block.iter().map(|i| points[*i].clone()).collect()))
            .collect::<Result<_, _>>()?;
        let mut places = open.iter();
        for (pieces, spent) in ends {
            counters.evaluations += spent.evaluations;
            let gradients = counters.gradient_evaluations.iter_mut();
            for (count, spent) in gradients.zip(spent.gradient_evaluations) {
                *count += spent;
            }
            for (piece, place) in pieces.into_iter().zip(&mut places) {
                points[*place] = piece;
            }
        }
        Ok(())
    }

    /// Takes one step of each of at most [`LANES`] points.
    fn block(&self, mut pieces: Vec<Piece>) -> Result<(Vec<Piece>, Counters), Error> {
        let m = self.problem.n_objectives();
        let mut spent = Counters::default();
        if self.stop.is_set() {
            return Ok((pieces, spent));
        }
        let n = self.problem.n_params();
        let all: Vec<f64> = pieces.iter().flat_map(|p| p.x.clone()).collect();
        let gradients = self
            .problem
            .gradients(&Points::from_vec(n, all), Batches::All)?;
        spent.gradient_evaluations = vec![pieces.len() as u64; m];
        let mut trials = Vec::with_capacity(pieces.len());
        for (i, piece) in pieces.iter().enumerate() {
            let of_point: Vec<&[f64]> = (0..m).map(|o| gradients.get(o, i)).collect();
            let model = Model::new(
                self.problem,
                &self.references[piece.reference],
                &piece.x,
                &piece.values,
                &of_point,
                &piece.before,
                self.ground.held(self.problem, &piece.values),
            )?;
            trials.push((Trial::new(&model, m, piece.length), model));
        }
        // A point is done if its next step promises only a negligible decrease.
        let mut waiting: Vec<usize> = Vec::new();
        for (i, (trial, _)) in trials.iter().enumerate() {
            match trial.fall > self.negligible {
                true => waiting.push(i),
                false => pieces[i].done = true,
            }
        }
        while !waiting.is_empty() && !self.stop.is_set() {
            let mut there = Points::new(n);
            for &i in &waiting {
                let moved = pieces[i].x.iter().zip(&trials[i].0.step);
                there.push(&moved.map(|(x, s)| x + s).collect::<Vec<_>>());
            }
            let values = self.problem.values(&there)?;
            spent.evaluations += waiting.len() as u64;
            let mut left = Vec::new();
            for (place, &i) in waiting.iter().enumerate() {
                let new = &values[place * m..(place + 1) * m];
                let (trial, model) = &mut trials[i];
                let piece = &mut pieces[i];
                let rises = self.rises(&piece.values, new);
                let gain = piece.values[0] - new[0];
                let falls = gain > 0.0 && gain >= ENOUGH * trial.fall;
                if falls && rises.iter().all(|r| *r == 0.0) {
                    if trial.way == 1 || trial.length < SHORT {
                        let excess = (piece.before.len() + m - 1).saturating_sub(MEMORY * (m - 1));
                        piece.before.drain(..excess);
                        let now = (1..m).map(|o| (o, gradients.get(o, i).to_vec()));
                        piece.before.extend(now);
                    } else {
                        piece.before.clear();
                    }
                    piece.x = there.get(place).to_vec();
                    piece.values = new.to_vec();
                    piece.length = (trial.best(gain) * trial.length).clamp(1e-3, 4.0);
                    piece.moved = true;
                    piece.done = trial.way == 0 && gain <= self.negligible;
                } else if trial.again(model, gain, &rises, falls) {
                    left.push(i);
                } else {
                    piece.done = true;
                }
            }
            waiting = left;
        }
        Ok((pieces, spent))
    }

    /// By how much each objective except the loss rises beyond rounding.
    fn rises(&self, old: &[f64], new: &[f64]) -> Vec<f64> {
        let pairs = old.iter().zip(new).zip(&self.ground.zeros).enumerate();
        pairs
            .map(|(i, ((old, new), zero))| match i > 0 {
                true if *new <= old.max(ROUNDING * zero) => 0.0,
                true => new - old,
                false => 0.0,
            })
            .collect()
    }
}

impl Trial {
    fn new(model: &Model, m: usize, length: f64) -> Self {
        let lower = vec![0.0; m];
        let (step, fall) = model.tangent(length, &lower);
        Self {
            way: 0,
            length,
            lower,
            corrections: 0,
            step,
            fall,
        }
    }

    /// Chooses the next step to try after a failed one; `false` if none is left.
    fn again(&mut self, model: &Model, gain: f64, rises: &[f64], falls: bool) -> bool {
        let finite = rises.iter().all(|r| r.is_finite());
        if self.way == 0 && falls && finite && self.corrections < CORRECTIONS {
            self.corrections += 1;
            for (lower, rise) in self.lower.iter_mut().zip(rises) {
                // Slightly more than the rise, because the correction bends too.
                *lower += 1.1 * rise;
            }
            if self.promises(model) {
                return true;
            }
        }
        let shorter = match falls {
            true => 0.25,
            false => self.best(gain).clamp(0.1, 0.5),
        };
        loop {
            self.length *= shorter;
            self.corrections = 0;
            // Effects of curvature scale with the square of the length.
            self.lower.iter_mut().for_each(|l| *l *= shorter * shorter);
            if self.length < SHORTEST[self.way] {
                if self.way == 1 {
                    return false;
                }
                self.way = 1;
                self.length = 1.0;
            }
            if self.promises(model) {
                return true;
            }
        }
    }

    /// The factor on the step length that would have lowered the loss most, by the parabola through
    /// the promised and the actual decrease.
    fn best(&self, gain: f64) -> f64 {
        let best = self.fall / (2.0 * (self.fall - gain));
        match best > 0.0 {
            true => best.clamp(0.25, 4.0),
            false if gain.is_nan() => 0.25,
            false => 4.0,
        }
    }

    /// Computes the step from the model; returns whether the loss should fall.
    fn promises(&mut self, model: &Model) -> bool {
        (self.step, self.fall) = match self.way {
            0 => model.tangent(self.length, &self.lower),
            _ => model.common(self.length),
        };
        self.fall > 0.0 && self.fall.is_finite()
    }
}
