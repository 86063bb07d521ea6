//! Sizes of features and of the terms of scores.

use super::pass::Map;
use crate::Schema;
use crate::lanes::{LANES, Lanes};
use crate::predictor::{Rows, TILE_ROWS};

/// The sizes of one row at a time.
pub(super) struct RowSizes {
    pub(super) features: Vec<f64>,
    pub(super) scores: [Lanes; TILE_ROWS],
    pub(super) of_points: Lanes,
}

impl RowSizes {
    /// Returns the norm of a row's features without a constant one, and writes to `of_points`, for
    /// each point, the sum of the absolute values of the terms of the score. For a map that is not
    /// linear, this is the absolute value of the score.
    pub(super) fn find(
        &mut self,
        map: &Map<'_>,
        schema: &Schema,
        rows: &Rows,
        row: usize,
        params: &[Lanes],
    ) -> f64 {
        match map.beyond_columns() {
            None => {
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
            Some(predictor) => {
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
