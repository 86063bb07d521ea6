//! Models of more than two classes.

use fairfront_core::Calibration;
use fairfront_data::Reading;

use super::*;
use crate::{ModelId, Provenance};

const NAMES: [&str; 3] = ["low", "a, \"b\"", "high"];

/// Scores of low are 1 − (age − 30)/10, of the second class 0.5, and of high (age − 30)/10 + 2 nurse.
fn class_model(factor: f64, ordered: bool) -> Result<Model, String> {
    let encoding = serde_json::json!({
        "format": "fairfront-encoding", "version": 1,
        "target": {"column": "y", "names": NAMES, "ordered": ordered},
        "attributes": [
            {"name": "sex", "groups": ["F", "M"], "columns": [{"column": "sex"}], "missing": "drop"}
        ],
        "numeric": [{"column": "age", "shift": 30.0, "factor": 10.0, "mean": 40.0}],
        "categorical": [{"column": "job", "categories": ["nurse"]}]
    });
    let params = [-1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 1.0, 0.5, 0.0];
    let calibration = Calibration {
        slope: factor,
        intercept: 0.0,
    };
    Model::new(
        &params,
        calibration,
        serde_json::from_value(encoding).expect("an encoding"),
        Reading::default(),
        Ordered(Vec::new()),
        provenance(),
    )
}

fn provenance() -> Provenance {
    Provenance {
        run: "r".into(),
        model_id: ModelId::of_index(0),
        models: 1,
        source: "s".into(),
        program: "0".into(),
        solver: "weighted".into(),
        seed: 0,
        objectives: Vec::new(),
        fingerprint: String::new(),
        front_sha256: String::new(),
    }
}

fn model() -> Model {
    class_model(2.0, true).expect("a model")
}

const ROWS: &str = "age,job,sex,y,w\n30,x,F,low,1\n45,x,F,high,2\n40,nurse,M,high,1\n\
                    35,x,M,\"a, \"\"b\"\"\",3\n";

/// The scores of these rows. The last row has three equal scores.
const SCORES: [[f64; 3]; 4] = [
    [1.0, 0.5, 0.0],
    [-0.5, 0.5, 1.5],
    [0.0, 0.5, 3.0],
    [0.5, 0.5, 0.5],
];

fn probabilities(scores: [f64; 3]) -> [f64; 3] {
    let powers = scores.map(|score| (2.0 * score).exp());
    powers.map(|power| power / powers.iter().sum::<f64>())
}

#[test]
fn class_models_have_parameters_by_class() {
    let model = model();
    assert_eq!(Model::from_json(&model.to_json()), Ok(model.clone()));
    assert_eq!(
        model.params(),
        [-1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 1.0, 0.5, 0.0]
    );
    let json: serde_json::Value = serde_json::from_str(&model.to_json()).expect("JSON");
    assert!(json.get("threshold").is_none());
    assert_eq!(json["intercept"]["a, \"b\""], 0.5);
    assert_eq!(json["coefficients"]["high"]["job=nurse"], 2.0);
    assert_eq!(json["calibration"]["slope"], 2.0);
    assert_eq!(json["encoding"]["target"]["ordered"], true);
    assert_eq!(model.family(), "linear");

    let wrong = class_model(0.0, true).expect_err("a factor of 0");
    assert!(wrong.contains("slope 0"), "{wrong}");
    let rejected = |change: &dyn Fn(&mut Model)| {
        let mut changed = model.clone();
        change(&mut changed);
        let found = Model::from_json(&changed.to_json());
        found.expect_err("corrupted").to_string()
    };
    let swap = |values: &mut PerScore<f64>| match values {
        PerScore::Classes(own) => own.0.swap(0, 1),
        PerScore::One(_) => panic!("classes"),
    };
    for (said, expected) in [
        (
            rejected(&|m| swap(&mut m.intercept)),
            "do not match its target",
        ),
        (
            rejected(&|m| m.intercept = PerScore::One(0.0)),
            "do not match its target",
        ),
        (rejected(&|m| m.threshold = Some(0.0)), "no threshold"),
        (
            rejected(&|m| {
                m.calibration = Some(Calibration {
                    slope: 1.0,
                    intercept: 0.5,
                });
            }),
            "the intercept of its calibration is 0",
        ),
        (rejected(&|m| m.encoding.hidden = 2), "a network"),
        (
            rejected(&|m| {
                let PerScore::Classes(own) = &mut m.coefficients else {
                    panic!("classes");
                };
                own.0[2].1.0.pop();
            }),
            "its coefficients do not match its encoding",
        ),
    ] {
        assert!(said.contains(expected), "{said}");
    }
    let text = reseal(&model.to_json().replace("\"high\": 0.0", "\"high\": \"x\""));
    let said = Model::from_json(&text).expect_err("a string").to_string();
    assert!(said.contains("a parameter is not a number"), "{said}");
}

