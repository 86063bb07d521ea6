//! A run in memory, and the bytes of its files.

use std::path::{Path, PathBuf};

use fairfront_core::Calibration;
use fairfront_data::{Encoding, Known, Ordered, Prepared, Reading};
use fairfront_model::{Model, Provenance, write_file};
use fairfront_report::PageData;

use crate::calibration;
use crate::certify::{TALLIES, USES, Use, uses_from_bytes};
use crate::folder::{
    ESTIMATOR, FILES, PAGE, check_sum, files_of_run, front_of, front_table, info_of, parquet_of,
    run_in, run_info,
};
use crate::place::{check_folder, recover, write_run};
use crate::store::read_stable;
use crate::{Error, Evidence, Fitted, FrontTable, RunInfo, page, run_name};

/// A run: what `run.json` says, the front, and how rows are encoded.
#[derive(Debug, Clone)]
pub struct Run {
    /// What `run.json` says.
    pub info: RunInfo,
    /// The front's table.
    pub front: FrontTable,
    /// How raw columns become features.
    pub encoding: Encoding,
    /// Counts that order models and certify requirements.
    pub evidence: Evidence,
    /// Uses of the certifying rows; those of a run in a folder are in its log instead.
    pub uses: Vec<Use>,
    /// What the Python package keeps with a run: the estimator that it belongs to.
    pub estimator: Option<String>,
}

impl Run {
    /// What a fit came to.
    pub fn of(prepared: &Prepared, fitted: &Fitted) -> Self {
        Self::new(run_info(prepared, fitted), fitted)
    }

    /// The same with what its `run.json` will say.
    pub fn new(mut info: RunInfo, fitted: &Fitted) -> Self {
        let front = front_table(fitted);
        // So that its models say where they come from; where it fails, writing says why.
        if let Ok((_, checksum)) = parquet_of(&front) {
            info.front_sha256 = checksum;
        }
        Self {
            info,
            front,
            encoding: fitted.encoded.encoding.clone(),
            evidence: fitted.evidence.clone(),
            uses: Vec::new(),
            estimator: None,
        }
    }

