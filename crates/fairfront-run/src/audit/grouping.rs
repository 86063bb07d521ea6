//! Rows in groups of an attribute, or of an intersection.

use fairfront_core::{UNKNOWN_GROUP, say};
use fairfront_data::near_names;

use super::{AuditOptions, AuditRows};
use crate::Error;
use crate::setting::REFERENCE;

/// The most groups of an intersection.
pub(super) const MOST_GROUPS: usize = 1_000;

/// The pairs of attributes, and all of them if there are more than two.
pub(super) fn intersections(n: usize) -> Vec<Vec<usize>> {
    let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| vec![a, b]));
    let all = (n > 2).then(|| (0..n).collect());
    pairs.chain(all).collect()
}

/// Rows in groups.
pub(super) struct Grouping {
    pub(super) name: String,
    /// Names of the attributes that intersect.
    pub(super) parts: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) codes: Vec<u32>,
}

impl Grouping {
    /// The intersection of these attributes: groups that occur, in the order of the groups of the attributes.
    /// `None` if there are too many.
    pub(super) fn intersection(rows: &AuditRows, parts: &[usize]) -> Option<Self> {
        let attributes: Vec<_> = parts.iter().map(|at| &rows.attributes[*at]).collect();
        let sizes = attributes
            .iter()
            .map(|attribute| attribute.groups.len() as u128);
        sizes.into_iter().try_fold(1_u128, u128::checked_mul)?;
        // Groups as digits of one number, so that numbers have the order of groups.
        let of_row = |row: usize| {
            attributes.iter().try_fold(0_u128, |key, attribute| {
                let (code, size) = (attribute.codes[row], attribute.groups.len() as u128);
                let is_known = code != UNKNOWN_GROUP;
                is_known.then(|| key * size + u128::from(code))
            })
        };
        let keys: Vec<Option<u128>> = (0..rows.len()).map(of_row).collect();
        let mut found: Vec<u128> = keys.iter().flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        if found.len() > MOST_GROUPS {
            return None;
        }
        let name = |key: &u128| {
            let mut rest = *key;
            let mut group = Vec::with_capacity(attributes.len());
            for attribute in attributes.iter().rev() {
                let size = attribute.groups.len() as u128;
                group.push(attribute.groups[(rest % size) as usize].as_str());
                rest /= size;
            }
            group.reverse();
            group.join(":")
        };
        let names: Vec<String> = found.iter().map(name).collect();
        let code = |key: &Option<u128>| {
            let place = key.and_then(|key| found.binary_search(&key).ok());
            place.map_or(UNKNOWN_GROUP, |place| place as u32)
        };
        let parts: Vec<String> = attributes
            .iter()
            .map(|attribute| attribute.name.clone())
            .collect();
        Some(Self {
            name: parts.join(":"),
            codes: keys.iter().map(code).collect(),
            parts,
            names,
        })
    }
}

/// Returns an error if a named reference group does not exist.
pub(super) fn check_references(rows: &AuditRows, options: &AuditOptions) -> Result<(), Error> {
    let single = rows.attributes.iter();
    let single = single.map(|attribute| (attribute.name.clone(), vec![]));
    let several = intersections(rows.attributes.len())
        .into_iter()
        .map(|parts| {
            let names: Vec<&str> = parts
                .iter()
                .map(|at| rows.attributes[*at].name.as_str())
                .collect();
            (names.join(":"), parts)
        });
    let known: Vec<(String, Vec<usize>)> = single.chain(several).collect();
    let groups_of = |name: &str, parts: &[usize]| {
        let own = rows
            .attributes
            .iter()
            .find(|attribute| attribute.name == name);
        let own = own.map(|attribute| attribute.groups.clone());
        own.or_else(|| Some(Grouping::intersection(rows, parts)?.names))
    };
    let mut seen = Vec::new();
    for (attribute, group) in &options.references {
        let setting = || REFERENCE.of(attribute).is(group);
        if seen.contains(&attribute) {
            return Err(Error::usage(say![
                REFERENCE,
                ": set twice for {attribute}; remove one of them"
            ]));
        }
        seen.push(attribute);
        let Some((_, parts)) = known.iter().find(|(name, _)| name == attribute) else {
            let near = near_names(attribute, known.iter().map(|(name, _)| name.as_str()));
            return Err(Error::usage(say![
                setting(),
                ": no sensitive attribute {attribute:?}; {near}"
            ]));
        };
        // An intersection with too many groups is not shown.
        let groups = groups_of(attribute, parts).unwrap_or_default();
        if !groups.contains(group) {
            let near = near_names(group, groups.iter().map(String::as_str));
            return Err(Error::data(say![
                setting(),
                ": {attribute:?} has no group {group:?}; {near}"
            ]));
        }
    }
    Ok(())
}
