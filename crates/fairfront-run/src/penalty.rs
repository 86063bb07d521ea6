//! The penalty on coefficients, either given or chosen by cross-validation on the training rows.

use std::sync::Arc;

use fairfront_core::{
    BLOCK_ROWS, Cholesky, ClassLoss, Counts, Dataset, FairProblem, Linear, Loaded, LogLoss,
    Multinomial, Objective, Points, Preconditioner, Predictor, Problem, Purpose, Residual,
    ResidualLoss, RowBlock, RowSource, SecondOrder, Stream, Target, predictor_of,
};
use fairfront_solve::{Remainder, Solver, StopSignal, Trace, minimize_loss};
use serde::{Deserialize, Serialize};

use crate::{Error, network};

/// Number of folds of the cross-validation.
const FOLDS: usize = 5;
/// The penalties that are tried, largest first. The least still bounds the coefficient of a
/// category with a single row.
const PATH: [f64; 13] = [
    1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6,
];
/// Most rows in the cross-validation. A sample of this size is enough to compare penalties, and the
/// choice takes a small share of a fit, however many rows there are.
const MOST_ROWS: usize = 10 * BLOCK_ROWS;
/// Up to this many parameters, Newton's method follows the path; with more, its matrices cost more
/// than the gradients of a quasi-Newton method.
const MOST_NEWTON: usize = 160;
/// Approximate number of passes over the rows per model of the cross-validation.
const PASSES: usize = 12;
/// Newton's method stops when the remaining decrease is about this; losses are compared to four
/// digits.
const PRECISION: f64 = 1e-9;
/// The decrease left after a step is at most about this times the square of its predicted decrease.
const SQUARED: f64 = 100.0;
/// Like [`PRECISION`], for the quasi-Newton method, as a share of the loss.
const WIDE_PRECISION: f64 = 1e-6;
/// The same for more than two classes, whose models have a multiple of the parameters: still a tenth of the
/// differences that decide between penalties.
const CLASS_PRECISION: f64 = 1e-5;

/// The requested penalty λ of the log loss, or of the squared error of a number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Penalty {
    /// Chosen by cross-validation on the training rows.
    Auto {
        /// Seed of the folds.
        seed: u64,
    },
    /// This number.
    Fixed(f64),
}

impl Default for Penalty {
    fn default() -> Self {
        Self::Auto { seed: 0 }
    }
}

/// How a penalty was determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PenaltyRule {
    /// It was given.
    Fixed,
    /// The largest penalty whose held-out loss exceeds the least by no more than one standard
    /// error.
    OneStandardError,
    /// 1 over the total weight of the rows, because the fit was stopped during the
    /// cross-validation.
    Stopped,
}

/// The penalty of a run and how it was chosen, as stored in `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PenaltyInfo {
    /// λ of the log loss.
    pub chosen: f64,
    /// How it was chosen.
    pub rule: PenaltyRule,
    /// The cross-validation, if there was one.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub validation: Option<CrossValidation>,
}

/// A cross-validation of penalties.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidation {
    /// Seed of the folds.
    pub seed: u64,
    /// Number of folds.
    pub folds: usize,
    /// Number of training rows in all folds together.
    pub rows: usize,
    /// The penalties that were tried, largest first.
    pub path: Vec<TriedPenalty>,
}

/// One penalty of a cross-validation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TriedPenalty {
    /// λ.
    pub lambda: f64,
    /// Log loss on held-out rows without the penalty, as the mean over the folds.
    pub loss: f64,
    /// Standard error of `loss`, from the folds.
    pub standard_error: f64,
    /// Standard error of the difference between `loss` and the least loss of the path, from the
    /// folds. It is smaller, because a difficult fold is difficult for every penalty.
    pub excess_standard_error: f64,
}

impl PenaltyInfo {
    /// A penalty that was given.
    pub fn fixed(chosen: f64) -> Self {
        Self {
            chosen,
            rule: PenaltyRule::Fixed,
            validation: None,
        }
    }

    /// Determines the requested penalty on these training rows.
    pub(crate) fn choose(
        asked: Penalty,
        train: &Dataset,
        stop: &StopSignal,
    ) -> Result<Self, Error> {
        match asked {
            Penalty::Fixed(lambda) => Ok(Self::fixed(lambda)),
            Penalty::Auto { seed } => by_cross_validation(train, seed, stop),
        }
    }

