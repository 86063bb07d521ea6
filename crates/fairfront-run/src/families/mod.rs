//! Fronts of several families: linear models, and models over the predictions of learners.
//!
//! Learners are fitted out of fold, and their features are appended to the encoded columns, so that
//! every model of the front is linear in the same features: a linear model has zeros for the
//! features of learners, and a model of learners has zeros for the columns. Each family is solved on
//! its own features, and the joint front is judged on training and validation rows.

mod bound;
mod by_group;
#[cfg(test)]
mod class_tests;
mod embed;
mod importance;
mod learning;
#[cfg(test)]
mod number_tests;
mod optimism;
mod plan;
mod plug_in;
mod score;
mod sweep;

use std::sync::Arc;

use fairfront_core::{
    Measure, Objective, Points, Problem, RowSource, Target, either, grouped, measure, predictor_of,
    say,
};
use fairfront_data::{Diagnostic, Encoded, Part as Split, RowRole};
use fairfront_learn::Source;
use fairfront_pareto::{Values, nondominated};
use fairfront_solve::{Counters, Front, Observer, Outcome, StopReason};

use self::embed::Space;
pub(crate) use self::learning::Learning;
pub(crate) use self::optimism::correct;
use self::optimism::optimism;
pub use self::plan::{EstimatorPlan, GroupPlan, plan_estimators};
use crate::checkpoint::Checkpoints;
use crate::fit::{self, Earlier, Found, Given, parse_objectives};
use crate::judge::{self, FrontIn, Judged, JudgedInfo};
use crate::mark::{Margin, mark};
use crate::rest::Rest;
use crate::setting::{FAMILY, FRONT_IN, OBJECTIVE};
use crate::task::Task;
use crate::{
    Error, Family, FamilyInfo, FamilyName, FamilyRequest, FitRequest, LearnerInfo, Overlay,
};

/// Most blocks of training rows that learners are fitted on: 2,097,152 rows.
const MOST_LEARNED: usize = 2_048;

/// The learners of a front, and values to show next to it.
#[derive(Default)]
pub(crate) struct About {
    pub(crate) info: Option<FamilyInfo>,
    pub(crate) learners: Vec<LearnerInfo>,
    pub(crate) overlays: Vec<Overlay>,
}

/// Finds the front of the requested families.
pub(crate) fn find(
    encoded: Encoded,
    given: Given,
    checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
) -> Result<Found, Error> {
    let original = given.request;
    let request = original;
    let objectives = parse_objectives(
        &request.objectives,
        encoded.part(Split::Train).schema(),
        given.custom,
        None,
    )?;
    let target = &encoded.part(Split::Train).schema().target;
    let is_binary = target.is_binary();
    // Linear models and models of learners can be compared only in measures.
    let is_joint = request.family.family == FamilyName::Auto;
    let in_measures = FitRequest {
        front_in: Some(FrontIn::Measures),
        ..request.clone()
    };
    let request = match is_joint && !is_binary && request.front_in.is_none() {
        true => &in_measures,
        false => request,
    };
    let given = Given { request, ..given };
    if let Err(why) = suits(&objectives, request, target) {
        if request.family.family == FamilyName::Trees {
            let loss = match target.decides() {
                true => "error_rate",
                false => "squared_error",
            };
            return Err(Error::usage(match request.front_in {
                Some(FrontIn::Objectives) if is_binary => {
                    say![FRONT_IN.is("objectives"), ": ", why; "remove it"]
                }
                _ => say![
                    FAMILY.is("trees"), ": ", why;
                    "choose ", either([OBJECTIVE.is(loss), FAMILY.is("linear")])
                ],
            }));
        }
        let given = Given {
            request: original,
            ..given
        };
        let mut found = fit::find(encoded, given, checkpoints, observer)?;
        found.diagnostics.push(Diagnostic::note(say![
            FAMILY.is("auto"),
            ": only linear models are fitted, because ",
            why
        ]));
        return Ok(found);
    }
    let stop = observer.stop_signal();
    let all = encoded.part(Split::Train).n_rows();
    let encoded = learning_rows(encoded, &request.family)?;
    let mut learning = Learning::new(&encoded, &objectives, &request.family, &stop)?;
    let used = encoded.part(Split::Train).n_rows();
    if used < all {
        let (used, all) = (grouped(used), grouped(all));
        learning.diagnostics.push(Diagnostic::note(format!(
            "models are trained on {used} of {all} training rows, a random sample: more rows hardly change \
             boosted trees"
        )));
    }
    if !is_binary && request.family.by_group {
        learning.diagnostics.push(Diagnostic::note(
            "learners do not read the sensitive columns, and thresholds by group are not shown: they apply \
             only to decisions between two values",
        ));
    }
    let space = Space::of(&learning.combined.encoding);
    // If other groups are compared now, the parameters of an earlier front have other meanings.
    let is_alike = |earlier: &&Earlier| earlier.front.n_params() == space.n_params();
    let given = Given {
        earlier: given.earlier.filter(is_alike),
        ..given
    };
    let (trees, swept) = plug_in::find(&learning, given, &space, observer)?;
    let linear = match request.family.family {
        FamilyName::Auto => {
            let earlier = given.earlier.map(|earlier| space.linear_part(earlier));
            let own = Given {
                earlier: earlier.as_ref(),
                ..given
            };
            Some(fit::find(encoded, own, checkpoints, observer)?)
        }
        _ => None,
    };
    merge(
        learning,
        &space,
        (&trees, swept),
        linear.as_ref(),
        given,
        observer,
    )
}

