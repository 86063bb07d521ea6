//! Builds one column while it is read.

use std::collections::TryReserveError;

use fairfront_core::say;

use super::form::Form;
use super::lane::{BadValue, Batch, BatchValues, Lane, Misfit, has_nul};
use super::look::{LOOK, Looked, MOST_LOOK};
use crate::date::{self, DateOrder, date_text};
use crate::error::{Error, shorten};
use crate::identifier::{FEW_ROWS, NEARLY_UNIQUE};
use crate::pack::{ColumnSpool, SpoolFile};
use crate::setting::TYPE;
use crate::table::{Column, ColumnType, Diagnostic, LeftOut, Values};

/// A string column with more values than this is an identifier, unless its type is set.
const MOST_CATEGORIES: usize = 1_000;

/// How to read a column, from the user's settings or its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Do not read it.
    Skip,
    /// Infer the type from the values.
    Look,
    /// Numbers if more than two are different, otherwise categories, in any number.
    Target,
    /// Numbers; anything else is an error.
    Numeric,
    /// Dates, in this order or in an inferred one; anything else is an error.
    Date(Option<DateOrder>),
    /// Categories, in any number.
    Categories,
    /// Categories, each string unchanged, even those that stand for missing values.
    Copy,
}

#[derive(Debug)]
enum State {
    LeftOut(LeftOut),
    Looking(Looked),
    /// Numbers, dates or categories.
    Typed(Batch),
}

#[derive(Debug)]
pub(super) struct ColumnBuilder {
    pub(super) name: String,
    state: State,
    plan: Plan,
    /// The form of the numbers in the current file.
    form: Form,
    /// The number of values to examine before a type is chosen.
    look: usize,
    /// Whether it is kept even if it looks like an identifier.
    is_kept: bool,
    n_rows: usize,
    n_missing: usize,
    /// The reason why its values must be numbers or dates.
    because: String,
    diagnostic: Option<Diagnostic>,
    /// Values that do not fit, if they are not errors; they count as missing.
    misfits: Option<Vec<BadValue>>,
    /// The file that values move to, if the table does not stay in memory.
    spool: Option<ColumnSpool>,
}

impl ColumnBuilder {
    pub(super) fn new(name: String, plan: Plan) -> Self {
        let form = Form::default();
        Self {
            name,
            state: match plan {
                Plan::Skip => State::LeftOut(LeftOut::NotRead),
                Plan::Look | Plan::Target | Plan::Date(None) => State::Looking(Looked::default()),
                Plan::Numeric => State::Typed(Batch::new(Lane::Numbers(form))),
                Plan::Date(Some(order)) => {
                    State::Typed(Batch::new(Lane::Numbers(Form::Date(order))))
                }
                Plan::Categories | Plan::Copy => State::Typed(Batch::new(Lane::Categories)),
            },
            plan,
            form,
            look: LOOK,
            is_kept: false,
            n_rows: 0,
            n_missing: 0,
            because: String::new(),
            diagnostic: None,
            misfits: None,
            spool: None,
        }
    }

    /// Makes the column treat a value that does not fit as missing and remember it.
    pub(super) fn lenient(name: String, plan: Plan) -> Self {
        Self {
            misfits: Some(Vec::new()),
            ..Self::new(name, plan)
        }
    }

    /// Makes the column stay even if its numbers look like identifiers.
    pub(super) fn kept(self) -> Self {
        Self {
            is_kept: true,
            ..self
        }
    }

    /// Makes the values move to a file.
    pub(super) fn spooled(mut self, file: &SpoolFile, missing: &[f64]) -> Self {
        if !self.is_skipped() {
            self.spool = Some(ColumnSpool::new(file, missing, self.is_free()));
        }
        self
    }

    /// The error of the file that values move to, if it failed.
    pub(super) fn spool_error(&mut self) -> Option<Error> {
        self.spool.as_mut().and_then(ColumnSpool::take_error)
    }

