//! Targets with more than two classes.

use std::collections::BTreeMap;

use fairfront_core::{Classes, Dataset, Schema, Target};
use fairfront_data::{
    Column, Diagnostic, Encoded, Encoding, Error, Input, Inspection, Merge, Part, Prepared,
    RawRecord, ReadOptions, Records, Spec, SplitRule, StoredRows, Table, TargetDistribution,
    TargetKind, first_table, next_table, pack_files, set_aside, write_encoded,
};

use crate::{Folder, csv, message, names, prepare, spec};

/// Like [`spec`], but without a positive value.
fn open() -> Spec {
    Spec {
        positive: None,
        ..spec()
    }
}

fn ordered(order: &[&str]) -> Spec {
    Spec {
        order: names(order),
        ..open()
    }
}

fn declared() -> Spec {
    Spec {
        classes: true,
        ..open()
    }
}

/// Rows whose targets are these values in turn.
fn turns(n: usize, values: &[&str]) -> String {
    csv("y,g,x", n, |i| {
        let g = ["a", "b"][i / values.len() % 2];
        format!("{},{g},{}", values[i % values.len()], i * i)
    })
}

fn grades() -> String {
    turns(60, &["mid", "low", "high"])
}

fn classes(prepared: &Prepared) -> &Classes {
    let rule = prepared.target.as_ref().expect("a target");
    rule.classes().expect("classes")
}

fn labels(data: &Dataset) -> Vec<f64> {
    let blocks = data.blocks().map(Result::unwrap);
    blocks.flat_map(|block| block.labels().to_vec()).collect()
}

fn messages(diagnostics: &[Diagnostic]) -> Vec<String> {
    let messages = diagnostics.iter();
    messages.map(|d| d.message.to_string()).collect()
}

fn usage(spec: &Spec) -> String {
    let error = spec.check().unwrap_err();
    assert!(error.is_usage());
    error.to_string()
}

#[test]
fn strings_become_classes() {
    let prepared = prepare(&grades(), &open()).unwrap();
    assert_eq!(classes(&prepared).names, ["high", "low", "mid"]);
    assert!(!classes(&prepared).ordered);
    assert_eq!(prepared.labels[..4], [2.0, 1.0, 0.0, 2.0]);
    assert_eq!(
        messages(&prepared.diagnostics)[0],
        "\"y\" has 3 values, so models predict a class; pass positive=VALUE to predict one of them (repeat it \
         for several)"
    );
    let rule = prepared.target.as_ref().unwrap();
    assert!(!rule.is_number() && !rule.is_binary() && rule.unit().is_none());
    assert_eq!((rule.condition().as_str(), rule.positive()), ("y", None));
    assert_eq!(rule.positive_text(), "");
    assert_eq!(prepared.n_positives(), 0);
    assert_eq!(prepared.target_values().unwrap(), ["high", "low", "mid"]);
    assert_eq!(prepared.training_counts(0), [[10, 10, 10], [10, 10, 10]]);
    let encoded = Encoded::new(&prepared).unwrap();
    let train = encoded.part(Part::Train);
    assert_eq!(
        train.schema().target,
        Target::Classes(classes(&prepared).clone())
    );
    let mut found = labels(train);
    found.sort_unstable_by(f64::total_cmp);
    assert_eq!(found[19..21], [0.0, 1.0]);
}

#[test]
fn numbers_become_classes_on_request() {
    let deciles = ["1", "2", "3", "10"];
    let text = turns(80, &deciles);
    assert!(prepare(&text, &open()).unwrap().target.unwrap().is_number());
    let prepared = prepare(&text, &declared()).unwrap();
    assert_eq!(classes(&prepared).names, deciles);
    assert_eq!(prepared.labels[..4], [0.0, 1.0, 2.0, 3.0]);
    assert!(prepared.diagnostics.is_empty());
    // Strings of digits keep their zeros, and two spellings of a number are one class.
    let codes = prepare(&turns(60, &["01", "02", "03"]), &open()).unwrap();
    assert_eq!(classes(&codes).names, ["01", "02", "03"]);
    let spellings = prepare(&turns(80, &["1", "1.0", "2", "3"]), &declared()).unwrap();
    assert_eq!(classes(&spellings).names, ["1", "2", "3"]);
    assert_eq!(spellings.labels[..4], [0.0, 0.0, 1.0, 2.0]);
    let columns = vec![
        Column::from_numbers("y", (0..60).map(|i| f64::from(i % 3)).collect()),
        Column::from_strings("g", (0..60).map(|i| Some(["a", "b"][i / 3 % 2]))),
        Column::from_numbers("x", (0..60).map(f64::from).collect()),
    ];
    let table = Table::from_columns("t", columns);
    let prepared = Prepared::new(table, &declared(), &[]).unwrap();
    assert_eq!(classes(&prepared).names, ["0", "1", "2"]);
}

