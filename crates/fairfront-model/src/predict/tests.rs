mod class;

use std::fmt::Write as _;
use std::io::Write as _;

use proptest::prelude::*;
use tempfile::NamedTempFile;

use super::*;
use crate::PerScore;
use crate::seal::{reseal, seal};

/// score = 0.5 + 2 (age − 30)/10 + 0.25 [pay missing] + (pay − 100)/50 − 1 nurse + 1 clerk
/// − 0.5 (other) + 0.125 (missing) + 3 [zone a] − 3 [zone b]
const MODEL: &str = r#"{
    "format": "fairfront-model", "version": 1, "threshold": 0.0, "intercept": 0.5,
    "coefficients": {
        "age": 2.0, "pay": 1.0, "pay (missing)": 0.25,
        "job=clerk": 1.0, "job=nurse": -1.0, "job=(other)": -0.5, "job=(missing)": 0.125,
        "zone=a": 3.0, "zone=b": -3.0
    },
    "encoding": {
        "format": "fairfront-encoding", "version": 1,
        "target": {"column": "y", "positive": "yes"},
        "attributes": [
            {"name": "sex", "groups": ["F", "M"], "columns": [{"column": "sex"}], "missing": "drop"}
        ],
        "numeric": [
            {"column": "age", "shift": 30.0, "factor": 10.0, "mean": 40.0},
            {"column": "pay", "shift": 100.0, "factor": 50.0, "mean": 150.0, "indicator": true}
        ],
        "categorical": [
            {"column": "job", "categories": ["clerk", "nurse", "(other)", "(missing)"],
             "pooled": ["smith"]},
            {"column": "zone", "categories": ["a", "b"]}
        ]
    },
    "reading": {"header": true, "missing_values": ["?", "NA"]},
    "values": {},
    "provenance": {
        "run": "r", "model_id": 1, "models": 1, "source": "s", "program": "0", "solver": "trace",
        "seed": 0, "objectives": [], "fingerprint": "", "front_sha256": ""
    }
}"#;

/// The model with a part of it replaced.
fn changed(piece: &str, by: &str) -> Model {
    Model::from_json(&seal(&MODEL.replace(piece, by))).expect("a model")
}

fn model() -> Model {
    Model::from_json(&seal(MODEL)).expect("a model")
}

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    file
}

fn predict_with(
    model: &Model,
    bytes: &[u8],
    options: &PredictOptions,
) -> Result<(String, Predicted), String> {
    let file = file(bytes);
    let path = file.path().display().to_string();
    let mut out = Vec::new();
    match predict(model, &path, options, Predictions::Csv(&mut out)) {
        Ok(done) => Ok((String::from_utf8(out).expect("UTF-8"), done)),
        Err(error) => {
            let said = error.to_string().replace(&path, "f");
            Err(said.replace(fairfront_data::file_name(&path), "f"))
        }
    }
}

fn predicted(text: &str) -> Result<(String, Predicted), String> {
    predict_with(&model(), text.as_bytes(), &PredictOptions::default())
}

fn rejected(text: &str) -> String {
    predicted(text).expect_err("an error")
}

