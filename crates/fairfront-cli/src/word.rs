//! Converts arguments back to words that can be typed.

use serde::Serialize;
use serde_json::Value;

/// The words for these arguments. Each field is a flag of the same name, except `files`, which have
/// no flag. Fields that are empty or not set are left out.
pub(crate) fn of_args(args: &impl Serialize) -> anyhow::Result<Vec<String>> {
    let (mut files, mut flags) = (Vec::new(), Vec::new());
    let Value::Object(fields) = serde_json::to_value(args)? else {
        return Ok(files);
    };
    for (name, value) in fields {
        let values = match value {
            Value::Array(values) => values,
            one => vec![one],
        };
        for value in values {
            match value {
                Value::Bool(true) => flags.push(format!("--{name}")),
                Value::String(text) if name == "files" => files.push(text),
                Value::String(text) => flag(&mut flags, &name, &text),
                Value::Number(number) => flag(&mut flags, &name, &number.to_string()),
                // Not set, or a table of a TOML file, which is not a flag.
                Value::Null | Value::Bool(false) | Value::Array(_) | Value::Object(_) => {}
            }
        }
    }
    files.append(&mut flags);
    Ok(files)
}

/// Appends a flag with its value.
pub(crate) fn flag(words: &mut Vec<String>, name: &str, value: &str) {
    match value.starts_with('-') {
        // As a separate word, the value would be parsed as a flag.
        true => words.push(format!("--{name}={value}")),
        false => words.extend([format!("--{name}"), value.to_owned()]),
    }
}

/// Quotes a word for a shell if necessary.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn arguments(words: &[String]) -> (String, String) {
        let typed = ["fairfront", "tune"].map(String::from).into_iter();
        let cli = Cli::try_parse_from(typed.chain(words.iter().cloned())).expect("arguments");
        let Command::Tune { table, tune } = cli.command else {
            panic!("another command");
        };
        (format!("{table:?}"), format!("{:?}", tune.solver))
    }

    #[test]
    fn arguments_survive_a_round_trip() {
        let typed = [
            "my loans.csv",
            "--target",
            "ok",
            "--positive=-1",
            "--sensitive",
            "sex",
            "--sensitive",
            "a b",
            "--bins",
            "age=25,45",
            "--type",
            "zip=categorical",
            "--use-sensitive",
            "--missing-value=-",
            "--seed",
            "7",
            "--pool-rare",
            "3",
            "--objective",
            "error_rate",
            "--objective",
            "demographic_parity(sex)",
            "--solver",
            "pf-smg",
            "--preset",
            "paper",
            "--front-in",
            "objectives",
            "--models",
            "9",
            "--set",
            "holes=3",
            "--polish",
        ]
        .map(String::from);
        let cli = Cli::try_parse_from(
            ["fairfront", "tune"]
                .into_iter()
                .map(String::from)
                .chain(typed.clone()),
        );
        let Command::Tune { table, tune } = cli.expect("arguments").command else {
            panic!("another command");
        };
        let mut again = of_args(&*table).expect("words");
        again.extend(of_args(&tune.solver).expect("words"));
        assert_eq!(arguments(&again), arguments(&typed));
        assert_eq!(again[0], "my loans.csv");
    }

    #[test]
    fn words_are_quoted_for_shells() {
        assert_eq!(quoted("--set"), "--set");
        assert_eq!(quoted("adult:sex"), "adult:sex");
        assert_eq!(quoted("batches=80*1.018"), "'batches=80*1.018'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
