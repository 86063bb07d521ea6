//! Rows of later batches under the rules that the first batch fixed.

use fairfront_core::{Dataset, Message, label_of, say};

use crate::encoder::Unseen;
use crate::encoding::{Encoding, RowFacts};
use crate::error::Error;
use crate::group::AttributeRule;
use crate::number::Numbers;
use crate::prepare::{Dropped, Prepared, bad_weight, rows_in_use};
use crate::read::Rejected;
use crate::rule::{NumericRule, too_large};
use crate::setting::{POSITIVE, WEIGHT};
use crate::spec::{Spec, SplitRule};
use crate::split::{ColumnParts, Part};
use crate::table::{Column, Table};
use crate::target::TargetRule;

/// The rows of a batch that are in use, with all that is known of them but their groups, which the
/// encoding may still have to learn ([`Encoding::grow`]).
///
/// All vectors run over the rows in use.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// Rows of the table in use, increasing.
    pub rows: Vec<u32>,
    /// Why others are not, by the policies of the spec.
    pub dropped: Vec<Dropped>,
    /// Rows of the table that cannot be used, increasing.
    pub rejected: Vec<Rejected>,
    /// Whether the label is +1.
    pub labels: Vec<bool>,
    /// Weights; all 1 unless a column gives them.
    pub weights: Vec<f64>,
    /// The part of each row, where a column says it.
    pub parts: Option<Vec<Part>>,
}

impl Arrival {
    /// Settles the use of a later batch's rows. `target_values` are those of the first batch
    /// ([`Prepared::target_values`]).
    pub fn new(
        table: &Table,
        spec: &Spec,
        encoding: &Encoding,
        target_values: &[String],
    ) -> Result<Self, Error> {
        let settle = || -> Result<Self, Error> {
            let mut sieve = Sieve::new(table, spec, &encoding.attributes)?;
            for rule in &encoding.numeric {
                sieve.reject_too_large(table, &rule.column, Some(rule));
            }
            let mut labels = vec![None; table.n_rows()];
            if let Some(rule) = &encoding.target {
                sieve.reject_targets(table, rule, target_values)?;
                labels = rule.labels(table)?;
            }
            let Sieve {
                rows,
                dropped,
                mut rejected,
                weights,
                parts,
            } = sieve;
            rejected.sort_unstable_by_key(|r| r.index);
            let weight = |row: &u32| weights.map_or(1.0, |w| w.get(*row as usize));
            let part = |parts: ColumnParts| rows.iter().filter_map(|r| parts.of(*r).ok()).collect();
            Ok(Self {
                labels: rows
                    .iter()
                    .map(|r| labels[*r as usize] == Some(true))
                    .collect(),
                weights: rows.iter().map(weight).collect(),
                parts: parts.map(part),
                rows,
                dropped,
                rejected,
            })
        };
        settle().map_err(|error| error.in_table(&table.name))
    }

    /// Labels, groups and weights for [`Encoding::encode`], the groups by this encoding.
    pub fn facts(&self, table: &Table, encoding: &Encoding) -> Result<RowFacts, Error> {
        let mut groups = Vec::with_capacity(encoding.attributes.len());
        for rule in &encoding.attributes {
            let all = rule.groups(table)?;
            groups.push(self.rows.iter().map(|r| all[*r as usize]).collect());
        }
        let label = |positive: &bool| label_of(*positive);
        Ok(RowFacts {
            labels: self.labels.iter().map(label).collect(),
            groups,
            weights: self.weights.clone(),
        })
    }

    /// The rows in use, encoded; all of their levels and groups are known once the encoding has
    /// grown by them.
    pub fn encode(
        &self,
        table: &Table,
        encoding: &Encoding,
    ) -> Result<(Dataset, Vec<Unseen>), Error> {
        let encoded = || encoding.encode(table, &self.rows, &self.facts(table, encoding)?);
        encoded().map_err(|error| error.in_table(&table.name))
    }
}

/// A first batch without the rows that would be errors one by one.
#[derive(Debug, Clone)]
pub struct SetAside {
    /// The other rows.
    pub table: Table,
    /// The row of the table given of each of them.
    pub accepted: Vec<usize>,
    /// Rows of the table given that cannot be used, increasing.
    pub rejected: Vec<Rejected>,
}

