use fairfront_data::{Diagnostic, Ordered};
use serde::Serialize;

use super::{AtRate, Decile, LocalLaw144};

/// An audit. Values are `None` if the rows do not define them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditResult {
    /// Version of the program.
    pub program: String,
    /// The origin of decisions.
    pub decisions: AuditedSource,
    /// The rows.
    pub table: AuditedRows,
    /// The target, if error rates are known.
    pub target: Option<String>,
    /// The values of the target that count as positive.
    pub positive: Option<String>,
    /// The weight column.
    pub weight: Option<String>,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Groups with a smaller share of the rows are not compared.
    pub min_share: f64,
    /// Values over all rows.
    pub overall: AuditGroup,
    /// Each sensitive attribute, then their intersections.
    pub attributes: Vec<GroupsOfAttribute>,
    /// The tables of New York City's Local Law 144, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_law_144: Option<LocalLaw144>,
    /// Warnings and notes.
    #[serde(rename = "messages")]
    pub diagnostics: Vec<Diagnostic>,
}

/// The origin of decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// A fairfront model.
    Model,
    /// A column of scores, and a threshold.
    Scores,
    /// A column of decisions.
    Decisions,
}

/// The origin of decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedSource {
    /// The kind of source.
    pub kind: SourceKind,
    /// The file of the model, or the file with the column; `None` without a file.
    pub file: Option<String>,
    /// The column, unless a model decides.
    pub column: Option<String>,
    /// The condition for being selected, in readable form.
    pub condition: String,
    /// Rows whose score or probability is at least this are selected; `None` for a column of decisions.
    pub threshold: Option<f64>,
    /// Rows whose score is above this are selected, if they are selected by the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
}

/// How rows of a file of scores were matched with the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// They come with the rows, or a model computes them.
    SameRow,
    /// Row n of one file belongs to row n of the other.
    Position,
    /// By a key.
    Key,
}

/// The audited rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditedRows {
    /// The names of their files.
    pub files: Vec<String>,
    /// Number of rows.
    pub rows: usize,
    /// How scores were matched with them.
    pub matched_by: MatchedBy,
    /// The key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Columns of both files whose values agree in every row.
    pub agreeing_columns: Vec<String>,
    /// Rows without a target, which have no part in error rates.
    pub without_target: usize,
}

/// How the reference group was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceBy {
    /// The user named it.
    Named,
    /// The user named the reference groups of the attributes that intersect.
    NamedParts,
    /// It has the highest selection rate of all groups that are compared.
    HighestSelectionRate,
}

/// A sensitive attribute, or an intersection of several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupsOfAttribute {
    /// Its name.
    pub name: String,
    /// The attributes that intersect; empty for a single attribute.
    pub intersection_of: Vec<String>,
    /// The group that others are compared with.
    pub reference: Option<String>,
    /// How it was chosen.
    pub reference_by: ReferenceBy,
    /// Rows whose group is unknown. They count only in the overall values.
    pub unknown: UnknownRows,
    /// The groups.
    pub groups: Ordered<AuditGroup>,
    /// Groups that are not compared, because their share is too small.
    pub left_out: Vec<String>,
    /// Ratios if exactly the rows with the highest scores are selected: a tenth, two tenths, …; only with scores,
    /// and not for intersections.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at_selection_rates: Vec<AtRate>,
    /// The shares of the groups in each tenth of the rows, from the highest scores.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deciles: Vec<Decile>,
}

/// Rows of unknown group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UnknownRows {
    /// Number of rows.
    pub rows: usize,
    /// Number of selected rows.
    pub selected: usize,
}

/// Values of a group, or of all rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditGroup {
    /// Number of rows.
    pub rows: usize,
    /// Number of selected rows.
    pub selected: usize,
    /// Sum of weights, if rows have weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Share of the rows with a known group; for all rows, 1.
    pub share: f64,
    /// Share of the rows that are selected.
    pub selection_rate: Option<f64>,
    /// Its interval.
    pub selection_rate_interval: Option<[f64; 2]>,
    /// The comparison with the reference group; absent for it, and for groups that are not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<ComparedGroup>,
    /// Error rates, with a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<GroupErrors>,
    /// Values of the scores, if there are scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<GroupScores>,
}

