//! Packs tables that are larger than memory into a block file of encoded rows.
//!
//! A table is read once, into a temporary file ([`spool`]). Passes over its chunks find the rules of the
//! encoding ([`survey`], [`training`], [`keys`]), and a last pass encodes the rows ([`writer`]). A fit on the
//! block file ([`reader`]) gives the same bytes as a fit on the table in memory.

mod ahead;
mod decode;
mod file;
mod format;
mod hash;
mod keys;
mod numbers;
mod order;
mod packer;
mod reader;
mod segment;
mod share;
mod spool;
mod survey;
#[cfg(test)]
mod tests;
mod training;
mod writer;

pub use self::packer::{
    HeadCheck, PackProgress, PackStage, PackSummary, Packer, pack_files, pack_files_checked,
};
pub(crate) use self::packer::{Limits, pack_unnamed};
pub(crate) use self::reader::{is_block_file, open, open_file};
pub use self::share::{BlockShards, SharedBlocks};
pub(crate) use self::spool::{ColumnSpool, Spool, SpoolFile};
pub use self::writer::remove_unfinished;

use crate::error::Error;

/// The error of this crate inside an error of the core, if there is one.
pub(crate) fn own_error(error: fairfront_core::Error) -> Error {
    match error {
        fairfront_core::Error::Custom(custom) => match custom.downcast::<Error>() {
            Ok(own) => *own,
            Err(custom) => Error::Rows(fairfront_core::Error::Custom(custom)),
        },
        error => Error::Rows(error),
    }
}
