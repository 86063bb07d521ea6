use std::path::PathBuf;
use std::time::Duration;

use fairfront_data::{Error, Prepared};
use fairfront_run::{
    Checkpoints, Choice, Demand, Fitted, FrontColumns, Rule, Run, certify_fit, check_folder,
    choose_in_memory, fit, fit_with_checkpoints, logged_uses, opening, read_run, write_page,
    write_run,
};
use fairfront_solve::StopReason;

use crate::args::FitArgs;
use crate::progress::{self, Bar, NoModel};
use crate::table_args::TableArgs;
use crate::wording::worded;
use crate::{output, render};

/// Between checkpoints where a fit is gone on with and nothing else is said.
const USUAL: Duration = Duration::from_secs(60);

pub(super) fn run(table: &TableArgs, args: &FitArgs) -> anyhow::Result<u8> {
    let args = &args.over(table.with_config()?.fit);
    for (flag, value) in [
        ("--max-seconds", args.max_seconds),
        ("--checkpoint-every", args.checkpoint_every),
    ] {
        if let Some(seconds) = value
            && !(seconds.is_finite() && seconds > 0.0)
        {
            let message = format!("{flag} {seconds}: give a number above 0");
            return Err(Error::usage(message).into());
        }
    }
    let demand = args.certify.demand(args.best.as_deref())?;
    if demand.is_none() && !args.certify.require.is_empty() {
        let message = "--confidence none: fit tests requirements; state those that need no test with \
                       fairfront select";
        return Err(Error::usage(message).into());
    }
    let mut place = Place::check(args)?;
    super::set_threads(args.threads)?;
    let mut bar = Bar::new(args.quiet || args.json, args.max_seconds);
    let prepared = progress::while_reading(|| table.prepare_for(args.solver.is_paper()))?;
    let request = args.solver.request(&prepared.table.name, &prepared.spec)?;
    if let Some(demand) = &demand {
        demand.check(&prepared)?;
    }
    let fitted = match &mut place {
        Place::Plain(_) => fit(&prepared, &request, &mut bar),
        Place::Kept(checkpoints) => {
            if checkpoints.is_finished(&prepared, &request)? {
                return nothing_to_do(args);
            }
            if !args.quiet {
                output::note(&render::notices(checkpoints.notices()));
            }
            fit_with_checkpoints(&prepared, &request, checkpoints, &mut bar)
        }
    };
    bar.finish();
    let fitted = match fitted {
        Err(error) if error.is_stopped() => return Err(NoModel::new(args.max_seconds).into()),
        fitted => fitted?,
    };
    write(place, &prepared, &fitted, demand.as_ref(), args)
}

/// Where the run goes.
enum Place {
    /// A folder that appears when the run is complete.
    Plain(PathBuf),
    /// A folder with checkpoints.
    Kept(Box<Checkpoints>),
}

impl Place {
    /// Before any work.
    fn check(args: &FitArgs) -> anyhow::Result<Self> {
        if args.checkpoint_every.is_none() && !args.resume {
            return Ok(Self::Plain(check_folder(&args.out, args.force)?));
        }
        // Beyond what a clock can say there is none but the first.
        let every = args.checkpoint_every.map_or(USUAL, |seconds| {
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        });
        let checkpoints = Checkpoints::open(&args.out, every, args.resume, args.force)?;
        Ok(Self::Kept(Box::new(checkpoints)))
    }
}

/// The run that was asked for is there; its page may not be, where a kill came between them.
fn nothing_to_do(args: &FitArgs) -> anyhow::Result<u8> {
    let (info, _) = read_run(&args.out)?;
    if info.points > 0 {
        write_page(&args.out)?;
    }
    if args.json {
        output::print_data(&format!("{}\n", serde_json::to_string_pretty(&info)?))?;
    } else if !args.quiet {
        let run = args.out.display();
        output::note(&format!("the run in {run} is finished: nothing to do\n"));
    }
    Ok(0)
}

/// Tests the requirements before anything about the certifying rows is shown, and takes the best of the
/// certified models.
fn choose(run: &mut Run, demand: &Demand) -> Result<Choice, fairfront_run::Error> {
    let uses = std::mem::take(&mut run.uses);
    certify_fit(run, demand, uses)?;
    choose_in_memory(run, demand, &Rule::Best(demand.best.clone()))
}

/// Writes the run and says what there is.
fn write(
    place: Place,
    prepared: &Prepared,
    fitted: &Fitted,
    demand: Option<&Demand>,
    args: &FitArgs,
) -> anyhow::Result<u8> {
    let mut run = Run::of(prepared, fitted);
    run.info.notices = worded(&run.info.notices);
    // Uses of certifying rows outlive the run that they were made with.
    run.uses = logged_uses(&args.out)?;
    let choice = demand.map(|demand| choose(&mut run, demand));
    let mut shown = args.out.clone();
    let mut later = Vec::new();
    match place {
        Place::Plain(out) => {
            let place = write_run(&out, args.force, &mut run)?;
            if place != out {
                let taken = args.out.display();
                output::note(&format!(
                    "{taken} was taken meanwhile; the run is in {}\n",
                    place.display()
                ));
                shown = place;
            }
        }
        Place::Kept(checkpoints) => {
            later = checkpoints.notices_of_work().to_vec();
            checkpoints.place(&mut run)?;
        }
    }
    let info = &run.info;
    // A front without points has nothing to choose from.
    let page = (info.points > 0).then(|| write_page(&shown));
    let page = page.transpose()?;
    if args.json {
        output::print_data(&format!("{}\n", serde_json::to_string_pretty(info)?))?;
    } else if !args.quiet {
        output::note(&render::notices(&fitted.notices));
        output::note(&render::notices(&later));
        output::print(&render::fit(&shown, info))?;
        if let Some(Ok(choice)) = &choice {
            output::print(&format!("{}\n", render::requirement(choice)))?;
        }
        super::show::run(&shown, false, false, false)?;
        if let Some(page) = page {
            let front = FrontColumns::of(info, &run.front);
            let start = opening(&front)?;
            output::print(&render::opening(&page, &front, &start))?;
        }
    }
    // The run is there; only the requirement has no model.
    if let Some(Err(error)) = choice {
        return Err(error.into());
    }
    let stopped = fitted.outcome.stop == StopReason::Stopped && progress::interrupted();
    Ok(match stopped {
        true => 130,
        false => 0,
    })
}
