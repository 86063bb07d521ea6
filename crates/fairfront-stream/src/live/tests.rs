//! Compares a front in memory with streams, with fits of all rows, and with itself.

mod number;

use std::ops::ControlFlow;
use std::path::Path;

use fairfront_data::{Column, Diagnostic, Known, Prepared, Spec, SplitRule};
use fairfront_run::store::sums_of;
use fairfront_run::{FitRequest, FrontTable, Keep, Penalty, RunFiles, SolverChoice, fit, read_run};
use fairfront_solve::{AnySolver, Progress, StopReason, Trace};

use super::*;
use crate::drift::volume;
use crate::{CommittedBatch, Feed, InputOptions, Stream, StreamOptions, Watcher};

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

/// Covariances have an exact front, which is computed fast.
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
        family: fairfront_run::FamilyRequest::default(),
    }
}

fn options(spec: Spec, keep: Keep) -> LiveOptions {
    LiveOptions {
        spec,
        request: request(&["log_loss", "score_covariance(sex)"]),
        keep,
        objectives_of_number: Vec::new(),
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
        updated(&mut live, batch);
    }
    live
}

/// Takes a batch that gives a new front.
fn updated(live: &mut Live, batch: Table) -> Fitted {
    let update = live.update(batch, &mut ()).expect("taken");
    update.expect("a front").fitted.expect("a new front")
}

/// The stream stored in these files.
fn read(files: &RunFiles) -> Result<Live, Error> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
    Live::from_files(&files)
}

/// The same stream, read from its files.
fn again(live: &Live) -> Live {
    read(&live.to_files().expect("files")).expect("sound")
}

/// The table and encoding of the newest front, for comparisons.
fn front(live: &Live) -> (FrontTable, String) {
    let Run {
        front, encoding, ..
    } = live.run().expect("a front");
    (front, encoding.to_json())
}

/// A small table: a number, a string, a target and a sensitive column.
fn rows(of: &[(f64, &str, &str, &str)]) -> Table {
    let text = |name: &str, value: fn(&(f64, &str, &str, &str)) -> String| {
        Column::from_strings(name, of.iter().map(|row| Some(value(row))))
    };
    let columns = vec![
        Column::from_numbers("x", of.iter().map(|row| row.0).collect()),
        text("job", |row| row.1.into()),
        text("y", |row| row.2.into()),
        text("sex", |row| row.3.into()),
    ];
    Table::from_columns("X", columns)
}

/// Rows with all combinations of these jobs, classes and groups.
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
    fn diagnostic(&mut self, _: &Diagnostic) {}
}

