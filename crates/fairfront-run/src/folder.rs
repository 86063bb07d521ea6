//! The run folder: `run.json`, `encoding.json`, `front.parquet`.

use std::path::Path;

use fairfront_core::{Calibration, Costs, Measures, Points, Schema, aside, predictor_of, say};
use fairfront_data::{
    Diagnostic, Dropped, Encoded, Facts, Ordered, Part, ReadFrom, Spec, named_counts,
};
use fairfront_model::file::HIDDEN;
use fairfront_model::seal::{self, Broken, seal, sum};
use fairfront_solve::{AnySolver, Counters, MOST_OBJECTIVES, Proof, StopReason};
use serde::{Deserialize, Serialize};

use crate::calibration;
use crate::certify::{self, Certificate, IntervalInfo, SplitIntervals};
use crate::checkpoint;
use crate::distribution;
use crate::figure;
use crate::fit::{Fitted, PolishInfo, ProofInfo};
use crate::group_rows::GroupRows;
use crate::meaning::Meaning;
use crate::measured::SplitValues;
use crate::setting::{RESUME, STREAM_FLUSH};
use crate::store::{read_stable, resolve};
use crate::{
    Error, Family, FamilyInfo, FrontIn, FrontTable, JudgedInfo, LearnerInfo, LeftOut, Overlay,
    PenaltyInfo, Run, StreamInfo,
};

const FORMAT: &str = "fairfront-run";
const VERSION: u32 = 1;

/// The content of `run.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunInfo {
    format: String,
    version: u32,
    /// Version of the program.
    pub program: String,
    /// The files or the data set.
    pub source: String,
    /// The files and how they were read; absent for a known data set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadFrom>,
    /// Roles, policies, split and seed.
    pub spec: Spec,
    /// The solver and its settings: `solver` and `solver_settings`.
    #[serde(flatten)]
    pub solver: AnySolver,
    /// Why this solver was chosen, unless it was requested by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Summary of the optimality proofs.
    pub proof: ProofInfo,
    /// Summary of polishing, if the front was polished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polish: Option<PolishInfo>,
    /// How models were judged.
    pub judged: JudgedInfo,
    /// The penalty of the log loss and how it was chosen; absent if no loss took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub penalty: Option<PenaltyInfo>,
    /// Canonical names of the objectives, the loss first.
    pub objectives: Vec<String>,
    /// The meaning of objectives and measures: direction, unit, and the measure of each objective.
    pub meaning: Meaning,
    /// The objectives as requested, with their settings.
    pub requested: Vec<String>,
    /// The objectives with all their settings.
    pub definitions: Vec<String>,
    /// Values of the objectives when all parameters are 0.
    pub at_zero: Vec<f64>,
    /// Names of the parameters in their order, without the intercept, which comes last. Those of linear
    /// models are the names of the features.
    pub features: Vec<String>,
    /// Number of rows of each split.
    pub rows: Ordered<usize>,
    /// Counts of rows read and dropped; absent for a stream, which keeps its own counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<DroppedRows>,
    /// Training row counts of each group of each attribute, and the comparisons it takes part in.
    pub groups: Ordered<Ordered<GroupRows>>,
    /// SHA-256 of encoding and encoded rows.
    pub fingerprint: String,
    /// SHA-256 of `front.parquet`.
    pub front_sha256: String,
    /// SHA-256 of `tallies.json`.
    pub tallies_sha256: String,
    /// SHA-256 of `encoding.json`.
    #[serde(default)]
    pub encoding_sha256: String,
    /// SHA-256 of `estimator.json`; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimator_sha256: Option<String>,
    /// How the intervals of measures were computed.
    pub intervals: IntervalInfo,
    /// The result of testing requirements that were fixed before the fit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certified: Option<Certificate>,
    /// Number of models of the front.
    pub models: usize,
    /// Why the solver ended; `stopped` means early.
    pub stop: StopReason,
    /// Work that a stopped fit skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Counters of the solver's work.
    pub counters: Counters,
    /// Wall-clock seconds of encoding, solving and measuring.
    pub seconds: Ordered<f64>,
    /// The unmitigated model.
    pub unmitigated: Unmitigated,
    /// The stream whose state this is; absent for a run of `fit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamInfo>,
    /// For a target that is a number: the share of rows with at most each threshold of the unit, over all
    /// rows (`all`) and by group (`sex=F`), on the rows that plots of distributions show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_shares: Option<Ordered<Option<Vec<f64>>>>,
    /// Values that plots show next to the models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<Overlay>,
    /// The families of models, if not only linear ones were fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<FamilyInfo>,
    /// The learners whose probabilities the models combine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learners: Vec<LearnerInfo>,
    /// Warnings and notes.
    #[serde(rename = "messages")]
    pub diagnostics: Vec<Diagnostic>,
}

