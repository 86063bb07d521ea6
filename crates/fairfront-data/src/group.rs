//! Maps sensitive columns to groups. The rules are fitted once, saved with the encoding, and applied to any
//! later rows.

use std::borrow::Cow;

use fairfront_core::{Attribute, SmallGroups, UNKNOWN_GROUP, aside, grouped, say, with};
use serde::{Deserialize, Serialize};

use crate::category::{Categories, Labels, plain_number};
use crate::error::{Error, near_names, near_words};
use crate::read::parse_number;
use crate::rule::OTHER;
use crate::setting::{BINS, MERGE, POOL_GROUPS, POSITIVE, REFERENCE, SENSITIVE, TYPE};
use crate::spec::{Merge, MissingSensitive, Spec, attribute_name};
use crate::table::Table;
use crate::target::TargetKind;

/// The group of rows whose sensitive value is missing, if such rows form a group.
pub const MISSING_GROUP: &str = "(missing)";

/// With more distinct numbers than this, a sensitive column needs bins and a target needs a comparison.
pub(crate) const MOST_NUMBERS: usize = 12;
/// The maximum number of groups; neither people nor statistics can distinguish more.
pub(crate) const MOST_GROUPS: usize = 1_000;

/// One column of a sensitive attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttributeColumn {
    /// The column.
    pub column: String,
    /// Bin edges of a numeric column: below the first, from the first to below the second, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<Vec<f64>>,
    /// Categories to merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
}

impl AttributeColumn {
    fn categories<'a>(&'a self, table: &'a Table) -> Result<Categories<'a>, Error> {
        let column = table.require(&self.column, SENSITIVE)?;
        match &self.bins {
            Some(edges) => Categories::binned(column, edges),
            None => Categories::of(column, self.merge.as_ref()),
        }
    }
}

/// How the columns of a sensitive attribute become groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttributeRule {
    /// Name and groups.
    #[serde(flatten)]
    pub attribute: Attribute,
    /// One column, or several for an intersection.
    pub columns: Vec<AttributeColumn>,
    /// The treatment of rows with a missing value.
    pub missing: MissingSensitive,
    /// The number of training rows that a group needs to be compared; see [`MinGroup`](crate::MinGroup).
    #[serde(default)]
    pub min_group: usize,
    /// Whether small groups were pooled. If so, rows of every unlisted group belong to `(other)`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pooled: bool,
    /// Whether the user declared that numbers in the column are codes.
    #[serde(skip)]
    as_codes: bool,
}

impl AttributeRule {
    /// The rules of all attributes of a spec.
    pub(crate) fn all(spec: &Spec) -> Vec<Self> {
        let attributes = spec.sensitive.iter();
        attributes.map(|columns| Self::new(spec, columns)).collect()
    }

    /// The rule of an attribute, without groups; [`AttributeRule::fit_groups`] finds them.
    pub(crate) fn new(spec: &Spec, columns: &[String]) -> Self {
        Self {
            attribute: Attribute::new(attribute_name(columns), Vec::new()),
            columns: columns
                .iter()
                .map(|column| AttributeColumn {
                    column: column.clone(),
                    bins: spec.bins.get(column).cloned(),
                    merge: spec.merges.get(column).cloned(),
                })
                .collect(),
            missing: spec.missing_sensitive,
            min_group: spec.min_group.0,
            pooled: false,
            as_codes: columns.iter().all(|c| spec.types.contains_key(c)),
        }
    }

    /// The rule for these columns of a table with the groups of all its rows, and the group code of each row.
    /// It is [`UNKNOWN_GROUP`] if the value is missing, unless missing values are a group.
    pub fn of_table(
        spec: &Spec,
        columns: &[String],
        table: &Table,
    ) -> Result<(Self, Vec<u32>), Error> {
        let mut rule = Self::new(spec, columns);
        let codes = rule.fit_groups(table, &all_rows(table))?;
        Ok((rule, codes))
    }

    /// Like [`AttributeRule::of_table`], with the columns, bins and merges of this rule. Groups that were not
    /// seen when it was fitted are added, unless small groups were pooled.
    pub fn with_groups_of(&self, table: &Table) -> Result<(Self, Vec<u32>), Error> {
        if self.pooled {
            return Ok((self.clone(), self.groups(table)?));
        }
        let mut rule = Self {
            // Numbers have been accepted before.
            as_codes: true,
            ..self.clone()
        };
        let codes = rule.fit_groups(table, &all_rows(table))?;
        Ok((rule, codes))
    }

