//! One column while it is being read.

use std::collections::TryReserveError;

use fairfront_core::say;

use super::form::Form;
use super::lane::{BadValue, Batch, BatchValues, Lane, Misfit, has_nul};
use super::look::{LOOK, Looked};
use crate::date::{self, DateOrder, date_text};
use crate::error::shorten;
use crate::identifier::{FEW_ROWS, NEARLY_UNIQUE};
use crate::setting::TYPE;
use crate::table::{Column, ColumnType, LeftOut, Notice, Values};

/// A text column with more values than this is an identifier, unless its type is set.
const MOST_LEVELS: usize = 1_000;

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

#[derive(Debug)]
enum State {
    LeftOut(LeftOut),
    Looking(Looked),
    /// Numbers, dates or levels.
    Typed(Batch),
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
    /// Why its values must be numbers or dates.
    because: String,
    notice: Option<Notice>,
    /// Values that do not fit, where these are no errors; they are taken as missing.
    misfits: Option<Vec<BadValue>>,
}

impl ColumnBuilder {
    pub(super) fn new(name: String, plan: Plan) -> Self {
        let form = Form::default();
        Self {
            name,
            state: match plan {
                Plan::Skip => State::LeftOut(LeftOut::NotRead),
                Plan::Look | Plan::Date(None) => State::Looking(Looked::default()),
                Plan::Numeric => State::Typed(Batch::new(Lane::Numbers(form))),
                Plan::Date(Some(order)) => {
                    State::Typed(Batch::new(Lane::Numbers(Form::Date(order))))
                }
                Plan::Levels | Plan::Copy => State::Typed(Batch::new(Lane::Levels)),
            },
            plan,
            form,
            look: LOOK,
            is_kept: false,
            n_rows: 0,
            n_missing: 0,
            because: String::new(),
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
        if let State::Typed(values) = &mut self.state {
            values.set_form(form);
        }
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

    /// Whether its levels may be those of an identifier.
    fn may_be_identifier(&self) -> bool {
        !matches!(self.plan, Plan::Levels | Plan::Copy)
    }

    /// The file itself says the type; it holds unless the user has said otherwise.
    pub(super) fn declare(&mut self, declared: ColumnType) {
        if let State::Looking(looked) = &self.state
            && looked.len() == 0
            && (self.plan == Plan::Look || declared.date().is_some())
        {
            let form = declared.date().map_or(self.form, Form::Date);
            let mut values = Batch::new(match declared.is_number() {
                true => Lane::Numbers(form),
                false => Lane::Levels,
            });
            (0..self.n_rows).for_each(|_| values.push_missing());
            self.state = State::Typed(values);
        }
    }

    /// A value of a further row that does not fit the lane.
    pub(super) fn bad_value(&self, row: usize, misfit: Misfit, value: &[u8]) -> BadValue {
        BadValue {
            row,
            misfit,
            value: shown(value),
            because: self.because.clone(),
            date: match self.lane() {
                Lane::Numbers(form) => form.date(),
                _ => None,
            },
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
        if let State::Typed(values) = &mut self.state {
            values.push_missing();
        }
    }

    pub(super) fn push_text(&mut self, bytes: &[u8]) -> Result<(), BadValue> {
        let row = self.n_rows;
        self.n_rows += 1;
        let taken = match &mut self.state {
            State::LeftOut(_) => return Ok(()),
            _ if has_nul(bytes) => Err(Misfit::Nul),
            State::Looking(looked) => match std::str::from_utf8(bytes) {
                Err(_) => Err(Misfit::NotUtf8),
                Ok(text) => {
                    looked.push(row, text);
                    return self.look_on();
                }
            },
            State::Typed(values) => values.push_text(bytes),
        };
        let Err(misfit) = taken else {
            self.leave_out_identifier();
            return Ok(());
        };
        let bad = self.bad_value(row, misfit, bytes);
        match &mut self.misfits {
            Some(misfits) if misfit == Misfit::NotNumeric => {
                misfits.push(bad);
                self.n_rows = row;
                self.push_missing();
                Ok(())
            }
            _ => Err(bad),
        }
    }

    /// Chooses a type once enough values were looked at.
    fn look_on(&mut self) -> Result<(), BadValue> {
        match &self.state {
            State::Looking(looked) if looked.len() == self.look => {
                if looked.is_open() {
                    // A later date may say which number is the month.
                    self.look *= 2;
                    return Ok(());
                }
                self.choose()
            }
            _ => Ok(()),
        }
    }

    fn leave_out_identifier(&mut self) {
        if let State::Typed(values) = &self.state
            && values.n_levels() > MOST_LEVELS
            && self.may_be_identifier()
        {
            self.state = State::LeftOut(LeftOut::Identifier);
        }
    }

    /// How the values of further rows can be taken all at once.
    pub(super) fn lane(&self) -> Lane {
        match &self.state {
            State::LeftOut(_) => Lane::Count,
            State::Looking(_) => Lane::Look,
            State::Typed(values) => values.lane(),
        }
    }

    /// Bytes of memory that this column takes, with room for so many further rows.
    pub(super) fn bytes_with(&self, rows: usize) -> usize {
        let values = match &self.state {
            State::Typed(values) => values.bytes_with(rows),
            _ => self.looked_bytes(),
        };
        values.saturating_add(size_of::<Self>() + self.name.capacity())
    }

    /// Bytes of memory that the values looked at take.
    pub(super) fn looked_bytes(&self) -> usize {
        match &self.state {
            State::Looking(looked) => looked.bytes(),
            _ => 0,
        }
    }

    /// Makes room for so many further rows.
    pub(super) fn reserve(&mut self, rows: usize) -> Result<(), TryReserveError> {
        match &mut self.state {
            State::Typed(values) => values.reserve(rows),
            _ => Ok(()),
        }
    }

    /// Takes the values of further rows, made for the lane of this column.
    pub(super) fn append(&mut self, batch: Batch) -> Result<(), BadValue> {
        if let (State::Looking(_), BatchValues::Levels(new)) = (&self.state, &batch.values) {
            for code in &new.codes {
                match new.levels.get(*code as usize) {
                    Some(level) => self.push_text(level.as_bytes())?,
                    None => self.push_missing(),
                }
            }
            return Ok(());
        }
        self.n_rows += batch.n_rows;
        self.n_missing += batch.n_missing;
        if let State::Typed(values) = &mut self.state {
            values.append(batch);
            self.leave_out_identifier();
        }
        Ok(())
    }

    /// Whether the numbers from row `first` on are 0, 1, 2, …
    pub(super) fn counts_up_from(&self, first: usize) -> bool {
        match &self.state {
            State::Typed(values) => values.numbers().is_some_and(|numbers| {
                let mut numbered = numbers[first..].iter().enumerate();
                numbered.all(|(i, number)| *number == i as f64)
            }),
            State::Looking(looked) => {
                let texts = looked.texts().filter(|(row, _)| *row >= first);
                let numbers = texts.map(|(_, text)| self.form.parse(text.as_bytes()));
                numbers
                    .enumerate()
                    .all(|(i, number)| number == Some(i as f64))
            }
            State::LeftOut(_) => false,
        }
    }

    /// A number from a typed file; NaN is missing.
    pub(super) fn push_number(&mut self, number: f64) -> Result<(), BadValue> {
        if number.is_nan() {
            self.push_missing();
            return Ok(());
        }
        match number.is_finite() {
            true => self.push_typed(number, || number.to_string()),
            false => self.push_text(number.to_string().as_bytes()),
        }
    }

    /// A whole number from a typed file, exact as text.
    pub(super) fn push_integer(&mut self, number: i128) -> Result<(), BadValue> {
        // No machine has an instruction for 128 bits.
        let float = i64::try_from(number).map_or(number as f64, |n| n as f64);
        self.push_typed(float, || number.to_string())
    }

    /// A date from a typed file: days since 1970-01-01 and nanoseconds from the start of that day.
    pub(super) fn push_date(&mut self, days: i64, nanos: i64) -> Result<(), BadValue> {
        let number = date::number(days, nanos);
        self.push_typed(number, || date_text(number))
    }

    /// A number, or its text for a column that is not numeric.
    fn push_typed(&mut self, number: f64, text: impl FnOnce() -> String) -> Result<(), BadValue> {
        if let State::Typed(values) = &mut self.state
            && values.push_number(number)
        {
            self.n_rows += 1;
            return Ok(());
        }
        self.push_text(text().as_bytes())
    }

    /// Chooses a type for the values that were looked at, and takes them again.
    fn choose(&mut self) -> Result<(), BadValue> {
        let State::Looking(looked) = &mut self.state else {
            return Ok(());
        };
        let looked = std::mem::take(looked);
        let must_be_date = matches!(self.plan, Plan::Date(_));
        let found = looked.found(&self.name, self.form, must_be_date);
        self.state = State::Typed(Batch::new(found.lane));
        self.because = found.because;
        self.notice = found.notice;
        let n_rows = std::mem::take(&mut self.n_rows);
        self.n_missing = 0;
        for (row, text) in looked.texts() {
            (self.n_rows..row).for_each(|_| self.push_missing());
            self.push_text(text.as_bytes())?;
        }
        (self.n_rows..n_rows).for_each(|_| self.push_missing());
        Ok(())
    }

    /// The column; numbers equal to one of `missing` are missing.
    pub(super) fn finish(mut self, missing: &[f64]) -> Result<(Column, Option<Notice>), BadValue> {
        self.choose()?;
        let may_be_identifier = self.may_be_identifier();
        let mut column = match self.state {
            State::LeftOut(reason) => Column {
                n_missing: self.n_missing,
                ..Column::left_out(&self.name, reason)
            },
            State::Typed(values) => values.into_column(&self.name, missing),
            State::Looking(_) => Column::left_out(&self.name, LeftOut::AllMissing),
        };
        let n_present = self.n_rows - column.n_missing;
        let is_unique = |(_, levels): (&[u32], &[String])| {
            n_present >= FEW_ROWS && levels.len() as f64 >= NEARLY_UNIQUE * n_present as f64
        };
        let reason = match column.values {
            Values::LeftOut(_) => None,
            _ if self.plan == Plan::Look && n_present == 0 => Some(LeftOut::AllMissing),
            _ => (may_be_identifier && column.categorical().is_some_and(is_unique))
                .then_some(LeftOut::Identifier),
        };
        if let Some(reason) = reason {
            column.values = Values::LeftOut(reason);
            column.date = None;
        }
        let notice = match &column.values {
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
        Ok((column, notice))
    }
}

/// A value as an error shows it.
pub(super) fn shown(bytes: &[u8]) -> String {
    // Enough for the longest that is shown, whatever its characters.
    let start = &bytes[..bytes.len().min(400)];
    shorten(&String::from_utf8_lossy(start))
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
            Err(bad) => assert_eq!((bad.row, bad.value.as_str()), (150, "unknown")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_after_the_look_is_an_error_too() {
        let mut texts = vec!["5"; LOOK + 10];
        texts[LOOK + 5] = "x";
        match read(Plan::Look, &texts) {
            Err(bad) => assert_eq!((bad.row, bad.misfit), (LOOK + 5, Misfit::NotNumeric)),
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
}
