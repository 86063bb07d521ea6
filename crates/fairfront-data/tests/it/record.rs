//! CSV text that arrives in pieces.

use std::collections::VecDeque;
use std::io::Read;

use fairfront_data::{
    MOST_RECORD_BYTES, Position, RawRecord, ReadOptions, Records, Values, read_table,
};
use proptest::prelude::*;

use crate::{Folder, message};

/// Returns a text in pieces of these sizes, repeatedly; a size of 0 returns nothing once.
struct Slow<'a> {
    text: &'a [u8],
    sizes: VecDeque<usize>,
}

impl Read for Slow<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let size = self.sizes.pop_front().unwrap_or(usize::MAX);
        self.sizes.push_back(size);
        let n = size.min(to.len()).min(self.text.len());
        let (now, later) = self.text.split_at(n);
        to[..n].copy_from_slice(now);
        self.text = later;
        Ok(n)
    }
}

fn slow<'a>(text: &'a [u8], sizes: &[usize]) -> Slow<'a> {
    Slow {
        text,
        sizes: sizes.iter().copied().collect(),
    }
}

fn comma() -> ReadOptions {
    ReadOptions {
        separator: Some(b','),
        ..ReadOptions::default()
    }
}

/// All records, and the position before each and after the last of them.
fn all<R: Read>(mut records: Records<R>) -> (Vec<RawRecord>, Vec<Position>) {
    let mut found = Vec::new();
    let mut positions = vec![records.position()];
    while let Some(record) = records.rest().unwrap() {
        found.push(record);
        positions.push(records.position());
    }
    (found, positions)
}

fn fields(records: &[RawRecord]) -> Vec<Vec<String>> {
    records.iter().map(|r| r.fields.clone().unwrap()).collect()
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    fairfront_core::hex(&sha2::Sha256::digest(bytes))
}

#[test]
fn records_are_returned_when_their_line_end_has_arrived() {
    let text = "\u{feff}a;b\r\n\r\n 1;\"x\r\ny\"\r\n2;z";
    let mut records = Records::new(
        "t.csv",
        slow(text.as_bytes(), &[1]),
        &ReadOptions::default(),
    );
    let first = records.next().unwrap().unwrap();
    assert_eq!((first.row, first.line), (1, 3));
    assert_eq!(first.fields.unwrap(), ["1", "x\r\ny"]);
    assert_eq!(records.columns(), ["a", "b"]);
    let position = records.position();
    let end = text.len() - 3;
    assert_eq!((position.rows, position.bytes), (1, end as u64));
    assert_eq!(position.sha256, sha256(&text.as_bytes()[..end]));
    assert!(!position.ends_open);
    assert!(records.next().unwrap().is_none());
    let last = records.rest().unwrap().unwrap();
    assert_eq!((last.row, last.line), (2, 5));
    let position = records.position();
    assert_eq!(
        (position.bytes, position.ends_open),
        (text.len() as u64, true)
    );
    assert!(records.rest().unwrap().is_none());
}

#[test]
fn first_lines_determine_the_separator_in_any_pieces() {
    // With the whole text available, commas would split these lines more evenly than semicolons.
    let text = "name;pay\nAnn;1,5\nBob,1,5\nCy,2,5\nDi,3,5\n";
    let columns = |sizes: &[usize]| {
        let input = slow(text.as_bytes(), sizes);
        let mut records = Records::new("t", input, &ReadOptions::default()).by_first_lines();
        let mut first = None;
        while first.is_none() {
            first = records.next().unwrap();
        }
        records.columns().to_vec()
    };
    for sizes in [&[1][..], &[3, 0, 7], &[11], &[1_000]] {
        assert_eq!(columns(sizes), ["name", "pay"], "{sizes:?}");
    }
    // The text has only one line.
    let mut one = Records::new("t", &b"a;b"[..], &ReadOptions::default()).by_first_lines();
    assert!(one.rest().unwrap().is_none());
    assert_eq!(one.columns(), ["a", "b"]);
}

