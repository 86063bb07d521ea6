//! Parquet files written by the `parquet` crate; the Python tests cover other writers.

use std::sync::Arc;

use fairfront_data::{
    ColumnType, Error, LeftOut, ReadOptions, Reading, Table, Values, Wanted, read_batches,
};
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use crate::{message, read, read_with};

const SCHEMA: &str = "message t {
    required int32 whole;
    optional double number;
    required boolean flag;
    optional byte_array text (UTF8);
    required int32 day (DATE);
    required int32 money (DECIMAL(9, 2));
    required int64 big (INTEGER(64, false));
}";

/// Two row groups of three rows.
pub(super) fn file(compression: Compression) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    for group in 0..2_i32 {
        let mut rows = writer.next_row_group().unwrap();
        let first = 3 * group;
        while let Some(mut column) = rows.next_column().unwrap() {
            match column.untyped() {
                ColumnWriter::Int32ColumnWriter(w) => {
                    w.write_batch(&[first, first + 1, -first - 2], None, None)
                }
                ColumnWriter::Int64ColumnWriter(w) => w.write_batch(&[1, 2, -1], None, None),
                ColumnWriter::DoubleColumnWriter(w) => {
                    w.write_batch(&[0.5, f64::NAN], Some(&[1, 0, 1]), None)
                }
                ColumnWriter::BoolColumnWriter(w) => {
                    w.write_batch(&[true, false, true], None, None)
                }
                ColumnWriter::ByteArrayColumnWriter(w) => w.write_batch(
                    &[ByteArray::from("é, x"), ByteArray::from("?")],
                    Some(&[1, 1, 0]),
                    None,
                ),
                _ => unreachable!("the schema has no other types"),
            }
            .unwrap();
            column.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    let column = table.column(name).unwrap();
    column.numeric().unwrap().iter().collect()
}

/// The strings of a column without annotation, passed on unchanged.
fn kept(strings: &[&[u8]]) -> Result<Vec<String>, Error> {
    let schema = "message t { optional byte_array id; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    let ColumnWriter::ByteArrayColumnWriter(w) = column.untyped() else {
        unreachable!("the schema has no other types");
    };
    let values: Vec<ByteArray> = strings.iter().map(|t| t.to_vec().into()).collect();
    let levels: Vec<i16> = strings.iter().map(|_| 1).chain([0]).collect();
    w.write_batch(&values, Some(&levels), None).unwrap();
    column.close().unwrap();
    rows.close().unwrap();
    writer.close().unwrap();
    let wanted = Wanted {
        reading: Reading::default(),
        columns: Vec::new(),
        kept: vec!["id".into()],
        rows: 2,
    };
    let mut found = Vec::new();
    read_batches(
        &file.path().display().to_string(),
        &wanted,
        |batch| Ok::<_, Error>(batch.kept[0].iter().map(Into::into).collect::<Vec<_>>()),
        |strings: Vec<String>| {
            found.extend(strings);
            Ok(())
        },
    )?;
    Ok(found)
}

#[test]
fn kept_strings_stay_unchanged_or_are_rejected() {
    let strings = ["NA", "?", " a ", "", "007"];
    let found = kept(&strings.map(str::as_bytes)).unwrap();
    assert_eq!(found, ["NA", "?", " a ", "", "007", ""]);
    let said = message(kept(&[b"a", b"b", b"c", b"\xff\xfe"]));
    assert!(
        said.contains("column \"id\"") && said.contains("bytes that are not text"),
        "{said}"
    );
}

#[test]
fn every_codec_gives_the_same_table() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4_RAW,
    ] {
        let table = read(file(compression)).unwrap();
        assert_eq!(table.n_rows(), 6);
        assert_eq!(numbers(&table, "whole"), [0.0, 1.0, -2.0, 3.0, 4.0, -5.0]);
        assert_eq!(
            numbers(&table, "money"),
            [0.0, 0.01, -0.02, 0.03, 0.04, -0.05]
        );
        assert_eq!(numbers(&table, "big")[2], 18_446_744_073_709_551_615.0);
        let number = table.column("number").unwrap();
        assert_eq!((number.n_missing, numbers(&table, "number")[0]), (4, 0.5));
        let text = table.column("text").unwrap();
        // A null and a `?` in each row group.
        assert_eq!(
            (text.n_missing, text.categorical().unwrap().1.len()),
            (4, 1)
        );
        let flag = table.column("flag").unwrap();
        assert_eq!(flag.column_type(), Some(ColumnType::Boolean));
        let day = table.column("day").unwrap();
        assert_eq!(day.column_type(), Some(ColumnType::Date));
        assert_eq!(numbers(&table, "day"), [0.0, 1.0, -2.0, 3.0, 4.0, -5.0]);
    }
}

#[test]
fn types_and_selection_reach_parquet() {
    let options = ReadOptions {
        types: [("whole".to_owned(), ColumnType::Categorical)].into(),
        only: Some(["whole".to_owned()].into()),
        ..ReadOptions::default()
    };
    let table = read_with(file(Compression::SNAPPY), &options).unwrap();
    let (_, categories) = table.column("whole").unwrap().categorical().unwrap();
    assert_eq!(categories, ["0", "1", "-2", "3", "4", "-5"]);
    assert_eq!(
        table.column("number").unwrap().values,
        Values::LeftOut(LeftOut::NotRead)
    );
}

#[test]
fn truncated_file_is_rejected() {
    let whole = file(Compression::SNAPPY);
    for n in [5, 100, whole.len() / 2, whole.len() - 1] {
        let text = message(read(&whole[..n]));
        assert!(
            text.contains("the Parquet file is truncated or corrupted"),
            "{text}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn corrupted_bytes_never_panic(at in 0_usize..10_000, bit in 0_u8..8, more in prop::collection::vec((0_usize..10_000, any::<u8>()), 0..4)) {
        let mut bytes = file(Compression::SNAPPY);
        let n = bytes.len();
        bytes[at % n] ^= 1 << bit;
        for (at, byte) in more {
            bytes[at % n] = byte;
        }
        let _ = read(bytes);
    }
}
