//! The meaning of objectives and measures, as data: the measure that an objective stands for, the
//! better direction, the unit and the rows. `run.json` stores it; selection, prices, figures and
//! the report read it there.

use Among::{All, Negatives, Positives};
use Better::{Larger, Smaller};
use Unit::{Count, Difference, InTarget, Loss, Number, Ratio, Share};
use fairfront_core::{Measure, Objective, Schema, Target, in_target};
use fairfront_data::Ordered;
use serde::{Deserialize, Serialize};

/// The meaning of the objectives of a run and of the measures in its columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meaning {
    /// The kind of the target.
    #[serde(default, skip_serializing_if = "Target::is_binary")]
    pub target: Target,
    /// The measure of how good predictions are: `accuracy`, `rmse` or `mae`.
    #[serde(default = "accuracy")]
    pub performance: String,
    /// One entry per objective, the loss first.
    pub objectives: Vec<ObjectiveMeaning>,
    /// Measures by kind: the name of a column without split, attribute and group.
    pub measures: Ordered<MeasureMeaning>,
}

/// The measure of how good decisions are.
fn accuracy() -> String {
    "accuracy".into()
}

/// The meaning of an objective. All objectives are minimized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectiveMeaning {
    /// Its canonical name.
    pub name: String,
    /// The column name of the measure that it is a smooth version of or stands in for; `None` if
    /// the objective itself is reported.
    pub measure: Option<String>,
    /// Whether it is a covariance of the score, which only stands in for its measure.
    pub covariance: bool,
}

/// The direction in which a measure improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Larger values are better.
    Larger,
    /// Smaller values are better.
    Smaller,
}

/// The unit of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A share of rows, from 0 to 1, shown as a percentage.
    Share,
    /// The difference of two shares.
    Difference,
    /// The ratio of two shares.
    Ratio,
    /// A number of rows, or their weight.
    Count,
    /// A loss, in nats or units of cost.
    Loss,
    /// A number in the unit of the target.
    #[serde(rename = "target")]
    InTarget,
    /// Any other number.
    Number,
}

/// The rows of a group that a measure covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Among {
    /// All rows.
    All,
    /// Rows labeled positive.
    Positives,
    /// Rows labeled negative.
    Negatives,
}

/// The meaning of a measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureMeaning {
    /// Its name in words.
    pub label: String,
    /// Its definition, as part of a sentence.
    pub description: String,
    /// The better direction; `None` if neither is better.
    pub better: Option<Better>,
    /// Its unit.
    pub unit: Unit,
    /// The rows that it covers.
    pub among: Among,
    /// The rates of groups that it compares; empty if it compares none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compares: Vec<String>,
    /// Other common names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

impl Meaning {
    /// The meaning of these objectives, and of all measures.
    pub fn of<'a>(objectives: impl Iterator<Item = &'a dyn Objective>, schema: &Schema) -> Self {
        let of_objective = |objective: &dyn Objective| ObjectiveMeaning {
            name: objective.name(),
            measure: objective.measure().map(|measure| column(measure, schema)),
            covariance: objective.squares().is_some(),
        };
        let objectives: Vec<ObjectiveMeaning> = objectives.map(of_objective).collect();
        let first = objectives.first().map(|first| first.name.as_str());
        Self {
            performance: match (&schema.target, first) {
                (Target::Binary | Target::Classes(_), _) => accuracy(),
                (Target::Number(_), Some("squared_error") | None) => "rmse".into(),
                // Smooth absolute errors and quantile losses.
                (Target::Number(_), Some(_)) => "mae".into(),
            },
            objectives,
            measures: measures(&schema.target),
            target: schema.target.clone(),
        }
    }

    /// Whether larger values of [`Meaning::performance`] are better.
    pub fn larger_performs_better(&self) -> bool {
        let better = self.measure(&self.performance).and_then(|m| m.better);
        better == Some(Larger)
    }

    /// Digits after the decimal point with which numbers in the unit of the target are shown: three
    /// significant digits of its standard deviation, at most six.
    pub fn digits(&self) -> usize {
        let Some(unit) = self.target.unit() else {
            return 5;
        };
        let size = libm::floor(libm::log10(unit.scale));
        (2.0 - size).clamp(0.0, 6.0) as usize
    }

    /// A number in the unit of the target as text: with [`Meaning::digits`] decimals, or with an exponent if
    /// the standard deviation of the target is very large or very small.
    pub fn in_target(&self, number: f64) -> String {
        let scale = self.target.unit().map_or(1.0, |unit| unit.scale);
        match (1e-5..1e9).contains(&scale) {
            true => in_target(number, self.digits()),
            false => format!("{number:.3e}"),
        }
    }

    /// The meaning of an objective of this run.
    pub fn objective(&self, name: &str) -> Option<&ObjectiveMeaning> {
        self.objectives.iter().find(|o| o.name == name)
    }

    /// The meaning of a measure by the name of its column, without the split.
    pub fn measure(&self, bare: &str) -> Option<&MeasureMeaning> {
        self.measures.get(kind(bare))
    }
}

