//! What the settings of all solvers share: reading a value, and saying what cannot be right.

use crate::Error;

/// A value as typed.
pub(crate) fn parse<T: std::str::FromStr>(value: &str, rule: &'static str) -> Result<T, Error> {
    value.parse().map_err(|_| Error::Setting {
        setting: "the setting",
        value: value.to_owned(),
        rule,
    })
}

/// A setting that cannot be right.
pub(crate) fn wrong(setting: &'static str, value: String, rule: &'static str) -> Result<(), Error> {
    Err(Error::Setting {
        setting,
        value,
        rule,
    })
}

/// A name that no setting has.
pub(crate) fn unknown(name: &str) -> Result<(), Error> {
    wrong(
        "the name of the setting",
        name.to_owned(),
        "one that `fairfront fit --help` lists",
    )
}