/// The test of equal selection rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TestUsed {
    /// Fisher's exact test.
    Fisher,
    /// The score test, for weighted rows and very many rows.
    Score,
}

/// How the adverse impact ratio compares with four fifths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FourFifths {
    /// The whole interval is below 0.8.
    Below,
    /// The whole interval is at or above 0.8.
    AtOrAbove,
    /// The interval contains 0.8.
    TooFewRows,
}

impl std::fmt::Display for FourFifths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Below => "below",
            Self::AtOrAbove => "at or above",
            Self::TooFewRows => "too few rows",
        })
    }
}

/// How a group compares with the reference group. Upper ends of intervals are `None` if they are infinite.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedGroup {
    /// Selection rate of the group divided by that of the reference group.
    pub adverse_impact_ratio: Option<f64>,
    /// Its interval.
    pub adverse_impact_ratio_interval: Option<[Option<f64>; 2]>,
    /// Whether the ratio itself is below 0.8.
    pub below_four_fifths: Option<bool>,
    /// Whether its interval is.
    pub four_fifths: Option<FourFifths>,
    /// Selection rate of the group minus that of the reference group.
    pub selection_rate_difference: Option<f64>,
    /// Its interval.
    pub selection_rate_difference_interval: Option<[f64; 2]>,
    /// How many more rows of the group would be selected at the rate of the reference group.
    pub shortfall: Option<f64>,
    /// Odds of selection of the group divided by those of the reference group.
    pub odds_ratio: Option<f64>,
    /// Its interval.
    pub odds_ratio_interval: Option<[Option<f64>; 2]>,
    /// Two-sided p-value of equal selection rates.
    pub p_value: Option<f64>,
    /// The test.
    pub test: TestUsed,
    /// Whether the p-value is below 1 minus the confidence.
    pub significant: Option<bool>,
}

/// Error rates of a group, among rows with a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupErrors {
    /// Number of rows with a target.
    pub rows: usize,
    /// Share of positive targets.
    pub base_rate: Option<f64>,
    /// Share of positive rows that are not selected.
    pub false_negative_rate: Option<f64>,
    /// Its interval.
    pub false_negative_rate_interval: Option<[f64; 2]>,
    /// Share of negative rows that are selected.
    pub false_positive_rate: Option<f64>,
    /// Its interval.
    pub false_positive_rate_interval: Option<[f64; 2]>,
    /// Share of rows whose decision is their target.
    pub accuracy: Option<f64>,
    /// Its interval.
    pub accuracy_interval: Option<[f64; 2]>,
    /// Differences from the reference group; absent for it, and for groups that are not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minus_reference: Option<ErrorDifferences>,
}

/// Rates of a group minus those of the reference group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorDifferences {
    /// Of false negative rates.
    pub false_negative_rate: Option<f64>,
    /// Its interval.
    pub false_negative_rate_interval: Option<[f64; 2]>,
    /// Of false positive rates.
    pub false_positive_rate: Option<f64>,
    /// Its interval.
    pub false_positive_rate_interval: Option<[f64; 2]>,
    /// Of accuracies.
    pub accuracy: Option<f64>,
    /// Its interval.
    pub accuracy_interval: Option<[f64; 2]>,
}

/// Values of the scores of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupScores {
    /// Mean score.
    pub mean: Option<f64>,
    /// Mean score minus that of the reference group, in standard deviations of all scores; absent for the
    /// reference group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standardized_mean_difference: Option<f64>,
    /// Area under the curve, with a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
    /// Its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc_interval: Option<[f64; 2]>,
    /// Area under the curve minus that of the reference group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc_difference: Option<f64>,
    /// Its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc_difference_interval: Option<[f64; 2]>,
    /// Kolmogorov–Smirnov statistic, with a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ks: Option<f64>,
}
