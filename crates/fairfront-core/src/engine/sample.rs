use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{BLOCK_ROWS, Error, Purpose, RowBlock, RowSource, Stream};

/// The strata that rows are drawn from: by group, and optionally also by label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Strata {
    /// The attribute whose groups are strata; without it, all rows are one stratum.
    pub attribute: Option<usize>,
    /// Number of labels by which strata are also split; 0 or 1 if they are not.
    pub n_labels: u32,
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
///
/// Rows are in random order, so consecutive rows of a stratum are a random sample of it. A sample takes
/// consecutive rows of each stratum from a random one on, so that it touches only a few blocks, and a file is
/// not read row by row.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    by: Strata,
    /// For each stratum that has rows, its code and the number of its rows before each block, and in all
    /// blocks.
    strata: Vec<(usize, Vec<u64>)>,
    n_rows: u64,
}

/// Rows of a batch with the factors of their weights: the stratum's size divided by the number of
/// rows drawn from it, so that sums over the batch estimate sums over all rows.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    pub(crate) rows: Vec<usize>,
    pub(crate) factors: Vec<f64>,
}

impl Strata {
    /// The stratum of each row of a block.
    fn of(self, block: &RowBlock) -> impl Iterator<Item = usize> + '_ {
        let groups = self.attribute.map(|a| block.groups(a));
        let n_labels = self.n_labels.max(1) as usize;
        (0..block.n_rows()).map(move |row| {
            // The stratum of unknown groups is the first.
            let group = groups.map_or(0, |groups| groups[row].wrapping_add(1));
            let label = match n_labels {
                1 => 0,
                // Rows labeled negative come first.
                2 => usize::from(block.labels()[row] > 0.0),
                _ => block.labels()[row] as usize,
            };
            n_labels * group as usize + label
        })
    }

    /// Number of rows of each stratum of a block.
    pub(crate) fn counts(self, block: &RowBlock) -> Vec<u32> {
        let mut counts = Vec::new();
        for stratum in self.of(block) {
            if counts.len() <= stratum {
                counts.resize(stratum + 1, 0);
            }
            counts[stratum] += 1;
        }
        counts
    }
}

impl Sampler {
    /// A sampler of rows with these numbers of rows of each stratum in each block.
    pub(crate) fn new(by: Strata, blocks: &[Vec<u32>]) -> Self {
        let n_strata = blocks.iter().map(Vec::len).max().unwrap_or(0);
        let before = |stratum: usize| {
            let mut total = 0;
            let mut before = Vec::with_capacity(blocks.len() + 1);
            before.push(0);
            for block in blocks {
                total += u64::from(block.get(stratum).copied().unwrap_or(0));
                before.push(total);
            }
            (stratum, before)
        };
        let strata = (0..n_strata).map(before);
        let strata: Vec<_> = strata
            .filter(|(_, before)| before.last().is_some_and(|n| *n > 0))
            .collect();
        let size = |(_, before): &(usize, Vec<u64>)| before.last().copied().unwrap_or(0);
        Self {
            by,
            n_rows: strata.iter().map(size).sum(),
            strata,
        }
    }

    /// The rows of a sample as one block, with weights scaled so that sums estimate those over all
    /// rows.
    pub(crate) fn block(&self, rows: &dyn RowSource, sample: &Sample) -> Result<RowBlock, Error> {
        let mut random = Stream::new(sample.seed, Purpose::Batch, sample.key);
        let drawn = self.draw(rows, sample.size, &mut random)?;
        let mut block = rows.gather(&drawn.rows)?;
        block.scale_weights(&drawn.factors);
        Ok(block)
    }

    /// Draws about `size` rows: each stratum contributes its share, but at least two rows (all rows
    /// if it has fewer).
    pub(crate) fn draw(
        &self,
        rows: &dyn RowSource,
        size: usize,
        random: &mut Stream,
    ) -> Result<Drawn, Error> {
        let mut drawn = Drawn::default();
        for (stratum, before) in &self.strata {
            let n = before.last().copied().unwrap_or(0);
            let share = (size as f64 * n as f64 / self.n_rows as f64).round() as u64;
            let wanted = share.max(2).min(n);
            let first = ((random.uniform() * n as f64) as u64).min(n - 1);
            let end = first + wanted;
            self.push_ranks(rows, *stratum, before, first..end.min(n), &mut drawn.rows)?;
            // Past the last row, the first ones follow.
            let wrapped = 0..end.saturating_sub(n);
            self.push_ranks(rows, *stratum, before, wrapped, &mut drawn.rows)?;
            drawn
                .factors
                .resize(drawn.rows.len(), n as f64 / wanted as f64);
        }
        Ok(drawn)
    }

