use fairfront_core::{Message, Wording, say};

/// What can go wrong between a data set and a run folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Wrong usage, whatever the data.
    #[error("{0}")]
    Usage(Message),
    /// The data does not allow it.
    #[error("{0}")]
    Data(Message),
    /// A file of a run folder cannot be read or written.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// What is wrong and what to do.
        problem: Message,
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
    /// Wrong usage, whatever the data.
    pub fn usage(message: impl Into<Message>) -> Self {
        Self::Usage(message.into())
    }

    /// Data that does not allow it.
    pub fn data(message: impl Into<Message>) -> Self {
        Self::Data(message.into())
    }

    /// Whether this is wrong usage rather than a failure.
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

    /// One line: the place, the problem and the remedies.
    pub fn message(&self) -> Message {
        match self {
            Self::Usage(message) | Self::Data(message) => message.clone(),
            Self::File { path, problem } => say!["{path}: ", problem],
            Self::Unmet(unmet) => unmet.to_string().into(),
            Self::Uncertified(uncertified) => uncertified.message(),
            Self::Table(error) => error.message(),
            Self::Front(error) => error.to_string().into(),
            Self::Solve(error) => error.to_string().into(),
            Self::Evaluate(error) => error.to_string().into(),
        }
    }

    /// The error in the words of a program.
    pub fn render(&self, wording: &dyn Wording) -> String {
        self.message().render(wording)
    }

    /// The error about a file or a folder: its problem and its remedy in one line.
    pub fn file(path: &std::path::Path, problem: impl std::fmt::Display) -> Self {
        Self::of_file(path, problem.to_string().replace('\n', " "))
    }

    /// The same with a message that may name settings.
    pub fn of_file(path: &std::path::Path, problem: impl Into<Message>) -> Self {
        Self::File {
            path: path.display().to_string(),
            problem: problem.into(),
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
