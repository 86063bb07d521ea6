//! Runs `verify` as an auditor does.

use std::fmt::Write as _;
use std::path::Path;

use fairfront_run::{FrontTable, RowPlaces, Run, RunInfo, write_run};
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use crate::{Outcome, feed, has, run_in};

fn fit(folder: &Path, args: &str) {
    let args = format!("fit {args} --quiet --out run");
    run_in(folder, &args).ok();
}

/// A folder with a run of this data set.
fn fitted(args: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fit(folder.path(), args);
    folder
}

fn small() -> TempDir {
    fitted("demo(rows=900) --solver eps-fair --models 8")
}

fn verify(folder: &TempDir, args: &str) -> Outcome {
    run_in(&folder, &format!("verify run {args}"))
}

fn agrees(folder: &TempDir, args: &str) -> String {
    let outcome = verify(folder, args);
    assert_eq!(outcome.code, 0, "{}{}", outcome.out, outcome.err);
    has(&outcome.out, " values agree: ");
    outcome.out
}

/// Asserts that the exit code is 1 and that the output contains all of these words.
fn refused(folder: &TempDir, args: &str, words: &[&str]) {
    let outcome = verify(folder, args);
    let printed = outcome.out + &outcome.err;
    assert_eq!(outcome.code, 1, "{printed}");
    for word in words {
        assert!(printed.contains(word), "{word:?} is not in {printed}");
    }
}

/// Changes a run and updates its checksums.
fn change(folder: &TempDir, change: impl FnOnce(&mut RunInfo, &mut FrontTable)) {
    let run = folder.path().join("run");
    let mut changed = Run::read(&run).expect("a run");
    change(&mut changed.info, &mut changed.front);
    write_run(&run, true, &mut changed).expect("a run");
}

/// Loans with weights and a split column, with another separator and missing values.
fn loans() -> String {
    let mut text = String::from("approved;sex;race;age;job;w;part\n");
    for i in 0_u32..600 {
        let sex = if i % 2 == 0 { "F" } else { "M" };
        let race = ["a", "b", "c"][(i / 2 % 3) as usize];
        let age = 20 + (i * 7) % 50;
        let job = ["nurse", "clerk", "driver", "none"][(i * 5 / 3 % 4) as usize];
        let good = (age + 11 * (i % 2) + (i * i) % 17) > 50;
        let part = ["train", "train", "test"][(i % 3) as usize];
        let approved = if good { "yes" } else { "no" };
        let weight = f64::from(1 + i % 4) / 3.0;
        let _ = writeln!(text, "{approved};{sex};{race};{age};{job};{weight};{part}");
    }
    text
}

const OF_LOANS: &str = "--target approved --positive yes --sensitive sex \
    --sensitive race --weight w --separator ; --missing-value none --missing keep";

fn fitted_loans() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("loans.csv"), loans()).expect("a file");
    fit(
        folder.path(),
        &format!("loans.csv {OF_LOANS} --split column:part"),
    );
    folder
}

#[test]
fn fresh_runs_agree() {
    let out = agrees(&fitted("demo(rows=900)"), "--verbose");
    for family in [
        "data",
        "encoding.json",
        "front.parquet",
        "run.json",
        "objectives, training rows",
        "objectives, validation rows",
        "objectives, test rows",
        "measures, test rows",
        "counts, test rows",
        "optimality proofs",
        "no model dominates another",
    ] {
        assert!(out.contains(family), "{family}: {out}");
    }
    let covariances = "demo(rows=900) --solver trace --models 60";
    agrees(&fitted(covariances), "");
    let of_sex = "--objective log_loss --objective score_covariance(sex)";
    agrees(&fitted(&format!("{covariances} {of_sex}")), "");
    let polished = "synthetic:2 --solver pf-smg --models 40 --polish";
    agrees(&fitted(polished), "");
    agrees(&small(), "demo(rows=900)");
}

#[test]
fn the_folder_may_be_named_like_the_data_set() {
    let folder = TempDir::new().expect("a folder");
    let args = "fit demo(rows=900) --solver eps-fair --models 4 --quiet";
    let args = format!("{args} --out demo(rows=900)");
    run_in(&folder, &args).ok();
    let outcome = run_in(&folder, "verify demo(rows=900)");
    assert_eq!(outcome.code, 0, "{}{}", outcome.out, outcome.err);
}

