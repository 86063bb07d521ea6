//! Measures of decisions between more than two classes.

use std::borrow::Cow;

use super::{Measures, share};
use crate::engine::{Cells, Engine, Labels, Map, Over, Pass, Statistics, Wanted};
use crate::objective::{ClassOutput, ClassRate, Output};
use crate::predictor::Predictor;
use crate::{Attribute, Calibration, Classes, Error, Points, Schema};

/// The largest number of classes for which runs contain the counts of all pairs of class and decision.
pub const MOST_PAIRS: usize = 10;

/// Measures of each class over all rows.
const OF_CLASS: [&str; 4] = ["selection_rate", "recall", "precision", "f1"];
/// Differences between groups.
const DIFFERENCES: [&str; 3] = [
    "demographic_parity_difference",
    "equal_opportunity_difference",
    "equalized_odds_difference",
];
/// Measures of each class and group.
const OF_GROUP_AND_CLASS: [&str; 3] = ["selection_rate", "recall", "precision"];

/// Weighted counts of rows by class and decision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassCounts {
    /// Class by class, the weight of its rows with each decision.
    counts: Vec<f64>,
    n_classes: usize,
}

impl ClassCounts {
    /// No rows.
    pub fn new(n_classes: usize) -> Self {
        Self {
            counts: vec![0.0; n_classes * n_classes],
            n_classes,
        }
    }

    /// Adds a row.
    pub fn add(&mut self, class: usize, decision: usize, weight: f64) {
        self.counts[class * self.n_classes + decision] += weight;
    }

    /// The counts of two sets of rows together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let pairs = self.counts.iter().zip(&other.counts);
        Self {
            counts: pairs.map(|(a, b)| a + b).collect(),
            n_classes: self.n_classes,
        }
    }

    /// The weight of the rows of a class with a decision.
    pub fn of(&self, class: usize, decision: usize) -> f64 {
        self.counts[class * self.n_classes + decision]
    }

    /// The weight of all rows.
    pub fn weight(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// The weight of the rows of a class.
    pub fn weight_of(&self, class: usize) -> f64 {
        let first = class * self.n_classes;
        self.counts[first..first + self.n_classes].iter().sum()
    }

    /// The weight of the rows with a decision.
    pub fn decided(&self, decision: usize) -> f64 {
        let of_decision = self.counts[decision..].iter().step_by(self.n_classes);
        of_decision.sum()
    }

    /// Share of right decisions; `None` without rows.
    pub fn accuracy(&self) -> Option<f64> {
        let right = self.counts.iter().step_by(self.n_classes + 1);
        share(right.sum(), self.weight())
    }

    /// Share of wrong decisions if all rows are decided as the most frequent class; `None` without rows.
    pub fn least_error(&self) -> Option<f64> {
        let weights = (0..self.n_classes).map(|class| self.weight_of(class));
        share(weights.fold(0.0, f64::max), self.weight()).map(|right| 1.0 - right)
    }

    /// Share of right decisions among the rows of a class; `None` without such rows.
    pub fn recall(&self, class: usize) -> Option<f64> {
        share(self.of(class, class), self.weight_of(class))
    }

    /// Share of rows of a class among the rows that are decided so; `None` without such rows.
    pub fn precision(&self, class: usize) -> Option<f64> {
        share(self.of(class, class), self.decided(class))
    }

    /// The harmonic mean of precision and recall; `None` if a class has neither rows nor decisions.
    pub fn f1(&self, class: usize) -> Option<f64> {
        let both = self.weight_of(class) + self.decided(class);
        share(2.0 * self.of(class, class), both)
    }

    /// The mean recall of the classes with rows; `None` without rows.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        self.mean(Self::recall)
    }

    /// The mean F1 score of the classes with rows or decisions; `None` without rows.
    pub fn macro_f1(&self) -> Option<f64> {
        self.mean(Self::f1)
    }

    fn mean(&self, of: fn(&Self, usize) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = (0..self.n_classes).filter_map(|c| of(self, c)).collect();
        share(values.iter().sum(), values.len() as f64)
    }

    /// Share decided for a class, or at least as high as it if classes are ordered; `None` without rows.
    pub fn selection_rate(&self, class: usize, ordered: bool) -> Option<f64> {
        let decisions = class..if ordered { self.n_classes } else { class + 1 };
        share(decisions.map(|d| self.decided(d)).sum(), self.weight())
    }

    /// Share of the rows of a class that are decided for another class, or at least as high as it if classes
    /// are ordered; `None` without such rows.
    pub fn rate(&self, class: usize, decision: usize, ordered: bool) -> Option<f64> {
        let decisions = decision..if ordered {
            self.n_classes
        } else {
            decision + 1
        };
        let decided = decisions.map(|d| self.of(class, d)).sum();
        share(decided, self.weight_of(class))
    }
}

