mod class;
mod number;
mod reference;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(crate) use self::class::add_calibrated_losses;
pub use self::class::{ClassCounts, ClassMeasures, MOST_PAIRS};
pub use self::number::{NumberMeasures, NumberSums, target_shares};
pub use self::reference::AgainstReference;
use crate::engine::{Cells, Engine, Labels, Map, Over, Pass, Statistics, Wanted};
use crate::objective::{ClassRate, Distance, Output};
use crate::predictor::Predictor;
use crate::probability::Probabilities;
use crate::{Attribute, Error, Points, Schema, SmallGroups};

/// Weighted counts of decisions; Ŷ = +1 if φ ≥ 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Confusion {
    /// Ŷ = +1, Y = +1.
    pub true_positives: f64,
    /// Ŷ = +1, Y = −1.
    pub false_positives: f64,
    /// Ŷ = −1, Y = −1.
    pub true_negatives: f64,
    /// Ŷ = −1, Y = +1.
    pub false_negatives: f64,
}

/// a / b; `None` unless b is above 0.
pub(crate) fn share(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
}

impl Confusion {
    /// Weight of all rows.
    pub fn count(&self) -> f64 {
        self.true_positives + self.false_positives + self.true_negatives + self.false_negatives
    }

    /// The counts of two sets of rows together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self {
            true_positives: self.true_positives + other.true_positives,
            false_positives: self.false_positives + other.false_positives,
            true_negatives: self.true_negatives + other.true_negatives,
            false_negatives: self.false_negatives + other.false_negatives,
        }
    }

    /// Share of correct decisions; `None` without rows.
    pub fn accuracy(&self) -> Option<f64> {
        share(self.true_positives + self.true_negatives, self.count())
    }

    /// Mean cost of the decisions; `None` without rows.
    pub fn cost(&self, costs: Costs) -> Option<f64> {
        let wrong = costs.false_positive * self.false_positives;
        share(
            wrong + costs.false_negative * self.false_negatives,
            self.count(),
        )
    }

    /// Share of Ŷ = +1; `None` without rows.
    pub fn selection_rate(&self) -> Option<f64> {
        share(self.true_positives + self.false_positives, self.count())
    }

    /// Share of Y = +1 among Ŷ = +1; `None` if no row is selected.
    pub fn precision(&self) -> Option<f64> {
        let selected = self.true_positives + self.false_positives;
        share(self.true_positives, selected)
    }

    /// The mean of true positive rate and true negative rate; `None` without rows of both labels.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        let wrong = 0.5 * (self.false_negative_rate()? + self.false_positive_rate()?);
        Some(1.0 - wrong)
    }

    /// Share of Ŷ = −1 among Y = +1; `None` without positives.
    pub fn false_negative_rate(&self) -> Option<f64> {
        let positives = self.true_positives + self.false_negatives;
        share(self.false_negatives, positives)
    }

    /// Share of Ŷ = +1 among Y = −1; `None` without negatives.
    pub fn false_positive_rate(&self) -> Option<f64> {
        let negatives = self.true_negatives + self.false_positives;
        share(self.false_positives, negatives)
    }
}

/// Measures of a model on some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Measures {
    /// Over all rows.
    pub overall: Confusion,
    /// Plain log loss of the scores, neither penalized nor calibrated; `None` without rows.
    pub log_loss: Option<f64>,
    /// Counts by attribute and group; rows of unknown group are only in `overall`.
    pub groups: Vec<Vec<Confusion>>,
    /// For each attribute, the groups that are left out of differences and ratios.
    pub small: Vec<SmallGroups>,
    /// For each attribute, the position of the reference group, if there is one.
    pub references: Vec<Option<usize>>,
    /// Measures of the calibrated probabilities, if requested.
    pub probabilities: Option<Probabilities>,
    /// Measures of predicted numbers, if the target is a number. Decisions do not exist then, and all
    /// counts of decisions are 0.
    pub numbers: Option<NumberMeasures>,
    /// Counts of decisions, if there are more than two classes. All counts of binary decisions are 0 then.
    pub classes: Option<ClassMeasures>,
}

