//! The run folder: `run.json`, `encoding.json`, `front.parquet`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use fairfront_core::{Measures, RowSource};
use fairfront_data::{Ordered, Part, Prepared, Spec};
use fairfront_solve::{Counters, Settings, StopReason};
use serde::{Deserialize, Serialize};

use crate::fit::{Fitted, SplitValues};
use crate::{Error, FrontTable};

const FORMAT: &str = "fairfront-run";
const VERSION: u32 = 1;

/// What `run.json` says.
#[derive(Debug, Clone, Serialize)]
pub struct RunInfo {
    format: &'static str,
    version: u32,
    /// Version of the program.
    pub program: String,
    /// The files or the data set.
    pub source: String,
    /// Roles, policies, split and seed.
    pub spec: Spec,
    /// The solver, `pf-smg`.
    pub method: &'static str,
    /// Its settings.
    pub settings: Settings,
    /// Canonical names of the objectives, the loss first.
    pub objectives: Vec<String>,
    /// The objectives as asked for, with their settings.
    pub requested: Vec<String>,
    /// Feature names in the order of the parameters; the intercept comes last.
    pub features: Vec<String>,
    /// Rows for training, validation and test.
    pub rows: Ordered<usize>,
    /// SHA-256 of encoding and encoded rows.
    pub fingerprint: String,
    /// Points of the front.
    pub points: usize,
    /// Why the solver ended; `stopped` means before its time.
    pub stop: StopReason,
    /// What was spent.
    pub counters: Counters,
    /// Wall seconds of encoding, solving and measuring.
    pub seconds: Ordered<f64>,
    /// The model that minimises the loss alone.
    pub unmitigated: Unmitigated,
    /// What to be wary of.
    pub notices: Vec<fairfront_data::Notice>,
}

/// The unmitigated model.
#[derive(Debug, Clone, Serialize)]
pub struct Unmitigated {
    /// Coefficients, the intercept last.
    pub params: Vec<f64>,
    /// The same columns as those of the front's table.
    pub values: Ordered<Option<f64>>,
}

/// What of `run.json` is needed to show a run.
#[derive(Debug, Clone, Deserialize)]
pub struct RunSummary {
    format: String,
    version: u32,
    /// The files or the data set.
    pub source: String,
    /// The solver.
    pub method: String,
    /// Canonical names of the objectives.
    pub objectives: Vec<String>,
    /// Feature names.
    pub features: Vec<String>,
    /// Why the solver ended.
    pub stop: String,
    /// The unmitigated model.
    pub unmitigated: UnmitigatedSummary,
}

/// The unmitigated model, as read.
#[derive(Debug, Clone, Deserialize)]
pub struct UnmitigatedSummary {
    /// Its values by column.
    pub values: std::collections::BTreeMap<String, Option<f64>>,
}

/// Names and values of one point's columns.
fn columns_of(
    fitted: &Fitted,
    value: impl Fn(&SplitValues) -> (Vec<f64>, Measures),
) -> Vec<(String, Option<f64>)> {
    let measures = Measures::names(fitted.encoded.part(Part::Train).schema());
    let mut columns = Vec::new();
    let split_columns: Vec<(Part, Vec<f64>, Measures)> = fitted
        .splits
        .iter()
        .map(|split| {
            let (objectives, measures) = value(split);
            (split.part, objectives, measures)
        })
        .collect();
    for (part, objectives, _) in &split_columns {
        for (name, value) in fitted.objectives.iter().zip(objectives) {
            let prefix = match part {
                Part::Train => String::new(),
                other => format!("{}.", other.name()),
            };
            columns.push((format!("{prefix}objective.{name}"), Some(*value)));
        }
    }
    for (part, _, of_part) in &split_columns {
        for (name, value) in measures.iter().zip(of_part.values()) {
            columns.push((format!("{}.{name}", part.name()), value));
        }
    }
    columns
}

/// The front's table.
pub fn front_table(fitted: &Fitted) -> FrontTable {
    let m = fitted.objectives.len();
    let front = &fitted.outcome.front;
    let mut table = FrontTable::default();
    for index in 0..front.len() {
        let columns = columns_of(fitted, |split| {
            (
                split.objectives[index * m..(index + 1) * m].to_vec(),
                split.measures[index].clone(),
            )
        });
        if table.names.is_empty() {
            table.names = columns.iter().map(|(name, _)| name.clone()).collect();
            table.columns = vec![Vec::with_capacity(front.len()); columns.len()];
        }
        for (column, (_, value)) in table.columns.iter_mut().zip(columns) {
            column.push(value);
        }
        table.params.push(front.points.get(index).to_vec());
    }
    table
}

