//! Reads files into data sets: tables, specs, encodings, splits and the known data sets.
//!
//! Most users need only the `fairfront` crate. Data goes through these steps, each of them a type:
//!
//! 1. [`read_table`] reads CSV and Parquet files into a [`Table`] of raw columns.
//! 2. A [`Spec`] defines the target, the sensitive columns and the features.
//! 3. [`Prepared`] determines which rows are in use, with their labels, groups, weights and splits.
//! 4. [`Encoded`] fits an [`Encoding`] on the training rows and applies it, which gives one
//!    [`Dataset`](fairfront_core::Dataset) per split.
//!
//! Data that arrives in batches goes through the same steps repeatedly. [`open_text`] and [`Records`] cut
//! any file into records, and [`first_table`] and [`next_table`] turn them into tables. [`Prepared::later`]
//! prepares later rows by the rules of an encoding, which learns from them ([`Encoding::grow`]), and
//! [`StoredRows`] store them.
//!
//! Tables that are larger than memory are packed into a block file ([`pack_files`], [`Packer`]). An [`Input`]
//! is everything that a fit needs, from a table in memory or from a block file.
//!
//! An [`Inspection`] summarizes a table before any training, and [`Known`] names data sets that have their
//! own spec.
//!
//! ```
//! use fairfront_data::{Encoded, Inspection, Known, Part, Prepared};
//!
//! let known = Known::parse("demo(rows=2000)")?.expect("a known data set");
//! let prepared = Prepared::from_known(&known, &known.spec(), None)?;
//! let inspection = Inspection::new(&prepared)?;
//! assert!(inspection.proxies.get("sex").unwrap().auc.unwrap() > 0.7);
//! let encoded = Encoded::new(&prepared)?;
//! assert_eq!(encoded.part(Part::Train).schema().target, fairfront_core::Target::Binary);
//! # Ok::<(), fairfront_data::Error>(())
//! ```

pub mod grammar;

mod category;
mod comparison;
mod date;
mod date_part;
mod encoder;
mod encoding;
mod error;
mod export;
mod finding;
mod fingerprint;
mod fit;
mod group;
mod growth;
mod held;
mod identifier;
mod input;
mod inspect;
mod known;
mod membership;
mod memory;
mod number;
mod ordered;
mod pack;
mod prepare;
mod proxy;
mod read;
mod row_role;
mod rule;
pub mod setting;
mod sieve;
mod spec;
mod split;
mod stored;
mod table;
mod target;
mod target_class;
mod target_number;

pub use comparison::{Comparison, Sign};
pub use date::{DateOrder, date_number, date_text};
pub use encoder::{Encoder, Unseen};
pub use encoding::{Encoded, Encoding, RowFacts};
pub use error::{Error, Place, near_names, shell};
pub use export::{write_encoded, write_rows};
pub use fairfront_core::{Message, Wording};
pub use finding::{Findings, by_severity};
pub use fingerprint::{Fingerprint, fingerprint_rows};
pub use group::{AttributeColumn, AttributeRule, MISSING_GROUP};
pub use growth::{Growth, NewCategory, NewGroup, embed};
pub use held::HeldRows;
pub use identifier::identifier_warnings;
pub use input::{Facts, Input, Source};
pub use inspect::{
    ClassSummary, ColumnSummary, GroupSummary, Inspection, NumericRange, TargetDistribution,
    TargetSummary,
};
pub use known::{
    DATA_FOLDER, DEMO_BIAS_RACE, DEMO_BIAS_WOMEN, KNOWN, Known, KnownInfo, PublishedFile,
    cache_folder, data_folder, named_folder,
};
pub use membership::{GroupColumn, Memberships};
pub use memory::MemoryLimit;
pub use number::{NumberIter, NumberSource, Numbers};
pub use ordered::Ordered;
pub use pack::{
    BlockShards, HeadCheck, PackProgress, PackStage, PackSummary, Packer, SharedBlocks, pack_files,
    pack_files_checked, remove_unfinished,
};
pub use prepare::Prepared;
pub use proxy::Proxy;
pub use read::{
    Arrived, BATCH_ROWS, BadRecord, BatchesRead, ColumnTypes, Decimal, FixedType, LONGEST_RECORD,
    LongRecord, MISSING_VALUES, MOST_RECORD_BYTES, Position, RawRecord, ReadFrom, ReadOptions,
    Reading, Records, Rejected, RowBatch, Strings, TextInput, TypedColumn, Wanted, WantedColumn,
    column_order, decimal_of, file_name, first_table, guarded, next_table, open_text,
    panics_are_caught, read_batches, read_table,
};
pub use row_role::RowRole;
pub use rule::{CategoricalRule, LARGEST_FEATURE, MISSING_CATEGORY, NumericRule, OTHER};
pub use sieve::{Dropped, Exclusion, set_aside};
pub use spec::{
    Merge, MinGroup, MissingPolicy, MissingSensitive, Role, Scale, Spec, SplitRule, attribute_name,
};
pub use split::{Part, Split, drawn_part, named_counts};
pub use stored::StoredRows;
pub use table::{Column, ColumnType, Diagnostic, LeftOut, MISSING, Severity, Table, Values};
pub use target::{TargetKind, TargetRule};
