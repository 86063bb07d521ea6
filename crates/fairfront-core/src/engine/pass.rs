use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::expansion::{LogOdds, N_SUMS};
use super::host::sum_of_blocks;
use super::{Cells, Labels, Sample, Statistics, joint, score_bin};
use crate::calibrate::Calibration;
use crate::lanes::LANES;
use crate::objective::Output;
use crate::predictor::{Columns, Predictor};
use crate::{Error, Multinomial, Network, Points, RowBlock, Schema};

/// The map from rows to scores.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub enum Map<'a> {
    /// Linear in the encoded columns.
    Columns(Columns),
    /// A network of the encoded columns.
    Network(Network),
    /// One score per class, each linear in the encoded columns.
    Multinomial(Multinomial),
    /// The caller's own predictor, which runs on the host.
    #[serde(skip)]
    Own(&'a dyn Predictor),
}

impl<'a> Map<'a> {
    /// The map of a predictor, as data if possible.
    pub fn of(predictor: &'a dyn Predictor) -> Self {
        let columns = predictor.as_columns().map(Self::Columns);
        let network = || predictor.as_network().map(Self::Network);
        let multinomial = || predictor.as_multinomial().map(Self::Multinomial);
        let data = columns.or_else(network).or_else(multinomial);
        data.unwrap_or(Self::Own(predictor))
    }

    /// The predictor, unless scores are linear in the encoded columns.
    pub(super) fn beyond_columns(&self) -> Option<&dyn Predictor> {
        match self {
            Self::Columns(_) => None,
            Self::Network(network) => Some(network),
            Self::Multinomial(multinomial) => Some(multinomial),
            Self::Own(predictor) => Some(*predictor),
        }
    }

    /// Number of scores per row.
    pub(super) fn n_scores(&self) -> usize {
        self.beyond_columns().map_or(1, Predictor::n_scores)
    }

    /// Number of parameters.
    pub fn n_params(&self, schema: &Schema) -> usize {
        match self {
            Self::Columns(columns) => columns.n_params(schema),
            Self::Network(network) => network.n_params(schema),
            Self::Multinomial(multinomial) => multinomial.n_params(schema),
            Self::Own(predictor) => predictor.n_params(schema),
        }
    }
}

/// The requested second derivatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// All of them.
    Dense,
    /// Only the diagonal.
    Diagonal,
}

/// The sums that a pass computes.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub enum Wanted<'a> {
    /// Sums of statistics: first the weights of each statistic ([`Statistics::n_weights`]), then for each
    /// point the sums of each statistic ([`Statistics::n_sums`]).
    Sums {
        /// The statistics.
        statistics: Cow<'a, [Statistics<'a>]>,
    },
    /// For each point, Σ slope · ∂s/∂x over all statistics: one number per parameter.
    Gradients {
        /// The statistics.
        statistics: Cow<'a, [Statistics<'a>]>,
        /// For each point, the slope with respect to each sum.
        slopes: Cow<'a, [f64]>,
    },
    /// For each point, the sums of one statistic and its gradient, with slopes that are known in
    /// advance.
    Both {
        /// The statistic.
        statistic: Statistics<'a>,
        /// For each point, the slope with respect to each sum.
        slopes: Cow<'a, [f64]>,
    },
    /// For a linear map, the sums of a statistic that is the score itself, as functions of the parameters: the
    /// weights of the statistic, then the gradient of each of its sums, which is the same at every point.
    Linear {
        /// The cells of the statistic.
        cells: Cells,
    },
    /// At each point, for a linear map, the sum of an output over all rows, its gradient and its second
    /// derivatives. The output is [`Output::Loss`], [`Output::Residual`] or the
    /// loss of classes. The layout
    /// is the value, one number per parameter, then the diagonal or a matrix, row by row. In the
    /// matrix, the number of each pair of parameters is in one of its two places.
    Curvature {
        /// The requested second derivatives.
        form: Form,
        /// The output.
        output: Output,
    },
    /// Number of rows by label (positive first, or class by class) and group of an attribute, then their
    /// weights.
    /// Without an attribute, all rows are one group.
    Counts {
        /// The attribute.
        attribute: Option<usize>,
    },
    /// For each point, sums for the log loss of probabilities as a function of slope and intercept:
    /// Σ w u, Σ w u², the weight of rows on the wrong side of a score of 0, the loss, its
    /// derivatives with respect to slope and intercept, its second derivatives (slope twice, both,
    /// intercept twice), and the numbers of negative and of positive rows with a weight above 0.
    Expansion {
        /// The slope and intercept at which the loss is expanded, for each point.
        at: Cow<'a, [LogOdds]>,
        /// The target probabilities of negative and positive rows.
        targets: [f64; 2],
    },
    /// The decisions of all points jointly, for [`Moments`](super::Moments): by combination of label and
    /// groups, Σ w over the rows that each point selects, and Σ w² over those that two points select.
    Joint,
    /// For each point, sums that determine the quality of its probabilities, by group and bin of
    /// probabilities and of scores.
    ScoreBins {
        /// The calibration of each point.
        calibrations: Cow<'a, [Calibration]>,
    },
    /// For each label (positive first), the weight and Σ w · ‖∂φ/∂x‖ without a constant term; for
    /// each point, Σ w · (sum of the absolute values of the terms of a score).
    Sizes,
}

