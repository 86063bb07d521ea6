//! Parquet files, in all compressions and encodings of the corpus.

use std::io::Read;

use fairfront_data::{ReadOptions, open_text};

use super::table::{difference, read, use_table};
use crate::fixture;
use crate::mutate::Form;
use crate::{Part, Taken, Target, scratch};

/// Parquet: on one thread and on four, and as text.
pub(super) struct Parquet;

impl Target for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }
    fn parts(&self) -> Vec<Part> {
        vec![Part {
            name: "",
            form: Form::Binary,
            seeds: vec![fixture::file(fixture::run_files(), "front.parquet").to_vec()],
        }]
    }
    fn turns(&self) -> usize {
        10
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let file = scratch::file("case.parquet", input)?;
        let one = read(&file, false);
        let many = read(&file, true);
        if let Some(problem) = difference("one thread and four", &one, &many) {
            return Err(problem);
        }
        if let Ok(mut text) = open_text(&file, &ReadOptions::default()) {
            // Corrupted pages may end this with an error.
            let _ = text.text.read_to_end(&mut Vec::new());
        }
        use_table(&file);
        Ok(match one {
            Ok(_) => Taken::Accepted,
            Err(_) => Taken::Refused,
        })
    }
}
