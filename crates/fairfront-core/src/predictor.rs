#![expect(
    clippy::inline_always,
    reason = "kernels must compile row access for their own instruction set"
)]

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine;
use crate::fair_problem::side_by_side;
use crate::lanes::{Lanes, ZERO};
use crate::{Error, Multinomial, Network, RowBlock, RowSource, Schema};

/// Some rows of a block: the tile that kernels process.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    block: &'a RowBlock,
    range: Range<usize>,
}

/// Rows per tile. With [`LANES`](crate::LANES) points, its scores fit in a core's first-level
/// cache.
pub const TILE_ROWS: usize = 64;

impl<'a> Rows<'a> {
    /// The tiles of a block, in order.
    pub fn tiles(block: &'a RowBlock) -> impl Iterator<Item = Self> {
        (0..block.n_rows())
            .step_by(TILE_ROWS)
            .map(move |start| Self {
                block,
                range: start..(start + TILE_ROWS).min(block.n_rows()),
            })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Labels, −1 or +1.
    pub fn labels(&self) -> &'a [f64] {
        &self.block.labels()[self.range.clone()]
    }

    /// Group codes of an attribute.
    pub fn groups(&self, attribute: usize) -> &'a [u32] {
        &self.block.groups(attribute)[self.range.clone()]
    }

    /// Weights.
    pub fn weights(&self) -> &'a [f64] {
        &self.block.weights()[self.range.clone()]
    }

    /// Numeric features of a row of the tile.
    #[inline(always)]
    pub fn numeric(&self, row: usize) -> &'a [f64] {
        self.block.numeric(self.range.start + row)
    }

    /// Feature indices of a row of the tile.
    #[inline(always)]
    pub fn codes(&self, row: usize) -> &'a [u32] {
        self.block.codes(self.range.start + row)
    }
}

/// φ(z; x): scores of rows for many parameter vectors at once, and their gradients.
///
/// Parameters are stored parameter by parameter, [`LANES`](crate::LANES) points side by side,
/// followed by a row of zeros for features without a parameter.
pub trait Predictor: Send + Sync {
    /// Number of parameters for rows of this schema.
    fn n_params(&self, schema: &Schema) -> usize;
    /// Number of scores per row: 1, or the number of classes.
    fn n_scores(&self) -> usize {
        1
    }
    /// The parameters to which the penalty applies.
    fn penalized(&self, schema: &Schema) -> Range<usize>;
    /// The parameter that is added to every score, if there is one. Changing it moves the decision
    /// threshold.
    fn intercept(&self, _schema: &Schema) -> Option<usize> {
        None
    }
    /// Names of the parameters except the last, in order; by default, those of the features.
    fn names(&self, schema: &Schema) -> Vec<String> {
        schema.feature_names()
    }
    /// The point from which solvers start if no better one is known.
    fn start(&self, schema: &Schema) -> Vec<f64> {
        vec![0.0; self.n_params(schema)]
    }
    /// Up to `most` different points to start from, if descents from different points may end in
    /// different minima; the first is [`start`](Self::start).
    fn starts(&self, schema: &Schema, _most: usize) -> Vec<Vec<f64>> {
        vec![self.start(schema)]
    }
    /// The point whose scores are `factor` times those of this one, if there is one.
    fn scaled(&self, _schema: &Schema, point: &[f64], factor: f64) -> Option<Vec<f64>> {
        let scaled = || point.iter().map(|x| factor * x).collect();
        self.as_linear().map(|_| scaled())
    }
    /// The linear map, if scores are linear in the parameters. Such predictors have second
    /// derivatives and bounds, and their mean scores need no pass over rows.
    fn as_linear(&self) -> Option<&dyn LinearMap> {
        None
    }
    /// The predictor as data, if it is linear in the encoded columns. Every engine can run such a
    /// predictor.
    fn as_columns(&self) -> Option<Columns> {
        None
    }
    /// The predictor as data, if it is a network of the encoded columns. Every engine can run such
    /// a predictor.
    fn as_network(&self) -> Option<Network> {
        None
    }
    /// The predictor as data, if it has one linear score per class. Every engine can run such a
    /// predictor.
    fn as_multinomial(&self) -> Option<Multinomial> {
        None
    }
    /// Writes the scores of each row. If there are several per row, those of all rows for the first score
    /// come first, [`TILE_ROWS`] apart; the same holds for slopes.
    fn scores(&self, rows: &Rows, params: &[Lanes], scores: &mut [Lanes]);
    /// Adds Σ slope · ∂φ/∂x over the rows to `gradients`. `params` are the same as for `scores`.
    fn pull_back(&self, rows: &Rows, params: &[Lanes], slopes: &[Lanes], gradients: &mut [Lanes]);
}

