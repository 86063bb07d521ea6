//! `fairfront-fuzz`: runs cases in worker processes and prints a table of surfaces, cases and
//! failures.

#![allow(clippy::print_stdout, reason = "a program for developers")]
#![allow(clippy::print_stderr, reason = "a program for developers")]

use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use fairfront_fuzz::{
    Case, Failure, HUNG, Loaded, Summary, Target, Watchdog, catch_panics, check, clean_up, find,
    targets,
};
use serde_json::json;

/// Run mutated inputs through every reader of fairfront
#[derive(Debug, Clone, Parser)]
struct Args {
    /// Seed of all mutations
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of cases, over all targets
    #[arg(long, default_value_t = 4_000)]
    cases: u64,
    /// Only this target; repeat for several
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Run only this case and print its result; needs one --target
    #[arg(long, value_name = "N")]
    case: Option<u64>,
    /// With --case: write its input to this file
    #[arg(long, value_name = "FILE", requires = "case")]
    save: Option<PathBuf>,
    /// Write the inputs of all cases to this folder instead of running them, as TARGET-CASE-PART
    #[arg(long, value_name = "DIR", conflicts_with = "case")]
    write: Option<PathBuf>,
    /// Folder with the corpus of each target
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus"))]
    corpus: PathBuf,
    /// Number of processes
    #[arg(long, default_value_t = 1)]
    jobs: u64,
    /// Time limit of a case, in seconds
    #[arg(long, default_value_t = 60)]
    seconds_per_case: u64,
    /// Write the summary to this JSON file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Internal: the cases of a worker, as FIRST/STEP
    #[arg(long, hide = true)]
    worker: Option<String>,
    /// Internal: file in which a worker records its current case
    #[arg(long, hide = true)]
    note: Option<PathBuf>,
}

impl Args {
    fn targets(&self) -> anyhow::Result<Vec<Loaded>> {
        let chosen: Vec<&'static dyn Target> = match self.target.is_empty() {
            true => targets(),
            false => {
                let one =
                    |name: &String| find(name).with_context(|| format!("--target {name}: unknown"));
                self.target.iter().map(one).collect::<anyhow::Result<_>>()?
            }
        };
        let loaded = chosen.into_iter().map(|t| Loaded::new(t, &self.corpus));
        Ok(loaded.collect::<Result<_, _>>()?)
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let code = match (&args.case, &args.worker, &args.write) {
        (Some(case), ..) => replay(&args, *case)?,
        (None, Some(part), _) => work(&args, part)?,
        (None, None, Some(folder)) => write(&args, folder)?,
        (None, None, None) => drive(&args)?,
    };
    clean_up();
    Ok(code)
}

fn replay(args: &Args, case: u64) -> anyhow::Result<ExitCode> {
    let [loaded] = &args.targets()?[..] else {
        bail!("--case needs one --target");
    };
    let case = Case {
        seed: args.seed,
        target: loaded.target.name().into(),
        case,
    };
    let (part, input) = case.input(loaded);
    if let Some(path) = &args.save {
        std::fs::write(path, &input)?;
    }
    println!(
        "{} {}",
        loaded.parts[part].name,
        String::from_utf8_lossy(&input)
    );
    catch_panics();
    let (taken, peak) = check(loaded.target, part, &input);
    println!("{taken:?}, {peak} bytes of memory");
    Ok(ExitCode::from(u8::from(taken.is_err())))
}