/// The rows for models of learners: the same, but at most [`MOST_LEARNED`] training rows, in memory. Rows are
/// in random order, so the first ones are a fair sample.
pub(crate) fn learning_rows(
    mut encoded: Encoded,
    request: &FamilyRequest,
) -> Result<Encoded, Error> {
    // Probabilities that a caller brings belong to all rows.
    if !request.brought.estimator {
        let train = &mut encoded.parts[Split::Train as usize];
        let was_in_memory = train.is_in_memory();
        *train = train.head(MOST_LEARNED)?;
        if !was_in_memory {
            encoded.held += train.n_rows() as u64 * train.schema().row_bytes();
        }
    }
    Ok(encoded)
}

/// Why models of learners cannot be fitted for these objectives, if they cannot.
fn suits(
    objectives: &[Arc<dyn Objective>],
    request: &FitRequest,
    target: &Target,
) -> Result<(), String> {
    let loss = objectives.first().and_then(|first| first.measure());
    let in_objectives = request.front_in == Some(FrontIn::Objectives);
    if !target.is_binary() {
        let problem = match (target.decides(), loss) {
            (true, Some(Measure::ErrorRate(_) | Measure::LogLoss))
            | (false, Some(Measure::Rmse)) => None,
            (true, _) => Some("models of learners need error_rate or log_loss as their loss"),
            (false, _) => Some(
                "learners predict the mean of a number, so models of learners need squared_error as \
                 their loss",
            ),
        };
        if let Some(problem) = problem {
            return Err(problem.into());
        }
        if request.family.family != FamilyName::Auto {
            return Ok(());
        }
        let mut all = objectives.iter();
        return match all.find(|objective| objective.measure().is_none()) {
            _ if in_objectives => {
                Err("models of several families are compared in measures, not in objectives".into())
            }
            None => Ok(()),
            Some(objective) => Err(format!(
                "models of several families are compared in measures, and {} has none",
                objective.name()
            )),
        };
    }
    if in_objectives {
        let problem = "models of learners are compared in measures, not in objectives";
        return Err(problem.into());
    }
    if !matches!(loss, Some(Measure::ErrorRate(_))) {
        return Err("models of learners need the error rate as their loss".into());
    }
    let unsuited = objectives.iter().skip(1).find(|objective| {
        let measure = objective.measure();
        objective.temperature().is_none() || measure.is_none()
    });
    match unsuited {
        None => Ok(()),
        Some(objective) => Err(format!(
            "{} is not a difference between rates",
            objective.name()
        )),
    }
}

/// The front of one family, as a part of the front of all.
struct Part<'a> {
    family: Family,
    found: &'a Found,
    /// Its models, with zeros for the features of other families.
    points: Points,
    /// Its unmitigated model, likewise.
    unmitigated: Points,
}

impl<'a> Part<'a> {
    fn new(family: Family, found: &'a Found, space: &Space) -> Self {
        let embed = |points: &Points| match family {
            Family::Linear => space.of_linear(points),
            _ => space.of_learned(points),
        };
        let outcome = &found.judged.outcome;
        Self {
            family,
            points: embed(&outcome.front.points),
            unmitigated: embed(&outcome.unmitigated.points),
            found,
        }
    }
}

