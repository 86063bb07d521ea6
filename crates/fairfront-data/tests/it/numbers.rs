//! Targets that are numbers.

use std::collections::BTreeMap;

use fairfront_core::{Dataset, Target, Unit};
use fairfront_data::{
    Column, ColumnType, Encoded, Encoding, Error, Input, Inspection, Part, Prepared, RawRecord,
    ReadOptions, Records, Spec, SplitRule, StoredRows, Table, TargetDistribution, TargetKind,
    first_table, next_table, pack_files, set_aside, write_encoded,
};
use proptest::prelude::*;

use crate::{Folder, csv, message, names, prepare, spec};

/// Like [`spec`], but without a positive value.
fn open() -> Spec {
    Spec {
        positive: None,
        ..spec()
    }
}

fn numeric() -> Spec {
    Spec {
        numeric: true,
        ..open()
    }
}

/// Rows whose target is `10 * i`.
fn tens(n: usize) -> String {
    csv("y,g,x", n, |i| {
        format!("{},{},{}", 10 * i, ["a", "b"][i % 2], i * i)
    })
}

fn unit(prepared: &Prepared) -> &Unit {
    let rule = prepared.target.as_ref().expect("a target");
    rule.unit().expect("a number")
}

fn labels(data: &Dataset) -> Vec<f64> {
    let blocks = data.blocks().map(Result::unwrap);
    blocks.flat_map(|block| block.labels().to_vec()).collect()
}

fn notes(prepared: &Prepared) -> Vec<String> {
    let messages = prepared.diagnostics.iter();
    messages.map(|d| d.message.to_string()).collect()
}

#[test]
fn numbers_are_found_by_their_type() {
    let prepared = prepare(&tens(40), &open()).unwrap();
    assert!(prepared.target.as_ref().unwrap().is_number());
    assert_eq!(prepared.labels[..3], [0.0, 10.0, 20.0]);
    assert_eq!(prepared.n_positives(), 0);
    assert_eq!(
        notes(&prepared),
        [
            "\"y\" has more than two different numbers, so models predict a number; pass positive=\">= NUMBER\" \
          to predict whether it reaches a bound"
        ]
    );
    assert!(prepared.target_values().unwrap().is_empty());
    let numeric = prepare(&tens(40), &numeric()).unwrap();
    assert_eq!(numeric.target, prepared.target);
    assert_eq!(notes(&numeric), [""; 0]);
}

#[test]
fn two_numbers_strings_and_dates_are_not_found() {
    for [one, other] in [["0", "1"], ["1.0", "0.50"], ["-0", "0"]] {
        let text = csv("y,g,x", 40, |i| {
            format!("{},{},{i}", [one, other][i % 2], ["a", "b"][i / 2 % 2])
        });
        let prepared = prepare(&text, &open()).unwrap();
        assert!(!prepared.target.as_ref().unwrap().is_number());
        // Strings stay as they are.
        let mut expected = [one, other];
        expected.sort_unstable_by(|a, b| a.parse::<f64>().unwrap().total_cmp(&b.parse().unwrap()));
        assert_eq!(prepared.target_values().unwrap(), expected);
    }
    for values in [
        ["low", "mid", "high"],
        ["01", "02", "03"],
        ["2024-01-01", "2024-01-02", "2024-01-03"],
        ["1", "2", "3+"],
    ] {
        let text = csv("y,g,x", 30, |i| {
            format!("{},{},{i}", values[i % 3], ["a", "b"][i / 3 % 2])
        });
        let prepared = prepare(&text, &open()).unwrap();
        assert!(prepared.target.unwrap().classes().is_some());
    }
    let mut categories = open();
    categories.types = [("y".to_owned(), ColumnType::Categorical)].into();
    let said = message(prepare(&tens(10), &categories));
    assert!(said.ends_with("predict the number with numeric"), "{said}");
}

