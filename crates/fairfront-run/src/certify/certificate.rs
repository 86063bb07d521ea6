//! What was tested, and what came of it.

use std::fmt;

use fairfront_core::{Message, bracketed, say};
use fairfront_data::Part;
use serde::{Deserialize, Serialize};

use crate::select::readable;
use crate::setting::CONFIDENCE;

/// Which test decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestKind {
    /// Farrington and Manning's score tests, in a fixed order.
    Score,
    /// Finite-sample tests, in a fixed order.
    Exact,
    /// The ends of a band that holds for all models at once.
    Band,
}

/// When a requirement was stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stated {
    /// Before anything about the certifying rows was shown.
    Before,
    /// After measures on the certifying rows were shown.
    AfterLooking,
}

/// The rows that a requirement was tested on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertifyingRows {
    /// `certify` or `test`.
    pub split: Part,
    /// How many.
    pub count: u64,
    /// SHA-256 of their labels and weights.
    pub fingerprint: String,
}

/// A model in the order of tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// Its id.
    pub model: usize,
    /// The p-value on the certifying rows.
    pub p_value: f64,
    /// The p-value on the rows that order models.
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
    /// The column that orders models together with p-values; absent for bands.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub order: Option<String>,
    /// The rows.
    pub rows: CertifyingRows,
    /// SHA-256 of the run's `front.parquet`.
    pub front_sha256: String,
    /// Which use of these rows this is, from 1.
    #[serde(rename = "use")]
    pub number: usize,
    /// The level of this use, δ/2^(use − 1).
    pub level: f64,
    /// Models in the order of tests, up to the first that failed.
    pub tested: Vec<Tested>,
    /// Models that keep all requirements, at this confidence for all of them together.
    pub certified: Vec<usize>,
    /// Groups that are too small to be compared, as in `race=Other`: the requirements say nothing about
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_covered: Vec<String>,
}

/// Whether a model keeps its requirements on new people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The test passed.
    Certified,
    /// The test did not pass, or there was none.
    NotCertified,
    /// The whole band is on the wrong side of the limit.
    Violated,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certified => "certified",
            Self::NotCertified => "not certified",
            Self::Violated => "violated",
        })
    }
}

/// People behind a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupSize {
    /// `sex=Female`; absent for all rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<String>,
    /// Rows that count, by weight.
    pub rows: f64,
    /// The rate among them.
    pub rate: Option<f64>,
}

/// One requirement at one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The requirement.
    pub requirement: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The measure on the rows that decided.
    pub estimate: Option<f64>,
    /// The ends of the band that holds for all models at once; absent without certifying rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub band: Option<[f64; 2]>,
    /// The people behind it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub groups: Vec<GroupSize>,
    /// Groups that are too small to be compared, as in `race=Other`: the requirement says nothing about
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_covered: Vec<String>,
}

/// The certificate that travels with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCertificate {
    /// The verdict on all requirements together.
    pub verdict: Verdict,
    /// Each requirement.
    pub requirements: Vec<Checked>,
    /// The rows that decided: certifying rows, or those of a choice without a test.
    pub split: Part,
    /// How many they are.
    pub rows: u64,
    /// The certificate's confidence; absent if nothing was tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confidence: Option<f64>,
    /// The level that was spent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub level: Option<f64>,
    /// Which use of the rows it was.
    #[serde(rename = "use", skip_serializing_if = "Option::is_none", default)]
    pub number: Option<usize>,
    /// The test.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub test: Option<TestKind>,
    /// When the requirements were stated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stated: Option<Stated>,
    /// SHA-256 of labels and weights of the certifying rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fingerprint: Option<String>,
}

