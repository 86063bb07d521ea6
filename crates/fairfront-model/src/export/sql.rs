//! A SELECT statement that scores the rows of a table, in the SQL that `SQLite`, `DuckDB` and `PostgreSQL`
//! share.

mod learned;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use fairfront_core::{Calibration, Classes, Unit, say};
use fairfront_data::NumericRule;
use fairfront_data::setting::DATE_PARTS;

use super::{CategoryTerm, NumberTerm, Terms, missing_strings, spellings};
use crate::model::Results;
use crate::predict::of_class;
use crate::{Error, Model};

pub(super) fn write(model: &Model) -> Result<String, Error> {
    let scores = Terms::of_scores(model);
    // `Model::check` ensures that there is a score.
    let Some(terms) = scores.first() else {
        return Err(Error::data("the model has no score"));
    };
    let columns = terms.columns();
    if columns.contains("") {
        let problem = "SQL needs a name for each column, but a column of this model has none; name it \
                       and fit again, or choose another format";
        return Err(Error::Data(problem.into()));
    }
    if let Some(term) = terms.numbers.iter().find(|term| term.rule.date.is_some()) {
        let problem = format!(
            "column {:?} contains dates, and the databases have no common way to convert them to \
             numbers; store days since 1970-01-01 in a numeric column and fit again, or choose another \
             format",
            term.rule.column
        );
        return Err(Error::data(problem));
    }
    if let Some(date) = model.encoding.date_parts.first() {
        let problem = say![
            "column {date:?}: SQL cannot compute the weekday and month of dates in all databases";
            "fit again without ", DATE_PARTS;
            "choose another format"
        ];
        return Err(Error::data(problem));
    }
    let strings = terms.categories.iter().flat_map(|term| &term.named);
    let classes = match model.results() {
        Results::Classes { classes, .. } => classes.names.as_slice(),
        Results::Decisions { .. } | Results::Numbers(_) => &[],
    };
    let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
    let strings = strings.map(|(text, _)| text).chain(&columns);
    let mut strings = strings.chain(&classes);
    if let Some(text) = strings.find(|text| text.contains('\0')) {
        let problem = format!(
            "SQL cannot represent {text:?}, which contains a NUL character; choose another format"
        );
        return Err(Error::data(problem));
    }

    let sums: Vec<String> = scores
        .iter()
        .zip(model.intercept.values())
        .map(|(terms, intercept)| sum(model, terms, *intercept))
        .collect();
    let results = |names: Vec<String>| -> Vec<String> {
        let names = terms.results(names);
        names.iter().map(|name| identifier(name)).collect()
    };
    let title = model.title();
    Ok(match model.results() {
        Results::Numbers(unit) => {
            let names = results(vec!["prediction".into()]);
            predictions(&title, &sums[0], unit, &names[0])
        }
        Results::Decisions {
            threshold,
            calibration,
        } => {
            let names = results(["score", "probability", "decision"].map(Into::into).into());
            decisions(&title, &sums[0], threshold, calibration, &names)
        }
        Results::Classes { classes, factor } => {
            let of = |result: &str| {
                let names = classes.names.iter();
                names.map(|name| of_class(result, name)).collect::<Vec<_>>()
            };
            let decision = vec!["decision".to_owned()];
            let names = results([of("score"), of("probability"), decision].concat());
            decisions_of_classes(&title, &sums, classes, factor, &names)
        }
    })
}

/// The terms of a score.
fn sum(model: &Model, terms: &Terms, intercept: f64) -> String {
    let missing_numbers: Vec<String> = (model.reading.missing_numbers().iter())
        .map(|number| literal(*number))
        .collect();
    let missing_strings = missing_strings(&model.reading);
    let mut sum = format!("CAST({} AS DOUBLE PRECISION)\n", literal(intercept));
    let has_learners = terms.learned.is_some();
    for term in &terms.numbers {
        if !(has_learners && term.is_zero()) {
            add_number(&mut sum, term, &missing_numbers);
        }
    }
    if let Some(learned) = &terms.learned
        && learned.coefficients.iter().any(|c| *c != 0.0)
    {
        let columns = learned::columns(terms, &missing_numbers, &missing_strings);
        learned::add(&mut sum, learned, &columns);
    }
    for term in &terms.categories {
        if !(has_learners && term.is_zero()) {
            let added = |index: usize| literal(term.coefficients[index]);
            let _ = writeln!(sum, "    + {}", category(term, &missing_strings, added));
        }
    }
    sum
}

