use std::path::Path;

use fairfront_core::{Attribute, grouped, say};
use serde::{Deserialize, Serialize};

use crate::date_part;
use crate::error::{Error, near_names, quoted_list};
use crate::group::{AttributeRule, no_attribute};
use crate::known::Known;
use crate::memory::MemoryLimit;
use crate::read::{Decimal, ReadFrom, ReadOptions, file_name, read_table};
use crate::setting::{
    BALANCE, BINS, DROP, FEATURE, MERGE, MISSING, MISSING_SENSITIVE, SEED, TYPE, WEIGHT,
};
use crate::spec::{MissingPolicy, MissingSensitive, Role, Spec, attribute_name};
use crate::split::{Part, Split, balanced};
use crate::table::{Column, LeftOut, Notice, Table, Values};
use crate::target::TargetRule;

/// Rows that a data set's own rules take out, whatever the spec.
#[derive(Debug, Clone)]
pub struct Exclusion {
    /// Why, as a person reads it.
    pub reason: String,
    /// For each row of the table whether it goes.
    pub rows: Vec<bool>,
}

/// Why rows were dropped, and how many. A row may count under several reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Why, as a person reads it.
    pub reason: String,
    /// How many rows it applies to.
    pub rows: usize,
    /// The column whose values are missing, if that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

/// A table with its roles settled: which rows are in use, their labels, groups and weights, and
/// which of them are for training.
///
/// All vectors run over the rows in use.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The table as read.
    pub table: Table,
    /// The files it was read from and how; `None` for a known data set or a table made by code.
    pub read: Option<ReadFrom>,
    /// What was asked for.
    pub spec: Spec,
    /// Rows of the table in use, increasing.
    pub rows: Vec<u32>,
    /// Why the others are not.
    pub dropped: Vec<Dropped>,
    /// Whether the rows are those of a known data set, with its own rules about dropping rows.
    pub published: bool,
    /// The target's rule; `None` without a target.
    pub target: Option<TargetRule>,
    /// Whether the label is +1; empty without a target.
    pub labels: Vec<bool>,
    /// Weights; all 1 unless a column gives them.
    pub weights: Vec<f64>,
    /// The sensitive attributes.
    pub attributes: Vec<AttributeRule>,
    /// For each attribute the group codes.
    pub groups: Vec<Vec<u32>>,
    /// Training, validation and test rows.
    pub split: Split,
    /// What was decided for the user, the reader's notices first.
    pub notices: Vec<Notice>,
    /// How much memory the work on it may take.
    pub memory: MemoryLimit,
}

impl Prepared {
    /// Settles the roles of a table's columns and the use of its rows.
    pub fn new(table: Table, spec: &Spec, exclusions: &[Exclusion]) -> Result<Self, Error> {
        let by_rule = |table: &Table, rows: &[u32]| Split::new(&spec.split, spec.seed, table, rows);
        Self::with_split(table, spec, exclusions, by_rule)
    }

    /// The same, the use of the rows divided otherwise than by the rule of the spec: `split` is given
    /// the table and its rows in use.
    pub fn with_split(
        table: Table,
        spec: &Spec,
        exclusions: &[Exclusion],
        split: impl FnOnce(&Table, &[u32]) -> Result<Split, Error>,
    ) -> Result<Self, Error> {
        let name = table.name.clone();
        let settled = Self::settle(table, spec, exclusions, split);
        settled.map_err(|error| error.in_table(&name))
    }

