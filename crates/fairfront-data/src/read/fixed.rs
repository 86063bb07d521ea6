//! Tables of records that arrive in batches. The first batch defines the type of each column, and later
//! batches must have the same types. A row that does not fit is rejected with a reason and is never an
//! error.

use std::collections::BTreeMap;

use fairfront_core::{Message, grouped, say};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::column::{ColumnBuilder, shown};
use super::form::{Decimal, Form};
use super::header::match_columns;
use super::lane::{BadValue, Batch, Lane};
use super::raw::RawRecord;
use super::{MissingValues, Plan, ReadOptions};
use crate::date::DateOrder;
use crate::error::{Error, Place};
use crate::identifier;
use crate::table::{Column, ColumnType, Diagnostic, LeftOut, SourceFile, Table, Values};

/// The type of a column, fixed by the first batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FixedType {
    /// Numbers; a row with anything else is rejected.
    Numeric,
    /// Categories; later batches may add new ones.
    Categorical,
    /// Dates in this order; a row with anything else is rejected.
    Date(DateOrder),
    /// Left out, whatever its values.
    LeftOut(LeftOut),
}

/// A column with its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub fixed: FixedType,
}

/// The columns of a stream, as defined by its first batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnTypes {
    /// The input of the first batch.
    pub source: String,
    /// All columns in order, including those left out.
    pub columns: Vec<TypedColumn>,
    /// Strings that stand for a missing value, in addition to the empty string.
    pub missing_values: Vec<String>,
    /// The form of numbers.
    #[serde(default, skip_serializing_if = "Decimal::is_point")]
    pub decimal: Decimal,
}

/// A record or row that cannot be used, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// Position among the given records or rows, from 0.
    pub index: usize,
    /// The problem and the remedy.
    pub reason: Message,
}

/// The rows of a batch that fit, as a table.
#[derive(Debug, Clone)]
pub struct Arrived {
    /// The rows that fit; the columns are those of the first batch, in the same order.
    pub table: Table,
    /// The position of each row among the given records or rows.
    pub accepted: Vec<usize>,
    /// Those that do not fit, in increasing order.
    pub rejected: Vec<Rejected>,
}

/// The fields of valid records, and the problems of the others.
struct Sorted<'a> {
    /// Index and fields.
    sound: Vec<(usize, &'a [String])>,
    /// Reasons by index.
    bad: BTreeMap<usize, Message>,
}

impl<'a> Sorted<'a> {
    fn new(records: &'a [RawRecord], n_columns: usize) -> Self {
        let mut sorted = Self {
            sound: Vec::with_capacity(records.len()),
            bad: BTreeMap::new(),
        };
        for (index, record) in records.iter().enumerate() {
            match &record.fields {
                Ok(fields) if fields.len() == n_columns => sorted.sound.push((index, fields)),
                Ok(fields) => {
                    let found = fields.len();
                    let reason = format!("expected {n_columns} fields, found {found}");
                    sorted.bad.insert(index, reason.into());
                }
                Err(bad) => {
                    sorted.bad.insert(index, bad.reason.clone());
                }
            }
        }
        sorted
    }

    /// Rejects the records at these positions among the valid ones. If a record has several reasons, the
    /// first counts.
    fn reject(&mut self, misfits: impl IntoIterator<Item = (usize, Message)>) {
        for (position, reason) in misfits {
            let index = self.sound[position].0;
            self.bad.entry(index).or_insert(reason);
        }
        self.sound
            .retain(|(index, _)| !self.bad.contains_key(index));
    }

    /// The valid records, which have these columns.
    fn arrived(self, name: &str, columns: Vec<Column>, diagnostics: Vec<Diagnostic>) -> Arrived {
        let source = SourceFile {
            name: name.into(),
            first_row: 0,
        };
        let rejected = |(index, reason)| Rejected { index, reason };
        Arrived {
            table: Table::from_parts(columns, self.sound.len(), vec![source], diagnostics),
            accepted: self.sound.iter().map(|(index, _)| *index).collect(),
            rejected: self.bad.into_iter().map(rejected).collect(),
        }
    }
}

