use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use fairfront_core::{Message, Name, each, say, with};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::comparison::Written;
use crate::date_part;
use crate::error::near_names;
use crate::grammar;
use crate::membership::GroupColumn;
use crate::read::ReadOptions;
use crate::setting::{
    BALANCE, BINS, DATE_PARTS, DROP, FEATURE, MARK, MERGE, MISSING, MISSING_SENSITIVE, NUMERIC,
    POOL_GROUPS, POSITIVE, REFERENCE, SENSITIVE, SENSITIVE_PROBABILITY, SPLIT, TARGET, TYPE,
    USE_SENSITIVE, WEIGHT,
};
use crate::table::ColumnType;
use crate::target_class;

/// The treatment of rows with a missing value in a feature column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingPolicy {
    /// The row is dropped, counted and reported.
    Drop,
    /// The row is kept: as its own category, or as the mean with an indicator.
    #[default]
    Keep,
    /// Missing is its own category (categorical columns).
    Category,
    /// The training mean, and a feature that indicates that the value was missing (numeric columns).
    Mean,
}

impl FromStr for MissingPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "drop" => Ok(Self::Drop),
            "keep" => Ok(Self::Keep),
            "category" => Ok(Self::Category),
            "mean" => Ok(Self::Mean),
            _ => Err(Error::usage(format!(
                "unknown policy {text:?} for missing values; choose drop, keep, category or mean"
            ))),
        }
    }
}

/// The treatment of rows with a missing sensitive value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingSensitive {
    /// The row is dropped, counted and reported.
    #[default]
    Drop,
    /// Missing is its own group, `(missing)`.
    Group,
    /// The row counts for the loss, but not for the fairness of that attribute.
    LossOnly,
}

impl FromStr for MissingSensitive {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "drop" => Ok(Self::Drop),
            "group" => Ok(Self::Group),
            "loss-only" => Ok(Self::LossOnly),
            _ => Err(Error::usage(format!(
                "unknown policy {text:?} for missing sensitive values; choose drop, group or loss-only"
            ))),
        }
    }
}

/// The scaling of numeric columns, with statistics of the training rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Mean 0, population variance 1.
    #[default]
    Standard,
    /// To [0, 1].
    MinMax,
    /// Unchanged.
    None,
}

impl FromStr for Scale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "standard" => Ok(Self::Standard),
            "min-max" => Ok(Self::MinMax),
            "none" => Ok(Self::None),
            _ => Err(Error::usage(format!(
                "unknown scaling {text:?}; choose standard, min-max or none"
            ))),
        }
    }
}

/// The maximum number of attributes whose groups are estimated: their probabilities multiply, and so do the rows.
const MOST_ESTIMATED: usize = 2;
/// The maximum number of groups of such an attribute.
const MOST_ESTIMATED_GROUPS: usize = 20;

/// Categories of one column to merge.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Merge {
    /// Old category → new category.
    pub categories: BTreeMap<String, String>,
    /// The new category of every other category, if set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
}

impl Merge {
    /// The new name of `category`.
    pub fn apply<'a>(&'a self, category: &'a str) -> &'a str {
        self.categories
            .get(category)
            .or(self.rest.as_ref())
            .map_or(category, String::as_str)
    }
}

/// How rows are divided into training, validation, certify and test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitRule {
    /// At random by seed: percentages of training, validation, certify and test rows.
    Shares([f64; 4]),
    /// All rows are training rows.
    None,
    /// A column whose values are `train`, `validation`, `certify` and `test`.
    Column(String),
}

impl Default for SplitRule {
    fn default() -> Self {
        Self::Shares([60.0, 10.0, 0.0, 30.0])
    }
}

