use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fairfront_core::Workers;
use fairfront_core::meter::{self, Phase};
use fairfront_data::{Error, Facts};
use fairfront_run::{
    Checkpoints, Choice, Demand, Fitted, FrontColumns, Rule, Run, certify_fit, check_folder,
    choose_in_memory, fit_input, fit_source, logged_uses, opening, read_run, write_page, write_run,
};
use fairfront_solve::StopReason;

use crate::args::FitArgs;
use crate::progress::{self, Bar, NoModel, Packing};
use crate::table_args::TableArgs;
use crate::wording::worded;
use crate::{output, render};

/// Time between checkpoints of a resumed fit without `--checkpoint-every`.
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
            let message = format!("{flag} {seconds} is not allowed; choose a number above 0");
            return Err(Error::usage(message).into());
        }
    }
    let demand = args.certify.demand(args.best.as_deref())?;
    if demand.is_none() && !args.certify.require.is_empty() {
        let message = "--confidence none: fit always tests requirements; check them without a test with \
                       fairfront select";
        return Err(Error::usage(message).into());
    }
    let mut place = Place::check(args)?;
    super::set_threads(args.threads)?;
    let mut bar = Bar::new(args.quiet || args.json, args.max_seconds);
    let limit = table.with_config()?.memory_limit()?;
    bar.limit_memory(limit);
    meter::begin(Phase::Reading);
    let paper = args.solver.is_paper();
    let mut packing = Packing::new(args.quiet || args.json, limit, args.work_dir.clone());
    let cluster = args.cluster.cluster()?;
    let mut shared = None;
    let source = progress::while_reading(|| match &cluster {
        None => table.source(paper, &mut packing),
        Some(_) => {
            let shared = shared.insert(table.shared(paper, &mut packing)?);
            Ok(shared.source.clone())
        }
    });
    packing.clear();
    let mut source = source?;
    let facts = source.input.facts.clone();
    bar.limit_memory(source.input.encoded.memory);
    let request = args
        .solver
        .request(&facts.table, &facts.spec, facts.is_number())?;
    if let Some(demand) = &demand {
        demand.check(&facts)?;
    }
    if let Place::Kept(checkpoints) = &mut place {
        if checkpoints.is_finished(&source.input, &request)? {
            return nothing_to_do(args);
        }
        if !args.quiet {
            output::note(&render::diagnostics(checkpoints.diagnostics()));
        }
    }
    if let (Some(cluster), Some(shared)) = (&cluster, &shared) {
        meter::begin(Phase::Distributing);
        let bridge = progress::while_reading(|| cluster.start(&shared.path))?;
        let workers: Arc<dyn Workers> = Arc::new(bridge);
        source.input = source.input.on_workers(&workers);
    }
    // The bridge has opened the block file. Without a name, the file disappears even if this process is killed.
    if cfg!(unix) {
        drop(shared);
        progress::remove_at_signal(None);
    }
    let fitted = loop {
        let checkpoints = place.checkpoints();
        let fitted = match &source.prepared {
            Some(prepared) => fit_source(prepared, &source.input, &request, checkpoints, &mut bar),
            None => fit_input(&source.input, &request, &[], checkpoints, &mut bar),
        };
        match fitted {
            // Rows in memory leave too little room for the fit.
            Err(error) if error.is_memory() && super::can_pack(&source, table) => {
                drop(source);
                source = progress::while_reading(|| table.packed(paper, &mut packing))?;
                packing.clear();
            }
            fitted => break fitted,
        }
    };
    if packing.packed && cluster.is_none() && !args.quiet {
        output::note(
            "note: the rows were packed into a temporary block file, because they need more memory than the limit \
             (--memory); pack them with fairfront pack to reuse the file\n",
        );
    }
    bar.finish();
    meter::begin(Phase::Writing);
    let fitted = match fitted {
        Err(error) if error.is_stopped() => return Err(NoModel::new(args.max_seconds).into()),
        fitted => fitted?,
    };
    let code = write(place, &facts, &fitted, demand.as_ref(), args)?;
    if args.timings {
        meter::end();
        let timings = render::timings(&meter::finished(), progress::peak_bytes());
        output::note(&timings);
    }
    Ok(code)
}

/// The destination of the run.
enum Place {
    /// A folder that appears when the run is complete.
    Plain(PathBuf),
    /// A folder with checkpoints.
    Kept(Box<Checkpoints>),
}

impl Place {
    /// The checkpoints, if there are any.
    fn checkpoints(&mut self) -> Option<&mut Checkpoints> {
        match self {
            Self::Plain(_) => None,
            Self::Kept(checkpoints) => Some(checkpoints),
        }
    }

    /// Checks the destination before any work.
    fn check(args: &FitArgs) -> anyhow::Result<Self> {
        if args.checkpoint_every.is_none() && !args.resume {
            return Ok(Self::Plain(check_folder(&args.out, args.force)?));
        }
        // If the time is too long for a clock, there is only the first checkpoint.
        let every = args.checkpoint_every.map_or(USUAL, |seconds| {
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        });
        let checkpoints = Checkpoints::open(&args.out, every, args.resume, args.force)?;
        Ok(Self::Kept(Box::new(checkpoints)))
    }
}

/// The run is complete. Its report may be missing if the process was killed before it was written.
fn nothing_to_do(args: &FitArgs) -> anyhow::Result<u8> {
    let (info, _) = read_run(&args.out)?;
    if info.models > 0 {
        write_page(&args.out)?;
    }
    if args.json {
        output::print_data(&format!("{}\n", serde_json::to_string_pretty(&info)?))?;
    } else if !args.quiet {
        let run = args.out.display();
        output::note(&format!(
            "the run in {run} is finished; there is nothing to do\n"
        ));
    }
    Ok(0)
}

/// Tests the requirements before anything about the certifying rows is shown, and selects the best
/// certified model.
fn choose(run: &mut Run, demand: &Demand) -> Result<Choice, fairfront_run::Error> {
    let uses = std::mem::take(&mut run.uses);
    certify_fit(run, demand, uses)?;
    choose_in_memory(run, demand, &Rule::Best(demand.best.clone()))
}

/// Writes and prints the run.
fn write(
    place: Place,
    facts: &Facts,
    fitted: &Fitted,
    demand: Option<&Demand>,
    args: &FitArgs,
) -> anyhow::Result<u8> {
    let mut run = Run::of(facts, fitted);
    run.info.diagnostics = worded(&run.info.diagnostics);
    // The log of uses of certifying rows survives the run that is replaced.
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
                    "{taken} was created in the meantime; the run is in {}\n",
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
    // A front without models has no report.
    let page = (info.models > 0).then(|| write_page(&shown));
    let page = page.transpose()?;
    if args.json {
        output::print_data(&format!("{}\n", serde_json::to_string_pretty(info)?))?;
    } else if !args.quiet {
        output::note(&render::diagnostics(&fitted.diagnostics));
        output::note(&render::diagnostics(&later));
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
    // The run is written, but no model meets the requirement.
    if let Some(Err(error)) = choice {
        return Err(error.into());
    }
    let stopped = fitted.outcome.stop == StopReason::Stopped && progress::interrupted();
    Ok(match stopped {
        true => 130,
        false => 0,
    })
}