    /// The request that led to this penalty.
    pub(crate) fn asked(&self) -> Penalty {
        match &self.validation {
            Some(validation) => Penalty::Auto {
                seed: validation.seed,
            },
            None => Penalty::Fixed(self.chosen),
        }
    }
}

/// The model that minimizes the log loss with this penalty; an error if the work is stopped first
/// and there are many rows.
pub(crate) fn logistic_model(
    train: &Dataset,
    lambda: f64,
    stop: StopSignal,
) -> Result<Points, Error> {
    match predictor_of(train.schema()).as_network() {
        Some(network) => network::unmitigated(network, train, lambda, &stop),
        None => linear_model(train, lambda, stop),
    }
}

/// The linear model that minimizes the log loss with this penalty, for any schema.
pub(crate) fn linear_model(
    train: &Dataset,
    lambda: f64,
    mut stop: StopSignal,
) -> Result<Points, Error> {
    let rows = Arc::new(train.clone());
    let Some(classes) = train.schema().target.classes() else {
        let problem = convex_problem(rows, Arc::new(Linear), lambda)?;
        let solved = Trace::default().solve(&problem, &mut stop)?;
        return Ok(solved.unmitigated.points);
    };
    let multinomial = Multinomial {
        n_classes: classes.len(),
    };
    let problem = convex_problem(rows, Arc::new(multinomial), lambda)?;
    let n = problem.n_params();
    let zero = vec![0.0; n];
    let found = (&problem as &dyn Problem).minimizer(None, &stop)?;
    let mut x = match found {
        Some(x) => x,
        None => {
            let preconditioner = problem.diagonal_preconditioner(&zero)?;
            minimize_loss(&problem, &zero, &preconditioner, PRECISION, &stop)?
        }
    };
    if stop.is_set() {
        return Err(fairfront_core::Error::Stopped.into());
    }
    multinomial.centered(&mut x);
    Ok(Points::from_vec(n, x))
}

/// The largest penalty whose mean held-out loss is within one standard error of the least.
fn by_cross_validation(
    train: &Dataset,
    seed: u64,
    stop: &StopSignal,
) -> Result<PenaltyInfo, Error> {
    let (rows, params) = (
        train.n_rows().min(MOST_ROWS),
        predictor_of(train.schema()).n_params(train.schema()),
    );
    let remainder = Remainder::of(rows as u64, params, stop.clone());
    let stop = remainder.signal(FOLDS * PATH.len() * PASSES);
    let path = match predictor_of(train.schema()).as_network() {
        Some(_) => &network::PATH[..],
        None => &PATH[..],
    };
    let total = weight_of(train)?;
    // Rows are in random order, so the first ones are a fair sample.
    let train = &train.head(MOST_ROWS / BLOCK_ROWS)?;
    let folds = folds(&train.loaded()?, seed);
    let rows = train.n_people();
    let mut losses = Vec::with_capacity(FOLDS);
    for held_out in 0..FOLDS {
        if stop.is_set() {
            break;
        }
        let mut kept: Vec<usize> = Vec::new();
        let others = folds.iter().enumerate().filter(|(i, _)| *i != held_out);
        others.for_each(|(_, fold)| kept.extend(fold));
        kept.sort_unstable();
        let (kept, held_out) = (gathered(train, &kept)?, gathered(train, &folds[held_out])?);
        if let Some(of_fold) = held_out_losses(&kept, &held_out, path, total, &stop)? {
            losses.push(of_fold);
        }
    }
    if stop.is_set() {
        return Ok(PenaltyInfo {
            chosen: 1.0 / total.max(1.0),
            rule: PenaltyRule::Stopped,
            validation: None,
        });
    }
    let path = summary(path, &losses);
    // Without losses to compare, use a standard normal prior: λ = 1/W.
    let chosen = one_standard_error(&path).unwrap_or(1.0 / total.max(1.0));
    Ok(PenaltyInfo {
        chosen,
        rule: PenaltyRule::OneStandardError,
        validation: Some(CrossValidation {
            seed,
            folds: losses.len(),
            rows,
            path,
        }),
    })
}

