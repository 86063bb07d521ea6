//! Maps the target to labels. The rule is fitted once, saved with the encoding, and applied to any later
//! rows.

use std::borrow::Cow;

use fairfront_core::{Message, aside, either, grouped, say, with};
use serde::{Deserialize, Serialize};

use crate::category::{Categories, natural, same_value};
use crate::comparison::{Comparison, Written};
use crate::error::{Error, listed, near, quoted_list, shorten};
use crate::group::MOST_NUMBERS;
use crate::read::parse_number;
use crate::setting::{POSITIVE, TARGET};
use crate::spec::{Merge, Spec};
use crate::table::{Diagnostic, Table};

/// Defines which values of the target have label +1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetRule {
    /// The column.
    pub column: String,
    /// The value that counts as +1, or the comparison that decides it; every other value counts as −1.
    pub positive: String,
    /// Further values that count as +1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_positive: Vec<String>,
    /// The comparison that decides which numbers count as +1, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Categories to merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
}

impl TargetRule {
    /// Chooses the positive value from the spec and the categories in `rows`.
    pub(crate) fn fit(
        spec: &Spec,
        target: &str,
        table: &Table,
        rows: &[u32],
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self, Error> {
        let values = Self::counts(spec, target, table, rows)?;
        Self::of_counts(spec, target, &values, diagnostics)
    }

    /// The merged values of the target in `rows`, with their row counts.
    pub(crate) fn counts(
        spec: &Spec,
        target: &str,
        table: &Table,
        rows: &[u32],
    ) -> Result<Vec<(String, usize)>, Error> {
        let column = table.require(target, TARGET)?;
        let categories = Categories::of(column, spec.merges.get(target))?;
        let counts = categories.counts(rows);
        let present = categories.names.into_iter().zip(counts);
        let present = present.filter(|(_, count)| *count > 0);
        Ok(present.map(|(name, n)| (name.into_owned(), n)).collect())
    }

    /// Chooses the positive value from the spec and the values of the target with their row counts.
    pub(crate) fn of_counts(
        spec: &Spec,
        target: &str,
        values: &[(String, usize)],
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self, Error> {
        let merge = spec.merges.get(target);
        let present = Present::new(target, values)?;
        // A string that is both a value and a comparison is the value.
        if let [wanted] = spec.positives().as_slice()
            && present.find(wanted).is_none()
            && let Some(written) = Written::read(wanted)
        {
            let comparison = present.compared(wanted, written)?;
            diagnostics.push(Diagnostic::note(format!(
                "{target:?} {comparison} counts as positive, every other value as negative"
            )));
            return Ok(Self {
                column: target.into(),
                positive: comparison.to_string(),
                also_positive: Vec::new(),
                comparison: Some(comparison),
                merge: merge.cloned(),
            });
        }
        let mut also_positive = present.chosen(spec, diagnostics)?;
        let positive = also_positive.remove(0);
        let rule = Self {
            column: target.into(),
            positive,
            also_positive,
            comparison: None,
            merge: merge.cloned(),
        };
        if present.values.len() > 2 {
            let positive: Vec<String> =
                rule.positives().map(|value| format!("{value:?}")).collect();
            diagnostics.push(Diagnostic::note(format!(
                "the target {target:?} has {} values; all except {} count as negative",
                grouped(present.values.len()),
                positive.join(" and ")
            )));
        }
        Ok(rule)
    }

    /// The values that count as +1.
    fn positives(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.positive).chain(&self.also_positive)
    }

    /// The values that count as +1, in readable form: `yes`, `A or B`, `>= 5000`.
    pub fn positive_text(&self) -> String {
        let all: Vec<&str> = self.positives().map(String::as_str).collect();
        all.join(" or ")
    }

    /// The condition for label +1, in readable form: `pay = high`, `income >= 5000`.
    pub fn condition(&self) -> String {
        match self.comparison {
            Some(comparison) => format!("{} {comparison}", self.column),
            None => format!("{} = {}", self.column, self.positive_text()),
        }
    }

    /// These values in order; empty if a comparison decides.
    pub(crate) fn sorted_values(&self, values: &[(String, usize)]) -> Vec<String> {
        if self.comparison.is_some() {
            return Vec::new();
        }
        let mut values: Vec<String> = values.iter().map(|(name, _)| name.clone()).collect();
        values.sort_unstable_by(|a, b| natural(a, b));
        values
    }

    /// The merged values in `rows`, in order.
    pub(crate) fn values(&self, table: &Table, rows: &[u32]) -> Result<Vec<String>, Error> {
        if self.comparison.is_some() {
            return Ok(Vec::new());
        }
        let column = table.require(&self.column, "the target")?;
        let categories = Categories::of(column, self.merge.as_ref())?;
        let counts = categories.counts(rows);
        let present = categories.names.iter().zip(counts).filter(|(_, n)| *n > 0);
        let mut values: Vec<String> = present.map(|(name, _)| name.to_string()).collect();
        values.sort_unstable_by(|a, b| natural(a, b));
        Ok(values)
    }

    /// For every row of the table, the merged value of the target if it is not one of these.
    pub(crate) fn unknown_values(
        &self,
        table: &Table,
        known: &[String],
    ) -> Result<Vec<Option<String>>, Error> {
        let column = table.require(&self.column, "the target")?;
        let categories = Categories::of(column, self.merge.as_ref())?;
        let is_known = |name: &str| match self.comparison {
            Some(_) => parse_number(name.as_bytes()).is_some(),
            None => known.iter().any(|k| same_value(k, name)),
        };
        let unknown = |name: &Cow<str>| (!is_known(name)).then(|| shorten(name));
        let unknown: Vec<Option<String>> = categories.names.iter().map(unknown).collect();
        let of = |code: &u32| unknown.get(*code as usize).cloned().flatten();
        Ok(categories.codes.iter().map(of).collect())
    }

    /// For every row of the table, `Some(true)` for +1, or `None` if the target is missing.
    pub fn labels(&self, table: &Table) -> Result<Vec<Option<bool>>, Error> {
        let column = table.require(&self.column, "the target")?;
        if let (Some(comparison), Some(numbers)) = (self.comparison, column.numeric()) {
            let label = |number: f64| (!number.is_nan()).then(|| comparison.holds(number));
            return Ok(numbers.iter().map(label).collect());
        }
        let categories = Categories::of(column, self.merge.as_ref())?;
        let is_positive = |name: &str| match self.comparison {
            Some(comparison) => {
                parse_number(name.as_bytes()).is_some_and(|number| comparison.holds(number))
            }
            None => self.positives().any(|positive| same_value(name, positive)),
        };
        let positive: Vec<bool> = categories
            .names
            .iter()
            .map(|name| is_positive(name))
            .collect();
        let label = |code: &u32| positive.get(*code as usize).copied();
        Ok(categories.codes.iter().map(label).collect())
    }
}

/// The values of a target with their row counts, in order.
struct Present<'a> {
    target: &'a str,
    values: Vec<(&'a str, usize)>,
}

impl<'a> Present<'a> {
    /// The values of a target; fewer than two are an error.
    fn new(target: &'a str, values: &'a [(String, usize)]) -> Result<Self, Error> {
        let mut values: Vec<(&str, usize)> =
            values.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        values.sort_unstable_by(|a, b| natural(a.0, b.0));
        let present = Self { target, values };
        match present.values.len() {
            0 => Err(Error::column(
                target,
                "the target has no values; choose another target",
            )),
            1 => Err(Error::no_variation(
                target,
                format!(
                    "the target has only one value, {}, so models cannot learn anything; choose another \
                     target, or check which rows were dropped",
                    present.listed(1)
                ),
            )),
            _ => Ok(present),
        }
    }

