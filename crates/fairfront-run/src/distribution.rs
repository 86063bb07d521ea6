//! Columns with the distribution of predicted numbers in each group, for plots.

use fairfront_core::{Measures, Schema, Unit, target_shares};
use fairfront_data::{Encoded, Ordered};

use crate::Error;
use crate::calibration;
use crate::measured::SplitValues;

/// The name of a group with its attribute: `sex=F`.
pub(crate) fn region(attribute: &str, group: &str) -> String {
    format!("{attribute}={group}")
}

/// The column of the share of predictions of at most a threshold, over all rows or in a group.
pub(crate) fn column(threshold: usize, region: Option<&str>) -> String {
    let number = threshold + 1;
    match region {
        Some(region) => format!("distribution.{number:02}({region})"),
        None => format!("distribution.{number:02}"),
    }
}

/// The shares of the target of at most each threshold, by region, on the rows that the columns describe; `None`
/// if the target is not a number.
pub(crate) fn of_target(
    encoded: &Encoded,
    splits: &[SplitValues],
) -> Result<Option<Ordered<Option<Vec<f64>>>>, Error> {
    let Some(shown) = calibration::shown(splits) else {
        return Ok(None);
    };
    let rows = encoded.part(shown.part);
    if rows.schema().target.decides() {
        return Ok(None);
    }
    let attributes = rows.schema().attributes.iter();
    let groups = attributes.flat_map(|attribute| {
        let groups = attribute.groups.iter();
        groups.map(|group| region(&attribute.name, group))
    });
    let regions = std::iter::once("all".to_owned()).chain(groups);
    Ok(Some(Ordered(regions.zip(target_shares(rows)?).collect())))
}

/// For each threshold of the unit, the share of predictions of at most the threshold: over all rows and in
/// each group.
pub(crate) fn columns(
    schema: &Schema,
    unit: &Unit,
    measures: Option<&Measures>,
) -> Vec<(String, Option<f64>)> {
    let numbers = measures.and_then(|measures| measures.numbers.as_ref());
    let mut columns = Vec::new();
    let mut add = |of: Option<&str>, shares: Option<Vec<f64>>| {
        for threshold in 0..unit.thresholds.len() {
            let share = shares.as_ref().and_then(|shares| shares.get(threshold));
            columns.push((column(threshold, of), share.copied()));
        }
    };
    add(None, numbers.and_then(|n| n.overall.shares()));
    for (a, attribute) in schema.attributes.iter().enumerate() {
        for (g, group) in attribute.groups.iter().enumerate() {
            let sums = numbers.and_then(|n| n.groups.get(a)?.get(g));
            let of = region(&attribute.name, group);
            add(Some(&of), sums.and_then(fairfront_core::NumberSums::shares));
        }
    }
    columns
}