#[test]
fn the_highest_score_decides_between_classes() {
    let options = PredictOptions {
        keep: vec!["sex".into()],
        ..PredictOptions::default()
    };
    let (text, done) = predict_with(&model(), ROWS.as_bytes(), &options).expect("decisions");
    let mut expected = String::from(
        "sex,score[low],\"score[a, \"\"b\"\"]\",score[high],probability[low],\"probability[a, \"\"b\"\"]\",\
         probability[high],decision,note\n",
    );
    let others = [
        ("F", "low", "job unseen: x"),
        ("F", "high", "job unseen: x"),
        ("M", "high", ""),
        // The first class on ties.
        ("M", "low", "job unseen: x"),
    ];
    let found: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    for (row, (scores, (sex, decision, note))) in SCORES.iter().zip(others).enumerate() {
        let of_row = &found[row + 1];
        for (class, probability) in probabilities(*scores).iter().enumerate() {
            let written: f64 = of_row[4 + class].parse().expect("a number");
            assert!((written - probability).abs() < 1e-15, "{text}");
        }
        let [a, b, c] = scores;
        let written = of_row[4..7].join(",");
        let _ = writeln!(
            expected,
            "{sex},{a:?},{b:?},{c:?},{written},{decision},{note}"
        );
    }
    assert_eq!(text, expected);
    let Summary::Classes { decisions } = &done.results else {
        panic!("classes");
    };
    let counts: Vec<usize> = decisions.0.iter().map(|(_, n)| *n).collect();
    assert_eq!(counts, [2, 0, 2]);
    let json = serde_json::to_value(&done).expect("JSON");
    assert_eq!(json["decisions"]["high"], 2);
    assert!(json.get("selected").is_none());

    let keep = PredictOptions {
        keep: vec!["probability[low]".into()],
        ..PredictOptions::default()
    };
    let said = predict_with(&model(), ROWS.as_bytes(), &keep).expect_err("usage");
    assert!(said.contains("rename it"), "{said}");
}

#[test]
fn scores_of_classes_are_stored_row_by_row() {
    let path = file(ROWS.as_bytes());
    let path = path.path().display().to_string();
    assert_eq!(
        score_file(&model(), &path).expect("scores"),
        SCORES.as_flattened()
    );
    let table = fairfront_data::read_table(
        std::slice::from_ref(&path),
        &fairfront_data::ReadOptions::default(),
    );
    let table = table.expect("a table");
    let model = model();
    let scores = score_table(&model.encoding, &model.params(), &table);
    assert_eq!(scores.expect("scores"), SCORES.as_flattened());
    assert!(score_table(&model.encoding, &model.params()[1..], &table).is_err());
    let said = predict_with(
        &model,
        b"age,job\n30,x\n1e308,x\n",
        &PredictOptions::default(),
    );
    assert!(said.is_ok(), "{said:?}");
    let mut steep = model;
    steep.encoding.numeric[0].factor = 0.1;
    let said = predict_with(
        &steep,
        b"age,job\n30,x\n1e308,x\n",
        &PredictOptions::default(),
    );
    let said = said.expect_err("no score");
    assert!(said.contains("row 2, column \"age\""), "{said}");
}

#[test]
fn parquet_has_the_decisions_as_strings() {
    let path = file(ROWS.as_bytes());
    let path = path.path().display().to_string();
    let options = PredictOptions {
        batch_rows: 1,
        ..PredictOptions::default()
    };
    let mut parquet = Vec::new();
    predict(
        &model(),
        &path,
        &options,
        Predictions::Parquet(&mut parquet),
    )
    .expect("a file");
    let again = file(&parquet);
    let table = fairfront_data::read_table(
        &[again.path().display().to_string()],
        &fairfront_data::ReadOptions::default(),
    )
    .expect("a table");
    let column = table.column("score[high]").and_then(Column::numeric);
    let numbers: Vec<f64> = column.expect("numbers").iter().collect();
    assert_eq!(numbers, [0.0, 1.5, 3.0, 0.5]);
    let column = table.column("decision").and_then(Column::categorical);
    let (codes, names) = column.expect("strings");
    let decisions: Vec<&str> = codes.iter().map(|c| names[*c as usize].as_str()).collect();
    assert_eq!(decisions, ["low", "high", "high", "low"]);
}

