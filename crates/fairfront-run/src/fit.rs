//! From a prepared table to a run: problem, solver, measures.

use std::sync::Arc;
use std::time::Instant;

use fairfront_core::{
    Calibration, FairProblem, LANES, Objective, Points, Problem, Schema, hex, predictor_of,
};
use fairfront_data::{
    AttributeRule, Encoded, Findings, Notice, Ordered, Part, Prepared, attribute_name, by_level,
    grammar,
};
use fairfront_pareto::hypervolume;
use fairfront_solve::{
    AnySolver, Certificate, Front, Observer, Outcome, Polish, Polished, Remainder, StopReason,
    StopSignal, certify_unless_stopped,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::certify::{Evidence, IntervalInfo, SplitIntervals};
use crate::checkpoint::{self, Checkpoints, Solved};
use crate::group_rows::{GroupRows, group_rows};
use crate::judge::{self, FrontIn, Judged, JudgedInfo};
use crate::meaning::Meaning;
use crate::measured::{Measured, SplitValues};
use crate::objective::parse_with_penalty;
use crate::rest::{LeftOut, Rest};
use crate::standing::Standing;
use crate::task::Task;
use crate::{Error, Penalty, PenaltyInfo, PenaltyRule, attribute_texts, memory, notice};

/// Points of an updated front whose thresholds are moved, at most.
const MOST_MOVED: usize = 96;

/// What is to be fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitRequest {
    /// Objectives as written; where there are none, [`default_objectives`].
    pub objectives: Vec<String>,
    /// Solvers with their settings: the first that suits the objectives is used, the last whether
    /// it does or not.
    pub solvers: Vec<SolverChoice>,
    /// By what points are judged; where `None`, by measures if all objectives are smooth versions of
    /// some, else by the objectives.
    pub front_in: Option<FrontIn>,
    /// Penalty of the log loss, which losses take that set no `lambda` of their own.
    #[serde(default)]
    pub penalty: Penalty,
    /// Whether one objective, the loss, will do: the front is then the unmitigated model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub loss_alone: bool,
}

/// `error_rate` with `demographic_parity` of each attribute; the paper's objectives instead, `log_loss`
/// with `disparate_impact`, for solvers that need covariances. Attributes are named as in objectives.
pub fn default_objectives(attributes: &[String], covariances: bool) -> Vec<String> {
    let (loss, fair) = match covariances {
        true => ("log_loss", "disparate_impact"),
        false => ("error_rate", "demographic_parity"),
    };
    let fair = attributes.iter().map(|name| format!("{fair}({name})"));
    std::iter::once(loss.to_owned()).chain(fair).collect()
}

/// A solver that may be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SolverChoice {
    /// The solver with its settings.
    #[serde(flatten)]
    pub solver: AnySolver,
    /// How its front is polished, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polish: Option<Polish>,
}

/// What is proven of a front, as `run.json` says it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CertificateInfo {
    /// Points with a proven gap: no model has a loss lower by more, without being worse in another
    /// objective.
    pub proven: usize,
    /// The largest of these gaps.
    pub largest_gap: Option<f64>,
    /// The longest of the shortest combinations of gradients: 0 where all points are stationary.
    pub largest_residual: f64,
}

/// What polishing did, as `run.json` says it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PolishInfo {
    /// Its settings.
    pub settings: Polish,
    /// Points improved and left out.
    #[serde(flatten)]
    pub polished: Polished,
    /// Volumes dominated before and after, up to the loss at x = 0 and 1.1 times the largest value
    /// of each other objective; for two to four objectives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervolume: Option<[f64; 2]>,
    /// Wall seconds, which those of solving include.
    pub seconds: f64,
}