/// The query for the scores and probabilities of all classes and the decision, from the terms of each score.
/// `names` are those of the results, in this order.
fn decisions_of_classes(
    title: &str,
    sums: &[String],
    classes: &Classes,
    factor: f64,
    names: &[String],
) -> String {
    let (scores, names) = names.split_at(classes.len());
    let (probabilities, names) = names.split_at(classes.len());
    let inner = sums.iter().zip(scores);
    let inner: Vec<String> = inner
        .map(|(sum, name)| format!("    {sum}    AS {name}"))
        .collect();
    let outer = probabilities.iter().enumerate();
    let outer: Vec<String> = outer
        .map(|(class, name)| format!("  {}\n    AS {name}", softmax(scores, class, factor)))
        .collect();
    // If no class before has the highest score, it is that of the first class that no later one exceeds.
    let mut decision = String::from("CASE");
    let last = classes.len() - 1;
    for (class, name) in classes.names[..last].iter().enumerate() {
        let own = &scores[class];
        let others = scores[class + 1..].iter();
        let others: Vec<String> = others.map(|other| format!("{own} >= {other}")).collect();
        let _ = write!(
            decision,
            "\n    WHEN {} THEN {}",
            others.join(" AND "),
            quoted(name)
        );
    }
    let _ = write!(decision, "\n    ELSE {} END", quoted(&classes.names[last]));
    format!(
        "-- {title}
-- Put your table's name in place of input; the score of a class alone is the expression before AS and its name.
SELECT
  scored.*,
{},
  {decision} AS {}
FROM (
  SELECT
    input.*,
{}
  FROM input
) AS scored;
",
        outer.join(",\n"),
        names.join(", "),
        inner.join(",\n"),
    )
}

/// The probability of a class: exp(factor · score) divided by the sum over all classes.
fn softmax(scores: &[String], class: usize, factor: f64) -> String {
    let own = &scores[class];
    let others = scores.iter().enumerate();
    let others = others.filter(|(other, _)| *other != class);
    let powers = others.map(|(_, score)| {
        let difference = match factor == 1.0 {
            true => format!("{score} - {own}"),
            false => format!("{} * ({score} - {own})", literal(factor)),
        };
        // Above 700, exp overflows, which is an error in PostgreSQL.
        format!(
            "CASE WHEN {difference} > 700 THEN 1e300 WHEN {difference} < -700 THEN 0e0 \
             ELSE EXP({difference}) END"
        )
    });
    let powers: Vec<String> = powers.collect();
    format!("1e0 / (1e0 + {})", powers.join(" + "))
}

/// The query for scores, probabilities and decisions, from the terms of the score.
fn decisions(
    title: &str,
    sum: &str,
    threshold: f64,
    calibration: Calibration,
    names: &[String],
) -> String {
    let [score, probability, decision] = names else {
        return String::new();
    };
    let threshold = literal(threshold);
    let (odds, minus) = match calibration == Calibration::default() {
        true => (score.clone(), format!("-{score}")),
        false => {
            let Calibration { slope, intercept } = calibration;
            let odds = format!("{} * {score} + {}", literal(slope), literal(intercept));
            let minus = format!("-({odds})");
            (odds, minus)
        }
    };
    // Above 700, exp overflows, which is an error in PostgreSQL.
    format!(
        "-- {title}
-- Put your table's name in place of input; the score alone is the expression before AS {score}.
SELECT
  scored.*,
  CASE
    WHEN {odds} > 700 THEN 1e0
    WHEN {odds} < -700 THEN 0e0
    ELSE 1e0 / (1e0 + EXP({minus}))
  END AS {probability},
  CASE WHEN {score} >= {threshold} THEN 1 ELSE 0 END AS {decision}
FROM (
  SELECT
    input.*,
    {sum}    AS {score}
  FROM input
) AS scored;
"
    )
}

