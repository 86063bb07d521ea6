//! What is along a side of a panel, and which direction is better.

/// Which values of a quantity are the good ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Losses, gaps.
    Lower,
    /// Accuracy.
    Higher,
    /// Nothing is said, as of a share of positive outcomes.
    Neither,
}

impl Better {
    /// What stands beside the name of an axis.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Self::Lower => "lower is better",
            Self::Higher => "higher is better",
            Self::Neither => "",
        }
    }
}

/// A quantity along one side of a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// What it is, with its unit; shortened in the middle where it is long.
    pub name: String,
    /// Which values are the good ones: the axis says so.
    pub better: Better,
}
