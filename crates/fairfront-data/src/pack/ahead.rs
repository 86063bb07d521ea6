//! Reads the blocks of a file ahead: a thread reads runs of neighboring blocks into a bounded buffer.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fairfront_core::meter;

use super::file::PlacedFile;

/// Bytes of a run of blocks, unless one block is larger.
const RUN_BYTES: usize = 1 << 20;
/// Bytes of all runs that are held.
const MOST_BYTES: usize = 16 << 20;

/// The place of the blocks of a split.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) file: Arc<PlacedFile>,
    pub(crate) offset: u64,
    /// Bytes of every block except the last.
    pub(crate) block_bytes: usize,
    pub(crate) end: u64,
}

impl Blocks {
    /// The bytes of some blocks.
    pub(super) fn read(&self, first: usize, n: usize) -> io::Result<Vec<u8>> {
        let start = self.offset + first as u64 * self.block_bytes as u64;
        let end = self.end.min(start + n as u64 * self.block_bytes as u64);
        let mut bytes = vec![0; end.saturating_sub(start) as usize];
        self.file.read_at(&mut bytes, start)?;
        meter::add_bytes_read(bytes.len() as u64);
        Ok(bytes)
    }
}

/// A run of blocks, by its number.
#[derive(Debug)]
struct Run {
    number: usize,
    /// `None` while it is read.
    bytes: Option<Arc<Vec<u8>>>,
}

#[derive(Debug, Default)]
struct State {
    /// Runs that are held or being read, oldest first.
    runs: VecDeque<Run>,
    /// Runs to read.
    wanted: VecDeque<usize>,
    has_thread: bool,
    is_closed: bool,
}

#[derive(Debug)]
struct Shared {
    blocks: Blocks,
    blocks_per_run: usize,
    most_runs: usize,
    state: Mutex<State>,
    changed: Condvar,
}

/// The blocks of a split, read ahead.
#[derive(Debug)]
pub(crate) struct Ahead(Arc<Shared>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let waited = self.changed.wait(state);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the wanted runs until the source is dropped.
    fn serve(&self) {
        let mut state = self.lock();
        while !state.is_closed {
            let Some(number) = state.wanted.pop_front() else {
                state = self.wait(state);
                continue;
            };
            if state.runs.len() >= self.most_runs {
                state.runs.pop_front();
            }
            state.runs.push_back(Run {
                number,
                bytes: None,
            });
            drop(state);
            let read = self
                .blocks
                .read(number * self.blocks_per_run, self.blocks_per_run);
            state = self.lock();
            let own = state.runs.iter().position(|run| run.number == number);
            if let Some(own) = own {
                match read {
                    Ok(bytes) => state.runs[own].bytes = Some(Arc::new(bytes)),
                    // The thread that needs the block reads it again and reports the error.
                    Err(_) => {
                        state.runs.remove(own);
                    }
                }
            }
            self.changed.notify_all();
        }
    }

    /// The run with a block, once it is read; `None` if it is not being read.
    fn run(&self, number: usize) -> Option<Arc<Vec<u8>>> {
        let mut state = self.lock();
        loop {
            let run = state.runs.iter().find(|run| run.number == number);
            match run.map(|run| &run.bytes) {
                Some(Some(bytes)) => return Some(Arc::clone(bytes)),
                Some(None) => state = self.wait(state),
                None => {
                    // This thread reads the block itself, so nothing has to be read ahead.
                    return None;
                }
            }
        }
    }
}

impl Ahead {
    pub(crate) fn new(blocks: Blocks) -> Self {
        let blocks_per_run = (RUN_BYTES / blocks.block_bytes).max(1);
        let most_runs = MOST_BYTES / (blocks_per_run * blocks.block_bytes);
        Self(Arc::new(Shared {
            blocks,
            blocks_per_run,
            most_runs,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// The name of the file.
    pub(crate) fn name(&self) -> &str {
        self.0.blocks.file.name()
    }

    /// The most bytes that are held.
    pub(crate) fn most_bytes(&self) -> u64 {
        let all = self.0.blocks.end - self.0.blocks.offset;
        all.min(MOST_BYTES as u64)
    }

    /// Passes the bytes of a block on.
    pub(crate) fn block<T>(&self, index: usize, take: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let shared = &self.0;
        let size = shared.blocks.block_bytes;
        match shared.run(index / shared.blocks_per_run) {
            Some(bytes) => {
                let start = (index % shared.blocks_per_run * size).min(bytes.len());
                Ok(take(&bytes[start..bytes.len().min(start + size)]))
            }
            None => Ok(take(&shared.blocks.read(index, 1)?)),
        }
    }

    /// Asks the thread to read these blocks, as far as they fit into the buffer.
    pub(crate) fn prefetch(&self, blocks: Range<usize>) {
        let shared = &self.0;
        if shared.most_runs < 4 || blocks.is_empty() {
            return;
        }
        let first = blocks.start / shared.blocks_per_run;
        let last = (blocks.end - 1) / shared.blocks_per_run;
        let mut state = shared.lock();
        if !state.has_thread {
            let own = Arc::clone(shared);
            let thread = std::thread::Builder::new().name("fairfront-read".into());
            state.has_thread = thread.spawn(move || own.serve()).is_ok();
        }
        if !state.has_thread {
            return;
        }
        for number in (first..=last).take(shared.most_runs / 2) {
            let is_known = state.runs.iter().any(|run| run.number == number);
            if !is_known && !state.wanted.contains(&number) {
                state.wanted.push_back(number);
            }
        }
        while state.wanted.len() > shared.most_runs / 2 {
            state.wanted.pop_front();
        }
        shared.changed.notify_all();
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}