impl RunInfo {
    /// Groups that are left out of at least one comparison, such as `race=Other`.
    pub fn not_compared(&self) -> Vec<String> {
        let attributes = self.groups.0.iter();
        let groups = attributes.flat_map(|(a, groups)| groups.0.iter().map(move |g| (a, g)));
        let left_out = groups.filter(|(_, (_, rows))| !rows.compared.everywhere());
        left_out
            .map(|(attribute, (group, _))| format!("{attribute}={group}"))
            .collect()
    }
}

/// Counts of the rows of a table that were dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedRows {
    /// Number of rows read.
    pub read: usize,
    /// Number of rows used.
    pub used: usize,
    /// Why the others were dropped; a row may count under several reasons.
    pub reasons: Vec<Dropped>,
}

/// The unmitigated model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unmitigated {
    /// The family of the model.
    #[serde(default, skip_serializing_if = "Family::is_linear")]
    pub family: Family,
    /// Coefficients, the intercept last.
    pub params: Vec<f64>,
    /// The same columns as in the front's table.
    pub values: Ordered<Option<f64>>,
}

/// Models as a run describes them.
pub(crate) struct Described<'a> {
    pub(crate) points: &'a Points,
    /// Canonical names of the objectives.
    pub(crate) objectives: &'a [String],
    pub(crate) schema: &'a Schema,
    pub(crate) splits: &'a [SplitValues],
    /// One per model, the unmitigated model's last.
    pub(crate) families: &'a [Family],
    pub(crate) proofs: &'a [Proof],
    pub(crate) intervals: &'a [SplitIntervals],
    /// One per model, the unmitigated model's last.
    pub(crate) calibrations: &'a [Calibration],
}

impl<'a> Described<'a> {
    fn of(fitted: &'a Fitted) -> Self {
        Self {
            points: &fitted.outcome.front.points,
            objectives: &fitted.objectives,
            schema: fitted.encoded.part(Part::Train).schema(),
            splits: &fitted.splits,
            families: &fitted.families,
            calibrations: &fitted.calibrations,
            proofs: &fitted.outcome.proofs,
            intervals: &fitted.intervals,
        }
    }

    /// Names and values of the columns of intervals; the unmitigated model comes last.
    fn interval_columns(&self) -> impl Iterator<Item = (String, &Vec<Option<f64>>)> {
        self.intervals.iter().flat_map(|split| {
            let columns = split.intervals.columns.iter();
            columns.map(|(name, values)| (format!("{}.{name}", split.part.name()), values))
        })
    }

