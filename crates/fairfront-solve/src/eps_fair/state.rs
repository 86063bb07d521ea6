//! Where EPS-fair is between two rounds of its chains.

use std::collections::BTreeSet;

use fairfront_core::{Points, Problem};

use super::{EpsFair, NAME, Work, bits};
use crate::Error;
use crate::checkpoint::{Checkpoint, Writer, ensure};
use crate::outcome::{Counters, Front, StopSignal, Subproblems};

/// What changes from round to round.
pub(super) struct State {
    pub(super) round: usize,
    /// Where each chain goes on from.
    pub(super) starts: Points,
    pub(super) list: Front,
    pub(super) tally: Subproblems,
    pub(super) counters: Counters,
    /// All solutions so far, bit by bit.
    pub(super) seen: BTreeSet<Vec<u64>>,
}

impl State {
    /// Before the first round.
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

impl<'a> Work<'a> {
    pub(super) fn checkpoint(&self, state: &State) -> Checkpoint {
        let mut writer = Writer::default();
        writer.ground(&self.ground);
        let State {
            round,
            starts,
            list,
            tally,
            counters,
            seen,
        } = state;
        writer.count(*round);
        writer.points(starts);
        writer.front(list);
        writer.subproblems(tally);
        writer.counters(counters);
        let mut points = Points::new(starts.n_params());
        for bits in seen {
            let point: Vec<f64> = bits.iter().map(|b| f64::from_bits(*b)).collect();
            points.push(&point);
        }
        writer.points(&points);
        Checkpoint::new(NAME, self.setup.problem, writer)
    }

    /// The work and its state, from a checkpoint.
    pub(super) fn read(
        settings: &'a EpsFair,
        problem: &'a dyn Problem,
        checkpoint: &Checkpoint,
        stop: StopSignal,
    ) -> Result<(Self, State), Error> {
        let (n, m) = (problem.n_params(), problem.n_objectives());
        let mut reader = checkpoint.read(NAME, problem)?;
        let work = Self::new(settings, problem, reader.ground(n, m)?, stop)?;
        let state = State {
            round: reader.count()?,
            starts: reader.points(n)?,
            list: reader.front(n, m)?,
            tally: reader.subproblems()?,
            counters: reader.counters(m)?,
            seen: reader.points(n)?.iter().map(bits).collect(),
        };
        reader.end()?;
        ensure(state.starts.len() == work.chains.len() && !state.list.is_empty())?;
        Ok((work, state))
    }
}
