//! Rows that workers hold: other processes, or other machines.
//!
//! A [`Shard`] holds some super-blocks and answers requests about them. [`Distributed`] sends a request to
//! all workers and merges their answers in the order of super-blocks, so that results have the same bytes as
//! in memory, whichever worker holds which super-blocks. How requests travel is up to [`Workers`].

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::merge::{BLOCKS_PER_SUPER_BLOCK, Merger, Node};
use super::pass::{Map, Over, Pass, Wanted};
use super::{BothSides, Engine, Host, NearRows, Nearest, Statistics, Strata};
use crate::{Error, RowBlock, RowSource, Schema, meter};

/// Number of blocks that the host keeps after workers sent them.
const KEPT_BLOCKS: usize = 4_096;

/// A question to all workers, or to the one that holds a block.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
enum Request<'a> {
    /// The sums of a pass over all rows.
    Sum(Pass<'a>),
    /// The rows nearest to the threshold.
    Nearest(Nearest<'a>),
    /// Numbers of rows by stratum and block.
    Strata(Strata),
    /// The rows of a block.
    Block(usize),
}

/// The answer of one worker, about the super-blocks that it holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Answer {
    /// Sums, for [`Merger`].
    Nodes(Vec<Node>),
    /// Nearest rows, for each point.
    Nearest(Vec<BothSides>),
    /// Super-blocks, and the numbers of rows by stratum in each of their blocks.
    Strata(Vec<(usize, Vec<Vec<u32>>)>),
    /// A block, if the worker holds it.
    Block(Option<BlockRows>),
}

/// The rows of a block as plain arrays, as in [`RowBlock::new`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct BlockRows {
    numeric: Vec<f64>,
    codes: Vec<u32>,
    labels: Vec<f64>,
    groups: Vec<Vec<u32>>,
    weights: Vec<f64>,
}

impl BlockRows {
    fn of(block: &RowBlock) -> Self {
        let rows = 0..block.n_rows();
        Self {
            numeric: rows
                .clone()
                .flat_map(|r| block.numeric(r))
                .copied()
                .collect(),
            codes: rows.flat_map(|r| block.codes(r)).copied().collect(),
            labels: block.labels().to_vec(),
            groups: (0..block.n_attributes())
                .map(|a| block.groups(a).to_vec())
                .collect(),
            weights: block.weights().to_vec(),
        }
    }

    /// Checks the rows and makes a block of them.
    fn into_block(self, schema: &Schema) -> Result<RowBlock, Error> {
        let Self {
            numeric,
            codes,
            labels,
            groups,
            weights,
        } = self;
        RowBlock::new(schema, numeric, codes, labels, groups, weights)
    }
}

/// Sends requests to workers.
pub trait Workers: Send + Sync {
    /// The answers of all workers ([`Shard::answer`]) to a request about a part of the data, such as the
    /// training rows. Together, they cover each super-block once. A worker that fails is replaced, or the
    /// call fails. `block` is set if only the worker that holds this block has an answer.
    fn ask(&self, part: usize, request: &[u8], block: Option<usize>)
    -> Result<Vec<Vec<u8>>, Error>;
}

/// Some super-blocks of a data set, held by a worker.
#[derive(Debug, Default)]
pub struct Shard {
    schema: Schema,
    n_rows: u64,
    held: BTreeMap<usize, Vec<Arc<RowBlock>>>,
    host: Host,
}

impl Shard {
    /// A shard without rows of a data set with this schema and this many rows.
    pub fn new(schema: Schema, n_rows: u64) -> Self {
        Self {
            schema,
            n_rows,
            ..Self::default()
        }
    }

    /// Adds a super-block.
    pub fn hold(&mut self, super_block: usize, blocks: Vec<RowBlock>) -> Result<(), Error> {
        let first = super_block * BLOCKS_PER_SUPER_BLOCK;
        let last = (first + BLOCKS_PER_SUPER_BLOCK).min(self.n_blocks());
        let expected = last.saturating_sub(first);
        if blocks.len() != expected {
            return Err(Error::Shape {
                what: "blocks of a super-block",
                expected,
                found: blocks.len(),
            });
        }
        let blocks = blocks.into_iter().map(Arc::new).collect();
        self.held.insert(super_block, blocks);
        Ok(())
    }

    /// The super-blocks that it holds.
    pub fn held(&self) -> impl Iterator<Item = usize> {
        self.held.keys().copied()
    }

    /// Answers a request of [`Distributed`].
    pub fn answer(&self, request: &[u8]) -> Result<Vec<u8>, Error> {
        let request = postcard::from_bytes(request).map_err(|e| unreadable(&e))?;
        let answer = self.answer_to(&request)?;
        postcard::to_stdvec(&answer).map_err(|e| unreadable(&e))
    }

