//! The values of columns in a run of rows, made independently of the columns themselves.

use std::collections::TryReserveError;

use fairfront_core::say;
use memchr::memchr;

use super::MissingValues;
use super::batch::Strings;
use super::form::Form;
use crate::date::DateOrder;
use crate::error::{Error, Place};
use crate::pack::ColumnSpool;
use crate::setting::{MISSING_VALUE, TYPE};
use crate::table::{Column, Interner, LeftOut, MISSING};

/// How a column takes the values of many rows at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Only missing values are counted.
    Count,
    /// The type is not chosen yet; values are passed on as strings, one by one.
    Look,
    Numbers(Form),
    Categories,
    /// Unchanged strings, for rows that are only passed on.
    Strings,
}

/// The values of one column in a run of rows, made independently of the column itself.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) n_rows: usize,
    pub(super) n_missing: usize,
    pub(super) values: BatchValues,
}

#[derive(Debug)]
pub(super) enum BatchValues {
    Count,
    Numbers(Vec<f64>, Form),
    Categories(Interner),
    Strings(Strings),
}

/// The reason why a value does not fit its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    NotNumeric,
    NotUtf8,
    /// A string with a NUL byte.
    Nul,
}

/// An invalid value.
#[derive(Debug)]
pub(super) struct BadValue {
    /// Its row, over all files.
    pub(super) row: usize,
    pub(super) misfit: Misfit,
    /// The value as shown in an error.
    pub(super) value: String,
    /// The reason why the column must contain numbers or dates.
    pub(super) because: String,
    /// The order of dates, if the value should be a date.
    pub(super) date: Option<DateOrder>,
}

/// The capacity for this many further values: 1.5 times the current one if the values have to move.
fn grown<T>(values: &Vec<T>, more: usize) -> usize {
    let (len, capacity) = (values.len(), values.capacity());
    match more <= capacity - len {
        true => capacity,
        false => len.saturating_add(more.max(len / 2)),
    }
}

fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<(), TryReserveError> {
    values.try_reserve_exact(grown(values, more) - values.len())
}

impl Batch {
    pub(super) fn new(lane: Lane) -> Self {
        Self {
            n_rows: 0,
            n_missing: 0,
            values: match lane {
                Lane::Count => BatchValues::Count,
                Lane::Numbers(form) => BatchValues::Numbers(Vec::new(), form),
                Lane::Look | Lane::Categories => BatchValues::Categories(Interner::default()),
                Lane::Strings => BatchValues::Strings(Strings::default()),
            },
        }
    }

    /// The lane of these values.
    pub(super) fn lane(&self) -> Lane {
        match &self.values {
            BatchValues::Count => Lane::Count,
            BatchValues::Numbers(_, form) => Lane::Numbers(*form),
            BatchValues::Categories(_) => Lane::Categories,
            BatchValues::Strings(_) => Lane::Strings,
        }
    }

    /// Sets the form of the following numbers, unless they are dates.
    pub(super) fn set_form(&mut self, form: Form) {
        if let BatchValues::Numbers(_, own) = &mut self.values
            && own.date().is_none()
        {
            *own = form;
        }
    }

    /// The numbers of a lane of numbers.
    pub(super) fn numbers(&self) -> Option<&[f64]> {
        match &self.values {
            BatchValues::Numbers(numbers, _) => Some(numbers),
            _ => None,
        }
    }

    /// Number of distinct categories.
    pub(super) fn n_categories(&self) -> usize {
        match &self.values {
            BatchValues::Categories(interner) => interner.categories.len(),
            _ => 0,
        }
    }

    pub(super) fn push_missing(&mut self) {
        self.n_rows += 1;
        self.n_missing += 1;
        match &mut self.values {
            BatchValues::Count => {}
            BatchValues::Numbers(numbers, _) => numbers.push(f64::NAN),
            BatchValues::Categories(interner) => interner.codes.push(MISSING),
            BatchValues::Strings(strings) => strings.push(""),
        }
    }

    /// Adds a number, if this is a lane of numbers.
    pub(super) fn push_number(&mut self, number: f64) -> bool {
        let BatchValues::Numbers(numbers, _) = &mut self.values else {
            return false;
        };
        numbers.push(number);
        self.n_rows += 1;
        true
    }

    pub(super) fn push_text(&mut self, text: &[u8]) -> Result<(), Misfit> {
        match &mut self.values {
            BatchValues::Count => {}
            BatchValues::Numbers(numbers, form) => {
                numbers.push(form.parse(text).ok_or(Misfit::NotNumeric)?);
            }
            BatchValues::Categories(interner) => {
                interner.push(text).map_err(|_| Misfit::NotUtf8)?;
            }
            BatchValues::Strings(strings) => {
                strings.push(std::str::from_utf8(text).map_err(|_| Misfit::NotUtf8)?);
            }
        }
        self.n_rows += 1;
        Ok(())
    }

    /// Adds a field, which may stand for a missing value.
    pub(super) fn push_field(
        &mut self,
        text: &[u8],
        missing: &MissingValues,
    ) -> Result<(), Misfit> {
        let is_copied = matches!(self.values, BatchValues::Strings(_));
        if !is_copied && missing.contains(text) {
            self.push_missing();
            return Ok(());
        }
        self.push_text(text)
    }

