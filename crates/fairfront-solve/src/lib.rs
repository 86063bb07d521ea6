//! Solvers: from a [`Problem`](fairfront_core::Problem) to a [`Front`].
//!
//! - [`MinNorm`]: the shortest convex combination of gradients, in a metric.
//! - [`pf_smg`]: the Pareto front of stochastic multi-gradient runs, after Liu and Vicente.
//!
//! A solver sees nothing but the `Problem` trait, so that analytic problems and users' own are
//! solved by the same code. Long work reports to an [`Observer`], which may ask it to stop.

mod error;
mod min_norm;
mod outcome;
mod pf_smg;

pub use error::Error;
pub use min_norm::{MOST_OBJECTIVES, MinNorm};
pub use outcome::{Counters, Front, Observer, Outcome, Progress, StopReason, StopSignal};
pub use pf_smg::{BatchSchedule, Exploration, HoleFilling, Settings, pf_smg};
