//! The results of a search for less discriminatory alternatives.

use fairfront_core::Costs;
use fairfront_data::{Ordered, Part};
use fairfront_model::{ModelId, Stated};
use serde::{Deserialize, Serialize};

use super::column::ColumnEffects;
use super::limit::Limits;
use crate::{Family, RateOfGroup};

/// How good decisions are, for the tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Performance {
    /// Share of correct decisions.
    Accuracy,
    /// The area under the ROC curve of the scores.
    Auc,
    /// The mean cost of wrong decisions.
    Cost(Costs),
}

impl Performance {
    /// Its name: `accuracy`, `auc`, `error_rate(fp=1,fn=5)`.
    pub fn name(self) -> String {
        match self {
            Self::Accuracy => "accuracy".into(),
            Self::Auc => "auc".into(),
            Self::Cost(costs) => costs.name(),
        }
    }

    /// Whether larger values are better.
    pub fn larger_is_better(self) -> bool {
        !matches!(self, Self::Cost(_))
    }
}

/// How much worse than the baseline a candidate may perform.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// The measure of performance.
    pub of: Performance,
    /// The most that it may be worse, at least 0.
    pub amount: f64,
}

/// The search for less discriminatory alternatives to a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lda {
    pub(super) format: String,
    pub(super) version: u32,
    /// Version of the program.
    pub program: String,
    /// The run that was searched.
    pub run: SearchedRun,
    /// The baseline.
    pub baseline: BaselineInfo,
    /// How much worse candidates may perform.
    pub tolerance: Tolerance,
    /// The differences that candidates must make smaller.
    pub measures: Vec<MeasureInfo>,
    /// How candidates were tested.
    pub test: TestInfo,
    /// Candidates in the order of their tests.
    pub candidates: Vec<Candidate>,
    /// The effect of each column on the unmitigated linear model.
    pub columns: ColumnEffects,
    /// Limits of other models.
    pub limits: Limits,
    /// Free text, such as the reason for the tolerance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The run whose models are the candidates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchedRun {
    /// The data.
    pub source: String,
    /// Number of rows of each split.
    pub rows: Ordered<usize>,
    /// SHA-256 of encoding and encoded rows.
    pub fingerprint: String,
    /// SHA-256 of `front.parquet`.
    pub front_sha256: String,
    /// The target, as a condition.
    pub target: String,
    /// The solver.
    pub solver: String,
    /// Objectives with all their settings.
    pub objectives: Vec<String>,
    /// Number of candidates that solvers produced, if it is known.
    pub candidates: usize,
    /// Number of models of the front by family.
    pub families: Ordered<usize>,
    /// The random seed.
    pub seed: u64,
    /// Learners whose probabilities models combine.
    pub learners: Vec<String>,
}

/// The model that decides now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineInfo {
    /// Its file, and the column of the file.
    pub name: String,
    /// `model`, `scores` or `decisions`.
    pub kind: String,
    /// Rows with at least this score are selected; absent for decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// SHA-256 of its decisions on the rows used, in their order.
    pub sha256: String,
    /// Columns in which its file was found to agree with the table, row by row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agrees_in: Vec<String>,
    /// Whether the user confirmed that it was not trained on the rows that test it.
    pub confirmed_unseen: bool,
}

/// A difference between groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureInfo {
    /// The measure, such as `demographic_parity_difference(race)`.
    pub name: String,
    /// The attribute.
    pub attribute: String,
    /// The named reference group: only differences to it count. Absent if all pairs count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The pair of groups with the baseline's largest difference on the ordering rows: the rates that are
    /// compared, and the groups with the higher and the lower rate.
    pub worst: WorstPair,
    /// Groups that are too small to be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// A pair of groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstPair {
    /// The rate: `selection_rate`, `false_negative_rate` or `false_positive_rate`.
    pub rate: String,
    /// The group with the higher rate.
    pub higher: String,
    /// The group with the lower rate.
    pub lower: String,
}

