//! Matches rows of a file of scores with the audited rows.

use std::collections::BTreeMap;
use std::path::Path;

use fairfront_core::{Message, Name, grouped, say, with};
use fairfront_data::{
    Column, ColumnType, Diagnostic, LeftOut, MISSING, ReadOptions, Table, Values, read_table,
};

use super::rows::{cell, read_rows};
use super::{AuditRequest, AuditSource, MatchedBy};
use crate::Error;
use crate::setting::KEY;

/// Numbers of two files are equal if they differ by less than this share, as if one file had rounded them.
const ROUNDING: f64 = 1e-6;

/// The rows and the scores.
#[expect(clippy::struct_field_names, reason = "the name of the entry in JSON")]
pub(crate) struct Matched {
    pub(super) table: Table,
    /// The table with the column of scores or decisions.
    pub(crate) of_scores: Table,
    /// The row of the scores of each row; `None` if it is the same.
    places: Option<Vec<u32>>,
    pub(super) matched_by: MatchedBy,
    /// Columns of both files with equal values.
    pub(crate) agreeing: Vec<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Matched {
    /// The row of the scores that belongs to a row.
    pub(super) fn row(&self, row: usize) -> usize {
        self.places
            .as_ref()
            .map_or(row, |places| places[row] as usize)
    }
}

/// Reads the rows and the file of scores, and matches them.
pub(super) fn matched(
    request: &AuditRequest,
    options: &mut ReadOptions,
    needed: Vec<String>,
) -> Result<Matched, Error> {
    let AuditSource::Column { file, column } = &request.source else {
        let table = read_rows(request, options, needed)?;
        return Ok(Matched::same(table));
    };
    // Scores are numbers; decisions keep their values.
    if request.threshold.is_some() || request.options.scoring {
        options.types.insert(column.clone(), ColumnType::Numeric);
    } else if !request.selected.is_empty() {
        options
            .types
            .insert(column.clone(), ColumnType::Categorical);
    }
    options.keep.insert(column.clone());
    let Some(file) = file else {
        if request.key.is_some() {
            return Err(Error::usage(say![
                KEY,
                " matches rows of two files, but the scores are a column of the rows; remove it"
            ]));
        }
        let table = read_rows(request, options, needed)?;
        return Ok(Matched::same(table));
    };
    let path = file.display().to_string();
    if request.files.len() == 1 && is_same(file, &request.files[0]) {
        let table = read_rows(request, options, needed.into_iter().chain([column.clone()]))?;
        return Ok(Matched::same(table));
    }
    let of_scores = with_identifiers(&path, options)?;
    of_scores.require(column, "the scores or decisions")?;
    let shared = of_scores.columns().iter().map(|own| own.name.clone());
    let table = read_rows(request, options, needed.into_iter().chain(shared))?;
    match &request.key {
        Some(key) => by_key(table, of_scores, key),
        None => by_position(table, of_scores, column, Some(KEY)),
    }
}

/// Reads a table with its identifiers. They show best whether rows match, but the reader leaves them out unless
/// they have a type, which is added to the options.
pub(crate) fn with_identifiers(path: &str, options: &mut ReadOptions) -> Result<Table, Error> {
    let path = [path.to_owned()];
    let table = read_table(&path, options)?;
    let is_identifier = |column: &&Column| column.values == Values::LeftOut(LeftOut::Identifier);
    let identifiers = table.columns().iter().filter(is_identifier);
    let types = identifiers.map(|column| (column.name.clone(), ColumnType::Categorical));
    let types: Vec<(String, ColumnType)> = types.collect();
    if types.is_empty() {
        return Ok(table);
    }
    options.types.extend(types);
    Ok(read_table(&path, options)?)
}

fn is_same(file: &Path, other: &str) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(file).is_some_and(|path| real(Path::new(other)) == Some(path))
}

impl Matched {
    fn same(table: Table) -> Self {
        Self {
            of_scores: table.clone(),
            table,
            places: None,
            matched_by: MatchedBy::SameRow,
            agreeing: Vec::new(),
            diagnostics: Vec::new(),
        }
    }
}

