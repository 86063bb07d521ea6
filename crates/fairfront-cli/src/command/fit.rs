use std::path::PathBuf;
use std::time::Duration;

use fairfront_data::{Error, Prepared};
use fairfront_run::{
    Checkpoints, Fitted, check_folder, fit, fit_with_checkpoints, front_table, read_run, run_info,
    write_page, write_run,
};
use fairfront_solve::StopReason;

use crate::args::FitArgs;
use crate::progress::{self, Bar};
use crate::table_args::TableArgs;
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
            return Err(Error::Usage(message).into());
        }
    }
    let mut place = Place::check(args)?;
    super::set_threads(args.threads)?;
    let mut bar = Bar::new(args.quiet || args.json, args.max_seconds);
    let prepared = table.prepare_for(args.solver.is_paper())?;
    let request = args.solver.request(&prepared.table.name, &prepared.spec)?;
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
    let fitted = fitted?;
    write(place, &prepared, &fitted, args)
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
        output::print(&format!("{}\n", serde_json::to_string_pretty(&info)?))?;
    } else if !args.quiet {
        let run = args.out.display();
        output::note(&format!("the run in {run} is finished: nothing to do\n"));
    }
    Ok(0)
}

/// Writes the run and says what there is.
fn write(place: Place, prepared: &Prepared, fitted: &Fitted, args: &FitArgs) -> anyhow::Result<u8> {
    let mut info = run_info(prepared, fitted);
    let front = front_table(fitted);
    let encoding = fitted.encoded.encoding.to_json();
    let mut shown = args.out.clone();
    let mut later = Vec::new();
    match place {
        Place::Plain(out) => {
            let place = write_run(&out, args.force, &mut info, &front, &encoding)?;
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
            checkpoints.place(&mut info, &front, &encoding)?;
        }
    }
    // A front without points has nothing to choose from.
    let page = (info.points > 0).then(|| write_page(&shown));
    let page = page.transpose()?;
    if args.json {
        output::print(&format!("{}\n", serde_json::to_string_pretty(&info)?))?;
    } else if !args.quiet {
        output::note(&render::notices(&fitted.notices));
        output::note(&render::notices(&later));
        output::print(&render::fit(&shown, &info))?;
        super::show::run(&shown, false, false, false)?;
        if let Some(page) = page {
            let page = page.display();
            output::print(&format!("\nTo choose a model, open {page} in a browser.\n"))?;
        }
    }
    let stopped = fitted.outcome.stop == StopReason::Stopped && progress::interrupted();
    Ok(match stopped {
        true => 130,
        false => 0,
    })
}
