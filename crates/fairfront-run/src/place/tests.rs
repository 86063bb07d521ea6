//! Tests that runs are written into folders of every kind and survive a kill at any moment.

use std::sync::LazyLock;

use fairfront_data::{Known, Prepared};

use super::*;
use crate::{Ask, attribute_texts, fit, read_run};

/// Two runs with different sources.
static RUNS: LazyLock<[Run; 2]> = LazyLock::new(|| {
    let known = Known::named("synthetic:3(rows=300)").expect("a name");
    let known = known.expect("a known data set");
    let rows = Prepared::from_known(&known, &known.spec(), None).expect("rows");
    let attributes = attribute_texts(&rows.spec);
    let request = Ask::default()
        .request("", &attributes, false)
        .expect("a request");
    let fitted = fit(&rows, &request, &mut ()).expect("a front");
    let run = Run::of(&fairfront_data::Facts::of(&rows).unwrap(), &fitted);
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

/// Commits the files of the second run over the first without copying them out.
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
fn a_committed_run_is_read_and_moved_into_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    killed_after_commit(folder);
    assert_eq!(source(folder), "another");
    let taken = check_folder(folder, false).expect_err("a run").to_string();
    assert!(taken.contains("already contains a run"), "{taken}");
    assert_eq!(names(folder), WHOLE);
    assert_eq!(source(folder), "another");
}

#[test]
fn a_committed_run_is_read_without_writing() {
    let folder = tempfile::tempdir().expect("a folder");
    killed_after_commit(folder.path());
    // One of its files is in place, and run.json is not.
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
fn a_folder_that_is_taken_meanwhile_stays() {
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

/// A file of a run is rejected unless its bytes are those that were written.
#[test]
fn changes_to_any_file_of_a_run_are_noticed() {
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
        let problem = "the file was changed after it was written";
        assert!(error.contains(name) && error.contains(problem), "{error}");
        assert!(
            error.contains("; restore it from a copy, or fit again"),
            "{error}"
        );
        // The folder still counts as a run and can be replaced.
        assert!(check_folder(folder, true).is_ok());
        std::fs::write(&path, bytes).expect("a file");
    }
    assert!(Run::read(folder).is_ok());
}