    fn settle(
        table: Table,
        spec: &Spec,
        exclusions: &[Exclusion],
        split: impl FnOnce(&Table, &[u32]) -> Result<Split, Error>,
    ) -> Result<Self, Error> {
        spec.check()?;
        let mut table = table;
        date_part::add(&mut table, &spec.date_parts)?;
        check_columns(&table, spec)?;
        refuse_nul(&table)?;
        let mut notices = table.notices.clone();
        notices.extend(idle_merges(&table, spec));
        let attributes: Vec<AttributeRule> = spec
            .sensitive
            .iter()
            .map(|columns| AttributeRule::new(spec, columns))
            .collect();
        // Before rows are dropped, so that the message is about the column and not about rows.
        for column in spec
            .named()
            .iter()
            .filter_map(|(name, _)| table.column(name))
        {
            if column.n_missing == table.n_rows() {
                return Err(Error::column(
                    &column.name,
                    "all values of this column are missing; name another",
                ));
            }
        }

        let (rows, dropped) = rows_in_use(&table, spec, &attributes, exclusions);
        say_missing_sensitive(&table, spec, &attributes, &mut notices);
        if rows.is_empty() {
            let reasons: Vec<String> = dropped
                .iter()
                .map(|d| format!("{} ({} rows)", d.reason, grouped(d.rows)))
                .collect();
            return Err(Error::NoRowsLeft(say![
                reasons.join(", ");
                "keep rows with missing features with ", MISSING.is("keep");
                "keep rows with missing sensitive values with ", MISSING_SENSITIVE.is("group");
                "drop the column"
            ]));
        }

        let mut prepared = Self {
            weights: weights(&table, spec, &rows)?,
            target: None,
            labels: Vec::new(),
            attributes,
            groups: Vec::new(),
            split: Split::default(),
            spec: spec.clone(),
            read: None,
            table,
            rows,
            dropped,
            published: false,
            notices,
            memory: MemoryLimit::default(),
        };
        prepared.find_labels()?;
        for rule in &mut prepared.attributes {
            prepared
                .groups
                .push(rule.fit_groups(&prepared.table, &prepared.rows)?);
        }
        prepared.balance()?;
        prepared.split = split(&prepared.table, &prepared.rows)?;
        prepared.check_class_weights()?;
        prepared.settle_groups()?;
        prepared.check_training();
        Ok(prepared)
    }

    /// Pools small groups, if asked to, and fixes which groups are compared.
    fn settle_groups(&mut self) -> Result<(), Error> {
        let train = self.split.part(Part::Train);
        let least = self.spec.pool_groups;
        if least > 0 {
            for (rule, codes) in self.attributes.iter_mut().zip(&mut self.groups) {
                rule.pool(least, codes, train)?;
            }
        }
        let counts: Vec<Vec<[usize; 2]>> = (0..self.attributes.len())
            .map(|a| self.training_counts(a))
            .collect();
        for (rule, counts) in self.attributes.iter_mut().zip(&counts) {
            rule.fix_small(counts);
        }
        Ok(())
    }

    /// Negative and positive training rows of each group of an attribute; without a target, all rows
    /// count as negative.
    pub fn training_counts(&self, attribute: usize) -> Vec<[usize; 2]> {
        let mut counts = vec![[0; 2]; self.attributes[attribute].attribute.groups.len()];
        for &position in self.split.part(Part::Train) {
            let group = self.groups[attribute][position as usize] as usize;
            if let Some(count) = counts.get_mut(group) {
                count[usize::from(self.labels.get(position as usize) == Some(&true))] += 1;
            }
        }
        counts
    }

    /// Refuses weights that leave nothing of a class that training rows have.
    fn check_class_weights(&self) -> Result<(), Error> {
        let (Some(column), false) = (&self.spec.weight, self.labels.is_empty()) else {
            return Ok(());
        };
        let train = self.split.part(Part::Train);
        let mut rows = [0_usize; 2];
        let mut sums = [0.0; 2];
        for &position in train {
            let class = usize::from(self.labels[position as usize]);
            rows[class] += 1;
            sums[class] += self.weights[position as usize];
        }
        for (class, name) in ["negative", "positive"].into_iter().enumerate() {
            if rows[class] > 0 && sums[class] <= LEAST_CLASS * (sums[0] + sums[1]) {
                let problem = format!(
                    "the weights of all {} {name} training rows sum to {:e}, of {:e} in all, so that no model \
                     can learn from them",
                    grouped(rows[class]),
                    sums[class],
                    sums[0] + sums[1]
                );
                let problem = say![problem; "fix the weights"; "remove ", WEIGHT];
                return Err(Error::column(column, problem));
            }
        }
        Ok(())
    }

    /// Warns of classes and groups that no training row has.
    fn check_training(&mut self) {
        let train = self.split.part(Part::Train);
        if !self.labels.is_empty() {
            let positives = train.iter().filter(|p| self.labels[**p as usize]).count();
            if positives == 0 || positives == train.len() {
                self.notices.push(Notice::warning(format!(
                    "all {} training rows are {}; no model can be trained on them",
                    grouped(train.len()),
                    if positives == 0 {
                        "negative"
                    } else {
                        "positive"
                    }
                )));
            }
        }
        for (rule, groups) in self.attributes.iter().zip(&self.groups) {
            let mut present = vec![false; rule.attribute.groups.len()];
            for &position in train {
                if let Some(seen) = present.get_mut(groups[position as usize] as usize) {
                    *seen = true;
                }
            }
            // Groups that are not compared have a warning of their own.
            let small = &rule.attribute.small.all;
            let names = (0..).zip(&rule.attribute.groups).zip(present);
            let absent: Vec<&str> = names
                .filter(|((code, _), seen)| !seen && !small.contains(code))
                .map(|((_, name), _)| name.as_str())
                .collect();
            if !absent.is_empty() {
                self.notices.push(Notice::warning(format!(
                    "no training row is in these groups of {:?}: {}; their fairness cannot be \
                     learned",
                    rule.attribute.name,
                    quoted_list(&absent, 5)
                )));
            }
        }
    }

