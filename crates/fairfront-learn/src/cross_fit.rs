//! Cross-fitting: scores of rows by forests that were fitted without them.

use rayon::prelude::*;

use crate::bin::Binned;
use crate::booster::{BoostSettings, Booster, Labels};
use crate::error::{Error, expect_len};
use crate::fold::Folds;
use crate::forest::Forest;
use crate::quality::log_loss_of;

/// Rounds between two looks at the held-out loss of all folds.
const BATCH: usize = 10;

/// Classes of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassProblem {
    /// The class of every row of the data set; rows without one are scored, but not fitted.
    pub labels: Vec<Option<u32>>,
    /// Number of classes.
    pub n_classes: usize,
    /// The weight of every row. Only ratios matter.
    pub weights: Vec<f64>,
}

impl ClassProblem {
    /// Number of raw scores per row.
    pub fn n_outputs(&self) -> usize {
        n_outputs(self.n_classes)
    }

    /// Rows that have a class and a positive weight.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, u32, f64)> {
        let rows = self.labels.iter().zip(&self.weights).enumerate();
        rows.filter_map(|(row, (label, weight))| Some((row, (*label)?, *weight)))
            .filter(|(.., weight)| *weight > 0.0)
    }

    /// Checks shapes, classes and weights.
    pub(crate) fn check(&self, n_rows: usize) -> Result<(), Error> {
        let n_classes = self.n_classes;
        if n_classes < 2 {
            return Err(Error::Classes { found: n_classes });
        }
        expect_len("labels", n_rows, self.labels.len())?;
        expect_len("weights", n_rows, self.weights.len())?;
        for (row, (label, weight)) in self.labels.iter().zip(&self.weights).enumerate() {
            let Some(label) = *label else { continue };
            if label as usize >= n_classes {
                return Err(Error::Label {
                    row,
                    label,
                    n_classes,
                });
            }
            check_weight(row, *weight)?;
        }
        Ok(())
    }
}

/// Numbers of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberProblem {
    /// The number of every row of the data set; rows without one are scored, but not fitted.
    pub labels: Vec<Option<f64>>,
    /// The weight of every row. Only ratios matter.
    pub weights: Vec<f64>,
}

impl NumberProblem {
    /// Rows that have a number and a positive weight.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let rows = self.labels.iter().zip(&self.weights).enumerate();
        rows.filter_map(|(row, (label, weight))| Some((row, (*label)?, *weight)))
            .filter(|(.., weight)| *weight > 0.0)
    }

    /// Checks shapes, numbers and weights.
    pub(crate) fn check(&self, n_rows: usize) -> Result<(), Error> {
        expect_len("labels", n_rows, self.labels.len())?;
        expect_len("weights", n_rows, self.weights.len())?;
        for (row, (number, weight)) in self.labels.iter().zip(&self.weights).enumerate() {
            let Some(number) = *number else { continue };
            if !number.is_finite() {
                return Err(Error::Number { row, number });
            }
            check_weight(row, *weight)?;
        }
        Ok(())
    }
}

fn check_weight(row: usize, weight: f64) -> Result<(), Error> {
    match weight.is_finite() && weight >= 0.0 {
        true => Ok(()),
        false => Err(Error::Weight { row, weight }),
    }
}

/// The labels of rows, some of which may lack one, and the loss by which predictions are judged.
pub trait Problem: Sync {
    /// Checks shapes, labels and weights for a data set of this many rows.
    fn check_rows(&self, n_rows: usize) -> Result<(), Error>;
    /// Number of raw scores per row.
    fn width(&self) -> usize;
    /// Whether a row has a label.
    fn is_labeled(&self, row: usize) -> bool;
    /// The weight of every row.
    fn weights(&self) -> &[f64];
    /// The labels, with an arbitrary one for rows without.
    fn filled(&self) -> Labels;
    /// The loss of the raw scores of a row with a label.
    fn loss(&self, row: usize, raw: &[f64]) -> f64;
}

impl Problem for ClassProblem {
    fn check_rows(&self, n_rows: usize) -> Result<(), Error> {
        self.check(n_rows)
    }

    fn width(&self) -> usize {
        self.n_outputs()
    }

