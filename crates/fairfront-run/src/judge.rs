//! Selects the models of the front, judged by the objectives or by measures.

use fairfront_core::{
    Dataset, FairProblem, Measure, Measures, Objective, Points, Problem, better_offsets,
    better_thresholds, measure, predictor_of, rescaled, say, with,
};
use fairfront_data::setting::MERGE;
use fairfront_data::{Diagnostic, Encoded, Part, RowRole};
use fairfront_pareto::{Values, nondominated, ranges, select_spread};
use fairfront_solve::{Front, Outcome};
use serde::{Deserialize, Serialize};

use crate::measured::SplitValues;
use crate::rest::{LeftOut, Rest};
use crate::setting::FRONT_IN;
use crate::{Error, Family};

/// Number of models of classes whose intercepts are moved, times the number of classes.
const MOST_TRIALS: usize = 200;

/// The values that models are judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrontIn {
    /// The objectives on training rows.
    Objectives,
    /// The measures that the objectives are smooth versions of or stand in for, on training and
    /// validation rows together.
    Measures,
}

/// How models were judged, as stored in `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedInfo {
    /// The values that models were judged by.
    pub front_in: FrontIn,
    /// The matching measures; empty if they were not requested or an objective has none.
    pub measures: Vec<String>,
    /// The amount that was added to each measure of linear models before families were compared, because
    /// these models were fitted on the training rows; absent if there is one family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_optimism: Option<Vec<f64>>,
    /// Number of candidates judged.
    pub candidates: usize,
    /// Number of candidates obtained by moving the threshold of another one.
    pub moved: usize,
    /// Number of candidates that are nondominated in the objectives.
    pub in_objectives: usize,
    /// Number of candidates that are nondominated in the measures, if there are measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_measures: Option<usize>,
    /// Number of models of the front that no other one dominates on test rows either, in the values
    /// that the front is judged by; absent without test rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_test: Option<usize>,
}

/// The front of a run, and how it was selected.
pub(crate) struct Judged {
    pub(crate) outcome: Outcome,
    pub(crate) info: JudgedInfo,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The family of each model of the front, the unmitigated one last.
    pub(crate) families: Vec<Family>,
    pub(crate) measures: Vec<Measure>,
}

/// The measures that objectives are smooth versions of or stand in for, or the first objective that
/// has none.
pub(crate) fn matching(problem: &FairProblem) -> Result<Vec<Measure>, String> {
    let measure = |o: &dyn Objective| o.measure().ok_or_else(|| o.name());
    problem.objectives().map(measure).collect()
}

/// The measures that compare models of a front; empty if an objective has no measure.
pub(crate) fn compared_in(problem: &FairProblem) -> Vec<Measure> {
    matching(problem).unwrap_or_default()
}

/// Fails before any work if measures are requested that are undefined for an objective or on these
/// rows.
pub(crate) fn check(
    problem: &FairProblem,
    encoded: &Encoded,
    asked: Option<FrontIn>,
) -> Result<(), Error> {
    if asked != Some(FrontIn::Measures) {
        return Ok(());
    }
    let measures = matching(problem).map_err(|name| no_measure(&name))?;
    // Whether a value is defined does not depend on the model.
    let n = problem.n_params();
    match chosen_by(encoded, &Points::from_vec(n, vec![0.0; n]), &measures)? {
        Ok(_) => Ok(()),
        Err(measure) => {
            let name = measure.name(encoded.part(Part::Train).schema());
            Err(Error::data(say![
                FRONT_IN.is("measures"), ": {name} is undefined on these rows, because a group has \
                 none of the rows that it counts";
                "merge groups", with(MERGE);
                "choose ", FRONT_IN.is("objectives")
            ]))
        }
    }
}

