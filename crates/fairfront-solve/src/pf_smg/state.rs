//! The progress of PF-SMG between two rounds.

use fairfront_core::Problem;
use serde::{Deserialize, Serialize};

use super::smg::Frame;
use super::{NAME, PfSmg, Search, preconditioner_of};
use crate::Error;
use crate::checkpoint::{Checkpoint, Sound, are_counts, exact};
use crate::ground::Ground;
use crate::outcome::{Counters, Front, StopSignal};

/// Everything that changes from round to round.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    pub(super) list: Front,
    /// The reference point for judging improvements, a tenth of the starting front's range beyond
    /// it: below this point, the front fills most of the volume.
    #[serde(with = "exact")]
    pub(super) corner: Vec<f64>,
    /// The largest hypervolume so far.
    #[serde(with = "exact")]
    pub(super) best: f64,
    /// Number of consecutive rounds that did not improve it.
    pub(super) idle: usize,
    /// Number of steps of the trajectories so far.
    pub(super) k: usize,
    pub(super) round: usize,
}

impl State {
    /// The state before the first round, with this many steps spent.
    pub(super) fn new(list: Front, corner: Vec<f64>, k: usize) -> Self {
        Self {
            list,
            corner,
            best: 0.0,
            idle: 0,
            k,
            round: 0,
        }
    }
}

impl Sound for (Ground, Counters, State) {
    fn is_sound(&self, n: usize, m: usize) -> bool {
        let (ground, counters, state) = self;
        ground.is_sound(n, m)
            && counters.is_sound(n, m)
            && state.list.is_sound(n, m)
            && !state.list.is_empty()
            && state.corner.len() == m
            && are_counts(&[state.idle, state.k, state.round])
    }
}

impl<'a> Search<'a> {
    pub(super) fn checkpoint(&self, state: &State) -> Checkpoint {
        Checkpoint::new(NAME, self.problem, &(&self.ground, &self.counters, state))
    }

    /// Restores the search and its state from a checkpoint.
    pub(super) fn read(
        problem: &'a dyn Problem,
        settings: &'a PfSmg,
        checkpoint: &Checkpoint,
        stop: StopSignal,
    ) -> Result<(Self, State), Error> {
        let (ground, counters, state): (Ground, Counters, State) =
            checkpoint.state(NAME, problem)?;
        let m = problem.n_objectives();
        // The stored counters already include these gradients.
        let mut spent = Counters {
            gradient_evaluations: vec![0; m],
            ..Counters::default()
        };
        let preconditioner = preconditioner_of(problem, settings)?;
        let frame = Frame::new(problem, settings, preconditioner, &ground, &mut spent)?;
        let search = Self {
            problem,
            settings,
            m,
            frame,
            ground,
            // Only updates begin with steps spent, and they do not write checkpoints.
            spent: 0,
            counters,
            stop,
        };
        Ok((search, state))
    }
}
