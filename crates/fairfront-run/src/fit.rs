//! Fitting: builds the problem from a prepared table, runs the solver and measures the front.

use std::sync::Arc;
use std::time::Instant;

use fairfront_core::meter::{self, Phase};
use fairfront_core::{
    Calibration, FairProblem, LANES, Objective, Points, Problem, Schema, hex, predictor_of,
};
use fairfront_data::{
    AttributeRule, Diagnostic, Encoded, Facts, Input, Ordered, Part, Prepared, attribute_name,
    by_severity, grammar,
};
use fairfront_pareto::hypervolume;
use fairfront_solve::{
    AnySolver, Front, Observer, Outcome, Polish, Polished, Proof, Remainder, StopReason,
    StopSignal, prove_unless_stopped,
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
use crate::{
    Error, Family, FamilyInfo, FamilyRequest, LearnerInfo, Overlay, Penalty, PenaltyInfo,
    PenaltyRule, attribute_texts, diagnostic, families, mark, memory,
};

/// The largest number of models of an updated front whose thresholds are moved.
const MOST_MOVED: usize = 96;

/// The settings of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitRequest {
    /// Objectives as written; [`default_objectives`] if empty.
    pub objectives: Vec<String>,
    /// Solvers with their settings. The first that suits the objectives is used; if none does, the
    /// last.
    pub solvers: Vec<SolverChoice>,
    /// Values that the front compares. `None` means measures if every objective is a smooth version
    /// of a measure, and objectives otherwise.
    pub front_in: Option<FrontIn>,
    /// The log-loss penalty for losses that do not set their own `lambda`.
    #[serde(default)]
    pub penalty: Penalty,
    /// The families of models to fit.
    #[serde(default, skip_serializing_if = "FamilyRequest::is_linear")]
    pub family: FamilyRequest,
    /// Whether a single objective, the loss, is allowed; the front is then the unmitigated model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub loss_alone: bool,
}

/// The default objectives: `error_rate`, and `demographic_parity` of each attribute; for targets that are
/// numbers, `squared_error` and `mean_difference`.
///
/// For solvers that need covariances, the loss is `log_loss` as in the paper, or `squared_error`, and the
/// others are `score_covariance`. `attributes` are spelled as in objectives.
pub fn default_objectives(
    attributes: &[String],
    covariances: bool,
    is_number: bool,
) -> Vec<String> {
    let (loss, fair) = match (is_number, covariances) {
        (false, true) => ("log_loss", "score_covariance"),
        (false, false) => ("error_rate", "demographic_parity"),
        (true, true) => ("squared_error", "score_covariance"),
        (true, false) => ("squared_error", "mean_difference"),
    };
    let fair = attributes.iter().map(|name| format!("{fair}({name})"));
    std::iter::once(loss.to_owned()).chain(fair).collect()
}

/// A solver that a fit may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SolverChoice {
    /// The solver with its settings.
    #[serde(flatten)]
    pub solver: AnySolver,
    /// How its front is polished; `None` for no polishing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polish: Option<Polish>,
}

/// Summary of the optimality proofs of a front, as stored in `run.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProofInfo {
    /// Number of models with an optimality gap: no model can lower the loss by more without being
    /// worse in another objective.
    pub proven: usize,
    /// The largest optimality gap.
    pub largest_optimality_gap: Option<f64>,
    /// The largest norm, over all models, of the shortest convex combination of gradients: 0 if all
    /// models are stationary.
    pub largest_residual: f64,
}

/// Summary of polishing, as stored in `run.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PolishInfo {
    /// Its settings.
    pub settings: Polish,
    /// Numbers of models that were improved and left out.
    #[serde(flatten)]
    pub polished: Polished,
    /// Dominated volumes before and after, for two to four objectives. The reference point is the
    /// loss at x = 0 and 1.1 times the largest value of each other objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervolume: Option<[f64; 2]>,
    /// Wall-clock seconds, included in those of solving.
    pub seconds: f64,
}