/// The costs of wrong decisions in an error rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Cost of selecting a row whose label is negative.
    pub false_positive: f64,
    /// Cost of not selecting a row whose label is positive.
    pub false_negative: f64,
}

impl Costs {
    /// Both count 1: the error rate is 1 − accuracy.
    pub const EQUAL: Self = Self {
        false_positive: 1.0,
        false_negative: 1.0,
    };

    /// The canonical name of the error rate with these costs: `error_rate`, `error_rate(fp=1,fn=5)`.
    pub fn name(self) -> String {
        if self == Self::EQUAL {
            return "error_rate".into();
        }
        let [fp, fnc] = [self.false_positive, self.false_negative];
        format!("error_rate(fp={fp},fn={fnc})")
    }

    /// The costs in a canonical name; `None` for every other name.
    pub fn parse(name: &str) -> Option<Self> {
        if name == "error_rate" {
            return Some(Self::EQUAL);
        }
        let inside = name.strip_prefix("error_rate(fp=")?.strip_suffix(')')?;
        let (fp, fnc) = inside.split_once(",fn=")?;
        let costs = Self {
            false_positive: fp.parse().ok()?,
            false_negative: fnc.parse().ok()?,
        };
        costs.are_sound().then_some(costs)
    }

    /// Whether both are finite and above 0.
    pub fn are_sound(self) -> bool {
        let sound = |cost: f64| cost.is_finite() && cost > 0.0;
        sound(self.false_positive) && sound(self.false_negative)
    }

    /// The mean cost of the same decision for all rows, whichever decision is cheaper.
    pub fn of_no_model(self, positive: f64, negative: f64) -> Option<f64> {
        let all_selected = self.false_positive * negative;
        let none_selected = self.false_negative * positive;
        share(all_selected.min(none_selected), positive + negative)
    }
}

/// A measure that an objective is a smooth version of, or stands in for; the smaller, the better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// 1 − accuracy, or the mean cost of decisions if the costs of errors differ.
    ErrorRate(Costs),
    /// The plain log loss of the scores: calibration does not decide which models are on a front.
    LogLoss,
    /// Largest minus smallest selection rate over the groups of an attribute.
    DemographicParity {
        /// Position of the attribute in the schema.
        attribute: usize,
    },
    /// Largest minus smallest true positive rate.
    EqualOpportunity {
        /// Position of the attribute in the schema.
        attribute: usize,
    },
    /// Largest minus smallest false positive rate.
    FalsePositiveRate {
        /// Position of the attribute in the schema.
        attribute: usize,
    },
    /// The larger of the differences between true positive rates and between false positive rates.
    EqualizedOdds {
        /// Position of the attribute in the schema.
        attribute: usize,
    },
    /// Mutual information of decision and attribute.
    MutualInformation {
        /// Position of the attribute in the schema.
        attribute: usize,
    },
    /// Largest minus smallest rate over groups, for one of more than two classes.
    OfClass {
        /// Position of the attribute in the schema.
        attribute: usize,
        /// The rates.
        rate: ClassRate,
        /// The class of the decisions, or of the rows.
        class: usize,
    },
    /// The root mean squared error of predicted numbers.
    Rmse,
    /// The mean absolute error of predicted numbers.
    Mae,
    /// Largest minus smallest mean prediction over the groups of an attribute.
    MeanDifference {
        /// Position of the attribute in the schema.
        attribute: usize,
    },
    /// The distance between the distributions of predicted numbers.
    DistributionDifference {
        /// Position of the attribute in the schema.
        attribute: usize,
        /// The distance.
        distance: Distance,
    },
    /// Largest minus smallest root mean squared (or mean absolute) error.
    LossDifference {
        /// Position of the attribute in the schema.
        attribute: usize,
        /// Whether errors are absolute.
        absolute: bool,
    },
    /// The largest root mean squared (or mean absolute) error of any group.
    WorstGroupLoss {
        /// Position of the attribute in the schema.
        attribute: usize,
        /// Whether errors are absolute.
        absolute: bool,
    },
}

impl Measure {
    /// The name of the error rate, which is not a column of a run; runs contain the accuracy
    /// instead.
    pub const ERROR_RATE: &'static str = "1 - accuracy";

