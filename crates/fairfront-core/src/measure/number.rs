//! Measures of predicted numbers.

use super::{Measures, reference, share};
use crate::engine::Engine;
use crate::objective::{Distance, Moment, Output, Residual};
use crate::predictor::{Predictor, predictor_of};
use crate::region_sums::RegionSums;
use crate::{Attribute, Error, Points, Schema, Unit, regions_of};

/// The sums of each set of rows, apart from the shares at the thresholds.
const SUMS: [Output; 7] = [
    Output::Moment(Moment::Label),
    Output::Moment(Moment::LabelSquared),
    Output::Score,
    Output::Moment(Moment::ScoreSquared),
    Output::Residual(Residual::Squared),
    Output::Residual(Residual::Absolute { mu: 0.0 }),
    Output::Moment(Moment::ResidualToTheFourth),
];

/// Weighted sums of predictions φ and labels y over some rows, in standard deviations of the target from
/// its mean.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NumberSums {
    /// Weight of the rows.
    pub weight: f64,
    /// Σ w y.
    pub label: f64,
    /// Σ w y².
    pub label_squared: f64,
    /// Σ w φ.
    pub score: f64,
    /// Σ w φ².
    pub score_squared: f64,
    /// Σ w (φ − y)².
    pub residual_squared: f64,
    /// Σ w |φ − y|.
    pub residual_absolute: f64,
    /// Σ w (φ − y)⁴.
    pub residual_fourth: f64,
    /// The weight of the rows with a prediction of at most each threshold of the unit.
    pub at_most: Vec<f64>,
}

impl NumberSums {
    /// The sums over no rows.
    fn empty(unit: &Unit) -> Self {
        Self {
            at_most: vec![0.0; unit.thresholds.len()],
            ..Self::default()
        }
    }

    /// Adds a row, in standard deviations of the target from its mean.
    pub fn add(&mut self, label: f64, score: f64, weight: f64, unit: &Unit) {
        let error = score - label;
        let squared = error * error;
        self.weight += weight;
        self.label += weight * label;
        self.label_squared += weight * label * label;
        self.score += weight * score;
        self.score_squared += weight * score * score;
        self.residual_squared += weight * squared;
        self.residual_absolute += weight * error.abs();
        self.residual_fourth += weight * squared * squared;
        let below = unit.thresholds.partition_point(|tau| *tau < score);
        for at_most in &mut self.at_most[below..] {
            *at_most += weight;
        }
    }

    /// The sums over two sets of rows together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let at_most = match self.at_most.is_empty() {
            true => other.at_most.clone(),
            false => {
                let pairs = self.at_most.iter().zip(&other.at_most);
                pairs.map(|(a, b)| a + b).collect()
            }
        };
        Self {
            weight: self.weight + other.weight,
            label: self.label + other.label,
            label_squared: self.label_squared + other.label_squared,
            score: self.score + other.score,
            score_squared: self.score_squared + other.score_squared,
            residual_squared: self.residual_squared + other.residual_squared,
            residual_absolute: self.residual_absolute + other.residual_absolute,
            residual_fourth: self.residual_fourth + other.residual_fourth,
            at_most,
        }
    }

    /// The share of predictions of at most each threshold; `None` without rows.
    pub fn shares(&self) -> Option<Vec<f64>> {
        let of = |weight: &f64| share(*weight, self.weight);
        self.at_most.iter().map(of).collect()
    }
}

/// Measures of a model that predicts a number, in the unit of the target.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NumberMeasures {
    /// The mean of the target's unit.
    pub center: f64,
    /// Its standard deviation.
    pub scale: f64,
    /// Sums over all rows.
    pub overall: NumberSums,
    /// Sums by attribute and group; rows of unknown group are only in `overall`.
    pub groups: Vec<Vec<NumberSums>>,
}

impl NumberMeasures {
    /// The measures without rows.
    pub fn empty(unit: &Unit, attributes: &[Attribute]) -> Self {
        let of = |attribute: &Attribute| vec![NumberSums::empty(unit); attribute.groups.len()];
        Self {
            center: unit.center,
            scale: unit.scale,
            overall: NumberSums::empty(unit),
            groups: attributes.iter().map(of).collect(),
        }
    }

    /// The root of the mean squared error; `None` without rows.
    pub fn rmse(&self, of: &NumberSums) -> Option<f64> {
        share(of.residual_squared, of.weight).map(|mse| self.scale * mse.sqrt())
    }

    /// The mean absolute error; `None` without rows.
    pub fn mae(&self, of: &NumberSums) -> Option<f64> {
        share(of.residual_absolute, of.weight).map(|mae| self.scale * mae)
    }