#[test]
fn numbers_like_identifiers_stay() {
    let text = csv("case_id,g,x", 300, |i| {
        format!("{},{},{}", i + 1, ["a", "b"][i % 2], i * i % 7)
    });
    let spec = Spec {
        target: Some("case_id".into()),
        ..open()
    };
    let prepared = prepare(&text, &spec).unwrap();
    assert_eq!(unit(&prepared).range, [1.0, 300.0]);
}

#[test]
fn two_numbers_can_be_predicted() {
    let text = csv("y,g,x", 40, |i| {
        format!("{},{},{i}", i % 2, ["a", "b"][i / 2 % 2])
    });
    let prepared = prepare(&text, &numeric()).unwrap();
    let unit = unit(&prepared);
    assert_eq!((unit.center, unit.scale), (0.5, 0.5));
    assert_eq!(unit.thresholds, [-1.0, 1.0]);
}

#[test]
fn strings_of_digits_are_parsed() {
    let columns = vec![
        Column::from_strings("y", [Some("10"), Some("-2"), None, Some("4.5")]),
        Column::from_strings("g", [Some("a"), Some("b"), Some("a"), Some("b")]),
        Column::from_numbers("x", vec![1.0, 2.0, 3.0, 5.0]),
    ];
    let table = Table::from_columns("t", columns);
    let prepared = Prepared::new(table, &numeric(), &[]).unwrap();
    assert_eq!(prepared.rows, [0, 1, 3]);
    assert_eq!(prepared.labels, [10.0, -2.0, 4.5]);
}

#[test]
fn labels_are_standardized_with_weights() {
    let text = "y,g,x,w,part\n1,a,1,1,train\n4,b,2,3,train\n9,a,4,1,train\n50,b,5,0,train\n\
                ,a,6,1,train\n-6,b,7,2,test\n";
    let spec = Spec {
        weight: Some("w".into()),
        split: SplitRule::Column("part".into()),
        ..open()
    };
    let prepared = prepare(text, &spec).unwrap();
    assert_eq!(prepared.labels, [1.0, 4.0, 9.0, 50.0, -6.0]);
    let unit = unit(&prepared);
    // (1 + 12 + 9) / 5, and (3.4² + 3·0.4² + 4.6²) / 5.
    assert_eq!(unit.center, 4.4);
    assert!((unit.scale - 6.64_f64.sqrt()).abs() < 1e-15);
    assert_eq!(unit.range, [1.0, 9.0]);
    let encoded = Encoded::new(&prepared).unwrap();
    let schema = encoded.part(Part::Train).schema();
    assert_eq!(schema.target, Target::Number(Box::new(unit.clone())));
    let found = labels(encoded.part(Part::Test));
    assert!((found[0] + 10.4 / 6.64_f64.sqrt()).abs() < 1e-14);
    assert_eq!(prepared.facts().labels[4], found[0]);
    assert_eq!(prepared.training_counts(0), [[2, 0], [2, 0]]);
}

#[test]
fn targets_that_cannot_be_learned_are_errors() {
    let constant = csv("y,g,x", 30, |i| format!("5,{},{i}", ["a", "b"][i % 2]));
    assert_eq!(
        message(prepare(&constant, &numeric())),
        "t.csv, column \"y\": the target is 5 in every training row, so models cannot learn anything; choose \
         another target"
    );
    // Without the setting, it has one class.
    assert!(message(prepare(&constant, &open())).contains("the target has only one value, \"5\""));
    let text = csv("y,g,x,part", 40, |i| {
        let (y, part) = if i < 20 { (3, "train") } else { (i, "test") };
        format!("{y},{},{i},{part}", ["a", "b"][i % 2])
    });
    let spec = Spec {
        split: SplitRule::Column("part".into()),
        ..open()
    };
    assert!(message(prepare(&text, &spec)).contains("the target is 3 in every training row"));
    let close = csv("y,g,x", 30, |i| {
        format!("{i}e-120,{},{i}", ["a", "b"][i % 2])
    });
    assert!(message(prepare(&close, &open())).contains("which are too close together"));
}