    /// Names and values of one model's columns; `index` is its position among the calibrations.
    fn columns(
        &self,
        index: usize,
        value: impl Fn(&SplitValues) -> (Vec<f64>, Measures),
    ) -> Vec<(String, Option<f64>)> {
        let measures = Measures::names(self.schema);
        let mut columns = Vec::new();
        let split_columns: Vec<(Part, Vec<Option<f64>>, Measures)> = self
            .splits
            .iter()
            .map(|split| {
                let (objectives, measures) = value(split);
                let known = objectives.into_iter().zip(&split.meaningful);
                let known = known.map(|(value, meaningful)| meaningful.then_some(value));
                (split.part, known.collect(), measures)
            })
            .collect();
        for (part, objectives, _) in &split_columns {
            for (name, value) in self.objectives.iter().zip(objectives) {
                let prefix = match part {
                    Part::Train => String::new(),
                    other => format!("{}.", other.name()),
                };
                columns.push((format!("{prefix}objective.{name}"), *value));
            }
        }
        let costs = self.objectives.iter().filter_map(|name| Costs::parse(name));
        let costs: Vec<Costs> = costs.filter(|costs| *costs != Costs::EQUAL).collect();
        for (part, _, of_part) in &split_columns {
            for (name, value) in measures.iter().zip(of_part.values()) {
                columns.push((format!("{}.{name}", part.name()), value));
            }
            for costs in &costs {
                let name = format!("{}.{}", part.name(), costs.name());
                columns.push((name, of_part.overall.cost(*costs)));
            }
        }
        if let Some(unit) = self.schema.target.unit() {
            let shown = calibration::shown(self.splits).map(|split| value(split).1);
            columns.extend(distribution::columns(self.schema, unit, shown.as_ref()));
            return columns;
        }
        let calibration = self.calibrations.get(index).copied().unwrap_or_default();
        let shown = calibration::shown(self.splits).map(|split| value(split).1);
        let probabilities = shown.as_ref().and_then(|m| m.probabilities.as_ref());
        columns.extend(calibration::columns(calibration, probabilities));
        columns
    }

    /// Names and values of the unmitigated model's columns.
    pub(crate) fn unmitigated(&self) -> Vec<(String, Option<f64>)> {
        let mut columns = self.columns(self.points.len(), |split| {
            let objectives = split.unmitigated_objectives.clone();
            (objectives, split.unmitigated.clone())
        });
        let last = |values: &Vec<Option<f64>>| values.last().copied().flatten();
        columns.extend(
            self.interval_columns()
                .map(|(name, values)| (name, last(values))),
        );
        columns
    }

    /// The front's table.
    pub(crate) fn table(&self) -> FrontTable {
        let m = self.objectives.len();
        let n = self.points.len();
        let mut table = FrontTable::default();
        for (index, point) in self.points.iter().enumerate() {
            let columns = self.columns(index, |split| {
                (
                    split.objectives[index * m..(index + 1) * m].to_vec(),
                    split.measures[index].clone(),
                )
            });
            if table.names.is_empty() {
                table.names = columns.iter().map(|(name, _)| name.clone()).collect();
                table.columns = vec![Vec::with_capacity(n); columns.len()];
            }
            for (column, (_, value)) in table.columns.iter_mut().zip(columns) {
                column.push(value);
            }
            table.params.push(point.to_vec());
        }
        if !table.is_empty() {
            for (name, values) in self.interval_columns() {
                table.names.push(name);
                table.columns.push(values[..n].to_vec());
            }
        }
        self.add_proofs(&mut table);
        table.families = self.families[..n].to_vec();
        table
    }

    /// Adds columns for the optimality gap, the residual and each objective's multiplier.
    fn add_proofs(&self, table: &mut FrontTable) {
        let proofs = self.proofs;
        if proofs.len() != table.len() || table.is_empty() {
            return;
        }
        table.names.push("optimality_gap".into());
        table.columns.push(proofs.iter().map(|c| c.gap).collect());
        table.names.push("gradient_residual".into());
        let residuals = proofs.iter().map(|c| Some(c.residual));
        table.columns.push(residuals.collect());
        for (i, name) in self.objectives.iter().enumerate() {
            table.names.push(format!("multiplier.{name}"));
            let multipliers = proofs.iter().map(|c| c.multipliers.get(i).copied());
            table.columns.push(multipliers.collect());
        }
    }
}

/// The front's table.
pub fn front_table(fitted: &Fitted) -> FrontTable {
    Described::of(fitted).table()
}

