//! How the target becomes labels and how sensitive columns become groups: fitted once, saved with
//! the encoding, applied to any later rows.

use std::borrow::Cow;

use fairfront_core::{Attribute, SmallGroups, UNKNOWN_GROUP, grouped};
use serde::{Deserialize, Serialize};

use crate::comparison::{Comparison, Written};
use crate::error::{Error, near, near_names, quoted_list, shell, shorten};
use crate::grammar::quote;
use crate::read::{has_leading_zero, parse_number};
use crate::rule::OTHER;
use crate::spec::{Merge, MissingSensitive, Spec, attribute_name};
use crate::table::{Column, MISSING, Notice, Table, Values};

/// The group of rows whose sensitive value is missing, where they are to be one.
pub const MISSING_GROUP: &str = "(missing)";

/// More different numbers than this in a sensitive column need bins.
const MOST_NUMBERS: usize = 12;
/// More groups than this cannot be told apart by a person or by statistics.
pub(crate) const MOST_GROUPS: usize = 1_000;

/// Which value of the target is +1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetRule {
    /// The column.
    pub column: String,
    /// The value that counts as +1, or the comparison that decides it; every other one is −1.
    pub positive: String,
    /// Further values that count as +1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_positive: Vec<String>,
    /// Which numbers count as +1, where that is not a matter of single values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Levels that are one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
}

impl TargetRule {
    /// Chooses the positive value by the spec and the levels in `rows`.
    pub(crate) fn fit(
        spec: &Spec,
        target: &str,
        table: &Table,
        rows: &[u32],
        notices: &mut Vec<Notice>,
    ) -> Result<Self, Error> {
        let column = table.require(target, "--target")?;
        let merge = spec.merges.get(target).cloned();
        let levels = Levels::of(column, merge.as_ref())?;
        let present = Present::new(target, &levels, rows)?;
        // A value that is written like a comparison is that value.
        if let [wanted] = spec.positives().as_slice()
            && present.find(wanted).is_none()
            && let Some(written) = Written::read(wanted)
        {
            let comparison = present.compared(wanted, written)?;
            notices.push(Notice::info(format!(
                "{target:?} {comparison} counts as positive, every other value as negative"
            )));
            return Ok(Self {
                column: target.into(),
                positive: comparison.to_string(),
                also_positive: Vec::new(),
                comparison: Some(comparison),
                merge: merge.clone(),
            });
        }
        let mut also_positive = present.chosen(spec, notices)?;
        let positive = also_positive.remove(0);
        let rule = Self {
            column: target.into(),
            positive,
            also_positive,
            comparison: None,
            merge: merge.clone(),
        };
        if present.values.len() > 2 {
            let positive: Vec<String> =
                rule.positives().map(|value| format!("{value:?}")).collect();
            notices.push(Notice::info(format!(
                "the target {target:?} has {} values; all but {} count as negative",
                grouped(present.values.len()),
                positive.join(" and ")
            )));
        }
        Ok(rule)
    }

