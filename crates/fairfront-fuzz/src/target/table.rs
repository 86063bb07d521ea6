//! Tables as text: CSV, plain and compressed, read at once and while it arrives.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::OnceLock;

use fairfront_data::{
    Column, Encoded, Inspection, Prepared, RawRecord, ReadOptions, Records as Cut, Table, Values,
    first_table, read_table,
};
use flate2::Compression;
use flate2::read::{GzEncoder, MultiGzDecoder};
use rayon::ThreadPool;

use crate::fixture;
use crate::mutate::Form;
use crate::{Part, Taken, Target, scratch};

const WORDS: &[&str] = &[
    "age",
    "job",
    "joined",
    "sex",
    "race",
    "approved",
    "yes",
    "no",
    "2021-01-31",
];

/// A pool of four threads if `many`, otherwise of one.
pub(super) fn pool(many: bool) -> &'static ThreadPool {
    static POOLS: [OnceLock<ThreadPool>; 2] = [const { OnceLock::new() }; 2];
    POOLS[usize::from(many)].get_or_init(|| {
        let threads = if many { 4 } else { 1 };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads can be started")
    })
}

/// Whether two columns are equal, bit by bit.
fn same_column(a: &Column, b: &Column) -> bool {
    let values = match (&a.values, &b.values) {
        (Values::Numeric(a), Values::Numeric(b)) => {
            let bits = |numbers: &fairfront_data::Numbers| -> Vec<u64> {
                numbers.iter().map(f64::to_bits).collect()
            };
            bits(a) == bits(b)
        }
        (a, b) => a == b,
    };
    values && a.name == b.name && a.n_missing == b.n_missing && a.date == b.date
}

/// The first difference between two results of reading the same table.
pub(super) fn difference(
    ways: &str,
    a: &Result<Table, String>,
    b: &Result<Table, String>,
) -> Option<String> {
    let problem = match (a, b) {
        (Ok(a), Ok(b)) => {
            let (n, m) = (a.columns().len(), b.columns().len());
            let mut both = a.columns().iter().zip(b.columns());
            if a.n_rows() != b.n_rows() || n != m {
                format!("{} × {n} and {} × {m} values", a.n_rows(), b.n_rows())
            } else {
                let (a, b) = both.find(|(a, b)| !same_column(a, b))?;
                format!("column {:?}: {:?} and {:?}", a.name, a.values, b.values)
            }
        }
        (Err(a), Err(b)) if a == b => return None,
        (Ok(_), Err(e)) => format!("the second is rejected: {e}"),
        (Err(e), Ok(_)) => format!("the first is rejected: {e}"),
        (Err(a), Err(b)) => format!("{a} | {b}"),
    };
    let mut problem: String = problem.chars().take(600).collect();
    problem.insert_str(0, &format!("{ways} differ: "));
    Some(problem)
}

/// Reads a file; messages do not name it.
pub(super) fn read(file: &str, many: bool) -> Result<Table, String> {
    let options = ReadOptions::default();
    let table = pool(many).install(|| read_table(&[file.to_owned()], &options));
    table.map_err(|error| unnamed(&error.to_string(), file))
}

fn unnamed(message: &str, file: &str) -> String {
    message.replace(fairfront_data::file_name(file), "FILE")
}

/// Uses a table as the commands do.
pub(super) fn use_table(file: &str) {
    // Errors are allowed here.
    let options = ReadOptions::default();
    if let Ok(prepared) = Prepared::from_files(&[file.to_owned()], &fixture::spec(), options) {
        let _ = Inspection::new(&prepared);
        let _ = Encoded::new(&prepared);
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let csv = fixture::csv();
    let short: Vec<&str> = csv.lines().take(12).collect();
    let short = short.join("\n");
    vec![
        csv.clone().into_bytes(),
        short.clone().into_bytes(),
        short.replace(',', ";").replace('\n', "\r\n").into_bytes(),
        format!("\u{feff}{short}\n").into_bytes(),
        b"a;b;c\n1,5;2021-01-31;x\n-2,25;31.12.2020;y\n".to_vec(),
        b"a|b\n1|\n|2\n".to_vec(),
    ]
}

fn taken<T>(result: &Result<T, String>) -> Taken {
    match result {
        Ok(_) => Taken::Accepted,
        Err(_) => Taken::Refused,
    }
}

/// CSV: on one thread, on four, compressed, and while it arrives.
pub(super) struct Csv;

impl Target for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }
    fn parts(&self) -> Vec<Part> {
        vec![Part {
            name: "",
            form: Form::Csv,
            seeds: seeds(),
        }]
    }
    fn words(&self) -> &'static [&'static str] {
        WORDS
    }
    fn turns(&self) -> usize {
        10
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        // Compressed files and Parquet are recognized by their first bytes and have their own
        // targets.
        if input.starts_with(&[0x1f, 0x8b]) || input.starts_with(b"PAR1") {
            return Ok(Taken::Refused);
        }
        let plain = scratch::file("case.csv", input)?;
        let mut packed = Vec::new();
        let packing = GzEncoder::new(input, Compression::fast()).read_to_end(&mut packed);
        packing.map_err(|e| e.to_string())?;
        let packed = scratch::file("case.csv.gz", &packed)?;
        let one = read(&plain, false);
        let many = read(&plain, true);
        if let Some(problem) = difference("one thread and four", &one, &many) {
            return Err(problem);
        }
        if let Some(problem) = difference("plain and compressed", &one, &read(&packed, true)) {
            return Err(problem);
        }
        // A last line without a line end may still grow, so it does not determine the separator.
        if let Ok(table) = &one
            && input.ends_with(b"\n")
        {
            let arrived = arrived(input)?;
            if arrived != table.n_rows() {
                let n = table.n_rows();
                return Err(format!(
                    "{n} rows are read at once, {arrived} while they arrive"
                ));
            }
        }
        use_table(&plain);
        Ok(taken(&one))
    }
}

