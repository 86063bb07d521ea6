//! Encodes rows of one table as features.

use std::borrow::Cow;

use fairfront_core::{BLOCK_ROWS, Dataset, RowBlock, Schema, grouped};
use fairfront_learn::Learned;
use rayon::prelude::*;
use serde::Serialize;

use crate::encoding::RowFacts;
use crate::error::{Error, quoted_list};
use crate::number::Numbers;
use crate::rule::{CategoricalRule, NumericRule, OTHER};
use crate::split::Part;
use crate::table::{Column, Diagnostic, MISSING, Table};

/// Rows whose category did not occur in training.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// The column.
    pub column: String,
    /// The categories, in order of first appearance in the table.
    pub categories: Vec<String>,
    /// Number of rows.
    pub rows: usize,
}

impl Unseen {
    /// The warning about such rows of a split.
    pub(crate) fn warning(&self, part: Part) -> Diagnostic {
        let categories: Vec<&str> = self.categories.iter().map(String::as_str).collect();
        Diagnostic::warning(format!(
            "column {:?}: {} {} rows have a category unseen in training ({}); they are treated as (other)",
            self.column,
            grouped(self.rows),
            part.name(),
            quoted_list(&categories, 3)
        ))
    }
}

/// An encoding bound to the columns of a table, so that any number of calls can encode rows of it
/// ([`Encoding::encoder`](crate::Encoding::encoder)).
#[derive(Debug)]
pub struct Encoder<'a> {
    pub(crate) schema: Schema,
    pub(crate) numeric: Vec<(&'a NumericRule, Cow<'a, Numbers>)>,
    pub(crate) coded: Vec<Coded<'a>>,
    /// Learners, and the schema with their features.
    pub(crate) learned: Option<(&'a Learned, Schema)>,
}

impl Encoder<'_> {
    /// Encodes rows of the table together with their labels, groups and weights (one entry per row of
    /// `rows`).
    pub fn encode(&self, rows: &[u32], facts: &RowFacts) -> Result<Dataset, Error> {
        let n_numeric = self.schema.numeric.len();
        let n_categorical = self.coded.len();
        let block = |(index, rows): (usize, &[u32])| {
            let range = index * BLOCK_ROWS..index * BLOCK_ROWS + rows.len();
            let mut numbers = vec![0.0; rows.len() * n_numeric];
            let mut values = vec![0.0; rows.len()];
            let mut at = 0;
            for (rule, column) in &self.numeric {
                column.gather(rows, &mut values);
                for (i, &value) in values.iter().enumerate() {
                    numbers[i * n_numeric + at] = rule.encode(value);
                    if rule.indicator {
                        numbers[i * n_numeric + at + 1] = f64::from(u8::from(value.is_nan()));
                    }
                }
                at += 1 + usize::from(rule.indicator);
            }
            let mut features = vec![0; rows.len() * n_categorical];
            for (at, column) in self.coded.iter().enumerate() {
                for (i, &row) in rows.iter().enumerate() {
                    let code = column.codes[row as usize];
                    let feature = column
                        .features
                        .get(code as usize)
                        .unwrap_or(&column.missing);
                    features[i * n_categorical + at] = *feature;
                }
            }
            let block = RowBlock::new(
                &self.schema,
                numbers,
                features,
                facts.labels[range.clone()].to_vec(),
                facts
                    .groups
                    .iter()
                    .map(|g| g[range.clone()].to_vec())
                    .collect(),
                facts.weights[range].to_vec(),
            )?;
            match &self.learned {
                None => Ok(block),
                Some((learned, wider)) => {
                    let values = learned.features(&self.schema, &block);
                    block.with_numeric(&self.schema, wider, &values)
                }
            }
        };
        let blocks = rows.par_chunks(BLOCK_ROWS).enumerate().map(block);
        let blocks = blocks.collect::<Result<Vec<_>, fairfront_core::Error>>()?;
        let schema = match &self.learned {
            Some((_, wider)) => wider,
            None => &self.schema,
        };
        Ok(Dataset::new(schema.clone(), blocks)?)
    }

    /// Finds the rows whose categories did not occur in training.
    pub fn unseen(&self, rows: &[u32]) -> Vec<Unseen> {
        let columns = self.coded.par_iter();
        columns.filter_map(|column| column.unseen(rows)).collect()
    }
}

