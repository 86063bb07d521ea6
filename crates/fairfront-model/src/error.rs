use std::path::Path;

use fairfront_core::{Message, Wording, say};

/// Everything that can go wrong between a model file and scores.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Incorrect usage, for any data.
    #[error("{0}")]
    Usage(Message),
    /// The data is not suitable.
    #[error("{0}")]
    Data(Message),
    /// A file cannot be read or written.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// The problem and its remedy.
        problem: Message,
    },
    /// An error from reading or encoding rows.
    #[error(transparent)]
    Table(#[from] fairfront_data::Error),
    /// An error from scoring rows.
    #[error(transparent)]
    Evaluate(#[from] fairfront_core::Error),
}

impl Error {
    /// An error about incorrect usage, for any data.
    pub fn usage(message: impl Into<Message>) -> Self {
        Self::Usage(message.into())
    }

    /// An error about data that is not suitable.
    pub fn data(message: impl Into<Message>) -> Self {
        Self::Data(message.into())
    }

    /// Whether this error is incorrect usage rather than a failure.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) => true,
            Self::Table(error) => error.is_usage(),
            Self::Data(_) | Self::File { .. } | Self::Evaluate(_) => false,
        }
    }

    /// The message in one line: the place, the problem and the remedies.
    pub fn message(&self) -> Message {
        match self {
            Self::Usage(message) | Self::Data(message) => message.clone(),
            Self::File { path, problem } => say!["{path}: ", problem],
            Self::Table(error) => error.message(),
            Self::Evaluate(error) => error.to_string().into(),
        }
    }

    /// Renders the error in the wording of a program.
    pub fn render(&self, wording: &dyn Wording) -> String {
        self.message().render(wording)
    }

    /// An error about a file or a folder, with its problem and remedy in one line.
    pub fn file(path: &Path, problem: impl std::fmt::Display) -> Self {
        Self::of_file(path, problem.to_string().replace('\n', " "))
    }

    /// Like [`Error::file`], with a message that may contain settings.
    pub fn of_file(path: &Path, problem: impl Into<Message>) -> Self {
        Self::File {
            path: path.display().to_string(),
            problem: problem.into(),
        }
    }
}
