//! What the settings of all solvers share: reading a value, and saying what cannot be right.

use crate::Error;

/// A value as typed. No setting is infinite: JSON could not keep it.
pub(crate) fn parse<T: std::str::FromStr>(value: &str, rule: &'static str) -> Result<T, Error> {
    let is_finite = value.parse::<f64>().map_or(true, f64::is_finite);
    let parsed = value.parse().ok().filter(|_| is_finite);
    parsed.ok_or_else(|| Error::Setting {
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
        "one that this solver has",
    )
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_number_is_finite() {
        assert_eq!(parse::<f64>("1e308", "a number").unwrap(), 1e308);
        assert_eq!(parse::<usize>("7", "a count").unwrap(), 7);
        for text in ["inf", "-inf", "1e999", "nan"] {
            assert!(parse::<f64>(text, "a number").is_err(), "{text}");
        }
    }
}
