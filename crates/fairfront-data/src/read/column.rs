//! One column while it is being read: its type is found by looking.

use std::collections::TryReserveError;

use fairfront_core::say;
use rustc_hash::FxHashSet;

use super::form::{Form, has_comma, parse_comma};
use super::lane::{Batch, BatchValues, Lane, Misfit, has_nul};
use crate::date::{self, DateOrder, Orders, date_text};
use crate::error::shorten;
use crate::identifier::{FEW_ROWS, NEARLY_UNIQUE};
use crate::setting::{DECIMAL, TYPE};
use crate::table::{Column, ColumnType, Interner, LeftOut, MISSING, Notice, Values};

/// Values looked at before a type is chosen.
const LOOK: usize = 10_000;
/// A text column with more values than this is an identifier, unless its type is set.
const MOST_LEVELS: usize = 1_000;
/// A column is numeric though some values are not numbers (each of them an error) when at least
/// this share of the values are numbers …
const MOSTLY_NUMERIC: f64 = 0.9;
/// … and at least this many of them are different: fewer look like codes (`0`, `1`, `2`, `3+`).
const MANY_NUMBERS: usize = 50;

/// What the user or the role of a column asks of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Do not read.
    Skip,
    /// Find out by looking.
    Look,
    /// Numbers; anything else is an error.
    Numeric,
    /// Dates, in this order or the one found by looking; anything else is an error.
    Date(Option<DateOrder>),
    /// Levels, however many.
    Levels,
    /// The same, each text as it stands, be it one for a missing value.
    Copy,
}

/// A value that cannot be taken. `row` counts over all files.
#[derive(Debug)]
pub(super) enum BadValue {
    NotNumeric {
        row: usize,
        value: String,
        because: String,
        /// The order of dates, where it should be one.
        date: Option<DateOrder>,
    },
    NotUtf8 {
        row: usize,
        value: String,
    },
    /// A text with a NUL byte.
    Nul {
        row: usize,
    },
}

impl BadValue {
    pub(super) fn row(&self) -> usize {
        match self {
            Self::NotNumeric { row, .. } | Self::NotUtf8 { row, .. } | Self::Nul { row } => *row,
        }
    }
}

#[derive(Debug)]
enum State {
    LeftOut(LeftOut),
    Looking(Looked),
    Numeric {
        values: Vec<f64>,
        because: String,
        /// The order of dates, where these are dates.
        date: Option<DateOrder>,
    },
    Levels {
        interner: Interner,
        most: usize,
    },
}

/// The first values of a column, kept as text until its type is chosen.
#[derive(Debug, Default)]
struct Looked {
    text: String,
    /// Row and end of its text, for each value present.
    values: Vec<(usize, usize)>,
}

impl Looked {
    /// Which of them are dates, and in which order.
    fn orders(&self) -> Orders {
        let mut orders = Orders::default();
        self.texts()
            .for_each(|(_, text)| orders.count(text.as_bytes()));
        orders
    }

    /// Whether all are dates, and none says which of the numbers in front of the year is the month.
    fn is_open(&self) -> bool {
        let orders = self.orders();
        orders.dates == self.values.len() && orders.is_open()
    }

    fn texts(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut start = 0;
        self.values.iter().map(move |&(row, end)| {
            let text = &self.text[start..end];
            start = end;
            (row, text)
        })
    }
}

/// The capacity of values that have room for so many more: half as much again, if they have to move.
fn grown<T>(values: &Vec<T>, more: usize) -> usize {
    let (len, capacity) = (values.len(), values.capacity());
    match more <= capacity - len {
        true => capacity,
        false => len.saturating_add(more.max(len / 2)),
    }
}

#[derive(Debug)]
pub(super) struct ColumnBuilder {
    pub(super) name: String,
    state: State,
    plan: Plan,
    /// How the numbers of the file at hand are written.
    form: Form,
    /// Values to look at before a type is chosen.
    look: usize,
    /// Whether it is kept though it looks like an identifier.
    is_kept: bool,
    n_rows: usize,
    n_missing: usize,
    notice: Option<Notice>,
    /// Values that do not fit, where these are no errors; they are taken as missing.
    misfits: Option<Vec<BadValue>>,
}

