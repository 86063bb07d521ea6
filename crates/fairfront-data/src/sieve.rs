//! Decides which rows of a table are used, in the same way for whole tables, first batches and later ones.
//! A row with a wrong value is an error in a whole table, and is rejected in a batch.

use fairfront_core::{Message, Unit, say};
use serde::{Deserialize, Serialize};

use crate::encoding::Encoding;
use crate::error::Error;
use crate::group::AttributeRule;
use crate::number::Numbers;
use crate::read::{Arrived, Rejected};
use crate::rule::{NumericRule, too_large};
use crate::setting::{POSITIVE, WEIGHT};
use crate::spec::{MissingPolicy, MissingSensitive, Role, Spec, SplitRule};
use crate::split::ColumnParts;
use crate::table::{Column, Table, Values};
use crate::target_number::TargetColumn;

/// Rows that a data set's own rules exclude, whatever the spec.
#[derive(Debug, Clone)]
pub struct Exclusion {
    /// The reason, in readable form.
    pub reason: String,
    /// Whether each row of the table is excluded.
    pub rows: Vec<bool>,
}

/// A reason for dropped rows, and their number. A row may count under several reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The reason, in readable form.
    pub reason: String,
    /// Number of rows.
    pub rows: usize,
    /// The column whose values are missing, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

/// Rejects the rows of a first batch whose weight or split is wrong, or whose numbers cannot be features or
/// targets, so that [`Prepared`](crate::Prepared) can use the others.
pub fn set_aside(table: Table, spec: &Spec) -> Result<Arrived, Error> {
    let attributes = AttributeRule::all(spec);
    let sieve = Sieve::new(&table, spec, &attributes, &[]).and_then(|mut sieve| {
        sieve.check_parts(spec)?;
        let is_numeric =
            |column: &Column| spec.numeric || (column.numeric().is_some() && column.date.is_none());
        if let Some(target) = spec.target.as_ref().filter(|_| spec.may_be_numeric())
            && table.column(target).is_some_and(is_numeric)
        {
            sieve.check_numbers(target, None)?;
        }
        let features = table.columns().iter().map(|c| c.name.as_str());
        for column in features.filter(|name| spec.is_feature(name)) {
            sieve.check_size(column, None);
        }
        Ok(sieve)
    });
    let Sieved { rejected, .. } = sieve.map_err(|e| e.in_table(&table.name))?.rejecting();
    if rejected.is_empty() {
        return Ok(Arrived {
            accepted: (0..table.n_rows()).collect(),
            table,
            rejected,
        });
    }
    let mut keep = vec![true; table.n_rows()];
    rejected.iter().for_each(|r| keep[r.index] = false);
    let accepted: Vec<usize> = (0..keep.len()).filter(|row| keep[*row]).collect();
    if accepted.is_empty() {
        let first = &rejected[0].reason;
        return Err(Error::NoRowsLeft(say![
            "all rows of the first batch are rejected, the first because: ",
            first
        ]));
    }
    Ok(Arrived {
        table: table.select(&accepted),
        accepted,
        rejected,
    })
}

/// The rows that passed, their weights, and the reasons for the others.
pub(crate) struct Sieved {
    /// Table rows in use, in increasing order.
    pub(crate) rows: Vec<u32>,
    pub(crate) dropped: Vec<Dropped>,
    pub(crate) rejected: Vec<Rejected>,
    pub(crate) weights: Vec<f64>,
}

/// Rows in use, from which rows with a wrong value are removed column by column.
pub(crate) struct Sieve<'a> {
    table: &'a Table,
    rows: Vec<u32>,
    dropped: Vec<Dropped>,
    wrong: Vec<Wrong>,
    weights: Option<&'a Numbers>,
}

/// A row with a wrong value.
struct Wrong {
    row: u32,
    column: String,
    problem: Message,
}

impl<'a> Sieve<'a> {
    /// Drops rows by the rules about missing values, and removes rows with a wrong weight.
    pub(crate) fn new(
        table: &'a Table,
        spec: &Spec,
        attributes: &[AttributeRule],
        exclusions: &[Exclusion],
    ) -> Result<Self, Error> {
        let (rows, dropped) = rows_in_use(table, spec, attributes, exclusions);
        let mut sieve = Self {
            table,
            rows,
            dropped,
            wrong: Vec::new(),
            weights: None,
        };
        if let Some(name) = &spec.weight {
            let column = table.require(name, WEIGHT)?;
            let Some(weights) = column.numeric() else {
                return Err(Error::column(
                    name,
                    "the weight column is not numeric; choose a numeric column",
                ));
            };
            sieve.weights = Some(weights);
            sieve.check(name, |row| bad_weight(weights.get(row as usize)));
        }
        Ok(sieve)
    }

