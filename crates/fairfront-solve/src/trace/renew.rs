//! Updates a surface known from other rows: every point is solved again with its weights. Because
//! the points are close, the loss's second derivatives at a few places suffice for all of them.

use std::ops::ControlFlow;

use fairfront_core::{LANES, Points, Preconditioner, SecondOrder};
use fairfront_pareto::{ranges, select_spread};
use rayon::prelude::*;

use super::kkt::Kkt;
use super::mesh::{Mesh, Place, Surface};
use super::model::{DONE, Weight, add_curvature};
use crate::Error;
use crate::descend::{add, dot, energy};
use crate::outcome::{Counters, Front, Observer, Progress};
use crate::update::Known;

/// A weight beyond this position in the cube counts as ∞: little is left of an objective that was 0
/// on other rows.
const FAIR: f64 = 0.98;
/// Maximum number of places with second derivatives, and the total size of these, in numbers.
const ANCHORS: usize = 128;
const MOST_NUMBERS: usize = 8_000_000;
/// Maximum number of steps with borrowed second derivatives.
const STEPS: usize = 12;
/// Borrowed second derivatives are not used for steps with a larger energy than this.
const FAR: f64 = 1e-2;
/// Number of points that are solved at once if each takes long.
const BATCH: usize = 16;
/// Number of neighbors of a point that are checked for holes, and the maximum number of points for
/// this check.
const NEIGHBORS: usize = 4;
const MOST_COMPARED: usize = 10_000;
/// Maximum number of sweeps over the weights.
const SWEEPS: usize = 200;

/// A point on its way to the minimum for its weights.
struct Moving {
    place: Vec<f64>,
    x: Vec<f64>,
    /// Index of the second derivatives that it borrows.
    anchor: usize,
    /// Energy of the last step.
    before: f64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Done,
    /// The point needs its own second derivatives.
    Far,
}

/// Second derivatives of the loss at some points.
struct Anchors {
    points: Front,
    second: Vec<SecondOrder>,
}