#[test]
fn values_that_are_not_numbers_are_errors() {
    let with = |value: &str| {
        let text = csv("y,g,x", 100, |i| {
            let y = if i == 70 {
                value.to_owned()
            } else {
                i.to_string()
            };
            format!("{y},{},{i}", ["a", "b"][i % 2])
        });
        [open(), numeric()].map(|spec| message(prepare(&text, &spec)))
    };
    for said in with("many") {
        assert!(
            said.starts_with("t.csv, row 71")
                && said.contains("column \"y\": \"many\" is not a number"),
            "{said}"
        );
    }
    for said in with("inf") {
        assert!(
            said.contains("column \"y\": \"inf\" is not a number"),
            "{said}"
        );
    }
    for said in with("1e60") {
        assert_eq!(
            said,
            "t.csv, row 71, column \"y\": 1e60 is too large for a target, which must be within ±1e50; fix the \
             value, leave it empty if it is missing, or divide the column by a constant"
        );
    }
    let table = |y: Column| {
        let columns = vec![
            y,
            Column::from_strings("g", [Some("a"), Some("b"), Some("b")]),
            Column::from_numbers("x", vec![1.0, 2.0, 3.0]),
        ];
        message(Prepared::new(
            Table::from_columns("t", columns),
            &numeric(),
            &[],
        ))
    };
    let said = table(Column::from_numbers("y", vec![1.0, f64::INFINITY, 2.0]));
    assert_eq!(
        said,
        "t, row 2, column \"y\": the target is inf; fix the value, or leave it empty if it is missing"
    );
    let said = table(Column::from_strings("y", [Some("1"), Some("2"), Some("x")]));
    assert_eq!(
        said,
        "t, row 3, column \"y\": the target is \"x\", which is not a number; fix the value, or leave it empty \
         if it is missing"
    );
}

#[test]
fn a_number_has_no_positive_value() {
    let mut spec = numeric();
    spec.positive = Some("1".into());
    let error = prepare(&tens(9), &spec).unwrap_err();
    assert!(error.is_usage());
    assert!(error.to_string().ends_with("choose one of them"), "{error}");
}

#[test]
fn encodings_keep_the_unit() {
    let encoded = Encoded::new(&prepare(&tens(40), &open()).unwrap()).unwrap();
    let json = encoded.encoding.to_json();
    let again = Encoding::from_json(&json).unwrap();
    assert_eq!(again, encoded.encoding);
    let rule = again.target.as_ref().unwrap();
    assert_eq!((rule.condition().as_str(), rule.positive()), ("y", None));
    assert!(matches!(rule.kind, TargetKind::Number { .. }));
    let broken = json.replacen("\"scale\": ", "\"scale\": -", 1);
    let said = message(Encoding::from_json(&broken));
    assert!(
        said.contains("the unit of the target \"y\" is invalid"),
        "{said}"
    );
}