/// The rows of a pass, and the precision of the sums of statistics and their gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Over {
    /// All rows, in double precision.
    All,
    /// All rows, in single precision: takes half the time and is precise enough to guide a descent.
    AllRoughly,
    /// A sample, in single precision; its sampling error is far larger than rounding.
    Sample(Sample),
}

/// Sums over rows, described as data.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Pass<'a> {
    /// The map from rows to scores.
    pub map: Map<'a>,
    /// The points; their number may be 0.
    pub points: Cow<'a, Points>,
    /// The sums.
    pub wanted: Wanted<'a>,
    /// The rows.
    pub over: Over,
}

impl Pass<'_> {
    /// Length of the part of the result that does not depend on points, and of the part per point.
    pub(crate) fn lengths(&self, schema: &Schema) -> (usize, usize) {
        let n = self.map.n_params(schema);
        match &self.wanted {
            Wanted::Sums { statistics } => (
                statistics.iter().map(|s| s.n_weights(schema)).sum(),
                statistics.iter().map(|s| s.n_sums(schema)).sum(),
            ),
            Wanted::Gradients { .. } => (0, n),
            Wanted::Both { statistic, .. } => (0, statistic.n_sums(schema) + n),
            Wanted::Linear { cells } => (cells.n_weights(schema) + cells.n_sums(schema) * n, 0),
            Wanted::Curvature { form, .. } => match form {
                Form::Dense => (0, 1 + n + n * n),
                Form::Diagonal => (0, 1 + n + n),
            },
            Wanted::Counts { attribute } => {
                let cells = Cells {
                    attribute: *attribute,
                    labels: Labels::each(&schema.target),
                };
                (2 * cells.n_sums(schema), 0)
            }
            Wanted::Expansion { .. } => (0, N_SUMS),
            Wanted::Joint => (
                joint::n_strata(schema) * joint::n_sums(schema, self.points.len()),
                0,
            ),
            Wanted::ScoreBins { .. } => (0, score_bin::n_sums(schema)),
            Wanted::Sizes => (4, 1),
        }
    }

    /// The ranges of points that are processed side by side; one empty range without points.
    pub(super) fn ranges(&self) -> Vec<Range<usize>> {
        let n = self.points.len();
        let step = match self.wanted {
            // All points at once.
            Wanted::Joint => n.max(1),
            _ => LANES,
        };
        let starts = (0..n.max(1)).step_by(step);
        starts.map(|start| start..(start + step).min(n)).collect()
    }

    /// Length of the result.
    pub fn len(&self, schema: &Schema) -> usize {
        let (once, per_point) = self.lengths(schema);
        once + per_point * self.points.len()
    }

    /// The sums over a few blocks of rows: the part of one task. An engine adds the parts of all
    /// tasks of [`BLOCKS_PER_TASK`](super::BLOCKS_PER_TASK) blocks in order.
    pub fn of_blocks(&self, schema: &Schema, blocks: &[Arc<RowBlock>]) -> Result<Vec<f64>, Error> {
        sum_of_blocks(self, schema, blocks)
    }
}
