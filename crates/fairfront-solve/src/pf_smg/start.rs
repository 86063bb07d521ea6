use fairfront_core::{Batches, Metric, Points, Problem, Purpose, Stream};

use super::Solver;
use super::smg::dot;
use crate::Error;
use crate::outcome::Counters;

/// Points between two anchors.
const BETWEEN: usize = 24;
/// Steps of a descent at most.
const DESCENT: usize = 200;

impl Solver<'_> {
    /// The points a run starts from where none are given.
    pub(super) fn draw_starts(&self) -> Result<Points, Error> {
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
            let unmitigated = self.unmitigated.points.get(0);
            let mut anchors = vec![unmitigated.to_vec()];
            for objective in 1..self.m {
                let mut spent = Counters {
                    gradient_evaluations: vec![0; self.m],
                    ..Counters::default()
                };
                let metric = self.frame.metric();
                anchors.push(descend(
                    self.problem,
                    objective,
                    unmitigated,
                    metric,
                    &mut spent,
                )?);
            }
            for (i, a) in anchors.iter().enumerate() {
                for b in &anchors[i + 1..] {
                    for step in 0..=BETWEEN {
                        // Denser towards the second, where losses change least.
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

/// Minimises one objective from a point, with all rows: steps M⁻¹∇f whose length is halved until
/// the objective falls enough and grows again afterwards.
pub(super) fn descend(
    problem: &dyn Problem,
    objective: usize,
    from: &[f64],
    metric: &Metric,
    counters: &mut Counters,
) -> Result<Vec<f64>, Error> {
    let m = problem.n_objectives();
    let n = problem.n_params();
    let value = |x: &[f64], counters: &mut Counters| -> Result<f64, Error> {
        counters.evaluations += 1;
        Ok(problem.values(&Points::from_vec(n, x.to_vec()))?[objective])
    };
    let mut x = from.to_vec();
    let first = value(&x, counters)?;
    let mut current = first;
    let mut length = 1.0;
    for _ in 0..DESCENT {
        if problem.has_zero(objective) && current <= 1e-12 * first {
            break;
        }
        let gradients = problem.gradients(&Points::from_vec(n, x.clone()), Batches::All)?;
        debug_assert!(objective < m);
        counters.gradient_evaluations[objective] += 1;
        let gradient = gradients.get(objective, 0);
        let mut step = gradient.to_vec();
        metric.step(&mut step);
        let decrease = dot(&step, gradient);
        if !(decrease.is_finite() && decrease > 1e-20 * (1.0 + current.abs())) {
            break;
        }
        if problem.has_zero(objective) {
            // The exact minimum along the step where the objective is a square.
            length = 2.0 * current / decrease;
        }
        let mut found = None;
        while length > 1e-12 {
            let trial: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x - length * s).collect();
            let there = value(&trial, counters)?;
            if there <= current - 1e-4 * length * decrease {
                found = Some((trial, there));
                break;
            }
            length *= 0.5;
        }
        let Some((trial, there)) = found else { break };
        let gain = current - there;
        x = trial;
        current = there;
        length *= 1.5;
        if gain < 1e-12 * (1.0 + current.abs()) && !problem.has_zero(objective) {
            break;
        }
    }
    Ok(x)
}
