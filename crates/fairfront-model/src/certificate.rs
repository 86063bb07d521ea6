//! The certificate that is stored with a model.

use std::fmt;

use fairfront_core::{grouped, readable};
use fairfront_data::Part;
use serde::{Deserialize, Serialize};

/// The kind of test that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestKind {
    /// Farrington and Manning's score tests, in a fixed order.
    Score,
    /// Welch's t tests of means, in a fixed order.
    Welch,
    /// Finite-sample tests, in a fixed order.
    Exact,
    /// Finite-sample tests of means, in a fixed order: empirical Bernstein bounds of values that are capped
    /// to the range of the training targets.
    Bernstein,
    /// The ends of a band that holds for all models simultaneously.
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

/// Whether a model meets its requirements on new people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The test passed.
    Certified,
    /// The test did not pass, or no test was run.
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

/// The number of people that a rate is based on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupSize {
    /// `sex=Female`; absent for all rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<String>,
    /// The rate, if the target has classes: `selection_rate[low]`, `recall[low]`, or `decisions[low>mid]` for
    /// the share of the rows of a class that are decided for another class (or at least as high as it).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measure: Option<String>,
    /// Rows that count, by weight.
    pub rows: f64,
    /// The rate among them, or the mean of predicted numbers.
    pub rate: Option<f64>,
}

/// The result for one requirement of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The requirement.
    pub requirement: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The measure on the rows that decided.
    pub estimate: Option<f64>,
    /// The ends of the band that holds for all models simultaneously; absent without certifying rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub band: Option<[f64; 2]>,
    /// Whether the values are means of predicted numbers, not rates.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_number: bool,
    /// The groups that the measure is based on.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub groups: Vec<GroupSize>,
    /// Groups that are too small to compare, as in `race=Other`; the requirement does not cover them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_covered: Vec<String>,
}

/// The certificate that is stored with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCertificate {
    /// The verdict on all requirements together.
    pub verdict: Verdict,
    /// The result for each requirement.
    pub requirements: Vec<Checked>,
    /// The rows that decided: certifying rows, or the rows of a choice without a test.
    pub split: Part,
    /// Number of these rows.
    pub rows: u64,
    /// The confidence of the certificate; absent if nothing was tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confidence: Option<f64>,
    /// The significance level that was used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub level: Option<f64>,
    /// The ordinal number of this use of the rows.
    #[serde(rename = "use", skip_serializing_if = "Option::is_none", default)]
    pub number: Option<usize>,
    /// The test.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub test: Option<TestKind>,
    /// When the requirements were stated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stated: Option<Stated>,
    /// SHA-256 of the labels and weights of the certifying rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fingerprint: Option<String>,
}

impl TestKind {
    /// Whether the tests are valid for any number of rows.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Exact | Self::Bernstein)
    }
}

impl ModelCertificate {
    /// Sentences about what the certificate covers and what it does not cover.
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
                "Nothing was tested: the requirement was checked on {rows} rows, which also chose the \
                 model, so it may not hold for new people."
            ));
            return words;
        };
        let how = match self.test {
            Some(TestKind::Exact) => "finite-sample tests",
            Some(TestKind::Bernstein) => "finite-sample tests (empirical Bernstein bounds)",
            Some(TestKind::Welch) => "Welch's t tests",
            Some(TestKind::Band) => "the simultaneous band",
            _ => "score tests",
        };
        words.push(format!(
            "Tested by {how} on {} {rows} rows at {}% confidence (use {number} of these rows, \
             significance level {}).",
            grouped(self.rows as usize),
            readable(100.0 * confidence),
            readable(level)
        ));
        if self.test == Some(TestKind::Bernstein) {
            words.push(
                "The tests cap targets and predictions to the range of the training targets, so errors \
                 beyond it do not count in full."
                    .into(),
            );
        }
        if self.stated == Some(Stated::AfterLooking) {
            words.push(
                "The requirement was stated after looking at these rows, so the simultaneous band must \
                 meet the limit, not only the estimate."
                    .into(),
            );
        }
        if number > 1 {
            words.push(format!(
                "The probability that any of the uses of these rows is wrong is at most {}.",
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
