//! A run in memory, and the bytes of its files.

use std::path::{Path, PathBuf};

use fairfront_core::{Calibration, predictor_of};
use fairfront_data::{Encoding, Facts, Known, Ordered, Reading};
use fairfront_model::{Model, ModelId, Provenance, write_file};
use fairfront_report::PageData;

use crate::calibration;
use crate::certify::{TALLIES, USES, Use, uses_from_bytes};
use crate::folder::{
    ESTIMATOR, FILES, PAGE, check_sum, files_of_run, front_of, front_table, info_of,
    parameter_names, parquet_of, run_in, run_info,
};
use crate::place::{check_folder, recover, write_run};
use crate::store::read_stable;
use crate::{Error, Evidence, Fitted, FrontTable, RunInfo, page, run_name};

/// A run: the content of `run.json`, the front, the encoding of rows, and the evidence.
#[derive(Debug, Clone)]
pub struct Run {
    /// The content of `run.json`.
    pub info: RunInfo,
    /// The front's table.
    pub front: FrontTable,
    /// How raw columns become features.
    pub encoding: Encoding,
    /// Counts that order models and certify requirements.
    pub evidence: Evidence,
    /// Uses of the certifying rows; those of a run in a folder are in its log instead.
    pub uses: Vec<Use>,
    /// The estimator that the Python package stores with a run.
    pub estimator: Option<String>,
}

impl Run {
    /// The run of a fit on a table.
    pub fn of(facts: &Facts, fitted: &Fitted) -> Self {
        Self::new(run_info(facts, fitted), fitted)
    }

    /// The run of a fit with this content of `run.json`.
    pub fn new(mut info: RunInfo, fitted: &Fitted) -> Self {
        let front = front_table(fitted);
        // Models record this checksum as their origin; if it fails here, writing reports the error.
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

    /// Reads the run in a folder, or the newest intact run in a state, even while a process writes
    /// there; the diagnostics warn about corrupted newer ones.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        // All files are from one commit, even if a process writes there meanwhile.
        let (mut run, diagnostics) = read_stable(folder, |folder| {
            let (info, front) = run_in(folder)?;
            let read = |name: &str| {
                let path = folder.join(name);
                std::fs::read(&path).map_err(|e| {
                    let kind = e.kind();
                    let problem = format!(
                        "the file cannot be read ({kind}), so the run folder is incomplete; fit \
                         again"
                    );
                    Error::file(&path, problem)
                })
            };
            let (encoding, tallies) = (read("encoding.json")?, read(TALLIES)?);
            let estimator = info.estimator_sha256.is_some();
            let estimator = estimator.then(|| read(ESTIMATOR)).transpose()?;
            let run = Self::put_together(folder, info, front, &encoding, &tallies)?;
            run.with_estimator(folder, estimator)
        })?;
        run.info.diagnostics.extend(diagnostics);
        Ok(run)
    }

    /// Writes the run into a folder, atomically, with its report unless the front is empty.
    /// Replaces an existing run only if `force` is set. Returns the path, which has a suffix if the
    /// folder was taken meanwhile.
    pub fn write(&mut self, folder: &Path, force: bool) -> Result<PathBuf, Error> {
        let place = check_folder(folder, force)?;
        let written = write_run(&place, force, self)?;
        if !self.front.is_empty() {
            // Use the given path, unless the run was written elsewhere.
            let named = if written == place { folder } else { &written };
            self.write_page(named)?;
        }
        Ok(written)
    }

    /// Writes the report into the run's folder and replaces an existing one. Returns its path.
    pub(crate) fn write_page(&self, folder: &Path) -> Result<PathBuf, Error> {
        let html = self.page(&run_name(folder))?.to_html();
        let path = folder.join(PAGE);
        recover(folder)?;
        write_file(&path, html.as_bytes(), true)?;
        Ok(path)
    }

    /// The exact bytes of the files that [`Run::write`] writes, without the report. Sets the
    /// checksums in `info`.
    pub fn to_files(&mut self) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        files_of_run(Path::new(""), self)
    }

    /// Builds a run from the bytes of its files, by name. Ignores files that [`Run::to_files`] does
    /// not return, and rejects corrupted ones.
    pub fn from_files(files: &[(&str, &[u8])]) -> Result<Self, Error> {
        let find = |wanted: &str| {
            let found = files.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, bytes)| *bytes).ok_or_else(|| {
                let problem = format!("the file is missing; pass {}", FILES.join(", "));
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

    /// Adds the bytes of the estimator, which must be those that were written.
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
        let n_params = predictor_of(&encoding.schema()).n_params(&encoding.schema());
        let fits = front.params.iter().all(|params| params.len() == n_params);
        if !fits || parameter_names(&encoding.schema()) != info.features {
            let problem = "the features differ from those of the front; fit again";
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

    /// Returns a model of the front. `name` is the name of the run in the model's provenance.
    pub fn model(&self, name: &str, model_id: ModelId) -> Result<Model, Error> {
        let Self {
            info,
            front,
            encoding,
            ..
        } = self;
        let Some(params) = front.params.get(model_id.index()) else {
            return Err(Error::usage(format!(
                "the front has no model {model_id}; choose one of 1 to {}",
                front.len()
            )));
        };
        let reading = match (&info.read, Known::named(&info.source)?) {
            (Some(read), _) => read.options.reading(),
            (None, Some(known)) => known.reading(),
            (None, None) => Reading::default(),
        };
        let calibration = self.calibration(Some(model_id));
        let values = front.names.iter().zip(&front.columns);
        let model = Model::new(
            params,
            calibration,
            encoding.clone(),
            reading,
            Ordered(
                values
                    .map(|(n, c)| (n.clone(), c[model_id.index()]))
                    .collect(),
            ),
            Provenance {
                run: name.into(),
                model_id,
                models: front.len(),
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

    /// How the scores of a model become probabilities; `None` means the unmitigated model. Runs
    /// without calibration have a slope of 1 and an intercept of 0.
    pub fn calibration(&self, model_id: Option<ModelId>) -> Calibration {
        let value = |name: &str| match model_id {
            None => self.info.unmitigated.values.get(name).copied().flatten(),
            Some(id) => self.front.column(name)?.get(id.index()).copied().flatten(),
        };
        match (value(calibration::SLOPE), value(calibration::INTERCEPT)) {
            (Some(slope), Some(intercept)) => Calibration { slope, intercept },
            _ => Calibration::default(),
        }
    }

    /// The data of the run's report, which calls the run `name`.
    pub fn page(&self, name: &str) -> Result<PageData, Error> {
        page::data(self, name)
    }
}

/// Returns a model of the front in a run folder, or of the newest front in the state of a stream.
pub fn model_of(folder: &Path, model_id: ModelId) -> Result<Model, Error> {
    Run::read(folder)?.model(&run_name(folder), model_id)
}

fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|_| Error::file(path, "the file is corrupted (it is not text); fit again"))
}

#[cfg(test)]
mod tests;
