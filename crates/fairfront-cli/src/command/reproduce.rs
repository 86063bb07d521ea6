use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fairfront_data::Error;
use fairfront_reproduce::{Effort, Experiment, Place, Reproduction, Request, Watcher, reproduce};
use fairfront_solve::StopSignal;

use crate::reproduce_args::ReproduceArgs;
use crate::{output, progress, render, word};

pub(super) fn run(args: &ReproduceArgs) -> anyhow::Result<u8> {
    let named = args.experiments.iter().map(|name| name.parse());
    let mut experiments: Vec<Experiment> = named.collect::<Result<_, _>>()?;
    if experiments.is_empty() {
        for experiment in Experiment::ALL {
            let lacks = experiment.lacks()?;
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
        command: command(args),
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
        true => output::print_data(&found.to_json()?)?,
        false => output::print(&render::reproduction(&found, &args.out))?,
    }
    Ok(0)
}

/// The command as the page shows it.
fn command(args: &ReproduceArgs) -> String {
    let mut words = ["fairfront", "reproduce"].map(String::from).to_vec();
    words.extend(args.experiments.iter().cloned());
    word::flag(&mut words, "out", &args.out.display().to_string());
    if args.quick {
        words.push("--quick".into());
    }
    if let Some(docs) = &args.docs {
        word::flag(&mut words, "docs", &docs.display().to_string());
    }
    let words: Vec<String> = words.iter().map(|word| word::quoted(word)).collect();
    words.join(" ")
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
    Err(Error::usage(message).into())
}

/// The page and its figures, as the documentation has them.
fn write_docs(found: &Reproduction, out: &Path, docs: &Path) -> anyhow::Result<()> {
    let place = Place::Documentation;
    let folder = docs.join(place.figures());
    std::fs::create_dir_all(&folder)?;
    for name in found.figures() {
        let svg = std::fs::read(out.join(Place::Folder.figures()).join(&name))?;
        fairfront_run::write_file(&folder.join(name), &svg, true)?;
    }
    let page = found.to_markdown(place);
    fairfront_run::write_file(&docs.join("reproduction.md"), page.as_bytes(), true)?;
    Ok(())
}

/// Says what is done; Ctrl-C stops it.
struct Jobs {
    quiet: bool,
    terminal: bool,
    start: Instant,
    state: Mutex<State>,
}

struct State {
    done: usize,
    of: usize,
    share: f64,
    said: Instant,
}

impl Jobs {
    fn new(quiet: bool) -> Self {
        progress::listen();
        let start = Instant::now();
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            start,
            state: Mutex::new(State {
                done: 0,
                of: 0,
                share: 0.0,
                said: start,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line that stays.
    fn say(&self, line: &str) {
        if !self.quiet {
            if self.terminal {
                output::rewrite("");
            }
            output::note(&format!("{line}\n"));
        }
    }
}

impl Watcher for Jobs {
    fn begins(&self, jobs: usize, done_before: usize) {
        self.state().of = jobs;
        let before = match done_before {
            0 => String::new(),
            n => format!("; {n} are done already"),
        };
        if jobs + done_before > 0 {
            self.say(&format!("{jobs} pieces of work{before}"));
        }
    }

    fn ended(&self, name: &str, cpu_seconds: f64) {
        let mut state = self.state();
        state.done += 1;
        let minutes = self.start.elapsed().as_secs_f64() / 60.0;
        self.say(&format!(
            "{:>4} of {}  {minutes:5.1} min  {name}, {cpu_seconds:.1} CPU s",
            state.done, state.of
        ));
    }

    fn progress(&self, share: f64) {
        let mut state = self.state();
        state.share = state.share.max(share);
        let now = Instant::now();
        let pause = Duration::from_millis(if self.terminal { 200 } else { 60_000 });
        if self.quiet || now - state.said < pause {
            return;
        }
        state.said = now;
        let minutes = (now - self.start).as_secs_f64() / 60.0;
        let left = minutes * (1.0 - state.share) / state.share.max(1e-9);
        let line = format!(
            "{} of {} pieces of work, {:.0} % of it, {minutes:.1} min, about {left:.0} min left",
            state.done,
            state.of,
            100.0 * state.share
        );
        match self.terminal {
            true => output::rewrite(&line),
            false => output::note(&format!("{line}\n")),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        StopSignal::new(progress::interrupted)
    }
}
