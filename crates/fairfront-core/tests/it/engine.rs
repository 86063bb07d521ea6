//! The interface between problems and engines: an engine in another process gives the same bytes.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use fairfront_core::{
    BLOCKS_PER_TASK, Batches, BothSides, Costs, Counts, Dataset, Engine, Error, FairProblem,
    Linear, Map, Measure, Nearest, Network, Objective, OuterBatch, Over, Pass, Points, Precision,
    Problem, RowBlock, RowSource, Schema, Statistics, StopSignal, UNKNOWN_GROUP, Wanted,
    better_thresholds, calibrate, calibrate_scale, measure,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::group_objective::mixed;
use crate::group_plain::Settings;
use crate::objective::{N_PARAMS, points};
use crate::plain::{dataset, rows};

const SEED: &str = "FAIRFRONT_TEST_WORKER";
const ANSWER: &str = "sums: ";
/// Number of rows of the table: six tasks, the last one with fewer blocks.
const N_ROWS: usize = 22_000;
const N_GROUPS: usize = 3;

fn table(seed: u64) -> Dataset {
    dataset(&rows(seed, N_ROWS, N_GROUPS, true), N_GROUPS)
}

/// A pass over some blocks; without blocks, over a sample of all rows.
#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Request<'a> {
    blocks: Option<(usize, usize)>,
    pass: Cow<'a, str>,
    /// Whether rows are requested instead of sums.
    nearest: bool,
}

/// Rows that only another process holds: one task per request.
struct Remote {
    schema: Schema,
    worker: Mutex<(Child, ChildStdin, BufReader<ChildStdout>)>,
}

impl Remote {
    fn start(seed: u64, schema: Schema) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["engine::worker", "--exact", "--ignored", "--nocapture"])
            .env(SEED, seed.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a second process");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            schema,
            worker: Mutex::new((child, input, output)),
        }
    }

    fn ask(&self, blocks: Option<(usize, usize)>, pass: &str) -> Vec<f64> {
        self.answer(&Request {
            blocks,
            pass: Cow::Borrowed(pass),
            nearest: false,
        })
    }

    fn answer<T: serde::de::DeserializeOwned>(&self, request: &Request<'_>) -> T {
        let mut worker = self.worker.lock().expect("no panic");
        let (_, input, output) = &mut *worker;
        let request = serde_json::to_string(request).expect("data");
        writeln!(input, "{request}").expect("a live worker");
        let mut line = String::new();
        loop {
            line.clear();
            assert!(output.read_line(&mut line).expect("a live worker") > 0);
            // The test harness also prints lines; the first answer follows one of them.
            if let Some(at) = line.find(ANSWER) {
                return serde_json::from_str(&line[at + ANSWER.len()..]).expect("sums");
            }
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let (child, ..) = self.worker.get_mut().expect("no panic");
        child.kill().expect("a live worker");
        child.wait().expect("an ended worker");
    }
}

impl Engine for Remote {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn n_rows(&self) -> u64 {
        N_ROWS as u64
    }

    fn sum(&self, pass: &Pass<'_>) -> Result<Vec<f64>, Error> {
        let text = serde_json::to_string(pass).map_err(|e| Error::Custom(Box::new(e)))?;
        if matches!(pass.over, Over::Sample(_)) {
            return Ok(self.ask(None, &text));
        }
        let n_blocks = N_ROWS.div_ceil(fairfront_core::BLOCK_ROWS);
        let mut total = vec![0.0; pass.len(&self.schema)];
        for first in (0..n_blocks).step_by(BLOCKS_PER_TASK) {
            let last = (first + BLOCKS_PER_TASK).min(n_blocks);
            let part = self.ask(Some((first, last)), &text);
            assert_eq!(part.len(), total.len());
            for (total, value) in total.iter_mut().zip(part) {
                *total += value;
            }
        }
        Ok(total)
    }

    fn nearest(&self, nearest: &Nearest<'_>) -> Result<Vec<BothSides>, Error> {
        let text = serde_json::to_string(nearest).map_err(|e| Error::Custom(Box::new(e)))?;
        Ok(self.answer(&Request {
            blocks: None,
            pass: Cow::Owned(text),
            nearest: true,
        }))
    }
}

