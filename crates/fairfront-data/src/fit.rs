//! Fits the rules of an encoding. Rules follow from summaries of the training rows, which can be collected
//! from a table in memory or from pieces of a larger one, in any order.

use fairfront_core::{BLOCK_ROWS, ExactSum, either, say, with};
use rayon::prelude::*;

use crate::error::{Error, listed};
use crate::number::Numbers;
use crate::prepare::Prepared;
use crate::rule::{CategoricalRule, MISSING_CATEGORY, NumericRule, OTHER, too_large};
use crate::setting::{MERGE, POOL_RARE, SCALE, WEIGHT};
use crate::spec::{Scale, Spec};
use crate::table::{Column, Diagnostic, MISSING};

/// Categories with fewer training rows than this get a warning.
const FEW_ROWS: usize = 5;
/// Below this spread, squares underflow or lose digits.
const LEAST_SPREAD: f64 = 1e-100;

/// The encoded form of one column.
pub(crate) enum Rule {
    Numeric(NumericRule),
    Categorical(CategoricalRule),
}

pub(crate) struct Fitted {
    /// `None` if the column was left out.
    pub(crate) rule: Result<Option<Rule>, Error>,
    pub(crate) diagnostic: Option<Diagnostic>,
}

/// The numbers of a column in the training rows.
#[derive(Debug, Clone)]
pub(crate) struct NumericSummary {
    /// Whether a value is missing.
    missing: bool,
    low: f64,
    high: f64,
    /// Sums of weighted values, and of the weights of values that are not missing.
    sum: ExactSum,
    total: ExactSum,
}

impl Default for NumericSummary {
    fn default() -> Self {
        Self {
            missing: false,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            sum: ExactSum::default(),
            total: ExactSum::default(),
        }
    }
}

/// The mean of a column, and the unit in which deviations from it are squared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Center {
    mean: f64,
    unit: f64,
}

impl Center {
    /// The weighted square of a value, or nothing if the value does not count.
    pub(crate) fn add_square(self, squares: &mut ExactSum, value: f64, weight: f64) {
        if weight > 0.0 && !value.is_nan() {
            squares.add(weight * ((value - self.mean) / self.unit).powi(2));
        }
    }
}

impl NumericSummary {
    /// Adds the value of a training row.
    pub(crate) fn add(&mut self, value: f64, weight: f64) {
        self.missing |= value.is_nan();
        if weight > 0.0 && !value.is_nan() {
            // Negative zero becomes zero, so that the order of rows does not matter.
            let value = value + 0.0;
            self.low = self.low.min(value);
            self.high = self.high.max(value);
            self.sum.add(weight * value);
            self.total.add(weight);
        }
    }

