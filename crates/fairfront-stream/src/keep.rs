//! Which rows of a stream are kept: all, the last ones, or a uniform sample.

use std::path::Path;

use fairfront_core::{Purpose, Stream as Random};
use fairfront_data::StoredRows;
use fairfront_run::{Error, Keep};
use serde::{Deserialize, Serialize};

use crate::store::segment;

/// The rows of one batch that are on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// The batch they came with.
    pub(crate) batch: u64,
    /// How many.
    pub(crate) rows: usize,
}

/// What a state says of its rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct KeptInfo {
    /// Rows in use of the whole stream.
    pub(crate) seen: u64,
    /// Files that hold those that are kept, in order; none for a reservoir.
    pub(crate) segments: Vec<Segment>,
}

/// The file of a generation that holds a reservoir.
pub(crate) const RESERVOIR: &str = "reservoir.rows";

/// The rows that are kept, in memory.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    keep: Keep,
    seed: u64,
    pub(crate) info: KeptInfo,
    rows: Option<StoredRows>,
}

impl Kept {
    /// None yet.
    pub(crate) fn new(keep: Keep, seed: u64) -> Self {
        Self::of(keep, seed, KeptInfo::default(), None)
    }

    /// Reads the rows of a generation in a state's folder.
    pub(crate) fn read(
        keep: Keep,
        seed: u64,
        info: KeptInfo,
        state: &Path,
        generation: &Path,
    ) -> Result<Self, Error> {
        let mut rows: Option<StoredRows> = None;
        let mut add = |path: &Path, bytes: &[u8]| -> Result<usize, Error> {
            let more = StoredRows::from_bytes(bytes).map_err(|e| damaged(path, &e))?;
            let n = more.n_rows();
            match &mut rows {
                None => rows = Some(more),
                Some(rows) => rows.append(&more).map_err(|e| damaged(path, &e))?,
            }
            Ok(n)
        };
        if let Keep::Reservoir(_) = keep {
            let path = generation.join(RESERVOIR);
            let bytes = std::fs::read(&path).map_err(|e| Error::file(&path, e))?;
            add(&path, &bytes)?;
        }
        for of_batch in &info.segments {
            let path = segment::place(state, of_batch.batch);
            let bytes = segment::read(state, of_batch.batch)?;
            if add(&path, &bytes)? != of_batch.rows {
                return Err(damaged(&path, &"it holds another number of rows"));
            }
        }
        let mut kept = Self::of(keep, seed, info, rows);
        kept.cut()?;
        Ok(kept)
    }

    /// Rows of which all is known.
    pub(crate) fn of(keep: Keep, seed: u64, info: KeptInfo, rows: Option<StoredRows>) -> Self {
        Self {
            keep,
            seed,
            info,
            rows,
        }
    }

    /// The rows, where there are any.
    pub(crate) fn rows(&self) -> Option<&StoredRows> {
        self.rows.as_ref()
    }

    /// Takes the rows of a batch.
    pub(crate) fn add(&mut self, batch: u64, new: &StoredRows) -> Result<(), Error> {
        let before = self.rows.as_ref().map_or(0, StoredRows::n_rows);
        let mut rows = match self.rows.take() {
            None => new.clone(),
            Some(mut rows) => {
                rows.append(new)?;
                rows
            }
        };
        if let Keep::Reservoir(size) = self.keep {
            let mut places: Vec<usize> = (0..before).collect();
            for at in 0..new.n_rows() {
                match reservoir_place(self.seed, self.info.seen + at as u64, size) {
                    Some(place) if place < places.len() => places[place] = before + at,
                    Some(_) => places.push(before + at),
                    None => {}
                }
            }
            rows = rows.select(&places)?;
        } else if new.n_rows() > 0 {
            self.info.segments.push(Segment {
                batch,
                rows: new.n_rows(),
            });
        }
        self.info.seen += new.n_rows() as u64;
        self.rows = Some(rows);
        self.cut()
    }

    /// What is too old for the window leaves it.
    fn cut(&mut self) -> Result<(), Error> {
        let (Keep::Window(size), Some(rows)) = (self.keep, &self.rows) else {
            return Ok(());
        };
        let total: usize = self.info.segments.iter().map(|s| s.rows).sum();
        let mut beyond = total.saturating_sub(size);
        while let Some(oldest) = self.info.segments.first()
            && oldest.rows <= beyond
        {
            beyond -= oldest.rows;
            self.info.segments.remove(0);
        }
        if rows.n_rows() > size {
            let last: Vec<usize> = (rows.n_rows() - size..rows.n_rows()).collect();
            self.rows = Some(rows.select(&last)?);
        }
        Ok(())
    }

    /// The first batch whose rows are needed.
    pub(crate) fn oldest_segment(&self) -> Option<u64> {
        self.info.segments.first().map(|s| s.batch)
    }

    /// The bytes of the reservoir, where there is one.
    pub(crate) fn reservoir(&self) -> Option<Vec<u8>> {
        match (self.keep, &self.rows) {
            (Keep::Reservoir(_), Some(rows)) => Some(rows.to_bytes()),
            _ => None,
        }
    }

    /// Whether the file of the last batch's rows, and none of the others, is damaged.
    pub(crate) fn needs_last(info: &KeptInfo, last: u64, state: &Path) -> bool {
        // What merely cannot be read now is not damaged.
        let damaged = |s: &Segment| match std::fs::read(segment::place(state, s.batch)) {
            Ok(bytes) => StoredRows::from_bytes(&bytes).is_err(),
            Err(e) => e.kind() == std::io::ErrorKind::NotFound,
        };
        let mut segments = info.segments.iter();
        segments.all(|s| damaged(s) == (s.batch == last))
    }

    /// Whether the rows of each batch have a file of their own.
    pub(crate) fn has_segments(&self) -> bool {
        !matches!(self.keep, Keep::Reservoir(_))
    }
}

/// The place of a stream's row in a reservoir: each of the rows so far is in it with the same
/// probability. `None` where it does not get in.
fn reservoir_place(seed: u64, row: u64, size: usize) -> Option<usize> {
    let Ok(row) = usize::try_from(row) else {
        return None;
    };
    if row < size {
        return Some(row);
    }
    let mut random = Random::new(seed, Purpose::Reservoir, [row as u64, 0]);
    Some(random.below(row + 1)).filter(|place| *place < size)
}

fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::file(
        path,
        format!(
            "rows of the stream are damaged ({why}); put the file back from a copy of the state, or begin \
             a new state from the inputs"
        ),
    )
}
