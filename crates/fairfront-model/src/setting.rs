//! The settings used in messages about models, predictions and files, in addition to those about tables
//! ([`fairfront_data::setting`]).

use fairfront_core::{Name, settings};

settings! {
    AUDIT = Name::new("audit");
    FORCE = Name::new("force");
    SELECT_MODEL = Name::new("model").in_command("select");
}