    /// Appends the values of later rows, which must have the same lane.
    pub(super) fn append(&mut self, other: Self) {
        self.n_rows += other.n_rows;
        self.n_missing += other.n_missing;
        match (&mut self.values, other.values) {
            (BatchValues::Numbers(numbers, _), BatchValues::Numbers(new, _)) => {
                numbers.extend_from_slice(&new);
            }
            (BatchValues::Categories(interner), BatchValues::Categories(new)) => {
                let mut code_of = Vec::with_capacity(new.categories.len());
                for category in &new.categories {
                    // The categories of a batch are already UTF-8.
                    code_of.push(interner.code(category.as_bytes()).unwrap_or(MISSING));
                }
                let code = |c: &u32| code_of.get(*c as usize).copied().unwrap_or(MISSING);
                interner.codes.extend(new.codes.iter().map(code));
            }
            _ => debug_assert!(false, "a wrong lane"),
        }
    }

    /// Moves values to a temporary file once they fill a chunk; `all` also moves the rest.
    pub(super) fn spool(&mut self, spool: &mut ColumnSpool, all: bool) {
        match &mut self.values {
            BatchValues::Numbers(numbers, form) if all || numbers.len() >= spool.chunk_rows() => {
                spool.take_numbers(numbers, form.date().is_some(), all);
            }
            BatchValues::Categories(interner)
                if all || interner.codes.len() >= spool.chunk_rows() =>
            {
                spool.take_codes(&mut interner.codes, all);
            }
            _ => {}
        }
    }

    /// Approximate memory of these values, in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes_with(0)
    }

    /// Memory of these values in bytes, with room for this many further rows.
    pub(super) fn bytes_with(&self, rows: usize) -> usize {
        match &self.values {
            BatchValues::Count => 0,
            BatchValues::Numbers(numbers, _) => {
                grown(numbers, rows).saturating_mul(size_of::<f64>())
            }
            BatchValues::Categories(interner) => {
                let codes = grown(&interner.codes, rows).saturating_mul(size_of::<u32>());
                codes.saturating_add(interner.category_bytes())
            }
            BatchValues::Strings(strings) => strings.bytes(),
        }
    }

    /// Makes room for this many further rows.
    pub(super) fn reserve(&mut self, rows: usize) -> Result<(), TryReserveError> {
        match &mut self.values {
            BatchValues::Numbers(numbers, _) => reserve(numbers, rows),
            BatchValues::Categories(interner) => reserve(&mut interner.codes, rows),
            BatchValues::Count | BatchValues::Strings(_) => Ok(()),
        }
    }

    /// A column of only these values; numbers equal to one of `missing` are missing.
    pub(super) fn into_column(self, name: &str, missing: &[f64]) -> Column {
        match self.values {
            BatchValues::Numbers(mut numbers, form) => {
                // Numbers that stand for missing values do not apply to dates.
                if !missing.is_empty() && form.date().is_none() {
                    let listed = numbers.iter_mut().filter(|v| missing.contains(v));
                    listed.for_each(|v| *v = f64::NAN);
                }
                Column::from_numbers(name, numbers).dated(form.date())
            }
            BatchValues::Categories(interner) => interner.into_column(name.into()),
            BatchValues::Count | BatchValues::Strings(_) => {
                Column::left_out(name, LeftOut::NotRead)
            }
        }
    }

    /// The strings of a lane of strings.
    pub(super) fn into_strings(self) -> Strings {
        match self.values {
            BatchValues::Strings(strings) => strings,
            _ => Strings::default(),
        }
    }
}

impl BadValue {
    /// The error for the value at this place.
    pub(super) fn into_error(self, place: Place, column: String) -> Error {
        let Self { value, because, .. } = &self;
        let problem = match (self.misfit, self.date) {
            (Misfit::NotNumeric, None) => {
                let mut problem = say![
                    "{value:?} is not a number, but the column is numeric{because}";
                    "fix the value";
                    "pass ", MISSING_VALUE.is(value), " if it stands for a missing value"
                ];
                // The user can override an inferred type.
                if !because.is_empty() {
                    problem.push_remedy(say!["pass ", TYPE.of(&column).is("categorical")]);
                }
                problem
            }
            (Misfit::NotNumeric, Some(order)) => say![
                "{value:?} is not a date ({order}), but the column contains dates{because}";
                "fix the value";
                "pass ", MISSING_VALUE.is(value), " if it stands for a missing value";
                TYPE.of(&column).is("TYPE"), " to choose another type (date-dmy: day first, date-mdy: \
                 month first, categorical)"
            ],
            _ => self.problem().into(),
        };
        Error::Cell {
            place,
            column,
            problem,
        }
    }

    /// The problem, for a column whose type is fixed.
    pub(super) fn problem(&self) -> String {
        self.misfit.problem(&self.value, self.date, "in the model")
    }
}

impl Misfit {
    /// The problem with a value; `here` tells how it is known that the column contains numbers or dates.
    pub(super) fn problem(self, value: &str, date: Option<DateOrder>, here: &str) -> String {
        match (self, date) {
            (Self::NotNumeric, Some(order)) => format!(
                "{value:?} is not a date ({order}), but the column contains dates {here}; fix the \
                 value, or leave it empty if it is missing"
            ),
            (Self::NotNumeric, None) => format!(
                "{value:?} is not a number, but the column is numeric {here}; fix the value, or leave \
                 it empty if it is missing"
            ),
            (Self::NotUtf8, _) => {
                format!("the value is not UTF-8 ({value:?}); save the file as UTF-8")
            }
            (Self::Nul, _) => NUL.into(),
        }
    }
}

/// Whether there is a NUL byte, which many programs treat as the end of a string.
pub(super) fn has_nul(bytes: &[u8]) -> bool {
    memchr(0, bytes).is_some()
}

/// The message for a NUL byte.
const NUL: &str = "the value contains a NUL byte; remove it";

/// The error for a field with a NUL byte.
pub(super) fn nul_in(place: Place, column: &str) -> Error {
    Error::Cell {
        place,
        column: column.into(),
        problem: NUL.into(),
    }
}