impl FromStr for SplitRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "none" {
            return Ok(Self::None);
        }
        if let Some(column) = text.strip_prefix("column:") {
            return match grammar::names(column)?.as_slice() {
                [one] => Ok(Self::Column(one.clone())),
                _ => Err(Error::usage(format!(
                    "{text:?}: a split needs exactly one column; pass column:NAME"
                ))),
            };
        }
        let wrong = || {
            Error::usage(format!(
                "unknown split {text:?}; pass percentages that sum to 100, such as 60/10/30 \
                 (training/validation/test), 50/10/20/20 (training/validation/certify/test) or 70/30 \
                 (training/test), or pass none or column:NAME"
            ))
        };
        let parts: Option<Vec<f64>> = text.split('/').map(|p| p.trim().parse().ok()).collect();
        let shares = match parts.as_deref() {
            Some(&[train, test]) => [train, 0.0, 0.0, test],
            Some(&[train, validation, test]) => [train, validation, 0.0, test],
            Some(&[train, validation, certify, test]) => [train, validation, certify, test],
            _ => return Err(wrong()),
        };
        let sound = shares.iter().all(|s| *s >= 0.0) && shares[0] > 0.0;
        // Shares such as 33.3/33.3/33.4 may differ from 100 by rounding.
        if !sound || (shares.iter().sum::<f64>() - 100.0).abs() > 1e-9 {
            return Err(wrong());
        }
        Ok(Self::Shares(shares))
    }
}

/// The number of training rows that a group needs to be compared with others. For a measure among rows
/// labeled positive or negative, only these rows count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MinGroup(pub usize);

impl Default for MinGroup {
    fn default() -> Self {
        Self(30)
    }
}

/// The roles of columns, and how columns become features: all settings about a table before any training.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these settings are independent of each other"
)]
pub struct Spec {
    /// The column to predict; required for everything except inspecting the table.
    pub target: Option<String>,
    /// The target's value that counts as +1, or a comparison: `>= 5000`, `> median`.
    pub positive: Option<String>,
    /// Further values that count as +1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_positive: Vec<String>,
    /// Whether the target is a number. Without this and without a positive value, it is one if its column
    /// has more than two different numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numeric: bool,
    /// Whether the target is a class, also if its values are numbers. Without this and without a positive value,
    /// it is one of more than two classes if its column has more than two values that are not numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub classes: bool,
    /// All classes of the target from the lowest to the highest, if their order has a meaning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// All classes of the target, if more than two are known before its rows. Rows without one of them are then
    /// not enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_classes: Vec<String>,
    /// Whether classes may have so few training rows that cross-validation cannot use them well, which is an
    /// error otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub small_classes: bool,
    /// Sensitive attributes; each is a column or, for an intersection, several.
    pub sensitive: Vec<Vec<String>>,
    /// For attributes of which only probabilities are known, by name: their groups with the columns of their
    /// probabilities. Such an attribute is in `sensitive` as if its name were a column.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probabilities: BTreeMap<String, Vec<GroupColumn>>,
    /// Bin edges that turn a numeric sensitive column into groups.
    pub bins: BTreeMap<String, Vec<f64>>,
    /// The reference groups of sensitive attributes, by the canonical names of the attributes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub references: BTreeMap<String, String>,
    /// The only columns to use as features, if set.
    pub features: Option<Vec<String>>,
    /// Columns to exclude from the features.
    pub drop: Vec<String>,
    /// The column of sample weights.
    pub weight: Option<String>,
    /// Columns with probabilities of other models, which plots show next to the front.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// Whether sensitive columns are also features.
    pub use_sensitive: bool,
    /// Types set by the user.
    pub types: BTreeMap<String, ColumnType>,
    /// Dates whose weekday and month are also features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub date_parts: Vec<String>,
    /// Merged categories by column.
    pub merges: BTreeMap<String, Merge>,
    /// The treatment of rows with a missing feature value.
    pub missing: MissingPolicy,
    /// The same for individual columns.
    pub missing_by_column: BTreeMap<String, MissingPolicy>,
    /// The treatment of rows with a missing sensitive value.
    pub missing_sensitive: MissingSensitive,
    /// The scaling of numeric columns.
    pub scale: Scale,
    /// Categories with fewer training rows than this are pooled; 0 pools none.
    pub pool_rare: usize,
    /// Groups with fewer training rows than this are reported, but not compared.
    #[serde(default)]
    pub min_group: MinGroup,
    /// Groups with fewer training rows than this are pooled into `(other)`; 0 pools none.
    #[serde(default)]
    pub pool_groups: usize,
    /// The split into training, validation, certify and test rows.
    pub split: SplitRule,
    /// The attribute whose groups are reduced to equal sizes.
    pub balance: Option<Vec<String>>,
    /// Random seed for the split and for balancing.
    pub seed: u64,
}

