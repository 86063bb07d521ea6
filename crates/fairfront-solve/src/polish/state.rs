//! Where polishing is between two rounds.

use super::model::Reference;
use super::{Bench, Piece, REFRESH};
use crate::Error;
use crate::checkpoint::{Checkpoint, Reader, Writer, ensure};

const KIND: &str = "polish";

impl Bench<'_> {
    pub(super) fn checkpoint(&self) -> Checkpoint {
        let mut writer = Writer::default();
        writer.count(self.round);
        writer.counters(&self.counters);
        writer.count(self.workshop.references.len());
        for reference in &self.workshop.references {
            writer.numbers(&reference.point);
        }
        writer.count(self.points.len());
        self.points.iter().for_each(|p| p.write(&mut writer));
        Checkpoint::new(KIND, self.workshop.problem, writer)
    }

    /// Takes the state of a checkpoint.
    pub(super) fn read(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let problem = self.workshop.problem;
        let (n, m) = (problem.n_params(), problem.n_objectives());
        let mut reader = checkpoint.read(KIND, problem)?;
        self.round = reader.count()?;
        self.counters = reader.counters(m)?;
        let n_references = reader.length(8 * n)?;
        ensure(n_references <= self.workshop.most_references)?;
        let mut references = Vec::with_capacity(n_references);
        for _ in 0..n_references {
            references.push(reader.exactly(n)?);
        }
        let n_points = reader.length(8 * n)?;
        ensure(n_points == self.points.len())?;
        let points = (0..n_points).map(|_| Piece::read(&mut reader, n, m));
        self.points = points.collect::<Result<_, _>>()?;
        reader.end()?;
        // Second derivatives are found again where the next round uses them.
        if !self.round.is_multiple_of(REFRESH) {
            let used = |p: &Piece| p.done || p.reference < n_references;
            ensure(self.points.iter().all(used))?;
            let found = references.iter().map(|x| Reference::new(problem, x));
            self.workshop.references = found.collect::<Result<_, _>>()?;
        }
        Ok(())
    }
}

impl Piece {
    fn write(&self, writer: &mut Writer) {
        let Self {
            x,
            values,
            reference,
            length,
            before,
            moved,
            done,
        } = self;
        writer.numbers(x);
        writer.numbers(values);
        writer.count(*reference);
        writer.number(*length);
        writer.count(before.len());
        for (objective, gradient) in before {
            writer.count(*objective);
            writer.numbers(gradient);
        }
        for flag in [*moved, *done] {
            writer.flag(flag);
        }
    }

    fn read(reader: &mut Reader, n: usize, m: usize) -> Result<Self, Error> {
        let (x, values) = (reader.exactly(n)?, reader.exactly(m)?);
        let (reference, length) = (reader.count()?, reader.number()?);
        let n_before = reader.length(8 * n)?;
        let mut before = Vec::with_capacity(n_before);
        for _ in 0..n_before {
            let objective = reader.count()?;
            ensure((1..m).contains(&objective))?;
            before.push((objective, reader.exactly(n)?));
        }
        Ok(Self {
            x,
            values,
            reference,
            length,
            before,
            moved: reader.flag()?,
            done: reader.flag()?,
        })
    }
}
