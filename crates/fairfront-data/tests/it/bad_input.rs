//! Each message names the place, the problem and the remedy.

use fairfront_data::{LONGEST_RECORD, MemoryLimit, ReadOptions, Spec, SplitRule, read_table};

use crate::{Folder, csv, message, names, prepare, read, read_with, spec};

const ROWS: &str = "y,g,x,w\n1,a,1,1\n0,b,2,1\n1,b,3,1\n0,a,4,1\n";

fn rejected(csv: &str, change: impl FnOnce(&mut Spec)) -> String {
    let mut spec = spec();
    change(&mut spec);
    message(prepare(csv, &spec))
}

#[test]
fn files() {
    let options = ReadOptions::default();
    let at = |path: &str| read_table(&names(&[path]), &options);
    assert_eq!(
        message(at("no/such.csv")),
        "no/such.csv: no such file; check the path"
    );
    assert!(message(at(".")).contains("is a folder"));
    assert!(message(read_table(&[], &options)).contains("at least one file"));
    assert!(message(read_table(&names(&["-", "-"]), &options)).contains("only once"));
}

#[test]
fn contents() {
    assert_eq!(
        message(read("")),
        "t.csv: the file is empty; choose a file with at least one data row"
    );
    assert_eq!(
        message(read("\n \n\n")),
        "t.csv: the file is empty; choose a file with at least one data row"
    );
    assert!(message(read("a,b\n")).contains("a header but no rows"));
    assert_eq!(
        message(read("a,b\n1,2\n\n3\n")),
        "t.csv, row 2 (line 4): expected 2 fields, found 1; fix the row, or set the separator with \
         separator (found ',')"
    );
    assert!(message(read("a,b\n1,2,\n")).contains("remove the separator at the end of the row"));
    assert_eq!(
        message(read("a,b\n1,\"x\n2,3\n4,5\n")),
        "t.csv, line 2: a quote opens a field here and is never closed; close it, or put the field in \
         quotes and double each quote inside it"
    );
    assert!(message(read("a,\"b\n1,2\n")).contains("line 1: a quote opens"));
    assert_eq!(
        message(read(b"a,b\n1,x\n2,caf\xe9\n")),
        "t.csv, row 2, column \"b\": the value is not UTF-8 (\"caf\u{fffd}\"); save the file as UTF-8"
            .replace("row 2,", "row 2 (line 3),")
    );
    assert!(message(read(b"caf\xe9,b\n1,x\n")).contains("the header is not UTF-8"));
    assert!(message(read(b"\xff\xfea\0")).contains("UTF-16"));
    assert!(message(read(b"PK\x03\x04")).contains("spreadsheet"));
    assert!(message(read(b"a,b\0\0\0\n1,\0\n")).contains("not a text file"));
    assert!(message(read(b"\x1f\x8b\x08\x00\x00")).contains("ends unexpectedly"));
    assert!(message(read(b"PAR1 and then nothing")).contains("Parquet file is truncated"));
}

#[test]
fn nul_bytes_are_rejected_with_their_place() {
    let rows = |at: usize| {
        csv("n,word", 20_000, |i| match i == at {
            true => format!("{i},w\0rd"),
            false => format!("{i},word"),
        })
    };
    // Among the examined rows, and far after them.
    for at in [3, 19_000] {
        let expected = format!(
            "t.csv, row {} (line {}), column \"word\": the value contains a NUL byte; remove it",
            fairfront_core::grouped(at + 1),
            fairfront_core::grouped(at + 2)
        );
        assert_eq!(message(read(rows(at))), expected);
    }
    let quoted = csv("n,word", 200, |i| match i == 50 {
        true => "5,\"w\0, rd\"".into(),
        false => format!("{i},word"),
    });
    assert!(
        message(read(quoted))
            .contains("row 51 (line 52), column \"word\": the value contains a NUL")
    );
    let number = csv("n,word", 200, |i| match i == 50 {
        true => "5\0,word".into(),
        false => format!("{i},word"),
    });
    assert!(
        message(read(number)).contains("row 51 (line 52), column \"n\": the value contains a NUL")
    );
    let header = csv("n,wo\0rd", 200, |i| format!("{i},word"));
    assert_eq!(
        message(read(header)),
        "t.csv: the name of column 2 contains a NUL byte; rename the column"
    );
}