    /// The coefficient of determination: 1 minus the mean squared error divided by the variance of the
    /// target in these rows; `None` if all labels are equal.
    pub fn r2(&self, of: &NumberSums) -> Option<f64> {
        let mean = share(of.label, of.weight)?;
        let variance = of.label_squared / of.weight - mean * mean;
        // Rounding leaves a little variance even if all labels are equal.
        let least = 1e-12 * (of.label_squared / of.weight);
        let error = of.residual_squared / of.weight;
        (variance > least).then(|| 1.0 - error / variance)
    }

    /// The mean prediction; `None` without rows.
    pub fn mean_prediction(&self, of: &NumberSums) -> Option<f64> {
        share(of.score, of.weight).map(|mean| self.center + self.scale * mean)
    }

    /// The standard deviation of the predictions; `None` without rows, or if all predictions are equal.
    pub fn deviation(&self, of: &NumberSums) -> Option<f64> {
        let mean = share(of.score, of.weight)?;
        let squares = of.score_squared / of.weight;
        let variance = squares - mean * mean;
        // Rounding leaves a little variance even if all predictions are equal.
        (variance > 1e-12 * squares).then(|| self.scale * variance.sqrt())
    }

    /// The mean of the target; `None` without rows.
    pub fn mean_target(&self, of: &NumberSums) -> Option<f64> {
        share(of.label, of.weight).map(|mean| self.center + self.scale * mean)
    }

    /// The mean of target minus prediction; `None` without rows.
    pub fn mean_residual(&self, of: &NumberSums) -> Option<f64> {
        share(of.label - of.score, of.weight).map(|mean| self.scale * mean)
    }

    /// The loss of a group: mean absolute error, or root mean squared error.
    fn loss(&self, of: &NumberSums, absolute: bool) -> Option<f64> {
        match absolute {
            true => self.mae(of),
            false => self.rmse(of),
        }
    }

    /// The measures of two sets of rows together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let groups = self.groups.iter().zip(&other.groups);
        let add = |(own, others): (&Vec<NumberSums>, &Vec<NumberSums>)| {
            own.iter().zip(others).map(|(a, b)| a.with(b)).collect()
        };
        Self {
            center: self.center,
            scale: self.scale,
            overall: self.overall.with(&other.overall),
            groups: groups.map(add).collect(),
        }
    }
}

/// Names of measures over all rows, per attribute and per group.
const OVERALL: [&str; 6] = [
    "rmse",
    "mae",
    "r2",
    "mean_prediction",
    "mean_target",
    "mean_residual",
];
const OF_ATTRIBUTE: [&str; 7] = [
    "mean_difference",
    "distribution_difference",
    "mean_distribution_difference",
    "rmse_difference",
    "mae_difference",
    "worst_group_rmse",
    "worst_group_mae",
];
const OF_GROUP: [&str; 6] = [
    "count",
    "mean_prediction",
    "mean_target",
    "mean_residual",
    "rmse",
    "mae",
];

impl Measures {
    /// The measures of predicted numbers and the sums of the compared groups of an attribute; `None` for
    /// other targets.
    fn compared_numbers(&self, attribute: usize) -> Option<(&NumberMeasures, Vec<&NumberSums>)> {
        let numbers = self.numbers.as_ref()?;
        let small = self.small.get(attribute)?.with_label(None);
        let groups = numbers.groups.get(attribute)?.iter().enumerate();
        let compared = groups.filter(|(g, _)| !small.contains(&(*g as u32)));
        Some((numbers, compared.map(|(_, sums)| sums).collect()))
    }

    /// Smallest and largest value of the compared groups; `None` if one of them has none.
    fn number_extremes(
        &self,
        attribute: usize,
        value: impl Fn(&NumberMeasures, &NumberSums) -> Option<f64>,
    ) -> Option<(f64, f64)> {
        let (numbers, groups) = self.compared_numbers(attribute)?;
        let values: Option<Vec<f64>> = groups.iter().map(|sums| value(numbers, sums)).collect();
        let values = values.filter(|values| !values.is_empty())?;
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some((low, high))
    }

    /// Largest minus smallest mean prediction over the groups.
    pub fn mean_difference(&self, attribute: usize) -> Option<f64> {
        let (low, high) = self.number_extremes(attribute, NumberMeasures::mean_prediction)?;
        Some(high - low)
    }

    /// The largest or the mean difference, over the thresholds of the unit, between groups in the share of
    /// predictions of at most the threshold.
    pub fn distribution_difference(&self, attribute: usize, distance: Distance) -> Option<f64> {
        let (_, groups) = self.compared_numbers(attribute)?;
        let shares: Option<Vec<Vec<f64>>> = groups.iter().map(|sums| sums.shares()).collect();
        let shares = shares?;
        let n = shares.first()?.len();
        let range = |threshold: usize| {
            let of = shares.iter().map(|shares| shares[threshold]);
            let high = of.clone().fold(f64::NEG_INFINITY, f64::max);
            high - of.fold(f64::INFINITY, f64::min)
        };
        let ranges = (0..n).map(range);
        match distance {
            Distance::Largest => Some(ranges.fold(0.0, f64::max)),
            Distance::Mean => share(ranges.sum(), n as f64),
        }
    }

