//! Requests, which determine the result of a fit, and the differences between two requests.

use std::collections::BTreeMap;

use fairfront_core::{Message, Name, say};
use fairfront_data::setting::{self, SEED};
use fairfront_data::{Facts, ReadFrom, Spec};
use fairfront_solve::{AnySolver, Polish};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::setting::{FAMILY, FRONT_IN, HIDDEN, OBJECTIVE, PENALTY, POLISH, SCORE, SOLVER};
use crate::{Error, FamilyRequest, FitRequest, FrontIn, Penalty, RunInfo};

const FORMAT: &str = "fairfront-fit-request";
const VERSION: u32 = 1;

/// Everything that determines the result of a fit: `request.json` of a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    format: String,
    version: u32,
    /// Version of the program.
    program: String,
    /// The files or the data set.
    source: String,
    read: Option<ReadFrom>,
    spec: Spec,
    objectives: Vec<String>,
    /// Solvers that may be used.
    solvers: Vec<Choice>,
    front_in: Option<FrontIn>,
    #[serde(default)]
    penalty: Penalty,
    #[serde(default)]
    family: FamilyRequest,
    /// SHA-256 of encoding and encoded rows.
    fingerprint: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Choice {
    #[serde(flatten)]
    solver: AnySolver,
    polish: Option<Polish>,
}

impl Request {
    pub(crate) fn new(facts: &Facts, request: &FitRequest, fingerprint: String) -> Self {
        let choice = |choice: &crate::SolverChoice| Choice {
            solver: choice.solver.clone(),
            polish: choice.polish.clone(),
        };
        Self {
            format: FORMAT.into(),
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").into(),
            source: facts.table.clone(),
            read: facts.read.clone(),
            spec: facts.spec.clone(),
            objectives: request.objectives.clone(),
            solvers: request.solvers.iter().map(choice).collect(),
            front_in: request.front_in,
            penalty: request.penalty,
            family: request.family.clone(),
            fingerprint,
        }
    }

