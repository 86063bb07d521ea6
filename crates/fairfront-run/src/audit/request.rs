use std::path::PathBuf;

use fairfront_core::say;
use fairfront_data::{ReadOptions, Spec};
use fairfront_model::Model;

use super::LocalLawRequest;
use crate::Error;
use crate::setting::{CONFIDENCE, FORMAT, KEY, MIN_SHARE, SCORING, SELECTED, THRESHOLD};

/// The origin of decisions.
#[derive(Debug, Clone)]
pub enum AuditSource {
    /// A fairfront model, which decides on the rows.
    Model {
        /// The model.
        model: Box<Model>,
        /// The name of its file.
        name: String,
    },
    /// A column of scores or decisions.
    Column {
        /// The file with the column; `None` if it is a column of the rows.
        file: Option<PathBuf>,
        /// The column.
        column: String,
    },
}

/// An audit of decisions on rows in files.
#[derive(Debug, Clone)]
pub struct AuditRequest {
    /// The origin of decisions.
    pub source: AuditSource,
    /// The files with the rows.
    pub files: Vec<String>,
    /// Target, sensitive columns and weights. Those that are not set come from the model, if there is one.
    pub spec: Spec,
    /// How to read the files.
    pub reading: ReadOptions,
    /// A column of both files whose values identify rows; without it, rows are matched by position.
    pub key: Option<String>,
    /// Rows whose score is at least this are selected. For a model, it applies to probabilities.
    pub threshold: Option<f64>,
    /// The decisions that mean selected.
    pub selected: Vec<String>,
    /// Settings of the tables.
    pub options: AuditOptions,
}

/// Settings of the tables of an audit.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditOptions {
    /// Reference groups: attribute (`race`, `sex:race`) and group.
    pub references: Vec<(String, String)>,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Groups with a smaller share of the rows are listed, but not compared.
    pub min_share: f64,
    /// Whether rows with a score above the median are selected, instead of a threshold.
    pub scoring: bool,
    /// The tables of New York City's Local Law 144, if requested.
    pub local_law_144: Option<LocalLawRequest>,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self {
            references: Vec::new(),
            confidence: 0.95,
            min_share: 0.02,
            scoring: false,
            local_law_144: None,
        }
    }
}

impl AuditOptions {
    pub(super) fn check(&self) -> Result<(), Error> {
        // Also true for NaN.
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let found = self.confidence;
            return Err(Error::usage(say![
                CONFIDENCE.is(found),
                ": choose a number between 0 and 1, such as 0.95"
            ]));
        }
        if !(0.0..0.5).contains(&self.min_share) {
            let found = self.min_share;
            return Err(Error::usage(say![
                MIN_SHARE.is(found),
                ": choose a share from 0% to less than 50%, such as 2%"
            ]));
        }
        if self.scoring && self.local_law_144.is_none() {
            return Err(Error::usage(say![
                SCORING,
                " applies only to ",
                FORMAT.is("nyc-ll144"),
                "; remove it, or add the format"
            ]));
        }
        Ok(())
    }
}

impl AuditRequest {
    pub(super) fn check(&self) -> Result<(), Error> {
        self.options.check()?;
        let both = |a: fairfront_core::Name, b: fairfront_core::Name| {
            Err(Error::usage(say![
                a,
                " and ",
                b,
                " cannot be combined; remove one of them"
            ]))
        };
        if self.threshold.is_some() && !self.selected.is_empty() {
            return both(THRESHOLD, SELECTED);
        }
        if self.options.scoring && self.threshold.is_some() {
            return both(SCORING, THRESHOLD);
        }
        if self.options.scoring && !self.selected.is_empty() {
            return both(SCORING, SELECTED);
        }
        if let Some(threshold) = self.threshold.filter(|t| !t.is_finite()) {
            return Err(Error::usage(say![
                THRESHOLD.is(threshold),
                ": choose a finite number"
            ]));
        }
        if let AuditSource::Model { .. } = self.source {
            if !self.selected.is_empty() {
                return Err(Error::usage(say![
                    SELECTED,
                    " applies to a column of decisions, but a fairfront model decides by its score; remove it"
                ]));
            }
            if self.key.is_some() {
                return Err(Error::usage(say![
                    KEY,
                    " applies to a file of scores, but a fairfront model scores the rows themselves; remove it"
                ]));
            }
        }
        Ok(())
    }
}