/// Measures of a model that decides between more than two classes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassMeasures {
    /// Whether decisions are compared cumulatively.
    pub ordered: bool,
    /// The log loss of the calibrated probabilities, if requested.
    pub calibrated_loss: Option<f64>,
    /// Over all rows.
    pub overall: ClassCounts,
    /// By attribute and group; rows of unknown group are only in `overall`.
    pub groups: Vec<Vec<ClassCounts>>,
}

impl ClassMeasures {
    /// The measures without rows.
    pub fn empty(classes: &Classes, attributes: &[Attribute]) -> Self {
        let none = ClassCounts::new(classes.len());
        let of = |attribute: &Attribute| vec![none.clone(); attribute.groups.len()];
        Self {
            ordered: classes.ordered,
            calibrated_loss: None,
            groups: attributes.iter().map(of).collect(),
            overall: none,
        }
    }

    /// The measures of two sets of rows together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let add = |(own, others): (&Vec<ClassCounts>, &Vec<ClassCounts>)| {
            own.iter().zip(others).map(|(x, y)| x.with(y)).collect()
        };
        Self {
            ordered: self.ordered,
            calibrated_loss: None,
            overall: self.overall.with(&other.overall),
            groups: self.groups.iter().zip(&other.groups).map(add).collect(),
        }
    }

    fn n_classes(&self) -> usize {
        self.overall.n_classes
    }
}

impl Measures {
    /// The largest of these ranges over the compared groups of an attribute; `None` if a group lacks a rate.
    fn class_range(
        &self,
        attribute: usize,
        label: Option<usize>,
        rate: impl Fn(&ClassCounts) -> Option<f64>,
    ) -> Option<(f64, f64)> {
        let classes = self.classes.as_ref()?;
        let small = self.small[attribute].with_label(label.map(|class| class as f64));
        let mut bounds: Option<(f64, f64)> = None;
        for (g, group) in classes.groups[attribute].iter().enumerate() {
            if small.contains(&(g as u32)) {
                continue;
            }
            let rate = rate(group)?;
            let (low, high) = bounds.unwrap_or((rate, rate));
            bounds = Some((low.min(rate), high.max(rate)));
        }
        bounds
    }

    /// Largest minus smallest rate over groups, for one class.
    pub(super) fn difference_of_class(
        &self,
        attribute: usize,
        rate: ClassRate,
        class: usize,
    ) -> Option<f64> {
        let classes = self.classes.as_ref()?;
        let ordered = classes.ordered;
        let size = |(low, high): (f64, f64)| high - low;
        match rate {
            ClassRate::Decided => {
                let rate = |group: &ClassCounts| group.selection_rate(class, ordered);
                self.class_range(attribute, None, rate).map(size)
            }
            ClassRate::Right => {
                let rate = |group: &ClassCounts| group.recall(class);
                self.class_range(attribute, Some(class), rate).map(size)
            }
            ClassRate::DecidedOfClass => {
                let mut largest: f64 = 0.0;
                for decision in 0..classes.n_classes() {
                    let rate = |group: &ClassCounts| group.rate(class, decision, ordered);
                    let range = self.class_range(attribute, Some(class), rate)?;
                    largest = largest.max(size(range));
                }
                Some(largest)
            }
        }
    }

