//! Boosted trees and cross-fitting: probabilities that a front is fitted over.
//!
//! - [`Forest`]: boosted trees as arrays, and their raw scores.
//! - [`CompiledForest`]: a forest in a form that scores many rows quickly.
//! - [`Binned`]: the columns of a data set as bytes, shared by all folds and learners.
//! - [`boost`]: fits boosted trees to the classes of rows; [`BoostSettings`] are its settings.
//! - [`cross_fit`]: the scores of every row by forests that were fitted without the row's fold
//!   ([`Folds`]), the number of rounds with the smallest held-out loss, and a final forest.
//! - [`OutOfFold`]: these scores. In-sample scores, which are too sure, have another type.
//! - [`learn`]: the learners of a front ([`Learned`]), and the features of training rows out of fold.
//! - [`Calibrated`]: probabilities from out-of-fold scores; [`Quality`]: their log loss and AUC.
//!
//! The same rows, seed and settings give the same bytes on any number of threads.

mod bin;
mod booster;
mod calibration;
mod check;
mod compiled;
mod cross_fit;
mod error;
mod fold;
mod forest;
mod function;
mod histogram;
mod importance;
mod learn;
mod learned;
mod quality;
mod split;

pub use bin::{Binned, MOST_BINS};
pub use booster::{BoostSettings, boost};
pub use calibration::Calibrated;
pub use compiled::CompiledForest;
pub use cross_fit::{ClassProblem, CrossFitted, OutOfFold, cross_fit};
pub use error::Error;
pub use fold::Folds;
pub use forest::{Forest, Tree};
pub use learn::{GroupClasses, GroupColumns, OutOfFoldFeatures, Wanted, learn};
pub use learned::{
    FeatureKind, GroupLearner, Learned, LearnedFeature, Learner, ProbabilityColumn, Source,
};
pub use quality::Quality;
