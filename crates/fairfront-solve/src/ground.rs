use fairfront_core::{LANES, Points, Preconditioner, Problem};
use fairfront_pareto::{Values, nondominated};
use serde::{Deserialize, Serialize};

use crate::checkpoint::exact;
use crate::descend::descend;
use crate::outcome::{Counters, Front, StopSignal};
use crate::weighted::best_start;
use crate::{Error, MOST_OBJECTIVES, Remainder};

/// A covariance below this share of its value at the unmitigated model counts as 0.
const ZERO: f64 = 1e-8;

/// A covariance below this share of [`RootFacet::root_size`](fairfront_core::RootFacet::root_size)
/// is 0 to rounding: sums over n rows are off by about √n roundings of 1e-16, and a dependence this
/// small is invisible in any sample.
const ROUNDING: f64 = 1e-12;

/// For each objective, whether it is negligible for the model at the first of these points: it is
/// made of covariances, and all of them are 0 to rounding.
pub fn already_zero(problem: &dyn Problem, unmitigated: &Front) -> Result<Vec<bool>, Error> {
    let at = |i: usize| {
        let rounding = rounding(problem, i, unmitigated.points.get(0))?;
        Ok(problem.n_roots(i) > 0 && unmitigated.value(0)[i] <= rounding * rounding)
    };
    (0..problem.n_objectives()).map(at).collect()
}

/// The size above which a covariance of an objective is more than rounding at a point.
fn rounding(problem: &dyn Problem, objective: usize, point: &[f64]) -> Result<f64, Error> {
    Ok(match problem.n_roots(objective) {
        0 => 0.0,
        _ => ROUNDING * problem.roots_of(objective)?.size(point)?,
    })
}

/// The starting point of every solver: the unmitigated model and quantities derived from its
/// values.
#[derive(Serialize, Deserialize)]
pub(crate) struct Ground {
    /// The minimizer of the first objective alone.
    pub(crate) unmitigated: Front,
    /// The value at x = 0 for the loss, and for the others 1.1 times the larger of their values at
    /// x = 0 and at the unmitigated model: a box that contains the front.
    #[serde(with = "exact")]
    pub(crate) reference: Vec<f64>,
    /// Objectives at or below these values count as 0.
    #[serde(with = "exact")]
    pub(crate) zeros: Vec<f64>,
    /// The objectives that are negligible for the unmitigated model.
    pub(crate) fair: Vec<bool>,
    /// Those of them whose covariances also do not change with the parameters beyond rounding.
    pub(crate) fixed: Vec<bool>,
}

impl Ground {
    /// Finds the minimizer. If the problem cannot compute it, this descends with this
    /// preconditioner, from `near` if it is known. Fails if a stop comes before the minimizer is
    /// found and there are many rows: an intermediate point is not a model.
    pub(crate) fn find(
        problem: &dyn Problem,
        near: Option<&[f64]>,
        preconditioner: &Preconditioner,
        counters: &mut Counters,
        stop: &StopSignal,
    ) -> Result<Self, Error> {
        check(problem)?;
        let n = problem.n_params();
        let over = Remainder::new(problem, stop.clone()).signal(LANES);
        let descend = |from: &[f64], counters: &mut Counters| {
            let found = descend(problem, 0, from, preconditioner, counters, stop)?;
            // Any other descent starts at the minimum of a convex loss, which is already a model.
            match over.is_set() && problem.convex_below(0).is_some() {
                true => Err(Error::Evaluation(fairfront_core::Error::Stopped)),
                false => Ok(found),
            }
        };
        let minimizer = match (problem.minimizer(near, &over)?, near) {
            (Some(x), _) => x,
            (None, Some(near)) => descend(near, counters)?,
            (None, None) => descend(&best_start(problem, counters, stop)?, counters)?,
        };
        let points = Points::from_vec(n, minimizer);
        let unmitigated = Front {
            values: problem.values(&points)?,
            points,
            n_objectives: problem.n_objectives(),
        };
        counters.evaluations += 1;
        Self::on(problem, unmitigated, counters)
    }

    /// Derives everything from a known unmitigated model.
    pub(crate) fn on(
        problem: &dyn Problem,
        mut unmitigated: Front,
        counters: &mut Counters,
    ) -> Result<Self, Error> {
        check(problem)?;
        if !unmitigated.values.iter().all(|v| v.is_finite()) {
            return Err(Error::Problem(
                "the objectives are not finite at the minimum of the first objective".into(),
            ));
        }
        let (m, n) = (problem.n_objectives(), problem.n_params());
        let at_origin = problem.values(&Points::from_vec(n, vec![0.0; n]))?;
        counters.evaluations += 1;
        let mut reference = vec![0.0; m];
        let mut zeros = vec![0.0; m];
        let fair = already_zero(problem, &unmitigated)?;
        let mut fixed = vec![false; m];
        let x = unmitigated.points.get(0);
        for i in 0..m {
            let (own, at_origin) = (unmitigated.values[i], at_origin[i]);
            reference[i] = if i == 0 {
                at_origin
            } else {
                1.1 * own.max(at_origin)
            };
            zeros[i] = problem.negligible(i);
            if problem.n_roots(i) > 0 {
                let rounding = rounding(problem, i, x)?;
                zeros[i] = (ZERO * own).max(rounding * rounding);
                fixed[i] = fair[i]
                    && problem
                        .roots_of(i)?
                        .at(x)?
                        .gradients
                        .iter()
                        .all(|gradient| {
                            let moves = gradient.iter().zip(x).map(|(g, x)| (g * x).abs());
                            moves.sum::<f64>() <= rounding
                        });
            }
        }
        // Points must not spread along an axis of noise; values above its size are significant.
        for i in (0..m).filter(|i| fair[*i]) {
            unmitigated.values[i] = unmitigated.values[i].min(0.0);
            reference[i] = reference[i].max(1.1 * zeros[i]);
        }
        Ok(Self {
            unmitigated,
            reference,
            zeros,
            fair,
            fixed,
        })
    }

