//! The command line.

use std::path::PathBuf;

use clap::Parser;
use fairfront_reproduce::Experiment;

/// Repeat the paper's experiments and report which of its claims hold
#[derive(Debug, Parser)]
#[command(name = "fairfront-reproduce", version, long_about = about(), after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Experiments to run [default: all whose data are available]
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiments: Vec<String>,
    /// Folder for runs, figures, tables and pages; finished work in it is not repeated
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    pub(crate) out: PathBuf,
    /// Use small budgets: the same experiments in minutes, with numbers that mean little
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also write the pages and their figures to this documentation folder
    #[arg(long, value_name = "DIR")]
    pub(crate) docs: Option<PathBuf>,
    /// Number of jobs to run in parallel, on one thread each; does not affect the results [default: one
    /// per core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Do not show progress
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The text of `--help`.
fn about() -> String {
    let names = Experiment::ALL.map(|one| format!("  {:<22}{}", one.name(), one.about()));
    format!(
        "\
Repeat the paper's experiments and report which of its claims hold

Each experiment repeats a figure or a table of Liu and Vicente, with the paper's settings and with
ours. The command writes runs, figures (SVG), numbers (CSV, JSON), a page with claims and verdicts
(reproduction.md) and a page with tables (reproduction-tables.md) to --out. If it is stopped or
killed, the same command resumes the work.

{}

`fairfront data list` shows if Adult and COMPAS are available; `fairfront data get` downloads them.",
        names.join("\n")
    )
}

const EXAMPLES: &str = "\
Examples:
  fairfront-reproduce --quick --out try
  fairfront-reproduce adult-gender profiles --out reproduction
  fairfront-reproduce --out reproduction --docs docs";
