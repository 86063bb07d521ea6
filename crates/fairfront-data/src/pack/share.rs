//! Super-blocks of a block file that workers hold.

use std::path::Path;
use std::sync::Arc;

use fairfront_core::{BLOCK_ROWS, BLOCKS_PER_SUPER_BLOCK, Dataset, Distributed, Shard, Workers};

use super::ahead::Blocks;
use super::decode::Decoder;
use super::format::{CHECKSUM, HEADER, truncated};
use super::reader::{Opened, Parsed, decode};
use crate::error::Error;
use crate::input::Input;
use crate::split::Part;

/// A block file whose super-blocks are sent to workers.
#[derive(Debug)]
pub struct SharedBlocks {
    name: String,
    head: Vec<u8>,
    /// The blocks of each split, and their number.
    parts: [(Blocks, usize); 4],
}

impl SharedBlocks {
    /// Opens a block file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let opened = Opened::new(path)?;
        let blocks = |part: Part| {
            let section = opened.parsed.header.sections[part as usize];
            let n_blocks = (section.n_rows as usize).div_ceil(BLOCK_ROWS);
            (opened.blocks(part), n_blocks)
        };
        let parts = Part::ALL.map(blocks);
        Ok(Self {
            name: opened.name,
            head: opened.head,
            parts,
        })
    }

    /// Everything except the blocks, which workers need to read them.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Number of super-blocks of each split, in the order of [`Part::ALL`].
    pub fn super_blocks(&self) -> [usize; 4] {
        let count = |(_, n): &(Blocks, usize)| n.div_ceil(BLOCKS_PER_SUPER_BLOCK);
        self.parts.each_ref().map(count)
    }

    /// The bytes of a super-block, for [`BlockShards::load`].
    pub fn read(&self, part: usize, super_block: usize) -> Result<Vec<u8>, Error> {
        let first = super_block * BLOCKS_PER_SUPER_BLOCK;
        let Some((blocks, n_blocks)) = self.parts.get(part).filter(|(_, n)| first < *n) else {
            return Err(Error::usage(format!(
                "super-block {super_block} of split {part} does not exist"
            )));
        };
        let n = BLOCKS_PER_SUPER_BLOCK.min(n_blocks - first);
        blocks.read(first, n).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => truncated(&self.name),
            _ => Error::io(&self.name, source),
        })
    }
}

/// Super-blocks of all splits of a block file, held by a worker.
#[derive(Debug)]
pub struct BlockShards {
    decoder: Arc<Decoder>,
    n_rows: [u64; 4],
    shards: [Shard; 4],
}

/// The name of the rows of a worker in errors.
const NAME: &str = "rows of the worker";

impl BlockShards {
    /// A worker without rows, from [`SharedBlocks::head`].
    pub fn new(head: &[u8]) -> Result<Self, Error> {
        let (start, tail) = head
            .split_first_chunk::<HEADER>()
            .ok_or_else(|| Error::usage("the head of a block file is incomplete; send it again"))?;
        let parsed = Parsed::new(NAME, start, tail)?;
        let n_rows = parsed.header.sections.map(|section| section.n_rows);
        let schema = parsed.decoder.schema();
        Ok(Self {
            shards: n_rows.map(|n| Shard::new(schema.clone(), n)),
            n_rows,
            decoder: parsed.decoder,
        })
    }

    /// Checks and holds a super-block.
    pub fn load(&mut self, part: usize, super_block: usize, bytes: &[u8]) -> Result<(), Error> {
        let Some(of) = Part::ALL.get(part) else {
            return Err(Error::usage(format!("split {part} does not exist")));
        };
        let first = super_block * BLOCKS_PER_SUPER_BLOCK;
        let block_bytes = BLOCK_ROWS * self.decoder.row_bytes() + CHECKSUM;
        let blocks = bytes.chunks(block_bytes).enumerate().map(|(at, bytes)| {
            decode(
                &self.decoder,
                (NAME, *of),
                self.n_rows[part],
                first + at,
                bytes,
            )
        });
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        Ok(self.shards[part].hold(super_block, blocks)?)
    }

    /// Answers a request about the super-blocks of a split.
    pub fn answer(&self, part: usize, request: &[u8]) -> Result<Vec<u8>, Error> {
        let shard = self.shards.get(part);
        let shard = shard.ok_or_else(|| Error::usage(format!("split {part} does not exist")))?;
        Ok(shard.answer(request)?)
    }
}

impl Input {
    /// The same rows, held by workers. Single blocks are still read from where they are now.
    #[must_use]
    pub fn on_workers(mut self, workers: &Arc<dyn Workers>) -> Self {
        for (part, rows) in self.encoded.parts.iter_mut().enumerate() {
            let (schema, n_rows) = (rows.schema().clone(), rows.n_rows() as u64);
            let distributed = Distributed::new(schema, n_rows, part, Arc::clone(workers));
            *rows = Dataset::over(Arc::new(distributed.with_local(Arc::new(rows.clone()))));
        }
        self
    }
}
