use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::merge::{BLOCKS_PER_SUPER_BLOCK, Merger, Node};
use super::pass::{Over, Pass};
use super::tile::part;
use super::{BothSides, Nearest, Sampler, Strata};
use crate::{Error, RowBlock, RowSource, Schema, meter};

/// Number of blocks of rows that one task sums before the sums of tasks are added in order. It is
/// part of the definition of a pass, since the order of additions determines the last bits.
pub const BLOCKS_PER_TASK: usize = 4;
/// Number of tasks of ranges of points whose sums are kept until they are added.
const TASKS_AT_ONCE: usize = 64;
/// Bytes of the sums of such tasks.
const BYTES_AT_ONCE: usize = 64 << 20;

/// Runs passes over rows in blocks on the threads of this machine, for an [`Engine`](super::Engine)
/// with rows in memory or in a file.
#[derive(Debug, Default)]
pub struct Host {
    /// Numbers of rows by stratum and block, counted for the first sample.
    samplers: Mutex<HashMap<Strata, Arc<Sampler>>>,
}

impl Host {
    /// Runs a pass. The rows must be the same in every call.
    pub fn sum(&self, rows: &dyn RowSource, pass: &Pass<'_>) -> Result<Vec<f64>, Error> {
        if let Over::Sample(sample) = &pass.over
            && (sample.size as u64) < rows.n_rows()
        {
            let block = self.sampler(rows, sample.strata)?.block(rows, sample)?;
            meter::add_pass(block.n_rows() as u64, pass.points.len());
            return sum_of_blocks(pass, rows.schema(), &[Arc::new(block)]);
        }
        meter::add_pass(rows.n_rows(), pass.points.len());
        let n = rows.n_blocks().div_ceil(BLOCKS_PER_SUPER_BLOCK);
        let sums = merged(rows, pass, 0..n)?.finish();
        Ok(sums.unwrap_or_else(|| vec![0.0; pass.len(rows.schema())]))
    }

    /// The sums of a pass over some super-blocks: a few nodes, for [`Merger`].
    pub fn nodes(
        &self,
        rows: &dyn RowSource,
        pass: &Pass<'_>,
        super_blocks: Range<usize>,
    ) -> Result<Vec<Node>, Error> {
        Ok(merged(rows, pass, super_blocks)?.into_nodes())
    }

    /// Finds the rows nearest to the threshold.
    pub fn nearest(
        &self,
        rows: &dyn RowSource,
        nearest: &Nearest<'_>,
    ) -> Result<Vec<BothSides>, Error> {
        meter::add_pass(rows.n_rows(), nearest.points.len());
        nearest.find(rows, 0..rows.n_blocks())
    }

    /// Number of rows of each stratum in each block.
    pub fn strata(&self, rows: &dyn RowSource, by: Strata) -> Result<Vec<Vec<u32>>, Error> {
        let all: Vec<usize> = (0..rows.n_blocks()).collect();
        let mut counts = Vec::with_capacity(all.len());
        for some in all.chunks(BLOCKS_PER_SUPER_BLOCK) {
            rows.prefetch(some[0]..(some[0] + 2 * BLOCKS_PER_SUPER_BLOCK).min(all.len()));
            let of = |index: &usize| Ok(by.counts(&*rows.block(*index)?));
            let found = some.par_iter().map(of).collect::<Result<Vec<_>, Error>>()?;
            counts.extend(found);
        }
        Ok(counts)
    }

    /// The sampler of these strata.
    pub(crate) fn sampler(
        &self,
        rows: &dyn RowSource,
        strata: Strata,
    ) -> Result<Arc<Sampler>, Error> {
        let mut samplers = self.samplers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = samplers.get(&strata) {
            return Ok(Arc::clone(known));
        }
        let sampler = Arc::new(Sampler::new(strata, &rows.strata(strata)?));
        samplers.insert(strata, Arc::clone(&sampler));
        Ok(sampler)
    }
}

/// The sums of a pass over the given blocks, without threads: one task.
pub(super) fn sum_of_blocks(
    pass: &Pass<'_>,
    schema: &Schema,
    blocks: &[Arc<RowBlock>],
) -> Result<Vec<f64>, Error> {
    let mut result = Vec::with_capacity(pass.len(schema));
    for points in pass.ranges() {
        let once = points.start == 0;
        result.extend(part(pass, schema, blocks, points, once)?);
    }
    Ok(result)
}