/// The role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The target to predict.
    Target,
    /// Part of a sensitive attribute.
    Sensitive,
    /// Sample weights.
    Weight,
    /// Defines which rows are for training, validation, certify and test.
    Split,
    /// Probabilities of another model, for plots.
    Mark,
    /// Not used.
    Dropped,
    /// A feature of the model.
    Feature,
}

impl Spec {
    /// The role of a column. A sensitive column is [`Role::Sensitive`] even if it is also a feature.
    pub fn role(&self, column: &str) -> Role {
        let column = self.source_of(column);
        let is = |name: &Option<String>| name.as_deref() == Some(column);
        if is(&self.target) {
            Role::Target
        } else if self.is_sensitive(column) {
            Role::Sensitive
        } else if is(&self.weight) {
            Role::Weight
        } else if matches!(&self.split, SplitRule::Column(c) if c == column) {
            Role::Split
        } else if self.marks.iter().any(|mark| mark == column) {
            Role::Mark
        } else if self.drop.iter().any(|d| d == column)
            || self
                .features
                .as_ref()
                .is_some_and(|f| !f.iter().any(|n| n == column))
        {
            Role::Dropped
        } else {
            Role::Feature
        }
    }

    /// All values that count as +1.
    pub(crate) fn positives(&self) -> Vec<&String> {
        self.positive.iter().chain(&self.also_positive).collect()
    }

    /// Whether the target may be compared with a bound.
    fn compares(&self) -> bool {
        let positives = self.positives();
        positives.iter().any(|text| Written::read(text).is_some())
    }

    /// Whether the target may be a number, depending on the type of its column.
    pub(crate) fn may_be_numeric(&self) -> bool {
        let is_merged = |target: &String| self.merges.contains_key(target);
        let is_open = self.positives().is_empty() && !self.wants_classes();
        is_open && !self.target.as_ref().is_some_and(is_merged)
    }

    /// Whether the settings make the target a class.
    pub fn wants_classes(&self) -> bool {
        self.classes || !self.order.is_empty()
    }

    /// The column itself, or the date that it is a part of.
    fn source_of<'a>(&'a self, column: &'a str) -> &'a str {
        date_part::source(column, &self.date_parts).unwrap_or(column)
    }

    /// Whether the column is a part of a date.
    pub(crate) fn is_date_part(&self, column: &str) -> bool {
        date_part::source(column, &self.date_parts).is_some()
    }

    /// Whether the column is a feature.
    pub fn is_feature(&self, column: &str) -> bool {
        match self.role(column) {
            Role::Feature => true,
            Role::Sensitive => self.use_sensitive,
            _ => false,
        }
    }

    /// Adds a sensitive attribute of which only probabilities are known: its groups with their columns.
    pub fn add_probabilities(&mut self, name: &str, groups: Vec<GroupColumn>) -> Result<(), Error> {
        if self.probabilities.insert(name.into(), groups).is_some() {
            return Err(Error::Usage(say![
                SENSITIVE_PROBABILITY,
                " {name:?}: set twice; remove one of them"
            ]));
        }
        self.sensitive.push(vec![name.into()]);
        Ok(())
    }

    /// The columns of all sensitive attributes, with repetitions: those of the groups, or of their probabilities.
    pub fn sensitive_columns(&self) -> impl Iterator<Item = &String> {
        self.known_sensitive().chain(self.probability_columns())
    }

    /// The columns with known groups.
    pub fn known_sensitive(&self) -> impl Iterator<Item = &String> {
        let is_known = |name: &&String| !self.probabilities.contains_key(*name);
        self.sensitive.iter().flatten().filter(is_known)
    }