/// Sets aside the rows of a first batch whose weight or split is wrong, or whose numbers are too large
/// for features, so that
/// [`Prepared`] can be made of the others.
pub fn set_aside(table: Table, spec: &Spec) -> Result<SetAside, Error> {
    let attributes: Vec<AttributeRule> = spec
        .sensitive
        .iter()
        .map(|columns| AttributeRule::new(spec, columns))
        .collect();
    let mut sieve = Sieve::new(&table, spec, &attributes).map_err(|e| e.in_table(&table.name))?;
    for column in table.columns() {
        if spec.is_feature(&column.name) {
            sieve.reject_too_large(&table, &column.name, None);
        }
    }
    let mut rejected = sieve.rejected;
    rejected.sort_unstable_by_key(|r| r.index);
    if rejected.is_empty() {
        return Ok(SetAside {
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
    Ok(SetAside {
        table: table.select(&accepted),
        accepted,
        rejected,
    })
}

/// Rows in use, from which those with a wrong value are taken out one column after the other.
struct Sieve<'a> {
    rows: Vec<u32>,
    dropped: Vec<Dropped>,
    rejected: Vec<Rejected>,
    weights: Option<&'a Numbers>,
    parts: Option<ColumnParts<'a>>,
}

impl<'a> Sieve<'a> {
    fn new(table: &'a Table, spec: &Spec, attributes: &[AttributeRule]) -> Result<Self, Error> {
        let (rows, dropped) = rows_in_use(table, spec, attributes, &[]);
        let mut sieve = Self {
            rows,
            dropped,
            rejected: Vec::new(),
            weights: None,
            parts: None,
        };
        if let Some(name) = &spec.weight {
            let column = table.require(name, WEIGHT)?;
            let Some(weights) = column.numeric() else {
                return Err(Error::column(name, "a column of weights must be numeric"));
            };
            sieve.weights = Some(weights);
            sieve.reject(name, |row| bad_weight(weights.get(row as usize)));
        }
        if let SplitRule::Column(name) = &spec.split {
            let parts = ColumnParts::new(name, table)?;
            sieve.reject(name, |row| parts.of(row).err());
            sieve.parts = Some(parts);
        }
        Ok(sieve)
    }

    fn reject_targets(
        &mut self,
        table: &Table,
        rule: &TargetRule,
        known: &[String],
    ) -> Result<(), Error> {
        let unknown = rule.unknown_values(table, known)?;
        self.reject(&rule.column, |row| {
            let value = unknown[row as usize].as_ref()?;
            Some(say![
                "the target has the value {value:?}, which no row of the first batch had";
                "fix the value";
                "start a new state with ", POSITIVE
            ])
        });
        Ok(())
    }

    /// Takes out the rows whose number is too large for a feature, as read or by a rule.
    fn reject_too_large(&mut self, table: &Table, name: &str, rule: Option<&NumericRule>) {
        let Some(numbers) = table.column(name).and_then(Column::numeric) else {
            return;
        };
        self.reject(name, |row| {
            let value = numbers.get(row as usize);
            (!value.is_nan()).then(|| too_large(value, rule)).flatten()
        });
    }

    /// Takes out the rows of which `problem` has something to say.
    fn reject<M: Into<Message>>(&mut self, column: &str, problem: impl Fn(u32) -> Option<M>) {
        let rejected = &mut self.rejected;
        self.rows.retain(|&row| match problem(row) {
            None => true,
            Some(problem) => {
                rejected.push(Rejected {
                    index: row as usize,
                    reason: say!["column {column:?}: ", problem],
                });
                false
            }
        });
    }
}

impl Prepared {
    /// The values of the target in the rows in use, merged, sorted; none without a target.
    pub fn target_values(&self) -> Result<Vec<String>, Error> {
        match &self.target {
            None => Ok(Vec::new()),
            Some(rule) => rule.values(&self.table, &self.rows),
        }
    }

    /// Labels, groups and weights of all rows in use, for [`Encoding::encode`].
    pub fn facts(&self) -> RowFacts {
        let label = |positive: &bool| label_of(*positive);
        RowFacts {
            labels: self.labels.iter().map(label).collect(),
            groups: self.groups.clone(),
            weights: self.weights.clone(),
        }
    }
}
