//! Where PF-SMG is between two rounds.

use fairfront_core::Problem;

use super::smg::Frame;
use super::{NAME, PfSmg, Search, preconditioner_of};
use crate::Error;
use crate::checkpoint::{Checkpoint, Writer, ensure};
use crate::outcome::{Counters, Front, StopSignal};

/// What changes from round to round.
pub(super) struct State {
    pub(super) list: Front,
    /// The largest hypervolume so far.
    pub(super) best: f64,
    /// Rounds in a row that did not improve it.
    pub(super) idle: usize,
    /// Steps that trajectories have had.
    pub(super) k: usize,
    pub(super) round: usize,
}

impl State {
    /// Before the first round, with so many steps spent.
    pub(super) fn new(list: Front, k: usize) -> Self {
        Self {
            list,
            best: 0.0,
            idle: 0,
            k,
            round: 0,
        }
    }
}

impl<'a> Search<'a> {
    pub(super) fn checkpoint(&self, state: &State) -> Checkpoint {
        let mut writer = Writer::default();
        writer.ground(&self.ground);
        writer.numbers(&self.corner);
        writer.counters(&self.counters);
        let State {
            list,
            best,
            idle,
            k,
            round,
        } = state;
        writer.front(list);
        writer.number(*best);
        for count in [*idle, *k, *round] {
            writer.count(count);
        }
        Checkpoint::new(NAME, self.problem, writer)
    }

    /// The solver and its state, from a checkpoint.
    pub(super) fn read(
        problem: &'a dyn Problem,
        settings: &'a PfSmg,
        checkpoint: &Checkpoint,
        stop: StopSignal,
    ) -> Result<(Self, State), Error> {
        let (n, m) = (problem.n_params(), problem.n_objectives());
        let mut reader = checkpoint.read(NAME, problem)?;
        let ground = reader.ground(n, m)?;
        let corner = reader.exactly(m)?;
        let counters = reader.counters(m)?;
        let state = State {
            list: reader.front(n, m)?,
            best: reader.number()?,
            idle: reader.count()?,
            k: reader.count()?,
            round: reader.count()?,
        };
        reader.end()?;
        ensure(!state.list.is_empty())?;
        // What it spends is in the counters already.
        let mut spent = Counters {
            gradient_evaluations: vec![0; m],
            ..Counters::default()
        };
        let preconditioner = preconditioner_of(problem, settings)?;
        let frame = Frame::new(problem, settings, preconditioner, &ground, &mut spent)?;
        let solver = Self {
            problem,
            settings,
            m,
            frame,
            ground,
            corner,
            // Only updates begin with steps spent, and they keep no checkpoints.
            spent: 0,
            counters,
            stop,
        };
        Ok((solver, state))
    }
}
