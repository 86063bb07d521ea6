//! Runs `stream` as a user does. Values that depend on the quality of fronts are removed.

use std::path::Path;

use tempfile::TempDir;

use crate::{Outcome, feed, has, run_in};

const SPEC: &str = "--target approved --positive yes --sensitive sex --drop district,split \
    --batch 150 --models 8 --set sums=4";

/// A folder with rows of the demo in a file, and the contents of that file.
fn rows() -> (TempDir, String) {
    let folder = TempDir::new().expect("a folder");
    let args = "data export demo(rows=500) --missing keep";
    let more = "--missing-sensitive loss-only --output rows.csv";
    run_in(&folder, &format!("{args} {more}")).ok();
    let text = std::fs::read_to_string(folder.path().join("rows.csv")).expect("rows");
    (folder, text)
}

/// The first rows of a text, with its header.
fn head(text: &str, rows: usize) -> String {
    let lines: Vec<&str> = text.lines().take(rows + 1).collect();
    lines.join("\n") + "\n"
}

fn stream(folder: &Path, args: &str, input: &[u8]) -> Outcome {
    let outcome = feed(folder, &format!("stream state {args}"), input);
    assert!(outcome.err.lines().all(|line| line.chars().count() <= 400));
    outcome
}

/// The output, without values that depend on the solver or the time.
fn printed(outcome: &Outcome) -> String {
    let line = |line: &str| {
        let cut = match line.split_once(" kept; ") {
            Some((before, after)) => match after.split_once(" s; ") {
                Some((_, rest)) => format!("{before} kept; […]; {rest}"),
                None => format!("{before} kept; […]"),
            },
            None => line.to_owned(),
        };
        cut + "\n"
    };
    let lines = outcome.out.lines();
    let out: String = lines
        .filter(|l| !l.starts_with("front "))
        .map(line)
        .collect();
    format!(
        "exit {}\n{out}--- standard error\n{}",
        outcome.code, outcome.err
    )
}

#[test]
fn days_of_a_stream() {
    let (folder, text) = rows();
    let at = folder.path();
    std::fs::write(at.join("monday.csv"), head(&text, 200)).expect("a file");
    let mut all = vec![printed(&stream(at, &format!("monday.csv {SPEC}"), b""))];
    // No new rows, then more rows, some of them invalid and some with new categories.
    all.push(printed(&stream(at, "monday.csv", b"")));
    let mut lines: Vec<String> = text.lines().skip(201).map(str::to_owned).collect();
    lines.insert(20, "1,2,3".into());
    lines.insert(90, lines[90].replacen(',', "x,", 1));
    for line in lines.iter_mut().skip(120).step_by(3) {
        let mut fields: Vec<&str> = line.split(',').collect();
        if fields.len() == 17 {
            (fields[1], fields[5]) = ("Other", "astronaut");
            *line = fields.join(",");
        }
    }
    let header = text.lines().next().expect("a header");
    let tuesday = format!("{header}\n{}\n", lines.join("\n"));
    std::fs::write(at.join("tuesday.csv"), tuesday).expect("a file");
    all.push(printed(&stream(at, "tuesday.csv", b"")));
    all.push(printed(&stream(at, "tuesday.csv --flush", b"")));
    insta::assert_snapshot!("stream-days", all.join("\n"));
    let rejected = std::fs::read_to_string(at.join("state/rejected.csv")).expect("rejected rows");
    insta::assert_snapshot!("stream-rejected", rejected);
    assert!(at.join("state/figures/hypervolume.svg").is_file());
}

#[test]
fn stored_rows_of_standard_input_are_reported() {
    let (folder, text) = rows();
    let at = folder.path();
    let mut all = vec![printed(&stream(
        at,
        &format!("- {SPEC}"),
        head(&text, 200).as_bytes(),
    ))];
    all.push(printed(&stream(
        at,
        "- --skip 200",
        head(&text, 301).as_bytes(),
    )));
    all.push(printed(&stream(at, "- --skip 400", text.as_bytes())));
    all.push(printed(&stream(
        at,
        "- --skip 0",
        head(&text, 20).as_bytes(),
    )));
    insta::assert_snapshot!("stream-stdin", all.join("\n"));
}

#[test]
fn a_batch_as_json() {
    let (folder, text) = rows();
    let args = format!("- --json {SPEC}");
    let outcome = stream(folder.path(), &args, text.as_bytes());
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    let lines: Vec<serde_json::Value> = outcome
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert_eq!(lines.len(), 3);
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(line["batch"], at + 1);
        assert_eq!(line["stdin_rows"], 150 * (at + 1));
        assert!(line["seconds"].is_f64() && line["messages"].is_array());
        assert!(line["front"]["models"].as_u64() > Some(0));
    }
}

#[test]
fn wrong_calls_are_errors_in_one_line() {
    let (folder, text) = rows();
    let at = folder.path();
    let mut all = String::new();
    let mut add = |args: &str, input: &str| {
        let outcome = stream(at, args, input.as_bytes());
        assert_ne!(outcome.code, 0, "{args:?}");
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
        let line = format!("$ stream state {}\n{}: {}", args, outcome.code, outcome.err);
        all += &line;
    };
    add("", "");
    add("rows.csv", "");
    add("absent.csv --target approved", "");
    add("- --follow --target approved", "");
    add("rows.csv --skip 3 --target approved", "");
    add("rows.csv --target aproved --sensitive sex", "");
    add("rows.csv --target approved --window 0", "");
    assert!(!at.join("state").exists(), "a state was created");
    let bad = head(&text, 100) + "1,2\n" + &text[text.find('\n').expect("a header") + 1..];
    add(&format!("- --max-rejected 0 {SPEC}"), &bad);
    stream(at, "- --skip 0", bad.as_bytes()).ok();
    add("rows.csv --seed 2", "");
    add("rows.csv --type age=numeric", "");
    add("rows.csv --reservoir 50", "");
    add("rows.csv --solver pf-smg", "");
    std::fs::write(at.join("other.csv"), "a,b\n1,2\n").expect("a file");
    add("other.csv", "");
    let outcome = run_in(at, "verify state");
    let line = format!("$ verify state\n{}: {}", outcome.code, outcome.err);
    all += &line;
    insta::assert_snapshot!("stream-errors", all);
}

#[test]
fn readers_and_writers_report_corruption() {
    let (folder, _) = rows();
    let at = folder.path();
    stream(at, &format!("rows.csv --quiet {SPEC}"), b"");
    let front = std::fs::read(at.join("state/current/front.parquet")).expect("a front");
    std::fs::write(
        at.join("state/generation-000004/front.parquet"),
        &front[1..],
    )
    .expect("damage");
    let warned = |outcome: &Outcome| {
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        let words: Vec<&str> = outcome.err.split_whitespace().collect();
        words.join(" ")
    };
    for command in ["show state", "select state --model-id 1", "compare state"] {
        let warnings = warned(&run_in(at, command));
        assert!(
            warnings.contains("generation-000003 is read instead"),
            "{command:?}: {warnings}"
        );
    }
    let warnings = warned(&stream(at, "rows.csv", b""));
    has(&warnings, "moved to state/generation-000004.damaged");
    let again = std::fs::read(at.join("state/generation-000004/front.parquet")).expect("a front");
    assert_eq!(again, front);
    assert_eq!(warned(&run_in(at, "show state")), "");
}