/// Scores that are linear in the parameters: φ = x · f(row), without a term that does not depend on
/// x.
pub trait LinearMap: Send + Sync {
    /// Writes f(row): ∂φ/∂x, one number per parameter.
    fn features(&self, rows: &Rows, row: usize, out: &mut [f64]);
    /// The parameter whose feature is 1 for every row, if there is one.
    fn constant(&self, schema: &Schema) -> Option<usize>;
}

/// The scores of all rows for one parameter vector, from the same kernel that fits and measures
/// models.
pub fn scores(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    params: &[f64],
) -> Result<Vec<f64>, Error> {
    Ok(scores_of_block(predictor, rows, &[params])?.concat())
}

/// The scores of all rows for up to [`LANES`] parameter vectors, one vector of scores each. If rows have
/// several scores, they are stored row by row.
pub(crate) fn scores_of_block(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    block: &[&[f64]],
) -> Result<Vec<Vec<f64>>, Error> {
    let params = side_by_side(block, predictor.n_params(rows.schema()));
    let k = predictor.n_scores();
    let mut all = vec![Vec::with_capacity(rows.n_rows() as usize * k); block.len()];
    let mut scores = vec![ZERO; TILE_ROWS * k];
    for index in 0..rows.n_blocks() {
        let block = rows.block(index)?;
        for tile in Rows::tiles(&block) {
            predictor.scores(&tile, &params, &mut scores);
            for (lane, all) in all.iter_mut().enumerate() {
                for row in 0..tile.len() {
                    let of_row = scores[row..].iter().step_by(TILE_ROWS);
                    all.extend(of_row.map(|lanes| lanes[lane]));
                }
            }
        }
    }
    Ok(all)
}

/// φ = cᵀz + b, x = (c, b), as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Columns;

impl Columns {
    /// Number of parameters for rows of this schema.
    pub fn n_params(self, schema: &Schema) -> usize {
        schema.n_features() + 1
    }
}

impl LinearMap for Columns {
    fn features(&self, rows: &Rows, row: usize, out: &mut [f64]) {
        out.fill(0.0);
        let numeric = rows.numeric(row);
        out[..numeric.len()].copy_from_slice(numeric);
        for code in rows.codes(row) {
            // A category without a parameter has a code past the intercept.
            if let Some(feature) = out.get_mut(*code as usize) {
                *feature += 1.0;
            }
        }
        if let Some(intercept) = out.last_mut() {
            *intercept = 1.0;
        }
    }

    fn constant(&self, schema: &Schema) -> Option<usize> {
        Some(schema.intercept())
    }
}

/// φ = cᵀz + b, x = (c, b).
#[derive(Debug, Clone, Copy, Default)]
pub struct Linear;

/// The predictor for models on rows of this schema. Only this function chooses it.
pub fn predictor_of(schema: &Schema) -> Arc<dyn Predictor> {
    match (schema.hidden, schema.target.classes()) {
        (0, None) => Arc::new(Linear),
        (0, Some(classes)) => Arc::new(Multinomial {
            n_classes: classes.len(),
        }),
        (hidden, _) => Arc::new(Network {
            hidden: hidden as usize,
        }),
    }
}

impl Predictor for Linear {
    fn n_params(&self, schema: &Schema) -> usize {
        Columns.n_params(schema)
    }

    fn penalized(&self, schema: &Schema) -> Range<usize> {
        0..schema.n_features()
    }

    fn intercept(&self, schema: &Schema) -> Option<usize> {
        Some(schema.n_features())
    }

    fn as_linear(&self) -> Option<&dyn LinearMap> {
        Some(&Columns)
    }

    fn as_columns(&self) -> Option<Columns> {
        Some(Columns)
    }

    fn scores(&self, rows: &Rows, params: &[Lanes], scores: &mut [Lanes]) {
        engine::scores(rows, params, scores);
    }

    fn pull_back(&self, rows: &Rows, _params: &[Lanes], slopes: &[Lanes], gradients: &mut [Lanes]) {
        engine::pull_back(rows, slopes, gradients);
    }
}
