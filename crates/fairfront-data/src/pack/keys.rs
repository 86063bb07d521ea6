//! The groups of an attribute whose rows come in chunks: every combination of values that occurs becomes one
//! row of a small table, on which the groups are found as in memory.

use fairfront_core::{UNKNOWN_GROUP, grouped, say};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::group::AttributeRule;
use crate::setting::{BINS, MERGE, SENSITIVE};
use crate::table::{Column, MISSING, Table, Values};

/// The maximum number of combinations of values.
const MOST_KEYS: usize = 1_000_000;
/// The key of a missing value.
const NO_VALUE: u64 = u64::MAX;

/// Values of an attribute's columns that stand for all rows with the same key.
#[derive(Debug, Clone)]
struct Seen {
    /// Codes, or the bits of numbers.
    raw: Box<[u64]>,
    /// Whether a row with this key is in use.
    is_used: bool,
    group: u32,
}

/// The combinations of values of an attribute's columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    seen: FxHashMap<Box<[u64]>, Seen>,
}

/// A column of an attribute in a chunk.
enum Part<'a> {
    Codes(&'a [u32]),
    Numbers(&'a crate::number::Numbers, Option<&'a [f64]>),
}

impl Part<'_> {
    /// The key of a row, and its raw value.
    fn key(&self, row: usize) -> (u64, u64) {
        match self {
            Self::Codes(codes) => match codes[row] {
                MISSING => (NO_VALUE, u64::from(MISSING)),
                code => (u64::from(code), u64::from(code)),
            },
            Self::Numbers(numbers, bins) => {
                let number = numbers.get(row);
                let key = match bins {
                    _ if number.is_nan() => NO_VALUE,
                    Some(edges) => edges.partition_point(|edge| *edge <= number) as u64,
                    None => number.to_bits(),
                };
                (key, number.to_bits())
            }
        }
    }
}

fn parts<'a>(rule: &'a AttributeRule, table: &'a Table) -> Result<Vec<Part<'a>>, Error> {
    let part = |part: &'a crate::group::AttributeColumn| {
        let column = table.require(&part.column, SENSITIVE)?;
        Ok(match &column.values {
            Values::Categorical { codes, .. } => Part::Codes(codes),
            Values::Numeric(numbers) => Part::Numbers(numbers, part.bins.as_deref()),
            Values::LeftOut(reason) => {
                return Err(Error::column(
                    &part.column,
                    format!("this column cannot be used: {reason}"),
                ));
            }
        })
    };
    rule.columns.iter().map(part).collect()
}

/// The keys of one column of codes.
fn of_codes(codes: &[u32], rows: &[u32]) -> FxHashMap<Box<[u64]>, Seen> {
    // The place of missing values is the first.
    let place = |code: u32| code.wrapping_add(1) as usize;
    let n = codes.iter().map(|code| place(*code)).max().unwrap_or(0) + 1;
    // Whether a code occurs, and whether it is in use.
    let mut seen = vec![[false; 2]; n];
    codes.iter().for_each(|code| seen[place(*code)][0] = true);
    let used = rows.iter().map(|row| codes[*row as usize]);
    used.for_each(|code| seen[place(code)][1] = true);
    let occurring = seen.iter().enumerate().filter(|(_, seen)| seen[0]);
    let keyed = occurring.map(|(place, [_, is_used])| {
        let code = (place as u32).wrapping_sub(1);
        let key = match code {
            MISSING => NO_VALUE,
            code => u64::from(code),
        };
        let seen = Seen {
            raw: [u64::from(code)].into(),
            is_used: *is_used,
            group: UNKNOWN_GROUP,
        };
        ([key].into(), seen)
    });
    keyed.collect()
}

impl Keys {
    /// The keys of a chunk, whose rows in use are in increasing order.
    pub(crate) fn of(rule: &AttributeRule, table: &Table, rows: &[u32]) -> Result<Self, Error> {
        let parts = parts(rule, table)?;
        let mut keys = Self::default();
        if let [Part::Codes(codes)] = parts.as_slice() {
            keys.seen = of_codes(codes, rows);
            return Ok(keys);
        }
        let mut used = rows.iter().copied().peekable();
        let (mut key, mut raw) = (vec![0; parts.len()], vec![0; parts.len()]);
        for row in 0..table.n_rows() {
            let is_used = used.next_if_eq(&(row as u32)).is_some();
            for (i, part) in parts.iter().enumerate() {
                (key[i], raw[i]) = part.key(row);
            }
            match keys.seen.get_mut(key.as_slice()) {
                Some(seen) => seen.is_used |= is_used,
                None => {
                    let seen = Seen {
                        raw: raw.as_slice().into(),
                        is_used,
                        group: UNKNOWN_GROUP,
                    };
                    keys.seen.insert(key.as_slice().into(), seen);
                }
            }
        }
        Ok(keys)
    }

