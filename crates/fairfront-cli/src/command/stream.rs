use std::path::Path;

use fairfront_data::{Diagnostic, Error, Known};
use fairfront_model::write_file;
use fairfront_report::{Curve, Line};
use fairfront_run::Keep;
use fairfront_solve::Observer;
use fairfront_stream::{
    CommittedBatch, Drift, Feed, FrontShift, InputOptions, LiveOptions, Stream, StreamOptions,
    Watcher,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::args::StreamArgs;
use crate::progress::{self, Bar};
use crate::solver_args::SolverArgs;
use crate::table_args::TableArgs;
use crate::wording::{self, Flags};
use crate::{output, render};

/// Default number of rows per batch, as in the paper.
const BATCH: usize = 2_000;
/// Settings per column, and their flags.
const BY_COLUMN: [(&str, &str); 4] = [
    ("bins", "bins"),
    ("types", "type"),
    ("merges", "merge"),
    ("missing_by_column", "missing"),
];

pub(super) fn run(folder: &Path, table: &TableArgs, args: &StreamArgs) -> anyhow::Result<u8> {
    super::set_threads(args.threads)?;
    let given = table.with_config()?;
    let inputs = given.files().to_vec();
    if inputs.is_empty() && !args.flush && !args.skip_batch {
        let message = "no input; pass a file, - for standard input, or a known data set";
        return Err(Error::usage(message).into());
    }
    if args.follow && inputs.last().is_some_and(|last| last == "-") {
        let message = "--follow applies only to files; remove it, because standard input is read until it \
                       ends";
        return Err(Error::usage(message).into());
    }
    if args.skip.is_some() && !inputs.iter().any(|input| input == "-") {
        let message = "--skip applies only to standard input; remove it, because files resume after the \
                       last row read";
        return Err(Error::usage(message).into());
    }
    if inputs.is_empty() && !folder.exists() {
        let message = format!(
            "{}: the stream does not exist; pass an input to start it",
            folder.display()
        );
        return Err(Error::usage(message).into());
    }
    let mut stream = open(folder, &given, args)?;
    stream.set_wording(&Flags);
    let mut screen = Screen {
        bar: Bar::new(args.quiet || args.json, None),
        args: args.clone(),
        failed: None,
    };
    for diagnostic in stream.diagnostics().to_vec() {
        screen.diagnostic(&diagnostic);
    }
    let feed = Feed {
        follow: args.follow,
        flush: args.flush,
        max_rejected: args.max_rejected,
        skip_batch: args.skip_batch,
        skip: args.skip,
    };
    let fed = stream.feed(&inputs, &feed, &mut screen);
    screen.bar.finish();
    let figure = write_figure(folder, &stream);
    let fed = fed?;
    figure?;
    if let Some(error) = screen.failed {
        return Err(error);
    }
    if !args.quiet && !args.json {
        let from_stdin = inputs.iter().any(|input| input == "-");
        let stdin_rows = from_stdin.then(|| stream.stdin_rows());
        output::print(&render::fed(folder, &stream, &fed, stdin_rows))?;
    }
    Ok(match fed.stopped && progress::interrupted() {
        true => 130,
        false => 0,
    })
}

/// The flags of the first call; those of later calls override them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Asked {
    table: TableArgs,
    solver: SolverArgs,
    batch: Option<usize>,
    window: Option<usize>,
    reservoir: Option<usize>,
}