    /// Moves values to the file, if there is one and they fill a chunk.
    fn drain(&mut self) {
        if let (Some(spool), State::Typed(values)) = (&mut self.spool, &mut self.state) {
            values.spool(spool, false);
        }
    }

    /// Sets the form of the following numbers.
    pub(super) fn set_form(&mut self, form: Form) {
        self.form = form;
        if let State::Typed(values) = &mut self.state {
            values.set_form(form);
        }
    }

    /// Whether its type is inferred from the values.
    pub(super) fn is_free(&self) -> bool {
        self.plan == Plan::Look && !self.is_kept
    }

    /// Chooses a type if that is still open, and returns the values that do not fit.
    pub(super) fn take_misfits(&mut self) -> Result<Vec<BadValue>, BadValue> {
        self.choose()?;
        Ok(self
            .misfits
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default())
    }

    /// Whether the reader may skip this column's fields.
    pub(super) fn is_skipped(&self) -> bool {
        self.plan == Plan::Skip
    }

    /// Whether strings are kept unchanged.
    pub(super) fn is_copied(&self) -> bool {
        self.plan == Plan::Copy
    }

    /// Whether its categories may be those of an identifier.
    fn may_be_identifier(&self) -> bool {
        !matches!(self.plan, Plan::Target | Plan::Categories | Plan::Copy)
    }

    /// Sets the type that the file declares, unless the user set a different one.
    pub(super) fn declare(&mut self, declared: ColumnType) {
        if let State::Looking(looked) = &self.state
            && looked.len() == 0
            && match self.plan {
                Plan::Look => true,
                // Whether numbers are categories depends on their values.
                Plan::Target => !declared.is_number(),
                _ => declared.date().is_some(),
            }
        {
            let form = declared.date().map_or(self.form, Form::Date);
            let mut values = Batch::new(match declared.is_number() {
                true => Lane::Numbers(form),
                false => Lane::Categories,
            });
            (0..self.n_rows).for_each(|_| values.push_missing());
            self.state = State::Typed(values);
        }
    }

    /// The error for a value of a later row that does not fit the lane.
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

    /// Leaves the column out because none of it is usable, even with an explicit type.
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
            self.drain();
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
            self.drain();
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

