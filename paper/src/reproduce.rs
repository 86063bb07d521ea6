//! Runs experiments and writes their results.

use std::path::{Path, PathBuf};

use fairfront_core::counted;
use fairfront_model::write_file;
use fairfront_run::store::Lock;
use fairfront_run::{Error, Figure};
use serde::{Deserialize, Serialize};

use crate::finding::{Draft, Finding, Sheet};
use crate::job::{ADULT_BOTH, COMPAS_BOTH, Job};
use crate::work::{Results, Watcher};
use crate::{
    Effort, Experiment, compas, explain, gender, page, profiles, race, streaming, tables, three,
    tuning,
};

/// A request for [`reproduce`].
#[derive(Debug, Clone)]
pub struct Request {
    /// The experiments.
    pub experiments: Vec<Experiment>,
    /// The budgets.
    pub effort: Effort,
    /// Number of parallel jobs, on one thread each.
    pub threads: usize,
    /// The folder for all results.
    pub out: PathBuf,
    /// The command, for the page.
    pub command: String,
}

/// The results of the experiments: `reproduction.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// Version of the program.
    pub program: String,
    /// The budgets.
    pub effort: Effort,
    /// The last command.
    pub command: String,
    /// Processor, system and number of threads.
    pub machine: String,
    /// One finding per experiment, in the order of [`Experiment::ALL`].
    pub findings: Vec<Finding>,
}

/// The place of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The folder of the results.
    Folder,
    /// The documentation, with links to its other pages.
    Documentation,
}

impl Place {
    /// The folder of the figures, relative to the pages.
    pub fn figures(self) -> &'static str {
        match self {
            Self::Folder => "figures",
            Self::Documentation => "../figures/reproduction",
        }
    }
}

const SETTINGS: &str = "settings.json";
const JSON: &str = "reproduction.json";
/// The page with the claims and verdicts.
pub(crate) const PAGE: &str = "reproduction.md";
/// The page with the tables.
pub(crate) const TABLES: &str = "reproduction-tables.md";

impl Reproduction {
    /// The page with the claims and verdicts, in Markdown.
    pub fn to_markdown(&self, place: Place) -> String {
        page::markdown(self, place)
    }

    /// The page with the tables, in Markdown.
    pub fn tables_to_markdown(&self, place: Place) -> String {
        page::tables(self, place)
    }

    /// Both pages, with the names of their files.
    pub fn pages(&self, place: Place) -> [(&'static str, String); 2] {
        [
            (PAGE, self.to_markdown(place)),
            (TABLES, self.tables_to_markdown(place)),
        ]
    }

    /// File names of all figures.
    pub fn figures(&self) -> impl Iterator<Item = String> {
        let drawn = self.findings.iter().flat_map(|finding| &finding.figures);
        drawn.map(|figure| format!("{}.svg", figure.name))
    }

    /// Reads `reproduction.json`.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|e| Error::data(format!("not a {JSON}: {e}")))
    }

    /// The content of `reproduction.json`.
    pub fn to_json(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|e| Error::data(format!("{JSON} cannot be written: {e}")))?;
        Ok(format!("{text}\n"))
    }
}

/// The jobs of an experiment.
fn jobs(experiment: Experiment, effort: Effort) -> Vec<Job> {
    match experiment {
        Experiment::Tables | Experiment::Figures => Vec::new(),
        Experiment::AdultGender => gender::jobs(effort),
        Experiment::AdultRace => race::jobs(effort),
        Experiment::Profiles => profiles::jobs(effort),
        Experiment::CompasOpportunity => compas::jobs(effort),
        Experiment::AdultTwoAttributes => three::jobs(ADULT_BOTH, effort),
        Experiment::CompasTwoMeasures => three::jobs(COMPAS_BOTH, effort),
        Experiment::Streaming => streaming::jobs(effort),
        Experiment::Tuning => tuning::jobs(effort),
    }
}

fn find(experiment: Experiment, effort: Effort, results: &Results) -> Result<Draft, Error> {
    match experiment {
        Experiment::Tables => tables::find(),
        Experiment::AdultGender => gender::find(effort, results),
        Experiment::AdultRace => race::find(effort, results),
        Experiment::Profiles => profiles::find(effort, results),
        Experiment::CompasOpportunity => compas::find(effort, results),
        Experiment::AdultTwoAttributes => three::two_attributes(effort, results),
        Experiment::CompasTwoMeasures => three::two_measures(effort, results),
        Experiment::Streaming => streaming::find(effort, results),
        Experiment::Tuning => tuning::find(effort, results),
        Experiment::Figures => explain::find(),
    }
}

