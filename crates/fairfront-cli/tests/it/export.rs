//! Runs `export` as a user does.

use std::path::Path;

use fairfront_core::hex;
use fairfront_model::Model;
use fairfront_run::model_of;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::{Outcome, run_in};

const MODEL: &str = include_str!("../../../fairfront-model/cases/model.json");

const GUIDE: &str = include_str!("../../../../docs/how-to/export.md");

/// The model with a replaced piece and a matching checksum.
fn sealed(piece: &str, by: &str) -> String {
    let text = MODEL.replace(piece, by);
    let (body, _) = text.split_once(",\n  \"checksum\"").expect("a checksum");
    let (mut quoted, mut before) = (false, ' ');
    let counts = |c: &char| {
        quoted ^= *c == '"' && before != '\\';
        before = *c;
        quoted || !c.is_whitespace()
    };
    let compact: String = body.chars().filter(counts).collect();
    let sum = hex(&Sha256::digest(compact));
    format!("{body}, \"checksum\": \"{sum}\"}}")
}

/// A folder with a model and files that are not models.
fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a file");
    };
    write("model.json", MODEL);
    write("rows.csv", "a,b\n1,2\n");
    write(
        "info.json",
        "{\"format\": \"fairfront-run\", \"version\": 1}",
    );
    write(
        "newer.json",
        &MODEL.replacen("\"version\": 1", "\"version\": 2", 1),
    );
    write("cut.json", &MODEL[..MODEL.len() / 2]);
    write("changed.json", &MODEL.replace("-2.5e-7", "2.5e-7"));
    write("renamed.json", &sealed("\"job=clerk\"", "\"job=cook\""));
    write("infinite.json", &sealed("-2.5e-7", "1e999"));
    write("twice.json", &sealed("\"pay\"", "\"age\""));
    write(
        "added.json",
        &sealed("\"threshold\"", "\"code\": 1, \"threshold\""),
    );
    write("taken.txt", "mine");
    std::fs::write(folder.path().join("bytes.json"), [0xff, 0xfe, 0]).expect("a file");
    folder
}

fn export(folder: &Path, args: &str) -> Outcome {
    run_in(folder, &format!("export {args}"))
}

#[test]
fn the_guide_shows_sql_and_table() {
    let folder = folder();
    for format in ["sql", "table"] {
        let args = format!("model.json --format {format} -o");
        let shown = export(folder.path(), &format!("{args} -"));
        assert_eq!((shown.code, shown.err.as_str()), (0, ""));
        insta::assert_snapshot!(format!("export-{format}"), shown.out);
        assert!(
            GUIDE.contains(&shown.out),
            "docs/how-to/export.md shows something else"
        );
        let quiet = export(folder.path(), &format!("{args} out"));
        assert_eq!((quiet.code, quiet.out.as_str()), (0, ""));
        let path = folder.path().join("out");
        let written = std::fs::read_to_string(&path).expect("a file");
        assert_eq!(written, shown.out);
        std::fs::remove_file(path).expect("a file");
    }
}

#[test]
fn invalid_models_are_rejected_in_one_line() {
    let folder = folder();
    let mut lines = String::new();
    for name in [
        "absent.json",
        "rows.csv",
        "bytes.json",
        "info.json",
        "newer.json",
        "cut.json",
        "changed.json",
        "renamed.json",
        "infinite.json",
        "twice.json",
        "added.json",
        ".",
    ] {
        let outcome = export(folder.path(), &format!("{name} --format onnx -o out.onnx"));
        assert_eq!((outcome.code, outcome.out.as_str()), (1, ""), "{name}");
        assert_eq!(outcome.err.lines().count(), 1);
        lines += &outcome.err;
    }
    insta::assert_snapshot!("export-errors", lines);
    assert!(!folder.path().join("out.onnx").exists());
}

#[test]
fn files_are_replaced_only_with_force() {
    let folder = folder();
    let to = |place: &str, more: &str| {
        let args = format!("model.json --format table -o {place} {more}");
        export(folder.path(), &args)
    };
    let taken = to("taken.txt", "");
    assert_eq!(taken.code, 1);
    assert_eq!(
        taken.err,
        "error: taken.txt: already exists; choose another path, or replace it with --force\n"
    );
    let read = || std::fs::read_to_string(folder.path().join("taken.txt")).expect("a file");
    assert_eq!(read(), "mine");
    to("taken.txt", "--force").ok();
    assert!(read().starts_with("feature,column,category,"));
    let lost = to("no/such/out.csv", "");
    assert_eq!(
        (lost.code, lost.err.as_str()),
        (
            1,
            "error: no/such: the folder does not exist; create it first\n"
        )
    );
    for place in [".", "/dev/null"] {
        let refused = to(place, "--force");
        assert_eq!(refused.code, 1);
        let error = &refused.err;
        assert!(
            error.contains("not a file") || error.contains("a folder"),
            "{error}"
        );
    }
    export(folder.path(), "model.json --format onnx -o -").fails(2, "choose a file with -o");
    // No temporary files are left.
    let names = std::fs::read_dir(folder.path()).expect("a folder");
    let names = names.map(|entry| entry.expect("a file").file_name());
    assert!(
        names
            .into_iter()
            .all(|n| !n.to_string_lossy().starts_with('.'))
    );
}

#[test]
fn a_model_of_a_run_is_exported() {
    let folder = TempDir::new().expect("a folder");
    let fit = "fit demo(rows=900) --solver trace --models 5";
    let fit = format!("{fit} --quiet --out run");
    run_in(&folder, &fit).ok();
    let model = model_of(
        &folder.path().join("run"),
        fairfront_model::ModelId::of_index(2),
    )
    .expect("a model");
    let path = folder.path().join("model.json");
    model.write(&path, false).expect("a file");
    assert!(model.write(&path, false).is_err());
    assert_eq!(Model::read(&path).expect("a model"), model);
    for format in ["onnx", "sql", "table"] {
        let args = format!("model.json --format {format} -o {format}");
        let outcome = export(folder.path(), &args);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    }
    let bytes = std::fs::read(folder.path().join("onnx")).expect("a file");
    assert!(bytes.windows(9).any(|w| w == b"fairfront"));
}
