/// Everything that can go wrong between a model file and scores.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Wrong usage, whatever the data.
    #[error("{0}")]
    Usage(String),
    /// The data does not allow it.
    #[error("{0}")]
    Data(String),
    /// A file cannot be read or written.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// The problem and its remedy.
        problem: String,
    },
    /// Reading and encoding rows.
    #[error(transparent)]
    Table(#[from] fairfront_data::Error),
    /// Scoring rows.
    #[error(transparent)]
    Evaluate(#[from] fairfront_core::Error),
}

impl Error {
    /// Whether this is wrong usage (exit code 2) rather than a failure (exit code 1).
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) => true,
            Self::Table(error) => error.is_usage(),
            Self::Data(_) | Self::File { .. } | Self::Evaluate(_) => false,
        }
    }

    pub(crate) fn file(path: &std::path::Path, problem: impl std::fmt::Display) -> Self {
        Self::File {
            path: path.display().to_string(),
            problem: problem.to_string().replace('\n', " "),
        }
    }
}