/// A finished run, in memory.
#[derive(Debug)]
pub struct Fitted {
    /// The data, encoded.
    pub encoded: Encoded,
    /// Training rows of the groups of each attribute.
    pub groups: Ordered<Ordered<GroupRows>>,
    /// Canonical names of the objectives.
    pub objectives: Vec<String>,
    /// The meaning of objectives and measures.
    pub meaning: Meaning,
    /// The objectives as they were asked for.
    pub requested: Vec<String>,
    /// The objectives with all their settings.
    pub definitions: Vec<String>,
    /// Their values on the training rows where all parameters are 0.
    pub at_zero: Vec<f64>,
    /// The front and what it took.
    pub outcome: Outcome,
    /// The solver that was used, and why where there was a choice.
    pub solver: AnySolver,
    /// The reason.
    pub reason: Option<String>,
    /// What is proven of the front.
    pub certificate: CertificateInfo,
    /// What polishing did to it, where there was any.
    pub polish: Option<PolishInfo>,
    /// How its points were judged.
    pub judged: JudgedInfo,
    /// The penalty and how it was chosen; `None` if no loss took it.
    pub penalty: Option<PenaltyInfo>,
    /// Values that it is judged by.
    pub standing: Standing,
    /// Where the solver started from, where that was found for it.
    pub starts: Option<Points>,
    /// Work that was left out after a stop.
    pub left_out: Vec<LeftOut>,
    /// Front and unmitigated model on each split that has rows.
    pub splits: Vec<SplitValues>,
    /// Counts that order models and certify requirements.
    pub evidence: Evidence,
    /// Intervals of measures on the splits that are shown.
    pub(crate) intervals: Vec<SplitIntervals>,
    /// How they were found.
    pub interval_info: IntervalInfo,
    /// How scores become probabilities: one calibration per model, the unmitigated model's last.
    pub calibrations: Vec<Calibration>,
    /// Identifies the encoded data.
    pub fingerprint: String,
    /// Wall seconds of encoding, solving and measuring.
    pub seconds: [f64; 3],
    /// What to be wary of.
    pub notices: Vec<Notice>,
}

/// Fits a front on the training rows and measures it on all splits.
pub fn fit(
    prepared: &Prepared,
    request: &FitRequest,
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    fit_with(prepared, request, &[], observer)
}

/// The same with objectives of the caller's own: a text of the request that is exactly the name of one of
/// them means it, before all others.
pub fn fit_with(
    prepared: &Prepared,
    request: &FitRequest,
    custom: &[Arc<dyn Objective>],
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    fit_prepared(prepared, request, custom, None, observer)
}

/// The same with checkpoints: it goes on from where they say, and keeps new ones. The result is that of
/// [`fit`]; [`Checkpoints::place`] writes it.
pub fn fit_with_checkpoints(
    prepared: &Prepared,
    request: &FitRequest,
    checkpoints: &mut Checkpoints,
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    fit_prepared(prepared, request, &[], Some(checkpoints), observer)
}

fn fit_prepared(
    prepared: &Prepared,
    request: &FitRequest,
    custom: &[Arc<dyn Objective>],
    mut checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    let start = Instant::now();
    let (rows, columns) = (prepared.table.n_rows(), prepared.table.columns().len());
    end_if_stopped(rows, columns, &observer.stop_signal())?;
    let encoded = Encoded::new(prepared)?;
    let findings = Findings::new(prepared, Some(&encoded.encoding))?;
    let request = with_objectives(prepared, request);
    if let Some(checkpoints) = &mut checkpoints {
        let asked = checkpoint::Request::new(prepared, &request, fingerprint(&encoded));
        checkpoints.expect(&asked)?;
    }
    let encoding = start.elapsed().as_secs_f64();
    let mut fitted = fit_encoded(encoded, &request, custom, None, checkpoints, observer)?;
    fitted.seconds[0] += encoding;
    let notices = findings.all().chain(&fitted.notices).cloned();
    fitted.notices = by_level(notices.collect());
    Ok(fitted)
}

/// Fails if the fit was asked to stop before any of its work is done, and that would take long.
fn end_if_stopped(rows: usize, params: usize, stop: &StopSignal) -> Result<(), Error> {
    match Remainder::of(rows as u64, params, stop.clone()).leaves_out(LANES) {
        true => Err(fairfront_core::Error::Stopped.into()),
        false => Ok(()),
    }
}

