//! Runs the fuzzer briefly, and checks that it detects each kind of failure.

use std::process::{Command, Output};

fn fuzz(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairfront-fuzz"));
    command.args(args).output().expect("the fuzzer runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Runs the same cases on every machine; `make fuzz` runs a million.
#[test]
fn a_few_thousand_cases_break_no_guarantee() {
    let done = fuzz(&["--seed", "21", "--cases", "3000"]);
    assert!(done.status.success(), "{}", text(&done));
    let output = text(&done);
    assert!(output.contains(" 0 failures"), "{output}");
    // Every surface was tested, and none rejects everything.
    for line in output.lines().skip(1) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        if let [_, cases, accepted, _, failures, _, _, _] = columns[..]
            && failures == "0"
        {
            assert!(cases.parse::<u64>().unwrap() >= 20, "{line}");
            assert_ne!(accepted, "0", "{line}");
        }
    }
    assert!(output.lines().count() > 20, "{output}");
}

#[test]
fn a_broken_guarantee_is_detected() {
    let expected = [
        ("self-test-panic", "a panic of the self-test"),
        ("self-test-memory", "bytes of memory"),
        ("self-test-meaning", "read as something else"),
        ("self-test-abort", "ended with signal: 6"),
        ("self-test-hang", "more than 1 seconds"),
    ];
    for (target, problem) in expected {
        // Only a hang must reach its limit; the others may be slow on a busy machine.
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
        let output = text(&done);
        assert_eq!(done.status.code(), Some(1), "{target}: {output}");
        assert!(output.contains(problem), "{target}: {output}");
        // The output has the arguments that repeat the failure.
        assert!(
            output.contains(&format!("--seed 1 --target {target} --case ")),
            "{output}"
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
