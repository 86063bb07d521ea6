//! A front in memory against streams, against fits of all rows, and against itself.

use std::ops::ControlFlow;
use std::path::Path;

use fairfront_data::{Column, Known, Notice, Prepared, SplitRule};
use fairfront_run::{Penalty, SolverChoice, fit, read_run};
use fairfront_solve::{AnySolver, Progress, StopReason, Trace};

use super::*;
use crate::drift::volume;
use crate::{CommittedBatch, Feed, Stream, StreamOptions, Watcher};

const DEMO: &str = "demo(rows=1200)";

fn demo() -> (Table, Spec) {
    let known = Known::named(DEMO).expect("a name").expect("a known set");
    let spec = Spec {
        sensitive: vec![vec!["sex".into()]],
        ..known.spec()
    };
    let (table, _) = known.open(&spec, None).expect("rows");
    (table, spec)
}

/// Covariances have an exact front, which is found fast.
fn request(objectives: &[&str]) -> FitRequest {
    let trace = Trace {
        points: 15,
        ..Trace::default()
    };
    FitRequest {
        objectives: objectives.iter().map(|o| (*o).to_owned()).collect(),
        solvers: vec![SolverChoice {
            solver: AnySolver::Trace(trace),
            polish: None,
        }],
        front_in: None,
        penalty: Penalty::default(),
        loss_alone: false,
    }
}

fn options(spec: Spec, keep: Keep) -> LiveOptions {
    LiveOptions {
        spec,
        request: request(&["log_loss", "disparate_impact(sex)"]),
        keep,
        names: Vec::new(),
    }
}

fn batches(table: &Table, size: usize) -> Vec<Table> {
    let all: Vec<usize> = (0..table.n_rows()).collect();
    all.chunks(size).map(|rows| table.select(rows)).collect()
}

fn fed(options: &LiveOptions, batches: Vec<Table>) -> Live {
    let mut live = Live::begin(options.clone()).expect("options");
    for batch in batches {
        live.update(batch, &mut ())
            .expect("taken")
            .expect("a front");
    }
    live
}

/// The table and encoding of the newest front, as what may be compared.
fn front(live: &Live) -> (FrontTable, String) {
    let Run {
        front, encoding, ..
    } = live.run().expect("a front");
    (front, encoding.to_json())
}

/// A small table: one number, one text, a target and who it is about.
fn rows(of: &[(f64, &str, &str, &str)]) -> Table {
    let text = |name: &str, value: fn(&(f64, &str, &str, &str)) -> String| {
        Column::from_texts(name, of.iter().map(|row| Some(value(row))))
    };
    let columns = vec![
        Column::from_numbers("x", of.iter().map(|row| row.0).collect()),
        text("job", |row| row.1.into()),
        text("y", |row| row.2.into()),
        text("sex", |row| row.3.into()),
    ];
    Table::from_columns("X", columns)
}

/// Rows of these jobs, classes and groups in all combinations.
fn mixed(jobs: &[&str], classes: &[&str], groups: &[&str], n: usize) -> Table {
    let row = |i: usize| {
        let (job, class) = (jobs[i / 2 % jobs.len()], classes[i % classes.len()]);
        let group = groups[i / 3 % groups.len()];
        let x = (i * 7 % 11) as f64 + if class == "1" { 2.0 } else { 0.0 };
        (x, job, class, group)
    };
    rows(&(0..n).map(row).collect::<Vec<_>>())
}

fn small(keep: Keep) -> LiveOptions {
    let spec = Spec {
        target: Some("y".into()),
        positive: Some("1".into()),
        sensitive: vec![vec!["sex".into()]],
        split: SplitRule::None,
        ..Spec::default()
    };
    options(spec, keep)
}

struct Quiet(());

impl Watcher for Quiet {
    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.0
    }
    fn is_stopped(&self) -> bool {
        false
    }
    fn committed(&mut self, _: &CommittedBatch) {}
    fn notice(&mut self, _: &Notice) {}
}

/// The front of a stream over the same rows, and what it has come to.
fn streamed(at: &Path, live: &LiveOptions, batch: usize) -> ((FrontTable, String), StreamInfo) {
    let options = StreamOptions {
        known: Some(DEMO.into()),
        spec: live.spec.clone(),
        read: fairfront_data::ReadOptions::default(),
        request: live.request.clone(),
        batch,
        keep: live.keep,
        asked: serde_json::Value::Null,
    };
    let mut stream = Stream::begin(at, options).expect("a stream");
    let feed = Feed {
        follow: false,
        flush: true,
        max_rejected: None,
        skip_batch: false,
        skip: None,
    };
    stream
        .feed(&[DEMO.into()], &feed, &mut Quiet(()))
        .expect("taken");
    let (info, front) = read_run(at).expect("a run");
    let current = stream.current.as_ref().expect("a front");
    let front = (front, current.encoding.to_json());
    (front, info.stream.expect("a stream"))
}