    /// Removes the rows of a later batch that do not fit the rules of the first.
    pub(crate) fn check_rules(
        &mut self,
        spec: &Spec,
        encoding: &Encoding,
        target_values: &[String],
    ) -> Result<(), Error> {
        self.check_parts(spec)?;
        for rule in &encoding.numeric {
            self.check_size(&rule.column, Some(rule));
        }
        let Some(rule) = &encoding.target else {
            return Ok(());
        };
        if let Some(unit) = rule.unit() {
            return self.check_numbers(&rule.column, Some(unit));
        }
        let unknown = rule.unknown_values(self.table, target_values)?;
        let has_classes = rule.classes().is_some();
        self.check(&rule.column, |row| {
            let value = unknown[row as usize].as_ref()?;
            if has_classes {
                return Some(say![
                    "the target is {value:?}, which is not a class of the first batch";
                    "fix the value";
                    "start a new state"
                ]);
            }
            Some(say![
                "the target has the value {value:?}, which did not occur in the first batch";
                "fix the value";
                "start a new state with ", POSITIVE
            ])
        });
        Ok(())
    }

    /// Removes the rows whose target is not a number, or too large.
    fn check_numbers(&mut self, target: &str, unit: Option<&Unit>) -> Result<(), Error> {
        let values = TargetColumn::of(self.table, target)?;
        self.check(target, |row| values.problem(row, unit));
        Ok(())
    }

    /// Removes the rows whose split is wrong, if a column defines it.
    fn check_parts(&mut self, spec: &Spec) -> Result<(), Error> {
        if let SplitRule::Column(name) = &spec.split {
            let parts = ColumnParts::new(name, self.table)?;
            self.check(name, |row| parts.of(row).err());
        }
        Ok(())
    }

    /// Removes the rows whose number is too large for a feature, raw or encoded.
    fn check_size(&mut self, name: &str, rule: Option<&NumericRule>) {
        let Some(numbers) = self.table.column(name).and_then(Column::numeric) else {
            return;
        };
        self.check(name, |row| {
            let value = numbers.get(row as usize);
            (!value.is_nan()).then(|| too_large(value, rule)).flatten()
        });
    }

    /// Removes the rows that have a problem.
    fn check<M: Into<Message>>(&mut self, column: &str, problem: impl Fn(u32) -> Option<M>) {
        let wrong = &mut self.wrong;
        self.rows.retain(|&row| match problem(row) {
            None => true,
            Some(problem) => {
                wrong.push(Wrong {
                    row,
                    column: column.into(),
                    problem: problem.into(),
                });
                false
            }
        });
    }

    /// The rows that passed. A row that did not pass is an error.
    pub(crate) fn strict(mut self) -> Result<Sieved, Error> {
        if self.wrong.is_empty() {
            return Ok(self.rejecting());
        }
        let Wrong {
            row,
            column,
            problem,
        } = self.wrong.swap_remove(0);
        Err(Error::Cell {
            place: self.table.place(row as usize),
            column,
            problem,
        })
    }

    /// The rows that passed. The others are rejected.
    pub(crate) fn rejecting(self) -> Sieved {
        let weight = |row: &u32| self.weights.map_or(1.0, |w| w.get(*row as usize));
        let rejected = |wrong: Wrong| Rejected {
            index: wrong.row as usize,
            reason: say![format!("column {:?}: ", wrong.column), wrong.problem],
        };
        let mut rejected: Vec<Rejected> = self.wrong.into_iter().map(rejected).collect();
        rejected.sort_unstable_by_key(|r| r.index);
        Sieved {
            weights: self.rows.iter().map(weight).collect(),
            rows: self.rows,
            dropped: self.dropped,
            rejected,
        }
    }
}

/// The rows that stay, and the reasons for the others.
fn rows_in_use(
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
        // If a date is missing, so are its parts.
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

/// The problem with a weight, if there is one.
fn bad_weight(weight: f64) -> Option<String> {
    let found = match weight.is_nan() {
        true => "missing".to_owned(),
        false if weight.is_finite() && weight >= 0.0 => return None,
        false => weight.to_string(),
    };
    Some(format!(
        "the weight is {found}; use a number that is not negative"
    ))
}
