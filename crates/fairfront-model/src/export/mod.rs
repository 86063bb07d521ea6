//! Exports a model for other programs, from raw columns to decisions or predicted numbers.

mod onnx;
mod proto;
mod sql;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use fairfront_data::{CategoricalRule, NumericRule, Reading};
use fairfront_learn::{Learned, LearnedFeature};

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
    /// Exports the model in a format for other programs.
    pub fn export(&self, format: ExportFormat) -> Result<Vec<u8>, Error> {
        let is_network = self.encoding.hidden > 0;
        let text = match format {
            ExportFormat::Onnx if is_network => return onnx::write(self),
            ExportFormat::Onnx => return onnx::write(&self.reduced()),
            _ if is_network => {
                return Err(Error::usage(
                    "this model is a network, which can be exported only as ONNX; choose this format",
                ));
            }
            ExportFormat::Sql => sql::write(&self.reduced())?,
            ExportFormat::Table => table::write(self)?,
        };
        Ok(text.into_bytes())
    }

    /// A description of the model for readers of the exported file.
    fn title(&self) -> String {
        let from = &self.provenance;
        let target = self.encoding.target.as_ref();
        let predicts = target.map(|target| match target.is_binary() {
            true => format!("; 1 is {}", target.condition()),
            false => format!("; predicts {}", target.column),
        });
        format!(
            "model {} of the {} in {}, fitted on {} by fairfront {}{}",
            from.model_id,
            from.models,
            from.run,
            from.source,
            from.program,
            predicts.unwrap_or_default()
        )
        .replace(|c: char| c.is_control(), " ")
    }
}

/// The terms that a score adds to its intercept, in order.
struct Terms<'a> {
    numbers: Vec<NumberTerm<'a>>,
    /// `None` if the model does not use learners.
    learned: Option<LearnedTerms<'a>>,
    categories: Vec<CategoryTerm<'a>>,
}

/// The term of a numeric column.
struct NumberTerm<'a> {
    rule: &'a NumericRule,
    /// Multiplied by the scaled value.
    coefficient: f64,
    /// Added for a missing value, in addition to the term of the mean.
    indicator: Option<f64>,
}

/// The terms of learned features.
struct LearnedTerms<'a> {
    learned: &'a Learned,
    coefficients: Vec<f64>,
}

/// The term of a categorical column: the coefficient at the index of its string.
struct CategoryTerm<'a> {
    column: &'a str,
    /// Coefficients of the categories; the last one is 0, for strings that add nothing.
    coefficients: Vec<f64>,
    /// Indices of strings.
    named: Vec<(&'a str, usize)>,
    /// The index of missing values.
    missing: usize,
    /// The index of all other strings.
    unnamed: usize,
}

impl<'a> Terms<'a> {
    /// The terms of each score. They differ only in their coefficients.
    fn of_scores(model: &'a Model) -> Vec<Self> {
        let scores = model.of_scores();
        scores.iter().map(|own| Self::with(model, own)).collect()
    }

    /// The terms of each hidden unit of a network. They differ only in their coefficients.
    fn of_units(model: &'a Model) -> Vec<Self> {
        let (weights, _, _) = model.of_network();
        weights.iter().map(|own| Self::with(model, own)).collect()
    }

    fn with(model: &'a Model, coefficients: &[f64]) -> Self {
        let mut coefficients = coefficients.iter().copied();
        // `Model::check` ensures that every feature has a coefficient.
        let mut next = || coefficients.next().unwrap_or_default();
        let numbers = model.encoding.numeric.iter().map(|rule| NumberTerm {
            rule,
            coefficient: next(),
            indicator: rule.indicator.then(&mut next),
        });
        let numbers = numbers.collect();
        let learned = model.encoding.learned.as_ref();
        let learned = learned.map(|learned| LearnedTerms {
            learned,
            coefficients: learned.features.iter().map(|_| next()).collect(),
        });
        let categories = model.encoding.categorical.iter().map(|rule| {
            let coefficients = rule
                .categories
                .iter()
                .map(|_| next())
                .chain([0.0])
                .collect();
            CategoryTerm::new(rule, coefficients, &model.reading)
        });
        Self {
            numbers,
            learned,
            categories: categories.collect(),
        }
    }

    fn columns(&self) -> BTreeSet<&'a str> {
        let numbers = self.numbers.iter().map(|term| term.rule.column.as_str());
        let categories = self.categories.iter().map(|term| term.column);
        numbers.chain(categories).collect()
    }

    /// The names of results, or different names if columns or other results already have them. Most databases
    /// ignore the case of names.
    fn results(&self, wanted: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut taken: Vec<String> = self.columns().into_iter().map(Into::into).collect();
        let mut names = Vec::new();
        for mut name in wanted {
            while taken.iter().any(|own| own.eq_ignore_ascii_case(&name)) {
                name = format!("model_{name}");
            }
            taken.push(name.clone());
            names.push(name);
        }
        names
    }
}

impl<'a> LearnedTerms<'a> {
    /// The terms of the learned features of each score; empty if the model does not use learners.
    fn of_scores<'t>(scores: &'t [Terms<'a>]) -> Vec<&'t Self> {
        let terms = scores.iter().map(|terms| terms.learned.as_ref());
        terms.collect::<Option<_>>().unwrap_or_default()
    }

    /// The features with their coefficients.
    fn features(&self) -> impl Iterator<Item = (&'a LearnedFeature, f64)> {
        let coefficients = self.coefficients.iter().copied();
        self.learned.features.iter().zip(coefficients)
    }

    /// The classes of a group learner whose probabilities the features use.
    fn classes(&self, group: usize) -> BTreeSet<usize> {
        let features = self.learned.features.iter();
        let own = features.filter_map(|feature| feature.kind.of_group());
        let own = own.filter(|(learner, _)| *learner == group);
        let own = own.map(|(_, class)| class);
        own.chain([self.learned.groups[group].reference]).collect()
    }
}

impl NumberTerm<'_> {
    /// Whether the term is always 0.
    fn is_zero(&self) -> bool {
        self.coefficient == 0.0 && self.indicator.unwrap_or_default() == 0.0
    }
}

impl CategoryTerm<'_> {
    /// Whether the term is always 0.
    fn is_zero(&self) -> bool {
        self.coefficients.iter().all(|c| *c == 0.0)
    }
}

impl<'a> CategoryTerm<'a> {
    fn new(rule: &'a CategoricalRule, coefficients: Vec<f64>, reading: &Reading) -> Self {
        let index =
            |category: Option<u32>| category.map_or(rule.categories.len(), |at| at as usize);
        let unnamed = index(rule.unnamed_category());
        let named = rule.named().into_iter();
        let named = named.filter(|text| !reading.is_missing(text));
        let named = named.map(|text| (text, index(rule.category(Some(text)))));
        Self {
            column: &rule.column,
            named: named.filter(|(_, index)| *index != unnamed).collect(),
            missing: index(rule.category(None)),
            unnamed,
            coefficients,
        }
    }
}

/// The strings that stand for a missing value, in addition to the empty string.
fn missing_strings(reading: &Reading) -> Vec<&str> {
    let strings = reading.missing_values.iter().map(|text| text.trim());
    strings.filter(|text| !text.is_empty()).collect()
}

/// Strings with more letters than this get only a few spellings.
const MOST_LETTERS: usize = 10;

/// All spellings of strings in uppercase and lowercase, for programs that only compare exactly. Long
/// strings get four: unchanged, lowercase, uppercase, and capitalized.
fn spellings(strings: &[&str]) -> BTreeSet<String> {
    strings.iter().flat_map(|text| spelled(text)).collect()
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
