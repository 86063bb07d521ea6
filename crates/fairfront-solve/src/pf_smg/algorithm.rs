//! The paper's algorithm (Liu and Vicente 2022, "Pareto-Front Stochastic Multi-Gradient Algorithm").

use fairfront_core::{Points, Purpose, Stream};
use fairfront_pareto::{ranges, select_spread, thin};

use super::Search;
use super::smg::{Pace, Run, Starts, Way};
use crate::Error;
use crate::outcome::Front;
use crate::remainder::Remainder;

impl Search<'_> {
    /// One round: the list 𝓛ₖ becomes 𝓛ₖ₊₁.
    ///
    /// p1 is the number of restarts and p2 their number of steps, as in the paper's main text; its
    /// algorithm box swaps the two.
    pub(super) fn round(&mut self, list: Front, pace: &Pace) -> Result<Front, Error> {
        let settings = self.settings;
        // For each point of the list, add r perturbed points from its neighborhood.
        let starts = self.perturbed(&list, pace)?;
        // For each of them, p1 times: apply p2 iterations of SMG.
        let mut runs = Vec::new();
        for _ in 0..settings.runs {
            runs.extend(Run::from_all(&starts, settings.steps, Way::Common));
        }
        // Our additions: restarts that widen the front and fill its holes.
        runs.extend(self.exploring_runs(&starts, pace));
        runs.extend(self.hole_runs(&list, pace)?);
        let ends = self.smg(&runs, pace)?;
        // Add the end points to the list, and remove all dominated points from it.
        let list = self.add(list, &ends)?;
        // Thin out dense regions.
        self.thin(list)
    }

    /// The starting points of restarts: well-spread points of the list, up to a limit, then
    /// perturbed copies.
    fn perturbed(&self, list: &Front, pace: &Pace) -> Result<Starts, Error> {
        let settings = self.settings;
        let values = list.judged()?;
        let ranges = ranges(values, Some(&self.ground.reference));
        let active = select_spread(values, settings.most_active, &ranges);
        let mut starts = Starts {
            points: list.points.select(&active),
            held: active.iter().map(|i| self.held(list.value(*i))).collect(),
        };
        let mut random = Stream::new(settings.seed, Purpose::Solver, [1, pace.round as u64]);
        for _ in 0..settings.perturbations {
            for i in &active {
                let radius = settings.perturbation_radius;
                let coordinates = list.points.get(*i).iter();
                let moved: Vec<f64> = coordinates
                    .map(|x| x + radius * (2.0 * random.uniform() - 1.0))
                    .collect();
                starts.points.push(&moved);
                starts.held.push(0);
            }
        }
        Ok(starts)
    }

    /// Evaluates new points on all rows, adds them to the list and removes dominated points from
    /// it. After a stop, points that would take long are skipped, except the first.
    pub(super) fn add(&mut self, list: Front, new: &Points) -> Result<Front, Error> {
        let remainder = Remainder::new(self.problem, self.stop.clone());
        let numbers: Vec<usize> = (0..new.len()).collect();
        let mut found = Front::empty(new.n_params(), self.m);
        for some in numbers.chunks(remainder.chunk()) {
            if remainder.is_too_much(new.len()) && !found.is_empty() {
                break;
            }
            let some = new.select(some);
            let some = self
                .ground
                .evaluate(self.problem, &some, &mut self.counters)?;
            some.points.iter().for_each(|x| found.points.push(x));
            found.values.extend(some.values);
        }
        self.ground.merge(list, &found)
    }

    /// Thins out points that are closer to others than a share of the range along every objective.
    pub(super) fn thin(&self, list: Front) -> Result<Front, Error> {
        let Some(share) = self.settings.thinning else {
            return Ok(list);
        };
        let ranges = ranges(list.judged()?, Some(&self.ground.reference));
        Ok(list.select(&thin(list.judged()?, share, &ranges)))
    }
}
