//! Two objectives: follows the front as a curve, parametrized by the size of the covariance.
//!
//! With G = √f2 (the covariance itself if there is only one), the front is the curve of the x that
//! minimize f1 subject to G(x) = r, for r from its value at the unmitigated model down to 0. With
//! the multiplier μ of the constraint, ∇f1 + μ∇G = 0 along it, and μ = −df1/dr.

use std::ops::ControlFlow;

use fairfront_core::{LANES, Points};
use rayon::prelude::*;

use super::Trace;
use super::kkt::Kkt;
use super::model::{Model, SQUARED, Weight, add_curvature};
use crate::Error;
use crate::descend::{add, dot, energy};
use crate::ground::Ground;
use crate::outcome::{Counters, Observer, Progress};
use crate::proof::Anchor;

/// Derivatives may be larger within a step than before it, so error estimates are multiplied by
/// this.
const SAFE: f64 = 512.0;
/// The error between nodes of a guess from a line is unknown; it may be larger by this factor.
const FROM_LINE: f64 = 4e7;
/// Steps below this share of the range are not shortened for accuracy alone.
const SHORT: f64 = 1e-4;
/// With several covariances, G has a corner at 0. The curve is followed up to this share of its
/// range, or of a step between points, and its end is solved separately.
const CORNER: f64 = 1e-3;
const CORNER_STEP: f64 = 0.5;
/// Maximum number of Newton steps at a node.
const STEPS: usize = 12;
/// A node is done when the energy remaining after a step is below this share of the tolerance.
const DONE: f64 = 1e-2;

/// A point of the curve with its derivatives.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) r: f64,
    pub(super) x: Vec<f64>,
    /// dx/dr.
    slope: Vec<f64>,
    loss: f64,
    multiplier: f64,
    /// dμ/dr.
    bend: f64,
    kkt: Kkt,
    /// The point of the last second derivatives of the loss, one step before x, and their lower
    /// triangle.
    hessian: (Vec<f64>, Vec<f64>),
}

/// The constraint at a point.
struct Level {
    value: f64,
    gradient: Vec<f64>,
    /// Second derivatives with respect to the roots, if there are several.
    curvature: Option<Vec<f64>>,
    roots: Vec<Vec<f64>>,
}

pub(super) struct Curve<'a> {
    model: &'a Model<'a>,
    settings: &'a Trace,
    /// The sign of the covariance, if there is only one.
    sign: f64,
    n_roots: usize,
    /// r at the unmitigated model.
    largest: f64,
    /// Largest allowed error of a cubic between nodes, as an energy.
    tolerance: f64,
}

/// Points along the curve.
pub(super) struct Along {
    nodes: Vec<Node>,
    /// The interval of each point and the position in it, as a share; empty if the points are
    /// nodes.
    places: Vec<(usize, f64)>,
    pub(super) points: Points,
    /// Whether the end of the curve was reached.
    pub(super) complete: bool,
}

impl Along {
    /// Whether points lie between nodes, so that they can be refined.
    pub(super) fn is_between_nodes(&self) -> bool {
        !self.places.is_empty()
    }

    /// Second derivatives at the nodes.
    pub(super) fn anchors(&self) -> Vec<Anchor> {
        let of = |node: &Node| Anchor::new(node.hessian.0.clone(), node.hessian.1.clone());
        self.nodes.iter().map(of).collect()
    }
}

impl<'a> Curve<'a> {
    pub(super) fn new(
        model: &'a Model<'a>,
        settings: &'a Trace,
        ground: &Ground,
    ) -> Result<Self, Error> {
        let roots = model.roots(1, ground.unmitigated.points.get(0))?;
        Ok(Self {
            model,
            settings,
            sign: if roots.values[0] < 0.0 { -1.0 } else { 1.0 },
            n_roots: roots.values.len(),
            largest: ground.unmitigated.values[1].max(0.0).sqrt(),
            tolerance: settings.tolerance * ground.loss_scale(),
        })
    }