/// The other process. It does nothing in a run of all tests.
#[test]
#[ignore = "worker process of the engine tests"]
fn worker() {
    let Ok(seed) = std::env::var(SEED) else {
        return;
    };
    let table = table(seed.parse().expect("a seed"));
    for line in std::io::stdin().lines() {
        let line = line.expect("requests");
        let request: Request<'_> = serde_json::from_str(&line).expect("a request");
        if request.nearest {
            let nearest: Nearest<'_> = serde_json::from_str(&request.pass).expect("a pass");
            let rows = table.nearest(&nearest).expect("rows");
            let rows = serde_json::to_string(&rows).expect("data");
            writeln!(std::io::stdout(), "{ANSWER}{rows}").expect("a reader");
            continue;
        }
        let pass: Pass<'_> = serde_json::from_str(&request.pass).expect("a pass");
        let sums = match request.blocks {
            None => table.sum(&pass).expect("sums"),
            Some((first, last)) => {
                let blocks = (first..last).map(|i| table.block(i).expect("a block"));
                let blocks: Vec<_> = blocks.collect();
                pass.of_blocks(table.schema(), &blocks).expect("sums")
            }
        };
        let sums = serde_json::to_string(&sums).expect("numbers");
        writeln!(std::io::stdout(), "{ANSWER}{sums}").expect("a reader");
    }
}

fn objectives() -> Vec<Box<dyn Objective>> {
    let settings = Settings {
        tau: 0.3,
        beta: 20.0,
        alpha: 0.6,
        mu: 0.05,
        clamp: 1e-6,
        lambda: 1e-3,
        shrink: 0.01,
        costs: Costs {
            false_positive: 1.0,
            false_negative: 3.0,
        },
    };
    mixed(N_GROUPS, &settings)
}

