//! Runs `report` as a user does. `tests/python/test_report.py` tests the report in a browser.

use std::path::Path;

use tempfile::TempDir;

use crate::{has, run_in, words};

/// A folder with a small run in `r`.
fn fitted() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let fit = "fit demo(rows=400) --models 5 --out r";
    let outcome = run_in(&folder, fit).ok();
    assert!(
        outcome.out.contains("r/report.html opens at "),
        "{}",
        outcome.out
    );
    folder
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect("a file")
}

#[test]
fn the_report_of_a_run_is_reproducible() {
    let folder = fitted();
    let page = read(folder.path(), "r/report.html");
    assert!(page.starts_with("<!doctype html>"));
    let policy = "content=\"default-src 'none'; script-src 'sha256-";
    assert!(page.contains(policy) && !page.contains("unsafe"));
    assert!(!page.contains("http://") && !page.contains("https://"));

    std::fs::remove_file(folder.path().join("r/report.html")).expect("removed");
    let outcome = run_in(&folder, "report r");
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "r/report.html\n"));
    assert_eq!(read(folder.path(), "r/report.html"), page);
    // The report in the run folder is replaced; another file is not.
    run_in(&folder, "report r").ok();
    let elsewhere = "report r -o page.html";
    run_in(&folder, elsewhere).ok();
    assert_eq!(read(folder.path(), "page.html"), page);
    let again = run_in(&folder, elsewhere);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("page.html: already exists"));
    let forced = format!("{elsewhere} --force");
    run_in(&folder, &forced).ok();
    let printed = run_in(&folder, "report r -o -");
    assert_eq!(printed.out, page);

    // A run folder with a report is still a run and can be replaced.
    let fit = "fit demo(rows=400) --models 4 --out r";
    assert_eq!(run_in(&folder, fit).code, 1);
    let forced = format!("{fit} --force --quiet");
    run_in(&folder, &forced).ok();
    assert_ne!(read(folder.path(), "r/report.html"), page);
}

#[test]
fn only_runs_have_reports() {
    let folder = fitted();
    let refused = |args: &str| {
        let outcome = run_in(&folder, args);
        assert_eq!(outcome.code, 1);
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
        outcome.err
    };
    assert!(refused("report absent").contains("not a run folder"));
    // A run folder contains only its own files.
    assert!(refused("report r -o r/page.html").contains("inside a run folder"));
    let encoding = folder.path().join("r/encoding.json");
    std::fs::write(encoding, "{}").expect("written");
    assert!(refused("report r").contains("encoding.json"));
}

#[test]
fn a_run_folder_may_contain_figures() {
    let folder = fitted();
    let drawn = run_in(&folder, "report r --figures").ok();
    let paths: Vec<&str> = drawn.out.lines().collect();
    assert_eq!(paths[0], "r/figures/front.svg");
    assert!(paths.len() > 1);
    let read_all = || -> Vec<String> { paths.iter().map(|p| read(folder.path(), p)).collect() };
    let first = read_all();
    assert!(first.iter().all(|svg| svg.starts_with("<svg ")));
    // A second call gives the same figures and leaves nothing else in the folder.
    run_in(&folder, "report r --figures").ok();
    assert_eq!(read_all(), first);
    let found = std::fs::read_dir(folder.path().join("r/figures")).expect("a folder");
    assert_eq!(found.count(), paths.len());
    for args in ["show r", "select r --knee", "verify r"] {
        assert_eq!(run_in(&folder, args).code, 0, "{args:?}");
    }

    // A run is replaced with its figures, but not if there is another file among them.
    let fit = "fit demo(rows=400) --models 4 --out r --quiet --force";
    let notes = folder.path().join("r/figures/notes.txt");
    std::fs::write(&notes, "mine").expect("written");
    run_in(&folder, fit).fails(1, "\"figures\"");
    std::fs::remove_file(notes).expect("removed");
    run_in(&folder, fit).ok();
    assert!(!folder.path().join("r/figures").exists());
}

#[test]
fn png_needs_a_converter() {
    let folder = fitted();
    let outcome = std::process::Command::new(env!("CARGO_BIN_EXE_fairfront"))
        .args(words("report r --figures --png"))
        .current_dir(folder.path())
        .env("PATH", folder.path())
        .output()
        .expect("the command starts");
    let error = String::from_utf8_lossy(&outcome.stderr);
    has(&error, "rsvg-convert is not installed; install it");
    assert_eq!((outcome.status.code(), error.lines().count()), (Some(2), 1));
    assert!(!folder.path().join("r/figures").exists());
}
