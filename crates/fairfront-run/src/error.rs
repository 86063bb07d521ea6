use std::fmt::Display;
use std::path::Path;

use fairfront_core::{Message, Wording};
use fairfront_model::Error as ModelError;

/// Errors of reading, fitting, selecting, comparing and verifying.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Usage, data, tables, scores and files: errors that also occur without a run.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No model of a front meets the requirements.
    #[error("{0}")]
    Unmet(Box<crate::Unmet>),
    /// No model can be certified for the requirements.
    #[error("{0}")]
    Uncertified(Box<crate::Uncertified>),
    /// Errors of comparing models or fronts.
    #[error(transparent)]
    Front(#[from] fairfront_pareto::Error),
    /// Errors of the solver.
    #[error(transparent)]
    Solve(#[from] fairfront_solve::Error),
}

impl Error {
    /// Wrong usage, independent of the data.
    pub fn usage(message: impl Into<Message>) -> Self {
        ModelError::usage(message).into()
    }

    /// Data that do not allow the operation.
    pub fn data(message: impl Into<Message>) -> Self {
        ModelError::data(message).into()
    }

    /// Whether this is a usage error rather than a failure.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Model(error) => error.is_usage(),
            Self::Solve(error) => matches!(error, fairfront_solve::Error::Setting { .. }),
            _ => false,
        }
    }

    /// Whether the work was stopped before there was a model.
    pub fn is_stopped(&self) -> bool {
        use fairfront_core::Error::Stopped;
        matches!(
            self,
            Self::Model(ModelError::Evaluate(Stopped))
                | Self::Solve(fairfront_solve::Error::Evaluation(Stopped))
        )
    }

    /// Whether the work needs more memory than the limit.
    pub fn is_memory(&self) -> bool {
        matches!(
            self,
            Self::Model(ModelError::Table(fairfront_data::Error::Memory { .. }))
        )
    }

    /// One line: the place, the problem and the remedies.
    pub fn message(&self) -> Message {
        match self {
            Self::Model(error) => error.message(),
            Self::Unmet(unmet) => unmet.to_string().into(),
            Self::Uncertified(uncertified) => uncertified.message(),
            Self::Front(error) => error.to_string().into(),
            Self::Solve(error) => error.to_string().into(),
        }
    }

    /// The error in the wording of a program.
    pub fn render(&self, wording: &dyn Wording) -> String {
        self.message().render(wording)
    }

    /// An error about a file or folder: the problem and the remedy in one line.
    pub fn file(path: &Path, problem: impl Display) -> Self {
        ModelError::file(path, problem).into()
    }

    /// Like [`Error::file`], with a message that may name settings.
    pub fn of_file(path: &Path, problem: impl Into<Message>) -> Self {
        ModelError::of_file(path, problem).into()
    }
}

impl From<fairfront_data::Error> for Error {
    fn from(error: fairfront_data::Error) -> Self {
        Self::Model(error.into())
    }
}

impl From<fairfront_core::Error> for Error {
    fn from(error: fairfront_core::Error) -> Self {
        Self::Model(error.into())
    }
}