    /// Chooses a type once enough values were examined.
    fn look_on(&mut self) -> Result<(), BadValue> {
        match &self.state {
            State::Looking(looked) if looked.len() == self.look => {
                if looked.is_open() && self.look < MOST_LOOK {
                    // A later date may show which number is the month.
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
            && values.n_categories() > MOST_CATEGORIES
            && self.may_be_identifier()
        {
            self.state = State::LeftOut(LeftOut::Identifier);
        }
    }

    /// The lane for values of later rows that are added all at once.
    pub(super) fn lane(&self) -> Lane {
        match &self.state {
            State::LeftOut(_) => Lane::Count,
            State::Looking(_) => Lane::Look,
            State::Typed(values) => values.lane(),
        }
    }

    /// Memory of this column in bytes, with room for this many further rows.
    pub(super) fn bytes_with(&self, rows: usize) -> usize {
        let values = match &self.state {
            State::Typed(values) => values.bytes_with(self.at_once(rows)),
            _ => self.looked_bytes(),
        };
        values.saturating_add(size_of::<Self>() + self.name.capacity())
    }

    /// The rows among further ones that are in memory at once.
    fn at_once(&self, rows: usize) -> usize {
        let spool = self.spool.as_ref();
        spool.map_or(rows, |spool| rows.min(spool.chunk_rows()))
    }

    /// Memory of the examined values, in bytes.
    pub(super) fn looked_bytes(&self) -> usize {
        match &self.state {
            State::Looking(looked) => looked.bytes(),
            _ => 0,
        }
    }

    /// Makes room for this many further rows.
    pub(super) fn reserve(&mut self, rows: usize) -> Result<(), TryReserveError> {
        let rows = self.at_once(rows);
        match &mut self.state {
            State::Typed(values) => values.reserve(rows),
            _ => Ok(()),
        }
    }

    /// Appends the values of later rows, which were made for the lane of this column.
    pub(super) fn append(&mut self, batch: Batch) -> Result<(), BadValue> {
        if let (State::Looking(_), BatchValues::Categories(new)) = (&self.state, &batch.values) {
            for code in &new.codes {
                match new.categories.get(*code as usize) {
                    Some(category) => self.push_text(category.as_bytes())?,
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
            self.drain();
        }
        Ok(())
    }

    /// Whether the numbers from row `first` on are 0, 1, 2, …
    pub(super) fn counts_up_from(&self, first: usize) -> bool {
        match &self.state {
            State::Typed(values) => values.numbers().is_some_and(|numbers| {
                if let Some(spool) = &self.spool {
                    return spool.counts_up_from(first, numbers);
                }
                let mut numbered = numbers[first..].iter().enumerate();
                numbered.all(|(i, number)| *number == i as f64)
            }),
            State::Looking(looked) => {
                let strings = looked.strings().filter(|(row, _)| *row >= first);
                let numbers = strings.map(|(_, text)| self.form.parse(text.as_bytes()));
                numbers
                    .enumerate()
                    .all(|(i, number)| number == Some(i as f64))
            }
            State::LeftOut(_) => false,
        }
    }

    /// Adds a number from a typed file; NaN is missing.
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

    /// Adds an integer from a typed file; its string form is exact.
    pub(super) fn push_integer(&mut self, number: i128) -> Result<(), BadValue> {
        // No machine has an instruction for 128 bits.
        let float = i64::try_from(number).map_or(number as f64, |n| n as f64);
        self.push_typed(float, || number.to_string())
    }

    /// Adds a date from a typed file: days since 1970-01-01 and nanoseconds from the start of that day.
    pub(super) fn push_date(&mut self, days: i64, nanos: i64) -> Result<(), BadValue> {
        let number = date::number(days, nanos);
        self.push_typed(number, || date_text(number))
    }

    /// Adds a number, or its string form if the column is not numeric.
    fn push_typed(&mut self, number: f64, text: impl FnOnce() -> String) -> Result<(), BadValue> {
        if let State::Typed(values) = &mut self.state
            && values.push_number(number)
        {
            self.n_rows += 1;
            self.drain();
            return Ok(());
        }
        self.push_text(text().as_bytes())
    }

    /// Chooses a type for the examined values, and adds them with this type.
    fn choose(&mut self) -> Result<(), BadValue> {
        let State::Looking(looked) = &mut self.state else {
            return Ok(());
        };
        let looked = std::mem::take(looked);
        let found = match self.plan {
            Plan::Target => looked.found_target(&self.name, self.form),
            Plan::Date(_) => looked.found(&self.name, self.form, true),
            _ => looked.found(&self.name, self.form, false),
        };
        self.state = State::Typed(Batch::new(found.lane));
        self.because = found.because;
        self.diagnostic = found.diagnostic;
        let n_rows = std::mem::take(&mut self.n_rows);
        self.n_missing = 0;
        for (row, text) in looked.strings() {
            (self.n_rows..row).for_each(|_| self.push_missing());
            self.push_text(text.as_bytes())?;
        }
        (self.n_rows..n_rows).for_each(|_| self.push_missing());
        Ok(())
    }

    /// Finishes the column; numbers equal to one of `missing` are missing.
    pub(super) fn finish(self, missing: &[f64]) -> Result<(Column, Option<Diagnostic>), BadValue> {
        let (column, diagnostic, _) = self.finish_spooled(missing)?;
        Ok((column, diagnostic))
    }

    /// The same for a column whose values move to a file. The column has no values then.
    pub(super) fn finish_spooled(
        mut self,
        missing: &[f64],
    ) -> Result<(Column, Option<Diagnostic>, Option<ColumnSpool>), BadValue> {
        self.choose()?;
        if let (Some(spool), State::Typed(values)) = (&mut self.spool, &mut self.state) {
            values.spool(spool, true);
        }
        let may_be_identifier = self.may_be_identifier();
        let mut column = match self.state {
            State::LeftOut(reason) => Column {
                n_missing: self.n_missing,
                ..Column::left_out(&self.name, reason)
            },
            State::Typed(values) => values.into_column(&self.name, missing),
            State::Looking(_) => Column::left_out(&self.name, LeftOut::AllMissing),
        };
        if let (Some(spool), Some(_)) = (&self.spool, column.column_type()) {
            column.n_missing = spool.n_missing();
        }
        let n_present = self.n_rows - column.n_missing;
        let is_unique = |(_, categories): (&[u32], &[String])| {
            n_present >= FEW_ROWS && categories.len() as f64 >= NEARLY_UNIQUE * n_present as f64
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
        let diagnostic = match &column.values {
            Values::LeftOut(LeftOut::NotRead) => None,
            Values::LeftOut(reason @ LeftOut::Identifier) => {
                let name = &self.name;
                Some(Diagnostic::note(say![
                    "column {name:?} is left out: {reason}";
                    "pass ", TYPE.of(name).is("categorical"), " to keep it"
                ]))
            }
            Values::LeftOut(reason) => Some(Diagnostic::note(format!(
                "column {:?} is left out: {reason}",
                self.name
            ))),
            _ => self.diagnostic,
        };
        Ok((column, diagnostic, self.spool))
    }
}

/// A value as shown in an error.
pub(super) fn shown(bytes: &[u8]) -> String {
    // Enough bytes for the longest value shown, whatever its characters.
    let start = &bytes[..bytes.len().min(400)];
    shorten(&String::from_utf8_lossy(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Numbers;

    fn read(plan: Plan, values: &[&str]) -> Result<(Column, Option<Diagnostic>), BadValue> {
        let mut builder = ColumnBuilder::new("c".into(), plan);
        for value in values {
            match *value {
                "" => builder.push_missing(),
                text => builder.push_text(text.as_bytes())?,
            }
        }
        builder.finish(&[])
    }

    fn values(plan: Plan, strings: &[&str]) -> Values {
        read(plan, strings).unwrap().0.values
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
    fn codes_with_leading_zeros_are_categories() {
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
    fn codes_that_are_not_numbers_make_categories_with_a_note() {
        let (column, diagnostic) = read(Plan::Look, &["0", "1", "2", "3+", "1"]).unwrap();
        assert_eq!(column.categorical().unwrap().1, ["0", "1", "2", "3+"]);
        assert!(diagnostic.unwrap().message.to_string().contains("\"3+\""));
    }

    #[test]
    fn string_among_many_numbers_is_an_error_with_its_row() {
        let mut strings: Vec<String> = (0..200).map(|i| i.to_string()).collect();
        strings[150] = "unknown".into();
        let strings: Vec<&str> = strings.iter().map(String::as_str).collect();
        match read(Plan::Look, &strings) {
            Err(bad) => assert_eq!((bad.row, bad.value.as_str()), (150, "unknown")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn string_after_the_examined_values_is_an_error() {
        let mut strings = vec!["5"; LOOK + 10];
        strings[LOOK + 5] = "x";
        match read(Plan::Look, &strings) {
            Err(bad) => assert_eq!((bad.row, bad.misfit), (LOOK + 5, Misfit::NotNumeric)),
            other => panic!("{other:?}"),
        }
        // As a categorical column, the same values are valid.
        assert!(read(Plan::Categories, &strings).is_ok());
    }

    #[test]
    fn identifiers_are_left_out_unless_requested() {
        let strings: Vec<String> = (0..30).map(|i| format!("n{i}")).collect();
        let strings: Vec<&str> = strings.iter().map(String::as_str).collect();
        assert_eq!(
            values(Plan::Look, &strings),
            Values::LeftOut(LeftOut::Identifier)
        );
        assert!(matches!(
            values(Plan::Categories, &strings),
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
    fn empty_column_is_left_out() {
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
