//! Parses the settings in arguments and TOML files without reading any data.

use std::ffi::OsString;

use clap::Parser;
use fairfront_data::{Error, Known};
use fairfront_run::{Grid, Requirement, weights};

use crate::args::{Cli, Command, FitArgs};
use crate::table_args::TableArgs;

/// Describes the settings in these arguments, of which the first is the name of the program. Equal
/// settings have equal descriptions.
pub fn of_arguments(args: impl IntoIterator<Item = OsString>) -> Result<String, String> {
    let cli = Cli::try_parse_from(args).map_err(|error| error.to_string())?;
    described(&cli.command).map_err(|error| error.to_string())
}

/// A TOML file as this program would write it, without the keys that the file does not set.
pub fn of_toml(text: &str) -> Result<String, String> {
    let args = TableArgs::from_toml(std::path::Path::new("settings.toml"), text);
    let args = args.map_err(|error| error.to_string())?;
    toml::to_string(&args).map_err(|error| error.to_string())
}

fn described(command: &Command) -> anyhow::Result<String> {
    Ok(match command {
        Command::Fit { table, fit } => of_fit(table, fit)?,
        Command::Tune { table, tune } => {
            let grid = Grid::parse(&tune.tries)?;
            let solver = tune.solver.over(table.with_config()?.fit.into());
            format!("{grid:?} {:?} {solver:?}", grid.n_combinations())
        }
        Command::Select(args) => {
            let require = args.certify.require.iter();
            let require = require.map(|text| Requirement::parse(text));
            let require = require.collect::<Result<Vec<_>, _>>()?;
            let demand = args.certify.demand(args.best.as_deref())?;
            let weights = args.weights.as_deref().map(weights).transpose()?;
            format!("{require:?} {demand:?} {weights:?} {args:?}")
        }
        other => format!("{other:?}"),
    })
}

fn of_fit(table: &TableArgs, fit: &FitArgs) -> anyhow::Result<String> {
    let table = table.with_config()?;
    let fit = fit.over(table.fit.clone());
    let first = table.files().first();
    let first =
        first.ok_or_else(|| Error::Usage("no input; pass a file or a known data set".into()))?;
    let known = Known::parse(first)?;
    let (spec, options) = table.settings(known.as_ref(), fit.solver.is_paper())?;
    spec.check()?;
    let request = fit.solver.request(first, &spec, spec.numeric)?;
    let demand = fit.certify.demand(fit.best.as_deref())?;
    let limits = (fit.max_seconds, fit.checkpoint_every, fit.threads);
    let files = table.files();
    Ok(format!(
        "{files:?} {spec:?} {options:?} {request:?} {demand:?} {limits:?}"
    ))
}
