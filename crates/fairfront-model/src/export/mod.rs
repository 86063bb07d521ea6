//! A model in formats that other programs read: from raw columns to scores and decisions.

mod onnx;
mod proto;
mod sql;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use fairfront_data::{CategoricalRule, NumericRule, Reading};

use crate::{Error, Model};

/// A format that a model can be exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A graph for ONNX runtimes, from raw columns to decisions.
    Onnx,
    /// A SELECT statement for `SQLite`, `DuckDB` and `PostgreSQL`.
    Sql,
    /// The coefficients as CSV.
    Table,
}

impl Model {
    /// The model in a format for other programs.
    pub fn export(&self, format: ExportFormat) -> Result<Vec<u8>, Error> {
        let text = match format {
            ExportFormat::Onnx => return onnx::write(self),
            ExportFormat::Sql => sql::write(self)?,
            ExportFormat::Table => table::write(self)?,
        };
        Ok(text.into_bytes())
    }

    /// What the model is, for a person who finds the exported file.
    fn title(&self) -> String {
        let from = &self.provenance;
        let positive = self.encoding.target.as_ref();
        let positive = positive.map(|t| format!("; 1 is {}", t.condition()));
        format!(
            "point {} of the {} of {}, fitted on {} by fairfront {}{}",
            from.point,
            from.points,
            from.run,
            from.source,
            from.program,
            positive.unwrap_or_default()
        )
        .replace(|c: char| c.is_control(), " ")
    }
}

/// What a model adds up: the intercept, then these in order.
struct Terms<'a> {
    numbers: Vec<NumberTerm<'a>>,
    categories: Vec<CategoryTerm<'a>>,
}

/// What a numeric column adds.
struct NumberTerm<'a> {
    rule: &'a NumericRule,
    /// By this the scaled value is multiplied.
    coefficient: f64,
    /// What a missing value adds on top of that of the mean.
    indicator: Option<f64>,
}

/// What a categorical column adds: the coefficient at an index that its text says.
struct CategoryTerm<'a> {
    column: &'a str,
    /// Of the levels; the last one is 0, for texts that add nothing.
    coefficients: Vec<f64>,
    /// Indices of texts.
    named: Vec<(&'a str, usize)>,
    /// The index of missing values.
    missing: usize,
    /// The index of all other texts.
    unnamed: usize,
}

impl<'a> Terms<'a> {
    fn of(model: &'a Model) -> Self {
        let mut coefficients = model.coefficients.0.iter().map(|(_, value)| *value);
        // The model was checked: there is a coefficient for every feature.
        let mut next = || coefficients.next().unwrap_or_default();
        let numbers = model.encoding.numeric.iter().map(|rule| NumberTerm {
            rule,
            coefficient: next(),
            indicator: rule.indicator.then(&mut next),
        });
        let numbers = numbers.collect();
        let categories = model.encoding.categorical.iter().map(|rule| {
            let coefficients = rule.levels.iter().map(|_| next()).chain([0.0]).collect();
            CategoryTerm::new(rule, coefficients, &model.reading)
        });
        Self {
            numbers,
            categories: categories.collect(),
        }
    }

    fn columns(&self) -> BTreeSet<&'a str> {
        let numbers = self.numbers.iter().map(|term| term.rule.column.as_str());
        let categories = self.categories.iter().map(|term| term.column);
        numbers.chain(categories).collect()
    }

    /// A name for a result: another where a column is called so.
    fn result(&self, name: &str) -> String {
        let columns = self.columns();
        let mut name = name.to_owned();
        while columns.iter().any(|c| c.eq_ignore_ascii_case(&name)) {
            name = format!("model_{name}");
        }
        name
    }
}

impl<'a> CategoryTerm<'a> {
    fn new(rule: &'a CategoricalRule, coefficients: Vec<f64>, reading: &Reading) -> Self {
        let index = |level: Option<u32>| level.map_or(rule.levels.len(), |at| at as usize);
        let unnamed = index(rule.unnamed_level());
        let named = rule.named().into_iter();
        let named = named.filter(|text| !reading.is_missing(text));
        let named = named.map(|text| (text, index(rule.level(Some(text)))));
        Self {
            column: &rule.column,
            named: named.filter(|(_, index)| *index != unnamed).collect(),
            missing: index(rule.level(None)),
            unnamed,
            coefficients,
        }
    }
}

/// The texts that stand for a missing value beside the empty one.
fn missing_texts(reading: &Reading) -> Vec<&str> {
    let texts = reading.missing_values.iter().map(|text| text.trim());
    texts.filter(|text| !text.is_empty()).collect()
}

/// Texts with more letters than this are spelled in few ways.
const MOST_LETTERS: usize = 10;

/// All ways to spell texts in upper and lower case, for programs that can only compare exactly; long ones
/// as they are, in lower case, in upper case, and with a capital at the front.
fn spellings(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().flat_map(|text| spelled(text)).collect()
}

fn spelled(text: &str) -> Vec<String> {
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    if letters > MOST_LETTERS {
        let (lower, upper) = (text.to_ascii_lowercase(), text.to_ascii_uppercase());
        let mut first = lower.clone();
        if let Some(letter) = first.get_mut(..1) {
            letter.make_ascii_uppercase();
        }
        return vec![text.into(), lower, upper, first];
    }
    let mut spelled = vec![String::new()];
    for letter in text.chars() {
        let ways = BTreeSet::from([letter.to_ascii_uppercase(), letter.to_ascii_lowercase()]);
        let longer = |text: &String| -> Vec<String> {
            ways.iter().map(|way| format!("{text}{way}")).collect()
        };
        spelled = spelled.iter().flat_map(longer).collect();
    }
    spelled
}
