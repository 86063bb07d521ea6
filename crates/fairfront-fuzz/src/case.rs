//! Runs cases and counts their results.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::mutate::input;
use crate::random::Random;
use crate::{Part, Taken, Target, memory};

/// The exit code of a process whose case took too long.
pub const HUNG: i32 = 86;

static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Stores the message of a panic instead of printing it.
pub fn catch_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if fairfront_data::panics_are_caught() {
            return;
        }
        let text = panic.to_string().replace('\n', " ");
        if let Ok(mut last) = LAST_PANIC.lock() {
            last.get_or_insert(text);
        }
    }));
}

/// An input by its number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Case {
    /// Seed of all cases.
    pub seed: u64,
    /// The target's name.
    pub target: String,
    /// The number.
    pub case: u64,
}

impl Case {
    /// The arguments that repeat this case.
    pub fn arguments(&self) -> String {
        format!(
            "--seed {} --target {} --case {}",
            self.seed, self.target, self.case
        )
    }

    /// Its part and its input.
    pub fn input(&self, loaded: &Loaded) -> (usize, Vec<u8>) {
        let mut random = Random::of_case(self.seed, loaded.target.name(), self.case);
        let part = random.below(loaded.parts.len());
        let Part { form, seeds, .. } = &loaded.parts[part];
        let input = input(seeds, *form, loaded.target.words(), &mut random);
        (part, input)
    }
}

/// A case that broke a guarantee.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Failure {
    /// The surface.
    pub target: String,
    /// The arguments that repeat it, or the file of the corpus.
    pub case: String,
    /// The problem.
    pub problem: String,
}

/// Results of the cases of a target.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Number of cases.
    pub cases: u64,
    /// Number of inputs that were accepted.
    pub accepted: u64,
    /// Number of inputs that were rejected with an error.
    pub refused: u64,
    /// Number of inputs that broke a guarantee.
    pub failures: u64,
    /// The most memory that a case took, in bytes.
    pub peak_bytes: usize,
    /// Seconds of all cases.
    pub seconds: f64,
    /// The longest case, in seconds.
    pub longest_seconds: f64,
}

/// Results of all cases.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Summary {
    /// By target.
    pub targets: BTreeMap<String, Tally>,
    /// The first failures.
    pub failures: Vec<Failure>,
}

impl Summary {
    /// The largest number of failures whose descriptions are kept.
    const KEPT: usize = 200;

    /// Adds a failure.
    pub fn fail(&mut self, failure: Failure) {
        self.targets
            .entry(failure.target.clone())
            .or_default()
            .failures += 1;
        if self.failures.len() < Self::KEPT {
            self.failures.push(failure);
        }
    }

    /// Adds the results of another process.
    pub fn add(&mut self, other: Self) {
        for (name, more) in other.targets {
            let tally = self.targets.entry(name).or_default();
            tally.cases += more.cases;
            tally.accepted += more.accepted;
            tally.refused += more.refused;
            tally.failures += more.failures;
            tally.seconds += more.seconds;
            tally.peak_bytes = tally.peak_bytes.max(more.peak_bytes);
            tally.longest_seconds = tally.longest_seconds.max(more.longest_seconds);
        }
        self.failures.extend(other.failures);
        self.failures.truncate(Self::KEPT);
    }

    /// Number of failures of all targets.
    pub fn n_failures(&self) -> u64 {
        self.targets.values().map(|tally| tally.failures).sum()
    }

    /// Runs an input and records the result.
    pub fn run(
        &mut self,
        target: &dyn Target,
        (part, input): (usize, &[u8]),
        case: &dyn Fn() -> String,
    ) {
        let start = Instant::now();
        let (taken, peak) = check(target, part, input);
        let seconds = start.elapsed().as_secs_f64();
        let tally = self.targets.entry(target.name().to_owned()).or_default();
        tally.cases += 1;
        tally.seconds += seconds;
        tally.peak_bytes = tally.peak_bytes.max(peak);
        tally.longest_seconds = tally.longest_seconds.max(seconds);
        match taken {
            Ok(Taken::Accepted) => tally.accepted += 1,
            Ok(Taken::Refused) => tally.refused += 1,
            Err(problem) => self.fail(Failure {
                target: target.name().into(),
                case: case(),
                problem,
            }),
        }
    }
}

