//! Columns with the distribution of predicted numbers in each group, for plots.

use fairfront_core::{Measures, Schema, Unit};

/// For each threshold of the unit, the share of predictions of at most the threshold: over all rows and in
/// each group.
pub(crate) fn columns(
    schema: &Schema,
    unit: &Unit,
    measures: Option<&Measures>,
) -> Vec<(String, Option<f64>)> {
    let numbers = measures.and_then(|measures| measures.numbers.as_ref());
    let mut columns = Vec::new();
    let mut add = |of: String, shares: Option<Vec<f64>>| {
        for threshold in 0..unit.thresholds.len() {
            let share = shares.as_ref().and_then(|shares| shares.get(threshold));
            let name = format!("distribution.{:02}{of}", threshold + 1);
            columns.push((name, share.copied()));
        }
    };
    add(String::new(), numbers.and_then(|n| n.overall.shares()));
    for (a, attribute) in schema.attributes.iter().enumerate() {
        for (g, group) in attribute.groups.iter().enumerate() {
            let sums = numbers.and_then(|n| n.groups.get(a)?.get(g));
            let of = format!("({}={group})", attribute.name);
            add(of, sums.and_then(fairfront_core::NumberSums::shares));
        }
    }
    columns
}
