//! The rows of a run with the decisions of its models and of the baseline.

use fairfront_core::{Dataset, Decisions, Points, RowSource, Schema, predictor_of, scores};
use fairfront_data::{Part, Prepared, RowFacts};
use rayon::prelude::*;

use super::baseline::Baseline;
use crate::{Error, Run};

/// The rows of one split, with the decisions of all models and of the baseline.
pub(super) struct Rows {
    pub(super) part: Part,
    pub(super) n: usize,
    pub(super) schema: Schema,
    pub(super) decisions: Decisions,
    /// The number of the baseline among the models of the decisions; the front's models have their own numbers.
    pub(super) baseline: usize,
    /// The rows themselves, encoded for the models of the run.
    data: Dataset,
    /// Scores of the baseline, if it has more than decisions.
    pub(super) scores: Option<Vec<f64>>,
}

impl Rows {
    /// The rows of a split.
    pub(super) fn of(
        run: &Run,
        prepared: &Prepared,
        baseline: &Baseline,
        part: Part,
    ) -> Result<Self, Error> {
        let positions: Vec<usize> = prepared
            .split
            .part(part)
            .iter()
            .map(|position| *position as usize)
            .collect();
        let rows: Vec<u32> = positions.iter().map(|p| prepared.rows[*p]).collect();
        let all = prepared.facts();
        let facts = RowFacts {
            labels: positions.iter().map(|p| all.labels[*p]).collect(),
            groups: all
                .groups
                .iter()
                .map(|codes| positions.iter().map(|p| codes[*p]).collect())
                .collect(),
            weights: positions.iter().map(|p| all.weights[*p]).collect(),
        };
        let encoder = run.encoding.encoder(&prepared.table)?;
        let data = encoder.encode(&rows, &facts)?;
        let n_params = run.info.unmitigated.params.len();
        let models = Points::from_vec(n_params, run.front.params.concat());
        let selected = rows.iter().map(|row| baseline.selected[*row as usize]);
        let margins: Vec<f64> = selected.map(|yes| if yes { 1.0 } else { -1.0 }).collect();
        let column = data.of_numeric(&["baseline".into()], &margins)?;
        // The score is the only feature, with coefficient 1 and intercept 0.
        let point = Points::from_vec(2, vec![1.0, 0.0]);
        let predictor = predictor_of(data.schema());
        let of_models = Decisions::paired(&*predictor, &[(&data, &models), (&column, &point)])?;
        let (decisions, firsts) =
            of_models.ok_or_else(|| Error::data("the rows of the baseline differ"))?;
        let scores = baseline.scores.as_ref();
        Ok(Self {
            part,
            n: rows.len(),
            schema: data.schema().clone(),
            decisions,
            baseline: firsts[1],
            data,
            scores: scores.map(|all| rows.iter().map(|row| all[*row as usize]).collect()),
        })
    }

    /// Labels, as booleans, and weights.
    pub(super) fn labels(&self) -> Result<(Vec<bool>, Vec<f64>), Error> {
        let (mut labels, mut weights) = (Vec::with_capacity(self.n), Vec::with_capacity(self.n));
        for index in 0..self.data.n_blocks() {
            let block = self.data.block(index)?;
            labels.extend(block.labels().iter().map(|label| *label > 0.0));
            weights.extend_from_slice(block.weights());
        }
        Ok((labels, weights))
    }

    /// The group codes of an attribute.
    pub(super) fn groups(&self, attribute: usize) -> Result<Vec<u32>, Error> {
        let mut codes = Vec::with_capacity(self.n);
        for index in 0..self.data.n_blocks() {
            codes.extend_from_slice(self.data.block(index)?.groups(attribute));
        }
        Ok(codes)
    }

    /// The scores of each model on the rows.
    pub(super) fn model_scores(&self, models: &[&[f64]]) -> Result<Vec<Vec<f64>>, Error> {
        let predictor = predictor_of(&self.schema);
        let all: Vec<Result<Vec<f64>, Error>> = models
            .par_iter()
            .map(|params| Ok(scores(&*predictor, &self.data, params)?))
            .collect();
        all.into_iter().collect()
    }
}
