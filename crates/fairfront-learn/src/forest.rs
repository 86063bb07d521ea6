//! Boosted trees as arrays.

use fairfront_core::{RowBlock, Schema};
use serde::{Deserialize, Serialize};

use crate::compiled::CompiledForest;

/// Boosted trees: sums of leaf values, one or more per row.
///
/// Trees read encoded rows: input `i` is numeric feature `i` of the schema, or, from the number of
/// numeric features on, a categorical column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forest {
    /// Names of the inputs: numeric features, then categorical columns.
    pub inputs: Vec<String>,
    /// Raw score of every row before the first tree, one per output. Two classes have one output,
    /// the log odds of the second class; more classes have one output each.
    pub base: Vec<f64>,
    /// The trees. Tree `t` adds to output `t % base.len()`.
    pub trees: Vec<Tree>,
    /// Total gain of the splits on each input.
    pub gain: Vec<f64>,
}

/// A binary tree. Inner nodes are numbered from 0, the root; a tree without inner nodes has one leaf.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// The input that each inner node tests.
    pub input: Vec<u32>,
    /// A number goes left if it is at most this. 0 for nodes that test categories.
    pub threshold: Vec<f64>,
    /// The categories that go left, as sorted positions in their column; all others, unseen ones
    /// included, go right. Empty for nodes that test numbers.
    pub categories: Vec<Vec<u32>>,
    /// The left child of each inner node: an inner node, or the leaf `!child` if negative.
    pub left: Vec<i32>,
    /// The right child, likewise.
    pub right: Vec<i32>,
    /// The value of each leaf.
    pub leaves: Vec<f64>,
}

impl Forest {
    /// Number of raw scores per row.
    pub fn n_outputs(&self) -> usize {
        self.base.len()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.base.len().max(2)
    }

    /// Raw scores of the rows of a block, row by row. `schema` describes the block.
    ///
    /// These are in-sample scores if the forest was fitted on the rows. To score many blocks, compile
    /// the forest once: [`CompiledForest`].
    pub fn raw(&self, schema: &Schema, block: &RowBlock) -> Vec<f64> {
        CompiledForest::new(self, schema).raw(schema, block)
    }

    /// The same scores, row by row and tree by tree.
    pub(crate) fn raw_one_by_one(&self, schema: &Schema, block: &RowBlock) -> Vec<f64> {
        let n = self.n_outputs();
        let offsets = schema.offsets();
        let mut all = Vec::with_capacity(block.n_rows() * n);
        for row in 0..block.n_rows() {
            let (numbers, codes) = (block.numeric(row), block.codes(row));
            let start = all.len();
            all.extend_from_slice(&self.base);
            for (t, tree) in self.trees.iter().enumerate() {
                all[start + t % n] += tree.value(numbers, codes, &offsets);
            }
        }
        all
    }
}

impl Tree {
    /// The value of the leaf that a row falls into.
    fn value(&self, numbers: &[f64], codes: &[u32], offsets: &[u32]) -> f64 {
        let mut node = if self.input.is_empty() { !0 } else { 0 };
        while node >= 0 {
            let at = node as usize;
            let input = self.input[at] as usize;
            let goes_left = match numbers.get(input) {
                Some(number) => *number <= self.threshold[at],
                None => {
                    let column = input - numbers.len();
                    // The code of an unseen category is past those of all columns.
                    let category = codes[column] - offsets[column];
                    self.categories[at].binary_search(&category).is_ok()
                }
            };
            node = if goes_left {
                self.left[at]
            } else {
                self.right[at]
            };
        }
        self.leaves[!node as usize]
    }
}