#[test]
fn byte_order_mark_within_the_text_stays() {
    // Two files, one after the other; records with quotes use another parser.
    let text = "a,b\n\"x\",1\n\u{feff}a,\"b\"\n\"y\",2\n";
    let (whole, _) = all(Records::new("t.csv", text.as_bytes(), &comma()));
    let mut first = Records::new("t.csv", text.as_bytes(), &comma());
    first.next().unwrap();
    let mut second = Records::new("t.csv", text.as_bytes(), &comma());
    second.resume(&first.position()).unwrap();
    let rest: Vec<_> = std::iter::from_fn(|| second.rest().unwrap()).collect();
    assert_eq!(fields(&rest), fields(&whole)[1..]);
    assert_eq!(fields(&rest)[0], ["\u{feff}a", "b"]);
}

#[test]
fn headers_and_names_match_those_of_a_table() {
    let names = |text: &str, options: &ReadOptions| {
        let mut records = Records::new("t.csv", text.as_bytes(), options);
        let n = std::iter::from_fn(|| records.rest().unwrap()).count();
        (n, records.columns().to_vec())
    };
    let default = ReadOptions::default();
    assert_eq!(names("x,,x\n1,2,3\n", &default).1, ["x", "column_2", "x.1"]);
    let mut options = ReadOptions {
        header: false,
        ..ReadOptions::default()
    };
    assert_eq!(
        names("1,2\n3,4\n", &options),
        (2, vec!["column_1".into(), "column_2".into()])
    );
    options.columns = Some(vec!["p".into(), "q".into()]);
    assert_eq!(
        names("1,2\n3,4\n", &options),
        (2, vec!["p".into(), "q".into()])
    );
    assert_eq!(
        names("p,q\n3,4\n", &options),
        (1, vec!["p".into(), "q".into()])
    );
    assert_eq!(names("a,b", &default), (0, vec!["a".into(), "b".into()]));
    assert_eq!(names("", &default), (0, vec![]));
    assert_eq!(names("|comment\n1,2,3\n4,5,6\n7,8,9\n", &default).0, 2);

    options.columns = Some(vec!["p".into()]);
    let mut records = Records::new("t.csv", &b"1,2\n"[..], &options);
    assert!(
        message(records.next())
            .contains("the number of column names is 1, but the first row has 2")
    );
    let mut records = Records::new("t.csv", &b"a,b\0\n"[..], &default);
    assert!(message(records.rest()).contains("not a text file"));
    let text = format!("a,b\0\n{}", "1,2\n".repeat(100));
    let mut records = Records::new("t.csv", text.as_bytes(), &default);
    assert!(message(records.rest()).contains("the name of column 2 contains a NUL byte"));
    let text = format!("a,b\n1,x\0y\n{}", "1,2\n".repeat(100));
    let mut records = Records::new("t.csv", text.as_bytes(), &default);
    let bad = records.next().unwrap().unwrap().fields.unwrap_err();
    assert_eq!(
        bad.reason.to_string(),
        "column \"b\": the value contains a NUL byte; remove it"
    );
    assert_eq!(bad.text, "1,x\u{fffd}y");
    assert!(records.next().unwrap().unwrap().fields.is_ok());
}

