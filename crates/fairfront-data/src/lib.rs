//! From a file to a data set.

pub mod grammar;

mod encoding;
mod error;
mod export;
mod group;
mod inspect;
mod known;
mod prepare;
mod proxy;
mod read;
mod spec;
mod split;
mod table;

pub use encoding::{
    CategoricalRule, Encoded, Encoding, MISSING_LEVEL, NumericRule, OTHER, RowFacts, Unseen,
};
pub use error::{Error, Place};
pub use export::{write_encoded, write_rows};
pub use group::{AttributeColumn, AttributeRule, MISSING_GROUP, TargetRule};
pub use inspect::{ColumnSummary, GroupSummary, Inspection, NumericRange, Ordered, TargetSummary};
pub use known::{
    DATA_FOLDER, DEMO_BIAS_RACE, DEMO_BIAS_WOMEN, KNOWN, Known, KnownInfo, PublishedFile,
    data_folder,
};
pub use prepare::{Dropped, Exclusion, Prepared};
pub use proxy::Proxy;
pub use read::{MISSING_VALUES, ReadOptions, read_table};
pub use spec::{
    Merge, MissingPolicy, MissingSensitive, Role, Scale, Spec, SplitRule, attribute_name,
};
pub use split::{Part, Split};
pub use table::{Column, ColumnType, LeftOut, MISSING, Notice, NoticeLevel, Table, Values};