/// The content of `run.json` for a fit on a table.
pub fn run_info(facts: &Facts, fitted: &Fitted) -> RunInfo {
    RunInfo {
        dropped: Some(DroppedRows {
            read: facts.rows_read,
            used: facts.rows_used,
            reasons: facts.dropped.clone(),
        }),
        ..run_info_of(&facts.table, facts.read.clone(), &facts.spec, fitted)
    }
}

/// The content of `run.json` for rows that do not come from a prepared table.
pub fn run_info_of(source: &str, read: Option<ReadFrom>, spec: &Spec, fitted: &Fitted) -> RunInfo {
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
        format: FORMAT.into(),
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").into(),
        source: source.into(),
        read,
        spec: spec.clone(),
        stream: None,
        solver: fitted.solver.clone(),
        reason: fitted.reason.clone(),
        proof: fitted.proof.clone(),
        polish: fitted.polish.clone(),
        judged: fitted.judged.clone(),
        penalty: fitted.penalty.clone(),
        objectives: fitted.objectives.clone(),
        meaning: fitted.meaning.clone(),
        requested: fitted.requested.clone(),
        definitions: fitted.definitions.clone(),
        at_zero: fitted.at_zero.clone(),
        features: parameter_names(&fitted.encoded.encoding.schema()),
        rows: rows_by_split(&fitted.encoded),
        dropped: None,
        groups: fitted.groups.clone(),
        fingerprint: fitted.fingerprint.clone(),
        front_sha256: String::new(),
        tallies_sha256: String::new(),
        encoding_sha256: String::new(),
        estimator_sha256: None,
        intervals: fitted.interval_info.clone(),
        certified: None,
        models: fitted.outcome.front.len(),
        stop: fitted.outcome.stop,
        left_out: fitted.left_out.clone(),
        // The field `polish` describes polishing.
        counters: Counters {
            polished: None,
            ..fitted.outcome.counters.clone()
        },
        seconds: named(vec![
            ("encode", encoding),
            ("solve", solving),
            ("measure", measuring),
        ]),
        unmitigated: Unmitigated {
            family: fitted.families.last().copied().unwrap_or_default(),
            params: fitted.outcome.unmitigated.points.get(0).to_vec(),
            values: Ordered(Described::of(fitted).unmitigated()),
        },
        target_shares: fitted.target_shares.clone(),
        overlays: fitted.overlays.clone(),
        learners: fitted.learners.clone(),
        family: fitted.family.clone(),
        diagnostics: fitted.diagnostics.clone(),
    }
}

/// Names of the parameters of models, without the intercept, which comes last.
pub(crate) fn parameter_names(schema: &Schema) -> Vec<String> {
    predictor_of(schema).names(schema)
}

/// Number of rows of each split.
pub(crate) fn rows_by_split(encoded: &Encoded) -> Ordered<usize> {
    let counts = named_counts(|part| encoded.part(part).n_people()).into_iter();
    Ordered(counts.map(|(name, n)| (name.to_owned(), n)).collect())
}

/// The files of a run.
pub(crate) const FILES: [&str; 4] = [
    "run.json",
    "encoding.json",
    "front.parquet",
    certify::TALLIES,
];
/// The report, which is made from the other files.
pub(crate) const PAGE: &str = "report.html";
/// The folder of figures, which are also made from the other files.
pub(crate) const FIGURES: &str = "figures";

/// The estimator that the Python package stores with a run.
pub(crate) const ESTIMATOR: &str = "estimator.json";

/// Whether a folder holds figures of a run and nothing else.
pub(crate) fn holds_figures(folder: &Path) -> bool {
    let own = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let is_file = entry.file_type().is_ok_and(|found| found.is_file());
            let is_own = |name: &str| figure::is_own(name) || name.starts_with(HIDDEN);
            is_file && entry.file_name().to_str().is_some_and(is_own)
        })
    };
    let is_folder = std::fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    is_folder && std::fs::read_dir(folder).is_ok_and(|entries| entries.into_iter().all(own))
}

