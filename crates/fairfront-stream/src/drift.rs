//! Measures how the population and the front changed with a batch.

use fairfront_core::{Classes, Dataset, Target};
use fairfront_pareto::{Values, hypervolume};
use fairfront_run::{Error, Fitted};
use serde::{Deserialize, Serialize};

use crate::state::Settled;

/// With more than four objectives, hypervolumes may take longer than everything else.
const MOST_JUDGED: usize = 4;

/// The changes of a batch: one line of `drift.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Number of the batch, from 1.
    pub batch: u64,
    /// Rows of the stream so far, including dropped and rejected ones.
    pub rows: u64,
    /// Rows of the batch that are in use.
    pub used: usize,
    /// Rows of the batch that were dropped because of missing values.
    pub dropped: usize,
    /// Rows of the batch that were rejected.
    pub rejected: usize,
    /// Rows that were kept before this batch.
    pub kept_before: usize,
    /// Rows that the front is now based on.
    pub kept: usize,
    /// Share of the batch's rows with a category that was not known before.
    pub unseen_share: f64,
    /// New categories, as features: `job=pilot`.
    pub new_categories: Vec<String>,
    /// New groups, by attribute: `race=Other`.
    pub new_groups: Vec<String>,
    /// The labels of all rows.
    #[serde(flatten)]
    pub labels: LabelShift,
    /// The groups of every attribute.
    pub groups: Vec<GroupShift>,
    /// The changes of the front.
    pub front: FrontShift,
}

/// A share in the rows kept before and in the batch; `None` if there are no such rows.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Shift {
    /// In the rows kept before.
    pub before: Option<f64>,
    /// In the batch.
    pub batch: Option<f64>,
}

impl Shift {
    /// The difference between the batch and the rows kept before.
    pub fn change(&self) -> Option<f64> {
        Some(self.batch? - self.before?)
    }

    /// Whether two samples of one population, with this many rows before and in the batch, could differ as
    /// much by chance: within three standard errors of the difference.
    pub fn may_be_chance(&self, before: usize, batch: usize) -> bool {
        let (Some(change), Some(was), Some(is)) = (self.change(), self.before, self.batch) else {
            return true;
        };
        let (n, k) = (before.max(1) as f64, batch.max(1) as f64);
        let share = (was * n + is * k) / (n + k);
        let error = (share * (1.0 - share) * (1.0 / n + 1.0 / k)).sqrt();
        change.abs() <= 3.0 * error
    }
}

/// A mean in the rows kept before and in the batch, in the unit of the target; `None` without such rows.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct MeanShift {
    /// In the rows kept before.
    pub before: Option<f64>,
    /// In the batch.
    pub batch: Option<f64>,
    /// The standard error of their difference; `None` with fewer than two rows in either.
    pub standard_error: Option<f64>,
}

impl MeanShift {
    /// The difference between the batch and the rows kept before.
    pub fn change(&self) -> Option<f64> {
        Some(self.batch? - self.before?)
    }

    /// Whether two samples of one population could differ as much by chance: within three standard errors
    /// of the difference.
    pub fn may_be_chance(&self) -> bool {
        match (self.change(), self.standard_error) {
            (Some(change), Some(error)) => change.abs() <= 3.0 * error,
            _ => true,
        }
    }
}

/// How the labels of some rows changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelShift {
    /// Share of rows labeled positive.
    BaseRate(Shift),
    /// Share of rows of each class, in the order of the classes.
    ClassShares(Vec<ClassShift>),
    /// Mean of a target that is a number.
    MeanTarget(MeanShift),
}

/// The change of the share of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassShift {
    /// The class.
    pub class: String,
    /// Its share of the rows.
    #[serde(flatten)]
    pub share: Shift,
}

/// The changes of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupShift {
    /// The attribute.
    pub attribute: String,
    /// The group.
    pub group: String,
    /// Its rows among those kept before.
    pub rows_before: usize,
    /// Its rows in the batch.
    pub rows: usize,
    /// Its share of the rows whose group is known.
    pub share: Shift,
    /// The labels of its rows.
    #[serde(flatten)]
    pub labels: LabelShift,
}