    /// The values that count as +1.
    fn positives(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.positive).chain(&self.also_positive)
    }

    /// The values that count as +1, as a person reads them: `yes`, `A or B`, `>= 5000`.
    pub fn positive_text(&self) -> String {
        let all: Vec<&str> = self.positives().map(String::as_str).collect();
        all.join(" or ")
    }

    /// When a label is +1, as a person reads it: `pay = high`, `income >= 5000`.
    pub fn condition(&self) -> String {
        match self.comparison {
            Some(comparison) => format!("{} {comparison}", self.column),
            None => format!("{} = {}", self.column, self.positive_text()),
        }
    }

    /// The values in `rows`, merged, in order.
    pub(crate) fn values(&self, table: &Table, rows: &[u32]) -> Result<Vec<String>, Error> {
        if self.comparison.is_some() {
            return Ok(Vec::new());
        }
        let column = table.require(&self.column, "the target")?;
        let levels = Levels::of(column, self.merge.as_ref())?;
        let counts = levels.counts(rows);
        let present = levels.names.iter().zip(counts).filter(|(_, n)| *n > 0);
        let mut values: Vec<String> = present.map(|(name, _)| name.to_string()).collect();
        values.sort_unstable_by(|a, b| natural(a, b));
        Ok(values)
    }

    /// For every row of the table the value of the target, merged, where it is none of these.
    pub(crate) fn unknown_values(
        &self,
        table: &Table,
        known: &[String],
    ) -> Result<Vec<Option<String>>, Error> {
        let column = table.require(&self.column, "the target")?;
        let levels = Levels::of(column, self.merge.as_ref())?;
        let is_known = |name: &str| match self.comparison {
            Some(_) => parse_number(name.as_bytes()).is_some(),
            None => known.iter().any(|k| same_value(k, name)),
        };
        let unknown = |name: &Cow<str>| (!is_known(name)).then(|| shorten(name));
        let unknown: Vec<Option<String>> = levels.names.iter().map(unknown).collect();
        let of = |code: &u32| unknown.get(*code as usize).cloned().flatten();
        Ok(levels.codes.iter().map(of).collect())
    }

    /// `Some(true)` for +1, `None` where the target is missing, for every row of the table.
    pub fn labels(&self, table: &Table) -> Result<Vec<Option<bool>>, Error> {
        let column = table.require(&self.column, "the target")?;
        if let (Some(comparison), Some(numbers)) = (self.comparison, column.numeric()) {
            let label = |number: f64| (!number.is_nan()).then(|| comparison.holds(number));
            return Ok(numbers.iter().map(label).collect());
        }
        let levels = Levels::of(column, self.merge.as_ref())?;
        let is_positive = |name: &str| match self.comparison {
            Some(comparison) => {
                parse_number(name.as_bytes()).is_some_and(|number| comparison.holds(number))
            }
            None => self.positives().any(|positive| same_value(name, positive)),
        };
        let positive: Vec<bool> = levels.names.iter().map(|name| is_positive(name)).collect();
        let label = |code: &u32| positive.get(*code as usize).copied();
        Ok(levels.codes.iter().map(label).collect())
    }
}

/// The values of a target with their rows, in order.
struct Present<'a> {
    target: &'a str,
    values: Vec<(&'a str, usize)>,
}

impl<'a> Present<'a> {
    /// Those in `rows`; fewer than two are an error.
    fn new(target: &'a str, levels: &'a Levels<'_>, rows: &[u32]) -> Result<Self, Error> {
        let counts = levels.counts(rows);
        let names = levels.names.iter().map(AsRef::as_ref).zip(counts);
        let mut values: Vec<(&str, usize)> = names.filter(|(_, count)| *count > 0).collect();
        values.sort_unstable_by(|a, b| natural(a.0, b.0));
        let present = Self { target, values };
        match present.values.len() {
            0 => Err(Error::column(target, "the target has no values")),
            1 => Err(Error::alike(
                target,
                format!(
                    "the target has one value only, {}; nothing can be learned from it: name another \
                     target, or look at which rows were dropped",
                    present.listed(1)
                ),
            )),
            _ => Ok(present),
        }
    }

    /// The first values with their rows, as a person reads them.
    fn listed(&self, most: usize) -> String {
        let shown: Vec<String> = self
            .values
            .iter()
            .take(most)
            .map(|(name, count)| format!("{name:?} ({} rows)", grouped(*count)))
            .collect();
        match self.values.len().saturating_sub(most) {
            0 => shown.join(", "),
            more => format!("{} and {} more", shown.join(", "), grouped(more)),
        }
    }

    /// The value that a text stands for.
    fn find(&self, wanted: &str) -> Option<String> {
        let found = self
            .values
            .iter()
            .find(|(name, _)| same_value(name, wanted));
        found.map(|(name, _)| (*name).to_owned())
    }

