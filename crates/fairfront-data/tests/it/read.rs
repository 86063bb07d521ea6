use std::io::Write;

use fairfront_data::{Column, ColumnType, LeftOut, ReadOptions, Table, Values, read_table};
use proptest::prelude::*;

use crate::{Folder, csv, names, read, read_with, shown};

fn column_names(table: &Table) -> Vec<&str> {
    table.columns().iter().map(|c| c.name.as_str()).collect()
}

#[test]
fn separators_quotes_and_spaces() {
    for text in [
        "a,b\n1,x y\n2,\"p, q\"\n",
        "a;b\n1;x y\n2;p, q\n",
        "a\tb\r\n1\tx y\r\n2\tp, q\r\n",
        "\u{feff}a|b\n1|x y\n2|p, q",
        "a, b\n1, x y\n2, \"p, q\"\n\n",
        "|a comment\na,b\n1,x y\n2,\"p, q\"\n",
    ] {
        let table = read(text).unwrap();
        assert_eq!(column_names(&table), ["a", "b"], "{text:?}");
        assert_eq!(shown(&table, "a"), ["1", "2"], "{text:?}");
        assert_eq!(shown(&table, "b"), ["x y", "p, q"], "{text:?}");
    }
}

#[test]
fn types_are_inferred() {
    let table = read("n,b,c,m\n1,yes,u,\n2.5,no,v,?\n?,yes,u,NA\n").unwrap();
    let types: Vec<_> = table.columns().iter().map(Column::column_type).collect();
    assert_eq!(
        types,
        [
            Some(ColumnType::Numeric),
            Some(ColumnType::Boolean),
            Some(ColumnType::Categorical),
            None
        ]
    );
    assert_eq!(table.column("n").unwrap().n_missing, 1);
    assert_eq!(
        table.column("m").unwrap().values,
        Values::LeftOut(LeftOut::AllMissing)
    );
}

#[test]
fn types_and_missing_values_can_be_set() {
    let options = ReadOptions {
        types: [("zip".to_owned(), ColumnType::Categorical)].into(),
        missing_values: names(&["-"]),
        ..ReadOptions::default()
    };
    let table = read_with("zip,n\n10001,1\n?,-\n", &options).unwrap();
    assert_eq!(shown(&table, "zip"), ["10001", "?"]);
    assert_eq!(table.column("n").unwrap().n_missing, 1);
}

#[test]
fn missing_numbers_are_missing_in_every_notation() {
    let options = ReadOptions {
        missing_values: names(&["-999"]),
        ..ReadOptions::default()
    };
    let table = read_with("n,m\n-999,1\n-999.0,2\n5,-999.00\n", &options).unwrap();
    assert_eq!(table.column("n").unwrap().n_missing, 2);
    assert_eq!(table.column("m").unwrap().n_missing, 1);
}

#[test]
fn many_equal_names_are_fast() {
    let header = vec!["x"; 50_000].join(",");
    let row = vec!["1"; 50_000].join(",");
    let table = read(format!("{header}\n{row}\n")).unwrap();
    assert_eq!(table.columns()[49_999].name, "x.49999");
    assert_eq!(table.diagnostics.len(), 6);
}

#[test]
fn files_without_a_header_get_names() {
    let options = ReadOptions {
        header: false,
        ..ReadOptions::default()
    };
    let table = read_with("1,x\n2,y\n", &options).unwrap();
    assert_eq!(column_names(&table), ["column_1", "column_2"]);
    assert_eq!(table.n_rows(), 2);

    let options = ReadOptions {
        columns: Some(names(&["a", "b"])),
        ..ReadOptions::default()
    };
    assert_eq!(read_with("1,x\n2,y\n", &options).unwrap().n_rows(), 2);
    // A header with the same names is not a row.
    assert_eq!(read_with("a,b\n1,x\n2,y\n", &options).unwrap().n_rows(), 2);
}

#[test]
fn repeated_names_get_a_suffix_and_a_note() {
    let table = read("x,x,x.1,x\n1,2,3,4\n").unwrap();
    assert_eq!(column_names(&table), ["x", "x.2", "x.1", "x.3"]);
    assert_eq!(table.diagnostics.len(), 2);
}

