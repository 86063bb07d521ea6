//! Computes the exact front of a known data set: `trace NAME MODELS THREADS REPETITIONS`. Prints
//! its values, its optimality gaps and the seconds. With one thread, wall time is CPU time.

#![expect(clippy::print_stdout, reason = "results go to standard output")]

use std::sync::Arc;
use std::time::Instant;

use fairfront_core::{Condition, Covariance, FairProblem, Linear, LogLoss, Objective};
use fairfront_data::{Encoded, Known, Part, Prepared, data_folder};
use fairfront_solve::{Solver, Trace};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let known = Known::parse(&args[1])?
        .ok_or_else(|| anyhow::anyhow!("{:?}: is not a known data set", args[1]))?;
    let points: usize = args[2].parse()?;
    let threads: usize = args[3].parse()?;
    let repetitions: usize = args[4].parse()?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let prepared = Prepared::from_known(&known, &known.spec(), data_folder().as_deref())?;
    let encoded = Encoded::new(&prepared)?;
    let rows = Arc::new(encoded.part(Part::Train).clone());
    let settings = Trace {
        points,
        ..Trace::default()
    };
    let mut solving = Vec::new();
    let mut last = None;
    for _ in 0..repetitions {
        let start = Instant::now();
        let mut objectives: Vec<Box<dyn Objective>> = vec![Box::new(LogLoss::default())];
        for (index, attribute) in rows.schema().attributes.iter().enumerate() {
            let given = Condition::All;
            objectives.push(Box::new(Covariance::new(given, index, attribute)));
        }
        let problem = FairProblem::new(rows.clone(), Box::new(Linear), objectives)?;
        let outcome = settings.solve(&problem, &mut ())?;
        solving.push(start.elapsed().as_secs_f64());
        last = Some(outcome);
    }
    let Some(outcome) = last else {
        anyhow::bail!("REPETITIONS: is 0; pass at least 1");
    };
    let gaps: Vec<f64> = outcome.proofs.iter().filter_map(|c| c.gap).collect();
    println!(
        "{{\"rows\": {}, \"points\": {}, \"seconds\": {solving:?}, \
         \"nodes\": {}, \"evaluations\": {}, \"gradients\": {:?}, \"hole\": {:?},",
        rows.n_rows(),
        outcome.front.len(),
        outcome.counters.points_by_round.len(),
        outcome.counters.evaluations,
        outcome.counters.gradient_evaluations,
        outcome.counters.largest_hole.unwrap_or(0.0),
    );
    println!("\"gaps\": {gaps:?},");
    println!("\"values\": {:?}}}", outcome.front.values);
    Ok(())
}