    /// The canonical name: `demographic_parity_difference(sex)`.
    pub fn name(self, schema: &Schema) -> String {
        let (name, attribute) = match self {
            Self::ErrorRate(Costs::EQUAL) => return Self::ERROR_RATE.into(),
            Self::ErrorRate(costs) => return costs.name(),
            Self::LogLoss => return "log_loss".into(),
            Self::DemographicParity { attribute } => ("demographic_parity_difference", attribute),
            Self::EqualOpportunity { attribute } => ("equal_opportunity_difference", attribute),
            Self::FalsePositiveRate { attribute } => ("false_positive_rate_difference", attribute),
            Self::EqualizedOdds { attribute } => ("equalized_odds_difference", attribute),
            Self::MutualInformation { attribute } => ("mutual_information", attribute),
            Self::OfClass {
                attribute,
                rate,
                class,
            } => {
                let kind = match rate {
                    ClassRate::Decided => "demographic_parity_difference",
                    ClassRate::Right => "equal_opportunity_difference",
                    ClassRate::DecidedOfClass => "equalized_odds_difference",
                };
                let classes = schema.target.classes();
                let name = classes.map_or("", |classes| classes.names[class].as_str());
                return format!("{kind}[{name}]({})", schema.attributes[attribute].name);
            }
            Self::Rmse => return "rmse".into(),
            Self::Mae => return "mae".into(),
            Self::MeanDifference { attribute } => ("mean_difference", attribute),
            Self::DistributionDifference {
                attribute,
                distance,
            } => match distance {
                Distance::Largest => ("distribution_difference", attribute),
                Distance::Mean => ("mean_distribution_difference", attribute),
            },
            Self::LossDifference {
                attribute,
                absolute,
            } => match absolute {
                false => ("rmse_difference", attribute),
                true => ("mae_difference", attribute),
            },
            Self::WorstGroupLoss {
                attribute,
                absolute,
            } => match absolute {
                false => ("worst_group_rmse", attribute),
                true => ("worst_group_mae", attribute),
            },
        };
        format!("{name}({})", schema.attributes[attribute].name)
    }

    /// Its value; `None` if it is undefined on the rows.
    pub fn of(self, measures: &Measures) -> Option<f64> {
        match self {
            Self::ErrorRate(Costs::EQUAL) => measures.accuracy().map(|a| 1.0 - a),
            Self::ErrorRate(costs) => measures.overall.cost(costs),
            Self::LogLoss => measures.log_loss,
            Self::DemographicParity { attribute } => {
                measures.demographic_parity_difference(attribute)
            }
            Self::EqualOpportunity { attribute } => {
                measures.equal_opportunity_difference(attribute)
            }
            Self::FalsePositiveRate { attribute } => {
                measures.false_positive_rate_difference(attribute)
            }
            Self::EqualizedOdds { attribute } => measures.equalized_odds_difference(attribute),
            Self::MutualInformation { attribute } => measures.mutual_information(attribute),
            Self::OfClass {
                attribute,
                rate,
                class,
            } => measures.difference_of_class(attribute, rate, class),
            Self::Rmse => {
                let numbers = measures.numbers.as_ref()?;
                numbers.rmse(&numbers.overall)
            }
            Self::Mae => {
                let numbers = measures.numbers.as_ref()?;
                numbers.mae(&numbers.overall)
            }
            Self::MeanDifference { attribute } => measures.mean_difference(attribute),
            Self::DistributionDifference {
                attribute,
                distance,
            } => measures.distribution_difference(attribute, distance),
            Self::LossDifference {
                attribute,
                absolute,
            } => measures.loss_difference(attribute, absolute),
            Self::WorstGroupLoss {
                attribute,
                absolute,
            } => measures.worst_group_loss(attribute, absolute),
        }
    }

    /// Whether it depends only on decisions, so that moved thresholds can improve it.
    pub fn is_of_decisions(self) -> bool {
        matches!(
            self,
            Self::ErrorRate(_)
                | Self::DemographicParity { .. }
                | Self::EqualOpportunity { .. }
                | Self::FalsePositiveRate { .. }
                | Self::EqualizedOdds { .. }
                | Self::MutualInformation { .. }
                | Self::OfClass { .. }
        )
    }
}

