//! The settings used in messages about streams, in addition to those about tables and fits
//! ([`fairfront_data::setting`], [`fairfront_run::setting`]).

use fairfront_core::{Name, settings};

settings! {
    BATCH = Name::new("batch");
    FLUSH = Name::new("flush");
    FOLLOW = Name::new("follow");
    MAX_REJECTED = Name::new("max_rejected");
    RESERVOIR = Name::new("reservoir");
    SKIP = Name::new("skip");
    SKIP_BATCH = Name::new("skip_batch");
    WINDOW = Name::new("window");
}