fn write(args: &Args, folder: &Path) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(folder)?;
    let targets = args.targets()?;
    for number in 0..args.cases {
        // The same number of cases for each target; the running time depends on the reader.
        let loaded = &targets[(number % targets.len() as u64) as usize];
        let case = Case {
            seed: args.seed,
            target: loaded.target.name().into(),
            case: number,
        };
        let (part, input) = case.input(loaded);
        let part = loaded.parts[part].name;
        let name = format!("{}-{number}-{part}", case.target);
        std::fs::write(folder.join(name), input)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The order of targets in a round, each as often as it requests.
fn turns(targets: &[Loaded]) -> Vec<usize> {
    let turns: Vec<usize> = targets.iter().map(|loaded| loaded.target.turns()).collect();
    let most = turns.iter().copied().max().unwrap_or(0);
    let turns = &turns;
    let round = |round: usize| (0..turns.len()).filter(move |i| round < turns[*i]);
    (0..most).flat_map(round).collect()
}

/// Runs a worker process: every STEP-th case from FIRST on.
fn work(args: &Args, part: &str) -> anyhow::Result<ExitCode> {
    let (first, step) = part.split_once('/').context("--worker FIRST/STEP")?;
    let (first, step): (u64, usize) = (first.parse()?, step.parse()?);
    catch_panics();
    let targets = args.targets()?;
    let turns = turns(&targets);
    let note = args.note.as_ref().context("--worker needs --note")?;
    let mut note = std::fs::File::create(note)?;
    let dog = Watchdog::start(Duration::from_secs(args.seconds_per_case));
    let mut summary = Summary::default();
    for case in (first..args.cases).step_by(step) {
        let index = turns[(case % turns.len() as u64) as usize];
        let loaded = &targets[index];
        let case = Case {
            seed: args.seed,
            target: loaded.target.name().into(),
            case,
        };
        // The driver reads this if the process dies.
        note.seek(SeekFrom::Start(0))?;
        note.write_all(format!("{:>20} {:<40}\n", case.case, case.target).as_bytes())?;
        let (part, input) = case.input(loaded);
        dog.begin_case();
        summary.run(loaded.target, (part, &input), &|| case.arguments());
        if case.case / step as u64 % 100 == 99 {
            println!("{}", serde_json::to_string(&std::mem::take(&mut summary))?);
        }
    }
    dog.stop();
    println!("{}", serde_json::to_string(&summary)?);
    Ok(ExitCode::SUCCESS)
}

/// Runs the corpus and then all cases.
fn drive(args: &Args) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let mut summary = Summary::default();
    catch_panics();
    let dog = Watchdog::start(Duration::from_secs(args.seconds_per_case));
    for loaded in args.targets()? {
        dog.begin_case();
        loaded.replay(&mut summary);
    }
    dog.stop();
    summary.failures.iter().for_each(print_failure);
    let folder = tempfile::tempdir()?;
    let workers: Vec<_> = (0..args.jobs.max(1))
        .map(|job| {
            let (args, note) = (args.clone(), folder.path().join(job.to_string()));
            std::thread::spawn(move || oversee(&args, job, &note))
        })
        .collect();
    for worker in workers {
        match worker.join() {
            Ok(done) => summary.add(done?),
            Err(_) => bail!("a thread of the driver panicked"),
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    print(&summary, seconds);
    if let Some(path) = &args.json {
        let cases: u64 = summary.targets.values().map(|tally| tally.cases).sum();
        let profile = if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        };
        let all = json!({
            "seed": args.seed, "cases": cases, "jobs": args.jobs, "profile": profile,
            "seconds": seconds, "targets": summary.targets, "failures": summary.failures,
        });
        std::fs::write(path, format!("{}\n", serde_json::to_string_pretty(&all)?))?;
    }
    Ok(ExitCode::from(u8::from(summary.n_failures() > 0)))
}

/// Runs a worker, and starts a new one after each case that ends the process.
fn oversee(args: &Args, job: u64, note: &Path) -> anyhow::Result<Summary> {
    let mut summary = Summary::default();
    let (mut first, step) = (job, args.jobs.max(1));
    while first < args.cases {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["--worker", &format!("{first}/{step}"), "--note"])
            .arg(note)
            .args([
                "--seed",
                &args.seed.to_string(),
                "--cases",
                &args.cases.to_string(),
            ])
            .args([
                "--seconds-per-case",
                &args.seconds_per_case.to_string(),
                "--corpus",
            ])
            .arg(&args.corpus);
        args.target.iter().for_each(|name| {
            command.args(["--target", name]);
        });
        let mut worker = command.stdout(Stdio::piped()).spawn()?;
        let lines = worker.stdout.take().map(BufReader::new);
        for line in lines.into_iter().flat_map(BufRead::lines) {
            let some: Summary = serde_json::from_str(&line?)?;
            some.failures.iter().for_each(print_failure);
            summary.add(some);
        }
        let status = worker.wait()?;
        if status.success() {
            break;
        }
        let noted = std::fs::read_to_string(note).unwrap_or_default();
        let (case, target) = noted.trim().split_once(' ').unwrap_or(("0", ""));
        let Ok(number) = case.parse::<u64>() else {
            bail!("a worker ended with {status} before its first case");
        };
        let problem = match status.code() {
            Some(HUNG) => format!("the case took more than {} seconds", args.seconds_per_case),
            _ => format!("the process ended with {status}"),
        };
        let case = Case {
            seed: args.seed,
            target: target.trim().into(),
            case: number,
        };
        let failure = Failure {
            target: case.target.clone(),
            case: case.arguments(),
            problem,
        };
        print_failure(&failure);
        summary.fail(failure);
        first = number + step;
    }
    Ok(summary)
}

/// Prints a failure immediately, because a run may take an hour.
fn print_failure(failure: &Failure) {
    eprintln!("{}: {} ({})", failure.target, failure.problem, failure.case);
}

fn print(summary: &Summary, seconds: f64) {
    println!(
        "{:<14} {:>10} {:>10} {:>10} {:>9} {:>10} {:>9} {:>9}",
        "surface", "cases", "accepted", "refused", "failures", "peak MiB", "seconds", "longest"
    );
    for (name, tally) in &summary.targets {
        println!(
            "{name:<14} {:>10} {:>10} {:>10} {:>9} {:>10.1} {:>9.1} {:>9.2}",
            tally.cases,
            tally.accepted,
            tally.refused,
            tally.failures,
            tally.peak_bytes as f64 / f64::from(1 << 20),
            tally.seconds,
            tally.longest_seconds
        );
    }
    let cases: u64 = summary.targets.values().map(|tally| tally.cases).sum();
    println!(
        "{cases} cases in {seconds:.0} s, {} failures",
        summary.n_failures()
    );
}
