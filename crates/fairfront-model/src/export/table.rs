//! The coefficients as CSV, for people and spreadsheets. Learned features have neither a column nor a
//! category; the learners themselves are in the model file.

use fairfront_data::MISSING_CATEGORY;

use super::{LearnedTerms, Terms};
use crate::model::Results;
use crate::{Error, Model};

const HEADER: [&str; 7] = [
    "feature",
    "column",
    "category",
    "coefficient",
    "shift",
    "factor",
    "mean",
];

pub(super) fn write(model: &Model) -> Result<String, Error> {
    let failed =
        |e: &dyn std::fmt::Display| Error::data(format!("the table could not be written: {e}"));
    let mut out = csv::Writer::from_writer(Vec::new());
    for row in rows(model) {
        out.write_record(row).map_err(|e| failed(&e))?;
    }
    let bytes = out.into_inner().map_err(|e| failed(e.error()))?;
    String::from_utf8(bytes).map_err(|e| failed(&e))
}

fn rows(model: &Model) -> Vec<[String; 7]> {
    let terms = Terms::of(model);
    // Coefficients of a number are in the unit of the target.
    let scale_of_score = match model.results() {
        Results::Numbers(unit) => unit.scale,
        Results::Decisions { .. } => 1.0,
    };
    let mut names = model.coefficients.0.iter().map(|(name, _)| name.clone());
    let mut rows = vec![HEADER.map(Into::into)];
    let mut row = |column: &str, category: &str, coefficient: f64, scale: [String; 3]| {
        let feature = names.next().unwrap_or_default();
        let [shift, factor, mean] = scale;
        let coefficient = number(scale_of_score * coefficient);
        let (column, category) = (column.to_owned(), category.to_owned());
        rows.push([feature, column, category, coefficient, shift, factor, mean]);
    };
    for term in &terms.numbers {
        let rule = term.rule;
        let scale = [rule.shift, rule.factor, rule.mean].map(number);
        row(&rule.column, "", term.coefficient, scale);
        if let Some(coefficient) = term.indicator {
            row(
                &rule.column,
                MISSING_CATEGORY,
                coefficient,
                Default::default(),
            );
        }
    }
    for (feature, coefficient) in terms.learned.iter().flat_map(LearnedTerms::features) {
        let [shift, factor] = [feature.shift, feature.factor].map(number);
        row("", "", coefficient, [shift, factor, String::new()]);
    }
    for (rule, term) in model.encoding.categorical.iter().zip(&terms.categories) {
        for (category, coefficient) in rule.categories.iter().zip(&term.coefficients) {
            row(&rule.column, category, *coefficient, Default::default());
        }
    }
    let constants = match model.results() {
        Results::Numbers(unit) => vec![("(intercept)", unit.number(model.intercept))],
        Results::Decisions {
            threshold,
            calibration,
        } => vec![
            ("(intercept)", model.intercept),
            ("(threshold)", threshold),
            ("(calibration slope)", calibration.slope),
            ("(calibration intercept)", calibration.intercept),
        ],
    };
    for (name, value) in constants {
        let mut row: [String; 7] = Default::default();
        (row[0], row[3]) = (name.into(), number(value));
        rows.push(row);
    }
    rows
}

/// The shortest decimal that reads back as the same number.
fn number(value: f64) -> String {
    format!("{value:?}")
}
