//! The newest front, under an encoding that grows, and the rows that it is fitted on.

use fairfront_core::{Points, predictor_of};
use fairfront_data::{Encoded, Encoding, Part, Spec, StoredRows, embed};
use fairfront_run::{Earlier, Error, Fitted, Run, RunFiles, run_info_of};

/// The name of the source of rows in a run, unless the caller sets another one.
const SOURCE: &str = "partial_fit";
/// The file with the points that a solver starts from in addition to the front.
const STARTS: &str = "starts.json";

/// A front that the next batch updates.
#[derive(Debug, Clone)]
pub(crate) struct Front {
    /// Its run, with the encoding of the front's points.
    pub(crate) run: Run,
    /// Points that the solver starts from in addition to the front, if it needs any.
    starts: Option<Points>,
}

impl Front {
    /// Creates it from a fitted front.
    pub(crate) fn of(fitted: &Fitted, spec: &Spec) -> Self {
        Self {
            run: Run::new(run_info_of(SOURCE, None, spec, fitted), fitted),
            starts: fitted.starts.clone(),
        }
    }

    /// Number of models on the front.
    pub(crate) fn len(&self) -> usize {
        self.run.front.len()
    }

    /// The same models under an encoding that has grown since.
    pub(crate) fn earlier(&self, grown: &Encoding, updates: u64) -> Earlier {
        let Run { info, front, .. } = &self.run;
        let mut grown = grown.clone();
        // Learners are fitted again with each batch; until then, their features are the old ones.
        grown.learned.clone_from(&self.run.encoding.learned);
        grown.hidden = self.run.encoding.hidden;
        let (old, new) = (self.run.encoding.schema(), grown.schema());
        let mut families = front.families.clone();
        families.push(info.unmitigated.family);
        let mut points = Points::new(predictor_of(&new).n_params(&new));
        let mut starts = self.starts.as_ref().map(|_| points.clone());
        for params in &front.params {
            points.push(&embed(&old, &new, params));
        }
        if let (Some(starts), Some(before)) = (&mut starts, &self.starts) {
            let before = before.iter();
            before.for_each(|point| starts.push(&embed(&old, &new, point)));
        }
        Earlier {
            front: points,
            starts,
            unmitigated: embed(&old, &new, &info.unmitigated.params),
            penalty: info.penalty.clone(),
            updates,
            families,
        }
    }

    /// The file of the points that its solver starts from, if there are any.
    pub(crate) fn starts_file(&self) -> Result<RunFiles, Error> {
        let Some(starts) = &self.starts else {
            return Ok(Vec::new());
        };
        let points: Vec<&[f64]> = starts.iter().collect();
        let bytes = serde_json::to_vec(&points);
        let bytes = bytes.map_err(|e| Error::data(format!("{STARTS}: cannot be written ({e})")))?;
        Ok(vec![(STARTS, bytes)])
    }

    /// Reads the front from these files, by name.
    pub(crate) fn from_files(files: &[(&str, &[u8])]) -> Result<Self, Error> {
        let run = Run::from_files(files)?;
        let n_params = predictor_of(&run.encoding.schema()).n_params(&run.encoding.schema());
        let starts = files.iter().find(|(name, _)| *name == STARTS);
        let starts: Option<Vec<Vec<f64>>> = starts
            .map(|(_, bytes)| serde_json::from_slice(bytes))
            .transpose()
            .map_err(|e| Error::data(format!("{STARTS}: the file is corrupted ({e})")))?;
        let fits = |point: &Vec<f64>| point.len() == n_params;
        if !starts.iter().flatten().all(fits) || !fits(&run.info.unmitigated.params) {
            return Err(Error::data(
                "the front and its encoding do not match; restore both from the same copy of the state",
            ));
        }
        let starts = starts.map(|points| Points::from_vec(n_params, points.concat()));
        Ok(Self { run, starts })
    }
}

/// Encodes the kept rows for a front. Groups without training or validation rows are left out, so that they
/// do not prevent the comparison of the other groups.
pub(super) fn seen_by_front(encoding: &Encoding, rows: &StoredRows) -> Result<Encoded, Error> {
    let decide = [Part::Train, Part::Validation];
    let (mut encoding, rows) = rows.with_present_groups(encoding, &decide);
    let diagnostics = rows.fix_small_groups(&mut encoding);
    let parts = rows.datasets(&encoding.schema())?;
    Ok(Encoded::of_parts(encoding, parts, diagnostics))
}
