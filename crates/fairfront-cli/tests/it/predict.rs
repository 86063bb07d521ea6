//! Runs `predict` as a user does.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use fairfront_model::Model;
use fairfront_run::model_of;
use tempfile::TempDir;

use crate::{Outcome, feed, has, run_in};

/// Loans with an id and some missing values.
fn loans(rows: usize) -> String {
    let mut text = "id,approved,sex,age,job,pay\n".to_owned();
    for i in 0..rows {
        let woman = i % 5 < 2;
        let age = 20 + i * 7 % 45;
        let job = ["nurse", "clerk", "driver", "clerk"][(i * i + usize::from(woman)) % 4];
        let pay = 20 + i * 13 % 31 + age / 3;
        let likes = pay + i * 11 % 17 + if woman { 0 } else { 6 };
        let approved = if likes > 50 { "yes" } else { "no" };
        let sex = if woman { "F" } else { "M" };
        let pay = if i % 23 == 0 {
            "?".into()
        } else {
            pay.to_string()
        };
        let _ = writeln!(text, "r{i},{approved},{sex},{age},{job},{pay}");
    }
    text
}

/// A folder with loans, a run on them and a model of it.
fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("loans.csv"), loans(400)).expect("a file");
    let fit = "fit loans.csv --target approved --positive yes --sensitive sex --drop id \
        --missing keep --split none --solver trace --models 5 --quiet --out run";
    run_in(&folder, fit).ok();
    let model = model_of(&at("run"), fairfront_model::ModelId::of_index(2)).expect("a model");
    model.write(&at("model.json"), false).expect("a file");
    folder
}

fn predict(folder: &Path, args: &str) -> Outcome {
    run_in(folder, &format!("predict model.json {args}"))
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect("a text")
}

#[test]
fn the_same_rows_in_any_file_give_the_same_predictions() {
    let folder = folder();
    let at = folder.path();
    let first = predict(at, "loans.csv -o a.csv --keep id");
    assert_eq!((first.code, first.out.as_str()), (0, ""));
    insta::assert_snapshot!("predict-note", first.err);
    let expected = read(at, "a.csv");
    let lines: Vec<&str> = expected.lines().collect();
    assert_eq!(lines[0], "id,score,probability,decision,note");
    assert_eq!(lines.len(), 401);
    for (i, line) in lines[1..].iter().enumerate() {
        assert!(line.starts_with(&format!("r{i},")), "{line}");
        assert_eq!(line.ends_with(",pay missing"), i % 23 == 0, "{line}");
    }

    let gz = std::fs::File::create(at.join("loans.csv.gz")).expect("a file");
    let mut gz = flate2::write::GzEncoder::new(gz, flate2::Compression::fast());
    gz.write_all(read(at, "loans.csv").as_bytes())
        .expect("written");
    gz.finish().expect("written");
    let gz = predict(at, "loans.csv.gz -o - --keep id");
    assert_eq!((gz.code, gz.out.as_str()), (0, expected.as_str()));

    // A Parquet file with all columns as strings, which is scored again.
    let all = "id,approved,sex,age,job,pay";
    predict(at, &format!("loans.csv -o all.parquet --keep {all}")).ok();
    let again = predict(at, "all.parquet -o - --keep id");
    assert_eq!((again.code, again.out.as_str()), (0, expected.as_str()));
    has(
        &again.err,
        "ignored 4 columns that the model does not use: \"score\"",
    );

    for name in ["loans.csv", "all.parquet"] {
        let bytes = std::fs::read(at.join(name)).expect("a file");
        let args = "predict model.json - -o - --keep id";
        let piped = feed(at, args, &bytes);
        assert_eq!((piped.code, piped.out.as_str()), (0, expected.as_str()));
    }
}