    /// Reads files and settles the roles of their columns.
    pub fn from_files(files: &[String], spec: &Spec, options: ReadOptions) -> Result<Self, Error> {
        spec.check()?;
        let table = read_table(files, &spec.read_options(options.clone()))?;
        let mut options = options;
        // Files that are read later may not show it.
        if options.decimal.is_none() && table.decimal == Decimal::Comma {
            options.decimal = Some(Decimal::Comma);
        }
        let mut prepared = Self::new(table, spec, &[])?;
        prepared.memory = options.memory;
        prepared.read = Some(ReadFrom {
            files: files.iter().map(|file| file_name(file).into()).collect(),
            options,
        });
        Ok(prepared)
    }

    /// Opens a known data set, with its own spec or one made from it.
    pub fn from_known(known: &Known, spec: &Spec, folder: Option<&Path>) -> Result<Self, Error> {
        spec.check()?;
        let (table, exclusions) = known.open(spec, folder)?;
        Ok(Self {
            published: true,
            memory: known.memory(),
            ..Self::new(table, spec, &exclusions)?
        })
    }

    /// Bytes of memory that the table and its rows in use take, about.
    pub(crate) fn bytes(&self) -> u64 {
        // Row, part, label, weight and groups.
        let row =
            2 * size_of::<u32>() + 1 + size_of::<f64>() + self.groups.len() * size_of::<u32>();
        self.table.bytes() + (self.n_rows() * row) as u64
    }

    /// Number of rows in use.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Rows with label +1.
    pub fn n_positives(&self) -> usize {
        self.labels.iter().filter(|l| **l).count()
    }

    /// The sensitive attributes with their groups.
    pub fn attributes(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter().map(|rule| &rule.attribute)
    }

    /// Gives a sensitive attribute the name that people know it by, where its column had to be called
    /// otherwise in the table: objectives, measures and notices have this name from now on.
    pub fn name_attribute(&mut self, index: usize, name: &str) -> Result<(), Error> {
        let Some(rule) = self.attributes.get(index) else {
            return Err(Error::usage(format!(
                "there is no sensitive attribute {index} to name {name:?}; there are {}",
                self.attributes.len()
            )));
        };
        let is_other = |(i, a): (usize, &Attribute)| i != index && a.name == name;
        if self.attributes().enumerate().any(is_other) {
            return Err(Error::usage(format!(
                "two sensitive attributes are called {name:?}; name one of them otherwise"
            )));
        }
        for notice in &mut self.notices {
            let message = std::mem::take(&mut notice.message);
            notice.message = message.renamed(&rule.attribute.name, name);
        }
        self.attributes[index].attribute.name = name.into();
        Ok(())
    }

    fn find_labels(&mut self) -> Result<(), Error> {
        let Some(target) = &self.spec.target else {
            return Ok(());
        };
        let rule = TargetRule::fit(
            &self.spec,
            target,
            &self.table,
            &self.rows,
            &mut self.notices,
        )?;
        let all = rule.labels(&self.table)?;
        // Rows without a label are not in use.
        let label = |row: &u32| all[*row as usize] == Some(true);
        self.labels = self.rows.iter().map(label).collect();
        self.target = Some(rule);
        Ok(())
    }

    fn balance(&mut self) -> Result<(), Error> {
        let Some(columns) = &self.spec.balance else {
            return Ok(());
        };
        let name = attribute_name(columns);
        let position = self.attributes().position(|a| a.name == name);
        let position = position.ok_or_else(|| no_attribute(&name, &self.attributes))?;
        let n_groups = self.attributes[position].attribute.groups.len();
        let kept = balanced(&self.groups[position], n_groups, self.spec.seed);
        self.dropped.push(Dropped {
            reason: format!("balanced by {name}"),
            rows: self.rows.len() - kept.len(),
            column: None,
        });
        let pick = |k: &u32| *k as usize;
        self.rows = kept.iter().map(|k| self.rows[pick(k)]).collect();
        self.weights = kept.iter().map(|k| self.weights[pick(k)]).collect();
        if !self.labels.is_empty() {
            self.labels = kept.iter().map(|k| self.labels[pick(k)]).collect();
        }
        for groups in &mut self.groups {
            *groups = kept.iter().map(|k| groups[pick(k)]).collect();
        }
        let positives = self.n_positives();
        if let Some(target) = &self.target
            && (positives == 0 || positives == self.n_rows())
        {
            let rows = grouped(self.n_rows());
            let class = match positives {
                0 => "negative",
                _ => "positive",
            };
            return Err(Error::column(
                &target.column,
                say![
                    "the {rows} rows left by ", BALANCE, " are all {class}";
                    "balance another attribute";
                    "try another ", SEED
                ],
            ));
        }
        Ok(())
    }
}