#[test]
fn table_beyond_the_memory_limit_is_rejected_while_it_is_read() {
    let text = csv("n,word", 300_000, |i| format!("{i},{}", ["x", "y"][i % 2]));
    let read_within = |bytes: u64| {
        let options = ReadOptions {
            memory: MemoryLimit::Bytes(bytes),
            ..ReadOptions::default()
        };
        read_with(&text, &options)
    };
    assert_eq!(read_within(64 << 20).unwrap().n_rows(), 300_000);
    let said = message(read_within(2 << 20));
    assert!(said.contains("rows of 2 columns take about "), "{said}");
    assert!(
        said.contains("more than the 2.0 MiB set by memory; use fewer columns"),
        "{said}"
    );
    assert!(said.ends_with("or raise memory"), "{said}");
}

#[test]
fn overlong_row_is_rejected_with_its_place() {
    let long = "x".repeat(LONGEST_RECORD);
    let text = format!("n,word\n1,a\n2,{long}\n");
    assert_eq!(
        message(read(text)),
        "t.csv, row 2, line 3: the row is longer than 16 MiB; shorten it, or remove the column with the \
         long values"
    );
    let text = format!("n,word\n1,\"a\n2,{long}\n");
    assert!(message(read(text)).ends_with(
        "row 1, line 2: the row is longer than 16 MiB; close the quote that opens a field on line 2, or \
         double each quote inside a field"
    ));
    // So many fields that their columns would not fit in memory.
    let options = ReadOptions {
        memory: MemoryLimit::Bytes(1 << 30),
        ..ReadOptions::default()
    };
    let said = message(read_with(",".repeat(1 << 20), &options));
    assert!(
        said.contains("1,048,577 fields take about 2.0 GiB"),
        "{said}"
    );
}

#[test]
fn string_far_down_a_numeric_column() {
    let value = |i: usize| if i == 899_999 { "oops" } else { "5" };
    let text = csv("n", 900_100, |i| value(i).to_owned());
    assert_eq!(
        message(read(text)),
        "t.csv, row 900,000 (line 900,001), column \"n\": \"oops\" is not a number, but the column is \
         numeric (10000 of the first 10000 values are numbers); fix the value, pass missing_value=oops \
         if it stands for a missing value, or pass type of \"n\"=categorical"
    );
}

#[test]
fn files_that_do_not_fit_together() {
    let folder = Folder::new();
    let both = |a: &str, b: &str, header: bool| {
        let options = ReadOptions {
            header,
            ..ReadOptions::default()
        };
        let files = [folder.file("t.1.csv", a), folder.file("t.2.csv", b)];
        message(read_table(&files, &options))
    };
    assert!(both("a,b\n1,2\n", "a\n1\n", true).contains("it does not have \"b\""));
    assert!(both("a,b\n1,2\n", "a,b,c\n1,2,3\n", true).contains("it also has \"c\""));
    assert!(both("1,2\n", "1,2,3\n", false).contains("it has 3, but the first file has 2"));
    // The row counts within the second file.
    assert!(both("a,b\n1,2\n", "a,b\n1,2\n3\n", true).starts_with("t.2.csv, row 2 (line 3)"));
}

#[test]
fn column_names_must_match_the_fields() {
    let options = ReadOptions {
        columns: Some(names(&["a"])),
        ..ReadOptions::default()
    };
    assert!(
        message(read_with("1,2\n", &options))
            .contains("the number of column names is 1, but the first row")
    );
}

#[test]
fn target() {
    assert_eq!(
        rejected(ROWS, |s| s.target = Some("Y".into())),
        "no column \"Y\" (target) in t.csv; did you mean \"y\"?"
    );
    assert!(
        rejected("y,g,x\n1,a,1\n1,b,2\n", |_| ()).contains("the target has only one value, \"1\"")
    );
    assert_eq!(
        rejected("y,g,x\n01,a,1\n02,b,2\n03,b,2\n", |s| s.positive = None),
        "t.csv, column \"y\": each class of the target needs at least 10 training rows, but some have fewer: \
         \"01\" (1), \"02\" (1), \"03\" (1); merge them with other classes with merge, remove their rows, pass \
         positive to predict one of the classes, or \
         predict the number with numeric"
    );
    assert_eq!(
        rejected("y,g,x\nyes,a,1\nno,b,2\n", |s| s.positive =
            Some("Yes ".into())),
        "t.csv, column \"y\": the target has no value \"Yes \" (positive); did you mean \"yes\"?"
    );
    assert!(
        rejected("y,g,x\n?,a,1\n?,b,2\n", |_| ()).contains("all values of this column are missing")
    );
    assert!(
        rejected("1,0,5\n0,1,6\n1,1,7\n", |_| ()).contains("pass no_header and columns"),
        "a file without a header"
    );
}

