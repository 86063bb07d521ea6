//! A short run of the fuzzer, and whether it notices each kind of failure.

use std::process::{Command, Output};

fn fuzz(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairfront-fuzz"));
    command.args(args).output().expect("the fuzzer runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The same cases on every machine; `make fuzz` runs a million.
#[test]
fn a_few_thousand_cases_break_no_promise() {
    let done = fuzz(&["--seed", "21", "--cases", "3000"]);
    assert!(done.status.success(), "{}", text(&done));
    let said = text(&done);
    assert!(said.contains(" 0 failures"), "{said}");
    // Every surface has had its turn, and not one refuses everything.
    for line in said.lines().skip(1) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        if let [_, cases, accepted, _, failures, _, _, _] = columns[..]
            && failures == "0"
        {
            assert!(cases.parse::<u64>().unwrap() >= 20, "{line}");
            assert_ne!(accepted, "0", "{line}");
        }
    }
    assert!(said.lines().count() > 20, "{said}");
}

#[test]
fn a_broken_promise_is_noticed() {
    let expected = [
        ("self-test-panic", "a panic of the self-test"),
        ("self-test-memory", "bytes of memory"),
        ("self-test-meaning", "read as something else"),
        ("self-test-abort", "ended with signal: 6"),
        ("self-test-hang", "more than 1 seconds"),
    ];
    for (target, problem) in expected {
        // Only a hang has to run into its limit; the others may take their time on a busy machine.
        let limit = if target == "self-test-hang" {
            "1"
        } else {
            "60"
        };
        let done = fuzz(&[
            "--target",
            target,
            "--cases",
            "2",
            "--seconds-per-case",
            limit,
        ]);
        let said = text(&done);
        assert_eq!(done.status.code(), Some(1), "{target}: {said}");
        assert!(said.contains(problem), "{target}: {said}");
        // What failed can be run again.
        assert!(
            said.contains(&format!("--seed 1 --target {target} --case ")),
            "{said}"
        );
    }
}

#[test]
fn a_case_can_be_repeated() {
    let arguments = ["--seed", "5", "--target", "require", "--case", "17"];
    let (first, second) = (fuzz(&arguments), fuzz(&arguments));
    assert!(first.status.success(), "{}", text(&first));
    assert_eq!(first.stdout, second.stdout);
    assert_ne!(
        first.stdout,
        fuzz(&["--seed", "6", "--target", "require", "--case", "17"]).stdout
    );
}
