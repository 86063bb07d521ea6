//! Maps the target to labels. The rule is fitted once, saved with the encoding, and applied to any later
//! rows. Targets that are numbers: `target_number.rs`; more than two classes: `target_class.rs`.

use std::borrow::Cow;

use fairfront_core::{Classes, Message, Target, Unit, aside, either, grouped, label_of, say, with};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::category::{Categories, natural, same_value};
use crate::comparison::{Comparison, Written};
use crate::error::{Error, listed, near, quoted_list, shorten};
use crate::group::MOST_NUMBERS;
use crate::number::Numbers;
use crate::read::parse_number;
use crate::setting::{NUMERIC, POSITIVE, TARGET};
use crate::spec::{Merge, Spec};
use crate::table::{ColumnType, Diagnostic, Table};
use crate::target_class;
use crate::target_number::{FewNumbers, TargetColumn};

/// Defines the labels of the target's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetRule {
    /// The column.
    pub column: String,
    /// The kind of the target.
    #[serde(flatten)]
    pub kind: TargetKind,
    /// Categories to merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
}

/// The kind of a target, and how values become labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TargetKind {
    /// Whether a row has label +1.
    Binary {
        /// The value that counts as +1, or the comparison that decides it; every other value counts as −1.
        positive: String,
        /// Further values that count as +1.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also_positive: Vec<String>,
        /// The comparison that decides which numbers count as +1, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comparison: Option<Comparison>,
    },
    /// The number itself.
    Number {
        /// How numbers become labels.
        unit: Box<Unit>,
    },
    /// One of more than two classes.
    Classes(Classes),
}

/// The values of a target in the rows in use, as far as the kind of the target depends on them.
#[derive(Debug, Clone)]
pub(crate) enum TargetCounts {
    /// The spec makes the target a number.
    Numeric,
    /// A numeric column with more than two different numbers.
    ManyNumbers,
    /// The merged values with their row counts. With more than two different numbers, those of a column that
    /// `may_be_numeric` become [`TargetCounts::ManyNumbers`].
    Values {
        counts: FxHashMap<String, usize>,
        may_be_numeric: bool,
    },
}

impl TargetCounts {
    /// Counts the values in `rows`.
    pub(crate) fn of(
        spec: &Spec,
        target: &str,
        table: &Table,
        rows: &[u32],
    ) -> Result<Self, Error> {
        if spec.numeric {
            return Ok(Self::Numeric);
        }
        let column = table.require(target, TARGET)?;
        let numbers = column.numeric().filter(|_| column.date.is_none());
        let numbers = numbers.filter(|_| spec.may_be_numeric());
        if let Some(numbers) = numbers {
            let mut few = FewNumbers::default();
            let mut present = rows.iter().map(|row| numbers.get(*row as usize));
            if present.any(|number| !number.is_nan() && !few.take(number)) {
                return Ok(Self::ManyNumbers);
            }
        }
        let categories = Categories::of(column, spec.merges.get(target))?;
        let counts = categories.counts(rows);
        let present = categories.names.into_iter().zip(counts);
        let present = present.filter(|(_, count)| *count > 0);
        Ok(Self::Values {
            counts: present.map(|(name, n)| (name.into_owned(), n)).collect(),
            may_be_numeric: numbers.is_some(),
        })
    }

    /// Adds the counts of other rows.
    pub(crate) fn merge(&mut self, other: Self) {
        let (
            Self::Values {
                counts,
                may_be_numeric,
            },
            Self::Values { counts: more, .. },
        ) = (&mut *self, &other)
        else {
            if matches!(self, Self::Values { .. }) {
                *self = other;
            }
            return;
        };
        for (name, n) in more {
            *counts.entry(name.clone()).or_default() += n;
        }
        let mut few = FewNumbers::default();
        let mut numbers = counts
            .keys()
            .filter_map(|name| parse_number(name.as_bytes()));
        if *may_be_numeric && numbers.any(|number| !few.take(number)) {
            *self = Self::ManyNumbers;
        }
    }

    /// Number of values, if all of them are counted.
    pub(crate) fn n_values(&self) -> usize {
        match self {
            Self::Values { counts, .. } => counts.len(),
            _ => 0,
        }
    }
}

/// The kind of a target, before the unit of numbers is known.
#[derive(Debug, Clone)]
pub(crate) enum TargetPlan {
    /// Two classes or more.
    Classes(TargetRule),
    /// The numbers of this column.
    Number(String),
}

