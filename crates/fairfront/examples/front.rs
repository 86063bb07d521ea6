//! Fits a front with chosen objectives, prints its columns and selects the knee.
//!
//! `cargo run --release --example front`

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use fairfront::{Choose, Fit};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut front = Fit::from_known("demo(rows=2000)")?
        .objective("log_loss")
        .objective("score_covariance(sex)")
        .models(20)
        .seed(7)
        .run()?;
    let accuracy = front.column("test.accuracy").ok_or("a column")?;
    let ratio = front
        .column("test.demographic_parity_ratio(sex)")
        .ok_or("a column")?;
    for (accuracy, ratio) in accuracy.iter().zip(ratio) {
        if let (Some(accuracy), Some(ratio)) = (accuracy, ratio) {
            println!("accuracy {accuracy:.3}, ratio of selection rates {ratio:.3}");
        }
    }
    let knee = front.select(&Choose::knee())?;
    println!("the knee is model {}: {}", knee.model_id(), knee.sentence());
    Ok(())
}
