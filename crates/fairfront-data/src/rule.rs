//! Encodes a raw value of a feature column.

use std::collections::BTreeSet;

use fairfront_core::Unit;
use serde::{Deserialize, Serialize};

use crate::date::DateOrder;
use crate::spec::Merge;

/// The category of pooled rare categories.
pub const OTHER: &str = "(other)";
/// The category of missing values, if they are a category.
pub const MISSING_CATEGORY: &str = "(missing)";

/// How a numeric column becomes a feature: (value − shift) / factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NumericRule {
    /// The column.
    pub column: String,
    /// Subtracted from the value.
    pub shift: f64,
    /// The difference is divided by this.
    pub factor: f64,
    /// The mean of the training rows, used for missing values.
    pub mean: f64,
    /// Whether a second feature indicates that the value was missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub indicator: bool,
    /// The order in which dates are written, if the numbers are days since 1970-01-01.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<DateOrder>,
}

/// The largest absolute value of a numeric feature, as read and after scaling. Fourth powers of such
/// numbers, and sums of these, stay finite, so that solvers never get an infinite derivative.
pub const LARGEST_FEATURE: f64 = 1e50;

/// Describes a value that is too large for a feature; `None` if it is not.
pub(crate) fn too_large(value: f64, rule: Option<&NumericRule>) -> Option<String> {
    if value.abs() > LARGEST_FEATURE {
        return Some(format!(
            "{value:e} is too large for a feature, which must be within ±{LARGEST_FEATURE:e}; fix the \
             value, leave it empty if it is missing, or divide the column by a constant"
        ));
    }
    let encoded = rule?.encode(value);
    // Also true for NaN.
    let fits = encoded.abs() <= LARGEST_FEATURE;
    (!fits).then(|| {
        format!(
            "{value:e} is {encoded:e} after scaling, too large for a feature, which must be within \
             ±{LARGEST_FEATURE:e}; fix the value, leave it empty if it is missing, or drop the column"
        )
    })
}

/// Describes a number that is too large for a target, as read or as a label; `None` if it is not.
pub(crate) fn too_large_target(number: f64, unit: Option<&Unit>) -> Option<String> {
    let label = unit.map_or(number, |unit| unit.label(number));
    // Also true for NaN.
    let fits = number.abs() <= LARGEST_FEATURE && label.abs() <= LARGEST_FEATURE;
    (!fits).then(|| match number.abs() <= LARGEST_FEATURE {
        false => format!(
            "{number:e} is too large for a target, which must be within ±{LARGEST_FEATURE:e}; fix the \
             value, leave it empty if it is missing, or divide the column by a constant"
        ),
        true => format!(
            "{number:e} is {label:e} standard deviations from the mean of the training rows, too large for \
             a target, which must be within ±{LARGEST_FEATURE:e}; fix the value, or leave it empty if it is \
             missing"
        ),
    })
}

impl NumericRule {
    pub(crate) fn encode(&self, value: f64) -> f64 {
        let present = if value.is_nan() { self.mean } else { value };
        (present - self.shift) / self.factor
    }
}

/// How a categorical column becomes one indicator per category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoricalRule {
    /// The column.
    pub column: String,
    /// Categories in the order of their features: those it was fitted with (sorted, then `(other)`, then
    /// `(missing)`), then those added later ([`Encoding::grow`](crate::Encoding::grow)), in order of
    /// arrival. Only the parameters may rely on this order, which is also theirs.
    pub categories: Vec<String>,
    /// Categories that are pooled into `(other)` because they are rare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<String>,
    /// Raw categories that are merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
}

/// Spellings of truth values in different programs, because a column may come from several. Databases
/// without truth values write digits.
const TRUTH: [[&str; 4]; 2] = [
    ["true", "True", "TRUE", "1"],
    ["false", "False", "FALSE", "0"],
];

/// All spellings of the truth value that a string stands for; empty if it is not a truth value.
fn spellings(category: &str) -> &'static [&'static str] {
    let found = TRUTH.iter().find(|words| words.contains(&category));
    found.map_or(&[], |words| words)
}

/// The same without the digit, which is not a truth value by itself.
fn words(category: &str) -> &'static [&'static str] {
    let all = spellings(category);
    &all[..all.len().saturating_sub(1)]
}

impl CategoricalRule {
    pub(crate) fn position(&self, category: &str) -> Option<u32> {
        let found = self.categories.iter().position(|l| l == category);
        found.map(|i| i as u32)
    }

    /// Whether this raw category was seen in training.
    pub fn knows(&self, raw: &str) -> bool {
        self.encode(raw).is_some()
    }

    /// The position of a raw category. A category that was not seen in training is *other*.
    pub(crate) fn encode(&self, raw: &str) -> Option<u32> {
        let category = self.merge.as_ref().map_or(raw, |merge| merge.apply(raw));
        let spelled_otherwise = || words(category).iter().find_map(|other| self.merged(other));
        self.merged(category).or_else(spelled_otherwise)
    }

    fn merged(&self, category: &str) -> Option<u32> {
        match self.pooled.iter().any(|pooled| pooled == category) {
            true => self.position(OTHER),
            false => self.position(category),
        }
    }

    /// The position of the category of a raw value, which may be missing (`None`). Returns `None` if it has
    /// none and there is no *other*.
    pub fn category(&self, raw: Option<&str>) -> Option<u32> {
        let own = match raw {
            Some(raw) => self.encode(raw),
            None => self.position(MISSING_CATEGORY),
        };
        own.or_else(|| self.position(OTHER))
    }

    /// The same for every raw category that is not in [`CategoricalRule::named`].
    pub fn unnamed_category(&self) -> Option<u32> {
        let rest = self.merge.as_ref().and_then(|merge| merge.rest.as_ref());
        let own = rest.and_then(|rest| self.merged(rest));
        own.or_else(|| self.position(OTHER))
    }

    /// The raw categories that the rule lists. All others become the same category.
    pub fn named(&self) -> BTreeSet<&str> {
        let merged = self.merge.iter().flat_map(|merge| merge.categories.keys());
        let named = self.categories.iter().chain(&self.pooled).chain(merged);
        let mut all: BTreeSet<&str> = named.map(String::as_str).collect();
        let is_word = |category: &&&str| words(category).contains(category);
        let spelled = all
            .iter()
            .filter(is_word)
            .flat_map(|category| spellings(category));
        let spelled: Vec<&str> = spelled.copied().collect();
        all.extend(spelled);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_values_are_known_in_every_spelling() {
        let rule = |categories: [&str; 2]| CategoricalRule {
            column: "owner".into(),
            categories: categories.map(str::to_owned).to_vec(),
            pooled: Vec::new(),
            merge: None,
        };
        let truth = rule(["false", "true"]);
        for raw in ["True", "TRUE", "true", "1"] {
            assert_eq!(truth.encode(raw), Some(1), "{raw}");
            assert!(truth.named().contains(raw), "exports know it too");
        }
        assert_eq!(truth.encode("tRUE"), None);
        // Existing categories stand for themselves.
        assert_eq!(rule(["True", "true"]).encode("True"), Some(0));
        assert_eq!(rule(["no", "yes"]).encode("Yes"), None);
        // Digits are truth values only together with the words.
        assert_eq!(rule(["0", "1"]).encode("true"), None);
        assert_eq!(rule(["0", "true"]).encode("0"), Some(0));
        assert_eq!(rule(["0", "1"]).named().len(), 2);
    }
}