/// A finished run, in memory.
#[derive(Debug)]
pub struct Fitted {
    /// The encoded data.
    pub encoded: Encoded,
    /// Training row counts of the groups of each attribute.
    pub groups: Ordered<Ordered<GroupRows>>,
    /// Canonical names of the objectives.
    pub objectives: Vec<String>,
    /// The meaning of objectives and measures.
    pub meaning: Meaning,
    /// The objectives as requested.
    pub requested: Vec<String>,
    /// The objectives with all their settings.
    pub definitions: Vec<String>,
    /// Their values on the training rows when all parameters are 0.
    pub at_zero: Vec<f64>,
    /// The family of each model of the front, and of the unmitigated model, which comes last.
    pub families: Vec<Family>,
    /// The families that were fitted, if not only linear models.
    pub family: Option<FamilyInfo>,
    /// The learners.
    pub learners: Vec<LearnerInfo>,
    /// Values that plots show next to the models.
    pub overlays: Vec<Overlay>,
    /// The solver's outcome: the front, its proofs and counters.
    pub outcome: Outcome,
    /// The solver that was used.
    pub solver: AnySolver,
    /// Why this solver was chosen, if there was a choice.
    pub reason: Option<String>,
    /// Summary of the optimality proofs.
    pub proof: ProofInfo,
    /// Summary of polishing, if the front was polished.
    pub polish: Option<PolishInfo>,
    /// How the models were judged.
    pub judged: JudgedInfo,
    /// The penalty and how it was chosen; `None` if no loss took it.
    pub penalty: Option<PenaltyInfo>,
    /// Values of this front, and of the earlier one, that fronts are judged by.
    pub standing: Standing,
    /// Models that the solver started from, if they were computed for it.
    pub starts: Option<Points>,
    /// Work that was skipped after a stop.
    pub left_out: Vec<LeftOut>,
    /// Front and unmitigated model on each split that has rows.
    pub splits: Vec<SplitValues>,
    /// Shares of the target at the thresholds of its unit, if it is a number.
    pub(crate) target_shares: Option<Ordered<Option<Vec<f64>>>>,
    /// Counts that order models and certify requirements.
    pub evidence: Evidence,
    /// Intervals of measures on the displayed splits.
    pub(crate) intervals: Vec<SplitIntervals>,
    /// How the intervals were computed.
    pub interval_info: IntervalInfo,
    /// How scores become probabilities: one calibration per model, the unmitigated model's last.
    pub calibrations: Vec<Calibration>,
    /// Hash of the encoded data.
    pub fingerprint: String,
    /// Wall-clock seconds of encoding, solving and measuring.
    pub seconds: [f64; 3],
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

/// Fits a front on the training rows and measures it on all splits.
pub fn fit(
    prepared: &Prepared,
    request: &FitRequest,
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    fit_with(prepared, request, &[], observer)
}

/// Like [`fit`], with custom objectives. A string in the request that equals the name of a custom
/// objective selects it, before all built-in ones.
pub fn fit_with(
    prepared: &Prepared,
    request: &FitRequest,
    custom: &[Arc<dyn Objective>],
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    fit_prepared(prepared, request, custom, None, observer)
}

/// Like [`fit`], with checkpoints: resumes from the stored ones and writes new ones. The result
/// equals that of [`fit`]; [`Checkpoints::place`] writes it.
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
    checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    let start = Instant::now();
    meter::begin(Phase::Encoding);
    let (rows, columns) = (prepared.table.n_rows(), prepared.table.columns().len());
    end_if_stopped(rows, columns, &observer.stop_signal())?;
    // Probabilities of groups are meant to predict the groups, so they are not reported as proxies.
    let input = Input::of(prepared, !request.family.brought.estimator)?;
    let encoding = start.elapsed().as_secs_f64();
    let mut fitted = fit_input(&input, request, custom, checkpoints, observer)?;
    fitted.seconds[0] += encoding;
    add_marks(&mut fitted, prepared, (&input, request), custom)?;
    Ok(fitted)
}

/// Fits a front on a table in memory that is already encoded.
pub fn fit_source(
    prepared: &Prepared,
    input: &Input,
    request: &FitRequest,
    checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    let mut fitted = fit_input(input, request, &[], checkpoints, observer)?;
    add_marks(&mut fitted, prepared, (input, request), &[])?;
    Ok(fitted)
}

