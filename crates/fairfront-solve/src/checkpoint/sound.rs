//! Checks the contents of a checkpoint, which are not trusted: shapes must match those of the
//! problem.

use fairfront_core::Points;

use crate::MOST_OBJECTIVES;
use crate::ground::Ground;
use crate::outcome::{Counters, Front, Outcome, Subproblems};

/// Counts must not be larger, so that sums of a few of them cannot overflow.
const MOST: u64 = 1 << 53;

/// A part of a checkpoint.
pub(crate) trait Sound {
    /// Whether the part fits a problem with `n` parameters and `m` objectives.
    fn is_sound(&self, n: usize, m: usize) -> bool;
}

/// Whether counts are small enough.
pub(crate) fn are_counts(counts: &[usize]) -> bool {
    counts.iter().all(|count| *count as u64 <= MOST)
}

impl Sound for () {
    fn is_sound(&self, _n: usize, _m: usize) -> bool {
        true
    }
}

impl Sound for Points {
    fn is_sound(&self, n: usize, _m: usize) -> bool {
        self.n_params() == n && n > 0 && self.as_slice().len().is_multiple_of(n)
    }
}

impl Sound for Front {
    fn is_sound(&self, n: usize, m: usize) -> bool {
        self.points.is_sound(n, m)
            && self.n_objectives == m
            && self.values.len() == self.points.len() * m
    }
}

impl Sound for Ground {
    fn is_sound(&self, n: usize, m: usize) -> bool {
        let numbers = [self.reference.len(), self.zeros.len()];
        let flags = [self.fair.len(), self.fixed.len()];
        (1..=MOST_OBJECTIVES).contains(&m)
            && (numbers, flags) == ([m; 2], [m; 2])
            && self.unmitigated.is_sound(n, m)
            && self.unmitigated.len() == 1
    }
}

impl Sound for Subproblems {
    fn is_sound(&self, _n: usize, _m: usize) -> bool {
        let counts = [self.solved, self.failed, self.dominated, self.copies];
        counts.iter().all(|count| *count <= MOST)
    }
}

impl Sound for Counters {
    fn is_sound(&self, n: usize, m: usize) -> bool {
        let spent = self.gradient_evaluations.iter();
        let mut spent = spent.chain([&self.evaluations, &self.non_finite]);
        self.gradient_evaluations.len() == m
            && spent.all(|count| *count <= MOST)
            && are_counts(&self.points_by_round)
            && self.subproblems.is_none_or(|tally| tally.is_sound(n, m))
    }
}

impl Sound for Outcome {
    fn is_sound(&self, n: usize, m: usize) -> bool {
        let candidates = &self.candidates;
        let of_front = |multipliers: usize| multipliers <= m;
        self.front.is_sound(n, m)
            && self.unmitigated.is_sound(n, m)
            && self.unmitigated.len() == 1
            && self.counters.is_sound(n, m)
            && (self.proofs.iter()).all(|c| of_front(c.multipliers.len()))
            && (candidates.is_empty() || candidates.is_sound(n, m))
    }
}