/// The name of a run in reports and models: the path of its folder as given, or only its last part
/// if the path would reveal where the folder is on this machine.
///
/// ```
/// use std::path::Path;
/// assert_eq!(fairfront_run::run_name(Path::new("runs/sex")), "runs/sex");
/// assert_eq!(fairfront_run::run_name(Path::new("/home/me/runs/sex")), "sex");
/// ```
pub fn run_name(folder: &Path) -> String {
    let is_plain = |part: std::path::Component| {
        use std::path::Component::{CurDir, Normal};
        matches!(part, Normal(_) | CurDir)
    };
    let shown = match (folder.components().all(is_plain), folder.file_name()) {
        (true, _) | (false, None) => folder.as_os_str(),
        (false, Some(last)) => last,
    };
    shown.to_string_lossy().into_owned()
}

/// The source of the run in a folder or of the newest run in a state, if there is one.
pub fn source_of_run(folder: &Path) -> Option<String> {
    let (info, _) = read_stable(folder, info_in).ok()?;
    Some(info.source)
}

/// The bytes of `front.parquet`, and their checksum.
pub(crate) fn parquet_of(table: &FrontTable) -> parquet::errors::Result<(Vec<u8>, String)> {
    let mut parquet = Vec::new();
    table.write(&mut parquet)?;
    let checksum = sum(&parquet);
    Ok((parquet, checksum))
}