    /// The largest difference between groups over all classes.
    pub(super) fn largest_of_classes(&self, attribute: usize, rate: ClassRate) -> Option<f64> {
        let n_classes = self.classes.as_ref()?.n_classes();
        let mut largest: f64 = 0.0;
        for class in 0..n_classes {
            largest = largest.max(self.difference_of_class(attribute, rate, class)?);
        }
        Some(largest)
    }

    /// The smallest ratio between groups of the shares of any decision; for ordered classes, of decisions at
    /// least as high as any but the lowest class.
    pub(super) fn smallest_ratio_of_classes(&self, attribute: usize) -> Option<f64> {
        let classes = self.classes.as_ref()?;
        let mut smallest: Option<f64> = None;
        for class in 0..classes.n_classes() {
            let rate = |group: &ClassCounts| group.selection_rate(class, classes.ordered);
            let (low, high) = self.class_range(attribute, None, rate)?;
            // A class that no group is decided for has no ratio.
            let Some(ratio) = share(low, high) else {
                continue;
            };
            smallest = Some(smallest.map_or(ratio, |least| least.min(ratio)));
        }
        smallest
    }

    /// The canonical names of all measures of classes, in the order of [`Measures::class_values`].
    pub(super) fn class_names(schema: &Schema, classes: &Classes) -> Vec<String> {
        let mut names: Vec<String> = ["accuracy", "log_loss", "balanced_accuracy", "macro_f1"]
            .map(str::to_owned)
            .into();
        let pairs = pairs(classes);
        for class in &classes.names {
            names.extend(OF_CLASS.map(|name| format!("{name}[{class}]")));
        }
        names.extend(pairs.iter().map(|pair| format!("decisions[{pair}]")));
        for attribute in &schema.attributes {
            let a = &attribute.name;
            names.extend(DIFFERENCES.map(|name| format!("{name}({a})")));
            names.push(format!("demographic_parity_ratio({a})"));
            for class in &classes.names {
                names.extend(DIFFERENCES.map(|name| format!("{name}[{class}]({a})")));
            }
            for group in &attribute.groups {
                let of = format!("({a}={group})");
                let overall = ["count", "accuracy", "balanced_accuracy", "macro_f1"];
                names.extend(overall.map(|name| format!("{name}{of}")));
                for class in &classes.names {
                    names.extend(OF_GROUP_AND_CLASS.map(|name| format!("{name}[{class}]{of}")));
                }
                names.extend(pairs.iter().map(|pair| format!("decisions[{pair}]{of}")));
            }
        }
        names
    }

    pub(super) fn class_values(&self, classes: &ClassMeasures) -> Vec<Option<f64>> {
        let all = &classes.overall;
        let k = classes.n_classes();
        let rates = [
            ClassRate::Decided,
            ClassRate::Right,
            ClassRate::DecidedOfClass,
        ];
        let counts = |of: &ClassCounts| -> Vec<Option<f64>> {
            match k > MOST_PAIRS {
                true => Vec::new(),
                false => of.counts.iter().copied().map(Some).collect(),
            }
        };
        let mut values = vec![
            all.accuracy(),
            classes.calibrated_loss.or(self.log_loss),
            all.balanced_accuracy(),
            all.macro_f1(),
        ];
        for class in 0..k {
            values.extend([
                all.selection_rate(class, classes.ordered),
                all.recall(class),
                all.precision(class),
                all.f1(class),
            ]);
        }
        values.extend(counts(all));
        for (a, groups) in classes.groups.iter().enumerate() {
            values.extend(rates.map(|rate| self.largest_of_classes(a, rate)));
            values.push(self.smallest_ratio_of_classes(a));
            for class in 0..k {
                values.extend(rates.map(|rate| self.difference_of_class(a, rate, class)));
            }
            for of in groups {
                values.extend([
                    Some(of.weight()),
                    of.accuracy(),
                    of.balanced_accuracy(),
                    of.macro_f1(),
                ]);
                for class in 0..k {
                    values.extend([
                        of.selection_rate(class, classes.ordered),
                        of.recall(class),
                        of.precision(class),
                    ]);
                }
                values.extend(counts(of));
            }
        }
        values
    }
}