/// Puts the models of all families on one front.
fn merge(
    learning: Learning,
    space: &Space,
    (trees, swept): (&Found, bool),
    linear: Option<&Found>,
    given: Given,
    observer: &mut dyn Observer,
) -> Result<Found, Error> {
    let mut parts = vec![Part::new(learning.family, trees, space)];
    parts.extend(linear.map(|found| Part::new(Family::Linear, found, space)));
    let solved = linear.unwrap_or(trees);
    let overlays = overlays(&learning, &trees.judged.measures, &given.request.family)?;
    let encoded = learning.combined;
    // The penalty of the linear models, if there are any: it is part of the objectives' definitions.
    let penalty = solved.task.penalty.clone();
    let task = Task::with_penalty(&encoded, given.request, given.custom, penalty)?;
    let mut judged = match &parts[..] {
        [only] if only.found.judged.info.front_in == FrontIn::Objectives => alone(&task, only)?,
        _ => join(&encoded, &task, &parts, &trees.judged.measures)?,
    };
    judged.outcome.counters = solved.judged.outcome.counters.clone();

    let mut rest = Rest::new(&task.problem, observer.stop_signal());
    let mut diagnostics = learning.diagnostics;
    for Part { found, .. } in &parts {
        let left_out = found.rest.all();
        left_out.into_iter().for_each(|work| rest.leave_out(work));
        for diagnostic in &found.diagnostics {
            if !diagnostics.contains(diagnostic) {
                diagnostics.push(diagnostic.clone());
            }
        }
        let own = found.judged.diagnostics.iter().cloned();
        judged.diagnostics.extend(own);
    }
    if parts.len() > 1 && encoded.parts_for(RowRole::Families) != [Split::Validation] {
        diagnostics.push(Diagnostic::note(say![
            "without validation rows, training rows decide between families; linear models \
             look slightly better on the rows they were fitted on"
        ]));
    }
    let starts = match linear {
        Some(found) => found.starts.as_ref().map(|starts| space.of_linear(starts)),
        None => trees.starts.as_ref().map(|starts| space.of_learned(starts)),
    };
    Ok(Found {
        task,
        judged,
        polish: solved.polish.clone(),
        starts,
        rest,
        diagnostics,
        about: About {
            info: Some(FamilyInfo {
                request: given.request.family.clone(),
                features: learning.features,
                swept,
            }),
            learners: learning.learners,
            overlays,
        },
        encoded,
    })
}

/// Values to show next to the models: the estimated bound, thresholds by group, and the score itself.
pub(crate) fn overlays(
    learning: &Learning,
    measures: &[Measure],
    request: &FamilyRequest,
) -> Result<Vec<Overlay>, Error> {
    let encoded = &learning.combined;
    let Some(learned) = learning.learned() else {
        return Ok(Vec::new());
    };
    let train = encoded.part(Split::Train);
    // The band of a bound takes rows as people.
    let mut overlays = match train.schema().has_estimated() {
        true => Vec::new(),
        false => bound::bounds(&train.loaded()?, learned, &learning.out_of_fold, measures),
    };
    if request.by_group && train.schema().target.is_binary() {
        overlays.extend(by_group::by_group(encoded, learned, measures)?);
    }
    if let Some(column) = &request.brought.outcome
        && learning.family == Family::Score
    {
        let source = &learned.outcome.source;
        overlays.extend(score_marks(encoded, source, column, measures)?);
    }
    Ok(overlays)
}

/// The score with its own threshold, on each split.
fn score_marks(
    encoded: &Encoded,
    source: &Source,
    column: &str,
    measures: &[Measure],
) -> Result<Vec<Overlay>, Error> {
    let (own, margin) = match (source, measures.first()) {
        (Source::Columns(columns), _) if columns.len() > 1 => {
            (&columns[..], Margin::Classes(columns.len()))
        }
        (Source::Columns(columns), Some(Measure::ErrorRate(costs))) => {
            (&columns[..], Margin::Probability(*costs))
        }
        // Shift and factor of the column already lead to the unit of the labels.
        (Source::Number(column), _) => (std::slice::from_ref(column), Margin::Label),
        _ => return Ok(Vec::new()),
    };
    let mut overlays = Vec::new();
    for part in Split::SHOWN {
        let rows = encoded.part(part);
        let values = score::values(rows, own)?;
        overlays.extend(mark(rows, part, &values, (column, margin))?);
    }
    Ok(overlays)
}