impl ColumnBuilder {
    pub(super) fn new(name: String, plan: Plan) -> Self {
        let state = match plan {
            Plan::Skip => State::LeftOut(LeftOut::NotRead),
            Plan::Look | Plan::Date(None) => State::Looking(Looked::default()),
            Plan::Numeric | Plan::Date(Some(_)) => State::Numeric {
                values: Vec::new(),
                because: String::new(),
                date: match plan {
                    Plan::Date(order) => order,
                    _ => None,
                },
            },
            Plan::Levels | Plan::Copy => levels(usize::MAX),
        };
        Self {
            name,
            state,
            plan,
            form: Form::default(),
            look: LOOK,
            is_kept: false,
            n_rows: 0,
            n_missing: 0,
            notice: None,
            misfits: None,
        }
    }

    /// The same, but a value that does not fit is taken as missing and remembered.
    pub(super) fn lenient(name: String, plan: Plan) -> Self {
        Self {
            misfits: Some(Vec::new()),
            ..Self::new(name, plan)
        }
    }

    /// The same, kept though its numbers look like identifiers.
    pub(super) fn kept(self) -> Self {
        Self {
            is_kept: true,
            ..self
        }
    }

    /// Further numbers are written like this.
    pub(super) fn set_form(&mut self, form: Form) {
        self.form = form;
    }

    /// Whether its type is found by looking.
    pub(super) fn is_free(&self) -> bool {
        self.plan == Plan::Look && !self.is_kept
    }

    /// Chooses a type where that is still to be done, and hands over the values that do not fit.
    pub(super) fn take_misfits(&mut self) -> Result<Vec<BadValue>, BadValue> {
        self.choose()?;
        Ok(self
            .misfits
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default())
    }

    /// Whether the reader may pass over this column's fields.
    pub(super) fn is_skipped(&self) -> bool {
        self.plan == Plan::Skip
    }

    /// Whether texts are taken as they stand.
    pub(super) fn is_copied(&self) -> bool {
        self.plan == Plan::Copy
    }

    /// The file itself says the type; it holds unless the user has said otherwise.
    pub(super) fn declare(&mut self, declared: ColumnType) {
        if let State::Looking(looked) = &self.state
            && looked.values.is_empty()
            && (self.plan == Plan::Look || declared.date().is_some())
        {
            self.state = match declared {
                ColumnType::Numeric
                | ColumnType::Date
                | ColumnType::DateDmy
                | ColumnType::DateMdy => State::Numeric {
                    values: vec![f64::NAN; self.n_rows],
                    because: String::new(),
                    date: declared.date(),
                },
                ColumnType::Boolean | ColumnType::Categorical => {
                    let mut state = levels(MOST_LEVELS);
                    if let State::Levels { interner, .. } = &mut state {
                        interner.codes = vec![MISSING; self.n_rows];
                    }
                    state
                }
            };
        }
    }

    /// The error for a value of a further row that does not fit the lane.
    pub(super) fn bad_value(&self, row: usize, misfit: Misfit, value: &[u8]) -> BadValue {
        let value = shown(value);
        match (misfit, &self.state) {
            (Misfit::NotNumeric, State::Numeric { because, date, .. }) => BadValue::NotNumeric {
                row,
                value,
                because: because.clone(),
                date: *date,
            },
            (Misfit::NotNumeric, _) => BadValue::NotNumeric {
                row,
                value,
                because: String::new(),
                date: None,
            },
            (Misfit::NotUtf8, _) => BadValue::NotUtf8 { row, value },
        }
    }

    /// Nothing of this column can be used; an explicit type cannot change that.
    pub(super) fn leave_out(&mut self, reason: LeftOut) {
        if !self.is_skipped() {
            self.state = State::LeftOut(reason);
        }
    }