#[test]
fn sensitive() {
    assert!(
        rejected(ROWS, |s| s.sensitive = vec![names(&["sex"])])
            .contains("no column \"sex\" (sensitive)")
    );
    assert_eq!(
        rejected("y,g,x\n1,a,1\n0,a,2\n", |_| ()),
        "t.csv, column \"g\": the sensitive attribute has only one group, \"a\", but fairness needs at \
         least two; choose another attribute, or check which rows were dropped"
    );
    assert!(
        rejected("y,g,x\n1,,1\n0,,2\n", |_| ()).contains("all values of this column are missing")
    );
    let ages = csv("y,g,x", 20, |i| format!("{},{},1", i % 2, 20 + i));
    assert_eq!(
        rejected(&ages, |_| ()),
        "t.csv, column \"g\": this sensitive column has 20 different numbers; group them into bins, as \
         in bins of \"g\"=25,45, or pass type of \"g\"=categorical if they are codes"
    );
}

#[test]
fn values_in_messages_are_short() {
    let long = "x".repeat(1_000_000);
    let text = csv("n", 200, |i| {
        if i == 150 {
            long.clone()
        } else {
            i.to_string()
        }
    });
    assert!(message(read(text)).len() < 500);
    assert!(
        message(read(
            format!("a,b\n1,2\n3,{long}\u{e9}\n").replace('3', "\"3")
        ))
        .len()
            < 500
    );
}

#[test]
fn names_that_need_quotes() {
    let csv = "y,sex:gender,x\n1,a,1\n0,b,2\n";
    assert!(
        rejected(csv, |s| s.sensitive = vec![names(&["sex", "gender"])])
            .contains(r#"write '"sex:gender"'"#)
    );
}

#[test]
fn settings_that_would_do_nothing() {
    let numeric = |column: &str| [(column.to_owned(), fairfront_data::ColumnType::Numeric)].into();
    assert!(rejected(ROWS, |s| s.types = numeric("y")).contains("the column is target"));
    assert!(rejected(ROWS, |s| s.types = numeric("g")).contains("with bins"));
    let both = |s: &mut Spec| s.sensitive = vec![names(&["g", "x"]), names(&["x", "g"])];
    assert!(rejected(ROWS, both).contains("listed twice"));
}

#[test]
fn weights() {
    let with = |weights: [&str; 4]| {
        let row = |i: usize| format!("{},{},{i},{}", i % 2, ["a", "b"][i / 2], weights[i]);
        let text = csv("y,g,x,w", 4, row);
        rejected(&text, |s| s.weight = Some("w".into()))
    };
    assert_eq!(
        with(["1", "2", "-3", "1"]),
        "t.csv, row 3, column \"w\": the weight is -3; use a number that is not negative"
    );
    assert!(with(["1", "NaN", "3", "1"]).contains("row 2, column \"w\": the weight is missing"));
    assert!(with(["1", "much", "3", "1"]).contains("\"much\" is not a number"));
    assert!(with(["0", "0", "0", "0"]).contains("the weights sum to 0"));
}

#[test]
fn no_rows_left() {
    assert!(
        rejected("y,g,x\n1,a,?\n0,b,\n1,b,\n", |s| {
            s.types = [("x".to_owned(), fairfront_data::ColumnType::Numeric)].into();
            s.missing = fairfront_data::MissingPolicy::Drop;
        })
        .starts_with("no rows are left: x missing (3 rows)")
    );
    assert!(
        rejected(ROWS, |s| s.split = SplitRule::Column("g".into())).contains("sensitive and split")
    );
    assert!(
        rejected(ROWS, |s| s.split = SplitRule::Column("x".into())).contains("the split is \"1\"")
    );
}

#[test]
fn names_in_flags() {
    assert!(rejected(ROWS, |s| s.drop = names(&["zz"])).contains("no column \"zz\" (drop)"));
    assert!(rejected(ROWS, |s| s.features = Some(names(&["X"]))).contains("did you mean \"x\"?"));
    assert!(
        rejected(ROWS, |s| {
            let policy = fairfront_data::MissingPolicy::Category;
            s.missing_by_column = [("x".to_owned(), policy)].into();
        })
        .contains("missing of \"x\"=mean")
    );
}
