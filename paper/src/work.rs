//! Runs jobs in parallel, one thread per job, and stores their results.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use fairfront_core::counted;
use fairfront_data::{Facts, Input, Ordered};
use fairfront_model::write_file;
use fairfront_run::{
    Error, FrontTable, Grid, NamedFront, Run, RunInfo, Trial, TuneWatcher, fit, read_run, tune,
    write_run,
};
use fairfront_solve::{Observer, Progress, StopReason, StopSignal};
use serde::{Deserialize, Serialize};

use crate::Effort;
use crate::clock::thread_seconds;
use crate::front::Front;
use crate::job::{Case, Job, Kind, Variant};
use crate::reproduce::make_folder;
use crate::streaming::{Streamed, stream};

/// Subfolder of the job results.
const RUNS: &str = "runs";

/// Receives progress from several threads.
pub trait Watcher: Sync {
    /// The work begins with this many jobs; others were finished before.
    fn begins(&self, jobs: usize, done_before: usize);

    /// A job is finished.
    fn ended(&self, name: &str, cpu_seconds: f64);

    /// The approximate share of finished work, from 0 to 1; called often.
    fn progress(&self, share: f64);

    /// The signal that stops the work.
    fn stop_signal(&self) -> StopSignal;
}

/// The stored record of a finished job.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    /// Version of the program.
    program: String,
    job: Job,
    cpu_seconds: f64,
    result: Kept,
}

/// The part of a result that is stored in the record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kept {
    /// The result is in the run folder of the job's name, with a front of this checksum.
    Run {
        front_sha256: String,
    },
    Stream(Streamed),
    Tune(Tuned),
}

/// The result of a grid search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Tuned {
    pub(crate) trials: Vec<TunedTrial>,
    pub(crate) chosen: Option<usize>,
}

/// One combination of a grid search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TunedTrial {
    pub(crate) settings: Ordered<String>,
    /// `None` without a front.
    pub(crate) accuracy: Option<f64>,
    pub(crate) hypervolume: Option<f64>,
    pub(crate) points: usize,
}

/// The folder of job results.
#[derive(Debug, Clone)]
pub(crate) struct Results {
    folder: PathBuf,
}