    /// Follows the curve and places points on it.
    pub(super) fn follow(
        &self,
        ground: &Ground,
        counters: &mut Counters,
        observer: &mut dyn Observer,
    ) -> Result<Along, Error> {
        let (nodes, complete) = self.nodes(ground, counters, observer)?;
        let mut along = Along {
            nodes,
            places: Vec::new(),
            points: Points::default(),
            complete,
        };
        self.place(&mut along, self.settings.points);
        Ok(along)
    }

    /// Places `n` points on the curve, replacing the current ones.
    pub(super) fn place(&self, along: &mut Along, n: usize) {
        let nodes = &along.nodes;
        let mut points = Points::new(self.model.problem.n_params());
        let mut places = Vec::new();
        if nodes.len() < 3 {
            nodes.iter().for_each(|node| points.push(&node.x));
        } else {
            places = spread_out(nodes, n);
            // No points are placed before a corner at the end: the interval is about as short as a
            // step between points, and the curve is not known well inside it.
            let before_end = nodes.len() - 2;
            let corner = self.n_roots > 1 && nodes[nodes.len() - 1].r == 0.0;
            let inside = |(place, at): &(usize, f64)| *place == before_end && *at > 0.0;
            if corner && places[..n - 1].iter().any(inside) {
                places = spread_out(&nodes[..=before_end], n - 1);
                places.push((before_end, 1.0));
            }
            for (place, at) in &places {
                points.push(&between(&nodes[*place], &nodes[place + 1], *at));
            }
        }
        (along.places, along.points) = (places, points);
    }

    fn level(&self, x: &[f64]) -> Result<Level, Error> {
        let roots = self.model.roots(1, x)?;
        if self.n_roots == 1 {
            let gradient = roots.gradients[0].iter().map(|g| self.sign * g);
            return Ok(Level {
                value: self.sign * roots.values[0],
                gradient: gradient.collect(),
                curvature: None,
                roots: Vec::new(),
            });
        }
        let of = self.model.problem.roots_of(1)?.combined(&roots.values)?;
        let k = self.n_roots;
        let value = of.value.sqrt();
        let slope: Vec<f64> = of.slope.iter().map(|s| s / (2.0 * value)).collect();
        let mut gradient = vec![0.0; x.len()];
        for (slope, g) in slope.iter().zip(&roots.gradients) {
            add(&mut gradient, *slope, g);
        }
        // ∇²√F = ∇²F/(2√F) − ∇√F ∇√Fᵀ/√F.
        let curvature =
            (0..k * k).map(|ij| (of.curvature[ij] / 2.0 - slope[ij / k] * slope[ij % k]) / value);
        Ok(Level {
            value,
            gradient,
            curvature: Some(curvature.collect()),
            roots: roots.gradients,
        })
    }

