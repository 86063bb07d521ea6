//! Limits of other models: proven for linear models, estimated for all models.

use std::sync::Arc;

use fairfront_core::{Condition, Covariance, FairProblem, Linear, LogLoss, Objective, Predictor};
use fairfront_data::{Encoded, Part};
use fairfront_solve::{Solver, StopSignal, Suits, Trace};
use serde::{Deserialize, Serialize};

use super::compare::Disparity;
use crate::penalty::convex_loss;
use crate::{Error, OverlayKind, Run};

/// Number of models of the front whose proofs are searched for statements.
const POINTS: usize = 24;
/// Shares of the objective of the unmitigated model for which there is a statement.
const SHARES: [f64; 4] = [0.5, 0.25, 0.1, 0.01];

/// Limits of other models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Statements with a proof, for linear models on the same columns.
    pub proven: Vec<Proven>,
    /// The reason, if such statements are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_proven: Option<String>,
    /// Estimates for all models on the same columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub estimated: Vec<Estimated>,
}

/// No linear model on these columns has a loss below one value and an objective of at most another one, on the
/// training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proven {
    /// The loss, with its penalty.
    pub loss: String,
    /// No linear model has a smaller loss than this with an objective of at most the value below.
    pub loss_at_least: f64,
    /// The other objective.
    pub objective: String,
    /// Its value.
    pub objective_at_most: f64,
    /// The same value as a share of that of the unmitigated model.
    pub share_of_unmitigated: f64,
    /// The optimality gap of the model that proves it.
    pub optimality_gap: f64,
    /// Training rows.
    pub rows: usize,
}

/// An estimate of the least error for a given difference, over all models on the same columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimated {
    /// The measure of errors.
    pub error: String,
    /// The estimated least error, with the ends of its 95% band.
    pub least: f64,
    /// The ends of the band, which covers sampling only.
    pub band: Vec<f64>,
    /// The difference between groups.
    pub measure: String,
    /// Its value.
    pub at_most: f64,
}

/// Limits for each compared attribute.
pub(super) fn limits(
    run: &Run,
    encoded: &Encoded,
    disparities: &[Disparity],
) -> Result<Limits, Error> {
    let mut limits = Limits {
        proven: Vec::new(),
        not_proven: None,
        estimated: estimated(run),
    };
    let mut seen = Vec::new();
    for disparity in disparities {
        if seen.contains(&disparity.attribute) {
            continue;
        }
        seen.push(disparity.attribute);
        match proven(run, encoded, disparity.attribute)? {
            Ok(statements) => limits.proven.extend(statements),
            Err(why) => limits.not_proven = Some(why),
        }
    }
    Ok(limits)
}

/// Statements from the exact front of log loss and covariance, or why it cannot be computed.
fn proven(
    run: &Run,
    encoded: &Encoded,
    attribute: usize,
) -> Result<Result<Vec<Proven>, String>, Error> {
    let train = encoded.part(Part::Train);
    let schema = train.schema();
    if Linear.n_params(schema) > fairfront_core::MOST_DENSE {
        return Ok(Err(format!(
            "the columns become more than {} features, for which exact fronts take too long",
            fairfront_core::MOST_DENSE
        )));
    }
    let lambda = run.info.penalty.as_ref().map(|penalty| penalty.chosen);
    let loss = convex_loss(&schema.target, lambda.unwrap_or(LogLoss::default().lambda));
    let covariance: Arc<dyn Objective> = Arc::new(Covariance::new(
        Condition::All,
        attribute,
        &schema.attributes[attribute],
    ));
    let names = [loss.definition(), covariance.name()];
    let rows = Arc::new(train.clone());
    let problem = FairProblem::of_shared(rows, Arc::new(Linear), vec![loss, covariance])?;
    let trace = Trace {
        points: POINTS,
        proofs: true,
        ..Trace::default()
    };
    if let Suits::Impossible(why) = trace.suits(&problem) {
        return Ok(Err(why.to_string()));
    }
    let outcome = trace.solve(&problem, &mut StopSignal::default())?;
    let unmitigated = outcome.unmitigated.value(0)[1];
    if unmitigated.is_nan() || unmitigated <= 0.0 {
        return Ok(Err(format!(
            "{} of the unmitigated linear model is already 0",
            names[1]
        )));
    }
    let mut statements: Vec<Proven> = Vec::new();
    for share in SHARES {
        // The proven model with the largest objective of at most this share.
        let models = (0..outcome.front.points.len()).filter_map(|at| {
            let gap = outcome.proofs.get(at)?.gap?;
            let value = outcome.front.value(at);
            (value[1] <= share * unmitigated).then_some((value[0], value[1], gap))
        });
        let Some((loss, objective, gap)) = models.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            continue;
        };
        let statement = Proven {
            loss: names[0].clone(),
            loss_at_least: loss - gap,
            objective: names[1].clone(),
            objective_at_most: objective,
            share_of_unmitigated: objective / unmitigated,
            optimality_gap: gap,
            rows: train.n_rows(),
        };
        if !statements.contains(&statement) {
            statements.push(statement);
        }
    }
    Ok(match statements.is_empty() {
        true => Err("no model of the exact front has an optimality proof".into()),
        false => Ok(statements),
    })
}

/// The estimated bounds of a run with learners, at a few differences each.
fn estimated(run: &Run) -> Vec<Estimated> {
    let bounds = run
        .info
        .overlays
        .iter()
        .filter(|o| o.kind == OverlayKind::Bound);
    let mut all = Vec::new();
    for bound in bounds {
        let [error, measure] = &bound.measures[..] else {
            continue;
        };
        let n = bound.points.len();
        let places = [0, n / 4, n / 2, 3 * n / 4, n.saturating_sub(1)];
        let mut places = places.to_vec();
        places.dedup();
        for point in places.into_iter().filter_map(|at| bound.points.get(at)) {
            let [least, at_most] = point.values[..] else {
                continue;
            };
            let ends = [point.low.first(), point.high.first()];
            all.push(Estimated {
                error: error.clone(),
                least,
                band: ends.into_iter().flatten().copied().collect(),
                measure: measure.clone(),
                at_most,
            });
        }
    }
    all
}
