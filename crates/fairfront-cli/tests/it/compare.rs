//! Runs `compare` as a user does.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::{has, run_in};

const LINE: &str = "log_loss,score_covariance(sex)\n0.3,0.03\n0.4,0.02\n0.5,0.01\n";

/// A folder with small fronts in CSV files.
fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a file");
    };
    write("line.csv", LINE);
    write("worse.csv", "0.3,0.03\n0.4,0.025\n0.45,0.02\n0.55,0.0125\n");
    write("bare.csv", "1,2,3\n");
    write("race.csv", "log_loss,score_covariance(race)\n1,2\n");
    write("text.csv", "0.3,0.1\n0.4,some\n");
    folder
}

fn json(folder: &Path, args: &str) -> Value {
    run_in(folder, &format!("compare --json {args}")).json()
}

#[test]
fn csv_files_are_compared() {
    let folder = folder();
    let shown = run_in(&folder, "compare line.csv worse.csv");
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    insta::assert_snapshot!("compare", shown.out);
    let found = json(folder.path(), "line.csv worse.csv");
    assert_eq!(found["reference"][0], std::f64::consts::LN_2);
    assert_eq!(found["reference"][1], 1.1 * 0.03);
    let fronts = found["fronts"].as_array().expect("fronts");
    let names: Vec<&Value> = fronts.iter().map(|f| &f["name"]).collect();
    assert_eq!(names, ["line.csv", "worse.csv"]);
    assert_eq!(fronts[0]["purity"], 1.0);
    assert_eq!(fronts[1]["purity"], 0.25);
    assert_eq!(fronts[0]["seconds_per_model"], Value::Null);
    let volume = fronts[0]["hypervolume"].as_f64().expect("a volume");
    let ln2 = std::f64::consts::LN_2;
    let expected = (ln2 - 0.3) * 0.003 + (ln2 - 0.4) * 0.01 + (ln2 - 0.5) * 0.01;
    assert!((volume - expected).abs() < 1e-15);

    let same = json(folder.path(), "line.csv worse.csv --same-size");
    assert_eq!(same["same_size"], 3);
    assert_eq!(same["fronts"][1]["models"], 3);
    assert_eq!(same["fronts"][1]["models_found"], 4);
    let given = json(folder.path(), "line.csv --reference 0.5,0.03");
    let volume = given["fronts"][0]["hypervolume"]
        .as_f64()
        .expect("a volume");
    assert!((volume - 0.1 * 0.01).abs() < 1e-15);
    let own = json(folder.path(), "worse.csv line.csv --extremes own");
    assert_eq!(own["extremes"], "own");
}

#[test]
fn runs_are_compared_and_drawn() {
    let folder = TempDir::new().expect("a folder");
    let fit = |out: &str, more: &str| {
        let args = format!("fit synthetic:1 --quiet --out {out} {more}");
        run_in(&folder, &args).ok();
    };
    fit("a", "--solver eps-fair --models 12");
    let covariances = "--objective log_loss --objective score_covariance(a)";
    let pf_smg = "--solver pf-smg --set max-steps=8";
    fit("b", &format!("{covariances} {pf_smg}"));
    let found = json(folder.path(), "a b/ --svg both.svg");
    let [a, b] = [&found["fronts"][0], &found["fronts"][1]];
    assert_eq!(
        (&a["solver"], &b["solver"]),
        (&"eps-fair".into(), &"pf-smg".into())
    );
    assert_eq!(b["name"], "b");
    for front in [a, b] {
        for name in ["purity", "gamma", "delta", "hypervolume"] {
            assert!(front[name].as_f64().is_some_and(|v| v >= 0.0), "{name}");
        }
        for name in ["seconds_per_model", "gradients_per_model"] {
            assert!(front[name].as_f64().is_some_and(|v| v > 0.0), "{name}");
        }
    }
    let again = run_in(&folder, "compare a --svg both.svg");
    assert_eq!(again.code, 0, "an SVG file is replaced");
    let inside = run_in(&folder, "compare a --svg a/both.svg");
    assert!(inside.code == 1 && inside.err.contains("run folder"));
    let picture = std::fs::read_to_string(folder.path().join("both.svg")).expect("a picture");
    assert!(picture.starts_with("<svg") && picture.contains("Fronts of synthetic:1"));
    let printed = run_in(&folder, "compare a --svg -");
    assert!(printed.out.starts_with("<svg") && printed.out.trim_end().ends_with("</svg>"));

    let other = "--split 60/10/30 --set holes=2 --penalty 0.01";
    fit("other", &format!("{other} {covariances}"));
    fit(
        "strong",
        "--objective log_loss(lambda=1) --objective score_covariance(a)",
    );
    for (other, reason) in [
        ("other", "differ in data"),
        ("strong", "log_loss(lambda=1)"),
    ] {
        let refused = run_in(&folder, &format!("compare a {other}"));
        assert_eq!((refused.code, refused.out.as_str()), (1, ""));
        has(&refused.err, reason);
    }
}

#[test]
fn incomparable_fronts_are_rejected_in_one_line() {
    let folder = folder();
    let refused = |args: &str, code: i32, reason: &str| {
        let outcome = run_in(&folder, &format!("compare {args}"));
        assert_eq!(outcome.code, code, "{}", outcome.err);
        has(&outcome.err, reason);
        assert_eq!((outcome.out.as_str(), outcome.err.lines().count()), ("", 1));
    };
    refused("line.csv race.csv", 1, "score_covariance(race)");
    refused("line.csv bare.csv", 1, "2 and 3");
    refused("text.csv", 1, "line 2, column 2: \"some\"");
    refused("none.csv", 1, "no such run folder or CSV file");
    refused(".", 1, "not a run folder");
    refused("line.csv --reference 1", 2, "pass one for each of log_loss");
    refused("line.csv --reference 1,NaN", 2, "not a number");
    refused("line.csv --svg none/a.svg", 1, "does not exist");
    refused("line.csv --svg - --json", 2, "standard output");
    refused("line.csv --svg line.csv", 1, "one of the fronts");
    refused("line.csv --svg bare.csv", 1, "is not an SVG file");
    refused("line.csv --tolerance 1", 2, "--tolerance");
    assert!(std::fs::read_to_string(folder.path().join("line.csv")).expect("a file") == LINE);
}
