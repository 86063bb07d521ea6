//! Tests that need their own process: locks, limits and full disks.

use std::path::Path;
use std::process::{Command, Stdio};

use fairfront_model::file::names_in;
use fairfront_run::Error;
use fairfront_run::store::{Generations, Lock};

use super::super::*;
use super::{commit, folder, tree, two};

/// The variable that passes a folder to a test in its own process.
const FOLDER: &str = "FAIRFRONT_TEST_FOLDER";

/// Runs a test of this program in its own process, through a shell line that ends in `exec "$0" "$@"`.
/// Another program may start the shell.
#[cfg(unix)]
fn in_process(before: &[&str], line: &str, test: &str, folder: &Path) -> Command {
    let words: Vec<&str> = before.iter().copied().chain(["sh", "-c", line]).collect();
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdin(Stdio::null());
    command
}

#[test]
#[cfg(unix)]
fn one_process_at_a_time() {
    let at = folder();
    let state = at.path().join("new/state");
    let line = r#"exec "$0" "$@""#;
    let mut child = in_process(&[], line, "store::tests::process::hold_the_lock", &state)
        .stdout(Stdio::null())
        .spawn()
        .expect("a process");
    while !at.path().join("held").exists() {
        let ended = child.try_wait().expect("known");
        assert!(ended.is_none(), "{ended:?}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let refused = Lock::take(&state).expect_err("held").to_string();
    let expected = format!(
        "{}: another process is using this folder (process {}); wait for it or stop it",
        state.display(),
        child.id()
    );
    assert_eq!(refused, expected);
    child.kill().expect("killed");
    child.wait().expect("ended");
    let lock = Lock::take(&state).expect("free again");
    let text = std::fs::read_to_string(state.join("lock")).expect("a file");
    assert_eq!(text, format!("{}\n", std::process::id()));
    assert!(Lock::take(&state).is_err());
    drop(lock);
    Lock::take(&state).expect("given back");
    let file = at.path().join("held");
    let refused = Lock::take(&file).expect_err("a file").to_string();
    assert!(refused.contains("not a folder"), "{refused}");
}

/// Runs in its own process.
#[test]
fn hold_the_lock() {
    let Some(state) = std::env::var_os(FOLDER) else {
        return;
    };
    let state = Path::new(&state);
    let _lock = Lock::take(state).expect("free");
    let said = state.join("../../held");
    std::fs::write(said, "").expect("said");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
#[cfg(unix)]
fn failed_write_changes_nothing() {
    let at = two();
    // No file may become larger than 8 KiB; the shell's unit is 512 bytes or 1 KiB.
    let line = r#"trap '' XFSZ; ulimit -f 8; exec "$0" "$@""#;
    let done = in_process(&[], line, "store::tests::process::fail_to_write", at.path())
        .env(
            "FAIRFRONT_TEST_REASON",
            "would exceed the size limit; raise the limit",
        )
        .output()
        .expect("a process");
    assert!(done.status.success(), "{done:?}");
}

#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "skipped checks are reported")]
fn full_disk_changes_nothing() {
    let at = folder();
    let reason =
        "no space left on device; free some space and run the same command again (nothing is lost)";
    // A file system that only that process sees.
    let line = format!(
        "mount -t tmpfs -o size=64k tmpfs '{}' || exit 77; exec \"$0\" \"$@\"",
        at.path().display()
    );
    let apart = ["unshare", "--user", "--map-root-user", "--mount"];
    let done = in_process(
        &apart,
        &line,
        "store::tests::process::fail_to_write",
        at.path(),
    )
    .env("FAIRFRONT_TEST_REASON", reason)
    .output();
    match done {
        Ok(done) if String::from_utf8_lossy(&done.stdout).contains("1 passed") => {}
        Ok(done) if String::from_utf8_lossy(&done.stdout).contains("running 1 test") => {
            panic!("{done:?}")
        }
        other => eprintln!("a full disk is not tested: no file system can be mounted ({other:?})"),
    }
}

/// Runs in its own process, where large files cannot be written.
#[test]
fn fail_to_write() {
    let (Some(state), Ok(reason)) = (
        std::env::var_os(FOLDER),
        std::env::var("FAIRFRONT_TEST_REASON"),
    ) else {
        return;
    };
    let state = Path::new(&state);
    let of = Generations::open(state).expect("a folder");
    if of.newest().expect("sound").is_none() {
        (1..=2).for_each(|n| commit(&of, n));
    }
    let large = vec![7; 1 << 20];
    let check = |error: Error, file: &str| {
        let error = error.to_string();
        assert!(error.contains(&reason), "{error}");
        assert!(error.contains(file), "{error}");
    };
    let before = tree(state);
    let error = of
        .commit(3, &[("a", b"1"), ("large", &large)])
        .expect_err("no room");
    check(error, "generation-000003/large");
    assert!(tree(state) == before, "{:?}", tree(state).keys());
    let error = segment::write(state, 3, &large).expect_err("no room");
    check(error, "rows/000003.rows");
    assert_eq!(names_in(&state.join("rows")).expect("names").len(), 0);

    let path = state.join("rejected.csv");
    let (mut ledger, _) = Ledger::open(&path, &Committed::default()).expect("new");
    ledger.append(b"row,reason\n").expect("room");
    let committed = ledger.sync().expect("room");
    check(ledger.append(&large).expect_err("no room"), "rejected.csv");
    assert_eq!(ledger.sync().expect("room"), committed);
    ledger.append(b"1,bad\n").expect("room");
    let committed = ledger.sync().expect("room");
    assert_eq!(
        std::fs::read(&path).expect("a file"),
        b"row,reason\n1,bad\n"
    );
    let (_, diagnostics) = Ledger::open(&path, &committed).expect("sound");
    assert!(diagnostics.is_empty());

    let row = |n: u64, text: String| Entry::Row {
        input: 0,
        row: n,
        fields: vec![text],
    };
    let (mut spool, ..) = Spool::open(state, 3).expect("new");
    spool.append(&[row(1, "a".into())]).expect("room");
    let error = spool
        .append(&[row(2, "b".repeat(1 << 20))])
        .expect_err("no room");
    check(error, "spool/000003.log");
    spool.append(&[row(2, "c".into())]).expect("room");
    spool.sync().expect("room");
    let (_, entries, cut) = Spool::open(state, 3).expect("sound");
    assert_eq!(entries, [row(1, "a".into()), row(2, "c".into())]);
    assert_eq!(cut, None);

    commit(&of, 3);
    assert_eq!(of.newest().expect("sound").expect("one").number, 3);
    if std::env::var_os("FAIRFRONT_TEST_READ_ONLY").is_some() {
        let mut mount = Command::new("mount");
        mount.args(["-o", "remount,ro"]).arg(state);
        assert!(mount.status().expect("mount").success());
        let wanted = "the file system is read-only";
        let error = of.commit(4, &[("a", b"1")]).expect_err("read-only");
        assert!(error.to_string().contains(wanted), "{error}");
        let error = Lock::take(state).expect_err("read-only").to_string();
        assert!(error.contains(wanted) && error.contains("lock"), "{error}");
        let newest = of.newest().expect("readable").expect("one");
        assert_eq!(newest.path, of.place(3));
    }
}
