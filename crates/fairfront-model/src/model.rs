//! Model files, which contain everything needed to score rows, and the provenance of the model.

use std::path::Path;

use fairfront_core::{Calibration, Message, Unit, predictor_of, say, with};
use fairfront_data::{Encoding, Ordered, Reading, TargetRule};
use fairfront_learn::Source;
use serde::{Deserialize, Serialize};

use crate::file::write_file;
use crate::seal::{self, seal};
use crate::setting::SELECT_MODEL;
use crate::used::{prune, reduced, used_learners};
use crate::{Error, ModelCertificate, ModelId};

const FORMAT: &str = "fairfront-model";
const VERSION: u32 = 1;
/// Files larger than this are not fairfront models.
const MOST_BYTES: u64 = 1 << 30;

/// A model that is linear in its features or a network of them, with everything that turns raw columns
/// into these. Features are encoded columns, or functions of the probabilities of learners such as boosted
/// trees. A model contains no rows of the data, and reading it executes no code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    format: String,
    version: u32,
    /// A row is selected if its score is at least this; absent if the target is a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Added to every score.
    pub intercept: f64,
    /// The coefficient of each feature, in the order of the encoding's features. For a network, the
    /// weights of each hidden unit, the weights of its output, and the biases of the hidden units.
    pub coefficients: Ordered<f64>,
    /// The calibration that turns scores into probabilities; absent if the target is a number. Other files
    /// without it have a slope of 1 and an intercept of 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// The encoding of raw columns as features.
    pub encoding: Encoding,
    /// The reading options for files with such rows.
    pub reading: Reading,
    /// Objectives and measures of the model on the rows of its run, by the names of the front's columns;
    /// `None` if a measure is undefined.
    pub values: Ordered<Option<f64>>,
    /// The requirements, and whether they are certified; absent without requirements.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certificate: Option<ModelCertificate>,
    /// The origin of the model.
    pub provenance: Provenance,
}

/// The results that a model computes from its scores.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Results<'a> {
    /// Decisions and probabilities.
    Decisions {
        /// A row is selected if its score is at least this.
        threshold: f64,
        calibration: Calibration,
    },
    /// Predictions in this unit.
    Numbers(&'a Unit),
}

/// The origin of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The folder of the run, as passed by the user.
    pub run: String,
    /// Its id on the front.
    pub model_id: ModelId,
    /// The number of models on the front.
    pub models: usize,
    /// The files or the data set.
    pub source: String,
    /// Version of the program that fitted the front.
    pub program: String,
    /// The solver.
    pub solver: String,
    /// Random seed of the split and the solver.
    pub seed: u64,
    /// The objectives with all their settings.
    pub objectives: Vec<String>,
    /// SHA-256 of encoding and encoded rows.
    pub fingerprint: String,
    /// SHA-256 of the run's `front.parquet`.
    pub front_sha256: String,
}

impl Model {
    /// Creates a model that decides by the sign of its score, or predicts a number without calibration. The
    /// model contains the learners of the encoding only if it uses them. Inconsistent parts are an error.
    pub fn new(
        intercept: f64,
        mut coefficients: Ordered<f64>,
        calibration: Calibration,
        mut encoding: Encoding,
        reading: Reading,
        values: Ordered<Option<f64>>,
        provenance: Provenance,
    ) -> Result<Self, String> {
        prune(&mut encoding, &mut coefficients);
        let is_number = encoding.target.as_ref().is_some_and(TargetRule::is_number);
        let model = Self {
            format: FORMAT.into(),
            version: VERSION,
            threshold: (!is_number).then_some(0.0),
            intercept,
            coefficients,
            calibration: (!is_number).then_some(calibration),
            encoding,
            reading,
            values,
            certificate: None,
            provenance,
        };
        model.check()?;
        Ok(model)
    }

