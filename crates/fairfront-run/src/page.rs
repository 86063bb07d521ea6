//! The data of a run's report.

use std::path::{Path, PathBuf};

use fairfront_core::Classes;
use fairfront_model::ModelId;
use fairfront_report::{
    LearnedText, ModelText, Number, Numbers, PageAttribute, PageColumn, PageData, PageOpening,
};

use crate::calibration::SLOPE;
use crate::certify::{Use, logged_uses};
use crate::select::{FrontColumns, opening};
use crate::{Error, Family, FrontIn, FrontTable, Run, RunInfo, run_name};

/// The data of the report of the run in a folder, or of the newest run in a state.
pub fn page_data(folder: &Path) -> Result<PageData, Error> {
    read(folder)?.page(&run_name(folder))
}

/// Reads a run with the log of its folder, from which the report shows certificates.
fn read(folder: &Path) -> Result<Run, Error> {
    let mut run = Run::read(folder)?;
    run.uses = logged_uses(folder)?;
    Ok(run)
}

/// The data of the report of a run with this name.
pub(crate) fn data(run: &Run, name: &str) -> Result<PageData, Error> {
    let wrong = |problem: &str| Error::file(Path::new(name), problem);
    if run.front.is_empty() {
        return Err(wrong("the front has no models; fit again"));
    }
    let text = text(run, name)?
        .ok_or_else(|| wrong("a model does not have the expected format; fit again"))?;
    let Run {
        info,
        front,
        encoding,
        ..
    } = run;
    let attributes = encoding.attributes.iter().map(|rule| PageAttribute {
        name: rule.attribute.name.clone(),
        groups: rule.attribute.groups.clone(),
    });
    let numeric = encoding.numeric.iter().map(|rule| rule.column.clone());
    let categorical = encoding.categorical.iter().map(|rule| rule.column.clone());
    let start = opening(&FrontColumns::of(info, front))?;
    let params = |params: &Vec<f64>| Numbers(params.iter().copied().map(Some).collect());
    Ok(PageData {
        name: name.into(),
        front_in: match info.judged.front_in {
            FrontIn::Objectives => "objectives".into(),
            FrontIn::Measures => "measures".into(),
        },
        measures: info.judged.measures.clone(),
        columns: columns(info, front),
        families: families(info, front),
        features: info.features.clone(),
        params: front.params.iter().map(params).collect(),
        unmitigated_params: params(&info.unmitigated.params),
        attributes: attributes.collect(),
        inputs: numeric.chain(categorical).collect(),
        opening: PageOpening {
            model_id: start.model_id.map(ModelId::number),
            reason: start.reason,
        },
        start: None,
        certificates: certificates(&run.uses).map_err(|e| wrong(&e.to_string()))?,
        model: text,
        run: shown(info).map_err(|e| wrong(&e.to_string()))?,
    })
}

/// Writes the report of a run into its folder and replaces an existing one. In the state of a
/// stream, the report shows the current front. Returns its path.
pub fn write_page(folder: &Path) -> Result<PathBuf, Error> {
    read(folder)?.write_page(folder)
}

fn columns(run: &RunInfo, front: &FrontTable) -> Vec<PageColumn> {
    let both = front.names.iter().zip(&front.columns);
    both.map(|(name, values)| PageColumn {
        name: name.clone(),
        values: Numbers(values.clone()),
        unmitigated: Number(run.unmitigated.values.get(name).copied().flatten()),
    })
    .collect()
}

/// The families of the models, that of the unmitigated model last; empty if all are linear.
fn families(run: &RunInfo, front: &FrontTable) -> Vec<String> {
    let models = (0..front.len()).map(|model| front.family(model));
    let all: Vec<Family> = models.chain([run.unmitigated.family]).collect();
    match all.iter().all(Family::is_linear) {
        true => Vec::new(),
        false => all.iter().map(|family| family.name().into()).collect(),
    }
}

/// Certificates without the individual tests, which the report does not show.
fn certificates(uses: &[Use]) -> serde_json::Result<Vec<serde_json::Value>> {
    // Searches compare models with a baseline, which the report does not know.
    let own = uses
        .iter()
        .filter(|used| !used.certificate.against_baseline);
    let shown = own.map(|used| {
        let mut shown = serde_json::to_value(&used.certificate)?;
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("tested");
        }
        Ok(shown)
    });
    shown.collect()
}

/// `run.json` without the fields that are elsewhere in the report.
fn shown(run: &RunInfo) -> serde_json::Result<serde_json::Value> {
    let mut shown = serde_json::to_value(run)?;
    if let Some(fields) = shown.as_object_mut() {
        for elsewhere in ["unmitigated", "features", "objectives", "certified"] {
            fields.remove(elsewhere);
        }
    }
    Ok(shown)
}

