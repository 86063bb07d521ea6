//! Infers the type of a column from its first values.

use fairfront_core::say;
use rustc_hash::FxHashSet;

use super::form::{Form, has_comma, has_leading_zero, parse_comma};
use super::lane::Lane;
use crate::date::{DateOrder, Orders};
use crate::error::shorten;
use crate::setting::{DECIMAL, TYPE};
use crate::table::Diagnostic;
use crate::target_number::FewNumbers;

/// The number of values to examine before a type is chosen.
pub(super) const LOOK: usize = 10_000;
/// The number of dates to examine at most if they do not show which number is the month.
pub(super) const MOST_LOOK: usize = 1_000_000;
/// A column is numeric although some values are not numbers (each of them an error) if at least this share
/// of the values are numbers …
const MOSTLY_NUMERIC: f64 = 0.9;
/// … and at least this many of them are distinct. Fewer look like codes (`0`, `1`, `2`, `3+`).
const MANY_NUMBERS: usize = 50;

/// The first values of a column, kept as strings until its type is chosen.
#[derive(Debug, Default)]
pub(super) struct Looked {
    text: String,
    /// Row and end of the string, for each value present.
    values: Vec<(usize, usize)>,
}

/// The inferred type.
pub(super) struct Found {
    /// Numbers or categories.
    pub(super) lane: Lane,
    /// The reason why the values must be numbers or dates, as shown in an error.
    pub(super) because: String,
    pub(super) diagnostic: Option<Diagnostic>,
}

impl Looked {
    pub(super) fn push(&mut self, row: usize, text: &str) {
        self.text.push_str(text);
        self.values.push((row, self.text.len()));
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.text.capacity() + self.values.capacity() * size_of::<(usize, usize)>()
    }

    /// The values with their rows.
    pub(super) fn strings(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut start = 0;
        self.values.iter().map(move |&(row, end)| {
            let text = &self.text[start..end];
            start = end;
            (row, text)
        })
    }

    /// How many values are dates, by order.
    fn orders(&self) -> Orders {
        let mut orders = Orders::default();
        self.strings()
            .for_each(|(_, text)| orders.count(text.as_bytes()));
        orders
    }

    /// Whether all values are dates, and none shows which of the numbers before the year is the month.
    pub(super) fn is_open(&self) -> bool {
        let orders = self.orders();
        orders.dates == self.len() && orders.is_open()
    }

    /// Infers the type of a column with this name, whose numbers are written in this form.
    pub(super) fn found(&self, name: &str, form: Form, must_be_date: bool) -> Found {
        let n = self.len();
        let mut numbers = 0;
        let mut different = FxHashSet::default();
        let mut leading_zero = false;
        let mut first_text = None;
        for (_, text) in self.strings() {
            match form.parse(text.as_bytes()) {
                Some(number) => {
                    numbers += 1;
                    if different.len() < MANY_NUMBERS {
                        different.insert(number.to_bits());
                    }
                    leading_zero |= has_leading_zero(text);
                }
                None => first_text = first_text.or(Some(text)),
            }
        }
        let all_or_most = |count: usize, different: usize| {
            let most = count as f64 >= MOSTLY_NUMERIC * n as f64 && different >= MANY_NUMBERS;
            n > 0 && (count == n || most)
        };
        if !must_be_date && !leading_zero && all_or_most(numbers, different.len()) {
            return Found {
                lane: Lane::Numbers(form),
                because: format!(" ({numbers} of the first {n} values are numbers)"),
                diagnostic: None,
            };
        }
        if n > 0 && (must_be_date || numbers < n) {
            let orders = self.orders();
            let (order, dates) = orders.best();
            if must_be_date || all_or_most(dates, dates) {
                return Found {
                    lane: Lane::Numbers(Form::Date(order)),
                    because: match must_be_date {
                        true => String::new(),
                        false => format!(" ({dates} of the first {n} values are dates)"),
                    },
                    diagnostic: Some(date_diagnostic(name, order, orders.is_open())),
                };
            }
        }
        Found {
            lane: Lane::Categories,
            because: String::new(),
            diagnostic: first_text.and_then(|text| self.near_numeric(name, numbers, text)),
        }
    }

    /// Infers the type of a target: numbers if more than two are different, otherwise categories.
    pub(super) fn found_target(&self, name: &str, form: Form) -> Found {
        let found = self.found(name, form, false);
        let are_numbers = matches!(found.lane, Lane::Numbers(form) if form.date().is_none());
        match are_numbers && self.differ(form) {
            true => found,
            false => Found {
                lane: Lane::Categories,
                because: String::new(),
                diagnostic: None,
            },
        }
    }

    /// Whether more than two numbers are different.
    fn differ(&self, form: Form) -> bool {
        let mut numbers = FewNumbers::default();
        let mut strings = self.strings();
        strings.any(|(_, text)| {
            let number = form.parse(text.as_bytes());
            number.is_some_and(|number| !numbers.take(number))
        })
    }

    /// A note about categories that look like numbers; `first` is the first that is not a number.
    fn near_numeric(&self, name: &str, numbers: usize, first: &str) -> Option<Diagnostic> {
        let n = self.len();
        let all = |is: &dyn Fn(&[u8]) -> bool| self.strings().all(|(_, text)| is(text.as_bytes()));
        if !all(&|text| !has_comma(text)) && all(&|text| parse_comma(text).is_some()) {
            return Some(Diagnostic::warning(say![
                "column {name:?} is read as categorical, although all its values look like numbers with \
                 decimal commas";
                "pass ", DECIMAL.is(","), " if they are"
            ]));
        }
        let is_near = numbers > 0 && 2 * numbers > n;
        is_near.then(|| {
            Diagnostic::note(format!(
                "column {name:?} is read as categorical: {numbers} of the first {n} values are numbers, \
                 but {:?} is not",
                shorten(first)
            ))
        })
    }
}

/// The message about how dates are read.
fn date_diagnostic(name: &str, order: DateOrder, is_open: bool) -> Diagnostic {
    let kept = |ty: &str| TYPE.of(name).is(ty);
    let (this, other) = match order {
        DateOrder::Mdy => ("date-mdy", "date-dmy"),
        _ => ("date-dmy", "date-mdy"),
    };
    match (order, is_open) {
        (_, true) => Diagnostic::warning(say![
            "column {name:?} contains dates that could have the day or the month first; they are read \
             {order}";
            "pass ", kept(other), " to choose the other order";
            kept(this), " to confirm this one"
        ]),
        (DateOrder::Ymd, _) => Diagnostic::note(say![
            "column {name:?} contains dates, which become days since 1970-01-01";
            "pass ", kept("categorical"), " to read them as categories"
        ]),
        _ => Diagnostic::note(say![
            "column {name:?} contains dates ({order}), which become days since 1970-01-01";
            "pass ", kept(other), " to use the other order";
            kept("categorical"), " to read them as categories"
        ]),
    }
}
