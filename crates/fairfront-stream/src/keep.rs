//! The rows of a stream that are kept: all, the last ones, or a uniform sample.

use std::path::Path;

use fairfront_core::{Purpose, Stream as Random};
use fairfront_data::StoredRows;
use fairfront_run::{Error, Keep};
use serde::{Deserialize, Serialize};

use crate::store::segment;

/// The rows of one batch on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// The batch of the rows.
    pub(crate) batch: u64,
    /// Number of rows.
    pub(crate) rows: usize,
}

/// The facts about the kept rows in a state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct KeptInfo {
    /// Rows in use of the whole stream.
    pub(crate) seen: u64,
    /// Files that contain the kept rows, in order; none for a reservoir.
    pub(crate) segments: Vec<Segment>,
}

/// The file that contains the kept rows of a stream in memory or of a reservoir.
pub(crate) const ROWS: &str = "kept.rows";

/// The rows before a batch.
pub(crate) struct Before {
    info: KeptInfo,
    n_rows: usize,
    /// The rows themselves, if a batch does more than append to them.
    rows: Option<StoredRows>,
}

/// The kept rows, in memory.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    keep: Keep,
    seed: u64,
    pub(crate) info: KeptInfo,
    rows: Option<StoredRows>,
}

impl Kept {
    /// No rows yet.
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
            let more = StoredRows::from_bytes(bytes).map_err(|e| corrupted(path, &e))?;
            let n = more.n_rows();
            match &mut rows {
                None => rows = Some(more),
                Some(rows) => rows.append(&more).map_err(|e| corrupted(path, &e))?,
            }
            Ok(n)
        };
        if let Keep::Reservoir(_) = keep {
            let path = generation.join(ROWS);
            let bytes = std::fs::read(&path).map_err(|e| Error::file(&path, e))?;
            add(&path, &bytes)?;
        }
        for of_batch in &info.segments {
            let path = segment::place(state, of_batch.batch);
            let bytes = segment::read(state, of_batch.batch)?;
            if add(&path, &bytes)? != of_batch.rows {
                return Err(corrupted(&path, &"the number of rows differs"));
            }
        }
        let mut kept = Self::of(keep, seed, info, rows);
        kept.cut()?;
        Ok(kept)
    }

    /// Creates it from its parts.
    pub(crate) fn of(keep: Keep, seed: u64, info: KeptInfo, rows: Option<StoredRows>) -> Self {
        Self {
            keep,
            seed,
            info,
            rows,
        }
    }

    /// The rows, if there are any.
    pub(crate) fn rows(&self) -> Option<&StoredRows> {
        self.rows.as_ref()
    }

    /// Number of kept rows.
    pub(crate) fn n_rows(&self) -> usize {
        self.rows.as_ref().map_or(0, StoredRows::n_rows)
    }

    /// Adds the rows of a batch, and returns the data that [`Kept::go_back`] needs to undo it. On an error
    /// nothing changes.
    pub(crate) fn add(&mut self, batch: u64, new: &StoredRows) -> Result<Before, Error> {
        let n_rows = self.n_rows();
        let before = Before {
            info: self.info.clone(),
            n_rows,
            rows: match self.keep {
                Keep::All => None,
                Keep::Window(_) | Keep::Reservoir(_) => self.rows.clone(),
            },
        };
        match &mut self.rows {
            None => self.rows = Some(new.clone()),
            Some(rows) => rows.append(new)?,
        }
        if let (Keep::Reservoir(size), Some(rows)) = (self.keep, &mut self.rows) {
            let mut places: Vec<usize> = (0..n_rows).collect();
            for at in 0..new.n_rows() {
                match reservoir_place(self.seed, self.info.seen + at as u64, size) {
                    Some(place) if place < places.len() => places[place] = n_rows + at,
                    Some(_) => places.push(n_rows + at),
                    None => {}
                }
            }
            *rows = rows.select(&places)?;
        } else if new.n_rows() > 0 {
            self.info.segments.push(Segment {
                batch,
                rows: new.n_rows(),
            });
        }
        self.info.seen += new.n_rows() as u64;
        self.cut()?;
        Ok(before)
    }

    /// Restores the rows before a batch.
    pub(crate) fn go_back(&mut self, before: Before) -> Result<(), Error> {
        self.info = before.info;
        self.rows = match (self.keep, self.rows.take(), before.n_rows) {
            (Keep::All, Some(rows), n) if n > 0 => Some(rows.select(&(0..n).collect::<Vec<_>>())?),
            _ => before.rows,
        };
        Ok(())
    }

    /// Removes rows that are too old for the window.
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

    /// The file of a generation with the rows of a reservoir, if there is one.
    pub(crate) fn reservoir(&self) -> Option<(&'static str, Vec<u8>)> {
        match (self.keep, &self.rows) {
            (Keep::Reservoir(_), Some(rows)) => Some((ROWS, rows.to_bytes())),
            _ => None,
        }
    }

    /// Whether the file of the last batch's rows is corrupted, and no other.
    pub(crate) fn needs_last(info: &KeptInfo, last: u64, state: &Path) -> bool {
        // A file that cannot be read at the moment is not corrupted.
        let corrupted = |s: &Segment| match std::fs::read(segment::place(state, s.batch)) {
            Ok(bytes) => StoredRows::from_bytes(&bytes).is_err(),
            Err(e) => e.kind() == std::io::ErrorKind::NotFound,
        };
        let mut segments = info.segments.iter();
        segments.all(|s| corrupted(s) == (s.batch == last))
    }

    /// Whether the rows of each batch have their own file.
    pub(crate) fn has_segments(&self) -> bool {
        !matches!(self.keep, Keep::Reservoir(_))
    }
}

/// The place of a stream's row in a reservoir, so that each row so far is in it with the same probability.
/// `None` if the row is not sampled.
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

fn corrupted(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::file(
        path,
        format!(
            "rows of the stream are corrupted ({why}); restore the file from a copy of the state, or \
             start a new state from the inputs"
        ),
    )
}
