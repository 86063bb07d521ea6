//! Errors and warnings about a table, its weights and its training rows.

use fairfront_core::{ExactSum, grouped, say};

use super::Prepared;
use crate::error::{Error, near_names, quoted_list};
use crate::group::AttributeRule;
use crate::setting::{
    BINS, DROP, FEATURE, MERGE, MISSING, MISSING_SENSITIVE, SENSITIVE_PROBABILITY, TYPE, WEIGHT,
};
use crate::sieve::Dropped;
use crate::spec::{MissingPolicy, MissingSensitive, Spec, attribute_name};
use crate::split::Part;
use crate::table::{Column, Diagnostic, LeftOut, Table, Values};
use crate::target::{TargetKind, TargetRule};
use crate::target_class;

/// The range for the sum of the weights, in which products of such sums are finite and not 0.
const LEAST_WEIGHT: f64 = 1e-100;
const MOST_WEIGHT: f64 = 1e100;
/// A class with a smaller share of the weight than this is lost in rounding.
const LEAST_CLASS: f64 = 1e-12;

/// Rejects a table that does not fit its spec.
pub(crate) fn check_table(table: &Table, spec: &Spec) -> Result<(), Error> {
    check_columns(table, spec)?;
    reject_nul(table)?;
    for name in spec.probabilities.keys() {
        if table.column(name).is_some() {
            return Err(Error::Usage(say![
                SENSITIVE_PROBABILITY.of(name),
                ": the table has a column with this name; choose another name for the attribute"
            ]));
        }
    }
    // This check comes before rows are dropped, so that the message is about the column and not about rows.
    let named = spec.named();
    let mut columns = named.iter().filter_map(|(name, _)| table.column(name));
    match columns.find(|column| column.n_missing == table.n_rows()) {
        None => Ok(()),
        Some(column) => Err(Error::column(
            &column.name,
            "all values of this column are missing; choose another column",
        )),
    }
}

/// Rejects NUL characters in names and categories, because many programs treat NUL as the end of a string.
/// Readers report them with file and row; this check is for tables made by code.
fn reject_nul(table: &Table) -> Result<(), Error> {
    for column in table.columns() {
        if column.name.contains('\0') {
            let problem = "the name contains a NUL character; rename the column";
            return Err(Error::column(&column.name, problem));
        }
        let Some((codes, categories)) = column.categorical() else {
            continue;
        };
        if let Some(code) = categories
            .iter()
            .position(|category| category.contains('\0'))
        {
            let row = codes.iter().position(|c| *c as usize == code);
            let problem = "the category contains a NUL character; remove it";
            return Err(Error::in_row(&column.name, row.unwrap_or(0), problem));
        }
    }
    Ok(())
}

/// Checks that every column named in a setting exists and is usable.
fn check_columns(table: &Table, spec: &Spec) -> Result<(), Error> {
    for (column, setting) in spec.named() {
        let found = table.require(column, setting)?;
        if let Values::LeftOut(reason) = &found.values {
            let problem = say![setting, " cannot use this column: {reason}"];
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
                    say!["pass ", TYPE.of(column).is("categorical"), " to keep it"]
                }
                _ => say!["choose another column"],
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
                "this treatment of missing values does not fit the type of the column";
                "pass ", MISSING.of(column).is(wrong)
            ],
        ));
    }
    Ok(())
}

/// Warns about merges of a category that does not occur, which are most likely typos.
pub(crate) fn idle_merges(table: &Table, spec: &Spec) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for (column, merge) in &spec.merges {
        let Some((_, categories)) = table.column(column).and_then(Column::categorical) else {
            continue;
        };
        for old in merge
            .categories
            .keys()
            .filter(|old| !categories.contains(old))
        {
            let near = near_names(old, categories.iter().map(String::as_str));
            diagnostics.push(Diagnostic::warning(say![
                MERGE,
                ": column {column:?} has no category {old:?}; {near}"
            ]));
        }
    }
    diagnostics
}