#[test]
fn two_values_stay_binary() {
    for spec in [open(), declared()] {
        let prepared = prepare(&turns(40, &["no", "yes"]), &spec).unwrap();
        let rule = prepared.target.as_ref().unwrap();
        assert_eq!((rule.is_binary(), rule.positive()), (true, Some("yes")));
        assert!(messages(&prepared.diagnostics)[0].contains("counts as positive (the last"));
    }
    let one = message(prepare(&turns(40, &["no"]), &declared()));
    assert!(one.contains("the target has only one value"), "{one}");
    // One of several values is still a binary target.
    let mut positive = open();
    positive.positive = Some("mid".into());
    let prepared = prepare(&grades(), &positive).unwrap();
    assert!(prepared.target.unwrap().is_binary());
}

#[test]
fn an_order_sorts_the_classes() {
    let prepared = prepare(&grades(), &ordered(&["low", "mid", "high"])).unwrap();
    assert_eq!(classes(&prepared).names, ["low", "mid", "high"]);
    assert!(classes(&prepared).ordered);
    assert_eq!(prepared.labels[..3], [1.0, 0.0, 2.0]);
    assert!(prepared.diagnostics.is_empty());
    let text = turns(60, &["1", "2", "3"]);
    let prepared = prepare(&text, &ordered(&["3.0", "2", "1"])).unwrap();
    assert_eq!(classes(&prepared).names, ["3", "2", "1"]);
    let mut merged = ordered(&["low", "mid", "top"]);
    let merge = Merge {
        categories: [("high".to_owned(), "top".to_owned())].into(),
        rest: None,
    };
    merged.merges.insert("y".into(), merge);
    let prepared = prepare(&grades(), &merged).unwrap();
    assert_eq!(classes(&prepared).names, ["low", "mid", "top"]);
    assert_eq!(prepared.target_values().unwrap(), ["low", "mid", "top"]);
    merged.order = names(&["low", "mid", "high"]);
    assert_eq!(
        message(prepare(&grades(), &merged)),
        "t.csv, column \"y\": no row has the class \"high\", which order lists; merge merges it into \"top\""
    );
}

#[test]
fn wrong_orders_are_errors() {
    let said = |order: &[&str]| message(prepare(&grades(), &ordered(order)));
    assert_eq!(
        said(&["low", "midd", "high"]),
        "t.csv, column \"y\": no row has the class \"midd\", which order lists; did you mean \"mid\"?"
    );
    assert!(
        said(&["low", "mid", "high", "none"]).ends_with(
            "lists; available: \"high\" (20 rows), \"low\" (20 rows), \"mid\" (20 rows)"
        )
    );
    let four = message(prepare(
        &turns(80, &["a", "b", "c", "d"]),
        &ordered(&["d", "c", "b"]),
    ));
    assert_eq!(
        four,
        "t.csv, column \"y\": order does not list these classes of the target: \"a\"; add them in their place, \
         or merge them into other classes with merge"
    );
    let missing = message(prepare(
        &turns(40, &["no", "yes"]),
        &ordered(&["no", "maybe", "yes"]),
    ));
    assert!(
        missing.contains("no row has the class \"maybe\""),
        "{missing}"
    );
}

