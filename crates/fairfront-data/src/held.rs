//! Batches that arrive as tables. Later batches must have the types of the first, and rows that cannot be
//! prepared yet are held unchanged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::date::DateOrder;
use crate::error::Error;
use crate::read::{ColumnTypes, Decimal, FixedType, TypedColumn, column_order};
use crate::spec::{Role, Spec};
use crate::table::{Column, LeftOut, MISSING, SourceFile, Table};

/// The name that messages use for the table with the expected types.
const FIRST: &str = "the first batch";

impl ColumnTypes {
    /// The types of a first batch that is already a table. Columns that are not used, or that have no
    /// values here, accept any type later.
    pub fn of_table(table: &Table, spec: &Spec) -> Self {
        let typed = |column: &Column| TypedColumn {
            name: column.name.clone(),
            fixed: match type_of(column, table.n_rows()) {
                _ if spec.role(&column.name) == Role::Dropped => {
                    FixedType::LeftOut(LeftOut::NotRead)
                }
                None => FixedType::LeftOut(LeftOut::AllMissing),
                Some(fixed) => fixed,
            },
        };
        Self {
            source: FIRST.into(),
            columns: table.columns().iter().map(typed).collect(),
            missing_values: Vec::new(),
            decimal: Decimal::Point,
        }
    }

    /// A later batch with its columns in the order of the first batch. A column without values fits every
    /// type; a column of a different type is an error.
    pub fn fit_table(&self, table: &Table) -> Result<Table, Error> {
        let names: Vec<String> = self.columns.iter().map(|c| c.name.clone()).collect();
        let order = order(table, &names)?;
        let n = table.n_rows();
        let mut fitted = Vec::with_capacity(names.len());
        for (typed, at) in self.columns.iter().zip(order) {
            let column = &table.columns()[at];
            fitted.push(match (typed.fixed, type_of(column, n)) {
                (FixedType::LeftOut(reason), _) => Column::left_out(&typed.name, reason),
                (wanted, Some(found)) if wanted == found => column.clone(),
                (FixedType::Numeric | FixedType::Date(_), None) => {
                    Column::from_numbers(&typed.name, vec![f64::NAN; n]).dated(typed.fixed.date())
                }
                (FixedType::Categorical, None) => {
                    Column::from_strings(&typed.name, vec![None::<&str>; n])
                }
                (wanted, Some(found)) => {
                    return Err(other_type(&typed.name, found, wanted).in_table(&table.name));
                }
            });
        }
        Ok(of_columns(&table.name, fitted, n))
    }
}

