use crate::grouped;

/// Errors in rows passed to this crate, and errors of problems and objectives.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The length of an array does not match its shape.
    #[error("{what}: expected {} values, found {}", grouped(*.expected), grouped(*.found))]
    Shape {
        /// The array.
        what: &'static str,
        /// The length that the shape requires.
        expected: usize,
        /// The actual length.
        found: usize,
    },
    /// A feature, label or weight is NaN or infinite, or a weight is negative.
    #[error("{what} of row {} is {value}; it must be {rule}", grouped(row + 1))]
    Value {
        /// The array.
        what: &'static str,
        /// Row within the block, from 0.
        row: usize,
        /// The value found.
        value: f64,
        /// The rule that the value breaks.
        rule: &'static str,
    },
    /// A feature index or group code points outside its range.
    #[error("{what} of row {} is {code}; the largest allowed is {largest}", grouped(row + 1))]
    Code {
        /// The array.
        what: &'static str,
        /// Row within the block, from 0.
        row: usize,
        /// The code found.
        code: u32,
        /// The largest code allowed.
        largest: usize,
    },
    /// A row or block number is past the end.
    #[error("{what} {index} does not exist: there are {}", grouped(*.count))]
    OutOfRange {
        /// "row" or "block".
        what: &'static str,
        /// The requested index, from 0.
        index: usize,
        /// Number of rows or blocks.
        count: usize,
    },
    /// Roots were requested of an objective that is not made of squares.
    #[error("objective {} is not made of covariances", .0 + 1)]
    NoRoots(usize),
    /// Second derivatives were requested of a loss that has none.
    #[error("the loss has no second derivatives")]
    NoSecondOrder,
    /// The work was stopped before it had a result.
    #[error("the solver stopped before it found a model")]
    Stopped,
    /// The workers that hold the rows failed.
    #[error("the workers failed: {0}")]
    Workers(String),
    /// An error of a caller's own problem or objective: a callable, a file, a device. It is passed
    /// on unchanged, so that a caller that knows its type gets it back.
    #[error(transparent)]
    Custom(Box<dyn std::error::Error + Send + Sync>),
}
