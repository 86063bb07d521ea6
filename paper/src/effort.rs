//! Budgets of the experiments.

use serde::{Deserialize, Serialize};

/// The paper's budgets, or small ones that run the same experiments in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// The paper's budgets.
    Full,
    /// Small budgets, to check that the program works; the numbers mean little.
    Quick,
}

impl Effort {
    fn choose<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }

    /// Seeds of Adult, one split each: one from the paper's text and nine from its appendix.
    pub(crate) fn seeds(self) -> u64 {
        self.choose(10, 2)
    }

    /// Seeds of the experiments that the paper shows for one seed.
    pub(crate) fn few_seeds(self) -> u64 {
        self.choose(3, 1)
    }

    /// Number of synthetic data sets.
    pub(crate) fn synthetic(self) -> u64 {
        self.choose(20, 2)
    }

    /// Number of values of ε on synthetic data.
    pub(crate) fn synthetic_bounds(self) -> usize {
        self.choose(1_500, 60)
    }

    /// Number of values of ε on Adult and COMPAS.
    pub(crate) fn bounds(self) -> usize {
        self.choose(100, 4)
    }

    /// Models per front of ours on Adult; `None` for the solver's default.
    pub(crate) fn our_points(self) -> Option<usize> {
        self.choose(None, Some(150))
    }

    /// Number of models at which PF-SMG ends; `None` for the paper's number.
    pub(crate) fn most_points(self) -> Option<usize> {
        self.choose(None, Some(150))
    }

    /// Number of steps at which PF-SMG ends; `None` for the paper's number.
    pub(crate) fn most_steps(self) -> Option<usize> {
        self.choose(None, Some(12))
    }

    /// Batches of the stream; the paper's figure has six.
    pub(crate) fn batches(self) -> usize {
        self.choose(6, 3)
    }
}