/// The front of a stream over the same rows, and its final state.
fn streamed(at: &Path, live: &LiveOptions, batch: usize) -> ((FrontTable, String), StreamInfo) {
    let options = StreamOptions {
        live: live.clone(),
        input: InputOptions {
            known: Some(DEMO.into()),
            read: fairfront_data::ReadOptions::default(),
            batch,
            asked: serde_json::Value::Null,
        },
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
    let encoding = stream.live.encoding().expect("a front");
    let front = (front, encoding.to_json());
    (front, info.stream.expect("a stream"))
}

#[test]
fn live_equals_a_stream_in_a_folder() {
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
fn batches_reach_the_front_of_all_rows() {
    let (table, spec) = demo();
    let spec = Spec {
        split: SplitRule::None,
        ..spec
    };
    let options = options(spec.clone(), Keep::All);
    let mut live = Live::begin(options.clone()).unwrap();
    let mut last = None;
    for batch in batches(&table, 400) {
        last = Some(updated(&mut live, batch));
    }
    let last = last.expect("a front");
    let prepared = Prepared::new(table, &spec, &[]).unwrap();
    let whole = fit(&prepared, &options.request, &mut ()).unwrap();
    let reference = &whole.standing.reference;
    let of = |fitted: &Fitted| volume(&fitted.standing.front, reference).unwrap().unwrap();
    let (batched, whole) = (of(&last), of(&whole));
    // The penalty of the loss applies to features scaled by the first batch instead of all rows.
    assert!((batched - whole).abs() < 0.02 * whole, "{batched} {whole}");
}

#[test]
fn saving_and_reading_changes_nothing() {
    let (table, spec) = demo();
    let options = options(spec, Keep::Reservoir(600));
    let parts = batches(&table, 300);
    let whole = fed(&options, parts.clone());
    let mut live = Live::begin(options).unwrap();
    for part in parts {
        live = again(&live);
        updated(&mut live, part);
    }
    assert_eq!(front(&live), front(&whole));
    let files = live.to_files().unwrap();
    assert_eq!(again(&live).to_files().unwrap(), files);
    // All other files are rejected.
    for at in 0..files.len() {
        let mut fewer = files.clone();
        let (name, bytes) = fewer.remove(at);
        assert!(read(&fewer).is_err(), "without {name}");
        for place in (0..bytes.len()).step_by(bytes.len() / 17 + 1) {
            let mut other = files.clone();
            other[at].1[place] ^= 0x10;
            assert!(read(&other).is_err(), "{name}: changed at {place}");
            other[at].1.truncate(place);
            assert!(read(&other).is_err(), "{name}: cut at {place}");
        }
    }
}

#[test]
fn files_match_those_of_a_generation() {
    let (table, spec) = demo();
    let options = options(spec, Keep::Reservoir(600));
    let live = fed(&options, batches(&table, 700));
    let folder = tempfile::tempdir().expect("a folder");
    streamed(folder.path(), &options, 700);
    let generation = folder.path().join("current");
    let json = |bytes: &[u8]| -> serde_json::Value {
        let mut json: serde_json::Value = serde_json::from_slice(bytes).expect("JSON");
        // A table has its own types; strings are read with the types of the first batch.
        json.pointer_mut("/settled/types").expect("types").take();
        json
    };
    for (name, bytes) in live.to_files().unwrap() {
        let found = std::fs::read(generation.join(name)).expect(name);
        match name {
            "state.json" => assert_eq!(json(&found), json(&bytes)),
            // Durations and the name of the source differ.
            "run.json" | "SHA256SUMS" => {}
            name => assert!(found == bytes, "{name}"),
        }
    }
}

#[test]
fn mismatched_parts_are_rejected() {
    let mut live = Live::begin(small(Keep::All)).unwrap();
    let rows = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 40);
    updated(&mut live, rows);
    let files = live.to_files().unwrap();
    let changed = |pointer: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let mut other = files.clone();
        let state = other.iter_mut().find(|(name, _)| *name == "state.json");
        let (_, bytes) = state.expect("a state");
        let mut state: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        change(state.pointer_mut(pointer).expect("a part"));
        *bytes = serde_json::to_vec(&state).unwrap();
        let named: Vec<(&str, &[u8])> = other.iter().map(|(n, b)| (*n, b.as_slice())).collect();
        let sums = sums_of(&named);
        other.retain(|(name, _)| *name != sums.0);
        other.push(sums);
        read(&other)
    };
    assert!(changed("/batches", &|_| {}).is_ok());
    let categories = "/settled/encoding/categorical/0/categories";
    let fewer = changed(categories, &|categories| {
        categories.as_array_mut().unwrap().pop();
    });
    let twice = changed(categories, &|categories| {
        let categories = categories.as_array_mut().unwrap();
        categories.push(categories[0].clone());
    });
    for refused in [fewer, twice] {
        let error = refused.err().map(|error| error.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains("have different features"), "{error}");
    }
    let without = changed("/settled", &|settled| *settled = serde_json::Value::Null);
    let error = without.expect_err("rows of no front").to_string();
    assert!(error.contains("do not match"), "{error}");
}

#[test]
fn rows_of_one_class_or_group_wait() {
    let options = small(Keep::All);
    let mut live = Live::begin(options.clone()).unwrap();
    let parts = [
        (
            mixed(&["a", "b"], &["0"], &["f", "m"], 20),
            "only one value",
        ),
        (mixed(&["c"], &["0"], &["m"], 10), "only one value"),
    ];
    for (part, why) in &parts {
        assert!(live.update(part.clone(), &mut ()).unwrap().is_none());
        assert!(
            live.waiting().unwrap().contains(why),
            "{:?}",
            live.waiting()
        );
        assert!(live.run().is_none() && live.encoding().is_none());
        live = again(&live);
    }
    assert_eq!((live.batches(), live.rows(), live.kept()), (2, 30, 30));
    let rest = mixed(&["a", "d"], &["0", "1"], &["f", "m"], 40);
    updated(&mut live, rest.clone());
    assert_eq!((live.waiting(), live.kept()), (None, 70));
    // They count as one batch.
    let mut all = HeldRows::default();
    let parts = parts.map(|(part, _)| part);
    parts
        .iter()
        .chain([&rest])
        .for_each(|t| all.append(t).unwrap());
    let at_once = fed(&options, vec![all.table("X")]);
    assert_eq!(front(&live), front(&at_once));
    // Rows of a single group also wait.
    let mut live = Live::begin(options).unwrap();
    let part = mixed(&["a", "b"], &["0", "1"], &["f"], 20);
    assert!(live.update(part, &mut ()).unwrap().is_none());
    assert!(live.waiting().unwrap().contains("only one group"));
}

