//! The splits of the rows in use, and their places in random order.

use crate::error::Error;
use crate::spec::{Spec, SplitRule};
use crate::split::{Part, check_counts, parts_by_shares, shuffled_places};

/// The place of each row in use.
#[derive(Debug)]
pub(crate) struct Order {
    /// The split of each row in use.
    parts: Vec<Part>,
    /// The place of each row of a split, in the order of the table.
    places: [Vec<u32>; 4],
    /// The first row in use of each chunk, and the first of each split.
    starts: Vec<(usize, [usize; 4])>,
}

impl Order {
    pub(crate) fn new(spec: &Spec, by_column: Vec<Part>, used: &[usize]) -> Result<Self, Error> {
        let n: usize = used.iter().sum();
        let parts = match &spec.split {
            SplitRule::None => vec![Part::Train; n],
            SplitRule::Shares(shares) => parts_by_shares(*shares, spec.seed, n),
            SplitRule::Column(_) => by_column,
        };
        let mut starts = Vec::with_capacity(used.len());
        let (mut first, mut counts) = (0, [0; 4]);
        for n in used {
            starts.push((first, counts));
            for part in &parts[first..first + n] {
                counts[*part as usize] += 1;
            }
            first += n;
        }
        check_counts(&spec.split, counts)?;
        Ok(Self {
            parts,
            places: Part::ALL.map(|part| shuffled_places(part, spec.seed, counts[part as usize])),
            starts,
        })
    }

    /// The first row in use of a chunk.
    pub(crate) fn first(&self, chunk: usize) -> usize {
        self.starts[chunk].0
    }

    /// The rows of a split before a chunk.
    pub(crate) fn before(&self, chunk: usize, part: Part) -> usize {
        self.starts[chunk].1[part as usize]
    }

    /// The splits of the rows in use of a chunk.
    pub(crate) fn parts(&self, chunk: usize, n: usize) -> &[Part] {
        let first = self.first(chunk);
        &self.parts[first..first + n]
    }

    /// The split of each row in use of a chunk, and the place of the row within it.
    pub(crate) fn placed(&self, chunk: usize, n: usize) -> impl Iterator<Item = (Part, u32)> {
        let mut next = self.starts[chunk].1;
        self.parts(chunk, n).iter().map(move |part| {
            let row = &mut next[*part as usize];
            *row += 1;
            (*part, self.places[*part as usize][*row - 1])
        })
    }

    /// Number of rows of a split.
    pub(crate) fn n_rows(&self, part: Part) -> usize {
        self.places[part as usize].len()
    }
}
