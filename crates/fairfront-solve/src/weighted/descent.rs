//! The descent of one weighted sum: a state that says where to look next and is told what is there.

use fairfront_core::Metric;

use crate::Error;
use crate::checkpoint::{Reader, Writer};
use crate::descend::{Memory, dot};

/// A step is enough if the sum falls by this share of what its gradient promises.
const ENOUGH: f64 = 1e-4;
/// By what a step that is not enough is shortened, and how often.
const SHORTER: f64 = 0.4;
const MOST_TRIALS: usize = 14;

pub(super) struct Descent {
    pub(super) x: Vec<f64>,
    /// Of each objective.
    pub(super) weights: Vec<f64>,
    /// The sum and its gradient at x; not known at first.
    known: Option<(f64, Vec<f64>)>,
    memory: Memory,
    step: Vec<f64>,
    /// What a step of length 1 promises.
    promised: f64,
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

    /// The sum has changed: what is known of it no longer holds.
    pub(super) fn restart(&mut self) {
        *self = Self::new(
            std::mem::take(&mut self.x),
            std::mem::take(&mut self.weights),
        );
    }

    /// The same sum is seen by more rows: values and gradients are to be found again, and what is known of its
    /// curvature still holds.
    pub(super) fn renew(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        self.restart();
        self.memory = memory;
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        let Self {
            x,
            weights,
            known,
            memory,
            step,
            promised,
            length,
            trials,
            steps,
            done,
        } = self;
        writer.numbers(x);
        writer.numbers(weights);
        writer.option(known.as_ref(), |w, (value, gradient)| {
            w.number(*value);
            w.numbers(gradient);
        });
        memory.write(writer);
        writer.numbers(step);
        for number in [*promised, *length] {
            writer.number(number);
        }
        for count in [*trials, *steps] {
            writer.count(count);
        }
        writer.flag(*done);
    }

    /// A descent in `n` parameters of a sum of `m` objectives.
    pub(super) fn read(reader: &mut Reader, n: usize, m: usize) -> Result<Self, Error> {
        Ok(Self {
            x: reader.exactly(n)?,
            weights: reader.exactly(m)?,
            known: reader.option(|r| Ok((r.number()?, r.exactly(n)?)))?,
            memory: Memory::read(reader, n)?,
            step: reader.exactly(n)?,
            promised: reader.number()?,
            length: reader.number()?,
            trials: reader.count()?,
            steps: reader.count()?,
            done: reader.flag()?,
        })
    }

    /// Where to look next.
    pub(super) fn trial(&self) -> Vec<f64> {
        let moved = self.x.iter().zip(&self.step);
        moved.map(|(x, s)| x - self.length * s).collect()
    }

    /// What is there: values of all objectives, and the gradient of the sum.
    pub(super) fn take(
        &mut self,
        trial: Vec<f64>,
        values: &[f64],
        gradient: &[f64],
        metric: &Metric,
        (most_steps, tolerance): (usize, f64),
    ) {
        let value = dot(values, &self.weights);
        let sound = value.is_finite() && gradient.iter().all(|g| g.is_finite());
        match &self.known {
            None if !sound => self.done = true,
            None => self.go(trial, value, gradient, metric),
            Some((old, _)) => {
                let enough = ENOUGH * self.length * self.promised;
                if sound && value <= old - enough {
                    self.steps += 1;
                    let settled = old - value <= tolerance * old.abs();
                    self.done = settled || self.steps >= most_steps;
                    self.go(trial, value, gradient, metric);
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
    fn go(&mut self, x: Vec<f64>, value: f64, gradient: &[f64], metric: &Metric) {
        if let Some((_, old)) = &self.known {
            self.memory.learn(&self.x, &x, old, gradient);
        }
        self.x = x;
        self.step = self.memory.step(gradient, metric);
        self.promised = dot(&self.step, gradient);
        if self.promised.is_nan() || self.promised <= 0.0 {
            // The memory is of no use here; the metric alone always goes down.
            self.memory = Memory::default();
            self.step = self.memory.step(gradient, metric);
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
