//! The family of a model: linear in the columns or in the probabilities of learners, or a network.

use std::fmt;

use fairfront_data::Encoded;
use fairfront_learn::BoostSettings;
use serde::{Deserialize, Serialize};

/// The family of a model: how its score depends on the columns.
///
/// ```
/// use fairfront_run::Family;
/// assert_eq!(Family::parse("trees"), Some(Family::Trees));
/// assert_eq!(Family::Trees.name(), "trees");
/// assert_eq!(Family::default(), Family::Linear);
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// A weighted sum of the encoded columns.
    #[default]
    Linear,
    /// A combination of probabilities that boosted trees estimate.
    Trees,
    /// A combination of probabilities, of which a column of the table holds one.
    Score,
    /// A combination of probabilities of an estimator that the user passed.
    Estimator,
    /// A neural network.
    Network,
}

impl Family {
    /// All families, in the order of legends.
    pub const ALL: [Self; 5] = [
        Self::Linear,
        Self::Trees,
        Self::Score,
        Self::Estimator,
        Self::Network,
    ];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Trees => "trees",
            Self::Score => "score",
            Self::Estimator => "estimator",
            Self::Network => "network",
        }
    }

    /// The family with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }

    /// Whether models are linear in the columns.
    pub fn is_linear(&self) -> bool {
        *self == Self::Linear
    }

    /// The models of this family in legends, such as `linear models`.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Linear => "linear models",
            Self::Trees => "models from boosted trees",
            Self::Score => "models from a score column",
            Self::Estimator => "models from an estimator",
            Self::Network => "neural networks",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The families of models that a fit considers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FamilyRequest {
    /// The name.
    pub family: FamilyName,
    /// Settings of boosted trees.
    #[serde(default)]
    pub trees: BoostSettings,
    /// Number of hidden units of networks; 0 for other families.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hidden: u32,
    /// Keys the folds of learners.
    #[serde(default)]
    pub seed: u64,
    /// Probabilities that columns hold, instead of learners of fairfront.
    #[serde(default, skip_serializing_if = "Brought::is_empty")]
    pub brought: Brought,
    /// Columns that learners do not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Whether to show thresholds by group next to the front.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_group: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Columns with out-of-fold probabilities that other models produced.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Brought {
    /// The column with the probability of the positive class or, with more than two classes, the columns
    /// with the probabilities of all classes, as a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Columns with the probabilities of groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<BroughtGroups>,
    /// Whether an estimator of the user computes these columns, also for rows to be scored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimator: bool,
}

/// Columns with the probabilities of the groups of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BroughtGroups {
    /// The attribute.
    pub attribute: String,
    /// The label of the rows among which groups are compared; absent for all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<bool>,
    /// The position of the class of these rows, if there are more than two classes; absent for all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u32>,
    /// One column for the second of two groups, or one per group.
    pub columns: Vec<String>,
}

impl Brought {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The families that a user asks for, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FamilyName {
    /// Linear models.
    #[default]
    Linear,
    /// Models from learners.
    Trees,
    /// Linear models and models from learners, on one front.
    Auto,
    /// Networks with one hidden layer.
    Network,
}

impl FamilyName {
    /// All names.
    pub const ALL: [Self; 4] = [Self::Linear, Self::Trees, Self::Auto, Self::Network];

    /// The name as a string.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Trees => "trees",
            Self::Auto => "auto",
            Self::Network => "network",
        }
    }

    /// Whether learners are fitted.
    pub fn learns(self) -> bool {
        matches!(self, Self::Trees | Self::Auto)
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.name() == text)
    }
}

impl FamilyRequest {
    /// Whether only linear models are fitted.
    pub fn is_linear(&self) -> bool {
        self.family == FamilyName::Linear
    }

    /// Encoded rows for the models of this family; networks have hidden units.
    pub(crate) fn rows(&self, encoded: Encoded) -> Encoded {
        match self.family {
            FamilyName::Network => encoded.with_hidden(self.hidden),
            _ => encoded,
        }
    }
}

/// The families of a run, as stored in `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FamilyInfo {
    /// The request.
    #[serde(flatten)]
    pub request: FamilyRequest,
    /// The features of the learners; empty for networks.
    pub features: Vec<String>,
    /// Whether the models of learners come from a sweep over one weight and all thresholds, rather
    /// than from the solver.
    #[serde(default)]
    pub swept: bool,
}

impl FamilyInfo {
    /// The family of a fit whose models are networks, if they are.
    pub(crate) fn of_network(request: &FamilyRequest) -> Option<Self> {
        (request.family == FamilyName::Network).then(|| Self {
            request: request.clone(),
            features: Vec::new(),
            swept: false,
        })
    }
}

/// The number of models of each family, in the order of [`Family::ALL`], without families that have
/// no model.
///
/// ```
/// use fairfront_run::{Family, family_counts};
/// let families = [Family::Trees, Family::Linear, Family::Trees];
/// assert_eq!(family_counts(&families), [(Family::Linear, 1), (Family::Trees, 2)]);
/// ```
pub fn family_counts(families: &[Family]) -> Vec<(Family, usize)> {
    let count = |family: &Family| families.iter().filter(|f| *f == family).count();
    let counts = Family::ALL
        .into_iter()
        .map(|family| (family, count(&family)));
    counts.filter(|(_, n)| *n > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_networks_store_hidden_units() {
        let linear = serde_json::to_string(&FamilyRequest::default()).unwrap();
        assert!(!linear.contains("hidden"), "{linear}");
        let network = FamilyRequest {
            family: FamilyName::Network,
            hidden: 3,
            ..FamilyRequest::default()
        };
        let json = serde_json::to_string(&network).unwrap();
        assert!(json.contains(r#""family":"network""#), "{json}");
        assert!(json.contains(r#""hidden":3"#), "{json}");
        assert_eq!(
            serde_json::from_str::<FamilyRequest>(&json).unwrap(),
            network
        );
    }

    #[test]
    fn names_are_those_of_serde() {
        for family in Family::ALL {
            let json = serde_json::to_string(&family).unwrap();
            assert_eq!(json, format!("\"{}\"", family.name()));
            assert_eq!(Family::parse(family.name()), Some(family));
        }
        assert_eq!(Family::parse("Linear"), None);
        for name in FamilyName::ALL {
            let json = serde_json::to_string(&name).unwrap();
            assert_eq!(json, format!("\"{}\"", name.name()));
            assert_eq!(FamilyName::parse(name.name()), Some(name));
        }
    }
}
