//! Networks: their unmitigated model, penalties to try, and models to start from.

use std::sync::Arc;

use fairfront_core::{
    Dataset, FairProblem, LogLoss, Network, Objective, Points, Preconditioner, Predictor, Problem,
    Rows, Schema,
};
use fairfront_solve::{DescentLimits, StopSignal, minimize_loss, minimize_sums};

use crate::Error;
use crate::penalty::{convex_loss, convex_problem, linear_model};

/// The penalties that are tried for networks, largest first. With larger ones, a network is a
/// constant; with smaller ones, descents take long.
pub(crate) const PATH: [f64; 7] = [0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5];
/// Number of descents to the unmitigated model: from the linear model inside a network with
/// different other units, and from random networks.
const EMBEDDED: u64 = 4;
const RANDOM: usize = 4;
/// When these descents end; the best one goes on to a higher precision.
const LIMITS: DescentLimits = DescentLimits {
    most_steps: 300,
    tolerance: 2e-6,
};
const PRECISION: f64 = 1e-7;
/// When the descents of a cross-validation end; losses are compared to four digits.
const ROUGH_LIMITS: DescentLimits = DescentLimits {
    most_steps: 100,
    tolerance: 1e-5,
};

/// The network with the smallest log loss, or squared error of a number, and penalty among those that descents from several points
/// end at; an error if the work is stopped first.
pub(crate) fn unmitigated(
    network: Network,
    train: &Dataset,
    lambda: f64,
    stop: &StopSignal,
) -> Result<Points, Error> {
    let linear = linear_model(train, lambda, stop.clone())?;
    let schema = train.schema();
    let problem = convex_problem(Arc::new(train.clone()), Arc::new(network), lambda)?;
    let mut starts = Points::new(problem.n_params());
    for number in 0..EMBEDDED {
        if let Some(start) = network.embed(schema, linear.get(0), number) {
            starts.push(&start);
        }
    }
    let random = network.starts(schema, RANDOM);
    random.iter().for_each(|start| starts.push(start));
    let weights = vec![1.0; starts.len()];
    let (ends, losses) = minimize_sums(&problem, &starts, &weights, LIMITS, stop)?;
    let order = |a: &usize, b: &usize| losses[*a].total_cmp(&losses[*b]);
    let best = ends.get((0..ends.len()).min_by(order).unwrap_or(0));
    let steps = Preconditioner::Identity;
    let found = minimize_loss(&problem, best, &steps, PRECISION, stop)?;
    match stop.is_set() {
        true => Err(fairfront_core::Error::Stopped.into()),
        false => Ok(Points::from_vec(problem.n_params(), found)),
    }
}

/// For each penalty, a network with a small log loss and penalty on these rows. All descents start
/// from the linear model with the middle penalty and run side by side.
pub(crate) fn minimizers(
    network: Network,
    rows: &Dataset,
    penalties: &[f64],
    stop: &StopSignal,
) -> Result<Points, Error> {
    let schema = rows.schema();
    let middle = penalties.get(penalties.len() / 2).copied();
    let linear = linear_model(
        rows,
        middle.unwrap_or(LogLoss::default().lambda),
        stop.clone(),
    )?;
    // The penalty of a sum is λ if the weights of these losses are 1 − λ and λ.
    let losses: Vec<Arc<dyn Objective>> = vec![
        convex_loss(&schema.target, 0.0),
        convex_loss(&schema.target, 1.0),
    ];
    let problem = FairProblem::of_shared(Arc::new(rows.clone()), Arc::new(network), losses)?;
    let mut starts = Points::new(problem.n_params());
    let mut weights = Vec::with_capacity(2 * penalties.len());
    for lambda in penalties {
        if let Some(start) = network.embed(schema, linear.get(0), 0) {
            starts.push(&start);
            weights.extend([1.0 - lambda, *lambda]);
        }
    }
    Ok(minimize_sums(&problem, &starts, &weights, ROUGH_LIMITS, stop)?.0)
}

/// Models to start from: the unmitigated network, the exact front of covariances of networks with
/// the same hidden units, and that of linear models, inside networks.
///
/// `front` computes the exact front between the log loss and the covariances for linear models,
/// the unmitigated model first.
pub(crate) fn starts(
    network: Network,
    train: &Dataset,
    lambda: f64,
    stop: &StopSignal,
    front: &mut dyn FnMut(&Dataset) -> Result<Points, Error>,
) -> Result<Points, Error> {
    let schema = train.schema();
    let mut starts = unmitigated(network, train, lambda, stop)?;
    let best = starts.get(0).to_vec();
    let outputs = front(&hidden_rows(network, train, &best)?)?;
    for output in outputs.iter() {
        starts.push(&network.with_output(schema, &best, output));
    }
    let linear = front(train)?;
    for point in linear.iter() {
        if let Some(start) = network.embed(schema, point, 0) {
            starts.push(&start);
        }
    }
    Ok(starts)
}

/// The rows with the activations of the hidden units of a network as features. A network with these
/// hidden units is a linear model of them.
fn hidden_rows(network: Network, train: &Dataset, point: &[f64]) -> Result<Dataset, Error> {
    let schema = Schema {
        numeric: (1..=network.hidden).map(|unit| unit.to_string()).collect(),
        categorical: Vec::new(),
        attributes: train.schema().attributes.clone(),
        target: train.schema().target.clone(),
        hidden: 0,
    };
    let point = point.to_vec();
    Ok(train.mapped(schema.clone(), move |block| {
        let tiles = Rows::tiles(block).flat_map(|tile| network.activations(&tile, &point));
        block.of_numeric(&schema, tiles.flatten().collect())
    })?)
}

#[cfg(test)]
mod tests;
