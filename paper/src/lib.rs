//! Repeats the experiments of Liu and Vicente, *Accuracy and Fairness Trade-offs in Machine Learning: A Stochastic
//! Multi-Objective Approach*.
//!
//! [`reproduce`] runs the jobs of [`Experiment`]s in parallel, one thread per job, and stores every finished job, so
//! that an interrupted call can be resumed. It returns a [`Reproduction`]: the paper's claims with results and
//! verdicts, tables, figures, and two Markdown pages with all of them.

mod adult;
mod clock;
mod compas;
mod contest;
mod effort;
mod experiment;
mod explain;
mod finding;
mod front;
mod gender;
mod job;
mod page;
mod panel;
mod profiles;
mod race;
mod reproduce;
mod stat;
mod streaming;
mod tables;
mod three;
mod tuning;
mod work;

pub use effort::Effort;
pub use experiment::Experiment;
pub use explain::explain;
pub use finding::{Claim, Drawn, Finding, Sheet, Time, Verdict};
pub use reproduce::{Place, Reproduction, Request, reproduce};
pub use work::Watcher;
