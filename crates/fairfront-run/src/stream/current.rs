//! The models of a front, under an encoding that grows, and the rows as they see them.

use std::path::Path;

use fairfront_core::{Points, Schema};
use fairfront_data::{Encoded, Encoding, Part, StoredRows};

use crate::Error;
use crate::fit::{Earlier, Fitted};
use crate::folder::run_in;

/// The front of the newest generation.
#[derive(Debug, Clone)]
pub(crate) struct Current {
    /// The encoding its points belong to.
    encoding: Encoding,
    pub(super) points: Points,
    unmitigated: Vec<f64>,
}

impl Current {
    /// Reads the front of a generation.
    pub(super) fn read(generation: &Path) -> Result<Self, Error> {
        let (info, table) = run_in(generation)?;
        let encoding = super::read_encoding(generation)?;
        let n_params = encoding.schema().n_features() + 1;
        let sound = |params: &Vec<f64>| params.len() == n_params;
        if !table.params.iter().all(sound) || !sound(&info.unmitigated.params) {
            let problem = "the front and its encoding do not belong together";
            return Err(Error::file(generation, problem));
        }
        let mut points = Points::new(n_params);
        table.params.iter().for_each(|params| points.push(params));
        Ok(Self {
            encoding,
            points,
            unmitigated: info.unmitigated.params,
        })
    }

    pub(super) fn of(fitted: &Fitted) -> Self {
        Self {
            encoding: fitted.encoded.encoding.clone(),
            points: fitted.outcome.front.points.clone(),
            unmitigated: fitted.outcome.unmitigated.points.get(0).to_vec(),
        }
    }

    /// The same models under an encoding that has grown since.
    pub(super) fn earlier(&self, grown: &Encoding, updates: u64) -> Earlier {
        let (old, new) = (self.encoding.schema(), grown.schema());
        let mut front = Points::new(new.n_features() + 1);
        for point in self.points.iter() {
            front.push(&embed(&old, &new, point));
        }
        Earlier {
            front,
            unmitigated: embed(&old, &new, &self.unmitigated),
            updates,
        }
    }
}

/// A point of one schema as one of a schema whose columns have further levels at their ends: these have
/// no effect yet.
pub(super) fn embed(old: &Schema, new: &Schema, point: &[f64]) -> Vec<f64> {
    let (numeric, mut rest) = point.split_at(old.numeric.len());
    let mut out = numeric.to_vec();
    for (before, after) in old.categorical.iter().zip(&new.categorical) {
        let (own, others) = rest.split_at(before.levels.len());
        out.extend_from_slice(own);
        out.extend(std::iter::repeat_n(
            0.0,
            after.levels.len() - before.levels.len(),
        ));
        rest = others;
    }
    out.extend_from_slice(rest);
    out
}

/// Kept rows as a front sees them. Groups that have left the rows which decide are none of its groups:
/// what was seen once must not keep those that are there from being compared.
pub(super) fn seen_by_front(encoding: &Encoding, rows: &StoredRows) -> Result<Encoded, Error> {
    let decide = [Part::Train, Part::Validation];
    let (encoding, rows) = rows.with_present_groups(encoding, &decide);
    Ok(Encoded {
        parts: rows.datasets(&encoding.schema())?,
        encoding,
        notices: Vec::new(),
    })
}
