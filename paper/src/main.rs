//! `fairfront-reproduce` repeats the paper's experiments and writes the pages about them.

mod args;
mod summary;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use fairfront_core::counted;
use fairfront_model::write_file;
use fairfront_reproduce::{Effort, Experiment, Place, Reproduction, Request, Watcher, reproduce};
use fairfront_run::Error;
use fairfront_solve::StopSignal;

use self::args::Args;
use self::summary::summary;

/// Set by Ctrl-C, SIGTERM and SIGHUP.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The exit code after one of these signals.
const INTERRUPTED_CODE: u8 = 130;

fn main() -> ExitCode {
    let args = Args::parse();
    listen();
    match run(&args) {
        Ok(code) => code.into(),
        Err(error) => {
            note(&format!("error: {error}\n"));
            if error.is_usage() { 2 } else { 1 }.into()
        }
    }
}

/// Handles signals: the first one stops the work, the second one ends the program.
fn listen() {
    // Without a handler, a signal ends the program immediately, which loses only unfinished jobs.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED_CODE.into());
        }
    });
}

/// Writes to standard error.
fn note(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Writes to standard output; a closed pipe is not an error.
fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::file(Path::new("standard output"), e))
        }
        _ => Ok(()),
    }
}

fn run(args: &Args) -> Result<u8, Error> {
    let named = args.experiments.iter().map(|name| name.parse());
    let mut experiments: Vec<Experiment> = named.collect::<Result<_, _>>()?;
    if experiments.is_empty() {
        for experiment in Experiment::ALL {
            let lacks = experiment.lacks()?;
            match lacks.is_empty() {
                true => experiments.push(experiment),
                false => note(&format!(
                    "skipped {experiment}, which needs {}; run `fairfront data get` to download the data\n",
                    lacks.join(" and ")
                )),
            }
        }
    }
    if args.threads == Some(0) {
        return Err(Error::usage(
            "--threads 0: no job can run; choose at least 1",
        ));
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
        note(&format!(
            "Stopped. Finished work is in {}; run the same command to resume.\n",
            args.out.display()
        ));
        return Ok(INTERRUPTED_CODE);
    };
    if let Some(docs) = &args.docs {
        write_docs(&found, &args.out, docs)?;
    }
    match args.json {
        true => print(&found.to_json()?)?,
        false => print(&summary(&found, &args.out))?,
    }
    Ok(0)
}

/// The command, for the page.
fn command(args: &Args) -> String {
    let mut words = vec!["fairfront-reproduce".to_owned()];
    words.extend(args.experiments.iter().cloned());
    words.extend(["--out".into(), quoted(&args.out)]);
    if args.quick {
        words.push("--quick".into());
    }
    if let Some(docs) = &args.docs {
        words.extend(["--docs".into(), quoted(docs)]);
    }
    words.join(" ")
}

/// A path, quoted for a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    match !path.is_empty() && path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

/// Checks that `--docs` names a folder and that the results are complete.
fn check_docs(docs: &Path, quick: bool, experiments: &[Experiment]) -> Result<(), Error> {
    let all = Experiment::ALL.iter().all(|one| experiments.contains(one));
    let problem = if !docs.is_dir() {
        "not a folder; choose an existing folder"
    } else if quick {
        "the documentation needs the full budgets; remove --quick"
    } else if !all {
        "the documentation needs all experiments; pass no experiment, and download all data sets"
    } else {
        return Ok(());
    };
    let message = format!("--docs {}: {problem}", docs.display());
    Err(Error::usage(message))
}

/// Writes the pages and their figures to the documentation.
fn write_docs(found: &Reproduction, out: &Path, docs: &Path) -> Result<(), Error> {
    let place = Place::Documentation;
    let docs = docs.join("evidence");
    let folder = docs.join(place.figures());
    std::fs::create_dir_all(&docs).map_err(|e| Error::file(&docs, e))?;
    std::fs::create_dir_all(&folder).map_err(|e| Error::file(&folder, e))?;
    for name in found.figures() {
        let drawn = out.join(Place::Folder.figures()).join(&name);
        let svg = std::fs::read(&drawn).map_err(|e| Error::file(&drawn, e))?;
        write_file(&folder.join(name), &svg, true)?;
    }
    for (name, page) in found.pages(place) {
        write_file(&docs.join(name), page.as_bytes(), true)?;
    }
    Ok(())
}

/// Prints progress; Ctrl-C stops the work.
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
    printed: Instant,
}

impl Jobs {
    fn new(quiet: bool) -> Self {
        let start = Instant::now();
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            start,
            state: Mutex::new(State {
                done: 0,
                of: 0,
                share: 0.0,
                printed: start,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a line that is not overwritten.
    fn say(&self, line: &str) {
        if !self.quiet {
            if self.terminal {
                note("\r\x1b[2K");
            }
            note(&format!("{line}\n"));
        }
    }
}

impl Watcher for Jobs {
    fn begins(&self, jobs: usize, done_before: usize) {
        self.state().of = jobs;
        let before = match done_before {
            0 => String::new(),
            n => format!("; {n} already finished"),
        };
        if jobs + done_before > 0 {
            self.say(&format!("{} to run{before}", counted(jobs, "job")));
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
        if self.quiet || now - state.printed < pause {
            return;
        }
        state.printed = now;
        let minutes = (now - self.start).as_secs_f64() / 60.0;
        let left = minutes * (1.0 - state.share) / state.share.max(1e-9);
        let line = format!(
            "{} of {} jobs, {:.0}% of the work, {minutes:.1} min, about {left:.0} min left",
            state.done,
            state.of,
            100.0 * state.share
        );
        match self.terminal {
            true => note(&format!("\r\x1b[2K{line}")),
            false => note(&format!("{line}\n")),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        StopSignal::new(|| INTERRUPTED.load(Ordering::Relaxed))
    }
}