    pub(super) fn push_missing(&mut self) {
        self.n_rows += 1;
        self.n_missing += 1;
        match &mut self.state {
            State::LeftOut(_) | State::Looking(_) => {}
            State::Numeric { values, .. } => values.push(f64::NAN),
            State::Levels { interner, .. } => interner.codes.push(MISSING),
        }
    }

    pub(super) fn push_text(&mut self, bytes: &[u8]) -> Result<(), BadValue> {
        let row = self.n_rows;
        self.n_rows += 1;
        if let State::LeftOut(_) = self.state {
            return Ok(());
        }
        if has_nul(bytes) {
            return Err(BadValue::Nul { row });
        }
        if let State::Numeric {
            values,
            because,
            date,
        } = &mut self.state
        {
            let form = date.map_or(self.form, Form::Date);
            let Some(number) = form.parse(bytes) else {
                let bad = BadValue::NotNumeric {
                    row,
                    value: shown(bytes),
                    because: because.clone(),
                    date: *date,
                };
                let Some(misfits) = &mut self.misfits else {
                    return Err(bad);
                };
                misfits.push(bad);
                values.push(f64::NAN);
                self.n_missing += 1;
                return Ok(());
            };
            values.push(number);
            return Ok(());
        }
        let not_utf8 = |_| BadValue::NotUtf8 {
            row,
            value: shown(bytes),
        };
        match &mut self.state {
            State::Looking(looked) => {
                looked
                    .text
                    .push_str(std::str::from_utf8(bytes).map_err(not_utf8)?);
                looked.values.push((row, looked.text.len()));
                if looked.values.len() == self.look {
                    match looked.is_open() {
                        // A later date may say which number is the month.
                        true => self.look *= 2,
                        false => self.choose()?,
                    }
                }
            }
            State::Levels { interner, .. } => {
                interner.push(bytes).map_err(not_utf8)?;
                self.leave_out_identifier();
            }
            State::Numeric { .. } | State::LeftOut(_) => {}
        }
        Ok(())
    }

    fn leave_out_identifier(&mut self) {
        if let State::Levels { interner, most } = &self.state
            && interner.levels.len() > *most
        {
            self.state = State::LeftOut(LeftOut::Identifier);
        }
    }

    /// How the values of further rows can be taken all at once.
    pub(super) fn lane(&self) -> Lane {
        match &self.state {
            State::LeftOut(_) => Lane::Count,
            State::Looking(_) => Lane::Look,
            State::Numeric { date, .. } => Lane::Numbers(date.map_or(self.form, Form::Date)),
            State::Levels { .. } => Lane::Levels,
        }
    }

    /// Bytes of memory that this column takes, with room for so many further rows.
    pub(super) fn bytes_with(&self, rows: usize) -> usize {
        let values = match &self.state {
            State::LeftOut(_) => 0,
            State::Looking(_) => self.looked_bytes(),
            State::Numeric { values, .. } => grown(values, rows).saturating_mul(size_of::<f64>()),
            State::Levels { interner, .. } => {
                let codes = grown(&interner.codes, rows).saturating_mul(size_of::<u32>());
                codes.saturating_add(interner.level_bytes())
            }
        };
        values.saturating_add(size_of::<Self>() + self.name.capacity())
    }

    /// Bytes of memory that the values looked at take.
    pub(super) fn looked_bytes(&self) -> usize {
        match &self.state {
            State::Looking(looked) => {
                looked.text.capacity() + looked.values.capacity() * size_of::<(usize, usize)>()
            }
            _ => 0,
        }
    }

    /// Makes room for so many further rows.
    pub(super) fn reserve(&mut self, rows: usize) -> Result<(), TryReserveError> {
        fn reserve<T>(values: &mut Vec<T>, rows: usize) -> Result<(), TryReserveError> {
            values.try_reserve_exact(grown(values, rows) - values.len())
        }
        match &mut self.state {
            State::LeftOut(_) | State::Looking(_) => Ok(()),
            State::Numeric { values, .. } => reserve(values, rows),
            State::Levels { interner, .. } => reserve(&mut interner.codes, rows),
        }
    }