/// Checks one input; returns the result and the memory that it took.
pub fn check(target: &dyn Target, part: usize, input: &[u8]) -> (Result<Taken, String>, usize) {
    if let Ok(mut last) = LAST_PANIC.lock() {
        *last = None;
    }
    let before = memory::begin();
    let taken = catch_unwind(AssertUnwindSafe(|| target.check(part, input)));
    let peak = memory::peak_since(before);
    let taken = taken.unwrap_or_else(|_| {
        let last = LAST_PANIC.lock().ok().and_then(|mut last| last.take());
        Err(last.unwrap_or_else(|| "a panic without a message".into()))
    });
    let taken = taken.and_then(|taken| match peak > memory::SOFT {
        true => Err(format!("the case took {peak} bytes of memory")),
        false => Ok(taken),
    });
    (taken, peak)
}

/// Checks an input of libFuzzer for the target with this name. If the target has several parts, the
/// first byte selects one.
///
/// # Panics
/// If the input breaks a guarantee, or no target has this name.
pub fn check_or_panic(target: &str, input: &[u8]) {
    let target = crate::find(target).expect("a target has this name");
    let n = target.parts().len();
    let (part, input) = match (n, input.split_first()) {
        (0 | 1, _) => (0, input),
        (_, None) => return,
        (n, Some((first, rest))) => (usize::from(*first) % n, rest),
    };
    if let Err(problem) = target.check(part, input) {
        panic!("{}: {problem}", target.name());
    }
}

/// A target with its seeds and its corpus.
pub struct Loaded {
    /// The target.
    pub target: &'static dyn Target,
    /// Its parts; their seeds are those of the target, then those of the corpus.
    pub parts: Vec<Part>,
    /// The files of the corpus: their names, parts and contents.
    pub corpus: Vec<(String, usize, Vec<u8>)>,
}

impl Loaded {
    /// Loads a target and its folder in a corpus.
    pub fn new(target: &'static dyn Target, corpus: &Path) -> std::io::Result<Self> {
        let mut parts = target.parts();
        let folder = corpus.join(target.name());
        let mut kept = Vec::new();
        if folder.is_dir() {
            for (name, bytes) in crate::scratch::files_in(&folder)? {
                let own = name.split_once('@').map_or("", |(part, _)| part);
                let part = parts.iter().position(|part| part.name == own);
                let part = part.ok_or_else(|| {
                    let path = folder.join(&name);
                    let problem = format!("{}: no part has this name", path.display());
                    std::io::Error::new(std::io::ErrorKind::InvalidInput, problem)
                })?;
                parts[part].seeds.push(bytes.clone());
                kept.push((name, part, bytes));
            }
        }
        Ok(Self {
            target,
            parts,
            corpus: kept,
        })
    }

    /// Runs the valid seeds, which must be accepted, and the unchanged files of the corpus.
    pub fn replay(&self, summary: &mut Summary) {
        for (name, part, bytes) in &self.corpus {
            let name = format!("corpus/{}/{name}", self.target.name());
            summary.run(self.target, (*part, bytes), &|| name.clone());
        }
        for (index, part) in self.target.parts().iter().enumerate() {
            for (number, seed) in part.seeds.iter().enumerate() {
                let name = format!("seed {number} {}", part.name);
                if let (Ok(Taken::Refused), _) = check(self.target, index, seed) {
                    summary.fail(Failure {
                        target: self.target.name().into(),
                        case: name,
                        problem: "a valid input is rejected".into(),
                    });
                } else {
                    summary.run(self.target, (index, seed), &|| name.clone());
                }
            }
        }
    }
}

/// Ends the process if a case takes too long.
#[derive(Debug, Clone)]
pub struct Watchdog {
    begin: Instant,
    /// Milliseconds since the beginning; `u64::MAX` between cases.
    started: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Watchdog {
    /// Starts a thread that watches the cases.
    pub fn start(limit: Duration) -> Self {
        let dog = Self {
            begin: Instant::now(),
            started: Arc::new(AtomicU64::new(u64::MAX)),
            over: Arc::new(AtomicBool::new(false)),
        };
        let own = dog.clone();
        std::thread::spawn(move || {
            while !own.over.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
                let now = own.begin.elapsed().as_millis() as u64;
                let started = own.started.load(Relaxed);
                if u128::from(now.saturating_sub(started)) > limit.as_millis() {
                    crate::scratch::remove();
                    std::process::exit(HUNG);
                }
            }
        });
        dog
    }

    /// Marks the beginning of a case.
    pub fn begin_case(&self) {
        let now = self.begin.elapsed().as_millis() as u64;
        self.started.store(now, Relaxed);
    }

    /// Marks that no case is running.
    pub fn stop(&self) {
        self.started.store(u64::MAX, Relaxed);
        self.over.store(true, Relaxed);
    }
}
