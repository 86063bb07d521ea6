//! Internal tests of streams: kept rows, waiting rows, and points under an encoding that has grown.

use std::collections::BTreeMap;
use std::path::Path;

use fairfront_core::{BLOCK_ROWS, CategoricalFeature, Dataset, Neutral, RowBlock, Schema};
use fairfront_data::{BadRecord, Part, ReadOptions, Spec, StoredRows, embed};
use fairfront_run::store::{Generations, Lock};
use fairfront_run::{FitRequest, Keep, Penalty, SolverChoice};
use fairfront_solve::{AnySolver, Trace};
use proptest::prelude::*;
use tempfile::TempDir;

use super::keep::Kept;
use super::source::Row;
use super::{InputOptions, LiveOptions, Stream, StreamOptions};
use crate::store::{Entry, Spool, segment};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Rows identified by their number: row `n` has the value n.
fn rows(numbers: std::ops::Range<usize>) -> StoredRows {
    let schema = Schema {
        numeric: vec!["number".into()],
        categorical: Vec::new(),
        attributes: Vec::new(),
        target: fairfront_core::Target::Binary,
        hidden: 0,
    };
    let all: Vec<f64> = numbers.map(|n| n as f64).collect();
    let block = |part: &[f64]| {
        let ones = vec![1.0; part.len()];
        RowBlock::new(
            &schema,
            part.to_vec(),
            Vec::new(),
            ones.clone(),
            Vec::new(),
            ones,
        )
        .expect("a block")
    };
    let blocks = all.chunks(BLOCK_ROWS).map(block).collect();
    let data = Dataset::new(schema.clone(), blocks).expect("rows");
    StoredRows::from_dataset(&data, &vec![Part::Train; all.len()]).expect("rows")
}

/// The numbers of rows, from their bytes: eight bytes per row after a header of 32.
fn numbers(rows: &StoredRows) -> Vec<usize> {
    let bytes = rows.to_bytes();
    let number = |at: usize| {
        let eight = bytes[32 + 8 * at..][..8].try_into().expect("eight bytes");
        f64::from_le_bytes(eight) as usize
    };
    (0..rows.n_rows()).map(number).collect()
}

/// The rows kept from `total` rows that arrive in batches of these sizes, repeatedly.
fn kept(keep: Keep, seed: u64, total: usize, batches: &[usize]) -> (Kept, Vec<usize>) {
    let mut kept = Kept::new(keep, seed);
    let (mut at, mut number) = (0, 0);
    for size in batches.iter().cycle() {
        let to = (at + size).min(total);
        number += 1;
        kept.add(number, &rows(at..to)).expect("rows of one shape");
        at = to;
        if at == total {
            break;
        }
    }
    let found = numbers(kept.rows().expect("rows"));
    (kept, found)
}

proptest! {
    #[test]
    fn kept_rows_do_not_depend_on_batches(
        seed in any::<u64>(), size in 1usize..60, total in 1usize..400,
        batches in prop::collection::vec(1usize..90, 1..6),
    ) {
        for keep in [Keep::All, Keep::Window(size), Keep::Reservoir(size)] {
            let (one, whole) = kept(keep, seed, total, &[total]);
            let (some, found) = kept(keep, seed, total, &batches);
            prop_assert_eq!(&found, &whole);
            prop_assert_eq!(some.info.seen, total as u64);
            prop_assert_eq!(one.info.seen, total as u64);
            let expected: Option<Vec<usize>> = match keep {
                Keep::All => Some((0..total).collect()),
                Keep::Window(size) => Some((total.saturating_sub(size)..total).collect()),
                Keep::Reservoir(_) => None,
            };
            if let Some(expected) = expected {
                prop_assert_eq!(found, expected);
            } else {
                let mut distinct = found.clone();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), size.min(total));
                prop_assert!(distinct.iter().all(|row| *row < total));
            }
        }
    }

    #[test]
    fn added_categories_do_not_change_scores_of_known_rows(
        numeric in 0usize..4,
        categories in prop::collection::vec((1usize..5, 0usize..4), 0..4),
        point in prop::collection::vec(-9.0f64..9.0, 30),
    ) {
        let schema = |grown: bool| Schema {
            numeric: (0..numeric).map(|i| format!("n{i}")).collect(),
            categorical: categories.iter().enumerate().map(|(i, (own, new))| CategoricalFeature {
                column: format!("c{i}"),
                categories: (0..own + if grown { *new } else { 0 }).map(|l| l.to_string()).collect(),
            }).collect(),
            attributes: Vec::new(),
            target: fairfront_core::Target::Binary,
            hidden: 0,
        };
        let (old, new) = (schema(false), schema(true));
        let point = &point[..=old.n_features()];
        let found = embed(&old, &new, point);
        prop_assert_eq!(found.len(), new.n_features() + 1);
        prop_assert_eq!(found.last(), point.last());
        let by_name = |schema: &Schema, point: &[f64]| -> BTreeMap<String, f64> {
            schema.feature_names().into_iter().zip(point.iter().copied()).collect()
        };
        let (before, after) = (by_name(&old, point), by_name(&new, &found));
        for (name, value) in after {
            prop_assert_eq!(value, before.get(&name).copied().unwrap_or(0.0), "{}", name);
        }
    }
}

