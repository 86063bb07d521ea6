//! The descent of one weighted sum: a state machine that proposes the next point and receives its
//! values.

use fairfront_core::Preconditioner;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{are_counts, exact};
use crate::descend::{Memory, dot};

/// A step is accepted if the sum falls by this share of the decrease that its gradient promises.
const ENOUGH: f64 = 1e-4;
/// The factor that shortens a rejected step, and the maximum number of attempts.
const SHORTER: f64 = 0.4;
const MOST_TRIALS: usize = 14;

#[derive(Serialize, Deserialize)]
pub(super) struct Descent {
    #[serde(with = "exact")]
    pub(super) x: Vec<f64>,
    /// Weight of each objective.
    #[serde(with = "exact")]
    pub(super) weights: Vec<f64>,
    /// The sum and its gradient at x; initially unknown.
    #[serde(with = "exact")]
    known: Option<(f64, Vec<f64>)>,
    memory: Memory,
    #[serde(with = "exact")]
    step: Vec<f64>,
    /// The decrease that a step of length 1 promises.
    #[serde(with = "exact")]
    promised: f64,
    #[serde(with = "exact")]
    length: f64,
    trials: usize,
    steps: usize,
    pub(super) done: bool,
}

impl Descent {
    pub(super) fn new(x: Vec<f64>, weights: Vec<f64>) -> Self {
        Self {
            step: vec![0.0; x.len()],
            x,
            weights,
            known: None,
            memory: Memory::default(),
            promised: 0.0,
            length: 0.0,
            trials: 0,
            steps: 0,
            done: false,
        }
    }

    /// Discards what is known about the sum, after the sum has changed.
    pub(super) fn restart(&mut self) {
        *self = Self::new(
            std::mem::take(&mut self.x),
            std::mem::take(&mut self.weights),
        );
    }

    pub(super) fn is_sound(&self, n: usize, m: usize) -> bool {
        [self.x.len(), self.step.len(), self.weights.len()] == [n, n, m]
            && self.known.as_ref().is_none_or(|(_, g)| g.len() == n)
            && self.memory.is_sound(n)
            && are_counts(&[self.trials, self.steps])
    }

    /// The next point to evaluate.
    pub(super) fn trial(&self) -> Vec<f64> {
        let moved = self.x.iter().zip(&self.step);
        moved.map(|(x, s)| x - self.length * s).collect()
    }

    /// Receives the values of all objectives and the gradient of the sum at that point.
    pub(super) fn take(
        &mut self,
        trial: Vec<f64>,
        values: &[f64],
        gradient: &[f64],
        preconditioner: &Preconditioner,
        (most_steps, tolerance): (usize, f64),
    ) {
        let value = dot(values, &self.weights);
        let sound = value.is_finite() && gradient.iter().all(|g| g.is_finite());
        match &self.known {
            None if !sound => self.done = true,
            None => self.go(trial, value, gradient, preconditioner),
            Some((old, _)) => {
                let enough = ENOUGH * self.length * self.promised;
                if sound && value <= old - enough {
                    self.steps += 1;
                    let settled = old - value <= tolerance * old.abs();
                    self.done = settled || self.steps >= most_steps;
                    self.go(trial, value, gradient, preconditioner);
                    return;
                }
                self.trials += 1;
                self.length *= SHORTER;
                if self.trials >= MOST_TRIALS {
                    self.done = true;
                }
            }
        }
    }

    /// Moves to a better point and chooses the next step.
    fn go(&mut self, x: Vec<f64>, value: f64, gradient: &[f64], preconditioner: &Preconditioner) {
        if let Some((_, old)) = &self.known {
            self.memory.learn(&self.x, &x, old, gradient);
        }
        self.x = x;
        self.step = self.memory.step(gradient, preconditioner);
        self.promised = dot(&self.step, gradient);
        if self.promised.is_nan() || self.promised <= 0.0 {
            // The memory does not help here; the preconditioner alone always gives a descent
            // direction.
            self.memory = Memory::default();
            self.step = self.memory.step(gradient, preconditioner);
            self.promised = dot(&self.step, gradient);
        }
        if !(self.promised > 0.0 && self.promised.is_finite()) {
            self.done = true;
        }
        self.length = 1.0;
        self.trials = 0;
        self.known = Some((value, gradient.to_vec()));
    }
}
