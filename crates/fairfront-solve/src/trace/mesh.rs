//! Three or more objectives: the front as a surface, in cells that are bisected where it is coarse.
//!
//! Every choice of weights for the objectives except the loss, from 0 (ignored) to ∞ (held at 0),
//! gives a point of the front. The weights form a cube, divided into simplices. The longest edge,
//! measured in the objectives, is bisected until no edge is long.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::ops::ControlFlow;

use fairfront_core::Points;
use rayon::prelude::*;

use super::Trace;
use super::model::{Model, Solved, Weight};
use crate::Error;
use crate::descend::dot;
use crate::ground::Ground;
use crate::outcome::{Counters, Observer, Progress};

/// Number of edges that are bisected before the longest are determined again. It is fixed, so that
/// the mesh does not depend on the number of threads.
const BATCH: usize = 16;
/// Maximum number of axes of the cube, which is divided into one simplex per order of the axes.
pub(super) const MOST_AXES: usize = 7;

/// A choice of weights with its solution.
pub(super) struct Vertex {
    /// Position in the cube: 0 for weight 0, 1 for ∞.
    pub(super) place: Vec<f64>,
    pub(super) x: Vec<f64>,
    pub(super) values: Vec<f64>,
}

/// A choice of weights to solve, with its starting points.
pub(super) struct Place {
    pub(super) place: Vec<f64>,
    pub(super) starts: Vec<Vec<f64>>,
}

/// An edge, ordered by length; ties are ordered by the ends.
#[derive(PartialEq)]
struct Edge {
    length: f64,
    ends: (usize, usize),
}

impl Eq for Edge {}

impl Ord for Edge {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.length.total_cmp(&other.length);
        by_length.then_with(|| other.ends.cmp(&self.ends))
    }
}

impl PartialOrd for Edge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Points of the surface.
pub(super) struct Surface {
    pub(super) points: Points,
    /// The longest remaining edge, as a share of the objectives' ranges, if there are edges.
    pub(super) hole: Option<f64>,
    /// Whether the work was completed.
    pub(super) complete: bool,
}

pub(super) struct Mesh<'a> {
    pub(super) model: &'a Model<'a>,
    pub(super) settings: &'a Trace,
    pub(super) ground: &'a Ground,
    /// For each axis, the weight in the middle of the cube.
    pub(super) scales: Vec<f64>,
    pub(super) vertices: Vec<Vertex>,
    cells: Vec<Vec<usize>>,
    /// The cells around each edge.
    around: HashMap<(usize, usize), Vec<usize>>,
    queue: BinaryHeap<Edge>,
    /// The ranges of the objectives, the units of lengths.
    widths: Vec<f64>,
}

impl<'a> Mesh<'a> {
    pub(super) fn new(
        model: &'a Model<'a>,
        settings: &'a Trace,
        ground: &'a Ground,
        counters: &mut Counters,
    ) -> Result<Self, Error> {
        let x = ground.unmitigated.points.get(0);
        let start = model.minimize(
            &vec![Weight::Finite(0.0); ground.zeros.len() - 1],
            x,
            counters,
        )?;
        let mut scales = Vec::new();
        for i in 1..ground.zeros.len() {
            // The weight at which both gradients pull equally: the inverse of the objective's
            // curvature, where that of the loss is 1.
            let gradient = model.problem.gradient_of(i, x)?;
            let mut solved = gradient.clone();
            match (&start.kkt, &model.wide) {
                (Some(kkt), _) => kkt.solve(&mut solved),
                (None, Some(preconditioner)) => preconditioner.step(&mut solved),
                (None, None) => {}
            }
            let scale = 2.0 * ground.unmitigated.values[i] / dot(&gradient, &solved);
            scales.push(if scale.is_finite() && scale > 0.0 {
                scale
            } else {
                1.0
            });
        }
        Ok(Self {
            model,
            settings,
            ground,
            scales,
            vertices: Vec::new(),
            cells: Vec::new(),
            around: HashMap::new(),
            queue: BinaryHeap::new(),
            widths: Vec::new(),
        })
    }

