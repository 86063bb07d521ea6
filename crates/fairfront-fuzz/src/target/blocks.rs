//! Block files, and the parts of them that workers load.

use std::path::Path;

use fairfront_data::{BlockShards, Input, SharedBlocks};

use crate::mutate::Form;
use crate::{Part, Taken, Target, fixture, scratch};

/// A block file: every change is found, on opening it or when a block is read.
pub(super) struct BlockFile;

impl Target for BlockFile {
    fn name(&self) -> &'static str {
        "blocks"
    }
    fn parts(&self) -> Vec<Part> {
        vec![Part {
            name: "",
            form: Form::Binary,
            seeds: vec![fixture::block_file().to_vec()],
        }]
    }
    fn turns(&self) -> usize {
        20
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let file = scratch::file("case.ffb", input)?;
        let taken = match (read(Path::new(&file)), share(Path::new(&file))) {
            (Some(()), Some(())) => Taken::Accepted,
            (None, None) => Taken::Refused,
            _ => return Err("the file and its parts for workers differ".into()),
        };
        match taken == Taken::Accepted && input != fixture::block_file() {
            true => Err("a change passes the checksums".into()),
            false => Ok(taken),
        }
    }
}

/// Opens the file and reads all blocks.
fn read(path: &Path) -> Option<()> {
    let input = Input::open(path).ok()?;
    let parts = &input.encoded.parts;
    parts
        .iter()
        .try_for_each(|rows| rows.loaded().map(|_| ()))
        .ok()
}

/// Loads all super-blocks as a worker does.
fn share(path: &Path) -> Option<()> {
    let shared = SharedBlocks::open(path).ok()?;
    let mut shards = BlockShards::new(shared.head()).ok()?;
    for (part, n) in shared.super_blocks().into_iter().enumerate() {
        for index in 0..n {
            let bytes = shared.read(part, index).ok()?;
            shards.load(part, index, &bytes).ok()?;
        }
    }
    Some(())
}
