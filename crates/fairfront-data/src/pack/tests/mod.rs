//! A packed table gives the same bytes as the table in memory.

mod damage;

use std::fmt::Write as _;
use std::path::Path;

use fairfront_core::{Dataset, Purpose, Stream};
use proptest::prelude::*;
use tempfile::TempDir;

use super::packer::pack_files_with;
use super::writer::Place;
use super::{HeadCheck, Limits, PackSummary, Packer};
use crate::{
    Column, Error, Input, Merge, MinGroup, MissingPolicy, MissingSensitive, Part, Prepared,
    ReadOptions, Scale, Spec, SplitRule, Table, read_table,
};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn limits(chunk_rows: usize) -> Limits {
    Limits {
        chunk_rows,
        // One block per bucket.
        bucket_bytes: 1,
        ..Limits::default()
    }
}

/// Rows with every type of column; `y` is the target.
fn text(n: usize, seed: u64) -> String {
    let mut random = Stream::new(seed, Purpose::Synthetic, [9, 0]);
    let mut text = String::from("id,y,g,h,age,x,sparse,job,flag,when,w,part,same,code\n");
    for i in 0..n {
        let mut pick = |options: &[&str]| options[random.below(options.len())].to_owned();
        let y = pick(&["1", "0", "0"]);
        let g = pick(&["a", "b", "b", "b", "a:c", ""]);
        let h = pick(&["2", "10", "10", "?"]);
        let job = pick(&["nurse", "clerk", "clerk", "clerk", "cook", ""]);
        let flag = pick(&["yes", "no"]);
        let part = pick(&["train", "train", "train", "validation", "test", "certify"]);
        let code = pick(&["3", "5", "9"]);
        let same = if random.chance(0.02) { "rare" } else { "v" };
        let job = if random.chance(0.01) {
            format!("job{i}")
        } else {
            job
        };
        let age = 18 + random.below(60);
        let x = random.normal() * if seed.is_multiple_of(2) { 1.0 } else { 1e6 };
        let sparse = match random.below(4) {
            0 => String::new(),
            1 => "-0".into(),
            _ => format!("{}.5", random.below(9)),
        };
        let when = format!(
            "20{:02}-{:02}-{:02}",
            10 + random.below(9),
            1 + random.below(12),
            1 + random.below(28)
        );
        let when = if random.chance(0.1) {
            String::new()
        } else {
            when
        };
        let w = random.below(4) as f64 / 2.0 + 0.25;
        let _ = writeln!(
            text,
            "{},{y},{g},{h},{age},{x},{sparse},{job},{flag},{when},{w},{part},{same},{code}",
            i + 1
        );
    }
    text
}

fn spec() -> Spec {
    Spec {
        target: Some("y".into()),
        positive: Some("1".into()),
        sensitive: vec![names(&["g"])],
        drop: names(&["part", "w"]),
        ..Spec::default()
    }
}

