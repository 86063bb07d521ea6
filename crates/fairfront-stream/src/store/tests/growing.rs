//! Ledgers, logs and segments.

use fairfront_model::file::names_in;
use proptest::prelude::*;

use super::super::*;
use super::{folder, tree};

fn digest(bytes: &[u8]) -> Committed {
    use sha2::{Digest, Sha256};
    Committed {
        bytes: bytes.len() as u64,
        sha256: fairfront_core::hex(&Sha256::digest(bytes)),
    }
}

#[test]
fn ledger_is_truncated_to_its_committed_length() {
    let at = folder();
    let path = at.path().join("rejected.csv");
    let (mut ledger, diagnostics) = Ledger::open(&path, &Committed::default()).expect("new");
    assert!(ledger.is_empty() && diagnostics.is_empty());
    assert_eq!(ledger.sync().expect("synced"), Committed::default());
    assert!(!path.exists(), "nothing written, no file");
    ledger.append(b"a\n").expect("appended");
    ledger.append(b"b\n").expect("appended");
    let committed = ledger.sync().expect("synced");
    assert_eq!(committed, digest(b"a\nb\n"));
    ledger.append(b"never committed").expect("appended");
    drop(ledger);
    let (mut ledger, diagnostics) = Ledger::open(&path, &committed).expect("sound");
    assert!(!ledger.is_empty() && diagnostics.is_empty());
    ledger.append(b"c\n").expect("appended");
    assert_eq!(ledger.sync().expect("synced"), digest(b"a\nb\nc\n"));
    assert_eq!(std::fs::read(&path).expect("a file"), b"a\nb\nc\n");
    // Nothing was committed at all, so the bytes of a killed process are removed.
    let (ledger, diagnostics) = Ledger::open(&path, &Committed::default()).expect("sound");
    assert!(ledger.is_empty() && diagnostics.is_empty());
    assert_eq!(std::fs::read(&path).expect("a file"), b"");
}

#[test]
fn missing_ledger_starts_again_even_if_killed_again() {
    let at = folder();
    let path = at.path().join("drift.jsonl");
    let old = digest(b"{\"batch\": 1}\n");
    // Killed twice before the new ledger is committed, with more and with fewer bytes than before.
    for left in [&b"{\"batch\": 2, \"more\": true}\n"[..], b"{}"] {
        let (mut ledger, diagnostics) = Ledger::open(&path, &old).expect("a new ledger");
        assert_eq!(diagnostics.len(), 1);
        assert!(
            diagnostics[0].contains("drift.jsonl is missing"),
            "{diagnostics:?}"
        );
        assert!(ledger.is_empty());
        ledger.append(left).expect("appended");
        ledger.sync().expect("synced");
    }
    let (mut ledger, _) = Ledger::open(&path, &old).expect("a new ledger");
    ledger.append(b"{\"batch\": 2}\n").expect("appended");
    let new = ledger.sync().expect("synced");
    assert_eq!(new, digest(b"{\"batch\": 2}\n"));
    drop(ledger);
    let (ledger, diagnostics) = Ledger::open(&path, &new).expect("sound");
    assert!(!ledger.is_empty() && diagnostics.is_empty());
    // The note covers only that one loss.
    std::fs::write(&path, "x").expect("changed");
    let error = Ledger::open(&path, &new).expect_err("changed").to_string();
    assert!(
        error.contains("is shorter than before (1 of 13 bytes)"),
        "{error}"
    );
    assert!(error.contains("restore it, or remove it"), "{error}");
    // If the old file is restored, it counts again.
    std::fs::write(&path, b"{\"batch\": 1}\ntail").expect("restored");
    let (_, diagnostics) = Ledger::open(&path, &old).expect("sound");
    assert!(diagnostics.is_empty());
    assert_eq!(std::fs::read(&path).expect("a file"), b"{\"batch\": 1}\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn changed_ledger_is_rejected_and_not_touched(
        text in prop::collection::vec(any::<u8>(), 1..200),
        committed in any::<prop::sample::Index>(),
        flip in prop::option::of((any::<prop::sample::Index>(), 1..=255_u8)),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let at = folder();
        let path = at.path().join("ledger");
        let n = committed.index(text.len() + 1);
        let mut bytes = text.clone();
        if let Some((place, flip)) = flip {
            bytes[place.index(text.len())] ^= flip;
        }
        if let Some(place) = cut {
            bytes.truncate(place.index(text.len()));
        }
        std::fs::write(&path, &bytes).expect("a file");
        let opened = Ledger::open(&path, &digest(&text[..n]));
        let left = std::fs::read(&path).expect("a file");
        if bytes.starts_with(&text[..n]) {
            let (mut ledger, diagnostics) = opened.expect("sound");
            prop_assert!(diagnostics.is_empty());
            prop_assert_eq!(&left, &text[..n]);
            ledger.append(b"more").expect("appended");
            let mut all = left;
            all.extend_from_slice(b"more");
            prop_assert_eq!(ledger.sync().expect("synced"), digest(&all));
            prop_assert_eq!(std::fs::read(&path).expect("a file"), all);
        } else {
            prop_assert!(opened.is_err());
            prop_assert_eq!(left, bytes);
            prop_assert_eq!(names_in(at.path()).expect("names").len(), 1);
        }
    }
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        (
            0..3_usize,
            any::<u64>(),
            prop::collection::vec(any::<String>(), 0..4)
        )
            .prop_map(|(input, row, fields)| Entry::Row { input, row, fields }),
        (0..3_usize, any::<u64>(), any::<String>(), any::<String>()).prop_map(
            |(input, row, raw, reason)| Entry::Bad {
                input,
                row,
                raw,
                reason
            }
        ),
        (0..3_usize, any::<u64>(), any::<f64>()).prop_map(|(input, bytes, x)| Entry::Position {
            input,
            position: serde_json::json!({"bytes": bytes, "x": x, "then": [null, "é"]}),
        }),
    ]
}