    /// Adds the values of other training rows.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.missing |= other.missing;
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.sum.merge(&other.sum);
        self.total.merge(&other.total);
    }

    /// The mean and the unit; a note if the column is left out.
    pub(crate) fn center(&self, column: &str) -> Result<Center, Diagnostic> {
        let (low, high, total) = (self.low, self.high, self.total.value());
        if total == 0.0 || (low == high && !self.missing) {
            let reason = match total == 0.0 {
                true => "it has no values in the training rows".to_owned(),
                false => format!("it is {low} in every training row"),
            };
            let note = format!("column {column:?} is left out: {reason}");
            return Err(Diagnostic::note(note));
        }
        Ok(Center {
            mean: self.sum.value() / total,
            // Scale first, because squares of small numbers would underflow.
            unit: match low < high && high - low < LEAST_SPREAD {
                true => high - low,
                false => 1.0,
            },
        })
    }

    /// The mean of a target; an error if models cannot learn anything from it.
    pub(crate) fn target_center(&self, column: &str) -> Result<Center, Error> {
        let (low, high, total) = (self.low, self.high, self.total.value());
        if total == 0.0 {
            return Err(Error::column(
                column,
                say![
                    "the weight of every training row is 0, so models cannot learn anything";
                    "fix the weights";
                    "remove ", WEIGHT
                ],
            ));
        }
        if low == high {
            return Err(Error::no_variation(
                column,
                format!(
                    "the target is {low} in every training row, so models cannot learn anything; choose \
                     another target"
                ),
            ));
        }
        if high - low < LEAST_SPREAD {
            return Err(self.too_close(column));
        }
        Ok(Center {
            mean: self.sum.value() / total,
            unit: 1.0,
        })
    }

    /// The mean of a target, its standard deviation, and its smallest and largest number, from the sum of
    /// [`Center::add_square`] over the training rows.
    pub(crate) fn target_scale(
        &self,
        column: &str,
        center: Center,
        squares: &ExactSum,
    ) -> Result<(f64, f64, [f64; 2]), Error> {
        let scale = (squares.value() / self.total.value()).sqrt();
        match scale >= LEAST_SPREAD && scale.is_finite() {
            true => Ok((center.mean, scale, [self.low, self.high])),
            false => Err(self.too_close(column)),
        }
    }

    fn too_close(&self, column: &str) -> Error {
        let (low, high) = (self.low, self.high);
        Error::no_variation(
            column,
            format!(
                "the target has values from {low:e} to {high:e} in the training rows, which are too close \
                 together; multiply the column by a constant, or choose another target"
            ),
        )
    }

    /// The rule of a column, from the sum of [`Center::add_square`] over the training rows.
    pub(crate) fn rule(
        &self,
        column: &Column,
        scale: Scale,
        center: Center,
        squares: &ExactSum,
    ) -> NumericRule {
        let Center { mean, unit } = center;
        let (low, high) = (self.low, self.high);
        let (shift, spread) = match scale {
            Scale::Standard => {
                let variance = squares.value() / self.total.value();
                (mean, variance.sqrt() * unit)
            }
            Scale::MinMax => (low, high - low),
            Scale::None => (0.0, 1.0),
        };
        NumericRule {
            column: column.name.clone(),
            shift,
            factor: if spread > 0.0 { spread } else { 1.0 },
            mean,
            indicator: self.missing,
            date: column.date,
        }
    }

    /// A warning if the values are too close together.
    pub(crate) fn warning(&self, rule: &NumericRule, scale: Scale) -> Option<Diagnostic> {
        let (low, high) = (self.low, self.high);
        if low >= high || rule.encode(high) - rule.encode(low) >= LEAST_SPREAD {
            return None;
        }
        let name = &rule.column;
        let mut message = say![
            "column {name:?} has values from {low:e} to {high:e}, which are too close together to have an \
             effect";
            "multiply the column by a constant"
        ];
        if scale == Scale::None {
            message.push_remedy(say!["scale it with ", SCALE.is("standard")]);
        }
        Some(Diagnostic::warning(message))
    }
}

/// Fits a categorical column from the training rows of each category and those without one.
pub(crate) fn categorical(
    column: &Column,
    spec: &Spec,
    by_code: &[usize],
    n_missing: usize,
) -> Fitted {
    let mut diagnostic = None;
    let rule = categorical_rule(column, spec, by_code, n_missing, &mut diagnostic);
    Fitted {
        rule: Ok(rule.map(Rule::Categorical)),
        diagnostic,
    }
}

fn categorical_rule(
    column: &Column,
    spec: &Spec,
    by_code: &[usize],
    n_missing: usize,
    diagnostic: &mut Option<Diagnostic>,
) -> Option<CategoricalRule> {
    let (_, raw) = column.categorical()?;
    let mut counts: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for (category, count) in raw.iter().zip(by_code) {
        if *count > 0 {
            let name = spec.merged(&column.name, category);
            *counts.entry(name).or_default() += count;
        }
    }
    let is_rare = |name: &str| counts[name] < spec.pool_rare;
    let name = |name: &&str| (*name).to_owned();
    let pooled: Vec<String> = counts.keys().filter(|n| is_rare(n)).map(name).collect();
    let mut categories: Vec<String> = counts.keys().filter(|n| !is_rare(n)).map(name).collect();
    // If a category already has this name, the missing values join it.
    let own_category = |categories: &mut Vec<String>, name: &str| {
        if !categories.iter().any(|category| category == name) {
            categories.push(name.into());
        }
    };
    if !pooled.is_empty() {
        own_category(&mut categories, OTHER);
    }
    if n_missing > 0 {
        own_category(&mut categories, MISSING_CATEGORY);
    }
    if categories.len() < 2 {
        let reason = match categories.first() {
            Some(only) => format!("it is {only:?} in every training row"),
            None => "it has no values in the training rows".into(),
        };
        *diagnostic = Some(Diagnostic::note(format!(
            "column {:?} is left out: {reason}",
            column.name
        )));
        return None;
    }
    let rare: Vec<String> = counts
        .iter()
        .filter(|(_, count)| **count >= spec.pool_rare && **count < FEW_ROWS)
        .map(|(name, count)| format!("{name:?} ({count})"))
        .collect();
    if !rare.is_empty() {
        let shown = listed(rare.into_iter(), 5);
        let name = &column.name;
        *diagnostic = Some(Diagnostic::warning(say![
            "column {name:?} has categories with fewer than {FEW_ROWS} training rows, which a model can \
             overfit: {shown}; pool them",
            with(either([POOL_RARE.is(FEW_ROWS), MERGE.into()]))
        ]));
    }
    Some(CategoricalRule {
        column: column.name.clone(),
        categories,
        pooled,
        merge: spec.merges.get(&column.name).cloned(),
    })
}