/// Judges the candidates of a solver: moves thresholds if that is better on training rows, and
/// keeps the nondominated models.
pub(crate) fn judge(
    problem: &FairProblem,
    encoded: &Encoded,
    mut outcome: Outcome,
    asked: Option<FrontIn>,
    (most_points, most_moved): (usize, usize),
    rest: &mut Rest,
) -> Result<Judged, Error> {
    // Rates are smooth versions of measures; covariances only stand in for them.
    let has_rates = problem.temperature().is_some();
    let measures = match (matching(problem), asked) {
        (Ok(measures), _) if has_rates || asked == Some(FrontIn::Measures) => measures,
        (Err(name), Some(FrontIn::Measures)) => return Err(no_measure(&name)),
        _ => return Ok(Judged::in_objectives(problem, outcome)),
    };
    let train = encoded.part(Part::Train);
    let m = problem.n_objectives();
    let ((all, chosen), n_moved) =
        candidates(problem, encoded, &mut outcome, &measures, most_moved, rest)?;
    let by_objectives = best_in_objectives(problem, &all)?;
    let by_measures = match chosen {
        Ok(values) => Ok((nondominated(Values::new(&values, m)?), values)),
        Err(measure) => Err(measure.name(train.schema())),
    };
    let mut diagnostics = Vec::new();
    let front_in = match (asked.unwrap_or(FrontIn::Measures), &by_measures) {
        (FrontIn::Measures, Ok(_)) => FrontIn::Measures,
        (FrontIn::Measures, Err(name)) => {
            diagnostics.push(Diagnostic::warning(format!(
                "{name} is undefined on these rows (a group has none of the rows that it counts), \
                 so the front is judged by the objectives instead"
            )));
            FrontIn::Objectives
        }
        (FrontIn::Objectives, _) => FrontIn::Objectives,
    };
    let info = JudgedInfo {
        front_in,
        measures: measures.iter().map(|m| m.name(train.schema())).collect(),
        linear_optimism: None,
        candidates: all.len(),
        moved: n_moved,
        in_objectives: by_objectives.len(),
        in_measures: by_measures.as_ref().ok().map(|(kept, _)| kept.len()),
        on_test: None,
    };
    let (kept, judged_by) = match (front_in, by_measures) {
        (FrontIn::Measures, Ok(by)) => by,
        _ => (by_objectives, all.values.clone()),
    };
    let kept = spread(kept, &judged_by, m, most_points)?;
    outcome.front = Front {
        points: all.points.select(&kept),
        values: select(&all.values, &kept, m),
        n_objectives: m,
    };
    let of_decisions = measures.iter().all(|measure| measure.is_of_decisions());
    let decided = front_in == FrontIn::Measures && of_decisions;
    if decided && !rest.leaves_out(LeftOut::Calibration, outcome.front.len()) {
        // Decisions do not depend on the scale, so use the scale that fits probabilities best.
        for front in [&mut outcome.front, &mut outcome.unmitigated] {
            front.points = rescaled(problem.predictor(), train, &front.points)?;
            front.values = problem.values(&front.points)?;
        }
    }
    outcome.proofs = Vec::new();
    Ok(Judged {
        families: vec![family_of(problem); outcome.front.len() + 1],
        outcome,
        info,
        diagnostics,
        measures,
    })
}

/// The family of models whose scores do not depend on learners.
fn family_of(problem: &FairProblem) -> Family {
    match problem.predictor().as_network() {
        Some(_) => Family::Network,
        None => Family::Linear,
    }
}

/// Evaluates the candidates of a solver, its unmitigated model and the models with moved
/// thresholds; also returns the number of the latter. After a stop, the candidates are the best of
/// the solver's own front.
fn candidates(
    problem: &FairProblem,
    encoded: &Encoded,
    outcome: &mut Outcome,
    measures: &[Measure],
    most_moved: usize,
    rest: &mut Rest,
) -> Result<(Evaluated, usize), Error> {
    let m = problem.n_objectives();
    let mut candidates = match outcome.candidates.is_empty() {
        true => outcome.front.points.clone(),
        false => std::mem::take(&mut outcome.candidates),
    };
    let few = |rest: &mut Rest| -> Result<Points, Error> {
        Ok(
            match rest.selection(&outcome.front.values, m, rest.remainder.most_models())? {
                Some(few) => outcome.front.points.select(&few),
                None => outcome.front.points.clone(),
            },
        )
    };
    let mut are_few = rest.remainder.is_too_much(candidates.len());
    if are_few {
        rest.leave_out(LeftOut::Candidates);
        candidates = few(rest)?;
    }
    let unmitigated = outcome.unmitigated.points.get(0);
    let with_unmitigated = |mut candidates: Points| {
        if candidates.iter().all(|point| point != unmitigated) {
            candidates.push(unmitigated);
        }
        candidates
    };
    candidates = with_unmitigated(candidates);
    let movable = movable(&outcome.front, &candidates, most_moved)?;
    let moved = move_thresholds(encoded.part(Part::Train), &movable, measures, rest)?;
    moved.iter().for_each(|point| candidates.push(point));
    let mut n_moved = moved.len();
    loop {
        let chunks = (!are_few).then_some(&*rest);
        if let Some(evaluated) = evaluate(problem, encoded, &candidates, measures, chunks)? {
            return Ok((evaluated, n_moved));
        }
        rest.leave_out(LeftOut::Candidates);
        rest.leave_out(LeftOut::Thresholds);
        n_moved = 0;
        are_few = true;
        candidates = with_unmitigated(few(rest)?);
    }
}

