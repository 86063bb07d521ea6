//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::table_args::TableArgs;

/// All worthwhile compromises between accuracy and fairness, from a table to a chosen model.
#[derive(Debug, Parser)]
#[command(
    name = "fairfront",
    version,
    max_term_width = 100,
    subcommand_required = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make the built-in demo table and look at it
    Demo,
    /// Show what is in a table: types, missing values, groups, base rates, proxies
    ///
    /// Name a file (CSV, CSV.gz or Parquet; several with the same columns; - for standard input)
    /// or a known data set (see `fairfront data list`). Without --target and --sensitive the
    /// columns are shown; with them the target's balance, the groups and what to be wary of.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect {
        #[command(flatten)]
        table: Box<TableArgs>,
        /// Print JSON instead of tables
        #[arg(long)]
        json: bool,
    },
    /// The known data sets, and prepared rows for other tools
    Data {
        #[command(subcommand)]
        command: DataCommand,
    },
}

const INSPECT_EXAMPLES: &str = "\
Examples:
  fairfront inspect loans.csv
  fairfront inspect loans.csv --target approved --positive yes --sensitive sex --sensitive race
  fairfront inspect loans.parquet --target approved --sensitive age --bins age=25,45 --json
  fairfront inspect adult:race";

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the known data sets, and whether their files are there
    List {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Print the path of each published file of a known data set, after checking it
    Path {
        /// Name of the data set
        name: String,
    },
    /// Write the prepared rows with a `split` column, so that other tools see the same rows
    Export {
        #[command(flatten)]
        table: Box<TableArgs>,
        /// Where to write: a CSV file, or - for standard output
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Write the features as encoded (scaled, one-hot) rather than the columns as read
        #[arg(long)]
        encoded: bool,
        /// Write the fitted encoding as JSON too
        #[arg(long, value_name = "FILE")]
        encoding: Option<PathBuf>,
    },
}
