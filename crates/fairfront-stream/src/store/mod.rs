//! The parts of a stream's state that only grow or never change.
//!
//! A batch is committed as a generation ([`fairfront_run::store`]). Files that only grow are ledgers whose
//! committed length a generation records ([`Ledger`]); rows that have arrived and no generation holds yet are
//! in a log ([`Spool`]); large parts that never change have files of their own ([`segment`]).

mod append;
mod ledger;
pub(crate) mod segment;
mod spool;
#[cfg(test)]
mod tests;

pub(crate) use ledger::{Committed, Ledger};
pub(crate) use spool::{Entry, Spool};