    /// Takes the values of further rows.
    pub(super) fn append(&mut self, batch: Batch) -> Result<(), BadValue> {
        match (&mut self.state, batch.values) {
            (State::Numeric { values, .. }, BatchValues::Numbers(numbers, _)) => {
                values.extend_from_slice(&numbers);
            }
            (State::Levels { interner, .. }, BatchValues::Levels(new)) => {
                let mut code_of = Vec::with_capacity(new.levels.len());
                for level in &new.levels {
                    // The level of a batch is UTF-8 already.
                    code_of.push(interner.code(level.as_bytes()).unwrap_or(MISSING));
                }
                let code = |c: &u32| code_of.get(*c as usize).copied().unwrap_or(MISSING);
                interner.codes.extend(new.codes.iter().map(code));
                self.leave_out_identifier();
            }
            (State::Looking(_), BatchValues::Levels(new)) => {
                for code in &new.codes {
                    match new.levels.get(*code as usize) {
                        Some(level) => self.push_text(level.as_bytes())?,
                        None => self.push_missing(),
                    }
                }
                return Ok(());
            }
            // A batch is made for the lane of the column, which can change to Count alone.
            (state, _) => debug_assert!(matches!(state, State::LeftOut(_)), "a wrong lane"),
        }
        self.n_rows += batch.n_rows;
        self.n_missing += batch.n_missing;
        Ok(())
    }

    /// Whether the numbers from row `first` on are 0, 1, 2, …
    pub(super) fn counts_up_from(&self, first: usize) -> bool {
        let is_number = |(i, value): (usize, &f64)| *value == i as f64;
        match &self.state {
            State::Numeric { values, .. } => values[first..].iter().enumerate().all(is_number),
            State::Looking(looked) => {
                let texts = looked.texts().filter(|(row, _)| *row >= first);
                let numbers = texts.map(|(_, text)| self.form.parse(text.as_bytes()));
                numbers
                    .enumerate()
                    .all(|(i, number)| number == Some(i as f64))
            }
            State::Levels { .. } | State::LeftOut(_) => false,
        }
    }

    /// A number from a typed file; NaN is missing.
    pub(super) fn push_number(&mut self, number: f64) -> Result<(), BadValue> {
        if number.is_nan() {
            self.push_missing();
            return Ok(());
        }
        match &mut self.state {
            State::Numeric { values, .. } if number.is_finite() => {
                values.push(number);
                self.n_rows += 1;
                Ok(())
            }
            _ => self.push_text(number.to_string().as_bytes()),
        }
    }

    /// A whole number from a typed file, exact as text.
    pub(super) fn push_integer(&mut self, number: i128) -> Result<(), BadValue> {
        match &mut self.state {
            State::Numeric { values, .. } => {
                // No machine has an instruction for 128 bits.
                values.push(i64::try_from(number).map_or(number as f64, |n| n as f64));
                self.n_rows += 1;
                Ok(())
            }
            _ => self.push_text(number.to_string().as_bytes()),
        }
    }

    /// A date from a typed file: days since 1970-01-01 and nanoseconds from the start of that day.
    pub(super) fn push_date(&mut self, days: i64, nanos: i64) -> Result<(), BadValue> {
        let number = date::number(days, nanos);
        match &mut self.state {
            State::Numeric { values, .. } => {
                values.push(number);
                self.n_rows += 1;
                Ok(())
            }
            _ => self.push_text(date_text(number).as_bytes()),
        }
    }

