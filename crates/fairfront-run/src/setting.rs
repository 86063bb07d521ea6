//! The settings that messages about fits, fronts, models and streams name, in addition to those about
//! tables ([`fairfront_data::setting`]).

use fairfront_core::{Name, settings};

settings! {
    AUDIT = Name::new("audit");
    BATCH = Name::new("batch");
    BEST = Name::new("best");
    BY = Name::new("by");
    CONFIDENCE = Name::new("confidence");
    EXACT = Name::new("exact");
    FLUSH = Name::new("flush");
    FOLLOW = Name::new("follow");
    FORCE = Name::new("force");
    FRONT_IN = Name::new("front_in");
    ID = Name::new("id");
    MAX_REJECTED = Name::new("max_rejected");
    METHOD = Name::new("method");
    MOST = Name::new("most");
    OBJECTIVE = Name::new("objective");
    PENALTY = Name::new("penalty");
    POINTS = Name::new("points");
    POLISH = Name::new("polish");
    PRESET = Name::new("preset");
    REFERENCE = Name::new("reference");
    REQUIRE = Name::new("require");
    RESERVOIR = Name::new("reservoir");
    RESUME = Name::new("resume");
    SELECT_CONFIDENCE = Name::new("confidence").in_command("select");
    SELECT_MODEL = Name::new("model").in_command("select");
    SET = Name::new("set");
    SKIP = Name::new("skip");
    SKIP_BATCH = Name::new("skip_batch");
    STREAM_FLUSH = Name::new("flush").in_command("stream");
    TRY = Name::new("try");
    VERIFY = Name::command_named("verify");
    WEIGHTS = Name::new("weights");
    WINDOW = Name::new("window");
}
