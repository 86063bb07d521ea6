//! The layout of a block file: a header, the blocks of each split, lists of numbers, and facts as JSON.
//!
//! A block holds [`BLOCK_ROWS`] rows, column by column, and its checksum. All integers are little-endian.

use fairfront_core::{BLOCK_ROWS, Message, Schema, Target, say};
use serde::{Deserialize, Serialize};

use super::hash::checksum;
use super::numbers::{MOST_LISTED, NumberFacts};
use crate::encoding::Encoding;
use crate::error::Error;
use crate::finding::Findings;
use crate::fingerprint::Fingerprint;
use crate::input::{Facts, stored};
use crate::proxy::Proxy;
use crate::table::Diagnostic;

/// The first bytes of a block file.
pub(crate) const MAGIC: [u8; 8] = *b"FFBLOCKS";
/// The version of the layout.
const VERSION: u32 = 1;
/// Bytes of the header.
pub(crate) const HEADER: usize = 128;
/// Bytes of a checksum.
pub(crate) const CHECKSUM: usize = 8;

/// The seed of the checksum of the header and of the end of the file.
const HEADER_SEED: u64 = u64::MAX;
const TAIL_SEED: u64 = u64::MAX - 1;

/// The error for a file that cannot be used as a block file.
pub(crate) fn bad(file: &str, problem: impl Into<Message>) -> Error {
    Error::BadBlocks {
        file: file.into(),
        problem: problem.into(),
    }
}

/// The error for a corrupted part of a file.
pub(crate) fn corrupted(file: &str, part: &str) -> Error {
    bad(
        file,
        say!["the file is corrupted: {part}; pack the table again"],
    )
}

/// The error for a file that ends too early.
pub(crate) fn truncated(file: &str) -> Error {
    bad(
        file,
        "the file is truncated; copy it again, or pack the table again",
    )
}

/// How a numeric column is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NumberWidth {
    /// Positions in a list of this many distinct numbers.
    Listed(usize),
    /// Single precision.
    Single,
    /// Double precision.
    Double,
}

impl NumberWidth {
    pub(crate) fn of(facts: &NumberFacts) -> Self {
        match &facts.listed {
            // A position never takes more bytes than the number.
            Some(listed) => Self::Listed(listed.len()),
            None if facts.is_single => Self::Single,
            None => Self::Double,
        }
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Listed(n) => code_bytes(n),
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

/// Bytes of a code below `n`.
pub(crate) fn code_bytes(n: usize) -> usize {
    match n {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    }
}

/// How rows are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    /// For each numeric rule of the encoding.
    pub(crate) numeric: Vec<NumberWidth>,
    /// Whether rows have weights other than 1.
    pub(crate) weights: bool,
}

impl Layout {
    /// Bytes of each column of a row: numbers, categories, label, groups, weight.
    pub(crate) fn widths(&self, schema: &Schema) -> Vec<usize> {
        let numbers = self.numeric.iter().map(|width| width.bytes());
        // One code more stands for the null feature or an unknown group.
        let categories = schema.categorical.iter();
        let categories = categories.map(|column| code_bytes(column.categories.len() + 1));
        let groups = schema.attributes.iter();
        let groups = groups.map(|attribute| code_bytes(attribute.groups.len() + 1));
        let label = match schema.target {
            Target::Binary | Target::Classes(_) => 1,
            Target::Number(_) => 8,
        };
        let weight = self.weights.then_some(8);
        numbers
            .chain(categories)
            .chain([label])
            .chain(groups)
            .chain(weight)
            .collect()
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self, schema: &Schema) -> usize {
        self.widths(schema).iter().sum()
    }

    /// Rejects a layout that does not fit the encoding.
    pub(crate) fn is_sound(&self, encoding: &Encoding) -> bool {
        let listed = |width: &NumberWidth| match width {
            NumberWidth::Listed(n) => *n <= MOST_LISTED,
            _ => true,
        };
        self.numeric.len() == encoding.numeric.len() && self.numeric.iter().all(listed)
    }