    /// The rule with the facts that files do not store.
    pub(crate) fn restored(mut self, spec: &Spec) -> Self {
        let mut columns = self.columns.iter();
        self.as_codes = columns.all(|part| spec.types.contains_key(&part.column));
        self
    }

    /// Finds the groups that occur in `rows`, and returns the group code of each of these rows.
    pub(crate) fn fit_groups(&mut self, table: &Table, rows: &[u32]) -> Result<Vec<u32>, Error> {
        let name = &self.attribute.name;
        for part in &self.columns {
            let column = table.require(&part.column, SENSITIVE)?;
            if column.n_missing == table.n_rows() {
                return Err(Error::column(
                    &part.column,
                    "all values of this sensitive column are missing; choose another column",
                ));
            }
            let categories = part.categories(table)?;
            let numbers = categories
                .names
                .iter()
                .filter(|n| parse_number(n.as_bytes()).is_some());
            if part.bins.is_none() && !self.as_codes && numbers.count() > MOST_NUMBERS {
                let n = grouped(categories.names.len());
                return Err(Error::column(
                    &part.column,
                    say![
                        "this sensitive column has {n} different numbers";
                        "group them into bins", aside(say![", as in ", BINS.of(&part.column).is("25,45")]);
                        "pass ", TYPE.of(&part.column).is("categorical"), " if they are codes"
                    ],
                ));
            }
        }
        let labels = self.labels(table)?;
        let order = labels.order(rows);
        let group = |i: &usize| labels.names[*i].clone();
        self.attribute.groups = order.iter().map(group).collect();
        match self.attribute.groups.len() {
            0 | 1 => Err(Error::no_variation(
                name,
                format!(
                    "the sensitive attribute has {}, but fairness needs at least two; choose another \
                     attribute, or check which rows were dropped",
                    match self.attribute.groups.first() {
                        Some(only) => format!("only one group, {only:?}"),
                        None => "no groups".into(),
                    }
                ),
            )),
            n if n > MOST_GROUPS => Err(Error::column(
                name,
                say![
                    format!(
                        "the sensitive attribute has {} groups, more than {}",
                        grouped(n),
                        grouped(MOST_GROUPS)
                    );
                    "merge some", with(MERGE)
                ],
            )),
            _ => {
                let mut code_of = vec![UNKNOWN_GROUP; labels.names.len()];
                for (code, label) in order.into_iter().enumerate() {
                    code_of[label] = code as u32;
                }
                let code = |row: &u32| code_of.get(labels.codes[*row as usize] as usize);
                Ok(rows
                    .iter()
                    .map(|r| code(r).copied().unwrap_or(UNKNOWN_GROUP))
                    .collect())
            }
        }
    }

    /// Pools all groups with fewer training rows than `least` into one group, `(other)`. `counts` are the
    /// numbers of training rows per group. Returns the new code of each group, or `None` if all stay.
    pub(crate) fn pool(
        &mut self,
        least: usize,
        counts: &[usize],
    ) -> Result<Option<Vec<u32>>, Error> {
        let groups = &self.attribute.groups;
        let is_small = |g: usize| counts[g] < least || groups[g] == OTHER;
        if counts.iter().all(|count| *count >= least) {
            return Ok(None);
        }
        let mut names: Vec<String> = Vec::new();
        let mut code_of = vec![0; groups.len()];
        for g in (0..groups.len()).filter(|g| !is_small(*g)) {
            code_of[g] = names.len() as u32;
            names.push(groups[g].clone());
        }
        if names.is_empty() {
            let least = grouped(least);
            return Err(Error::no_variation(
                &self.attribute.name,
                say![
                    "every group of the sensitive attribute has fewer than {least} training rows, so ",
                    POOL_GROUPS,
                    " leaves one group; choose a smaller number"
                ],
            ));
        }
        for g in (0..groups.len()).filter(|g| is_small(*g)) {
            code_of[g] = names.len() as u32;
        }
        names.push(OTHER.into());
        self.attribute.groups = names;
        self.pooled = true;
        Ok(Some(code_of))
    }