/// The changes of the front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontShift {
    /// The reason why the front could not be updated and did not change; absent if it was updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_because: Option<String>,
    /// Number of models on the front.
    pub models: usize,
    /// The measures that the front is judged by.
    pub judged_by: Vec<String>,
    /// Hypervolume share, up to the state's reference point, of the previous front on the current rows;
    /// absent for the first batch and for more than four objectives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervolume_before: Option<f64>,
    /// Hypervolume share of the current front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervolume: Option<f64>,
    /// How far the new rows alone moved the previous models: the mean over the models of the largest change
    /// of a value, as a share of the reference point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shifted: Option<f64>,
    /// How far the front moved on the current rows: the mean distance from a current model to the nearest
    /// previous one, as a share of the reference point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<f64>,
    /// Mean absolute change of each value of `judged_by` when the previous models are scored on the current
    /// rows instead of the previous ones; empty if `shifted` is absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shifted_by: Vec<f64>,
    /// Mean absolute difference in each value of `judged_by` between a current model and the nearest
    /// previous one, both on the current rows; empty if `moved` is absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved_by: Vec<f64>,
}

impl FrontShift {
    /// The changes by an update that found a front.
    pub(crate) fn of(settled: Option<&Settled>, fitted: &Fitted) -> Result<Self, Error> {
        let standing = &fitted.standing;
        // Values of different measures cannot be compared.
        let earlier = settled.filter(|s| s.judged_by == standing.names);
        let reference = earlier.map_or(&standing.reference, |s| &s.reference);
        let (before, now) = (&standing.earlier, &standing.front);
        let mut shift = Self {
            kept_because: None,
            models: fitted.outcome.front.len(),
            judged_by: standing.names.clone(),
            hypervolume_before: None,
            hypervolume: volume(now, reference)?,
            shifted: None,
            moved: None,
            shifted_by: Vec::new(),
            moved_by: Vec::new(),
        };
        if let Some(earlier) = earlier {
            shift.hypervolume_before = volume(before, reference)?;
            shift.shifted = shifted(&earlier.values, before, reference);
            shift.moved = moved(before, now, reference);
            shift.shifted_by = shifted_by(&earlier.values, before, reference);
            shift.moved_by = moved_by(before, now, reference);
        }
        Ok(shift)
    }

    /// The changes if a front with this many models did not change.
    pub(crate) fn none(settled: Option<&Settled>, models: usize, why: &str) -> Self {
        Self {
            kept_because: Some(why.to_owned()),
            models,
            judged_by: settled.map_or_else(Vec::new, |s| s.judged_by.clone()),
            hypervolume_before: None,
            hypervolume: None,
            shifted: None,
            moved: None,
            shifted_by: Vec::new(),
            moved_by: Vec::new(),
        }
    }
}

/// The composition of some rows: their labels and shares of groups.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Composition {
    #[serde(flatten)]
    labels: Level,
    attributes: Vec<(String, Vec<Group>)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Group {
    name: String,
    rows: usize,
    share: Option<f64>,
    #[serde(flatten)]
    labels: Level,
}

/// The labels of some rows; `None` without rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// The share of rows labeled positive.
    BaseRate(Option<f64>),
    /// The share of rows of each class.
    ClassShares(Vec<(String, Option<f64>)>),
    /// The mean of a target that is a number.
    MeanTarget(Option<MeanTarget>),
}

impl Default for Level {
    fn default() -> Self {
        Self::BaseRate(None)
    }
}

/// The mean of a target, in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct MeanTarget {
    value: f64,
    /// Its squared standard error; `None` with fewer than two rows.
    variance: Option<f64>,
}