/// The query for predictions in the unit of the target, from the terms of the score.
fn predictions(title: &str, sum: &str, unit: &Unit, prediction: &str) -> String {
    let [center, scale] = [unit.center, unit.scale].map(literal);
    format!(
        "-- {title}
-- Put your table's name in place of input; the prediction alone is the expression before AS {prediction}.
SELECT
  input.*,
  {center} + {scale} * (
    {sum}  ) AS {prediction}
FROM input;
"
    )
}

/// The scaled value of a numeric column, and the condition that the value is present.
fn number(rule: &NumericRule, missing_numbers: &[String]) -> (String, String) {
    let column = identifier(&rule.column);
    let [most, mean, shift, factor] = [f64::MAX, rule.mean, rule.shift, rule.factor].map(literal);
    // Neither NULL nor NaN is between any two numbers.
    let mut present = format!("{column} BETWEEN -{most} AND {most}");
    if !missing_numbers.is_empty() {
        let _ = write!(
            present,
            " AND {column} NOT IN ({})",
            missing_numbers.join(", ")
        );
    }
    let scaled = format!(
        "(CASE WHEN {present} THEN CAST({column} AS DOUBLE PRECISION) ELSE {mean} END - {shift}) / \
         {factor}"
    );
    (scaled, present)
}

fn add_number(sum: &mut String, term: &NumberTerm, missing_numbers: &[String]) {
    let (scaled, present) = number(term.rule, missing_numbers);
    let coefficient = literal(term.coefficient);
    let _ = writeln!(sum, "    + {scaled} * {coefficient}");
    if let Some(indicator) = term.indicator {
        let indicator = literal(indicator);
        let _ = writeln!(
            sum,
            "    + CASE WHEN {present} THEN 0e0 ELSE {indicator} END"
        );
    }
}

/// The value at the index of a string.
fn category(
    term: &CategoryTerm,
    missing_strings: &[&str],
    value: impl Fn(usize) -> String,
) -> String {
    // Without the second argument, DuckDB would strip all Unicode spaces, which belong to categories.
    let column = format!("TRIM(CAST({} AS VARCHAR), ' ')", identifier(term.column));
    let mut text = String::from("CASE");
    if term.missing != term.unnamed {
        // LOWER supports letters beyond ASCII in some programs, but not in others.
        let (plain, other): (Vec<&str>, Vec<&str>) =
            missing_strings.iter().partition(|text| text.is_ascii());
        let plain: BTreeSet<String> = (plain.iter().chain(&[""]))
            .map(|text| quoted(&text.to_lowercase()))
            .collect();
        let plain: Vec<String> = plain.into_iter().collect();
        let other: Vec<String> = spellings(&other).iter().map(|t| quoted(t)).collect();
        let _ = write!(
            text,
            " WHEN COALESCE(LOWER({column}), '') IN ({})",
            plain.join(", ")
        );
        if !other.is_empty() {
            let _ = write!(text, " OR {column} IN ({})", other.join(", "));
        }
        let _ = write!(text, " THEN {} ELSE CASE", value(term.missing));
    }
    let unnamed = value(term.unnamed);
    if term.named.is_empty() {
        let _ = write!(text, " WHEN 1 = 1 THEN {unnamed}");
    } else {
        let _ = write!(text, " {column}");
    }
    for (name, index) in &term.named {
        let _ = write!(text, "\n      WHEN {} THEN {}", quoted(name), value(*index));
    }
    let _ = write!(text, "\n      ELSE {unnamed} END");
    if term.missing != term.unnamed {
        text.push_str(" END");
    }
    text
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The shortest decimal that reads back as the same double. The exponent makes it a double everywhere.
/// Negative numbers are in parentheses, because two minus signs start a comment.
fn literal(value: f64) -> String {
    match value.is_sign_negative() {
        true => format!("({value:e})"),
        false => format!("{value:e}"),
    }
}