/// A request with its objectives, which are the usual ones where none were named.
pub(crate) fn with_objectives(prepared: &Prepared, request: &FitRequest) -> FitRequest {
    match request.objectives.is_empty() {
        false => request.clone(),
        true => {
            let texts = attribute_texts(&prepared.spec).into_iter();
            let named = prepared.attributes.iter().zip(&prepared.spec.sensitive);
            // An attribute may have been given another name than that of its columns.
            let text =
                |(text, (rule, columns)): (String, (&AttributeRule, &Vec<String>))| match &rule
                    .attribute
                    .name
                {
                    name if *name == attribute_name(columns) => text,
                    name => grammar::quote(name),
                };
            let attributes: Vec<String> = texts.zip(named).map(text).collect();
            FitRequest {
                objectives: default_objectives(&attributes, false),
                ..request.clone()
            }
        }
    }
}

/// A front that was found on other rows, to go on from.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// Its points.
    pub front: Points,
    /// The model that minimised the loss alone.
    pub unmitigated: Vec<f64>,
    /// What the solver started from, where that was found for it.
    pub starts: Option<Points>,
    /// Its penalty, which is kept.
    pub penalty: Option<PenaltyInfo>,
    /// How many updates there were before, so that each draws its own random numbers.
    pub updates: u64,
}

/// Fits a front on encoded rows, from nothing or from an earlier front.
pub fn fit_encoded(
    encoded: Encoded,
    request: &FitRequest,
    custom: &[Arc<dyn Objective>],
    earlier: Option<&Earlier>,
    mut checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    let solving = Instant::now();
    memory::check_solving(&encoded, request)?;
    let stop = observer.stop_signal();
    let found = checkpoints.as_deref().and_then(Checkpoints::penalty_found);
    let task = task_of(&encoded, request, custom, (earlier, found), &stop)?;
    let mut rest = Rest::new(&task.problem, stop);
    note_penalty(&task, checkpoints.as_deref_mut(), &mut rest);
    let problem = &task.problem;
    let solver = &task.candidate.solver;
    let mut notices = encoded.notices.clone();
    notices.extend(notice::check_solver(&**solver, problem)?);
    let places = checkpoints.as_deref_mut();
    let solved = solve(&task, &encoded, earlier, places, observer, &mut rest)?;
    notices.extend(solved.notice);
    let front_in = request.front_in;
    let mut judged = judge_and_prove(
        &task,
        &encoded,
        solved.outcome,
        (front_in, earlier.is_some()),
        &mut rest,
    )?;
    let solving_s = solving.elapsed().as_secs_f64();

    let measuring = Instant::now();
    let measured = measure(problem, &encoded, &mut judged, &mut rest)?;
    judged.count_on_test(&measured.splits)?;
    let mut outcome = judged.outcome;
    notices.extend(judged.notices);
    let standing = Standing::new(
        problem,
        &encoded,
        &judged.info,
        (&task.names, &task.at_zero),
        &measured.splits,
        earlier.map(|e| &e.front),
    )?;
    let left_out = rest.all();
    if !left_out.is_empty() {
        outcome.stop = StopReason::Stopped;
        if let Some(checkpoints) = checkpoints {
            checkpoints.set_stopped(true)?;
        }
    }
    notices.extend(rest.notice());
    let train = encoded.part(Part::Train);
    notices.extend(notice::few_rows(problem, train)?);
    notices.extend(notice::without_meaning(&task.names, &measured.splits));
    notices.extend(notice::about_outcome(solver, problem, &outcome)?);
    notices.extend(measured.weighed.notices);
    Ok(Fitted {
        fingerprint: fingerprint(&encoded),
        groups: group_rows(train)?,
        meaning: Meaning::of(problem.objectives(), train.schema()),
        requested: request.objectives.clone(),
        solver: solver.clone(),
        certificate: CertificateInfo::of(&outcome.certificates),
        outcome,
        polish: solved.polish,
        judged: judged.info,
        standing,
        starts: solved.starts,
        left_out,
        splits: measured.splits,
        evidence: measured.weighed.evidence,
        intervals: measured.weighed.intervals,
        interval_info: measured.weighed.info,
        calibrations: measured.calibrations,
        seconds: [0.0, solving_s, measuring.elapsed().as_secs_f64()],
        notices,
        objectives: task.names,
        definitions: task.definitions,
        penalty: task.penalty,
        at_zero: task.at_zero,
        reason: task.reason,
        encoded,
    })
}