/// Runs experiments and writes their results: `reproduction.md`, `reproduction-tables.md` and `reproduction.json`,
/// figures in `figures/`, tables as CSV in one folder per experiment, runs in `runs/`. Finished jobs are not repeated,
/// and findings of other experiments in the folder stay. A folder holds results of one effort. Returns `None` if the
/// work was stopped; finished jobs are kept.
pub fn reproduce(request: &Request, watcher: &dyn Watcher) -> Result<Option<Reproduction>, Error> {
    let Request { effort, out, .. } = request;
    let mut experiments = request.experiments.clone();
    experiments.sort_unstable();
    experiments.dedup();
    for experiment in &experiments {
        let lacks = experiment.lacks()?;
        if !lacks.is_empty() {
            let get = lacks
                .iter()
                .map(|name| format!("`fairfront data get {name}`"));
            return Err(Error::data(format!(
                "{experiment} needs {}; run {}, or set FAIRFRONT_DATA to the folder of the files",
                lacks.join(" and "),
                get.collect::<Vec<_>>().join(" and ")
            )));
        }
    }
    // Checked before anything is written, and again under the lock.
    is_settled(out, *effort)?;
    let _lock = Lock::take(out)?;
    settle(out, *effort)?;
    let results = Results::new(out);
    let mut all: Vec<Job> = Vec::new();
    for job in experiments.iter().flat_map(|one| jobs(*one, *effort)) {
        if !all.contains(&job) {
            all.push(job);
        }
    }
    if !results.work(all, request.threads, watcher)? {
        return Ok(None);
    }
    let earlier = earlier(out, *effort);
    let mut reproduction = Reproduction {
        program: env!("CARGO_PKG_VERSION").into(),
        effort: *effort,
        command: request.command.clone(),
        machine: machine(request.threads),
        findings: earlier.map_or_else(Vec::new, |earlier| earlier.findings),
    };
    let drawn_before: Vec<String> = reproduction.figures().collect();
    let place = out.join(Place::Folder.figures());
    for experiment in experiments {
        let Draft { finding, figures } = find(experiment, *effort, &results)?;
        make_folder(&place)?;
        for Figure { name, svg } in &figures {
            write_file(&place.join(format!("{name}.svg")), svg.as_bytes(), true)?;
        }
        let folder = out.join(experiment.name());
        make_folder(&folder)?;
        let name = |sheet: &Sheet| format!("{}.csv", sheet.name);
        for sheet in &finding.sheets {
            write_file(&folder.join(name(sheet)), &csv_of(sheet)?, true)?;
        }
        let findings = &mut reproduction.findings;
        findings.retain(|other| other.experiment != experiment);
        findings.push(finding);
    }
    reproduction
        .findings
        .sort_by_key(|finding| finding.experiment);
    // Remove figures of an earlier version that are no longer drawn.
    let drawn: Vec<String> = reproduction.figures().collect();
    for old in drawn_before.iter().filter(|old| !drawn.contains(old)) {
        // A figure that cannot be removed does no harm.
        let _ = std::fs::remove_file(place.join(old));
    }
    write_file(&out.join(JSON), reproduction.to_json()?.as_bytes(), true)?;
    for (name, page) in reproduction.pages(Place::Folder) {
        write_file(&out.join(name), page.as_bytes(), true)?;
    }
    Ok(Some(reproduction))
}

/// The settings of a folder of experiments.
#[derive(Serialize, Deserialize)]
struct Settings {
    effort: Effort,
}

/// Whether a folder already has the settings of experiments. Rejects folders with foreign files, and folders with
/// another effort, so that small budgets do not replace hours of work.
fn is_settled(out: &Path, effort: Effort) -> Result<bool, Error> {
    let refused = |problem: String| Err(Error::usage(format!("{}: {problem}", out.display())));
    if let Ok(text) = std::fs::read_to_string(out.join(SETTINGS)) {
        return match serde_json::from_str::<Settings>(&text) {
            Ok(settings) if settings.effort == effort => Ok(true),
            Ok(settings) => {
                let budgets = |effort| match effort {
                    Effort::Full => "full",
                    Effort::Quick => "small",
                };
                refused(format!(
                    "contains experiments with {} budgets; choose another folder with --out for {} budgets",
                    budgets(settings.effort),
                    budgets(effort)
                ))
            }
            Err(_) => refused(format!(
                "{SETTINGS} is corrupted or was not written by this program; choose another folder with --out"
            )),
        };
    }
    let files = std::fs::read_dir(out).into_iter().flatten().flatten();
    // This program writes locks, and unfinished files remain if it is killed.
    let is_ours = |name: &str| name == "lock" || name.starts_with(".fairfront-");
    if files
        .into_iter()
        .any(|file| !file.file_name().to_str().is_some_and(is_ours))
    {
        let problem =
            "contains files that no experiment wrote; choose an empty or new folder with --out";
        return refused(problem.into());
    }
    Ok(false)
}

/// Writes the settings to a new folder.
fn settle(out: &Path, effort: Effort) -> Result<(), Error> {
    if is_settled(out, effort)? {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&Settings { effort });
    let text = text.map_err(|e| Error::data(e.to_string()))?;
    write_file(&out.join(SETTINGS), format!("{text}\n").as_bytes(), true)?;
    Ok(())
}

/// The processor if the system reports it, the system, and the number of threads.
fn machine(threads: usize) -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model
        .and_then(|line| line.split_once(':'))
        .map(|(_, model)| model.trim());
    let model = model.map_or_else(String::new, |model| format!("{model}, "));
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    let threads = counted(threads, "thread");
    format!("{model}{system} on {processor}, {threads}")
}

/// The earlier results of this version, if there are any.
fn earlier(out: &Path, effort: Effort) -> Option<Reproduction> {
    let text = std::fs::read_to_string(out.join(JSON)).ok()?;
    let found = Reproduction::from_json(&text).ok()?;
    (found.program == env!("CARGO_PKG_VERSION") && found.effort == effort).then_some(found)
}

pub(crate) fn make_folder(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|e| {
        let problem = format!("cannot be created ({}); choose another folder", e.kind());
        Error::file(folder, problem)
    })
}

fn csv_of(sheet: &Sheet) -> Result<Vec<u8>, Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |e: csv::Error| Error::data(format!("{} cannot be written: {e}", sheet.name));
    writer.write_record(&sheet.header).map_err(failed)?;
    for row in &sheet.rows {
        writer.write_record(row).map_err(failed)?;
    }
    writer.into_inner().map_err(|e| Error::data(e.to_string()))
}