impl TargetPlan {
    /// Chooses the kind of the target from the spec and the values of the target.
    pub(crate) fn new(
        spec: &Spec,
        target: &str,
        counts: &TargetCounts,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self, Error> {
        match counts {
            TargetCounts::Values { counts, .. } => {
                let values: Vec<(&str, usize)> =
                    counts.iter().map(|(name, n)| (name.as_str(), *n)).collect();
                let rule = TargetRule::of_values(spec, target, values, diagnostics)?;
                return Ok(Self::Classes(rule));
            }
            TargetCounts::ManyNumbers => diagnostics.push(Diagnostic::note(say![
                "{target:?} has more than two different numbers, so models predict a number";
                "pass ", POSITIVE.is(">= NUMBER"), " to predict whether it reaches a bound"
            ])),
            TargetCounts::Numeric => {}
        }
        Ok(Self::Number(target.into()))
    }

    /// Whether models predict a number.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    /// The rule of a target with classes.
    pub(crate) fn rule(&self) -> Option<&TargetRule> {
        match self {
            Self::Classes(rule) => Some(rule),
            Self::Number(_) => None,
        }
    }

    /// Whether the target is binary.
    pub(crate) fn is_binary(&self) -> bool {
        self.rule().is_some_and(TargetRule::is_binary)
    }

    /// The kind of the target if it is known without training rows.
    pub(crate) fn kind(&self) -> Option<&TargetKind> {
        self.rule().map(|rule| &rule.kind)
    }

    /// The labels of these rows, which must have values: ±1, positions of classes, or numbers in the unit of
    /// the table. A number that cannot be used is an error.
    pub(crate) fn labels(&self, table: &Table, rows: &[u32]) -> Result<Vec<f64>, Error> {
        match self {
            Self::Classes(rule) => rule.labels_of(table, rows),
            Self::Number(column) => {
                TargetColumn::of(table, column)?.numbers(table, column, rows, None)
            }
        }
    }
}

impl TargetKind {
    /// The position at which rows with a label are counted: its class, or 0 for negative and 1 for positive.
    /// Numbers count at 0.
    pub(crate) fn place(kind: Option<&Self>, label: f64) -> usize {
        match kind {
            Some(Self::Binary { .. }) => usize::from(label > 0.0),
            Some(Self::Classes(_)) => label as usize,
            Some(Self::Number { .. }) | None => 0,
        }
    }

    /// Number of such positions.
    pub(crate) fn n_places(kind: Option<&Self>) -> usize {
        match kind {
            Some(Self::Classes(classes)) => classes.len(),
            _ => 2,
        }
    }
}

impl TargetRule {
    /// The rule for the binary target of a spec in a table with known labels, and notes about automatic choices.
    /// A target that is a number or has more than two classes is an error.
    pub fn of_table(spec: &Spec, table: &Table) -> Result<(Self, Vec<Diagnostic>), Error> {
        let Some(target) = &spec.target else {
            return Err(Error::usage(say!["no target; choose one", with(TARGET)]));
        };
        let rows: Vec<u32> = (0..table.n_rows() as u32).collect();
        let counts = TargetCounts::of(spec, target, table, &rows)?;
        let mut diagnostics = Vec::new();
        match TargetPlan::new(spec, target, &counts, &mut diagnostics)? {
            TargetPlan::Classes(rule) if rule.is_binary() => Ok((rule, diagnostics)),
            _ => Err(Error::column(
                target,
                say![
                    "the target has more than two values; choose those that count as positive",
                    with(POSITIVE)
                ],
            )),
        }
    }

