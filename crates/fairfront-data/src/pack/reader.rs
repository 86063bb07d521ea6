//! Reads the rows of a block file.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use fairfront_core::{
    BLOCK_ROWS, BothSides, Dataset, Engine, Host, Nearest, Pass, RowBlock, RowSource, Schema,
    Strata,
};

use super::ahead::{Ahead, Blocks};
use super::decode::Decoder;
use super::file::PlacedFile;
use super::format::{
    CHECKSUM, HEADER, Header, MAGIC, Section, Stored, block_seed, corrupted, not_blocks,
    section_bytes, tail_checksum, truncated,
};
use super::hash::checksum;
use crate::encoding::{Encoded, Encoding};
use crate::error::Error;
use crate::finding::Findings;
use crate::fingerprint::Fingerprint;
use crate::group::AttributeRule;
use crate::input::{Facts, Input};
use crate::memory::MemoryLimit;
use crate::split::Part;
use crate::table::Diagnostic;

/// The size of an allocation after which allocators keep freed blocks: below 32 MiB, the most that glibc
/// adapts to.
const KEPT_BYTES: usize = 31 << 20;

/// The rows of a split in a block file.
#[derive(Debug)]
pub(crate) struct BlockSource {
    decoder: Arc<Decoder>,
    part: Part,
    n_rows: u64,
    ahead: Ahead,
    host: Host,
}

impl BlockSource {
    pub(crate) fn new(
        file: &Arc<PlacedFile>,
        decoder: &Arc<Decoder>,
        part: Part,
        section: Section,
    ) -> Self {
        Self {
            ahead: Ahead::new(blocks_of(file, section, decoder.row_bytes())),
            decoder: Arc::clone(decoder),
            part,
            n_rows: section.n_rows,
            host: Host::default(),
        }
    }
}

/// Checks and decodes the bytes of a block of a split with this many rows.
pub(super) fn decode(
    decoder: &Decoder,
    (name, part): (&str, Part),
    n_rows: u64,
    index: usize,
    bytes: &[u8],
) -> Result<RowBlock, Error> {
    let wrong = |problem: &str| {
        let (number, part) = (index + 1, part.name());
        corrupted(
            name,
            &format!("block {number} of the {part} split {problem}"),
        )
    };
    let n_rows = (n_rows as usize).saturating_sub(index * BLOCK_ROWS);
    let n_rows = n_rows.min(BLOCK_ROWS);
    let Some((rows, sum)) = bytes.split_at_checked(n_rows * decoder.row_bytes()) else {
        return Err(wrong("is incomplete"));
    };
    let seed = block_seed(part as usize, index);
    if sum != checksum(rows, seed).to_le_bytes() {
        return Err(wrong("does not match its checksum"));
    }
    let block = decoder.block(rows, n_rows);
    block.ok_or_else(|| wrong("has invalid values"))
}

impl Engine for BlockSource {
    fn schema(&self) -> &Schema {
        self.decoder.schema()
    }

    fn n_rows(&self) -> u64 {
        self.n_rows
    }

    fn sum(&self, pass: &Pass<'_>) -> Result<Vec<f64>, fairfront_core::Error> {
        self.host.sum(self, pass)
    }

    fn nearest(&self, nearest: &Nearest<'_>) -> Result<Vec<BothSides>, fairfront_core::Error> {
        self.host.nearest(self, nearest)
    }
}

impl RowSource for BlockSource {
    fn block(&self, index: usize) -> Result<Arc<RowBlock>, fairfront_core::Error> {
        if index >= self.n_blocks() {
            return Err(fairfront_core::Error::OutOfRange {
                what: "block",
                index,
                count: self.n_blocks(),
            });
        }
        let read = self.ahead.block(index, |bytes| {
            let place = (self.ahead.name(), self.part);
            decode(&self.decoder, place, self.n_rows, index, bytes)
        });
        let block = read.unwrap_or_else(|source| {
            let name = self.ahead.name();
            Err(match source.kind() {
                std::io::ErrorKind::UnexpectedEof => truncated(name),
                _ => Error::io(name, source),
            })
        });
        let block = block.map_err(|error| fairfront_core::Error::Custom(Box::new(error)))?;
        Ok(Arc::new(block))
    }

    fn prefetch(&self, blocks: Range<usize>) {
        self.ahead.prefetch(blocks);
    }

    fn strata(&self, by: Strata) -> Result<Vec<Vec<u32>>, fairfront_core::Error> {
        self.host.strata(self, by)
    }
}

/// Whether a file starts like a block file or is named like one, because the start may be corrupted. Pipes are
/// not opened, because their bytes can be read only once.
pub(crate) fn is_block_file(path: &Path) -> bool {
    if !path.metadata().is_ok_and(|found| found.is_file()) {
        return false;
    }
    if path.extension().is_some_and(|extension| extension == "ffb") {
        return true;
    }
    let mut start = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == MAGIC
}

/// The content of a block file, except its blocks.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) header: Header,
    pub(super) decoder: Arc<Decoder>,
    encoding: Encoding,
    stored: StoredFacts,
}