    /// Largest minus smallest loss over the groups: mean absolute or root mean squared error.
    pub fn loss_difference(&self, attribute: usize, absolute: bool) -> Option<f64> {
        let loss = |numbers: &NumberMeasures, of: &NumberSums| numbers.loss(of, absolute);
        let (low, high) = self.number_extremes(attribute, loss)?;
        Some(high - low)
    }

    /// The largest loss of any group.
    pub fn worst_group_loss(&self, attribute: usize, absolute: bool) -> Option<f64> {
        let loss = |numbers: &NumberMeasures, of: &NumberSums| numbers.loss(of, absolute);
        self.number_extremes(attribute, loss).map(|(_, high)| high)
    }

    /// The canonical names of all measures of numbers, in the order of [`Measures::number_values`].
    pub(super) fn number_names(schema: &Schema) -> Vec<String> {
        let mut names = OVERALL.map(str::to_owned).to_vec();
        for attribute in &schema.attributes {
            let a = &attribute.name;
            names.extend(OF_ATTRIBUTE.map(|name| format!("{name}({a})")));
            names.extend(reference::number_names(attribute));
            for group in &attribute.groups {
                names.extend(OF_GROUP.map(|name| format!("{name}({a}={group})")));
            }
        }
        names
    }

    pub(super) fn number_values(&self, numbers: &NumberMeasures) -> Vec<Option<f64>> {
        let all = &numbers.overall;
        let mut values = vec![
            numbers.rmse(all),
            numbers.mae(all),
            numbers.r2(all),
            numbers.mean_prediction(all),
            numbers.mean_target(all),
            numbers.mean_residual(all),
        ];
        for (a, groups) in numbers.groups.iter().enumerate() {
            values.extend([
                self.mean_difference(a),
                self.distribution_difference(a, Distance::Largest),
                self.distribution_difference(a, Distance::Mean),
                self.loss_difference(a, false),
                self.loss_difference(a, true),
                self.worst_group_loss(a, false),
                self.worst_group_loss(a, true),
            ]);
            values.extend(self.standardized_differences(a));
            for of in groups {
                values.extend([
                    Some(of.weight),
                    numbers.mean_prediction(of),
                    numbers.mean_target(of),
                    numbers.mean_residual(of),
                    numbers.rmse(of),
                    numbers.mae(of),
                ]);
            }
        }
        values
    }
}

/// Measures of many models of a number on the same rows, in one pass over them.
pub(super) fn measure_numbers(
    predictor: &dyn Predictor,
    rows: &dyn Engine,
    points: &Points,
) -> Result<Vec<Measures>, Error> {
    let schema = rows.schema();
    let Some(unit) = schema.target.unit() else {
        return Ok(Vec::new());
    };
    let outputs: Vec<Output> = SUMS
        .into_iter()
        .chain([Output::AtMost { tau: 0.0 }])
        .collect();
    let found = RegionSums::of(predictor, rows, points, &outputs)?;
    let of_point = |sums: Vec<Vec<f64>>| {
        let of_region = |region: usize| {
            let sum = |output: usize| sums[output][region];
            NumberSums {
                weight: found.weights[region],
                label: sum(0),
                label_squared: sum(1),
                score: sum(2),
                score_squared: sum(3),
                residual_squared: sum(4),
                residual_absolute: sum(5),
                residual_fourth: sum(6),
                at_most: sums[SUMS.len()..].iter().map(|of| of[region]).collect(),
            }
        };
        let of_attribute = |index: usize| regions_of(schema, index).map(of_region).collect();
        Measures {
            numbers: Some(NumberMeasures {
                center: unit.center,
                scale: unit.scale,
                overall: of_region(0),
                groups: (0..schema.attributes.len()).map(of_attribute).collect(),
            }),
            ..Measures::empty(&schema.attributes)
        }
    };
    Ok(found.points.into_iter().map(of_point).collect())
}

/// For each threshold of the unit, the share of rows with a target of at most the threshold, by region: all
/// rows, then the groups of each attribute. Empty if the target is not a number; `None` for regions without
/// rows.
pub fn target_shares(rows: &dyn Engine) -> Result<Vec<Option<Vec<f64>>>, Error> {
    let schema = rows.schema();
    if schema.target.unit().is_none() {
        return Ok(Vec::new());
    }
    let predictor = predictor_of(schema);
    let mut points = Points::new(predictor.n_params(schema));
    points.push(&vec![0.0; predictor.n_params(schema)]);
    let found = RegionSums::of(&*predictor, rows, &points, &[Output::LabelAtMost])?;
    let of_region = |(region, weight): (usize, &f64)| {
        let sums = found.points.first()?.iter();
        sums.map(|of| share(of[region], *weight)).collect()
    };
    Ok(found.weights.iter().enumerate().map(of_region).collect())
}
