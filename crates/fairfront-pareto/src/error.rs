use std::fmt;

/// Why numbers cannot be taken as points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A value is not a number.
    NotANumber {
        /// Position of its point.
        point: usize,
        /// Which objective.
        objective: usize,
    },
    /// The values cannot be cut into points.
    Shape {
        /// How many values there are.
        values: usize,
        /// How many make a point.
        objectives: usize,
    },
    /// Two sets of points, or a set and a reference point, of different spaces.
    Objectives {
        /// Objectives of the first.
        expected: usize,
        /// Objectives of the other.
        found: usize,
    },
    /// A result below 0, of which no ratio can be made.
    Negative {
        /// Position of its problem.
        point: usize,
        /// Which solver.
        objective: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber { point, objective } => {
                write!(f, "objective {objective} of point {point} is not a number")
            }
            Self::Shape { values, objectives } => {
                write!(
                    f,
                    "{values} values are no points of {objectives} objectives"
                )
            }
            Self::Negative { point, objective } => {
                write!(f, "result {objective} of problem {point} is negative")
            }
            Self::Objectives { expected, found } => {
                write!(f, "expected points of {expected} objectives, found {found}")
            }
        }
    }
}

impl std::error::Error for Error {}
