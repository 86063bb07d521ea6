use std::path::Path;
use std::process::ExitCode;

use fairfront_data::{Error, Prepared, grammar};
use fairfront_run::{
    FitRequest, Fitted, check_folder, fit, front_table, paper_settings, run_info, write_run,
};
use fairfront_solve::{Settings, StopReason};

use crate::args::{FitArgs, Method, Preset};
use crate::progress::{self, Bar};
use crate::table_args::TableArgs;
use crate::{output, render};

pub(super) fn run(table: &TableArgs, args: &FitArgs) -> anyhow::Result<ExitCode> {
    let out = check_folder(&args.out, args.force)?;
    let args = &args.over(table.with_config()?.fit);
    if let Some(threads) = args.threads {
        if !(1..=1_024).contains(&threads) {
            let message = format!("--threads {threads}: give a number from 1 to 1,024");
            return Err(Error::Usage(message).into());
        }
        // Only the first call of a process can set them; a second front end keeps its own.
        let _ = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global();
    }
    if let Some(seconds) = args.max_seconds
        && !(seconds.is_finite() && seconds > 0.0)
    {
        let message = format!("--max-seconds {seconds}: give a number above 0");
        return Err(Error::Usage(message).into());
    }
    // One method so far; `auto` is it.
    let (Method::Auto | Method::PfSmg) = args.method;
    let paper = args.preset == Some(Preset::Paper);
    let mut bar = Bar::new(args.quiet || args.json, args.max_seconds);
    let prepared = table.prepare_for(paper)?;
    let n_objectives = match args.objective.len() {
        0 => 1 + prepared.attributes.len(),
        n => n,
    };
    let settings = settings(args, &prepared, paper, n_objectives)?;
    let request = FitRequest {
        objectives: args
            .objective
            .iter()
            .map(|o| as_in_paper(o, paper))
            .collect(),
        settings,
    };
    let fitted = fit(&prepared, &request, &mut bar);
    bar.finish();
    let fitted = fitted?;
    write(&out, &prepared, &fitted, &request.settings, args)
}

/// Writes the run and says what there is.
fn write(
    out: &Path,
    prepared: &Prepared,
    fitted: &Fitted,
    settings: &Settings,
    args: &FitArgs,
) -> anyhow::Result<ExitCode> {
    let mut info = run_info(prepared, fitted, settings);
    let front = front_table(fitted);
    let encoding = fitted.encoded.encoding.to_json();
    let place = write_run(out, args.force, &mut info, &front, &encoding)?;
    let shown = if place == *out {
        args.out.as_path()
    } else {
        place.as_path()
    };
    if place != *out {
        let taken = args.out.display();
        output::note(&format!(
            "{taken} was taken meanwhile; the run is in {}\n",
            place.display()
        ));
    }
    if args.json {
        output::print(&format!("{}\n", serde_json::to_string_pretty(&info)?))?;
    } else if !args.quiet {
        output::note(&render::notices(&fitted.notices));
        output::print(&render::fit(shown, &info))?;
        super::show::run(shown, false, false)?;
    }
    let stopped = fitted.outcome.stop == StopReason::Stopped && progress::interrupted();
    Ok(match stopped {
        true => ExitCode::from(130),
        false => ExitCode::SUCCESS,
    })
}

fn settings(
    args: &FitArgs,
    prepared: &Prepared,
    paper: bool,
    n_objectives: usize,
) -> anyhow::Result<Settings> {
    let mut settings = match paper {
        true => paper_settings(&prepared.table.name, n_objectives),
        false => Settings::default(),
    };
    settings.seed = prepared.spec.seed;
    if let Some(points) = args.points {
        settings.most_points = points;
    }
    let mut seen: Vec<&str> = Vec::new();
    for text in &args.set {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Error::Usage(format!("--set {text:?}: expected NAME=VALUE")))?;
        if seen.contains(&name.trim()) {
            return Err(Error::Usage(format!("--set {name} is given twice")).into());
        }
        seen.push(name.trim());
        settings.set(name.trim(), value.trim()).map_err(|error| {
            let known = Settings::NAMES.iter().map(|(name, _)| *name);
            let hint = match known.clone().any(|k| k == name.trim()) {
                true => error.to_string(),
                false => format!(
                    "there is no such setting; {}",
                    fairfront_data::near_names(name, known)
                ),
            };
            Error::Usage(format!("--set {text:?}: {hint}"))
        })?;
    }
    Ok(settings)
}

/// The paper centres with all rows.
fn as_in_paper(objective: &str, paper: bool) -> String {
    let conditioned = ["equal_opportunity", "predictive_equality"];
    match grammar::objective(objective) {
        Ok(call)
            if paper
                && conditioned.contains(&call.name.as_str())
                && !call.settings.iter().any(|(name, _)| name == "center") =>
        {
            match objective.trim_end().strip_suffix(')') {
                Some(start) => format!("{start}, center=all)"),
                None => objective.to_owned(),
            }
        }
        _ => objective.to_owned(),
    }
}
