//! Errors and warnings about a table, its weights and its training rows.

use fairfront_core::{grouped, say};

use super::Prepared;
use crate::error::{Error, near_names, quoted_list};
use crate::group::AttributeRule;
use crate::setting::{BINS, DROP, FEATURE, MERGE, MISSING, MISSING_SENSITIVE, TYPE, WEIGHT};
use crate::spec::{MissingPolicy, MissingSensitive, Spec, attribute_name};
use crate::split::Part;
use crate::table::{Column, Diagnostic, LeftOut, Table, Values};

/// The range for the sum of the weights, in which products of such sums are finite and not 0.
const LEAST_WEIGHT: f64 = 1e-100;
const MOST_WEIGHT: f64 = 1e100;
/// A class with a smaller share of the weight than this is lost in rounding.
const LEAST_CLASS: f64 = 1e-12;

/// Rejects a table that does not fit its spec.
pub(super) fn check_table(table: &Table, spec: &Spec) -> Result<(), Error> {
    check_columns(table, spec)?;
    reject_nul(table)?;
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
pub(super) fn idle_merges(table: &Table, spec: &Spec) -> Vec<Diagnostic> {
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

/// Notes how rows with missing sensitive values are treated.
pub(super) fn note_missing_sensitive(
    table: &Table,
    spec: &Spec,
    attributes: &[AttributeRule],
    diagnostics: &mut Vec<Diagnostic>,
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
pub(super) fn check_weights(weights: &[f64], spec: &Spec) -> Result<(), Error> {
    let Some(name) = &spec.weight else {
        return Ok(());
    };
    let total = weights.iter().fold(0.0, |sum, weight| sum + weight);
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

impl Prepared {
    /// Rejects weights that leave almost no weight for a class of the training rows.
    pub(super) fn check_class_weights(&self) -> Result<(), Error> {
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
                    "the weights of all {} {name} training rows sum to {:e}, of {:e} in total, so no \
                     model can learn from them",
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

    /// Warns about classes and groups without training rows.
    pub(super) fn check_training(&mut self) {
        let train = self.split.part(Part::Train);
        if !self.labels.is_empty() {
            let positives = train.iter().filter(|p| self.labels[**p as usize]).count();
            if positives == 0 || positives == train.len() {
                self.diagnostics.push(Diagnostic::warning(format!(
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
        for (index, rule) in self.attributes.iter().enumerate() {
            // Groups that are not compared have their own warning.
            let small = &rule.attribute.small.all;
            let counts = self.training_counts(index);
            let names = (0..).zip(&rule.attribute.groups).zip(counts);
            let absent: Vec<&str> = names
                .filter(|((code, _), count)| *count == [0, 0] && !small.contains(code))
                .map(|((_, name), _)| name.as_str())
                .collect();
            if !absent.is_empty() {
                self.diagnostics.push(Diagnostic::warning(format!(
                    "these groups of {:?} have no training rows: {}; models cannot learn to be fair to \
                     them",
                    rule.attribute.name,
                    quoted_list(&absent, 5)
                )));
            }
        }
    }
}