#[test]
fn bad_records_are_rows_with_a_reason() {
    let mut text = b"a,b\n1,2\n3\n4,5,\n6,\xff\n7,8\n".to_vec();
    text.extend(std::iter::repeat_n(b'x', 20_000));
    let (found, positions) = all(Records::new("t.csv", &text[..], &comma()));
    let reasons: Vec<(u64, String)> = found
        .iter()
        .filter_map(|r| Some((r.row, r.fields.clone().err()?.reason.to_string())))
        .collect();
    let hint = "; fix the row, or set the separator with separator (found ',')";
    assert_eq!(
        reasons,
        [
            (2, format!("expected 2 fields, found 1{hint}")),
            (
                3,
                "expected 2 fields, found 3; remove the separator at the end of the row".into()
            ),
            (
                4,
                "column \"b\": the value is not UTF-8 (\"\u{fffd}\"); save the file as UTF-8"
                    .into()
            ),
            (6, format!("expected 2 fields, found 1{hint}")),
        ]
    );
    let strings: Vec<String> = found
        .iter()
        .filter_map(|r| Some(r.fields.clone().err()?.text))
        .collect();
    assert_eq!(strings[..3], ["3", "4,5,", "6,\u{fffd}"]);
    assert_eq!(strings[3].len(), 10_000);
    assert_eq!(positions.last().unwrap().bytes, text.len() as u64);
}

#[test]
fn open_quote_makes_only_one_line_bad() {
    // Within the text, the quote is known to be wrong only after a mebibyte.
    let row = "1,abcdefgh\n";
    let n = MOST_RECORD_BYTES / row.len() + 10;
    let mut text = String::from("a,b\n1,2\n3,\"open\n");
    for _ in 0..n {
        text.push_str(row);
    }
    let cut = |text: &str, sizes: &[usize]| {
        all(Records::new(
            "t.csv",
            slow(text.as_bytes(), sizes),
            &comma(),
        ))
    };
    let (found, positions) = cut(&text, &[100_000]);
    assert_eq!(found.len(), n + 2);
    let bad = found[1].fields.clone().unwrap_err();
    assert_eq!(bad.text, "3,\"open");
    assert!(
        bad.reason
            .to_string()
            .starts_with("a quote opens a field here and is not closed within 1,048,576")
    );
    assert_eq!((found[2].line, positions[2].bytes), (4, 16));
    assert!(found[2..].iter().all(|r| r.fields.is_ok()));
    assert_eq!(cut(&text, &[7, 4096, 3_000_000]).0, found);
    // At the end of the text, it is known at once.
    let (found, _) = cut("a,b\n1,\"2\n3,4\n5,6", &[1]);
    let is_bad: Vec<bool> = found.iter().map(|r| r.fields.is_err()).collect();
    assert_eq!(is_bad, [true, false, false]);
    assert!(
        found[0]
            .fields
            .clone()
            .unwrap_err()
            .reason
            .to_string()
            .contains("never closed")
    );
    // An open quote in the header is an error, because the rows cannot be found.
    let mut records = Records::new("t.csv", &b"a,\"b\n1,2\n"[..], &comma());
    assert!(message(records.rest()).contains("t.csv, line 1: a quote opens a field"));
}

#[test]
fn endless_line_is_discarded() {
    for ending in ["\n3,4\n", ""] {
        let mut text = b"a,b\n1,2\n".to_vec();
        text.extend(vec![b'x'; 3 * MOST_RECORD_BYTES]);
        text.extend_from_slice(ending.as_bytes());
        let (found, positions) = all(Records::new("t.csv", &text[..], &comma()));
        let bad = found[1].fields.clone().unwrap_err();
        assert!(
            bad.reason
                .to_string()
                .contains("longer than 1,048,576 bytes")
        );
        assert_eq!(bad.text.len(), 10_000);
        assert_eq!(found.len(), if ending.is_empty() { 2 } else { 3 });
        let last = positions.last().unwrap();
        assert_eq!(
            (last.bytes, &last.sha256),
            (text.len() as u64, &sha256(&text))
        );
        let pieces = Records::new("t.csv", slow(&text, &[50_000]), &comma());
        assert_eq!(all(pieces), (found, positions.clone()));
        // The position of a waiting reader is the end of the last whole record.
        let mut records = Records::new("t.csv", &text[..2 * MOST_RECORD_BYTES], &comma());
        assert!(records.next().unwrap().is_some() && records.next().unwrap().is_none());
        assert_eq!(records.position(), positions[1]);
    }
}

