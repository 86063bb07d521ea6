//! Jobs are done on all threads, one thread each, and what is done stays done.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use fairfront_core::counted;
use fairfront_data::Ordered;
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

/// Folder of results inside that of the experiments.
const RUNS: &str = "runs";

/// Is told what is being done, from several threads.
pub trait Watcher: Sync {
    /// So many pieces of work are to be done; others are from before.
    fn begins(&self, jobs: usize, done_before: usize);

    /// One of them is done.
    fn ended(&self, name: &str, cpu_seconds: f64);

    /// About how much of the work is done, from 0 to 1; told often.
    fn progress(&self, share: f64);

    /// Whether to stop.
    fn stop_signal(&self) -> StopSignal;
}

/// What became of a job, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    /// Version of the program.
    program: String,
    job: Job,
    cpu_seconds: f64,
    result: Kept,
}

/// What is kept of a result beside a run folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kept {
    /// A run folder of the job's name has it, with a front of this checksum.
    Run {
        front_sha256: String,
    },
    Stream(Streamed),
    Tune(Tuned),
}

/// What a grid search found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Tuned {
    pub(crate) trials: Vec<TunedTrial>,
    pub(crate) chosen: Option<usize>,
}

/// One of its combinations.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TunedTrial {
    pub(crate) settings: Ordered<String>,
    /// `None` where it has no front.
    pub(crate) accuracy: Option<f64>,
    pub(crate) hypervolume: Option<f64>,
    pub(crate) points: usize,
}

/// Where results are.
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

    /// What was kept of this very job, and its run where it has one.
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
        found.ok_or_else(|| missing(job, "there is no result; run it again"))
    }

    /// The front of a fit.
    pub(crate) fn front(&self, job: &Job) -> Result<Front, Error> {
        let (record, run) = self.expect(job)?;
        let (info, table) = run.ok_or_else(|| missing(job, "this is no fit"))?;
        Ok(Front {
            info,
            table,
            cpu_seconds: record.cpu_seconds,
        })
    }

    /// The fronts of a problem by one solver, seed by seed.
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

    /// The front of a fit as it is compared, its seconds those of the clock of its thread.
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
            _ => Err(missing(job, "this is no stream")),
        }
    }

    /// What a grid search found, and CPU seconds.
    pub(crate) fn tuned(&self, job: &Job) -> Result<(Tuned, f64), Error> {
        let (record, _) = self.expect(job)?;
        match record.result {
            Kept::Tune(tuned) => Ok((tuned, record.cpu_seconds)),
            _ => Err(missing(job, "this is no search")),
        }
    }

    /// Does what is not done yet. Returns whether all of it is done: `false` where it was stopped.
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
                "{} failed ({}); the others are done, and the same command tries these again",
                counted(n, "piece of work"),
                failed.join("; ")
            ))),
        }
    }

    /// Does a job on one thread of its own, whose clock says what it took.
    fn run(&self, job: &Job, watcher: &dyn Watcher, share: &Share) -> Result<(), Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|e| Error::data(format!("no thread can be had: {e}")))?;
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

    /// What is kept, and CPU seconds without reading and writing; `None` where it was stopped.
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
                let mut run = Run::of(&prepared, &fitted);
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
                let tuning = tune(&prepared, &job.setup.ask, &grid, observer)?;
                let trial = |trial: &Trial| TunedTrial {
                    settings: trial.settings.clone(),
                    accuracy: trial.end.score().map(|score| score.accuracy),
                    hypervolume: trial.end.score().and_then(|score| score.hypervolume),
                    points: trial.end.score().map_or(0, |score| score.points),
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

    /// Takes away what there is of a job, whole or damaged, the record first: without it nothing else counts. Returns
    /// where its run goes.
    fn clear(&self, job: &Job) -> Result<PathBuf, Error> {
        let place = self.path(job);
        make_folder(place.parent().unwrap_or(&place))?;
        let gone = |path: &Path, removed: std::io::Result<()>| match removed {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                let problem = format!("it cannot be removed ({}); remove it by hand", e.kind());
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

/// How much of each job is done, in thousandths.
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

/// How much of one job is done.
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
        // What comes later in the same job never takes anything back.
        done[self.job].fetch_max(own, Ordering::Relaxed);
        let done = done
            .iter()
            .map(|done| done.load(Ordering::Relaxed) as f64 / 1e3);
        let spent: f64 = done.zip(weights).map(|(done, weight)| done * weight).sum();
        watcher.progress(spent / weights.iter().sum::<f64>());
    }
}

/// Tells how far a job is, and its solver when to stop.
struct OfJob<'a> {
    stop: StopSignal,
    share: &'a Share<'a>,
    /// Whether there is no other fit in the job than the current one.
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
