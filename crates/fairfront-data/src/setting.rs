//! The settings used in messages about tables.

use fairfront_core::{Name, settings};

settings! {
    BALANCE = Name::new("balance");
    BINS = Name::new("bins");
    CATEGORICAL = Name::new("categorical");
    CLASSES = Name::new("classes");
    COLUMNS = Name::new("columns");
    DATA_GET = Name::command_named("data get");
    DATE_PARTS = Name::new("date_parts");
    DECIMAL = Name::new("decimal");
    DROP = Name::new("drop");
    FEATURE = Name::new("feature");
    KEEP = Name::new("keep");
    MEMORY = Name::new("memory");
    MARK = Name::new("mark");
    MERGE = Name::new("merge");
    MIN_GROUP = Name::new("min_group");
    MISSING = Name::new("missing");
    MISSING_SENSITIVE = Name::new("missing_sensitive");
    MISSING_VALUE = Name::new("missing_value");
    NO_HEADER = Name::new("no_header");
    NUMERIC = Name::new("numeric");
    ORDER = Name::new("order");
    POOL_GROUPS = Name::new("pool_groups");
    POOL_RARE = Name::new("pool_rare");
    POSITIVE = Name::new("positive");
    REFERENCE = Name::new("reference");
    SCALE = Name::new("scale");
    SEED = Name::new("seed");
    SENSITIVE = Name::new("sensitive");
    SEPARATOR = Name::new("separator");
    SPLIT = Name::new("split");
    STREAM_WINDOW = Name::new("window").in_command("stream");
    TARGET = Name::new("target");
    TYPE = Name::new("type");
    USE_SENSITIVE = Name::new("use_sensitive");
    WEIGHT = Name::new("weight");
}