/// The stream in a folder, or a new one.
fn open(folder: &Path, given: &TableArgs, args: &StreamArgs) -> anyhow::Result<Stream> {
    let Some(mut stream) = Stream::open(folder)? else {
        let options = options(given, args, None, false)?;
        return Ok(Stream::begin(folder, options)?);
    };
    let stored = stream.options();
    let is_number = stream.is_number() == Some(true);
    let now = options(given, args, Some(&stored), is_number).map_err(|error| match stream.batches() {
        0 => error,
        _ => Error::usage(format!(
            "{}: these flags contradict those that this stream started with ({}); remove them, or choose \
             another folder for a new stream",
            folder.display(),
            wording::error(&error)
        ))
        .into(),
    })?;
    let mut now = now;
    stream.set_memory(now.input.read.memory);
    // The kind of the target and a positive value that the first batch determined may be repeated as flags.
    if is_number && !stored.live.spec.numeric {
        now.live.spec.numeric = false;
    }
    if stream.is_classes() && !stored.live.spec.classes {
        now.live.spec.classes = false;
    }
    if stored.live.spec.positive.is_none() && now.live.spec.positive.as_deref() == stream.positive()
    {
        now.live.spec.positive = None;
    }
    if let Some((key, before, after)) = difference(&stored, &now)? {
        if stream.batches() > 0 {
            let message = format!(
                "{}: this stream started with {key} = {before}, not {after}; remove the flag, or choose \
                 another folder for a new stream",
                folder.display()
            );
            return Err(Error::usage(message).into());
        }
        // No front depends on the options yet.
        stream.set_options(now)?;
    }
    Ok(stream)
}

/// The options that determine the result: the flags of this call over those of the first call. `is_number` is
/// whether the first front predicts a number.
fn options(
    given: &TableArgs,
    args: &StreamArgs,
    stored: Option<&StreamOptions>,
    is_number: bool,
) -> anyhow::Result<StreamOptions> {
    let before: Asked = match stored {
        Some(options) => serde_json::from_value(options.input.asked.clone())?,
        None => Asked::default(),
    };
    // A setting does not change the others.
    let mut solver = args.solver.over(given.fit.clone().into());
    let name_of = |set: &str| set.split('=').next().unwrap_or_default().trim().to_owned();
    let named: Vec<String> = solver.set.iter().map(|set| name_of(set)).collect();
    let others = before.solver.set.iter();
    let others = others.filter(|set| !named.contains(&name_of(set)));
    solver.set.extend(others.cloned());
    let names_rows = args.window.is_some() || args.reservoir.is_some();
    let asked = Asked {
        solver: solver.over(before.solver),
        table: given.clone().over(before.table).without_files(),
        batch: args.batch.or(before.batch),
        window: if names_rows {
            args.window
        } else {
            before.window
        },
        reservoir: if names_rows {
            args.reservoir
        } else {
            before.reservoir
        },
    };
    let known = match (given.files().first(), stored) {
        (_, Some(stored)) => stored.input.known.clone(),
        (Some(first), None) => Known::parse(first)?.map(|known| known.name().to_owned()),
        (None, None) => None,
    };
    let set = known.as_deref().map(Known::named).transpose()?.flatten();
    let (spec, read) = asked
        .table
        .settings(set.as_ref(), asked.solver.is_paper())?;
    if let Some(mark) = spec.marks.first() {
        let message = format!("--mark {mark}: streams do not keep this column; remove the flag");
        return Err(Error::usage(message).into());
    }
    let source = known.clone().unwrap_or_else(|| "stream".into());
    let request = |is_number| asked.solver.request(&source, &spec, is_number);
    Ok(StreamOptions {
        live: LiveOptions {
            request: request(is_number || spec.numeric)?,
            objectives_of_number: request(true)?.objectives,
            spec: spec.clone(),
            keep: match (asked.window, asked.reservoir) {
                (Some(rows), _) => Keep::Window(rows),
                (None, Some(rows)) => Keep::Reservoir(rows),
                (None, None) => Keep::All,
            },
            names: Vec::new(),
        },
        input: InputOptions {
            known,
            read,
            batch: asked.batch.unwrap_or(BATCH),
            asked: serde_json::to_value(asked)?,
        },
    })
}

/// The first setting that differs, with its values before and now.
fn difference(
    before: &StreamOptions,
    now: &StreamOptions,
) -> anyhow::Result<Option<(String, String, String)>> {
    // The parts that users set most come first; seeds and the like follow from the spec.
    let parts = |options: &StreamOptions| -> serde_json::Result<[Value; 6]> {
        let StreamOptions { live, input } = options;
        Ok([
            serde_json::to_value(&live.spec)?,
            serde_json::json!({"batch": input.batch, "keep": live.keep}),
            serde_json::to_value(&input.read)?,
            serde_json::json!({"objective": live.request.objectives}),
            serde_json::json!({"front_in": live.request.front_in}),
            serde_json::json!({"solver": live.request.solvers}),
        ])
    };
    let (before, now) = (parts(before)?, parts(now)?);
    let mut pairs = before.iter().zip(&now);
    Ok(pairs.find_map(|(a, b)| first_difference("", a, b)))
}

