//! The results of an audit.

use fairfront_core::{
    AgainstReference, Attribute, ClassCounts, ClassRate, Classes, Confusion, Distance, Measure,
    Measures, NumberMeasures, NumberSums,
};
use fairfront_data::Ordered;
use serde::Serialize;

/// The decisions or predictions of a model on rows with known targets and groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// The target.
    pub target: String,
    /// The condition for a positive label, in readable form; for a number or more than two classes, the target.
    #[serde(skip)]
    pub condition: String,
    /// The kind of the model, with values over all rows that groups do not have.
    #[serde(flatten)]
    pub kind: AuditedKind,
    /// The weight column, if counts are sums of weights.
    pub weight: Option<String>,
    /// Values over all rows with a target.
    pub overall: AuditedGroup,
    /// Each sensitive attribute.
    pub attributes: Vec<AuditedAttribute>,
    /// Rows that could not be compared.
    pub unknown: Unknown,
}

/// The kind of an audited model; values are `None` if the rows do not define them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AuditedKind {
    /// It decides.
    Decisions {
        /// The values that count as positive.
        positive: String,
        /// Mean log loss of the probabilities.
        log_loss: Option<f64>,
    },
    /// It decides between more than two classes.
    Classes {
        /// Whether selection rates are shares of decisions for a class or a higher one.
        ordered: bool,
        /// Mean log loss of the probabilities.
        log_loss: Option<f64>,
    },
    /// It predicts a number.
    Numbers {
        /// 1 minus the mean squared error divided by the variance of the target.
        r2: Option<f64>,
    },
}

/// Rows that could not be compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unknown {
    /// Rows without a target, which are ignored.
    pub label: usize,
    /// Rows with a target whose group is missing or did not occur in training, by attribute. They count
    /// only in the overall figures.
    pub group: Ordered<usize>,
}

/// The groups of a sensitive attribute, and their differences.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedAttribute {
    /// The attribute.
    pub name: String,
    /// Its groups.
    pub groups: Ordered<AuditedGroup>,
    /// Groups that had too few training rows for one or all of the comparisons below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The differences between its groups.
    #[serde(flatten)]
    pub differences: AuditedDifferences,
    /// The comparison with its reference group, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<AuditedReference>,
}

/// The groups of an attribute compared with its reference group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedReference {
    /// The reference group.
    pub group: String,
    /// The values of the attribute: those of the group that fares worst, and the sum of shortfalls.
    #[serde(flatten)]
    pub all: AuditedAgainst,
    /// The values of each other group.
    pub others: Ordered<AuditedAgainst>,
}

/// A group compared with the reference group; `None` if the rows do not define a value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AuditedAgainst {
    /// Of decisions.
    Decisions {
        /// The selection rate divided by that of the reference group.
        adverse_impact_ratio: Option<f64>,
        /// How many more selected rows would give the rate of the reference group.
        shortfall: Option<f64>,
        /// The odds of selection divided by those of the reference group.
        odds_ratio: Option<f64>,
    },
    /// Of predicted numbers.
    Numbers {
        /// The difference between mean predictions, in standard deviations of all predictions.
        standardized_mean_difference: Option<f64>,
    },
}

impl AuditedReference {
    pub(super) fn of(measures: &Measures, index: usize, attribute: &Attribute) -> Option<Self> {
        let (all, others) = measures.against_reference(index)?;
        let against = |values: AgainstReference| match measures.numbers {
            None => AuditedAgainst::Decisions {
                adverse_impact_ratio: values.adverse_impact_ratio,
                shortfall: values.shortfall,
                odds_ratio: values.odds_ratio,
            },
            Some(_) => AuditedAgainst::Numbers {
                standardized_mean_difference: values.standardized_mean_difference,
            },
        };
        let name = |group: usize| attribute.groups.get(group).cloned();
        let others = others
            .into_iter()
            .filter_map(|(group, values)| Some((name(group)?, against(values))));
        Some(Self {
            group: name(attribute.reference?)?,
            all: against(all),
            others: Ordered(others.collect()),
        })
    }
}