/// Row numbers of each fold, ascending. The rows of each label are shuffled and distributed in
/// turn, so that every fold has its share of each.
fn folds(train: &Loaded, seed: u64) -> Vec<Vec<usize>> {
    let labels: Vec<f64> = train
        .blocks()
        .flat_map(|b| b.labels().iter().copied())
        .collect();
    let mut folds = vec![Vec::new(); FOLDS];
    let n = labels.len();
    // Copies of a person are in the same fold; the first row of each person is drawn.
    let people = train.people();
    let is_copy =
        |row: usize| people.is_some_and(|people| row > 0 && people[row - 1] == people[row]);
    // Numbers are divided by their sign.
    let key = |label: f64| match train.schema().target.classes() {
        Some(_) => label as usize,
        None => usize::from(label > 0.0),
    };
    for label in 0..train.schema().target.n_labels() {
        let mut rows: Vec<usize> = (0..n)
            .filter(|row| key(labels[*row]) == label && !is_copy(*row))
            .collect();
        Stream::new(seed, Purpose::Fold, [label as u64, 0]).shuffle(&mut rows);
        for (place, row) in rows.into_iter().enumerate() {
            let copies = (row + 1..n).take_while(|copy| is_copy(*copy));
            let fold = &mut folds[place % FOLDS];
            fold.push(row);
            fold.extend(copies);
        }
    }
    folds.iter_mut().for_each(|fold| fold.sort_unstable());
    folds
}

/// These rows as a data set.
fn gathered(train: &Dataset, rows: &[usize]) -> Result<Dataset, Error> {
    let blocks: Result<Vec<RowBlock>, _> = rows
        .chunks(BLOCK_ROWS)
        .map(|rows| train.gather(rows))
        .collect();
    Ok(Dataset::new(train.schema().clone(), blocks?)?)
}

/// The held-out loss of each penalty of a descending path, with every model started from the
/// previous one; `None` without rows or if they have no weight.
///
/// A penalty λ for rows of total weight W is a normal prior with precision λW, which does not
/// depend on the number of rows. Models of a fold get the same prior: λ is multiplied by W over
/// their weight.
fn held_out_losses(
    kept: &Dataset,
    held_out: &Dataset,
    path: &[f64],
    total: f64,
    stop: &StopSignal,
) -> Result<Option<Vec<f64>>, Error> {
    let own = weight_of(kept)?;
    if own <= 0.0 || weight_of(held_out)? <= 0.0 {
        return Ok(None);
    }
    let rows = Arc::new(kept.clone());
    let predictor = predictor_of(rows.schema());
    let judge = convex_problem(rows.clone(), Arc::clone(&predictor), 0.0)?;
    if let Some(network) = predictor.as_network() {
        let path: Vec<f64> = path.iter().map(|lambda| lambda * total / own).collect();
        let models = network::minimizers(network, kept, &path, stop)?;
        return Ok(match stop.is_set() {
            true => None,
            false => Some(judge.values_on(held_out, &models)?),
        });
    }
    let mut x = vec![0.0; judge.n_params()];
    let mut models = Points::new(judge.n_params());
    for lambda in path {
        if stop.is_set() {
            return Ok(None);
        }
        let problem = convex_problem(rows.clone(), Arc::clone(&predictor), lambda * total / own)?;
        x = minimize(&problem, &x, stop)?;
        models.push(&x);
    }
    Ok(Some(judge.values_on(held_out, &models)?))
}

/// The total weight of rows.
pub(crate) fn weight_of(rows: &Dataset) -> Result<f64, Error> {
    let counts = Counts::of(rows, None)?;
    Ok(counts.weights.iter().flatten().sum())
}

/// The convex loss that models of a target start from, with this penalty: the log loss, or the squared
/// error of a number.
pub(crate) fn convex_loss(target: &Target, lambda: f64) -> Arc<dyn Objective> {
    match target {
        Target::Binary => Arc::new(LogLoss { lambda }),
        Target::Classes(_) => Arc::new(ClassLoss { lambda }),
        Target::Number(_) => Arc::new(ResidualLoss {
            of: Residual::Squared,
            lambda,
        }),
    }
}

/// The problem of [`convex_loss`] alone.
pub(crate) fn convex_problem(
    rows: Arc<Dataset>,
    predictor: Arc<dyn Predictor>,
    lambda: f64,
) -> Result<FairProblem, Error> {
    let objective = convex_loss(&rows.schema().target, lambda);
    Ok(FairProblem::of_shared(rows, predictor, vec![objective])?)
}

