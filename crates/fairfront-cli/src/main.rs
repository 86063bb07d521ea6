//! The `fairfront` command.

fn main() -> std::process::ExitCode {
    fairfront_cli::run(std::env::args_os()).into()
}