/// How candidates were tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestInfo {
    /// The rows that order the tests and fix the baseline's worst pairs.
    pub order_split: Part,
    /// Their number.
    pub order_rows: usize,
    /// The rows on which candidates are tested.
    pub split: Part,
    /// Their number.
    pub rows: usize,
    /// SHA-256 of their labels and weights.
    pub fingerprint: String,
    /// Whether results on these rows could be seen before the test: always for test rows, never for `certify`
    /// rows.
    pub stated: Stated,
    /// 1 − δ.
    pub confidence: f64,
    /// The number of this use of the rows.
    #[serde(rename = "use")]
    pub number: usize,
    /// The significance level of this use.
    pub level: f64,
}

/// The result of a candidate's test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// It is less discriminatory, and within the tolerance.
    LessDiscriminatory,
    /// The rows do not show it.
    NotShown,
    /// It comes after the first candidate that was not shown.
    NotTested,
}

/// A model of the front next to the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its id.
    pub model_id: ModelId,
    /// Its family.
    pub family: Family,
    /// The result of its test.
    pub finding: Finding,
    /// The p-value on the ordering rows.
    pub order_p_value: f64,
    /// The p-value of the test; absent if the candidate was not tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// The performance.
    pub performance: Changed,
    /// Each measure.
    pub measures: Vec<Changed>,
    /// Rates by group.
    pub groups: Vec<GroupOutcome>,
    /// The share of redraws of the rows in which the candidate performs better than the baseline and all its
    /// differences are smaller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redraws_better: Option<f64>,
    /// The share of redraws in which its differences are smaller and it is within the tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redraws_within: Option<f64>,
    /// The coefficients that differ most from those of the unmitigated model.
    pub moved: Vec<Moved>,
}

/// A value of a candidate and of the baseline on the same rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// The measure.
    pub name: String,
    /// The baseline's value.
    pub baseline: f64,
    /// The candidate's value.
    pub candidate: f64,
    /// Candidate minus baseline.
    pub change: f64,
    /// The paired score interval of the change.
    pub interval: [f64; 2],
}

/// A group's outcomes under the baseline and under a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupOutcome {
    /// The attribute; absent for all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// The group; absent for all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Rows, or the sum of their weights.
    pub count: f64,
    /// Share of rows labeled positive.
    pub positive_rate: Option<f64>,
    /// Selection rates.
    pub selection_rate: Both,
    /// Adverse impact ratios to the reference group, or to the group with the highest selection rate of the
    /// same model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adverse_impact_ratio: Option<Both>,
    /// Selection rate and adverse impact ratio of the candidate if it selects as large a share of all rows as the
    /// baseline does, those with its highest scores; absent for all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_baseline_rate: Option<RateOfGroup>,
    /// False negative rates.
    pub false_negative_rate: Both,
    /// False positive rates.
    pub false_positive_rate: Both,
    /// Accuracies.
    pub accuracy: Both,
    /// People selected by the candidate alone.
    pub gained: Outcomes,
    /// People selected by the baseline alone.
    pub lost: Outcomes,
}

/// A rate under both models, with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Both {
    /// Of the baseline.
    pub baseline: Option<f64>,
    /// Of the candidate.
    pub candidate: Option<f64>,
    /// The interval of the candidate's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

/// People by how they turned out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outcomes {
    /// Labeled positive.
    pub positive: f64,
    /// Labeled negative.
    pub negative: f64,
}

/// A coefficient of a candidate and of the unmitigated model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The feature.
    pub feature: String,
    /// Of the unmitigated model.
    pub unmitigated: f64,
    /// Of the candidate.
    pub candidate: f64,
}

impl Lda {
    /// Candidates that are shown to be less discriminatory, in the order of their tests.
    pub fn alternatives(&self) -> impl Iterator<Item = &Candidate> {
        let all = self.candidates.iter();
        all.filter(|candidate| candidate.finding == Finding::LessDiscriminatory)
    }

    /// The alternative that performs best.
    pub fn best(&self) -> Option<&Candidate> {
        let sign = match self.tolerance.of.larger_is_better() {
            true => 1.0,
            false => -1.0,
        };
        let key = |candidate: &Candidate| sign * candidate.performance.candidate;
        self.alternatives().min_by(|a, b| key(b).total_cmp(&key(a)))
    }

    /// The alternative with the smallest difference, in the first measure.
    pub fn fairest(&self) -> Option<&Candidate> {
        let key = |candidate: &Candidate| candidate.measures.first().map_or(0.0, |m| m.candidate);
        self.alternatives().min_by(|a, b| key(a).total_cmp(&key(b)))
    }
}
