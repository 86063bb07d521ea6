//! Statistics of the rows of a tile, for W points side by side, in numbers of type T.

use super::cell::Cells;
use super::{OwnStatistics, class, kernel};
use crate::Error;
use crate::lanes::{LANES, Lanes, Real};
use crate::objective::{ClassOutput, Output};
use crate::predictor::{Rows, TILE_ROWS};

/// Outputs of a tile, computed once for all statistics that need the same output.
pub(super) struct Outputs<const W: usize, T> {
    of: Option<Output>,
    /// Empty until first needed.
    found: Vec<[T; W]>,
    by_output: Vec<[T; W]>,
    /// Smooth decisions between classes.
    smooth: Vec<[T; W]>,
}

impl<const W: usize, T: Real> Outputs<W, T> {
    pub(super) fn new() -> Self {
        Self {
            of: None,
            found: Vec::new(),
            by_output: Vec::new(),
            smooth: Vec::new(),
        }
    }

    /// Discards the outputs before the next tile.
    pub(super) fn forget(&mut self) {
        self.of = None;
    }

    fn find<'a>(&'a mut self, output: Output, rows: &Rows, scores: &'a [[T; W]]) -> &'a [[T; W]] {
        if output == Output::Score {
            return scores;
        }
        let n = rows.len();
        if self.of != Some(output) {
            self.found.resize(TILE_ROWS, [T::ZERO; W]);
            let out = &mut self.found[..n];
            match output {
                // Scores need no work; others have several values, or several scores.
                Output::Score | Output::AtMost { .. } | Output::LabelAtMost | Output::Class(_) => {}
                Output::Decision { tau } => kernel::decisions(scores, -1.0 / tau, out),
                Output::Loss => kernel::losses(rows.labels(), scores, out),
                Output::Shortfall { mu, sign } => kernel::shortfalls(scores, sign, mu, out),
                Output::Step => kernel::steps(scores, out),
                Output::Residual(of) => kernel::residuals(of, rows.labels(), scores, out),
                Output::Moment(of) => {
                    for ((out, y), score) in out.iter_mut().zip(rows.labels()).zip(scores) {
                        *out = score.map(|score| T::of(of.of(*y, score.wide())));
                    }
                }
                Output::Capped {
                    of,
                    range: [low, high],
                } => {
                    // Not `f64::clamp`, which panics if a file has a wrong range.
                    let cap = |x: f64| x.max(low).min(high);
                    for ((out, y), score) in out.iter_mut().zip(rows.labels()).zip(scores) {
                        *out = score.map(|score| T::of(of.of(cap(*y), cap(score.wide()))));
                    }
                }
            }
            self.of = Some(output);
        }
        &self.found[..n]
    }

    /// The values of an output of classes, value by value.
    fn find_of_classes(
        &mut self,
        output: ClassOutput,
        rows: &Rows,
        scores: &[[T; W]],
    ) -> &[[T; W]] {
        if self.of != Some(Output::Class(output)) {
            self.found.resize(scores.len(), [T::ZERO; W]);
            self.smooth.resize(scores.len(), [T::ZERO; W]);
            class::find(
                output,
                rows.labels(),
                scores,
                &mut self.smooth,
                &mut self.found,
            );
            self.of = Some(Output::Class(output));
        }
        &self.found
    }

    /// The values of [`Output::LabelAtMost`] at one threshold.
    fn find_label_at_most(&mut self, threshold: f64, rows: &Rows) -> &[[T; W]] {
        self.of = None;
        self.found.resize(TILE_ROWS, [T::ZERO; W]);
        let out = &mut self.found[..rows.len()];
        for (out, label) in out.iter_mut().zip(rows.labels()) {
            *out = [if *label <= threshold { T::ONE } else { T::ZERO }; W];
        }
        out
    }

    /// The values of [`Output::AtMost`] at one threshold.
    fn find_at_most(&mut self, threshold: f64, tau: f64, scores: &[[T; W]]) -> &[[T; W]] {
        self.of = None;
        self.found.resize(TILE_ROWS, [T::ZERO; W]);
        let out = &mut self.found[..scores.len()];
        kernel::at_most(scores, threshold, tau, out);
        out
    }
}