/// Number of rows of a table with a missing value in a column of an attribute.
pub(crate) fn missing_in(table: &Table, rule: &AttributeRule) -> usize {
    let columns = rule.columns.iter();
    let columns: Vec<&Column> = columns
        .filter_map(|part| table.column(&part.column))
        .filter(|column| column.n_missing > 0)
        .collect();
    if columns.is_empty() {
        return 0;
    }
    let is_missing = |row: &usize| columns.iter().any(|c| c.is_missing(*row));
    (0..table.n_rows()).filter(is_missing).count()
}

/// Rejects a table without rows in use.
pub(crate) fn check_rows(n_rows: usize, dropped: &[Dropped]) -> Result<(), Error> {
    if n_rows > 0 {
        return Ok(());
    }
    let reason = |d: &Dropped| format!("{} ({} rows)", d.reason, grouped(d.rows));
    let reasons: Vec<String> = dropped.iter().map(reason).collect();
    Err(Error::NoRowsLeft(say![
        reasons.join(", ");
        "keep rows with missing features by setting ", MISSING.is("keep");
        "keep rows with missing sensitive values by setting ", MISSING_SENSITIVE.is("group");
        "drop the column"
    ]))
}

/// Notes how rows with missing sensitive values are treated; `missing` counts them for each attribute.
pub(crate) fn note_missing_sensitive(
    spec: &Spec,
    attributes: &[AttributeRule],
    missing: &[usize],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let balanced = spec.balance.as_ref().map(|columns| attribute_name(columns));
    let is_balanced = |rule: &AttributeRule| balanced.as_ref() == Some(&rule.attribute.name);
    for (rule, &missing) in attributes.iter().zip(missing).filter(|(_, n)| **n > 0) {
        let treatment = match spec.missing_sensitive {
            MissingSensitive::LossOnly if is_balanced(rule) => {
                say!["these rows are dropped because the attribute is balanced"]
            }
            MissingSensitive::Drop => say![
                "these rows are dropped (the default)";
                "pass ", MISSING_SENSITIVE.is("group"),
                " to make them a group, or loss-only to keep them for the loss"
            ],
            MissingSensitive::Group => say!["these rows form their own group, (missing)"],
            MissingSensitive::LossOnly => say!["these rows count only for the loss"],
        };
        let (name, missing) = (&rule.attribute.name, grouped(missing));
        diagnostics.push(Diagnostic::note(say![
            "{name:?} is missing in {missing} rows: ",
            treatment
        ]));
    }
}

/// Rejects weights with an unusable sum.
pub(crate) fn check_weights(spec: &Spec, total: impl FnOnce() -> ExactSum) -> Result<(), Error> {
    let Some(name) = &spec.weight else {
        return Ok(());
    };
    let total = total().value();
    if total == 0.0 {
        return Err(Error::column(
            name,
            "the weights sum to 0; use weights with a positive sum",
        ));
    }
    if !(LEAST_WEIGHT..=MOST_WEIGHT).contains(&total) {
        return Err(Error::column(
            name,
            format!(
                "the weights sum to {total:e}; multiply all of them by the same number, so that their \
                 sum is between {LEAST_WEIGHT:e} and {MOST_WEIGHT:e}"
            ),
        ));
    }
    Ok(())
}

/// Training rows of each class with the sums of their weights. A binary target has the classes negative and
/// positive.
#[derive(Debug, Default, Clone)]
pub(crate) struct ClassSums {
    pub(crate) rows: Vec<usize>,
    weights: Vec<ExactSum>,
}

impl ClassSums {
    pub(crate) fn new(n_classes: usize) -> Self {
        Self {
            rows: vec![0; n_classes],
            weights: vec![ExactSum::default(); n_classes],
        }
    }

    pub(crate) fn add(&mut self, class: usize, weight: f64) {
        self.rows[class] += 1;
        self.weights[class].add(weight);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for class in 0..self.rows.len() {
            self.rows[class] += other.rows[class];
            self.weights[class].merge(&other.weights[class]);
        }
    }

