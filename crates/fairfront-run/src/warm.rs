//! Starting models for nonconvex objectives: the exact front of covariances.

use std::sync::Arc;

use fairfront_core::{
    ClassCovariance, ClassLoss, Condition, Covariance, Dataset, FairProblem, LANES, Linear,
    LogLoss, MOST_DENSE, Objective, Points, Predictor, Problem, predictor_of, say,
};
use fairfront_data::Diagnostic;
use fairfront_solve::{Observer, Remainder, Solver, Suits, Trace, Weighted};

use crate::{Error, network, penalty};

/// Number of starting models.
const POINTS: usize = 64;
/// How far their losses may be above that front, as a share of the loss at 0.
const TOLERANCE: f64 = 1e-6;
/// Number of weighted sums, and of blocks of rows, for starting models of classes.
const CLASS_SUMS: usize = 24;
const MOST_BLOCKS: usize = 16;
/// With several attributes, the largest allowed hole, as a share of the objectives' ranges.
const HOLE: f64 = 0.3;

/// The exact front between the log loss and the covariances of the score with the attributes that
/// the objectives compare, the unmitigated model first. `None` if the solver or the objectives do
/// not need it. If it cannot be computed, there is a note. A front of other rows is updated, if
/// there is one.
pub(crate) fn starts(
    (problem, train, given): (&FairProblem, &Dataset, Option<f64>),
    solver: &dyn Solver,
    earlier: Option<&Points>,
    observer: &mut dyn Observer,
) -> Result<(Option<Points>, Option<Diagnostic>), Error> {
    let stop = Remainder::new(problem, observer.stop_signal()).signal(LANES);
    let mut fair = problem.objectives().skip(1);
    let by_covariance = fair.all(|o| o.squares().is_some()) && problem.temperature().is_none();
    let network = problem.predictor().as_network();
    let needs_none = by_covariance && network.is_none();
    if needs_none || problem.n_objectives() == 1 || !solver.takes_starts() {
        return Ok((None, None));
    }
    let mut attributes: Vec<usize> = Vec::new();
    for (attribute, _) in problem.objectives().filter_map(Objective::compares) {
        if !attributes.contains(&attribute) {
            attributes.push(attribute);
        }
    }
    if problem.predictor().as_multinomial().is_some() {
        return of_classes((problem, train, given), earlier, observer);
    }
    let lambda = given.unwrap_or(LogLoss::default().lambda);
    let target = &train.schema().target;
    let mut objectives: Vec<Arc<dyn Objective>> = vec![penalty::convex_loss(target, lambda)];
    // With very many parameters, such a front takes longer than everything else, so only the model
    // that minimizes the log loss is used.
    if Linear.n_params(train.schema()) > MOST_DENSE {
        attributes.clear();
    }
    for index in attributes {
        let attribute = &train.schema().attributes[index];
        let covariance = Covariance::new(Condition::All, index, attribute);
        objectives.push(Arc::new(covariance));
    }
    let trace = Trace {
        points: POINTS,
        tolerance: TOLERANCE,
        hole: HOLE,
        proofs: false,
    };
    // These fronts are for the log loss; unequal error costs move the threshold of each model.
    let shift = problem
        .objectives()
        .next()
        .and_then(Objective::stand_in)
        .map_or(0.0, |stand_in| stand_in.shift);
    // Starts of networks are not linear models.
    let earlier = earlier.filter(|_| network.is_none());
    let earlier = earlier.map(|points| moved(points, -shift));
    let mut front = |rows: &Dataset, earlier: Option<&Points>| -> Result<Points, Error> {
        let rows = Arc::new(rows.clone());
        let covariances = FairProblem::of_shared(rows, Arc::new(Linear), objectives.clone())?;
        let outcome = match trace.suits(&covariances) {
            Suits::Best(_) => match earlier {
                Some(earlier) => trace.update(&covariances, earlier, 0, observer),
                None => trace.solve(&covariances, observer),
            }?,
            Suits::Possible(why) | Suits::Impossible(why) => {
                return Err(Error::data(why.to_string()));
            }
        };
        let mut points = outcome.unmitigated.points;
        outcome.front.points.iter().for_each(|x| points.push(x));
        Ok(points)
    };
    let found = match network {
        None => front(train, earlier.as_ref()),
        Some(network) => {
            let mut front = |rows: &Dataset| front(rows, None);
            network::starts(network, train, lambda, &stop, &mut front)
        }
    };
    match found {
        Ok(points) => Ok((Some(moved(&points, shift)), None)),
        Err(error) if error.is_stopped() => Err(error),
        Err(why) => {
            let message = say![
                "the front of covariances to start from cannot be computed: ",
                why.message()
            ];
            Ok((None, Some(Diagnostic::note(message))))
        }
    }
}

/// Models of classes on the front between the log loss and the covariances of the scores of classes, the
/// unmitigated model first.
fn of_classes(
    (problem, train, given): (&FairProblem, &Dataset, Option<f64>),
    earlier: Option<&Points>,
    observer: &mut dyn Observer,
) -> Result<(Option<Points>, Option<Diagnostic>), Error> {
    let schema = train.schema();
    let lambda = given.unwrap_or(ClassLoss::default().lambda);
    let unmitigated = penalty::linear_model(train, lambda, observer.stop_signal())?;
    let mut attributes: Vec<usize> = problem
        .objectives()
        .filter_map(|objective| Some(objective.compares()?.0))
        .collect();
    attributes.sort_unstable();
    attributes.dedup();
    let mut objectives = vec![penalty::convex_loss(&schema.target, lambda)];
    for index in attributes {
        let attribute = &schema.attributes[index];
        let n_classes = schema.target.n_labels();
        objectives.push(Arc::new(ClassCovariance::new(index, attribute, n_classes)));
    }
    // Rows are in random order, so the first ones are a fair sample; starts need not be exact.
    let rows = Arc::new(train.head(MOST_BLOCKS)?);
    let covariances = FairProblem::of_shared(rows, predictor_of(schema), objectives)?;
    let mut starts = Points::new(problem.n_params());
    starts.push(unmitigated.get(0));
    for point in earlier.iter().flat_map(|points| points.iter()).skip(1) {
        starts.push(point);
    }
    let weighted = Weighted {
        points: POINTS,
        sums: CLASS_SUMS,
        starts: Some(starts),
        ..Weighted::default()
    };
    let outcome = weighted.solve(&covariances, observer)?;
    let mut points = Points::new(problem.n_params());
    points.push(unmitigated.get(0));
    outcome.front.points.iter().for_each(|x| points.push(x));
    Ok((Some(points), None))
}

/// Adds `shift` to the intercepts of models, which come last.
fn moved(points: &Points, shift: f64) -> Points {
    if shift == 0.0 {
        return points.clone();
    }
    let mut all = Points::new(points.n_params());
    for point in points.iter() {
        let mut point = point.to_vec();
        if let Some(intercept) = point.last_mut() {
            *intercept += shift;
        }
        all.push(&point);
    }
    all
}