#[test]
fn contradictions_are_usage_errors() {
    let mut both = ordered(&["low", "mid", "high"]);
    both.positive = Some("low".into());
    assert_eq!(
        usage(&both),
        "positive predicts the target as two classes and order as all of its classes; choose one of them"
    );
    let mut both = declared();
    both.numeric = true;
    assert_eq!(
        usage(&both),
        "numeric predicts the target as a number and classes as a class; choose one of them"
    );
    let mut none = declared();
    none.target = None;
    assert_eq!(usage(&none), "classes needs target");
    assert_eq!(
        usage(&ordered(&["1", "2", "1.0"])),
        "order lists the class \"1.0\" twice; remove one of them"
    );
    let two = usage(&ordered(&["no", "yes"]));
    assert!(
        two.starts_with("order lists fewer than three classes; list all classes"),
        "{two}"
    );
    assert!(two.ends_with("counts as positive with positive"), "{two}");
    let many: Vec<String> = (0..101).map(|i| format!("c{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(usage(&ordered(&many)).contains("lists 101 classes, but models"));
    let mut typed = declared();
    typed.types = [("y".to_owned(), fairfront_data::ColumnType::Numeric)].into();
    assert!(usage(&typed).contains("whose values are categories"));
}

#[test]
fn too_many_and_rare_classes_are_errors() {
    let text = csv("y,g,x", 5_000, |i| {
        format!("n{i},{},{i}", ["a", "b"][i % 2])
    });
    assert_eq!(
        message(prepare(&text, &open())),
        "t.csv, column \"y\": the target has 5,000 values, but models can predict at most 100 classes; merge \
         values with merge, choose the values that count as positive with positive, or choose another target"
    );
    let text = csv("y,g,x", 500, |i| format!("{i},{},{i}", ["a", "b"][i % 2]));
    let said = message(prepare(&text, &declared()));
    assert!(said.contains("predict the number with numeric"), "{said}");
    let rare = csv("y,g,x", 103, |i| {
        let y = if i < 3 { "rare" } else { ["p", "q"][i % 2] };
        format!("{y},{},{i}", ["a", "b"][i / 2 % 2])
    });
    assert_eq!(
        message(prepare(&rare, &open())),
        "t.csv, column \"y\": each class of the target needs at least 10 training rows, but some have fewer: \
         \"rare\" (3); merge them with other classes with merge, remove their rows, or pass \
         positive to predict one of the classes"
    );
    assert!(prepare(&rare, &open()).unwrap_err().needs_more_rows());
    // Only training rows count.
    let split = csv("y,g,x,part", 90, |i| {
        let part = if i % 3 == 2 && i > 6 { "test" } else { "train" };
        format!(
            "{},{},{i},{part}",
            ["u", "v", "w"][i % 3],
            ["a", "b"][i / 3 % 2]
        )
    });
    let spec = Spec {
        split: SplitRule::Column("part".into()),
        ..open()
    };
    let said = message(prepare(&split, &spec));
    assert!(said.contains("fewer: \"w\" (2)"), "{said}");
}

#[test]
fn rows_without_a_target_are_dropped() {
    let text = csv("y,g,x", 80, |i| {
        let y = ["low", "mid", "high", ""][i % 4];
        format!("{y},{},{i}", ["a", "b"][i / 4 % 2])
    });
    let prepared = prepare(&text, &open()).unwrap();
    assert_eq!((prepared.n_rows(), prepared.dropped[0].rows), (60, 20));
    assert_eq!(prepared.dropped[0].reason, "y missing");
}

#[test]
fn classes_need_weight() {
    let text = csv("y,g,x,w", 60, |i| {
        let w = u8::from(i % 3 != 0);
        format!(
            "{},{},{i},{w}",
            ["p", "q", "r"][i % 3],
            ["a", "b"][i / 3 % 2]
        )
    });
    let spec = Spec {
        weight: Some("w".into()),
        ..open()
    };
    let said = message(prepare(&text, &spec));
    assert!(
        said.contains(
            "the weights of all 20 training rows of class \"p\" sum to 0e0, of 4e1 in total"
        ),
        "{said}"
    );
}

#[test]
fn balanced_groups_keep_all_classes() {
    let text = csv("y,g,x", 90, |i| {
        format!(
            "{},{},{i}",
            ["p", "q", "r"][i % 3],
            if i < 30 { "a" } else { "b" }
        )
    });
    let spec = |seed: u64| Spec {
        balance: Some(names(&["g"])),
        seed,
        ..open()
    };
    assert_eq!(prepare(&text, &spec(1)).unwrap().n_rows(), 60);
    let text = csv("y,g,x", 90, |i| {
        let y = if i == 89 { "r" } else { ["p", "q"][i % 2] };
        format!("{y},{},{i}", if i < 30 { "a" } else { "b" })
    });
    let said = (0..9).map(|seed| message(prepare(&text, &spec(seed))));
    let gone = |said: &String| {
        said.contains("none of the 60 rows that remain after balance has the class \"r\"")
    };
    assert!(said.filter(gone).count() > 0);
}

#[test]
fn small_groups_are_counted_by_class() {
    let text = csv("y,g,x", 400, |i| {
        let g = match i % 20 {
            0..9 => "a",
            9..18 => "b",
            _ => "c",
        };
        let y = if i % 7 == 0 { "r" } else { ["p", "q"][i % 2] };
        format!("{y},{g},{}", i % 17)
    });
    let prepared = prepare(&text, &open()).unwrap();
    let small = &prepared.attributes[0].attribute.small;
    assert!(small.all.is_empty() && small.positives.is_empty() && small.negatives.is_empty());
    assert_eq!(small.with_label(Some(2.0)), [2]);
    let input = Input::of(&prepared, false).unwrap();
    let said = messages(&input.findings.groups);
    assert!(
        said[0].starts_with(
            "\"g\" has groups with fewer than 30 training rows of a class: \"c\" with"
        ),
        "{said:?}"
    );
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[1].starts_with("\"g\" has fewer than two groups with 30"),
        "{said:?}"
    );

    // Groups of stored rows are counted in the same way.
    let (encoding, _) = Encoding::fit(&prepared).unwrap();
    let (data, _) = prepared.encode(&encoding).unwrap();
    let stored = StoredRows::from_dataset(&data, &prepared.split.parts_by_row()).unwrap();
    let mut grown = encoding.clone();
    assert_eq!(messages(&stored.fix_small_groups(&mut grown)), said);
    assert_eq!(grown, encoding);
}

#[test]
fn rare_classes_give_a_warning() {
    let text = csv("y,g,x", 400, |i| {
        let y = if i % 20 == 0 {
            "rare"
        } else {
            ["p", "q"][i % 2]
        };
        format!("{y},{},{}", ["a", "b"][i / 2 % 2], i % 17)
    });
    let prepared = prepare(&text, &open()).unwrap();
    let input = Input::of(&prepared, false).unwrap();
    let said = messages(&input.findings.diagnostics);
    let rare = "some classes of the target \"y\" have few of the 400 training rows: \"rare\" (20, 5.0%); models \
                learn little about them, and rates among them are uncertain; merge them with merge";
    assert!(said.iter().any(|message| message == rare), "{said:?}");
}

#[test]
fn encodings_keep_classes() {
    for spec in [open(), ordered(&["low", "mid", "high"])] {
        let encoded = Encoded::new(&prepare(&grades(), &spec).unwrap()).unwrap();
        let json = encoded.encoding.to_json();
        let again = Encoding::from_json(&json).unwrap();
        assert_eq!(again, encoded.encoding);
        let kind = &again.target.as_ref().unwrap().kind;
        assert!(matches!(kind, TargetKind::Classes(_)));
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = match spec.order.is_empty() {
            true => r#"{"column":"y","names":["high","low","mid"]}"#,
            false => r#"{"column":"y","names":["low","mid","high"],"ordered":true}"#,
        };
        assert_eq!(value["target"].to_string(), expected);
        let broken = json.replacen("\"mid\"", "\"low\"", 1);
        let said = message(Encoding::from_json(&broken));
        assert!(
            said.contains("the classes of the target \"y\" are invalid"),
            "{said}"
        );
    }
}

fn records(text: &str) -> (Vec<String>, Vec<RawRecord>) {
    let mut records = Records::new("t.csv", text.as_bytes(), &ReadOptions::default());
    let all = std::iter::from_fn(|| records.rest().unwrap()).collect();
    (records.columns().to_vec(), all)
}

#[test]
fn later_batches_have_the_classes_of_the_first() {
    let spec = Spec {
        classes: true,
        ..open()
    };
    let (columns, first) = records(&turns(60, &["1", "2", "3"]));
    let options = spec.read_options(ReadOptions::default());
    let (arrived, types) =
        first_table("t.csv", &columns, &first, &options, &BTreeMap::new()).unwrap();
    let aside = set_aside(arrived.table, &spec).unwrap();
    let prepared = Prepared::new(aside.table, &spec, &[]).unwrap();
    let (mut encoding, _) = Encoding::fit(&prepared).unwrap();
    let (columns, later) = records("y,g,x\n3,a,1\n,b,2\n4,a,3\nx,b,4\n1.0,c,5\n");
    let arrived = next_table("u.csv", &columns, &later, &types).unwrap();
    let train = |rows: &[u32]| vec![Part::Train; rows.len()];
    let values = prepared.target_values().unwrap();
    let rule = encoding.target.clone().unwrap();
    let (row, problem) = rule.unusable(&arrived.table).unwrap().unwrap();
    assert_eq!(row, 2);
    assert!(problem.starts_with("the target is \"4\", which is not a class of the model"));
    let all = rule.labels(&arrived.table).unwrap();
    assert_eq!(all, [Some(2.0), None, None, None, Some(0.0)]);
    let (later, _) = Prepared::later(arrived.table, &spec, &mut encoding, &values, train).unwrap();
    assert_eq!(later.labels, [2.0, 0.0]);
    assert_eq!(later.rejected.len(), 2);
    assert_eq!(
        later.rejected[0].reason.to_string(),
        "column \"y\": the target is \"4\", which is not a class of the first batch; fix the value, or start a \
         new state"
    );
    assert_eq!(classes(&later), classes(&prepared));
}

#[test]
fn stored_rows_keep_classes() {
    let prepared = prepare(&grades(), &open()).unwrap();
    let (encoding, _) = Encoding::fit(&prepared).unwrap();
    let (data, _) = prepared.encode(&encoding).unwrap();
    let mut stored = StoredRows::from_dataset(&data, &prepared.split.parts_by_row()).unwrap();
    let bytes = stored.to_bytes();
    assert_eq!(bytes[8], 3);
    assert_eq!(StoredRows::from_bytes(&bytes).unwrap(), stored);
    let schema = encoding.schema();
    let mut found = labels(&stored.datasets(&schema).unwrap()[0]);
    found.sort_unstable_by(f64::total_cmp);
    assert_eq!(
        (found.len(), found[19], found[20], found[59]),
        (60, 0.0, 1.0, 2.0)
    );
    let picked = stored.select(&[59, 0]).unwrap();
    stored.append(&picked).unwrap();
    assert_eq!(stored.n_rows(), 62);

    let with = |target: Target| Schema {
        target,
        ..schema.clone()
    };
    let binary = with(Target::Binary);
    assert!(message(stored.datasets(&binary)).contains("do not fit the target"));
    let said = message(stored.append(&StoredRows::new(&binary)));
    assert!(said.contains("cannot be combined"), "{said}");
    // A label outside the classes of the schema.
    let mut fewer = classes(&prepared).clone();
    fewer.names.pop();
    let said = message(stored.datasets(&with(Target::Classes(fewer))));
    assert!(said.contains("do not fit the target"), "{said}");
}

#[test]
fn inspections_show_shares_of_classes() {
    let text = csv("y,g,x,w", 60, |i| {
        let (y, w) = (["mid", "low", "high"][i % 3], [2, 1, 1][i % 3]);
        format!("{y},{},{i},{w}", ["a", "b"][i / 3 % 2])
    });
    let spec = Spec {
        weight: Some("w".into()),
        ..ordered(&["low", "mid", "high"])
    };
    let inspection = Inspection::new(&prepare(&text, &spec).unwrap()).unwrap();
    let target = inspection.target.as_ref().unwrap();
    assert!(matches!(
        target.distribution,
        TargetDistribution::Classes { ordered: true, .. }
    ));
    let groups = inspection.sensitive.get("g").unwrap();
    let a = groups.get("a").unwrap();
    assert_eq!((a.mean, a.positives, a.base_rate), (None, None, None));
    let json = serde_json::to_value(&inspection).unwrap();
    assert_eq!(json["target"]["ordered"], true);
    let low = serde_json::json!({"count": 20, "share": 0.25});
    assert_eq!(json["target"]["classes"]["low"], low);
    let low = serde_json::json!({"count": 10, "share": 0.25});
    assert_eq!(json["sensitive"]["g"]["b"]["classes"]["low"], low);
    let keys = json["target"]["classes"].as_object().unwrap();
    assert_eq!(keys.len(), 3);
}

#[test]
fn exports_contain_the_class() {
    let prepared = prepare(&grades(), &open()).unwrap();
    let encoded = Encoded::new(&prepared).unwrap();
    let mut out = Vec::new();
    write_encoded(&prepared, &encoded, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let label = |line: &str| line.split(',').rev().nth(2).unwrap().to_owned();
    let labels: Vec<String> = text.lines().skip(1).take(3).map(label).collect();
    assert_eq!(labels, ["mid", "low", "high"]);
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
    assert_eq!(expected.findings, found.findings);
    for part in Part::ALL {
        let [a, b] = [&expected, &found].map(|input| labels(input.encoded.part(part)));
        assert_eq!(a, b);
    }
    Ok(())
}

#[test]
fn a_hundred_classes_are_packed() {
    let text = csv("y,g,x", 5_000, |i| {
        format!("{},{},{}", i * 7919 % 100, ["a", "b"][i / 100 % 2], i % 17)
    });
    packed(&text, &declared()).unwrap();
    packed(&grades(), &open()).unwrap();
    packed(&grades(), &ordered(&["low", "mid", "high"])).unwrap();
}