/// Pairs of class and decision, if there are few enough.
fn pairs(classes: &Classes) -> Vec<String> {
    let names = match classes.len() > MOST_PAIRS {
        true => &[][..],
        false => &classes.names,
    };
    let of_class = |class| {
        names
            .iter()
            .map(move |decision| format!("{class}>{decision}"))
    };
    names.iter().flat_map(of_class).collect()
}

/// Measures of many models of classes on the same rows, in one pass over them.
pub(super) fn measure_classes(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
) -> Result<Vec<Measures>, Error> {
    let schema = rows.schema();
    let Some(classes) = schema.target.classes() else {
        return Ok(Vec::new());
    };
    let k = classes.len();
    let decisions = |attribute: Option<usize>| Statistics::ByCell {
        output: Output::Class(ClassOutput::Each { tau: 0.0 }),
        cells: Cells {
            attribute,
            labels: Labels::Classes(k as u32),
        },
    };
    let mut statistics = vec![
        Statistics::ByCell {
            output: Output::Class(ClassOutput::Loss),
            cells: Cells::ALL,
        },
        decisions(None),
    ];
    statistics.extend((0..schema.attributes.len()).map(|attribute| decisions(Some(attribute))));
    let sums = rows.sum(&Pass {
        map: Map::of(predictor),
        points: Cow::Borrowed(points),
        wanted: Wanted::Sums {
            statistics: Cow::Borrowed(&statistics),
        },
        over: Over::All,
    })?;
    let n_weights = statistics.iter().map(|s| s.n_weights(schema)).sum();
    let (weights, sums) = sums.split_at(n_weights);
    let per_point: usize = statistics.iter().map(|s| s.n_sums(schema)).sum();
    let total: f64 = weights[..k].iter().sum();
    let of_point = |sums: &[f64]| {
        let mut rest = &sums[1..];
        // By decision, class and group.
        let mut next = |n_groups: usize| -> Vec<ClassCounts> {
            let (own, others) = rest.split_at(k * k * n_groups);
            rest = others;
            let of_group = |group: usize| {
                let mut counts = ClassCounts::new(k);
                for decision in 0..k {
                    for class in 0..k {
                        counts.add(
                            class,
                            decision,
                            own[(decision * k + class) * n_groups + group],
                        );
                    }
                }
                counts
            };
            (0..n_groups).map(of_group).collect()
        };
        let overall = next(1).swap_remove(0);
        let groups = schema.attributes.iter().map(|a| next(a.groups.len()));
        Measures {
            log_loss: share(sums[0], total),
            classes: Some(ClassMeasures {
                ordered: classes.ordered,
                calibrated_loss: None,
                overall,
                groups: groups.collect(),
            }),
            ..Measures::empty(&schema.attributes)
        }
    };
    Ok(sums.chunks_exact(per_point).map(of_point).collect())
}

/// Adds the log losses of calibrated probabilities, with one calibration per model.
pub(crate) fn add_calibrated_losses(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
    calibrations: &[Calibration],
    measures: &mut [Measures],
) -> Result<(), Error> {
    let schema = rows.schema();
    let statistics = [Statistics::ByCell {
        output: Output::Class(ClassOutput::Loss),
        cells: Cells::ALL,
    }];
    let mut scaled = Points::new(points.n_params());
    for (model, point) in points.iter().enumerate() {
        let factor = calibrations.get(model).copied().unwrap_or_default().slope;
        let point_of = predictor.scaled(schema, point, factor);
        scaled.push(point_of.as_deref().unwrap_or(point));
    }
    let sums = rows.sum(&Pass {
        map: Map::of(predictor),
        points: Cow::Borrowed(&scaled),
        wanted: Wanted::Sums {
            statistics: Cow::Borrowed(&statistics),
        },
        over: Over::All,
    })?;
    let (weights, sums) = sums.split_at(statistics[0].n_weights(schema));
    let total: f64 = weights.iter().sum();
    for (measures, sum) in measures.iter_mut().zip(sums) {
        if let Some(classes) = &mut measures.classes {
            classes.calibrated_loss = share(*sum, total);
        }
    }
    Ok(())
}
