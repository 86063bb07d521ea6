//! Where weighted sums are between two steps.

use fairfront_core::{Points, Problem};

use super::{Descent, Weighted, Work};
use crate::Error;
use crate::checkpoint::{Checkpoint, Writer, ensure};
use crate::outcome::StopSignal;

const KIND: &str = "weighted";

/// What changes from step to step.
pub(super) struct State {
    pub(super) descents: Vec<Descent>,
    /// The starts, and the ends of the stages before.
    pub(super) candidates: Points,
    /// Beyond the starts' values.
    pub(super) reference: Vec<f64>,
    /// The last values seen of each descent, for whoever watches.
    pub(super) values: Vec<f64>,
    pub(super) stage: usize,
    /// Whether its descents know where they start from.
    pub(super) begun: bool,
    /// Steps done in this stage.
    pub(super) step: usize,
    /// Steps done in all of them.
    pub(super) round: usize,
}

impl<'a> Work<'a> {
    pub(super) fn checkpoint(&self, state: &State) -> Checkpoint {
        let State {
            descents,
            candidates,
            reference,
            values,
            stage,
            begun: _,
            step,
            round,
        } = state;
        let mut writer = Writer::default();
        writer.counters(&self.counters);
        writer.points(candidates);
        writer.count(descents.len());
        descents.iter().for_each(|d| d.write(&mut writer));
        writer.numbers(reference);
        writer.numbers(values);
        for count in [*stage, *step, *round] {
            writer.count(count);
        }
        Checkpoint::new(KIND, self.problem, writer)
    }

    /// The work and its state, from a checkpoint.
    pub(super) fn read(
        settings: &'a Weighted,
        problem: &'a dyn Problem,
        checkpoint: &Checkpoint,
        stop: StopSignal,
    ) -> Result<(Self, State), Error> {
        let (n, m) = (problem.n_params(), problem.n_objectives());
        let mut reader = checkpoint.read(KIND, problem)?;
        let counters = reader.counters(m)?;
        let candidates = reader.points(n)?;
        ensure(!candidates.is_empty())?;
        let n_sums = reader.length(8 * n)?;
        ensure(n_sums == settings.sums)?;
        let descents = (0..n_sums).map(|_| Descent::read(&mut reader, n, m));
        let descents = descents.collect::<Result<_, _>>()?;
        let state = State {
            descents,
            candidates,
            reference: reader.exactly(m)?,
            values: reader.exactly(n_sums * m)?,
            stage: reader.count()?,
            begun: true,
            step: reader.count()?,
            round: reader.count()?,
        };
        reader.end()?;
        let mut work = Self::new(settings, problem, state.candidates.get(0), stop)?;
        ensure(state.stage < work.stages().len())?;
        work.counters = counters;
        Ok((work, state))
    }
}
