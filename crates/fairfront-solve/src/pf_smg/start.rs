use fairfront_core::{Points, Purpose, Stream};

use super::Search;
use crate::Error;
use crate::descend::descend;

/// Number of points between two anchors.
const BETWEEN: usize = 24;

impl Search<'_> {
    /// Draws the starting points if none are given.
    pub(super) fn draw_starts(&mut self) -> Result<Points, Error> {
        let settings = self.settings;
        let n = self.problem.n_params();
        let mut random = Stream::new(settings.seed, Purpose::Solver, [0, 0]);
        let mut points = Points::new(n);
        for _ in 0..settings.n_starts {
            let uniform = |_| settings.start_radius * (2.0 * random.uniform() - 1.0);
            let point: Vec<f64> = (0..n).map(uniform).collect();
            points.push(&point);
        }
        if settings.anchors {
            let mut anchors = vec![self.ground.unmitigated.points.get(0).to_vec()];
            for objective in 1..self.m {
                anchors.push(self.least(objective)?);
            }
            for (i, a) in anchors.iter().enumerate() {
                for b in &anchors[i + 1..] {
                    for step in 0..=BETWEEN {
                        let t = step as f64 / BETWEEN as f64;
                        let mixed: Vec<f64> =
                            a.iter().zip(b).map(|(a, b)| a + t * (b - a)).collect();
                        points.push(&mixed);
                    }
                }
            }
        }
        Ok(points)
    }
}

impl Search<'_> {
    /// The starts, the current unmitigated model, and the fairest starts with the rest of a
    /// covariance removed, because zeros on the previous rows are not zeros on other rows.
    pub(super) fn with_ends(&mut self, starts: &Points) -> Result<Points, Error> {
        let mut all = starts.clone();
        all.push(self.ground.unmitigated.points.get(0));
        let values = self.problem.values(starts)?;
        self.counters.evaluations += starts.len() as u64;
        for objective in 1..self.m {
            let value = |i: &usize| values[i * self.m + objective];
            let fairest = (0..starts.len()).min_by(|a, b| value(a).total_cmp(&value(b)));
            let Some(fairest) = fairest else { continue };
            let mut projected = starts.get(fairest).to_vec();
            if self.frame.project(1 << objective, &mut projected) {
                all.push(&projected);
            }
        }
        Ok(all)
    }

    /// A point near the unmitigated model where an objective is smallest.
    fn least(&mut self, objective: usize) -> Result<Vec<f64>, Error> {
        let unmitigated = self.ground.unmitigated.points.get(0);
        if self.ground.fair[objective] {
            return Ok(unmitigated.to_vec());
        }
        // A covariance of a linear score is 0 if the parameters are orthogonal to its gradient; try
        // whether this holds here.
        let mut projected = unmitigated.to_vec();
        if self.frame.project(1 << objective, &mut projected) {
            let point = Points::from_vec(projected.len(), projected.clone());
            self.counters.evaluations += 1;
            if self.problem.values(&point)?[objective] <= self.ground.zeros[objective] {
                return Ok(projected);
            }
        }
        let preconditioner = self.frame.preconditioner();
        let (problem, counters) = (self.problem, &mut self.counters);
        descend(
            problem,
            objective,
            unmitigated,
            preconditioner,
            counters,
            &self.stop,
        )
    }
}