impl Mesh<'_> {
    /// Solves all known points again, and more points if these leave holes or are too few.
    pub(super) fn renew(
        mut self,
        known: &Known,
        counters: &mut Counters,
        observer: &mut dyn Observer,
    ) -> Result<Surface, Error> {
        let stop = observer.stop_signal();
        let most = self.settings.points.min(self.model.most_solved());
        let front = self.known_points(known, most)?;
        let fairest = front.points.get(front.len() - 1).to_vec();
        let corners = self.corners(&[fairest]);
        let places = self.places(&front, counters)?;
        self.solve(corners, counters)?;
        self.measure();
        let anchors = self.anchors(&front, counters)?;
        let known = places.into_iter().zip(front.points.iter());
        let known = known.map(|(place, x)| Place {
            place,
            starts: vec![x.to_vec()],
        });
        let mut complete =
            self.settle(known.collect(), &anchors, (0.0, 0.8), counters, observer)?;
        if complete && !stop.is_set() {
            let missing = most.saturating_sub(self.vertices.len());
            let between = self.between(most, missing);
            complete = self.settle(between, &anchors, (0.8, 1.0), counters, observer)?;
        }
        let mut points = Points::new(self.model.problem.n_params());
        self.vertices.iter().for_each(|v| points.push(&v.x));
        Ok(Surface {
            points,
            hole: None,
            complete,
        })
    }

    /// The known points to solve again, sorted by their loss.
    fn known_points(&self, known: &Known, most: usize) -> Result<Front, Error> {
        let values = known.front.judged()?;
        let ranges = ranges(values, Some(&self.ground.reference));
        let kept = select_spread(values, most, &ranges);
        Ok(known.front.select(&kept).sorted())
    }

    /// The position of each point in the cube, given by the weights that best balance the gradient
    /// of the loss.
    fn places(&self, front: &Front, counters: &mut Counters) -> Result<Vec<Vec<f64>>, Error> {
        let (problem, n) = (self.model.problem, front.points.n_params());
        let preconditioner = match &self.model.wide {
            Some(preconditioner) => preconditioner.clone(),
            None => problem.preconditioner(self.ground.unmitigated.points.get(0))?,
        };
        let numbers: Vec<usize> = (0..front.len()).collect();
        counters.gradient_evaluations[0] += front.len() as u64;
        let blocks: Vec<Vec<Vec<f64>>> = numbers
            .par_chunks(LANES)
            .map(|block| {
                let gradients = problem.gradients_of(0, &front.points.select(block))?;
                let each = gradients.chunks_exact(n).zip(block);
                each.map(|(gradient, i)| self.place(&preconditioner, gradient, front, *i))
                    .collect()
            })
            .collect::<Result<_, Error>>()?;
        Ok(blocks.into_iter().flatten().collect())
    }

    fn place(
        &self,
        preconditioner: &Preconditioner,
        loss: &[f64],
        front: &Front,
        number: usize,
    ) -> Result<Vec<f64>, Error> {
        let (x, values) = (front.points.get(number), front.value(number));
        let mut gradients = Vec::new();
        for objective in 1..values.len() {
            let roots = self.model.roots(objective, x)?;
            let of = self
                .model
                .problem
                .roots_of(objective)?
                .combined(&roots.values)?;
            let mut gradient = vec![0.0; x.len()];
            for (slope, g) in of.slope.iter().zip(&roots.gradients) {
                add(&mut gradient, *slope, g);
            }
            preconditioner.to_variables(&mut gradient);
            gradients.push(gradient);
        }
        let mut loss = loss.to_vec();
        preconditioner.to_variables(&mut loss);
        let mut weights = vec![0.0; gradients.len()];
        for _ in 0..SWEEPS {
            let mut moved = 0.0_f64;
            for (i, gradient) in gradients.iter().enumerate() {
                let square = dot(gradient, gradient);
                if square <= 0.0 || !square.is_finite() {
                    continue;
                }
                let best = (weights[i] - dot(&loss, gradient) / square).max(0.0);
                let step = best - weights[i];
                add(&mut loss, step, gradient);
                moved = moved.max(step.abs() / self.scales[i]);
                weights[i] = best;
            }
            if moved <= 1e-9 {
                break;
            }
        }
        let place = |(i, weight): (usize, &f64)| {
            let place = weight / (weight + self.scales[i]);
            match place >= FAIR || values[i + 1] <= self.ground.zeros[i + 1] {
                true => 1.0,
                false => place,
            }
        };
        Ok(weights.iter().enumerate().map(place).collect())
    }

    /// Second derivatives at some well-spread points; empty if each point must compute its own.
    fn anchors(&self, front: &Front, counters: &mut Counters) -> Result<Anchors, Error> {
        let mut anchors = Anchors {
            points: Front::empty(front.points.n_params(), front.n_objectives),
            second: Vec::new(),
        };
        if self.model.most_solved() < usize::MAX {
            return Ok(anchors);
        }
        let values = front.judged()?;
        let ranges = ranges(values, Some(&self.ground.reference));
        let n = front.points.n_params();
        let most = (MOST_NUMBERS / (n * n)).clamp(1, ANCHORS);
        anchors.points = front.select(&select_spread(values, most, &ranges));
        for x in anchors.points.points.iter() {
            if self.model.stop.is_set() {
                break;
            }
            anchors.second.push(self.model.loss(x, counters)?);
        }
        let found: Vec<usize> = (0..anchors.second.len()).collect();
        anchors.points = anchors.points.select(&found);
        Ok(anchors)
    }

    /// Solves at places close to known solutions; returns whether it finished.
    fn settle(
        &mut self,
        places: Vec<Place>,
        anchors: &Anchors,
        (from, to): (f64, f64),
        counters: &mut Counters,
        observer: &mut dyn Observer,
    ) -> Result<bool, Error> {
        let stop = observer.stop_signal();
        let mut moving = self.moving(places, anchors)?;
        if !anchors.second.is_empty() {
            for step in 0..STEPS {
                let open = |m: &Moving| m.state == State::Open;
                if !moving.iter().any(open) {
                    break;
                }
                self.step(&mut moving, anchors, counters)?;
                let share = from + (to - from) * step as f64 / STEPS as f64;
                if self.told_to_stop(share, counters, observer) || stop.is_set() {
                    return Ok(false);
                }
            }
        }
        let (done, rest): (Vec<Moving>, Vec<Moving>) =
            moving.into_iter().partition(|m| m.state == State::Done);
        self.add(done, counters)?;
        for rest in rest.chunks(BATCH) {
            if stop.is_set() {
                return Ok(false);
            }
            let places = rest.iter().map(|m| Place {
                place: m.place.clone(),
                starts: vec![m.x.clone()],
            });
            self.solve(places.collect(), counters)?;
            if self.told_to_stop(to, counters, observer) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn told_to_stop(
        &self,
        share: f64,
        counters: &mut Counters,
        observer: &mut dyn Observer,
    ) -> bool {
        let values = self.vertices.iter().flat_map(|v| v.values.clone());
        let values: Vec<f64> = values.collect();
        counters.points_by_round.push(self.vertices.len());
        let progress = Progress {
            round: counters.points_by_round.len(),
            share,
            values: &values,
            n_objectives: self.scales.len() + 1,
            reference: &self.ground.reference,
        };
        observer.round(&progress) == ControlFlow::Break(())
    }

    /// Assigns to each point the nearest second derivatives, measured in the objectives.
    fn moving(&self, places: Vec<Place>, anchors: &Anchors) -> Result<Vec<Moving>, Error> {
        let mut starts = Points::new(self.model.problem.n_params());
        places.iter().for_each(|p| starts.push(&p.starts[0]));
        let values = match anchors.second.is_empty() {
            true => Vec::new(),
            false => self.model.problem.values(&starts)?,
        };
        let m = self.scales.len() + 1;
        let nearest = |number: usize| {
            let own = values.get(number * m..(number + 1) * m).unwrap_or(&[]);
            let distance = |i: &usize| self.distance(own, anchors.points.value(*i));
            let all = 0..anchors.second.len();
            all.min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let moving = places.into_iter().zip(starts.iter()).enumerate();
        Ok(moving
            .map(|(number, (place, x))| Moving {
                place: place.place,
                x: x.to_vec(),
                anchor: nearest(number).unwrap_or(0),
                before: f64::INFINITY,
                state: State::Open,
            })
            .collect())
    }

    /// Takes one step of all open points; a stop skips those that were not reached.
    fn step(
        &self,
        moving: &mut [Moving],
        anchors: &Anchors,
        counters: &mut Counters,
    ) -> Result<(), Error> {
        let mut open: Vec<&mut Moving> = moving
            .iter_mut()
            .filter(|m| m.state == State::Open)
            .collect();
        counters.evaluations += open.len() as u64;
        counters.gradient_evaluations[0] += open.len() as u64;
        open.par_chunks_mut(LANES).try_for_each(|block| {
            if self.model.stop.is_set() {
                return Ok(());
            }
            let n = self.model.problem.n_params();
            let mut points = Points::new(n);
            block.iter().for_each(|m| points.push(&m.x));
            let gradients = self.model.problem.gradients_of(0, &points)?;
            for (moving, gradient) in block.iter_mut().zip(gradients.chunks_exact(n)) {
                let lower = &anchors.second[moving.anchor].lower;
                self.step_one(moving, gradient.to_vec(), lower.clone())?;
            }
            Ok(())
        })
    }

    fn step_one(
        &self,
        moving: &mut Moving,
        mut gradient: Vec<f64>,
        mut lower: Vec<f64>,
    ) -> Result<(), Error> {
        let (mut rows, mut excess) = (Vec::new(), Vec::new());
        for (i, weight) in self.weights(&moving.place).iter().enumerate() {
            let roots = self.model.roots(i + 1, &moving.x)?;
            match weight {
                Weight::Infinite => {
                    excess.extend(&roots.values);
                    rows.extend(roots.gradients);
                }
                Weight::Finite(0.0) => {}
                Weight::Finite(w) => {
                    let of = self
                        .model
                        .problem
                        .roots_of(i + 1)?
                        .combined(&roots.values)?;
                    for (slope, g) in of.slope.iter().zip(&roots.gradients) {
                        add(&mut gradient, w * slope, g);
                    }
                    add_curvature(&mut lower, *w, &of.curvature, &roots.gradients);
                }
            }
        }
        moving.state = State::Far;
        let Some(kkt) = Kkt::new(&lower, gradient.len(), &rows) else {
            return Ok(());
        };
        let (dx, _) = kkt.step(&gradient, &excess);
        let energy = energy(&lower, &dx);
        // The share of the energy that a step leaves is about that of the previous step.
        let left = energy / moving.before;
        if !energy.is_finite() || energy > FAR || left > 0.25 {
            return Ok(());
        }
        add(&mut moving.x, 1.0, &dx);
        let is_first = moving.before.is_infinite();
        moving.before = energy;
        moving.state = match energy <= DONE || (!is_first && energy * left <= DONE) {
            true => State::Done,
            false => State::Open,
        };
        Ok(())
    }

    /// Places between distant neighbors: one per hole, but at least `missing` and at most `most`.
    fn between(&self, most: usize, missing: usize) -> Vec<Place> {
        if self.vertices.len() > MOST_COMPARED {
            return Vec::new();
        }
        let numbers: Vec<usize> = (0..self.vertices.len()).collect();
        let value = |i: usize| self.vertices[i].values.as_slice();
        let pairs: Vec<Vec<(f64, usize, usize)>> = numbers
            .par_iter()
            .map(|&i| {
                let others = numbers.iter().filter(|j| **j != i);
                let mut near: Vec<(f64, usize, usize)> = others
                    .map(|&j| (self.distance(value(i), value(j)), i.min(j), i.max(j)))
                    .collect();
                near.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
                near.truncate(NEIGHBORS);
                near
            })
            .collect();
        let mut pairs: Vec<(f64, usize, usize)> = pairs.into_iter().flatten().collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        pairs.dedup_by_key(|pair| (pair.1, pair.2));
        let holes = pairs.iter().take_while(|p| p.0 > self.settings.hole);
        let n = holes.count().max(missing).min(most);
        let middle = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect()
        };
        let wide = pairs.into_iter().filter(|pair| pair.0 > 0.0).take(n);
        wide.map(|(_, a, b)| {
            let (a, b) = (&self.vertices[a], &self.vertices[b]);
            Place {
                place: middle(&a.place, &b.place),
                starts: vec![middle(&a.x, &b.x)],
            }
        })
        .collect()
    }

    /// Evaluates solved points and adds them as vertices.
    fn add(&mut self, done: Vec<Moving>, counters: &mut Counters) -> Result<(), Error> {
        let mut points = Points::new(self.model.problem.n_params());
        done.iter().for_each(|m| points.push(&m.x));
        counters.evaluations += points.len() as u64;
        counters.subproblems.get_or_insert_default().solved += points.len() as u64;
        let values = self.model.problem.values(&points)?;
        let done = done
            .into_iter()
            .zip(values.chunks_exact(self.scales.len() + 1));
        done.for_each(|(m, values)| self.push(m.place, m.x, values));
        Ok(())
    }
}
