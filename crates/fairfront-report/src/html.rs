//! The interactive report: one HTML file that makes no network requests.
//!
//! Script and style are built from `web/src` into `web/dist`. The data goes into a block that
//! browsers do not execute. The content security policy allows this script and this style, and no
//! requests.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

const SCRIPT: &str = include_str!("../web/dist/report.js");
const STYLE: &str = include_str!("../web/dist/report.css");

/// The data of a run that its report shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PageData {
    /// The name of the run's folder, as passed to the command.
    pub name: String,
    /// The values that the front compares: `measures` or `objectives`.
    pub front_in: String,
    /// The measures that match the objectives; empty if there are none.
    pub measures: Vec<String>,
    /// Objectives and measures of all models.
    pub columns: Vec<PageColumn>,
    /// The name of each model's family, that of the unmitigated model last; empty if all models are
    /// linear.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<String>,
    /// Feature names in the order of the parameters, without the intercept.
    pub features: Vec<String>,
    /// Parameters of each model; the intercept comes last.
    pub params: Vec<Numbers>,
    /// Parameters of the unmitigated model.
    pub unmitigated_params: Numbers,
    /// The sensitive attributes.
    pub attributes: Vec<PageAttribute>,
    /// Columns that are features, before encoding.
    pub inputs: Vec<String>,
    /// The model that the report shows first.
    pub opening: PageOpening,
    /// Uses of the certifying rows: requirements, how they were tested, and the certified models.
    pub certificates: Vec<serde_json::Value>,
    /// The selection to show if the address has none: requirements, rule and axes, written as in
    /// the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The parts that all model files have in common.
    pub model: ModelText,
    /// Facts about the run: solver, settings, rows, warnings and notes.
    pub run: serde_json::Value,
}

/// The model that a report shows first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageOpening {
    /// The id of the model; `None` for the unmitigated model.
    pub model_id: Option<usize>,
    /// The reason, as a sentence without capital and period.
    pub reason: String,
}

/// A column of the front.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PageColumn {
    /// The name, as in `front.parquet`.
    pub name: String,
    /// One value per model.
    pub values: Numbers,
    /// The value of the unmitigated model, if it has this column.
    pub unmitigated: Number,
}

/// A sensitive attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageAttribute {
    /// The name, as in the columns of the front.
    pub name: String,
    /// Its groups.
    pub groups: Vec<String>,
}

/// The text of a model file, cut where it differs from model to model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelText {
    /// The text before the intercept and the coefficients.
    pub opening: String,
    /// The text between the calibration and the values, without learners. It includes the calibration if all
    /// models have the same.
    pub middle: String,
    /// The text of models that use learners, if the front has such models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<LearnedText>,
    /// The text between the values and the model id.
    pub origin: String,
    /// The text after the model id.
    pub closing: String,
}

/// The part of a model file that differs if a model uses learners.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LearnedText {
    /// The text between the calibration and the values, with learners.
    pub middle: String,
    /// Position of the first learned feature among the features.
    pub first: usize,
    /// Number of learned features. Files of models whose coefficients of these are all 0 contain
    /// neither the features nor the learners.
    pub count: usize,
}

/// A number or a missing value, written with as few digits as give the same number when read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number(pub Option<f64>);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Whole numbers that a double holds exactly need no fraction, except minus zero.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match self.0 {
            Some(v)
                if v.fract() == 0.0 && v.abs() < EXACT && !(v == 0.0 && v.is_sign_negative()) =>
            {
                serializer.serialize_i64(v as i64)
            }
            Some(v) if v.is_finite() => serializer.serialize_f64(v),
            _ => serializer.serialize_none(),
        }
    }
}

/// Numbers, written as a single number if all are equal.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers(pub Vec<Option<f64>>);

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bits = |v: &Option<f64>| v.map(f64::to_bits);
        match self.0.split_first() {
            Some((first, rest)) if rest.iter().all(|v| bits(v) == bits(first)) => {
                Number(*first).serialize(serializer)
            }
            _ => serializer.collect_seq(self.0.iter().map(|v| Number(*v))),
        }
    }
}