#[test]
fn audits_of_classes_follow_the_definitions() {
    let options = |weight: Option<&str>, batch_rows| PredictOptions {
        audit: true,
        weight: weight.map(Into::into),
        batch_rows,
        ..PredictOptions::default()
    };
    let rows = format!("{ROWS}30,x,X,low,1\n30,x,M,,1\n");
    let audit = |ordered, weight, batch_rows| {
        let model = class_model(2.0, ordered).expect("a model");
        let done = predict_with(&model, rows.as_bytes(), &options(weight, batch_rows));
        serde_json::to_value(done.expect("an audit").1.audit).expect("JSON")
    };
    let near = |value: &serde_json::Value, expected: f64| {
        let value = value.as_f64().expect("a number");
        assert!((value - expected).abs() < 1e-12, "{value} {expected}");
    };
    // Classes low, high, high, b and low, decided low, high, high, low and low.
    let found = audit(true, None, BATCH_ROWS);
    let overall = &found["overall"];
    near(&overall["count"], 5.0);
    near(&overall["accuracy"], 0.8);
    near(&overall["balanced_accuracy"], 2.0 / 3.0);
    near(&overall["macro_f1"], (0.8 + 0.0 + 1.0) / 3.0);
    let low = &overall["classes"]["low"];
    near(&low["count"], 2.0);
    near(&low["recall"], 1.0);
    near(&low["precision"], 2.0 / 3.0);
    near(&low["selection_rate"], 1.0);
    let middle = &overall["classes"][NAMES[1]];
    near(&middle["selection_rate"], 0.4);
    assert!(middle["precision"].is_null());
    let loss: f64 = [(0, 0), (1, 2), (2, 2), (3, 1), (0, 0)]
        .map(|(row, class): (usize, usize)| -probabilities(SCORES[row])[class].ln())
        .iter()
        .sum();
    near(&found["log_loss"], loss / 5.0);
    assert_eq!(found["ordered"], true);
    assert_eq!(found["unknown"]["label"], 1);
    assert_eq!(found["unknown"]["group"]["sex"], 1);
    let sex = &found["attributes"][0];
    near(&sex["groups"]["F"]["accuracy"], 1.0);
    near(&sex["groups"]["M"]["accuracy"], 0.5);
    // Half of both groups are decided high, and all are decided low or higher.
    near(&sex["demographic_parity_difference"], 0.0);
    near(&sex["demographic_parity_ratio"], 1.0);
    // No man is labeled low, and no woman has the second class.
    assert!(sex["equal_opportunity_difference"].is_null());
    near(&sex["classes"]["high"]["equal_opportunity_difference"], 0.0);
    assert!(found.get("positive").is_none());

    assert_eq!(audit(true, None, 1), found);
    let weighted = audit(false, Some("w"), BATCH_ROWS);
    let sex = &weighted["attributes"][0];
    near(
        &sex["groups"]["F"]["classes"]["high"]["selection_rate"],
        2.0 / 3.0,
    );
    near(
        &sex["groups"]["M"]["classes"]["high"]["selection_rate"],
        0.25,
    );
    near(&sex["demographic_parity_difference"], 2.0 / 3.0 - 0.25);
    near(
        &sex["classes"]["low"]["demographic_parity_difference"],
        0.75 - 1.0 / 3.0,
    );

    let bad = rows.replace("45,x,F,high", "45,x,F,top");
    let said = predict_with(&model(), bad.as_bytes(), &options(None, BATCH_ROWS));
    let said = said.expect_err("an unknown class");
    assert!(
        said.contains("row 2") && said.contains("not a class of the model"),
        "{said}"
    );
}

#[test]
fn features_of_any_score_are_kept() {
    let trees = include_str!("../../../cases/model-trees.json");
    let trees = Model::from_json(trees).expect("a model");
    let names = trees.encoding.schema().feature_names();
    let own = trees.of_scores().swap_remove(0);
    let zeros = vec![0.0; names.len()];
    let only = |feature: &str| -> Vec<f64> {
        let of = |name: &String| if name == feature { 2.0 } else { 0.0 };
        names.iter().map(of).collect()
    };
    // The trees read other columns.
    let town = "home \"town\"=Rome";
    for scores in [[&own, &zeros, &only(town)], [&zeros, &only("pay"), &own]] {
        let scores = scores.map(Clone::clone);
        let (encoding, found) = reduced(&trees.encoding, &scores);
        assert!(encoding.learned.is_some());
        let kept = encoding.schema().feature_names();
        for (before, after) in scores.iter().zip(&found) {
            assert_eq!(after.len(), kept.len());
            for (name, coefficient) in names.iter().zip(before) {
                let place = kept.iter().position(|own| own == name);
                let after = place.map_or(0.0, |place| after[place]);
                assert_eq!(after, *coefficient, "{name}");
            }
        }
    }
    let (encoding, found) = reduced(&trees.encoding, &[zeros, only(town)]);
    assert!(encoding.learned.is_none());
    assert_eq!(found[1].len(), encoding.schema().feature_names().len());
}
