//! The progress of weighted sums between two steps.

use fairfront_core::{Points, Problem};
use serde::{Deserialize, Serialize};

use super::{Descent, NAME, Weighted, Work};
use crate::Error;
use crate::checkpoint::{Checkpoint, Sound, are_counts, ensure, exact};
use crate::outcome::{Counters, StopSignal};

/// Everything that changes from step to step.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    pub(super) descents: Vec<Descent>,
    /// The starts and the ends of the previous stages.
    pub(super) candidates: Points,
    /// A reference point beyond the values of the starts.
    #[serde(with = "exact")]
    pub(super) reference: Vec<f64>,
    /// The latest values of each descent, for the observer.
    #[serde(with = "exact")]
    pub(super) values: Vec<f64>,
    pub(super) stage: usize,
    /// Whether its descents have their starting points.
    pub(super) begun: bool,
    /// Steps done in this stage.
    pub(super) step: usize,
    /// Steps done in all stages.
    pub(super) round: usize,
}

impl Sound for (Counters, State) {
    fn is_sound(&self, n: usize, m: usize) -> bool {
        let (counters, state) = self;
        counters.is_sound(n, m)
            && state.candidates.is_sound(n, m)
            && !state.candidates.is_empty()
            && state.descents.iter().all(|d| d.is_sound(n, m))
            && state.reference.len() == m
            && state.values.len() == state.descents.len() * m
            && are_counts(&[state.stage, state.step, state.round])
            // A checkpoint always belongs to a stage that has begun.
            && state.begun
    }
}

impl<'a> Work<'a> {
    pub(super) fn checkpoint(&self, state: &State) -> Checkpoint {
        Checkpoint::new(NAME, self.problem, &(&self.counters, state))
    }

    /// Restores the work and its state from a checkpoint.
    pub(super) fn read(
        settings: &'a Weighted,
        problem: &'a dyn Problem,
        checkpoint: &Checkpoint,
        stop: StopSignal,
    ) -> Result<(Self, State), Error> {
        let (counters, state): (Counters, State) = checkpoint.state(NAME, problem)?;
        ensure(state.descents.len() == settings.sums)?;
        let mut work = Self::new(settings, problem, state.candidates.get(0), stop)?;
        ensure(state.stage < work.factors().len())?;
        work.counters = counters;
        Ok((work, state))
    }
}