/// At most `most` of these positions, well spread in the values that models are judged by and
/// sorted by them, the loss or errors first.
pub(crate) fn spread(
    mut kept: Vec<usize>,
    judged_by: &[f64],
    m: usize,
    most: usize,
) -> Result<Vec<usize>, Error> {
    if kept.len() > most {
        let values = select(judged_by, &kept, m);
        let values = Values::new(&values, m)?;
        let some = select_spread(values, most, &ranges(values, None));
        kept = some.into_iter().map(|i| kept[i]).collect();
    }
    Ok(from_the_most_accurate(kept, judged_by, m))
}

fn in_chunks<T>(
    rest: Option<&Rest>,
    points: &Points,
    mut work: impl FnMut(&Points) -> Result<Vec<T>, Error>,
) -> Result<Option<Vec<T>>, Error> {
    match rest {
        Some(rest) => rest.in_chunks(points, work),
        None => work(points).map(Some),
    }
}

/// Models with moved thresholds; a stop leaves out the remaining ones.
fn move_thresholds(
    train: &Dataset,
    movable: &Points,
    measures: &[Measure],
    rest: &mut Rest,
) -> Result<Points, Error> {
    let mut moved = Points::new(movable.n_params());
    if !measures.iter().all(|measure| measure.is_of_decisions()) {
        // The log loss and measures of numbers depend on more than decisions, so thresholds are not moved.
        return Ok(moved);
    }
    let predictor = predictor_of(train.schema());
    if let Some(multinomial) = predictor.as_multinomial() {
        if !rest.leaves_out(LeftOut::Thresholds, MOST_TRIALS) {
            let most = (MOST_TRIALS / multinomial.n_classes).max(1);
            let step = movable.len().div_ceil(most).max(1);
            let some: Vec<usize> = (0..movable.len()).step_by(step).collect();
            return Ok(better_offsets(
                &*predictor,
                train,
                &movable.select(&some),
                measures,
            )?);
        }
        return Ok(moved);
    }
    let numbers: Vec<usize> = (0..movable.len()).collect();
    for some in numbers.chunks(rest.remainder.chunk()) {
        if rest.leaves_out(LeftOut::Thresholds, movable.len()) {
            break;
        }
        let some = better_thresholds(&*predictor, train, &movable.select(some), measures)?;
        some.iter().for_each(|point| moved.push(point));
    }
    Ok(moved)
}

/// Candidates, and their measures or the first measure that is undefined on the rows.
type Evaluated = (Front, Result<Vec<f64>, Measure>);

/// Candidates sorted by their objectives, and their measures. `None` if a stop came before all were
/// evaluated and there are too many. Without `rest`, all of them are evaluated.
fn evaluate(
    problem: &FairProblem,
    encoded: &Encoded,
    candidates: &Points,
    measures: &[Measure],
    rest: Option<&Rest>,
) -> Result<Option<Evaluated>, Error> {
    let values = in_chunks(rest, candidates, |some| Ok(problem.values(some)?))?;
    let Some(values) = values else {
        return Ok(None);
    };
    let all = Front {
        values,
        points: candidates.clone(),
        n_objectives: problem.n_objectives(),
    }
    // Of candidates with equal measures, the one with the better objectives is kept.
    .sorted();
    let mut without = None;
    let chosen = in_chunks(rest, &all.points, |some| {
        Ok(match chosen_by(encoded, some, measures)? {
            Ok(values) => values,
            Err(measure) => {
                without = Some(measure);
                Vec::new()
            }
        })
    })?;
    Ok(chosen.map(|chosen| (all, without.map_or(Ok(chosen), Err))))
}