/// Refuses NUL characters in names and categories, which many programs take for the end of a text. Readers
/// refuse them with file and row; this is for tables made by code.
fn refuse_nul(table: &Table) -> Result<(), Error> {
    for column in table.columns() {
        if column.name.contains('\0') {
            let problem = "the name holds a NUL character; rename the column";
            return Err(Error::column(&column.name, problem));
        }
        let Some((codes, levels)) = column.categorical() else {
            continue;
        };
        if let Some(code) = levels.iter().position(|level| level.contains('\0')) {
            let row = codes.iter().position(|c| *c as usize == code);
            let problem = "the category holds a NUL character; remove it";
            return Err(Error::in_row(&column.name, row.unwrap_or(0), problem));
        }
    }
    Ok(())
}

/// Every column that is named somewhere must be there and usable.
fn check_columns(table: &Table, spec: &Spec) -> Result<(), Error> {
    for (column, setting) in spec.named() {
        let found = table.require(column, setting)?;
        if let Values::LeftOut(reason) = &found.values {
            let problem = say![setting, " cannot be this column: {reason}"];
            return Err(Error::column(column, problem));
        }
    }
    let others = [
        (DROP, spec.drop.iter().collect::<Vec<_>>()),
        (TYPE, spec.types.keys().collect()),
        (MERGE, spec.merges.keys().collect()),
        (MISSING, spec.missing_by_column.keys().collect()),
        (BINS, spec.bins.keys().collect()),
        (FEATURE, spec.features.iter().flatten().collect()),
    ];
    for (setting, columns) in others {
        for column in columns {
            table.require(column, setting)?;
        }
    }
    for column in spec.features.iter().flatten() {
        if let Values::LeftOut(reason) = &table.require(column, FEATURE)?.values {
            let mut problem = say!["this column cannot be a feature: {reason}"];
            problem.push_remedy(match reason {
                LeftOut::Identifier => {
                    say!["say ", TYPE.of(column).is("categorical"), " to keep it"]
                }
                _ => say!["name another"],
            });
            return Err(Error::column(column, problem));
        }
    }
    for (column, policy) in &spec.missing_by_column {
        let is_numeric = table.require(column, MISSING)?.numeric().is_some();
        let wrong = match policy {
            MissingPolicy::Category if is_numeric => "mean",
            MissingPolicy::Mean if !is_numeric => "category",
            _ => continue,
        };
        return Err(Error::column(
            column,
            say![
                "this policy for missing values does not fit the column";
                "say ", MISSING.of(column).is(wrong)
            ],
        ));
    }
    Ok(())
}

/// Merges that name a level which does not occur: most likely a typing error.
fn idle_merges(table: &Table, spec: &Spec) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (column, merge) in &spec.merges {
        let Some((_, levels)) = table.column(column).and_then(Column::categorical) else {
            continue;
        };
        for old in merge.levels.keys().filter(|old| !levels.contains(old)) {
            let near = near_names(old, levels.iter().map(String::as_str));
            notices.push(Notice::warning(say![
                MERGE,
                ": the column {column:?} has no level {old:?}; {near}"
            ]));
        }
    }
    notices
}

