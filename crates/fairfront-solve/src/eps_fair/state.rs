//! The progress of EPS-fair between two rounds of its chains.

use std::collections::BTreeSet;

use fairfront_core::{Points, Problem};
use serde::{Deserialize, Serialize};

use super::{EpsFair, NAME, Work, bits};
use crate::Error;
use crate::checkpoint::{Checkpoint, Sound, are_counts, ensure};
use crate::ground::Ground;
use crate::outcome::{Counters, Front, StopSignal, Subproblems};

/// Everything that changes from round to round.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    pub(super) round: usize,
    /// The point from which each chain continues.
    pub(super) starts: Points,
    pub(super) list: Front,
    pub(super) tally: Subproblems,
    pub(super) counters: Counters,
    /// All solutions so far, bit by bit.
    pub(super) seen: BTreeSet<Vec<u64>>,
}

impl State {
    /// The state before the first round.
    pub(super) fn new(work: &Work, counters: Counters) -> Self {
        let unmitigated = &work.ground.unmitigated;
        let point = unmitigated.points.get(0);
        let mut starts = Points::new(point.len());
        work.chains.iter().for_each(|_| starts.push(point));
        Self {
            round: 0,
            starts,
            list: unmitigated.clone(),
            tally: Subproblems::default(),
            counters,
            seen: BTreeSet::from([bits(point)]),
        }
    }
}

impl Sound for (Ground, State) {
    fn is_sound(&self, n: usize, m: usize) -> bool {
        let (ground, state) = self;
        ground.is_sound(n, m)
            && state.starts.n_params() == n
            && state.starts.as_slice().len().is_multiple_of(n.max(1))
            && state.list.is_sound(n, m)
            && !state.list.is_empty()
            && state.tally.is_sound(n, m)
            && state.counters.is_sound(n, m)
            && state.seen.iter().all(|bits| bits.len() == n)
            && are_counts(&[state.round])
    }
}

impl<'a> Work<'a> {
    pub(super) fn checkpoint(&self, state: &State) -> Checkpoint {
        Checkpoint::new(NAME, self.setup.problem, &(&self.ground, state))
    }

    /// Restores the work and its state from a checkpoint.
    pub(super) fn read(
        settings: &'a EpsFair,
        problem: &'a dyn Problem,
        checkpoint: &Checkpoint,
        stop: StopSignal,
    ) -> Result<(Self, State), Error> {
        let (ground, state): (Ground, State) = checkpoint.state(NAME, problem)?;
        let work = Self::new(settings, problem, ground, stop)?;
        ensure(state.starts.len() == work.chains.len())?;
        Ok((work, state))
    }
}
