//! The state of a stream: `state.json` and related files, which are the same in memory and in a generation.

use std::path::Path;

use fairfront_data::{ColumnTypes, Dropped, Encoding, HeldRows, StoredRows};
use fairfront_run::store::sums_of;
use fairfront_run::{Error, RunFiles};
use serde::{Deserialize, Serialize};

use crate::drift::Composition;
use crate::front::Front;
use crate::keep::{Kept, KeptInfo, ROWS};
use crate::live::Live;
use crate::options::LiveOptions;

const FORMAT: &str = "fairfront-stream";
const VERSION: u32 = 2;

/// The file that contains the state.
const STATE: &str = "state.json";

/// Everything that the next batch needs, except the kept rows and the front.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    format: String,
    version: u32,
    pub(crate) options: LiveOptions,
    /// Number of batches so far.
    pub(crate) batches: u64,
    /// Number of rows in these batches, including dropped and rejected ones.
    pub(crate) rows: u64,
    pub(crate) rejected: u64,
    pub(crate) dropped: Vec<Dropped>,
    pub(crate) kept: KeptInfo,
    /// Rows that wait for the first front, unchanged.
    #[serde(default, skip_serializing_if = "holds_nothing")]
    pub(crate) held: HeldRows,
    /// The reason why the last batch gave no front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waiting: Option<String>,
    /// Absent until there is a front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<Settled>,
}

/// The facts that the first front fixed, and the newest one updated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settled {
    /// Types of the columns.
    pub(crate) types: ColumnTypes,
    /// Known values of the target.
    pub(crate) targets: Vec<String>,
    /// The encoding of the kept rows. It may have more categories than that of the front, if a front could
    /// not be updated.
    pub(crate) encoding: Encoding,
    /// The reference point of hypervolumes.
    pub(crate) reference: Vec<f64>,
    /// The measures that the front is judged by.
    pub(crate) judged_by: Vec<String>,
    /// The front's values on the rows it was fitted on.
    pub(crate) values: Vec<f64>,
    /// The batch that it was fitted with.
    pub(crate) updated: u64,
    /// Batches since then that were rejected as a whole, which changes neither the front nor the rows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) skipped: u64,
    /// The composition of the kept rows.
    pub(crate) composition: Composition,
}

fn holds_nothing(held: &HeldRows) -> bool {
    held.n_rows() == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "required by serde")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl State {
    /// Creates a state before the first batch.
    pub(crate) fn new(options: LiveOptions) -> Self {
        Self {
            format: FORMAT.into(),
            version: VERSION,
            options,
            batches: 0,
            rows: 0,
            rejected: 0,
            dropped: Vec::new(),
            kept: KeptInfo::default(),
            held: HeldRows::default(),
            waiting: None,
            settled: None,
        }
    }

    /// Reads the state of a generation.
    pub(crate) fn read(generation: &Path) -> Result<Self, Error> {
        let path = generation.join(STATE);
        let bytes = std::fs::read(&path).map_err(|e| Error::file(&path, e))?;
        Self::from_json(&path, &bytes)
    }

    fn from_json(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let corrupted = |e| Error::file(path, format!("not the state of a stream ({e})"));
        let Head { format, version } = serde_json::from_slice(bytes).map_err(corrupted)?;
        if format != FORMAT || version != VERSION {
            let problem = format!(
                "{format} version {version} is not supported, only {FORMAT} version {VERSION}; use the \
                 version of fairfront that wrote it"
            );
            return Err(Error::file(path, problem));
        }
        serde_json::from_slice(bytes).map_err(corrupted)
    }

    fn to_json(&self) -> Result<Vec<u8>, Error> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::data(format!("{STATE}: cannot be written ({e})")))?;
        Ok(format!("{text}\n").into_bytes())
    }

    /// Reads the rows that it keeps in a folder; none before the first batch.
    pub(crate) fn read_rows(&self, folder: &Path, generation: &Path) -> Result<Kept, Error> {
        let (keep, seed) = (self.options.keep, self.options.spec.seed);
        match self.batches {
            0 => Ok(Kept::new(keep, seed)),
            _ => Kept::read(keep, seed, self.kept.clone(), folder, generation),
        }
    }

    /// Adds to the rows dropped so far.
    pub(crate) fn add_dropped(&mut self, dropped: &[Dropped]) {
        for more in dropped {
            match self.dropped.iter_mut().find(|d| d.reason == more.reason) {
                Some(known) => known.rows += more.rows,
                None => self.dropped.push(more.clone()),
            }
        }
    }
}

/// Reading and writing files.
impl Live {
    /// The files of a generation, by name: those of the run, of its starting points, and `state.json`,
    /// without the rows.
    pub(crate) fn files(&self) -> Result<RunFiles, Error> {
        let mut files = self
            .run()
            .map_or(Ok(Vec::new()), |mut run| run.to_files())?;
        if let Some(front) = &self.front {
            files.extend(front.starts_file()?);
        }
        files.push((STATE, self.state.to_json()?));
        Ok(files)
    }

    /// The complete state as files, by name, including rows and checksums. A stream that is read from them
    /// continues exactly as this one does.
    pub fn to_files(&self) -> Result<RunFiles, Error> {
        let mut files = self.files()?;
        files.extend(self.kept.rows().map(|rows| (ROWS, rows.to_bytes())));
        let named: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
        let sums = sums_of(&named);
        files.push(sums);
        Ok(files)
    }

    /// Reads the files that [`Live::to_files`] returned, and rejects any others.
    pub fn from_files(files: &[(&str, &[u8])]) -> Result<Self, Error> {
        let file = |wanted: &str| files.iter().find(|(name, _)| *name == wanted);
        let refused = |why: &str| {
            Error::data(format!(
                "these files are not the state of a stream: {why}; restore an intact copy, or start a \
                 new state"
            ))
        };
        let Some((_, state)) = file(STATE) else {
            return Err(refused(&format!("{STATE} is missing")));
        };
        let (name, sums) = sums_of(files);
        if file(name).is_none_or(|(_, found)| *found != sums.as_slice()) {
            return Err(refused("the checksums are wrong"));
        }
        let state = State::from_json(Path::new(STATE), state)?;
        let rows = file(ROWS).map(|(_, bytes)| StoredRows::from_bytes(bytes));
        let (keep, seed) = (state.options.keep, state.options.spec.seed);
        let kept = Kept::of(keep, seed, state.kept.clone(), rows.transpose()?);
        Self::of(state, kept, files)
    }

    /// A stream with these rows and the front in these files.
    pub(crate) fn of(state: State, kept: Kept, files: &[(&str, &[u8])]) -> Result<Self, Error> {
        let front = state.settled.as_ref().map(|_| Front::from_files(files));
        let front = front.transpose()?;
        if let (Some(settled), Some(front)) = (&state.settled, &front) {
            let encoding = &settled.encoding;
            if encoding.check().is_err() || !encoding.extends(&front.run.encoding) {
                return Err(Error::data(
                    "state.json and encoding.json have different features; restore both files from the \
                     same copy of the state, or start a new state",
                ));
            }
        }
        if !state.held.is_sound() || state.settled.is_some() != kept.rows().is_some() {
            return Err(Error::data(
                "state.json and the rows do not match; restore both from the same copy of the state, or \
                 start a new state",
            ));
        }
        Ok(Self::put_together(state, kept, front))
    }
}
