/// What can go wrong between a data set and a run folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Wrong usage, whatever the data.
    #[error("{0}")]
    Usage(String),
    /// The data does not allow it.
    #[error("{0}")]
    Data(String),
    /// A file of a run folder cannot be read or written.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// No point of a front meets the requirements.
    #[error("{0}")]
    Unmet(Box<crate::Unmet>),
    /// No model can be certified for the requirements.
    #[error("{0}")]
    Uncertified(Box<crate::Uncertified>),
    /// Reading and preparing the table.
    #[error(transparent)]
    Table(#[from] fairfront_data::Error),
    /// Judging a front.
    #[error(transparent)]
    Front(#[from] fairfront_pareto::Error),
    /// Solving.
    #[error(transparent)]
    Solve(#[from] fairfront_solve::Error),
    /// Evaluating.
    #[error(transparent)]
    Evaluate(#[from] fairfront_core::Error),
}

impl Error {
    /// Whether this is wrong usage (exit code 2) rather than a failure (exit code 1).
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) | Self::Solve(fairfront_solve::Error::Setting { .. }) => true,
            Self::Table(error) => error.is_usage(),
            _ => false,
        }
    }

    /// Whether work was asked to stop before there was a model.
    pub fn is_stopped(&self) -> bool {
        use fairfront_core::Error::Stopped;
        matches!(
            self,
            Self::Evaluate(Stopped) | Self::Solve(fairfront_solve::Error::Evaluation(Stopped))
        )
    }

    /// The exit code of a command that ends with this error: 1 failed, 2 wrong usage, 3 requirements
    /// unmet (only without certification), 4 no model can be certified.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unmet(_) => 3,
            Self::Uncertified(_) => 4,
            other if other.is_usage() => 2,
            _ => 1,
        }
    }

    /// The error about a file or a folder: its problem and its remedy in one line.
    pub fn file(path: &std::path::Path, problem: impl std::fmt::Display) -> Self {
        Self::File {
            path: path.display().to_string(),
            problem: problem.to_string().replace('\n', " "),
        }
    }
}

/// Files and scores fail in the same ways wherever they are used.
impl From<fairfront_model::Error> for Error {
    fn from(error: fairfront_model::Error) -> Self {
        use fairfront_model::Error as Model;
        match error {
            Model::Usage(message) => Self::Usage(message),
            Model::Data(message) => Self::Data(message),
            Model::File { path, problem } => Self::File { path, problem },
            Model::Table(error) => Self::Table(error),
            Model::Evaluate(error) => Self::Evaluate(error),
        }
    }
}
