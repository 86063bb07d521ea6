//! Reads CSV files with the columns of Adult into encoded training, validation and test rows, and
//! prints the seconds: `load FILE…`.

#![expect(clippy::print_stdout, reason = "results go to standard output")]

use std::time::Instant;

use fairfront_data::{Encoded, Known, Part, Prepared, ReadOptions};

fn main() -> anyhow::Result<()> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let known = Known::parse("adult:sex")?.ok_or_else(|| anyhow::anyhow!("no such data set"))?;
    let start = Instant::now();
    let prepared = Prepared::from_files(&files, &known.spec(), ReadOptions::default())?;
    let read = start.elapsed().as_secs_f64();
    let encoded = Encoded::new(&prepared)?;
    let total = start.elapsed().as_secs_f64();
    let rows: usize = Part::ALL.iter().map(|p| encoded.part(*p).n_rows()).sum();
    let features = encoded.encoding.schema().n_features();
    println!(
        "{{\"rows\": {rows}, \"features\": {features}, \"read_s\": {read}, \"total_s\": {total}}}"
    );
    Ok(())
}
