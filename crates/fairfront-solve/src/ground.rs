use fairfront_core::{Metric, Points, Problem};
use fairfront_pareto::{Values, nondominated};

use crate::descend::descend;
use crate::outcome::{Counters, Front, StopSignal};
use crate::{Error, MOST_OBJECTIVES};

/// A covariance below this share of its value at the unmitigated model counts as 0.
const ZERO: f64 = 1e-8;

/// What every solver stands on: the unmitigated model, and what follows from its values.
pub(crate) struct Ground {
    /// The minimiser of the first objective alone.
    pub(crate) unmitigated: Front,
    /// The value at x = 0 for the loss, and 1.1 times that of the unmitigated model for the
    /// others: a box that holds the front.
    pub(crate) reference: Vec<f64>,
    /// Below these, objectives count as 0.
    pub(crate) zeros: Vec<f64>,
}

impl Ground {
    /// Finds the minimiser, where the problem does not know it by descent in this metric.
    pub(crate) fn find(
        problem: &dyn Problem,
        metric: &Metric,
        counters: &mut Counters,
        stop: &StopSignal,
    ) -> Result<Self, Error> {
        let m = problem.n_objectives();
        if !(1..=MOST_OBJECTIVES).contains(&m) {
            return Err(Error::Problem(format!(
                "a front of {m} objectives cannot be computed; 1 to {MOST_OBJECTIVES} can"
            )));
        }
        let n = problem.n_params();
        let origin = vec![0.0; n];
        let minimiser = match problem.minimiser()? {
            Some(x) => x,
            None => descend(problem, 0, &origin, metric, counters, stop)?,
        };
        let points = Points::from_vec(n, [minimiser, origin].concat());
        let values = problem.values(&points)?;
        counters.evaluations += 2;
        let unmitigated = Front {
            points: points.select(&[0]),
            values: values[..m].to_vec(),
            n_objectives: m,
        };
        if !unmitigated.values.iter().all(|v| v.is_finite()) {
            return Err(Error::Problem(
                "the objectives are not finite at the minimum of the first one".into(),
            ));
        }
        let mut reference = vec![0.0; m];
        let mut zeros = vec![0.0; m];
        for i in 0..m {
            let (own, at_origin) = (unmitigated.values[i], values[m + i]);
            reference[i] = if i == 0 {
                at_origin
            } else {
                1.1 * own.max(at_origin)
            };
            if problem.n_roots(i) > 0 {
                zeros[i] = ZERO * own;
            }
        }
        Ok(Self {
            unmitigated,
            reference,
            zeros,
        })
    }

    /// What changes of the loss are compared with: its value at x = 0, or at its minimum where that
    /// is of larger size.
    pub(crate) fn loss_scale(&self) -> f64 {
        let scale = self.reference[0].abs();
        let scale = scale.max(self.unmitigated.values[0].abs());
        match scale.is_finite() && scale > 0.0 {
            true => scale,
            false => 1.0,
        }
    }

    /// Evaluates new points and joins them to a list; what is dominated leaves it.
    pub(crate) fn join(
        &self,
        problem: &dyn Problem,
        list: Front,
        new: &Points,
        counters: &mut Counters,
    ) -> Result<Front, Error> {
        let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
        let sound: Vec<usize> = (0..new.len()).filter(|i| finite(new.get(*i))).collect();
        counters.non_finite += (new.len() - sound.len()) as u64;
        let new = new.select(&sound);
        let values = problem.values(&new)?;
        counters.evaluations += new.len() as u64;
        let m = list.n_objectives;
        let mut all = list;
        for (point, values) in new.iter().zip(values.chunks_exact(m)) {
            match finite(values) {
                true => {
                    all.points.push(point);
                    all.values.extend_from_slice(values);
                }
                false => counters.non_finite += 1,
            }
        }
        Ok(all.select(&self.best(&all)?))
    }

    /// Positions of the points that no other dominates. Zero to rounding is zero, or points of any
    /// loss with a covariance of 1e-30 would stay.
    pub(crate) fn best(&self, all: &Front) -> Result<Vec<usize>, Error> {
        let m = all.n_objectives;
        let judge = |(v, zero): (&f64, &f64)| if v <= zero { v.min(0.0) } else { *v };
        let judged: Vec<f64> = all
            .values
            .chunks_exact(m)
            .flat_map(|values| values.iter().zip(&self.zeros).map(judge))
            .collect();
        Ok(nondominated(Values::new(&judged, m)?))
    }
}