    /// Refines until no edge is long, or until there are as many points as requested.
    pub(super) fn refine(
        mut self,
        counters: &mut Counters,
        observer: &mut dyn Observer,
    ) -> Result<Surface, Error> {
        let axes = self.scales.len();
        let origin = vec![0.0; self.model.problem.n_params()];
        let corners = self.corners(&[origin]);
        self.solve(corners, counters)?;
        self.measure();
        self.cut_cube(axes);
        let hole = self.hole();
        // A surface is refined until it is fine enough; with more dimensions, until there are
        // enough points.
        let fine = axes <= 2 && self.model.most_solved() == usize::MAX;
        let most = match fine {
            true => self.settings.points.saturating_mul(20),
            false => self.settings.points.min(self.model.most_solved()),
        };
        // After a stop, the corners are not solved, and an edge between them may have length 0.
        let mut complete = !self.model.stop.is_set();
        let mut round = 0;
        loop {
            let longest = self.longest();
            let enough = !fine || self.vertices.len() >= self.settings.points;
            if longest == 0.0 || (longest <= hole && enough) || self.vertices.len() >= most {
                break;
            }
            round += 1;
            let values: Vec<f64> = self
                .vertices
                .iter()
                .flat_map(|v| v.values.clone())
                .collect();
            counters.points_by_round.push(self.vertices.len());
            let progress = Progress {
                round,
                share: match fine {
                    // The number of points grows with the power `axes` of their fineness.
                    true => (hole / longest).powi(axes as i32).min(1.0),
                    false => (self.vertices.len() as f64 / most as f64).min(1.0),
                },
                values: &values,
                n_objectives: axes + 1,
                reference: &self.ground.reference,
            };
            if observer.round(&progress) == ControlFlow::Break(()) || self.model.stop.is_set() {
                complete = false;
                break;
            }
            self.halve(
                most.saturating_sub(self.vertices.len()).min(BATCH),
                counters,
            )?;
        }
        let mut points = Points::new(self.model.problem.n_params());
        for vertex in &self.vertices {
            points.push(&vertex.x);
        }
        Ok(Surface {
            points,
            hole: Some(self.longest()),
            complete,
        })
    }

    /// The corners of the cube, solved from the unmitigated model and, if the problem is not
    /// convex, also from other points.
    pub(super) fn corners(&self, others: &[Vec<f64>]) -> Vec<Place> {
        let axes = self.scales.len();
        let unmitigated = self.ground.unmitigated.points.get(0).to_vec();
        let starts = [&[unmitigated], others].concat();
        let corner = |bits: usize| Place {
            place: (0..axes)
                .map(|axis| f64::from(u8::from(bits >> axis & 1 == 1)))
                .collect(),
            starts: starts.clone(),
        };
        (0..1_usize << axes).map(corner).collect()
    }

    /// The weights at a position.
    pub(super) fn weights(&self, place: &[f64]) -> Vec<Weight> {
        let weight = |(z, scale): (&f64, &f64)| match *z < 1.0 {
            true => Weight::Finite(scale * z / (1.0 - z)),
            false => Weight::Infinite,
        };
        place.iter().zip(&self.scales).map(weight).collect()
    }

    /// Adds a solved point.
    pub(super) fn push(&mut self, place: Vec<f64>, x: Vec<f64>, values: &[f64]) {
        self.vertices.push(Vertex {
            place,
            x,
            values: values.to_vec(),
        });
    }

    /// The largest edge length that is not refined. A curve gets as many points as requested.
    fn hole(&self) -> f64 {
        match self.scales.len() {
            1 => 1.0 / self.settings.points as f64,
            _ => self.settings.hole,
        }
    }

    /// Solves at some places, each from its own starting points.
    pub(super) fn solve(
        &mut self,
        places: Vec<Place>,
        counters: &mut Counters,
    ) -> Result<(), Error> {
        let m = self.scales.len() + 1;
        let solved: Vec<(Vec<f64>, Solved, Counters)> = places
            .into_par_iter()
            .map(|Place { place, starts }| {
                let mut own = Counters {
                    gradient_evaluations: vec![0; m],
                    ..Counters::default()
                };
                let found = self.best_of(&self.weights(&place), &starts, &mut own)?;
                Ok((place, found, own))
            })
            .collect::<Result<_, Error>>()?;
        let mut points = Points::new(self.model.problem.n_params());
        let tally = counters.subproblems.get_or_insert_default();
        for (_, found, own) in &solved {
            match found.converged {
                true => tally.solved += 1,
                false => tally.failed += 1,
            }
            points.push(&found.x);
            counters.evaluations += own.evaluations;
            for (sum, n) in counters
                .gradient_evaluations
                .iter_mut()
                .zip(&own.gradient_evaluations)
            {
                *sum += n;
            }
        }
        counters.evaluations += points.len() as u64;
        let values = self.model.problem.values(&points)?;
        for ((place, found, _), values) in solved.into_iter().zip(values.chunks_exact(m)) {
            self.push(place, found.x, values);
        }
        Ok(())
    }