    fn is_labeled(&self, row: usize) -> bool {
        self.labels[row].is_some()
    }

    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn filled(&self) -> Labels {
        Labels::Classes {
            of_row: self.labels.iter().map(|l| l.unwrap_or(0)).collect(),
            n_classes: self.n_classes,
        }
    }

    fn loss(&self, row: usize, raw: &[f64]) -> f64 {
        self.labels[row].map_or(0.0, |label| log_loss_of(raw, label))
    }
}

impl Problem for NumberProblem {
    fn check_rows(&self, n_rows: usize) -> Result<(), Error> {
        self.check(n_rows)
    }

    fn width(&self) -> usize {
        1
    }

    fn is_labeled(&self, row: usize) -> bool {
        self.labels[row].is_some()
    }

    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn filled(&self) -> Labels {
        Labels::Numbers(self.labels.iter().map(|l| l.unwrap_or(0.0)).collect())
    }

    fn loss(&self, row: usize, raw: &[f64]) -> f64 {
        let residual = self.labels[row].map_or(0.0, |label| raw[0] - label);
        residual * residual
    }
}

/// Number of raw scores for a number of classes.
pub(crate) fn n_outputs(n_classes: usize) -> usize {
    if n_classes == 2 { 1 } else { n_classes }
}

/// Raw scores of rows by models that were not fitted on these rows.
///
/// Scores of the rows that a model was fitted on are too sure. This type can only be made by
/// [`cross_fit`] or by an explicit statement, so that such scores are not used by accident.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfFold {
    raw: Vec<f64>,
    n_outputs: usize,
}

impl OutOfFold {
    /// Scores that the user states to be out of fold: `n_outputs` per row, row by row.
    pub fn stated_by_user(raw: Vec<f64>, n_outputs: usize) -> Result<Self, Error> {
        if n_outputs == 0 || !raw.len().is_multiple_of(n_outputs) {
            return Err(Error::Shape {
                name: "scores per row",
                expected: n_outputs,
                found: raw.len(),
            });
        }
        Ok(Self { raw, n_outputs })
    }

    /// The raw scores, row by row.
    pub fn raw(&self) -> &[f64] {
        &self.raw
    }

    /// Number of raw scores per row.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.raw.len() / self.n_outputs
    }
}

/// The result of cross-fitting.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossFitted {
    /// Raw scores of every row of the data set, each from the forest that was fitted without the
    /// row's fold.
    pub out_of_fold: OutOfFold,
    /// The number of rounds with the smallest held-out loss.
    pub n_rounds: usize,
    /// Held-out log loss or squared error after 0, 1, 2, … rounds, as a weighted mean over all rows
    /// with a label.
    pub losses: Vec<f64>,
    /// The forest of `n_rounds` rounds, fitted to all rows with a label.
    pub forest: Forest,
}

