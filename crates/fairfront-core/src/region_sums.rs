//! Sums of outputs by region of rows: all rows, then the groups of each attribute.

use std::borrow::Cow;

use crate::engine::{Cells, Labels, Map, Over, Pass, Statistics, Wanted};
use crate::objective::Output;
use crate::predictor::Predictor;
use crate::{Engine, Error, Points};

/// Weights of regions, and sums by point, value of the outputs and region.
pub(crate) struct RegionSums {
    pub(crate) weights: Vec<f64>,
    pub(crate) points: Vec<Vec<Vec<f64>>>,
}

impl RegionSums {
    /// Passes over the rows. An output with several values per row has one entry for each.
    pub(crate) fn of(
        predictor: &dyn Predictor,
        rows: &dyn Engine,
        points: &Points,
        outputs: &[Output],
    ) -> Result<Self, Error> {
        let schema = rows.schema();
        let sets = std::iter::once(None).chain((0..schema.attributes.len()).map(Some));
        let sets: Vec<Cells> = sets
            .map(|attribute| Cells {
                attribute,
                labels: Labels::Together,
            })
            .collect();
        // Statistics with the same output follow each other, so that it is computed once.
        let statistics: Vec<Statistics<'_>> = outputs
            .iter()
            .flat_map(|output| {
                sets.iter().map(|cells| Statistics::ByCell {
                    output: *output,
                    cells: *cells,
                })
            })
            .collect();
        let sums = rows.sum(&Pass {
            map: Map::of(predictor),
            points: Cow::Borrowed(points),
            wanted: Wanted::Sums {
                statistics: Cow::Borrowed(&statistics),
            },
            over: Over::All,
        })?;
        let n_weights: usize = statistics.iter().map(|s| s.n_weights(schema)).sum();
        let n_groups: Vec<usize> = sets.iter().map(|cells| cells.n_groups(schema)).collect();
        let (by_label, sums) = sums.split_at(n_weights);
        // Weights by label and group, once per statistic; those of the first output suffice.
        let mut weights = Vec::new();
        let mut rest = by_label;
        for n in &n_groups {
            let (own, others) = rest.split_at(schema.target.n_labels() * n);
            weights.extend((0..*n).map(|g| own[g..].iter().step_by(*n).sum::<f64>()));
            rest = others;
        }
        let n_regions: usize = n_groups.iter().sum();
        let of_point = |sums: &[f64]| {
            let mut rest = sums;
            let mut values = Vec::new();
            for output in outputs {
                let mut of_output = vec![Vec::with_capacity(n_regions); output.width(schema)];
                for n in &n_groups {
                    for of_value in &mut of_output {
                        let (own, others) = rest.split_at(*n);
                        of_value.extend_from_slice(own);
                        rest = others;
                    }
                }
                values.extend(of_output);
            }
            values
        };
        let widths: usize = outputs.iter().map(|output| output.width(schema)).sum();
        Ok(Self {
            weights,
            points: match widths * n_regions {
                0 => Vec::new(),
                length => sums.chunks_exact(length).map(of_point).collect(),
            },
        })
    }
}
