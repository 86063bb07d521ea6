//! Measures of groups against a named reference group.
//!
//! Each has one value per group other than the reference group, and one for the attribute: that of the group that
//! fares worst, among the groups that are large enough to be compared.

use super::Measures;
use crate::contrast::Cell;
use crate::impact::{adverse_impact_ratio, odds_ratio, shortfall};
use crate::{Attribute, SmallGroups};

/// The name of the standardized mean difference, which predicted numbers have too.
const STANDARDIZED: &str = "standardized_mean_difference";
/// Names of the measures of binary decisions and their probabilities.
const OF_DECISIONS: [&str; 4] = [
    "adverse_impact_ratio",
    "shortfall",
    "odds_ratio",
    STANDARDIZED,
];

/// The names of all measures against the reference group of an attribute: of the attribute, then of each group.
pub(super) fn names(attribute: &Attribute) -> Vec<String> {
    names_of(attribute, &OF_DECISIONS)
}

/// The same for predicted numbers.
pub(super) fn number_names(attribute: &Attribute) -> Vec<String> {
    names_of(attribute, &[STANDARDIZED])
}

fn names_of(attribute: &Attribute, kinds: &[&str]) -> Vec<String> {
    let Some(reference) = attribute.reference else {
        return Vec::new();
    };
    let a = &attribute.name;
    let of_attribute = kinds.iter().map(|kind| format!("{kind}({a})"));
    let others = attribute.groups.iter().enumerate();
    let others = others.filter(|(g, _)| *g != reference);
    let of_groups = others.flat_map(|(_, group)| {
        let name = move |kind: &&str| format!("{kind}({a}={group})");
        kinds.iter().map(name)
    });
    of_attribute.chain(of_groups).collect()
}

/// The values of one measure of all groups other than the reference group, each with whether it is compared.
type Compared = Vec<(Option<f64>, bool)>;

/// The value of the attribute: `None` if one of the compared groups has none.
fn of_attribute(values: &Compared, worst: fn(&[f64]) -> Option<f64>) -> Option<f64> {
    let compared = values.iter().filter(|(_, is_compared)| *is_compared);
    let all: Option<Vec<f64>> = compared.map(|(value, _)| *value).collect();
    worst(&all?)
}

fn smallest(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

fn sum_of_positive(values: &[f64]) -> Option<f64> {
    let sum = values.iter().map(|value| value.max(0.0)).sum();
    (!values.is_empty()).then_some(sum)
}

fn largest_magnitude(values: &[f64]) -> Option<f64> {
    let by_size = |a: &&f64, b: &&f64| a.abs().total_cmp(&b.abs());
    values.iter().max_by(by_size).copied()
}

/// How a group compares with the reference group of its attribute; `None` for values that are undefined.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AgainstReference {
    /// Its selection rate divided by that of the reference group.
    pub adverse_impact_ratio: Option<f64>,
    /// How many more selected rows would give it the rate of the reference group.
    pub shortfall: Option<f64>,
    /// Its odds of selection divided by those of the reference group.
    pub odds_ratio: Option<f64>,
    /// The difference between mean probabilities or predicted numbers, in standard deviations of those of all
    /// rows.
    pub standardized_mean_difference: Option<f64>,
}

impl Measures {
    /// How the groups of an attribute compare with its reference group: the values of the attribute, then the
    /// position and the values of each other group. `None` without a reference group.
    pub fn against_reference(
        &self,
        attribute: usize,
    ) -> Option<(AgainstReference, Vec<(usize, AgainstReference)>)> {
        let reference = (*self.references.get(attribute)?)?;
        let values: Vec<AgainstReference> = match &self.numbers {
            Some(_) => {
                let of = |value: Option<f64>| AgainstReference {
                    standardized_mean_difference: value,
                    ..AgainstReference::default()
                };
                let values = self.standardized_differences(attribute);
                values.into_iter().map(of).collect()
            }
            None => {
                let of = |values: &[Option<f64>]| AgainstReference {
                    adverse_impact_ratio: values[0],
                    shortfall: values[1],
                    odds_ratio: values[2],
                    standardized_mean_difference: values[3],
                };
                let values = self.reference_values(attribute);
                values.chunks_exact(OF_DECISIONS.len()).map(of).collect()
            }
        };
        let (first, others) = values.split_first()?;
        let groups = (0..).filter(|g| *g != reference);
        Some((*first, groups.zip(others.iter().copied()).collect()))
    }

    /// The values of a measure of the groups other than the reference group; `None` without one.
    fn against(
        &self,
        attribute: usize,
        n_groups: usize,
        value: impl Fn(usize, usize) -> Option<f64>,
    ) -> Option<Compared> {
        let reference = (*self.references.get(attribute)?)?;
        let small: &SmallGroups = self.small.get(attribute)?;
        let others = (0..n_groups).filter(|g| *g != reference);
        let of_group = |g: usize| (value(g, reference), !small.all.contains(&(g as u32)));
        Some(others.map(of_group).collect())
    }