#[test]
fn files_are_read_with_the_options_of_the_run() {
    let folder = fitted_loans();
    agrees(&folder, "");
    let moved = folder.path().join("elsewhere.csv");
    std::fs::rename(folder.path().join("loans.csv"), moved).expect("a file");
    refused(&folder, "", &["loans.csv", "verify run FILE"]);
    agrees(&folder, "elsewhere.csv");
    // The same rows in two parts, from a file and from standard input.
    let text = loans();
    let lines: Vec<&str> = text.lines().collect();
    let (start, end) = (lines[..200].join("\n"), lines[200..].join("\n"));
    std::fs::write(folder.path().join("start.csv"), start).expect("a file");
    let end = format!("{}\n{end}\n", lines[0]);
    let args = "verify run start.csv -";
    let outcome = feed(&folder, args, end.as_bytes());
    assert_eq!(outcome.code, 0, "{}{}", outcome.out, outcome.err);
    let half = run_in(&folder, "verify run start.csv");
    assert_eq!(half.code, 1);
    assert!(
        half.out
            .contains("these are not the run's rows: the run has 400 train"),
        "{}",
        half.out
    );
}

#[test]
fn a_run_on_standard_input_needs_a_file() {
    let folder = TempDir::new().expect("a folder");
    let args = format!("fit - {OF_LOANS} --quiet --out run");
    feed(&folder, &args, loans().as_bytes()).ok();
    refused(&folder, "", &["standard input", "verify run FILE"]);
    std::fs::write(folder.path().join("loans.csv"), loans()).expect("a file");
    agrees(&folder, "loans.csv");
}

#[test]
fn other_data_are_detected() {
    let folder = fitted_loans();
    let changed = loans().replacen(";F;a;20;", ";F;a;21;", 1);
    assert_ne!(changed, loans());
    std::fs::write(folder.path().join("changed.csv"), changed).expect("a file");
    let words = [
        "these are not the run's rows",
        "fingerprint",
        "encoding.json: numeric.age.",
    ];
    refused(&folder, "changed.csv", &words);
    let lacks = loans().replace(";age;", ";years;");
    std::fs::write(folder.path().join("lacks.csv"), lacks).expect("a file");
    refused(&folder, "lacks.csv", &["lack the feature \"age\"", "years"]);
    let untitled = loans().replace("approved;", "given;");
    std::fs::write(folder.path().join("untitled.csv"), untitled).expect("a file");
    refused(
        &folder,
        "untitled.csv",
        &["no column \"approved\"", "untitled.csv"],
    );

    let folder = small();
    refused(
        &folder,
        "'demo(rows=900, seed=2)'",
        &["these are not the run's rows"],
    );
    refused(
        &folder,
        "demo(rows=901)",
        &["the run has ", " rows, the data have "],
    );
    assert_eq!(verify(&folder, "demo(row=1)").code, 2);
}

#[test]
fn changed_numbers_are_named() {
    let folder = small();
    let column = "test.accuracy";
    change(&folder, |_, front| {
        let at = front
            .names
            .iter()
            .position(|name| name == column)
            .expect("a column");
        front.columns[at][2] = Some(0.99);
    });
    let words = ["measures, test rows: model 3, test.accuracy: stored 0.99, recomputed"];
    refused(&folder, "", &words);
    let json = verify(&folder, "--json").out;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["agrees"], false);
    let differ = |check: &&Value| check["different"] != 0;
    let checks = json["checks"].as_array().expect("a list");
    let differ: Vec<&Value> = checks.iter().filter(differ).collect();
    assert_eq!(differ.len(), 1);
    assert_eq!(differ[0]["worst"]["column"], column);
    assert_eq!(differ[0]["worst"]["stored"], 0.99);

    let folder = small();
    change(&folder, |_, front| front.params[1][0] += 1e-3);
    refused(
        &folder,
        "",
        &["objectives, training rows: model 2, objective."],
    );

    let folder = small();
    change(&folder, |_, front| front.params[1][0] = f64::MAX);
    refused(
        &folder,
        "",
        &["objectives, training rows: model 2, objective."],
    );

    let folder = small();
    change(&folder, |_, front| front.params[3][2] = f64::NAN);
    refused(&folder, "", &["model 4: parameter 2 is NaN"]);

    let folder = small();
    change(&folder, |info, _| info.unmitigated.params[0] += 1e-3);
    refused(&folder, "", &["the unmitigated model, objective."]);

    let folder = small();
    change(&folder, |info, _| info.at_zero[1] = 0.5);
    refused(&folder, "", &["run.json: at_zero.1: stored 0.5"]);

    let folder = small();
    change(&folder, |info, _| info.judged.on_test = Some(1_000));
    refused(&folder, "", &["run.json: judged.on_test: stored 1000"]);

    let folder = small();
    change(&folder, |info, front| {
        front.params.pop();
        front
            .columns
            .iter_mut()
            .for_each(|c| c.truncate(c.len() - 1));
        info.models += 1;
    });
    refused(&folder, "", &["run.json: models"]);
}

