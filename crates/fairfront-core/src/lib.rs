//! The numerical core of fairfront: row blocks, predictors, objectives, problems and measures.
//!
//! Most users want the `fairfront` crate. This one reads no files and prints nothing; it contains
//! the code that solvers and data readers share.
//!
//! - [`Dataset`] and [`RowBlock`]: encoded rows, labels, groups and weights, in blocks of fixed size.
//! - [`Engine`]: the only code that passes over rows; a [`Pass`] describes the requested sums.
//! - [`Predictor`] and [`Objective`]: scores of rows, and smooth functions of their sample means.
//! - [`Problem`]: the interface that solvers see; [`FairProblem`] builds it from rows, predictor and objectives.
//! - [`measure`]: measures of models, such as accuracy and rates by group.
//! - [`better_thresholds`]: the same models with thresholds that improve the measures.
//! - [`Decisions`], [`Tallies`] and [`redraw`]: decisions by group and label, and their redraws.
//! - [`Contrast`], [`Cell`] and [`Mean`]: tests of requirements on rates and means.
//! - [`adverse_impact_ratio`] and its neighbors: how a group compares with a named reference group.
//! - [`auc`], [`ks`] and [`auc_difference`]: how well scores rank rows.
//! - [`calibrate`]: calibrated probabilities from scores; [`measure_calibrated`]: their quality.
//! - [`Target`]: the kind of prediction, and the [`Unit`] of a number.
//! - [`Stream`]: random numbers keyed by seed and purpose.
//! - [`Message`]: words, settings and remedies, which each program renders with its own [`Wording`].
//! - [`ExactSum`]: sums that do not depend on the order of the numbers.
//! - [`Cholesky`]: the small dense factorization that statistics and solvers share.
//!
//! A problem on three rows, and its values:
//!
//! ```
//! use std::sync::Arc;
//!
//! use fairfront_core::{
//!     Attribute, Covariance, Dataset, FairProblem, Condition, Linear, LogLoss, Points, Problem, RowBlock, Schema,
//! };
//!
//! let sex = Attribute::new("sex", vec!["F".into(), "M".into()]);
//! let schema = Schema {
//!     numeric: vec!["income".into()],
//!     categorical: Vec::new(),
//!     attributes: vec![sex.clone()],
//!     target: fairfront_core::Target::Binary,
//!     hidden: 0,
//! };
//! let (incomes, labels) = (vec![1.0, 2.0, 4.0], vec![-1.0, 1.0, 1.0]);
//! let block = RowBlock::new(&schema, incomes, vec![], labels, vec![vec![0, 0, 1]], vec![1.0; 3])?;
//! let rows = Dataset::new(schema, vec![block])?;
//! let covariance = Covariance::new(Condition::All, 0, &sex);
//! let problem = FairProblem::new(
//!     Arc::new(rows),
//!     Box::new(Linear),
//!     vec![Box::new(LogLoss { lambda: 0.0 }), Box::new(covariance)],
//! )?;
//! // One coefficient and the intercept. If both are 0, every probability is 0.5 and groups do not differ.
//! let points = Points::from_vec(2, vec![0.0, 0.0]);
//! let values = problem.values(&points)?;
//! assert!((values[0] - 2f64.ln()).abs() < 1e-12 && values[1] == 0.0);
//! # Ok::<(), fairfront_core::Error>(())
//! ```

mod bootstrap;
mod calibrate;
mod cholesky;
mod class_scale;
mod class_tally;
mod contrast;
mod dataset;
mod decision;
mod derive;
mod engine;
mod error;
mod exact;
mod fair_problem;
mod impact;
mod lanes;
mod measure;
mod message;
pub mod meter;
mod multinomial;
mod network;
mod number_change;
mod number_tally;
mod objective;
mod offset;
mod paired;
mod people;
mod predictor;
mod probability;
mod problem;
mod random;
mod rank;
mod region_sums;
mod small_groups;
mod special;
mod stop;
mod target;
mod text;
mod threshold;

pub use bootstrap::{Decided, MOST_REDRAWN, Redrawn, redraw};
pub use calibrate::{Calibration, calibrate, calibrate_scale, rescaled};
pub use cholesky::Cholesky;
pub use class_tally::ClassTallies;
pub use contrast::{Cell, Contrast};
pub use dataset::{
    Attribute, BLOCK_ROWS, CategoricalFeature, Dataset, Loaded, RowBlock, RowSource, Schema,
    UNKNOWN_GROUP, label_of,
};
pub use decision::{Decisions, Rate, Tallies, n_regions, regions_of};
pub use engine::{
    BLOCKS_PER_SUPER_BLOCK, BLOCKS_PER_TASK, BothSides, Cells, Counts, Distributed, Engine, Form,
    Host, Labels, LogOdds, Map, Merger, Moments, NearRows, Nearest, Node, Over, OwnStatistics,
    Pass, Sample, Shard, Statistics, Strata, Wanted, Workers,
};
pub use error::Error;
pub use exact::ExactSum;
pub use fair_problem::{FairProblem, MOST_DENSE};
pub use impact::{
    adverse_impact_ratio, difference_interval, equal_rates, fisher, odds_ratio,
    odds_ratio_interval, rate_interval, ratio_interval, shortfall,
};
pub use lanes::{LANES, Lanes};
pub use measure::{
    AgainstReference, ClassCounts, ClassMeasures, Confusion, Costs, MOST_PAIRS, Measure, Measures,
    NumberMeasures, NumberSums, measure, target_shares,
};
pub use message::{
    Message, Name, Neutral, Setting, Wording, aside, bracketed, each, either, structured, with,
};
pub use multinomial::Multinomial;
pub use network::{MOST_HIDDEN, Network};
pub use number_change::NumberChanges;
pub use number_tally::{CappedMean, Mean, NumberTallies, Quantity};
pub use objective::{
    Center, ClassCovariance, ClassError, ClassLoss, ClassOutput, ClassParity, ClassRate, Condition,
    Covariance, Distance, DistributionDifference, ErrorRate, GroupRisk, LogLoss, MeanDifference,
    Means, Moment, MutualInformation, Objective, OfRoots, Output, RateParity, Residual,
    ResidualLoss, Risk, Root, SmoothMax, Spread, Squares, StandIn, Temperature, Zeros,
};
pub use offset::better_offsets;
pub use paired::{PairTally, PairedSum, RateIn, ValueCounts};
pub use people::{Shared, expected_rows};
pub use predictor::{Columns, Linear, LinearMap, Predictor, Rows, TILE_ROWS, predictor_of, scores};
pub use probability::{BINS, Bin, MOST_SORTED, Probabilities, Quality, measure_calibrated};
pub use problem::{
    Batches, BoundFacet, Bounds, Gradients, LossFacet, OuterBatch, Points, Precision,
    Preconditioner, Problem, RootFacet, Roots, RootsOf, SecondOrder, SecondOrderFacet,
    TemperatureFacet,
};
pub use random::{Purpose, Stream};
pub use rank::{AucDifference, auc, auc_difference, ks, standardized_mean_difference};
pub use small_groups::SmallGroups;
pub use special::{
    binomial_at_least, binomial_at_most, clopper_pearson_lower, clopper_pearson_upper, normal_cdf,
    normal_quantile, student_cdf, wilson,
};
pub use stop::StopSignal;
pub use target::{Classes, MOST_CLASSES, MOST_THRESHOLDS, Target, Unit};
pub use text::{counted, grouped, hex, in_target, readable};
pub use threshold::better_thresholds;
