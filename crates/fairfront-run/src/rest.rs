//! The work that a fit still does after a stop, and the work that it leaves out.

use std::collections::BTreeSet;

use fairfront_core::{Points, Problem};
use fairfront_data::Diagnostic;
use fairfront_pareto::{Values, ranges, select_spread};
use fairfront_solve::{Remainder, StopSignal};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Work that a stopped fit left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// Choosing the penalty by cross-validation: it is 1 over the total weight of the rows instead.
    CrossValidation,
    /// Fitting the unmitigated model by its log loss: the candidate with the lowest loss takes its
    /// place.
    UnmitigatedModel,
    /// Judging all candidates: a selection of them was judged.
    Candidates,
    /// Moving thresholds.
    Thresholds,
    /// Calibrating probabilities: slopes are 1 and intercepts 0.
    Calibration,
    /// Proving how close models are to optimal.
    OptimalityProofs,
    /// Redrawing rows for intervals: bands are Bonferroni's, and changes have no interval.
    Redraws,
}

impl LeftOut {
    fn name(self) -> &'static str {
        match self {
            Self::CrossValidation => "the cross-validation of the penalty",
            Self::UnmitigatedModel => "the fit of the unmitigated model",
            Self::Candidates => "most candidates",
            Self::Thresholds => "moving thresholds",
            Self::Calibration => "the calibration of probabilities",
            Self::OptimalityProofs => "the optimality proofs",
            Self::Redraws => "the redraws for intervals",
        }
    }
}

/// Bounds the work after a stop, and records the work that is left out.
#[derive(Debug)]
pub(crate) struct Rest {
    pub(crate) remainder: Remainder,
    left_out: BTreeSet<LeftOut>,
}

impl Rest {
    pub(crate) fn new(problem: &dyn Problem, stop: StopSignal) -> Self {
        Self {
            remainder: Remainder::new(problem, stop),
            left_out: BTreeSet::new(),
        }
    }

    pub(crate) fn leave_out(&mut self, work: LeftOut) {
        self.left_out.insert(work);
    }

    /// Whether to leave out this work on `models` models; records it if so.
    pub(crate) fn leaves_out(&mut self, work: LeftOut, models: usize) -> bool {
        let out = self.remainder.leaves_out(models);
        if out {
            self.leave_out(work);
        }
        out
    }

    /// After a stop, at most this many of these models, well spread by their values; `None` if all
    /// are kept.
    pub(crate) fn selection(
        &mut self,
        values: &[f64],
        n_objectives: usize,
        most: usize,
    ) -> Result<Option<Vec<usize>>, Error> {
        let values = Values::new(values, n_objectives)?;
        if values.len() <= most || !self.remainder.is_stopped() {
            return Ok(None);
        }
        self.leave_out(LeftOut::Candidates);
        Ok(Some(select_spread(values, most, &ranges(values, None))))
    }

    /// Does work on some models at a time; `None` if a stop came and there are too many models.
    pub(crate) fn in_chunks<T>(
        &self,
        points: &Points,
        mut work: impl FnMut(&Points) -> Result<Vec<T>, Error>,
    ) -> Result<Option<Vec<T>>, Error> {
        let numbers: Vec<usize> = (0..points.len()).collect();
        let mut all = Vec::new();
        for some in numbers.chunks(self.remainder.chunk()) {
            if self.remainder.is_too_much(points.len()) {
                return Ok(None);
            }
            all.extend(work(&points.select(some))?);
        }
        Ok(Some(all))
    }

    pub(crate) fn all(&self) -> Vec<LeftOut> {
        self.left_out.iter().copied().collect()
    }

    /// The warning about the work that is left out.
    pub(crate) fn diagnostic(&self) -> Option<Diagnostic> {
        let names: Vec<&str> = self.left_out.iter().map(|work| work.name()).collect();
        (!names.is_empty()).then(|| {
            Diagnostic::warning(format!(
                "the fit was stopped and left out: {}; allow more time for a complete run",
                names.join(", ")
            ))
        })
    }
}
