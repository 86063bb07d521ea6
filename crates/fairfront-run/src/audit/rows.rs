//! Rows with decisions, groups and labels, from files.

use fairfront_core::{Message, UNKNOWN_GROUP, grouped, say, with};
use fairfront_data::setting::{SENSITIVE, WEIGHT};
use fairfront_data::{
    AttributeRule, ColumnType, Diagnostic, ReadOptions, Spec, Table, TargetRule, file_name,
    read_table,
};
use fairfront_model::Model;

use super::decision::{of_column, of_model};
use super::matching::matched;
use super::{AuditRequest, AuditSource, AuditedRows, AuditedSource, MatchedBy};
use crate::Error;
use crate::setting::{KEY, PREDICT, SELECTED, THRESHOLD};

/// The rows of an audit, in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRows {
    /// The origin of decisions.
    pub decisions_from: AuditedSource,
    /// Facts about the rows.
    pub table: AuditedRows,
    /// Whether each row is selected.
    pub decisions: Vec<bool>,
    /// Scores, if decisions come from scores.
    pub scores: Option<Vec<f64>>,
    /// The target.
    pub target: Option<String>,
    /// The values of the target that count as positive.
    pub positive: Option<String>,
    /// Whether each row is labeled positive; `None` if its target is missing.
    pub labels: Option<Vec<Option<bool>>>,
    /// The weight column.
    pub weight: Option<String>,
    /// The weights.
    pub weights: Option<Vec<f64>>,
    /// The sensitive attributes.
    pub attributes: Vec<AuditAttribute>,
    /// Warnings and notes about the rows.
    pub diagnostics: Vec<Diagnostic>,
}

/// The groups of a sensitive attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditAttribute {
    /// Its name.
    pub name: String,
    /// Names of the groups.
    pub groups: Vec<String>,
    /// The group of each row, or [`UNKNOWN_GROUP`].
    pub codes: Vec<u32>,
}

impl AuditRows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.decisions.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    /// Checks that all parts have the same number of rows, and that there are some.
    pub(super) fn check(&self) -> Result<(), Error> {
        let n = self.len();
        if n == 0 {
            return Err(Error::data("the table has no rows; pass rows to audit"));
        }
        if self.attributes.is_empty() {
            return Err(Error::usage(say![
                "no sensitive columns; choose at least one",
                with(SENSITIVE)
            ]));
        }
        let of_attributes = self
            .attributes
            .iter()
            .map(|attribute| attribute.codes.len());
        let others = [
            self.scores.as_ref().map(Vec::len),
            self.labels.as_ref().map(Vec::len),
            self.weights.as_ref().map(Vec::len),
        ];
        if let Some(other) = others
            .into_iter()
            .flatten()
            .chain(of_attributes)
            .find(|len| *len != n)
        {
            return Err(Error::usage(format!(
                "there are {} decisions, but {} rows elsewhere; pass as many of each",
                grouped(n),
                grouped(other)
            )));
        }
        let known = |attribute: &AuditAttribute| {
            let n = attribute.groups.len() as u32;
            attribute
                .codes
                .iter()
                .all(|code| *code < n || *code == UNKNOWN_GROUP)
        };
        if let Some(attribute) = self.attributes.iter().find(|attribute| !known(attribute)) {
            return Err(Error::usage(format!(
                "{}: a row has a group that is not listed; list all groups",
                attribute.name
            )));
        }
        let finite = |scores: &Vec<f64>| scores.iter().all(|score| score.is_finite());
        if !self.scores.as_ref().is_none_or(finite) {
            return Err(Error::data(
                "a score is missing or infinite; remove its row",
            ));
        }
        let valid = |weights: &Vec<f64>| weights.iter().all(|w| w.is_finite() && *w >= 0.0);
        if !self.weights.as_ref().is_none_or(valid) {
            return Err(Error::data(
                "a weight is missing or negative; use numbers that are not negative",
            ));
        }
        Ok(())
    }
}