    /// The columns with probabilities of groups.
    pub fn probability_columns(&self) -> impl Iterator<Item = &String> {
        self.probabilities.values().flatten().map(|of| &of.column)
    }

    fn is_sensitive(&self, column: &str) -> bool {
        self.sensitive_columns().any(|c| c == column)
    }

    /// The treatment of rows with a missing value in this feature column.
    pub fn missing_policy(&self, column: &str) -> MissingPolicy {
        let own = self.missing_by_column.get(self.source_of(column));
        own.copied().unwrap_or(self.missing)
    }

    /// The name of a category of a column after merging.
    pub fn merged<'a>(&'a self, column: &str, category: &'a str) -> &'a str {
        let merge = self.merges.get(column);
        merge.map_or(category, |merge| merge.apply(category))
    }

    /// Completes the reading options: types that follow from roles, and columns to skip.
    pub fn read_options(&self, mut options: ReadOptions) -> ReadOptions {
        // Columns that the caller wants are read, also if they are not features.
        let wanted = options.keep.clone();
        for column in &self.date_parts {
            let date = options.types.entry(column.clone());
            date.or_insert(ColumnType::Date);
        }
        for (column, ty) in &self.types {
            options.types.insert(column.clone(), *ty);
        }
        for column in self.merges.keys() {
            options
                .types
                .insert(column.clone(), ColumnType::Categorical);
        }
        if let Some(column) = &self.target {
            let set = self.types.get(column).copied();
            if self.compares() {
                // Values may still be strings that look like comparisons.
                options.keep.insert(column.clone());
            } else if self.numeric {
                options.types.insert(column.clone(), ColumnType::Numeric);
            } else if self.may_be_numeric() && set.is_none() {
                options.target = Some(column.clone());
            } else if set != Some(ColumnType::Numeric) {
                options
                    .types
                    .insert(column.clone(), ColumnType::Categorical);
            }
        }
        for column in self.known_sensitive() {
            let ty = if self.bins.contains_key(column) {
                ColumnType::Numeric
            } else {
                ColumnType::Categorical
            };
            options.types.insert(column.clone(), ty);
        }
        let numbers = self.weight.iter().chain(&self.marks);
        for column in numbers.chain(self.probability_columns()) {
            options.types.insert(column.clone(), ColumnType::Numeric);
        }
        if let SplitRule::Column(column) = &self.split {
            options
                .types
                .insert(column.clone(), ColumnType::Categorical);
        }
        let dropped = self.drop.iter().filter(|name| !wanted.contains(*name));
        options.skip.extend(dropped.cloned());
        if let Some(features) = &self.features {
            let mut only: BTreeSet<String> = features.iter().cloned().collect();
            only.extend(
                self.named()
                    .into_iter()
                    .map(|(column, _)| column.to_owned()),
            );
            only.extend(wanted);
            options.only = Some(only);
            options.keep.extend(features.iter().cloned());
        }
        options
    }

    /// All columns with their own role, and the setting that gave it.
    pub fn named(&self) -> Vec<(&str, Name)> {
        let mut named: Vec<(&str, Name)> = Vec::new();
        named.extend(self.target.iter().map(|c| (c.as_str(), TARGET)));
        named.extend(self.known_sensitive().map(|c| (c.as_str(), SENSITIVE)));
        let probabilities = self.probability_columns();
        named.extend(probabilities.map(|c| (c.as_str(), SENSITIVE_PROBABILITY)));
        named.extend(self.weight.iter().map(|c| (c.as_str(), WEIGHT)));
        named.extend(self.marks.iter().map(|c| (c.as_str(), MARK)));
        if let SplitRule::Column(column) = &self.split {
            named.push((column, SPLIT));
        }
        named
    }