    /// Adds the numbers of the rows with these ranks within a stratum.
    fn push_ranks(
        &self,
        rows: &dyn RowSource,
        stratum: usize,
        before: &[u64],
        ranks: Range<u64>,
        out: &mut Vec<usize>,
    ) -> Result<(), Error> {
        if ranks.is_empty() {
            return Ok(());
        }
        let first = before.partition_point(|n| *n <= ranks.start) - 1;
        for index in first..before.len() - 1 {
            if before[index] >= ranks.end {
                break;
            }
            if before[index] == before[index + 1] {
                continue;
            }
            let block = rows.block(index)?;
            let own = self.by.of(&block).enumerate();
            let own = own.filter(|(_, of)| *of == stratum);
            let start = ranks.start.saturating_sub(before[index]) as usize;
            let end = (ranks.end - before[index]) as usize;
            let chosen = own.take(end).skip(start);
            out.extend(chosen.map(|(row, _)| index * BLOCK_ROWS + row));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, Dataset, Schema};

    /// Rows with their number as feature: 5% in the first group, the others in the second, and every fifth
    /// row labeled positive.
    fn table(n: usize) -> Dataset {
        let schema = Schema {
            numeric: vec!["number".into()],
            categorical: vec![],
            attributes: vec![Attribute::new("sex", vec!["F".into(), "M".into()])],
            target: crate::Target::Binary,
            hidden: 0,
        };
        let mut order: Vec<usize> = (0..n).collect();
        Stream::new(9, Purpose::Order, [0, 0]).shuffle(&mut order);
        let blocks = order.chunks(BLOCK_ROWS).map(|rows| {
            RowBlock::new(
                &schema,
                rows.iter().map(|r| *r as f64).collect(),
                vec![],
                rows.iter()
                    .map(|r| if r % 5 == 0 { 1.0 } else { -1.0 })
                    .collect(),
                vec![rows.iter().map(|r| u32::from(20 * r >= n)).collect()],
                vec![1.0; rows.len()],
            )
        });
        Dataset::new(schema.clone(), blocks.collect::<Result<_, _>>().unwrap()).unwrap()
    }

    const BY: Strata = Strata {
        attribute: Some(0),
        n_labels: 2,
    };

    #[test]
    fn samples_are_distinct_and_sums_are_unbiased() {
        let n = 3_000;
        let rows = table(n);
        let sampler = Sampler::new(BY, &rows.strata(BY).unwrap());
        let mut random = Stream::new(2, Purpose::Batch, [0, 0]);
        let (mut sum, draws) = (0.0, 4_000);
        for _ in 0..draws {
            let drawn = sampler.draw(&rows, 100, &mut random).unwrap();
            let mut sorted = drawn.rows.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), drawn.rows.len());
            let block = rows.gather(&drawn.rows).unwrap();
            // 5% of 100 rows, of which every fifth is positive: at least two rows of each kind.
            let rare = (0..block.n_rows()).filter(|r| block.groups(0)[*r] == 0);
            let positive = rare.filter(|r| block.labels()[*r] > 0.0);
            assert!(positive.count() >= 2);
            let value = |(i, f): (usize, &f64)| block.numeric(i)[0] * f;
            sum += drawn.factors.iter().enumerate().map(value).sum::<f64>();
        }
        let truth = (n * (n - 1) / 2) as f64;
        // The standard error of a draw is about 6% of the sum, so that of the mean is about 0.1%.
        assert!((sum / f64::from(draws) / truth - 1.0).abs() < 0.005);
    }

    #[test]
    fn samples_touch_few_blocks() {
        let rows = table(50 * BLOCK_ROWS);
        let sampler = Sampler::new(BY, &rows.strata(BY).unwrap());
        for key in 0..100 {
            let mut random = Stream::new(3, Purpose::Batch, [key, 0]);
            let drawn = sampler.draw(&rows, 500, &mut random).unwrap();
            let mut blocks: Vec<usize> = drawn.rows.iter().map(|r| r / BLOCK_ROWS).collect();
            blocks.sort_unstable();
            blocks.dedup();
            // About 500 rows around the place of each of four strata.
            assert!(blocks.len() <= 12, "{blocks:?}");
        }
    }

    #[test]
    fn a_sample_of_all_rows_has_each_once() {
        let rows = table(2_500);
        let sampler = Sampler::new(BY, &rows.strata(BY).unwrap());
        let mut random = Stream::new(4, Purpose::Batch, [0, 0]);
        let mut drawn = sampler.draw(&rows, 2_500, &mut random).unwrap();
        drawn.rows.sort_unstable();
        assert_eq!(drawn.rows, (0..2_500).collect::<Vec<_>>());
        assert!(drawn.factors.iter().all(|f| *f == 1.0));
    }
}