/// Differences between groups; `None` if the rows do not define them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AuditedDifferences {
    /// Of decisions.
    Decisions {
        /// Largest minus smallest selection rate.
        demographic_parity_difference: Option<f64>,
        /// Smallest over largest selection rate.
        demographic_parity_ratio: Option<f64>,
        /// Largest minus smallest false negative rate.
        equal_opportunity_difference: Option<f64>,
        /// Largest minus smallest false positive rate.
        false_positive_rate_difference: Option<f64>,
        /// The larger of the two differences above.
        equalized_odds_difference: Option<f64>,
    },
    /// Of decisions between more than two classes. Each value is the largest over all classes, but the ratio is
    /// the smallest.
    Classes {
        /// Largest minus smallest selection rate.
        demographic_parity_difference: Option<f64>,
        /// Smallest over largest selection rate.
        demographic_parity_ratio: Option<f64>,
        /// Largest minus smallest recall.
        equal_opportunity_difference: Option<f64>,
        /// Largest minus smallest share of rows of a class with any decision.
        equalized_odds_difference: Option<f64>,
        /// The differences for each class.
        classes: Ordered<ClassDifferences>,
    },
    /// Of predicted numbers, in the unit of the target.
    Numbers {
        /// Largest minus smallest mean prediction.
        mean_difference: Option<f64>,
        /// Largest difference in the share of predictions below a threshold.
        distribution_difference: Option<f64>,
        /// Mean of these differences over all thresholds.
        mean_distribution_difference: Option<f64>,
        /// Largest minus smallest root mean squared error.
        rmse_difference: Option<f64>,
        /// Largest minus smallest mean absolute error.
        mae_difference: Option<f64>,
        /// Largest root mean squared error.
        worst_group_rmse: Option<f64>,
        /// Largest mean absolute error.
        worst_group_mae: Option<f64>,
    },
}

/// Differences between groups for one of more than two classes; `None` if the rows do not define them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassDifferences {
    /// Largest minus smallest selection rate.
    pub demographic_parity_difference: Option<f64>,
    /// Largest minus smallest recall.
    pub equal_opportunity_difference: Option<f64>,
    /// Largest minus smallest share of rows of the class with any decision.
    pub equalized_odds_difference: Option<f64>,
}

/// The values of some rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedGroup {
    /// Rows, or the sum of their weights.
    pub count: f64,
    /// Rates or errors.
    #[serde(flatten)]
    pub values: AuditedValues,
}

/// Rates or errors of some rows; `None` if the denominator is zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AuditedValues {
    /// Of decisions.
    Decisions {
        /// Share of rows labeled positive.
        positive_rate: Option<f64>,
        /// Share of selected rows.
        selection_rate: Option<f64>,
        /// Share of rows not selected among those labeled positive.
        false_negative_rate: Option<f64>,
        /// Share of selected rows among those labeled negative.
        false_positive_rate: Option<f64>,
        /// Share of correct decisions.
        accuracy: Option<f64>,
    },
    /// Of decisions between more than two classes.
    Classes {
        /// Share of correct decisions.
        accuracy: Option<f64>,
        /// Mean recall of the classes with rows.
        balanced_accuracy: Option<f64>,
        /// Mean F1 score of the classes with rows or decisions.
        macro_f1: Option<f64>,
        /// The values of each class.
        classes: Ordered<AuditedClass>,
    },
    /// Of predicted numbers, in the unit of the target.
    Numbers {
        /// Mean prediction.
        mean_prediction: Option<f64>,
        /// Mean of the target.
        mean_target: Option<f64>,
        /// Mean of target minus prediction.
        mean_residual: Option<f64>,
        /// Root mean squared error.
        rmse: Option<f64>,
        /// Mean absolute error.
        mae: Option<f64>,
    },
}

/// The values of one of more than two classes; `None` if the denominator is zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedClass {
    /// Rows of the class, or the sum of their weights.
    pub count: f64,
    /// Share of rows decided for the class, or for it or a higher one if classes are ordered.
    pub selection_rate: Option<f64>,
    /// Share of correct decisions among the rows of the class.
    pub recall: Option<f64>,
    /// Share of rows of the class among the rows decided for it.
    pub precision: Option<f64>,
    /// The harmonic mean of precision and recall.
    pub f1: Option<f64>,
}