    /// Advice for targets whose values are all numbers.
    fn advice(&self) -> &'static str {
        let is_number = |(name, _): &(&str, usize)| parse_number(name.as_bytes()).is_some();
        match self.values.iter().all(is_number) {
            true => "; numbers can be compared: --positive '>= NUMBER' or --positive '> median'",
            false => "",
        }
    }

    /// The comparison that a text stands for; both labels must occur.
    fn compared(&self, wanted: &str, written: Written) -> Result<Comparison, Error> {
        let mut numbers = Vec::with_capacity(self.values.len());
        let mut all = Vec::new();
        for (name, count) in &self.values {
            let Some(number) = parse_number(name.as_bytes()) else {
                return Err(Error::column(
                    self.target,
                    format!(
                        "--positive {} compares numbers, and the target has the value {name:?}; choose \
                         values instead: {}",
                        shell(wanted),
                        self.listed(6)
                    ),
                ));
            };
            numbers.push(number);
            all.resize(all.len() + count, number);
        }
        let comparison = written.settle(all);
        let positive = numbers.iter().filter(|x| comparison.holds(**x)).count();
        if positive > 0 && positive < numbers.len() {
            return Ok(comparison);
        }
        Err(Error::alike(
            self.target,
            format!(
                "all rows are {} by --positive {}; nothing can be learned from them: choose another bound \
                 (values: {})",
                if positive == 0 {
                    "negative"
                } else {
                    "positive"
                },
                shell(&comparison.to_string()),
                self.listed(6)
            ),
        ))
    }

    /// The values that count as +1: at least one, and not all of them.
    fn chosen(&self, spec: &Spec, notices: &mut Vec<Notice>) -> Result<Vec<String>, Error> {
        let (target, n) = (self.target, self.values.len());
        let wanted = spec.positives();
        if wanted.is_empty() && n > 2 {
            return Err(Error::column(
                target,
                format!(
                    "the target has {} values; choose those that count as positive with --positive \
                     (repeat it for several): {}{}",
                    grouped(n),
                    self.listed(6),
                    self.advice()
                ),
            ));
        }
        if wanted.is_empty() {
            let last = self.values[n - 1].0.to_owned();
            notices.push(Notice::info(format!(
                "{target:?} = {last:?} counts as positive (the last in order); \
                 say --positive to choose"
            )));
            return Ok(vec![last]);
        }
        let mut chosen = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            let Some(found) = self.find(wanted) else {
                let names: Vec<&str> = self.values.iter().map(|(name, _)| *name).collect();
                let advice = match near(wanted, &names).as_slice() {
                    [] => format!("there are {}", self.listed(6)),
                    near => format!("did you mean {}?", quoted_list(near, 3)),
                };
                return Err(Error::column(
                    target,
                    format!(
                        "the target has no value {wanted:?} (--positive); {advice}{}",
                        self.advice()
                    ),
                ));
            };
            chosen.push(found);
        }
        if chosen.len() >= n {
            return Err(Error::column(
                target,
                "--positive lists every value of the target; leave out those that count as negative",
            ));
        }
        if let [value] = chosen.as_slice()
            && n > MOST_NUMBERS
            && !self.advice().is_empty()
        {
            notices.push(Notice::warning(format!(
                "the target {target:?} has {} different numbers, and only {value} counts as positive; \
                 compare them if you mean a range: --positive {} or --positive '> median'",
                grouped(n),
                shell(&format!(">= {value}"))
            )));
        }
        Ok(chosen)
    }
}

/// One column of a sensitive attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttributeColumn {
    /// The column.
    pub column: String,
    /// Cuts of a numeric column: below the first, from the first to below the second, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<Vec<f64>>,
    /// Levels that are one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
}

