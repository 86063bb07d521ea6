//! The model that decides now: its decisions on the rows of a run.

use std::path::PathBuf;

use fairfront_core::{grouped, hex, say};
use fairfront_data::{Prepared, ReadOptions, file_name, read_table};
use fairfront_model::{Model, score_table};
use sha2::{Digest, Sha256};

use super::{BaselineInfo, LdaRequest, Performance, Tolerance};
use crate::Error;
use crate::setting::{BASELINE, BASELINE_THRESHOLD, BASELINE_UNSEEN};

/// Where the decisions of the baseline come from.
#[derive(Debug, Clone, PartialEq)]
pub enum BaselineSource {
    /// A fairfront model.
    Model(PathBuf),
    /// A column of a file that has one row per row of the table, in the same order.
    Column {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
}

/// The baseline, and what the user says about it.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineRequest {
    /// Where its decisions come from.
    pub source: BaselineSource,
    /// Rows with at least this score are selected; 0.5 for probabilities.
    pub threshold: Option<f64>,
    /// The user confirms that it was not trained on the rows that test it.
    pub unseen: bool,
}

/// The decisions of the baseline on the rows of a table.
pub(super) struct Baseline {
    name: String,
    kind: &'static str,
    threshold: Option<f64>,
    /// SHA-256 of the decisions on all rows.
    pub(super) sha256: String,
    agrees_in: Vec<String>,
    /// Whether each row of the table is selected.
    pub(super) selected: Vec<bool>,
    /// Scores, if they are not only decisions.
    pub(super) scores: Option<Vec<f64>>,
}

impl BaselineRequest {
    pub(super) fn read(
        &self,
        prepared: &Prepared,
        tolerance: Tolerance,
    ) -> Result<Baseline, Error> {
        if !self.unseen {
            return Err(Error::usage(say![
                "a baseline that was trained on the rows that test it looks better than it is";
                "pass ", BASELINE_UNSEEN, " if it was not trained on the validation, test and certify rows of the run"
            ]));
        }
        let found = match &self.source {
            BaselineSource::Model(path) => {
                let model = Model::read(path)?;
                let threshold = model.threshold.ok_or_else(|| {
                    Error::usage(say![
                        BASELINE, ": the model makes no binary decisions";
                        "choose a model with a binary target"
                    ])
                })?;
                if let Some(other) = self.threshold {
                    return Err(Error::usage(say![
                        BASELINE_THRESHOLD.is(other),
                        ": a fairfront model has its own threshold; remove it"
                    ]));
                }
                let params = model.params();
                let scores = score_table(&model.encoding, &params, &prepared.table)?;
                // Scores contain the intercept, so that the threshold applies to them as it is.
                Baseline::of_scores(
                    file_name(&path.to_string_lossy()),
                    "model",
                    scores,
                    threshold,
                )
            }
            BaselineSource::Column { file, column } => self.column(prepared, file, column)?,
        };
        if matches!(tolerance.of, Performance::Auc) && found.scores.is_none() {
            return Err(Error::usage(say![
                "the AUC of a baseline needs its scores, but the column has decisions";
                "choose a column with scores";
                "set a tolerance for the accuracy"
            ]));
        }
        Ok(found)
    }
}

impl BaselineRequest {
    /// A column of scores or decisions.
    fn column(&self, prepared: &Prepared, file: &str, column: &str) -> Result<Baseline, Error> {
        let table = read_table(&[file.to_owned()], &ReadOptions::default())?;
        let name = format!("{}:{column}", file_name(file));
        let values = table.require(column, BASELINE)?;
        if table.n_rows() != prepared.table.n_rows() {
            return Err(Error::data(say![
                format!(
                    "{} has {} rows, but {} has {}",
                    table.name,
                    grouped(table.n_rows()),
                    prepared.table.name,
                    grouped(prepared.table.n_rows())
                );
                "pass one score for each row of the table, in the same order"
            ]));
        }
        let numbers = values.numeric().ok_or_else(|| {
            Error::data(say![
                BASELINE.of(&name),
                ": not a column of numbers; choose another one"
            ])
        })?;
        let scores: Vec<f64> = numbers.iter().collect();
        match self.threshold {
            Some(threshold) => Ok(Baseline::of_scores(&name, "scores", scores, threshold)),
            None => Ok(Baseline::of_scores(&name, "decisions", scores, 0.5)),
        }
    }
}

impl Baseline {
    fn of_scores(name: &str, kind: &'static str, scores: Vec<f64>, threshold: f64) -> Self {
        let selected: Vec<bool> = scores.iter().map(|score| *score >= threshold).collect();
        let bytes: Vec<u8> = selected.iter().map(|yes| u8::from(*yes)).collect();
        Self {
            name: name.into(),
            kind,
            threshold: (kind != "decisions").then_some(threshold),
            sha256: hex(&Sha256::digest(&bytes)),
            agrees_in: Vec::new(),
            selected,
            scores: (kind != "decisions").then_some(scores),
        }
    }

    pub(super) fn info(&self, request: &LdaRequest) -> BaselineInfo {
        BaselineInfo {
            name: self.name.clone(),
            kind: self.kind.into(),
            threshold: self.threshold,
            sha256: self.sha256.clone(),
            agrees_in: self.agrees_in.clone(),
            confirmed_unseen: request.baseline.unseen,
        }
    }
}
