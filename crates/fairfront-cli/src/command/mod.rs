//! The commands, one file each.

mod audit;
mod compare;
mod data;
mod demo;
mod export;
mod fit;
mod inspect;
mod lda;
mod pack;
mod predict;
mod report;
mod select;
mod show;
mod stream;
mod tune;
mod verify;

use std::path::Path;

use fairfront_data::{Error, Prepared, Source};

use crate::args::Command;
use crate::table_args::TableArgs;

pub(crate) fn run(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Demo { out } => return demo::run(&out),
        Command::Fit { table, fit } => return fit::run(&table, &fit),
        Command::Pack { table, pack } => pack::run(&table, &pack)?,
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
        Command::Lda(args) => lda::run(&args)?,
        Command::Export(args) => export::run(&args)?,
        Command::Audit(args) => audit::run(&args)?,
        Command::Predict(args) => predict::run(&args)?,
        Command::Data { command } => data::run(command)?,
    }
    Ok(0)
}

/// Warns if an older generation is read because the newest one is corrupted.
fn warn_if_corrupted(folder: &Path) {
    let diagnostics = fairfront_run::state_diagnostics(folder);
    crate::output::note(&crate::render::diagnostics(&diagnostics));
}

/// Whether rows in memory can be packed: they come from files that can be read again.
fn can_pack(source: &Source, table: &TableArgs) -> bool {
    let is_file = |prepared: &Prepared| prepared.read.is_some();
    source.prepared.as_ref().is_some_and(is_file) && !table.files().iter().any(|file| file == "-")
}

/// Sets the number of threads, if it is given.
fn set_threads(threads: Option<usize>) -> Result<(), Error> {
    let Some(threads) = threads else {
        return Ok(());
    };
    if !(1..=1_024).contains(&threads) {
        let message =
            format!("--threads {threads} is out of range; choose a number from 1 to 1,024");
        return Err(Error::usage(message));
    }
    // Only the first call of a process can set the number; later calls keep it.
    let _ = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global();
    Ok(())
}
