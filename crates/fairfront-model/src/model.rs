//! Model files, which contain everything needed to score rows, and the provenance of the model.

use std::path::Path;

use fairfront_core::{Calibration, Classes, Message, Unit, predictor_of, say, with};
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
    /// A row is selected if its score is at least this; absent if the target is a number or has more than two
    /// classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Added to every score.
    pub intercept: PerScore<f64>,
    /// The coefficient of each feature, in the order of the encoding's features. For a network, the
    /// weights of each hidden unit, the weights of its output, and the biases of the hidden units.
    pub coefficients: PerScore<Ordered<f64>>,
    /// The calibration that turns scores into probabilities; absent if the target is a number. Other files
    /// without it have a slope of 1 and an intercept of 0. With more than two classes, the slope is the factor
    /// of all scores, and the intercept is 0.
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

/// Values of the only score of a model, or of the score of each class if there are more than two. In JSON,
/// the value itself, or a map from classes to values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a parameter is not a number")]
pub enum PerScore<T> {
    /// Of the only score.
    One(T),
    /// Of the score of each class, in their order.
    Classes(Ordered<T>),
}

impl<T> PerScore<T> {
    fn new(classes: Option<&Classes>, values: impl IntoIterator<Item = T>) -> Option<Self> {
        let mut values = values.into_iter();
        match classes {
            None => values.next().map(Self::One),
            Some(classes) => {
                let names = classes.names.iter().cloned();
                Some(Self::Classes(Ordered(names.zip(values).collect())))
            }
        }
    }

    /// The values, in the order of the scores.
    pub fn values(&self) -> Vec<&T> {
        match self {
            Self::One(value) => vec![value],
            Self::Classes(values) => values.0.iter().map(|(_, value)| value).collect(),
        }
    }