/// The training rows of a table in memory.
pub(crate) struct Training<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) positions: &'a [u32],
}

impl Training<'_> {
    /// Value and weight of each training row.
    fn values<'a>(&'a self, numbers: &'a Numbers) -> impl Iterator<Item = (f64, f64)> + 'a {
        self.positions.chunks(BLOCK_ROWS).flat_map(|positions| {
            let pick = |position: &u32| self.prepared.rows[*position as usize];
            let rows: Vec<u32> = positions.iter().map(pick).collect();
            let mut values = vec![0.0; rows.len()];
            numbers.gather(&rows, &mut values);
            let weight = |position: &u32| self.prepared.weights[*position as usize];
            values.into_iter().zip(positions.iter().map(weight))
        })
    }

    pub(crate) fn fit(&self, column: &Column) -> Fitted {
        match column.column_type() {
            None => Fitted {
                rule: Ok(None),
                diagnostic: None,
            },
            Some(ty) if ty.is_number() => {
                let mut diagnostic = None;
                let rule = self.numeric(column, &mut diagnostic);
                Fitted {
                    rule: rule.map(|rule| rule.map(Rule::Numeric)),
                    diagnostic,
                }
            }
            Some(_) => self.categorical(column),
        }
    }

    fn numeric(
        &self,
        column: &Column,
        diagnostic: &mut Option<Diagnostic>,
    ) -> Result<Option<NumericRule>, Error> {
        let Some(numbers) = column.numeric() else {
            return Ok(None);
        };
        self.check_size(column, numbers, None)?;
        let mut summary = NumericSummary::default();
        self.values(numbers).for_each(|(v, w)| summary.add(v, w));
        let center = match summary.center(&column.name) {
            Ok(center) => center,
            Err(note) => {
                *diagnostic = Some(note);
                return Ok(None);
            }
        };
        let scale = self.prepared.spec.scale;
        let mut squares = ExactSum::default();
        if scale == Scale::Standard {
            let values = self.values(numbers);
            values.for_each(|(v, w)| center.add_square(&mut squares, v, w));
        }
        let rule = summary.rule(column, scale, center, &squares);
        self.check_size(column, numbers, Some(&rule))?;
        *diagnostic = summary.warning(&rule, scale);
        Ok(Some(rule))
    }

    /// Rejects a value, raw or encoded, that is too large for a feature, in any row in use.
    fn check_size(
        &self,
        column: &Column,
        numbers: &Numbers,
        rule: Option<&NumericRule>,
    ) -> Result<(), Error> {
        let rows = &self.prepared.rows;
        let found = rows.par_chunks(BLOCK_ROWS).find_map_first(|rows| {
            let mut values = vec![0.0; rows.len()];
            numbers.gather(rows, &mut values);
            let mut pairs = rows.iter().zip(values).filter(|(_, value)| !value.is_nan());
            pairs.find_map(|(row, value)| Some((*row, too_large(value, rule)?)))
        });
        match found {
            None => Ok(()),
            Some((row, problem)) => Err(Error::Cell {
                place: self.prepared.table.place(row as usize),
                column: column.name.clone(),
                problem: problem.into(),
            }),
        }
    }

    fn categorical(&self, column: &Column) -> Fitted {
        let Some((codes, raw)) = column.categorical() else {
            return Fitted {
                rule: Ok(None),
                diagnostic: None,
            };
        };
        let mut by_code = vec![0_usize; raw.len()];
        let mut n_missing = 0;
        for &position in self.positions {
            let code = codes[self.prepared.rows[position as usize] as usize];
            match by_code.get_mut(code as usize) {
                Some(count) => *count += 1,
                None => n_missing += 1,
            }
            debug_assert!(code == MISSING || (code as usize) < raw.len());
        }
        categorical(column, &self.prepared.spec, &by_code, n_missing)
    }
}
