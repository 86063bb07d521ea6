//! Runs `select` as a user does.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use crate::{Outcome, has, run_in};

const PARITY: &str = "demographic_parity_difference(sex)";

/// A folder with one run with validation rows and one without, fitted once for all tests.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // A static is never dropped, so a temporary folder would not be removed.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("select");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let small = "fit demo(rows=900) --models 20 --quiet --out";
        for more in ["r", "train --split none"] {
            run_in(&folder, &format!("{small} {more}")).ok();
        }
        folder
    })
}

fn select(args: &str) -> Outcome {
    run_in(folder(), &format!("select {args}"))
}

fn json(args: &str) -> Value {
    select(&format!("{args} --json")).json()
}

#[test]
fn a_model_is_chosen_with_its_reason_and_price() {
    let require = format!("{PARITY} <= 0.1");
    let shown = select(&format!("r --require '{require}' --confidence none"));
    assert_eq!((shown.code, shown.err.as_str()), (0, ""), "{}", shown.out);
    for part in [
        "r: model ",
        "reason: the highest validation.accuracy, ",
        "that meet demographic_parity_difference(sex) <= 0.1\n",
        "compared with the unmitigated model, on test rows, with 95% intervals: ",
        "the demographic parity difference (sex) ",
        "95% interval, test  unmitigated, test\n",
        "selection rate (sex=",
    ] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    let found = json(&format!(
        "r --require '{require}' --confidence none --best accuracy"
    ));
    let id = found["model_id"].as_u64().expect("an id") as usize;
    assert!(found["values"][format!("validation.{PARITY}")].as_f64() <= Some(0.1));
    assert!(shown.out.contains(&format!("model {id} of")));
    assert!(
        shown
            .out
            .contains(found["price"]["sentence"].as_str().expect("words"))
    );
    // No other model that meets the requirement is more accurate.
    let models = run_in(folder(), "show r --json");
    let models: Vec<Value> = serde_json::from_str(&models.out).expect("JSON");
    let number = |model: &Value, name: &str| model[format!("validation.{name}")].as_f64();
    let meeting = models.iter().filter(|m| number(m, PARITY) <= Some(0.1));
    let meeting: Vec<&Value> = meeting.collect();
    assert_eq!(found["judged"]["meeting"], meeting.len());
    let best = meeting.iter().filter_map(|m| number(m, "accuracy"));
    assert_eq!(number(&models[id - 1], "accuracy"), best.reduce(f64::max));
}

#[test]
fn every_rule_chooses() {
    let weights = format!("--weights error_rate=0.2,\"demographic_parity(sex)\"=0.5,{PARITY}=0.3");
    for (rule, why) in [
        ("--knee", "the knee in validation.1 - accuracy, "),
        ("--regret", "the least worst-case regret, "),
        (weights.as_str(), "the least weighted sum, "),
        ("--best test.log_loss", "the lowest test.log_loss, "),
        ("", "the highest validation.accuracy, "),
    ] {
        let require = "r --require 'test.accuracy > 0.3' --confidence none";
        let found = json(&format!("{require} {rule}"));
        let reason = found["reason"].as_str().expect("words");
        assert!(reason.starts_with(why), "{reason}");
        has(reason, "that meet test.accuracy > 0.3");
    }
    assert_eq!(json("r --model-id 1")["reason"], "chosen by its id");
}

#[test]
fn unmet_requirements_have_their_own_exit_code() {
    let unmet = "r --require accuracy>=0.999 --confidence none";
    let outcome = select(&format!("{unmet} --model unmet.json"));
    assert_eq!((outcome.code, outcome.out.as_str()), (3, ""));
    let words = "models meets accuracy >= 0.999; model ";
    assert!(
        outcome.err.starts_with("error: none of "),
        "{}",
        outcome.err
    );
    has(&outcome.err, words);
    assert!(outcome.err.contains(" and misses accuracy >= 0.999 by 0."));
    assert_eq!(outcome.err.lines().count(), 1);
    assert!(!folder().join("unmet.json").exists());

    let outcome = select(&format!("{unmet} --json"));
    let found: Value = serde_json::from_str(&outcome.out).expect("JSON");
    assert_eq!((outcome.code, &found["model_id"]), (3, &Value::Null));
    assert_eq!(found["unmet"]["misses"][0]["column"], "validation.accuracy");
    assert!(found["unmet"]["misses"][0]["miss"].as_f64() > Some(0.0));
}

#[test]
fn wrong_usage_is_an_error() {
    for (args, code, words) in [
        ("--require 'acuracy > 0.5'", 2, "did you mean \"accuracy\"?"),
        (
            "--require 'accuracy = 0.5'",
            2,
            "character 10: expected <=, >=, < or >",
        ),
        (
            "--best accuracy(race",
            2,
            "--best \"accuracy(race\", character 14",
        ),
        (
            "--weights accuracy",
            2,
            "--weights \"accuracy\", character 9: expected '='",
        ),
        (
            "--model-id 99999",
            2,
            "the front has no such model; choose one of 1 to ",
        ),
        ("--knee --regret", 2, "cannot be used with"),
        (
            "--model-id 1 --require 'accuracy > 0'",
            2,
            "cannot be used with",
        ),
        ("--force", 2, "--model"),
        (
            "--model r/model.json",
            1,
            "is inside a run folder, which may contain only",
        ),
        (
            "--model no/m.json",
            1,
            "the folder does not exist; create it first",
        ),
        (
            "--model -",
            1,
            "is not a regular file; choose a file for the model",
        ),
    ] {
        let outcome = select(&format!("r {args}"));
        assert_eq!((outcome.code, outcome.out.as_str()), (code, ""), "{args:?}");
        has(&outcome.err, words);
    }
    let outcome = select("nowhere");
    assert_eq!(outcome.code, 1);
    assert!(outcome.err.contains("not a run folder"));
}

#[test]
fn without_validation_rows_training_rows_order_models() {
    let untested = "--confidence none";
    let shown = select(&format!("train --require 'accuracy > 0.5' {untested}")).ok();
    assert_eq!(
        shown.err,
        "note: the run has no validation rows, so models are ranked on training rows\n"
    );
    let basis = "compared with the unmitigated model, on training rows, without intervals: ";
    has(&shown.out, basis);
    has(&shown.out, "the highest train.accuracy, ");
    let refused = select(&format!("train --require 'test.accuracy > 0.5' {untested}"));
    assert_eq!(refused.code, 2);
    assert!(
        refused
            .err
            .contains("the run has no test rows; it has train"),
        "{}",
        refused.err
    );
}

#[test]
fn the_chosen_model_is_written() {
    let shown = select("r --knee --model model.json").ok();
    assert!(
        shown.out.ends_with("Wrote the model to model.json.\n"),
        "{}",
        shown.out
    );
    let text = std::fs::read_to_string(folder().join("model.json")).expect("a file");
    let model: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        model["provenance"]["model_id"],
        json("r --knee")["model_id"]
    );
    let again = select("r --model-id 1 --model model.json");
    assert_eq!((again.code, again.out.as_str()), (1, ""));
    has(&again.err, "replace it with --force");
    select("r --model-id 1 --model model.json --force").ok();
}