/// What is to be solved, with the penalty of an earlier front or of a checkpoint if there is one.
fn task_of(
    encoded: &Encoded,
    request: &FitRequest,
    custom: &[Arc<dyn Objective>],
    (earlier, found): (Option<&Earlier>, Option<PenaltyInfo>),
    stop: &StopSignal,
) -> Result<Task, Error> {
    let train = encoded.part(Part::Train);
    let schema = train.schema();
    let (n_rows, n_params) = (train.n_rows(), predictor_of(schema).n_params(schema));
    end_if_stopped(n_rows, n_params, stop)?;
    let task = match (earlier, found) {
        (Some(earlier), _) => {
            Task::with_penalty(encoded, request, custom, earlier.penalty.clone())?
        }
        (None, Some(penalty)) => Task::with_penalty(encoded, request, custom, Some(penalty))?,
        (None, None) => Task::new(encoded, request, custom, stop)?,
    };
    end_if_stopped(n_rows, n_params, stop)?;
    Ok(task)
}

/// Notes how the penalty was found: in the checkpoints, or that a stop cut its search short.
fn note_penalty(task: &Task, checkpoints: Option<&mut Checkpoints>, rest: &mut Rest) {
    match &task.penalty {
        Some(penalty) if penalty.rule == PenaltyRule::Stopped => {
            rest.leave_out(LeftOut::CrossValidation);
        }
        penalty => {
            if let Some(checkpoints) = checkpoints {
                checkpoints.set_penalty(penalty.clone());
            }
        }
    }
}

/// Judges the candidates of a solver, and proves how near to optimal the front is.
fn judge_and_prove(
    task: &Task,
    encoded: &Encoded,
    outcome: Outcome,
    (front_in, is_update): (Option<FrontIn>, bool),
    rest: &mut Rest,
) -> Result<Judged, Error> {
    let problem = &task.problem;
    let most_moved = match is_update {
        // There is nothing to choose between.
        _ if problem.n_objectives() == 1 => 0,
        // The points of an earlier front had their thresholds moved when they were found.
        true => MOST_MOVED,
        false => usize::MAX,
    };
    let most = (task.candidate.solver.points(), most_moved);
    let mut judged = judge::judge(problem, encoded, outcome, front_in, most, rest)?;
    judged.trim(rest)?;
    if judged.outcome.certificates.is_empty() {
        match certify_unless_stopped(problem, &judged.outcome.front, &rest.remainder)? {
            Some(certificates) => judged.outcome.certificates = certificates,
            None => rest.leave_out(LeftOut::OptimalityProofs),
        }
    }
    Ok(judged)
}

/// Measures the models of a front and the unmitigated one; after a stop, of as few as can be measured in
/// the time that is left.
fn measure(
    problem: &FairProblem,
    encoded: &Encoded,
    judged: &mut Judged,
    rest: &mut Rest,
) -> Result<Measured, Error> {
    let compared = judge::compared_in(problem);
    loop {
        let mut models = judged.outcome.front.points.clone();
        models.push(judged.outcome.unmitigated.points.get(0));
        match Measured::unless_stopped(problem, encoded, &models, &compared, rest)? {
            Some(measured) => return Ok(measured),
            None => judged.trim(rest)?,
        }
    }
}

/// Runs the solver, from nothing or from an earlier front.
fn solve(
    task: &Task,
    encoded: &Encoded,
    earlier: Option<&Earlier>,
    checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
    rest: &mut Rest,
) -> Result<Solved, Error> {
    let train = encoded.part(Part::Train);
    let mut solved = match earlier {
        Some(earlier) => task.update(train, earlier, observer)?,
        None => {
            let lambda = task.penalty.as_ref().map(|penalty| penalty.chosen);
            let given = (&task.problem, train, lambda);
            checkpoint::solve(given, &task.candidate, &task.at_zero, checkpoints, observer)?
        }
    };
    let outcome = &mut solved.outcome;
    if let Some(model) = task.unmitigated(train, solved.starts.as_ref(), rest)? {
        outcome.unmitigated = model;
    }
    if task.problem.n_objectives() == 1 {
        // The front is the model that minimises the loss.
        outcome.front = outcome.unmitigated.clone();
        outcome.candidates = Points::default();
        outcome.certificates.truncate(1);
    }
    Ok(solved)
}