    /// Reads the run in a folder, or the newest sound one in a state, also while a process writes there;
    /// that newer ones are damaged is added to its notices.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        // All three files are of one commit, whoever writes there meanwhile.
        let (mut run, notices) = read_stable(folder, |folder| {
            let (info, front) = run_in(folder)?;
            let read = |name: &str| {
                let path = folder.join(name);
                std::fs::read(&path).map_err(|e| {
                    let problem =
                        format!("{}; the run folder is not complete, fit again", e.kind());
                    Error::file(&path, problem)
                })
            };
            let (encoding, tallies) = (read("encoding.json")?, read(TALLIES)?);
            let estimator = info.estimator_sha256.is_some();
            let estimator = estimator.then(|| read(ESTIMATOR)).transpose()?;
            let run = Self::put_together(folder, info, front, &encoding, &tallies)?;
            run.with_estimator(folder, estimator)
        })?;
        run.info.notices.extend(notices);
        Ok(run)
    }

    /// Writes the run into a folder, which appears whole or not at all, with its page unless the front is
    /// empty. A run there is replaced only where `force` says so. Returns where it is: beside the folder
    /// where that was taken meanwhile.
    pub fn write(&mut self, folder: &Path, force: bool) -> Result<PathBuf, Error> {
        let place = check_folder(folder, force)?;
        let written = write_run(&place, force, self)?;
        if !self.front.is_empty() {
            // By the name that was given, unless it went elsewhere.
            let named = if written == place { folder } else { &written };
            self.write_page(named)?;
        }
        Ok(written)
    }

    /// Writes the page into the run's folder; what is there is replaced. Returns where it is.
    pub(crate) fn write_page(&self, folder: &Path) -> Result<PathBuf, Error> {
        let html = self.page(&run_name(folder))?.to_html();
        let path = folder.join(PAGE);
        recover(folder)?;
        write_file(&path, html.as_bytes(), true)?;
        Ok(path)
    }

    /// The very bytes of the files that [`Run::write`] writes, the page left out; the checksums in
    /// `info` are set.
    pub fn to_files(&mut self) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        files_of_run(Path::new(""), self)
    }

    /// A run from the bytes of its files, by name; others than [`Run::to_files`] gives are left alone.
    /// What is damaged is refused.
    pub fn from_files(files: &[(&str, &[u8])]) -> Result<Self, Error> {
        let find = |wanted: &str| {
            let found = files.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, bytes)| *bytes).ok_or_else(|| {
                let problem = format!("it is not there; a run has {}", FILES.join(", "));
                Error::file(Path::new(wanted), problem)
            })
        };
        let info = text(Path::new("run.json"), find("run.json")?)?;
        let info = info_of(Path::new("run.json"), info)?;
        let front = find("front.parquet")?.to_vec();
        let front = front_of(Path::new("front.parquet"), &info, front)?;
        let (encoding, tallies) = (find("encoding.json")?, find(TALLIES)?);
        let mut run = Self::put_together(Path::new(""), info, front, encoding, tallies)?;
        if let Ok(uses) = find(USES) {
            run.uses = uses_from_bytes(Path::new(USES), uses)?.0;
        }
        let estimator = run.info.estimator_sha256.is_some();
        let estimator = estimator.then(|| find(ESTIMATOR)).transpose()?;
        run.with_estimator(Path::new(""), estimator.map(<[u8]>::to_vec))
    }

    /// The run with the bytes of its estimator, which must be those that were written.
    fn with_estimator(mut self, folder: &Path, bytes: Option<Vec<u8>>) -> Result<Self, Error> {
        if let (Some(bytes), Some(written)) = (bytes, &self.info.estimator_sha256) {
            let path = folder.join(ESTIMATOR);
            check_sum(&path, &bytes, written)?;
            self.estimator = Some(text(&path, &bytes)?.to_owned());
        }
        Ok(self)
    }

    fn put_together(
        folder: &Path,
        info: RunInfo,
        front: FrontTable,
        encoding: &[u8],
        tallies: &[u8],
    ) -> Result<Self, Error> {
        let path = &folder.join("encoding.json");
        check_sum(path, encoding, &info.encoding_sha256)?;
        let encoding =
            Encoding::from_json(text(path, encoding)?).map_err(|e| Error::file(path, e))?;
        let n_params = info.features.len() + 1;
        let fits = front.params.iter().all(|params| params.len() == n_params);
        if !fits || encoding.schema().feature_names() != info.features {
            let problem = "the features are not those of the front; fit again";
            return Err(Error::file(path, problem));
        }
        let (n, schema) = (front.len(), encoding.schema());
        let path = folder.join(TALLIES);
        let evidence = Evidence::from_bytes(&path, tallies, &info.tallies_sha256, n, &schema)?;
        Ok(Self {
            info,
            front,
            encoding,
            evidence,
            uses: Vec::new(),
            estimator: None,
        })
    }

    /// The model of a point of the front. `name` is what its provenance calls the run.
    pub fn model(&self, name: &str, point: usize) -> Result<Model, Error> {
        let Self {
            info,
            front,
            encoding,
            ..
        } = self;
        let Some((intercept, coefficients)) = front
            .params
            .get(point)
            .and_then(|params| params.split_last())
        else {
            return Err(Error::usage(format!(
                "there is no point {point}; the front has the points 0 to {}",
                front.len().saturating_sub(1)
            )));
        };
        let reading = match (&info.read, Known::named(&info.source)?) {
            (Some(read), _) => read.options.reading(),
            (None, Some(known)) => known.reading(),
            (None, None) => Reading::default(),
        };
        let calibration = self.calibration(Some(point));
        let names = encoding.schema().feature_names();
        let coefficients = names.into_iter().zip(coefficients.iter().copied());
        let values = front.names.iter().zip(&front.columns);
        let model = Model::new(
            *intercept,
            Ordered(coefficients.collect()),
            calibration,
            encoding.clone(),
            reading,
            Ordered(values.map(|(n, c)| (n.clone(), c[point])).collect()),
            Provenance {
                run: name.into(),
                point,
                points: front.len(),
                source: info.source.clone(),
                program: info.program.clone(),
                solver: info.solver.name().into(),
                seed: info.spec.seed,
                objectives: info.definitions.clone(),
                fingerprint: info.fingerprint.clone(),
                front_sha256: info.front_sha256.clone(),
            },
        );
        model.map_err(|e| Error::file(Path::new(name), e))
    }

    /// How the scores of a model become probabilities; those of the unmitigated model for `None`. Runs that do
    /// not say so have a slope of 1 and an intercept of 0.
    pub fn calibration(&self, point: Option<usize>) -> Calibration {
        let value = |name: &str| match point {
            None => self.info.unmitigated.values.get(name).copied().flatten(),
            Some(point) => self.front.column(name)?.get(point).copied().flatten(),
        };
        match (value(calibration::SLOPE), value(calibration::INTERCEPT)) {
            (Some(slope), Some(intercept)) => Calibration { slope, intercept },
            _ => Calibration::default(),
        }
    }

    /// What the page of the run shows. `name` is what it calls the run.
    pub fn page(&self, name: &str) -> Result<PageData, Error> {
        page::data(self, name)
    }
}

/// The model of a point of the front in a run folder; of a state it is the newest front.
pub fn model_of(folder: &Path, point: usize) -> Result<Model, Error> {
    Run::read(folder)?.model(&run_name(folder), point)
}

fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|_| Error::file(path, "the file is corrupted (it is not text); fit again"))
}

#[cfg(test)]
mod tests;