/// Reads the rows of a request.
pub(super) fn read(request: &AuditRequest) -> Result<AuditRows, Error> {
    request.check()?;
    let model = match &request.source {
        AuditSource::Model { model, .. } => Some(model.as_ref()),
        AuditSource::Column { .. } => None,
    };
    if let Some(model) = model {
        check_model(request, model)?;
    }
    let own_target = request.spec.target.is_some();
    let rules = match model {
        Some(model) if request.spec.sensitive.is_empty() => model.encoding.attributes.clone(),
        _ => Vec::new(),
    };
    let target = match model {
        Some(model) if !own_target => model.encoding.target.clone(),
        _ => None,
    };
    let mut options = reading(request, &rules, target.as_ref());
    let read = matched(
        request,
        &mut options,
        own_columns(request, &rules, target.as_ref()),
    )?;
    let table = &read.table;
    let mut diagnostics = read.diagnostics.clone();
    let attributes = attributes(request, &rules, table)?;
    // A model can be audited on rows without its target.
    let target = target.filter(|target| {
        let found = table.column(&target.column).is_some();
        if !found {
            diagnostics.push(Diagnostic::note(format!(
                "the rows have no column {:?}, the target of the model, so the audit has no error rates",
                target.column
            )));
        }
        found
    });
    let target = match (target, own_target) {
        (Some(target), _) => Some(target),
        (None, true) => {
            let (rule, notes) = TargetRule::of_table(&request.spec, table)?;
            diagnostics.extend(notes);
            Some(rule)
        }
        (None, false) => None,
    };
    let labels = target.as_ref().map(|rule| rule.labels(table)).transpose()?;
    let labels: Option<Vec<Option<bool>>> = labels.map(|labels| {
        let of = |label: &Option<f64>| label.map(|label| label > 0.0);
        labels.iter().map(of).collect()
    });
    let weights = request.spec.weight.as_ref();
    let weights = weights.map(|name| weights_of(table, name)).transpose()?;
    let decided = match model {
        Some(model) => of_model(request, model, table)?,
        None => of_column(request, &read)?,
    };
    let without_target = labels
        .as_ref()
        .map_or(0, |labels| labels.iter().filter(|l| l.is_none()).count());
    Ok(AuditRows {
        decisions_from: decided.from,
        table: AuditedRows {
            files: request
                .files
                .iter()
                .map(|file| file_name(file).to_owned())
                .collect(),
            rows: table.n_rows(),
            matched_by: read.matched_by,
            key: (read.matched_by == MatchedBy::Key)
                .then(|| request.key.clone())
                .flatten(),
            agreeing_columns: read.agreeing.clone(),
            without_target,
        },
        decisions: decided.decisions,
        scores: decided.scores,
        positive: target.as_ref().map(TargetRule::positive_text),
        target: target.map(|rule| rule.column),
        labels,
        weight: request.spec.weight.clone(),
        weights,
        attributes,
        diagnostics,
    })
}

/// Returns an error for a model that does not decide between two values.
fn check_model(request: &AuditRequest, model: &Model) -> Result<(), Error> {
    let AuditSource::Model { name, .. } = &request.source else {
        return Ok(());
    };
    if request.files.iter().any(|file| file == "-") {
        return Err(Error::usage(
            "a fairfront model needs the rows twice, but standard input can be read only once; pass a file",
        ));
    }
    match model.encoding.target.as_ref().map(TargetRule::is_binary) {
        Some(true) => Ok(()),
        _ => Err(Error::usage(say![
            "{name}: the model does not decide between two values; write its results to a file",
            with(PREDICT),
            ", and pass its column, as in scores.csv:prediction, with ",
            fairfront_core::either([THRESHOLD, SELECTED])
        ])),
    }
}