/// What `run.json` will say.
pub fn run_info(prepared: &Prepared, fitted: &Fitted, settings: &Settings) -> RunInfo {
    let named = |pairs: Vec<(&str, f64)>| {
        Ordered(
            pairs
                .into_iter()
                .map(|(name, v)| (name.to_owned(), v))
                .collect(),
        )
    };
    let [encoding, solving, measuring] = fitted.seconds;
    RunInfo {
        format: FORMAT,
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").into(),
        source: prepared.table.name.clone(),
        spec: prepared.spec.clone(),
        method: "pf-smg",
        settings: settings.clone(),
        objectives: fitted.objectives.clone(),
        requested: fitted.requested.clone(),
        features: fitted.encoded.encoding.schema().feature_names(),
        rows: Ordered(
            Part::ALL
                .map(|part| (part.name().to_owned(), fitted.encoded.part(part).n_rows()))
                .to_vec(),
        ),
        fingerprint: fitted.fingerprint.clone(),
        points: fitted.outcome.front.len(),
        stop: fitted.outcome.stop,
        counters: fitted.outcome.counters.clone(),
        seconds: named(vec![
            ("encode", encoding),
            ("solve", solving),
            ("measure", measuring),
        ]),
        unmitigated: Unmitigated {
            params: fitted.outcome.unmitigated.points.get(0).to_vec(),
            values: Ordered(columns_of(fitted, |split| {
                (
                    split.unmitigated_objectives.clone(),
                    split.unmitigated.clone(),
                )
            })),
        },
        notices: fitted.notices.clone(),
    }
}

/// Where a run is to go, checked before any work: it must not exist, unless it is to be replaced.
pub fn check_folder(folder: &Path, force: bool) -> Result<(), Error> {
    let is_run = folder.join("run.json").is_file();
    let is_empty = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    match std::fs::symlink_metadata(folder) {
        Err(_) => {
            let parent = match folder.parent() {
                Some(parent) if parent != Path::new("") => parent,
                _ => Path::new("."),
            };
            std::fs::create_dir_all(parent).map_err(|e| Error::file(parent, e))
        }
        Ok(_) if is_empty || (is_run && force) => Ok(()),
        Ok(_) if is_run => Err(Error::file(
            folder,
            "there is a run already; name another folder, or replace it with --force",
        )),
        Ok(_) => Err(Error::file(
            folder,
            "this is there and is no run folder; name another one",
        )),
    }
}

/// Writes a run folder: beside its place first, then into place, so that it is there whole or not
/// at all.
pub fn write_run(
    folder: &Path,
    info: &RunInfo,
    table: &FrontTable,
    encoding: &str,
) -> Result<(), Error> {
    let parent = match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let failed = |e: std::io::Error| Error::file(folder, e);
    let new = tempfile::Builder::new()
        .prefix(".fairfront-")
        .tempdir_in(parent)
        .map_err(failed)?;
    let file = |name: &str, bytes: &[u8]| -> Result<(), Error> {
        let path = new.path().join(name);
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(|e| Error::file(&folder.join(name), e))
    };
    let mut parquet = Vec::new();
    table
        .write(&mut parquet)
        .map_err(|e| Error::file(&folder.join("front.parquet"), e))?;
    let json = serde_json::to_string_pretty(info).map_err(|e| Error::file(folder, e))?;
    file("front.parquet", &parquet)?;
    file("encoding.json", encoding.as_bytes())?;
    file("run.json", format!("{json}\n").as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(new.path(), open).map_err(failed)?;
    }
    // The old run leaves only when the new one is complete.
    let old: Option<PathBuf> = if folder.exists() {
        let aside = tempfile::Builder::new()
            .prefix(".fairfront-")
            .tempdir_in(parent);
        let aside = aside.map_err(failed)?.keep();
        std::fs::rename(folder, &aside).map_err(failed)?;
        Some(aside)
    } else {
        None
    };
    std::fs::rename(new.keep(), folder).map_err(failed)?;
    if let Some(old) = old {
        std::fs::remove_dir_all(old).map_err(failed)?;
    }
    Ok(())
}

/// Reads what is needed to show a run.
pub fn read_run(folder: &Path) -> Result<(RunSummary, FrontTable), Error> {
    let path = folder.join("run.json");
    let text = std::fs::read_to_string(&path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::file(
            folder,
            "this is no run folder (no run.json in it); name one that fit wrote",
        ),
        _ => Error::file(&path, e),
    })?;
    let summary: RunSummary = serde_json::from_str(&text)
        .map_err(|e| Error::file(&path, format!("the file is damaged ({e}); fit again")))?;
    if summary.format != FORMAT || summary.version != VERSION {
        return Err(Error::file(
            &path,
            format!(
                "{} of version {} cannot be read by this program, which reads {FORMAT} of version \
                 {VERSION}",
                summary.format, summary.version
            ),
        ));
    }
    let table = FrontTable::read(&folder.join("front.parquet"))?;
    Ok((summary, table))
}