/// Adds the decisions of score columns that plots show next to the models.
fn add_marks(
    fitted: &mut Fitted,
    prepared: &Prepared,
    (input, request): (&Input, &FitRequest),
    custom: &[Arc<dyn Objective>],
) -> Result<(), Error> {
    let objectives = &with_objectives(&input.facts, request).objectives;
    let marks = mark::marks(prepared, &fitted.encoded, objectives, custom)?;
    fitted.overlays.extend(marks);
    Ok(())
}

/// Fits a front on encoded rows, in memory or wherever else they are, and measures it on all splits. With
/// checkpoints, it resumes from the stored ones and writes new ones.
pub fn fit_input(
    input: &Input,
    request: &FitRequest,
    custom: &[Arc<dyn Objective>],
    mut checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    let request = with_objectives(&input.facts, request);
    let encoded = input.encoded.clone();
    if let Some(checkpoints) = &mut checkpoints {
        let fingerprint = fingerprint(&encoded)?;
        let asked = checkpoint::Request::new(&input.facts, &request, fingerprint);
        checkpoints.expect(&asked)?;
    }
    let mut fitted = fit_encoded(encoded, &request, custom, None, checkpoints, observer)?;
    let diagnostics = input.findings.all().chain(&fitted.diagnostics).cloned();
    fitted.diagnostics = by_severity(diagnostics.collect());
    Ok(fitted)
}

/// Fails if a stop was requested before any work was done and the work would take long.
fn end_if_stopped(rows: usize, params: usize, stop: &StopSignal) -> Result<(), Error> {
    match Remainder::of(rows as u64, params, stop.clone()).leaves_out(LANES) {
        true => Err(fairfront_core::Error::Stopped.into()),
        false => Ok(()),
    }
}

/// Fills in the default objectives if the request has none.
pub(crate) fn with_objectives(facts: &Facts, request: &FitRequest) -> FitRequest {
    match request.objectives.is_empty() {
        false => request.clone(),
        true => {
            let written = attribute_texts(&facts.spec).into_iter();
            let named = facts.attributes.iter().zip(&facts.spec.sensitive);
            // The name of an attribute may differ from that of its columns.
            let text =
                |(text, (rule, columns)): (String, (&AttributeRule, &Vec<String>))| match &rule
                    .attribute
                    .name
                {
                    name if *name == attribute_name(columns) => text,
                    name => grammar::quote(name),
                };
            let attributes: Vec<String> = written.zip(named).map(text).collect();
            FitRequest {
                objectives: default_objectives(&attributes, false, facts.is_number()),
                ..request.clone()
            }
        }
    }
}

/// An earlier front, computed on other rows, that an update starts from.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// Its models.
    pub front: Points,
    /// The unmitigated model.
    pub unmitigated: Vec<f64>,
    /// Models that the solver started from, if they were computed for it.
    pub starts: Option<Points>,
    /// Its penalty, which is kept.
    pub penalty: Option<PenaltyInfo>,
    /// Number of previous updates, so that each update draws its own random numbers.
    pub updates: u64,
    /// The family of each model, the unmitigated one last; empty if all are linear.
    pub families: Vec<Family>,
}

/// The request of a fit, and the front it starts from.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) request: &'a FitRequest,
    pub(crate) custom: &'a [Arc<dyn Objective>],
    pub(crate) earlier: Option<&'a Earlier>,
}

/// A front that is not measured yet, with its problem.
pub(crate) struct Found {
    /// The rows, with all features of the models.
    pub(crate) encoded: Encoded,
    pub(crate) task: Task,
    pub(crate) judged: Judged,
    pub(crate) polish: Option<PolishInfo>,
    pub(crate) starts: Option<Points>,
    pub(crate) rest: Rest,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Learners and families; empty if only linear models were requested.
    pub(crate) about: families::About,
}

