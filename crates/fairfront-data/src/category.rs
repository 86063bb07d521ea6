//! Categories of a column of any type, and the labels that several columns form together.

use std::borrow::Cow;

use fairfront_core::say;

use crate::error::Error;
use crate::grammar::quote;
use crate::group::MISSING_GROUP;
use crate::read::{has_leading_zero, parse_number};
use crate::setting::BINS;
use crate::spec::Merge;
use crate::table::{Column, MISSING, Values};

/// The categories of a column of any type, merged or binned.
pub(crate) struct Categories<'a> {
    pub(crate) codes: Cow<'a, [u32]>,
    pub(crate) names: Vec<Cow<'a, str>>,
    /// Whether the order of `names` is meaningful (bins).
    pub(crate) ordered: bool,
}

impl<'a> Categories<'a> {
    pub(crate) fn of(column: &'a Column, merge: Option<&'a Merge>) -> Result<Self, Error> {
        let (codes, names): (Cow<[u32]>, Vec<Cow<str>>) = match &column.values {
            Values::Categorical {
                codes, categories, ..
            } => (
                codes.into(),
                categories
                    .iter()
                    .map(|l| Cow::Borrowed(l.as_str()))
                    .collect(),
            ),
            Values::Numeric(values) => {
                let strings = values.iter().map(|v| (!v.is_nan()).then(|| v.to_string()));
                match Column::from_strings(&column.name, strings).values {
                    Values::Categorical {
                        codes, categories, ..
                    } => (
                        codes.into(),
                        categories.into_iter().map(Cow::Owned).collect(),
                    ),
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

    pub(crate) fn binned(column: &'a Column, edges: &[f64]) -> Result<Self, Error> {
        let Values::Numeric(values) = &column.values else {
            return Err(Error::column(
                &column.name,
                say![
                    "bins need a numeric column";
                    "remove ", BINS;
                    "convert the column to numbers"
                ],
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

    /// Gives categories with equal names the same code.
    pub(crate) fn distinct(self) -> Self {
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

    pub(crate) fn counts(&self, rows: &[u32]) -> Vec<usize> {
        let mut counts = vec![0; self.names.len()];
        for &row in rows {
            if let Some(count) = counts.get_mut(self.codes[row as usize] as usize) {
                *count += 1;
            }
        }
        counts
    }

    pub(crate) fn into_labels(self, missing_is_group: bool) -> Labels {
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
            // If a category already has this name, the missing values join it.
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
pub(crate) struct Labels {
    pub(crate) codes: Vec<u32>,
    pub(crate) names: Vec<String>,
    pub(crate) keys: Vec<Vec<u32>>,
}

impl Labels {
    /// The labels that occur in `rows`, in order.
    pub(crate) fn order(&self, rows: &[u32]) -> Vec<usize> {
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

    /// A label as part of an intersection's label, quoted if a colon in it would be ambiguous.
    pub(crate) fn part(&self, label: usize) -> Cow<'_, str> {
        let name = &self.names[label];
        // A label that joins several labels already has its own quotes.
        let is_joined = self.keys[label].len() > 1;
        if !is_joined && name.contains([':', '"']) {
            return Cow::Owned(quote(name));
        }
        Cow::Borrowed(name)
    }

    /// Every pair of labels that occurs in a row.
    pub(crate) fn combined(&self, other: &Self) -> Self {
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

/// Whether two strings name the same value: the same string, or the same number (`1` and `1.0`).
pub(crate) fn same_value(a: &str, b: &str) -> bool {
    let numbers = || Some(parse_number(a.as_bytes())? == parse_number(b.as_bytes())?);
    a == b || numbers() == Some(true)
}

/// A number in the standard form. Strings that are not numbers, and codes such as `01`, stay unchanged.
pub(crate) fn plain_number(text: &str) -> Cow<'_, str> {
    match parse_number(text.as_bytes()) {
        // Negative zero becomes zero.
        Some(number) if !has_leading_zero(text) => Cow::Owned((number + 0.0).to_string()),
        _ => Cow::Borrowed(text),
    }
}

/// The merged name of a category. If no merge lists the category itself, an equal number counts as the
/// same.
fn merged<'a>(merge: &'a Merge, category: &'a str) -> &'a str {
    if merge.categories.contains_key(category) {
        return merge.apply(category);
    }
    let plain = plain_number(category);
    let same = |old: &&String| plain_number(old) == plain;
    let old = merge.categories.keys().find(same);
    merge.apply(old.map_or(category, String::as_str))
}

/// Numbers by value, then strings by their bytes.
pub(crate) fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    match (parse_number(a.as_bytes()), parse_number(b.as_bytes())) {
        (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}