#[test]
fn it_is_a_stream_without_a_folder() {
    let (table, spec) = demo();
    let shares = SplitRule::Shares([70.0, 30.0, 0.0, 0.0]);
    for (keep, split) in [
        (Keep::All, SplitRule::None),
        (Keep::Window(500), shares.clone()),
        (Keep::Reservoir(450), shares),
    ] {
        let spec = Spec {
            split,
            ..spec.clone()
        };
        let options = options(spec, keep);
        let live = fed(&options, batches(&table, 500));
        let folder = tempfile::tempdir().expect("a folder");
        let (stream, info) = streamed(&folder.path().join("state"), &options, 500);
        assert_eq!(front(&live), stream, "{keep:?}");
        assert_eq!(live.run().expect("a front").info.stream, Some(info.clone()));
        assert_eq!(
            (live.batches(), live.rows(), live.kept()),
            (3, 1200, info.kept)
        );
        assert!(!live.dropped().is_empty(), "this set has missing values");
    }
}

#[test]
fn batches_come_to_the_front_of_all_rows() {
    let (table, spec) = demo();
    let spec = Spec {
        split: SplitRule::None,
        ..spec
    };
    let options = options(spec.clone(), Keep::All);
    let mut live = Live::begin(options.clone()).unwrap();
    let mut last = None;
    for batch in batches(&table, 400) {
        last = live.update(batch, &mut ()).unwrap();
    }
    let last = last.expect("a front");
    let prepared = Prepared::new(table, &spec, &[]).unwrap();
    let whole = fit(&prepared, &options.request, &mut ()).unwrap();
    let reference = &whole.standing.reference;
    let of = |fitted: &Fitted| volume(&fitted.standing.front, reference).unwrap().unwrap();
    let (batched, whole) = (of(&last), of(&whole));
    // The penalty of the loss sees features scaled by the first batch instead of all rows.
    assert!((batched - whole).abs() < 0.02 * whole, "{batched} {whole}");
}

#[test]
fn bytes_in_the_middle_change_nothing() {
    let (table, spec) = demo();
    let options = options(spec, Keep::Reservoir(600));
    let parts = batches(&table, 300);
    let whole = fed(&options, parts.clone());
    let mut live = Live::begin(options).unwrap();
    for part in parts {
        live = Live::from_bytes(&live.to_bytes().unwrap()).expect("sound");
        live.update(part, &mut ()).unwrap().expect("a front");
    }
    assert_eq!(front(&live), front(&whole));
    let (bytes, again) = (live.to_bytes().unwrap(), live.to_bytes().unwrap());
    assert_eq!(bytes, again);
    assert_eq!(Live::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
    // Anything else is refused.
    for cut in [0, 7, 8, 12, 20, 51, bytes.len() / 2, bytes.len() - 1] {
        assert!(Live::from_bytes(&bytes[..cut]).is_err(), "{cut}");
    }
    for at in (0..bytes.len()).step_by(bytes.len() / 97) {
        let mut other = bytes.clone();
        other[at] ^= 0x10;
        assert!(Live::from_bytes(&other).is_err(), "{at}");
    }
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let mut live = Live::begin(small(Keep::All)).unwrap();
    let rows = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 40);
    live.update(rows, &mut ()).unwrap().expect("a front");
    let bytes = live.to_bytes().unwrap();
    let changed = |pointer: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let length = u64::from_le_bytes(bytes[12..HEADER].try_into().unwrap()) as usize;
        let (text, rest) = bytes[HEADER..].split_at(length);
        let mut memory: serde_json::Value = serde_json::from_slice(text).unwrap();
        change(memory.pointer_mut(pointer).expect("a part"));
        let text = serde_json::to_vec(&memory).unwrap();
        let mut other = bytes[..12].to_vec();
        other.extend_from_slice(&(text.len() as u64).to_le_bytes());
        other.extend_from_slice(&text);
        other.extend_from_slice(&rest[..rest.len() - SUM]);
        let sum = Sha256::digest(&other);
        other.extend_from_slice(&sum);
        Live::from_bytes(&other)
    };
    assert!(changed("/batches", &|_| {}).is_ok());
    let levels = "/settled/encoding/categorical/0/levels";
    let fewer = changed(levels, &|levels| {
        levels.as_array_mut().unwrap().pop();
    });
    let twice = changed(levels, &|levels| {
        let levels = levels.as_array_mut().unwrap();
        levels.push(levels[0].clone());
    });
    for refused in [fewer, twice] {
        let error = refused.err().map(|error| error.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains("do not belong together"), "{error}");
    }
}