/// The table of the first records of a stream, and the types that later records must have. Types are
/// inferred as in [`read_table`](crate::read_table), except those set in `options` and, after them, those
/// that the file format declares (`declared`). Records whose values do not fit the types are rejected.
pub fn first_table(
    name: &str,
    columns: &[String],
    records: &[RawRecord],
    options: &ReadOptions,
    declared: &BTreeMap<String, ColumnType>,
) -> Result<(Arrived, ColumnTypes), Error> {
    let missing = MissingValues::new(&options.missing_values);
    let decimal = options.decimal.unwrap_or_default();
    let form = lenient(decimal);
    let mut sorted = Sorted::new(records, columns.len());
    let read = |(field, column): (usize, &String)| {
        let mut builder = ColumnBuilder::lenient(column.clone(), options.plan(column));
        builder.set_form(form);
        if let Some(declared) = declared.get(column) {
            builder.declare(*declared);
        }
        push(&mut builder, &sorted, field, &missing);
        builder
    };
    let mut builders: Vec<ColumnBuilder> = columns.par_iter().enumerate().map(read).collect();
    let mut misfits = Vec::new();
    for builder in &mut builders {
        let column = builder.name.clone();
        let found = builder.take_misfits().unwrap_or_default();
        misfits.extend(found.into_iter().map(|bad| reason(name, &column, bad)));
    }
    let index_column = (options.header && options.columns.is_none())
        .then(|| builders.first())
        .flatten()
        .is_some_and(|b| b.name == "column_1" && !b.is_skipped() && b.counts_up_from(0));
    if index_column {
        builders[0].leave_out(LeftOut::PandasIndex);
    }
    // A lenient builder accepts every value.
    let finished = builders.into_iter().map(|b| b.finish(&missing.numbers));
    let (mut columns, diagnostics): (Vec<Column>, Vec<Option<Diagnostic>>) =
        finished.filter_map(Result::ok).unzip();
    if !misfits.is_empty() {
        // Read again without the rows that do not fit, with the types that were found.
        sorted.reject(misfits);
        let again = columns.par_iter().enumerate().map(|(field, column)| {
            let typed = TypedColumn::of(column);
            typed.read(&sorted, field, form, &missing).0
        });
        columns = again.collect();
    }
    if sorted.sound.is_empty() {
        return Err(match sorted.bad.first_key_value() {
            None => Error::NoRows {
                file: name.into(),
                reason: "it has no rows",
            },
            Some((_, reason)) => Error::NoRowsLeft(say![
                format!(
                    "{name}: all {} rows of the first batch are rejected, the first because: ",
                    grouped(sorted.bad.len())
                ),
                reason
            ]),
        });
    }
    let is_free = |name: &str| options.plan(name) == Plan::Look && !options.keep.contains(name);
    let found = identifier::leave_out(&mut columns, is_free);
    let diagnostics = diagnostics.into_iter().flatten().chain(found).collect();
    let types = ColumnTypes {
        source: name.into(),
        columns: columns.iter().map(TypedColumn::of).collect(),
        missing_values: options.missing_values.clone(),
        decimal,
    };
    Ok((sorted.arrived(name, columns, diagnostics), types))
}

/// The table of later records of a stream, with the types of its first batch. The columns may be in a
/// different order. Records whose values do not fit are rejected.
pub fn next_table(
    name: &str,
    columns: &[String],
    records: &[RawRecord],
    types: &ColumnTypes,
) -> Result<Arrived, Error> {
    let fields = types.fields(name, columns)?;
    let typed: Vec<(&TypedColumn, usize)> = types.columns.iter().zip(fields).collect();
    let missing = MissingValues::new(&types.missing_values);
    let form = lenient(types.decimal);
    let mut sorted = Sorted::new(records, columns.len());
    let read = |sorted: &Sorted| -> (Vec<Column>, Vec<Vec<(usize, Message)>>) {
        let columns = typed.par_iter();
        let columns = columns.map(|(column, field)| column.read(sorted, *field, form, &missing));
        columns.unzip()
    };
    let (mut columns, misfits) = read(&sorted);
    if misfits.iter().any(|found| !found.is_empty()) {
        sorted.reject(misfits.into_iter().flatten());
        columns = read(&sorted).0;
    }
    Ok(sorted.arrived(name, columns, Vec::new()))
}