#[test]
fn a_dominated_model_is_named() {
    let folder = small();
    change(&folder, |info, front| {
        let mut worse = front.params[0].clone();
        *worse.last_mut().expect("an intercept") += 3.0;
        front.params.push(worse);
        front.columns.iter_mut().for_each(|c| c.push(c[0]));
        info.models += 1;
    });
    refused(
        &folder,
        "",
        &[
            "is dominated by model",
            "in the objectives on training rows",
        ],
    );
}

#[test]
fn corrupted_folders_are_detected() {
    // A front that the run did not write: its differences are still reported.
    let folder = small();
    let path = folder.path().join("run/run.json");
    let before = std::fs::read(&path).expect("a file");
    change(&folder, |_, front| front.columns[0][0] = Some(7.0));
    std::fs::write(&path, &before).expect("a file");
    let words = [
        "the file is not the one that the run wrote",
        "model 1, objective.log_loss: stored 7",
    ];
    refused(&folder, "", &words);

    let folder = small();
    let run = folder.path().join("run");
    let whole = std::fs::read(run.join("front.parquet")).expect("a file");
    std::fs::write(run.join("front.parquet"), &whole[..whole.len() / 2]).expect("a file");
    refused(&folder, "", &["front.parquet: the file is corrupted"]);
    std::fs::remove_file(run.join("front.parquet")).expect("a file");
    refused(&folder, "", &["front.parquet: the file cannot be read"]);
    std::fs::write(run.join("front.parquet"), whole).expect("a file");
    agrees(&folder, "");

    let text = std::fs::read_to_string(run.join("encoding.json")).expect("a file");
    std::fs::write(
        run.join("encoding.json"),
        text.replacen("\"shift\": ", "\"shift\": 1", 1),
    )
    .expect("a file");
    refused(
        &folder,
        "",
        &[
            "encoding.json: the file is not the one that the run wrote; numeric.",
            ".shift: stored 1",
        ],
    );
    std::fs::remove_file(run.join("encoding.json")).expect("a file");
    refused(&folder, "", &["encoding.json: the file cannot be read"]);

    let text = String::from_utf8(before.clone()).expect("text");
    let other = text.replacen("\n  \"models\": ", "\n  \"models\": 1", 1);
    std::fs::write(run.join("run.json"), other).expect("a file");
    let words = [
        "run.json: the checksum does not match the content, so the file was changed",
        "; models: stored 1",
    ];
    refused(&folder, "", &words);

    std::fs::write(run.join("run.json"), &before[..before.len() / 2]).expect("a file");
    refused(&folder, "", &["run.json: the file is corrupted"]);
    std::fs::remove_file(run.join("run.json")).expect("a file");
    refused(&folder, "", &["no run.json in it"]);
}

#[test]
fn threads_change_nothing() {
    let folder = small();
    let out = |threads: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fairfront"));
        let command = command
            .args(["verify", "run", "--json"])
            .current_dir(folder.path());
        let output = command.env("RAYON_NUM_THREADS", threads).output();
        output.expect("the command ends").stdout
    };
    assert_eq!(out("1"), out("2"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Edits never cause a panic. They keep the length of numbers, so that none requests a billion
    /// rows.
    #[test]
    fn no_edit_panics(
        file in 0_usize..3,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        thread_local! {
            static RUN: TempDir = small();
        }
        RUN.with(|folder| {
            let name = ["run.json", "encoding.json", "front.parquet"][file];
            let path = folder.path().join("run").join(name);
            let whole = std::fs::read(&path).expect("a file");
            let mut bytes = whole.clone();
            for (at, byte) in &edits {
                let at = at.index(bytes.len());
                bytes[at] = match file {
                    2 => *byte,
                    _ => *b"0129-.,:\"{}[]e x\xff".get(usize::from(*byte) % 17).expect("one"),
                };
            }
            std::fs::write(&path, &bytes).expect("a file");
            let places = RowPlaces {
                published: None,
                kept: &fairfront_stream::kept_rows,
            };
            let found = fairfront_run::verify(&folder.path().join("run"), &[], places);
            std::fs::write(&path, &whole).expect("a file");
            if file > 0 && bytes != whole {
                prop_assert!(!found.expect("a report").agrees);
            }
            Ok(())
        })?;
    }
}