    /// Whether there is one value, or one for each of these classes in their order.
    fn is_of(&self, classes: Option<&Classes>) -> bool {
        match (self, classes) {
            (Self::One(_), None) => true,
            (Self::Classes(values), Some(classes)) => {
                values.0.iter().map(|(name, _)| name).eq(&classes.names)
            }
            _ => false,
        }
    }
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
    /// Decisions between more than two classes, and their probabilities.
    Classes {
        classes: &'a Classes,
        /// Multiplied by all scores before they become probabilities.
        factor: f64,
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
    /// Creates a model that decides by the sign of its score or by the highest of its scores, or that predicts a
    /// number without calibration. `params` are the parameters of the predictor of the encoding's schema
    /// ([`predictor_of`]). With more than two classes, the slope of the calibration is the factor of all
    /// scores. The model contains the learners of the encoding only if it uses them. Inconsistent parts are
    /// an error.
    pub fn new(
        params: &[f64],
        calibration: Calibration,
        mut encoding: Encoding,
        reading: Reading,
        values: Ordered<Option<f64>>,
        provenance: Provenance,
    ) -> Result<Self, String> {
        let (mut coefficients, intercepts) = split(&encoding, params)?;
        prune(&mut encoding, &mut coefficients);
        let target = encoding.target.as_ref();
        let is_number = target.is_some_and(TargetRule::is_number);
        let classes = target.and_then(TargetRule::classes);
        let intercept = PerScore::new(classes, intercepts);
        let coefficients = named(&encoding, coefficients);
        let (Some(intercept), Some(coefficients)) = (intercept, coefficients) else {
            return Err("the model has no parameters".into());
        };
        let model = Self {
            format: FORMAT.into(),
            version: VERSION,
            threshold: (!is_number && classes.is_none()).then_some(0.0),
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
        let learned = used_learners(&self.encoding, &self.of_scores());
        match learned.map(|learned| &learned.outcome.source) {
            None => "linear",
            Some(Source::Trees(_)) => "trees",
            Some(Source::Columns(_) | Source::Number(_)) => "score",
        }
    }

    /// Its parameters, in the order of the predictor of the encoding's schema.
    pub fn params(&self) -> Vec<f64> {
        let mut params = self.of_scores().concat();
        params.extend(self.intercept.values());
        params
    }

    /// The coefficients of each score.
    pub(crate) fn of_scores(&self) -> Vec<Vec<f64>> {
        let scores = self.coefficients.values().into_iter();
        scores
            .map(|own| own.0.iter().map(|(_, value)| *value).collect())
            .collect()
    }

    /// The weights of each hidden unit of a network, the weights of its output, and the biases of its units.
    pub(crate) fn of_network(&self) -> (Vec<Vec<f64>>, Vec<f64>, Vec<f64>) {
        let hidden = self.encoding.hidden as usize;
        let n_features = self.encoding.schema().n_features();
        let all = self.of_scores().concat();
        let (weights, others) = all.split_at(hidden * n_features);
        let (outputs, biases) = others.split_at(hidden);
        let of_unit = |unit: usize| weights[unit * n_features..(unit + 1) * n_features].to_vec();
        (
            (0..hidden).map(of_unit).collect(),
            outputs.to_vec(),
            biases.to_vec(),
        )
    }

    /// The results that it computes from its scores.
    pub(crate) fn results(&self) -> Results<'_> {
        let target = self.encoding.target.as_ref();
        let calibration = self.calibration.unwrap_or_default();
        if let Some(unit) = target.and_then(TargetRule::unit) {
            return Results::Numbers(unit);
        }
        match target.and_then(TargetRule::classes) {
            Some(classes) => Results::Classes {
                classes,
                factor: calibration.slope,
            },
            None => Results::Decisions {
                threshold: self.threshold.unwrap_or_default(),
                calibration,
            },
        }
    }

    /// The model without columns and learners that its scores do not depend on.
    pub(crate) fn reduced(&self) -> Self {
        let (encoding, coefficients) = reduced(&self.encoding, &self.of_scores());
        let coefficients = named(&encoding, coefficients);
        Self {
            coefficients: coefficients.unwrap_or_else(|| self.coefficients.clone()),
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
        let corrupted = |problem: &str| Err(format!("the model is corrupted: {problem}"));
        self.encoding.check().map_err(|e| e.to_string())?;
        let target = self.encoding.target.as_ref();
        let classes = target.and_then(TargetRule::classes);
        if !(self.intercept.is_of(classes) && self.coefficients.is_of(classes)) {
            return corrupted("its scores do not match its target");
        }
        if classes.is_some() && self.encoding.hidden > 0 {
            return corrupted("it is a network, but networks cannot predict more than two classes");
        }
        let names = coefficient_names(&self.encoding);
        let is_named = |own: &&Ordered<f64>| own.0.iter().map(|(name, _)| name).eq(names.iter());
        if !self.coefficients.values().iter().all(is_named) {
            return corrupted("its coefficients do not match its encoding");
        }
        let calibration = self.calibration.unwrap_or_default();
        match (self.results(), self.threshold, self.calibration) {
            (Results::Decisions { .. }, None, _) => return corrupted("its threshold is missing"),
            (Results::Numbers(_), Some(_), _) | (Results::Numbers(_), _, Some(_)) => {
                return corrupted(
                    "it predicts a number, so it has no threshold and no calibration",
                );
            }
            (Results::Classes { .. }, Some(_), _) => {
                return corrupted(
                    "it decides between more than two classes, so it has no threshold",
                );
            }
            (Results::Classes { .. }, _, Some(_)) if calibration.intercept != 0.0 => {
                return corrupted(
                    "it decides between more than two classes, so the intercept of its calibration is 0",
                );
            }
            _ => {}
        }
        let params = self.params();
        if !params.iter().chain(&self.threshold).all(|n| n.is_finite()) {
            return corrupted("a coefficient is not finite");
        }
        let Calibration { slope, intercept } = calibration;
        match slope.is_finite() && slope > 0.0 && intercept.is_finite() {
            true => Ok(()),
            false => Err(format!(
                "the model is corrupted: its calibration has the slope {slope} and the intercept \
                 {intercept}; the slope must be above 0 and both must be finite"
            )),
        }
    }
}

/// The names of the coefficients of each score.
fn coefficient_names(encoding: &Encoding) -> Vec<String> {
    let schema = encoding.schema();
    match schema.target.classes() {
        None => predictor_of(&schema).names(&schema),
        Some(_) => schema.feature_names(),
    }
}

/// The coefficients of each score with their names.
fn named(encoding: &Encoding, coefficients: Vec<Vec<f64>>) -> Option<PerScore<Ordered<f64>>> {
    let names = coefficient_names(encoding);
    let named = |own: Vec<f64>| Ordered(names.iter().cloned().zip(own).collect());
    let classes = encoding.target.as_ref().and_then(TargetRule::classes);
    PerScore::new(classes, coefficients.into_iter().map(named))
}

/// Splits the parameters of the predictor of an encoding's schema into the coefficients of each score and
/// the intercepts.
pub(crate) fn split(
    encoding: &Encoding,
    params: &[f64],
) -> Result<(Vec<Vec<f64>>, Vec<f64>), String> {
    let schema = encoding.schema();
    let predictor = predictor_of(&schema);
    let n_params = predictor.n_params(&schema);
    if params.len() != n_params {
        return Err(format!(
            "the model has {} parameters, but its encoding has {n_params}; use a model and an encoding of the \
             same run",
            params.len()
        ));
    }
    let n_scores = predictor.n_scores();
    let (coefficients, intercepts) = params.split_at(n_params - n_scores);
    let n = coefficients.len() / n_scores;
    let of_score = |score: usize| coefficients[score * n..(score + 1) * n].to_vec();
    Ok(((0..n_scores).map(of_score).collect(), intercepts.to_vec()))
}
