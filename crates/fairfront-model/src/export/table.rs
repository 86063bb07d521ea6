//! The coefficients as CSV, for people and spreadsheets. Learned features have neither a column nor a
//! category; the learners themselves are in the model file.

use fairfront_data::MISSING_CATEGORY;

use crate::model::Results;
use crate::predict::of_class;
use crate::{Error, Model};

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

fn rows(model: &Model) -> Vec<Vec<String>> {
    let results = model.results();
    // Coefficients of a number are in the unit of the target.
    let scale_of_score = match results {
        Results::Numbers(unit) => unit.scale,
        Results::Decisions { .. } | Results::Classes { .. } => 1.0,
    };
    let row = |start: [&str; 3], coefficients: Vec<f64>, scale: [String; 3]| -> Vec<String> {
        let coefficients = coefficients.into_iter().map(number);
        let start = start.map(String::from).into_iter();
        start.chain(coefficients).chain(scale).collect()
    };
    let columns = match results {
        Results::Classes { classes, .. } => {
            let names = classes.names.iter();
            names.map(|name| of_class("coefficient", name)).collect()
        }
        Results::Decisions { .. } | Results::Numbers(_) => vec!["coefficient".to_owned()],
    };
    let header = ["feature", "column", "category"].map(String::from);
    let scale = ["shift", "factor", "mean"].map(String::from);
    let header = header.into_iter().chain(columns).chain(scale);
    let mut rows = vec![header.collect()];

    let of_scores = model.of_scores();
    let all = model.coefficients.values();
    let names = all.first().map_or(&[][..], |own| own.0.as_slice());
    for (at, ((name, _), origin)) in names.iter().zip(origins(model)).enumerate() {
        let coefficients = of_scores.iter().map(|own| scale_of_score * own[at]);
        let start = [name.as_str(), &origin.column, &origin.category];
        rows.push(row(start, coefficients.collect(), origin.scale));
    }
    let intercepts = model.intercept.values().into_iter().copied();
    let constants = match results {
        Results::Numbers(unit) => {
            let intercepts = intercepts.map(|intercept| unit.number(intercept));
            vec![("(intercept)", intercepts.collect())]
        }
        Results::Decisions {
            threshold,
            calibration,
        } => vec![
            ("(intercept)", intercepts.collect()),
            ("(threshold)", vec![threshold]),
            ("(calibration slope)", vec![calibration.slope]),
            ("(calibration intercept)", vec![calibration.intercept]),
        ],
        Results::Classes { classes, factor } => vec![
            ("(intercept)", intercepts.collect()),
            ("(calibration slope)", vec![factor; classes.len()]),
        ],
    };
    for (name, values) in constants {
        rows.push(row([name, "", ""], values, Default::default()));
    }
    rows
}

/// The origin of a feature.
#[derive(Default)]
struct Origin {
    column: String,
    category: String,
    /// Shift, factor and mean.
    scale: [String; 3],
}

/// The origins of all features, in order.
fn origins(model: &Model) -> Vec<Origin> {
    let encoding = &model.encoding;
    let of_category = |column: &str, category: &str| Origin {
        column: column.into(),
        category: category.into(),
        ..Origin::default()
    };
    let mut origins = Vec::new();
    for rule in &encoding.numeric {
        origins.push(Origin {
            column: rule.column.clone(),
            scale: [rule.shift, rule.factor, rule.mean].map(number),
            ..Origin::default()
        });
        let indicator = rule.indicator;
        origins.extend(indicator.then(|| of_category(&rule.column, MISSING_CATEGORY)));
    }
    for feature in encoding
        .learned
        .iter()
        .flat_map(|learned| &learned.features)
    {
        let [shift, factor] = [feature.shift, feature.factor].map(number);
        origins.push(Origin {
            scale: [shift, factor, String::new()],
            ..Origin::default()
        });
    }
    for rule in &encoding.categorical {
        let categories = rule.categories.iter();
        origins.extend(categories.map(|category| of_category(&rule.column, category)));
    }
    origins
}

/// The shortest decimal that reads back as the same number.
fn number(value: f64) -> String {
    format!("{value:?}")
}
