//! Decisions of a fairfront model, of scores with a threshold, or of a column.

use fairfront_core::{Message, Name, say};
use fairfront_data::{Column, ReadOptions, Table, file_name};
use fairfront_model::{Model, score_file};

use super::matching::Matched;
use super::rows::{cell, of_column_named};
use super::{AuditRequest, AuditSource, AuditedSource, SourceKind};
use crate::Error;
use crate::setting::{SELECTED, THRESHOLD};

/// Decisions with their origin.
pub(super) struct Decided {
    pub(super) from: AuditedSource,
    pub(super) decisions: Vec<bool>,
    pub(super) scores: Option<Vec<f64>>,
}

/// The decisions of a fairfront model.
pub(super) fn of_model(
    request: &AuditRequest,
    model: &Model,
    table: &Table,
) -> Result<Decided, Error> {
    let AuditSource::Model { name, .. } = &request.source else {
        return Err(Error::usage("no model; pass a model file"));
    };
    let mut model = model.clone();
    // Settings for reading files apply to both passes over them.
    let default = ReadOptions::default();
    if request.reading.decimal.is_some() {
        model.reading.decimal = request.reading.decimal;
    }
    if request.reading.separator.is_some() {
        model.reading.separator = request.reading.separator.map(char::from);
    }
    if request.reading.columns.is_some() || !request.reading.header {
        model.reading.header = request.reading.header;
        model.reading.columns.clone_from(&request.reading.columns);
    }
    if request.reading.missing_values != default.missing_values {
        model
            .reading
            .missing_values
            .clone_from(&request.reading.missing_values);
    }
    let mut scores = Vec::with_capacity(table.n_rows());
    for file in &request.files {
        scores.extend(score_file(&model, file)?);
    }
    let calibration = model.calibration.unwrap_or_default();
    let of_model = model.threshold.unwrap_or(0.0);
    let probabilities: Vec<f64> = scores
        .iter()
        .map(|score| calibration.probability(*score))
        .collect();
    let mut from = AuditedSource {
        kind: SourceKind::Model,
        file: Some(file_name(name).to_owned()),
        column: None,
        condition: String::new(),
        threshold: None,
        median: None,
    };
    let decisions = if request.options.scoring {
        above_median(&probabilities, "probability", &mut from)
    } else {
        // Probabilities near the threshold may be rounded, so the model decides by its score.
        let threshold = request
            .threshold
            .unwrap_or_else(|| calibration.probability(of_model));
        from.threshold = Some(threshold);
        from.condition = format!("probability >= {}", fairfront_core::readable(threshold));
        match request.threshold {
            Some(threshold) => probabilities.iter().map(|p| *p >= threshold).collect(),
            None => scores.iter().map(|score| *score >= of_model).collect(),
        }
    };
    Ok(Decided {
        from,
        decisions,
        scores: Some(probabilities),
    })
}

/// The decisions of a column.
pub(super) fn of_column(request: &AuditRequest, read: &Matched) -> Result<Decided, Error> {
    let AuditSource::Column { file, column } = &request.source else {
        return Err(Error::usage("no column of scores; pass FILE:COLUMN"));
    };
    let place = |row: usize| (&read.of_scores, read.row(row));
    let mut from = AuditedSource {
        kind: SourceKind::Scores,
        file: file
            .as_ref()
            .map(|file| file_name(&file.display().to_string()).to_owned()),
        column: Some(column.clone()),
        condition: String::new(),
        threshold: request.threshold,
        median: None,
    };
    let values = read.of_scores.require(column, "the scores or decisions")?;
    let n = read.table.n_rows();
    if request.threshold.is_some() || request.options.scoring {
        let Some(numbers) = values.numeric() else {
            let problem = "scores must be numbers; choose another column";
            return Err(of_column_named(&read.of_scores, column, problem));
        };
        let scores: Vec<f64> = (0..n).map(|row| numbers.get(read.row(row))).collect();
        if let Some(row) = scores.iter().position(|score| !score.is_finite()) {
            let (table, row) = place(row);
            let problem = "the score is missing; add it, or remove the row";
            return Err(cell(table, row, column, problem));
        }
        let decisions = match request.threshold {
            Some(threshold) => {
                from.condition = format!("{column} >= {threshold}");
                scores.iter().map(|score| *score >= threshold).collect()
            }
            None => above_median(&scores, column, &mut from),
        };
        return Ok(Decided {
            from,
            decisions,
            scores: Some(scores),
        });
    }
    from.kind = SourceKind::Decisions;
    let (codes, is_selected, shown) = decisions(
        &read.of_scores,
        values,
        &request.selected,
        [THRESHOLD, SELECTED],
    )?;
    from.condition = format!("{column} = {shown}");
    let mut found = Vec::with_capacity(n);
    for row in 0..n {
        let code = codes[read.row(row)];
        let Some(selected) = is_selected.get(code as usize) else {
            let (table, row) = place(row);
            let problem = "the decision is missing; add it, or remove the row";
            return Err(cell(table, row, column, problem));
        };
        found.push(*selected);
    }
    Ok(Decided {
        from,
        decisions: found,
        scores: None,
    })
}