/// The sums of a pass over some super-blocks of a source: tasks on all threads, added in order.
fn merged(
    rows: &dyn RowSource,
    pass: &Pass<'_>,
    super_blocks: Range<usize>,
) -> Result<Merger, Error> {
    let (schema, n_blocks) = (rows.schema(), rows.n_blocks());
    let ranges = pass.ranges();
    let (once, per_point) = pass.lengths(schema);
    let length = |points: &Range<usize>| {
        let once = if points.start == 0 { once } else { 0 };
        once + per_point * points.len()
    };
    let zeros = || -> Vec<Vec<f64>> { ranges.iter().map(|r| vec![0.0; length(r)]).collect() };
    let longest = ranges.iter().map(length).max().unwrap_or(0);
    let room = BYTES_AT_ONCE / (longest * size_of::<f64>()).max(1);
    let at_once = (TASKS_AT_ONCE.min(room) / ranges.len()).max(1);
    let blocks_at_once = at_once * BLOCKS_PER_TASK;
    let first = super_blocks.start * BLOCKS_PER_SUPER_BLOCK;
    let last = (super_blocks.end * BLOCKS_PER_SUPER_BLOCK).min(n_blocks);
    let mut merger = Merger::default();
    let mut totals = zeros();
    for start in (first..last).step_by(blocks_at_once) {
        let end = (start + blocks_at_once).min(last);
        // A file reads the next blocks while these are summed.
        rows.prefetch(start..(end + blocks_at_once).min(last));
        let blocks = (start..end).into_par_iter().map(|index| rows.block(index));
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        let tasks: Vec<&[Arc<RowBlock>]> = blocks.chunks(BLOCKS_PER_TASK).collect();
        let parts: Vec<Vec<f64>> = (0..tasks.len() * ranges.len())
            .into_par_iter()
            .map(|at| {
                let points = ranges[at % ranges.len()].clone();
                let once = points.start == 0;
                part(pass, schema, tasks[at / ranges.len()], points, once)
            })
            .collect::<Result<_, Error>>()?;
        for (task, parts) in parts.chunks(ranges.len()).enumerate() {
            for (total, part) in totals.iter_mut().zip(parts) {
                for (total, value) in total.iter_mut().zip(part) {
                    *total += value;
                }
            }
            let next = start + (task + 1) * BLOCKS_PER_TASK;
            if next.is_multiple_of(BLOCKS_PER_SUPER_BLOCK) || next >= last {
                let sums = std::mem::replace(&mut totals, zeros()).concat();
                merger.push(Node::leaf((next - 1) / BLOCKS_PER_SUPER_BLOCK, sums));
            }
        }
    }
    Ok(merger)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::engine::{Cells, Labels, Map, Sample, Statistics, Wanted};
    use crate::objective::Output;
    use crate::{Attribute, CategoricalFeature, Dataset, Linear, Points, Purpose, Stream};

    fn table(n: usize) -> Dataset {
        let named = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let schema = Schema {
            numeric: named(&["a", "b", "c"]),
            categorical: vec![CategoricalFeature {
                column: "d".into(),
                categories: named(&["x", "y", "z"]),
            }],
            attributes: vec![Attribute::new("sex", named(&["F", "M"]))],
            target: crate::Target::Binary,
            hidden: 0,
        };
        let mut random = Stream::new(1, Purpose::Synthetic, [3, 0]);
        let blocks = (0..n).step_by(crate::BLOCK_ROWS).map(|first| {
            let rows = crate::BLOCK_ROWS.min(n - first);
            RowBlock::new(
                &schema,
                (0..3 * rows).map(|_| random.normal()).collect(),
                // The last is a category without a parameter.
                (0..rows).map(|r| [3, 4, 5, 7][r % 4]).collect(),
                (0..rows)
                    .map(|_| if random.chance(0.3) { 1.0 } else { -1.0 })
                    .collect(),
                vec![(0..rows).map(|_| u32::from(random.chance(0.4))).collect()],
                (0..rows).map(|_| 0.5 + random.uniform()).collect(),
            )
            .unwrap()
        });
        let blocks: Vec<RowBlock> = blocks.collect();
        Dataset::new(schema.clone(), blocks).unwrap()
    }

    fn points(n: usize) -> Points {
        let mut random = Stream::new(2, Purpose::Synthetic, [3, 0]);
        Points::from_vec(7, (0..7 * n).map(|_| random.normal()).collect())
    }

    const SAMPLE: Sample = Sample {
        strata: Strata {
            attribute: Some(0),
            n_labels: 2,
        },
        size: 2_500,
        seed: 7,
        key: [1, 2],
    };

    /// Sums in single precision, over a sample and over all rows, compared with those of the same
    /// rows in double precision.
    #[test]
    fn single_precision_is_close_to_double() {
        let rows = table(4_000);
        let counts = rows.strata(SAMPLE.strata).unwrap();
        let sampler = Sampler::new(SAMPLE.strata, &counts);
        let block = Arc::new(sampler.block(&rows, &SAMPLE).unwrap());
        let cells = |labels| Cells {
            attribute: Some(0),
            labels,
        };
        let outputs = [
            (Output::Score, cells(Labels::Together)),
            (Output::Decision { tau: 0.3 }, cells(Labels::Apart)),
            (Output::Loss, Cells::ALL),
            (Output::Loss, cells(Labels::Positive)),
            (
                Output::Shortfall {
                    mu: 0.1,
                    sign: -1.0,
                },
                cells(Labels::Negative),
            ),
        ];
        for (output, cells) in outputs {
            let statistics = [Statistics::ByCell { output, cells }];
            let n_sums = statistics[0].n_sums(rows.schema());
            for n in [1, 8, 40] {
                let points = points(n);
                let slopes = vec![0.7; n * n_sums];
                let wanted = [
                    Wanted::Sums {
                        statistics: Cow::Borrowed(&statistics),
                    },
                    Wanted::Gradients {
                        statistics: Cow::Borrowed(&statistics),
                        slopes: Cow::Borrowed(&slopes),
                    },
                    Wanted::Both {
                        statistic: statistics[0],
                        slopes: Cow::Borrowed(&slopes),
                    },
                ];
                for wanted in wanted {
                    let pass = |over| Pass {
                        map: Map::of(&Linear),
                        points: Cow::Borrowed(&points),
                        wanted: wanted.clone(),
                        over,
                    };
                    let of_all = |over| Host::default().sum(&rows, &pass(over)).unwrap();
                    let blocks = [Arc::clone(&block)];
                    let of_sample =
                        sum_of_blocks(&pass(Over::All), rows.schema(), &blocks).unwrap();
                    let pairs = [
                        (of_all(Over::Sample(SAMPLE)), of_sample),
                        (of_all(Over::AllRoughly), of_all(Over::All)),
                    ];
                    for (single, double) in pairs {
                        assert_eq!(single.len(), double.len());
                        for (a, b) in single.iter().zip(&double) {
                            // Sums of 4,000 weights of about 1: a few units in the last place of single precision.
                            assert!(
                                (a - b).abs() < 2e-3 + 1e-5 * b.abs(),
                                "{output:?}: {a} is not {b}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// One pass for all points gives the same gradients as a pass with unit slopes.
    #[test]
    fn linear_sums_are_pulled_back_unit_slopes() {
        let rows = table(3_000);
        for labels in [Labels::Together, Labels::Positive, Labels::Apart] {
            let cells = Cells {
                attribute: Some(0),
                labels,
            };
            let k = cells.n_sums(rows.schema());
            let mut unit = vec![0.0; k * k];
            (0..k).for_each(|i| unit[i * k + i] = 1.0);
            let pass = |points: Points, wanted| {
                let pass = Pass {
                    map: Map::of(&Linear),
                    points: Cow::Owned(points),
                    wanted,
                    over: Over::All,
                };
                Host::default().sum(&rows, &pass).unwrap()
            };
            let found = pass(Points::new(7), Wanted::Linear { cells });
            let statistics = [Statistics::ByCell {
                output: Output::Score,
                cells,
            }];
            let wanted = Wanted::Gradients {
                statistics: Cow::Borrowed(&statistics),
                slopes: Cow::Borrowed(&unit),
            };
            let expected = pass(Points::from_vec(7, vec![0.0; 7 * k]), wanted);
            assert_eq!(found[4..], expected);
        }
    }
}
