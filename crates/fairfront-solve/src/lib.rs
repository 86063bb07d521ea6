//! Solvers compute a [`Front`] from a [`Problem`](fairfront_core::Problem).
//!
//! - [`MinNorm`]: the shortest convex combination of gradients, in the norm of a preconditioner.
//! - [`PfSmg`]: Pareto fronts by stochastic multi-gradient steps, after Liu and Vicente.
//! - [`EpsFair`]: the baseline; minimizes the loss under bounds on the covariances, once per bound.
//! - [`Trace`]: the exact front, followed with second derivatives.
//! - [`Weighted`]: weighted sums of objectives that need not be convex, with a falling temperature.
//! - [`polish`]: moves the points of any front to nearby stationary points that dominate them.
//! - [`Solver`]: the trait of all solvers; [`Solver::update`] updates a front after its rows have
//!   changed.
//! - [`AnySolver`]: any solver, chosen at run time.
//! - [`prove`]: optimality proofs for the points of a front.
//!
//! Solvers access only the `Problem` trait, so the same code solves analytic problems and users'
//! own. Long computations report to an [`Observer`], which can stop them and can keep a
//! [`Checkpoint`] to resume from.

mod basis;
mod checkpoint;
mod descend;
mod eps_fair;
mod error;
mod ground;
mod min_norm;
mod outcome;
mod pf_smg;
mod polish;
mod proof;
mod remainder;
mod setting;
mod solver;
mod trace;
mod update;
mod weighted;

pub use checkpoint::Checkpoint;
pub use descend::minimize_loss;
pub use eps_fair::EpsFair;
pub use error::Error;
pub use ground::already_zero;
pub use min_norm::{MOST_OBJECTIVES, MinNorm};
pub use outcome::{
    Counters, Front, Observer, Outcome, Polished, Progress, StopReason, StopSignal, Subproblems,
};
pub use pf_smg::{BatchSchedule, Exploration, HoleFilling, PfSmg};
pub use polish::{Polish, polish, resume_polish};
pub use proof::{Proof, prove, prove_unless_stopped};
pub use remainder::Remainder;
pub use setting::{Kind, Setting, Settings, Value};
pub use solver::{AnySolver, Solver, Suits, Why};
pub use trace::Trace;
pub use weighted::{DescentLimits, Weighted, minimize_sums};
