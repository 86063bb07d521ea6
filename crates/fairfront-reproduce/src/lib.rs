//! The experiments of Liu and Vicente, *Accuracy and Fairness Trade-offs in Machine Learning: A Stochastic
//! Multi-Objective Approach*, run again.

mod explain;

pub use explain::explain;
