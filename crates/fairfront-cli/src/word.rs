//! Arguments as somebody would type them again.

use serde::Serialize;
use serde_json::Value;

/// The flags that say what these arguments hold: each field is a flag of the same name, `files` stand
/// without one, and what is empty or not set is left out.
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
                // Nothing, or a table of a TOML file, which is no flag.
                Value::Null | Value::Bool(false) | Value::Array(_) | Value::Object(_) => {}
            }
        }
    }
    files.append(&mut flags);
    Ok(files)
}

/// Adds a flag with its value.
pub(crate) fn flag(words: &mut Vec<String>, name: &str, value: &str) {
    match value.starts_with('-') {
        // It would be taken for a flag.
        true => words.push(format!("--{name}={value}")),
        false => words.extend([format!("--{name}"), value.to_owned()]),
    }
}

/// A word that a shell takes as it is.
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
    fn what_is_typed_again_means_the_same() {
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
            "--points",
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
    fn shells_see_one_word() {
        assert_eq!(quoted("--set"), "--set");
        assert_eq!(quoted("adult:gender"), "adult:gender");
        assert_eq!(quoted("batches=80*1.018"), "'batches=80*1.018'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
