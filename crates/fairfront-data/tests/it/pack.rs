//! Packs tables into block files through the public interface of the library.

use std::path::Path;
use std::sync::Arc;

use fairfront_core::RowBlock;
use fairfront_data::{
    Error, Input, PackStage, PackSummary, Part, Prepared, ReadOptions, Spec, pack_files,
};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::{Folder, csv, data_folder, message, names, spec};

fn pack(
    folder: &Folder,
    files: &[String],
    spec: &Spec,
    options: &ReadOptions,
) -> Result<PackSummary, Error> {
    let work = folder.0.path();
    let out = work.join("rows.ffb");
    pack_files(files, spec, options.clone(), &out, work, &mut |_| {})
}

fn open(folder: &Folder) -> Result<Input, Error> {
    Input::open(&folder.0.path().join("rows.ffb"))
}

fn blocks(input: &Input, part: Part) -> Vec<Arc<RowBlock>> {
    let blocks = input.encoded.part(part).blocks();
    blocks.collect::<Result<_, _>>().unwrap()
}

/// Packs a table, and compares the file with the table in memory.
fn same(folder: &Folder, files: &[String], spec: &Spec, options: &ReadOptions) -> PackSummary {
    let prepared = Prepared::from_files(files, spec, options.clone()).unwrap();
    let expected = Input::of(&prepared, true).unwrap();
    let summary = pack(folder, files, spec, options).unwrap();
    let found = open(folder).unwrap();
    assert_eq!(expected.encoded.encoding, found.encoded.encoding);
    assert_eq!(expected.facts, found.facts);
    assert_eq!(expected.findings, found.findings);
    assert_eq!(expected.encoded.diagnostics, found.encoded.diagnostics);
    for part in Part::ALL {
        assert!(blocks(&expected, part) == blocks(&found, part), "{part:?}");
    }
    assert_eq!(
        expected.encoded.fingerprints().unwrap(),
        found.encoded.fingerprints().unwrap()
    );
    assert_eq!(summary.diagnostics, found.facts.diagnostics);
    summary
}