#[test]
fn an_engine_in_another_process_gives_the_same_bytes() {
    let seed = 5;
    let here: Arc<Dataset> = Arc::new(table(seed));
    let there: Arc<dyn Engine> = Arc::new(Remote::start(seed, here.schema().clone()));
    let problem = |engine: Arc<dyn Engine>| {
        FairProblem::new(engine, Box::new(Linear), objectives()).expect("a problem")
    };
    let (a, b) = (problem(here.clone()), problem(Arc::clone(&there)));
    // One point, a few and many: kernels of all widths.
    for n in [1, 5, 40] {
        let points = points(seed, n, 0.6);
        assert_eq!(a.values(&points).unwrap(), b.values(&points).unwrap());
        let batches = Batches::Sample {
            sizes: &[300; 20],
            key: (3, [1, 4]),
            outer: OuterBatch::Own,
        };
        let of_paper = Batches::Sample {
            sizes: &[300; 20],
            key: (3, [1, 4]),
            outer: OuterBatch::Shared,
        };
        for batches in [Batches::All, batches, of_paper] {
            let gradients = a.gradients(&points, batches).unwrap();
            assert_eq!(gradients, b.gradients(&points, batches).unwrap());
        }
        assert_eq!(a.evaluate(&points).unwrap(), b.evaluate(&points).unwrap());
        let weights = vec![0.3; n * a.n_objectives()];
        for precision in [Precision::Exact, Precision::Rough] {
            let sums = a.weighted(&points, &weights, precision).unwrap();
            assert_eq!(sums, b.weighted(&points, &weights, precision).unwrap());
        }
        let measured = measure(&Linear, here.as_ref(), &points).unwrap();
        assert_eq!(measured, measure(&Linear, there.as_ref(), &points).unwrap());
        let by = [
            Measure::ErrorRate(Costs::EQUAL),
            Measure::DemographicParity { attribute: 0 },
        ];
        let better = better_thresholds(&Linear, here.as_ref(), &points, &by).unwrap();
        assert_eq!(
            better,
            better_thresholds(&Linear, there.as_ref(), &points, &by).unwrap()
        );
        let scaled = calibrate_scale(&Linear, here.as_ref(), &points).unwrap();
        assert_eq!(
            scaled,
            calibrate_scale(&Linear, there.as_ref(), &points).unwrap()
        );
        let calibrated = calibrate(&Linear, here.as_ref(), &points).unwrap();
        assert_eq!(
            calibrated,
            calibrate(&Linear, there.as_ref(), &points).unwrap()
        );
    }
    let at = points(seed, 1, 0.6);
    let at = at.get(0);
    let expanded = |p: &dyn Problem| p.second_order().map(|s| s.expand(at).unwrap());
    assert_eq!(expanded(&a), expanded(&b));
    let bounds = |p: &dyn Problem| p.bounds(0.7).unwrap();
    assert_eq!(bounds(&a), bounds(&b));
    let roots = |p: &dyn Problem| p.roots_of(2).unwrap().at(at).unwrap();
    assert_eq!(roots(&a), roots(&b));
    let size = |p: &dyn Problem| p.roots_of(2).unwrap().size(at).unwrap();
    assert_eq!(size(&a), size(&b));
    for attribute in [None, Some(0)] {
        let counts = Counts::of(here.as_ref(), attribute).unwrap();
        assert_eq!(counts, Counts::of(there.as_ref(), attribute).unwrap());
        let n: u64 = counts.rows.iter().flatten().sum();
        let unknown = here
            .blocks()
            .flat_map(|b| b.groups(0))
            .filter(|g| **g == UNKNOWN_GROUP);
        let left_out = attribute.map_or(0, |_| unknown.count());
        assert_eq!(n as usize, N_ROWS - left_out);
        let positives = here
            .blocks()
            .flat_map(RowBlock::labels)
            .filter(|y| **y > 0.0);
        if attribute.is_none() {
            assert_eq!(counts.of_label(0, Some(1.0)) as usize, positives.count());
        }
    }
    let stop = StopSignal::default();
    let minimizer = |p: &dyn Problem| p.minimizer(None, &stop).unwrap();
    assert_eq!(minimizer(&a), minimizer(&b));
    assert_eq!(
        a.meaningful_on(here.as_ref()).unwrap(),
        b.meaningful_on(there.as_ref()).unwrap()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// A point's numbers do not depend on the number of points computed with it, or on threads.
    #[test]
    fn points_are_independent_of_each_other(seed: u64, n in 2_usize..70, weighted: bool) {
        let data = Arc::new(dataset(&rows(seed, 5_000, N_GROUPS, weighted), N_GROUPS));
            let all = FairProblem::new(data, Box::new(Linear), objectives()).unwrap();
        let points = points(seed, n, 0.6);
        let m = all.n_objectives();
        let (values, gradients) = all.evaluate(&points).unwrap();
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for i in [0, n / 2, n - 1] {
            let one = Points::from_vec(N_PARAMS, points.get(i).to_vec());
            let (own, own_gradients) = one_thread.install(|| all.evaluate(&one)).unwrap();
            prop_assert_eq!(&own[..], &values[i * m..(i + 1) * m]);
            for k in 0..m {
                prop_assert_eq!(own_gradients.get(k, 0), gradients.get(k, i));
            }
        }
    }
}

/// The caller's own predictors cannot leave the host; passes with them cannot be serialized.
#[test]
fn passes_with_the_callers_code_cannot_be_serialized() {
    struct Opaque;
    impl fairfront_core::Predictor for Opaque {
        fn n_params(&self, _: &Schema) -> usize {
            1
        }
        fn penalized(&self, _: &Schema) -> std::ops::Range<usize> {
            0..1
        }
        fn scores(
            &self,
            _: &fairfront_core::Rows,
            _: &[fairfront_core::Lanes],
            _: &mut [fairfront_core::Lanes],
        ) {
        }
        fn pull_back(
            &self,
            _: &fairfront_core::Rows,
            _: &[fairfront_core::Lanes],
            _: &[fairfront_core::Lanes],
            _: &mut [fairfront_core::Lanes],
        ) {
        }
    }
    let pass = |map| Pass {
        map,
        points: Cow::Owned(Points::new(1)),
        wanted: Wanted::Sums {
            statistics: Cow::Owned(vec![Statistics::ByCell {
                output: fairfront_core::Output::Step,
                cells: fairfront_core::Cells::ALL,
            }]),
        },
        over: Over::All,
    };
    assert!(serde_json::to_string(&pass(Map::of(&Linear))).is_ok());
    assert!(serde_json::to_string(&pass(Map::of(&Network { hidden: 2 }))).is_ok());
    assert!(serde_json::to_string(&pass(Map::of(&Opaque))).is_err());
}
