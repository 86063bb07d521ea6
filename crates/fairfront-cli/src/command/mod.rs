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
mod stream;
mod tune;
mod verify;

use std::path::Path;

use fairfront_data::Error;

use crate::args::Command;

pub(crate) fn run(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Demo { out } => return demo::run(&out),
        Command::Fit { table, fit } => return fit::run(&table, &fit),
        Command::Tune { table, tune } => return tune::run(&table, &tune),
        Command::Inspect { table, json } => inspect::run(&table, json)?,
        Command::Stream {
            state,
            table,
            stream,
        } => return stream::run(&state, &table, &stream),
        Command::Show {
            run,
            csv,
            json,
            ascii,
        } => show::run(&run, csv, json, ascii)?,
        Command::Select(args) => select::run(&args)?,
        Command::Report(args) => report::run(&args)?,
        Command::Compare(args) => compare::run(&args)?,
        Command::Verify(args) => return verify::run(&args),
        Command::Export(args) => export::run(&args)?,
        Command::Predict(args) => predict::run(&args)?,
        Command::Data { command } => data::run(command)?,
    }
    Ok(0)
}

/// Says where something older is read because what is newer is damaged.
fn say_damage(folder: &Path) {
    let notices = fairfront_run::state_notices(folder);
    crate::output::note(&crate::render::notices(&notices));
}

/// Sets how many threads work, where that is said.
fn set_threads(threads: Option<usize>) -> Result<(), Error> {
    let Some(threads) = threads else {
        return Ok(());
    };
    if !(1..=1_024).contains(&threads) {
        let message = format!("--threads {threads}: give a number from 1 to 1,024");
        return Err(Error::usage(message));
    }
    // Only the first call of a process can set them; a second front end keeps its own.
    let _ = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global();
    Ok(())
}