    /// Reports settings that are wrong for any table.
    pub fn check(&self) -> Result<(), Error> {
        let usage = |message: Message| Err(Error::Usage(message));
        if self.pool_groups > 0 && self.balance.is_some() {
            return usage(say![
                POOL_GROUPS, " and ", BALANCE, " cannot be combined";
                "merge groups instead", with(MERGE)
            ]);
        }
        for (setting, attributes) in [
            (SENSITIVE, self.sensitive.as_slice()),
            (BALANCE, self.balance.as_slice()),
        ] {
            if attributes.iter().any(Vec::is_empty) {
                return usage(say![
                    setting,
                    ": an attribute has no column; pass at least one"
                ]);
            }
        }
        let both = |column: &str, one: Name, other: Name| {
            usage(say![
                "column {column:?} cannot be both ",
                each([one, other])
            ])
        };
        let mut seen: BTreeMap<&str, Name> = BTreeMap::new();
        for (column, role) in self.named() {
            match seen.insert(column, role) {
                Some(other) if other != role => return both(column, other, role),
                _ => {}
            }
        }
        for column in &self.drop {
            if let Some(role) = seen.get(column.as_str()) {
                return both(column, *role, DROP);
            }
        }
        for column in self.features.iter().flatten() {
            if self.drop.contains(column) {
                return both(column, FEATURE, DROP);
            }
            match seen.get(column.as_str()).copied() {
                None => {}
                Some(SENSITIVE | SENSITIVE_PROBABILITY) if self.use_sensitive => {}
                Some(role @ (SENSITIVE | SENSITIVE_PROBABILITY)) => {
                    return usage(say![
                        "column {column:?} is both ",
                        each([role, FEATURE]),
                        "; to use sensitive columns as features, pass ",
                        USE_SENSITIVE
                    ]);
                }
                Some(role) => return both(column, role, FEATURE),
            }
        }
        self.check_attributes()?;
        self.check_target()?;
        self.check_settings(&seen)
    }

    fn check_attributes(&self) -> Result<(), Error> {
        let usage = |message: Message| Err(Error::Usage(message));
        for (i, attribute) in self.sensitive.iter().enumerate() {
            let name = attribute_name(attribute);
            let columns: BTreeSet<&String> = attribute.iter().collect();
            let same = |other: &Vec<String>| other.iter().collect::<BTreeSet<_>>() == columns;
            if self.sensitive[..i].iter().any(same) {
                return usage(say![
                    "the sensitive attribute {name:?} is listed twice; remove one of them"
                ]);
            }
            let distinct: BTreeSet<&String> = attribute.iter().collect();
            if distinct.len() < attribute.len() {
                return usage(say![
                    "the intersection {name:?} lists a column twice; remove one of them"
                ]);
            }
        }
        self.check_probabilities()?;
        for column in self.bins.keys() {
            if !self.known_sensitive().any(|known| known == column) {
                return usage(say![
                    BINS, " {column:?}: bins apply only to sensitive columns";
                    "also pass ", SENSITIVE.of(column)
                ]);
            }
            let categories = self.types.get(column).is_some_and(|t| !t.is_number());
            if categories || self.merges.contains_key(column) {
                return usage(say![
                    BINS,
                    " {column:?}: a column with bins is numeric, so it cannot have another ",
                    TYPE,
                    " or ",
                    MERGE
                ]);
            }
        }
        for (name, group) in &self.references {
            let mut names = self.sensitive.iter().map(|columns| attribute_name(columns));
            if !names.any(|known| known == *name) {
                let names: Vec<String> = self.sensitive.iter().map(|c| attribute_name(c)).collect();
                let near = near_names(name, names.iter().map(String::as_str));
                return usage(say![
                    REFERENCE.of(name).is(group),
                    format!(": no sensitive attribute {name:?}; {near}")
                ]);
            }
        }
        if let Some(balance) = &self.balance {
            let name = attribute_name(balance);
            if !self.sensitive.iter().any(|a| attribute_name(a) == name) {
                return usage(say![
                    BALANCE, " {name:?}: only a sensitive attribute can be balanced";
                    "also pass ", SENSITIVE.is(&name)
                ]);
            }
        }
        Ok(())
    }

