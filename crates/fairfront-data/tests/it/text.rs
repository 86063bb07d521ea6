//! Any file as CSV text.

use std::io::{Read, Write as _};

use fairfront_data::{
    ColumnType, Encoded, Known, Prepared, RawRecord, ReadOptions, Spec, Table, TextInput, Values,
    first_table, open_text, read_table,
};
use parquet::basic::Compression;

use crate::{Folder, data_folder, message};

fn text(mut input: TextInput) -> String {
    let mut text = String::new();
    input.text.read_to_string(&mut text).unwrap();
    text
}

/// The table of all rows of an input.
fn table(input: TextInput, options: &ReadOptions) -> Table {
    let (name, types) = (input.name.clone(), input.types.clone());
    let mut records = input.records(options);
    let all: Vec<RawRecord> = std::iter::from_fn(|| records.rest().unwrap()).collect();
    let (first, _) = first_table(&name, records.columns(), &all, options, &types).unwrap();
    assert!(first.rejected.is_empty());
    first.table
}

/// Values in a form in which missing numbers are equal.
fn values(table: &Table) -> Vec<String> {
    let columns = table.columns().iter().filter(|c| c.column_type().is_some());
    columns
        .map(|c| match &c.values {
            Values::Numeric(values) => {
                let bits: Vec<u64> = values.iter().map(f64::to_bits).collect();
                format!("{} {bits:?}", c.name)
            }
            other => format!("{} {other:?}", c.name),
        })
        .collect()
}

#[test]
fn csv_is_unchanged_or_decompressed() {
    let folder = Folder::new();
    let csv = "\u{feff}a;b\r\n1;2\r\n";
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(csv.as_bytes()).unwrap();
    let options = ReadOptions::default();
    let plain = open_text(&folder.file("t.csv", csv), &options).unwrap();
    assert!(plain.is_plain && plain.separator.is_none() && plain.types.is_empty());
    assert_eq!(text(plain), csv);
    let packed = open_text(&folder.file("t.csv.gz", packed.finish().unwrap()), &options).unwrap();
    assert!(!packed.is_plain);
    assert_eq!(text(packed), csv);
    assert!(message(open_text("/no/such/file", &options)).contains("no such file"));
}

#[test]
fn corrupted_file_is_an_error_while_it_is_read() {
    let folder = Folder::new();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packed.write_all(&b"a,b\n1,2\n".repeat(20_000)).unwrap();
    let packed = packed.finish().unwrap();
    let path = folder.file("t.csv.gz", &packed[..packed.len() / 2]);
    let options = ReadOptions::default();
    let mut records = open_text(&path, &options).unwrap().records(&options);
    let error = loop {
        match records.rest() {
            Ok(Some(_)) => {}
            other => break message(other),
        }
    };
    assert!(error.contains("ends unexpectedly"), "{error}");
    let whole = crate::parquet::file(Compression::SNAPPY);
    let path = folder.file("t.parquet", &whole[..whole.len() - 5]);
    assert!(message(open_text(&path, &options)).contains("truncated or corrupted"));
}

#[test]
fn parquet_becomes_text() {
    let folder = Folder::new();
    let path = folder.file("t.parquet", crate::parquet::file(Compression::SNAPPY));
    let options = ReadOptions::default();
    let open = |options: &ReadOptions| open_text(&path, options).unwrap();
    let expected = "whole,number,flag,text,day,money,big\n\
                    0,0.5,true,\"é, x\",1970-01-01,0,1\n\
                    1,,false,?,1970-01-02,0.01,2\n\
                    -2,,true,,1969-12-30,-0.02,18446744073709551615\n\
                    3,0.5,true,\"é, x\",1970-01-04,0.03,1\n\
                    4,,false,?,1970-01-05,0.04,2\n\
                    -5,,true,,1969-12-27,-0.05,18446744073709551615\n";
    assert_eq!(text(open(&options)), expected);
    let input = open(&options);
    assert_eq!((input.separator, input.is_plain), (Some(b','), false));
    assert_eq!(input.types["text"], ColumnType::Categorical);
    assert_eq!(input.types["money"], ColumnType::Numeric);
    assert_eq!(input.types["flag"], ColumnType::Boolean);
    assert_eq!(input.types["day"], ColumnType::Date);
    let whole = read_table(std::slice::from_ref(&path), &options).unwrap();
    assert_eq!(values(&table(input, &options)), values(&whole));
    // The layout options for CSV files do not apply here, but types do.
    let options = ReadOptions {
        header: false,
        separator: Some(b';'),
        types: [("whole".to_owned(), ColumnType::Categorical)].into(),
        skip: ["number".to_owned()].into(),
        ..ReadOptions::default()
    };
    let whole = read_table(std::slice::from_ref(&path), &options).unwrap();
    assert_eq!(values(&table(open(&options), &options)), values(&whole));
}

#[cfg(unix)]
#[test]
fn parquet_from_a_pipe_is_rejected() {
    let folder = Folder::new();
    let open = |name: &str, bytes: Vec<u8>| {
        let path = folder.0.path().join(name).display().to_string();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let to = path.clone();
        // A reader may stop before the end.
        let writer = std::thread::spawn(move || drop(std::fs::write(to, bytes)));
        let opened = open_text(&path, &ReadOptions::default());
        (opened.map(|input| (input.is_plain, text(input))), writer)
    };
    let (found, writer) = open("t.csv", b"a,b\n1,2\n".to_vec());
    writer.join().unwrap();
    assert_eq!(found.unwrap(), (false, "a,b\n1,2\n".to_owned()));
    let (found, writer) = open("t.parquet", crate::parquet::file(Compression::SNAPPY));
    writer.join().unwrap();
    assert!(message(found).contains("write it to a file first"));
}

/// Checks that a known data set as text has the same rows and encoding as the data set.
fn check_known(name: &str, folder: Option<&std::path::Path>) {
    let known = Known::parse(name).unwrap().unwrap();
    let spec: Spec = known.spec();
    let expected = Prepared::from_known(&known, &spec, folder).unwrap();
    let input = known.open_text(&spec, folder).unwrap();
    assert_eq!(input.name, name);
    let options = spec.read_options(ReadOptions::default());
    let found = Prepared::new(table(input, &options), &spec, &[]).unwrap();
    assert_eq!(found.n_rows(), expected.n_rows());
    assert_eq!(found.labels, expected.labels);
    assert_eq!(found.groups, expected.groups);
    assert_eq!(found.split, expected.split);
    let json = |p: &Prepared| Encoded::new(p).unwrap().encoding.to_json();
    assert_eq!(json(&found), json(&expected));
}

#[test]
fn generated_data_sets_become_text() {
    check_known("demo(rows=3000)", None);
    check_known("synthetic:2(rows=5000)", None);
}

#[test]
fn published_data_sets_become_text() {
    if let Some(folder) = data_folder("published_data_sets_become_text") {
        check_known("adult:sex", Some(&folder));
        check_known("compas:race", Some(&folder));
    }
}
