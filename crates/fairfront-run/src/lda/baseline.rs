//! The model that decides now: its decisions on the rows of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fairfront_core::{hex, say};
use fairfront_data::{ColumnType, Prepared, ReadOptions, Table, file_name};
use fairfront_model::{Model, score_table};
use sha2::{Digest, Sha256};

use super::{BaselineInfo, LdaRequest, Performance, Tolerance};
use crate::Error;
use crate::audit::{AuditSource, by_position, cell, decisions, of_column_named, with_identifiers};
use crate::setting::{BASELINE, BASELINE_SELECTED, BASELINE_THRESHOLD, BASELINE_UNSEEN};

/// The baseline, and the statements of the user about it.
#[derive(Debug, Clone)]
pub struct BaselineRequest {
    /// The source of its decisions.
    pub source: AuditSource,
    /// Rows with at least this score are selected; `None` for decisions.
    pub threshold: Option<f64>,
    /// The decisions that mean selected, if the column has decisions.
    pub selected: Vec<String>,
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

/// The tables that have the column of a baseline and columns to match rows by.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The file with the column, if it is not a column of the run's table.
    of_scores: Option<Table>,
    /// Columns of the run's table, if its files can be read again.
    own: Option<Table>,
}

impl BaselineRequest {
    /// The tables with the column of the baseline. `again` reads columns of the run's table, with types for
    /// some; it returns `None` if the prepared table has them all.
    pub(super) fn columns(
        &self,
        again: impl Fn(BTreeSet<String>, BTreeMap<String, ColumnType>) -> Result<Option<Table>, Error>,
    ) -> Result<Columns, Error> {
        if !self.unseen {
            return Err(Error::usage(say![
                "a baseline that was trained on the rows that test it looks better than it is";
                "pass ", BASELINE_UNSEEN, " if it was not trained on the validation, test and certify rows of the run"
            ]));
        }
        let AuditSource::Column { file, column } = &self.source else {
            return Ok(Columns::default());
        };
        let Some(file) = file else {
            let own = again([column.clone()].into(), BTreeMap::new())?;
            return Ok(Columns {
                of_scores: None,
                own,
            });
        };
        let mut options = ReadOptions {
            keep: [column.clone()].into(),
            ..ReadOptions::default()
        };
        let of_scores = with_identifiers(&file.display().to_string(), &mut options)?;
        of_scores.require(column, BASELINE)?;
        // Columns of both files show whether their rows match, also those that are not features.
        let shared = of_scores.columns().iter().map(|own| own.name.clone());
        let own = again(shared.collect(), options.types)?;
        Ok(Columns {
            of_scores: Some(of_scores),
            own,
        })
    }

    /// The decisions on all rows of the run's table. `columns` is the result of [`Self::columns`].
    pub(super) fn read(
        &self,
        prepared: &Prepared,
        columns: Columns,
        tolerance: Tolerance,
    ) -> Result<Baseline, Error> {
        let found = match &self.source {
            AuditSource::Model { model, name } => self.model(prepared, model, name)?,
            AuditSource::Column { file, column } => {
                self.column(prepared, columns, file.as_deref(), column)?
            }
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
    /// A fairfront model.
    fn model(&self, prepared: &Prepared, model: &Model, name: &str) -> Result<Baseline, Error> {
        let threshold = model.threshold.ok_or_else(|| {
            Error::usage(say![
                BASELINE, ": the model makes no binary decisions";
                "choose a model with a binary target"
            ])
        })?;
        if self.threshold.is_some() || !self.selected.is_empty() {
            let setting = match self.threshold {
                Some(_) => BASELINE_THRESHOLD,
                None => BASELINE_SELECTED,
            };
            return Err(Error::usage(say![
                setting,
                " applies to a column, but a fairfront model decides by its own threshold; remove it"
            ]));
        }
        let scores = score_table(&model.encoding, &model.params(), &prepared.table)?;
        let selected = scores.iter().map(|score| *score >= threshold).collect();
        let found = Baseline {
            name: file_name(name).into(),
            kind: "model",
            threshold: Some(threshold),
            agrees_in: Vec::new(),
            scores: Some(scores),
            sha256: String::new(),
            selected,
        };
        Ok(found.sealed())
    }

    /// A column of scores or decisions, in a file or in the table itself.
    fn column(
        &self,
        prepared: &Prepared,
        Columns { of_scores, own }: Columns,
        file: Option<&Path>,
        column: &str,
    ) -> Result<Baseline, Error> {
        let own = own.unwrap_or_else(|| prepared.table.clone());
        let (table, agrees_in, name) = match (of_scores, file) {
            (Some(of_scores), Some(file)) => {
                let file = file.display().to_string();
                let matched = by_position(own, of_scores, column, None)?;
                let name = format!("{}:{column}", file_name(&file));
                (matched.of_scores, matched.agreeing, name)
            }
            _ => (own, Vec::new(), column.to_owned()),
        };
        let values = table.require(column, BASELINE)?;
        let Some(threshold) = self.threshold else {
            let (codes, flags, _) = decisions(
                &table,
                values,
                &self.selected,
                [BASELINE_THRESHOLD, BASELINE_SELECTED],
            )?;
            let mut selected = Vec::with_capacity(codes.len());
            for (row, code) in codes.iter().enumerate() {
                let flag = flags.get(*code as usize).ok_or_else(|| {
                    let problem = "the decision is missing; add it, or remove the row";
                    cell(&table, row, column, problem)
                })?;
                selected.push(*flag);
            }
            let found = Baseline {
                name,
                kind: "decisions",
                threshold: None,
                agrees_in,
                scores: None,
                sha256: String::new(),
                selected,
            };
            return Ok(found.sealed());
        };
        if !self.selected.is_empty() || !threshold.is_finite() {
            return Err(Error::usage(say![
                BASELINE_THRESHOLD.is(threshold),
                ": choose a finite number, and remove ",
                BASELINE_SELECTED,
                ", which applies to decisions"
            ]));
        }
        let numbers = values.numeric().ok_or_else(|| {
            let problem = "scores must be numbers; choose another column";
            of_column_named(&table, column, problem)
        })?;
        let scores: Vec<f64> = numbers.iter().collect();
        if let Some(row) = scores.iter().position(|score| !score.is_finite()) {
            let problem = "the score is missing; add it, or remove the row";
            return Err(cell(&table, row, column, problem));
        }
        let selected = scores.iter().map(|score| *score >= threshold).collect();
        let found = Baseline {
            name,
            kind: "scores",
            threshold: Some(threshold),
            agrees_in,
            scores: Some(scores),
            sha256: String::new(),
            selected,
        };
        Ok(found.sealed())
    }
}

impl Baseline {
    /// Adds the checksum of the decisions.
    fn sealed(mut self) -> Self {
        let bytes: Vec<u8> = self.selected.iter().map(|yes| u8::from(*yes)).collect();
        self.sha256 = hex(&Sha256::digest(&bytes));
        self
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