    /// Decides which groups are compared, from the numbers of training rows of each class per group, or of
    /// negative and positive ones.
    pub(crate) fn fix_small(&mut self, counts: &[Vec<usize>]) {
        let least = self.min_group;
        let binary: Option<Vec<[usize; 2]>> = counts
            .iter()
            .map(|counts| counts.as_slice().try_into().ok())
            .collect();
        self.attribute.small = match binary {
            Some(counts) => SmallGroups::new(least, &counts),
            None => SmallGroups::of_classes(least, counts),
        };
    }

    /// Finds the reference group that a spec names for this attribute. Only decisions between two classes and
    /// predicted numbers have measures against it.
    pub(crate) fn fix_reference(
        &mut self,
        spec: &Spec,
        target: Option<&TargetKind>,
    ) -> Result<(), Error> {
        let Some(wanted) = spec.references.get(&self.attribute.name) else {
            return Ok(());
        };
        if TargetKind::n_places(target) > 2 {
            return Err(Error::Usage(say![
                REFERENCE.of(&self.attribute.name).is(wanted),
                ": measures against a reference group need a binary target or a number, but the target has \
                 more than two classes";
                "remove ", REFERENCE;
                "choose the classes that count as positive", with(POSITIVE)
            ]));
        }
        let groups = &self.attribute.groups;
        let exact = groups.iter().position(|group| group == wanted);
        let same = || {
            groups
                .iter()
                .position(|g| self.plain(g) == self.plain(wanted))
        };
        let Some(found) = exact.or_else(same) else {
            let near = near_words(wanted, groups.iter().map(String::as_str));
            return Err(Error::Usage(say![
                REFERENCE.of(&self.attribute.name).is(wanted),
                format!(": the attribute has no group {wanted:?}; {near}")
            ]));
        };
        self.attribute.reference = Some(found);
        Ok(())
    }

    /// The groups that occur in `rows`, in order. If several names stand for the same numbers, the first is
    /// used.
    pub(crate) fn group_names(&self, table: &Table, rows: &[u32]) -> Result<Vec<String>, Error> {
        let labels = self.labels(table)?;
        let mut seen = std::collections::BTreeSet::new();
        let order = labels.order(rows).into_iter();
        let names = order.map(|i| labels.names[i].clone());
        Ok(names.filter(|name| seen.insert(self.plain(name))).collect())
    }

    /// The group code of every row of a table. It is [`UNKNOWN_GROUP`] if the value is missing or if its
    /// group did not occur when the rule was fitted.
    pub fn groups(&self, table: &Table) -> Result<Vec<u32>, Error> {
        let labels = self.labels(table)?;
        let code_of: Vec<u32> = labels
            .names
            .iter()
            .map(|name| {
                let groups = &self.attribute.groups;
                let exact = groups.iter().position(|g| g == name);
                let same = || {
                    let name = self.plain(name);
                    groups.iter().position(|g| self.plain(g) == name)
                };
                let other = || groups.iter().position(|g| self.pooled && g == OTHER);
                let code = exact.or_else(same).or_else(other);
                code.map_or(UNKNOWN_GROUP, |p| p as u32)
            })
            .collect();
        let code = |label: &u32| {
            code_of
                .get(*label as usize)
                .copied()
                .unwrap_or(UNKNOWN_GROUP)
        };
        Ok(labels.codes.iter().map(code).collect())
    }

    /// The name of a group with its numbers in standard form, because files may write the same number
    /// differently (`1` and `1.0`).
    fn plain(&self, group: &str) -> String {
        match self.columns.len() {
            1 => plain_number(group).into_owned(),
            _ => {
                let parts: Vec<Cow<str>> = group.split(':').map(plain_number).collect();
                parts.join(":")
            }
        }
    }

    /// The label of every row: the category of one column, or the combination of several.
    fn labels(&self, table: &Table) -> Result<Labels, Error> {
        let own_group = self.missing == MissingSensitive::Group;
        let mut labels: Option<Labels> = None;
        for part in &self.columns {
            let next = part.categories(table)?.into_labels(own_group);
            labels = Some(match labels {
                None => next,
                Some(before) => before.combined(&next),
            });
        }
        Ok(labels.unwrap_or_default())
    }
}

fn all_rows(table: &Table) -> Vec<u32> {
    (0..table.n_rows() as u32).collect()
}

/// The error for an attribute that is not among those of a spec.
pub(crate) fn no_attribute(wanted: &str, known: &[AttributeRule]) -> Error {
    let names = known.iter().map(|r| r.attribute.name.as_str());
    Error::usage(format!(
        "no sensitive attribute {wanted:?}; {}",
        near_names(wanted, names)
    ))
}
