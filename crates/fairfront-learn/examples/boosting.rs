//! Fits and times boosted trees on a table of numbers; `bench/boosting.py` runs it.
//!
//! `boosting fit|cross-fit|predict DIR THREADS ROUNDS SETTINGS` prints one JSON object. DIR holds
//! `shape.json` (rows, training rows, classes, numeric columns, categories per column) and, little
//! endian and row by row, `numbers` (f64), `codes` (u32) and `labels` (u32). SETTINGS is a JSON
//! object of settings. Seconds are CPU time of the whole process, except for `predict`.

#![expect(clippy::print_stdout, reason = "results go to standard output")]

use std::path::Path;
use std::time::Instant;

use fairfront_core::{BLOCK_ROWS, CategoricalFeature, Dataset, Loaded, RowBlock, Schema};
use fairfront_learn::{
    Binned, BoostSettings, Calibrated, ClassProblem, CompiledForest, Folds, Forest, Labels,
    NumberProblem, NumberQuality, Quality, boost, cross_fit,
};
use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(serde::Deserialize)]
struct Shape {
    rows: usize,
    train: usize,
    /// 0 if the labels are numbers.
    classes: usize,
    numeric: usize,
    categories: Vec<u32>,
}

struct Table {
    rows: Loaded,
    labels: Labels,
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().collect();
    let [_, task, folder, threads, rounds, settings] = args.as_slice() else {
        return Err("usage: boosting fit|cross-fit|predict DIR THREADS ROUNDS SETTINGS".into());
    };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.parse()?)
        .build_global()?;
    let rounds: usize = rounds.parse()?;
    let settings: BoostSettings = serde_json::from_str(settings)?;
    let folder = Path::new(folder);
    let shape: Shape = serde_json::from_slice(&std::fs::read(folder.join("shape.json"))?)?;
    let train = read(folder, &shape, 0..shape.train)?;
    let test = read(folder, &shape, shape.train..shape.rows)?;
    let n_classes = shape.classes;
    let weights = vec![1.0; shape.train];
    let start = cpu_s();
    let binned = Binned::of(&train.rows);
    let binned_s = cpu_s() - start;
    let all: Vec<u32> = (0..shape.train as u32).collect();
    let labels = &train.labels;
    let result = match task.as_str() {
        "fit" => {
            let forest = boost(&binned, &all, labels, &weights, rounds, &settings)?;
            let fit_s = cpu_s() - start;
            let bytes = serde_json::to_string(&forest)?.len();
            json!({"cpu_s": fit_s, "bin_s": binned_s, "bytes": bytes, "test": quality(&forest, &test)?})
        }
        "cross-fit" if n_classes == 0 => {
            let problem = number_problem(&train);
            let folds = Folds::by_stratum(&vec![0; shape.train], Folds::DEFAULT, rounds as u64)?;
            let clock = Instant::now();
            let fitted = cross_fit(&binned, &problem, &folds, &settings, &|| false)?;
            let (fit_s, wall_s) = (cpu_s() - start, clock.elapsed().as_secs_f64());
            let calibrated = Calibrated::fit_number(&fitted.out_of_fold, &problem)?;
            let numbers = calibrated.numbers(fitted.out_of_fold.raw());
            let on_test = calibrated.numbers(&raw(&fitted.forest, &test.rows));
            json!({
                "cpu_s": fit_s, "wall_s": wall_s, "rounds": fitted.n_rounds, "slope": calibrated.slope,
                "rounds_tried": fitted.losses.len() - 1, "losses": fitted.losses,
                "out_of_fold": NumberQuality::of(&numbers, &problem)?,
                "test": quality(&fitted.forest, &test)?,
                "calibrated": NumberQuality::of(&on_test, &number_problem(&test))?,
            })
        }
        "cross-fit" => {
            let problem = problem(&train, n_classes);
            let folds = Folds::of(&train.rows, Folds::DEFAULT, rounds as u64)?;
            let clock = Instant::now();
            let fitted = cross_fit(&binned, &problem, &folds, &settings, &|| false)?;
            let (fit_s, wall_s) = (cpu_s() - start, clock.elapsed().as_secs_f64());
            let calibrated = Calibrated::fit(&fitted.out_of_fold, &problem)?;
            let p = calibrated.probabilities(fitted.out_of_fold.raw());
            let held_out = Quality::of(&p, &problem)?;
            let raw = raw(&fitted.forest, &test.rows);
            let on_test = Quality::of(
                &calibrated.probabilities(&raw),
                &self::problem(&test, n_classes),
            )?;
            json!({
                "cpu_s": fit_s, "wall_s": wall_s, "rounds": fitted.n_rounds, "slope": calibrated.slope,
                "rounds_tried": fitted.losses.len() - 1, "losses": fitted.losses,
                "out_of_fold": held_out, "test": quality(&fitted.forest, &test)?, "calibrated": on_test,
            })
        }
        "predict" => {
            let forest = boost(&binned, &all, labels, &weights, rounds, &settings)?;
            let mut seconds = Vec::new();
            let mut sum = 0.0;
            for _ in 0..5 {
                let clock = Instant::now();
                let scores = raw(&forest, &test.rows);
                seconds.push(clock.elapsed().as_secs_f64());
                sum = scores.iter().sum::<f64>();
            }
            json!({"seconds": seconds, "rows": test.rows.n_rows(), "sum": sum})
        }
        other => return Err(format!("unknown task {other}").into()),
    };
    println!("{result}");
    Ok(())
}

fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn problem(table: &Table, n_classes: usize) -> ClassProblem {
    let labels = match &table.labels {
        Labels::Classes { of_row, .. } => of_row.iter().map(|l| Some(*l)).collect(),
        Labels::Numbers(_) => Vec::new(),
    };
    ClassProblem {
        labels,
        n_classes,
        weights: vec![1.0; table.rows.n_rows()],
    }
}

fn number_problem(table: &Table) -> NumberProblem {
    let labels = match &table.labels {
        Labels::Numbers(of_row) => of_row.iter().map(|l| Some(*l)).collect(),
        Labels::Classes { .. } => Vec::new(),
    };
    NumberProblem {
        labels,
        weights: vec![1.0; table.rows.n_rows()],
    }
}

fn raw(forest: &Forest, rows: &Loaded) -> Vec<f64> {
    let blocks: Vec<&RowBlock> = rows.blocks().collect();
    let forest = CompiledForest::new(forest, rows.schema());
    let of_block = |block: &&RowBlock| forest.raw(rows.schema(), block);
    let raw: Vec<Vec<f64>> = blocks.par_iter().map(of_block).collect();
    raw.concat()
}

/// Accuracy, log loss and AUC of uncalibrated scores, or RMSE and R2 of numbers.
fn quality(forest: &Forest, table: &Table) -> Result<serde_json::Value, Failure> {
    let raw = raw(forest, &table.rows);
    let Labels::Classes { of_row, .. } = &table.labels else {
        let NumberQuality {
            squared_error, r2, ..
        } = NumberQuality::of(&raw, &number_problem(table))?;
        return Ok(json!({"rmse": squared_error.sqrt(), "r2": r2}));
    };
    let n = forest.n_classes();
    let p = Calibrated::identity(n).probabilities(&raw);
    let rows = p.chunks_exact(n).zip(of_row);
    let hits = rows.filter(|(p, label)| p.iter().all(|q| *q <= p[**label as usize]));
    let accuracy = hits.count() as f64 / of_row.len() as f64;
    let Quality { log_loss, auc, .. } = Quality::of(&p, &problem(table, n))?;
    Ok(json!({"accuracy": accuracy, "log_loss": log_loss, "auc": auc}))
}

fn read(folder: &Path, shape: &Shape, rows: std::ops::Range<usize>) -> Result<Table, Failure> {
    let n_columns = shape.categories.len();
    let words = |name: &str, per_row: usize| -> Result<Vec<u32>, Failure> {
        let bytes = std::fs::read(folder.join(name))?;
        let own = &bytes[rows.start * per_row * 4..rows.end * per_row * 4];
        let (chunks, _) = own.as_chunks::<4>();
        Ok(chunks.iter().map(|b| u32::from_le_bytes(*b)).collect())
    };
    let doubles = |name: &str, per_row: usize| -> Result<Vec<f64>, Failure> {
        let bytes = std::fs::read(folder.join(name))?;
        let own = &bytes[rows.start * per_row * 8..rows.end * per_row * 8];
        let (chunks, _) = own.as_chunks::<8>();
        Ok(chunks.iter().map(|b| f64::from_le_bytes(*b)).collect())
    };
    let numbers = doubles("numbers", shape.numeric)?;
    let mut codes = words("codes", n_columns)?;
    let labels = match shape.classes {
        0 => Labels::Numbers(doubles("labels", 1)?),
        n_classes => Labels::Classes {
            of_row: words("labels", 1)?,
            n_classes,
        },
    };
    let schema = Schema {
        numeric: (0..shape.numeric).map(|i| format!("x{i}")).collect(),
        categorical: (shape.categories.iter().enumerate())
            .map(|(i, n)| CategoricalFeature {
                column: format!("c{i}"),
                categories: (0..*n).map(|k| k.to_string()).collect(),
            })
            .collect(),
        attributes: Vec::new(),
        target: fairfront_core::Target::Binary,
        hidden: 0,
    };
    let offsets = schema.offsets();
    for row in codes.chunks_exact_mut(n_columns.max(1)) {
        for ((code, first), n) in row.iter_mut().zip(&offsets).zip(&shape.categories) {
            *code = if *code < *n {
                *code + first
            } else {
                schema.null_feature()
            };
        }
    }
    let blocks = (0..rows.len()).step_by(BLOCK_ROWS).map(|start| {
        let end = (start + BLOCK_ROWS).min(rows.len());
        // The labels of blocks only decide the folds of classes.
        let label = |row: usize| match &labels {
            Labels::Classes { of_row, .. } if of_row[row] == 1 => 1.0,
            _ => -1.0,
        };
        RowBlock::new(
            &schema,
            numbers[start * shape.numeric..end * shape.numeric].to_vec(),
            codes[start * n_columns..end * n_columns].to_vec(),
            (start..end).map(label).collect(),
            Vec::new(),
            vec![1.0; end - start],
        )
    });
    let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    Ok(Table {
        rows: Dataset::new(schema, blocks)?.loaded()?,
        labels,
    })
}