#[test]
fn encodings_of_classes_keep_their_keys() {
    let keys = |positive: &str| {
        let text = csv("y,g,x", 40, |i| {
            format!("{},{},{i}", i % 3, ["a", "b"][i / 3 % 2])
        });
        let mut spec = spec();
        spec.positive = Some(positive.into());
        let encoded = Encoded::new(&prepare(&text, &spec).unwrap()).unwrap();
        let json = encoded.encoding.to_json();
        assert_eq!(Encoding::from_json(&json).unwrap(), encoded.encoding);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        value["target"].to_string()
    };
    assert_eq!(keys("1"), r#"{"column":"y","positive":"1"}"#);
    assert_eq!(
        keys(">= 1"),
        r#"{"column":"y","comparison":{"bound":1.0,"sign":">="},"positive":">= 1"}"#
    );
}

fn records(text: &str) -> (Vec<String>, Vec<RawRecord>) {
    let mut records = Records::new("t.csv", text.as_bytes(), &ReadOptions::default());
    let all = std::iter::from_fn(|| records.rest().unwrap()).collect();
    (records.columns().to_vec(), all)
}

#[test]
fn later_batches_have_the_unit_of_the_first() {
    let spec = open();
    let (columns, first) = records("y,g,x\n1,a,1\n2,b,2\n1e60,a,3\n6,a,4\nmuch,b,5\n");
    let options = Spec {
        numeric: true,
        ..open()
    };
    let options = options.read_options(ReadOptions::default());
    let (arrived, types) =
        first_table("t.csv", &columns, &first, &options, &BTreeMap::new()).unwrap();
    assert_eq!(arrived.rejected[0].index, 4);
    let aside = set_aside(arrived.table, &spec).unwrap();
    assert_eq!(aside.rejected[0].index, 2);
    let prepared = Prepared::new(aside.table, &spec, &[]).unwrap();
    assert_eq!(prepared.labels, [1.0, 2.0, 6.0]);
    let (mut encoding, _) = Encoding::fit(&prepared).unwrap();

    let (columns, later) = records("y,g,x\n40,a,1\n,b,2\n1e60,a,3\nx,b,4\n-3,c,5\n");
    let arrived = next_table("u.csv", &columns, &later, &types).unwrap();
    assert_eq!(arrived.rejected[0].index, 3);
    let train = |rows: &[u32]| vec![Part::Train; rows.len()];
    let (later, _) = Prepared::later(arrived.table, &spec, &mut encoding, &[], train).unwrap();
    assert_eq!(later.labels, [40.0, -3.0]);
    assert_eq!(later.rejected.len(), 1);
    let reason = later.rejected[0].reason.to_string();
    assert!(reason.contains("too large for a target"), "{reason}");
    assert_eq!(unit(&later), unit(&prepared));
    let (data, _) = later.encode(&encoding).unwrap();
    assert_eq!(labels(&data)[0], unit(&prepared).label(40.0));

    // A batch of strings.
    let columns = vec![
        Column::from_strings("y", [Some("3"), Some("three")]),
        Column::from_strings("g", [Some("a"), Some("b")]),
        Column::from_numbers("x", vec![1.0, 2.0]),
    ];
    let table = Table::from_columns("v", columns);
    let (later, _) = Prepared::later(table, &spec, &mut encoding, &[], train).unwrap();
    assert_eq!(later.labels, [3.0]);
    let reason = later.rejected[0].reason.to_string();
    assert!(
        reason.contains("\"three\", which is not a number"),
        "{reason}"
    );
}

#[test]
fn stored_rows_keep_numbers() {
    let prepared = prepare(&tens(50), &open()).unwrap();
    let (encoding, _) = Encoding::fit(&prepared).unwrap();
    let (data, _) = prepared.encode(&encoding).unwrap();
    let mut stored = StoredRows::from_dataset(&data, &prepared.split.parts_by_row()).unwrap();
    let bytes = stored.to_bytes();
    assert_eq!(bytes[8], 2);
    assert_eq!(StoredRows::from_bytes(&bytes).unwrap(), stored);
    let picked = stored.select(&[49, 0]).unwrap();
    stored.append(&picked).unwrap();
    let schema = encoding.schema();
    let mut found = labels(&stored.datasets(&schema).unwrap()[0]);
    let mut expected = [labels(&data), vec![labels(&data)[0], labels(&data)[49]]].concat();
    found.sort_unstable_by(f64::total_cmp);
    expected.sort_unstable_by(f64::total_cmp);
    assert_eq!(found, expected);

    let mut grown = encoding.clone();
    assert!(stored.fix_small_groups(&mut grown).len() <= 1);
    let binary = fairfront_core::Schema {
        target: Target::Binary,
        ..schema
    };
    assert!(message(stored.datasets(&binary)).contains("do not fit the target"));
    let said = message(stored.append(&StoredRows::new(&binary)));
    assert!(said.contains("cannot be combined"), "{said}");
    // Rows with two labels have the bytes that they always had.
    assert_eq!(StoredRows::new(&binary).to_bytes()[8], 1);
}

#[test]
fn inspections_show_means_instead_of_rates() {
    let text = "y,g,x,w\n1,a,1,1\n4,b,2,3\n9,a,4,1\n";
    let spec = Spec {
        weight: Some("w".into()),
        ..open()
    };
    let inspection = Inspection::new(&prepare(text, &spec).unwrap()).unwrap();
    let target = inspection.target.as_ref().unwrap();
    let TargetDistribution::Number {
        mean,
        standard_deviation,
        min,
        max,
    } = target.distribution
    else {
        panic!("not a number");
    };
    assert!((mean - 4.4).abs() < 1e-14 && (min, max) == (1.0, 9.0));
    assert!((standard_deviation - 6.64_f64.sqrt()).abs() < 1e-14);
    let groups = inspection.sensitive.get("g").unwrap();
    let a = groups.get("a").unwrap();
    assert_eq!((a.mean, a.positives, a.base_rate), (Some(5.0), None, None));
    let rare = |d: &fairfront_data::Diagnostic| d.message.to_string().contains("positive training");
    assert!(!inspection.diagnostics.iter().any(rare));
    let json = serde_json::to_value(&inspection).unwrap();
    assert_eq!(json["target"]["max"], 9.0);
    assert_eq!(json["sensitive"]["g"]["b"]["mean"], 4.0);
}

#[test]
fn exports_contain_the_number() {
    let prepared = prepare(&tens(5), &open()).unwrap();
    let encoded = Encoded::new(&prepared).unwrap();
    let mut out = Vec::new();
    write_encoded(&prepared, &encoded, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let rows = text.lines().skip(1);
    let label = |line: &str| line.split(',').rev().nth(2).unwrap().to_owned();
    let labels: Vec<String> = rows.map(label).collect();
    assert_eq!(labels, ["0", "10", "20", "30", "40"]);
}

/// Packs a table, and compares the file with the table in memory.
fn packed(text: &str, spec: &Spec) -> Result<(), Error> {
    let folder = Folder::new();
    let files = [folder.file("t.csv", text)];
    let out = folder.0.path().join("rows.ffb");
    let (options, work) = (ReadOptions::default(), folder.0.path());
    let prepared = Prepared::from_files(&files, spec, options.clone())?;
    let expected = Input::of(&prepared, true)?;
    pack_files(&files, spec, options, &out, work, &mut |_| {})?;
    let found = Input::open(&out)?;
    assert_eq!(expected.facts, found.facts);
    for part in Part::ALL {
        let [a, b] = [&expected, &found].map(|input| labels(input.encoded.part(part)));
        assert_eq!(a, b);
    }
    Ok(())
}

#[test]
fn many_different_numbers_are_packed() {
    let text = csv("y,g,x", 5_000, |i| {
        format!("{}.5,{},{}", i * 7919 % 100_003, ["a", "b"][i % 2], i % 17)
    });
    packed(&text, &open()).unwrap();
    packed(&text, &numeric()).unwrap();
}

proptest! {
    #[test]
    fn labels_become_the_same_numbers(
        numbers in prop::collection::vec(-1e6_f64..1e6, 4..40),
        power in -30_i32..30,
    ) {
        let numbers: Vec<f64> = numbers.iter().map(|x| x * 10_f64.powi(power)).collect();
        let n = numbers.len();
        let groups = (0..n).map(|i| Some(["a", "b"][i % 2]));
        let columns = vec![
            Column::from_numbers("y", numbers.clone()),
            Column::from_strings("g", groups),
            Column::from_numbers("x", (0..n).map(|i| i as f64).collect()),
        ];
        let spec = Spec { sensitive: vec![names(&["g"])], ..numeric() };
        let table = Table::from_columns("t", columns);
        let prepared = Prepared::new(table, &spec, &[]).unwrap();
        let unit = unit(&prepared);
        prop_assert!(unit.is_sound());
        let (encoding, _) = Encoding::fit(&prepared).unwrap();
        let (data, _) = prepared.encode(&encoding).unwrap();
        for (label, number) in labels(&data).into_iter().zip(numbers) {
            let size = number.abs().max(unit.center.abs()).max(unit.scale);
            prop_assert!((unit.number(label) - number).abs() <= 1e-12 * size);
        }
    }
}