/// Fits a front on encoded rows, from scratch or from an earlier front. Features of learners are
/// not among those of the rows: they are fitted here, out of fold.
pub fn fit_encoded(
    encoded: Encoded,
    request: &FitRequest,
    custom: &[Arc<dyn Objective>],
    earlier: Option<&Earlier>,
    mut checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    let solving = Instant::now();
    meter::begin(Phase::Encoding);
    let fingerprint = fingerprint(&encoded)?;
    let given = Given {
        request,
        custom,
        earlier,
    };
    let places = checkpoints.as_deref_mut();
    let encoded = request.family.rows(encoded);
    let found = match request.family.family.learns() {
        true => families::find(encoded, given, places, observer)?,
        false => find(encoded, given, places, observer)?,
    };
    let Found {
        encoded,
        task,
        mut judged,
        polish,
        starts,
        mut rest,
        mut diagnostics,
        about,
    } = found;
    let (problem, solver) = (&task.problem, &task.candidate.solver);
    center(problem, &mut judged.outcome);
    let solving_s = solving.elapsed().as_secs_f64();

    let measuring = Instant::now();
    meter::begin(Phase::Measuring);
    let measured = measure(problem, &encoded, &mut judged, &mut rest)?;
    judged.count_on_test(&measured.splits)?;
    let mut outcome = judged.outcome;
    diagnostics.extend(judged.diagnostics);
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
    diagnostics.extend(rest.diagnostic());
    let train = encoded.part(Part::Train);
    diagnostics.extend(diagnostic::few_rows(problem, train)?);
    diagnostics.extend(diagnostic::without_meaning(&task.names, &measured.splits));
    diagnostics.extend(diagnostic::about_outcome(solver, problem, &outcome)?);
    diagnostics.extend(measured.weighed.diagnostics);
    Ok(Fitted {
        fingerprint,
        groups: group_rows(train)?,
        target_shares: crate::distribution::of_target(&encoded, &measured.splits)?,
        meaning: Meaning::of(problem.objectives(), train.schema()),
        requested: request.objectives.clone(),
        families: judged.families,
        family: about.info,
        learners: about.learners,
        overlays: about.overlays,
        solver: solver.clone(),
        proof: ProofInfo::of(&outcome.proofs),
        outcome,
        polish,
        judged: judged.info,
        standing,
        starts,
        left_out,
        splits: measured.splits,
        evidence: measured.weighed.evidence,
        intervals: measured.weighed.intervals,
        interval_info: measured.weighed.info,
        calibrations: measured.calibrations,
        seconds: [0.0, solving_s, measuring.elapsed().as_secs_f64()],
        diagnostics,
        objectives: task.names,
        definitions: task.definitions,
        penalty: task.penalty,
        at_zero: task.at_zero,
        reason: task.reason,
        encoded,
    })
}

/// Moves the intercepts of models of classes to a mean of 0, which changes no decision and no probability:
/// descents may end anywhere on the line of equal models.
fn center(problem: &FairProblem, outcome: &mut Outcome) {
    let Some(multinomial) = problem.predictor().as_multinomial() else {
        return;
    };
    for front in [&mut outcome.front, &mut outcome.unmitigated] {
        let mut centered = Points::new(problem.n_params());
        for point in front.points.iter() {
            let mut point = point.to_vec();
            multinomial.centered(&mut point);
            centered.push(&point);
        }
        front.points = centered;
    }
}

/// Finds a front of models that are linear in the features of these rows, or networks of them.
pub(crate) fn find(
    encoded: Encoded,
    given: Given,
    mut checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
) -> Result<Found, Error> {
    let Given {
        request,
        custom,
        earlier,
    } = given;
    memory::check_solving(&encoded, request)?;
    let stop = observer.stop_signal();
    let found = checkpoints.as_deref().and_then(Checkpoints::penalty_found);
    let task = task_of(&encoded, request, custom, (earlier, found), &stop)?;
    let mut rest = Rest::new(&task.problem, stop);
    note_penalty(&task, checkpoints.as_deref_mut(), &mut rest);
    let mut diagnostics = encoded.diagnostics.clone();
    let solver = &task.candidate.solver;
    diagnostics.extend(diagnostic::check_solver(&**solver, &task.problem)?);
    let places = checkpoints;
    let solved = solve(&task, &encoded, earlier, places, observer, &mut rest)?;
    diagnostics.extend(solved.diagnostic);
    let judged = judge_and_prove(
        &task,
        &encoded,
        solved.outcome,
        (request.front_in, earlier.is_some()),
        &mut rest,
    )?;
    Ok(Found {
        encoded,
        task,
        judged,
        polish: solved.polish,
        starts: solved.starts,
        rest,
        diagnostics,
        about: families::About {
            info: FamilyInfo::of_network(&request.family),
            ..families::About::default()
        },
    })
}