    fn check_probabilities(&self) -> Result<(), Error> {
        let usage = |message: Message| Err(Error::Usage(message));
        if self.probabilities.len() > MOST_ESTIMATED {
            let n = self.probabilities.len();
            return usage(say![
                SENSITIVE_PROBABILITY,
                ": {n} attributes have estimated groups, more than {MOST_ESTIMATED}; remove some"
            ]);
        }
        let mut columns: BTreeSet<&String> = BTreeSet::new();
        for (name, groups) in &self.probabilities {
            let setting = SENSITIVE_PROBABILITY.of(name);
            let own = |attribute: &&Vec<String>| attribute.contains(name);
            if self.sensitive.iter().filter(own).count() != 1
                || self.sensitive.iter().filter(own).any(|a| a.len() > 1)
            {
                return usage(say![
                    setting,
                    ": {name:?} is already the name of a sensitive column; choose another name"
                ]);
            }
            if !(2..=MOST_ESTIMATED_GROUPS).contains(&groups.len()) {
                let n = groups.len();
                return usage(say![
                    setting,
                    ": expected from 2 to {MOST_ESTIMATED_GROUPS} groups with a column each, found {n}; pass one \
                     column per group"
                ]);
            }
            for (at, of) in groups.iter().enumerate() {
                let group = &of.group;
                if groups[..at].iter().any(|other| other.group == *group) {
                    return usage(say![
                        setting,
                        ": the group {group:?} is listed twice; rename or remove one of them"
                    ]);
                }
                let column = &of.column;
                if !columns.insert(column) {
                    return usage(say![
                        setting,
                        ": the column {column:?} is listed twice; remove one of them"
                    ]);
                }
                if self.merges.contains_key(column) {
                    return usage(say![
                        MERGE,
                        " {column:?}: a column of probabilities has no categories to merge"
                    ]);
                }
            }
            if self.pool_groups > 0 {
                return usage(say![
                    POOL_GROUPS, " cannot pool groups that are only estimated";
                    "add up the columns of their probabilities"
                ]);
            }
            if self.balance.as_ref().is_some_and(|b| b.contains(name)) {
                return usage(say![
                    BALANCE,
                    " {name:?}: the groups are only estimated, so rows cannot be balanced by them; balance by \
                     another attribute"
                ]);
            }
            if self.numeric {
                return usage(say![
                    setting,
                    ": the target is a number, and probabilities of groups work only with decisions";
                    "remove ", NUMERIC
                ]);
            }
        }
        Ok(())
    }

    /// Rejects estimated groups in work that needs known ones; `work` names it.
    pub fn needs_known_groups(&self, work: &str) -> Result<(), Error> {
        match self.probabilities.keys().next() {
            None => Ok(()),
            Some(name) => Err(Error::Usage(say![
                SENSITIVE_PROBABILITY.of(name),
                ": {work} needs known groups; fit a table in memory, or use a column of groups with ",
                SENSITIVE
            ])),
        }
    }

