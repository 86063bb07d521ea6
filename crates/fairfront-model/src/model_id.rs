//! The number of a model of a front, as people and files write it.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The number of a model of a front: 1 for the first model, in every output and every file.
///
/// ```
/// use fairfront_model::ModelId;
///
/// let first = ModelId::of_index(0);
/// assert_eq!((first.to_string(), first.index()), ("1".into(), 0));
/// assert_eq!("12".parse(), Ok(ModelId::of_index(11)));
/// assert!("0".parse::<ModelId>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelId(NonZeroUsize);

impl ModelId {
    /// The id of the model at an index of the front, which counts from 0.
    pub fn of_index(index: usize) -> Self {
        Self(NonZeroUsize::MIN.saturating_add(index))
    }

    /// The model with this number, which counts from 1; `None` for 0.
    pub fn new(number: usize) -> Option<Self> {
        NonZeroUsize::new(number).map(Self)
    }

    /// The index of the model in the front, which counts from 0.
    pub fn index(self) -> usize {
        self.0.get() - 1
    }

    /// The number, which counts from 1.
    pub fn number(self) -> usize {
        self.0.get()
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ModelId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.parse().map(Self);
        number.map_err(|_| "ids of models are whole numbers from 1 on")
    }
}