    fn against_in_decisions(
        &self,
        attribute: usize,
        size: fn(&Cell, &Cell) -> Option<f64>,
    ) -> Option<Compared> {
        let groups = self.groups.get(attribute)?;
        let cell = |g: usize| {
            let selected = groups[g].true_positives + groups[g].false_positives;
            Cell::counted(selected, groups[g].count())
        };
        self.against(attribute, groups.len(), |group, reference| {
            size(&cell(group), &cell(reference))
        })
    }

    /// The smallest ratio of the selection rate of a compared group to that of the reference group; `None` without a
    /// reference group, or if nobody in it is selected.
    pub fn adverse_impact_ratio(&self, attribute: usize) -> Option<f64> {
        let values = self.against_in_decisions(attribute, adverse_impact_ratio)?;
        of_attribute(&values, smallest)
    }

    /// How many more rows would have to be selected for every compared group to have at least the selection rate of
    /// the reference group.
    pub fn shortfall(&self, attribute: usize) -> Option<f64> {
        let values = self.against_in_decisions(attribute, shortfall)?;
        of_attribute(&values, sum_of_positive)
    }

    /// The smallest ratio of the odds of selection of a compared group to those of the reference group. Groups of
    /// which everybody is selected have no odds and are ignored, unless all are such groups.
    pub fn odds_ratio(&self, attribute: usize) -> Option<f64> {
        odds_of_attribute(&self.odds_ratios(attribute)?)
    }

    /// The odds ratios of all groups; infinite if everybody in the group is selected.
    fn odds_ratios(&self, attribute: usize) -> Option<Compared> {
        self.against_in_decisions(attribute, |group, reference| {
            let (rate, of_reference) = (group.rate()?, reference.rate()?);
            match rate >= 1.0 && of_reference > 0.0 {
                true => Some(f64::INFINITY),
                false => odds_ratio(group, reference),
            }
        })
    }

    /// The standardized mean difference of largest magnitude: the mean probability (or predicted number) of a
    /// compared group minus that of the reference group, in standard deviations of those of all rows.
    pub fn standardized_mean_difference(&self, attribute: usize) -> Option<f64> {
        of_attribute(&self.standardized(attribute)?, largest_magnitude)
    }

    fn standardized(&self, attribute: usize) -> Option<Compared> {
        if let Some(numbers) = &self.numbers {
            let groups = numbers.groups.get(attribute)?;
            let deviation = numbers.deviation(&numbers.overall);
            return self.against(attribute, groups.len(), |group, reference| {
                let mean = |g: usize| numbers.mean_prediction(&groups[g]);
                Some((mean(group)? - mean(reference)?) / deviation?)
            });
        }
        let groups = self.groups.get(attribute)?;
        let probabilities = self.probabilities.as_ref();
        self.against(attribute, groups.len(), |group, reference| {
            let probabilities = probabilities?;
            let mean = |g: usize| probabilities.groups.get(attribute)?.get(g)?.mean;
            Some((mean(group)? - mean(reference)?) / probabilities.overall.deviation?)
        })
    }

    /// All values, in the order of [`names`].
    pub(super) fn reference_values(&self, attribute: usize) -> Vec<Option<f64>> {
        let all = (
            self.against_in_decisions(attribute, adverse_impact_ratio),
            self.against_in_decisions(attribute, shortfall),
            self.odds_ratios(attribute),
            self.standardized(attribute),
        );
        let (Some(impact), Some(short), Some(odds), Some(standardized)) = all else {
            return Vec::new();
        };
        let mut values = vec![
            of_attribute(&impact, smallest),
            of_attribute(&short, sum_of_positive),
            odds_of_attribute(&odds),
            of_attribute(&standardized, largest_magnitude),
        ];
        for g in 0..impact.len() {
            let odds = odds[g].0.filter(|odds| odds.is_finite());
            values.extend([impact[g].0, short[g].0, odds, standardized[g].0]);
        }
        values
    }

    /// All values for predicted numbers, in the order of [`number_names`].
    pub(super) fn standardized_differences(&self, attribute: usize) -> Vec<Option<f64>> {
        let Some(all) = self.standardized(attribute) else {
            return Vec::new();
        };
        let first = of_attribute(&all, largest_magnitude);
        std::iter::once(first)
            .chain(all.into_iter().map(|(value, _)| value))
            .collect()
    }
}

