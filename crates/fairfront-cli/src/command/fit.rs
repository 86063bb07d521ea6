use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use fairfront_data::{Error, Prepared, grammar};
use fairfront_run::{
    FitRequest, Fitted, FrontIn, MethodChoice, check_folder, default_objectives, fit, front_table,
    paper_eps_fair, paper_pf_smg, run_info, write_run,
};
use fairfront_solve::{EpsFair, Method, PfSmg, Polish, StopReason, Trace, Weighted};

use crate::args::{FitArgs, FrontInName, MethodName, Preset};
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
    let methods = methods(args, &prepared, paper, n_objectives)?;
    let needs_covariances =
        |c: &MethodChoice| matches!(c.method, Method::Trace(_) | Method::EpsFair(_));
    let objectives = match args.objective.is_empty() {
        true => default_objectives(&prepared, paper || methods.iter().all(needs_covariances)),
        false => args.objective.clone(),
    };
    let request = FitRequest {
        methods,
        objectives: objectives.iter().map(|o| as_in_paper(o, paper)).collect(),
        front_in: args.front_in.map(|name| match name {
            FrontInName::Objectives => FrontIn::Objectives,
            FrontInName::Measures => FrontIn::Measures,
        }),
    };
    let fitted = fit(&prepared, &request, &mut bar);
    bar.finish();
    let fitted = fitted?;
    write(&out, &prepared, &fitted, args)
}

/// Writes the run and says what there is.
fn write(
    out: &Path,
    prepared: &Prepared,
    fitted: &Fitted,
    args: &FitArgs,
) -> anyhow::Result<ExitCode> {
    let mut info = run_info(prepared, fitted);
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
    // A front without points has nothing to choose from.
    let page = (info.points > 0).then(|| super::report::write(shown));
    let page = page.transpose()?;
    if args.json {
        output::print(&format!("{}\n", serde_json::to_string_pretty(&info)?))?;
    } else if !args.quiet {
        output::note(&render::notices(&fitted.notices));
        output::print(&render::fit(shown, &info))?;
        super::show::run(shown, false, false)?;
        if let Some(page) = page {
            let page = page.display();
            output::print(&format!("\nTo choose a model, open {page} in a browser.\n"))?;
        }
    }
    let stopped = fitted.outcome.stop == StopReason::Stopped && progress::interrupted();
    Ok(match stopped {
        true => ExitCode::from(130),
        false => ExitCode::SUCCESS,
    })
}

/// The solvers that may be used: the one that was named, or those that are tried in turn.
fn methods(
    args: &FitArgs,
    prepared: &Prepared,
    paper: bool,
    n_objectives: usize,
) -> anyhow::Result<Vec<MethodChoice>> {
    let source = &prepared.table.name;
    let pf_smg = || match paper {
        true => Method::PfSmg(paper_pf_smg(source, n_objectives)),
        false => Method::PfSmg(PfSmg::default()),
    };
    let asked = args.polish.then(Polish::default);
    let candidate = |method| MethodChoice {
        method,
        polish: asked.clone(),
    };
    let mut candidates = match args.method.unwrap_or_default() {
        MethodName::Auto if !paper => {
            let polished = MethodChoice {
                method: pf_smg(),
                polish: Some(Polish::default()),
            };
            vec![
                candidate(Method::Trace(Trace::default())),
                candidate(Method::Weighted(Weighted::default())),
                polished,
            ]
        }
        MethodName::Auto | MethodName::PfSmg => vec![candidate(pf_smg())],
        MethodName::EpsFair => vec![candidate(Method::EpsFair(match paper {
            true => paper_eps_fair(source),
            false => EpsFair::default(),
        }))],
        MethodName::Trace if paper => {
            let message = "the paper has no method trace; leave out --preset or --method";
            return Err(Error::Usage(message.into()).into());
        }
        MethodName::Weighted if paper => {
            let message = "the paper has no method weighted; leave out --preset or --method";
            return Err(Error::Usage(message.into()).into());
        }
        MethodName::Weighted => vec![candidate(Method::Weighted(Weighted::default()))],
        MethodName::Trace => vec![candidate(Method::Trace(Trace::default()))],
    };
    let settings = settings(&args.set)?;
    // Settings that only some of several know choose among these.
    if candidates.len() > 1 && !settings.is_empty() {
        let knows_all = |c: &MethodChoice| {
            let knows = |name: &str| c.method.names().iter().any(|(known, _)| *known == name);
            settings.iter().all(|(name, _)| knows(name))
        };
        match candidates.iter().any(knows_all) {
            true => candidates.retain(knows_all),
            false => {
                let names = candidates.iter().flat_map(|c| c.method.names());
                let known: BTreeSet<&str> = names.map(|(name, _)| *name).collect();
                let unknown = settings.iter().find(|(name, _)| !known.contains(name));
                let of_eps_fair = |name: &str| EpsFair::NAMES.iter().any(|(n, _)| *n == name);
                let message = match unknown {
                    Some((name, value)) if of_eps_fair(name) => format!(
                        "--set \"{name}={value}\": this is a setting of eps-fair; add --method eps-fair"
                    ),
                    Some((name, value)) => format!(
                        "--set \"{name}={value}\": there is no such setting; {}",
                        fairfront_data::near_names(name, known)
                    ),
                    None => {
                        "--set: these are settings of different solvers; name one with --method"
                            .into()
                    }
                };
                return Err(Error::Usage(message).into());
            }
        }
    }
    for candidate in &mut candidates {
        let method = &mut candidate.method;
        method.set_seed(prepared.spec.seed);
        if let Some(points) = args.points {
            method.set_points(points);
        }
        for (name, value) in &settings {
            let (known, of) = (method.names(), method.name());
            method.set(name, value).map_err(|error| {
                let known = known.iter().map(|(name, _)| *name);
                let hint = match known.clone().any(|k| k == *name) {
                    true => error.to_string(),
                    false => format!(
                        "there is no such setting of {of}; {}",
                        fairfront_data::near_names(name, known)
                    ),
                };
                Error::Usage(format!("--set \"{name}={value}\": {hint}"))
            })?;
        }
    }
    Ok(candidates)
}

/// `--set` as names and values.
fn settings(set: &[String]) -> anyhow::Result<Vec<(&str, &str)>> {
    let mut settings: Vec<(&str, &str)> = Vec::new();
    for text in set {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Error::Usage(format!("--set {text:?}: expected NAME=VALUE")))?;
        let (name, value) = (name.trim(), value.trim());
        if settings.iter().any(|(other, _)| *other == name) {
            return Err(Error::Usage(format!("--set {name} is given twice")).into());
        }
        settings.push((name, value));
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