/// The number of line ends in these bytes.
fn lines(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

/// A state with a log of these entries, and the path of the log.
fn logged(entries: &[Entry]) -> (tempfile::TempDir, std::path::PathBuf) {
    let at = folder();
    let (mut spool, found, cut) = Spool::open(at.path(), 13).expect("new");
    assert!(found.is_empty() && cut.is_none());
    let (first, second) = entries.split_at(entries.len() / 2);
    spool.append(first).expect("appended");
    spool.append(second).expect("appended");
    let path = at.path().join("spool/000013.log");
    (at, path)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn truncated_log_gives_its_complete_lines(
        entries in prop::collection::vec(entry(), 1..6),
        more in entry(),
        cut in any::<prop::sample::Index>(),
    ) {
        let (at, path) = logged(&entries);
        let bytes = std::fs::read(&path).expect("a log");
        let cut = cut.index(bytes.len() + 1);
        std::fs::write(&path, &bytes[..cut]).expect("cut");
        let whole = lines(&bytes[..cut]);
        let (mut spool, found, said) = Spool::open(at.path(), 13).expect("readable");
        prop_assert_eq!(&found[..], &entries[..whole]);
        prop_assert_eq!(said, None);
        spool.append(std::slice::from_ref(&more)).expect("appended");
        spool.sync().expect("synced");
        let (_, again, said) = Spool::open(at.path(), 13).expect("sound");
        prop_assert_eq!(&again[..whole], &entries[..whole]);
        prop_assert_eq!(&again[whole..], &[more]);
        prop_assert_eq!(said, None);
        prop_assert_eq!(names_in(&at.path().join("spool")).expect("names").len(), 1);
    }

    #[test]
    fn corrupted_log_gives_the_lines_before_and_keeps_the_rest(
        entries in prop::collection::vec(entry(), 1..6),
        at_byte in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let (at, path) = logged(&entries);
        let mut bytes = std::fs::read(&path).expect("a log");
        let place = at_byte.index(bytes.len());
        let whole = lines(&bytes[..place]);
        let begin = bytes[..place].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        bytes[place] ^= flip;
        std::fs::write(&path, &bytes).expect("damaged");
        let (_, found, said) = Spool::open(at.path(), 13).expect("readable");
        prop_assert_eq!(&found[..], &entries[..whole]);
        prop_assert!(said.expect("said").contains("000013.log.damaged"));
        let aside = std::fs::read(at.path().join("spool/000013.log.damaged")).expect("kept");
        prop_assert_eq!(&aside[..], &bytes[begin..]);
        prop_assert_eq!(&std::fs::read(&path).expect("a log")[..], &bytes[..begin]);
        let (_, found, said) = Spool::open(at.path(), 13).expect("sound");
        prop_assert_eq!(&found[..], &entries[..whole]);
        prop_assert_eq!(said, None);
    }
}

#[test]
fn log_has_the_documented_format() {
    let row = Entry::Row {
        input: 0,
        row: 7,
        fields: vec!["a\nb".into(), String::new()],
    };
    let (at, path) = logged(&[row]);
    let text = std::fs::read_to_string(&path).expect("a log");
    let (sum, json) = text.trim_end().split_once(' ').expect("two parts");
    assert_eq!(json, r#"{"row":{"input":0,"row":7,"fields":["a\nb",""]}}"#);
    assert_eq!(sum, &digest(json.as_bytes()).sha256[..16]);
    // Complete, but from a later version, so nothing is removed.
    let json = r#"{"heartbeat":{}}"#;
    let line = format!("{} {json}\n", &digest(json.as_bytes()).sha256[..16]);
    std::fs::write(&path, format!("{text}{line}")).expect("a log");
    let before = tree(at.path());
    let error = Spool::open(at.path(), 13).expect_err("unknown").to_string();
    assert!(error.contains("line 2 has an unknown kind"), "{error}");
    assert!(tree(at.path()) == before);
}

#[test]
fn old_logs_and_segments_are_removed() {
    let at = folder();
    for n in [1, 2, 3] {
        let (mut spool, ..) = Spool::open(at.path(), n).expect("new");
        let position = serde_json::Value::from(n);
        spool
            .append(&[Entry::Position { input: 0, position }])
            .expect("appended");
        spool.sync().expect("synced");
        segment::write(at.path(), n, b"left over").expect("written");
        segment::write(at.path(), n, &[n as u8; 5]).expect("replaced");
        assert_eq!(segment::read(at.path(), n).expect("there"), [n as u8; 5]);
    }
    std::fs::write(at.path().join("spool/000001.log.damaged"), "x").expect("a file");
    std::fs::write(at.path().join("rows/.fairfront-new-000004"), "x").expect("a file");
    let (spool, ..) = Spool::open(at.path(), 3).expect("there");
    spool.remove_before(3).expect("removed");
    segment::remove_before(at.path(), 2).expect("removed");
    let left: Vec<String> = tree(at.path()).into_keys().collect();
    let expected = [
        "rows/",
        "rows/000002.rows",
        "rows/000003.rows",
        "spool/",
        "spool/000001.log.damaged",
        "spool/000003.log",
    ];
    assert_eq!(left, expected);
    let error = segment::read(at.path(), 1).expect_err("gone").to_string();
    assert!(
        error.contains("000001.rows: the file is missing"),
        "{error}"
    );
    // Without any files there is nothing to remove.
    segment::remove_before(folder().path(), 2).expect("nothing");
}
