//! One file a command.

mod compare;
mod data;
mod demo;
mod export;
mod fit;
mod inspect;
mod predict;
mod report;
mod select;
mod show;
mod verify;

use std::process::ExitCode;

use crate::args::Command;

pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo { out } => return demo::run(&out),
        Command::Fit { table, fit } => return fit::run(&table, &fit),
        Command::Inspect { table, json } => inspect::run(&table, json)?,
        Command::Show { run, csv, json } => show::run(&run, csv, json)?,
        Command::Select(args) => select::run(&args)?,
        Command::Report(args) => report::run(&args)?,
        Command::Compare(args) => compare::run(&args)?,
        Command::Verify(args) => return verify::run(&args),
        Command::Export(args) => export::run(&args)?,
        Command::Predict(args) => predict::run(&args)?,
        Command::Data { command } => data::run(command)?,
    }
    Ok(ExitCode::SUCCESS)
}