    fn check_settings(&self, roles: &BTreeMap<&str, Name>) -> Result<(), Error> {
        let usage = |message: Message| Err(Error::Usage(message));
        for (column, ty) in &self.types {
            let role = roles.get(column.as_str()).copied();
            let needs_categories = match role {
                Some(SPLIT) => true,
                Some(TARGET) => {
                    let may_be = self.numeric || self.compares() || self.may_be_numeric();
                    !(*ty == ColumnType::Numeric && may_be)
                }
                Some(SENSITIVE) => !self.bins.contains_key(column),
                _ => false,
            };
            if ty.is_number() && needs_categories {
                let mut message = say![
                    TYPE,
                    " {column:?}: the column is ",
                    role,
                    ", whose values are categories and not numbers"
                ];
                if role == Some(SENSITIVE) {
                    message.push_remedy(say!["group numbers with ", BINS]);
                }
                return usage(message);
            }
            if *ty != ColumnType::Numeric && matches!(role, Some(WEIGHT | SENSITIVE_PROBABILITY)) {
                return usage(say![
                    TYPE,
                    " {column:?}: the column is ",
                    role,
                    ", so it must be numeric"
                ]);
            }
        }
        for column in self.merges.keys() {
            if self.types.get(column).is_some_and(|t| t.is_number()) {
                return usage(say![
                    MERGE,
                    " {column:?}: a numeric column has no categories to merge"
                ]);
            }
        }
        for column in self.missing_by_column.keys() {
            match roles.get(column.as_str()).copied() {
                Some(SENSITIVE) if !self.use_sensitive => {
                    return usage(say![
                        MISSING,
                        " {column:?}: the column is sensitive; instead, pass ",
                        MISSING_SENSITIVE
                    ]);
                }
                Some(role) if role != SENSITIVE => {
                    return usage(say![
                        MISSING,
                        " {column:?}: this setting applies only to features, but the column is ",
                        role
                    ]);
                }
                _ => {}
            }
        }
        for column in &self.date_parts {
            if self.types.get(column).is_some_and(|t| t.date().is_none())
                || self.merges.contains_key(column)
            {
                return usage(say![
                    DATE_PARTS,
                    " {column:?}: a column of dates cannot have another ",
                    TYPE,
                    " or ",
                    MERGE
                ]);
            }
            match roles.get(column.as_str()).copied() {
                Some(SENSITIVE) if self.use_sensitive => {}
                Some(role) => {
                    return usage(say![
                        DATE_PARTS,
                        " {column:?}: the column is ",
                        role,
                        ", so it is not a feature; choose another column"
                    ]);
                }
                None if self.drop.contains(column) => {
                    let both = each([DATE_PARTS, DROP]);
                    return usage(say!["column {column:?} cannot be both ", both]);
                }
                None => {}
            }
        }
        Ok(())
    }

    fn check_target(&self) -> Result<(), Error> {
        let usage = |message: Message| Err(Error::Usage(message));
        if self.positive.is_some() && self.target.is_none() {
            return usage(say![POSITIVE, " needs ", TARGET]);
        }
        if self.numeric && self.target.is_none() {
            return usage(say![NUMERIC, " needs ", TARGET]);
        }
        target_class::check_spec(self)?;
        if self.numeric && !self.positives().is_empty() {
            return usage(say![
                NUMERIC,
                " predicts the target as a number and ",
                POSITIVE,
                " as two classes; choose one of them"
            ]);
        }
        if let Some(column) = self.target.as_ref().filter(|_| self.numeric) {
            if self
                .types
                .get(column)
                .is_some_and(|ty| *ty != ColumnType::Numeric)
            {
                return usage(say![
                    TYPE,
                    " {column:?}: the column is ",
                    TARGET,
                    " with ",
                    NUMERIC,
                    ", so it must be numeric"
                ]);
            }
            if self.merges.contains_key(column) {
                return usage(say![
                    MERGE,
                    " {column:?}: a numeric column has no categories to merge"
                ]);
            }
        }
        let positives = self.positives();
        for (i, text) in positives.iter().enumerate() {
            if positives[..i].contains(text) {
                return usage(say![
                    POSITIVE,
                    " {text:?} is listed twice; remove one of them"
                ]);
            }
        }
        Ok(())
    }
}

