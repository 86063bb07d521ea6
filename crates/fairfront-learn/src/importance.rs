//! How much the predictions of a learner depend on each column.

use fairfront_core::{BLOCK_ROWS, Dataset, Loaded, Purpose, RowBlock, Stream};
use rayon::prelude::*;

use crate::learned::{Learner, Source};
use crate::{Error, Problem};

/// With more rows, the first ones are used.
const MOST_ROWS: usize = 10_000;

impl Learner {
    /// How much the log loss, or the squared error of a number, rises if the values of an input are
    /// shuffled among these rows, for each input of the trees. Empty for learners without trees. The
    /// learner must not have been fitted on these rows.
    pub fn permutation_importance(
        &self,
        rows: &Loaded,
        problem: &impl Problem,
        seed: u64,
    ) -> Result<Vec<f64>, Error> {
        let Source::Trees(forest) = &self.source else {
            return Ok(Vec::new());
        };
        problem.check_rows(rows.n_rows())?;
        let rows = rows.first(MOST_ROWS / BLOCK_ROWS);
        let n_rows = rows.n_rows();
        let width = problem.width();
        let weights = problem.weights();
        let labeled: Vec<usize> = (0..n_rows)
            .filter(|row| problem.is_labeled(*row) && weights[*row] > 0.0)
            .collect();
        if labeled.is_empty() {
            return Err(Error::NoRows);
        }
        let total: f64 = labeled.iter().map(|row| weights[*row]).sum();
        let loss = |rows: &Loaded| -> Result<f64, Error> {
            let blocks = rows.blocks();
            let raw = blocks.flat_map(|block| self.source.raw(rows.schema(), block));
            let scaled = self.calibration.scaled(&raw.collect::<Vec<f64>>());
            let losses = labeled.iter().map(|row| {
                let of_row = &scaled[row * width..][..width];
                weights[*row] * problem.loss(*row, of_row)
            });
            Ok(losses.sum::<f64>() / total)
        };
        let before = loss(&rows)?;
        let used: Vec<bool> = (0..forest.inputs.len() as u32)
            .map(|input| forest.trees.iter().any(|tree| tree.input.contains(&input)))
            .collect();
        let of_input = |input: usize| -> Result<f64, Error> {
            if !used[input] {
                return Ok(0.0);
            }
            let mut order: Vec<usize> = (0..n_rows).collect();
            Stream::new(seed, Purpose::Importance, [input as u64, 0]).shuffle(&mut order);
            Ok(loss(&shuffled(&rows, input, &order)?)? - before)
        };
        (0..used.len()).into_par_iter().map(of_input).collect()
    }
}

/// The rows, with the values of an input of the trees from other rows.
fn shuffled(rows: &Loaded, input: usize, order: &[usize]) -> Result<Loaded, Error> {
    let schema = rows.schema();
    let n_numeric = schema.numeric.len();
    let blocks: Vec<&RowBlock> = rows.blocks().collect();
    // All blocks except the last have the same number of rows.
    let place = |row: usize| (blocks[row / BLOCK_ROWS], row % BLOCK_ROWS);
    let corrupted = |e: fairfront_core::Error| Error::Corrupted(e.to_string());
    let block = |(at, block): (usize, &&RowBlock)| {
        let (mut numbers, mut codes) = (Vec::new(), Vec::new());
        for row in 0..block.n_rows() {
            let (from, other) = place(order[at * BLOCK_ROWS + row]);
            numbers.extend_from_slice(block.numeric(row));
            codes.extend_from_slice(block.codes(row));
            match input < n_numeric {
                true => numbers[row * n_numeric + input] = from.numeric(other)[input],
                false => {
                    let column = input - n_numeric;
                    let n = schema.categorical.len();
                    codes[row * n + column] = from.codes(other)[column];
                }
            }
        }
        let groups = (0..schema.attributes.len()).map(|a| block.groups(a).to_vec());
        let labels = block.labels().to_vec();
        let weights = block.weights().to_vec();
        RowBlock::new(schema, numbers, codes, labels, groups.collect(), weights).map_err(corrupted)
    };
    let blocks = blocks.iter().enumerate().map(block);
    let blocks = blocks.collect::<Result<Vec<_>, Error>>()?;
    let shuffled = Dataset::new(schema.clone(), blocks);
    shuffled.and_then(|rows| rows.loaded()).map_err(corrupted)
}