    /// Follows the curve from the unmitigated model to its end, or until it is stopped.
    fn nodes(
        &self,
        ground: &Ground,
        counters: &mut Counters,
        observer: &mut dyn Observer,
    ) -> Result<(Vec<Node>, bool), Error> {
        let x0 = ground.unmitigated.points.get(0);
        let r0 = self.level(x0)?.value;
        // Nothing to trade off: the model with the smallest loss is already fair.
        if r0 * r0 <= ground.zeros[1] || !r0.is_finite() {
            return Ok((vec![self.start(x0, counters)?], true));
        }
        let corner = CORNER.min(CORNER_STEP / self.settings.points as f64);
        let end = if self.n_roots == 1 { 0.0 } else { corner * r0 };
        let mut nodes = vec![self.start(x0, counters)?];
        let mut length = r0 / 16.0;
        while let Some(last) = nodes.last().filter(|node| node.r > end) {
            if self.model.stop.is_set() {
                return Ok((nodes, false));
            }
            // A step that would leave a tiny last step goes to the end.
            let r = match last.r - length < end + 0.2 * length {
                true => end,
                false => last.r - length,
            };
            let (x, multiplier) = predict(&nodes, r);
            let corrected = self.correct(x, multiplier, r, counters)?;
            // Estimates the error of a cubic in the middle of the step from its error beyond the
            // previous step. Energy is a square.
            let share = match &nodes[..] {
                [.., before, last] => {
                    let ratio = (last.r - r) / (before.r - last.r);
                    SAFE * (ratio / (1.0 + ratio)).powi(4) / 256.0
                }
                _ => 1.0 / FROM_LINE,
            };
            let close = |off: f64| {
                share * off <= self.tolerance
                    || (length < SHORT * r0 && off <= FROM_LINE * self.tolerance)
            };
            // The error grows with the fourth power of the step; for a line, with the second.
            let power = if nodes.len() > 1 { 0.125 } else { 0.25 };
            let factor = |off: f64| (0.5 * self.tolerance / (share * off).max(1e-300)).powf(power);
            let node = match corrected {
                Some((node, off)) if close(off) => {
                    length *= factor(off).clamp(0.2, 4.0);
                    node
                }
                other => {
                    length *= other.map_or(0.3, |(_, off)| factor(off).clamp(0.1, 0.8));
                    if length.is_nan() || length < 1e-6 * r0 {
                        return Ok((nodes, false));
                    }
                    continue;
                }
            };
            nodes.push(node);
            counters.points_by_round.push(nodes.len());
            let values: Vec<f64> = nodes.iter().flat_map(|n| [n.loss, n.r * n.r]).collect();
            let progress = Progress {
                round: nodes.len() - 1,
                share: (1.0 - r / r0).clamp(0.0, 1.0),
                values: &values,
                n_objectives: 2,
                reference: &ground.reference,
            };
            if observer.round(&progress) == ControlFlow::Break(()) && r > 0.0 {
                return Ok((nodes, false));
            }
        }
        if end > 0.0 {
            let last = self.fair_end(&nodes, counters)?;
            // A partly solved end is not a point of the front.
            if self.model.stop.is_set() {
                return Ok((nodes, false));
            }
            nodes.push(last);
        }
        Ok((nodes, true))
    }

    /// How much faster derivatives change near the corner at 0, if there is one.
    fn sharpness(&self, r: f64) -> f64 {
        match self.n_roots {
            1 => 1.0,
            _ => (self.largest / r).powi(2).max(1.0),
        }
    }

    /// Creates the first node from the unmitigated model.
    fn start(&self, x: &[f64], counters: &mut Counters) -> Result<Node, Error> {
        let loss = self.model.loss(x, counters)?;
        let level = self.level(x)?;
        let rows = match level.value > 0.0 && level.gradient.iter().all(|g| g.is_finite()) {
            true => vec![level.gradient],
            false => Vec::new(),
        };
        let kkt = Kkt::new(&loss.lower, x.len(), &rows).ok_or_else(not_finite)?;
        let (slope, bend) = kkt.step(&vec![0.0; x.len()], &vec![-1.0; rows.len()]);
        Ok(Node {
            r: level.value,
            x: x.to_vec(),
            slope,
            loss: loss.value,
            multiplier: 0.0,
            bend: bend.first().copied().unwrap_or(0.0),
            kkt,
            hessian: (x.to_vec(), loss.lower),
        })
    }

