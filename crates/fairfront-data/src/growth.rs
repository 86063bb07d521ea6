//! Adds categories and groups to an encoding that did not occur when it was fitted.

use std::collections::BTreeSet;

use fairfront_core::{Classes, Schema, UNKNOWN_GROUP, grouped, say, with};
use serde::{Deserialize, Serialize};

use crate::encoding::Encoding;
use crate::error::{Error, quoted_list};
use crate::group::{AttributeRule, MOST_GROUPS};
use crate::rule::{CategoricalRule, MISSING_CATEGORY, OTHER};
use crate::setting::{DROP, MERGE};
use crate::table::{Diagnostic, MISSING, Table};

/// The maximum number of categories per column, so that a stream does not grow with every identifier in it.
const MOST_CATEGORIES: usize = 1_000;

/// The categories and groups added to an encoding.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Growth {
    /// New categories, in the order of their parameters.
    pub categories: Vec<NewCategory>,
    /// New groups, attribute by attribute.
    pub groups: Vec<NewGroup>,
    /// Rows with a category that was unknown before, including those pooled into *other*, and rows with the
    /// first missing values of a column.
    pub unseen_rows: usize,
    /// Messages about the new categories and groups.
    #[serde(rename = "messages")]
    pub diagnostics: Vec<Diagnostic>,
}

/// A new category of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCategory {
    /// The column.
    pub column: String,
    /// The category, after merging.
    pub category: String,
}

/// A new group of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewGroup {
    /// The attribute.
    pub attribute: String,
    /// The group.
    pub group: String,
}

/// Converts a point of one schema to a schema whose columns have further categories at their ends. The new
/// categories have no effect yet.
pub fn embed(old: &Schema, new: &Schema, point: &[f64]) -> Vec<f64> {
    let mut out = Vec::with_capacity(point.len());
    let mut rest = point;
    // A network has weights of all features for each hidden unit, and a model of classes for each class.
    let n_sets = old.hidden.max(1) as usize * old.target.classes().map_or(1, Classes::len);
    for _ in 0..n_sets {
        let (numeric, others) = rest.split_at(old.numeric.len());
        out.extend_from_slice(numeric);
        rest = others;
        for (before, after) in old.categorical.iter().zip(&new.categorical) {
            let (own, others) = rest.split_at(before.categories.len());
            out.extend_from_slice(own);
            out.extend(std::iter::repeat_n(
                0.0,
                after.categories.len() - before.categories.len(),
            ));
            rest = others;
        }
    }
    out.extend_from_slice(rest);
    out
}

impl Encoding {
    /// Whether this encoding equals `other` or has only more categories: the same columns in the same
    /// order, each starting with all categories of `other`. Groups and hidden units do not matter.
    pub fn extends(&self, other: &Self) -> bool {
        let longer = |(own, other): (&CategoricalRule, &CategoricalRule)| {
            own.column == other.column && own.categories.starts_with(&other.categories)
        };
        self.numeric == other.numeric
            && self.categorical.len() == other.categorical.len()
            && self.categorical.iter().zip(&other.categorical).all(longer)
    }

    /// Adds the categories and groups of these rows of a table.
    ///
    /// An unknown category is appended to the categories of its column, and so is `(missing)` at the first
    /// missing value. If the column has a category `(other)`, both belong to it instead. An unknown group
    /// is appended to the groups of its attribute, up to 1,000 groups. The new categories and groups of one
    /// call are in sorted order.
    pub fn grow(&mut self, table: &Table, rows: &[u32]) -> Result<Growth, Error> {
        // Check everything before the first change, so that an error leaves the encoding unchanged.
        let mut unseen = vec![false; table.n_rows()];
        let mut new_categories = Vec::with_capacity(self.categorical.len());
        for rule in &self.categorical {
            let new = new_categories_of(rule, table, rows, &mut unseen);
            new_categories.push(new.map_err(|e| e.in_table(&table.name))?);
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
        for (rule, mut new) in self.categorical.iter_mut().zip(new_categories) {
            let room = MOST_CATEGORIES.saturating_sub(rule.categories.len());
            if new.len() > room {
                let (name, n) = (&rule.column, grouped(rule.categories.len() + room));
                growth.diagnostics.push(Diagnostic::warning(say![
                    "column {name:?} has reached the maximum of {n} categories, so all further ones are \
                     treated as {OTHER}; drop it",
                    with(DROP),
                    " if it is an identifier"
                ]));
                new.truncate(room);
                new.push(OTHER.into());
            }
            for category in new {
                growth.categories.push(NewCategory {
                    column: rule.column.clone(),
                    category: category.clone(),
                });
                rule.categories.push(category);
            }
        }
        for (rule, new) in self.attributes.iter_mut().zip(new_groups) {
            grow_groups(rule, new, &mut growth);
        }
        Ok(growth)
    }
}

/// The new categories of a column, sorted, with missing values last.
fn new_categories_of(
    rule: &CategoricalRule,
    table: &Table,
    rows: &[u32],
    unseen: &mut [bool],
) -> Result<Vec<String>, Error> {
    let column = table.require(&rule.column, "a feature of the encoding")?;
    let (codes, categories) = column.categorical().ok_or_else(|| {
        Error::column(
            &rule.column,
            "this feature is categorical in training, but the column is not; fix its values",
        )
    })?;
    let known: Vec<bool> = categories
        .iter()
        .map(|category| rule.knows(category))
        .collect();
    let knows_missing = rule.position(MISSING_CATEGORY).is_some();
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
        match categories.get(code as usize) {
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
    // If a category already has this name, the missing values join it.
    let own = missing && !new.contains(MISSING_CATEGORY);
    let new = new.into_iter().chain(own.then_some(MISSING_CATEGORY));
    Ok(new.map(Into::into).collect())
}

fn grow_groups(rule: &mut AttributeRule, new: Vec<String>, growth: &mut Growth) {
    let attribute = &mut rule.attribute;
    let room = MOST_GROUPS.saturating_sub(attribute.groups.len());
    if new.len() > room {
        let more: Vec<&str> = new[room..].iter().map(String::as_str).collect();
        let (name, most, more) = (&attribute.name, grouped(MOST_GROUPS), quoted_list(&more, 5));
        growth.diagnostics.push(Diagnostic::warning(say![
            "the sensitive attribute {name:?} has reached the maximum of {most} groups: rows of {more} \
             count only for the loss; merge groups",
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
    /// The groups of these rows that the rule does not know yet, in order.
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
