use std::fmt;

/// The reasons why numbers cannot be used as points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A value is not a number.
    NotANumber {
        /// Position of its point.
        point: usize,
        /// Index of the objective.
        objective: usize,
    },
    /// The values cannot be divided into points.
    Shape {
        /// Number of values.
        values: usize,
        /// Number of values per point.
        objectives: usize,
    },
    /// Two sets of points, or a set and a reference point, have different numbers of objectives.
    Objectives {
        /// Number of objectives of the first.
        expected: usize,
        /// Number of objectives of the second.
        found: usize,
    },
    /// A result is negative, so that ratios cannot be computed.
    Negative {
        /// Position of its problem.
        point: usize,
        /// Index of the solver.
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
                    "{values} values cannot be divided into points of {objectives} objectives"
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
