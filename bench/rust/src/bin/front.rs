//! Runs PF-SMG on a known data set: `front NAME SEED [positive]`. Prints the values of the front,
//! the numbers of evaluations and the time.

#![expect(clippy::print_stdout, reason = "results go to standard output")]

use std::sync::Arc;
use std::time::Instant;

use fairfront_core::{Condition, Covariance, FairProblem, Linear, LogLoss, Objective};
use fairfront_data::{Encoded, Known, Part, Prepared, data_folder};
use fairfront_solve::{PfSmg, Solver};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let known = Known::parse(&args[1])?
        .ok_or_else(|| anyhow::anyhow!("{:?}: is not a known data set", args[1]))?;
    let seed: u64 = args[2].parse()?;
    let given = match args.get(3).map(String::as_str) {
        Some("positive") => Condition::Positive,
        _ => Condition::All,
    };
    let prepared = Prepared::from_known(&known, &known.spec(), data_folder().as_deref())?;
    let encoded = Encoded::new(&prepared)?;
    let rows = encoded.part(Part::Train).clone();
    let mut objectives: Vec<Box<dyn Objective>> = vec![Box::new(LogLoss::default())];
    for (index, attribute) in rows.schema().attributes.iter().enumerate() {
        objectives.push(Box::new(Covariance::new(given, index, attribute)));
    }
    let m = objectives.len();
    let start = Instant::now();
    let problem = FairProblem::new(Arc::new(rows), Box::new(Linear), objectives)?;
    let solver = PfSmg {
        seed,
        ..PfSmg::default()
    };
    let outcome = solver.solve(&problem, &mut ())?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{{\"seconds\": {seconds}, \"points\": {}, \"stop\": \"{:?}\", \"rounds\": {}, \"gradients\": {:?}, \"evaluations\": {}, \"m\": {m},",
        outcome.front.len(),
        outcome.stop,
        outcome.counters.points_by_round.len(),
        outcome.counters.gradient_evaluations,
        outcome.counters.evaluations,
    );
    println!("\"unmitigated\": {:?},", outcome.unmitigated.values);
    println!("\"values\": {:?}}}", outcome.front.values);
    Ok(())
}
