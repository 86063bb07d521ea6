//! A run recomputed from its folder and its data.

mod check;

use std::path::Path;
use std::sync::Arc;

use fairfront_core::{
    Calibration, FairProblem, Measure, Message, Points, Problem, Schema, aside, predictor_of, say,
};
use fairfront_data::{Encoded, Known, Notice, Ordered, Part, Prepared, ReadOptions};
use fairfront_model::seal::sum;
use fairfront_model::{Error as ModelError, Stated, TestKind};
use fairfront_pareto::{Values, dominates, nondominated};
use fairfront_solve::{Certificate, Front, StopSignal, certify};
use serde::Serialize;
use serde_json::{Value, json};

pub use check::{Check, Difference, LEAST_SIZE, TOLERANCE};

use crate::calibration::calibrations;
use crate::certify::{
    Certificate as Certified, Demand, IntervalInfo, Log, Plan, REPLICATES, TALLIES, USES, Use,
    Weighed, weigh,
};
use crate::fit::{CertificateInfo, fingerprint, parse_objectives, values_at_zero};
use crate::folder::{Described, info_as_found, rows_by_split};
use crate::judge::{FrontIn, JudgedInfo, chosen_by, compared_in, matching, on_test};
use crate::measured::{SplitValues, split_values};
use crate::setting::VERIFY;
use crate::store::read_stable;
use crate::{Error, FrontTable, LeftOut, PenaltyInfo, PenaltyRule, Run, RunInfo};

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

/// The rows of a run, read and encoded again; fails unless they are the run's rows.
pub(crate) fn rows_again(
    folder: &Path,
    info: &RunInfo,
    places: RowPlaces,
) -> Result<Encoded, Error> {
    let encoded = match info.stream {
        Some(_) => read_stable(folder, |place| (places.kept)(folder, place))?.0,
        None => Encoded::new(&reopen(folder, info, &[], places.published, None)?)?,
    };
    match fingerprint(&encoded) == info.fingerprint {
        true => Ok(encoded),
        false => Err(Error::data(format!(
            "{}: its rows are no longer the rows of the run",
            info.source
        ))),
    }
}

/// The rows of a run, read again.
fn reopen(
    folder: &Path,
    info: &RunInfo,
    files: &[String],
    published: Option<&Path>,
    remedy: Option<&Message>,
) -> Result<Prepared, Error> {
    let known = match (files, &info.read) {
        ([one], _) => Known::parse(one)?,
        ([], None) => {
            Known::named(&info.source).map_err(|e| Error::file(&folder.join("run.json"), e))?
        }
        _ => None,
    };
    // What is wrong now is wrong with the run or its data, and no wrong usage.
    let failed = |e: fairfront_data::Error| match e.is_usage() {
        true => Error::data(say![
            "the data cannot be read as the run says: ",
            e.message()
        ]),
        false => e.into(),
    };
    if let Some(known) = known {
        return Prepared::from_known(&known, &info.spec, published).map_err(failed);
    }
    let name_them = |why: String| {
        let mut message = Message::from(why);
        if let Some(remedy) = remedy {
            message.push_remedy(remedy);
        }
        Error::data(message)
    };
    let (own, options) = match &info.read {
        Some(read) => (read.files.as_slice(), read.options.clone()),
        None => (&[][..], ReadOptions::default()),
    };
    let found: Vec<String>;
    let files = match files.is_empty() {
        false => files,
        true if own.is_empty() => {
            let source = &info.source;
            return Err(name_them(format!(
                "the rows of {source:?} are in no file that is known"
            )));
        }
        true if own.iter().any(|file| file == "-") => {
            return Err(name_them("the run read standard input".into()));
        }
        true => {
            found = own
                .iter()
                .map(|name| place_of(folder, name))
                .collect::<Result<Vec<String>, String>>()
                .map_err(name_them)?;
            &found
        }
    };
    let is_absent = |file: &&String| *file != "-" && !Path::new(file).exists();
    if let Some(absent) = files.iter().find(is_absent) {
        return Err(name_them(format!("{absent}: there is no such file")));
    }
    Prepared::from_files(files, &info.spec, options).map_err(failed)
}

