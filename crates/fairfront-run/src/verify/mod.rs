//! Verifies a run: recomputes it from its folder and its data.

mod check;
mod recomputed;
mod reopen;
mod stored;

use std::path::Path;
use std::sync::Arc;

use fairfront_core::{FairProblem, Measure, Objective, Problem, Schema, aside, predictor_of, say};
use fairfront_data::{Diagnostic, Encoded, Ordered, Part};
use fairfront_model::{Error as ModelError, Stated};
use fairfront_solve::StopSignal;
use serde::Serialize;
use serde_json::{Value, json};

pub use check::{Check, Difference, LEAST_SIZE, TOLERANCE};
use recomputed::Recomputed;
use reopen::reopen;
pub(crate) use reopen::{columns_again, prepared_again, rows_again};
use stored::{points_of, read_encoding, read_front, read_tallies};

use crate::certify::{
    Certificate as Certified, Demand, IntervalInfo, Log, Plan, TALLIES, USES, Use, Weighed,
};
use crate::distribution::of_target;
use crate::families::{Learning, learning_rows, overlays};
use crate::fit::{ProofInfo, fingerprint, parse_objectives, values_at_zero};
use crate::folder::{info_as_found, parameter_names, rows_by_split};
use crate::judge::JudgedInfo;
use crate::setting::VERIFY;
use crate::store::read_stable;
use crate::{
    Error, FrontTable, LearnerInfo, Overlay, OverlayKind, PenaltyInfo, PenaltyRule, Run, RunInfo,
};

/// Reads the rows in the state of a stream, encoded as for its front. The arguments are the state's
/// folder and one of its generations.
pub type KeptRows = dyn Fn(&Path, &Path) -> Result<Encoded, Error>;

/// Locations of the rows of a run.
#[derive(Clone, Copy)]
pub struct RowPlaces<'a> {
    /// The folder of the published files.
    pub published: Option<&'a Path>,
    /// The reader of a stream's state.
    pub kept: &'a KeptRows,
}

#[cfg(test)]
impl RowPlaces<'_> {
    /// For runs that are not streams and need no published files.
    pub(crate) const NONE: Self = Self {
        published: None,
        kept: &|_, _| Err(Error::data("the run is not a stream")),
    };
}

/// The result of verifying a run.
#[derive(Debug, Clone, Serialize)]
pub struct Verification {
    /// The files or the data set that were read.
    pub source: String,
    /// Number of models of the front.
    pub models: usize,
    /// Whether all checks agree.
    pub agrees: bool,
    /// Largest relative difference allowed for a value.
    pub tolerance: f64,
    /// All comparisons.
    pub checks: Vec<Check>,
}