#[test]
fn pandas_index_is_left_out() {
    let table = read(",a\n0,5\n1,6\n2,7\n").unwrap();
    assert_eq!(
        table.column("column_1").unwrap().values,
        Values::LeftOut(LeftOut::PandasIndex)
    );
    // A first column that is only unnamed stays.
    let table = read(",a\n3,5\n1,6\n").unwrap();
    assert_eq!(shown(&table, "column_1"), ["3", "1"]);
}

#[test]
fn several_files_become_one_table() {
    let folder = Folder::new();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(b"b;a\ny;3\nz;4\n").unwrap();
    let files = [
        folder.file("1.csv", "a,b\n1,x\n2,y\n"),
        folder.file("2.csv.gz", gz.finish().unwrap()),
    ];
    let table = read_table(&files, &ReadOptions::default()).unwrap();
    assert_eq!(shown(&table, "a"), ["1", "2", "3", "4"]);
    assert_eq!(shown(&table, "b"), ["x", "y", "y", "z"]);
    assert!(table.place(2).to_string().ends_with("2.csv.gz, row 1"));
}

#[test]
fn only_requested_columns_are_read() {
    let options = ReadOptions {
        only: Some(["b".to_owned()].into()),
        ..ReadOptions::default()
    };
    let table = read_with("a,b\nx,1\ny,2\n", &options).unwrap();
    assert_eq!(
        table.column("a").unwrap().values,
        Values::LeftOut(LeftOut::NotRead)
    );
    assert_eq!(shown(&table, "b"), ["1", "2"]);
}

/// A long file is read in many chunks by all threads, with the same result as a short one.
#[test]
fn long_files_read_as_short_ones() {
    let rare = |i: usize| if i == 110_000 { "here" } else { "" };
    let row = |i: usize| format!("{},{},\"a, {}\",{}", 2 * i, i % 7, i % 3, rare(i));
    let text = csv("n,c,q,rare", 120_000, row);
    let table = read(&text).unwrap();
    assert_eq!(table.n_rows(), 120_000);
    let numbers = table.column("n").unwrap().numeric().unwrap();
    assert!(numbers.iter().enumerate().all(|(i, n)| n == 2.0 * i as f64));
    let quoted = shown(&table, "q");
    assert!((0..120_000).all(|i| quoted[i] == format!("a, {}", i % 3)));
    let rare = table.column("rare").unwrap();
    assert_eq!(rare.n_missing, 119_999);
    assert_eq!(shown(&table, "rare")[110_000], "here");
}

/// A field that sometimes needs quotes, and is never read as missing.
fn field() -> impl Strategy<Value = String> {
    "[b-m]{1,3}[ ,;\"\n|é]{0,2}[b-m]{1,2}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn written_tables_are_read_back(rows in prop::collection::vec(prop::collection::vec(field(), 3), 2..40)) {
        let mut writer = ::csv::Writer::from_writer(Vec::new());
        writer.write_record(["p", "q", "r"]).unwrap();
        for row in &rows {
            writer.write_record(row).unwrap();
        }
        let options = ReadOptions {
            separator: Some(b','),
            types: ["p", "q", "r"].map(|c| (c.to_owned(), ColumnType::Categorical)).into(),
            ..ReadOptions::default()
        };
        let table = read_with(writer.into_inner().unwrap(), &options).unwrap();
        for (i, name) in ["p", "q", "r"].into_iter().enumerate() {
            let expected: Vec<&str> = rows.iter().map(|row| row[i].trim()).collect();
            prop_assert_eq!(shown(&table, name), expected);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
        let _ = read([b"PAR1".as_slice(), &bytes, b"PAR1"].concat());
        let _ = read([[0x1f, 0x8b, 8].as_slice(), &bytes].concat());
    }

    #[test]
    fn random_text_never_panics(text in "[a-c0-9,;|\t\"\r\n #.?-]{0,300}", header: bool) {
        let options = ReadOptions { header, ..ReadOptions::default() };
        if let Ok(table) = read_with(&text, &options) {
            prop_assert!(table.n_rows() > 0);
            for column in table.columns() {
                if let Some(values) = column.numeric() {
                    prop_assert_eq!(values.len(), table.n_rows());
                }
                if let Some((codes, categories)) = column.categorical() {
                    prop_assert_eq!(codes.len(), table.n_rows());
                    prop_assert!(codes.iter().all(|c| *c == u32::MAX || (*c as usize) < categories.len()));
                }
            }
        }
    }
}
