//! Data of searches for less discriminatory alternatives, from which documents are written.

use std::path::Path;

use fairfront_run::Lda;

use crate::mutate::Form;
use crate::{Part, Taken, Target, fixture, meaning};

/// The file lda.json.
pub(super) struct Search;

impl Target for Search {
    fn name(&self) -> &'static str {
        "lda"
    }
    fn parts(&self) -> Vec<Part> {
        vec![Part {
            name: "",
            form: Form::Json,
            seeds: vec![fixture::search().to_vec()],
        }]
    }
    fn turns(&self) -> usize {
        5
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let Ok(lda) = Lda::from_json(Path::new("lda.json"), input) else {
            return Ok(Taken::Refused);
        };
        let files = lda.files().map_err(|e| e.to_string())?;
        for (name, bytes) in &files.files {
            let text = std::str::from_utf8(bytes).map_err(|e| format!("{name}: {e}"))?;
            if text.starts_with("<!doctype") && text.contains("<script") {
                return Err(format!("{name} contains a script"));
            }
        }
        let again = &files.files[0].1;
        match meaning::difference(input, again) {
            Some(problem) => Err(problem),
            None => Ok(Taken::Accepted),
        }
    }
}