/// The mutual information, in nats, of a group and an event that has these rates in groups with
/// these shares.
pub(crate) fn information(rates: &[f64], shares: &[f64]) -> f64 {
    let overall: f64 = rates.iter().zip(shares).map(|(r, p)| r * p).sum();
    let term = |part: f64, whole: f64| match part > 0.0 && whole > 0.0 {
        true => part * libm::log(part / whole),
        false => 0.0,
    };
    let of_group = |(r, p): (&f64, &f64)| p * (term(*r, overall) + term(1.0 - r, 1.0 - overall));
    // Only rounding could make it negative.
    rates.iter().zip(shares).map(of_group).sum::<f64>().max(0.0)
}

impl Measures {
    /// Measures without rows, for these attributes.
    pub fn empty(attributes: &[Attribute]) -> Self {
        Self {
            overall: Confusion::default(),
            log_loss: None,
            groups: attributes
                .iter()
                .map(|a| vec![Confusion::default(); a.groups.len()])
                .collect(),
            small: attributes.iter().map(|a| a.small.clone()).collect(),
            references: attributes.iter().map(|a| a.reference).collect(),
            probabilities: None,
            numbers: None,
            classes: None,
        }
    }

    /// The weight of all rows, unless the target is a number.
    fn weight(&self) -> f64 {
        let classes = self.classes.as_ref();
        classes.map_or_else(|| self.overall.count(), |of| of.overall.weight())
    }

    /// Share of right decisions; `None` without rows.
    pub fn accuracy(&self) -> Option<f64> {
        match &self.classes {
            Some(classes) => classes.overall.accuracy(),
            None => self.overall.accuracy(),
        }
    }

    /// The groups that are compared if only rows with this label count.
    fn compared(&self, attribute: usize, label: Option<f64>) -> impl Iterator<Item = &Confusion> {
        let small = self.small[attribute].with_label(label);
        let groups = self.groups[attribute].iter().enumerate();
        let is_large = |(g, _): &(usize, &Confusion)| !small.contains(&(*g as u32));
        groups.filter(is_large).map(|(_, group)| group)
    }

    /// Largest and smallest rate of the compared groups; `None` if one of them has no rate.
    fn extremes(
        &self,
        attribute: usize,
        label: Option<f64>,
        rate: fn(&Confusion) -> Option<f64>,
    ) -> Option<(f64, f64)> {
        let mut bounds = None;
        for group in self.compared(attribute, label) {
            let rate = rate(group)?;
            let (high, low) = bounds.unwrap_or((rate, rate));
            bounds = Some((rate.max(high), rate.min(low)));
        }
        bounds
    }

    fn difference(
        &self,
        attribute: usize,
        label: Option<f64>,
        rate: fn(&Confusion) -> Option<f64>,
    ) -> Option<f64> {
        let (high, low) = self.extremes(attribute, label, rate)?;
        Some(high - low)
    }

    /// Largest minus smallest selection rate over the groups.
    pub fn demographic_parity_difference(&self, attribute: usize) -> Option<f64> {
        if self.classes.is_some() {
            return self.largest_of_classes(attribute, ClassRate::Decided);
        }
        self.difference(attribute, None, Confusion::selection_rate)
    }

    /// Smallest over largest selection rate; `None` if no row is selected.
    pub fn demographic_parity_ratio(&self, attribute: usize) -> Option<f64> {
        if self.classes.is_some() {
            return self.smallest_ratio_of_classes(attribute);
        }
        let (high, low) = self.extremes(attribute, None, Confusion::selection_rate)?;
        share(low, high)
    }

    /// Largest minus smallest false negative rate (equivalently, true positive rate).
    pub fn equal_opportunity_difference(&self, attribute: usize) -> Option<f64> {
        if self.classes.is_some() {
            return self.largest_of_classes(attribute, ClassRate::Right);
        }
        self.difference(attribute, Some(1.0), Confusion::false_negative_rate)
    }