#[test]
fn decisions_on_training_rows_match_the_counts_of_the_run() {
    let folder = folder();
    let found = predict(folder.path(), "loans.csv --audit --json -o a.csv").json();
    let model = Model::read(&folder.path().join("model.json")).expect("a model");
    let value = |name: &str| {
        model
            .values
            .get(&format!("train.{name}"))
            .copied()
            .flatten()
    };
    let audit = &found["audit"];
    let sex = &audit["attributes"][0];
    for group in ["F", "M"] {
        for rate in [
            "count",
            "selection_rate",
            "false_negative_rate",
            "false_positive_rate",
            "accuracy",
        ] {
            assert_eq!(
                sex["groups"][group][rate].as_f64(),
                value(&format!("{rate}(sex={group})")),
                "{rate}"
            );
        }
    }
    for difference in [
        "demographic_parity_difference",
        "demographic_parity_ratio",
        "equal_opportunity_difference",
    ] {
        assert_eq!(
            sex[difference].as_f64(),
            value(&format!("{difference}(sex)"))
        );
    }
    assert_eq!(audit["overall"]["accuracy"].as_f64(), value("accuracy"));
    let loss = audit["log_loss"].as_f64().expect("a loss") - value("log_loss").expect("a loss");
    // The sums have 400 terms below 10 in a different order.
    assert!(loss.abs() < 1e-13, "{loss}");

    // The same from the output file: decisions compared with labels.
    let predictions = read(folder.path(), "a.csv");
    let loans = read(folder.path(), "loans.csv");
    let both = loans.lines().zip(predictions.lines()).skip(1);
    let hits = both.filter(|(loan, predicted)| {
        let fields: Vec<&str> = loan.split(',').collect();
        fields[1] == "yes" && fields[2] == "F" && predicted.split(',').nth(2) == Some("1")
    });
    assert_eq!(Some(hits.count() as f64), value("true_positives(sex=F)"));

    let shown = predict(folder.path(), "loans.csv --audit");
    insta::assert_snapshot!("predict-audit", shown.out);
}

#[test]
fn an_error_leaves_files_unchanged() {
    let folder = folder();
    let at = folder.path();
    let broken = loans(20_000) + "r,yes,F,old,clerk,3\n";
    std::fs::write(at.join("broken.csv"), broken).expect("a file");
    std::fs::write(at.join("there.csv"), "mine").expect("a file");
    let names = || {
        let entries = std::fs::read_dir(at).expect("a folder").flatten();
        let mut names: Vec<_> = entries.map(|e| e.file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    for out in ["new.csv", "new.parquet", "there.csv"] {
        let failed = predict(at, &format!("broken.csv --force -o {out}"));
        assert_eq!(failed.code, 1);
        assert_eq!(
            failed.err,
            "error: broken.csv, row 20,001 (line 20,002), column \"age\": \"old\" is not a number, but \
             the column is numeric in the model; fix the value, or leave it empty if it is missing\n"
        );
        assert_eq!(names(), before);
    }
    assert_eq!(read(at, "there.csv"), "mine");
    predict(at, "loans.csv -o there.csv").fails(1, "replace it with --force");
    assert_eq!(read(at, "there.csv"), "mine");
    for (args, words) in [
        ("loans.csv -o loans.csv", "is an input"),
        ("loans.csv -o model.json", "is an input"),
        ("loans.csv -o - --audit", "both write to standard output"),
        ("loans.csv -o a.csv --weight pay", "--audit"),
        ("loans.csv", "--output"),
    ] {
        predict(at, args).fails(2, words);
    }
    run_in(at, "predict loans.csv loans.csv -o -").fails(1, "not a fairfront model file");
}

/// If no label and no group is known, a table of zeros would be misleading.
#[test]
fn an_audit_without_known_labels_is_a_warning() {
    let folder = folder();
    let at = folder.path();
    let other = loans(50).replace(",yes,", ",YES,").replace(",F,", ",f,");
    std::fs::write(at.join("other.csv"), other.replace(",M,", ",m,")).expect("a file");
    let audit = predict(at, "other.csv --audit").ok();
    let warnings = audit.err.replace("\n  ", " ");
    has(&warnings, "warning: no row has ");
    has(&warnings, "warning: no row is in a known group of ");
}