/// The rows that stay, and why the others go.
pub(crate) fn rows_in_use(
    table: &Table,
    spec: &Spec,
    attributes: &[AttributeRule],
    exclusions: &[Exclusion],
) -> (Vec<u32>, Vec<Dropped>) {
    let n = table.n_rows();
    let mut keep = vec![true; n];
    let mut dropped = Vec::new();
    let mut drop_where = |reason: String, column: Option<&Column>, goes: &dyn Fn(usize) -> bool| {
        let mut rows = 0;
        for (row, keep) in keep.iter_mut().enumerate() {
            if goes(row) {
                *keep = false;
                rows += 1;
            }
        }
        if rows > 0 {
            let column = column.map(|c| c.name.clone());
            dropped.push(Dropped {
                reason,
                rows,
                column,
            });
        }
    };
    for exclusion in exclusions {
        drop_where(exclusion.reason.clone(), None, &|row| exclusion.rows[row]);
    }
    for column in table.columns() {
        // Where a date is missing, so are its parts.
        if spec.is_date_part(&column.name) {
            continue;
        }
        let goes = match spec.role(&column.name) {
            Role::Target => true,
            Role::Sensitive => {
                let drops = |rule: &AttributeRule| {
                    rule.missing == MissingSensitive::Drop
                        && rule.columns.iter().any(|part| part.column == column.name)
                };
                attributes.iter().any(drops)
            }
            _ => {
                let policy = spec.missing_policy(&column.name);
                spec.is_feature(&column.name) && policy == MissingPolicy::Drop
            }
        };
        if goes && column.n_missing > 0 && !matches!(column.values, Values::LeftOut(_)) {
            drop_where(format!("{} missing", column.name), Some(column), &|row| {
                column.is_missing(row)
            });
        }
    }
    let rows = (0..n as u32).filter(|row| keep[*row as usize]).collect();
    (rows, dropped)
}

/// The default for missing sensitive values is said aloud, and so is any other choice.
fn say_missing_sensitive(
    table: &Table,
    spec: &Spec,
    attributes: &[AttributeRule],
    notices: &mut Vec<Notice>,
) {
    let balanced = spec.balance.as_ref().map(|columns| attribute_name(columns));
    let is_balanced = |rule: &AttributeRule| balanced.as_ref() == Some(&rule.attribute.name);
    for rule in attributes {
        let columns: Vec<&Column> = rule
            .columns
            .iter()
            .filter_map(|part| table.column(&part.column))
            .collect();
        if columns.iter().all(|c| c.n_missing == 0) {
            continue;
        }
        let is_missing = |row: &usize| columns.iter().any(|c| c.is_missing(*row));
        let missing = (0..table.n_rows()).filter(is_missing).count();
        let what = match spec.missing_sensitive {
            MissingSensitive::LossOnly if is_balanced(rule) => {
                say!["these rows are dropped, because the attribute is balanced"]
            }
            MissingSensitive::Drop => say![
                "these rows are dropped (the default)";
                MISSING_SENSITIVE.is("group"),
                " makes them a group, loss-only keeps them for the loss"
            ],
            MissingSensitive::Group => say!["these rows are a group of their own, (missing)"],
            MissingSensitive::LossOnly => say!["these rows count for the loss only"],
        };
        let (name, missing) = (&rule.attribute.name, grouped(missing));
        notices.push(Notice::info(say![
            "{name:?} is missing in {missing} rows: ",
            what
        ]));
    }
}

/// Weights must sum to a number in this range: products of such sums are finite, and none is 0.
const LEAST_WEIGHT: f64 = 1e-100;
const MOST_WEIGHT: f64 = 1e100;
/// A class with a smaller share of the weight than this is lost in rounding.
const LEAST_CLASS: f64 = 1e-12;

/// What is wrong with a weight, if anything.
pub(crate) fn bad_weight(weight: f64) -> Option<String> {
    let found = match weight.is_nan() {
        true => "missing".to_owned(),
        false if weight.is_finite() && weight >= 0.0 => return None,
        false => weight.to_string(),
    };
    Some(format!(
        "the weight is {found}; it must be a number that is not negative"
    ))
}

fn weights(table: &Table, spec: &Spec, rows: &[u32]) -> Result<Vec<f64>, Error> {
    let Some(name) = &spec.weight else {
        return Ok(vec![1.0; rows.len()]);
    };
    let column = table.require(name, WEIGHT)?;
    let Some(values) = column.numeric() else {
        return Err(Error::column(name, "a column of weights must be numeric"));
    };
    let mut total = 0.0;
    for &row in rows {
        let weight = values.get(row as usize);
        if let Some(problem) = bad_weight(weight) {
            return Err(Error::Cell {
                place: table.place(row as usize),
                column: name.clone(),
                problem: problem.into(),
            });
        }
        total += weight;
    }
    if total == 0.0 {
        return Err(Error::column(
            name,
            "the weights sum to 0; they must sum to a positive number",
        ));
    }
    if !(LEAST_WEIGHT..=MOST_WEIGHT).contains(&total) {
        return Err(Error::column(
            name,
            format!(
                "the weights sum to {total:e}; multiply all of them by one number, so that they sum to \
                 one from {LEAST_WEIGHT:e} to {MOST_WEIGHT:e}"
            ),
        ));
    }
    Ok(rows.iter().map(|row| values.get(*row as usize)).collect())
}