    fn answer_to(&self, request: &Request<'_>) -> Result<Answer, Error> {
        Ok(match request {
            Request::Sum(pass) => {
                let mut nodes = Vec::new();
                for run in self.runs() {
                    nodes.extend(self.host.nodes(self, pass, run)?);
                }
                Answer::Nodes(nodes)
            }
            Request::Nearest(nearest) => {
                let mut found = Vec::new();
                for run in self.runs() {
                    let first = run.start * BLOCKS_PER_SUPER_BLOCK;
                    let last = (run.end * BLOCKS_PER_SUPER_BLOCK).min(self.n_blocks());
                    found.push(nearest.find(self, first..last)?);
                }
                Answer::Nearest(merged(&found, nearest))
            }
            Request::Strata(by) => {
                let counts = self.held.iter().map(|(super_block, blocks)| {
                    (*super_block, blocks.iter().map(|b| by.counts(b)).collect())
                });
                Answer::Strata(counts.collect())
            }
            Request::Block(index) => {
                Answer::Block(self.block(*index).ok().map(|block| BlockRows::of(&block)))
            }
        })
    }

    /// Ranges of consecutive super-blocks.
    fn runs(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for super_block in self.held() {
            match runs.last_mut() {
                Some(run) if run.end == super_block => run.end += 1,
                _ => runs.push(super_block..super_block + 1),
            }
        }
        runs
    }
}

impl Engine for Shard {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn n_rows(&self) -> u64 {
        self.n_rows
    }

    fn sum(&self, pass: &Pass<'_>) -> Result<Vec<f64>, Error> {
        self.host.sum(self, pass)
    }

    fn nearest(&self, nearest: &Nearest<'_>) -> Result<Vec<BothSides>, Error> {
        self.host.nearest(self, nearest)
    }
}

impl RowSource for Shard {
    fn block(&self, index: usize) -> Result<Arc<RowBlock>, Error> {
        let blocks = self.held.get(&(index / BLOCKS_PER_SUPER_BLOCK));
        let block = blocks.and_then(|blocks| blocks.get(index % BLOCKS_PER_SUPER_BLOCK));
        block.cloned().ok_or(Error::OutOfRange {
            what: "block",
            index,
            count: self.n_blocks(),
        })
    }

    fn strata(&self, by: Strata) -> Result<Vec<Vec<u32>>, Error> {
        self.host.strata(self, by)
    }
}

/// The error for bytes that the other side cannot read, for example because it has another version.
fn unreadable(error: &postcard::Error) -> Error {
    Error::Workers(format!(
        "a message cannot be read ({error}); use the same version of fairfront everywhere"
    ))
}

/// The nearest rows of several answers.
fn merged(answers: &[Vec<BothSides>], nearest: &Nearest<'_>) -> Vec<BothSides> {
    let side = |point: usize, side: usize| {
        let parts: Vec<NearRows> = answers.iter().map(|a| a[point][side].clone()).collect();
        NearRows::merged(&parts, nearest.most)
    };
    let points = 0..nearest.points.len();
    points
        .map(|point| [side(point, 0), side(point, 1)])
        .collect()
}

/// Rows that workers hold.
pub struct Distributed {
    schema: Schema,
    n_rows: u64,
    part: usize,
    workers: Arc<dyn Workers>,
    host: Host,
    /// The same rows in a file of this machine.
    local: Option<Arc<dyn RowSource>>,
    /// Blocks that workers sent, because samples and a few other computations read the same blocks again.
    blocks: Mutex<HashMap<usize, Arc<RowBlock>>>,
}

impl Distributed {
    /// The rows of one part of the data that workers hold.
    pub fn new(schema: Schema, n_rows: u64, part: usize, workers: Arc<dyn Workers>) -> Self {
        Self {
            schema,
            n_rows,
            part,
            workers,
            host: Host::default(),
            local: None,
            blocks: Mutex::default(),
        }
    }

    /// Reads single blocks from the same rows on this machine instead of asking workers for them.
    #[must_use]
    pub fn with_local(mut self, rows: Arc<dyn RowSource>) -> Self {
        self.local = Some(rows);
        self
    }

    fn n_super_blocks(&self) -> usize {
        self.n_blocks().div_ceil(BLOCKS_PER_SUPER_BLOCK)
    }

    fn ask(&self, request: &Request<'_>) -> Result<Vec<Answer>, Error> {
        let block = match request {
            Request::Block(index) => Some(*index),
            _ => None,
        };
        let request = postcard::to_stdvec(request).map_err(|e| unreadable(&e))?;
        let answers = self.workers.ask(self.part, &request, block)?;
        let answer = |bytes: &Vec<u8>| postcard::from_bytes(bytes).map_err(|e| unreadable(&e));
        answers.iter().map(answer).collect()
    }