#[test]
fn changed_text_is_rejected() {
    let text = "a,b\n1,2\n3,4\n5,6";
    let (_, positions) = all(Records::new("t.csv", text.as_bytes(), &comma()));
    let resumed = |text: &str, at: usize| {
        let mut records = Records::new("t.csv", text.as_bytes(), &ReadOptions::default());
        records.resume(&positions[at])?;
        let mut rows = Vec::new();
        while let Some(record) = records.rest()? {
            rows.push((record.row, record.line, record.fields.unwrap()[0].clone()));
        }
        Ok::<_, fairfront_data::Error>(rows)
    };
    assert_eq!(resumed(text, 2).unwrap(), [(3, 4, "5".to_owned())]);
    let said = message(resumed("a,b\n1,2\n3,5\n5,6\n", 2));
    assert_eq!(
        said,
        "t.csv: the first 12 bytes differ from those read before; restore the file and only append rows \
         to it, or start a new state"
    );
    assert!(
        message(resumed("a,b\n1,2\n", 2))
            .contains("the file has 8 bytes of text, but 12 were read")
    );
    assert!(message(resumed("", 1)).contains("0 bytes"));
    // A last row without a line end may get one, but must not grow.
    assert!(resumed(text, 3).unwrap().is_empty());
    assert_eq!(
        resumed("a,b\n1,2\n3,4\n5,6\n7,8\n", 3).unwrap(),
        [(4, 5, "7".to_owned())]
    );
    assert!(
        message(resumed("a,b\n1,2\n3,4\n5,67\n", 3)).contains("row 3 was read without a line end")
    );
}

