//! Audits of rows in memory.

use fairfront_core::UNKNOWN_GROUP;
use fairfront_run::{
    AuditAttribute, AuditOptions, AuditResult, AuditRows, AuditedRows, AuditedSource, MatchedBy,
    SourceKind, audit_page, audit_rows,
};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::wording::worded;
use crate::work;

/// Decisions with everything that they are compared by.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Rows {
    decisions: Vec<bool>,
    scores: Option<Vec<f64>>,
    labels: Option<Vec<Option<bool>>>,
    weights: Option<Vec<f64>>,
    /// Names, groups, and the position of the group of each row, or -1.
    attributes: Vec<(String, Vec<String>, Vec<i64>)>,
    /// The argument with the decisions, and the condition for being selected.
    column: String,
    condition: String,
    threshold: Option<f64>,
    /// The positive label, if there are labels.
    positive: Option<String>,
}

/// Settings of the tables.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    references: Vec<(String, String)>,
    confidence: f64,
    min_share: f64,
}

/// An audit.
#[pyclass(name = "Audited", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyAudited(AuditResult);

#[pymethods]
impl PyAudited {
    fn json(&self) -> PyResult<String> {
        let text = serde_json::to_string_pretty(&self.0);
        text.map_err(|e| Failure::Panic(e.to_string()).into())
    }

    fn html(&self, source: &str) -> String {
        audit_page(&self.0, source).to_html()
    }

    fn markdown(&self, source: &str) -> String {
        audit_page(&self.0, source).to_markdown()
    }
}

/// Audits decisions.
#[pyfunction]
pub(crate) fn audit(py: Python<'_>, rows: Rows, options: Options) -> PyResult<PyAudited> {
    work::outside(py, 1, move || {
        let rows = rows.read();
        let options = AuditOptions {
            references: options.references,
            confidence: options.confidence,
            min_share: options.min_share,
            ..AuditOptions::default()
        };
        let mut found = audit_rows(&rows, &options)?;
        found.diagnostics = worded(&found.diagnostics);
        Ok(PyAudited(found))
    })
}

impl Rows {
    fn read(self) -> AuditRows {
        let attribute = |(name, groups, codes): (String, Vec<String>, Vec<i64>)| AuditAttribute {
            name,
            groups,
            codes: codes
                .into_iter()
                .map(|code| u32::try_from(code).unwrap_or(UNKNOWN_GROUP))
                .collect(),
        };
        let without_target = self.labels.as_ref().map_or(0, |labels| {
            labels.iter().filter(|label| label.is_none()).count()
        });
        AuditRows {
            decisions_from: AuditedSource {
                kind: match self.threshold {
                    Some(_) => SourceKind::Scores,
                    None => SourceKind::Decisions,
                },
                file: None,
                column: Some(self.column),
                condition: self.condition,
                threshold: self.threshold,
                median: None,
            },
            table: AuditedRows {
                files: Vec::new(),
                rows: self.decisions.len(),
                matched_by: MatchedBy::SameRow,
                key: None,
                agreeing_columns: Vec::new(),
                without_target,
            },
            decisions: self.decisions,
            scores: self.scores,
            target: self.labels.as_ref().map(|_| "y_true".into()),
            positive: self.positive,
            labels: self.labels,
            weight: self.weights.as_ref().map(|_| "sample_weight".into()),
            weights: self.weights,
            attributes: self.attributes.into_iter().map(attribute).collect(),
            diagnostics: Vec::new(),
        }
    }
}