/// A spec that chooses among many settings.
fn random_spec(seed: u64) -> Spec {
    let mut random = Stream::new(seed, Purpose::Synthetic, [10, 0]);
    let mut chance = |share: f64| random.chance(share);
    let mut spec = spec();
    spec.seed = seed;
    if chance(0.5) {
        spec.sensitive.push(names(&["h"]));
        spec.sensitive.push(names(&["g", "h"]));
    }
    if chance(0.3) {
        spec.sensitive.push(names(&["age"]));
        spec.bins.insert("age".into(), vec![30.0, 50.0]);
    }
    if chance(0.3) {
        let merge = Merge {
            categories: [("10".to_owned(), "2".to_owned()), ("zz".into(), "b".into())].into(),
            rest: None,
        };
        let column = if spec.sensitive.len() > 1 { "h" } else { "job" };
        spec.merges.insert(column.into(), merge);
    }
    if chance(0.3) {
        spec.references.insert("g".into(), "a".into());
    }
    if chance(0.4) {
        spec.weight = Some("w".into());
        spec.drop.retain(|column| column != "w");
    }
    if chance(0.4) {
        spec.split = SplitRule::Column("part".into());
        spec.drop.retain(|column| column != "part");
    } else if chance(0.3) {
        spec.split = SplitRule::None;
    } else if chance(0.5) {
        spec.split = SplitRule::Shares([50.0, 10.0, 20.0, 20.0]);
    }
    spec.missing = match (chance(0.5), chance(0.5)) {
        (true, true) => MissingPolicy::Drop,
        _ => MissingPolicy::Keep,
    };
    if chance(0.3) {
        let policy = MissingPolicy::Drop;
        spec.missing_by_column.insert("sparse".into(), policy);
    }
    spec.missing_sensitive = match (chance(0.5), chance(0.5)) {
        (true, true) => MissingSensitive::Drop,
        (true, false) => MissingSensitive::Group,
        _ => MissingSensitive::LossOnly,
    };
    spec.scale = match (chance(0.5), chance(0.5)) {
        (true, true) => Scale::MinMax,
        (true, false) => Scale::None,
        _ => Scale::Standard,
    };
    spec.pool_rare = if chance(0.5) { 5 } else { 0 };
    spec.pool_groups = if chance(0.3) { 12 } else { 0 };
    spec.min_group = MinGroup(if chance(0.5) { 5 } else { 30 });
    spec.use_sensitive = chance(0.3);
    if chance(0.4) {
        spec.date_parts = names(&["when"]);
    }
    if chance(0.2) {
        spec.target = Some("x".into());
        spec.positive = Some("> median".into());
    }
    if chance(0.25) {
        // A number, found by its type or declared.
        spec.target = Some(if chance(0.5) { "sparse" } else { "x" }.into());
        (spec.positive, spec.numeric) = (None, chance(0.5));
        spec.missing_by_column.clear();
    }
    if chance(0.25) {
        // Classes, with an order or without one.
        spec.target = Some("code".into());
        (spec.positive, spec.numeric, spec.classes) = (None, false, true);
        if chance(0.5) {
            spec.order = names(&["9", "3", "5"]);
        }
        spec.missing_by_column.clear();
    }
    spec
}

