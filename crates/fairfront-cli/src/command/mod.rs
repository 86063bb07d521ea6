//! One file a command.

mod data;
mod demo;
mod inspect;

use crate::args::Command;

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Demo => demo::run(),
        Command::Inspect { table, json } => inspect::run(&table, json),
        Command::Data { command } => data::run(command),
    }
}
