//! Solvers: from a [`Problem`](fairfront_core::Problem) to a [`Front`].
//!
//! - [`MinNorm`]: the shortest convex combination of gradients, in the norm of a preconditioner.
//! - [`PfSmg`]: the Pareto front of stochastic multi-gradient runs, after Liu and Vicente.
//! - [`EpsFair`]: the baseline, the loss under bounds on the covariances, one solution a bound.
//! - [`Trace`]: the exact front, followed with second derivatives.
//! - [`Weighted`]: weighted sums of objectives that need not be convex, while their temperature falls.
//! - [`polish`]: a front of any of them, brought to the nearest stationary points that dominate it.
//! - [`Solver`]: the trait of all of them; [`Solver::update`] brings a front to rows that have changed.
//! - [`AnySolver`]: any of them, chosen at run time.
//! - [`certify`]: what can be proven about the points of a front.
//!
//! A solver sees nothing but the `Problem` trait, so that analytic problems and users' own are
//! solved by the same code. Long work reports to an [`Observer`], which may ask it to stop, and may keep
//! a [`Checkpoint`] of it to go on from.

mod basis;
mod certificate;
mod checkpoint;
mod descend;
mod eps_fair;
mod error;
mod ground;
mod min_norm;
mod outcome;
mod pf_smg;
mod polish;
mod remainder;
mod setting;
mod solver;
mod trace;
mod update;
mod weighted;

pub use certificate::{Certificate, certify, certify_unless_stopped};
pub use checkpoint::Checkpoint;
pub use descend::minimize_loss;
pub use eps_fair::EpsFair;
pub use error::Error;
pub use ground::none_to_speak_of;
pub use min_norm::{MOST_OBJECTIVES, MinNorm};
pub use outcome::{
    Counters, Front, Observer, Outcome, Polished, Progress, StopReason, StopSignal, Subproblems,
};
pub use pf_smg::{BatchSchedule, Exploration, HoleFilling, PfSmg};
pub use polish::{Polish, polish, resume_polish};
pub use remainder::Remainder;
pub use setting::{Kind, Setting, Settings, Value};
pub use solver::{AnySolver, Solver, Suits, Why};
pub use trace::Trace;
pub use weighted::Weighted;