proptest! {
    // Each case waits for the disk many times.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn kept_rows_are_read_back_unchanged(
        seed in any::<u64>(), size in 1usize..50, batches in prop::collection::vec(1usize..40, 1..8),
    ) {
        let at = folder();
        let (state, generation) = (at.path(), at.path().join("generation"));
        std::fs::create_dir(&generation).unwrap();
        for keep in [Keep::All, Keep::Window(size), Keep::Reservoir(size)] {
            let mut kept = Kept::new(keep, seed);
            let mut first = 0;
            for (number, n) in batches.iter().enumerate() {
                let batch = number as u64 + 1;
                let new = rows(first..first + n);
                first += n;
                let (rows, info) = (kept.rows().cloned(), kept.info.clone());
                let before = kept.add(batch, &new).unwrap();
                kept.go_back(before).unwrap();
                prop_assert_eq!((kept.rows().cloned(), &kept.info), (rows, &info));
                kept.add(batch, &new).unwrap();
                segment::write(state, batch, &new.to_bytes()).unwrap();
                // Rows that no later batch needs are removed.
                if let Some(oldest) = kept.oldest_segment() {
                    segment::remove_before(state, oldest).unwrap();
                }
                if let Some((name, bytes)) = kept.reservoir() {
                    std::fs::write(generation.join(name), bytes).unwrap();
                }
                let again = Kept::read(keep, seed, kept.info.clone(), state, &generation).unwrap();
                prop_assert_eq!(again.rows(), kept.rows());
                prop_assert_eq!(&again.info, &kept.info);
            }
        }
    }
}

#[test]
fn reservoir_is_uniform() {
    // 400 samples of 30 of 300 rows: each tenth of the stream is expected 1,200 times.
    let mut tenths = [0.0; 10];
    for seed in 0..400 {
        let (_, found) = kept(Keep::Reservoir(30), seed, 300, &[70]);
        for row in found {
            tenths[row / 30] += 1.0;
        }
    }
    let chi_square: f64 = tenths
        .iter()
        .map(|n: &f64| (n - 1_200.0).powi(2) / 1_200.0)
        .sum();
    // With nine degrees of freedom, one value in ten thousand exceeds 33.7.
    assert!(chi_square < 33.7, "{tenths:?}");
}

#[test]
fn empty_batch_does_not_change_kept_rows() {
    for keep in [Keep::All, Keep::Window(5), Keep::Reservoir(5)] {
        let mut kept = Kept::new(keep, 3);
        kept.add(1, &rows(0..8)).unwrap();
        let before = numbers(kept.rows().unwrap());
        kept.add(2, &rows(8..8)).unwrap();
        assert_eq!(numbers(kept.rows().unwrap()), before);
        assert!(kept.info.segments.iter().all(|s| s.batch == 1));
    }
}

fn options(batch: usize) -> StreamOptions {
    let spec = Spec {
        target: Some("y".into()),
        sensitive: vec![vec!["sex".into()]],
        ..Spec::default()
    };
    let solver = SolverChoice {
        solver: AnySolver::Trace(Trace::default()),
        polish: None,
    };
    StreamOptions {
        live: LiveOptions {
            spec,
            request: FitRequest {
                objectives: vec!["error_rate".into(), "demographic_parity(sex)".into()],
                solvers: vec![solver],
                front_in: None,
                penalty: Penalty::default(),
                loss_alone: false,
                family: fairfront_run::FamilyRequest::default(),
            },
            keep: Keep::All,
            objectives_of_number: Vec::new(),
            names: Vec::new(),
        },
        input: InputOptions {
            known: None,
            read: ReadOptions::default(),
            batch,
            asked: serde_json::Value::Null,
        },
    }
}

/// A stream whose folder exists but is empty.
fn begun(at: &Path) -> Stream {
    let mut stream = Stream::begin(at, options(4)).expect("a stream");
    stream.ensure_begun().expect("a state");
    stream
}

fn row(input: usize, number: u64) -> Entry {
    Entry::Row {
        input,
        row: number,
        fields: vec![format!("{input}-{number}")],
    }
}

fn input(number: usize, name: &str) -> Entry {
    Entry::Input {
        input: number,
        name: name.into(),
        identity: name.into(),
    }
}

fn position(input: usize, rows: u64) -> Entry {
    let position = serde_json::json!({
        "rows": rows, "bytes": 9, "sha256": "", "ends_open": false, "separator": 44, "head": 0
    });
    Entry::Position { input, position }
}