impl Results {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.join(RUNS),
        }
    }

    fn path(&self, job: &Job) -> PathBuf {
        self.folder.join(&job.name)
    }

    fn record_path(&self, job: &Job) -> PathBuf {
        self.folder.join(format!("{}.json", job.name))
    }

    /// The record of exactly this job, with its run if it has one.
    fn record(&self, job: &Job) -> Option<(Record, Option<(RunInfo, FrontTable)>)> {
        let text = std::fs::read_to_string(self.record_path(job)).ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        if record.job != *job || record.program != env!("CARGO_PKG_VERSION") {
            return None;
        }
        let run = match &record.result {
            Kept::Run { front_sha256 } => {
                let run = read_run(&self.path(job)).ok()?;
                (run.0.front_sha256 == *front_sha256).then_some(Some(run))?
            }
            Kept::Stream(_) | Kept::Tune(_) => None,
        };
        Some((record, run))
    }

    fn expect(&self, job: &Job) -> Result<(Record, Option<(RunInfo, FrontTable)>), Error> {
        let found = self.record(job);
        found.ok_or_else(|| missing(job, "its result is missing; run it again"))
    }

    /// The front of a fit.
    pub(crate) fn front(&self, job: &Job) -> Result<Front, Error> {
        let (record, run) = self.expect(job)?;
        let (info, table) = run.ok_or_else(|| missing(job, "this job is not a fit"))?;
        Ok(Front {
            info,
            table,
            cpu_seconds: record.cpu_seconds,
        })
    }

    /// The fronts of a problem by one solver, in the order of the seeds.
    pub(crate) fn fronts(
        &self,
        case: Case,
        seeds: u64,
        variant: Variant,
        effort: Effort,
    ) -> Result<Vec<Front>, Error> {
        (0..seeds)
            .map(|seed| self.front(&case.fit(seed, variant, effort)))
            .collect()
    }

    /// The front of a fit for a comparison, with the CPU seconds of its thread.
    pub(crate) fn named_front(&self, job: &Job) -> Result<NamedFront, Error> {
        let (record, _) = self.expect(job)?;
        let mut front = NamedFront::read(&self.path(job))?;
        if let Some(run) = &mut front.run {
            run.seconds = record.cpu_seconds;
        }
        Ok(front)
    }

    /// The fronts of a stream.
    pub(crate) fn stream(&self, job: &Job) -> Result<Streamed, Error> {
        match self.expect(job)?.0.result {
            Kept::Stream(streamed) => Ok(streamed),
            _ => Err(missing(job, "this job is not a stream")),
        }
    }

    /// The result of a grid search, and its CPU seconds.
    pub(crate) fn tuned(&self, job: &Job) -> Result<(Tuned, f64), Error> {
        let (record, _) = self.expect(job)?;
        match record.result {
            Kept::Tune(tuned) => Ok((tuned, record.cpu_seconds)),
            _ => Err(missing(job, "this job is not a grid search")),
        }
    }

    /// Runs the unfinished jobs. Returns `false` if the work was stopped.
    pub(crate) fn work(
        &self,
        jobs: Vec<Job>,
        threads: usize,
        watcher: &dyn Watcher,
    ) -> Result<bool, Error> {
        let mut todo: Vec<Job> = Vec::new();
        let mut before = 0;
        for job in jobs {
            match self.record(&job) {
                Some(_) => before += 1,
                None => todo.push(job),
            }
        }
        todo.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
        let shares = Shares::new(&todo, watcher);
        watcher.begins(todo.len(), before);
        let next = AtomicUsize::new(0);
        let failed: Mutex<Vec<String>> = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, todo.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = todo.get(at) else {
                            return;
                        };
                        if watcher.stop_signal().is_set() {
                            return;
                        }
                        if let Err(error) = self.run(job, watcher, &shares.of(at)) {
                            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                            failed.push(format!("{}: {error}", job.name));
                        }
                    }
                });
            }
        });
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failed.len() {
            0 => Ok(!watcher.stop_signal().is_set()),
            n => Err(Error::data(format!(
                "{} failed ({}); run the same command to try again, which does not repeat the finished jobs",
                counted(n, "job"),
                failed.join("; ")
            ))),
        }
    }

    /// Runs a job on its own thread, whose clock measures the CPU time.
    fn run(&self, job: &Job, watcher: &dyn Watcher, share: &Share) -> Result<(), Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|e| Error::data(format!("cannot start a thread: {e}")))?;
        let mut observer = OfJob {
            stop: watcher.stop_signal(),
            share,
            one_fit: job.kind == Kind::Fit,
        };
        let done = match pool.install(|| self.result(job, &mut observer)) {
            Err(error) if error.is_stopped() => None,
            done => done?,
        };
        let Some((result, cpu_seconds)) = done.filter(|_| !observer.stop.is_set()) else {
            return Ok(());
        };
        let record = Record {
            program: env!("CARGO_PKG_VERSION").into(),
            job: job.clone(),
            cpu_seconds,
            result,
        };
        let text = serde_json::to_string_pretty(&record);
        let text = text.map_err(|e| Error::data(e.to_string()))?;
        write_file(&self.record_path(job), format!("{text}\n").as_bytes(), true)?;
        share.tell(1.0);
        watcher.ended(&job.name, cpu_seconds);
        Ok(())
    }

    /// The result, and its CPU seconds without reading and writing; `None` if it was stopped.
    fn result(&self, job: &Job, observer: &mut OfJob) -> Result<Option<(Kept, f64)>, Error> {
        let prepared = job.setup.prepare()?;
        let start = thread_seconds();
        let kept = match &job.kind {
            Kind::Fit => {
                let request = job.setup.request(&prepared.spec)?;
                let fitted = fit(&prepared, &request, observer)?;
                let seconds = thread_seconds() - start;
                if fitted.outcome.stop == StopReason::Stopped {
                    return Ok(None);
                }
                let mut run = Run::of(&Facts::of(&prepared)?, &fitted);
                let place = self.clear(job)?;
                write_run(&place, true, &mut run)?;
                let front_sha256 = run.info.front_sha256;
                return Ok(Some((Kept::Run { front_sha256 }, seconds)));
            }
            Kind::Stream { batches, rows } => {
                Kept::Stream(stream(&job.setup, &prepared, *batches, *rows, observer)?)
            }
            Kind::Tune { tries } => {
                let grid = Grid::parse(tries)?;
                let tuning = tune(
                    &Input::of(&prepared, false)?,
                    &job.setup.ask,
                    &grid,
                    observer,
                )?;
                let trial = |trial: &Trial| TunedTrial {
                    settings: trial.settings.clone(),
                    accuracy: trial.end.score().map(|score| score.performance),
                    hypervolume: trial.end.score().and_then(|score| score.hypervolume),
                    points: trial.end.score().map_or(0, |score| score.models),
                };
                Kept::Tune(Tuned {
                    trials: tuning.trials.iter().map(trial).collect(),
                    chosen: tuning.chosen,
                })
            }
        };
        let seconds = thread_seconds() - start;
        self.clear(job)?;
        Ok(Some((kept, seconds)))
    }

    /// Removes earlier results of a job, complete or corrupted. The record goes first, because no result is valid
    /// without it. Returns the path of the run.
    fn clear(&self, job: &Job) -> Result<PathBuf, Error> {
        let place = self.path(job);
        make_folder(place.parent().unwrap_or(&place))?;
        let gone = |path: &Path, removed: std::io::Result<()>| match removed {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                let problem = format!("cannot be removed ({}); remove it by hand", e.kind());
                Err(Error::file(path, problem))
            }
            _ => Ok(()),
        };
        let record = self.record_path(job);
        gone(&record, std::fs::remove_file(&record))?;
        gone(&place, std::fs::remove_dir_all(&place))?;
        Ok(place)
    }
}

