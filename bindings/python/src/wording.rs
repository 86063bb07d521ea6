//! Names of settings in messages, as the package spells them.

use fairfront_core::{Name, Setting, Wording};
use fairfront_data::Diagnostic;
use pyo3::prelude::*;

/// Writes settings as keyword arguments.
#[derive(Debug)]
pub(crate) struct Keywords;

impl Wording for Keywords {
    fn setting(&self, setting: &Setting) -> Option<String> {
        let name = parameter(setting.name())?;
        let value = setting.value().map(literal);
        Some(match (name, setting.keys(), value) {
            // The package accepts classes, not comparisons with numbers.
            ("pos_label", _, Some(_)) => return None,
            ("objectives", _, Some(value)) => format!("{value} in objectives"),
            ("validation_fraction", _, Some(_)) => return held_out(setting.value()?),
            (name @ ("force" | "numeric" | "polish"), [], None) => format!("{name}=True"),
            (name, [], None) => name.to_owned(),
            (name, [], Some(value)) => format!("{name}={value}"),
            (name @ "sensitive_probability", [key], None) => format!("{name}[{}]", literal(key)),
            ("settings", [key], None) => format!("settings[{}]", literal(&underscored(key))),
            ("settings", [key], Some(value)) => {
                format!("settings={{{}: {value}}}", literal(&underscored(key)))
            }
            // All other parameters apply to all columns.
            _ => return None,
        })
    }
}

fn underscored(key: &str) -> String {
    key.replace('-', "_")
}

/// The parameter of an estimator or function for a setting; `None` if the package does not have it.
fn parameter(name: Name) -> Option<&'static str> {
    if name.command() == Some("stream") {
        return (name.word() == Some("window")).then_some("partial_fit and window");
    }
    Some(match name.word()? {
        "model_id" => "model_id",
        "objective" => "objectives",
        "models" => "n_models",
        "positive" => "pos_label",
        "seed" => "random_state",
        "sensitive" => "sensitive_features",
        "set" => "settings",
        "split" => "validation_fraction",
        "target" => "y",
        "weight" => "sample_weight",
        same @ ("best"
        | "confidence"
        | "exact"
        | "family"
        | "force"
        | "front_in"
        | "hidden"
        | "min_group"
        | "min_share"
        | "missing"
        | "missing_sensitive"
        | "numeric"
        | "order"
        | "penalty"
        | "polish"
        | "pool_groups"
        | "pool_rare"
        | "preset"
        | "require"
        | "reference"
        | "reservoir"
        | "sensitive_probability"
        | "solver"
        | "weights"
        | "window") => same,
        _ => return None,
    })
}

/// Writes a value as a Python literal.
fn literal(value: &str) -> String {
    match value {
        "none" => "None".into(),
        "true" => "True".into(),
        "false" => "False".into(),
        number if number.parse::<f64>().is_ok_and(f64::is_finite) => number.into(),
        text => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
    }
}

/// The test rows of a split such as 60/10/30, which the package draws by `holdout_fraction`.
fn held_out(split: &str) -> Option<String> {
    let shares: Option<Vec<f64>> = split.split('/').map(|share| share.parse().ok()).collect();
    match shares?.as_slice() {
        [_, _, test] => Some(format!("holdout_fraction={}", test / 100.0)),
        _ => None,
    }
}

/// Diagnostics with the package's names of settings.
pub(crate) fn worded(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    diagnostics.iter().map(|n| n.worded(&Keywords)).collect()
}

/// The settings that messages may mention, each with its parameter in the package, for tests.
#[pyfunction]
pub(crate) fn named_settings() -> Vec<(String, Option<&'static str>)> {
    let named = [
        fairfront_data::setting::ALL,
        fairfront_model::setting::ALL,
        fairfront_run::setting::ALL,
        fairfront_stream::setting::ALL,
    ];
    let word = |name: Name| {
        let words = name.command().into_iter().chain(name.word());
        (words.collect::<Vec<_>>().join(" "), parameter(name))
    };
    named.concat().into_iter().map(word).collect()
}