/// The numbers of a column for a rule. A column without any value has no type, so every rule accepts it.
pub(crate) fn numbers<'a>(
    column: &'a Column,
    rule: &NumericRule,
    n_rows: usize,
) -> Result<Cow<'a, Numbers>, Error> {
    match column.numeric() {
        Some(numbers) => Ok(Cow::Borrowed(numbers)),
        None if column.n_missing == n_rows => Ok(Cow::Owned(Numbers::from(vec![f64::NAN; n_rows]))),
        None => Err(Error::column(
            &rule.column,
            "this feature is numeric in training, but the column is not; fix its values",
        )),
    }
}

/// Codes and categories of a column.
type Categories<'a> = (Cow<'a, [u32]>, Cow<'a, [String]>);

/// The categories of a column of numbers. A column without values has none. If the rule is about truth
/// values and the numbers are 0 and 1, they count as truth values.
fn as_categories<'a>(column: &Column, rule: &CategoricalRule) -> Result<Categories<'a>, Error> {
    let wrong = || {
        Error::column(
            &rule.column,
            "this feature is categorical in training, but the column is not; fix its values",
        )
    };
    let numbers = column.numeric().ok_or_else(wrong)?;
    let truth = ["false", "true"];
    let is_truth = truth.iter().any(|category| rule.knows(category));
    let code = |value: f64| match value {
        _ if value.is_nan() => Some(MISSING),
        _ if is_truth && (value == 0.0 || value == 1.0) => Some(value as u32),
        _ => None,
    };
    let codes: Option<Vec<u32>> = numbers.iter().map(code).collect();
    let categories: Vec<String> = match is_truth {
        true => truth.map(str::to_owned).to_vec(),
        false => Vec::new(),
    };
    Ok((codes.ok_or_else(wrong)?.into(), categories.into()))
}

/// A categorical column of a table, prepared for encoding.
#[derive(Debug)]
pub(crate) struct Coded<'a> {
    name: &'a str,
    codes: Cow<'a, [u32]>,
    categories: Cow<'a, [String]>,
    /// Whether each category of the table occurred in training.
    known: Vec<bool>,
    /// The feature of each category of the table.
    pub(crate) features: Vec<u32>,
    pub(crate) missing: u32,
}

impl<'a> Coded<'a> {
    pub(crate) fn new(
        rule: &'a CategoricalRule,
        offset: u32,
        null: u32,
        table: &'a Table,
    ) -> Result<Self, Error> {
        let column = table.require(&rule.column, "a feature of the encoding")?;
        let (codes, categories): (Cow<[u32]>, Cow<[String]>) = match column.categorical() {
            Some((codes, categories)) => (codes.into(), categories.into()),
            None => as_categories(column, rule)?,
        };
        let other = rule.position(OTHER);
        let feature = |position: Option<u32>| position.or(other).map_or(null, |p| offset + p);
        let positions: Vec<Option<u32>> = categories.iter().map(|l| rule.encode(l)).collect();
        Ok(Self {
            name: &rule.column,
            codes,
            categories,
            known: positions.iter().map(Option::is_some).collect(),
            features: positions.into_iter().map(feature).collect(),
            missing: feature(rule.category(None)),
        })
    }

    fn unseen(&self, rows: &[u32]) -> Option<Unseen> {
        if self.known.iter().all(|known| *known) {
            return None;
        }
        let mut counts = vec![0_usize; self.categories.len()];
        for &row in rows {
            if let Some(count) = counts.get_mut(self.codes[row as usize] as usize) {
                *count += 1;
            }
        }
        self.unseen_of(&counts)
    }

    /// The categories that did not occur in training, from the rows of each category of the table.
    pub(crate) fn unseen_of(&self, counts: &[usize]) -> Option<Unseen> {
        let new = |i: &usize| !self.known[*i] && counts[*i] > 0;
        let new: Vec<usize> = (0..self.categories.len()).filter(new).collect();
        (!new.is_empty()).then(|| Unseen {
            column: self.name.into(),
            rows: new.iter().map(|i| counts[*i]).sum(),
            categories: new.iter().map(|i| self.categories[*i].clone()).collect(),
        })
    }
}