/// The task to solve, with the penalty of an earlier front or of a checkpoint if there is one.
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
    meter::begin(Phase::Penalty);
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

/// Records the penalty in the checkpoints, or that a stop cut its cross-validation short.
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
    meter::begin(Phase::Judging);
    let problem = &task.problem;
    let most_moved = match is_update {
        // With one objective, the front has one model.
        _ if problem.n_objectives() == 1 => 0,
        // The models of an earlier front had their thresholds moved when they were found.
        true => MOST_MOVED,
        false => usize::MAX,
    };
    let most = (task.candidate.solver.points(), most_moved);
    let mut judged = judge::judge(problem, encoded, outcome, front_in, most, rest)?;
    judged.trim(rest)?;
    if judged.outcome.proofs.is_empty() {
        meter::begin(Phase::Proving);
        match prove_unless_stopped(problem, &judged.outcome.front, &rest.remainder)? {
            Some(proofs) => judged.outcome.proofs = proofs,
            None => rest.leave_out(LeftOut::OptimalityProofs),
        }
    }
    Ok(judged)
}

/// Measures the models of the front and the unmitigated model; after a stop, only as many as can be
/// measured in the remaining time.
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

/// Runs the solver, from scratch or from an earlier front.
fn solve(
    task: &Task,
    encoded: &Encoded,
    earlier: Option<&Earlier>,
    checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
    rest: &mut Rest,
) -> Result<Solved, Error> {
    meter::begin(Phase::Solving);
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
        // The front is the model that minimizes the loss.
        outcome.front = outcome.unmitigated.clone();
        outcome.candidates = Points::default();
        outcome.proofs.truncate(1);
    }
    Ok(solved)
}

/// Parses objectives; a string that equals the name of a custom objective selects it.
pub(crate) fn parse_objectives(
    requested: &[String],
    schema: &Schema,
    custom: &[Arc<dyn Objective>],
    penalty: Option<f64>,
) -> Result<Vec<Arc<dyn Objective>>, Error> {
    let parse = |text: &String| match custom.iter().find(|own| own.name() == *text) {
        Some(own) => Ok(Arc::clone(own)),
        None => {
            parse_with_penalty(text, &schema.attributes, &schema.target, penalty).map(Arc::from)
        }
    };
    requested.iter().map(parse).collect()
}

/// Values of the objectives when all parameters are 0.
pub(crate) fn values_at_zero(problem: &FairProblem) -> Result<Vec<f64>, Error> {
    let n = problem.n_params();
    Ok(problem.values(&Points::from_vec(n, vec![0.0; n]))?)
}

impl ProofInfo {
    pub(crate) fn of(proofs: &[Proof]) -> Self {
        let gaps = || proofs.iter().filter_map(|c| c.gap);
        Self {
            proven: gaps().count(),
            largest_optimality_gap: gaps().max_by(f64::total_cmp),
            largest_residual: proofs.iter().map(|c| c.residual).fold(0.0, f64::max),
        }
    }
}

/// State before polishing, from which [`PolishInfo`] is computed afterwards.
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
        // With more than four objectives, volumes may take longer than everything else.
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

/// SHA-256 over the encoding and the fingerprints of the rows of all splits, in order.
pub(crate) fn fingerprint(encoded: &Encoded) -> Result<String, Error> {
    let mut hash = Sha256::new();
    hash.update(encoded.encoding.to_json());
    for part in encoded.fingerprints()? {
        hash.update(&part.rows);
    }
    Ok(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests;
