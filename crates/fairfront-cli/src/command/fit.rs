use std::path::Path;
use std::process::ExitCode;

use fairfront_data::{Error, Prepared};
use fairfront_run::{Fitted, check_folder, fit, front_table, run_info, write_run};
use fairfront_solve::StopReason;

use crate::args::FitArgs;
use crate::progress::{self, Bar};
use crate::table_args::TableArgs;
use crate::{output, render};

pub(super) fn run(table: &TableArgs, args: &FitArgs) -> anyhow::Result<ExitCode> {
    let out = check_folder(&args.out, args.force)?;
    let args = &args.over(table.with_config()?.fit);
    super::set_threads(args.threads)?;
    if let Some(seconds) = args.max_seconds
        && !(seconds.is_finite() && seconds > 0.0)
    {
        let message = format!("--max-seconds {seconds}: give a number above 0");
        return Err(Error::Usage(message).into());
    }
    let mut bar = Bar::new(args.quiet || args.json, args.max_seconds);
    let prepared = table.prepare_for(args.solver.is_paper())?;
    let request = args.solver.request(&prepared.table.name, &prepared.spec)?;
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
