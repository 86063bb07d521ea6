/// What can go wrong in a solver.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting that cannot be right.
    #[error("{setting} is {value}; it must be {rule}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// What was given.
        value: String,
        /// What was asked of it.
        rule: String,
    },
    /// A problem that has no front.
    #[error("{0}")]
    Problem(String),
    /// A checkpoint that cannot be gone on from.
    #[error("the checkpoint cannot be used: {0}")]
    Checkpoint(String),
    /// The problem could not be evaluated.
    #[error(transparent)]
    Evaluation(#[from] fairfront_core::Error),
    /// Values that are no points.
    #[error(transparent)]
    Values(#[from] fairfront_pareto::Error),
}
