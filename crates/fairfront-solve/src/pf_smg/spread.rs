//! Additions to the paper's rounds: restarts that spread the front, and steps that keep zeros at 0.

use fairfront_core::{Points, Purpose, Stream};
use fairfront_pareto::{holes, ranges};

use super::Search;
use super::smg::{Pace, Run, Starts, Way};
use crate::Error;
use crate::outcome::Front;

/// For this share of the budget, steps use softened objectives.
const SOFT_SHARE: f64 = 0.4;

impl Search<'_> {
    /// The end points of restarts. Early steps use smoother objectives, if there are any.
    pub(super) fn smg(&mut self, runs: &[Run], pace: &Pace) -> Result<Points, Error> {
        let early = (pace.k as f64) < SOFT_SHARE * self.settings.most_steps as f64;
        let softening = self.settings.softening;
        let temperature = self.problem.temperature();
        let temperature = temperature.filter(|_| early && softening > 1.0);
        let softened = temperature.map(|t| t.softened(softening)).transpose()?;
        let problem = softened.as_deref().unwrap_or(self.problem);
        let ends = self.frame.execute(problem, self.settings, runs, pace)?;
        for run in runs {
            let steps = (run.steps * run.starts.len()) as u64;
            for (i, count) in self.counters.gradient_evaluations.iter_mut().enumerate() {
                if run.way.uses(i) {
                    *count += steps;
                }
            }
        }
        Ok(ends)
    }

    /// Occasional early restarts along a single objective.
    pub(super) fn exploring_runs(&self, starts: &Starts, pace: &Pace) -> Vec<Run> {
        let settings = self.settings;
        let Some(explore) = &settings.exploration else {
            return Vec::new();
        };
        let early = (pace.k as f64) < explore.share * settings.most_steps as f64;
        if !early || pace.k % explore.every >= settings.steps {
            return Vec::new();
        }
        let starts = Starts::free(starts.points.clone());
        let mut runs = Vec::new();
        for objective in 0..self.m {
            for _ in 0..explore.runs {
                let way = Way::Single(objective);
                runs.extend(Run::from_all(&starts, explore.steps, way));
            }
        }
        runs
    }

    /// Restarts at the widest holes of the front.
    pub(super) fn hole_runs(&self, list: &Front, pace: &Pace) -> Result<Vec<Run>, Error> {
        let settings = self.settings;
        let Some(filling) = &settings.holes else {
            return Ok(Vec::new());
        };
        let values = list.judged()?;
        let ranges = ranges(values, Some(&self.ground.reference));
        let mut starts = Points::new(list.points.n_params());
        let mut random = Stream::new(settings.seed, Purpose::Solver, [2, pace.round as u64]);
        for hole in holes(values, &ranges, filling.holes) {
            let (a, b) = (list.points.get(hole.below), list.points.get(hole.above));
            for run in 0..filling.runs {
                if filling.between {
                    let t = 0.25 + 0.5 * random.uniform();
                    let mixed: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + t * (b - a)).collect();
                    starts.push(&mixed);
                } else {
                    starts.push(if run % 2 == 0 { a } else { b });
                }
            }
        }
        let starts = Starts::free(starts);
        Ok(Run::from_all(&starts, settings.steps, Way::Common))
    }

    /// Which objectives count as 0 at these values, as bits; steps keep them at 0.
    pub(super) fn held(&self, values: &[f64]) -> u32 {
        let zero = |i: &usize| {
            let held = self.settings.preconditioner || self.ground.fixed[*i];
            held && self.problem.n_roots(*i) > 0 && values[*i] <= self.ground.zeros[*i]
        };
        (0..self.m).filter(zero).fold(0, |bits, i| bits | 1 << i)
    }
}