/// Names and bytes of the files of a run.
pub type RunFiles = Vec<(&'static str, Vec<u8>)>;

/// The bytes of `run.json`, with their checksum.
pub fn info_bytes(folder: &Path, info: &RunInfo) -> Result<Vec<u8>, Error> {
    let json = serde_json::to_string_pretty(info).map_err(|e| Error::file(folder, e))?;
    Ok(seal(&json).into_bytes())
}

/// The files of a run, by name; `folder` is used only in error messages. Sets the checksums in
/// `run.info`.
pub fn files_of_run(folder: &Path, run: &mut Run) -> Result<RunFiles, Error> {
    let parquet = parquet_of(&run.front);
    let parquet = parquet.map_err(|e| Error::file(&folder.join("front.parquet"), e))?;
    let (parquet, checksum) = parquet;
    run.info.front_sha256 = checksum;
    let tallies = run.evidence.to_bytes();
    let tallies = tallies.map_err(|e| Error::file(&folder.join(certify::TALLIES), e))?;
    let (tallies, checksum) = tallies;
    run.info.tallies_sha256 = checksum;
    let encoding = run.encoding.to_json().into_bytes();
    run.info.encoding_sha256 = sum(&encoding);
    run.info.estimator_sha256 = run.estimator.as_ref().map(sum);
    let info = info_bytes(folder, &run.info)?;
    let mut files = vec![
        (certify::TALLIES, tallies),
        ("front.parquet", parquet),
        ("encoding.json", encoding),
        ("run.json", info),
    ];
    if let Some(estimator) = &run.estimator {
        files.insert(0, (ESTIMATOR, estimator.clone().into_bytes()));
    }
    if !run.uses.is_empty() {
        files.insert(0, (certify::USES, certify::uses_to_bytes(&run.uses)));
    }
    Ok(files)
}

/// Reads `run.json` in this folder; fails if the file was changed after it was written.
pub(crate) fn info_in(folder: &Path) -> Result<RunInfo, Error> {
    let (info, checked) = info_as_found(folder)?;
    checked.map_err(|broken| changed(&folder.join("run.json"), broken))?;
    Ok(info)
}

/// Reads `run.json` even if the file was changed; the second value is the result of that check.
pub(crate) fn info_as_found(folder: &Path) -> Result<(RunInfo, Result<(), Broken>), Error> {
    let path = folder.join("run.json");
    let text = std::fs::read_to_string(&path).map_err(|e| match path.exists() {
        false if folder.join("state.json").exists() => Error::of_file(
            folder,
            say![
                "this stream has no front yet; add rows until the first batch is full",
                aside(say![", or use ", STREAM_FLUSH])
            ],
        ),
        false if checkpoint::is_unfinished(folder) => Error::of_file(
            folder,
            say![
                "this run is not finished";
                "resume it by repeating its fit command with ", RESUME
            ],
        ),
        false => Error::file(
            folder,
            "not a run folder (no run.json in it); choose the folder of a run",
        ),
        true => Error::file(&path, e),
    })?;
    Ok((parsed(&path, &text)?, seal::open(&text).map(|_| ())))
}

/// Parses the text of `run.json`; fails if it was changed after it was written.
pub(crate) fn info_of(path: &Path, text: &str) -> Result<RunInfo, Error> {
    let info = parsed(path, text)?;
    seal::open(text).map_err(|broken| changed(path, broken))?;
    Ok(info)
}

fn changed(path: &Path, broken: Broken) -> Error {
    let problem = format!("{}; restore it from a copy, or fit again", broken.problem());
    Error::file(path, problem)
}

/// Fails if the bytes of a file are not those that were written.
pub(crate) fn check_sum(path: &Path, bytes: &[u8], written: &str) -> Result<(), Error> {
    if sum(bytes) == written {
        return Ok(());
    }
    let problem = "the file was changed after it was written or belongs to another run, because \
                   its checksum differs from the one in run.json; restore it from a copy, or fit \
                   again";
    Err(Error::file(path, problem))
}

fn parsed(path: &Path, text: &str) -> Result<RunInfo, Error> {
    let info: RunInfo = serde_json::from_str(text)
        .map_err(|e| Error::file(path, format!("the file is corrupted ({e}); fit again")))?;
    if info.format != FORMAT || info.version != VERSION {
        return Err(Error::file(
            path,
            format!(
                "the file has the format {} version {}, but this program reads {FORMAT} version \
                 {VERSION}",
                info.format, info.version
            ),
        ));
    }
    let n = info.objectives.len();
    let judged = &info.judged;
    let measures_match = match judged.front_in {
        FrontIn::Measures => judged.measures.len() == n,
        FrontIn::Objectives => [0, n].contains(&judged.measures.len()),
    };
    let lists = [
        info.requested.len(),
        info.definitions.len(),
        info.at_zero.len(),
    ];
    let meant = info.meaning.objectives.iter().map(|o| &o.name);
    let sound = (1..=MOST_OBJECTIVES).contains(&n)
        && lists == [n; 3]
        && measures_match
        && meant.eq(&info.objectives);
    if !sound {
        return Err(Error::file(
            path,
            "the file is corrupted (its objectives do not match); fit again",
        ));
    }
    Ok(info)
}

/// Warnings about corrupted newer generations of a state, to print before its run is read. Empty
/// for a run folder.
pub fn state_diagnostics(folder: &Path) -> Vec<Diagnostic> {
    // Reading the run reports all other problems.
    resolve(folder).map_or_else(|_| Vec::new(), |found| found.diagnostics)
}

/// Reads a run: the content of `run.json`, and the front. In a state, this is the newest intact
/// run, even while a process writes there; the diagnostics warn about corrupted newer ones.
pub fn read_run(folder: &Path) -> Result<(RunInfo, FrontTable), Error> {
    let ((mut info, front), diagnostics) = read_stable(folder, run_in)?;
    info.diagnostics.extend(diagnostics);
    Ok((info, front))
}

/// Reads the run in this folder, which is not a state.
pub fn run_in(folder: &Path) -> Result<(RunInfo, FrontTable), Error> {
    let info = info_in(folder)?;
    let path = folder.join("front.parquet");
    let bytes = std::fs::read(&path).map_err(|e| {
        let kind = e.kind();
        let problem =
            format!("the file cannot be read ({kind}), so the run folder is incomplete; fit again");
        Error::file(&path, problem)
    })?;
    let front = front_of(&path, &info, bytes)?;
    Ok((info, front))
}

/// Parses the front from the bytes of its file, which must belong to this run.
pub(crate) fn front_of(path: &Path, info: &RunInfo, bytes: Vec<u8>) -> Result<FrontTable, Error> {
    check_sum(path, &bytes, &info.front_sha256)?;
    FrontTable::from_bytes(path, bytes)
}
