//! From a file to a data set: tables, specs, encodings, splits and the known data sets.
//!
//! Most users want the `fairfront` crate. The way of the data, each step a type:
//!
//! 1. [`read_table`] reads CSV and Parquet files into a [`Table`] of raw columns.
//! 2. A [`Spec`] says which column is the target, which are sensitive, which are features.
//! 3. [`Prepared`] settles which rows are in use, their labels, groups, weights and split.
//! 4. [`Encoded`] fits an [`Encoding`] on the training rows and applies it: three
//!    [`Dataset`](fairfront_core::Dataset)s.
//!
//! Data that arrives bit by bit goes the same way in steps that can be repeated: [`open_text`] and
//! [`Records`] cut any file into records, [`first_table`] and [`next_table`] make tables of them,
//! [`Prepared::later`] settles the use of later rows by the rules of an encoding, which learns from them
//! ([`Encoding::grow`]), and [`StoredRows`] keep them.
//!
//! [`Inspection`] is what a person sees of it before any training, and [`Known`] names data sets
//! that bring their own spec.
//!
//! ```
//! use fairfront_data::{Encoded, Inspection, Known, Part, Prepared};
//!
//! let known = Known::parse("demo(rows=2000)")?.expect("a known data set");
//! let prepared = Prepared::from_known(&known, &known.spec(), None)?;
//! let inspection = Inspection::new(&prepared)?;
//! assert!(inspection.proxies.get("sex").unwrap().auc.unwrap() > 0.7);
//! let encoded = Encoded::new(&prepared)?;
//! assert_eq!(encoded.part(Part::Train).schema().n_outputs, 1);
//! # Ok::<(), fairfront_data::Error>(())
//! ```

pub mod grammar;

mod comparison;
mod date;
mod date_part;
mod encoder;
mod encoding;
mod error;
mod export;
mod finding;
mod group;
mod growth;
mod held;
mod identifier;
mod inspect;
mod known;
mod level;
mod memory;
mod number;
mod ordered;
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

pub use comparison::{Comparison, Sign};
pub use date::{DateOrder, date_number, date_text};
pub use encoder::{Encoder, Unseen};
pub use encoding::{Encoded, Encoding, RowFacts};
pub use error::{Error, Place, near_names, shell};
pub use export::{write_encoded, write_rows};
pub use fairfront_core::{Message, Wording};
pub use finding::{Findings, by_level};
pub use group::{AttributeColumn, AttributeRule, MISSING_GROUP};
pub use growth::{Growth, NewGroup, NewLevel, embed};
pub use held::HeldRows;
pub use identifier::identifier_warnings;
pub use inspect::{ColumnSummary, GroupSummary, Inspection, NumericRange, TargetSummary};
pub use known::{
    DATA_FOLDER, DEMO_BIAS_RACE, DEMO_BIAS_WOMEN, KNOWN, Known, KnownInfo, PublishedFile,
    cache_folder, data_folder, named_folder,
};
pub use memory::MemoryLimit;
pub use number::{NumberIter, NumberSource, Numbers};
pub use ordered::Ordered;
pub use prepare::Prepared;
pub use proxy::Proxy;
pub use read::{
    Arrived, BATCH_ROWS, BadRecord, BatchesRead, ColumnTypes, Decimal, FixedType, LONGEST_RECORD,
    LongRecord, MISSING_VALUES, MOST_RECORD_BYTES, Position, RawRecord, ReadFrom, ReadOptions,
    Reading, Records, Rejected, RowBatch, TextInput, Texts, TypedColumn, Wanted, WantedColumn,
    column_order, decimal_of, file_name, first_table, guarded, next_table, open_text,
    panics_are_caught, read_batches, read_table,
};
pub use row_role::RowRole;
pub use rule::{CategoricalRule, LARGEST_FEATURE, MISSING_LEVEL, NumericRule, OTHER};
pub use sieve::{Dropped, Exclusion, set_aside};
pub use spec::{
    Merge, MinGroup, MissingPolicy, MissingSensitive, Role, Scale, Spec, SplitRule, attribute_name,
};
pub use split::{Part, Split, drawn_part, named_counts};
pub use stored::StoredRows;
pub use table::{Column, ColumnType, LeftOut, MISSING, Notice, NoticeLevel, Table, Values};
pub use target::TargetRule;