    /// Rejects more than two classes of which one has too few training rows, and weights that leave almost no
    /// weight for a class.
    pub(crate) fn check(&self, spec: &Spec, rule: &TargetRule) -> Result<(), Error> {
        if let Some(classes) = rule.classes()
            && !spec.small_classes
        {
            target_class::check_rows(&rule.column, classes, &self.rows)?;
        }
        let Some(column) = &spec.weight else {
            return Ok(());
        };
        let sums: Vec<f64> = self.weights.iter().map(ExactSum::value).collect();
        let total: f64 = sums.iter().sum();
        for (class, (rows, sum)) in self.rows.iter().zip(&sums).enumerate() {
            if *rows > 0 && *sum <= LEAST_CLASS * total {
                let rows = grouped(*rows);
                let subject = match rule.classes() {
                    None => format!("{rows} {} training rows", ["negative", "positive"][class]),
                    Some(classes) => {
                        format!("{rows} training rows of class {:?}", classes.names[class])
                    }
                };
                let problem = format!(
                    "the weights of all {subject} sum to {sum:e}, of {total:e} in total, so no model can \
                     learn from them"
                );
                let problem = say![problem; "fix the weights"; "remove ", WEIGHT];
                return Err(Error::column(column, problem));
            }
        }
        Ok(())
    }
}

/// Warns about classes and groups without training rows. `positives` counts the positive training rows, if
/// the target is binary, and `counts` those of each class in each group of each attribute.
pub(crate) fn training_warnings(
    n_train: usize,
    positives: Option<usize>,
    attributes: &[AttributeRule],
    counts: &[Vec<Vec<usize>>],
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    if let Some(positives) = positives
        && (positives == 0 || positives == n_train)
    {
        let class = match positives {
            0 => "negative",
            _ => "positive",
        };
        diagnostics.push(Diagnostic::warning(format!(
            "all {} training rows are {class}; no model can be trained on them",
            grouped(n_train)
        )));
    }
    for (rule, counts) in attributes.iter().zip(counts) {
        // Groups that are not compared have their own warning.
        let small = &rule.attribute.small.all;
        let names = (0..).zip(&rule.attribute.groups).zip(counts);
        let absent: Vec<&str> = names
            .filter(|((code, _), count)| count.iter().all(|n| *n == 0) && !small.contains(code))
            .map(|((_, name), _)| name.as_str())
            .collect();
        if !absent.is_empty() {
            diagnostics.push(Diagnostic::warning(format!(
                "these groups of {:?} have no training rows: {}; models cannot learn to be fair to them",
                rule.attribute.name,
                quoted_list(&absent, 5)
            )));
        }
    }
    diagnostics
}

impl Prepared {
    /// Rejects classes with too few training rows, or with almost no weight.
    pub(super) fn check_classes(&self) -> Result<(), Error> {
        let Some(rule) = self.target.as_ref().filter(|rule| !rule.is_number()) else {
            return Ok(());
        };
        let mut classes = ClassSums::new(TargetKind::n_places(Some(&rule.kind)));
        for &position in self.split.part(Part::Train) {
            let position = position as usize;
            classes.add(self.label_place(position), self.weights[position]);
        }
        classes.check(&self.spec, rule)
    }

    /// Warns about classes and groups without training rows.
    pub(super) fn check_training(&mut self) {
        let train = self.split.part(Part::Train);
        let positives = train.iter().filter(|p| self.is_positive(**p as usize));
        let positives = self.is_binary().then(|| positives.count());
        let counts = self.all_training_counts();
        let found = training_warnings(train.len(), positives, &self.attributes, &counts);
        self.diagnostics.extend(found);
    }

    /// Numbers of training rows of each class in each group of each attribute.
    pub(crate) fn all_training_counts(&self) -> Vec<Vec<Vec<usize>>> {
        let attributes = 0..self.attributes.len();
        attributes.map(|a| self.training_counts(a)).collect()
    }
}
