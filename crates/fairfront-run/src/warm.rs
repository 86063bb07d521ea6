//! Where solvers of objectives that are not convex start from: the exact front of covariances.

use std::sync::Arc;

use fairfront_core::{
    Covariance, Dataset, FairProblem, Kind, LogLoss, MOST_DENSE, Objective, Points, Problem,
    predictor_of, say,
};
use fairfront_data::Notice;
use fairfront_solve::{Observer, Solver, Suits, Trace};

use crate::Error;

/// Points of the starting list.
const POINTS: usize = 64;
/// What their losses may be above that front, as a share of the loss at 0.
const TOLERANCE: f64 = 1e-6;
/// With several attributes: how far apart they may be, as a share of the objectives' ranges.
const HOLE: f64 = 0.3;

/// The exact front between the log loss and the covariances of the score with the attributes that the
/// objectives compare, the unmitigated model first; `None` where the solver or the objectives have no
/// use for it. Where it cannot be computed, a notice says so. That of other rows, where there is one, is
/// brought up to date.
pub(crate) fn starts(
    (problem, train, penalty): (&FairProblem, &Dataset, Option<f64>),
    solver: &dyn Solver,
    earlier: Option<&Points>,
    observer: &mut dyn Observer,
) -> Result<(Option<Points>, Option<Notice>), Error> {
    let mut fair = problem.objectives().skip(1);
    let by_covariance = fair.all(|o| o.squares().is_some()) && problem.temperature().is_none();
    if by_covariance || problem.n_objectives() == 1 || !solver.takes_starts() {
        return Ok((None, None));
    }
    let mut attributes: Vec<usize> = Vec::new();
    for (attribute, _) in problem.objectives().filter_map(Objective::compares) {
        if !attributes.contains(&attribute) {
            attributes.push(attribute);
        }
    }
    let lambda = penalty.unwrap_or(LogLoss::default().lambda);
    let mut objectives: Vec<Arc<dyn Objective>> = vec![Arc::new(LogLoss { lambda })];
    // With very many parameters such a front takes longer than all else; the model that minimises the
    // log loss alone has to do.
    if problem.n_params() > MOST_DENSE {
        attributes.clear();
    }
    for index in attributes {
        let attribute = &train.schema().attributes[index];
        let covariance = Covariance::new(Kind::DisparateImpact, index, attribute);
        objectives.push(Arc::new(covariance));
    }
    let predictor = predictor_of(train.schema());
    let covariances = FairProblem::of_shared(Arc::new(train.clone()), predictor, objectives)?;
    let trace = Trace {
        points: POINTS,
        tolerance: TOLERANCE,
        hole: HOLE,
        proofs: false,
    };
    // These fronts are of the log loss; errors of unequal costs move the threshold of each model.
    let shift = problem
        .objectives()
        .next()
        .and_then(Objective::stand_in)
        .map_or(0.0, |stand_in| stand_in.shift);
    let earlier = earlier.map(|points| moved(points, -shift));
    let found = match trace.suits(&covariances) {
        Suits::Best(_) => match earlier {
            Some(earlier) => trace.update(&covariances, &earlier, 0, observer),
            None => trace.solve(&covariances, observer),
        }
        .map_err(Error::from),
        Suits::Possible(why) | Suits::Impossible(why) => Err(Error::data(why.to_string())),
    };
    match found {
        Ok(outcome) => {
            let mut points = outcome.unmitigated.points;
            outcome.front.points.iter().for_each(|x| points.push(x));
            Ok((Some(moved(&points, shift)), None))
        }
        Err(error) if error.is_stopped() => Err(error),
        Err(why) => {
            let message = say![
                "there is no front of covariances to start from: ",
                why.message()
            ];
            Ok((None, Some(Notice::info(message))))
        }
    }
}

/// The same models with this added to their intercepts, which come last.
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