impl Level {
    /// The change from the level before, if there are rows before.
    fn shift(&self, before: Option<&Self>) -> LabelShift {
        match self {
            Self::BaseRate(batch) => LabelShift::BaseRate(Shift {
                before: match before {
                    Some(Self::BaseRate(before)) => *before,
                    _ => None,
                },
                batch: *batch,
            }),
            Self::ClassShares(batch) => {
                let earlier = |class: &String| match before {
                    Some(Self::ClassShares(before)) => {
                        before.iter().find(|(own, _)| own == class)?.1
                    }
                    _ => None,
                };
                let shift = |(class, share): &(String, Option<f64>)| ClassShift {
                    class: class.clone(),
                    share: Shift {
                        before: earlier(class),
                        batch: *share,
                    },
                };
                LabelShift::ClassShares(batch.iter().map(shift).collect())
            }
            Self::MeanTarget(batch) => {
                let batch = *batch;
                let before = match before {
                    Some(Self::MeanTarget(before)) => *before,
                    _ => None,
                };
                let variance = |mean: Option<MeanTarget>| mean?.variance;
                let variances = variance(before).zip(variance(batch));
                LabelShift::MeanTarget(MeanShift {
                    before: before.map(|mean| mean.value),
                    batch: batch.map(|mean| mean.value),
                    standard_error: variances.map(|(a, b)| (a + b).sqrt()),
                })
            }
        }
    }
}

/// Sums over rows: weights, squared weights, and weighted labels and their squares.
#[derive(Clone, Default)]
struct Mass {
    rows: usize,
    all: f64,
    all_squared: f64,
    positive: f64,
    /// Weights of the classes, if the target has more than two.
    of_class: Vec<f64>,
    label: f64,
    label_squared: f64,
}

impl Mass {
    fn add(&mut self, weight: f64, label: f64) {
        self.rows += 1;
        self.all += weight;
        self.all_squared += weight * weight;
        self.positive += if label > 0.0 { weight } else { 0.0 };
        if let Some(of_class) = self.of_class.get_mut(label as usize) {
            *of_class += weight;
        }
        self.label += weight * label;
        self.label_squared += weight * label * label;
    }

    fn new(target: &Target) -> Self {
        let n_classes = target.classes().map_or(0, Classes::len);
        Self {
            of_class: vec![0.0; n_classes],
            ..Self::default()
        }
    }

    fn level(&self, target: &Target) -> Level {
        let is_known = self.all > 0.0;
        if let Some(classes) = target.classes() {
            let share = |weight: &f64| is_known.then(|| weight / self.all);
            let shares = classes.names.iter().cloned();
            let shares = shares.zip(self.of_class.iter().map(share));
            return Level::ClassShares(shares.collect());
        }
        let Some(unit) = target.unit() else {
            return Level::BaseRate(is_known.then(|| self.positive / self.all));
        };
        Level::MeanTarget(is_known.then(|| {
            let mean = self.label / self.all;
            // As many rows of equal weight have as much information.
            let rows = self.all * self.all / self.all_squared;
            let spread = (self.label_squared / self.all - mean * mean).max(0.0);
            MeanTarget {
                value: unit.number(mean),
                variance: (rows > 1.0).then(|| unit.scale * unit.scale * spread / (rows - 1.0)),
            }
        }))
    }
}

impl Composition {
    /// The composition of all these rows, in order.
    pub(crate) fn of(parts: &[Dataset]) -> Result<Self, Error> {
        let Some(first) = parts.first() else {
            return Ok(Self::default());
        };
        let target = &first.schema().target;
        let attributes = &first.schema().attributes;
        let mut all = Mass::new(target);
        let mut by_group: Vec<Vec<Mass>> = attributes
            .iter()
            .map(|a| vec![Mass::new(target); a.groups.len()])
            .collect();
        for block in parts.iter().flat_map(Dataset::blocks) {
            let block = block?;
            let rows = || block.weights().iter().zip(block.labels());
            rows().for_each(|(weight, label)| all.add(*weight, *label));
            for (attribute, masses) in by_group.iter_mut().enumerate() {
                for ((weight, label), group) in rows().zip(block.groups(attribute)) {
                    if let Some(mass) = masses.get_mut(*group as usize) {
                        mass.add(*weight, *label);
                    }
                }
            }
        }
        let of_attribute = |(attribute, masses): (&fairfront_core::Attribute, Vec<Mass>)| {
            let known: f64 = masses.iter().map(|m| m.all).sum();
            let group = |(name, mass): (&String, &Mass)| Group {
                name: name.clone(),
                rows: mass.rows,
                share: (known > 0.0).then(|| mass.all / known),
                labels: mass.level(target),
            };
            let groups = attribute.groups.iter().zip(&masses).map(group);
            (attribute.name.clone(), groups.collect())
        };
        Ok(Self {
            labels: all.level(target),
            attributes: attributes.iter().zip(by_group).map(of_attribute).collect(),
        })
    }

