//! The sums of a pass over a few blocks of rows, tile by tile, for up to [`LANES`] points.

use std::ops::Range;
use std::sync::Arc;

use super::cell::{Cells, Labels};
use super::kernel;
use super::pass::{Form, Map, Pass, Wanted};
use super::{OwnStatistics, Statistics};
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
        Wanted::Curvature { output, form } => Ok(work.curvature(*output, *form)),
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
        let cells = statistics.iter().filter_map(|s| self.cells_of(s));
        let cells = cells.map(|s| Box::new(s) as Box<dyn TileStatistic<W>>);
        self.statistics(&ColumnMap { params }, &cells.collect::<Vec<_>>())
    }

    fn cells_of(&self, statistics: &Statistics<'_>) -> Option<CellSums> {
        match statistics {
            Statistics::ByCell { output, cells } => Some(CellSums {
                output: *output,
                cells: *cells,
                n_groups: cells.n_groups(self.schema),
            }),
            Statistics::Own(_) => None,
        }
    }

    fn own_or_cells<'s>(
        &self,
        statistics: &[Statistics<'s>],
    ) -> Vec<Box<dyn TileStatistic<LANES> + 's>> {
        let boxed = |s: &Statistics<'s>| -> Box<dyn TileStatistic<LANES> + 's> {
            match (s, self.cells_of(s)) {
                (Statistics::Own(own), _) => Box::new(OwnSums(*own)),
                (_, Some(cells)) => Box::new(cells),
                (Statistics::ByCell { .. }, None) => unreachable!("cells have sums"),
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

    /// Value, gradient and second derivatives of Σ w · output, for linear maps.
    fn curvature(&self, output: Output, form: Form) -> Vec<f64> {
        debug_assert!(output.has_curvature());
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

struct RowSizes {
    features: Vec<f64>,
    scores: [Lanes; TILE_ROWS],
    of_points: Lanes,
}

impl RowSizes {
    /// The norm of a row's features without a constant one; for each point the sum of the sizes of the terms
    /// of its score is kept in `of_points`. Of a map that is not linear, the size of the score.
    fn find(
        &mut self,
        map: &Map<'_>,
        schema: &Schema,
        rows: &Rows,
        row: usize,
        params: &[Lanes],
    ) -> f64 {
        match map {
            Map::Columns(_) => {
                let intercept = &params[params.len() - 2];
                self.of_points = intercept.map(f64::abs);
                for (z, x) in rows.numeric(row).iter().zip(params) {
                    for p in 0..LANES {
                        self.of_points[p] += (z * x[p]).abs();
                    }
                }
                for code in rows.codes(row) {
                    for p in 0..LANES {
                        self.of_points[p] += params[*code as usize][p].abs();
                    }
                }
                let squares = rows.numeric(row).iter().map(|z| z * z).sum::<f64>();
                (squares + rows.codes(row).len() as f64).sqrt()
            }
            Map::Own(predictor) => {
                let Some(linear) = predictor.as_linear() else {
                    self.of_points = self.scores[row].map(f64::abs);
                    return 0.0;
                };
                linear.features(rows, row, &mut self.features);
                self.of_points = [0.0; LANES];
                for (z, x) in self.features.iter().zip(params) {
                    for p in 0..LANES {
                        self.of_points[p] += (z * x[p]).abs();
                    }
                }
                let constant = linear.constant(schema);
                let features = self.features.iter().enumerate();
                let features = features.filter(|(i, _)| Some(*i) != constant);
                features.map(|(_, z)| z * z).sum::<f64>().sqrt()
            }
        }
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

/// Outputs of a tile, found once for all statistics that ask for the same.
struct Outputs<const W: usize> {
    of: Option<Output>,
    found: [[f64; W]; TILE_ROWS],
    by_output: [[f64; W]; TILE_ROWS],
}

impl<const W: usize> Outputs<W> {
    fn new() -> Self {
        Self {
            of: None,
            found: [[0.0; W]; TILE_ROWS],
            by_output: [[0.0; W]; TILE_ROWS],
        }
    }

    /// Another tile comes.
    fn forget(&mut self) {
        self.of = None;
    }

    fn find<'a>(
        &'a mut self,
        output: Output,
        rows: &Rows,
        scores: &'a [[f64; W]],
    ) -> &'a [[f64; W]] {
        if output == Output::Score {
            return scores;
        }
        let n = rows.len();
        if self.of != Some(output) {
            let out = &mut self.found[..n];
            match output {
                Output::Score => {}
                Output::Decision { tau } => kernel::decisions(scores, -1.0 / tau, out),
                Output::Loss => kernel::losses(rows.labels(), scores, out),
                Output::Shortfall { mu, sign } => kernel::shortfalls(scores, sign, mu, out),
                Output::Step => kernel::steps(scores, out),
            }
            self.of = Some(output);
        }
        &self.found[..n]
    }
}

/// Statistics on a tile for W points.
trait TileStatistic<const W: usize> {
    fn n_sums(&self) -> usize;
    fn n_weights(&self) -> usize;
    fn add_weights(&self, rows: &Rows, weights: &mut [f64]);
    fn add_sums(
        &self,
        rows: &Rows,
        scores: &[[f64; W]],
        outputs: &mut Outputs<W>,
        sums: &mut [[f64; W]],
    ) -> Result<(), Error>;
    fn pull_back(
        &self,
        rows: &Rows,
        scores: &[[f64; W]],
        outputs: &mut Outputs<W>,
        slopes: &[[f64; W]],
        by_score: &mut [[f64; W]],
    ) -> Result<(), Error>;
    fn add_both(
        &self,
        rows: &Rows,
        scores: &[[f64; W]],
        outputs: &mut Outputs<W>,
        slopes: &[[f64; W]],
        sums: &mut [[f64; W]],
        by_score: &mut [[f64; W]],
    ) -> Result<(), Error> {
        self.add_sums(rows, scores, outputs, sums)?;
        self.pull_back(rows, scores, outputs, slopes, by_score)
    }
}

struct CellSums {
    output: Output,
    cells: Cells,
    n_groups: usize,
}

impl CellSums {
    /// Whether these are losses of all rows in one sum, for which there are faster ways.
    fn are_all_losses(&self) -> bool {
        self.output == Output::Loss && self.cells == Cells::ALL
    }
}

/// The weight of the rows if it is the same for all.
fn equal_weight(rows: &Rows) -> Option<f64> {
    let weights = rows.weights();
    let first = *weights.first()?;
    weights.iter().all(|w| *w == first).then_some(first)
}

impl<const W: usize> TileStatistic<W> for CellSums {
    fn n_sums(&self) -> usize {
        self.cells.labels.wanted().len() * self.n_groups
    }

    fn n_weights(&self) -> usize {
        2 * self.n_groups
    }

    fn add_weights(&self, rows: &Rows, weights: &mut [f64]) {
        self.cells.add_weights(rows, self.n_groups, weights);
    }

    fn add_sums(
        &self,
        rows: &Rows,
        scores: &[[f64; W]],
        outputs: &mut Outputs<W>,
        sums: &mut [[f64; W]],
    ) -> Result<(), Error> {
        if let (true, Some(weight)) = (self.are_all_losses(), equal_weight(rows)) {
            // Each of the 64 factors of a tile is at most 2, so that their product does not overflow.
            let (mut product, mut linear) = ([1.0; W], [0.0; W]);
            kernel::multiply_losses(rows.labels(), scores, &mut product, &mut linear);
            for p in 0..W {
                sums[0][p] += weight * (linear[p] + libm::log(product[p]));
            }
            return Ok(());
        }
        let outputs = outputs.find(self.output, rows, scores);
        let cells = self.cells.of(rows, self.n_groups);
        kernel::add_by_cell(&cells, rows.weights(), outputs, sums);
        Ok(())
    }

    fn pull_back(
        &self,
        rows: &Rows,
        scores: &[[f64; W]],
        outputs: &mut Outputs<W>,
        slopes: &[[f64; W]],
        by_score: &mut [[f64; W]],
    ) -> Result<(), Error> {
        let n = rows.len();
        if self.are_all_losses() {
            let (labels, weights) = (rows.labels(), rows.weights());
            kernel::add_loss_slopes(labels, weights, scores, &slopes[0], by_score);
            return Ok(());
        }
        let cells = self.cells.of(rows, self.n_groups);
        if self.output == Output::Score {
            kernel::add_from_cell(&cells, rows.weights(), slopes, by_score);
            return Ok(());
        }
        if let Output::Decision { .. } = self.output {
            outputs.find(self.output, rows, scores);
        }
        let by_output = &mut outputs.by_output[..n];
        by_output.fill([0.0; W]);
        kernel::add_from_cell(&cells, rows.weights(), slopes, by_output);
        match self.output {
            Output::Score | Output::Step => {}
            Output::Decision { tau } => {
                kernel::add_by_decision(&outputs.found[..n], 1.0 / tau, by_output, by_score);
            }
            Output::Loss => kernel::add_by_loss(rows.labels(), scores, by_output, by_score),
            Output::Shortfall { mu, sign } => {
                kernel::add_by_shortfall(scores, sign, mu, by_output, by_score);
            }
        }
        Ok(())
    }

    fn add_both(
        &self,
        rows: &Rows,
        scores: &[[f64; W]],
        outputs: &mut Outputs<W>,
        slopes: &[[f64; W]],
        sums: &mut [[f64; W]],
        by_score: &mut [[f64; W]],
    ) -> Result<(), Error> {
        if let (true, Some(weight)) = (self.are_all_losses(), equal_weight(rows)) {
            let (mut product, mut linear) = ([1.0; W], [0.0; W]);
            kernel::multiply_losses_and_add_slopes(
                rows.labels(),
                weight,
                scores,
                &slopes[0],
                &mut product,
                &mut linear,
                by_score,
            );
            for p in 0..W {
                sums[0][p] += weight * (linear[p] + libm::log(product[p]));
            }
            return Ok(());
        }
        TileStatistic::<W>::add_sums(self, rows, scores, outputs, sums)?;
        TileStatistic::<W>::pull_back(self, rows, scores, outputs, slopes, by_score)
    }
}

struct OwnSums<'a>(&'a dyn OwnStatistics);

impl TileStatistic<LANES> for OwnSums<'_> {
    fn n_sums(&self) -> usize {
        self.0.n_means()
    }

    fn n_weights(&self) -> usize {
        1
    }

    fn add_weights(&self, rows: &Rows, weights: &mut [f64]) {
        weights[0] += self.0.weight(rows);
    }

    fn add_sums(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        _outputs: &mut Outputs<LANES>,
        sums: &mut [Lanes],
    ) -> Result<(), Error> {
        self.0.add_sums(rows, scores, sums)
    }

    fn pull_back(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        _outputs: &mut Outputs<LANES>,
        slopes: &[Lanes],
        by_score: &mut [Lanes],
    ) -> Result<(), Error> {
        self.0.pull_back(rows, scores, slopes, by_score)
    }

    fn add_both(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        _outputs: &mut Outputs<LANES>,
        slopes: &[Lanes],
        sums: &mut [Lanes],
        by_score: &mut [Lanes],
    ) -> Result<(), Error> {
        self.0
            .add_sums_and_slopes(rows, scores, slopes, sums, by_score)
    }
}

/// Sums over rows of a loss, its slopes and its curvatures.
struct SecondOrderSums {
    value: f64,
    /// One entry more than there are parameters: a feature without a parameter.
    gradient: Vec<f64>,
    /// (n + 1)², each pair of features in one of its two places; or the diagonal.
    hessian: Vec<f64>,
    form: Form,
}

impl SecondOrderSums {
    fn new(n: usize, form: Form) -> Self {
        let size = match form {
            Form::Dense => (n + 1) * (n + 1),
            Form::Diagonal => n + 1,
        };
        Self {
            value: 0.0,
            gradient: vec![0.0; n + 1],
            hessian: vec![0.0; size],
            form,
        }
    }

    /// Adds a row: numbers first among the features, then codes, then the intercept.
    fn add_row(&mut self, numeric: &[f64], codes: &[u32], slope: f64, curvature: f64) {
        let n = self.gradient.len();
        let intercept = n - 2;
        for (sum, z) in self.gradient.iter_mut().zip(numeric) {
            *sum += slope * z;
        }
        for code in codes {
            self.gradient[*code as usize] += slope;
        }
        self.gradient[intercept] += slope;
        if self.form == Form::Diagonal {
            for (sum, z) in self.hessian.iter_mut().zip(numeric) {
                *sum += curvature * z * z;
            }
            for code in codes {
                self.hessian[*code as usize] += curvature;
            }
            self.hessian[intercept] += curvature;
            return;
        }
        for (a, z) in numeric.iter().enumerate() {
            let weighted = curvature * z;
            for (sum, z) in self.hessian[a * n..=a * n + a].iter_mut().zip(numeric) {
                *sum += weighted * z;
            }
            self.hessian[intercept * n + a] += weighted;
        }
        for (k, code) in codes.iter().enumerate() {
            let i = *code as usize;
            let row = &mut self.hessian[i * n..(i + 1) * n];
            for (sum, z) in row.iter_mut().zip(numeric) {
                *sum += curvature * z;
            }
            for other in &codes[..=k] {
                row[*other as usize] += curvature;
            }
        }
        self.hessian[intercept * n + intercept] += curvature;
    }

    /// A category is 1 or 0, so that its product with the constant 1 is its square.
    fn add_constants(&mut self, n_numeric: usize) {
        let n = self.gradient.len();
        let intercept = n - 2;
        if self.form == Form::Dense {
            for category in n_numeric..intercept {
                self.hessian[intercept * n + category] += self.hessian[category * n + category];
            }
        }
    }

    fn add_features(&mut self, features: &[f64], slope: f64, curvature: f64) {
        let n = self.gradient.len();
        for (a, z) in features.iter().enumerate() {
            self.gradient[a] += slope * z;
            match self.form {
                Form::Diagonal => self.hessian[a] += curvature * z * z,
                Form::Dense => {
                    let row = &mut self.hessian[a * n..=a * n + a];
                    for (sum, other) in row.iter_mut().zip(features) {
                        *sum += curvature * z * other;
                    }
                }
            }
        }
    }

    /// Value, gradient and second derivatives, without the feature that has no parameter.
    fn write(&self, out: &mut Vec<f64>) {
        let n = self.gradient.len() - 1;
        out.push(self.value);
        out.extend_from_slice(&self.gradient[..n]);
        match self.form {
            Form::Diagonal => out.extend_from_slice(&self.hessian[..n]),
            Form::Dense => {
                for row in self.hessian.chunks_exact(n + 1).take(n) {
                    out.extend_from_slice(&row[..n]);
                }
            }
        }
    }
}
