//! The interface between problems and engines: rows that workers hold give the same bytes.

use std::borrow::Cow;
use std::sync::Arc;

use fairfront_core::{
    BLOCKS_PER_SUPER_BLOCK, Batches, Costs, Counts, Dataset, Distributed, Engine, Error,
    FairProblem, Linear, Map, Measure, Network, Objective, OuterBatch, Over, Pass, Points,
    Precision, Problem, RowBlock, RowSource, Schema, Shard, Statistics, StopSignal, UNKNOWN_GROUP,
    Wanted, Workers, better_thresholds, calibrate, calibrate_scale, measure,
};
use proptest::prelude::*;

use crate::group_objective::mixed;
use crate::group_plain::Settings;
use crate::objective::{N_PARAMS, points};
use crate::plain::{dataset, rows};

/// Number of rows of the table: three super-blocks, the last one incomplete.
const N_ROWS: usize = 2 * 32_768 + 5_000;
const N_GROUPS: usize = 3;

fn table(seed: u64) -> Dataset {
    dataset(&rows(seed, N_ROWS, N_GROUPS, true), N_GROUPS)
}

/// Workers in this process.
struct Local {
    shards: Vec<Shard>,
}

impl Local {
    /// Workers that hold these super-blocks each.
    fn new(rows: &Dataset, held: &[&[usize]]) -> Self {
        let shard = |super_blocks: &&[usize]| {
            let mut shard = Shard::new(rows.schema().clone(), rows.n_rows() as u64);
            for &index in *super_blocks {
                let first = index * BLOCKS_PER_SUPER_BLOCK;
                let last = (first + BLOCKS_PER_SUPER_BLOCK).min(rows.n_blocks());
                let blocks = (first..last).map(|i| RowBlock::clone(&rows.block(i).unwrap()));
                shard.hold(index, blocks.collect()).unwrap();
            }
            shard
        };
        Self {
            shards: held.iter().map(shard).collect(),
        }
    }

    fn engine(self, schema: &Schema) -> Distributed {
        Distributed::new(schema.clone(), N_ROWS as u64, 0, Arc::new(self))
    }
}

impl Workers for Local {
    fn ask(
        &self,
        part: usize,
        request: &[u8],
        block: Option<usize>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        assert_eq!(part, 0);
        let super_block = block.map(|block| block / BLOCKS_PER_SUPER_BLOCK);
        let holds = |shard: &&Shard| super_block.is_none_or(|own| shard.held().any(|s| s == own));
        let shards = self.shards.iter().filter(holds);
        shards.map(|shard| shard.answer(request)).collect()
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
fn rows_of_workers_give_the_same_bytes() {
    let here: Arc<Dataset> = Arc::new(table(5));
    // A worker may hold super-blocks that are not next to each other, or none.
    let held: [&[&[usize]]; 2] = [&[&[0, 1, 2]], &[&[2, 0], &[], &[1]]];
    for held in held {
        compare(&here, Local::new(&here, held));
    }
}

#[test]
fn missing_super_blocks_are_an_error() {
    let here = table(6);
    let there = Local::new(&here, &[&[0], &[2]]).engine(here.schema());
    let error = Counts::of(&there, None).unwrap_err().to_string();
    assert_eq!(
        error,
        "the workers failed: their answers do not cover the 3 super-blocks of the rows"
    );
}

fn compare(here: &Arc<Dataset>, workers: Local) {
    let seed = 5;
    let there: Arc<dyn Engine> = Arc::new(workers.engine(here.schema()));
    let problem = |engine: Arc<dyn Engine>| {
        FairProblem::new(engine, Box::new(Linear), objectives()).expect("a problem")
    };
    let (a, b) = (problem(here.clone()), problem(Arc::clone(&there)));
    // One point, a few and many: kernels of all widths.
    for n in [1, 5, 33] {
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
        let loaded = here.loaded().unwrap();
        let unknown = loaded
            .blocks()
            .flat_map(|b| b.groups(0))
            .filter(|g| **g == UNKNOWN_GROUP);
        let left_out = attribute.map_or(0, |_| unknown.count());
        assert_eq!(n as usize, N_ROWS - left_out);
        let positives = loaded
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
