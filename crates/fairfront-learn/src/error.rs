/// The reasons why a learner cannot be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Every row lacks a label or a positive weight.
    #[error("every row lacks a label or a positive weight")]
    NoRows,
    /// There are fewer than two classes.
    #[error("expected at least 2 classes, found {found}")]
    Classes {
        /// Number of classes.
        found: usize,
    },
    /// A label is not one of the classes.
    #[error("the label of row {row} is {label}; expected less than {n_classes}")]
    Label {
        /// Position of the row, from 0.
        row: usize,
        /// Its label.
        label: u32,
        /// Number of classes.
        n_classes: usize,
    },
    /// A number to predict is not finite.
    #[error("the label of row {row} is {number}; expected a finite number")]
    Number {
        /// Position of the row, from 0.
        row: usize,
        /// Its label.
        number: f64,
    },
    /// A row number is not less than the number of rows.
    #[error("expected row numbers less than {n_rows}, found {row}")]
    Row {
        /// The row number.
        row: u32,
        /// Number of rows of the data set.
        n_rows: usize,
    },
    /// A weight is negative or not finite.
    #[error("the weight of row {row} is {weight}; expected a finite number, not negative")]
    Weight {
        /// Position of the row, from 0.
        row: usize,
        /// Its weight.
        weight: f64,
    },
    /// Two arrays do not fit together.
    #[error("expected {expected} {name}, found {found}")]
    Shape {
        /// The numbers that the array holds.
        name: &'static str,
        /// Expected number.
        expected: usize,
        /// Number found.
        found: usize,
    },
    /// A setting is outside its range.
    #[error("{name} is {value}; expected {rule}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Its range.
        rule: &'static str,
    },
    /// The data set has more rows than a learner can use.
    #[error("expected at most {most} rows, found {found}")]
    TooManyRows {
        /// Number of rows.
        found: usize,
        /// Largest number of rows.
        most: usize,
    },
    /// Models of more than two classes would have too many features of learners.
    #[error(
        "classes and groups need {found} features of learners; at most {most} are possible, so merge \
         classes or groups, or count a single class"
    )]
    TooManyFeatures {
        /// Number of features.
        found: usize,
        /// Largest number of features.
        most: usize,
    },
    /// Learners that were read from a file are inconsistent.
    #[error("{0}")]
    Corrupted(String),
    /// The stop signal was set.
    #[error("stopped before the learner was fitted")]
    Stopped,
}

impl Error {
    /// Whether the stop signal was set.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped)
    }
}

/// Checks a length.
pub(crate) fn expect_len(name: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    Err(Error::Shape {
        name,
        expected,
        found,
    })
}