/// The canonical name of an attribute: its columns joined by `:`.
///
/// ```
/// assert_eq!(fairfront_data::attribute_name(&["sex".into(), "race".into()]), "sex:race");
/// ```
pub fn attribute_name(columns: &[String]) -> String {
    match columns {
        [one] => one.clone(),
        several => {
            let quoted: Vec<String> = several.iter().map(|c| grammar::quote(c)).collect();
            quoted.join(":")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec {
            target: Some("y".into()),
            sensitive: vec![vec!["sex".into()], vec!["sex".into(), "race".into()]],
            ..Spec::default()
        }
    }

    fn rejected(change: impl FnOnce(&mut Spec)) -> String {
        let mut spec = spec();
        change(&mut spec);
        let error = spec.check().unwrap_err();
        assert!(error.is_usage());
        error.to_string()
    }

    #[test]
    fn attribute_needs_a_column() {
        let none = || vec![Vec::new()];
        let sensitive = Spec {
            sensitive: none(),
            ..Spec::default()
        };
        let balance = Spec {
            balance: none().pop(),
            ..Spec::default()
        };
        for (spec, setting) in [(sensitive, "sensitive"), (balance, "balance")] {
            let error = spec.check().unwrap_err().to_string();
            assert!(error.starts_with(setting), "{error}");
        }
    }

    #[test]
    fn valid_spec_passes() {
        spec().check().unwrap();
        assert_eq!(spec().role("race"), Role::Sensitive);
        assert!(!spec().is_feature("race"));
        assert!(spec().is_feature("age"));
    }

    #[test]
    fn conflicting_roles_are_rejected() {
        assert_eq!(
            rejected(|s| s.weight = Some("y".into())),
            r#"column "y" cannot be both target and weight"#
        );
        assert_eq!(
            rejected(|s| s.drop = vec!["sex".into()]),
            r#"column "sex" cannot be both sensitive and drop"#
        );
        assert!(rejected(|s| s.target = Some("race".into())).contains("target and sensitive"));
        assert!(rejected(|s| s.features = Some(vec!["sex".into()])).contains("use_sensitive"));
        assert!(rejected(|s| s.sensitive.push(vec!["sex".into()])).contains("listed twice"));
        assert!(rejected(|s| s.split = SplitRule::Column("y".into())).contains("split"));
        assert!(rejected(|s| s.balance = Some(vec!["age".into()])).starts_with("balance"));
        assert_eq!(
            rejected(|s| drop(s.references.insert("rac".into(), "White".into()))),
            "reference of \"rac\"=White: no sensitive attribute \"rac\"; available: \"sex\", \"sex:race\""
        );
        assert!(rejected(|s| drop(s.bins.insert("age".into(), vec![3.0]))).starts_with("bins"));
        assert!(
            rejected(|s| (s.target, s.positive) = (None, Some("1".into())))
                .ends_with("needs target")
        );
        assert!(
            rejected(|s| (s.target, s.numeric) = (None, true)).ends_with("numeric needs target")
        );
        assert_eq!(
            rejected(|s| (s.numeric, s.positive) = (true, Some("1".into()))),
            "numeric predicts the target as a number and positive as two classes; choose one of them"
        );
        let categories = || [("y".to_owned(), ColumnType::Categorical)].into();
        assert!(
            rejected(|s| (s.numeric, s.types) = (true, categories()))
                .contains("the column is target with numeric, so it must be numeric")
        );
        let merge = || [("y".to_owned(), Merge::default())].into();
        assert!(
            rejected(|s| (s.numeric, s.merges) = (true, merge()))
                .contains("a numeric column has no categories")
        );
    }

    #[test]
    fn splits_are_read() {
        assert_eq!(
            "60/10/30".parse::<SplitRule>().unwrap(),
            SplitRule::default()
        );
        assert_eq!(
            "80/20".parse::<SplitRule>().unwrap(),
            SplitRule::Shares([80.0, 0.0, 0.0, 20.0])
        );
        assert_eq!("none".parse::<SplitRule>().unwrap(), SplitRule::None);
        assert_eq!(
            "column:part".parse::<SplitRule>().unwrap(),
            SplitRule::Column("part".into())
        );
        for bad in [
            "60/10",
            "0/50/50",
            "a/b",
            "60/-10/50",
            "100",
            "",
            "column:",
            "nan/50/50",
        ] {
            assert!(bad.parse::<SplitRule>().is_err(), "{bad}");
        }
    }

    #[test]
    fn merges_fall_through_to_the_rest() {
        let merge = Merge {
            categories: [("United-States".to_owned(), "United-States".to_owned())].into(),
            rest: Some("other".into()),
        };
        assert_eq!(merge.apply("United-States"), "United-States");
        assert_eq!(merge.apply("Cuba"), "other");
        assert_eq!(Merge::default().apply("Cuba"), "Cuba");
    }
}