    /// The error for answers that do not fit the request.
    fn incomplete(&self) -> Error {
        Error::Workers(format!(
            "their answers do not cover the {} super-blocks of the rows",
            self.n_super_blocks()
        ))
    }
}

impl Pass<'_> {
    /// Whether a worker can run it: it has no predictor or statistics of the caller.
    fn is_data(&self) -> bool {
        let is_own = |statistic: &Statistics<'_>| matches!(statistic, Statistics::Own(_));
        let own_statistics = match &self.wanted {
            Wanted::Sums { statistics } | Wanted::Gradients { statistics, .. } => {
                statistics.iter().any(is_own)
            }
            Wanted::Both { statistic, .. } => is_own(statistic),
            _ => false,
        };
        !own_statistics && !matches!(self.map, Map::Own(_))
    }
}

impl Engine for Distributed {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn n_rows(&self) -> u64 {
        self.n_rows
    }

    fn sum(&self, pass: &Pass<'_>) -> Result<Vec<f64>, Error> {
        let is_sample = match &pass.over {
            Over::Sample(sample) => (sample.size as u64) < self.n_rows,
            Over::All | Over::AllRoughly => false,
        };
        // A sample has few rows, and a caller's own functions run here: both read blocks from the workers.
        if is_sample || !pass.is_data() || self.n_rows == 0 {
            return self.host.sum(self, pass);
        }
        meter::add_pass(self.n_rows, pass.points.len());
        let mut nodes = Vec::new();
        for answer in self.ask(&Request::Sum(pass.clone()))? {
            match answer {
                Answer::Nodes(more) => nodes.extend(more),
                _ => return Err(self.incomplete()),
            }
        }
        nodes.sort_by_key(|node| node.range().start);
        let mut merger = Merger::default();
        let (mut next, length) = (0, pass.len(&self.schema));
        for node in nodes {
            if node.range().start != next || node.n_sums() != length {
                return Err(self.incomplete());
            }
            next = node.range().end;
            merger.push(node);
        }
        if next < self.n_super_blocks() as u64 {
            return Err(self.incomplete());
        }
        merger.finish().ok_or_else(|| self.incomplete())
    }

    fn nearest(&self, nearest: &Nearest<'_>) -> Result<Vec<BothSides>, Error> {
        if matches!(nearest.map, Map::Own(_)) || self.n_rows == 0 {
            return self.host.nearest(self, nearest);
        }
        meter::add_pass(self.n_rows, nearest.points.len());
        let mut found = Vec::new();
        for answer in self.ask(&Request::Nearest(nearest.clone()))? {
            match answer {
                Answer::Nearest(rows) if rows.len() == nearest.points.len() => found.push(rows),
                // A worker without rows has no answer.
                Answer::Nearest(rows) if rows.is_empty() => {}
                _ => return Err(self.incomplete()),
            }
        }
        Ok(merged(&found, nearest))
    }
}

impl RowSource for Distributed {
    fn block(&self, index: usize) -> Result<Arc<RowBlock>, Error> {
        if let Some(local) = &self.local {
            return local.block(index);
        }
        let lock = || self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = lock().get(&index) {
            return Ok(Arc::clone(block));
        }
        for answer in self.ask(&Request::Block(index))? {
            if let Answer::Block(Some(rows)) = answer {
                let block = Arc::new(rows.into_block(&self.schema)?);
                let mut blocks = lock();
                if blocks.len() >= KEPT_BLOCKS {
                    blocks.clear();
                }
                blocks.insert(index, Arc::clone(&block));
                return Ok(block);
            }
        }
        Err(Error::OutOfRange {
            what: "block",
            index,
            count: self.n_blocks(),
        })
    }

    fn prefetch(&self, blocks: Range<usize>) {
        if let Some(local) = &self.local {
            local.prefetch(blocks);
        }
    }

    fn strata(&self, by: Strata) -> Result<Vec<Vec<u32>>, Error> {
        let mut counts: BTreeMap<usize, Vec<Vec<u32>>> = BTreeMap::new();
        for answer in self.ask(&Request::Strata(by))? {
            match answer {
                Answer::Strata(found) => counts.extend(found),
                _ => return Err(self.incomplete()),
            }
        }
        let counts: Vec<Vec<u32>> = counts.into_values().flatten().collect();
        match counts.len() == self.n_blocks() {
            true => Ok(counts),
            false => Err(self.incomplete()),
        }
    }
}
