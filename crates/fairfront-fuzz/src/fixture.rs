//! Valid files that targets mutate. The program itself writes them, once per process, so that they
//! always have the current format.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use fairfront_data::{Diagnostic, Facts, Prepared, ReadOptions, Spec, pack_files};
use fairfront_model::ModelId;
use fairfront_run::{
    Ask, AuditSource, BaselineRequest, Checkpoints, Demand, FitRequest, Keep, LdaRequest,
    Performance, Run, SolverName, Tolerance, attribute_texts, certify_fit, fit,
    fit_with_checkpoints,
};
use fairfront_solve::{Observer, Progress};
use fairfront_stream::{
    CommittedBatch, Feed, InputOptions, Live, LiveOptions, Stream, StreamOptions, Watcher,
};

use crate::scratch;

/// Files by their paths within a folder.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// A table with numbers, categories, a date, missing values, quotes and two sensitive columns.
pub(crate) fn csv() -> String {
    let mut text = String::from("age,job,joined,\"hours, weekly\",sex,race,approved\n");
    let jobs = [
        "nurse",
        "clerk",
        "\"cook, chef\"",
        "\"a \"\"smith\"\"\"",
        "",
    ];
    for row in 0..180_usize {
        let noise = row * 7_919 % 101;
        let age = match noise {
            3 | 50 => "?".to_owned(),
            _ => (18 + noise / 2).to_string(),
        };
        let sex = ["f", "m"][row % 2];
        let race = ["a", "b", "c"][row * 31 % 3];
        let hours = 20.5 + (noise * 13 % 40) as f64 / 2.0;
        let yes = noise + 25 * (row % 2) + 10 * (row % 3) > 70;
        let approved = if yes { "yes" } else { "no" };
        let (month, day) = (1 + row % 12, 1 + row % 28);
        let job = jobs[noise % jobs.len()];
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{age},{job},2021-{month:02}-{day:02},{hours},{sex},{race},{approved}"
        );
    }
    text
}

/// The roles of the columns of this table.
pub(crate) fn spec() -> Spec {
    Spec {
        target: Some("approved".into()),
        positive: Some("yes".into()),
        sensitive: vec![vec!["sex".into()], vec!["race".into()]],
        ..Spec::default()
    }
}

/// A fit that takes little time.
pub(crate) fn request(spec: &Spec) -> FitRequest {
    request_of(SolverName::Trace, spec)
}

pub(crate) fn prepared() -> &'static Prepared {
    static MADE: OnceLock<Prepared> = OnceLock::new();
    MADE.get_or_init(|| {
        let file = scratch::file("fixture.csv", csv().as_bytes()).expect("a place for files");
        let prepared = Prepared::from_files(&[file], &spec(), ReadOptions::default());
        prepared.expect("the table of the fixture is valid")
    })
}

/// The rows of this table as a block file.
pub(crate) fn block_file() -> &'static [u8] {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    MADE.get_or_init(|| {
        let made = || -> Result<Vec<u8>, String> {
            let file = scratch::file("packed.csv", csv().as_bytes())?;
            let folder = scratch::folder("packed", &[])?;
            let out = folder.join("rows.ffb");
            let (files, options) = ([file], ReadOptions::default());
            pack_files(&files, &spec(), options, &out, &folder, &mut |_| {})
                .map_err(|e| e.to_string())?;
            std::fs::read(out).map_err(|e| e.to_string())
        };
        made().expect("the table of the fixture can be packed")
    })
}

/// A run with a certificate.
pub(crate) fn run() -> &'static Run {
    static MADE: OnceLock<Run> = OnceLock::new();
    MADE.get_or_init(|| {
        let prepared = prepared();
        let fitted = fit(prepared, &request(&prepared.spec), &mut ());
        let facts = Facts::of(prepared).expect("the table of the fixture is valid");
        let mut run = Run::of(&facts, &fitted.expect("the fixture can be fitted"));
        let demand = Demand::parse(&["accuracy >= 0.1".into()], 0.9, false, None);
        let demand = demand.expect("the requirement of the fixture is valid");
        certify_fit(&mut run, &demand, Vec::new()).expect("the fixture can be certified");
        run
    })
}

/// The files of the run.
pub(crate) fn run_files() -> &'static Files {
    static MADE: OnceLock<Files> = OnceLock::new();
    MADE.get_or_init(|| {
        let files = run().clone().to_files().expect("a run has files");
        files.into_iter().map(|(n, b)| (n.to_owned(), b)).collect()
    })
}

/// The data of a search for alternatives to the labels themselves.
pub(crate) fn search() -> &'static [u8] {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    MADE.get_or_init(|| {
        let made = || -> Result<Vec<u8>, String> {
            let table = scratch::file("fixture.csv", csv().as_bytes())?;
            let folder = scratch::folder("searched", run_files())?;
            let request = LdaRequest {
                baseline: BaselineRequest {
                    source: AuditSource::Column {
                        file: None,
                        column: "approved".into(),
                    },
                    threshold: None,
                    selected: vec!["yes".into()],
                    unseen: true,
                },
                tolerance: Tolerance {
                    of: Performance::Accuracy,
                    amount: 0.9,
                },
                measures: Vec::new(),
                references: vec![("race".into(), "a".into())],
                confidence: 0.9,
                notes: vec!["A note with \"quotes\" and <tags>".into()],
            };
            let found = fairfront_run::search(&folder, &[table], &request, None);
            let found = found.map_err(|e| e.to_string())?;
            let files = found.files().map_err(|e| e.to_string())?.files;
            Ok(files
                .into_iter()
                .next()
                .map(|(_, bytes)| bytes)
                .unwrap_or_default())
        };
        made().expect("the run of the fixture can be searched")
    })
}

