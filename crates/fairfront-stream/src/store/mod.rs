//! The files of a stream's state that only grow or never change.
//!
//! A batch is committed as a generation ([`fairfront_run::store`]). Files that only grow are ledgers, whose
//! committed length a generation records ([`Ledger`]). Rows that have arrived but are not in a generation
//! yet are in a log ([`Spool`]). Large files that never change are separate ([`segment`]).

mod append;
mod ledger;
pub(crate) mod segment;
mod spool;
#[cfg(test)]
mod tests;

pub(crate) use ledger::{Committed, Ledger};
pub(crate) use spool::{Entry, Spool};