impl AuditedGroup {
    pub(super) fn of_decisions(rows: &Confusion) -> Self {
        let count = rows.count();
        let positives = rows.true_positives + rows.false_negatives;
        Self {
            count,
            values: AuditedValues::Decisions {
                positive_rate: (count > 0.0).then(|| positives / count),
                selection_rate: rows.selection_rate(),
                false_negative_rate: rows.false_negative_rate(),
                false_positive_rate: rows.false_positive_rate(),
                accuracy: rows.accuracy(),
            },
        }
    }

    pub(super) fn of_classes(classes: &Classes, rows: &ClassCounts) -> Self {
        let of_class = |(class, name): (usize, &String)| {
            let values = AuditedClass {
                count: rows.weight_of(class),
                selection_rate: rows.selection_rate(class, classes.ordered),
                recall: rows.recall(class),
                precision: rows.precision(class),
                f1: rows.f1(class),
            };
            (name.clone(), values)
        };
        Self {
            count: rows.weight(),
            values: AuditedValues::Classes {
                accuracy: rows.accuracy(),
                balanced_accuracy: rows.balanced_accuracy(),
                macro_f1: rows.macro_f1(),
                classes: Ordered(classes.names.iter().enumerate().map(of_class).collect()),
            },
        }
    }

    pub(super) fn of_numbers(numbers: &NumberMeasures, rows: &NumberSums) -> Self {
        Self {
            count: rows.weight,
            values: AuditedValues::Numbers {
                mean_prediction: numbers.mean_prediction(rows),
                mean_target: numbers.mean_target(rows),
                mean_residual: numbers.mean_residual(rows),
                rmse: numbers.rmse(rows),
                mae: numbers.mae(rows),
            },
        }
    }
}

impl ClassDifferences {
    fn of(measures: &Measures, attribute: usize, class: usize) -> Self {
        let difference = |rate| {
            let measure = Measure::OfClass {
                attribute,
                rate,
                class,
            };
            measure.of(measures)
        };
        Self {
            demographic_parity_difference: difference(ClassRate::Decided),
            equal_opportunity_difference: difference(ClassRate::Right),
            equalized_odds_difference: difference(ClassRate::DecidedOfClass),
        }
    }
}

impl AuditedDifferences {
    pub(super) fn of(measures: &Measures, attribute: usize, classes: Option<&Classes>) -> Self {
        if let Some(classes) = classes {
            let of_class = |(class, name): (usize, &String)| {
                (
                    name.clone(),
                    ClassDifferences::of(measures, attribute, class),
                )
            };
            return Self::Classes {
                demographic_parity_difference: measures.demographic_parity_difference(attribute),
                demographic_parity_ratio: measures.demographic_parity_ratio(attribute),
                equal_opportunity_difference: measures.equal_opportunity_difference(attribute),
                equalized_odds_difference: measures.equalized_odds_difference(attribute),
                classes: Ordered(classes.names.iter().enumerate().map(of_class).collect()),
            };
        }
        if measures.numbers.is_none() {
            return Self::Decisions {
                demographic_parity_difference: measures.demographic_parity_difference(attribute),
                demographic_parity_ratio: measures.demographic_parity_ratio(attribute),
                equal_opportunity_difference: measures.equal_opportunity_difference(attribute),
                false_positive_rate_difference: measures.false_positive_rate_difference(attribute),
                equalized_odds_difference: measures.equalized_odds_difference(attribute),
            };
        }
        let distribution = |distance| measures.distribution_difference(attribute, distance);
        Self::Numbers {
            mean_difference: measures.mean_difference(attribute),
            distribution_difference: distribution(Distance::Largest),
            mean_distribution_difference: distribution(Distance::Mean),
            rmse_difference: measures.loss_difference(attribute, false),
            mae_difference: measures.loss_difference(attribute, true),
            worst_group_rmse: measures.worst_group_loss(attribute, false),
            worst_group_mae: measures.worst_group_loss(attribute, true),
        }
    }
}
