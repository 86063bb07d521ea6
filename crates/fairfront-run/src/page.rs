//! What the page of a run shows.

use std::path::{Path, PathBuf};

use fairfront_report::{ModelText, Number, Numbers, PageAttribute, PageColumn, PageData};

use crate::file::write_in_run;
use crate::folder::PAGE;
use crate::{Error, FrontIn, FrontTable, Model, RunInfo, read_run};

/// What the page shows of the run in a folder, or of the newest one in a state.
pub fn page_data(folder: &Path) -> Result<PageData, Error> {
    let (run, front, model) = read_both(folder)?;
    let text = cut(&model.to_json()).ok_or_else(|| {
        let problem = "the model of point 0 is not written as expected; fit again";
        Error::file(folder, problem)
    })?;
    let encoding = &model.encoding;
    let attributes = encoding.attributes.iter().map(|rule| PageAttribute {
        name: rule.attribute.name.clone(),
        groups: rule.attribute.groups.clone(),
    });
    let numeric = encoding.numeric.iter().map(|rule| rule.column.clone());
    let categorical = encoding.categorical.iter().map(|rule| rule.column.clone());
    let params = |params: &Vec<f64>| Numbers(params.iter().copied().map(Some).collect());
    Ok(PageData {
        name: folder.display().to_string(),
        objectives: run.objectives.clone(),
        front_in: match run.judged.front_in {
            FrontIn::Objectives => "objectives".into(),
            FrontIn::Measures => "measures".into(),
        },
        measures: run.judged.measures.clone(),
        columns: columns(&run, &front),
        features: run.features.clone(),
        params: front.params.iter().map(params).collect(),
        unmitigated_params: params(&run.unmitigated.params),
        attributes: attributes.collect(),
        inputs: numeric.chain(categorical).collect(),
        model: text,
        run: said(&run).map_err(|e| Error::file(folder, e))?,
    })
}

/// Writes the page of a run into its folder, where it is one of its files; what is there is replaced. In
/// the state of a stream it shows the front of now. Returns where it is.
pub fn write_page(folder: &Path) -> Result<PathBuf, Error> {
    let html = page_data(folder)?.to_html();
    let path = folder.join(PAGE);
    write_in_run(folder, &path, html.as_bytes())?;
    Ok(path)
}

/// A run and the model of its first point.
fn read_both(folder: &Path) -> Result<(RunInfo, FrontTable, Model), Error> {
    // A stream may come by another front between one and the other.
    const TRIES: usize = 10;
    for _ in 0..TRIES {
        let (run, front) = read_run(folder)?;
        if front.is_empty() {
            return Err(Error::file(folder, "the front has no points; fit again"));
        }
        let model = Model::of(folder, 0)?;
        if model.provenance.front_sha256 == run.front_sha256 {
            return Ok((run, front, model));
        }
    }
    Err(Error::file(
        folder,
        "the run changes while it is read; try again",
    ))
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

/// `run.json` without what is elsewhere in the page.
fn said(run: &RunInfo) -> serde_json::Result<serde_json::Value> {
    let mut said = serde_json::to_value(run)?;
    if let Some(fields) = said.as_object_mut() {
        for elsewhere in ["unmitigated", "features", "objectives"] {
            fields.remove(elsewhere);
        }
    }
    Ok(said)
}

/// A model file cut where it differs from point to point. Lines are safe to cut at: no text of a JSON file
/// holds one's end, and only its own fields are indented like this.
fn cut(model: &str) -> Option<ModelText> {
    let at = |key: &str| model.find(&format!("\n  \"{key}\": ")).map(|at| at + 1);
    let (intercept, encoding) = (at("intercept")?, at("encoding")?);
    let (values, provenance) = (at("values")?, at("provenance")?);
    let point = "\n    \"point\": 0";
    let point_at = provenance + model[provenance..].find(point)?;
    Some(ModelText {
        opening: model[..intercept].into(),
        middle: model[encoding..values].into(),
        origin: model[provenance..point_at + point.len() - 1].into(),
        closing: model[point_at + point.len()..].into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_cut_where_points_differ() {
        let text = "{\n  \"format\": \"f\",\n  \"intercept\": 1.0,\n  \"coefficients\": {\n    \"a\": 1.0\n  },\n  \
                    \"encoding\": {\n    \"values\": 1\n  },\n  \"values\": {\n    \"provenance\": 2.0\n  },\n  \
                    \"provenance\": {\n    \"run\": \"\\n  \\\"point\\\": 0\",\n    \"point\": 0,\n    \
                    \"points\": 3\n  }\n}\n";
        let cut = cut(text).unwrap();
        assert_eq!(cut.opening, "{\n  \"format\": \"f\",\n");
        assert_eq!(cut.middle, "  \"encoding\": {\n    \"values\": 1\n  },\n");
        assert!(cut.origin.ends_with("\n    \"point\": "), "{}", cut.origin);
        assert_eq!(cut.closing, ",\n    \"points\": 3\n  }\n}\n");
        assert!(super::cut("{}").is_none());
    }
}
