//! The state of a stream: generations, ledgers, spool and rows.

use std::sync::OnceLock;

use fairfront_data::StoredRows;
use fairfront_run::Run;
use fairfront_stream::{Feed, Stream};

use super::run::use_run;
use crate::fixture::{self, Silent};
use crate::mutate::Form;
use crate::{Part, Taken, Target, scratch, seal};

/// Rows of the second batch.
const ROWS: &str = "000002.rows";
/// The log of rows that wait.
const SPOOL: &str = ".log";

/// Files of a state by the end of their paths.
const FILES: &[(&str, Form)] = &[
    ("state.json", Form::Json),
    ("journal.json", Form::Json),
    ("run.json", Form::Json),
    ("encoding.json", Form::Json),
    ("starts.json", Form::Json),
    ("SHA256SUMS", Form::Text),
    (ROWS, Form::Binary),
    (SPOOL, Form::Json),
    ("drift.jsonl", Form::Json),
    ("rejected.csv", Form::Csv),
    ("lock", Form::Binary),
];

fn path(part: usize) -> &'static str {
    fixture::path(fixture::state(), FILES[part].0).unwrap_or_default()
}

/// One file of a state, unchanged and with updated checksums; then more rows arrive.
pub(super) struct State;

impl Target for State {
    fn name(&self) -> &'static str {
        "state"
    }
    fn parts(&self) -> Vec<Part> {
        let part = |(index, (name, form)): (usize, &(&'static str, Form))| Part {
            name,
            form: *form,
            seeds: vec![fixture::file(fixture::state(), path(index)).to_vec()],
        };
        FILES.iter().enumerate().map(part).collect()
    }
    fn turns(&self) -> usize {
        2
    }
    fn check(&self, part: usize, input: &[u8]) -> Result<Taken, String> {
        let (name, path) = (FILES[part].0, path(part));
        let original = fixture::state();
        let mut files = original.clone();
        seal::set(&mut files, path, input.to_vec());
        let (raw, warned) = open(&files)?;
        let changed = input != fixture::file(original, path);
        let checked = fixture::generation_of(path).is_some() || name == ROWS;
        // Other formats of the same list of sums are allowed.
        let is_list = path.ends_with("SHA256SUMS");
        if raw == Taken::Accepted && changed && checked && !warned && !is_list {
            return Err(format!("{path}: a change passes the checksum"));
        }
        match fixture::generation_of(path) {
            Some(_) if is_list => return Ok(raw),
            Some(folder) => {
                seal::run(&mut files, original, &format!("{folder}/"));
                seal::generation(&mut files, folder);
            }
            None if name == ROWS => {
                seal::set(&mut files, path, seal::trailing(input));
            }
            None if name == SPOOL => seal::set(&mut files, path, seal::spool(input)),
            None => return Ok(raw),
        }
        let (sealed, _) = open(&files)?;
        Ok(match (raw, sealed) {
            (Taken::Refused, Taken::Refused) => Taken::Refused,
            _ => Taken::Accepted,
        })
    }
}

/// Opens a state, reads its run and adds rows; also returns whether there was a warning about
/// corrupted files.
fn open(files: &fixture::Files) -> Result<(Taken, bool), String> {
    let folder = scratch::folder("case-state", files)?;
    if let Ok(mut run) = Run::read(&folder) {
        use_run(&mut run);
    }
    let Ok(Some(mut stream)) = Stream::open(&folder) else {
        return Ok((Taken::Refused, true));
    };
    let warned = !stream.diagnostics().is_empty();
    let _ = stream.history();
    let more = scratch::file("more.csv", more_rows().as_bytes())?;
    let feed = Feed {
        flush: true,
        ..Feed::default()
    };
    let fed = stream.feed(&[more], &feed, &mut Silent);
    let taken = match fed {
        Ok(_) => Taken::Accepted,
        Err(_) => Taken::Refused,
    };
    Ok((taken, warned))
}

/// Rows with a new category.
fn more_rows() -> &'static str {
    static MADE: OnceLock<String> = OnceLock::new();
    MADE.get_or_init(|| {
        let csv = fixture::csv();
        let lines: Vec<&str> = csv.lines().take(60).collect();
        lines.join("\n").replace("clerk", "farmer") + "\n"
    })
}

/// Stored rows: rejected, or written as the same bytes.
pub(super) struct Rows;

impl Target for Rows {
    fn name(&self) -> &'static str {
        "rows"
    }
    fn parts(&self) -> Vec<Part> {
        let rows = fixture::path(fixture::state(), ".rows").unwrap_or_default();
        vec![Part {
            name: "",
            form: Form::Binary,
            seeds: vec![fixture::file(fixture::state(), rows).to_vec()],
        }]
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let sealed = seal::trailing(input);
        if input != sealed && StoredRows::from_bytes(input).is_ok() {
            return Err("a change passes the checksum".into());
        }
        let Ok(rows) = StoredRows::from_bytes(&sealed) else {
            return Ok(Taken::Refused);
        };
        if rows.to_bytes() != sealed {
            return Err("the rows are written as different bytes".into());
        }
        let encoding = &fixture::run().encoding;
        let _ = rows.datasets(&encoding.schema());
        let _ = rows.with_present_groups(encoding, &fairfront_data::Part::ALL);
        let _ = rows.fix_small_groups(&mut encoding.clone());
        Ok(Taken::Accepted)
    }
}