/// Rows of tables with the same columns, kept unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HeldRows {
    n_rows: usize,
    columns: Vec<HeldColumn>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct HeldColumn {
    name: String,
    values: HeldValues,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum HeldValues {
    /// No values so far, so every type fits.
    Nothing,
    Numbers(Vec<Option<f64>>),
    Dates {
        /// Days since 1970-01-01.
        days: Vec<Option<f64>>,
        order: DateOrder,
    },
    Strings {
        /// Positions in `categories`; [`MISSING`] for missing values.
        codes: Vec<u32>,
        categories: Vec<String>,
    },
    LeftOut(LeftOut),
}

impl HeldRows {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Appends the rows of a table. The first table determines the columns and their types. On an error
    /// nothing changes.
    pub fn append(&mut self, table: &Table) -> Result<(), Error> {
        if self.columns.is_empty() {
            let column = |column: &Column| HeldColumn {
                name: column.name.clone(),
                values: HeldValues::Nothing,
            };
            self.columns = table.columns().iter().map(column).collect();
        }
        let names: Vec<String> = self.columns.iter().map(|c| c.name.clone()).collect();
        let order = order(table, &names)?;
        let n = table.n_rows();
        for (held, at) in self.columns.iter().zip(&order) {
            let found = type_of(&table.columns()[*at], n);
            if let (Some(wanted), Some(found)) = (held.values.fixed(), found)
                && wanted != found
            {
                return Err(other_type(&held.name, found, wanted).in_table(&table.name));
            }
        }
        for (held, at) in self.columns.iter_mut().zip(order) {
            held.values.append(self.n_rows, &table.columns()[at], n);
        }
        self.n_rows += n;
        Ok(())
    }

    /// The rows as one table.
    pub fn table(&self, name: &str) -> Table {
        let column = |held: &HeldColumn| match &held.values {
            HeldValues::Nothing => Column::from_numbers(&held.name, vec![f64::NAN; self.n_rows]),
            HeldValues::Numbers(numbers) | HeldValues::Dates { days: numbers, .. } => {
                let numbers = numbers.iter().map(|x| x.unwrap_or(f64::NAN)).collect();
                let date = held.values.fixed().and_then(FixedType::date);
                Column::from_numbers(&held.name, numbers).dated(date)
            }
            HeldValues::Strings { codes, categories } => {
                let strings = codes.iter().map(|code| categories.get(*code as usize));
                Column::from_strings(&held.name, strings)
            }
            HeldValues::LeftOut(reason) => Column::left_out(&held.name, *reason),
        };
        of_columns(name, self.columns.iter().map(column).collect(), self.n_rows)
    }

    /// Whether every column has one value per row, as in data that this program wrote.
    pub fn is_sound(&self) -> bool {
        self.columns.iter().all(|held| match &held.values {
            HeldValues::Nothing | HeldValues::LeftOut(_) => true,
            HeldValues::Numbers(numbers) | HeldValues::Dates { days: numbers, .. } => {
                numbers.len() == self.n_rows
            }
            HeldValues::Strings { codes, .. } => codes.len() == self.n_rows,
        })
    }
}

impl HeldValues {
    /// `None` if every type fits.
    fn fixed(&self) -> Option<FixedType> {
        match self {
            Self::Nothing => None,
            Self::Numbers(_) => Some(FixedType::Numeric),
            Self::Dates { order, .. } => Some(FixedType::Date(*order)),
            Self::Strings { .. } => Some(FixedType::Categorical),
            Self::LeftOut(reason) => Some(FixedType::LeftOut(*reason)),
        }
    }

    /// Appends the `n` values of a column after `before` rows; the types must agree.
    fn append(&mut self, before: usize, column: &Column, n: usize) {
        if let Self::Nothing = self {
            *self = match type_of(column, n) {
                None => return,
                Some(FixedType::Numeric) => Self::Numbers(vec![None; before]),
                Some(FixedType::Date(order)) => Self::Dates {
                    days: vec![None; before],
                    order,
                },
                Some(FixedType::Categorical) => Self::Strings {
                    codes: vec![MISSING; before],
                    categories: Vec::new(),
                },
                Some(FixedType::LeftOut(reason)) => Self::LeftOut(reason),
            };
        }
        match self {
            Self::Nothing | Self::LeftOut(_) => {}
            Self::Numbers(numbers) | Self::Dates { days: numbers, .. } => {
                if let Some(new) = column.numeric() {
                    numbers.extend(new.iter().map(|x| (!x.is_nan()).then_some(x)));
                }
                numbers.resize(before + n, None);
            }
            Self::Strings { codes, categories } => {
                if let Some((new, names)) = column.categorical() {
                    let places = places(categories, names);
                    let place = |code: &u32| places.get(*code as usize).copied();
                    codes.extend(new.iter().map(|code| place(code).unwrap_or(MISSING)));
                }
                codes.resize(before + n, MISSING);
            }
        }
    }
}

/// The positions of these names among the categories, adding new names.
fn places(categories: &mut Vec<String>, names: &[String]) -> Vec<u32> {
    let known = categories.iter().enumerate();
    let mut at: BTreeMap<String, u32> = known.map(|(i, l)| (l.clone(), i as u32)).collect();
    let place = |name: &String| {
        *at.entry(name.clone()).or_insert_with(|| {
            categories.push(name.clone());
            categories.len() as u32 - 1
        })
    };
    names.iter().map(place).collect()
}

/// The type of a column; `None` if it has no values.
fn type_of(column: &Column, n_rows: usize) -> Option<FixedType> {
    match FixedType::of(column) {
        FixedType::LeftOut(LeftOut::AllMissing) => None,
        left_out @ FixedType::LeftOut(_) => Some(left_out),
        _ if column.n_missing == n_rows => None,
        fixed => Some(fixed),
    }
}

/// The position of each of these columns in a table.
fn order(table: &Table, names: &[String]) -> Result<Vec<usize>, Error> {
    let here: Vec<String> = table.columns().iter().map(|c| c.name.clone()).collect();
    column_order(&table.name, FIRST, names, &here)
}

fn other_type(column: &str, found: FixedType, wanted: FixedType) -> Error {
    let of = |fixed: FixedType| match fixed {
        FixedType::Numeric => "numeric".to_owned(),
        FixedType::Date(_) => "a date".into(),
        FixedType::Categorical => "categorical".into(),
        FixedType::LeftOut(reason) => format!("left out ({reason})"),
    };
    Error::column(
        column,
        format!(
            "it is {} here but was {} in {FIRST}; use the same type in every batch",
            of(found),
            of(wanted)
        ),
    )
}

fn of_columns(name: &str, columns: Vec<Column>, n_rows: usize) -> Table {
    let source = SourceFile {
        name: name.into(),
        first_row: 0,
    };
    Table::from_parts(columns, n_rows, vec![source], Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Values;
    use proptest::prelude::*;

    fn table(x: &[Option<f64>], c: &[Option<&str>]) -> Table {
        let x = x.iter().map(|x| x.unwrap_or(f64::NAN)).collect();
        let columns = vec![
            Column::from_numbers("x", x),
            Column::from_strings("c", c.iter().copied()),
        ];
        Table::from_columns("X", columns)
    }

    /// The values of a table, as strings.
    fn values(table: &Table) -> Vec<Vec<Option<String>>> {
        let value = |column: &Column, row: usize| match &column.categorical() {
            Some((codes, categories)) => categories.get(codes[row] as usize).cloned(),
            None => column
                .numeric()
                .map(|x| x.get(row))
                .filter(|x| !x.is_nan())
                .map(|x| x.to_string()),
        };
        let rows = 0..table.n_rows();
        let row = |row| table.columns().iter().map(|c| value(c, row)).collect();
        rows.map(row).collect()
    }

    proptest! {
        #[test]
        fn several_appends_equal_one_append(
            rows in prop::collection::vec(
                (prop::option::of(-9.0f64..9.0), prop::option::of("[abc]")), 1..40),
            cuts in prop::collection::vec(0usize..40, 0..4),
        ) {
            let part = |rows: &[(Option<f64>, Option<String>)]| {
                let x: Vec<_> = rows.iter().map(|r| r.0).collect();
                let c: Vec<_> = rows.iter().map(|r| r.1.as_deref()).collect();
                table(&x, &c)
            };
            let mut ends: Vec<usize> = cuts.into_iter().map(|c| c.min(rows.len())).collect();
            ends.push(rows.len());
            ends.sort_unstable();
            let (mut held, mut from) = (HeldRows::default(), 0);
            for to in ends {
                held.append(&part(&rows[from..to])).unwrap();
                from = to;
            }
            let text = serde_json::to_string(&held).unwrap();
            let again: HeldRows = serde_json::from_str(&text).unwrap();
            prop_assert!(again == held && again.is_sound());
            prop_assert_eq!(values(&held.table("X")), values(&part(&rows)));
        }
    }

    #[test]
    fn later_batches_need_the_columns_and_types_of_the_first() {
        let first = table(&[Some(1.0), None], &[Some("a"), Some("b")]);
        let types = ColumnTypes::of_table(&first, &Spec::default());
        let mut held = HeldRows::default();
        held.append(&first).unwrap();
        let before = held.clone();
        let text = || Column::from_strings("x", [Some("a"), Some("b")]);
        let number = |name: &str| Column::from_numbers(name, vec![1.0, 2.0]);
        let nothing = || Column::from_numbers("c", vec![f64::NAN; 2]);
        let rejected = [
            (
                vec![text(), text_c()],
                "column \"x\": it is categorical here but was numeric",
            ),
            (
                vec![number("x"), number("c")],
                "column \"c\": it is numeric here but was categorical",
            ),
            (
                vec![number("x")],
                "differ from those of the first batch: it does not have \"c\"",
            ),
            (
                vec![number("x"), nothing(), number("z")],
                "it also has \"z\"",
            ),
        ];
        for (columns, message) in rejected {
            let table = Table::from_columns("X", columns);
            let errors = [held.append(&table).err(), types.fit_table(&table).err()];
            for error in errors {
                let error = error.expect("rejected").to_string();
                assert!(error.contains(message), "{error}");
            }
            assert_eq!(held, before);
        }
        // The order of columns does not matter, and a column without values has no type.
        let table = Table::from_columns("X", vec![nothing(), number("x")]);
        let fitted = types.fit_table(&table).unwrap();
        assert_eq!(values(&fitted)[1], [Some("2".to_owned()), None]);
        assert!(fitted.columns()[1].categorical().is_some());
        held.append(&table).unwrap();
        assert_eq!(values(&held.table("X"))[3], [Some("2".to_owned()), None]);
    }

    fn text_c() -> Column {
        Column::from_strings("c", [Some("a"), Some("b")])
    }

    #[test]
    fn unused_columns_may_have_any_type() {
        let spec = Spec {
            drop: vec!["x".into()],
            ..Spec::default()
        };
        let first = table(&[Some(1.0)], &[None]);
        let types = ColumnTypes::of_table(&first, &spec);
        let columns = vec![
            Column::from_strings("x", [Some("a")]),
            Column::from_strings("c", [Some("b")]),
        ];
        let fitted = types.fit_table(&Table::from_columns("X", columns)).unwrap();
        assert_eq!(fitted.n_rows(), 1);
        let left_out = |c: &Column| matches!(c.values, Values::LeftOut(_));
        assert!(fitted.columns().iter().all(left_out));
    }
}