/// The objectives that these texts say, the caller's own by their names.
pub(crate) fn parse_objectives(
    texts: &[String],
    schema: &Schema,
    custom: &[Arc<dyn Objective>],
    penalty: Option<f64>,
) -> Result<Vec<Arc<dyn Objective>>, Error> {
    let parse = |text: &String| match custom.iter().find(|own| own.name() == *text) {
        Some(own) => Ok(Arc::clone(own)),
        None => parse_with_penalty(text, &schema.attributes, penalty).map(Arc::from),
    };
    texts.iter().map(parse).collect()
}

/// Values of the objectives where all parameters are 0.
pub(crate) fn values_at_zero(problem: &FairProblem) -> Result<Vec<f64>, Error> {
    let n = problem.n_params();
    Ok(problem.values(&Points::from_vec(n, vec![0.0; n]))?)
}

impl CertificateInfo {
    pub(crate) fn of(certificates: &[Certificate]) -> Self {
        let gaps = || certificates.iter().filter_map(|c| c.gap);
        Self {
            proven: gaps().count(),
            largest_gap: gaps().max_by(f64::total_cmp),
            largest_residual: certificates.iter().map(|c| c.residual).fold(0.0, f64::max),
        }
    }
}

/// What it takes to say what polishing brought.
pub(crate) struct PolishStart<'a> {
    settings: &'a Polish,
    before: Front,
    reference: Vec<f64>,
    start: Instant,
}

impl<'a> PolishStart<'a> {
    pub(crate) fn new(before: &Front, settings: &'a Polish, at_zero: &[f64]) -> Self {
        let mut reference = at_zero.to_vec();
        for (i, reference) in reference.iter_mut().enumerate().skip(1) {
            let values = before.values.iter().skip(i).step_by(before.n_objectives);
            *reference = 1.1 * values.copied().fold(0.0, f64::max);
        }
        Self {
            settings,
            before: before.clone(),
            reference,
            start: Instant::now(),
        }
    }

    pub(crate) fn end(self, outcome: &Outcome) -> Result<PolishInfo, Error> {
        // Beyond four objectives volumes may take longer than all else.
        const MOST_JUDGED: usize = 4;
        let seconds = self.start.elapsed().as_secs_f64();
        let volume = |front: &Front| -> Result<f64, Error> {
            Ok(hypervolume(front.judged()?, &self.reference)?)
        };
        Ok(PolishInfo {
            settings: self.settings.clone(),
            polished: outcome.counters.polished.unwrap_or_default(),
            hypervolume: match self.before.n_objectives <= MOST_JUDGED {
                true => Some([volume(&self.before)?, volume(&outcome.front)?]),
                false => None,
            },
            seconds,
        })
    }
}

/// SHA-256 over the encoding and all encoded rows, in order.
pub(crate) fn fingerprint(encoded: &Encoded) -> String {
    let mut hash = Sha256::new();
    hash.update(encoded.encoding.to_json());
    for part in Part::ALL {
        let data = encoded.part(part);
        hash.update((data.n_rows() as u64).to_le_bytes());
        for block in data.blocks() {
            for row in 0..block.n_rows() {
                block
                    .numeric(row)
                    .iter()
                    .for_each(|v| hash.update(v.to_le_bytes()));
                block
                    .codes(row)
                    .iter()
                    .for_each(|v| hash.update(v.to_le_bytes()));
            }
            block
                .labels()
                .iter()
                .for_each(|v| hash.update(v.to_le_bytes()));
            block
                .weights()
                .iter()
                .for_each(|v| hash.update(v.to_le_bytes()));
            for attribute in 0..data.schema().attributes.len() {
                block
                    .groups(attribute)
                    .iter()
                    .for_each(|v| hash.update(v.to_le_bytes()));
            }
        }
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests;
