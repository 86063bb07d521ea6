//! Records of tests and their results.

use std::fmt;

use fairfront_core::{Message, bracketed, grouped, readable, say};
use fairfront_data::Part;
use fairfront_model::{Checked, ModelId, Stated, TestKind};
use serde::{Deserialize, Serialize};

use crate::setting::CONFIDENCE;

/// The rows on which a requirement was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertifyingRows {
    /// `certify` or `test`.
    pub split: Part,
    /// Number of rows.
    pub count: u64,
    /// SHA-256 of their labels and weights.
    pub fingerprint: String,
}

/// A tested model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// Its id.
    pub model_id: ModelId,
    /// The p-value on the certifying rows.
    pub p_value: f64,
    /// The p-value on the rows that determine the order of tests.
    pub order_p_value: f64,
}

/// One use of the certifying rows: a set of requirements, tested on the models of a front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The requirements.
    pub requirements: Vec<String>,
    /// 1 − δ.
    pub confidence: f64,
    /// The test.
    pub test: TestKind,
    /// When the requirements were stated.
    pub stated: Stated,
    /// The column that, with p-values, determines the order of tests; absent for bands.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub order: Option<String>,
    /// The rows.
    pub rows: CertifyingRows,
    /// SHA-256 of the run's `front.parquet`.
    pub front_sha256: String,
    /// The number of this use of the rows, counted from 1.
    #[serde(rename = "use")]
    pub number: usize,
    /// The significance level of this use, δ/2^(use − 1).
    pub level: f64,
    /// Models in the order of tests, up to and including the first that failed.
    pub tested: Vec<Tested>,
    /// Models that meet all requirements, at this confidence for all models together.
    pub certified: Vec<ModelId>,
    /// Groups that are too small to be compared, such as `race=Other`. The requirements do not
    /// cover them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_covered: Vec<String>,
    /// Whether models were compared with a baseline ([`search`](crate::search)), which the run does not contain.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub against_baseline: bool,
}

/// The error if no model of a front can be certified.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Uncertified {
    /// The requirements.
    pub requirements: Vec<String>,
    /// The failed tests; absent if the rows do not allow a test.
    pub certificate: Option<Certificate>,
    /// Why the rows do not allow a test.
    pub reason: Option<Message>,
    /// The model that comes closest.
    pub closest: Option<Closest>,
}

/// The model that comes closest to a certificate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Closest {
    /// Its id.
    pub model_id: ModelId,
    /// Its p-value on the certifying rows.
    pub p_value: f64,
    /// The requirement that is hardest to certify for this model.
    pub checked: Checked,
    /// Number of certifying rows that would certify it in four of five samples; absent if its
    /// estimate does not meet the limit.
    pub rows_needed: Option<u64>,
}

impl fmt::Display for Uncertified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

impl Uncertified {
    /// Why no model is certified, and the remedies.
    pub fn message(&self) -> Message {
        let all = self.requirements.join(" and ");
        let Some(certificate) = &self.certificate else {
            let reason = self.reason.clone();
            let reason = reason.unwrap_or_else(|| "the front has no models".into());
            return say!["no model can be certified for {all}: ", reason];
        };
        let rows = &certificate.rows;
        let mut message = Message::from(format!(
            "no model is certified for {all} on {} {} rows",
            grouped(rows.count as usize),
            rows.split.name()
        ));
        let Some(closest) = &self.closest else {
            return message;
        };
        let Checked {
            requirement,
            estimate,
            ..
        } = &closest.checked;
        let estimate = estimate.map_or_else(|| "-".into(), readable);
        message.push(format!(
            "; model {} comes closest: its estimate is {estimate}",
            closest.model_id
        ));
        if self.requirements.len() > 1 {
            message.push(format!(" for {requirement}"));
        }
        message.push(format!(
            ", p = {} (significance level {})",
            readable(closest.p_value),
            readable(certificate.level)
        ));
        message.push(match closest.rows_needed {
            Some(rows) => format!(
                ", and certifying it would take about {} certifying rows",
                grouped(rows as usize)
            ),
            None => ", so more rows would not help".into(),
        });
        let without = say!["choose without a test", bracketed(CONFIDENCE.is("none"))];
        match closest.rows_needed {
            Some(_) => say![message; "relax the limit"; "collect more rows"; without],
            None => say![message; "relax the limit"; without],
        }
    }
}
