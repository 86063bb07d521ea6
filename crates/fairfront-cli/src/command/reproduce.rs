use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use fairfront_data::Error;
use fairfront_reproduce::{Effort, Experiment, Reproduction, Request, Watcher, reproduce};
use fairfront_solve::StopSignal;

use crate::reproduce_args::ReproduceArgs;
use crate::{output, progress, render};

/// Where the documentation has the figures of the page.
const FIGURES: &str = "figures/reproduction";

pub(super) fn run(args: &ReproduceArgs) -> anyhow::Result<u8> {
    let named = args.experiments.iter().map(|name| name.parse());
    let mut experiments: Vec<Experiment> = named.collect::<Result<_, _>>()?;
    if experiments.is_empty() {
        for experiment in Experiment::ALL {
            let lacks = experiment.lacks();
            match lacks.is_empty() {
                true => experiments.push(experiment),
                false => output::note(&format!(
                    "skipped: {experiment}, which needs {}; `fairfront data get` downloads it\n",
                    lacks.join(" and ")
                )),
            }
        }
    }
    if args.threads == Some(0) {
        return Err(Error::Usage("--threads 0: give at least 1".into()).into());
    }
    if let Some(docs) = &args.docs {
        check_docs(docs, args.quick, &experiments)?;
    }
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let request = Request {
        experiments,
        effort: if args.quick {
            Effort::Quick
        } else {
            Effort::Full
        },
        threads: args.threads.unwrap_or_else(cores),
        out: args.out.clone(),
    };
    let found = reproduce(&request, &Jobs::new(args.quiet || args.json))?;
    let Some(found) = found else {
        output::note(&format!(
            "Stopped; what is done is in {}, and the same command goes on from there.\n",
            args.out.display()
        ));
        return Ok(130);
    };
    if let Some(docs) = &args.docs {
        write_docs(&found, &args.out, docs)?;
    }
    match args.json {
        true => output::print(&found.to_json()?)?,
        false => output::print(&render::reproduction(&found, &args.out))?,
    }
    Ok(0)
}

/// The documentation has one page of everything, or the one that it had.
fn check_docs(docs: &Path, quick: bool, experiments: &[Experiment]) -> anyhow::Result<()> {
    let all = Experiment::ALL.iter().all(|one| experiments.contains(one));
    let problem = if !docs.is_dir() {
        "this is no folder"
    } else if quick {
        "the page of the documentation has no small budgets; leave out --quick"
    } else if !all {
        "the page of the documentation is about all experiments; name none of them, and have all data"
    } else {
        return Ok(());
    };
    let message = format!("--docs {}: {problem}", docs.display());
    Err(Error::Usage(message).into())
}

/// The page and its figures, as the documentation has them.
fn write_docs(found: &Reproduction, out: &Path, docs: &Path) -> anyhow::Result<()> {
    let folder = docs.join(FIGURES);
    std::fs::create_dir_all(&folder)?;
    for figure in found.findings.iter().flat_map(|finding| &finding.figures) {
        let name = format!("{}.svg", figure.name);
        let svg = std::fs::read(out.join("figures").join(&name))?;
        fairfront_run::write_file(&folder.join(name), &svg, true)?;
    }
    let page = found.to_markdown(FIGURES);
    fairfront_run::write_file(&docs.join("reproduction.md"), page.as_bytes(), true)?;
    Ok(())
}

/// Says what is done; Ctrl-C stops it.
struct Jobs {
    quiet: bool,
    start: Instant,
    count: Mutex<(usize, usize)>,
}

impl Jobs {
    fn new(quiet: bool) -> Self {
        progress::listen();
        Self {
            quiet,
            start: Instant::now(),
            count: Mutex::new((0, 0)),
        }
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, (usize, usize)> {
        self.count
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Watcher for Jobs {
    fn begins(&self, jobs: usize, done_before: usize) {
        *self.counts() = (0, jobs);
        if self.quiet || jobs + done_before == 0 {
            return;
        }
        let before = match done_before {
            0 => String::new(),
            n => format!("; {n} are done already"),
        };
        output::note(&format!("{jobs} pieces of work{before}\n"));
    }

    fn ended(&self, name: &str, cpu_seconds: f64) {
        let mut counts = self.counts();
        counts.0 += 1;
        if !self.quiet {
            let minutes = self.start.elapsed().as_secs_f64() / 60.0;
            output::note(&format!(
                "{:>4} of {}  {minutes:5.1} min  {name}, {cpu_seconds:.1} CPU s\n",
                counts.0, counts.1
            ));
        }
    }

    fn stop_signal(&self) -> StopSignal {
        StopSignal::new(progress::interrupted)
    }
}
