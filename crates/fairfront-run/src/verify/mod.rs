//! A run recomputed from its folder and its data.

mod check;
mod recomputed;
mod reopen;
mod stored;

use std::path::Path;
use std::sync::Arc;

use fairfront_core::{FairProblem, Problem, aside, predictor_of, say};
use fairfront_data::{Encoded, Notice, Ordered, Part};
use fairfront_model::{Error as ModelError, Stated, TestKind};
use fairfront_solve::StopSignal;
use serde::Serialize;
use serde_json::{Value, json};

pub use check::{Check, Difference, LEAST_SIZE, TOLERANCE};
use recomputed::Recomputed;
use reopen::reopen;
pub(crate) use reopen::rows_again;
use stored::{points_of, read_encoding, read_front, read_tallies};

use crate::certify::{
    Certificate as Certified, Demand, IntervalInfo, Log, Plan, TALLIES, USES, Use, Weighed,
};
use crate::fit::{CertificateInfo, fingerprint, parse_objectives, values_at_zero};
use crate::folder::{info_as_found, rows_by_split};
use crate::judge::JudgedInfo;
use crate::setting::VERIFY;
use crate::store::read_stable;
use crate::{Error, FrontTable, PenaltyInfo, PenaltyRule, Run, RunInfo};

/// Reads the rows that a stream's state keeps, encoded as its front was fitted on them: of the state's
/// folder and one of its generations.
pub type KeptRows = dyn Fn(&Path, &Path) -> Result<Encoded, Error>;

/// Where to find the rows of a run again.
#[derive(Clone, Copy)]
pub struct RowPlaces<'a> {
    /// The folder of the published files.
    pub published: Option<&'a Path>,
    /// The reader of a stream's state.
    pub kept: &'a KeptRows,
}

#[cfg(test)]
impl RowPlaces<'_> {
    /// For runs without a stream, on data that needs no published file.
    pub(crate) const NONE: Self = Self {
        published: None,
        kept: &|_, _| Err(Error::data("there is no stream")),
    };
}

/// What recomputing a run found.
#[derive(Debug, Clone, Serialize)]
pub struct Verification {
    /// The files or the data set that were read.
    pub source: String,
    /// Points of the front.
    pub points: usize,
    /// Whether all is as the run says.
    pub agrees: bool,
    /// What a value may differ by, as a share of its size.
    pub tolerance: f64,
    /// All that was compared.
    pub checks: Vec<Check>,
}

