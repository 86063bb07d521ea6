//! Model files.

use fairfront_model::{ExportFormat, Model, score_table};

use crate::mutate::Form;
use crate::{Part, Taken, Target, fixture, meaning, seal};

/// A model of classes.
const CLASSES: &str = include_str!("../../../fairfront-model/cases/model-classes.json");

/// A model file, unchanged and with an updated checksum.
pub(super) struct ModelFile;

impl Target for ModelFile {
    fn name(&self) -> &'static str {
        "model"
    }
    fn parts(&self) -> Vec<Part> {
        vec![Part {
            name: "",
            form: Form::Json,
            seeds: vec![
                fixture::model().as_bytes().to_vec(),
                CLASSES.as_bytes().to_vec(),
            ],
        }]
    }
    fn turns(&self) -> usize {
        10
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let raw = read(input)?;
        let originals = [fixture::model(), CLASSES].map(seal::unsealed);
        let is_same =
            std::str::from_utf8(input).is_ok_and(|text| originals.contains(&seal::unsealed(text)));
        if raw == Taken::Accepted && !is_same {
            return Err("a change passes the checksum".into());
        }
        let sealed = read(&seal::object(input))?;
        Ok(match (raw, sealed) {
            (Taken::Refused, Taken::Refused) => Taken::Refused,
            _ => Taken::Accepted,
        })
    }
}

fn read(input: &[u8]) -> Result<Taken, String> {
    let text = std::str::from_utf8(input);
    let Ok(Ok(model)) = text.map(Model::from_json) else {
        return Ok(Taken::Refused);
    };
    // The checksum differs if the same model is formatted differently.
    let content = seal::unsealed(&String::from_utf8_lossy(input));
    let again = seal::unsealed(&model.to_json());
    if let Some(problem) = meaning::difference(content.as_bytes(), again.as_bytes()) {
        return Err(problem);
    }
    use_model(&model);
    Ok(Taken::Accepted)
}

/// Uses a model as the commands do.
pub(super) fn use_model(model: &Model) {
    // Errors are allowed here.
    for format in [ExportFormat::Onnx, ExportFormat::Sql, ExportFormat::Table] {
        let _ = model.export(format);
    }
    let _ = score_table(&model.encoding, &model.params(), &fixture::prepared().table);
}