    /// Numbers in all lists.
    pub(crate) fn n_listed(&self) -> usize {
        let listed = self.numeric.iter().map(|width| match width {
            NumberWidth::Listed(n) => *n,
            _ => 0,
        });
        listed.sum()
    }
}

/// The place of the rows of a split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) offset: u64,
    pub(crate) n_rows: u64,
}

/// Bytes of the blocks of a split.
pub(crate) fn section_bytes(n_rows: u64, row_bytes: usize) -> Option<u64> {
    let blocks = n_rows.div_ceil(BLOCK_ROWS as u64) * CHECKSUM as u64;
    n_rows.checked_mul(row_bytes as u64)?.checked_add(blocks)
}

/// The seed of the checksum of a block, so that blocks cannot change places.
pub(crate) fn block_seed(part: usize, index: usize) -> u64 {
    (part as u64) << 56 | index as u64
}

/// The first bytes of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) sections: [Section; 4],
    /// The place of the lists, and the bytes of the lists and of the facts.
    pub(crate) tail: u64,
    pub(crate) lists: u64,
    pub(crate) facts: u64,
    pub(crate) tail_checksum: u64,
}

impl Header {
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        self.tail.checked_add(self.lists)?.checked_add(self.facts)
    }

    pub(crate) fn to_bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let sections = self.sections.iter().flat_map(|s| [s.offset, s.n_rows]);
        let numbers = [self.tail, self.lists, self.facts, self.tail_checksum];
        let numbers = numbers.into_iter().chain(sections);
        for (place, number) in bytes[16..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(&bytes[..HEADER - CHECKSUM], HEADER_SEED);
        bytes[HEADER - CHECKSUM..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub(crate) fn read(file: &str, bytes: &[u8; HEADER]) -> Result<Self, Error> {
        let (words, _) = bytes.as_chunks::<8>();
        let number = |i: usize| u64::from_le_bytes(words[i]);
        if bytes[..8] != MAGIC {
            return Err(not_blocks(file));
        }
        let sum = checksum(&bytes[..HEADER - CHECKSUM], HEADER_SEED);
        if sum != number(HEADER / 8 - 1) {
            return Err(corrupted(file, "its header does not match its checksum"));
        }
        let version = number(1) as u32;
        if version != VERSION {
            let advice = match version > VERSION {
                true => "upgrade fairfront",
                false => "pack the table again",
            };
            let problem = format!(
                "version {version} of block files is not supported, only version {VERSION}; {advice}"
            );
            return Err(bad(file, problem));
        }
        let section = |i: usize| Section {
            offset: number(6 + 2 * i),
            n_rows: number(7 + 2 * i),
        };
        Ok(Self {
            sections: [0, 1, 2, 3].map(section),
            tail: number(2),
            lists: number(3),
            facts: number(4),
            tail_checksum: number(5),
        })
    }
}

/// The error for a file of another kind.
pub(crate) fn not_blocks(file: &str) -> Error {
    bad(
        file,
        "not a block file, or its first bytes are corrupted; pack the table again, or pass the table \
         itself",
    )
}

/// The checksum of the lists and facts.
pub(crate) fn tail_checksum(bytes: &[u8]) -> u64 {
    checksum(bytes, TAIL_SEED)
}

/// The JSON at the end of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) facts: Facts,
    pub(crate) encoding: Encoding,
    #[serde(with = "stored")]
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) findings: StoredFindings,
    pub(crate) fingerprints: [Fingerprint; 4],
    pub(crate) layout: Layout,
}

/// [`Findings`] as stored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredFindings {
    #[serde(with = "stored")]
    diagnostics: Vec<Diagnostic>,
    #[serde(with = "stored")]
    groups: Vec<Diagnostic>,
    proxies: Vec<Proxy>,
}

impl From<&Findings> for StoredFindings {
    fn from(findings: &Findings) -> Self {
        Self {
            diagnostics: findings.diagnostics.clone(),
            groups: findings.groups.clone(),
            proxies: findings.proxies.clone(),
        }
    }
}

impl From<StoredFindings> for Findings {
    fn from(stored: StoredFindings) -> Self {
        Self {
            diagnostics: stored.diagnostics,
            groups: stored.groups,
            proxies: stored.proxies,
        }
    }
}