/// The text that model files of the run have in common; `None` if it does not have the expected
/// format.
fn text(run: &Run, name: &str) -> Result<Option<ModelText>, Error> {
    let first = run.encoding.columns_schema().numeric.len();
    let count = run
        .encoding
        .learned
        .as_ref()
        .map_or(0, |l| l.features.len());
    // The coefficients of each score, and then all intercepts.
    let n_scores = run.info.meaning.target.classes().map_or(1, Classes::len);
    let uses_learners = |params: &Vec<f64>| {
        let per_score = params.len() / n_scores - 1;
        let mut scores = params.chunks(per_score.max(1)).take(n_scores);
        scores.any(|own| own.iter().skip(first).take(count).any(|c| *c != 0.0))
    };
    let learned = run.front.params.iter().position(uses_learners);
    let id = ModelId::of_index(learned.unwrap_or(0));
    let is_calibrated = run.front.column(SLOPE).is_some();
    let cut = cut(&run.model(name, id)?.to_json(), id, is_calibrated);
    Ok(match learned {
        None if count == 0 => cut,
        None => cut.map(|cut| without_learners(cut, first, count)),
        Some(_) => cut.and_then(|cut| with_learners(cut, first, count)),
    })
}

/// Cuts a model file where models differ; without calibrations, all models have the same text there. Cutting at line ends is safe: no string of a JSON file
/// contains a line end, and only top-level fields have this indentation.
fn cut(model: &str, id: ModelId, is_calibrated: bool) -> Option<ModelText> {
    let at = |key: &str| model.find(&format!("\n  \"{key}\": ")).map(|at| at + 1);
    let (intercept, encoding) = (at("intercept")?, at("encoding")?);
    let same = match is_calibrated {
        true => encoding,
        false => at("calibration").unwrap_or(encoding),
    };
    let (values, provenance) = (at("values")?, at("provenance")?);
    let key = "\n    \"model_id\": ";
    let id_at = provenance + model[provenance..].find(key)? + key.len();
    // The report computes the checksum of each model itself.
    let closing = model[id_at..at("checksum")?].strip_prefix(&id.to_string())?;
    Some(ModelText {
        opening: model[..intercept].into(),
        middle: model[same..values].into(),
        learned: None,
        origin: model[provenance..id_at].into(),
        closing: closing.strip_suffix(",\n")?.into(),
    })
}

/// Adds the text of models without learners to that of a model with them. The learners are the last
/// field of the encoding.
fn with_learners(text: ModelText, first: usize, count: usize) -> Option<ModelText> {
    let with = text.middle;
    let start = with.find(",\n    \"learned\": ")?;
    let end = start + with[start..].find("\n  },\n")?;
    Some(ModelText {
        middle: format!("{}{}", &with[..start], &with[end..]),
        learned: Some(LearnedText {
            middle: with,
            first,
            count,
        }),
        ..text
    })
}

/// Marks the features of learners that no model uses, which are not in the files of models.
fn without_learners(text: ModelText, first: usize, count: usize) -> ModelText {
    let learned = LearnedText {
        middle: text.middle.clone(),
        first,
        count,
    };
    ModelText {
        learned: Some(learned),
        ..text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_cut_where_models_differ() {
        let text = "{\n  \"format\": \"f\",\n  \"intercept\": 1.0,\n  \"coefficients\": {\n    \"a\": 1.0\n  },\n  \
                    \"calibration\": {\n    \"slope\": 1.0\n  },\n  \"encoding\": {\n    \"values\": 1\n  },\n  \"values\": {\n    \"provenance\": 2.0\n  },\n  \
                    \"provenance\": {\n    \"run\": \"\\n  \\\"model_id\\\": 1\",\n    \"model_id\": 1,\n    \
                    \"models\": 3\n  },\n  \"checksum\": \"00\"\n}\n";
        let first = ModelId::of_index(0);
        let same = cut(text, first, false).unwrap().middle;
        assert!(same.starts_with("  \"calibration\": {\n"), "{same}");
        let cut = cut(text, first, true).unwrap();
        assert_eq!(cut.opening, "{\n  \"format\": \"f\",\n");
        assert_eq!(cut.middle, "  \"encoding\": {\n    \"values\": 1\n  },\n");
        assert!(
            cut.origin.ends_with("\n    \"model_id\": "),
            "{}",
            cut.origin
        );
        assert_eq!(cut.closing, ",\n    \"models\": 3\n  }");
        assert!(super::cut("{}", first, true).is_none());
    }

    #[test]
    fn learners_are_cut_from_the_text_of_models() {
        let text = |middle: &str| ModelText {
            opening: String::new(),
            middle: middle.into(),
            learned: None,
            origin: String::new(),
            closing: String::new(),
        };
        let with = "  \"encoding\": {\n    \"date_parts\": [],\n    \"learned\": {\n      \"a\": {\n        \"b\": 1\n      },\n      \"c\": 2\n    }\n  },\n  \"reading\": {}\n";
        let cut = with_learners(text(with), 3, 2).unwrap();
        assert_eq!(
            cut.middle,
            "  \"encoding\": {\n    \"date_parts\": []\n  },\n  \"reading\": {}\n"
        );
        let learned = cut.learned.unwrap();
        assert_eq!((learned.middle.as_str(), learned.first), (with, 3));
        assert!(with_learners(text("{}"), 0, 1).is_none());
    }
}