fn first_difference(key: &str, a: &Value, b: &Value) -> Option<(String, String, String)> {
    if a == b {
        return None;
    }
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            let of = |map: &Map<String, Value>, name: &str| map.get(name).cloned();
            keys.find_map(|name| {
                let (a, b) = (of(a, name), of(b, name));
                let name = match BY_COLUMN.iter().find(|(map, _)| *map == key) {
                    Some((_, flag)) => format!("{flag} of {name}"),
                    None => name.clone(),
                };
                first_difference(&name, &a.unwrap_or_default(), &b.unwrap_or_default())
            })
        }
        // Solvers that are tried in turn; lists of names are shown whole.
        (Value::Array(a), Value::Array(b))
            if a.len() == b.len() && a.iter().all(Value::is_object) =>
        {
            let mut pairs = a.iter().zip(b);
            pairs.find_map(|(a, b)| first_difference(key, a, b))
        }
        _ => Some((key.replace('_', "-"), shown(a), shown(b))),
    }
}

/// A setting as an error shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(|item| item.get("solver").is_some()) => {
            let names = items.iter().filter_map(|item| item["solver"].as_str());
            names.collect::<Vec<_>>().join(" or ")
        }
        Value::Array(items) if items.is_empty() => "nothing".into(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let pair = |(name, value): (&String, &Value)| format!("{name} {}", shown(value));
            fields.iter().map(pair).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Prints the progress of a stream.
struct Screen {
    bar: Bar,
    args: StreamArgs,
    /// The error after which nothing more is printed.
    failed: Option<anyhow::Error>,
}

impl Watcher for Screen {
    fn observer(&mut self) -> &mut dyn Observer {
        self.bar.restart();
        &mut self.bar
    }

    fn is_stopped(&self) -> bool {
        progress::interrupted() || self.failed.is_some()
    }

    fn committed(&mut self, batch: &CommittedBatch) {
        self.bar.finish();
        let lines = match (self.args.json, self.args.quiet) {
            (true, _) => render::batch_json(batch),
            (false, true) => return,
            (false, false) => {
                output::note(&render::diagnostics(batch.diagnostics));
                render::batch(batch)
            }
        };
        let printed = match self.args.json {
            true => output::print_data(&lines),
            false => output::print(&lines),
        };
        self.failed = self.failed.take().or(printed.err());
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        self.bar.finish();
        output::note(&render::diagnostics(std::slice::from_ref(diagnostic)));
    }
}

/// Plots the hypervolume by batch, if there are batches.
fn write_figure(folder: &Path, stream: &Stream) -> anyhow::Result<()> {
    let history = stream.history()?;
    let points = |of: fn(&FrontShift) -> Option<f64>| -> Vec<(f64, f64)> {
        let point = |d: &Drift| (d.batch as f64, of(&d.front).unwrap_or(f64::NAN));
        history.iter().map(point).collect()
    };
    let (before, after) = (points(|f| f.hypervolume_before), points(|f| f.hypervolume));
    if after.iter().all(|(_, volume)| volume.is_nan()) {
        return Ok(());
    }
    let curve = Curve {
        title: "Hypervolume share by batch, on the rows kept".into(),
        x: "batch".into(),
        y: "hypervolume share".into(),
        lines: vec![
            Line {
                name: "before the update",
                points: &before,
            },
            Line {
                name: "after the update",
                points: &after,
            },
        ],
    };
    let figures = folder.join("figures");
    std::fs::create_dir_all(&figures).map_err(|source| Error::Io {
        path: figures.display().to_string(),
        source,
    })?;
    let path = figures.join("hypervolume.svg");
    Ok(write_file(&path, curve.to_svg().as_bytes(), true)?)
}
