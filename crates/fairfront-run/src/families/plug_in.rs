//! The front over the features of learners.

use fairfront_core::meter::{self, Phase};
use fairfront_core::{Measure, Objective, Points, Problem};
use fairfront_data::Part;
use fairfront_solve::{Counters, Front, Observer, Outcome, StopReason};

use super::embed::Space;
use super::learning::Learning;
use super::sweep::{self, Comparison};
use crate::fit::{self, Found, Given};
use crate::judge::{self, matching};
use crate::mark::usual_threshold;
use crate::rest::Rest;
use crate::task::Task;
use crate::{Error, FitRequest, Penalty, families, penalty};

/// Finds the front over the features of learners. Two groups and one measure need no solver: a
/// sweep over one weight and all thresholds finds every trade-off. Otherwise the solver of the
/// request runs on the few features. Also returns whether the front comes from the sweep.
pub(crate) fn find(
    learning: &Learning,
    given: Given,
    space: &Space,
    observer: &mut dyn Observer,
) -> Result<(Found, bool), Error> {
    let encoded = &learning.plug_in;
    let train = encoded.part(Part::Train);
    // A handful of features on many rows needs next to no penalty.
    let weight = penalty::weight_of(train)?;
    let request = FitRequest {
        penalty: Penalty::Fixed(1.0 / weight.max(1.0)),
        ..given.request.clone()
    };
    let earlier = given.earlier.map(|earlier| space.learned_part(earlier));
    let earlier = earlier.filter(|earlier| !earlier.front.is_empty());
    let given = Given {
        request: &request,
        earlier: earlier.as_ref(),
        ..given
    };
    let stop = observer.stop_signal();
    let task = Task::new(encoded, &request, given.custom, &stop)?;
    let Some(comparison) = comparison(learning, &task) else {
        let mut found = fit::find(encoded.clone(), given, None, observer)?;
        found.diagnostics.clear();
        return Ok((found, false));
    };
    let mut rest = Rest::new(&task.problem, stop);
    let costs = comparison.costs;
    meter::begin(Phase::Solving);
    let mut points = sweep::sweep(train, &comparison)?;
    let unmitigated = comparison.point(0.0, usual_threshold(costs));
    points.push(&unmitigated);
    let problem = &task.problem;
    let front = |points: Points| -> Result<Front, Error> {
        Ok(Front {
            values: problem.values(&points)?,
            points,
            n_objectives: problem.n_objectives(),
        })
    };
    let outcome = Outcome {
        unmitigated: front(Points::from_vec(unmitigated.len(), unmitigated))?,
        front: front(points)?,
        stop: StopReason::Complete,
        counters: Counters::default(),
        proofs: Vec::new(),
        candidates: Points::default(),
    };
    let most = (task.candidate.solver.points(), 0);
    let judged = judge::judge(problem, encoded, outcome, request.front_in, most, &mut rest)?;
    let found = Found {
        judged,
        polish: None,
        starts: None,
        rest,
        diagnostics: Vec::new(),
        about: families::About::default(),
        encoded: encoded.clone(),
        task,
    };
    Ok((found, true))
}

/// The comparison of two groups by one measure, if that is all.
fn comparison(learning: &Learning, task: &Task) -> Option<Comparison> {
    let learned = learning.learned()?;
    let objectives: Vec<&dyn Objective> = task.problem.objectives().collect();
    let ([outcome, group], [_, fair]) = (learned.features.as_slice(), objectives.as_slice()) else {
        return None;
    };
    let measures = matching(&task.problem).ok()?;
    let [Measure::ErrorRate(costs), _] = measures.as_slice() else {
        return None;
    };
    // Mutual information is not a difference between two rates.
    if matches!(measures[1], Measure::MutualInformation { .. }) {
        return None;
    }
    let [label] = fair.labels()[..] else {
        return None;
    };
    let (attribute, _) = fair.compares()?;
    let schema = learning.plug_in.part(Part::Train).schema();
    let about = &schema.attributes[attribute];
    let of = learned.groups.first()?;
    let code = |name: &Option<String>| {
        let name = name.as_ref()?;
        Some(about.groups.iter().position(|group| group == name)? as u32)
    };
    let groups: Vec<u32> = of.classes.iter().filter_map(code).collect();
    let [first, second] = groups[..] else {
        return None;
    };
    Some(Comparison {
        attribute,
        groups: [first, second],
        label,
        costs: *costs,
        threshold: usual_threshold(*costs),
        shifts: [outcome.shift, group.shift],
        factors: [outcome.factor, group.factor],
    })
}