/// Sorts positions by the values that models are judged by, the loss or errors first.
fn from_the_most_accurate(mut positions: Vec<usize>, values: &[f64], m: usize) -> Vec<usize> {
    let of = |i: usize| &values[i * m..(i + 1) * m];
    positions.sort_by(|a, b| {
        let pairs = of(*a).iter().zip(of(*b));
        let mut unequal = pairs.map(|(a, b)| a.total_cmp(b)).filter(|o| o.is_ne());
        unequal.next().unwrap_or_else(|| a.cmp(b))
    });
    positions
}

/// The models whose thresholds are moved: all candidates, or `most` well-spread models of the
/// solver's front.
fn movable(front: &Front, candidates: &Points, most: usize) -> Result<Points, Error> {
    if candidates.len() <= most {
        return Ok(candidates.clone());
    }
    let values = front.judged()?;
    let spread = select_spread(values, most, &ranges(values, None));
    Ok(front.points.select(&spread))
}

impl Judged {
    /// The solver's own front, judged by its objectives.
    fn in_objectives(problem: &FairProblem, outcome: Outcome) -> Self {
        let points = outcome.front.len();
        Self {
            info: JudgedInfo {
                front_in: FrontIn::Objectives,
                measures: Vec::new(),
                linear_optimism: None,
                candidates: points,
                moved: 0,
                in_objectives: points,
                in_measures: None,
                on_test: None,
            },
            families: vec![family_of(problem); points + 1],
            outcome,
            diagnostics: Vec::new(),
            measures: Vec::new(),
        }
    }

    /// After a stop, drops the models that cannot be measured in time.
    pub(crate) fn trim(&mut self, rest: &mut Rest) -> Result<(), Error> {
        let front = &mut self.outcome.front;
        let m = front.n_objectives;
        let Some(mut kept) = rest.selection(&front.values, m, rest.remainder.most_measured())?
        else {
            return Ok(());
        };
        kept.sort_unstable();
        front.values = select(&front.values, &kept, m);
        front.points = front.points.select(&kept);
        kept.push(self.families.len() - 1);
        self.families = kept.iter().map(|i| self.families[*i]).collect();
        kept.pop();
        let proofs = std::mem::take(&mut self.outcome.proofs);
        let of = |i: &usize| proofs.get(*i).cloned();
        self.outcome.proofs = kept.iter().filter_map(of).collect();
        Ok(())
    }

    /// Counts the models that are nondominated on test rows.
    pub(crate) fn count_on_test(&mut self, splits: &[SplitValues]) -> Result<(), Error> {
        let m = self.outcome.front.n_objectives;
        self.info.on_test = on_test(self.info.front_in, &self.measures, splits, m)?;
        Ok(())
    }
}

/// Number of models that no other one dominates on test rows either; `None` if a value is undefined
/// there.
pub(crate) fn on_test(
    front_in: FrontIn,
    measures: &[Measure],
    splits: &[SplitValues],
    m: usize,
) -> Result<Option<usize>, Error> {
    let Some(test) = splits.iter().find(|s| s.part == Part::Test) else {
        return Ok(None);
    };
    let values: Option<Vec<f64>> = match front_in {
        FrontIn::Objectives if test.meaningful.iter().all(|m| *m) => Some(test.objectives.clone()),
        FrontIn::Objectives => None,
        FrontIn::Measures => {
            let of = |of_point: &Measures| -> Option<Vec<f64>> {
                measures.iter().map(|m| m.of(of_point)).collect()
            };
            let all: Option<Vec<Vec<f64>>> = test.measures.iter().map(of).collect();
            all.map(|all| all.concat())
        }
    };
    values.map(|values| remaining(&values, m)).transpose()
}