/// Statistics on a tile for W points.
pub(super) trait TileStatistic<const W: usize, T> {
    fn n_sums(&self) -> usize;
    fn n_weights(&self) -> usize;
    fn add_weights(&self, rows: &Rows, weights: &mut [f64]);
    fn add_sums(
        &self,
        rows: &Rows,
        scores: &[[T; W]],
        outputs: &mut Outputs<W, T>,
        sums: &mut [[T; W]],
    ) -> Result<(), Error>;
    fn pull_back(
        &self,
        rows: &Rows,
        scores: &[[T; W]],
        outputs: &mut Outputs<W, T>,
        slopes: &[[T; W]],
        by_score: &mut [[T; W]],
    ) -> Result<(), Error>;
    fn add_both(
        &self,
        rows: &Rows,
        scores: &[[T; W]],
        outputs: &mut Outputs<W, T>,
        slopes: &[[T; W]],
        sums: &mut [[T; W]],
        by_score: &mut [[T; W]],
    ) -> Result<(), Error> {
        self.add_sums(rows, scores, outputs, sums)?;
        self.pull_back(rows, scores, outputs, slopes, by_score)
    }
}

pub(super) struct CellSums {
    pub(super) output: Output,
    pub(super) cells: Cells,
    pub(super) n_groups: usize,
    pub(super) n_labels: usize,
    /// The thresholds of [`Output::AtMost`] and [`Output::LabelAtMost`]; empty for other outputs.
    pub(super) thresholds: Vec<f64>,
}

impl CellSums {
    /// Whether these are losses of all rows in one sum, for which there is a faster computation.
    fn are_all_losses(&self) -> bool {
        self.output == Output::Loss && self.cells == Cells::ALL
    }

    /// Number of sums per value of a row.
    fn n_cells(&self) -> usize {
        self.cells.labels.len() * self.n_groups
    }
}

/// The weight of the rows if it is the same for all.
fn equal_weight(rows: &Rows) -> Option<f64> {
    let weights = rows.weights();
    let first = *weights.first()?;
    weights.iter().all(|w| *w == first).then_some(first)
}

impl<const W: usize, T: Real> TileStatistic<W, T> for CellSums {
    fn n_sums(&self) -> usize {
        match self.output {
            Output::AtMost { .. } | Output::LabelAtMost => self.n_cells() * self.thresholds.len(),
            Output::Class(of) => self.n_cells() * of.width(self.n_labels),
            _ => self.n_cells(),
        }
    }

    fn n_weights(&self) -> usize {
        self.n_labels * self.n_groups
    }

    fn add_weights(&self, rows: &Rows, weights: &mut [f64]) {
        self.cells.add_weights(rows, self.n_groups, weights);
    }

    fn add_sums(
        &self,
        rows: &Rows,
        scores: &[[T; W]],
        outputs: &mut Outputs<W, T>,
        sums: &mut [[T; W]],
    ) -> Result<(), Error> {
        if let (true, Some(weight)) = (self.are_all_losses(), equal_weight(rows)) {
            // Each of the 64 factors of a tile is at most 2, so that their product does not overflow.
            let (mut product, mut linear) = ([T::ONE; W], [T::ZERO; W]);
            kernel::multiply_losses(rows.labels(), scores, &mut product, &mut linear);
            for p in 0..W {
                let losses = linear[p].wide() + libm::log(product[p].wide());
                sums[0][p] += T::of(weight * losses);
            }
            return Ok(());
        }
        let cells = self.cells.of(rows, self.n_groups);
        if let Output::Class(of) = self.output {
            let found = outputs.find_of_classes(of, rows, scores);
            let values = sums.chunks_exact_mut(self.n_cells());
            for (sums, found) in values.zip(found.chunks_exact(TILE_ROWS)) {
                let found = &found[..rows.len()];
                kernel::add_by_cell(&cells[..rows.len()], rows.weights(), found, sums);
            }
            return Ok(());
        }
        if let Output::AtMost { tau } = self.output {
            let of_thresholds = sums.chunks_exact_mut(self.n_cells());
            for (threshold, sums) in self.thresholds.iter().zip(of_thresholds) {
                let outputs = outputs.find_at_most(*threshold, tau, scores);
                kernel::add_by_cell(&cells[..rows.len()], rows.weights(), outputs, sums);
            }
            return Ok(());
        }
        if self.output == Output::LabelAtMost {
            let of_thresholds = sums.chunks_exact_mut(self.n_cells());
            for (threshold, sums) in self.thresholds.iter().zip(of_thresholds) {
                let outputs = outputs.find_label_at_most(*threshold, rows);
                kernel::add_by_cell(&cells[..rows.len()], rows.weights(), outputs, sums);
            }
            return Ok(());
        }
        let outputs = outputs.find(self.output, rows, scores);
        kernel::add_by_cell(&cells, rows.weights(), outputs, sums);
        Ok(())
    }

