//! What becomes of a raw value of a feature column.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::date::DateOrder;
use crate::spec::Merge;

/// The level of pooled rare categories.
pub const OTHER: &str = "(other)";
/// The level of missing values, where they are a category.
pub const MISSING_LEVEL: &str = "(missing)";

/// How a numeric column becomes a feature: (value − shift) / factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NumericRule {
    /// The column.
    pub column: String,
    /// Taken from the value.
    pub shift: f64,
    /// The rest is divided by this.
    pub factor: f64,
    /// The mean of the training rows: what stands in for a missing value.
    pub mean: f64,
    /// Whether a second feature says that the value was missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub indicator: bool,
    /// How dates are written, where the numbers are days since 1970-01-01.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<DateOrder>,
}

/// The largest size of a numeric feature, as read and after scaling. Fourth powers of such numbers and
/// sums of these stay finite, so that no solver meets an infinite derivative.
pub const LARGEST_FEATURE: f64 = 1e50;

/// Describes a value that is too large for a feature; `None` if it is not.
pub(crate) fn too_large(value: f64, rule: Option<&NumericRule>) -> Option<String> {
    if value.abs() > LARGEST_FEATURE {
        return Some(format!(
            "{value:e} is too large for a feature, which must lie within ±{LARGEST_FEATURE:e}; fix the \
             value, leave it empty if it is missing, or divide the column"
        ));
    }
    let encoded = rule?.encode(value);
    // Also true for NaN.
    let fits = encoded.abs() <= LARGEST_FEATURE;
    (!fits).then(|| {
        format!(
            "{value:e} is {encoded:e} after scaling, too large for a feature, which must lie within \
             ±{LARGEST_FEATURE:e}; fix the value, leave it empty if it is missing, or drop the column"
        )
    })
}

impl NumericRule {
    pub(crate) fn encode(&self, value: f64) -> f64 {
        let present = if value.is_nan() { self.mean } else { value };
        (present - self.shift) / self.factor
    }
}

/// How a categorical column becomes one indicator a level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoricalRule {
    /// The column.
    pub column: String,
    /// Levels in the order of their features: those it was fitted with (sorted, then `(other)`, then
    /// `(missing)`), then those it has learned since ([`Encoding::grow`](crate::Encoding::grow)), in
    /// order of arrival. Nothing may rely on the order but the parameters, which have the same.
    pub levels: Vec<String>,
    /// Levels that are pooled into `(other)` because they are rare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<String>,
    /// Raw levels that are one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
}

/// Truth values as programs write them, a column may come from several; databases without any write digits.
const TRUTH: [[&str; 4]; 2] = [
    ["true", "True", "TRUE", "1"],
    ["false", "False", "FALSE", "0"],
];

/// The ways to write the truth value that a text may stand for; none of any other text.
fn spellings(level: &str) -> &'static [&'static str] {
    let found = TRUTH.iter().find(|words| words.contains(&level));
    found.map_or(&[], |words| words)
}

/// The same without the digit, which alone is no truth value.
fn words(level: &str) -> &'static [&'static str] {
    let all = spellings(level);
    &all[..all.len().saturating_sub(1)]
}

impl CategoricalRule {
    pub(crate) fn position(&self, level: &str) -> Option<u32> {
        let found = self.levels.iter().position(|l| l == level);
        found.map(|i| i as u32)
    }

    /// Whether this raw level was seen in training.
    pub fn knows(&self, raw: &str) -> bool {
        self.encode(raw).is_some()
    }

    /// The position of a raw level; one that was not seen in training is *other*.
    pub(crate) fn encode(&self, raw: &str) -> Option<u32> {
        let level = self.merge.as_ref().map_or(raw, |merge| merge.apply(raw));
        let spelled_otherwise = || words(level).iter().find_map(|other| self.merged(other));
        self.merged(level).or_else(spelled_otherwise)
    }

    fn merged(&self, level: &str) -> Option<u32> {
        match self.pooled.iter().any(|pooled| pooled == level) {
            true => self.position(OTHER),
            false => self.position(level),
        }
    }

    /// The position of the level that a raw value becomes, be it missing (`None`); nothing where it has
    /// none and there is no *other*.
    pub fn level(&self, raw: Option<&str>) -> Option<u32> {
        let own = match raw {
            Some(raw) => self.encode(raw),
            None => self.position(MISSING_LEVEL),
        };
        own.or_else(|| self.position(OTHER))
    }

    /// The same for every raw level that is not among [`CategoricalRule::named`].
    pub fn unnamed_level(&self) -> Option<u32> {
        let rest = self.merge.as_ref().and_then(|merge| merge.rest.as_ref());
        let own = rest.and_then(|rest| self.merged(rest));
        own.or_else(|| self.position(OTHER))
    }

    /// The raw levels that the rule says something about; all others become one and the same.
    pub fn named(&self) -> BTreeSet<&str> {
        let merged = self.merge.iter().flat_map(|merge| merge.levels.keys());
        let named = self.levels.iter().chain(&self.pooled).chain(merged);
        let mut all: BTreeSet<&str> = named.map(String::as_str).collect();
        let is_word = |level: &&&str| words(level).contains(level);
        let spelled = all
            .iter()
            .filter(is_word)
            .flat_map(|level| spellings(level));
        let spelled: Vec<&str> = spelled.copied().collect();
        all.extend(spelled);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_values_are_known_however_they_are_spelled() {
        let rule = |levels: [&str; 2]| CategoricalRule {
            column: "owner".into(),
            levels: levels.map(str::to_owned).to_vec(),
            pooled: Vec::new(),
            merge: None,
        };
        let truth = rule(["false", "true"]);
        for raw in ["True", "TRUE", "true", "1"] {
            assert_eq!(truth.encode(raw), Some(1), "{raw}");
            assert!(truth.named().contains(raw), "exports know it too");
        }
        assert_eq!(truth.encode("tRUE"), None);
        // Levels that are there mean themselves.
        assert_eq!(rule(["True", "true"]).encode("True"), Some(0));
        assert_eq!(rule(["no", "yes"]).encode("Yes"), None);
        // Digits are truth values only where the words are.
        assert_eq!(rule(["0", "1"]).encode("true"), None);
        assert_eq!(rule(["0", "true"]).encode("0"), Some(0));
        assert_eq!(rule(["0", "1"]).named().len(), 2);
    }
}
