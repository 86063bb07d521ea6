//! Boosted trees and cross-fitting: probabilities and predicted numbers that a front is fitted over.
//!
//! - [`Forest`]: boosted trees as arrays, and their raw scores.
//! - [`CompiledForest`]: a forest in a form that scores many rows quickly.
//! - [`Binned`]: the columns of a data set as bytes, shared by all folds and learners.
//! - [`boost`]: fits boosted trees to the classes or numbers of rows ([`Labels`]); [`BoostSettings`]
//!   are its settings.
//! - [`cross_fit`]: the scores of every row by forests that were fitted without the row's fold
//!   ([`Folds`]), the number of rounds with the smallest held-out loss, and a final forest.
//! - [`OutOfFold`]: these scores. In-sample scores, which are too sure, have another type.
//! - [`learn`]: the learners of a front ([`Learned`]), and the features of training rows out of fold.
//! - [`Calibrated`]: probabilities or numbers from out-of-fold scores; [`Quality`]: the log loss and AUC
//!   of probabilities; [`NumberQuality`]: the squared error of predicted numbers.
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
mod stratum;

pub use bin::{Binned, MOST_BINS};
pub use booster::{BoostSettings, Labels, boost};
pub use calibration::{Calibrated, Link};
pub use compiled::CompiledForest;
pub use cross_fit::{ClassProblem, CrossFitted, NumberProblem, OutOfFold, Problem, cross_fit};
pub use error::Error;
pub use fold::Folds;
pub use forest::{Forest, Tree};
pub use learn::{GroupClasses, GroupColumns, OutOfFoldFeatures, Wanted, learn};
pub use learned::{
    FeatureKind, GroupLearner, Learned, LearnedFeature, Learner, ProbabilityColumn, Source,
};
pub use quality::{LearnerQuality, NumberQuality, Quality};
pub use stratum::Stratum;