    /// The differences between a batch and the rows before it, if there are any.
    pub(crate) fn shifts(before: Option<&Self>, batch: &Self) -> (LabelShift, Vec<GroupShift>) {
        let labels = batch.labels.shift(before.map(|b| &b.labels));
        let mut shifts = Vec::new();
        for (attribute, groups) in &batch.attributes {
            let earlier = before.and_then(|b| b.attributes.iter().find(|(n, _)| n == attribute));
            for group in groups {
                let same = |g: &&Group| g.name == group.name;
                let earlier = earlier.and_then(|(_, groups)| groups.iter().find(same));
                // A new group had no rows before.
                let none = before.map(|_| 0.0);
                shifts.push(GroupShift {
                    attribute: attribute.clone(),
                    group: group.name.clone(),
                    rows_before: earlier.map_or(0, |g| g.rows),
                    rows: group.rows,
                    share: Shift {
                        before: earlier.map_or(none, |g| g.share),
                        batch: group.share,
                    },
                    labels: group.labels.shift(earlier.map(|g| &g.labels)),
                });
            }
        }
        (labels, shifts)
    }
}

/// The hypervolume share of a front up to the reference; `None` if it would take too long to compute.
pub(crate) fn volume(values: &[f64], reference: &[f64]) -> Result<Option<f64>, Error> {
    if reference.len() > MOST_JUDGED {
        return Ok(None);
    }
    let whole: f64 = reference.iter().product();
    let dominated = hypervolume(Values::new(values, reference.len())?, reference)?;
    Ok(Some(dominated / whole))
}

/// Mean over the models of the largest change of a value, as a share of the reference.
fn shifted(before: &[f64], now: &[f64], reference: &[f64]) -> Option<f64> {
    let m = reference.len();
    (m > 0 && before.len() == now.len() && !now.is_empty()).then(|| {
        let pairs = before.chunks_exact(m).zip(now.chunks_exact(m));
        let sum: f64 = pairs.map(|(a, b)| distance(a, b, reference)).sum();
        sum / (now.len() / m) as f64
    })
}

/// Mean distance from a current model to the nearest previous one, as a share of the reference.
fn moved(before: &[f64], now: &[f64], reference: &[f64]) -> Option<f64> {
    let m = reference.len();
    (m > 0 && !before.is_empty() && !now.is_empty()).then(|| {
        let nearest = |point: &[f64]| {
            let others = before
                .chunks_exact(m)
                .map(|b| distance(point, b, reference));
            others.fold(f64::INFINITY, f64::min)
        };
        let sum: f64 = now.chunks_exact(m).map(nearest).sum();
        sum / (now.len() / m) as f64
    })
}

/// Mean absolute change of each value, in its own unit.
fn shifted_by(before: &[f64], now: &[f64], reference: &[f64]) -> Vec<f64> {
    let m = reference.len();
    if m == 0 || before.len() != now.len() || now.is_empty() {
        return Vec::new();
    }
    mean_differences(before.chunks_exact(m).zip(now.chunks_exact(m)), m)
}

/// Mean absolute difference of each value from the nearest previous model, in its own unit.
fn moved_by(before: &[f64], now: &[f64], reference: &[f64]) -> Vec<f64> {
    let m = reference.len();
    if m == 0 || before.is_empty() || now.is_empty() {
        return Vec::new();
    }
    let nearest = |point: &[f64]| {
        let by_distance = |a: &&[f64], b: &&[f64]| {
            distance(point, a, reference).total_cmp(&distance(point, b, reference))
        };
        before.chunks_exact(m).min_by(by_distance)
    };
    let pairs = now
        .chunks_exact(m)
        .filter_map(|point| Some((nearest(point)?, point)));
    mean_differences(pairs, m)
}

