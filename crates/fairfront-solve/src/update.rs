//! Updates a front after its rows have changed, starting from the previous front.

use std::collections::HashSet;

use fairfront_core::{Points, Problem};
use fairfront_pareto::{nondominated, ranges, select_spread};

use crate::ground::{Ground, check};
use crate::outcome::{Counters, Front, Observer, Outcome, StopReason};
use crate::proof::prove;
use crate::setting::wrong;
use crate::{Error, Solver, Trace};

/// Evaluates the current points, lets a solver improve them, and combines both sets.
pub(crate) fn update(
    solver: &dyn Solver,
    problem: &dyn Problem,
    current: &Points,
    observer: &mut dyn Observer,
    renew: impl FnOnce(&Known, &mut dyn Observer) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    check_current(problem, current)?;
    let Some(known) = Known::new(problem, current)? else {
        // There are no points to start from.
        let mut outcome = solver.solve(problem, observer)?;
        outcome.counters.non_finite += current.len() as u64;
        let found = [
            &outcome.unmitigated.points,
            &outcome.candidates,
            &outcome.front.points,
        ];
        outcome.candidates = joined(Points::new(problem.n_params()), &found);
        return Ok(outcome);
    };
    let outcome = renew(&known, observer)?;
    // A proven front does not need earlier points.
    let exact = !outcome.proofs.is_empty() && outcome.stop != StopReason::Stopped;
    known.join(problem, outcome, exact, solver.points())
}

fn check_current(problem: &dyn Problem, current: &Points) -> Result<(), Error> {
    check(problem)?;
    if current.is_empty() || current.n_params() != problem.n_params() {
        let found = format!(
            "{} points with {} parameters",
            current.len(),
            current.n_params()
        );
        let rule = "one or more points with the problem's parameters";
        return wrong("the current front", found, rule.into());
    }
    Ok(())
}

/// Follows a curve again from the previous unmitigated model. This takes about twenty Newton steps,
/// far less work than the values of the curve's points. The values of the earlier points are needed
/// only after a stop.
pub(crate) fn update_curve(
    trace: &Trace,
    problem: &dyn Problem,
    current: &Points,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    check_current(problem, current)?;
    let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
    let sound = (0..current.len()).filter(|i| finite(current.get(*i)));
    let sound = current.select(&sound.collect::<Vec<_>>());
    let near = match sound.is_empty() {
        true => vec![0.0; problem.n_params()],
        false => sound.get(0).to_vec(),
    };
    let mut outcome = trace.follow(problem, Some(&near), None, observer)?;
    if outcome.stop == StopReason::Stopped
        && let Some(known) = Known::new(problem, current)?
    {
        return known.join(problem, outcome, false, trace.points);
    }
    outcome.counters.non_finite += (current.len() - sound.len()) as u64;
    let found = [&outcome.unmitigated.points, &outcome.front.points];
    outcome.candidates = joined(sound, &found);
    Ok(outcome)
}

/// A known front, evaluated on the current rows.
pub(crate) struct Known {
    /// The points with finite values, in their original order; at least one.
    pub(crate) front: Front,
    /// Position of the point with the smallest loss.
    least: usize,
    /// Number of points without finite values.
    non_finite: usize,
}

impl Known {
    /// `None` if no point has finite values.
    fn new(problem: &dyn Problem, current: &Points) -> Result<Option<Self>, Error> {
        let m = problem.n_objectives();
        let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
        let sound: Vec<usize> = (0..current.len())
            .filter(|i| finite(current.get(*i)))
            .collect();
        let all = Front {
            points: current.select(&sound),
            values: problem.values(&current.select(&sound))?,
            n_objectives: m,
        };
        let sound: Vec<usize> = (0..all.len()).filter(|i| finite(all.value(*i))).collect();
        let front = all.select(&sound);
        let loss = |i: &usize| front.value(*i)[0];
        let least = (0..front.len()).min_by(|a, b| loss(a).total_cmp(&loss(b)));
        Ok(least.map(|least| Self {
            least,
            non_finite: current.len() - front.len(),
            front,
        }))
    }

    /// The point with the smallest loss, which is close to the current unmitigated model.
    pub(crate) fn least(&self) -> &[f64] {
        self.front.points.get(self.least)
    }

    /// Up to `most` well-spread nondominated points; the one with the smallest loss comes first.
    pub(crate) fn spread(&self, most: usize) -> Result<Points, Error> {
        let best = self.front.select(&nondominated(self.front.judged()?));
        let values = best.judged()?;
        let kept = select_spread(values, most.max(1), &ranges(values, None));
        let best = best.select(&kept).sorted();
        let mut points = Points::from_vec(best.points.n_params(), self.least().to_vec());
        let others = best.points.iter().filter(|x| *x != self.least());
        others.for_each(|x| points.push(x));
        Ok(points)
    }

    /// Combines the points that the solver found with the known ones.
    fn join(
        self,
        problem: &dyn Problem,
        mut outcome: Outcome,
        exact: bool,
        most: usize,
    ) -> Result<Outcome, Error> {
        outcome.counters.non_finite += self.non_finite as u64;
        outcome.counters.evaluations += (self.front.len() + self.non_finite) as u64;
        let found = std::mem::take(&mut outcome.candidates);
        let found = [&outcome.unmitigated.points, &found, &outcome.front.points];
        outcome.candidates = joined(self.front.points.clone(), &found);
        if exact {
            return Ok(outcome);
        }
        // A front is sorted by the loss. If the loss is not convex, any solver may find a smaller
        // one by chance.
        for (front, least) in [(&self.front, self.least), (&outcome.front, 0)] {
            if !front.is_empty() && front.value(least)[0] < outcome.unmitigated.values[0] {
                outcome.unmitigated = front.select(&[least]);
            }
        }
        let counters: &mut Counters = &mut outcome.counters;
        let ground = Ground::on(problem, outcome.unmitigated, counters)?;
        let mut front = ground.unmitigated.clone();
        for part in [&outcome.front, &self.front] {
            let mut part = part.clone();
            let values = part.values.chunks_exact(part.n_objectives);
            part.values = values
                .flat_map(|v| ground.quiet(v).collect::<Vec<_>>())
                .collect();
            front = ground.merge(front, &part)?;
        }
        if front.len() > most {
            let values = front.judged()?;
            let kept = select_spread(values, most, &ranges(values, Some(&ground.reference)));
            front = front.select(&kept);
        }
        let front = front.sorted();
        if !outcome.proofs.is_empty() {
            outcome.proofs = prove(problem, &front)?;
        }
        Ok(Outcome {
            front,
            unmitigated: ground.unmitigated,
            ..outcome
        })
    }
}

/// Adds those of the other points that are not among these points.
fn joined(mut all: Points, others: &[&Points]) -> Points {
    let bits = |x: &[f64]| -> Vec<u64> { x.iter().map(|v| v.to_bits()).collect() };
    let mut seen: HashSet<Vec<u64>> = all.iter().map(bits).collect();
    for x in others.iter().flat_map(|points| points.iter()) {
        if seen.insert(bits(x)) {
            all.push(x);
        }
    }
    all
}
