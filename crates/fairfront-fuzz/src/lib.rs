//! A seeded mutation fuzzer over every file and text that fairfront reads.
//!
//! A [`Target`] is one surface: it has seeds, says what form they have, and checks one input. An input
//! may be refused with an error; it must not panic, take too long or take too much memory
//! ([`memory`]), and what is accepted must mean what the input says. [`Case`] names an input by seed,
//! target and number, so that every failure can be repeated.

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

/// How an input was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It was read.
    Accepted,
    /// It was refused with an error.
    Refused,
}

/// One kind of input of a surface.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name, which is the beginning of the names of its files in the corpus: `NAME@…`.
    pub name: &'static str,
    /// What its inputs are made of.
    pub form: Form,
    /// Sound inputs.
    pub seeds: Vec<Vec<u8>>,
}

/// One surface.
pub trait Target: Sync {
    /// Its name on the command line and in the corpus.
    fn name(&self) -> &'static str;
    /// The kinds of its inputs, one or more.
    fn parts(&self) -> Vec<Part>;
    /// Words that mean something to it.
    fn words(&self) -> &'static [&'static str] {
        &[]
    }
    /// How many turns it has in a round: fewer for surfaces that take long.
    fn turns(&self) -> usize {
        20
    }
    /// Reads an input of a part; the error says which promise was broken.
    fn check(&self, part: usize, input: &[u8]) -> Result<Taken, String>;
}
