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

/// The file that holds the rows that are kept: of a stream in memory, or of a reservoir.
pub(crate) const ROWS: &str = "kept.rows";

/// The rows as they were before a batch.
pub(crate) struct Before {
    info: KeptInfo,
    n_rows: usize,
    /// The rows themselves, if a batch does more than add to them.
    rows: Option<StoredRows>,
}

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
            let path = generation.join(ROWS);
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

    /// How many these are.
    pub(crate) fn n_rows(&self) -> usize {
        self.rows.as_ref().map_or(0, StoredRows::n_rows)
    }

    /// Takes the rows of a batch, and returns what [`Kept::go_back`] needs to undo it. After an error
    /// nothing has changed.
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

    /// Goes back to the rows before a batch.
    pub(crate) fn go_back(&mut self, before: Before) -> Result<(), Error> {
        self.info = before.info;
        self.rows = match (self.keep, self.rows.take(), before.n_rows) {
            (Keep::All, Some(rows), n) if n > 0 => Some(rows.select(&(0..n).collect::<Vec<_>>())?),
            _ => before.rows,
        };
        Ok(())
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

    /// The file of a generation with the rows of a reservoir, if there is one.
    pub(crate) fn reservoir(&self) -> Option<(&'static str, Vec<u8>)> {
        match (self.keep, &self.rows) {
            (Keep::Reservoir(_), Some(rows)) => Some((ROWS, rows.to_bytes())),
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