/// Whether each score is above the median, which is the mean of the middle two scores of an even number.
fn above_median(scores: &[f64], name: &str, from: &mut AuditedSource) -> Vec<bool> {
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let median = match n {
        0 => 0.0,
        n => 0.5 * sorted[(n - 1) / 2] + 0.5 * sorted[n / 2],
    };
    from.median = Some(median);
    from.condition = format!("{name} > {}, the median", fairfront_core::readable(median));
    scores.iter().map(|score| *score > median).collect()
}

/// Values that mean selected if the user does not choose one.
const YES: [&str; 6] = ["1", "true", "yes", "y", "t", "selected"];
const NO: [&str; 7] = ["0", "false", "no", "n", "f", "rejected", "not selected"];

/// Codes of decisions, whether each code means selected, and the values that do.
pub(crate) fn decisions(
    table: &Table,
    column: &Column,
    selected: &[String],
    [of_threshold, of_selected]: [Name; 2],
) -> Result<(Vec<u32>, Vec<bool>, String), Error> {
    let problem = |problem: Message| of_column_named(table, &column.name, problem);
    let own;
    let values = match column.numeric() {
        None => column,
        Some(numbers) => {
            if numbers.iter().any(|x| !x.is_nan() && x != 0.0 && x != 1.0) && selected.is_empty() {
                return Err(problem(say![
                    "the column has numbers other than 0 and 1, so it needs a threshold";
                    "pass ", of_threshold.is("T");
                    "pass ", of_selected.is("VALUE"), " if the numbers are codes of decisions"
                ]));
            }
            let texts = numbers
                .iter()
                .map(|x| (!x.is_nan()).then(|| (x + 0.0).to_string()));
            own = Column::from_strings(&column.name, texts);
            &own
        }
    };
    let Some((codes, names)) = values.categorical() else {
        return Err(problem(
            "the column cannot be used as decisions; choose a column with two values".into(),
        ));
    };
    let listed = || {
        let mut names: Vec<String> = names
            .iter()
            .take(6)
            .map(|name| format!("{name:?}"))
            .collect();
        names.sort();
        names.join(", ")
    };
    let is =
        |name: &String, words: &[&str]| words.iter().any(|word| name.eq_ignore_ascii_case(word));
    if !selected.is_empty() {
        let same = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => a == b,
            _ => a == b,
        };
        for wanted in selected {
            if !names.iter().any(|name| same(name, wanted)) {
                return Err(problem(say![
                    of_selected.is(wanted),
                    format!(": no decision has this value; choose one of {}", listed())
                ]));
            }
        }
        let of = |name: &String| selected.iter().any(|wanted| same(name, wanted));
        let flags: Vec<bool> = names.iter().map(of).collect();
        return Ok((codes.to_vec(), flags, selected.join(" or ")));
    }
    if names.len() <= 2 && names.iter().all(|name| is(name, &YES) || is(name, &NO)) {
        let flags: Vec<bool> = names.iter().map(|name| is(name, &YES)).collect();
        let shown = names
            .iter()
            .find(|name| is(name, &YES))
            .map_or("1", String::as_str);
        return Ok((codes.to_vec(), flags, shown.to_owned()));
    }
    Err(problem(say![
        format!("the values {} do not show which decision means selected", listed());
        "pass ", of_selected.is("VALUE")
    ]))
}
