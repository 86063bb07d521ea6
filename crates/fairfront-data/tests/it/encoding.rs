use fairfront_core::Dataset;
use fairfront_data::{
    Diagnostic, Encoded, Encoding, MissingPolicy, Part, ReadOptions, RowFacts, Scale, Spec,
    SplitRule, read_table,
};
use proptest::prelude::*;

use crate::{Folder, csv, message, names, prepare, spec};

const ROWS: &str = "\
y,g,n,c,part
1,a,1,u,train
0,b,3,v,train
1,a,5,u,train
0,b,7,,test
1,b,100,new,test
";

fn with(change: impl FnOnce(&mut Spec)) -> Encoded {
    let mut spec = spec();
    spec.split = SplitRule::Column("part".into());
    spec.missing = MissingPolicy::Keep;
    change(&mut spec);
    Encoded::new(&prepare(ROWS, &spec).unwrap()).unwrap()
}

/// Rows as a dense matrix, one-hot categories included, in order of their values: the order of the rows of a
/// split is random.
fn dense(data: &Dataset) -> Vec<Vec<f64>> {
    let n = data.schema().n_features();
    let mut rows = Vec::new();
    for block in data.blocks().map(Result::unwrap) {
        for r in 0..block.n_rows() {
            let mut row = vec![0.0; n + 2];
            row[..block.numeric(r).len()].copy_from_slice(block.numeric(r));
            for code in block.codes(r) {
                row[*code as usize] = 1.0;
            }
            row.truncate(n);
            rows.push(row);
        }
    }
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
    rows
}

#[test]
fn statistics_come_from_the_training_rows() {
    let encoded = with(|_| ());
    let names = encoded.encoding.schema().feature_names();
    assert_eq!(names, ["n", "c=u", "c=v"]);
    // Mean 3 and population variance 8/3 of 1, 3, 5.
    let unit = (8.0_f64 / 3.0).sqrt();
    let train = dense(encoded.part(Part::Train));
    assert_eq!(train[0], [-2.0 / unit, 1.0, 0.0]);
    assert_eq!(train[1], [0.0, 0.0, 1.0]);
    // A missing and an unseen category have no feature.
    let test = dense(encoded.part(Part::Test));
    assert_eq!(test, [[4.0 / unit, 0.0, 0.0], [97.0 / unit, 0.0, 0.0]]);
    let said = |words: &str| {
        encoded
            .diagnostics
            .iter()
            .any(|n| n.message.to_string().contains(words))
    };
    assert!(said(
        "1 test rows have a category unseen in training (\"new\")"
    ));
    assert!(said(
        "fewer than 5 training rows, which a model can overfit: \"u\" (2), \"v\" (1)"
    ));
}

#[test]
fn scales() {
    let value = |scale: Scale| dense(with(|s| s.scale = scale).part(Part::Test))[1][0];
    assert_eq!(value(Scale::None), 100.0);
    assert_eq!(value(Scale::MinMax), 99.0 / 4.0);
}

#[test]
fn scaling_uses_weights() {
    let csv = "y,g,n,w\n1,a,1,3\n0,b,5,1\n1,b,9,0\n";
    let mut spec = spec();
    spec.weight = Some("w".into());
    let encoded = Encoded::new(&prepare(csv, &spec).unwrap()).unwrap();
    // Mean (3·1 + 5)/4 = 2, variance (3·1 + 9)/4 = 3; the row of weight 0 does not count.
    let unit = 3.0_f64.sqrt();
    let column: Vec<f64> = dense(encoded.part(Part::Train))
        .iter()
        .map(|r| r[0])
        .collect();
    assert_eq!(column, [-1.0 / unit, 3.0 / unit, 7.0 / unit]);
    spec.scale = Scale::MinMax;
    let encoded = Encoded::new(&prepare(csv, &spec).unwrap()).unwrap();
    assert_eq!(dense(encoded.part(Part::Train))[2][0], 2.0);
}

