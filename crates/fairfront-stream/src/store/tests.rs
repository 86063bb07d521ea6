//! Ledgers, logs and segments with killed processes, corrupted files, full disks and several processes.

mod growing;
mod process;

use std::collections::BTreeMap;
use std::path::Path;

use fairfront_model::file::names_in;
use fairfront_run::store::Generations;
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn commit(of: &Generations, n: u64) {
    let run = format!("{{\"batch\": {n}}}\n");
    of.commit(n, &[("run.json", run.as_bytes())])
        .expect("a commit");
}

/// A state with the generations 1 and 2.
fn two() -> TempDir {
    let at = folder();
    let of = Generations::open(at.path()).expect("a folder");
    (1..=2).for_each(|n| commit(&of, n));
    at
}

/// All files below a folder, except links.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for name in names_in(folder).expect("names") {
        let path = folder.join(&name);
        let kind = std::fs::symlink_metadata(&path).expect("there");
        if kind.is_dir() {
            let below = tree(&path).into_iter();
            found.extend(below.map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
            found.insert(format!("{name}/"), Vec::new());
        } else if kind.is_file() {
            found.insert(name, std::fs::read(&path).expect("a file"));
        }
    }
    found
}
