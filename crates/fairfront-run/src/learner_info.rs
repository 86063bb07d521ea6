//! The learners whose predictions the models of a run combine.

use serde::{Deserialize, Serialize};

/// A learner, as `run.json` describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnerInfo {
    /// The event or number that it predicts, such as `income = >50K`, `decile_score`, `sex` or
    /// `sex given income = >50K`.
    pub predicts: String,
    /// The kind of learner: `boosted trees`, `score column` or `estimator`.
    pub kind: String,
    /// The classes that it tells apart; empty if it predicts a number.
    pub classes: Vec<String>,
    /// Number of rows that it was trained on.
    pub rows: usize,
    /// Number of trees; 0 if it has no trees.
    pub trees: usize,
    /// The log loss of its probabilities out of fold; absent if it predicts a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
    /// The area under its ROC curve out of fold; for more than two classes, the mean over classes of each against
    /// all others; absent if a class has no rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
    /// The root mean squared error of predicted numbers out of fold, in the unit of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
    /// The share of the variance of the target that predicted numbers explain out of fold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r2: Option<f64>,
    /// The importance of each column.
    pub inputs: Vec<InputInfo>,
}

/// The importance of a column for a learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputInfo {
    /// The name of the column.
    pub name: String,
    /// The column's share of the total gain, from 0 to 1.
    pub gain: f64,
    /// How much the log loss, or the squared error in squared standard deviations of the target, rises
    /// if the values of the column are shuffled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permutation: Option<f64>,
}