#[test]
fn missing_values_become_a_category_or_the_mean_with_an_indicator() {
    let csv = "y,g,n,c\n1,a,1,u\n0,b,,v\n1,b,3,\n0,a,5,v\n";
    let mut spec = spec();
    spec.missing = MissingPolicy::Keep;
    spec.scale = Scale::None;
    let encoded = Encoded::new(&prepare(csv, &spec).unwrap()).unwrap();
    assert_eq!(
        encoded.encoding.schema().feature_names(),
        ["n", "n (missing)", "c=u", "c=v", "c=(missing)"]
    );
    assert_eq!(
        dense(encoded.part(Part::Train)),
        [
            [1.0, 0.0, 1.0, 0.0, 0.0],
            [3.0, 0.0, 0.0, 0.0, 1.0],
            [3.0, 1.0, 0.0, 1.0, 0.0],
            [5.0, 0.0, 0.0, 1.0, 0.0],
        ]
    );
}

#[test]
fn rare_and_unseen_categories_are_pooled() {
    let encoded = with(|s| s.pool_rare = 2);
    assert_eq!(
        encoded.encoding.schema().feature_names(),
        ["n", "c=u", "c=(other)"]
    );
    let test = dense(encoded.part(Part::Test));
    assert_eq!(&test[1][1..], [0.0, 1.0]);
    // A pooled category is not reported as unseen.
    let unseen: Vec<String> = encoded
        .diagnostics
        .iter()
        .map(|n| n.message.to_string())
        .filter(|m| m.contains("unseen"))
        .collect();
    assert!(
        unseen.len() == 1 && unseen[0].contains("(\"new\")"),
        "{unseen:?}"
    );
}

#[test]
fn constant_columns_are_left_out_with_a_note() {
    let csv = "y,g,n,k,c\n1,a,1,4,u\n0,b,2,4,u\n";
    let encoded = Encoded::new(&prepare(csv, &spec()).unwrap()).unwrap();
    assert_eq!(encoded.encoding.schema().feature_names(), ["n"]);
    let diagnostics: Vec<String> = encoded
        .diagnostics
        .iter()
        .map(|n| n.message.to_string())
        .collect();
    assert_eq!(
        diagnostics,
        [
            "column \"k\" is left out: it is 4 in every training row",
            "column \"c\" is left out: it is \"u\" in every training row"
        ]
    );
    let none = prepare("y,g,k\n1,a,4\n0,b,4\n", &spec()).unwrap();
    assert!(
        message(Encoded::new(&none))
            .contains("no column is left as a feature (column \"k\" is left out")
    );
}

#[test]
fn values_too_large_for_features_are_rejected() {
    let rejected = |csv: &str, scale: Scale| {
        let mut spec = spec();
        spec.scale = scale;
        spec.split = SplitRule::Column("part".into());
        message(Encoded::new(&prepare(csv, &spec).unwrap()))
    };
    // In any split, and for any scale of the column.
    for part in ["train", "test"] {
        for scale in [Scale::Standard, Scale::MinMax, Scale::None] {
            let csv =
                format!("y,g,n,part\n1,a,1,train\n0,b,2,train\n1,b,-1e160,{part}\n0,a,3,test\n");
            let found = rejected(&csv, scale);
            assert!(
                found.contains("row 3, column \"n\": -1e160 is too large for a feature"),
                "{found}"
            );
            assert!(found.contains("t.csv"), "{found}");
        }
    }
    let csv = "y,g,n,part\n1,a,1e-60,train\n0,b,2e-60,train\n1,b,1,test\n0,a,0,test\n";
    let found = rejected(csv, Scale::MinMax);
    assert!(
        found.contains("row 3, column \"n\": 1e0 is 1e60 after scaling, too large"),
        "{found}"
    );
}

#[test]
fn small_values_keep_their_spread() {
    let csv = "y,g,n\n1,a,1e-200\n0,b,3e-200\n1,b,5e-200\n0,a,7e-200\n";
    let encoded = Encoded::new(&prepare(csv, &spec()).unwrap()).unwrap();
    let rows = dense(encoded.part(Part::Train));
    let squares: f64 = rows.iter().map(|row| row[0] * row[0]).sum();
    assert!(
        (squares / rows.len() as f64 - 1.0).abs() < 1e-12,
        "{rows:?}"
    );

    let mut none = spec();
    none.scale = Scale::None;
    let encoded = Encoded::new(&prepare(csv, &none).unwrap()).unwrap();
    let expected = "column \"n\" has values from 1e-200 to 7e-200, which are too close together";
    let warned = |n: &Diagnostic| n.message.to_string().starts_with(expected);
    assert!(
        encoded.diagnostics.iter().any(warned),
        "{:?}",
        encoded.diagnostics
    );
}