/// A Parquet file with several row groups.
fn parquet(path: &Path, groups: usize, rows: usize) {
    let schema = "message t {
        required boolean y;
        optional byte_array g (UTF8);
        required int32 n;
        optional double x;
        required int32 day (DATE);
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    for group in 0..groups {
        let first = group * rows;
        let all = first..first + rows;
        let present: Vec<i16> = all.clone().map(|i| i16::from(i % 7 != 0)).collect();
        let mut next = writer.next_row_group().unwrap();
        let mut n_int = 0;
        while let Some(mut column) = next.next_column().unwrap() {
            let some = all.clone().filter(|i| i % 7 != 0);
            match column.untyped() {
                ColumnWriter::BoolColumnWriter(w) => {
                    let values: Vec<bool> = all.clone().map(|i| i % 3 == 0).collect();
                    w.write_batch(&values, None, None)
                }
                ColumnWriter::ByteArrayColumnWriter(w) => {
                    let values: Vec<ByteArray> = some
                        .map(|i| ByteArray::from(["a", "b"][i / 2 % 2]))
                        .collect();
                    w.write_batch(&values, Some(&present), None)
                }
                ColumnWriter::Int32ColumnWriter(w) => {
                    n_int += 1;
                    let values: Vec<i32> = match n_int {
                        1 => all.clone().map(|i| (i * 31 % 1_000) as i32).collect(),
                        _ => all.clone().map(|i| 15_000 + (i % 900) as i32).collect(),
                    };
                    w.write_batch(&values, None, None)
                }
                ColumnWriter::DoubleColumnWriter(w) => {
                    let values: Vec<f64> = some.map(|i| (i as f64).sin()).collect();
                    w.write_batch(&values, Some(&present), None)
                }
                _ => unreachable!("the schema has no other types"),
            }
            .unwrap();
            column.close().unwrap();
        }
        next.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn parquet_files_of_several_chunks_are_packed() {
    let folder = Folder::new();
    let path = folder.0.path().join("t.parquet");
    parquet(&path, 3, 50_000);
    let spec = Spec {
        positive: Some("true".into()),
        date_parts: names(&["day"]),
        split: fairfront_data::SplitRule::default(),
        ..spec()
    };
    let files = [path.display().to_string()];
    let summary = same(&folder, &files, &spec, &ReadOptions::default());
    assert_eq!(summary.rows_read, 150_000);
    // 2 bytes for each integer and for each date, 8 for the double, 1 for weekday, month, label and group.
    assert_eq!(summary.row_bytes, 16);
}

#[test]
fn text_of_several_chunks_is_packed() {
    let folder = Folder::new();
    let text = csv("y,g,n,job,late", 140_000, |i| {
        let late = if i > 100_000 { "3.25" } else { "" };
        let n = (i * 7919) % 1_000_003;
        format!("{},{},{n}.5,{},{late}", i % 2, ["a", "b"][i / 2 % 2], i % 9)
    });
    let files = [folder.file("t.csv", text)];
    let mut stages = Vec::new();
    same(&folder, &files, &spec(), &ReadOptions::default());
    let work = folder.0.path();
    let out = work.join("rows.ffb");
    let options = ReadOptions::default();
    pack_files(&files, &spec(), options, &out, work, &mut |progress| {
        assert!(progress.done <= progress.total);
        stages.push(progress.stage);
    })
    .unwrap();
    stages.dedup();
    assert_eq!(
        stages,
        [
            PackStage::Reading,
            PackStage::Rows,
            PackStage::Training,
            PackStage::Scales,
            PackStage::Encoding,
            PackStage::Writing
        ]
    );
}

#[test]
fn other_forms_of_values_are_packed() {
    let folder = Folder::new();
    let text = csv("y;g;n;m;k", 30_000, |i| {
        let n = if i % 11 == 3 {
            "-999,0".into()
        } else {
            format!("{},5", i % 77)
        };
        let m = if i % 5 == 0 {
            "-999".into()
        } else {
            (i % 900).to_string()
        };
        format!("{};{};{n};{m};{i}", i % 2, ["a", "b"][i / 2 % 2])
    });
    let files = [folder.file("a.csv", &text), folder.file("b.csv", &text)];
    let mut options = ReadOptions::default();
    options.missing_values.push("-999".into());
    let spec = Spec {
        drop: names(&["k"]),
        ..spec()
    };
    same(&folder, &files, &spec, &options);
    let found = open(&folder).unwrap().encoded.encoding;
    assert!(found.numeric.iter().all(|rule| rule.indicator));
    assert_eq!(found.numeric.len(), 2);
}

#[test]
fn wide_tables_have_smaller_chunks() {
    let folder = Folder::new();
    let columns: Vec<String> = (0..2_100).map(|i| format!("c{i}")).collect();
    let text = csv(&format!("y,g,{}", columns.join(",")), 2_500, |i| {
        let numbers: Vec<String> = (0..2_100).map(|c| ((i * 7 + c) % 13).to_string()).collect();
        format!("{},{},{}", i % 2, ["a", "b"][i / 2 % 2], numbers.join(","))
    });
    let files = [folder.file("t.csv", text)];
    same(&folder, &files, &spec(), &ReadOptions::default());
}

#[test]
fn errors_are_those_of_the_table() {
    let folder = Folder::new();
    let options = ReadOptions::default();
    let files = [folder.file("t.csv", "y,g,x\n1,a,1\n0,b,2\n1,a\n")];
    let packed = message(pack(&folder, &files, &spec(), &options));
    let read = message(Prepared::from_files(&files, &spec(), options.clone()));
    assert_eq!(packed, read);
    assert!(message(pack(&folder, &[], &spec(), &options)).contains("at least one file"));
    let missing = message(open(&folder));
    assert!(missing.contains("rows.ffb"), "{missing}");
    assert!(!Input::is_block_file(Path::new(&files[0])));
}

#[test]
fn adult_is_packed() {
    let Some(data) = data_folder("adult_is_packed") else {
        return;
    };
    let folder = Folder::new();
    let files = [data.join("adult.data").display().to_string()];
    let columns = "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,\
                   race,sex,capital-gain,capital-loss,hours-per-week,native-country,income";
    let options = ReadOptions {
        header: false,
        columns: Some(columns.split(',').map(Into::into).collect()),
        ..ReadOptions::default()
    };
    let spec = Spec {
        target: Some("income".into()),
        positive: Some(">50K".into()),
        sensitive: vec![names(&["sex"]), names(&["race"]), names(&["sex", "race"])],
        ..Spec::default()
    };
    let summary = same(&folder, &files, &spec, &options);
    assert!(summary.row_bytes <= 20, "{}", summary.row_bytes);
}