    /// Largest minus smallest false positive rate.
    pub fn false_positive_rate_difference(&self, attribute: usize) -> Option<f64> {
        self.difference(attribute, Some(-1.0), Confusion::false_positive_rate)
    }

    /// The larger of the two differences above.
    pub fn equalized_odds_difference(&self, attribute: usize) -> Option<f64> {
        if self.classes.is_some() {
            return self.largest_of_classes(attribute, ClassRate::DecidedOfClass);
        }
        let opportunity = self.equal_opportunity_difference(attribute)?;
        Some(opportunity.max(self.false_positive_rate_difference(attribute)?))
    }

    /// Mutual information of the decision and the group, in nats; `None` without rows.
    pub fn mutual_information(&self, attribute: usize) -> Option<f64> {
        let groups = self.compared(attribute, None);
        let groups: Vec<&Confusion> = groups.filter(|g| g.count() > 0.0).collect();
        let total: f64 = groups.iter().map(|g| g.count()).sum();
        let rates: Vec<f64> = groups.iter().filter_map(|g| g.selection_rate()).collect();
        let shares: Vec<f64> = groups.iter().map(|g| g.count() / total).collect();
        (!groups.is_empty()).then(|| information(&rates, &shares))
    }

    /// The measures of two sets of rows together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let (a, b) = (self.weight(), other.weight());
        let groups = self.groups.iter().zip(&other.groups);
        let add = |(own, others): (&Vec<Confusion>, &Vec<Confusion>)| {
            own.iter().zip(others).map(|(x, y)| x.with(y)).collect()
        };
        Self {
            overall: self.overall.with(&other.overall),
            log_loss: match (self.log_loss, other.log_loss) {
                (Some(x), Some(y)) => share(a * x + b * y, a + b),
                (x, y) => x.or(y),
            },
            groups: groups.map(add).collect(),
            small: self.small.clone(),
            references: self.references.clone(),
            // An area under the curve is not a sum over rows.
            probabilities: None,
            numbers: match (&self.numbers, &other.numbers) {
                (Some(own), Some(other)) => Some(own.with(other)),
                (own, other) => own.clone().or_else(|| other.clone()),
            },
            classes: match (&self.classes, &other.classes) {
                (Some(own), Some(other)) => Some(own.with(other)),
                (own, other) => own.clone().or_else(|| other.clone()),
            },
        }
    }

    /// The canonical names of all measures, in the order of [`Measures::values`].
    pub fn names(schema: &Schema) -> Vec<String> {
        if schema.target.unit().is_some() {
            return Self::number_names(schema);
        }
        if let Some(classes) = schema.target.classes() {
            return Self::class_names(schema, classes);
        }
        let overall = [
            "accuracy",
            "log_loss",
            "balanced_accuracy",
            "precision",
            "brier_score",
            "auc",
            "calibration_error",
            "ks",
        ];
        let mut names = overall.map(str::to_owned).to_vec();
        for attribute in &schema.attributes {
            let a = &attribute.name;
            let differences = [
                "demographic_parity_difference",
                "demographic_parity_ratio",
                "equal_opportunity_difference",
                "false_positive_rate_difference",
                "equalized_odds_difference",
                "mutual_information",
            ];
            names.extend(differences.map(|name| format!("{name}({a})")));
            names.extend(reference::names(attribute));
            for group in &attribute.groups {
                let of_group = [
                    "count",
                    "selection_rate",
                    "false_negative_rate",
                    "false_positive_rate",
                    "accuracy",
                    "true_positives",
                    "false_positives",
                    "true_negatives",
                    "false_negatives",
                    "balanced_accuracy",
                    "precision",
                    "brier_score",
                    "auc",
                    "calibration_error",
                ];
                names.extend(of_group.map(|name| format!("{name}({a}={group})")));
            }
        }
        names
    }

    /// All measures; `None` for those that are undefined on these rows. The log loss is that of the
    /// calibrated probabilities, if these were requested.
    pub fn values(&self) -> Vec<Option<f64>> {
        if let Some(numbers) = &self.numbers {
            return self.number_values(numbers);
        }
        if let Some(classes) = &self.classes {
            return self.class_values(classes);
        }
        let probabilities = self.probabilities.as_ref();
        let quality = probabilities.map(|p| p.overall).unwrap_or_default();
        let mut values = vec![
            self.overall.accuracy(),
            probabilities.map_or(self.log_loss, |p| p.log_loss),
            self.overall.balanced_accuracy(),
            self.overall.precision(),
            quality.brier_score,
            quality.auc,
            quality.calibration_error,
            quality.ks,
        ];
        for (a, groups) in self.groups.iter().enumerate() {
            values.extend([
                self.demographic_parity_difference(a),
                self.demographic_parity_ratio(a),
                self.equal_opportunity_difference(a),
                self.false_positive_rate_difference(a),
                self.equalized_odds_difference(a),
                self.mutual_information(a),
            ]);
            values.extend(self.reference_values(a));
            for (i, g) in groups.iter().enumerate() {
                let quality = probabilities.and_then(|p| p.groups.get(a)?.get(i));
                let quality = quality.copied().unwrap_or_default();
                values.extend([
                    Some(g.count()),
                    g.selection_rate(),
                    g.false_negative_rate(),
                    g.false_positive_rate(),
                    g.accuracy(),
                    Some(g.true_positives),
                    Some(g.false_positives),
                    Some(g.true_negatives),
                    Some(g.false_negatives),
                    g.balanced_accuracy(),
                    g.precision(),
                    quality.brier_score,
                    quality.auc,
                    quality.calibration_error,
                ]);
            }
        }
        values
    }
}

