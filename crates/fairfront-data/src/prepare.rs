//! Prepares a table: the labels, groups and weights of its rows.

pub(crate) mod check;

use std::borrow::Cow;
use std::path::Path;

use fairfront_core::{Attribute, Dataset, ExactSum, Unit, grouped, say};

use crate::date_part;
use crate::encoder::Unseen;
use crate::encoding::{Encoding, RowFacts};
use crate::error::Error;
use crate::group::{AttributeRule, no_attribute};
use crate::growth::Growth;
use crate::known::Known;
use crate::memory::MemoryLimit;
use crate::read::{Decimal, ReadFrom, ReadOptions, Rejected, file_name, read_table};
use crate::setting::{BALANCE, SEED};
use crate::sieve::{Dropped, Exclusion, Sieve, Sieved};
use crate::spec::{Spec, SplitRule, attribute_name};
use crate::split::{Part, Split, balanced};
use crate::table::{Diagnostic, Table};
use crate::target::{TargetCounts, TargetKind, TargetPlan, TargetRule};
use crate::target_number::{TargetColumn, TargetSums};

/// A table with roles for its columns: which rows are in use, with their labels, groups and weights, and
/// which of them are training rows.
///
/// All vectors have one entry per row in use.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The table as read.
    pub table: Table,
    /// The files it was read from, with the reading options; `None` for a known data set or a table made by
    /// code.
    pub read: Option<ReadFrom>,
    /// The requested spec.
    pub spec: Spec,
    /// Table rows in use, in increasing order.
    pub rows: Vec<u32>,
    /// Reasons for dropped rows, by the policies of the spec.
    pub dropped: Vec<Dropped>,
    /// Rows of a batch with a wrong value, in increasing order. In a table that is not a batch, such a row
    /// is an error.
    pub rejected: Vec<Rejected>,
    /// Whether the rows belong to a known data set, which has its own rules for dropping rows.
    pub published: bool,
    /// The target's rule; `None` without a target.
    pub target: Option<TargetRule>,
    /// +1 or −1, the position of the class, or the number in the unit of the table; empty without a target.
    pub labels: Vec<f64>,
    /// Weights; all 1 unless there is a weight column.
    pub weights: Vec<f64>,
    /// The sensitive attributes.
    pub attributes: Vec<AttributeRule>,
    /// Group codes for each attribute.
    pub groups: Vec<Vec<u32>>,
    /// Training, validation and test rows.
    pub split: Split,
    /// Messages about automatic choices, those of the reader first.
    pub diagnostics: Vec<Diagnostic>,
    /// The memory limit for the work on this table.
    pub memory: MemoryLimit,
}

impl Prepared {
    /// Determines the roles of a table's columns and which of its rows are in use.
    pub fn new(table: Table, spec: &Spec, exclusions: &[Exclusion]) -> Result<Self, Error> {
        let by_rule = |table: &Table, rows: &[u32]| Split::new(&spec.split, spec.seed, table, rows);
        Self::with_split(table, spec, exclusions, by_rule)
    }