impl PageData {
    /// Returns the report as HTML, with the same bytes for the same data.
    pub fn to_html(&self) -> String {
        let data = inert(&serde_json::to_string(self).unwrap_or_default());
        let mut html = String::with_capacity(data.len() + SCRIPT.len() + STYLE.len() + 4_096);
        let (script, style) = (digest(SCRIPT), digest(STYLE));
        let _ = write!(
            html,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src \
             'sha256-{script}'; style-src 'sha256-{style}'; img-src data: blob:; base-uri 'none'; \
             form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"generator\" content=\"fairfront\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>fairfront report</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n\
             <noscript>This report needs its script: allow it to see the models. It makes no \
             request.</noscript>\n\
             <div id=\"page\"></div>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n\
             <script>{SCRIPT}</script>\n</body>\n</html>\n"
        );
        html
    }
}

/// Escapes JSON for a script block of an HTML file, so that it cannot end its block or start
/// another.
fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // In JSON these characters occur only inside strings, where an escape is equivalent.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// SHA-256 in base64, as content security policies require.
fn digest(text: &str) -> String {
    base64(&Sha256::digest(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= three.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(name: &str) -> PageData {
        let column = |name: &str, values: &[f64]| PageColumn {
            name: name.into(),
            values: Numbers(values.iter().copied().map(Some).collect()),
            unmitigated: Number(Some(values[0])),
        };
        PageData {
            name: name.into(),
            front_in: "measures".into(),
            measures: vec!["1 - accuracy".into()],
            columns: vec![
                column("objective.error_rate", &[0.1, 0.25]),
                column("train.accuracy", &[0.5, 0.5]),
            ],
            families: Vec::new(),
            features: vec![name.into()],
            params: vec![Numbers(vec![Some(-0.0), Some(3.0)])],
            unmitigated_params: Numbers(vec![Some(0.1), None]),
            attributes: Vec::new(),
            inputs: vec![name.into()],
            opening: PageOpening {
                model_id: None,
                reason: name.into(),
            },
            certificates: Vec::new(),
            start: None,
            model: ModelText {
                opening: String::new(),
                middle: String::new(),
                learned: None,
                origin: String::new(),
                closing: String::new(),
            },
            run: serde_json::json!({ "source": name }),
        }
    }

    /// The text between the tags of the data block.
    fn data(html: &str) -> &str {
        let start = "<script type=\"application/json\" id=\"data\">";
        let rest = html.split_once(start).unwrap().1;
        rest.split_once("</script>").unwrap().0
    }

    #[test]
    fn numbers_are_short_and_exact() {
        let html = named("x").to_html();
        let data = data(&html);
        assert!(data.contains("\"values\":[0.1,0.25]"), "{data}");
        assert!(data.contains("\"values\":0.5"), "{data}");
        assert!(data.contains("\"params\":[[-0.0,3]]"), "{data}");
        assert!(data.contains("\"unmitigated_params\":[0.1,null]"), "{data}");
    }

    #[test]
    fn base64_agrees_with_published_values() {
        // From RFC 4648.
        let all = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in all {
            assert_eq!(base64(text.as_bytes()), expected);
        }
        // The digest of the empty string, from other programs.
        assert_eq!(digest(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn neither_script_nor_style_ends_its_block() {
        for text in [SCRIPT, STYLE] {
            assert!(
                !text.contains("</script") && !text.contains("</style") && !text.contains("<!--")
            );
        }
        assert!(SCRIPT.len() + STYLE.len() < 1_500_000);
    }

    proptest! {
        #[test]
        fn no_name_leaves_its_block(name in r#"(<|>|&|"|'|/|script|!--|\]\]|\PC|\u{2028}|\u{2029}|\x00|\n){0,40}"#) {
            let html = named(&name).to_html();
            prop_assert_eq!(html.matches("<script").count(), 2);
            prop_assert_eq!(html.matches("</script").count(), 2);
            let data = data(&html);
            let inert = !data.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\n']);
            prop_assert!(inert);
            let read: serde_json::Value = serde_json::from_str(data).unwrap();
            prop_assert_eq!(read["name"].as_str(), Some(name.as_str()));
            prop_assert_eq!(&html, &named(&name).to_html());
        }
    }
}