/// Measures of many models on the same rows, in one pass over them.
pub fn measure(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
) -> Result<Vec<Measures>, Error> {
    let schema = rows.schema();
    if schema.target.unit().is_some() {
        return number::measure_numbers(predictor, rows, points);
    }
    if schema.target.classes().is_some() {
        return class::measure_classes(predictor, rows, points);
    }
    let attributes = schema.attributes.len();
    let decisions = |attribute: Option<usize>| Statistics::ByCell {
        output: Output::Step,
        cells: Cells {
            attribute,
            labels: Labels::Apart,
        },
    };
    let mut statistics = vec![
        Statistics::ByCell {
            output: Output::Loss,
            cells: Cells::ALL,
        },
        decisions(None),
    ];
    statistics.extend((0..attributes).map(|attribute| decisions(Some(attribute))));
    let wanted = Wanted::Sums {
        statistics: Cow::Borrowed(&statistics),
    };
    let sums = rows.sum(&Pass {
        map: Map::of(predictor),
        points: Cow::Borrowed(points),
        wanted,
        over: Over::All,
    })?;
    let n_weights = statistics.iter().map(|s| s.n_weights(schema)).sum();
    let (weights, sums) = sums.split_at(n_weights);
    let per_point: usize = statistics.iter().map(|s| s.n_sums(schema)).sum();
    let total = weights[0] + weights[1];
    let of_point = |sums: &[f64]| {
        let (mut weights, mut decided) = (&weights[2..], &sums[1..]);
        // By label, positive first, and group.
        let mut next = |n_groups: usize| -> Vec<Confusion> {
            let (own_weights, other_weights) = weights.split_at(2 * n_groups);
            let (selected, others) = decided.split_at(2 * n_groups);
            (weights, decided) = (other_weights, others);
            let confusion = |group: usize| Confusion {
                true_positives: selected[group],
                false_positives: selected[n_groups + group],
                true_negatives: own_weights[n_groups + group] - selected[n_groups + group],
                false_negatives: own_weights[group] - selected[group],
            };
            (0..n_groups).map(confusion).collect()
        };
        let overall = next(1)[0];
        let groups = schema.attributes.iter().map(|a| next(a.groups.len()));
        Measures {
            overall,
            log_loss: share(sums[0], total),
            groups: groups.collect(),
            small: schema.attributes.iter().map(|a| a.small.clone()).collect(),
            references: schema.attributes.iter().map(|a| a.reference).collect(),
            probabilities: None,
            numbers: None,
            classes: None,
        }
    };
    Ok(sums.chunks_exact(per_point).map(of_point).collect())
}