/// The sensitive attributes with the groups of all rows.
fn attributes(
    request: &AuditRequest,
    rules: &[AttributeRule],
    table: &Table,
) -> Result<Vec<AuditAttribute>, Error> {
    let of = |(rule, codes): (AttributeRule, Vec<u32>)| AuditAttribute {
        name: rule.attribute.name,
        groups: rule.attribute.groups,
        codes,
    };
    let mut found = Vec::new();
    for rule in rules {
        found.push(of(rule.with_groups_of(table)?));
    }
    for columns in &request.spec.sensitive {
        found.push(of(AttributeRule::of_table(&request.spec, columns, table)?));
    }
    Ok(found)
}

/// The columns of the rows that an audit needs besides those that it compares with a file of scores.
fn own_columns(
    request: &AuditRequest,
    rules: &[AttributeRule],
    target: Option<&TargetRule>,
) -> Vec<String> {
    let mut columns: Vec<String> = request
        .spec
        .named()
        .into_iter()
        .map(|(name, _)| name.into())
        .collect();
    columns.extend(
        rules
            .iter()
            .flat_map(|rule| &rule.columns)
            .map(|part| part.column.clone()),
    );
    columns.extend(target.map(|target| target.column.clone()));
    columns.extend(request.key.clone());
    if let AuditSource::Column { file: None, column } = &request.source {
        columns.push(column.clone());
    }
    columns
}

/// How the rows are read.
fn reading(
    request: &AuditRequest,
    rules: &[AttributeRule],
    target: Option<&TargetRule>,
) -> ReadOptions {
    let spec = Spec {
        features: None,
        ..request.spec.clone()
    };
    let mut options = spec.read_options(request.reading.clone());
    for part in rules.iter().flat_map(|rule| &rule.columns) {
        let ty = match part.bins {
            Some(_) => ColumnType::Numeric,
            None => ColumnType::Categorical,
        };
        options.types.insert(part.column.clone(), ty);
    }
    if let Some(target) = target {
        options
            .types
            .insert(target.column.clone(), target.column_type());
    }
    if let Some(key) = &request.key {
        options.types.insert(key.clone(), ColumnType::Categorical);
    }
    options
}

fn weights_of(table: &Table, name: &str) -> Result<Vec<f64>, Error> {
    let column = table.require(name, WEIGHT)?;
    let Some(weights) = column.numeric() else {
        return Err(of_column_named(
            table,
            name,
            "weights must be numbers; choose another column",
        ));
    };
    // Also true for NaN, which is a missing value.
    if let Some(row) = weights.iter().position(|w| !(w.is_finite() && w >= 0.0)) {
        return Err(cell(
            table,
            row,
            name,
            "the weight is missing or negative; use a number that is not negative",
        ));
    }
    Ok(weights.iter().collect())
}

/// An error about a value.
pub(crate) fn cell(table: &Table, row: usize, column: &str, problem: impl Into<String>) -> Error {
    fairfront_data::Error::Cell {
        place: table.place(row),
        column: column.into(),
        problem: problem.into().into(),
    }
    .into()
}

/// An error about a column.
pub(crate) fn of_column_named(table: &Table, column: &str, problem: impl Into<Message>) -> Error {
    fairfront_data::Error::Column {
        file: table.name.clone(),
        column: column.into(),
        problem: problem.into(),
    }
    .into()
}

/// Reads the rows, with the columns that are needed.
pub(super) fn read_rows(
    request: &AuditRequest,
    options: &ReadOptions,
    columns: impl IntoIterator<Item = String>,
) -> Result<Table, Error> {
    let options = ReadOptions {
        only: Some(columns.into_iter().collect()),
        ..options.clone()
    };
    let table = read_table(&request.files, &options)?;
    if table.n_rows() == 0 {
        return Err(Error::data(format!(
            "{}: the table has no rows; pass rows to audit",
            table.name
        )));
    }
    if let Some(key) = &request.key {
        table.require(key, KEY)?;
    }
    Ok(table)
}
