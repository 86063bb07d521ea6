//! Indicators of points in CSV files (one a line, without header), as JSON.
//!
//! - `indicators time hypervolume|nondominated FILE OBJECTIVES REPETITIONS`: seconds of each
//!   repetition, and the result (reference point 1 in every objective; for the filter the number of
//!   points kept).
//! - `indicators values FRONT UNION REFERENCE…`: everything about FRONT, next to UNION.

#![expect(
    clippy::print_stdout,
    reason = "a measuring program prints what it measured"
)]

use std::time::Instant;

use anyhow::{Context, bail};
use fairfront_pareto::{
    RunningHypervolume, Values, additive_epsilon, contributions, coverage, hypervolume, igd_plus,
    knee, nondominated, purity, spread,
};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["time", what, file, m, repetitions] => time(what, file, m.parse()?, repetitions.parse()?),
        ["values", front, union, ref reference @ ..] => {
            let reference: Result<Vec<f64>, _> = reference.iter().map(|v| v.parse()).collect();
            values(front, union, &reference?)
        }
        _ => bail!("usage: indicators time|values …"),
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

fn values(front: &str, union: &str, reference: &[f64]) -> anyhow::Result<()> {
    let m = reference.len();
    let (front, union) = (read(front)?, read(union)?);
    let (front, union) = (Values::new(&front, m)?, Values::new(&union, m)?);
    let mut running = RunningHypervolume::new(reference)?;
    for point in front {
        running.insert(point)?;
    }
    let spread = spread(front, union)?;
    let knee = knee(front).map_or_else(|| "null".into(), |i| i.to_string());
    println!(
        "{{\"nondominated\": {:?}, \"hypervolume\": {:?}, \"running\": {:?}, \"contributions\": {:?},",
        nondominated(front),
        hypervolume(front, reference)?,
        running.volume(),
        contributions(front, reference)?,
    );
    println!(
        "\"purity\": {:?}, \"coverage\": {:?}, \"epsilon\": {:?}, \"igd_plus\": {:?}, \"knee\": {knee},",
        purity(front, union)?,
        coverage(front, union)?,
        additive_epsilon(front, union)?,
        igd_plus(front, union)?,
    );
    println!(
        "\"gamma\": {:?}, \"scaled_gamma\": {:?}, \"delta\": {:?}}}",
        spread.gamma, spread.scaled_gamma, spread.delta
    );
    Ok(())
}