fn missing(job: &Job, problem: &str) -> Error {
    Error::data(format!("{}: {problem}", job.name))
}

/// The finished share of each job, in thousandths.
struct Shares<'a> {
    done: Vec<AtomicUsize>,
    weights: Vec<f64>,
    watcher: &'a dyn Watcher,
}

impl<'a> Shares<'a> {
    fn new(jobs: &[Job], watcher: &'a dyn Watcher) -> Self {
        Self {
            done: jobs.iter().map(|_| AtomicUsize::new(0)).collect(),
            weights: jobs.iter().map(Job::weight).collect(),
            watcher,
        }
    }

    fn of(&self, job: usize) -> Share<'_> {
        Share { all: self, job }
    }
}

/// The finished share of one job.
struct Share<'a> {
    all: &'a Shares<'a>,
    job: usize,
}

impl Share<'_> {
    fn tell(&self, share: f64) {
        let Shares {
            done,
            weights,
            watcher,
        } = self.all;
        let own = (1e3 * share.clamp(0.0, 1.0)) as usize;
        // The share of a job never falls.
        done[self.job].fetch_max(own, Ordering::Relaxed);
        let done = done
            .iter()
            .map(|done| done.load(Ordering::Relaxed) as f64 / 1e3);
        let spent: f64 = done.zip(weights).map(|(done, weight)| done * weight).sum();
        watcher.progress(spent / weights.iter().sum::<f64>());
    }
}

/// Reports the progress of a job and passes the stop signal to its solver.
struct OfJob<'a> {
    stop: StopSignal,
    share: &'a Share<'a>,
    /// Whether the job consists of a single fit.
    one_fit: bool,
}

impl Observer for OfJob<'_> {
    fn round(&mut self, progress: &Progress) -> ControlFlow<()> {
        if self.one_fit {
            self.share.tell(progress.share);
        }
        match self.stop.is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }
}

impl TuneWatcher for OfJob<'_> {
    fn observer(&mut self) -> &mut dyn Observer {
        self
    }

    fn begins(&mut self, run: usize, runs: usize, _: &Ordered<String>) {
        self.share.tell(run as f64 / runs as f64);
    }

    fn ended(&mut self, _: &Trial) {}
}