/// Fits boosted trees in every fold, chooses the number of rounds by held-out loss, and fits a final
/// forest to all rows.
///
/// The final forest and the folds' forests have the same number of rounds. `stop` is checked each
/// round; once it returns true, the result is [`Error::Stopped`]. The result has the same bytes for
/// any number of threads.
///
/// Cost: one fit of all rows and, for k folds, about k − 1 times as much for
/// [`BoostSettings::patience`] rounds more.
pub fn cross_fit(
    binned: &Binned,
    problem: &impl Problem,
    folds: &Folds,
    settings: &BoostSettings,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<CrossFitted, Error> {
    let n_rows = binned.n_rows();
    problem.check_rows(n_rows)?;
    expect_len("folds of rows", n_rows, folds.of_row().len())?;
    let labels = problem.filled();
    let weights = normalized(problem)?;

    let mut fits = (0..folds.n_folds())
        .map(|fold| {
            let held_out = rows_where(n_rows, |r| usize::from(folds.of_row()[r]) == fold);
            let fitted = rows_where(n_rows, |r| {
                usize::from(folds.of_row()[r]) != fold && problem.is_labeled(r)
            });
            let booster = Booster::new(binned, &fitted, &held_out, &labels, &weights, settings)?;
            Ok(Fit::new(booster, held_out, &weights, problem))
        })
        .collect::<Result<Vec<Fit<'_>>, Error>>()?;

    let mut losses = vec![fits.iter().map(|f| f.losses[0]).sum::<f64>()];
    let mut best = 0;
    while losses.len() <= settings.most_rounds && losses.len() <= best + settings.patience {
        let done = losses.len() - 1;
        let batch = BATCH.min(settings.most_rounds - done);
        fits.par_iter_mut()
            .try_for_each(|fit| fit.advance(batch, problem, stop))?;
        for round in done + 1..=done + batch {
            losses.push(fits.iter().map(|f| f.losses[round]).sum());
        }
        best = smallest(&losses);
    }

    let n_outputs = problem.width();
    let mut raw = vec![0.0; n_rows * n_outputs];
    for fit in &mut fits {
        let scores = fit.booster.followed_scores(best);
        for (row, scores) in fit.held_out.iter().zip(scores.chunks_exact(n_outputs)) {
            raw[*row as usize * n_outputs..][..n_outputs].copy_from_slice(scores);
        }
    }
    drop(fits);
    let all = rows_where(n_rows, |r| problem.is_labeled(r));
    let mut booster = Booster::new(binned, &all, &[], &labels, &weights, settings)?;
    for _ in 0..best {
        if stop() {
            return Err(Error::Stopped);
        }
        booster.round();
    }
    let total: f64 = all.iter().map(|r| weights[*r as usize]).sum();
    losses.iter_mut().for_each(|l| *l /= total);
    Ok(CrossFitted {
        out_of_fold: OutOfFold { raw, n_outputs },
        n_rounds: best,
        losses,
        forest: booster.into_forest(best),
    })
}

/// The fit without one fold.
struct Fit<'a> {
    booster: Booster<'a>,
    /// The rows of the fold.
    held_out: Vec<u32>,
    /// The weights of the rows, with a mean of 1.
    weights: &'a [f64],
    /// Summed held-out loss after 0, 1, 2, … rounds.
    losses: Vec<f64>,
}

impl<'a> Fit<'a> {
    fn new(
        booster: Booster<'a>,
        held_out: Vec<u32>,
        weights: &'a [f64],
        problem: &impl Problem,
    ) -> Self {
        let mut fit = Self {
            booster,
            held_out,
            weights,
            losses: Vec::new(),
        };
        fit.losses.push(fit.loss(problem));
        fit
    }

    fn advance(
        &mut self,
        n_rounds: usize,
        problem: &impl Problem,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        for _ in 0..n_rounds {
            if stop() {
                return Err(Error::Stopped);
            }
            self.booster.round();
            self.losses.push(self.loss(problem));
        }
        Ok(())
    }

    fn loss(&self, problem: &impl Problem) -> f64 {
        let n = problem.width();
        let scores = self.booster.scores();
        let rows = self.held_out.iter().map(|r| *r as usize);
        let rows = rows.filter(|row| problem.is_labeled(*row));
        rows.map(|row| self.weights[row] * problem.loss(row, &scores[row * n..][..n]))
            .sum()
    }
}

/// Weights with a mean of 1 over the rows with a label, so that their unit does not matter.
fn normalized(problem: &impl Problem) -> Result<Vec<f64>, Error> {
    let weights = problem.weights();
    let used = weights.iter().enumerate();
    let used = used.filter(|(row, weight)| **weight > 0.0 && problem.is_labeled(*row));
    let (n, sum) = used.fold((0, 0.0), |(n, sum), (_, weight)| (n + 1, sum + weight));
    if n == 0 {
        return Err(Error::NoRows);
    }
    let mean = sum / f64::from(n);
    Ok(weights.iter().map(|w| w / mean).collect())
}

fn rows_where(n_rows: usize, is_wanted: impl Fn(usize) -> bool) -> Vec<u32> {
    let rows = (0..n_rows).filter(|r| is_wanted(*r));
    rows.map(|r| r as u32).collect()
}

/// Position of the smallest number; the first of equal ones.
fn smallest(numbers: &[f64]) -> usize {
    let mut best = 0;
    for (i, number) in numbers.iter().enumerate() {
        if *number < numbers[best] {
            best = i;
        }
    }
    best
}