/// The number of valid records of a text.
pub(super) fn arrived(input: &[u8]) -> Result<usize, String> {
    let records = all_records(input, usize::MAX)?;
    Ok(records.1.iter().filter(|r| r.fields.is_ok()).count())
}

/// A reader that returns a few bytes at a time.
struct Trickle<'a> {
    rest: &'a [u8],
    most: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let n = to.len().min(self.most).min(self.rest.len());
        let (now, rest) = self.rest.split_at(n);
        to[..n].copy_from_slice(now);
        self.rest = rest;
        Ok(n)
    }
}

/// Columns and records of a text.
fn all_records(input: &[u8], most: usize) -> Result<(Vec<String>, Vec<RawRecord>), String> {
    let options = ReadOptions::default();
    let trickle = Trickle { rest: input, most };
    let mut records = Cut::new("FILE", trickle, &options);
    let mut all = Vec::new();
    while let Some(record) = records.rest().map_err(|e| e.to_string())? {
        all.push(record);
    }
    Ok((records.columns().to_vec(), all))
}

/// CSV that arrives in pieces: the records do not depend on the cuts or on resuming.
pub(super) struct Records;

impl Target for Records {
    fn name(&self) -> &'static str {
        "records"
    }
    fn parts(&self) -> Vec<Part> {
        Csv.parts()
    }
    fn words(&self) -> &'static [&'static str] {
        WORDS
    }
    fn turns(&self) -> usize {
        10
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let whole = all_records(input, usize::MAX);
        for most in [1, 7] {
            if all_records(input, most) != whole {
                return Err(format!("pieces of {most} bytes give different records"));
            }
        }
        let Ok((columns, records)) = whole else {
            return Ok(Taken::Refused);
        };
        resumed(input, &columns, &records)?;
        let options = ReadOptions::default();
        let _ = first_table("FILE", &columns, &records, &options, &BTreeMap::new());
        Ok(Taken::Accepted)
    }
}

/// Reads half of the records, then the others from the stored position.
fn resumed(input: &[u8], columns: &[String], all: &[RawRecord]) -> Result<(), String> {
    let options = ReadOptions::default();
    let message = |e: fairfront_data::Error| e.to_string();
    let mut first = Cut::new("FILE", input, &options);
    for _ in 0..all.len() / 2 {
        first.rest().map_err(message)?;
    }
    let mut second = Cut::new("FILE", input, &options);
    second
        .resume(&first.position())
        .map_err(|e| format!("its own position is rejected: {e}"))?;
    let mut rest = Vec::new();
    while let Some(record) = second.rest().map_err(message)? {
        rest.push(record);
    }
    let expected = &all[all.len() / 2..];
    match rest.len() == expected.len()
        && rest.iter().zip(expected).all(|(a, b)| a.fields == b.fields)
    {
        true if all.is_empty() || second.columns() == columns => Ok(()),
        true => Err("columns differ after reading is resumed".into()),
        false => Err("records differ after reading is resumed".into()),
    }
}

/// Compressed CSV: rejected, or the table of the text inside.
pub(super) struct Gzip;

impl Target for Gzip {
    fn name(&self) -> &'static str {
        "gzip"
    }
    fn parts(&self) -> Vec<Part> {
        let pack = |seed: Vec<u8>| {
            let mut packed = Vec::new();
            // Reading from memory does not fail.
            let _ = GzEncoder::new(&seed[..], Compression::default()).read_to_end(&mut packed);
            packed
        };
        let mut packed: Vec<Vec<u8>> = seeds().into_iter().map(pack).collect();
        // Two members, one after the other.
        let both = [
            packed[1].clone(),
            pack(b"\n40,clerk,2021-05-05,30,f,a,no\n".to_vec()),
        ]
        .concat();
        packed.push(both);
        vec![Part {
            name: "",
            form: Form::Binary,
            seeds: packed,
        }]
    }
    fn turns(&self) -> usize {
        10
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        if !input.starts_with(&[0x1f, 0x8b]) {
            return Ok(Taken::Refused);
        }
        let packed = scratch::file("case.csv.gz", input)?;
        let table = read(&packed, true);
        if table.is_ok() {
            let mut text = Vec::new();
            let inside = MultiGzDecoder::new(input).read_to_end(&mut text);
            inside.map_err(|e| format!("a corrupted file is accepted ({e})"))?;
            let plain = scratch::file("case.csv", &text)?;
            if let Some(problem) = difference("compressed and plain", &table, &read(&plain, true)) {
                return Err(problem);
            }
        }
        Ok(taken(&table))
    }
}