    /// Solves from the first start; if the problem is not convex, from all of them, and returns the
    /// best solution.
    fn best_of(
        &self,
        weights: &[Weight],
        starts: &[Vec<f64>],
        counters: &mut Counters,
    ) -> Result<Solved, Error> {
        let mut best = self.model.minimize(weights, &starts[0], counters)?;
        if self.model.is_affine() {
            return Ok(best);
        }
        let mut least = self.model.merit(weights, &best.x, counters)?;
        for start in &starts[1..] {
            let other = self.model.minimize(weights, start, counters)?;
            let merit = self.model.merit(weights, &other.x, counters)?;
            if merit < least {
                (best, least) = (other, merit);
            }
        }
        Ok(best)
    }

    /// Computes the ranges of the objectives over the corners.
    pub(super) fn measure(&mut self) {
        let m = self.scales.len() + 1;
        self.widths = (0..m)
            .map(|i| {
                let values = self.vertices.iter().map(|v| v.values[i]);
                let finite = values.filter(|v| v.is_finite());
                let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |range, v| {
                    (range.0.min(v), range.1.max(v))
                });
                if high > low { high - low } else { 1.0 }
            })
            .collect();
    }

    /// Creates one simplex for each order of the axes: from the corner of weight 0, axis by axis,
    /// to the corner where all weights are ∞.
    fn cut_cube(&mut self, axes: usize) {
        let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
        for axis in 0..axes {
            orders = orders
                .into_iter()
                .flat_map(|order| {
                    (0..=order.len()).map(move |at| {
                        let mut longer = order.clone();
                        longer.insert(at, axis);
                        longer
                    })
                })
                .collect();
        }
        for order in orders {
            let mut cell = vec![0];
            for axis in order {
                cell.push(cell[cell.len() - 1] | 1 << axis);
            }
            self.add_cell(cell);
        }
    }

    fn add_cell(&mut self, cell: Vec<usize>) {
        let index = self.cells.len();
        for (i, &a) in cell.iter().enumerate() {
            for &b in &cell[i + 1..] {
                let ends = (a.min(b), a.max(b));
                let cells = self.around.entry(ends).or_default();
                if cells.is_empty() {
                    let length = self.length(ends);
                    self.queue.push(Edge { length, ends });
                }
                self.around.entry(ends).or_default().push(index);
            }
        }
        self.cells.push(cell);
    }

    fn length(&self, (a, b): (usize, usize)) -> f64 {
        self.distance(&self.vertices[a].values, &self.vertices[b].values)
    }

    /// The distance between values, as a share of the objectives' ranges.
    pub(super) fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let scaled = a
            .iter()
            .zip(b)
            .zip(&self.widths)
            .map(|((a, b), w)| ((a - b) / w).powi(2));
        let length = scaled.sum::<f64>().sqrt();
        if length.is_finite() { length } else { 0.0 }
    }

    /// The length of the longest edge that still exists.
    fn longest(&mut self) -> f64 {
        while let Some(edge) = self.queue.peek() {
            if self
                .around
                .get(&edge.ends)
                .is_some_and(|cells| !cells.is_empty())
            {
                return edge.length;
            }
            self.queue.pop();
        }
        0.0
    }

    /// Bisects the longest edges.
    fn halve(&mut self, n: usize, counters: &mut Counters) -> Result<(), Error> {
        let mut edges = Vec::new();
        while edges.len() < n && self.longest() > 0.0 {
            let Some(edge) = self.queue.pop() else { break };
            edges.push(edge.ends);
        }
        let middle = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect()
        };
        let places = edges.iter().map(|&(a, b)| {
            let (a, b) = (&self.vertices[a], &self.vertices[b]);
            Place {
                place: middle(&a.place, &b.place),
                starts: vec![middle(&a.x, &b.x), a.x.clone(), b.x.clone()],
            }
        });
        let first = self.vertices.len();
        self.solve(places.collect(), counters)?;
        for (i, ends) in edges.into_iter().enumerate() {
            let cells = self.around.remove(&ends).unwrap_or_default();
            for index in cells {
                let old = std::mem::take(&mut self.cells[index]);
                for (k, &a) in old.iter().enumerate() {
                    for &b in &old[k + 1..] {
                        if let Some(around) = self.around.get_mut(&(a.min(b), a.max(b))) {
                            around.retain(|other| *other != index);
                        }
                    }
                }
                for gone in [ends.0, ends.1] {
                    let swap = |v: &usize| if *v == gone { first + i } else { *v };
                    self.add_cell(old.iter().map(swap).collect());
                }
            }
        }
        Ok(())
    }
}
