//! The quantity along a side of a panel, and its better direction.

/// The better direction of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Lower is better: losses, differences between groups.
    Lower,
    /// Higher is better: accuracy.
    Higher,
    /// Neither direction is better: the selection rate of a group.
    Neither,
}

impl Better {
    /// The note next to the name of an axis.
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
    /// The name of the quantity, with its unit; a long name is shortened in the middle.
    pub name: String,
    /// The better direction, which the axis shows.
    pub better: Better,
}