/// The measure that another common name refers to.
pub(crate) fn meant(name: &str) -> Option<&'static str> {
    let named = |row: &&Row| row.5.contains(&name);
    let all = [&MEASURES[..], &MEASURES_OF_NUMBERS, &MEASURES_OF_CLASSES];
    let mut rows = all.into_iter().flatten();
    rows.find(named).map(|row| row.0)
}

/// The column name of a measure; the error rate is reported as accuracy.
fn column(measure: Measure, schema: &Schema) -> String {
    match measure.name(schema).as_str() {
        Measure::ERROR_RATE => "accuracy".into(),
        name => name.into(),
    }
}

/// Whether a column, without its split, is the end of an interval or belongs to one.
pub(crate) fn is_interval(bare: &str) -> bool {
    const ENDS: [&str; 7] = [
        ".low",
        ".high",
        ".band_low",
        ".band_high",
        ".change_low",
        ".change_high",
        ".bias",
    ];
    ENDS.iter().any(|end| bare.ends_with(end)) || bare == "probability_nondominated"
}

/// The name of a column without class, attribute and group.
pub(crate) fn kind(bare: &str) -> &str {
    bare.split(['[', '(']).next().unwrap_or(bare)
}

/// Kind, better direction, unit, rows, compared rates, other names and description of a measure.
type Row = (
    &'static str,
    Option<Better>,
    Unit,
    Among,
    &'static [&'static str],
    &'static [&'static str],
    &'static str,
);

/// Names of the ratio of selection rates in other packages.
const RATIO_ELSEWHERE: [&str; 2] = ["disparate_impact", "disparate_impact_ratio"];