    /// The first values with their row counts, in readable form.
    fn listed(&self, most: usize) -> String {
        let values = self.values.iter();
        let shown = values.map(|(name, count)| format!("{name:?} ({} rows)", grouped(*count)));
        listed(shown, most)
    }

    /// The value that a string stands for.
    fn find(&self, wanted: &str) -> Option<String> {
        let found = self
            .values
            .iter()
            .find(|(name, _)| same_value(name, wanted));
        found.map(|(name, _)| (*name).to_owned())
    }

    /// Advice for targets whose values are all numbers.
    fn advice(&self) -> Option<Message> {
        let compared = either([POSITIVE.is(">= NUMBER"), POSITIVE.is("> median")]);
        self.has_numbers()
            .then(|| aside(say!["; to compare numbers, pass ", compared]))
    }

    fn has_numbers(&self) -> bool {
        let is_number = |(name, _): &(&str, usize)| parse_number(name.as_bytes()).is_some();
        self.values.iter().all(is_number)
    }

    /// The comparison that a string stands for; both labels must occur.
    fn compared(&self, wanted: &str, written: Written) -> Result<Comparison, Error> {
        let mut numbers = Vec::with_capacity(self.values.len());
        let mut all = Vec::new();
        for (name, count) in &self.values {
            let Some(number) = parse_number(name.as_bytes()) else {
                let values = self.listed(6);
                return Err(Error::column(
                    self.target,
                    say![
                        POSITIVE.is(wanted),
                        " compares numbers, but the target has the value {name:?}; choose values \
                         instead: {values}"
                    ],
                ));
            };
            numbers.push(number);
            all.push((number, *count));
        }
        let comparison = written.settle(all);
        let positive = numbers.iter().filter(|x| comparison.holds(**x)).count();
        if positive > 0 && positive < numbers.len() {
            return Ok(comparison);
        }
        let values = self.listed(6);
        let class = match positive {
            0 => "negative",
            _ => "positive",
        };
        Err(Error::no_variation(
            self.target,
            say![
                "all rows are {class} with ",
                POSITIVE.is(comparison),
                ", so models cannot learn anything; choose another bound (values: {values})"
            ],
        ))
    }

