//! A model file: all that is needed to score rows, and where it comes from.

use std::path::Path;

use fairfront_core::{Calibration, Message, say, with};
use fairfront_data::{Encoding, Ordered, Reading};
use serde::{Deserialize, Serialize};

use crate::file::write_file;
use crate::seal::{self, seal};
use crate::setting::SELECT_MODEL;
use crate::{Error, ModelCertificate};

const FORMAT: &str = "fairfront-model";
const VERSION: u32 = 1;
/// Larger files are none of ours.
const MOST_BYTES: u64 = 1 << 30;

/// A linear model with everything that turns raw columns into its features. It holds no row of the
/// data, and reading it executes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    format: String,
    version: u32,
    /// A row is decided for where its score is at least this.
    pub threshold: f64,
    /// Added to every score.
    pub intercept: f64,
    /// What each feature adds to the score, in the order of the encoding's features.
    pub coefficients: Ordered<f64>,
    /// How scores become probabilities; files without it have a slope of 1 and an intercept of 0.
    #[serde(default)]
    pub calibration: Calibration,
    /// How raw columns become features.
    pub encoding: Encoding,
    /// How files with such rows are read.
    pub reading: Reading,
    /// Objectives and measures of the model on the rows of its run, by the names of the front's
    /// columns; `None` where a measure could not be given.
    pub values: Ordered<Option<f64>>,
    /// What was required of it, and whether that is certified; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certificate: Option<ModelCertificate>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// Where a model comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The run's folder, as it was named.
    pub run: String,
    /// The point of its front.
    pub point: usize,
    /// How many there were.
    pub points: usize,
    /// The files or the data set.
    pub source: String,
    /// Version of the program that fitted the front.
    pub program: String,
    /// The solver.
    pub solver: String,
    /// Seed of split and solver.
    pub seed: u64,
    /// The objectives with all their settings.
    pub objectives: Vec<String>,
    /// SHA-256 of encoding and encoded rows.
    pub fingerprint: String,
    /// SHA-256 of the run's `front.parquet`.
    pub front_sha256: String,
}

impl Model {
    /// A model that decides by the sign of its score, or what cannot be right.
    pub fn new(
        intercept: f64,
        coefficients: Ordered<f64>,
        calibration: Calibration,
        encoding: Encoding,
        reading: Reading,
        values: Ordered<Option<f64>>,
        provenance: Provenance,
    ) -> Result<Self, String> {
        let model = Self {
            format: FORMAT.into(),
            version: VERSION,
            threshold: 0.0,
            intercept,
            coefficients,
            calibration,
            encoding,
            reading,
            values,
            certificate: None,
            provenance,
        };
        model.check()?;
        Ok(model)
    }

    /// The model as readable JSON with a checksum; every number comes back exactly.
    pub fn to_json(&self) -> String {
        // The types hold nothing that JSON cannot: string keys and finite numbers only.
        seal(&serde_json::to_string_pretty(self).unwrap_or_default())
    }

    /// Reads a string that [`Model::to_json`] wrote. One that was changed, or is of another version, is
    /// refused with the reason.
    pub fn from_json(text: &str) -> Result<Self, Message> {
        #[derive(Deserialize)]
        struct Header {
            format: String,
            version: u32,
        }
        let header: Header = serde_json::from_str(text)
            .map_err(|e| format!("this is no model, or it is damaged ({e})"))?;
        if header.format != FORMAT {
            let format = header.format;
            return Err(say![
                "this is no model: the format is {format:?}, expected {FORMAT:?}"
            ]);
        }
        if header.version != VERSION {
            let remedy = match header.version > VERSION {
                true => "use a newer fairfront",
                false => "select the model again",
            };
            let version = header.version;
            return Err(say![
                "the model is of version {version}, this program reads version {VERSION}; {remedy}"
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
            serde_json::from_str(&text).map_err(|e| format!("the model is damaged ({e})"))?;
        model.check()?;
        Ok(model)
    }

    /// Reads a model file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let unreadable = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Error::file(path, "there is no such file; check the path")
            }
            kind => Error::file(path, format!("{kind}; name a model file")),
        };
        let size = std::fs::metadata(path).map_err(unreadable)?;
        if size.is_dir() {
            let problem = say![
                "this is a folder; write the model of a point of a run",
                with(SELECT_MODEL.is("FILE")),
                ", and name that"
            ];
            return Err(Error::of_file(path, problem));
        }
        if size.len() > MOST_BYTES {
            return Err(Error::file(path, "this is no model: the file is too large"));
        }
        let bytes = std::fs::read(path).map_err(unreadable)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::file(path, "this is no model: it is no text"))?;
        Self::from_json(&text).map_err(|e| Error::of_file(path, e))
    }

    /// Writes a model file: whole or not at all. What is there is replaced only where `force` says so.
    pub fn write(&self, path: &Path, force: bool) -> Result<(), Error> {
        write_file(path, self.to_json().as_bytes(), force)
    }

    /// Says what cannot be right.
    fn check(&self) -> Result<(), String> {
        self.encoding.check().map_err(|e| e.to_string())?;
        let names = self.encoding.schema().feature_names();
        let own = self.coefficients.0.iter().map(|(name, _)| name);
        if !own.eq(names.iter()) {
            return Err(
                "the model is damaged: its coefficients are not those of its encoding".into(),
            );
        }
        let numbers = self.coefficients.0.iter().map(|(_, value)| value);
        let mut numbers = numbers.chain([&self.intercept, &self.threshold]);
        if !numbers.all(|n| n.is_finite()) {
            return Err("the model is damaged: a coefficient is not finite".into());
        }
        let Calibration { slope, intercept } = self.calibration;
        match slope.is_finite() && slope > 0.0 && intercept.is_finite() {
            true => Ok(()),
            false => Err(format!(
                "the model is corrupted: its calibration has the slope {slope} and the intercept \
                 {intercept}; the slope must be above 0 and both must be finite"
            )),
        }
    }
}
