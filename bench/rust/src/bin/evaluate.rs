//! Evaluates log loss and disparate impact of many points on the training rows of Adult, and
//! prints the seconds of each repetition and the values: `evaluate POINTS.csv THREADS REPETITIONS`.
//! POINTS.csv has one point a line, without header.

#![expect(
    clippy::print_stdout,
    reason = "a measuring program prints what it measured"
)]

use std::sync::Arc;
use std::time::Instant;

use fairfront_core::{Covariance, FairProblem, Kind, Linear, LogLoss, Points, Problem};
use fairfront_data::{Encoded, Known, Part, Prepared, data_folder};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1])?;
    let threads: usize = args[2].parse()?;
    let repetitions: usize = args[3].parse()?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let known = Known::parse("adult:gender")?.ok_or_else(|| anyhow::anyhow!("no such data set"))?;
    let prepared = Prepared::from_known(&known, &known.spec(), data_folder().as_deref())?;
    let rows = Encoded::new(&prepared)?.part(Part::Train).clone();
    let attribute = rows.schema().attributes[0].clone();
    let problem = FairProblem::new(
        Arc::new(rows),
        Box::new(Linear),
        vec![
            Box::new(LogLoss::default()),
            Box::new(Covariance::new(Kind::DisparateImpact, 0, &attribute)),
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