    /// Newton's method for a node from a guess. Returns the node and the energy of its first step,
    /// which is the error of the guess; `None` if it does not converge or is stopped first.
    fn correct(
        &self,
        mut x: Vec<f64>,
        mut multiplier: f64,
        r: f64,
        counters: &mut Counters,
    ) -> Result<Option<(Node, f64)>, Error> {
        let n = x.len();
        let mut first = None;
        let mut before = f64::INFINITY;
        for _ in 0..STEPS {
            if self.model.stop.is_set() {
                return Ok(None);
            }
            let loss = self.model.loss(&x, counters)?;
            let level = self.level(&x)?;
            counters.gradient_evaluations[1] += 1;
            let mut gradient = loss.gradient.clone();
            add(&mut gradient, multiplier, &level.gradient);
            let mut lower = loss.lower.clone();
            if let Some(curvature) = &level.curvature {
                add_curvature(&mut lower, multiplier.max(0.0), curvature, &level.roots);
            }
            let rows = [level.gradient];
            let Some(kkt) = Kkt::new(&lower, n, &rows) else {
                return Ok(None);
            };
            let (dx, dy) = kkt.step(&gradient, &[level.value - r]);
            let off = energy(&lower, &dx);
            if !off.is_finite() || off > 4.0 * before {
                return Ok(None);
            }
            before = off;
            let first = *first.get_or_insert(off);
            let loss_there = loss.value + dot(&loss.gradient, &dx) + 0.5 * energy(&loss.lower, &dx);
            let before_step = x.clone();
            add(&mut x, 1.0, &dx);
            multiplier += dy[0];
            let done = off * off * SQUARED * self.sharpness(r) <= DONE * self.tolerance;
            if done {
                let (slope, bend) = kkt.step(&vec![0.0; n], &[-1.0]);
                let node = Node {
                    r,
                    x,
                    slope,
                    loss: loss_there,
                    multiplier,
                    bend: bend[0],
                    kkt,
                    hessian: (before_step, loss.lower),
                };
                return Ok(Some((node, first)));
            }
        }
        Ok(None)
    }

    /// The node with the smallest loss at which the objective is 0.
    fn fair_end(&self, nodes: &[Node], counters: &mut Counters) -> Result<Node, Error> {
        let last = &nodes[nodes.len() - 1];
        let mut x = last.x.clone();
        add(&mut x, -last.r, &last.slope);
        let solved = self.model.minimize(&[Weight::Infinite], &x, counters)?;
        let second = self.model.loss(&solved.x, counters)?;
        let loss = second.value;
        // A parabola through both nodes, with the slope of the last node.
        let mut slope: Vec<f64> = last.slope.iter().map(|s| -s).collect();
        add(&mut slope, 2.0 / last.r, &last.x);
        add(&mut slope, -2.0 / last.r, &solved.x);
        Ok(Node {
            r: 0.0,
            x: solved.x.clone(),
            slope,
            loss,
            multiplier: 2.0 * (loss - last.loss) / last.r - last.multiplier,
            bend: last.bend,
            kkt: last.kkt.clone(),
            hessian: (solved.x, second.lower),
        })
    }

    /// Takes Newton steps at some points, with the equations of the nearest node.
    pub(super) fn repair(
        &self,
        along: &mut Along,
        numbers: &[usize],
        counters: &mut Counters,
    ) -> Result<(), Error> {
        let n = along.points.n_params();
        counters.evaluations += numbers.len() as u64;
        counters.gradient_evaluations[0] += numbers.len() as u64;
        let Along {
            nodes,
            places,
            points,
            ..
        } = along;
        let now = &*points;
        let steps: Vec<Vec<Vec<f64>>> = numbers
            .par_chunks(LANES)
            .map(|block| {
                let problem = self.model.problem;
                let gradients = problem.gradients_of(0, &now.select(block))?;
                let mut steps = Vec::new();
                for (gradient, &i) in gradients.chunks_exact(n).zip(block) {
                    let (place, at) = places[i];
                    let (a, b) = (&nodes[place], &nodes[place + 1]);
                    let near = if at < 0.5 { a } else { b };
                    let r = a.r + at * (b.r - a.r);
                    // A corner has no gradient; it is solved separately.
                    if self.n_roots > 1 && r == 0.0 {
                        steps.push(vec![0.0; n]);
                        continue;
                    }
                    let level = self.level(now.get(i))?;
                    let mut pulled = gradient.to_vec();
                    add(&mut pulled, multiplier_between(a, b, at), &level.gradient);
                    steps.push(near.kkt.step(&pulled, &[level.value - r]).0);
                }
                Ok(steps)
            })
            .collect::<Result<_, Error>>()?;
        for (i, dx) in numbers.iter().zip(steps.into_iter().flatten()) {
            add(points.get_mut(*i), 1.0, &dx);
        }
        Ok(())
    }
}