/// Recomputes all stored values of a run's models and data from the folder and the data alone. The
/// data are the files that the run names, in the current folder or next to the run folder
/// (published files are in their own folder), or `files` instead, read with the settings of the
/// run. For a stream, they are the rows in its state.
///
/// Fails if there is nothing to compare because `run.json` or the data cannot be read.
pub fn verify(folder: &Path, files: &[String], places: RowPlaces) -> Result<Verification, Error> {
    // Read everything at once, because a stream may advance while its run is recomputed.
    let (((info, sealed), encoding, (front, of_file), tallies, kept), damaged) =
        read_stable(folder, |place| {
            let (info, sealed) = info_as_found(place)?;
            let front = read_front(place, &info);
            let tallies = read_tallies(place, &info);
            let kept = match info.stream {
                Some(_) if files.is_empty() => Some((places.kept)(folder, place)?),
                Some(_) => {
                    return Err(Error::usage(
                        "a stream is verified on the rows in its own state; pass no files",
                    ));
                }
                None => None,
            };
            let encoding = read_encoding(place, &info);
            Ok(((info, sealed), encoding, front, tallies, kept))
        })?;
    let in_run = |e: Error| in_run(folder, e);
    let (source, encoded) = match kept {
        Some(encoded) => ("the rows in its state".into(), encoded),
        None => {
            let run = folder.display();
            let remedy = say!["pass the path", aside(say![": ", VERIFY, " {run} FILE…"])];
            reopen(folder, &info, files, places.published, Some(&remedy))?
        }
    };
    let checked = data(&info, &encoded)?;
    let encoded = of_family(encoded, &info);
    let lambda = info.penalty.as_ref().map(|penalty| penalty.chosen);
    let schema = encoded.part(Part::Train).schema();
    let objectives = parse_objectives(&info.requested, schema, &[], lambda).map_err(in_run)?;
    let columns = encoded.part(Part::Train).clone();
    let (encoded, learners) = learned_again(encoded, &objectives, &info)?;
    let train = encoded.part(Part::Train);
    let names: Vec<String> = objectives.iter().map(|o| o.name()).collect();
    let definitions: Vec<String> = objectives.iter().map(|o| o.definition()).collect();
    let predictor = predictor_of(train.schema());
    let problem = FairProblem::of_shared(Arc::new(train.clone()), predictor, objectives)?;

    let mut checks: Vec<Check> = damaged.iter().map(of_state).collect();
    checks.push(checked);
    checks.push(check_encoding(encoding, &encoded));
    checks.push(of_file);
    checks.extend(learners);

    let mut facts = Facts {
        objectives: names.clone(),
        definitions,
        at_zero: values_at_zero(&problem)?,
        features: parameter_names(&encoded.encoding.schema()),
        rows: rows_by_split(&encoded),
        penalty: match (&info.penalty, &info.stream) {
            (Some(penalty), None) if penalty.rule != PenaltyRule::Stopped => {
                let stop = StopSignal::default();
                // Penalties are those of models without learners.
                Some(PenaltyInfo::choose(penalty.asked(), &columns, &stop)?)
            }
            // The penalty of a stream was chosen on the rows of its first front.
            (penalty, _) => penalty.clone(),
        },
        ..Facts::of(&info)
    };
    let mut of_points = Vec::new();
    if let Some(front) = &front {
        facts.models = front.len();
        match points_of(front, &info, problem.n_params()) {
            Err(why) => of_points.push(Check {
                problem: Some(why),
                ..Check::new("models")
            }),
            Ok(points) => {
                let found = Recomputed::new(&problem, &encoded, &points, &info)?;
                facts.judged = found.judged(problem.n_objectives(), train.schema(), &info);
                if let Ok(proofs) = &found.proofs {
                    facts.proof = ProofInfo::of(proofs);
                }
                of_points = found.compare(front, &info, &names, &encoded);
                of_points.push(found.front(&problem, &encoded, &info, &front.families)?);
                facts.intervals = found.weighed.info.clone();
                facts.target_shares = of_target(&encoded, &found.splits)?;
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
        models: facts.models,
        agrees: checks.iter().all(Check::agrees),
        tolerance: TOLERANCE,
        checks,
    })
}

/// An error about the settings in `run.json`, with its path.
fn in_run(folder: &Path, error: Error) -> Error {
    match error {
        e @ (Error::Model(ModelError::Evaluate(_)) | Error::Solve(_) | Error::Front(_)) => e,
        e => Error::of_file(&folder.join("run.json"), e.message()),
    }
}

/// The entries of `run.json` that follow from the data and the front.
#[derive(Serialize)]
struct Facts {
    objectives: Vec<String>,
    definitions: Vec<String>,
    at_zero: Vec<f64>,
    features: Vec<String>,
    rows: Ordered<usize>,
    models: usize,
    judged: JudgedInfo,
    penalty: Option<PenaltyInfo>,
    proof: ProofInfo,
    intervals: IntervalInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_shares: Option<Ordered<Option<Vec<f64>>>>,
}

impl Facts {
    fn of(info: &RunInfo) -> Self {
        Self {
            objectives: info.objectives.clone(),
            definitions: info.definitions.clone(),
            at_zero: info.at_zero.clone(),
            features: info.features.clone(),
            rows: info.rows.clone(),
            models: info.models,
            judged: info.judged.clone(),
            penalty: info.penalty.clone(),
            proof: info.proof.clone(),
            intervals: info.intervals.clone(),
            target_shares: info.target_shares.clone(),
        }
    }

    fn json(&self) -> Value {
        // Strings, numbers and lists always convert to JSON.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Checks that these are the run's rows, and describes the difference if not.
fn data(info: &RunInfo, encoded: &Encoded) -> Result<Check, Error> {
    let mut check = Check::new("data");
    let (stored, found) = (json!(info.fingerprint), json!(fingerprint(encoded)?));
    check.json("run.json", "fingerprint", &stored, &found, 0.0);
    if check.agrees() {
        return Ok(check);
    }
    let mut reasons = Vec::new();
    let rows = |rows: &Ordered<usize>| {
        let counts = rows.0.iter().map(|(split, n)| format!("{n} {split}"));
        counts.collect::<Vec<_>>().join(" + ")
    };
    let (stored, found) = (rows(&info.rows), rows(&rows_by_split(encoded)));
    if stored != found {
        reasons.push(format!("the run has {stored} rows, the data have {found}"));
    }
    let hidden = info.family.as_ref().map_or(0, |f| f.request.hidden);
    let features = parameter_names(&Schema {
        hidden,
        ..encoded.encoding.schema()
    });
    let learned = info
        .family
        .as_ref()
        .map_or(&[][..], |family| &family.features);
    let own = info.features.iter().filter(|name| !learned.contains(name));
    let own: Vec<String> = own.cloned().collect();
    let lacks = |own: &[String], other: &[String]| {
        let absent = own.iter().find(|name| !other.contains(name));
        absent.map(|name| format!("{name:?}"))
    };
    if let Some(name) = lacks(&own, &features) {
        reasons.push(format!("the data lack the feature {name}"));
    }
    if let Some(name) = lacks(&features, &own) {
        reasons.push(format!(
            "the data have the feature {name}, which the run does not have"
        ));
    }
    if reasons.is_empty() {
        reasons.push(
            "a value, label, group or weight differs; the number of rows and the features agree"
                .into(),
        );
    }
    check.problem = Some(format!(
        "these are not the run's rows: {}",
        reasons.join("; ")
    ));
    Ok(check)
}

/// A corrupted generation that should have been verified instead of this one.
fn of_state(damaged: &Diagnostic) -> Check {
    Check {
        problem: Some(damaged.message.to_string()),
        ..Check::new("state")
    }
}

/// Repeats every logged use of the certifying rows, in order, on recomputed counts; `None` without
/// any uses.
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
        // Uses of previous rows or fronts only count.
        let own = |c: &Certified| {
            let certify = run.evidence.certify.as_ref();
            // The decisions of a baseline are not in the run.
            !c.against_baseline
                && c.front_sha256 == info.front_sha256
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
            Err(e) => check.problem = Some(format!("{place}: the use cannot be tested again: {e}")),
        }
    }
    if let Some(certified) = &info.certified
        && !uses.iter().any(|used| used.certificate == *certified)
    {
        check.problem = Some(format!(
            "{USES} lacks the use recorded in run.json; restore the file from a backup"
        ));
    }
    Some(check)
}

/// Repeats a use of the certifying rows after the previous uses.
fn certified_again(run: &Run, stored: &Certified, before: &[Use]) -> Result<Certified, Error> {
    let exact = stored.test.is_exact();
    let best = stored.order.as_deref();
    let demand = Demand::parse(&stored.requirements, stored.confidence, exact, best)?;
    let looked = stored.stated == Stated::AfterLooking;
    let (found, _) = Plan::new(run, &demand)?.certify(before, looked)?;
    Ok(found)
}

/// The rows of a run for its family of models: networks have hidden units.
fn of_family(encoded: Encoded, info: &RunInfo) -> Encoded {
    match &info.family {
        Some(family) => family.request.rows(encoded),
        None => encoded,
    }
}

/// The rows of a run with the features of its learners, which are fitted again.
fn with_learners(encoded: Encoded, info: &RunInfo) -> Result<Encoded, Error> {
    let schema = encoded.part(Part::Train).schema();
    let objectives = parse_objectives(&info.requested, schema, &[], None)?;
    Ok(learned_again(encoded, &objectives, info)?.0)
}

/// Fits the learners of a run again, and appends their features to its rows. The check compares
/// their description; the learners themselves are part of the encoding.
fn learned_again(
    encoded: Encoded,
    objectives: &[Arc<dyn Objective>],
    info: &RunInfo,
) -> Result<(Encoded, Option<Check>), Error> {
    let family = info.family.as_ref();
    let Some(family) = family.filter(|family| family.request.family.learns()) else {
        return Ok((encoded, None));
    };
    let stop = StopSignal::default();
    let encoded = learning_rows(encoded, &family.request)?;
    let learning = Learning::new(&encoded, objectives, &family.request, &stop)?;
    let mut check = Check::new("learners");
    let json = |value: &Vec<LearnerInfo>| serde_json::to_value(value).unwrap_or_default();
    let (stored, found) = (json(&info.learners), json(&learning.learners));
    check.json("run.json", "learners", &stored, &found, TOLERANCE);
    let (stored, found) = (json!(family.features), json!(learning.features));
    check.json("run.json", "family.features", &stored, &found, 0.0);
    let measures: Option<Vec<Measure>> = objectives.iter().map(|o| o.measure()).collect();
    let found = overlays(&learning, &measures.unwrap_or_default(), &family.request)?;
    // Marks of other columns do not follow from the learners.
    let is_mark = |overlay: &&Overlay| {
        overlay.kind == OverlayKind::Score && info.spec.marks.contains(&overlay.label)
    };
    let stored: Vec<&Overlay> = info.overlays.iter().filter(|o| !is_mark(o)).collect();
    check.json(
        "run.json",
        "overlays",
        &json!(stored),
        &json!(found),
        TOLERANCE,
    );
    Ok((learning.combined, Some(check)))
}

/// Compares the stored encoding with the encoding of these rows.
fn check_encoding((mut check, stored): (Check, Option<Value>), encoded: &Encoded) -> Check {
    if let Some(stored) = stored {
        let found = serde_json::to_value(&encoded.encoding).unwrap_or_default();
        check.json("encoding.json", "", &stored, &found, 0.0);
    }
    check
}