#[test]
fn file_can_be_followed_while_it_grows() {
    let folder = Folder::new();
    let path = folder.file("t.csv", "a,b\n1,");
    let input = fairfront_data::open_text(&path, &ReadOptions::default()).unwrap();
    assert!(input.is_plain && input.separator.is_none());
    let mut records = input.records(&ReadOptions::default());
    let add = |text: &str| {
        use std::io::Write as _;
        let file = std::fs::OpenOptions::new().append(true).open(&path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    };
    assert!(records.next().unwrap().is_none());
    add("2\n3");
    assert_eq!(records.next().unwrap().unwrap().fields.unwrap(), ["1", "2"]);
    assert!(records.next().unwrap().is_none());
    add(",4");
    assert_eq!(records.rest().unwrap().unwrap().fields.unwrap(), ["3", "4"]);
    add("5\n");
    assert!(message(records.next()).contains("row 2 was read without a line end"));
}

/// CSV text with quotes, several kinds of line ends, blank lines and a byte order mark; the header is
/// plain.
fn strings() -> impl Strategy<Value = String> {
    let row = "[ab\", \r\n]{0,12}";
    let rows = prop::collection::vec(row, 0..20);
    (
        prop::bool::ANY,
        prop::sample::select(vec!["\n", "\r\n"]),
        rows,
    )
        .prop_map(|(bom, end, rows)| {
            let bom = if bom { "\u{feff}" } else { "" };
            format!("{bom}x,y{end}{}", rows.join(end))
        })
}

/// Tables whose rows all have the right number of fields.
fn tables() -> impl Strategy<Value = (String, Vec<Vec<String>>)> {
    let field = "[ab0\", \r\n;]{1,6}";
    let row = prop::collection::vec(field, 3);
    let rows = prop::collection::vec(row, 1..30);
    (rows, prop::bool::ANY, 0_usize..3).prop_map(|(rows, crlf, blanks)| {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = format!("p,q,r{end}");
        for row in &rows {
            let quoted = row
                .iter()
                .map(|f| format!("\"{}\"", f.replace('"', "\"\"")));
            text.push_str(&quoted.collect::<Vec<_>>().join(","));
            text.push_str(end);
            text.push_str(&end.repeat(blanks));
        }
        (text, rows)
    })
}

proptest! {
    #[test]
    fn pieces_do_not_change_the_records(text in strings(), sizes in prop::collection::vec(1_usize..9, 1..5)) {
        let whole = all(Records::new("t.csv", text.as_bytes(), &comma()));
        let pieces = all(Records::new("t.csv", slow(text.as_bytes(), &sizes), &comma()));
        prop_assert_eq!(&whole, &pieces);
        // Pauses do not change the records either, and every position is correct.
        let paused: Vec<usize> = sizes.iter().flat_map(|s| [*s, 0]).collect();
        let mut records = Records::new("t.csv", slow(text.as_bytes(), &paused), &comma());
        let mut n = 0;
        let mut waits = 0;
        while waits < 2 * text.len() + 2 {
            match records.next().unwrap() {
                None => waits += 1,
                Some(record) => {
                    prop_assert_eq!(&record, &whole.0[n]);
                    n += 1;
                    prop_assert_eq!(&records.position(), &whole.1[n]);
                }
            }
        }
        for position in &whole.1[1..] {
            let upto = &text.as_bytes()[..position.bytes as usize];
            prop_assert_eq!(&position.sha256, &sha256(upto));
        }
    }

    #[test]
    fn reading_resumes_at_every_position(text in strings(), size in 1_usize..50) {
        let (found, positions) = all(Records::new("t.csv", text.as_bytes(), &comma()));
        for (n, position) in positions.iter().enumerate() {
            let json = serde_json::to_string(position).unwrap();
            let position = serde_json::from_str(&json).unwrap();
            let mut records = Records::new("t.csv", slow(text.as_bytes(), &[size]), &comma());
            records.resume(&position).unwrap();
            let (rest, ends) = all(records);
            prop_assert_eq!(&rest[..], &found[n..]);
            prop_assert_eq!(ends.last(), positions.last());
        }
    }

    #[test]
    fn changed_byte_is_detected(text in strings(), at in 0_usize..1000) {
        let (found, positions) = all(Records::new("t.csv", text.as_bytes(), &comma()));
        let Some(position) = positions.last().filter(|_| !found.is_empty()) else {
            return Ok(());
        };
        let mut changed = text.into_bytes();
        changed[at % position.bytes as usize] ^= 1;
        let mut records = Records::new("t.csv", &changed[..], &comma());
        prop_assert!(records.resume(position).is_err());
    }

    #[test]
    fn written_fields_are_read_back((text, rows) in tables(), size in 1_usize..50) {
        let (found, _) = all(Records::new("t.csv", slow(text.as_bytes(), &[size]), &comma()));
        let trimmed = |row: &Vec<String>| -> Vec<String> {
            row.iter().map(|f| f.trim_ascii().to_owned()).collect()
        };
        prop_assert_eq!(fields(&found), rows.iter().map(trimmed).collect::<Vec<_>>());
    }

    #[test]
    fn records_match_those_of_a_table((text, _) in tables()) {
        let folder = Folder::new();
        let categories = |c: &str| (c.to_owned(), fairfront_data::ColumnType::Categorical);
        let options = ReadOptions {
            types: ["p", "q", "r"].map(categories).into(),
            missing_values: Vec::new(),
            ..ReadOptions::default()
        };
        let table = read_table(&[folder.file("t.csv", &text)], &options).unwrap();
        let (found, _) = all(Records::new("t.csv", text.as_bytes(), &options));
        prop_assert_eq!(found.len(), table.n_rows());
        for (i, column) in table.columns().iter().enumerate() {
            let Values::Categorical { codes, categories, .. } = &column.values else { unreachable!() };
            for (record, code) in found.iter().zip(codes) {
                let text = categories.get(*code as usize).map_or("", String::as_str);
                prop_assert_eq!(&record.fields.as_ref().unwrap()[i], text);
            }
        }
    }
}