#[test]
fn rows_of_one_class_or_group_wait() {
    let options = small(Keep::All);
    let mut live = Live::begin(options.clone()).unwrap();
    let parts = [
        (
            mixed(&["a", "b"], &["0"], &["f", "m"], 20),
            "one value only",
        ),
        (mixed(&["c"], &["0"], &["m"], 10), "one value only"),
    ];
    for (part, why) in &parts {
        assert!(live.update(part.clone(), &mut ()).unwrap().is_none());
        assert!(
            live.waiting().unwrap().contains(why),
            "{:?}",
            live.waiting()
        );
        assert!(live.run().is_none() && live.encoding().is_none());
        live = Live::from_bytes(&live.to_bytes().unwrap()).unwrap();
    }
    assert_eq!((live.batches(), live.rows(), live.kept()), (2, 30, 30));
    let rest = mixed(&["a", "d"], &["0", "1"], &["f", "m"], 40);
    live.update(rest.clone(), &mut ())
        .unwrap()
        .expect("a front");
    assert_eq!((live.waiting(), live.kept()), (None, 70));
    // They are the rows of one batch.
    let mut all = HeldRows::default();
    let parts = parts.map(|(part, _)| part);
    parts
        .iter()
        .chain([&rest])
        .for_each(|t| all.append(t).unwrap());
    let at_once = fed(&options, vec![all.table("X")]);
    assert_eq!(front(&live), front(&at_once));
    // One group alone waits as well.
    let mut live = Live::begin(options).unwrap();
    let part = mixed(&["a", "b"], &["0", "1"], &["f"], 20);
    assert!(live.update(part, &mut ()).unwrap().is_none());
    assert!(live.waiting().unwrap().contains("one group only"));
}

#[test]
fn new_levels_and_groups_are_learned() {
    let first = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 60);
    let later = mixed(&["b", "pilot"], &["0", "1"], &["m", "x"], 60);
    let live = fed(&small(Keep::All), vec![first, later]);
    let encoding = live.encoding().unwrap();
    let levels = &encoding.categorical[0].levels;
    assert!(levels.last().unwrap() == "pilot", "{levels:?}");
    assert_eq!(encoding.attributes[0].attribute.groups, ["f", "m", "x"]);
    let Run {
        info,
        front,
        encoding,
        ..
    } = live.run().unwrap();
    let n_params = encoding.schema().n_features() + 1;
    assert!(front.params.iter().all(|p| p.len() == n_params));
    assert!(
        front.names.iter().any(|name| name.contains("sex=x")),
        "{:?}",
        front.names
    );
    let stream = info.stream.unwrap();
    assert_eq!(
        (info.source.as_str(), stream.batches, stream.updated),
        ("partial_fit", 2, 2)
    );
}

#[test]
fn a_window_forgets() {
    let first = mixed(&["a", "b"], &["0", "1"], &["f", "m", "x"], 60);
    let later = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 60);
    let mut live = fed(&small(Keep::Window(60)), vec![first, later]);
    assert_eq!(live.kept(), 60);
    // A group that left is none of the front's.
    assert_eq!(
        live.encoding().unwrap().attributes[0].attribute.groups,
        ["f", "m"]
    );
    // Rows of one class say nothing: the front of before stands, and the rows are taken.
    let before = front(&live);
    let alike = mixed(&["a", "z"], &["1"], &["f", "m"], 60);
    assert!(live.update(alike, &mut ()).unwrap().is_none());
    assert!(live.waiting().unwrap().contains("all 60 training rows"));
    assert_eq!(front(&live), before);
    let stream = live.run().unwrap().info.stream.unwrap();
    assert_eq!((stream.batches, stream.updated, stream.rows), (3, 2, 180));
    // It goes on from there.
    let live_again = Live::from_bytes(&live.to_bytes().unwrap());
    for mut live in [live, live_again.unwrap()] {
        let more = mixed(&["a", "z"], &["0", "1"], &["f", "m"], 60);
        live.update(more, &mut ()).unwrap().expect("a front");
        assert!(live.waiting().is_none());
    }
}

