//! The exact front, followed with second derivatives.

mod curve;
pub(crate) mod kkt;
mod mesh;
mod model;
mod renew;
mod settings;
mod wide;

pub use settings::Trace;

use fairfront_core::{LANES, MOST_DENSE, Points, Preconditioner, Problem};
use fairfront_pareto::{nondominated, ranges, select_spread};

use self::curve::Curve;
use self::mesh::{MOST_AXES, Mesh};
use self::model::Model;
use crate::Error;
use crate::checkpoint::Checkpoint;
use crate::ground::{Ground, without_roots};
use crate::outcome::{Counters, Front, Observer, Outcome, StopReason};
use crate::proof::{Evaluated, Proof, prove_unless_stopped};
use crate::remainder::Remainder;
use crate::setting::Settings;
use crate::solver::not_convex;
use crate::update::{Known, update, update_curve};
use crate::{Solver, Suits, Why};

/// Points of a curve are refined if their optimality gap is above this share of the loss at 0, at
/// most [`REPAIRS`] times.
const LOOSE: f64 = 1e-6;
const REPAIRS: usize = 2;

/// The name of the solver and of its checkpoints.
const NAME: &str = "trace";

impl Solver for Trace {
    fn name(&self) -> &'static str {
        NAME
    }

    /// The solver of choice if the front can be followed with a proof.
    fn suits(&self, problem: &dyn Problem) -> Suits {
        let m = problem.n_objectives();
        if m > MOST_AXES + 1 {
            return Suits::Impossible(Why::TooManyObjectives(m));
        }
        if m > 1 && problem.more_starts(1).is_some() {
            return Suits::Impossible(Why::SeveralMinima);
        }
        if let Some(i) = without_roots(problem) {
            return Suits::Impossible(Why::NoCovariances(i));
        }
        let is_dense = problem.n_params() <= MOST_DENSE;
        if m > 1 && is_dense && problem.second_order().is_none() {
            return Suits::Impossible(Why::NoSecondDerivatives);
        }
        let loss = (problem.convex_below(0).is_none()).then_some(0);
        let others = loss
            .into_iter()
            .chain(not_convex(problem))
            .collect::<Vec<_>>();
        match others.is_empty() {
            true => Suits::Best(Why::Convex),
            false => Suits::Possible(Why::NotConvex(others)),
        }
    }

    fn needs_covariances(&self) -> bool {
        true
    }

    fn solve(&self, problem: &dyn Problem, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        self.follow(problem, None, None, observer)
    }

    /// Starts again, because the checkpoint only records that the solver had started.
    fn resume(
        &self,
        problem: &dyn Problem,
        checkpoint: &Checkpoint,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        checkpoint.state::<()>(NAME, problem)?;
        self.solve(problem, observer)
    }

    /// Follows a curve again from the unmitigated model. Every point of a surface is solved again.
    fn update(
        &self,
        problem: &dyn Problem,
        current: &Points,
        _round: u64,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        if is_curve(problem)? {
            return update_curve(self, problem, current, observer);
        }
        update(self, problem, current, observer, |known, observer| {
            self.follow(problem, Some(known.least()), Some(known), observer)
        })
    }
}

impl Trace {
    /// Computes a front, from a point near the unmitigated model if one is known. If a surface is
    /// known, every point of it is solved again.
    pub(crate) fn follow(
        &self,
        problem: &dyn Problem,
        near: Option<&[f64]>,
        known: Option<&Known>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        self.check(problem.n_params())?;
        self.suits(problem).ensure(NAME)?;
        let m = problem.n_objectives();
        let mut counters = Counters {
            gradient_evaluations: vec![0; m],
            ..Counters::default()
        };
        observer.checkpoint(&|| Checkpoint::new(NAME, problem, &()));
        let stop = observer.stop_signal();
        let model = Model::new(problem, &stop)?;
        let preconditioner = model.wide.as_ref().unwrap_or(&Preconditioner::Identity);
        let ground = Ground::find(problem, near, preconditioner, &mut counters, &stop)?;
        let remainder = Remainder::new(problem, stop.clone());
        let (front, proofs, complete) = match m {
            // Stopped before any other point was found.
            2.. if remainder.leaves_out(LANES) => (ground.unmitigated.clone(), Vec::new(), false),
            1 => {
                let front = ground.unmitigated.clone();
                let proofs = prove_unless_stopped(problem, &front, &remainder)?;
                let complete = proofs.is_some();
                (front, proofs.unwrap_or_default(), complete)
            }
            // A curve is known between its points and can be followed.
            2 if model.wide.is_none() && model.is_affine() => {
                self.curve(&model, &ground, &mut counters, observer)?
            }
            _ => {
                let mesh = Mesh::new(&model, self, &ground, &mut counters)?;
                let mut surface = match known {
                    Some(known) => mesh.renew(known, &mut counters, observer)?,
                    None => mesh.refine(&mut counters, observer)?,
                };
                counters.largest_hole = surface.hole;
                let start = ground.unmitigated.clone();
                if remainder.is_too_much(surface.points.len()) {
                    // The corners come first, then points halfway between them, and so on.
                    let first: Vec<usize> = (0..remainder.most_models()).collect();
                    surface.points = surface.points.select(&first);
                    surface.complete = false;
                }
                let mut front = ground.join(problem, start, &surface.points, &mut counters)?;
                if front.len() > self.points {
                    let ranges = ranges(front.judged()?, Some(&ground.reference));
                    front = front.select(&select_spread(front.judged()?, self.points, &ranges));
                }
                let front = front.sorted();
                let proofs = match self.proofs {
                    true => prove_unless_stopped(problem, &front, &remainder)?,
                    false => Some(Vec::new()),
                };
                let complete = surface.complete && proofs.is_some();
                (front, proofs.unwrap_or_default(), complete)
            }
        };
        Ok(Outcome {
            front,
            proofs,
            unmitigated: ground.unmitigated,
            candidates: Points::default(),
            stop: match complete {
                true => StopReason::Complete,
                false => StopReason::Stopped,
            },
            counters,
        })
    }