impl ModelCertificate {
    /// What the certificate covers, and what it does not, in sentences.
    pub fn words(&self) -> Vec<String> {
        let rows = match self.split {
            Part::Train => "training",
            other => other.name(),
        };
        let mut words: Vec<String> = self.requirements.iter().map(Checked::words).collect();
        let mut not_covered: Vec<&str> = Vec::new();
        for group in self.requirements.iter().flat_map(|c| &c.not_covered) {
            if !not_covered.contains(&group.as_str()) {
                not_covered.push(group);
            }
        }
        if !not_covered.is_empty() {
            words.push(format!(
                "Not covered, because the groups have too few training rows: {}.",
                not_covered.join(", ")
            ));
        }
        let (Some(confidence), Some(level), Some(number)) =
            (self.confidence, self.level, self.number)
        else {
            words.push(format!(
                "Nothing was tested: the requirement was checked on {rows} rows, which chose the \
                 model, so new people may well break it."
            ));
            return words;
        };
        let how = match self.test {
            Some(TestKind::Exact) => "finite-sample tests",
            Some(TestKind::Band) => "the simultaneous band",
            _ => "score tests",
        };
        words.push(format!(
            "Tested by {how} on {} {rows} rows at {}% confidence (use {number} of these rows, level \
             {}).",
            fairfront_core::grouped(self.rows as usize),
            readable(100.0 * confidence),
            readable(level)
        ));
        if self.stated == Some(Stated::AfterLooking) {
            words.push(
                "The requirement was stated after looking at these rows, so the band of all models \
                 has to keep the limit, not the estimate alone."
                    .into(),
            );
        }
        if number > 1 {
            words.push(format!(
                "All uses of these rows together are wrong with a probability of at most {}.",
                readable(2.0 * (1.0 - confidence))
            ));
        }
        words.push("Refitting until a model passes is not covered.".into());
        words
    }
}

impl Checked {
    /// `certified <= 0.05; estimate 0.041, upper end of the simultaneous band 0.053`
    fn words(&self) -> String {
        let value = |v: f64| readable((v * 1e4).round() / 1e4);
        let estimate = self.estimate.map_or_else(
            || "no estimate".into(),
            |v| format!("estimate {}", value(v)),
        );
        let at_most = self.requirement.contains('<');
        let end = self.band.map(|[low, high]| match at_most {
            true => format!(", upper end of the simultaneous band {}", value(high)),
            false => format!(", lower end of the simultaneous band {}", value(low)),
        });
        format!(
            "{}: {}; {estimate}{}",
            self.verdict,
            self.requirement,
            end.unwrap_or_default()
        )
    }
}

/// No model of a front can be certified.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Uncertified {
    /// The requirements.
    pub requirements: Vec<String>,
    /// What was tested; absent if the rows cannot decide.
    pub certificate: Option<Certificate>,
    /// Why the rows cannot decide.
    pub reason: Option<Message>,
    /// The model that comes closest.
    pub closest: Option<Closest>,
}

/// The model that comes closest to a certificate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Closest {
    /// Its id.
    pub model: usize,
    /// Its p-value on the certifying rows.
    pub p_value: f64,
    /// The requirement that decides, at this model.
    pub checked: Checked,
    /// Certifying rows that would certify it in four of five samples; absent if its estimate does not
    /// keep the limit.
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
            let reason = reason.unwrap_or_else(|| "there is no model".into());
            return say!["no model can be certified for {all}: ", reason];
        };
        let rows = &certificate.rows;
        let mut message = Message::from(format!(
            "no model is certified for {all} on {} {} rows",
            fairfront_core::grouped(rows.count as usize),
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
            closest.model
        ));
        if self.requirements.len() > 1 {
            message.push(format!(" for {requirement}"));
        }
        message.push(format!(
            ", p = {} (level {})",
            readable(closest.p_value),
            readable(certificate.level)
        ));
        message.push(match closest.rows_needed {
            Some(rows) => format!(
                ", and about {} certifying rows would be needed for it",
                fairfront_core::grouped(rows as usize)
            ),
            None => ", so more rows would not help it".into(),
        });
        say![
            message;
            "relax the limit";
            "collect more rows";
            "choose without a test", bracketed(CONFIDENCE.is("none"))
        ]
    }
}