    /// The family of the model: `"network"`, or `"trees"` or `"score"` if it combines the predictions of
    /// boosted trees or of columns, otherwise `"linear"`.
    pub fn family(&self) -> &'static str {
        if self.encoding.hidden > 0 {
            return "network";
        }
        let coefficient = |at: usize| self.coefficients.0.get(at).map(|(_, value)| *value);
        let learned = used_learners(&self.encoding, coefficient);
        match learned.map(|learned| &learned.outcome.source) {
            None => "linear",
            Some(Source::Trees(_)) => "trees",
            Some(Source::Columns(_) | Source::Number(_)) => "score",
        }
    }

    /// The results that it computes from its scores.
    pub(crate) fn results(&self) -> Results<'_> {
        match self.encoding.target.as_ref().and_then(TargetRule::unit) {
            Some(unit) => Results::Numbers(unit),
            None => Results::Decisions {
                threshold: self.threshold.unwrap_or_default(),
                calibration: self.calibration.unwrap_or_default(),
            },
        }
    }

    /// The model without columns and learners that its scores do not depend on.
    pub(crate) fn reduced(&self) -> Self {
        let coefficients: Vec<f64> = self.coefficients.0.iter().map(|(_, c)| *c).collect();
        let (encoding, coefficients) = reduced(&self.encoding, &coefficients);
        let names = encoding.schema().feature_names();
        Self {
            coefficients: Ordered(names.into_iter().zip(coefficients).collect()),
            encoding,
            ..self.clone()
        }
    }

    /// Writes the model as readable JSON with a checksum, from which every number is restored exactly.
    pub fn to_json(&self) -> String {
        // The types contain only string keys and finite numbers, which JSON can represent.
        seal(&serde_json::to_string_pretty(self).unwrap_or_default())
    }

    /// Reads the JSON of [`Model::to_json`]. Changed text and other versions are rejected with the reason.
    pub fn from_json(text: &str) -> Result<Self, Message> {
        #[derive(Deserialize)]
        struct Header {
            format: String,
            version: u32,
        }
        let header: Header = serde_json::from_str(text)
            .map_err(|e| format!("not a fairfront model file, or the file is corrupted ({e})"))?;
        if header.format != FORMAT {
            let format = header.format;
            return Err(say![
                "not a fairfront model file: the format is {format:?}, expected {FORMAT:?}"
            ]);
        }
        if header.version != VERSION {
            let remedy = match header.version > VERSION {
                true => "upgrade fairfront",
                false => "select the model again",
            };
            let version = header.version;
            return Err(say![
                "model version {version} is not supported, only version {VERSION}; {remedy}"
            ]);
        }
        let text = seal::open(text).map_err(|broken| {
            say![
                broken.problem();
                "restore it from a copy";
                "write it again", with(SELECT_MODEL)
            ]
        })?;
        let model: Self =
            serde_json::from_str(&text).map_err(|e| format!("the model is corrupted ({e})"))?;
        model.check()?;
        Ok(model)
    }

    /// Reads a model file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let unreadable = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::NotFound => Error::file(path, "no such file; check the path"),
            kind => Error::file(path, format!("{kind}; choose a model file")),
        };
        let size = std::fs::metadata(path).map_err(unreadable)?;
        if size.is_dir() {
            let problem = say![
                "is a folder; write a model of the run to a file",
                with(SELECT_MODEL.is("FILE")),
                ", and pass that file"
            ];
            return Err(Error::of_file(path, problem));
        }
        if size.len() > MOST_BYTES {
            return Err(Error::file(
                path,
                "not a fairfront model file: the file is too large",
            ));
        }
        let bytes = std::fs::read(path).map_err(unreadable)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::file(path, "not a fairfront model file: not a text file"))?;
        Self::from_json(&text).map_err(|e| Error::of_file(path, e))
    }

    /// Writes a model file atomically. An existing file is replaced only with `force`.
    pub fn write(&self, path: &Path, force: bool) -> Result<(), Error> {
        write_file(path, self.to_json().as_bytes(), force)
    }

    /// Checks the model for inconsistencies.
    fn check(&self) -> Result<(), String> {
        self.encoding.check().map_err(|e| e.to_string())?;
        let schema = self.encoding.schema();
        let names = predictor_of(&schema).names(&schema);
        let own = self.coefficients.0.iter().map(|(name, _)| name);
        if !own.eq(names.iter()) {
            return Err(
                "the model is corrupted: its coefficients do not match its encoding".into(),
            );
        }
        let is_number = matches!(self.results(), Results::Numbers(_));
        match (self.threshold, self.calibration) {
            (None, _) if !is_number => {
                return Err("the model is corrupted: its threshold is missing".into());
            }
            (Some(_), _) | (_, Some(_)) if is_number => {
                return Err(
                    "the model is corrupted: it predicts a number, so it has no threshold and no \
                     calibration"
                        .into(),
                );
            }
            _ => {}
        }
        let numbers = self.coefficients.0.iter().map(|(_, value)| value);
        let mut numbers = numbers.chain([&self.intercept]).chain(&self.threshold);
        if !numbers.all(|n| n.is_finite()) {
            return Err("the model is corrupted: a coefficient is not finite".into());
        }
        let Calibration { slope, intercept } = self.calibration.unwrap_or_default();
        match slope.is_finite() && slope > 0.0 && intercept.is_finite() {
            true => Ok(()),
            false => Err(format!(
                "the model is corrupted: its calibration has the slope {slope} and the intercept \
                 {intercept}; the slope must be above 0 and both must be finite"
            )),
        }
    }
}
