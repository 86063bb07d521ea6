//! From a CSV file to a certified model: fit, select, write, predict.
//!
//! `cargo run --release --example loans`

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::fs::{self, File};

use fairfront::data::{Known, Prepared, write_rows};
use fairfront::model::score_file;
use fairfront::{Choose, Error, Fit};

/// Writes simulated loan decisions to a folder, so that the example needs no other file.
fn loans(folder: &std::path::Path) -> Result<String, Box<dyn std::error::Error>> {
    let known = Known::parse("demo(rows=4000)")?.ok_or("the demo is a known data set")?;
    let prepared = Prepared::from_known(&known, &known.spec(), None)?;
    let path = folder.join("loans.csv");
    write_rows(&prepared, File::create(&path)?)?;
    Ok(path.to_string_lossy().into_owned())
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("fairfront-loans-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let csv = loans(&folder)?;

    let mut front = Fit::from_path(&csv)
        .target("approved", "yes")
        .sensitive("sex")
        .drop("race")
        .drop("split")
        .models(40)
        .require("demographic_parity_difference(sex) <= 0.15")
        .run()?;
    println!("{} models", front.len());

    let chosen = match front.select(&Choose::best("accuracy")) {
        Ok(chosen) => chosen,
        // No model can be certified: choose one without a test.
        Err(Error::Uncertified(_)) => front.select(
            &Choose::best("accuracy")
                .require("demographic_parity_difference(sex) <= 0.15")
                .untested(),
        )?,
        Err(error) => return Err(error.into()),
    };
    println!("model {}: {}", chosen.model_id(), chosen.sentence());

    chosen.write(folder.join("model.json"))?;
    front.write(folder.join("run"))?;
    let scores = score_file(chosen.model(), &csv)?;
    let selected = scores.iter().filter(|score| **score >= 0.0).count();
    println!("{selected} of {} applicants are selected", scores.len());

    fs::remove_dir_all(&folder)?;
    Ok(())
}
