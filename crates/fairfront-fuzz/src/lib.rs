//! A seeded mutation fuzzer for every file and string that fairfront reads.
//!
//! A [`Target`] is one surface: it provides seeds and their format, and checks one input. The
//! program may reject an input with an error. It must not panic, take too long or use too much
//! memory ([`memory`]), and an accepted input must be read with its actual meaning. A [`Case`]
//! identifies an input by seed, target and number, so that every failure can be repeated.

pub mod memory;

mod case;
mod fixture;
mod json;
mod meaning;
mod mutate;
mod random;
mod scratch;
mod seal;
mod target;

pub use case::{
    Case, Failure, HUNG, Loaded, Summary, Tally, Watchdog, catch_panics, check, check_or_panic,
};
pub use mutate::{Form, input};
pub use random::Random;
pub use scratch::remove as clean_up;
pub use target::{find, targets};

/// The result of reading an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The input was accepted.
    Accepted,
    /// The input was rejected with an error.
    Refused,
}

/// One kind of input of a surface.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name, which is the prefix of its files in the corpus: `NAME@…`.
    pub name: &'static str,
    /// The format of its inputs.
    pub form: Form,
    /// Valid inputs.
    pub seeds: Vec<Vec<u8>>,
}

/// One surface.
pub trait Target: Sync {
    /// Its name on the command line and in the corpus.
    fn name(&self) -> &'static str;
    /// The kinds of its inputs, one or more.
    fn parts(&self) -> Vec<Part>;
    /// Words that have a meaning for it.
    fn words(&self) -> &'static [&'static str] {
        &[]
    }
    /// Number of its cases per round; slow surfaces have fewer.
    fn turns(&self) -> usize {
        20
    }
    /// Reads an input of a part; the error describes the guarantee that was broken.
    fn check(&self, part: usize, input: &[u8]) -> Result<Taken, String>;
}
