//! Runs `tune` as a user does.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{Outcome, has, run_in, words};

const GUIDE: &str = include_str!("../../../../docs/how-to/tune.md");

/// A search that takes some tenths of a second.
const SMALL: &str =
    "demo(rows=2000) --sensitive sex --models 40 --set max-steps=8 --set holes=4 --quiet";

fn tune(folder: &Path, more: &str) -> Outcome {
    run_in(folder, &format!("tune {SMALL} {more}"))
}

/// Replaces every time in the table of a text by a dash.
fn timeless(text: &str) -> String {
    let mut column = None;
    let mut out = String::new();
    for line in text.lines() {
        let mut cells: Vec<char> = line.chars().collect();
        if let Some(start) = line.find("seconds") {
            column = Some(start);
        } else if line.is_empty() {
            column = None;
        } else if let Some(start) = column {
            let end = start + "seconds".len();
            cells[start..end].fill(' ');
            cells[end - 1] = '-';
        }
        out.extend(cells);
        out.push('\n');
    }
    out
}

/// The guide shows the output of its command, and the printed command computes the front that was
/// compared.
#[test]
fn the_guide_shows_the_actual_output() {
    let folder = TempDir::new().expect("a folder");
    let (_, rest) = GUIDE.split_once("```sh\n").expect("a command");
    let (command, rest) = rest.split_once("```").expect("its end");
    let (_, rest) = rest.split_once("```text\n").expect("its output");
    let (shown, _) = rest.split_once("```").expect("its end");
    let typed = command.replace("\\\n", "");
    let typed = typed.strip_prefix("fairfront ").expect("the command");
    let outcome = run_in(&folder, typed).ok();
    insta::assert_snapshot!("tune", timeless(&outcome.out));
    assert_eq!(
        timeless(shown),
        timeless(&outcome.out),
        "docs/how-to/tune.md shows something else"
    );

    let last = outcome.out.lines().last().expect("a line");
    let (_, fit) = last.split_once("fairfront fit ").expect("a command");
    run_in(&folder, &format!("fit {fit} --quiet")).ok();
    let front = run_in(&folder, "show tuned --csv").out;
    let mut reader = csv::Reader::from_reader(front.as_bytes());
    let names = reader.headers().expect("a header").clone();
    let column = names.iter().position(|name| name == "validation.accuracy");
    let column = column.expect("a column");
    let models = reader.records().map(|row| row.expect("a row"));
    let models = models.filter(|row| &row[0] != "unmitigated");
    let accuracies = models.map(|row| row[column].parse::<f64>().expect("a number"));
    let best = accuracies.fold(0.0, f64::max);
    let words = format!("has an accuracy of {best:.4}");
    assert!(outcome.out.contains(&words), "{words}\n{}", outcome.out);
}

#[test]
fn json_and_csv_contain_all_trials() {
    let folder = TempDir::new().expect("a folder");
    let tries = "--try anchors=false,true --try starts=0,2";
    let json = tune(folder.path(), &format!("{tries} --json"));
    assert_eq!((json.code, json.err.as_str()), (0, ""));
    let json = json.json();
    assert_eq!(json["solver"], "pf-smg");
    assert_eq!(json["combinations"], 4);
    assert_eq!(json["judged_by"][0], "1 - accuracy");
    assert_eq!(json["reference"].as_array().map(Vec::len), Some(2));
    let trials = json["trials"].as_array().expect("trials");
    assert_eq!(
        trials[1]["settings"],
        serde_json::json!({"starts": "0", "anchors": "true"})
    );
    assert_eq!(trials[0]["status"], "failed");
    assert!(
        trials[0]["reason"]
            .as_str()
            .is_some_and(|r| r.contains("starts"))
    );
    let chosen = json["chosen"].as_u64().expect("a position") as usize;
    assert!(trials[chosen]["performance"].as_f64() > Some(0.5));
    let command = json["command"].as_array().expect("a command");
    let starts = &trials[chosen]["settings"]["starts"];
    let starts = format!("starts={}", starts.as_str().expect("a value"));
    assert!(command.iter().any(|word| *word == starts.as_str()));

    // The order of flags and the number of threads do not matter; the file has the same values.
    let turned = "--try starts=0,2 --try anchors=false,true";
    let more = "--csv tried.csv --threads 1";
    let outcome = tune(folder.path(), &format!("{turned} {more}")).ok();
    let line = outcome.out.lines().find(|line| line.contains("failed: "));
    assert!(line.is_some_and(|line| line.contains("starts is 0")));
    let text = std::fs::read_to_string(folder.path().join("tried.csv")).expect("a file");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header");
    assert_eq!(
        header.iter().take(6).collect::<Vec<_>>(),
        [
            "run",
            "settings.starts",
            "settings.anchors",
            "status",
            "accuracy",
            "hypervolume"
        ]
    );
    for (i, row) in reader.records().enumerate() {
        let row = row.expect("a row");
        assert_eq!(row[0], (i + 1).to_string());
        assert_eq!(
            row[1],
            *trials[i]["settings"]["starts"].as_str().expect("it")
        );
        assert_eq!(row[3], *trials[i]["status"].as_str().expect("a status"));
        for (column, name) in [(4, "performance"), (5, "hypervolume")] {
            assert_eq!(row[column].parse().ok(), trials[i][name].as_f64());
        }
        assert_eq!(row[8] == *"true", i == chosen);
    }
    // The file is not replaced without --force.
    tune(folder.path(), "--try runs=1,2 --csv tried.csv").fails(1, "--force");
}