    /// Chooses a type for what was looked at and moves it there.
    fn choose(&mut self) -> Result<(), BadValue> {
        let looked = match &mut self.state {
            State::Looking(looked) => std::mem::take(looked),
            _ => return Ok(()),
        };
        let mut numbers = 0;
        let mut different = FxHashSet::default();
        let mut leading_zero = false;
        let mut first_text = None;
        for (_, text) in looked.texts() {
            match self.form.parse(text.as_bytes()) {
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
        let n = looked.values.len();
        let mostly = numbers as f64 >= MOSTLY_NUMERIC * n as f64 && different.len() >= MANY_NUMBERS;
        let must_be_date = matches!(self.plan, Plan::Date(_));
        let numeric = n > 0 && !leading_zero && (numbers == n || mostly) && !must_be_date;
        if !numeric && n > 0 {
            let orders = match must_be_date || numbers < n {
                true => looked.orders(),
                false => Orders::default(),
            };
            let (order, dates) = orders.best();
            let mostly = dates as f64 >= MOSTLY_NUMERIC * n as f64 && dates >= MANY_NUMBERS;
            if must_be_date || dates == n || mostly {
                self.say_order(order, orders.is_open());
                let because = match must_be_date {
                    true => String::new(),
                    false => format!(" ({dates} of the first {n} values are dates)"),
                };
                return self.fill(&looked, because, Some(order));
            }
            let commas = looked
                .texts()
                .filter(|(_, text)| has_comma(text.as_bytes()))
                .count();
            if numbers < n && commas > 0 {
                let is_number = |text: &str| parse_comma(text.as_bytes()).is_some();
                if looked.texts().all(|(_, text)| is_number(text)) {
                    let name = &self.name;
                    self.notice = Some(Notice::warning(say![
                        "column {name:?} is taken as categorical, though all its values are numbers with \
                         decimal commas";
                        "pass ", DECIMAL.is(","), " if they are"
                    ]));
                }
            }
        }
        if let Some(text) = first_text
            && !numeric
            && self.notice.is_none()
            && numbers > 0
            && 2 * numbers > n
        {
            self.notice = Some(Notice::info(format!(
                "column {:?} is taken as categorical: {numbers} of the first {n} values are \
                 numbers, but not {:?}",
                self.name,
                shorten(text)
            )));
        }

        if numeric {
            let because = format!(" ({numbers} of the first {n} values are numbers)");
            return self.fill(&looked, because, None);
        }
        let n_rows = self.n_rows;
        {
            let mut interner = Interner::default();
            for (row, text) in looked.texts() {
                interner.codes.resize(row, MISSING);
                // What was looked at is UTF-8.
                let code = interner.code(text.as_bytes()).unwrap_or(MISSING);
                interner.codes.push(code);
            }
            interner.codes.resize(n_rows, MISSING);
            self.state = if interner.levels.len() > MOST_LEVELS {
                State::LeftOut(LeftOut::Identifier)
            } else {
                State::Levels {
                    interner,
                    most: MOST_LEVELS,
                }
            };
        }
        Ok(())
    }

    /// Converts the values looked at to numbers or dates.
    fn fill(
        &mut self,
        looked: &Looked,
        because: String,
        date: Option<DateOrder>,
    ) -> Result<(), BadValue> {
        let mut values = vec![f64::NAN; self.n_rows];
        let form = date.map_or(self.form, Form::Date);
        for (row, text) in looked.texts() {
            let Some(number) = form.parse(text.as_bytes()) else {
                let bad = BadValue::NotNumeric {
                    row,
                    value: shorten(text),
                    because: because.clone(),
                    date,
                };
                let Some(misfits) = &mut self.misfits else {
                    return Err(bad);
                };
                misfits.push(bad);
                self.n_missing += 1;
                continue;
            };
            values[row] = number;
        }
        self.state = State::Numeric {
            values,
            because,
            date,
        };
        Ok(())
    }

    /// Says how dates are read.
    fn say_order(&mut self, order: DateOrder, is_open: bool) {
        let name = &self.name;
        let kept = |ty: &str| TYPE.of(name).is(ty);
        let other = match order {
            DateOrder::Mdy => "date-dmy",
            _ => "date-mdy",
        };
        self.notice = Some(match (order, is_open) {
            (_, true) => {
                let this = match order {
                    DateOrder::Mdy => "date-mdy",
                    _ => "date-dmy",
                };
                Notice::warning(say![
                    "column {name:?} holds dates that could have the day or the month first; they are read \
                     {order}";
                    "pass ", kept(other), " to choose the other order";
                    kept(this), " to confirm this one"
                ])
            }
            (DateOrder::Ymd, _) => Notice::info(say![
                "column {name:?} holds dates, which become days since 1970-01-01";
                "pass ", kept("categorical"), " for categories"
            ]),
            _ => Notice::info(say![
                "column {name:?} holds dates ({order}), which become days since 1970-01-01";
                "pass ", kept(other), " for the other order";
                kept("categorical"), " for categories"
            ]),
        });
    }

    /// The column; numbers equal to one of `missing` are missing.
    pub(super) fn finish(mut self, missing: &[f64]) -> Result<(Column, Option<Notice>), BadValue> {
        self.choose()?;
        if let State::Numeric {
            values, date: None, ..
        } = &mut self.state
            && !missing.is_empty()
        {
            for value in values.iter_mut().filter(|v| missing.contains(v)) {
                *value = f64::NAN;
                self.n_missing += 1;
            }
        }
        if self.plan == Plan::Look
            && self.n_missing == self.n_rows
            && !matches!(self.state, State::LeftOut(_))
        {
            self.state = State::LeftOut(LeftOut::AllMissing);
        }
        let n_present = self.n_rows - self.n_missing;
        let date = match &self.state {
            State::Numeric { date, .. } => *date,
            _ => None,
        };
        let values = match self.state {
            State::LeftOut(reason) => Values::LeftOut(reason),
            State::Numeric { values, .. } => Values::Numeric(values.into()),
            State::Levels { interner, most } => {
                let unique = interner.levels.len() as f64 >= NEARLY_UNIQUE * n_present as f64;
                if most == MOST_LEVELS && unique && n_present >= FEW_ROWS {
                    Values::LeftOut(LeftOut::Identifier)
                } else {
                    interner.into_column(String::new()).values
                }
            }
            State::Looking(_) => Values::LeftOut(LeftOut::AllMissing),
        };
        let notice = match &values {
            Values::LeftOut(LeftOut::NotRead) => None,
            Values::LeftOut(reason @ LeftOut::Identifier) => {
                let name = &self.name;
                Some(Notice::info(say![
                    "column {name:?} is left out: {reason}";
                    "say ", TYPE.of(name).is("categorical"), " to keep it"
                ]))
            }
            Values::LeftOut(reason) => Some(Notice::info(format!(
                "column {:?} is left out: {reason}",
                self.name
            ))),
            _ => self.notice,
        };
        let column = Column {
            name: self.name,
            values,
            n_missing: self.n_missing,
            date,
        };
        Ok((column, notice))
    }
}

fn levels(most: usize) -> State {
    State::Levels {
        interner: Interner::default(),
        most,
    }
}

/// A value as an error shows it.
pub(super) fn shown(bytes: &[u8]) -> String {
    // Enough for the longest that is shown, whatever its characters.
    let start = &bytes[..bytes.len().min(400)];
    shorten(&String::from_utf8_lossy(start))
}

/// A finite number. Whole numbers of up to 15 digits, by far the most frequent, are exact in f64
/// and need no general parser.
pub(crate) fn parse_number(bytes: &[u8]) -> Option<f64> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) {
        let whole = digits
            .iter()
            .fold(0_i64, |n, d| n * 10 + i64::from(d - b'0'));
        let negative = digits.len() < bytes.len();
        return Some(if negative {
            -(whole as f64)
        } else {
            whole as f64
        });
    }
    let number: f64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// `00501` is a code, not a number; `0`, `0.5` and `-0.5` are numbers.
pub(crate) fn has_leading_zero(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 1 && bytes[0] == b'0' && bytes[1].is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Numbers;

    fn read(plan: Plan, values: &[&str]) -> Result<(Column, Option<Notice>), BadValue> {
        let mut builder = ColumnBuilder::new("c".into(), plan);
        for value in values {
            match *value {
                "" => builder.push_missing(),
                text => builder.push_text(text.as_bytes())?,
            }
        }
        builder.finish(&[])
    }

    fn values(plan: Plan, texts: &[&str]) -> Values {
        read(plan, texts).unwrap().0.values
    }

    #[test]
    fn numbers_are_numeric_and_missing_is_nan() {
        let Values::Numeric(Numbers::Own(found)) =
            values(Plan::Look, &["1", "", "-2.5", "1e3", "-7"])
        else {
            panic!("not numeric");
        };
        assert_eq!(found.len(), 5);
        assert_eq!(
            (found[0], found[2], found[3], found[4]),
            (1.0, -2.5, 1000.0, -7.0)
        );
        assert!(found[1].is_nan());
    }

    #[test]
    fn codes_with_leading_zeros_are_levels() {
        assert!(matches!(
            values(Plan::Look, &["02139", "10001"]),
            Values::Categorical { .. }
        ));
        assert!(matches!(
            values(Plan::Look, &["0", "0.5"]),
            Values::Numeric(_)
        ));
    }

    #[test]
    fn a_few_codes_that_are_no_numbers_make_levels_and_say_so() {
        let (column, notice) = read(Plan::Look, &["0", "1", "2", "3+", "1"]).unwrap();
        assert_eq!(column.categorical().unwrap().1, ["0", "1", "2", "3+"]);
        assert!(notice.unwrap().message.to_string().contains("\"3+\""));
    }

    #[test]
    fn a_text_among_many_numbers_is_an_error_with_its_row() {
        let mut texts: Vec<String> = (0..200).map(|i| i.to_string()).collect();
        texts[150] = "unknown".into();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        match read(Plan::Look, &texts) {
            Err(BadValue::NotNumeric { row, value, .. }) => {
                assert_eq!((row, value.as_str()), (150, "unknown"));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_after_the_look_is_an_error_too() {
        let mut texts = vec!["5"; LOOK + 10];
        texts[LOOK + 5] = "x";
        match read(Plan::Look, &texts) {
            Err(BadValue::NotNumeric { row, .. }) => assert_eq!(row, LOOK + 5),
            other => panic!("{other:?}"),
        }
        // As levels, the same column is fine.
        assert!(read(Plan::Levels, &texts).is_ok());
    }

    #[test]
    fn identifiers_are_left_out_unless_asked_for() {
        let texts: Vec<String> = (0..30).map(|i| format!("n{i}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(
            values(Plan::Look, &texts),
            Values::LeftOut(LeftOut::Identifier)
        );
        assert!(matches!(
            values(Plan::Levels, &texts),
            Values::Categorical { .. }
        ));

        let many: Vec<String> = (0..30_000).map(|i| format!("n{}", i % 1_001)).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(
            values(Plan::Look, &many),
            Values::LeftOut(LeftOut::Identifier)
        );
        assert!(matches!(
            values(Plan::Look, &many[..1_000]),
            Values::LeftOut(_)
        ));
        let thousand: Vec<&str> = many.iter().copied().filter(|t| *t != "n1000").collect();
        assert!(matches!(
            values(Plan::Look, &thousand),
            Values::Categorical { .. }
        ));
    }

    #[test]
    fn a_column_of_nothing_is_left_out() {
        assert_eq!(
            values(Plan::Look, &["", ""]),
            Values::LeftOut(LeftOut::AllMissing)
        );
        assert!(matches!(
            values(Plan::Numeric, &["", ""]),
            Values::Numeric(_)
        ));
    }

    #[test]
    fn numbers_as_std_parses_them() {
        for text in [
            "0",
            "-0",
            "007",
            "999999999999999",
            "1234567890123456",
            ".5",
            "5.",
            "1E-7",
            "+3",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(
                parse_number(text.as_bytes()).map(f64::to_bits),
                Some(expected.to_bits()),
                "{text}"
            );
        }
        for text in ["", "-", "x", "inf", "nan", "1e999", "1 2", "--1"] {
            assert_eq!(parse_number(text.as_bytes()), None, "{text}");
        }
    }
}
