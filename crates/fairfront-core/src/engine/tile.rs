//! The sums of a pass over a few blocks of rows, tile by tile, for up to [`LANES`] points.

use std::ops::Range;
use std::sync::Arc;

use super::Statistics;
use super::cell::{Cells, Labels};
use super::class_curvature::ClassCurvature;
use super::curvature::SecondOrderSums;
use super::expansion::{LogOdds, LogOddsLanes, N_SUMS, expand};
use super::joint::JointSums;
use super::pass::{Form, Map, Over, Pass, Wanted};
use super::size::RowSizes;
use super::statistic::{CellSums, Outputs, OwnSums, TileStatistic};
use super::{kernel, score_bin};
use crate::calibrate::Calibration;
use crate::class_tally::bits_per_model;
use crate::decision::decided;
use crate::lanes::{LANES, Lanes, Real};
use crate::objective::Output;
use crate::predictor::{Predictor, Rows, TILE_ROWS};
use crate::{Error, Multinomial, RowBlock, Schema, multinomial, network};

/// The sums of a pass over these rows, for some of its points: the part that does not depend on
/// points, if `once` is set, and then one part per point.
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
        Wanted::Curvature { form, output } => Ok(match pass.map {
            Map::Multinomial(map) => work.curvature_of_classes(map, *form),
            _ => work.curvature(*form, *output),
        }),
        Wanted::Sizes => Ok(work.sizes()),
        Wanted::Expansion { at, targets } => Ok(work.expansion(&at[points.clone()], *targets)),
        Wanted::Counts { attribute } => Ok(work.counts(*attribute)),
        Wanted::Joint => Ok(work.joint()),
        Wanted::ScoreBins { calibrations } => Ok(work.score_bins(&calibrations[points.clone()])),
        Wanted::Linear { cells } => Ok(work.linear(*cells)),
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

    /// Uses as many lanes as the points fill; 32 for the caller's own statistics and predictors.
    fn with_lanes(&self, statistics: &[Statistics<'_>]) -> Result<Vec<f64>, Error> {
        let own = |s: &Statistics| matches!(s, Statistics::Own(_));
        if let Map::Own(predictor) = self.pass.map {
            let params = self.side_by_side::<LANES, f64>();
            return self.statistics(
                &mut OwnMap { predictor, params },
                &self.own_or_cells(statistics),
            );
        }
        if statistics.iter().any(own) {
            return self.statistics(
                self.map::<LANES, f64>().as_mut(),
                &self.own_or_cells(statistics),
            );
        }
        match (self.points.len(), self.pass.over) {
            (0 | 1, Over::All) => self.by_cell::<1, f64>(statistics),
            (2..=8, Over::All) => self.by_cell::<8, f64>(statistics),
            (_, Over::All) => self.by_cell::<LANES, f64>(statistics),
            (0 | 1, _) => self.by_cell::<1, f32>(statistics),
            (2..=8, _) => self.by_cell::<8, f32>(statistics),
            (_, _) => self.by_cell::<LANES, f32>(statistics),
        }
    }

    fn by_cell<const W: usize, T: Real>(
        &self,
        statistics: &[Statistics<'_>],
    ) -> Result<Vec<f64>, Error> {
        let cells = statistics.iter().filter_map(|s| match s {
            Statistics::ByCell { output, cells } => Some(self.cells(*output, *cells)),
            Statistics::Own(_) => None,
        });
        let cells = cells.map(|s| Box::new(s) as Box<dyn TileStatistic<W, T>>);
        self.statistics(self.map::<W, T>().as_mut(), &cells.collect::<Vec<_>>())
    }

    /// The map from rows to scores, unless it is the caller's own predictor.
    fn map<const W: usize, T: Real>(&self) -> Box<dyn ScoreMap<W, T>> {
        let params = self.side_by_side::<W, T>();
        match self.pass.map {
            Map::Network(network) => Box::new(network::Tile::new(network, params)),
            Map::Multinomial(map) => Box::new(multinomial::Tile::new(map, &params)),
            Map::Columns(_) | Map::Own(_) => Box::new(ColumnMap { params }),
        }
    }

    fn cells(&self, output: Output, cells: Cells) -> CellSums {
        CellSums {
            output,
            cells,
            n_groups: cells.n_groups(self.schema),
            n_labels: self.schema.target.n_labels(),
            thresholds: match (output, self.schema.target.unit()) {
                (Output::AtMost { .. } | Output::LabelAtMost, Some(unit)) => {
                    unit.thresholds.clone()
                }
                _ => Vec::new(),
            },
        }
    }

    fn own_or_cells<'s>(
        &self,
        statistics: &[Statistics<'s>],
    ) -> Vec<Box<dyn TileStatistic<LANES, f64> + 's>> {
        let boxed = |s: &Statistics<'s>| -> Box<dyn TileStatistic<LANES, f64> + 's> {
            match s {
                Statistics::Own(own) => Box::new(OwnSums(*own)),
                Statistics::ByCell { output, cells } => Box::new(self.cells(*output, *cells)),
            }
        };
        statistics.iter().map(boxed).collect()
    }

    /// The parameters of the points side by side, and a row of zeros.
    fn side_by_side<const W: usize, T: Real>(&self) -> Vec<[T; W]> {
        let n = self.pass.map.n_params(self.schema);
        let mut params = vec![[T::ZERO; W]; n + 1];
        for (lane, point) in self.points.clone().enumerate() {
            for (row, value) in params.iter_mut().zip(self.point(point)) {
                row[lane] = T::of(*value);
            }
        }
        params
    }

    fn slopes<const W: usize, T: Real>(&self, slopes: &[f64], n_sums: usize) -> Vec<[T; W]> {
        let mut lanes = vec![[T::ZERO; W]; n_sums];
        for (lane, point) in self.points.clone().enumerate() {
            let own = &slopes[point * n_sums..(point + 1) * n_sums];
            for (row, value) in lanes.iter_mut().zip(own) {
                row[lane] = T::of(*value);
            }
        }
        lanes
    }

    fn statistics<const W: usize, T: Real>(
        &self,
        map: &mut dyn ScoreMap<W, T>,
        statistics: &[Box<dyn TileStatistic<W, T> + '_>],
    ) -> Result<Vec<f64>, Error> {
        let n_params = self.pass.map.n_params(self.schema);
        let n_sums: usize = statistics.iter().map(|s| s.n_sums()).sum();
        let (slopes, wants_sums) = match &self.pass.wanted {
            Wanted::Gradients { slopes, .. } => (Some(self.slopes::<W, T>(slopes, n_sums)), false),
            Wanted::Both { slopes, .. } => (Some(self.slopes::<W, T>(slopes, n_sums)), true),
            _ => (None, true),
        };
        let mut weights = Vec::new();
        if self.once && slopes.is_none() {
            weights.resize(statistics.iter().map(|s| s.n_weights()).sum(), 0.0);
        }
        let mut sums = Totals::new(if wants_sums { n_sums } else { 0 });
        let mut gradients = Totals::new(slopes.as_ref().map_or(0, |_| n_params + 1));
        let n_scores = self.pass.map.n_scores();
        let mut all_scores = vec![[T::ZERO; W]; TILE_ROWS * n_scores];
        let mut all_by_score = vec![[T::ZERO; W]; TILE_ROWS * n_scores];
        let mut outputs = Outputs::new();
        // Outputs of scores that are not finite may be finite, which would hide the problem.
        let mut spoiled = [T::ZERO; W];
        for (number, tile) in self.tiles().enumerate() {
            if number > 0 && number % T::TILES == 0 {
                sums.add_up();
                gradients.add_up();
            }
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
            map.scores(&tile, &mut all_scores);
            if T::IS_SINGLE {
                for of_score in all_scores.chunks_exact(TILE_ROWS) {
                    kernel::spoil(&of_score[..n], &mut spoiled);
                }
            }
            outputs.forget();
            // Several scores per row are stored score by score, with the same length for every tile.
            let used = if n_scores == 1 { n } else { all_scores.len() };
            let scores = &all_scores[..used];
            match &slopes {
                None => {
                    let mut rest = &mut sums.latest[..];
                    for statistic in statistics {
                        let (own, others) = rest.split_at_mut(statistic.n_sums());
                        statistic.add_sums(&tile, scores, &mut outputs, own)?;
                        rest = others;
                    }
                }
                Some(slopes) => {
                    let by_score = &mut all_by_score[..used];
                    by_score.fill([T::ZERO; W]);
                    let mut rest = &slopes[..];
                    for statistic in statistics {
                        let (own, others) = rest.split_at(statistic.n_sums());
                        match wants_sums {
                            true => statistic.add_both(
                                &tile,
                                scores,
                                &mut outputs,
                                own,
                                &mut sums.latest,
                                by_score,
                            )?,
                            false => {
                                statistic.pull_back(&tile, scores, &mut outputs, own, by_score)?;
                            }
                        }
                        rest = others;
                    }
                    map.pull_back(&tile, by_score, &mut gradients.latest);
                }
            }
        }
        sums.add_up();
        gradients.add_up();
        let mut result = weights;
        for (lane, spoiled) in spoiled.iter().take(self.points.len()).enumerate() {
            let found = sums
                .before
                .iter()
                .chain(gradients.before.iter().take(n_params));
            result.extend(found.map(|sum| sum[lane] + spoiled.wide()));
        }
        Ok(result)
    }

    /// Value, gradient and second derivatives of losses or functions of residuals, for linear maps.
    fn curvature(&self, form: Form, output: Output) -> Vec<f64> {
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
                match self.pass.map.beyond_columns() {
                    None => kernel::scores(&tile, &params, &mut scores),
                    Some(predictor) => {
                        let params: Vec<Lanes> = params.iter().map(|x| [x[0]; LANES]).collect();
                        predictor.scores(&tile, &params, &mut wide);
                        for (score, wide) in scores.iter_mut().zip(&wide[..rows]) {
                            *score = [wide[0]];
                        }
                    }
                }
                let (labels, weights) = (tile.labels(), tile.weights());
                let scores = &scores[..rows];
                let [values, slopes, curvatures] =
                    [&mut losses, &mut slope, &mut curvature].map(|of| &mut of[..rows]);
                match output {
                    Output::Residual(of) => {
                        let out = [values, slopes, curvatures];
                        kernel::expand_residuals(of, labels, weights, scores, out);
                    }
                    _ => kernel::expand_losses(labels, weights, scores, values, slopes, curvatures),
                }
                sums.value += losses[..rows].iter().sum::<f64>();
                for row in 0..rows {
                    let (slope, curvature) = (slope[row], curvature[row]);
                    match self.pass.map.beyond_columns() {
                        None => {
                            let (numeric, codes) = (tile.numeric(row), tile.codes(row));
                            sums.add_row(numeric, codes, slope, curvature);
                        }
                        Some(predictor) => {
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

    /// Value, gradient and second derivatives of the losses of classes.
    fn curvature_of_classes(&self, map: Multinomial, form: Form) -> Vec<f64> {
        let mut result = Vec::new();
        for point in self.points.clone() {
            let params: Vec<[f64; 1]> = self.point(point).iter().map(|x| [*x]).collect();
            let params = [params, vec![[0.0]]].concat();
            let scorer = multinomial::Tile::<1, f64>::new(map, &params);
            let mut sums = ClassCurvature::new(map, self.schema, form);
            let mut scores = vec![[0.0; 1]; TILE_ROWS * map.n_classes];
            for tile in self.tiles() {
                scorer.scores(&tile, &mut scores);
                sums.add(&tile, &scores);
            }
            sums.write(&mut result);
        }
        result
    }

    /// The gradients of sums of scores by cell, for linear maps.
    fn linear(&self, cells: Cells) -> Vec<f64> {
        if !self.once {
            return Vec::new();
        }
        let n = self.pass.map.n_params(self.schema);
        let n_groups = cells.n_groups(self.schema);
        let n_sums = cells.n_sums(self.schema);
        let mut result = vec![0.0; cells.n_weights(self.schema)];
        // The last entry is for categories without a parameter.
        let mut gradients = vec![vec![0.0; n + 1]; n_sums];
        let mut totals = vec![0.0; n_sums];
        let mut features = vec![0.0; n];
        for tile in self.tiles() {
            cells.add_weights(&tile, n_groups, &mut result);
            let places = cells.of(&tile, n_groups);
            totals.fill(0.0);
            for (row, (cell, w)) in places.iter().zip(tile.weights()).enumerate() {
                let Some(gradient) = gradients.get_mut(*cell) else {
                    continue;
                };
                match self.pass.map.beyond_columns() {
                    None => {
                        for (sum, z) in gradient.iter_mut().zip(tile.numeric(row)) {
                            *sum += z * w;
                        }
                        for code in tile.codes(row) {
                            gradient[*code as usize] += w;
                        }
                        totals[*cell] += w;
                    }
                    Some(predictor) => {
                        if let Some(linear) = predictor.as_linear() {
                            linear.features(&tile, row, &mut features);
                        }
                        for (sum, z) in gradient.iter_mut().zip(&features) {
                            *sum += z * w;
                        }
                    }
                }
            }
            if matches!(self.pass.map, Map::Columns(_)) {
                for (gradient, total) in gradients.iter_mut().zip(&totals) {
                    gradient[n - 1] += total;
                }
            }
        }
        for gradient in &gradients {
            result.extend_from_slice(&gradient[..n]);
        }
        result
    }

    /// Log losses as functions of slope and intercept.
    fn expansion(&self, at: &[LogOdds], targets: [f64; 2]) -> Vec<f64> {
        if let Map::Own(predictor) = self.pass.map {
            let params = self.side_by_side::<LANES, f64>();
            return self.expansion_with(&mut OwnMap { predictor, params }, at, targets);
        }
        match self.points.len() {
            0 | 1 => self.expansion_in_lanes::<1>(at, targets),
            2..=8 => self.expansion_in_lanes::<8>(at, targets),
            _ => self.expansion_in_lanes::<LANES>(at, targets),
        }
    }

    fn expansion_in_lanes<const W: usize>(&self, at: &[LogOdds], targets: [f64; 2]) -> Vec<f64> {
        self.expansion_with(self.map::<W, f64>().as_mut(), at, targets)
    }

    fn expansion_with<const W: usize>(
        &self,
        map: &mut dyn ScoreMap<W, f64>,
        at: &[LogOdds],
        targets: [f64; 2],
    ) -> Vec<f64> {
        let at = LogOddsLanes::<W>::of(at);
        let mut sums = [[0.0; W]; N_SUMS];
        let mut scores = [[0.0; W]; TILE_ROWS];
        for tile in self.tiles() {
            map.scores(&tile, &mut scores);
            expand(&tile, &scores[..tile.len()], &at, targets, &mut sums);
        }
        let lanes = 0..self.points.len();
        lanes.flat_map(|lane| sums.map(|sum| sum[lane])).collect()
    }

    /// Rows by label and group, and their weights.
    fn counts(&self, attribute: Option<usize>) -> Vec<f64> {
        let cells = Cells {
            attribute,
            labels: Labels::each(&self.schema.target),
        };
        let n_groups = cells.n_groups(self.schema);
        if !self.once {
            return Vec::new();
        }
        let n_sums = cells.n_sums(self.schema);
        let (mut rows, mut weights) = (vec![0.0; n_sums], vec![0.0; n_sums]);
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

    /// Writes the scores of a tile for up to [`LANES`] points.
    fn wide_scores(&self, tile: &Rows<'_>, params: &[Lanes], scores: &mut [Lanes]) {
        match self.pass.map.beyond_columns() {
            None => kernel::scores(tile, params, scores),
            Some(predictor) => predictor.scores(tile, params, scores),
        }
    }

    /// Joint decisions of all points.
    fn joint(&self) -> Vec<f64> {
        let n_models = self.points.len();
        let mut sums = JointSums::new(self.schema, n_models);
        self.tiles().for_each(|tile| sums.add_rows(&tile));
        let k = bits_per_model(self.schema);
        let mut scores = vec![[0.0; LANES]; TILE_ROWS * k];
        let mut words = vec![0; TILE_ROWS * k];
        for (word, first) in self.points.clone().step_by(LANES).enumerate() {
            let points = first..(first + LANES).min(self.points.end);
            let some = Work {
                points: &points,
                ..*self
            };
            let params = some.side_by_side::<LANES, f64>();
            let used = u32::MAX >> (LANES - points.len());
            let mut row = 0;
            for tile in self.tiles() {
                self.wide_scores(&tile, &params, &mut scores);
                if k > 1 {
                    let n = tile.len();
                    decided(&scores, n, used, &mut words[..n * k]);
                    for (at, word) in words[..n * k].iter().enumerate() {
                        let (class, mut left) = (at / n, *word);
                        while left != 0 {
                            let model = points.start - self.points.start;
                            let model = model + left.trailing_zeros() as usize;
                            sums.set_bit(row + at % n, class * n_models + model);
                            left &= left - 1;
                        }
                    }
                    row += n;
                    continue;
                }
                for scores in &scores[..tile.len()] {
                    let bits = (scores.iter().enumerate()).fold(0, |bits, (lane, score)| {
                        bits | u32::from(*score >= 0.0) << lane
                    });
                    sums.set(row, word, bits & used);
                    row += 1;
                }
            }
        }
        sums.finish()
    }

    /// Quality of probabilities by bin.
    fn score_bins(&self, calibrations: &[Calibration]) -> Vec<f64> {
        let length = score_bin::n_sums(self.schema);
        let mut result = vec![0.0; length * self.points.len()];
        let params = self.side_by_side::<LANES, f64>();
        let mut scores = [[0.0; LANES]; TILE_ROWS];
        for tile in self.tiles() {
            self.wide_scores(&tile, &params, &mut scores);
            let of_points = result.chunks_exact_mut(length).zip(calibrations);
            for (lane, (sums, calibration)) in of_points.enumerate() {
                let scores = scores[..tile.len()].iter().map(|scores| scores[lane]);
                score_bin::add(self.schema, &tile, scores, *calibration, sums);
            }
        }
        result
    }

    /// Sizes of features and of the terms of scores.
    fn sizes(&self) -> Vec<f64> {
        let mut once = [0.0; 4];
        let mut per_point = vec![0.0; self.points.len()];
        let params = self.side_by_side::<LANES, f64>();
        let mut row_sizes = RowSizes {
            features: vec![0.0; self.pass.map.n_params(self.schema)],
            scores: [[0.0; LANES]; TILE_ROWS],
            of_points: [0.0; LANES],
        };
        for tile in self.tiles() {
            if let Some(predictor) = self.pass.map.beyond_columns() {
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

/// Sums in numbers of type T, which are added in double precision at intervals.
struct Totals<const W: usize, T> {
    latest: Vec<[T; W]>,
    before: Vec<[f64; W]>,
}

impl<const W: usize, T: Real> Totals<W, T> {
    fn new(n: usize) -> Self {
        Self {
            latest: vec![[T::ZERO; W]; n],
            before: vec![[0.0; W]; n],
        }
    }

    fn add_up(&mut self) {
        for (before, latest) in self.before.iter_mut().zip(&mut self.latest) {
            for (before, latest) in before.iter_mut().zip(latest) {
                *before += latest.wide();
                *latest = T::ZERO;
            }
        }
    }
}

/// Scores of a tile for W points, and the gradients of the same tile after its scores.
trait ScoreMap<const W: usize, T> {
    fn scores(&mut self, rows: &Rows, scores: &mut [[T; W]]);
    fn pull_back(&self, rows: &Rows, slopes: &[[T; W]], gradients: &mut [[T; W]]);
}

struct ColumnMap<const W: usize, T> {
    params: Vec<[T; W]>,
}

impl<const W: usize, T: Real> ScoreMap<W, T> for ColumnMap<W, T> {
    fn scores(&mut self, rows: &Rows, scores: &mut [[T; W]]) {
        kernel::scores(rows, &self.params, scores);
    }

    fn pull_back(&self, rows: &Rows, slopes: &[[T; W]], gradients: &mut [[T; W]]) {
        kernel::pull_back(rows, slopes, gradients);
    }
}

struct OwnMap<'a> {
    predictor: &'a dyn Predictor,
    params: Vec<Lanes>,
}

impl ScoreMap<LANES, f64> for OwnMap<'_> {
    fn scores(&mut self, rows: &Rows, scores: &mut [Lanes]) {
        self.predictor.scores(rows, &self.params, scores);
    }

    fn pull_back(&self, rows: &Rows, slopes: &[Lanes], gradients: &mut [Lanes]) {
        self.predictor
            .pull_back(rows, &self.params, slopes, gradients);
    }
}

impl<const W: usize, T: Real> ScoreMap<W, T> for multinomial::Tile<W, T> {
    fn scores(&mut self, rows: &Rows, scores: &mut [[T; W]]) {
        multinomial::Tile::scores(self, rows, scores);
    }

    fn pull_back(&self, rows: &Rows, slopes: &[[T; W]], gradients: &mut [[T; W]]) {
        self.pull_back(rows, slopes, gradients);
    }
}

impl<const W: usize, T: Real> ScoreMap<W, T> for network::Tile<W, T> {
    fn scores(&mut self, rows: &Rows, scores: &mut [[T; W]]) {
        self.scores(rows, scores);
    }

    fn pull_back(&self, rows: &Rows, slopes: &[[T; W]], gradients: &mut [[T; W]]) {
        self.pull_back(rows, slopes, gradients);
    }
}