/// Additional arguments for the small search, the exit code, and words of the error.
const WRONG: &[(&str, i32, &str)] = &[
    ("--try stpe=1,2", 2, "did you mean \"step\""),
    ("--try step=", 2, "the values are missing"),
    ("--try step=1,1.0", 2, "given twice"),
    ("--try step=1 --try step=2", 2, "given twice"),
    ("--try step=0,1", 2, "above 0"),
    ("--try holes=4,5", 2, "--set fixes it"),
    ("--try runs=1,2 --split none", 2, "validation rows"),
    ("--try runs=1,2 --most 0", 2, "--most 0"),
    ("--try runs=1,2 --json --csv -", 2, "standard output"),
    ("--try runs=1,2 --objective log_loss", 2, "two objectives"),
    ("--try runs=1,2 --max-seconds 0", 2, "above 0"),
    (
        "--try runs=1,2 --csv no/such.csv",
        1,
        "the folder does not exist",
    ),
    ("--try runs=1,2 --max-seconds 1e-9", 1, "no trial finished"),
];

#[test]
fn wrong_usage_is_an_error_in_one_line() {
    let folder = TempDir::new().expect("a folder");
    for (more, code, words) in WRONG {
        let outcome = tune(folder.path(), more);
        assert_eq!(outcome.code, *code, "{more:?}: {}", outcome.err);
        let error = outcome.err.lines().last().unwrap_or_default();
        assert!(
            error.starts_with("error: ") && error.contains(words),
            "{more:?}: {error}"
        );
    }
    // All settings must belong to one solver, and something must be left to try.
    let fixed =
        "--solver trace --objective log_loss --objective score_covariance(sex) --penalty 0.1";
    let different = "--set stages=3 --try runs=1,2";
    for (more, words) in [(fixed, "--try"), (different, "--solver")] {
        run_in(&folder, &format!("tune demo(rows=2000) {more}")).fails(2, words);
    }
}

/// Ctrl-C keeps the finished trials, reports those that were not run, and chooses among the
/// finished ones.
#[cfg(unix)]
#[test]
fn an_interrupt_keeps_the_results_so_far() {
    let folder = TempDir::new().expect("a folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_fairfront"))
        .args(words(
            "tune demo(rows=2000) --models 1000000 --csv tried.csv --set patience=0 \
                 --try max-steps=4,1000000,2000000",
        ))
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut lines = lines.map(|line| line.expect("a line"));
    let second = lines.find(|line| line.starts_with("trial 2 of 3 (max-steps=1000000), round "));
    let second = second.expect("a line of progress");
    has(&second, " s left");
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill runs").success());
    // Read the remaining lines, so that the pipe does not fill up.
    lines.for_each(drop);
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.matches("  not run").count(), 2, "{text}");
    has(&text, "Stopped early: 2 combinations not run");
    assert!(text.contains("Chosen: trial 1") && text.contains("--set max-steps=4"));
    let csv = std::fs::read_to_string(folder.path().join("tried.csv")).expect("a file");
    let statuses: Vec<&str> = csv.lines().map(|l| l.split(',').nth(2).unwrap()).collect();
    assert_eq!(statuses, ["status", "done", "not-run", "not-run"]);
}