/// The front of a single family that is judged by its objectives.
fn alone(task: &Task, part: &Part) -> Result<Judged, Error> {
    let found = &part.found.judged;
    let m = task.problem.n_objectives();
    let of = |points: &Points| -> Result<Front, Error> {
        Ok(Front {
            values: task.problem.values(points)?,
            points: points.clone(),
            n_objectives: m,
        })
    };
    Ok(Judged {
        outcome: Outcome {
            front: of(&part.points)?,
            unmitigated: of(&part.unmitigated)?,
            stop: found.outcome.stop,
            counters: Counters::default(),
            proofs: Vec::new(),
            candidates: Points::default(),
        },
        info: found.info.clone(),
        diagnostics: Vec::new(),
        families: vec![part.family; part.points.len() + 1],
        measures: found.measures.clone(),
    })
}

/// The joint front of families: the models that no other one dominates in the measures on training and
/// validation rows, after those of linear models are corrected.
fn join(
    encoded: &Encoded,
    task: &Task,
    parts: &[Part],
    measures: &[Measure],
) -> Result<Judged, Error> {
    let n_params = task.problem.n_params();
    let (mut points, mut unmitigated) = (Points::new(n_params), Points::new(n_params));
    let mut families = Vec::new();
    for part in parts {
        part.points.iter().for_each(|point| points.push(point));
        families.resize(points.len(), part.family);
        unmitigated.push(part.unmitigated.get(0));
    }
    let undefined = |measure: Measure| {
        let name = measure.name(encoded.part(Split::Train).schema());
        Error::data(format!("{name} is undefined on the training rows"))
    };
    let m = measures.len();
    let optimism = optimism(encoded, &points, &families, measures)?;
    let mut values = judge::chosen_by(encoded, &points, measures)?.map_err(undefined)?;
    correct(&mut values, &families, &optimism);
    let kept = nondominated(Values::new(&values, m)?);
    let in_measures = kept.len();
    let kept = judge::spread(kept, &values, m, task.candidate.solver.points())?;

    // The unmitigated model is the one with the fewest errors on validation rows; of equal ones, the
    // first.
    let mut counts = Vec::new();
    for rows in encoded.rows_for(RowRole::Families) {
        counts = measure(&*predictor_of(rows.schema()), rows, &unmitigated)?;
    }
    let error = |i: usize| measures[0].of(&counts[i]).unwrap_or(f64::INFINITY);
    let least = (0..counts.len()).fold(0, |best, i| match error(i) < error(best) {
        true => i,
        false => best,
    });
    let of = |points: Points| -> Result<Front, Error> {
        Ok(Front {
            values: task.problem.values(&points)?,
            points,
            n_objectives: m,
        })
    };
    let mut kept_families: Vec<Family> = kept.iter().map(|i| families[*i]).collect();
    kept_families.push(parts[least].family);
    let infos = || parts.iter().map(|part| &part.found.judged.info);
    let was_stopped = |part: &Part| part.found.judged.outcome.stop == StopReason::Stopped;
    let last = parts.last().map(|part| part.found.judged.outcome.stop);
    Ok(Judged {
        outcome: Outcome {
            front: of(points.select(&kept))?,
            unmitigated: of(unmitigated.select(&[least]))?,
            stop: match parts.iter().any(was_stopped) {
                true => StopReason::Stopped,
                false => last.unwrap_or(StopReason::Complete),
            },
            counters: Counters::default(),
            proofs: Vec::new(),
            candidates: Points::default(),
        },
        info: JudgedInfo {
            front_in: FrontIn::Measures,
            measures: parts[0].found.judged.info.measures.clone(),
            linear_optimism: (parts.len() > 1).then_some(optimism),
            candidates: infos().map(|info| info.candidates).sum(),
            moved: infos().map(|info| info.moved).sum(),
            in_objectives: infos().map(|info| info.in_objectives).sum(),
            in_measures: Some(in_measures),
            on_test: None,
        },
        diagnostics: Vec::new(),
        families: kept_families,
        measures: measures.to_vec(),
    })
}
