//! The sums of a pass over a few blocks of rows, tile by tile, for up to [`LANES`] points.

use std::ops::Range;
use std::sync::Arc;

use super::Statistics;
use super::cell::{Cells, Labels};
use super::curvature::SecondOrderSums;
use super::kernel;
use super::pass::{Form, Map, Pass, Wanted};
use super::size::RowSizes;
use super::statistic::{CellSums, Outputs, OwnSums, TileStatistic};
use crate::lanes::{LANES, Lanes};
use crate::objective::Output;
use crate::predictor::{Predictor, Rows, TILE_ROWS};
use crate::{Error, RowBlock, Schema};

/// The sums of a pass over these rows, for some of its points: the part that does not depend on points, if
/// that is asked for, and then point by point.
pub(super) fn part(
    pass: &Pass<'_>,
    schema: &Schema,
    blocks: &[Arc<RowBlock>],
    points: Range<usize>,
    once: bool,
) -> Result<Vec<f64>, Error> {
    let work = Work {
        pass,
        schema,
        blocks,
        points: &points,
        once,
    };
    match &pass.wanted {
        Wanted::Curvature { form } => Ok(work.curvature(*form)),
        Wanted::Sizes => Ok(work.sizes()),
        Wanted::Counts { attribute } => Ok(work.counts(*attribute)),
        Wanted::Sums { statistics } | Wanted::Gradients { statistics, .. } => {
            work.with_lanes(statistics)
        }
        Wanted::Both { statistic, .. } => work.with_lanes(std::slice::from_ref(statistic)),
    }
}

struct Work<'a, 'p> {
    pass: &'a Pass<'p>,
    schema: &'a Schema,
    blocks: &'a [Arc<RowBlock>],
    points: &'a Range<usize>,
    once: bool,
}