/// Recomputes all that a run says of its points, and what it says of its data, from the folder and
/// the data alone. The data are the files that the run names, in the current folder or in the folder of
/// the run (published files are in a folder of their own), or `files` in their place, read as the run says; for a stream, the rows that its state
/// keeps.
///
/// Fails where there is nothing to compare: `run.json` or the data cannot be read.
pub fn verify(folder: &Path, files: &[String], places: RowPlaces) -> Result<Verification, Error> {
    // All at once: a state may go on while its run is recomputed.
    let (((info, sealed), encoding, (front, of_file), tallies, kept), damaged) =
        read_stable(folder, |place| {
            let (info, sealed) = info_as_found(place)?;
            let front = read_front(place, &info);
            let tallies = read_tallies(place, &info);
            let kept = match info.stream {
                Some(_) if files.is_empty() => Some((places.kept)(folder, place)?),
                Some(_) => {
                    return Err(Error::usage(
                        "a stream is verified by the rows in its own state; name no files",
                    ));
                }
                None => None,
            };
            let encoding = read_encoding(place, &info);
            Ok(((info, sealed), encoding, front, tallies, kept))
        })?;
    let in_run = |e: Error| match e {
        e @ (Error::Model(ModelError::Evaluate(_)) | Error::Solve(_) | Error::Front(_)) => e,
        e => Error::of_file(&folder.join("run.json"), e.message()),
    };
    let (source, encoded) = match kept {
        Some(encoded) => ("the rows it keeps".into(), encoded),
        None => {
            let run = folder.display();
            let remedy = say!["pass the path", aside(say![": ", VERIFY, " {run} FILE…"])];
            let prepared = reopen(folder, &info, files, places.published, Some(&remedy))?;
            let encoded = Encoded::new(&prepared)?;
            (prepared.table.name, encoded)
        }
    };
    let train = encoded.part(Part::Train);
    let lambda = info.penalty.as_ref().map(|penalty| penalty.chosen);
    let objectives =
        parse_objectives(&info.requested, train.schema(), &[], lambda).map_err(in_run)?;
    let names: Vec<String> = objectives.iter().map(|o| o.name()).collect();
    let definitions: Vec<String> = objectives.iter().map(|o| o.definition()).collect();
    let predictor = predictor_of(train.schema());
    let problem = FairProblem::of_shared(Arc::new(train.clone()), predictor, objectives)?;

    let mut checks: Vec<Check> = damaged.iter().map(of_state).collect();
    checks.push(data(&info, &encoded));
    checks.push(check_encoding(encoding, &encoded));
    checks.push(of_file);

    let mut facts = Facts {
        objectives: names.clone(),
        definitions,
        at_zero: values_at_zero(&problem)?,
        features: encoded.encoding.schema().feature_names(),
        rows: rows_by_split(&encoded),
        penalty: match (&info.penalty, &info.stream) {
            (Some(penalty), None) if penalty.rule != PenaltyRule::Stopped => {
                let stop = StopSignal::default();
                Some(PenaltyInfo::choose(penalty.asked(), train, &stop)?)
            }
            // That of a stream was chosen on the rows of its first front.
            (penalty, _) => penalty.clone(),
        },
        ..Facts::of(&info)
    };
    let mut of_points = Vec::new();
    if let Some(front) = &front {
        facts.points = front.len();
        match points_of(front, &info, problem.n_params()) {
            Err(why) => of_points.push(Check {
                problem: Some(why),
                ..Check::new("points")
            }),
            Ok(points) => {
                let found = Recomputed::new(&problem, &encoded, &points, &info)?;
                facts.judged = found.judged(problem.n_objectives(), train.schema(), &info);
                if let Ok(certificates) = &found.certificates {
                    facts.certificate = CertificateInfo::of(certificates);
                }
                of_points = found.compare(front, &info, &names, &encoded);
                of_points.push(found.front(&problem, &encoded, &info)?);
                facts.intervals = found.weighed.info.clone();
                let recomputed = serde_json::to_value(&found.weighed.evidence).unwrap_or_default();
                let (mut check, stored) = tallies;
                if let Some(stored) = stored {
                    check.json(TALLIES, "", &stored, &recomputed, TOLERANCE);
                }
                of_points.push(check);
                of_points.extend(certificates(folder, &info, front, &encoded, found.weighed));
            }
        }
    }
    let mut of_run = Check::new("run.json");
    let (stored, recomputed) = (Facts::of(&info).json(), facts.json());
    of_run.json("run.json", "", &stored, &recomputed, TOLERANCE);
    of_run.problem = sealed.err().map(|broken| broken.problem().into());
    checks.push(of_run);
    checks.extend(of_points);
    Ok(Verification {
        source,
        points: facts.points,
        agrees: checks.iter().all(Check::agrees),
        tolerance: TOLERANCE,
        checks,
    })
}

/// What `run.json` says that its data and its front say too.
#[derive(Serialize)]
struct Facts {
    objectives: Vec<String>,
    definitions: Vec<String>,
    at_zero: Vec<f64>,
    features: Vec<String>,
    rows: Ordered<usize>,
    points: usize,
    judged: JudgedInfo,
    penalty: Option<PenaltyInfo>,
    certificate: CertificateInfo,
    intervals: IntervalInfo,
}

impl Facts {
    fn of(info: &RunInfo) -> Self {
        Self {
            objectives: info.objectives.clone(),
            definitions: info.definitions.clone(),
            at_zero: info.at_zero.clone(),
            features: info.features.clone(),
            rows: info.rows.clone(),
            points: info.points,
            judged: info.judged.clone(),
            penalty: info.penalty.clone(),
            certificate: info.certificate.clone(),
            intervals: info.intervals.clone(),
        }
    }