    pub(super) fn to_json(&self) -> Result<Vec<u8>, Error> {
        let failed = |e: serde_json::Error| Error::data(format!("request.json: {e}"));
        let mut bytes = serde_json::to_vec_pretty(self).map_err(failed)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    pub(super) fn from_json(bytes: &[u8]) -> Result<Self, String> {
        let request: Self = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        match request.format == FORMAT && request.version == VERSION {
            true => Ok(request),
            false => Err("it has a different format or version".into()),
        }
    }

    /// Differences between a finished run and the run of this request; the program's version no
    /// longer matters.
    pub(super) fn differences_to(&self, run: &RunInfo) -> Vec<Difference> {
        let mut of_run = self.clone();
        of_run.source.clone_from(&run.source);
        of_run.read.clone_from(&run.read);
        of_run.spec.clone_from(&run.spec);
        of_run.objectives.clone_from(&run.requested);
        of_run.fingerprint.clone_from(&run.fingerprint);
        if self.front_in.is_some() {
            of_run.front_in = Some(run.judged.front_in);
        }
        of_run.family = match &run.family {
            Some(family) => family.request.clone(),
            None if self.family.is_linear() => self.family.clone(),
            None => FamilyRequest::default(),
        };
        if let Some(penalty) = &run.penalty {
            of_run.penalty = penalty.asked();
        }
        let choice = Choice {
            solver: run.solver.clone(),
            polish: run.polish.as_ref().map(|p| p.settings.clone()),
        };
        if !self.solvers.contains(&choice) {
            of_run.solvers = vec![choice];
        }
        self.differences_from(&of_run)
    }

    /// Differences between this request and an earlier one.
    pub(super) fn differences_from(&self, earlier: &Self) -> Vec<Difference> {
        let (old, new) = (earlier.flat(), self.flat());
        let mut names: Vec<&Asked> = old.keys().chain(new.keys()).collect();
        names.sort();
        names.dedup();
        let mut differences = Vec::new();
        for name in names {
            let value = |of: &BTreeMap<Asked, Value>| of.get(name).cloned().unwrap_or_default();
            let (was, is) = (value(&old), value(&new));
            if was != is {
                let name = name.clone();
                differences.push(Difference { name, was, is });
            }
        }
        // Solvers use the seed of the split.
        if differences.iter().any(|d| d.name == Asked::Setting(SEED)) {
            differences
                .retain(|d| !matches!(&d.name, Asked::OfSolver(setting, _) if setting == "seed"));
        }
        // A different solver implies different settings.
        if differences.iter().any(|d| d.name == Asked::Setting(SOLVER)) {
            differences.retain(|d| !matches!(d.name, Asked::SettingOf(..) | Asked::OfSolver(..)));
        }
        // Different options imply different encoded rows.
        if differences.len() > 1 {
            differences.retain(|d| d.name != Asked::Words(FINGERPRINT.into()));
        }
        differences
    }

    /// All values that determine the result, by the names that users know.
    fn flat(&self) -> BTreeMap<Asked, Value> {
        use Asked::{OfSolver, Setting, SettingOf, Words};
        let json = |value: Result<Value, serde_json::Error>| value.unwrap_or_default();
        let mut flat = BTreeMap::new();
        flat.insert(
            Words("the version of fairfront".into()),
            self.program.clone().into(),
        );
        flat.insert(Words("the data".into()), self.source.clone().into());
        flat.insert(Setting(OBJECTIVE), self.objectives.clone().into());
        flat.insert(Setting(FRONT_IN), json(serde_json::to_value(self.front_in)));
        flat.insert(
            Setting(PENALTY),
            match self.penalty {
                Penalty::Auto { .. } => "auto".into(),
                Penalty::Fixed(lambda) => lambda.into(),
            },
        );
        flat.insert(Setting(FAMILY), self.family.family.name().into());
        let hidden = Some(self.family.hidden).filter(|hidden| *hidden > 0);
        flat.insert(Setting(HIDDEN), json(serde_json::to_value(hidden)));
        flat.insert(
            Setting(SCORE),
            json(serde_json::to_value(&self.family.brought.outcome)),
        );
        flat.insert(Words(FINGERPRINT.into()), self.fingerprint.clone().into());
        let options = self.read.as_ref().map(|read| &read.options);
        let parts = [
            json(serde_json::to_value(&self.spec)),
            json(serde_json::to_value(options)),
        ];
        for part in parts {
            let Value::Object(part) = part else { continue };
            for (name, value) in part {
                flat.insert(Asked::field(&name), value);
            }
        }
        let names: Vec<&str> = self.solvers.iter().map(|s| s.solver.name()).collect();
        flat.insert(Setting(SOLVER), names.into());
        for choice in &self.solvers {
            let of = choice.solver.name();
            let settings = json(serde_json::to_value(&choice.solver));
            if let Some(Value::Object(settings)) = settings.get("solver_settings") {
                for (name, value) in settings {
                    flat.insert(OfSolver(name.clone(), of), value.clone());
                }
            }
            let polish = json(serde_json::to_value(&choice.polish));
            flat.insert(SettingOf(POLISH, of), polish);
        }
        flat
    }
}

const FINGERPRINT: &str = "the fingerprint of the encoded rows";

/// A requested setting, by the name that users know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asked {
    Setting(Name),
    /// A setting for the result of a solver.
    SettingOf(Name, &'static str),
    /// A setting of a solver, and the solver.
    OfSolver(String, &'static str),
    Words(String),
}

impl Asked {
    /// The setting of a field of the spec or of the reading options.
    fn field(field: &str) -> Self {
        let word = match field {
            "types" => "type",
            "merges" => "merge",
            "missing_by_column" => "missing",
            "missing_values" => "missing_value",
            "features" => "feature",
            "header" => "no_header",
            other => other,
        };
        let known = setting::ALL.iter().find(|name| name.word() == Some(word));
        known.map_or_else(|| Self::Words(field.into()), |name| Self::Setting(*name))
    }

    fn message(&self) -> Message {
        match self {
            Self::Setting(name) => say![*name],
            Self::SettingOf(name, solver) => say![*name, " of {solver}"],
            Self::OfSolver(setting, solver) => format!("{setting} of {solver}").into(),
            Self::Words(words) => words.as_str().into(),
        }
    }
}

/// A value that differed when a checkpoint was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    pub(super) name: Asked,
    pub(super) was: Value,
    pub(super) is: Value,
}

impl Difference {
    /// The first differences in one line.
    pub(super) fn list(all: &[Self], when: &str) -> Message {
        const MOST: usize = 6;
        let shown = |value: &Value| match value {
            Value::Null => "not set".into(),
            Value::String(text) => text.clone(),
            Value::Array(values) if values.iter().all(Value::is_string) => {
                let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
                values.join(", ")
            }
            other => other.to_string(),
        };
        let mut message = Message::default();
        for (i, difference) in all.iter().take(MOST).enumerate() {
            let when = if i == 0 { when } else { "" };
            let (was, is) = (shown(&difference.was), shown(&difference.is));
            message.push((i > 0).then_some("; "));
            message.push(difference.name.message());
            message.push(format!(" was {was}{when}, now {is}"));
        }
        if let more @ 1.. = all.len().saturating_sub(MOST) {
            message.push(format!("; and {more} more differences"));
        }
        message
    }
}