fn not_finite() -> Error {
    Error::Problem("the second derivatives of the loss are not finite".into())
}

/// The curve at r beyond its last node: the cubic through the last two, or a line.
fn predict(nodes: &[Node], r: f64) -> (Vec<f64>, f64) {
    let last = &nodes[nodes.len() - 1];
    if nodes.len() < 2 {
        let mut x = last.x.clone();
        add(&mut x, r - last.r, &last.slope);
        return (x, last.multiplier + last.bend * (r - last.r));
    }
    let before = &nodes[nodes.len() - 2];
    let at = (r - before.r) / (last.r - before.r);
    (
        between(before, last, at),
        multiplier_between(before, last, at),
    )
}

/// Weights of the cubic through two values and slopes, at a share of the way: those of both values,
/// then of both slopes.
fn cubic(at: f64) -> [f64; 4] {
    let rest = 1.0 - at;
    [
        rest * rest * (1.0 + 2.0 * at),
        at * at * (3.0 - 2.0 * at),
        at * rest * rest,
        -at * at * rest,
    ]
}

fn between(a: &Node, b: &Node, at: f64) -> Vec<f64> {
    let width = b.r - a.r;
    let [wa, wb, sa, sb] = cubic(at);
    let values = a.x.iter().zip(&b.x);
    let slopes = a.slope.iter().zip(&b.slope);
    values
        .zip(slopes)
        .map(|((xa, xb), (da, db))| wa * xa + wb * xb + width * (sa * da + sb * db))
        .collect()
}

fn multiplier_between(a: &Node, b: &Node, at: f64) -> f64 {
    let width = b.r - a.r;
    let [wa, wb, sa, sb] = cubic(at);
    wa * a.multiplier + wb * b.multiplier + width * (sa * a.bend + sb * b.bend)
}

fn loss_between(a: &Node, b: &Node, at: f64) -> f64 {
    let width = b.r - a.r;
    let [wa, wb, sa, sb] = cubic(at);
    wa * a.loss + wb * b.loss - width * (sa * a.multiplier + sb * b.multiplier)
}

/// Places of `n` points evenly spread along the curve in the plane of both objectives, each scaled
/// by its range: the interval and the share of it. Both ends are included.
fn spread_out(nodes: &[Node], n: usize) -> Vec<(usize, f64)> {
    const FINE: usize = 64;
    let (first, last) = (&nodes[0], &nodes[nodes.len() - 1]);
    let range = |a: f64, b: f64| if a == b { 1.0 } else { (a - b).abs() };
    let losses = range(first.loss, last.loss);
    let squares = range(first.r * first.r, last.r * last.r);
    let mut ends = vec![0.0];
    let mut total = 0.0;
    let at = |place: usize, share: f64| {
        let (a, b) = (&nodes[place], &nodes[place + 1]);
        let r = a.r + share * (b.r - a.r);
        (loss_between(a, b, share) / losses, r * r / squares)
    };
    for place in 0..nodes.len() - 1 {
        for piece in 0..FINE {
            let share = |i: usize| i as f64 / FINE as f64;
            let (a, b) = (at(place, share(piece)), at(place, share(piece + 1)));
            total += (a.0 - b.0).hypot(a.1 - b.1);
            ends.push(total);
        }
    }
    let mut places = Vec::with_capacity(n);
    let mut piece = 0;
    for i in 0..n {
        let goal = total * i as f64 / (n - 1).max(1) as f64;
        while piece + 2 < ends.len() && ends[piece + 1] < goal {
            piece += 1;
        }
        let width = ends[piece + 1] - ends[piece];
        let within = if width > 0.0 {
            ((goal - ends[piece]) / width).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let share = ((piece % FINE) as f64 + within) / FINE as f64;
        places.push((piece / FINE, share));
    }
    // Sets both ends exactly, without rounding.
    places[0] = (0, 0.0);
    if n > 1 {
        places[n - 1] = (nodes.len() - 2, 1.0);
    }
    places
}
