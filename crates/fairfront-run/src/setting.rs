//! The settings that messages about fits and fronts name, in addition to those about
//! tables and files ([`fairfront_data::setting`], [`fairfront_model::setting`]).

use fairfront_core::{Name, settings};

settings! {
    BASELINE = Name::new("baseline");
    BASELINE_SELECTED = Name::new("baseline_selected");
    BASELINE_THRESHOLD = Name::new("baseline_threshold");
    BASELINE_UNSEEN = Name::new("baseline_unseen");
    BEST = Name::new("best");
    BY = Name::new("by");
    CONFIDENCE = Name::new("confidence");
    EXACT = Name::new("exact");
    FAMILY = Name::new("family");
    FRONT_IN = Name::new("front_in");
    HIDDEN = Name::new("hidden");
    MODEL_ID = Name::new("model_id");
    SOLVER = Name::new("solver");
    MOST = Name::new("most");
    OBJECTIVE = Name::new("objective");
    PENALTY = Name::new("penalty");
    MEASURE = Name::new("measure");
    MODELS = Name::new("models");
    POLISH = Name::new("polish");
    PREDICT = Name::command_named("predict");
    PRESET = Name::new("preset");
    REFERENCE = Name::new("reference");
    REQUIRE = Name::new("require");
    RESUME = Name::new("resume");
    SCORE = Name::new("score");
    SELECT_CONFIDENCE = Name::new("confidence").in_command("select");
    SET = Name::new("set");
    STREAM_FLUSH = Name::new("flush").in_command("stream");
    TOLERANCE = Name::new("tolerance");
    TRY = Name::new("try");
    VERIFY = Name::command_named("verify");
    DATE = Name::new("date");
    FORMAT = Name::new("format");
    KEY = Name::new("key");
    MIN_SHARE = Name::new("min_share");
    RACE = Name::new("race");
    SCORING = Name::new("scoring");
    SELECTED = Name::new("selected");
    SEX = Name::new("sex");
    SOURCE = Name::new("source");
    THRESHOLD = Name::new("threshold");
    DISTRIBUTION_DATE = Name::new("distribution_date");
    WEIGHTS = Name::new("weights");
}
