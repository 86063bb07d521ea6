use std::io::Write;

use fairfront_data::{Error, Ordered};
use fairfront_run::{Grid, Trial, TrialEnd, TuneWatcher, Tuning, tune};
use fairfront_solve::Observer;
use serde::Serialize;

use crate::args::TuneArgs;
use crate::output::Target;
use crate::progress::{self, Bar, Packing};
use crate::solver_args::{PenaltyValue, SolverArgs};
use crate::table_args::TableArgs;
use crate::wording::{Flags, worded};
use crate::{output, render, word};

/// The run folder of the command that uses the chosen settings.
const OUT: &str = "tuned";

pub(super) fn run(table: &TableArgs, args: &TuneArgs) -> anyhow::Result<u8> {
    let solver = args.solver.over(table.with_config()?.fit.into());
    if let Some(seconds) = args.max_seconds
        && !(seconds.is_finite() && seconds > 0.0)
    {
        let message = format!("--max-seconds {seconds} is not allowed; choose a number above 0");
        return Err(Error::usage(message).into());
    }
    let mut grid = Grid::parse(&args.tries)?;
    let csv = args.csv.as_ref().map(|path| Target::check(path));
    let csv = csv.transpose()?;
    if let Some(target) = &csv {
        check_csv(target, table, args)?;
    }
    super::set_threads(args.threads)?;
    let mut bar = Bar::new(args.quiet || args.json, args.max_seconds);
    let limit = table.with_config()?.memory_limit()?;
    bar.limit_memory(limit);
    let mut packing = Packing::new(args.quiet || args.json, limit, None);
    let source = progress::while_reading(|| table.source(solver.is_paper(), &mut packing));
    packing.clear();
    let mut source = source?;
    bar.limit_memory(source.input.encoded.memory);
    let ask = solver.ask(&source.input.facts.spec)?;
    grid.most = args.most;
    let mut tuning = tune(&source.input, &ask, &grid, &mut bar);
    // Rows in memory leave too little room for the fits.
    if tuning.as_ref().is_err_and(fairfront_run::Error::is_memory)
        && super::can_pack(&source, table)
    {
        drop(source);
        let paper = solver.is_paper();
        source = progress::while_reading(|| table.packed(paper, &mut packing))?;
        packing.clear();
        tuning = tune(&source.input, &ask, &grid, &mut bar);
    }
    bar.finish();
    let mut tuning = tuning?;
    tuning.diagnostics = worded(&tuning.diagnostics);
    let command = match tuning.best() {
        Some((trial, _)) => Some(fit_command(table, &solver, &trial.settings)?),
        None => None,
    };
    if let Some(target) = &csv {
        target.write_by(|out| write_csv(out, &tuning))?;
    }
    if args.json {
        let found = Found {
            tuning: &tuning,
            command: command.as_deref(),
        };
        output::print_data(&format!("{}\n", serde_json::to_string_pretty(&found)?))?;
    } else if csv != Some(Target::Stdout) {
        output::note(&render::diagnostics(&tuning.diagnostics));
        output::print(&render::tuning(&tuning, command.as_deref()))?;
    }
    if progress::interrupted() && tuning.is_stopped() {
        return Ok(130);
    }
    if tuning.best().is_none() {
        return Err(nothing_found(&tuning));
    }
    Ok(0)
}

/// Checks before any work that no file is overwritten by accident, and that standard output is used once.
fn check_csv(target: &Target, table: &TableArgs, args: &TuneArgs) -> anyhow::Result<()> {
    if *target == Target::Stdout && args.json {
        let message = "--json and --csv - both write to standard output; choose a file for --csv";
        return Err(Error::usage(message).into());
    }
    if let Target::File(path) = target
        && table.reads(path)?
    {
        anyhow::bail!("{}: is the input; choose another file", path.display());
    }
    target.check_free(args.force)
}

/// The error if no trial has a front.
fn nothing_found(tuning: &Tuning) -> anyhow::Error {
    let mut reasons = tuning.trials.iter().filter_map(|trial| match &trial.end {
        TrialEnd::Failed { reason, .. } => Some(reason.render(&Flags)),
        TrialEnd::Done(_) | TrialEnd::NotRun => None,
    });
    match reasons.next_back() {
        Some(reason) => anyhow::anyhow!("no trial has a front; the last one failed: {reason}"),
        None => anyhow::anyhow!("no trial finished; increase --max-seconds"),
    }
}

/// The output of `--json`.
#[derive(Serialize)]
struct Found<'a> {
    #[serde(flatten)]
    tuning: &'a Tuning,
    /// The arguments of the command that uses the chosen settings.
    command: Option<&'a [String]>,
}

/// `fairfront fit` with the flags of this call and the chosen settings.
fn fit_command(
    table: &TableArgs,
    solver: &SolverArgs,
    chosen: &Ordered<String>,
) -> anyhow::Result<Vec<String>> {
    let mut words = ["fairfront", "fit"].map(String::from).to_vec();
    words.extend(word::of_args(table)?);
    if let Some(path) = table.config() {
        word::flag(&mut words, "config", &path.display().to_string());
    }
    let mut solver = solver.clone();
    for (name, value) in &chosen.0 {
        match name.as_str() {
            "penalty" => solver.penalty = Some(PenaltyValue::Text(value.clone())),
            _ => solver.set.push(format!("{name}={value}")),
        }
    }
    words.extend(word::of_args(&solver)?);
    word::flag(&mut words, "out", OUT);
    Ok(words)
}

/// Writes one row per trial.
fn write_csv(out: &mut dyn Write, tuning: &Tuning) -> anyhow::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let names = tuning
        .tried
        .iter()
        .map(|axis| format!("settings.{}", axis.name));
    let header = std::iter::once("run".to_owned()).chain(names).chain(
        [
            "status",
            &tuning.performance,
            "hypervolume",
            "models",
            "seconds",
            "chosen",
            "reason",
        ]
        .map(String::from),
    );
    writer.write_record(header)?;
    for (i, trial) in tuning.trials.iter().enumerate() {
        let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let score = trial.end.score();
        let (status, seconds, reason) = match &trial.end {
            TrialEnd::Done(score) => ("done", Some(score.seconds), String::new()),
            TrialEnd::Failed { reason, seconds } => {
                ("failed", Some(*seconds), reason.render(&Flags))
            }
            TrialEnd::NotRun => ("not-run", None, String::new()),
        };
        let values = trial.settings.0.iter().map(|(_, value)| value.clone());
        let found = [
            status.to_owned(),
            text(score.map(|score| score.performance)),
            text(score.and_then(|score| score.hypervolume)),
            score.map_or_else(String::new, |score| score.models.to_string()),
            text(seconds),
            (tuning.chosen == Some(i)).to_string(),
            reason,
        ];
        let run = std::iter::once((i + 1).to_string());
        writer.write_record(run.chain(values).chain(found))?;
    }
    writer.flush()?;
    Ok(())
}

impl TuneWatcher for Bar {
    fn observer(&mut self) -> &mut dyn Observer {
        self
    }

    fn begins(&mut self, run: usize, runs: usize, settings: &Ordered<String>) {
        let settings = settings.0.iter();
        let settings: Vec<String> = settings.map(|(n, v)| format!("{n}={v}")).collect();
        let name = format!("trial {} of {runs} ({})", run + 1, settings.join(" "));
        self.begin(name, run, runs);
    }

    fn ended(&mut self, _trial: &Trial) {}
}
