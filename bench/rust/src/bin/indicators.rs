//! The time that indicators of points in a CSV file take (one point per line, no header), as JSON.
//!
//! `indicators hypervolume|nondominated FILE OBJECTIVES REPETITIONS` prints the seconds of each
//! repetition, and the result (reference point 1 in every objective; for the filter the number of
//! points kept).

#![expect(
    clippy::print_stdout,
    reason = "a measuring program prints what it measured"
)]

use std::time::Instant;

use anyhow::{Context, bail};
use fairfront_pareto::{Values, hypervolume, nondominated};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [what, file, m, repetitions] => time(what, file, m.parse()?, repetitions.parse()?),
        _ => bail!("usage: indicators hypervolume|nondominated FILE OBJECTIVES REPETITIONS"),
    }
}

fn read(file: &str) -> anyhow::Result<Vec<f64>> {
    let text = std::fs::read_to_string(file).context(file.to_owned())?;
    let numbers = text.split([',', '\n']).filter(|t| !t.is_empty());
    Ok(numbers.map(str::parse).collect::<Result<_, _>>()?)
}

fn time(what: &str, file: &str, m: usize, repetitions: usize) -> anyhow::Result<()> {
    let data = read(file)?;
    let reference = vec![1.0; m];
    let mut seconds = Vec::new();
    let mut result = 0.0;
    for _ in 0..repetitions {
        let start = Instant::now();
        // The check for NaN is part of it.
        let values = Values::new(&data, m)?;
        result = match what {
            "hypervolume" => hypervolume(values, &reference)?,
            "nondominated" => nondominated(values).len() as f64,
            _ => bail!("hypervolume or nondominated"),
        };
        seconds.push(start.elapsed().as_secs_f64());
    }
    println!("{{\"seconds\": {seconds:?}, \"result\": {result:?}}}");
    Ok(())
}