/// All measures, in the order in which tables list them.
const MEASURES: [Row; 27] = [
    (
        "accuracy",
        Some(Larger),
        Share,
        All,
        &[],
        &[],
        "the share of rows whose decision agrees with the label",
    ),
    (
        "log_loss",
        Some(Smaller),
        Loss,
        All,
        &[],
        &[],
        "how far the predicted probabilities are from the labels",
    ),
    (
        "balanced_accuracy",
        Some(Larger),
        Share,
        All,
        &[],
        &[],
        "the mean of the shares of correct decisions among positive and among negative labels",
    ),
    (
        "precision",
        Some(Larger),
        Share,
        All,
        &[],
        &[],
        "the share of selected rows that are labeled positive",
    ),
    (
        "brier_score",
        Some(Smaller),
        Number,
        All,
        &[],
        &[],
        "the mean squared difference between probability and label: 0 is perfect",
    ),
    (
        "auc",
        Some(Larger),
        Number,
        All,
        &[],
        &[],
        "how often a row labeled positive has a higher score than a row labeled negative",
    ),
    (
        "calibration_error",
        Some(Smaller),
        Number,
        All,
        &[],
        &[],
        "how far probabilities are from the share of positive labels, on average over ten bins: 0 is perfect",
    ),
    (
        "ks",
        Some(Larger),
        Number,
        All,
        &[],
        &["ks_statistic"],
        "the largest distance between the distributions of the scores of positive and of negative labels: 0 means equal, 1 means separate",
    ),
    (
        "error_rate",
        Some(Smaller),
        Loss,
        All,
        &[],
        &[],
        "the mean cost of wrong decisions",
    ),
    (
        "demographic_parity_difference",
        Some(Smaller),
        Difference,
        All,
        &["selection_rate"],
        &["demographic_parity", "statistical_parity_difference"],
        "the largest difference between groups in the selection rate: 0 means equal, 0.1 is ten of a hundred people",
    ),
    (
        "demographic_parity_ratio",
        Some(Larger),
        Ratio,
        All,
        &["selection_rate"],
        &RATIO_ELSEWHERE,
        "the lowest selection rate of any group divided by the highest: 1 means equal; below 0.8 fails the four-fifths rule",
    ),
    (
        "equal_opportunity_difference",
        Some(Smaller),
        Difference,
        All,
        &["false_negative_rate"],
        &[
            "equal_opportunity",
            "true_positive_rate_difference",
            "false_negative_rate_difference",
        ],
        "the largest difference between groups in the false negative rate: 0 means equal",
    ),
    (
        "false_positive_rate_difference",
        Some(Smaller),
        Difference,
        All,
        &["false_positive_rate"],
        &["predictive_equality"],
        "the largest difference between groups in the false positive rate: 0 means equal",
    ),
    (
        "equalized_odds_difference",
        Some(Smaller),
        Difference,
        All,
        &["false_negative_rate", "false_positive_rate"],
        &["equalized_odds"],
        "the larger of the differences in false negative and false positive rates: 0 means equal",
    ),
    (
        "mutual_information",
        Some(Smaller),
        Loss,
        All,
        &["selection_rate"],
        &[],
        "how much a decision reveals about the group, in nats: 0 means nothing",
    ),
    (
        "adverse_impact_ratio",
        Some(Larger),
        Ratio,
        All,
        &["selection_rate"],
        &["air", "impact_ratio"],
        "the selection rate of a group divided by that of the reference group, and for an attribute the smallest: 1 means equal; below 0.8 fails the four-fifths rule",
    ),
    (
        "shortfall",
        Some(Smaller),
        Count,
        All,
        &["selection_rate"],
        &[],
        "how many more selected people a group would need for the selection rate of the reference group, and for an attribute the sum over groups that have a lower rate",
    ),
    (
        "odds_ratio",
        Some(Larger),
        Ratio,
        All,
        &["selection_rate"],
        &[],
        "the odds of selection of a group divided by those of the reference group, and for an attribute the smallest: 1 means equal",
    ),
    (
        "standardized_mean_difference",
        None,
        Number,
        All,
        &[],
        &["smd"],
        "the mean probability of a group minus that of the reference group, in standard deviations of the probabilities of all rows, and for an attribute the one of largest size: 0 means equal",
    ),
    (
        "count",
        None,
        Count,
        All,
        &[],
        &[],
        "how many rows (or how much weight) the group has",
    ),
    (
        "selection_rate",
        None,
        Share,
        All,
        &[],
        &[],
        "the share of a group that is selected",
    ),
    (
        "false_negative_rate",
        Some(Smaller),
        Share,
        Positives,
        &[],
        &[],
        "the share of refused people among those labeled positive",
    ),
    (
        "false_positive_rate",
        Some(Smaller),
        Share,
        Negatives,
        &[],
        &[],
        "the share of selected people among those labeled negative",
    ),
    (
        "true_positives",
        Some(Larger),
        Count,
        Positives,
        &[],
        &[],
        "selected people labeled positive",
    ),
    (
        "false_positives",
        Some(Smaller),
        Count,
        Negatives,
        &[],
        &[],
        "selected people labeled negative",
    ),
    (
        "true_negatives",
        Some(Larger),
        Count,
        Negatives,
        &[],
        &[],
        "refused people labeled negative",
    ),
    (
        "false_negatives",
        Some(Smaller),
        Count,
        Positives,
        &[],
        &[],
        "refused people labeled positive",
    ),
];

/// The measures of predicted numbers.
const MEASURES_OF_NUMBERS: [Row; 15] = [
    (
        "rmse",
        Some(Smaller),
        InTarget,
        All,
        &[],
        &["root_mean_squared_error"],
        "the root of the mean squared difference between target and prediction",
    ),
    (
        "mae",
        Some(Smaller),
        InTarget,
        All,
        &[],
        &["mean_absolute_error"],
        "the mean absolute difference between target and prediction",
    ),
    (
        "r2",
        Some(Larger),
        Number,
        All,
        &[],
        &["r2_score"],
        "the share of the variance of the target that predictions explain: 1 is perfect, 0 is as good as the mean",
    ),
    (
        "mean_prediction",
        None,
        InTarget,
        All,
        &[],
        &[],
        "the mean of the predictions",
    ),
    (
        "mean_target",
        None,
        InTarget,
        All,
        &[],
        &[],
        "the mean of the target",
    ),
    (
        "mean_residual",
        None,
        InTarget,
        All,
        &[],
        &[],
        "the mean of target minus prediction: above 0 if predictions are too low",
    ),
    (
        "mean_difference",
        Some(Smaller),
        InTarget,
        All,
        &["mean_prediction"],
        &["mean_prediction_difference"],
        "the largest difference between groups in the mean prediction: 0 means equal",
    ),
    (
        "distribution_difference",
        Some(Smaller),
        Difference,
        All,
        &[],
        &["kolmogorov_smirnov"],
        "the largest difference between groups in the share of predictions below any of 32 quantiles of the target: 0 means equal",
    ),
    (
        "mean_distribution_difference",
        Some(Smaller),
        Difference,
        All,
        &[],
        &[],
        "the mean over 32 quantiles of the target of the difference between groups in the share of predictions below it",
    ),
    (
        "rmse_difference",
        Some(Smaller),
        InTarget,
        All,
        &["rmse"],
        &[],
        "the largest difference between groups in the root mean squared error: 0 means equal",
    ),
    (
        "mae_difference",
        Some(Smaller),
        InTarget,
        All,
        &["mae"],
        &[],
        "the largest difference between groups in the mean absolute error: 0 means equal",
    ),
    (
        "worst_group_rmse",
        Some(Smaller),
        InTarget,
        All,
        &["rmse"],
        &[],
        "the largest root mean squared error of any group",
    ),
    (
        "worst_group_mae",
        Some(Smaller),
        InTarget,
        All,
        &["mae"],
        &[],
        "the largest mean absolute error of any group",
    ),
    (
        "standardized_mean_difference",
        None,
        Number,
        All,
        &[],
        &["smd"],
        "the mean prediction of a group minus that of the reference group, in standard deviations of the predictions of all rows, and for an attribute the one of largest size: 0 means equal",
    ),
    (
        "count",
        None,
        Count,
        All,
        &[],
        &[],
        "how many rows (or how much weight) the group has",
    ),
];