/// A model file.
pub(crate) fn model() -> &'static str {
    static MADE: OnceLock<String> = OnceLock::new();
    MADE.get_or_init(|| {
        let model = run()
            .model("runs/fuzz", ModelId::of_index(1))
            .expect("the front has models");
        model.to_json()
    })
}

/// An observer that prints nothing and never stops.
pub(crate) struct Silent;

impl Watcher for Silent {
    fn observer(&mut self) -> &mut dyn Observer {
        // A unit is zero-sized, so the box takes no memory.
        Box::leak(Box::new(()))
    }
    fn is_stopped(&self) -> bool {
        false
    }
    fn committed(&mut self, _: &CommittedBatch) {}
    fn diagnostic(&mut self, _: &Diagnostic) {}
}

/// The state of a stream: two batches, rows that wait, and rejected ones.
pub(crate) fn state() -> &'static Files {
    static MADE: OnceLock<Files> = OnceLock::new();
    MADE.get_or_init(|| {
        let options = StreamOptions {
            live: live_options(),
            input: InputOptions {
                known: None,
                read: ReadOptions::default(),
                batch: 80,
                asked: serde_json::Value::Null,
            },
        };
        let text = csv() + "41,nurse\n33,clerk,2021-01-01,1e999,f,a,yes\n";
        let input = scratch::file("fixture-stream.csv", text.as_bytes()).expect("a place");
        let folder = scratch::folder("fixture-state", &[]).expect("a place for files");
        let mut stream = Stream::begin(&folder, options).expect("the options are valid");
        let fed = stream.feed(&[input], &Feed::default(), &mut Silent);
        fed.expect("the stream of the fixture takes its rows");
        drop(stream);
        scratch::files_in(&folder).expect("the state can be read")
    })
}

/// Stops a fit after some rounds.
struct Stopping(usize);

impl Observer for Stopping {
    fn round(&mut self, _: &Progress) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        match self.0 {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// The solvers whose checkpoints are mutated.
pub(crate) const SOLVERS: [SolverName; 4] = [
    SolverName::Trace,
    SolverName::Weighted,
    SolverName::PfSmg,
    SolverName::EpsFair,
];

/// The request of a fit with this solver.
pub(crate) fn request_of(solver: SolverName, spec: &Spec) -> FitRequest {
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let settings = match solver {
        SolverName::EpsFair => vec![setting("max-evaluations", "40")],
        SolverName::PfSmg => vec![setting("max-steps", "24"), setting("starts", "4")],
        _ => Vec::new(),
    };
    let ask = Ask {
        solver,
        objectives: vec!["log_loss".into(), "score_covariance(sex)".into()],
        models: Some(6),
        penalty: Some(0.01),
        polish: solver == SolverName::PfSmg,
        settings,
        ..Ask::default()
    };
    let request = ask.request("fuzz.csv", &attribute_texts(spec), spec.numeric);
    request.expect("the request of the fixture is valid")
}

/// A run folder with the checkpoints of a fit that was stopped.
pub(crate) fn checkpoints(solver: usize) -> &'static Files {
    static MADE: [OnceLock<Files>; 4] = [const { OnceLock::new() }; 4];
    MADE[solver].get_or_init(|| {
        let folder = scratch::folder("fixture-checkpoints", &[]).expect("a place for files");
        let prepared = prepared();
        let checkpoints = Checkpoints::open(&folder, Duration::ZERO, false, false);
        let mut checkpoints = checkpoints.expect("the folder is free");
        let request = request_of(SOLVERS[solver], &prepared.spec);
        let mut observer = Stopping(2);
        let fitted = fit_with_checkpoints(prepared, &request, &mut checkpoints, &mut observer);
        fitted.expect("a fit that is stopped has a front");
        drop(checkpoints);
        scratch::files_in(&folder).expect("the checkpoints can be read")
    })
}

fn live_options() -> LiveOptions {
    let spec = spec();
    LiveOptions {
        request: request(&spec),
        spec,
        keep: Keep::All,
        objectives_of_number: Vec::new(),
        names: Vec::new(),
    }
}

/// The files of a stream in memory.
pub(crate) fn live() -> &'static Files {
    static MADE: OnceLock<Files> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut live = Live::begin(live_options()).expect("the options are valid");
        let table = prepared().table.clone();
        live.update(table, &mut ()).expect("the rows make a front");
        let files = live.to_files().expect("a front has files").into_iter();
        files
            .map(|(name, bytes)| (name.to_owned(), bytes))
            .collect()
    })
}

/// The content of a file of a fixture.
pub(crate) fn file<'a>(files: &'a Files, name: &str) -> &'a [u8] {
    let found = files.iter().find(|(n, _)| n == name);
    found.map_or(&[], |(_, bytes)| bytes.as_slice())
}

/// A path of a fixture with this ending.
pub(crate) fn path<'a>(files: &'a Files, end: &str) -> Option<&'a str> {
    let found = files.iter().rev().find(|(n, _)| n.ends_with(end));
    found.map(|(n, _)| n.as_str())
}

/// The folder of the generation that a path belongs to, if any.
pub(crate) fn generation_of(path: &str) -> Option<&str> {
    let folder = Path::new(path).parent()?.to_str()?;
    folder.contains("generation-").then_some(folder)
}
