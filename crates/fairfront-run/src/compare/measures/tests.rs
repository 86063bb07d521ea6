use std::fmt::Write as _;
use std::path::Path;

use fairfront_data::{Prepared, ReadOptions, Spec};
use tempfile::TempDir;

use super::*;
use crate::{Ask, fit};

/// A table in which the group shifts both label and features.
fn table(rows: usize) -> String {
    let mut text = String::from("y,g,x,z\n");
    for i in 0..rows {
        let (g, x, z) = (i % 2, (i * 37) % 101, (i * 53) % 89);
        let y = u8::from(x + 30 * g + (i * 29) % 61 > 95);
        let _ = writeln!(text, "{y},{},{},{z}", ["a", "b"][g], x + 10 * g);
    }
    text
}

/// Fits a run on the table in the folder with these objectives.
fn run(folder: &Path, name: &str, file: &str, objectives: &[&str], split: &str) -> PathBuf {
    let spec = Spec {
        target: Some("y".into()),
        positive: Some("1".into()),
        sensitive: vec![vec!["g".into()]],
        split: split.parse().unwrap(),
        ..Spec::default()
    };
    let files = [folder.join(file).display().to_string()];
    let prepared = Prepared::from_files(&files, &spec, ReadOptions::default()).unwrap();
    let ask = Ask {
        objectives: objectives.iter().map(|o| (*o).into()).collect(),
        models: Some(12),
        ..Ask::default()
    };
    let request = ask.request(file, &["g".into()], false).unwrap();
    let fitted = fit(&prepared, &request, &mut ()).unwrap();
    Run::of(&fairfront_data::Facts::of(&prepared).unwrap(), &fitted)
        .write(&folder.join(name), false)
        .unwrap()
}

const RATES: [&str; 2] = ["error_rate", "demographic_parity(g)"];
const ODDS: [&str; 2] = ["error_rate", "equalized_odds(g)"];

#[test]
fn runs_of_different_objectives_are_compared_with_intervals() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    std::fs::write(at.join("t.csv"), table(900)).unwrap();
    let a = run(at, "a", "t.csv", &RATES, "50/20/30");
    let b = run(at, "b", "t.csv", &ODDS, "50/20/30");
    let found = compare_measures(&[a.clone(), b], RowPlaces::NONE).unwrap();
    assert_eq!(
        (found.split, found.same_rows, found.replicates),
        ("test", Some(true), 1000)
    );
    assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    let names: Vec<&str> = found.measures.iter().map(|m| m.measure.as_str()).collect();
    let all = [
        "demographic_parity_difference(g)",
        "equal_opportunity_difference(g)",
        "false_positive_rate_difference(g)",
        "equalized_odds_difference(g)",
    ];
    assert_eq!(names, all);
    for measure in &found.measures {
        let [first, second] = measure.fronts.as_slice() else {
            panic!("two fronts");
        };
        assert!(first.difference.is_none() && first.interval.is_none());
        let difference = second.difference.unwrap();
        let expected = second.hypervolume_share - first.hypervolume_share;
        assert_eq!(difference, expected);
        let [low, high] = second.interval.unwrap();
        assert!(low < difference && difference < high, "{measure:?}");
        assert!(first.hypervolume_share > 0.0 && first.hypervolume_share < 1.0);
    }
    // The difference between a run and itself is 0 on every redraw.
    let found = compare_measures(&[a.clone(), a], RowPlaces::NONE).unwrap();
    for measure in &found.measures {
        assert_eq!(measure.fronts[1].difference, Some(0.0));
        assert_eq!(measure.fronts[1].interval, Some([0.0, 0.0]));
    }
}

#[test]
fn without_the_rows_there_are_values_and_a_reason() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    std::fs::write(at.join("t.csv"), table(600)).unwrap();
    std::fs::write(at.join("u.csv"), table(700)).unwrap();
    let a = run(at, "a", "t.csv", &RATES, "50/20/30");
    let b = run(at, "b", "t.csv", &ODDS, "50/20/30");
    let other = run(at, "other", "u.csv", &ODDS, "50/20/30");
    let untested = run(at, "untested", "t.csv", &RATES, "60/40/0");

    let differ = compare_measures(&[a.clone(), other], RowPlaces::NONE).unwrap();
    assert_eq!((differ.same_rows, differ.replicates), (Some(false), 0));
    assert!(
        differ.diagnostics[0]
            .message
            .to_string()
            .contains("rows of the runs differ")
    );
    assert!(
        differ
            .measures
            .iter()
            .all(|m| m.fronts[1].interval.is_none())
    );

    let found = compare_measures(&[a.clone(), untested], RowPlaces::NONE).unwrap();
    assert_eq!(found.split, "validation");
    assert!(
        found.diagnostics[0]
            .message
            .to_string()
            .contains("no test rows"),
        "{:?}",
        found.diagnostics
    );

    std::fs::remove_file(at.join("t.csv")).unwrap();
    let gone = compare_measures(&[a.clone(), b], RowPlaces::NONE).unwrap();
    assert_eq!((gone.same_rows, gone.replicates), (Some(true), 0));
    assert!(
        gone.diagnostics[0]
            .message
            .to_string()
            .contains("no intervals"),
        "{:?}",
        gone.diagnostics
    );
    assert!(gone.measures[0].fronts[1].difference.is_some());
    // Other rows in a file of the same name are not mistaken for the rows of the run.
    std::fs::write(at.join("t.csv"), table(601)).unwrap();
    let changed = compare_measures(&[a.clone(), a], RowPlaces::NONE).unwrap();
    assert!(
        changed.diagnostics[0]
            .message
            .to_string()
            .contains("no longer the rows")
    );

    let file = compare_measures(&[at.join("t.csv")], RowPlaces::NONE).unwrap_err();
    assert!(
        file.is_usage() && file.to_string().contains("run folders"),
        "{file}"
    );
}
