use crate::grouped;

/// What can be wrong with rows handed to this crate, or with problems and objectives of others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An array does not have the length its shape asks for.
    #[error("{what}: expected {} values, found {}", grouped(*.expected), grouped(*.found))]
    Shape {
        /// Which array.
        what: &'static str,
        /// The length the shape asks for.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A feature, label or weight is NaN or infinite, or a weight is negative.
    #[error("{what} of row {} is {value}; it must be {rule}", grouped(row + 1))]
    Value {
        /// Which array.
        what: &'static str,
        /// Row within the block, from 0.
        row: usize,
        /// The value found.
        value: f64,
        /// What was asked of it.
        rule: &'static str,
    },
    /// A feature index or group code points outside its range.
    #[error("{what} of row {} is {code}; the largest allowed is {largest}", grouped(row + 1))]
    Code {
        /// Which array.
        what: &'static str,
        /// Row within the block, from 0.
        row: usize,
        /// The code found.
        code: u32,
        /// The largest code allowed.
        largest: usize,
    },
    /// A row or block number beyond the end.
    #[error("{what} {index} does not exist: there are {}", grouped(*.count))]
    OutOfRange {
        /// "row" or "block".
        what: &'static str,
        /// The index asked for, from 0.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The roots of an objective that is not made of squares.
    #[error("objective {} is not made of covariances", .0 + 1)]
    NoRoots(usize),
    /// Second derivatives of a loss that has none.
    #[error("the loss has no second derivatives")]
    NoSecondOrder,
    /// Work was asked to stop before it had a result.
    #[error("stopped before a model was found")]
    Stopped,
    /// What a problem or an objective of somebody else says went wrong: a callable, a file, a device.
    /// It is handed on as it is, so that whoever knows its type gets it back.
    #[error(transparent)]
    Custom(Box<dyn std::error::Error + Send + Sync>),
}
