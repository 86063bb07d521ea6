use std::path::Path;
use std::process::ExitCode;

use fairfront_data::{Error, Prepared, grammar};
use fairfront_run::{
    FitRequest, Fitted, check_folder, fit, front_table, paper_eps_fair, paper_pf_smg, run_info,
    write_run,
};
use fairfront_solve::{EpsFair, Method, PfSmg, Polish, StopReason};

use crate::args::{FitArgs, MethodName, Preset};
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
    let paper = args.preset == Some(Preset::Paper);
    let mut bar = Bar::new(args.quiet || args.json, args.max_seconds);
    let prepared = table.prepare_for(paper)?;
    let n_objectives = match args.objective.len() {
        0 => 1 + prepared.attributes.len(),
        n => n,
    };
    let method = method(args, &prepared, paper, n_objectives)?;
    let request = FitRequest {
        objectives: args
            .objective
            .iter()
            .map(|o| as_in_paper(o, paper))
            .collect(),
        method,
        polish: args.polish.then(Polish::default),
    };
    let fitted = fit(&prepared, &request, &mut bar);
    bar.finish();
    let fitted = fitted?;
    write(&out, &prepared, &fitted, &request.method, args)
}

/// Writes the run and says what there is.
fn write(
    out: &Path,
    prepared: &Prepared,
    fitted: &Fitted,
    method: &Method,
    args: &FitArgs,
) -> anyhow::Result<ExitCode> {
    let mut info = run_info(prepared, fitted, method);
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

/// The solver with its settings: the preset's or ours, changed by flags.
fn method(
    args: &FitArgs,
    prepared: &Prepared,
    paper: bool,
    n_objectives: usize,
) -> anyhow::Result<Method> {
    let source = &prepared.table.name;
    let mut method = match (args.method.unwrap_or_default(), paper) {
        (MethodName::Auto | MethodName::PfSmg, false) => Method::PfSmg(PfSmg::default()),
        (MethodName::Auto | MethodName::PfSmg, true) => {
            Method::PfSmg(paper_pf_smg(source, n_objectives))
        }
        (MethodName::EpsFair, false) => Method::EpsFair(EpsFair::default()),
        (MethodName::EpsFair, true) => Method::EpsFair(paper_eps_fair(source)),
    };
    method.set_seed(prepared.spec.seed);
    if let Some(points) = args.points {
        method.set_points(points);
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
        let (known, of) = (method.names(), method.name());
        method.set(name.trim(), value.trim()).map_err(|error| {
            let known = known.iter().map(|(name, _)| *name);
            let hint = match known.clone().any(|k| k == name.trim()) {
                true => error.to_string(),
                false => format!(
                    "there is no such setting of {of}; {}",
                    fairfront_data::near_names(name, known)
                ),
            };
            Error::Usage(format!("--set {text:?}: {hint}"))
        })?;
    }
    Ok(method)
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