/// Matches row n of one file with row n of the other. Columns of both must agree.
pub(crate) fn by_position(
    table: Table,
    of_scores: Table,
    column: &str,
    key: Option<Name>,
) -> Result<Matched, Error> {
    // The setting that matches rows differently, if there is one.
    let by_key = |message: Message| match key {
        Some(key) => say![message; "match rows by a column of both files", with(key)],
        None => message,
    };
    if table.n_rows() != of_scores.n_rows() {
        return Err(Error::data(by_key(say![
            format!(
                "{} has {} rows, but {} has {}",
                of_scores.name,
                grouped(of_scores.n_rows()),
                table.name,
                grouped(table.n_rows())
            );
            "pass as many scores as rows"
        ])));
    }
    let mut agreeing = Vec::new();
    for own in table.columns() {
        if own.name == column {
            continue;
        }
        let Some(other) = of_scores.column(&own.name) else {
            continue;
        };
        if own.n_rows().is_none() || other.n_rows().is_none() {
            continue;
        }
        match first_difference(own, other) {
            None => agreeing.push(own.name.clone()),
            Some(row) => {
                return Err(Error::data(by_key(say![
                    format!(
                        "{}, column {:?}: the value is {}, but {} has {}, so the rows do not match",
                        of_scores.place(row),
                        own.name,
                        text(other, row),
                        table.place(row),
                        text(own, row)
                    );
                    "put both files in the same order";
                    "rename the column if it means something else in one of the files"
                ])));
            }
        }
    }
    let how = match agreeing.as_slice() {
        [] => "the files have no other column in common, so this could not be checked".to_owned(),
        [one] => format!("the column {one:?} of both files agrees in every row"),
        all => format!("{} columns of both files agree in every row", all.len()),
    };
    Ok(Matched {
        diagnostics: vec![Diagnostic::note(format!(
            "{}: rows are matched with {} by position; {how}",
            of_scores.name, table.name
        ))],
        table,
        of_scores,
        places: None,
        matched_by: MatchedBy::Position,
        agreeing,
    })
}

/// The first row with different values.
fn first_difference(a: &Column, b: &Column) -> Option<usize> {
    let n = a.n_rows()?;
    let same = |row: usize| match (a.numeric(), b.numeric()) {
        (Some(a), Some(b)) => same_number(a.get(row), b.get(row)),
        _ => match (value(a, row), value(b, row)) {
            (Some(a), Some(b)) => {
                a == b || matches!((a.parse(), b.parse()), (Ok(a), Ok(b)) if same_number(a, b))
            }
            (a, b) => a.is_none() && b.is_none(),
        },
    };
    (0..n).find(|row| !same(*row))
}

fn same_number(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}

/// A value as text; `None` if it is missing.
fn value(column: &Column, row: usize) -> Option<String> {
    if column.is_missing(row) {
        return None;
    }
    match (column.numeric(), column.categorical()) {
        (Some(numbers), _) => Some(numbers.get(row).to_string()),
        (_, Some((codes, names))) => names.get(codes[row] as usize).cloned(),
        _ => None,
    }
}

fn text(column: &Column, row: usize) -> String {
    value(column, row).map_or_else(|| "missing".into(), |value| format!("{value:?}"))
}

/// Matches rows with equal keys.
fn by_key(table: Table, of_scores: Table, key: &str) -> Result<Matched, Error> {
    let keys = of_scores.require(key, KEY)?;
    let own = table.require(key, KEY)?;
    let (Some((codes, names)), Some((own_codes, own_names))) =
        (keys.categorical(), own.categorical())
    else {
        return Err(Error::data(format!(
            "{key}: cannot be used as a key; choose another column"
        )));
    };
    let mut place_of: BTreeMap<&str, u32> = BTreeMap::new();
    for (row, code) in codes.iter().enumerate() {
        let Some(name) = names.get(*code as usize) else {
            return Err(cell(
                &of_scores,
                row,
                key,
                "the key is missing; add it, or remove the row",
            ));
        };
        if place_of.insert(name, row as u32).is_some() {
            let problem = format!("the key {name:?} occurs twice; keys of scores must be unique");
            return Err(cell(&of_scores, row, key, problem));
        }
    }
    let places: Vec<Option<u32>> = own_names
        .iter()
        .map(|name| place_of.get(name.as_str()).copied())
        .collect();
    let mut found = Vec::with_capacity(own_codes.len());
    let mut used = vec![false; of_scores.n_rows()];
    for (row, code) in own_codes.iter().enumerate() {
        if *code == MISSING {
            return Err(cell(
                &table,
                row,
                key,
                "the key is missing; add it, or remove the row",
            ));
        }
        let Some(place) = places[*code as usize] else {
            let problem = format!(
                "the key {:?} does not occur in {}; add its score, or remove the row",
                own_names[*code as usize], of_scores.name
            );
            return Err(cell(&table, row, key, problem));
        };
        used[place as usize] = true;
        found.push(place);
    }
    let unused = used.iter().filter(|used| !**used).count();
    let mut diagnostics = Vec::new();
    if unused > 0 {
        diagnostics.push(Diagnostic::note(format!(
            "{}: {} without a row in {} {} not used",
            of_scores.name,
            fairfront_core::counted(unused, "score"),
            table.name,
            if unused == 1 { "is" } else { "are" }
        )));
    }
    Ok(Matched {
        table,
        of_scores,
        places: Some(found),
        matched_by: MatchedBy::Key,
        agreeing: Vec::new(),
        diagnostics,
    })
}
