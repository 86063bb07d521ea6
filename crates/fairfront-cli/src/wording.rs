//! Renders messages of the libraries with flags and commands.

use fairfront_core::{Message, Setting, Wording};
use fairfront_data::{Diagnostic, grammar, shell};

/// Renders settings as flags that users can paste.
#[derive(Debug)]
pub(crate) struct Flags;

impl Wording for Flags {
    fn setting(&self, setting: &Setting) -> Option<String> {
        let name = setting.name();
        let command = name.command().map(|command| format!("fairfront {command}"));
        let flag = name
            .word()
            .map(|word| format!("--{}", word.replace('_', "-")));
        let keys: Vec<String> = setting
            .keys()
            .iter()
            .map(|key| grammar::quote(key))
            .collect();
        let value = match (keys.join(","), setting.value()) {
            (keys, None) if keys.is_empty() => None,
            (keys, None) => Some(keys),
            (keys, Some(value)) if keys.is_empty() => Some(value.to_owned()),
            (keys, Some(value)) => Some(format!("{keys}={value}")),
        };
        let value = value.map(|value| shell(&value));
        let words: Vec<String> = [command, flag, value].into_iter().flatten().collect();
        Some(words.join(" "))
    }
}

/// Renders diagnostics as they are printed and stored.
pub(crate) fn worded(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    diagnostics
        .iter()
        .map(|diagnostic| diagnostic.worded(&Flags))
        .collect()
}

/// Renders an error as it is printed.
pub(crate) fn error(error: &anyhow::Error) -> String {
    message(error).map_or_else(|| error.to_string(), |message| message.render(&Flags))
}

fn message(error: &anyhow::Error) -> Option<Message> {
    let of_data = error.downcast_ref().map(fairfront_data::Error::message);
    let of_model = || error.downcast_ref().map(fairfront_model::Error::message);
    let of_run = || error.downcast_ref().map(fairfront_run::Error::message);
    of_data.or_else(of_model).or_else(of_run)
}

/// The exit code of a command that ends with this error: 1 for a failure, 2 for wrong usage, 3 for
/// unmet requirements (only without certification), 4 if no model can be certified.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    use fairfront_run::Error;
    let of_data = error.downcast_ref().map(fairfront_data::Error::is_usage);
    let of_model = error.downcast_ref().map(fairfront_model::Error::is_usage);
    match error.downcast_ref() {
        Some(Error::Unmet(_)) => 3,
        Some(Error::Uncertified(_)) => 4,
        Some(other) if other.is_usage() => 2,
        None if of_data.or(of_model) == Some(true) => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use fairfront_core::Name;

    use super::*;
    use crate::args::Cli;

    /// This command and all its subcommands, each with its path.
    fn commands(command: &clap::Command, path: &str) -> Vec<(String, clap::Command)> {
        let mut found = vec![(path.to_owned(), command.clone())];
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name());
            found.extend(commands(sub, path.trim_start()));
        }
        found
    }

    #[test]
    fn every_setting_is_a_flag() {
        let all = commands(&Cli::command(), "");
        let exists = |name: Name| {
            let mut own = all
                .iter()
                .filter(|(path, _)| name.command().is_none_or(|command| path == command));
            match name.word() {
                None => own.next().is_some(),
                Some(word) => own.any(|(_, command)| {
                    let flag = word.replace('_', "-");
                    command
                        .get_arguments()
                        .any(|a| a.get_long() == Some(flag.as_str()))
                }),
            }
        };
        let named = [
            fairfront_data::setting::ALL,
            fairfront_model::setting::ALL,
            fairfront_run::setting::ALL,
            fairfront_stream::setting::ALL,
        ];
        for name in named.concat() {
            assert!(exists(name), "{name:?}");
        }
    }

    #[test]
    fn settings_can_be_pasted() {
        let word = |setting: Setting| Flags.setting(&setting).unwrap();
        let name = Name::new("pool_groups");
        assert_eq!(word(name.into()), "--pool-groups");
        assert_eq!(word(name.is(5)), "--pool-groups 5");
        assert_eq!(word(name.is("> 5")), "--pool-groups '> 5'");
        assert_eq!(word(name.of("a").is("b")), "--pool-groups a=b");
        assert_eq!(
            word(name.of("it's, a").is("b")),
            r#"--pool-groups '"it'\''s, a"=b'"#
        );
        assert_eq!(word(name.of_all(["a", "b"])), "--pool-groups a,b");
        let command = Name::command_named("data get");
        assert_eq!(
            word(command.is("adult:sex")),
            "fairfront data get adult:sex"
        );
        assert_eq!(
            word(name.in_command("fit").into()),
            "fairfront fit --pool-groups"
        );
    }
}
