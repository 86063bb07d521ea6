//! Evaluates log loss and score covariance of many models on the training rows of Adult:
//! `evaluate POINTS.csv THREADS REPETITIONS`. Prints the seconds of each repetition and the values.
//! POINTS.csv has one line of parameters per model and no header.

#![expect(clippy::print_stdout, reason = "results go to standard output")]

use std::sync::Arc;
use std::time::Instant;

use fairfront_core::{Condition, Covariance, FairProblem, Linear, LogLoss, Points, Problem};
use fairfront_data::{Encoded, Known, Part, Prepared, data_folder};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1])?;
    let threads: usize = args[2].parse()?;
    let repetitions: usize = args[3].parse()?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let known = Known::parse("adult:sex")?.ok_or_else(|| anyhow::anyhow!("no such data set"))?;
    let prepared = Prepared::from_known(&known, &known.spec(), data_folder().as_deref())?;
    let rows = Encoded::new(&prepared)?.part(Part::Train).clone();
    let attribute = rows.schema().attributes[0].clone();
    let problem = FairProblem::new(
        Arc::new(rows),
        Box::new(Linear),
        vec![
            Box::new(LogLoss::default()),
            Box::new(Covariance::new(Condition::All, 0, &attribute)),
        ],
    )?;
    let numbers: Result<Vec<f64>, _> = text
        .split([',', '\n'])
        .filter(|t| !t.is_empty())
        .map(str::parse)
        .collect();
    let points = Points::from_vec(problem.n_params(), numbers?);
    let mut seconds = Vec::new();
    let mut values = Vec::new();
    for _ in 0..repetitions {
        let start = Instant::now();
        values = problem.values(&points)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    println!(
        "{{\"points\": {}, \"rows\": {}, \"seconds\": {seconds:?}, \"values\": {values:?}}}",
        points.len(),
        problem.n_rows()
    );
    Ok(())
}
