//! The progress of polishing between two rounds.

use serde::{Deserialize, Serialize};

use super::model::Reference;
use super::{Bench, Piece, REFRESH};
use crate::Error;
use crate::checkpoint::{Checkpoint, Sound, are_counts, ensure};
use crate::outcome::Counters;

const NAME: &str = "polish";

/// The state of a [`Bench`]; second derivatives are computed again from their points.
#[derive(Serialize, Deserialize)]
struct State<P, C> {
    round: usize,
    counters: C,
    references: Vec<Vec<f64>>,
    points: P,
}

impl Sound for State<Vec<Piece>, Counters> {
    fn is_sound(&self, n: usize, m: usize) -> bool {
        let sound = |piece: &Piece| {
            let before = &piece.before;
            [piece.x.len(), piece.values.len()] == [n, m]
                && (before.iter()).all(|(i, gradient)| (1..m).contains(i) && gradient.len() == n)
        };
        are_counts(&[self.round])
            && self.counters.is_sound(n, m)
            && self.references.iter().all(|x| x.len() == n)
            && self.points.iter().all(sound)
    }
}

impl Bench<'_> {
    pub(super) fn checkpoint(&self) -> Checkpoint {
        let references = self.workshop.references.iter();
        let state = State {
            round: self.round,
            counters: &self.counters,
            references: references.map(|r| r.point.clone()).collect(),
            points: &self.points,
        };
        Checkpoint::new(NAME, self.workshop.problem, &state)
    }

    /// Restores the state from a checkpoint.
    pub(super) fn read(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let problem = self.workshop.problem;
        let State {
            round,
            counters,
            references,
            points,
        }: State<Vec<Piece>, Counters> = checkpoint.state(NAME, problem)?;
        ensure(references.len() <= self.workshop.most_references)?;
        ensure(points.len() == self.points.len())?;
        // Second derivatives are computed again if the next round uses them.
        if !round.is_multiple_of(REFRESH) {
            let used = |p: &Piece| p.done || p.reference < references.len();
            ensure(points.iter().all(used))?;
            let found = references.iter().map(|x| Reference::new(problem, x));
            self.workshop.references = found.collect::<Result<_, _>>()?;
        }
        (self.round, self.counters, self.points) = (round, counters, points);
        Ok(())
    }
}
