//! How much is spent on an experiment.

use serde::{Deserialize, Serialize};

/// The paper's budgets, or small ones that go the same way in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// As in the paper.
    Full,
    /// To see that everything works; the numbers mean little.
    Quick,
}

impl Effort {
    fn choose<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }

    /// Splits and seeds of Adult: the one in the paper's text and the nine of its appendix.
    pub(crate) fn seeds(self) -> u64 {
        self.choose(10, 2)
    }

    /// Seeds of what the paper shows once.
    pub(crate) fn few_seeds(self) -> u64 {
        self.choose(3, 1)
    }

    /// Synthetic data sets.
    pub(crate) fn synthetic(self) -> u64 {
        self.choose(20, 2)
    }

    /// Values of ε on synthetic data.
    pub(crate) fn synthetic_bounds(self) -> usize {
        self.choose(1_500, 60)
    }

    /// Values of ε on Adult and COMPAS.
    pub(crate) fn bounds(self) -> usize {
        self.choose(100, 4)
    }

    /// Points of our fronts of Adult, if not the solver's own number.
    pub(crate) fn our_points(self) -> Option<usize> {
        self.choose(None, Some(150))
    }

    /// Points at which PF-SMG ends, where that is not the paper's number.
    pub(crate) fn most_points(self) -> Option<usize> {
        self.choose(None, Some(150))
    }

    /// Steps at which PF-SMG ends, likewise.
    pub(crate) fn most_steps(self) -> Option<usize> {
        self.choose(None, Some(12))
    }

    /// Batches of the stream: the six of the paper's figure.
    pub(crate) fn batches(self) -> usize {
        self.choose(6, 3)
    }
}