fn odds_of_attribute(values: &Compared) -> Option<f64> {
    of_attribute(values, smallest).filter(|odds| odds.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confusion, Probabilities, Quality, Schema};

    fn attribute() -> Attribute {
        let groups = ["a", "b", "c", "d"].map(String::from).to_vec();
        Attribute {
            small: SmallGroups {
                all: vec![3],
                ..SmallGroups::default()
            },
            reference: Some(1),
            ..Attribute::new("race", groups)
        }
    }

    fn measures(selected: [f64; 4], rows: [f64; 4]) -> Measures {
        let mut measures = Measures::empty(&[attribute()]);
        for g in 0..4 {
            measures.groups[0][g] = Confusion {
                true_positives: selected[g] - 1.0_f64.min(selected[g]),
                false_positives: 1.0_f64.min(selected[g]),
                true_negatives: rows[g] - selected[g],
                false_negatives: 0.0,
            };
        }
        let quality = |mean: f64| Quality {
            mean: Some(mean),
            deviation: Some(0.25),
            ..Quality::default()
        };
        measures.probabilities = Some(Probabilities {
            log_loss: None,
            overall: quality(0.5),
            groups: vec![[0.4, 0.5, 0.7, 0.1].map(quality).to_vec()],
            bins: Default::default(),
        });
        measures
    }

    #[test]
    fn the_worst_compared_group_is_that_of_the_attribute() {
        let measures = measures([30.0, 50.0, 60.0, 0.0], [100.0, 100.0, 100.0, 10.0]);
        let schema = Schema {
            attributes: vec![attribute()],
            ..Schema::default()
        };
        let (names, values) = (Measures::names(&schema), measures.values());
        assert_eq!(names.len(), values.len());
        let value = |name: &str| values[names.iter().position(|n| n == name).unwrap()];
        let near = |name: &str, expected: f64| {
            let found = value(name).unwrap();
            assert!((found - expected).abs() < 1e-12, "{name} {found}");
        };
        near("adverse_impact_ratio(race=a)", 0.6);
        near("adverse_impact_ratio(race=c)", 1.2);
        near("adverse_impact_ratio(race=d)", 0.0);
        near("adverse_impact_ratio(race)", 0.6);
        near("shortfall(race=a)", 20.0);
        near("shortfall(race=c)", -10.0);
        near("shortfall(race=d)", 5.0);
        near("shortfall(race)", 20.0);
        near("odds_ratio(race=a)", 3.0 / 7.0);
        near("odds_ratio(race)", 3.0 / 7.0);
        near("standardized_mean_difference(race=a)", -0.4);
        near("standardized_mean_difference(race)", 0.8);
        assert!(!names.iter().any(|name| name.ends_with("ratio(race=b)")));
        assert_eq!(measures.adverse_impact_ratio(0), Some(0.6));
        assert_eq!(measures.shortfall(0), Some(20.0));
        let (all, groups) = measures.against_reference(0).unwrap();
        assert_eq!(all.adverse_impact_ratio, Some(0.6));
        assert_eq!(
            groups.iter().map(|(g, _)| *g).collect::<Vec<_>>(),
            [0, 2, 3]
        );
        assert_eq!(groups[2].1.shortfall, Some(5.0));
        assert_eq!(
            measures.standardized_mean_difference(0),
            value("standardized_mean_difference(race)")
        );
    }

    #[test]
    fn undefined_comparisons_have_no_value() {
        let rows = [100.0, 100.0, 100.0, 10.0];
        let nobody = measures([30.0, 0.0, 60.0, 0.0], rows);
        assert_eq!(nobody.adverse_impact_ratio(0), None);
        assert_eq!(nobody.odds_ratio(0), None);
        assert_eq!(nobody.shortfall(0), Some(0.0));
        let everybody = measures([30.0, 50.0, 100.0, 0.0], rows);
        let odds = everybody.odds_ratio(0).unwrap();
        assert!((odds - 30.0 / 70.0).abs() < 1e-12, "{odds}");
        let only = measures([100.0, 50.0, 100.0, 0.0], rows);
        assert_eq!(only.odds_ratio(0), None);
        assert!(
            only.values()
                .iter()
                .flatten()
                .all(|value| value.is_finite())
        );
        // A compared group without rows.
        let empty = measures([0.0, 50.0, 60.0, 0.0], [0.0, 100.0, 100.0, 10.0]);
        assert_eq!(empty.adverse_impact_ratio(0), None);
        assert_eq!(empty.shortfall(0), None);
        // Without a reference group.
        let mut none = measures([30.0, 50.0, 60.0, 0.0], rows);
        none.references = vec![None];
        assert_eq!(none.adverse_impact_ratio(0), None);
        assert_eq!(none.odds_ratio(0), None);
        assert!(none.reference_values(0).is_empty());
    }
}