impl AttributeColumn {
    fn levels<'a>(&'a self, table: &'a Table) -> Result<Levels<'a>, Error> {
        let column = table.require(&self.column, "--sensitive")?;
        match &self.bins {
            Some(edges) => Levels::binned(column, edges),
            None => Levels::of(column, self.merge.as_ref()),
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
    /// What happens to rows with a missing value.
    pub missing: MissingSensitive,
    /// Training rows that a group needs to be compared; see [`MinGroup`](crate::MinGroup).
    #[serde(default)]
    pub min_group: usize,
    /// Whether small groups were pooled: rows of every group without a name of its own are in
    /// `(other)`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pooled: bool,
    /// Whether numbers in it are codes, by the user's word.
    #[serde(skip)]
    as_codes: bool,
}

impl AttributeRule {
    /// The rule of an attribute; its groups are found later, by [`AttributeRule::fit_groups`].
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

    /// Finds the groups that occur in `rows` and returns the group code of each of these rows.
    pub(crate) fn fit_groups(&mut self, table: &Table, rows: &[u32]) -> Result<Vec<u32>, Error> {
        let name = &self.attribute.name;
        for part in &self.columns {
            let column = table.require(&part.column, "--sensitive")?;
            if column.n_missing == table.n_rows() {
                return Err(Error::column(
                    &part.column,
                    "all values of this sensitive column are missing; name another",
                ));
            }
            let levels = part.levels(table)?;
            let numbers = levels
                .names
                .iter()
                .filter(|n| parse_number(n.as_bytes()).is_some());
            if part.bins.is_none() && !self.as_codes && numbers.count() > MOST_NUMBERS {
                return Err(Error::column(
                    &part.column,
                    format!(
                        "this sensitive column holds {} different numbers; make groups of them, \
                         as in --bins {}, or say --type {} if they are codes",
                        grouped(levels.names.len()),
                        shell(&format!("{}=25,45", quote(&part.column))),
                        shell(&format!("{}=categorical", quote(&part.column)))
                    ),
                ));
            }
        }
        let labels = self.labels(table)?;
        let order = labels.order(rows);
        let group = |i: &usize| labels.names[*i].clone();
        self.attribute.groups = order.iter().map(group).collect();
        match self.attribute.groups.len() {
            0 | 1 => Err(Error::alike(
                name,
                format!(
                    "the sensitive attribute has {}; fairness needs at least two groups: name another \
                     attribute, or look at which rows were dropped",
                    match self.attribute.groups.first() {
                        Some(only) => format!("one group only, {only:?}"),
                        None => "no group".into(),
                    }
                ),
            )),
            n if n > MOST_GROUPS => Err(Error::column(
                name,
                format!(
                    "the sensitive attribute has {} groups, more than {}; merge some with --merge",
                    grouped(n),
                    grouped(MOST_GROUPS)
                ),
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

    /// Makes one group, `(other)`, of all groups with fewer training rows than `least`. `codes` are the
    /// groups of all rows in use, `train` the positions of training rows among them.
    pub(crate) fn pool(
        &mut self,
        least: usize,
        codes: &mut [u32],
        train: &[u32],
    ) -> Result<(), Error> {
        let groups = &self.attribute.groups;
        let mut counts = vec![0; groups.len()];
        for &position in train {
            if let Some(count) = counts.get_mut(codes[position as usize] as usize) {
                *count += 1;
            }
        }
        let is_small = |g: usize| counts[g] < least || groups[g] == OTHER;
        if counts.iter().all(|count| *count >= least) {
            return Ok(());
        }
        let mut names: Vec<String> = Vec::new();
        let mut code_of = vec![0; groups.len()];
        for g in (0..groups.len()).filter(|g| !is_small(*g)) {
            code_of[g] = names.len() as u32;
            names.push(groups[g].clone());
        }
        if names.is_empty() {
            return Err(Error::alike(
                &self.attribute.name,
                format!(
                    "every group of the sensitive attribute has fewer than {} training rows, so \
                     --pool-groups leaves one group; choose a smaller number",
                    grouped(least)
                ),
            ));
        }
        for g in (0..groups.len()).filter(|g| is_small(*g)) {
            code_of[g] = names.len() as u32;
        }
        names.push(OTHER.into());
        for code in codes {
            *code = code_of.get(*code as usize).copied().unwrap_or(*code);
        }
        self.attribute.groups = names;
        self.pooled = true;
        Ok(())
    }

    /// Fixes which groups are compared, from counts of negative and positive training rows per group.
    pub(crate) fn fix_small(&mut self, counts: &[[usize; 2]]) {
        self.attribute.small = SmallGroups::new(self.min_group, counts);
    }

    /// The groups that occur in `rows`, in order; of names that say the same numbers, the first.
    pub(crate) fn group_names(&self, table: &Table, rows: &[u32]) -> Result<Vec<String>, Error> {
        let labels = self.labels(table)?;
        let mut seen = std::collections::BTreeSet::new();
        let order = labels.order(rows).into_iter();
        let names = order.map(|i| labels.names[i].clone());
        Ok(names.filter(|name| seen.insert(self.plain(name))).collect())
    }

    /// The group code of every row of a table; [`UNKNOWN_GROUP`] where the value is missing or its
    /// group did not occur when the rule was made.
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

    /// A group's name with its numbers written in one way: a column of numbers has other texts in
    /// one file than in another (`1` and `1.0`).
    fn plain(&self, group: &str) -> String {
        match self.columns.len() {
            1 => plain_number(group).into_owned(),
            _ => {
                let parts: Vec<Cow<str>> = group.split(':').map(plain_number).collect();
                parts.join(":")
            }
        }
    }

    /// The label of every row: of one column, or the combination of several.
    fn labels(&self, table: &Table) -> Result<Labels, Error> {
        let own_group = self.missing == MissingSensitive::Group;
        let mut labels: Option<Labels> = None;
        for part in &self.columns {
            let next = part.levels(table)?.into_labels(own_group);
            labels = Some(match labels {
                None => next,
                Some(before) => before.combined(&next),
            });
        }
        Ok(labels.unwrap_or_default())
    }
}

/// The levels of a column, merged or binned, whatever its type.
struct Levels<'a> {
    codes: Cow<'a, [u32]>,
    names: Vec<Cow<'a, str>>,
    /// Whether the order of `names` means something (bins).
    ordered: bool,
}

impl<'a> Levels<'a> {
    fn of(column: &'a Column, merge: Option<&'a Merge>) -> Result<Self, Error> {
        let (codes, names): (Cow<[u32]>, Vec<Cow<str>>) = match &column.values {
            Values::Categorical { codes, levels, .. } => (
                codes.into(),
                levels.iter().map(|l| Cow::Borrowed(l.as_str())).collect(),
            ),
            Values::Numeric(values) => {
                let texts = values.iter().map(|v| (!v.is_nan()).then(|| v.to_string()));
                match Column::from_texts(&column.name, texts).values {
                    Values::Categorical { codes, levels, .. } => {
                        (codes.into(), levels.into_iter().map(Cow::Owned).collect())
                    }
                    _ => (Cow::Borrowed(&[]), Vec::new()),
                }
            }
            Values::LeftOut(reason) => {
                return Err(Error::column(
                    &column.name,
                    format!("this column cannot be used: {reason}"),
                ));
            }
        };
        let merged = match merge {
            None => names,
            Some(merge) => names
                .into_iter()
                .map(|name| Cow::Owned(merged(merge, &name).to_owned()))
                .collect(),
        };
        Ok(Self {
            codes,
            names: merged,
            ordered: false,
        }
        .distinct())
    }

    fn binned(column: &'a Column, edges: &[f64]) -> Result<Self, Error> {
        let Values::Numeric(values) = &column.values else {
            return Err(Error::column(
                &column.name,
                "bins need a numeric column; leave out --bins or mend the column",
            ));
        };
        let code = |value: f64| match value.is_nan() {
            true => MISSING,
            false => edges.partition_point(|edge| *edge <= value) as u32,
        };
        let name = |i: usize| match (i.checked_sub(1).map(|i| edges[i]), edges.get(i)) {
            (None, Some(high)) => format!("{}<{high}", column.name),
            (Some(low), Some(high)) => format!("{low}<={}<{high}", column.name),
            (Some(low), None) => format!("{}>={low}", column.name),
            (None, None) => "all".into(),
        };
        Ok(Self {
            codes: values.iter().map(code).collect(),
            names: (0..=edges.len()).map(|i| Cow::Owned(name(i))).collect(),
            ordered: true,
        })
    }

    /// Gives equal names one code.
    fn distinct(self) -> Self {
        let mut names: Vec<Cow<'a, str>> = Vec::with_capacity(self.names.len());
        let mut first = rustc_hash::FxHashMap::default();
        let code_of: Vec<u32> = self
            .names
            .into_iter()
            .map(|name| {
                *first.entry(name.clone()).or_insert_with(|| {
                    names.push(name);
                    names.len() as u32 - 1
                })
            })
            .collect();
        let codes = if names.len() == code_of.len() {
            self.codes
        } else {
            let code = |c: &u32| code_of.get(*c as usize).copied().unwrap_or(MISSING);
            self.codes.iter().map(code).collect()
        };
        Self {
            codes,
            names,
            ordered: self.ordered,
        }
    }

    fn counts(&self, rows: &[u32]) -> Vec<usize> {
        let mut counts = vec![0; self.names.len()];
        for &row in rows {
            if let Some(count) = counts.get_mut(self.codes[row as usize] as usize) {
                *count += 1;
            }
        }
        counts
    }

    fn into_labels(self, missing_is_group: bool) -> Labels {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        if !self.ordered {
            order.sort_unstable_by(|a, b| natural(&self.names[*a], &self.names[*b]));
        }
        let mut keys = vec![Vec::new(); self.names.len()];
        for (rank, label) in order.into_iter().enumerate() {
            keys[label] = vec![rank as u32];
        }
        let mut labels = Labels {
            codes: self.codes.into_owned(),
            names: self.names.into_iter().map(Cow::into_owned).collect(),
            keys,
        };
        if missing_is_group && labels.codes.contains(&MISSING) {
            // A level that is called so already takes them in.
            let named = labels.names.iter().position(|name| name == MISSING_GROUP);
            let own = named.unwrap_or(labels.names.len()) as u32;
            if named.is_none() {
                labels.names.push(MISSING_GROUP.into());
                labels.keys.push(vec![own]);
            }
            for code in labels.codes.iter_mut().filter(|code| **code == MISSING) {
                *code = own;
            }
        }
        labels
    }
}

/// The label of every row, and a key that sorts the labels.
#[derive(Default)]
struct Labels {
    codes: Vec<u32>,
    names: Vec<String>,
    keys: Vec<Vec<u32>>,
}

impl Labels {
    /// The labels that occur in `rows`, in order.
    fn order(&self, rows: &[u32]) -> Vec<usize> {
        let mut present = vec![false; self.names.len()];
        for &row in rows {
            if let Some(seen) = present.get_mut(self.codes[row as usize] as usize) {
                *seen = true;
            }
        }
        let mut order: Vec<usize> = (0..self.names.len()).filter(|i| present[*i]).collect();
        order.sort_unstable_by(|a, b| self.keys[*a].cmp(&self.keys[*b]));
        order
    }

    /// A label as part of an intersection's: in quotes where a colon in it could mislead.
    fn part(&self, label: usize) -> Cow<'_, str> {
        let name = &self.names[label];
        // One that joins several labels already has its own quotes.
        let is_joined = self.keys[label].len() > 1;
        if !is_joined && name.contains([':', '"']) {
            return Cow::Owned(quote(name));
        }
        Cow::Borrowed(name)
    }

    /// Every pair of labels that occurs.
    fn combined(&self, other: &Self) -> Self {
        let mut out = Self::default();
        let mut index = rustc_hash::FxHashMap::default();
        for (&a, &b) in self.codes.iter().zip(&other.codes) {
            if a == MISSING || b == MISSING {
                out.codes.push(MISSING);
                continue;
            }
            let code = *index.entry((a, b)).or_insert_with(|| {
                let (a, b) = (a as usize, b as usize);
                out.names
                    .push(format!("{}:{}", self.part(a), other.part(b)));
                out.keys
                    .push([&self.keys[a][..], &other.keys[b][..]].concat());
                out.names.len() as u32 - 1
            });
            out.codes.push(code);
        }
        out
    }
}

/// Whether two texts say the same value: the same text, or the same number (`1` and `1.0`).
fn same_value(a: &str, b: &str) -> bool {
    let numbers = || Some(parse_number(a.as_bytes())? == parse_number(b.as_bytes())?);
    a == b || numbers() == Some(true)
}

/// A number as we write it; what is none, or a code such as `01`, as it stands.
fn plain_number(text: &str) -> Cow<'_, str> {
    match parse_number(text.as_bytes()) {
        // Minus zero is zero.
        Some(number) if !has_leading_zero(text) => Cow::Owned((number + 0.0).to_string()),
        _ => Cow::Borrowed(text),
    }
}

/// What a level becomes; where it is not named itself, the same number is.
fn merged<'a>(merge: &'a Merge, level: &'a str) -> &'a str {
    if merge.levels.contains_key(level) {
        return merge.apply(level);
    }
    let plain = plain_number(level);
    let same = |old: &&String| plain_number(old) == plain;
    let old = merge.levels.keys().find(same);
    merge.apply(old.map_or(level, String::as_str))
}

/// Numbers by value, then texts by their bytes.
fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    match (parse_number(a.as_bytes()), parse_number(b.as_bytes())) {
        (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// The error for an attribute that is not among those of a spec.
pub(crate) fn no_attribute(wanted: &str, known: &[AttributeRule]) -> Error {
    let names = known.iter().map(|r| r.attribute.name.as_str());
    Error::Usage(format!(
        "no sensitive attribute {wanted:?}; {}",
        near_names(wanted, names)
    ))
}