/// Minimizes a convex loss from a nearby point, precisely enough to compare losses.
fn minimize(problem: &FairProblem, near: &[f64], stop: &StopSignal) -> Result<Vec<f64>, Error> {
    let n = problem.n_params();
    let facet = problem.second_order().filter(|_| n <= MOST_NEWTON);
    let Some(facet) = facet else {
        return wide(problem, near, stop);
    };
    let value = |x: &[f64]| -> Result<f64, Error> {
        Ok(problem.values(&Points::from_vec(n, x.to_vec()))?[0])
    };
    let mut x = near.to_vec();
    for _ in 0..100 {
        if stop.is_set() {
            break;
        }
        let SecondOrder {
            value: current,
            gradient,
            mut lower,
        } = facet.expand(&x)?;
        let trace: f64 = (0..n).map(|i| lower[i * n + i]).sum();
        (0..n).for_each(|i| lower[i * n + i] += 1e-12 * trace / n as f64);
        let Some(factor) = Cholesky::new(lower, n) else {
            return wide(problem, near, stop);
        };
        let mut step = gradient.clone();
        factor.solve(&mut step);
        let decrement: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
        let moved = |length: f64| -> Vec<f64> {
            x.iter().zip(&step).map(|(x, s)| x - length * s).collect()
        };
        let mut length = 1.0;
        let mut trial = moved(length);
        // Close to the minimum, full steps are safe.
        while decrement > 1e-3 && value(&trial)? > current - 1e-4 * length * decrement {
            length *= 0.5;
            if length < 1e-10 {
                return Ok(x);
            }
            trial = moved(length);
        }
        x = trial;
        if SQUARED * decrement * decrement < PRECISION {
            break;
        }
    }
    Ok(x)
}

/// Like [`minimize`], for many parameters: without a matrix, with steps scaled by the size of each
/// feature.
fn wide(problem: &FairProblem, near: &[f64], stop: &StopSignal) -> Result<Vec<f64>, Error> {
    let preconditioner: Preconditioner = problem.diagonal_preconditioner(near)?;
    let precision = match problem.predictor().as_multinomial() {
        Some(_) => CLASS_PRECISION,
        None => WIDE_PRECISION,
    };
    Ok(minimize_loss(
        problem,
        near,
        &preconditioner,
        precision,
        stop,
    )?)
}

/// Means and standard errors over the folds.
fn summary(path: &[f64], losses: &[Vec<f64>]) -> Vec<TriedPenalty> {
    let n = losses.len() as f64;
    let mean = |of: &dyn Fn(&Vec<f64>) -> f64| losses.iter().map(of).sum::<f64>() / n;
    let spread = |of: &dyn Fn(&Vec<f64>) -> f64| {
        let middle = mean(of);
        let squares = losses
            .iter()
            .map(|l| (of(l) - middle) * (of(l) - middle))
            .sum::<f64>();
        (squares / (n - 1.0) / n).sqrt()
    };
    if losses.len() < 2 {
        return Vec::new();
    }
    let means: Vec<f64> = (0..path.len()).map(|i| mean(&|l| l[i])).collect();
    let least = position_of_least(&means);
    let tried = |(i, lambda): (usize, &f64)| TriedPenalty {
        lambda: *lambda,
        loss: means[i],
        standard_error: spread(&|l| l[i]),
        excess_standard_error: spread(&|l| l[i] - l[least]),
    };
    path.iter().enumerate().map(tried).collect()
}

fn position_of_least(values: &[f64]) -> usize {
    let mut least = 0;
    for (i, value) in values.iter().enumerate() {
        if *value < values[least] {
            least = i;
        }
    }
    least
}

/// The largest penalty of a path, sorted largest first, whose loss exceeds the least by no more
/// than one standard error of that excess.
fn one_standard_error(path: &[TriedPenalty]) -> Option<f64> {
    let means: Vec<f64> = path.iter().map(|tried| tried.loss).collect();
    let least = path.get(position_of_least(&means))?;
    let close = |tried: &&TriedPenalty| tried.loss - least.loss <= tried.excess_standard_error;
    path.iter().find(close).map(|tried| tried.lambda)
}

#[cfg(test)]
mod tests;
