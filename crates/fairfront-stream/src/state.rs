//! The state of a stream: `state.json` and the files around it, the same ones in memory and in a generation.

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

/// The file that holds it.
const STATE: &str = "state.json";

/// Everything that the next batch needs to know, except the rows that are kept and the front.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    format: String,
    version: u32,
    pub(crate) options: LiveOptions,
    /// Batches taken.
    pub(crate) batches: u64,
    /// Rows of these batches, dropped and rejected ones counted.
    pub(crate) rows: u64,
    pub(crate) rejected: u64,
    pub(crate) dropped: Vec<Dropped>,
    pub(crate) kept: KeptInfo,
    /// Rows that wait for the first front, as they came.
    #[serde(default, skip_serializing_if = "holds_nothing")]
    pub(crate) held: HeldRows,
    /// Why the last batch brought no front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waiting: Option<String>,
    /// Absent until there is a front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<Settled>,
}

/// What the first front settled, and the newest one changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settled {
    /// Types of the columns.
    pub(crate) types: ColumnTypes,
    /// Values of the target that are known.
    pub(crate) targets: Vec<String>,
    /// The encoding of the rows that are kept; it may know more categories than that of the front, if a
    /// front could not be updated.
    pub(crate) encoding: Encoding,
    /// The reference point of hypervolumes.
    pub(crate) reference: Vec<f64>,
    /// By what the front is judged.
    pub(crate) judged_by: Vec<String>,
    /// The front's values on the rows it was found on.
    pub(crate) values: Vec<f64>,
    /// The batch that it was found with.
    pub(crate) updated: u64,
    /// Batches since then that were rejected as a whole, which changes neither front nor rows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) skipped: u64,
    /// Who is in the rows that are kept.
    pub(crate) composition: Composition,
}

fn holds_nothing(held: &HeldRows) -> bool {
    held.n_rows() == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl State {
    /// Nothing taken yet.
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
        let corrupted = |e| Error::file(path, format!("this is not the state of a stream ({e})"));
        let Head { format, version } = serde_json::from_slice(bytes).map_err(corrupted)?;
        if format != FORMAT || version != VERSION {
            let problem = format!(
                "{format} of version {version} cannot be read by this program, which reads {FORMAT} of version \
                 {VERSION}; read it with the version that wrote it"
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

    /// The rows that it keeps in a folder; none before the first batch.
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

/// As files.
impl Live {
    /// The files of a generation, by name: those of the run, of its starts, and `state.json`. Rows are not
    /// among them.
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

    /// All of it as files, by name: rows, and checksums of the files, included. A stream that is read
    /// from them continues exactly as this one does.
    pub fn to_files(&self) -> Result<RunFiles, Error> {
        let mut files = self.files()?;
        files.extend(self.kept.rows().map(|rows| (ROWS, rows.to_bytes())));
        let named: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
        let sums = sums_of(&named);
        files.push(sums);
        Ok(files)
    }

    /// Reads the files that [`Live::to_files`] returned, and refuses any others.
    pub fn from_files(files: &[(&str, &[u8])]) -> Result<Self, Error> {
        let file = |wanted: &str| files.iter().find(|(name, _)| *name == wanted);
        let refused = |why: &str| {
            Error::data(format!(
                "these files are not the state of a stream: {why}; restore an intact copy, or start again"
            ))
        };
        let Some((_, state)) = file(STATE) else {
            return Err(refused(&format!("{STATE} is missing")));
        };
        let (name, sums) = sums_of(files);
        if file(name).is_none_or(|(_, found)| *found != sums.as_slice()) {
            return Err(refused("their checksums are wrong"));
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
                    "state.json and encoding.json have different features; restore both files from one copy \
                     of the state, or start another state",
                ));
            }
        }
        if !state.held.is_sound() || state.settled.is_some() != kept.rows().is_some() {
            return Err(Error::data(
                "state.json and the rows do not belong together; restore both from one copy of the state, \
                 or start another state",
            ));
        }
        Ok(Self::put_together(state, kept, front))
    }
}
