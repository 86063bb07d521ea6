use std::path::Path;

use fairfront_data::{Column, Known, Prepared};
use fairfront_model::{PredictOptions, Predictions, predict, score_table};
use fairfront_solve::{AnySolver, Trace};
use tempfile::TempDir;

use super::*;
use crate::{FitRequest, SolverChoice, fit};

fn prepared() -> Prepared {
    let known = Known::parse("demo(rows=2500)").unwrap().unwrap();
    Prepared::from_known(&known, &known.spec(), None).unwrap()
}

fn fitted(prepared: &Prepared) -> Fitted {
    let trace = Trace {
        points: 6,
        ..Trace::default()
    };
    let request = FitRequest {
        objectives: vec!["log_loss".into(), "score_covariance(sex)".into()],
        solvers: vec![SolverChoice {
            solver: AnySolver::Trace(trace),
            polish: None,
        }],
        front_in: None,
        penalty: crate::Penalty::default(),
        loss_alone: false,
        family: crate::FamilyRequest::default(),
    };
    fit(prepared, &request, &mut ()).unwrap()
}

fn run() -> Run {
    let prepared = prepared();
    Run::of(&Facts::of(&prepared).unwrap(), &fitted(&prepared))
}

#[test]
fn files_are_those_of_the_folder() {
    let at = TempDir::new().unwrap();
    let folder = at.path().join("run");
    let mut run = run();
    let checksum = run.info.front_sha256.clone();
    let files = run.to_files().unwrap();
    assert_eq!(run.info.front_sha256, checksum);
    let written = run.write(&folder, false).unwrap();
    assert_eq!(written, folder);
    for (name, bytes) in &files {
        assert_eq!(std::fs::read(folder.join(name)).unwrap(), *bytes, "{name}");
    }
    let page = std::fs::read(folder.join(PAGE)).unwrap();
    crate::write_page(&folder).unwrap();
    assert_eq!(std::fs::read(folder.join(PAGE)).unwrap(), page);
    let taken = run.write(&folder, false).unwrap_err().to_string();
    assert!(taken.contains("already contains a run"), "{taken}");
    run.write(&folder, true).unwrap();

    // Both give the same run.
    let given: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, &b[..])).collect();
    for mut again in [
        Run::read(&folder).unwrap(),
        Run::from_files(&given).unwrap(),
    ] {
        assert_eq!(again.to_files().unwrap(), files);
        assert_eq!(
            again.model("m", ModelId::of_index(3)).unwrap(),
            run.model("m", ModelId::of_index(3)).unwrap()
        );
    }
    let of_folder = model_of(&folder, ModelId::of_index(3)).unwrap();
    assert_eq!(of_folder.provenance.front_sha256, checksum);
    // A model contains no path of the machine.
    assert_eq!(of_folder, run.model("run", ModelId::of_index(3)).unwrap());
    assert!(run.model("m", ModelId::of_index(6)).unwrap_err().is_usage());
}

#[test]
fn corrupted_files_are_rejected() {
    let mut run = run();
    let files = run.to_files().unwrap();
    let with = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut files = files.clone();
        let found = files.iter_mut().find(|(n, _)| *n == name).unwrap();
        change(&mut found.1);
        let given: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, &b[..])).collect();
        Run::from_files(&given).unwrap_err().to_string()
    };
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    };
    let checksum = with("front.parquet", &flip);
    assert!(checksum.starts_with("front.parquet: "), "{checksum}");
    assert!(checksum.contains("its checksum differs from the one in run.json"));
    assert!(
        with("run.json", &|bytes| bytes.truncate(100)).contains("run.json: the file is corrupted")
    );
    let other = |bytes: &mut Vec<u8>| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        *bytes = text
            .replacen("\"column\": \"income\"", "\"column\": \"outgo\"", 1)
            .into_bytes();
    };
    let features = with("encoding.json", &other);
    assert!(
        features.contains("encoding.json: the file was changed after it was written"),
        "{features}"
    );
    let some: Vec<(&str, &[u8])> = files[..2].iter().map(|(n, b)| (*n, &b[..])).collect();
    let missing = Run::from_files(&some).unwrap_err().to_string();
    assert_eq!(
        missing,
        "run.json: the file is missing; pass run.json, encoding.json, front.parquet, tallies.json"
    );
}

/// The table has more rows than two blocks, and the last block is short.
#[test]
fn tables_are_scored_as_files_are() {
    let prepared = prepared();
    let run = Run::of(&Facts::of(&prepared).unwrap(), &fitted(&prepared));
    let model = run.model("m", ModelId::of_index(2)).unwrap();
    let at = TempDir::new().unwrap();
    let path = at.path().join("rows.csv");
    let mut text = csv::Writer::from_path(&path).unwrap();
    let columns: Vec<&Column> = prepared.table.columns().iter().collect();
    text.write_record(columns.iter().map(|c| &c.name)).unwrap();
    for row in 0..prepared.table.n_rows() {
        let field = |c: &&Column| match (c.numeric(), c.categorical()) {
            (Some(numbers), _) if !numbers.get(row).is_nan() => numbers.get(row).to_string(),
            (_, Some((codes, levels))) => {
                levels.get(codes[row] as usize).cloned().unwrap_or_default()
            }
            _ => String::new(),
        };
        text.write_record(columns.iter().map(field)).unwrap();
    }
    text.flush().unwrap();
    let mut out = Vec::new();
    let options = PredictOptions::default();
    let file = path.display().to_string();
    predict(&model, &file, &options, Predictions::Csv(&mut out)).unwrap();
    let mut reader = csv::Reader::from_reader(&out[..]);
    let of_file: Vec<f64> = reader
        .records()
        .map(|record| record.unwrap()[0].parse().unwrap())
        .collect();
    let params = &run.front.params[2];
    let scores = score_table(&run.encoding, params, &prepared.table).unwrap();
    assert_eq!(scores, of_file);
    assert_eq!(scores.len(), 2_500);

    let huge = vec![1e308; params.len()];
    let error = score_table(&run.encoding, &huge, &prepared.table).unwrap_err();
    assert!(
        error.to_string().contains("too large for a score"),
        "{error}"
    );
    assert!(score_table(&run.encoding, &params[1..], &prepared.table).is_err());
    assert!(Run::read(Path::new("/nowhere")).is_err());
}