impl Parsed {
    /// Checks the header and the bytes after the blocks.
    pub(super) fn new(name: &str, start: &[u8; HEADER], tail: &[u8]) -> Result<Self, Error> {
        let header = Header::read(name, start)?;
        if tail.len() as u64 != header.lists + header.facts
            || tail_checksum(tail) != header.tail_checksum
        {
            let problem = "its facts do not match their checksum";
            return Err(corrupted(name, problem));
        }
        let (lists, facts) = tail.split_at(header.lists as usize);
        let stored: Stored = serde_json::from_slice(facts)
            .map_err(|e| corrupted(name, &format!("its facts cannot be read ({e})")))?;
        stored.encoding.check()?;
        let inconsistent = || corrupted(name, "its facts are inconsistent");
        let (lists, rest) = lists.as_chunks::<8>();
        let lists: Vec<f64> = lists.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let mut encoding = stored.encoding;
        let is_sound = stored.layout.is_sound(&encoding) && stored.layout.n_listed() == lists.len();
        if !is_sound || !rest.is_empty() || encoding.learned.is_some() {
            return Err(inconsistent());
        }
        let mut facts = stored.facts;
        let restored = |rules: Vec<AttributeRule>| -> Vec<AttributeRule> {
            let rules = rules.into_iter();
            rules.map(|rule| rule.restored(&facts.spec)).collect()
        };
        encoding.attributes = restored(std::mem::take(&mut encoding.attributes));
        let attributes = facts.attributes.clone();
        facts.attributes = restored(attributes);
        let decoder = Arc::new(Decoder::new(&encoding, stored.layout, &lists));
        let mut next = HEADER as u64;
        for (section, n_rows) in header.sections.iter().zip(facts.split) {
            let bytes = section_bytes(section.n_rows, decoder.row_bytes());
            if section.offset != next || section.n_rows != n_rows as u64 {
                return Err(inconsistent());
            }
            next = bytes
                .and_then(|bytes| next.checked_add(bytes))
                .ok_or_else(inconsistent)?;
        }
        if next != header.tail {
            return Err(inconsistent());
        }
        Ok(Self {
            header,
            decoder,
            encoding,
            stored: StoredFacts {
                facts,
                diagnostics: stored.diagnostics,
                findings: stored.findings.into(),
                fingerprints: stored.fingerprints,
            },
        })
    }
}

#[derive(Debug)]
struct StoredFacts {
    facts: Facts,
    diagnostics: Vec<Diagnostic>,
    findings: Findings,
    fingerprints: [Fingerprint; 4],
}

/// An open block file.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) name: String,
    file: Arc<PlacedFile>,
    /// The header and the bytes after the blocks.
    pub(super) head: Vec<u8>,
    pub(super) parsed: Parsed,
}

impl Opened {
    /// Opens a block file and checks everything except its blocks, which are checked when they are read.
    pub(super) fn new(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| Error::io(&name, source))?;
        Self::of(file, name)
    }

    fn of(file: File, name: String) -> Result<Self, Error> {
        let failed = |source| Error::io(&name, source);
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()));
        }
        let length = metadata.len();
        let file = Arc::new(PlacedFile::new(file, &name));
        let mut start = [0; HEADER];
        let n = (length as usize).min(HEADER);
        file.read_at(&mut start[..n], 0).map_err(failed)?;
        if n < HEADER {
            let is_start = n >= MAGIC.len() && start.starts_with(&MAGIC);
            return Err(match is_start {
                true => truncated(&name),
                false => not_blocks(&name),
            });
        }
        let header = Header::read(&name, &start)?;
        match header.file_bytes() {
            Some(bytes) if bytes == length => {}
            Some(bytes) if bytes > length => return Err(truncated(&name)),
            _ => return Err(corrupted(&name, "it is longer than its header says")),
        }
        let mut tail = vec![0; (header.lists + header.facts) as usize];
        file.read_at(&mut tail, header.tail).map_err(failed)?;
        let parsed = Parsed::new(&name, &start, &tail)?;
        Ok(Self {
            head: [&start[..], &tail].concat(),
            name,
            file,
            parsed,
        })
    }

    /// The place of the blocks of a split.
    pub(super) fn blocks(&self, part: Part) -> Blocks {
        let section = self.parsed.header.sections[part as usize];
        blocks_of(&self.file, section, self.parsed.decoder.row_bytes())
    }
}

/// The place of the blocks of a section.
fn blocks_of(file: &Arc<PlacedFile>, section: Section, row_bytes: usize) -> Blocks {
    Blocks {
        file: Arc::clone(file),
        offset: section.offset,
        block_bytes: BLOCK_ROWS * row_bytes + CHECKSUM,
        end: section.offset + section_bytes(section.n_rows, row_bytes).unwrap_or(0),
    }
}

/// Opens a block file.
pub(crate) fn open(path: &Path) -> Result<Input, Error> {
    Ok(input(Opened::new(path)?))
}

/// The rows of an open block file with this name in errors.
pub(crate) fn open_file(file: File, name: &str) -> Result<Input, Error> {
    Ok(input(Opened::of(file, name.into())?))
}

fn input(opened: Opened) -> Input {
    // Blocks are decoded and freed all the time. Freeing a large allocation once makes common allocators keep
    // such amounts instead of returning them to the system, which takes a tenth of the time of a fit.
    drop(Vec::<u8>::with_capacity(KEPT_BYTES));
    let source = |part: Part| {
        let section = opened.parsed.header.sections[part as usize];
        BlockSource::new(&opened.file, &opened.parsed.decoder, part, section)
    };
    let sources = Part::ALL.map(source);
    let held = sources.iter().map(|source| source.ahead.most_bytes()).sum();
    let Parsed {
        encoding, stored, ..
    } = opened.parsed;
    Input {
        encoded: Encoded {
            encoding,
            parts: sources.map(|source| Dataset::over(Arc::new(source))),
            diagnostics: stored.diagnostics,
            memory: MemoryLimit::default(),
            held,
            found_fingerprints: OnceLock::from(stored.fingerprints),
        },
        facts: stored.facts,
        findings: stored.findings,
    }
}