    fn json(&self) -> Value {
        // Texts, numbers and lists of them: nothing that JSON cannot hold.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Whether these are the run's rows, and if not, what tells.
fn data(info: &RunInfo, encoded: &Encoded) -> Check {
    let mut check = Check::new("data");
    let (stored, found) = (json!(info.fingerprint), json!(fingerprint(encoded)));
    check.json("run.json", "fingerprint", &stored, &found, 0.0);
    if check.agrees() {
        return check;
    }
    let mut reasons = Vec::new();
    let rows = |rows: &Ordered<usize>| {
        let counts = rows.0.iter().map(|(split, n)| format!("{n} {split}"));
        counts.collect::<Vec<_>>().join(" + ")
    };
    let (stored, found) = (rows(&info.rows), rows(&rows_by_split(encoded)));
    if stored != found {
        reasons.push(format!("the run has {stored} rows, these are {found}"));
    }
    let features = encoded.encoding.schema().feature_names();
    let lacks = |own: &[String], other: &[String]| {
        let absent = own.iter().find(|name| !other.contains(name));
        absent.map(|name| format!("{name:?}"))
    };
    if let Some(name) = lacks(&info.features, &features) {
        reasons.push(format!("these lack the feature {name}"));
    }
    if let Some(name) = lacks(&features, &info.features) {
        reasons.push(format!(
            "these have the feature {name}, which the run has not"
        ));
    }
    if reasons.is_empty() {
        reasons.push(
            "as many rows and the same features, but a value, label, group or weight is another"
                .into(),
        );
    }
    check.problem = Some(format!(
        "these are not the run's rows: {}",
        reasons.join("; ")
    ));
    check
}

/// A generation that should have been verified in place of this one.
fn of_state(damaged: &Notice) -> Check {
    Check {
        problem: Some(damaged.message.to_string()),
        ..Check::new("state")
    }
}

/// Every logged use of the certifying rows, tested again in its order on recomputed counts; `None`
/// without any.
fn certificates(
    folder: &Path,
    info: &RunInfo,
    front: &FrontTable,
    encoded: &Encoded,
    weighed: Weighed,
) -> Option<Check> {
    let mut check = Check::new("certificates of requirements");
    let uses = match Log::read(folder) {
        Ok(uses) => uses,
        Err(e) => {
            check.problem = Some(e.to_string());
            return Some(check);
        }
    };
    if uses.is_empty() && info.certified.is_none() {
        return None;
    }
    let run = Run {
        info: info.clone(),
        front: front.clone(),
        encoding: encoded.encoding.clone(),
        evidence: weighed.evidence,
        uses: Vec::new(),
        estimator: None,
    };
    for (index, used) in uses.iter().enumerate() {
        // Uses of rows or fronts of before are there to be counted.
        let own = |c: &Certified| {
            let certify = run.evidence.certify.as_ref();
            c.front_sha256 == info.front_sha256
                && certify.is_some_and(|rows| rows.fingerprint == c.rows.fingerprint)
        };
        if !own(&used.certificate) {
            continue;
        }
        let place = format!("{USES}, line {}", index + 1);
        match certified_again(&run, &used.certificate, &uses[..index]) {
            Ok(found) => {
                let stored = serde_json::to_value(&used.certificate).unwrap_or_default();
                let found = serde_json::to_value(&found).unwrap_or_default();
                check.json(&place, "", &stored, &found, TOLERANCE);
            }
            Err(e) => check.problem = Some(format!("{place}: it cannot be tested again: {e}")),
        }
    }
    if let Some(certified) = &info.certified
        && !uses.iter().any(|used| used.certificate == *certified)
    {
        check.problem = Some(format!(
            "{USES} lacks the use that run.json names; restore it from a backup"
        ));
    }
    Some(check)
}

/// A use of the certifying rows after those before it.
fn certified_again(run: &Run, stored: &Certified, before: &[Use]) -> Result<Certified, Error> {
    let exact = stored.test == TestKind::Exact;
    let best = stored.order.as_deref();
    let demand = Demand::parse(&stored.requirements, stored.confidence, exact, best)?;
    let looked = stored.stated == Stated::AfterLooking;
    let (found, _) = Plan::new(run, &demand)?.certify(before, looked)?;
    Ok(found)
}

/// The stored encoding beside the one that these rows give.
fn check_encoding((mut check, stored): (Check, Option<Value>), encoded: &Encoded) -> Check {
    if let Some(stored) = stored {
        let found = serde_json::to_value(&encoded.encoding).unwrap_or_default();
        check.json("encoding.json", "", &stored, &found, 0.0);
    }
    check
}
