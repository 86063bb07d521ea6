//! A group that is too small to be compared counts as if its rows had no known group.

use std::sync::Arc;

use fairfront_core::{
    Attribute, Batches, Condition, Dataset, FairProblem, GroupRisk, Linear, MutualInformation,
    Objective, Problem, RateParity, Risk, SmallGroups, measure,
};
use proptest::prelude::*;

use crate::objective::{close, points};
use crate::plain::{Row, dataset, rows, schema};

fn objectives(attribute: &Attribute) -> Vec<Box<dyn Objective>> {
    vec![
        Box::new(RateParity::new(Condition::All, 0, attribute)),
        Box::new(RateParity::new(Condition::Positive, 0, attribute)),
        Box::new(RateParity::equalized_odds(0, attribute)),
        Box::new(MutualInformation::new(0, attribute)),
        Box::new(GroupRisk::new(Risk::Variance, 0, attribute)),
    ]
}

/// Rows under an attribute with these small groups.
fn marked(rows: &[Row], n_groups: usize, small: &SmallGroups) -> (Dataset, Attribute) {
    let mut schema = schema(n_groups);
    schema.attributes[0].small = small.clone();
    let attribute = schema.attributes[0].clone();
    let blocks = dataset(rows, n_groups)
        .loaded()
        .unwrap()
        .blocks()
        .cloned()
        .collect();
    (Dataset::new(schema, blocks).unwrap(), attribute)
}

fn problem(data: Dataset, attribute: &Attribute) -> FairProblem {
    FairProblem::new(Arc::new(data), Box::new(Linear), objectives(attribute)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn small_groups_count_as_unknown(seed: u64, n in 40_usize..600, n_groups in 3_usize..6, weighted: bool) {
        let rows = rows(seed, n, n_groups, weighted);
        let small = SmallGroups { all: vec![1], positives: vec![1], negatives: vec![1], classes: vec![] };
        let (data, attribute) = marked(&rows, n_groups, &small);
        let without: Vec<Row> = rows
            .iter()
            .map(|row| Row { group: row.group.filter(|g| *g != 1), ..row.clone() })
            .collect();
        let none = SmallGroups::default();
        let (others, every) = marked(&without, n_groups, &none);
        let points = points(seed, 5, 0.7);

        let (left_out, unknown) = (problem(data.clone(), &attribute), problem(others.clone(), &every));
        let (a, b) = (left_out.values(&points).unwrap(), unknown.values(&points).unwrap());
        for (a, b) in a.iter().zip(&b) {
            prop_assert!(close(*a, *b, 1e-11), "{a} is not {b}");
        }
        let gradients = |of: &FairProblem| of.gradients(&points, Batches::All).unwrap();
        let (a, b) = (gradients(&left_out), gradients(&unknown));
        for point in 0..points.len() {
            for objective in 0..left_out.n_objectives() {
                for (a, b) in a.get(objective, point).iter().zip(b.get(objective, point)) {
                    prop_assert!(close(*a, *b, 1e-10), "{a} is not {b}");
                }
            }
        }
        prop_assert_eq!(
            left_out.meaningful_on(&data).unwrap(),
            unknown.meaningful_on(&others).unwrap()
        );

        // The group is still reported.
        for measures in measure(&Linear, &data, &points).unwrap() {
            prop_assert!(measures.groups[0][1].count() >= 0.0);
            let rates: Vec<f64> = (0..n_groups)
                .filter(|g| *g != 1)
                .filter_map(|g| measures.groups[0][g].selection_rate())
                .collect();
            let high = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
            if rates.len() == n_groups - 1 {
                prop_assert_eq!(measures.demographic_parity_difference(0), Some(high - low));
            }
        }
    }
}

/// Rates of positives and rates of all rows leave out different groups.
#[test]
fn each_rate_has_its_own_groups() {
    let rows = rows(5, 400, 3, false);
    let small = SmallGroups {
        all: vec![],
        positives: vec![0],
        negatives: vec![2],
        classes: vec![],
    };
    let (data, _) = marked(&rows, 3, &small);
    let points = points(5, 3, 0.7);
    for measures in measure(&Linear, &data, &points).unwrap() {
        let groups = &measures.groups[0];
        let fnr = |g: usize| groups[g].false_negative_rate().unwrap();
        let fpr = |g: usize| groups[g].false_positive_rate().unwrap();
        let opportunity = (fnr(1) - fnr(2)).abs();
        let false_positives = (fpr(0) - fpr(1)).abs();
        assert_eq!(measures.equal_opportunity_difference(0), Some(opportunity));
        assert_eq!(
            measures.equalized_odds_difference(0),
            Some(opportunity.max(false_positives))
        );
    }
}
