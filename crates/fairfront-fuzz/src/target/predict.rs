//! Rows that `predict` scores.

use fairfront_model::{Model, PredictOptions, Predictions, predict};

use super::table::{arrived, pool, seeds};
use crate::mutate::Form;
use crate::{Part, Taken, Target, fixture, scratch};

/// Rows to score: the output is the same for any number of threads and any batch size.
pub(super) struct Predict;

impl Target for Predict {
    fn name(&self) -> &'static str {
        "predict"
    }
    fn parts(&self) -> Vec<Part> {
        // The others lack columns of the model.
        let seeds = seeds();
        let seeds = [0, 1, 3].map(|index: usize| seeds[index].clone()).to_vec();
        vec![Part {
            name: "",
            form: Form::Csv,
            seeds,
        }]
    }
    fn turns(&self) -> usize {
        10
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let model = Model::from_json(fixture::model()).map_err(|e| e.to_string())?;
        let file = scratch::file("rows.csv", input)?;
        let score = |many: bool, batch_rows: usize, audit: bool| {
            let options = PredictOptions {
                batch_rows,
                audit,
                ..PredictOptions::default()
            };
            let mut lines = Vec::new();
            let done = pool(many)
                .install(|| predict(&model, &file, &options, Predictions::Csv(&mut lines)));
            done.map(|done| (done.rows, lines))
                .map_err(|e| e.to_string())
        };
        let one = score(false, 4_096, false);
        let small = score(true, 3, false);
        // If there are several errors, the first one found may depend on the batches.
        if (small.is_ok() || one.is_ok()) && small != one {
            let [one, small] = [one, small].map(|done| done.map(|(rows, _)| rows));
            return Err(format!(
                "different batches give different scores: {one:?}, {small:?}"
            ));
        }
        let _ = score(true, 50, true);
        match one {
            Ok((rows, lines)) => {
                let written = arrived(&lines)?;
                match written == rows {
                    true => Ok(Taken::Accepted),
                    false => Err(format!("{rows} rows, {written} scores")),
                }
            }
            Err(_) => Ok(Taken::Refused),
        }
    }
}