#[test]
fn scores_follow_the_formula_and_notes_list_missing_values() {
    let rows = "zone,age,more,job,pay\n\
                a,30,x,nurse,100\n\
                b,?,x,astronaut,\n\
                c,20,x,NA,150\n\
                a,40,x,smith,100\n";
    let (text, done) = predicted(rows).expect("scores");
    let scores = [
        0.5 - 1.0 + 3.0,
        // The mean age, the mean pay and its indicator, other; zone b.
        0.5 + 2.0 + 1.0 + 0.25 - 0.5 - 3.0,
        // An unseen zone has no parameter, and there is no *other*.
        0.5 - 2.0 + 1.0 + 0.125,
        // Pooled in training, so not unseen.
        0.5 + 2.0 - 0.5 + 3.0,
    ];
    let notes = [
        "",
        "age missing; pay missing; job unseen: astronaut",
        "job missing; zone unseen: c",
        "",
    ];
    let mut expected = "score,probability,decision,note\n".to_owned();
    for (score, note) in scores.iter().zip(notes) {
        let chance = 1.0 / (1.0 + libm::exp(-score));
        let decision = u8::from(*score >= 0.0);
        let _ = writeln!(expected, "{score:?},{chance:?},{decision},{note}");
    }
    assert_eq!(text, expected);
    assert_eq!((done.rows, done.noted), (4, 2));
    assert!(matches!(
        done.results,
        Summary::Decisions { selected: 3, .. }
    ));
    assert_eq!(done.unused, ["more"]);
    let lacking: Vec<_> = done
        .lacking
        .iter()
        .map(|l| (l.column.as_str(), l.missing, l.unseen))
        .collect();
    assert_eq!(
        lacking,
        [("age", 1, 0), ("pay", 1, 0), ("job", 1, 1), ("zone", 0, 1)]
    );
}

