//! Reads files into data sets through the public interface of the library.

mod bad_input;
mod classes;
mod encoding;
mod known;
mod later;
mod number;
mod numbers;
mod pack;
mod parquet;
mod prepare;
mod read;
mod record;
mod text;

use std::io::Write as _;
use std::path::PathBuf;

use fairfront_data::{Error, Prepared, ReadOptions, Spec, Table, Values, read_table};
use tempfile::TempDir;

/// A temporary folder, removed at the end of the test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder"))
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).expect("a file in the temporary folder");
        path.display().to_string()
    }
}

fn read(bytes: impl AsRef<[u8]>) -> Result<Table, Error> {
    read_with(bytes, &ReadOptions::default())
}

fn read_with(bytes: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Table, Error> {
    let folder = Folder::new();
    read_table(&[folder.file("t.csv", bytes)], options)
}

fn prepare(csv: &str, spec: &Spec) -> Result<Prepared, Error> {
    let folder = Folder::new();
    Prepared::from_files(&[folder.file("t.csv", csv)], spec, ReadOptions::default())
}

/// The message of an error, without the temporary folder.
fn message<T>(result: Result<T, Error>) -> String {
    let Err(error) = result else {
        panic!("expected an error");
    };
    let text = error.to_string();
    assert!(!text.contains('\n'), "one line only: {text}");
    let folder = std::env::temp_dir().display().to_string();
    match text.find(&folder) {
        None => text,
        Some(at) => {
            let file = text[at..].find("/t.").map_or(at, |i| at + i + 1);
            format!("{}{}", &text[..at], &text[file..])
        }
    }
}

/// CSV text with this header and `n` rows.
fn csv(header: &str, n: usize, row: impl Fn(usize) -> String) -> String {
    let rows = (0..n).map(|i| row(i) + "\n");
    std::iter::once(format!("{header}\n")).chain(rows).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// `y` is the target, `g` is sensitive, and all rows are training rows.
fn spec() -> Spec {
    Spec {
        target: Some("y".into()),
        positive: Some("1".into()),
        sensitive: vec![names(&["g"])],
        split: fairfront_data::SplitRule::None,
        ..Spec::default()
    }
}

/// The folder of the published files. Without it a test is skipped with a message; in CI it fails.
fn data_folder(test: &str) -> Option<PathBuf> {
    let whole = |folder: &PathBuf| {
        let mut files = fairfront_data::KNOWN.iter().flat_map(|known| known.files);
        files.all(|file| folder.join(file.name).is_file())
    };
    // If the folder is set explicitly it must contain the files; the cache may not.
    let folder =
        fairfront_data::named_folder().or_else(|| fairfront_data::cache_folder().filter(whole));
    if folder.is_none() {
        let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(
            !in_ci,
            "{test} needs the published data sets: set FAIRFRONT_DATA"
        );
        // Not with a macro, because the test runner would capture its output.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED {test}: it needs the published data sets, set FAIRFRONT_DATA"
        );
    }
    folder
}

/// The values of a column as strings, or the reason why it is left out.
fn shown(table: &Table, column: &str) -> Vec<String> {
    match &table.column(column).expect("the column").values {
        Values::Numeric(values) => values.iter().map(|v| v.to_string()).collect(),
        Values::Categorical {
            codes, categories, ..
        } => codes
            .iter()
            .map(|c| categories.get(*c as usize).cloned().unwrap_or_default())
            .collect(),
        Values::LeftOut(reason) => vec![reason.to_string()],
    }
}