fn mean_differences<'a>(pairs: impl Iterator<Item = (&'a [f64], &'a [f64])>, m: usize) -> Vec<f64> {
    let (mut sums, mut n) = (vec![0.0; m], 0_usize);
    for (a, b) in pairs {
        n += 1;
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += (a - b).abs();
        }
    }
    sums.iter().map(|sum| sum / n.max(1) as f64).collect()
}

fn distance(a: &[f64], b: &[f64], reference: &[f64]) -> f64 {
    let differences = a.iter().zip(b).zip(reference);
    let shares = differences.map(|((a, b), r)| (a - b).abs() / r);
    shares.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use fairfront_core::Unit;

    use super::*;

    #[test]
    fn unchanged_front_has_not_moved() {
        let (front, reference) = ([0.1, 0.4, 0.2, 0.3], [1.0, 0.5]);
        assert_eq!(moved(&front, &front, &reference), Some(0.0));
        assert_eq!(shifted(&front, &front, &reference), Some(0.0));
    }

    #[test]
    fn distances_are_shares_of_the_reference() {
        // One point moves by 0.1 of 1 and by 0.1 of 0.5, the other stays.
        let (before, now) = ([0.1, 0.4, 0.2, 0.3], [0.2, 0.3, 0.2, 0.3]);
        let reference = [1.0, 0.5];
        assert!((shifted(&before, &now, &reference).unwrap() - 0.1).abs() < 1e-12);
        // Both current points existed before.
        assert_eq!(moved(&before, &now, &reference), Some(0.0));
        assert_eq!(shifted(&before[..2], &now, &reference), None);
        // In their own units: one point moves by 0.1 in both.
        let near = |found: Vec<f64>, expected: [f64; 2]| {
            let pairs = found.iter().zip(expected);
            found.len() == 2 && pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12)
        };
        assert!(near(shifted_by(&before, &now, &reference), [0.05, 0.05]));
        assert!(near(moved_by(&before, &now, &reference), [0.0, 0.0]));
        // Shares of the reference decide which is nearest: 0.15 of 1 is nearer than 0.1 of 0.5.
        let far = moved_by(&[0.25, 0.4, 0.1, 0.3], &[0.1, 0.4], &reference);
        assert!(near(far, [0.15, 0.0]));
        assert!(shifted_by(&before[..2], &now, &reference).is_empty());
        assert!(moved_by(&[], &now, &reference).is_empty());
        assert_eq!(moved(&[], &now, &reference), None);
    }

    #[test]
    fn volumes_are_shares_of_the_box() {
        let volume = |v: &[f64]| volume(v, &[1.0, 2.0]).unwrap().unwrap();
        assert!((volume(&[0.5, 1.0]) - 0.25).abs() < 1e-12);
        assert!((volume(&[0.5, 1.0, 0.75, 0.5]) - (0.25 + 0.25 * 0.25)).abs() < 1e-12);
        assert_eq!(volume(&[2.0, 3.0]), 0.0);
        assert_eq!(super::volume(&[0.0; 5], &[1.0; 5]).unwrap(), None);
    }

    #[test]
    fn chance_is_three_standard_errors() {
        // 2,000 rows of 2,000,000 at a share of one half: the standard error is 0.01119.
        let shift = |batch| Shift {
            before: Some(0.5),
            batch: Some(batch),
        };
        assert!(
            shift(0.533).may_be_chance(2_000_000, 2_000)
                && shift(0.467).may_be_chance(2_000_000, 2_000)
        );
        assert!(
            !shift(0.534).may_be_chance(2_000_000, 2_000)
                && !shift(0.466).may_be_chance(2_000_000, 2_000)
        );
        // With as many rows before as in the batch, the error is √2 times as large.
        assert!(
            shift(0.54).may_be_chance(2_000, 2_000) && !shift(0.548).may_be_chance(2_000, 2_000)
        );
        // 0 rows before and 20 of 2,000 now; without a share before, nothing is known.
        let new = Shift {
            before: Some(0.0),
            batch: Some(0.01),
        };
        assert!(!new.may_be_chance(20_000, 2_000));
        assert!(Shift::default().may_be_chance(2_000_000, 2_000));
    }
    #[test]
    fn means_have_the_standard_error_of_their_difference() {
        let unit = Unit {
            center: 10.0,
            scale: 2.0,
            range: [6.0, 16.0],
            thresholds: vec![0.0],
        };
        let target = Target::Number(Box::new(unit.clone()));
        let level = |rows: &[(f64, f64)]| {
            let mut mass = Mass::default();
            rows.iter()
                .for_each(|(number, weight)| mass.add(*weight, unit.label(*number)));
            mass.level(&target)
        };
        // Sample variances of 4 and 1 over 3 and 2 rows of equal weight.
        let before = level(&[(8.0, 1.0), (10.0, 1.0), (12.0, 1.0)]);
        let batch = level(&[(12.0, 5.0), (12.0 + 2_f64.sqrt(), 5.0)]);
        let LabelShift::MeanTarget(shift) = batch.shift(Some(&before)) else {
            panic!("a mean");
        };
        let near = |a: Option<f64>, b: f64| (a.expect("a number") - b).abs() < 1e-12;
        assert!(near(shift.before, 10.0) && near(shift.batch, 12.0 + 0.5_f64.sqrt()));
        assert!(near(shift.standard_error, (4.0_f64 / 3.0 + 0.5).sqrt()));
        assert!(shift.may_be_chance());
        let certain = MeanShift {
            standard_error: Some(0.9),
            ..shift
        };
        assert!(!certain.may_be_chance());
        // One row has no standard error.
        let LabelShift::MeanTarget(one) = level(&[(9.0, 2.0)]).shift(Some(&before)) else {
            panic!("a mean");
        };
        assert_eq!((one.batch, one.standard_error), (Some(9.0), None));
        assert!(one.may_be_chance());
        assert_eq!(level(&[]), Level::MeanTarget(None));
    }

    #[test]
    fn shares_of_classes_are_compared_class_by_class() {
        let names = ["low", "mid", "high"].map(String::from).to_vec();
        let target = Target::Classes(Classes {
            names,
            ordered: true,
        });
        let level = |rows: &[(f64, f64)]| {
            let mut mass = Mass::new(&target);
            rows.iter()
                .for_each(|(class, weight)| mass.add(*weight, *class));
            mass.level(&target)
        };
        let before = level(&[(0.0, 1.0), (0.0, 2.0), (2.0, 1.0)]);
        let batch = level(&[(1.0, 1.0), (2.0, 1.0)]);
        let LabelShift::ClassShares(shifts) = batch.shift(Some(&before)) else {
            panic!("shares");
        };
        let shown = shifts
            .iter()
            .map(|s| (s.class.as_str(), s.share.before, s.share.batch));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                ("low", Some(0.75), Some(0.0)),
                ("mid", Some(0.0), Some(0.5)),
                ("high", Some(0.25), Some(0.5)),
            ]
        );
        let LabelShift::ClassShares(first) = level(&[]).shift(None) else {
            panic!("shares");
        };
        assert!(first.iter().all(|s| s.share == Shift::default()));
        let text = serde_json::to_string(&LabelShift::ClassShares(first)).unwrap();
        assert!(
            text.starts_with(r#"{"class_shares":[{"class":"low","before":null,"batch":null}"#),
            "{text}"
        );
    }

    #[test]
    fn levels_are_stored_under_the_name_of_their_kind() {
        let levels = [
            (
                Level::BaseRate(Some(0.5)),
                r#"{"base_rate":0.5,"attributes":[]}"#,
            ),
            (
                Level::BaseRate(None),
                r#"{"base_rate":null,"attributes":[]}"#,
            ),
            (
                Level::MeanTarget(Some(MeanTarget {
                    value: 0.1,
                    variance: None,
                })),
                r#"{"mean_target":{"value":0.1,"variance":null},"attributes":[]}"#,
            ),
        ];
        for (labels, text) in levels {
            let composition = Composition {
                labels,
                attributes: Vec::new(),
            };
            assert_eq!(serde_json::to_string(&composition).unwrap(), text);
            let again: Composition = serde_json::from_str(text).unwrap();
            assert_eq!(again, composition);
        }
    }
}
