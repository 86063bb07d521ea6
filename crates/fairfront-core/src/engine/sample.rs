use serde::{Deserialize, Serialize};

use crate::{Error, Purpose, RowBlock, RowSource, Stream};

/// The strata that rows are drawn from: by group, and optionally also by label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Strata {
    /// The attribute whose groups are strata; without it, all rows are one stratum.
    pub attribute: Option<usize>,
    /// Whether strata are also split by label.
    pub by_label: bool,
}

/// A sample of rows without replacement, the same for the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The strata; each has its share of the sample.
    pub strata: Strata,
    /// Number of rows; a size of at least the number of rows means all rows.
    pub size: usize,
    /// The seed.
    pub seed: u64,
    /// Two numbers that identify this sample.
    pub key: [u64; 2],
}

/// Draws rows without replacement.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    /// Rows by stratum, increasing.
    strata: Vec<Vec<u32>>,
    n_rows: usize,
}

/// Rows of a batch with the factors of their weights: the stratum's size divided by the number of
/// rows drawn from it, so that sums over the batch estimate sums over all rows.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    pub(crate) rows: Vec<usize>,
    pub(crate) factors: Vec<f64>,
}

impl Sampler {
    /// A sampler of all rows of a source.
    pub(crate) fn of(rows: &dyn RowSource, by: Strata) -> Result<Self, Error> {
        let mut strata: Vec<Vec<u32>> = Vec::new();
        let mut first_row = 0;
        for index in 0..rows.n_blocks() {
            let block = rows.block(index)?;
            for row in 0..block.n_rows() {
                let group = by
                    .attribute
                    .map_or(0, |a| block.groups(a)[row].wrapping_add(1));
                let positive = by.by_label && block.labels()[row] > 0.0;
                let stratum = 2 * group as usize + usize::from(positive);
                if strata.len() <= stratum {
                    strata.resize(stratum + 1, Vec::new());
                }
                strata[stratum].push((first_row + row) as u32);
            }
            first_row += block.n_rows();
        }
        Ok(Self::new(strata))
    }

    /// The rows of a sample as one block, with weights scaled so that sums estimate those over all
    /// rows.
    pub(crate) fn block(&self, rows: &dyn RowSource, sample: &Sample) -> Result<RowBlock, Error> {
        let mut random = Stream::new(sample.seed, Purpose::Batch, sample.key);
        let drawn = self.draw(sample.size, &mut random);
        let mut block = rows.gather(&drawn.rows)?;
        block.scale_weights(&drawn.factors);
        Ok(block)
    }

    /// A sampler of strata (empty ones are left out).
    pub(crate) fn new(strata: Vec<Vec<u32>>) -> Self {
        let strata: Vec<Vec<u32>> = strata.into_iter().filter(|s| !s.is_empty()).collect();
        Self {
            n_rows: strata.iter().map(Vec::len).sum(),
            strata,
        }
    }

    /// Draws about `size` rows: each stratum contributes its share, but at least two rows (all rows
    /// if it has fewer).
    pub(crate) fn draw(&self, size: usize, random: &mut Stream) -> Drawn {
        let mut drawn = Drawn::default();
        for stratum in &self.strata {
            let n = stratum.len();
            let share = (size as f64 * n as f64 / self.n_rows as f64).round() as usize;
            let wanted = share.max(2).min(n);
            let rows = distinct(n, wanted, random);
            drawn.rows.extend(rows.iter().map(|i| stratum[*i] as usize));
            drawn
                .factors
                .resize(drawn.rows.len(), n as f64 / wanted as f64);
        }
        drawn
    }
}

/// Random bits, 32 at a time.
#[derive(Default)]
struct Halves {
    left: Option<u32>,
}

impl Halves {
    fn bits(&mut self, random: &mut Stream) -> u32 {
        if let Some(left) = self.left.take() {
            return left;
        }
        let bits = random.bits();
        self.left = Some((bits >> 32) as u32);
        bits as u32
    }

    /// Uniform in 0 .. n, without bias (Lemire), for n up to 2³²: the upper half of a product, unless the lower
    /// half lies in the incomplete first interval.
    fn below(&mut self, random: &mut Stream, n: usize) -> usize {
        let n = n as u64;
        loop {
            let product = u64::from(self.bits(random)) * n;
            let low = product & u64::from(u32::MAX);
            if low >= n || low >= (1_u64 << 32) % n {
                return (product >> 32) as usize;
            }
        }
    }
}

/// `k` different numbers below `n` in increasing order, with every set equally likely (Floyd).
fn distinct(n: usize, k: usize, random: &mut Stream) -> Vec<usize> {
    let mut seen = vec![0_u64; n.div_ceil(64)];
    let mut halves = Halves::default();
    for j in n - k..n {
        let i = halves.below(random, j + 1);
        let is_new = seen[i / 64] >> (i % 64) & 1 == 0;
        let chosen = if is_new { i } else { j };
        seen[chosen / 64] |= 1 << (chosen % 64);
    }
    let mut numbers = Vec::with_capacity(k);
    for (place, word) in seen.into_iter().enumerate() {
        let mut left = word;
        while left != 0 {
            numbers.push(64 * place + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_distinct_and_uniform() {
        let mut random = Stream::new(1, Purpose::Batch, [0, 0]);
        let mut counts = [0_u32; 20];
        for _ in 0..20_000 {
            let drawn = distinct(20, 5, &mut random);
            assert_eq!(drawn.len(), 5);
            assert!(drawn.is_sorted_by(|a, b| a < b));
            for i in drawn {
                counts[i] += 1;
            }
        }
        // 5,000 expected each, standard deviation 61.
        assert!(counts.iter().all(|c| c.abs_diff(5_000) < 310), "{counts:?}");
    }

    #[test]
    fn every_stratum_is_drawn_from_and_sums_are_unbiased() {
        let sampler = Sampler::new(vec![(0..90).collect(), vec![], vec![90, 91, 92]]);
        let mut random = Stream::new(2, Purpose::Batch, [0, 0]);
        let (mut sum, draws) = (0.0, 4_000);
        for _ in 0..draws {
            let drawn = sampler.draw(10, &mut random);
            assert!(drawn.rows.iter().filter(|r| **r >= 90).count() >= 2);
            let weighted = drawn
                .rows
                .iter()
                .zip(&drawn.factors)
                .map(|(r, f)| *r as f64 * f);
            sum += weighted.sum::<f64>();
        }
        let truth: f64 = (0..93).map(f64::from).sum();
        // The standard error of the mean is about 0.2% of the sum.
        assert!((sum / f64::from(draws) / truth - 1.0).abs() < 0.01);
    }
}