impl Work<'_, '_> {
    fn tiles(&self) -> impl Iterator<Item = Rows<'_>> {
        self.blocks.iter().flat_map(|block| Rows::tiles(block))
    }

    fn point(&self, index: usize) -> &[f64] {
        self.pass.points.get(index)
    }

    /// As many lanes as the points fill; 32 for anything of the caller's own.
    fn with_lanes(&self, statistics: &[Statistics<'_>]) -> Result<Vec<f64>, Error> {
        let own = |s: &Statistics| matches!(s, Statistics::Own(_));
        if let Map::Own(predictor) = self.pass.map {
            let params = self.side_by_side::<LANES>();
            return self.statistics(
                &OwnMap { predictor, params },
                &self.own_or_cells(statistics),
            );
        }
        if statistics.iter().any(own) {
            let params = self.side_by_side::<LANES>();
            return self.statistics(&ColumnMap { params }, &self.own_or_cells(statistics));
        }
        match self.points.len() {
            0 | 1 => self.by_cell::<1>(statistics),
            2..=8 => self.by_cell::<8>(statistics),
            _ => self.by_cell::<LANES>(statistics),
        }
    }

    fn by_cell<const W: usize>(&self, statistics: &[Statistics<'_>]) -> Result<Vec<f64>, Error> {
        let params = self.side_by_side::<W>();
        let cells = statistics.iter().filter_map(|s| match s {
            Statistics::ByCell { output, cells } => Some(self.cells(*output, *cells)),
            Statistics::Own(_) => None,
        });
        let cells = cells.map(|s| Box::new(s) as Box<dyn TileStatistic<W>>);
        self.statistics(&ColumnMap { params }, &cells.collect::<Vec<_>>())
    }

    fn cells(&self, output: Output, cells: Cells) -> CellSums {
        CellSums {
            output,
            cells,
            n_groups: cells.n_groups(self.schema),
        }
    }

    fn own_or_cells<'s>(
        &self,
        statistics: &[Statistics<'s>],
    ) -> Vec<Box<dyn TileStatistic<LANES> + 's>> {
        let boxed = |s: &Statistics<'s>| -> Box<dyn TileStatistic<LANES> + 's> {
            match s {
                Statistics::Own(own) => Box::new(OwnSums(*own)),
                Statistics::ByCell { output, cells } => Box::new(self.cells(*output, *cells)),
            }
        };
        statistics.iter().map(boxed).collect()
    }

    /// The parameters of the points side by side, and a row of zeros.
    fn side_by_side<const W: usize>(&self) -> Vec<[f64; W]> {
        let n = self.pass.map.n_params(self.schema);
        let mut params = vec![[0.0; W]; n + 1];
        for (lane, point) in self.points.clone().enumerate() {
            for (row, value) in params.iter_mut().zip(self.point(point)) {
                row[lane] = *value;
            }
        }
        params
    }

    fn slopes<const W: usize>(&self, slopes: &[f64], n_sums: usize) -> Vec<[f64; W]> {
        let mut lanes = vec![[0.0; W]; n_sums];
        for (lane, point) in self.points.clone().enumerate() {
            let own = &slopes[point * n_sums..(point + 1) * n_sums];
            for (row, value) in lanes.iter_mut().zip(own) {
                row[lane] = *value;
            }
        }
        lanes
    }

    fn statistics<const W: usize>(
        &self,
        map: &dyn ScoreMap<W>,
        statistics: &[Box<dyn TileStatistic<W> + '_>],
    ) -> Result<Vec<f64>, Error> {
        let n_params = self.pass.map.n_params(self.schema);
        let n_sums: usize = statistics.iter().map(|s| s.n_sums()).sum();
        let (slopes, wants_sums) = match &self.pass.wanted {
            Wanted::Gradients { slopes, .. } => (Some(self.slopes::<W>(slopes, n_sums)), false),
            Wanted::Both { slopes, .. } => (Some(self.slopes::<W>(slopes, n_sums)), true),
            _ => (None, true),
        };
        let mut weights = Vec::new();
        if self.once && slopes.is_none() {
            weights.resize(statistics.iter().map(|s| s.n_weights()).sum(), 0.0);
        }
        let mut sums = vec![[0.0; W]; if wants_sums { n_sums } else { 0 }];
        let mut gradients = vec![[0.0; W]; slopes.as_ref().map_or(0, |_| n_params + 1)];
        let mut scores = [[0.0; W]; TILE_ROWS];
        let mut by_score = [[0.0; W]; TILE_ROWS];
        let mut outputs = Outputs::new();
        for tile in self.tiles() {
            let n = tile.len();
            if !weights.is_empty() {
                let mut rest = &mut weights[..];
                for statistic in statistics {
                    let (own, others) = rest.split_at_mut(statistic.n_weights());
                    statistic.add_weights(&tile, own);
                    rest = others;
                }
            }
            if self.points.is_empty() {
                continue;
            }
            map.scores(&tile, &mut scores);
            outputs.forget();
            match &slopes {
                None => {
                    let mut rest = &mut sums[..];
                    for statistic in statistics {
                        let (own, others) = rest.split_at_mut(statistic.n_sums());
                        statistic.add_sums(&tile, &scores[..n], &mut outputs, own)?;
                        rest = others;
                    }
                }
                Some(slopes) => {
                    by_score[..n].fill([0.0; W]);
                    let mut rest = &slopes[..];
                    for statistic in statistics {
                        let (own, others) = rest.split_at(statistic.n_sums());
                        let (scores, by_score) = (&scores[..n], &mut by_score[..n]);
                        match wants_sums {
                            true => statistic.add_both(
                                &tile,
                                scores,
                                &mut outputs,
                                own,
                                &mut sums,
                                by_score,
                            )?,
                            false => {
                                statistic.pull_back(&tile, scores, &mut outputs, own, by_score)?;
                            }
                        }
                        rest = others;
                    }
                    map.pull_back(&tile, &by_score[..n], &mut gradients);
                }
            }
        }
        let mut result = weights;
        for lane in 0..self.points.len() {
            result.extend(sums.iter().map(|sum| sum[lane]));
            let of_lane = gradients.iter().take(n_params).map(|g| g[lane]);
            result.extend(of_lane.take(if slopes.is_some() { n_params } else { 0 }));
        }
        Ok(result)
    }

    /// Value, gradient and second derivatives of the losses, for linear maps.
    fn curvature(&self, form: Form) -> Vec<f64> {
        let n = self.pass.map.n_params(self.schema);
        let mut result = Vec::new();
        for point in self.points.clone() {
            let params: Vec<[f64; 1]> = self
                .point(point)
                .iter()
                .chain([&0.0])
                .map(|x| [*x])
                .collect();
            let mut sums = SecondOrderSums::new(n, form);
            let mut scores = [[0.0; 1]; TILE_ROWS];
            let mut wide = [[0.0; LANES]; TILE_ROWS];
            let mut losses = [0.0; TILE_ROWS];
            let (mut slope, mut curvature) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
            let mut features = vec![0.0; n];
            for tile in self.tiles() {
                let rows = tile.len();
                match self.pass.map {
                    Map::Columns(_) => kernel::scores(&tile, &params, &mut scores),
                    Map::Own(predictor) => {
                        let params: Vec<Lanes> = params.iter().map(|x| [x[0]; LANES]).collect();
                        predictor.scores(&tile, &params, &mut wide);
                        for (score, wide) in scores.iter_mut().zip(&wide[..rows]) {
                            *score = [wide[0]];
                        }
                    }
                }
                kernel::expand_losses(
                    tile.labels(),
                    tile.weights(),
                    &scores[..rows],
                    &mut losses[..rows],
                    &mut slope[..rows],
                    &mut curvature[..rows],
                );
                sums.value += losses[..rows].iter().sum::<f64>();
                for row in 0..rows {
                    let (slope, curvature) = (slope[row], curvature[row]);
                    match self.pass.map {
                        Map::Columns(_) => {
                            let (numeric, codes) = (tile.numeric(row), tile.codes(row));
                            sums.add_row(numeric, codes, slope, curvature);
                        }
                        Map::Own(predictor) => {
                            let Some(linear) = predictor.as_linear() else {
                                continue;
                            };
                            linear.features(&tile, row, &mut features);
                            sums.add_features(&features, slope, curvature);
                        }
                    }
                }
            }
            if matches!(self.pass.map, Map::Columns(_)) {
                sums.add_constants(self.schema.numeric.len());
            }
            sums.write(&mut result);
        }
        result
    }

    /// Rows by label and group, and their weights.
    fn counts(&self, attribute: Option<usize>) -> Vec<f64> {
        let cells = Cells {
            attribute,
            labels: Labels::Apart,
        };
        let n_groups = cells.n_groups(self.schema);
        if !self.once {
            return Vec::new();
        }
        let (mut rows, mut weights) = (vec![0.0; 2 * n_groups], vec![0.0; 2 * n_groups]);
        for tile in self.tiles() {
            for cell in &cells.of(&tile, n_groups)[..tile.len()] {
                if let Some(rows) = rows.get_mut(*cell) {
                    *rows += 1.0;
                }
            }
            cells.add_weights(&tile, n_groups, &mut weights);
        }
        rows.extend(weights);
        rows
    }

    /// Sizes of features and of the terms of scores.
    fn sizes(&self) -> Vec<f64> {
        let mut once = [0.0; 4];
        let mut per_point = vec![0.0; self.points.len()];
        let params = self.side_by_side::<LANES>();
        let mut row_sizes = RowSizes {
            features: vec![0.0; self.pass.map.n_params(self.schema)],
            scores: [[0.0; LANES]; TILE_ROWS],
            of_points: [0.0; LANES],
        };
        for tile in self.tiles() {
            if let Map::Own(predictor) = self.pass.map {
                predictor.scores(&tile, &params, &mut row_sizes.scores);
            }
            for row in 0..tile.len() {
                let w = tile.weights()[row];
                let first = if tile.labels()[row] > 0.0 { 0 } else { 2 };
                let norm = row_sizes.find(&self.pass.map, self.schema, &tile, row, &params);
                once[first] += w;
                once[first + 1] += w * norm;
                for (sum, size) in per_point.iter_mut().zip(&row_sizes.of_points) {
                    *sum += w * size;
                }
            }
        }
        let once = once.iter().filter(|_| self.once);
        once.chain(&per_point).copied().collect()
    }
}

/// Scores of a tile for W points, and the way back.
trait ScoreMap<const W: usize> {
    fn scores(&self, rows: &Rows, scores: &mut [[f64; W]]);
    fn pull_back(&self, rows: &Rows, slopes: &[[f64; W]], gradients: &mut [[f64; W]]);
}

struct ColumnMap<const W: usize> {
    params: Vec<[f64; W]>,
}

impl<const W: usize> ScoreMap<W> for ColumnMap<W> {
    fn scores(&self, rows: &Rows, scores: &mut [[f64; W]]) {
        kernel::scores(rows, &self.params, scores);
    }

    fn pull_back(&self, rows: &Rows, slopes: &[[f64; W]], gradients: &mut [[f64; W]]) {
        kernel::pull_back(rows, slopes, gradients);
    }
}

struct OwnMap<'a> {
    predictor: &'a dyn Predictor,
    params: Vec<Lanes>,
}

impl ScoreMap<LANES> for OwnMap<'_> {
    fn scores(&self, rows: &Rows, scores: &mut [Lanes]) {
        self.predictor.scores(rows, &self.params, scores);
    }

    fn pull_back(&self, rows: &Rows, slopes: &[Lanes], gradients: &mut [Lanes]) {
        self.predictor
            .pull_back(rows, &self.params, slopes, gradients);
    }
}
