/// An error of a solver.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting has an invalid value.
    #[error("{setting} is {value}; it must be {rule}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// The value that was passed.
        value: String,
        /// The rule that it violates.
        rule: String,
    },
    /// The problem has no front.
    #[error("{0}")]
    Problem(String),
    /// A checkpoint from which a solver cannot resume.
    #[error("the checkpoint cannot be used: {0}")]
    Checkpoint(String),
    /// The problem could not be evaluated.
    #[error(transparent)]
    Evaluation(#[from] fairfront_core::Error),
    /// Values that are not points.
    #[error(transparent)]
    Values(#[from] fairfront_pareto::Error),
}
