//! Measures indicators of the points in a CSV file, which has one point per line and no header.
//!
//! `indicators hypervolume|nondominated FILE OBJECTIVES REPETITIONS` prints JSON: the seconds of
//! each repetition, and the result. The reference point is 1 in every objective; the result of the
//! filter is the number of points kept.

#![expect(clippy::print_stdout, reason = "results go to standard output")]

use std::time::Instant;

use anyhow::{Context, bail};
use fairfront_pareto::{Values, hypervolume, nondominated};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [task, file, m, repetitions] => time(task, file, m.parse()?, repetitions.parse()?),
        _ => bail!("usage: indicators hypervolume|nondominated FILE OBJECTIVES REPETITIONS"),
    }
}

fn read(file: &str) -> anyhow::Result<Vec<f64>> {
    let text = std::fs::read_to_string(file).context(file.to_owned())?;
    let numbers = text.split([',', '\n']).filter(|t| !t.is_empty());
    Ok(numbers.map(str::parse).collect::<Result<_, _>>()?)
}

fn time(task: &str, file: &str, m: usize, repetitions: usize) -> anyhow::Result<()> {
    let data = read(file)?;
    let reference = vec![1.0; m];
    let mut seconds = Vec::new();
    let mut result = 0.0;
    for _ in 0..repetitions {
        let start = Instant::now();
        // The time includes the check for NaN.
        let values = Values::new(&data, m)?;
        result = match task {
            "hypervolume" => hypervolume(values, &reference)?,
            "nondominated" => nondominated(values).len() as f64,
            _ => bail!("{task:?}: is not an indicator; choose hypervolume or nondominated"),
        };
        seconds.push(start.elapsed().as_secs_f64());
    }
    println!("{{\"seconds\": {seconds:?}, \"result\": {result:?}}}");
    Ok(())
}
