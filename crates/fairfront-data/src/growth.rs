//! An encoding learns categories and groups that were not there when it was fitted.

use std::collections::BTreeSet;

use fairfront_core::{Schema, UNKNOWN_GROUP, grouped, say, with};
use serde::{Deserialize, Serialize};

use crate::encoding::Encoding;
use crate::error::{Error, quoted_list};
use crate::group::{AttributeRule, MOST_GROUPS};
use crate::rule::{CategoricalRule, MISSING_LEVEL, OTHER};
use crate::setting::{DROP, MERGE};
use crate::table::{MISSING, Notice, Table};

/// More categories than this in a column are not told apart: a stream must not grow with every
/// identifier that it meets.
const MOST_LEVELS: usize = 1_000;

/// What an encoding has learned.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Growth {
    /// New levels, in the order of their parameters.
    pub levels: Vec<NewLevel>,
    /// New groups, attribute by attribute.
    pub groups: Vec<NewGroup>,
    /// Rows with a category that was unknown before, be it pooled into *other*, or with a missing value
    /// where none was known.
    pub unseen_rows: usize,
    /// What else should be known.
    pub notices: Vec<Notice>,
}

/// A level that a column did not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewLevel {
    /// The column.
    pub column: String,
    /// The level, merged.
    pub level: String,
}

/// A group that an attribute did not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewGroup {
    /// The attribute.
    pub attribute: String,
    /// The group.
    pub group: String,
}

/// A point of one schema as one of a schema whose columns have further levels at their ends: these have
/// no effect yet.
pub fn embed(old: &Schema, new: &Schema, point: &[f64]) -> Vec<f64> {
    let (numeric, mut rest) = point.split_at(old.numeric.len());
    let mut out = numeric.to_vec();
    for (before, after) in old.categorical.iter().zip(&new.categorical) {
        let (own, others) = rest.split_at(before.levels.len());
        out.extend_from_slice(own);
        out.extend(std::iter::repeat_n(
            0.0,
            after.levels.len() - before.levels.len(),
        ));
        rest = others;
    }
    out.extend_from_slice(rest);
    out
}

impl Encoding {
    /// Whether this encoding is another one that has learned nothing, or more categories: the same columns
    /// in the same order, each with all categories of the other first. Groups do not matter.
    pub fn extends(&self, other: &Self) -> bool {
        let longer = |(own, other): (&CategoricalRule, &CategoricalRule)| {
            own.column == other.column && own.levels.starts_with(&other.levels)
        };
        self.numeric == other.numeric
            && self.categorical.len() == other.categorical.len()
            && self.categorical.iter().zip(&other.categorical).all(longer)
    }

    /// Learns the categories and groups of rows of a table.
    ///
    /// An unknown category is appended to the levels of its column, and so is `(missing)` where a value
    /// is missing for the first time; where the column has a level `(other)`, both go there as they
    /// always did. An unknown group is appended to those of its attribute, up to 1,000 of them.
    /// The new levels and groups of one call are in sorted order.
    pub fn grow(&mut self, table: &Table, rows: &[u32]) -> Result<Growth, Error> {
        // All looking comes before any change, so that an error leaves the encoding as it was.
        let mut unseen = vec![false; table.n_rows()];
        let mut new_levels = Vec::with_capacity(self.categorical.len());
        for rule in &self.categorical {
            let new = new_levels_of(rule, table, rows, &mut unseen);
            new_levels.push(new.map_err(|e| e.in_table(&table.name))?);
        }
        let mut new_groups = Vec::with_capacity(self.attributes.len());
        for rule in &self.attributes {
            let new = rule.new_groups(table, rows);
            new_groups.push(new.map_err(|e| e.in_table(&table.name))?);
        }

        let mut growth = Growth {
            unseen_rows: rows.iter().filter(|row| unseen[**row as usize]).count(),
            ..Growth::default()
        };
        for (rule, mut new) in self.categorical.iter_mut().zip(new_levels) {
            let room = MOST_LEVELS.saturating_sub(rule.levels.len());
            if new.len() > room {
                let (name, n) = (&rule.column, grouped(rule.levels.len() + room));
                growth.notices.push(Notice::warning(say![
                    "column {name:?} has {n} categories, and no more are told apart: others count as one, \
                     {OTHER}; leave it out",
                    with(DROP),
                    " if it is an identifier"
                ]));
                new.truncate(room);
                new.push(OTHER.into());
            }
            for level in new {
                growth.levels.push(NewLevel {
                    column: rule.column.clone(),
                    level: level.clone(),
                });
                rule.levels.push(level);
            }
        }
        for (rule, new) in self.attributes.iter_mut().zip(new_groups) {
            grow_groups(rule, new, &mut growth);
        }
        Ok(growth)
    }
}

/// The levels that a column has to learn, sorted, a missing value last.
fn new_levels_of(
    rule: &CategoricalRule,
    table: &Table,
    rows: &[u32],
    unseen: &mut [bool],
) -> Result<Vec<String>, Error> {
    let column = table.require(&rule.column, "a feature of the encoding")?;
    let (codes, levels) = column
        .categorical()
        .ok_or_else(|| Error::column(&rule.column, "this feature is categorical in training"))?;
    let known: Vec<bool> = levels.iter().map(|level| rule.knows(level)).collect();
    let knows_missing = rule.position(MISSING_LEVEL).is_some();
    let mut new: BTreeSet<&str> = BTreeSet::new();
    let mut missing = false;
    for &row in rows {
        let code = codes[row as usize];
        let is_known = match code {
            MISSING => knows_missing,
            code => known[code as usize],
        };
        if is_known {
            continue;
        }
        unseen[row as usize] = true;
        match levels.get(code as usize) {
            Some(raw) => {
                let merge = rule.merge.as_ref();
                new.insert(merge.map_or(raw.as_str(), |merge| merge.apply(raw)));
            }
            None => missing = true,
        }
    }
    if rule.position(OTHER).is_some() {
        return Ok(Vec::new());
    }
    // A level that is called so already takes them in.
    let own = missing && !new.contains(MISSING_LEVEL);
    let new = new.into_iter().chain(own.then_some(MISSING_LEVEL));
    Ok(new.map(Into::into).collect())
}

fn grow_groups(rule: &mut AttributeRule, new: Vec<String>, growth: &mut Growth) {
    let attribute = &mut rule.attribute;
    let room = MOST_GROUPS.saturating_sub(attribute.groups.len());
    if new.len() > room {
        let more: Vec<&str> = new[room..].iter().map(String::as_str).collect();
        let (name, most, more) = (&attribute.name, grouped(MOST_GROUPS), quoted_list(&more, 5));
        growth.notices.push(Notice::warning(say![
            "the sensitive attribute {name:?} has {most} groups, and no more are taken in: rows of {more} \
             count for the loss only; merge groups",
            with(MERGE)
        ]));
    }
    for group in new.into_iter().take(room) {
        growth.groups.push(NewGroup {
            attribute: attribute.name.clone(),
            group: group.clone(),
        });
        attribute.groups.push(group);
    }
}

impl AttributeRule {
    /// The groups of these rows that the rule does not know, in order.
    fn new_groups(&self, table: &Table, rows: &[u32]) -> Result<Vec<String>, Error> {
        let known = self.groups(table)?;
        let unknown: Vec<u32> = rows
            .iter()
            .copied()
            .filter(|row| known[*row as usize] == UNKNOWN_GROUP)
            .collect();
        match unknown.is_empty() {
            true => Ok(Vec::new()),
            false => self.group_names(table, &unknown),
        }
    }
}