/// Number of nondominated models, including those equal to another nondominated one.
fn remaining(values: &[f64], m: usize) -> Result<usize, Error> {
    let judged = Values::new(values, m)?;
    let best: Vec<&[f64]> = nondominated(judged)
        .into_iter()
        .map(|i| &values[i * m..(i + 1) * m])
        .collect();
    let points = values.chunks_exact(m.max(1));
    Ok(points.filter(|point| best.contains(point)).count())
}

fn select(values: &[f64], kept: &[usize], m: usize) -> Vec<f64> {
    let of = |i: &usize| values[i * m..(i + 1) * m].to_vec();
    kept.iter().flat_map(of).collect()
}

/// Positions of the nondominated models in the objectives; negligible values count as 0.
fn best_in_objectives(problem: &FairProblem, all: &Front) -> Result<Vec<usize>, Error> {
    let m = all.n_objectives;
    let seen = |(i, v): (usize, &f64)| match *v <= problem.negligible(i % m) {
        true => v.min(0.0),
        false => *v,
    };
    let values: Vec<f64> = all.values.iter().enumerate().map(seen).collect();
    Ok(nondominated(Values::new(&values, m)?))
}

/// The measures of all models on training and validation rows together, or the first that is
/// undefined on these rows.
pub(crate) fn chosen_by(
    encoded: &Encoded,
    points: &Points,
    measures: &[Measure],
) -> Result<Result<Vec<f64>, Measure>, Error> {
    let mut of_points: Vec<Measures> = Vec::new();
    for rows in encoded.rows_for(RowRole::Membership) {
        let more = measure(&*predictor_of(rows.schema()), rows, points)?;
        match of_points.is_empty() {
            true => of_points = more,
            false => {
                for (own, more) in of_points.iter_mut().zip(&more) {
                    *own = own.with(more);
                }
            }
        }
    }
    let mut values = Vec::with_capacity(points.len() * measures.len());
    for of_point in &of_points {
        for measure in measures {
            match measure.of(of_point) {
                Some(value) => values.push(value),
                None => return Ok(Err(*measure)),
            }
        }
    }
    Ok(Ok(values))
}

/// The values that models are judged by, on the rows that determine the front.
pub(crate) fn values(
    problem: &FairProblem,
    encoded: &Encoded,
    front_in: FrontIn,
    points: &Points,
) -> Result<Vec<f64>, Error> {
    if front_in == FrontIn::Objectives {
        return Ok(problem.values(points)?);
    }
    let measures = matching(problem).map_err(|name| no_measure(&name))?;
    chosen_by(encoded, points, &measures)?.map_err(|measure| {
        let name = measure.name(encoded.part(Part::Train).schema());
        Error::data(format!("{name} is undefined on these rows"))
    })
}

/// The measures that models are judged by, from those measured on training and validation rows; the
/// unmitigated model comes last.
pub(crate) fn measured(problem: &FairProblem, splits: &[SplitValues]) -> Result<Vec<f64>, Error> {
    let measures = matching(problem).map_err(|name| no_measure(&name))?;
    let on = |part: Part| splits.iter().find(|split| split.part == part);
    let Some(train) = on(Part::Train) else {
        return Ok(Vec::new());
    };
    let all = |split: &SplitValues| {
        let mut all = split.measures.clone();
        all.push(split.unmitigated.clone());
        all
    };
    let mut of_points = all(train);
    if let Some(validation) = on(Part::Validation) {
        for (own, more) in of_points.iter_mut().zip(all(validation)) {
            *own = own.with(&more);
        }
    }
    let mut values = Vec::with_capacity(of_points.len() * measures.len());
    for of_point in &of_points {
        for measure in &measures {
            values.push(
                measure.of(of_point).ok_or_else(|| {
                    Error::data("a measure of the front is undefined on these rows")
                })?,
            );
        }
    }
    Ok(values)
}

fn no_measure(objective: &str) -> Error {
    Error::usage(say![
        FRONT_IN.is("measures"), ": there is no measure for {objective}";
        "remove this objective";
        "choose ", FRONT_IN.is("objectives")
    ])
}