#[test]
fn threshold_changes_decisions_but_not_scores() {
    let rows = b"zone,age,job,pay\na,30,nurse,100\na,40,nurse,100\n";
    let options = PredictOptions::default();
    let moved = changed(r#""threshold": 0.0"#, r#""threshold": 4.5"#);
    let (text, _) = predict_with(&moved, rows, &options).expect("scores");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert!(
        lines[0].starts_with("2.5,") && lines[0].ends_with(",0,"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("4.5,") && lines[1].ends_with(",1,"),
        "{text}"
    );
}

#[test]
fn kept_columns_come_first_and_unchanged() {
    let rows = b"id,zone,age,job,pay\n\"7, 8\",a,030,nurse,?\n ?,a,1e1,nurse,1\n";
    let options = PredictOptions {
        keep: vec!["id".into(), "age".into(), "pay".into()],
        ..PredictOptions::default()
    };
    let (text, _) = predict_with(&model(), rows, &options).expect("scores");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "id,age,pay,score,probability,decision,note");
    assert!(lines[1].starts_with("\"7, 8\",030,?,"), "{text}");
    assert!(lines[2].starts_with("?,1e1,1,"), "{text}");
    let keep = |names: &[&str]| PredictOptions {
        keep: names.iter().map(|n| (*n).to_owned()).collect(),
        ..PredictOptions::default()
    };
    let rejected = |names| predict_with(&model(), rows, &keep(names)).expect_err("usage");
    assert!(rejected(&["score"]).contains("rename"));
    assert!(rejected(&["id", "id"]).contains("twice"));
    assert!(rejected(&["idd"]).contains("\"idd\" for keep (did you mean \"id\"?)"));
}

#[test]
fn every_line_is_a_row_or_an_error_with_its_place() {
    let head = "zone,age,job,pay\n";
    let row = "a,30,nurse,100\n";
    let of = |rest: &str| rejected(&format!("{head}{row}{rest}"));
    assert!(of("\na,3,nurse,1\n").starts_with("f, line 3: the line is empty; remove it"));
    assert!(of("a,3,nurse\n").starts_with("f, row 2 (line 3): expected 4 fields, found 3; fix"));
    assert!(of("a,3,nurse,1,\n").contains("expected 4 fields, found 5"));
    assert_eq!(
        of("a,old,nurse,1\n"),
        "f, row 2 (line 3), column \"age\": \"old\" is not a number, but the column is numeric in the \
         model; fix the value, or leave it empty if it is missing"
    );
    let steep = changed(r#""factor": 10.0"#, r#""factor": 0.1"#);
    for far in ["1e308", "1.7e307"] {
        let rows = format!("{head}{row}a,{far},nurse,1\n");
        let rejected = predict_with(&steep, rows.as_bytes(), &PredictOptions::default());
        let said = rejected.expect_err("no score");
        assert!(
            said.contains("row 2, column \"age\": the value is too large"),
            "{said}"
        );
    }
    assert!(of("a,\"3,nurse,1\n").contains("never closed"));
    assert!(rejected(&format!("{head}\n{row}")).contains("line 2: the line is empty"));
    assert_eq!(
        rejected(""),
        "f: the file is empty; choose a file with at least one data row"
    );
    // Blank lines before the first record and after the last are not rows.
    let (text, _) = predicted(&format!("\n\n{head}{row}\n \n\n")).expect("scores");
    assert_eq!(text.lines().count(), 2);
    let (text, done) = predicted(head).expect("nothing to score");
    assert_eq!(
        (text.as_str(), done.rows),
        ("score,probability,decision,note\n", 0)
    );
    assert_eq!(predicted(head.trim_end()).expect("no rows").1.rows, 0);
}

#[test]
fn overflow_without_numeric_columns_names_the_coefficients() {
    let mut model = model();
    model.encoding.numeric.clear();
    model.encoding.target = None;
    let PerScore::One(coefficients) = &mut model.coefficients else {
        panic!("one score");
    };
    coefficients.0.drain(..3);
    for (_, coefficient) in &mut coefficients.0 {
        *coefficient = 1.7e308;
    }
    let rows = b"zone,job\nc,x\na,nurse\n";
    let said = predict_with(&model, rows, &PredictOptions::default()).expect_err("no score");
    assert_eq!(
        said,
        "f, row 2: the coefficients of the model are too large for a score; choose another model"
    );
    let options = PredictOptions {
        audit: true,
        ..PredictOptions::default()
    };
    let said = predict_with(&model, rows, &options).expect_err("no target");
    assert!(said.ends_with("remove audit, or fit the model with target"));
}

#[test]
fn all_missing_columns_are_listed() {
    let said = rejected("Zone,age,pay\na,1,2\n");
    assert_eq!(
        said,
        "f: 2 columns are missing: \"job\", \"zone\" (did you mean \"Zone\"?); the first row has \
         \"Zone\", \"age\", \"pay\"; add the missing columns, or rename existing ones"
    );
}

#[test]
fn files_without_a_header_are_recognized_by_their_fields() {
    let columns = r#""header": true, "columns": ["job", "age", "pay", "y", "zone", "sex"]"#;
    let model = changed(r#""header": true"#, columns);
    let run = |text: &str| predict_with(&model, text.as_bytes(), &PredictOptions::default());
    let bare =
        run("|a comment\nnurse, 30, 100, yes., a, F\nclerk, 20, 100, no., b, M\n").expect("rows");
    let named = run("zone,sex,age,job,pay\na,F,30,nurse,100\nb,M,20,clerk,100\n").expect("rows");
    assert_eq!(bare, named);
    assert_eq!(bare.1.rows, 2);
    assert!(bare.1.unused.is_empty());
    assert!(
        run("nurse,30,100,a\n")
            .expect_err("4 fields")
            .contains("6 fields are expected")
    );
    // Most of the names are present, so this is a header with one name missing.
    let lacks = run("job,age,pay,y,area,sex\nnurse,30,100,yes,a,F\n");
    assert!(
        lacks
            .expect_err("zone")
            .starts_with("f: a column is missing: \"zone\"")
    );
}

#[test]
fn audit_counts_by_group() {
    let rows = b"zone,age,job,pay,y,sex,w\na,30,nurse,100,yes,F,1\nb,30,nurse,100,yes,F,3\na,30,clerk,100,no,M,2\nb,10,clerk,100,no,M,2\na,30,clerk,100,yes,X,1\na,30,clerk,100,,M,1\n";
    let options = |weight: Option<&str>| PredictOptions {
        audit: true,
        weight: weight.map(Into::into),
        ..PredictOptions::default()
    };
    let audit = |weight| {
        let (_, done) = predict_with(&model(), rows, &options(weight)).expect("an audit");
        done.audit.expect("an audit")
    };
    let found = audit(None);
    let json = serde_json::to_value(&found).expect("JSON");
    assert_eq!(json["overall"]["count"], 5.0);
    assert_eq!(json["overall"]["accuracy"], 0.6);
    assert_eq!(found.unknown.label, 1);
    assert_eq!(found.unknown.group.get("sex"), Some(&1));
    let sex = &json["attributes"][0];
    let women = &sex["groups"]["F"];
    assert_eq!(women["selection_rate"], 0.5);
    assert_eq!(women["false_negative_rate"], 0.5);
    assert!(women["false_positive_rate"].is_null());
    assert_eq!(sex["demographic_parity_difference"], 0.0);
    assert_eq!(sex["demographic_parity_ratio"], 1.0);
    assert!(sex["equal_opportunity_difference"].is_null());
    let weighted = serde_json::to_value(audit(Some("w"))).expect("JSON");
    let sex = &weighted["attributes"][0];
    assert_eq!(sex["groups"]["F"]["selection_rate"], 0.25);
    assert_eq!(sex["demographic_parity_difference"], 0.25);

    let without = b"zone,age,job,pay\na,30,nurse,100\n";
    let said = predict_with(&model(), without, &options(Some("w"))).expect_err("no target");
    assert!(
        said.contains("\"y\" for audit, \"sex\" for audit, \"w\" for weight"),
        "{said}"
    );
    let negative = String::from_utf8_lossy(rows).replace("F,3", "F,-3");
    let said = predict_with(&model(), negative.as_bytes(), &options(Some("w")));
    assert!(
        said.expect_err("a weight")
            .contains("row 2, column \"w\": the weight")
    );
}

/// The same model for a number with the mean 100 and the standard deviation 8.
fn number_model() -> Model {
    let unit = r#"{"column": "y", "unit": {"center": 100.0, "scale": 8.0, "range": [70.0, 130.0], "thresholds": [-1.0, 0.0, 1.0]}}"#;
    let text = MODEL
        .replace(r#""threshold": 0.0, "#, "")
        .replace(r#"{"column": "y", "positive": "yes"}"#, unit);
    Model::from_json(&seal(&text)).expect("a model")
}

#[test]
fn numbers_are_predicted_in_the_unit_of_the_target() {
    let rows = b"zone,age,job,pay\na,30,nurse,100\nb,?,astronaut,\na,100,nurse,100\n";
    let keep = |name: &str| PredictOptions {
        keep: vec![name.into()],
        ..PredictOptions::default()
    };
    let (text, done) = predict_with(&number_model(), rows, &keep("zone")).expect("predictions");
    // Scores of 2.5, 0.25 and 16.5; the last one is beyond the training targets and is not cut off.
    let expected = "zone,prediction,note\na,120.0,\n\
                    b,102.0,age missing; pay missing; job unseen: astronaut\na,232.0,\n";
    assert_eq!(text, expected);
    assert_eq!(
        done.results,
        Summary::Numbers {
            mean_prediction: Some((120.0 + 102.0 + 232.0) / 3.0),
            training_range: [70.0, 130.0],
            outside_training_range: 1,
        }
    );
    let json = serde_json::to_value(&done).expect("JSON");
    assert!(json.get("selected").is_none() && json.get("outside_training_range").is_some());
    // Only the names of its own columns are taken.
    let said = predict_with(&number_model(), rows, &keep("prediction")).expect_err("usage");
    assert!(said.contains("rename it"), "{said}");
    let said = predict_with(&number_model(), rows, &keep("score")).expect_err("no column");
    assert!(said.contains("\"score\" for keep"), "{said}");

    let path = file(rows);
    let path = path.path().display().to_string();
    assert_eq!(
        score_file(&number_model(), &path).expect("predictions"),
        [120.0, 102.0, 232.0]
    );
    let mut parquet = Vec::new();
    let out = Predictions::Parquet(&mut parquet);
    predict(&number_model(), &path, &PredictOptions::default(), out).expect("a file");
    let again = file(&parquet);
    let table = fairfront_data::read_table(
        &[again.path().display().to_string()],
        &fairfront_data::ReadOptions::default(),
    )
    .expect("a table");
    let column = table.column("prediction").and_then(Column::numeric);
    let numbers: Vec<f64> = column.expect("numbers").iter().collect();
    assert_eq!(numbers, [120.0, 102.0, 232.0]);
}

#[test]
fn audits_of_numbers_follow_the_definitions() {
    // Predictions of 120, 72, 112 and 136.
    let rows = "zone,age,job,pay,y,sex,w\na,30,nurse,100,118,F,1\nb,30,nurse,100,80,F,3\n\
                a,25,nurse,100,112,M,2\na,30,clerk,100,140,M,2\na,30,nurse,100,,M,1\n\
                a,30,nurse,100,100,X,1\n";
    let options = |weight: Option<&str>| PredictOptions {
        audit: true,
        weight: weight.map(Into::into),
        ..PredictOptions::default()
    };
    let audit = |weight| {
        let found = predict_with(&number_model(), rows.as_bytes(), &options(weight));
        serde_json::to_value(found.expect("an audit").1.audit).expect("JSON")
    };
    let near = |value: &serde_json::Value, expected: f64| {
        let value = value.as_f64().expect("a number");
        assert!((value - expected).abs() < 1e-12, "{value} {expected}");
    };
    let found = audit(None);
    let women = &found["attributes"][0]["groups"]["F"];
    near(&women["count"], 2.0);
    near(&women["mean_prediction"], 96.0);
    near(&women["mean_target"], 99.0);
    near(&women["mean_residual"], 3.0);
    near(&women["rmse"], 34_f64.sqrt());
    near(&women["mae"], 5.0);
    let men = &found["attributes"][0]["groups"]["M"];
    near(&men["mean_prediction"], 124.0);
    near(&men["rmse"], 8_f64.sqrt());
    near(&men["mae"], 2.0);
    let sex = &found["attributes"][0];
    near(&sex["mean_difference"], 28.0);
    near(&sex["rmse_difference"], 34_f64.sqrt() - 8_f64.sqrt());
    near(&sex["mae_difference"], 3.0);
    near(&sex["worst_group_mae"], 5.0);
    // At 92 and 100 half of the women are below and no man; at 108 the same.
    near(&sex["distribution_difference"], 0.5);
    near(&sex["mean_distribution_difference"], 0.5);
    // The row of unknown sex counts only overall: errors 2, -8, 0, -4 and 20.
    near(&found["overall"]["count"], 5.0);
    near(&found["overall"]["rmse"], (484.0_f64 / 5.0).sqrt());
    let spread = [118.0, 80.0, 112.0, 140.0, 100.0].map(|y: f64| (y - 110.0) * (y - 110.0));
    near(&found["r2"], 1.0 - 484.0 / spread.iter().sum::<f64>());
    assert_eq!(found["unknown"]["label"], 1);
    assert_eq!(found["unknown"]["group"]["sex"], 1);
    assert!(found.get("positive").is_none() && found.get("log_loss").is_none());
    let weighted = audit(Some("w"));
    let women = &weighted["attributes"][0]["groups"]["F"];
    near(&women["mean_prediction"], (120.0 + 3.0 * 72.0) / 4.0);
    near(&women["mae"], (2.0 + 3.0 * 8.0) / 4.0);

    for (bad, expected) in [
        ("x118", "\"x118\" is not a number"),
        ("inf", "\"inf\" is not a number"),
        ("1e60", "1e60 is too large for a target"),
    ] {
        let rows = rows.replace("100,118", &format!("100,{bad}"));
        let said = predict_with(&number_model(), rows.as_bytes(), &options(None));
        let said = said.expect_err("not a number");
        assert!(said.contains("row 1"), "{said}");
        let problem = format!("column \"y\": {expected}");
        assert!(said.contains(&problem), "{said}");
        // The target is not read without an audit.
        assert!(predict_with(&number_model(), rows.as_bytes(), &PredictOptions::default()).is_ok());
    }
}

#[test]
fn models_have_the_results_of_their_target() {
    let rejected = |text: &str| {
        let found = Model::from_json(&reseal(text));
        found.expect_err("corrupted").to_string()
    };
    let said = rejected(&model().to_json().replace("\"threshold\": 0.0,", ""));
    assert!(said.contains("its threshold is missing"), "{said}");
    let number = number_model().to_json();
    assert!(!number.contains("\"threshold\"") && !number.contains("calibration"));
    for more in [
        r#""threshold": 0.0,"#,
        r#""calibration": {"slope": 1.0, "intercept": 0.0},"#,
    ] {
        let said = rejected(&number.replacen('{', &format!("{{{more}"), 1));
        assert!(said.contains("no threshold and no calibration"), "{said}");
    }
    let said = rejected(&number.replace("\"scale\": 8.0", "\"scale\": 0.0"));
    assert!(said.contains("unit"), "{said}");
}

#[test]
fn weight_column_must_be_numeric_in_the_model() {
    let rows = b"zone,age,job,pay,y,sex\n1,30,nurse,100,1,1\n";
    for (weight, fits) in [("zone", false), ("y", false), ("sex", false), ("age", true)] {
        let options = PredictOptions {
            audit: true,
            weight: Some(weight.into()),
            ..PredictOptions::default()
        };
        let found = predict_with(&model(), rows, &options);
        assert_eq!(found.is_ok(), fits, "{weight}");
        if let Err(said) = found {
            assert_eq!(
                said,
                format!(
                    "weight {weight:?}: this column is categorical in the model; choose a numeric column"
                )
            );
        }
    }
}

#[test]
fn numbers_are_the_same_group_in_every_notation() {
    let rows = |one: &str, zero: &str| {
        format!(
            "zone,age,job,pay,y,sex,race\na,30,nurse,100,{one},{one},01\n\
             b,30,nurse,100,{zero},{zero},01\na,30,nurse,100,{one},2.0,1\n"
        )
    };
    let audit = |model: &Model, rows: &str| {
        let options = PredictOptions {
            audit: true,
            ..PredictOptions::default()
        };
        let (_, done) = predict_with(model, rows.as_bytes(), &options).expect("an audit");
        done.audit.expect("an audit")
    };
    let own = r#""groups": ["F", "M"], "columns": [{"column": "sex"}]"#;
    let merged = r#""positive": "yes", "merge": {"categories": {"1": "yes"}, "rest": "no"}"#;
    let of = |groups: &str, columns: &str| {
        let text = MODEL.replace(own, &format!(r#""groups": {groups}, "columns": {columns}"#));
        let text = text.replace(r#""positive": "yes""#, merged);
        Model::from_json(&seal(&text)).expect("a model")
    };
    let single = r#"[{"column": "sex"}]"#;
    let joint = r#"[{"column": "sex"}, {"column": "race"}]"#;
    for (groups, columns) in [
        (r#"["0", "1"]"#, single),
        (r#"["0.0", "1.0"]"#, single),
        (r#"["0:01", "1:01"]"#, joint),
    ] {
        let model = of(groups, columns);
        for (one, zero) in [("1", "0"), ("1.0", "0.0"), ("1e0", "-0")] {
            let found = audit(&model, &rows(one, zero));
            assert_eq!(found.unknown.group.get("sex"), Some(&1), "{groups} {one}");
            let shares = found.attributes[0].groups.0.iter();
            let shares = shares.map(|(_, g)| match g.values {
                AuditedValues::Decisions { positive_rate, .. } => (g.count, positive_rate),
                _ => panic!("binary decisions"),
            });
            let shares: Vec<_> = shares.collect();
            assert_eq!(
                shares,
                [(1.0, Some(0.0)), (1.0, Some(1.0))],
                "{groups} {one}"
            );
        }
    }
    // A code is not a number.
    let codes = of(r#"["01", "02"]"#, r#"[{"column": "race"}]"#);
    assert_eq!(
        audit(&codes, &rows("1", "0")).unknown.group.get("sex"),
        Some(&1)
    );
}

/// Rows as Parquet, via kept columns.
fn parquet(text: &str) -> Vec<u8> {
    let options = PredictOptions {
        keep: ["zone", "age", "job", "pay"].map(Into::into).to_vec(),
        ..PredictOptions::default()
    };
    let file = file(text.as_bytes());
    let path = file.path().display().to_string();
    let mut out = Vec::new();
    let done = predict(&model(), &path, &options, Predictions::Parquet(&mut out));
    done.expect("a file");
    out
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof!["-?[0-9]{1,3}", Just("?".to_owned()), Just(String::new())]
}

fn row() -> impl Strategy<Value = String> {
    let job = prop_oneof![
        Just("nurse"),
        Just("\"clerk\""),
        Just("x;y"),
        Just("NA"),
        Just("smith")
    ];
    (value(), value(), job, "[abc]")
        .prop_map(|(age, pay, job, zone)| format!("{zone},{age},{job},{pay}"))
}

proptest! {
    #[test]
    fn batch_size_does_not_change_results(rows in prop::collection::vec(row(), 0..60), size in 1_usize..40) {
        let text = format!("zone,age,job,pay\n{}\n", rows.join("\n"));
        let whole = predicted(&text).expect("scores");
        prop_assert_eq!(whole.1.rows, rows.len());
        prop_assert_eq!(whole.0.lines().count(), rows.len() + 1);
        for batch_rows in [1, size] {
            let options = PredictOptions { batch_rows, keep: vec!["age".into()], ..PredictOptions::default() };
            let (parts, _) = predict_with(&model(), text.as_bytes(), &options).expect("scores");
            for (part, whole) in parts.lines().zip(whole.0.lines()) {
                prop_assert_eq!(part.split_once(',').expect("a field").1, whole);
            }
        }
    }

    #[test]
    fn errors_do_not_depend_on_batches(text in "(a,1,nurse,2\n|a,x,nurse,2\n|\n|a,1\n| \n){0,12}", size in 1_usize..9) {
        let text = format!("zone,age,job,pay\n{text}");
        let options = PredictOptions { batch_rows: size, ..PredictOptions::default() };
        let parts = predict_with(&model(), text.as_bytes(), &options);
        prop_assert_eq!(parts, predicted(&text));
    }

    #[test]
    fn parquet_in_any_batches_equals_csv(
        rows in prop::collection::vec(row(), 0..40),
        size in 1_usize..20,
    ) {
        let text = format!("zone,age,job,pay\n{}\n", rows.join("\n"));
        let options = PredictOptions { batch_rows: size, ..PredictOptions::default() };
        let found = predict_with(&model(), &parquet(&text), &options).expect("scores").0;
        prop_assert_eq!(found, predicted(&text).expect("scores").0);
    }

    #[test]
    fn corrupted_parquet_never_panics(at in any::<prop::sample::Index>(), by in 1_u8..) {
        let mut bytes = parquet(&format!("zone,age,job,pay\n{}", "a,30,nurse,100\n".repeat(40)));
        let at = at.index(bytes.len());
        bytes[at] ^= by;
        let _ = predict_with(&model(), &bytes, &PredictOptions::default());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), named in any::<bool>(), size in 1_usize..5) {
        let head: &[u8] = if named { b"zone,age,job,pay\n" } else { b"" };
        let options = PredictOptions { batch_rows: size, ..PredictOptions::default() };
        let _ = predict_with(&model(), &[head, &bytes].concat(), &options);
    }
}