/// The measures of decisions between more than two classes. A class in brackets follows the kind.
const MEASURES_OF_CLASSES: [Row; 14] = [
    (
        "accuracy",
        Some(Larger),
        Share,
        All,
        &[],
        &[],
        "the share of rows whose decision is their class",
    ),
    (
        "log_loss",
        Some(Smaller),
        Loss,
        All,
        &[],
        &[],
        "how far the predicted probabilities are from the classes",
    ),
    (
        "balanced_accuracy",
        Some(Larger),
        Share,
        All,
        &[],
        &[],
        "the mean over classes of the share of right decisions among the rows of the class",
    ),
    (
        "macro_f1",
        Some(Larger),
        Number,
        All,
        &[],
        &["f1_macro"],
        "the mean over classes of the harmonic mean of precision and recall: 1 is perfect",
    ),
    (
        "selection_rate",
        None,
        Share,
        All,
        &[],
        &["decision_share"],
        "the share of rows decided as this class; for ordered classes, at least as high as it",
    ),
    (
        "recall",
        Some(Larger),
        Share,
        All,
        &[],
        &[],
        "the share of right decisions among the rows of a class",
    ),
    (
        "precision",
        Some(Larger),
        Share,
        All,
        &[],
        &[],
        "the share of rows of a class among those decided as it",
    ),
    (
        "f1",
        Some(Larger),
        Number,
        All,
        &[],
        &[],
        "the harmonic mean of precision and recall of a class: 1 is perfect",
    ),
    (
        "decisions",
        None,
        Count,
        All,
        &[],
        &["confusion_matrix"],
        "rows of the first class that are decided as the second",
    ),
    (
        "demographic_parity_difference",
        Some(Smaller),
        Difference,
        All,
        &["selection_rate"],
        &["demographic_parity", "statistical_parity_difference"],
        "the largest difference between groups in the share decided as any class (for ordered classes, at least as high as it): 0 means equal",
    ),
    (
        "equal_opportunity_difference",
        Some(Smaller),
        Difference,
        All,
        &["recall"],
        &[
            "equal_opportunity",
            "recall_difference",
            "true_positive_rate_difference",
        ],
        "the largest difference between groups in the share of right decisions among the rows of any class: 0 means equal",
    ),
    (
        "equalized_odds_difference",
        Some(Smaller),
        Difference,
        All,
        &[],
        &["equalized_odds"],
        "the largest difference between groups in the share decided as any class (for ordered classes, at least as high as it) among the rows of any class: 0 means equal",
    ),
    (
        "demographic_parity_ratio",
        Some(Larger),
        Ratio,
        All,
        &["selection_rate"],
        &RATIO_ELSEWHERE,
        "the smallest ratio between groups of the shares decided as any class (for ordered classes, at least as high as it): 1 means equal",
    ),
    (
        "count",
        None,
        Count,
        All,
        &[],
        &[],
        "how many rows (or how much weight) the group has",
    ),
];

/// A kind of measure in words; abbreviations are in capitals.
pub(crate) fn label(kind: &str) -> String {
    let word = |word: &str| match word {
        "rmse" | "mae" | "r2" | "f1" => word.to_uppercase(),
        word => word.to_owned(),
    };
    kind.split('_').map(word).collect::<Vec<_>>().join(" ")
}

