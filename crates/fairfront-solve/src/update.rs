//! Updates: a front is brought to rows that have changed, from what it was before.

use std::collections::HashSet;

use fairfront_core::{Points, Problem};
use fairfront_pareto::{nondominated, ranges, select_spread};

use crate::certificate::certify;
use crate::ground::{Ground, check};
use crate::outcome::{Counters, Front, Observer, Outcome, StopReason};
use crate::setting::wrong;
use crate::{Error, Method, Trace};

impl Method {
    /// Updates a front after the rows have changed, as in a stream: the points of `current`, the
    /// unmitigated model first, are evaluated on the problem, and the solver starts from a
    /// well-spread selection of them instead of from scratch. Whoever has a problem with more
    /// parameters than before gives the points 0 for these.
    ///
    /// [`Outcome::candidates`] are all of `current` that have finite values (where a curve is followed
    /// exactly: finite parameters), then what was found;
    /// [`Outcome::front`] is what no other of these dominates, at most [`Method::points`] of them,
    /// well spread. The exact front of [`Method::Trace`] has exact points alone: old ones are on it
    /// only where the observer stopped it. `round` is the number of the batch: everything random
    /// depends on it and the seed.
    pub fn update(
        &self,
        problem: &dyn Problem,
        current: &Points,
        round: u64,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        check(problem)?;
        let n = problem.n_params();
        if current.is_empty() || current.n_params() != n {
            let found = format!("{} of {} parameters", current.len(), current.n_params());
            let rule = "points with the problem's parameters, one at least";
            wrong("the current front", found, rule)?;
        }
        if let Self::Trace(settings) = self
            && Trace::is_curve(problem)?
        {
            return settings.update_curve(problem, current, observer);
        }
        let Some(known) = Known::new(problem, current)? else {
            // There is nothing to start from.
            let mut outcome = self.solve(problem, observer)?;
            outcome.counters.non_finite += current.len() as u64;
            let found = [
                &outcome.unmitigated.points,
                &outcome.candidates,
                &outcome.front.points,
            ];
            outcome.candidates = joined(Points::new(n), &found);
            return Ok(outcome);
        };
        let outcome = match self {
            Self::PfSmg(settings) => settings.update(problem, &known, round, observer),
            Self::EpsFair(settings) => settings.update(problem, &known, observer),
            Self::Trace(settings) => {
                settings.follow(problem, Some(known.least()), Some(&known), observer)
            }
            Self::Weighted(settings) => settings.update(problem, &known, observer),
        }?;
        let exact = matches!(self, Self::Trace(_)) && outcome.stop != StopReason::Stopped;
        known.join(problem, outcome, exact, self.points())
    }
}

impl Trace {
    /// A curve is followed anew from the unmitigated model of before. That takes some twenty Newton
    /// steps, far less than the values of its points; those of the old ones are not even asked for,
    /// unless it is stopped.
    fn update_curve(
        &self,
        problem: &dyn Problem,
        current: &Points,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
        let sound = (0..current.len()).filter(|i| finite(current.get(*i)));
        let sound = current.select(&sound.collect::<Vec<_>>());
        let near = match sound.is_empty() {
            true => vec![0.0; problem.n_params()],
            false => sound.get(0).to_vec(),
        };
        let mut outcome = self.follow(problem, Some(&near), None, observer)?;
        if outcome.stop == StopReason::Stopped
            && let Some(known) = Known::new(problem, current)?
        {
            return known.join(problem, outcome, false, self.points);
        }
        outcome.counters.non_finite += (current.len() - sound.len()) as u64;
        let found = [&outcome.unmitigated.points, &outcome.front.points];
        outcome.candidates = joined(sound, &found);
        Ok(outcome)
    }
}

/// A front that is known, on the rows of now.
pub(crate) struct Known {
    /// The points with finite values, in their order; at least one.
    pub(crate) front: Front,
    /// The one with the least loss.
    least: usize,
    /// Of the others.
    non_finite: usize,
}

impl Known {
    /// `None` where no point has finite values.
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

    /// The point with the least loss: near the unmitigated model of now.
    pub(crate) fn least(&self) -> &[f64] {
        self.front.points.get(self.least)
    }

    /// At most so many points that no other dominates, well spread; the one with the least loss first.
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

    /// What was found, with what was known.
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
        if self.front.value(self.least)[0] < outcome.unmitigated.values[0] {
            outcome.unmitigated = self.front.select(&[self.least]);
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
        if !outcome.certificates.is_empty() {
            outcome.certificates = certify(problem, &front)?;
        }
        Ok(Outcome {
            front,
            unmitigated: ground.unmitigated,
            ..outcome
        })
    }
}

/// Points, and those of others that are not among them.
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