#[test]
fn errors_leave_everything_as_it_was() {
    let spec = Spec {
        weight: Some("w".into()),
        ..small(Keep::All).spec
    };
    let options = options(spec, Keep::All);
    let weighted = |table: &Table, weight: f64| {
        let mut columns = table.columns().to_vec();
        let weights = vec![weight; table.n_rows()];
        columns.push(Column::from_numbers("w", weights));
        Table::from_columns("X", columns)
    };
    let plain = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 40);
    let good = weighted(&plain, 2.0);
    let without = |name: &str| {
        let columns = good.columns().iter().filter(|c| c.name != name);
        Table::from_columns("X", columns.cloned().collect())
    };
    let retyped = {
        let mut columns = good.columns().to_vec();
        columns[1] = Column::from_numbers("job", vec![3.0; 40]);
        Table::from_columns("X", columns)
    };
    let extra = {
        let mut columns = good.columns().to_vec();
        columns.push(Column::from_numbers("z", vec![3.0; 40]));
        Table::from_columns("X", columns)
    };
    let class = mixed(&["a", "b"], &["0", "2"], &["f", "m"], 40);
    let empty = good.select(&[]);
    let bad = [
        (weighted(&plain, -1.0), "the weight is -1"),
        (without("job"), "it lacks \"job\""),
        (
            retyped,
            "column \"job\": it is numeric here and was categorical",
        ),
        (extra, "it also has \"z\""),
        (weighted(&class, 1.0), "which no row of the first batch had"),
        (empty, "no rows"),
    ];
    let alike = weighted(&mixed(&["a", "b"], &["0"], &["f", "m"], 40), 1.0);
    // With a front, and while rows wait for one.
    for (first, is_known) in [(&good, true), (&alike, false)] {
        let mut live = Live::begin(options.clone()).unwrap();
        live.update(first.clone(), &mut ()).unwrap();
        let before = live.to_bytes().unwrap();
        for (table, message) in &bad {
            if !is_known && message.starts_with("which no row") {
                continue;
            }
            let error = live.update(table.clone(), &mut ()).expect_err(message);
            assert!(error.to_string().contains(message), "{error}");
            assert_eq!(live.to_bytes().unwrap(), before, "{message}");
        }
        live.update(good.clone(), &mut ())
            .unwrap()
            .expect("a front");
        assert_eq!(live.rows(), 80);
    }
    // A first batch is refused the same way.
    let mut live = Live::begin(options).unwrap();
    for table in [weighted(&plain, -1.0), without("sex"), without("w")] {
        assert!(live.update(table, &mut ()).is_err());
        assert_eq!((live.batches(), live.kept()), (0, 0));
    }
}

#[test]
fn attributes_may_have_names_of_their_own() {
    let named = LiveOptions {
        request: request(&["log_loss", "disparate_impact(gender)"]),
        names: vec!["gender".into()],
        ..small(Keep::All)
    };
    let parts = || {
        let first = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 60);
        vec![first, mixed(&["b", "c"], &["0", "1"], &["m", "x"], 60)]
    };
    let live = fed(&named, parts());
    let attribute = &live.encoding().unwrap().attributes[0];
    assert_eq!(attribute.attribute.name, "gender");
    assert_eq!(attribute.attribute.groups, ["f", "m", "x"]);
    let points = |live: &Live| live.run().unwrap().front.params;
    assert_eq!(points(&live), points(&fed(&small(Keep::All), parts())));
    // The usual objectives are about the name.
    let usual = LiveOptions {
        request: request(&[]),
        ..named.clone()
    };
    let live = Live::begin(usual).unwrap();
    assert_eq!(
        live.options().request.objectives[1],
        "demographic_parity(gender)"
    );
    let two = LiveOptions {
        names: vec!["a".into(), "b".into()],
        ..named
    };
    assert!(Live::begin(two).unwrap_err().is_usage());
}

struct Stopping;

impl Observer for Stopping {
    fn round(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

#[test]
fn a_front_whose_solver_was_stopped_counts() {
    let (table, spec) = demo();
    let mut live = Live::begin(options(spec, Keep::All)).unwrap();
    for (at, part) in batches(&table, 600).into_iter().enumerate() {
        let fitted = live.update(part, &mut Stopping).unwrap().expect("a front");
        assert_eq!(fitted.outcome.stop, StopReason::Stopped);
        assert_eq!(
            (live.batches(), live.rows()),
            (at as u64 + 1, 600 * (at as u64 + 1))
        );
        assert_eq!(live.run().unwrap().front.len(), fitted.outcome.front.len());
    }
}

#[test]
fn a_batch_with_a_huge_number_is_refused_and_the_next_one_taken() {
    let good = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 240);
    let mut huge = vec![(1.0, "a", "0", "f"); 20];
    huge[3].0 = 1e200;
    let huge = rows(&huge);
    let refused = |live: &mut Live| {
        let error = live.update(huge.clone(), &mut ()).expect_err("too large");
        assert!(
            error
                .to_string()
                .contains("(row 4) because of column \"x\": 1e200 is too large for a feature"),
            "{error}"
        );
    };
    let mut live = Live::begin(small(Keep::All)).expect("options");
    refused(&mut live);
    assert_eq!((live.batches(), live.kept()), (0, 0));
    let first = live.update(good.clone(), &mut ()).expect("taken");
    assert!(first.is_some());
    refused(&mut live);
    assert_eq!((live.batches(), live.kept()), (1, 240));
    assert!(live.update(good, &mut ()).expect("taken").is_some());
    assert_eq!(live.kept(), 480);
}