#[test]
fn encoding_applies_to_rows_of_another_file() {
    let encoded = with(|s| s.scale = Scale::None);
    let folder = Folder::new();
    let file = folder.file("t.new.csv", "c,extra,n\nv,1,8\nzzz,2,9\n");
    let table = read_table(&[file], &ReadOptions::default()).unwrap();
    let facts = RowFacts {
        labels: vec![0.0; 2],
        groups: vec![vec![u32::MAX; 2]],
        weights: vec![1.0; 2],
    };
    let (data, unseen) = encoded.encoding.encode(&table, &[0, 1], &facts).unwrap();
    assert_eq!(dense(&data), [[8.0, 0.0, 1.0], [9.0, 0.0, 0.0]]);
    assert_eq!(
        (unseen[0].rows, &unseen[0].categories),
        (1, &names(&["zzz"]))
    );

    let lacking = folder.file("t.lacking.csv", "c\nv\n");
    let table = read_table(&[lacking], &ReadOptions::default()).unwrap();
    assert!(message(encoded.encoding.encode(&table, &[0], &facts)).contains("no column \"n\""));
}

#[test]
fn corrupted_and_newer_encodings_are_rejected() {
    let json = with(|_| ()).encoding.to_json();
    Encoding::from_json(&json).unwrap();
    let rejected = |from: &str, to: &str| message(Encoding::from_json(&json.replacen(from, to, 1)));
    assert!(rejected("\"version\": 1", "\"version\": 2").contains("version 2 is not supported"));
    assert!(rejected("fairfront-encoding", "other").contains("the format is \"other\""));
    assert!(rejected("\"factor\": 1", "\"factor\": -1").contains("is scaled by -1"));
    assert!(rejected("\"numeric\"", "\"numerics\"").contains("unknown field"));
    assert!(message(Encoding::from_json(&json[..json.len() / 2])).contains("not an encoding"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A round trip through JSON is exact for any numbers.
    #[test]
    fn json_round_trip_is_exact(numbers in prop::collection::vec(-1e9..1e9_f64, 3..20)) {
        let row = |i: usize| format!("{},{},{},{}", i % 2, ["a", "b"][i / 2 % 2], numbers[i], ["u", "v é"][i % 2]);
        let csv = csv("y,g,n,c", numbers.len(), row);
        let encoded = Encoded::new(&prepare(&csv, &spec()).unwrap()).unwrap();
        let again = Encoding::from_json(&encoded.encoding.to_json()).unwrap();
        prop_assert_eq!(&again, &encoded.encoding);
    }

    /// Categories do not depend on the order of the rows.
    #[test]
    fn categories_do_not_depend_on_row_order(shift in 0_usize..12) {
        let rows: Vec<String> = (0..12)
            .map(|i| format!("{},{},{},{}\n", i % 2, ["a", "b"][i / 2 % 2], i * i, ["u", "v", "w"][i % 3]))
            .collect();
        let table = |shift: usize| {
            let turned = rows.iter().cycle().skip(shift).take(12).cloned().collect::<String>();
            let mut spec = spec();
            spec.scale = Scale::MinMax;
            Encoded::new(&prepare(&format!("y,g,n,c\n{turned}"), &spec).unwrap()).unwrap()
        };
        let (base, turned) = (table(0), table(shift));
        prop_assert_eq!(base.encoding.schema(), turned.encoding.schema());
        prop_assert_eq!(dense(base.part(Part::Train)), dense(turned.part(Part::Train)));
    }
}

#[test]
fn encoded_rows_keep_the_order_of_the_file_and_have_labels_of_0_and_1() {
    let rows = "y,g,x,part\n0,a,1,test\n1,b,2,train\n0,b,3,validation\n1,a,4,train\n0,a,5,train\n";
    let mut spec = spec();
    spec.split = SplitRule::Column("part".into());
    spec.scale = Scale::None;
    let prepared = prepare(rows, &spec).unwrap();
    let encoded = Encoded::new(&prepared).unwrap();
    let mut written = Vec::new();
    fairfront_data::write_encoded(&prepared, &encoded, &mut written).unwrap();
    let lines = "x,g,label,weight,split\n1,a,0,1,test\n2,b,1,1,train\n3,b,0,1,validation\n\
                 4,a,1,1,train\n5,a,0,1,train\n";
    assert_eq!(String::from_utf8(written).unwrap(), lines);
}