    /// Whether the unmitigated model is the whole front, because there is nothing to trade off.
    pub(crate) fn is_all(&self) -> bool {
        self.fair[1..].iter().all(|fair| *fair)
    }

    /// The scale for changes of the loss: its value at x = 0 or at its minimum, whichever is larger
    /// in size.
    pub(crate) fn loss_scale(&self) -> f64 {
        let scale = self.reference[0].abs();
        let scale = scale.max(self.unmitigated.values[0].abs());
        match scale.is_finite() && scale > 0.0 {
            true => scale,
            false => 1.0,
        }
    }

    /// Which objectives count as 0 at these values, as bits.
    pub(crate) fn held(&self, problem: &dyn Problem, values: &[f64]) -> u32 {
        let zero = |i: &usize| problem.n_roots(*i) > 0 && values[*i] <= self.zeros[*i];
        let held = (0..values.len()).filter(zero);
        held.fold(0, |bits, i| bits | 1 << i)
    }

    /// Evaluates new points and adds them to a list; dominated points are dropped.
    pub(crate) fn join(
        &self,
        problem: &dyn Problem,
        list: Front,
        new: &Points,
        counters: &mut Counters,
    ) -> Result<Front, Error> {
        let new = self.evaluate(problem, new, counters)?;
        self.merge(list, &new)
    }

    /// New points with their values; points that are not finite are counted and dropped. If an
    /// objective of the unmitigated model is 0 to rounding, values at rounding level become 0.
    pub(crate) fn evaluate(
        &self,
        problem: &dyn Problem,
        new: &Points,
        counters: &mut Counters,
    ) -> Result<Front, Error> {
        let m = problem.n_objectives();
        let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
        let sound: Vec<usize> = (0..new.len()).filter(|i| finite(new.get(*i))).collect();
        let mut all = Front::empty(new.n_params(), m);
        let sound = new.select(&sound);
        let values = problem.values(&sound)?;
        counters.evaluations += sound.len() as u64;
        for (point, values) in sound.iter().zip(values.chunks_exact(m)) {
            if finite(values) {
                all.points.push(point);
                all.values.extend(self.quiet(values));
            }
        }
        counters.non_finite += (new.len() - all.len()) as u64;
        Ok(all)
    }

    /// The values of a point; rounding becomes 0 if the objective is negligible for the unmitigated
    /// model.
    pub(crate) fn quiet(&self, values: &[f64]) -> impl Iterator<Item = f64> {
        let of = |(i, value): (usize, &f64)| match self.fair[i] && *value <= self.zeros[i] {
            true => value.min(0.0),
            false => *value,
        };
        values.iter().enumerate().map(of)
    }

    /// Adds evaluated points to a list; dominated points are dropped.
    pub(crate) fn merge(&self, list: Front, new: &Front) -> Result<Front, Error> {
        let mut all = list;
        new.points.iter().for_each(|point| all.points.push(point));
        all.values.extend_from_slice(&new.values);
        self.nondominated(&all)
    }

    /// The points of a list that no other point dominates.
    pub(crate) fn nondominated(&self, list: &Front) -> Result<Front, Error> {
        Ok(list.select(&self.best(list)?))
    }

    /// The positions of these points.
    pub(crate) fn best(&self, list: &Front) -> Result<Vec<usize>, Error> {
        // Values that are 0 to rounding count as 0; otherwise points of any loss with a covariance
        // of 1e-30 would stay.
        let judge = |(v, zero): (&f64, &f64)| if v <= zero { v.min(0.0) } else { *v };
        let judged: Vec<f64> = list
            .values
            .chunks_exact(list.n_objectives)
            .flat_map(|values| values.iter().zip(&self.zeros).map(judge))
            .collect();
        Ok(nondominated(Values::new(&judged, list.n_objectives)?))
    }
}

/// The first objective after the loss that is not made of covariances.
pub(crate) fn without_roots(problem: &dyn Problem) -> Option<usize> {
    (1..problem.n_objectives()).find(|i| problem.n_roots(*i) == 0)
}

/// Fails if there are too many objectives.
pub(crate) fn check(problem: &dyn Problem) -> Result<(), Error> {
    match problem.n_objectives() {
        1..=MOST_OBJECTIVES => Ok(()),
        m => Err(Error::Problem(format!(
            "the problem has {m} objectives; choose 1 to {MOST_OBJECTIVES}"
        ))),
    }
}