impl TypedColumn {
    fn of(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            fixed: FixedType::of(column),
        }
    }

    /// Reads one field of all valid records as a column, and returns the positions and reasons of values
    /// that do not fit.
    fn read(
        &self,
        sorted: &Sorted,
        field: usize,
        form: Form,
        missing: &MissingValues,
    ) -> (Column, Vec<(usize, Message)>) {
        if let FixedType::LeftOut(reason) = self.fixed {
            return (Column::left_out(&self.name, reason), Vec::new());
        }
        let mut values = Batch::new(self.fixed.lane(form));
        let mut misfits = Vec::new();
        for (position, (_, fields)) in sorted.sound.iter().enumerate() {
            let text = fields[field].as_bytes();
            if let Err(misfit) = values.push_field(text, missing) {
                let date = self.fixed.date();
                let problem = misfit.problem(&shown(text), date, "since the first batch");
                let reason = format!("column {:?}: {problem}", self.name);
                misfits.push((position, reason.into()));
            }
        }
        (values.into_column(&self.name, &missing.numbers), misfits)
    }
}

/// The field of each column of a stream in an input whose columns may be in a different order. `first` is
/// the name that messages use for the input that defined the columns.
pub fn column_order(
    file: &str,
    first: &str,
    columns: &[String],
    names: &[String],
) -> Result<Vec<usize>, Error> {
    let known: Vec<&str> = columns.iter().map(String::as_str).collect();
    let places = match_columns(&known, names).map_err(|difference| Error::ColumnsDiffer {
        file: file.into(),
        first: first.into(),
        difference,
    })?;
    let mut fields = vec![0; known.len()];
    for (field, place) in places.into_iter().enumerate() {
        fields[place] = field;
    }
    Ok(fields)
}

impl ColumnTypes {
    /// The field of each column in an input with these columns.
    fn fields(&self, file: &str, names: &[String]) -> Result<Vec<usize>, Error> {
        let known: Vec<String> = self.columns.iter().map(|c| c.name.clone()).collect();
        column_order(file, &self.source, &known, names)
    }
}

/// Rows of a stream may come from several inputs, some of them with decimal points.
fn lenient(decimal: Decimal) -> Form {
    match decimal {
        Decimal::Point => Form::Number(decimal),
        Decimal::Comma => Form::EitherNumber,
    }
}

impl From<ColumnType> for FixedType {
    fn from(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::Numeric => Self::Numeric,
            ColumnType::Boolean | ColumnType::Categorical => Self::Categorical,
            date => Self::Date(date.date().unwrap_or(DateOrder::Ymd)),
        }
    }
}

impl FixedType {
    /// The lane for values, with numbers in this form.
    pub(super) fn lane(self, form: Form) -> Lane {
        match self {
            Self::Numeric => Lane::Numbers(form),
            Self::Date(order) => Lane::Numbers(Form::Date(order)),
            Self::Categorical => Lane::Categories,
            Self::LeftOut(_) => Lane::Count,
        }
    }

    /// The order of dates.
    pub(crate) fn date(self) -> Option<DateOrder> {
        match self {
            Self::Date(order) => Some(order),
            _ => None,
        }
    }

    pub(crate) fn of(column: &Column) -> Self {
        match &column.values {
            Values::Numeric(_) => column.date.map_or(Self::Numeric, Self::Date),
            Values::Categorical { .. } => Self::Categorical,
            Values::LeftOut(reason) => Self::LeftOut(*reason),
        }
    }
}

/// Adds a field of all valid records to a column that accepts all of them.
fn push(builder: &mut ColumnBuilder, sorted: &Sorted, field: usize, missing: &MissingValues) {
    if builder.is_skipped() {
        return;
    }
    for (_, fields) in &sorted.sound {
        let text = fields[field].as_bytes();
        if missing.contains(text) || builder.push_text(text).is_err() {
            builder.push_missing();
        }
    }
}

/// Position and reason of a value that does not fit.
fn reason(file: &str, column: &str, bad: BadValue) -> (usize, Message) {
    let place = Place {
        file: file.into(),
        row: bad.row + 1,
        line: None,
    };
    (
        bad.row,
        bad.into_error(place, column.into()).without_place(),
    )
}