/// All measures for a target, with their meaning.
pub(crate) fn measures(target: &Target) -> Ordered<MeasureMeaning> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let rows = match target {
        Target::Binary => MEASURES.iter(),
        Target::Classes(_) => MEASURES_OF_CLASSES.iter(),
        Target::Number(_) => MEASURES_OF_NUMBERS.iter(),
    };
    let rows = rows.map(
        |(kind, better, unit, among, compares, aliases, description)| {
            let meaning = MeasureMeaning {
                label: label(kind),
                description: (*description).into(),
                better: *better,
                unit: *unit,
                among: *among,
                compares: owned(compares),
                aliases: owned(aliases),
            };
            ((*kind).to_owned(), meaning)
        },
    );
    Ordered(rows.collect())
}

#[cfg(test)]
mod tests {
    use fairfront_core::Measures;

    use super::*;

    #[test]
    fn every_column_of_a_run_has_a_meaning() {
        let text = include_str!("../cases/select.json");
        let cases: serde_json::Value = serde_json::from_str(text).unwrap();
        let schema = schema();
        let known = measures(&schema.target);
        for name in Measures::names(&schema) {
            assert!(known.get(kind(&name)).is_some(), "{name}");
        }
        // The TypeScript implementation reads the meaning from the cases.
        assert_eq!(
            cases["measures"],
            serde_json::to_value(&known).unwrap(),
            "{}",
            serde_json::to_string_pretty(&known).unwrap()
        );
    }

    #[test]
    fn every_measure_of_numbers_has_a_meaning() {
        let unit = fairfront_core::Unit {
            center: 0.0,
            scale: 1.0,
            range: [0.0, 1.0],
            thresholds: vec![0.0],
        };
        let target = Target::Number(Box::new(unit));
        let known = measures(&target);
        let names = Measures::names(&Schema { target, ..schema() });
        for name in &names {
            assert!(known.get(kind(name)).is_some(), "{name}");
        }
        // The TypeScript implementation reads the meaning from the cases.
        let text = include_str!("../cases/select.json");
        let cases: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            cases["measures_of_numbers"],
            serde_json::to_value(&known).unwrap()
        );
        for (kind, meaning) in &known.0 {
            let is_shown = |name: &String| super::kind(name) == kind;
            assert!(names.iter().any(is_shown), "{kind}");
            for rate in &meaning.compares {
                assert_eq!(known.get(rate).unwrap().unit, InTarget, "{rate}");
            }
        }
    }

    #[test]
    fn every_measure_of_classes_has_a_meaning() {
        let text = include_str!("../cases/select.json");
        let cases: serde_json::Value = serde_json::from_str(text).unwrap();
        for ordered in [false, true] {
            let names = ["low", "Assoc, voc", ">50K (high)"].map(String::from);
            let target = Target::Classes(fairfront_core::Classes {
                names: names.to_vec(),
                ordered,
            });
            let known = measures(&target);
            let names = Measures::names(&Schema { target, ..schema() });
            for name in &names {
                assert!(known.get(kind(name)).is_some(), "{name}");
            }
            // The TypeScript implementation reads the meaning from the cases.
            assert_eq!(
                cases["measures_of_classes"],
                serde_json::to_value(&known).unwrap()
            );
            for (kind, meaning) in &known.0 {
                let is_shown = |name: &String| super::kind(name) == kind;
                assert!(names.iter().any(is_shown), "{kind}");
                for rate in &meaning.compares {
                    assert_eq!(known.get(rate).unwrap().unit, Share, "{rate}");
                }
            }
        }
    }

    #[test]
    fn names_refer_to_one_measure() {
        let known = measures(&Target::Binary);
        let mut seen = std::collections::BTreeSet::new();
        for (kind, meaning) in &known.0 {
            for name in meaning.aliases.iter().chain([kind]) {
                assert!(seen.insert(name.clone()), "{name} means two measures");
            }
            for rate in &meaning.compares {
                assert_eq!(known.get(rate).unwrap().unit, Share, "{rate}");
            }
        }
        assert_eq!(meant("disparate_impact"), Some("demographic_parity_ratio"));
        assert_eq!(meant("accuracy"), None);
    }

    fn schema() -> Schema {
        Schema {
            attributes: vec![fairfront_core::Attribute {
                reference: Some(1),
                ..fairfront_core::Attribute::new("sex", vec!["F".into(), "M".into()])
            }],
            numeric: Vec::new(),
            categorical: Vec::new(),
            target: Target::Binary,
            hidden: 0,
        }
    }
}