/// Where a file of a run is: in the current folder, or in the folder that holds the run folder.
fn place_of(folder: &Path, name: &str) -> Result<String, String> {
    let absolute = std::path::absolute(folder).ok();
    let beside = absolute
        .as_deref()
        .and_then(Path::parent)
        .map(|parent| parent.join(name));
    let places = [Some(Path::new(name).to_path_buf()), beside];
    let mut places = places.into_iter().flatten();
    let found = places.find(|place| place.exists());
    let found = found.map(|place| place.to_string_lossy().into_owned());
    found.ok_or_else(|| {
        format!("{name}: there is no such file in the current folder or in the folder of the run")
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

/// The stored encoding, or why there is none.
fn read_encoding(folder: &Path, info: &RunInfo) -> (Check, Option<Value>) {
    read_json("encoding.json", folder, &info.encoding_sha256)
}

/// The stored counts, or why there are none.
fn read_tallies(folder: &Path, info: &RunInfo) -> (Check, Option<Value>) {
    read_json(TALLIES, folder, &info.tallies_sha256)
}

/// A stored file, if it can be read, and whether it is the file that was written.
fn read_json(name: &str, folder: &Path, written: &str) -> (Check, Option<Value>) {
    let mut check = Check::new(name);
    let bytes = match std::fs::read(folder.join(name)) {
        Ok(bytes) => bytes,
        Err(e) => {
            check.problem = Some(format!("it cannot be read ({})", e.kind()));
            return (check, None);
        }
    };
    check.written(&bytes, written);
    match serde_json::from_slice(&bytes) {
        Ok(value) => (check, Some(value)),
        Err(e) => {
            check.problem = Some(format!("the file is corrupted ({e})"));
            (check, None)
        }
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

/// The front, if its file can be read at all, and whether it is the file that was written.
fn read_front(folder: &Path, info: &RunInfo) -> (Option<FrontTable>, Check) {
    let mut check = Check::new("front.parquet");
    let path = folder.join("front.parquet");
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) => {
            check.problem = Some(format!("it cannot be read ({})", e.kind()));
            return (None, check);
        }
    };
    let (stored, found) = (json!(info.front_sha256), json!(sum(&bytes)));
    check.json("run.json", "front_sha256", &stored, &found, 0.0);
    check.written(&bytes, &info.front_sha256);
    match FrontTable::from_bytes(&path, bytes) {
        Ok(front) => (Some(front), check),
        Err(e) => {
            check.problem = Some(match e {
                Error::Model(ModelError::File { problem, .. }) => problem.to_string(),
                e => e.to_string(),
            });
            (None, check)
        }
    }
}

/// The parameters of the front's points and, at the end, of the unmitigated model.
fn points_of(front: &FrontTable, info: &RunInfo, n: usize) -> Result<Points, String> {
    let mut points = Points::new(n);
    let models = front.params.iter().chain([&info.unmitigated.params]);
    for (index, params) in models.enumerate() {
        let place = match index == front.len() {
            true => "the unmitigated model".into(),
            false => format!("point {index}"),
        };
        if params.len() != n {
            let found = params.len();
            return Err(format!(
                "{place} has {found} parameters, and these rows need {n}"
            ));
        }
        if let Some(at) = params.iter().position(|p| !p.is_finite()) {
            return Err(format!("{place}: parameter {at} is {}", params[at]));
        }
        points.push(params);
    }
    Ok(points)
}

/// What the data say of a run's points.
struct Recomputed {
    points: Points,
    splits: Vec<SplitValues>,
    weighed: Weighed,
    calibrations: Vec<Calibration>,
    certificates: Result<Vec<Certificate>, String>,
    /// What the objectives are smooth versions of or stand in for, where points may be judged by it.
    measures: Vec<Measure>,
}

impl Recomputed {
    fn new(
        problem: &FairProblem,
        encoded: &Encoded,
        models: &Points,
        info: &RunInfo,
    ) -> Result<Self, Error> {
        let last = models.len() - 1;
        let points = models.select(&(0..last).collect::<Vec<_>>());
        let left_out = |work: LeftOut| info.left_out.contains(&work);
        let replicates = match left_out(LeftOut::Redraws) {
            true => 0,
            false => REPLICATES,
        };
        let weighed = weigh(encoded, models, &compared_in(problem), replicates, &|| {
            false
        })?;
        let weighed = weighed.ok_or_else(|| Error::data("models were not weighed"))?;
        let calibrations = match left_out(LeftOut::Calibration) {
            true => vec![Calibration::default(); models.len()],
            false => calibrations(encoded, models)?,
        };
        let splits = split_values(problem, encoded, models, &calibrations)?;
        let front = Front {
            values: splits[0].objectives.clone(),
            points,
            n_objectives: problem.n_objectives(),
        };
        let has_measures = problem.temperature().is_some() || !info.judged.measures.is_empty();
        Ok(Self {
            certificates: match left_out(LeftOut::OptimalityProofs) {
                true => Ok(Vec::new()),
                false => certify(problem, &front).map_err(|e| e.to_string()),
            },
            points: front.points,
            splits,
            weighed,
            calibrations,
            measures: match has_measures {
                true => matching(problem).unwrap_or_default(),
                false => Vec::new(),
            },
        })
    }

    /// How points were judged, as far as those that are left tell: points that were dropped are not
    /// in the folder.
    fn judged(&self, m: usize, schema: &Schema, info: &RunInfo) -> JudgedInfo {
        let n = self.points.len();
        let stored = &info.judged;
        // As many as there were, unless they were more than asked for.
        let fewer = info.left_out.contains(&LeftOut::Candidates);
        let kept = |stored: usize| match fewer || n >= info.solver.points() {
            true => stored.max(n),
            false => n,
        };
        let mut judged = JudgedInfo {
            measures: self.measures.iter().map(|m| m.name(schema)).collect(),
            on_test: on_test(stored.front_in, &self.measures, &self.splits, m).unwrap_or(None),
            ..stored.clone()
        };
        match (stored.front_in, self.measures.is_empty()) {
            (FrontIn::Measures, _) => judged.in_measures = stored.in_measures.map(kept),
            (FrontIn::Objectives, false) => judged.in_objectives = kept(stored.in_objectives),
            (FrontIn::Objectives, true) => {
                judged.candidates = if fewer { stored.candidates.max(n) } else { n };
                judged.in_objectives = judged.candidates;
            }
        }
        judged
    }

    /// Every number of every point and of the unmitigated model, by family.
    fn compare(
        &self,
        front: &FrontTable,
        info: &RunInfo,
        names: &[String],
        encoded: &Encoded,
    ) -> Vec<Check> {
        let described = Described {
            points: &self.points,
            objectives: names,
            schema: encoded.part(Part::Train).schema(),
            splits: &self.splits,
            calibrations: &self.calibrations,
            certificates: self.certificates.as_deref().unwrap_or_default(),
            intervals: &self.weighed.intervals,
        };
        let (found, unmitigated) = (described.table(), described.unmitigated());
        let mut columns = Check::new("columns");
        let own = info.unmitigated.values.0.iter();
        let own: Vec<&String> = own.map(|(name, _)| name).collect();
        let of_model: Vec<&String> = unmitigated.iter().map(|(name, _)| name).collect();
        if self.certificates.is_ok() {
            let (stored, found) = (json!(front.names), json!(found.names));
            columns.json("front.parquet", "columns", &stored, &found, 0.0);
        }
        let (stored, of_model) = (json!(own), json!(of_model));
        columns.json("run.json", "unmitigated.values", &stored, &of_model, 0.0);

        let mut families: Vec<Check> = Vec::new();
        let mut family = |column: &str| -> (usize, f64) {
            let (what, allowed) = family_of(column);
            let at = families.iter().position(|check| check.what == what);
            let at = at.unwrap_or_else(|| {
                families.push(Check::new(what));
                families.len() - 1
            });
            (at, allowed)
        };
        let placed: Vec<(usize, f64)> = found.names.iter().map(|name| family(name)).collect();
        let of_model: Vec<(usize, f64)> =
            unmitigated.iter().map(|(name, _)| family(name)).collect();
        for ((name, values), (at, allowed)) in found.names.iter().zip(&found.columns).zip(placed) {
            for (point, (stored, value)) in front
                .column(name)
                .unwrap_or_default()
                .iter()
                .zip(values)
                .enumerate()
            {
                let place = format!("point {point}");
                families[at].number(&place, name, *stored, *value, allowed);
            }
        }
        for ((name, value), (at, allowed)) in unmitigated.iter().zip(of_model) {
            if let Some(stored) = info.unmitigated.values.get(name) {
                families[at].number("the unmitigated model", name, *stored, *value, allowed);
            }
        }
        if let Err(why) = &self.certificates {
            families.push(Check {
                problem: Some(format!("they cannot be recomputed: {why}")),
                ..Check::new("certificates")
            });
        }
        families.insert(0, columns);
        families
    }

    /// Whether no point dominates another in what the front is judged by.
    fn front(
        &self,
        problem: &FairProblem,
        encoded: &Encoded,
        info: &RunInfo,
    ) -> Result<Check, Error> {
        let mut check = Check::new("no point dominates another");
        check.compared = self.points.len();
        let m = problem.n_objectives();
        let (values, by) = match info.judged.front_in {
            FrontIn::Objectives => (
                self.splits[0].objectives.clone(),
                "in the objectives on training rows",
            ),
            FrontIn::Measures => match chosen_by(encoded, &self.points, &self.measures)? {
                Ok(values) if self.measures.len() == m => {
                    (values, "in the measures on training and validation rows")
                }
                _ => {
                    check.problem = Some("the rows cannot give the measures".into());
                    return Ok(check);
                }
            },
        };
        let Ok(judged) = Values::new(&values, m) else {
            check.problem = Some("a value is no number".into());
            return Ok(check);
        };
        let best = nondominated(judged);
        let of = |i: usize| &values[i * m..(i + 1) * m];
        // What differs by rounding alone ties.
        let beats = |a: usize, b: usize| {
            let mut pairs = of(a).iter().zip(of(b));
            dominates(of(a), of(b)) && pairs.any(|(a, b)| check::share(*a, *b) > TOLERANCE)
        };
        for point in (0..self.points.len()).filter(|i| best.binary_search(i).is_err()) {
            if let Some(better) = best.iter().find(|better| beats(**better, point)) {
                check.different += 1;
                let first = || format!("point {point} is dominated by point {better} {by}");
                check.problem.get_or_insert_with(first);
            }
        }
        Ok(check)
    }
}

/// What a column is about, and what its values may differ by.
fn family_of(column: &str) -> (String, f64) {
    const ENDS: [&str; 7] = [
        ".low",
        ".high",
        ".band_low",
        ".band_high",
        ".change_low",
        ".change_high",
        ".bias",
    ];
    const COUNTS: [&str; 5] = [
        "count(",
        "true_positives(",
        "false_positives(",
        "true_negatives(",
        "false_negatives(",
    ];
    if column.starts_with("certificate.") {
        return ("certificates".into(), TOLERANCE);
    }
    if column.starts_with("calibration.") || column.starts_with("reliability.") {
        return ("calibration".into(), TOLERANCE);
    }
    let (split, name) = match column.split_once('.') {
        Some(("objective", _)) | None => ("train", column),
        Some((split, name)) => (split, name),
    };
    let rows = if split == "train" { "training" } else { split };
    let (kind, allowed) = if name.starts_with("objective.") {
        ("objectives", TOLERANCE)
    } else if ENDS.iter().any(|end| name.ends_with(end)) || name == "probability_nondominated" {
        ("intervals", TOLERANCE)
    } else if COUNTS.iter().any(|count| name.starts_with(count)) {
        ("counts", 0.0)
    } else {
        ("measures", TOLERANCE)
    };
    (format!("{kind}, {rows} rows"), allowed)
}