    /// Like [`Prepared::new`], but divides the rows with `split`, which receives the table and its rows in
    /// use.
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
        mut table: Table,
        spec: &Spec,
        exclusions: &[Exclusion],
        split: impl FnOnce(&Table, &[u32]) -> Result<Split, Error>,
    ) -> Result<Self, Error> {
        spec.check()?;
        date_part::add(&mut table, &spec.date_parts)?;
        check::check_table(&table, spec)?;
        let mut diagnostics = table.diagnostics.clone();
        diagnostics.extend(check::idle_merges(&table, spec));
        let attributes = AttributeRule::all(spec);
        let sieve = Sieve::new(&table, spec, &attributes, exclusions)?;
        let missing = attributes.iter();
        let missing: Vec<usize> = missing
            .map(|rule| check::missing_in(&table, rule))
            .collect();
        check::note_missing_sensitive(spec, &attributes, &missing, &mut diagnostics);
        let sieved = sieve.strict()?;
        check::check_rows(sieved.rows.len(), &sieved.dropped)?;
        check::check_weights(spec, || sieved.weights.iter().copied().collect())?;

        let mut prepared = Self::of(table, spec, sieved);
        prepared.diagnostics = diagnostics;
        let mut number = None;
        if let Some(target) = &spec.target {
            let counts = TargetCounts::of(spec, target, &prepared.table, &prepared.rows)?;
            let plan = TargetPlan::new(spec, target, &counts, &mut prepared.diagnostics)?;
            prepared.labels = plan.labels(&prepared.table, &prepared.rows)?;
            match plan {
                TargetPlan::Classes(rule) => prepared.target = Some(rule),
                // Its rule follows from the training rows.
                TargetPlan::Number(column) => number = Some(column),
            }
        }
        for mut rule in attributes {
            let groups = rule.fit_groups(&prepared.table, &prepared.rows)?;
            prepared.groups.push(groups);
            prepared.attributes.push(rule);
        }
        prepared.balance()?;
        prepared.split = split(&prepared.table, &prepared.rows)?;
        prepared.split.shuffle(spec.seed);
        prepared.check_classes()?;
        if let Some(column) = number {
            prepared.fit_unit(&column)?;
        }
        prepared.settle_groups()?;
        prepared.check_training();
        Ok(prepared)
    }

    /// Prepares the rows of a later batch by the rules of an encoding, which first learns the categories
    /// and groups of these rows ([`Encoding::grow`]). Rows with a wrong value are rejected.
    ///
    /// `target_values` are those of the first batch ([`Prepared::target_values`]). `parts` divides the rows
    /// in use, unless a column does.
    pub fn later(
        table: Table,
        spec: &Spec,
        encoding: &mut Encoding,
        target_values: &[String],
        parts: impl FnOnce(&[u32]) -> Vec<Part>,
    ) -> Result<(Self, Growth), Error> {
        let name = table.name.clone();
        let settled = || -> Result<(Self, Growth), Error> {
            let table = encoding.complete(Cow::Owned(table))?.into_owned();
            let mut sieve = Sieve::new(&table, spec, &encoding.attributes, &[])?;
            sieve.check_rules(spec, encoding, target_values)?;
            let sieved = sieve.rejecting();
            let growth = encoding.grow(&table, &sieved.rows)?;
            let mut prepared = Self::of(table, spec, sieved);
            if let Some(rule) = &encoding.target {
                prepared.labels = rule.labels_of(&prepared.table, &prepared.rows)?;
                prepared.target = Some(rule.clone());
            }
            for rule in &encoding.attributes {
                let all = rule.groups(&prepared.table)?;
                let rows = prepared.rows.iter();
                prepared
                    .groups
                    .push(rows.map(|row| all[*row as usize]).collect());
            }
            prepared.attributes.clone_from(&encoding.attributes);
            prepared.split = match &spec.split {
                SplitRule::Column(column) => {
                    Split::by_column(column, &prepared.table, &prepared.rows)?
                }
                _ => Split::from_parts(&parts(&prepared.rows)),
            };
            Ok((prepared, growth))
        };
        settled().map_err(|error| error.in_table(&name))
    }

    /// Rows in use, before their labels and groups are known.
    fn of(table: Table, spec: &Spec, sieved: Sieved) -> Self {
        Self {
            table,
            read: None,
            spec: spec.clone(),
            rows: sieved.rows,
            dropped: sieved.dropped,
            rejected: sieved.rejected,
            published: false,
            target: None,
            labels: Vec::new(),
            weights: sieved.weights,
            attributes: Vec::new(),
            groups: Vec::new(),
            split: Split::default(),
            diagnostics: Vec::new(),
            memory: MemoryLimit::default(),
        }
    }

    /// Fits the rule of a target that is a number on the training rows.
    fn fit_unit(&mut self, column: &str) -> Result<(), Error> {
        let unit = self.unit(column)?;
        // Labels must not be too large, in any row in use.
        let values = TargetColumn::of(&self.table, column)?;
        values.numbers(&self.table, column, &self.rows, Some(&unit))?;
        self.target = Some(TargetRule::number(column, unit));
        Ok(())
    }

    /// The unit of the numbers of the training rows.
    fn unit(&self, column: &str) -> Result<Unit, Error> {
        let mut train = self.split.part(Part::Train).to_vec();
        train.sort_unstable();
        let rows = || {
            let rows = train.iter().map(|position| *position as usize);
            rows.map(|position| (self.labels[position], self.weights[position]))
        };
        let step = TargetSums::step(train.len());
        let mut sums = TargetSums::default();
        for (nth, (number, weight)) in rows().enumerate() {
            sums.add(number, weight, nth, step);
        }
        let center = sums.center(column)?;
        let mut squares = ExactSum::default();
        rows().for_each(|(number, weight)| center.add_square(&mut squares, number, weight));
        sums.unit(column, center, &squares)
    }

    /// Pools small groups if requested, and decides which groups are compared.
    fn settle_groups(&mut self) -> Result<(), Error> {
        let train = self.split.part(Part::Train);
        let least = self.spec.pool_groups;
        if least > 0 {
            for (rule, codes) in self.attributes.iter_mut().zip(&mut self.groups) {
                let mut counts = vec![0; rule.attribute.groups.len()];
                for &position in train {
                    if let Some(count) = counts.get_mut(codes[position as usize] as usize) {
                        *count += 1;
                    }
                }
                let Some(code_of) = rule.pool(least, &counts)? else {
                    continue;
                };
                for code in codes {
                    *code = code_of.get(*code as usize).copied().unwrap_or(*code);
                }
            }
        }
        let counts = self.all_training_counts();
        let target = self.target.as_ref().map(|rule| &rule.kind);
        for (rule, counts) in self.attributes.iter_mut().zip(&counts) {
            rule.fix_small(counts);
            rule.fix_reference(&self.spec, target)?;
        }
        Ok(())
    }

    /// Numbers of training rows of each class in each group of an attribute. A binary target has the classes
    /// negative and positive. Without a target, and if it is a number, all rows count as negative.
    pub fn training_counts(&self, attribute: usize) -> Vec<Vec<usize>> {
        let none = vec![0; TargetKind::n_places(self.kind())];
        let mut counts = vec![none; self.attributes[attribute].attribute.groups.len()];
        for &position in self.split.part(Part::Train) {
            let group = self.groups[attribute][position as usize] as usize;
            if let Some(count) = counts.get_mut(group) {
                count[self.label_place(position as usize)] += 1;
            }
        }
        counts
    }

    /// Reads files and determines the roles of their columns.
    pub fn from_files(files: &[String], spec: &Spec, options: ReadOptions) -> Result<Self, Error> {
        spec.check()?;
        let table = read_table(files, &spec.read_options(options.clone()))?;
        let mut options = options;
        // Later files may not show that they have decimal commas.
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

    /// Opens a known data set, with its own spec or a changed one.
    pub fn from_known(known: &Known, spec: &Spec, folder: Option<&Path>) -> Result<Self, Error> {
        spec.check()?;
        let (table, exclusions) = known.open(spec, folder)?;
        Ok(Self {
            published: true,
            memory: known.memory(),
            ..Self::new(table, spec, &exclusions)?
        })
    }

    /// Approximate memory of the table and its rows in use, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        // Row, split, label, weight and groups.
        let row = (2 + self.groups.len()) * size_of::<u32>() + 2 * size_of::<f64>();
        self.table.bytes() + (self.n_rows() * row) as u64
    }

    /// Number of rows in use.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Whether the target is binary.
    fn is_binary(&self) -> bool {
        self.target.as_ref().is_some_and(TargetRule::is_binary)
    }

    fn kind(&self) -> Option<&TargetKind> {
        self.target.as_ref().map(|rule| &rule.kind)
    }

    /// The position at which a row is counted by its label ([`TargetKind::place`]).
    pub(crate) fn label_place(&self, position: usize) -> usize {
        let label = self.labels.get(position).copied();
        TargetKind::place(self.kind(), label.unwrap_or(-1.0))
    }

    /// Whether a row has label +1; never unless the target is binary.
    pub(crate) fn is_positive(&self, position: usize) -> bool {
        self.is_binary() && self.labels[position] > 0.0
    }

    /// Number of rows with label +1; 0 unless the target is binary.
    pub fn n_positives(&self) -> usize {
        match self.is_binary() {
            true => self.labels.iter().filter(|label| **label > 0.0).count(),
            false => 0,
        }
    }

    /// The label of a row for models.
    pub(crate) fn standardized(&self, position: usize) -> f64 {
        let (rule, label) = (self.target.as_ref(), self.labels[position]);
        rule.map_or(label, |rule| rule.standardized(label))
    }

    /// The sensitive attributes with their groups.
    pub fn attributes(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter().map(|rule| &rule.attribute)
    }

    /// Gives a sensitive attribute the name that users know, if its column has a different name in the
    /// table. Objectives, measures and diagnostics use this name from now on.
    pub fn name_attribute(&mut self, index: usize, name: &str) -> Result<(), Error> {
        let Some(rule) = self.attributes.get(index) else {
            return Err(Error::usage(format!(
                "cannot name sensitive attribute {index} {name:?}, because there are only {}",
                self.attributes.len()
            )));
        };
        let is_other = |(i, a): (usize, &Attribute)| i != index && a.name == name;
        if self.attributes().enumerate().any(is_other) {
            return Err(Error::usage(format!(
                "two sensitive attributes are both called {name:?}; rename one of them"
            )));
        }
        for diagnostic in &mut self.diagnostics {
            let message = std::mem::take(&mut diagnostic.message);
            diagnostic.message = message.renamed(&rule.attribute.name, name);
        }
        self.attributes[index].attribute.name = name.into();
        Ok(())
    }

    /// The merged values of the target in the rows in use, sorted; empty without a target, and if it is a
    /// number.
    pub fn target_values(&self) -> Result<Vec<String>, Error> {
        match &self.target {
            None => Ok(Vec::new()),
            Some(rule) => rule.values(&self.table, &self.rows),
        }
    }

    /// Encodes the rows in use, and reports values that the encoding does not know.
    pub fn encode(&self, encoding: &Encoding) -> Result<(Dataset, Vec<Unseen>), Error> {
        let encoded = encoding.encode(&self.table, &self.rows, &self.facts());
        encoded.map_err(|error| error.in_table(&self.table.name))
    }

    /// Labels, groups and weights of all rows in use, for [`Encoding::encode`].
    pub fn facts(&self) -> RowFacts {
        let labels = 0..self.labels.len();
        RowFacts {
            labels: labels.map(|position| self.standardized(position)).collect(),
            groups: self.groups.clone(),
            weights: self.weights.clone(),
        }
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
        if let Some(target) = &self.target
            && let Some(classes) = target.classes()
        {
            let mut is_present = vec![false; classes.len()];
            self.labels
                .iter()
                .for_each(|label| is_present[*label as usize] = true);
            if let Some(class) = is_present.iter().position(|present| !present) {
                let (rows, class) = (grouped(self.n_rows()), &classes.names[class]);
                return Err(Error::column(
                    &target.column,
                    say![
                        "none of the {rows} rows that remain after ", BALANCE, " has the class {class:?}";
                        "balance by another attribute";
                        "try another ", SEED
                    ],
                ));
            }
        }
        let positives = self.n_positives();
        if let Some(target) = &self.target
            && target.is_binary()
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
                    "the {rows} rows that remain after ", BALANCE, " are all {class}";
                    "balance by another attribute";
                    "try another ", SEED
                ],
            ));
        }
        Ok(())
    }
}
