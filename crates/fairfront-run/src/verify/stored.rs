//! Reads the files of a run as they are now, and checks whether they were changed.

use std::path::Path;

use fairfront_core::Points;
use fairfront_model::seal::sum;
use fairfront_model::{Error as ModelError, ModelId};
use serde_json::{Value, json};

use super::Check;
use crate::certify::TALLIES;
use crate::{Error, FrontTable, RunInfo};

const FRONT: &str = "front.parquet";

/// The stored encoding, or why it cannot be read.
pub(super) fn read_encoding(folder: &Path, info: &RunInfo) -> (Check, Option<Value>) {
    read_json("encoding.json", folder, &info.encoding_sha256)
}

/// The stored counts, or why they cannot be read.
pub(super) fn read_tallies(folder: &Path, info: &RunInfo) -> (Check, Option<Value>) {
    read_json(TALLIES, folder, &info.tallies_sha256)
}

/// The bytes of a stored file, if it can be read.
fn read(name: &str, folder: &Path) -> (Check, Option<Vec<u8>>) {
    let mut check = Check::new(name);
    match std::fs::read(folder.join(name)) {
        Ok(bytes) => (check, Some(bytes)),
        Err(e) => {
            check.problem = Some(format!("the file cannot be read ({})", e.kind()));
            (check, None)
        }
    }
}

/// A stored file, if it can be read, and whether it is the one that the run wrote.
fn read_json(name: &str, folder: &Path, written: &str) -> (Check, Option<Value>) {
    let (mut check, bytes) = read(name, folder);
    let Some(bytes) = bytes else {
        return (check, None);
    };
    check.written(&bytes, written);
    match serde_json::from_slice(&bytes) {
        Ok(value) => (check, Some(value)),
        Err(e) => {
            check.problem = Some(format!("the file is corrupted ({e})"));
            (check, None)
        }
    }
}

/// The front, if its file can be read, and whether it is the one that the run wrote.
pub(super) fn read_front(folder: &Path, info: &RunInfo) -> (Option<FrontTable>, Check) {
    let (mut check, bytes) = read(FRONT, folder);
    let Some(bytes) = bytes else {
        return (None, check);
    };
    let (stored, found) = (json!(info.front_sha256), json!(sum(&bytes)));
    check.json("run.json", "front_sha256", &stored, &found, 0.0);
    check.written(&bytes, &info.front_sha256);
    match FrontTable::from_bytes(&folder.join(FRONT), bytes) {
        Ok(front) => (Some(front), check),
        Err(e) => {
            check.problem = Some(match e {
                Error::Model(ModelError::File { problem, .. }) => problem.to_string(),
                e => e.to_string(),
            });
            (None, check)
        }
    }
}

/// The parameters of the front's models and, at the end, of the unmitigated model.
pub(super) fn points_of(front: &FrontTable, info: &RunInfo, n: usize) -> Result<Points, String> {
    let mut points = Points::new(n);
    let models = front.params.iter().chain([&info.unmitigated.params]);
    for (index, params) in models.enumerate() {
        let place = match index == front.len() {
            true => "the unmitigated model".into(),
            false => format!("model {}", ModelId::of_index(index)),
        };
        if params.len() != n {
            let found = params.len();
            return Err(format!(
                "{place} has {found} parameters, but these rows need {n}"
            ));
        }
        if let Some(at) = params.iter().position(|p| !p.is_finite()) {
            return Err(format!("{place}: parameter {at} is {}", params[at]));
        }
        points.push(params);
    }
    Ok(points)
}
