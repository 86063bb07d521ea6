//! The certificate that travels with a model.

use std::fmt;

use fairfront_core::{grouped, readable};
use fairfront_data::Part;
use serde::{Deserialize, Serialize};

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
            grouped(self.rows as usize),
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