    /// Adds the keys of a later chunk.
    pub(crate) fn merge(&mut self, other: Self, rule: &AttributeRule) -> Result<(), Error> {
        for (key, seen) in other.seen {
            let is_used = seen.is_used;
            self.seen.entry(key).or_insert(seen).is_used |= is_used;
        }
        if self.seen.len() > MOST_KEYS {
            let most = grouped(MOST_KEYS);
            return Err(Error::column(
                &rule.attribute.name,
                say![
                    "the sensitive attribute has more than {most} different values";
                    "merge some with ", MERGE;
                    "group numbers into bins with ", BINS
                ],
            ));
        }
        Ok(())
    }

    /// Finds the groups of the attribute. `head` has the types and categories of all columns.
    pub(crate) fn fit(&mut self, rule: &mut AttributeRule, head: &Table) -> Result<(), Error> {
        let mut order: Vec<(&Box<[u64]>, &mut Seen)> = self.seen.iter_mut().collect();
        order.sort_unstable_by_key(|(key, _)| *key);
        let mut columns: Vec<Column> = Vec::with_capacity(rule.columns.len());
        for (i, part) in rule.columns.iter().enumerate() {
            let column = head.require(&part.column, SENSITIVE)?;
            let raw = order.iter().map(|(_, seen)| seen.raw[i]);
            let values = match &column.values {
                Values::Categorical {
                    categories,
                    boolean,
                    ..
                } => Values::Categorical {
                    codes: raw.map(|code| code as u32).collect(),
                    categories: categories.clone(),
                    boolean: *boolean,
                },
                Values::Numeric(_) => {
                    let numbers: Vec<f64> = raw.map(f64::from_bits).collect();
                    Values::Numeric(numbers.into())
                }
                Values::LeftOut(reason) => Values::LeftOut(*reason),
            };
            let mut small = Column {
                name: column.name.clone(),
                values,
                n_missing: 0,
                date: column.date,
            };
            let missing = (0..order.len()).filter(|row| small.is_missing(*row));
            small.n_missing = missing.count();
            columns.push(small);
        }
        let table = head.piece(columns, 0, order.len());
        let used = (0..order.len()).filter(|row| order[*row].1.is_used);
        let used: Vec<u32> = used.map(|row| row as u32).collect();
        let groups = rule.fit_groups(&table, &used)?;
        for (row, group) in used.into_iter().zip(groups) {
            order[row as usize].1.group = group;
        }
        Ok(())
    }

    /// Changes the group of every key.
    pub(crate) fn recode(&mut self, code_of: &[u32]) {
        for seen in self.seen.values_mut() {
            let new = code_of.get(seen.group as usize);
            seen.group = new.copied().unwrap_or(seen.group);
        }
    }

    /// The groups of these rows of a chunk.
    pub(crate) fn groups(
        &self,
        rule: &AttributeRule,
        table: &Table,
        rows: &[u32],
    ) -> Result<Vec<u32>, Error> {
        let parts = parts(rule, table)?;
        if let [Part::Codes(codes)] = parts.as_slice() {
            let column = table.require(&rule.columns[0].column, SENSITIVE)?;
            let n = column.categorical().map_or(0, |(_, names)| names.len());
            let group = |key: u64| self.seen.get(&[key][..]).map_or(UNKNOWN_GROUP, |s| s.group);
            let of_code: Vec<u32> = (0..n).map(|code| group(code as u64)).collect();
            let missing = group(NO_VALUE);
            let code = |row: &u32| of_code.get(codes[*row as usize] as usize);
            let groups = rows.iter().map(|row| code(row).copied().unwrap_or(missing));
            return Ok(groups.collect());
        }
        let mut key = vec![0; parts.len()];
        let groups = rows.iter().map(|row| {
            for (key, part) in key.iter_mut().zip(&parts) {
                *key = part.key(*row as usize).0;
            }
            let seen = self.seen.get(key.as_slice());
            seen.map_or(UNKNOWN_GROUP, |seen| seen.group)
        });
        Ok(groups.collect())
    }
}