/// The waiting rows of a state with these logs, as `input-number`.
fn waiting(logs: &[(u64, Vec<Entry>)]) -> (Vec<String>, u64) {
    let at = folder();
    drop(begun(at.path()));
    for (batch, entries) in logs {
        let (mut spool, _, _) = Spool::open(at.path(), *batch).expect("a log");
        spool.append(entries).expect("appended");
        spool.sync().expect("synced");
    }
    let text = |row: &Row| match &row.fields {
        Ok(fields) => fields[0].clone(),
        Err(bad) => bad.text.clone(),
    };
    let look = || {
        let stream = Stream::open(at.path()).expect("sound").expect("a state");
        let rows: Vec<String> = stream.pending.iter().map(text).collect();
        (rows, stream.stdin_rows())
    };
    let first = look();
    // Opening it again changes nothing, and only one log is left.
    assert_eq!(look(), first);
    assert!(Spool::batches_after(at.path(), 1).unwrap().is_empty());
    first
}

#[test]
fn rows_of_an_interrupted_call_are_read_again() {
    // Without the position of the file its rows do not count, while those of standard input do.
    let log = vec![
        input(0, "-"),
        row(0, 1),
        input(1, "/a.csv"),
        row(1, 1),
        row(0, 2),
    ];
    assert_eq!(waiting(&[(1, log)]), (vec!["0-1".into(), "0-2".into()], 2));
    // Here the position of the first of two calls is stored.
    let log = vec![input(0, "/a.csv"), row(0, 1), position(0, 1), row(0, 2)];
    assert_eq!(waiting(&[(1, log)]), (vec!["0-1".into()], 0));
}

#[test]
fn rows_after_a_lost_generation_are_used_once() {
    // Logs of two batches: files are read again, standard input is not.
    let bad = Entry::Bad {
        input: 0,
        row: 4,
        raw: "0-4".into(),
        reason: "why".into(),
    };
    let first = vec![input(0, "-"), row(0, 1), row(0, 2)];
    let second = vec![row(0, 3), bad, row(1, 1), position(1, 1)];
    let all = ["0-1", "0-2", "0-3", "0-4"].map(String::from).to_vec();
    assert_eq!(
        waiting(&[(1, first.clone()), (2, second)]),
        (all.clone(), 4)
    );
    // An interrupted commit left rows in both.
    let both = vec![row(0, 2), row(0, 3), row(0, 4)];
    assert_eq!(waiting(&[(1, first), (2, both)]), (all, 4));
    // Standard input may have been added later.
    let second = vec![input(1, "-"), row(1, 1)];
    let first = vec![input(0, "/a.csv"), row(0, 1), position(0, 1)];
    let expected = (vec!["0-1".into(), "1-1".into()], 1);
    assert_eq!(waiting(&[(1, first), (2, second)]), expected);
}

#[test]
fn log_truncated_anywhere_gives_its_first_rows() {
    let at = folder();
    let mut stream = begun(at.path());
    let input = stream.journal.input("-", "-");
    for number in 1..=3 {
        let fields = match number {
            2 => Err(BadRecord {
                text: "0-2".into(),
                reason: "why".into(),
            }),
            n => Ok(vec![format!("0-{n}")]),
        };
        stream.pending.push(Row {
            input,
            number,
            fields,
        });
    }
    let entries = stream
        .pending
        .iter()
        .map(|row| row.entry(&Neutral))
        .collect();
    stream.spool(entries).expect("appended");
    stream.sync_spool().expect("synced");
    drop(stream);
    let path = at.path().join("spool/000001.log");
    let whole = std::fs::read(&path).unwrap();
    let mut seen = Vec::new();
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let stream = Stream::open(at.path()).expect("sound").expect("a state");
        assert!(
            stream.diagnostics().is_empty(),
            "a kill is not corruption: {cut}"
        );
        assert_eq!(stream.stdin_rows() as usize, stream.pending.len());
        seen.push(stream.pending.len());
    }
    assert!(seen.is_sorted() && seen.last() == Some(&3), "{seen:?}");
}

#[test]
fn state_is_open_in_one_process_only() {
    let at = folder();
    let stream = begun(at.path());
    let error = Stream::open(at.path()).err().expect("held").to_string();
    assert!(
        error.contains("another process is using this folder"),
        "{error}"
    );
    drop(stream);
    assert!(Stream::open(at.path()).unwrap().is_some());
    // A folder with only a lock starts a new stream.
    let empty = folder();
    drop(Lock::take(empty.path()).unwrap());
    assert!(Stream::open(empty.path()).unwrap().is_none());
    assert!(
        Generations::open(empty.path())
            .unwrap()
            .newest()
            .unwrap()
            .is_none()
    );
    // Other folders are not touched.
    let other = folder();
    std::fs::write(other.path().join("notes.txt"), "mine").unwrap();
    let error = Stream::open(other.path())
        .err()
        .expect("no state")
        .to_string();
    assert!(error.contains("not the state of a stream"), "{error}");
}
