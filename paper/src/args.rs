//! The command line.

use std::path::PathBuf;

use clap::Parser;
use fairfront_reproduce::Experiment;

/// Run the paper's experiments again, and say which of its claims hold
#[derive(Debug, Parser)]
#[command(name = "fairfront-reproduce", version, long_about = about(), after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which experiments; all whose data are at hand where none is named
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiments: Vec<String>,
    /// Folder of runs, figures, tables and the page; what is done there is not done again
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    pub(crate) out: PathBuf,
    /// Small budgets: the same way in minutes, with numbers that mean little
    #[arg(long)]
    pub(crate) quick: bool,
    /// Write the page and its figures into this folder of documentation too
    #[arg(long, value_name = "DIR")]
    pub(crate) docs: Option<PathBuf>,
    /// Pieces of work at a time, each on one thread [default: one per core]; results do not depend on it
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// No progress
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The long help.
fn about() -> String {
    let names = Experiment::ALL.map(|one| format!("  {:<22}{}", one.name(), one.about()));
    format!(
        "\
Run the paper's experiments again, and say which of its claims hold

Each experiment is a figure or a table of Liu and Vicente, with the paper's settings, and once more
with ours beside it. Runs, figures (SVG), numbers (CSV, JSON) and a page of claims and verdicts
(reproduction.md) are written to --out. Stopped or killed, the same command goes on where it was.

{}

Adult and COMPAS are found as `fairfront data list` says; `fairfront data get` downloads them.",
        names.join("\n")
    )
}

const EXAMPLES: &str = "\
Examples:
  fairfront-reproduce --quick --out try
  fairfront-reproduce adult-gender profiles --out reproduction
  fairfront-reproduce --out reproduction --docs docs";
