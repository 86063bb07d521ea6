//! The order in which sums of rows are added.
//!
//! Tasks of a super-block are added one after the other, and super-blocks along a binary tree: a node of
//! level k covers 2ᵏ super-blocks, the first of which has a number that is divisible by 2ᵏ. The order is part
//! of the definition of a sum, so that its bytes do not depend on threads, files or workers. A worker that
//! holds any range of super-blocks adds them up to a few nodes, whose number grows with the logarithm of the
//! range.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::BLOCKS_PER_TASK;

/// Number of tasks of a super-block.
pub(crate) const TASKS_PER_SUPER_BLOCK: usize = 8;
/// Number of blocks of a super-block, the unit that workers hold.
pub const BLOCKS_PER_SUPER_BLOCK: usize = TASKS_PER_SUPER_BLOCK * BLOCKS_PER_TASK;

/// The sums of some super-blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// It covers 2^level super-blocks, except for the last one, which may be incomplete.
    level: u32,
    /// Its number among the nodes of its level.
    index: u64,
    sums: Vec<f64>,
}

impl Node {
    /// The sums of one super-block.
    pub(super) fn leaf(index: usize, sums: Vec<f64>) -> Self {
        Self {
            level: 0,
            index: index as u64,
            sums,
        }
    }

    /// The super-blocks that it covers.
    pub fn range(&self) -> Range<u64> {
        self.index << self.level..(self.index + 1) << self.level
    }

    /// Number of sums.
    pub fn n_sums(&self) -> usize {
        self.sums.len()
    }
}

/// Adds nodes that arrive in the order of their super-blocks.
#[derive(Debug, Default)]
pub struct Merger {
    nodes: Vec<Node>,
}

impl Merger {
    /// Adds the next node. Two halves of a larger node become that node.
    pub fn push(&mut self, mut node: Node) {
        while let Some(left) = self.nodes.pop() {
            if left.level != node.level || left.index % 2 != 0 || left.index + 1 != node.index {
                self.nodes.push(left);
                break;
            }
            node = Node {
                level: node.level + 1,
                index: left.index / 2,
                sums: added(left.sums, &node.sums),
            };
        }
        self.nodes.push(node);
    }

    /// The nodes that were not halves of a larger one.
    pub fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    /// The sums of all super-blocks, the last nodes first; `None` without nodes.
    pub fn finish(self) -> Option<Vec<f64>> {
        let mut nodes = self.nodes.into_iter().rev();
        let last = nodes.next()?.sums;
        Some(nodes.fold(last, |right, left| added(left.sums, &right)))
    }
}

fn added(mut left: Vec<f64>, right: &[f64]) -> Vec<f64> {
    for (left, right) in left.iter_mut().zip(right) {
        *left += right;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Stream};
    use proptest::prelude::*;

    proptest! {
        /// Workers with any ranges give the same bytes as one worker.
        #[test]
        fn ranges_do_not_change_sums(n in 1_usize..200, mut cuts in prop::collection::vec(0_usize..200, 0..8), seed: u64) {
            let mut random = Stream::new(seed, Purpose::Synthetic, [0, 0]);
            let leaves: Vec<Node> = (0..n)
                .map(|i| Node::leaf(i, vec![random.normal() * 1e10, random.normal()]))
                .collect();
            let mut whole = Merger::default();
            leaves.iter().for_each(|leaf| whole.push(leaf.clone()));
            cuts.extend([0, n]);
            cuts.iter_mut().for_each(|cut| *cut = (*cut).min(n));
            cuts.sort_unstable();
            let mut of_workers = Merger::default();
            for range in cuts.windows(2) {
                let mut worker = Merger::default();
                leaves[range[0]..range[1]].iter().for_each(|leaf| worker.push(leaf.clone()));
                let nodes = worker.into_nodes();
                prop_assert!(nodes.len() <= 16);
                nodes.into_iter().for_each(|node| of_workers.push(node));
            }
            prop_assert_eq!(whole.finish(), of_workers.finish());
        }
    }

    #[test]
    fn sums_are_exact_for_whole_numbers() {
        let mut merger = Merger::default();
        (0..1_000).for_each(|i| merger.push(Node::leaf(i, vec![i as f64])));
        assert_eq!(merger.finish(), Some(vec![499_500.0]));
        assert_eq!(Merger::default().finish(), None);
    }
}
