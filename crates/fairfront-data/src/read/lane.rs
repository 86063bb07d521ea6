//! The values of columns in a run of rows, made apart from the columns themselves.

use fairfront_core::say;
use memchr::memchr;

use super::batch::Texts;
use super::column::BadValue;
use super::form::Form;
use crate::date::DateOrder;
use crate::error::{Error, Place};
use crate::setting::{MISSING_VALUE, TYPE};
use crate::table::{Column, Interner, LeftOut, MISSING};

/// How a column takes the values of many rows at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Only missing values are counted.
    Count,
    /// The type is not chosen yet; values are handed over as texts, one by one.
    Look,
    Numbers(Form),
    Levels,
    /// Texts as they stand, for rows that are only passed on.
    Texts,
}

/// The values of one column in a run of rows, made apart from the column itself.
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
    Levels(Interner),
    Texts(Texts),
}

/// Why a value does not fit its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    NotNumeric,
    NotUtf8,
}

impl Batch {
    pub(super) fn new(lane: Lane) -> Self {
        Self {
            n_rows: 0,
            n_missing: 0,
            values: match lane {
                Lane::Count => BatchValues::Count,
                Lane::Numbers(form) => BatchValues::Numbers(Vec::new(), form),
                Lane::Look | Lane::Levels => BatchValues::Levels(Interner::default()),
                Lane::Texts => BatchValues::Texts(Texts::default()),
            },
        }
    }

    pub(super) fn push_missing(&mut self) {
        self.n_rows += 1;
        self.n_missing += 1;
        match &mut self.values {
            BatchValues::Count => {}
            BatchValues::Numbers(numbers, _) => numbers.push(f64::NAN),
            BatchValues::Levels(interner) => interner.codes.push(MISSING),
            BatchValues::Texts(texts) => texts.push(""),
        }
    }

    pub(super) fn push_text(&mut self, text: &[u8]) -> Result<(), Misfit> {
        self.n_rows += 1;
        match &mut self.values {
            BatchValues::Count => {}
            BatchValues::Numbers(numbers, form) => {
                numbers.push(form.parse(text).ok_or(Misfit::NotNumeric)?);
            }
            BatchValues::Levels(interner) => {
                interner.push(text).map_err(|_| Misfit::NotUtf8)?;
            }
            BatchValues::Texts(texts) => {
                texts.push(std::str::from_utf8(text).map_err(|_| Misfit::NotUtf8)?);
            }
        }
        Ok(())
    }

    /// Bytes of memory that these values take, about.
    pub(super) fn bytes(&self) -> usize {
        let values = match &self.values {
            BatchValues::Count => 0,
            BatchValues::Numbers(numbers, _) => numbers.capacity() * size_of::<f64>(),
            BatchValues::Levels(interner) => {
                interner.codes.capacity() * size_of::<u32>() + interner.level_bytes()
            }
            BatchValues::Texts(texts) => texts.bytes(),
        };
        size_of::<Self>() + values
    }

    /// A column of these values alone; numbers equal to one of `missing` are missing.
    pub(super) fn into_column(self, name: &str, missing: &[f64]) -> Column {
        match self.values {
            BatchValues::Numbers(mut numbers, form) => {
                // Numbers that stand for missing ones are none of the dates.
                if !missing.is_empty() && form.date().is_none() {
                    let listed = numbers.iter_mut().filter(|v| missing.contains(v));
                    listed.for_each(|v| *v = f64::NAN);
                }
                Column::from_numbers(name, numbers).dated(form.date())
            }
            BatchValues::Levels(interner) => interner.into_column(name.into()),
            BatchValues::Count | BatchValues::Texts(_) => Column::left_out(name, LeftOut::NotRead),
        }
    }

    /// The texts of a lane of texts.
    pub(super) fn into_texts(self) -> Texts {
        match self.values {
            BatchValues::Texts(texts) => texts,
            _ => Texts::default(),
        }
    }
}

impl BadValue {
    /// The error for the value at this place.
    pub(super) fn into_error(self, place: Place, column: String) -> Error {
        match self {
            Self::NotNumeric {
                value,
                because,
                date: None,
                ..
            } => Error::NotNumeric {
                place,
                column,
                value,
                because,
            },
            Self::NotNumeric {
                value,
                because,
                date: Some(order),
                ..
            } => {
                let problem = say![
                    "{value:?} is not a date ({order}), but the column holds dates{because}";
                    "correct the value";
                    "pass ", MISSING_VALUE.is(&value), " if it stands for a missing one";
                    TYPE.of(&column).is("TYPE"), " to choose another type (date-dmy: day first, date-mdy: \
                     month first, categorical)"
                ];
                Error::Cell {
                    place,
                    column,
                    problem,
                }
            }
            Self::NotUtf8 { value, .. } => Error::NotUtf8 {
                place,
                column,
                value,
            },
            Self::Nul { .. } => nul_in(place, &column),
        }
    }

    /// The row, and what is wrong where the type of the column is fixed.
    pub(super) fn problem(self) -> (usize, String) {
        match self {
            Self::NotNumeric {
                row, value, date, ..
            } => (row, not_numeric(&value, date, "in the model")),
            Self::NotUtf8 { row, value } => (row, not_utf8(&value)),
            Self::Nul { row } => (row, NUL.into()),
        }
    }
}

/// A text where the model needs a number or a date.
pub(super) fn not_numeric(value: &str, date: Option<DateOrder>, here: &str) -> String {
    if let Some(order) = date {
        return format!(
            "{value:?} is not a date ({order}), but the column holds dates {here}; correct the value, \
             or leave it empty if it is missing"
        );
    }
    format!(
        "{value:?} is not a number, but the column is numeric {here}; fix the value, or leave \
         it empty if it is missing"
    )
}

/// Whether there is a NUL byte, which many programs take for the end of a text.
pub(super) fn has_nul(bytes: &[u8]) -> bool {
    memchr(0, bytes).is_some()
}

/// The remedy for a NUL byte.
pub(super) const NUL: &str = "the text holds a NUL byte; remove it";

/// The error for a field with a NUL byte.
pub(super) fn nul_in(place: Place, column: &str) -> Error {
    Error::Cell {
        place,
        column: column.into(),
        problem: NUL.into(),
    }
}

/// Bytes that are no text.
pub(super) fn not_utf8(value: &str) -> String {
    format!("the text is not UTF-8 ({value:?}); save the file as UTF-8")
}