#[test]
fn new_categories_and_groups_are_learned() {
    let first = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 60);
    let later = mixed(&["b", "pilot"], &["0", "1"], &["m", "x"], 60);
    let live = fed(&small(Keep::All), vec![first, later]);
    let encoding = live.encoding().unwrap();
    let categories = &encoding.categorical[0].categories;
    assert!(categories.last().unwrap() == "pilot", "{categories:?}");
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
fn window_drops_old_rows() {
    let first = mixed(&["a", "b"], &["0", "1"], &["f", "m", "x"], 60);
    let later = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 60);
    let mut live = fed(&small(Keep::Window(60)), vec![first, later]);
    assert_eq!(live.kept(), 60);
    // A group that is no longer in the window is not part of the front.
    assert_eq!(
        live.encoding().unwrap().attributes[0].attribute.groups,
        ["f", "m"]
    );
    // Rows of one class give no front: the previous front still applies, and the rows are kept.
    let before = front(&live);
    let one_class = mixed(&["a", "z"], &["1"], &["f", "m"], 60);
    let update = live.update(one_class, &mut ()).unwrap().expect("an update");
    assert!(update.fitted.is_none());
    let why = update.drift.front.kept_because;
    assert_eq!(why.as_deref(), live.waiting());
    assert!(live.waiting().unwrap().contains("all 60 training rows"));
    assert_eq!(front(&live), before);
    let stream = live.run().unwrap().info.stream.unwrap();
    assert_eq!((stream.batches, stream.updated, stream.rows), (3, 2, 180));
    // The stream continues from there.
    let live_again = again(&live);
    for mut live in [live, live_again] {
        let more = mixed(&["a", "z"], &["0", "1"], &["f", "m"], 60);
        updated(&mut live, more);
        assert!(live.waiting().is_none());
    }
}

#[test]
fn errors_change_nothing() {
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
        (without("job"), "it does not have \"job\""),
        (
            retyped,
            "column \"job\": it is numeric here but was categorical",
        ),
        (extra, "it also has \"z\""),
        (
            weighted(&class, 1.0),
            "which did not occur in the first batch",
        ),
        (empty, "no rows"),
    ];
    let one_class = weighted(&mixed(&["a", "b"], &["0"], &["f", "m"], 40), 1.0);
    // With a front, and while rows wait for one.
    for (first, is_known) in [(&good, true), (&one_class, false)] {
        let mut live = Live::begin(options.clone()).unwrap();
        live.update(first.clone(), &mut ()).unwrap();
        let before = live.to_files().unwrap();
        for (table, message) in &bad {
            if !is_known && message.starts_with("which did not occur") {
                continue;
            }
            let error = live.update(table.clone(), &mut ()).expect_err(message);
            assert!(error.to_string().contains(message), "{error}");
            assert_eq!(live.to_files().unwrap(), before, "{message}");
        }
        updated(&mut live, good.clone());
        assert_eq!(live.rows(), 80);
    }
    // A first batch is rejected in the same way.
    let mut live = Live::begin(options).unwrap();
    for table in [weighted(&plain, -1.0), without("sex"), without("w")] {
        assert!(live.update(table, &mut ()).is_err());
        assert_eq!((live.batches(), live.kept()), (0, 0));
    }
}

#[test]
fn attributes_may_have_their_own_names() {
    let named = LiveOptions {
        request: request(&["log_loss", "score_covariance(gender)"]),
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
    // The default objectives use this name.
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
fn front_of_a_stopped_solver_counts() {
    let (table, spec) = demo();
    let mut live = Live::begin(options(spec, Keep::All)).unwrap();
    for (at, part) in batches(&table, 600).into_iter().enumerate() {
        let update = live.update(part, &mut Stopping).unwrap();
        let fitted = update.and_then(|u| u.fitted).expect("a front");
        assert_eq!(fitted.outcome.stop, StopReason::Stopped);
        assert_eq!(
            (live.batches(), live.rows()),
            (at as u64 + 1, 600 * (at as u64 + 1))
        );
        assert_eq!(live.run().unwrap().front.len(), fitted.outcome.front.len());
    }
}

#[test]
fn batch_after_one_with_a_huge_number_is_accepted() {
    let good = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 240);
    let mut huge = vec![(1.0, "a", "0", "f"); 20];
    huge[3].0 = 1e200;
    let huge = rows(&huge);
    let refused = |live: &mut Live| {
        let error = live.update(huge.clone(), &mut ()).expect_err("too large");
        assert!(
            error
                .to_string()
                .contains("in row 4: column \"x\": 1e200 is too large for a feature"),
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

#[test]
fn batch_after_one_that_cannot_be_fitted_is_accepted() {
    // Tracing cannot hold the covariance of errors at 0 with more than 1,000 parameters.
    let options = LiveOptions {
        request: request(&["log_loss", "score_covariance(sex, given=positive)"]),
        ..small(Keep::All)
    };
    let good = mixed(&["a", "b"], &["0", "1"], &["f", "m"], 240);
    let jobs: Vec<String> = (0..1100).map(|i| format!("job {i}")).collect();
    let jobs: Vec<&str> = jobs.iter().map(String::as_str).collect();
    let many = mixed(&jobs, &["0", "1"], &["f", "m"], 2200);
    let mut live = fed(&options, vec![good.clone()]);
    let before = live.to_files().unwrap();
    let error = live.update(many, &mut ()).expect_err("too many parameters");
    let error = error.to_string();
    assert!(error.contains("objective 2 cannot be held at 0"), "{error}");
    assert_eq!(live.to_files().unwrap(), before);
    updated(&mut live, good);
    assert_eq!((live.batches(), live.kept()), (2, 480));
}
