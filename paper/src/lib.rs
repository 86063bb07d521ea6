//! The experiments of Liu and Vicente, *Accuracy and Fairness Trade-offs in Machine Learning: A Stochastic
//! Multi-Objective Approach*, run again.
//!
//! [`reproduce`] does the work of [`Experiment`]s, pieces of it side by side on one thread each, and keeps every
//! piece, so that it goes on where it was stopped. What they came to is a [`Reproduction`]: claims of the paper with
//! what is found here and a verdict, tables, figures, and a page made of them.

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