    /// Two objectives: points along the curve with their proofs, refined if a cubic between nodes
    /// was not accurate enough.
    fn curve(
        &self,
        model: &Model,
        ground: &Ground,
        counters: &mut Counters,
        observer: &mut dyn Observer,
    ) -> Result<(Front, Vec<Proof>, bool), Error> {
        let problem = model.problem;
        let curve = Curve::new(model, self, ground)?;
        let mut along = curve.follow(ground, counters, observer)?;
        let anchors = along.anchors();
        let limit = LOOSE * ground.loss_scale();
        let remainder = Remainder::new(problem, model.stop.clone());
        let mut repairs = 0;
        loop {
            let n = along.points.len();
            if remainder.is_too_much(n) {
                curve.place(&mut along, remainder.most_models());
                along.complete = false;
            }
            counters.evaluations += along.points.len() as u64;
            if !self.proofs {
                let values = problem.values(&along.points)?;
                return Ok((
                    on_curve(along.points, values)?.0,
                    Vec::new(),
                    along.complete,
                ));
            }
            counters.gradient_evaluations[0] += along.points.len() as u64;
            let n = along.points.len();
            let is_too_much = || remainder.is_too_much(n);
            let Some(evaluated) = Evaluated::unless(problem, &along.points, &is_too_much)? else {
                continue;
            };
            // After a stop, points are neither repaired nor proven.
            let is_over = || remainder.leaves_out(n);
            let every: Vec<usize> = (0..n).collect();
            let proofs = evaluated.prove(&every, &anchors, &is_over)?;
            let loose = |proven: &[Proof]| -> Vec<usize> {
                let is_loose = |i: &usize| proven[*i].gap.is_none_or(|gap| gap > limit);
                (0..n).filter(is_loose).collect()
            };
            let loose = proofs.as_deref().map(loose).unwrap_or_default();
            if repairs < REPAIRS && !loose.is_empty() && along.is_between_nodes() {
                curve.repair(&mut along, &loose, counters)?;
                repairs += 1;
                continue;
            }
            let (front, best) = on_curve(along.points.clone(), evaluated.values())?;
            // Computed from the front alone, so that the proofs can be reproduced from it.
            let proofs = match proofs {
                Some(_) => evaluated.prove_front(&best, &front, &is_over)?,
                None => None,
            };
            let complete = along.complete && proofs.is_some();
            return Ok((front, proofs.unwrap_or_default(), complete));
        }
    }
}

/// The nondominated points of a curve, in order, and their positions.
fn on_curve(points: Points, values: Vec<f64>) -> Result<(Front, Vec<usize>), Error> {
    let all = Front {
        points,
        values,
        n_objectives: 2,
    };
    // No value counts as 0 here, because no two points have the same covariance, however small.
    let best = nondominated(all.judged()?);
    let order = all.select(&best).order();
    let best: Vec<usize> = order.into_iter().map(|i| best[i]).collect();
    Ok((all.select(&best), best))
}

/// Whether the front is followed as a curve.
fn is_curve(problem: &dyn Problem) -> Result<bool, Error> {
    let n = problem.n_params();
    Ok(problem.n_objectives() == 2
        && problem.n_roots(1) > 0
        && n <= MOST_DENSE
        && problem.roots_of(1)?.at(&vec![0.0; n])?.affine)
}