    /// Chooses classes or the positive value from the spec and the values of the target with their row counts.
    fn of_values(
        spec: &Spec,
        target: &str,
        values: Vec<(&str, usize)>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self, Error> {
        let present = Present::new(target, values)?;
        match present.classes(spec, diagnostics)? {
            None => Self::binary(spec, &present, diagnostics),
            Some(classes) => Ok(Self {
                column: target.into(),
                kind: TargetKind::Classes(classes),
                merge: spec.merges.get(target).cloned(),
            }),
        }
    }

    /// Chooses the positive value.
    fn binary(
        spec: &Spec,
        present: &Present<'_>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self, Error> {
        let target = present.target;
        let merge = spec.merges.get(target);
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
                kind: TargetKind::Binary {
                    positive: comparison.to_string(),
                    also_positive: Vec::new(),
                    comparison: Some(comparison),
                },
                merge: merge.cloned(),
            });
        }
        let mut also_positive = present.chosen(spec, diagnostics)?;
        let positive = also_positive.remove(0);
        let rule = Self {
            column: target.into(),
            kind: TargetKind::Binary {
                positive,
                also_positive,
                comparison: None,
            },
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

    /// The rule for the numbers of a column.
    pub(crate) fn number(column: &str, unit: Unit) -> Self {
        Self {
            column: column.into(),
            kind: TargetKind::Number {
                unit: Box::new(unit),
            },
            merge: None,
        }
    }

    /// Whether models predict a number.
    pub fn is_number(&self) -> bool {
        self.unit().is_some()
    }

    /// Whether the target is binary.
    pub fn is_binary(&self) -> bool {
        matches!(self.kind, TargetKind::Binary { .. })
    }

    /// The unit of a number; `None` for classes.
    pub fn unit(&self) -> Option<&Unit> {
        match &self.kind {
            TargetKind::Binary { .. } | TargetKind::Classes(_) => None,
            TargetKind::Number { unit } => Some(unit),
        }
    }

    /// The classes, if there are more than two.
    pub fn classes(&self) -> Option<&Classes> {
        match &self.kind {
            TargetKind::Classes(classes) => Some(classes),
            TargetKind::Binary { .. } | TargetKind::Number { .. } => None,
        }
    }

    /// The kind of the target, for a schema.
    pub fn target(&self) -> Target {
        match &self.kind {
            TargetKind::Binary { .. } => Target::Binary,
            TargetKind::Number { unit } => Target::Number(unit.clone()),
            TargetKind::Classes(classes) => Target::Classes(classes.clone()),
        }
    }

    /// The type of the column for reading more rows.
    pub fn column_type(&self) -> ColumnType {
        match self.kind {
            TargetKind::Binary {
                comparison: None, ..
            }
            | TargetKind::Classes(_) => ColumnType::Categorical,
            _ => ColumnType::Numeric,
        }
    }

    /// The first value that counts as +1, or the comparison that decides it; `None` unless the target is binary.
    pub fn positive(&self) -> Option<&str> {
        self.positives().next().map(String::as_str)
    }

    fn comparison(&self) -> Option<Comparison> {
        match self.kind {
            TargetKind::Binary { comparison, .. } => comparison,
            TargetKind::Number { .. } | TargetKind::Classes(_) => None,
        }
    }

    /// The values that count as +1; none unless the target is binary.
    fn positives(&self) -> impl Iterator<Item = &String> {
        let (first, others) = match &self.kind {
            TargetKind::Binary {
                positive,
                also_positive,
                ..
            } => (Some(positive), also_positive.as_slice()),
            TargetKind::Number { .. } | TargetKind::Classes(_) => (None, &[][..]),
        };
        first.into_iter().chain(others)
    }

    /// The values that count as +1, in readable form: `yes`, `A or B`, `>= 5000`. Empty unless the target is
    /// binary.
    pub fn positive_text(&self) -> String {
        let all: Vec<&str> = self.positives().map(String::as_str).collect();
        all.join(" or ")
    }

    /// The condition for label +1, in readable form: `pay = high`, `income >= 5000`. If the target is
    /// not binary, the column.
    pub fn condition(&self) -> String {
        match (&self.kind, self.comparison()) {
            (TargetKind::Number { .. } | TargetKind::Classes(_), _) => self.column.clone(),
            (_, Some(comparison)) => format!("{} {comparison}", self.column),
            (_, None) => format!("{} = {}", self.column, self.positive_text()),
        }
    }

    /// Whether the values of the target are its labels: neither numbers nor compared with a bound.
    fn has_values(&self) -> bool {
        self.column_type() == ColumnType::Categorical
    }

    /// These values in order; empty if numbers decide.
    pub(crate) fn sorted_values(&self, counts: &TargetCounts) -> Vec<String> {
        let TargetCounts::Values { counts, .. } = counts else {
            return Vec::new();
        };
        if !self.has_values() {
            return Vec::new();
        }
        let mut values: Vec<String> = counts.keys().cloned().collect();
        values.sort_unstable_by(|a, b| natural(a, b));
        values
    }

    /// The merged values in `rows`, in order; empty if numbers decide.
    pub(crate) fn values(&self, table: &Table, rows: &[u32]) -> Result<Vec<String>, Error> {
        if !self.has_values() {
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

    /// For every row of the table, the merged value of the target if it is not one of these, or not a class.
    pub(crate) fn unknown_values(
        &self,
        table: &Table,
        known: &[String],
    ) -> Result<Vec<Option<String>>, Error> {
        let column = table.require(&self.column, "the target")?;
        let categories = Categories::of(column, self.merge.as_ref())?;
        let is_known = |name: &str| match (self.comparison(), self.classes()) {
            (Some(_), _) => parse_number(name.as_bytes()).is_some(),
            (None, Some(classes)) => target_class::position(classes, name).is_some(),
            (None, None) => known.iter().any(|k| same_value(k, name)),
        };
        let unknown = |name: &Cow<str>| (!is_known(name)).then(|| shorten(name));
        let unknown: Vec<Option<String>> = categories.names.iter().map(unknown).collect();
        let of = |code: &u32| unknown.get(*code as usize).cloned().flatten();
        Ok(categories.codes.iter().map(of).collect())
    }

    /// For every row of the table, +1 or −1, the position of the class, or the number in the unit of the table;
    /// `None` if the target is missing, not a number, or not one of more than two classes.
    pub fn labels(&self, table: &Table) -> Result<Vec<Option<f64>>, Error> {
        let labels = self.bound(table)?;
        Ok((0..table.n_rows() as u32)
            .map(|row| labels.get(row))
            .collect())
    }

    /// The first row whose number or class cannot be used, and the reason. Missing values are not a problem,
    /// and every value of a binary target can be used.
    pub fn unusable(&self, table: &Table) -> Result<Option<(usize, String)>, Error> {
        if self.classes().is_some() {
            let unknown = self.unknown_values(table, &[])?.into_iter().enumerate();
            let mut found = unknown.filter_map(|(row, value)| Some((row, value?)));
            return Ok(found.next().map(|(row, value)| {
                let problem = format!(
                    "the target is {value:?}, which is not a class of the model; fix the value, or leave it \
                     empty if it is missing"
                );
                (row, problem)
            }));
        }
        if !self.is_number() {
            return Ok(None);
        }
        let column = TargetColumn::of(table, &self.column)?;
        let mut rows = 0..table.n_rows() as u32;
        let unit = self.unit();
        Ok(rows.find_map(|row| Some((row as usize, column.problem(row, unit)?))))
    }

    /// The labels of these rows, which must have values: ±1, positions of classes, or numbers in the unit of the
    /// table.
    pub(crate) fn labels_of(&self, table: &Table, rows: &[u32]) -> Result<Vec<f64>, Error> {
        let labels = self.bound(table)?;
        // Rows without a label are not in use.
        Ok(rows
            .iter()
            .map(|row| labels.get(*row).unwrap_or(-1.0))
            .collect())
    }

    /// The rule bound to its column in a table.
    fn bound<'a>(&'a self, table: &'a Table) -> Result<Labels<'a>, Error> {
        if self.is_number() {
            return Ok(Labels::Numbers(TargetColumn::of(table, &self.column)?));
        }
        let column = table.require(&self.column, "the target")?;
        if let (Some(comparison), Some(numbers)) = (self.comparison(), column.numeric()) {
            return Ok(Labels::Compared(comparison, numbers));
        }
        let categories = Categories::of(column, self.merge.as_ref())?;
        if let Some(classes) = self.classes() {
            let position = |name: &Cow<str>| target_class::position(classes, name);
            let label = |name| position(name).map(|position| position as f64);
            let labels = categories.names.iter().map(label).collect();
            return Ok(Labels::Coded(categories.codes, labels));
        }
        let is_positive = |name: &str| match self.comparison() {
            Some(comparison) => {
                parse_number(name.as_bytes()).is_some_and(|number| comparison.holds(number))
            }
            None => self.positives().any(|positive| same_value(name, positive)),
        };
        let labels = categories.names.iter();
        let labels = labels
            .map(|name| Some(label_of(is_positive(name))))
            .collect();
        Ok(Labels::Coded(categories.codes, labels))
    }

    /// The label of a row for models: a number becomes standardized.
    pub(crate) fn standardized(&self, label: f64) -> f64 {
        self.unit().map_or(label, |unit| unit.label(label))
    }
}

/// The labels of the rows of a table.
enum Labels<'a> {
    Numbers(TargetColumn<'a>),
    Compared(Comparison, &'a Numbers),
    /// The code of each row, and the label of each code; `None` if it is not a class.
    Coded(Cow<'a, [u32]>, Vec<Option<f64>>),
}

impl Labels<'_> {
    /// The label of a row; `None` if it has none.
    fn get(&self, row: u32) -> Option<f64> {
        match self {
            Self::Numbers(column) => Some(column.get(row)).filter(|number| number.is_finite()),
            Self::Compared(comparison, numbers) => {
                let number = numbers.get(row as usize);
                (!number.is_nan()).then(|| label_of(comparison.holds(number)))
            }
            Self::Coded(codes, labels) => {
                labels.get(codes[row as usize] as usize).copied().flatten()
            }
        }
    }
}

/// The values of a target with their row counts, in order.
pub(crate) struct Present<'a> {
    pub(crate) target: &'a str,
    pub(crate) values: Vec<(&'a str, usize)>,
}

impl<'a> Present<'a> {
    /// The values of a target; fewer than two are an error.
    fn new(target: &'a str, mut values: Vec<(&'a str, usize)>) -> Result<Self, Error> {
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
    pub(crate) fn listed(&self, most: usize) -> String {
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

    /// Advice for targets that could be predicted as numbers.
    fn number_advice(&self, spec: &Spec) -> Option<Message> {
        (self.has_numbers() && spec.may_be_numeric())
            .then(|| aside(say!["; to predict the number, pass ", NUMERIC]))
    }

    pub(crate) fn has_numbers(&self) -> bool {
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
                    self.advice(),
                    self.number_advice(spec)
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
