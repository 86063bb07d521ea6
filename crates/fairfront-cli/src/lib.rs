//! The `fairfront` command as a library, so that other front ends can call the same code.
//!
//! [`run`] takes the arguments and returns the exit code: 0 for success, 1 for a failure, 2 for
//! wrong usage, 3 for unmet requirements (`select --confidence none`), 4 if no model can be
//! certified, and 130 after Ctrl-C, SIGTERM or SIGHUP (results so far are kept).

mod args;
mod audit_args;
mod bridge;
mod command;
#[cfg(feature = "download")]
mod download;
mod help;
mod output;
mod progress;
mod render;
#[cfg(all(test, feature = "download"))]
#[path = "../tests/it/server.rs"]
mod server;
#[doc(hidden)]
pub mod settings;
mod solver_args;
mod table_args;
mod word;
mod wording;

use std::ffi::OsString;

use clap::Parser;

/// Runs the command with these arguments, of which the first is the name of the program.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    progress::keep_hangup_ignored();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !fairfront_data::panics_are_caught() {
            usual(panic);
        }
    }));
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(at) = args.iter().position(|arg| has_nul(arg)) {
        output::error(&anyhow::anyhow!(
            "argument {at}: contains a NUL byte; remove it"
        ));
        return 2;
    }
    if let Some((old, new)) = renamed(&args) {
        output::error(&anyhow::anyhow!("{old} is now called {new}; rename it"));
        return 2;
    }
    let cli = match args::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors, and a closed pipe does not need one.
            let _ = error.print();
            return u8::from(error.use_stderr()) * 2;
        }
    };
    output::set_verbose(cli.verbose);
    match command::run(cli.command) {
        Ok(code) => code,
        Err(error) if output::is_broken_pipe(&error) => 0,
        Err(error) => {
            output::error(&error);
            if let Some(stopped) = error.downcast_ref::<progress::NoModel>() {
                return stopped.exit_code();
            }
            wording::exit_code(&error)
        }
    }
}

/// Flags of earlier builds, with their present names.
const RENAMED: [(&str, &str); 3] = [
    ("--method", "--solver"),
    ("--points", "--models"),
    ("--id", "--model-id"),
];

/// The first flag among the arguments that has another name now.
fn renamed(args: &[OsString]) -> Option<(&'static str, &'static str)> {
    let flags = args.iter().take_while(|arg| *arg != "--");
    let mut flags = flags.filter_map(|arg| arg.to_str()?.split('=').next());
    flags.find_map(|flag| RENAMED.into_iter().find(|(old, _)| *old == flag))
}

/// Whether an argument contains a NUL byte. Shells cannot pass one, but callers of [`run`] can.
fn has_nul(arg: &std::ffi::OsStr) -> bool {
    arg.as_encoded_bytes().contains(&0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn renamed_flags_are_found_before_a_separator() {
        let of = |args: &[&str]| {
            let args: Vec<_> = args.iter().map(Into::into).collect();
            super::renamed(&args).map(|(_, new)| new)
        };
        assert_eq!(
            of(&["fairfront", "select", "run", "--id", "3"]),
            Some("--model-id")
        );
        assert_eq!(
            of(&["fairfront", "fit", "demo", "--points=3"]),
            Some("--models")
        );
        assert_eq!(of(&["fairfront", "inspect", "--", "--id"]), None);
        assert_eq!(of(&["fairfront", "fit", "--solver", "trace"]), None);
    }

    #[test]
    fn an_argument_with_a_nul_byte_is_wrong_usage() {
        let args = ["fairfront", "inspect", "loans\0.csv"];
        assert_eq!(super::run(args.map(Into::into)), 2);
    }
}