    /// The values that count as +1: at least one, but not all.
    fn chosen(&self, spec: &Spec, diagnostics: &mut Vec<Diagnostic>) -> Result<Vec<String>, Error> {
        let (target, n) = (self.target, self.values.len());
        let wanted = spec.positives();
        if wanted.is_empty() && n > 2 {
            return Err(Error::column(
                target,
                say![
                    format!(
                        "the target has {} values; choose those that count as positive",
                        grouped(n)
                    ),
                    with(say![POSITIVE, " (repeat it for several)"]),
                    format!(": {}", self.listed(6)),
                    self.advice()
                ],
            ));
        }
        if wanted.is_empty() {
            let last = self.values[n - 1].0.to_owned();
            diagnostics.push(Diagnostic::note(say![
                "{target:?} = {last:?} counts as positive (the last in order)";
                "pass ", POSITIVE, " to choose another value"
            ]));
            return Ok(vec![last]);
        }
        let mut chosen = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            let Some(found) = self.find(wanted) else {
                let names: Vec<&str> = self.values.iter().map(|(name, _)| *name).collect();
                let advice = match near(wanted, &names).as_slice() {
                    [] => format!("available: {}", self.listed(6)),
                    near => format!("did you mean {}?", quoted_list(near, 3)),
                };
                return Err(Error::column(
                    target,
                    say![
                        "the target has no value {wanted:?} (",
                        POSITIVE,
                        "); {advice}",
                        self.advice()
                    ],
                ));
            };
            chosen.push(found);
        }
        if chosen.len() >= n {
            return Err(Error::column(
                target,
                say![
                    POSITIVE,
                    " lists every value of the target; remove those that count as negative"
                ],
            ));
        }
        if let [value] = chosen.as_slice()
            && n > MOST_NUMBERS
            && self.has_numbers()
        {
            let n = grouped(n);
            let compared = either([POSITIVE.is(format!(">= {value}")), POSITIVE.is("> median")]);
            diagnostics.push(Diagnostic::warning(say![
                "the target {target:?} has {n} different numbers, but only {value} counts as positive";
                "if you mean a range, pass ", compared
            ]));
        }
        Ok(chosen)
    }
}
