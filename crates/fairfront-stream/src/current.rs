//! The models of a front, under an encoding that grows, and the rows as they see them.

use std::path::Path;

use fairfront_core::Points;
use fairfront_data::{Encoded, Encoding, Part, StoredRows, embed};
use fairfront_run::{Earlier, Error, Fitted, FrontTable, PenaltyInfo, RunInfo, run_in};

/// The front of the newest generation.
#[derive(Debug, Clone)]
pub(crate) struct Current {
    /// The encoding its points belong to.
    pub(super) encoding: Encoding,
    pub(super) points: Points,
    unmitigated: Vec<f64>,
    /// What its solver starts from beside it, where there is any such thing.
    pub(super) starts: Option<Points>,
    /// The penalty that was chosen with the first front.
    penalty: Option<PenaltyInfo>,
}

impl Current {
    /// Reads the front of a generation.
    pub(super) fn read(generation: &Path) -> Result<Self, Error> {
        let (info, table) = run_in(generation)?;
        let encoding = super::read_encoding(generation)?;
        let n_params = encoding.schema().n_features() + 1;
        let starts = read_starts(generation, n_params)?;
        Self::of_run(&info, &table, encoding, starts).ok_or_else(|| {
            let problem = "the front and its encoding do not belong together";
            Error::file(generation, problem)
        })
    }

    /// The front of a run; `None` where its parts do not belong together.
    pub(super) fn of_run(
        info: &RunInfo,
        table: &FrontTable,
        encoding: Encoding,
        starts: Option<Points>,
    ) -> Option<Self> {
        let n_params = encoding.schema().n_features() + 1;
        let sound = |params: &Vec<f64>| params.len() == n_params;
        if !table.params.iter().all(sound) || !sound(&info.unmitigated.params) {
            return None;
        }
        let mut points = Points::new(n_params);
        table.params.iter().for_each(|params| points.push(params));
        Some(Self {
            encoding,
            points,
            unmitigated: info.unmitigated.params.clone(),
            starts,
            penalty: info.penalty.clone(),
        })
    }

    pub(super) fn of(fitted: &Fitted) -> Self {
        Self {
            encoding: fitted.encoded.encoding.clone(),
            points: fitted.outcome.front.points.clone(),
            unmitigated: fitted.outcome.unmitigated.points.get(0).to_vec(),
            starts: fitted.starts.clone(),
            penalty: fitted.penalty.clone(),
        }
    }

    /// The same models under an encoding that has grown since.
    pub(super) fn earlier(&self, grown: &Encoding, updates: u64) -> Earlier {
        let (old, new) = (self.encoding.schema(), grown.schema());
        let grown = |points: &Points| {
            let mut all = Points::new(new.n_features() + 1);
            for point in points.iter() {
                all.push(&embed(&old, &new, point));
            }
            all
        };
        Earlier {
            front: grown(&self.points),
            starts: self.starts.as_ref().map(grown),
            unmitigated: embed(&old, &new, &self.unmitigated),
            penalty: self.penalty.clone(),
            updates,
        }
    }
}

/// The file of a generation that holds what its solver starts from.
pub(super) const STARTS: &str = "starts.json";

/// What a solver starts from, as the bytes of that file.
pub(super) fn starts_bytes(starts: &Points) -> Result<Vec<u8>, Error> {
    let points: Vec<&[f64]> = starts.iter().collect();
    serde_json::to_vec(&points).map_err(|e| Error::data(format!("starts cannot be written: {e}")))
}

fn read_starts(generation: &Path, n_params: usize) -> Result<Option<Points>, Error> {
    let path = generation.join(STARTS);
    if !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read(&path).map_err(|e| Error::file(&path, e))?;
    let points: Vec<Vec<f64>> = serde_json::from_slice(&text).map_err(|e| Error::file(&path, e))?;
    if points.iter().any(|point| point.len() != n_params) {
        let problem = "these points and the encoding do not belong together";
        return Err(Error::file(&path, problem));
    }
    Ok(Some(Points::from_vec(n_params, points.concat())))
}

/// Kept rows as a front sees them. Groups that have left the rows which decide are none of its groups:
/// what was seen once must not keep those that are there from being compared.
pub(super) fn seen_by_front(encoding: &Encoding, rows: &StoredRows) -> Result<Encoded, Error> {
    let decide = [Part::Train, Part::Validation];
    let (mut encoding, rows) = rows.with_present_groups(encoding, &decide);
    let notices = rows.fix_small_groups(&mut encoding);
    let parts = rows.datasets(&encoding.schema())?;
    Ok(Encoded::of_parts(encoding, parts, notices))
}
