//! Runs get into folders of every kind, and survive a kill at every moment.

use std::sync::LazyLock;

use fairfront_data::{Known, Prepared};

use super::*;
use crate::{Ask, attribute_texts, fit, read_run};

/// A run, and another that can be told from it.
static RUNS: LazyLock<[Run; 2]> = LazyLock::new(|| {
    let known = Known::named("synthetic:3(rows=300)").expect("a name");
    let known = known.expect("a known data set");
    let rows = Prepared::from_known(&known, &known.spec(), None).expect("rows");
    let attributes = attribute_texts(&rows.spec);
    let request = Ask::default().request("", &attributes).expect("a request");
    let fitted = fit(&rows, &request, &mut ()).expect("a front");
    let run = Run::of(&rows, &fitted);
    let mut other = run.clone();
    other.info.source = "another".into();
    [run, other]
});

const WHOLE: [&str; 4] = ["encoding.json", "front.parquet", "run.json", "tallies.json"];

fn source(folder: &Path) -> String {
    read_run(folder).expect("a run").0.source
}

fn names(folder: &Path) -> Vec<String> {
    names_in(folder).expect("names")
}

/// The files of the second run, committed over the first and not copied out.
fn killed_after_commit(folder: &Path) {
    let [mut first, mut second] = RUNS.clone();
    write_run(folder, false, &mut first).expect("a run");
    let finished = folder.join(FINISHED);
    std::fs::create_dir(&finished).expect("a folder");
    for (name, bytes) in files_of_run(folder, &mut second).expect("files") {
        std::fs::write(finished.join(name), bytes).expect("a file");
    }
    for old in [PAGE, ESTIMATOR] {
        std::fs::write(folder.join(old), "of the first").expect("a file");
    }
}

#[test]
fn a_committed_run_is_read_and_brought_to_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    killed_after_commit(folder);
    assert_eq!(source(folder), "another");
    let taken = check_folder(folder, false).expect_err("a run").to_string();
    assert!(taken.contains("there is a run already"), "{taken}");
    assert_eq!(names(folder), WHOLE);
    assert_eq!(source(folder), "another");
}

#[test]
fn a_run_without_the_right_to_write_is_read_as_committed() {
    let folder = tempfile::tempdir().expect("a folder");
    killed_after_commit(folder.path());
    // Half of its files are at their place, and run.json is not.
    let finished = folder.path().join(FINISHED);
    std::fs::remove_file(folder.path().join("run.json")).expect("a file");
    let copy = |name: &str| std::fs::copy(finished.join(name), folder.path().join(name));
    copy("front.parquet").expect("a file");
    let before = names(folder.path());
    assert_eq!(source(folder.path()), "another");
    assert_eq!(
        Run::read(folder.path()).expect("a run").info.source,
        "another"
    );
    assert_eq!(names(folder.path()), before);
}

#[test]
fn a_folder_that_exists_is_filled() {
    let around = tempfile::tempdir().expect("a folder");
    let folder = around.path().join("volume");
    std::fs::create_dir_all(folder.join(REPAIRS)).expect("a folder");
    let [mut first, mut second] = RUNS.clone();
    check_folder(&folder, false).expect("free");
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let mode = std::fs::Permissions::from_mode(0o2770);
        std::fs::set_permissions(&folder, mode).expect("a mode");
        let before = std::fs::metadata(&folder).expect("a folder");
        write_run(&folder, false, &mut first).expect("a run");
        write_run(&folder, true, &mut second).expect("a run");
        let after = std::fs::metadata(&folder).expect("a folder");
        assert_eq!((after.ino(), after.mode()), (before.ino(), before.mode()));
    }
    #[cfg(not(unix))]
    for run in [&mut first, &mut second] {
        write_run(&folder, true, run).expect("a run");
    }
    assert_eq!(source(&folder), "another");
    assert!(folder.join(REPAIRS).is_dir());
    assert_eq!(names(around.path()), ["volume"]);
}

#[test]
fn a_place_that_is_taken_meanwhile_stays() {
    let around = tempfile::tempdir().expect("a folder");
    let folder = around.path().join("r");
    let [mut first, mut second] = RUNS.clone();
    check_folder(&folder, false).expect("free");
    write_run(&folder, false, &mut first).expect("a run");
    let place = write_run(&folder, false, &mut second).expect("a run");
    assert_eq!(place, around.path().join("r-2"));
    assert_eq!(source(&place), "another");
    assert_ne!(source(&folder), "another");
    assert_eq!(names(&folder), WHOLE);
}

/// Files of a run are refused unless they are the bytes that were written.
#[test]
fn no_file_of_a_run_can_be_changed_unnoticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut run = RUNS[0].clone();
    run.estimator = Some("{}\n".into());
    write_run(folder, false, &mut run).expect("a run");
    assert_eq!(Run::read(folder).expect("a run").estimator, run.estimator);
    for name in WHOLE.iter().chain(&[ESTIMATOR]) {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).expect("a file");
        let mut other = bytes.clone();
        let at = bytes.iter().rposition(u8::is_ascii_digit).unwrap_or(0);
        other[at] ^= 1;
        std::fs::write(&path, other).expect("a file");
        let error = Run::read(folder).expect_err("changed").to_string();
        let said = "the file was changed after it was written";
        assert!(error.contains(name) && error.contains(said), "{error}");
        assert!(
            error.contains("; restore it from a copy, or fit again"),
            "{error}"
        );
        // It is a run all the same, and can be replaced.
        assert!(check_folder(folder, true).is_ok());
        std::fs::write(&path, bytes).expect("a file");
    }
    assert!(Run::read(folder).is_ok());
}
