//! Streams in memory, which Python stores as files.

use fairfront_stream::Live;

use super::run::use_run;
use crate::fixture;
use crate::mutate::Form;
use crate::{Part, Taken, Target, seal};

/// The rows that are kept.
const ROWS: &str = "kept.rows";

const FILES: &[(&str, Form)] = &[
    ("state.json", Form::Json),
    ("run.json", Form::Json),
    ("encoding.json", Form::Json),
    (ROWS, Form::Binary),
    ("SHA256SUMS", Form::Text),
];

/// One file of a stream, unchanged and with updated checksums; then more rows arrive.
pub(super) struct LiveFront;

impl Target for LiveFront {
    fn name(&self) -> &'static str {
        "live"
    }
    fn parts(&self) -> Vec<Part> {
        let part = |(name, form): &(&'static str, Form)| Part {
            name,
            form: *form,
            seeds: vec![fixture::file(fixture::live(), name).to_vec()],
        };
        FILES.iter().map(part).collect()
    }
    fn turns(&self) -> usize {
        5
    }
    fn check(&self, part: usize, input: &[u8]) -> Result<Taken, String> {
        let (name, original) = (FILES[part].0, fixture::live());
        let mut files = original.clone();
        seal::set(&mut files, name, input.to_vec());
        if input != fixture::file(original, name) && read(&files).is_some() {
            return Err(format!("{name}: a change passes the checksum"));
        }
        if name == ROWS {
            seal::set(&mut files, name, seal::trailing(input));
        }
        seal::run(&mut files, original, "");
        seal::generation(&mut files, "");
        let Some(mut live) = read(&files) else {
            return Ok(Taken::Refused);
        };
        if let Some(mut run) = live.run() {
            use_run(&mut run);
        }
        let table = fixture::prepared()
            .table
            .select(&(0..90).collect::<Vec<_>>());
        let _ = live.update(table, &mut ());
        let _ = live.to_files();
        Ok(Taken::Accepted)
    }
}

fn read(files: &fixture::Files) -> Option<Live> {
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
        .collect();
    Live::from_files(&files).ok()
}