fn write(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn pack(
    files: &[String],
    spec: &Spec,
    folder: &Path,
    limits: &Limits,
) -> Result<PackSummary, Error> {
    let out = folder.join("rows.ffb");
    let options = ReadOptions::default();
    let place = (Place::File(&out), folder);
    let limits: (&Limits, HeadCheck<'_>) = (limits, &|_| Ok(()));
    Ok(pack_files_with(files, spec, options, place, limits, &mut |_| {})?.0)
}

/// The bits of all numbers of a block, since numbers compare equal although they differ in sign.
fn bits(data: &Dataset) -> Vec<u64> {
    let mut bits = Vec::new();
    for block in data.blocks() {
        let block = block.unwrap();
        for row in 0..block.n_rows() {
            bits.extend(block.numeric(row).iter().map(|v| v.to_bits()));
            bits.extend(block.codes(row).iter().map(|v| u64::from(*v)));
        }
        bits.extend(block.labels().iter().map(|v| v.to_bits()));
        bits.extend(block.weights().iter().map(|v| v.to_bits()));
        for attribute in 0..data.schema().attributes.len() {
            bits.extend(block.groups(attribute).iter().map(|v| u64::from(*v)));
        }
    }
    bits
}

fn assert_same(expected: &Input, found: &Input) {
    let json = |input: &Input| input.encoded.encoding.to_json();
    assert_eq!(json(expected), json(found));
    assert_eq!(expected.facts, found.facts);
    assert_eq!(expected.findings, found.findings);
    assert_eq!(expected.encoded.diagnostics, found.encoded.diagnostics);
    for part in Part::ALL {
        let (a, b) = (expected.encoded.part(part), found.encoded.part(part));
        assert_eq!(a.n_rows(), b.n_rows());
        assert_eq!(a.schema(), b.schema());
        assert!(bits(a) == bits(b), "the {} rows differ", part.name());
    }
    assert_eq!(
        expected.encoded.fingerprints().unwrap(),
        found.encoded.fingerprints().unwrap()
    );
}

/// Compares a packed table with the table in memory, also if it cannot be used.
fn compare(files: &[String], spec: &Spec, folder: &Path, limits: &Limits) -> bool {
    let prepared = Prepared::from_files(files, spec, ReadOptions::default());
    let expected = prepared.and_then(|prepared| Input::of(&prepared, true));
    let packed = pack(files, spec, folder, limits);
    let found = packed.and_then(|_| Input::open(&folder.join("rows.ffb")));
    match (expected, found) {
        (Ok(expected), Ok(found)) => {
            assert_same(&expected, &found);
            true
        }
        (Err(expected), Err(found)) => {
            assert_eq!(expected.to_string(), found.to_string());
            false
        }
        (expected, found) => panic!("{:?} / {:?}", expected.err(), found.err()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn packed_rows_are_the_same(seed in 0_u64..10_000, n in 1_usize..700, chunk in 1_usize..300) {
        let folder = TempDir::new().unwrap();
        let files = [write(&folder, "t.csv", &text(n, seed))];
        compare(&files, &random_spec(seed), folder.path(), &limits(chunk));
    }
}

#[test]
fn most_random_tables_can_be_used() {
    let folder = TempDir::new().unwrap();
    let used = (0..20).filter(|seed| {
        let files = [write(&folder, "t.csv", &text(2_500, *seed))];
        compare(&files, &random_spec(*seed), folder.path(), &limits(1_000))
    });
    assert!(used.count() > 12);
}

#[test]
fn several_files_are_packed_after_types_are_known() {
    let folder = TempDir::new().unwrap();
    let files = [
        write(&folder, "a.csv", &text(13_000, 1)),
        write(&folder, "b.csv", &text(3_000, 2)),
    ];
    for chunk in [700, 20_000] {
        assert!(compare(&files, &spec(), folder.path(), &limits(chunk)));
    }
}

#[test]
fn index_of_pandas_and_identifiers_are_left_out() {
    let folder = TempDir::new().unwrap();
    let rows = |n: usize| -> String {
        let mut text = String::from(",y,g,key,ref,empty,late\n");
        for i in 0..n {
            let late = if i > 11_000 { "1.5" } else { "" };
            let _ = writeln!(
                text,
                "{i},{},{},k{i},{},,{late}",
                i % 2,
                ["a", "b", "c"][i % 3],
                i * 7919 % 100_003
            );
        }
        text
    };
    let files = [
        write(&folder, "a.csv", &rows(12_000)),
        write(&folder, "b.csv", &rows(40)),
    ];
    let spec = Spec {
        drop: Vec::new(),
        ..spec()
    };
    assert!(compare(&files, &spec, folder.path(), &limits(512)));
    assert!(compare(&files[..1], &spec, folder.path(), &limits(5_000)));
}

#[test]
fn many_categories_and_groups_are_packed() {
    let folder = TempDir::new().unwrap();
    let mut text = String::from("y,g,job,x\n");
    for i in 0..6_000_usize {
        let x = (i as f64).sqrt();
        let _ = writeln!(text, "{},g{},j{},{x}", i % 2, i * 7 % 300, i * 31 % 611);
    }
    let files = [write(&folder, "t.csv", &text)];
    let mut spec = Spec {
        drop: Vec::new(),
        pool_rare: 2,
        ..spec()
    };
    assert!(compare(&files, &spec, folder.path(), &limits(999)));
    spec.use_sensitive = true;
    spec.pool_groups = 13;
    spec.types
        .insert("g".into(), crate::ColumnType::Categorical);
    assert!(compare(&files, &spec, folder.path(), &limits(999)));
}

#[test]
fn numbers_to_predict_are_packed() {
    let folder = TempDir::new().unwrap();
    let files = [write(&folder, "t.csv", &text(3_000, 5))];
    for (target, numeric) in [("sparse", false), ("x", true), ("age", false), ("y", true)] {
        let spec = Spec {
            target: Some(target.into()),
            positive: None,
            numeric,
            weight: Some("w".into()),
            drop: names(&["part"]),
            ..spec()
        };
        for chunk in [1, 700, 5_000] {
            let limits = limits(chunk);
            assert!(compare(&files, &spec, folder.path(), &limits), "{target}");
        }
        let input = Input::open(&folder.path().join("rows.ffb")).unwrap();
        assert!(!input.encoded.part(Part::Train).schema().target.is_binary());
    }
}

#[test]
fn classes_are_packed() {
    let folder = TempDir::new().unwrap();
    let files = [write(&folder, "t.csv", &text(3_000, 5))];
    for (target, order) in [
        ("code", vec![]),
        ("code", names(&["9", "3", "5"])),
        ("h", vec![]),
    ] {
        let spec = Spec {
            target: Some(target.into()),
            positive: None,
            classes: true,
            order,
            weight: Some("w".into()),
            drop: names(&["part"]),
            merges: [(
                "h".to_owned(),
                Merge {
                    categories: [("?".to_owned(), "other".to_owned())].into(),
                    rest: None,
                },
            )]
            .into(),
            ..spec()
        };
        for chunk in [1, 700, 5_000] {
            let is_used = compare(&files, &spec, folder.path(), &limits(chunk));
            assert!(is_used, "{target}");
        }
        let input = Input::open(&folder.path().join("rows.ffb")).unwrap();
        let is_binary = input.encoded.part(Part::Train).schema().target.is_binary();
        // The missing values of `h` leave two.
        assert_eq!(is_binary, target == "h");
    }
    // The same errors as in memory.
    for change in [
        |spec: &mut Spec| spec.order = names(&["3", "5", "7"]),
        |spec: &mut Spec| spec.target = Some("id".into()),
        |spec: &mut Spec| spec.target = Some("job".into()),
    ] {
        let mut spec = Spec {
            target: Some("code".into()),
            positive: None,
            classes: true,
            ..spec()
        };
        change(&mut spec);
        assert!(!compare(&files, &spec, folder.path(), &limits(700)));
    }
}

#[test]
fn few_numbers_in_each_chunk_may_be_many() {
    let folder = TempDir::new().unwrap();
    let table = |values: [&str; 3]| {
        let mut text = String::from("y,g,x\n");
        for i in 0..900 {
            let _ = writeln!(text, "{},{},{i}.5", values[i / 300], ["a", "b"][i % 2]);
        }
        text
    };
    let spec = Spec {
        positive: None,
        drop: Vec::new(),
        ..spec()
    };
    for (values, is_number) in [(["1", "2", "3"], true), (["1", "1.0", "0"], false)] {
        let files = [write(&folder, "t.csv", &table(values))];
        for chunk in [100, 300, 450] {
            let limits = limits(chunk);
            let is_used = compare(&files, &spec, folder.path(), &limits);
            // Two spellings of a number are different values.
            assert_eq!(is_used, is_number);
        }
    }
}

#[test]
fn wrong_numbers_to_predict_have_the_same_errors() {
    let folder = TempDir::new().unwrap();
    let table = |value: &str, others: &str| {
        let mut text = String::from("y,g,x,part\n");
        for i in 0..300 {
            let y = if i == 222 {
                value.into()
            } else {
                others.replace('#', &i.to_string())
            };
            let part = if i < 100 { "train" } else { "test" };
            let _ = writeln!(text, "{y},{},{i}.5,{part}", ["a", "b"][i / 3 % 2]);
        }
        text
    };
    for (value, others) in [
        ("1e60", "#"),
        ("abc", "#"),
        ("9", "5"),
        ("1", "#e-90"),
        ("1", "#e-120"),
    ] {
        let files = [write(&folder, "t.csv", &table(value, others))];
        let spec = Spec {
            positive: None,
            numeric: true,
            split: SplitRule::Column("part".into()),
            drop: Vec::new(),
            ..spec()
        };
        let limits = limits(50);
        assert!(!compare(&files, &spec, folder.path(), &limits), "{value}");
    }
}

#[test]
fn wrong_values_have_the_same_errors() {
    let folder = TempDir::new().unwrap();
    let table = |column: &str, value: &str| {
        let mut text = String::from("y,g,x,w,part\n");
        for i in 0..300 {
            let or = |name: &str, own: String| match name == column && i == 222 {
                true => value.to_owned(),
                false => own,
            };
            let _ = writeln!(
                text,
                "{},{},{},{},{}",
                i % 2,
                ["a", "b"][i / 3 % 2],
                or("x", i.to_string()),
                or("w", "1".into()),
                or("part", "train".into())
            );
        }
        text
    };
    for (column, value) in [
        ("x", "1e60"),
        ("x", "abc"),
        ("w", "-1"),
        ("w", ""),
        ("part", "dev"),
        ("part", ""),
    ] {
        let files = [write(&folder, "t.csv", &table(column, value))];
        let spec = Spec {
            weight: Some("w".into()),
            split: SplitRule::Column("part".into()),
            drop: Vec::new(),
            ..spec()
        };
        assert!(
            !compare(&files, &spec, folder.path(), &limits(50)),
            "{column}"
        );
    }
    let files = [write(&folder, "t.csv", &table("", ""))];
    for change in [
        |spec: &mut Spec| spec.target = Some("nothing".into()),
        |spec: &mut Spec| spec.positive = Some("7".into()),
        |spec: &mut Spec| spec.sensitive = vec![names(&["part"])],
        |spec: &mut Spec| spec.date_parts = names(&["x"]),
        |spec: &mut Spec| spec.pool_groups = 1_000,
        |spec: &mut Spec| spec.weight = Some("g".into()),
    ] {
        let mut spec = Spec {
            drop: Vec::new(),
            ..spec()
        };
        change(&mut spec);
        assert!(
            !compare(&files, &spec, folder.path(), &limits(50)),
            "{spec:?}"
        );
    }
}

#[test]
fn unsupported_settings_are_rejected() {
    let folder = TempDir::new().unwrap();
    let files = [write(&folder, "t.csv", &text(50, 1))];
    let refused = |spec: Spec| {
        let said = pack(&files, &spec, folder.path(), &limits(9)).unwrap_err();
        said.to_string()
    };
    let said = refused(Spec {
        balance: Some(names(&["g"])),
        ..spec()
    });
    assert!(
        said.starts_with("balance needs all rows in memory"),
        "{said}"
    );
    let said = refused(Spec {
        marks: names(&["x"]),
        ..spec()
    });
    assert!(said.starts_with("mark needs all rows in memory"), "{said}");
    let said = refused(Spec {
        target: None,
        positive: None,
        ..spec()
    });
    assert!(said.starts_with("no target column is set"), "{said}");
}

#[test]
fn batches_of_tables_are_packed() {
    let folder = TempDir::new().unwrap();
    let file = write(&folder, "t.csv", &text(900, 4));
    let spec = Spec {
        date_parts: names(&["when"]),
        ..spec()
    };
    let options = spec.read_options(ReadOptions::default());
    let whole = read_table(&[file], &options).unwrap();
    let whole = Table::from_columns("t", whole.columns().to_vec());
    let expected = Prepared::new(whole.clone(), &spec, &[]).unwrap();
    let expected = Input::of(&expected, true).unwrap();
    for (batch, chunk) in [(100, 64), (333, 1_000)] {
        let options = ReadOptions::default();
        let mut packer =
            Packer::with_limits(&spec, &options, folder.path(), limits(chunk)).unwrap();
        let rows: Vec<usize> = (0..900).collect();
        for rows in rows.chunks(batch) {
            packer.push(&whole.select(rows)).unwrap();
        }
        let out = folder.path().join("batches.ffb");
        let summary = packer.finish(&out, &mut |_| {}).unwrap();
        assert_eq!(summary.rows_read, 900);
        assert_same(&expected, &Input::open(&out).unwrap());
    }
    let options = ReadOptions::default();
    let mut packer = Packer::new(&spec, &options, folder.path()).unwrap();
    let numbers = |name: &str| Column::from_numbers(name, vec![1.0]);
    let strings = Column::from_strings("a", [Some("x")]);
    packer
        .push(&Table::from_columns("t", vec![numbers("a")]))
        .unwrap();
    for columns in [vec![], vec![numbers("b")], vec![strings]] {
        let said = packer.push(&Table::from_columns("t", columns)).unwrap_err();
        let said = said.to_string();
        assert!(said.contains("the batch from row 2"), "{said}");
    }
    let empty = Packer::new(&spec, &options, folder.path()).unwrap();
    assert!(
        empty
            .finish(&folder.path().join("no.ffb"), &mut |_| {})
            .is_err()
    );
}