    fn pull_back(
        &self,
        rows: &Rows,
        scores: &[[T; W]],
        outputs: &mut Outputs<W, T>,
        slopes: &[[T; W]],
        by_score: &mut [[T; W]],
    ) -> Result<(), Error> {
        let n = rows.len();
        if self.are_all_losses() {
            let (labels, weights) = (rows.labels(), rows.weights());
            kernel::add_loss_slopes(labels, weights, scores, &slopes[0], by_score);
            return Ok(());
        }
        let cells = self.cells.of(rows, self.n_groups);
        if let Output::Class(of) = self.output {
            let width = of.width(self.n_labels);
            let Outputs {
                by_output, smooth, ..
            } = outputs;
            // One value more, because the slopes of cumulative decisions become those of decisions.
            by_output.clear();
            by_output.resize(scores.len().max(width * TILE_ROWS), [T::ZERO; W]);
            smooth.resize(scores.len(), [T::ZERO; W]);
            let values = slopes.chunks_exact(self.n_cells());
            for (slopes, by_output) in values.zip(by_output.chunks_exact_mut(TILE_ROWS)) {
                kernel::add_from_cell(&cells, rows.weights(), slopes, &mut by_output[..n]);
            }
            class::pull_back(of, rows.labels(), scores, by_output, smooth, by_score);
            return Ok(());
        }
        if self.output == Output::Score {
            kernel::add_from_cell(&cells, rows.weights(), slopes, by_score);
            return Ok(());
        }
        if let Output::AtMost { tau } = self.output {
            if tau == 0.0 {
                return Ok(());
            }
            let of_thresholds = slopes.chunks_exact(self.n_cells());
            for (threshold, slopes) in self.thresholds.iter().zip(of_thresholds) {
                outputs.find_at_most(*threshold, tau, scores);
                let Outputs {
                    found, by_output, ..
                } = outputs;
                by_output.resize(TILE_ROWS, [T::ZERO; W]);
                let by_output = &mut by_output[..n];
                by_output.fill([T::ZERO; W]);
                kernel::add_from_cell(&cells, rows.weights(), slopes, by_output);
                kernel::add_by_decision(&found[..n], -1.0 / tau, by_output, by_score);
            }
            return Ok(());
        }
        if self.output == Output::LabelAtMost {
            return Ok(());
        }
        if let Output::Decision { .. } = self.output {
            outputs.find(self.output, rows, scores);
        }
        outputs.by_output.resize(TILE_ROWS, [T::ZERO; W]);
        let by_output = &mut outputs.by_output[..n];
        by_output.fill([T::ZERO; W]);
        kernel::add_from_cell(&cells, rows.weights(), slopes, by_output);
        match self.output {
            Output::Score
            | Output::Step
            | Output::AtMost { .. }
            | Output::LabelAtMost
            | Output::Moment(_)
            | Output::Capped { .. }
            | Output::Class(_) => {}
            Output::Residual(of) => {
                kernel::add_by_residual(of, rows.labels(), scores, by_output, by_score);
            }
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
        scores: &[[T; W]],
        outputs: &mut Outputs<W, T>,
        slopes: &[[T; W]],
        sums: &mut [[T; W]],
        by_score: &mut [[T; W]],
    ) -> Result<(), Error> {
        if let (true, Some(weight)) = (self.are_all_losses(), equal_weight(rows)) {
            let (mut product, mut linear) = ([T::ONE; W], [T::ZERO; W]);
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
                let losses = linear[p].wide() + libm::log(product[p].wide());
                sums[0][p] += T::of(weight * losses);
            }
            return Ok(());
        }
        TileStatistic::<W, T>::add_sums(self, rows, scores, outputs, sums)?;
        TileStatistic::<W, T>::pull_back(self, rows, scores, outputs, slopes, by_score)
    }
}

pub(super) struct OwnSums<'a>(pub(super) &'a dyn OwnStatistics);

impl TileStatistic<LANES, f64> for OwnSums<'_> {
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
        _outputs: &mut Outputs<LANES, f64>,
        sums: &mut [Lanes],
    ) -> Result<(), Error> {
        self.0.add_sums(rows, scores, sums)
    }

    fn pull_back(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        _outputs: &mut Outputs<LANES, f64>,
        slopes: &[Lanes],
        by_score: &mut [Lanes],
    ) -> Result<(), Error> {
        self.0.pull_back(rows, scores, slopes, by_score)
    }

    fn add_both(
        &self,
        rows: &Rows,
        scores: &[Lanes],
        _outputs: &mut Outputs<LANES, f64>,
        slopes: &[Lanes],
        sums: &mut [Lanes],
        by_score: &mut [Lanes],
    ) -> Result<(), Error> {
        self.0
            .add_sums_and_slopes(rows, scores, slopes, sums, by_score)
    }
}
